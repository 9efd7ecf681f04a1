"""Writes to the chain of seals that a run began, and what it showed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TIERS, Audit
from reproaudit.audit.plan import Role, claim_batches, plan
from reproaudit.cell import Cell, CellKey
from reproaudit.commands.confirmed import verdicts_on_records
from reproaudit.multiverse.completions import varied_tier
from reproaudit.records import CellStatus, Record
from reproaudit.running.groups import Chosen, TierKey, todays_groups
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import (
    CUSTOM,
    cells_of,
    cells_of_tier,
    choose_records,
    scorecard_of,
)
from reproaudit.scorecard.model import Scorecard
from reproaudit.scorecard.sealed import digest_of_records, recorded_claims, with_standings
from reproaudit.seals.chain import last_seal
from reproaudit.seals.entries import (
    SEEN_BEFORE,
    ChangeEntry,
    ClaimResult,
    Draft,
    ResultEntry,
    RuleChange,
    RunEntry,
    SealsEntry,
    in_time,
)
from reproaudit.seals.history import revision_of
from reproaudit.seals.kept import Chains, Seen, changes_since
from reproaudit.seals.rule import RuleData, digest, judged_by, rule_of
from reproaudit.seals.standing import Sealed

ALTERNATIVES: Literal["multiverse"] = "multiverse"
"""The tier that entries name for runs of alternatives: in the chain beside an audit, those of the
paper tier. A beginning in the store's chain, which names claims, is of a smaller tier."""


def sealed_of(entry: Entry, audit: Audit, store: Store | None, seen: Seen | None = None) -> Sealed:
    """Everything that the chains beside an audit and in a store say, and those of other branches.

    Args:
        entry: the paper.
        audit: its audit.
        store: the store; None to leave out its chain, and the records of a confirmation.
        seen: the entries, if they were read already.

    Raises:
        SpecError: if a chain is damaged.
    """
    chains = Chains(entry) if store is None else Chains.of(entry, store)
    seen = seen or chains.seen()
    entries, every = seen.here, tuple(one for one in seen.every if _tells_something(one))
    claims = frozenset(claim.id for claim in audit.claims)
    ran = [one.rule for one in entries if isinstance(one, RunEntry)]
    seal = last_seal(entries)
    if seal is None and not ran:
        return Sealed(every, "", claims)
    rule, text = rule_of(entry, audit)
    unsealed: tuple[RuleChange, ...] = ()
    if seal is not None:
        unsealed = changes_since(entries, rule)
    elif digest(rule) != ran[-1]:
        unsealed = (RuleChange(what="rule or code, after a run of the paper tier's cells"),)
    verdicts = (
        {} if store is None else verdicts_on_records(entry, audit, store, entries, digest(rule))
    )
    is_reworded = seal is not None and seal.text != text
    return Sealed(every, digest(rule), claims, unsealed, is_reworded, confirmed=verdicts)


def _tells_something(entry: SealsEntry) -> bool:
    """True unless an entry was read from git and says no more than that an audit begins there.

    Where another branch had an audit before, a rule that differs from that one's is then a change
    of which no entry tells.
    """
    return not (isinstance(entry, ChangeEntry) and not entry.what)


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
    chains = Chains.of(entry, store)
    chains.entries()  # a damaged chain is told of before hours of computing
    runs: list[tuple[str, tuple[str, ...] | None]] = [(tier, None)]
    versions = 1
    if tier == "paper":
        chains.seal(audit, "", by_run=True)
        seen = _seen_elsewhere(audit, store)
        if claims := _claims_of_paper_tier(audit, seen):
            runs.insert(0, (SEEN_BEFORE, claims))
            versions = len(set().union(*seen.values()))
    elif claims := _claims_of_paper_tier(audit, {cell.key for cell in cells}):
        runs = [(tier, claims)]
    else:
        return {}
    rule, _ = rule_of(entry, audit)

    def made(there: tuple[SealsEntry, ...]) -> Iterable[Draft]:
        known = [one for one in there if isinstance(one, RunEntry)]
        of_rule = {one.claims for one in known if one.rule == digest(rule)}
        hashes = {"rule": digest(rule), "judged_by": judged_by(rule)}
        for name, touched in runs:
            missing = 1 if of_rule.isdisjoint({None, touched}) else 0
            if name == SEEN_BEFORE:  # one for each version of the code that made them
                others = [one for one in known if one.tier not in ("paper", ALTERNATIVES)]
                missing = versions - sum(one.claims == touched for one in others)
            for _ in range(missing):
                where = {"revision": revision_of(entry.audit_file), "tier": name}
                yield Draft(RunEntry, {**hashes, **where, "claims": touched})

    chains.add(made, to_store=tier != "paper")
    return rule


