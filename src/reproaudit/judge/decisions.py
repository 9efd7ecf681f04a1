"""From what runs say to a decision: counts, means, and the same with other bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reproaudit.audit.arms import PlannedArm, Role
from reproaudit.audit.model import Claim
from reproaudit.checks import Censored, Condition, Kind, Limit, Provenance, Void
from reproaudit.declarations import Coordinate
from reproaudit.formats.verdict import ArmAnswer, Estimate, RunAnswer, Status, Varied
from reproaudit.judge.bundles import Bundles
from reproaudit.judge.runs import Said, ask_runs, void_run
from reproaudit.stats.binomial import FEWEST_RUNS, Decision, decide_count
from reproaudit.stats.means import decide_mean, mean_interval, without_farthest
from reproaudit.stats.ranks import decide_ranks

FEWEST_OF_PAPER = 3
"""The fewest runs whose mean decides where the number is the paper's own."""

INSIDE = 0.25
"""The share of runs that lie inside a margin, at least, where their mean does."""


APART = 1 / 15
"""The share of runs, at most, without which a mean may decide as the count does."""


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
    said = _with_settled_ends(checks, ask_runs(checks, bundles, arm, bundles.place(at)))
    estimates = tuple(_estimates(checks, said))
    runs = tuple(_run(place, one, estimates) for place, one in enumerate(said))
    found = ArmAnswer(
        name=arm.name,
        role=arm.role,
        varied=varied_of(arm),
        at=at,
        decision=Decision.OPEN,
        relaxed=Decision.OPEN,
        runs=runs,
        estimates=estimates,
        equal=_equal(estimates, runs),
        copies=bundles.recorded(arm).copies,
        stands_alone=arm.deterministic and bundles.has_one_run(arm),
        trained=bundles.trained(arm),
    )
    judged = arm.role in (Role.OWN, Role.READING)
    if judged and (left_over := bundles.left_over(arm, checks)):
        found = found.model_copy(update={"left_over": left_over})
    return _decided(_ranked(found), claim)


def _decided(found: ArmAnswer, claim: Claim) -> ArmAnswer:
    """The answer with what its runs decide, as the bounds are and relaxed."""
    exact = claim.exact or found.stands_alone
    decision = decide(found, claim.share, exact)
    relaxed = decide(moved(found, Limit.relaxed), claim.share, exact)
    late = decision is Decision.OPEN and stands_in_the_way(found, claim.share, exact)
    few = missing_runs(found, claim) > 0
    changes = {"decision": decision, "relaxed": relaxed, "unfinished": late or few}
    return found.model_copy(update=changes)


def missing_runs(found: ArmAnswer, claim: Claim) -> int:
    """Return how many more runs an arm needs before they can decide."""
    others = [len(one.groups[1]) for one in found.estimates if one.groups is not None]
    fewest = 1 if claim.exact or found.stands_alone else _fewest(found.estimates)
    return max(0, fewest - found.n, *(FEWEST_RUNS - count for count in others))


def varied_of(arm: PlannedArm) -> Varied | None:
    """Return the setting that a planned reading or alternative varies; None of any other arm."""
    return None if arm.varied is None else Varied(setting=arm.varied[0], value=arm.varied[1])


def decide(found: ArmAnswer, share: float, exact: bool) -> Decision:
    """Decide by the count of runs and by every mean, all of which must be met.

    It is met only if it would be with every void or crashed run counted as no, and missed only if
    it would be with each counted as yes. Where the answer is exact, all runs must say yes.
    """
    n = found.n
    unknown = n - found.valid
    means = [one.decision for one in found.estimates if one.decision is not None]
    if exact:
        if found.yes + unknown < n:
            return Decision.MISSED
        return Decision.MET if n and found.yes == n else Decision.OPEN
    if means and len(means) == len(found.estimates):
        return all_of(means)
    counted = Decision.OPEN
    if n >= FEWEST_RUNS:
        for decision, yes in ((Decision.MET, found.yes), (Decision.MISSED, found.yes + unknown)):
            if decide_count(yes, n, share) is decision:
                counted = decision
    return all_of([counted, *means])


def stands_in_the_way(found: ArmAnswer, share: float, exact: bool) -> bool:
    """Tell whether an open answer might be decided, if void and crashed runs said yes or no."""
    if found.n == found.valid:
        return False
    hoped = (_as(found, status) for status in (Status.YES, Status.NO))
    return any(decide(one, share, exact) is not Decision.OPEN for one in hoped)


def may_be_met(found: ArmAnswer, claim: Claim) -> bool:
    """Tell whether an arm would be met if every void or crashed run said yes."""
    exact = claim.exact or found.stands_alone
    return decide(_as(found, Status.YES), claim.share, exact) is Decision.MET


def with_crashes(found: ArmAnswer, status: Status | None, claim: Claim) -> ArmAnswer:
    """Return an answer in which every crashed run says yes, or no; with None, as it is."""
    if status is None or not found.crashed:
        return found
    return _decided(_as(found, status, only=Status.CRASHED), claim)


