"""Damaged and hostile input: one clear error or none, never a traceback, a hang or a full memory.

`make slow` tries 100,000 cases in batches of a thousand, each with a seed of its own. Every other
run of the tests tries some of each kind.
"""

from __future__ import annotations

import csv
import json
import random
import re
import resource
import shutil
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml
from encoders import event_file
from samples import AUDIT

from factories import make_scorecard
from miniatures import write_paper
from reproaudit.audit.card import read_card
from reproaudit.audit.loading import read_audit
from reproaudit.errors import AuditError
from reproaudit.logs.asked import Asked
from reproaudit.logs.finding import find_runs
from reproaudit.logs.logged import LogError
from reproaudit.report.files import read_scorecard, write_report
from reproaudit.submission.importing import import_logs
from reproaudit.submission.reading import read_submission

HERE = Path(__file__).parent
ASKED = Asked(axes=frozenset({"layer"}), wanted=frozenset({"loss", "*.loss"}))
BATCH, BATCHES, FEW = 1_000, 100, 20
IMPORTED = 500
"""Damaged logs of each kind that are imported whole; together 3,000."""
SECONDS, BYTES = 2.0, 500 * 2**20

TOKENS = [
    *b"{ [ \" ' # % ~ null true No -0 1_000 1e999 -1e400 NaN .inf 2026-02-30 <b> \\u0000".split(),
    *(
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\x80\x80",
        b"\r",
        b"\t",
        b"\n\n---\n",
        b": ",
        b"- ",
        b"| ",
    ),
    *(b"? ", b"&a *a", b"<<: *a", b"!!python/object:os.system", b"=cmd|' /C calc'!A0"),
    *(b"0x7fffffffffffffff", b"9" * 30, b"../../../../etc/passwd", b"\x1b[2J\x1b]0;x\x07"),
    *("\u202e\u2066".encode(), "\ufdd0".encode(), b"[" * 200, b"{a: " * 200),
]


def mutated(data: bytes, dice: random.Random) -> bytes:
    """The same file after one to four accidents: bytes lost, doubled, moved, or hostile ones."""
    for _ in range(dice.randint(1, 4)):
        size = len(data)
        start = dice.randrange(size + 1)
        stop = min(size, start + dice.choice([1, 3, 20, 200]))
        accident = dice.randrange(7)
        if accident == 0:
            data = data[:start] + data[stop:]
        elif accident == 1:
            data = data[:start] + data[start:stop] * dice.choice([2, 2, 2, 30]) + data[stop:]
        elif accident == 2:
            data = data[:start] + dice.choice(TOKENS) + data[start:]
        elif accident == 3:
            data = data[:start] + dice.choice(TOKENS) + data[stop:]
        elif accident == 4:
            data = data[:start] + dice.randbytes(stop - start) + data[stop:]
        elif accident == 5:
            data = data[:start] if dice.random() < 0.2 else data[:start] + data[start:].swapcase()
        else:
            lines = data.split(b"\n")
            a, b = dice.randrange(len(lines)), dice.randrange(len(lines))
            lines[a], lines[b] = lines[b], lines[a]
            data = b"\n".join(lines)
    return data


# --- what is read ---------------------------------------------------------------------------------


def read_an_audit(folder: Path, data: bytes) -> None:
    read_audit("audit.yaml", data.decode("utf-8", errors="surrogateescape"))


def read_a_card(folder: Path, data: bytes) -> None:
    file = folder / "card.txt"
    file.write_text(data.decode("utf-8", errors="replace"))
    read_card(file)


def read_a_scorecard(folder: Path, data: bytes) -> None:
    file = folder / "scorecard.json"
    file.write_bytes(data)
    read_scorecard(file)


MANIFEST = {
    "schema_version": 1,
    "who": "R. Reader",
    "source": "a log",
    "framework": "none",
    "date": "2026-01-02",
    "runs": [{"experiment": "training", "seeds": [0, 1], "files": ["a.csv"]}],
}
TABLE = b"seed,step,loss\n0,0,1.0\n0,10,0.5\n1,0,1.0\n1,10,0.25\n"


