"""From what runs say to a decision: counts, means, contrasts with the null, graded coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from reproaudit.audit.model import Claim
from reproaudit.audit.plan import PlannedArm, Role
from reproaudit.checks import Condition, Kind, Side
from reproaudit.declarations import Coordinate
from reproaudit.judge.model import ArmAnswer, Estimate, RunAnswer, Status
from reproaudit.judge.runs import Bundles, answers
from reproaudit.stats.binomial import FEWEST_RUNS, Decision, decide_count
from reproaudit.stats.means import decide_mean, mean_interval


def all_of(decisions: Iterable[Decision]) -> Decision:
    """Join decisions that must all be met: missed if one is, met if all are, else open."""
    found = set(decisions)
    if Decision.MISSED in found:
        return Decision.MISSED
    return Decision.MET if found == {Decision.MET} else Decision.OPEN


def ask(
    bundles: Bundles, checks: Sequence[Kind], arm: PlannedArm, at: Coordinate | None = None
) -> ArmAnswer:
    """Return what an arm's runs say of checks that must all be met, at a graded coordinate."""
    claim = bundles.claim
    place = {claim.grade.axis: at} if claim.grade is not None and at is not None else {}
    runs = answers(checks, bundles, arm, place)
    count = len(bundles.recorded(arm))
    # what is the same whatever the seed needs no second run, but for the claim itself
    exact = claim.exact or (len(runs) == 1 < count and arm.role is not Role.OWN)
    estimates = tuple(_estimates(checks, runs))
    decision = decide(runs, estimates, claim.share, exact)
    kinder = [replace(r, status=Status.YES) if r.status is Status.FAILED else r for r in runs]
    return ArmAnswer(
        arm,
        runs,
        decision,
        estimates,
        broken=decide(kinder, estimates, claim.share, exact) is not decision,
        same=count - len(runs),
        at=at,
        trained=bundles.trained(arm),
    )


def _estimates(checks: Sequence[Kind], runs: Sequence[RunAnswer]) -> Iterator[Estimate]:
    answered = [one for one in runs if one.conditions]
    diverged = any(one.diverged for one in runs)
    for place, first in enumerate(answered[0].conditions if answered else ()):
        check = checks[first.check]
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


def _typical(conditions: Sequence[Condition]) -> Condition:
    """The condition of a run in the middle, with what is common to all."""
    with_number = [one for one in conditions if one.value is not None]
    ordered = sorted(with_number, key=lambda one: one.value or 0.0)
    return ordered[len(ordered) // 2] if ordered else conditions[0]


def decide(
    runs: Sequence[RunAnswer], estimates: Sequence[Estimate], share: float, exact: bool
) -> Decision:
    """Decide by a count of runs and by every mean, all of which must be met.

    Estimates with a decision of their own are decided on the mean. More than a share of all runs
    must say yes; where the answer is exact, one run decides.
    """
    yes = sum(one.status is Status.YES for one in runs)
    n = sum(one.status in (Status.YES, Status.NO, Status.FAILED) for one in runs)
    means = [one.decision for one in estimates if one.decision is not None]
    if exact:
        return Decision.OPEN if not n else Decision.MET if yes == n else Decision.MISSED
    if n < FEWEST_RUNS:
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
            sizes = [[_size(run.conditions[place]) for run in pair] for pair in pairs]
            wins, losses = sum(a > b for a, b in sizes), sum(a < b for a, b in sizes)
            enough = wins + losses >= FEWEST_RUNS
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


def scaled(answer: ArmAnswer, place: int, by: float, claim: Claim) -> Decision:
    """Decide again with the bound of one condition allowing a multiple of what it allows."""
    estimates, one = list(answer.estimates), answer.estimates[place]
    limit, runs = one.limit.scaled(by), list(answer.runs)
    if one.mean is not None:
        decision = decide_mean(one.mean[1:], limit.accepted)
        estimates[place] = replace(one, decision=decision)
    elif one.decision is None:
        counted = [i for i, other in enumerate(estimates) if other.decision is None]
        for k, run in enumerate(runs):
            if run.conditions:
                said = {i: run.conditions[i].met for i in counted}
                said[place] = limit.met_by(run.conditions[place].value)
                runs[k] = replace(run, status=Status.YES if all(said.values()) else Status.NO)
    return decide(runs, estimates, claim.share, claim.exact)


def effect(answer: ArmAnswer) -> float | None:
    """Return the typical factor of the first contrast of an arm; None if it has none."""
    contrasts = [one.median for one in answer.estimates if one.condition.contrast]
    return next((one for one in contrasts if one is not None and one > 0), None)
