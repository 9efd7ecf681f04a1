"""A direction is learned."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reproaudit.checks.kind import Condition, Kind, Positive
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.stats import Scale, Side


class Aligns(Kind):
    """A direction is learned: the distance to it ends at or below a bound, or the cosine above.

    The distance is judged on a logarithmic scale, since distances near 0 are skewed; a cosine on
    log(1 − cosine), for the same reason.
    """

    kind: Literal["aligns"]
    """The kind of check."""
    distance: Quantity | None = None
    """A distance to the claimed direction, 0 when it is reached."""
    at_most: Positive | None = None
    """The largest distance that still counts as aligned."""
    cosine: Quantity | None = None
    """A cosine with the claimed direction, 1 when it is reached."""
    at_least: Annotated[float, Field(gt=0, lt=1)] | None = None
    """The smallest cosine that still counts as aligned."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        by_distance = (self.distance is not None, self.at_most is not None)
        by_cosine = (self.cosine is not None, self.at_least is not None)
        if {by_distance, by_cosine} != {(True, True), (False, False)}:
            raise ValueError("state either a distance and at_most, or a cosine and at_least")
        return self

    def conditions(self) -> tuple[Condition, ...]:
        """The final distance is at most the bound, or the final cosine at least the bound."""
        quantity, bound = self.distance or self.cosine, self.at_most or self.at_least
        assert quantity is not None, "refused by _one_form"
        assert bound is not None, "refused by _one_form"
        near = self.distance is not None
        side, scale = (Side.AT_MOST, Scale.LOG) if near else (Side.AT_LEAST, Scale.LOG_COMPLEMENT)
        return (self._bounded(self.name, lambda s: s.number(quantity), bound, side, scale),)

    def goal(self, _sample: Sample) -> tuple[Quantity, tuple[float, float]]:
        """The distance below its bound, or the cosine above it."""
        if self.distance is not None:
            return self.distance, (-math.inf, float(self.at_most or 0.0))
        assert self.cosine is not None, "refused by _one_form"
        return self.cosine, (float(self.at_least or 0.0), math.inf)
