"""A rule as a range of accepted means on the fitting scale, and how seeds are held against it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from reproaudit.lazy import np
from reproaudit.stats.intervals import checked_confidence, t_ends
from reproaudit.stats.scales import FloatArray

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Side(StrEnum):
    """The side of a bound on which a measure should lie; the bound itself belongs to it."""

    AT_MOST = "at_most"
    AT_LEAST = "at_least"


@dataclass(frozen=True)
class AcceptanceRule:
    """A range of accepted means on the rising fitting scale, and its two confidences.

    A bound is a range with one open (infinite) end, so bounds and equivalences share this form.
    """

    low: float
    high: float
    met: float
    """Confidence of the interval that must lie within the range for *met*."""
    missed: float
    """Confidence of the interval that must lie outside the range for *missed*."""
    parts: int
    """Over how many parts of a claim the error of a miss is divided."""
    two_tests: bool = False
    """Whether *met* is decided by two one-sided tests."""

    def holds(self, mean: float) -> bool:
        """Whether a mean lies within the range, ends included."""
        return self.low <= mean <= self.high

    def nearest(self, mean: float) -> float:
        """The end of the range nearest to a mean; of a bound, its only finite end."""
        return self.low if abs(mean - self.low) < abs(mean - self.high) else self.high

    def method(self, holds: bool) -> str:
        """The name of the interval that decides for means within (or else outside) the range."""
        if holds:
            return "Student t, two one-sided tests" if self.two_tests else "Student t"
        return "Student t" if self.parts == 1 else f"Student t, error divided by {self.parts} parts"


def bound_rule(limit: float, side: Side, confidence: float, parts: int) -> AcceptanceRule:
    """The range on one side of a limit; *met* is decided by the 1 − α interval.

    Args:
        limit: on the rising scale.
        side: the side of the limit on which the mean should lie.
        confidence: 1 − α.
        parts: over how many parts of a claim the error of a miss is divided.

    Raises:
        ValueError: if the confidence is not between 0 and 1, or there are no parts.
    """
    missed = _miss_confidence(checked_confidence(confidence), parts)
    low, high = (-math.inf, limit) if Side(side) is Side.AT_MOST else (limit, math.inf)
    return AcceptanceRule(low, high, confidence, missed, parts)


def equivalence_rule(low: float, high: float, confidence: float, parts: int) -> AcceptanceRule:
    """The range from low to high; *met* is decided by two one-sided tests, the 1 − 2α interval.

    Arguments and errors as in `bound_rule`, except that the confidence must be above one half.
    """
    missed = _miss_confidence(checked_confidence(confidence, least=0.5), parts)
    return AcceptanceRule(low, high, _rounded(2 * confidence - 1), missed, parts, two_tests=True)


def met_and_missed(
    z: FloatArray, rule: AcceptanceRule
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether seeds of shape (…, seed) meet the rule, and whether they miss it; shape (…)."""
    low, high = t_ends(z, rule.met)
    met = (low >= rule.low) & (high <= rule.high)
    low, high = t_ends(z, rule.missed)
    return met, (low > rule.high) | (high < rule.low)


def _miss_confidence(confidence: float, parts: int) -> float:
    if parts < 1:
        raise ValueError(f"a claim has at least one part: {parts}")
    return _rounded(1 - (1 - confidence) / parts)


def _rounded(confidence: float) -> float:
    return round(confidence, 12)  # 0.9, not 0.8999999999999999, for people to read
