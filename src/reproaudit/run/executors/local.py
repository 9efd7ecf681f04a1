"""Computes jobs in worker processes of this machine.

An executor takes jobs, which are plain picklable data, and yields an outcome for each, in the
order in which they end. It writes no record: the caller does, alone. Whoever computes a job writes
its checkpoints.

A worker lives on from job to job and is replaced when it dies, so that nothing that an experiment
does (leaving the process, a segmentation fault, an endless loop) ends the run. Each worker has a
session of its own, without a terminal. What it and its children print is reported when the job
ends, and the children end with it.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import Any, Protocol

import psutil

from reproaudit.cell import THREAD_VARIABLES
from reproaudit.run.events import CellActivity, CellNote, Event, OnEvent, Progress
from reproaudit.run.modules import places_of_libraries
from reproaudit.run.worker import CELL_THREADS, LONGEST_TRACE, Job, JobOutcome, compute, lost

STOP_SECONDS = 10.0  # in which a worker must reach a border and save, before it is killed
WATCH_SECONDS = 0.1  # between looks at a worker's time and memory
MOST_PRINTED = 2**16  # the first bytes of what a job prints that are shown once it has ended

PRELOADED = ["reproaudit.lab.training", "numba"]
"""Modules that every worker needs and that are slow to import: workers are copies of a process that
has them. Where they cannot be imported, whoever computes with them says so."""


@dataclass(frozen=True)
class Limits:
    """What a cell may take before its worker is ended; None for no limit."""

    seconds: float | None = None  # by the clock, of one start of a cell
    memory: int | None = None  # bytes that the worker and all that it has started hold


NO_LIMITS = Limits()


class Executor(AbstractContextManager["Executor"], Protocol):
    """Computes jobs. Leaving its context ends what still runs, at a checkpoint.

    An executor that ``keeps_records`` takes cells and writes their records itself: it is given jobs
    that nobody has taken, and yields what is in the store.
    """

    keeps_records: bool

    def run(self, jobs: Iterable[Job], on_event: OnEvent) -> Iterator[JobOutcome]:
        """Yields an outcome per job, as they end; takes the next job only when it can start."""


# --- in a worker --------------------------------------------------------------------------------


def _work(pipe: Connection[Any, Any], output: Connection[Any, Any]) -> None:
    """A worker's life: jobs in, progress and outcomes out, until None comes or the pipe closes."""
    os.setsid()
    _print_into(output)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which decides
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    with suppress(OSError):  # if memory runs out, this process goes and not the one that records
        Path("/proc/self/oom_score_adj").write_text("1000")
    watch = threading.Thread(target=_end_with_parent, daemon=True)
    watch.start()
    one_at_a_time = threading.Lock()

    def send(message: Event | JobOutcome) -> None:
        with one_at_a_time:
            pipe.send(message)

    try:
        environment = pipe.recv()  # the process that forks has that of its own start
        os.environ.clear()
        os.environ.update(environment)
        while (job := pipe.recv()) is not None:
            outcome = compute(job, send, is_ending=pipe.poll)
            with suppress(Exception):  # an experiment may have closed it
                sys.stdout.flush()
            send(outcome)
    except KeyboardInterrupt:
        pass
    except (EOFError, OSError):  # the pipe is gone, by the parent's death or a misdeed
        watch.join(1.0)  # after the parent's death, it ends the children too
        os._exit(1)


def _print_into(output: Connection[Any, Any]) -> None:
    """Lets what this process and its children print go into a file; a crash loses no line."""
    for number in (1, 2):
        os.dup2(output.fileno(), number)
    output.close()
    sys.stdout = sys.stderr = os.fdopen(
        2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )
    faulthandler.enable(sys.stderr)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.killpg(0, signal.SIGKILL)


# --- in the caller ------------------------------------------------------------------------------


