"""The form of a rule: a permanent id, its reason and remedy, and how to find where it is broken."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any, TypeVar

from reproaudit.audit.model import Audit

Loc = tuple[str | int, ...]
"""A place in an audit: field names, names and list positions from the top down."""


class Severity(StrEnum):
    """The consequence of a fault: an error refuses the audit, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Violation:
    """One place where an audit breaks a rule.

    Attributes:
        loc: the place.
        message: the text that says what was found and what was expected.
        remedy: the text that says what to do here; if it is empty, the nearest known name or else
            the rule's own remedy is taken.
        about: the name that is missing or too many. No violation is told of a name that was in a
            part of the file that could not be read.
        known: the names of which one was expected instead of `about`.
        at_key: True if the field's name is at fault, False if its value is.
    """

    loc: Loc
    message: str
    remedy: str = ""
    about: str | None = None
    known: Collection[str] = ()
    at_key: bool = False


_T = TypeVar("_T")

Leaf = tuple[Loc, str | int, _T]
"""A value, after the place of what holds it and the last step to it. The two are joined only where
a rule is broken, since an audit has several hundred texts."""


@dataclass(frozen=True)
class Leaves:
    """Every text and every date of an audit.

    Attributes:
        texts: the texts, without the words of enumerations.
        dates: the dates.
        today: the day against which dates are held.
    """

    texts: Sequence[Leaf[str]]
    dates: Sequence[Leaf[date]]
    today: date


@dataclass(frozen=True)
class Rule:
    """A rule of audits. Its id never changes its meaning and is never given to another rule.

    Attributes:
        id: ``RA`` and three digits; RA0.. is about one node of the file, RA1.. about several.
        severity: error or warning.
        why: the reason for the rule, one sentence.
        remedy: the text that says what to do.
        find: returns where an audit breaks the rule; None if that shows while the file is read.
        reads_leaves: True if `find` takes texts and dates, which are gathered once for all rules.
    """

    id: str
    severity: Severity
    why: str
    remedy: str
    find: Callable[[Any], Iterable[Violation]] | None = None
    reads_leaves: bool = False


_F = TypeVar("_F", bound=Callable[..., Iterable[Violation]])

DEFINED_RULES: dict[str, Rule] = {}
"""Every rule that is defined, by its id."""


def define(rule: Rule) -> None:
    """Add a rule, whose id nobody has yet."""
    assert rule.id not in DEFINED_RULES, f"{rule.id} is defined twice"
    DEFINED_RULES[rule.id] = rule


def error(rule_id: str, why: str, remedy: str) -> Callable[[_F], _F]:
    """Makes a function that finds violations the rule of this id; breaking it is an error."""
    return _defines(rule_id, Severity.ERROR, why, remedy)


def warning(rule_id: str, why: str, remedy: str) -> Callable[[_F], _F]:
    """Makes a function that finds violations the rule of this id; breaking it is a warning."""
    return _defines(rule_id, Severity.WARNING, why, remedy)


def _defines(rule_id: str, severity: Severity, why: str, remedy: str) -> Callable[[_F], _F]:
    def defined(find: _F) -> _F:
        reads_leaves = "leaves" in inspect.signature(find).parameters
        define(Rule(rule_id, severity, why, remedy, find, reads_leaves))
        return find

    return defined


def leaves_of(audit: Audit, today: date) -> Leaves:
    """Every text and date of an audit."""
    texts: list[Leaf[str]] = []
    dates: list[Leaf[date]] = []
    waiting: list[tuple[Loc, Any]] = [((), audit.model_dump(exclude_none=True, by_alias=True))]
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
