"""Finds the logs below the given paths, and reads each by the reader of its kind.

What is seen and not read is named, with the reason.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os.path import commonpath
from pathlib import Path, PurePath
from typing import Any

from reproaudit.logs import joining, mlflow, tensorboard
from reproaudit.logs.asked import Asked
from reproaudit.logs.columns import no_column, stem_of
from reproaudit.logs.configurations import CONFIG_FILES, Stated, configured
from reproaudit.logs.documents import TRAINER_STATE
from reproaudit.logs.logged import LogError, LoggedRun, LogSource, raise_all, refuse_beyond, some
from reproaudit.logs.names import kinship
from reproaudit.logs.opening import unpack
from reproaudit.logs.spread import is_called_so
from reproaudit.logs.tables import ARRAYS, NOTEBOOK, TREES, read_table
from reproaudit.logs.texts import TEXT_LOG, is_table

_ERRORS = ("error.txt", "error.pkl")
_TRIALS = ("result.json", "progress.csv")
_UNREAD = {
    **dict.fromkeys((".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz"), "packed; unpack it"),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "a workbook; save its sheet as CSV"),
    **dict.fromkeys((".parquet", ".feather"), "a table in bytes; write it as CSV"),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), "it may run code; write CSV or JSON"),
    ".wandb": "W&B's own log; export run.scan_history() as CSV",
}
"""Files with results that are not read, each with the way to have these read."""
TABLES = (".csv", ".tsv", ".jsonl")
_TEXTS = (".txt", ".log", ".dat", ".out", ".md", ".org", ".rst", ".tex", ".html", ".htm")
_GUESSED = (".json", NOTEBOOK, *ARRAYS, *TREES, *_TEXTS)
"""Endings of files that may be logs, and may be others."""
LOG_KINDS = (
    "event files, MLflow's folders or database, CSV, TSV, JSON, text with a table or JSON lines in "
    "it, or a zip archive of these"
)
MOST_FILES = 1_000  # logs that are read below one path
MOST_SNIFFED = 20_000  # bytes of a file in which a table is looked for, where no ending tells it
_OTHER = "no log"
_HIDDEN = "hidden"
IGNORED = "a rule ignores it"
_HIDDEN_NAME = re.compile(r"\.(?!\.?__)|__MACOSX$")
"""lm-eval calls a folder after its model's path: ./out/x is ``.__out__x``, which is not hidden."""
_SETTINGS = "a folder of settings; name it where it holds runs"
_SETTINGS_FOLDERS = frozenset({"config", "configs", "conf"})
_PROSE = (
    "text without a table; to import it, make one: a row for each step, a column for each quantity"
)
_WITHOUT = {
    ".json": _OTHER,
    NOTEBOOK: "a notebook without a table in its outputs; to import it, write one to a file: "
    "`df.to_csv('runs.csv')`",
    ".tex": "LaTeX; to import a table, write it as CSV: a row for each run, columns for its arm, "
    "its seed and each number",
}
"""What is said of files without a table; of others, that they are prose."""


def find_runs(
    logs: Sequence[Path], asked: Asked, scratch: Path
) -> tuple[list[LoggedRun], list[tuple[str, str]]]:
    """Return every run below the paths, and what was passed over, each with the reason.

    An AuditError lists every file that cannot be used; one cause once.
    """
    all_runs: list[LoggedRun] = []
    skipped: list[tuple[str, str]] = []
    whole = {path: path.resolve() for path in logs}
    shared = Path(commonpath(path.parent for path in whole.values()))
    for path, resolved in whole.items():
        parts = resolved.relative_to(shared).parts
        finder = _Finder(path, LogSource(path, str(path), parts, asked), scratch)
        runs = finder.all_runs()
        left_out = finder.left_out(runs)
        if not runs and {why for _, why in left_out} != {IGNORED}:
            words = f" Passed over: {'; '.join(by_reason(left_out))}." if left_out else ""
            raise LogError(str(path), f"found no log; expected {LOG_KINDS}.{words}")
        all_runs += runs
        skipped += left_out
    if not all_runs:
        raise LogError(str(logs[0]), "found no run that is not ignored; expected one.")
    tables = [run for run in all_runs if run.columns and not asked.ignores(run.name)]
    for role, _, column in asked.columns.stated():
        if not any(column in run.columns for run in tables):
            lacking = [run for run in tables if asked.wants_any(run.curves)]
            raise_all([no_column(run, role, column) for run in lacking])
    return all_runs, skipped


