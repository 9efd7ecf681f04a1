"""The rule of one check, in words that need neither YAML nor the code."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reproaudit.audit.field_docs import description
from reproaudit.audit.model import Audit, Claim
from reproaudit.checks.aligns import Aligns
from reproaudit.checks.failure_rate import FailureRate
from reproaudit.checks.kind import Condition, Kind, confidence_on
from reproaudit.checks.matches import Matches
from reproaudit.checks.ordered_onsets import OrderedOnsets
from reproaudit.checks.quantities import Quantity
from reproaudit.checks.reaches import Reaches
from reproaudit.checks.separates import Separates
from reproaudit.declarations import Declaration
from reproaudit.desk.bound_picture import BoundPicture, bound_words, draw_bound
from reproaudit.reports.numbers import value_words
from reproaudit.reports.phrasing import upper_first

_LEANS_ON_ANOTHER = re.compile(r"(The same|As the)\b")
"""The start of a meaning that is told by the one listed before it."""

_SHOWN_ELSEWHERE = frozenset({"kind", "name", "reason", "over", "each"})


@dataclass(frozen=True)
class CheckView:
    """One check in words.

    Attributes:
        name: the part of the claim that it decides.
        phenomenon: what its kind looks for, one sentence.
        rules: when it is met, a sentence for each condition, with a picture unless the condition
            is a plain yes or no.
        measured: each measurement that it reads: what it is called here, what it means, and the
            names and meanings of those listed before it that its meaning leans on.
        terms: each further term of the rule: its meaning and its value.
        ablation: the name of the control that must miss it; None where the claim names none.
        reason: why the tolerance is what it is.
    """

    name: str
    phenomenon: str
    rules: Sequence[tuple[str, BoundPicture | None]]
    measured: Sequence[tuple[str, str, Sequence[tuple[str, str]]]]
    terms: Sequence[tuple[str, str]]
    ablation: str | None
    reason: str


def check_view(audit: Audit, claim: Claim, check: Kind) -> CheckView:
    """A check of a claim in words."""
    return CheckView(
        name=check.name,
        phenomenon=(inspect.getdoc(type(check)) or "").split("\n\n")[0].replace("\n", " "),
        rules=[
            (
                _rule(one, check, audit.confidence),
                None if _is_yes_or_no(one, check) else draw_bound(one.accepted, one.counted),
            )
            for one in check.conditions()
        ],
        measured=list(_measured(audit, claim, check)),
        terms=list(_terms(check)),
        ablation=check.ablation,
        reason=check.reason,
    )


def _rule(condition: Condition, check: Kind, confidence: float) -> str:
    """When one condition of a check is met."""
    label = condition.label.removeprefix(f"{check.name}: ")
    if _is_yes_or_no(condition, check):
        return f"{upper_first(label)}, on every single seed."
    level = 100 * confidence_on(condition.scale, confidence)
    bound = bound_words(condition.accepted)
    spread = f"the whole {level:g} % interval over the seeds has to lie there"
    if condition.counted:
        spread = "on every single seed"
    elif isinstance(check, FailureRate):
        spread = f"the whole exact {100 * confidence:g} % interval of the share has to lie there"
    each = ""
    if check.each is not None:
        among = "" if check.among is None else f" among {value_words(check.among)}"
        each = f", for each {check.each}{among}"
    number = _number_words(check) or label
    said = f"{number} is {bound}{each}; {spread}."
    if condition.kindest is not None:
        said += (
            " The number depends on how it is defined: the rule is met if it holds by the least "
            "favourable reading, and missed only if it is missed by the most favourable one, too."
        )
    return said


def _is_yes_or_no(condition: Condition, check: Kind) -> bool:
    """True if a condition's number only says whether something happened in a run."""
    return isinstance(check, OrderedOnsets) and condition.name == "come"


def _number_words(check: Kind) -> str:
    """The number that is held against the bound; empty where the condition's own label says it."""
    if isinstance(check, Separates):
        over, under = check.upper, check.lower
    elif isinstance(check, Reaches) and check.relative_to is not None:
        over, under = check.quantity, check.relative_to
    elif isinstance(check, Matches) and check.reference is not None:
        over, under = check.quantity, check.reference
    elif isinstance(check, Aligns | Matches | Reaches):
        return _quantity(check.quantities()[0])
    else:
        return ""
    sign = "divided by" if check.scale == "log" else "minus"
    return f"{_quantity(over)}, {sign} {_quantity(under)},"


def _measured(
    audit: Audit, claim: Claim, check: Kind
) -> Iterator[tuple[str, str, Sequence[tuple[str, str]]]]:
    for quantity in check.quantities():
        name = quantity.measurement
        declared = audit.declaration(claim.experiment, name)
        own = audit.experiments[claim.experiment].measurements
        listed = own if name in own else audit.measurements
        meaning = declared.meaning if declared is not None else ""
        yield _quantity(quantity), meaning, _leant_on(listed, name)


def _leant_on(listed: Mapping[str, Declaration], name: str) -> Sequence[tuple[str, str]]:
    """Names and meanings back to the first that stands alone, which comes first."""
    names = list(listed)
    found: list[tuple[str, str]] = []
    at = names.index(name) if name in listed else 0
    while at and _LEANS_ON_ANOTHER.match(listed[names[at]].meaning):
        at -= 1
        found.append((names[at], listed[names[at]].meaning))
    return found[::-1]


def _terms(check: Kind) -> Iterator[tuple[str, str]]:
    for name in type(check).model_fields:
        value = getattr(check, name)
        if name in _SHOWN_ELSEWHERE or value is None or value == {} or value == ():
            continue
        meaning = description(type(check), name) or name
        yield meaning.removesuffix("."), _value(value)


def _value(value: Any) -> str:
    return _quantity(value) if isinstance(value, Quantity) else value_words(value)


def _quantity(quantity: Quantity) -> str:
    at = ", ".join(f"{axis} {value_words(one)}" for axis, one in quantity.at.items())
    start = " before training" if quantity.step == "first" else ""
    return quantity.measurement + (f" at {at}" if at else "") + start
