import errno
import json
import os
import re
import shutil
import stat
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cells import cell, sealed, unreadable
from reproaudit.errors import StoreError, TechnicalError
from reproaudit.files import sha256
from reproaudit.records import LARGEST_NUMBER, CellStatus, Environment, Measurements, Record, Series
from reproaudit.store import records as store_module
from reproaudit.store.code import cell_of, fingerprint_of
from reproaudit.store.records import Clock, KeptRecord, Store, open_record

ENVIRONMENT = Environment(
    python="3.11", platform="Linux", device="cpu", threads=1, packages={"numpy": "2.0"}
)


def record(seed: int = 0, **changes: Any) -> Record:
    fields: dict[str, Any] = {
        "paper": "toy2020",
        "tier": "quick",
        "experiment": "descent",
        "settings": {"steps": 3},
        "seed": seed,
        "status": CellStatus.COMPLETED,
        "fingerprint": "",
        "code": "abc",
        "environment": ENVIRONMENT,
        "started": datetime(2026, 1, 2, tzinfo=UTC),
        "seconds": 1.5,
        "measurements": Measurements(scalars={"loss": 0.1 + 0.2}),
    }
    made = Record(**{**fields, **changes})
    return made.model_copy(update={"fingerprint": fingerprint_of(made)})


NAME = record().fingerprint
CELL = cell_of(record())


def place(store: Store) -> Path:
    return store.path(CELL, NAME)


def kept_in(store: Store) -> KeptRecord:
    kept = store.kept(place(store))
    assert kept is not None
    return kept


finite = st.floats(-LARGEST_NUMBER, LARGEST_NUMBER)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
setting_values = st.one_of(
    st.booleans(),
    st.integers(-(2**60), 2**60),
    finite,
    st.text(max_size=5),
    st.lists(st.integers(-9, 9), min_size=1, max_size=3).map(tuple),
    st.lists(finite, min_size=1, max_size=3).map(tuple),
    st.lists(st.text(max_size=3), min_size=1, max_size=3).map(tuple),
)


@st.composite
def measurements(draw: st.DrawFn) -> Measurements:
    steps = draw(st.lists(st.integers(0, 10**9), unique=True, max_size=4).map(sorted))
    width = draw(st.integers(0, 3))
    rows = draw(
        st.lists(
            st.lists(finite, min_size=width, max_size=width),
            min_size=len(steps),
            max_size=len(steps),
        )
    )
    series = {"s": Series(steps=tuple(steps), values=rows)} if steps else {}
    return Measurements(
        scalars=draw(st.dictionaries(names, finite, max_size=3)),
        series=series,
        arrays={"a": np.array(draw(st.lists(finite, max_size=3)))},
    )


def test_a_record_with_rules_is_read_by_its_checksum_and_none_are_written(tmp_path):
    """Records of earlier versions hold the hash of each claim's rule."""
    store = Store(tmp_path)
    store.write(record())
    new = json.loads(place(store).read_bytes())["record"]
    assert "rules" not in new
    body = json.dumps({**new, "rules": {"toy2020.falls": "abc"}}).encode()
    read, digest = open_record(place(store), sealed(body))
    assert digest == sha256(body)
    assert read.model_dump_json() == record().model_dump_json()


@settings(max_examples=60)
@given(
    values=st.dictionaries(names, setting_values, max_size=4),
    measured=measurements(),
    experiment=names,
    seconds=st.floats(0, 1e9),
)
def test_a_record_comes_back_as_it_was_written(
    tmp_path_factory, values, measured, experiment, seconds
):
    store = Store(tmp_path_factory.mktemp("store"))
    written = record(settings=values, measurements=measured, experiment=experiment, seconds=seconds)
    if experiment in (".", ".."):
        with pytest.raises(StoreError, match="not a name for a folder"):
            store.write(written)
        return
    store.write(written)
    (read,) = store.records("toy2020", "quick")
    assert read.model_dump_json() == written.model_dump_json()
    assert [type(setting) for setting in read.settings.values()] == [
        type(setting) for setting in written.settings.values()
    ]
    for name, one in written.measurements.series.items():
        np.testing.assert_array_equal(read.measurements.series[name].values, one.values)


def test_a_finished_record_replaces_the_failed_one(tmp_path):
    store = Store(tmp_path / "runs")
    failed = {"status": CellStatus.FAILED, "error": "out of luck"}
    assert list(store.records("toy2020", "quick")) == []
    assert not store.root.exists()
    for changes, status in ((failed, "failed"), ({}, "completed"), (failed, "completed")):
        store.write(record(**changes))
        assert [kept.status for kept in store.records("toy2020", "quick")] == [status]
        assert (store.find(CELL, NAME) is None) == (status == "failed")


