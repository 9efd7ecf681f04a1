"""Cells in blocks: submitit's own processes of this machine stand for the jobs of Slurm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cells import cell, locate, records, same_numbers
from reproaudit.running import slurm
from reproaudit.running.engines import BlockSize, Engine
from reproaudit.running.events import CellNote, Event, Summary
from reproaudit.running.executors import NO_LIMITS
from reproaudit.running.run import Anew, run_cells
from reproaudit.running.slurm import SlurmBlocks
from reproaudit.running.store import Store

pytest.importorskip("submitit", reason="the extra 'slurm' is not installed")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(slurm, "LOOK_SECONDS", 0.1)
    return


def run(store: Store, *wanted: Any, cells: int = 2, **how: Any) -> Summary:
    engine = Engine("slurm", "local", block=BlockSize(cells=cells))
    anew = Anew.now(store) if how.pop("fresh", False) else None
    leave = how.get("leave", False)
    executor = SlurmBlocks(engine, store, 1, NO_LIMITS, anew, leave)
    return run_cells(wanted, locate, store, executor=executor, fresh=anew or False, **how)


def numbers(store: Store) -> dict[tuple[str, int], dict[str, Any]]:
    return {name: same_numbers(record) for name, record in records(store).items()}


def test_the_same_bits_as_here_and_what_failed_is_counted(tmp_path: Path) -> None:
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
