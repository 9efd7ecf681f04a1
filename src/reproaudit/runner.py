"""Runs the cells that have no record yet, and resumes those that were cut off.

The runner plans first (every fault of an audit is found before anything runs), then hands jobs to
an executor and turns each outcome into records at once. It alone writes records. A cell that fails
stops no other; it is tried again by the next run. A diverged cell is finished.
"""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import FrameType

import numpy as np

import reproaudit
from reproaudit.errors import SpecError, StoreError, UsageError, did_you_mean
from reproaudit.executors import (
    Advanced,
    Executor,
    InProcess,
    Job,
    LocalProcesses,
    Outcome,
)
from reproaudit.experiment import Experiment
from reproaudit.fingerprints import Cell, canonical_settings, code_hash, fingerprint, versions
from reproaudit.modules import Module, one_line
from reproaudit.records import Measurements, Record, Status
from reproaudit.settings import build_settings
from reproaudit.store import CellLock, Store
from reproaudit.training import available_cores

__all__ = [
    "CellFinished",
    "CellStarted",
    "CellWaiting",
    "Event",
    "PlanReady",
    "Progress",
    "SetAside",
    "Summary",
    "build_settings",
    "run_cells",
]

POLL_SECONDS = 0.2
"""How often to look whether another run has given back a cell."""


# ---------------------------------------------------------------------------------------- events


@dataclass(frozen=True)
class PlanReady:
    """What there is to do: cells in all, cells with a record, and the steps of the others."""

    total: int
    done: int
    steps: int


@dataclass(frozen=True)
class CellStarted:
    """Cells measured together have started; ``phases`` has the steps of each phase."""

    cells: tuple[Cell, ...]
    phases: Mapping[str, int]


@dataclass(frozen=True)
class Progress:
    """A phase of these cells has done ``done`` of ``total`` steps."""

    cells: tuple[Cell, ...]
    phase: str
    done: int
    total: int


@dataclass(frozen=True)
class CellWaiting:
    """Another run is at these cells; this one takes their records when they are there."""

    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class SetAside:
    """An unreadable record was moved to ``path``; its cell is measured anew."""

    path: Path
    reason: str


@dataclass(frozen=True)
class CellFinished:
    """A cell has its record; ``reused`` if another run has made it meanwhile."""

    cell: Cell
    record: Record
    reused: bool = False


Event = PlanReady | CellStarted | Progress | CellWaiting | SetAside | CellFinished
OnEvent = Callable[[Event], None]
MayStart = Callable[[tuple[Cell, ...]], bool]


@dataclass
class Summary:
    """How many cells had a record before, and how the others ended."""

    present: int = 0
    completed: int = 0
    diverged: int = 0
    failed: int = 0

    def count(self, status: Status) -> None:
        """Adds one cell that ended so."""
        setattr(self, status.value, getattr(self, status.value) + 1)


# ------------------------------------------------------------------------------------------ plan


@dataclass(frozen=True)
class _Task:
    """A cell that is ready to run."""

    cell: Cell
    fingerprint: str
    code: str
    data: Mapping[str, str]
    proxy: str | None
    phases: Mapping[str, int]
    together: bool
    blocked: str | None


@dataclass(frozen=True)
class _Prepared:
    """What all cells of one experiment and one set of settings share."""

    data: Mapping[str, str]
    proxy: str | None
    phases: Mapping[str, int]
    together: bool
    blocked: str | None


class _Paper:
    """A paper's module and its code, looked at once per run."""

    def __init__(self, module: Module, device: str) -> None:
        self.module = module
        self._device = device
        self._prepared: dict[tuple[str, str], _Prepared] = {}

    @cached_property
    def code(self) -> str:
        return code_hash(self.module.file, self.module.roots)

    @cached_property
    def experiments(self) -> Mapping[str, Experiment]:
        return self.module.load()

    def prepare(self, cell: Cell) -> _Prepared:
        """Checks a cell's experiment and settings.

        Raises:
            SpecError: if the experiment is unknown or the settings do not fit it.
        """
        key = (cell.experiment, canonical_settings(cell.settings))
        if key not in self._prepared:
            self._prepared[key] = self._prepare(cell)
        return self._prepared[key]

    def _prepare(self, cell: Cell) -> _Prepared:
        experiment = self.experiments.get(cell.experiment)
        if experiment is None:
            remedy = did_you_mean(cell.experiment, self.experiments)
            raise SpecError(f"the module has no such experiment. {remedy}".rstrip())
        settings = build_settings(experiment.settings, cell.settings)
        data: Mapping[str, str] = {}
        blocked = None
        try:
            data = dict(experiment.data(settings))
        except Exception as error:  # for instance a download that failed: this cell's failure
            blocked = one_line(error, self.module.file.resolve().parent)
        return _Prepared(
            data=data,
            proxy=experiment.proxy(settings),
            phases=dict(experiment.phases(settings)),
            together=self._device in experiment.seeds_together,
            blocked=blocked,
        )


