"""Computes jobs on the workers of a Dask scheduler, one at a time on each.

A job whose worker is lost starts anew on another. Its record comes back to the caller.
"""

from __future__ import annotations

import pickle
import queue
import time
import uuid
from asyncio import CancelledError
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

from reproaudit.errors import TechnicalError, UsageError
from reproaudit.run.events import OnEvent
from reproaudit.run.executors.apart import ORDER_OF_SETS, compute_apart
from reproaudit.run.executors.engines import dask_client
from reproaudit.run.executors.local import NO_LIMITS, Limits
from reproaudit.run.modules import one_line
from reproaudit.run.worker import Job, JobOutcome, lost

CONNECT_SECONDS = 30.0
"""The seconds to wait for the scheduler, and for a first worker."""

HEAR_SECONDS = 0.05
"""Between looks at what the workers have done."""


def _compute_there(job: Job, limits: Limits, order: str, topic: str) -> JobOutcome | None:
    """Computes a job beside the Dask worker that calls this; None if it is cancelled."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks[worker.get_current_task()]
    return compute_apart(
        job,
        limits,
        order,
        lambda: task.state != "cancelled",
        lambda event: worker.log_event(topic, pickle.dumps(event)),
    )


class DaskWorkers:
    """Computes jobs on the workers of a Dask scheduler, which may come and go.

    Args:
        address: of the scheduler, such as ``tcp://host:8786``; ``@file`` for its file; ``local``
            for a scheduler and so many workers of this machine, which end with the run.
    """

    def __init__(self, address: str, workers: int = 1, limits: Limits = NO_LIMITS) -> None:
        self._address = address
        self._count = workers
        self._limits = limits
        self._topic = f"reproaudit-{uuid.uuid4().hex}"
        self._heard: queue.Queue[bytes] = queue.Queue()
        self._running: dict[Any, Job] = {}
        self._client: Any = None
        self._open = ExitStack()

    def __enter__(self) -> DaskWorkers:
        """Connects, and waits for a worker; a TechnicalError if there is none."""
        with ExitStack() as opened:
            try:
                self._client = dask_client(self._address, self._count, CONNECT_SECONDS, opened)
                self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            except (OSError, ValueError, TypeError) as error:  # Type: no certificate
                raise self._fault(f"no scheduler with a worker ({one_line(error)})") from error
            self._client.subscribe_topic(self._topic, lambda event: self._heard.put(event[1]))
            self._open = opened.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        """Cancels what runs, and disconnects; workers that it did not start stay."""
        with self._open:
            self._client.cancel(list(self._running), force=True)
            self._running.clear()

    def run(self, jobs: Iterable[Job], on_event: OnEvent) -> Iterator[JobOutcome]:
        """Yields outcomes as jobs end, in any order."""
        self._feed(waiting := iter(jobs))
        while self._running:
            while not self._heard.empty():
                on_event(pickle.loads(self._heard.get()))
            for future in [future for future in self._running if future.done()]:
                yield self._outcome(future)
            time.sleep(HEAR_SECONDS)
            self._feed(waiting)

    def _feed(self, waiting: Iterator[Job]) -> None:
        """Hands out as many jobs as there are workers."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        for name, worker in workers.items():
            if worker["nthreads"] > 1:
                has = f"the worker {name} has {worker['nthreads']} threads, and a cell has one"
                raise UsageError(f"--executor dask: {has}. Start it with --nthreads 1.")
        while len(self._running) < len(workers) and (job := next(waiting, None)) is not None:
            card = {"GPU": 1} if job.device == "cuda" else None
            key = f"{self._topic}-{uuid.uuid4().hex}"
            what = (_compute_there, job, self._limits, ORDER_OF_SETS, self._topic)
            self._running[self._client.submit(*what, key=key, resources=card)] = job

    def _outcome(self, future: Any) -> JobOutcome:
        job = self._running.pop(future)
        try:
            outcome: JobOutcome | None = future.result()
        except (Exception, CancelledError) as error:
            if type(error).__name__ == "KilledWorker":
                return lost(job, "as many Dask workers died with it as may", is_final=True)
            raise self._fault(f"a worker cannot compute ({one_line(error)})") from error
        if outcome is None:
            raise self._fault("somebody cancelled a cell")
        return outcome

    def _fault(self, what: str) -> TechnicalError:
        return TechnicalError(f"--executor dask={self._address}: {what}. See docs/cluster.md.")
