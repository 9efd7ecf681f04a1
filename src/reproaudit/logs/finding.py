"""Finds the logs below the given paths, and reads each by the reader of its kind.

What is seen and not read is named, with the reason. A zip archive may name files outside its
folder, hold links, or unpack to far more than it is; so each member is looked at before it is
unpacked into a folder of our own.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from reproaudit.logs import mlflow, tables, tensorboard
from reproaudit.logs.logged import LogError, LoggedRun, LogSource, open_log
from reproaudit.logs.roles import Stated, configured

_PACKED = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz")
MAX_UNPACKED_BYTES = 2**31
_STATE = "trainer_state.json"
LOG_KINDS = (
    "event files, MLflow's folders or database, metrics.csv, trainer_state.json, CSV, TSV, "
    "JSON lines, or a zip archive of these"
)
_OTHER = "no log"
_HIDDEN = "hidden"


def find_runs(
    logs: Sequence[Path], axes: frozenset[str], step: str | None, scratch: Path
) -> tuple[list[LoggedRun], list[str]]:
    """Return every run below the paths, and what was passed over, with the reason in brackets."""
    found: list[LoggedRun] = []
    skipped: list[str] = []
    for path in dict.fromkeys(logs):
        finder = _Finder(path, LogSource(path, str(path), axes=axes, step=step), scratch)
        read: dict[Path, Stated] = {}
        runs = [configured(run, finder.folder, read) for run in finder.runs()]
        left_out = finder.left_out(runs)
        if not runs:
            words = f" Passed over: {', '.join(left_out[:5])}." if left_out else ""
            raise LogError(str(path), f"found no log; expected {LOG_KINDS}.{words}")
        found += runs
        skipped += left_out
    return found, skipped


class _Finder:
    """Looks below one path; an archive is unpacked first."""

    def __init__(self, path: Path, asked: LogSource, scratch: Path) -> None:
        self._asked = asked
        if not path.exists():
            raise LogError(asked.name, f"no such file or folder; expected {LOG_KINDS}.")
        self._last = path.resolve().name
        root = path
        if path.is_file() and path.suffix.lower() == ".zip":
            root = Path(tempfile.mkdtemp(dir=scratch))
        self._root = root.resolve()
        self.folder = self._root if self._root.is_dir() else self._root.parent
        if root != path:
            for name in _unpack(path, asked.name, root):
                self._skip(self._root / name, "a link")

    def left_out(self, runs: Sequence[LoggedRun]) -> list[str]:
        """Return what was passed over and belongs to none of the runs, the likelier logs first."""
        used = {file for run in runs for file in (*run.files, *run.configurations)}
        paths = {one for path in used for one in (path, *path.parents)}
        names = {self._name(one) for one in paths if one.is_relative_to(self.folder)}
        left = [(name, why) for name, why in self._asked.skipped.items() if name not in names]
        left.sort(key=lambda one: (one[1] == _HIDDEN, one[1] == _OTHER))
        return [f"{name} ({why})" for name, why in left]

    def _skip(self, path: Path, why: str) -> None:
        self._asked.skipped[self._name(path)] = why

    def runs(self) -> Iterator[LoggedRun]:
        """Yield every run, in the order of the paths; links and what is hidden are passed over."""
        if not self._root.is_dir():
            yield from self._file(self._root)
            return
        waiting = [self._root]
        while waiting:
            folder = waiting.pop()
            try:
                paths = sorted(folder.iterdir())
            except OSError as error:
                raise LogError(self._name(folder), f"cannot be read ({error.strerror}).") from None
            files = []
            below = []
            for path in paths:
                if path.is_symlink():
                    self._skip(path, "a link")
                elif path.name.startswith(".") or path.name == "__MACOSX":
                    self._skip(path, _HIDDEN)
                elif path.is_dir():
                    below.append(path)
                elif path.is_file():
                    files.append(path)
                else:
                    self._skip(path, "no regular file")
            if mlflow.is_store_run(folder):
                yield from mlflow.read_store_run(self._source(folder))
            else:
                yield from self._folder(folder, files)
                waiting += reversed(below)

    def _folder(self, folder: Path, files: list[Path]) -> Iterator[LoggedRun]:
        """Yield the runs that the files of one folder hold together, then those of each file."""
        events = [file for file in files if tensorboard.is_event_file(file.name)]
        if events:
            yield from tensorboard.read_event_files(self._source(folder), events)
        state = folder / _STATE if folder / _STATE in files else _last_checkpoint(folder)
        if state is not None and folder.name.startswith("checkpoint-") and folder != self._root:
            self._skip(state, "a checkpoint of the run above it")
        elif state is not None:
            yield self._trainer_state(state, folder)
        for file in files:
            if file not in events and file.name != _STATE:
                yield from self._file(file)

    def _file(self, file: Path) -> Iterator[LoggedRun]:
        source = self._source(file)
        suffix = file.suffix.lower()
        if tensorboard.is_event_file(file.name):
            shown = source.name.rpartition("/")[0] or source.name
            yield from tensorboard.read_event_files(replace(source, name=shown), [file])
        elif suffix == ".wandb":
            self._skip(file, "W&B's own log; export run.scan_history() as CSV")
        elif file.name == _STATE:
            yield self._trainer_state(file, file.parent)
        elif suffix in (".db", ".sqlite", ".sqlite3") and (
            file == self._root or mlflow.is_database(source)
        ):
            yield from mlflow.read_database(source)
        elif suffix in (".csv", ".tsv", ".jsonl"):
            yield from tables.read_table(source)
        elif suffix in _PACKED:
            self._skip(file, "packed; unpack it")
        else:
            self._skip(file, _OTHER)

    def _trainer_state(self, file: Path, home: Path) -> LoggedRun:
        return tables.read_trainer_state(replace(self._source(home), path=file), self._name(file))

    def _source(self, path: Path) -> LogSource:
        below = path.relative_to(self.folder).parts if path != self._root else ()
        parts = (self._last, *below)
        return replace(self._asked, path=path, name=self._name(path), parts=parts)

    def _name(self, path: Path) -> str:
        """Name a path in messages and mappings: as it was given, and what is below it."""
        shown = self._asked.name
        if path == self._root:
            return shown
        below = path.relative_to(self.folder).as_posix()
        return below if shown == "." else f"{shown.rstrip('/')}/{below}"


def _last_checkpoint(folder: Path) -> Path | None:
    numbered = []
    for one in folder.glob(f"checkpoint-*/{_STATE}"):
        number = one.parent.name.removeprefix("checkpoint-")
        if number.isdecimal() and not one.is_symlink() and not one.parent.is_symlink():
            numbered.append((int(number), one))
    return max(numbered)[1] if numbered else None


# --- archives -------------------------------------------------------------------------------------


def _unpack(file: Path, place: str, into: Path) -> list[str]:
    """Unpack an archive's regular files; return the names of the links in it."""
    links = list[str]()
    seen = set[str]()
    size = 0
    try:
        with open_log(file, place) as handle, zipfile.ZipFile(handle) as archive:
            for one in archive.infolist():
                size += one.file_size
                path = PurePosixPath(one.filename.replace("\\", "/"))
                fault = None
                if path.is_absolute() or ".." in path.parts:
                    fault = f"the path '{one.filename[:200]}', which leads out of it; expected none"
                elif size > MAX_UNPACKED_BYTES:
                    fault = f"more than {MAX_UNPACKED_BYTES:,} bytes unpacked; expected fewer"
                if fault is not None:
                    raise LogError(place, f"found {fault}. Unpack it yourself, and import that.")
                if stat.S_ISLNK(one.external_attr >> 16):
                    links.append(one.filename)
                    continue
                made = time.mktime((*one.date_time, 0, 0, -1))
                unpacked = archive.extract(one, into)
                if unpacked in seen and not one.is_dir():
                    twice = f"found '{one.filename[:200]}' twice in it; expected each file once"
                    raise LogError(place, f"{twice}. Pack the right one alone.")
                seen.add(unpacked)
                os.utime(unpacked, (made, made))
    except LogError:
        raise
    except Exception as error:  # what the library raises over damaged archives has no end
        raise LogError(
            place, f"found an archive that cannot be unpacked ({error}); expected a whole one."
        ) from None
    return links
