"""The checks of the short form: each kind's fields under their short names.

A kind of the short form is made from the kind itself, so that a new kind has a short form as well.
What differs: coordinates are `where`, every number may have a source of its own, a bound may be
the name of one of the audit's `bounds`, and the source of a check is that of all its numbers that
have none of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Union, get_args

from pydantic import Discriminator, Field, Tag, create_model
from pydantic.fields import FieldInfo

from reproaudit.checks import Check, Kind
from reproaudit.checks.kind import Provenance
from reproaudit.declarations import (
    Coordinate,
    Name,
    ObservedAt,
    OneComplaint,
    Passes,
    Reduction,
    StrictModel,
)

Text = Annotated[str, Field(min_length=1)]

Fraction = Annotated[str, Field(pattern=r"^-?[0-9]{1,15}/[1-9][0-9]{0,14}$")]
"""Two integers as 20/26."""

Plain = Annotated[
    float | Fraction, OneComplaint("a number, or a fraction of two integers such as 20/26")
]

SIDES = ("at_most", "at_least", "below", "above")
"""The sides of a bound."""


# --- quantities -----------------------------------------------------------------------------------


class Quantity(StrictModel):
    """A measurement of a run at some coordinates; mostly a text, as in loss[query]@first."""

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


def _form_of_quantity(value: Any) -> str:
    return "text" if isinstance(value, str) else "mapping"


AnyQuantity = Annotated[
    Annotated[Text, Tag("text")] | Annotated[Quantity, Tag("mapping")],
    Discriminator(_form_of_quantity),
]


# --- numbers and bounds ---------------------------------------------------------------------------


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


def _form_of_number(value: Any) -> str:
    return "sourced" if isinstance(value, dict | StrictModel) else "number"


AnyNumber = Annotated[
    Annotated[Plain, Tag("number")] | Annotated[Number, Tag("sourced")],
    Discriminator(_form_of_number),
]
AnyMargin = Annotated[
    Annotated[Plain, Tag("number")] | Annotated[Margin, Tag("sourced")],
    Discriminator(_form_of_number),
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


def _form_of_bound(value: Any) -> str:
    return "name" if isinstance(value, str) else "bound"


AnyBound = Annotated[
    Annotated[Name, Tag("name")] | Annotated[Bound, Tag("bound")], Discriminator(_form_of_bound)
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
    return "name" if isinstance(value, str) and "/" not in value else _form_of_number(value)


Exponent = Annotated[
    Annotated[Plain, Tag("number")]
    | Annotated[Number, Tag("sourced")]
    | Annotated[Name, Tag("name")]
    | Annotated[Bound, Tag("bound")],
    Discriminator(_form_of_exponent),
]
"""A number, a fraction, or a bound."""


# --- parts of checks ------------------------------------------------------------------------------


class Onset(StrictModel):
    """The change of one series, and where it sets in."""

    series: AnyQuantity
    """A series of one number, which cannot cancel: of the worst head, or a norm."""
    crosses: Plain | None = None
    """The fixed level whose crossing is the onset; left out, it is half of a change that
    saturates."""
    least: Plain = 0.25
    """The smallest change that counts, in the series' units."""


class Quantile(Bound):
    """A bound on the distance that holds for a share of the training that is compared."""

    share: Plain
    """The share: 0.9 for nine tenths of the time."""
    bound: Name | None = None
    """The bound, by its name."""


QUANTITIES = (
    *("distance", "cosine", "lower", "upper", "value", "loss", "rate"),
    *("series", "reference", "relative_to", "grown_from", "start_value"),
)
"""The fields of checks that hold a quantity."""
PAIRS = ("ranks", "between")
"""The fields of checks that hold two quantities."""
BOUNDS = ("falls", "flattens", "ends", "growth", "start", "end", "order", "bend")
"""The fields of checks that hold a bound."""

_ANNOTATIONS: dict[str, Any] = {
    **dict.fromkeys(QUANTITIES, AnyQuantity),
    **dict.fromkeys(PAIRS, tuple[AnyQuantity, AnyQuantity]),
    **dict.fromkeys(BOUNDS, AnyBound),
    **dict.fromkeys(SIDES, AnyNumber),
    **dict.fromkeys(("earlier", "later"), Onset),
    "quantile": Quantile,
    "within": AnyMargin,
    "by": AnyNumber,
}

_BY_KIND: dict[tuple[str, str], Any] = {
    ("concentrates", "share"): AnyQuantity,
    ("equals", "to"): Target,
    ("scales_like", "exponent"): Exponent,
}

_MORE: dict[str, dict[str, Any]] = {
    "beats": {
        "value": (
            AnyQuantity | None,
            Field(default=None, description="The claim's own quantity, in place of both."),
        ),
        "arm": (
            Name | None,
            Field(default=None, description="The arm in which `value` is claimed to be worse."),
        ),
        "higher": (
            bool,
            Field(default=False, description="Whether a higher `value` is better; else a lower."),
        ),
    },
}

WHERE: Any = Field(
    default_factory=dict,
    description="Coordinates at which every quantity of the check is read, by axis.",
)


def _short_kind(kind: type[Kind]) -> type[StrictModel]:
    """Return the model of a kind in the short form."""
    (name,) = get_args(kind.model_fields["kind"].annotation)
    fields: dict[str, Any] = {"where": (dict[Name, Coordinate], WHERE)}
    for field, info in kind.model_fields.items():
        if (name, field) in LEFT_OUT or field == "at":
            continue
        fields[field] = _short_field(name, field, info)
    fields["origin"] = (Provenance | None, Sourced.model_fields["origin"])
    fields["why"] = (Text | None, Sourced.model_fields["why"])
    if "at_most" in fields:
        text = "The bound, by the name that it has under the audit's `bounds`."
        fields["bound"] = (Name | None, Field(default=None, description=text))
    fields.update(_MORE.get(name, {}))
    return create_model(kind.__name__, __base__=StrictModel, __doc__=kind.__doc__, **fields)


LEFT_OUT = frozenset({("equals", "relative")})
"""Fields of a kind that the short form says elsewhere: a margin is `{relative: 0.05}`."""


def _short_field(kind: str, field: str, info: FieldInfo) -> Any:
    """Return the annotation of a field in the short form, and what the field is."""
    annotation = _BY_KIND.get((kind, field)) or _ANNOTATIONS.get(field)
    if (kind, field) == ("follows", "share") or annotation is None:
        whole = Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
        return whole, info
    optional = not info.is_required() or kind == "beats"
    text = " ".join((info.description or "").split())
    if optional:
        return Union[annotation, None], Field(default=None, description=text)  # noqa: UP007
    return annotation, Field(description=text)


KINDS: tuple[type[StrictModel], ...] = tuple(map(_short_kind, get_args(get_args(Check)[0])))

if TYPE_CHECKING:
    AnyCheck = Any
else:
    AnyCheck = Annotated[Union[KINDS], Field(discriminator="kind")]  # noqa: UP007