class _Plan:
    """Which cells have a record, and which are to run, in groups of one job each."""

    def __init__(
        self, cells: Iterable[Cell], locate: Callable[[str], Module], store: Store, device: str
    ) -> None:
        self._locate = locate
        self._device = device
        self._versions = versions(device)
        self._store = store
        self.papers: dict[str, _Paper] = {}
        self.tasks: list[_Task] = []
        faults: dict[str, None] = {}
        seen: set[tuple[str, str, str]] = set()
        for cell in cells:
            try:
                task = self._task(cell)
            except SpecError as error:
                faults[f"{cell.paper}, experiment '{cell.experiment}': {error}"] = None
                continue
            identity = (cell.paper, cell.tier, task.fingerprint)
            if identity not in seen:
                seen.add(identity)
                self.tasks.append(task)
        if faults:
            raise SpecError("\n".join(faults))

    def _task(self, cell: Cell) -> _Task:
        if cell.paper not in self.papers:
            self.papers[cell.paper] = _Paper(self._locate(cell.paper), self._device)
        paper = self.papers[cell.paper]
        shared = paper.prepare(cell)
        return _Task(
            cell=cell,
            fingerprint=fingerprint(cell, paper.code, self._versions, shared.data),
            code=paper.code,
            data=shared.data,
            proxy=shared.proxy,
            phases=shared.phases,
            together=shared.together,
            blocked=shared.blocked,
        )

    def pending(self, fresh: bool) -> list[tuple[_Task, ...]]:
        """The cells without a readable record, grouped into jobs."""
        groups: dict[object, list[_Task]] = {}
        for number, task in enumerate(self.tasks):
            if fresh or not _is_present(self._store, task):
                cell = task.cell
                settings = canonical_settings(cell.settings)
                shared = (cell.paper, cell.tier, cell.experiment, settings)
                groups.setdefault(shared if task.together else number, []).append(task)
        return [tuple(group) for group in groups.values()]


def _is_present(store: Store, task: _Task) -> bool:
    try:
        return store.find(task.cell, task.fingerprint) is not None
    except StoreError:
        return False  # looked at again, and moved aside, under the cell's lock


