"""Bundles of runs with one seed: the records of a claim's arms, so that they are compared."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Any

from reproaudit.audit.arms import PlannedArm, Role, quantities_of
from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.cell import canonical_settings
from reproaudit.checks import Begins, Kind, Run
from reproaudit.declarations import (
    Coordinate,
    Declaration,
    MeasurementKind,
    MeasurementMissingError,
    Quantity,
)
from reproaudit.lazy import np
from reproaudit.records import Measurements, Record, Series
from reproaudit.stats.courses import WHOLE_COURSE
from reproaudit.stats.onsets import BEYOND_NOISE, STILL, noise

FEWEST_COPIED = 3
"""Numbers of the runs of two arms, all equal, from which one is taken for a copy of the other."""


class SeedRecords(dict[int, Record]):
    """The records of one experiment and its settings, by seed.

    Attributes:
        crashed: the seeds whose runs, from elsewhere, did not finish and left no record.
    """

    crashed: frozenset[int] = frozenset()

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
    indexed: dict[tuple[str, str], SeedRecords] = {}
    for record in records:
        key = record.experiment, canonical_settings(record.settings)
        indexed.setdefault(key, SeedRecords())[record.seed] = record
    return indexed


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

    def partner(self, arm: PlannedArm, seed: int) -> Record | None:
        """Return the run of an arm that stands beside a seed; None if there is none.

        A copy of another seed's run is none. One run from elsewhere stands beside every seed if its
        arm is deterministic, or built by hand.
        """
        runs = self.recorded(arm).runs
        if arm.stands_alone and self.has_one_run(arm):
            return next(iter(runs.values()))
        return runs.get(seed)

    def has_one_run(self, arm: PlannedArm) -> bool:
        """Tell whether an arm has one run alone, from elsewhere; its copies do not count."""
        runs = [*self.recorded(arm).runs.values()]
        return len(runs) == 1 and runs[0].origin is not None

    @cached_property
    def _compared(self) -> tuple[str, ...]:
        names = {quantity.arm for quantity in quantities_of(self.claim)}
        return tuple(name for name in self.arms if name in names)

    def run(self, arm: PlannedArm, record: Record) -> Run:
        """Return a record as checks read it, with the runs of compared arms beside it."""
        bare = self.bare(arm, record)
        partners = {name: self.partner(self.arms[name], record.seed) for name in self._compared}
        others = {
            name: self.bare(self.arms[name], partner)
            for name, partner in partners.items()
            if partner is not None
        }
        return replace(bare, others={**others, arm.name: bare})

    def compares_with_itself(self, arm: PlannedArm, checks: Sequence[Kind]) -> bool:
        """Tell whether checks compare an arm with nothing but itself, or a copy of its runs."""
        return all(self._is_of_itself(arm, check) for check in checks)

    def _is_of_itself(self, arm: PlannedArm, check: Kind) -> bool:
        if check.compared_arm is None:
            return False
        other = self.arms[check.compared_arm]
        is_same = other.key(self.audit, self.tier) == arm.key(self.audit, self.tier)
        return is_same or self._has_copies(arm, other, check)

    def _has_copies(self, arm: PlannedArm, other: PlannedArm, check: Kind) -> bool:
        """Whether all runs of two arms have the same numbers, and not by chance: distinct ones."""
        theirs = self.recorded(other).runs
        records = [record for seed, record in self.recorded(arm).runs.items() if seed in theirs]
        distinct: set[bytes] = set()
        for record in records:
            try:
                run = self.run(arm, record)
                numbers = [run.numbers(side) for side in check.sides or ()]
            except MeasurementMissingError:
                return False
            first, second = numbers
            if not np.array_equal(first, second):
                return False
            distinct.add(first.tobytes())
        return len(distinct) >= FEWEST_COPIED

    def left_over(self, arm: PlannedArm, checks: Sequence[Kind]) -> dict[str, int]:
        """Return how many runs from elsewhere no run of an arm has the seed of, by compared arm."""
        own = self.recorded(arm).keys()
        compared = {name: self.recorded(self.arms[name]) for name in paired_with(checks)}
        counts = {
            name: sum(
                seed not in own and record.origin is not None for seed, record in there.items()
            )
            for name, there in compared.items()
        }
        return {name: count for name, count in counts.items() if count}

    def bare(self, arm: PlannedArm, record: Record) -> Run:
        """Return a record as checks read it, with no other beside it."""
        declared = self.audit.measurements_of(arm.experiment)
        run = Run(
            record.seed,
            record.measurements,
            declared,
            record.settings,
            arm.reads,
            built=arm.role is Role.POSITIVE_CONTROL,
            control=arm.role is Role.CONTROL,
        )
        if record.origin is None:
            return run
        if record.coordinates:
            measured = _at_all_coordinates(record, record.coordinates, declared)
            run = replace(run, measurements=measured, is_partial=True)
        return replace(run, begins=Begins.WITHOUT_ARTEFACT)

    def trained(self, arm: PlannedArm) -> tuple[float, float] | None:
        """Return the median training loss of an arm's runs, at the start and at the end."""
        name = self.audit.training_loss_of(arm.experiment)
        every = [record.measurements.series for record in self.recorded(arm).runs.values()]
        kept = [series[name] for series in every if name is not None and name in series]
        ends = [median(float(loss.values[at].mean()) for loss in kept) for at in (0, -1) if kept]
        return (ends[0], ends[1]) if ends else None

    def place(self, at: Coordinate | None) -> dict[str, Coordinate]:
        """Return a graded coordinate by its axis; nothing of a claim without a grade."""
        grade = self.claim.grade
        return {} if grade is None or at is None else {grade.axis: at}

    def still_moves(self, arm: PlannedArm, seed: int, at: Mapping[str, Coordinate]) -> bool:
        """Tell whether a series that the headline reads in a run still moves at the end.

        It does where the last fifth of training makes more than a tenth of its whole change, and
        more than noise does. `at` is a graded coordinate, by axis.
        """
        run = self.run(arm, self.recorded(arm)[seed]).placed(at)
        read = (
            (run.placed(check.at), q) for check in self.claim.headline for q in check.quantities()
        )
        return any(_still_moves(there, quantity) for there, quantity in read if not quantity.arm)


