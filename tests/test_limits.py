"""Crafted files: each is read or refused within seconds, however large it is, whatever it holds."""

import json
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
from reproaudit.intake.reading import read_submission
from reproaudit.logs.asked import Asked
from reproaudit.logs.finding import find_runs
from reproaudit.logs.opening import parse_yaml
from reproaudit.repositories.requirements import unpinned
from test_loading import TEXT

SECONDS = 6.0


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


AUTHORS = "[A. Author, B. Author]"
CRAFTED: dict[str, tuple[str, str]] = {
    "alternatives": (
        in_place_of("[adam, momentum]", f"[{', '.join(f'a{i}' for i in range(30_000))}]"),
        "",
    ),
    "wrong types": (in_place_of(AUTHORS, f"[{'1, ' * 39_000}]"), "RA052"),
    "too many values": (f"a: [{'1,' * 520_000}]", "RA016"),
    "names": (f"{{{many(lambda i: f'n{i}: 1, ', 1_000_000)}}}", "RA016"),
    "doubts": (f"a: [{'no, ' * 145_000}]", "RA227"),
    "aliases": (f"a: [{'*a, ' * 260_000}]", "RA007"),
    "brackets": ("[" * 1_000_000, "RA016"),
    "one text": (in_place_of("title: A linear", f"title: A {'linear ' * 140_000}"), ""),
    "unknown fields": (TEXT + many(lambda i: f"field{i}: 1\n", 240_000), "RA050"),
    "a huge axis": (in_place_of("{name: row, size: 2}", "{name: row, size: 1000000}"), ""),
    "TODOs": (in_place_of(AUTHORS, f"[{'TODO, ' * 39_000}]"), ""),
}
"""Texts of at most the size that is read, and the rule that each breaks."""


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_audits_are_read_or_refused_soon(name):
    text, rule = CRAFTED[name]
    assert len(text) <= MAX_AUDIT_BYTES
    began = time.process_time()
    _, faults = read_audit("toy.yaml", text)
    assert time.process_time() - began < SECONDS
    assert len(faults) <= MOST_FAULTS + 1
    assert {fault.rule for fault in faults if fault.severity == "error"} == (
        {rule} if rule else set()
    )


def test_faults_beyond_a_thousand_are_counted():
    text, _ = CRAFTED["wrong types"]
    audit, faults = read_audit("toy.yaml", text)
    assert audit is None
    *listed, last = faults
    assert [fault.rule for fault in listed] == ["RA052"] * MOST_FAULTS
    assert (last.rule, last.message) == ("RA017", "found 38000 further faults; listed are 1000")
    assert last.severity == "warning"


def test_an_error_is_listed_before_any_number_of_warnings():
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
        at, "seed,loss\n" + many(lambda i: f"{i},1\n", 20_000), many(lambda i: f"k{i}: 1\n", 1_000)
    ),
    "columns of a table": lambda at: judge(at, wide()),
    "columns of a log": lambda at: find(at, wide(), ""),
    "names above names": lambda at: judge(
        at, json.dumps({"n" * 100_000: {f"c{i}": 1 for i in range(20_000)}}), "a.jsonl"
    ),
    "seeds of one table": lambda at: judge(
        at, "seed,accuracy\n" + "".join(f"{i},1\n" for i in range(5_000)), seeds=[*range(5_000)]
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
def test_what_took_the_square_of_its_size_is_read_or_refused_soon(what, tmp_path):
    began = time.process_time()
    with suppress(AuditError):
        SQUARES[what](tmp_path)
    assert time.process_time() - began < SECONDS
