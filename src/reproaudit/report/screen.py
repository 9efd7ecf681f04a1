"""The first screen of a page: the verdict, a bullet a claim, questions to authors, what is ours.

Its sentences are made here, once, from the scorecard. The terminal, Markdown, HTML and the exports
render what this module returns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reproaudit.checks import Provenance, Side
from reproaudit.formats.numbers import at_words, counted, listed, of, several
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import (
    AlternativeAnswer,
    Answer,
    ArmAnswer,
    ClaimAnswer,
    Estimate,
    Level,
    Outcome,
    ReadingAnswer,
    ReasonKind,
    Specificity,
)
from reproaudit.report.choices import Choice, choices_of, says_otherwise
from reproaudit.scorecard.claims import ClaimText, claims_of, texts_in
from reproaudit.scorecard.words import RELAXED, bound_of, figure_of, look
from reproaudit.stats.binomial import Decision

MOST_BULLETS = 8
"""The most claims with a bullet of their own; the others are counted."""

MOST_WORDED = 6
"""The most counted claims that are worded; more are found in the table."""

MOST_NAMES = 2
"""The most settings that a question names; the others are counted."""

FEW_NAMES = 3
"""The most guesses or claims that are named; more are counted."""


@dataclass(frozen=True)
class Bullet:
    """A claim, or several that are counted.

    Attributes:
        title: the finding, or how many there are.
        claim: the claim's name; '' of those that are counted.
    """

    mark: str
    title: str
    text: str = ""
    claim: str = ""


@dataclass(frozen=True)
class Section:
    """Bullets of one outcome, or that hang on one choice."""

    heading: str
    bullets: tuple[Bullet, ...]
    asks: bool
    """Whether it asks something of the authors: what does not plainly hold."""


# --- the verdict ----------------------------------------------------------------------------------

_MAIN: Mapping[Outcome, str] = {
    Outcome.SUPPORTED: "The main claim holds: {short}",
    Outcome.PARTLY_SUPPORTED: "The main claim holds in part: {short}",
    Outcome.DEPENDS: "The main claim {hangs}: {short}",
    Outcome.NOT_SUPPORTED: "{whose} runs do not support the main claim",
    Outcome.UNDECIDED: "The main claim is open",
    Outcome.UNINFORMATIVE: "{whose} runs cannot tell whether the main claim holds",
    Outcome.NOT_TESTED: "The main claim was not tested",
    Outcome.ERROR: "The main claim has no answer, since runs crashed",
}

_COUNTED: Mapping[Outcome, tuple[str, str]] = {
    Outcome.SUPPORTED: ("holds", "hold"),
    Outcome.ERROR: ("has no answer, since runs crashed", "have no answer, since runs crashed"),
    Outcome.NOT_SUPPORTED: ("is not supported", "are not supported"),
    Outcome.PARTLY_SUPPORTED: ("holds in part", "hold in part"),
    Outcome.UNDECIDED: ("is open", "are open"),
    Outcome.UNINFORMATIVE: ("tells nothing", "tell nothing"),
    Outcome.NOT_TESTED: ("was not tested", "were not tested"),
}


def verdict(card: Scorecard) -> tuple[str, ...]:
    """Return the verdict in one to four sentences: the main claim's, then what does not hold."""
    claims = claims_of(card)
    if card.tier == "smoke":
        if failed := sum(bool(claim.base.crashed) for claim in claims):
            return (f"The smoke tier judges nothing; runs of {counted(failed, 'claim')} failed.",)
        return ("The smoke tier shows that every experiment runs; it judges nothing.",)
    if not claims:
        return ("No claim of this paper is judged; its documentation is.",)
    return tuple(_verdict(claims, "Our" if card.origin is None else "These"))


