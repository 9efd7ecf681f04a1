"""How often a check is met on the audits of a shape.

The numbers are taken out of the measurements by the kinds themselves; the decisions on all audits
are made at once (`met_at_once`). `met_one_by_one` is the plain form, the judge's own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from benchmarks.calibrate.blocks import BLOCKS
from benchmarks.calibrate.courses import SIZES
from benchmarks.calibrate.shape import Curves, Draw, Shape
from reproaudit.audit.rules.checks import has_one_end
from reproaudit.checks import Check, Condition, judge_conditions, part_results
from reproaudit.checks.failure_rate import FailureRate
from reproaudit.checks.kind import confidence_on
from reproaudit.checks.quantities import Sample
from reproaudit.declarations import Axis, Declaration, MeasurementKind
from reproaudit.records import Measurements, Series
from reproaudit.stats import Decision, FittingAxis, Scale, Side, clopper_pearson
from reproaudit.stats.acceptance import bound_rule, equivalence_rule, met_and_missed

CONFIDENCE = 0.95
"""Of the audits, as most audits have it."""
LEVEL = round(1 - CONFIDENCE, 12)
"""A null may be met so often at most."""


def check_of(shape: Shape) -> Check:
    """The check that judges a shape."""
    block = {**BLOCKS[shape.kind], **shape.block, "kind": shape.kind}
    one: Check = TypeAdapter(Check).validate_python(
        {"name": "part", "reason": "calibration", **block}, strict=True
    )
    return one


def declarations_of(shape: Shape, draw: Draw) -> dict[str, Declaration]:
    """The declarations of a shape's measurements."""
    return {name: _declaration(one, shape.ranges.get(name)) for name, one in draw.items()}


def _declaration(one: Any, within: tuple[float | None, float | None] | None) -> Declaration:
    size = Axis(name="size", values=SIZES)
    axes: tuple[Axis, ...] = ()
    if isinstance(one, Curves):
        kind = MeasurementKind.SERIES
    elif one.ndim == 3:
        kind, axes = MeasurementKind.ARRAY, (size,)
    else:
        kind = MeasurementKind.SCALAR
    return Declaration(kind=kind, axes=axes, unit="1", meaning="a shape", range=within)


def audits(shape: Shape, many: int) -> Iterator[list[Sample]]:
    """The samples of each audit, one per seed."""
    draw = shape.measurements(many)
    declared = declarations_of(shape, draw)
    for i in range(many):
        yield [Sample(j, _of_seed(draw, i, j), declared, {}) for j in range(shape.seeds)]


def _of_seed(draw: Draw, audit: int, seed: int) -> Measurements:
    found: dict[str, Any] = {"scalars": {}, "series": {}, "arrays": {}}
    for name, one in draw.items():
        if isinstance(one, Curves):
            found["series"][name] = Series.model_construct(
                steps=one.steps, values=one.values[audit, seed]
            )
        elif one.ndim == 3:
            found["arrays"][name] = one[audit, seed]
        else:
            found["scalars"][name] = float(one[audit, seed])
    return Measurements.model_construct(**found)


def refused(shape: Shape) -> bool:
    """Whether `reproaudit check` refuses an audit with this check (rule RA191)."""
    check = check_of(shape)
    declared = declarations_of(shape, shape.measurements(1))
    return getattr(check, "scale", None) == Scale.LINEAR and any(
        one.range is None or has_one_end(one) for one in declared.values()
    )


def met_at_once(shape: Shape, many: int) -> NDArray[np.bool_]:
    """Whether each audit's check is met; shape (audit,)."""
    part = check_of(shape)
    conditions = part.conditions()
    rows = [[[c.value(s) for s in samples] for c in conditions] for samples in audits(shape, many)]
    values = np.array(rows, dtype=float)  # (audit, condition, seed)
    met: NDArray[np.bool_] = np.all(
        [_met(part, c, values[:, i]) for i, c in enumerate(conditions)], axis=0
    )
    return met


def _met(part: Check, condition: Condition, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    low, high = condition.accepted
    if condition.counted:
        return np.asarray(((values >= low) & (values <= high)).all(axis=-1))
    if isinstance(part, FailureRate):
        runs = values.shape[-1]
        most = [k for k in range(runs + 1) if clopper_pearson(k, runs, CONFIDENCE).high <= high]
        return np.isin(values.sum(axis=-1), most)
    axis = FittingAxis(condition.scale, condition.floor)
    if condition.side == "within":
        confidence = confidence_on(condition.scale, CONFIDENCE, two_tests=True)
        rule = equivalence_rule(axis.limit(low), axis.limit(high), confidence, 1, LEVEL)
    else:
        limit = high if condition.side == Side.AT_MOST else low
        confidence = confidence_on(condition.scale, CONFIDENCE)
        rule = bound_rule(axis.limit(limit), Side(condition.side), confidence, 1, LEVEL)
    return met_and_missed(axis.place(values), rule)[0]


def met_one_by_one(shape: Shape, many: int) -> NDArray[np.bool_]:
    """The same, by the judge's own functions, one audit after the other."""
    check = check_of(shape)

    def met(samples: Sequence[Sample]) -> bool:
        results = part_results(judge_conditions([check], samples, CONFIDENCE))
        return all(one.decision is Decision.MET for one in results)

    return np.array([met(samples) for samples in audits(shape, many)])
