"""Decisions by a rule from one number per seed: met, missed or undecided."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from reproaudit.lazy import np
from reproaudit.stats.acceptance import (
    AcceptanceRule,
    Side,
    bound_rule,
    equivalence_rule,
    met_and_missed,
    miss_confidence,
)
from reproaudit.stats.intervals import (
    Interval,
    checked_confidence,
    clopper_pearson,
    moments,
    seeds_given,
    student_t,
)
from reproaudit.stats.power import needed_to_decide
from reproaudit.stats.scales import FLOOR, FittingAxis, FloatArray, Scale, finite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Decision(StrEnum):
    """The answer of the seeds to a rule."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class RuleResult:
    """The decision by one rule, with its estimate and interval; every number in natural units.

    Attributes:
        estimate: the mean on the fitting scale, back-transformed. Of a rule over every seed, the
            deciding seed: the one with the least room to the limit, or farthest beyond it.
        interval: the one that decides on the estimate's side (see `reproaudit.stats`); None for
            rules over every seed, and for a single seed.
        decision: met, missed or undecided.
        bound: the bound, or the target of an equivalence.
        per_seed: the values as they were given.
        detectable: of an undecided rule, the mean nearest to the limit, on the estimate's side
            of it, that as many seeds with this spread would decide with power 80 %. It is a value
            of the mean, to be read beside `estimate` and `bound`. None if even a mean in the
            middle of the margin would stay undecided.
        seeds_needed: of an undecided rule, how many seeds in all would decide it with power
            80 %, if the observed mean and spread were the true ones. None beyond 10 000, with the
            estimate on the limit itself, or with a single seed.
        satisfied: of a rule over every seed, how many seeds are on the right side; otherwise None.
    """

    estimate: float
    interval: Interval | None
    decision: Decision
    bound: float
    per_seed: tuple[float, ...]
    detectable: float | None = None
    seeds_needed: int | None = None
    satisfied: int | None = None


# ---------------------------------------------------------------- over the mean


def decide_bound(
    values: ArrayLike,
    bound: float,
    side: Side,
    *,
    scale: Scale,
    confidence: float = 0.95,
    divisor: float = 1,
    level: float | None = None,
    floor: float = FLOOR,
) -> RuleResult:
    """Decide whether the mean over seeds lies on its side of a bound.

    Args:
        values: one per seed; shape (seed,). A single seed is undecided and has no interval.
        bound: in natural units.
        side: the side of the bound on which the mean should lie.
        scale: where the values are near normal.
        confidence: 1 − α of the two-sided interval that must lie on the side.
        divisor: by what the error of a miss is divided; at least 1.
        level: the error of the count of runs that may lie on the wrong side (the sign test of
            `acceptance.most_astray`); without it the mean alone decides.
        floor: the measurement's resolution on a log-type scale.

    Raises:
        ValueError: for values as in `mean_interval`, or a bound that the measurement cannot
            resolve.
    """
    axis = FittingAxis(Scale(scale), floor)
    rule = bound_rule(axis.limit(bound), side, confidence, divisor, level)
    return _decide_mean(seeds_given(values), bound, rule, axis)


def decide_equivalence(
    values: ArrayLike,
    target: float,
    margin: float,
    *,
    scale: Scale,
    confidence: float = 0.95,
    divisor: float = 1,
    level: float | None = None,
    floor: float = FLOOR,
) -> RuleResult:
    """Decide whether the mean over seeds equals a target within a margin (two one-sided tests).

    The other arguments and errors are those of `decide_bound`.

    Args:
        target: in natural units.
        margin: the difference that still counts as equal, see `equivalence_range`.
        confidence: 1 − α of each one-sided test; the interval that must lie within is 1 − 2α.

    Raises:
        ValueError: also for a margin that is not positive or excludes nothing.
    """
    if margin == 0:
        raise ValueError("no number of seeds can show equivalence within a margin of 0")
    axis = FittingAxis(Scale(scale), floor)
    rule = equivalence_rule(*axis.edges(target, margin), confidence, divisor, level)
    return _decide_mean(seeds_given(values), target, rule, axis)


def expected_errors(bounds: int = 0, equivalences: int = 0, *, confidence: float = 0.95) -> float:
    """The largest average number of wrong decisions that chance alone would give.

    With α = 1 − confidence: a true mean is on one side of its limit, so a rule can be wrong in one
    way only. A bound is wrongly met with probability at most α/2, and wrongly missed with at most
    α/2 over all parts of its claim together; an equivalence is wrongly met with at most α and
    wrongly missed with at most α/2. So a claim, whatever its parts, adds at most α/2 or α, and the
    sum bounds the expectation whether or not the claims are independent. It is reached only where
    every true mean lies on its limit. Rules over every seed have no such error.

    Count every claim judged by such a rule, *those that came out undecided too*: the guarantee is
    given before the data; counting the decided alone would understate it.

    Raises:
        ValueError: for a negative count, or a confidence of no more than one half.
    """
    if bounds < 0 or equivalences < 0:
        raise ValueError("a number of rules is not negative")
    alpha = 1 - checked_confidence(confidence, least=0.5)
    return bounds * alpha / 2 + equivalences * alpha


