"""Computes one job in this process, whatever its experiment does short of ending the process.

Where a job is computed is for `executors`; what becomes of its outcome is for `run`.
"""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reproaudit import __version__
from reproaudit.audit.catalog import Module
from reproaudit.cell import Cell, RunForm
from reproaudit.declarations import Declaration, misfit
from reproaudit.errors import AuditError, SpecError, StoreError, TechnicalError
from reproaudit.files import write_whole
from reproaudit.lab.experiment import Experiment
from reproaudit.lab.settings import build_settings
from reproaudit.records import (
    LARGEST_NUMBER,
    CellStatus,
    Environment,
    Measurements,
    Record,
    is_finite,
)
from reproaudit.run.devices import processor, use_threads
from reproaudit.run.events import CellActivity, OnEvent, Progress
from reproaudit.run.generators import restored, seed_generators, with_states
from reproaudit.run.modules import load_experiments, one_line, own_neighbours
from reproaudit.store.code import NOT_PACKAGES, closure_of, versions
from reproaudit.store.coordinates import coordinates_along, declared_axes
from reproaudit.store.records import Clock, Partial

CELL_THREADS = 1  # however many run at once, so that their number changes no bit
PROGRESS_SECONDS = 0.1  # between two reports of a phase's progress, but for its end
LONGEST_TRACE = 20_000  # its last characters are kept


@dataclass(frozen=True)
class Job:
    """A cell that is ready to run, as plain data that can be sent to a worker.

    Attributes:
        number: the caller's name for it.
        code: the digest of its code, as it was planned; as `versions`, of what computes it.
        data: checksum of each data file, by name.
        proxy: the stand-in for the paper's data or method, or None.
        phases: the steps of each phase.
        blocked: why it cannot be measured at all, for instance for want of its data.
        declared: its measurements by name, to which it is held; None if to nothing.
        adopted: the digests of other codes that gave the same bits, the newest first.
        partial: the folder for checkpoints.
    """

    number: int
    cell: Cell
    module: Module
    code: str
    versions: Mapping[str, str]
    data: Mapping[str, str]
    proxy: str | None
    phases: Mapping[str, int]
    blocked: str | None
    device: str
    form: RunForm
    declared: Mapping[str, Declaration] | None
    fingerprint: str = ""
    adopted: tuple[str, ...] = ()
    partial: Path = Path()


@dataclass(frozen=True)
class JobOutcome:
    """The outcome of a job.

    Attributes:
        record: what it measured, or why it failed; the git revision is the caller's to add.
        fault: the store could not be written to; nothing else can go on.
        is_final: whether a job that failed is not run again, for instance since it hit a limit.
        has_begun: whether measuring began; what kept a job from that may be gone next time.
        is_kept: whether its record is in the store already.
        memory: the most bytes that the process, or its child, held so far; 0 if nobody looked.
    """

    number: int
    record: Record
    fault: AuditError | None = None
    is_final: bool = False
    has_begun: bool = True
    is_kept: bool = False
    memory: int = 0


def compute(
    job: Job, on_event: OnEvent, is_ending: Callable[[], bool] = lambda: False
) -> JobOutcome:
    """Runs a job in this process; whatever its experiment raises becomes its record's error.

    What is raised after this process was asked to end is raised here. The last checkpoint stays.
    """
    folder = os.getcwd()
    session = JobSession(job, on_event)
    status = CellStatus.FAILED
    error = job.blocked
    trace = None
    fault = None
    kept = Measurements()
    is_final = job.blocked is not None
    try:
        if job.blocked is None:
            measured = _measure(job, session)
            is_final = True
            status, error = _judged(job, measured)
            if status is not CellStatus.FAILED:
                kept = measured.finite_part()
    except BaseException as raised:
        if is_ending():
            raise
        status = CellStatus.FAILED
        kept = Measurements()
        plain = isinstance(raised, AuditError)  # its text says all, on one line
        error = str(raised) if plain else one_line(raised, job.module.file.absolute().parent)
        trace = "".join(traceback.format_exception(raised))[-LONGEST_TRACE:]
        trace = trace.encode(errors="backslashreplace").decode()
        fault = raised if isinstance(raised, StoreError | TechnicalError) else None
    finally:
        os.chdir(folder)
    record = _record(job, session.clock, status, error, trace, session.steps, kept)
    begun = session.has_begun
    return JobOutcome(job.number, record, fault, is_final, begun, memory=_most_held())


