"""The class of an alternative for a claim: decisive, matters, harmless or untested.

Differences are paired by seed and taken on the fitting scale of each condition of the claim's
checks. With α = 1 − confidence, m alternatives for what the claim rests on and k conditions:

**Margin.** Half of the room: of the distance, on the fitting scale, between the default's estimate
and the limit that the check holds it against (the bound, or the nearer end of an equivalence
range). Two guesses that each stay within the margin cannot reach the limit together. An estimate on
its limit has no room, and then no difference but none is harmless.

**Decisive.** The decision flips, from met to missed or back, and the difference is beyond seed
noise: the paired Student-t interval excludes 0 at 1 − α/m (Bonferroni over the alternatives). From
met to missed one of the conditions now missed must show it, at 1 − α/(m · those); from missed to
met every condition that was missed must, since one that has not moved would still be missed. To be
met, what is more, the interval of every condition's own mean must lie within its limits at 1 − α/m,
so that m alternatives on their limits help a missed claim no more often than one would; on the
linear scale that error is divided as in every decision (`kind.confidence_on`). What takes support
from a claim needs no such help. A flip in which every seed of one side diverges and none of the
other is beyond noise when 2 · 4⁻ⁿ ≤ α/m, for n seeds: where both sides diverge equally often, so
clean a split is no more probable.

**Matters.** The interval of some condition, at 1 − α/(m · k), lies wholly beyond its margin.

**Harmless.** The decision is the same, and the 1 − 2α interval of every condition lies within its
margin (two one-sided tests; all must pass, which needs no correction: Berger, Technometrics 24,
1982). The absence of a visible effect is not enough.

**Untested.** Anything else: not run, crashed, or too few seeds to decide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reproaudit.checks import Condition, ConditionResult
from reproaudit.checks.kind import confidence_on
from reproaudit.multiverse.model import AlternativeClass, CompletionStatus
from reproaudit.stats import (
    Decision,
    FittingAxis,
    FloatArray,
    Interval,
    Scale,
    mean_interval,
    moments,
)

MARGIN_SHARE = 0.5
"""The margin as a share of the room between the default's estimate and the limit."""


@dataclass(frozen=True)
class Judged:
    """A claim judged on one completion.

    Attributes:
        status: as it is shown.
        decision: of the claim; None if it could not be judged.
        conditions: the result of every condition; empty if a seed diverged or nothing was judged.
        diverged: the number of seeds that diverged.
        seeds: the number of seeds in all.
        code: hashes of the code that made the records.
        problem: the reason why it could not be judged, or why its runs do not test it.
    """

    status: CompletionStatus
    decision: Decision | None
    conditions: tuple[ConditionResult, ...] = ()
    diverged: int = 0
    seeds: int = 0
    code: frozenset[str] = frozenset()
    problem: str = ""

    @property
    def untested(self) -> bool:
        """True if it could not be judged, or its runs do not test the claim."""
        return self.decision is None or (self.decision is Decision.UNDECIDED and self.problem != "")


@dataclass(frozen=True)
class AlternativeEffect:
    """The differences between alternative and default in one condition, on its fitting scale.

    Attributes:
        label: of the condition.
        scale: of the condition.
        values: paired differences, alternative minus default; shape (seed,).
        places: under the alternative, as its decision read them; shape (seed,).
        limits: the ends of what is accepted, on the fitting scale; infinite at an open one.
        margin: the smallest mean difference that matters.
        estimate: of the condition under the alternative, in natural units.
        decision: of the condition under the alternative.
        before: decision of the condition by default.
    """

    label: str
    scale: Scale
    values: FloatArray
    places: FloatArray
    limits: tuple[float, float]
    margin: float
    estimate: float
    decision: Decision
    before: Decision

    @property
    def mean(self) -> float:
        """The mean difference over the seeds."""
        return float(moments(self.values)[0])

    def interval(self, confidence: float) -> Interval:
        """The Student-t interval of the mean difference; at least two seeds."""
        return mean_interval(self.values, confidence=confidence)[1]

    def is_met(self, confidence: float) -> bool:
        """True if the interval of the alternative's own mean lies within the limits."""
        level = confidence_on(self.scale, confidence)
        found, (low, high) = mean_interval(self.places, confidence=level)[1], self.limits
        return low <= found.low and found.high <= high

    @property
    def strength(self) -> float:
        """The size of the mean difference in standard errors."""
        mean, error = map(float, moments(self.values))
        return abs(mean) / error if error > 0 else math.inf if mean else 0.0

    @property
    def relative(self) -> float:
        """The size of the mean difference in margins."""
        return abs(self.mean) / self.margin if self.margin > 0 else math.inf if self.mean else 0.0


