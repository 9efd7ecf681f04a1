"""What a rule is: a permanent id, why it exists, what to do about it, and how to find it broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

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
        find_by_date: the same, for a rule that looks at today's date.
    """

    id: str
    severity: Severity
    why: str
    remedy: str
    find: Callable[[Audit], Iterable[Violation]] | None = None
    find_by_date: Callable[[Audit, date], Iterable[Violation]] | None = None

    def violations(self, audit: Audit, today: date) -> Iterable[Violation]:
        """Every place where the audit breaks the rule."""
        if self.find is not None:
            yield from self.find(audit)
        if self.find_by_date is not None:
            yield from self.find_by_date(audit, today)
