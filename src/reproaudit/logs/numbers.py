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

from reproaudit.logs.columns import TableForm, form_of
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

_ELSEWHERE = re.compile(r"(?i)tag|value|_step|wall time|.*__min")
"""Columns of tables that have more to them than numbers."""

_Rows = NDArray[np.float64]
"""Shape (row, column); NaN where a cell is empty."""


def number_runs(source: LogSource, text: str, usual: str) -> list[LoggedRun] | None:
    """Return the runs of a table that was handed in and holds numbers alone; None of another.

    Args:
        source: the file, named as its run.
        text: what it holds.
        usual: the delimiter of cells, unless another fits better.
    """
    refuse_large(text, source.name)
    delimiter = delimiter_of(text, usual)
    head, _, body = text.partition("\n")
    columns = tuple(cell.strip() for cell in head.split(delimiter))
    form = form_of(source, Table(columns, ())) if _is_plain(columns) else None
    asked = source.asked
    if not asked.plain or asked.numbered or form is None or form.like_seeds is not None:
        return None
    rows = _numbers(body, delimiter, len(columns))
    if rows is None or not _is_counted(rows, columns, form):
        return None
    runs: list[LoggedRun] = []
    for number, (seed, own) in enumerate(_by_seed(rows, columns, form), 1):
        refuse_beyond(MOST_LOGGED_RUNS, number, "runs", source.name)
        curves = _curves(source.name, own, columns, form)
        if curves is None:
            return None
        known = {"columns": form.words, "step": form.column("step")}
        run = source if seed is None else replace(source, name=f"{source.name} (seed {seed})")
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
    """The rows below the header; None if they hold anything but numbers and empty cells."""
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


def _is_counted(rows: _Rows, columns: tuple[str, ...], form: TableForm) -> bool:
    """Tell whether seeds and steps are whole numbers within their limits, and axes have places."""
    for role, least, most in (("seed", 0, 2**32 - 1), ("step", -MAX_STEP, MAX_STEP)):
        column = form.column(role)
        numbers = rows[:, columns.index(column)] if column is not None else np.zeros(0)
        whole = (numbers == np.floor(numbers)) & (numbers >= least) & (numbers <= most)
        if not whole.all():
            return False
    places = rows[:, [columns.index(column) for column in form.named("axis").values()]]
    return not np.isnan(places).any()


def _by_seed(
    rows: _Rows, columns: tuple[str, ...], form: TableForm
) -> Iterator[tuple[int | None, _Rows]]:
    """Yield the rows of each seed, in the order in which seeds come."""
    column = form.column("seed")
    if column is None:
        yield None, rows
        return
    for seed, own in _alike(rows[:, columns.index(column)], rows):
        yield int(seed), own


def _alike(values: NDArray[np.float64], rows: _Rows) -> Iterator[tuple[float, _Rows]]:
    """Yield the rows of each value, in the order in which values come."""
    found, first, which = np.unique(values, return_index=True, return_inverse=True)
    sizes = np.bincount(which, minlength=len(found))
    parts = np.split(np.argsort(which, kind="stable"), np.cumsum(sizes)[:-1])
    for place in np.argsort(first):
        yield float(found[place]), rows[parts[place]]


def _curves(
    place: str, rows: _Rows, columns: tuple[str, ...], form: TableForm
) -> dict[str, dict[LoggedCoordinates, Curve]] | None:
    """The curves of one run; None if its steps do not increase."""
    measured = form.named("measurement")
    step = form.column("step")
    found: dict[str, dict[LoggedCoordinates, Curve]] = {name: {} for name in measured}
    for at, own in _by_axes(rows, columns, form):
        steps = None if step is None else own[:, columns.index(step)].astype(np.int64)
        if len(own) > 1 and (steps is None or not (np.diff(steps) > 0).all()):
            return None
        for name, column in measured.items():
            values = own[:, columns.index(column)]
            found[name][coordinates_of(at)] = _curve(place, steps, values)
    return {
        name: at for name, at in found.items() if any(len(curve.values) for curve in at.values())
    }


def _by_axes(
    rows: _Rows, columns: tuple[str, ...], form: TableForm
) -> Iterator[tuple[dict[str, float], _Rows]]:
    """Yield the rows at each place along all axes, in the order in which places come."""
    axes = form.named("axis")
    if not axes:
        yield {}, rows
        return
    places = rows[:, [columns.index(column) for column in axes.values()]]
    found, which = np.unique(places, axis=0, return_inverse=True)
    for place, own in _alike(which.ravel().astype(float), rows):
        yield dict(zip(axes, found[int(place)].tolist(), strict=True)), own


def _curve(place: str, steps: NDArray[np.int64] | None, values: NDArray[np.float64]) -> Curve:
    observed = ~np.isnan(values)
    known = np.flatnonzero(observed)
    if steps is None or not known.size:
        emptied = () if steps is None else tuple(steps[steps > 0].tolist())
        return Curve(place, None, values[observed], emptied=emptied)
    emptied = tuple(steps[known[-1] + 1 :].tolist())
    return Curve(place, steps[observed], values[observed], emptied=emptied)
