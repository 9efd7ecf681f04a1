"""The sentences in which a scorecard tells what a chain of seals knows of a claim."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from reproaudit.seals.confirming import Confirmation, looks_sealed
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
)
from reproaudit.seals.past import LateChange, Past, date_of, mark_of, same_draw

MOST_NAMED = 6
"""Additions, or files, that one sentence names at most."""

MERE_WORDS = (
    "Words and weights of this audit that decide no verdict (reasons, findings, titles, what "
    "measurements mean)"
)


def change_sentences(past: Past) -> Iterator[str]:
    """Yields sentences on the changes of a claim's rule, before and after its numbers were seen."""
    early = past.early
    if early:
        days = sorted({entry.date.date().isoformat() for entry in early})
        when = f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[-1]}"
        known = " before the first result on its own seeds" if past.was_judged else ""
        yield f"{_times(early, past)}{known} ({when}{mark_of(early[-1])})."
        if early[-1].reconstructed:
            yield (
                "Whether results at a smaller scale had been seen by then is not in git; the "
                "findings tell of those that had."
            )
        sealed = [one for entry in early if not entry.reconstructed for one in entry.what]
        if named := named_changes([one for one in sealed if past.is_of(one)]):
            yield f"By its seals, these changes were: {named.rstrip('.')}."
    for is_code, group in groupby(past.late, lambda one: one.is_past_code):
        several = list(group)
        if is_code and len(several) > 1:
            yield _code_sentence(several)
        else:
            yield from (_change_sentence(one) for one in several)


def changes_after_confirmation(past: Past, entries: Sequence[SealsEntry]) -> Iterator[str]:
    """Yields sentences on changes of a claim's rule between a confirmation and its own seeds.

    Arguments: the claim's past, and the entries of the audit. Of what came after results on its own
    seeds `change_sentences` tells.
    """
    was_confirmed = False
    for entry in in_time(entries):
        if isinstance(entry, ResultEntry) and entry.confirmation:
            was_confirmed = was_confirmed or not past.names.isdisjoint(entry.claims)
        elif was_confirmed and entry in past.early:
            assert isinstance(entry, SealEntry | ChangeEntry)
            changes = [one for one in entry.what if past.is_of(one)]
            yield _change_sentence(LateChange(entry, changes, was_judged=True))


def _times(entries: Sequence[SealEntry | ChangeEntry], past: Past) -> str:
    """The number of changes of a rule, and of code alone, in words."""
    code = sum(
        all(isinstance(one, CodeChange) for one in entry.what if past.is_of(one))
        for entry in entries
    )
    rule = len(entries) - code
    if not code:
        return f"Its rule was changed {_often(rule)}"
    if not rule:
        return f"The code behind its rule was changed {_often(code)}"
    return f"Its rule was changed {_often(rule)} and the code behind it {_often(code)}"


def _often(times: int) -> str:
    return "once" if times == 1 else f"{times} times"


def _change_sentence(late: LateChange) -> str:
    entry = late.entry
    said = "Commit" if entry.reconstructed else "Reason given"
    reason = f" {said}: “{entry.why.rstrip('.')}”." if entry.why else ""
    return f"Changed on {late.when}: {named_changes(late.changes).rstrip('.')}.{reason}"


def _code_sentence(several: Sequence[LateChange]) -> str:
    """Commits after each other that changed nothing but code."""
    times: Counter[str] = Counter()
    for late in several:
        times.update({f for one in late.changes if isinstance(one, CodeChange) for f in one.files})
    ranked = sorted(times, key=lambda file: (-times[file], file))
    often = ", ".join(ranked[:MOST_NAMED])
    commits = len({late.entry.revision for late in several})
    first = date_of(several[0].entry)
    since = "on" if first == date_of(several[-1].entry) else f"from {first} to"
    return (
        f"Code that computes or judges was changed in {commits} commits {since} "
        f"{several[-1].when}; most often {often}."
    )


def wording_sentences(entries: Iterable[SealsEntry]) -> Iterator[str]:
    """Yields a sentence on words that changed after numbers may have been seen."""
    seen, text, late = False, None, []
    for entry in in_time(entries):
        seen = seen or isinstance(entry, RunEntry | ResultEntry)
        if isinstance(entry, SealEntry):
            if seen and text not in (None, entry.text):
                late.append(entry)
            text = entry.text
    if late:
        yield (
            f"{MERE_WORDS} were changed {_often(len(late))} after a run, "
            f"last by the seal of {date_of(late[-1])}."
        )


