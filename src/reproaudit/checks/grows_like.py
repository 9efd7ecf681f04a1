"""A quantity grows by a law late in training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from pydantic import model_validator

from reproaudit.checks.kind import Condition, Kind, Positive
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.lazy import np
from reproaudit.stats import Scale, Side

if TYPE_CHECKING:
    from reproaudit.records import Series


class GrowsLike(Kind):
    """A quantity grows by a law late in training: like log t, or like a power of t.

    Compares what it gained in the last two doublings of the training time: the last gain over the
    one before is 1 for a logarithm and 2^p for t^p. Held against the law's ratio within a relative
    margin, on a logarithmic scale; and the whole growth must be at least `least_growth`.

    A doubling's gain is that of the least-squares line in log t through it, so that noise in single
    observations averages out. Gains below a hundredth of the whole growth are not resolved: growth
    whose last gain is smaller, or negative, has stopped, and its ratio counts as 1/100.
    """

    kind: Literal["grows_like"]
    """Which phenomenon is checked."""
    quantity: Quantity
    """A series, observed at least three times in each of its last two doublings of the time."""
    law: Literal["logarithm", "power"]
    """The law of growth."""
    exponent: Positive | None = None
    """Of a power law: its exponent."""
    margin: Positive
    """The largest relative difference of the ratio of gains from the law's."""
    least_growth: Positive
    """The smallest growth from start to end that counts, in the quantity's units."""

    @model_validator(mode="after")
    def _exponent_of_a_power(self) -> Self:
        if (self.law == "power") != (self.exponent is not None):
            raise ValueError("a power law, and only it, needs an exponent")
        return self

    def conditions(self) -> tuple[Condition, ...]:
        """It grows, and the ratio of its last two gains is the law's."""
        ratio = 1.0 if self.exponent is None else 2.0**self.exponent
        return (
            self._bounded(
                f"{self.name}: growth",
                self._growth,
                self.least_growth,
                Side.AT_LEAST,
                Scale.LINEAR,
            ),
            self._equal(f"{self.name}: ratio of gains", self._gains, ratio, self.margin, Scale.LOG),
        )

    def follows_training(self) -> bool:
        """True: gains in two parts of training are compared."""
        return True

    def _growth(self, sample: Sample) -> float:
        values = sample.series(self.quantity).values
        return float(values[-1] - values[0])

    def _gains(self, sample: Sample) -> float:
        series = sample.series(self.quantity)
        resolved = RESOLVED_GAIN * self._growth(sample)
        before, last = _gain(series, 0.5), _gain(series, 1.0)
        if resolved <= 0 or last <= resolved:
            return RESOLVED_GAIN
        return last / max(before, resolved)


RESOLVED_GAIN = 0.01
"""The smallest gain in a doubling that `GrowsLike` resolves, as a share of the whole growth."""


def _gain(series: Series, end: float) -> float:
    """The gain over the doubling of the time that ends at this share of the last step.

    Raises:
        ValueError: if it was observed fewer than three times.
    """
    steps = np.asarray(series.steps, dtype=np.float64)
    stop = end * steps[-1]
    if np.count_nonzero((steps >= stop / 2) & (steps <= stop)) < 3:
        raise ValueError(
            f"fewer than three observations between steps {stop / 2:g} and {stop:g}, too few to "
            "tell a law of growth"
        )
    log2 = np.linspace(-1.0, 0.0, 33)  # even in log t, so that the ratio of a power is exact
    values = np.interp(stop * 2.0**log2, steps, series.values)
    return float(np.polynomial.polynomial.polyfit(log2, values, 1)[1])
