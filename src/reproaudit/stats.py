"""What a handful of seeds can say: intervals, decisions, power, and the onset of a change.

A rule is judged on a *fitting scale* on which its measure is near normal (`Scale`): the seeds' mean
there has a Student-t interval, and a decision is where that interval lies.

=============  ===========================  ====================================================
rule           met                          missed
=============  ===========================  ====================================================
bound          the 1 − α interval lies on   the 1 − α/parts interval lies wholly on the other
               the bound's right side
equivalence    the 1 − 2α interval lies     the 1 − α/parts interval lies wholly outside
               within the margin
=============  ===========================  ====================================================

with α = 1 − confidence, and *undecided* between the two. A claim of several parts is met only if
all are, which needs no correction (an intersection-union test: Berger, Technometrics 24, 1982); it
is missed if one is, which does. The equivalence rule is the two one-sided tests of Schuirmann
(J. Pharmacokinet. Biopharm. 15, 1987).

**The interval that a finding reports** is the one that decides on the estimate's side: that of
*met* where the estimate satisfies the rule, that of *missed* where it does not. So the decision can
be read off it: within is met, outside is missed, across the limit is undecided. Its `method` and
`confidence` say which it is.

Nothing here draws random numbers, and no interval is a bootstrap: with 5 to 20 seeds a percentile
bootstrap is too narrow.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from reproaudit.deferred import deferred

if TYPE_CHECKING:
    import numpy as np
    import scipy
    from numpy.typing import ArrayLike, NDArray
else:
    np, scipy = deferred("numpy"), deferred("scipy")

Array: TypeAlias = "NDArray[np.float64]"
Distance = Callable[[float], float]  # from a limit to the true mean, in standard errors

FLOOR = 1e-12
"""The resolution that a measurement is given on a log-type scale unless its rule says otherwise."""

POWER = 0.8
"""The probability with which `Finding.detectable` and `Finding.seeds_needed` would be decided."""

MOST_SEEDS = 10_000
"""Beyond this many, `Finding.seeds_needed` is None: no one will run them."""

_LARGEST_EXPONENT = math.log(sys.float_info.max)


class Scale(StrEnum):
    """The scale on which a measure is taken to be near normal over seeds.

    On the log-type scales a measurement resolves nothing finer than its `floor`: values (on
    ``log_complement`` 1 − value, on ``logit`` both) below the floor are set to it, and a value
    outside the domain by no more than the floor is rounding. Farther out is an error.
    """

    LINEAR = "linear"
    """Any number; the floor plays no part."""
    LOG = "log"
    """log x for positive skewed measures, such as a loss or a ratio; x ≥ 0."""
    LOGIT = "logit"
    """log(p / (1 − p)) for shares that may come near either end; 0 ≤ p ≤ 1."""
    LOG_COMPLEMENT = "log_complement"
    """log(1 − p) for shares, cosines or R² near 1; p ≤ 1. It falls where p rises."""

    def forward(self, values: ArrayLike, *, floor: float = FLOOR) -> Array:
        """Natural units to this scale, shape kept.

        Raises:
            ValueError: a value that is not finite or outside the domain; a floor that is not a
                small positive number.
        """
        x = _finite(values, "a value")
        if self is Scale.LINEAR:
            return x
        _check_floor(floor)
        if self is Scale.LOG:
            return np.log(self._resolved(x, x, floor, "negative"))
        complement = self._resolved(1.0 - x, x, floor, "above 1")
        if self is Scale.LOG_COMPLEMENT:
            return np.log(complement)
        share = self._resolved(x, x, floor, "negative")
        ends = np.minimum([share, complement], 1.0 - floor)  # both flat within the floor of an end
        return np.asarray(np.log(ends[0]) - np.log(ends[1]))

    def inverse(self, values: ArrayLike) -> Array:
        """This scale to natural units, shape kept; beyond the largest float, that float."""
        y = np.asarray(values, dtype=np.float64)
        if self is Scale.LINEAR:
            return np.clip(y, -sys.float_info.max, sys.float_info.max)
        if self is Scale.LOGIT:
            return np.asarray(scipy.special.expit(y), dtype=np.float64)
        capped = np.minimum(y, _LARGEST_EXPONENT)
        return np.exp(capped) if self is Scale.LOG else np.asarray(-np.expm1(capped))

    def _resolved(self, distance: Array, values: Array, floor: float, fault: str) -> Array:
        """The distance from an end of the domain, no smaller than the floor."""
        if (distance < -floor).any():
            worst = float(values.flat[int(np.argmin(distance))])
            raise ValueError(f"{worst:g} has no place on the {self.value} scale: it is {fault}")
        return np.maximum(distance, floor)


class Decision(StrEnum):
    """Where the evidence of the seeds lies relative to a rule."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"


