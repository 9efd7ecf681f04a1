"""Tells of numbers that lie below the floor of their check, and so count as larger than they are.

A floor is the resolution of a measurement. Raised above what is measured it makes any two numbers
equal. Where a course ends below its floor, its picture shows (`reproaudit.reports.stated_rule`);
for single numbers, and for the beginning of a course, the records are looked at here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import experiment_batch
from reproaudit.checks import Check
from reproaudit.checks.measurements import MeasurementKind, Sample
from reproaudit.records import CellStatus
from reproaudit.reports import numbers
from reproaudit.reports.warning import BELOW_THE_FLOOR
from reproaudit.running.groups import Chosen
from reproaudit.scorecard.from_store import lookup_chosen
from reproaudit.stats import Scale


def below_floors(claim: str, audit: Audit, tier: TierName, chosen: Chosen) -> Iterator[str]:
    """Yields a sentence on each number that a claim reads and that lies below its check's floor.

    Args:
        claim: its id.
        audit: the paper's.
        tier: at which it is judged.
        chosen: the records that are judged.
    """
    stated = next((one for one in audit.claims if one.id == claim), None)
    if stated is None:
        return
    declared = audit.measurements_of(stated.experiment)
    runs = lookup_chosen(audit, chosen)(experiment_batch(audit, stated.experiment, tier))
    samples = [
        Sample(one.seed, one.measurements, declared, one.settings)
        for one in runs.values()
        if one.status is CellStatus.COMPLETED
    ]
    for check in stated.checks:
        below = Counter(name for sample in samples for name in _below(check, sample))
        for name, count in below.items():
            floor = numbers.stated(check.floor)
            yield (
                f"{BELOW_THE_FLOOR} of '{check.name}' lies '{name}' in {count} of "
                f"{numbers.counted(len(samples), 'run')}: less than {floor} counts as {floor}."
            )


def _below(check: Check, sample: Sample) -> set[str]:
    """The measurements that a check reads below its floor in one run, but for ends of courses."""
    return {
        quantity.measurement
        for part in check.parts(sample)
        if part.spans() is None and any(one.scale is Scale.LOG for one in part.conditions())
        for quantity in part.quantities()
        if (
            quantity.step == "first"
            or sample.declarations[quantity.measurement].kind is not MeasurementKind.SERIES
        )
        and sample.number(quantity) < check.floor
    }
