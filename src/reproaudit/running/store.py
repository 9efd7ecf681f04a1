"""The records of finished cells: one file per cell, written whole or not at all.

Layout under the store's root::

    manifest.log                                             every finished record ever written
    <paper>/<tier>/<experiment>/<fingerprint>.json           a completed or diverged cell
    <paper>/<tier>/<experiment>/<fingerprint>.failed.json    a cell to be tried again
    <paper>/<tier>/<experiment>/<fingerprint>.partial/       checkpoints of unfinished work
    <paper>/<tier>/<experiment>/<fingerprint>.lock           held by the run that computes the cell
    <paper>/<tier>/<experiment>/<fingerprint>.json.bad       a damaged record, moved aside
    <paper>/<tier>/<experiment>/<fingerprint>.json.replaced  a record that --fresh replaced

A record's file is ``{"sha256": …, "record": …}``. It is read only if the digest fits, if its
fingerprint follows from what the record says of itself, if it stands in its place, and if the
manifest lists this digest as the last one written there. Records of earlier versions have no digest
of their own; those that the manifest lists are held to its digest.

Several runs may work on one store at once: a cell's lock lets one of them compute it. Nothing in
here imports torch.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from filelock import FileLock, Timeout
from pydantic import ValidationError

from reproaudit.bounded import UnfitFileError, decode_json, read_regular
from reproaudit.cell import Cell
from reproaudit.errors import StoreError, TechnicalError
from reproaudit.records import RECORD_VERSION, CellStatus, Record
from reproaudit.running.files import (
    DamagedError,
    explained,
    free_name,
    listing,
    sha256,
    write_whole,
)
from reproaudit.running.fingerprint import fingerprint_of
from reproaudit.running.manifest import RecordManifest
from reproaudit.running.partial import Partial

STALE_SECONDS = 3600.0
"""No write takes an hour: a temporary file that old belongs to a process that was killed."""

MOST_RECORD_BYTES = 2**29
"""Of a record's file; the largest so far have a thousandth of it."""

_SEALED = re.compile(rb'\{"sha256":"([0-9a-f]{64})","record":(.*)\}\n', re.DOTALL)


@dataclass(frozen=True)
class Unreadable:
    """A file in the place of a record that cannot be used, and why."""

    path: Path
    reason: str


