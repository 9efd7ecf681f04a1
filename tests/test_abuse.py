"""Damaged and hostile input: one clear error or none, never a traceback, a hang or a full memory.

`make slow` tries 100,000 cases in batches of a thousand, each with a seed of its own. Every other
run of the tests tries some of each kind.
"""

import copy
import csv
import json
import math
import random
import re
import resource
import shutil
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from encoders import event_file
from samples import AUDIT

from cells import sealed
from factories import card_of, falls_to, make_audit, make_record, make_records, make_scorecard
from miniatures import audit_data, write_paper
from reproaudit.audit.card import Card, read_card, with_checklist
from reproaudit.audit.catalog import entry_of
from reproaudit.audit.draft import Results, draft_audit, draft_claims
from reproaudit.audit.loading import read_audit
from reproaudit.audit.plan import cells_of_alternatives, cells_of_tier
from reproaudit.audit.stated import read_claims
from reproaudit.errors import AuditError, CardError
from reproaudit.intake.reading import read_submission
from reproaudit.logs.asked import Asked
from reproaudit.logs.finding import find_runs
from reproaudit.logs.logged import LogError
from reproaudit.records import Record
from reproaudit.report.pages import markdown
from reproaudit.report.terminal import report_lines
from reproaudit.scorecard.answers import scorecard_of_store
from reproaudit.scorecard.files import read_scorecard
from reproaudit.service.judge import import_folder
from reproaudit.service.listing import list_entry, list_lines
from reproaudit.service.pages import write_report
from reproaudit.store.code import fingerprint_of
from reproaudit.store.records import Store, open_record
from test_loading import check_never_raises

HERE = Path(__file__).parent
ASKED = Asked(axes=frozenset({"layer"}), wanted=frozenset({"loss", "*.loss"}))
BATCH, BATCHES, FEW = 1_000, 100, 20
IMPORTED = 500
"""Damaged logs of each kind that are imported whole; together 3,000."""
SECONDS, BYTES = 2.0, 500 * 2**20

RECORDS = make_records(make_audit(), "quick", alternatives=False)
AUDITS = (
    HERE / "audits" / "toy.yaml",
    HERE / "short" / "saxe2014.yaml",
    HERE / "short" / "maxrl2026.yaml",
    HERE.parent / "docs" / "tutorial" / "soudry2018.yaml",
    HERE.parent / "audits" / "reddi2018.yaml",
    HERE.parent / "audits" / "yang2025.yaml",
)
"""Audits in both forms, shipped ones among them."""

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


VALUES: list[Any] = [
    *(None, True, 0, -1, 1, 0.5, -0.0, 1e17, 1e308, 2**62, 10**400, "", "x", ":100:", "[b]x[/b]"),
    *("\x1b[2J", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "NaN", float("nan")),
    *(float("inf"), [], {}, [1, 2], [[1.0]], {"a": 1}, "distance[1]", "distance@first", "a" * 300),
]


