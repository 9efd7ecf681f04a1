"""Locks are on files, are waited for with a word, and are refused where there are none."""

import errno
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cells import InProcess, cell, locate
from reproaudit import files
from reproaudit.cell import Cell
from reproaudit.errors import StoreError
from reproaudit.files import locked, write_whole
from reproaudit.repositories import environments
from reproaudit.repositories.processes import CommandError
from reproaudit.run import cells as run_module
from reproaudit.run.cells import run_cells
from reproaudit.run.events import CellNote, Event, Summary
from reproaudit.store.records import CellLock, RecordManifest, Store

ACTIONS: dict[str, Callable[[Path], Any]] = {
    "a folder's": lambda folder: locked(folder / "a.lock").__enter__(),
    "a cell's": lambda folder: Store(folder).try_lock(cell(), "a" * 32),
    "the manifest's": lambda folder: RecordManifest(folder / "manifest.log").add("a", "b" * 64),
    "a run's": lambda folder: run_cells([cell()], locate, Store(folder), executor=InProcess()),
}


def refused(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
@pytest.mark.parametrize("lock", ACTIONS)
def test_a_file_system_without_locks_is_one_line(tmp_path, monkeypatch, lock, number):
    refused(monkeypatch, number)
    with pytest.raises(StoreError, match="knows no locks") as caught:
        ACTIONS[lock](tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_cache_without_locks_fails_the_cell_that_needs_it(tmp_path, monkeypatch):
    monkeypatch.setenv("REPROAUDIT_CACHE", str(tmp_path))
    refused(monkeypatch, errno.ENOSYS)
    place = environments._locked_place("git", "address")
    with pytest.raises(CommandError, match=r"cannot be locked .* Name another in"), place:
        pass


def test_who_waits_for_a_lock_is_told_for_which_once(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(files, "PATIENCE_SECONDS", 0.02)
    file = tmp_path / "a.lock"
    entered = threading.Event()

    def wait() -> None:
        with locked(file):
            entered.set()

    waiting = threading.Thread(target=wait)
    with locked(file):
        waiting.start()
        while not caplog.messages:
            time.sleep(0.005)
        assert not entered.wait(0.05)
    waiting.join()
    assert entered.is_set()
    (message,) = caplog.messages
    assert message.startswith(f"waiting for the lock {file}, which another program holds ")


def test_who_is_refused_a_lock_is_told_which(tmp_path, monkeypatch):
    """Some file systems answer that permission is denied; it may come."""
    monkeypatch.setattr(files, "PATIENCE_SECONDS", 0.02)
    refused(monkeypatch, errno.EACCES)
    monkeypatch.setattr(files._log, "warning", lambda *_: monkeypatch.undo())
    with locked(tmp_path / "a.lock"):
        assert files.PATIENCE_SECONDS > 1.0, "it came after the word"


def test_a_run_that_waits_for_a_cell_says_for_which_lock_once(tmp_path, monkeypatch):
    store = Store(tmp_path)
    events: list[Event] = []
    naps: list[float] = []
    take = store.try_lock

    def held_for_long(one: Cell, name: str) -> CellLock | None:
        return take(one, name) if len(naps) == 60 else None

    monkeypatch.setattr(store, "try_lock", held_for_long)
    monkeypatch.setattr(run_module.time, "sleep", naps.append)
    summary = run_cells([cell()], locate, store, on_event=events.append, executor=InProcess())
    assert summary == Summary(completed=1)
    (note,) = [one for one in events if isinstance(one, CellNote)]
    assert note.text.startswith(f"waiting for the lock {tmp_path}/toy2020/quick/descent/")


def test_two_writers_of_a_file_never_share_its_temporary_name(tmp_path, monkeypatch):
    """Not even in two containers, where both may have the same process number."""
    names: list[str] = []
    replace = os.replace

    def note(source: Any, target: Any) -> None:
        names.append(Path(source).name)
        replace(source, target)

    monkeypatch.setattr(os, "replace", note)
    for _ in range(2):
        write_whole(tmp_path / "a.json", b"{}")
    assert len(set(names)) == 2
    assert all(name.startswith("a.json.") and name.endswith(".tmp") for name in names)
