"""`SLUG.review.yaml`: what reviewers and authors say of an audit. The tool writes it whole."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from reproaudit.audit.model import ClaimId, Response, Review, SettingName, Text, VariableName
from reproaudit.declarations import Name, StrictModel

if TYPE_CHECKING:
    from reproaudit.audit.model import Audit


class Dispute(StrictModel):
    """A reviewer's objection: to a claim or its bound, to an arm, or to a setting's source."""

    claim: ClaimId | None = None
    """The id of the claim that is disputed, or whose bound is."""
    arm: Name | None = None
    """The name of the arm that is disputed."""
    source: SettingName | None = None
    """The setting whose source or value is disputed; `experiment.setting` for the own setting of
    one experiment."""
    reviewer: Text
    """The reviewer who disputes: a name, initials or a role."""
    reason: Text
    """The reason, in one or two sentences."""
    as_of: date
    """The day of the dispute, YYYY-MM-DD."""

    @model_validator(mode="after")
    def _of_one_thing(self) -> Self:
        if sum(one is not None for one in (self.claim, self.arm, self.source)) != 1:
            raise ValueError("state one of 'claim', 'arm' and 'source': what is disputed")
        return self


class SignOff(StrictModel):
    """A reviewer's statement to have reviewed one version of the audit."""

    reviewer: Text
    """The reviewer who signs off: a name, initials or a role."""
    version: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    """The version that was reviewed: a hash of the audit without what reviewers and authors say of
    it. `reproaudit review` writes it."""
    as_of: date
    """The day of the sign-off, YYYY-MM-DD."""


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


def version_of(audit: Audit) -> str:
    """Return a hash of what an audit states, 32 hexadecimal digits.

    Neither layout and comments of the file nor defaults written out count.
    """
    stated = audit.model_dump(mode="json", exclude_defaults=True)
    canonical = json.dumps(stated, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]
