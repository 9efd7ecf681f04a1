"""How sure the evidence makes us, and each reason why not surer; and the phrase of a row."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Audit, Claim
from reproaudit.audit.plan import Role, alternatives_of
from reproaudit.checks import Provenance
from reproaudit.judge.decisions import scaled
from reproaudit.judge.model import ClaimAnswer, History, Level, Note, Specificity
from reproaudit.judge.runs import Bundles
from reproaudit.stats.binomial import FEWEST_RUNS, Decision, share_interval

SURE_SHARE = 2 / 3
"""The share of all runs that must agree with the outcome, at the interval's lower end."""


def certainty(
    bundles: Bundles, found: ClaimAnswer, history: History
) -> tuple[Level, tuple[Note, ...]]:
    """Start at high and step down for each reason that fires, for a decided claim."""
    claim = bundles.claim
    reasons = (
        *_of_records(bundles, found),
        *_indirect(claim),
        *_readings(found),
        *_guesses(bundles.audit, claim, found),
        *_runs(claim, found),
        *_nulls(found),
        *_our_bounds(claim, found),
        *_history(claim, history),
    )
    return tuple(Level)[min(len(reasons), len(Level) - 1)], reasons


def _of_records(bundles: Bundles, found: ClaimAnswer) -> Iterator[Note]:
    """What is the matter with the records by which the headline was judged, nulls' included."""
    arms = [found.base.arm, *(one.arm for one in found.nulls)]
    records = [record for one in arms for record in bundles.recorded(one).values()]
    if bundles.tier != "paper":
        yield Note("scale", {"tier": bundles.tier})
    if proxies := sorted({one.proxy for one in records if one.proxy}):
        yield Note("proxy", {"proxy": proxies[0]})
    if origins := sorted({one.origin.who for one in records if one.origin is not None}):
        yield Note("origin", {"who": origins[0]})


def _indirect(claim: Claim) -> Iterator[Note]:
    if claim.wording == "recalled":
        yield Note("indirect", {"recalled": True})
    elif stands := [one.stands_for for one in claim.headline if one.stands_for]:
        yield Note("indirect", {"stands_for": stands[0]})


def _readings(found: ClaimAnswer) -> Iterator[Note]:
    needed = [one for one in found.readings if not one.arm.excused]
    late = [one for one in needed if one.valid < FEWEST_RUNS]
    if late:
        yield Note("reading not run", {"varied": late[0].arm.varied, "role": late[0].arm.role})
        return
    if unclear := [one for one in needed if one.decision is Decision.OPEN]:
        one = unclear[0]
        yield Note("reading open", {"varied": one.arm.varied, "yes": one.yes, "n": one.n})


def _guesses(audit: Audit, claim: Claim, found: ClaimAnswer) -> Iterator[Note]:
    """At most one reason for guesses that flip, and one for guesses that were not varied."""
    flips = [one.answer.arm.varied or ("", "") for one in found.alternatives if one.flips]
    if flips:
        setting, value = flips[0]
        yield Note("guess flips", {"setting": setting, "value": value, "count": len(flips)})
    varied = {
        one.answer.arm.varied
        for one in found.alternatives
        if one.answer.valid >= FEWEST_RUNS and not one.unfinished
    }
    open_ = [
        one.varied[0]
        for one in alternatives_of(audit, claim)
        if one.varied is not None and one.varied not in varied
    ]
    if missing := [one for one in dict.fromkeys(open_) if one not in dict(flips)]:
        yield Note("guess not varied", {"settings": tuple(missing)})


def _runs(claim: Claim, found: ClaimAnswer) -> Iterator[Note]:
    """Too few runs agree with the outcome; means and exact answers are not counted."""
    base = found.base
    if claim.exact or all(one.decision is not None for one in base.estimates):
        return
    agree = base.yes if 2 * base.yes >= base.n else base.n - base.yes
    if share_interval(agree, base.n)[0] < SURE_SHARE:
        yield Note("runs", {"disagree": base.n - agree, "n": base.n})


def _nulls(found: ClaimAnswer) -> Iterator[Note]:
    if weak := [one.arm.name for one in found.nulls if one.weak]:
        yield Note("weak null", {"null": weak[0]})


def _our_bounds(claim: Claim, found: ClaimAnswer) -> Iterator[Note]:
    """A bound of ours, halved or doubled, changes what the claim's runs or a reading's say."""
    parts = [one for one in found.grades if claim.grade and one.at in claim.grade.primary]
    decided = [one for one in found.readings if one.decision is not Decision.OPEN]
    for part in (*(parts or [found.base]), *decided):
        for place, one in enumerate(part.estimates):
            if one.limit.origin is not Provenance.OURS:
                continue
            as_is = scaled(part, place, 1.0, claim)
            for by in (0.5, 2.0):
                if scaled(part, place, by, claim) is not as_is:
                    bounds = {"bound": one.limit.scaled(by).at, "stated": one.limit.at}
                    yield Note("our bound", {"noun": one.condition.noun, **bounds})
                    return


def _history(claim: Claim, history: History) -> Iterator[Note]:
    if not history.committed:
        yield Note("rule", {"changed": False})
    elif claim.id in history.changed:
        yield Note("rule", {"changed": True})


def phrases(claim: Claim, found: ClaimAnswer) -> tuple[Note, ...]:
    """Return what a row says in at most eight words, the weightiest first."""
    return tuple(_phrases(claim, found))


def _phrases(claim: Claim, found: ClaimAnswer) -> Iterator[Note]:
    if flips := [one.answer.arm.varied for one in found.alternatives if one.flips]:
        setting, value = flips[0] or ("", "")
        yield Note("depends on", {"setting": setting, "value": value})
    base = found.base
    for reading in found.readings:
        if reading.valid >= FEWEST_RUNS and reading.decision is not base.decision:
            values = {"varied": reading.arm.varied, "decision": reading.decision}
            yield Note("under reading", values)
    for ablation in found.ablations:
        if ablation.specificity in (Specificity.NOT_SPECIFIC, Specificity.SMALLER):
            lacks = {"lacks": ablation.answer.arm.lacks, "effects": ablation.effects}
            yield Note(ablation.specificity.value, lacks)
    if claim.elsewhere is not None and 0 < base.n - base.yes < base.n:
        yield Note("elsewhere", {"runs": base.n - base.yes, "says": claim.elsewhere.says})
    if base.arm.role is Role.READING:
        yield Note("given", {"varied": base.arm.varied})