def _still_moves(run: Run, quantity: Quantity) -> bool:
    at_a_step = quantity.step == "first" or isinstance(quantity.step, int)
    if at_a_step or not is_series(quantity, run):
        return False
    try:
        steps, values = run.series(quantity)
    except MeasurementMissingError:  # not observed at this coordinate
        return False
    late = steps[0] + 0.8 * (steps[-1] - steps[0])
    before = values[[step <= late for step in steps]][-1]
    whole = abs(values[-1] - values[0])
    by_noise = BEYOND_NOISE * np.array([noise(steps, course) for course in values.T])
    return bool((abs(values[-1] - before) > np.maximum(STILL * whole, by_noise)).any())


def _at_all_coordinates(
    record: Record,
    observed: Mapping[str, Mapping[str, Sequence[Coordinate]]],
    declared: Mapping[str, Declaration],
) -> Measurements:
    """The measurements with NaN at the declared coordinates that were not observed."""
    measured = record.measurements
    series = dict(measured.series)
    arrays = dict(measured.arrays)
    for name, axes in observed.items():
        every = {axis.name: axis.coordinates(record.settings) for axis in declared[name].axes}
        places = (
            [every[axis].index(coordinate) for coordinate in coordinates]
            for axis, coordinates in axes.items()
        )
        at: tuple[Any, ...] = (..., *np.ix_(*places))
        values = series[name].values if name in series else arrays[name]
        steps = values.shape[:1] if name in series else ()
        whole = np.full((*steps, *map(len, every.values())), np.nan)
        whole[at] = values
        if name in series:
            series[name] = Series(steps=series[name].steps, values=whole)
        else:
            arrays[name] = whole
    return Measurements(scalars=measured.scalars, series=series, arrays=arrays)


def _course(record: Record) -> Hashable:
    """A key that a record shares with copies of the same run, and with no other."""
    series = record.measurements.series
    long = [
        (k, s)
        for k, s in sorted(series.items())
        if len(s.steps) >= WHOLE_COURSE and (s.values != s.values[0]).any()
    ]
    key = tuple((name, course.steps, course.values.tobytes()) for name, course in long)
    return key if key and record.origin is not None else record.seed


def paired_with(checks: Iterable[Kind]) -> tuple[str, ...]:
    """Return the arms with which checks compare runs of one seed."""
    arms = (q.arm for check in checks for q in check.quantities() if q.arm != check.group)
    return tuple(dict.fromkeys(name for name in arms if name is not None))


def is_series(quantity: Quantity, run: Run) -> bool:
    """Tell whether a quantity is read of a series in a run."""
    there = run.others.get(quantity.arm or "", run)
    name = there.reads.get(quantity.measurement, quantity.measurement)
    declared = there.declarations.get(name)
    return declared is not None and declared.kind is MeasurementKind.SERIES
