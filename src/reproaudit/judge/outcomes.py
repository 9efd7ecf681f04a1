"""The conclusion on a claim: its outcome, what ablations tell, and why there is no answer."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from reproaudit.audit.arms import Role, left_out_readings
from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.checks import Limit, Void
from reproaudit.formats.verdict import (
    DECIDED,
    AblationAnswer,
    AlternativeAnswer,
    Answer,
    ArmAnswer,
    ClaimAnswer,
    ControlAnswer,
    Counted,
    Estimate,
    Outcome,
    ReadingAnswer,
    Reason,
    ReasonKind,
    Specificity,
    Status,
    Verdict,
    first_contrast,
)
from reproaudit.judge.alike import let_pass
from reproaudit.judge.arms import ArmAtLevel, answer_to_check, arm_answer, ask, varied_of
from reproaudit.judge.bundles import Records
from reproaudit.judge.certainty import History, certainty
from reproaudit.judge.decisions import missing_runs, runs_until_answer
from reproaudit.judge.readings import Panel, out_of_reach, rarer
from reproaudit.stats.binomial import Decision
from reproaudit.stats.means import decide_mean


def judge(
    audit: Audit,
    tier: TierName,
    records: Records,
    history: History | None = None,
    lower: Records | None = None,
) -> tuple[ClaimAnswer, ...]:
    """Conclude on every claim of an audit from the records of one tier; smoke judges nothing.

    `lower` are the quick tier's records, where alternatives of the paper tier may have run.
    """
    return tuple(
        judge_claim(audit, claim, tier, records, history or History(), lower)
        for claim in audit.claims
    )


def judge_claim(
    audit: Audit,
    claim: Claim,
    tier: TierName,
    records: Records,
    history: History,
    lower: Records | None = None,
) -> ClaimAnswer:
    """Conclude on one claim; arguments as `judge`."""
    panel = Panel.of(audit, claim, tier, records).telling()
    stated = [panel.reading(arm) for arm in panel.stated]
    judged = _judged(panel, stated, records, lower)
    outcome = conclude(panel, judged, stated)
    level = None
    if tier == "smoke":
        outcome = Outcome.NOT_TESTED
        reasons: tuple[Reason, ...] = (Reason(kind=ReasonKind.SMOKE),)
    elif crashes_matter(panel, judged, outcome):
        outcome = Outcome.ERROR
        crashed = sum(reading.crashed for reading in judged.stated)
        reasons = (Reason(kind=ReasonKind.CRASHED, runs=crashed),)
    elif outcome in DECIDED:
        level, reasons = certainty(panel, _concluded(judged, outcome=outcome), history)
    else:
        reasons = (next(_why_none(panel, judged, outcome)),)
    return _concluded(
        judged,
        outcome=outcome,
        level=level,
        reasons=reasons,
        other_bounds=_other_bounds(panel, judged, outcome, records, lower),
    )


def _concluded(judged: ClaimAnswer, **conclusion: Any) -> ClaimAnswer:
    """The answer with what follows from its arms, validated anew."""
    return ClaimAnswer(**{**dict(judged), **conclusion})


def _judged(
    panel: Panel, stated: Sequence[ReadingAnswer], records: Records, lower: Records | None
) -> ClaimAnswer:
    """What the arms of a claim answer, of which some are judged already: the stated readings."""
    claim = panel.claim
    shown = panel.under(panel.base)
    base, *readings = stated
    levels = map(shown.level, claim.grade.easiest_first if claim.grade is not None else ())
    left_out = filter(panel.can_move, left_out_readings(panel.audit, claim))
    nulls = shown.having(Role.CONTROL)
    built = shown.having(Role.POSITIVE_CONTROL)
    controls = shown.controls()
    own = shown.recorded(panel.base).values()
    return ClaimAnswer(
        id=claim.id,
        base=base,
        cannot_fail=_cannot_fail(claim, base, controls),
        proxy=next((run.proxy for run in own if run.proxy), None),
        not_alike=let_pass(shown, claim.headline, shown.base, nulls),
        grades=tuple(level for level in levels if level.valid),
        support=tuple(answer_to_check(shown, check, panel.base) for check in claim.support),
        notes=tuple(answer_to_check(shown, check, panel.base) for check in claim.notes),
        readings=tuple(readings),
        left_out=tuple(filter(None, map(varied_of, left_out))),
        controls=controls,
        ablations=tuple(_ablation(base, shown.levels(arm)) for arm in shown.having(Role.ABLATION)),
        positive_control=shown.headline(built[0]) if built else None,
        alternatives=_alternatives(panel, _own(stated).answer, records, lower),
    )


# --- the outcome --------------------------------------------------------------------------------


def conclude(
    panel: Panel,
    judged: ClaimAnswer,
    stated: Sequence[ReadingAnswer],
    crashed: Mapping[int, Status] | None = None,
) -> Outcome:
    """Return the outcome that follows from what the readings answer; the first that applies.

    Nothing is tested where no stated reading ran and was measured. That every stated reading is
    ruled out leaves it undecided where each of them only `diverges`.

    Args:
        panel: the arms of the claim.
        judged: what its other arms answer.
        stated: what the readings answer that a source states.
        crashed: what crashed runs of these readings are taken to say, by the reading's place.
    """
    if all(reading.answer is Answer.UNFINISHED and not reading.is_measured for reading in stated):
        return Outcome.NOT_TESTED
    credible = {arm.answer for arm in judged.alternatives if arm.counts and arm.credible}
    answers = [reading.answer for reading in stated] + [Answer.UNFINISHED for _ in judged.left_out]
    pairs = zip(panel.stated, stated, strict=True)
    astray = all(panel.under(arm).diverges(reading.runs) for arm, reading in pairs)
    if astray and set(answers) == {Answer.RULED_OUT}:
        return Outcome.UNDECIDED
    lacks_support = _lacks_support(panel, stated, crashed or {})
    return outcome_of(answers, _own(stated).answer, credible, lacks_support=lacks_support)


def _other_bounds(
    panel: Panel, judged: ClaimAnswer, outcome: Outcome, records: Records, lower: Records | None
) -> tuple[Outcome, ...]:
    """The other outcomes that follow with every bound of ours twice as wide, or half as wide."""
    others = []
    for change in (Limit.relaxed, Limit.tightened) if outcome not in _NOT_JUDGED else ():
        there = panel.with_bounds(change)
        stated = [there.reading(arm) for arm in there.stated]
        alternatives = _alternatives(there, _own(stated).answer, records, lower)
        others.append(conclude(there, _concluded(judged, alternatives=alternatives), stated))
    return tuple(other for other in others if other is not outcome)


_NOT_JUDGED = (Outcome.NOT_TESTED, Outcome.ERROR)


def _own(stated: Sequence[ReadingAnswer]) -> ReadingAnswer:
    """The reading of the claim's own settings."""
    return next(reading for reading in stated if reading.role is Role.OWN)


