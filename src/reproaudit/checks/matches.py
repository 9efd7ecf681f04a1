"""A quantity equals a target within a margin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import model_validator

from reproaudit.checks.kind import Condition, Kind, Positive
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.stats import Scale, equivalence_range


class Matches(Kind):
    """A quantity equals a target within a margin, by two one-sided tests.

    The target is a number, or another quantity of the same seed. With another quantity on the
    logarithmic scale the ratio of the two is held against 1, within a factor of 1 + margin.
    """

    kind: Literal["matches"]
    """The kind of check."""
    quantity: Quantity
    """The quantity that is measured."""
    target: float | None = None
    """The number that it should equal."""
    reference: Quantity | None = None
    """The quantity that it should equal, paired by seed."""
    margin: Positive
    """The largest difference (log: relative difference) that still counts as equal."""
    scale: Literal["log", "linear"] = "linear"
    """The scale on which the two are compared."""

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if (self.target is None) == (self.reference is None):
            raise ValueError("state either a target or a reference")
        return self

    def conditions(self) -> tuple[Condition, ...]:
        """The number, or its difference from or ratio to the reference, is within the margin."""
        scale = Scale(self.scale)
        if self.reference is None:
            target = float(self.target if self.target is not None else 0.0)
        else:
            target = 1.0 if scale is Scale.LOG else 0.0
        return (self._equal(self.name, self._value, target, self.margin, scale),)

    def goal(self, sample: Sample) -> tuple[Quantity, tuple[float, float]]:
        """The quantity, and the range within the margin of its target."""
        scale = Scale(self.scale)
        if self.reference is None:
            return self.quantity, equivalence_range(float(self.target or 0.0), self.margin, scale)
        other = sample.number(self.reference)
        low, high = equivalence_range(1.0 if scale is Scale.LOG else 0.0, self.margin, scale)
        ends = self._beside(other, low, scale), self._beside(other, high, scale)
        return self.quantity, ends

    def levels(self) -> Iterator[tuple[str, float, Scale]]:
        """The target, where it is a number."""
        if self.target is not None:
            yield "target", self.target, Scale(self.scale)

    def _value(self, sample: Sample) -> float:
        value = sample.number(self.quantity)
        if self.reference is None:
            return value
        return self._relative(value, sample.number(self.reference), Scale(self.scale))