class Side(StrEnum):
    """The side of a bound on which a measure should lie; the bound itself belongs to it."""

    AT_MOST = "at_most"
    AT_LEAST = "at_least"


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


@dataclass(frozen=True)
class Finding:
    """What the seeds say about one rule; every number in natural units.

    Attributes:
        estimate: the mean on the fitting scale, back-transformed. Of a rule over every seed, the
            seed that binds: the one least on the right side. Of an exact rule, its value.
        interval: the one that decides on the estimate's side (see the module's docstring); None
            for rules over every seed, exact rules, and a single seed.
        decision: met, missed or undecided.
        bound: the bound, or the target of an equivalence.
        per_seed: the values as they were given.
        detectable: of an undecided finding, the mean nearest to the limit, on the estimate's side
            of it, that as many seeds with this spread would decide with power 80 %. It is a value
            of the mean, to be read beside `estimate` and `bound`. None when even a mean in the
            middle of the margin would not be.
        seeds_needed: of an undecided finding, how many seeds in all would decide it with power
            80 %, were the mean and spread seen the true ones. None beyond 10 000, with the estimate
            on the limit itself, or with a single seed.
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


@dataclass(frozen=True)
class Onset:
    """When a change over training set in.

    Attributes:
        step: the interpolated step of the last crossing; None when censored.
        censored: whether the change was too small to have an onset within what was observed.
        change: final minus baseline, signed.
        stable: whether varying share and horizon leaves the answer in place (`onset`).
    """

    step: float | None
    censored: bool
    change: float
    stable: bool


# ---------------------------------------------------------------- intervals


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
    axis = _Axis(Scale(scale), floor)
    z = axis.place(_seeds(values))
    if z.size < 2:
        raise ValueError("an interval needs at least two seeds")
    return axis.natural(_moments(z)[0]), axis.interval(z, _checked_confidence(confidence))


def wilson(successes: int, total: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a share (J. Am. Stat. Assoc. 22, 1927).

    Raises:
        ValueError: no trials, or more successes than trials.
    """
    if total < 1 or not 0 <= successes <= total:
        raise ValueError(f"{successes} of {total} is not a share")
    z = float(scipy.special.ndtri((1 + _checked_confidence(confidence)) / 2))
    share, weight = successes / total, z**2 / total
    centre = (share + weight / 2) / (1 + weight)
    half = math.sqrt(weight * share * (1 - share) + weight**2 / 4) / (1 + weight)
    low = 0.0 if successes == 0 else centre - half  # exact at the ends, where rounding is not
    high = 1.0 if successes == total else centre + half
    return Interval(low, high, confidence, "Wilson", Scale.LINEAR.value)


# ---------------------------------------------------------------- decisions over the mean


