"""A claim in a line of at most 25 words, and what is said beside its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from reproaudit.formats.numbers import capital, counted, listed, number, of, share_range
from reproaudit.formats.outcomes import look
from reproaudit.formats.scorecard import AnswerWords, ClaimLine, Row, RowDecision, RowRole
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
    LEVEL_COUNTS,
    LEVELS_COUNTED,
    WITHOUT,
    answering_runs,
    asked,
    count_words,
    ends_as,
    figure_of,
    level_words,
    missing,
    not_alike,
    typical_words,
    words,
)
from reproaudit.stats.binomial import Decision, share_interval

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
        kind = whose.index(text.whose)
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
    claim: ClaimText,
    rows: Sequence[Row],
    most: int = MOST_LINE_WORDS,
    *,
    stand_in_is_said: bool = False,
) -> ClaimLine:
    """Return a claim's line: its clause and what was found, in at most 25 words together.

    Args:
        stand_in_is_said: whether all lines are on stand-ins, which stand above them.
    """
    answer = claim.answer
    depends = answer.outcome is Outcome.DEPENDS
    left = most - len(claim.claim.short.split())
    cores = cores_of(claim)
    core = Forms(cores[:-1] or cores, cores[-1])
    return ClaimLine(
        claim=answer.id,
        name=claim.name,
        mark=look(answer.outcome).mark,
        outcome=answer.outcome,
        main=claim.claim.main,
        whose=claim.whose,
        level=None if depends else answer.level,
        title=claim.claim.short,
        text=_fitted([core, *_exceptions(claim, rows, stand_in_is_said=stand_in_is_said)], left),
    )


class Forms(NamedTuple):
    """A part of a line, in forms from long to short.

    Attributes:
        named: those that name what they are about.
        counted: the last resort, which names nothing, but for k of n.
    """

    named: Sequence[str]
    counted: str = ""

    @property
    def brief(self) -> str:
        """The shortest that still names what it is about."""
        return self.named[-1]


def _fitted(groups: Sequence[Forms], most: int) -> str:
    """Parts of a text, the last shortened first until it fits; names go last, the core's at all."""
    for parts in _ever_shorter(groups):
        text = "; ".join(parts)
        if len(text.split()) <= most:
            break
    return text


def _ever_shorter(groups: Sequence[Forms]) -> Iterator[Sequence[str]]:
    parts = [forms.named[0] for forms in groups]
    yield parts
    for at in reversed(range(len(groups))):
        for form in groups[at].named[1:]:
            parts[at] = form
            yield parts
    for at in (*range(1, len(groups)), 0):
        parts[at] = groups[at].counted or parts[at]
        yield parts


def cores_of(claim: ClaimText) -> list[str]:
    """Return what was found, with k of n, in forms from long to short."""
    return _CORES.get(claim.answer.outcome, _unclear)(claim)


def _held(claim: ClaimText) -> list[str]:
    mean = next((e for e in claim.base.estimates if e.mean is not None), None)
    if mean is None:
        return _counts(claim)
    count = f"{count_words(claim.base)} inside"
    bound = f" ({asked(mean, claim.number_of(mean))})"
    figures = [_figure(claim, mean, with_noun=named) for named in (True, False)]
    return [f"{figure}, {count}{end}" for end in (bound, "") for figure in figures]


def _counts(claim: ClaimText) -> list[str]:
    """K of n; where another stated value does not answer alike, with the value as run."""
    count = count_words(claim.base)
    if not (claim.own and other_readings(claim)):
        return [count]
    values = (claim.stated_value(claim.base), claim.varied_words(claim.base))
    return [*(f"{count} with {value}" for value in values), count]


def _levels(claim: ClaimText) -> list[str]:
    """At which coordinates it holds, and not; nothing where those that decide end alike."""
    grades = claim.answer.grades
    if len({grade.answer for grade in grades if claim.is_primary(grade)}) < 2:
        return []
    return [level_words(claim, grades, form) for form in (LEVELS_COUNTED, LEVEL_COUNTS)]


# --- what depends ---------------------------------------------------------------------------------


