"""The quantities of a claim's parts, so that parts which read the same ones share a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Role
from reproaudit.checks.kind import Kind
from reproaudit.checks.quantities import Quantity, Sample
from reproaudit.declarations import Coordinate, MeasurementKind, MeasurementMissingError
from reproaudit.judging.outcomes import BatchOutcome
from reproaudit.records import CellStatus

FEWEST_COORDINATES = 3
"""An axis of numbers is drawn from this many coordinates on."""


@dataclass(frozen=True)
class Subject:
    """The quantities of a part, and their axis, or None for training steps."""

    quantities: tuple[Quantity, ...]
    axis: str | None

    @property
    def key(self) -> tuple[object, ...]:
        """A key that is equal for parts that share a picture."""
        named = ((q.measurement, *sorted(q.at.items())) for q in self.quantities)
        return (self.axis, *named)


@dataclass(frozen=True)
class Runners:
    """The runs of a claim or of a control, with the checks as they read them."""

    outcome: BatchOutcome
    checks: tuple[Kind, ...]
    samples: tuple[Sample, ...]
    number: int | None = None


@dataclass
class PartGroup:
    """The parts that share a picture."""

    subject: Subject
    indices: list[int] = field(default_factory=list)
    parts: list[Kind] = field(default_factory=list)


def runners(
    audit: Audit, outcome: BatchOutcome, checks: Sequence[Kind], number: int | None = None
) -> Runners:
    """The runs that can be drawn; of the claim's own also those that diverged."""
    declared = audit.measurements_of(outcome.batch.experiment)
    drawn = {CellStatus.COMPLETED}
    drawn |= {CellStatus.DIVERGED} if outcome.role is Role.EXPERIMENT else set()
    samples = tuple(
        Sample(r.seed, r.measurements, declared, r.settings)
        for r in outcome.records
        if r.status in drawn
    )
    substitutes = dict(outcome.substitutes)
    return Runners(outcome, tuple(c.reading(substitutes) for c in checks), samples, number)


def expanded(batch: Runners) -> Iterator[tuple[int, Kind]]:
    """Every part of a batch with the place of its check."""
    for index, check in enumerate(batch.checks):
        try:
            yield from ((index, part) for part in check.parts(batch.samples[0]))
        except MeasurementMissingError:
            continue  # of older code or from elsewhere, without this measurement


def subject_of(batch: Runners, index: int, part: Kind) -> Subject | None:
    """The quantities and axis of a part; None if it reads single numbers alone."""
    sample = batch.samples[0]
    declared = [(q, sample.declarations.get(q.measurement)) for q in part.quantities()]
    series = [q for q, d in declared if d and d.kind is MeasurementKind.SERIES]
    if series:
        return Subject(_distinct(series, None), None)
    arrays = [(q, d) for q, d in declared if d and d.kind is MeasurementKind.ARRAY]
    axes = [part.spans(), batch.checks[index].each]
    axes += [
        axis.name
        for _, d in arrays
        for axis in d.axes
        if _is_numeric(axis.coordinates(sample.settings))
    ]
    for axis in axes:
        along = [q for q, d in arrays if axis in {one.name for one in d.axes}]
        if axis is not None and along:
            return Subject(_distinct(along, axis), axis)
    return None


def _is_numeric(coordinates: Sequence[Coordinate]) -> bool:
    numbers = [one for one in coordinates if isinstance(one, int | float)]
    return len(numbers) == len(coordinates) >= FEWEST_COORDINATES


def _distinct(quantities: Sequence[Quantity], axis: str | None) -> tuple[Quantity, ...]:
    """The quantities along an axis, each once, whether it is read at the first step or the last."""
    found: list[Quantity] = []
    for one in quantities:
        if (placed := along(one, axis)) not in found:
            found.append(placed)
    return tuple(found)


def along(quantity: Quantity, axis: str | None) -> Quantity:
    """A quantity without its coordinate on an axis, and without the step that is read."""
    at = {name: one for name, one in quantity.at.items() if name != axis}
    return quantity.model_copy(update={"at": at, "step": "last"})
