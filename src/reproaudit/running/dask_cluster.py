"""Cells on a cluster: an executor that hands jobs to the workers of a Dask scheduler.

Dask is the transport. A job goes to a worker that has none; so a worker is what a process is on one
machine. Jobs on a GPU ask for one unit of the resource ``GPU``. Records come back to the caller,
who writes them alone. Checkpoints are written by the worker, under the path that the caller's store
has: on a shared folder, a job whose worker dies goes on elsewhere from its last checkpoint;
otherwise it starts again. A job that finds other code or versions than were planned fails.

`distributed` is an optional dependency, imported when a cluster is connected to.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from reproaudit.errors import TechnicalError, UsageError
from reproaudit.running.events import CellActivity, Event, OnEvent, Progress
from reproaudit.running.executors import STOP_SECONDS
from reproaudit.running.worker import Job, JobOutcome, compute, lost

CONNECT_SECONDS = 30.0
"""The seconds to wait for the scheduler, and for a first worker."""

ALONE_SECONDS = 600.0
"""The seconds to go on without any worker: a queue may bring others."""

CLUSTER_POLL_SECONDS = 0.1

GPU = "GPU"
"""The Dask resource that a worker with a card offers: ``dask worker --resources GPU=1``."""

_computing = threading.Lock()
"""A worker's process computes one cell at a time: threads and devices are the process's."""


class _CancelledError(BaseException):
    """Ends a job whose caller has gone, at its next report of progress; nothing else catches it."""


def _compute_there(job: Job, topic: str) -> JobOutcome | None:
    """Runs on a worker. None if the caller cancelled the job."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def report(event: Event) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise _CancelledError
        if isinstance(event, Progress):
            worker.log_event(topic, (job.number, event.phase, event.done, event.total))
        elif isinstance(event, CellActivity):
            worker.log_event(topic, (job.number, event.activity))

    try:
        with _computing:
            return compute(job, report, lambda: isinstance(sys.exc_info()[1], _CancelledError))
    except _CancelledError:
        return None
    finally:
        worker.log_event(topic, (job.number,))


