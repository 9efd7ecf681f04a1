"""Declarations of measurements: what an experiment measures, and how it fits what was measured.

Declarations are part of the audit. So `reproaudit check` can hold claims against them (the
measurement, its axes and their coordinates exist) without importing a paper's module, and
measurements made elsewhere can be judged by the same rules.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Union

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticKnownError, core_schema

from reproaudit.lazy import FloatArray, np

if TYPE_CHECKING:
    from reproaudit import records


@dataclass(frozen=True)
class OneComplaint:
    """Makes a union of types complain once about a wrong value, not once for each type."""

    expected: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Return the schema of the union, with the error type "union"."""
        return {
            **handler(source),
            "custom_error_type": "union",
            "custom_error_message": "expected {expected}",
            "custom_error_context": {"expected": self.expected},
        }


class ByKind:
    """Takes a mapping for the model that its field `kind` names.

    pydantic's own union builds every model before it reads a value. Here a model is built when a
    file first has its kind, so that `reproaudit check` starts sooner.
    """

    def __init__(self, names: Iterable[str], model_of: Callable[[str], type[BaseModel]]) -> None:
        self.names = tuple(names)
        self.model_of = model_of

    def models(self) -> tuple[type[BaseModel], ...]:
        """Return the models of all kinds."""
        return tuple(map(self.model_of, self.names))

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return the schema that asks the kind's own model."""
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        """Return the JSON Schema of the union of all models."""
        models: Any = Union[self.models()]  # noqa: UP007
        union: TypeAdapter[Any] = TypeAdapter(Annotated[models, Field(discriminator="kind")])
        return handler(union.core_schema)

    def _read(self, value: Any) -> BaseModel:
        if isinstance(value, BaseModel):
            return value
        if not isinstance(value, dict):
            raise PydanticKnownError("dict_type")
        if "kind" not in value:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": "'kind'"})
        kind = value["kind"]
        if kind not in self.names:
            expected = ", ".join(f"'{name}'" for name in self.names)
            context = {"discriminator": "'kind'", "tag": str(kind), "expected_tags": expected}
            raise PydanticKnownError("union_tag_invalid", context)
        return self.model_of(kind).model_validate_json(json.dumps(value))


Coordinate = Annotated[int | float | str, OneComplaint("a number or text")]
"""A position on an axis: a layer's number, a context length, a baseline's name."""

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
"""A name in an audit: lower-case words joined by underscores."""