def by_reason(skipped: Sequence[tuple[str, str]]) -> list[str]:
    """Return what was passed over in words: each reason once, with its files."""
    reasons: dict[str, Counter[str]] = {}
    for name, why in skipped:
        reasons.setdefault(why, Counter())["/".join(PurePath(name).parts[-2:])] += 1
    return [
        f"{some([name if n == 1 else f'{n} files {name}' for name, n in names.items()])} ({why})"
        for why, names in reasons.items()
    ]


class _Finder:
    def __init__(self, path: Path, asked: LogSource, scratch: Path) -> None:
        self._asked = asked
        self._faults: list[LogError] = []
        self._guessed: dict[Path, list[LoggedRun] | LogError] = {}
        self._read_so_far = 0
        self._aside: list[Path] = []
        if not path.exists():
            raise LogError(asked.name, f"no such file or folder; expected {LOG_KINDS}.")
        root = path
        if path.is_file() and path.suffix.lower() == ".zip":
            root = Path(tempfile.mkdtemp(dir=scratch))
        self._root = root.resolve()
        self._folder = self._root if self._root.is_dir() else self._root.parent
        if root != path:
            for name in unpack(path, asked.name, root):
                self._skip(self._root / name, "a link")

    def left_out(self, runs: Sequence[LoggedRun]) -> list[tuple[str, str]]:
        """Return what was passed over and belongs to none of the runs, the likelier logs first."""
        used = {file for run in runs for file in (*run.files, *run.configurations)}
        paths = {above for path in used for above in (path, *path.parents)}
        names = {self._name(path) for path in paths if path.is_relative_to(self._folder)}
        left = [(name, why) for name, why in self._asked.skipped.items() if name not in names]
        return sorted(left, key=lambda entry: (entry[1] == _HIDDEN, entry[1] == _OTHER))

    def _skip(self, path: Path, why: str) -> None:
        self._asked.skipped[self._name(path)] = why

    def all_runs(self) -> list[LoggedRun]:
        """Return every run.

        A file that is no log by its name counts if it has a wanted tag, or is called like a file
        that has, and shares a column with it: a run that lacks the tag must be seen. If nothing
        counts, all of them do, so that the refusal can list their tags. A folder of settings is
        searched if there is nothing else.
        """
        certain = list(self._runs(self._root))
        for folder in self._aside:
            if certain or any(self._guessed.values()):
                self._skip(folder, _SETTINGS)
            else:
                certain += self._runs(folder)
        known = {
            _pattern(path): runs
            for path, runs in self._guessed.items()
            if isinstance(runs, list) and self._has_wanted(runs)
        }
        texts = {
            name
            for name, runs in known.items()
            if runs[0].source == TEXT_LOG or not name.removesuffix(".gz").endswith(_GUESSED)
        }
        if known.keys() - texts or self._has_wanted(certain):
            known = {name: runs for name, runs in known.items() if name not in texts}
        folders = {run.folder for runs in known.values() for run in runs}
        tags = {tag for run in certain for tag in run.curves}
        has_kin = any(kinship(wanted, tags) for wanted in self._asked.asked.wanted)
        alone = not (known or self._faults or has_kin)
        for path, runs in self._guessed.items():
            is_asked = alone and (path == self._root or path.suffix.lower() not in TREES)
            alike = known.get(_pattern(path))
            is_known = path.parent in folders and _have_failed(runs)
            is_known |= alike is not None and _has_shared(runs, alike)
            if not runs or not (is_asked or is_known):
                beside = _pattern(path) in texts
                self._skip(path, "text beside other logs" if beside else _reason(path, runs))
            elif isinstance(runs, LogError):
                self._note(runs, path)
            else:
                certain += runs
        raise_all(self._faults)
        certain = list(self._without_summaries(certain))
        read: dict[Path, Stated | LogError] = {}
        joined = self._called_so(joining.join_parts(mlflow.told_apart(certain), self._folder))
        return [configured(_with_error(run), self._folder, read) for run in joined]

    def _called_so(self, runs: Sequence[LoggedRun]) -> list[LoggedRun]:
        """Return the runs of files with one that is called as the mapping says; all if none is.

        What a rule speaks of is a run, however it is called; other files are named.
        """
        asked = self._asked.asked
        called = {run.files[0] for run in runs if asked.names and is_called_so(run.name, asked)}
        ruled = {run.files[0] for run in runs if not called or asked.is_ruled(run.name)}
        others = [run.files[0] for run in runs if run.files[0] not in called | ruled]
        return self._without(dict.fromkeys(others, "not called as `names` says"), runs)

    def _without(self, left: Mapping[Path, str], runs: Sequence[LoggedRun]) -> list[LoggedRun]:
        """Return the runs but for those of files that are left out, which are named."""
        for file, why in left.items():
            self._skip(file, why)
        return [run for run in runs if run.files[0] not in left]

    def _has_wanted(self, runs: Iterable[LoggedRun]) -> bool:
        wants = self._asked.asked.wants
        called = ((tag, f"{stem_of(run.files[0])}.{tag}") for run in runs for tag in run.curves)
        return any(wants(tag) or wants(of_file) for tag, of_file in called)

    def _without_summaries(self, runs: Sequence[LoggedRun]) -> Iterator[LoggedRun]:
        """Yield the runs but for files that have nothing wanted beyond the logs beside them."""
        wants = self._asked.asked.wants
        runs = self._without(joining.copies_of_states(runs, self._asked.asked), runs)
        sums = joining.sums_of_folders([run for run in runs if any(map(wants, run.curves))])
        logs = joining.logs_of(runs)
        runs = self._without(dict.fromkeys(sorted(sums), "sums up the folders beside it"), runs)
        for run in runs:
            log = logs.get(run.folder)
            known = log is not None and {*filter(wants, run.curves)} <= log.curves.keys()
            apart = joining.apart_from(log, run, wants) if log is not None else {}
            if apart:
                yield replace(run, curves=apart)
            elif log is not None and known and joining.is_summary(run):
                self._skip(run.files[0], f"sums up {log.files[0].name} beside it")
            else:
                yield run

    def _runs(self, root: Path) -> Iterator[LoggedRun]:
        """Yield every run, in the order of the paths; links and what is hidden are passed over."""
        if not root.is_dir():
            yield from self._file(root)
            return
        waiting = [root]
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
                elif _HIDDEN_NAME.match(path.name):
                    self._skip(path, _HIDDEN)
                elif path.is_dir() and path.name.lower() in _SETTINGS_FOLDERS:
                    self._aside.append(path)
                elif path.is_dir():
                    below.append(path)
                elif path.is_file():
                    files.append(path)
                else:
                    self._skip(path, "no regular file")
            if mlflow.is_store_run(folder):
                yield from self._read(self._source(folder), mlflow.read_store_run)
            else:
                yield from self._together(folder, files)
                waiting += reversed(below)

    def _note(self, fault: LogError, path: Path) -> None:
        """Keep the fault of a file; one that a rule ignores is passed over."""
        if self._asked.asked.ignores(self._name(path)):
            self._skip(path, IGNORED)
        else:
            self._faults.append(fault)

    def _count(self, files: int = 1) -> None:
        self._read_so_far += files
        refuse_beyond(MOST_FILES, self._read_so_far, "logs", self._asked.name)

    def _read(
        self, source: LogSource, reader: Callable[..., Iterable[LoggedRun]], *more: Any
    ) -> Iterator[LoggedRun]:
        self._count()
        try:
            yield from list(reader(source, *more))
        except LogError as fault:
            self._note(fault, source.path)

    def _together(self, folder: Path, files: list[Path]) -> Iterator[LoggedRun]:
        """Yield the runs that the files of one folder hold together, then those of each file."""
        events = [file for file in files if tensorboard.is_event_file(file.name)]
        if events:
            self._count(len(events) - 1)  # the reading itself counts as one
            yield from self._read(self._source(folder), tensorboard.read_event_files, events)
        own = folder / TRAINER_STATE
        state = own if own in files else _last_checkpoint(folder)
        if state is not None and folder.name.startswith("checkpoint-") and folder != self._root:
            self._skip(state, "a checkpoint of the run above it")
        elif state is not None:
            yield from self._trainer_state(state, folder)
        for file in files:
            if file not in events and file.name != TRAINER_STATE:
                yield from self._file(file)

    def _file(self, file: Path) -> Iterator[LoggedRun]:
        source = self._source(file)
        if tensorboard.is_event_file(file.name):
            named = replace(source, name=source.name.rpartition("/")[0] or source.name)
            yield from self._read(named, tensorboard.read_event_files, [file])
        elif file.name == TRAINER_STATE:
            yield from self._trainer_state(file, file.parent)
        elif source.ending in (".db", ".sqlite", ".sqlite3") and (
            file == self._root or mlflow.is_database(source)
        ):
            yield from self._read(source, mlflow.read_database)
        elif source.ending in TABLES:
            yield from self._read(source, read_table)
        elif _may_be_log(file, source.ending):
            self._count()
            try:
                self._guessed[file] = read_table(source)
            except LogError as error:
                self._guessed[file] = error
        else:
            self._skip(file, _UNREAD.get(file.suffix.lower(), _OTHER))

    def _trainer_state(self, file: Path, home: Path) -> Iterator[LoggedRun]:
        source = replace(self._source(home), path=file)
        if file == self._root:
            above = str(PurePath(self._asked.name).parent)
            source = replace(
                source,
                name=home.name if above == "." else above,
                parts=self._asked.parts[:-1] or (home.name,),
            )
        for run in self._read(source, read_table, self._name(file)):
            yield replace(run, folder=home)

    def _source(self, path: Path) -> LogSource:
        below = path.relative_to(self._folder).parts if path != self._root else ()
        parts = (*self._asked.parts, *below)
        return replace(self._asked, path=path, name=self._name(path), parts=parts)

    def _name(self, path: Path) -> str:
        """Name a path in messages and mappings: as it was given, and what is below it."""
        shown = self._asked.name
        if path == self._root:
            return shown
        below = path.relative_to(self._folder).as_posix()
        return below if shown == "." else f"{shown.rstrip('/')}/{below}"


