"""Rules of disputes and sign-offs."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.disputes import version_of
from reproaudit.audit.model import Audit
from reproaudit.audit.rules.names import every_setting
from reproaudit.audit.rules.rule import Violation, error, warning
from reproaudit.audit.rules.values import repeated


@error(
    "RA171",
    "A dispute stands beside what it disputes.",
    "Name a claim, check, control or setting of this audit.",
)
def _disputed_exists(audit: Audit) -> Iterator[Violation]:
    claims = {claim.id: claim for claim in audit.claims}
    settings = every_setting(audit)
    for i, dispute in enumerate(audit.disputes):
        loc = ("disputes", i)
        if dispute.source is not None and dispute.source not in settings:
            message = f"found the unknown setting '{dispute.source}'; expected one of this audit"
            yield Violation((*loc, "source"), message, about=dispute.source, known=settings)
        if dispute.claim is None:
            continue
        claim = claims.get(dispute.claim)
        if claim is None:
            message = f"found the unknown claim '{dispute.claim}'; expected one of this audit"
            yield Violation((*loc, "claim"), message, about=dispute.claim, known=claims)
            continue
        names = {check.name for check in claim.checks}
        if dispute.tolerance is not None and dispute.tolerance not in names:
            message = f"found '{dispute.tolerance}'; expected the name of a check of {claim.id}"
            yield Violation((*loc, "tolerance"), message, about=dispute.tolerance, known=names)
        if isinstance(dispute.control, int) and dispute.control > len(claim.controls):
            message = f"found control {dispute.control}; {claim.id} has {len(claim.controls)}"
            yield Violation((*loc, "control"), message)


@error(
    "RA172",
    "A reviewer signs off once, the version that was reviewed last.",
    "Keep the reviewer's latest sign-off.",
)
def _signed_once(audit: Audit) -> Iterator[Violation]:
    reviewers = [one.reviewer for one in audit.sign_offs]
    for i in repeated(reviewers):
        message = f"found a second sign-off of '{reviewers[i]}'; expected one"
        yield Violation(("sign_offs", i, "reviewer"), message)


@warning(
    "RA173",
    "A sign-off holds for the version that the reviewer saw.",
    "Review what has changed, and sign off again with 'reproaudit review'.",
)
def _signed_this_version(audit: Audit) -> Iterator[Violation]:
    version = version_of(audit) if audit.sign_offs else ""
    for i, one in enumerate(audit.sign_offs):
        if one.version != version:
            message = f"found {one.version}; expected {version}, the present version"
            yield Violation(("sign_offs", i, "version"), message)


@warning(
    "RA174",
    "A reviewer who signs off has decided on every variable.",
    "Decide on them with 'reproaudit review', or remove the sign-off.",
)
def _signed_with_all_decided(audit: Audit) -> Iterator[Violation]:
    for i, one in enumerate(audit.sign_offs):
        left = [
            str(variable.name)
            for variable in audit.variables
            if one.reviewer not in [review.reviewer for review in variable.reviews]
        ]
        if left:
            message = f"found no decision of '{one.reviewer}' on {', '.join(left)}; expected one"
            yield Violation(("sign_offs", i, "reviewer"), message)