def _verdict(claims: Sequence[ClaimText], whose: str) -> Iterator[str]:
    main = [claim for claim in claims if claim.claim.main]
    others = [one for one in claims if not one.claim.main]
    for one in main:
        said = _MAIN[one.answer.outcome]
        yield f"{said.format(short=one.claim.short, hangs=_hangs(one), whose=whose)}."
    hanging = [one for one in others if one.answer.outcome is Outcome.DEPENDS]
    if len(hanging) == 1:
        yield f"Another claim {_hangs(hanging[0])}."
    elif hanging:
        yield f"{len(hanging)} others depend on choices that the paper leaves open."
    outcomes = Counter(one.answer.outcome for one in others)
    ordered = [(one, outcomes[one]) for one in _COUNTED if outcomes[one]]
    counts = [f"{count} {_COUNTED[one][count > 1]}" for one, count in ordered]
    if main and ordered:
        first, count = ordered[0]
        other = "others" if count > 1 else "other"
        which = "more" if main[0].answer.outcome is first else other
        counts[0] = f"{count} {which} {_COUNTED[first][count > 1]}"
    if counts:
        yield f"{listed(counts)}."


def _hangs(claim: ClaimText) -> str:
    """With which value a claim holds and with which it does not; '' if it hangs on none."""
    if claim.answer.sides is None:
        return ""
    yes, no = claim.answer.sides
    if isinstance(no, AlternativeAnswer) or isinstance(yes, AlternativeAnswer):
        return "hangs on a guess of ours"
    return f"holds with {claim.stated_value(yes)} and not with {claim.stated_value(no)}"


# --- bullets --------------------------------------------------------------------------------------

_HEADINGS: Mapping[Outcome, str] = {
    Outcome.SUPPORTED: "Holds",
    Outcome.NOT_SUPPORTED: "Does not hold",
    Outcome.ERROR: "No answer",
    Outcome.DEPENDS: "Depends on {choice}{guessed}",
    Outcome.PARTLY_SUPPORTED: "Holds in part",
    Outcome.UNDECIDED: "Open",
    Outcome.UNINFORMATIVE: "Tells nothing",
    Outcome.NOT_TESTED: "Not tested",
}
"""In the order of the sections; that of the main claim comes first."""


def sections(card: Scorecard) -> tuple[Section, ...]:
    """Return the claims under headings: the main one and what does not simply hold, by a bullet.

    Claims that hang on the same choice share a heading. Those without a bullet are counted.
    """
    ordered = ordered_claims(card)
    shown = not_plain(ordered)
    # what holds but for an exception comes last
    shown.sort(key=lambda one: one.answer.outcome is Outcome.SUPPORTED and not one.claim.main)
    named = shown[:MOST_BULLETS]
    headed: dict[str, list[ClaimText]] = {}
    for one in ordered:
        headed.setdefault(_heading(one), []).append(one)
    return tuple(
        Section(heading, tuple(_bullets(claims, named)), heading != _HEADINGS[Outcome.SUPPORTED])
        for heading, claims in headed.items()
    )


def ordered_claims(card: Scorecard) -> tuple[ClaimText, ...]:
    """Return the claims in the order of the page: by section, the plain ones last in each."""
    claims = claims_of(card)
    first = {_heading(claim) for claim in claims if claim.claim.main}

    def place(one: ClaimText) -> tuple[bool, int, str, bool, bool]:
        heading = _heading(one)
        section = heading not in first, [*_HEADINGS].index(one.answer.outcome), heading
        return *section, not one.claim.main, is_plain(one)

    return tuple(sorted(claims, key=place))


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


def plain_claims(claims: Sequence[ClaimText]) -> list[ClaimText]:
    """Return the claims that simply hold, which a page folds."""
    return [claim for claim in claims if is_plain(claim) and not claim.claim.main]


def not_plain(claims: Sequence[ClaimText]) -> list[ClaimText]:
    """Return the main claim and those that do not simply hold."""
    folded = plain_claims(claims)
    return [claim for claim in claims if claim not in folded]


def holding_words(claims: Sequence[ClaimText]) -> str:
    """Return the line that opens the claims that simply hold."""
    verb = "holds" if len(claims) == 1 else "hold"
    return f"{counted(len(claims), 'more claim')} {verb} in every run"


def _heading(claim: ClaimText) -> str:
    sides = [side.varied.setting for side in claim.answer.sides or () if side.varied is not None]
    choice = listed([claim.setting(name) for name in sorted(set(sides))])
    is_guess = any(isinstance(one, AlternativeAnswer) for one in claim.answer.sides or ())
    guessed = ", which we guessed" if is_guess else ""
    return _HEADINGS[claim.answer.outcome].format(choice=choice, guessed=guessed)


