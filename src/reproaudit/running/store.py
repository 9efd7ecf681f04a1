"""Where records are kept: one file per cell, written whole or not at all.

Layout under the store's root::

    <paper>/<tier>/<experiment>/<fingerprint>.json           a completed or diverged cell
    <paper>/<tier>/<experiment>/<fingerprint>.failed.json    a cell to be tried again
    <paper>/<tier>/<experiment>/<fingerprint>.partial/       checkpoints of unfinished work
    <paper>/<tier>/<experiment>/<fingerprint>.lock           held by the run that computes the cell
    <paper>/<tier>/<experiment>/<fingerprint>.json.bad       an unreadable record, moved aside

Several runs may work on one store at once: a cell's lock lets one of them compute it. Nothing in
here imports torch.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from filelock import FileLock, Timeout
from pydantic import ValidationError

from reproaudit.cell import Cell, canonical_settings
from reproaudit.errors import AuditError, StoreError, TechnicalError
from reproaudit.records import RECORD_VERSION, CellStatus, Record
from reproaudit.running.fingerprint import code_hash, fingerprint, package_versions, versions

__all__ = [
    "Cell",
    "Clock",
    "Partial",
    "Store",
    "Unreadable",
    "code_hash",
    "fingerprint",
    "package_versions",
    "versions",
]

STALE_SECONDS = 3600.0
"""No write takes an hour: a temporary file that old belongs to a process that was killed."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EACCES, errno.EPERM, errno.EROFS}
_NO_FOLDER = {errno.ENOTDIR, errno.EEXIST, errno.EISDIR}


def _fault(action: str, path: Path, error: OSError) -> AuditError:
    """One line for the user: where, what happened, what to do."""
    where = f"cannot {action} {path}"
    kept = "Records made so far are kept."
    if error.errno in _FULL:
        return TechnicalError(
            f"{where}: no space is left. Free some, or choose another place with --store. {kept}"
        )
    if error.errno in _CLOSED:
        return StoreError(
            f"{where}: {os.strerror(error.errno or 0).lower()}. "
            f"Make it accessible, or choose another place with --store. {kept}"
        )
    if error.errno in _NO_FOLDER:
        return StoreError(
            f"{where}: a file stands where a folder is needed, or the reverse. "
            f"Move it away, or choose another place with --store. {kept}"
        )
    return TechnicalError(f"{where}: {error.strerror or error}. {kept}")


