"""`SLUG.review.yaml`: what reviewers and authors say of an audit. The tool writes it whole."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from reproaudit.audit.disputes import Dispute, SignOff
from reproaudit.audit.findings import Response
from reproaudit.audit.variables import Review, VariableName
from reproaudit.declarations import StrictModel


class Reviews(StrictModel):
    """The reviewers' decisions, disputes and sign-offs, and the authors' answers."""

    schema_version: Literal[2] = 2
    """The version of this format, 2."""
    variables: dict[VariableName, tuple[Review, ...]] = Field(default_factory=dict)
    """Each reviewer's decision on each of the nine variables, once."""
    disputes: tuple[Dispute, ...] = ()
    """Objections to claims, bounds, arms and sources of settings."""
    responses: tuple[Response, ...] = ()
    """Answers of the authors and others to findings and outcomes."""
    sign_offs: tuple[SignOff, ...] = ()
    """The reviewers who reviewed a version of the audit."""