class SideWords(NamedTuple):
    """What a claim that depends answers on one side.

    Attributes:
        whole: under which value, with who states it.
        brief: the same without that.
        briefest: the same where the value stands elsewhere.
        runs: k of n.
        scale: what is to be said of the scale of the runs.
    """

    whole: str
    brief: str
    briefest: str
    runs: str
    scale: str = ""

    def counted(self, value: str) -> str:
        """Return k of n with the value in some words."""
        return f"{self.runs} {value}{self.scale}"

    def __str__(self) -> str:
        return f"{self.whole}, {self.runs}{self.scale}"


def sides_of(claim: ClaimText) -> tuple[SideWords, SideWords]:
    """Return the side on which a claim that depends holds, and the other."""
    sides = claim.answer.sides or (claim.base, claim.base)
    guessed = any(isinstance(side, AlternativeAnswer) for side in sides)
    yes, no = (_side(claim, side, guessed=guessed) for side in sides)
    return yes, no


def _side(claim: ClaimText, side: ReadingAnswer, *, guessed: bool) -> SideWords:
    count = count_words(side)
    if isinstance(side, AlternativeAnswer):
        values = listed([claim.arm(side), *siblings_of(claim, side)], "or")
        whole = f"with {values}, another guess"
        scale = " (reduced scale)" if claim.is_smaller(side) else ""
        return SideWords(whole, f"with {claim.arm(side)}", "with another guess", count, scale)
    if guessed:
        return SideWords("as run", "as run", "as run", count_words(claim.answer.own))
    brief = f"with {claim.varied_words(side)}"
    elsewhere = [other for other in claim.answer.stated if other.answer is not side.answer]
    briefest = "otherwise" if len(elsewhere) == 1 else brief
    return SideWords(f"with {claim.stated_value(side)}", brief, briefest, count)


def _depending(claim: ClaimText) -> list[str]:
    """What holds first, then what not."""
    yes, no = sides_of(claim)
    return [
        f"holds {yes}; not {no}",
        f"{yes.counted(yes.whole)}, {no.counted(no.whole)}",
        *_by_owners(claim, yes, no),
        sides_in_brief(claim),
        f"{yes.counted(yes.brief)}, {no.counted(no.briefest)}",
        f"{yes.counted(yes.brief)}, {_without_n(no, yes)} {no.briefest}{no.scale}",
    ]


def _without_n(side: SideWords, other: SideWords) -> str:
    """K alone of one side, where the other has as many runs: 15 of 15 with a, 0 with b."""
    k, _, n = side.runs.partition(" of ")
    return k if other.runs.endswith(f" of {n}") else side.runs


def sides_in_brief(claim: ClaimText) -> str:
    """Return k of n on both sides of a claim that depends, each with its value."""
    return ", ".join(side.counted(side.brief) for side in sides_of(claim))


def _by_owners(claim: ClaimText, yes: SideWords, no: SideWords) -> list[str]:
    """Both sides by whose values they have, where that is another paper's on either."""
    sides = claim.answer.sides or (claim.base, claim.base)
    owners = [claim.whose_values(side) for side in sides]
    if "" in owners or owners[0] == owners[1]:
        return []
    value = f"with {owners[0]} {claim.named_settings(sides[0])}"
    return [f"{yes.counted(value)}, {no.counted(f'with {owners[1]}')}"]


# --- what else ends without a yes -----------------------------------------------------------------


def _failed(claim: ClaimText) -> list[str]:
    missed = next((e for e in claim.base.estimates if not e.met), claim.shown)
    return [count_words(claim.base)] if missed is None else _against(claim, missed)


def _against(claim: ClaimText, estimate: Estimate) -> list[str]:
    """The count with the number and its bound: 0 of 10: distance 0.38, we allow 0.1."""
    what = claim.number_of(estimate)
    bound = asked(estimate, what)
    count = count_words(claim.base)
    brief = [_figure(claim, estimate, with_noun=False)] if figure_of(estimate, what) else []
    numbers = [_figure(claim, estimate), *brief, figure_of(estimate, what)]
    return [f"{count}: {number}, {bound}" for number in numbers if number]


