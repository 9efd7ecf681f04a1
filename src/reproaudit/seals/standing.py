"""Reads from a chain of seals a claim's status (exploratory or confirmed), looks and history.

A *look* is an occasion on which a verdict could have been chosen: every draw that was judged at the
paper's scale, and every rule that came after numbers at this scale may have been seen, whether or
not it was judged. They may have been seen from the beginning of the first run. Commits of code in a
row that git alone tells of, with nothing judged between them, are one look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from reproaudit.seals.chain import confirmation_of
from reproaudit.seals.confirming import looks_sealed
from reproaudit.seals.entries import (
    BegunEntry,
    ChangeEntry,
    ClaimResult,
    CodeChange,
    ResultEntry,
    RuleChange,
    RunEntry,
    SealEntry,
    SealsEntry,
    in_time,
    names_of,
)
from reproaudit.seals.rule import digest

MOST_NAMED = 6
"""Changes that one sentence names at most."""

BY_CHAIN_ALONE = "confirmed by the chain alone; its records are not here"
"""The sentence on a confirmation that no record shows."""

UNTESTED = ("not_tested", "technical_failure")


@dataclass(frozen=True)
class Standing:
    """The status, looks and history of a claim, told beside its verdict.

    Attributes:
        status: exploratory, or confirmed on seeds that follow from a seal.
        looks: how many looks there were before this one; None where they do not matter.
        history: sentences, in the order of time.
    """

    status: Literal["exploratory", "confirmed"] = "exploratory"
    looks: int | None = None
    history: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sealed:
    """The entries of an audit, and the rule for which they are asked.

    Attributes:
        entries: every entry.
        rule: the hash of today's rule.
        claims: the ids of today's claims.
        unsealed: what today's rule has changed since the last seal, or since the last run.
        confirming: whether what is shown is judged on the seeds that follow from the rule.
        confirmed: by claim id, the verdicts that the records of the rule's confirmation give; empty
            if they are not here, or differ from what the chain says of them.
    """

    entries: tuple[SealsEntry, ...]
    rule: str
    claims: frozenset[str] = frozenset()
    unsealed: tuple[RuleChange, ...] = ()
    confirming: bool = False
    confirmed: Mapping[str, str] = field(default_factory=dict)

    def standing(
        self, claim: str, trains: bool, tier: str, verdict: str, numbers: Mapping[str, str]
    ) -> Standing:
        """The standing of a claim.

        Args:
            claim: its id.
            trains: whether it trains anything; else looks and confirmation do not apply.
            tier: the tier of the verdict that is shown.
            verdict: the verdict that is shown.
            numbers: from `numbers_of`, of what is shown.
        """
        past = _Past.of(claim, self.entries, self.unsealed)
        lost = tuple(_lost_sentences(self.entries, self.claims | past.names))
        unsealed = [one for one in self.unsealed if one.claims is None or past.is_of(one)]
        changes = tuple(_change_sentences(past))
        if unsealed:
            changes = (*changes, f"Changed, and not sealed: {_named(unsealed)}.")
            past.rule_changed()
        if not trains:
            return Standing(history=(*changes, *lost))
        shown = numbers if tier == "paper" else {}
        draws = tuple(_draw_sentences(past, claim, shown, verdict, self.confirming))
        confirmations = tuple(_confirmation_sentences(past.names, self.entries))
        history = (*changes, *lost, *past.looks, *draws, *confirmations)
        is_entered = self._is_entered_as_confirmed(claim, tier, verdict)
        is_confirmed = is_entered and self.confirmed.get(claim) == verdict
        if is_entered and not is_confirmed:
            history = (*history, f"{BY_CHAIN_ALONE[0].upper()}{BY_CHAIN_ALONE[1:]}.")
        return Standing(
            "confirmed" if is_confirmed else "exploratory",
            self._looks_before(past, shown) + self._looks_of_lost(past),
            history,
        )

    def _is_entered_as_confirmed(self, claim: str, tier: str, verdict: str) -> bool:
        found = confirmation_of(self.entries, self.rule)
        if tier != "paper" or verdict in UNTESTED or found is None:
            return False
        result = found.claims.get(claim)
        return result is not None and result.verdict == verdict

    def _looks_before(self, past: _Past, shown: Mapping[str, str]) -> int:
        looks = sum(max(1, len(one.draws)) for one in past.epochs)
        begun = {one.rule for one in self.entries if isinstance(one, BegunEntry)}
        looks += len(begun - {self.rule})
        if not past.epochs:
            return looks
        last = past.epochs[-1]
        if self.confirming:  # on other seeds than any draw
            return looks - (not last.draws and not last.was_run)
        return looks - (not last.draws or any(_same_draw(shown, one) for one in last.draws))

    def _looks_of_lost(self, past: _Past) -> int:
        """The draws of claims that were judged, taken away, and that no present claim succeeds."""
        kept = [past.names, self.claims]
        kept += [names_of(one, self.entries, self.unsealed) for one in self.claims]
        judged = {
            name for one in self.entries if isinstance(one, ResultEntry) for name in one.claims
        }
        lost = sorted(judged.difference(*kept))
        pasts = (_Past.of(name, self.entries, self.unsealed) for name in lost)
        return sum(len(epoch.draws) for one in pasts for epoch in one.epochs)


# --- the past of one claim ----------------------------------------------------------------------


@dataclass
class _Epoch:
    """The time of one rule, after numbers at the paper's scale may have been seen.

    Attributes:
        draws: the distinct draws that were judged.
        was_run: whether a run was begun.
    """

    draws: list[Mapping[str, str]] = field(default_factory=list)
    was_run: bool = False


@dataclass(frozen=True)
class _Late:
    """A change that came after numbers at the paper's scale may have been seen.

    Attributes:
        entry: the entry that tells of it.
        changes: what changed.
        was_judged: whether a result was recorded by then, and not a run's beginning alone.
    """

    entry: SealEntry | ChangeEntry
    changes: Sequence[RuleChange]
    was_judged: bool

    @property
    def is_past_code(self) -> bool:
        """True if it is a commit of code alone, read from git."""
        return self.entry.reconstructed and all(isinstance(one, CodeChange) for one in self.changes)

    @property
    def when(self) -> str:
        """The day, and what had happened by then."""
        seen = "after results had been seen" if self.was_judged else _AFTER_RUN
        by = self.entry.by if isinstance(self.entry, SealEntry) else None
        sealed = ", sealed by the run that followed" if by == "run" else ""
        return f"{_day(self.entry)}, {seen}{_mark(self.entry)}{sealed}"


_AFTER_RUN = "after a run had begun whose numbers may have been seen"


@dataclass
class _Past:
    """The past of one claim, and of the claims that it took the place of.

    Attributes:
        names: its id, and theirs.
        was_judged: whether it was judged at the paper's scale.
        early: the entries that changed its rule before its numbers may have been seen.
        late: the changes after that.
        results: its exploratory results, with the entries and the ids.
        looks: sentences about runs of smaller tiers, and about changes that nothing explains.
        epochs: the times of its rules since its numbers may have been seen.
    """

    names: frozenset[str]
    was_judged: bool = False
    early: list[SealEntry | ChangeEntry] = field(default_factory=list)
    late: list[_Late] = field(default_factory=list)
    results: list[tuple[ResultEntry, str, ClaimResult]] = field(default_factory=list)
    looks: list[str] = field(default_factory=list)
    epochs: list[_Epoch] = field(default_factory=list)
    _judged_by: str | None = None
    _is_explained: bool = False

    @classmethod
    def of(
        cls, claim: str, entries: Sequence[SealsEntry], unsealed: Iterable[RuleChange] = ()
    ) -> _Past:
        """A claim's past, in the order of dates."""
        past = cls(names_of(claim, entries, unsealed))
        for entry in in_time(entries):
            if isinstance(entry, RunEntry):
                past._take_run(entry)
            elif isinstance(entry, ResultEntry) and not entry.confirmation:
                past._take_result(entry)
            elif isinstance(entry, SealEntry | ChangeEntry):
                past._take_change(entry)
        return past

    def is_of(self, change: RuleChange) -> bool:
        """True if a change touches the claim, or one that it took the place of."""
        return change.claims is None or not self.names.isdisjoint(change.claims)

    def rule_changed(self) -> None:
        """Begins another epoch, if numbers may have been seen."""
        if self.epochs:
            self.epochs.append(_Epoch())

    def _take_change(self, entry: SealEntry | ChangeEntry) -> None:
        is_explained = isinstance(entry, ChangeEntry) or entry.since is not None
        self._is_explained = self._is_explained or is_explained or bool(entry.what)
        touching = [one for one in entry.what if self.is_of(one)]
        if not touching:
            return
        if not self.epochs:
            self.early.append(entry)
            return
        last = self.late[-1] if self.late else None
        late = _Late(entry, touching, self.was_judged)
        self.late.append(late)
        is_same = last is not None and (
            (entry.reconstructed and last.entry.revision == entry.revision)
            or (late.is_past_code and last.is_past_code)
        )
        if not (is_same and self.epochs[-1] == _Epoch()):
            self.rule_changed()

    def _take_run(self, entry: RunEntry) -> None:
        self._take_rule(entry)
        if entry.claims is None or not self.names.isdisjoint(entry.claims):
            self.epochs = self.epochs or [_Epoch()]
            self.epochs[-1].was_run = True
            if entry.claims is not None:
                self.looks.append(
                    f"A {entry.tier} run, begun on {_day(entry)}, computed cells that the paper "
                    "tier has as well."
                )

    def _take_rule(self, entry: RunEntry | ResultEntry) -> None:
        """Begins another epoch if what judges is another than before, and no entry tells of it."""
        known = self._judged_by is not None and entry.judged_by is not None
        is_other = known and self._judged_by != entry.judged_by
        if is_other and self.epochs and not self._is_explained:
            self.looks.append(
                f"On {_day(entry)} its rule was another than before, and no entry tells what "
                "was changed."
            )
            self.rule_changed()
        self._judged_by = entry.judged_by or self._judged_by
        self._is_explained = False

    def _take_result(self, entry: ResultEntry) -> None:
        self._take_rule(entry)
        for name in sorted(self.names & entry.claims.keys()):
            result = entry.claims[name]
            if not result.numbers:
                continue
            self.was_judged = True
            self.results.append((entry, name, result))
            self.epochs = self.epochs or [_Epoch()]
            draws = self.epochs[-1].draws
            if not any(_same_draw(result.numbers, one) for one in draws):
                draws.append(result.numbers)


