"""The canonical form of what decides: frozen, apart from Python's names.

The rules of claims, the seeds and the log of results follow from it. A model brings its form as
`canonical`: each entry has a frozen name, the attribute that holds the value in Python today, and
the value at which the entry is left out. No entry is ever changed or removed: where Python renames
an attribute, only the attribute follows.

A new field that decides joins under a new frozen name with its default, at which it is left out, so
that audits without it keep their seeds; a field that only informs is named in `informs`. Where a
number may also be written with its own source, the form of that is the number alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from reproaudit.declarations import Passes, Quantity

ALWAYS = object()  # What `unless` has where an entry is never left out


@dataclass(frozen=True)
class Part:
    """One entry of a form.

    Attributes:
        attribute: what Python calls it today.
        unless: the plain value at which the entry is left out: a default, which is frozen, too.
    """

    attribute: str
    unless: object = ALWAYS


@dataclass(frozen=True)
class CanonicalForm:
    """The canonical form of a model.

    Attributes:
        parts: by their frozen names. Bounds are digested in this order.
        informs: the other attributes, which decide nothing: prose, places, provenance, notes.
        alone: whether it has one part, which enters as if it were written alone.
    """

    parts: Mapping[str, Part]
    informs: Collection[str] = ()
    alone: bool = False

    def __or__(self, other: CanonicalForm) -> CanonicalForm:
        """Return the form of a model that has the fields of both."""
        return CanonicalForm({**self.parts, **other.parts}, {*self.informs, *other.informs})

    def of(self, model: Any) -> Any:
        """Return plain data of what decides in a model."""
        entries = {key: plain(getattr(model, part.attribute)) for key, part in self.parts.items()}
        if self.alone:
            return next(iter(entries.values()))
        return {key: value for key, value in entries.items() if value != self.parts[key].unless}


def form(entries: str, informs: str = "", *, alone: bool = False) -> CanonicalForm:
    """Return a form by the words of its entries: its frozen name, or ``name@attribute``.

    With ``=JSON`` an entry is left out at this value.
    """
    parts: dict[str, Part] = {}
    for entry in entries.split():
        names, _, unless = entry.partition("=")
        name, _, attribute = names.partition("@")
        parts[name] = Part(attribute or name, json.loads(unless) if unless else ALWAYS)
    return CanonicalForm(parts, frozenset(informs.split()), alone)


def plain(value: Any) -> Any:
    """Return the plain data of a value, and of all models in it.

    Names that an author chose, as of a setting, are never left out.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {name: plain(entry) for name, entry in value.items()}
    return (OF_READ.get(type(value)) or value.canonical).of(value)


OF_READ: Mapping[type, CanonicalForm] = {
    Passes: form("level"),
    Quantity: form(
        'measurement at={} coordinates=[] step="last" arm=null without={} over={} passes=null'
    ),
}
"""The forms of the models that are read, which know no check."""

SOURCED = form("", "origin why")
NUMBER = form("is@amount", "origin why", alone=True)
BOUND = SOURCED | form("at_most=null at_least=null below=null above=null")
KIND = SOURCED | form("kind at={} standard=null log=null in_share=null", "stands_for")
"""The entries of every kind; a kind's module adds its own."""
ONE_BOUND = KIND | BOUND
