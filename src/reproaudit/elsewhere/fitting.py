"""Checks numbers from elsewhere against the audit's declarations: kind, axes, shape, steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.checks.measurements import Coordinate, Declaration, MeasurementKind
from reproaudit.elsewhere.files import Block, Found, Table, TableRow
from reproaudit.elsewhere.misfit import Misfits, clipped
from reproaudit.errors import did_you_mean
from reproaudit.records import Measurements, Series

MOST_STEPS = 2**53
"""Beyond it a step is no exact number of double precision."""


def fit(
    found: Found,
    declared: Mapping[str, Declaration],
    settings: Mapping[str, Any],
    diverged: bool,
    misfits: Misfits,
) -> Measurements:
    """The measurements of one run that fit their declarations; faults are added to `misfits`.

    Those of a run that diverged are whole: numbers that are not finite are yet to be cut off.

    Args:
        found: the numbers by name.
        declared: the declarations of the experiment's measurements.
        settings: of the run, which may hold coordinates of axes.
        diverged: whether numbers may be NaN or infinite.
        misfits: takes the faults.
    """
    scalars: dict[str, float] = {}
    series: dict[str, Series] = {}
    arrays: dict[str, NDArray[np.float64]] = {}
    for name, one in found.items():
        if name not in declared:
            short = clipped(name, 80)
            misfits.add(
                one.place,
                f"found the measurement '{short}', which the experiment does not declare. "
                f"{did_you_mean(short, declared)}",
            )
            continue
        declaration = declared[name]
        block = one if isinstance(one, Block) else None
        if isinstance(one, Table) and _lines_are_finite(one, diverged, misfits):
            block = _of_table(one, name, declaration, settings, misfits)
        if block is None or not _fits(block, name, declaration, settings, diverged, misfits):
            continue
        if declaration.kind is MeasurementKind.SCALAR:
            scalars[name] = float(block.values)
        elif declaration.kind is MeasurementKind.ARRAY:
            arrays[name] = block.values
        else:
            series[name] = Series(steps=tuple(map(int, block.steps or ())), values=block.values)
    return Measurements(scalars=scalars, series=series, arrays=arrays)


def _fits(
    block: Block,
    name: str,
    declaration: Declaration,
    settings: Mapping[str, Any],
    diverged: bool,
    misfits: Misfits,
) -> bool:
    """True if a block has the declared kind, steps, shape and finite numbers."""
    stepped = declaration.kind is MeasurementKind.SERIES
    if stepped and block.steps is None:
        misfits.add(block.place, f"found no steps of '{name}'; expected a series over steps.")
        return False
    values, shape = block.values, declaration.shape(settings)
    expected = (len(block.steps or ()), *shape) if stepped else shape
    if values.shape != expected:
        misfits.add(
            block.place,
            f"found shape {_shape(values.shape)} of '{name}'; expected {_shape(expected)}: "
            f"{_axes(declaration, settings, stepped)}.",
        )
        return False
    fault = _steps_fault(block.steps or ()) if stepped else None
    if fault:
        misfits.add(block.place, f"{fault}; the steps of '{name}' are whole numbers that increase.")
        return False
    if not diverged and not np.isfinite(values).all():
        index = ", ".join(map(str, np.argwhere(~np.isfinite(values))[0]))
        misfits.add(
            block.place,
            f"found a number of '{name}' that is not finite, at [{index}]; expected finite ones. "
            "If the run diverged, write 'status: diverged'.",
        )
        return False
    return True


def _shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))})" if shape else "a single number"


def _axes(declaration: Declaration, settings: Mapping[str, Any], stepped: bool) -> str:
    named = ["step"] if stepped else []
    for axis in declaration.axes:
        coordinates = [str(c) for c in axis.coordinates(settings)]
        listed = ", ".join(coordinates[:8]) + (", …" if len(coordinates) > 8 else "")
        named.append(f"{axis.name} [{listed}]")
    return " by ".join(named) or "no axes"


def _steps_fault(steps: Sequence[Any]) -> str | None:
    if not steps:
        return "found no steps"
    for step in steps:
        if isinstance(step, bool) or not isinstance(step, int | float) or step != step // 1:
            return f"found the step {str(step)[:40]}"
        if not 0 <= step <= MOST_STEPS:
            return f"found the step {str(step)[:40]}, below 0 or beyond 2^53"
    for before, after in itertools.pairwise(steps):
        if after <= before:
            return f"found the step {after} after {before}"
    return None


# --- tables ---------------------------------------------------------------------------------------


def _lines_are_finite(table: Table, diverged: bool, misfits: Misfits) -> bool:
    bad = [row for row in table.rows if not np.isfinite(row.value)]
    if diverged or not bad:
        return True
    misfits.add(
        f"{table.place}:{bad[0].line}",
        f"found {bad[0].value}; expected a finite number. If the run diverged, write 'status: "
        "diverged'.",
    )
    return False


def _of_table(
    table: Table,
    name: str,
    declaration: Declaration,
    settings: Mapping[str, Any],
    misfits: Misfits,
) -> Block | None:
    """A table's numbers in the declared order of axes."""
    kind = declaration.kind
    if table.stepped != (kind is MeasurementKind.SERIES):
        found = "a column 'step'" if table.stepped else "no column 'step'"
        article = "an" if kind is MeasurementKind.ARRAY else "a"
        misfits.add(f"{table.place}:1", f"found {found}, but '{name}' is {article} {kind.value}.")
        return None
    names = [axis.name for axis in declaration.axes]
    if set(table.axes) != set(names):
        misfits.add(
            f"{table.place}:1",
            f"found the axes {_listed(table.axes)} of '{name}'; expected {_listed(names)}, one "
            "column each.",
        )
        return None
    coordinates = [axis.coordinates(settings) for axis in declaration.axes]
    cells = _cells(table, names, coordinates, misfits)
    if cells is None:
        return None
    if not cells:
        misfits.add(table.place, f"found no row of '{name}'; expected its numbers.")
        return None
    steps = sorted({step for step, *_ in cells})
    lengths = [len(one) for one in coordinates]
    values = []
    for step, *at in itertools.product(steps, *map(range, lengths)):  # ends at the first hole
        if (step, *at) not in cells:
            places = [f"{n} {c[i]}" for n, c, i in zip(names, coordinates, at, strict=True)]
            hole = ", ".join([*([f"step {step}"] if len(steps) > 1 else []), *places])
            misfits.add(table.place, f"found no '{name}' at {hole}; expected it.")
            return None
        values.append(cells[step, *at].value)
    shape = (len(steps), *lengths) if table.stepped else lengths
    return Block(table.place, tuple(steps) if table.stepped else None, np.reshape(values, shape))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


