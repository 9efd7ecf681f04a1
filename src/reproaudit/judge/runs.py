"""Bundles of runs with one seed, and what each run says of the checks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.plan import PlannedArm, quantities_of
from reproaudit.cell import canonical_settings
from reproaudit.checks import Condition, Kind, Limit, Run, Void
from reproaudit.declarations import Coordinate, MeasurementKind, MeasurementMissingError
from reproaudit.records import CellStatus, Record
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

    def _bare(self, arm: PlannedArm, record: Record) -> Run:
        declared = self.audit.measurements_of(arm.experiment)
        return Run(record.seed, record.measurements, declared, record.settings, arm.reads)

    def trained(self, arm: PlannedArm) -> tuple[float, float] | None:
        """Return the median training loss of an arm's runs, at the start and at the end."""
        name = self.audit.training_loss_of(arm.experiment)
        every = [one.measurements.series for one in self.recorded(arm).runs.values()]
        kept = [one[name] for one in every if name is not None and name in one]
        ends = [median(float(one.values[at].mean()) for one in kept) for at in (0, -1) if kept]
        return (ends[0], ends[1]) if ends else None

    def still_moves(self, arm: PlannedArm, seed: int) -> bool:
        """Tell whether a series that the headline reads in a run still moves at the end.

        It does where the last fifth of training makes more than a tenth of its whole change.
        """
        run = self.run(arm, self.recorded(arm)[seed])
        for quantity in (q for one in self.claim.headline for q in one.quantities() if not q.arm):
            name = run.reads.get(quantity.measurement, quantity.measurement)
            declared = run.declarations.get(name)
            at_a_step = quantity.step == "first" or isinstance(quantity.step, int)
            if declared is None or declared.kind is not MeasurementKind.SERIES or at_a_step:
                continue
            steps, values = run.series(quantity)
            late = steps[0] + 0.8 * (steps[-1] - steps[0])
            before = values[[step <= late for step in steps]][-1]
            whole = abs(values[-1] - values[0])
            if (abs(values[-1] - before) > STILL * whole).any():
                return True
        return False


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
    compared = [q.arm for one in checks for q in one.quantities() if q.arm is not None]
    found = []
    for seed, record in bundles.recorded(arm).runs.items():
        fixed = _without_numbers(bundles, arm, record, compared)
        if fixed is None:
            found.append(_said(checks, arm, bundles.run(arm, record).placed(at or {})))
        else:
            found.append(Said(seed, answer=fixed))
    return found


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
            return _void(seed, Void.NO_REFERENCE, name)
        if other.status is CellStatus.DIVERGED:
            return _void(seed, Void.REFERENCE_DIVERGED, name)
    return None


def _void(seed: int, why: Void, about: str = "") -> RunAnswer:
    return RunAnswer(seed=seed, status=Status.VOID, void=why, about=about)


def _said(checks: Sequence[Kind], arm: PlannedArm, run: Run) -> Said:
    try:
        for bound in arm.holds_at_start:
            first = bound.value.model_copy(update={"step": "first"})
            limit = bound.limit()
            if not limit.met_by(limit.worst([float(one) for one in run.numbers(first)])):
                return Said(run.seed, answer=_void(run.seed, Void.START))
        conditions = [
            replace(one, check=place, limit=_within_range(one, run))
            for place, check in enumerate(checks)
            for one in check.conditions(run.placed(check.at))
        ]
    except MeasurementMissingError as error:
        return Said(run.seed, answer=_void(run.seed, Void.NOT_MEASURED, error.measurement))
    return Said(run.seed, tuple(conditions))


def _within_range(one: Condition, run: Run) -> Limit:
    """The condition's bound with the declared range, where it lies on the quantity's own scale."""
    declared = run.declarations.get(run.reads.get(one.noun, one.noun))
    if not one.number.drawn or declared is None or declared.range is None:
        return one.limit
    least, most = declared.range
    return replace(one.limit, least=least, most=most)
