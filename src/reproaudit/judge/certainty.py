"""How sure the evidence makes us, and each reason why not surer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reproaudit.audit.arms import Role, alternatives_of
from reproaudit.audit.model import Claim, TierName
from reproaudit.checks import Limit
from reproaudit.formats.verdict import (
    AlternativeAnswer,
    Answer,
    ClaimAnswer,
    Level,
    Outcome,
    Reason,
    ReasonKind,
    Verdict,
)
from reproaudit.judge.arms import varied_of
from reproaudit.judge.readings import Panel, out_of_reach
from reproaudit.stats.binomial import Decision, share_interval

SURE_SHARE = 2 / 3
"""The share of all runs that must agree with the outcome, at the interval's lower end."""

_UNCLEAR = (Answer.UNFINISHED, Answer.OPEN, Answer.NEAR)


@dataclass(frozen=True)
class History:
    """What the records do not say, as far as it bears on certainty.

    Whether the audit was committed when the first run began, the ids of claims of which a bound of
    ours was changed after results, how many earlier results there are, how many of them stood
    before a bound of today, and the experiments of which measurements from elsewhere leave a
    setting unstated.
    """

    committed: bool = True
    changed: frozenset[str] = frozenset()
    earlier: int = 0
    before_bounds: int = 0
    unstated: frozenset[str] = frozenset()


def certainty(
    panel: Panel, judged: ClaimAnswer, history: History
) -> tuple[Level, tuple[Reason, ...]]:
    """Start at high and step down for each reason that fires, for a decided claim."""
    claim = panel.claim
    reasons = (
        *_of_records(panel, judged),
        *_indirect(claim),
        *_readings(panel, judged),
        *_small_side(panel, judged),
        *_guesses(panel, judged),
        *_runs(claim, judged),
        *_controls(claim, judged),
        *_not_alike(judged),
        *_unstated(claim, history),
        *_our_bounds(panel, judged),
        *_history(claim, history),
    )
    return tuple(Level)[min(len(reasons), len(Level) - 1)], reasons


def _of_records(panel: Panel, judged: ClaimAnswer) -> Iterator[Reason]:
    """What is the matter with the records by which the headline was judged, controls' included."""
    shown = panel.under(panel.base)
    arms = [shown.arms[arm.name] for arm in (judged.base, *judged.controls)]
    records = [record for arm in arms for record in shown.recorded(arm).values()]
    if _is_smaller(panel, panel.tier):
        yield Reason(kind=ReasonKind.SCALE)
    if proxies := sorted({record.proxy for record in records if record.proxy}):
        yield Reason(kind=ReasonKind.PROXY, what=proxies[0])
    if origins := sorted({record.origin.who for record in records if record.origin is not None}):
        yield Reason(kind=ReasonKind.ORIGIN, what=origins[0])


def _is_smaller(panel: Panel, tier: TierName) -> bool:
    """Whether the claim's experiment runs with another value at a tier than the paper's."""
    settings = panel.audit.settings_of(panel.claim.experiment).items()
    used = (setting for name, setting in settings if name not in panel.claim.settings)
    return any(setting.at(tier) != setting.value for setting in used)


def _indirect(claim: Claim) -> Iterator[Reason]:
    if claim.wording == "recalled" or any(check.stands_for for check in claim.headline):
        yield Reason(kind=ReasonKind.INDIRECT)


def _readings(panel: Panel, judged: ClaimAnswer) -> Iterator[Reason]:
    """At most one stated reading that is open, near, unfinished or left out."""
    for reading in judged.stated:
        if reading.answer in _UNCLEAR and not panel.arms[reading.name].excused:
            yield Reason(kind=ReasonKind.READING_OPEN, arm=reading.name)
            return
    for varied in judged.left_out[:1]:
        yield Reason(kind=ReasonKind.READING_LEFT_OUT, settings=(varied.setting,))


def _small_side(panel: Panel, judged: ClaimAnswer) -> Iterator[Reason]:
    """A side of a claim that depends, which ran at a smaller scale than the other alone."""
    for side in judged.sides or ():
        if not isinstance(side, AlternativeAnswer) or side.tier == panel.tier:
            continue
        if _is_smaller(panel, side.tier):
            yield Reason(kind=ReasonKind.SMALL_SIDE, arm=side.name)


