"""Cells on a cluster: an executor that hands jobs to the workers of a Dask scheduler.

Dask is the transport. A job goes to a worker that has none, and gets as many threads as that worker
was started with; so a worker is what a process is on one machine. Jobs on a GPU ask for one unit of
the resource ``GPU``. Records come back to the caller, who writes them alone. Checkpoints are
written by the worker, under the path that the caller's store has: on a shared folder, a job whose
worker dies goes on elsewhere from its last checkpoint; otherwise it starts again.

A worker must have the same code and the same versions of what computes, or its numbers would go by
the wrong fingerprint; a job that finds others fails and says so.

`distributed` is an optional dependency, imported when a cluster is connected to.
"""

from __future__ import annotations

import dataclasses
import queue
import sys
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from reproaudit.audit.paper_module import Module
from reproaudit.errors import SpecError, TechnicalError, UsageError
from reproaudit.running.code import CodeClosure, closure_of
from reproaudit.running.executors import STOP_SECONDS
from reproaudit.running.fingerprint import NOT_PACKAGES, versions
from reproaudit.running.jobs import Advanced, Job, JobOutcome, OnNews, compute, lost

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
    """Ends a job whose caller has gone, at the next step it tells of; no experiment catches it."""


# ------------------------------------------------------------------------------- on the worker


@cache
def _code(module: Module) -> str:
    return closure_of(module).digest


def _mismatch(job: Job, code: str, wanted: Mapping[str, str]) -> str | None:
    """The difference between the worker's code or versions and the caller's, or None."""
    found = versions(job.device, wanted.keys() - NOT_PACKAGES, job.form)
    other = [
        f"{name} {found.get(name)}, not {v}" for name, v in wanted.items() if found.get(name) != v
    ]
    if other:
        return f"the worker has {', '.join(other)}"
    try:
        same = _code(job.module) == code
    except SpecError as error:
        return f"the worker cannot read the code: {error}"
    return None if same else f"the worker has other code at {job.module.file}"


def _is_cancelled() -> bool:
    """True if the exception being handled came from the caller, not from the experiment."""
    return isinstance(sys.exc_info()[1], _CancelledError)


