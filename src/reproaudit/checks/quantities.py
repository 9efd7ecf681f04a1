"""The quantities that checks read, and a run as a check sees it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import Discriminator, Field, Tag, model_validator

from reproaudit.declarations import (
    Coordinate,
    Declaration,
    MeasurementKind,
    MeasurementMissingError,
    Name,
    StrictModel,
    misfit,
    values_of,
)
from reproaudit.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reproaudit import records

_SHORT = re.compile(r"^([a-z][a-z0-9_]*)(?:\[([^\[\]]*)\])?(@first)?$")


class Quantity(StrictModel):
    """A measurement of a run, whole or at some coordinates.

    In an audit mostly a short text: ``test_loss``, ``baseline_loss[preconditioned]``,
    ``subset_share[1+2]@first``. An axis without a coordinate stays free: a check then holds for
    each of its coordinates, and the run's number is the worst of them.
    """

    measurement: Name
    """The name of the measurement."""
    at: dict[Name, Coordinate] = Field(default_factory=dict)
    """Coordinates by the axis's name: `{layer: 1}`."""
    coordinates: tuple[Coordinate, ...] = ()
    """Coordinates without their axis's name; each belongs to the first axis that has it."""
    step: Literal["first", "last"] = "last"
    """The observation of a series that is read: `first`, before training, or `last`."""
    arm: Name | None = None
    """Another arm, by name, in whose run with the same seed the measurement is read."""

    @model_validator(mode="before")
    @classmethod
    def _from_short_form(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        found = _SHORT.match(value.strip())
        if found is None:
            raise ValueError(
                "expected a measurement's name, such as test_loss or baseline_loss[preconditioned]"
            )
        inside = [one.strip() for one in (found[2] or "").split(",") if one.strip()]
        return {
            "measurement": found[1],
            "coordinates": tuple(map(_coordinate, inside)),
            "step": "first" if found[3] else "last",
        }


def _form(value: Any) -> str:
    return "number" if isinstance(value, int | float) else "quantity"


NumberOrQuantity = Annotated[
    Annotated[float, Tag("number")] | Annotated[Quantity, Tag("quantity")], Discriminator(_form)
]
"""A number, or a quantity of the run."""


def _coordinate(text: str) -> int | float | str:
    """A number where the text is one, as in YAML."""
    value = yaml.safe_load(text)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else text


# --- runs ---------------------------------------------------------------------------------------


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
            raise MeasurementMissingError(f"'{name}' is no series")
        whole = run.measurements.series[name]
        values = whole.values[(slice(None), *run._index(quantity, declaration))]
        return whole.steps, values.reshape(len(whole.steps), -1)

    def coordinates(self, quantity: Quantity, axis: str) -> tuple[Coordinate, ...]:
        """Return the coordinates of an axis of the quantity's measurement."""
        run, name, declaration = self._found(quantity)
        for one in declaration.axes:
            if one.name == axis:
                return one.coordinates(run.settings)
        raise MeasurementMissingError(f"'{name}' has no axis '{axis}'")

    def _found(self, quantity: Quantity) -> tuple[Run, str, Declaration]:
        """The run that is read, and the measurement's name and declaration there."""
        run = self
        if quantity.arm is not None:
            if quantity.arm not in self.others:
                raise MeasurementMissingError(f"no run of '{quantity.arm}' with seed {self.seed}")
            run = self.others[quantity.arm].placed(self.at)
        name = run.reads.get(quantity.measurement, quantity.measurement)
        if name not in run.declarations:
            raise MeasurementMissingError(f"no measurement '{name}' is declared")
        fault = misfit(name, run.declarations[name], run.measurements, run.settings)
        if fault is not None:
            raise MeasurementMissingError(f"the record of seed {run.seed} {fault}")
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
                    f"'{quantity.measurement}' has no {axis.name} {wanted!r}"
                )
        if unnamed:
            raise MeasurementMissingError(
                f"'{quantity.measurement}' has no coordinate {unnamed[0]!r}"
            )
        return tuple(index)
