"""From what runs say to a decision: counts, means, contrasts with the null, graded coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from reproaudit.audit.claims import Claim
from reproaudit.audit.plan import PlannedArm, Role, runs_of
from reproaudit.checks import Condition, Kind, Side
from reproaudit.declarations import Coordinate
from reproaudit.judge.model import ArmAnswer, Estimate, RunAnswer, Status
from reproaudit.judge.runs import Bundles, answers
from reproaudit.stats import Decision, decide_count, decide_mean, mean_interval

FEWEST = 5
"""The fewest runs that can decide."""


def all_of(decisions: Iterable[Decision]) -> Decision:
    """Join decisions that must all be met: missed if one is, met if all are, else open."""
    found = set(decisions)
    if Decision.MISSED in found:
        return Decision.MISSED
    return Decision.MET if found == {Decision.MET} else Decision.OPEN


@dataclass(frozen=True)
class Question:
    """Some checks that are put to the arms of a claim together.

    Attributes:
        claim: whose checks they are.
        checks: all of them must be met.
        bundles: the claim's records.
    """

    claim: Claim
    checks: tuple[Kind, ...]
    bundles: Bundles

    def ask(self, arm: PlannedArm, at: Coordinate | None = None) -> ArmAnswer:
        """Return the answer of an arm's runs, at a graded coordinate if there is one."""
        grade = self.claim.grade
        place = {grade.axis: at} if grade is not None and at is not None else {}
        runs = answers(self.checks, self.bundles, arm, place)
        audit, tier = self.bundles.audit, self.bundles.tier
        count = self.bundles.count(arm)
        # what is the same whatever the seed needs no second run, but for the claim itself
        exact = self.claim.exact or (len(runs) == 1 < count and arm.role is not Role.OWN)
        estimates = tuple(self._estimates(runs))
        decision = decide(runs, estimates, self.claim.share or 0.5, exact)
        kinder = [replace(r, status=Status.YES) if r.status is Status.FAILED else r for r in runs]
        return ArmAnswer(
            arm,
            runs,
            runs_of(audit, self.claim, arm, tier),
            decision,
            estimates,
            broken=decide(kinder, estimates, self.claim.share or 0.5, exact) is not decision,
            same=count - len(runs),
            at=at,
            trained=self.bundles.trained(arm),
        )

    def _estimates(self, runs: Sequence[RunAnswer]) -> Iterator[Estimate]:
        answered = [one for one in runs if one.conditions]
        diverged = any(one.diverged for one in runs)
        for place, check in enumerate(self._owners(answered)):
            mine = [one.conditions[place] for one in answered]
            values = tuple(one.value for one in mine if one.value is not None)
            typical = _typical(mine)
            if not check.by_mean:
                yield Estimate(typical, values)
            elif diverged or len(values) < max(2, len(mine)):
                yield Estimate(typical, values, Decision.OPEN)
            else:
                log = min(values) > 0 and not check.signed if check.log is None else check.log
                mean = mean_interval(values, log)
                decision = decide_mean((mean[1], mean[2]), typical.limit.accepted)
                yield Estimate(typical, values, decision, mean)

    def _owners(self, answered: Sequence[RunAnswer]) -> tuple[Kind, ...]:
        """The check to which each condition of a run belongs."""
        return tuple(self.checks[one.check] for one in answered[0].conditions) if answered else ()


