"""Rows: every condition of a claim's checks, in every arm and at every coordinate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from reproaudit.audit.arms import OWN, PlannedArm, Role
from reproaudit.checks import Censored, Kind, Number, Side, Void
from reproaudit.declarations import Coordinate
from reproaudit.formats.numbers import at_words, counted, listed, of
from reproaudit.formats.scorecard import Row, RowDecision, RowRole
from reproaudit.formats.verdict import (
    AblationAnswer,
    AlternativeAnswer,
    Answer,
    ArmAnswer,
    ControlAnswer,
    Estimate,
    ReadingAnswer,
    RunAnswer,
    Verdict,
)
from reproaudit.judge.arms import answer_to_check, arm_answer
from reproaudit.judge.readings import Panel
from reproaudit.scorecard.claims import ClaimText
from reproaudit.scorecard.words import (
    answering_runs,
    asked,
    called_of,
    far_of,
    figure_words,
    open_words,
    typical_words,
    void_words,
)
from reproaudit.stats.binomial import FEWEST_RUNS, Decision, decide_count


def rows_of(claim: ClaimText, panel: Panel | None = None) -> tuple[Row, ...]:
    """Return the rows of a claim: its own arm first, then readings, controls, alternatives.

    Args:
        panel: the claim before its records. Without it, controls and references that ran beside
            other readings, or at coordinates that do not decide, have no rows.
    """
    rows = [row for put in _put(claim, panel) for row in _rows(put)]
    return tuple(_with_cause(row, rows, claim) for row in rows)


@dataclass(frozen=True)
class _Put:
    """Checks as they were put to an arm, and a condition of one of them over its runs.

    Attributes:
        checks: those of one role, from `place` on.
        beside: the stated reading whose settings the arm shares.
        whole: the arm at all primary coordinates together, where it was put to one.
        estimate: the condition; None where no run has a number.
    """

    claim: ClaimText
    checks: Sequence[Kind]
    arm: ArmAnswer
    beside: str | None = None
    role: RowRole = RowRole.DECIDES
    place: int = 0
    whole: ArmAnswer | None = None
    estimate: Estimate | None = None

    @cached_property
    def said(self) -> list[tuple[RunAnswer, bool | None]]:
        """Each run, and whether it meets the condition; one that diverged does not."""
        runs = self.arm.runs
        holds = [None] * len(runs) if self.estimate is None else self.estimate.holds
        pairs = zip(runs, holds, strict=True)
        return [(run, False if run.diverged else held) for run, held in pairs]

    @cached_property
    def yes(self) -> int:
        """How many runs meet the condition."""
        return sum(held is True for _, held in self.said)

    @cached_property
    def n(self) -> int:
        """How many runs meet it or not."""
        return sum(held is not None for _, held in self.said)

    @cached_property
    def unpaired(self) -> Counter[str]:
        """The runs beside which no run of a compared arm was planned, by this arm."""
        is_told = self.estimate is not None and self.n
        return Counter(run.about for run, _ in self.said if is_told and self.is_unpaired(run))

    @property
    def void(self) -> int:
        """How many other runs say nothing of it."""
        return self.arm.n - self.n - self.arm.crashed - self.unpaired.total()

    def is_unpaired(self, run: RunAnswer) -> bool:
        """Tell whether a run has none beside it since a compared arm was planned with fewer."""
        if run.void is not Void.NO_REFERENCE:
            return False
        seeds = self.claim.planned_seeds
        return run.seed in seeds[OWN] - seeds[run.about]

    @property
    def stands_alone(self) -> bool:
        """Whether one run decides, and no mean of runs."""
        return self.claim.claim.exact or self.arm.stands_alone

    @property
    def is_blind(self) -> bool:
        """Whether a check decides, and tells nothing.

        A control or what has to succeed may make it so, or that it compares a control with itself.
        """
        arm = self.arm
        if isinstance(arm, ControlAnswer) and arm.verdict is Verdict.ITSELF:
            return True
        decides = self.role is RowRole.DECIDES
        return decides and isinstance(arm, ReadingAnswer) and arm.answer is Answer.BLIND

    @property
    def diverged(self) -> str:
        """How many runs diverged, in words; '' if none did."""
        return f"{of(self.arm.diverged, self.n)} diverged" if self.arm.diverged else ""


# --- what was asked -------------------------------------------------------------------------------


def _put(claim: ClaimText, panel: Panel | None) -> Iterator[_Put]:
    answer = claim.answer
    headline = claim.claim.headline
    base = answer.base
    if answer.grades:
        for level in answer.grades:
            whole = base if claim.is_primary(level) else None
            yield _Put(claim, headline, level, base.name, whole=whole)
    else:
        yield _Put(claim, headline, base, base.name)
    yield from (_Put(claim, headline, reading, reading.name) for reading in answer.readings)
    yield from _beside(claim, panel)
    for role, checks, arms in (
        (RowRole.ALSO_SAID, claim.claim.support, answer.support),
        (RowRole.STRICTER, claim.claim.notes, answer.notes),
    ):
        for place, (check, arm) in enumerate(zip(checks, arms, strict=True)):
            yield _Put(claim, [check], arm, base.name, role, place)
            yield from _of_readings(panel, _Put(claim, [check], arm, None, role, place))
    yield from (_Put(claim, headline, other) for other in answer.alternatives)


def _of_readings(panel: Panel | None, put: _Put) -> Iterator[_Put]:
    """What does not decide, under the readings that are not shown as the claim's own."""
    if panel is None:
        return
    for planned in panel.other_readings():
        arm = answer_to_check(panel.under(planned), put.checks[0], planned)
        if arm.n:
            yield replace(put, arm=arm, beside=planned.name)


