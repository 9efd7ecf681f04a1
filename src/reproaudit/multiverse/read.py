"""The multiverse of each claim, judged from the records of its completions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.plan import Batch
from reproaudit.audit.seeds import seeds_of
from reproaudit.checks import ConditionResult, deciding_index
from reproaudit.judging.model import IntervalModel, Verdict
from reproaudit.judging.outcomes import BatchOutcome, Lookup, judge_own
from reproaudit.multiverse.ablations import ablations_under
from reproaudit.multiverse.completions import (
    Choice,
    Completion,
    Override,
    batch_of,
    batches_of,
    choices_of,
    concerns,
    one_at_a_time,
)
from reproaudit.multiverse.effects import Answer, Judged, classify
from reproaudit.multiverse.model import (
    AlternativeClass,
    AlternativeModel,
    ClaimVariationsModel,
    CompletionStatus,
    Multiverse,
)
from reproaudit.records import CellStatus
from reproaudit.stats import Decision

RANK = {kind: place for place, kind in enumerate(AlternativeClass)}
"""The order in which classes are listed."""


def read(audit: Audit, tier: TierName, lookup: Lookup) -> Multiverse:
    """Judge every claim with the defaults and under every alternative alone.

    Args:
        lookup: finds the records (`completions.lookup_variations`).
    """
    choices = choices_of(audit, tier)
    claims = [ClaimReading(audit, claim, tier, lookup, choices) for claim in audit.claims]
    completions = one_at_a_time(choices)
    found = {batch: lookup(batch) for batch in batches_of(audit, completions, tier)}
    return Multiverse(
        paper={"slug": audit.paper.slug, "title": audit.paper.title},
        tier=tier,
        completions=len(completions),
        seeds=seeds_of(audit, tier, next(iter(audit.experiments), "")),
        confidence=audit.confidence,
        claims=tuple(claim.model() for claim in claims),
        seconds=sum(record.seconds for records in found.values() for record in records.values()),
        not_run=sum(len(batch.seeds) - len(records) for batch, records in found.items()),
    )


@dataclass
class ClaimReading:
    """One claim in any completion; each completion is judged once."""

    audit: Audit
    claim: Claim
    tier: TierName
    lookup: Lookup
    choices: Sequence[Choice]
    _outcomes: dict[Batch, BatchOutcome] = field(default_factory=dict)

    @cached_property
    def open(self) -> tuple[Choice, ...]:
        """The open settings that the claim's experiment sees."""
        experiment = self.claim.experiment
        return tuple(c for c in self.choices if concerns(self.audit, c, experiment))

    @cached_property
    def default(self) -> Judged:
        """The claim judged with the defaults."""
        return self.judged(())

    @cached_property
    def alternatives(self) -> int:
        """The number of alternatives that can be run, for which differences are corrected."""
        return sum(len(choice.changes) for choice in self.open)

    @cached_property
    def deciding_condition(self) -> ConditionResult | None:
        """The condition that decides the claim by default; None if it could not be judged."""
        conditions = self.default.conditions
        if not conditions:
            return None
        return conditions[deciding_index([one.result for one in conditions])]

    def outcome(self, completion: Completion) -> BatchOutcome:
        """The claim's own experiment in a completion."""
        batch = batch_of(self.audit, completion, self.claim.experiment, self.tier)
        if batch not in self._outcomes:
            self._outcomes[batch] = judge_own(self.audit, self.claim, batch, self.lookup(batch))
        return self._outcomes[batch]

    def judged(self, completion: Completion) -> Judged:
        """The claim judged in a completion, without its controls.

        Runs that ended well and do not test it leave it undecided, with the reason.
        """
        outcome = self.outcome(completion)
        diverged = sum(record.status is CellStatus.DIVERGED for record in outcome.records)
        is_unfit = outcome.problem is not None and outcome.decision is not None
        return Judged(
            status=CompletionStatus.UNDECIDED if is_unfit else _status(outcome, diverged),
            decision=Decision.UNDECIDED if is_unfit else outcome.decision,
            conditions=outcome.conditions,
            diverged=diverged,
            seeds=len(outcome.records),
            code=frozenset(record.code for record in outcome.records),
            problem=outcome.problem[1] if outcome.problem else "",
        )

    def answer(self, change: Override) -> Answer:
        """The class of a single alternative."""
        confidence = self.audit.confidence
        return classify(self.default, self.judged((change,)), self.alternatives, confidence)

    def ablations(self, change: Override) -> tuple[Decision | None, str]:
        """The decision on the claim's ablations under an alternative (`ablations_under`)."""
        own = self.outcome((change,))
        return ablations_under(self.audit, self.claim, own, change, self.tier, self.lookup)

    # --- the model

    def model(self) -> ClaimVariationsModel:
        """The claim as it is shown."""
        outcomes = [self.judged(completion) for completion in one_at_a_time(self.open)]
        finished = [one for one in outcomes if one.status is not CompletionStatus.NOT_RUN]
        counts = Counter(one.decision for one in finished)
        alternatives = tuple(sorted(self._alternatives(), key=_place))
        shown = self.deciding_condition
        return ClaimVariationsModel(
            id=self.claim.id,
            statement=self.claim.statement,
            weight=self.claim.weight,
            experiment=self.claim.experiment,
            default=self.default.status,
            measured=shown.condition.label if shown else None,
            estimate=shown.result.estimate if shown else None,
            bound=shown.result.bound if shown else None,
            met=counts[Decision.MET],
            of=len(finished),
            planned=len(outcomes),
            missed=counts[Decision.MISSED],
            undecided=counts[Decision.UNDECIDED],
            failed=counts[None],
            alternatives=alternatives,
            advice=advice(self.claim.id, self.default.status, alternatives),
        )

    def _alternatives(self) -> Iterator[AlternativeModel]:
        for choice in self.open:
            for change in choice.changes:
                yield self._alternative(choice, change)
            for stated, reason in choice.left_out:
                yield AlternativeModel(
                    setting=choice.label,
                    value=stated,
                    run_as=None,
                    default=choice.default,
                    kind=AlternativeClass.UNTESTED,
                    status=CompletionStatus.NOT_RUN,
                    ablations=None,
                    estimate=None,
                    **_shown(Answer(AlternativeClass.UNTESTED, reason)),
                )

    def _alternative(self, choice: Choice, change: Override) -> AlternativeModel:
        answer, judged = self.answer(change), self.judged((change,))
        met = judged.decision is Decision.MET
        return AlternativeModel(
            setting=choice.label,
            value=change.stated,
            run_as=change.value,
            default=choice.default,
            kind=answer.kind,
            status=judged.status,
            ablations=self.ablations(change)[0] if met else None,
            estimate=answer.shown.estimate if answer.shown else None,
            **_shown(answer),
        )