def _may_be_log(file: Path, ending: str) -> bool:
    """Tell whether a file may be a log by its ending or, if this says nothing, its first lines."""
    if ending in _GUESSED or file.suffix.lower() in _UNREAD:
        return ending in _GUESSED and file.name not in CONFIG_FILES
    with suppress(OSError), file.open("rb") as opened:
        head = opened.read(MOST_SNIFFED)
        return b"\0" not in head and is_table(head.decode(errors="replace"))
    return False


def _with_error(run: LoggedRun) -> LoggedRun:
    """Return a trial of Ray's as failed if its error lies beside it, and its `done` is not true.

    A trial that was tried again keeps the error.
    """
    there = next((name for name in _ERRORS if (run.folder / name).is_file()), None)
    ended = "done" in run.columns.values() and not run.failed
    if there is None or ended or run.files[0].name not in _TRIALS:
        return run
    files = (*run.files, run.folder / there)
    why = (*run.not_whole, f"its {there} says crashed")
    state = "; ".join(filter(None, [run.state, "crashed"]))
    return replace(run, failed=True, not_whole=why, state=state, files=files)


def _have_failed(runs: list[LoggedRun] | LogError) -> bool:
    """Tell whether a file says that its run failed, whose numbers may not have come any more."""
    return isinstance(runs, list) and all(run.failed for run in runs)