def _beside(claim: ClaimText, panel: Panel | None) -> Iterator[_Put]:
    """Controls, references and arms without a part, each beside the readings that it ran with."""
    answer = claim.answer
    headline = claim.claim.headline
    positive = () if answer.positive_control is None else (answer.positive_control,)
    shown = (*answer.controls, *positive, *answer.ablations)
    placed: set[str] = set()
    if panel is not None:
        for planned, reading in zip(panel.stated, answer.stated, strict=True):
            there = panel.under(planned)
            for arm in shown if reading is answer.base else _arms(there):
                if shares_settings(there.arms[arm.name], planned):
                    placed.add(arm.name)
                    yield _Put(claim, headline, arm, reading.name)
                    yield from _at_levels(claim, there, arm, reading.name)
    own = answer.base.name if panel is None and answer.base.role is Role.OWN else None
    yield from (_Put(claim, headline, arm, own) for arm in shown if arm.name not in placed)


def _arms(panel: Panel) -> Iterator[ArmAnswer]:
    """The controls, positive controls and arms without a part under a panel's own reading."""
    yield from panel.controls()
    for role in (Role.POSITIVE_CONTROL, Role.ABLATION):
        yield from map(panel.headline, panel.having(role))


def shares_settings(planned: PlannedArm, reading: PlannedArm) -> bool:
    """Tell whether an arm ran under a reading's settings, but for those that make it another."""
    merged = {**reading.overrides, **planned.overrides}
    return planned.experiment == reading.experiment and merged == dict(planned.overrides)


def _at_levels(claim: ClaimText, panel: Panel, arm: ArmAnswer, beside: str) -> Iterator[_Put]:
    """An arm at the coordinates that do not decide."""
    headline = panel.claim.headline
    grade = panel.claim.grade
    for level in () if grade is None else grade.easiest_first:
        if level not in panel.primary:
            there = panel.at(panel.arms[arm.name], level)
            yield _Put(claim, headline, arm_answer([there], ArmAnswer), beside)


# --- a row ----------------------------------------------------------------------------------------


def _rows(put: _Put) -> Iterator[Row]:
    """The rows of an arm: one for each condition, or for each check if no run has a number."""
    for place, estimate in enumerate(put.arm.estimates):
        yield _row(replace(put, estimate=estimate), estimate, _level(put, place))
    if not put.arm.estimates and put.arm.n:
        yield from (_bare(put, place, check) for place, check in enumerate(put.checks))


