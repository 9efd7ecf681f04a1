"""One job: what it needs, how it is computed in this process, and how it ended.

A job is one call of an experiment's ``measure``, as plain picklable data. Whatever the experiment
does short of ending the process becomes an outcome; where a job is computed is for `executors`.
"""

from __future__ import annotations

import os
import platform
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path

from reproaudit import __version__
from reproaudit.audit.paper_module import Module, one_line
from reproaudit.cell import RunForm, SettingValue
from reproaudit.errors import AuditError, SpecError
from reproaudit.lab.experiment import Experiment
from reproaudit.lab.settings import build_settings
from reproaudit.records import Environment, Measurements
from reproaudit.running.code import closure_of
from reproaudit.running.devices import use_threads
from reproaudit.running.files import write_whole
from reproaudit.running.fingerprint import package_versions
from reproaudit.running.partial import Clock, Partial

PROGRESS_SECONDS = 0.1
"""Progress of a phase is told no more often than this, but for its end."""

LONGEST_TRACE = 20_000
"""Characters of a traceback that are kept: its end."""


@dataclass(frozen=True)
class Job:
    """The arguments of one call of an experiment's ``measure``, as plain data.

    Attributes:
        key: the caller's number for it.
        module: the paper's module.
        code: the hash of its code, as it was planned.
        experiment: the experiment's name.
        settings: every setting, by name.
        seeds: the seeds to measure together.
        device: ``"cpu"`` or ``"cuda"``.
        threads: how many threads the numerical libraries get.
        partial: the folder for checkpoints.
        blocked: why it cannot be measured at all, for instance for want of its data.
        form: how the experiment computes.
    """

    key: int
    module: Module
    code: str
    experiment: str
    settings: Mapping[str, SettingValue]
    seeds: tuple[int, ...]
    device: str
    threads: int
    partial: Path
    blocked: str | None = None
    form: RunForm = "fast"


@dataclass(frozen=True)
class Advanced:
    """A phase of a job went on: ``done`` of ``total`` steps."""

    key: int
    phase: str
    done: int
    total: int


@dataclass(frozen=True)
class Printed:
    """A job printed these lines, or the process that computes it did, or what that started."""

    key: int
    text: str


@dataclass(frozen=True)
class JobOutcome:
    """The outcome of a job.

    Attributes:
        job: which job.
        environment: where it ran.
        started: when it was first started, resumed parts included.
        seconds: wall-clock time of ``measure`` for all seeds, resumed parts added up.
        steps: how many steps its phases reported together.
        measurements: by seed, whatever came back; not checked.
        error: why there are no (more) measurements; one line.
        trace: the traceback of what the experiment raised, if it raised something; of a process
            that has ended, its last words.
        fault: the store could not be written to; nothing else can go on.
        is_final: whether the job reached a limit or was run twice, and is not run again.
    """

    job: Job
    environment: Environment
    started: datetime
    seconds: float
    steps: int = 0
    measurements: Mapping[int, Measurements] = field(default_factory=dict)
    error: str | None = None
    trace: str | None = None
    fault: AuditError | None = None
    is_final: bool = False


OnAdvance = Callable[[Advanced], None]
OnNews = Callable[[Advanced | Printed], None]


def lost(job: Job, error: str, last_words: str = "", *, is_final: bool = False) -> JobOutcome:
    """The outcome of a job whose process has ended; its time is that of its checkpoints."""
    clock = Partial(job.partial).clock()
    return JobOutcome(
        job=job,
        environment=describe_environment(job.device, job.threads, job.form),
        started=clock.started,
        seconds=clock.seconds,
        error=error,
        trace=last_words or None,
        is_final=is_final,
    )


# ------------------------------------------------------------------------------- one job, here


