"""The head of a scorecard: its verdict, a line a claim, choices that matter, questions, ours.

Every sentence is made here, of one claim's answer or of counts; the terminal, the pages and the
exports print them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

from reproaudit.audit.documentation import documentation_of
from reproaudit.audit.model import Audit, Setting, Source, TierName, known_tier
from reproaudit.audit.review import Reviews
from reproaudit.checks import Provenance
from reproaudit.declarations import Coordinate
from reproaudit.formats.numbers import (
    at_words,
    counted,
    listed,
    number,
    of,
    several,
    share_range,
)
from reproaudit.formats.outcomes import look
from reproaudit.formats.scorecard import (
    AnswerWords,
    ChoiceRow,
    ClaimLine,
    DocumentedCounts,
    Head,
    HeadCounts,
    HeadNote,
    HeadQuestion,
    Row,
    RowDecision,
    RowRole,
    TriedValue,
    answers_digest,
)
from reproaudit.formats.verdict import (
    AlternativeAnswer,
    Answer,
    ClaimAnswer,
    Estimate,
    Outcome,
    ReadingAnswer,
    ReasonKind,
)
from reproaudit.judge.readings import Panel
from reproaudit.records import Origin
from reproaudit.scorecard.choices import choices_of, joined, siblings_of, tried_of
from reproaudit.scorecard.claims import ClaimText, texts_of
from reproaudit.scorecard.rows import rows_of
from reproaudit.scorecard.words import (
    WITHOUT,
    asked,
    count_words,
    figure_of,
    not_alike,
    read_runs,
    typical_words,
    whose_of,
)
from reproaudit.stats.binomial import Decision

MOST_LINE_WORDS = 25
"""The most words of a claim's line, its title included."""

BRIEF_LINE_WORDS = 20
"""The same, where the head has too many words."""

MOST_NAMES = 3
"""The most claims or settings that a sentence names; more are counted."""


@dataclass(frozen=True)
class Judged:
    """What a head is made of: the claims with their answers and rows, and what is known of them.

    Attributes:
        tier: as it is stored, with a salt.
        tried: every value that was tried, as `choices.tried_of` returns it.
        choices: those that change an answer.
        earlier: how many results came before.
    """

    audit: Audit
    tier: str
    texts: Sequence[ClaimText]
    rows: Sequence[Row]
    reviews: Reviews
    tried: Sequence[TriedValue]
    choices: Sequence[ChoiceRow]
    origin: Origin | None = None
    earlier: int = 0

    @property
    def own(self) -> list[ClaimText]:
        """The paper's own claims."""
        return [text for text in self.texts if whose_of(text.claim) == "paper"]

    @property
    def scale(self) -> TierName:
        """The tier without a salt."""
        return known_tier(self.tier.partition("-")[0])

    @property
    def answers_digest(self) -> str:
        """The hash by which a note knows its own answers."""
        answers = [text.answer for text in self.texts]
        return answers_digest(self.audit, self.tier, answers, self.origin)

    @cached_property
    def by_claim(self) -> Mapping[str, list[Row]]:
        """The rows of each claim, by its id."""
        found: dict[str, list[Row]] = {text.answer.id: [] for text in self.texts}
        for row in self.rows:
            found[row.claim].append(row)
        return found


def words_of(
    audit: Audit,
    tier: str,
    claims: Sequence[ClaimAnswer],
    reviews: Reviews,
    origin: Origin | None = None,
    earlier: int = 0,
    panels: Mapping[str, Panel] | None = None,
) -> dict[str, Any]:
    """Return the fields of a scorecard that are words: head, rows, answers and tried.

    Args:
        audit: with the claims that were judged.
        tier: as it is stored, with a salt.
        claims: the answers.
        reviews: with the note.
        origin: of measurements that are not ours, whose.
        earlier: how many results came before.
        panels: each claim before its records, by id; as `rows_of` takes it.
    """
    texts = texts_of(audit, claims, known_tier(tier.partition("-")[0]))
    before = panels or {}
    rows = [row for text in texts for row in rows_of(text, before.get(text.answer.id))]
    tried = tried_of(audit, texts)
    choices = choices_of(audit, texts)
    judged = Judged(audit, tier, texts, rows, reviews, tried, choices, origin, earlier)
    answers = tuple(map(answer_words, texts))
    return {"head": head_of(judged), "rows": tuple(rows), "answers": answers, "tried": tried}