def _figure(claim: ClaimText, estimate: Estimate, *, with_noun: bool = True) -> str:
    """A condition's number in words; of a mean with its interval."""
    what = claim.number_of(estimate)
    noun, held = claim.named(estimate, claim.claim.headline[estimate.check])
    return typical_words(estimate, what, noun if with_noun else "", held, with_worst=False)


def _unclear(claim: ClaimText) -> list[str]:
    base = claim.base
    first = next(iter(claim.answer.reasons), None)
    if first is None:
        return [count_words(base)]
    if first.kind is ReasonKind.NEAR and first.arm == base.name:
        against = _against(claim, base.estimates[first.place])
        return [f"{ends_as(base, briefly=b)}, {form}" for b in (False, True) for form in against]
    if first.kind is ReasonKind.LEVELS and _levels(claim):
        return _levels(claim)
    why = words(first, claim)
    if not base.n:
        return [why]
    if first.kind is ReasonKind.VOID_RUNS and base.valid:
        return [f"{of(*answering_runs(base))}; {why}"]
    brief = _counts(claim) if first.kind is ReasonKind.STRADDLES else []
    if first.kind is ReasonKind.NEAR:
        ends = [missing(first, claim, briefly=briefly) for briefly in (False, True)]
        brief = [f"{count_words(base)}; {end}" for end in ends]
    return [*(f"{count}; {why}" for count in _counts(claim)), *brief]


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
    Outcome.PARTLY_SUPPORTED: lambda claim: _levels(claim) or _held(claim),
    Outcome.DEPENDS: _depending,
    Outcome.NOT_SUPPORTED: _failed,
    Outcome.UNINFORMATIVE: _blind,
}


# --- exceptions -----------------------------------------------------------------------------------


def exceptions_in_brief(claim: ClaimText, rows: Sequence[Row]) -> list[str]:
    """Return what is missed beside what decides, each in a few words."""
    every = _exceptions(claim, rows, stand_in_is_said=True)
    return [forms.brief for forms in every]


def _exceptions(claim: ClaimText, rows: Sequence[Row], *, stand_in_is_said: bool) -> list[Forms]:
    """What is missed beside what decides: other readings, also said, stricter, coordinates."""
    proxy = claim.answer.proxy
    stands_in = [f"on a stand-in: {proxy}", "on a stand-in"]
    groups = [
        Forms(stands_in if proxy and not stand_in_is_said else ()),
        _reading_forms(claim),
        _unread_forms(claim, rows),
        _missed_forms(_missed(claim, rows, RowRole.ALSO_SAID), "further check"),
        _missed_forms(_missed(claim, rows, RowRole.STRICTER), "stricter check"),
        _level_forms(claim, rows),
    ]
    return [forms for forms in groups if forms.named]


def _unread_forms(claim: ClaimText, rows: Sequence[Row]) -> Forms:
    """What else the paper says that is met wherever it can be read, where void runs leave it open.

    What was planned in fewer runs is no exception.
    """
    few = [
        row
        for row in _own(claim, rows, RowRole.ALSO_SAID)
        if row.decision is RowDecision.OPEN and row.yes == row.n and row.void + row.crashed
    ]
    if not few:
        return Forms(())
    full = [f"{row.says} in {row.count}" for row in few]
    brief = [f"{row.noun} in {of(row.yes, row.n)}" for row in few]
    return Forms(["; ".join(full), "; ".join(brief)], f"{counted(len(few), 'further check')} open")


def _own(claim: ClaimText, rows: Sequence[Row], role: RowRole) -> list[Row]:
    return [row for row in rows if row.arm == claim.base.name and row.role is role]


def _missed(claim: ClaimText, rows: Sequence[Row], role: RowRole) -> list[Row]:
    """Checks of one role that the claim's own runs do not meet, the worst first."""
    own = _own(claim, rows, role)
    missed = [row for row in own if row.decision is not RowDecision.MET and row.yes < row.n]
    return sorted(missed, key=lambda row: row.yes / row.n)