class JobSession:
    """The `reproaudit.lab.experiment.Session` of a job."""

    def __init__(self, job: Job, on_advance: OnAdvance) -> None:
        self._job = job
        self._on_advance = on_advance
        self._partial = Partial(job.partial)
        self._earlier = self._partial.clock()
        self._began = time.monotonic()
        self._told: dict[str, float] = {}
        self._steps: dict[str, int] = {}
        self.fault: AuditError | None = None

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds to measure together."""
        return self._job.seeds

    @property
    def device(self) -> str:
        """``"cpu"`` or ``"cuda"``."""
        return self._job.device

    @property
    def form(self) -> RunForm:
        """``"fast"`` or ``"plain"``."""
        return self._job.form

    def begin(self) -> None:
        """Starts the clock: what came before was importing, not measuring."""
        self._began = time.monotonic()

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
        """The last checkpoint of a phase."""
        with self._noting_faults():
            return self._partial.load(phase)

    def save(self, phase: str, checkpoint: bytes) -> None:
        """Keeps a checkpoint in place of the phase's last one."""
        with self._noting_faults():
            self._partial.save(phase, checkpoint, self.clock)

    def keep_output(self, name: str, text: bytes) -> str:
        """Keeps what a program printed, beside the cell's record; returns the file's path."""
        file = self._job.partial.with_suffix(f".{name}.txt")
        with self._noting_faults():
            write_whole(file, text, durable=False)
        here = Path.cwd()
        return str(file.relative_to(here) if file.is_relative_to(here) else file)

    def progress(self, phase: str, done: int, total: int) -> None:
        """Tells how far the phase is."""
        self._steps[phase] = max(total, self._steps.get(phase, 0))
        now = time.monotonic()
        if done >= total > 0 or now - self._told.get(phase, -PROGRESS_SECONDS) >= PROGRESS_SECONDS:
            self._told[phase] = now
            self._on_advance(Advanced(self._job.key, phase, done, total))

    @contextmanager
    def _noting_faults(self) -> Iterator[None]:
        try:
            yield
        except AuditError as error:
            self.fault = error
            raise


@cache
def _platform() -> str:
    return platform.platform()


def _device_name(device: str) -> str:
    if device != "cuda":
        return device
    import torch

    return f"cuda ({torch.cuda.get_device_name()})" if torch.cuda.is_available() else device


def describe_environment(device: str, threads: int, form: RunForm = "fast") -> Environment:
    """This process's environment; the git revision is the caller's to add."""
    return Environment(
        python=platform.python_version(),
        platform=_platform(),
        device=_device_name(device),
        threads=threads,
        packages={"reproaudit": __version__, **package_versions()},
        form=form,
    )


def compute(
    job: Job, on_advance: OnAdvance, is_ending: Callable[[], bool] = lambda: False
) -> JobOutcome:
    """Runs a job in this process; whatever its experiment raises becomes the outcome's error.

    Args:
        job: the job.
        on_advance: told how far it is.
        is_ending: whether this process was asked to end; what is raised then is not the
            experiment's, and leaves this function. The last checkpoint stays.
    """
    use_threads(job.threads)
    folder = os.getcwd()
    measurements: Mapping[int, Measurements] = {}
    error, trace = job.blocked, None
    session = JobSession(job, on_advance)
    try:
        if error is None:
            measurements = _measure(job, session)
    except BaseException as raised:
        if is_ending():
            raise
        plain = isinstance(raised, AuditError)  # its text says all, on one line
        error = str(raised) if plain else one_line(raised, job.module.file.absolute().parent)
        trace = "".join(traceback.format_exception(raised))[-LONGEST_TRACE:]
        trace = trace.encode(errors="backslashreplace").decode()
    finally:
        os.chdir(folder)
    return JobOutcome(
        job=job,
        environment=describe_environment(job.device, job.threads, job.form),
        started=session.clock.started,
        seconds=session.clock.seconds,
        steps=session.steps,
        measurements=measurements,
        error=error,
        trace=trace,
        fault=session.fault if error else None,
    )


@cache
def _loaded(module: Module, code: str) -> Mapping[str, Experiment]:
    """A module's experiments, once it is sure that its code is what was planned."""
    if not module.importable and "numba" in sys.modules:
        # compiled code that lies in the user's folder need not be of these sources
        import numba

        numba.config.CACHE_DIR = str(  # type: ignore[attr-defined]
            Path.home() / ".cache" / "reproaudit" / "numba" / code
        )
    experiments = module.load()
    if closure_of(module).digest != code:
        raise SpecError(f"{module.file}: the code was changed while the run went on. Run it again.")
    return experiments


def _measure(job: Job, session: JobSession) -> Mapping[int, Measurements]:
    experiment = _loaded(job.module, job.code)[job.experiment]
    job.module.find_siblings()
    settings = build_settings(experiment.settings, job.settings)
    session.begin()
    result: object = experiment.measure(settings, session)
    if not isinstance(result, Mapping) or not all(
        isinstance(one, Measurements) for one in result.values()
    ):
        raise TypeError(
            "measure returned something other than a mapping from each seed to its Measurements"
        )
    if set(result) != set(job.seeds):
        raise ValueError(
            f"measure returned seeds {sorted(result)}, and was given {sorted(job.seeds)}"
        )
    return result
