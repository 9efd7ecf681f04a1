"""Tells of a decided claim that its verdict once hung on an alternative.

The records of that alternative may be left out, made by other code, or judged with many others. A
confirmation runs no alternatives, so that it cannot take the condition away. Only all alternatives
can, run anew with the claim's own decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit, TierName
from reproaudit.judging.model import Verdict
from reproaudit.reports.numbers import counted
from reproaudit.reports.warning import (
    BY_THIS_RULE,
    CONFIRMED_AGAIN,
    CONTRADICTED_ONCE,
    GONE_BADLY,
    ON_ANOTHER_BRANCH,
    ONCE_CONDITIONAL,
    ONCE_UNSETTLED,
    READ_ONCE,
    TWIN,
)
from reproaudit.scorecard.model import ClaimModel
from reproaudit.scorecard.sealed import alternative_words
from reproaudit.seals.chain import last_seal, sealed_anywhere
from reproaudit.seals.changes import WHOLE, changes_between
from reproaudit.seals.entries import Changes, ResultEntry, RuleChange, names_of
from reproaudit.seals.kept import Seen, changes_since
from reproaudit.seals.past import Past, date_of
from reproaudit.seals.renamed import ClaimFeatures, claims_of
from reproaudit.seals.rule import RuleData, digest, rule_of
from reproaudit.seals.telling import (
    changes_after_confirmation,
    confirmations_of,
    counted_words,
    named_changes,
    result_words,
)

_SAY_NOTHING = (Verdict.SUPPORTED, Verdict.NOT_TESTED)
"""Verdicts that say nothing against a supported claim."""


@dataclass(frozen=True)
class Conditions:
    """The conditions that the chains of an audit know of.

    Attributes:
        entry: the paper.
        audit: its audit.
        tier: at which it is judged.
        seen: what the chains say.
    """

    entry: Entry
    audit: Audit
    tier: TierName
    seen: Seen

    def told_of(self, claim: ClaimModel) -> tuple[str, ...]:
        """Returns a sentence on a claim that was conditional once and is decided now; else none."""
        if not self._results or claim.verdict not in (Verdict.SUPPORTED, Verdict.CONTRADICTED):
            return ()
        names = names_of(claim.id, self.seen.every, self._unsealed)
        found = [(one, name) for one, name in self._results if name in names]
        is_resolved = self._all_run(claim) and not any(
            self._lists_less_than(claim, *one) for one in found
        )
        if not found or is_resolved:
            return ()
        last, _ = found[-1]
        return (
            f"{ONCE_CONDITIONAL} (recorded on {date_of(last)}); today's rule and records do not "
            "show on which alternative.",
        )

    def told_of_others(self, claim: ClaimModel) -> Iterator[str]:
        """Yields every other sentence on what the chains know of a claim."""
        entries = self.seen.every
        past = Past.of(claim.id, entries, self._unsealed)
        yield from changes_after_confirmation(past, entries)
        if again := self.confirmed_again(claim):
            times = counted(again + 1, "confirmation")
            yield f"{CONFIRMED_AGAIN}: it had {times}, and none of them confirms anything."
        yield from self.told_of_contradicted(claim)
        yield from self.told_of_unsettled(claim)
        yield from self.told_of_gone(claim)
        yield from self.told_of_twins(claim)
        yield from self.told_of_measurements(claim)
        yield from self.told_of_this_rule(claim)
        yield from self.told_of_branches(claim)

    def confirmed_again(self, claim: ClaimModel) -> int:
        """The number of confirmations of today's rule beside the first; 0 where nothing trains.

        A seal is confirmed once. Branches and folders that did not know of each other may have
        done so with other data or versions, which no rule holds.
        """
        return 0 if claim.rule.get("trains") is False else max(0, self._confirmations - 1)

    @cached_property
    def _confirmations(self) -> int:
        """The number of confirmations of today's rule, on any branch."""
        rule = digest(self._rule)
        every = confirmations_of(self.seen.every)
        return sum(max(1, len(one.results)) for one in every if one.begun.rule == rule)

    def told_of_contradicted(self, claim: ClaimModel) -> Iterator[str]:
        """Yields a sentence on the last result that contradicted a claim which none does today.

        Less evidence is enough for that, as where a stated setting is called a recalled one.
        """
        if claim.verdict is Verdict.CONTRADICTED:
            return
        names = names_of(claim.id, self.seen.every, self._unsealed)
        found = [
            one
            for one in self.seen.every
            if isinstance(one, ResultEntry) and not one.confirmation
            for name, result in one.claims.items()
            if name in names and result.verdict == Verdict.CONTRADICTED
        ]
        if found:
            yield f"{CONTRADICTED_ONCE} (recorded on {date_of(found[-1])})."

    def told_of_unsettled(self, claim: ClaimModel) -> tuple[str, ...]:
        """Returns a sentence on alternatives that once did not meet a supported claim; else none.

        Those that its records show today are told of with them.
        """
        if claim.verdict is not Verdict.SUPPORTED:
            return ()
        names = names_of(claim.id, self.seen.every, self._unsealed)
        here = {alternative_words(one) for one in claim.alternatives if one.tier == self.tier}
        once = dict.fromkeys(
            words
            for one in self.seen.every
            if isinstance(one, ResultEntry)
            for name, result in one.claims.items()
            if name in names
            for words in result.unsettled
            if words not in here
        )
        return (f"{ONCE_UNSETTLED}: {', '.join(once)}.",) if once else ()

    def told_of_gone(self, claim: ClaimModel) -> tuple[str, ...]:
        """Returns a sentence on claims that did badly once and are gone; none without support.

        Another claim may stand in their place that says the same in other words.
        """
        if claim.verdict is not Verdict.SUPPORTED or not self._badly:
            return ()
        kept = {
            name
            for one in self.audit.claims
            for name in names_of(one.id, self.seen.every, self._unsealed)
        }
        gone = dict.fromkeys(
            f"{name} ({verdict.value})" for name, verdict in self._badly if name not in kept
        )
        return (f"{GONE_BADLY}: {', '.join(gone)}.",) if gone else ()

    @cached_property
    def _badly(self) -> list[tuple[str, Verdict]]:
        """Every claim that was conditional or contradicted once, on new seeds, too."""
        return [
            (name, verdict)
            for one in self.seen.every
            if isinstance(one, ResultEntry)
            for name, result in one.claims.items()
            for verdict in (Verdict.CONDITIONAL, Verdict.CONTRADICTED)
            if result.verdict == verdict
        ]

    def told_of_twins(self, claim: ClaimModel) -> Iterator[str]:
        """Yields a sentence on each other claim that makes, or made, the same statement.

        Its results and looks are not those of this claim, though they answer the same question. A
        claim whose place this one took is told of in its history (`reproaudit.seals.past`).
        """
        names = names_of(claim.id, self.seen.every, self._unsealed)
        ours = letters(claim.statement)
        told: dict[str, dict[str, None]] = {}
        for one in self.seen.every:
            if isinstance(one, ResultEntry):
                rule = self._sealed.get(one.rule or "", {})
                for name, result in one.claims.items():
                    said = letters(str(rule.get(f"claims/{name}/statement", "")))
                    if name not in names and said == ours:
                        told.setdefault(name, {})[result_words(result)] = None
        for name, verdicts in told.items():
            yield f"{TWIN}, {name}, whose results were: {', '.join(verdicts)}."

    def told_of_measurements(self, claim: ClaimModel) -> Iterator[str]:
        """Yields a sentence on each other claim that read measurements of this one, and does not.

        Its id may have been given another meaning, and its question to this claim, in other words.
        A claim that still reads them stands on the same page, with its own results.
        """
        if claim.verdict is not Verdict.SUPPORTED:
            return
        names = names_of(claim.id, self.seen.every, self._unsealed)
        today = claims_of(self._rule)
        ours = _read(today, claim.id)
        told: dict[str, dict[str, None]] = {}
        for one in self.seen.every:
            if isinstance(one, ResultEntry):
                then = self._claims_by_rule.get(one.rule or "", {})
                for name, result in one.claims.items():
                    moved = ours & _read(then, name) - _read(today, name)
                    if name not in names and moved and result.verdict != Verdict.SUPPORTED:
                        told.setdefault(name, {})[result_words(result)] = None
        for name, verdicts in told.items():
            yield f"{READ_ONCE}, {name}, whose results were: {', '.join(verdicts)}."

    def told_of_this_rule(self, claim: ClaimModel) -> Iterator[str]:
        """Yields a sentence on other verdicts that today's rule gave a supported claim.

        Controls and alternatives whose runs differ from time to time could be run until they
        please; and records that were exchanged are entered by the next run like any others.
        """
        if claim.verdict is not Verdict.SUPPORTED:
            return
        rules = {digest(self._rule)}
        rules |= {
            name for name, changes in self._to_today.items() if _asks_the_same(changes, claim)
        }
        others = Counter(
            result_words(one.claims[claim.id])
            for one in self.seen.every
            if isinstance(one, ResultEntry) and not one.confirmation and one.rule in rules
            if claim.id in one.claims and one.claims[claim.id].verdict not in _SAY_NOTHING
        )
        if others:
            yield f"{BY_THIS_RULE}, it came out {counted_words(others)}."

    def told_of_branches(self, claim: ClaimModel) -> Iterator[str]:
        """Yields a sentence on what rules of other branches gave a supported claim, and on them.

        The chain that is checked out tells of changes of its own rules alone.
        """
        if claim.verdict is not Verdict.SUPPORTED:
            return
        names = names_of(claim.id, self.seen.every, self._unsealed)
        here = {one.rule for one in self.seen.here if isinstance(one, ResultEntry)}
        results = (one for one in self.seen.elsewhere if isinstance(one, ResultEntry))
        for one in results:
            if one.rule not in self._sealed or one.rule in here:
                continue
            gave = [result_words(one.claims[name]) for name in sorted(names & one.claims.keys())]
            differing = [
                change
                for change in self._to_today[one.rule or ""]
                if change.claims is None or not names.isdisjoint(change.claims)
            ]
            if gave and differing:
                yield (
                    f"{ON_ANOTHER_BRANCH}, {date_of(one)}, it came out {', '.join(gave)}. Today's "
                    f"rule differs in: {named_changes(differing)}."
                )

    @cached_property
    def _results(self) -> list[tuple[ResultEntry, str]]:
        """Every result by which a claim was conditional, with the claim's name at that time."""
        return [
            (one, name)
            for one in self.seen.every
            if isinstance(one, ResultEntry) and not one.confirmation
            for name, result in one.claims.items()
            if result.verdict == Verdict.CONDITIONAL
        ]

    @cached_property
    def _sealed(self) -> dict[str, RuleData]:
        """Every sealed rule, of other branches, too, by its hash."""
        return sealed_anywhere(self.seen.every)

    @cached_property
    def _claims_by_rule(self) -> dict[str, dict[str, ClaimFeatures]]:
        """The features of the claims of every sealed rule, by its hash."""
        return {name: claims_of(rule) for name, rule in self._sealed.items()}

    @cached_property
    def _to_today(self) -> dict[str, Changes]:
        """The differences from every sealed rule to today's, by the former's hash."""
        return {name: changes_between(rule, self._rule) for name, rule in self._sealed.items()}

    @cached_property
    def _rule(self) -> RuleData:
        return rule_of(self.entry, self.audit)[0]

    @cached_property
    def _unsealed(self) -> tuple[RuleChange, ...]:
        is_sealed = last_seal(self.seen.here) is not None
        return changes_since(self.seen.here, self._rule) if is_sealed else ()

    def _all_run(self, claim: ClaimModel) -> bool:
        """True if every alternative was run at this tier, and decides as the claim does."""
        here = [one for one in claim.alternatives if one.tier == self.tier]
        counts = claim.alternatives_run
        is_all = counts is not None and 0 < counts.of == len(here)
        return is_all and all(one.decision is claim.decision for one in here)

    def _lists_less_than(self, claim: ClaimModel, result: ResultEntry, name: str) -> bool:
        """True if the claim lacks an alternative today that it had when a result was recorded."""
        then = self._sealed.get(result.rule or "")
        return then is None or not _choices(then, name) <= _choices(self._rule, claim.id)