def enter_alternatives(entry: Entry, store: Store, rule: RuleData) -> None:
    """Enters that alternatives of the paper tier begin to be measured, before any number is there.

    It stands beside the audit, once until a result of them is recorded, and again after a result
    that lacks some; errors as `enter_run`.
    """

    def made(there: tuple[SealsEntry, ...]) -> Iterable[Draft]:
        if alternatives_begun(there) is None:
            hashes = {"rule": digest(rule), "judged_by": judged_by(rule)}
            where = {"revision": revision_of(entry.audit_file), "tier": ALTERNATIVES}
            yield Draft(RunEntry, {**hashes, **where, "claims": None})

    Chains.of(entry, store).add(made)


def alternatives_begun(entries: Iterable[SealsEntry]) -> RunEntry | None:
    """The beginning of alternatives, if no result of them was recorded since; else None."""
    begun = None
    for one in in_time(entries):
        if isinstance(one, RunEntry) and one.tier == ALTERNATIVES and one.claims is None:
            begun = one
        elif isinstance(one, ResultEntry) and one.tier == ALTERNATIVES:
            begun = None
    return begun


def _claims_of_paper_tier(audit: Audit, asked: Collection[CellKey]) -> tuple[str, ...]:
    """The claims of which some cells, or some of a control, are the paper tier's as well."""
    shown = _shown_by(audit, cells_of_tier(audit, "paper"), asked)
    seen = {
        batch: any(cell.key in shown for cell in cells_of(audit, batch))
        for _, batch in plan(audit, "paper")
    }
    return tuple(
        claim.id
        for claim in audit.claims
        if claim.trains
        and any(
            seen[batch]
            for role, batch in claim_batches(audit, claim, "paper")
            if role is not Role.POSITIVE_CONTROL
        )
    )


def _shown_by(audit: Audit, cells: Iterable[Cell], asked: Collection[CellKey]) -> set[CellKey]:
    """Those of the paper tier's cells whose numbers other cells show.

    A cell that no claim reads at the paper tier shows them whatever its experiment is called: the
    same program may be measured under a second name, or be renamed afterwards.
    """
    read = {
        cell.key
        for claim in audit.claims
        for _, batch in claim_batches(audit, claim, "paper")
        for cell in cells_of(audit, batch)
    }
    by_any_name = {key[1:] for key in asked if key not in read}
    return {cell.key for cell in cells if cell.key in asked or cell.key[1:] in by_any_name}


def _seen_elsewhere(audit: Audit, store: Store) -> dict[CellKey, set[str]]:
    """The cells of the paper tier that runs of other tiers computed, each with their code's hashes.

    A control at a smaller scale is at home in that scale's tier.
    """
    tiers = [tier for tier in TIERS if tier != "paper"]
    seen: dict[CellKey, set[str]] = {}
    for tier in (CUSTOM, *tiers, *map(varied_tier, tiers)):
        by_code: dict[str, set[CellKey]] = {}
        for record in store.records(audit.paper.slug, tier, lambda _damaged: None):
            by_code.setdefault(record.code, set()).add(record.key)
        away = [cell for cell in cells_of_tier(audit, "paper") if cell.tier != tier]
        for code, keys in by_code.items():
            for key in _shown_by(audit, away, keys):
                seen.setdefault(key, set()).add(code)
    return seen


