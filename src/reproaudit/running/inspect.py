"""Finds faults in a store, and what can be mended or removed. Nothing in here imports torch."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from reproaudit.errors import StoreError
from reproaudit.running.files import explained, listing, set_aside
from reproaudit.running.store import DamagedError, Partial, Store


@dataclass(frozen=True)
class StoreFault:
    """Something wrong with a store.

    Attributes:
        path: the file.
        what: what is wrong with it, and what to do if nothing was mended.
        mended: what was done about it; empty if nothing.
    """

    path: Path
    what: str
    mended: str = ""


@dataclass(frozen=True)
class Leftover:
    """A file or folder that no run needs any more."""

    path: Path
    what: str
    size: int


def inspect_store(store: Store, papers: Collection[str], *, repair: bool) -> Iterator[StoreFault]:
    """Reads every byte of some papers' records and checkpoints, and of the manifest.

    Args:
        store: the store.
        papers: the slugs.
        repair: whether to move damaged files aside and to list sound records that are not listed.
            Nothing is deleted.

    Yields:
        Each fault, once it is mended if it can be.
    """
    try:
        store.manifest.digests()
    except StoreError as error:
        aside = set_aside(store.manifest.file) if repair else None
        mended = f"kept as {aside.name}; sound records are listed anew" if aside else ""
        yield StoreFault(store.manifest.file, str(error), mended)
    seen: set[str] = set()
    for folder in _experiments(store, papers):
        busy = _is_busy(folder)
        for path in listing(folder):
            if path.name.endswith(".json"):
                seen.add(store.listed_as(path))
                yield from _inspect_record(store, path, repair)
            elif path.name.endswith(".partial"):
                for one in Partial(path).damaged():
                    aside = set_aside(one.path) if repair and not busy else None
                    mended = f"moved to {aside.name}; its phase starts anew" if aside else ""
                    yield StoreFault(one.path, f"a damaged checkpoint: {one.reason}", mended)
    with suppress(StoreError):
        for name in store.manifest.digests():
            if name.split("/")[0] in papers and name not in seen:
                what = "the manifest lists this record, and it is gone; run the paper again"
                yield StoreFault(store.root / name, what)


def _inspect_record(store: Store, path: Path, repair: bool) -> Iterator[StoreFault]:
    try:
        store.read(path)
    except DamagedError as error:
        aside = set_aside(path) if repair and not _is_held(path.with_suffix(".lock")) else None
        mended = f"moved to {aside.name}; run the paper again" if aside else ""
        yield StoreFault(path, error.reason, mended)
        return
    except StoreError:
        return  # a fault of the manifest itself, which is named already
    if (
        not path.name.endswith(".failed.json")
        and store.listed_as(path) not in store.manifest.digests()
    ):
        if repair:
            store.enlist(path)
        what = "a sound record that the manifest does not list: a run was killed, or it was copied"
        yield StoreFault(path, what, "it is listed now" if repair else "")


def leftovers(store: Store, papers: Collection[str], *, unfinished: bool) -> Iterator[Leftover]:
    """The files that runs left behind: temporary files, free locks, damaged files moved aside.

    Args:
        store: the store.
        papers: the slugs.
        unfinished: whether checkpoints of cells without a record count, too. Those of cells that
            are being computed never do.
    """
    for folder in _experiments(store, papers):
        busy = _is_busy(folder)
        for path in listing(folder):
            what = _leftover(path, busy, unfinished)
            if what:
                files = path.rglob("*") if path.is_dir() else [path]
                yield Leftover(path, what, sum(one.stat().st_size for one in files))


def _leftover(path: Path, busy: bool, unfinished: bool) -> str:
    if path.suffix == ".tmp" and not busy:
        return "a file that a killed process did not finish"
    if path.suffix == ".lock" and not _is_held(path):
        return "the lock of a run that has ended"
    if ".bad" in path.suffix:
        return "a damaged file that was moved aside"
    if path.suffix == ".partial":
        if path.with_suffix(".json").exists():
            return "checkpoints of a cell that has its record"
        if unfinished and not busy:
            return "checkpoints of an unfinished cell"
    return ""


def remove(path: Path) -> None:
    """Removes a file or a folder.

    Raises:
        StoreError, TechnicalError: if it cannot be removed.
    """
    with explained("remove", path), suppress(FileNotFoundError):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _experiments(store: Store, papers: Collection[str]) -> Iterator[Path]:
    """The folder of every experiment of every tier of some papers."""
    for paper in sorted(papers):
        yield from (one for one in sorted((store.root / paper).glob("*/*")) if one.is_dir())


def _is_held(path: Path) -> bool:
    """True if a run holds a lock; a lock's file that does not exist is not made."""
    if not path.exists():
        return False
    try:
        with FileLock(path).acquire(timeout=0):
            return False
    except (Timeout, OSError):
        return True


def _is_busy(folder: Path) -> bool:
    """True if a run computes a cell of this experiment."""
    return any(_is_held(path) for path in folder.glob("*.lock"))