def _most_held() -> int:
    """The most bytes that this process, or a child that has ended, held so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return unit * max(resource.getrusage(process).ru_maxrss for process in whose)


def lost(job: Job, error: str, last_words: str = "", *, is_final: bool = False) -> JobOutcome:
    """The outcome of a job whose process has ended; its time is that of its checkpoints."""
    clock = Partial(job.partial).clock()
    record = _record(job, clock, CellStatus.FAILED, error, last_words or None)
    return JobOutcome(job.number, record, is_final=is_final)


def _record(
    job: Job,
    clock: Clock,
    status: CellStatus,
    error: str | None,
    trace: str | None,
    steps: int = 0,
    measured: Measurements | None = None,
) -> Record:
    cell = job.cell
    kept = measured or Measurements()
    coordinates = None
    if job.declared is not None:
        declared = {name: job.declared[name] for name in job.declared if name in kept.names}
        coordinates = coordinates_along(declared_axes(declared), cell.settings)
    return Record(
        paper=cell.paper,
        tier=cell.tier,
        experiment=cell.experiment,
        settings=dict(cell.settings),
        seed=cell.seed,
        status=status,
        error=error,
        traceback=trace,
        proxy=job.proxy,
        fingerprint=job.fingerprint,
        code=job.code,
        data=dict(job.data),
        environment=_environment(job),
        started=clock.started,
        seconds=clock.seconds,
        steps=steps,
        coordinates=coordinates,
        measurements=kept,
    )


def _judged(job: Job, measured: Measurements) -> tuple[CellStatus, str | None]:
    """The status of what was measured, and why it is not completed."""
    divergence = _divergence(measured)
    declared = job.declared
    if declared is not None and divergence is not None:  # its numbers may lie beyond any range
        no_range = {"range": None}
        declared = {name: declared[name].model_copy(update=no_range) for name in declared}
    if declared is not None:
        missing = sorted(declared.keys() - measured.names) if divergence is None else []
        unknown = sorted(measured.names - declared.keys())
        faults = []
        if missing:
            faults.append(f"the audit declares {', '.join(missing)}, which was not measured")
        if unknown:
            faults.append(f"{', '.join(unknown)} was measured, which the audit does not declare")
        if not faults:
            names = sorted(measured.names)
            wrong = [misfit(name, declared[name], measured, job.cell.settings) for name in names]
            faults = [f"it {what}" for what in wrong if what]
        if faults:
            return CellStatus.FAILED, "; ".join(faults)
    return (CellStatus.DIVERGED if divergence else CellStatus.COMPLETED), divergence


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
    alone = {**measured.scalars, **measured.arrays}
    names = ", ".join(name for name, value in alone.items() if not is_finite(value).all())
    return f"{names} is NaN or above {LARGEST_NUMBER:g}"


def _measure(job: Job, session: JobSession) -> Measurements:
    use_threads(CELL_THREADS)  # libraries look when they are imported
    seed_generators(job.cell.paper)  # for what a module draws when it is imported
    experiment = _loaded(job.module, job.code)[job.cell.experiment]
    here = versions(job.device, job.versions.keys() - NOT_PACKAGES, job.form)
    other = [f"{name} {here[name]}" for name in here if job.versions.get(name) != here[name]]
    if other:
        raise SpecError(f"the worker has {', '.join(other)}, and the run was planned with others")
    use_threads(CELL_THREADS)  # again: what an import changes would hold in the first cell alone
    with own_neighbours(job.module):
        settings = build_settings(experiment.settings, job.cell.settings)
        seed_generators(job.cell.paper, job.cell.experiment, job.cell.seed)
        session.begin()
        with reported_compilation(session.report_compiling):
            result: object = experiment.measure(settings, session)
    if not isinstance(result, Measurements):
        raise SpecError(
            f"{job.module.file}: experiment '{job.cell.experiment}' returned "
            f"{type(result).__name__}. Return the Measurements of session.seed."
        )
    return result


@cache
def _loaded(module: Module, code: str) -> Mapping[str, Experiment]:
    """A module's experiments, if its code is what was planned, before it is imported and after."""
    _hold_to(code, module)
    if not module.importable and "numba" in sys.modules:
        # compiled code that lies in the user's folder need not be of these sources
        import numba

        numba.config.CACHE_DIR = str(  # type: ignore[attr-defined]
            Path.home() / ".cache" / "reproaudit" / "numba" / code
        )
    experiments = load_experiments(module)
    _hold_to(code, module)
    return experiments


