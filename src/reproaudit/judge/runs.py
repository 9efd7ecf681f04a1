"""Bundles of runs with one seed, and what each run says of the checks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

from reproaudit.audit.model import Audit, Claim, TierName
from reproaudit.audit.plan import PlannedArm, Role
from reproaudit.cell import canonical_settings
from reproaudit.checks import Condition, Kind, Run
from reproaudit.declarations import Coordinate, MeasurementMissingError
from reproaudit.judge.model import RunAnswer, Status
from reproaudit.records import CellStatus, Record

Records = Mapping[tuple[str, str], Mapping[int, Record]]
"""Records of one paper and tier, by experiment and canonical settings, then by seed."""


def index_records(records: Iterable[Record]) -> Records:
    """Return records by experiment and canonical settings, then by seed."""
    found: dict[tuple[str, str], dict[int, Record]] = {}
    for one in records:
        key = one.experiment, canonical_settings(one.settings)
        found.setdefault(key, {})[one.seed] = one
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

    @cached_property
    def _found(self) -> Mapping[str, Mapping[int, Record]]:
        keys = {name: arm.key(self.audit, self.tier) for name, arm in self.arms.items()}
        return {name: self.records.get(key, {}) for name, key in keys.items()}

    def of(self, arm: PlannedArm) -> Mapping[int, Record]:
        """Return the records of an arm by seed, each distinct run once."""
        seen: dict[bytes, int] = {}
        known = self.records.get(arm.key(self.audit, self.tier), {})
        found = self._found.get(arm.name, known)
        for seed in sorted(found):
            seen.setdefault(_digest(found[seed]), seed)
        return {seed: found[seed] for seed in seen.values()}

    def run(self, arm: PlannedArm, record: Record) -> Run:
        """Return a record as checks read it, with the runs of other arms beside it."""
        bare = self._bare(arm, record)
        others = {
            name: self._bare(self.arms[name], found[record.seed])
            for name, found in self._found.items()
            if record.seed in found
        }
        return replace(bare, others={**others, arm.name: bare})

    def _bare(self, arm: PlannedArm, record: Record) -> Run:
        declared = self.audit.measurements_of(arm.experiment)
        return Run(record.seed, record.measurements, declared, record.settings, arm.reads)

    def count(self, arm: PlannedArm) -> int:
        """Return how many records an arm has, identical ones counted each."""
        return len(self.records.get(arm.key(self.audit, self.tier), {}))

    def trained(self, arm: PlannedArm) -> tuple[float, float] | None:
        """Return the median training loss of an arm's runs, at the start and at the end."""
        name = self.audit.training_loss_of(arm.experiment)
        every = [one.measurements.series for one in self.of(arm).values()]
        kept = [one[name] for one in every if name is not None and name in one]
        ends = [(float(one.values[0].mean()), float(one.values[-1].mean())) for one in kept]
        if not ends:
            return None
        return median(first for first, _ in ends), median(last for _, last in ends)


def _digest(record: Record) -> bytes:
    """A digest of every number, so that runs that are the same count once; crashes are no runs."""
    if record.status is CellStatus.FAILED:
        return str(record.seed).encode()
    measured, found = record.measurements, hashlib.sha256(record.status.encode())
    found.update(repr(sorted(measured.scalars.items())).encode())
    for name, series in sorted(measured.series.items()):
        found.update(name.encode() + repr(series.steps).encode() + series.values.tobytes())
    for name, array in sorted(measured.arrays.items()):
        found.update(name.encode() + array.tobytes())
    return found.digest()


def answers(
    checks: Sequence[Kind],
    bundles: Bundles,
    arm: PlannedArm,
    at: Mapping[str, Coordinate] | None = None,
) -> tuple[RunAnswer, ...]:
    """Return what each distinct run of an arm says of checks that must all be met.

    Checks decided on a mean count only if there is no other. `at` is a graded coordinate, by axis.
    """
    counted = [one for one in checks if not one.by_mean] or list(checks)
    found = []
    for seed, record in bundles.of(arm).items():
        if record.status is CellStatus.FAILED:
            found.append(RunAnswer(seed, Status.FAILED))
        elif record.status is CellStatus.DIVERGED:
            own = arm.role in (Role.OWN, Role.READING, Role.ALTERNATIVE)
            found.append(RunAnswer(seed, Status.NO if own else Status.VOID, diverged=True))
        else:
            found.append(_answer(checks, counted, arm, bundles.run(arm, record).placed(at or {})))
    return tuple(found)


def _answer(
    checks: Sequence[Kind], counted: Sequence[Kind], arm: PlannedArm, run: Run
) -> RunAnswer:
    needed = {q.arm for one in checks for q in one.quantities() if q.arm is not None}
    if needed - run.others.keys():
        return RunAnswer(run.seed, Status.UNPAIRED)
    try:
        for bound in arm.holds_at_start:
            first = bound.value.model_copy(update={"step": "first"})
            limit = bound.limit()
            if not limit.met_by(limit.worst([float(one) for one in run.numbers(first)])):
                return RunAnswer(run.seed, Status.VOID)
        said: list[Condition] = []
        yes = True
        for place, check in enumerate(checks):
            conditions = check.conditions(run.placed(check.at))
            said += [replace(one, check=place) for one in conditions]
            yes &= check not in counted or all(one.met for one in conditions)
    except MeasurementMissingError:
        return RunAnswer(run.seed, Status.FAILED)
    return RunAnswer(run.seed, Status.YES if yes else Status.NO, tuple(said))
