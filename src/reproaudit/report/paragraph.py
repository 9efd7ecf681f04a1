"""The colleague's paragraph: a few sentences from typed answers, by eight patterns.

Scale and outcomes (`_opening`), what holds (`_holds`), what does not (`_fails`), what is open
(`_open`), what holds under one reading (`_reading`), what hangs on a guess (`_otherwise`), a range
of coordinates (`_range`), and the rest (`_rest`). Each names its claim before it says more of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from reproaudit.audit.model import Audit, TierName
from reproaudit.checks import Provenance
from reproaudit.report.choices import Choice, choices_of
from reproaudit.report.claims import ClaimText, claims_of, texts_of
from reproaudit.report.numbers import at_words, counted, listed, number, of, several
from reproaudit.report.words import AT_REDUCED_SCALE, brief, figure_of
from reproaudit.stats.binomial import Decision
from reproaudit.verdict import (
    Answer,
    ArmAnswer,
    ClaimAnswer,
    Level,
    Outcome,
    ReasonKind,
    Scorecard,
    Specificity,
)

MOST_CLAIMS = 4
"""The most claims that the paragraph names; the others are counted."""


def summary(card: Scorecard) -> tuple[str, ...]:
    """Return the paragraph's sentences, the main claim first, then what does not simply hold."""
    claims = claims_of(card)
    if not claims:
        return ("No claim of this paper is judged; its documentation is.",)
    if card.tier == "smoke":
        failed = [one.name for one in claims if one.base.crashed]
        if failed:
            return (f"The smoke tier judges nothing; runs of {listed(failed)} failed.",)
        return ("The smoke tier shows that every experiment runs; it judges nothing.",)
    sure = card.scale == "paper"
    ordered = sorted(claims, key=_weight)
    named = [one for one in ordered if one.claim.main or _weight(one) < PLAIN][:MOST_CLAIMS]
    sentences = [_opening(card.audit, card.scale, claims)]
    sentences += [_sentence(one, sure) for one in named]
    sentences += _rest([one for one in claims if one not in named], sure)
    return tuple(sentences)


OPEN = (Outcome.UNDECIDED, Outcome.UNINFORMATIVE, Outcome.NOT_TESTED)
"""The outcomes of claims without an answer."""

PLAIN = 6
"""The weight of a claim that simply holds."""


def _weight(claim: ClaimText) -> int:
    """The order: main claim, missed, partly, open, by guess, not in every run, the plain ones."""
    answer = claim.answer
    if claim.claim.main:
        return 0
    if answer.outcome in (Outcome.NOT_SUPPORTED, Outcome.ERROR):
        return 1
    if answer.outcome in (Outcome.PARTLY_SUPPORTED, Outcome.DEPENDS):
        return 2
    if answer.outcome in OPEN:
        return 3
    if any(one.decision is not Decision.MET and one.n for one in answer.readings):
        return 3
    if answer.otherwise:
        return 4
    if claim.base.yes < claim.base.n or _breaks(claim):
        return 5
    return PLAIN


def _breaks(claim: ClaimText) -> bool:
    return any(one.decision is not Decision.MET for one in claim.answer.grades)


def _sentence(claim: ClaimText, sure: bool) -> str:
    said = _said_of(claim, sure)
    proxy = claim.answer.proxy
    return f"{said} It ran on a stand-in: {proxy}." if proxy else said


def _said_of(claim: ClaimText, sure: bool) -> str:
    answer = claim.answer
    name = "Main claim" if claim.claim.main else _name(claim)
    named = (Outcome.PARTLY_SUPPORTED, Outcome.DEPENDS)
    aside = [answer.outcome.value] if answer.outcome in named else []
    if sure and answer.level is not None:
        aside.append(f"certainty {answer.level}")
    if aside:
        name += f" ({', '.join(aside)})"
    if answer.outcome is Outcome.ERROR or answer.outcome in OPEN:
        return _open(claim, name)
    if answer.outcome is Outcome.NOT_SUPPORTED:
        return _fails(claim, name)
    turned = [one for one in answer.readings if answer.changed_by(one)]
    if turned:
        return _reading(claim, name, turned)
    if _breaks(claim):
        return _range(claim, name)
    return _otherwise(claim, name) if answer.otherwise else _holds(claim, name)


