"""From a claim's checks and the measurements of its seeds to decisions, part by part."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reproaudit.checks.kind import Condition, Kind
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.stats import FLOOR, Decision, RuleResult, Scale


@dataclass(frozen=True)
class PartResult:
    """What the seeds say about one part of a claim.

    Attributes:
        name: the part.
        decision: met if all its conditions are met, missed if one is missed.
        label: the binding condition.
        side: of the binding condition, "at_most", "at_least" or "within".
        margin: of an equivalence, how far from the target still counts as equal.
        finding: what the seeds say about the binding condition.
        reason: why the tolerance is what it is.
        scale: of the binding condition, where its numbers are near normal over seeds.
        floor: what lies below counts as this on a logarithmic scale.
    """

    name: str
    decision: Decision
    label: str
    side: str
    margin: float | None
    finding: RuleResult
    reason: str
    scale: Scale = Scale.LINEAR
    floor: float = FLOOR


def judge_parts(
    checks: Sequence[Kind], samples: Sequence[Sample], confidence: float
) -> tuple[PartResult, ...]:
    """Decide every part of a claim on the same seeds.

    A claim is missed when one part is; so that many parts do not make that more likely by chance,
    each condition is missed only at 1 − (1 − confidence) / (number of conditions). It is met only
    when all are, which needs no such correction.

    Args:
        checks: the claim's checks, in the order of the audit.
        samples: one per seed.
        confidence: two-sided, such as 0.95.

    Raises:
        MeasurementMissingError: if a record lacks what a check needs.
    """
    return parts_of(judge_conditions(checks, samples, confidence))


def parts_of(judged: Sequence[ConditionResult]) -> tuple[PartResult, ...]:
    """The parts of a claim whose every condition has been judged, in their order."""
    parts = itertools.groupby(judged, key=lambda one: id(one.part))  # equal parts may be neighbours
    return tuple(_judge_part(list(found)) for _, found in parts)


@dataclass(frozen=True)
class ConditionResult:
    """What the seeds say about one condition of a part of a claim.

    Attributes:
        values: of each seed, `Condition.value`; a finding may show the kindest reading instead.
    """

    part: Kind
    condition: Condition
    values: tuple[float, ...]
    finding: RuleResult


def judge_conditions(
    checks: Sequence[Kind], samples: Sequence[Sample], confidence: float
) -> tuple[ConditionResult, ...]:
    """Decide every condition of every part of a claim; arguments and errors as `judge_parts`."""
    parts = [part for check in checks for part in check.parts(samples[0])]
    conditions = [(part, condition) for part in parts for condition in part.conditions()]
    return tuple(
        ConditionResult(
            part,
            condition,
            tuple(condition.value(s) for s in samples),
            condition.judge(samples, confidence, len(conditions)),
        )
        for part, condition in conditions
    )


def _judge_part(judged: Sequence[ConditionResult]) -> PartResult:
    label = binding({one.condition.label: one.finding for one in judged})
    bound = next(one for one in judged if one.condition.label == label)
    return PartResult(
        bound.part.name,
        bound.finding.decision,
        label,
        bound.condition.side,
        bound.condition.margin,
        bound.finding,
        bound.part.reason,
        bound.condition.scale,
        bound.part.floor,
    )


def binding(findings: dict[str, RuleResult], worst: Decision = Decision.MISSED) -> str:
    """The label of the finding that decides: the worst decision, then the least room.

    Args:
        findings: by label.
        worst: missed; of controls, which are to miss, met.
    """
    order = [Decision.MISSED, Decision.UNDECIDED, Decision.MET]
    if worst is Decision.MET:
        order.reverse()
    return min(findings, key=lambda k: (order.index(findings[k].decision), _room(findings[k])))


def _room(finding: RuleResult) -> float:
    """How many half-widths of its interval lie between the estimate and the bound.

    A count has no width: one that is met is not what a claim hangs on, any other is.
    """
    if finding.interval is None:
        return float("inf") if finding.decision is Decision.MET else 0.0
    half_width = (finding.interval.high - finding.interval.low) / 2
    distance = abs(finding.estimate - finding.bound)
    return distance / half_width if half_width > 0 else float("inf")


def all_quantities(checks: Sequence[Kind]) -> Iterator[tuple[int, str, Quantity]]:
    """Every quantity of a claim's checks as (index of the check, field, quantity)."""
    for index, check in enumerate(checks):
        for field, value in check.__dict__.items():
            if type(value) is Quantity:  # a model has no subclasses, and this is asked very often
                yield index, field, value