@contextmanager
def _explained(action: str, path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _fault(action, path, error) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot sync folders
            raise
    finally:
        os.close(descriptor)


def write_whole(path: Path, data: bytes, *, durable: bool) -> None:
    """Writes a file so that it is seen whole or not at all, whenever the process is killed.

    Args:
        path: the file; its folder is made where it is missing.
        data: its contents.
        durable: whether it also survives a power cut, for some milliseconds of waiting.

    Raises:
        StoreError: if the place cannot be written to.
        TechnicalError: if the disk is full or failing.
    """
    temporary = path.with_name(path.name + ".tmp")
    with _explained("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        if durable:
            _sync_folder(path.parent)


@dataclass(frozen=True)
class Clock:
    """How long unfinished work has taken up to its last checkpoint."""

    started: datetime
    seconds: float


class Partial:
    """The checkpoints of unfinished work: one file per phase, and the time spent so far.

    A checkpoint is whole after a kill. After a power cut it may be torn; its reader then starts
    the phase anew, which is cheaper than waiting for the disk at every checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _file(self, phase: str) -> Path:
        return self.folder / f"{quote(phase, safe=' ')}.pt"

    def load(self, phase: str) -> bytes | None:
        """The phase's last checkpoint, or None."""
        path = self._file(phase)
        with _explained("read", path), suppress(FileNotFoundError):
            return path.read_bytes()
        return None

    def save(self, phase: str, checkpoint: bytes, clock: Clock) -> None:
        """Keeps a checkpoint in place of the phase's last one, and the time spent so far."""
        write_whole(self._file(phase), checkpoint, durable=False)
        times = {"started": clock.started.isoformat(), "seconds": clock.seconds}
        write_whole(self.folder / "clock.json", json.dumps(times).encode(), durable=False)

    def clock(self) -> Clock:
        """The time spent up to the last checkpoint; zero, from now, where there is none."""
        try:
            times = json.loads((self.folder / "clock.json").read_bytes())
            return Clock(datetime.fromisoformat(times["started"]), float(times["seconds"]))
        except (OSError, ValueError, KeyError, TypeError):
            return Clock(datetime.now(UTC), 0.0)

    def clear(self) -> None:
        """Forgets all of it."""
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class Unreadable:
    """A file that stands where a record should and is none."""

    path: Path
    reason: str


class _NotARecord(Exception):
    pass


class Store:
    """The records under one folder.

    Args:
        root: the folder; it need not exist before something is written.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    # --- places

    def folder(self, paper: str, tier: str, experiment: str) -> Path:
        """Where the cells of an experiment are."""
        parts = [_folder_name(part) for part in (paper, tier, experiment)]
        if any(part in ("", ".", "..") for part in parts):
            raise StoreError(f"not a name for a folder: '{paper}', '{tier}' or '{experiment}'")
        return self.root.joinpath(*parts)

    def path(self, cell: Cell, fingerprint: str) -> Path:
        """Where the finished record of a cell is, or will be."""
        return self.folder(cell.paper, cell.tier, cell.experiment) / f"{fingerprint}.json"

    def partial(self, cell: Cell, fingerprints: Sequence[str]) -> Partial:
        """Where the unfinished work of a cell, or of cells measured together, is kept."""
        name = fingerprints[0]
        if len(fingerprints) > 1:
            name = hashlib.sha256(" ".join(fingerprints).encode()).hexdigest()[:32]
        folder = self.folder(cell.paper, cell.tier, cell.experiment)
        return Partial((folder / f"{name}.partial").absolute())

    # --- reading

    def find(self, cell: Cell, fingerprint: str) -> Record | None:
        """The finished record of a cell, or None where it has none.

        Raises:
            StoreError: if there is a file that is not the cell's record; the text names it.
        """
        path = self.path(cell, fingerprint)
        try:
            return _read(path, _identity(cell, fingerprint))
        except FileNotFoundError:
            return None
        except _NotARecord as error:
            raise _unreadable(Unreadable(path, str(error))) from error

    def records(
        self, paper: str, tier: str, on_unreadable: Callable[[Unreadable], None] | None = None
    ) -> Iterator[Record]:
        """Every record of a paper's tier, failed cells included, one at a time.

        A failed record is left out where the cell has a finished one.

        Args:
            paper: the slug.
            tier: smoke, quick, paper or custom.
            on_unreadable: told of each file that is not a record. Without it the first raises.

        Raises:
            StoreError: on a file that is not a record, or a folder that cannot be read.
        """
        for path in self._files(paper, tier):
            name = path.name.removesuffix(".json").removesuffix(".failed")
            if path.name.endswith(".failed.json") and path.with_name(f"{name}.json").exists():
                continue
            try:
                yield _read(path, (paper, tier, path.parent.name, name))
            except FileNotFoundError:
                continue  # another run has just replaced a failed record
            except _NotARecord as error:
                found = Unreadable(path, str(error))
                if on_unreadable is None:
                    raise _unreadable(found) from error
                on_unreadable(found)

    def newest(self, paper: str, tier: str) -> dict[tuple[str, str, int], Record]:
        """The newest record of every cell of a paper's tier, whatever code made it.

        A finished record stands before a failed one, then the newer before the older.

        Returns:
            By experiment, `canonical_settings` and seed.

        Raises:
            StoreError: as `records`.
        """
        found: dict[tuple[str, str, int], Record] = {}
        for record in self.records(paper, tier):
            key = (record.experiment, canonical_settings(record.settings), record.seed)
            if key not in found or _standing(record) > _standing(found[key]):
                found[key] = record
        return found

    def unreadable(self, paper: str, tier: str) -> list[Unreadable]:
        """Every file of a paper's tier that stands where a record should and is none."""
        found: list[Unreadable] = []
        for _ in self.records(paper, tier, found.append):
            pass
        return found

    def _files(self, paper: str, tier: str) -> Iterator[Path]:
        place = self.folder(paper, tier, "x").parent
        for folder in _listing(place):
            if folder.is_dir():
                yield from (path for path in _listing(folder) if path.name.endswith(".json"))

    # --- writing

    def write(self, record: Record) -> Path:
        """Keeps a record; a finished one replaces the cell's failed one.

        Returns:
            Its file.

        Raises:
            StoreError: if the store cannot be written to.
            TechnicalError: if the disk is full or failing. Earlier records are intact.
        """
        folder = self.folder(record.paper, record.tier, record.experiment)
        path = folder / f"{record.fingerprint}.json"
        failed = folder / f"{record.fingerprint}.failed.json"
        target = failed if record.status is CellStatus.FAILED else path
        write_whole(target, record.model_dump_json().encode() + b"\n", durable=True)
        if target is path:
            with suppress(OSError):
                failed.unlink()
        return target

    def set_aside(self, cell: Cell, fingerprint: str) -> Path | None:
        """Moves an unreadable record out of the way, under the cell's lock; None if it is gone."""
        path = self.path(cell, fingerprint)
        number = 0
        while (aside := path.with_name(f"{path.name}.bad{number or ''}")).exists():
            number += 1
        with _explained("move aside", path), suppress(FileNotFoundError):
            os.replace(path, aside)
            return aside
        return None

    def sweep(self, paper: str, tier: str) -> None:
        """Removes temporary files that killed processes left behind."""
        oldest = time.time() - STALE_SECONDS
        for folder in _listing(self.folder(paper, tier, "x").parent):
            if not folder.is_dir():
                continue
            for path in _listing(folder):
                if path.name.endswith(".tmp"):
                    with suppress(OSError):
                        if path.stat().st_mtime < oldest:
                            path.unlink()

    # --- locking

    def try_lock(self, cell: Cell, fingerprint: str) -> CellLock | None:
        """Takes the cell for this run, or returns None at once if another run has it.

        Whoever takes it looks for the cell's record again: it may just have been written.

        Raises:
            StoreError, TechnicalError: if the store cannot be written to.
        """
        path = self.path(cell, fingerprint).with_suffix(".lock")
        with _explained("write", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                return None
        return CellLock(lock, path)


class CellLock:
    """A cell taken by this run. A killed process loses it."""

    def __init__(self, lock: FileLock, path: Path) -> None:
        self._lock = lock
        self._path = path

    def release(self, *, finished: bool) -> None:
        """Gives the cell back.

        Args:
            finished: whether its record is written. Only then may the lock's file go: whoever
                still waits on the removed one finds the record.
        """
        if finished:
            with suppress(OSError):
                self._path.unlink()
        self._lock.release()


def _standing(record: Record) -> tuple[bool, datetime]:
    return record.status is not CellStatus.FAILED, record.started


def _listing(folder: Path) -> list[Path]:
    """What a folder holds, by name; nothing where it is missing."""
    with _explained("read", folder), suppress(FileNotFoundError):
        return sorted(folder.iterdir())
    return []


def _unreadable(found: Unreadable) -> StoreError:
    return StoreError(
        f"{found.path}: {found.reason}. "
        "Run the paper again: the cell is measured anew and this file is moved aside. "
        "A file that stays is of older code or another setting: remove it."
    )


def _folder_name(text: str) -> str:
    return quote(text, safe=" ")


def _identity(of: Cell | Record, fingerprint: str) -> tuple[str, str, str, str]:
    """What a file's place says of the record in it."""
    return of.paper, of.tier, _folder_name(of.experiment), fingerprint


def _read(path: Path, identity: tuple[str, str, str, str]) -> Record:
    """The record in a file.

    Raises:
        FileNotFoundError: if there is no such file.
        _NotARecord: with the reason, if it is not the record that its place says.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _fault("read", path, error) from error
    try:
        record = Record.model_validate_json(text)
    except ValidationError as error:
        raise _NotARecord(_reason(text, error)) from error
    if record.version != RECORD_VERSION:
        raise _NotARecord(_other_version(record.version))
    if _identity(record, record.fingerprint) != identity:
        raise _NotARecord(
            f"the record of another cell ({record.paper}, {record.tier}, {record.experiment}, "
            f"seed {record.seed}) under this name"
        )
    return record


def _other_version(version: object) -> str:
    return f"a record of format {version}; this version of reproaudit reads {RECORD_VERSION}"


def _reason(text: bytes, error: ValidationError) -> str:
    if not text.strip():
        return "an empty file where a record should be"
    try:
        content = json.loads(text)
    except ValueError as fault:
        return f"not a whole record ({fault})"
    if not isinstance(content, dict):
        return "JSON, but not a record"
    if content.get("version", RECORD_VERSION) != RECORD_VERSION:
        return _other_version(content["version"])
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"JSON, but not a record ({place or 'as a whole'}: {first['msg']})"
