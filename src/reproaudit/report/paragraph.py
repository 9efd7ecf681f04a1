"""The colleague's paragraph: a few sentences from typed answers, by eight patterns.

Scale and outcomes (`_opening`), what holds (`_holds`), what does not (`_fails`), what is open
(`_open`), what holds under one reading (`_reading`), what hangs on a guess (`_flips`), a range of
coordinates (`_range`), and the rest (`_rest`). Each names its claim before it says anything of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from reproaudit.audit.model import Audit
from reproaudit.judge import Outcome
from reproaudit.report.model import ArmModel, ChoiceModel, ClaimModel
from reproaudit.report.numbers import at_words, counted, listed, number, of, several, stated

MOST_CLAIMS = 4
"""The most claims that the paragraph names; the others are counted."""


def summary(audit: Audit, tier: str, claims: Sequence[ClaimModel]) -> tuple[str, ...]:
    """Return the paragraph's sentences, the main claim first, then what does not simply hold."""
    if not claims:
        return ("No claim of this paper is judged; its documentation is.",)
    if tier == "smoke":
        return ("The smoke tier shows that every experiment runs; it judges nothing.",)
    ordered = sorted(claims, key=_weight)
    named = [one for one in ordered if one.main or _weight(one) < PLAIN][:MOST_CLAIMS]
    sentences = [_opening(audit, tier, claims)]
    sentences += [_sentence(one) for one in named]
    sentences += _rest([one for one in claims if one not in named])
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


def _sentence(claim: ClaimModel) -> str:
    outcome = Outcome(claim.outcome)
    name = "Main claim" if claim.main else _name(claim)
    if outcome in (Outcome.NOT_TESTED, Outcome.FAILED, Outcome.UNDECIDED):
        return _open(claim, name)
    if outcome is Outcome.NOT_SUPPORTED:
        return _fails(claim, name)
    turned = [one for one in claim.readings if one.n and one.decision != claim.base.decision]
    if turned:
        return _reading(claim, name, turned[0])
    if any(one.decision != "met" for one in claim.grades):
        return _range(claim, name)
    flipping = [one for one in claim.alternatives if one.flips]
    return _flips(claim, name, flipping[0]) if flipping else _holds(claim, name)


# --- the patterns -------------------------------------------------------------------------------


def _opening(audit: Audit, tier: str, claims: Sequence[ClaimModel]) -> str:
    tested = [one for one in claims if one.outcome not in (Outcome.NOT_TESTED, Outcome.FAILED)]
    of_all = len(claims) + len(audit.not_audited)
    scale = "at the paper's own scale" if tier == "paper" else "at reduced scale"
    counts = sorted({one.runs.n for one in tested})
    runs = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else "".join(map(str, counts))
    outcomes = Counter(one.outcome for one in claims)
    said = [
        f"{outcomes[one]} {'is' if outcomes[one] == 1 else 'are'} {one.value}"
        for one in Outcome
        if outcomes[one] and one is not Outcome.NOT_TESTED
    ]
    less = sum(
        one.outcome == Outcome.SUPPORTED and one.certainty.level not in (None, "high")
        for one in claims
    )
    which = "all" if less == outcomes[Outcome.SUPPORTED] else str(less)
    reserved = f", {which} of these with a reservation" if less and tier == "paper" else ""
    each = f", {runs} runs each" if runs else ""
    how = f": {listed(said)}{reserved}" if said else ""
    return f"We tested {len(tested)} of {of_all} listed claims {scale}{each}{how}."


def _holds(claim: ClaimModel, name: str) -> str:
    return f"{name}: {claim.short} in {_runs(claim)} ({_short_effect(claim)}){_tail(claim)}."


def _fails(claim: ClaimModel, name: str) -> str:
    return f"{name} does not hold: {claim.short} in only {_runs(claim)} ({_short_effect(claim)})."


def _open(claim: ClaimModel, name: str) -> str:
    why = claim.certainty.reasons[0].words if claim.certainty.reasons else claim.effect
    verb = {"undecided": "is open", "not tested": "is not tested"}.get(claim.outcome, "failed")
    runs = f"; {claim.short} in {_runs(claim)}" if claim.runs.n else ""
    return f"{name} {verb}: {why}{runs}."


def _reading(claim: ClaimModel, name: str, other: ArmModel) -> str:
    own = claim.base.words if claim.base.setting is not None else "as run"
    holds = {"met": "it holds", "missed": "it does not", "open": "it is open"}
    return (
        f"{name}: {claim.short} in {_runs(claim)} {own}; with {other.words} "
        f"{holds[other.decision]}, {of(other.yes, other.n)}."
    )


def _flips(claim: ClaimModel, name: str, other: ArmModel) -> str:
    return (
        f"{name}: {claim.short} in {_runs(claim)} ({_short_effect(claim)}), but with "
        f"{other.words}, which nobody states, in {of(other.yes, other.n)}."
    )


