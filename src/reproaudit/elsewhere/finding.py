"""Finds the logs below the given paths, and reads each by the reader of its kind."""

from __future__ import annotations

import os
import re
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
_PROGRAMS = (".pkl", ".pickle", ".pt", ".bin")
_STATE = "trainer_state.json"
LOG_KINDS = (
    "event files, MLflow's folders or database, .wandb, metrics.csv, trainer_state.json, CSV, TSV, "
    "JSON lines, or an archive of these"
)


@dataclass
class FoundLogs:
    """The runs and configuration files that were found.

    Attributes:
        runs: every run, with its configuration.
        configs: run -> the configuration files that were read.
        skipped: what was passed over and may hold runs: links, archives inside folders.
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
        shown = str(path)
        if not path.exists():
            raise LogError(shown, f"no such file or folder; expected {LOG_KINDS}.")
        root = path
        if path.is_file() and is_archive(path):
            root = Path(tempfile.mkdtemp(dir=scratch))
            unpack(path, shown, root)
        finder = _Finder(root.resolve(), shown, path.resolve().name, axes, step, found.skipped)
        runs = _with_hyperparameters(list(finder.runs()), found.skipped)
        if not runs:
            passed = f" Passed over: {', '.join(found.skipped[:5])}." if found.skipped else ""
            raise LogError(shown, f"found no log; expected {LOG_KINDS}.{passed}")
        for run in runs:
            config, files = find_configuration(run, finder.folder)
            names[run.name] += 1  # a mapping tells runs apart by name
            name = run.name if names[run.name] == 1 else f"{run.name} #{names[run.name]}"
            found.runs.append(replace(run, name=name, config=config))
            found.configs[name] = files
    return found


_TIME = re.compile(r"\d{9,11}(\.\d+)?")


def _with_hyperparameters(runs: Sequence[LoggedRun], skipped: list[str]) -> list[LoggedRun]:
    """Give the hyperparameters that PyTorch's writer puts below a run's folder to the run.

    Its ``add_hparams`` writes an event file of its own to a folder that is named after the time, or
    as its caller says. Such a folder holds hyperparameters and single numbers, and it is the only
    one with a name below a run with courses.
    """
    homes = {run.folder: dict(run.config) for run in runs if run.source == "TensorBoard"}
    single = {run.folder for run in runs if _has_single_numbers(run)}

    def is_below(run: LoggedRun) -> bool:
        return run.source == "TensorBoard" and run.folder in single and run.folder.parent in homes

    named = Counter(
        run.folder.parent
        for run in runs
        if is_below(run) and run.config and not _TIME.fullmatch(run.folder.name)
    )
    kept: list[LoggedRun] = []
    for run in runs:
        above = run.folder.parent
        is_timed = _TIME.fullmatch(run.folder.name) is not None
        is_named = bool(run.config) and named[above] == 1 and above not in single
        if not is_below(run) or not (is_timed or is_named):
            kept.append(run)
            continue
        for name, value in run.config.items():
            if homes[above].setdefault(name, value) != value:
                raise LogError(
                    run.name,
                    f"found {name} = {value!r}, and {homes[above][name]!r} beside it; expected one "
                    "value. Take the file away that does not belong to this run.",
                )
        skipped.append(f"{run.name} (hyperparameters of the run above it)")
    return [
        replace(run, config=homes[run.folder]) if run.source == "TensorBoard" else run
        for run in kept
    ]


def _has_single_numbers(run: LoggedRun) -> bool:
    return all(curve.values.size <= 1 for at in run.curves.values() for curve in at.values())


class _Finder:
    """Looks below one path.

    Args:
        root: the file or folder, resolved; links below it are not followed.
        shown: what it was called on the command line.
        last: its own name, in which a seed may be written.
        axes: columns that hold coordinates.
        step: what counts the steps, where the mapping names it.
        skipped: gathers what was passed over.
    """

    def __init__(
        self,
        root: Path,
        shown: str,
        last: str,
        axes: frozenset[str],
        step: str | None,
        skipped: list[str],
    ) -> None:
        self.root, self.shown, self.last = root, shown, last
        self.axes, self.step, self.skipped = axes, step, skipped
        self.folder = root if root.is_dir() else root.parent

    def runs(self) -> Iterator[LoggedRun]:
        """Yield every run, in the order of the paths."""
        if not self.root.is_dir():
            yield from self._file(self.root, alone=True)
            return
        count = 0
        for folder, names in self._folders():
            for run in self._folder(folder, names):
                count += 1
                if count > MAX_RUNS:
                    raise LogError(self.shown, f"found more than {MAX_RUNS:,} runs.")
                yield run

    def _folders(self) -> Iterator[tuple[Path, list[str]]]:
        """Yield every folder with its regular files; links and hidden folders are left out."""
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
            links = [one for one in entries if one.is_symlink()]
            self.skipped += [f"{self._name(Path(one.path))} (a link)" for one in links]
            names = [one.name for one in entries if one.is_file(follow_symlinks=False)]
            yield folder, [name for name in names if not name.startswith("._")]
            if not mlflow.is_store_run(folder) and not any(n.endswith(".wandb") for n in names):
                below = [one for one in entries if one.is_dir(follow_symlinks=False)]
                waiting += [
                    folder / one.name for one in reversed(below) if not one.name.startswith(".")
                ]

    def _folder(self, folder: Path, names: list[str]) -> Iterator[LoggedRun]:
        if mlflow.is_store_run(folder):
            run = mlflow.read_store_run(self._name(folder), self._parts(folder), folder)
            if run is not None:
                yield run
            else:
                self.skipped.append(f"{self._name(folder)} ({mlflow.DELETED})")
            return
        events = [folder / name for name in names if tensorboard.is_event_file(name)]
        if events:
            yield tensorboard.read_event_files(
                self._name(folder), self._parts(folder), folder, sorted(events, key=_begun)
            )
        if _STATE not in names:
            last = _last_checkpoint(folder)
            if last is not None:
                yield self._trainer_state(last, folder)
        elif folder == self.root or not folder.name.startswith("checkpoint-"):
            yield self._trainer_state(folder / _STATE, folder)
        for name in names:
            if not tensorboard.is_event_file(name) and name != _STATE:
                yield from self._file(folder / name, alone=False)

    def _file(self, file: Path, alone: bool) -> Iterator[LoggedRun]:
        name, parts = self._name(file), self._parts(file)
        suffix = file.suffix.lower()
        if tensorboard.is_event_file(file.name):
            shown = name.rpartition("/")[0] or name
            yield tensorboard.read_event_files(shown, parts, file.parent, [file])
        elif suffix == ".wandb":
            yield wandb.read_offline_run(self._name(file.parent), parts[:-1], file, self.step)
        elif file.name == _STATE:
            yield self._trainer_state(file, file.parent)
        elif suffix in _DATABASES and (alone or mlflow.is_database(file, name)):
            runs, deleted = mlflow.read_database(name, parts[:-1], file)
            self.skipped += [f"{one} ({mlflow.DELETED})" for one in deleted]
            yield from runs
        elif suffix in _TABLES:
            is_lightning = file.name == "metrics.csv" and (file.parent / "hparams.yaml").is_file()
            read = tables.read_lightning if is_lightning else tables.read_table
            runs = read(name, parts, file, self.axes, self.step)
            if not runs:
                self.skipped.append(f"{name} (a table without rows)")
            yield from runs
        elif alone:
            raise LogError(name, f"found '{file.suffix or file.name}'; expected {LOG_KINDS}.")
        elif is_archive(file) or suffix in (".gz", ".bz2", ".xz"):
            self.skipped.append(f"{name} (an archive inside a folder; unpack it)")
        elif suffix in _PROGRAMS:
            self.skipped.append(f"{name} (could run code; not read)")

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