def _guesses(panel: Panel, judged: ClaimAnswer) -> Iterator[Reason]:
    """At most one reason: an unlikely alternative that answers otherwise, else those unsettled."""
    otherwise = [arm for arm in judged.otherwise if not arm.credible]
    if otherwise and judged.outcome in (Outcome.SUPPORTED, Outcome.NOT_SUPPORTED):
        yield Reason(kind=ReasonKind.GUESS_OTHERWISE, arm=otherwise[0].name)
        return
    clear = (arm for arm in judged.alternatives if arm.counts and arm.answer not in _UNCLEAR)
    answered = {arm.varied for arm in clear}
    settings = panel.audit.settings_of(panel.claim.experiment)
    planned = filter(None, map(varied_of, alternatives_of(panel.audit, panel.claim)))
    credible = (varied for varied in planned if settings[varied.setting].is_credible(varied.value))
    missing = dict.fromkeys(varied.setting for varied in credible if varied not in answered)
    shown = {side.varied.setting for side in judged.sides or () if side.varied is not None}
    if left := tuple(name for name in missing if name not in shown):
        yield Reason(kind=ReasonKind.GUESS_NOT_SETTLED, settings=left)


def _runs(claim: Claim, judged: ClaimAnswer) -> Iterator[Reason]:
    """Too few runs of a reading answer as it does; means and exact answers do not count."""
    for reading in judged.stated:
        by_mean = all(each.decision is not None for each in reading.estimates)
        silent = reading.answer not in (Answer.YES, Answer.NO, Answer.MIXED)
        if claim.exact or by_mean or silent or not reading.n:
            continue
        agree = reading.yes if reading.answer is Answer.YES else reading.valid - reading.yes
        if share_interval(agree, reading.n)[0] < SURE_SHARE:
            yield Reason(kind=ReasonKind.RUNS, arm=reading.name, runs=reading.n - agree)
            return


def _controls(claim: Claim, judged: ClaimAnswer) -> Iterator[Reason]:
    ran = [control for control in judged.controls if control.n]
    if claim.needs_control and not ran:
        yield Reason(kind=ReasonKind.NO_CONTROL)
    if ran and all(control.verdict is Verdict.ITSELF for control in ran):
        yield Reason(kind=ReasonKind.CONTROL_ITSELF, arm=ran[0].name)


def _not_alike(judged: ClaimAnswer) -> Iterator[Reason]:
    """Each kind of thing that was not measured alike and was let pass, once."""
    kinds = {unlike.how: unlike for unlike in reversed(judged.not_alike) if unlike.lowers}
    for unlike in reversed(kinds.values()):
        yield Reason(kind=ReasonKind.NOT_ALIKE, alike=unlike)


def _unstated(claim: Claim, history: History) -> Iterator[Reason]:
    """Arms that are compared, of which nobody states that their other settings are the same."""
    read = (quantity for check in claim.headline for quantity in check.quantities())
    compares = any(quantity.arm is not None for quantity in read)
    if compares and claim.experiment in history.unstated:
        yield Reason(kind=ReasonKind.UNSTATED)


def _our_bounds(panel: Panel, judged: ClaimAnswer) -> Iterator[Reason]:
    """Bounds of ours, tightened all at once, change what a stated reading that says yes says.

    Only a yes is asked again: a no was missed relaxed, too. A bound that the positive control
    would miss when tightened stays as it is.
    """
    claim = panel.claim
    shown = panel.under(panel.base)
    tightened = shown.with_bounds(Limit.tightened)
    kept: list[Limit] = []
    for arm in shown.having(Role.POSITIVE_CONTROL):
        estimates = shown.headline(arm).estimates
        places = out_of_reach(tightened.headline(arm), claim)
        kept = [estimates[place].limit for place in places]

    def tighter(limit: Limit) -> Limit:
        return limit if limit in kept else limit.tightened()

    yes = (Answer.YES, Answer.MIXED)
    pairs = zip(panel.stated, judged.stated, strict=True)
    met = [arm for arm, reading in pairs if reading.answer in yes]
    for part in (panel.under(arm).at(arm, at) for arm in met for at in panel.primary):
        tight = part.with_bounds(tighter)
        if part.decision is not Decision.MET or tight.decision is Decision.MET:
            continue
        missed = {
            place: (not estimate.met, estimate.holds.count(False))
            for place, estimate in enumerate(tight.estimates)
            if estimate.limit != part.estimates[place].limit
        }
        place = max(missed, key=lambda place: missed[place])
        yield Reason(
            kind=ReasonKind.OUR_BOUND,
            arm=part.arm.name,
            place=place,
            runs=missed[place][1],
            stated=part.estimates[place].limit.at,
            bound=tight.estimates[place].limit.at,
        )
        return


def _history(claim: Claim, history: History) -> Iterator[Reason]:
    changed = claim.id in history.changed
    if changed or not history.committed:
        yield Reason(kind=ReasonKind.RULE, changed=changed and history.committed)
