"""The audit's declared measurements out of a run's curves."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reproaudit.cell import SettingValue
from reproaudit.checks.measurements import Coordinate, Declaration, MeasurementKind
from reproaudit.elsewhere.completeness import early_end, gap_in
from reproaudit.elsewhere.expressions import (
    Coordinates,
    Evaluator,
    ExpressionError,
    ExpressionValue,
    parse_expression,
)
from reproaudit.elsewhere.logged import Curve, LogError, LoggedCoordinates
from reproaudit.elsewhere.mapping import LoggedQuantity
from reproaudit.elsewhere.roles import PlacedRun
from reproaudit.errors import did_you_mean

MAX_CELLS = 2**24
"""Numbers of one measurement of one run."""


@dataclass(frozen=True)
class Measured:
    """One measurement of one run.

    Attributes:
        steps: the steps of a series; None of anything else.
        values: shape (step, *axes) of a series, else (*axes).
    """

    steps: tuple[int, ...] | None
    values: NDArray[np.float64]


class _NotLogged(LookupError):
    """A tag that the run does not have."""


@dataclass
class RunMeasurer:
    """Makes measurements of one run.

    Attributes:
        placed: the run.
        settings: the settings it ran with.
        used: the tags that were read.
        not_whole: measurement -> why its curves may not be taken for whole.
        attested: whether curves with gaps are known to be all there was.
        finite_only: whether numbers that are not finite are refused.
    """

    placed: PlacedRun
    settings: Mapping[str, SettingValue]
    used: set[str] = field(default_factory=set)
    not_whole: dict[str, list[str]] = field(default_factory=dict)
    attested: bool = False
    finite_only: bool = True
    _gaps: dict[str, list[str]] = field(default_factory=dict)
    _axes: set[str] = field(default_factory=set)

    def measure(
        self, name: str, declaration: Declaration, quantity: LoggedQuantity
    ) -> Measured | None:
        """One measurement; None if the run has none of the tags it needs.

        Raises:
            LogError: if only some of them are there, or their numbers do not fit.
        """
        place = f"{self.placed.run.name}, measurement '{name}'"
        names = [axis.name for axis in declaration.axes]
        coordinates = [axis.coordinates(self.settings) for axis in declaration.axes]
        values: list[ExpressionValue] = []
        absent: str | None = None
        self._gaps, self._axes = {}, set()
        for at in itertools.product(*coordinates):
            try:
                value = self._value(quantity, dict(zip(names, at, strict=True)), place)
            except _NotLogged as error:
                absent = str(error)
                continue
            values.append(_shaped(value, declaration.kind, place))
        if not values:
            return None
        if unused := set(names) - self._axes:
            raise LogError(
                f"{place}, expression",
                f"found no {{{unused.pop()}}} in it; expected its tags to depend on every axis of "
                "the measurement.",
            )
        if absent is not None:
            raise LogError(place, f"found no '{absent}', though others are there; expected it.")
        measured = _stacked(values, tuple(len(one) for one in coordinates), place)
        self._check(measured, place)
        gaps = [gap for one in self._gaps.values() for gap in one]
        found = self.placed.run.not_whole or gaps  # a run that was cut is why its curves end early
        if found and not self.placed.diverged:
            self.not_whole[name] = list(dict.fromkeys(found))
        return measured

    def _value(self, quantity: LoggedQuantity, at: Coordinates, place: str) -> ExpressionValue:
        if quantity.tag is not None:
            return self._lookup(quantity.tag, at, whole=True)
        assert quantity.expression is not None, "a quantity is a tag or an expression"
        try:
            node: ast.expr = parse_expression(quantity.expression)
            evaluator = Evaluator(self._lookup, quantity.let, self.settings, quantity.axes)
            return evaluator.value(node, at)
        except ExpressionError as error:
            text = f"found {error}; expected a formula as docs/import.md describes it."
            raise LogError(f"{place}, expression", text) from None

    def _check(self, measured: Measured, place: str) -> None:
        if self.placed.diverged or not self.finite_only or np.isfinite(measured.values).all():
            return
        index = np.argwhere(~np.isfinite(measured.values))[0]
        where = f" at step {measured.steps[index[0]]}" if measured.steps is not None else ""
        raise LogError(
            place,
            f"found {measured.values[tuple(index)]}{where}; expected finite numbers. If the run "
            "diverged, write 'status: diverged' for it in the mapping's 'runs'.",
        )

    # --- tags ---------------------------------------------------------------------------------

    def _lookup(self, template: str, at: Coordinates, whole: bool = False) -> ExpressionValue:
        """The curve under a tag at these coordinates, looked through for faults.

        Args:
            template: the tag, with places for coordinates.
            at: the coordinates.
            whole: whether the curve must stand at all of them; a part of a formula need not.
        """
        tag, rest = _filled(template, at)
        curves = self.placed.run.curves.get(tag, {})
        matching = {have: c for have, c in curves.items() if _matches(have, rest, whole)}
        if curves and not matching and any({a for a, _ in have} - set(rest) for have in curves):
            first = next(iter(curves))
            raise LogError(
                f"{self.placed.run.name}, tag '{tag}'",
                f"found numbers at {_words(dict(first))}; expected a measurement with this axis.",
            )
        if not matching:
            raise _NotLogged(tag if not rest else f"{tag} at {_words(rest)}")
        ((have, curve),) = matching.items()
        self._axes |= {axis for axis, _ in have} | (set(at) - set(rest))
        self.used.add(tag)
        if tag not in self._gaps:
            self._gaps[tag] = self._faults(tag, curve)
        return _as_value(tag, curve)

    def _faults(self, tag: str, curve: Curve) -> list[str]:
        """Why a curve may not be whole, besides what is wrong with the run.

        Raises:
            LogError: if its numbers cannot be used at all.
        """
        place = f"{curve.place}, tag '{tag}'"
        if curve.fault is not None:
            raise LogError(place, f"found that {curve.fault}; expected numbers with their steps.")
        if curve.steps is None or self.attested:
            _refuse_disorder(curve, place)
            return []
        _refuse_disorder(curve, place)
        gap = gap_in(curve.steps)
        end = early_end(curve.steps, self.placed.run.config) if len(curve.steps) > 1 else None
        return [f"'{tag}': {one}" for one in (gap, end) if one is not None]


_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


def _filled(template: str, at: Coordinates) -> tuple[str, dict[str, Coordinate]]:
    """A tag with its coordinates filled in, and the coordinates that it has no place for.

    Raises:
        LogError: if it has a place for an unknown axis.
    """
    rest = dict(at)
    for axis in _PLACEHOLDER.findall(template):
        if axis not in at:
            raise LogError(
                f"mapping: '{template}'",
                f"found the axis {{{axis}}}; expected an axis of the measurement. "
                f"{did_you_mean(axis, at)}",
            )
        rest.pop(axis, None)
    return _PLACEHOLDER.sub(lambda matched: str(at[matched.group(1)]), template), rest


def _matches(have: LoggedCoordinates, wanted: Mapping[str, Coordinate], whole: bool) -> bool:
    """True if a curve stands at the wanted coordinates: at all of them, or at its own axes'."""
    if whole and len(have) != len(wanted):
        return False
    return all(axis in wanted and _same(text, wanted[axis]) for axis, text in have)


