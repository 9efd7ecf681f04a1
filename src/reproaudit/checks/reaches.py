"""A quantity ends on one side of a level."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, Self

from pydantic import model_validator

from reproaudit.checks.kind import Condition, Kind
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.stats import Scale, Side


class Reaches(Kind):
    """A quantity ends on one side of a level: an accuracy, a share, a loss beside the best one.

    With `relative_to`, what is held against the level is the ratio to another quantity of the same
    seed (log scale) or the difference from it (linear scale). The scale is one on which the seeds'
    values are near normal: log for positive skewed measures, log_complement for shares near 1.
    """

    kind: Literal["reaches"]
    """The kind of check."""
    quantity: Quantity
    """The quantity that is measured."""
    relative_to: Quantity | None = None
    """Another quantity of the same seed that it is taken relative to."""
    at_least: float | None = None
    """The level, when it must be reached from below."""
    at_most: float | None = None
    """The level, when it must be reached from above."""
    scale: Literal["linear", "log", "logit", "log_complement"]
    """The scale on which the mean over seeds is judged."""

    @model_validator(mode="after")
    def _one_level(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("state either at_least or at_most")
        if self.relative_to is not None and self.scale not in ("linear", "log"):
            raise ValueError("relative to another quantity, the scale is linear or log")
        return self

    def conditions(self) -> tuple[Condition, ...]:
        """The quantity is on its side of the level."""
        below = self.at_most is not None
        level = float(self.at_most if self.at_most is not None else self.at_least or 0.0)
        side = Side.AT_MOST if below else Side.AT_LEAST
        return (self._bounded(self.name, self._value, level, side, Scale(self.scale)),)

    def goal(self, sample: Sample) -> tuple[Quantity, tuple[float, float]]:
        """The quantity and its side of the level."""
        scale, other = Scale(self.scale), self.relative_to
        ends = (
            -math.inf if self.at_least is None else self.at_least,
            math.inf if self.at_most is None else self.at_most,
        )
        if other is None:
            return self.quantity, ends
        beside = sample.number(other)
        low, high = (
            self._beside(beside, end, scale) if math.isfinite(end) else end for end in ends
        )
        return self.quantity, (low, high)

    def levels(self) -> Iterator[tuple[str, float, Scale]]:
        """The level that must be reached."""
        for field, level in (("at_least", self.at_least), ("at_most", self.at_most)):
            if level is not None:
                yield field, level, Scale(self.scale)

    def _value(self, sample: Sample) -> float:
        value = sample.number(self.quantity)
        if self.relative_to is None:
            return value
        return self._relative(value, sample.number(self.relative_to), Scale(self.scale))