def finding(claim: ClaimText) -> str:
    """Return what was found of a claim, in one line: the loss falls: 15 of 15 runs."""
    runs = f": {of(claim.base.yes, claim.base.n)} runs" if claim.base.n else ""
    return f"{_capital(claim.claim.short)}{runs}"


def _bullets(claims: Sequence[ClaimText], named: Sequence[ClaimText]) -> Iterator[Bullet]:
    for one in claims:
        if one in named:
            words = f"Main: {one.claim.short}" if one.claim.main else _capital(one.claim.short)
            text = " ".join(f"{_capital(said)}." for said in _said(one))
            yield Bullet(look(one.answer.outcome).mark, f"{words}.", text, one.name)
    rest = [claim for claim in claims if claim not in named]
    if rest:
        count = f"{len(rest)} more" if len(rest) < len(claims) else counted(len(rest), "claim")
        outcome = rest[0].answer.outcome
        whole = all(one.base.yes == one.base.n for one in rest)
        runs = ", in every run" if whole and outcome is Outcome.SUPPORTED else ""
        words = "; ".join(map(_worded, rest)) if len(rest) <= MOST_WORDED else ""
        unsure = 0 if words else sum(one.answer.level in _UNSURE for one in rest)
        sure = f", {unsure} of low certainty" if unsure else ""
        end = ":" if words else "."
        yield Bullet(look(outcome).mark, f"{count}{runs}{sure}{end}", words and f"{words}.")


def _worded(claim: ClaimText) -> str:
    unsure = f" (certainty {claim.answer.level})" if claim.answer.level in _UNSURE else ""
    return f"{claim.claim.short}{unsure}"


def _said(claim: ClaimText) -> Iterator[str]:
    """Yield what a bullet says of a claim, each part a sentence without its full stop."""
    yield from _BY_OUTCOME[claim.answer.outcome](claim)
    if claim.answer.proxy:
        yield f"it ran on a stand-in: {claim.answer.proxy}"
    if claim.answer.level is not None and (claim.claim.main or claim.answer.level in _UNSURE):
        yield f"certainty {claim.answer.level}"


_UNSURE = (Level.LOW, Level.VERY_LOW)


def _holds(claim: ClaimText) -> Iterator[str]:
    others = any(reading.answer is not Answer.YES for reading in claim.answer.readings)
    own = f" with {claim.stated_value(claim.base)}" if claim.own and others else ""
    runs = " runs" if claim.claim.main else ""
    yield f"{of(claim.base.yes, claim.base.n)}{runs}{own}: {_numbers(claim)}"
    if claim.elsewhere:
        yield claim.elsewhere
    if _breaks(claim):
        yield _at_levels(claim)
    for ablation in claim.answer.ablations:
        if ablation.specificity is Specificity.NOT_SPECIFIC:
            yield f"holds as well without {claim.lacks(ablation)}, {of(ablation.yes, ablation.n)}"
    yield from _readings(claim)
    yield from _guesses(claim)


def _depends(claim: ClaimText) -> Iterator[str]:
    clear = (Answer.YES, Answer.NO)
    others = [reading for reading in claim.answer.readings if reading.answer in clear]
    read = [claim.base, *(one for one in others if one.answer is not claim.base.answer)]
    for one in sorted(read, key=lambda one: one.answer is not Answer.YES):
        value = f"{claim.stated_value(one)}, " if len(read) > 1 else ""
        numbers = f": {_against_bound(claim)}" if one is claim.base else _figure(claim, one)
        yield f"{value}{of(one.yes, one.n)}{numbers}"
    yield from _guesses(claim)


def _part(claim: ClaimText) -> Iterator[str]:
    if _breaks(claim):
        yield _at_levels(claim)
    else:
        yield f"{of(claim.base.yes, claim.base.n)}: {_numbers(claim)}"
    for words, one in claim.support:
        if one.relaxed is Decision.MISSED:
            yield f"but {words} in {of(one.yes, one.n)}"


