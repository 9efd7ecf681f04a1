"""Rules of the file ``<slug>.run.yaml``, which says how an author's repository is run.

`reproaudit.repositories` holds such a file against its audit; the ids, reasons and remedies of what
it finds are listed here, with those of audits, and so are the rules of a module that does not fit
and of a log of results.
"""

from __future__ import annotations

from reproaudit.audit.rules.rule import Rule, Severity, define

MISFIT = "RA020"
BROKEN_LOG = "RA021"

_ERRORS = (
    (
        MISFIT,
        "An experiment that does not take the audit's settings cannot be run.",
        "Mend the audit, or the settings class of the module.",
    ),
    (
        BROKEN_LOG,
        "A log of results that was edited no longer says how often a paper was judged.",
        "Put back the file as git has it, or remove the line.",
    ),
    (
        "RA081",
        "A command measures an experiment of the audit that stands beside it.",
        "Name an experiment of the audit.",
    ),
    (
        "RA082",
        "A setting that does not reach the command would make a control that is its experiment.",
        "Write its placeholder into the command, or its value under 'fixed' if it is built in.",
    ),
    (
        "RA083",
        "A placeholder stands for the seed or for a setting of the experiment.",
        "Write {seed} or a setting's name; a brace that is meant as such is doubled.",
    ),
    (
        "RA084",
        "What is built into the code must be what the audit says is run.",
        "Correct the value, or pass the setting to the command.",
    ),
    (
        "RA085",
        "A mapping leads to the measurements that the audit declares.",
        "Name a measurement of this experiment.",
    ),
    (
        "RA086",
        "An expression is arithmetic in a closed grammar, so that it can be read and never runs.",
        "Write it as docs/import.md describes it.",
    ),
    (
        "RA087",
        "Of two ways to run a paper nobody knows which made a record.",
        "Keep the module or the run file, and remove the other.",
    ),
    (
        "RA088",
        "A run file without its audit has no settings, seeds and measurements.",
        "Put SLUG.run.yaml beside SLUG.yaml, which must be without errors.",
    ),
)

for _id, _why, _remedy in _ERRORS:
    define(Rule(_id, Severity.ERROR, _why, _remedy))
