"""Judges each part of a claim on its ablation: the control that must miss it.

A part names its ablation, and that control alone answers for it; others may stand beside it and
never rescue it. A part that names none is answered by the claim's one control. Where a claim has
several controls and a part names none, the control that misses it most clearly answers; `check`
asks for a name.

A part with several conditions is told from its absence only in those that its ablation misses. So
the ablation must miss each of them, or each that the audit names (`ablation_misses`); conditions of
one name count as one, which is missed if one of them is. The answer is *missed* if all of these are
missed, *met* if all are met, and undecided otherwise.

A condition over every seed is missed on an ablation only if most of its seeds miss it by the sign
test, all 5 of 5. The claim itself misses such a condition by a single seed; an ablation that did so
would often differ from the claim by chance alone.

A control that counts for nothing (inert, or diverged) answers no part. A control that gives a
reason for its smaller scale may lack parts of the claim, where a tier shortens the axis over which
a check is repeated; of any other control, a part that it lacks is unanswered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from reproaudit.checks import ConditionResult, PartResult
from reproaudit.checks.kind import COUNT_LEVEL
from reproaudit.judging.outcomes import BatchOutcome, overall
from reproaudit.stats import Decision, RuleResult
from reproaudit.stats.acceptance import most_astray

_CLEAREST_FIRST = (Decision.MISSED, Decision.UNDECIDED, Decision.MET)


@dataclass(frozen=True)
class Ablations:
    """The answers of a claim's ablations.

    Attributes:
        answers: from the name of a part to its ablation and that control's answer to it; its
            decision is on the conditions that the ablation must miss.
        unanswered: for each part that no ablation answers: its name and the reason.
        alone: the number of parts that exist at the claim's scale and not at its ablation's, which
            gives a reason for that.
        decision: missed if every part is, met if one is met, undecided otherwise; None if a control
            could not be judged.
    """

    answers: Mapping[str, tuple[BatchOutcome, PartResult]]
    unanswered: tuple[tuple[str, str], ...]
    alone: int
    decision: Decision | None

    def parts(self, decision: Decision) -> tuple[str, ...]:
        """The names of the parts on which their ablation came out so."""
        return tuple(name for name, (_, p) in self.answers.items() if p.decision is decision)

    @property
    def met_too(self) -> Mapping[str, tuple[str, ...]]:
        """By part, the conditions that its ablation meets, whether it must miss them or not."""
        found = {
            name: tuple(
                one.condition.label
                for one in _conditions(control, name)
                if one.result.decision is Decision.MET
            )
            for name, (control, _) in self.answers.items()
        }
        return {name: labels for name, labels in found.items() if labels}

    @property
    def controls(self) -> tuple[BatchOutcome, ...]:
        """The controls that answer for a part, each once."""
        return tuple({id(control): control for control, _ in self.answers.values()}.values())


def judge_ablations(own: Sequence[PartResult], controls: Sequence[BatchOutcome]) -> Ablations:
    """The answers of a claim's ablations.

    Args:
        own: the claim's own parts; empty if it diverged.
        controls: of the claim, judged.
    """
    answers: dict[str, tuple[BatchOutcome, PartResult]] = {}
    for control in controls:
        for judged in control.parts if control.counts_for_nothing is None else ():
            if judged.ablation not in (None, control.name):
                continue
            part = replace(judged, decision=_told_apart(judged, control))
            rank = _CLEAREST_FIRST.index(part.decision)
            known = answers.get(part.name)
            if known is None or rank < _CLEAREST_FIRST.index(known[1].decision):
                answers[part.name] = control, part
    unanswered = tuple(_unanswered([p for p in own if p.name not in answers], controls))
    alone = sum(part.name not in answers for part in own) - len(unanswered)
    found = {part.decision for _, part in answers.values()}
    decision: Decision | None = Decision.MISSED
    if any(control.decision is None for control in controls):
        decision = None
    elif Decision.MET in found:
        decision = Decision.MET
    elif Decision.UNDECIDED in found or unanswered or not found:
        decision = Decision.UNDECIDED
    return Ablations(answers, unanswered, alone, decision)


def _conditions(control: BatchOutcome, part: str) -> tuple[ConditionResult, ...]:
    return tuple(one for one in control.conditions if one.part.name == part)


def _told_apart(part: PartResult, control: BatchOutcome) -> Decision:
    """The decision on the conditions of a part that its ablation must miss."""
    by_name: dict[str, list[Decision]] = {}
    for one in _conditions(control, part.name):
        must_miss = one.part.ablation_misses
        if must_miss is None or one.condition.name in must_miss:
            by_name.setdefault(one.condition.name, []).append(_by_most_seeds(one.result))
    found = {overall(decisions) for decisions in by_name.values()}
    if not found:
        return part.decision
    if part.untested is not None:
        return Decision.MISSED if Decision.MISSED in found else Decision.UNDECIDED
    return found.pop() if len(found) == 1 else Decision.UNDECIDED


def _by_most_seeds(result: RuleResult) -> Decision:
    """The decision on a condition; one over every seed is missed only if most seeds miss it."""
    if result.satisfied is None or result.satisfied == len(result.per_seed):
        return result.decision
    few = result.satisfied <= most_astray(len(result.per_seed), COUNT_LEVEL)
    return Decision.MISSED if few else Decision.UNDECIDED


def _unanswered(
    parts: Sequence[PartResult], controls: Sequence[BatchOutcome]
) -> Iterator[tuple[str, str]]:
    """The parts that no ablation answers and that do not stand alone, each with the reason."""
    for part in parts:
        mine = [c for c in controls if part.ablation in (None, c.name)]
        reasons = [c.counts_for_nothing for c in mine]
        if not mine:
            yield part.name, f"the claim has no control '{part.ablation}'"
        elif None not in reasons:
            yield part.name, str(reasons[0])
        elif not any(c.counts_for_nothing is None and c.scale_reason for c in mine):
            yield part.name, f"{mine[0].label} lacks it, and gives no reason for a smaller scale"
