"""Tells of numbers that lie below the floor of their check, and so count as larger than they are.

A floor is the resolution of a measurement. Raised above what is measured it makes any two numbers
equal. Where a course ends below its floor, its picture shows (`reproaudit.reports.stated_rule`);
for single numbers, and for the beginning of a course, the records are looked at here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import control_batch, experiment_batch
from reproaudit.checks import Check
from reproaudit.checks.measurements import MeasurementKind, Sample
from reproaudit.records import CellStatus
from reproaudit.reports import numbers
from reproaudit.reports.status import holds
from reproaudit.reports.warning import BELOW_THE_FLOOR
from reproaudit.running.groups import Chosen
from reproaudit.scorecard.from_store import lookup_chosen
from reproaudit.scorecard.model import ClaimModel
from reproaudit.stats import Scale


def below_floors(claim: ClaimModel, audit: Audit, tier: TierName, chosen: Chosen) -> Iterator[str]:
    """Yields a sentence on each number of a claim that lies below its check's floor.

    Of a supported one the numbers of its ablations count, too.

    Args:
        claim: as it was judged.
        audit: the paper's.
        tier: at which it is judged.
        chosen: the records that are judged.
    """
    stated = next((one for one in audit.claims if one.id == claim.id), None)
    if stated is None:
        return
    found = [("", experiment_batch(audit, stated.experiment, tier), stated.checks)]
    ablations = audit.ablations_of(stated) if holds(claim) else ()
    for place, control in enumerate(ablations, start=1):
        checks = tuple(one.reading(control.substitutes) for one in stated.checks)
        whose = f" of control {control.name or place}"
        found.append((whose, control_batch(audit, control, tier), checks))
    for whose, batch, checks in found:
        declared = audit.measurements_of(batch.experiment)
        samples = [
            Sample(one.seed, one.measurements, declared, one.settings)
            for one in lookup_chosen(audit, chosen)(batch).values()
            if one.status is CellStatus.COMPLETED
        ]
        for check in checks:
            below = Counter(name for sample in samples for name in _below(check, sample, whose))
            for name, count in below.items():
                floor, runs = numbers.stated(check.floor), numbers.counted(len(samples), "run")
                yield (
                    f"{BELOW_THE_FLOOR} of '{check.name}' lies '{name}' in {count} of {runs}"
                    f"{whose}: less than {floor} counts as {floor}."
                )


def _below(check: Check, sample: Sample, whose: str) -> set[str]:
    """The measurements that a check reads below its floor in one run.

    Of the claim's own runs the ends of courses are left to their pictures.
    """
    return {
        quantity.measurement
        for part in check.parts(sample)
        if part.spans() is None and any(one.scale is Scale.LOG for one in part.conditions())
        for quantity in part.quantities()
        if (
            whose
            or quantity.step == "first"
            or sample.declarations[quantity.measurement].kind is not MeasurementKind.SERIES
        )
        and sample.number(quantity) < check.floor
    }