def _missed_forms(missed: Sequence[Row], noun: str) -> Forms:
    if not missed:
        return Forms(())
    counts = [of(row.yes, row.n) for row in missed]
    which = f"a {noun}" if len(missed) == 1 else f"{len(missed)} {noun}s"
    full = []
    bounded = []
    bare = []
    briefest = []
    for row, count in zip(missed, counts, strict=True):
        number = f"{row.quantity} {row.typical_words}".rstrip()
        full.append(f"{row.means or f'{row.says}, {row.bound_words}'}: {count}")
        bounded.append(f"{row.means or f'{number}, {row.bound_words}'}: {count}")
        bare.append(f"{row.means or number} ({count})")
        briefest.append(f"{row.means or row.quantity} ({count})")
    forms = ["; ".join(full), "; ".join(bounded), listed(bare), listed(briefest)]
    begin = "stricter:" if missed[0].role is RowRole.STRICTER else "but"
    return Forms([f"{begin} {form}" for form in forms], f"but {which} in {listed(counts)}")


def _level_forms(claim: ClaimText, rows: Sequence[Row]) -> Forms:
    """Coordinates that end otherwise than the claim: of one that holds, those that are not met."""
    answer = claim.answer
    grades: Sequence[ReadingAnswer] = answer.grades
    if answer.outcome is Outcome.SUPPORTED:
        grades = [grade for grade in grades if grade.decision is not Decision.MET]
    elif _levels(claim) == cores_of(claim) or len({grade.answer for grade in grades}) < 2:
        grades = ()
    if not grades:
        return Forms(())
    blind = [row.why for row in rows if row.decision is RowDecision.TELLS_NOTHING and row.at]
    brief = level_words(claim, grades)
    is_one_cause = blind and len({grade.answer for grade in grades}) == 1
    full = [f"{brief}: {blind[0]}"] if is_one_cause else []
    return Forms([*full, level_words(claim, grades, LEVELS_COUNTED), brief])


def _reading_forms(claim: ClaimText) -> Forms:
    """Stated readings that do not answer as the claim's own."""
    others = other_readings(claim)
    brief = readings_by_end(claim, places=False)
    forms = [readings_by_end(claim, "alone"), readings_by_end(claim), brief]
    said = [", ".join(f"{how} {listed(v)}" for how, v in form.items()) for form in forms]
    ends = Counter(ends_as(reading, briefly=True) for reading in others)
    values = {how: "another value" if n == 1 else f"{n} values" for how, n in ends.items()}
    last = ", ".join(f"{how} with {value}" for how, value in values.items())
    return Forms(said if others else (), last)


def other_readings(claim: ClaimText) -> list[ReadingAnswer]:
    """Return stated readings that do not answer as the claim's own; if it depends, as neither side.

    What is unfinished does not change that a claim depends; what a reason names is said there.
    """
    told = {side.answer for side in claim.answer.sides or (claim.base,)}
    if claim.answer.sides is not None:
        told.add(Answer.UNFINISHED)
    named = {reason.arm for reason in claim.answer.reasons if claim.answer.level is None}
    return [
        reading
        for reading in claim.answer.readings
        if reading.answer not in told and reading.name not in named
    ]


Figures = Literal["", "alone", "against"]
"""How the number is said that a reading misses: not, alone, or at first with its bound."""


def readings_by_end(
    claim: ClaimText, figures: Figures = "", *, places: bool = True
) -> dict[str, list[str]]:
    """Return other readings with k of n, by how they end.

    Args:
        figures: how the number is said that they miss.
        places: whether it is said who states the value.
    """
    ends: dict[str, list[str]] = {}
    bounded: set[str] = set()
    for reading in other_readings(claim):
        missed = next((estimate for estimate in reading.estimates if not estimate.met), None)
        figure = ""
        if missed is not None and figures:
            figure = _in_brackets(claim, missed, against=figures == "against", told=bounded)
        value = claim.stated_value(reading) if places else claim.arm(reading)
        count = of(*answering_runs(reading)) if reading.valid else count_words(reading)
        ends.setdefault(f"{ends_as(reading)} with", []).append(f"{value}, {count}{figure}")
    return ends


