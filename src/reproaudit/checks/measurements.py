"""Declarations of measurements, and the quantities that checks pick from them.

Declarations are part of the audit. So `reproaudit check` can hold claims against them (the
measurement, its axes and their coordinates exist) without importing a paper's module, and
measurements made elsewhere can be judged by the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from reproaudit.lazy import deferred, np

if TYPE_CHECKING:
    from reproaudit import records
else:
    records = deferred("reproaudit.records")


@dataclass(frozen=True)
class OneComplaint:
    """Makes a union of types complain once about a wrong value, not once for each type.

    Attributes:
        expected: the types in a reviewer's words.
    """

    expected: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """The schema of the union, with the error type "union" and `expected` as its context."""
        return {
            **handler(source),
            "custom_error_type": "union",
            "custom_error_message": "expected {expected}",
            "custom_error_context": {"expected": self.expected},
        }


Coordinate = Annotated[int | float | str, OneComplaint("a number or text")]
"""A position on an axis: a layer's number, a context length, a baseline's name."""

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
"""A name in an audit: lower-case words joined by underscores."""


class StrictModel(BaseModel):
    """A strict model: no value is converted, no unknown field passes, and it never changes.

    A model's validator is built when it is first used, and the text below a field is read when it
    is needed (`reproaudit.audit.field_docs`), so that every command starts sooner.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class MeasurementKind(StrEnum):
    """The three shapes that a measurement can have."""

    SCALAR = "scalar"
    SERIES = "series"
    ARRAY = "array"


class Axis(StrictModel):
    """One axis of a measurement, besides the training step of a series."""

    name: Name
    """The axis's name, in the singular: layer, depth, baseline."""
    values: tuple[Coordinate, ...] | None = None
    """The coordinates along the axis in order. Give one of `values`, `setting` and `size`."""
    setting: Name | None = None
    """The name of the setting whose list holds the coordinates, which a tier may change."""
    size: int | None = Field(default=None, ge=1)
    """The length of an axis whose coordinates are 0, 1, 2 …, such as the rows of a matrix."""

    def coordinates(self, settings: Mapping[str, Any]) -> tuple[Coordinate, ...]:
        """The coordinates along the axis under these settings."""
        if self.values is not None:
            return self.values
        if self.setting is not None:
            return tuple(settings[self.setting])
        return tuple(range(self.size or 0))


