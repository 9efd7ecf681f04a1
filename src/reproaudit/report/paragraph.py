"""The colleague's paragraph: a few sentences from typed answers, by eight patterns.

Scale and outcomes (`_opening`), what holds (`_holds`), what does not (`_fails`), what is open
(`_open`), what holds under one reading (`_reading`), what hangs on a guess (`_flips`), a range of
coordinates (`_range`), and the rest (`_rest`). Each names its claim before it says anything of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from reproaudit.audit.model import Audit
from reproaudit.judge import Level, Outcome
from reproaudit.report.model import ArmModel, ChoiceModel, ClaimModel
from reproaudit.report.numbers import at_words, counted, listed, number, of, several
from reproaudit.report.words import AT_REDUCED_SCALE

MOST_CLAIMS = 4
"""The most claims that the paragraph names; the others are counted."""


def summary(audit: Audit, tier: str, claims: Sequence[ClaimModel]) -> tuple[str, ...]:
    """Return the paragraph's sentences, the main claim first, then what does not simply hold."""
    if not claims:
        return ("No claim of this paper is judged; its documentation is.",)
    if tier == "smoke":
        failed = [one.name for one in claims if any(run.status == "failed" for run in one.per_run)]
        if failed:
            return (f"The smoke tier judges nothing; runs of {listed(failed)} failed.",)
        return ("The smoke tier shows that every experiment runs; it judges nothing.",)
    ordered = sorted(claims, key=_weight)
    named = [one for one in ordered if one.main or _weight(one) < PLAIN][:MOST_CLAIMS]
    sentences = [_opening(audit, tier, claims)]
    sentences += [_sentence(one, tier == "paper") for one in named]
    sentences += _rest([one for one in claims if one not in named], tier == "paper")
    return tuple(sentences)


PLAIN = 6
"""The weight of a claim that simply holds."""


def _weight(claim: ClaimModel) -> int:
    """The order: main claim, missed, partly, open, by guess, not in every run, the plain ones."""
    outcome = Outcome(claim.outcome)
    if claim.main:
        return 0
    if outcome in (Outcome.NOT_SUPPORTED, Outcome.FAILED):
        return 1
    if outcome is Outcome.PARTLY_SUPPORTED:
        return 2
    if outcome in (Outcome.UNDECIDED, Outcome.NOT_TESTED):
        return 3
    if any(one.decision != "met" and one.n for one in claim.readings):
        return 3
    if any(one.flips for one in claim.alternatives):
        return 4
    if claim.runs.yes < claim.runs.n or any(one.decision != "met" for one in claim.grades):
        return 5
    return PLAIN


def _sentence(claim: ClaimModel, sure: bool) -> str:
    said = _said_of(claim, sure)
    return f"{said} It ran on a stand-in: {claim.proxy}." if claim.proxy else said


def _said_of(claim: ClaimModel, sure: bool) -> str:
    outcome = Outcome(claim.outcome)
    name = "Main claim" if claim.main else _name(claim)
    aside = ["partly supported"] if outcome is Outcome.PARTLY_SUPPORTED else []
    if sure and claim.certainty.level is not None:
        aside.append(f"certainty {claim.certainty.level}")
    if aside:
        name += f" ({', '.join(aside)})"
    if outcome in (Outcome.NOT_TESTED, Outcome.FAILED, Outcome.UNDECIDED):
        return _open(claim, name)
    if outcome is Outcome.NOT_SUPPORTED:
        return _fails(claim, name)
    turned = [one for one in claim.readings if claim.changed_by(one)]
    if turned:
        return _reading(claim, name, turned)
    if any(one.decision != "met" for one in claim.grades):
        return _range(claim, name)
    flipping = [one for one in claim.alternatives if one.flips]
    return _flips(claim, name, flipping) if flipping else _holds(claim, name)


# --- the patterns -------------------------------------------------------------------------------


