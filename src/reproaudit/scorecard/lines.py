"""A claim in a line: its clause and what was found, with k of n, in at most 25 words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from reproaudit.formats.numbers import at_words, counted, listed, of
from reproaudit.formats.outcomes import look
from reproaudit.formats.scorecard import ClaimLine, Row, RowDecision, RowRole
from reproaudit.formats.verdict import (
    AlternativeAnswer,
    Answer,
    Estimate,
    Outcome,
    ReadingAnswer,
    ReasonKind,
)
from reproaudit.scorecard.choices import siblings_of
from reproaudit.scorecard.claims import ClaimText
from reproaudit.scorecard.words import (
    WITH,
    answering_runs,
    asked,
    count_words,
    figure_of,
    typical_words,
    whose_of,
)
from reproaudit.stats.binomial import Decision

MOST_LINE_WORDS = 25
"""The most words of a claim's line, its title included."""

BRIEF_LINE_WORDS = 20
"""The same, where the head has too many words."""


def in_order(texts: Sequence[ClaimText]) -> list[ClaimText]:
    """Return the paper's own claims: main ones, then what does not plainly hold; then others."""
    places = [
        Outcome.NOT_SUPPORTED,
        Outcome.DEPENDS,
        Outcome.PARTLY_SUPPORTED,
        Outcome.UNINFORMATIVE,
        Outcome.UNDECIDED,
        Outcome.NOT_TESTED,
        Outcome.ERROR,
        Outcome.SUPPORTED,
    ]
    whose = ("paper", "literature", "code", "derived", "ours")

    def place(text: ClaimText) -> tuple[int, bool, int, bool]:
        kind = whose.index(whose_of(text.claim))
        outcome = places.index(text.answer.outcome)
        return kind, not text.claim.main, outcome, is_plain(text)

    return sorted(texts, key=place)


def is_plain(claim: ClaimText) -> bool:
    """Tell whether a claim holds in every run, at every coordinate and under every reading."""
    answer = claim.answer
    return (
        answer.outcome is Outcome.SUPPORTED
        and claim.base.yes == claim.base.n
        and all(grade.decision is Decision.MET for grade in answer.grades)
        and all(reading.answer is Answer.YES for reading in answer.readings)
        and not answer.proxy
    )


def line_of(
    claim: ClaimText, rows: Sequence[Row], most: int = MOST_LINE_WORDS, stand_in: str = ""
) -> ClaimLine:
    """Return a claim's line: its clause and what was found, in at most 25 words together.

    Args:
        stand_in: the stand-in that stands above all lines.
    """
    answer = claim.answer
    depends = answer.outcome is Outcome.DEPENDS
    left = most - len(claim.claim.short.split())
    return ClaimLine(
        claim=answer.id,
        name=claim.name,
        mark=look(answer.outcome).mark,
        outcome=answer.outcome,
        main=claim.claim.main,
        whose=whose_of(claim.claim),
        level=None if depends else answer.level,
        title=claim.claim.short,
        text=_fitted([cores_of(claim), *_exceptions(claim, rows, stand_in)], left),
    )


def _fitted(groups: Sequence[Sequence[str]], most: int) -> str:
    """Parts of a text, each in forms from long to short, the last shortened first until it fits."""
    chosen = [0] * len(groups)
    while True:
        text = "; ".join(forms[at] for forms, at in zip(groups, chosen, strict=True))
        longer = [at for at, forms in enumerate(groups) if chosen[at] + 1 < len(forms)]
        if len(text.split()) <= most or not longer:
            return text
        chosen[longer[-1]] += 1


def cores_of(claim: ClaimText) -> list[str]:
    """Return what was found, with k of n, in forms from long to short."""
    return _CORES[claim.answer.outcome](claim)


def _held(claim: ClaimText) -> list[str]:
    mean = next((e for e in claim.base.estimates if e.mean is not None), None)
    count = count_words(claim.base)
    if mean is not None:
        return [f"{_figure(claim, mean)}, {count} inside"]
    if claim.own and other_readings(claim):
        return [f"{count} with {claim.stated_value(claim.base)}", count]
    return [count]


