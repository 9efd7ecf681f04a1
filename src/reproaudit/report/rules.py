"""What a claim asks of a run and what its arms are, in words, before anything has run."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from pydantic import BaseModel

from reproaudit.audit.model import Audit, Claim
from reproaudit.checks import Kind, Names, read_noun
from reproaudit.declarations import Quantity
from reproaudit.report.numbers import at_words, listed, stated
from reproaudit.report.words import Namer


class ArmRow(NamedTuple):
    """An arm of a claim."""

    name: str
    """The arm's name in the audit."""
    role: str
    """Control, positive control, or without what of an ablation."""
    words: str
    """What pages call it."""
    about: str
    """What it lacks, or how it is built."""


def arm_rows(audit: Audit, claim: Claim) -> Iterator[ArmRow]:
    """Yield the arms of a claim: controls first, then the positive control and ablations."""
    found = [("control", one) for one in claim.nulls]
    found += [("positive control", one) for one in (claim.constructed,) if one is not None]
    found += [(f"without {one.lacks}", one.arm) for one in claim.ablations]
    for role, one in found:
        arm = audit.arms[one] if isinstance(one, str) else one
        name = one if isinstance(one, str) else one.name
        yield ArmRow(name, role, arm.words or Namer(audit).arm(name), arm.why)


_UNSAID = frozenset({"kind", "origin", "why", "standard", "log"})
"""Fields of a check, or of a bound, that have words of their own or none."""

_PROVENANCE = {
    "paper": "from the paper",
    "derived": "derived",
    "null": "what the control reaches",
    "ceiling": "what the positive control reaches",
    "ours": "our number",
}


def check_words(audit: Audit, claim: Claim, check: Kind) -> str:
    """Return what a check of a claim asks of a run: its kind in words, and each of its fields."""
    namer = Namer(audit)
    names = Names(partial(namer.noun, claim.experiment), namer.arm, at_words)
    phenomenon = (type(check).__doc__ or check.name).splitlines()[0].rstrip(".")
    by_mean = ["decided on the mean of the runs"] if check.by_mean else []
    text = "; ".join([*_fields(check, names), *by_mean])
    return f"{phenomenon}. {text[:1].upper()}{text[1:]}."


def _fields(model: BaseModel, names: Names) -> Iterator[str]:
    """Each field that is stated: what is read, then numbers, then where they come from."""
    said = [
        (name.replace("_", " "), getattr(model, name))
        for name, field in type(model).model_fields.items()
        if name not in _UNSAID
        and getattr(model, name) != field.get_default(call_default_factory=True)
    ]
    for label, value in sorted(said, key=lambda one: isinstance(one[1], int | float)):
        is_named = isinstance(value, int | float | BaseModel) and not isinstance(value, Quantity)
        yield f"{label}{'' if is_named else ':'} {_value(value, names)}".rstrip()
    origin = getattr(model, "origin", None)
    if origin is not None:
        why = getattr(model, "why", None)
        yield f"{_PROVENANCE[origin.value]}: {why}" if why else _PROVENANCE[origin.value]


def _value(value: Any, names: Names) -> str:
    if isinstance(value, Quantity):
        return _quantity(value, names)
    if isinstance(value, BaseModel):
        return f"({', '.join(_fields(value, names))})"
    if isinstance(value, bool):
        return "" if value else "no"
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, int | float):
        return stated(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(one, names)}" for name, one in value.items())
    if isinstance(value, tuple):
        return listed([_value(one, names) for one in value])
    return str(value).replace("_", " ")


def _quantity(quantity: Quantity, names: Names) -> str:
    """A quantity with its coordinates, its arm, and whether it is read before training."""
    where = [names.coordinate(one) for one in (*quantity.at.values(), *quantity.coordinates)]
    parts = [
        read_noun(quantity, names),
        f"at {', '.join(where)}" if where else "",
        "before training" if quantity.step == "first" else "",
        f'of the arm "{names.arm(quantity.arm)}"' if quantity.arm is not None else "",
    ]
    return " ".join(filter(None, parts))
