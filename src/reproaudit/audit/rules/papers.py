"""Rules of the audit as a whole: variables, findings and unfinished text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reproaudit.audit.model import Audit
from reproaudit.audit.rules.names import every_setting, ids_of_their_own, unknown
from reproaudit.audit.rules.rule import Leaves, Loc, Violation, error, warning
from reproaudit.audit.rules.values import repeated
from reproaudit.audit.variables import VariableName

_MARKS = ("TODO", "FIXME", "XXX", "TBD")

UNFINISHED = re.compile(rf"\b({'|'.join(_MARKS)})\b")
"""Marks of a text that is still to be written."""


@error(
    "RA151",
    "The documentation score is over nine variables, each decided once.",
    "List each of the nine variables once.",
)
def _variables_complete(audit: Audit) -> Iterator[Violation]:
    names = [variable.name for variable in audit.variables]
    for i in repeated(names):
        yield Violation(
            ("variables", i, "name"),
            f"found '{names[i]}' a second time; expected each variable once",
            "Remove one of the two, or merge them.",
        )
    for missing in VariableName:
        if missing not in names:
            yield Violation(
                ("variables",),
                f"found no variable '{missing}'; expected all nine",
                f"Add an entry with 'name: {missing}'.",
                about=missing.value,
            )


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
    "RA163",
    "A finding names the claims whose answer it changes.",
    "Name a claim of this audit.",
)
def _finding_claims_exist(audit: Audit) -> Iterator[Violation]:
    known = {claim.id for claim in audit.claims}
    for i, finding in enumerate(audit.findings):
        yield from unknown(("findings", i, "changes"), "claim", finding.changes, known)


@warning("RA153", "Unfinished text has not been reviewed.", "Finish the text.")
def _nothing_unfinished(leaves: Leaves) -> Iterator[Violation]:
    everything = "\n".join([text for _, _, text in leaves.texts])
    if any(mark in everything for mark in _MARKS):  # nearly always there is none
        for above, step, text in leaves.texts:
            violation = unfinished((*above, step), text)
            if violation is not None:
                yield violation


def unfinished(loc: Loc, value: Any) -> Violation | None:
    """The violation of a value at a place, if it is a text with a TODO."""
    match = UNFINISHED.search(value) if isinstance(value, str) else None
    if match is None:
        return None
    return Violation(loc, f"found '{match.group()}' in the text; expected finished text")


@error("RA155", "A blank reason or statement is none.", "Write the text.")
def _nothing_blank(leaves: Leaves) -> Iterator[Violation]:
    for above, step, text in leaves.texts:
        if not text or text.isspace():
            loc = (*above, step)
            if not {"value", "alternatives", "arms", "settings"} & set(loc):
                yield Violation(loc, "found a blank text; expected words")