MOST_HEAD_WORDS = 565
"""The most words of a head; marks and the heads of columns are printed beside it."""


def head_of(judged: Judged) -> Head:
    """Return what a reader sees first; it becomes briefer in steps where it has too many words."""
    for brevity in Brevity:
        head = _head(judged, brevity)
        if words_in(head) <= MOST_HEAD_WORDS:
            break
    return head


class Brevity(IntEnum):
    """What a head goes without, each with all before it."""

    WHOLE = 0
    FIGURES = 1
    """Nouns of the numbers in the table of choices."""
    QUESTIONS = 2
    """Questions on which no answer hangs."""
    OTHERS = 3
    """In the table of choices, claims that are not the paper's own."""
    COUNTS = 4
    """Numbers in the table of choices."""
    LINES = 5
    """Where a claim's line has more than twenty words, exceptions in full."""


def words_in(head: Head) -> int:
    """Count the words of a head, our claims and those of the code left out."""
    note = head.note
    parts = [
        *(head.title, head.byline, head.scale, head.runs, head.read, head.not_read, head.fold),
        *head.verdict,
        "" if note is None else f"{note.text} opinion of {note.by}, {note.as_of}",
        *(f"{line.mark} {line.title} {line.text}" for line in head.own),
        *(f"{one.words} {one.value} → {listed(one.others)} {one.scale}" for one in head.choices),
        *(effect.text for choice in head.choices for effect in choice.effects),
        head.questions_title,
        *(question.text for question in head.questions),
        head.ours,
    ]
    return sum(len(part.split()) for part in parts)


def _head(judged: Judged, brevity: Brevity) -> Head:
    paper = judged.audit.paper
    names = ", ".join(name.split()[-1] for name in paper.authors)
    most = BRIEF_LINE_WORDS if brevity >= Brevity.LINES else MOST_LINE_WORDS
    lines = [line_of(one, judged.by_claim[one.answer.id], most) for one in _ordered(judged.texts)]
    look_first = " (look in the paper first)" if paper.not_read else ""
    short = (brevity >= Brevity.FIGURES) + (brevity >= Brevity.COUNTS)
    return Head(
        title=paper.title,
        byline=f"{names} · {paper.venue} {paper.year}",
        link=f"https://arxiv.org/abs/{paper.arxiv}" if paper.arxiv else "",
        code=paper.code or "",
        scale=scale_words(judged),
        runs=_runs_words(judged.own),
        read=listed(paper.read),
        not_read=listed(paper.not_read),
        verdict=tuple(_verdict(judged)),
        note=note_of(judged.reviews, judged.answers_digest),
        counts=_counts(judged.texts),
        claims=tuple(lines),
        choices=joined(_of_whom(judged, own_alone=brevity >= Brevity.OTHERS), short),
        questions=tuple(_questions(judged, every=brevity < Brevity.QUESTIONS)),
        questions_title=f"Questions to the authors{look_first}",
        ours=" ".join(_ours(judged)),
        documented=documented_in(judged.audit, judged.reviews),
        measured_by="" if judged.origin is None else judged.origin.who,
        no_guess_varied=_has_guesses(judged) and not any(one.cells for one in judged.tried),
        fold=_fold(judged.texts),
    )


def _of_whom(judged: Judged, *, own_alone: bool) -> list[ChoiceRow]:
    """The choices; with what becomes of the paper's own claims alone, if that is enough."""
    own = {text.answer.id for text in judged.own}
    rows = []
    for row in judged.choices:
        kept = tuple(one for one in row.effects if one.claim in own or not own_alone)
        rows += [row.model_copy(update={"effects": kept})] if kept else []
    return rows


def documented_in(audit: Audit, reviews: Reviews) -> DocumentedCounts:
    """Return how many variables the card and the reviewers find documented."""
    documented = documentation_of(audit, reviews)
    return DocumentedCounts(
        card=documented.card, by_reviewers=documented.by_reviewers, of=documented.of
    )


def _has_guesses(judged: Judged) -> bool:
    return any(value.guess for value in judged.tried)


def scale_words(judged: Judged) -> str:
    """Return the scale of the records."""
    if judged.tier == "paper":
        return "the paper's own scale" if judged.origin is None else "scale as measured"
    if judged.scale == "paper":
        return f"the paper's own scale, seeds drawn with '{judged.tier.partition('-')[2]}'"
    return "reduced scale" if judged.tier == "quick" else "smoke: nothing is judged"


