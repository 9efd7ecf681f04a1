"""Cells on a real Dask cluster: a scheduler and worker processes on this machine."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import reproaudit
from cells import cell, locate, records, same_numbers, start
from reproaudit.errors import TechnicalError
from reproaudit.records import CellStatus
from reproaudit.running.code import CodeClosure
from reproaudit.running.events import Event, Progress, Summary
from reproaudit.running.run import run_cells
from reproaudit.running.store import Store

pytest.importorskip("distributed", reason="the optional package 'distributed' is not installed")
import dask

from reproaudit.running.dask_cluster import DaskCluster, is_open

SECONDS = 60
HERE = "127.0.0.1"


@dataclass
class Cluster:
    """Processes of a cluster on the loopback device."""

    folder: Path
    address: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def scheduler(self, *options: str) -> None:
        self._start("scheduler", "dask_scheduler", "--port", "0", "--no-dashboard", *options)
        self.address = self._read("scheduler", r"Scheduler at:\s+((?:tcp|tls)://\S+)")

    def worker(self, name: str, *options: str) -> None:
        folder = str(self.folder / name)
        where = (self.address, "--no-nanny", "--no-dashboard", "--name", name)
        self._start(name, "dask_worker", *where, "--local-directory", folder, *options)
        self._read(name, r"(Registered to)")

    def _start(self, name: str, program: str, *options: str) -> None:
        self.folder.mkdir(exist_ok=True)
        with (self.folder / f"{name}.log").open("w") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{program}", "--host", HERE, *options],
                stdout=log,
                stderr=log,
                env={
                    **os.environ,
                    "PYTHONPATH": str(Path(reproaudit.__file__).parent.parent),
                    "TOY_CHECKPOINT_SECONDS": "0.05",
                },
            )

    def _read(self, name: str, pattern: str) -> str:
        """What a process says, once it says it."""
        deadline = time.monotonic() + SECONDS
        while (found := re.search(pattern, said := self.said(name))) is None:
            assert self.processes[name].poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.05)
        return found[1]

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait(SECONDS)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    one = Cluster(tmp_path / "cluster")
    try:
        one.scheduler()
        yield one
    finally:
        one.close()


def run(store: Store, cluster: Cluster | None, *wanted: Any, **how: Any) -> Summary:
    executor = None if cluster is None else DaskCluster(cluster.address, "cpu")
    return run_cells(wanted, locate, store, executor=executor, **how)


def numbers(store: Store) -> dict[tuple[str, int], dict[str, Any]]:
    return {name: same_numbers(one) for name, one in records(store).items()}


def test_same_results_here_and_on_a_cluster(tmp_path: Path, cluster: Cluster) -> None:
    cluster.worker("one", "--nthreads", "1")
    wanted = [cell(seed=seed) for seed in range(2)]
    stores = {name: Store(tmp_path / name) for name in ("here", "cluster")}
    run(stores["here"], None, *wanted)
    summary = run(stores["cluster"], cluster, *wanted)
    assert (summary.completed, summary.failed) == (2, 0)
    assert numbers(stores["here"]) == numbers(stores["cluster"])
    assert run(stores["cluster"], cluster, *wanted).present == 2


@pytest.mark.slow
def test_a_worker_killed_in_mid_run_costs_its_unfinished_part(
    tmp_path: Path, cluster: Cluster
) -> None:
    for name in ("one", "two", "three"):
        cluster.worker(name, "--nthreads", "1")
    wanted = [cell(seed=seed, pause=0.005, steps=300) for seed in range(4)]
    executor = DaskCluster(cluster.address, "cpu")
    killed: list[int] = []
    seen: dict[int, list[int]] = {}

    def watch(event: Event) -> None:
        if isinstance(event, Progress):
            seen.setdefault(event.cell.seed, []).append(event.done)
            if event.done > 100 and not killed:
                killed.append(event.cell.seed)
                cluster.processes[worker_of(executor, killed[0])].kill()

    store, undisturbed = Store(tmp_path / "runs"), Store(tmp_path / "undisturbed")
    summary = run_cells(wanted, locate, store, executor=executor, on_event=watch)
    assert [p.poll() for p in cluster.processes.values()].count(-signal.SIGKILL) == 1
    assert (summary.completed, summary.failed) == (4, 0)
    run(undisturbed, None, *wanted)
    assert numbers(store) == numbers(undisturbed)
    back = {seed: after for seed, done in seen.items() if (after := after_a_drop(done))}
    assert set(back) <= set(killed), "another cell than the dead worker's went back"
    assert all(done > 50 for done in back.values()), "it did not go on from its checkpoint"


def worker_of(executor: DaskCluster, seed: int) -> str:
    workers = executor._client.scheduler_info(n_workers=-1)["workers"]
    places = [place for job, place in executor._running.values() if job.cell.seed == seed]
    return str(workers[places[0]]["id"])


def after_a_drop(done: list[int]) -> int:
    """Where a cell's progress went back to, or 0."""
    return next((b for a, b in pairwise(done) if b < a), 0)


