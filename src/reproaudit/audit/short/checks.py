"""The checks of the short form: each kind's fields under their short names.

A kind of the short form is made from the kind itself, so that a new kind has a short form as well.
What differs: coordinates are `where`, every number may have a source of its own, a bound may be
the name of one of the audit's `bounds`, and the source of a check is that of all its numbers that
have none of their own.
"""

from enum import StrEnum
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import Discriminator, Field, Tag, create_model
from pydantic.fields import FieldInfo

from reproaudit import checks, declarations
from reproaudit.checks import KINDS, Kind, Provenance
from reproaudit.declarations import (
    ByKind,
    Coordinate,
    Name,
    ObservedAt,
    OneComplaint,
    Passes,
    Reduction,
    StrictModel,
    told_by,
)

Text = Annotated[str, Field(min_length=1)]

Fraction = Annotated[str, Field(pattern=r"^-?[0-9]{1,15}/[1-9][0-9]{0,14}$")]
"""Two integers as 20/26."""

Plain = Annotated[
    float | Fraction, OneComplaint("a number, or a fraction of two integers such as 20/26")
]

SIDES = ("at_most", "at_least", "below", "above")  # The sides of a bound


class Quantity(StrictModel):
    """A measurement of a run at some coordinates; mostly a text, as in loss[query]@first, or
    loss[query] of frozen for the run of an arm."""

    measurement: Name
    """The name of the measurement."""
    where: dict[Name, Coordinate] = Field(default_factory=dict)
    """Coordinates by the axis's name: `{layer: 1}`."""
    coordinates: tuple[Coordinate, ...] = ()
    """Coordinates without their axis's name; each belongs to the first axis that has it."""
    without: dict[Name, tuple[Coordinate, ...]] = Field(default_factory=dict)
    """Coordinates that are left out, by axis: `{method: [ours]}` for all other methods."""
    over: dict[Name, Reduction] = Field(default_factory=dict)
    """Axes that are reduced, each to one number: `{task: mean, seed: iqm}`."""
    step: ObservedAt = "last"
    """What is read of a series: a training step, or first, last, late, largest or least."""
    passes: Passes | None = None
    """In place of what a series is, when: the training step at which it first passes a level."""
    arm: Name | None = None
    """Another arm, by name, in whose run with the same seed the measurement is read."""


AnyQuantity = Annotated[
    Annotated[Text, Tag("text")] | Annotated[Quantity, Tag("mapping")],
    told_by(str, "text", "mapping"),
]


class Sourced(StrictModel):
    """A number with its own source, or a bound."""

    origin: Provenance | None = Field(default=None, alias="from")
    """Where it comes from: the paper, algebra (`derived`), what a control reaches (`null`), what a
    constructed solution reaches (`ceiling`), or us (`ours`). Left out, it is the check's."""
    why: Text | None = None
    """Of what is ours, and only there: the reason for it, in one line."""


class Number(Sourced):
    """A number with its own source."""

    amount: Plain = Field(alias="is")
    """The number, or a fraction of two integers such as 20/26."""


class Margin(Sourced):
    """A margin with its own source."""

    absolute: Plain | None = None
    """The largest distance that still counts as equal."""
    relative: Plain | None = None
    """The margin as a factor either way: with 0.25 the quantity lies between what it equals over
    1.25 and 1.25 times that."""
    amount: Plain | None = Field(default=None, alias="is")
    """The same as `absolute`, where no factor could be meant."""


AnyNumber = Annotated[
    Annotated[Plain, Tag("number")] | Annotated[Number, Tag("sourced")],
    told_by(dict | StrictModel, "sourced", "number"),
]
AnyMargin = Annotated[
    Annotated[Plain, Tag("number")] | Annotated[Margin, Tag("sourced")],
    told_by(dict | StrictModel, "sourced", "number"),
]


class Bound(Sourced):
    """A bound with its source."""

    at_most: AnyNumber | None = None
    """The largest number that meets it."""
    at_least: AnyNumber | None = None
    """The smallest number that meets it."""
    below: AnyNumber | None = None
    """The number that it must stay below."""
    above: AnyNumber | None = None
    """The number that it must exceed."""


AnyBound = Annotated[
    Annotated[Name, Tag("name")] | Annotated[Bound, Tag("bound")], told_by(str, "name", "bound")
]
"""A bound, or the name of one of the audit's `bounds`."""


def _form_of_target(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, dict):
        return "quantity" if "measurement" in value else "sourced"
    return "number"


Target = Annotated[
    Annotated[float, Tag("number")]
    | Annotated[Text, Tag("text")]
    | Annotated[Number, Tag("sourced")]
    | Annotated[Quantity, Tag("quantity")],
    Discriminator(_form_of_target),
]
"""A number, a fraction, or a quantity of the run."""


def _form_of_exponent(value: Any) -> str:
    if isinstance(value, dict):
        return "sourced" if "is" in value else "bound"
    return "name" if isinstance(value, str) and "/" not in value else "number"


Exponent = Annotated[
    Annotated[Plain, Tag("number")]
    | Annotated[Number, Tag("sourced")]
    | Annotated[Name, Tag("name")]
    | Annotated[Bound, Tag("bound")],
    Discriminator(_form_of_exponent),
]
"""A number, a fraction, or a bound."""