def _opening(audit: Audit, tier: str, claims: Sequence[ClaimModel]) -> str:
    tested = [one for one in claims if one.outcome not in (Outcome.NOT_TESTED, Outcome.FAILED)]
    of_all = len(claims) + len(audit.not_audited)
    scale = "at the paper's own scale" if tier == "paper" else "at reduced scale"
    counts = sorted({one.runs.n for one in tested})
    runs = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else "".join(map(str, counts))
    outcomes = Counter(one.outcome for one in claims)
    said = [
        f"{outcomes[one]} {one.value}"
        for one in Outcome
        if outcomes[one] and one is not Outcome.NOT_TESTED
    ]
    each = f", {runs} runs each" if runs else ""
    how = f": {', '.join(said)}" if said else ""
    return f"We tested {len(tested)} of {of_all} listed claims {scale}{each}{how}."


def _holds(claim: ClaimModel, name: str) -> str:
    return f"{name}: {claim.short} in {_runs(claim)} ({claim.typical}){_tail(claim)}."


def _fails(claim: ClaimModel, name: str) -> str:
    built, flipping = claim.constructed, [one for one in claim.alternatives if one.flips]
    by_hand = f"; built by hand, {of(built.yes, built.n)} do" if built and built.n else ""
    own = f" with {claim.base.words}" if claim.base.setting is not None else ""
    read = [one for one in claim.readings if one.n and one.decision == "open"]
    opened = "".join(f", and in {of(one.yes, one.n)} with {one.words}" for one in read)
    met = [f"{one.noun} ({one.figure})" for one in claim.headline if one.met and one.figure]
    as_asked = f"; the bound on {listed(met)} is met" if met else ""
    return (
        f"{name} is not supported: {claim.short} in {_runs(claim)}{own} "
        f"({claim.typical}){opened}{as_asked}{by_hand}{_hangs(flipping)}."
    )


def _open(claim: ClaimModel, name: str, *, briefly: bool = False) -> str:
    why = claim.certainty.reasons[0].words if claim.certainty.reasons else claim.effect
    verb = {"undecided": "is open", "not tested": "is not tested"}.get(claim.outcome, "failed")
    runs = f"; {claim.short} in {_runs(claim)}" if claim.runs.n and not briefly else ""
    return f"{name} {verb}: {why}{runs}."


def _reading(claim: ClaimModel, name: str, others: Sequence[ArmModel]) -> str:
    own = f" with {claim.base.words}" if claim.base.setting is not None else ""
    each = [
        f"{of(one.yes, one.n)} with {_value(one)}{_figure(claim, one)}"
        f"{', which leaves it open' if one.decision == 'open' else ''}"
        for one in others
    ]
    return (
        f"{name}: {claim.short} in {_runs(claim)}{own} ({claim.typical}), "
        f"but in {listed(each)}{_tail(claim)}."
    )


def _figure(claim: ClaimModel, arm: ArmModel) -> str:
    """The number of another arm that answers to the claim's own in the row."""
    if claim.shown is None or not arm.estimates or arm.decision == "open":
        return ""
    found = arm.estimates[claim.shown].figure
    return f" ({found})" if found else ""


def _value(arm: ArmModel) -> str:
    """A reading with its source: steps between redraws 100 on the card."""
    return " ".join(filter(None, (arm.words, arm.source)))


def _flips(claim: ClaimModel, name: str, others: Sequence[ArmModel]) -> str:
    return f"{name}: {claim.short} in {_runs(claim)} ({claim.typical}){_hangs(others)}."


def _hangs(others: Sequence[ArmModel]) -> str:
    """On which guesses an answer hangs, each setting by its first value that changes it."""
    if not others:
        return ""
    first = {one.setting: one for one in reversed(others)}
    alike: dict[str, list[str]] = {}
    for one in reversed(first.values()):
        alike.setdefault(of(one.yes, one.n), []).append(one.words)
    each = [f"in {count} with {' or '.join(words)}" for count, words in alike.items()]
    scale = AT_REDUCED_SCALE if any(one.tier for one in others) else ""
    return f", but {several(each, MOST_FLIPS)} (unstated{scale})"