def decide_bound(
    values: ArrayLike,
    bound: float,
    side: Side,
    *,
    scale: Scale,
    confidence: float = 0.95,
    parts: int = 1,
    floor: float = FLOOR,
) -> Finding:
    """Whether the mean over seeds lies on its side of a bound.

    Args:
        values: one per seed; shape (seed,). A single seed is undecided and has no interval.
        bound: in natural units.
        side: where the mean should lie.
        scale: where the values are near normal.
        confidence: 1 − α of the two-sided interval that must lie on the side.
        parts: over how many parts of a claim the error of a miss is divided.
        floor: the measurement's resolution on a log-type scale.

    Raises:
        ValueError: values as in `mean_interval`; a bound that the measurement cannot resolve.
    """
    seeds, axis = _seeds(values), _Axis(Scale(scale), floor)
    z, limit = axis.place(seeds), axis.limit(bound)
    return _found(seeds, z, bound, _bound_rule(limit, side, confidence, parts), axis)


def decide_equivalence(
    values: ArrayLike,
    target: float,
    margin: float,
    *,
    scale: Scale,
    confidence: float = 0.95,
    parts: int = 1,
    floor: float = FLOOR,
) -> Finding:
    """Whether the mean over seeds is equivalent to a target, by two one-sided tests.

    Args:
        values: one per seed; shape (seed,). A single seed is undecided and has no interval.
        target: in natural units.
        margin: what still counts as the same, see `equivalence_range`.
        scale: where the values are near normal.
        confidence: 1 − α of each one-sided test; the interval that must lie within is 1 − 2α.
        parts: over how many parts of a claim the error of a miss is divided.
        floor: the measurement's resolution on a log-type scale.

    Raises:
        ValueError: as in `decide_bound`; a margin that is not positive or excludes nothing.
    """
    if margin == 0:
        raise ValueError("no number of seeds can show equivalence within a margin of 0")
    seeds, axis = _seeds(values), _Axis(Scale(scale), floor)
    z, (low, high) = axis.place(seeds), axis.edges(target, margin)
    return _found(seeds, z, target, _equivalence_rule(low, high, confidence, parts), axis)


def equivalence_range(target: float, margin: float, scale: Scale) -> tuple[float, float]:
    """The natural units that count as the same as a target.

    On the log scale the margin is a relative factor, [target / (1 + margin),
    target · (1 + margin)]; on every other scale it is a difference in natural units,
    [target − margin, target + margin]. The sums are those of the decimals as written, so that 0.8
    is within 0.1 of 0.7 (in binary it is not).

    Raises:
        ValueError: a number that is not finite, a negative margin, or on the log scale a target
            that is not positive.
    """
    _finite([target, margin], "a target or margin")
    if margin < 0:
        raise ValueError(f"a margin is not negative: {margin:g}")
    at, by = Decimal(repr(float(target))), Decimal(repr(float(margin)))
    if scale != Scale.LOG:
        return float(at - by), float(at + by)
    if target <= 0:
        raise ValueError(f"a target on the log scale is positive: {target:g}")
    return float(at / (1 + by)), float(at * (1 + by))


def expected_errors(bounds: int = 0, equivalences: int = 0, *, confidence: float = 0.95) -> float:
    """How many wrong decisions chance alone would give, at most on average.

    With α = 1 − confidence: a true mean is on one side of its limit, so a rule can be wrong in one
    way only. A bound is wrongly met with probability at most α/2, and wrongly missed with at most
    α/2 over all parts of its claim together; an equivalence is wrongly met with at most α and
    wrongly missed with at most α/2. So a claim, whatever its parts, adds at most α/2 or α, and the
    sum bounds the expectation whether or not the claims are independent. It is reached only where
    every true mean lies on its limit. Rules over every seed and exact rules have no such error.

    Count every claim judged by such a rule, *those that came out undecided too*: the guarantee is
    given before the data; counting the decided alone would understate it.

    Raises:
        ValueError: a negative count, or a confidence of no more than one half.
    """
    if bounds < 0 or equivalences < 0:
        raise ValueError("a number of rules is not negative")
    alpha = 1 - _checked_confidence(confidence, least=0.5)
    return bounds * alpha / 2 + equivalences * alpha


