"""Bundles of runs with one seed, and what each run says of the checks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Any

from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.plan import PlannedArm, Role, quantities_of
from reproaudit.cell import canonical_settings
from reproaudit.checks import Condition, Kind, Limit, Run, Void
from reproaudit.declarations import (
    Coordinate,
    Declaration,
    MeasurementKind,
    MeasurementMissingError,
    Quantity,
)
from reproaudit.lazy import np
from reproaudit.records import CellStatus, Measurements, Record, Series
from reproaudit.stats.onsets import STILL
from reproaudit.verdict import RunAnswer, Status

WHOLE_COURSE = 10
"""The fewest points of a course that two different runs do not share by chance."""


class SeedRecords(dict[int, Record]):
    """The records of one experiment and its settings, by seed."""

    @cached_property
    def runs(self) -> Mapping[int, Record]:
        """The records by seed; of measurements from elsewhere, copies of a run but once."""
        first = {_course(self[seed]): seed for seed in sorted(self, reverse=True)}
        return {seed: self[seed] for seed in sorted(first.values())}

    @property
    def copies(self) -> int:
        """How many records are copies of others."""
        return len(self) - len(self.runs)


Records = Mapping[tuple[str, str], SeedRecords]
"""Records of one paper and tier, by experiment and canonical settings, then by seed."""


def index_records(records: Iterable[Record]) -> Records:
    """Return records by experiment and canonical settings, then by seed."""
    found: dict[tuple[str, str], SeedRecords] = {}
    for one in records:
        key = one.experiment, canonical_settings(one.settings)
        found.setdefault(key, SeedRecords())[one.seed] = one
    return found


@dataclass(frozen=True)
class Bundles:
    """The records of a claim's arms, so that arms are compared run by run.

    Attributes:
        audit: the paper.
        claim: whose arms they are.
        tier: of the records.
        arms: of the claim, by name.
        records: of the paper at the tier.
    """

    audit: Audit
    claim: Claim
    tier: TierName
    arms: Mapping[str, PlannedArm]
    records: Records

    def recorded(self, arm: PlannedArm) -> SeedRecords:
        """Return the records of an arm by seed."""
        return self.records.get(arm.key(self.audit, self.tier), SeedRecords())

    @cached_property
    def _compared(self) -> Mapping[str, SeedRecords]:
        names = {one.arm for one in quantities_of(self.claim)}
        return {name: self.recorded(arm) for name, arm in self.arms.items() if name in names}

    def run(self, arm: PlannedArm, record: Record) -> Run:
        """Return a record as checks read it, with the runs of compared arms beside it."""
        bare = self._bare(arm, record)
        others = {
            name: self._bare(self.arms[name], found[record.seed])
            for name, found in self._compared.items()
            if record.seed in found
        }
        return replace(bare, others={**others, arm.name: bare})

    def group(self, name: str) -> tuple[Run | None, ...]:
        """Return every run of a compared arm, by seed; None for one that has no numbers."""
        arm = self.arms[name]
        return tuple(
            self._bare(arm, one) if one.status is CellStatus.COMPLETED else None
            for one in self.recorded(arm).runs.values()
        )

    def left_over(self, arm: PlannedArm, checks: Sequence[Kind]) -> dict[str, int]:
        """Return how many runs from elsewhere no run of an arm has the seed of, by compared arm."""
        own = self.recorded(arm).keys()
        found = {name: self.recorded(self.arms[name]) for name in paired_with(checks)}
        counts = {
            name: sum(seed not in own and one.origin is not None for seed, one in there.items())
            for name, there in found.items()
        }
        return {name: count for name, count in counts.items() if count}

    def _bare(self, arm: PlannedArm, record: Record) -> Run:
        declared = self.audit.measurements_of(arm.experiment)
        built = arm.role is Role.POSITIVE_CONTROL
        run = Run(record.seed, record.measurements, declared, record.settings, arm.reads)
        if record.origin is not None and record.coordinates:
            measured = _at_all_coordinates(record, record.coordinates, declared)
            run = replace(run, measurements=measured, is_partial=True)
        return replace(run, built=built, control=arm.role is Role.CONTROL)

    def trained(self, arm: PlannedArm) -> tuple[float, float] | None:
        """Return the median training loss of an arm's runs, at the start and at the end."""
        name = self.audit.training_loss_of(arm.experiment)
        every = [one.measurements.series for one in self.recorded(arm).runs.values()]
        kept = [one[name] for one in every if name is not None and name in one]
        ends = [median(float(one.values[at].mean()) for one in kept) for at in (0, -1) if kept]
        return (ends[0], ends[1]) if ends else None

    def place(self, at: Coordinate | None) -> dict[str, Coordinate]:
        """Return a graded coordinate by its axis; nothing of a claim without a grade."""
        grade = self.claim.grade
        return {} if grade is None or at is None else {grade.axis: at}

    def still_moves(self, arm: PlannedArm, seed: int, at: Mapping[str, Coordinate]) -> bool:
        """Tell whether a series that the headline reads in a run still moves at the end.

        It does where the last fifth of training makes more than a tenth of its whole change. `at`
        is a graded coordinate, by axis.
        """
        run = self.run(arm, self.recorded(arm)[seed]).placed(at)
        read = ((run.placed(one.at), q) for one in self.claim.headline for q in one.quantities())
        return any(_still_moves(there, quantity) for there, quantity in read if not quantity.arm)


