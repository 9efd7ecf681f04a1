"""Crafted files: each is read or refused within seconds, however large it is and whatever it holds.

Some audits hold as many values as are read at all, others as many as rules compare with each other.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import test_submissions

from reproaudit.audit.card import Card, with_checklist
from reproaudit.audit.faults import MOST_FAULTS
from reproaudit.audit.loading import MAX_AUDIT_BYTES, read_audit
from reproaudit.errors import AuditError, did_you_mean
from reproaudit.logs.asked import Asked
from reproaudit.logs.finding import find_runs
from reproaudit.logs.opening import parse_yaml
from reproaudit.repositories.requirements import unpinned
from reproaudit.submission.reading import read_submission
from test_loading import TEXT

SECONDS, MEBIBYTES = 2.0, 300.0
CLAIMS = TEXT[TEXT.index("claims:\n") : TEXT.index("not_audited:")].removeprefix("claims:\n")
DECLARATION = '{kind: scalar, unit: "1", meaning: x}'


def in_place_of(old: str, new: str) -> str:
    assert TEXT.count(old) >= 1
    return TEXT.replace(old, new, 1)


def many(text: Callable[[int], str], size: int) -> str:
    """So many pieces of text as have so many characters."""
    pieces, length, i = [], 0, 0
    while length < size:
        pieces.append(text(i))
        length += len(pieces[-1])
        i += 1
    return "".join(pieces)


def shared_by_all() -> str:
    shared = many(lambda i: f"  m{i}: {DECLARATION}\n", 100_000)
    users = many(lambda i: f"  e{i}: {{title: x}}\n", 60_000)
    return in_place_of("experiments:\n", f"measurements:\n{shared}experiments:\n{users}")


def wide_arm() -> str:
    wide = many(lambda i: f"s{i}: 1, ", 100_000)
    uses = many(lambda i: CLAIMS.replace("toy.", f"toy.c{i}-").replace(
        "nulls: [shuffled]", "nulls: [wide]"), 150_000)  # fmt: skip
    return in_place_of("arms:\n", f"arms:\n  wide: {{settings: {{{wide}}}, why: x}}\n").replace(
        "claims:\n", f"claims:\n{uses}", 1
    )


CRAFTED: dict[str, Callable[[], str]] = {
    "alternatives": lambda: in_place_of(
        "[adam, momentum]", f"[{', '.join(f'a{i}' for i in range(30_000))}]"
    ),
    "wrong types": lambda: in_place_of("[A. Author, B. Author]", f"[{'1, ' * 39_000}]"),
    "wrong values": lambda: in_place_of("[16, 64]", f"[{'~, ' * 145_000}]"),
    "too many values": lambda: f"a: [{'1,' * 520_000}]",
    "names": lambda: f"{{{many(lambda i: f'n{i}: 1, ', 1_000_000)}}}",
    "doubts": lambda: f"a: [{'no, ' * 145_000}]",
    "aliases": lambda: f"a: [{'*a, ' * 260_000}]",
    "brackets": lambda: "[" * 1_000_000,
    "one text": lambda: in_place_of("title: A linear", f"title: A {'linear ' * 140_000}"),
    "unknown fields": lambda: TEXT + many(lambda i: f"field{i}: 1\n", 240_000),
    "known and unknown settings": lambda: in_place_of(
        "settings:\n", "settings:\n" + many(
            lambda i: f"  name{i}: {{value: 1, source: paper, locator: x}}\n", 150_000)
    ).replace(
        "settings: [learning_rate]",
        f"settings: [learning_rate, {many(lambda i: f'nam{i}e, ', 90_000)}]", 1
    ),
    "coordinates": lambda: in_place_of(
        "values: [ours, ridge]",
        f"values: [ours, ridge, {many(lambda i: f'x{i}, ', 270_000)}]",
    ),
    "coordinates that claims miss": lambda: in_place_of(
        "values: [ours, ridge]", f"values: [ours, {many(lambda i: f'x{i}, ', 100_000)}]"
    ).replace("claims:\n", "claims:\n" + many(
        lambda i: CLAIMS.replace("toy.", f"toy.c{i}-"), 200_000), 1),
    "shared by all": shared_by_all,
    "one wide arm": wide_arm,
    "one arm named often": lambda: in_place_of(
        "    nulls: [shuffled]\n    abl", f"    nulls: [{'shuffled, ' * 38_000}]\n    abl"
    ),
    "many nulls and many checks": lambda: in_place_of(
        "      - {kind: aligns, distance: distance, at_most: 0.1, from: paper}\n",
        "      - {kind: aligns, distance: distance, at_most: 0.1, from: paper}\n" * 1_000,
    ).replace("    nulls: [shuffled]\n    constructed", "    nulls:\n" + many(
        lambda i: f"      - {{name: a{i}, settings: {{labels: b}}, why: x}}\n", 120_000)
        + "    constructed", 1),
    "values together": lambda: in_place_of(
        "settings:\n", "settings:\n" + many(
            lambda i: f"  n{i}: {{value: 1, source: paper, locator: x, readings: [{{value: 2, "
            "source: card, locator: y, with: {steps: 3}}]}\n", 80_000)
    ).replace("experiments:\n", "experiments:\n" + many(
        lambda i: f"  e{i}: {{title: x, measurements: {{m: {DECLARATION}}}}}\n", 80_000), 1),
    "a huge axis": lambda: in_place_of("{name: row, size: 2}", "{name: row, size: 1000000}"),
    "TODOs": lambda: in_place_of("[A. Author, B. Author]", f"[{'TODO, ' * 39_000}]"),
}  # fmt: skip

GOOD = {"one text", "coordinates", "one arm named often", "values together", "TODOs"}
"""Those that are large and otherwise without error."""

MEASURE = r"""
import json, os, re, sys, time
from reproaudit.audit.loading import read_audit
for path in sys.argv[1:]:
    if os.fork():  # each is read in a process of its own, after one import for all
        os.wait()
        continue
    began = time.process_time()
    audit, faults = read_audit(path)
    printed = len("\n".join(map(str, faults)))
    print(json.dumps({
        "seconds": time.process_time() - began,
        "mebibytes": int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]) / 1024,
        "read": audit is not None, "faults": len(faults), "printed": printed,
    }), flush=True)
    os._exit(0)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize(
    "quarter", [0, *(pytest.param(one, marks=pytest.mark.slow) for one in (1, 2, 3))]
)
def test_crafted_audits_are_read_in_bounded_time_and_memory(quarter: int, tmp_path: Path) -> None:
    names = list(CRAFTED)[quarter::4]
    paths = [tmp_path / str(number) / "toy.yaml" for number, _ in enumerate(names)]
    for name, path in zip(names, paths, strict=True):
        path.parent.mkdir()
        path.write_text(CRAFTED[name](), encoding="utf-8")
        assert path.stat().st_size <= MAX_AUDIT_BYTES
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, paths)],
        check=True, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    for name, line in zip(names, done.stdout.splitlines(), strict=True):
        said = json.loads(line)
        # beside other work, a processor takes up to twice as long for the same
        assert said["seconds"] < 2 * SECONDS, (name, said)
        assert said["mebibytes"] < MEBIBYTES, (name, said)
        assert said["faults"] <= MOST_FAULTS + 1, (name, said)
        assert said["printed"] < 1_000_000, (name, said)
        assert said["read"] == (name in GOOD), (name, said)


