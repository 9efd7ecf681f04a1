"""One run that a verdict rests on, and the checks that read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from reproaudit.audit.model import Audit, Claim
from reproaudit.checks import Check
from reproaudit.checks.kind import Kind
from reproaudit.checks.quantities import Quantity, Sample
from reproaudit.declarations import MeasurementKind
from reproaudit.commands.beside.judged import RunsBehind
from reproaudit.records import CellStatus, Record

CURVE = "its curve"
"""The name of a curve that the audit gives in numbers."""


_Of = TypeVar("_Of", bound=Kind)


@dataclass(frozen=True)
class JudgedRun:
    """One run that is judged, and the checks that read it.

    Attributes:
        behind: the runs that it is one of.
        record: its record.
        sample: its measurements.
        checks: those of the claim for which the run has every measurement.
    """

    behind: RunsBehind
    record: Record
    sample: Sample
    checks: Sequence[Check]

    @property
    def is_drawn(self) -> bool:
        """True of the claim's own runs: the page has pictures of their courses."""
        return not self.behind.whose

    def parts(self, kind: type[_Of]) -> Iterator[_Of]:
        """Yields the parts of one kind that the run is judged by."""
        for check in self.checks:
            yield from (one for one in check.parts(self.sample) if isinstance(one, kind))

    def is_series(self, quantity: Quantity) -> bool:
        """True if a quantity has a course, and is not a single number."""
        declared = self.sample.declarations[quantity.measurement]
        return declared.kind is MeasurementKind.SERIES

    def series_of(self, check: Check) -> list[tuple[str, str]]:
        """The fields by which a check reads a series, each with the name of the series."""
        read = [(field, one.measurement) for field, one in check.by_field().items()]
        return [(field, name) for field, name in read if name in self.record.measurements.series]


def runs_of(audit: Audit, claim: Claim, behind: RunsBehind) -> Iterator[JudgedRun]:
    """Yields those of the runs that ended well."""
    declared = audit.measurements_of(behind.batch.experiment)
    other = behind.control.substitutes if behind.control else {}
    checks = [check.reading(other) for check in claim.checks]
    for one in behind.lookup(behind.batch).values():
        if one.status is CellStatus.COMPLETED:
            sample = Sample(one.seed, one.measurements, declared, one.settings)
            yield JudgedRun(behind, one, sample, [check for check in checks if _has(one, check)])


def _has(record: Record, check: Check) -> bool:
    """True if a run, perhaps from elsewhere, was supplied with everything that a check reads."""
    return {one.measurement for one in check.quantities()} <= set(record.measurements.names)
