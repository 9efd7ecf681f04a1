"""The records of finished cells: one file per cell, written whole or not at all.

Layout under the store's root::

    manifest.log                                             every finished record ever written
    fresh.<array>                                            how long that was when an array began
    .reproaudit.lock                                         held by who adds to it, for so long
    coordinates.<paper>.json                                 the axes of records that hold none
    <paper>/<tier>/<experiment>/<fingerprint>.json           a completed or diverged cell
    <paper>/<tier>/<experiment>/<fingerprint>.failed.json    how a cell without a record failed
    <paper>/<tier>/<experiment>/<fingerprint>.failures       how often, and with which code
    <paper>/<tier>/<experiment>/<fingerprint>.partial/       checkpoints of unfinished work
    <paper>/<tier>/<experiment>/<fingerprint>.lock           held by the run that computes the cell
    <paper>/<tier>/<experiment>/<fingerprint>.json.bad       a damaged record, moved aside
    <paper>/<tier>/<experiment>/<fingerprint>.json.replaced  a record that --fresh replaced
    <paper>/<tier>/<experiment>/<fingerprint>.data           which data a run planned with last

A record's file is ``{"sha256": …, "record": …}``. It is read only if the digest fits, if its
fingerprint follows from what the record says of itself, if it stands in its place, and if the
manifest lists no other record as written there after it: an earlier one that was put back.

A record is written first, and its line in the manifest after it. A record that has no line yet, or
lacks it since a run was killed, counts: it is later than all that is listed, and the next run lists
it. A reader reads the manifest before the record, which is then the last listed one or a later one.

Several runs may work on one store at once: a cell's lock lets one of them compute it. Nothing in
here imports torch.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from filelock import FileLock, Timeout
from pydantic import BaseModel, TypeAdapter, ValidationError

from reproaudit.cell import Cell
from reproaudit.declarations import first_refusal
from reproaudit.errors import StoreError
from reproaudit.files import (
    LOCK_NAME,
    UnfitFileError,
    decode_json,
    explained,
    file_lock,
    free_name,
    listing,
    locked,
    open_regular,
    read_regular,
    set_aside,
    sha256,
    write_whole,
)
from reproaudit.records import RECORD_VERSION, CellStatus, Record
from reproaudit.store.code import cell_of, fingerprint, fingerprint_of, versions_of

MOST_RECORD_BYTES = 2**29  # the largest so far have a thousandth of it
MOST_CHECKPOINT_BYTES = 2**36  # more than a machine's memory
MOST_NOTE_BYTES = 2**24  # a name and a checksum for each file
MOST_LISTED_BYTES = 2**28  # the lines of a million records
EMPTY_ROOT = "0" * 64  # of an empty manifest
DATA_ENDING = ".data"
MOST_FAILURES = 2  # before no run tries a cell again, unless it is asked to
FAILURES_ENDING = ".failures"
MOST_SECONDS = 1e9  # thirty years: a record's end is a date, and dates have an end
MOST_STEPS = 2**63 - 1  # what a computer counts with
YEARS = (1970, 9000)  # the first and the last: whatever its time zone, there is such a date

_SEALED = re.compile(rb'\{"sha256":"([0-9a-f]{64})","record":(.*)\}\n', re.DOTALL)
_DATA = TypeAdapter(dict[str, str])
_log = logging.getLogger(__name__)


class Failures(BaseModel, frozen=True):
    """How often a cell failed, with --fresh in a series; another code or demand is tried anew."""

    code: str
    demand: str  # the digest of what the cell was held to: declarations and limits
    count: int
    series: str = ""


@dataclass(frozen=True)
class Holder:
    """Who computes a cell, as its lock's file says; the file outlives a run that was killed."""

    place: str  # the machine and the process, in words
    since: datetime
    series: str = ""  # of runs with --fresh that belong together


_HOLDER = TypeAdapter(Holder)