@dataclass(frozen=True)
class Answer:
    """The class of an alternative, with the difference that decided it."""

    kind: AlternativeClass
    note: str
    shown: AlternativeEffect | None = None
    interval: Interval | None = None


def _place(condition: Condition, values: Sequence[float]) -> FloatArray:
    """Values on a condition's fitting scale, turned so that it rises with them."""
    return FittingAxis(condition.scale, condition.floor).place(values)


def margin_of(one: ConditionResult) -> float:
    """The smallest difference that matters to a condition, on its fitting scale."""
    condition = one.condition
    limits = [limit for limit in condition.accepted if math.isfinite(limit)]
    here = _place(condition, [one.result.estimate])
    return MARGIN_SHARE * float(np.abs(_place(condition, limits) - here).min())


def effects_of(default: Judged, other: Judged) -> tuple[AlternativeEffect, ...] | None:
    """The paired differences of every condition.

    Returns:
        In the order of the default's conditions; None if the two do not have the same conditions,
        as when an alternative adds a coordinate to an axis.

    Raises:
        ValueError: if a value lies outside the domain of its scale.
    """
    mine, its = _by_name(default.conditions), _by_name(other.conditions)
    if not mine or mine.keys() != its.keys():
        return None
    return tuple(_difference(mine[name], its[name]) for name in mine)


def _by_name(
    conditions: Sequence[ConditionResult],
) -> Mapping[tuple[str, str, int], ConditionResult]:
    """Conditions by part and label; repeated ones are numbered."""
    found: dict[tuple[str, str, int], ConditionResult] = {}
    for one in conditions:
        name = (one.part.name, one.condition.label)
        number = sum(key[:2] == name for key in found)
        found[*name, number] = one
    return found


def _difference(default: ConditionResult, other: ConditionResult) -> AlternativeEffect:
    condition = default.condition
    before = _place(condition, default.values)
    after = _place(condition, other.values)
    ends = [
        limit if math.isinf(limit) else float(_place(condition, [limit])[0])
        for limit in condition.accepted
    ]
    return AlternativeEffect(
        label=condition.label,
        scale=condition.scale,
        values=after - before,
        places=_place(condition, other.result.per_seed),
        limits=(ends[0], ends[1]),
        margin=margin_of(default),
        estimate=other.result.estimate,
        decision=other.result.decision,
        before=default.result.decision,
    )


# --- classes ------------------------------------------------------------------------------------


def classify(default: Judged, other: Judged, alternatives: int, confidence: float) -> Answer:
    """The class of an alternative for a claim.

    Args:
        default: the claim with the defaults.
        other: the claim with the alternative.
        alternatives: the number of alternatives that the claim has, run or not.
        confidence: of the audit, two-sided.
    """
    untested = AlternativeClass.UNTESTED
    if default.untested:
        return Answer(untested, f"the default: {default.problem}")
    if other.untested:
        return Answer(untested, other.problem)
    if default.code != other.code:
        return Answer(untested, "made by another version of the code than the default; run again")
    alpha = (1 - confidence) / max(alternatives, 1)
    if default.diverged or other.diverged:
        return _of_divergence(default, other, alpha)
    if min(default.seeds, other.seeds) < 2:
        return Answer(untested, "a single seed cannot tell a difference from noise")
    try:
        found = effects_of(default, other)
    except ValueError as error:
        return Answer(untested, f"the differences cannot be taken: {error}")
    if found is None:
        return Answer(untested, "it changes what is measured, so there is nothing to pair")
    return (
        _decisive(default, other, found, alpha)
        or _matters(found, alpha)
        or _harmless(default, other, found, 1 - confidence)
        or _undecided(default, other, found, alpha)
    )