def _in_brackets(claim: ClaimText, missed: Estimate, *, against: bool, told: set[str]) -> str:
    """A number that is missed; against its bound where that is not yet told: (loss 2, we ask 1)."""
    what = claim.number_of(missed)
    number = figure_of(missed, what)
    bound = f"{claim.noun_of(missed)} {{}}, {asked(missed, what)}"
    form = bound if against and bound not in told else "{}"
    told.add(bound)
    return f" ({form.format(number)})" if number else ""


# --- beside a claim's rows ------------------------------------------------------------------------


def answer_words(claim: ClaimText) -> AnswerWords:
    """Return what is said of a claim beside its rows."""
    answer = claim.answer
    wording = {"recalled": " (worded from memory)", "derived": " (derived by us)"}
    depends = answer.outcome is Outcome.DEPENDS
    return AnswerWords(
        claim=answer.id,
        mark=look(answer.outcome).mark,
        finding=f"{capital(claim.claim.short)}: {cores_of(claim)[0]}",
        source=f"{claim.claim.locator}{wording.get(claim.claim.wording, '')}",
        runs=_runs(claim),
        certainty=() if depends else tuple(words(reason, claim) for reason in answer.reasons),
        own=claim.own,
        facts=tuple(_facts(claim)),
    )


def _runs(claim: ClaimText) -> str:
    """How many runs say yes, with the 90 % interval of the share that would; others apart.

    A claim that depends has the counts of both sides.
    """
    base = claim.base
    if claim.answer.outcome is Outcome.DEPENDS:
        return sides_in_brief(claim)
    if not base.valid:
        return count_words(base) if base.n else "none"
    yes, n = answering_runs(base)
    share = "exact" if claim.claim.exact else share_range(*share_interval(yes, n))
    return count_words(base, f" ({share})")


def _facts(claim: ClaimText) -> Iterator[tuple[str, str]]:
    answer = claim.answer
    if claim.sets:
        yield "Run with", f"{', '.join(claim.sets)}."
    if answer.proxy:
        yield "Stand-in", f"{answer.proxy}."
    if alike := [*_alike(claim)]:
        yield "Runs", f"{'; '.join(alike)}."
    if claim.elsewhere:
        yield "Elsewhere", f"{claim.elsewhere}."
    if parts := [*_parts(claim)]:
        yield "Without", f"{'; '.join(parts)}."
    if reported := claim.claim.reported:
        yield "Reported", "; ".join(f"{number.says} ({number.locator})" for number in reported)
    if trained := [*_trained(claim)]:
        yield "Training", f"loss {'; '.join(trained)}."


def _trained(claim: ClaimText) -> Iterator[str]:
    """The median training loss of each stated reading, from start to end; that of what is built."""
    answer = claim.answer
    for reading in answer.stated:
        if reading.trained is not None:
            value = f" with {claim.stated_value(reading)}" if answer.readings else ""
            first, last = map(number, reading.trained)
            yield f"{first} → {last}{value}"
    built = answer.positive_control
    if built is not None and built.trained is not None:
        yield f"{number(built.trained[1])} {claim.arm(built)}"


def _alike(claim: ClaimText) -> Iterator[str]:
    """What runs have in common, what was not measured alike, and what has nothing to compare."""
    base = claim.base
    said = [reason.alike for reason in claim.answer.reasons]
    yield from (not_alike(pair, claim) for pair in claim.answer.not_alike if pair not in said)
    if base.equal:
        yield "the same in every run"
    if base.copies:
        yield f"{base.copies} more were copies of these"
    for name, count in base.left_over.items():
        runs = counted(count, "run")
        stands = "another seed is" if count == 1 else "other seeds are"
        which = f"{runs} of {claim.namer.arm(name)}"
        yield f"{which} with {stands} compared with none of these"


def _parts(claim: ClaimText) -> Iterator[str]:
    """What is left of the claim without each part."""
    for ablation in claim.answer.ablations:
        effects = claim.effects(ablation)
        pair = f", {effects}" if effects else ""
        word = WITHOUT[ablation.specificity]
        yield f"{word} {claim.lacks(ablation)} ({count_words(ablation)}{pair})"