class DamagedError(StoreError):
    """A file holds something other than what was written to it; the reason says how it shows."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"{path}: {reason}. Run the paper again: the cell is measured anew and this file is "
            "moved aside. A file that stays is of other code or settings: 'reproaudit verify "
            "--repair' moves it."
        )


@dataclass(frozen=True)
class KeptRecord:
    """A sound record in its place, its SHA-256, and whether the manifest lists it."""

    path: Path
    record: Record
    digest: str
    is_listed: bool


class Store:
    """The records under one folder, which need not exist before something is written.

    A relative path is resolved here, once, so that a changed working directory does not matter.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.abspath(root))
        self.manifest = RecordManifest(self.root / "manifest.log")

    # --- places

    def folder(self, *parts: str) -> Path:
        """The folder of a paper, of its tier, or of an experiment's cells in it."""
        if not {"", ".", ".."}.isdisjoint(parts):
            raise StoreError(f"not a name for a folder: {' or '.join(map(repr, parts))}")
        return self.root.joinpath(*(quote(part, safe=" ") for part in parts))

    def path(self, cell: Cell, fingerprint: str) -> Path:
        """The file of a cell's finished record, whether it exists or not."""
        return self.folder(cell.paper, cell.tier, cell.experiment) / f"{fingerprint}.json"

    def partial(self, cell: Cell, fingerprint: str) -> Partial:
        """The checkpoints of a cell."""
        return Partial(self.path(cell, fingerprint).with_suffix(".partial"))

    def lock_file(self, cell: Cell, fingerprint: str) -> Path:
        """The file whose lock is held by the run that computes a cell."""
        return self.path(cell, fingerprint).with_suffix(".lock")

    def papers(self) -> list[str]:
        """The papers that have a folder, in order."""
        folders = (path.name for path in listing(self.root) if path.is_dir())
        return [name for name in folders if not name.startswith(".")]

    def tiers(self, paper: str) -> list[str]:
        """The tiers of a paper that have a folder, in order."""
        return [path.name for path in listing(self.folder(paper))]

    def files(self, paper: str, tier: str, ending: str = ".json") -> Iterator[Path]:
        """Every file in the place of a record of a paper's tier, or of a note, sorted by path."""
        for folder in listing(self.folder(paper, tier)):
            if folder.is_dir():
                yield from (path for path in listing(folder) if path.name.endswith(ending))

    def listed_as(self, path: Path) -> str:
        """A file's name in the manifest."""
        return path.relative_to(self.root).as_posix()

    def listed(self, paper: str, tier: str) -> dict[str, bool]:
        """The finished records of a tier that the manifest names, each with whether it is there."""
        below = f"{self.listed_as(self.folder(paper, tier))}/"
        names = [name for name in self.manifest.digests() if name.startswith(below)]
        return {name: (self.root / name).is_file() for name in names}

    # --- reading

    def find(self, cell: Cell, fingerprint: str) -> Record | None:
        """The finished record of a cell, or None if it has none; errors as of `read`."""
        return self.read(self.path(cell, fingerprint))

    def find_failed(self, cell: Cell, fingerprint: str) -> Record | None:
        """The failed record of a cell, or None if it has none; errors as of `read`."""
        return self.read(self.path(cell, fingerprint).with_suffix(".failed.json"))

    def records(
        self,
        paper: str,
        tier: str,
        on_damage: Callable[[DamagedError], None] | None = None,
        only: Collection[str] | None = None,
    ) -> Iterator[Record]:
        """Every record of a paper's tier; failed cells have theirs unless they have a finished one.

        Args:
            on_damage: called with each file that is not a record. Without it the first raises.
            only: the fingerprints to read; None for all.

        Raises:
            StoreError: on a file that is not a record, or a folder that cannot be read.
        """
        for path in self.files(paper, tier):
            name, _, ending = path.name.partition(".")
            has_finished = ending == "failed.json" and path.with_name(f"{name}.json").exists()
            if has_finished or (only is not None and name not in only):
                continue
            try:
                record = self.read(path)
            except DamagedError as error:
                if on_damage is None:
                    raise
                on_damage(error)
            else:
                if record is not None:  # another run has just replaced a failed one
                    yield record

    def records_of(self, paper: str) -> Iterator[Record]:
        """Every sound record of a paper, of all tiers; errors as of `records`."""
        for tier in self.tiers(paper):
            yield from self.records(paper, tier, lambda _damaged: None)

    def read(self, path: Path) -> Record | None:
        """The record in a file, as `files` or `path` gives it; None if there is no such file.

        A DamagedError if it is not the record that belongs in this place.
        """
        kept = self.kept(path)
        return None if kept is None else kept.record

    def kept(self, path: Path) -> KeptRecord | None:
        """The record in a file, with what the manifest says of it; errors as of `read`."""
        listed = self.manifest.digests().get(self.listed_as(path), [])  # before the file is read
        data = _read_file(path, MOST_RECORD_BYTES)
        if data is None:
            return None
        record, digest = open_record(path, data)
        if fingerprint_of(record) != record.fingerprint:
            made = "the settings, seed, code, data and versions in it"
            raise DamagedError(path, f"its fingerprint does not follow from {made}")
        if path != self.file_of(record):
            of = f"{record.paper}, {record.tier}, {record.experiment}, seed {record.seed}"
            raise DamagedError(path, f"the record of another cell ({of}) under this name")
        if digest in listed and digest != listed[-1]:
            then = f"the manifest lists one after it, with SHA-256 {listed[-1]}"
            raise DamagedError(path, f"an earlier record, put back; {then}")
        return KeptRecord(path, record, digest, digest in listed)

    def file_of(self, record: Record) -> Path:
        """The file in which a record belongs."""
        ending = "failed.json" if record.status is CellStatus.FAILED else "json"
        folder = self.folder(record.paper, record.tier, record.experiment)
        return folder / f"{record.fingerprint}.{ending}"

    def in_order(self, records: Iterable[Record]) -> list[Record]:
        """Records in the order in which they were last written; failed ones come first."""
        places = {name: place for place, name in enumerate(self.manifest.digests())}

        def place(record: Record) -> int:
            return places.get(self.listed_as(self.file_of(record)), -1)

        return sorted(records, key=place)

    # --- the data of a plan

    def planned_data(self, record: Record) -> Mapping[str, str] | None:
        """The data with which a run planned a record's cell last; None if no run noted them."""
        made = versions_of(record.environment)
        return _noted_data(self._data_note(cell_of(record), record.code, made))

    def note_data(
        self, cell: Cell, code: str, versions: Mapping[str, str], data: Mapping[str, str]
    ) -> None:
        """Notes the data with which a cell is planned, if any ever were; errors as of `write`."""
        file = self._data_note(cell, code, versions)
        if data != (_noted_data(file) or {}):
            write_whole(file, json.dumps(dict(data), sort_keys=True), durable=True)

    def _data_note(self, cell: Cell, code: str, versions: Mapping[str, str]) -> Path:
        """The file of a note, which is the same for every seed."""
        name = fingerprint(replace(cell, seed=0), code, versions, {})
        return self.path(cell, name).with_suffix(DATA_ENDING)

    # --- measuring anew

    def fresh_from(self, series: str) -> int:
        """The size of the manifest when the first run of a series began to measure anew."""
        mark = self.root / f"fresh.{quote(series, safe='')}"
        with locked(self.root / LOCK_NAME):
            noted = _read_file(mark, MOST_NOTE_BYTES)
            if noted is None:
                noted = str(self.manifest.size()).encode()
                write_whole(mark, noted, durable=True)
        try:
            return int(noted)
        except ValueError as error:
            raise StoreError(f"{mark}: found no number. Remove it.") from error

    # --- failures

    def failures(self, cell: Cell, fingerprint: str) -> tuple[Failures, Record] | None:
        """How often a cell failed, with its last record of that; None if it has no sound one."""
        path = self.path(cell, fingerprint)
        try:
            note = _read_file(path.with_suffix(FAILURES_ENDING), MOST_NOTE_BYTES)
            noted = None if note is None else Failures.model_validate_json(note)
            record = None if noted is None else self.find_failed(cell, fingerprint)
        except (DamagedError, ValidationError):
            return None
        return None if noted is None or record is None else (noted, record)

    def note_failures(self, cell: Cell, fingerprint: str, failures: Failures) -> None:
        """Notes how often a cell has failed, beside its failed record; errors as of `write`."""
        note = self.path(cell, fingerprint).with_suffix(FAILURES_ENDING)
        write_whole(note, failures.model_dump_json(), durable=True)

    # --- writing

    def write(self, record: Record) -> Path:
        """Keeps a record and lists it in the manifest; a finished one removes the failed one.

        A finished record that is there already is kept beside the new one.

        Raises:
            StoreError: if the store cannot be written to.
            TechnicalError: if the disk is full or failing. Earlier records are intact.
        """
        path = self.file_of(record)
        body = record.model_dump_json().encode()
        data = b'{"sha256":"%s","record":%s}\n' % (sha256(body).encode(), body)
        if record.status is CellStatus.FAILED:
            return write_whole(path, data, durable=True)
        with explained("keep", path), suppress(FileNotFoundError):
            write_whole(free_name(path, "replaced"), path.read_bytes(), durable=True)
        write_whole(path, data, durable=True)
        self.manifest.add(self.listed_as(path), sha256(body))
        for ending in (".failed.json", FAILURES_ENDING):
            with suppress(OSError):
                path.with_suffix(ending).unlink(missing_ok=True)
        return path

    def enlist(self, kept: KeptRecord) -> None:
        """Lists a record that never was: a kill came between the two writings."""
        if not kept.is_listed:
            self.manifest.add(self.listed_as(kept.path), kept.digest, once=True)

    def holder(self, cell: Cell, fingerprint: str) -> Holder | None:
        """Who holds a cell's lock, or held it last; None if no run has, or it cannot be read."""
        with suppress(OSError, StoreError, ValidationError):
            text = _read_file(self.lock_file(cell, fingerprint), MOST_NOTE_BYTES)
            return None if text is None else _HOLDER.validate_json(text)
        return None

    def try_lock(self, cell: Cell, fingerprint: str) -> CellLock | None:
        """Takes the cell for this run, or returns None if another has it; errors as of `write`.

        Whoever takes it looks for the cell's record again: it may just have been written.
        """
        path = self.lock_file(cell, fingerprint)
        with explained("lock", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = CellLock(path, fallback_to_soft=False)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                return None
        return lock


def _noted_data(file: Path) -> Mapping[str, str] | None:
    data = _read_file(file, MOST_NOTE_BYTES)
    if data is None:
        return None
    try:
        return _DATA.validate_json(data)
    except ValidationError as error:
        raise StoreError(
            f"{file}: found no checksums by name; expected those of the data that a run planned "
            "with. Remove it: the next run writes it anew."
        ) from error


def is_held(lock: Path) -> bool:
    """Whether somebody holds a lock; a file that does not exist is not made."""
    if not lock.exists():
        return False
    try:
        with file_lock(lock).acquire(timeout=0):
            return False
    except OSError:  # a Timeout, too
        return True


class CellLock(FileLock):
    """A cell taken by this run. A killed process loses it."""

    def note(self, holder: Holder) -> None:
        """Says in its file who holds it, for whoever asks; a full disk stops nobody."""
        with suppress(OSError):
            Path(self.lock_file).write_bytes(_HOLDER.dump_json(holder))

    def give_back(self, *, finished: bool) -> None:
        """Gives the cell back; once its record is written, the lock's file goes, too."""
        if finished:  # a run that still waits for the removed file finds the record
            with suppress(OSError):
                Path(self.lock_file).unlink()
        self.release()


def _read_file(path: Path, most: int) -> bytes | None:
    """A file's bytes, or None if there is none; what is no file of bounded size is damaged."""
    with explained("read", path):
        try:
            return read_regular(path, most)
        except FileNotFoundError:
            return None
        except UnfitFileError as error:
            raise DamagedError(path, f"found {error.strerror}") from error


def open_record(path: Path, data: bytes) -> tuple[Record, str]:
    """The record in a file's contents, and its SHA-256; a DamagedError if it is no whole record."""
    sealed = _SEALED.fullmatch(data)
    if sealed is None:
        raise DamagedError(path, "not a whole record")
    digest = sha256(sealed[2])
    if digest != sealed[1].decode():
        reason = "a damaged record: its content does not have the SHA-256 that it states"
        raise DamagedError(path, reason)
    try:
        record = Record.model_validate_json(sealed[2])
    except ValidationError as error:
        reason = f"not a record of this version of reproaudit ({first_refusal(error)})"
        raise DamagedError(path, reason) from error
    if reason := _beyond(record):
        raise DamagedError(path, reason)
    return record, digest


def _beyond(record: Record) -> str:
    """What of a record lies beyond what can be; empty if nothing does."""
    measured = record.measurements.series.values()
    steps = [step for series in measured for step in (*series.steps[:1], *series.steps[-1:])]
    if record.version != RECORD_VERSION:
        return f"a record of format {record.version}; expected {RECORD_VERSION}"
    if not 0 <= record.seconds <= MOST_SECONDS:
        return f"a record that took {record.seconds:g} seconds; expected 0 to {MOST_SECONDS:g}"
    if not YEARS[0] <= record.started.year <= YEARS[1]:
        return f"a record of the year {record.started.year}; expected {YEARS[0]} to {YEARS[1]}"
    if any(abs(count) > MOST_STEPS for count in (record.seed, record.steps or 0, *steps)):
        return f"a record with a step or seed beyond {MOST_STEPS}; expected none"
    return ""


# --- the manifest -------------------------------------------------------------------------------


class RecordManifest:
    """The list of every finished record that a store has ever held.

    One line per record, in the order in which they were written::

        <chain> <SHA-256 of the record> <path of its file below the store>

    Each ``chain`` is the SHA-256 of the line before it and of this line's two other fields. The
    last one, the *root*, therefore stands for the whole history: a record that is removed, replaced
    or put back no longer agrees with it. Lines are only ever added.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._forget()

    def _forget(self) -> None:
        self._read_to = 0
        self._root = EMPTY_ROOT
        self._digests: dict[str, list[str]] = {}
        self._ends: dict[str, int] = {}

    def digests(self) -> Mapping[str, list[str]]:
        """By path, the digest of every record that was ever written there, the last one last.

        The path that was last written to is the last. A StoreError if a line is damaged.
        """
        with suppress(OSError):  # lines are only ever added: of the same length, it is the same
            if self._read_to and os.stat(self.file).st_size == self._read_to:
                return self._digests
        with explained("read", self.file):
            try:
                with open_regular(self.file, MOST_LISTED_BYTES) as file:
                    self._read(file.fileno())
            except FileNotFoundError:
                self._forget()
        return self._digests

    def size(self) -> int:
        """The bytes of its lines, by which `was_added_after` tells what came later."""
        self.digests()
        return self._read_to

    def was_added_after(self, path: str, size: int) -> bool:
        """Whether the last line on a path was added when the manifest had so many bytes or more."""
        self.digests()
        return self._ends.get(path, 0) > size

    def root(self) -> str:
        """The last line's chain, which stands for the whole history."""
        self.digests()
        return self._root

    def add(self, path: str, digest: str, *, once: bool = False) -> None:
        """Adds a line, unless it repeats the path's last digest or, with ``once``, any.

        A StoreError if a line of the list is damaged; other errors as of `Store.write`.
        """
        with locked(self.file.with_name(LOCK_NAME)), explained("write", self.file):
            descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                self._read(descriptor)
                known = self._digests.get(path, [])
                if digest in (known if once else known[-1:]):
                    return
                line = f"{_chain(self._root, digest, path)} {digest} {path}\n".encode()
                os.ftruncate(descriptor, self._read_to)  # a line cut off by a kill or a full disk
                os.pwrite(descriptor, line, self._read_to)
                os.fsync(descriptor)
                self._read(descriptor)
            finally:
                os.close(descriptor)

    def _read(self, descriptor: int) -> None:
        """Takes in what was added since the last reading; a last line without its end is left."""
        size = os.fstat(descriptor).st_size
        if size < self._read_to:
            self._forget()
        new = os.pread(descriptor, size - self._read_to, self._read_to)
        for line in new.split(b"\n")[:-1]:
            self._take(line)

    def _take(self, line: bytes) -> None:
        words = line.decode(errors="replace").split(" ", 2)
        if len(words) != 3 or _chain(self._root, words[1], words[2]) != words[0]:
            number = 1 + sum(map(len, self._digests.values()))
            raise StoreError(
                f"{self.file}:{number}: this line does not follow from the one before it. "
                "The list of records was damaged or edited: 'reproaudit verify --repair' keeps "
                "the damaged list under another name and lists every sound record anew."
            )
        self._root, digest, path = words
        self._digests[path] = [*self._digests.pop(path, []), digest]
        self._read_to += len(line) + 1
        self._ends[path] = self._read_to


def _chain(before: str, digest: str, path: str) -> str:
    return sha256(f"{before} {digest} {path}".encode())


# --- checkpoints --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Clock:
    """When unfinished work was started, and how many seconds it took up to its last checkpoint."""

    started: datetime
    seconds: float


class Partial:
    """The checkpoints of a cell that is not finished, one file per phase, and the time so far.

    Every file states its length and a SHA-256, which also covers the names of the cell and the
    phase. A file that fails the check is moved aside with a warning, and its phase starts anew:
    that is cheaper than waiting for the disk at every checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, phase: str) -> bytes | None:
        """The phase's last checkpoint, or None if there is none that is undamaged."""
        return self._read(self._file(phase))

    def save(self, phase: str, checkpoint: bytes, clock: Clock) -> None:
        """Replaces the phase's last checkpoint, and notes the time spent so far."""
        times = {"started": clock.started.isoformat(), "seconds": clock.seconds}
        self._write(self._file(phase), checkpoint)
        self._write(self.folder / "clock", json.dumps(times).encode())

    def clock(self) -> Clock:
        """The time spent up to the last checkpoint; zero, starting now, if there is none."""
        with suppress(ValueError, KeyError, TypeError):
            times = decode_json(self._read(self.folder / "clock") or b"{}")
            return Clock(datetime.fromisoformat(times["started"]), float(times["seconds"]))
        return Clock(datetime.now(UTC), 0.0)

    def clear(self) -> None:
        """Removes all checkpoints."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def damaged(self) -> Iterator[DamagedError]:
        """Every file that fails its check; nothing is moved."""
        for path in listing(self.folder):
            if path.name == "clock" or path.suffix == ".pt":
                try:
                    self._open(path)
                except DamagedError as error:
                    yield error

    def _file(self, phase: str) -> Path:
        return self.folder / f"{quote(phase, safe=' ')}.pt"

    def _sealed(self, path: Path, body: bytes) -> bytes:
        """The body behind a line with its length and a SHA-256 over its place and itself."""
        digest = sha256(f"{self.folder.name}/{path.name}\n".encode() + body)
        return b"reproaudit %d %s\n%s" % (len(body), digest.encode(), body)

    def _write(self, path: Path, body: bytes) -> None:
        write_whole(path, self._sealed(path, body))

    def _open(self, path: Path) -> bytes | None:
        data = _read_file(path, MOST_CHECKPOINT_BYTES)
        if data is None:
            return None
        body = data.partition(b"\n")[2]
        if self._sealed(path, body) != data:
            reason = "it does not have the length and the SHA-256 that it states"
            raise DamagedError(path, reason)
        return body

    def _read(self, path: Path) -> bytes | None:
        try:
            return self._open(path)
        except DamagedError as error:
            aside = set_aside(path)
            _log.warning(
                "%s is damaged: %s. Moved to %s; its phase starts anew.", path, error.reason, aside
            )
            return None
