"""A quantity follows a curve over training."""

from __future__ import annotations

import itertools
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reproaudit.checks.kind import Condition, Kind, Positive
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.lazy import np
from reproaudit.stats import Scale, Side

FEWEST_POINTS = 3
"""The fewest observations that the quantity and its curve must have in common."""

Point = Annotated[tuple[float, ...], Field(min_length=2, max_length=2)]
"""A training step and a value."""


class Follows(Kind):
    """A quantity follows a curve over training: one that is measured, or one that is declared.

    The number of a seed is the largest distance between the two at any observation of the quantity
    where the curve is known; between its own points the curve is interpolated linearly. The mean
    of these largest distances must be at most a bound, on a logarithmic scale.
    """

    kind: Literal["follows"]
    """The kind of check."""
    quantity: Quantity
    """A series."""
    reference: Quantity | None = None
    """The series that it should follow, paired by seed, such as what the theory predicts."""
    curve: tuple[Point, ...] | None = None
    """The declared curve that it should follow: pairs of a training step and a value, steps
    increasing, such as points read off a figure."""
    at_most: Positive
    """The largest distance that still counts as following the curve."""
    distance: Literal["difference", "relative"]
    """difference: in the quantity's units; relative: by how large a factor the two differ, less 1
    (0.1 for ten per cent), for positive quantities."""
    since: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The share of training from which on the two are compared."""

    @model_validator(mode="after")
    def _one_curve(self) -> Self:
        if (self.reference is None) == (self.curve is None):
            raise ValueError("state either a reference, which is measured, or a curve")
        steps = [step for step, _ in self.curve or ()]
        if self.curve is not None and len(steps) < 2:
            raise ValueError("a curve needs at least two points")
        if any(a >= b for a, b in itertools.pairwise(steps)):
            raise ValueError("the steps of a curve increase")
        return self

    def conditions(self) -> tuple[Condition, ...]:
        """The largest distance from the curve is at most the bound."""
        label = f"{self.name}: largest distance from the curve"
        return (self._bounded(label, self._farthest, self.at_most, Side.AT_MOST, Scale.LOG),)

    def follows_training(self) -> bool:
        """True: every observation counts."""
        return True

    def _farthest(self, sample: Sample) -> float:
        series = sample.series(self.quantity)
        if self.reference is not None:
            other = sample.series(self.reference)
            at, known = np.asarray(other.steps, dtype=np.float64), other.values
        else:
            at, known = np.asarray(self.curve, dtype=np.float64).T
        steps = np.asarray(series.steps, dtype=np.float64)
        since = steps[0] + self.since * (steps[-1] - steps[0])
        common = (steps >= max(since, at[0])) & (steps <= at[-1])
        if np.count_nonzero(common) < FEWEST_POINTS:
            raise ValueError(
                f"fewer than {FEWEST_POINTS} observations of '{self.quantity.measurement}' lie "
                "where the curve is known"
            )
        found, expected = series.values[common], np.interp(steps[common], at, known)
        if self.distance == "difference":
            return float(np.abs(found - expected).max())
        pairs = np.maximum([found, expected], self.floor)
        return float(np.expm1(np.abs(np.log(pairs[0]) - np.log(pairs[1])).max()))
