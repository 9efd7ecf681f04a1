"""Where cells are computed: in this process, or in local processes.

An executor takes jobs, which are plain picklable data, and yields an outcome for each, in the
order in which they end. It writes no record: the caller does, alone. Whoever computes a job writes
its checkpoints.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from multiprocessing import connection, resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Protocol

from reproaudit import __version__
from reproaudit.audit.paper_module import Module, one_line
from reproaudit.cell import SettingValue
from reproaudit.errors import AuditError
from reproaudit.lab.settings import build_settings
from reproaudit.records import Environment, Measurements
from reproaudit.running.devices import THREAD_VARIABLES, use_threads
from reproaudit.running.fingerprint import package_versions
from reproaudit.running.partial import Clock, Partial

PROGRESS_SECONDS = 0.1
"""Progress of a phase is told no more often than this, but for its end."""

STOP_SECONDS = 10.0
"""How long a worker may take to reach a border and save, before it is killed."""


@dataclass(frozen=True)
class Job:
    """What one call of an experiment's ``measure`` needs, as plain data.

    Attributes:
        key: the caller's number for it.
        module: the paper's module.
        experiment: the experiment's name.
        settings: every setting, by name.
        seeds: the seeds to measure together.
        device: ``"cpu"`` or ``"cuda"``.
        threads: how many threads the numerical libraries get.
        partial: the folder for checkpoints.
        blocked: why it cannot be measured at all, for instance for want of its data.
    """

    key: int
    module: Module
    experiment: str
    settings: Mapping[str, SettingValue]
    seeds: tuple[int, ...]
    device: str
    threads: int
    partial: Path
    blocked: str | None = None


@dataclass(frozen=True)
class Advanced:
    """A phase of a job went on: ``done`` of ``total`` steps."""

    key: int
    phase: str
    done: int
    total: int


@dataclass(frozen=True)
class Outcome:
    """How a job ended.

    Attributes:
        job: which job.
        environment: where it ran.
        started: when it was first started, resumed parts included.
        seconds: wall-clock time of ``measure`` for all seeds, resumed parts added up.
        measurements: by seed, whatever came back; not checked.
        error: why there are no (more) measurements.
        fault: the store could not be written to; nothing else can go on.
    """

    job: Job
    environment: Environment
    started: datetime
    seconds: float
    measurements: Mapping[int, Measurements] = field(default_factory=dict)
    error: str | None = None
    fault: AuditError | None = None


OnAdvance = Callable[[Advanced], None]


class Executor(AbstractContextManager["Executor"], Protocol):
    """Computes jobs. Leaving its context ends what still runs, at a checkpoint."""

    @property
    def threads(self) -> int:
        """How many threads each of its jobs may use."""

    def run(self, jobs: Iterable[Job], on_advance: OnAdvance) -> Iterator[Outcome]:
        """Yields an outcome per job, as they end.

        A job is taken from ``jobs`` only when it can start, and ``jobs`` is asked for the next
        one while others run.
        """


def lost(job: Job, error: str) -> Outcome:
    """The outcome of a job whose process went away; its time is that of its checkpoints."""
    clock = Partial(job.partial).clock()
    return Outcome(
        job=job,
        environment=describe_environment(job.device, job.threads),
        started=clock.started,
        seconds=clock.seconds,
        error=error,
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
    def clock(self) -> Clock:
        """When the work began, and how long it has taken, resumed parts included."""
        seconds = self._earlier.seconds + time.monotonic() - self._began
        return Clock(self._earlier.started, seconds)

    def load(self, phase: str) -> bytes | None:
        """The last checkpoint of a phase."""
        with self._noting_faults():
            return self._partial.load(phase)

    def save(self, phase: str, checkpoint: bytes) -> None:
        """Keeps a checkpoint in place of the phase's last one."""
        with self._noting_faults():
            self._partial.save(phase, checkpoint, self.clock)

    def progress(self, phase: str, done: int, total: int) -> None:
        """Tells how far the phase is."""
        now = time.monotonic()
        if done >= total or now - self._told.get(phase, -PROGRESS_SECONDS) >= PROGRESS_SECONDS:
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


def describe_environment(device: str, threads: int) -> Environment:
    """This process's environment; the git revision is the caller's to add."""
    return Environment(
        python=platform.python_version(),
        platform=_platform(),
        device=_device_name(device),
        threads=threads,
        packages={"reproaudit": __version__, **package_versions()},
    )


def compute(job: Job, on_advance: OnAdvance) -> Outcome:
    """Runs a job in this process; whatever its experiment raises becomes the outcome's error.

    Raises:
        KeyboardInterrupt: on Ctrl-C or SIGTERM; the last checkpoint stays.
    """
    use_threads(job.threads)
    measurements: Mapping[int, Measurements] = {}
    error = job.blocked
    session = JobSession(job, on_advance)
    try:
        if error is None:
            measurements = _measure(job, session)
    except (Exception, SystemExit) as raised:
        error = one_line(raised, job.module.file.resolve().parent)
    return Outcome(
        job=job,
        environment=describe_environment(job.device, job.threads),
        started=session.clock.started,
        seconds=session.clock.seconds,
        measurements=measurements,
        error=error,
        fault=session.fault if error else None,
    )


