"""How long people wait for `list`, `report`, `check` and `judge` of the shipped papers.

Every cell that the quick tier plans has a record, with made-up numbers of the declared shapes and
about the size of real ones. Each command is a process of its own. Beside
the wall-clock time stands the CPU time of the process, which other work on the machine changes
less. The tool's modules are compiled beforehand, as an installation leaves them. Run with
``make bench-scaling``.
"""

from __future__ import annotations

import compileall
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from reproaudit.audit.catalog import PACKAGE_FOLDER, Catalog, Entry
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import cells_of_tier
from reproaudit.cell import Cell
from reproaudit.declarations import Declaration, MeasurementKind
from reproaudit.records import CellStatus, Environment, Measurements, Record, Series
from reproaudit.store.code import closure_of, fingerprint, versions
from reproaudit.store.records import Store

OBSERVATIONS = 120
"""Steps of a series: a record then has about 30 kB, as the shipped papers' have."""


@dataclass(frozen=True)
class Wait:
    """One command.

    Attributes:
        command: as it is typed, without its folders.
        limit: the most seconds of wall-clock time on an idle machine; None for no limit.
        wall: what it took.
        cpu: the processor time that it took, its own processes' together.
    """

    command: str
    limit: float | None
    wall: float
    cpu: float


def made_up(audit: Audit, cell: Cell) -> Measurements:
    """Positive numbers below 1 that fall along training, the same for the same cell."""
    random = np.random.default_rng([cell.seed, len(cell.experiment)])
    found: dict[MeasurementKind, dict[str, Any]] = {kind: {} for kind in MeasurementKind}
    for name, declared in audit.measurements_of(cell.experiment).items():
        found[declared.kind][name] = _values(declared, cell, random)
    return Measurements(
        scalars=found[MeasurementKind.SCALAR],
        series=found[MeasurementKind.SERIES],
        arrays=found[MeasurementKind.ARRAY],
    )


def make_records(
    entry: Entry, store: Store, measure: Callable[[Audit, Cell], Measurements] = made_up
) -> int:
    """Writes a record of every cell of a paper's quick tier, as of today's code; how many."""
    audit, closure = entry.audit(), closure_of(entry.module)
    made_with = versions("cpu", closure.packages)
    packages = {k: v for k, v in made_with.items() if k not in ("python", "device")}
    environment = Environment(
        python=sys.version.split()[0],
        platform="made up",
        device="cpu",
        threads=1,
        packages=packages,
    )
    cells = cells_of_tier(audit, "quick")
    for cell in cells:
        record = Record(
            paper=cell.paper,
            tier=cell.tier,
            experiment=cell.experiment,
            settings=cell.settings,
            seed=cell.seed,
            status=CellStatus.COMPLETED,
            fingerprint=fingerprint(cell, closure.digest, made_with, {}),
            code=closure.digest,
            environment=environment,
            started=datetime(2026, 1, 1, tzinfo=UTC),
            seconds=1.0,
            measurements=measure(audit, cell),
        )
        store.write(record)
    return len(cells)


def _values(declared: Declaration, cell: Cell, random: np.random.Generator) -> Any:
    shape = declared.shape(cell.settings)
    level = 0.05 * np.exp(0.2 * random.normal(size=shape))
    if declared.kind is not MeasurementKind.SERIES:
        return level if shape else float(level)
    fall = np.exp(-np.linspace(0.0, 5.0, OBSERVATIONS)).reshape(-1, *[1] * len(shape))
    return Series(steps=tuple(range(OBSERVATIONS)), values=0.9 * fall + 0.1 * level)


def waits(root: Path) -> Iterator[Wait]:
    """Makes the records below a folder, then times the commands one after the other."""
    entries = list(Catalog().entries.values())
    store = Store(root / "runs")
    with patch.object(os, "fsync"):  # these records need survive no power cut
        count = sum(make_records(entry, store) for entry in entries)
    print(f"{len(entries)} papers, {count:,} records, {_megabytes(store.root):.0f} MB")
    slug = entries[0].slug
    yield _timed(root, "report --all", 4.0, "report", "--all", "--out", "reports")
    yield _timed(root, "report SLUG", None, "report", slug)
    yield _timed(root, "list", None, "list")
    yield _timed(root, "check SLUG", 0.5, "check", slug)
    missing = ("judge", slug, "--measurements", "nowhere")
    yield _timed(root, "judge SLUG, until it says what is missing", 0.5, *missing)


def _megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*.json")) / 1e6


def _timed(root: Path, name: str, limit: float | None, *words: str) -> Wait:
    store = ["--store", "runs"] if words[0] in ("report", "list") else []
    environment = {**os.environ, "COLUMNS": "100"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "reproaudit", *words, *store],
        cwd=root,
        env=environment,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Wait(name, limit, wall, cpu)


def main() -> int:
    """Prints how long each command takes; exit code 1 if one takes longer than its limit."""
    over = False
    compileall.compile_dir(PACKAGE_FOLDER, quiet=1)  # else every command may compile them again
    with tempfile.TemporaryDirectory() as folder:
        for one in waits(Path(folder).resolve()):
            limit = "" if one.limit is None else f" (limit {one.limit:g} s)"
            print(
                f"{one.command:<42} {one.wall:6.2f} s, {one.cpu:6.2f} s of CPU{limit}", flush=True
            )
            over |= one.limit is not None and one.wall > one.limit
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
