"""Finds the logs below the given paths, and reads each by the reader of its kind.

What is seen and not read is named, with the reason.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from reproaudit.elsewhere import binary, mlflow, tables
from reproaudit.elsewhere.archives import is_archive, unpack
from reproaudit.elsewhere.configurations import find_configuration
from reproaudit.elsewhere.logged import LogError, LoggedRun, LogSource

_MAX_ENTRIES = 200_000
_STATE = "trainer_state.json"
LOG_KINDS = (
    "event files, MLflow's folders or database, .wandb, metrics.csv, trainer_state.json, CSV, TSV, "
    "JSON lines, or an archive of these"
)
_OTHER = "no log"
_HIDDEN = "hidden"


@dataclass
class FoundLogs:
    """The runs and configuration files that were found.

    Attributes:
        runs: every run, with its configuration.
        configs: run -> the configuration files that were read.
        skipped: what was passed over, each with the reason in brackets.
    """

    runs: list[LoggedRun] = field(default_factory=list)
    configs: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


def find_runs(
    logs: Sequence[Path], axes: frozenset[str], step: str | None, scratch: Path
) -> FoundLogs:
    """Find every run below the paths."""
    found = FoundLogs()
    names: Counter[str] = Counter()
    for path in dict.fromkeys(logs):
        finder = _Finder(path, LogSource(path, str(path), axes=axes, step=step), scratch)
        runs = finder.runs()
        if not runs:
            passed = finder.left_out(set())[:5]
            words = f" Passed over: {', '.join(passed)}." if passed else ""
            raise LogError(str(path), f"found no log; expected {LOG_KINDS}.{words}")
        used: set[Path] = set()
        for run in runs:
            config, files = find_configuration(run, finder.folder)
            used.update((*files, *run.files))
            names[run.name] += 1  # a mapping tells runs apart by name
            name = run.name if names[run.name] == 1 else f"{run.name} #{names[run.name]}"
            found.runs.append(replace(run, name=name, config=config))
            found.configs[name] = files
        found.skipped += finder.left_out(used)
    return found


class _Finder:
    """Looks below one path; an archive is unpacked first."""

    def __init__(self, path: Path, asked: LogSource, scratch: Path) -> None:
        self._asked = asked
        self._skipped: dict[Path, str] = {}
        self._passed_over: list[str] = []
        if not path.exists():
            raise LogError(asked.name, f"no such file or folder; expected {LOG_KINDS}.")
        self._last, root = path.resolve().name, path
        if path.is_file() and is_archive(path):
            root = Path(tempfile.mkdtemp(dir=scratch))
            for name in unpack(path, asked.name, root):
                self._skipped[root.resolve() / name] = "a link or device"
        self._root = root.resolve()
        self.folder = self._root if self._root.is_dir() else self._root.parent

    def left_out(self, used: set[Path]) -> list[str]:
        """Return what was passed over, the likelier logs first."""
        parts = {one for path in used for one in (path, *path.parents)}
        ranks = {_OTHER: 1, _HIDDEN: 2}
        left = [(path, why) for path, why in self._skipped.items() if path not in parts]
        left.sort(key=lambda one: ranks.get(one[1], 0))
        return self._passed_over + [f"{self._name(path)} ({why})" for path, why in left]

    def runs(self) -> list[LoggedRun]:
        """Return every run, in the order of the paths."""
        runs: list[LoggedRun] = []
        for run in self._walk() if self._root.is_dir() else self._file(self._root):
            if run.passed_over:
                self._passed_over.append(f"{run.name} ({run.passed_over})")
            else:
                runs.append(run)
        if self._root in self._skipped:
            found = self._root.suffix or self._root.name
            raise LogError(self._asked.name, f"found '{found}'; expected {LOG_KINDS}.")
        return self._with_hyperparameters(runs)

    def _with_hyperparameters(self, runs: Sequence[LoggedRun]) -> list[LoggedRun]:
        """Give the hyperparameters that PyTorch's writer puts below a run's folder to the run.

        Its ``add_hparams`` writes an event file with the hyperparameters and single numbers to a
        folder of its own, which is the only one of that kind below the run.
        """
        by_folder = {run.folder: run for run in runs if run.source == "TensorBoard"}
        below: dict[Path, list[LoggedRun]] = {}
        for run in by_folder.values():
            single = all(len(c.values) <= 1 for at in run.curves.values() for c in at.values())
            if run.folder.parent in by_folder and run.config and single:
                below.setdefault(run.folder.parent, []).append(run)
        kept = {id(run): run for run in runs}
        for home, given in below.items():
            if len(given) == 1:
                run = by_folder[home]
                kept[id(run)] = replace(run, config={**given[0].config, **run.config})
                del kept[id(given[0])]
                self._skipped[given[0].folder] = "hyperparameters of the run above it"
        return list(kept.values())

    def _walk(self) -> Iterator[LoggedRun]:
        """Yield the runs of every folder; links and what is hidden are passed over."""
        waiting, count = [self._root], 0
        while waiting:
            folder = waiting.pop()
            try:
                entries = sorted(os.scandir(folder), key=lambda one: one.name)
            except OSError as error:
                raise LogError(self._name(folder), f"cannot be read ({error.strerror}).") from None
            count += len(entries)
            if count > _MAX_ENTRIES:
                raise LogError(
                    self._asked.name,
                    f"found more than {_MAX_ENTRIES:,} files; expected fewer. Name the folders of "
                    "the runs.",
                )
            files, below = [], []
            for one in entries:
                path = folder / one.name
                if one.is_symlink():
                    self._skipped[path] = "a link"
                elif one.name.startswith(".") or one.name == "__MACOSX":
                    self._skipped[path] = _HIDDEN
                elif one.is_dir():
                    below.append(path)
                elif one.is_file():
                    files.append(path)
                else:
                    self._skipped[path] = "no regular file"
            if (reason := mlflow.not_a_run(folder)) is not None:
                self._skipped[folder] = reason
            elif mlflow.is_store_run(folder):
                yield mlflow.read_store_run(self._source(folder))
            else:
                yield from self._folder(folder, files)
                if not any(file.suffix == ".wandb" for file in files):
                    waiting += reversed(below)

    def _folder(self, folder: Path, files: list[Path]) -> Iterator[LoggedRun]:
        """Yield the runs that the files of one folder hold together, then those of each file."""
        events = [file for file in files if binary.is_event_file(file.name)]
        if events:
            yield binary.read_event_files(self._source(folder), events)
        state = folder / _STATE if folder / _STATE in files else _last_checkpoint(folder)
        if state is not None and folder.name.startswith("checkpoint-") and folder != self._root:
            self._skipped[state] = "a checkpoint of the run above it"
        elif state is not None:
            yield self._trainer_state(state, folder)
        for file in files:
            if file not in events and file.name != _STATE:
                yield from self._file(file)

    def _file(self, file: Path) -> Iterator[LoggedRun]:
        source, suffix = self._source(file), file.suffix.lower()
        if binary.is_event_file(file.name):
            shown = source.name.rpartition("/")[0] or source.name
            yield binary.read_event_files(replace(source, name=shown), [file])
        elif suffix == ".wandb":
            home = self._name(file.parent)
            yield binary.read_offline_run(replace(source, name=home, parts=source.parts[:-1]))
        elif file.name == _STATE:
            yield self._trainer_state(file, file.parent)
        elif suffix in (".db", ".sqlite", ".sqlite3") and (
            file == self._root or mlflow.is_database(source)
        ):
            yield from mlflow.read_database(source)
        elif suffix in (".csv", ".tsv", ".jsonl"):
            runs = tables.read_table(source)
            if not runs:
                self._skipped[file] = "a table without rows"
            yield from runs
        elif is_archive(file) or suffix in (".gz", ".bz2", ".xz"):
            self._skipped[file] = "packed inside a folder; unpack it"
        else:
            self._skipped[file] = _OTHER

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
    """Return the state in the last of a Trainer's checkpoints."""
    numbered = []
    for one in folder.glob(f"checkpoint-*/{_STATE}"):
        number = one.parent.name.removeprefix("checkpoint-")
        if number.isdigit() and not one.is_symlink() and not one.parent.is_symlink():
            numbered.append((int(number), one))
    return max(numbered)[1] if numbered else None