def _range(claim: ClaimModel, name: str) -> str:
    at: dict[str, list[str]] = {"met": [], "missed": [], "open": []}
    for one in claim.grades:
        if one.at is not None:
            count = "" if one.decision == "met" else f" ({of(one.yes, one.n)})"
            at[one.decision].append(f"{at_words(one.at)}{count}")
    said = f"at {claim.symbol} = {listed(at['met'])}" if at["met"] else f"at no {claim.symbol}"
    for where, decision in (("not at", "missed"), ("open at", "open")):
        if at[decision] and at["met"]:
            said += f", {where} {listed(at[decision])}"
    return f"{name}: {claim.short} {said}{_tail(claim)}."


def _rest(others: Sequence[ClaimModel], sure: bool) -> Iterator[str]:
    supported = [one for one in others if one.outcome == Outcome.SUPPORTED]
    whole = [one for one in supported if one.runs.yes == one.runs.n]
    left = [one for one in others if one.outcome != Outcome.SUPPORTED]
    if whole:
        plain = [one for one in whole if not _exception(one)]
        each = [_by_level(plain, sure)] if plain else []
        each += [f"{_by_level([one], sure)}{_exception(one)}" for one in whole if one not in plain]
        its = "its" if len(whole) == 1 else "their"
        yield f"Also supported in all {its} runs: {'; '.join(each)}."
    if rest := [one for one in supported if one not in whole]:
        each = [f"{_by_level([one], sure)}, {of(one.runs.yes, one.runs.n)}" for one in rest]
        yield f"{'Supported' if whole else 'Also supported'}: {'; '.join(each)}."
    if len(left) == 1:
        yield _open(left[0], _name(left[0]), briefly=True)
    elif left:
        yield f"See below for {listed([_name(one).lower() for one in left])}."


def _by_level(claims: Sequence[ClaimModel], sure: bool) -> str:
    """Names of claims, with how sure we are: a and b (high); c (low)."""
    levels: dict[str, list[str]] = {level: [] for level in ("", *Level)}
    for one in claims:
        levels[(sure and one.certainty.level) or ""].append(one.name)
    return "; ".join(
        f"{listed(names)}{f' ({level})' if level else ''}"
        for level, names in levels.items()
        if names
    )


def _exception(claim: ClaimModel) -> str:
    """Where a supported claim does not hold: under a reading, a guess, at a coordinate; else ''."""
    read = [one for one in claim.readings if one.n and one.decision != "met"]
    if read:
        return f", but {of(read[0].yes, read[0].n)} with {read[0].words}"
    flips = [one for one in claim.alternatives if one.flips]
    if flips:
        return f", but {of(flips[0].yes, flips[0].n)} with {flips[0].words}"
    found = min(claim.grades, key=lambda one: one.yes - one.n, default=None)
    if found is None or found.yes == found.n or found.at is None:
        return ""
    return f", but {of(found.yes, found.n)} at {claim.symbol} = {at_words(found.at)}"


def _name(claim: ClaimModel) -> str:
    words = claim.name.replace("-", " ")
    return words[:1].upper() + words[1:]


def _runs(claim: ClaimModel) -> str:
    return f"{of(claim.runs.yes, claim.runs.n)} runs"


def _tail(claim: ClaimModel) -> str:
    """Where the other runs end, or what is left without a part of the mechanism."""
    if claim.elsewhere:
        return f"; {claim.elsewhere}"
    said = []
    for one in claim.ablations:
        if one.specificity == "smaller" and one.effects:
            said.append(f"without {one.lacks} by less, {number(one.effects[0])}-fold")
        elif one.specificity != "open":
            said.append(f"without {one.lacks} in {of(one.yes, one.n)}")
    return f"; {listed(said)}" if said else ""


# --- the two notes ------------------------------------------------------------------------------


def ours(
    audit: Audit, claims: Sequence[ClaimModel], unstated: Sequence[ChoiceModel], earlier: int
) -> str:
    """Return what is due to the audit's own choices, complete, in a few short sentences."""
    return " ".join(_ours(audit, claims, unstated, earlier))