def _as(found: ArmAnswer, status: Status, only: Status | None = None) -> ArmAnswer:
    unknown = (Status.VOID, Status.CRASHED) if only is None else (only,)
    hoped = {place: status for place, one in enumerate(found.runs) if one.status in unknown}
    runs = tuple(
        one.model_copy(update={"status": status}) if place in hoped else one
        for place, one in enumerate(found.runs)
    )
    return _ranked(found.model_copy(update={"runs": runs}), hoped)


# --- conditions ---------------------------------------------------------------------------------


def _estimates(checks: Sequence[Kind], said: Sequence[Said]) -> Iterator[Estimate]:
    common: tuple[Condition, ...] = next((one.conditions for one in said if one.conditions), ())
    for place, one in enumerate(common):
        found = [run.conditions[place] if run.conditions else None for run in said]
        estimate = _estimate(checks[one.check], one, found)
        if one.groups is not None:
            own = tuple(map(_compared, found))
            others = tuple(map(_known, one.groups[1]))
            compared = {"groups": (own, others), "decision": Decision.OPEN}
            estimate = estimate.model_copy(update=compared)
        yield _with_mean(estimate)


def _estimate(check: Kind, one: Condition, found: Sequence[Condition | None]) -> Estimate:
    """A condition over runs, of which `one` is any that has it, without its mean."""
    return Estimate(
        check=one.check,
        name=one.name,
        measurement=one.noun,
        unit=one.unit,
        contrast=one.contrast,
        limit=one.limit,
        values=tuple(None if each is None else each.value for each in found),
        holds=tuple(None if each is None else each.met for each in found),
        censored=_censored(found),
        by_mean=check.by_mean,
        log=bool(check.log),
    )


def _with_settled_ends(checks: Sequence[Kind], said: Sequence[Said]) -> list[Said]:
    """What runs say, void where a mean that decides would not so with the settled ends.

    Void are the runs whose last observation and the median at its end say otherwise of the bound.
    """
    asked = [one.conditions for one in said if one.conditions]
    unsettled = {
        place
        for place, found in enumerate(zip(*asked, strict=True))
        if _hangs_on_ends(checks[found[0].check], found)
    }
    return [replace(one, conditions=_settled(one.conditions, unsettled)) for one in said]


def _hangs_on_ends(check: Kind, found: Sequence[Condition]) -> bool:
    """Whether the mean of a condition decides, and that of the settled ends does not so."""
    settled = [replace(one, value=one.settled) for one in found if one.settled is not None]
    if len(settled) < len(found):
        return False
    last, median = (
        _with_mean(_estimate(check, found[0], one)).decision for one in (found, settled)
    )
    return last in (Decision.MET, Decision.MISSED) and median is not last


def _settled(found: Sequence[Condition], unsettled: Container[int]) -> tuple[Condition, ...]:
    """The conditions of a run, void where its ends disagree on a bound and the mean hangs on it."""
    return tuple(
        replace(one, value=None, void=Void.END_APART)
        if place in unsettled
        and one.settled is not None
        and one.limit.met_by(one.settled) != one.met
        else one
        for place, one in enumerate(found)
    )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _compared(one: Condition | None) -> float | None:
    """What is compared of a run with a group; None of a run that is void or has no number."""
    if one is None or one.groups is None or one.void is not None:
        return None
    return _known(one.groups[0])


def _ranked(found: ArmAnswer, hoped: Mapping[int, Status] | None = None) -> ArmAnswer:
    """The answer with what each comparison of groups decides; some runs may be taken to say so."""
    ends = {Status.YES: -math.inf, Status.NO: math.inf}
    places = {place: ends[status] for place, status in (hoped or {}).items()}
    places |= {place: math.inf for place, run in enumerate(found.runs) if run.diverged}
    estimates = tuple(
        one.model_copy(update={"decision": _of_groups(*one.groups, places)}) if one.groups else one
        for one in found.estimates
    )
    return found.model_copy(update={"estimates": estimates})


def _of_groups(
    own: Sequence[float | None], others: Sequence[float | None], ends: Mapping[int, float]
) -> Decision:
    """What a comparison of groups decides, whatever the runs without a number would have been.

    Those that diverged, or are taken to say yes or no, have their place at an end.
    """
    if min(len(own), len(others)) < FEWEST_RUNS:
        return Decision.OPEN
    placed = [ends.get(at) if number is None else number for at, number in enumerate(own)]
    for decision, end in ((Decision.MET, math.inf), (Decision.MISSED, -math.inf)):
        mine = [end if number is None else number for number in placed]
        theirs = [-end if number is None else number for number in others]
        if decide_ranks(mine, theirs) is decision:
            return decision
    return Decision.OPEN


def _censored(found: Sequence[Condition | None]) -> tuple[Censored | None, ...]:
    """Which runs' numbers are only limits; empty if none is."""
    sides = tuple(None if each is None else each.censored for each in found)
    return sides if any(sides) else ()


