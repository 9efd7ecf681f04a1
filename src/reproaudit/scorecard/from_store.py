"""Builds a scorecard from a store: the newest record of every cell of a plan.

A batch's records are found by experiment, settings and seed, not by the fingerprint of today's
code, so that a report renders what was measured, even by an older version. Each record says which
code made it, and the scorecard shows when that differs.
"""

from __future__ import annotations

from collections.abc import Iterable

from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.audit.plan import Batch, Role, plan
from reproaudit.cell import Cell, SettingValue, canonical_settings
from reproaudit.judging.verdict import Lookup, lookup_newest
from reproaudit.multiverse.completions import lookup_variations
from reproaudit.multiverse.read import agreeing_claims
from reproaudit.records import Record
from reproaudit.running.store import Store
from reproaudit.scorecard.build import build
from reproaudit.scorecard.model import CustomModel, Scorecard

CUSTOM = "custom"
"""The tier of records made with other seeds, settings or experiments than a tier's rule says."""


def cells_of(audit: Audit, batch: Batch) -> Iterable[Cell]:
    """Yields the cells of a batch, one for each seed."""
    settings = batch.settings(audit)
    for seed in batch.seeds:
        yield Cell(audit.paper.slug, batch.tier, batch.experiment, settings, seed)


def cells_of_tier(audit: Audit, tier: TierName) -> list[Cell]:
    """Returns every cell that a tier needs, controls included; the paper's own experiments first."""
    planned = sorted(plan(audit, tier), key=lambda one: one[0] is not Role.EXPERIMENT)
    return [cell for _, batch in planned for cell in cells_of(audit, batch)]


def lookup_in(store: Store, audit: Audit) -> Lookup:
    """Returns the lookup of an audit's records; the store is read once for each tier."""
    return lookup_newest(audit, lambda tier: store.newest(audit.paper.slug, tier))


def scorecard_of(store: Store, audit: Audit, tier: TierName) -> Scorecard:
    """Returns the scorecard of an audit from the records of a store.

    Records of the multiverse feed no decision. They only say whether a missed claim on assumed
    evidence is missed over every alternative too, so that it may be contradicted.
    """
    custom = list(store.records(audit.paper.slug, CUSTOM))
    groups = custom_groups(audit, tier, custom)
    lookup = lookup_in(store, audit)
    scorecard = build(audit, tier, lookup, len(custom), groups)
    if not any((c.decision, c.evidence) == ("missed", "assumed") for c in scorecard.claims):
        return scorecard
    agreeing = agreeing_claims(audit, tier, lookup_variations(store, audit))
    if not agreeing:
        return scorecard
    return build(audit, tier, lookup, len(custom), groups, agrees_over_ledger=agreeing)


def custom_groups(audit: Audit, tier: TierName, records: Iterable[Record]) -> list[CustomModel]:
    """Groups custom records by experiment and changed settings, with their seeds."""
    seeds: dict[tuple[str, str], set[int]] = {}
    changed: dict[tuple[str, str], dict[str, SettingValue]] = {}
    for record in records:
        planned = {}
        if record.experiment in audit.experiments:
            planned = audit.values_of(record.experiment, tier)
        other = {k: v for k, v in record.settings.items() if k not in planned or planned[k] != v}
        key = (record.experiment, canonical_settings(other))
        seeds.setdefault(key, set()).add(record.seed)
        changed[key] = other
    return [
        CustomModel(experiment=key[0], settings=changed[key], seeds=tuple(sorted(seeds[key])))
        for key in sorted(seeds)
    ]


def highest_tier(store: Store, audit: Audit) -> TierName | None:
    """Returns the highest tier of which the store holds a record of one of the paper's experiments."""
    for tier in reversed(TIERS):
        if next(iter(store.records(audit.paper.slug, tier)), None) is not None:
            return tier
    return None
