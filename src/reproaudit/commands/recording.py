"""Writes a run's outcome to the chain of seals, and adds what the chain says to a scorecard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import experiment_batch
from reproaudit.cell import Cell, canonical_settings
from reproaudit.commands.confirmed import verdicts_on_records
from reproaudit.multiverse.completions import varied_tier
from reproaudit.running.groups import TierKey, todays_groups
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import cells_of, cells_of_tier, choose_records, scorecard_of
from reproaudit.scorecard.model import Scorecard
from reproaudit.scorecard.sealed import digest_of_records, recorded_claims, with_standings
from reproaudit.seals.chain import last_seal
from reproaudit.seals.entries import Draft, ResultEntry, RuleChange, RunEntry, SealsEntry
from reproaudit.seals.history import revision_of
from reproaudit.seals.kept import Chains, changes_since
from reproaudit.seals.rule import RuleData, digest, judged_by, rule_of
from reproaudit.seals.standing import Sealed


def sealed_of(entry: Entry, audit: Audit, store: Store) -> Sealed:
    """Everything that the chains beside an audit and in a store say.

    Raises:
        SpecError: if a chain is damaged.
    """
    entries = Chains(entry, store.root).entries()
    claims = frozenset(claim.id for claim in audit.claims)
    judged = [one.judged_by for one in entries if isinstance(one, RunEntry)]
    is_sealed = last_seal(entries) is not None
    if not is_sealed and not judged:
        return Sealed(entries, "", claims)
    rule, _ = rule_of(entry, audit)
    unsealed: tuple[RuleChange, ...] = ()
    if is_sealed:
        unsealed = changes_since(entries, rule)
    elif judged_by(rule) != judged[-1]:
        unsealed = (RuleChange(what="the rule, after a run of the paper tier's cells"),)
    verdicts = verdicts_on_records(entry, audit, store, entries, digest(rule))
    return Sealed(entries, digest(rule), claims, unsealed, confirmed=verdicts)


def enter_run(
    entry: Entry, audit: Audit, store: Store, tier: str, cells: Iterable[Cell]
) -> RuleData:
    """Enters that a run begins, before it shows a number of the paper tier; once for each rule.

    A run of the paper tier seals its rule first, unless that is sealed. Any other is entered in
    the store if it computes cells that the paper tier has as well.

    Args:
        entry: the paper.
        audit: its audit.
        store: where its records will be.
        tier: the tier that was asked for, or `custom`, or `multiverse`.
        cells: the cells of the run.

    Returns:
        The rule by which it is judged; empty if it has no cell of the paper tier.

    Raises:
        SpecError: if a chain is damaged, or lacks what git or the store has seen of it.
        UsageError: before the first seal, if the clone is shallow.
    """
    chains, claims = Chains(entry, store.root), None
    chains.entries()  # a damaged chain is told of before hours of computing
    if tier == "paper":
        chains.seal(audit, "", by_run=True)
    elif not (claims := _claims_of_paper_tier(audit, cells)):
        return {}
    rule, _ = rule_of(entry, audit)

    def made(there: tuple[SealsEntry, ...]) -> Iterable[Draft]:
        known = {(one.rule, one.claims) for one in there if isinstance(one, RunEntry)}
        if known.isdisjoint({(digest(rule), None), (digest(rule), claims)}):
            hashes = {"rule": digest(rule), "judged_by": judged_by(rule)}
            where = {"revision": revision_of(entry.audit_file), "tier": tier, "claims": claims}
            yield Draft(RunEntry, {**hashes, **where})

    chains.add(made, to_store=tier != "paper")
    return rule


def _claims_of_paper_tier(audit: Audit, cells: Iterable[Cell]) -> tuple[str, ...]:
    """The claims of which some cells, apart from controls, are the paper tier's as well."""

    def key(cell: Cell) -> tuple[str, str, int]:
        return cell.experiment, canonical_settings(cell.settings), cell.seed

    asked = {key(cell) for cell in cells}
    batches = {name: experiment_batch(audit, name, "paper") for name in audit.experiments}
    seen = {
        name
        for name, batch in batches.items()
        if any(key(cell) in asked for cell in cells_of(audit, batch))
    }
    return tuple(one.id for one in audit.claims if one.trains and one.experiment in seen)