def _still_moves(run: Run, quantity: Quantity) -> bool:
    at_a_step = quantity.step == "first" or isinstance(quantity.step, int)
    if at_a_step or not _is_series(quantity, run):
        return False
    try:
        steps, values = run.series(quantity)
    except MeasurementMissingError:  # not observed at this coordinate
        return False
    late = steps[0] + 0.8 * (steps[-1] - steps[0])
    before = values[[step <= late for step in steps]][-1]
    whole = abs(values[-1] - values[0])
    return bool((abs(values[-1] - before) > STILL * whole).any())


def _at_all_coordinates(
    record: Record,
    observed: Mapping[str, Mapping[str, Sequence[Coordinate]]],
    declared: Mapping[str, Declaration],
) -> Measurements:
    """The measurements with NaN at the declared coordinates that were not observed."""
    found = record.measurements
    series = dict(found.series)
    arrays = dict(found.arrays)
    for name, axes in observed.items():
        every = {axis.name: axis.coordinates(record.settings) for axis in declared[name].axes}
        places = ([every[axis].index(one) for one in ones] for axis, ones in axes.items())
        at: tuple[Any, ...] = (..., *np.ix_(*places))
        values = series[name].values if name in series else arrays[name]
        steps = values.shape[:1] if name in series else ()
        whole = np.full((*steps, *map(len, every.values())), np.nan)
        whole[at] = values
        if name in series:
            series[name] = Series(steps=series[name].steps, values=whole)
        else:
            arrays[name] = whole
    return found.model_copy(update={"series": series, "arrays": arrays})


def _course(record: Record) -> Hashable:
    """A key that a record shares with copies of the same run, and with no other."""
    series = record.measurements.series
    long = [(k, s) for k, s in sorted(series.items()) if len(s.steps) >= WHOLE_COURSE]
    key = tuple((name, one.steps, one.values.tobytes()) for name, one in long)
    return key if key and record.origin is not None else record.seed


@dataclass(frozen=True)
class Said:
    """What a run says: its conditions in order; or, of one that has none, its answer."""

    seed: int
    conditions: tuple[Condition, ...] = ()
    answer: RunAnswer | None = None


def ask_runs(
    checks: Sequence[Kind],
    bundles: Bundles,
    arm: PlannedArm,
    at: Mapping[str, Coordinate] | None = None,
) -> list[Said]:
    """Return what each run of an arm says of checks; `at` is a graded coordinate, by axis.

    A run that crashed or diverged has no conditions, and neither has one whose reference diverged
    or has no run with its seed.
    """
    compared = paired_with(checks)
    groups = {one.group: bundles.group(one.group) for one in checks if one.group is not None}
    found = []
    for seed, record in bundles.recorded(arm).runs.items():
        fixed = _without_numbers(bundles, arm, record, compared)
        empty = next((name for name, runs in groups.items() if not any(runs)), None)
        if fixed is None and empty is not None:
            fixed = void_run(seed, Void.NO_REFERENCE, empty)
        if fixed is None:
            found.append(_said(checks, arm, bundles.run(arm, record).placed(at or {}), groups))
        else:
            found.append(Said(seed, answer=fixed))
    return found


