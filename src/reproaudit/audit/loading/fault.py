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
        """The place in the audit as a reviewer reads it: ``claims[0].headline[1].within``."""
        parts = [f"[{p}]" if isinstance(p, int) else f".{_brief(p)}" for p in self.loc]
        return "".join(parts).removeprefix(".")

    def __str__(self) -> str:
        """The whole fault on one line."""
        where = f"{self.file}:{self.place.line}:{self.place.column}"
        mark = "warning: " if self.severity is Severity.WARNING else ""
        path = f"{self.path}: " if self.loc else ""
        end = "" if self.message.endswith((".", "?", "!")) else "."
        return f"{where}: {mark}{path}{self.message}{end} {self.remedy} [{self.rule}]"


class Faults:
    """The faults of one file: the first errors and warnings, and the number of further ones."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._kept: dict[Severity, dict[Fault, None]] = {one: {} for one in Severity}
        self._unlisted = 0

    def add(self, place: Place, loc: Loc, rule: str, message: str, remedy: str = "") -> None:
        """Keep a fault; without a remedy it has that of its rule."""
        kept = self._kept[RULES[rule].severity]
        if len(kept) >= MOST_FAULTS:
            self._unlisted += 1
            return
        remedy = remedy or RULES[rule].remedy
        kept[Fault(self.file, place, loc, message, remedy, rule)] = None

    def count(self, further: int) -> None:
        """Count faults that nobody keeps."""
        self._unlisted += further

    @property
    def refuse(self) -> bool:
        """Whether there is an error."""
        return bool(self._kept[Severity.ERROR])

    @property
    def locs(self) -> frozenset[Loc]:
        """The places that have a fault."""
        return frozenset(one.loc for kept in self._kept.values() for one in kept)

    def in_order(self) -> list[Fault]:
        """Return the faults by place; of too many the errors first, and then a count."""
        found = [*self._kept[Severity.ERROR], *self._kept[Severity.WARNING]]
        unlisted = self._unlisted + max(0, len(found) - MOST_FAULTS)
        listed = in_order(found[:MOST_FAULTS])
        if unlisted:
            message = f"found {unlisted} further faults; listed are {len(listed)}"
            remedy = RULES["RA017"].remedy
            listed.append(Fault(self.file, START, (), message, remedy, "RA017"))
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