def _typical(conditions: Sequence[Condition]) -> Condition:
    """The condition of a run in the middle, with what is common to all."""
    with_number = [one for one in conditions if one.value is not None]
    ordered = sorted(with_number, key=lambda one: one.value or 0.0)
    return ordered[len(ordered) // 2] if ordered else conditions[0]


def decide(
    runs: Sequence[RunAnswer], estimates: Sequence[Estimate], share: float, exact: bool
) -> Decision:
    """Decide by a count of runs and by every mean, all of which must be met.

    Args:
        runs: what each says.
        estimates: by condition; those with a decision of their own are decided on the mean.
        share: of all runs, of which more must say yes.
        exact: whether one run decides.
    """
    yes = sum(one.status is Status.YES for one in runs)
    n = sum(one.status in (Status.YES, Status.NO, Status.FAILED) for one in runs)
    means = [one.decision for one in estimates if one.decision is not None]
    if exact:
        return Decision.OPEN if not n else Decision.MET if yes == n else Decision.MISSED
    if n < FEWEST:
        return Decision.OPEN
    if means and len(means) == len(estimates):
        return all_of(means)
    return all_of([decide_count(yes, n, share), *means])


def beats_null(own: ArmAnswer, null: ArmAnswer) -> Decision | None:
    """Decide whether every contrast of the claim is larger than the null's, seed by seed.

    A contrast that does not exist is smaller than any other; ties count for neither.

    Returns:
        None without a contrast, or without a common seed.
    """
    theirs = {one.seed: one for one in null.runs if one.conditions}
    pairs = [(one, theirs[one.seed]) for one in own.runs if one.conditions and one.seed in theirs]
    if not pairs:
        return None
    decisions = []
    for place, condition in enumerate(pairs[0][0].conditions):
        if condition.contrast:
            signs = [
                _size(mine.conditions[place]) - _size(other.conditions[place])
                for mine, other in pairs
            ]
            wins, losses = sum(one > 0 for one in signs), sum(one < 0 for one in signs)
            enough = wins + losses >= FEWEST
            decisions.append(decide_count(wins, wins + losses) if enough else Decision.OPEN)
    return all_of(decisions) if decisions else None


def _size(condition: Condition) -> float:
    """A contrast's number, larger where it is met by more; a number that is none is the least."""
    if condition.value is None:
        return -1e300
    below = condition.limit.side in (Side.BELOW, Side.AT_MOST)
    return -condition.value if below else condition.value


def joined(parts: Sequence[ArmAnswer]) -> ArmAnswer:
    """Join the answers at several coordinates: a run says yes if it does at each of them."""
    if len(parts) == 1:
        return parts[0]
    order = (Status.FAILED, Status.UNPAIRED, Status.VOID, Status.NO, Status.YES)
    by_seed: dict[int, list[RunAnswer]] = {}
    for part in parts:
        for run in part.runs:
            by_seed.setdefault(run.seed, []).append(run)
    runs = tuple(
        replace(
            runs[0],
            status=min((one.status for one in runs), key=order.index),
            conditions=tuple(c for one in runs for c in one.conditions),
        )
        for runs in by_seed.values()
    )
    return replace(
        parts[0],
        runs=runs,
        decision=all_of(one.decision for one in parts),
        estimates=tuple(e for one in parts for e in one.estimates),
        broken=any(one.broken for one in parts),
        at=None,
    )


def scaled(answer: ArmAnswer, place: int, by: float, share: float, exact: bool) -> Decision:
    """Decide again with one bound that allows a multiple of what it allows.

    Args:
        answer: the runs, decided on a count.
        place: which condition's bound.
        by: a half or two.
        share: as in `decide`.
        exact: as in `decide`.
    """
    means = {i for i, one in enumerate(answer.estimates) if one.decision is not None}
    estimates = list(answer.estimates)
    if place in means:
        one = estimates[place]
        if one.mean is not None:
            limit = one.limit.scaled(by)
            decision = decide_mean((one.mean[1], one.mean[2]), limit.accepted)
            estimates[place] = replace(one, decision=decision)
        return decide(answer.runs, estimates, share, exact)
    runs = []
    for run in answer.runs:
        if run.status in (Status.YES, Status.NO) and run.conditions:
            met = [
                one.limit.scaled(by).met_by(one.value) if i == place else one.met
                for i, one in enumerate(run.conditions)
                if i not in means
            ]
            run = replace(run, status=Status.YES if all(met) else Status.NO)
        runs.append(run)
    return decide(runs, estimates, share, exact)


def log_effect(answer: ArmAnswer) -> float | None:
    """Return the typical log factor of the first contrast of an arm; None if it has none."""
    for one in answer.estimates:
        if one.condition.contrast and one.median is not None and one.median > 0:
            return math.log(one.median)
    return None
