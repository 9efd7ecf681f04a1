"""Between a scorecard and its audit's chain of seals: what is told of a claim, what is recorded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reproaudit.audit.model import Audit
from reproaudit.cell import canonical_settings
from reproaudit.records import Record
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.seals.entries import ClaimResult
from reproaudit.seals.past import numbers_of
from reproaudit.seals.rule import digest
from reproaudit.seals.standing import Sealed


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


def recorded_claims(card: Scorecard) -> dict[str, ClaimResult]:
    """Returns what a chain of seals keeps of each claim."""
    return {
        claim.id: ClaimResult(
            decision=None if claim.decision is None else claim.decision.value,
            verdict=claim.verdict.value,
            estimate=claim.estimate,
            numbers=numbers_of((part.name, part.per_seed) for part in claim.parts),
        )
        for claim in card.claims
    }


def digest_of_records(records: Iterable[Record]) -> str:
    """The hash of everything that some records measured, whatever code measured it and when."""

    def measured(record: Record) -> list[Any]:
        cell = [record.tier, record.experiment, canonical_settings(record.settings), record.seed]
        return [*cell, record.status.value, digest(record.measurements.model_dump(mode="json"))]

    return digest(sorted(measured(record) for record in records))
