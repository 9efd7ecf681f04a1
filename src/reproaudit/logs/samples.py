"""Why the rows of a table are not all that was logged: samples, sums over steps, means of runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from reproaudit.logs.logged import CurveBuilder, number_of
from reproaudit.logs.rows import Table, is_observed

WANDB_SAMPLES = 500
"""The rows that W&B's ``run.history()`` draws unless it is told otherwise."""
RESERVOIR = 1000
"""The points of a series that TensorBoard keeps unless it is told otherwise."""
_WITH_DEVIATION = re.compile(r"\s*[-+]?[\d.,]+\s*%?\s*(±|\+/-|\\pm)\s*[\d.,]+\s*%?\s*")
_MEAN = re.compile(r"(?i)(.*?)[ _.-]?(mean|avg|average)[ _.-]?(.*)")
_DEVIATION = re.compile(r"(?i)(.*?)[ _.-]?(std|stdev|stddev|sd|sem|stderr|ci)[ _.-]?(.*)")


def aggregated(table: Table, apart: str | None) -> str | None:
    """Say that a table holds means of runs, if it does; `apart` is what tells its runs apart."""
    wanted = (
        "expected the number of each run, since an answer counts runs. Hand in the table from "
        "which the means were taken, a row for each seed."
    )
    for line, row in table.rows:
        for column, cell in row.items():
            if isinstance(cell, str) and _WITH_DEVIATION.fullmatch(cell):
                found = f"found '{cell.strip()}' under '{column}' in line {line}"
                return f"{found}, a mean with a deviation; {wanted}"
    if apart is not None:
        return None
    means = {m.group(1) + m.group(3): one for one in table.columns if (m := _MEAN.fullmatch(one))}
    for one in table.columns:
        matched = _DEVIATION.fullmatch(one)
        if matched and (mean := means.get(matched.group(1) + matched.group(3))):
            return f"found means and deviations ('{mean}', '{one}'); {wanted}"
    return None


def sampled(table: Table, runs: Iterable[CurveBuilder]) -> tuple[str, ...]:
    """Tell why the rows of an export are not all that was logged."""
    columns = table.columns
    for line, row in table.rows if any(one.endswith("__MIN") for one in columns) else ():
        for column, cell in row.items():
            most = number_of(row.get(f"{column.removesuffix('__MIN')}__MAX"))
            if column.endswith("__MIN") and is_observed(cell) and number_of(cell) != most:
                return (
                    "exported from W&B's page, which sums several steps or runs up in one row "
                    f"(__MIN and __MAX differ in line {line}): export run.scan_history()",
                )
    if "Wall time" not in columns and "_step" not in columns:
        return ()
    longest = max((sorted(one.all_steps()) for one in runs), key=len)
    if "Wall time" in columns and len(longest) >= RESERVOIR:
        return (
            f"exported from TensorBoard's page, which keeps a random {RESERVOIR} points of "
            "a series (its reservoir): import the event files themselves",
        )
    gaps = {b - a for a, b in pairwise(longest)}
    if "_step" in columns and (len(gaps) > 1 or (len(longest) == WANDB_SAMPLES and gaps != {1})):
        return (
            f"its {len(longest)} rows up to step {max(longest)} have gaps in _step, as the "
            "sample has that W&B's run.history() draws: export run.scan_history()",
        )
    return ()