def lost_sentences(entries: Iterable[SealsEntry], known: Collection[str]) -> Iterator[str]:
    """Yields a sentence for each claim that had results and is gone."""
    found: dict[str, list[tuple[ResultEntry, ClaimResult]]] = {}
    for entry in in_time(entries):
        if isinstance(entry, ResultEntry):
            for name, one in entry.claims.items():
                found.setdefault(name, []).append((entry, one))
    for name in sorted(found.keys() - set(known)):
        *before, (entry, result) = found[name]
        others = Counter(result_words(one) for _, one in before if one.verdict != result.verdict)
        earlier = f"; earlier ones were {counted_words(others)}" if others else ""
        yield (
            f"This audit had another claim, {name}, which was taken away; its last result, "
            f"recorded on {date_of(entry)}, was {_outcome(result)}{earlier}."
        )


def draw_sentences(
    past: Past, claim: str, shown: Mapping[str, str], verdict: str, rule: str, confirming: bool
) -> Iterator[str]:
    """Yields sentences on the other draws that were judged, and on other verdicts on the same one.

    Arguments as in `Sealed.standing`; ``rule`` is the hash of today's rule.
    """
    draws: list[Mapping[str, str]] = [shown] if shown and not confirming else []
    told: list[tuple[Mapping[str, str], str]] = [(one, verdict) for one in draws]
    earlier: list[tuple[Mapping[str, str], str]] = []
    other = "The audit's own seeds" if confirming else "Other numbers"
    for entry, name, result in past.results:
        who = f", as {name}" if name != claim else ""
        same = [found for numbers, found in told if _is_same(result.numbers, numbers)]
        before = [found for numbers, found in earlier if _is_same(result.numbers, numbers)]
        is_earlier = entry.rule != rule  # numbers that were known before today's rule was sealed
        if not same:
            yield f"{other}, recorded on {date_of(entry)}{who}, gave {_outcome(result)}."
            other = "Other numbers"
        elif result.verdict not in same or who or (is_earlier and result.verdict not in before):
            how = (
                f"with the alternatives that were run by {date_of(entry)}"
                if entry.tier == "multiverse"
                else "judged by this very rule, with other records of its controls or alternatives"
                if entry.rule == rule
                else f"judged by the rule of {date_of(entry)}"
            )
            all_same = any(_is_within(result.numbers, numbers) for numbers, _ in told)
            which = "The same numbers" if all_same else "Numbers of which some are the same"
            yield f"{which}, {how}{who}, gave {_outcome(result)}."
        told.append((result.numbers, result.verdict))
        if is_earlier:
            earlier.append((result.numbers, result.verdict))