BODY = record().model_dump_json().encode()
HUGE = b"0" * 400
SECONDS = rb'("seconds":)[^,]*'
BAD = {
    "empty": (b"", "not a whole record"),
    "half": (sealed(BODY)[:200], "not a whole record"),
    "unsealed": (BODY, "not a whole record"),
    "edited": (sealed(BODY).replace(b"1.5", b"2.5"), "does not have the SHA-256 that it states"),
    "list": (sealed(b"[1, 2]"), r"not a record of this version of reproaudit \(as a whole: "),
    "foreign": (sealed(b'{"name": "package"}'), r"not a record .* \(paper: Field required\)"),
    "newer": (sealed(BODY.replace(b'"version":1', b'"version":99')), "format 99; expected 1"),
    "other": (sealed(record(1).model_dump_json().encode()), "the record of another cell"),
    "settings": (
        sealed(BODY.replace(b'"steps":3', b'"steps":4')),
        "its fingerprint does not follow from the settings, seed, code, data and versions in it",
    ),
    "endless": (
        sealed(re.sub(rb'"seconds":[^,]*', b'"seconds":1e17', BODY)),
        "took 1e\\+17 seconds",
    ),
    "timeless": (sealed(re.sub(rb'"seconds":[^,]*', b'"seconds":NaN', BODY)), "took nan seconds"),
    "ancient": (sealed(re.sub(rb'"started":"[0-9]*', b'"started":"0001', BODY)), "of the year 1;"),
    "many": (sealed(BODY.replace(b'"steps":null', b'"steps":1' + HUGE)), "a step or seed"),
    "far": (
        sealed(BODY.replace(b'"series":{}', b'"series":{"x":{"steps":[1%s],"values":[0]}}' % HUGE)),
        "a step or seed beyond",
    ),
    "nan": (sealed(BODY.replace(b"0.30000000000000004", b"NaN")), "not a record"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_file_that_is_no_record_is_named_and_never_skipped(tmp_path, kind):
    content, reason = BAD[kind]
    store = Store(tmp_path)
    store.write(record(7))
    path = place(store)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=reason) as caught:
        store.find(CELL, NAME)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(StoreError, match=reason):
        list(store.records("toy2020", "quick"))
    assert [one.path for one in unreadable(store)] == [path]
    readable = store.records("toy2020", "quick", on_damage=lambda _one: None)
    assert [one.seed for one in readable] == [7]


FAULTS = [
    (errno.ENOSPC, TechnicalError, "no space is left"),
    (errno.EDQUOT, TechnicalError, "no space is left"),
    (errno.EACCES, StoreError, "permission denied"),
    (errno.EROFS, StoreError, "read-only file system"),
    (errno.EIO, TechnicalError, "rror"),
]


@pytest.mark.parametrize("where", ["fsync", "replace"])
@pytest.mark.parametrize(("number", "kind", "text"), FAULTS)
def test_a_failing_disk_is_one_clear_line_and_leaves_earlier_records(
    tmp_path, monkeypatch, where, number, kind, text
):
    store = Store(tmp_path)
    store.write(record())
    before = place(store).read_bytes()

    def fail(*_arguments: Any) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, where, fail)
        with pytest.raises(kind, match=text) as caught:
            store.write(record(seconds=99.0))
    assert "\n" not in str(caught.value)
    assert str(place(store)) in str(caught.value)
    assert "Records made so far are kept" in str(caught.value)
    assert place(store).read_bytes() == before
    assert sorted(path.name for path in place(store).parent.iterdir()) == [f"{NAME}.json"]


def test_a_file_in_the_place_of_the_store(tmp_path):
    (tmp_path / "runs").write_text("not a folder")
    store = Store(tmp_path / "runs")
    for action in (
        lambda: store.write(record()),
        lambda: store.find(CELL, NAME),
        lambda: list(store.records("toy2020", "quick")),
        lambda: store.try_lock(CELL, NAME),
    ):
        with pytest.raises(StoreError, match="a file stands where a folder is needed"):
            action()
    assert (tmp_path / "runs").read_text() == "not a folder"


def test_checkpoints_and_their_clock(tmp_path):
    partial = Store(tmp_path).partial(cell(), "f" * 32)
    assert partial.load("a/b") is None
    assert partial.clock().seconds == 0.0
    clock = Clock(datetime(2026, 1, 2, tzinfo=UTC), 12.5)
    partial.save("a/b", b"one", clock)
    partial.save("a/b", b"two", clock)
    partial.save("a b", b"three", clock)
    assert (partial.load("a/b"), partial.load("a b")) == (b"two", b"three")
    assert partial.clock() == clock
    (partial.folder / "clock").write_text("{")
    assert partial.clock().seconds == 0.0
    partial.clear()
    assert not partial.folder.exists()


