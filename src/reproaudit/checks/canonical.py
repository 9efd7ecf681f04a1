"""The canonical form of what decides: a table that is frozen, apart from Python's names.

The rules of claims, the seeds and the log of results follow from it. Each entry has a frozen name,
the attribute that holds the value in Python today, and the value at which the entry is left out. No
entry is ever changed or removed: where Python renames an attribute, only `attribute` follows.

A new field that decides joins under a new frozen name with its default as `unless`, so that audits
without it keep their seeds; a field that only informs is named in `informs`. Where a number may
also be written with its own source, the model for that brings a `canonical` that gives the number
alone, and the table stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

ALWAYS = object()
"""What `unless` has where an entry is never left out."""


@dataclass(frozen=True)
class Part:
    """One entry of a form.

    Attributes:
        attribute: what Python calls it today.
        form: the form of the models that it holds; left out, numbers, text, and models that bring a
            form of their own as `canonical`.
        unless: the plain value at which the entry is left out: a default, which is frozen, too.
    """

    attribute: str
    form: CanonicalForm | None = None
    unless: object = ALWAYS


@dataclass(frozen=True)
class CanonicalForm:
    """The canonical form of a model.

    Attributes:
        parts: by their frozen names. Bounds are digested in this order.
        informs: the other attributes, which decide nothing: prose, places, provenance, notes.
    """

    parts: Mapping[str, Part]
    informs: Collection[str] = ()

    def __or__(self, other: CanonicalForm) -> CanonicalForm:
        """Return the form of a model that has the fields of both."""
        return CanonicalForm({**self.parts, **other.parts}, {*self.informs, *other.informs})

    def of(self, model: Any) -> Any:
        """Return plain data of what decides in a model."""
        entries = {k: plain(getattr(model, p.attribute), p.form) for k, p in self.parts.items()}
        return {key: value for key, value in entries.items() if value != self.parts[key].unless}


class NumberAlone(CanonicalForm):
    """The form of a number with its own source: the number, as if it were written alone."""

    def of(self, model: Any) -> Any:
        """Return the number."""
        (number,) = super().of(model).values()
        return number


def plain(value: Any, form: CanonicalForm | None = None) -> Any:
    """Return the plain data of a value, and of all models in it, which have this form.

    Names that an author chose, as of a setting, are never left out.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple):
        return [plain(entry, form) for entry in value]
    if isinstance(value, Mapping):
        return {name: plain(entry, form) for name, entry in value.items()}
    return (form or value.canonical).of(value)


# --- what every check is made of ----------------------------------------------------------------

PASSES = CanonicalForm({"level": Part("level")})

QUANTITY = CanonicalForm(
    {
        "measurement": Part("measurement"),
        "at": Part("at", unless={}),
        "coordinates": Part("coordinates", unless=[]),
        "step": Part("step", unless="last"),
        "arm": Part("arm", unless=None),
        "without": Part("without", unless={}),
        "over": Part("over", unless={}),
        "passes": Part("passes", PASSES, unless=None),
    }
)

SOURCED = CanonicalForm({}, informs={"origin", "why"})

NUMBER = NumberAlone({"is": Part("amount")}, informs={"origin", "why"})

BOUND = SOURCED | CanonicalForm(
    {
        "at_most": Part("at_most", unless=None),
        "at_least": Part("at_least", unless=None),
        "below": Part("below", unless=None),
        "above": Part("above", unless=None),
    }
)

KIND = SOURCED | CanonicalForm(
    {
        "kind": Part("kind"),
        "at": Part("at", unless={}),
        "standard": Part("standard", unless=None),
        "log": Part("log", unless=None),
        "in_share": Part("in_share", unless=None),
    },
    informs={"stands_for"},
)
"""The entries of every kind; a kind's module adds its own."""

ONE_BOUND = KIND | BOUND
