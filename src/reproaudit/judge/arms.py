"""The working form of an arm: what its runs say of some checks, before it is published.

What an arm answers follows from what its runs say, the bounds, and what void and crashed runs are
taken to say. Asking again, with another bound or other such runs, makes another working form;
`arm_answer` publishes the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from reproaudit.audit.arms import PlannedArm, Role
from reproaudit.checks import Condition, Kind, Limit, Void
from reproaudit.declarations import Coordinate
from reproaudit.formats.verdict import ArmAnswer, Counted, Estimate, RunAnswer, Status, Varied
from reproaudit.judge.bundles import Bundles
from reproaudit.judge.decisions import all_of, decide, decide_by_mean, decide_groups, missing_runs
from reproaudit.judge.runs import Said, ask_runs, void_run
from reproaudit.stats.binomial import FEWEST_RUNS, Decision

_Arm = TypeVar("_Arm", bound=ArmAnswer)

_ENDS = {Status.YES: -math.inf, Status.NO: math.inf}
"""Where a run that is taken to say yes or no stands in a comparison of groups."""


def _estimate(
    checks: Sequence[Kind],
    runs: Sequence[Condition | None],
    limit: Limit,
    ends: Mapping[int, float],
) -> Estimate:
    """Publish one condition over the runs of an arm.

    Args:
        checks: those that were put to the runs.
        runs: the condition of each run; None of a run that was not held against the bounds.
        limit: the bound that is asked for, not always the one that the runs' conditions have.
        ends: as in `decide_groups`.
    """
    shared = next(condition for condition in runs if condition is not None)
    check = checks[shared.check]
    values = tuple(None if run is None else run.value for run in runs)
    other = None if limit == shared.limit else limit
    holds = tuple(_held(run, other) for run in runs)
    censored = tuple(None if run is None else run.censored for run in runs)
    known = [value for value in values if value is not None]
    decided: dict[str, Any] = {}
    if shared.groups is not None:
        own = tuple(map(_compared, runs))
        others = tuple(map(_finite, shared.groups[1]))
        decision = decide_groups(own, others, ends)
        decided = {"groups": (own, others), "decision": decision}
    elif check.by_mean and len(known) == len(values) and not any(censored):
        by_mean = decide_by_mean(known, holds, limit, bool(check.log))
        decided = {name: value for name, value in by_mean._asdict().items() if value}
    return Estimate(
        check=shared.check,
        name=shared.name,
        measurement=shared.noun,
        unit=shared.unit,
        contrast=shared.contrast,
        limit=limit,
        values=values,
        holds=holds,
        censored=censored if any(censored) else (),
        by_mean=check.by_mean,
        log=bool(check.log),
        **decided,
    )


def _held(condition: Condition | None, limit: Limit | None) -> bool | None:
    """Whether a run meets another bound; a run without a number says of any what it said."""
    if condition is None:
        return None
    if limit is None or condition.met is None or condition.value is None:
        return condition.met
    return limit.held(condition.value, condition.censored)


def _compared(condition: Condition | None) -> float | None:
    """What is compared of a run with a group; None of a run that is void or has no number."""
    if condition is None or condition.groups is None or condition.void is not None:
        return None
    return _finite(condition.groups[0])


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class ArmAtLevel(Counted):
    """What an arm's runs say of checks that must all be met, at one graded coordinate or none.

    Attributes:
        bundles: the claim, and the records of its arms.
        checks: the checks.
        arm: the arm.
        at: the coordinate.
        asked: what each run says, by seed.
        limits: the bound of each condition; none where no run was held against the bounds.
        supposed: what void or crashed runs are taken to say, by the place of the run.
    """

    bundles: Bundles
    checks: Sequence[Kind]
    arm: PlannedArm
    at: Coordinate | None
    asked: Mapping[int, Said]
    limits: tuple[Limit, ...]
    supposed: Mapping[int, Status] = field(default_factory=dict)

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """The conditions, published."""
        ends = {place: _ENDS[status] for place, status in self.supposed.items()}
        for place, said in enumerate(self.asked.values()):
            if isinstance(said, RunAnswer) and said.diverged:
                ends[place] = math.inf
        every = [() if isinstance(said, RunAnswer) else said for said in self.asked.values()]
        return tuple(
            _estimate(self.checks, [said[place] if said else None for said in every], limit, ends)
            for place, limit in enumerate(self.limits)
        )

    @cached_property
    def runs(self) -> tuple[RunAnswer, ...]:
        """Every run, by seed."""
        said = enumerate(self.asked.items())
        return tuple(self._run(place, seed, of_run) for place, (seed, of_run) in said)

    def _run(self, place: int, seed: int, said: Said) -> RunAnswer:
        """What a run says: of conditions that a mean decides only if there is no other."""
        if place in self.supposed:
            return RunAnswer(seed=seed, status=self.supposed[place])
        if isinstance(said, RunAnswer):
            return said
        every = range(len(self.estimates))
        counted = [at for at in every if self.estimates[at].decision is None] or [*every]
        holds = [self.estimates[at].holds[place] for at in counted]
        if False in holds:
            return RunAnswer(seed=seed, status=Status.NO)
        if None not in holds:
            return RunAnswer(seed=seed, status=Status.YES)
        condition = said[counted[holds.index(None)]]
        if condition.void is not None:
            about = condition.about or condition.noun
            return void_run(seed, condition.void, about, condition.found)
        why = Void.NO_NUMBER if condition.censored is None else Void.CENSORED
        return void_run(seed, why, condition.noun)

    @property
    def stands_alone(self) -> bool:
        """Whether the one run stands for all, since the audit calls the arm deterministic."""
        return self.arm.deterministic and self.bundles.has_one_run(self.arm)

    @cached_property
    def decision(self) -> Decision:
        """The decision of all runs together."""
        return decide(self, self.bundles.claim)

    @cached_property
    def relaxed(self) -> Decision:
        """The decision where every bound of ours is relaxed."""
        return self.with_bounds(Limit.relaxed).decision

    @cached_property
    def unfinished(self) -> bool:
        """Whether runs are missing, or void and crashed ones stand in the way of a decision."""
        if missing_runs(self, self.bundles.claim) > 0:
            return True
        if self.decision is not Decision.OPEN or self.n == self.valid:
            return False
        hoped = map(self.supposing, (Status.YES, Status.NO))
        return any(arm.decision is not Decision.OPEN for arm in hoped)

    @property
    def equal(self) -> bool:
        """Whether all of at least five runs are equal in every number."""
        exact = not any(None in estimate.values or estimate.censored for estimate in self.estimates)
        known = bool(self.estimates) and exact and self.n >= FEWEST_RUNS
        return known and all(len(set(estimate.values)) == 1 for estimate in self.estimates)

    def with_bounds(self, change: Callable[[Limit], Limit]) -> ArmAtLevel:
        """Return the arm with other bounds, such as `Limit.relaxed`; a void run stays void."""
        return replace(self, limits=tuple(map(change, self.limits)))

    def supposing(
        self, status: Status, unknown: Container[Status] = (Status.VOID, Status.CRASHED)
    ) -> ArmAtLevel:
        """Return the arm whose void or crashed runs are taken to say yes, or no."""
        places = {place: status for place, run in enumerate(self.runs) if run.status in unknown}
        return replace(self, supposed={**self.supposed, **places})


def arm_answer(levels: Sequence[ArmAtLevel], kind: type[_Arm], **more: Any) -> _Arm:
    """Publish an arm at all coordinates that decide: a run says the worst that it says at each.

    Args:
        levels: the arm at each coordinate.
        kind: what is published.
        more: the fields that this has beyond those of any arm.
    """
    order = (Status.CRASHED, Status.NO, Status.VOID, Status.YES)
    first = levels[0]
    arm = first.arm
    bundles = first.bundles
    judged = arm.role in (Role.OWN, Role.READING)
    return kind(
        name=arm.name,
        role=arm.role,
        varied=varied_of(arm),
        at=first.at if len(levels) == 1 else None,
        decision=all_of(level.decision for level in levels),
        relaxed=all_of(level.relaxed for level in levels),
        runs=tuple(
            min(same, key=lambda run: order.index(run.status))
            for same in zip(*(level.runs for level in levels), strict=True)
        ),
        estimates=tuple(estimate for level in levels for estimate in level.estimates),
        unfinished=any(level.unfinished for level in levels),
        equal=all(level.equal for level in levels),
        copies=bundles.recorded(arm).copies,
        stands_alone=first.stands_alone,
        left_over=bundles.left_over(arm, first.checks) if judged else {},
        trained=bundles.trained(arm),
        **more,
    )


def varied_of(arm: PlannedArm) -> Varied | None:
    """Return the setting that a planned reading or alternative varies; None of any other arm."""
    if arm.varied is None:
        return None
    return Varied.at_once(dict((arm.varied, *arm.also)))


# --- asking -------------------------------------------------------------------------------------


def ask(
    bundles: Bundles, checks: Sequence[Kind], arm: PlannedArm, at: Coordinate | None = None
) -> ArmAtLevel:
    """Put checks that must all be met to an arm's runs, at a graded coordinate."""
    runs = _with_settled_ends(checks, ask_runs(checks, bundles, arm, bundles.place(at)))
    said = (of_run for of_run in runs.values() if not isinstance(of_run, RunAnswer))
    limits = tuple(condition.limit for condition in next(filter(None, said), ()))
    return ArmAtLevel(bundles, checks, arm, at, runs, limits)


