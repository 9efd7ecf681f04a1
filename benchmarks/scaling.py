"""The runner alone: how long it plans, what it costs per cell, how it scales, how much it holds.

The cells compute nothing (overhead), or wait for a while (scaling), so that what is measured is
the runner and not a paper. Run with ``make bench-scaling``.

* planning: `run_cells` on 10,000 cells up to its event that the plan is ready; below 2 s.
* overhead: wall-clock time per cell that computes nothing, one worker; below 20 ms.
* found again: planning per cell that has its record already, which is read and checked.
* throughput: cells of 50 ms per second with 1, 2, 4 … workers, beside the ideal, once every worker
  has started; and how long starting takes.
* memory: by how much the peak of what Python holds grows from the first half of 2,000 cells to the
  second; below 600 bytes a cell: the store's manifest, against which every record is read, holds a
  path and a digest for each, and nothing else may grow.

After that come the waits of people with the shipped papers in the store (`benchmarks.looking`).
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import looking
from reproaudit.audit.catalog import Module
from reproaudit.cell import Cell
from reproaudit.lab.experiment import Experiment, Session
from reproaudit.records import Measurements
from reproaudit.run.cells import run_cells
from reproaudit.run.devices import available_cores
from reproaudit.run.events import CellFinished, Event, PlanReady
from reproaudit.store.records import Store

HERE = Path(__file__).parent
PLANNED, EMPTY, HELD, WAITING = 10_000, 400, 2_000, 60
CELL_SECONDS = 0.05
LIMITS = {"plan_s": 2.0, "overhead_ms": 20.0, "bytes_per_cell": 600.0}


@dataclass(frozen=True)
class Settings:
    """How long a cell waits, in seconds."""

    pause: float


def measure(settings: Settings, session: Session) -> Measurements:
    time.sleep(settings.pause)
    return Measurements(scalars={"seed": float(session.seed)})


EXPERIMENTS = {"wait": Experiment(Settings, measure)}


def locate(_paper: str) -> Module:
    return Module("benchmarks.scaling", Path(__file__))


def cells(count: int, pause: float = 0.0) -> list[Cell]:
    return [Cell("scaling", "quick", "wait", {"pause": pause}, seed) for seed in range(count)]


class _PlannedError(Exception):
    """Ends a run once it is planned."""


def plan_seconds(root: Path, many: int = PLANNED) -> float:
    def stop(event: Event) -> None:
        if isinstance(event, PlanReady):
            raise _PlannedError

    wanted = cells(many)
    began = time.perf_counter()
    try:
        run_cells(wanted, locate, Store(root), on_event=stop)
    except _PlannedError:
        return time.perf_counter() - began
    raise AssertionError("the run was never planned")


def overhead_seconds(root: Path) -> float:
    """Per cell that computes nothing, from the plan to the last record."""
    began: list[float] = []

    def note(event: Event) -> None:
        if isinstance(event, PlanReady):
            began.append(time.perf_counter())

    run_cells(cells(EMPTY), locate, Store(root), on_event=note)
    return (time.perf_counter() - began[0]) / EMPTY


def throughput(root: Path, workers: int) -> tuple[float, float]:
    """Seconds until every worker has started, and cells per second from then on."""
    times: list[float] = []

    def note(event: Event) -> None:
        if isinstance(event, PlanReady | CellFinished):
            times.append(time.perf_counter())

    wanted = cells(WAITING * workers, CELL_SECONDS)
    run_cells(wanted, locate, Store(root), jobs=workers, on_event=note)
    started = WAITING * workers // 2  # by then the slowest worker has begun
    rate = (len(times) - 1 - started) / (times[-1] - times[started])
    return times[1] - times[0], rate


def growth_bytes(root: Path) -> float:
    """Per cell: by how much the peak of what Python holds grows while cells run."""
    peaks: list[int] = []
    finished = 0

    def note(event: Event) -> None:
        nonlocal finished
        finished += isinstance(event, CellFinished)
        if isinstance(event, CellFinished) and finished % (HELD // 2) == 0:
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.reset_peak()
        elif isinstance(event, PlanReady):
            tracemalloc.reset_peak()

    run_cells(cells(1), locate, Store(root / "warm"))
    tracemalloc.start()
    try:
        run_cells(cells(HELD), locate, Store(root / "held"), on_event=note)
    finally:
        tracemalloc.stop()
    first, second = peaks
    return (second - first) / (HELD // 2)


def bench() -> dict[str, Any]:
    """Every figure; times are medians of three."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        plans = [plan_seconds(root / f"plan{i}") for i in range(3)]
        empty = [overhead_seconds(root / f"empty{i}") for i in range(3)]
        again = [plan_seconds(root / f"empty{i}", EMPTY) / EMPTY for i in range(3)]
        counts = [n for n in (1, 2, 4, 8, 16) if n <= max(2, available_cores())]
        rates = {n: throughput(root / f"workers{n}", n) for n in counts}
        growth = growth_bytes(root)
    return {
        "cores": available_cores(),
        "plan_s": statistics.median(plans),
        "overhead_ms": 1e3 * statistics.median(empty),
        "found_again_ms": 1e3 * statistics.median(again),
        "bytes_per_cell": growth,
        "start_s": {n: start for n, (start, _) in rates.items()},
        "cells_per_s": {n: rate for n, (_, rate) in rates.items()},
    }


def main() -> int:
    """Prints the figures; exit code 1 if one is over its limit."""
    figures = bench()
    print(f"plan of {PLANNED:,} cells      {figures['plan_s']:.2f} s (limit 2 s)")
    print(f"overhead per cell         {figures['overhead_ms']:.2f} ms (limit 20 ms)")
    print(f"a cell found again        {figures['found_again_ms']:.2f} ms")
    print(f"memory growth per cell    {figures['bytes_per_cell']:.0f} bytes (limit 600)")
    for workers, rate in figures["cells_per_s"].items():
        share = rate * CELL_SECONDS / workers
        start = figures["start_s"][workers]
        print(
            f"{workers:>2} workers, 50 ms cells   {rate:.1f} cells/s, {share:.0%} of the ideal; "
            f"first record after {start:.1f} s"
        )
    (HERE / "scaling.json").write_text(json.dumps(figures, indent=2) + "\n")
    over = [name for name, limit in LIMITS.items() if figures[name] > limit]
    return int(bool(over)) | looking.main()


if __name__ == "__main__":
    sys.exit(main())
