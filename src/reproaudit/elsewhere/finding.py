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

from reproaudit.elsewhere import mlflow, tables, tensorboard, wandb
from reproaudit.elsewhere.archives import is_archive, unpack
from reproaudit.elsewhere.configurations import find_configuration
from reproaudit.elsewhere.logged import LogError, LoggedRun

_MAX_ENTRIES = 200_000
MAX_RUNS = 10_000
_DATABASES = (".db", ".sqlite", ".sqlite3")
_TABLES = (".csv", ".tsv", ".jsonl")
_STATE = "trainer_state.json"
LOG_KINDS = (
    "event files, MLflow's folders or database, .wandb, metrics.csv, trainer_state.json, CSV, TSV, "
    "JSON lines, or an archive of these"
)
_PACKED = "packed inside a folder; unpack it"
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
    """Find every run below the paths.

    Args:
        logs: files and folders.
        axes: the audit's axes, which a table may have as columns.
        step: what counts the steps, where the mapping names it.
        scratch: a folder for what archives hold.

    Raises:
        LogError: if a path holds no log, or a log is damaged.
    """
    found = FoundLogs()
    names: Counter[str] = Counter()
    for path in dict.fromkeys(logs):
        finder = _Finder.below(path, axes, step, scratch)
        runs = _with_hyperparameters(list(finder.runs()), finder)
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


def _with_hyperparameters(runs: Sequence[LoggedRun], finder: _Finder) -> list[LoggedRun]:
    """Give the hyperparameters that PyTorch's writer puts below a run's folder to the run.

    Its ``add_hparams`` writes an event file with the hyperparameters and single numbers to a folder
    of its own, which is the only one of that kind below the run.
    """
    by_folder = {run.folder: run for run in runs if run.source == "TensorBoard"}
    below: dict[Path, list[LoggedRun]] = {}
    for run in by_folder.values():
        if run.folder.parent in by_folder and run.config and _has_single_numbers(run):
            below.setdefault(run.folder.parent, []).append(run)
    given = {home: own[0] for home, own in below.items() if len(own) == 1}
    kept = []
    for run in runs:
        if given.get(run.folder.parent) is run:
            finder.skip(run.folder, "hyperparameters of the run above it")
            continue
        if by_folder.get(run.folder) is run and run.folder in given:
            config = {**given[run.folder].config, **run.config}
            run = replace(run, config=config)
        kept.append(run)
    return kept


def _has_single_numbers(run: LoggedRun) -> bool:
    return all(curve.values.size <= 1 for at in run.curves.values() for curve in at.values())


