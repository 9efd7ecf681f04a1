"""The conclusion on a claim: its outcome, what is specific, what flips, and how sure we are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.plan import OWN, PlannedArm, Role, alternatives_of, arms_of
from reproaudit.checks import Provenance
from reproaudit.declarations import Coordinate
from reproaudit.judge.certainty import History, certainty
from reproaudit.judge.decisions import all_of, ask, beats_null, joined
from reproaudit.judge.runs import Bundles, Records
from reproaudit.stats.binomial import FEWEST_RUNS, Decision, fewer_yes
from reproaudit.verdict import (
    DECIDED,
    AblationAnswer,
    AlternativeAnswer,
    ArmAnswer,
    ClaimAnswer,
    NullAnswer,
    Outcome,
    Reason,
    ReasonKind,
    Specificity,
    Status,
)

FLIP = 0.05
"""The one-sided P value of Fisher's test at which runs answer otherwise."""

FAR_ENOUGH = 0.5
"""The share of the claim's own fall of the training loss, on a log scale, that answers."""


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
    panel = Panel.of(audit, claim, tier, records)
    grades = panel.graded(panel.base, panel.having(Role.NULL))
    base = joined([one for one in grades if claim.grade is None or one.at in claim.grade.primary])
    nulls = tuple(map(panel.null, panel.having(Role.NULL)))
    own = panel.bundles.recorded(panel.base).values()
    found = ClaimAnswer(
        id=claim.id,
        base=base,
        cannot_fail=_cannot_fail(claim, base, nulls),
        proxy=next((one.proxy for one in own if one.proxy), None),
        grades=tuple(one for one in grades if claim.grade is not None and one.valid),
        support=tuple(ask(panel.bundles, (one,), panel.base) for one in claim.support),
        notes=tuple(ask(panel.bundles, (one,), panel.base) for one in claim.notes),
        readings=tuple(map(panel.headline, panel.other_readings())),
        nulls=nulls,
        ablations=tuple(
            _ablation(base, panel.headline(one)) for one in panel.having(Role.ABLATION)
        ),
        constructed=next(map(panel.headline, panel.having(Role.CONSTRUCTED)), None),
        alternatives=(
            *panel.alternatives(records, tier),
            *(() if lower is None else panel.alternatives(lower, "quick")),
        ),
    )
    outcome, why = _outcome(claim, tier, found)
    level = None
    if outcome in DECIDED:
        level, why = certainty(panel.bundles, found, history)
    return found.model_copy(update={"outcome": outcome, "level": level, "reasons": why})


