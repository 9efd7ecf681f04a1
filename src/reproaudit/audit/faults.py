"""Faults of an audit's files, and the rules that they break, each with a permanent id and remedy.

RA001 to RA016 are about the file and its YAML, RA020 about a module that does not fit, RA021 about
a log of results, RA050 to RA059 about what the models refuse, RA081 to RA089 and RA235 about run
files; `reproaudit.audit.rules` finds the others. Ids that are missing here were given before, and
are not given again: a new rule's id is RA245.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from reproaudit.cell import Scalar, SettingValue

Loc = tuple[str | int, ...]
"""A place in an audit: field names, names and list positions from the top down."""

MISFIT = "RA020"
BROKEN_LOG = "RA021"


class Violation(NamedTuple):
    """One place where an audit breaks a rule.

    Attributes:
        remedy: the text that says what to do here; if it is empty, the nearest known name or else
            the rule's own remedy is taken.
        about: the name that is at fault; where it is the last of `loc`, its own place is told.
        known: the names of which one was expected instead of `about`.
        beside: the other place that has a part in it, whose line the message ends with.
    """

    rule: str
    loc: Loc
    message: str
    remedy: str = ""
    about: str = ""
    known: Collection[str] = ()
    beside: Loc = ()


def unknown(
    loc: Loc,
    noun: str,
    name: str,
    known: Collection[str],
    where: str = "of this audit",
    remedy: str = "",
) -> Violation:
    """Return that the name at a place is none of those that are known."""
    message = f"found '{name}', which is no {noun} {where}; expected one"
    return Violation("RA224", loc, message, remedy, name, known)


WARNINGS = frozenset({"RA017", "RA153", "RA173", "RA221", "RA235", "RA242"})
"""The rules that do not refuse an audit."""

_TABLE = """
RA001 Check the path and its permissions; an audit has at most 1 MiB.
RA002 Save the file as UTF-8 and remove the character, so that every editor shows the same.
RA003 Mend the YAML here or on the line above: indent with spaces, close quotes and brackets, quote
  text that holds ': ' or begins with a special character.
RA004 Remove what follows '---': a file holds one audit.
RA005 Start from 'schema_version: 2' and 'paper:'.
RA006 Remove or rename one of the two; YAML lets the second win in silence.
RA007 Write the value out, without &, *, << and !, where it is read; quote the value if it is text.
RA014 Rename the file or change paper.slug: by this name audit and experiments find each other.
RA015 Quote the name: names are text.
RA016 Look for a missing bracket, and keep large data outside the audit.
RA017 Mend the faults that are listed, and check again.
RA020 Mend the audit, or the settings class of the module.
RA021 Put back the file as git has it, or remove the line: the log says how often was judged.
RA050 Rename or remove it.
RA051 Add it.
RA052 Write the expected type: quote what is text, write a list as [a, b], a mapping as {a: b}.
RA053 Change the value.
RA054 Write what is expected.
RA055 Rename it: a name is lower-case words joined by underscores, and a claim's by hyphens or
  underscores; an arXiv identifier has no version, such as 2306.00297.
RA058 Write what belongs here.
RA059 Change it as the message says.
RA081 Name an experiment of the audit beside this file.
RA082 Write its placeholder into the command, or its value under 'fixed' if it is built in.
RA083 Write {seed} or a setting's name; a brace that is meant as such is doubled.
RA084 Correct the value, or pass the setting to the command: the audit says what is run.
RA085 Name a measurement of this experiment.
RA086 Write it as docs/import.md describes it: arithmetic that can be read and never runs.
RA087 Keep the module or the run file, and remove the other.
RA088 Put SLUG.run.yaml beside SLUG.yaml, which must be without errors.
RA089 Mend the file, and pin the commit that has it.
RA104 Write one of these coordinates; what decides is measured at each tier.
RA106 Read a series, which has a beginning and a course, or choose another kind of check.
RA107 Fix a coordinate of either, or declare the same coordinates for both, which pair them.
RA111 Remove the override, or write a value that differs: this arm would answer like the claim.
RA121 Give one of values, setting and size.
RA124 Change the kind or the axes: a scalar is one number.
RA141 Write 1.0 for a decimal number, [1] for a list, quotes for text.
RA153 Finish the text.
RA173 Review what has changed, and sign off again with 'reproaudit review'.
RA211 Write 'main: true' at the claim, or claims, with which the page begins.
RA212 Add to 'nulls' an arm with nothing to learn, or with a wrong reference, or write 'no_control'
  with the reason why there is none.
