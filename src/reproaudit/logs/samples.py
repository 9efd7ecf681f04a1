"""Why the rows of a table are not all that was logged: samples, sums over steps, means of runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from reproaudit.logs.logged import CurveBuilder, number_of
from reproaudit.logs.rows import Table, TableRow, is_observed

WANDB_SAMPLES = 500
"""The rows that W&B's ``run.history()`` draws unless it is told otherwise."""
RESERVOIR = 1000
"""The points of a series that TensorBoard keeps unless it is told otherwise."""
_WITH_DEVIATION = re.compile(r"\s*[-+]?[\d.,]+\s*%?\s*(±|\+/-|\\pm)\s*[\d.,]+\s*%?\s*")
_MEAN = re.compile(r"(?i)(.*?)[ _.-]?(mean|avg|average)[ _.-]?(.*)")
_DEVIATION = re.compile(r"(?i)(.*?)[ _.-]?(std|stdev|stddev|sd|sem|stderr|ci)[ _.-]?(.*)")


def aggregated(table: Table, apart: str | None) -> str | None:
    """Say that a table holds means of runs, if it does; `apart` is what tells its runs apart."""
    for line, row in table.rows:
        for column, cell in row.items():
            if isinstance(cell, str) and _WITH_DEVIATION.fullmatch(cell):
                found = f"found '{cell.strip()}' under '{column}' in line {line}"
                return f"{found}, a mean with a deviation; {_RUNS_WANTED}"
    if apart is not None:
        return None
    means = {m.group(1) + m.group(3): one for one in table.columns if (m := _MEAN.fullmatch(one))}
    for one in table.columns:
        matched = _DEVIATION.fullmatch(one)
        mean = matched and means.get(matched.group(1) + matched.group(3))
        if mean:
            return f"found means and deviations ('{mean}', '{one}'); {_RUNS_WANTED}"
    return None


_RUNS_WANTED = (
    "expected the number of each run, since an answer counts runs. Hand in the table from which "
    "the means were taken, a row for each seed."
)


def sampled(table: Table, runs: Iterable[CurveBuilder]) -> tuple[str, ...]:
    """Tell why the rows of an export are not all that was logged."""
    columns = table.columns
    if line := _summed(table.rows):
        return (
            f"exported from W&B's page, which sums several steps or runs up in one row (__MIN and "
            f"__MAX differ in line {line}): export run.scan_history()",
        )
    if "Wall time" not in columns and "_step" not in columns:
        return ()
    longest = max((one.all_steps() for one in runs), key=len, default=np.array([], dtype=np.int64))
    if "Wall time" in columns and len(longest) >= RESERVOIR:
        return (
            f"exported from TensorBoard's page, which keeps a random {RESERVOIR} points of "
            "a series (its reservoir): import the event files themselves",
        )
    gaps = _gaps(longest)
    if "_step" in columns and (len(gaps) > 1 or (len(longest) == WANDB_SAMPLES and gaps != [1])):
        return (
            f"its {len(longest)} rows up to step {max(longest)} have gaps in _step, as the "
            "sample has that W&B's run.history() draws: export run.scan_history()",
        )
    return ()


def _gaps(steps: NDArray[np.int64]) -> list[int]:
    found: list[int] = np.unique(np.diff(steps)).tolist()
    return found


def _summed(rows: Sequence[tuple[int, TableRow]]) -> int | None:
    """Return the first line in which a smallest and a largest value differ."""
    for line, row in rows:
        for column, cell in row.items():
            if column.endswith("__MIN") and is_observed(cell):
                other = row.get(f"{column[:-5]}__MAX")
                if number_of(cell) != number_of(other):
                    return line
    return None
