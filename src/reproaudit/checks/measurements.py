"""Declarations of measurements, the quantities that checks read, and a run as a check sees it.

Declarations are part of the audit. So `reproaudit check` can hold claims against them (the
measurement, its axes and their coordinates exist) without importing a paper's module, and
measurements made elsewhere can be judged by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from reproaudit.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reproaudit import records


@dataclass(frozen=True)
class OneComplaint:
    """Makes a union of types complain once about a wrong value, not once for each type.

    Attributes:
        expected: the types in a reviewer's words.
    """

    expected: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Return the schema of the union, with the error type "union"."""
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


# --- declarations -------------------------------------------------------------------------------


class MeasurementKind(StrEnum):
    """The three shapes that a measurement can have."""

    SCALAR = "scalar"
    SERIES = "series"
    ARRAY = "array"


class Axis(StrictModel):
    """One axis of a measurement; the training step of a series is none of them."""

    name: Name
    """The axis's name, in the singular: layer, depth, baseline."""
    values: tuple[Coordinate, ...] | None = None
    """The coordinates along the axis in order. Give one of `values`, `setting` and `size`."""
    setting: Name | None = None
    """The name of the setting whose list holds the coordinates, which a tier may change."""
    size: int | None = Field(default=None, ge=1)
    """The length of an axis whose coordinates are 0, 1, 2 …, such as the rows of a matrix."""

    def coordinates(self, settings: Mapping[str, Any]) -> tuple[Coordinate, ...]:
        """Return the coordinates along the axis under these settings."""
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
    noun: str | None = Field(default=None, max_length=40)
    """What a page calls the quantity, in at most four words: test loss, distance."""
    range: Annotated[tuple[float | None, ...], Field(min_length=2, max_length=2)] | None = None
    """The least and the largest value that it can have, null for an open end: [0, null] for a loss,
    [0, 1] for a share."""

    def shape(self, settings: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the shape under these settings, without the step axis of a series."""
        return tuple(len(axis.coordinates(settings)) for axis in self.axes)


class MeasurementMissingError(LookupError):
    """A record lacks a measurement that a check reads."""


ROUNDING = 1e-6
"""The share by which a number may lie beyond its range, for rounding, and still count as inside."""


def misfit(
    name: str,
    declaration: Declaration,
    measurements: records.Measurements,
    settings: Mapping[str, Any],
) -> str | None:
    """Describe how a measurement differs from its declaration; None if they agree.

    A record of other code, or measurements made elsewhere, may hold anything under a name.
    """
    if name not in measurements.names:
        return f"has no '{name}'"
    found = _values_of(name, declaration, measurements)
    if found is None:
        return f"has '{name}', but not as the declared {declaration.kind}"
    if declaration.kind is MeasurementKind.SERIES and not len(found):
        return f"has no observation of '{name}'"
    shape = declaration.shape(settings)
    inner = found.shape[1:] if declaration.kind is MeasurementKind.SERIES else found.shape
    if inner != shape:
        return f"has '{name}' of shape {inner}; the audit declares {shape}"
    if declaration.range is None or not found.size:
        return None
    low, high = declaration.range
    least, most = float(found.min()), float(found.max())
    if low is not None and least < low - ROUNDING * max(1.0, abs(low)):
        return f"has {least:g} as '{name}'; the audit declares at least {low:g}"
    if high is not None and most > high + ROUNDING * max(1.0, abs(high)):
        return f"has {most:g} as '{name}'; the audit declares at most {high:g}"
    return None


def _values_of(
    name: str, declaration: Declaration, measurements: records.Measurements
) -> NDArray[np.float64] | None:
    """The numbers under a name, if they are of the declared kind."""
    if declaration.kind is MeasurementKind.SCALAR and name in measurements.scalars:
        return np.asarray(measurements.scalars[name], dtype=np.float64)
    if declaration.kind is MeasurementKind.ARRAY and name in measurements.arrays:
        return measurements.arrays[name]
    if declaration.kind is MeasurementKind.SERIES and name in measurements.series:
        return measurements.series[name].values
    return None


# --- quantities ---------------------------------------------------------------------------------

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
        values = _values_of(name, declaration, run.measurements)
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