def _partly(claim: ClaimText) -> list[str]:
    return _levels(claim) or _held(claim)


def _levels(claim: ClaimText) -> list[str]:
    """At which primary coordinates it holds, and at which not; nothing where all are alike."""
    at: dict[str, list[ReadingAnswer]] = {}
    for grade in claim.answer.grades:
        if grade.at is not None and claim.is_primary(grade):
            at.setdefault(_AT.get(grade.answer, "open"), []).append(grade)
    if len(at) < 2:
        return []
    return [_level_words(claim, at, counts=True), _level_words(claim, at)]


def _level_words(
    claim: ClaimText, at: Mapping[str, Sequence[ReadingAnswer]], *, counts: bool = False
) -> str:
    """Coordinates by how they end: holds at L = 2 and 3, not at 4 (0 of 10)."""
    parts = [
        f"{word} at {listed([_place(grade, counts=counts) for grade in same])}"
        for word, same in at.items()
    ]
    return ", ".join(parts).replace(" at ", f" at {claim.symbol} = ", 1)


def _place(grade: ReadingAnswer, *, counts: bool = False) -> str:
    place = "" if grade.at is None else at_words(grade.at)
    return f"{place} ({count_words(grade)})" if counts else place


_AT: Mapping[Answer, str] = {
    Answer.YES: "holds",
    Answer.NO: "not",
    Answer.NEAR: "near our bound",
    Answer.BLIND: "no evidence",
}


def _depending(claim: ClaimText) -> list[str]:
    """What holds first, then what not; of a guess, that nobody states the value."""
    yes, no = claim.answer.sides or (claim.base, claim.base)
    guess = next((side for side in (yes, no) if isinstance(side, AlternativeAnswer)), None)
    if guess is not None:
        return _guessed(claim, guess, holds=guess is yes)
    values = [claim.stated_value(side) for side in (yes, no)]
    counts = [count_words(side) for side in (yes, no)]
    return [
        f"holds with {values[0]}, {counts[0]}; not with {values[1]}, {counts[1]}",
        f"{counts[0]} with {values[0]}, {counts[1]} with {values[1]}",
        *_by_sides(claim, (yes, no), counts),
        f"{counts[0]} with {claim.varied_words(yes)}, {counts[1]} with {claim.varied_words(no)}",
        f"{counts[0]} with {claim.varied_words(yes)}, {counts[1]} without",
    ]


def _by_sides(
    claim: ClaimText, sides: tuple[ReadingAnswer, ReadingAnswer], counts: Sequence[str]
) -> list[str]:
    """Both sides by whose values they have, where that is another paper's on either."""
    owners = [claim.whose_values(side) for side in sides]
    if "" in owners or owners[0] == owners[1]:
        return []
    settings = claim.named_settings(sides[0])
    return [f"{counts[0]} with {owners[0]} {settings}, {counts[1]} with {owners[1]}"]


REDUCED = " (reduced scale)"
"""What is said of runs that are smaller than those that they are compared with."""


def _guessed(claim: ClaimText, guess: AlternativeAnswer, *, holds: bool) -> list[str]:
    """Of a claim that a guess turns: as run, and with other values that nobody states."""
    own = count_words(claim.answer.own)
    there = count_words(guess)
    values = listed([claim.arm(guess), *siblings_of(claim, guess)], "or")
    scale = f"at reduced scale, where as run {of(guess.own_yes, guess.own_n)}"
    is_small = claim.is_smaller(guess)
    sides = [
        f"with {values}, which nobody states, {there}{small}"
        for small in ([f" ({scale})", REDUCED] if is_small else [""])
    ]
    aside = REDUCED if is_small else ""
    brief = f"{there} with {values}, another guess{aside}"
    briefest = [
        f"{own}; {there} with {claim.arm(guess)}{aside}",
        f"{own} as run, {there} with another guess{aside}",
    ]
    sides.append(f"with {claim.arm(guess)}, {there}{aside}")
    if holds:
        whole = [f"holds {side}; not as run, {own}" for side in sides]
        return [*whole, f"{brief}; {own} as run", *briefest]
    whole = [f"holds as run, {own}; not {side}" for side in sides]
    return [*whole, f"{own} as run; {brief}", *briefest]


