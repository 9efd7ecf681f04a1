"""A quantity is a power of a size."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from reproaudit.checks.kind import Condition, Kind, Positive
from reproaudit.checks.measurements import Name, Quantity, Sample
from reproaudit.lazy import np
from reproaudit.stats import Scale, Side

FEWEST_SIZES = 3
"""The fewest sizes that tell a straight line in logarithms from a bent one."""


class ScalesLike(Kind):
    """A quantity is a power of a size: width, depth, number of samples, sequence length.

    A line is fitted to the logarithms of quantity and size, for each seed. Two conditions: its
    slope equals the exponent within a margin; and the quantity lies nowhere farther from the line
    than `bend`, on a logarithmic scale, so that an exponential, a logarithm or a floor, which have
    a slope too, are no power law.
    """

    condition_names: ClassVar[tuple[str, ...]] = ("exponent", "bend")

    kind: Literal["scales_like"]
    """The kind of check."""
    quantity: Quantity
    """A positive array; the coordinate on `axis` is left out."""
    axis: Name
    """The axis of sizes: positive numbers, at least three."""
    exponent: float
    """The exponent of the power law, for example −0.5."""
    margin: Positive
    """The largest difference from the exponent that still counts as equal."""
    bend: Positive
    """The largest relative distance from the fitted power law, at any size: 0.1 for ten per
    cent."""

    def conditions(self) -> tuple[Condition, ...]:
        """The exponent is the claimed one, and the power law fits at every size."""
        exponent = self._equal(
            f"{self.name}: exponent",
            lambda sample: self._line(sample)[0],
            self.exponent,
            self.margin,
            Scale.LINEAR,
        )
        bend = self._bounded(
            f"{self.name}: largest relative distance from the power law",
            lambda sample: self._line(sample)[1],
            self.bend,
            Side.AT_MOST,
            Scale.LOG,
        )
        return replace(exponent, name="exponent"), replace(bend, name="bend")

    def spans(self) -> str:
        """The axis of sizes, along which the quantity is read."""
        return self.axis

    def _line(self, sample: Sample) -> tuple[float, float]:
        """The slope in logarithms, and the largest relative distance from the line."""
        sizes = sample.coordinates(self.quantity, self.axis)
        numbers = [float(one) for one in sizes if isinstance(one, int | float) and one > 0]
        if len(set(numbers)) < FEWEST_SIZES or len(numbers) < len(sizes):
            raise ValueError(
                f"a power law across '{self.axis}' needs at least {FEWEST_SIZES} positive sizes"
            )
        values = [sample.number(self.quantity.placed(self.axis, one)) for one in sizes]
        if min(values) < -self.floor:
            raise ValueError(f"a power law is positive, and {min(values):g} is not")
        x, y = np.log(numbers), np.log(np.maximum(values, self.floor))
        middle, slope = np.polynomial.polynomial.polyfit(x, y, 1)
        return float(slope), float(np.expm1(np.abs(y - middle - slope * x).max()))