def _asks_the_same(changes: Changes, claim: ClaimModel) -> bool:
    """True if these changes of a rule touch nothing that a claim hangs on, but for code."""
    return all(
        change.what in WHOLE.values()
        or (change.claims is not None and claim.id not in change.claims)
        for change in changes
    )


def _read(claims: Mapping[str, ClaimFeatures], claim: str) -> set[tuple[str, str]]:
    """The measurements that a claim's checks read by a rule, each with the claim's experiment."""
    found = claims.get(claim, ClaimFeatures())
    return {(found.experiment, one) for one in found.reads}


def letters(text: str) -> str:
    """Returns letters and digits alone, all small."""
    return "".join(filter(str.isalnum, text.casefold()))


def _choices(rule: RuleData, claim: str) -> set[tuple[str, str]]:
    """The alternatives of a claim by a rule: names of settings that it reads, each with a value."""
    own, shared = f"experiments/{rule.get(f'claims/{claim}/experiment')}/settings/", "settings/"
    mine = {path.removeprefix(own).split("/")[0] for path in rule if path.startswith(own)}
    found = set()
    for path, leaf in rule.items():
        place = own if path.startswith(own) else shared
        name, _, field = path.removeprefix(place).partition("/")
        if not path.startswith(place) or (place == shared and name in mine):
            continue
        if field == "alternatives" and isinstance(leaf, list):
            found |= {(name, repr(one)) for one in leaf}
        elif field.startswith("contradicted_by/") and field.endswith("/value"):
            found.add((name, repr(leaf)))
    return found
