"""One quantity lies below another, paired by seed."""

from __future__ import annotations

import math
from typing import Literal, Self

from pydantic import model_validator

from reproaudit.checks.kind import Condition, Kind
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.stats import Scale, Side


class Separates(Kind):
    """One quantity lies below another, paired by seed.

    On the logarithmic scale `by` is a ratio (upper ≥ by · lower), on the linear one a difference
    (upper ≥ lower + by). Pairing takes out what the two share: the test set, the task, the seed.
    """

    kind: Literal["separates"]
    """The kind of check."""
    lower: Quantity
    """The quantity that is claimed to be smaller."""
    upper: Quantity
    """The quantity that is claimed to be larger."""
    by: float
    """By how much, at least: a ratio on the logarithmic scale, a difference on the linear one."""
    scale: Literal["log", "linear"] = "log"
    """The scale on which the pairs are compared."""

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.scale == "log" and self.by < 1:
            raise ValueError("on the logarithmic scale, by is a ratio of at least 1")
        return self

    def conditions(self) -> tuple[Condition, ...]:
        """The paired ratio or difference is at least `by`."""
        return (self._bounded(self.name, self._gap, self.by, Side.AT_LEAST, Scale(self.scale)),)

    def goal(self, sample: Sample) -> tuple[Quantity, tuple[float, float]]:
        """The lower quantity, far enough below the upper one."""
        upper, scale = sample.number(self.upper), Scale(self.scale)
        inverse = -self.by if scale is Scale.LINEAR else 1 / self.by
        return self.lower, (-math.inf, self._beside(upper, inverse, scale))

    def _gap(self, sample: Sample) -> float:
        lower, upper = sample.number(self.lower), sample.number(self.upper)
        return self._relative(upper, lower, Scale(self.scale))
