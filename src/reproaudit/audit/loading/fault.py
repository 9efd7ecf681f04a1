"""A fault of an audit file: its place, its message, its remedy and the rule that it breaks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from reproaudit.audit.rules.table import RULES, Loc, Severity


class Place(NamedTuple):
    """A place in a file, counted from 1 as editors do."""

    line: int
    column: int


START = Place(1, 1)
"""The first character of a file."""

MOST_FAULTS = 1_000
"""Faults of one file that are listed; further ones are counted."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault; its text is a line: ``file:line:column: path: found …; expected …. Remedy [id]``.

    Attributes:
        file: the file, as it was named.
        place: line and column.
        loc: the place in the audit, from the top down; empty for the whole file.
        message: the text that says what was found, and what was expected.
        remedy: the text that says what to do.
        rule: the id of the rule.
    """

    file: str
    place: Place
    loc: Loc
    message: str
    remedy: str
    rule: str

    @property
    def severity(self) -> Severity:
        """An error if the audit cannot be used, else a warning."""
        return RULES[self.rule].severity

    @property
    def path(self) -> str:
        """The place in the audit as a reviewer reads it: ``claims[0].headline[1].within``."""
        parts = [f"[{p}]" if isinstance(p, int) else f".{_brief(p)}" for p in self.loc]
        return "".join(parts).removeprefix(".")

    def __str__(self) -> str:
        where = f"{self.file}:{self.place.line}:{self.place.column}"
        mark = "warning: " if self.severity is Severity.WARNING else ""
        path = f"{self.path}: " if self.loc else ""
        end = "" if self.message.endswith((".", "?", "!")) else "."
        return f"{where}: {mark}{path}{self.message}{end} {self.remedy} [{self.rule}]"


class Faults:
    """The faults of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._kept: list[Fault] = []

    def add(self, place: Place, loc: Loc, rule: str, message: str, remedy: str = "") -> None:
        """Keep a fault; without a remedy it has that of its rule."""
        remedy = remedy or RULES[rule].remedy
        self._kept.append(Fault(self.file, place, loc, message, remedy, rule))

    @property
    def refuse(self) -> bool:
        """Whether there is an error."""
        return has_errors(self._kept)

    @property
    def locs(self) -> frozenset[Loc]:
        """The places that have a fault."""
        return frozenset(one.loc for one in self._kept)

    def in_order(self) -> list[Fault]:
        """Return the faults by place; of too many the errors first, and then a count."""
        found = sorted(dict.fromkeys(self._kept), key=lambda one: one.severity is Severity.WARNING)
        listed = in_order(found[:MOST_FAULTS])
        if unlisted := len(found) - len(listed):
            message = f"found {unlisted} further faults; listed are {len(listed)}"
            listed.append(Fault(self.file, START, (), message, RULES["RA017"].remedy, "RA017"))
        return listed


def in_order(faults: Iterable[Fault]) -> list[Fault]:
    """Return faults by place, each once."""
    return sorted(dict.fromkeys(faults), key=lambda f: (f.place, f.rule, f.message))


def has_errors(faults: Iterable[Fault]) -> bool:
    """Tell whether one of the faults refuses the audit."""
    return any(fault.severity is Severity.ERROR for fault in faults)


def _brief(text: str) -> str:
    shown = text if text.isprintable() else repr(text)[1:-1]
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
