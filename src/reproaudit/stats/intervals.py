"""Mean, standard error and Student-t interval of seeds, and Wilson's interval of a share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from reproaudit.lazy import np, scipy
from reproaudit.stats.scales import FLOOR, FittingAxis, FloatArray, Scale, finite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Interval:
    """A confidence interval in natural units.

    Attributes:
        low: lower end.
        high: upper end, finite and no lower than `low`.
        confidence: two-sided, between 0 and 1.
        method: the name of the procedure, for people to read.
        scale: the `Scale` on which it is symmetric (Wilson's is not, and says ``linear``).
    """

    low: float
    high: float
    confidence: float
    method: str
    scale: str


def mean_interval(
    values: ArrayLike,
    *,
    scale: Scale = Scale.LINEAR,
    confidence: float = 0.95,
    floor: float = FLOOR,
) -> tuple[float, Interval]:
    """The mean over seeds on the fitting scale, and its Student-t interval, in natural units.

    On the log scale the mean is the geometric mean. Equal values give an interval of zero width.

    Args:
        values: one per seed; shape (seed,), at least two.
        scale: where the values are near normal.
        confidence: two-sided.
        floor: the measurement's resolution on a log-type scale.

    Raises:
        ValueError: for fewer than two values, or a value that is not finite or outside the
            scale's domain.
    """
    axis = FittingAxis(Scale(scale), floor)
    z = axis.place(seeds_given(values))
    if z.size < 2:
        raise ValueError("an interval needs at least two seeds")
    known = moments(z)
    interval = student_t(axis, known, z.size, checked_confidence(confidence))
    return axis.natural(known[0]), interval


def wilson(successes: int, total: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a share (J. Am. Stat. Assoc. 22, 1927).

    Raises:
        ValueError: if there are no trials, or more successes than trials.
    """
    if total < 1 or not 0 <= successes <= total:
        raise ValueError(f"{successes} of {total} is not a share")
    z = float(scipy.special.ndtri((1 + checked_confidence(confidence)) / 2))
    share, weight = successes / total, z**2 / total
    centre = (share + weight / 2) / (1 + weight)
    half = math.sqrt(weight * share * (1 - share) + weight**2 / 4) / (1 + weight)
    low = 0.0 if successes == 0 else centre - half  # exact at the ends, where rounding is not
    high = 1.0 if successes == total else centre + half
    return Interval(low, high, confidence, "Wilson", Scale.LINEAR.value)


def clopper_pearson(successes: int, total: int, confidence: float = 0.95) -> Interval:
    """The exact binomial interval of a share (Clopper and Pearson, Biometrika 26, 1934).

    Raises:
        ValueError: if there are no trials, or more successes than trials.
    """
    if total < 1 or not 0 <= successes <= total:
        raise ValueError(f"{successes} of {total} is not a share")
    tail = (1 - checked_confidence(confidence)) / 2
    quantile, failures = scipy.special.betaincinv, total - successes
    low = float(quantile(successes, failures + 1, tail)) if successes else 0.0
    high = float(quantile(successes + 1, failures, 1 - tail)) if failures else 1.0
    return Interval(low, high, confidence, "exact binomial", Scale.LINEAR.value)


Moments: TypeAlias = "tuple[FloatArray, FloatArray]"
"""Mean and standard error."""


def moments(z: FloatArray) -> Moments:
    """Mean and standard error over the last axis, of shape (…, seed), at least one seed.

    Deviations are divided by the largest of them, so that their squares neither overflow nor
    vanish. Equal values have a standard error of exactly 0, whatever the rounding of their mean.

    Raises:
        ValueError: if a mean is beyond the largest float.
    """
    n = z.shape[-1]
    equal = z.min(axis=-1) == z.max(axis=-1)
    with np.errstate(over="ignore"):
        mean = np.where(equal, z[..., 0], z.mean(axis=-1))
    if not np.isfinite(mean).all():
        raise ValueError("the values are too large for their mean to be a number")
    deviations = np.where(equal[..., None], 0.0, z - mean[..., None])
    largest = np.abs(deviations).max(axis=-1)
    relative = deviations / np.where(largest > 0, largest, 1.0)[..., None]
    variance = (relative**2).sum(axis=-1) / max(n - 1, 1)
    return mean, largest * np.sqrt(variance / n)


def critical_t(freedom: float, confidence: float) -> float:
    """Half the width of a two-sided Student-t interval, in standard errors."""
    return float(scipy.special.stdtrit(freedom, (1 + confidence) / 2))


def t_ends(known: Moments, runs: int, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Both ends of the Student-t interval of the mean of at least two runs."""
    mean, error = known
    with np.errstate(over="ignore"):
        half = critical_t(runs - 1, confidence) * error
        return mean - half, mean + half


def student_t(
    axis: FittingAxis, known: Moments, runs: int, confidence: float, method: str = "Student t"
) -> Interval:
    """The Student-t interval, in natural units, of runs whose moments are given on the axis."""
    low, high = map(axis.natural, t_ends(known, runs, confidence))
    return Interval(low, high, confidence, method, axis.scale.value)


def seeds_given(values: ArrayLike) -> FloatArray:
    """One value per seed as an array of shape (seed,).

    Raises:
        ValueError: for no values, another shape, or a number that is not finite.
    """
    seeds = finite(values, "a seed's value")
    if seeds.ndim != 1 or seeds.size == 0:
        raise ValueError(f"one value per seed is needed, not an array of shape {seeds.shape}")
    return seeds


def checked_confidence(confidence: float, least: float = 0.0) -> float:
    """The confidence itself.

    Raises:
        ValueError: unless it lies between `least` and 1.
    """
    if not least < confidence < 1:
        raise ValueError(f"a confidence lies between {least:g} and 1: {confidence:g}")
    return confidence
