"""What is compared, and the models of what differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.judging.model import IntervalModel, ReportModel
from reproaudit.scorecard import Scorecard

ChangeKind = Literal["rule", "settings", "code", "environment", "records", "documentation"]
KINDS: tuple[ChangeKind, ...] = (
    "rule",
    "settings",
    "code",
    "environment",
    "records",
    "documentation",
)
State = Literal["identical", "within_noise", "beyond_noise", "not_compared"]


@dataclass(frozen=True)
class ComparedScorecard:
    """One of the two things that are compared.

    Attributes:
        name: what it is called.
        audit: the audit, if it is known.
        scorecard: the scorecard, if there is one.
    """

    name: str
    audit: Audit | None
    scorecard: Scorecard | None

    @property
    def slug(self) -> str:
        """Of which paper it is."""
        if self.audit is not None:
            return self.audit.paper.slug
        return str(self.scorecard.paper.get("slug")) if self.scorecard is not None else ""


class SideModel(ReportModel):
    """What stood on one side."""

    name: str
    paper: str
    tier: str | None
    """Of its scorecard; None if there is none."""
    audit: bool
    """Whether the audit itself was compared."""
    origin: str | None
    """Whose measurements, if they are not ours."""


class Change(ReportModel):
    """One thing that differs."""

    kind: ChangeKind
    place: str
    """Where: a claim and a field, an experiment and a setting, a package."""
    before: Any
    """None if it is new."""
    after: Any
    """None if it is gone."""
    matters: bool
    """Whether it can move a number, a decision or the evidence."""
    claim: str | None = None
    """The only claim that it can concern."""
    experiment: str | None = None
    """The only experiment that it can concern."""


class PartChange(ReportModel):
    """How one part's numbers moved."""

    name: str
    state: State
    why: str | None
    """Why it was not compared."""
    before: float | None
    after: float | None
    form: str | None
    """What the difference is: a difference, or a ratio."""
    difference: float | None
    interval: IntervalModel | None
    paired: bool
    detectable: float | None
    """The smallest difference upwards that these seeds would have shown with power 80 %."""


class ResultModel(ReportModel):
    """One side's answer to a claim."""

    decision: str | None
    verdict: str
    evidence: str
    estimate: float | None
    interval: IntervalModel | None
    part: str | None
    """The binding part."""


class ClaimChange(ReportModel):
    """One claim on both sides."""

    id: str
    before: ResultModel | None
    """None if the claim is new."""
    after: ResultModel | None
    """None if the claim is gone."""
    changed: bool
    """Whether decision, verdict or evidence differ, or an estimate beyond noise."""
    state: State
    """Of the part that moved most."""
    parts: tuple[PartChange, ...]
    causes: tuple[ChangeKind, ...]
    """The classes of changes that may have moved it; the cause is likely if there is one."""


class Comparison(ReportModel):
    """Everything that differs between two sides."""

    before: SideModel
    after: SideModel
    changes: tuple[Change, ...]
    claims: tuple[ClaimChange, ...]
    compared: tuple[str, ...]
    """The classes that could be compared at all."""
    measured_again: int
    """Records of the same cells that were made anew."""
    records: int
    """Records of cells that both sides have."""
    notes: tuple[str, ...]


def tier_of(card: Scorecard) -> TierName:
    """A scorecard's tier; of one that is unknown here, the paper's."""
    return next((tier for tier in TIERS if tier == card.tier), "paper")
