"""Decisions on the parts of a claim, from its checks and the measurements of its seeds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from reproaudit.checks.kind import Condition, Kind
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.stats import FLOOR, Decision, RuleResult, Scale


@dataclass(frozen=True)
class ConditionResult:
    """The result of one condition of a part of a claim.

    Attributes:
        part: the check, or one coordinate's copy of it.
        condition: what was decided.
        values: `Condition.value` of each seed; `result` may show the most favourable reading.
        result: the decision with its estimate and interval.
        untested: why the part cannot be met with these measurements; None if it can.
    """

    part: Kind
    condition: Condition
    values: tuple[float, ...]
    result: RuleResult
    untested: str | None = None


@dataclass(frozen=True)
class PartResult:
    """The result of one part of a claim, shown by its deciding condition.

    Attributes:
        name: of the part.
        decision: met if all its conditions are met, missed if one is missed; undecided where a
            part that is not tested (`untested`) would be met by what is measured.
        label: of the deciding condition.
        side: of the deciding condition, "at_most", "at_least" or "within".
        margin: of an equivalence, how far from the target still counts as equal.
        result: of the deciding condition.
        reason: why the tolerance has this value.
        scale: of the deciding condition.
        floor: the resolution of the measurement on a log-type scale.
        untested: what of the part is not tested, in a clause; None if all of it is.
        ablation: the name of the control that must miss the part; None if none is named.
    """

    name: str
    decision: Decision
    label: str
    side: str
    margin: float | None
    result: RuleResult
    reason: str
    scale: Scale = Scale.LINEAR
    floor: float = FLOOR
    untested: str | None = None
    ablation: str | None = None


def judge_conditions(
    checks: Sequence[Kind], samples: Sequence[Sample], confidence: float
) -> tuple[ConditionResult, ...]:
    """Decide every condition of every part of a claim on the same seeds.

    A claim is met only if every condition is, which needs no correction. It is missed if one is; so
    that many conditions do not make that more likely by chance, the first check, the claim's
    primary part, has one half of the error α = 1 − confidence, and all others share the other half,
    each half by Holm's method (Scand. J. Stat. 6, 1979): as long as k conditions of a half are not
    missed, each is held against that half over k. Where one half has no conditions, or all of its
    conditions are missed, the other has the whole of α. This is a closed test of weighted
    Bonferroni tests (Bretz et al., Stat. Med. 28, 2009), so α holds for all misses together.
    Conditions that are counts over the seeds have no error, and take no share.

    Args:
        checks: the claim's checks, in the order of the audit.
        samples: one per seed.
        confidence: two-sided, such as 0.95.

    Raises:
        MeasurementMissingError: if a record lacks a measurement that a check needs.
        ValueError: if a number lies outside the domain of its scale.
    """
    conditions = [
        (check is checks[0], part, condition)
        for check in checks
        for part in check.parts(samples[0])
        for condition in part.conditions()
    ]
    numbers: dict[int, tuple[float, ...]] = {}
    results: dict[int, RuleResult] = {}

    def judge(i: int, divisor: float) -> RuleResult:
        condition = conditions[i][2]
        if i not in numbers:
            numbers[i] = tuple(condition.value(sample) for sample in samples)
        return condition.judge(samples, numbers[i], confidence, divisor)

    shared = [i for i, (_, _, one) in enumerate(conditions) if not one.counted]
    open_ = [[i for i in shared if conditions[i][0]], [i for i in shared if not conditions[i][0]]]
    judged_with: dict[int, int] = {}
    while True:
        halves = [half for half in open_ if half]
        divisors = {i: len(halves) * len(half) for half in halves for i in half}
        for i, divisor in divisors.items():
            if judged_with.get(i) != divisor:
                results[i] = judge(i, divisor)
        judged_with |= divisors
        left = [[i for i in half if results[i].decision is not Decision.MISSED] for half in open_]
        if left == open_:
            break
        open_ = left
    for i in range(len(conditions)):
        if i not in results:
            results[i] = judge(i, 1)
    return tuple(
        ConditionResult(part, condition, numbers[i], results[i], part.untested(len(samples)))
        for i, (_, part, condition) in enumerate(conditions)
    )


def part_results(judged: Sequence[ConditionResult]) -> tuple[PartResult, ...]:
    """The result of every part of a claim, in order, from the results of all conditions."""
    parts = itertools.groupby(judged, key=lambda one: id(one.part))  # equal parts may be neighbours
    return tuple(_part_result(list(conditions)) for _, conditions in parts)


def _part_result(judged: Sequence[ConditionResult]) -> PartResult:
    deciding = judged[deciding_index([one.result for one in judged])]
    result, untested = deciding.result, deciding.untested
    if untested is not None and result.decision is Decision.MET:
        result = replace(result, decision=Decision.UNDECIDED)
    return PartResult(
        name=deciding.part.name,
        decision=result.decision,
        label=deciding.condition.label,
        side=deciding.condition.side,
        margin=deciding.condition.margin,
        result=result,
        reason=deciding.part.reason,
        scale=deciding.condition.scale,
        floor=deciding.part.floor,
        untested=untested,
        ablation=deciding.part.ablation,
    )


def deciding_index(results: Sequence[RuleResult], worst: Decision = Decision.MISSED) -> int:
    """The index of the deciding result: of the worst decision, and among those the least room.

    Args:
        results: at least one; of equals the first decides.
        worst: missed; of controls, which are expected to miss, met.
    """
    order = [Decision.MISSED, Decision.UNDECIDED, Decision.MET]
    if worst is Decision.MET:
        order.reverse()
    ranks = [(order.index(one.decision), _room(one)) for one in results]
    return ranks.index(min(ranks))


def _room(result: RuleResult) -> float:
    """The distance between estimate and bound, in half-widths of the interval.

    A count has no width: it has unlimited room if it is met, and none otherwise.
    """
    if result.interval is None:
        return float("inf") if result.decision is Decision.MET else 0.0
    half_width = (result.interval.high - result.interval.low) / 2
    distance = abs(result.estimate - result.bound)
    return distance / half_width if half_width > 0 else float("inf")


def all_quantities(checks: Sequence[Kind]) -> Iterator[tuple[int, str, Quantity]]:
    """Every quantity of a claim's checks as (index of the check, field, quantity)."""
    for index, check in enumerate(checks):
        for field, quantity in check.by_field().items():
            yield index, field, quantity