def numbers_of(parts: Iterable[tuple[str, Sequence[float]]]) -> dict[str, str]:
    """A hash of each part's numbers, by a hash of its name.

    Args:
        parts: name and number of each seed; of a part without numbers nothing is kept.
    """
    return {
        digest(name)[:8]: digest([float(one) for one in numbers])[:8]
        for name, numbers in parts
        if numbers
    }


def _same_draw(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """True if no part has other numbers here than there; parts of one alone do not matter."""
    shared = one.keys() & other.keys()
    return bool(shared) and all(one[name] == other[name] for name in shared)


# --- sentences ----------------------------------------------------------------------------------


def _change_sentences(past: _Past) -> Iterator[str]:
    early = past.early
    if early:
        days = sorted({entry.date.date().isoformat() for entry in early})
        when = f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}"
        known = " before the first recorded result" if past.was_judged else ""
        yield f"Its rule {_times(early, past)}{known} ({when}{_mark(early[-1])})."
        if early[-1].reconstructed:
            yield (
                "Whether results at a smaller scale had been seen by then is not in git; the "
                "findings tell of those that had."
            )
    for is_code, group in groupby(past.late, lambda one: one.is_past_code):
        several = list(group)
        if is_code and len(several) > 1:
            yield _code_sentence(several)
        else:
            yield from (_change_sentence(one) for one in several)