# ---------------------------------------------------------------- decisions without an interval


def decide_every_seed(values: ArrayLike, bound: float, side: Side) -> Finding:
    """Whether every seed lies on its side of a bound: a count, without interval or undecided.

    Raises:
        ValueError: no values, or a number that is not finite.
    """
    seeds = _seeds(values)
    _finite(bound, "a bound")
    slack = bound - seeds if Side(side) is Side.AT_MOST else seeds - bound
    return _counted(seeds, slack, bound)


def decide_every_seed_within(
    values: ArrayLike,
    target: float,
    margin: float,
    *,
    scale: Scale = Scale.LINEAR,
    floor: float = FLOOR,
) -> Finding:
    """Whether every seed lies within the margin of a target (`equivalence_range`).

    Raises:
        ValueError: as in `decide_equivalence`, except that a margin of 0 may stand.
    """
    seeds, axis = _seeds(values), _Axis(Scale(scale), floor)
    z, (low, high) = axis.place(seeds), axis.edges(target, margin)
    return _counted(seeds, np.minimum(z - low, high - z), target)


def decide_exact_bound(value: float, bound: float, side: Side) -> Finding:
    """Whether an exactly enumerated value lies on its side of a bound.

    Raises:
        ValueError: a number that is not finite.
    """
    return _exact(decide_every_seed([value], bound, side))


def decide_exact_equivalence(
    value: float,
    target: float,
    margin: float,
    *,
    scale: Scale = Scale.LINEAR,
    floor: float = FLOOR,
) -> Finding:
    """Whether an exactly enumerated value lies within the margin of a target.

    Raises:
        ValueError: as in `decide_every_seed_within`.
    """
    return _exact(decide_every_seed_within([value], target, margin, scale=scale, floor=floor))


def _counted(seeds: Array, slack: Array, bound: float) -> Finding:
    satisfied = int((slack >= 0).sum())
    return Finding(
        estimate=float(seeds[int(np.argmin(slack))]),
        interval=None,
        decision=Decision.MET if satisfied == seeds.size else Decision.MISSED,
        bound=float(bound),
        per_seed=_tuple(seeds),
        satisfied=satisfied,
    )


def _exact(one: Finding) -> Finding:
    return Finding(one.estimate, None, one.decision, one.bound, one.per_seed)


# ---------------------------------------------------------------- the rule on the fitting scale


@dataclass(frozen=True)
class _Rule:
    """A range on the rising fitting scale, and the confidences of its two decisions.

    A bound is a range that is open (infinite) at one end, so that both rules are this one.
    """

    low: float
    high: float
    met: float
    """Confidence of the interval that must lie within."""
    missed: float
    """Confidence of the interval that must lie outside."""
    parts: int
    two_tests: bool = False
    """Whether `met` is two one-sided tests."""

    def holds(self, mean: float) -> bool:
        return self.low <= mean <= self.high

    def nearest(self, mean: float) -> float:
        """The limit nearest to a mean; where one end is open, the other."""
        return self.low if abs(mean - self.low) < abs(mean - self.high) else self.high

    def method(self, holds: bool) -> str:
        if holds:
            return "Student t, two one-sided tests" if self.two_tests else "Student t"
        return "Student t" if self.parts == 1 else f"Student t, error divided by {self.parts} parts"


def _bound_rule(limit: float, side: Side, confidence: float, parts: int) -> _Rule:
    missed = _miss_confidence(_checked_confidence(confidence), parts)
    low, high = (-math.inf, limit) if Side(side) is Side.AT_MOST else (limit, math.inf)
    return _Rule(low, high, confidence, missed, parts)


def _equivalence_rule(low: float, high: float, confidence: float, parts: int) -> _Rule:
    missed = _miss_confidence(_checked_confidence(confidence, least=0.5), parts)
    return _Rule(low, high, _rounded(2 * confidence - 1), missed, parts, two_tests=True)


