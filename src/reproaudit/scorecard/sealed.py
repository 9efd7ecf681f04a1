"""Copies what a chain of seals says into a scorecard, and a scorecard's results into the chain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reproaudit.audit.model import Audit
from reproaudit.audit.plan import claim_batches
from reproaudit.audit.rules.values import shown
from reproaudit.cell import canonical_settings
from reproaudit.judging.model import Verdict
from reproaudit.records import CellStatus, Record
from reproaudit.running.groups import TierKey
from reproaudit.scorecard.from_store import cells_of
from reproaudit.scorecard.model import AlternativeRunModel, ClaimModel, Scorecard
from reproaudit.seals.entries import ClaimResult, has_failed
from reproaudit.seals.past import numbers_of
from reproaudit.seals.rule import digest
from reproaudit.seals.standing import Sealed
from reproaudit.stats import Decision


def with_standings(card: Scorecard, audit: Audit, sealed: Sealed) -> Scorecard:
    """Returns a scorecard that says of each claim what the chain of seals says."""
    if not sealed.entries:
        return card
    trains = {claim.id: claim.trains for claim in audit.claims}

    def told(claim: ClaimModel) -> ClaimModel:
        numbers = numbers_of((part.name, part.per_seed) for part in claim.parts)
        standing = sealed.standing(
            claim.id, trains.get(claim.id, True), card.tier, claim.verdict, numbers
        )
        return claim.model_copy(update=vars(standing))

    return card.model_copy(update={"claims": tuple(told(claim) for claim in card.claims)})


def recorded_claims(
    card: Scorecard, audit: Audit, records: Mapping[TierKey, Record]
) -> dict[str, ClaimResult]:
    """Returns what a chain of seals keeps of each claim of a scorecard at the paper tier.

    Args:
        card: the scorecard.
        audit: the audit that was judged.
        records: those that it was judged on.
    """

    def kept(claim: ClaimModel) -> ClaimResult:
        numbers = numbers_of((part.name, part.per_seed) for part in claim.parts)
        failed = has_failed(claim.verdict, numbers)
        return ClaimResult(
            decision=None if claim.decision is None else claim.decision.value,
            verdict=claim.verdict.value,
            estimate=claim.estimate,
            numbers=numbers,
            failed_run=_failed_run(audit, claim.id, records) if failed else None,
            unsettled=unsettled(claim),
        )

    return {claim.id: kept(claim) for claim in card.claims}


def unsettled(claim: ClaimModel) -> tuple[str, ...]:
    """Returns a supported claim's alternatives at the paper tier that do not meet it, with values.

    Their runs failed, their ablation does not miss, or they miss within seed noise. So they change
    no verdict, and a chain would forget them.
    """
    if claim.verdict is not Verdict.SUPPORTED:
        return ()
    return tuple(
        alternative_words(one)
        for one in claim.alternatives
        if one.tier == "paper" and one.decision is not Decision.MET
    )


def alternative_words(alternative: AlternativeRunModel) -> str:
    """Returns an alternative's setting and value, in one short line."""
    return f"{alternative.setting} = {shown(alternative.value)}"


def _failed_run(audit: Audit, claim: str, records: Mapping[TierKey, Record]) -> str:
    """The hash of a claim's runs that did not complete, with the times at which they began.

    A failure shows no number by which it could be told from the next. So every try is another. Of
    runs that all completed and could not be judged, it is the hash of what they measured.
    """
    (stated,) = (one for one in audit.claims if one.id == claim)
    batches = claim_batches(audit, stated, "paper")
    cells = {(one.tier, one.key) for _, batch in batches for one in cells_of(audit, batch)}
    runs = [record for key, record in records.items() if key in cells]
    failed = [one for one in runs if one.status is not CellStatus.COMPLETED]
    times = sorted(one.started.isoformat() for one in failed)
    return digest([digest_of_records(failed or runs), times])[:8]


def digest_of_records(records: Iterable[Record]) -> str:
    """The hash of everything that some records measured, whatever code measured it and when."""

    def measured(record: Record) -> list[Any]:
        cell = [record.tier, record.experiment, canonical_settings(record.settings), record.seed]
        return [*cell, record.status.value, digest(record.measurements.model_dump(mode="json"))]

    return digest(sorted(measured(record) for record in records))
