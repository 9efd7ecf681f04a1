"""From what runs say to a decision: by their count, their mean, or their ranks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from reproaudit.audit.model import Claim
from reproaudit.checks import Limit, Provenance
from reproaudit.formats.verdict import Counted, Estimate
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
    kinds = set(decisions)
    if Decision.MISSED in kinds:
        return Decision.MISSED
    return Decision.MET if kinds == {Decision.MET} else Decision.OPEN


def decide(arm: Counted, claim: Claim) -> Decision:
    """Decide by the count of runs and by every mean, all of which must be met.

    It is met only if it would be with every void or crashed run counted as no, and missed only if
    it would be with each counted as yes. Where the answer is exact, all runs must say yes.
    """
    hoped = arm.yes + arm.n - arm.valid
    means = [estimate.decision for estimate in arm.estimates if estimate.decision is not None]
    if claim.exact or arm.stands_alone:
        if hoped < arm.n:
            return Decision.MISSED
        return Decision.MET if arm.n and arm.yes == arm.n else Decision.OPEN
    if means and len(means) == len(arm.estimates):
        return all_of(means)
    counted = Decision.OPEN
    if arm.n >= FEWEST_RUNS:
        for decision, yes in ((Decision.MET, arm.yes), (Decision.MISSED, hoped)):
            if decide_count(yes, arm.n, claim.share) is decision:
                counted = decision
    return all_of([counted, *means])


def fewest_yes(claim: Claim, runs: int) -> int | None:
    """Return how many of so many runs must say yes; None if so few runs never decide by count."""
    if claim.exact:
        return runs
    if runs < FEWEST_RUNS:
        return None
    counts = range(runs + 1)
    return next((n for n in counts if decide_count(n, runs, claim.share) is Decision.MET), None)


def missing_runs(arm: Counted, claim: Claim) -> int:
    """Return how many more runs an arm needs before they can decide."""
    others = [len(estimate.groups[1]) for estimate in arm.estimates if estimate.groups is not None]
    fewest = max(map(_fewest_of, arm.estimates), default=FEWEST_RUNS)
    if claim.exact or arm.stands_alone:
        fewest = 1
    return max(0, fewest - arm.n, *(FEWEST_RUNS - count for count in others))


def runs_until_answer(arm: Counted, claim: Claim) -> int:
    """Return how many more runs may lead to an answer if all say the same, beside void ones."""
    missing = missing_runs(arm, claim)
    hoped = arm.yes + arm.n - arm.valid
    if claim.exact or arm.stands_alone or hoped == arm.yes:
        return missing
    return next(
        more
        for more in itertools.count(missing)
        if decide_count(arm.yes + more, arm.n + more, claim.share) is Decision.MET
        or decide_count(hoped, arm.n + more, claim.share) is Decision.MISSED
    )


def _fewest_of(estimate: Estimate) -> int:
    """The fewest runs that can decide a condition."""
    ranked = estimate.groups is not None
    return FEWEST_RUNS if estimate.decision is None or ranked else fewest_of_mean(estimate.limit)


# --- means --------------------------------------------------------------------------------------


class MeanDecision(NamedTuple):
    """What the mean of runs decides.

    Attributes:
        mean: with the ends of its 90 % interval; None of too few numbers.
        apart: how many runs it leaves out.
    """

    decision: Decision
    mean: tuple[float, float, float] | None = None
    apart: int = 0


def fewest_of_mean(limit: Limit) -> int:
    """Return the fewest runs whose mean decides on a bound."""
    return FEWEST_OF_PAPER if limit.number_from is Provenance.PAPER else FEWEST_RUNS


def decide_by_mean(
    values: Sequence[float], holds: Sequence[bool | None], limit: Limit, log: bool
) -> MeanDecision:
    """Decide by the mean of the number of every run.

    A mean that is open decides as the count of all runs does, if it does without the few runs that
    lie farthest from the typical one.

    Args:
        values: the number of each run.
        holds: whether each run meets the bound.
        limit: the bound.
        log: whether the mean is the geometric one.
    """
    if len(values) < 2 or (log and min(values) <= 0):
        return MeanDecision(Decision.OPEN)
    mean = mean_interval(values, log)
    inside = sum(map(bool, holds))
    counted = decide_count(inside, len(values))
    decision = decide_mean(mean[1:], limit.accepted)
    few = inside < INSIDE * len(values)
    refuted = any(
        held is False and limit.met_by(value) for value, held in zip(values, holds, strict=True)
    )
    doubted = few or (refuted and counted is not Decision.MET)
    if len(values) < fewest_of_mean(limit) or (decision is Decision.MET and doubted):
        decision = Decision.OPEN
    if decision is Decision.OPEN and counted is not Decision.OPEN:
        kept = without_farthest(values, int(APART * len(values)))
        near = mean_interval(kept, log)
        if decide_mean(near[1:], limit.accepted) is counted:
            return MeanDecision(counted, near, len(values) - len(kept))
    return MeanDecision(decision, mean)


# --- groups -------------------------------------------------------------------------------------


def decide_groups(
    own: Sequence[float | None], others: Sequence[float | None], ends: Mapping[int, float]
) -> Decision:
    """Decide a comparison of groups, whatever the runs without a number would have been.

    Args:
        own: the number of each run, the smaller the better; None where a run has none.
        others: the number of each run of the other arm.
        ends: where runs without a number stand, by their place: minus infinity if they say yes,
            infinity if they diverged or say no.
    """
    if min(len(own), len(others)) < FEWEST_RUNS:
        return Decision.OPEN
    placed = [ends.get(place) if number is None else number for place, number in enumerate(own)]
    for decision, end in ((Decision.MET, math.inf), (Decision.MISSED, -math.inf)):
        mine = [end if number is None else number for number in placed]
        theirs = [-end if number is None else number for number in others]
        if decide_ranks(mine, theirs) is decision:
            return decision
    return Decision.OPEN