def test_faults_beyond_a_thousand_are_counted() -> None:
    text = CRAFTED["wrong types"]()
    audit, faults = read_audit("toy.yaml", text)
    assert audit is None
    *listed, last = faults
    assert [fault.rule for fault in listed] == ["RA052"] * MOST_FAULTS
    assert (last.rule, last.message) == ("RA017", "found 38000 further faults; listed are 1000")
    assert last.severity == "warning"


def test_an_error_is_listed_before_any_number_of_warnings() -> None:
    stale = "  - {statement: TODO, locator: x, reason: x}\n"
    text = TEXT.replace("not_audited:\n", "not_audited:\n" + stale * 1500).replace(
        "distance: distance", "distance: distanc"
    )
    audit, faults = read_audit("toy.yaml", text)
    assert audit is None
    assert [f.rule for f in faults if f.severity == "error"] == ["RA224"]
    assert len(faults) == MOST_FAULTS + 1


# --- what took the square of its size -------------------------------------------------------------

DIGITS = "1" * 50_000
HANZI = "".join(chr(0x4E00 + i * i % 20_000) for i in range(200_000))


def read_checklist(folder: Path, text: str) -> None:
    file = folder / "checklist.tex"
    file.write_text(text)
    with_checklist(Card(), file)


def judge(folder: Path, table: str, name: str = "a.csv", **run: object) -> None:
    one = {"experiment": "good", "seeds": [7], "files": [name], **run}
    written = test_submissions.write(folder, name, table.encode(), runs=[one])
    read_submission(test_submissions.AUDIT, written)


