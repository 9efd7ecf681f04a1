"""Rules of the audit as a whole: variables, findings and unfinished text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from reproaudit.audit.model import Audit
from reproaudit.audit.rules.names import every_setting, ids_of_their_own, unknown
from reproaudit.audit.rules.rule import (
    DEFINED_RULES,
    Loc,
    Rule,
    Severity,
    Violation,
    define,
    error,
)
from reproaudit.audit.rules.values import repeated
from reproaudit.audit.variables import VariableName

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|TBD)\b")
"""Marks of a text that is still to be written."""


@error(
    "RA151",
    "The documentation score is over nine variables, each decided once.",
    "List each of the nine variables once.",
)
def _variables_complete(audit: Audit) -> Iterator[Violation]:
    names = [variable.name for variable in audit.variables]
    for i in repeated(names):
        message = f"found '{names[i]}' a second time; expected each variable once"
        yield Violation(("variables", i, "name"), message, "Remove one of the two, or merge them.")
    for missing in VariableName:
        if missing not in names:
            message = f"found no variable '{missing}'; expected all nine"
            yield Violation(("variables",), message, f"Add an entry with 'name: {missing}'.")


@error(
    "RA161",
    "A finding's id is permanent and unique over all audits.",
    "Begin it with the slug and a dot, and use it once.",
)
def _finding_ids(audit: Audit) -> Iterator[Violation]:
    ids = [finding.id for finding in audit.findings]
    yield from ids_of_their_own("findings", "finding", ids, audit.paper.slug)


@error("RA162", "A finding about a setting points at it.", "Name a setting of this audit.")
def _finding_settings_exist(audit: Audit) -> Iterator[Violation]:
    known = every_setting(audit)
    for i, finding in enumerate(audit.findings):
        yield from unknown(("findings", i, "settings"), "setting", finding.settings, known)


@error(
    "RA163", "A finding names the claims whose answer it changes.", "Name a claim of this audit."
)
def _finding_claims_exist(audit: Audit) -> Iterator[Violation]:
    known = {claim.id for claim in audit.claims}
    for i, finding in enumerate(audit.findings):
        yield from unknown(("findings", i, "changes"), "claim", finding.changes, known)


# --- of any file --------------------------------------------------------------------------------

define("RA153", "Unfinished text has not been reviewed.", "Finish the text.", Severity.WARNING)


def unfinished(data: Any, told: Collection[Loc] = ()) -> Iterator[tuple[Rule, Violation]]:
    """Yield every TODO in a file's data, but for places that have a fault already."""
    waiting: list[tuple[Loc, Any]] = [((), data)]
    while waiting:
        loc, value = waiting.pop()
        if isinstance(value, dict):
            waiting += (((*loc, step), below) for step, below in value.items())
        elif isinstance(value, list):
            waiting += (((*loc, step), below) for step, below in enumerate(value))
        elif isinstance(value, str) and (mark := UNFINISHED.search(value)) and loc not in told:
            message = f"found '{mark.group()}' in the text; expected finished text"
            yield DEFINED_RULES["RA153"], Violation(loc, message)
