"""What each run says of the checks: yes, no, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reproaudit.audit.arms import PlannedArm
from reproaudit.checks import (
    Begins,
    Condition,
    FewObservedError,
    Kind,
    Limit,
    PassedAt,
    Run,
    Side,
    Void,
)
from reproaudit.declarations import Coordinate, MeasurementMissingError, Quantity
from reproaudit.formats.verdict import RunAnswer, Status
from reproaudit.judge.alike import keeps_up, not_as_far
from reproaudit.judge.bundles import Bundles, is_series, paired_with
from reproaudit.judge.views import before_the_end, never_learned, not_comparable, still_moves, views
from reproaudit.records import CellStatus, Record
from reproaudit.stats.onsets import Start

Said = tuple[Condition, ...] | RunAnswer
"""What a run says: its conditions in order; or, of one that has none, its answer."""


def ask_runs(
    checks: Sequence[Kind],
    bundles: Bundles,
    arm: PlannedArm,
    at: Mapping[str, Coordinate] | None = None,
) -> dict[int, Said]:
    """Return what each run of an arm says of checks, by seed; `at` is a graded coordinate, by axis.

    A run that crashed or diverged has no conditions, and neither has one whose reference diverged
    or has no run with its seed. Where the reference is from elsewhere and crashed, there is no pair
    to ask, as there is none where the run itself did.
    """
    groups = {
        check.group: _group(bundles, check, arm) for check in checks if check.group is not None
    }
    references = [bundles.recorded(bundles.arms[name]) for name in paired_with(checks)]
    crashed = frozenset[int]().union(*(reference.crashed for reference in references))
    every = bundles.recorded(arm).runs
    records = {seed: each for seed, each in every.items() if seed not in crashed} or every
    answers = {
        seed: _without_conditions(bundles, checks, arm, record, groups)
        for seed, record in records.items()
    }
    runs = {
        seed: bundles.run(arm, records[seed]).placed(at or {})
        for seed, answer in answers.items()
        if answer is None
    }
    unlike = [
        never_learned(check, [_view(check, run, groups) for run in runs.values()])
        for check in checks
    ]
    return {
        seed: answer or _asked(checks, arm, runs[seed], groups, unlike)
        for seed, answer in answers.items()
    }


def _group(bundles: Bundles, check: Kind, arm: PlannedArm) -> tuple[Run | None, ...]:
    """Every run of the group that an arm is compared with, by seed.

    None stands for one that has no numbers, or does not go as far.
    """
    there = bundles.arms[str(check.group)]
    return tuple(
        bundles.bare(there, record)
        if record.status is CellStatus.COMPLETED and keeps_up(bundles, check, arm, there, record)
        else None
        for record in bundles.recorded(there).runs.values()
    )


def _without_conditions(
    bundles: Bundles,
    checks: Sequence[Kind],
    arm: PlannedArm,
    record: Record,
    groups: Mapping[str, tuple[Run | None, ...]],
) -> RunAnswer | None:
    """The answer of a run that is not held against the bounds; None of any other."""
    answer = _without_numbers(bundles, arm, record, paired_with(checks))
    if answer is not None:
        return answer
    apart = not_as_far(bundles, checks, arm, record)
    if apart is not None:
        return void_run(record.seed, Void.NOT_AS_FAR, apart.log.measurement, apart.share)
    empty = next((name for name, group in groups.items() if not any(group)), None)
    return None if empty is None else void_run(record.seed, Void.NO_REFERENCE, empty)


def _without_numbers(
    bundles: Bundles, arm: PlannedArm, record: Record, compared: Iterable[str]
) -> RunAnswer | None:
    """The answer of a run whose numbers do not matter; None of any other."""
    seed = record.seed
    if record.status is CellStatus.FAILED:
        return RunAnswer(seed=seed, status=Status.CRASHED)
    if record.status is CellStatus.DIVERGED:
        return RunAnswer(seed=seed, status=Status.NO, diverged=True)
    for name in compared:
        there = bundles.arms[name]
        other = record if name == arm.name else bundles.partner(there, seed)
        if other is None and (seed in bundles.recorded(there) or bundles.has_one_run(there)):
            return void_run(seed, Void.NOT_AS_MANY, name)
        if seed in bundles.recorded(there).crashed or _has_crashed(other):
            return void_run(seed, Void.REFERENCE_CRASHED, name)
        if other is None:
            return void_run(seed, Void.NO_REFERENCE, name)
        if other.status is CellStatus.DIVERGED:
            return void_run(seed, Void.REFERENCE_DIVERGED, name)
    return None


def _has_crashed(record: Record | None) -> bool:
    return record is not None and record.status is CellStatus.FAILED


def void_run(seed: int, why: Void, about: str = "", found: float | None = None) -> RunAnswer:
    """Return the answer of a run that says neither yes nor no."""
    known: dict[str, Any] = {} if found is None else {"found": found}
    return RunAnswer(seed=seed, status=Status.VOID, void=why, about=about, **known)


def _asked(
    checks: Sequence[Kind],
    arm: PlannedArm,
    run: Run,
    groups: Mapping[str, tuple[Run | None, ...]],
    unlike: Sequence[bool],
) -> Said:
    """What a run says, of checks of which some compare what was never alike."""
    try:
        for bound in arm.holds_at_start:
            first = Quantity(**{**dict(bound.value), "step": "first", "passes": None})
            limit = bound.limit()
            if not limit.met_by(limit.worst([float(number) for number in run.numbers(first)])):
                return void_run(run.seed, Void.START)
        conditions = [
            replace(condition, check=place, limit=_within_range(condition, run))
            for place, check in enumerate(checks)
            for condition in _conditions(check, _view(check, run, groups))
        ]
        conditions = [
            _void(checks[condition.check], condition, Void.FROM_THE_START)
            if unlike[condition.check]
            else condition
            for condition in conditions
        ]
    except MeasurementMissingError as error:
        return void_run(run.seed, _why_missing(error), error.measurement, error.found)
    return tuple(conditions)


def _why_missing(error: MeasurementMissingError) -> Void:
    """Why a run lacks what a check reads."""
    if isinstance(error, FewObservedError):
        return Void.FEW_OBSERVED
    return Void.NOT_MEASURED if error.found is None else Void.OUT_OF_RANGE


def _conditions(check: Kind, run: Run) -> list[Condition]:
    """What a run meets; void where another way to read the same numbers says otherwise.

    These are the median at the end in place of the last observation, the steps between which a
    course passes a level, and the second observation where the first lies apart from all others. Of
    a mean over runs the number at a settled end is kept, for their mean; what reads the whole
    course has no other end.
    """
    conditions = list(check.conditions(run))
    read = check.quantities()
    ends = any(quantity.step in ("last", "late") and is_series(quantity, run) for quantity in read)
    if ends and not check.whole_course:
        conditions = _settled(check, conditions, check.conditions(replace(run, settled=True)))
        conditions = _ended(check, conditions, run)
    if any(quantity.passes is not None for quantity in read):
        least, most = (
            check.conditions(replace(run, passes=passes))
            for passes in (PassedAt.LEAST, PassedAt.MOST)
        )
        conditions = _as_finely(check, conditions, least, most)
    if run.begins is not Begins.AS_LOGGED and _starts_apart(check, run):
        alike = check.conditions(replace(run, begins=Begins.ALIKE))
        conditions = _agreeing(check, conditions, alike, Void.START_APART)
    for void, view in views(check, run):
        conditions = _agreeing(check, conditions, check.conditions(view), void)
    return not_comparable(check, run, conditions)


def _settled(
    check: Kind, conditions: Sequence[Condition], settled: Sequence[Condition]
) -> list[Condition]:
    """The conditions beside those of a settled end: with its number for a mean, else void."""
    if not check.by_mean:
        return _agreeing(check, conditions, settled, Void.END_APART)
    return [
        replace(condition, settled=other.value)
        for condition, other in zip(conditions, settled, strict=True)
    ]


def _ended(check: Kind, conditions: Sequence[Condition], run: Run) -> list[Condition]:
    """The conditions, void where a number still moves, or a reference's last tenth makes the yes.

    The reference is then read before that tenth.
    """
    moves = still_moves(check, run, conditions)
    conditions = [
        replace(_void(check, condition, Void.NOT_ENDED), says=None, settled=None)
        if moving
        else condition
        for condition, moving in zip(conditions, moves, strict=True)
    ]
    if not any(condition.met for condition in conditions):
        return conditions
    for earlier in before_the_end(check, run):
        others = check.conditions(earlier)
        conditions = [
            _void(check, condition, Void.REFERENCE_END)
            if condition.met and other.met is False
            else condition
            for condition, other in zip(conditions, others, strict=True)
        ]
    return conditions


def _agreeing(
    check: Kind, conditions: Sequence[Condition], others: Sequence[Condition], void: Void
) -> list[Condition]:
    """The conditions, void where those of another reading disagree."""
    return [
        _void(check, condition, void) if {condition.met, other.met} == {True, False} else condition
        for condition, other in zip(conditions, others, strict=True)
    ]


def _void(check: Kind, condition: Condition, why: Void) -> Condition:
    """A condition of which the run says nothing; its number is no part of a mean."""
    return replace(condition, void=why, value=None if check.by_mean else condition.value)


def _as_finely(
    check: Kind,
    conditions: Sequence[Condition],
    least: Sequence[Condition],
    most: Sequence[Condition],
) -> list[Condition]:
    """The conditions, void where a number is known no better than between two that disagree.

    Where the mean over runs decides, only if the whole margin lies between them.
    """
    return [
        _void(check, condition, Void.NOT_AS_FINELY)
        if _covers(condition.limit, low, high)
        or (not check.by_mean and {condition.met, low.met, high.met} >= {True, False})
        else condition
        for condition, low, high in zip(conditions, least, most, strict=True)
    ]


def _covers(limit: Limit, low: Condition, high: Condition) -> bool:
    """Whether a whole margin lies between two numbers."""
    if low.value is None or high.value is None or limit.side is not Side.WITHIN:
        return False
    least, most = limit.accepted
    return low.value < least and most < high.value


def _starts_apart(check: Kind, run: Run) -> bool:
    """Whether the first observation of what a check reads from there on lies apart."""
    read = (quantity for quantity in check.from_the_start if is_series(quantity, run))
    return any(run.start(quantity) is not Start.ALIKE for quantity in read)


def _view(check: Kind, run: Run, groups: Mapping[str, tuple[Run | None, ...]]) -> Run:
    """The run as a check reads it: at its coordinates, with the arm that it compares as a group."""
    there = run.placed(check.at)
    if check.group is None:
        return there
    return replace(there, groups={check.group: groups[check.group]})


def _within_range(condition: Condition, run: Run) -> Limit:
    """The condition's bound with the declared range, where it lies on the quantity's own scale."""
    declared = run.declarations.get(run.reads.get(condition.noun, condition.noun))
    if not condition.number.drawn or declared is None or declared.range is None:
        return condition.limit
    least, most = declared.range
    return replace(
        condition.limit,
        least=condition.limit.least if least is None else least,
        most=condition.limit.most if most is None else most,
    )
