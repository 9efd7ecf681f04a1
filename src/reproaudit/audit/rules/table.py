"""Every rule of audits, each with a permanent id, its reason and its remedy; and their violations.

RA001 to RA016 are about the file and its YAML, RA020 about a module that does not fit, RA021 about
a log of results, RA050 to RA067 about what the models refuse, RA081 to RA088 about run files. The
functions beside this module find the others. Ids that are missing here were given before, and are
not given again: a new rule's id is RA228.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

Loc = tuple[str | int, ...]
"""A place in an audit: field names, names and list positions from the top down."""

MISFIT = "RA020"
BROKEN_LOG = "RA021"


class Severity(StrEnum):
    """The consequence of a fault: an error refuses the audit, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Rule:
    """A rule of audits. Its id never changes its meaning and is never given to another rule."""

    id: str
    severity: Severity
    why: str
    remedy: str


class Violation(NamedTuple):
    """One place where an audit breaks a rule.

    Attributes:
        rule: the rule's id.
        loc: the place.
        message: the text that says what was found and what was expected.
        remedy: the text that says what to do here; if it is empty, the nearest known name or else
            the rule's own remedy is taken.
        about: the name that is unknown.
        known: the names of which one was expected instead of `about`.
        at_key: whether the field's name is at fault, and not its value.
    """

    rule: str
    loc: Loc
    message: str
    remedy: str = ""
    about: str = ""
    known: Collection[str] = ()
    at_key: bool = False


WARNINGS = frozenset({"RA017", "RA153", "RA173", "RA221"})
"""The rules that do not refuse an audit."""

