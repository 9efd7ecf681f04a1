"""From a store to what judging looks up: the records of one group of code, versions and device.

A run judges exactly the records that its own plan names. A report judges the records of today's
code and versions, else those of the group that has most of the planned cells, and says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.audit.plan import Batch, Role, plan
from reproaudit.audit.seeds import stored_tier
from reproaudit.cell import Cell, SettingValue, canonical_settings
from reproaudit.judging.alternatives import AlternativeRun
from reproaudit.judging.outcomes import Lookup, lookup_by_cell
from reproaudit.judging.verdict import ClaimOutcome, judge_claims
from reproaudit.multiverse.completions import lookup_variations, varied_tier
from reproaudit.multiverse.ledger import alternatives_run
from reproaudit.records import Record
from reproaudit.running.groups import Chosen, Group, TierKey, choose, planned_only
from reproaudit.running.store import Store
from reproaudit.scorecard.build import build
from reproaudit.scorecard.model import CustomModel, GroupModel, Scorecard

CUSTOM = "custom"
"""The tier of records made with other seeds, settings or experiments than a tier's rule says."""


def cells_of(audit: Audit, batch: Batch) -> Iterable[Cell]:
    """Yields the cells of a batch, one for each seed."""
    settings, tier = batch.settings(audit), stored_tier(audit, batch.tier)
    for seed in batch.seeds:
        yield Cell(audit.paper.slug, tier, batch.experiment, settings, seed)


def cells_of_tier(audit: Audit, tier: TierName) -> list[Cell]:
    """Returns every cell that a tier needs, controls too; the paper's own experiments first."""
    planned = sorted(plan(audit, tier), key=lambda one: one[0] is not Role.EXPERIMENT)
    return [cell for _, batch in planned for cell in cells_of(audit, batch)]


def choose_records(
    store: Store,
    audit: Audit,
    tier: TierName,
    *,
    today: Collection[Group] | None = None,
    wanted: str | None = None,
    planned: Mapping[TierKey, str] | None = None,
) -> Chosen:
    """The records that a tier's claims are judged by.

    Args:
        store: where the records are.
        audit: the paper.
        tier: the tier to judge.
        today: from `todays_groups`; None if it does not matter which group is today's.
        wanted: the beginning of a group's id; None for no wish.
        planned: the fingerprint of each cell of a run's plan; exactly these are then judged.

    Raises:
        TiedGroupsError: if two groups have equally many of the planned cells.
        StoreError: on a file that is no record and may be a planned one.
    """
    cells = cells_of_tier(audit, tier)
    tiers = dict.fromkeys(cell.tier for cell in cells)
    only = None if planned is None else frozenset(planned.values())
    records = (one for place in tiers for one in store.records(audit.paper.slug, place, only=only))
    if planned is not None:
        return planned_only(records, planned)
    return choose(records, {(cell.tier, cell.key) for cell in cells}, today, wanted)


def lookup_chosen(audit: Audit, chosen: Chosen) -> Lookup:
    """A lookup in chosen records."""
    return lookup_by_cell(audit, chosen.at)


def scorecard_of(
    store: Store,
    audit: Audit,
    tier: TierName,
    *,
    today: Collection[Group] | None = None,
    wanted: str | None = None,
    planned: Mapping[TierKey, str] | None = None,
) -> Scorecard:
    """The scorecard of an audit from the records of a store; other arguments as `choose_records`.

    Records of the multiverse feed no decision of a claim. They say what becomes of it under the
    ledger's alternatives, on which its verdict may depend.
    """
    chosen = choose_records(store, audit, tier, today=today, wanted=wanted, planned=planned)
    skip = None if planned is None else lambda _damaged: None  # a run looks at its own cells alone
    alternatives = stored_alternatives(store, audit, tier, chosen.group)
    custom = list(store.records(audit.paper.slug, CUSTOM, skip))
    scorecard = build(
        audit,
        tier,
        lookup_chosen(audit, chosen),
        len(custom),
        custom_groups(audit, tier, custom),
        alternatives=alternatives,
    )
    return scorecard.model_copy(
        update={
            "tier": stored_tier(audit, tier),
            "group": _group(chosen),
            "store_root": store.manifest.root(),
        }
    )


def outcomes_of(
    store: Store, audit: Audit, tier: TierName, today: Collection[Group]
) -> tuple[ClaimOutcome, ...]:
    """The verdicts of `scorecard_of` alone, without pictures and all else that a page shows."""
    chosen = choose_records(store, audit, tier, today=today)
    alternatives = stored_alternatives(store, audit, tier, chosen.group)
    return judge_claims(audit, tier, lookup_chosen(audit, chosen), alternatives)


def stored_alternatives(
    store: Store, audit: Audit, tier: TierName, group: Group | None
) -> Mapping[str, Sequence[AlternativeRun]]:
    """Every claim under the alternatives that a store has records of, at a tier and at lower ones.

    Args:
        group: only what this made.
    """
    found: dict[str, list[AlternativeRun]] = {claim.id: [] for claim in audit.claims}
    at_or_below = TIERS[1 : TIERS.index(tier) + 1]
    for at in at_or_below:
        if not has_records(store, audit.paper.slug, varied_tier(stored_tier(audit, at))):
            continue
        lookup = lookup_variations(store, audit, group)
        for claim, runs in alternatives_run(audit, at, lookup).items():
            found[claim] += runs
    return found


def _group(chosen: Chosen) -> GroupModel | None:
    if chosen.group is None:
        return None
    return GroupModel(
        id=chosen.group.id,
        made_with=str(chosen.group),
        of_today=chosen.of_today,
        others=chosen.others,
    )


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


def has_records(store: Store, slug: str, tier: str) -> bool:
    """True if a store holds a record of a paper at a tier."""
    return next(iter(store.records(slug, tier)), None) is not None


def highest_tier(store: Store, audit: Audit) -> TierName | None:
    """Returns the highest tier with a record of one of the paper's experiments in the store."""
    return next((one for one in reversed(TIERS) if has_records(store, audit.paper.slug, one)), None)