def _failed(claim: ClaimText) -> list[str]:
    missed = next((e for e in claim.base.estimates if not e.met), claim.shown)
    return [count_words(claim.base)] if missed is None else _against(claim, missed)


def _against(claim: ClaimText, estimate: Estimate) -> list[str]:
    """The count with the number and its bound: 0 of 10: distance 0.38, we allow 0.1."""
    what = claim.number_of(estimate)
    bound = asked(estimate, what)
    count = count_words(claim.base)
    number_alone = figure_of(estimate, what)
    brief = [f"{count}: {number_alone}, {bound}"] if number_alone else []
    return [f"{count}: {_figure(claim, estimate)}, {bound}", *brief]


def _figure(claim: ClaimText, estimate: Estimate) -> str:
    """A condition's number in words; of a mean with its interval."""
    what = claim.number_of(estimate)
    named = claim.named(estimate, claim.claim.headline[estimate.check])
    return typical_words(estimate, what, *named, with_worst=False)


def _unclear(claim: ClaimText) -> list[str]:
    """Why there is no answer."""
    reasons = claim.answer.reasons
    base = claim.base
    first = reasons[0] if reasons else None
    if first is None:
        return [count_words(base)]
    if first.kind is ReasonKind.NEAR and first.arm == base.name:
        return [f"near our bound, {form}" for form in _against(claim, base.estimates[first.place])]
    if first.kind is ReasonKind.LEVELS and _levels(claim):
        return _levels(claim)
    why = claim.why(first)
    if first.kind is ReasonKind.STRADDLES:
        return [f"{count_words(base)}; {why}", count_words(base)]
    if not base.n:
        return [why]
    if first.kind is ReasonKind.VOID_RUNS and base.valid:
        return [f"{of(*answering_runs(base))}; {why}"]
    return [f"{count_words(base)}; {why}"]


def _blind(claim: ClaimText) -> list[str]:
    """The count, and what makes it tell nothing."""
    blind = next((arm for arm in claim.answer.stated if arm.answer is Answer.BLIND), claim.base)
    own = count_words(blind)
    for control in claim.answer.controls:
        if control.name == blind.by:
            return [f"{own}, and {count_words(control)} with {claim.arm(control)}"]
    built = claim.answer.positive_control
    if built is not None and built.name == blind.by:
        return [f"{own}; {claim.arm(built)}, which should succeed, does in {count_words(built)}"]
    return _unclear(claim)


_CORES: Mapping[Outcome, Callable[[ClaimText], list[str]]] = {
    Outcome.SUPPORTED: _held,
    Outcome.PARTLY_SUPPORTED: _partly,
    Outcome.DEPENDS: _depending,
    Outcome.NOT_SUPPORTED: _failed,
    Outcome.UNINFORMATIVE: _blind,
    Outcome.UNDECIDED: _unclear,
    Outcome.NOT_TESTED: _unclear,
    Outcome.ERROR: _unclear,
}


# --- exceptions -----------------------------------------------------------------------------------


def _exceptions(claim: ClaimText, rows: Sequence[Row], stand_in: str) -> list[list[str]]:
    """What is missed beside what decides: other readings, also said, stricter, coordinates.

    Each in forms from long to short.
    """
    proxy = claim.answer.proxy
    groups = [
        [f"on a stand-in: {proxy}", "on a stand-in"] if proxy and proxy != stand_in else [],
        _reading_forms(claim),
        _unread_forms(claim, rows),
        _missed_forms(_missed(claim, rows, RowRole.ALSO_SAID), "further check"),
        _missed_forms(_missed(claim, rows, RowRole.STRICTER), "stricter check"),
        _level_forms(claim, rows),
    ]
    return [forms for forms in groups if forms]