def _compute_there(job: Job, topic: str, code: str, wanted: Mapping[str, str]) -> JobOutcome | None:
    """Runs on a worker. None if the caller cancelled the job."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def tell(event: Advanced) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise _CancelledError
        worker.log_event(topic, ("advanced", *dataclasses.astuple(event)))

    here = dataclasses.replace(job, blocked=job.blocked or _mismatch(job, code, wanted))
    try:
        with _computing:
            return compute(here, tell, _is_cancelled)
    except _CancelledError:
        return None
    finally:
        worker.log_event(topic, ("ended", job.key))


# ------------------------------------------------------------------------------- on the caller


class DaskCluster:
    """Computes jobs on the workers of a Dask scheduler, one at a time on each.

    A worker that dies costs its job's unfinished part: the scheduler gives the job to another, at
    most as often as its ``allowed-failures`` says. Workers may come and go.

    Args:
        address: of the scheduler, such as ``tcp://host:8786``, or ``@file`` for the file that
            ``dask scheduler --scheduler-file`` writes.
        device: ``"cpu"`` or ``"cuda"``.
        tls: a folder with ``ca.pem``, ``cert.pem`` and ``key.pem``: the connection is then
            encrypted, and both ends must have a certificate of this authority. None leaves the
            connection as the address and Dask's own configuration have it.
    """

    def __init__(self, address: str, device: str, tls: Path | None = None) -> None:
        self.threads = 1
        self._tls = tls
        self._address = address
        self._device = device
        self._topic = f"reproaudit-{uuid.uuid4().hex}"
        self._heard: queue.Queue[tuple[Any, ...]] = queue.Queue()
        self._running: dict[Any, tuple[Job, str]] = {}
        self._codes: dict[Module, CodeClosure] = {}
        self._client: Any = None
        self._last_seen = 0.0

    def __enter__(self) -> DaskCluster:
        """Connects, and waits for a worker.

        Raises:
            UsageError: if `distributed` is not installed.
                Also if a certificate is missing or cannot be used.
            TechnicalError: if there is no scheduler at the address, or it has no fitting worker.
        """
        try:
            from distributed import Client
        except ImportError as error:
            raise UsageError(
                "--dask needs the package 'distributed'. In a clone of reproaudit: "
                "pip install '.[dask]'."
            ) from error
        security = None if self._tls is None else _security(self._tls)
        file = self._address.removeprefix("@")
        where = {"scheduler_file": file} if file != self._address else {"address": file}
        try:
            connect: Any = Client
            self._client = connect(
                **where, timeout=CONNECT_SECONDS, set_as_default=False, security=security
            )
        except (OSError, ValueError, TimeoutError) as error:
            raise TechnicalError(
                f"--dask {self._address}: no scheduler answers ({type(error).__name__}). "
                "Start one with 'dask scheduler', and give its address."
            ) from error
        self._client.subscribe_topic(self._topic, lambda event: self._heard.put(event[1]))
        try:
            self._wait_for_workers()
        except BaseException:
            self._client.close()
            raise
        return self

    def _wait_for_workers(self) -> None:
        deadline = time.monotonic() + CONNECT_SECONDS
        while not self._workers():
            if time.monotonic() > deadline:
                needs = " with the resource GPU" if self._device == "cuda" else ""
                raise TechnicalError(
                    f"--dask {self._address}: the scheduler has no worker{needs}. Start some with "
                    f"'dask worker{f' --resources {GPU}=1' if needs else ''}'."
                )
            time.sleep(CLUSTER_POLL_SECONDS)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Cancels what runs, waits until it has stopped, and disconnects; the workers stay."""
        try:
            if self._running:
                self._client.cancel(list(self._running), force=True)
                self._wait_until_ended({job.key for job, _ in self._running.values()})
        finally:
            self._running.clear()
            self._client.close()

    def _wait_until_ended(self, keys: set[int]) -> None:
        """So that no job still writes checkpoints when its cell is given back."""
        deadline = time.monotonic() + STOP_SECONDS
        while keys and (left := deadline - time.monotonic()) > 0:
            try:
                name, key, *_ = self._heard.get(timeout=left)
            except queue.Empty:
                return
            if name == "ended":
                keys.discard(key)

    def run(self, jobs: Iterable[Job], on_news: OnNews) -> Iterator[JobOutcome]:
        """Yields outcomes as jobs end, in any order."""
        waiting = iter(jobs)
        self._last_seen = time.monotonic()
        while True:
            self._feed(waiting)
            self._tell(on_news)
            if not self._running:
                return
            done = [future for future in self._running if future.done()]
            for future in done:
                yield self._outcome(future)
            if not done:
                time.sleep(CLUSTER_POLL_SECONDS / 5)

    # --- giving jobs

    def _workers(self) -> set[str]:
        """The workers that fit; each takes one job at once."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        if self._device == "cuda":
            return {name for name, one in workers.items() if one["resources"].get(GPU, 0) >= 1}
        return set(workers)

    def _feed(self, waiting: Iterator[Job]) -> None:
        """Gives every idle worker a job, as long as there are any."""
        workers = self._workers()
        now = time.monotonic()
        if workers:
            self._last_seen = now
        elif now - self._last_seen > ALONE_SECONDS:
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
            self._running[self._submit(job, worker)] = (job, worker)

    def _submit(self, job: Job, worker: str) -> Any:
        if job.module not in self._codes:
            self._codes[job.module] = closure_of(job.module)
        closure = self._codes[job.module]
        return self._client.submit(
            _compute_there,
            job,
            self._topic,
            closure.digest,
            versions(job.device, closure.packages, job.form),
            key=f"{self._topic}-{job.key}",
            pure=False,
            workers=[worker],
            allow_other_workers=True,  # so that it goes on elsewhere when this one dies
            resources={GPU: 1} if job.device == "cuda" else None,
        )

    # --- taking what comes back

    def _tell(self, on_news: OnNews) -> None:
        running = {job.key for job, _ in self._running.values()}
        while True:
            try:
                name, key, *rest = self._heard.get_nowait()
            except queue.Empty:
                return
            if name == "advanced" and key in running:
                on_news(Advanced(key, *rest))

    def _outcome(self, future: Any) -> JobOutcome:
        job, _ = self._running.pop(future)
        try:
            outcome: JobOutcome | None = future.result()
            error = "the job was cancelled on the cluster"
        except Exception as raised:
            outcome, error = None, f"lost on the cluster: {_one_line(raised)}"
        if outcome is not None:
            return dataclasses.replace(outcome, job=job)
        return lost(job, error, is_final=True)


def is_open(address: str) -> bool:
    """True if an address is of a scheduler beyond this machine, without encryption."""
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if address.startswith("@") or parts.scheme == "tls":
        return False
    try:
        return not ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return parts.hostname != "localhost"


def _security(folder: Path) -> Any:
    """Dask's security settings from a folder of certificates."""
    from distributed import Security

    made: Any = Security
    files = {name: folder / f"{name}.pem" for name in ("ca", "cert", "key")}
    for file in files.values():
        if not file.is_file():
            raise UsageError(
                f"--dask-tls: {file} is no file. docs/cluster.md shows how to make it."
            )
    security = made(
        tls_ca_file=str(files["ca"]),
        tls_client_cert=str(files["cert"]),
        tls_client_key=str(files["key"]),
        require_encryption=True,
    )
    try:
        security.get_connection_args("client")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--dask-tls {folder}: these certificates cannot be used: {error}"
        ) from error
    return security


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
