"""Findings of an audit: where sources differ, and the answers to them."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from reproaudit.audit.variables import Text
from reproaudit.declarations import StrictModel

ClaimId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*\.[a-z0-9][a-z0-9-]*$")]
"""The id of a claim or a finding: the slug, a dot, and words joined by hyphens."""

SettingName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$")]
"""A setting's name; ``experiment.setting`` for the own setting of one experiment."""


class Finding(StrictModel):
    """A discrepancy between the paper, the card, the authors' code and practice."""

    id: ClaimId
    """A permanent id: the slug, a dot, and words joined by hyphens. It is never reused."""
    kind: Literal["contradiction", "omission", "defect", "staleness", "observation"]
    """contradiction: two sources disagree; omission: no source says it; defect: something does not
    work; staleness: it was true once and is no longer; observation: a run showed it."""
    statement: Text
    """The finding, in your own words."""
    sources: tuple[Text, ...] = Field(min_length=1)
    """The sources that show it, each with its place."""
    as_of: date
    """The day of the finding, YYYY-MM-DD."""
    settings: tuple[SettingName, ...] = ()
    """The settings that the finding is about; `experiment.setting` for the own setting of one
    experiment."""
    changes: tuple[ClaimId, ...] = ()
    """The ids of the claims whose answer it changes, or may change."""


class Response(StrictModel):
    """An answer of the authors, or of others concerned, to a finding or to an answer."""

    to: ClaimId
    """The id of the finding or of the claim that is answered."""
    by: Text
    """The person who answers: a name or a role."""
    statement: Text
    """The answer, in their own words or in a fair summary."""
    locator: Text | None = None
    """The place where the answer can be read, if it is public."""
    as_of: date
    """The day of the answer, YYYY-MM-DD."""


class NotAudited(StrictModel):
    """A claim of the paper that this audit leaves out, listed so that coverage is honest."""

    statement: Text
    """The claim in your own words."""
    locator: Text
    """The place where the paper makes the claim."""
    reason: Text
    """The reason why the claim is not audited."""