def _is_same(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """True if two draws are one, or have the same numbers under other names of parts."""
    if one.keys() & other.keys():
        return same_draw(one, other)
    return not set(one.values()).isdisjoint(other.values())


def _is_within(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """True if the numbers are the same, but for parts that one of the two lacks."""
    these, those = set(one.values()), set(other.values())
    return _is_same(one, other) and (these <= those or those <= these)


def failure_sentences(past: Past, claim: str, shown: str | None) -> Iterator[str]:
    """Yields a sentence on the other runs that failed, for each outcome that they gave.

    Args:
        past: of the claim.
        claim: its id.
        shown: the failed run that is shown; None if none is.
    """
    days: dict[str, list[str]] = {}
    for run, (entry, name, result) in past.failures.items():
        who = f", as {name}" if name != claim else ""
        if run != shown:
            days.setdefault(f"{who}, gave {_outcome(result)}", []).append(date_of(entry))
    for outcome, several in days.items():
        runs = "A run" if len(several) == 1 else f"{len(several)} runs"
        last = "" if len(several) == 1 else "the last "
        yield f"{runs} that failed or diverged, {last}recorded on {several[-1]}{outcome}."


def confirmation_sentences(names: Collection[str], entries: Sequence[SealsEntry]) -> Iterator[str]:
    """Yields a sentence on each confirmation that was begun.

    Args:
        names: the claim's id, and those of the claims that it took the place of.
        entries: those of the audit.
    """
    rules = looks_sealed(entries)
    for one in confirmations_of(entries):
        begun = one.begun
        name = (
            f"Confirmation on the seeds of seal {begun.rule[:8]} (look {begun.look} of "
            f"{len(rules)} sealed; it spends {begun.error:.3g} of the error), begun on "
            f"{date_of(begun)}"
        )
        if failures := Confirmation(begun, one.failed).after_failures:
            name += f", {failures}"
        if not one.results:
            yield f"{name}: no result yet."
        for found in one.results:
            told = [
                f"{_outcome(result)}, as {claim}" if len(names) > 1 else _outcome(result)
                for claim, result in found.claims.items()
                if claim in names
            ]
            yield f"{name}: {'; '.join(told) or 'it had no such claim'}."


@dataclass
class BegunConfirmation:
    """A confirmation, from its beginning on.

    Attributes:
        begun: its beginning.
        failed: the number of its tries before a result of which a cell failed.
        results: its results: one, unless it was ended on several branches.
    """

    begun: BegunEntry
    failed: int = 0
    results: list[ResultEntry] = field(default_factory=list)


def confirmations_of(entries: Iterable[SealsEntry]) -> list[BegunConfirmation]:
    """Every confirmation that was begun, each with the results that were entered after it.

    One rule may have several, on branches or in folders that did not know of each other. Of each
    chain the entries follow each other.
    """
    found: list[BegunConfirmation] = []
    last: dict[str | None, BegunConfirmation] = {}
    for entry in entries:
        if isinstance(entry, BegunEntry):
            last[entry.rule] = BegunConfirmation(entry)
            found.append(last[entry.rule])
        elif isinstance(entry, ResultEntry) and (begun := last.get(entry.rule)) is not None:
            if entry.confirmation:
                begun.results.append(entry)
            elif not begun.results:
                begun.failed += any(one.has_failed for one in entry.claims.values())
    return found


_CONFIRMATION = re.compile(
    r"Confirmation on the seeds of seal \w+ \(look \d+ of \d+ sealed;.*?: (.*)"
)
_ON_NEW_SEEDS = re.compile(r"([\w ]+) \(decision [^()]*\)(?:, as (\S+?))?(?:; |\.$)")


def verdicts_on_new_seeds(history: Sequence[str], claim: str) -> list[str]:
    """The verdict that each confirmation gave, by a claim's history, in order of their beginnings.

    Of a confirmation that judged the claim, and one whose place it took, its own verdict counts.
    """
    found: list[str] = []
    for said in history:
        if match := _CONFIRMATION.fullmatch(said):
            told = {who or claim: verdict for verdict, who in _ON_NEW_SEEDS.findall(match[1])}
            found += [told[claim]] if claim in told else told.values()
    return found


_OTHER_CLAIM = re.compile(r"had another claim, (\S+), which was taken away|, as (\S+), gave ")


def claims_told_of(history: Sequence[str]) -> frozenset[str]:
    """The ids of other claims whose results a claim's history tells of."""
    found = (match for said in history for match in _OTHER_CLAIM.finditer(said))
    return frozenset(match[1] or match[2] for match in found)


def named_changes(changes: Sequence[RuleChange]) -> str:
    """The changes in words: whatever was changed or taken away, then the first additions.

    An added part can only make a claim harder to meet. So the additions alone may be counted.
    """
    added = [one.what for one in changes if one.is_addition]
    named = [one.what for one in changes if not one.is_addition] + added[:MOST_NAMED]
    more = len(added) - MOST_NAMED
    return "; ".join(named) + (f"; and {more} more added" if more > 0 else "")


def result_words(result: ClaimResult) -> str:
    """The verdict of a result, in words."""
    return result.verdict.replace("_", " ")


def counted_words(several: Mapping[str, int]) -> str:
    """Outcomes with the times that each was found, as ``vacuous (2 times), conditional``."""
    return ", ".join(one if n == 1 else f"{one} ({n} times)" for one, n in several.items())


def _outcome(result: ClaimResult) -> str:
    estimate = "" if result.estimate is None else f", estimate {result.estimate:.4g}"
    return f"{result_words(result)} (decision {result.decision or 'none'}{estimate})"
