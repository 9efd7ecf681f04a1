"""Computes jobs on the workers of a Dask scheduler, one at a time on each.

On a worker a job is computed as on this machine, in a process of its own: the bits are the same,
and a crash ends no worker. Checkpoints lie in a scratch folder there, so that no folder is shared;
a job whose worker is lost starts anew on another. The record comes back to the caller.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import time
import uuid
from asyncio import CancelledError
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from reproaudit.audit.catalog import entry_of, shipped_audits
from reproaudit.errors import TechnicalError, UsageError
from reproaudit.files import scratch_folder
from reproaudit.running.engines import imported
from reproaudit.running.events import OnEvent
from reproaudit.running.executors import NO_LIMITS, Limits, LocalProcesses
from reproaudit.running.modules import one_line
from reproaudit.running.worker import Job, JobOutcome, lost

CONNECT_SECONDS = 30.0
"""The seconds to wait for the scheduler, and for a first worker."""

LOOK_SECONDS = 0.05
"""The seconds between looks at what the workers have done."""

OURS: dict[str, Any] = {
    "threads_per_worker": 1,
    "memory_limit": 0,
    "host": "127.0.0.1",
    "dashboard_address": "127.0.0.1:0",
    "scheduler_kwargs": {"allowed_failures": 1},
}
"""A scheduler of ours and its workers: with its second worker, a cell has failed."""

_ORDER = "PYTHONHASHSEED"
"""The environment variable on which the order of sets depends; Dask gives its workers another."""


def _compute_there(job: Job, limits: Limits, topic: str, order: str) -> JobOutcome | None:
    """Computes a job beside the Dask worker that calls this; None if it is cancelled."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks[worker.get_current_task()]
    os.environ[_ORDER] = order
    multiprocessing.current_process().daemon = False  # else it may have no children
    if job.module.importable:  # reproaudit may lie elsewhere on this machine
        shipped = entry_of(shipped_audits() / f"{job.cell.paper}.yaml")
        job = replace(job, module=shipped.module)
    processes = LocalProcesses(1, limits, lambda: task.state != "cancelled")
    with scratch_folder() as folder, processes as here:
        job = replace(job, partial=folder / job.partial.name)
        outcomes = here.run([job], lambda event: worker.log_event(topic, pickle.dumps(event)))
        return next(outcomes, None)


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
        """Connects, and waits for a worker.

        Raises:
            UsageError: if `distributed` is not installed, or a worker has several threads.
            TechnicalError: if there is no scheduler at the address, or it has no worker.
        """
        with ExitStack() as opened:
            try:
                self._client = opened.enter_context(self._connected(opened))
                self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            except (OSError, ValueError, TypeError) as error:  # Type: no certificate
                raise self._fault(f"no scheduler with a worker ({one_line(error)})") from error
            self._client.subscribe_topic(self._topic, lambda event: self._heard.put(event[1]))
            self._open = opened.pop_all()
        return self

    def _connected(self, opened: ExitStack) -> Any:
        distributed = imported("distributed", "dask")
        where: dict[str, Any] = {"address": self._address}
        if self._address.startswith("@"):
            where = {"scheduler_file": self._address[1:]}
        if self._address == "local":
            cluster = distributed.LocalCluster(n_workers=self._count, **OURS)
            where = {"address": opened.enter_context(cluster)}
        return distributed.Client(**where, timeout=CONNECT_SECONDS, set_as_default=False)

    def __exit__(self, *_error: object) -> None:
        """Cancels what runs, and disconnects; workers that it did not start stay."""
        with self._open:
            self._client.cancel(list(self._running), force=True)
            self._running.clear()

    def run(self, jobs: Iterable[Job], on_event: OnEvent) -> Iterator[JobOutcome]:
        """Yields outcomes as jobs end, in any order."""
        waiting = iter(jobs)
        self._feed(waiting)
        while self._running:
            while not self._heard.empty():
                on_event(pickle.loads(self._heard.get()))
            for future in [one for one in self._running if one.done()]:
                yield self._outcome(future)
            time.sleep(LOOK_SECONDS)
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
            order = os.environ.get(_ORDER, "0")
            what = (_compute_there, job, self._limits, self._topic, order)
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