def outcome_of(
    stated: Sequence[Answer], own: Answer, credible: Collection[Answer], *, lacks_support: bool
) -> Outcome:
    """Return the outcome of what stated readings and credible alternatives that ran answer.

    Args:
        stated: the answers of the readings that a source states, in any order.
        own: the answer of the claim's own settings, one of them.
        credible: the answers of the credible alternatives that ran.
        lacks_support: whether a check of `support` is missed, relaxed, where a stated reading
            says yes.
    """
    finished = {answer for answer in stated if answer is not Answer.UNFINISHED}
    silent = {Answer.BLIND, Answer.RULED_OUT}
    if finished <= silent and Answer.BLIND in finished:
        return Outcome.UNINFORMATIVE
    both = {Answer.YES, Answer.NO}
    if both <= finished or (own in both and both <= {own, *credible}):
        return Outcome.DEPENDS
    if Answer.MIXED in finished:
        return Outcome.PARTLY_SUPPORTED
    if Answer.YES in finished:
        return Outcome.PARTLY_SUPPORTED if lacks_support else Outcome.SUPPORTED
    telling = [answer for answer in stated if answer not in silent]
    in_doubt = {Answer.YES, Answer.NEAR, Answer.OPEN} & set(credible)
    if all(answer is Answer.NO for answer in telling) and not in_doubt:
        return Outcome.NOT_SUPPORTED
    return Outcome.UNDECIDED


