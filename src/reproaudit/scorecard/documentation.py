"""The scorecard's models of a paper's documentation, and of how far its reviewers agree."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from reproaudit.judging.model import ReportModel


class VariableModel(ReportModel):
    """One reproducibility variable: card against review."""

    name: str
    card: str
    card_as_of: str
    decision: str
    """The reviewers' majority, or "disputed"."""
    documented: bool
    """By what most reviews come to; on a tie as the card has it."""
    reasons: tuple[str, ...]
    evidence: tuple[str, ...]
    decisions: dict[str, str] = Field(default_factory=dict)
    """Each reviewer's decision."""


class VariableAgreementModel(ReportModel):
    """The agreement of the reviewers of one variable."""

    name: str
    reviewers: int
    agreeing: int
    """Pairs of reviewers that decided alike."""
    pairs: int
    disputed: bool
    """True if no decision has most voices."""


class AgreementModel(ReportModel):
    """The agreement of several reviewers."""

    reviewers: tuple[str, ...]
    agreeing: int
    """Pairs of decisions on one variable that are alike."""
    pairs: int
    alpha: float | None
    """Krippendorff's alpha, nominal; None where all decisions are the same."""
    variables: tuple[VariableAgreementModel, ...]
    open: tuple[str, ...]
    """The variables on which the reviewers do not all agree."""


class DocumentationModel(ReportModel):
    """The paper's documentation, by the card and as reviewed."""

    strict: int
    reviewed: int
    of: int = 7
    sharing_type: str
    published_rate: dict[str, Any] | None
    variables: tuple[VariableModel, ...]
    agreement: AgreementModel | None = None
    """None where no variable has several reviewers."""