def _measure(job: Job, session: JobSession) -> Mapping[int, Measurements]:
    experiment = job.module.load()[job.experiment]
    settings = build_settings(experiment.settings, job.settings)
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


class InProcess:
    """Computes one job after the other in this process, with all the threads."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def __enter__(self) -> InProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def run(self, jobs: Iterable[Job], on_advance: OnAdvance) -> Iterator[Outcome]:
        """Yields each job's outcome before the next job starts."""
        for job in jobs:
            yield compute(job, on_advance)


# ------------------------------------------------------------------------------ local processes


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(pipe: connection.Connection[Any, Any]) -> None:
    """A worker's life: jobs in, progress and outcomes out, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which decides
    signal.signal(signal.SIGTERM, _interrupt)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        while True:
            pipe.send(compute(pipe.recv(), pipe.send))


@contextmanager
def _for_children(threads: int) -> Iterator[None]:
    """While a worker starts: its libraries' threads, and no Ctrl-C before it ignores them."""
    earlier = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    resource_tracker.ensure_running()  # starting it unblocks signals
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name, value in earlier.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class _Worker:
    """A process, its pipe, and the job that it has."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_work, args=(theirs,))
        with _for_children(threads):
            self.process.start()
        theirs.close()  # so that the worker's death closes the pipe
        self.job: Job | None = None

    def start(self, job: Job) -> bool:
        """Gives it a job; False if it has died while idle."""
        try:
            self.pipe.send(job)
        except (BrokenPipeError, ConnectionResetError):
            return False
        self.job = job
        return True

    def receive(self) -> Advanced | Outcome | None:
        """What it says next, or None if it has died."""
        try:
            message: Advanced | Outcome = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            return None
        return message

    def death(self) -> str:
        self.process.join(STOP_SECONDS)
        code = self.process.exitcode
        if code is not None and code < 0:
            memory = "; perhaps it ran out of memory" if -code == signal.SIGKILL else ""
            return f"was killed by signal {-code} ({signal.Signals(-code).name}){memory}"
        return f"ended with exit code {code}"


class LocalProcesses:
    """Computes several jobs at once, each in a process of its own that is used again.

    A worker that dies costs its job alone, which is tried a second time from its checkpoint.

    Args:
        processes: how many jobs at once, at least 1.
        threads: how many threads each gets.
    """

    def __init__(self, processes: int, threads: int) -> None:
        self.threads = threads
        self._processes = processes
        self._workers: list[_Worker] = []

    def __enter__(self) -> LocalProcesses:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the workers; a busy one saves first, within `STOP_SECONDS`."""
        deadline = time.monotonic() + STOP_SECONDS
        try:
            for worker in self._workers:
                if worker.job is None:
                    worker.pipe.close()
                else:  # its pipe stays open: it may tell its progress once more before it saves
                    worker.process.terminate()
            for worker in self._workers:
                worker.process.join(max(0.0, deadline - time.monotonic()))
        finally:
            for worker in self._workers:
                if worker.process.is_alive():
                    worker.process.kill()
                worker.process.join()
                worker.pipe.close()
            self._workers.clear()

    def run(self, jobs: Iterable[Job], on_advance: OnAdvance) -> Iterator[Outcome]:
        """Yields outcomes as jobs end, in any order."""
        waiting = iter(jobs)
        again: deque[Job] = deque()
        tried_again: set[int] = set()
        while True:
            self._feed(waiting, again)
            busy = {one.pipe: one for one in self._workers if one.job is not None}
            if not busy:
                return
            for pipe in connection.wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                message = worker.receive()
                if isinstance(message, Advanced):
                    on_advance(message)
                elif isinstance(message, Outcome):
                    worker.job = None
                    yield message
                elif worker.job is not None:
                    job = worker.job
                    death = self._bury(worker)
                    if job.key in tried_again:
                        yield lost(job, f"twice, the worker process {death}")
                    else:
                        tried_again.add(job.key)
                        again.append(job)

    def _feed(self, waiting: Iterator[Job], again: deque[Job]) -> None:
        """Gives every idle worker a job, as long as there are any."""
        while (worker := self._idle()) is not None or len(self._workers) < self._processes:
            job = again.popleft() if again else next(waiting, None)
            if job is None:
                return
            if worker is None:
                worker = _Worker(self.threads)
                self._workers.append(worker)
            if not worker.start(job):
                self._bury(worker)
                again.append(job)

    def _idle(self) -> _Worker | None:
        return next((one for one in self._workers if one.job is None), None)

    def _bury(self, worker: _Worker) -> str:
        self._workers.remove(worker)
        worker.pipe.close()
        death = worker.death()
        if worker.process.is_alive():
            worker.process.kill()
        return death