def _fails(claim: ClaimText) -> Iterator[str]:
    yield f"{of(claim.base.yes, claim.base.n)}: {_numbers(claim)}"
    built = claim.positive_control
    if built is not None and built.decision is Decision.MET:
        yield f"the positive control does in {of(built.yes, built.n)}"
    yield from _readings(claim)
    yield from _guesses(claim)


def _open(claim: ClaimText) -> Iterator[str]:
    reasons = claim.answer.reasons
    runs = of(claim.base.yes, claim.base.n)
    near = [one for one in claim.answer.stated if one.answer is Answer.NEAR]
    if claim.answer.outcome is Outcome.UNDECIDED and _breaks(claim):
        yield _at_levels(claim)
    elif claim.base in near:
        yield f"{runs}: {_against_bound(claim)}{_would_pass(claim, claim.base)}"
    else:
        why = claim.why(reasons[0]) if reasons else claim.effect
        yield f"{runs}; {why}" if claim.base.n else why
    yield from _guesses(claim)


_BY_OUTCOME: Mapping[Outcome, Callable[[ClaimText], Iterator[str]]] = {
    Outcome.SUPPORTED: _holds,
    Outcome.DEPENDS: _depends,
    Outcome.PARTLY_SUPPORTED: _part,
    Outcome.NOT_SUPPORTED: _fails,
    Outcome.UNDECIDED: _open,
    Outcome.UNINFORMATIVE: _open,
    Outcome.NOT_TESTED: _open,
    Outcome.ERROR: _open,
}


# --- parts of a bullet ----------------------------------------------------------------------------


def _numbers(claim: ClaimText) -> str:
    """The typical run, the bound and the control: 0.015, we allow 0.1; control (X): 0.82."""
    return f"{_against_bound(claim)}{_control(claim)}"


def _against_bound(claim: ClaimText) -> str:
    """The typical run, and the bound with whose it is: distance 0.015, we allow 0.1."""
    if claim.shown is None:
        return "no numbers"
    return f"{claim.typical}, {asked(claim.shown, bound_of(claim.shown, claim.number))}"


def asked(estimate: Estimate, bound: str) -> str:
    """Return a bound in words, with whose it is: we allow 0.1; above 1 asked."""
    verb = "allow" if estimate.limit.side in (Side.AT_MOST, Side.WITHIN) else "ask"
    if estimate.limit.origin is Provenance.OURS:
        return f"we {verb} {bound}"
    return f"{bound} {'allowed' if verb == 'allow' else 'asked'}"


def _control(claim: ClaimText) -> str:
    """The first control that has a number of what is shown: control (another covariance): 0.82."""
    for control in claim.answer.controls:
        said = _figure_of_arm(claim, control)
        if said and claim.arm(control) not in claim.typical:
            return f"; control ({claim.arm(control)}): {said}"
    return ""


def _figure(claim: ClaimText, arm: ArmAnswer) -> str:
    """An arm's typical number, named: of what it misses, else of what the row shows."""
    missed = next((place for place, one in enumerate(arm.estimates) if not one.met), claim.place)
    if missed is None or missed >= len(arm.estimates):
        return ""
    one = arm.estimates[missed]
    said = figure_of(one, claim.number_of(one))
    return f" ({claim.noun_of(one)} {said})" if said else ""


def _figure_of_arm(claim: ClaimText, arm: ArmAnswer) -> str:
    """An arm's typical number of the condition that the row shows; '' if it has none."""
    if claim.place is None or claim.place >= len(arm.estimates):
        return ""
    one = arm.estimates[claim.place]
    return figure_of(one, claim.number_of(one))


def _breaks(claim: ClaimText) -> bool:
    return any(grade.decision is not Decision.MET for grade in claim.answer.grades)