def _runs_words(claims: Sequence[ClaimText]) -> str:
    counts = sorted({claim.base.n for claim in claims if claim.base.n})
    runs = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else "".join(map(str, counts))
    return f"{runs} runs a claim" if runs else ""


def note_of(reviews: Reviews, answers: str) -> HeadNote | None:
    """Return the note of a scorecard with these answers, by their digest."""
    note = reviews.note
    if note is None:
        return None
    stale = note.answers != answers
    return HeadNote(text=note.text, by=note.reviewer, as_of=note.as_of, stale=stale)


def _counts(texts: Sequence[ClaimText]) -> HeadCounts:
    found: dict[str, Counter[Outcome]] = {}
    for text in texts:
        whose = whose_of(text.claim)
        found.setdefault(whose, Counter())[text.answer.outcome] += 1
    others = found.get("code", Counter()) + found.get("derived", Counter())
    return HeadCounts(
        paper=dict(found.get("paper", {})),
        others=dict(others),
        questions=dict(found.get("ours", {})),
    )


# --- the verdict ----------------------------------------------------------------------------------

_HOLDS: Mapping[Outcome, tuple[str, str]] = {
    Outcome.SUPPORTED: ("holds", "hold"),
    Outcome.PARTLY_SUPPORTED: ("holds in part", "hold in part"),
    Outcome.DEPENDS: ("depends on {choice}", "depend on {choice}"),
    Outcome.NOT_SUPPORTED: ("does not hold", "do not hold"),
    Outcome.UNINFORMATIVE: ("tells nothing", "tell nothing"),
    Outcome.UNDECIDED: ("is open", "are open"),
    Outcome.NOT_TESTED: ("was not tested", "were not tested"),
    Outcome.ERROR: ("has no answer, since runs crashed", "have no answer, since runs crashed"),
}
"""What is said of one claim, and of several, in the order of the second sentence."""


def _verdict(judged: Judged) -> Iterator[str]:
    claims = judged.own
    if judged.tier == "smoke":
        yield _smoke(judged.texts)
        return
    if not judged.texts:
        yield "No claim of this paper is judged; its documentation is."
        return
    if not claims:
        yield "No claim of the paper's own is judged."
        return
    main = [claim for claim in claims if claim.claim.main]
    if main:
        yield f"{_main(main)}."
    others = [claim for claim in claims if not claim.claim.main]
    if others:
        yield f"{_others(others, bool(main))}."


def _smoke(texts: Sequence[ClaimText]) -> str:
    if failed := sum(bool(text.base.crashed) for text in texts):
        return f"The smoke tier judges nothing; runs of {counted(failed, 'claim')} failed."
    return "The smoke tier shows that every experiment runs; it judges nothing."


def _main(main: Sequence[ClaimText]) -> str:
    """The main claim with its k of n; several, each with its own."""
    said = [_ended(claim) for claim in main]
    if len(main) == 1:
        return f"The main claim {said[0]}: {main[0].claim.short}"
    outcomes = {claim.answer.outcome for claim in main}
    if len(outcomes) > 1 or Outcome.DEPENDS in outcomes:
        each = [f"“{claim.claim.short}” {words}" for claim, words in zip(main, said, strict=True)]
        return f"Of {len(main)} main claims, {listed(each)}"
    both = "Both" if len(main) == 2 else f"All {len(main)}"
    verb = _HOLDS[outcomes.pop()]
    each = [
        f"{claim.claim.short}{words.removeprefix(verb[0])}"
        for claim, words in zip(main, said, strict=True)
    ]
    return f"{both} main claims {verb[1]}: {'; '.join(each)}"


def _ended(claim: ClaimText) -> str:
    """How a claim ended, with k of n: holds, 15 of 15; of one that depends, under which values."""
    cores = cores_of(claim)
    if claim.answer.outcome is Outcome.DEPENDS:
        return next(core for core in reversed(cores) if core.startswith("holds"))
    others = _other_readings(claim).items()
    more = [
        f"{how.replace('near', 'near our bound')} {', and '.join(values)}" for how, values in others
    ]
    return ", ".join([_HOLDS[claim.answer.outcome][0], cores[-1], *more])


