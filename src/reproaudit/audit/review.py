"""What reviewers and authors say of an audit: `SLUG.review.yaml` as data."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reproaudit.audit.model import Audit, ClaimId, SettingName, Text, VariableName, at_most_words
from reproaudit.declarations import Name, StrictModel


class ReviewDecision(StrEnum):
    """A reviewer's answer to the card's classification."""

    AGREE = "agree"
    DISAGREE = "disagree"
    NOT_APPLICABLE = "not_applicable"


class Review(StrictModel):
    """One reviewer's decision on one variable."""

    reviewer: Text
    """The reviewer: a name, initials or a role. Each reviewer decides once on a variable."""
    decision: ReviewDecision
    """agree or disagree with the card's result; not_applicable if the paper needs no such thing,
    for example no data set because its data are generated."""
    reason: Text
    """The reason for the decision, in one sentence."""
    as_of: date
    """The day of the decision, YYYY-MM-DD."""


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
        if sum(name is not None for name in (self.claim, self.arm, self.source)) != 1:
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


MOST_NOTE_WORDS = 100


class Note(StrictModel):
    """The opinion of the auditor or of a reviewer on the whole."""

    reviewer: Text
    """The person whose opinion it is: a name, initials or a role."""
    text: Annotated[Text, at_most_words(MOST_NOTE_WORDS)]
    """The opinion, in at most 100 words."""
    answers: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    """The answers that it was written for: a hash of the claims, their sentences and bounds, the
    outcomes, and the runs that say yes. `reproaudit review` writes it."""
    as_of: date
    """The day of the note, YYYY-MM-DD."""


class Reviews(StrictModel):
    """The reviewers' decisions, disputes, sign-offs and note, and the authors' answers.

    That is `SLUG.review.yaml`, which the tool writes whole.
    """

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
    note: Note | None = None
    """The opinion of the auditor or of a reviewer on the whole."""


def version_of(audit: Audit) -> str:
    """Return a hash of what an audit states, 32 hexadecimal digits.

    Neither layout and comments of the file nor defaults written out count.
    """
    stated = audit.model_dump(mode="json", exclude_defaults=True)
    canonical = json.dumps(stated, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]