def _flips(default: Judged, other: Judged) -> bool:
    return {default.decision, other.decision} == {Decision.MET, Decision.MISSED}


def _of_divergence(default: Judged, other: Judged, alpha: float) -> Answer:
    note = f"{other.diverged} of {other.seeds} seeds diverged"
    if default.diverged:
        note += f", by default {default.diverged} of {default.seeds}"
    clean = {(default.diverged, other.diverged)} <= {(0, other.seeds), (default.seeds, 0)}
    beyond_noise = 2 * 0.25 ** min(default.seeds, other.seeds) <= alpha
    if _flips(default, other) and clean and beyond_noise:
        return Answer(AlternativeClass.DECISIVE, note)
    return Answer(AlternativeClass.UNTESTED, note)


def _excludes(interval: Interval, margin: float = 0.0) -> bool:
    return interval.low > margin or interval.high < -margin


def _decisive(
    default: Judged, other: Judged, found: Sequence[AlternativeEffect], alpha: float
) -> Answer | None:
    if not _flips(default, other):
        return None
    if other.decision is Decision.MISSED:
        moved = [one for one in found if one.decision is Decision.MISSED]
        level = 1 - alpha / len(moved)
        shown = max(moved, key=lambda one: one.strength)
        beyond = _excludes(shown.interval(level))
    else:
        moved = [one for one in found if one.before is Decision.MISSED]
        level = 1 - alpha
        shown = min(moved, key=lambda one: one.strength)
        beyond = all(_excludes(one.interval(level)) for one in moved)
        beyond = beyond and all(one.is_met(level) for one in found)
    if not beyond:
        return None
    note = f"{default.decision} by default, {other.decision} with it"
    return Answer(AlternativeClass.DECISIVE, note, shown, shown.interval(level))


def _matters(found: Sequence[AlternativeEffect], alpha: float) -> Answer | None:
    level = 1 - alpha / len(found)
    beyond = [one for one in found if _excludes(one.interval(level), one.margin)]
    if not beyond:
        return None
    shown = max(beyond, key=lambda one: one.relative)
    note = "the estimate moves by more than half of its distance to the limit"
    return Answer(AlternativeClass.MATTERS, note, shown, shown.interval(level))


def _harmless(
    default: Judged, other: Judged, found: Sequence[AlternativeEffect], alpha: float
) -> Answer | None:
    if other.decision != default.decision:
        return None
    level = 1 - 2 * alpha
    intervals = [one.interval(level) for one in found]
    pairs = zip(found, intervals, strict=True)
    if any(i.low < -one.margin or i.high > one.margin for one, i in pairs):
        return None
    shown = max(found, key=lambda one: one.relative)
    return Answer(
        AlternativeClass.HARMLESS, "equivalent within the margin", shown, shown.interval(level)
    )


def _undecided(
    default: Judged, other: Judged, found: Sequence[AlternativeEffect], alpha: float
) -> Answer:
    shown = max(found, key=lambda one: one.relative)
    if _flips(default, other):
        note = f"{default.decision} by default, but the flip may be seed noise alone"
    elif other.decision != default.decision:
        note = f"{default.decision} by default; too few seeds to say more"
    else:
        note = "too few seeds to tell a difference that matters from none"
    interval = shown.interval(1 - alpha / len(found))
    return Answer(AlternativeClass.UNTESTED, note, shown, interval)
