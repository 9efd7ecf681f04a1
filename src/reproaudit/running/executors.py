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

import dataclasses
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any, Protocol

from reproaudit.audit.paper_module import one_line
from reproaudit.running.devices import THREAD_VARIABLES
from reproaudit.running.jobs import Advanced, Job, JobOutcome, OnNews, Printed, compute, lost
from reproaudit.running.printout import Printout, print_into

STOP_SECONDS = 10.0
"""The seconds in which a worker must reach a border and save, before it is killed."""

WATCH_SECONDS = 0.1
"""The seconds between looks at a worker's time and memory, where they are limited."""

PRELOADED = ["reproaudit.lab.training", "numba"]
"""Modules that every worker needs and that are slow to import: workers are copies of a process that
has them. Where they cannot be imported, whoever computes with them says so."""


@dataclass(frozen=True)
class Limits:
    """The time and memory that a cell may take before its worker is ended; None for no limit.

    Attributes:
        seconds: wall-clock time of one start of a cell; cells measured together add theirs.
        memory: bytes of the worker's resident memory.
    """

    seconds: float | None = None
    memory: int | None = None


NO_LIMITS = Limits()


class Executor(AbstractContextManager["Executor"], Protocol):
    """Computes jobs. Leaving its context ends what still runs, at a checkpoint."""

    @property
    def threads(self) -> int:
        """The number of threads that each of its jobs may use."""

    def run(self, jobs: Iterable[Job], on_news: OnNews) -> Iterator[JobOutcome]:
        """Yields an outcome per job, as they end.

        A job is taken from ``jobs`` only when it can start, and ``jobs`` is asked for the next
        one while others run.
        """


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.killpg(0, signal.SIGKILL)


def _work(pipe: connection.Connection[Any, Any], output: connection.Connection[Any, Any]) -> None:
    """A worker's life: jobs in, progress and outcomes out, until None comes or the pipe closes."""
    os.setsid()
    print_into(output)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which decides
    signal.signal(signal.SIGTERM, _interrupt)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    with suppress(OSError):  # if memory runs out, this process goes and not the one that records
        Path("/proc/self/oom_score_adj").write_text("1000")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    one_at_a_time = threading.Lock()

    def send(message: Advanced | JobOutcome) -> None:
        with one_at_a_time:
            pipe.send(message)

    with suppress(EOFError, KeyboardInterrupt), _quiet_end():
        os.environ.update(pipe.recv())  # the process that forks has those of its own start
        while (job := pipe.recv()) is not None:
            outcome = compute(job, send, is_ending=pipe.poll)
            with suppress(Exception):  # an experiment may have closed it
                sys.stdout.flush()
            try:
                send(outcome)
            except OSError:
                raise
            except Exception as error:  # something among the measurements that cannot be sent
                why = f"what measure returned cannot be passed on: {one_line(error)}"
                send(dataclasses.replace(outcome, measurements={}, error=why))


@contextmanager
def _quiet_end() -> Iterator[None]:
    """Ends the process without a word if its pipe is gone, by the parent's death or a misdeed."""
    try:
        yield
    except OSError:
        os._exit(1)


@contextmanager
def _for_children(threads: int) -> Iterator[None]:
    """While a worker starts: its libraries' threads, and no signal before it can take one.

    The process that forks the workers takes none at all: it ends with this one. Nor does a worker
    import the program's own script, as it would by default: it needs nothing of it, and a script
    that runs papers would run them again there.
    """
    earlier = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    _start_tracker()  # which unblocks signals
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name, value in earlier.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start_tracker() -> None:
    """Starts the process that removes what killed workers leave; it need not warn of that."""
    earlier = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        resource_tracker.ensure_running()
    finally:
        del os.environ["PYTHONWARNINGS"]
        if earlier is not None:
            os.environ["PYTHONWARNINGS"] = earlier