def _decide_mean(
    seeds: FloatArray, bound: float, rule: AcceptanceRule, axis: FittingAxis
) -> RuleResult:
    """The result of a rule over the mean of seeds of shape (seed,)."""
    z = axis.place(seeds)
    known = moments(z)
    mean, error = map(float, known)
    if seeds.size < 2:
        return RuleResult(axis.natural(mean), None, Decision.UNDECIDED, float(bound), _tuple(seeds))
    met, missed = met_and_missed(z, rule, known)
    decision = Decision.MET if met else Decision.MISSED if missed else Decision.UNDECIDED
    holds = rule.holds(mean)
    confidence = rule.met if holds else rule.missed
    undecided = decision is Decision.UNDECIDED
    detectable, seeds_needed = (
        needed_to_decide(mean, error, z.size, rule) if undecided else (None, None)
    )
    return RuleResult(
        estimate=axis.natural(mean),
        interval=student_t(axis, known, z.size, confidence, rule.method(holds)),
        decision=decision,
        bound=float(bound),
        per_seed=_tuple(seeds),
        detectable=None if detectable is None else axis.natural(detectable),
        seeds_needed=seeds_needed,
    )


def decide_rate(
    fails: ArrayLike, at_most: float, *, confidence: float = 0.95, divisor: float = 1
) -> RuleResult:
    """Decide whether at most a share of all runs fails, by the exact binomial interval.

    Args:
        fails: 1 for a run that fails, 0 for one that passes; shape (run,).
        at_most: the largest share that may fail.
        confidence: 1 − α of the two-sided interval that must lie at or below the share.
        divisor: by what the error of a miss is divided; at least 1.

    Raises:
        ValueError: for no runs, a number other than 0 and 1, or a share outside 0 to 1.
    """
    runs = seeds_given(fails)
    if not np.isin(runs, (0.0, 1.0)).all():
        raise ValueError("a run fails (1) or passes (0)")
    if not 0 < at_most < 1:
        raise ValueError(f"a rate lies between 0 and 1: {at_most:g}")
    failed, total = int(runs.sum()), runs.size
    met = clopper_pearson(failed, total, checked_confidence(confidence))
    missed = clopper_pearson(failed, total, miss_confidence(confidence, divisor))
    decision = Decision.UNDECIDED
    if met.high <= at_most:
        decision = Decision.MET
    elif missed.low > at_most:
        decision = Decision.MISSED
    share = failed / total
    return RuleResult(
        estimate=share,
        interval=met if share <= at_most else missed,
        decision=decision,
        bound=float(at_most),
        per_seed=_tuple(runs),
    )


# ---------------------------------------------------------------- without an interval


def decide_every_seed(values: ArrayLike, bound: float, side: Side) -> RuleResult:
    """Decide whether every seed lies on its side of a bound: a count, never undecided.

    Raises:
        ValueError: for no values, or a number that is not finite.
    """
    seeds = seeds_given(values)
    finite(bound, "a bound")
    slack = bound - seeds if Side(side) is Side.AT_MOST else seeds - bound
    return _counted(seeds, slack, bound)


def decide_every_seed_within(
    values: ArrayLike,
    target: float,
    margin: float,
    *,
    scale: Scale = Scale.LINEAR,
    floor: float = FLOOR,
) -> RuleResult:
    """Decide whether every seed lies within the margin of a target (`equivalence_range`).

    Raises:
        ValueError: as in `decide_equivalence`, except that a margin of 0 is allowed.
    """
    seeds, axis = seeds_given(values), FittingAxis(Scale(scale), floor)
    z, (low, high) = axis.place(seeds), axis.edges(target, margin)
    return _counted(seeds, np.minimum(z - low, high - z), target)


def _counted(seeds: FloatArray, slack: FloatArray, bound: float) -> RuleResult:
    """The result of a rule over every seed, by how far each lies on the right side."""
    satisfied = int((slack >= 0).sum())
    return RuleResult(
        estimate=float(seeds[int(np.argmin(slack))]),
        interval=None,
        decision=Decision.MET if satisfied == seeds.size else Decision.MISSED,
        bound=float(bound),
        per_seed=_tuple(seeds),
        satisfied=satisfied,
    )


def _tuple(seeds: FloatArray) -> tuple[float, ...]:
    return tuple(float(x) for x in seeds)