def _with_mean(one: Estimate) -> Estimate:
    """The condition with its mean, if it has one: where every run has a number, and enough do."""
    values = one.numbers
    fewest = _fewest_of(one)
    if not one.by_mean or len(values) < len(one.values) or one.censored:
        return one
    if len(values) < 2 or (one.log and min(values) <= 0):
        return one.model_copy(update={"decision": Decision.OPEN})
    mean = mean_interval(values, one.log)
    decision = decide_mean(mean[1:], one.limit.accepted) if len(values) >= fewest else Decision.OPEN
    inside = sum(map(bool, one.holds))
    counted = decide_count(inside, len(values))
    few = inside < INSIDE * len(values)
    if decision is Decision.MET and (few or (_refuted(one) and counted is not Decision.MET)):
        decision = Decision.OPEN
    changes = {"mean": mean, "decision": decision}
    if decision is Decision.OPEN and counted is not Decision.OPEN:
        changes |= _without_a_few(one, counted)
    return one.model_copy(update=changes)


def _without_a_few(one: Estimate, counted: Decision) -> dict[str, Any]:
    """The mean without the runs that lie apart, if it decides as the count of all of them does."""
    kept = without_farthest(one.numbers, int(APART * len(one.numbers)))
    mean = mean_interval(kept, one.log)
    if decide_mean(mean[1:], one.limit.accepted) is not counted:
        return {}
    return {"mean": mean, "decision": counted, "apart": len(one.numbers) - len(kept)}


def _refuted(one: Estimate) -> bool:
    """Whether a run says no although its number meets the bound."""
    return any(
        holds is False and value is not None and one.limit.met_by(value)
        for value, holds in zip(one.values, one.holds, strict=True)
    )


def _fewest_of(one: Estimate) -> int:
    of_paper = one.limit.number_from is Provenance.PAPER and one.groups is None
    return FEWEST_OF_PAPER if of_paper else FEWEST_RUNS


def _fewest(estimates: Sequence[Estimate]) -> int:
    """The fewest runs that can decide all conditions."""
    fewest = [_fewest_of(one) if one.decision is not None else FEWEST_RUNS for one in estimates]
    return max(fewest, default=FEWEST_RUNS)


def _run(place: int, said: Said, estimates: Sequence[Estimate]) -> RunAnswer:
    """What a run says: of conditions that a mean decides only if there is no other."""
    if said.answer is not None:
        return said.answer
    every = range(len(estimates))
    counted = [at for at in every if estimates[at].decision is None] or [*every]
    holds = [estimates[at].holds[place] for at in counted]
    if False in holds:
        return RunAnswer(seed=said.seed, status=Status.NO)
    if None in holds:
        at = counted[holds.index(None)]
        censored = estimates[at].side(place) is not None
        why = Void.CENSORED if censored else Void.NO_NUMBER
        condition = said.conditions[at] if said.conditions else None
        found = None
        about = estimates[at].measurement
        if condition is not None and condition.void is not None:
            why = condition.void
            found = condition.found
            about = condition.about or about
        return void_run(said.seed, why, about, found)
    return RunAnswer(seed=said.seed, status=Status.YES)


def _equal(estimates: Sequence[Estimate], runs: Sequence[RunAnswer]) -> bool:
    """Whether all of at least five runs are equal in every number."""
    exact = not any(None in one.values or one.censored for one in estimates)
    known = bool(estimates) and exact
    return known and len(runs) >= FEWEST_RUNS and all(len(set(e.values)) == 1 for e in estimates)


# --- with other bounds --------------------------------------------------------------------------


def moved(found: ArmAnswer, change: Callable[[Limit], Limit]) -> ArmAnswer:
    """Return an answer with other bounds, such as `Limit.relaxed`; its decision stays as it was."""
    estimates = tuple(_moved(one, change(one.limit)) for one in found.estimates)
    said = [
        Said(run.seed, answer=None if _has_numbers(found, place) else run)
        for place, run in enumerate(found.runs)
    ]
    runs = tuple(_run(place, one, estimates) for place, one in enumerate(said))
    return found.model_copy(update={"estimates": estimates, "runs": runs})


def _has_numbers(found: ArmAnswer, place: int) -> bool:
    return any((e.values[place], e.holds[place]) != (None, None) for e in found.estimates)


def _moved(one: Estimate, limit: Limit) -> Estimate:
    if limit == one.limit:
        return one
    holds = tuple(one.held(run, limit) for run in range(len(one.values)))
    return _with_mean(one.model_copy(update={"limit": limit, "holds": holds, "mean": None}))


def joined(parts: Sequence[ArmAnswer]) -> ArmAnswer:
    """Join the answers at several coordinates: a run says yes if it does at each of them."""
    if len(parts) == 1:
        return parts[0]
    order = (Status.CRASHED, Status.NO, Status.VOID, Status.YES)
    runs = tuple(
        min(same, key=lambda one: order.index(one.status))
        for same in zip(*(part.runs for part in parts), strict=True)
    )
    return parts[0].model_copy(
        update={
            "runs": runs,
            "decision": all_of(one.decision for one in parts),
            "relaxed": all_of(one.relaxed for one in parts),
            "estimates": tuple(e for one in parts for e in one.estimates),
            "unfinished": any(one.unfinished for one in parts),
            "equal": all(one.equal for one in parts),
            "at": None,
        }
    )