def _at_levels(claim: ClaimText) -> str:
    """Where a graded claim holds, and where not: holds at L = 2 and 3, fails at 4 (0 of 10).

    Of an open claim: where it is judged.
    """
    is_open = claim.answer.outcome is Outcome.UNDECIDED
    at: dict[Decision, list[str]] = {one: [] for one in Decision}
    for one in claim.answer.grades:
        if one.at is not None and (claim.is_primary(one) or not is_open):
            count = "" if one.decision is Decision.MET else f" ({of(one.yes, one.n)})"
            at[one.decision].append(f"{at_words(one.at)}{count}")
    said = ", ".join(f"{where} {listed(at[one])}" for one, where in _WHERE.items() if at[one])
    return said.replace(" at ", f" at {claim.symbol} = ", 1)


_WHERE: Mapping[Decision, str] = {
    Decision.MET: "holds at",
    Decision.MISSED: "fails at",
    Decision.OPEN: "open at",
}


_WITH: Mapping[Answer, str] = {
    Answer.NO: "not with",
    Answer.OPEN: "open with",
    Answer.NEAR: "near our bound with",
    Answer.BLIND: "cannot be told with",
    Answer.RULED_OUT: "diverges with",
    Answer.MIXED: "in part with",
}


def _readings(claim: ClaimText) -> Iterator[str]:
    """Yield what other stated readings say, where that is not yes; those near a bound together."""
    near: dict[str, list[str]] = {}
    for reading in claim.answer.readings:
        value = claim.stated_value(reading)
        said = f"{value}: {of(reading.yes, reading.n)}{_figure(claim, reading)}"
        if not reading.n:
            yield f"not run with {value}"
        elif reading.answer is Answer.UNFINISHED:
            yield f"unfinished with {value}, {of(reading.yes, reading.n)}"
        elif reading.answer is Answer.NEAR:
            near.setdefault(_would_pass(claim, reading), []).append(said)
        elif reading.answer is not Answer.YES:
            yield f"{_WITH[reading.answer]} {said}"
    for passes, readings in near.items():
        yield f"{_WITH[Answer.NEAR]} {listed(readings)}{passes}"


def _would_pass(claim: ClaimText, arm: ReadingAnswer) -> str:
    """The first bound of ours that is missed, and relaxed: we allow 1.05; 1.1 would pass."""
    for estimate in arm.estimates:
        relaxed = estimate.model_copy(update={"limit": estimate.limit.relaxed()})
        if not estimate.met and relaxed.limit != estimate.limit:
            what = claim.number_of(estimate)
            is_said = claim.shown is not None and estimate.limit == claim.shown.limit
            now = "" if is_said else f", {asked(estimate, bound_of(estimate, what))}"
            return f"{now}; {bound_of(relaxed, what)} {RELAXED[arm.relaxed]}"
    return ""


def _guesses(claim: ClaimText) -> Iterator[str]:
    """Yield the credible guesses that turn the answer; if none does, the undecided ones."""
    clear = (Answer.YES, Answer.NO)
    guesses = [alternative for alternative in claim.answer.alternatives if alternative.credible]
    other = [guess for guess in guesses if says_otherwise(claim, guess)]
    found = [one for one in other if one.answer in clear] or other
    alike: dict[tuple[str, str], list[AlternativeAnswer]] = {}
    for one in found:
        said = "with" if one.answer in clear else _WITH[one.answer]
        alike.setdefault((said, of(one.yes, one.n)), []).append(one)
    for (said, count), ones in alike.items():
        each = " each" if len(ones) > 1 else ""
        small = [one for one in ones if claim.is_smaller(one)]
        own = f" ({of(small[0].own_yes, small[0].own_n)} with our guess)" if small else ""
        scale = "at reduced scale, " if small else ""
        yield f"{scale}{said} {listed([claim.arm(one) for one in ones], 'or')}: {count}{each}{own}"


