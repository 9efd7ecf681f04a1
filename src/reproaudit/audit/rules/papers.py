"""Rules of the audit as a whole: variables, findings, reviews and unfinished text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from reproaudit.audit.model import Audit
from reproaudit.audit.reviews import Reviews, version_of
from reproaudit.audit.rules.looks import every_setting, named_arms, unknown
from reproaudit.audit.rules.table import Loc, Violation
from reproaudit.audit.rules.values import repeated
from reproaudit.audit.variables import VariableName

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|TBD)\b")
"""Marks of a text that is still to be written."""


def of_variables(audit: Audit) -> Iterator[Violation]:
    """Yield variables that are there twice or not at all."""
    names = [variable.name for variable in audit.variables]
    for i in repeated(names):
        message = f"found '{names[i]}' a second time; expected each variable once"
        remedy = "Remove one of the two, or merge them."
        yield Violation("RA151", ("variables", i, "name"), message, remedy)
    for missing in VariableName:
        if missing not in names:
            message = f"found no variable '{missing}'; expected all nine"
            remedy = f"Add an entry with 'name: {missing}'."
            yield Violation("RA151", ("variables",), message, remedy)


def of_ids(audit: Audit) -> Iterator[Violation]:
    """Yield ids of claims and findings that are used twice, or do not begin with the slug."""
    slug = audit.paper.slug
    claims = [one.id for one in audit.claims]
    findings = [one.id for one in audit.findings]
    for rule, word, ids in (("RA115", "claim", claims), ("RA161", "finding", findings)):
        for i in repeated(ids):
            message = f"found a second {word} '{ids[i]}'; expected unique ids"
            yield Violation(rule, (f"{word}s", i, "id"), message)
        for i, one in enumerate(ids):
            if not one.startswith(f"{slug}."):
                message = f"found '{one}'; expected an id that begins with '{slug}.'"
                yield Violation(rule, (f"{word}s", i, "id"), message, about=slug)


def of_findings(audit: Audit) -> Iterator[Violation]:
    """Yield settings and claims of findings that the audit does not have."""
    settings, claims = every_setting(audit), {claim.id for claim in audit.claims}
    for i, finding in enumerate(audit.findings):
        for j, name in enumerate(finding.settings):
            place: Loc = ("findings", i, "settings", j)
            yield from unknown("RA162", place, "setting", name, settings)
        for j, name in enumerate(finding.changes):
            yield from unknown("RA163", ("findings", i, "changes", j), "claim", name, claims)


def of_reviews(audit: Audit, reviews: Reviews) -> Iterator[Violation]:
    """Yield what reviews say that does not fit the audit, with the place in their file."""
    for variable, decisions in reviews.variables.items():
        reviewers = [one.reviewer for one in decisions]
        for i in repeated(reviewers):
            message = f"found a second decision of '{reviewers[i]}' on '{variable}'; expected one"
            yield Violation("RA156", ("variables", variable, i, "reviewer"), message)
    claims = {claim.id for claim in audit.claims}
    answered = claims | {one.id for one in audit.findings}
    for i, response in enumerate(reviews.responses):
        place: Loc = ("responses", i, "to")
        yield from unknown("RA165", place, "id", response.to, answered, "a finding or a claim")
    arms = {*audit.arms, *(str(getattr(arm, "name", arm)) for _, _, arm in named_arms(audit))}
    known = {"claim": claims, "arm": arms, "source": every_setting(audit)}
    for i, dispute in enumerate(reviews.disputes):
        for field, names in known.items():
            if (name := getattr(dispute, field)) is not None:
                yield from unknown("RA171", ("disputes", i, field), field, name, names)
    version = version_of(audit) if reviews.sign_offs else ""
    for i, one in enumerate(reviews.sign_offs):
        if one.version != version:
            message = f"found {one.version}; expected {version}, the present version"
            yield Violation("RA173", ("sign_offs", i, "version"), message)


def unfinished(data: Any, with_fault: Collection[Loc] = ()) -> Iterator[Violation]:
    """Yield every TODO in a file's data, but for places that have a fault already."""
    waiting: list[tuple[Loc, Any]] = [((), data)]
    while waiting:
        loc, value = waiting.pop()
        if isinstance(value, dict | list):
            steps = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += (((*loc, step), below) for step, below in steps)
            continue
        mark = UNFINISHED.search(value) if isinstance(value, str) else None
        if mark is not None and loc not in with_fault:
            message = f"found '{mark.group()}' in the text; expected finished text"
            yield Violation("RA153", loc, message)
