"""Parts whose numbers decide them, and say less than they seem to."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.plan import Role
from reproaudit.judging.model import Verdict
from reproaudit.reports.chart import mean_run_of
from reproaudit.reports.seen import parts_words
from reproaudit.reports.stated_rule import check_of
from reproaudit.reports.status import holds
from reproaudit.scorecard.model import ClaimModel
from reproaudit.stats import Decision

SKEWED = 3
"""Runs of one sign of which the largest is so many times the smallest may be skewed."""


def skewed_runs(claim: ClaimModel) -> Iterator[str]:
    """Yields a warning on each part of widely spread runs whose mean is judged on the linear scale.

    Runs of a log-normal law meet a bound at their own mean in up to 68 % of audits of 5 to 20 runs;
    without this warning in at most 2.6 %, of which the rule allows 2.5 % to normal runs.
    """
    for part in claim.parts:
        sizes = [abs(value) for value in part.per_seed]
        of_one_sign = min(part.per_seed, default=0.0) * max(part.per_seed, default=0.0) >= 0
        is_rate = check_of(claim, part).get("kind") == "failure_rate"  # each run passes or fails
        is_mean = part.scale == "linear" and part.interval is not None and not is_rate
        largest, smallest = max(sizes, default=0.0), min(sizes, default=0.0)
        if is_mean and of_one_sign and largest > max(SKEWED * smallest, part.floor):
            yield (
                f"the largest run of '{part.name}' is more than three times its smallest; on the "
                "linear scale a mean of skewed numbers is met by chance more often"
            )


def equal_numbers(claim: ClaimModel) -> Iterator[str]:
    """Yields a warning on each part that compares two numbers which are equal in some run.

    A ratio of 1 meets the bound 1, and a difference of 0 the bound 0, though neither is smaller.
    """
    for part in claim.parts:
        check, equal = check_of(claim, part), 0.0 if part.scale == "linear" else 1.0
        compares = check.get("kind") == "separates" or check.get("relative_to")
        runs = sum(one == equal for one in part.per_seed)
        if compares and runs and part.decision is Decision.MET and part.bound == equal:
            count = "every run" if runs == len(part.per_seed) else f"{runs} of its runs"
            yield f"the two numbers of '{part.name}' are equal in {count}: neither is smaller"


def without_a_course(claim: ClaimModel) -> Iterator[str]:
    """Yields a warning on parts of a claim that holds of which no course over training is drawn.

    They are read from single numbers, or they are more than a claim has pictures. Whether runs
    begin where a part is met, and where its ablation begins, is read from the course.
    """
    if not holds(claim) or claim.rule.get("trains") is False:
        return
    drawn = {part for one in claim.pictures if one.kind == "course" for part in one.parts}
    missing = [part.name for part in claim.parts if part.name not in drawn]
    if missing:
        yield (
            f"no course is drawn of the parts {parts_words(missing)}: nothing shows whether runs "
            "begin where they are met, or where their ablation began"
        )


FASTEST_EARLY = 0.5
"""A quantity that moves half as fast while it is to wait as it does then has hardly waited."""


def slow_from_the_start(claim: ClaimModel) -> Iterator[str]:
    """Yields a warning on a quantity that is judged to wait, and moves from the start.

    It is slow then, rather than late: of two that both move from the start, one of them thirty
    times as fast, the slower one has made little of its change when the other one has come.
    """
    for picture in claim.pictures if holds(claim) else ():
        own = {one.quantity: one for one in picture.lines if one.role is Role.EXPERIMENT}
        onsets = {one.quantity: one.step for one in picture.onsets}
        for one in picture.plateaus:
            if one.quantity not in own or onsets.get(one.quantity, 0.0) <= one.until:
                continue
            line = own[one.quantity]
            mean = mean_run_of(line, picture)
            steps = [float(x) for x in line.x[: len(mean)]]
            start, wait, come = (
                mean[max(i for i, x in enumerate(steps) if x <= step)]
                for step in (steps[0], one.until, onsets[one.quantity])
            )
            early = abs(wait - start) / max(one.until - steps[0], 1.0)
            late = abs(come - wait) / max(onsets[one.quantity] - one.until, 1.0)
            if early and early >= FASTEST_EARLY * late:
                yield (
                    f"{line.label} moves from the start, at {early / late if late else 1:.2g} "
                    "times the speed that it has then: it is slow rather than late"
                )


def missed_says_less(claim: ClaimModel, tier: str) -> Iterator[str]:
    """Yields a warning where a movement or a constructed solution should have told more."""
    moved = claim.movement is not None and claim.movement.loss_moved is not None
    if claim.verdict is Verdict.CONTRADICTED and not moved and claim.rule.get("trains", True):
        yield "nothing shows that the claim's own runs trained: no movement of them was measured"
    positive = claim.positive_control
    if positive is None:
        return
    if claim.verdict is Verdict.CONTRADICTED and positive.decision is None:
        yield "the constructed solution gave no answer: nothing shows that the bound can be met"
    if claim.verdict is Verdict.UNATTAINABLE and positive.tier != tier:
        yield (
            f"the constructed solution ran at {positive.tier} scale: at the claim's own it may "
            "meet what it misses there"
        )
