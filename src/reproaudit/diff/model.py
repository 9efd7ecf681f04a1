"""The two sides of a comparison, and the models of what differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.judging.model import EvidenceLevel, IntervalModel, ReportModel, Verdict
from reproaudit.scorecard.model import Scorecard
from reproaudit.stats import Decision

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
        name: its name for the reader.
        audit: the audit, if it is known.
        scorecard: the scorecard, if there is one.
    """

    name: str
    audit: Audit | None
    scorecard: Scorecard | None

    @property
    def slug(self) -> str:
        """The paper's short name."""
        if self.audit is not None:
            return self.audit.paper.slug
        return str(self.scorecard.paper.get("slug")) if self.scorecard is not None else ""


class SideModel(ReportModel):
    """One side of a comparison."""

    name: str
    paper: str
    tier: str | None
    """The tier of its scorecard; None if there is none."""
    audit: bool
    """True if the audit itself was compared."""
    origin: str | None
    """Who made the measurements, if we did not."""


class Change(ReportModel):
    """One thing that differs."""

    kind: ChangeKind
    place: str
    """A claim and a field, an experiment and a setting, or a package."""
    before: Any
    """None if it is new."""
    after: Any
    """None if it is gone."""
    matters: bool
    """True if it can move a number, a decision or the evidence."""
    claim: str | None = None
    """The only claim that it can concern."""
    experiment: str | None = None
    """The only experiment that it can concern."""


class PartChange(ReportModel):
    """The change of one part's numbers."""

    name: str
    state: State
    why: str | None
    """The reason why it was not compared."""
    before: float | None
    after: float | None
    form: str | None
    """A difference, or a ratio."""
    difference: float | None
    interval: IntervalModel | None
    paired: bool
    detectable: float | None
    """The smallest difference upwards that these seeds would have shown with power 80 %."""


class ResultModel(ReportModel):
    """One side's answer to a claim."""

    decision: Decision | None
    verdict: Verdict
    evidence: EvidenceLevel
    estimate: float | None
    interval: IntervalModel | None
    part: str | None
    """The deciding part."""
    headline: str
    """The verdict in words, with its scale if that is smaller."""
    hangs_on: tuple[str, ...]
    """Of a conditional verdict: what it depends on, in sentences."""


class ClaimChange(ReportModel):
    """One claim on both sides."""

    id: str
    before: ResultModel | None
    """None if the claim is new."""
    after: ResultModel | None
    """None if the claim is gone."""
    changed: bool
    """True if decision, verdict or evidence differ, or an estimate beyond noise."""
    state: State
    """The state of the part that moved most."""
    parts: tuple[PartChange, ...]
    causes: tuple[ChangeKind, ...]
    """The kinds of changes that may have moved it; the cause is likely if there is one."""


class Comparison(ReportModel):
    """Everything that differs between two sides."""

    before: SideModel
    after: SideModel
    changes: tuple[Change, ...]
    claims: tuple[ClaimChange, ...]
    compared: tuple[str, ...]
    """The kinds that could be compared at all."""
    measured_again: int
    """Records of the same cells that were made again."""
    records: int
    """Records of cells that both sides have."""
    notes: tuple[str, ...]


def tier_of(card: Scorecard) -> TierName:
    """Returns a scorecard's tier; of one that is unknown here, the paper's."""
    return next((tier for tier in TIERS if tier == card.tier), "paper")