class Role(StrEnum):
    """What a field of a check holds, as far as the short form has another form for it."""

    QUANTITY = "quantity"
    PAIR = "pair of quantities"
    TARGET = "number or quantity"
    BOUND = "bound"
    EXPONENT = "number or bound"
    SIDE = "side of a bound"
    MARGIN = "margin"
    NUMBER = "number with its source"
    PLAIN = "number"
    PART = "part"
    SAME = "same"


def role(field: str, info: FieldInfo) -> Role:
    """Return what a field of a check holds."""
    types = leaves(info.annotation)
    if field in SIDES and float in types:
        return Role.SIDE
    if declarations.Quantity in types:
        if float in types:
            return Role.TARGET
        return Role.PAIR if len(types) > 2 else Role.QUANTITY
    if checks.Bound in types:
        return Role.EXPONENT if float in types else Role.BOUND
    if checks.SourcedNumber in types:
        return Role.MARGIN if field == "within" else Role.NUMBER
    if part_in(info) is not None:
        return Role.PART
    return Role.PLAIN if set(types) <= {float, NoneType} else Role.SAME


def leaves(annotation: Any) -> list[Any]:
    """Return the types that an annotation is made of, one for each time that it stands there."""
    arguments = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return leaves(arguments[0])
    if not arguments or get_origin(annotation) is Literal:
        return [annotation]
    return [leaf for argument in arguments for leaf in leaves(argument)]


def part_in(info: FieldInfo) -> type[StrictModel] | None:
    """Return the model of a part of a check that a field holds, if it holds one."""
    types = (leaf for leaf in leaves(info.annotation) if isinstance(leaf, type))
    return next((leaf for leaf in types if issubclass(leaf, StrictModel)), None)


_FORMS: dict[Role, Any] = {
    Role.QUANTITY: AnyQuantity,
    Role.PAIR: tuple[AnyQuantity, AnyQuantity],
    Role.TARGET: Target,
    Role.BOUND: AnyBound,
    Role.EXPONENT: Exponent,
    Role.SIDE: AnyNumber,
    Role.MARGIN: AnyMargin,
    Role.NUMBER: AnyNumber,
    Role.PLAIN: Plain,
}


def _optional(form: Any, description: str, **more: Any) -> tuple[Any, Any]:
    """A field that may be left out, as `create_model` takes it."""
    return form | None, Field(default=None, description=description, **more)


_COMPARED: dict[str, Any] = {
    "value": _optional(AnyQuantity, "The claim's own quantity, in place of both."),
    "arm": _optional(Name, "The arm in which `value` is claimed to be worse."),
    "higher": _optional(bool, "Whether a higher `value` is better; needed with `arm`."),
}

_SOURCE: dict[str, Any] = {
    "origin": _optional(
        Provenance,
        "Where its numbers come from that say nothing of it themselves: paper, derived (algebra), "
        "null (what a control reaches), ceiling (what a constructed solution reaches), or ours.",
        alias="from",
    ),
    "why": _optional(Text, "Of what is ours, and only there: the reason for it."),
}

_NAMED = {"bound": _optional(Name, "The bound, by its name under the audit's `bounds`.")}

Places = Annotated[
    Annotated[Coordinate, Tag("coordinate")]
    | Annotated[tuple[Coordinate, ...], Field(min_length=1), Tag("list")],
    told_by(list | tuple, "list", "coordinate"),
]
"""A coordinate, or several: the check is then made at each."""

WHERE: Any = Field(
    default_factory=dict,
    description="Coordinates at which every quantity of the check is read, by axis; of a list, one "
    "check for each: {depth: [2, 3, 4]}.",
)


def short_model(model: type[StrictModel]) -> type[StrictModel]:
    """Return the short form of a kind, or of a part of its checks."""
    fields: dict[str, Any] = {}
    names = model.model_fields
    for field, info in names.items():
        if field == "at":
            fields["where"] = (dict[Name, Places], WHERE)
        elif field not in ("origin", "why") and not (field == "relative" and "within" in names):
            fields[field] = _short_field(field, info, optional={"lower", "upper"} <= names.keys())
    if issubclass(model, Kind) or "origin" in names:
        fields |= _SOURCE
    if "at_most" in names:
        fields |= _NAMED
    if {"lower", "upper"} <= names.keys():
        fields |= _COMPARED
    made = create_model(model.__name__, __base__=StrictModel, __doc__=model.__doc__, **fields)
    made.__described_by__ = model  # type: ignore[attr-defined]
    return made


def _short_field(field: str, info: FieldInfo, *, optional: bool) -> Any:
    """Return the annotation of a field in the short form, and what the field is."""
    which = role(field, info)
    if which is Role.SAME:
        whole = Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
        return whole, info
    part = part_in(info)
    form = short_model(part) if which is Role.PART and part is not None else _FORMS[which]
    if optional or not info.is_required():
        return Union[form, None], Field(default=None)  # noqa: UP007
    return form, Field()


@cache
def short_kind(name: str) -> type[StrictModel]:
    """Return the short form of the kind of this name."""
    return short_model(KINDS[name])


AnyCheck = Annotated[Any, ByKind(KINDS, short_kind)]
