"""A rule as a range of accepted means on the fitting scale, and how seeds are held against it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from reproaudit.lazy import np, scipy
from reproaudit.stats.intervals import Moments, checked_confidence, moments, t_ends
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
    divisor: float
    """By what the error of a miss is divided, since other parts of the claim may be missed too."""
    two_tests: bool = False
    """True if *met* is decided by two one-sided tests."""
    level: float | None = None
    """The error of the count of runs, see `most_astray`; None if the mean alone decides."""

    def holds(self, mean: float) -> bool:
        """True if a mean lies within the range, ends included."""
        return self.low <= mean <= self.high

    def nearest(self, mean: float) -> float:
        """The end of the range nearest to a mean; of a bound, its only finite end."""
        return self.low if abs(mean - self.low) < abs(mean - self.high) else self.high

    def method(self, holds: bool) -> str:
        """The name of the interval that decides for means within (or else outside) the range."""
        if holds:
            return "Student t, two one-sided tests" if self.two_tests else "Student t"
        return "Student t" if self.divisor == 1 else f"Student t, error divided by {self.divisor:g}"


def bound_rule(
    limit: float, side: Side, confidence: float, divisor: float, level: float | None = None
) -> AcceptanceRule:
    """The range on one side of a limit; *met* is decided by the 1 − α interval.

    Args:
        limit: on the rising scale.
        side: the side of the limit on which the mean should lie.
        confidence: 1 − α.
        divisor: by what the error of a miss is divided; at least 1.
        level: of the rule.

    Raises:
        ValueError: if the confidence is not between 0 and 1, or the divisor below 1.
    """
    missed = miss_confidence(checked_confidence(confidence), divisor)
    low, high = (-math.inf, limit) if Side(side) is Side.AT_MOST else (limit, math.inf)
    return AcceptanceRule(low, high, confidence, missed, divisor, level=level)


def equivalence_rule(
    low: float, high: float, confidence: float, divisor: float, level: float | None = None
) -> AcceptanceRule:
    """The range from low to high; *met* is decided by two one-sided tests, the 1 − 2α interval.

    Arguments and errors as in `bound_rule`, except that the confidence must be above one half.
    """
    missed = miss_confidence(checked_confidence(confidence, least=0.5), divisor)
    met = _rounded(2 * confidence - 1)
    return AcceptanceRule(low, high, met, missed, divisor, two_tests=True, level=level)


@lru_cache(maxsize=4096)
def most_astray(runs: int, level: float | None) -> int:
    """The largest number of runs that may lie where a rule does not want them.

    It is the largest k for which at most k of the runs lie there with probability at most the
    level, if each does so with probability one half: the sign test, which holds whatever law the
    runs follow. At 5 %: none of 5 runs, 1 of 8, 5 of 20. It is −1 if not even none is so rare, and
    the number of runs if there is no level.
    """
    if level is None:
        return runs
    fewer = scipy.special.bdtr(np.arange(runs + 1), runs, 0.5) <= level
    return int(fewer.sum()) - 1


def met_and_missed(
    z: FloatArray, rule: AcceptanceRule, known: Moments | None = None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """True where seeds of shape (…, seed) meet the rule, and where they miss it; each of shape (…).

    The interval of the mean decides only together with the runs. To meet a rule, no more of them
    than `most_astray` may lie outside the range, beyond both its ends together; to miss it, no more
    may lie on the range's side of the end in question.

    Args:
        z: on the scale of the rule.
        rule: the range and its confidences.
        known: the moments of z; None if they are not known yet.
    """
    astray = most_astray(z.shape[-1], rule.level)
    above, below = (z > rule.high).sum(axis=-1), (z < rule.low).sum(axis=-1)
    known = moments(z) if known is None else known
    low, high = t_ends(known, z.shape[-1], rule.met)
    met = (low >= rule.low) & (high <= rule.high) & (above + below <= astray)
    low, high = t_ends(known, z.shape[-1], rule.missed)
    enough = z.shape[-1] - astray  # so many runs beyond the limit leave no more than `astray`
    return met, ((low > rule.high) & (above >= enough)) | ((high < rule.low) & (below >= enough))


def miss_confidence(confidence: float, divisor: float) -> float:
    """The confidence at which a rule is missed.

    Raises:
        ValueError: if the divisor is below 1.
    """
    if divisor < 1:
        raise ValueError(f"the error of a miss is divided by 1 at least: {divisor:g}")
    return _rounded(1 - (1 - confidence) / divisor)


def _rounded(confidence: float) -> float:
    return round(confidence, 12)  # 0.9, not 0.8999999999999999, for people to read
