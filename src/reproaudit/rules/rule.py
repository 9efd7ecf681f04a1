"""What a rule is: a permanent id, why it exists, what to do about it, and how to find it broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from reproaudit.spec import Audit

Loc = tuple[str | int, ...]
"""Where something stands in an audit: field names, names and positions from the top down."""


class Severity(StrEnum):
    """Whether an audit with the fault can be used."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Violation:
    """One place where an audit breaks a rule.

    Attributes:
        loc: the place.
        message: what was found and what was expected.
        remedy: what to do here; the rule's own remedy if empty.
        about: the name that is missing or too many, so that nobody complains of a missing claim
            when that claim is there but could not be read.
        at_key: whether the place is the field's name rather than its value.
    """

    loc: Loc
    message: str
    remedy: str = ""
    about: str | None = None
    at_key: bool = False


@dataclass(frozen=True)
class Rule:
    """A rule of audits; its id never changes its meaning and is never given to another rule.

    Attributes:
        id: ``RA`` and three digits; RA0.. one node of the file, RA1.. several.
        severity: an error refuses the audit, a warning does not.
        why: one sentence.
        remedy: what to do.
        find: where an audit breaks the rule; None if that shows while the file is read.
        find_in_leaf: what a single text or date breaks, from its place, itself and today's date;
            an audit is walked once for all such rules.
    """

    id: str
    severity: Severity
    why: str
    remedy: str
    find: Callable[[Audit], Iterable[Violation]] | None = None
    find_in_leaf: Callable[[Loc, Any, date], Violation | None] | None = None


def leaves(audit: Audit) -> Iterator[tuple[Loc, Any]]:
    """Every text and date of an audit with its place."""
    waiting: list[tuple[Loc, Any]] = [((), audit.model_dump())]
    while waiting:
        loc, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [((*loc, key), one) for key, one in value.items()]
        elif isinstance(value, tuple):
            waiting += [((*loc, i), one) for i, one in enumerate(value)]
        elif isinstance(value, str | date):
            yield loc, value