# --- the patterns -------------------------------------------------------------------------------


def _opening(audit: Audit, tier: TierName, claims: Sequence[ClaimText]) -> str:
    outcomes = Counter(one.answer.outcome for one in claims)
    untested = (Outcome.NOT_TESTED, Outcome.ERROR)
    tested = [one for one in claims if one.answer.outcome not in untested]
    of_all = len(claims) + len(audit.not_audited)
    scale = "at the paper's own scale" if tier == "paper" else "at reduced scale"
    counts = sorted({one.base.n for one in tested})
    runs = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else "".join(map(str, counts))
    said = [
        f"{outcomes[one]} {one.value}"
        for one in Outcome
        if outcomes[one] and one is not Outcome.NOT_TESTED
    ]
    each = f", {runs} runs each" if runs else ""
    how = f": {', '.join(said)}" if said else ""
    return f"We tested {len(tested)} of {of_all} listed claims {scale}{each}{how}."


def _holds(claim: ClaimText, name: str) -> str:
    return f"{name}: {_in_runs(claim)} ({claim.typical}){_tail(claim)}."


def _fails(claim: ClaimText, name: str) -> str:
    built = claim.answer.constructed
    by_hand = (
        f"; the positive control does in {of(built.yes, built.n)}" if built and built.n else ""
    )
    read = [one for one in claim.answer.readings if one.n and one.decision is Decision.OPEN]
    opened = "".join(f", and in {of(one.yes, one.n)} with {claim.arm(one)}" for one in read)
    met = [one for one in claim.base.estimates if one.met]
    figures = [(one, figure_of(one, claim.number_of(one))) for one in met]
    said = [f"{claim.noun_of(one)} ({figure})" for one, figure in figures if figure]
    as_asked = f"; the bound on {listed(said)} is met" if said else ""
    return (
        f"{name} is not supported: {_in_runs(claim)}{_own(claim)} "
        f"({claim.typical}){opened}{as_asked}{by_hand}{_hangs(claim)}."
    )


_VERBS: Mapping[Outcome, str] = {
    Outcome.UNDECIDED: "is open",
    Outcome.UNINFORMATIVE: "cannot be told",
    Outcome.NOT_TESTED: "is not tested",
    Outcome.ERROR: "has no answer",
}


def _open(claim: ClaimText, name: str, *, briefly: bool = False) -> str:
    reasons = claim.answer.reasons
    why = claim.why(reasons[0]) if reasons else claim.effect
    verb = _VERBS[claim.answer.outcome]
    runs = f"; {_in_runs(claim)}" if claim.base.n and not briefly else ""
    return f"{name} {verb}: {why}{runs}."


def _reading(claim: ClaimText, name: str, others: Sequence[ArmAnswer]) -> str:
    each = [
        f"{of(one.yes, one.n)} with {_value(claim, one)}{_figure(claim, one)}"
        f"{', which leaves it open' if one.decision is Decision.OPEN else ''}"
        for one in others
    ]
    return (
        f"{name}: {_in_runs(claim)}{_own(claim)} ({claim.typical}), "
        f"but in {listed(each)}{_tail(claim)}."
    )


def _own(claim: ClaimText) -> str:
    return f" with {claim.own}" if claim.own else ""


def _figure(claim: ClaimText, arm: ArmAnswer) -> str:
    """The number of another arm that answers to the claim's own in the row."""
    if claim.place is None or not arm.estimates or arm.decision is Decision.OPEN:
        return ""
    estimate = arm.estimates[claim.place]
    found = figure_of(estimate, claim.number_of(estimate))
    return f" ({found})" if found else ""


def _value(claim: ClaimText, arm: ArmAnswer) -> str:
    """A reading with its source: steps between redraws 100 on the card."""
    return " ".join(filter(None, (claim.arm(arm), claim.source(arm))))


def _otherwise(claim: ClaimText, name: str) -> str:
    return f"{name}: {_in_runs(claim)} ({claim.typical}){_hangs(claim)}."