class _Worker:
    """A process, its pipe, what it prints, and the job that it has."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        self.pipe, theirs = context.Pipe()
        printed, output = context.Pipe(duplex=False)
        self.process: BaseProcess = context.Process(target=_work, args=(theirs, output))
        with _for_children(threads):
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

    def receive(self) -> Advanced | JobOutcome | None:
        """Its next message, or None if it has died or sends something else."""
        try:
            if not self.pipe.poll():  # and yet open: a process that it forked has the other end
                return None
            message = self.pipe.recv()
        except Exception:  # the end of the pipe, or bytes that an experiment wrote to it
            return None
        return message if isinstance(message, Advanced | JobOutcome) else None

    def tell(self, on_news: OnNews, *, is_last: bool = False) -> None:
        """Tells what its job has printed since the last time."""
        text = self.printout.last_lines() if is_last else self.printout.lines()
        if text and self.job is not None:
            on_news(Printed(self.job.key, text))

    def over(self, limits: Limits) -> str | None:
        """The limit that its job exceeds, in words, or None."""
        assert self.job is not None
        if limits.seconds is not None:
            allowed = limits.seconds * len(self.job.seeds)
            if time.monotonic() - self._began > allowed:
                return f"it took longer than {allowed:g} s (--cell-timeout)"
        if limits.memory is not None and _resident(self.process.pid) > limits.memory:
            return f"it took more than {limits.memory:,} bytes of memory (--memory)"
        return None

    def end(self, seconds: float) -> str:
        """Ends what is left of it and of all that it started, after some seconds; how it ended."""
        self.process.join(seconds)
        with suppress(OSError):  # there is none left, or not yet one
            os.killpg(self.group, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        code = self.process.exitcode
        if code is not None and code < 0:
            memory = "; perhaps it ran out of memory" if -code == signal.SIGKILL else ""
            return f"was killed by signal {-code} ({signal.Signals(-code).name}){memory}"
        return f"ended with exit code {code}"

    def close(self) -> None:
        """Closes what it was spoken to through."""
        self.pipe.close()
        self.printout.close()


def _resident(pid: int | None) -> int:
    """A process's resident memory in bytes; 0 where the system does not tell."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


class LocalProcesses:
    """Computes jobs in worker processes, which are used again.

    A worker that dies costs its job alone, which is tried a second time from its checkpoint.

    Args:
        processes: how many jobs at once, at least 1.
        threads: how many threads each gets.
        limits: what a cell may take.
    """

    def __init__(self, processes: int, threads: int, limits: Limits = NO_LIMITS) -> None:
        self.threads = threads
        self._processes = processes
        self._limits = limits
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
                worker.close()
            self._workers.clear()

    def run(self, jobs: Iterable[Job], on_news: OnNews) -> Iterator[JobOutcome]:
        """Yields outcomes as jobs end, in any order."""
        waiting = iter(jobs)
        again: deque[Job] = deque()
        tried_again: set[int] = set()
        watch = WATCH_SECONDS if self._limits != NO_LIMITS else None
        while True:
            self._feed(waiting, again)
            busy = [one for one in self._workers if one.job is not None]
            if not busy:
                return
            sources = [source for one in busy for source in (one.pipe, *one.sources)]
            ready = connection.wait(sources, watch)
            for worker in busy:
                worker.tell(on_news)
                job = worker.job
                assert job is not None
                if worker.pipe not in ready and worker.process.sentinel not in ready:
                    continue
                message = worker.receive()
                if isinstance(message, Advanced):
                    on_news(message)
                elif isinstance(message, JobOutcome):
                    worker.tell(on_news, is_last=True)
                    worker.job = None
                    yield message
                else:
                    death = self._bury(worker, on_news)
                    if job.key in tried_again:
                        why = f"twice, the worker process {death}"
                        yield lost(job, why, worker.printout.end, is_final=True)
                    else:
                        tried_again.add(job.key)
                        again.append(job)
            for worker in busy:
                if worker in self._workers and worker.job and (limit := worker.over(self._limits)):
                    self._bury(worker, on_news, 0)
                    yield lost(worker.job, limit, worker.printout.end, is_final=True)

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

    def _bury(
        self,
        worker: _Worker,
        on_news: OnNews = lambda _news: None,
        seconds: float = STOP_SECONDS,
    ) -> str:
        self._workers.remove(worker)
        worker.pipe.close()
        death = worker.end(seconds)
        worker.tell(on_news, is_last=True)
        worker.close()
        return death