def _times(entries: Sequence[SealEntry | ChangeEntry], past: _Past) -> str:
    """The number of changes of a rule, and of code alone, in words."""
    code = sum(
        all(isinstance(one, CodeChange) for one in entry.what if past.is_of(one))
        for entry in entries
    )
    several = (("was changed", len(entries) - code), ("had its code changed", code))
    return " and ".join(
        f"{did} {'once' if times == 1 else f'{times} times'}" for did, times in several if times
    )


def _change_sentence(late: _Late) -> str:
    entry = late.entry
    said = "Commit" if entry.reconstructed else "Reason given"
    reason = f" {said}: {entry.why.rstrip('.')}." if entry.why else ""
    return f"Changed on {late.when}: {_named(late.changes)}.{reason}"


def _code_sentence(several: Sequence[_Late]) -> str:
    """Commits after each other that changed nothing but code."""
    times: Counter[str] = Counter()
    for late in several:
        times.update({f for one in late.changes if isinstance(one, CodeChange) for f in one.files})
    ranked = sorted(times, key=lambda file: (-times[file], file))
    often = ", ".join(ranked[:MOST_NAMED])
    commits = len({late.entry.revision for late in several})
    return (
        f"Code that computes or judges was changed in {commits} commits, from "
        f"{_day(several[0].entry)} to {several[-1].when}; most often {often}."
    )