class LocalProcesses:
    """Computes so many jobs at once in worker processes, which are used again."""

    keeps_records = False

    def __init__(
        self,
        processes: int,
        limits: Limits = NO_LIMITS,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self._processes = processes
        self._limits = limits
        self._may_go_on = may_go_on
        self._workers: list[_Worker] = []

    def __enter__(self) -> LocalProcesses:
        return self

    def __exit__(self, *_error: object) -> None:
        """Ends the workers; a busy one saves first, within `STOP_SECONDS`."""
        deadline = time.monotonic() + STOP_SECONDS
        try:
            for worker in self._workers:
                with suppress(OSError):
                    worker.pipe.send(None)
                if worker.job is not None:
                    worker.process.terminate()
            for worker in self._workers:
                worker.process.join(max(0.0, deadline - time.monotonic()))
        finally:
            for worker in self._workers:
                worker.end(0)
                worker.printed.close()
            self._workers.clear()

    def run(self, jobs: Iterable[Job], on_event: OnEvent) -> Iterator[JobOutcome]:
        """Yields outcomes as jobs end, in any order."""
        waiting = iter(jobs)
        while self._may_go_on():
            self._feed(waiting)
            busy = {worker: worker.job for worker in self._workers if worker.job is not None}
            if not busy:
                return
            sources = [source for worker in busy for source in worker.sources]
            connection.wait(sources, WATCH_SECONDS)
            for worker, job in busy.items():
                message = worker.receive()
                if isinstance(message, JobOutcome):
                    worker.report(on_event)
                    worker.job = None
                    yield message
                elif isinstance(message, _Died):
                    yield self._lost(worker, job, on_event)
                elif limit := worker.over(self._limits):
                    yield self._lost(worker, job, on_event, limit)
                elif message is not None:
                    on_event(message)

    def _feed(self, waiting: Iterator[Job]) -> None:
        idle = [worker for worker in self._workers if worker.job is None]
        while idle or len(self._workers) < self._processes:
            job = next(waiting, None)
            if job is None:
                return
            if not idle:
                idle = [_Worker()]
                self._workers += idle
            idle.pop().start(job)

    def _lost(self, worker: _Worker, job: Job, on_event: OnEvent, limit: str = "") -> JobOutcome:
        """The outcome of a job whose worker has died, or is ended since it exceeds a limit."""
        self._workers.remove(worker)
        death = worker.end(0 if limit else STOP_SECONDS)
        with worker.printed:
            words = worker.report(on_event)
        return lost(job, limit or f"the worker process {death}", words, is_final=bool(limit))


class _Died:
    """In place of a message: the worker has died, or an experiment wrote into its pipe."""


class _Worker:
    """A process, its pipe, the file that it prints into, and the job that it has."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        self.pipe, theirs = context.Pipe()
        self.printed = TemporaryFile(buffering=0)  # noqa: SIM115
        output: Connection[Any, Any] = Connection(os.dup(self.printed.fileno()), readable=False)
        self.process: BaseProcess = context.Process(target=_work, args=(theirs, output))
        with _for_children():
            self.process.start()
        theirs.close()  # so that the worker's death closes the pipe
        output.close()
        self.job: Job | None = None
        self._began = 0.0
        with suppress(OSError):
            self.pipe.send(dict(os.environ))

    @property
    def sources(self) -> tuple[Connection[Any, Any], int]:
        """What to wait for: a message, or its end."""
        return self.pipe, self.process.sentinel

    def start(self, job: Job) -> None:
        """Gives it a job, which is lost if it has died while idle."""
        self.printed.seek(0)  # its own place, too: both have one open file
        self.printed.truncate()
        with suppress(OSError):
            self.pipe.send(job)
        self.job = job
        self._began = time.monotonic()

    def receive(self) -> CellActivity | Progress | JobOutcome | _Died | None:
        """Its next message; None if there is none yet."""
        is_alive = self.process.is_alive()
        try:
            if not self.pipe.poll():  # of a dead one, too: what it forked may have the other end
                return None if is_alive else _Died()
            message = self.pipe.recv()
        except Exception:
            return _Died()
        is_ours = isinstance(message, CellActivity | Progress | JobOutcome)
        return message if is_ours else _Died()

    def report(self, on_event: OnEvent) -> str:
        """Reports the beginning of what its job has printed, and returns the end."""
        file = self.printed.fileno()
        size = os.fstat(file).st_size
        ends = (0, MOST_PRINTED), (max(0, size - LONGEST_TRACE), LONGEST_TRACE)
        shown, end = (os.pread(file, most, at).decode(errors="replace") for at, most in ends)
        text = re.sub("\r\n?", "\n", shown).removesuffix("\n")
        if size > MOST_PRINTED:
            text += f"\n… {size - MOST_PRINTED:,} more bytes"
        if text and self.job is not None:
            on_event(CellNote(self.job.cell, text))
        return end

    def over(self, limits: Limits) -> str | None:
        if limits.seconds is not None and time.monotonic() - self._began > limits.seconds:
            return f"it took longer than {limits.seconds:g} s (--cell-timeout)"
        if limits.memory is not None and self._held() > limits.memory:
            return f"it took more than {limits.memory:,} bytes of memory (--memory)"
        return None

    def _held(self) -> int:
        """Return the bytes that it holds, with those that its children do not share with it."""
        held = 0
        with suppress(psutil.Error):
            worker = psutil.Process(self.process.pid)
            held = worker.memory_info().rss
            for child in worker.children(recursive=True):
                with suppress(psutil.Error):  # it has ended meanwhile
                    held += child.memory_full_info().uss  # a fork shares its pages until it writes
        return held

    def end(self, seconds: float) -> str:
        """Ends what is left of it and of all that it started, after some seconds; how it ended."""
        self.pipe.close()
        self.process.join(seconds)
        assert self.process.pid is not None
        with suppress(OSError):  # there is none left, or not yet one
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        code = self.process.exitcode
        if code is not None and code < 0:
            memory = "; perhaps it ran out of memory" if -code == signal.SIGKILL else ""
            return f"was killed by signal {-code} ({signal.Signals(-code).name}){memory}"
        return f"ended with exit code {code}"


@contextmanager
def _for_children() -> Iterator[None]:
    """Sets up what a worker starts with: the threads of its libraries, and no signals at first.

    The server that forks the workers handles no signals, since it ends with this process. It finds
    the libraries that this process finds, and nothing in other folders, where a file of a name that
    Python imports by itself may lie. A worker finds what this process finds. It does not import the
    program's own script, which Python would import by default: a script that runs papers would run
    them again there. The order of sets of text is the same in all of them, and in every run.
    """
    variables = dict.fromkeys(THREAD_VARIABLES, str(CELL_THREADS))
    variables["PYTHONPATH"] = os.pathsep.join(places_of_libraries())
    variables["PYTHONHASHSEED"] = os.environ.get("PYTHONHASHSEED", "0")
    with safe_path(), _environment(variables):
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        script = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = script
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def safe_path() -> Iterator[None]:
    """Lets processes that are started meanwhile import nothing from the working folder."""
    with _environment({"PYTHONSAFEPATH": "1"}):
        with _environment({"PYTHONWARNINGS": "ignore"}):
            resource_tracker.ensure_running()  # which unblocks signals
        yield


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    earlier = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values.keys() - earlier.keys():
            del os.environ[name]
        os.environ.update(earlier)