class StrictModel(BaseModel):
    """A strict model: no value is converted, no unknown field passes, and it never changes.

    The text below a field is its description, which `description_of` reads. A model's validator is
    built when it is first used, so that every command starts sooner.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


def description_of(model: type[BaseModel], field: str) -> str:
    """Return what is said of a model's field, by its name or alias: the text below it, or ''.

    A source is read when it is first asked for, which no right audit needs.
    """
    fields = model.model_fields
    field = next((name for name, info in fields.items() if info.alias == field), field)
    told = fields[field].description
    if told is not None:
        return told
    owners = (*model.__mro__, *getattr(model, "__described_by__", object).__mro__)
    named = ((owner.__module__, (owner.__name__, field)) for owner in owners)
    return next((text for module, key in named if (text := _texts_in(module).get(key))), "")


@cache
def _texts_in(module: str) -> dict[tuple[str, str], str]:
    """The texts below the fields of a module's classes, by class and field."""
    if not module.startswith(__package__):
        return {}
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {
        (node.name, ast.unparse(field.target)): inspect.cleandoc(str(text.value.value))
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for field, text in itertools.pairwise(node.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


def first_refusal(error: ValidationError) -> str:
    """Return the first place that a model refuses, and why."""
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'as a whole'}: {first['msg']}"


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
    size: int | None = Field(default=None, ge=1, le=1_000_000)
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
    step: Annotated[str, Field(min_length=1, max_length=20)] | None = None
    """What a series counts in place of training steps, in the singular: generation, epoch."""
    range: Annotated[tuple[float | None, ...], Field(min_length=2, max_length=2)] | None = None
    """The least and the largest value that it can have, null for an open end: [0, null] for a loss,
    [0, 1] for a share."""

    def shape(self, settings: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the shape under these settings, without the step axis of a series."""
        return tuple(len(axis.coordinates(settings)) for axis in self.axes)


class MeasurementMissingError(LookupError):
    """A record lacks a measurement that a check reads.

    Attributes:
        found: the number in its place that lies out of the declared range, if one does.
    """

    def __init__(self, text: str, measurement: str, found: float | None = None) -> None:
        super().__init__(text)
        self.measurement = measurement
        self.found = found


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
    values = values_of(name, declaration, measurements)
    if values is None:
        return f"has '{name}', but not as the declared {declaration.kind}"
    if declaration.kind is MeasurementKind.SERIES and not len(values):
        return f"has no observation of '{name}'"
    shape = declaration.shape(settings)
    inner = values.shape[1:] if declaration.kind is MeasurementKind.SERIES else values.shape
    if inner != shape:
        return f"has '{name}' of shape {inner}; the audit declares {shape}"
    beyond = beyond_range(declaration, values)
    low, high = declaration.range or (None, None)
    if beyond is None:
        return None
    if low is not None and beyond < low:
        return f"has {beyond:g} as '{name}'; the audit declares at least {low:g}"
    hint = "; it looks like per cent" if high == 1 and beyond <= 100 else ""
    return f"has {beyond:g} as '{name}'; the audit declares at most {high:g}{hint}"


def beyond_range(declaration: Declaration, values: FloatArray) -> float | None:
    """Return the least or the largest number, if it lies beyond the declared range."""
    values = values[~np.isnan(values)]  # what was not observed
    if declaration.range is None or not values.size:
        return None
    low, high = declaration.range
    least = float(values.min())
    most = float(values.max())
    if low is not None and least < low - ROUNDING * max(1.0, abs(low)):
        return least
    if high is not None and most > high + ROUNDING * max(1.0, abs(high)):
        return most
    return None


def values_of(
    name: str, declaration: Declaration, measurements: records.Measurements
) -> FloatArray | None:
    """Return the numbers under a name, if they are of the declared kind."""
    if declaration.kind is MeasurementKind.SERIES:
        series = measurements.series.get(name)
        return None if series is None else series.values
    if declaration.kind is MeasurementKind.ARRAY:
        return measurements.arrays.get(name)
    number = measurements.scalars.get(name)
    return None if number is None else np.asarray(number, dtype=np.float64)


_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})")
_DECIMAL = re.compile(r"([-+]?[0-9]+\.[0-9]*|\.[0-9]+)([eE][-+][0-9]+)?")
_SHORT = re.compile(r"^([a-z][a-z0-9_]*)(?:\[([^\[\]]*)\])?(?:@(first|last|late|largest|least))?$")


Reduction = Literal["mean", "median", "iqm", "largest", "least"]
"""How the numbers along axes become one: their mean, median, interquartile mean (of the middle
half), largest or least."""

ObservedAt = Annotated[
    Annotated[int, Field(ge=0)] | Literal["first", "last", "late", "largest", "least"],
    OneComplaint("a training step, or first, last, late, largest or least"),
]
"""Which observations of a series are read."""


class Passes(StrictModel):
    """A level that a course passes at some training step."""

    level: float
    """The level, seen from the side on which the course starts."""


class Quantity(StrictModel):
    """A measurement of a run, whole or at some coordinates.

    In an audit mostly a short text: ``test_loss``, ``baseline_loss[preconditioned]``,
    ``subset_share[1+2]@first``. An axis without a coordinate stays free: a check then holds for
    each of its coordinates, and the run's number is the worst of them. Coordinates are left out
    first (`without`), then axes are reduced (`over`), at each observation of a series, and then
    `step` or `passes` says what is read of its course.
    """

    measurement: Name
    """The name of the measurement."""
    at: dict[Name, Coordinate] = Field(default_factory=dict)
    """Coordinates by the axis's name: `{layer: 1}`."""
    coordinates: tuple[Coordinate, ...] = Field(default=(), strict=False, max_length=32)
    """Coordinates without their axis's name; each belongs to the first axis that has it."""
    without: dict[Name, Annotated[tuple[Coordinate, ...], Field(strict=False, min_length=1)]] = (
        Field(default_factory=dict)
    )
    """Coordinates that are left out, by axis: `{method: [ours]}` for all other methods."""
    over: dict[Name, Reduction] = Field(default_factory=dict)
    """Axes that are reduced, each to one number: `{task: mean, seed: iqm}`. Those with the same
    word are reduced together; of several words the one whose axis is declared first goes first.
    `iqm` leaves out a fourth of the numbers, rounded down, at either end."""
    step: ObservedAt = "last"
    """What is read of a series: its `first` observation, before training, or its `last`; the one at
    a training step, such as 1000; the `largest` or the `least` of all; `late`, the mean of the last
    tenth."""
    passes: Passes | None = None
    """In place of what a series is, when: the training step at which it first passes a level,
    straight between observations, of running medians of five, so that no single observation passes.
    A course that never does is known to take at least as long as the run."""
    arm: Name | None = None
    """Another arm, by name, in whose run with the same seed the measurement is read."""

    @model_validator(mode="before")
    @classmethod
    def _from_short_form(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        match = _SHORT.match(value.strip())
        if match is None:
            raise ValueError(
                "expected a measurement's name, such as test_loss or baseline_loss[preconditioned]"
            )
        inside = [part.strip() for part in (match[2] or "").split(",") if part.strip()]
        return {
            "measurement": match[1],
            "coordinates": tuple(map(_coordinate, inside)),
            "step": match[3] or "last",
        }

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        for name in self.at:
            if name in self.over or name in self.without:
                field = "over" if name in self.over else "without"
                raise ValueError(f"'at' and '{field}' both have the axis '{name}'; state either")
        if self.passes is not None and self.step != "last":
            raise ValueError("'passes' reads the whole course and 'step' a part; state either")
        return self


@dataclass(frozen=True)
class Placement:
    """Where a quantity is read along the axes of its measurement.

    Attributes:
        kept: axis -> its coordinates that are not left out, in their order.
        own: axis -> the coordinate that the quantity itself states.
        fixed: axis -> the coordinate at which it is read: its own, its check's, or a level's.
        unplaced: the coordinates of the quantity that no axis has left.
    """

    kept: Mapping[str, Sequence[Coordinate]]
    own: Mapping[str, Coordinate]
    fixed: Mapping[str, Coordinate]
    unplaced: tuple[Coordinate, ...]


def placement(
    quantity: Quantity, along: Mapping[str, Sequence[Coordinate]], at: Mapping[str, Coordinate]
) -> Placement:
    """Return where a quantity is read, by all coordinates and what a check, or a level, states.

    What it states without an axis's name belongs to the first axis that has it and is placed by
    nothing else; for want of such an axis it stands before what the check or a level states.
    """
    kept = dict(along)
    for axis in quantity.without.keys() & along.keys():
        left_out = quantity.without[axis]
        kept[axis] = tuple(coordinate for coordinate in along[axis] if coordinate not in left_out)
    own = {axis: quantity.at[axis] for axis in along if axis in quantity.at}
    unplaced = list(quantity.coordinates)
    open_axes = [axis for axis in along if axis not in own and axis not in quantity.over]
    for axis in sorted(open_axes, key=lambda axis: axis in at):
        coordinate = next((coordinate for coordinate in unplaced if coordinate in kept[axis]), None)
        if coordinate is not None:
            unplaced.remove(coordinate)
            own[axis] = coordinate
    fixed = {**{axis: at[axis] for axis in open_axes if axis in at}, **own}
    return Placement(kept, own, fixed, tuple(unplaced))


def told_by(types: Any, tag: str, other: str) -> Discriminator:
    """Return what tells the members of a union apart: by its tag that of values of these types."""
    return Discriminator(lambda value: tag if isinstance(value, types) else other)


NumberOrQuantity = Annotated[
    Annotated[float, Tag("number")] | Annotated[Quantity, Tag("quantity")],
    told_by(int | float, "number", "quantity"),
]
"""A number, or a quantity of the run."""


def _coordinate(text: str) -> int | float | str:
    """A number where the text is a plain decimal one, as in YAML."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) and math.isfinite(float(text)) else text
