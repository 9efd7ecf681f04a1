"""The form of a rule: a permanent id, its reason and remedy, and how to find where it is broken."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

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
        about: the name that is unknown.
        known: the names of which one was expected instead of `about`.
        at_key: whether the field's name is at fault, and not its value.
    """

    loc: Loc
    message: str
    remedy: str = ""
    about: str | None = None
    known: Collection[str] = ()
    at_key: bool = False


@dataclass(frozen=True)
class Rule:
    """A rule of audits. Its id never changes its meaning and is never given to another rule.

    Attributes:
        id: ``RA`` and three digits; RA0.. is about one value of the file, others about several.
        severity: error or warning.
        why: the reason for the rule.
        remedy: what to do where it is broken.
        find: yields the places where an audit breaks the rule; None if that shows elsewhere.
    """

    id: str
    severity: Severity
    why: str
    remedy: str
    find: Callable[[Audit], Iterable[Violation]] | None = None


_F = TypeVar("_F", bound=Callable[[Audit], Iterable[Violation]])

DEFINED_RULES: dict[str, Rule] = {}
"""Every rule that is defined, by its id."""


def define(
    rule_id: str,
    why: str,
    remedy: str,
    severity: Severity = Severity.ERROR,
    find: Callable[[Audit], Iterable[Violation]] | None = None,
) -> None:
    """Add a rule, whose id no other has."""
    assert rule_id not in DEFINED_RULES, f"{rule_id} is defined twice"
    DEFINED_RULES[rule_id] = Rule(rule_id, severity, why, remedy, find)


def error(rule_id: str, why: str, remedy: str) -> Callable[[_F], _F]:
    """Make a function that finds violations the rule of this id; breaking it is an error."""
    return _defines(rule_id, Severity.ERROR, why, remedy)


def warning(rule_id: str, why: str, remedy: str) -> Callable[[_F], _F]:
    """Make a function that finds violations the rule of this id; breaking it is a warning."""
    return _defines(rule_id, Severity.WARNING, why, remedy)


def _defines(rule_id: str, severity: Severity, why: str, remedy: str) -> Callable[[_F], _F]:
    def defined(find: _F) -> _F:
        define(rule_id, why, remedy, severity, find)
        return find

    return defined