def _lost_sentences(entries: Iterable[SealsEntry], known: Collection[str]) -> Iterator[str]:
    """Yields a sentence for each claim that had results and is gone."""
    last: dict[str, tuple[ResultEntry, ClaimResult]] = {}
    for entry in in_time(entries):
        if isinstance(entry, ResultEntry):
            last |= {name: (entry, one) for name, one in entry.claims.items()}
    for name in sorted(last.keys() - set(known)):
        entry, result = last[name]
        yield (
            f"This audit had another claim, {name}, which was taken away; its last result, "
            f"recorded on {_day(entry)}, was {_outcome(result)}."
        )


def _draw_sentences(
    past: _Past, claim: str, shown: Mapping[str, str], verdict: str, confirming: bool
) -> Iterator[str]:
    draws: list[Mapping[str, str]] = [shown] if shown and not confirming else []
    told: list[tuple[Mapping[str, str], str]] = [(one, verdict) for one in draws]
    other = "The audit's own seeds" if confirming else "Another draw"
    for entry, name, result in past.results:
        who = f", as {name}" if name != claim else ""
        same = [found for numbers, found in told if _same_draw(result.numbers, numbers)]
        if not same:
            yield f"{other}, recorded on {_day(entry)}{who}, gave {_outcome(result)}."
            other = "Another draw"
        elif result.verdict not in same or who:
            how = (
                f"with the alternatives that were run by {_day(entry)}"
                if entry.tier == "multiverse"
                else f"judged by the rule of {_day(entry)}"
            )
            yield f"The same numbers, {how}{who}, gave {_outcome(result)}."
        told.append((result.numbers, result.verdict))


def _confirmation_sentences(names: Collection[str], entries: Sequence[SealsEntry]) -> Iterator[str]:
    rules = looks_sealed(entries)
    for begun in (one for one in entries if isinstance(one, BegunEntry)):
        found = confirmation_of(entries, begun.rule)
        name = (
            f"Confirmation on the seeds of seal {begun.rule[:8]} (look {begun.look} of "
            f"{len(rules)} sealed; it spends {begun.error:.3g} of the error), begun on "
            f"{_day(begun)}"
        )
        results = {} if found is None else found.claims
        told = [_outcome(one) for claim, one in results.items() if claim in names]
        yield f"{name}: {'; '.join(told) or 'no result yet'}."


def _named(changes: Sequence[RuleChange]) -> str:
    named = "; ".join(one.what for one in changes[:MOST_NAMED])
    more = len(changes) - MOST_NAMED
    return named + (f"; and {more} more" if more > 0 else "")


def _mark(entry: SealsEntry) -> str:
    return ", reconstructed from git" if entry.reconstructed else ""


def _outcome(result: ClaimResult) -> str:
    estimate = "" if result.estimate is None else f", estimate {result.estimate:.4g}"
    verdict = result.verdict.replace("_", " ")
    return f"{verdict} (decision {result.decision or 'none'}{estimate})"


def _day(entry: SealsEntry) -> str:
    return entry.date.date().isoformat()