def _has_shared(runs: list[LoggedRun] | LogError, others: Sequence[LoggedRun]) -> bool:
    """Tell whether a file has a column of others that are called alike, or no numbers."""
    own = runs if isinstance(runs, list) else []
    columns = {column for run in own if run.tags for column in run.columns}
    return not columns or any(columns & run.columns.keys() for run in others)


def _pattern(path: Path) -> str:
    """Return what files are called alike by: their name without its numbers."""
    return re.sub(r"[0-9a-f]*\d[0-9a-f]*", "#", path.name.lower())


def _reason(path: Path, runs: list[LoggedRun] | LogError) -> str:
    if isinstance(runs, LogError):
        return f"no log: {runs.text}"
    if not runs:
        return _WITHOUT.get(path.suffix.lower(), _PROSE)
    tags = sorted({tag for run in runs for tag in run.curves})
    but = f", but {', '.join(tags[:4])}" if tags else ""
    return f"holds nothing that is wanted{but}"


def _last_checkpoint(folder: Path) -> Path | None:
    numbered = {}
    for path in folder.glob(f"checkpoint-*/{TRAINER_STATE}"):
        step = path.parent.name.removeprefix("checkpoint-")
        if step.isdecimal() and not path.is_symlink() and not path.parent.is_symlink():
            numbered[int(step)] = path
    return numbered[max(numbered)] if numbered else None
