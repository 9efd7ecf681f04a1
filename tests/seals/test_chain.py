"""The chain: every mutation of its lines is found, and hostile files are refused in one line."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from chains import BOUND, begin, change, result, rule_with, seal, whole
from hypothesis import given, settings
from hypothesis import strategies as st

from reproaudit.errors import SpecError
from reproaudit.seals import chain as chain_module
from reproaudit.seals.chain import entries_in, flat, read_chain, rule_after, tree_of
from reproaudit.seals.confirming import derived_seeds
from reproaudit.seals.entries import BEGINNING, SealEntry, hash_of, line_of, parsed_entry
from reproaudit.seals.rule import canonical, digest

HERE = Path("toy.jsonl")


@cache
def lines() -> tuple[bytes, ...]:
    with tempfile.TemporaryDirectory() as folder:
        return tuple(whole(Path(folder) / "toy.jsonl").read_bytes().splitlines())


def read(several: list[bytes] | tuple[bytes, ...]) -> tuple[Any, ...]:
    return entries_in(b"".join(line + b"\n" for line in several), HERE, "toy")


def refused(several: list[bytes]) -> str:
    with pytest.raises(SpecError) as raised:
        read(several)
    told = str(raised.value)
    assert "\n" not in told
    assert told.startswith("toy.jsonl:")
    return told


def test_a_whole_chain_reads_as_it_was_written(tmp_path: Path) -> None:
    entries = read_chain(whole(tmp_path / "seals" / "toy.jsonl"), "toy")
    kinds = [one.kind for one in entries]
    assert kinds == [
        "change",
        "seal",
        "run begun",
        "result",
        "confirmation begun",
        "result",
        "seal",
        "seal",
        "confirmation begun",
    ]
    assert entries[0].before == BEGINNING
    assert all(b.before == a.hash for a, b in pairwise(entries))
    assert rule_after(entries) == rule_with(0.12)
    assert read_chain(tmp_path / "none.jsonl", "toy") == ()


@settings(deadline=None)
@given(st.data())
def test_one_changed_byte_is_found(data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in lines())
    place = data.draw(st.integers(0, len(text) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != text[place]))
    changed = text[:place] + bytes([byte]) + text[place + 1 :]
    with pytest.raises(SpecError):
        entries_in(changed, HERE, "toy")


@settings(deadline=None)
@given(st.data())
def test_lines_that_are_removed_moved_or_repeated_are_found(data: st.DataObject) -> None:
    several = list(lines())
    at = data.draw(st.integers(0, len(several) - 1))
    act = data.draw(st.sampled_from(["delete", "repeat", "move"]))
    if act == "delete":
        at = min(at, len(several) - 2)  # the last one is for git to miss
        del several[at]
    else:
        line = several[at]
        if act == "move":
            del several[at]
        to = data.draw(st.integers(0, len(several)))
        several.insert(to, line)
        if several == list(lines()):
            return
    refused(several)


@settings(deadline=None)
@given(st.data())
def test_an_edited_field_is_found_even_with_a_new_hash_of_its_own(data: st.DataObject) -> None:
    """Whoever edits a line and computes its hash anew has to forge every later line as well."""
    several = list(lines())
    at = data.draw(st.integers(0, len(several) - 2))
    entry = json.loads(several[at])
    entry["revision"] = data.draw(st.text(st.sampled_from("abc09"), min_size=1, max_size=5))
    forged = parsed_entry(json.dumps(entry).encode())
    several[at] = line_of(forged.model_copy(update={"hash": hash_of(forged)}))
    if several[at] != lines()[at]:
        refused(several)


def forged(several: list[bytes], at: int, **changes: Any) -> list[bytes]:
    """A chain in which one entry says something else, and every hash after it is made anew."""
    found = [*several]
    before = json.loads(found[at])["before"]
    for index in range(at, len(found)):
        entry = json.loads(found[index])
        entry |= {"before": before, **(changes if index == at else {})}
        entry["hash"] = digest({k: v for k, v in entry.items() if k != "hash"})
        found[index], before = canonical(entry), entry["hash"]
    return found


FIVE = list(derived_seeds(digest(rule_with()), "paper", 5))


@pytest.mark.parametrize(
    ("at", "changes", "says"),
    [
        (1, {"rule": "f" * 64}, "does not follow from the changes"),
        (1, {"change": {"confidence": 0.5}}, "does not follow from the changes"),
        (7, {"text": "0" * 64}, "the same seal twice"),
        (4, {"look": 2}, "another error than this look may spend"),
        (4, {"error": 0.05}, "another error than this look may spend"),
        (4, {"seeds": {"paper": [1, 2, 3, 4, 5]}}, "seeds that do not follow"),
        (4, {"seeds": {"paper": FIVE}}, "found 5 seeds of tier paper, fewer than"),
        (4, {"seeds": {}}, "found no seeds of the paper tier"),
        (4, {"rule": "f" * 64}, "never sealed"),
        (5, {"rule": digest(rule_with(0.12))}, "of a rule that was not sealed before it"),
        (8, {"look": 1}, "found look 1"),
        (3, {"rule": "f" * 64}, "of a rule that was not sealed before it"),
        (6, {"since": "f" * 64}, "starts from a rule that was never sealed"),
        (0, {"reconstructed": False}, "not marked as reconstructed"),
        (0, {"slug": "other"}, "found an entry of 'other'"),
        (0, {"version": 2}, "version"),
        (0, {"kind": "seel"}, "seel"),
        (0, {"more": 1}, "more"),
        (0, {"date": "yesterday"}, "date"),
        (0, {"date": "2026-01-01T00:00:00"}, "date"),
    ],
)
def test_a_forged_chain_contradicts_itself(at: int, changes: dict[str, Any], says: str) -> None:
    assert says in refused(forged(list(lines()), at, **changes))


def test_a_consistent_forgery_is_left_to_git() -> None:
    """What no hash can show, docs/security.md names: a chain that is computed anew throughout."""
    assert len(read(forged(list(lines()), 6, why="a better reason"))) == len(lines())
    assert len(read(lines()[:-1])) == len(lines()) - 1


def test_a_confirmation_is_begun_and_judged_once(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    seal(file, rule_with())
    with pytest.raises(SpecError, match="never begun"):
        result(file, [1.0], rule=digest(rule_with()), confirmation=True)
    begin(file)
    with pytest.raises(SpecError, match="begun twice"):
        begin(file)
    result(file, [1.0], rule=digest(rule_with()), confirmation=True)
    with pytest.raises(SpecError, match="second result"):
        result(file, [2.0], rule=digest(rule_with()), confirmation=True)
    assert len(read_chain(file, "toy")) == 3


def test_sealing_an_earlier_rule_again_gives_its_own_look_and_seeds(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    for bound in (0.1, 0.2, 0.1):
        seal(file, rule_with(bound))
    begin(file)
    last = read_chain(file, "toy")[-1]
    assert last.kind == "confirmation begun"
    assert last.look == 1


# --- hostile files ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\n", "found no entry"),
        (b"not json\n", "found no entry"),
        (b"[]\n", "found no entry"),
        (b"{}\n", "kind"),
        (b"\0\0\0\n", "found no entry"),
        (b"\xff\xfe\n", "found no entry"),
        (b'{"kind": "seal"}\n', "found no entry"),
        (b"[" * 100_000 + b"\n", "found no entry"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"\n", "found no entry"),
        (b'{"kind":"seal"}', "the last line has no end"),
    ],
    ids=range(10),
)
def test_what_is_no_chain_is_refused_in_one_line(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "toy.jsonl"
    file.write_bytes(content)
    with pytest.raises(SpecError) as raised:
        read_chain(file, "toy")
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
    with pytest.raises(SpecError):
        seal(file, rule_with())
    assert file.read_bytes() == content, "a damaged chain is never added to"


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "1" + "0" * 5000], ids=["nan", "infinity", "giant"]
)
def test_values_that_are_no_plain_data(value: str) -> None:
    entry = json.loads(lines()[1])
    entry["change"]["code"] = "MARK"
    refused([lines()[0], json.dumps(entry).replace('"MARK"', value).encode()])


def test_links_pipes_folders_and_giants_are_refused(tmp_path: Path) -> None:
    real = whole(tmp_path / "real.jsonl")
    link, pipe, giant = (tmp_path / name for name in ("link", "pipe", "giant"))
    link.symlink_to(real)
    os.mkfifo(pipe)
    with giant.open("wb") as file:
        file.truncate(chain_module.LARGEST_CHAIN + 1)
    for path, says in ((link, "symbolic link"), (pipe, "no regular file"), (giant, "at most")):
        with pytest.raises(SpecError, match=says):
            read_chain(path, "toy")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SpecError, match="no regular file"):
        read_chain(tmp_path / "folder", "toy")


# --- adding -------------------------------------------------------------------------------------


def test_several_writers_leave_one_chain(tmp_path: Path) -> None:
    file = tmp_path / "toy.jsonl"
    writers = [
        threading.Thread(target=lambda n=n: [change(file, f"{n} {i}") for i in range(5)])
        for n in range(4)
    ]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert len(read_chain(file, "toy")) == 20
    assert [path.name for path in tmp_path.iterdir()] == ["toy.jsonl"], "nothing is left beside it"


def test_a_chain_in_a_store_goes_on_from_the_audits(tmp_path: Path) -> None:
    own = read_chain(whole(tmp_path / "toy.jsonl"), "toy")
    other = tmp_path / "store.jsonl"
    fields = {"revision": "0" * 40, "reconstructed": True, "what": (), "why": "here"}
    kind = chain_module.ChangeEntry
    chain_module.append(other, "toy", lambda _: [chain_module.Draft(kind, fields)], after=own)
    assert read_chain(other, "toy", after=own)[0].before == own[-1].hash
    with pytest.raises(SpecError, match="does not follow"):
        read_chain(other, "toy")


# --- trees of changes ---------------------------------------------------------------------------

NAMES = st.text(st.sampled_from("ab/~ "), min_size=1, max_size=3)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(
    lambda steps: "/".join(step.replace("~", "~0").replace("/", "~1") for step in steps)
)


def without_overlap(values: dict[str, Any]) -> dict[str, Any]:
    return {
        path: leaf
        for path, leaf in values.items()
        if not any(other != path and path.startswith(f"{other}/") for other in values)
    }


@settings(deadline=None)
@given(st.dictionaries(PATHS, st.none() | st.booleans() | st.integers(), max_size=8))
def test_values_survive_the_tree(values: dict[str, Any]) -> None:
    kept = without_overlap(values)
    assert flat(tree_of(kept)) == kept


BOUNDS = st.lists(st.sampled_from([0.1, 0.12, 0.2, 0.5]), min_size=1, max_size=6)


@settings(deadline=None)
@given(BOUNDS)
def test_every_rule_can_be_put_together_from_its_changes(bounds: list[float]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "toy.jsonl"
        sealed: list[float] = []
        for bound in bounds:
            if not sealed or sealed[-1] != bound:
                seal(file, rule_with(bound))
                sealed.append(bound)
        entries = read_chain(file, "toy")
        for number, bound in enumerate(sealed, start=1):
            assert rule_after(entries[:number]) == rule_with(bound)
        for entry in entries[1:]:
            assert isinstance(entry, SealEntry)
            assert flat(entry.change).keys() == {BOUND}
