"""Numbers from elsewhere held against what the audit declares: kind, axes, shape, steps, finite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.checks.measurements import Coordinate, Declaration, MeasurementKind
from reproaudit.errors import did_you_mean
from reproaudit.judging.submissions.files import Block, Found, Table, TableRow
from reproaudit.judging.submissions.misfit import Misfits
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
    """The measurements of one run, as far as they fit; what does not is gathered.

    Args:
        found: the numbers by name.
        declared: what the experiment measures.
        settings: the run's, which may hold coordinates of axes.
        diverged: whether numbers may be NaN or infinite; what is finite is kept.
    """
    scalars: dict[str, float] = {}
    series: dict[str, Series] = {}
    arrays: dict[str, NDArray[np.float64]] = {}
    for name, one in found.items():
        if name not in declared:
            misfits.add(
                one.place,
                f"found the measurement '{name}', which the experiment does not declare. "
                f"{did_you_mean(name, declared)}",
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
    measured = Measurements(scalars=scalars, series=series, arrays=arrays)
    return measured.finite_part() if diverged else measured


def _fits(
    block: Block,
    name: str,
    declaration: Declaration,
    settings: Mapping[str, Any],
    diverged: bool,
    misfits: Misfits,
) -> bool:
    """Whether a block has the declared kind, steps, shape and finite numbers."""
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
            return f"found the step {step!r}"
        if not 0 <= step <= MOST_STEPS:
            return f"found the step {step:.6g}, below 0 or beyond 2^53"
    for before, after in pairwise(steps):
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
        misfits.add(f"{table.place}:1", f"found {found}, but '{name}' is a {kind.value}.")
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
    steps = sorted({step for step, _ in cells}) if table.stepped else [0]
    shape = (len(steps), *(len(one) for one in coordinates))
    values = np.full(shape, np.nan)
    seen = np.zeros(shape, dtype=bool)
    for (step, index), row in cells.items():
        at = (steps.index(step) if table.stepped else 0, *index)
        values[at], seen[at] = row.value, True
    if not seen.all():
        misfits.add(
            table.place,
            f"found no '{name}' at {_hole(seen, steps, names, coordinates)}; expected it.",
        )
        return None
    if table.stepped:
        return Block(table.place, tuple(steps), values)
    return Block(table.place, None, values[0])


def _hole(
    seen: NDArray[np.bool_],
    steps: Sequence[int],
    names: Sequence[str],
    coordinates: Sequence[tuple[Coordinate, ...]],
) -> str:
    """The first place of a grid (step, *axes) that no row fills, in words."""
    step, *index = (int(i) for i in np.argwhere(~seen)[0])
    at = [f"{n} {c[i]}" for n, c, i in zip(names, coordinates, index, strict=True)]
    return ", ".join([*([f"step {steps[step]}"] if len(steps) > 1 else []), *at]) or "any place"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


Cells = dict[tuple[int, tuple[int, ...]], TableRow]
"""(step, place along every axis) -> the row that holds it."""


def _cells(
    table: Table,
    names: Sequence[str],
    coordinates: Sequence[tuple[Coordinate, ...]],
    misfits: Misfits,
) -> Cells | None:
    """Every row by where it stands; None if one stands nowhere, or where another does."""
    cells: Cells = {}
    last: dict[tuple[int, ...], int] = {}
    fine = True
    for row in table.rows:
        index = []
        for name, known in zip(names, coordinates, strict=True):
            at = _place(row.at[name], known)
            if at is None:
                listed = ", ".join(map(str, known[:8]))
                misfits.add(
                    f"{table.place}:{row.line}",
                    f"column {name}: found {row.at[name][:40]!r}; expected one of {listed}.",
                )
                fine = False
                break
            index.append(at)
        else:
            place, step = tuple(index), row.step or 0
            if (step, place) in cells:
                first = cells[step, place].line
                misfits.add(
                    f"{table.place}:{row.line}",
                    f"found a second number for the same place as line {first}; expected one.",
                )
                fine = False
            elif step < last.get(place, 0):
                misfits.add(
                    f"{table.place}:{row.line}",
                    f"found step {step} after {last[place]}; expected steps that increase.",
                )
                fine = False
            cells[step, place] = row
            last[place] = step
    return cells if fine else None


def _place(text: str, coordinates: Sequence[Coordinate]) -> int | None:
    """Where a coordinate written as text stands on an axis."""
    for index, one in enumerate(coordinates):
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
