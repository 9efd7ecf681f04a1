"""Rules whose faults show while a file is read: of one value, of run files, modules and results.

`reproaudit.audit.loading` finds most of them, `reproaudit.repositories` those of the file
``<slug>.run.yaml``, which says how an author's repository is run.
"""

from __future__ import annotations

import re

from reproaudit.audit.rules.rule import Severity, define

MISFIT = "RA020"
BROKEN_LOG = "RA021"

ERRORS = """
RA001 An audit is a readable file of at most 1 MiB. → Check the path and its permissions.
RA002 An audit is UTF-8 text without control characters, so that every editor shows the same. →
  Save the file as UTF-8 and remove the character.
RA003 The file must be well-formed YAML. → Mend the syntax here, or on the line above.
RA004 A file holds one audit, so one YAML document. → Remove what follows '---'.
RA005 An audit is a mapping of fields. → Start from 'schema_version: 2' and 'paper:'.
RA006 YAML lets the second of two equal keys win in silence. → Remove or rename one of the two.
RA007 An audit holds facts, no templates: every value is written where it is read. → Write the
  value out, without &, * and <<.
RA008 A YAML tag can change what a value means, unseen by the reviewer. → Remove the tag; quote
  the value if it is text.
RA009 YAML 1.1 reads a number such as 1e-3 as text, because it has no decimal point or no signed
  exponent. → Write it with a point and a signed exponent, or quote it if it is text.
RA010 YAML 1.1 reads on, off, yes and no as true and false; other readers read text. → Write true
  or false, or quote the word if it is text.
RA011 YAML 1.1 reads 010 as 8, 1:30 as 90 and 1_000 as 1000; a reviewer may not. → Write a plain
  decimal number, or quote it if it is text.
RA012 An infinite, undefined or unrepresentable number cannot be held against anything. → Write a
  finite number, or quote it if it is text.
RA013 An audit is nested about ten deep; far deeper nesting is a slip or an attack. → Look for a
  missing bracket or runaway indentation.
RA014 An audit and its experiments find each other by the file's name. → Rename the file or change
  paper.slug.
RA015 Names are text. → Quote the name.
RA016 An audit is data that a reviewer reads, so a file of hundreds of thousands of values is a
  slip or an attack. → Keep such data outside the audit.
RA020 An experiment that does not take the audit's settings cannot be run. → Mend the audit, or
  the settings class of the module.
RA021 A log of results that was edited no longer says how often a paper was judged. → Put back the
  file as git has it, or remove the line.
RA050 An unknown field would be ignored in silence, with what it says. → Rename or remove it.
RA051 The field is needed. → Add it.
RA052 The value has another type than the field. → Write the expected type.
RA053 The value lies outside the range that the field allows. → Change the value.
RA054 The field takes one of a few words. → Write one of them.
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
RA067 An audit says in which version of the format it is written. → Begin from 'schema_version:
  2'; 'reproaudit new' drafts the form.
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
"""
"""Id, reason and remedy: RA001 to RA016 are about the file and its YAML, RA020 about a module that
does not fit, RA021 about a log of results, RA050 to RA067 about what the models refuse, RA081 to
RA088 about run files."""

for _row in re.split(r"\n(?=RA)", ERRORS.strip()):
    _id, _, _text = " ".join(_row.split()).partition(" ")
    _why, _, _remedy = _text.partition(" → ")
    define(_id, _why, _remedy)
define(
    "RA017",
    "Nobody reads more than a thousand faults at once.",
    "Mend the faults that are listed, and check again.",
    Severity.WARNING,
)