class Store:
    """The records under one folder.

    Args:
        root: the folder; it need not exist before something is written. A relative path is resolved
            here, once, so that a changed working directory does not matter.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.abspath(root))
        self.manifest = RecordManifest(self.root / "manifest.log")
        self._folder_id: tuple[int, int] | None = None

    # --- places

    def folder(self, paper: str, tier: str, experiment: str) -> Path:
        """The folder of an experiment's cells."""
        parts = [_folder_name(part) for part in (paper, tier, experiment)]
        if any(part in ("", ".", "..") for part in parts):
            raise StoreError(f"not a name for a folder: '{paper}', '{tier}' or '{experiment}'")
        return self.root.joinpath(*parts)

    def path(self, cell: Cell, fingerprint: str) -> Path:
        """The file of a cell's finished record, whether it exists or not."""
        return self.folder(cell.paper, cell.tier, cell.experiment) / f"{fingerprint}.json"

    def partial(self, cell: Cell, fingerprints: Sequence[str]) -> Partial:
        """The checkpoints of a cell, or of cells measured together."""
        name = fingerprints[0]
        if len(fingerprints) > 1:
            name = hashlib.sha256(" ".join(fingerprints).encode()).hexdigest()[:32]
        folder = self.folder(cell.paper, cell.tier, cell.experiment)
        return Partial(folder / f"{name}.partial")

    def listed_as(self, path: Path) -> str:
        """A file's name in the manifest."""
        return path.relative_to(self.root).as_posix()

    def listed(self, paper: str, tier: str | None = None) -> dict[str, bool]:
        """The records of a tier, or of all, that the list names, each with whether it is there.

        Failures are left out: they are taken away when the cell is run again.
        """
        folder = self.folder(paper, tier or "all", "all").parent
        below = f"{self.listed_as(folder if tier else folder.parent)}/"
        return {
            path: (self.root / path).is_file()
            for path in self.manifest.digests()
            if path.startswith(below) and not path.endswith(".failed.json")
        }

    def times_written(self, path: Path) -> int:
        """The number of finished records that were ever written to a file."""
        return len(self.manifest.digests().get(self.listed_as(path), ()))

    # --- reading

    def find(self, cell: Cell, fingerprint: str) -> Record | None:
        """The finished record of a cell, or None if it has none.

        Raises:
            StoreError: if there is a file that is not the cell's record; the text names it.
        """
        path = self.path(cell, fingerprint)
        try:
            return self.read(path, cell)
        except FileNotFoundError:
            return None
        except DamagedError as error:
            raise _unreadable(Unreadable(path, str(error))) from error

    def records(
        self,
        paper: str,
        tier: str,
        on_unreadable: Callable[[Unreadable], None] | None = None,
        only: Collection[str] | None = None,
    ) -> Iterator[Record]:
        """Every record of a paper's tier, failed cells included, one at a time.

        A failed record is left out if the cell has a finished one.

        Args:
            paper: the slug.
            tier: smoke, quick, paper or custom.
            on_unreadable: told of each file that is not a record. Without it the first raises.
            only: the fingerprints to read; None for all.

        Raises:
            StoreError: on a file that is not a record, or a folder that cannot be read.
        """
        for path in self.files(paper, tier):
            name = path.name.removesuffix(".json").removesuffix(".failed")
            if only is not None and name not in only:
                continue
            if path.name.endswith(".failed.json") and path.with_name(f"{name}.json").exists():
                continue
            try:
                yield self.read(path)
            except FileNotFoundError:
                continue  # another run has just replaced a failed record
            except DamagedError as error:
                found = Unreadable(path, str(error))
                if on_unreadable is None:
                    raise _unreadable(found) from error
                on_unreadable(found)

    def unreadable(self, paper: str, tier: str) -> list[Unreadable]:
        """Every file of a paper's tier that stands in the place of a record and cannot be used."""
        found: list[Unreadable] = []
        for _ in self.records(paper, tier, found.append):
            pass
        return found

    def files(self, paper: str, tier: str) -> Iterator[Path]:
        """Every file in the place of a record of a paper's tier, sorted by path."""
        for folder in listing(self.folder(paper, tier, "x").parent):
            if folder.is_dir():
                yield from (path for path in listing(folder) if path.name.endswith(".json"))

    def read(self, path: Path, cell: Cell | None = None) -> Record:
        """The record in a file.

        Args:
            path: the file, as `files` or `path` gives it.
            cell: the cell that it must be of; None if only its place says so.

        Raises:
            FileNotFoundError: if there is no such file.
            DamagedError: with the reason, if it is not the record that belongs in this place.
            StoreError, TechnicalError: if the file or the manifest cannot be read.
        """
        try:
            data = read_regular(path, MOST_RECORD_BYTES)
        except FileNotFoundError:
            raise
        except UnfitFileError as error:
            raise DamagedError(f"not a record, but {error.strerror}") from error
        except OSError as error:
            with explained("read", path):
                raise error
        record, digest = open_record(data)
        self._check_place(path, record, cell)
        written = self.manifest.digests().get(self.listed_as(path))
        if written and written[-1] != digest:
            earlier = "an earlier record, put back" if digest in written else "another record"
            raise DamagedError(f"{earlier}; the manifest lists one with SHA-256 {written[-1]}")
        return record

    def _check_place(self, path: Path, record: Record, cell: Cell | None) -> None:
        if fingerprint_of(record) != record.fingerprint:
            raise DamagedError(
                "its fingerprint does not follow from the settings, seed, code, data and versions "
                "in it"
            )
        name = path.name.removesuffix(".json")
        name = name.removesuffix(".failed") if record.status is CellStatus.FAILED else name
        place = self.folder(record.paper, record.tier, record.experiment) / name
        if (place, record.fingerprint) != (path.parent / name, name) or (
            cell is not None and record.key != cell.key
        ):
            raise DamagedError(
                f"the record of another cell ({record.paper}, {record.tier}, {record.experiment}, "
                f"seed {record.seed}) under this name"
            )

    # --- writing

    def write(self, record: Record) -> Path:
        """Keeps a record and lists it in the manifest; a finished one removes the failed one.

        A finished record that is there already is kept beside the new one.

        Returns:
            The record's file.

        Raises:
            StoreError: if the store cannot be written to.
            TechnicalError: if the disk is full or failing, or the store is no longer the folder
                that was first written to. Earlier records are intact.
        """
        self._make_root()
        folder = self.folder(record.paper, record.tier, record.experiment)
        path = folder / f"{record.fingerprint}.json"
        failed = folder / f"{record.fingerprint}.failed.json"
        body = record.model_dump_json().encode()
        data = b'{"sha256":"%s","record":%s}\n' % (sha256(body).encode(), body)
        if record.status is CellStatus.FAILED:
            write_whole(failed, data, durable=True)
            return failed
        with explained("keep", path), suppress(FileNotFoundError):
            write_whole(free_name(path, "replaced"), path.read_bytes(), durable=True)
        write_whole(path, data, durable=True)
        self.manifest.add(self.listed_as(path), sha256(body))
        with suppress(OSError):
            failed.unlink()
        return path

    def _make_root(self) -> None:
        """Makes the root, and remembers it: later records must go to the same folder."""
        if self._folder_id is None:
            with explained("write", self.root):
                self.root.mkdir(parents=True, exist_ok=True)
        try:
            found = os.stat(self.root)
        except OSError:
            found = None
        here = (found.st_dev, found.st_ino) if found else None
        self._folder_id = self._folder_id or here
        if here is None or here != self._folder_id:
            what = "was removed or renamed" if here is None else "is another folder than before"
            raise TechnicalError(
                f"{self.root}: the store {what} while the run went on. Move it back, and the same "
                "command measures what is missing."
            )

    def enlist(self, path: Path) -> None:
        """Lists a sound record that the manifest lacks: a kill came between the two writings."""
        if self.listed_as(path) not in self.manifest.digests():
            self.manifest.add(self.listed_as(path), open_record(path.read_bytes())[1])

    def set_aside(self, path: Path) -> Path | None:
        """Moves a file that is no record out of the way; None if it is gone.

        Whoever calls this for a cell's record holds the cell's lock.
        """
        aside = free_name(path, "bad")
        with explained("move aside", path), suppress(FileNotFoundError):
            os.replace(path, aside)
            return aside
        return None

    def sweep(self, paper: str, tier: str) -> None:
        """Removes temporary files that killed processes left behind."""
        oldest = time.time() - STALE_SECONDS
        for folder in listing(self.folder(paper, tier, "x").parent):
            if not folder.is_dir():
                continue
            for path in listing(folder):
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
        self._make_root()
        path = self.path(cell, fingerprint).with_suffix(".lock")
        with explained("write", path):
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
            finished: whether its record is written. Only then may the lock's file go: a run that
                still waits for the removed file finds the record.
        """
        if finished:
            with suppress(OSError):
                self._path.unlink()
        self._lock.release()


def open_record(data: bytes) -> tuple[Record, str]:
    """The record in a file's contents, and its SHA-256.

    Raises:
        DamagedError: with the reason, if it is no whole record with the digest that it states.
    """
    sealed = _SEALED.fullmatch(data)
    body = sealed[2] if sealed else data.removesuffix(b"\n")
    digest = sha256(body)
    if sealed and digest != sealed[1].decode():
        raise DamagedError("a damaged record: its content does not have the SHA-256 that it states")
    try:
        record = Record.model_validate_json(body)
    except ValidationError as error:
        raise DamagedError(_reason(body, error)) from error
    if record.version != RECORD_VERSION:
        raise DamagedError(_other_version(record.version))
    return record, digest


def _unreadable(found: Unreadable) -> StoreError:
    return StoreError(
        f"{found.path}: {found.reason}. "
        "Run the paper again: the cell is measured anew and this file is moved aside. "
        "A file that stays is of other code or settings: 'reproaudit verify --repair' moves it."
    )


def _folder_name(text: str) -> str:
    return quote(text, safe=" ")


def _other_version(version: object) -> str:
    return f"a record of format {version}; this version of reproaudit reads {RECORD_VERSION}"


def _reason(text: bytes, error: ValidationError) -> str:
    if not text.strip():
        return "an empty file where a record should be"
    try:
        content = decode_json(text)
    except ValueError as fault:
        return f"not a whole record ({fault})"
    if not isinstance(content, dict):
        return "JSON, but not a record"
    if content.get("version", RECORD_VERSION) != RECORD_VERSION:
        return _other_version(content["version"])
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"JSON, but not a record ({place or 'as a whole'}: {first['msg']})"
