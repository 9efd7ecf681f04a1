"""Takes cells, has them computed, and writes their records."""

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

import reproaudit
from reproaudit.audit.paper_module import Module, one_line
from reproaudit.cell import Cell, RunForm
from reproaudit.declarations import Declaration, misfit
from reproaudit.errors import StoreError, UsageError
from reproaudit.records import (
    LARGEST_NUMBER,
    CellStatus,
    Environment,
    Measurements,
    Record,
    differing,
    is_finite,
)
from reproaudit.running.events import (
    CellAgain,
    CellFinished,
    CellPrinted,
    CellStarted,
    CellWaiting,
    MayStart,
    NotRepeated,
    OnEvent,
    PlanReady,
    Progress,
    SetAside,
    Summary,
)
from reproaudit.running.executors import NO_LIMITS, Executor, Limits, LocalProcesses
from reproaudit.running.fingerprint import NOT_PACKAGES
from reproaudit.running.jobs import Advanced, Job, JobOutcome, Printed
from reproaudit.running.partial import Partial
from reproaudit.running.queue import Plan, QueuedCell
from reproaudit.running.store import CellLock, Store

POLL_SECONDS = 0.2
"""The seconds between looks whether another run has given back a cell."""


def run_cells(
    cells: Iterable[Cell],
    locate: Callable[[str], Module],
    store: Store,
    *,
    device: str = "cpu",
    form: RunForm = "fast",
    jobs: int = 1,
    threads: int = 1,
    limits: Limits = NO_LIMITS,
    fresh: bool = False,
    on_event: OnEvent = lambda _event: None,
    rules: Mapping[str, Mapping[str, str]] | None = None,
    declared: Mapping[str, Mapping[str, Mapping[str, Declaration]]] | None = None,
    executor: Executor | None = None,
    may_start: MayStart = lambda _cells: True,
) -> Summary:
    """Runs every cell that has no finished record, and writes its record.

    Args:
        cells: what is wanted; a cell that is named twice runs once.
        locate: from a paper's slug to its module.
        store: where records are.
        device: ``"cpu"`` or ``"cuda"``, as `reproaudit.running.devices.pick_device` gives it.
        form: how the experiments compute.
        jobs: how many cells at once, each in a process of its own.
        threads: for each cell, however many run at once: so ``jobs`` changes no bit of a result.
        limits: what a cell may take before it counts as failed.
        fresh: measure again what has a record. The old record stays until the new one is there.
        on_event: told what happens, in this thread.
        rules: by paper and claim id, the hash of the rule in force, for the records.
        declared: by paper and experiment, its measurements by name; others, or other kinds and
            shapes, make a cell failed.
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
    plan = Plan(cells, locate, store, device, form)
    for place in {(task.cell.paper, task.cell.tier) for task in plan.tasks}:
        store.sweep(*place)
    groups = plan.pending(fresh)
    todo = [task for group in groups for task in group]
    summary = Summary(present=len(plan.tasks) - len(todo), planned=plan.fingerprints)
    steps = sum(sum(group[0].phases.values()) for group in groups)
    on_event(PlanReady(len(plan.tasks), summary.present, steps))
    if not groups:
        return summary
    run = _Run(
        plan, store, device, form, fresh, on_event, rules or {}, declared or {}, summary, may_start
    )
    if jobs < 1:
        raise UsageError(f"cannot run {jobs} jobs at once. Use --jobs 1 or more.")
    chosen = executor or LocalProcesses(min(jobs, len(groups)), threads, limits)
    try:
        with _sigterm_interrupts(), chosen as here:
            run.all(groups, here)
    finally:
        run.release()  # only now, when no worker is left that could still save
    return summary


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

    tasks: tuple[QueuedCell, ...]
    locks: list[CellLock]

    def release(self, *, finished: Collection[str] = ()) -> None:
        for task, lock in zip(self.tasks, self.locks, strict=True):
            lock.release(finished=task.fingerprint in finished)


@dataclass
class _Run:
    """One call of `run_cells`, once it is planned."""

    plan: Plan
    store: Store
    device: str
    form: RunForm
    fresh: bool
    on_event: OnEvent
    rules: Mapping[str, Mapping[str, str]]
    declared: Mapping[str, Mapping[str, Mapping[str, Declaration]]]
    summary: Summary
    may_start: MayStart
    _held: dict[int, _Claimed] = field(default_factory=dict)
    _keys: int = 0
    _again: list[tuple[QueuedCell, ...]] = field(default_factory=list)
    _singly: dict[Path, set[str]] = field(default_factory=dict)
    _tried: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        paths = [self.store.path(task.cell, task.fingerprint) for task in self.plan.tasks]
        self._written = {path: self.store.times_written(path) for path in paths if self.fresh}

    def all(self, groups: Sequence[tuple[QueuedCell, ...]], executor: Executor) -> None:
        """Runs the groups; those that another run holds come last.

        Between the rounds no lock is held, and within one none is waited for, so that two runs
        never wait for each other.
        """
        told: set[str] = set()
        while groups:
            busy: list[tuple[QueuedCell, ...]] = []
            for outcome in executor.run(self._jobs(groups, busy, executor), self._hear):
                self._settle(outcome)
            for group in busy:
                if group[0].fingerprint not in told:
                    told.add(group[0].fingerprint)
                    self.on_event(CellWaiting(tuple(task.cell for task in group)))
            if len(busy) == len(groups):
                time.sleep(POLL_SECONDS)
            groups = [*busy, *self._again]
            self._again.clear()

    def release(self) -> None:
        """Gives back the cells of jobs that were cut off."""
        for claimed in self._held.values():
            claimed.release()
        self._held.clear()

    # --- taking cells

    def _jobs(
        self,
        groups: Sequence[tuple[QueuedCell, ...]],
        busy: list[tuple[QueuedCell, ...]],
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

    def _claim(self, group: tuple[QueuedCell, ...]) -> _Claimed | None:
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

    def _made_meanwhile(self, task: QueuedCell) -> Record | None:
        """The record that another run has written since this one planned."""
        path = self.store.path(task.cell, task.fingerprint)
        if self.fresh and self.store.times_written(path) == self._written[path]:
            return None
        return self._made(task)

    def _made(self, task: QueuedCell) -> Record | None:
        """The cell's finished record; a file that is none is moved aside."""
        try:
            return self.store.find(task.cell, task.fingerprint)
        except StoreError as error:
            aside = self.store.set_aside(self.store.path(task.cell, task.fingerprint))
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
            code=claimed.tasks[0].code,
            experiment=first.experiment,
            settings=dict(first.settings),
            seeds=tuple(cell.seed for cell in cells),
            device=self.device,
            form=self.form,
            threads=threads,
            partial=partial.folder,
            blocked=claimed.tasks[0].blocked,
        )

    # --- taking outcomes

    @cached_property
    def _revision(self) -> str | None:
        return _revision(Path(reproaudit.__file__))

    def _hear(self, news: Advanced | Printed) -> None:
        cells = tuple(task.cell for task in self._held[news.key].tasks)
        if isinstance(news, Printed):
            self.on_event(CellPrinted(cells, news.text))
        else:
            self.on_event(Progress(cells, news.phase, news.done, news.total))

    def _settle(self, outcome: JobOutcome) -> None:
        """Writes the records of an outcome and gives its cells back."""
        if outcome.fault is not None:
            raise outcome.fault
        claimed = self._held[outcome.job.key]
        if self._is_run_again(claimed, outcome):
            return
        finished = set()
        for task in claimed.tasks:
            record = self._record(task, outcome)
            self._compare(task, record)
            self.store.write(record)
            if record.status is not CellStatus.FAILED:
                finished.add(task.fingerprint)
            self.summary.count(record.status)
            self.on_event(CellFinished(task.cell, record))
        if len(finished) == len(claimed.tasks):
            names = [task.fingerprint for task in claimed.tasks]
            self.store.partial(claimed.tasks[0].cell, names).clear()
        for folder, left in self._singly.items():
            if left & finished and not left - finished:
                Partial(folder).clear()  # of a batch whose seeds all have their records now
            left -= finished
        del self._held[outcome.job.key]
        claimed.release(finished=finished)

    def _is_run_again(self, claimed: _Claimed, outcome: JobOutcome) -> bool:
        """Queues the cells of a crashed job again, each alone, unless each was run again before."""
        names = {task.fingerprint for task in claimed.tasks}
        if outcome.error is None or outcome.job.blocked is not None:
            return False
        if len(names) == 1 and (outcome.is_final or names <= self._tried):
            return False
        self._tried |= names
        self._again += [(task,) for task in claimed.tasks]  # of several, one may be the cause
        if len(names) > 1:
            self._singly[outcome.job.partial] = names
        del self._held[outcome.job.key]
        claimed.release()
        self.on_event(CellAgain(tuple(task.cell for task in claimed.tasks), outcome.error))
        return True

    def _compare(self, task: QueuedCell, record: Record) -> None:
        """Tells how a record differs from the one that it replaces."""
        earlier = self._made(task) if self.fresh else None
        if earlier is not None and record.status is not CellStatus.FAILED:
            differences = differing(earlier, record)
            if differences:
                self.summary.not_repeated += 1
                self.on_event(NotRepeated(task.cell, differences))

    def _record(self, task: QueuedCell, outcome: JobOutcome) -> Record:
        cell = task.cell
        measured = outcome.measurements.get(cell.seed, Measurements())
        try:
            status, error = self._judged(cell, measured, outcome.error)
            kept = Measurements() if status is CellStatus.FAILED else measured.finite_part()
        except Exception as raised:  # an experiment may put anything into its measurements
            status, error, kept = CellStatus.FAILED, one_line(raised), Measurements()
        return Record(
            paper=cell.paper,
            tier=cell.tier,
            experiment=cell.experiment,
            settings=dict(cell.settings),
            seed=cell.seed,
            status=status,
            error=error,
            traceback=outcome.trace,
            proxy=task.proxy,
            fingerprint=task.fingerprint,
            code=task.code,
            data=dict(task.data),
            rules=dict(self.rules.get(cell.paper, {})),
            environment=self._environment(task, outcome),
            started=outcome.started,
            seconds=outcome.seconds / len(outcome.job.seeds),
            steps=outcome.steps,
            measurements=kept,
        )

    def _environment(self, task: QueuedCell, outcome: JobOutcome) -> Environment:
        """The environment of the cell, with the versions of what its paper alone computes with."""
        names = task.versions.keys() - NOT_PACKAGES
        packages = {**{one: task.versions[one] for one in names}, **outcome.environment.packages}
        more = {"revision": self._revision, "packages": dict(sorted(packages.items()))}
        return outcome.environment.model_copy(update=more)

    def _judged(
        self, cell: Cell, measured: Measurements, error: str | None
    ) -> tuple[CellStatus, str | None]:
        if error is not None:
            return CellStatus.FAILED, error
        divergence = _divergence(measured)
        declared = self.declared.get(cell.paper, {}).get(cell.experiment)
        if declared is not None:
            missing = sorted(set(declared) - measured.names) if divergence is None else []
            unknown = sorted(measured.names - set(declared))
            if missing or unknown:
                return CellStatus.FAILED, _undeclared(missing, unknown)
            found = sorted(measured.names)
            wrong = [misfit(one, declared[one], measured, cell.settings) for one in found]
            if any(wrong):
                return CellStatus.FAILED, f"it {'; '.join(one for one in wrong if one)}"
        return (
            (CellStatus.COMPLETED, None)
            if divergence is None
            else (CellStatus.DIVERGED, divergence)
        )