def _unread_forms(claim: ClaimText, rows: Sequence[Row]) -> list[str]:
    """What else the paper says that is met wherever it can be read, where void runs leave it open.

    What was planned in fewer runs is no exception.
    """
    said = [row for row in _own(claim, rows) if row.role is RowRole.ALSO_SAID]
    few = [row for row in said if row.decision is RowDecision.OPEN and row.yes == row.n]
    few = [row for row in few if row.void + row.crashed]
    if not few:
        return []
    full = [f"{row.says} in {row.count}" for row in few]
    brief = [f"{row.noun} in {of(row.yes, row.n)}" for row in few]
    return ["; ".join(full), "; ".join(brief), f"{counted(len(few), 'further check')} open"]


def _own(claim: ClaimText, rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.arm == claim.base.name]


def _missed(claim: ClaimText, rows: Sequence[Row], role: RowRole) -> list[Row]:
    """Checks of one role that the claim's own runs do not meet, the worst first."""
    own = [row for row in _own(claim, rows) if row.role is role]
    missed = [row for row in own if row.decision is not RowDecision.MET and row.yes < row.n]
    return sorted(missed, key=lambda row: row.yes / row.n)


def _missed_forms(missed: Sequence[Row], noun: str) -> list[str]:
    if not missed:
        return []
    counts = [f"{row.noun} in {of(row.yes, row.n)}" for row in missed]
    full = [f"{row.says}, {row.bound_words}: {of(row.yes, row.n)}" for row in missed]
    short = [
        " ".join(filter(None, (row.noun, row.typical_words, f"({of(row.yes, row.n)})")))
        for row in missed
    ]
    return [
        f"but {'; '.join(full)}",
        f"but {listed(short)}",
        f"but {listed(counts)}",
        f"but {noun}s hold in {listed([of(row.yes, row.n) for row in missed])}",
        f"{counted(len(missed), noun)} not met",
    ]


def _level_forms(claim: ClaimText, rows: Sequence[Row]) -> list[str]:
    """Coordinates that do not decide and are not met."""
    words: dict[str, list[ReadingAnswer]] = {}
    for grade in claim.answer.grades:
        beside = not claim.is_primary(grade) and grade.at is not None
        if beside and grade.decision is not Decision.MET:
            words.setdefault(_AT.get(grade.answer, "open"), []).append(grade)
    if not words or claim.answer.outcome is not Outcome.SUPPORTED:
        return []
    blind = [row.why for row in rows if row.decision is RowDecision.TELLS_NOTHING and row.at]
    brief = _level_words(claim, words)
    full = [f"{brief}: {blind[0]}"] if blind and len(words) == 1 else []
    return [*full, _level_words(claim, words, counts=True), brief]


def _reading_forms(claim: ClaimText) -> list[str]:
    """Stated readings that do not answer as the claim's own."""
    forms = [
        other_readings(claim, figures=True),
        other_readings(claim),
        other_readings(claim, places=False),
    ]
    said = [", ".join(f"{how} {listed(v)}" for how, v in form.items()) for form in forms if form]
    if not said:
        return []
    counts = [f"{how} {counted(len(v), 'other value')}" for how, v in forms[0].items()]
    return [*said, ", ".join(counts)]


def other_readings(
    claim: ClaimText, *, figures: bool = False, places: bool = True
) -> dict[str, list[str]]:
    """Return stated readings that do not answer as the claim's own, by how they answer.

    Args:
        claim: the claim; of one that depends, both sides are said already.
        figures: whether what they miss is said with its number.
        places: whether it is said who states the value.
    """
    sides = claim.answer.sides or (claim.base,)
    told = {side.answer for side in sides}
    if claim.answer.sides is not None:
        told.add(Answer.UNFINISHED)  # which does not change that it depends
    named = {reason.arm for reason in claim.answer.reasons if claim.answer.level is None}
    found: dict[str, list[str]] = {}
    for reading in claim.answer.readings:
        if reading.answer in told or reading.name in named:
            continue
        missed = next((estimate for estimate in reading.estimates if not estimate.met), None)
        number = "" if missed is None else figure_of(missed, claim.number_of(missed))
        figure = f" ({number})" if number and figures else ""
        value = claim.stated_value(reading) if places else claim.arm(reading)
        count = of(*answering_runs(reading)) if reading.valid else count_words(reading)
        found.setdefault(WITH[reading.answer], []).append(f"{value}, {count}{figure}")
    return found