Cells = dict[tuple[int, ...], TableRow]
"""Position (step, index on every axis) -> the row with its number; the step is 0 without steps."""


def _cells(
    table: Table,
    names: Sequence[str],
    coordinates: Sequence[tuple[Coordinate, ...]],
    misfits: Misfits,
) -> Cells | None:
    """The rows by position; None if one has no position, or that of another row."""
    cells: Cells = {}
    last: dict[tuple[int, ...], int] = {}
    fine = True
    columns = [table.axes.index(name) for name in names]
    known: list[dict[str, int | None]] = [{} for _ in names]
    for row in table.rows:
        position = [row.step or 0]
        for name, column, axis, seen in zip(names, columns, coordinates, known, strict=True):
            text = row.at[column]
            if text not in seen:
                seen[text] = _index(text, axis)
            index = seen[text]
            if index is None:
                listed = ", ".join(map(str, axis[:8]))
                misfits.add(
                    f"{table.place}:{row.line}",
                    f"column {name}: found {text[:40]!r}; expected one of {listed}.",
                )
                fine = False
                break
            position.append(index)
        else:
            step, *at = position
            fault = None
            if tuple(position) in cells:
                first = cells[step, *at].line
                fault = f"found a second number for the same place as line {first}; expected one."
            elif step < last.get(tuple(at), 0):
                fault = f"found step {step} after {last[tuple(at)]}; expected steps that increase."
            if fault:
                misfits.add(f"{table.place}:{row.line}", fault)
                fine = False
            cells[step, *at] = row
            last[tuple(at)] = step
    return cells if fine else None


def _index(text: str, axis: Sequence[Coordinate]) -> int | None:
    """The index on an axis of a coordinate written as text; None if the axis lacks it."""
    for index, one in enumerate(axis):
        if isinstance(one, str):
            if text == one:
                return index
            continue
        try:
            if float(text) == one:
                return index
        except ValueError:
            continue
    return None