def _decisions(z: Array, rule: _Rule) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether the rule is met and whether it is missed, of seeds of shape (…, seed)."""
    low, high = _t_interval(z, rule.met)
    met = (low >= rule.low) & (high <= rule.high)
    low, high = _t_interval(z, rule.missed)
    return met, (low > rule.high) | (high < rule.low)


def _found(seeds: Array, z: Array, bound: float, rule: _Rule, axis: _Axis) -> Finding:
    """The finding of seeds whose places on the rising scale are z; both of shape (seed,)."""
    mean = float(_moments(z)[0])
    if seeds.size < 2:
        return Finding(axis.natural(mean), None, Decision.UNDECIDED, float(bound), _tuple(seeds))
    met, missed = _decisions(z, rule)
    decision = Decision.MET if met else Decision.MISSED if missed else Decision.UNDECIDED
    holds = rule.holds(mean)
    confidence = rule.met if holds else rule.missed
    plan = _plan(z, rule) if decision is Decision.UNDECIDED else (None, None)
    return Finding(
        estimate=axis.natural(mean),
        interval=axis.interval(z, confidence, rule.method(holds)),
        decision=decision,
        bound=float(bound),
        per_seed=_tuple(seeds),
        detectable=None if plan[0] is None else axis.natural(plan[0]),
        seeds_needed=plan[1],
    )


def _moments(z: Array) -> tuple[Array, Array]:
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


def _t_interval(z: Array, confidence: float) -> tuple[Array, Array]:
    """Both ends of the Student-t interval of the mean over the last axis, at least two seeds."""
    mean, error = _moments(z)
    with np.errstate(over="ignore"):
        half = scipy.special.stdtrit(z.shape[-1] - 1, (1 + confidence) / 2) * error
        return mean - half, mean + half


@dataclass(frozen=True)
class _Axis:
    """A fitting scale turned so that it rises with natural units, with the resolution on it."""

    scale: Scale
    floor: float

    @property
    def sign(self) -> float:
        return -1.0 if self.scale is Scale.LOG_COMPLEMENT else 1.0

    def place(self, values: ArrayLike) -> Array:
        return self.sign * self.scale.forward(values, floor=self.floor)

    def natural(self, z: ArrayLike) -> float:
        return float(self.scale.inverse(self.sign * np.asarray(z, dtype=np.float64)))

    def interval(self, z: Array, confidence: float, method: str = "Student t") -> Interval:
        low, high = map(self.natural, _t_interval(z, confidence))
        return Interval(low, high, confidence, method, self.scale.value)

    def limit(self, bound: float) -> float:
        """A bound's place; one within the floor of the domain's end cannot be told from it."""
        place = float(self.place(bound))
        if not self._lowest < place < self._highest:
            raise ValueError(
                f"a limit of {bound:g} cannot be judged on the {self.scale.value} scale: the "
                f"measurement resolves {self.floor:g}, and the limit is no farther from the end"
            )
        return place

    def edges(self, target: float, margin: float) -> tuple[float, float]:
        """The places of an equivalence range; an edge beyond the domain's end is no limit."""
        low, high = equivalence_range(target, margin, self.scale)
        self.place(target)  # raises where the target itself is outside the domain
        low_open = self.scale is Scale.LOGIT and low <= self.floor
        high_open = self.scale in _SHARES and 1 - high <= self.floor
        if low_open and high_open:
            raise ValueError(f"a margin of {margin:g} around {target:g} excludes nothing")
        return (
            -math.inf if low_open else self.limit(low),
            math.inf if high_open else self.limit(high),
        )

    @property
    def _lowest(self) -> float:
        return float(self.place(0.0)) if self.scale in (Scale.LOG, Scale.LOGIT) else -math.inf

    @property
    def _highest(self) -> float:
        return float(self.place(1.0)) if self.scale in _SHARES else math.inf


