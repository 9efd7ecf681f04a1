"""Computes jobs in worker processes of this machine.

An executor takes jobs, which are plain picklable data, and yields an outcome for each, in the
order in which they end. It writes no record: the caller does, alone. Whoever computes a job writes
its checkpoints.

A worker lives on from job to job and is replaced when it dies, so that nothing that an experiment
does (leaving the process, a segmentation fault, an endless loop) ends the run. Each worker has a
session of its own, without a terminal. What it and its children print comes here, and they end with
it.
"""

from __future__ import annotations

import codecs
import faulthandler
import io
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import psutil

from reproaudit.running.devices import THREAD_VARIABLES
from reproaudit.running.events import CellPrinted, Event, OnEvent, Progress
from reproaudit.running.worker import CELL_THREADS, LONGEST_TRACE, Job, JobOutcome, compute, lost

STOP_SECONDS = 10.0
"""The seconds in which a worker must reach a border and save, before it is killed."""

WATCH_SECONDS = 0.1
"""The seconds between looks at a worker's time and memory, where they are limited."""

MOST_PRINTED = 2**16
"""Characters of what a job prints that are shown: its beginning."""

PRELOADED = ["reproaudit.lab.training", "numba"]
"""Modules that every worker needs and that are slow to import: workers are copies of a process that
has them. Where they cannot be imported, whoever computes with them says so."""

_PIECE = 2**20
"""Bytes of one reading; a pipe holds no more, unless an administrator has enlarged it."""


@dataclass(frozen=True)
class Limits:
    """The time and memory that a cell may take before its worker is ended; None for no limit.

    Attributes:
        seconds: wall-clock time of one start of a cell.
        memory: bytes of resident memory of the worker and all that it has started.
    """

    seconds: float | None = None
    memory: int | None = None


NO_LIMITS = Limits()


class Executor(AbstractContextManager["Executor"], Protocol):
    """Computes jobs. Leaving its context ends what still runs, at a checkpoint."""

    def run(self, jobs: Iterable[Job], on_event: OnEvent) -> Iterator[JobOutcome]:
        """Yields an outcome per job, as they end.

        A job is taken from ``jobs`` only when it can start, and ``jobs`` is asked for the next
        one while others run.
        """


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
    threading.Thread(target=_end_with_parent, daemon=True).start()
    one_at_a_time = threading.Lock()

    def send(message: Event | JobOutcome) -> None:
        with one_at_a_time:
            pipe.send(message)

    try:
        os.environ.update(pipe.recv())  # the process that forks has those of its own start
        while (job := pipe.recv()) is not None:
            outcome = compute(job, send, is_ending=pipe.poll)
            with suppress(Exception):  # an experiment may have closed it
                sys.stdout.flush()
            send(outcome)
    except (EOFError, KeyboardInterrupt):
        pass
    except OSError:  # the pipe is gone, by the parent's death or a misdeed
        os._exit(1)


def _print_into(pipe: Connection[Any, Any]) -> None:
    """Lets all go into a pipe that this process prints from now on, or that its children do.

    A line of Python goes at once, so that a crash loses none; the system's own words follow it.
    """
    for number in (1, 2):
        os.dup2(pipe.fileno(), number)
    pipe.close()
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
    """Computes jobs in worker processes, which are used again.

    Args:
        processes: how many jobs at once, at least 1.
        limits: what a cell may take.
    """

    def __init__(self, processes: int, limits: Limits = NO_LIMITS) -> None:
        self._processes = processes
        self._limits = limits
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
            alive = self._workers
            while alive and (left := deadline - time.monotonic()) > 0:
                connection.wait([source for one in alive for source in one.sources], left)
                for worker in alive:
                    worker.printout.lines()  # so that it need not wait for a reader
                alive = [one for one in alive if one.process.is_alive()]
        finally:
            for worker in self._workers:
                worker.end(0)
            self._workers.clear()

    def run(self, jobs: Iterable[Job], on_event: OnEvent) -> Iterator[JobOutcome]:
        """Yields outcomes as jobs end, in any order."""
        waiting = iter(jobs)
        watch = WATCH_SECONDS if self._limits != NO_LIMITS else None
        while True:
            self._feed(waiting)
            busy = {worker: worker.job for worker in self._workers if worker.job is not None}
            if not busy:
                return
            sources = [source for one in busy for source in (one.pipe, *one.sources)]
            ready = connection.wait(sources, watch)
            for worker, job in busy.items():
                worker.report(on_event)
                if worker.pipe in ready or worker.process.sentinel in ready:
                    message = worker.receive()
                    if isinstance(message, Progress):
                        on_event(message)
                    elif isinstance(message, JobOutcome):
                        worker.report(on_event, is_last=True)
                        worker.job = None
                        yield message
                    else:
                        death = self._bury(worker, on_event, STOP_SECONDS)
                        yield lost(job, f"the worker process {death}", worker.printout.end)
                        continue
                if worker.job is not None and (limit := worker.over(self._limits)):
                    self._bury(worker, on_event, 0)
                    yield lost(job, limit, worker.printout.end, is_final=True)

    def _feed(self, waiting: Iterator[Job]) -> None:
        """Gives every idle worker a job, as long as there are any."""
        idle = [one for one in self._workers if one.job is None]
        while idle or len(self._workers) < self._processes:
            job = next(waiting, None)
            if job is None:
                return
            while not (worker := idle.pop() if idle else self._new()).start(job):
                self._bury(worker, lambda _event: None, STOP_SECONDS)  # it has died while idle

    def _new(self) -> _Worker:
        self._workers.append(_Worker())
        return self._workers[-1]

    def _bury(self, worker: _Worker, on_event: OnEvent, seconds: float) -> str:
        self._workers.remove(worker)
        worker.pipe.close()
        return worker.end(seconds, on_event)


