"""What a rule is: a permanent id, why it exists, what to do about it, and how to find it broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any, TypeVar

from reproaudit.audit.model import Audit

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


_T = TypeVar("_T")

Leaf = tuple[Loc, str | int, _T]
"""A value, after the place of what holds it and the last step to it. The two are joined only where
a rule is broken, since an audit has several hundred texts."""


@dataclass(frozen=True)
class Leaves:
    """Every text and every date of an audit.

    Attributes:
        texts: the texts, without words that an enumeration lists.
        dates: the dates.
        today: the day against which dates are held.
    """

    texts: Sequence[Leaf[str]]
    dates: Sequence[Leaf[date]]
    today: date


@dataclass(frozen=True)
class Rule:
    """A rule of audits; its id never changes its meaning and is never given to another rule.

    Attributes:
        id: ``RA`` and three digits; RA0.. one node of the file, RA1.. several.
        severity: an error refuses the audit, a warning does not.
        why: one sentence.
        remedy: what to do.
        find: where an audit breaks the rule; None if that shows while the file is read.
        find_in_leaves: which of its texts and dates break the rule, for rules of a single text or
            date; an audit is walked once for all of them.
    """

    id: str
    severity: Severity
    why: str
    remedy: str
    find: Callable[[Audit], Iterable[Violation]] | None = None
    find_in_leaves: Callable[[Leaves], Iterable[Violation]] | None = None


def leaves(audit: Audit, today: date) -> Leaves:
    """Every text and date of an audit."""
    texts: list[Leaf[str]] = []
    dates: list[Leaf[date]] = []
    waiting: list[tuple[Loc, Any]] = [((), audit.model_dump(exclude_none=True))]
    while waiting:
        above, value = waiting.pop()
        for step, below in value.items() if type(value) is dict else enumerate(value):
            kind = type(below)
            if kind is str:
                texts.append((above, step, below))
            elif kind is dict or kind is tuple:
                waiting.append(((*above, step), below))
            elif kind is date:
                dates.append((above, step, below))
    return Leaves(texts, dates, today)
