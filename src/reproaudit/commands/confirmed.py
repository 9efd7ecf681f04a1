"""Looks for the records of a confirmation, and judges whether they give what its entry says.

An entry can be written by hand. Only records show that something was run: every cell on the derived
seeds, with the digest that the entry states, judged again with the same decisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit, Tiers
from reproaudit.running.groups import TiedGroupsError, todays_groups
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import cells_of_tier, choose_records, scorecard_of
from reproaudit.scorecard.sealed import digest_of_records, recorded_claims
from reproaudit.seals.chain import confirmation_of
from reproaudit.seals.confirming import Confirmation
from reproaudit.seals.entries import SealsEntry


def with_seeds_of(audit: Audit, confirmation: Confirmation) -> Audit:
    """Returns an audit with the seeds and the error of a confirmation in place of its own."""
    begun = confirmation.begun
    quick = begun.seeds.get("quick", audit.seeds.quick)
    seeds = Tiers(smoke=audit.seeds.smoke, quick=quick, paper=begun.seeds["paper"])
    return audit.model_copy(update={"seeds": seeds, "confidence": 1 - begun.error})


def verdicts_on_records(
    entry: Entry, audit: Audit, store: Store, entries: Sequence[SealsEntry], rule: str
) -> Mapping[str, str]:
    """The verdicts that the records of a rule's confirmation give when they are judged again.

    Args:
        entry: the paper.
        audit: its audit, whose rule it is.
        store: where the records may be.
        entries: the chain.
        rule: the hash of the rule.

    Returns:
        By claim id; nothing if the rule was not confirmed, if a cell failed in one of its tries,
        if a record is missing or failed, if the records are others than the entry's, or if they
        give other decisions.
    """
    result, confirmation = confirmation_of(entries, rule), Confirmation.of(entries, rule)
    if result is None or confirmation is None or confirmation.failed:
        return {}
    drawn, today = with_seeds_of(audit, confirmation), todays_groups(entry.code)
    try:
        chosen = choose_records(store, drawn, "paper", today=today).records
    except TiedGroupsError:
        return {}
    wanted = {(cell.tier, cell.key) for cell in cells_of_tier(drawn, "paper")}
    records = [record for key, record in chosen.items() if key in wanted]
    if len(records) < len(wanted) or digest_of_records(records) != result.records:
        return {}
    card = scorecard_of(store, drawn, "paper", today=today, sealed_audit=audit)
    judged = recorded_claims(card, drawn, chosen)
    if judged.keys() != result.claims.keys() or any(
        one.decision != result.claims[name].decision for name, one in judged.items()
    ):
        return {}
    return {name: one.verdict for name, one in judged.items()}