_SHARES = (Scale.LOGIT, Scale.LOG_COMPLEMENT)


# ---------------------------------------------------------------- power


def _plan(z: Array, rule: _Rule) -> tuple[float | None, int | None]:
    """`Finding.detectable` on the rising scale, and `Finding.seeds_needed`."""
    n = z.size
    mean, error = (float(x) for x in _moments(z))
    power = _power_to_meet if rule.holds(mean) else _power_to_miss

    def with_seeds(m: int) -> float:
        return power(rule, lambda x: abs(mean - x) / error * math.sqrt(m / n), m)

    def with_mean(at: float) -> float:
        return power(rule, lambda x: abs(at - x) / error, n)

    return _detectable(with_mean, rule, mean, error), _seeds_needed(with_seeds, rule, mean)


def _power_to_miss(rule: _Rule, away: Distance, n: int) -> float:
    """The power to miss with a mean outside; the far limit adds next to nothing and is left out."""
    return _one_sided(min(away(rule.low), away(rule.high)), n, rule.missed)


def _power_to_meet(rule: _Rule, away: Distance, n: int) -> float:
    """The power to meet with a mean within: both tests must pass, at least 1 − both failures.

    The bound is exact for an open end and, being a lower one, never promises too much.
    """
    limits = [limit for limit in (rule.low, rule.high) if math.isfinite(limit)]
    return max(0.0, 1 - sum(1 - _one_sided(away(limit), n, rule.met) for limit in limits))


def _one_sided(noncentrality: float, n: int, confidence: float) -> float:
    """The power of a one-sided t test: that a noncentral t exceeds the central one's quantile.

    Args:
        noncentrality: distance of the true mean from the limit, in standard errors.
        n: seeds.
        confidence: of the two-sided interval, one end of which must clear the limit.
    """
    critical = float(scipy.special.stdtrit(n - 1, (1 + confidence) / 2))
    failure = float(scipy.special.nctdtr(n - 1, noncentrality, critical))
    if math.isnan(failure):  # so deep in a tail that SciPy's series gives up
        return 1.0 if noncentrality > critical else 0.0
    return 1 - failure


def _detectable(
    power: Callable[[float], float], rule: _Rule, mean: float, error: float
) -> float | None:
    """The mean nearest to the limit, on the estimate's side of it, with power enough."""
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


def _seeds_needed(power: Callable[[int], float], rule: _Rule, mean: float) -> int | None:
    """The smallest number of seeds with power enough; power rises with it."""
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


# ---------------------------------------------------------------- onset

SHARE_VARIED = 0.1
"""By how much `onset` varies the share, either way, to see whether the onset stays."""

HORIZON_VARIED = 0.8
"""The first part of the observed span to which `onset` cuts, to see whether the onset stays."""

STABLE_WITHIN = 0.1
"""How far a stable onset may move, relative to the steps elapsed until it.

A straight ramp, which has no onset, moves by 0.2 when its share goes from 0.5 to 0.4 or 0.6, or
its horizon to 0.8. Half of that tells a transition from a drift.
"""

FINAL_SHARE = 0.1
"""The last part of the observations (at least one), whose mean is the final value."""