@dataclass(frozen=True)
class Panel:
    """A claim before its records: its arms, and the arm whose runs are the claim's own."""

    bundles: Bundles
    base: PlannedArm
    asked: dict[tuple[str, Coordinate | None], ArmAnswer] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, audit: Audit, claim: Claim, tier: TierName, records: Records) -> Panel:
        """Return the panel of a claim; a reading is its own where the primary one has not run."""
        arms = {one.name: one for one in arms_of(audit, claim)}
        bundles = Bundles(audit, claim, tier, arms, records)
        own = [arms[OWN], *(one for one in arms.values() if one.role is Role.READING)]
        ran = [one for one in own if bundles.recorded(one)]
        panel = cls(bundles, (ran or own)[0])
        return replace(panel, bundles=panel.under(panel.base))

    def under(self, arm: PlannedArm) -> Bundles:
        """Return the bundles whose other arms share a reading's or an alternative's settings.

        An arm that has not run under them stays as it is.
        """
        if arm.role not in (Role.READING, Role.ALTERNATIVE):
            return self.bundles

        def moved(one: PlannedArm) -> PlannedArm:
            if one.role in (Role.OWN, Role.READING) or one.experiment != arm.experiment:
                return one
            there = replace(one, overrides={**arm.overrides, **one.overrides})
            return there if self.bundles.recorded(there) else one

        arms = {name: moved(one) for name, one in self.bundles.arms.items()}
        return replace(self.bundles, arms=arms)

    def having(self, role: Role) -> list[PlannedArm]:
        """Return the arms of a role."""
        return [one for one in self.bundles.arms.values() if one.role is role]

    def other_readings(self) -> list[PlannedArm]:
        """Return the readings whose runs are not the claim's own, the primary one among them."""
        readings = [one for one in self.having(Role.READING) if one != self.base]
        if self.base.varied is None:
            return readings
        name = self.base.varied[0]
        audit = self.bundles.audit
        value = audit.values_of(self.bundles.claim.experiment, self.bundles.tier)[name]
        own = [replace(one, varied=(name, value)) for one in self.having(Role.OWN)]
        return [*own, *readings]

    def at(self, arm: PlannedArm, place: Coordinate | None) -> ArmAnswer:
        """Put the headline to an arm, at a graded coordinate, once."""
        key = arm.name, place
        if key not in self.asked:
            bundles = self.under(arm)
            self.asked[key] = ask(bundles, bundles.claim.headline, arm, place)
        return self.asked[key]

    def headline(self, arm: PlannedArm) -> ArmAnswer:
        """Put the headline to an arm, at the primary coordinates together."""
        grade = self.bundles.claim.grade
        return joined([self.at(arm, one) for one in (grade.primary if grade else (None,))])

    def null(self, arm: PlannedArm) -> NullAnswer:
        """Put the headline to a null, and tell whether it is weak."""
        own = self.headline(self.base)
        answer = self.headline(arm)
        undecided = answer.decision is Decision.OPEN and own.decision is not Decision.MISSED
        weak = undecided and beats_null(own, answer) is not Decision.MET
        return NullAnswer(**dict(answer), weak=weak)

    def graded(self, arm: PlannedArm, nulls: Sequence[PlannedArm]) -> tuple[ArmAnswer, ...]:
        """Put the headline to an arm at each coordinate, and its contrasts against each null's."""
        claim = self.bundles.claim
        found = []
        for at in (None,) if claim.grade is None else claim.grade.easiest_first:
            answer, *theirs = (self.at(one, at) for one in (arm, *nulls))
            against = [beats_null(answer, one) for one in theirs]
            if answer.decision is Decision.MET:
                decisions = (Decision.MET, *(one for one in against if one is not None))
                answer = answer.model_copy(update={"decision": all_of(decisions)})
            found.append(answer)
        return tuple(found)

    def alternatives(self, records: Records, tier: TierName) -> list[AlternativeAnswer]:
        """Put the headline to every alternative that has runs; none where own runs disagree."""
        panel = replace(self, bundles=replace(self.bundles, tier=tier, records=records))
        own = panel.headline(panel.base)
        ran = panel.bundles.recorded
        if own.decision is not self.headline(self.base).decision:
            return []
        arms = alternatives_of(self.bundles.audit, self.bundles.claim)
        return [_alternative(own, panel.headline(arm), tier) for arm in arms if ran(arm)]


def _outcome(claim: Claim, tier: str, found: ClaimAnswer) -> tuple[Outcome, tuple[Reason, ...]]:
    """The outcome and, if there is none, why; technical failures before all else."""
    base = found.base
    if base.broken:
        crashed = sum(one.status is Status.FAILED for one in base.runs)
        return Outcome.FAILED, (Reason(kind=ReasonKind.CRASHED, runs=crashed),)
    if untested := _not_tested(claim, tier, found):
        return Outcome.NOT_TESTED, (untested,)
    primary = claim.grade.primary if claim.grade is not None else ()
    decisions = [one.decision for one in found.grades if one.at in primary] or [base.decision]
    readings = {one.decision for one in found.readings}
    if all_of(decisions) is Decision.MISSED and Decision.MET not in decisions:
        reversed_ = Decision.MET in readings
        return (Outcome.PARTLY_SUPPORTED if reversed_ else Outcome.NOT_SUPPORTED), ()
    if Decision.MET not in decisions:
        return Outcome.UNDECIDED, (_undecided(base),)
    support = any(one.decision is Decision.MISSED for one in found.support)
    part = support or set(decisions) != {Decision.MET} or Decision.MISSED in readings
    return (Outcome.PARTLY_SUPPORTED if part else Outcome.SUPPORTED), ()