class DaskCluster:
    """Computes jobs on the workers of a Dask scheduler, one at a time on each.

    A worker that dies costs its job's unfinished part: the scheduler gives the job to another, at
    most as often as its ``allowed-failures`` says. Workers may come and go. Whether the connection
    is encrypted, and with which certificates, is said by the address and Dask's own configuration.

    Args:
        address: of the scheduler, such as ``tcp://host:8786``, or ``@file`` for the file that
            ``dask scheduler --scheduler-file`` writes.
    """

    def __init__(self, address: str, device: str) -> None:
        self._address = address
        self._device = device
        self._topic = f"reproaudit-{uuid.uuid4().hex}"
        self._heard: queue.Queue[tuple[Any, ...]] = queue.Queue()
        self._running: dict[Any, tuple[Job, str]] = {}
        """By future: the job, and the worker that it was given to."""
        self._client: Any = None
        self._last_seen = 0.0

    def __enter__(self) -> DaskCluster:
        """Connects, and waits for a worker.

        Raises:
            UsageError: if `distributed` is not installed.
            TechnicalError: if there is no scheduler at the address, or it has no fitting worker.
        """
        try:
            from distributed import Client
        except ImportError as error:
            raise UsageError(
                "--dask needs the package 'distributed'. In a clone of reproaudit: "
                "pip install '.[dask]'."
            ) from error
        file = self._address.removeprefix("@")
        where: dict[str, Any] = {"scheduler_file" if file != self._address else "address": file}
        connect: Any = Client
        try:
            self._client = connect(**where, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError, TimeoutError) as error:  # Type: no certificate
            raise TechnicalError(
                f"--dask {self._address}: no scheduler answers ({type(error).__name__}). "
                "Start one with 'dask scheduler', and give its address; docs/cluster.md says how "
                "Dask is given certificates."
            ) from error
        self._client.subscribe_topic(self._topic, lambda event: self._heard.put(event[1]))
        deadline = time.monotonic() + CONNECT_SECONDS
        while not self._workers() and time.monotonic() < deadline:
            time.sleep(CLUSTER_POLL_SECONDS)
        if not self._workers():
            self._client.close()
            needs = " with the resource GPU" if self._device == "cuda" else ""
            raise TechnicalError(
                f"--dask {self._address}: the scheduler has no worker{needs}. Start some with "
                f"'dask worker{f' --resources {GPU}=1' if needs else ''}'."
            )
        return self

    def __exit__(self, *_error: object) -> None:
        """Cancels what runs, waits until it has stopped, and disconnects; the workers stay."""
        numbers = {job.number for job, _ in self._running.values()}
        deadline = time.monotonic() + STOP_SECONDS
        try:
            if numbers:
                self._client.cancel(list(self._running), force=True)
            with suppress(queue.Empty):
                while numbers:  # a job could still write checkpoints of a cell that is given back
                    left = max(0.0, deadline - time.monotonic())
                    number, *told = self._heard.get(timeout=left)
                    if not told:
                        numbers.discard(number)
        finally:
            self._running.clear()
            self._client.close()

    def run(self, jobs: Iterable[Job], on_event: OnEvent) -> Iterator[JobOutcome]:
        """Yields outcomes as jobs end, in any order."""
        waiting = iter(jobs)
        self._last_seen = time.monotonic()
        self._feed(waiting)
        while self._running:
            self._report(on_event)
            done = [future for future in self._running if future.done()]
            for future in done:
                yield self._outcome(future)
            if not done:
                time.sleep(CLUSTER_POLL_SECONDS / 5)
            self._feed(waiting)

    def _workers(self) -> set[str]:
        """The workers that fit; each takes one job at once."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        needed = 1 if self._device == "cuda" else 0
        return {name for name, one in workers.items() if one["resources"].get(GPU, 0) >= needed}

    def _feed(self, waiting: Iterator[Job]) -> None:
        """Gives every idle worker a job, as long as there are any."""
        workers = self._workers()
        if workers:
            self._last_seen = time.monotonic()
        elif time.monotonic() - self._last_seen > ALONE_SECONDS:
            raise TechnicalError(
                f"--dask {self._address}: no worker is left, and none has come for "
                f"{ALONE_SECONDS:.0f} s. Start some; the same command goes on from here."
            )
        busy = {worker for _, worker in self._running.values()}
        moved = len(busy - workers)  # jobs of workers that died go on at some of the idle ones
        idle = sorted(workers - busy)
        for worker in idle[: max(len(idle) - moved, 0)]:
            job = next(waiting, None)
            if job is None:
                return
            future = self._client.submit(
                _compute_there,
                job,
                self._topic,
                key=f"{self._topic}-{job.number}-{uuid.uuid4().hex}",
                pure=False,
                workers=[worker],
                allow_other_workers=True,  # so that it goes on elsewhere when this one dies
                resources={GPU: 1} if job.device == "cuda" else None,
            )
            self._running[future] = (job, worker)

    def _report(self, on_event: OnEvent) -> None:
        cells = {job.number: job.cell for job, _ in self._running.values()}
        while not self._heard.empty():
            number, *told = self._heard.get()
            if told and number in cells:
                event = CellActivity if len(told) == 1 else Progress
                on_event(event(cells[number], *told))

    def _outcome(self, future: Any) -> JobOutcome:
        job, _ = self._running.pop(future)
        error = "the job was cancelled on the cluster"
        try:
            outcome: JobOutcome | None = future.result()
        except Exception as raised:
            text = " ".join(str(raised).split())[:300]
            outcome = None
            error = f"lost on the cluster: {type(raised).__name__}: {text}"
        return outcome or lost(job, error, is_final=True)


def is_open(address: str) -> bool:
    """True if an address is of a scheduler beyond this machine, without encryption."""
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if address.startswith("@") or parts.scheme == "tls":
        return False
    try:
        return not ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return parts.hostname != "localhost"