def paired_with(checks: Iterable[Kind]) -> tuple[str, ...]:
    """Return the arms with which checks compare runs of one seed."""
    arms = (q.arm for one in checks for q in one.quantities() if q.arm != one.group)
    return tuple(dict.fromkeys(name for name in arms if name is not None))


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
        other = record if name == arm.name else bundles.recorded(bundles.arms[name]).get(seed)
        if other is None or other.status is CellStatus.FAILED:
            return void_run(seed, Void.NO_REFERENCE, name)
        if other.status is CellStatus.DIVERGED:
            return void_run(seed, Void.REFERENCE_DIVERGED, name)
    return None


def void_run(seed: int, why: Void, about: str = "", found: float | None = None) -> RunAnswer:
    """Return the answer of a run that says neither yes nor no."""
    answer = RunAnswer(seed=seed, status=Status.VOID, void=why, about=about)
    return answer if found is None else answer.model_copy(update={"found": found})


def _said(
    checks: Sequence[Kind],
    arm: PlannedArm,
    run: Run,
    groups: Mapping[str, tuple[Run | None, ...]],
) -> Said:
    try:
        for bound in arm.holds_at_start:
            first = bound.value.model_copy(update={"step": "first"})
            limit = bound.limit()
            if not limit.met_by(limit.worst([float(one) for one in run.numbers(first)])):
                return Said(run.seed, answer=void_run(run.seed, Void.START))
        conditions = [
            replace(one, check=place, limit=_within_range(one, run))
            for place, check in enumerate(checks)
            for one in _conditions(check, _view(check, run, groups))
        ]
    except MeasurementMissingError as error:
        why = Void.NOT_MEASURED if error.found is None else Void.OUT_OF_RANGE
        return Said(run.seed, answer=void_run(run.seed, why, error.measurement, error.found))
    return Said(run.seed, tuple(conditions))


def _conditions(check: Kind, run: Run) -> list[Condition]:
    """What a run meets; void where its last observation and the median at its end say otherwise.

    A mean over runs levels single observations by itself, and what reads the whole course does.
    """
    found = list(check.conditions(run))
    read = [one for one in check.quantities() if one.step in ("last", "late")]
    ends = any(_is_series(one, run) for one in read)
    if check.whole_course or check.by_mean or not ends:
        return found
    settled = check.conditions(replace(run, settled=True))
    return [
        replace(one, void=Void.END_APART) if {one.met, other.met} == {True, False} else one
        for one, other in zip(found, settled, strict=True)
    ]


def _is_series(quantity: Quantity, run: Run) -> bool:
    there = run.others.get(quantity.arm or "", run)
    name = there.reads.get(quantity.measurement, quantity.measurement)
    declared = there.declarations.get(name)
    return declared is not None and declared.kind is MeasurementKind.SERIES


def _view(check: Kind, run: Run, groups: Mapping[str, tuple[Run | None, ...]]) -> Run:
    """The run as a check reads it: at its coordinates, with the arm that it compares as a group."""
    there = run.placed(check.at)
    if check.group is None:
        return there
    return replace(there, groups={check.group: groups[check.group]})


def _within_range(one: Condition, run: Run) -> Limit:
    """The condition's bound with the declared range, where it lies on the quantity's own scale."""
    declared = run.declarations.get(run.reads.get(one.noun, one.noun))
    if not one.number.drawn or declared is None or declared.range is None:
        return one.limit
    least, most = declared.range
    return replace(
        one.limit,
        least=one.limit.least if least is None else least,
        most=one.limit.most if most is None else most,
    )