def answer_to_check(bundles: Bundles, check: Kind, arm: PlannedArm) -> ArmAnswer:
    """Publish what an arm's runs say of one check."""
    return arm_answer([ask(bundles, (check,), arm)], ArmAnswer)


def _with_settled_ends(checks: Sequence[Kind], runs: Mapping[int, Said]) -> dict[int, Said]:
    """What runs say, void where a mean that decides would not so with the settled ends.

    Void are the runs whose last observation and the median at its end say otherwise of the bound.
    """
    asked = [said for said in runs.values() if not isinstance(said, RunAnswer) and said]
    unsettled = {
        place
        for place, conditions in enumerate(zip(*asked, strict=True))
        if _hangs_on_ends(checks, conditions)
    }
    return {
        seed: said if isinstance(said, RunAnswer) else _settled(said, unsettled)
        for seed, said in runs.items()
    }


def _hangs_on_ends(checks: Sequence[Kind], runs: Sequence[Condition]) -> bool:
    """Whether the mean of a condition decides, and that of the settled ends does not so."""
    settled = [replace(run, value=run.settled) for run in runs if run.settled is not None]
    if len(settled) < len(runs):
        return False
    limit = runs[0].limit
    last, median = (_estimate(checks, ends, limit, {}).decision for ends in (runs, settled))
    return last in (Decision.MET, Decision.MISSED) and median is not last


def _settled(conditions: Sequence[Condition], unsettled: Container[int]) -> tuple[Condition, ...]:
    """The conditions of a run, void where its ends disagree on a bound and the mean hangs on it."""
    return tuple(
        replace(condition, value=None, void=Void.END_APART)
        if place in unsettled
        and condition.settled is not None
        and condition.limit.met_by(condition.settled) != condition.met
        else condition
        for place, condition in enumerate(conditions)
    )
