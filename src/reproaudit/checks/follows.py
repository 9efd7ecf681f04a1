"""A quantity runs along a curve."""

from __future__ import annotations

import itertools
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reproaudit.checks.canonical import ONE_BOUND, QUANTITY, CanonicalForm, Part
from reproaudit.checks.kind import Condition, OneBound
from reproaudit.checks.run import Run
from reproaudit.checks.shown import Number
from reproaudit.declarations import MeasurementMissingError, Quantity
from reproaudit.lazy import np

FEWEST_POINTS = 10
"""The fewest observations that show that a curve is followed."""


class Follows(OneBound):
    """A quantity stays near a curve over training, at every observation.

    The number is the largest distance: in the quantity's units, or by how large a factor the two
    differ, less 1. Relaxing acts on the distance.
    """

    made = (Number("follows"),)
    whole_course = True

    kind: Literal["follows"]
    """The kind of check."""
    series: Quantity
    """The series that is judged."""
    reference: Quantity | None = None
    """The series of the same run that it follows."""
    curve: tuple[tuple[int, float], ...] | None = None
    """The curve that it follows, as (step, value), straight in between."""
    relative: bool = False
    """Whether the distance is by what factor the two differ, less 1."""
    since: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The share of training from which on the two are compared."""

    canonical = ONE_BOUND | CanonicalForm(
        {
            "series": Part("series", QUANTITY),
            "reference": Part("reference", QUANTITY, unless=None),
            "curve": Part("curve", unless=None),
            "relative": Part("relative", unless=False),
            "since": Part("since", unless=0.0),
        }
    )

    @model_validator(mode="after")
    def _one_curve(self) -> Self:
        if (self.reference is None) == (self.curve is None):
            raise ValueError("state either 'reference', which is measured, or 'curve'")
        steps = [step for step, _ in self.curve or ()]
        if self.curve is not None and (
            len(steps) < 2 or any(a >= b for a, b in itertools.pairwise(steps))
        ):
            raise ValueError("a curve needs at least two points, with increasing steps")
        return self

    @property
    def sides(self) -> tuple[Quantity, Quantity] | None:
        """The series and the measured one that it follows."""
        return None if self.reference is None else (self.series, self.reference)

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the largest distance from the curve against the bound."""
        steps, values = run.series(self.series)
        if self.reference is not None:
            at, known = run.series(self.reference)
        else:
            at, known = np.asarray(self.curve, dtype=np.float64).T
            known = known[:, None]
        since = steps[0] + self.since * (steps[-1] - steps[0])
        common = [i for i, step in enumerate(steps) if max(since, at[0]) <= step <= at[-1]]
        if len(common) < FEWEST_POINTS:
            raise MeasurementMissingError(
                f"fewer than {FEWEST_POINTS} observations of '{self.series.measurement}' lie where "
                "the curve is known",
                self.series.measurement,
            )
        grid = np.asarray(steps, dtype=np.float64)[common]
        expected = np.stack([np.interp(grid, at, one) for one in known.T], axis=1)
        found = values[common]
        if not self.relative:
            distance = np.abs(found - expected)
        elif min(found.min(), expected.min()) <= 0:
            return (self._condition((), self.limit(), self.series, self.numbers[0]),)
        else:
            distance = np.expm1(np.abs(np.log(found) - np.log(expected)))
        limit = self.limit()
        farthest = [limit.worst(one.tolist()) for one in distance.T]
        return (self._condition(farthest, limit, self.series, self.numbers[0]),)
