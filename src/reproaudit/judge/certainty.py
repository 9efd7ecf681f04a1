"""How sure the evidence makes us, and each reason why not surer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reproaudit.audit.model import Audit, Claim
from reproaudit.audit.plan import alternatives_of
from reproaudit.checks import Provenance
from reproaudit.judge.decisions import scaled, varied_of
from reproaudit.judge.runs import Bundles
from reproaudit.stats.binomial import FEWEST_RUNS, Decision, share_interval
from reproaudit.verdict import ClaimAnswer, Level, Reason, ReasonKind

SURE_SHARE = 2 / 3
"""The share of all runs that must agree with the outcome, at the interval's lower end."""


@dataclass(frozen=True)
class History:
    """What happened before, as far as it bears on certainty.

    Whether the audit was committed when the first run began, the ids of claims of which a bound of
    ours was changed after results, and how many earlier results there are.
    """

    committed: bool = True
    changed: frozenset[str] = frozenset()
    earlier: int = 0


def certainty(
    bundles: Bundles, found: ClaimAnswer, history: History
) -> tuple[Level, tuple[Reason, ...]]:
    """Start at high and step down for each reason that fires, for a decided claim."""
    claim = bundles.claim
    reasons = (
        *_of_records(bundles, found),
        *_indirect(claim),
        *_readings(bundles, found),
        *_guesses(bundles.audit, claim, found),
        *_runs(claim, found),
        *_nulls(found),
        *_our_bounds(claim, found),
        *_history(claim, history),
    )
    return tuple(Level)[min(len(reasons), len(Level) - 1)], reasons


def _of_records(bundles: Bundles, found: ClaimAnswer) -> Iterator[Reason]:
    """What is the matter with the records by which the headline was judged, nulls' included."""
    arms = [bundles.arms[one.name] for one in (found.base, *found.nulls)]
    records = [record for one in arms for record in bundles.recorded(one).values()]
    if bundles.tier != "paper":
        yield Reason(kind=ReasonKind.SCALE)
    if proxies := sorted({one.proxy for one in records if one.proxy}):
        yield Reason(kind=ReasonKind.PROXY, what=proxies[0])
    if origins := sorted({one.origin.who for one in records if one.origin is not None}):
        yield Reason(kind=ReasonKind.ORIGIN, what=origins[0])


def _indirect(claim: Claim) -> Iterator[Reason]:
    if claim.wording == "recalled" or any(one.stands_for for one in claim.headline):
        yield Reason(kind=ReasonKind.INDIRECT)


def _readings(bundles: Bundles, found: ClaimAnswer) -> Iterator[Reason]:
    needed = [one for one in found.readings if not bundles.arms[one.name].excused]
    late = [one for one in needed if one.valid < FEWEST_RUNS]
    if late:
        yield Reason(kind=ReasonKind.READING_NOT_RUN, arm=late[0].name)
    elif unclear := [one for one in needed if one.decision is Decision.OPEN]:
        yield Reason(kind=ReasonKind.READING_OPEN, arm=unclear[0].name)


def _guesses(audit: Audit, claim: Claim, found: ClaimAnswer) -> Iterator[Reason]:
    """At most one reason for guesses that flip, and one for guesses that were not varied."""
    if found.flips:
        yield Reason(kind=ReasonKind.GUESS_FLIPS, arm=found.flips[0].name)
    answered = {
        one.varied for one in found.alternatives if one.valid >= FEWEST_RUNS and not one.unfinished
    }
    planned = filter(None, map(varied_of, alternatives_of(audit, claim)))
    known = {one.varied.setting for one in found.flips if one.varied is not None}
    open_ = dict.fromkeys(one.setting for one in planned if one not in answered)
    if missing := tuple(one for one in open_ if one not in known):
        yield Reason(kind=ReasonKind.GUESS_NOT_VARIED, settings=missing)


def _runs(claim: Claim, found: ClaimAnswer) -> Iterator[Reason]:
    """Too few runs agree with the outcome; means and exact answers are not counted."""
    base = found.base
    if claim.exact or all(one.decision is not None for one in base.estimates):
        return
    agree = base.yes if 2 * base.yes >= base.n else base.n - base.yes
    if share_interval(agree, base.n)[0] < SURE_SHARE:
        yield Reason(kind=ReasonKind.RUNS, runs=base.n - agree)


def _nulls(found: ClaimAnswer) -> Iterator[Reason]:
    if weak := [one.name for one in found.nulls if one.weak]:
        yield Reason(kind=ReasonKind.WEAK_NULL, arm=weak[0])


def _our_bounds(claim: Claim, found: ClaimAnswer) -> Iterator[Reason]:
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
                    bound = one.limit.scaled(by).at
                    yield Reason(kind=ReasonKind.OUR_BOUND, bound=bound, stated=one.limit.at)
                    return


def _history(claim: Claim, history: History) -> Iterator[Reason]:
    changed = claim.id in history.changed
    if changed or not history.committed:
        yield Reason(kind=ReasonKind.RULE, changed=changed and history.committed)