@pytest.mark.slow
def test_other_code_on_the_worker_is_refused(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.worker("one", "--nthreads", "1")
    other = CodeClosure(digest="0" * 32, packages=frozenset())
    monkeypatch.setattr("reproaudit.running.run.closure_of", lambda *_: other)
    store = Store(tmp_path / "runs")
    assert run(store, cluster, cell()).failed == 1
    assert "other code" in str(records(store)["descent", 0].error)


@pytest.mark.slow
def test_gpu_cells_go_to_workers_that_offer_one(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reproaudit.running.dask_cluster.CONNECT_SECONDS", 3.0)
    cluster.worker("plain", "--nthreads", "1")
    with pytest.raises(TechnicalError, match="no worker with the resource GPU"):
        DaskCluster(cluster.address, "cuda").__enter__()
    cluster.worker("card", "--nthreads", "3", "--resources", "GPU=1")
    executor = DaskCluster(cluster.address, "cuda")
    store = Store(tmp_path / "runs")
    wanted = [cell("place", seed=seed) for seed in range(3)]  # computes nothing, so needs no card
    run_cells(wanted, locate, store, device="cuda", executor=executor)
    places = {record.measurements.scalars["process"] for record in records(store).values()}
    assert places == {cluster.processes["card"].pid}


@pytest.mark.slow
def test_a_cluster_that_has_lost_its_workers_is_given_up(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reproaudit.running.dask_cluster.ALONE_SECONDS", 1.0)
    cluster.worker("one", "--nthreads", "1")
    with pytest.raises(TechnicalError, match="no worker is left"):
        run(Store(tmp_path / "runs"), cluster, cell("dies"))


@pytest.mark.slow
def test_an_interrupt_stops_the_workers_and_the_same_command_goes_on(
    tmp_path: Path, cluster: Cluster
) -> None:
    cluster.worker("one", "--nthreads", "1")
    store = Store(tmp_path / "runs")
    slow = cell(pause=0.005, steps=400)

    def interrupt(event: Event) -> None:
        if isinstance(event, Progress) and event.done > 100:
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(store, cluster, slow, on_event=interrupt)
    assert records(store) == {}
    assert list(store.root.rglob("*.pt")), "no checkpoint was left"
    assert time.monotonic() - began < SECONDS
    first: list[int] = []

    def watch(event: Event) -> None:
        if isinstance(event, Progress):
            first.append(event.done)

    assert run(store, cluster, slow, on_event=watch).completed == 1
    assert first[0] > 50, "it began again from nothing"
    assert records(store)["descent", 0].status is CellStatus.COMPLETED


def test_no_scheduler_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproaudit.running.dask_cluster.CONNECT_SECONDS", 0.5)
    with pytest.raises(TechnicalError, match="no scheduler answers"):
        DaskCluster("tcp://127.0.0.1:9", "cpu").__enter__()


@pytest.mark.slow
def test_a_killed_driver_loses_no_finished_cell(tmp_path: Path, cluster: Cluster) -> None:
    cluster.worker("one", "--nthreads", "1")
    cluster.worker("two", "--nthreads", "1")
    store, undisturbed = Store(tmp_path / "runs"), Store(tmp_path / "undisturbed")
    slow = ("--seeds", "6", "--pause", "0.005", "--steps", "150")
    driver = start(store.root, *slow, "--dask", cluster.address)
    assert driver.stdout is not None
    finished = (line for line in driver.stdout if line.startswith("CellFinished"))
    assert [next(finished) for _ in range(2)]
    time.sleep(random.uniform(0.0, 0.5))
    driver.kill()
    driver.communicate(timeout=SECONDS)
    kept = numbers(store)
    assert 2 <= len(kept) < 6
    wanted = [cell(seed=seed, pause=0.005, steps=150) for seed in range(6)]
    summary = run(store, cluster, *wanted)
    assert (summary.present, summary.failed) == (len(kept), 0)
    run(undisturbed, None, *wanted)
    assert numbers(store) == numbers(undisturbed)


def make_certificates(folder: Path, authority: Path | None = None) -> Path:
    """ca.pem, cert.pem and key.pem as docs/cluster.md makes them."""
    folder.mkdir()
    new = ("req", "-newkey", "rsa:2048", "-nodes")
    ca = authority or folder
    commands = [
        (*new, "-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"),
        (*new, "-subj", "/CN=reproaudit", "-keyout", "key.pem", "-out", "request.pem"),
        ("x509", "-req", "-days", "2", "-in", "request.pem", "-CA", str(ca / "ca.pem"),
         "-CAkey", str(ca / "ca.key"), "-CAcreateserial", "-out", "cert.pem"),
    ]  # fmt: skip
    for command in commands:
        subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)
    return folder


def certificates_in(folder: Path) -> dict[str, str]:
    """Dask's settings, as docs/cluster.md gives them in the environment."""
    names = {"ca-file": "ca", "client.cert": "cert", "client.key": "key"}
    return {
        f"distributed.comm.tls.{name}": str(folder / f"{file}.pem") for name, file in names.items()
    }


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_an_encrypted_cluster_takes_only_its_own_certificates(tmp_path: Path) -> None:
    tls, other = make_certificates(tmp_path / "tls"), make_certificates(tmp_path / "other")
    given = [
        f"--tls-{option}={tls / name}"
        for option, name in (("ca-file", "ca.pem"), ("cert", "cert.pem"), ("key", "key.pem"))
    ]
    cluster = Cluster(tmp_path / "cluster")
    try:
        cluster.scheduler("--protocol", "tls", *given)
        cluster.worker("one", "--nthreads", "1", *given)
        store = Store(tmp_path / "runs")
        with dask.config.set(certificates_in(tls)):
            executor = DaskCluster(cluster.address, "cpu")
            assert run_cells([cell()], locate, store, executor=executor).completed == 1
        for lacking in (certificates_in(other), {}):
            with (
                dask.config.set(lacking),
                pytest.raises(TechnicalError, match="no scheduler answers"),
            ):
                DaskCluster(cluster.address, "cpu").__enter__()
    finally:
        cluster.close()


@pytest.mark.parametrize(
    ("address", "is_so"),
    [
        ("tcp://127.0.0.1:8786", False),
        ("tcp://[::1]:8786", False),
        ("localhost:8786", False),
        ("tls://10.1.2.3:8786", False),
        ("@scheduler.json", False),
        ("tcp://10.1.2.3:8786", True),
        ("node7:8786", True),
    ],
)
def test_an_open_scheduler_beyond_this_machine_is_known(address: str, is_so: bool) -> None:
    assert is_open(address) is is_so
