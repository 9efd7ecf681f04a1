"""A claim's rule in full: every number that its parts are judged by, in the words of the audit.

A page shows the condition that decides each part. The others decide as well, and so do a floor and
the share of training that counts: nothing of it is left to the JSON alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reproaudit.reports import numbers
from reproaudit.reports import outline as o
from reproaudit.scorecard.model import AnswerModel, ClaimModel

OF_EVERY_PART = ("confidence", "if_diverged", "trains")
MEANINGS = (
    "What each measurement means stands under ",
    o.Span("Measurements", href="#measurements"),
    " below.",
)
_SHOWN_APART = {"name", "kind"}


def stated_rule(claim: ClaimModel, *, has_meanings: bool) -> o.Fold | None:
    """Returns what decides each part of a claim; None for a scorecard too old to say it.

    Args:
        claim: the claim.
        has_meanings: whether the page says what each measurement is.
    """
    checks = claim.rule.get("checks") or ()
    if not checks:
        return None
    why = {str(check_of(claim, one).get("name")): one.reason for one in claim.parts}
    rows = [
        (name, o.code(str(one.get("kind"))), _fields(one), why.get(name, ""))
        for one in checks
        for name in [str(one.get("name"))]
    ]
    shared = _fields({name: claim.rule.get(name) for name in OF_EVERY_PART})
    blocks = (
        o.Tabular(("Part", "Kind of check", "Judged by", "Why this tolerance"), rows),
        o.Paragraph(f"Of every part: {shared}.", "soft"),
        *([o.Paragraph(MEANINGS, "soft")] if has_meanings else []),
    )
    return o.Fold("The rule in full, as the audit states it", blocks, detail=o.Detail.FULL)


def reads(claim: ClaimModel, part: AnswerModel) -> str:
    """Returns the measurements that a part reads, as ``loss (step first)``; empty of old.

    Where no step stands, it is the last one, or the whole course.
    """
    check = check_of(claim, part)
    read = (
        _value({name: one for name, one in value.items() if (name, one) != ("step", "last")})
        for _, value in sorted(check.items())
        if isinstance(value, Mapping) and "measurement" in value
    )
    return " and ".join(dict.fromkeys(one.removesuffix(" ()") for one in read))


def check_of(claim: ClaimModel, part: AnswerModel) -> Mapping[str, Any]:
    """Returns the check of a part, as the audit states it; empty for a scorecard too old."""
    of_part: list[Mapping[str, Any]] = [
        one
        for one in claim.rule.get("checks") or ()
        if part.name == one["name"] or part.name.startswith(f"{one['name']}, ")
    ]
    return max(of_part, key=lambda one: len(one["name"]), default={})


def _fields(given: Mapping[str, Any]) -> str:
    """Returns the fields that have a value, in the order of their names, as a file has them."""
    said = {name: _value(one) for name, one in sorted(given.items()) if name not in _SHOWN_APART}
    return "; ".join(f"{name}: {value}" for name, value in said.items() if value)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return numbers.stated(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{name} {_value(one)}" for name, one in _read(value))
        return f"{value['measurement']} ({inner})" if "measurement" in value else inner
    if isinstance(value, list | tuple):
        return ", ".join(map(_value, value))
    return "" if value is None else str(value)


def _read(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields where a measurement is read: its coordinates, then the step."""
    yield from sorted(value.get("at", {}).items())
    rest = {name: one for name, one in value.items() if name not in ("measurement", "at")}
    yield from sorted(rest.items())
