"""Finds faults in a store, and what can be mended or removed. Nothing in here imports torch."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from reproaudit.errors import StoreError
from reproaudit.files import explained, listing, set_aside
from reproaudit.records import CellStatus
from reproaudit.store.records import DamagedError, Partial, Store, is_held

_LEFT = {
    ".tmp": "a file that a killed process did not finish",
    ".lock": "the lock of a run that has ended",
    ".bad": "a damaged file that was moved aside",
}
"""By the ending of a name, what a run left behind."""

WRITING_SECONDS = 3600.0  # a temporary file may still be written: the slowest takes seconds


@dataclass(frozen=True)
class StoreFault:
    """A file of a store, what is wrong with it, and what was done about it; empty if nothing."""

    path: Path
    what: str
    mended: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.what}{self.mended and f' ({self.mended})'}"


def inspect_store(store: Store, papers: Collection[str], *, repair: bool) -> Iterator[StoreFault]:
    """Reads every byte of some papers' records and checkpoints, and of the manifest; yields faults.

    A repair moves damaged files aside and lists sound records that are not listed.
    """
    gone = []
    try:
        listed = [name for name in store.manifest.digests() if name.split("/")[0] in papers]
        gone = [store.root / name for name in listed if not (store.root / name).exists()]
    except StoreError as error:
        yield _moved(store.manifest.file, str(error), "sound records are listed anew", repair)
    for folder in experiment_folders(store, papers):
        for path in listing(folder):
            can_move = repair and not _is_held(path)
            if path.name.endswith(".json"):
                yield from _inspect_record(store, path, repair, can_move)
            elif path.name.endswith(".partial"):
                for damage in Partial(path).damaged():
                    what = f"a damaged checkpoint: {damage.reason}"
                    yield _moved(damage.path, what, "its phase starts anew", can_move)
    for path in gone:
        what = "the manifest lists this record, and it is gone; run the paper again"
        yield StoreFault(path, what)


def _moved(path: Path, what: str, then: str, can_move: bool) -> StoreFault:
    aside = set_aside(path) if can_move else None
    return StoreFault(path, what, f"moved to {aside.name}; {then}" if aside else "")


def _inspect_record(store: Store, path: Path, repair: bool, can_move: bool) -> Iterator[StoreFault]:
    try:
        kept = store.kept(path)
    except DamagedError as error:
        yield _moved(path, error.reason, "run the paper again", can_move)
        return
    except StoreError:
        return  # a fault of the manifest itself, which is named already
    if kept and not kept.is_listed and kept.record.status is not CellStatus.FAILED:
        if repair:
            store.enlist(kept)
        what = "a sound record that the manifest does not list: a run was killed, or it was copied"
        yield StoreFault(path, what, "it is listed now" if repair else "")


def leftovers(
    store: Store, papers: Collection[str], *, unfinished: bool
) -> Iterator[tuple[Path, str]]:
    """The files that runs left behind: temporary files, free locks, damaged files moved aside.

    Checkpoints of cells without a record count if they are ``unfinished`` work that is to go, too.
    Nothing of a cell that is being computed counts, nor a temporary file of the last hour.
    """
    for path in listing(store.root) if store.root.is_dir() else ():
        if (what := _left(path)) and path.suffix == ".tmp":
            yield path, what
    for folder in experiment_folders(store, papers):
        for path in listing(folder):
            if _is_held(path):
                continue
            if path.suffix != ".partial":
                left = {path: _left(path)}
            elif path.with_suffix(".json").exists():
                left = {path: "checkpoints of a cell that has its record"}
            elif unfinished:
                left = {path: "checkpoints of an unfinished cell"}
            else:
                left = {file: _left(file) for file in listing(path)}
            yield from ((file, what) for file, what in left.items() if what)


def _left(path: Path) -> str:
    """What a run left behind in a file; empty if nothing, or if somebody may be writing it."""
    with suppress(OSError):
        if path.suffix == ".tmp" and time.time() - path.stat().st_mtime < WRITING_SECONDS:
            return ""
    return _LEFT.get(re.sub(r"\d+$", "", path.suffix), "")


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)


def remove(path: Path) -> None:
    """Removes a file or a folder, or raises a StoreError or a TechnicalError."""
    with explained("remove", path), suppress(FileNotFoundError):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def experiment_folders(store: Store, papers: Collection[str]) -> Iterator[Path]:
    """The folder of every experiment of every tier of some papers."""
    for paper in sorted(papers):
        yield from (path for path in sorted((store.root / paper).glob("*/*")) if path.is_dir())


def _is_held(path: Path) -> bool:
    return is_held(path.with_name(f"{path.name.partition('.')[0]}.lock"))
