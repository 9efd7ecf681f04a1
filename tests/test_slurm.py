"""Cells in blocks: submitit's own processes of this machine stand for the jobs of Slurm."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from cells import InProcess, cell, locate, namesake, numbers, records
from reproaudit.run.cells import Anew, plan_jobs, run_cells
from reproaudit.run.events import CellFinished, CellNote, Event, Summary
from reproaudit.run.executors import slurm
from reproaudit.run.executors.engines import BlockSize, Engine
from reproaudit.run.executors.local import NO_LIMITS
from reproaudit.run.executors.slurm import CellBlock, Noted, SlurmBlocks, blocks_of
from reproaudit.store.records import Store

pytest.importorskip("submitit", reason="the extra 'slurm' is not installed")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(slurm, "NOTES_SECONDS", 0.1)
    return


def run(store: Store, *wanted: Any, cells: int = 2, **how: Any) -> Summary:
    engine = Engine("slurm", "local", block=BlockSize(cells=cells))
    anew = Anew.now(store) if how.pop("fresh", False) else None
    executor = SlurmBlocks(engine, store, 1, NO_LIMITS, anew, leave=False)
    return run_cells(wanted, locate, store, executor=executor, fresh=anew or False, **how)


def test_the_same_bits_as_here_and_what_failed_is_counted(tmp_path):
    wanted = [cell(seed=0), cell("chance", seed=1), cell("broken", seed=2)]
    here = Store(tmp_path / "here")
    there = Store(tmp_path / "there")
    run_cells(wanted, locate, here)
    events: list[Event] = []
    summary = run(there, *wanted, on_event=events.append)
    assert (summary.completed, summary.failed, summary.left.total()) == (2, 1, 0)
    assert numbers(there) == numbers(here)
    assert [event for event in events if isinstance(event, CellNote)]
    assert set(there.listed("toy2020", "quick").values()) == {True}
    assert run(there, *wanted[:2]).present == 2


def test_a_block_that_is_cut_off_goes_on_with_what_has_no_record(tmp_path, monkeypatch):
    store = Store(tmp_path)
    jobs = tuple(plan_jobs([cell(seed=seed) for seed in range(3)], locate, store, "cpu"))
    block = CellBlock(store.root, jobs, 1, NO_LIMITS, None, tmp_path / "notes")
    noted = Noted(block)
    monkeypatch.setattr(slurm, "LocalProcesses", lambda *_: InProcess())
    note = CellBlock._note

    def cut(self: CellBlock, event: Event) -> None:
        note(self, event)
        if isinstance(event, CellFinished) and event.cell.seed == 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CellBlock, "_note", cut)
        with pytest.raises(KeyboardInterrupt):
            block()
    assert [job.cell.seed for job, _ in noted.events()] == [0, 1]
    again = block.checkpoint()
    again.function()
    assert [job.cell.seed for job, _ in noted.events()] == [2]
    assert noted.waiting == {}
    assert len(store.manifest.file.read_text().splitlines()) == 3


@pytest.mark.process
def test_a_job_that_ends_before_its_cells_makes_them_failed_until_the_next_run(
    tmp_path, monkeypatch
):
    store = Store(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(slurm, "CellBlock", NoBlock)
        assert run(store, cell()).failed == 1
    error = str(records(store)["descent", 0].error)
    assert re.search(r"^job \d+ ended before it did; see /.*_log\.err$", error)
    assert run(store, cell()).completed == 1


class NoBlock(CellBlock):
    def __call__(self) -> None:
        return


@pytest.mark.process
def test_cells_are_left_to_the_queue(tmp_path):
    store = Store(tmp_path)
    wanted = [cell(seed=0), cell(seed=1)]
    executor = SlurmBlocks(Engine("slurm", "local"), store, 1, NO_LIMITS, None, leave=True)
    summary = run_cells(wanted, locate, store, executor=executor)
    assert (summary.completed, summary.left["toy2020"]) == (0, 2)
    for job in executor._submitted:
        job.result()
    assert {seed for _, seed in records(store)} == {0, 1}


@pytest.mark.process
def test_a_job_imports_nothing_from_the_working_folder(tmp_path, monkeypatch):
    imported = namesake(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run(Store(tmp_path / "runs"), cell()).completed == 1
    assert not imported.exists()


# --- blocks -------------------------------------------------------------------------------------


def sizes(store: Store, size: BlockSize, *wanted: Any) -> list[int]:
    jobs = plan_jobs(wanted, locate, store, "cpu")
    return [len(block) for block in blocks_of(jobs, size, store)]


def test_blocks_have_so_many_cells_and_an_array_has_no_more_than_slurm_takes(tmp_path, monkeypatch):
    wanted = [cell(seed=seed) for seed in range(10)]
    store = Store(tmp_path)
    assert sizes(store, BlockSize(cells=4), *wanted) == [4, 4, 2]
    monkeypatch.setattr(slurm, "MOST_BLOCKS", 3)
    assert sizes(store, BlockSize(cells=1), *wanted) == [4, 4, 2]


def test_blocks_take_so_long_as_the_last_records_of_their_cells_say(tmp_path):
    store = Store(tmp_path)
    known = cell(seed=0)
    run_cells([known], locate, store, executor=InProcess())
    (record,) = records(store).values()
    store.write(record.model_copy(update={"seconds": 10.0}))
    wanted = [cell(seed=seed) for seed in range(1, 6)]
    assert sizes(store, BlockSize(seconds=25.0), *wanted) == [2, 2, 1]
    assert sizes(store, BlockSize(seconds=5.0), *wanted) == [1] * 5
    unknown = [cell(seed=seed, steps=41) for seed in range(3)]
    assert sizes(store, BlockSize(seconds=25.0), *unknown) == [1] * 3