# --- questions, and what is ours ------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """A question to the authors.

    Attributes:
        evidence: where values are stated, and which answers hang on them.
    """

    text: str
    evidence: tuple[str, ...] = ()


def questions(card: Scorecard) -> tuple[Question, ...]:
    """Return the questions to the authors: which of two values holds, and what we had to guess."""
    by_words: dict[str, list[Choice]] = {}
    for one in choices_of(card):
        by_words.setdefault(one.words, []).append(one)
    found = []
    rest: dict[str, list[Choice]] = {}
    for words, same in by_words.items():
        if same[0].reading:
            text = f"{_capital(words)}: {' or '.join(same[0].values)}?"
        elif any(one.changes for one in same):
            text = f"{_capital(words)}? We took {same[0].values[0]}; it decides an answer."
        else:
            rest[words] = same
            continue
        found.append(Question(text, _evidence(card, same)))
    if rest:
        guessed = (f"{one.name}: {one.said}" for same in rest.values() for one in same)
        text = f"{_capital(several(list(rest), MOST_NAMES))}: which values?"
        found.append(Question(text, tuple(guessed)))
    return tuple(found)


def _evidence(card: Scorecard, same: Sequence[Choice]) -> tuple[str, ...]:
    """What hangs on choices of one name, and the findings about them."""
    names = {one.setting for one in same}
    said = [f"{one.name}: {'; '.join(one.answers)}" for one in same if one.answers]
    about = [finding for finding in card.audit.findings if names & {*finding.settings}]
    return (*said, *(f"{one.statement} ({listed(one.sources)})" for one in about))


def questions_heading(card: Scorecard) -> str:
    """Return the heading of the questions, which says so where the paper was not read."""
    look_first = " (look in the paper first)" if card.paper.not_read else ""
    return f"Questions to the authors{look_first}"


def ours(card: Scorecard) -> str:
    """Return what is due to the audit's own choices, in a few short sentences."""
    return " ".join(_ours(card))


_WORDED: Mapping[str, str] = {"recalled": "worded from memory", "derived": "derived by us"}


def _ours(card: Scorecard) -> Iterator[str]:
    claims = texts_in(card)
    yield from _bounds(claims)
    graded = {
        f"{claim.symbol} = {listed(_primary(claim))}"
        for claim in claims
        if claim.claim.grade is not None and claim.claim.grade.origin == "ours"
    }
    if graded:
        yield f"We judged at {listed(sorted(graded))}."
    for wording, words in _WORDED.items():
        if count := sum(one.claim.wording == wording for one in claims):
            yield f"{counted(count, 'claim')} {'is' if count == 1 else 'are'} {words}."
    guesses = [one for one in choices_of(card) if not one.reading]
    if guesses:
        varied = sum(bool(guess.answers) for guess in guesses)
        names = list(dict.fromkeys(one.words for one in guesses))
        named = f" ({listed(names)})" if len(names) <= FEW_NAMES else ""
        guessed = f"{counted(len(guesses), 'setting')}{named}"
        yield f"We guessed {guessed} and varied {varied or 'none'}."
    if left := card.audit.not_audited:
        yield f"We left out {counted(len(left), 'claim')}."
    if card.earlier_results:
        yield "We set bounds knowing earlier results."


def _bounds(claims: Sequence[ClaimText]) -> Iterator[str]:
    turned = [
        claim
        for claim in claims
        if any(r.kind is ReasonKind.OUR_BOUND for r in claim.answer.reasons)
    ]
    ours_alone = [
        one for one in claims if any(e.limit.origin is Provenance.OURS for e in one.base.estimates)
    ]
    near = any(arm.answer is Answer.NEAR for one in claims for arm in one.answer.stated)
    if turned:
        names = several([one.name.replace("-", " ") for one in turned], FEW_NAMES)
        yield f"Another bound of ours would change {counted(len(turned), 'answer')}: {names}."
    elif ours_alone and not near:
        yield "Our bounds, relaxed or tightened, change no answer."


def _primary(claim: ClaimText) -> list[str]:
    places = [
        grade.at
        for grade in claim.answer.grades
        if claim.is_primary(grade) and grade.at is not None
    ]
    return [at_words(one) for one in sorted(places, key=lambda one: (str(type(one)), one))]


def closing(claims: Sequence[ClaimAnswer]) -> str:
    """Return one line with the counts of outcomes, failures first."""
    found = Counter(claim.outcome for claim in claims)
    counts = [f"{found[one]} {one.value}" for one in reversed(Outcome) if found[one]]
    return f"{counted(len(claims), 'claim')}: {', '.join(counts)}."


def _capital(text: str) -> str:
    """The text with a capital, unless it begins with a symbol such as α."""
    return text[:1].upper() + text[1:] if text[:1].isascii() else text