def crashes_matter(panel: Panel, judged: ClaimAnswer, outcome: Outcome) -> bool:
    """Tell whether crashed runs of stated readings, saying yes or no, could change the outcome."""
    broken = [place for place, reading in enumerate(judged.stated) if reading.crashed]
    if not broken:
        return False
    for chosen in itertools.product((Status.YES, Status.NO), repeat=len(broken)):
        supposed = dict(zip(broken, chosen, strict=True))
        arms = enumerate(panel.stated)
        stated = [panel.reading(arm, supposed.get(place)) for place, arm in arms]
        if conclude(panel, judged, stated, supposed) is not outcome:
            return True
    return False


def _lacks_support(
    panel: Panel, stated: Sequence[ReadingAnswer], crashed: Mapping[int, Status]
) -> bool:
    """Whether a check of `support` is missed, relaxed, where a stated reading says yes."""
    for place, (arm, reading) in enumerate(zip(panel.stated, stated, strict=True)):
        checks = panel.claim.support if reading.answer is Answer.YES else ()
        for check in checks:
            asked = ask(panel.under(arm), (check,), arm)
            if place in crashed:
                asked = asked.supposing(crashed[place], (Status.CRASHED,))
            loosened = asked.decision if panel.bounds is Limit.tightened else asked.relaxed
            if loosened is Decision.MISSED:
                return True
    return False


def _alternatives(
    panel: Panel, expected: Answer, records: Records, lower: Records | None
) -> tuple[AlternativeAnswer, ...]:
    """Every alternative that has runs; those of a lower tier where no whole one has answered."""
    whole = panel.alternatives(records, panel.tier, expected)
    small = [] if lower is None else panel.alternatives(lower, "quick", expected)
    answered = {arm.varied for arm in whole if arm.answer is not Answer.UNFINISHED}
    return (*whole, *(arm for arm in small if arm.varied not in answered))


# --- why there is no outcome --------------------------------------------------------------------


def _why_none(panel: Panel, judged: ClaimAnswer, outcome: Outcome) -> Iterator[Reason]:
    """Yield why nothing follows, the weightiest first."""
    if outcome is Outcome.NOT_TESTED:
        yield from _not_tested(panel, judged)
    if outcome is Outcome.UNINFORMATIVE:
        pairs = zip(panel.stated, judged.stated, strict=True)
        arm, blind = next(pair for pair in pairs if pair[1].answer is Answer.BLIND)
        yield from _blind(panel.under(arm), blind.by)
    yield from _undecided(panel, judged)


def _not_tested(panel: Panel, judged: ClaimAnswer) -> Iterator[Reason]:
    base = judged.base
    for name in base.lacks:
        yield Reason(kind=ReasonKind.NOT_MEASURED, what=name)
    yield Reason(kind=ReasonKind.TOO_FEW, runs=runs_until_answer(base, panel.claim))


def _unfinished(panel: Panel, judged: ClaimAnswer, reading: ReadingAnswer) -> Iterator[Reason]:
    """Why a stated reading is not finished: void runs alone, too few, a control that has not run.

    The claim's own runs are not named where no other reading is stated.
    """
    if reading.n and reading.void == reading.n:
        yield from _voids(reading)
    missing = missing_runs(reading, panel.claim)
    if missing and not judged.readings:
        until = runs_until_answer(reading, panel.claim)
        yield Reason(kind=ReasonKind.TOO_FEW, runs=until)
    if missing:
        yield Reason(kind=ReasonKind.READING_UNFINISHED, arm=reading.name, runs=missing)
    if reading.by:
        yield from _control_open(panel, judged, reading.by)
    yield from _voids(reading)