def read_a_manifest(folder: Path, data: bytes) -> None:
    (folder / "manifest.yaml").write_bytes(data)
    (folder / "a.csv").write_bytes(TABLE)
    read_submission(AUDIT, folder)


def read_a_table(folder: Path, data: bytes) -> None:
    (folder / "manifest.yaml").write_text(json.dumps(MANIFEST))
    (folder / "a.csv").write_bytes(data)
    read_submission(AUDIT, folder)


def log_of(name: str) -> Callable[[Path, bytes], None]:
    def read(folder: Path, data: bytes) -> None:
        logs = folder / "logs"
        logs.mkdir(exist_ok=True)
        (logs / name).write_bytes(data)
        scratch = folder / "scratch"
        scratch.mkdir(exist_ok=True)
        find_runs([logs], ASKED, scratch)

    return read


MAPPING = "number: [seeds]\ntier: quick\ncomplete: The files were damaged on purpose.\n"
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def numbers_in(data: bytes, is_binary: bool) -> set[float]:
    """Every number that a text holds, or that one, four or eight bytes may stand for."""
    if is_binary:
        kinds = {"<f": 4, "<d": 8, "<B": 1}  # the steps of the sound file are small
        places = ((kind, at) for kind, size in kinds.items() for at in range(len(data) - size + 1))
        return {struct.unpack_from(kind, data, at)[0] for kind, at in places} | {0.0}
    form = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    text = data.decode(form, errors="replace")
    return {float(one) for said in (text, text.replace(",", ".")) for one in NUMBER.findall(said)}


def import_of(name: str) -> Callable[[Path, bytes], None]:
    """Imports a log, and holds every number that is written against those in the file."""

    def read(folder: Path, data: bytes) -> None:
        (folder / "logs").mkdir(exist_ok=True)
        (folder / "logs" / name).write_bytes(data)
        (folder / "mapping.yaml").write_text(MAPPING)
        import_logs(AUDIT, [folder / "logs"], folder / "out", folder / "mapping.yaml")
        known = numbers_in(data, "tfevents" in name)
        written = list((folder / "out").rglob("*.csv"))
        for table in written:
            for row in csv.DictReader(table.read_text().splitlines()):
                said = {key: float(row[key]) for key in ("step", "value") if row.get(key)}
                assert set(said.values()) <= known, said
        assert written
        stated = yaml.safe_load((folder / "out" / "manifest.yaml").read_text()).get("settings", {})
        assert {one for one in stated.values() if type(one) in (int, float)} <= known

    return read


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[bytes]]:
    """Sound files of every kind, to be damaged."""
    folder = tmp_path_factory.mktemp("sound")
    audit = (write_paper(folder / "audits") / "mini.yaml").read_bytes()
    (card,) = write_report(make_scorecard(), folder, ["json"])
    events = folder / "events.out.tfevents.1"
    event_file(events, {"loss": [(s, 1 / (1 + s)) for s in range(5)]})
    return {
        "audit": [audit, (HERE.parent / "docs/tutorial/soudry2018.yaml").read_bytes()],
        "card": [file.read_bytes() for file in sorted((HERE / "cards").iterdir())],
        "scorecard": [card.read_bytes()],
        "manifest": [
            json.dumps(MANIFEST, indent=1).encode(),
            b"# by hand\n" + yaml.safe_dump(MANIFEST).encode(),
        ],
        "table": [TABLE],
        "tensorboard": [events.read_bytes()],
        "lightning": [b"step,epoch,loss\n0,0,1.0\n10,0,0.5\n"],
        "hugging face": [json.dumps({"log_history": [{"step": 1, "loss": 0.5}]}).encode()],
        "json": [
            json.dumps({"results": {"loss": 0.5}, "config": {"seed": 3}}).encode(),
            json.dumps({"loss": {"steps": [0, 1], "values": [0.5, 1.0]}}).encode(),
            json.dumps({"step": [0, 1], "loss": [0.5, 1.0]}).encode(),
        ],
        "text": [
            b'{"step": 0, "loss": 1.0}\n{"step": 1, "loss": 0.5}\n',
            b"# a comment\nstep\tloss\n0\t1.0\n1\t0.5\n2\t0.5\n",
        ],
        "dialect": [
            b"\xef\xbb\xbfseed;method;step;loss\n0;a;3;0,5\n0;a;4;0,125\n1;a;3;0,25\n1;a;4;0,2\n",
            "Step,a - loss,b - loss,b - loss__MIN\n3,1.5,2.5,2.5\n7,0.5,1,1\n".encode("utf-16"),
        ],
    }


