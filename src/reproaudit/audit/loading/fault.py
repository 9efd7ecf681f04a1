"""A fault of an audit file: its place, its message, its remedy and the rule that it breaks."""

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

MOST_FAULTS = 1_000
"""Faults of one file that are listed; the others are counted."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: its place, what was found and expected, what to do, and the rule that it breaks.

    Its text is one line: ``file:line:column: path: found …; expected …. Remedy [RA012]``.
    """

    file: str
    """The file, as it was named."""
    place: Place
    """Line and column."""
    loc: Loc
    """The place in the audit, from the top down; empty for the whole file."""
    message: str
    """The text that says what was found, and what was expected."""
    remedy: str
    """The text that says what to do."""
    rule: str
    """The id of the rule."""

    @property
    def severity(self) -> Severity:
        """An error if the audit cannot be used, else a warning."""
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


def in_order(faults: Iterable[Fault], unlisted: int = 0) -> list[Fault]:
    """The faults by place, each once; if there are too many, the errors first and then a count.

    Args:
        faults: the faults of one file.
        unlisted: the number of further faults, which were counted only.
    """
    kept = list(dict.fromkeys(faults))
    kept.sort(key=lambda f: (f.severity is not Severity.ERROR, f.place, f.rule, f.message))
    unlisted += max(0, len(kept) - MOST_FAULTS)
    kept = sorted(kept[:MOST_FAULTS], key=lambda f: (f.place, f.rule, f.message))
    if unlisted:
        message = f"found {unlisted} further faults; listed are {len(kept)}"
        kept.append(Fault(kept[0].file, START, (), message, RULES["RA017"].remedy, "RA017"))
    return kept


def has_errors(faults: Iterable[Fault]) -> bool:
    """True if one of the faults refuses the audit."""
    return any(fault.severity is Severity.ERROR for fault in faults)


def _brief(text: str) -> str:
    shown = text if text.isprintable() else repr(text)[1:-1]
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
