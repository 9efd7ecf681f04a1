"""From what runs say to a decision: counts, means, contrasts with the null, graded coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reproaudit.audit.model import Claim
from reproaudit.audit.plan import PlannedArm, Role
from reproaudit.checks import Condition, Kind, Side
from reproaudit.declarations import Coordinate
from reproaudit.judge.runs import Bundles, Said, answers
from reproaudit.stats.binomial import FEWEST_RUNS, Decision, decide_count
from reproaudit.stats.means import decide_mean, mean_interval
from reproaudit.verdict import ArmAnswer, Estimate, RunAnswer, Status, Varied


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
    said = answers(checks, bundles, arm, place)
    runs = tuple(run for run, _ in said)
    count = len(bundles.recorded(arm))
    # what is the same whatever the seed needs no second run, but for the claim itself
    exact = claim.exact or (len(runs) == 1 < count and arm.role is not Role.OWN)
    estimates = tuple(_estimates(checks, said))
    decision = decide(runs, estimates, claim.share, exact)
    kinder = [
        one.model_copy(update={"status": Status.YES}) if one.status is Status.FAILED else one
        for one in runs
    ]
    return ArmAnswer(
        name=arm.name,
        role=arm.role,
        varied=varied_of(arm),
        at=at,
        decision=decision,
        runs=runs,
        estimates=estimates,
        broken=decide(kinder, estimates, claim.share, exact) is not decision,
        same=count - len(runs),
        trained=bundles.trained(arm),
    )


def varied_of(arm: PlannedArm) -> Varied | None:
    """Return the setting that a planned reading or alternative varies; None of any other arm."""
    return None if arm.varied is None else Varied(setting=arm.varied[0], value=arm.varied[1])


def _estimates(checks: Sequence[Kind], said: Sequence[Said]) -> Iterator[Estimate]:
    diverged = any(run.diverged for run, _ in said)
    common: tuple[Condition, ...] = next((found for _, found in said if found), ())
    for place, one in enumerate(common):
        check = checks[one.check]
        values = tuple(found[place].value if found else None for _, found in said)
        numbers = [value for value in values if value is not None]
        decision: Decision | None = None
        mean: tuple[float, float, float] | None = None
        if check.by_mean:
            answered = sum(bool(found) for _, found in said)
            decision = Decision.OPEN
            if not diverged and len(numbers) >= max(2, answered):
                log = min(numbers) > 0 and not check.signed if check.log is None else check.log
                mean = mean_interval(numbers, log)
                decision = decide_mean(mean[1:], one.limit.accepted)
        yield Estimate(
            check=one.check,
            name=one.name,
            measurement=one.noun,
            unit=one.unit,
            contrast=one.contrast,
            limit=one.limit,
            values=values,
            decision=decision,
            mean=mean,
        )


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
    if exact and n:
        return Decision.MET if yes == n else Decision.MISSED
    if exact or n < FEWEST_RUNS:
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
    theirs = {run.seed: place for place, run in enumerate(null.runs) if run.answered}
    pairs = [
        (place, theirs[run.seed])
        for place, run in enumerate(own.runs)
        if run.answered and run.seed in theirs
    ]
    if not pairs:
        return None
    decisions = []
    for mine, other in zip(own.estimates, null.estimates, strict=True):
        if mine.contrast:
            sizes = [(_size(mine, a), _size(other, b)) for a, b in pairs]
            wins = sum(a > b for a, b in sizes)
            losses = sum(a < b for a, b in sizes)
            enough = wins + losses >= FEWEST_RUNS
            decisions.append(decide_count(wins, wins + losses) if enough else Decision.OPEN)
    return all_of(decisions) if decisions else None


def _size(estimate: Estimate, run: int) -> float:
    """A run's contrast, larger where it is met by more; a number that is none is the least."""
    value = estimate.values[run]
    if value is None:
        return -1e300
    return -value if estimate.limit.side in (Side.BELOW, Side.AT_MOST) else value


def joined(parts: Sequence[ArmAnswer]) -> ArmAnswer:
    """Join the answers at several coordinates: a run says yes if it does at each of them."""
    if len(parts) == 1:
        return parts[0]
    order = (Status.FAILED, Status.UNPAIRED, Status.VOID, Status.NO, Status.YES)
    runs = tuple(
        same[0].model_copy(update={"status": min((one.status for one in same), key=order.index)})
        for same in zip(*(part.runs for part in parts), strict=True)
    )
    return parts[0].model_copy(
        update={
            "runs": runs,
            "decision": all_of(one.decision for one in parts),
            "estimates": tuple(e for one in parts for e in one.estimates),
            "broken": any(one.broken for one in parts),
            "at": None,
        }
    )


def scaled(answer: ArmAnswer, place: int, by: float, claim: Claim) -> Decision:
    """Decide again with the bound of one condition allowing a multiple of what it allows."""
    estimates = list(answer.estimates)
    one = answer.estimates[place]
    limit = one.limit.scaled(by)
    runs = list(answer.runs)
    if one.mean is not None:
        decision = decide_mean(one.mean[1:], limit.accepted)
        estimates[place] = one.model_copy(update={"decision": decision})
    elif one.decision is None:
        estimates[place] = one.model_copy(update={"limit": limit})
        counted = [other for other in estimates if other.decision is None]
        for k, run in enumerate(runs):
            if run.answered:
                yes = all(other.limit.met_by(other.values[k]) for other in counted)
                status = Status.YES if yes else Status.NO
                runs[k] = run.model_copy(update={"status": status})
    return decide(runs, estimates, claim.share, claim.exact)
