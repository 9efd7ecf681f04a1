"""Rules of what reviewers say of an audit, held against it: `SLUG.review.yaml`."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.disputes import version_of
from reproaudit.audit.model import Audit
from reproaudit.audit.reviews import Reviews
from reproaudit.audit.rules.looks import named_arms
from reproaudit.audit.rules.names import every_setting
from reproaudit.audit.rules.rule import DEFINED_RULES, Rule, Severity, Violation, define
from reproaudit.audit.rules.values import repeated

define(
    "RA156",
    "Agreement is counted between reviewers, each with one voice.",
    "Keep the reviewer's latest decision.",
)
define(
    "RA165",
    "A response stands next to what it answers.",
    "Name a finding or a claim of this audit.",
)
define(
    "RA171",
    "A dispute stands next to what it disputes.",
    "Name a claim, an arm or a setting of this audit.",
)
define(
    "RA172",
    "A reviewer signs off once, the version that was reviewed last.",
    "Keep the reviewer's latest sign-off.",
)
define(
    "RA173",
    "A sign-off holds for the version that the reviewer saw.",
    "Review what has changed, and sign off again with 'reproaudit review'.",
    Severity.WARNING,
)


def broken_by_reviews(audit: Audit, reviews: Reviews) -> Iterator[tuple[Rule, Violation]]:
    """Yield each rule that reviews break, with the place in their file."""
    for rule_id, violation in _violations(audit, reviews):
        yield DEFINED_RULES[rule_id], violation


def _violations(audit: Audit, reviews: Reviews) -> Iterator[tuple[str, Violation]]:
    for name, decisions in reviews.variables.items():
        reviewers = [one.reviewer for one in decisions]
        for i in repeated(reviewers):
            message = f"found a second decision of '{reviewers[i]}' on '{name}'; expected one"
            yield "RA156", Violation(("variables", name, i, "reviewer"), message)
    known = {*(claim.id for claim in audit.claims), *(one.id for one in audit.findings)}
    for i, response in enumerate(reviews.responses):
        if response.to not in known:
            message = f"found the unknown id '{response.to}'; expected a finding or a claim"
            where = ("responses", i, "to")
            yield "RA165", Violation(where, message, about=response.to, known=known)
    yield from _disputes(audit, reviews)
    reviewers = [one.reviewer for one in reviews.sign_offs]
    for i in repeated(reviewers):
        message = f"found a second sign-off of '{reviewers[i]}'; expected one"
        yield "RA172", Violation(("sign_offs", i, "reviewer"), message)
    version = version_of(audit) if reviews.sign_offs else ""
    for i, one in enumerate(reviews.sign_offs):
        if one.version != version:
            message = f"found {one.version}; expected {version}, the present version"
            yield "RA173", Violation(("sign_offs", i, "version"), message)


def _disputes(audit: Audit, reviews: Reviews) -> Iterator[tuple[str, Violation]]:
    claims, settings = {claim.id for claim in audit.claims}, every_setting(audit)
    arms = {*audit.arms, *(str(getattr(arm, "name", arm)) for _, _, arm in named_arms(audit))}
    for i, one in enumerate(reviews.disputes):
        for field, name, known in (
            ("claim", one.claim, claims),
            ("arm", one.arm, arms),
            ("source", one.source, settings),
        ):
            if name is not None and name not in known:
                message = f"found the unknown {field} '{name}'; expected one of this audit"
                place = ("disputes", i, field)
                yield "RA171", Violation(place, message, about=name, known=known)