# --- power cuts and locks -----------------------------------------------------------------------


def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens to files from here on: "file" and "folder" synced, "replace"."""
    told: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_sync(descriptor: int) -> None:
        told.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def note_replace(source: Any, target: Any) -> None:
        told.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_replace)
    return told


def test_a_record_survives_a_power_cut_in_the_right_order(tmp_path, monkeypatch):
    """Its content before its name, its name before the manifest's line."""
    told = synced(monkeypatch)
    Store(tmp_path).write(record())
    assert told == ["file", "replace", "folder", "file"]


def test_a_checkpoint_does_not_wait_for_the_disk(tmp_path, monkeypatch):
    told = synced(monkeypatch)
    partial = Store(tmp_path).partial(CELL, NAME)
    partial.save("a", b"one", Clock(datetime(2026, 1, 2, tzinfo=UTC), 1.0))
    assert told == ["replace", "replace"]


@pytest.mark.parametrize(("number", "fails"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_only_a_file_system_without_folder_syncs_is_forgiven(tmp_path, monkeypatch, number, fails):
    fsync = os.fsync

    def fail_on_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail_on_folders)
    with pytest.raises(TechnicalError) if fails else nullcontext():
        Store(tmp_path).write(record())


@pytest.mark.parametrize("finished", [True, False])
def test_a_locks_file_goes_only_with_a_finished_cell_and_under_the_lock(
    tmp_path, monkeypatch, finished
):
    store = Store(tmp_path)
    path = store.path(CELL, NAME).with_suffix(".lock")
    lock = store.try_lock(CELL, NAME)
    assert lock is not None
    unlink = Path.unlink

    def unlink_held(self: Path, missing_ok: bool = False) -> None:
        assert store.try_lock(CELL, NAME) is None, "the file was removed after the lock was given"
        unlink(self, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", unlink_held)
        lock.give_back(finished=finished)
    assert path.exists() is not finished
    again = store.try_lock(CELL, NAME)
    assert again is not None
    again.give_back(finished=False)


# --- a record and its line are two writings -----------------------------------------------------


class KilledError(BaseException):
    pass


def killed_before_its_line(store: Store, one: Record) -> None:
    """Writes a record as a run that is killed before it lists it."""

    def die(*_arguments: Any) -> None:
        raise KilledError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.manifest, "add", die)
        with pytest.raises(KilledError):
            store.write(one)


@pytest.mark.parametrize("has_listed", [True, False])
def test_a_kill_between_the_two_writings_condemns_no_record(tmp_path, has_listed):
    """Nor the one that a record replaces, nor one that is measured again after a removal."""
    writer = Store(tmp_path)
    writer.write(record())
    place(writer).unlink() if has_listed else shutil.rmtree(tmp_path)
    killed_before_its_line(writer, record(seconds=2.0))
    store = Store(tmp_path)
    kept = kept_in(store)
    assert (kept.record.seconds, kept.is_listed) == (2.0, False)
    store.enlist(kept)
    assert kept_in(store).is_listed


def test_an_earlier_record_that_is_put_back_is_found_once_the_later_is_listed(tmp_path):
    store = Store(tmp_path)
    store.write(record())
    earlier = place(store).read_bytes()
    killed_before_its_line(store, record(seconds=2.0))
    store.enlist(kept_in(store))
    place(store).write_bytes(earlier)
    with pytest.raises(StoreError, match="an earlier record, put back; the manifest lists one"):
        store.find(CELL, NAME)


def test_a_late_enlisting_does_not_hide_a_later_record(tmp_path):
    store = Store(tmp_path)
    killed_before_its_line(store, record())
    kept = kept_in(store)
    store.manifest.add(store.listed_as(place(store)), kept.digest)  # by whoever wrote it
    store.write(record(seconds=2.0))
    store.enlist(kept)
    assert kept_in(store).record.seconds == 2.0


@pytest.mark.parametrize("before", ["open_regular", "read_regular", "open_record"])
@pytest.mark.parametrize("is_whole", [True, False])
def test_reading_refuses_nothing_that_is_written_meanwhile(tmp_path, monkeypatch, before, is_whole):
    """Whatever step of the reading it comes before, and whether its line is written yet."""
    reader, writer = Store(tmp_path), Store(tmp_path)
    writer.write(record())
    step = getattr(store_module, before)

    def meanwhile(*arguments: Any) -> Any:
        monkeypatch.undo()
        later = record(seconds=2.0)
        writer.write(later) if is_whole else killed_before_its_line(writer, later)
        return step(*arguments)

    monkeypatch.setattr(store_module, before, meanwhile)
    assert kept_in(reader).record.seconds == (1.5 if before == "open_record" else 2.0)