def _revision(file: Path) -> str | None:
    """The git revision of the checkout that a file belongs to, or None if it is in none."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(file.parent), *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", file.name)  # a checkout around an installed package
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("+dirty" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


# --------------------------------------------------------------------------------------- running


def run_cells(
    cells: Iterable[Cell],
    locate: Callable[[str], Module],
    store: Store,
    *,
    device: str = "cpu",
    jobs: int = 1,
    threads: int | None = None,
    fresh: bool = False,
    on_event: OnEvent = lambda _event: None,
    rules: Mapping[str, Mapping[str, str]] | None = None,
    declared: Mapping[str, Mapping[str, Collection[str]]] | None = None,
    executor: Executor | None = None,
    may_start: MayStart = lambda _cells: True,
) -> Summary:
    """Runs every cell that has no finished record, and writes its record.

    Args:
        cells: what is wanted; a cell that is named twice runs once.
        locate: from a paper's slug to its module.
        store: where records are.
        device: ``"cpu"`` or ``"cuda"``, as `reproaudit.training.pick_device` gives it.
        jobs: how many cells at once, each in a process of its own; 1 computes in this process.
        threads: for all jobs together; by default the cores this process may use.
        fresh: measure again what has a record. The old record stays until the new one is there.
        on_event: told what happens, in this thread.
        rules: by paper and claim id, the hash of the rule in force, for the records.
        declared: by paper and experiment, the names of its measurements; others make it failed.
        executor: something else than this machine's processes; ``jobs`` then does not matter.
        may_start: asked when cells that are measured together could start; those for which it says
            no are left for another run. Cells start in the order in which they are named.

    Returns:
        How many cells ended how.

    Raises:
        SpecError: naming every unknown experiment and ill-fitting setting, before anything runs.
        StoreError, TechnicalError: if the store cannot be written to. Earlier records are intact.
        KeyboardInterrupt: on Ctrl-C or SIGTERM, with unfinished work at its last checkpoint.
    """
    plan = _Plan(cells, locate, store, device)
    for place in {(task.cell.paper, task.cell.tier) for task in plan.tasks}:
        store.sweep(*place)
    groups = plan.pending(fresh)
    todo = [task for group in groups for task in group]
    summary = Summary(present=len(plan.tasks) - len(todo))
    steps = sum(sum(group[0].phases.values()) for group in groups)
    on_event(PlanReady(len(plan.tasks), summary.present, steps))
    if not groups:
        return summary
    run = _Run(
        plan, store, device, fresh, on_event, rules or {}, declared or {}, summary, may_start
    )
    chosen = executor or _local_executor(jobs, threads, len(groups))
    try:
        with _sigterm_interrupts(), chosen as here:
            run.all(groups, here)
    finally:
        run.release()  # only now, when no worker is left that could still save
    return summary


def _local_executor(jobs: int, threads: int | None, groups: int) -> Executor:
    if jobs < 1:
        raise UsageError(f"cannot run {jobs} jobs at once. Use --jobs 1 or more.")
    threads = threads or available_cores()
    jobs = min(jobs, groups)
    return InProcess(threads) if jobs == 1 else LocalProcesses(jobs, max(1, threads // jobs))


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Lets SIGTERM end the run as Ctrl-C does, where nobody else handles it."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@dataclass
class _Claimed:
    """Cells whose locks this run holds."""

    tasks: tuple[_Task, ...]
    locks: list[CellLock]

    def release(self, *, finished: Collection[str] = ()) -> None:
        for task, lock in zip(self.tasks, self.locks, strict=True):
            lock.release(finished=task.fingerprint in finished)


@dataclass
class _Run:
    """One call of `run_cells`, once it is planned."""

    plan: _Plan
    store: Store
    device: str
    fresh: bool
    on_event: OnEvent
    rules: Mapping[str, Mapping[str, str]]
    declared: Mapping[str, Mapping[str, Collection[str]]]
    summary: Summary
    may_start: MayStart
    began: float = field(default_factory=time.time)
    _held: dict[int, _Claimed] = field(default_factory=dict)
    _keys: int = 0

    def all(self, groups: Sequence[tuple[_Task, ...]], executor: Executor) -> None:
        """Runs the groups; those that another run holds come last.

        Between the rounds no lock is held, and within one none is waited for, so that two runs
        never wait for each other.
        """
        told: set[str] = set()
        while groups:
            busy: list[tuple[_Task, ...]] = []
            for outcome in executor.run(self._jobs(groups, busy, executor), self._advanced):
                self._settle(outcome)
            for group in busy:
                if group[0].fingerprint not in told:
                    told.add(group[0].fingerprint)
                    self.on_event(CellWaiting(tuple(task.cell for task in group)))
            if len(busy) == len(groups):
                time.sleep(POLL_SECONDS)
            groups = busy

    def release(self) -> None:
        """Gives back the cells of jobs that were cut off."""
        for claimed in self._held.values():
            claimed.release()
        self._held.clear()

    # --- taking cells

    def _jobs(
        self,
        groups: Sequence[tuple[_Task, ...]],
        busy: list[tuple[_Task, ...]],
        executor: Executor,
    ) -> Iterator[Job]:
        """A job per group that can be taken now; the others are noted as busy."""
        for group in groups:
            if not self.may_start(tuple(task.cell for task in group)):
                continue
            claimed = self._claim(group)
            if claimed is None:
                busy.append(group)
                continue
            if claimed.tasks:
                yield self._job(claimed, executor.threads)

    def _claim(self, group: tuple[_Task, ...]) -> _Claimed | None:
        """Locks a group's cells, less those that have got a record meanwhile; None if one is held.

        Locks are taken in one order everywhere and given back if one is missing.
        """
        claimed = _Claimed((), [])
        complete = False
        try:
            for task in sorted(group, key=lambda one: one.fingerprint):
                lock = self.store.try_lock(task.cell, task.fingerprint)
                if lock is None:
                    return None
                claimed = _Claimed((*claimed.tasks, task), [*claimed.locks, lock])
            complete = True
        finally:
            if not complete:
                claimed.release()
        return self._without_finished(claimed)

    def _without_finished(self, claimed: _Claimed) -> _Claimed:
        left = _Claimed((), [])
        pairs = zip(claimed.tasks, claimed.locks, strict=True)
        for task, lock in sorted(pairs, key=lambda pair: pair[0].cell.seed):
            record = self._made_meanwhile(task)
            if record is None:
                left = _Claimed((*left.tasks, task), [*left.locks, lock])
            else:
                lock.release(finished=True)
                self.summary.count(record.status)
                self.on_event(CellFinished(task.cell, record, reused=True))
        return left

    def _made_meanwhile(self, task: _Task) -> Record | None:
        """The record that another run has written since this one planned."""
        path = self.store.path(task.cell, task.fingerprint)
        if self.fresh and not (path.exists() and path.stat().st_mtime >= self.began):
            return None
        try:
            return self.store.find(task.cell, task.fingerprint)
        except StoreError as error:
            aside = self.store.set_aside(task.cell, task.fingerprint)
            if aside is not None:
                self.on_event(SetAside(aside, str(error)))
            return None

    def _job(self, claimed: _Claimed, threads: int) -> Job:
        first = claimed.tasks[0].cell
        partial = self.store.partial(first, [task.fingerprint for task in claimed.tasks])
        if self.fresh:
            partial.clear()
        self._keys += 1
        self._held[self._keys] = claimed
        cells = tuple(task.cell for task in claimed.tasks)
        self.on_event(CellStarted(cells, claimed.tasks[0].phases))
        return Job(
            key=self._keys,
            module=self.plan.papers[first.paper].module,
            experiment=first.experiment,
            settings=dict(first.settings),
            seeds=tuple(cell.seed for cell in cells),
            device=self.device,
            threads=threads,
            partial=partial.folder,
            blocked=claimed.tasks[0].blocked,
        )

    # --- taking outcomes

    @cached_property
    def _revision(self) -> str | None:
        return _revision(Path(reproaudit.__file__))

    def _advanced(self, event: Advanced) -> None:
        cells = tuple(task.cell for task in self._held[event.key].tasks)
        self.on_event(Progress(cells, event.phase, event.done, event.total))

    def _settle(self, outcome: Outcome) -> None:
        """Writes the records of an outcome and gives its cells back."""
        if outcome.fault is not None:
            raise outcome.fault
        claimed = self._held[outcome.job.key]
        finished = set()
        for task in claimed.tasks:
            record = self._record(task, outcome)
            self.store.write(record)
            if record.status is not Status.FAILED:
                finished.add(task.fingerprint)
            self.summary.count(record.status)
            self.on_event(CellFinished(task.cell, record))
        if len(finished) == len(claimed.tasks):
            names = [task.fingerprint for task in claimed.tasks]
            self.store.partial(claimed.tasks[0].cell, names).clear()
        del self._held[outcome.job.key]
        claimed.release(finished=finished)

    def _record(self, task: _Task, outcome: Outcome) -> Record:
        cell = task.cell
        measured = outcome.measurements.get(cell.seed, Measurements())
        status, error = self._judged(cell, measured, outcome.error)
        return Record(
            paper=cell.paper,
            tier=cell.tier,
            experiment=cell.experiment,
            settings=dict(cell.settings),
            seed=cell.seed,
            status=status,
            error=error,
            proxy=task.proxy,
            fingerprint=task.fingerprint,
            code=task.code,
            data=dict(task.data),
            rules=dict(self.rules.get(cell.paper, {})),
            environment=outcome.environment.model_copy(update={"revision": self._revision}),
            started=outcome.started,
            seconds=outcome.seconds / len(outcome.job.seeds),
            measurements=measured if measured.finite else measured.finite_part(),
        )

    def _judged(
        self, cell: Cell, measured: Measurements, error: str | None
    ) -> tuple[Status, str | None]:
        if error is not None:
            return Status.FAILED, error
        divergence = _divergence(measured)
        declared = self.declared.get(cell.paper, {}).get(cell.experiment)
        if declared is not None:
            missing = sorted(set(declared) - measured.names) if divergence is None else []
            unknown = sorted(measured.names - set(declared))
            if missing or unknown:
                return Status.FAILED, _undeclared(missing, unknown)
        return (Status.COMPLETED, None) if divergence is None else (Status.DIVERGED, divergence)


def _undeclared(missing: Sequence[str], unknown: Sequence[str]) -> str:
    parts = []
    if missing:
        parts.append(f"the audit declares {', '.join(missing)}, which was not measured")
    if unknown:
        parts.append(f"{', '.join(unknown)} was measured, which the audit does not declare")
    return "; ".join(parts)


def _divergence(measured: Measurements) -> str | None:
    """Where a run first had a number that is not finite, or None if it had none."""
    if measured.finite:
        return None
    bad: list[tuple[int, str]] = []
    for name, series in measured.series.items():
        rows = zip(series.steps, series.values, strict=True)
        bad += [(step, name) for step, row in rows if not np.isfinite(row).all()][:1]
    if bad:
        step, name = min(bad)
        return f"diverged: series '{name}' is not finite at step {step}"
    scalars = [name for name, value in measured.scalars.items() if not np.isfinite(value)]
    arrays = [name for name, array in measured.arrays.items() if not np.isfinite(array).all()]
    return f"diverged: {', '.join(scalars + arrays)} is not finite"