READERS: dict[str, Callable[[Path, bytes], None]] = {
    "audit": read_an_audit,
    "card": read_a_card,
    "scorecard": read_a_scorecard,
    "manifest": read_a_manifest,
    "table": read_a_table,
    "tensorboard": log_of("events.out.tfevents.1"),
    "lightning": log_of("metrics.csv"),
    "hugging face": log_of("trainer_state.json"),
    "json": log_of("results.json"),
    "text": log_of("progress.txt"),
    "dialect": log_of("export.csv"),
}
IMPORTS = {
    kind: import_of(name)
    for kind, name in {
        "tensorboard": "events.out.tfevents.1", "lightning": "metrics.csv",
        "hugging face": "trainer_state.json", "json": "results.json", "text": "progress.txt",
        "dialect": "export.csv",
    }.items()
}  # fmt: skip


def abuse(
    kind: str,
    sound: Mapping[str, list[bytes]],
    folder: Path,
    cases: int,
    seed: int,
    readers: Mapping[str, Callable[[Path, bytes], None]] = READERS,
) -> tuple[int, int]:
    """Reads damaged files; returns how many were refused and how many passed as sound."""
    dice = random.Random(f"{kind} {seed}")
    refused = passed = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for case in range(cases):
        data = mutated(dice.choice(sound[kind]), dice)
        place = folder / "case"
        place.mkdir()
        began = time.process_time()
        try:
            readers[kind](place, data)
            passed += 1
        except (AuditError, LogError) as error:
            refused += bool(str(error).strip())
        except Exception as error:
            (folder.parent / f"{kind}-{seed}-{case}").write_bytes(data)
            raise AssertionError(f"{kind}, seed {seed}, case {case}: {error!r}") from error
        took = time.process_time() - began
        assert took < SECONDS, f"{kind}, seed {seed}, case {case}: {took:.1f} s"
        shutil.rmtree(place)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < BYTES, f"{kind}, seed {seed}: {grown / 2**20:.0f} MiB"
    return refused, passed


@pytest.mark.parametrize("kind", READERS)
def test_some_bad_input_of_every_kind(
    kind: str, sound: Mapping[str, list[bytes]], tmp_path: Path
) -> None:
    assert sum(abuse(kind, sound, tmp_path, FEW, seed=-1)) == FEW
    place = tmp_path / "sound"
    for data in sound[kind]:
        place.mkdir()
        READERS[kind](place, data)  # what is not damaged is read
        shutil.rmtree(place)


BATCHED = [(list(READERS)[number % len(READERS)], number) for number in range(BATCHES)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed"), BATCHED)
def test_a_thousand_bad_inputs(
    kind: str, seed: int, sound: Mapping[str, list[bytes]], tmp_path: Path
) -> None:
    refused, passed = abuse(kind, sound, tmp_path, BATCH, seed)
    assert refused + passed == BATCH
    assert kind in ("audit", "card") or refused > BATCH / 20, "what is damaged passes as sound"


@pytest.mark.parametrize("kind", IMPORTS)
@pytest.mark.parametrize("cases", [FEW, pytest.param(IMPORTED, marks=pytest.mark.slow)])
def test_no_number_is_imported_that_is_not_in_the_log(
    kind: str, cases: int, sound: Mapping[str, list[bytes]], tmp_path: Path
) -> None:
    refused, passed = abuse(kind, sound, tmp_path, cases, seed=cases, readers=IMPORTS)
    assert refused + passed == cases
    assert cases == FEW or (refused and passed)
