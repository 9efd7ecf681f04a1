"""The power of undecided rules: the mean they could have shown, and the seeds they need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from reproaudit.lazy import scipy
from reproaudit.stats.acceptance import AcceptanceRule, most_astray
from reproaudit.stats.intervals import critical_t

Distance = Callable[[float], float]
"""The distance of the true mean from a limit, in standard errors."""

POWER = 0.8
"""The probability of a decision that `detectable` and `seeds_needed` of a `RuleResult` promise."""

MOST_SEEDS = 10_000
"""Beyond this many, `RuleResult.seeds_needed` is None: no one will run them."""


def needed_to_decide(
    mean: float, error: float, n: int, rule: AcceptanceRule
) -> tuple[float | None, int | None]:
    """The `detectable` mean, on the rising scale, and the `seeds_needed` of a `RuleResult`.

    Args:
        mean: of seeds that leave the rule undecided, on the rising scale.
        error: its standard error.
        n: how many seeds, at least two.
        rule: on the same scale.
    """
    power = _power_to_meet if rule.holds(mean) else _power_to_miss

    def with_seeds(m: int) -> float:
        return power(rule, lambda x: _over(abs(mean - x), error) * math.sqrt(m / n), m)

    def with_mean(at: float) -> float:
        return power(rule, lambda x: abs(at - x) / error, n)

    decides = error > 0 and most_astray(n, rule.level) >= 0
    detectable = _detectable(with_mean, rule, mean, error) if decides else None
    return detectable, _seeds_needed(with_seeds, rule, mean)


def _over(distance: float, error: float) -> float:
    """A distance in standard errors, infinite where seeds do not spread."""
    return distance / error if error else math.inf


def _power_to_miss(rule: AcceptanceRule, away: Distance, n: int) -> float:
    """The power to miss with a mean outside, by the test at the nearer limit.

    The test at the farther limit adds next to nothing and is left out.
    """
    return 1 - _failure([min(away(rule.low), away(rule.high))], n, rule.missed, rule.level)


def _power_to_meet(rule: AcceptanceRule, away: Distance, n: int) -> float:
    """The power to meet with a mean within: at least 1 − the failures at both limits."""
    return 1 - _failure([away(rule.low), away(rule.high)], n, rule.met, rule.level)


def _failure(away: Sequence[float], n: int, confidence: float, level: float | None) -> float:
    """The largest probability that the interval fails at a limit, or the count of runs.

    It is the sum of all, so that the power never promises too much. The count is that of runs
    beyond any of the limits, which are normal on the scale.

    Args:
        away: distance of the true mean from each limit, in standard errors.
        n: number of runs.
        confidence: of the interval.
        level: of the count; None if there is none.
    """
    astray = most_astray(n, level)
    if astray < 0:
        return 1.0
    wrong = min(1.0, sum(float(scipy.special.ndtr(-one / math.sqrt(n))) for one in away))
    too_many = 1 - float(scipy.special.bdtr(astray, n, wrong))
    return min(1.0, sum(1 - one_sided_power(one, n - 1, confidence) for one in away) + too_many)


def one_sided_power(noncentrality: float, freedom: float, confidence: float) -> float:
    """The power of a one-sided t test: that a noncentral t exceeds the central one's quantile.

    Args:
        noncentrality: distance of the true mean from the limit, in standard errors.
        freedom: degrees of freedom.
        confidence: of the two-sided interval, one end of which must clear the limit.
    """
    critical = critical_t(freedom, confidence)
    failure = float(scipy.special.nctdtr(freedom, noncentrality, critical))
    if math.isnan(failure):  # so deep in a tail that SciPy's series gives up
        return 1.0 if noncentrality > critical else 0.0
    return 1 - failure


def least_shift(freedom: float, confidence: float) -> float:
    """The distance from a limit, in standard errors, that a t test shows with power 80 %."""
    farthest = 10 * critical_t(freedom, confidence)

    def excess(shift: float) -> float:
        return one_sided_power(shift, freedom, confidence) - POWER

    return float(scipy.optimize.brentq(excess, 0.0, farthest, xtol=1e-9))


def _detectable(
    power: Callable[[float], float], rule: AcceptanceRule, mean: float, error: float
) -> float | None:
    """The mean nearest to the limit, on the estimate's side of it, that has enough power."""
    limit = rule.nearest(mean)
    away = 1.0 if limit == (rule.low if rule.holds(mean) else rule.high) else -1.0
    farthest = (rule.high - rule.low) / 2 / error if rule.holds(mean) else math.inf
    far = min(1.0, farthest)  # distances are in standard errors, so that tiny ones do not vanish
    while power(limit + away * far * error) < POWER:
        if far >= farthest:
            return None
        far = min(2 * far, farthest)
    enough = scipy.optimize.brentq(
        lambda d: power(limit + away * d * error) - POWER, 0.0, far, xtol=1e-9
    )
    return limit + away * float(enough) * error


def _seeds_needed(power: Callable[[int], float], rule: AcceptanceRule, mean: float) -> int | None:
    """The smallest number of seeds that gives enough power; power rises with their number."""
    if mean == rule.nearest(mean):
        return None
    few, many = 1, 2
    while power(many) < POWER:
        if many == MOST_SEEDS:
            return None
        few, many = many, min(2 * many, MOST_SEEDS)
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if power(middle) >= POWER else (middle, many)
    return many