def _hold_to(code: str, module: Module) -> None:
    if closure_of(module).digest != code:
        raise SpecError(
            f"{module.file}: the code was changed while the run went on, or is other code on this "
            "machine. Run it again."
        )


def _environment(job: Job) -> Environment:
    device = job.device
    if device == "cuda":
        import torch

        device += f" ({torch.cuda.get_device_name()})" if torch.cuda.is_available() else ""
    packages = {version: job.versions[version] for version in job.versions.keys() - NOT_PACKAGES}
    return Environment(
        python=platform.python_version(),
        platform=platform.platform(),
        device=device,
        threads=CELL_THREADS,
        processor=processor(),
        packages=dict(sorted({"reproaudit": __version__, **packages}.items())),
        form=job.form,
    )


@contextmanager
def reported_compilation(report: Callable[[bool], None]) -> Iterator[None]:
    """Calls a function with True when Numba begins to compile, and with False when it has."""
    if "numba" not in sys.modules:  # what does not import it does not wait for it
        yield
        return
    from numba.core import event

    class Depth(event.Listener):
        """Counts the functions that are being compiled, one within another: Numba has a lock."""

        depth = 0

        def on_start(self, _event: object) -> None:
            if not self.depth:
                report(True)
            self.depth += 1

        def on_end(self, _event: object) -> None:
            self.depth -= 1
            if not self.depth:
                report(False)

    with event.install_listener("numba:compile", Depth()):
        yield


class JobSession:
    """The `reproaudit.lab.experiment.Session` of a job."""

    def __init__(self, job: Job, on_event: OnEvent) -> None:
        self._job = job
        self.seed = job.cell.seed
        self.device = job.device
        self.form = job.form
        self._on_event = on_event
        self._partial = Partial(job.partial)
        self._earlier = self._partial.clock()
        self._began = time.monotonic()
        self.has_begun = False
        self._reported: dict[str, float] = {}
        self._steps: dict[str, int] = {}

    def begin(self) -> None:
        """Starts the clock: what came before was importing, not measuring."""
        self._began = time.monotonic()
        self.has_begun = True
        self.report_compiling(False)

    def report_compiling(self, yes: bool) -> None:
        """Reports whether code is being compiled, or computes."""
        self._on_event(CellActivity(self._job.cell, "compiling" if yes else "measuring"))

    @property
    def clock(self) -> Clock:
        """When the work began, and how long it has taken, resumed parts included."""
        seconds = self._earlier.seconds + time.monotonic() - self._began
        return Clock(self._earlier.started, seconds)

    @property
    def steps(self) -> int:
        """The steps of all phases that reported any, together."""
        return sum(self._steps.values())

    def load(self, phase: str) -> bytes | None:
        """The last checkpoint of a phase; the process's generators are then as they were there."""
        data = self._partial.load(phase)
        return None if data is None else restored(data)

    def save(self, phase: str, checkpoint: bytes) -> None:
        """Keeps a checkpoint in place of the phase's last one."""
        self._partial.save(phase, with_states(checkpoint), self.clock)

    def keep_output(self, name: str, text: bytes) -> str:
        """Keeps what a program printed, beside the cell's record; returns the file's path."""
        file = write_whole(self._job.partial.with_suffix(f".{name}.txt"), text)
        here = Path.cwd()
        return str(file.relative_to(here) if file.is_relative_to(here) else file)

    def progress(self, phase: str, done: int, total: int) -> None:
        """Reports how far the phase is."""
        self._steps[phase] = max(total, self._steps.get(phase, 0))
        now = time.monotonic()
        due = self._reported.get(phase, 0.0) + PROGRESS_SECONDS
        if done >= total > 0 or phase not in self._reported or now >= due:
            self._reported[phase] = now
            self._on_event(Progress(self._job.cell, phase, done, total))