class _Worker:
    """A process, its pipe, what it prints, and the job that it has."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        self.pipe, theirs = context.Pipe()
        printed, output = context.Pipe(duplex=False)
        self.process: BaseProcess = context.Process(target=_work, args=(theirs, output))
        with _for_children():
            self.process.start()
            environment = dict(os.environ)
        theirs.close()  # so that the worker's death closes the pipe
        output.close()
        assert self.process.pid is not None
        self.group = self.process.pid
        self.printout = Printout(printed)
        self.job: Job | None = None
        self._began = 0.0
        with suppress(OSError):
            self.pipe.send(environment)

    @property
    def sources(self) -> list[Any]:
        """The sources to wait on beside its pipe: its end, and something printed."""
        printed = [] if self.printout.pipe is None else [self.printout.pipe]
        return [self.process.sentinel, *printed]

    def start(self, job: Job) -> bool:
        """Gives it a job; False if it has died while idle."""
        try:
            self.pipe.send(job)
        except OSError:
            return False
        self.job = job
        self.printout.begin()
        self._began = time.monotonic()
        return True

    def receive(self) -> Any:
        """Its next message; None if it has died, anything if an experiment wrote to its pipe."""
        try:
            if not self.pipe.poll():  # and yet open: a process that it forked has the other end
                return None
            return self.pipe.recv()
        except Exception:
            return None

    def report(self, on_event: OnEvent, *, is_last: bool = False) -> None:
        """Reports what its job has printed since the last time."""
        text = self.printout.last_lines() if is_last else self.printout.lines()
        if text and self.job is not None:
            on_event(CellPrinted(self.job.cell, text))

    def over(self, limits: Limits) -> str | None:
        """The limit that its job exceeds, in words, or None."""
        if limits.seconds is not None and time.monotonic() - self._began > limits.seconds:
            return f"it took longer than {limits.seconds:g} s (--cell-timeout)"
        if limits.memory is not None and self._resident() > limits.memory:
            return f"it took more than {limits.memory:,} bytes of memory (--memory)"
        return None

    def _resident(self) -> int:
        """The bytes of memory that it and all that it has started hold now."""
        resident = 0
        with suppress(psutil.Error):
            worker = psutil.Process(self.group)
            for process in (worker, *worker.children(recursive=True)):
                with suppress(psutil.Error):  # it has ended meanwhile
                    resident += process.memory_info().rss
        return resident

    def end(self, seconds: float, on_event: OnEvent = lambda _event: None) -> str:
        """Ends what is left of it and of all that it started, after some seconds; how it ended."""
        self.process.join(seconds)
        with suppress(OSError):  # there is none left, or not yet one
            os.killpg(self.group, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.report(on_event, is_last=True)
        self.pipe.close()
        self.printout.close()
        code = self.process.exitcode
        if code is not None and code < 0:
            memory = "; perhaps it ran out of memory" if -code == signal.SIGKILL else ""
            return f"was killed by signal {-code} ({signal.Signals(-code).name}){memory}"
        return f"ended with exit code {code}"


@contextmanager
def _for_children() -> Iterator[None]:
    """While a worker starts: its libraries' threads, and no signal before it can take one.

    The process that forks the workers takes none at all: it ends with this one. The one that
    removes what killed workers leave need not warn of that. Nor does a worker import the program's
    own script, as it would by default: a script that runs papers would run them again there.
    """
    with _environment({"PYTHONWARNINGS": "ignore"}):
        resource_tracker.ensure_running()  # which unblocks signals
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        with _environment(dict.fromkeys(THREAD_VARIABLES, str(CELL_THREADS))):
            yield
    finally:
        sys.modules["__main__"] = script
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Sets variables of the environment, and puts them back."""
    earlier = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in earlier.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class Printout:
    """The reading end of a pipe that a worker prints into. Nothing in here waits.

    Attributes:
        pipe: what can be waited on for more; None once the other end is closed.
        end: the last `LONGEST_TRACE` characters that the present job printed.
    """

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        os.set_blocking(pipe.fileno(), False)
        self.pipe: Connection[Any, Any] | None = pipe
        self.begin()

    def begin(self) -> None:
        """A new job."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self._line = ""  # begun, and not shown yet
        self._count = 0
        self.end = ""

    def lines(self) -> str:
        """The whole lines that have come since the last look, as far as they are shown."""
        text = self._decoder.decode(self._read())
        self.end = (self.end + text)[-LONGEST_TRACE:]
        shown = text[: max(0, MOST_PRINTED - self._count)]
        self._count += len(text)
        whole, _, self._line = (self._line + shown).rpartition("\n")
        return whole

    def last_lines(self) -> str:
        """The last lines that the job printed, and how much of it was not shown."""
        parts = [self.lines(), self._line]
        if self._count > MOST_PRINTED:
            parts.append(f"… {self._count - MOST_PRINTED:,} more characters")
        return "\n".join(one for one in parts if one)

    def close(self) -> None:
        """Closes this end."""
        if self.pipe is not None:
            self.pipe.close()
            self.pipe = None

    def _read(self) -> bytes:
        piece = b""
        if self.pipe is not None:
            with suppress(BlockingIOError):
                piece = os.read(self.pipe.fileno(), _PIECE)
                if not piece:
                    self.close()  # whoever printed has closed its end
        return piece