def _range(claim: ClaimModel, name: str) -> str:
    met = [at_words(one.at) for one in claim.grades if one.decision == "met" and one.at is not None]
    rest = [f"{one.at} ({of(one.yes, one.n)})" for one in claim.grades if one.decision != "met"]
    where = f"{claim.symbol} = {listed(met)}" if met else f"no {claim.symbol}"
    return f"{name}: {claim.short} at {where}, not clearly at {listed(rest)}{_tail(claim)}."


def _rest(others: Sequence[ClaimModel]) -> Iterator[str]:
    plain = [one for one in others if one.outcome == Outcome.SUPPORTED]
    left = [one for one in others if one.outcome != Outcome.SUPPORTED]
    all_runs = all(one.runs.yes == one.runs.n for one in plain)
    if plain:
        names = listed([_name(one) for one in plain])
        how = "in all their runs" if len(plain) > 1 else "in all its runs"
        verb = "hold" if len(plain) > 1 else "holds"
        yield f"{names[:1].upper()}{names[1:]} {verb}{f' {how}' if all_runs else ''}, too."
    if left:
        yield f"See below for {listed([_name(one) for one in left])}."


def _name(claim: ClaimModel) -> str:
    words = claim.id.partition(".")[2].replace("-", " ")
    return words[:1].upper() + words[1:]


def _runs(claim: ClaimModel) -> str:
    return f"{of(claim.runs.yes, claim.runs.n)} runs"


def _short_effect(claim: ClaimModel) -> str:
    return f"{claim.typical}; {claim.bound}" if claim.bound else claim.effect


def _tail(claim: ClaimModel) -> str:
    """Where the other runs end, or what is left without a part of the mechanism."""
    if claim.elsewhere:
        return f"; {claim.elsewhere}"
    for one in claim.ablations:
        if one.specificity == "smaller" and one.effects:
            return f"; without {one.lacks} by less, {number(one.effects[0])}-fold"
        if one.specificity == "not specific":
            return f"; also without {one.lacks}"
        if one.specificity == "specific":
            return f"; not without {one.lacks}"
    return ""


# --- the two notes ------------------------------------------------------------------------------


def ours(
    audit: Audit, claims: Sequence[ClaimModel], unstated: Sequence[ChoiceModel], earlier: int
) -> str:
    """Return what is due to the audit's own choices, complete, in a few short sentences."""
    return " ".join(_ours(audit, claims, unstated, earlier))


def _ours(
    audit: Audit, claims: Sequence[ClaimModel], unstated: Sequence[ChoiceModel], earlier: int
) -> Iterator[str]:
    bounds = dict.fromkeys(
        f"{one.noun} {stated(one.bound)}{'-fold' if one.unit == 'factor' else ''}"
        for claim in claims
        for one in claim.headline
        if one.origin == "ours"
    )
    turned = [_plain(c) for c in claims if any(r.kind == "our bound" for r in c.certainty.reasons)]
    if bounds:
        matters = (
            f"half or double changes {listed(turned)}"
            if turned
            else "half or double changes nothing"
        )
        yield f"Bounds: {several(list(bounds), MOST_NAMES)}; {matters}."
    graded = [
        f"{claim.symbol} = {listed(_primary(claim))} decides {_plain(claim)}"
        for claim, source in zip(claims, audit.claims, strict=False)
        if source.grade is not None and source.grade.origin == "ours"
    ]
    if graded:
        yield f"{listed(graded)}."
    for wording, said in (("recalled", "Worded from memory"), ("derived", "Derived by us")):
        if names := [_plain(one) for one in claims if one.wording == wording]:
            yield f"{said}: {listed(names)}."
    guessed = _names(one for one in unstated if not one.reading)
    unvaried = _names(one for one in unstated if not one.answers)
    if guessed:
        yield f"Guessed: {counted(len(guessed), 'setting')}, listed below."
    if unvaried:
        yield f"Not varied: {several(unvaried, MOST_NAMES)}."
    if earlier:
        yield "Earlier records were in view."


def _primary(claim: ClaimModel) -> list[str]:
    return [at_words(one.at) for one in claim.grades if one.primary and one.at is not None]


def _plain(claim: ClaimModel) -> str:
    return claim.id.partition(".")[2]


def authors_should_state(unstated: Sequence[ChoiceModel]) -> str:
    """Return what neither text nor code says, and where sources differ."""
    differ = _names(one for one in unstated if one.reading)
    missing = _names(one for one in unstated if not one.reading)
    parts = [f"where sources differ: {several(differ, MOST_NAMES)}"] if differ else []
    parts += [f"what nobody says: {several(missing, MOST_NAMES)}"] if missing else []
    return f"{'; '.join(parts)}." if parts else "nothing that we had to guess."


MOST_NAMES = 5
"""The most settings that a note names; the others are counted."""


def _names(found: Iterable[ChoiceModel]) -> list[str]:
    return list(dict.fromkeys(one.words for one in found))


def closing(claims: Sequence[ClaimModel]) -> str:
    """Return one line with the counts of outcomes, failures first."""
    found = Counter(one.outcome for one in claims)
    counts = [f"{found[one]} {one.value}" for one in reversed(Outcome) if found[one]]
    return f"{counted(len(claims), 'claim')}: {', '.join(counts)}."
