"""What is wrong with an audit file, and where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from reproaudit.audit.rules import RULES, Loc, Severity


class Place(NamedTuple):
    """A place in a file, counted from 1 as editors do."""

    line: int
    column: int


START = Place(1, 1)
"""The first character of a file."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: where, what was found, what was expected, what to do, and which rule it breaks.

    Its text is one line: ``file:line:column: path: found …; expected …. Remedy [RA012]``.
    """

    file: str
    """The file, as it was named."""
    place: Place
    """Line and column."""
    loc: Loc
    """The place in the audit, from the top down; empty for the whole file."""
    message: str
    """What was found, and what was expected."""
    remedy: str
    """What to do."""
    rule: str
    """The id of the rule, for `reproaudit.audit.rules.explain`."""

    @property
    def severity(self) -> Severity:
        """Whether the audit can be used nevertheless."""
        return RULES[self.rule].severity

    @property
    def path(self) -> str:
        """The place in the audit as a reviewer reads it: ``claims[0].checks[1].reason``."""
        parts = [f"[{p}]" if isinstance(p, int) else f".{_brief(p)}" for p in self.loc]
        return "".join(parts).removeprefix(".")

    def __str__(self) -> str:
        """The whole fault on one line."""
        where = f"{self.file}:{self.place.line}:{self.place.column}"
        mark = "warning: " if self.severity is Severity.WARNING else ""
        path = f"{self.path}: " if self.loc else ""
        end = "" if self.message.endswith((".", "?", "!")) else "."
        return f"{where}: {mark}{path}{self.message}{end} {self.remedy} [{self.rule}]"


def in_order(faults: Iterable[Fault]) -> list[Fault]:
    """The faults by place, each once."""
    return sorted(dict.fromkeys(faults), key=lambda f: (f.place, f.rule, f.message))


def has_errors(faults: Iterable[Fault]) -> bool:
    """Whether one of the faults refuses the audit."""
    return any(fault.severity is Severity.ERROR for fault in faults)


def quoted(value: str, limit: int = 60) -> str:
    """Text as an error message quotes it: on one line, without control characters, cut off."""
    return repr(value if len(value) <= limit else value[: limit - 1] + "…")


def _brief(text: str) -> str:
    shown = text if text.isprintable() else repr(text)[1:-1]
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