_TABLE = """
RA001 An audit is a readable file of at most 1 MiB. → Check the path and its permissions.
RA002 An audit is UTF-8 text without control characters, so that every editor shows the same. →
  Save the file as UTF-8 and remove the character.
RA003 The file must be well-formed YAML. → Mend it here or on the line above: indent with spaces,
  close quotes and brackets, quote text that holds ': ' or begins with a special character.
RA004 A file holds one audit, so one YAML document. → Remove what follows '---'.
RA005 An audit is a mapping of fields. → Start from 'schema_version: 2' and 'paper:'.
RA006 YAML lets the second of two equal keys win in silence. → Remove or rename one of the two.
RA007 An audit holds facts, no templates: every value is written where it is read. → Write the
  value out, without &, * and <<.
RA008 A YAML tag can change what a value means, unseen by the reviewer. → Remove the tag; quote
  the value if it is text.
RA014 An audit and its experiments find each other by the file's name. → Rename the file or change
  paper.slug.
RA015 Names are text. → Quote the name.
RA016 An audit is data that a reviewer reads, about ten levels deep; a far deeper or larger file is
  a slip or an attack. → Look for a missing bracket, and keep large data outside the audit.
RA017 Nobody reads more than a thousand faults at once. → Mend the faults that are listed, and
  check again.
RA020 An experiment that does not take the audit's settings cannot be run. → Mend the audit, or
  the settings class of the module.
RA021 A log of results that was edited no longer says how often a paper was judged. → Put back the
  file as git has it, or remove the line.
RA050 An unknown field would be ignored in silence, with what it says. → Rename or remove it.
RA051 The field is needed. → Add it.
RA052 The value has another type than the field. → Write the expected type: quote what is text,
  write a list as [a, b].
RA053 The value lies outside the range that the field allows. → Change the value.
RA054 The field takes one of a few words. → Write what is expected.
RA055 Names and identifiers have a fixed form, so that they can be used in file names and code. →
  Rename it.
RA056 Dates are written YYYY-MM-DD. → Write the date so.
RA057 A list or mapping has fewer entries than it needs. → Add an entry.
RA058 A draft marks with TODO what nobody has looked up or decided yet; nothing is guessed. →
  Write what belongs here.
RA059 The value breaks a rule of its field. → Change it as the message says.
RA060 A reader must see the reason for a guess, and what else it could be. → Give 'why', and
  'alternatives' or 'only_reading', or the source that states the value.
RA061 A reviewer must be able to find a value in its source. → Add 'locator': section, table,
  page, or file and line.
RA062 A check takes one of a few combinations of fields. → Keep one of the forms that the message
  names.
RA063 A bound has a provenance, and a bound of ours a reason, so that nobody tunes it unseen. →
  Add 'from' (paper, derived, null, ceiling or ours), and 'why' for a bound of ours alone.
RA066 What a page says of a claim is brief. → Shorten it.
RA081 A command measures an experiment of the audit that stands beside it. → Name an experiment of
  the audit.
RA082 A setting that does not reach the command would make an arm that is its experiment. → Write
  its placeholder into the command, or its value under 'fixed' if it is built in.
RA083 A placeholder stands for the seed or for a setting of the experiment. → Write {seed} or a
  setting's name; a brace that is meant as such is doubled.
RA084 What is built into the code must be what the audit says is run. → Correct the value, or pass
  the setting to the command.
RA085 A mapping leads to the measurements that the audit declares. → Name a measurement of this
  experiment.
RA086 An expression is arithmetic in a closed grammar, so that it can be read and never runs. →
  Write it as docs/import.md describes it.
RA087 Of two ways to run a paper nobody knows which made a record. → Keep the module or the run
  file, and remove the other.
RA088 A run file without its audit has no settings, seeds and measurements. → Put SLUG.run.yaml
  beside SLUG.yaml, which must be without errors.
RA104 A check can only read a coordinate that is measured; one that decides, at each tier. → Write
  one of these coordinates.
RA106 Only a series has a beginning and a course. → Read a series, or choose another kind of
  check.
RA107 Quantities that are compared along an axis are paired by its coordinates. → Fix a coordinate
  of either, or declare the same coordinates for both.
RA111 An arm that runs like the claim answers like the claim. → Remove the override, or write a
  value that differs.
RA113 An arm is judged by the same checks as the claim. → Declare the measurement there with the
  same kind and axes, or take another experiment.
RA121 The coordinates of an axis come from one place. → Give one of values, setting and size.
RA122 An axis that follows a setting takes its coordinates from that list. → Name a setting whose
  value is a list.
RA124 A scalar is one number; an array has axes. → Change the kind or the axes.
RA141 A value that replaces a setting's value must have its type. → Write 1.0 for a decimal
  number, [1] for a list, quotes for text.
RA145 Only a guess has alternatives; what another source states is a reading. → Move the value to
  'readings' with its source, or say that the setting's value is a guess.
RA151 The documentation score is over nine variables, each decided once. → List each of the nine
  variables once.
RA153 Unfinished text has not been reviewed. → Finish the text.
RA173 A sign-off holds for the version that the reviewer saw. → Review what has changed, and sign
  off again with 'reproaudit review'.
RA192 A power law across sizes is fitted to at least three positive numbers. → Name an axis of
  positive sizes, and leave its coordinate out.
RA211 A page begins with the paper's main claim. → Write 'main: true' at one claim, and at no
  other.
RA212 A headline that nothing could miss shows nothing. → Add to 'nulls' an arm with nothing to
  learn, or with a wrong reference.
RA214 A reading is a value that another source backs; a guess has alternatives instead. → Name a
  setting that has 'readings', or take the name out.
RA217 An onset and a law of growth are of a single course, in which nothing can cancel. → Give a
  coordinate on every axis, or measure the worst of them.
RA221 Fewer than five valid runs decide nothing. → Ask for five runs or more.
RA222 A reading is what a source states; what is guessed is an alternative. → Name the source with
  its place, or move the value to 'alternatives'.
RA224 A name stands for something that the audit declares. → Correct the name, or declare what it
  stands for.
RA225 Of two that are alike nobody knows which was meant, or the same would count twice. → Rename
  or remove one of them.
RA226 The id of a claim or a finding is unique over all audits. → Begin it with the slug and a dot.
RA227 YAML 1.1 reads no as false, 010 as 8, 1:30 as 90 and 1e-3 as text; a reviewer may not. → Write
  true, false or a finite decimal number such as 1.0e-3, or quote it if it is text.
"""
"""A rule a row: id, reason, remedy."""


def _rules() -> dict[str, Rule]:
    found = {}
    for row in re.split(r"\n(?=RA)", _TABLE.strip()):
        rule, _, text = " ".join(row.split()).partition(" ")
        why, _, remedy = text.partition(" → ")
        assert rule not in found, f"{rule} is defined twice"
        severity = Severity.WARNING if rule in WARNINGS else Severity.ERROR
        found[rule] = Rule(rule, severity, why, remedy)
    return found


RULES: dict[str, Rule] = _rules()
"""Every rule by its id."""
