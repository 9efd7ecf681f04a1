"""The mean of runs: a Student-t interval, held against an accepted range."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import cache

from reproaudit.stats.binomial import Decision

_CONFIDENCE = 0.9
"""Two-sided, so that each end is passed by chance in 5 %."""


_LARGEST = math.log(sys.float_info.max)
"""The largest logarithm of a number that a computer can hold."""


def mean_interval(values: Sequence[float], log: bool = False) -> tuple[float, float, float]:
    """Compute the mean of runs and its 90 % Student-t interval, in natural units.

    With `log` the mean is the geometric one.

    Raises:
        ValueError: for fewer than two numbers, or one whose logarithm does not exist.
    """
    if len(values) < 2:
        raise ValueError("an interval needs at least two runs")
    if log and min(values) <= 0:
        raise ValueError(f"the logarithm of {min(values):g} does not exist")
    placed = [math.log(value) for value in values] if log else list(values)
    count = len(placed)
    mean = math.fsum(number / count for number in placed)
    spread = math.hypot(*(number - mean for number in placed)) / math.sqrt(count - 1)
    half = quantile_t((1 + _CONFIDENCE) / 2, count - 1) * spread / math.sqrt(count)
    ends = (mean, mean - half, mean + half)
    natural = [math.exp(min(end, _LARGEST)) if log else end for end in ends]
    return natural[0], natural[1], natural[2]


def without_farthest(values: Sequence[float], count: int) -> list[float]:
    """Return numbers without so many that lie farthest from their median, in their order."""
    from statistics import median  # with it come Fraction, Decimal and random numbers

    middle = median(values)
    farthest = sorted(range(len(values)), key=lambda place: -abs(values[place] - middle))[:count]
    return [value for place, value in enumerate(values) if place not in farthest]


def decide_mean(interval: tuple[float, float], accepted: tuple[float, float]) -> Decision:
    """Decide by an interval: met inside the accepted range, missed outside of it, else open."""
    low, high = interval
    least, most = accepted
    if least <= low and high <= most:
        return Decision.MET
    if high < least or low > most:
        return Decision.MISSED
    return Decision.OPEN


@cache
def quantile_t(probability: float, freedom: int) -> float:
    """Compute the quantile of Student's t at a probability of at least one half, by bisection."""
    low = 0.0
    high = 1.0
    while _cumulative_t(high, freedom) < probability:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _cumulative_t(middle, freedom) < probability else (low, middle)
        )
    return (low + high) / 2


def _cumulative_t(t: float, freedom: int) -> float:
    """P(T ≤ t) for t ≥ 0 and whole degrees of freedom, by the finite sums in the angle.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle)
    total = 0.0
    odd = freedom % 2
    term = cosine if odd else 1.0
    for k in range(freedom // 2):
        total += term
        term *= cosine**2 * (2 * k + 2 - (1 - odd)) / (2 * k + 3 - (1 - odd))
    if odd:
        return 0.5 + (angle + math.sin(angle) * total) / math.pi
    return 0.5 + math.sin(angle) * total / 2
