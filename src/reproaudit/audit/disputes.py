"""Reviewers' words on an audit beside its variables: disputes, and sign-offs of a version."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from reproaudit.audit.findings import ClaimId, SettingName
from reproaudit.audit.variables import Text
from reproaudit.declarations import OneComplaint, StrictModel

if TYPE_CHECKING:
    from reproaudit.audit.model import Audit

ControlNumber = Annotated[
    Annotated[int, Field(ge=1)] | Literal["positive"], OneComplaint("1, 2, …, or positive")
]
"""A control of a claim: its number in the claim's list, from 1, or `positive`."""


class Dispute(StrictModel):
    """A reviewer's objection: to a claim, its tolerance or control, or to a setting's source."""

    claim: ClaimId | None = None
    """The id of the claim that is disputed, or whose tolerance or control is."""
    tolerance: Text | None = None
    """With `claim`: the name of the check whose tolerance, or the reason for it, is disputed."""
    control: ControlNumber | None = None
    """With `claim`: the control that is disputed, by its number from 1; or `positive`."""
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
        if (self.claim is None) == (self.source is None):
            raise ValueError("state either 'claim' or 'source': what is disputed")
        parts = [one for one in (self.tolerance, self.control) if one is not None]
        if len(parts) > 1 or (parts and self.claim is None):
            raise ValueError("with 'claim' state 'tolerance' or 'control', or neither")
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


SAID_OF_THE_AUDIT = frozenset({"disputes", "responses", "sign_offs"})
"""The fields of an audit that hold what reviewers and authors say of it."""


def version_of(audit: Audit) -> str:
    """A hash of what an audit states, 32 hexadecimal digits.

    Reviews, disputes, responses and sign-offs are left out, so that one reviewer's word does not
    void another's sign-off. Neither layout and comments of the file nor defaults written out count.
    """
    stated = audit.model_dump(mode="json", exclude_defaults=True, exclude=set(SAID_OF_THE_AUDIT))
    for variable in stated["variables"]:
        variable.pop("reviews", None)
    canonical = json.dumps(stated, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]
