"""Finds the logs below the given paths, and reads each by the reader of its kind."""

from __future__ import annotations

import itertools
import os
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from reproaudit.elsewhere import mlflow, tables, tensorboard, trainers, wandb
from reproaudit.elsewhere.archives import is_archive, unpack
from reproaudit.elsewhere.configurations import CONFIG_FILES, find_configuration
from reproaudit.elsewhere.logged import LogError, LoggedRun

_MAX_ENTRIES = 200_000
MAX_RUNS = 10_000
_DATABASES = (".db", ".sqlite", ".sqlite3")
_TABLES = (".csv", ".tsv", ".jsonl")
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
        skipped: what was passed over and may surprise: links, archives inside folders.
        unread: of these, what may hold runs: its name, and why it was not read.
    """

    runs: list[LoggedRun] = field(default_factory=list)
    configs: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)


def find_runs(
    logs: Sequence[Path], axes: frozenset[str], step: str | None, scratch: Path
) -> FoundLogs:
    """Every run below the paths.

    Args:
        logs: files and folders.
        axes: the audit's axes, which a table may have as columns.
        step: what counts the steps, where the mapping names it.
        scratch: a folder for what archives hold.

    Raises:
        LogError: if a path holds no log, or a log is damaged.
    """
    found = FoundLogs()
    for path in dict.fromkeys(logs):
        shown = str(path)
        if not path.exists():
            raise LogError(shown, f"no such file or folder; expected {LOG_KINDS}.")
        root = path
        if path.is_file() and is_archive(path):
            root = Path(tempfile.mkdtemp(dir=scratch))
            unpack(path, shown, root)
        finder = _Finder(root.resolve(), shown, path.resolve().name, axes, step, found)
        runs = list(_with_hyperparameters(finder.runs(), found.skipped))
        if not runs:
            raise LogError(shown, f"found no log; expected {LOG_KINDS}.")
        for run in runs:
            config, files = find_configuration(run, finder.folder)
            found.runs.append(run.with_config(config))
            found.configs[run.name] = files
    _name_apart(found)
    return found


_TIME = re.compile(r"\d{9,11}(\.\d+)?")


def _with_hyperparameters(runs: Iterable[LoggedRun], skipped: list[str]) -> Iterator[LoggedRun]:
    """The runs; the hyperparameters that PyTorch's writer puts below a run's folder are the run's.

    Its ``add_hparams`` writes an event file of its own to a folder that is named after the time, or
    as its caller says. One with such a name holds hyperparameters and single numbers, and it is the
    only one below a run with courses.
    """
    every = list(runs)
    homes = {run.folder: dict(run.config) for run in every if run.source == "TensorBoard"}
    courses = {run.folder for run in every if not _has_single_numbers(run)}
    named = Counter(run.folder.parent for run in every if _is_named(run, courses))
    kept: list[LoggedRun] = []
    for run in every:
        home = homes.get(run.folder.parent)
        is_named = _is_named(run, courses) and named[run.folder.parent] == 1
        is_timed = run.folder in homes and _TIME.fullmatch(run.folder.name) is not None
        is_timed = is_timed and _has_single_numbers(run)
        if home is None or not (is_timed or is_named):
            kept.append(run)
            continue
        for name, value in run.config.items():
            if home.setdefault(name, value) != value:
                raise LogError(
                    run.name,
                    f"found {name} = {value!r}, and {home[name]!r} beside it; expected one value. "
                    "Take the file away that does not belong to this run.",
                )
        skipped.append(f"{run.name} (hyperparameters of the run above it)")
    for run in kept:
        yield run.with_config(homes[run.folder]) if run.source == "TensorBoard" else run


def _has_single_numbers(run: LoggedRun) -> bool:
    return all(curve.values.size <= 1 for at in run.curves.values() for curve in at.values())


def _is_named(run: LoggedRun, courses: Collection[Path]) -> bool:
    """True if a run may be what ``add_hparams`` wrote to a folder that its caller named."""
    alone = run.source == "TensorBoard" and bool(run.config) and _has_single_numbers(run)
    return alone and run.folder.parent in courses and not _TIME.fullmatch(run.folder.name)


def _name_apart(found: FoundLogs) -> None:
    """Gives runs of one name different ones, since a mapping tells them apart by name."""
    seen: dict[str, int] = {}
    for index, run in enumerate(found.runs):
        seen[run.name] = seen.get(run.name, 0) + 1
        if seen[run.name] > 1:
            name = f"{run.name} #{seen[run.name]}"
            found.configs[name] = found.configs[run.name]
            found.runs[index] = replace(run, name=name)


class _Finder:
    """Looks below one path.

    Args:
        root: the file or folder, resolved; links below it are not followed.
        shown: what it was called on the command line.
        last: its own name, in which a seed may be written.
    """

    def __init__(
        self,
        root: Path,
        shown: str,
        last: str,
        axes: frozenset[str],
        step: str | None,
        found: FoundLogs,
    ) -> None:
        self.root, self.shown, self.last = root, shown, last
        self.axes, self.step, self.found = axes, step, found
        self.folder = root if root.is_dir() else root.parent
        self._entries = 0

    def runs(self) -> Iterator[LoggedRun]:
        """Every run, in the order of the paths."""
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
        """Every folder with the names of its regular files; links and hidden folders left out."""
        waiting = [self.root]
        while waiting:
            folder = waiting.pop()
            names, below = [], []
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        self._entries += 1
                        if self._entries > _MAX_ENTRIES:
                            raise LogError(
                                self.shown,
                                f"found more than {_MAX_ENTRIES:,} files; expected fewer. Name the "
                                "folders of the runs.",
                            )
                        if entry.is_symlink():
                            self._pass_over(self._name(Path(entry.path)), "a link")
                        elif entry.is_dir():
                            below.append(folder / entry.name)
                        elif entry.is_file():
                            names.append(entry.name)
            except OSError as error:
                raise LogError(self._name(folder), f"cannot be read ({error.strerror}).") from None
            names.sort()
            yield folder, names
            inside = mlflow.is_store_run(folder) or any(name.endswith(".wandb") for name in names)
            for one in sorted(below, reverse=True):
                if inside or one.name.startswith("."):
                    if _holds_a_run(one):
                        where = "below the folder of another run" if inside else "a hidden folder"
                        self._pass_over(self._name(one), where)
                else:
                    waiting.append(one)

    def _pass_over(self, name: str, why: str) -> None:
        self.found.skipped.append(f"{name} ({why})")
        self.found.unread.append((name, why))

    def _folder(self, folder: Path, names: list[str]) -> Iterator[LoggedRun]:
        if mlflow.is_store_run(folder):
            run = mlflow.read_store_run(self._name(folder), self._parts(folder), folder)
            if run is None:
                self._pass_over(self._name(folder), mlflow.DELETED)
            else:
                yield run
            return
        events = [folder / name for name in names if tensorboard.is_event_file(name)]
        if events:
            yield tensorboard.read_event_files(
                self._name(folder), self._parts(folder), folder, sorted(events, key=_begun)
            )
        if "trainer_state.json" in names and not self._is_checkpoint(folder):
            yield self._trainer_state(folder / "trainer_state.json")
        elif "trainer_state.json" not in names:
            last = _last_checkpoint(folder)
            if last is not None:
                yield self._trainer_state(last, folder)
        for name in names:
            if not tensorboard.is_event_file(name) and name != "trainer_state.json":
                yield from self._file(folder / name, alone=False)

    def _file(self, file: Path, alone: bool) -> Iterator[LoggedRun]:
        name, parts = self._name(file), self._parts(file)
        suffix = file.suffix.lower()
        if tensorboard.is_event_file(file.name):
            shown = name.rpartition("/")[0] or name
            yield tensorboard.read_event_files(shown, parts, file.parent, [file])
        elif suffix == ".wandb":
            yield wandb.read_offline_run(self._name(file.parent), parts[:-1], file, self.step)
        elif file.name == "trainer_state.json":
            yield self._trainer_state(file)
        elif suffix in _DATABASES and (alone or mlflow.is_database(file, name)):
            runs, deleted = mlflow.read_database(name, parts[:-1], file)
            for one in deleted:
                self._pass_over(one, mlflow.DELETED)
            yield from runs
        elif suffix in _TABLES:
            is_lightning = file.name == "metrics.csv" and (file.parent / "hparams.yaml").is_file()
            read = trainers.read_lightning if is_lightning else tables.read_table
            runs = list(read(name, parts, file, self.axes, self.step))
            if not runs:
                self._pass_over(name, "a table without rows")
            yield from runs
        elif alone:
            raise LogError(name, f"found '{file.suffix or file.name}'; expected {LOG_KINDS}.")
        elif is_archive(file):
            self._pass_over(name, "an archive inside a folder")
        elif suffix in (".pkl", ".pickle", ".pt", ".bin") and file.name not in CONFIG_FILES:
            self.found.skipped.append(f"{name} (could run code; not read)")

    def _trainer_state(self, file: Path, folder: Path | None = None) -> LoggedRun:
        home = folder or file.parent
        name, parts = self._name(home), self._parts(home)
        return trainers.read_trainer_state(name, parts, file, self.step, self._name(file))

    def _is_checkpoint(self, folder: Path) -> bool:
        """True if a folder is a checkpoint of a Trainer whose own folder is read, too."""
        return folder != self.root and folder.name.startswith("checkpoint-")

    def _name(self, path: Path) -> str:
        """The name of a path in messages and mappings: as it was given, and what is below it."""
        if path == self.root:
            return self.shown
        below = path.relative_to(self.folder).as_posix()
        return below if self.shown == "." else f"{self.shown.rstrip('/')}/{below}"

    def _parts(self, path: Path) -> tuple[str, ...]:
        """The names in which a seed may be written."""
        below = path.relative_to(self.folder).parts if path != self.root else ()
        return (self.last, *below)


def _begun(file: Path) -> tuple[str, str]:
    """The second in which an event file was begun, which its name holds, and the name."""
    time = file.name.partition(".tfevents.")[2].partition(".")[0]
    return time.rjust(12, "0"), file.name


def _last_checkpoint(folder: Path) -> Path | None:
    """The state in the last of a Trainer's checkpoints."""
    numbered = []
    for one in folder.glob("checkpoint-*/trainer_state.json"):
        number = one.parent.name.removeprefix("checkpoint-")
        if number.isdigit() and not one.is_symlink() and not one.parent.is_symlink():
            numbered.append((int(number), one))
    return max(numbered)[1] if numbered else None


MOST_LOOKED_AT = 2_000
"""Of the files of a folder that is not read, so many are looked at for logs."""


def _holds_a_run(folder: Path) -> bool:
    """True if a folder that is not read seems to hold a logged run."""
    names = (name for _, _, files in os.walk(folder) for name in files)
    return any(
        tensorboard.is_event_file(name)
        or name in ("trainer_state.json", "meta.yaml")
        or name.lower().endswith((".wandb", *_TABLES, *_DATABASES))
        for name in itertools.islice(names, MOST_LOOKED_AT)
    )
