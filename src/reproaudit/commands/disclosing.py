"""Adds to a scorecard what the chain of seals says of its claims, and what else was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.commands.beside.alternatives import Alternatives
from reproaudit.commands.beside.code import told_of_code
from reproaudit.commands.beside.conditions import Conditions
from reproaudit.commands.beside.judged import JudgedFrom
from reproaudit.commands.beside.other_audits import told_of_other_audits
from reproaudit.commands.beside.told import told_beside
from reproaudit.commands.output import say
from reproaudit.commands.recording import (
    ALTERNATIVES,
    alternatives_begun,
    planned_records,
    records_of_multiverse,
    sealed_of,
)
from reproaudit.multiverse.completions import lookup_variations, varied_tier
from reproaudit.reports.numbers import counted
from reproaudit.reports.printable import clean
from reproaudit.reports.warning import OF_NO_RESULT, REPLACED, SEEDS_SEEN
from reproaudit.running.groups import Chosen, Group, todays_groups
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import (
    CUSTOM,
    cells_of_tier,
    choose_records,
    lookup_chosen,
)
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.scorecard.sealed import digest_of_records, with_standings
from reproaudit.scorecard.stated import with_sources
from reproaudit.seals.chain import alpha_of, sealed_anywhere
from reproaudit.seals.confirming import error_of_look, looks_sealed
from reproaudit.seals.entries import BegunEntry, ResultEntry, RunEntry, SealsEntry
from reproaudit.seals.history import NoHistoryError, Repository
from reproaudit.seals.kept import Chains, Seen
from reproaudit.seals.past import date_of
from reproaudit.seals.renamed import steps_of
from reproaudit.seals.rule import ORDER


def told_by_seals(
    card: Scorecard,
    entry: Entry,
    audit: Audit,
    store: Store,
    group: str | None = None,
    today: Sequence[Group] | None = None,
) -> Scorecard:
    """Returns a scorecard that says of each claim what the chain of seals says, and `disclosed`."""
    seen = Chains.of(entry, store).seen()
    told = with_standings(card, audit, sealed_of(entry, audit, store, seen))
    return disclosed(told, entry, audit, store, group, today, seen)


def disclosed(
    card: Scorecard,
    entry: Entry,
    audit: Audit,
    store: Store,
    group: str | None = None,
    today: Sequence[Group] | None = None,
    seen: Seen | None = None,
) -> Scorecard:
    """Returns a scorecard that says of each claim what was measured besides, where that matters.

    That is: where its records are not those of any result in the chain; how many records the store
    has lost or replaced, or that did not come with a report; what a smaller tier measured with
    other settings; alternatives that were cut off, or measured by custom runs; and what other
    branches, or other audits of the same paper, have entered.

    Args:
        card: the scorecard.
        entry: the paper.
        audit: its audit.
        store: the records behind the scorecard.
        group: the beginning of the id of their group; None for today's.
        today: the groups that today's code would make, if they are known.
        seen: what the chains say, if they were read already.

    Raises:
        SpecError: if a chain is damaged.
    """
    seen = seen or Chains.of(entry, store).seen()
    beside = _Beside(card, entry, audit, store, group, today, *seen)
    of_store = [
        beside.other_records(),
        beside.records_left_behind(),
        beside.lost_records(),
        beside.records_not_judged(),
        beside.versions_tried(),
        beside.records_written_again(),
        beside.alternatives_cut_off(),
        beside.history_cut_short(),
        beside.list_begun_anew(),
        _of_branches(seen.elsewhere),
        *beside.looks_not_counted(),
        beside.claims_never_judged(),
        beside.experiments_taken_away(),
        beside.seeds_seen_before(),
        told_of_other_audits(entry, audit),
    ]
    told = [one for one in of_store if one]
    varied = lookup_variations(store, audit, beside.chosen.group)
    judged = JudgedFrom(card, audit, lookup_chosen(audit, beside.chosen), varied)
    alternatives = Alternatives(judged, store)
    conditions = Conditions(entry, audit, beside.tier, seen)

    def with_more(claim: ClaimModel) -> ClaimModel:
        once = conditions.told_of(claim)
        more = (
            *once,
            *conditions.told_of_others(claim),
            *alternatives.told_of(claim),
            *told_beside(judged, claim),
            *told_of_code(card, entry, audit, claim, today),
        )
        history = (*claim.history, *told, *more)
        again = conditions.confirmed_again(claim)
        status = "exploratory" if once or again else claim.status
        looks = None if claim.looks is None else claim.looks + again
        claim = claim.model_copy(update={"history": history, "status": status, "looks": looks})
        return alternatives.with_conditions(claim)

    card = card.model_copy(update={"claims": tuple(map(with_more, card.claims))})
    return with_sources(card, audit)


def _of_branches(found: Sequence[SealsEntry]) -> str:
    """A sentence on what other branches have entered."""
    if not found:
        return ""
    results = sum(isinstance(one, ResultEntry) for one in found)
    return (
        "Other branches or folders of this repository have entries on this audit that its chain "
        f"of seals lacks: {counted(len(looks_sealed(found)), 'rule')} sealed and "
        f"{counted(results, 'result')}. They are counted among the looks."
    )


GONE_NAMED = 5
"""Of claims, or experiments, that are gone, so many are named."""


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:GONE_NAMED]) + (" and others" if len(names) > GONE_NAMED else "")


@dataclass(frozen=True)
class _Beside:
    """All that is told beside a scorecard; each method gives a sentence, or nothing.

    Attributes:
        card, entry, audit, store, group, today: as in `disclosed`.
        entries: those of the audit's chains.
        elsewhere: those of other branches.
        unknown: why git cannot tell of them; empty if it can.
    """

    card: Scorecard
    entry: Entry
    audit: Audit
    store: Store
    group: str | None
    today: Sequence[Group] | None
    entries: Sequence[SealsEntry]
    elsewhere: Sequence[SealsEntry]
    unknown: str

    @property
    def seen(self) -> Sequence[SealsEntry]:
        """The entries on this branch and on others."""
        return (*self.entries, *self.elsewhere)

    @property
    def tier(self) -> TierName:
        """The scorecard's tier."""
        return next(one for one in TIERS if one == self.card.tier)

    @cached_property
    def chosen(self) -> Chosen:
        """The records that are judged."""
        today = todays_groups(self.entry.code) if self.today is None else self.today
        return choose_records(self.store, self.audit, self.tier, today=today, wanted=self.group)

    def other_records(self) -> str:
        """A sentence on records that no result of the chain was judged on; empty if one was.

        A result keeps a hash of all its records. So a changed number of a control shows as well.
        """
        known = {one.records for one in self.seen if isinstance(one, ResultEntry)}
        if self.tier != "paper" or not known:
            return ""
        records = self.chosen.records
        if not records or digest_of_records(planned_records(self.audit, records)) in known:
            return ""
        return (
            f"{OF_NO_RESULT}, with those of its controls, are of no recorded result of this audit."
        )

    def records_left_behind(self) -> str:
        """A sentence on alternatives that were judged, and whose records are not all here."""
        if self.tier != "paper":
            return ""
        several = [
            one for one in self.seen if isinstance(one, ResultEntry) and one.tier == ALTERNATIVES
        ]
        if not several:
            return ""
        _, own, varied = records_of_multiverse(self.entry, self.audit, self.store)
        if several[-1].records == digest_of_records([*own, *varied]):
            return ""
        return (
            f"Alternatives were run by {date_of(several[-1])}; the records that are here are not "
            "those that they were judged on."
        )

    def lost_records(self) -> str:
        """A sentence on the records that the store lists and lacks; empty if it has all.

        With a report come those of its tier and of lower ones, and the custom runs; of higher tiers
        it is not expected to have any.
        """
        names = {CUSTOM: "custom runs"}
        for tier in TIERS[: TIERS.index(self.tier) + 1] if self.card.shipped else TIERS:
            names |= {
                tier: f"the {tier} tier",
                varied_tier(tier): f"alternatives at the {tier} tier",
            }
        listed = self.store.listed(self.entry.slug)
        lost = Counter(path.split("/")[1] for path in listed if not listed[path])
        said = " and ".join(f"{lost[tier]} of {name}" for tier, name in names.items() if lost[tier])
        return said and f"Of the records that its store lists, some are not here: {said}."

    def records_not_judged(self) -> str:
        """A sentence on the tier's other records.

        Not among them are those of the paper tier's controls and confirmations at this scale.
        """
        tier = self.tier
        judged = {record.fingerprint for record in self.card.records if record.tier == tier}
        begun = [one for one in self.seen if isinstance(one, BegunEntry)]
        confirming = {seed for one in begun for seed in one.seeds.get(tier, ())}
        others = [
            record
            for record in self.store.records(self.entry.slug, tier)
            if record.fingerprint not in judged and record.seed not in confirming
        ]
        if others:
            cells = cells_of_tier(self.audit, "paper")
            of_paper = {cell.key for cell in cells if cell.tier == tier}
            others = [record for record in others if record.key not in of_paper]
        if not others:
            return ""
        return (
            f"Not judged here: {counted(len(others), 'other record')} of this tier, of other "
            "settings, seeds, code or libraries."
        )

    def versions_tried(self) -> str:
        """A sentence on other versions of the code that smaller scales have records of.

        A choice that stands in code alone may have been tried out there, and no seal holds it.
        """
        tiers = (CUSTOM, *(tier for tier in TIERS[1 : TIERS.index(self.tier)]))
        found = {one.code for tier in tiers for one in self.store.records(self.entry.slug, tier)}
        others = found - {one.code for one in self.chosen.records.values()}
        if not others:
            return ""
        said = counted(len(others), "other version")
        return f"At smaller scales, the store has records of {said} of the code."

    def records_written_again(self) -> str:
        """A sentence on records that replace others; empty if each was written once.

        A program that gives other numbers each time could be run until they please.
        """
        below = TIERS[: TIERS.index(self.tier) + 1]
        tiers = (self.tier, *map(varied_tier, below))
        listed = {path for tier in tiers for path in self.store.listed(self.entry.slug, tier)}
        for one in self.chosen.records.values():  # of controls at quick scale as well
            folder = self.store.folder(self.entry.slug, one.tier, one.experiment)
            listed.add(self.store.listed_as(folder / f"{one.fingerprint}.json"))
        again = sum(self.store.times_written(self.store.root / path) > 1 for path in listed)
        if not again:
            return ""
        return (
            f"{REPLACED}: {counted(again, 'record')}. Those had been removed or damaged, or were "
            "measured again with --fresh."
        )

    def alternatives_cut_off(self) -> str:
        """A sentence on alternatives that were begun, and of which nothing was recorded."""
        begun = alternatives_begun(self.seen) if self.tier == "paper" else None
        if begun is None:
            return ""
        return (
            f"Alternatives were begun on {date_of(begun)}, and not all of them have been finished."
        )

    def list_begun_anew(self) -> str:
        """A sentence on a list of records that was damaged, and no longer tells what is lost."""
        if not any(self.store.root.glob("manifest.log.bad*")):
            return ""
        return (
            "The store's list of records was damaged and begun anew, so that it does not know of "
            "records that were lost before."
        )

    def history_cut_short(self) -> str:
        """A sentence in a clone that lacks old commits, or where git cannot be asked; else empty.

        The latter is printed as well, so that no page without history is remembered.
        """
        missing = (
            "seals, runs and results that other branches or earlier commits entered may be missing "
            "here, and are then not counted among the looks."
        )
        if self.unknown:
            why = clean(self.unknown)
            say(f"{self.entry.slug}: git cannot tell the history here ({why})", stderr=True)
            return f"Git cannot tell the history here ({why}): {missing}"
        with suppress(NoHistoryError):
            if Repository.of(self.entry.audit_file).is_shallow():
                return f"This clone is shallow: {missing}"
        return ""

    def looks_not_counted(self) -> Iterator[str]:
        """Yields a sentence on each confirmation that counted too few looks, as in another clone.

        Rules that other branches had sealed before it began are looks before it.
        """
        here = looks_sealed(self.entries)
        for begun in self.entries:
            if not isinstance(begun, BegunEntry) or begun.rule not in here:
                continue
            earlier = [one for one in self.elsewhere if one.date < begun.date]
            look = here.index(begun.rule) + 1 + len(set(looks_sealed(earlier)).difference(here))
            if look > begun.look:
                allowed = error_of_look(look, alpha_of({"confidence": self.audit.confidence}))
                yield (
                    f"The confirmation of seal {begun.rule[:8]} was judged as look {begun.look}. "
                    f"With the rules that had been sealed elsewhere before, it was look {look}, "
                    f"and had {allowed:.3g} of the error to spend, not {begun.error:.3g}."
                )

    def claims_never_judged(self) -> str:
        """A sentence on claims that were sealed and begun to be run, and are gone without a result.

        Of claims that had a result the chain tells one by one.
        """
        results = [one for one in self.seen if isinstance(one, ResultEntry)]
        judged = {name for one in results for name in one.claims}
        today = {claim.id for claim in self.audit.claims}
        gone = sorted(self._sealed_and_begun("claims") - judged - today)
        if not gone or self.tier != "paper":
            return ""
        return (
            f"{counted(len(gone), 'other claim')} of this audit had been sealed, and begun to be "
            f"run, and was taken away before any result was recorded: {_first(gone)}."
        )

    def experiments_taken_away(self) -> str:
        """A sentence on experiments that were sealed and begun to be run, and are gone.

        Also one that no claim read has shown numbers, as in a figure.
        """
        gone = sorted(self._sealed_and_begun("experiments") - set(self.audit.experiments))
        if not gone or self.tier != "paper":
            return ""
        return (
            f"{counted(len(gone), 'other experiment')} of this audit had been sealed, and begun to "
            f"be run, and was taken away or renamed: {_first(gone)}."
        )

    def _sealed_and_begun(self, kind: str) -> set[str]:
        """The names of all claims, or all experiments, of rules that were sealed and run."""
        begun = {one.rule for one in self.seen if isinstance(one, RunEntry)}
        return {
            steps_of(path)[1]
            for rule, data in sealed_anywhere(self.seen).items()
            if rule in begun
            for path in data
            if path.startswith(f"{kind}/") and path != f"{kind}/{ORDER}"
        }

    def seeds_seen_before(self) -> str:
        """A sentence on runs of any kind that measured seeds of a confirmation before it began."""
        if self.tier != "paper":
            return ""
        begun = {
            seed: one.date
            for one in sorted(self.seen, key=lambda one: one.date, reverse=True)
            if isinstance(one, BegunEntry)
            for seeds in one.seeds.values()
            for seed in seeds
        }  # of one that was begun twice, the first beginning
        told = []
        for tier in (CUSTOM, *TIERS, *map(varied_tier, TIERS)) if begun else ():
            records = self.store.records(self.entry.slug, tier)
            early = {one.seed for one in records if one.started < begun.get(one.seed, one.started)}
            if early:
                runs = "custom runs" if tier == CUSTOM else f"runs of the {tier} tier"
                told.append(f"{counted(len(early), 'seed')} by {runs}")
        return f"{SEEDS_SEEN}: {' and '.join(told)}." if told else ""