def onset(
    steps: ArrayLike,
    values: ArrayLike,
    *,
    share: float = 0.5,
    least_change: float,
    baseline: float | None = None,
) -> Onset:
    """When a change set in: the last crossing of `share` of it, towards the final value.

    The change is the final value (the mean of the last tenth of the observations) minus the
    baseline; it may be negative. Between observations the crossing is interpolated linearly. A
    series already past the level when first observed, that never falls back, has its onset at its
    first step. A change smaller than `least_change` is censored: the onset, if any, is yet to come.

    The onset is stable if it moves by no more than a tenth of the steps elapsed until it when the
    share is varied by 0.1 either way, and when only the first 80 % of the span is looked at. A
    censored one is stable if it is censored under those as well.

    Args:
        steps: training steps, increasing; shape (step,), at least two.
        values: what was observed at them; shape (step,).
        share: of the change, between 0 and 1.
        least_change: the smallest size of change that counts, in the values' units; positive.
        baseline: the value before the change; the first one unless given.

    Raises:
        ValueError: shapes, order or numbers that are not as above.
    """
    s, v = _finite(steps, "a step"), _finite(values, "a value")
    if s.ndim != 1 or s.shape != v.shape or s.size < 2:
        raise ValueError(f"an onset needs two or more steps, a value each: {s.shape}, {v.shape}")
    if (np.diff(s) <= 0).any():
        raise ValueError("the steps of an onset increase")
    if not 0 < share < 1:
        raise ValueError(f"a share lies between 0 and 1: {share:g}")
    if not (math.isfinite(least_change) and least_change > 0):
        raise ValueError(f"the least change is a positive number: {least_change:g}")
    start = float(v[0]) if baseline is None else float(_finite(baseline, "a baseline"))
    change, step = _crossing(s, v, start, share, least_change)
    stable = all(_agree(step, other, s[0]) for other in _varied(s, v, start, share, least_change))
    return Onset(step, step is None, change, stable)


def _crossing(
    s: Array, v: Array, start: float, share: float, least_change: float
) -> tuple[float, float | None]:
    """The change, and the step of its last crossing (None if the change is too small)."""
    final = v[-max(1, int(FINAL_SHARE * v.size)) :].mean()
    change = float(final - start)
    if abs(change) < least_change:
        return change, None
    progress = (v - start) / change - share
    crossings = np.flatnonzero((progress[:-1] < 0) & (progress[1:] >= 0))
    if crossings.size == 0:
        return change, float(s[0])
    i = int(crossings[-1])
    part = -progress[i] / (progress[i + 1] - progress[i])
    return change, float(s[i] + part * (s[i + 1] - s[i]))


def _varied(
    s: Array, v: Array, start: float, share: float, least_change: float
) -> list[float | None]:
    """The onsets under the varied shares (kept between 0 and 1) and the shorter horizon."""
    shares = max(share - SHARE_VARIED, share / 2), min(share + SHARE_VARIED, (1 + share) / 2)
    early = s <= s[0] + HORIZON_VARIED * (s[-1] - s[0])
    found = [_crossing(s, v, start, other, least_change)[1] for other in shares]
    return [*found, _crossing(s[early], v[early], start, share, least_change)[1]]


def _agree(step: float | None, other: float | None, first: float) -> bool:
    if step is None or other is None:
        return step is other
    return abs(other - step) <= STABLE_WITHIN * (step - first)


# ---------------------------------------------------------------- what may be given


def _finite(values: ArrayLike, what: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{what} is not a finite number")
    return array


def _seeds(values: ArrayLike) -> Array:
    seeds = _finite(values, "a seed's value")
    if seeds.ndim != 1 or seeds.size == 0:
        raise ValueError(f"one value per seed is needed, not an array of shape {seeds.shape}")
    return seeds


def _tuple(seeds: Array) -> tuple[float, ...]:
    return tuple(float(x) for x in seeds)


def _check_floor(floor: float) -> None:
    if not 0 < floor < 0.5:
        raise ValueError(f"a floor is a small positive number, below one half: {floor:g}")


def _checked_confidence(confidence: float, least: float = 0.0) -> float:
    if not least < confidence < 1:
        raise ValueError(f"a confidence lies between {least:g} and 1: {confidence:g}")
    return confidence


def _miss_confidence(confidence: float, parts: int) -> float:
    if parts < 1:
        raise ValueError(f"a claim has at least one part: {parts}")
    return _rounded(1 - (1 - confidence) / parts)


def _rounded(confidence: float) -> float:
    return round(confidence, 12)  # 0.9, not 0.8999999999999999, for people to read