def _others(others: Sequence[ClaimText], after_main: bool) -> str:
    """What does not plainly hold: the only claim that depends in full, the rest counted."""
    groups: dict[Outcome, list[ClaimText]] = {}
    for outcome in _HOLDS:
        if same := [claim for claim in others if claim.answer.outcome is outcome]:
            groups[outcome] = same
    named = ""
    for outcome in (Outcome.DEPENDS, Outcome.NOT_SUPPORTED):
        if len(groups.get(outcome, ())) == 1 and not named:
            (claim,) = groups.pop(outcome)
            named = f"“{_capital(claim.claim.short)}” {_ended(claim)}"
    more = " more" if after_main else ""
    parts: list[str] = []
    for outcome, same in groups.items():
        verb = _HOLDS[outcome][len(same) > 1].format(choice=_hangs_on(same))
        parts.append(f"{len(same)}{'' if parts else more} {verb}")
    return "; ".join(filter(None, (named, listed(parts))))


def _hangs_on(claims: Sequence[ClaimText]) -> str:
    """The settings on which claims depend, and whether we guessed them."""
    names: dict[str, None] = {}
    for claim in claims:
        guessed = any(isinstance(side, AlternativeAnswer) for side in claim.answer.sides or ())
        for side in claim.answer.sides or ():
            if side.varied is not None:
                name = claim.setting(side.varied.setting)
                names[f"{name} (a guess)" if guessed else name] = None
    return listed(list(names))


# --- a claim in a line ----------------------------------------------------------------------------


def _ordered(texts: Sequence[ClaimText]) -> list[ClaimText]:
    """The paper's own claims: main, what does not plainly hold, the rest; then the others."""
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
    whose = ("paper", "code", "derived", "ours")

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


def line_of(claim: ClaimText, rows: Sequence[Row], most: int = MOST_LINE_WORDS) -> ClaimLine:
    """Return a claim's line: its clause and what was found, in at most 25 words together."""
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
        text=_fitted([cores_of(claim), *_exceptions(claim, rows)], left),
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
    if claim.own and _other_readings(claim):
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
        f"{word} at {listed([_place(one, counts=counts) for one in same])}"
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
        f"{counts[0]} with {claim.varied_words(yes)}, {counts[1]} with {claim.varied_words(no)}",
        f"{counts[0]} with {claim.varied_words(yes)}, {counts[1]} without",
    ]


def _guessed(claim: ClaimText, guess: AlternativeAnswer, *, holds: bool) -> list[str]:
    """Of a claim that a guess turns: as run, and with other values that nobody states."""
    own = count_words(claim.answer.own)
    there = count_words(guess)
    values = listed([claim.arm(guess), *siblings_of(claim, guess)], "or")
    scale = f"small; as run there {of(guess.own_yes, guess.own_n)}"
    is_small = claim.is_smaller(guess)
    sides = [
        f"with {values}, which nobody states, {there}{small}"
        for small in ([f" ({scale})", " (small)"] if is_small else [""])
    ]
    brief = f"{there} with {values}, {'a guess, small' if is_small else 'a guess'}"
    briefest = f"{own} as run, {there} with another guess{' (small)' if is_small else ''}"
    if holds:
        whole = [f"holds {side}; not as run, {own}" for side in sides]
        return [*whole, f"{brief}; {own} as run", briefest]
    whole = [f"holds as run, {own}; not {side}" for side in sides]
    return [*whole, f"{own} as run; {brief}", briefest]


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
    if not base.n:
        return [why]
    if first.kind is ReasonKind.VOID_RUNS and base.valid:
        return [f"{of(*read_runs(base))}; {why}"]
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


def _exceptions(claim: ClaimText, rows: Sequence[Row]) -> list[list[str]]:
    """What is missed beside what decides: other readings, also said, stricter, coordinates.

    Each in forms from long to short.
    """
    proxy = claim.answer.proxy
    groups = [
        [f"on a stand-in: {proxy}", "on a stand-in"] if proxy else [],
        _reading_forms(claim),
        _unread_forms(claim, rows),
        _missed_forms(_missed(claim, rows, RowRole.ALSO_SAID), "further check"),
        _missed_forms(_missed(claim, rows, RowRole.STRICTER), "stricter check"),
        _level_forms(claim, rows),
    ]
    return [forms for forms in groups if forms]


