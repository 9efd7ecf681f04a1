"""Whether two sets of seeds differ by more than noise, and what difference could have been seen.

The values are compared on their fitting scale, by a Student-t interval of the mean difference
(paired by seed) or by Welch's interval (Biometrika 34, 1947). An interval that holds "no
difference" does not say that there is none: beside it stands the smallest difference that these
seeds would have shown with power 80 %.

On the linear scale differences are differences; on the others they are ratios: of the values (log),
of their odds (logit), of what is missing to 1 (log_complement).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.optimize import brentq

from reproaudit.stats import FLOOR, POWER, Scale

FORMS = {
    Scale.LINEAR: "difference",
    Scale.LOG: "ratio",
    Scale.LOGIT: "odds ratio",
    Scale.LOG_COMPLEMENT: "ratio of 1 − x",
}
"""What a difference on each scale is in natural units."""

_LARGEST = math.log(sys.float_info.max)


@dataclass(frozen=True)
class SeedDifference:
    """How far the later seeds lie from the earlier ones, in natural units.

    Attributes:
        form: what the numbers are, one of `FORMS`.
        estimate: later from earlier: 0 (a difference) or 1 (a ratio) is none.
        low: lower end of the interval.
        high: upper end of the interval.
        confidence: two-sided.
        method: how the interval was made, for people to read.
        within_noise: whether the interval holds "no difference".
        detectable: the smallest difference upwards from none that would have been seen with power
            80 %; downwards it is its negative or its reciprocal. None where seeds do not spread.
    """

    form: str
    estimate: float
    low: float
    high: float
    confidence: float
    method: str
    within_noise: bool
    detectable: float | None


def seed_difference(
    before: Sequence[float],
    after: Sequence[float],
    *,
    paired: bool,
    scale: Scale = Scale.LINEAR,
    confidence: float = 0.95,
    floor: float = FLOOR,
) -> SeedDifference:
    """The mean difference of two sets of seeds on a scale, with its interval.

    Args:
        before: one value per seed, at least two.
        after: one value per seed, at least two; if paired, in the order of `before`.
        paired: whether the i-th values belong to one seed.
        scale: where the values are near normal.
        confidence: two-sided.
        floor: the measurement's resolution on a log-type scale.

    Raises:
        ValueError: fewer than two seeds, unequal numbers of paired ones, a value outside the scale.
    """
    if min(len(before), len(after)) < 2:
        raise ValueError("a difference beyond noise needs at least two seeds on either side")
    if paired and len(before) != len(after):
        raise ValueError(f"{len(before)} and {len(after)} values cannot be paired")
    a, b = (scale.forward(np.asarray(v), floor=floor) for v in (before, after))
    mean = float(np.mean(b - a)) if paired else float(np.mean(b) - np.mean(a))
    error, freedom = _paired_error(b - a) if paired else _welch_error(a, b)
    half = float(special.stdtrit(freedom, (1 + confidence) / 2)) * error
    detectable = None if error == 0 else _least_shift(freedom, confidence) * error
    return SeedDifference(
        form=FORMS[scale],
        estimate=_natural(mean, scale),
        low=_natural(mean - half, scale),
        high=_natural(mean + half, scale),
        confidence=confidence,
        method=f"Student t, paired by {len(before)} seeds"
        if paired
        else f"Welch t, {len(before)} against {len(after)} seeds",
        within_noise=mean - half <= 0 <= mean + half,
        detectable=None if detectable is None else _natural(detectable, scale),
    )


def _paired_error(differences: NDArray[np.float64]) -> tuple[float, float]:
    """Standard error of the mean difference, and its degrees of freedom."""
    n = differences.size
    if differences.min() == differences.max():  # rounding of the mean would invent a spread
        return 0.0, n - 1
    return float(differences.std(ddof=1)) / math.sqrt(n), n - 1


def _welch_error(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[float, float]:
    """Standard error of the difference of means, and Welch–Satterthwaite degrees of freedom."""
    first, second = (_paired_error(values)[0] ** 2 for values in (a, b))
    if first + second == 0:
        return 0.0, a.size + b.size - 2
    freedom = (first + second) ** 2 / (first**2 / (a.size - 1) + second**2 / (b.size - 1))
    return math.sqrt(first + second), freedom


def _least_shift(freedom: float, confidence: float) -> float:
    """How many standard errors a true difference must be for the test to show it (power 80 %)."""
    critical = float(special.stdtrit(freedom, (1 + confidence) / 2))

    def missing(shift: float) -> float:
        return POWER - 1 + float(special.nctdtr(freedom, shift, critical))

    return float(brentq(missing, 0.0, 10 * critical, xtol=1e-9))


def _natural(shift: float, scale: Scale) -> float:
    if scale is Scale.LINEAR:
        return shift
    return math.exp(min(max(shift, -_LARGEST), _LARGEST))
