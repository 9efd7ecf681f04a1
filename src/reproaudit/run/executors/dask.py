"""Computes jobs on the workers of a Dask scheduler, one at a time on each.

The workers need share no folder with us. A job whose worker is lost starts anew on another. Its
record comes back to the caller.
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
from reproaudit.run.events import Event, OnEvent
from reproaudit.run.executors.engines import imported
from reproaudit.run.executors.local import NO_LIMITS, Limits, LocalProcesses, safe_path
from reproaudit.run.modules import one_line
from reproaudit.run.worker import Job, JobOutcome, lost

CONNECT_SECONDS = 30.0  # for the scheduler, and for a first worker
HEAR_SECONDS = 0.05  # between looks at what the workers have done

SAFE_PATH = {"distributed.nanny.pre-spawn-environ.PYTHONSAFEPATH": "1"}
"""Dask's setting by which workers that are started here import nothing from the working folder."""

OUR_CLUSTER: dict[str, Any] = {
    "threads_per_worker": 1,
    "memory_limit": 0,
    "host": "127.0.0.1",
    "dashboard_address": "127.0.0.1:0",
    "scheduler_kwargs": {"allowed_failures": 1},
}
"""A Dask scheduler of ours and its workers: a cell that kills two workers has failed."""

_ORDER = "PYTHONHASHSEED"

ORDER_OF_SETS = os.environ.get(_ORDER, "0")
"""On what the order of sets of text depends, before a cluster that is started here changes it."""


def _compute_there(job: Job, limits: Limits, order: str, topic: str) -> JobOutcome | None:
    """Computes a job in a process beside the Dask worker that calls this; None if cancelled.

    A job of which this machine has other code or versions fails, before any of that code has run.
    """
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks[worker.get_current_task()]

    def may_go_on() -> bool:
        return bool(task.state != "cancelled")

    def tell(event: Event) -> None:
        worker.log_event(topic, pickle.dumps(event))

    os.environ[_ORDER] = order
    multiprocessing.current_process().daemon = False  # a daemon may have no children
    if job.module.importable:  # reproaudit may lie elsewhere on this machine
        job = replace(job, module=entry_of(shipped_audits() / f"{job.cell.paper}.yaml").module)
    with scratch_folder() as folder, LocalProcesses(1, limits, may_go_on) as here:
        return next(here.run([replace(job, partial=folder / job.partial.name)], tell), None)


class DaskWorkers:
    """Computes jobs on the workers of a Dask scheduler, which may come and go.

    Args:
        address: of the scheduler, such as ``tcp://host:8786``; ``@file`` for its file; ``local``
            for a scheduler and so many workers of this machine, which end with the run.
    """

    keeps_records = False

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
                self._client = opened.enter_context(self._connected(opened))
                self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            except (OSError, ValueError, TypeError) as error:  # Type: no certificate
                raise self._fault(f"no scheduler with a worker ({one_line(error)})") from error
            self._client.subscribe_topic(self._topic, lambda event: self._heard.put(event[1]))
            self._open = opened.pop_all()
        return self

    def _connected(self, opened: ExitStack) -> Any:
        """A client of the scheduler, which is started here for ``local``."""
        distributed = imported("distributed", "dask")
        where: dict[str, Any] = {"address": self._address}
        if self._address.startswith("@"):
            where = {"scheduler_file": self._address[1:]}
        if self._address == "local":
            with safe_path(), imported("dask", "dask").config.set(SAFE_PATH):
                cluster = distributed.LocalCluster(n_workers=self._count, **OUR_CLUSTER)
            where = {"address": opened.enter_context(cluster)}
        return distributed.Client(**where, timeout=CONNECT_SECONDS, set_as_default=False)

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
