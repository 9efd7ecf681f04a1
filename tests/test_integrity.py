"""What is damaged, put back, made by other code or dated otherwise is never judged in silence."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cells import cell, locate, same_numbers, users_cell, users_module
from reproaudit.errors import StoreError
from reproaudit.run.cells import run_cells
from reproaudit.run.events import CellNote, Summary
from reproaudit.store.records import EMPTY_ROOT, Clock, Partial, RecordManifest, Store

pytestmark = pytest.mark.usefixtures("measured_here")

DAMAGES = 200
CELLS = [cell(seed=seed) for seed in range(3)]


# --- damaged files ------------------------------------------------------------------------------


def flip(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << dice.randrange(8))]) + data[at + 1 :]


def zero(data: bytes, dice: random.Random) -> bytes:
    size = min(len(data), dice.choice([1, 16, 512, 4096]))
    at = dice.randrange(len(data) - size + 1)
    return data[:at] + bytes(size) + data[at + size :]


def truncate(data: bytes, dice: random.Random) -> bytes:
    return data[: dice.randrange(len(data))]


def extend(data: bytes, dice: random.Random) -> bytes:
    return data + dice.randbytes(dice.randrange(1, 100))


def edit(data: bytes, dice: random.Random) -> bytes:
    digits = [at for at, byte in enumerate(data) if chr(byte).isdigit()]
    at = dice.choice(digits)
    other = dice.choice([d for d in b"0123456789" if d != data[at]])
    return data[:at] + bytes([other]) + data[at + 1 :]


KINDS: list[Callable[[bytes, random.Random], bytes]] = [flip, zero, truncate, extend, edit]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, measured_here: None) -> Store:
    store = Store(tmp_path_factory.mktemp("filled"))
    run_cells(CELLS, locate, store)
    return store


@pytest.fixture
def copied(filled: Store, tmp_path: Path) -> Store:
    shutil.copytree(filled.root, tmp_path / "copy")
    return Store(tmp_path / "copy")


def found_damaged(store: Store, path: Path, content: bytes) -> bool:
    """Whether a record with other content is refused wherever it is read; then it is put back."""
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        store.read(path)
    except Exception:
        return True
    finally:
        path.write_bytes(before)
    return False


def test_every_damage_to_a_record_is_found(filled):
    dice = random.Random(11)
    paths = list(filled.files("toy2020", "quick"))
    for number in range(DAMAGES):
        path, kind = dice.choice(paths), KINDS[number % len(KINDS)]
        content = kind(path.read_bytes(), dice)
        if content != path.read_bytes():
            assert found_damaged(filled, path, content), (kind.__name__, number)


def test_every_swapped_or_replayed_record_is_found(copied):
    first, *paths = copied.files("toy2020", "quick")
    for path in (first, *paths):
        for other in (first, *paths):
            assert found_damaged(copied, path, other.read_bytes()) is (path != other)
    earlier = first.read_bytes()
    events: list[Any] = []
    assert run_cells(CELLS, locate, copied, fresh=True, on_event=events.append).completed == 3
    assert not [event for event in events if isinstance(event, CellNote)], "it is repeated"
    assert found_damaged(copied, first, earlier)
    (kept,) = first.parent.glob(f"{first.name}.replaced")
    assert kept.read_bytes() == earlier


def test_every_damage_to_a_checkpoint_is_found(tmp_path, caplog):
    dice = random.Random(12)
    checkpoints = {"training": dice.randbytes(9_000), "test": dice.randbytes(100)}
    partial = Partial(tmp_path / "a.partial")
    clock = Clock(Partial(tmp_path / "none").clock().started, 1.0)
    for number in range(DAMAGES):
        phase, kind = dice.choice(list(checkpoints)), KINDS[number % len(KINDS)]
        partial.save(phase, checkpoints[phase], clock)
        path = partial.folder / f"{phase}.pt"
        content = kind(path.read_bytes(), dice)
        if content != path.read_bytes():
            path.write_bytes(content)
            assert [one.path for one in partial.damaged()] == [path]
            assert partial.load(phase) is None, (kind.__name__, number)
            assert not path.exists()
    assert "is damaged" in caplog.text
    assert len(list(partial.folder.glob("*.bad*"))) > DAMAGES * 0.9  # none was deleted


def test_a_checkpoint_of_another_phase_or_cell_is_found(tmp_path):
    clock = Partial(tmp_path / "none").clock()
    one, other = Partial(tmp_path / "a.partial"), Partial(tmp_path / "b.partial")
    for partial in (one, other):
        partial.save("x", b"state", clock)
        partial.save("y", b"state", clock)
    shutil.copy(one.folder / "y.pt", one.folder / "x.pt")
    shutil.copy(one.folder / "y.pt", other.folder / "y.pt")
    assert (one.load("x"), other.load("y")) == (None, None)
    assert (one.load("y"), other.load("x")) == (b"state", b"state")


def test_a_run_names_what_is_damaged_and_measures_it_again(copied):
    path = next(copied.files("toy2020", "quick"))
    before = copied.read(path)
    path.write_bytes(edit(path.read_bytes(), random.Random(1)))
    events: list[Any] = []
    summary = run_cells(CELLS, locate, copied, on_event=events.append)
    assert summary == Summary(present=2, completed=1)
    (note,) = [event for event in events if isinstance(event, CellNote)]
    assert note.text.startswith(f"moved an unreadable record to {path}.bad: ")
    assert same_numbers(copied.read(path)) == same_numbers(before)


# --- the manifest -------------------------------------------------------------------------------


def test_the_manifest_lists_every_record_once(tmp_path):
    manifest = RecordManifest(tmp_path / "manifest.log")
    assert (manifest.root(), manifest.digests()) == (EMPTY_ROOT, {})
    roots = []
    for path, digest in (("a b", "1"), ("a b", "1"), ("a b", "2"), ("c", "1")):
        manifest.add(path, digest)
        roots.append(manifest.root())
    assert manifest.digests() == {"a b": ["1", "2"], "c": ["1"]}
    assert len(set(roots)) == 3
    again = RecordManifest(tmp_path / "manifest.log")
    assert (again.root(), again.digests()) == (roots[-1], manifest.digests())


def test_two_processes_write_one_manifest(tmp_path):
    one, other = (RecordManifest(tmp_path / "manifest.log") for _ in range(2))
    for number in range(20):
        (one if number % 3 else other).add(f"path {number}", "d")
    assert one.root() == other.root()
    assert list(RecordManifest(one.file).digests()) == [f"path {number}" for number in range(20)]


def test_damage_within_the_manifest_is_found_and_a_torn_end_is_mended(tmp_path):
    file = tmp_path / "manifest.log"
    for number in range(5):
        RecordManifest(file).add(f"path {number}", f"{number}" * 64)
    whole, dice = file.read_bytes(), random.Random(3)
    for _ in range(200):
        at = dice.randrange(whole.rindex(b"\n", 0, -1))  # all but the last line
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(StoreError, match=r"manifest.log:\d: this line does not follow"):
            RecordManifest(file).digests()
    file.write_bytes(whole[:-10])
    assert len(RecordManifest(file).digests()) == 4
    RecordManifest(file).add("path 4", "4" * 64)
    assert file.read_bytes() == whole
    file.unlink()
    assert RecordManifest(file).digests() == {}


def test_a_manifest_that_got_shorter_is_read_anew(tmp_path):
    manifest = RecordManifest(tmp_path / "manifest.log")
    manifest.add("a", "1")
    first = manifest.file.read_bytes()
    manifest.add("b", "1")
    manifest.file.write_bytes(first)
    assert manifest.digests() == {"a": ["1"]}


def test_a_record_that_a_kill_left_unlisted_is_kept_and_listed(copied):
    lines = copied.manifest.file.read_bytes().splitlines(keepends=True)
    copied.manifest.file.write_bytes(b"".join(lines[:-1]))
    assert run_cells(CELLS, locate, copied) == Summary(present=3)
    assert copied.manifest.file.read_bytes() == b"".join(lines)


# --- --fresh ------------------------------------------------------------------------------------


def test_fresh_tells_what_is_not_repeated_and_keeps_the_old_record(tmp_path):
    changing = 'scalars={"chance": time.time(), "same": 1.0}, arrays={"a": [0, 1]}'
    module = users_module(tmp_path / "mine2020.py", changing)
    store, events = Store(tmp_path / "runs"), []
    cells = [users_cell(module, seed) for seed in (0, 1)]
    run_cells(cells, lambda _paper: module, store)
    root = store.manifest.root()
    old = list(store.records("mine2020", "smoke"))
    how: dict[str, Any] = {"fresh": True, "on_event": events.append}
    summary = run_cells(cells, lambda _paper: module, store, **how)
    assert summary == Summary(completed=2)
    notes = [event for event in events if isinstance(event, CellNote)]
    assert [note.cell for note in notes] == cells
    assert all("\n  chance: 1 of 1 numbers, by up to " in note.text for note in notes)
    kept = [json.loads(file.read_bytes()) for file in store.root.rglob("*.replaced")]
    assert len(kept) == 2
    assert {replaced["record"]["seconds"] for replaced in kept} == {
        record.seconds for record in old
    }
    assert root != store.manifest.root()
    assert {len(digests) for digests in store.manifest.digests().values()} == {2}