def told_by_seals(card: Scorecard, entry: Entry, audit: Audit, store: Store) -> Scorecard:
    """Returns a scorecard that says of each claim what the chain of seals says.

    It also says of each claim how many records the store has lost, unless the records were shipped
    with the report: those are a part of a store.

    Raises:
        SpecError: if a chain is damaged.
    """
    told = with_standings(card, audit, sealed_of(entry, audit, store))
    lost = "" if card.shipped else _lost_records(store, entry.slug, card.tier)
    if not lost:
        return told
    claims = (one.model_copy(update={"history": (*one.history, lost)}) for one in told.claims)
    return told.model_copy(update={"claims": tuple(claims)})


def _lost_records(store: Store, slug: str, tier: str) -> str:
    """A sentence on the records of a tier that the store lists and lacks; empty if it has all."""
    lost = {}
    for place, name in ((tier, f"the {tier} tier"), (varied_tier(tier), "its alternatives")):
        folder = f"{store.listed_as(store.folder(slug, place, 'x').parent)}/"
        listed = [path for path in store.manifest.digests() if path.startswith(folder)]
        lost[name] = sum(
            not (path.endswith(".failed.json") or (store.root / path).exists()) for path in listed
        )
    said = " and ".join(f"{count} of {name}" for name, count in lost.items() if count)
    return said and f"This store lists records that are missing from it: {said}."


def recorded(
    card: Scorecard,
    entry: Entry,
    audit: Audit,
    store: Store,
    planned: Mapping[TierKey, str],
    rule: RuleData,
    *,
    sealed_audit: Audit | None = None,
) -> Scorecard:
    """Records what a run at the paper tier showed, once for each set of records.

    Args:
        card: the scorecard of the run; one of another tier is not recorded.
        entry: the paper.
        audit: the audit that was run; of a confirmation, with the derived seeds.
        store: where its records are.
        planned: the fingerprints of its cells.
        rule: the rule that it was begun with.
        sealed_audit: of a confirmation: the audit as it was sealed.

    Returns:
        The scorecard, with what the chain says of each claim.

    Raises:
        SpecError: if a chain is damaged.
    """
    is_confirmation = sealed_audit is not None
    if card.tier == "paper":
        chosen = choose_records(store, audit, "paper", planned=planned)
        result = {
            "rule": digest(rule),
            "judged_by": judged_by(rule),
            "confirmation": is_confirmation,
            "records": digest_of_records(chosen.records.values()),
            "claims": recorded_claims(card),
        }

        if chosen.records:
            _enter_result(entry, store, result)
    found = sealed_of(entry, sealed_audit or audit, store)
    return with_standings(card, audit, replace(found, confirming=is_confirmation))


def record_multiverse(entry: Entry, audit: Audit, store: Store, rule: RuleData) -> None:
    """Records each claim's verdict with the alternatives that were run at the paper tier.

    It is entered beside the audit, once for each set of records, so that a condition stays known
    when the alternatives' records are gone.

    Args:
        entry: the paper.
        audit: its audit.
        store: where the records are.
        rule: the rule that the run was begun with.

    Raises:
        SpecError: if a chain is damaged.
    """
    today, slug = todays_groups(entry.code), audit.paper.slug
    chosen = choose_records(store, audit, "paper", today=today)
    wanted = {(cell.tier, cell.key) for cell in cells_of_tier(audit, "paper")}
    own = [record for key, record in chosen.records.items() if key in wanted]
    varied = [
        record
        for record in store.records(slug, varied_tier("paper"))
        if chosen.group is not None and chosen.group.made(record)
    ]
    if own and varied:
        result = {
            "rule": digest(rule),
            "judged_by": judged_by(rule),
            "tier": "multiverse",
            "confirmation": False,
            "records": digest_of_records([*own, *varied]),
            "claims": recorded_claims(scorecard_of(store, audit, "paper", today=today)),
        }
        _enter_result(entry, store, result)


def _enter_result(entry: Entry, store: Store, result: Mapping[str, object]) -> None:
    """Enters a result, unless it says nothing new."""

    def made(there: tuple[SealsEntry, ...]) -> Iterable[Draft]:
        if not any(_is_same(one, result) for one in there):
            yield Draft(ResultEntry, {"revision": revision_of(entry.audit_file), **result})

    Chains(entry, store.root).add(made)


def _is_same(entry: SealsEntry, result: Mapping[str, object]) -> bool:
    """True if a result adds nothing: the same records judged alike, or confirmed already."""
    if not isinstance(entry, ResultEntry) or entry.confirmation != result["confirmation"]:
        return False
    if entry.confirmation:
        return entry.rule == result["rule"]
    return (entry.records, entry.judged_by) == (result["records"], result["judged_by"])
