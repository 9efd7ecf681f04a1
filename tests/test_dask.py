"""Cells on the workers of a real Dask scheduler of this machine."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from cells import cell, locate, namesake, numbers, records
from reproaudit.errors import TechnicalError, UsageError
from reproaudit.run.cells import run_cells
from reproaudit.run.events import CellNote, Event, Progress, Summary
from reproaudit.store.records import Store

pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
import distributed

from reproaudit.run.executors.dask import DaskWorkers

HERE = "127.0.0.1"


def run(store: Store, executor: DaskWorkers | None, *wanted: Any, **how: Any) -> Summary:
    return run_cells(wanted, locate, store, executor=executor, **how)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    before = dict(os.environ)
    size = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0}
    with distributed.LocalCluster(**size, host=HERE, dashboard_address=f"{HERE}:0") as one:
        os.environ.clear()  # it has changed the order of sets for what is started from here
        os.environ.update(before)
        yield one


def test_the_same_bits_as_here_without_a_shared_folder(tmp_path, cluster):
    wanted = [cell(seed=0), cell("sums", seed=1), cell("chance", seed=2)]
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    run(here, None, *wanted)
    seen: list[Event] = []
    executor = DaskWorkers(cluster.scheduler_address)
    assert run(there, executor, *wanted, on_event=seen.append).completed == 3
    assert numbers(there) == numbers(here)
    assert {event.cell.seed for event in seen if isinstance(event, Progress)} == {0, 1, 2}
    assert run(there, executor, *wanted).present == 3


def killing(executor: DaskWorkers, times: int) -> Any:
    """Takes events, and kills the Dask worker of the first cells that report progress."""
    left = [times]

    def take(event: Event) -> None:
        if isinstance(event, Progress) and event.done > 0 and left[0]:
            left[0] -= 1
            tasks = executor._client.processing()
            (address,) = [name for name, keys in tasks.items() if keys]
            (pid,) = executor._client.run(os.getpid, workers=[address]).values()
            os.kill(pid, signal.SIGKILL)

    return take


@pytest.mark.process
def test_a_cell_whose_worker_is_killed_starts_anew(tmp_path, cluster):
    slow = cell(pause=0.02, steps=100)
    executor = DaskWorkers(cluster.scheduler_address)
    store, calm = Store(tmp_path / "runs"), Store(tmp_path / "calm")
    assert run(store, executor, slow, on_event=killing(executor, 1)).completed == 1
    run(calm, None, slow)
    assert numbers(store) == numbers(calm)


@pytest.mark.process
def test_a_cell_that_takes_two_workers_with_it_has_failed(tmp_path):
    executor = DaskWorkers("local")
    store = Store(tmp_path / "runs")
    slow = cell(pause=0.02, steps=100)
    assert run(store, executor, slow, on_event=killing(executor, 3)).failed == 1
    assert "Dask workers died" in str(records(store)["descent", 0].error)


@pytest.mark.process
def test_a_cell_that_ends_its_process_twice_has_failed_and_the_dask_worker_lives(tmp_path, cluster):
    store = Store(tmp_path / "runs")
    notes: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, CellNote):
            notes.append(event.text)

    before = set(cluster.scheduler_info["workers"])
    executor = DaskWorkers(cluster.scheduler_address)
    assert run(store, executor, cell("dies"), on_event=listen).failed == 1
    assert "killed by signal" in str(records(store)["dies", 0].error)
    assert [note for note in notes if note.startswith("run again")]
    assert set(cluster.scheduler_info["workers"]) == before


@pytest.mark.process
def test_a_worker_with_several_threads_is_refused(tmp_path):
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
        ) as wide,
        pytest.raises(UsageError, match="has 2 threads, and a cell has one"),
    ):
        run(Store(tmp_path / "runs"), DaskWorkers(wide.scheduler_address), cell())


def test_no_scheduler_is_one_clear_line(monkeypatch):
    monkeypatch.setattr("reproaudit.run.executors.dask.CONNECT_SECONDS", 0.5)
    with pytest.raises(TechnicalError, match="no scheduler with a worker"):
        DaskWorkers("tcp://127.0.0.1:9").__enter__()


@pytest.mark.process
def test_a_worker_that_is_started_here_imports_nothing_from_the_working_folder(
    tmp_path, monkeypatch
):
    imported = namesake(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run(Store(tmp_path / "runs"), DaskWorkers("local"), cell()).completed == 1
    assert not imported.exists()
