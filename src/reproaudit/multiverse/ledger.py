"""Each claim under each alternative of the ledger, for its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch
from reproaudit.judging.alternatives import AlternativeRun
from reproaudit.judging.outcomes import Lookup
from reproaudit.multiverse.ablations import ablation_batch
from reproaudit.multiverse.completions import choices_of
from reproaudit.multiverse.model import AlternativeClass, CompletionStatus
from reproaudit.multiverse.read import ClaimReading
from reproaudit.stats import Decision


def alternatives_run(
    audit: Audit, tier: TierName, lookup: Lookup
) -> Mapping[str, tuple[AlternativeRun, ...]]:
    """The alternatives that were run at a tier, by the id of the claim that they bear on.

    Args:
        lookup: finds the records of completions (`completions.lookup_variations`).
    """
    return {one.claim.id: tuple(_runs(one)) for one in _readings(audit, tier, lookup)}


def _readings(audit: Audit, tier: TierName, lookup: Lookup) -> Iterator[ClaimReading]:
    choices = choices_of(audit, tier)
    return (ClaimReading(audit, claim, tier, lookup, choices) for claim in audit.claims)


def _runs(reading: ClaimReading) -> Iterator[AlternativeRun]:
    for choice in reading.open:
        for change in choice.changes:
            judged = reading.judged((change,))
            if judged.status is CompletionStatus.NOT_RUN or judged.code != reading.default.code:
                continue
            answer = reading.answer(change)
            decision, note = judged.decision or Decision.UNDECIDED, answer.note
            if decision is Decision.MET:
                ablations, why = reading.ablations(change)
                if ablations is not Decision.MISSED:
                    decision, note = Decision.UNDECIDED, why
            decisive = answer.kind is AlternativeClass.DECISIVE
            yield AlternativeRun(
                setting=change.name,
                value=change.stated,
                tier=reading.tier,
                decision=decision,
                flips=decisive and decision is not Decision.UNDECIDED,
                note=note,
            )


def ablation_batches(
    audit: Audit, tier: TierName, lookup: Lookup | None = None
) -> tuple[Batch, ...]:
    """The batches of all ablations under single alternatives, each once.

    Args:
        lookup: finds the records of completions, so that only the ablations of alternatives that
            came out met are taken; None for those of every alternative.
    """
    found: dict[Batch, None] = {}
    for reading in _readings(audit, tier, lookup or (lambda _batch: {})):
        for choice in reading.open:
            for change in choice.changes:
                if lookup is not None and reading.judged((change,)).decision is not Decision.MET:
                    continue
                for control in audit.ablations_of(reading.claim):
                    batch = ablation_batch(audit, reading.claim, control, change, tier)
                    if batch is not None:
                        found[batch] = None
    return tuple(found)