def _status(outcome: BatchOutcome, diverged: int) -> CompletionStatus:
    if outcome.problem and outcome.problem[0] is Verdict.NOT_TESTED:
        return CompletionStatus.NOT_RUN
    if diverged:
        return CompletionStatus.DIVERGED
    return (
        CompletionStatus.FAILED
        if outcome.decision is None
        else CompletionStatus(outcome.decision.value)
    )


def _shown(answer: Answer) -> dict[str, Any]:
    """The fields about the difference that decided the class."""
    shown, interval = answer.shown, IntervalModel.of(answer.interval)
    if shown is None:
        unseen = ("measured", "difference", "interval", "margin", "scale")
        return {**dict.fromkeys(unseen), "note": answer.note}
    if interval is not None:  # its ends are places on the fitting scale
        interval = interval.model_copy(update={"scale": shown.scale.value})
    return {
        "measured": shown.label,
        "difference": shown.mean,
        "interval": interval,
        "margin": shown.margin,
        "scale": shown.scale.value,
        "note": answer.note,
    }


def _place(one: AlternativeModel) -> tuple[int, float]:
    """The sorting key: decisive first, and within a class the largest difference in margins."""
    relative = 0.0
    if one.difference is not None and one.margin:
        relative = abs(one.difference) / one.margin
    return RANK[one.kind], -relative


# --- what the authors could state ---------------------------------------------------------------


def advice(claim: str, default: CompletionStatus, alternatives: Sequence[AlternativeModel]) -> str:
    """A sentence of advice to the authors on a claim."""
    if not alternatives:
        return f"{claim} rests on no setting that is left open."
    by_kind: Mapping[AlternativeClass, list[AlternativeModel]] = {
        kind: [one for one in alternatives if one.kind is kind] for kind in AlternativeClass
    }
    untested = len(by_kind[AlternativeClass.UNTESTED])
    decisive = list(dict.fromkeys(one.setting for one in by_kind[AlternativeClass.DECISIVE]))
    matters = list(dict.fromkeys(one.setting for one in by_kind[AlternativeClass.MATTERS]))
    seen = f", as far as {len(alternatives) - untested} of {len(alternatives)} alternatives tell"
    limit = seen if untested else ""
    if decisive:
        return f"State {_listed(decisive)}, and {claim} no longer depends on a guess{limit}."
    if untested == len(alternatives):
        return f"No alternative tells yet whether {claim} depends on a guess."
    if matters:
        return (
            f"State {_listed(matters)}: no guess flips {claim}, but its estimate depends on it"
            f"{limit}."
        )
    unfinished = (CompletionStatus.NOT_RUN, CompletionStatus.FAILED)
    run = Counter(one.status for one in alternatives if one.status not in unfinished)
    word = default.value.replace("_", " ")
    if set(run) == {default}:
        return f"{claim} depends on no guess: it stays {word} under every alternative{limit}."
    outcomes = ", ".join(f"{count} {status.value}" for status, count in run.items())
    return (
        f"No guess is shown to flip {claim}: it is {word} as audited, and of the alternatives "
        f"{outcomes}, none of them beyond seed noise."
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
