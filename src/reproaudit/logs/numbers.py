"""Tables of numbers alone, read at once: a hundred times as fast as row by row.

Whatever else is in a table, or does not fit, is left to `reproaudit.logs.tables`, which reads any
table, and says in which line a fault is. What is read here is the same, bit by bit.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reproaudit.logs.columns import form_of
from reproaudit.logs.logged import (
    MAX_STEP,
    MOST_LOGGED_NAMES,
    MOST_LOGGED_RUNS,
    Curve,
    LoggedCoordinates,
    LoggedRun,
    LogSource,
    coordinates_of,
    number_of,
    refuse_beyond,
)
from reproaudit.logs.rows import Table, delimiter_of, refuse_large

_ELSEWHERE = re.compile(r"(?i)_step|wall time|.*__min")
"""Columns of tables that have more to them than numbers."""

_Rows = NDArray[np.float64]  # shape (row, column); NaN where a cell is empty


def number_runs(source: LogSource, text: str, usual: str) -> list[LoggedRun] | None:
    """Return the runs of a table that was handed in and holds numbers alone; None of another."""
    refuse_large(text, source.name)
    delimiter = delimiter_of(text, usual)
    head, _, body = text.partition("\n")
    columns = tuple(cell.strip() for cell in head.split(delimiter))
    asked = source.asked
    if not asked.plain or asked.numbered or not _is_plain(columns):
        return None
    form = form_of(source, Table(columns, ()))
    if form.like_seeds is not None or form.column("tag") is not None:
        return None
    rows = _numbers(body, delimiter, len(columns))
    if rows is None or not _is_counted(rows, form):
        return None
    runs: list[LoggedRun] = []
    for count, (seeds, own) in enumerate(_grouped(rows, form, "seed"), 1):
        refuse_beyond(MOST_LOGGED_RUNS, count, "runs", source.name)
        curves = _curves(source.name, own, form)
        if curves is None:
            return None
        seed = int(seeds[0]) if seeds else None
        run = source if seed is None else replace(source, name=f"{source.name} (seed {seed})")
        known = {"columns": form.words, "step": form.column("step")}
        runs.append(run.run("table", curves, seed=seed, **known))
    return runs


def _is_plain(columns: tuple[str, ...]) -> bool:
    """Tell whether a first line is a header of different names, and nothing else."""
    return (
        all(columns)
        and len(columns) <= MOST_LOGGED_NAMES
        and len(set(columns)) == len(columns)
        and not columns[0].startswith("#")
        and not any('"' in column or _ELSEWHERE.fullmatch(column) for column in columns)
        and any(number_of(column) is None for column in columns)
    )


def _numbers(body: str, delimiter: str, width: int) -> _Rows | None:
    """Return the rows below the header; None if they hold anything but numbers and empty cells."""
    gap = re.escape(delimiter)
    has_gaps = re.search(rf"(?m){gap}(?={gap}|\r?$)|^{gap}", body) is not None
    if has_gaps and "nan" in body.lower():
        return None  # a number that is none is no empty cell
    if has_gaps:
        body = re.sub(rf"(?m)(?<={gap})(?={gap}|\r?$)|^(?={gap})", "nan", body)
    if not body.strip():
        return None
    try:
        rows = np.loadtxt(io.StringIO(body), delimiter=delimiter, comments=None, ndmin=2)
    except ValueError:
        return None
    absent = np.isnan(rows)
    whole = not absent.all(axis=1).any() if has_gaps else not absent.any()
    return rows if rows.shape[1] == width and whole else None


def _of_role(rows: _Rows, form: Table, role: str) -> _Rows:
    return rows[:, [form.columns.index(column) for column in form.having(role)]]


def _is_counted(rows: _Rows, form: Table) -> bool:
    """Tell whether seeds and steps are whole numbers within their limits, and axes have places."""
    for role, least, most in (("seed", 0, 2**32 - 1), ("step", -MAX_STEP, MAX_STEP)):
        numbers = _of_role(rows, form, role)
        whole = (numbers == np.floor(numbers)) & (numbers >= least) & (numbers <= most)
        if not whole.all():
            return False
    return not np.isnan(_of_role(rows, form, "axis")).any()


def _grouped(rows: _Rows, form: Table, role: str) -> Iterator[tuple[list[float], _Rows]]:
    """Yield what a role's columns hold, and the rows that hold it, in the order of the table."""
    told = _of_role(rows, form, role)
    if not told.shape[1]:
        yield [], rows
        return
    cells, first, which = np.unique(told, axis=0, return_index=True, return_inverse=True)
    which = which.ravel()
    sizes = np.bincount(which, minlength=len(cells))
    parts = np.split(np.argsort(which, kind="stable"), np.cumsum(sizes)[:-1])
    for group in np.argsort(first):
        yield cells[group].tolist(), rows[parts[group]]


def _curves(
    place: str, rows: _Rows, form: Table
) -> dict[str, dict[LoggedCoordinates, Curve]] | None:
    """Return the curves of one run; None if its steps do not increase."""
    measured = form.named("measurement")
    curves: dict[str, dict[LoggedCoordinates, Curve]] = {name: {} for name in measured}
    for coordinates, own in _grouped(rows, form, "axis"):
        at = coordinates_of(dict(zip(form.named("axis"), coordinates, strict=True)))
        counted = _of_role(own, form, "step").astype(np.int64)
        steps = counted[:, 0] if counted.size else None
        if len(own) > 1 and (steps is None or not (np.diff(steps) > 0).all()):
            return None
        for name, values in zip(measured, _of_role(own, form, "measurement").T, strict=True):
            curves[name][at] = _curve(place, steps, values)
    return {name: at for name, at in curves.items() if any(len(c.values) for c in at.values())}


def _curve(place: str, steps: NDArray[np.int64] | None, values: NDArray[np.float64]) -> Curve:
    observed = ~np.isnan(values)
    known = np.flatnonzero(observed)
    if steps is None or not known.size:
        emptied = () if steps is None else tuple(steps[steps > 0].tolist())
        return Curve(place, None, values[observed], emptied=emptied)
    emptied = tuple(steps[known[-1] + 1 :].tolist())
    return Curve(place, steps[observed], values[observed], emptied=emptied)