def _not_tested(claim: Claim, tier: str, found: ClaimAnswer) -> Reason | None:
    """Why nothing follows from the runs, if so: a null, a bound out of reach, too few runs."""
    if tier == "smoke":
        return Reason(kind=ReasonKind.SMOKE)
    for one in found.nulls:
        if one.decision is Decision.MET:
            return Reason(kind=ReasonKind.NULL_MEETS, arm=one.name)
    for one in found.nulls:
        if one.decision is Decision.OPEN and one.n < FEWEST_RUNS:
            kind = ReasonKind.NULL_UNFINISHED
            return Reason(kind=kind, arm=one.name, runs=FEWEST_RUNS - one.n)
    if out := _out_of_reach(found):
        return out
    missing = (1 if claim.exact else FEWEST_RUNS) - found.base.valid
    return Reason(kind=ReasonKind.TOO_FEW, runs=missing) if missing > 0 else None


def _out_of_reach(found: ClaimAnswer) -> Reason | None:
    """A bound, not the paper's, that the claim and the constructed solution both miss."""
    built = found.constructed
    if built is None or found.base.decision is not Decision.MISSED:
        return None
    pairs = zip(found.base.estimates, built.estimates, strict=False)
    for place, (mine, theirs) in enumerate(pairs):
        both_miss = not mine.met and not theirs.met and theirs.numbers
        if both_miss and mine.limit.origin is not Provenance.PAPER:
            return Reason(kind=ReasonKind.OUT_OF_REACH, place=place)
    return None


def _undecided(base: ArmAnswer) -> Reason:
    """Why runs leave a claim open: they lie on both sides of a bound, or there are too few."""
    for place, one in enumerate(base.estimates):
        if len({one.limit.met_by(value) for value in one.numbers}) == 2:
            return Reason(kind=ReasonKind.STRADDLES, place=place)
    return Reason(kind=ReasonKind.FEW_RUNS)


def _cannot_fail(claim: Claim, base: ArmAnswer, nulls: Sequence[ArmAnswer]) -> tuple[int, ...]:
    """The headline conditions that every null meets in at least half of its runs.

    Contrasts are held against the null's, and what reads other arms only is the same in every arm.
    """
    judged = [one for one in nulls if any(run.answered for run in one.runs)]
    own = [any(q.arm is None for q in check.quantities()) for check in claim.headline]
    return tuple(
        place
        for place, one in enumerate(base.estimates)
        if judged
        and own[one.check]
        and not one.contrast
        and all(_meets_mostly(null, place) for null in judged)
    )


def _meets_mostly(null: ArmAnswer, place: int) -> bool:
    one = null.estimates[place]
    met = [
        one.limit.met_by(value)
        for run, value in zip(null.runs, one.values, strict=True)
        if run.answered
    ]
    return 2 * met.count(False) <= len(met)


def _ablation(base: ArmAnswer, answer: ArmAnswer) -> AblationAnswer:
    """An ablation's answer: specific if missed, smaller if met with under half the log effect."""
    mine = base.effect
    theirs = answer.effect
    found = Specificity.NOT_SPECIFIC
    if answer.decision is Decision.MISSED:
        found = Specificity.SPECIFIC
    elif answer.decision is Decision.OPEN:
        found = Specificity.OPEN
    elif mine is not None and theirs is not None and math.log(theirs) < math.log(mine) / 2:
        found = Specificity.SMALLER
    return AblationAnswer(**dict(answer), specificity=found)


def _alternative(own: ArmAnswer, answer: ArmAnswer, tier: TierName) -> AlternativeAnswer:
    """Whether an alternative's runs answer otherwise, and whether it had come far enough."""
    unfinished = flips = opens = False
    if own.trained and answer.trained and min(*own.trained, *answer.trained) > 0:
        fall, theirs = (math.log(one[0] / one[1]) for one in (own.trained, answer.trained))
        unfinished = fall > 0 and theirs < FAR_ENOUGH * fall
    if answer.n >= FEWEST_RUNS and own.n >= FEWEST_RUNS:
        counts = (answer.yes, answer.n, own.yes, own.n)
        if own.decision is Decision.MET:
            flips = fewer_yes(*counts) <= FLIP
        elif own.decision is Decision.MISSED:
            flips = fewer_yes(*counts[2:], *counts[:2]) <= FLIP
        opens = answer.decision is Decision.OPEN is not own.decision and not (flips or unfinished)
    return AlternativeAnswer(
        **dict(answer),
        tier=tier,
        flips=flips and not unfinished,
        unfinished=unfinished,
        opens=opens,
    )
