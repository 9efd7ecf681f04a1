"""The difference between two sets of seeds, and the smallest that could have been seen.

The values are compared on their fitting scale, by the Student-t interval of the mean difference
(paired by seed) or by Welch's interval (Biometrika 34, 1947). An interval that holds "no
difference" does not say that there is none: beside it stands the smallest difference that these
seeds would have shown with power 80 %.

On the linear scale differences are differences; on the others they are ratios: of the values (log),
of their odds (logit), of what is missing to 1 (log_complement).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reproaudit.lazy import np
from reproaudit.stats.intervals import checked_confidence, critical_t, moments, seeds_given
from reproaudit.stats.power import least_shift
from reproaudit.stats.scales import FLOOR, FloatArray, Scale

FORMS = {
    Scale.LINEAR: "difference",
    Scale.LOG: "ratio",
    Scale.LOGIT: "odds ratio",
    Scale.LOG_COMPLEMENT: "ratio of 1 − x",
}
"""The meaning, in natural units, of a difference on each scale."""


@dataclass(frozen=True)
class SeedDifference:
    """The mean difference of later seeds from earlier ones, in natural units.

    Attributes:
        form: the kind of number, one of `FORMS`.
        estimate: later from earlier; no difference is 0 (a difference) or 1 (a ratio).
        low: lower end of the interval.
        high: upper end of the interval.
        confidence: two-sided.
        method: the name of the interval, for people to read.
        within_noise: whether the interval holds "no difference".
        detectable: the smallest difference upwards that would have been seen with power 80 %;
            downwards it is its negative or its reciprocal. None where the seeds do not spread.
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
        ValueError: for fewer than two seeds, unequal numbers of paired ones, or a value that is
            not finite or outside the scale's domain.
    """
    if min(len(before), len(after)) < 2:
        raise ValueError("a difference beyond noise needs at least two seeds on either side")
    if paired and len(before) != len(after):
        raise ValueError(f"{len(before)} and {len(after)} values cannot be paired")
    a, b = (scale.forward(seeds_given(values), floor=floor) for values in (before, after))
    mean, error, freedom = _paired(a, b) if paired else _welch(a, b)
    half = critical_t(freedom, checked_confidence(confidence)) * error
    natural = scale if scale is Scale.LINEAR else Scale.LOG  # where a difference is a ratio
    return SeedDifference(
        form=FORMS[scale],
        estimate=float(natural.inverse(mean)),
        low=float(natural.inverse(mean - half)),
        high=float(natural.inverse(mean + half)),
        confidence=confidence,
        method=f"Student t, paired by {len(before)} seeds"
        if paired
        else f"Welch t, {len(before)} against {len(after)} seeds",
        within_noise=mean - half <= 0 <= mean + half,
        detectable=float(natural.inverse(least_shift(freedom, confidence) * error))
        if error
        else None,
    )


def _paired(a: FloatArray, b: FloatArray) -> tuple[float, float, float]:
    """Mean of the differences b − a, its standard error, and the degrees of freedom."""
    with np.errstate(over="ignore"):
        mean, error = moments(b - a)
    return float(mean), float(error), a.size - 1


def _welch(a: FloatArray, b: FloatArray) -> tuple[float, float, float]:
    """Difference of the means, its standard error, and Welch–Satterthwaite degrees of freedom."""
    means, errors = zip(*(map(float, moments(values)) for values in (a, b)), strict=True)
    largest = max(errors)
    if largest == 0:
        return means[1] - means[0], 0.0, a.size + b.size - 2
    first, second = ((error / largest) ** 2 for error in errors)
    freedom = (first + second) ** 2 / (first**2 / (a.size - 1) + second**2 / (b.size - 1))
    return means[1] - means[0], largest * float(np.sqrt(first + second)), freedom