def _voids(arm: ArmAnswer) -> Iterator[Reason]:
    """What most of the void runs of an arm have in common."""
    voids = [run for run in arm.runs if run.void is not None]
    kinds = Counter((run.void, run.about) for run in voids)
    for (void, about), count in kinds.most_common(1):
        found = [run.found for run in voids if (run.void, run.about) == (void, about)]
        is_told = found[0] is not None and (void is not Void.NOT_AS_FAR or len({*found}) == 1)
        known: dict[str, Any] = {"found": found[0]} if is_told else {}
        yield Reason(
            kind=ReasonKind.VOID_RUNS, arm=arm.name, void=void, what=about, runs=count, **known
        )


def _blind(panel: Panel, by: str) -> Iterator[Reason]:
    """What makes a panel's own reading blind: a control, or the positive one."""
    for control in panel.controls():
        if control.name == by:
            passes = control.verdict is Verdict.PASSES
            kind = ReasonKind.CONTROL_PASSES if passes else ReasonKind.CONTROL_LARGER
            yield Reason(kind=kind, arm=control.name)
    for arm in panel.having(Role.POSITIVE_CONTROL):
        for place in out_of_reach(panel.headline(arm), panel.claim):
            yield Reason(kind=ReasonKind.OUT_OF_REACH, arm=arm.name, place=place)


def _undecided(panel: Panel, judged: ClaimAnswer) -> Iterator[Reason]:
    base = judged.base
    for arm, reading in zip(panel.stated, judged.stated, strict=True):
        there = panel.under(arm)
        if reading.answer in (Answer.OPEN, Answer.RULED_OUT) and there.diverges(reading.runs):
            yield Reason(
                kind=ReasonKind.ALL_DIVERGED,
                arm=reading.name,
                runs=reading.diverged,
                settings=there.guesses,
                what=there.diverged_too,
            )
    for reading in judged.stated:
        if reading.answer is Answer.UNFINISHED:
            yield from _unfinished(panel, judged, reading)
    for varied in judged.left_out:
        yield Reason(kind=ReasonKind.READING_LEFT_OUT, settings=(varied.setting,))
    if base.answer is Answer.OPEN and 2 * base.void >= base.n:
        yield from _voids(base)
    if base.answer is Answer.OPEN and base.by:
        yield from _diverged(panel.under(panel.base), base.by)
        yield from _control_open(panel, judged, base.by)
    if _still_moves(panel, base):
        yield Reason(kind=ReasonKind.NOT_ENDED)
    for reading in judged.stated:
        if reading.answer is Answer.NEAR:
            yield _near(reading)
    if len({grade.answer for grade in judged.grades if grade.at in panel.primary}) > 1:
        yield Reason(kind=ReasonKind.LEVELS)
    if base.answer is Answer.OPEN:
        yield from _of_conditions(base)
    for reading in judged.readings:
        if reading.answer is Answer.OPEN:
            yield Reason(kind=ReasonKind.READING_OPEN, arm=reading.name)
    doubt = (Answer.YES, Answer.NEAR, Answer.OPEN)
    for other in judged.alternatives:
        if other.counts and other.credible and other.answer in doubt:
            yield Reason(kind=ReasonKind.ALTERNATIVE_OPEN, arm=other.name)
    yield Reason(kind=ReasonKind.FEW_RUNS)


def _control_open(panel: Panel, judged: ClaimAnswer, name: str) -> Iterator[Reason]:
    """Why a control stands in the way: it is one run, most of its runs are void, or it says so."""
    for control in (control for control in judged.controls if control.name == name):
        if panel.has_one_run(panel.arms[name]):
            many = Void.NOT_AS_MANY
            yield Reason(kind=ReasonKind.VOID_RUNS, arm=name, void=many, what=name, runs=control.n)
        elif 2 * control.void > control.n:
            yield from _voids(control)
    yield Reason(kind=ReasonKind.CONTROL_OPEN, arm=name)


def _diverged(panel: Panel, name: str) -> Iterator[Reason]:
    """That the positive control of this name diverged, so that nobody knows what is in reach."""
    for arm in panel.having(Role.POSITIVE_CONTROL):
        if arm.name == name:
            runs = panel.headline(arm).n
            why = Void.REFERENCE_DIVERGED
            yield Reason(kind=ReasonKind.VOID_RUNS, arm=name, void=why, what=name, runs=runs)