def planned_records(audit: Audit, records: Mapping[TierKey, Record]) -> list[Record]:
    """The records of the paper tier's own cells."""
    wanted = {(cell.tier, cell.key) for cell in cells_of_tier(audit, "paper")}
    return [record for key, record in records.items() if key in wanted]


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
    """Records what a run at the paper tier showed, once for each set of records and failed try.

    A confirmation of which a cell failed has no result yet. The claims that failed are recorded as
    any failed run is, so that it shows how often it was tried.

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
        claims = recorded_claims(card, audit, chosen.records)
        is_open = is_confirmation and any(
            one.status is CellStatus.FAILED for one in chosen.records.values()
        )
        if is_open:
            claims = {name: one for name, one in claims.items() if one.has_failed}
        result = {
            "rule": digest(rule),
            "judged_by": judged_by(rule),
            "confirmation": is_confirmation and not is_open,
            "records": digest_of_records(chosen.records.values()),
            "claims": claims,
        }
        if chosen.records and claims:
            _enter_result(entry, store, result)
    found = sealed_of(entry, sealed_audit or audit, store)
    return with_standings(card, audit, replace(found, confirming=is_confirmation))


def record_multiverse(entry: Entry, audit: Audit, store: Store, rule: RuleData) -> None:
    """Records each claim's verdict with the alternatives that were run at the paper tier.

    It is entered beside the audit, once for each set of records and failed try, so that a condition
    stays known when the alternatives' records are gone. Where the paper's own cells failed, that is
    entered without any alternative, too.

    Args:
        entry: the paper.
        audit: its audit.
        store: where the records are.
        rule: the rule that the run was begun with.

    Raises:
        SpecError: if a chain is damaged.
    """
    chosen, own, varied = records_of_multiverse(entry, audit, store)
    if own and (varied or any(one.status is not CellStatus.COMPLETED for one in own)):
        card = scorecard_of(store, audit, "paper", today=todays_groups(entry.code))
        result = {
            "rule": digest(rule),
            "judged_by": judged_by(rule),
            "tier": ALTERNATIVES,
            "confirmation": False,
            "records": digest_of_records([*own, *varied]),
            "claims": recorded_claims(card, audit, chosen.records),
        }
        _enter_result(entry, store, result)


def records_of_multiverse(
    entry: Entry, audit: Audit, store: Store
) -> tuple[Chosen, list[Record], list[Record]]:
    """The records behind a multiverse at the paper tier: the tier's own, and all others."""
    chosen = choose_records(store, audit, "paper", today=todays_groups(entry.code))
    varied = [
        record
        for record in store.records(audit.paper.slug, varied_tier("paper"))
        if chosen.group is not None and chosen.group.made(record)
    ]
    return chosen, planned_records(audit, chosen.records), varied


def _enter_result(entry: Entry, store: Store, result: Mapping[str, Any]) -> None:
    """Enters a result, unless it says nothing new.

    That alternatives which were begun again have been finished is new, whatever they showed.
    """

    def made(there: tuple[SealsEntry, ...]) -> Iterable[Draft]:
        is_begun = result.get("tier") == ALTERNATIVES and alternatives_begun(there) is not None
        if is_begun or not any(_is_same(one, result) for one in there):
            yield Draft(ResultEntry, {"revision": revision_of(entry.audit_file), **result})

    Chains.of(entry, store).add(made)


def _is_same(entry: SealsEntry, result: Mapping[str, Any]) -> bool:
    """True if a result adds nothing: the same records judged alike, or confirmed already.

    Records of which some failed are the same if nothing was tried again.
    """
    if not isinstance(entry, ResultEntry) or entry.confirmation != result["confirmation"]:
        return False
    if entry.confirmation:
        return bool(entry.rule == result["rule"])
    found = entry.records, entry.judged_by, _failed_runs(entry.claims)
    new = result["records"], result["judged_by"], _failed_runs(result["claims"])
    return found == new


def _failed_runs(claims: Mapping[str, ClaimResult]) -> set[tuple[str, str]]:
    return {(name, one.failed_run) for name, one in claims.items() if one.failed_run}