def nodes(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in plain data: what holds it, and its name or position there."""
    if isinstance(node, dict | list):
        for step, below in node.items() if isinstance(node, dict) else enumerate(node):
            yield node, step
            yield from nodes(below)


def misstated(data: bytes, dice: random.Random) -> bytes:
    """The same JSON after one to three slips: values replaced, left out, doubled, or exchanged."""
    whole = json.loads(data)
    for _ in range(dice.choice([1, 1, 2, 3])):
        places = list(nodes(whole))
        if not places:
            break
        holder, step = dice.choice(places)
        other, there = dice.choice(places)
        slip = dice.randrange(7)
        is_number = type(holder[step]) in (int, float) and math.isfinite(holder[step])
        if is_number and slip:
            holder[step] = holder[step] * dice.choice([0, -1, 2, 0.5, 1000]) + dice.choice([0, 1])
        elif slip < 2:
            holder[step] = dice.choice(VALUES)
        elif slip == 2:
            del holder[step]
        elif slip == 3:
            holder[step] = copy.deepcopy(other[there])
        elif isinstance(holder, list):
            holder.insert(step, copy.deepcopy(holder[step]))
        else:
            holder[f"{step}s"] = holder.pop(step)
    return json.dumps(whole).encode()


# --- what is read ---------------------------------------------------------------------------------


MOST_CELLS = 500
"""Cells of a damaged audit for which records are made up; one may ask for millions."""


def judge_an_audit(folder: Path, data: bytes) -> None:
    """What `check` calls sound is judged and shown."""
    audit, faults = read_audit("mini.yaml", data.decode())
    if audit is None:
        raise LogError("mini.yaml", str(faults[0]))
    cells = [*cells_of_tier(audit, "quick"), *cells_of_alternatives(audit, "quick")]
    if len(cells) <= MOST_CELLS:
        records = [make_record(cell, falls_to(0.02, cell.seed)) for cell in cells]
        card = card_of(audit, records, "quick")
        assert markdown(card)
        assert list(report_lines(card))


def show_a_record(folder: Path, data: bytes) -> None:
    """A stranger's record, sealed as ours are, is refused, or shown among others."""
    entry = entry_of(write_paper(folder / "audits") / "mini.yaml")
    audit = entry.audit()
    store = Store(folder / "runs")
    for record in RECORDS[1:]:
        place(store, record, record.model_dump_json().encode())
    try:
        stranger = Record.model_validate_json(data)
        stranger = stranger.model_copy(update={"fingerprint": fingerprint_of(stranger)})
        place(store, stranger, stranger.model_dump_json().encode())
    except (ValueError, OSError):  # none, or of a name that no file may have
        place(store, RECORDS[0], data)
    card = scorecard_of_store(entry, audit, "quick", store)
    assert markdown(card)
    assert list(report_lines(card))
    assert list(list_lines([list_entry(entry, store.root, folder / "reports")], 80))


def place(store: Store, record: Record, body: bytes) -> None:
    file = store.file_of(record)
    assert file.resolve().is_relative_to(store.root.resolve()), "a record has no place elsewhere"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(sealed(body))


def open_a_record(folder: Path, data: bytes) -> None:
    """What is damaged is refused; what is not refused says what it said."""
    found, _ = open_record(folder / "record.json", data)
    assert found.model_dump_json() == RECORDS[0].model_dump_json()


def read_an_audit(folder: Path, data: bytes) -> None:
    text = data.decode("utf-8", errors="surrogateescape")
    slug = re.search(r"slug: (\w+)", text)
    check_never_raises(text, f"{slug[1] if slug else 'none'}.yaml")


def read_a_tree(folder: Path, data: bytes) -> None:
    """An audit whose notation is sound."""
    text = yaml.safe_dump(json.loads(data), sort_keys=False, allow_unicode=True)
    read_an_audit(folder, text.encode("utf-8", errors="surrogateescape"))


def draft_of(
    read: Callable[[Path], Any], draft: Callable[[Any], str], *more: str
) -> Callable[..., None]:
    """Drafts an audit of what a file says; it breaks no rule but those of a TODO, and more."""

    def read_and_draft(folder: Path, data: bytes) -> None:
        file = folder / "stated.txt"
        file.write_bytes(data)
        refusal = None
        try:
            said = read(file)
        except CardError as error:
            refusal = error
        if refusal is not None:
            assert str(refusal).startswith(f"{file}:")
            assert "\n" not in str(refusal)
            raise refusal
        faults = read_audit("p.yaml", draft(said))[1]
        assert {fault.rule for fault in faults} <= {"RA058", "RA153", *more}, faults

    return read_and_draft


TODAY = date(2031, 5, 6)


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
        import_folder(AUDIT, [folder / "logs"], folder / "out", folder / "mapping.yaml")
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


def tree_in(file: Path) -> bytes:
    return json.dumps(yaml.safe_load(file.read_bytes()), default=str).encode()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[bytes]]:
    """Sound files of every kind, to be damaged."""
    folder = tmp_path_factory.mktemp("sound")
    audit = (write_paper(folder / "audits") / "mini.yaml").read_bytes()
    (card,) = write_report(make_scorecard(), folder, ["json"])
    events = folder / "events.out.tfevents.1"
    event_file(events, {"loss": [(s, 1 / (1 + s)) for s in range(5)]})
    return {
        "audit data": [json.dumps(audit_data()).encode()],
        "record": [RECORDS[0].model_dump_json().encode()],
        "sealed record": [sealed(RECORDS[0].model_dump_json().encode())],
        "audit": [audit, *(file.read_bytes() for file in AUDITS)],
        "audit tree": [tree_in(file) for file in AUDITS],
        "checklist": [(HERE / "checklists" / "checklist.tex").read_bytes()],
        "claims": [b"# heads\nOne claim.\nNo.\n- .\n", b'[{"says": "A", "at": "Table 1"}, "B"]'],
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
    "audit tree": read_a_tree,
    "checklist": draft_of(
        lambda file: with_checklist(Card(), file), lambda card: draft_audit("p", card, TODAY)
    ),
    "claims": draft_of(
        read_claims,
        lambda claims: draft_claims("p", Card(), TODAY, claims, Results()),
        "RA059",  # a claim of more words than an audit takes
    ),
    "audit data": judge_an_audit,
    "record": show_a_record,
    "sealed record": open_a_record,
    "card": draft_of(read_card, lambda card: draft_audit("p", card, TODAY)),
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
        damage = misstated if kind in ("audit data", "audit tree", "record") else mutated
        data = damage(dice.choice(sound[kind]), dice)
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
def test_some_bad_input_of_every_kind(kind, sound, tmp_path):
    assert sum(abuse(kind, sound, tmp_path, FEW, seed=-1)) == FEW
    place = tmp_path / "sound"
    for data in sound[kind]:
        place.mkdir()
        READERS[kind](place, data)  # what is not damaged is read
        shutil.rmtree(place)


PASSING = ("audit", "audit tree", "card", "checklist", "claims")
"""What returns its faults, or takes nearly any text."""
BATCHED = [(list(READERS)[number % len(READERS)], number) for number in range(BATCHES)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed"), BATCHED)
def test_a_thousand_bad_inputs(kind, seed, sound, tmp_path):
    refused, passed = abuse(kind, sound, tmp_path, BATCH, seed)
    assert refused + passed == BATCH
    assert kind in PASSING or refused > BATCH / 20, "what is damaged passes as sound"


@pytest.mark.parametrize("kind", IMPORTS)
@pytest.mark.parametrize("cases", [FEW, pytest.param(IMPORTED, marks=pytest.mark.slow)])
def test_no_number_is_imported_that_is_not_in_the_log(kind, cases, sound, tmp_path):
    refused, passed = abuse(kind, sound, tmp_path, cases, seed=cases, readers=IMPORTS)
    assert refused + passed == cases
    assert cases == FEW or (refused and passed)