@dataclass
class _Finder:
    """Looks below one path.

    Attributes:
        root: the file or folder, resolved; links below it are not followed.
        shown: what it was called on the command line.
        last: its own name, in which a seed may be written.
        axes: columns that hold coordinates.
        step: what counts the steps, where the mapping names it.
        skipped: what was passed over -> the reason.
    """

    root: Path
    shown: str
    last: str
    axes: frozenset[str]
    step: str | None
    skipped: dict[Path, str] = field(default_factory=dict)

    @classmethod
    def below(cls, path: Path, axes: frozenset[str], step: str | None, scratch: Path) -> _Finder:
        """Return a finder for a path; an archive is unpacked first.

        Raises:
            LogError: if there is nothing, or the archive cannot be unpacked.
        """
        shown = str(path)
        if not path.exists():
            raise LogError(shown, f"no such file or folder; expected {LOG_KINDS}.")
        root, left_out = path, []
        if path.is_file() and is_archive(path):
            root = Path(tempfile.mkdtemp(dir=scratch))
            left_out = unpack(path, shown, root)
        finder = cls(root.resolve(), shown, path.resolve().name, axes, step)
        for name in left_out:
            finder.skip(finder.root / name, "a link or device")
        return finder

    @property
    def folder(self) -> Path:
        """The folder that is searched."""
        return self.root if self.root.is_dir() else self.root.parent

    def skip(self, path: Path, reason: str) -> None:
        """Note what was passed over."""
        self.skipped[path] = reason

    def left_out(self, used: set[Path]) -> list[str]:
        """Return what was passed over, the likelier logs first.

        Args:
            used: files that were read after all.
        """
        parts = {one for path in used for one in (path, *path.parents)}
        ranks = {_OTHER: 1, _HIDDEN: 2}
        left = [(path, why) for path, why in self.skipped.items() if path not in parts]
        left.sort(key=lambda one: ranks.get(one[1], 0))
        return [f"{self._name(path)} ({why})" for path, why in left]

    def runs(self) -> Iterator[LoggedRun]:
        """Yield every run, in the order of the paths."""
        if not self.root.is_dir():
            yield from self._file(self.root)
            if self.root in self.skipped:
                found = self.root.suffix or self.root.name
                raise LogError(self.shown, f"found '{found}'; expected {LOG_KINDS}.")
            return
        count = 0
        for folder, names in self._folders():
            for run in self._folder(folder, names):
                count += 1
                if count > MAX_RUNS:
                    raise LogError(self.shown, f"found more than {MAX_RUNS:,} runs.")
                yield run

    def _folders(self) -> Iterator[tuple[Path, list[str]]]:
        """Yield every folder with its regular files; links and what is hidden are left out."""
        waiting, count = [self.root], 0
        while waiting:
            folder = waiting.pop()
            try:
                entries = sorted(os.scandir(folder), key=lambda one: one.name)
            except OSError as error:
                raise LogError(self._name(folder), f"cannot be read ({error.strerror}).") from None
            count += len(entries)
            if count > _MAX_ENTRIES:
                raise LogError(
                    self.shown,
                    f"found more than {_MAX_ENTRIES:,} files; expected fewer. Name the folders of "
                    "the runs.",
                )
            names, below = [], []
            for one in entries:
                if one.is_symlink():
                    self.skip(folder / one.name, "a link")
                elif one.name.startswith(".") or one.name == "__MACOSX":
                    self.skip(folder / one.name, _HIDDEN)
                elif one.is_dir():
                    below.append(folder / one.name)
                elif one.is_file():
                    names.append(one.name)
                else:
                    self.skip(folder / one.name, "no regular file")
            if (reason := mlflow.not_a_run(folder)) is not None:
                self.skip(folder, reason)
                continue
            yield folder, names
            if not mlflow.is_store_run(folder) and not any(n.endswith(".wandb") for n in names):
                waiting += reversed(below)

    def _folder(self, folder: Path, names: list[str]) -> Iterator[LoggedRun]:
        if mlflow.is_store_run(folder):
            run = mlflow.read_store_run(self._name(folder), self._parts(folder), folder)
            if run is None:
                self.skip(folder, mlflow.DELETED)
            else:
                yield run
            return
        events = [folder / name for name in names if tensorboard.is_event_file(name)]
        if events:
            yield tensorboard.read_event_files(
                self._name(folder), self._parts(folder), folder, sorted(events, key=_begun)
            )
        state = folder / _STATE if _STATE in names else _last_checkpoint(folder)
        is_checkpoint = folder.name.startswith("checkpoint-") and folder != self.root
        if is_checkpoint and state is not None:
            self.skip(state, "a checkpoint of the run above it")
        elif state is not None:
            yield self._trainer_state(state, folder)
        for name in names:
            if not tensorboard.is_event_file(name) and name != _STATE:
                yield from self._file(folder / name)

    def _file(self, file: Path) -> Iterator[LoggedRun]:
        name, parts = self._name(file), self._parts(file)
        suffix = file.suffix.lower()
        if tensorboard.is_event_file(file.name):
            shown = name.rpartition("/")[0] or name
            yield tensorboard.read_event_files(shown, parts, file.parent, [file])
        elif suffix == ".wandb":
            yield wandb.read_offline_run(self._name(file.parent), parts[:-1], file, self.step)
        elif file.name == _STATE:
            yield self._trainer_state(file, file.parent)
        elif suffix in _DATABASES and (file == self.root or mlflow.is_database(file, name)):
            runs, deleted = mlflow.read_database(name, parts[:-1], file)
            for one in deleted:
                self.skip(file / one, mlflow.DELETED)
            yield from runs
        elif suffix in _TABLES:
            runs = tables.read_table(name, parts, file, self.axes, self.step)
            if not runs:
                self.skip(file, "a table without rows")
            yield from runs
        elif is_archive(file) or suffix in (".gz", ".bz2", ".xz"):
            self.skip(file, _PACKED)
        else:
            self.skip(file, _OTHER)

    def _trainer_state(self, file: Path, home: Path) -> LoggedRun:
        name, parts = self._name(home), self._parts(home)
        return tables.read_trainer_state(name, parts, file, self.step, self._name(file))

    def _name(self, path: Path) -> str:
        """Name a path in messages and mappings: as it was given, and what is below it."""
        if path == self.root:
            return self.shown
        below = path.relative_to(self.folder).as_posix()
        return below if self.shown == "." else f"{self.shown.rstrip('/')}/{below}"

    def _parts(self, path: Path) -> tuple[str, ...]:
        """Return the names in which a seed may be written."""
        below = path.relative_to(self.folder).parts if path != self.root else ()
        return (self.last, *below)


def _begun(file: Path) -> tuple[str, str]:
    """Return the second in which an event file was begun, which its name holds, and the name."""
    time = file.name.partition(".tfevents.")[2].partition(".")[0]
    return time.rjust(12, "0"), file.name


def _last_checkpoint(folder: Path) -> Path | None:
    """Return the state in the last of a Trainer's checkpoints."""
    numbered = []
    for one in folder.glob(f"checkpoint-*/{_STATE}"):
        number = one.parent.name.removeprefix("checkpoint-")
        if number.isdigit() and not one.is_symlink() and not one.parent.is_symlink():
            numbered.append((int(number), one))
    return max(numbered)[1] if numbered else None