def _same(text: str, coordinate: Coordinate) -> bool:
    if isinstance(coordinate, str):
        return text == coordinate
    try:
        return float(text) == coordinate
    except ValueError:
        return False


def _words(at: Mapping[str, Coordinate]) -> str:
    return ", ".join(f"{axis} {one}" for axis, one in at.items()) or "no coordinate"


def _refuse_disorder(curve: Curve, place: str) -> None:
    """Refuses steps that come twice, or out of order."""
    if curve.steps is None:
        if len(curve.values) > 1:
            raise LogError(
                place,
                f"found {len(curve.values)} numbers and no column of steps; expected steps. Name "
                "the column under 'step' in the mapping.",
            )
        return
    wrong = np.flatnonzero(np.diff(curve.steps) <= 0)
    if len(curve.steps) and curve.steps[0] < 0:
        raise LogError(place, f"found the step {curve.steps[0]}; expected none below 0.")
    if not wrong.size:
        return
    before, after = curve.steps[wrong[0]], curve.steps[wrong[0] + 1]
    if before == after:
        text = f"found step {after} a second time; expected it once."
    else:
        text = f"found step {after} after {before}; expected steps that increase."
    raise LogError(
        place,
        f"{text} If the run was restarted, leave out the log of the part that was thrown away.",
    )


def _as_value(tag: str, curve: Curve) -> ExpressionValue:
    if curve.steps is None:
        return ExpressionValue(None, curve.values[-1])
    if not len(curve.steps):
        raise _NotLogged(tag)
    return ExpressionValue(curve.steps, curve.values)


def _shaped(value: ExpressionValue, kind: MeasurementKind, place: str) -> ExpressionValue:
    """The value as the declaration has it: with steps for a series, one number for all else."""
    if kind is MeasurementKind.SERIES:
        if value.steps is None:
            raise LogError(
                place, "found a single number without a step; expected a series over steps."
            )
        return value
    if value.steps is None:
        return value
    if len(value.steps) > 1:
        raise LogError(
            place,
            f"found {len(value.steps)} steps; expected one number, as it is no series. "
            'Say which with an expression: last(…), first(…) or mean(…, over="step").',
        )
    return ExpressionValue(None, value.values[0])


def _equal(one: NDArray[np.int64], other: NDArray[np.int64] | None) -> bool:
    return other is not None and np.array_equal(one, other)


def _stacked(values: Sequence[ExpressionValue], shape: tuple[int, ...], place: str) -> Measured:
    steps = values[0].steps
    for other in values[1:]:
        if steps is not None and not _equal(steps, other.steps):
            odd = np.setxor1d(steps, other.steps if other.steps is not None else steps)
            raise LogError(
                place,
                f"found coordinates with different steps, as step {odd[0] if odd.size else '?'}; "
                "expected the same steps at every coordinate.",
            )
    count = 1 if steps is None else len(steps)
    if count * len(values) > MAX_CELLS:
        raise LogError(place, f"found more than {MAX_CELLS:,} numbers; expected fewer.")
    stacked = np.stack([np.asarray(one.values, dtype=np.float64) for one in values], axis=-1)
    if steps is None:
        return Measured(None, stacked.reshape(shape))
    return Measured(tuple(steps.tolist()), stacked.reshape(count, *shape))