def _hangs(claim: ClaimText) -> str:
    """On which guesses an answer hangs, each setting by its first value that changes it."""
    others = claim.answer.otherwise
    if not others:
        return ""
    first = {one.varied.setting: one for one in reversed(others) if one.varied is not None}
    alike: dict[str, list[str]] = {}
    for one in reversed(first.values()):
        alike.setdefault(of(one.yes, one.n), []).append(claim.arm(one))
    each = [f"in {count} with {' or '.join(words)}" for count, words in alike.items()]
    scale = AT_REDUCED_SCALE if any(map(claim.is_smaller, others)) else ""
    return f", but {several(each, MOST_FLIPS)} (unstated{scale})"


def _range(claim: ClaimText, name: str) -> str:
    at: dict[Decision, list[str]] = {one: [] for one in Decision}
    for one in claim.answer.grades:
        if one.at is not None:
            count = "" if one.decision is Decision.MET else f" ({of(one.yes, one.n)})"
            at[one.decision].append(f"{at_words(one.at)}{count}")
    met = at[Decision.MET]
    said = f"at {claim.symbol} = {listed(met)}" if met else f"at no {claim.symbol}"
    for where, decision in (("not at", Decision.MISSED), ("open at", Decision.OPEN)):
        if at[decision] and met:
            said += f", {where} {listed(at[decision])}"
    return f"{name}: {claim.claim.short} {said}{_tail(claim)}."


def _rest(others: Sequence[ClaimText], sure: bool) -> Iterator[str]:
    supported = [one for one in others if one.answer.outcome is Outcome.SUPPORTED]
    whole = [one for one in supported if one.base.yes == one.base.n]
    left = [one for one in others if one.answer.outcome is not Outcome.SUPPORTED]
    if whole:
        plain = [one for one in whole if not _exception(one)]
        each = [_by_level(plain, sure)] if plain else []
        each += [f"{_by_level([one], sure)}{_exception(one)}" for one in whole if one not in plain]
        its = "its" if len(whole) == 1 else "their"
        yield f"Also supported in all {its} runs: {'; '.join(each)}."
    if rest := [one for one in supported if one not in whole]:
        each = [f"{_by_level([one], sure)}, {of(one.base.yes, one.base.n)}" for one in rest]
        yield f"{'Supported' if whole else 'Also supported'}: {'; '.join(each)}."
    if len(left) == 1:
        yield _open(left[0], _name(left[0]), briefly=True)
    elif left:
        yield f"See below for {listed([_name(one).lower() for one in left])}."


def _by_level(claims: Sequence[ClaimText], sure: bool) -> str:
    """Names of claims, with how sure we are: a and b (high); c (low)."""
    levels: dict[str, list[str]] = {level: [] for level in ("", *Level)}
    for one in claims:
        levels[(sure and one.answer.level) or ""].append(one.name)
    return "; ".join(
        f"{listed(names)}{f' ({level})' if level else ''}"
        for level, names in levels.items()
        if names
    )


def _exception(claim: ClaimText) -> str:
    """Where a supported claim does not hold: under a reading, a guess, at a coordinate; else ''."""
    answer = claim.answer
    read = [one for one in answer.readings if one.n and one.decision is not Decision.MET]
    if turned := [*read, *answer.otherwise]:
        return f", but {of(turned[0].yes, turned[0].n)} with {claim.arm(turned[0])}"
    found = min(answer.grades, key=lambda one: one.yes - one.n, default=None)
    if found is None or found.yes == found.n or found.at is None:
        return ""
    return f", but {of(found.yes, found.n)} at {claim.symbol} = {at_words(found.at)}"


def _name(claim: ClaimText) -> str:
    words = claim.name.replace("-", " ")
    return words[:1].upper() + words[1:]


def _in_runs(claim: ClaimText) -> str:
    return f"{claim.claim.short} in {of(claim.base.yes, claim.base.n)} runs"


def _tail(claim: ClaimText) -> str:
    """Where the other runs end, or what is left without a part of the mechanism."""
    if claim.elsewhere:
        return f"; {claim.elsewhere}"
    said = []
    for one in claim.answer.ablations:
        without = f"without {claim.lacks(one)}"
        if one.specificity is Specificity.SMALLER and claim.effects(one):
            said.append(f"{without} by less, {number(one.effect or 0.0)}-fold")
        elif one.specificity is not Specificity.OPEN:
            said.append(f"{without} in {of(one.yes, one.n)}")
    return f"; {listed(said)}" if said else ""


# --- the two notes ------------------------------------------------------------------------------