RA217 Give a coordinate on every axis, or measure the worst of them: several courses can cancel.
RA221 Ask for five runs or more: fewer decide nothing.
RA222 Name the source with its place, or move the value to 'alternatives'.
RA224 Correct the name, or declare what it stands for.
RA225 Rename or remove one of them.
RA226 Begin it with the slug and a dot, so that it is unique over all audits.
RA227 Write true, false or a finite decimal number below 2^63 such as 1.0e-3, or quote what is text.
RA228 Name another measurement, coordinate, arm or step, or use 'without' on what both sides have.
RA229 Compare the values with 'beats', or correct the range in the declaration.
RA230 Remove it, or choose another kind of check.
RA231 Leave out 'in_share', or the coordinate on the axis that is counted.
RA232 Leave one axis free, with enough coordinates, and give a coordinate on every other.
RA233 Remove it from 'readings', or from the claim's 'settings'.
RA234 Correct the bound (0.9 for 90 per cent), or the range in the declaration.
RA235 Name a copy on this machine under 'git' to have it checked at once.
RA236 Remove one of the two: an arm is held against the claim's runs, and this value takes their
  place.
RA237 Correct the settings of one of the two: the same runs cannot show a phenomenon and lack it.
RA240 Remove one of the two: a value stands once at each level.
RA241 Add 'from': paper, derived, null, ceiling, or ours with 'why'.
RA242 Name it where it belongs, or remove it.
RA243 Take from an experiment that does not itself take from this one.
RA244 Quote the text: within braces a comma ends it.
"""

REMEDIES: dict[str, str] = {
    row[:5]: " ".join(row[6:].split()) for row in re.split(r"\n(?=RA)", _TABLE.strip())
}
"""What to do where a rule is broken, by the rule's id, which is never given to another rule."""


class Place(NamedTuple):
    """A place in a file, counted from 1 as editors do."""

    line: int
    column: int


START = Place(1, 1)  # The first character of a file
MOST_FAULTS = 1_000  # Faults of one file that are listed; further ones are counted


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault; its text is a line: ``file:line:column: path: found …; expected …. Remedy [id]``.

    Its `loc` is empty for the whole file.
    """

    file: str
    place: Place
    loc: Loc
    message: str
    remedy: str
    rule: str

    @property
    def severity(self) -> Literal["error", "warning"]:
        """The consequence: an error refuses the audit, a warning does not."""
        return "warning" if self.rule in WARNINGS else "error"

    @property
    def path(self) -> str:
        """The place in the audit as a reviewer reads it: ``claims[0].headline[1].within``."""
        parts = [f"[{p}]" if isinstance(p, int) else f".{_brief(p)}" for p in self.loc]
        return "".join(parts).removeprefix(".")

    @property
    def text(self) -> str:
        """The fault without its place in the file and its rule."""
        path = f"{self.path}: " if self.loc else ""
        end = "" if self.message.endswith((".", "?", "!")) else "."
        return f"{path}{self.message}{end} {self.remedy}"

    def __str__(self) -> str:
        mark = "warning: " if self.severity == "warning" else ""
        return f"{self.file}:{self.place.line}:{self.place.column}: {mark}{self.text} [{self.rule}]"


class Faults:
    """The faults of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._kept: list[Fault] = []

    def add(self, place: Place, loc: Loc, rule: str, message: str, remedy: str = "") -> None:
        """Keep a fault; without a remedy it has that of its rule."""
        self._kept.append(Fault(self.file, place, loc, message, remedy or REMEDIES[rule], rule))

    @property
    def refuse(self) -> bool:
        """Whether there is an error."""
        return any(fault.severity == "error" for fault in self._kept)

    @property
    def locs(self) -> frozenset[Loc]:
        """The places that have an error. A warning hides nothing at its place or below."""
        return frozenset(fault.loc for fault in self._kept if fault.severity == "error")

    def in_order(self) -> list[Fault]:
        """Return the faults by place, each once; of too many the errors first, and then a count."""
        faults = sorted(dict.fromkeys(self._kept), key=lambda fault: fault.severity)
        listed = sorted(faults[:MOST_FAULTS], key=lambda f: (f.place, f.rule, f.message))
        if unlisted := len(faults) - len(listed):
            message = f"found {unlisted} further faults; listed are {len(listed)}"
            listed.append(Fault(self.file, START, (), message, REMEDIES["RA017"], "RA017"))
        return listed


def _brief(text: str) -> str:
    shown = text if text.isprintable() else repr(text)[1:-1]
    return shown if len(shown) <= 60 else f"{shown[:57]}…"


MOST_SHOWN = 20  # Entries of a list that a message shows at most
MOST_QUOTED = 60  # Characters of a text that a message quotes at most


def shown(value: SettingValue | Sequence[Scalar]) -> str:
    """Return the value as it is written in an audit; of a long list or text, the beginning."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | range):
        more = [f"and {len(value) - MOST_SHOWN} more"] if len(value) > MOST_SHOWN else []
        return f"[{', '.join([*map(shown, value[:MOST_SHOWN]), *more])}]"
    return quoted(value) if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """Return text as a message quotes it: on one line, without control characters, cut off."""
    return repr(text if len(text) <= MOST_QUOTED else text[: MOST_QUOTED - 1] + "…")
