"""Checks numbers from elsewhere against the audit's declarations: kind, axes, shape, steps."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.declarations import Coordinate, Declaration, MeasurementKind
from reproaudit.elsewhere.files import Block, Found, Table, TableRow
from reproaudit.elsewhere.measuring import same_coordinate
from reproaudit.elsewhere.misfit import Misfits, clipped
from reproaudit.errors import did_you_mean
from reproaudit.records import Measurements, Series

MOST_STEPS = 2**53
"""Beyond it a step is no exact number of double precision."""


class _Misfit(Exception):
    """A measurement that does not fit: its place and what is wrong."""

    def __init__(self, place: str, text: str) -> None:
        super().__init__(text)
        self.place, self.text = place, text


def fit(
    found: Found,
    declared: Mapping[str, Declaration],
    settings: Mapping[str, Any],
    diverged: bool,
    misfits: Misfits,
) -> Measurements:
    """Return the measurements of one run that fit their declarations.

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
        try:
            if name not in declared:
                short = clipped(name, 80)
                raise _Misfit(
                    one.place,
                    f"found the measurement '{short}', which the experiment does not declare. "
                    f"{did_you_mean(short, declared)}",
                )
            declaration = declared[name]
            block = one
            if isinstance(block, Table):
                block = _of_table(block, name, declaration, settings, diverged)
            _check(block, name, declaration, settings, diverged)
        except _Misfit as misfit:
            misfits.add(misfit.place, misfit.text)
            continue
        if declaration.kind is MeasurementKind.SCALAR:
            scalars[name] = float(block.values)
        elif declaration.kind is MeasurementKind.ARRAY:
            arrays[name] = block.values
        else:
            series[name] = Series(steps=tuple(map(int, block.steps or ())), values=block.values)
    return Measurements(scalars=scalars, series=series, arrays=arrays)


def _check(
    block: Block,
    name: str,
    declaration: Declaration,
    settings: Mapping[str, Any],
    diverged: bool,
) -> None:
    """Refuse a block without the declared kind, steps, shape and finite numbers."""
    stepped = declaration.kind is MeasurementKind.SERIES
    if stepped and block.steps is None:
        raise _Misfit(block.place, f"found no steps of '{name}'; expected a series over steps.")
    values, shape = block.values, declaration.shape(settings)
    expected = (len(block.steps or ()), *shape) if stepped else shape
    if values.shape != expected:
        raise _Misfit(
            block.place,
            f"found shape {_shape(values.shape)} of '{name}'; expected {_shape(expected)}: "
            f"{_axes(declaration, settings, stepped)}.",
        )
    fault = _steps_fault(block.steps or ()) if stepped else None
    if fault:
        raise _Misfit(
            block.place, f"{fault}; the steps of '{name}' are whole numbers that increase."
        )
    if not diverged and not np.isfinite(values).all():
        index = ", ".join(map(str, np.argwhere(~np.isfinite(values))[0]))
        raise _Misfit(
            block.place,
            f"found a number of '{name}' that is not finite, at [{index}]; expected finite ones. "
            "If the run diverged, write 'status: diverged'.",
        )


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


def _of_table(
    table: Table, name: str, declaration: Declaration, settings: Mapping[str, Any], diverged: bool
) -> Block:
    """Return a table's numbers in the declared order of axes."""
    bad = next((row for row in table.rows if not np.isfinite(row.value)), None)
    if bad is not None and not diverged:
        raise _Misfit(
            f"{table.place}:{bad.line}",
            f"found {bad.value}; expected a finite number. If the run diverged, write 'status: "
            "diverged'.",
        )
    kind = declaration.kind
    if table.stepped != (kind is MeasurementKind.SERIES):
        found = "a column 'step'" if table.stepped else "no column 'step'"
        article = "an" if kind is MeasurementKind.ARRAY else "a"
        raise _Misfit(f"{table.place}:1", f"found {found}, but '{name}' is {article} {kind.value}.")
    names = [axis.name for axis in declaration.axes]
    if set(table.axes) != set(names):
        raise _Misfit(
            f"{table.place}:1",
            f"found the axes {', '.join(table.axes) or 'none'} of '{name}'; expected "
            f"{', '.join(names) or 'none'}, one column each.",
        )
    coordinates = [axis.coordinates(settings) for axis in declaration.axes]
    cells = _cells(table, names, coordinates)
    if not cells:
        raise _Misfit(table.place, f"found no row of '{name}'; expected its numbers.")
    steps = sorted({step for step, *_ in cells})
    lengths = [len(one) for one in coordinates]
    values = []
    for step, *at in itertools.product(steps, *map(range, lengths)):  # ends at the first hole
        if (step, *at) not in cells:
            places = [f"{n} {c[i]}" for n, c, i in zip(names, coordinates, at, strict=True)]
            hole = ", ".join([*([f"step {step}"] if len(steps) > 1 else []), *places])
            raise _Misfit(table.place, f"found no '{name}' at {hole}; expected it.")
        values.append(cells[step, *at].value)
    shape = (len(steps), *lengths) if table.stepped else lengths
    return Block(table.place, tuple(steps) if table.stepped else None, np.reshape(values, shape))


def _cells(
    table: Table, names: Sequence[str], coordinates: Sequence[tuple[Coordinate, ...]]
) -> dict[tuple[int, ...], TableRow]:
    """Return the rows by position: step (0 without steps), and index on every axis."""
    cells: dict[tuple[int, ...], TableRow] = {}
    last: dict[tuple[int, ...], int] = {}
    columns = [table.axes.index(name) for name in names]
    known: list[dict[str, int]] = [{} for _ in names]
    for row in table.rows:
        place, at = f"{table.place}:{row.line}", []
        for name, column, axis, seen in zip(names, columns, coordinates, known, strict=True):
            text = row.at[column]
            if text not in seen:
                index = next((i for i, one in enumerate(axis) if same_coordinate(text, one)), None)
                if index is None:
                    listed = ", ".join(map(str, axis[:8]))
                    raise _Misfit(
                        place, f"column {name}: found {text[:40]!r}; expected one of {listed}."
                    )
                seen[text] = index
            at.append(seen[text])
        step = row.step or 0
        if (step, *at) in cells:
            first = cells[step, *at].line
            raise _Misfit(
                place, f"found a second number for the same place as line {first}; expected one."
            )
        if step < last.get(tuple(at), 0):
            before = last[tuple(at)]
            raise _Misfit(place, f"found step {step} after {before}; expected steps that increase.")
        cells[step, *at] = row
        last[tuple(at)] = step
    return cells