def ours(card: Scorecard) -> str:
    """Return what is due to the audit's own choices, complete, in a few short sentences."""
    claims = texts_of(card)
    found = (*_bounds(claims), *_graded(claims), *_worded(claims), *_guessed(card))
    earlier = ("We set the bounds knowing earlier results.",) if card.earlier_results else ()
    return " ".join((*found, *earlier))


def _bounds(claims: Sequence[ClaimText]) -> Iterator[str]:
    turned = [
        f"{one.name} ({said})" for one in claims for r in one.answer.reasons if (said := brief(r))
    ]
    origins = {one.limit.origin for claim in claims for one in claim.base.estimates}
    near = any(arm.answer is Answer.NEAR for one in claims for arm in one.answer.stated)
    if turned:
        yield f"Another bound of ours would change {listed(turned)}."
    elif Provenance.OURS in origins and not near:
        yield "Our bounds, relaxed or tightened, change no answer."


def _graded(claims: Sequence[ClaimText]) -> Iterator[str]:
    graded: dict[str, list[str]] = {}
    for one in claims:
        if one.claim.grade is not None and one.claim.grade.origin == "ours":
            graded.setdefault(f"{one.symbol} = {listed(_primary(one))}", []).append(one.name)
    chosen = [
        f"{listed(names) if len(names) < 3 else counted(len(names), 'claim')} at {place}"
        for place, names in graded.items()
    ]
    if chosen:
        yield f"We judged {listed(chosen)}."


def _worded(claims: Sequence[ClaimText]) -> Iterator[str]:
    for wording, said in (("recalled", "We worded from memory"), ("derived", "We derived")):
        if names := [one.name for one in claims if one.claim.wording == wording]:
            yield f"{said}: {several(names, MOST_NAMES)}."


def _guessed(card: Scorecard) -> Iterator[str]:
    choices = choices_of(card)
    guessed = _names(one for one in choices if not one.reading)
    unvaried = _names(one for one in choices if not one.reading and not one.answers)
    if guessed:
        kinds = {reason.kind for one in card.claims for reason in one.reasons}
        part = ", not for every claim" if ReasonKind.GUESS_NOT_VARIED in kinds else ""
        some = len(guessed) - len(unvaried)
        varied = f"{some}{part}" if some else "none"
        yield f"We guessed {counted(len(guessed), 'setting')} and varied {varied}."


def _primary(claim: ClaimText) -> list[str]:
    grades = [one for one in claim.answer.grades if claim.is_primary(one)]
    places = [one.at for one in grades if one.at is not None]
    return [at_words(one) for one in sorted(places, key=lambda one: (str(type(one)), one))]


def authors_should_state(card: Scorecard) -> str:
    """Return what sources state differently, and what was found in none of those that we read."""
    choices = choices_of(card)
    readings: dict[str, list[Choice]] = {}
    for one in choices:
        if one.reading:
            readings.setdefault(one.words, []).append(one)
    differ = [name if len(same) > 1 else _said(same[0]) for name, same in readings.items()]
    missing = _names(
        one
        for one in sorted(choices, key=lambda one: (not one.changes, bool(one.answers)))
        if not one.reading
    )
    read = listed(card.paper.read) or "what we read"
    parts = [f"which value holds: {listed(differ)}"] if differ else []
    parts += [f"{several(missing, MOST_NAMES)}, not found in {read}"] if missing else []
    return f"{'; '.join(parts)}." if parts else "nothing that we had to guess."


def _said(one: Choice) -> str:
    if one.answers and not one.changes:
        return one.words
    return f"{one.words} ({one.said}{'' if one.answers else ', not run'})"


MOST_FLIPS = 3
"""The most values of guesses that a sentence names; the others are counted."""

MOST_NAMES = 5
"""The most settings that a note names; the others are counted."""


def _names(found: Iterable[Choice]) -> list[str]:
    return list(dict.fromkeys(one.words for one in found))


def closing(claims: Sequence[ClaimAnswer]) -> str:
    """Return one line with the counts of outcomes, failures first."""
    found = Counter(one.outcome for one in claims)
    counts = [f"{found[one]} {one.value}" for one in reversed(Outcome) if found[one]]
    return f"{counted(len(claims), 'claim')}: {', '.join(counts)}."