def _level(put: _Put, place: int) -> Coordinate | None:
    """The coordinate of a condition that decides; of an arm at several together, in their order."""
    arm = put.arm
    grade = put.claim.claim.grade
    if arm.at is not None or grade is None or put.role is not RowRole.DECIDES:
        return arm.at
    each = max(1, len(arm.estimates) // len(grade.primary))
    return grade.primary[min(place // each, len(grade.primary) - 1)]


def _bare(put: _Put, place: int, check: Kind) -> Row:
    """The row of a check of which no run of the arm has a number."""
    claim = put.claim
    arm = put.arm
    first = check.quantities()[0].measurement
    noun = claim.namer.compared(claim.claim.experiment, check, first)[0]
    decision = RowDecision.VOID if not put.n else RowDecision(arm.decision.value)
    number = check.numbers[0]
    return Row(
        **_frame(put, check, put.place + place, arm.at),
        condition=number.name,
        noun=called_of(number, noun),
        says=number.never.format(noun=noun),
        decision=RowDecision.TELLS_NOTHING if put.is_blind else decision,
        why=_voids(claim, arm, arm.runs) or put.diverged,
    )


def _row(put: _Put, estimate: Estimate, at: Coordinate | None) -> Row:
    claim = put.claim
    check = put.checks[estimate.check]
    number = estimate.number_of(check)
    noun, held = claim.named(estimate, check)
    limit = estimate.limit
    decision = _decision(put, estimate)
    within = limit.side is Side.WITHIN
    return Row(
        **_frame(put, check, put.place + estimate.check, at),
        condition=estimate.name,
        noun=called_of(number, noun),
        means=claim.without(check),
        says=typical_words(estimate, number, noun, held, with_worst=False),
        typical=estimate.median,
        typical_words=_number_words(estimate, number, estimate.median),
        farthest=estimate.worst,
        farthest_words=_number_words(estimate, number, estimate.worst),
        far=far_of(estimate),
        far_words=tuple(_number_words(estimate, number, value) for value in far_of(estimate)),
        mean=estimate.mean,
        at_least=estimate.censored.count(Censored.AT_LEAST),
        at_most=estimate.censored.count(Censored.AT_MOST),
        unit=estimate.unit,
        side=limit.side,
        bound=limit.target if within else limit.at,
        margin=limit.at if within else None,
        bound_words=asked(estimate, number),
        provenance=limit.origin,
        number_from=limit.number_from,
        bound_why=limit.why or "",
        decision=decision,
        why=_why(put, estimate, decision),
    )


def _number_words(estimate: Estimate, number: Number, value: float | None) -> str:
    is_unsaid = value is None or number.bound is not None
    return "" if is_unsaid or value is None else figure_words(estimate, number, value)


def _frame(put: _Put, check: Kind, place: int, at: Coordinate | None) -> dict[str, Any]:
    """The fields of a row that are not its numbers."""
    claim = put.claim
    arm = put.arm
    decides = put.role is RowRole.DECIDES
    whole = put.whole or arm
    all_yes, all_n = answering_runs(whole) if decides else (put.yes, put.n)
    grade = claim.claim.grade
    symbol = "" if at is None else f"{claim.symbol} = {at_words(at)}"
    return {
        "claim": claim.answer.id,
        "role": put.role,
        "check": check.name,
        "place": place,
        "arm": arm.name,
        "arm_role": arm.role,
        "arm_words": _arm_words(put),
        "beside": put.beside,
        "varied": arm.varied,
        "tier": arm.tier if isinstance(arm, AlternativeAnswer) else claim.tier,
        "at": at,
        "at_words": symbol,
        "primary": grade is None or at is None or at in grade.primary,
        "answer": _answer(arm),
        "yes": put.yes,
        "n": put.n,
        "void": put.void,
        "crashed": arm.crashed,
        "diverged": arm.diverged,
        "all_yes": all_yes,
        "all_n": all_n,
        "all_void": whole.void + whole.crashed if decides else put.void + arm.crashed,
    }


def _arm_words(put: _Put) -> str:
    """What a page calls an arm; where it ran under another stated value, with that value."""
    claim = put.claim
    arm = put.arm
    if arm.role in (Role.OWN, Role.READING) and (arm.varied or claim.own):
        return claim.stated_value(arm)
    if arm.role is Role.OWN:
        return "as run"
    words = f"without {claim.lacks(arm)}" if arm.role is Role.ABLATION else claim.arm(arm)
    if arm.role is not Role.ABLATION and put.beside is None and arm.varied is None:
        words += f" ({claim.where(arm)})"
    others = [claim.arm(reading) for reading in claim.answer.readings if reading.name == put.beside]
    return ", with ".join([words, *others])


def _answer(arm: ArmAnswer) -> str:
    if isinstance(arm, ReadingAnswer):
        return arm.answer.value
    if isinstance(arm, ControlAnswer):
        return arm.verdict.value
    return arm.specificity.value if isinstance(arm, AblationAnswer) else ""


# --- decisions ------------------------------------------------------------------------------------


def _decision(put: _Put, estimate: Estimate) -> RowDecision:
    if put.is_blind:
        return RowDecision.TELLS_NOTHING
    if not put.n:
        return RowDecision.VOID
    decision = None if put.stands_alone else estimate.decision
    return RowDecision((decision or _counted(put)).value)


def _counted(put: _Put) -> Decision:
    """Met with every void run as a no, missed with every void run as a yes; else open."""
    runs = put.arm.n
    most = runs - put.n + put.yes
    if put.stands_alone:
        if most < runs:
            return Decision.MISSED
        return Decision.MET if put.yes == runs else Decision.OPEN
    if runs < FEWEST_RUNS:
        return Decision.OPEN
    for decision, yes in ((Decision.MET, put.yes), (Decision.MISSED, most)):
        if decide_count(yes, runs, put.claim.claim.share) is decision:
            return decision
    return Decision.OPEN


# --- reasons --------------------------------------------------------------------------------------


def _why(put: _Put, estimate: Estimate, decision: RowDecision) -> str:
    """Why a condition is not decided, and what else is to be said of it."""
    claim = put.claim
    arm = put.arm
    is_met = decision is RowDecision.MET
    missed = [claim.noun_of(other) for other in arm.estimates if not other.met]
    if is_met and missed and isinstance(arm, ControlAnswer) and arm.verdict is Verdict.FAILS:
        return f"meets this; fails on {listed(missed)}"
    cannot_fail = (claim.base.estimates[place] for place in claim.answer.cannot_fail)
    if is_met and arm is claim.base and any(estimate is other for other in cannot_fail):
        return "no control clearly misses it"
    parts = [put.diverged]
    parts += [
        f"{claim.namer.arm(name)} ran in {of(arm.n - runs, arm.n)}"
        for name, runs in put.unpaired.items()
    ]
    if decision in (RowDecision.OPEN, RowDecision.VOID):
        unread = [run for run, held in put.said if held is None and not put.is_unpaired(run)]
        parts += [_voids(claim, arm, unread), _open(arm, estimate)]
    return "; ".join(filter(None, parts))


def _voids(claim: ClaimText, arm: ArmAnswer, unread: Sequence[RunAnswer]) -> str:
    """What most of the runs have in common that cannot be held against a bound."""
    kinds = Counter((run.void, run.about) for run in unread if run.void)
    for (void, about), count in kinds.most_common(1):
        number = next(run.found for run in unread if (run.void, run.about) == (void, about))
        if void is not None:
            return void_words(void, about, of(count, arm.n), number, claim)
    return ""


def _open(arm: ArmAnswer, estimate: Estimate) -> str:
    is_of_all = estimate.groups is not None or estimate.decision is Decision.OPEN
    if arm.n < FEWEST_RUNS and not is_of_all:
        return f"{counted(arm.n, 'run')} cannot decide"
    return open_words(estimate) if is_of_all or {True, False} <= set(estimate.holds) else ""


def _with_cause(row: Row, rows: Sequence[Row], claim: ClaimText) -> Row:
    """A row that tells nothing, with what makes it blind: a control, or what has to succeed."""
    if row.decision is not RowDecision.TELLS_NOTHING:
        return row
    if row.answer == Verdict.ITSELF:
        return row.model_copy(update={"why": "its runs are those that it is compared with"})
    answer = claim.answer
    readings = (*answer.grades, *answer.stated, *answer.alternatives)
    arms = {(arm.name, arm.at): arm.by for arm in readings if arm.answer is Answer.BLIND and arm.by}
    by = arms.get((row.arm, row.at if answer.grades else None)) or arms.get((row.arm, None))
    there = [
        other
        for other in rows
        if (other.arm, other.at, other.place, other.condition, other.role)
        == (by, row.at, row.place, row.condition, row.role)
    ]
    if by is None or not there:
        name = claim.namer.arm(by) if by else "a control"
        return row.model_copy(update={"why": f"{name} tells the two apart no better"})
    cause = next((other for other in there if other.beside == row.beside), there[0])
    passes = cause.arm_role is Role.CONTROL
    verb = f"passes, too, in {of(cause.all_yes, cause.all_n)}" if passes else "missed it, too"
    who = f"the control ({cause.arm_words})" if passes else cause.arm_words
    numbers = f" ({cause.typical_words})" if cause.typical_words and not passes else ""
    return row.model_copy(update={"why": f"{who} {verb}{numbers}"})