def _ours(
    audit: Audit, claims: Sequence[ClaimModel], unstated: Sequence[ChoiceModel], earlier: int
) -> Iterator[str]:
    turned = [
        f"{one.name} ({reason.brief})"
        for one in claims
        for reason in one.certainty.reasons
        if reason.brief
    ]
    if turned:
        yield f"Another bound of ours would change {listed(turned)}."
    elif any(one.origin == "ours" for claim in claims for one in claim.headline):
        yield "Our bounds, halved or doubled, change no answer."
    graded: dict[str, list[str]] = {}
    for claim, source in zip(claims, audit.claims, strict=False):
        if source.grade is not None and source.grade.origin == "ours":
            place = f"{claim.symbol} = {listed(_primary(claim))}"
            graded.setdefault(place, []).append(claim.name)
    chosen = [
        f"{listed(names) if len(names) < 3 else counted(len(names), 'claim')} at {place}"
        for place, names in graded.items()
    ]
    if chosen:
        yield f"We judged {listed(chosen)}."
    for wording, said in (("recalled", "We worded from memory"), ("derived", "We derived")):
        if names := [one.name for one in claims if one.wording == wording]:
            yield f"{said}: {several(names, MOST_NAMES)}."
    guessed = _names(one for one in unstated if not one.reading)
    unvaried = _names(one for one in unstated if not one.reading and not one.answers)
    if guessed:
        kinds = {reason.kind for one in claims for reason in one.certainty.reasons}
        part = ", not for every claim" if "guess not varied" in kinds else ""
        some = len(guessed) - len(unvaried)
        varied = f"{some}{part}" if some else "none"
        yield f"We guessed {counted(len(guessed), 'setting')} and varied {varied}."
    if earlier:
        yield "We set the bounds knowing earlier results."


def _primary(claim: ClaimModel) -> list[str]:
    places = [one.at for one in claim.grades if one.primary and one.at is not None]
    return [at_words(one) for one in sorted(places, key=lambda one: (str(type(one)), one))]


def authors_should_state(audit: Audit, unstated: Sequence[ChoiceModel]) -> str:
    """Return what sources state differently, and what was found in none of those that we read."""
    readings: dict[str, list[ChoiceModel]] = {}
    for one in unstated:
        if one.reading:
            readings.setdefault(one.words, []).append(one)
    differ = [name if len(same) > 1 else _said(same[0]) for name, same in readings.items()]
    missing = _names(
        one
        for one in sorted(unstated, key=lambda one: (not one.changes, bool(one.answers)))
        if not one.reading
    )
    read = listed(audit.paper.read) or "what we read"
    parts = [f"which value holds: {listed(differ)}"] if differ else []
    parts += [f"{several(missing, MOST_NAMES)}, not found in {read}"] if missing else []
    return f"{'; '.join(parts)}." if parts else "nothing that we had to guess."


def _said(one: ChoiceModel) -> str:
    if one.answers and not one.changes:
        return one.words
    return f"{one.words} ({one.said}{'' if one.answers else ', not run'})"


def choice_name(one: ChoiceModel) -> str:
    """Return what a page calls a choice; an experiment's own with the experiment."""
    experiment = one.setting.rpartition(".")[0].replace("_", " ")
    return f"{one.words} in {experiment}" if experiment else one.words


MOST_FLIPS = 3
"""The most values of guesses that a sentence names; the others are counted."""

MOST_NAMES = 5
"""The most settings that a note names; the others are counted."""


def _names(found: Iterable[ChoiceModel]) -> list[str]:
    return list(dict.fromkeys(one.words for one in found))


def closing(claims: Sequence[ClaimModel]) -> str:
    """Return one line with the counts of outcomes, failures first."""
    found = Counter(one.outcome for one in claims)
    counts = [f"{found[one]} {one.value}" for one in reversed(Outcome) if found[one]]
    return f"{counted(len(claims), 'claim')}: {', '.join(counts)}."
