"""From a store to what judging looks up: the newest record of every cell of a plan.

A batch's records are found by experiment, settings and seed, not by the fingerprint of today's
code, so that a report renders what was measured, even by an older version. Each record says which
code made it, and the scorecard shows when that differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from reproaudit.fingerprints import Cell, canonical_settings
from reproaudit.judging import Lookup
from reproaudit.planning import Batch, Role, plan
from reproaudit.records import Record, Status
from reproaudit.scorecard import CustomModel, Scorecard, build
from reproaudit.spec import TIERS, Audit, TierName, Value
from reproaudit.store import Store

CUSTOM = "custom"
"""The tier of records made with other seeds, settings or experiments than a tier's rule says."""


def cells_of(audit: Audit, batch: Batch) -> Iterable[Cell]:
    """The cells of a batch, one for each seed."""
    settings = batch.settings(audit)
    for seed in batch.seeds:
        yield Cell(audit.paper.slug, batch.tier, batch.experiment, settings, seed)


def cells_of_tier(audit: Audit, tier: TierName) -> list[Cell]:
    """Every cell that a tier needs, controls included; the paper's own experiments first."""
    planned = sorted(plan(audit, tier), key=lambda one: one[0] is not Role.EXPERIMENT)
    return [cell for _, batch in planned for cell in cells_of(audit, batch)]


def lookup_in(store: Store, audit: Audit) -> Lookup:
    """Where judging finds the records of an audit; the store is read once for each tier."""

    @cache
    def newest(tier: str) -> Mapping[tuple[str, str, int], Record]:
        found: dict[tuple[str, str, int], Record] = {}
        for record in store.records(audit.paper.slug, tier):
            key = (record.experiment, canonical_settings(record.settings), record.seed)
            if key not in found or _stands_before(record, found[key]):
                found[key] = record
        return found

    def lookup(batch: Batch) -> Mapping[int, Record]:
        settings = canonical_settings(batch.settings(audit))
        records = newest(batch.tier)
        return {
            seed: records[key]
            for seed in batch.seeds
            if (key := (batch.experiment, settings, seed)) in records
        }

    return lookup


def _stands_before(record: Record, other: Record) -> bool:
    """A finished record stands before a failed one, then the newer before the older."""
    finished, other_finished = (r.status is not Status.FAILED for r in (record, other))
    return (finished, record.started) > (other_finished, other.started)


def scorecard_of(store: Store, audit: Audit, tier: TierName) -> Scorecard:
    """The scorecard of an audit from the records of a store."""
    custom = list(store.records(audit.paper.slug, CUSTOM))
    groups = custom_groups(audit, tier, custom)
    return build(audit, tier, lookup_in(store, audit), len(custom), groups)


def custom_groups(audit: Audit, tier: TierName, records: Iterable[Record]) -> list[CustomModel]:
    """What custom records are: each experiment with what it changed, and over which seeds."""
    seeds: dict[tuple[str, str], set[int]] = {}
    changed: dict[tuple[str, str], dict[str, Value]] = {}
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
    """The highest tier of which the store holds a record of one of the paper's experiments."""
    for tier in reversed(TIERS):
        if next(iter(store.records(audit.paper.slug, tier)), None) is not None:
            return tier
    return None
