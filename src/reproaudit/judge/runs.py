"""Bundles of runs with one seed, and what each run says of the checks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.plan import PlannedArm, Role, quantities_of
from reproaudit.cell import canonical_settings
from reproaudit.checks import Condition, Kind, Run
from reproaudit.declarations import Coordinate, MeasurementMissingError
from reproaudit.records import CellStatus, Record
from reproaudit.verdict import RunAnswer, Status


class SeedRecords(dict[int, Record]):
    """The records of one experiment and its settings, by seed."""

    @cached_property
    def distinct(self) -> Mapping[int, Record]:
        """The records by seed, each distinct run once."""
        first = {_same(self[seed]): seed for seed in sorted(self, reverse=True)}
        return {seed: self[seed] for seed in sorted(first.values())}


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
        """Return the records of an arm by seed, identical ones each."""
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
        every = [one.measurements.series for one in self.recorded(arm).distinct.values()]
        kept = [one[name] for one in every if name is not None and name in one]
        ends = [median(float(one.values[at].mean()) for one in kept) for at in (0, -1) if kept]
        return (ends[0], ends[1]) if ends else None


def _same(record: Record) -> Hashable:
    """A key that two records of the same run share; a crashed record shares its key with none."""
    if record.status is CellStatus.FAILED:
        return record.seed
    measured = record.measurements
    series = sorted((name, s.steps, s.values.tobytes()) for name, s in measured.series.items())
    arrays = sorted((name, one.tobytes()) for name, one in measured.arrays.items())
    return record.status, *sorted(measured.scalars.items()), *series, *arrays


Said = tuple[RunAnswer, tuple[Condition, ...]]
"""What a run says, and each condition in order; none of a run that was not held against them."""


def answers(
    checks: Sequence[Kind],
    bundles: Bundles,
    arm: PlannedArm,
    at: Mapping[str, Coordinate] | None = None,
) -> list[Said]:
    """Return what each distinct run of an arm says of checks that must all be met.

    Checks decided on a mean count only if there is no other. `at` is a graded coordinate, by axis.
    """
    counted = [one for one in checks if not one.by_mean] or list(checks)
    beside = {q.arm for one in checks for q in one.quantities() if q.arm is not None}
    found: list[Said] = []
    for seed, record in bundles.recorded(arm).distinct.items():
        if record.status is CellStatus.FAILED:
            found.append(_without(seed, Status.FAILED))
        elif record.status is CellStatus.DIVERGED:
            own = arm.role in (Role.OWN, Role.READING, Role.ALTERNATIVE)
            status = Status.NO if own else Status.VOID
            found.append((RunAnswer(seed=seed, status=status, diverged=True), ()))
        elif beside <= (run := bundles.run(arm, record).placed(at or {})).others.keys():
            found.append(_answer(checks, counted, arm, run))
        else:
            found.append(_without(seed, Status.UNPAIRED))
    return found


def _without(seed: int, status: Status) -> Said:
    return RunAnswer(seed=seed, status=status), ()


def _answer(checks: Sequence[Kind], counted: Sequence[Kind], arm: PlannedArm, run: Run) -> Said:
    try:
        for bound in arm.holds_at_start:
            first = bound.value.model_copy(update={"step": "first"})
            limit = bound.limit()
            if not limit.met_by(limit.worst([float(one) for one in run.numbers(first)])):
                return _without(run.seed, Status.VOID)
        said = tuple(
            replace(one, check=place)
            for place, check in enumerate(checks)
            for one in check.conditions(run.placed(check.at))
        )
    except MeasurementMissingError:
        return _without(run.seed, Status.FAILED)
    yes = all(one.met for one in said if checks[one.check] in counted)
    return RunAnswer(seed=run.seed, status=Status.YES if yes else Status.NO), said
