"""A run as a check sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from reproaudit.declarations import (
    Coordinate,
    Declaration,
    MeasurementKind,
    MeasurementMissingError,
    Quantity,
    misfit,
    values_of,
)
from reproaudit.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reproaudit import records


@dataclass(frozen=True, eq=False)
class Run:
    """The measurements of one run, with their declarations and settings, as a check reads them.

    Attributes:
        seed: the run's seed.
        measurements: what was measured.
        declarations: by name.
        settings: by name.
        reads: measurements that are read in place of others: of a null with a wrong reference.
        at: coordinates at which every measurement that has the axis is read.
        others: the runs of other arms with the same seed, by the arm's name.
    """

    seed: int
    measurements: records.Measurements
    declarations: Mapping[str, Declaration]
    settings: Mapping[str, Any]
    reads: Mapping[str, str] = field(default_factory=dict)
    at: Mapping[str, Coordinate] = field(default_factory=dict)
    others: Mapping[str, Run] = field(default_factory=dict)

    def placed(self, at: Mapping[str, Coordinate]) -> Run:
        """Return the same run, read at more coordinates."""
        return replace(self, at={**self.at, **at}) if at else self

    def numbers(self, quantity: Quantity) -> NDArray[np.float64]:
        """Return the quantity's numbers; shape (coordinate,), over its free axes.

        Raises:
            MeasurementMissingError: if the run has no such measurement, coordinate or arm.
        """
        run, name, declaration = self._found(quantity)
        values = values_of(name, declaration, run.measurements)
        assert values is not None, "refused by _found"
        if declaration.kind is MeasurementKind.SERIES:
            values = values[0 if quantity.step == "first" else -1]
        return np.atleast_1d(values[run._index(quantity, declaration)]).ravel()

    def series(self, quantity: Quantity) -> tuple[tuple[int, ...], NDArray[np.float64]]:
        """Return the quantity over training: steps, and values of shape (step, coordinate).

        Raises:
            MeasurementMissingError: as `numbers`, or if it is no series.
        """
        run, name, declaration = self._found(quantity)
        if declaration.kind is not MeasurementKind.SERIES:
            raise MeasurementMissingError(f"'{name}' is no series", name)
        whole = run.measurements.series[name]
        values = whole.values[(slice(None), *run._index(quantity, declaration))]
        return whole.steps, values.reshape(len(whole.steps), -1)

    def coordinates(self, quantity: Quantity, axis: str) -> tuple[Coordinate, ...]:
        """Return the coordinates of an axis of the quantity's measurement."""
        run, name, declaration = self._found(quantity)
        for one in declaration.axes:
            if one.name == axis:
                return one.coordinates(run.settings)
        raise MeasurementMissingError(f"'{name}' has no axis '{axis}'", name)

    def _found(self, quantity: Quantity) -> tuple[Run, str, Declaration]:
        """The run that is read, and the measurement's name and declaration there."""
        run = self
        if quantity.arm is not None:
            if quantity.arm not in self.others:
                why = f"no run of '{quantity.arm}' with seed {self.seed}"
                raise MeasurementMissingError(why, quantity.measurement)
            run = self.others[quantity.arm].placed(self.at)
        name = run.reads.get(quantity.measurement, quantity.measurement)
        if name not in run.declarations:
            raise MeasurementMissingError(f"no measurement '{name}' is declared", name)
        fault = misfit(name, run.declarations[name], run.measurements, run.settings)
        if fault is not None:
            raise MeasurementMissingError(f"the record of seed {run.seed} {fault}", name)
        return run, name, run.declarations[name]

    def _index(self, quantity: Quantity, declaration: Declaration) -> tuple[Any, ...]:
        """The quantity's place on each axis; a free axis is taken whole."""
        unnamed = list(quantity.coordinates)
        index: list[Any] = []
        for axis in declaration.axes:
            known = axis.coordinates(self.settings)
            wanted = quantity.at.get(axis.name, self.at.get(axis.name))
            if wanted is None:
                wanted = next((one for one in unnamed if one in known), None)
                if wanted is not None:
                    unnamed.remove(wanted)
            if wanted is None:
                index.append(slice(None))
            elif wanted in known:
                index.append(known.index(wanted))
            else:
                raise MeasurementMissingError(
                    f"'{quantity.measurement}' has no {axis.name} {wanted!r}",
                    quantity.measurement,
                )
        if unnamed:
            raise MeasurementMissingError(
                f"'{quantity.measurement}' has no coordinate {unnamed[0]!r}",
                quantity.measurement,
            )
        return tuple(index)