class Declaration(StrictModel):
    """The declaration of one measurement: its kind, its axes, its unit and its meaning."""

    kind: MeasurementKind
    """scalar: one number; series: values at several training steps; array: values along axes."""
    axes: tuple[Axis, ...] = ()
    """The axes in order. The training steps of a series are not listed; they come first."""
    unit: str
    """The unit, for example nat; "1" (in quotes) for a pure number."""
    meaning: str
    """The measured quantity, in a sentence that a reviewer can hold against the paper."""
    range: Annotated[tuple[float | None, ...], Field(min_length=2, max_length=2)] | None = None
    """The least and the largest value that it can have, null for an open end: [0, null] for a loss,
    [0, 1] for a share, [null, null] for any number. Needed to be judged on the linear scale."""

    def shape(self, settings: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape under these settings, without the step axis of a series."""
        return tuple(len(axis.coordinates(settings)) for axis in self.axes)


class Quantity(StrictModel):
    """One number per seed, picked from a measurement."""

    measurement: Name
    """The name of the measurement."""
    at: dict[Name, Coordinate] = Field(default_factory=dict)
    """The coordinate on every axis of the measurement, by the axis's name: `{layer: 1}`."""
    step: Literal["first", "last"] = "last"
    """The observation of a series that is read: `first`, before training, or `last`."""

    def placed(self, axis: str, coordinate: Coordinate) -> Quantity:
        """The same quantity with one more axis fixed."""
        return self.model_copy(update={"at": {**self.at, axis: coordinate}})


class MeasurementMissingError(LookupError):
    """A record lacks a measurement that a check reads; judging makes it a technical failure."""


def misfit(
    name: str,
    declaration: Declaration,
    measurements: records.Measurements,
    settings: Mapping[str, Any],
) -> str | None:
    """The difference between a measurement and its declaration, in words; None if they agree.

    A record of other code, or measurements made elsewhere, may hold anything under a name.
    """
    if name not in measurements.names:
        return f"has no '{name}'"
    shape = tuple(len(axis.coordinates(settings)) for axis in declaration.axes)
    found: tuple[int, ...]
    if declaration.kind is MeasurementKind.SCALAR and name in measurements.scalars:
        return _out_of_range(name, declaration, measurements.scalars[name])
    if declaration.kind is MeasurementKind.ARRAY and name in measurements.arrays:
        found = measurements.arrays[name].shape
    elif declaration.kind is MeasurementKind.SERIES and name in measurements.series:
        found = measurements.series[name].values.shape[1:]
        if not measurements.series[name].steps:
            return f"has no observation of '{name}'"
    else:
        return f"has '{name}', but not as the declared {declaration.kind}"
    if found != shape:
        return f"has '{name}' of shape {found}; the audit declares {shape}"
    if declaration.range is None:
        return None
    series = declaration.kind is MeasurementKind.SERIES
    values = measurements.series[name].values if series else measurements.arrays[name]
    return _out_of_range(name, declaration, values) if values.size else None


def _out_of_range(name: str, declaration: Declaration, values: Any) -> str | None:
    """The number outside the declared range, in words; None if there is none, up to rounding."""
    if declaration.range is None:
        return None
    low, high = declaration.range
    least, most = float(np.min(values)), float(np.max(values))
    if low is not None and least < low - ROUNDING * max(1.0, abs(low)):
        return f"has {least:g} as '{name}'; the audit declares at least {low:g}"
    if high is not None and most > high + ROUNDING * max(1.0, abs(high)):
        return f"has {most:g} as '{name}'; the audit declares at most {high:g}"
    return None


ROUNDING = 1e-6
"""The share by which a number may lie beyond its range, for rounding, and still count as inside."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The measurements of one seed, with their declarations and the settings.

    A measurement is held against its declaration when it is first read, and then no more.
    """

    seed: int
    measurements: records.Measurements
    declarations: Mapping[str, Declaration]
    settings: Mapping[str, Any]
    _fitting: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def coordinates(self, quantity: Quantity, axis: str) -> tuple[Coordinate, ...]:
        """The coordinates of an axis of the quantity's measurement."""
        declaration = self._declaration(quantity)
        for one in declaration.axes:
            if one.name == axis:
                return one.coordinates(self.settings)
        raise MeasurementMissingError(f"'{quantity.measurement}' has no axis '{axis}'")

    def number(self, quantity: Quantity) -> float:
        """The quantity's value for this seed."""
        declaration = self._declaration(quantity)
        if declaration.kind is MeasurementKind.SERIES:
            step = 0 if quantity.step == "first" else -1
            values = self.measurements.series[quantity.measurement].values
            return float(values[(step, *self._index(quantity))])
        if declaration.kind is MeasurementKind.SCALAR:
            return self.measurements.scalars[quantity.measurement]
        return float(self.measurements.arrays[quantity.measurement][self._index(quantity)])

    def series(self, quantity: Quantity) -> records.Series:
        """The quantity over training; values have shape (step,)."""
        self._declaration(quantity)
        whole = self.measurements.series[quantity.measurement]
        at_every_step: Any = (slice(None), *self._index(quantity))
        values = np.array(whole.values[at_every_step], dtype=np.float64)
        values.setflags(write=False)
        # A part of what was validated with the record needs no second look.
        return records.Series.model_construct(steps=whole.steps, values=values)

    def _declaration(self, quantity: Quantity) -> Declaration:
        name = quantity.measurement
        if name not in self._fitting:
            if name not in self.declarations:
                raise MeasurementMissingError(f"no measurement '{name}' is declared")
            fault = misfit(name, self.declarations[name], self.measurements, self.settings)
            if fault is not None:
                raise MeasurementMissingError(f"the record of seed {self.seed} {fault}")
            self._fitting.add(name)
        return self.declarations[name]

    def _index(self, quantity: Quantity) -> tuple[int, ...]:
        """The quantity's place on each axis of its measurement."""
        index = []
        for axis in self.declarations[quantity.measurement].axes:
            if axis.name not in quantity.at:
                raise MeasurementMissingError(
                    f"'{quantity.measurement}' needs a coordinate on its axis '{axis.name}'"
                )
            coordinates = axis.coordinates(self.settings)
            if quantity.at[axis.name] not in coordinates:
                raise MeasurementMissingError(
                    f"'{quantity.measurement}' has no {axis.name} {quantity.at[axis.name]!r}"
                )
            index.append(coordinates.index(quantity.at[axis.name]))
        return tuple(index)