def _unread_forms(claim: ClaimText, rows: Sequence[Row]) -> list[str]:
    """What else the paper says that is met wherever it can be read, in too few runs to decide."""
    said = [row for row in _own(claim, rows) if row.role is RowRole.ALSO_SAID]
    few = [row for row in said if row.decision is RowDecision.OPEN and row.yes == row.n]
    if not few:
        return []
    full = [f"{row.says} in {row.count}" for row in few]
    brief = [f"{row.noun} in {of(row.yes, row.n)}" for row in few]
    counts = [of(row.yes, row.n) for row in few]
    return ["; ".join(full), "; ".join(brief), f"what else is said in {listed(counts)}"]


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
    short = [f"{row.noun} {row.typical_words} ({of(row.yes, row.n)})" for row in missed]
    return [
        f"but {'; '.join(full)}",
        f"but {listed(short)}",
        f"but {listed(counts)}",
        f"but {noun}s in {listed([of(row.yes, row.n) for row in missed])}",
        f"{counted(len(missed), noun)} missed",
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


_WITH: Mapping[Answer, str] = {
    Answer.YES: "holds with",
    Answer.NO: "not with",
    Answer.OPEN: "open with",
    Answer.NEAR: "near with",
    Answer.BLIND: "tells nothing with",
    Answer.RULED_OUT: "diverges with",
    Answer.MIXED: "in part with",
    Answer.UNFINISHED: "unfinished with",
}


def _reading_forms(claim: ClaimText) -> list[str]:
    """Stated readings that do not answer as the claim's own."""
    forms = [
        _other_readings(claim, figures=True),
        _other_readings(claim),
        _other_readings(claim, places=False),
    ]
    said = [", ".join(f"{how} {listed(v)}" for how, v in form.items()) for form in forms if form]
    if not said:
        return []
    counts = [f"{how} {counted(len(v), 'other value')}" for how, v in forms[0].items()]
    return [*said, ", ".join(counts)]


def _other_readings(
    claim: ClaimText, *, figures: bool = False, places: bool = True
) -> dict[str, list[str]]:
    """Stated readings that do not answer as the claim's own, by how they answer.

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
        missed = next((one for one in reading.estimates if not one.met), None)
        number = "" if missed is None else figure_of(missed, claim.number_of(missed))
        figure = f" ({number})" if number and figures else ""
        value = claim.stated_value(reading) if places else claim.arm(reading)
        count = of(*read_runs(reading)) if reading.valid else count_words(reading)
        found.setdefault(_WITH[reading.answer], []).append(f"{value}, {count}{figure}")
    return found


# --- questions, and what is ours ------------------------------------------------------------------


def _questions(judged: Judged, *, every: bool) -> Iterator[HeadQuestion]:
    """What to ask the authors: what the audit asks, and each choice that changes an answer, once.

    Values that the paper itself states are two experiments, and no question.
    """
    settings = dict(_settings(judged.audit))
    told: set[str] = set()
    for choice in judged.choices:
        setting = settings[choice.setting]
        text = setting.ask or _question(choice)
        if text in told or setting.ours or _states_both(setting):
            continue
        told.add(text)
        evidence = [effect.text for effect in choice.effects]
        evidence += [
            f"{finding.statement} ({listed(finding.sources)})"
            for finding in judged.audit.findings
            if choice.setting in finding.settings
        ]
        yield HeadQuestion(text=text, evidence=tuple(evidence))
    for setting in settings.values() if every else ():
        if setting.ask and setting.ask not in told:
            told.add(setting.ask)
            yield HeadQuestion(text=setting.ask)


def _settings(audit: Audit) -> Iterator[tuple[str, Setting]]:
    """Every setting by its name; `experiment.setting` for an experiment's own."""
    yield from audit.settings.items()
    for name, experiment in audit.experiments.items():
        yield from ((f"{name}.{own}", setting) for own, setting in experiment.settings.items())


def _states_both(setting: Setting) -> bool:
    sources = {setting.source, *(reading.source for reading in setting.readings)}
    return bool(setting.readings) and sources == {Source.PAPER}


def _question(choice: ChoiceRow) -> str:
    if choice.guess:
        return f"{_capital(choice.words)}? We took {choice.value.removesuffix(' (our guess)')}."
    return f"{_capital(choice.words)}: {listed([choice.value, *choice.others], 'or')}?"


def _capital(text: str) -> str:
    """The text with a capital, unless it begins with a symbol such as α."""
    return text[:1].upper() + text[1:] if text[:1].isascii() else text


def _fold(texts: Sequence[ClaimText]) -> str:
    """How many claims stand apart, by whose they are and how they ended."""
    names = {
        "code": "claim of the code alone",
        "derived": "claim that we derived",
        "ours": "question of ours",
    }
    parts = []
    for whose, noun in names.items():
        same = [text for text in texts if whose_of(text.claim) == whose]
        outcomes = Counter(text.answer.outcome for text in same)
        ended = [
            f"{outcomes[outcome]} {verbs[outcomes[outcome] > 1].format(choice='a choice')}"
            for outcome, verbs in _HOLDS.items()
            if outcomes[outcome]
        ]
        first, _, rest = noun.partition(" ")
        plural = f"{first}s {rest}".strip() if len(same) > 1 else noun
        if same:
            parts.append(f"{len(same)} {plural}: {listed(ended)}")
    return f"Apart: {'; '.join(parts)}." if parts else ""


def _ours(judged: Judged) -> Iterator[str]:
    known = ", set with earlier results known" if judged.earlier else ""
    if bounds := _bounds(judged.texts):
        yield f"Bounds{known}; {bounds}."
    if counts := [*_made_by_us(judged)]:
        yield f"{_capital(', '.join(counts))}."


def _bounds(claims: Sequence[ClaimText]) -> str:
    """Whose answers another bound of ours would change."""
    ours = [
        claim
        for claim in claims
        if any(estimate.limit.origin is Provenance.OURS for estimate in claim.base.estimates)
    ]
    turned = [
        claim
        for claim in ours
        if any(reason.kind is ReasonKind.OUR_BOUND for reason in claim.answer.reasons)
        or any(reading.answer is Answer.NEAR for reading in claim.answer.stated)
    ]
    if not ours:
        return ""
    if not turned:
        return "half or twice as wide, they change no answer"
    names = several([claim.name.replace("-", " ") for claim in turned], MOST_NAMES)
    return f"half or twice as wide, they would change {names}"


def _made_by_us(judged: Judged) -> Iterator[str]:
    levels = {
        f"{text.symbol} = {listed([at_words(at) for at in _in_order(text.claim.grade.primary)])}"
        for text in judged.texts
        if text.claim.grade is not None and text.claim.grade.origin == "ours"
    }
    if levels:
        yield f"judged at {listed(sorted(levels))}"
    guesses: dict[str, bool] = {}
    for value in judged.tried:
        if value.guess:
            guesses[value.setting] = guesses.get(value.setting, False) or bool(value.cells)
    if guesses:
        yield f"{counted(len(guesses), 'setting')} guessed, {sum(guesses.values())} varied"
    if recalled := sum(text.claim.wording == "recalled" for text in judged.texts):
        yield f"{counted(recalled, 'claim')} worded from memory"
    if left := len(judged.audit.not_audited):
        yield f"{counted(left, 'claim')} left out"


def _in_order(places: Sequence[Coordinate]) -> list[Coordinate]:
    return sorted(places, key=lambda place: (isinstance(place, str), place))


# --- what is said beside rows ---------------------------------------------------------------------


def answer_words(claim: ClaimText) -> AnswerWords:
    """Return what is said of a claim beside its rows."""
    answer = claim.answer
    wording = {"recalled": " (worded from memory)", "derived": " (derived by us)"}
    base = claim.base
    depends = answer.outcome is Outcome.DEPENDS
    interval = "exact" if claim.claim.exact else share_range(*claim.share)
    return AnswerWords(
        claim=answer.id,
        mark=look(answer.outcome).mark,
        finding=f"{_capital(claim.claim.short)}: {cores_of(claim)[0]}",
        source=f"{claim.claim.locator}{wording.get(claim.claim.wording, '')}",
        runs=f"{count_words(base)} ({interval})" if base.n else "none",
        certainty=() if depends else tuple(map(claim.why, answer.reasons)),
        own=claim.own,
        facts=tuple(_facts(claim)),
    )


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
        yield "Reported", "; ".join(f"{one.says} ({one.locator})" for one in reported)
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
    yield from (not_alike(one, claim) for one in claim.answer.not_alike if one not in said)
    if base.equal:
        yield "the same in every run"
    if base.copies:
        yield f"{base.copies} more were copies of these"
    for name, count in base.left_over.items():
        runs = counted(count, "run")
        yield f"{runs} of {claim.namer.arm(name)} with other seeds are compared with none of these"


def _parts(claim: ClaimText) -> Iterator[str]:
    """What is left of the claim without each part."""
    for ablation in claim.answer.ablations:
        effects = claim.effects(ablation)
        pair = f", {effects}" if effects else ""
        word = WITHOUT[ablation.specificity]
        yield f"{word} {claim.lacks(ablation)} ({count_words(ablation)}{pair})"