def find(folder: Path, table: str, config: str) -> None:
    (folder / "runs.csv").write_text(table)
    (folder / "config.yaml").write_text(config)
    find_runs([folder], Asked(), folder)


def wide(rows: int = 1) -> str:
    names = ",".join(f"c{i}" for i in range(60_000))
    return "\n".join([names, *[",".join("1" * 60_000)] * rows])


SQUARES: dict[str, Callable[[Path], object]] = {
    "blanks in a checklist": lambda at: read_checklist(at, "\\item {\\bf" + " " * 12_000),
    "open brackets in a checklist": lambda at: read_checklist(
        at,
        "\\item {\\bf Open access to data and code}\\answerYes\\item[] Justification: "
        + "\\ref[" * 50_000,
    ),
    "digits in an audit": lambda _: read_audit("toy.yaml", f"a: {DIGITS}.e"),
    "coordinates in one text": lambda _: read_audit(
        "toy.yaml", in_place_of("distance: distance", f"distance: 'distance[{'a,' * 200_000}]'")
    ),
    "sixties in a coordinate": lambda _: read_audit(
        "toy.yaml", in_place_of("distance: distance", f"distance: 'distance[1{':1' * 200_000}]'")
    ),
    "digits in a configuration": lambda _: parse_yaml(f"a: {DIGITS}.e", "x"),
    "sixties in a configuration": lambda _: parse_yaml(f"a: 1{':1' * 100_000}", "x"),
    "a large configuration": lambda at: find(at, "step,loss\n0,1\n", f"[{'1,' * 2**20}]"),
    "one configuration of many runs": lambda at: find(
        at,
        "seed,loss\n" + many(lambda i: f"{i},1\n", 20_000),
        many(lambda i: f"k{i}: 1\n", 1_000),
    ),
    "columns of a table": lambda at: judge(at, wide()),
    "columns of a log": lambda at: find(at, wide(), ""),
    "names above names": lambda at: judge(
        at,
        json.dumps({"n" * 100_000: {f"c{i}": 1 for i in range(20_000)}}),
        "a.jsonl",
    ),
    "seeds of one table": lambda at: judge(
        at, "seed,accuracy\n" + "".join(f"{i},1\n" for i in range(8_000)), seeds=[*range(8_000)]
    ),
    "seeds by files": lambda at: judge(
        at, "accuracy\n1\n", seeds=[*range(10_000)], files=[f"f{i}.csv" for i in range(1_000)]
    ),
    "blanks in requirements": lambda _: [*unpinned("r.txt", f"a==1{' ' * 50_000}x", False)],
    "hashes in requirements": lambda _: [
        *unpinned("r.txt", f"a==1;{' --hash=sha256:a' * 15_000}#", False)
    ],
    "blanks in a comment": lambda _: [*unpinned("r.txt", f"a=={' ' * 50_000}#\n" * 3, False)],
    "columns of text": lambda at: find(
        at, ",".join(f"c{i}" for i in range(20_000)) + "\n" + ",".join("x" * 20_000) + "\n", "{}"
    ),
    "names that are alike": lambda _: did_you_mean(HANZI, [HANZI[::-1], HANZI[1:]]),
}


@pytest.mark.parametrize("what", SQUARES)
def test_what_took_the_square_of_its_size_is_read_or_refused_soon(
    what: str, tmp_path: Path
) -> None:
    began = time.process_time()
    with suppress(AuditError):
        SQUARES[what](tmp_path)
    assert time.process_time() - began < 3 * SECONDS