def _of_conditions(base: ArmAnswer) -> Iterator[Reason]:
    """The conditions that leave an answer open, by their own decision or else by the runs."""
    for place, estimate in enumerate(base.estimates):
        if estimate.decision is Decision.OPEN:
            yield Reason(kind=_why_open(estimate), place=place)
    for place, estimate in enumerate(base.estimates):
        if estimate.decision is None and {True, False} <= set(estimate.holds):
            yield Reason(kind=ReasonKind.STRADDLES, place=place)


def _why_open(estimate: Estimate) -> ReasonKind:
    """Why a condition is open: groups alike, a mean that no run bears out, one near its bound."""
    if estimate.groups is not None:
        return ReasonKind.GROUPS_OPEN
    inside = (
        estimate.mean and decide_mean(estimate.mean[1:], estimate.limit.accepted) is Decision.MET
    )
    return ReasonKind.MEAN_ALONE if inside else ReasonKind.MEAN_OPEN


def _near(reading: ReadingAnswer) -> Reason:
    """The bound of ours that would pass where it is relaxed."""
    places = (
        k
        for k, estimate in enumerate(reading.estimates)
        if estimate.limit.relaxed() != estimate.limit
    )
    place = min(places, key=lambda k: reading.estimates[k].met)
    stated = reading.estimates[place].limit
    return Reason(
        kind=ReasonKind.NEAR,
        arm=reading.name,
        place=place,
        bound=stated.relaxed().at,
        stated=stated.at,
    )


def _still_moves(panel: Panel, base: ArmAnswer) -> bool:
    """Whether what is judged still moves at the end in most of the runs that say no."""
    saying_no = [run.seed for run in base.runs if run.status is Status.NO and run.answered]
    moves = panel.still_moves
    moving = [
        seed
        for seed in saying_no
        if any(moves(panel.base, seed, panel.place(at)) for at in panel.primary)
    ]
    return bool(saying_no) and 2 * len(moving) > len(saying_no)


# --- conditions and ablations -------------------------------------------------------------------


def _cannot_fail(
    claim: Claim, base: ArmAnswer, controls: Sequence[ControlAnswer]
) -> tuple[int, ...]:
    """The headline conditions that every control meets in at least half of its runs.

    Contrasts are held against the control's, and what reads other arms only is the same everywhere.
    """
    judged = [control for control in controls if any(run.answered for run in control.runs)]
    own = [any(q.arm is None for q in check.quantities()) for check in claim.headline]
    return tuple(
        place
        for place, estimate in enumerate(base.estimates)
        if judged
        and own[estimate.check]
        and not estimate.contrast
        and all(_meets_mostly(control, place) for control in judged)
    )


def _meets_mostly(control: ArmAnswer, place: int) -> bool:
    if place >= len(control.estimates):
        return False
    known = [held for held in control.estimates[place].holds if held is not None]
    return 2 * known.count(False) <= len(known)


def _ablation(base: ArmAnswer, levels: Sequence[ArmAtLevel]) -> AblationAnswer:
    """An ablation's answer: specific if missed, smaller if met with under half the effect."""
    arm = arm_answer(levels, ArmAnswer)
    specificity = Specificity.NOT_SPECIFIC
    if 2 * arm.diverged > arm.n:
        specificity = Specificity.DIVERGES
    elif arm.decision is Decision.MISSED or rarer(arm, base):
        specificity = Specificity.SPECIFIC
    elif arm.decision is Decision.OPEN:
        specificity = Specificity.OPEN
    elif _has_under_half(base, arm):
        specificity = Specificity.SMALLER
    return arm_answer(levels, AblationAnswer, specificity=specificity)


def _has_under_half(base: Counted, arm: Counted) -> bool:
    """Whether the first contrast that both have is under half the claim's, on its own scale."""
    contrast = first_contrast(base.estimates, arm.estimates)
    return contrast is not None and contrast[0].size > 0 and contrast[1].size < contrast[0].size / 2
