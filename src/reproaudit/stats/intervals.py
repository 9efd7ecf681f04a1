"""Intervals of a mean over seeds (Student t) and of a share (Wilson)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
        method: how it was made, for people to read.
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

    On the log scale this is the geometric mean. Equal values give an interval of zero width.

    Args:
        values: one per seed; shape (seed,), at least two.
        scale: where the values are near normal.
        confidence: two-sided.
        floor: the measurement's resolution on a log-type scale.

    Raises:
        ValueError: fewer than two values, a value that is not finite or outside the scale's domain.
    """
    axis = FittingAxis(Scale(scale), floor)
    z = axis.place(seeds_given(values))
    if z.size < 2:
        raise ValueError("an interval needs at least two seeds")
    return axis.natural(moments(z)[0]), student_t(axis, z, checked_confidence(confidence))


def wilson(successes: int, total: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a share (J. Am. Stat. Assoc. 22, 1927).

    Raises:
        ValueError: no trials, or more successes than trials.
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


def moments(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard error over the last axis, of shape (…, seed), at least one seed.

    Deviations are taken relative to the largest, so that squares neither overflow nor vanish, and
    equal values have a spread of exactly 0, which rounding of their mean would spoil.
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


def t_ends(z: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Both ends of the Student-t interval of the mean over the last axis, at least two seeds."""
    mean, error = moments(z)
    with np.errstate(over="ignore"):
        half = scipy.special.stdtrit(z.shape[-1] - 1, (1 + confidence) / 2) * error
        return mean - half, mean + half


def student_t(
    axis: FittingAxis, z: FloatArray, confidence: float, method: str = "Student t"
) -> Interval:
    """The interval, in natural units, of seeds whose places on the axis are z; shape (seed,)."""
    low, high = map(axis.natural, t_ends(z, confidence))
    return Interval(low, high, confidence, method, axis.scale.value)


def seeds_given(values: ArrayLike) -> FloatArray:
    """One value per seed as an array of shape (seed,).

    Raises:
        ValueError: no values, another shape, or a number that is not finite.
    """
    seeds = finite(values, "a seed's value")
    if seeds.ndim != 1 or seeds.size == 0:
        raise ValueError(f"one value per seed is needed, not an array of shape {seeds.shape}")
    return seeds


def checked_confidence(confidence: float, least: float = 0.0) -> float:
    """The confidence, if it lies between the least one and 1.

    Raises:
        ValueError: if not.
    """
    if not least < confidence < 1:
        raise ValueError(f"a confidence lies between {least:g} and 1: {confidence:g}")
    return confidence