def _undeclared(missing: Sequence[str], unknown: Sequence[str]) -> str:
    parts = []
    if missing:
        parts.append(f"the audit declares {', '.join(missing)}, which was not measured")
    if unknown:
        parts.append(f"{', '.join(unknown)} was measured, which the audit does not declare")
    return "; ".join(parts)


def _divergence(measured: Measurements) -> str | None:
    """The first place where a run had a number that is not finite, or None if it had none."""
    if measured.finite:
        return None
    bad: list[tuple[int, str]] = []
    for name, series in measured.series.items():
        rows = zip(series.steps, series.values, strict=True)
        bad += [(step, name) for step, row in rows if not is_finite(row).all()][:1]
    if bad:
        step, name = min(bad)
        return f"series '{name}' is NaN or above {LARGEST_NUMBER:g} at step {step}"
    scalars = [name for name, value in measured.scalars.items() if not is_finite(value)]
    arrays = [name for name, array in measured.arrays.items() if not is_finite(array).all()]
    return f"{', '.join(scalars + arrays)} is NaN or above {LARGEST_NUMBER:g}"


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
        log = ":(top,exclude)audits/*.results.jsonl"  # to which a run at the paper tier adds a line
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ":(top)", log)
        return git("rev-parse", "HEAD") + ("+dirty" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None
