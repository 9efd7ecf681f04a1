"""Finds faults in a store, and what can be mended or removed. Nothing in here imports torch."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from reproaudit.errors import StoreError
from reproaudit.running.files import DamagedError, explained, free_name, listing
from reproaudit.running.manifest import RecordManifest
from reproaudit.running.partial import Partial
from reproaudit.running.store import Store


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
    yield from _inspect_manifest(store, repair)
    seen: set[str] = set()
    for folder in _experiments(store, papers):
        for path in listing(folder):
            if path.name.endswith(".json"):
                seen.add(store.listed_as(path))
                yield from _inspect_record(store, path, repair)
            elif path.name.endswith(".partial"):
                yield from _inspect_checkpoints(path, repair)
    with suppress(StoreError):
        for name in store.manifest.digests():
            if name.split("/")[0] in papers and name not in seen:
                what = "the manifest lists this record, and it is gone; run the paper again"
                yield StoreFault(store.root / name, what)


def _inspect_manifest(store: Store, repair: bool) -> Iterator[StoreFault]:
    try:
        store.manifest.digests()
    except StoreError as error:
        mended = ""
        if repair:
            aside = free_name(store.manifest.file, "bad")
            os.replace(store.manifest.file, aside)
            store.manifest = RecordManifest(store.manifest.file)
            mended = f"kept as {aside.name}; every sound record is listed anew"
            for folder in _experiments(
                store, [path.name for path in listing(store.root) if path.is_dir()]
            ):
                for path in listing(folder):
                    with suppress(DamagedError):
                        if path.name.endswith(".json") and not path.name.endswith(".failed.json"):
                            store.read(path)
                            store.enlist(path)
        yield StoreFault(store.manifest.file, str(error), mended)


def _inspect_record(store: Store, path: Path, repair: bool) -> Iterator[StoreFault]:
    try:
        store.read(path)
    except DamagedError as error:
        aside = store.set_aside(path) if repair and not _held(path.with_suffix(".lock")) else None
        mended = f"moved to {aside.name}; run the paper again" if aside else ""
        yield StoreFault(path, str(error), mended)
        return
    except StoreError:
        return  # the manifest's own fault, which is told already
    if not path.name.endswith(".failed.json") and not store.times_written(path):
        if repair:
            store.enlist(path)
        what = "a sound record that the manifest does not list: a run was killed, or it was copied"
        yield StoreFault(path, what, "it is listed now" if repair else "")


def _inspect_checkpoints(folder: Path, repair: bool) -> Iterator[StoreFault]:
    for path, reason in Partial(folder).damaged():
        mended = ""
        if repair and not _any_held(folder.parent):
            aside = Partial(folder).set_aside(path)
            mended = f"moved to {aside.parent.name}; its phase starts anew"
        yield StoreFault(path, f"a damaged checkpoint: {reason}", mended)


def leftovers(store: Store, papers: Collection[str], *, unfinished: bool) -> Iterator[Leftover]:
    """The files that runs left behind: temporary files, free locks, damaged files moved aside.

    Args:
        store: the store.
        papers: the slugs.
        unfinished: whether checkpoints of cells without a record count, too. Those of cells that
            are being computed never do.
    """
    for folder in _experiments(store, papers):
        busy = _any_held(folder)
        for path in listing(folder):
            what = _leftover(path, busy, unfinished)
            if what:
                files = path.rglob("*") if path.is_dir() else [path]
                yield Leftover(path, what, sum(one.stat().st_size for one in files))


def _leftover(path: Path, busy: bool, unfinished: bool) -> str:
    if path.suffix == ".tmp" and not busy:
        return "a file that a killed process did not finish"
    if path.suffix == ".lock" and not _held(path):
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
        tiers = [one for one in listing(store.root / paper) if one.is_dir()]
        yield from (folder for tier in tiers for folder in listing(tier) if folder.is_dir())


def _held(path: Path) -> bool:
    """True if a run holds a lock; a lock's file that does not exist is not made."""
    if not path.exists():
        return False
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        return True
    lock.release()
    return False


def _any_held(folder: Path) -> bool:
    return any(_held(path) for path in folder.glob("*.lock"))
