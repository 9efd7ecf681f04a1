"""The words of a judgement, and the base of every model that is written to JSON or shown.

Scorecard, multiverse and diff build on these.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from reproaudit.stats import Interval


class Verdict(StrEnum):
    """The conclusion about a claim."""

    SUPPORTED = "supported"
    CONDITIONAL = "conditional"
    CONTRADICTED = "contradicted"
    INCONCLUSIVE = "inconclusive"
    UNATTAINABLE = "unattainable"
    VACUOUS = "vacuous"
    TECHNICAL_FAILURE = "technical_failure"
    NOT_TESTED = "not_tested"


class EvidenceLevel(StrEnum):
    """The closeness of a run to the paper, from its own scale to other data or another method."""

    EXACT = "exact"
    ASSUMED = "assumed"
    REDUCED = "reduced"
    PROXY = "proxy"


class ReportModel(BaseModel):
    """The base of a reported model: no unknown fields, immutable, every field documented."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    def as_data(self) -> dict[str, Any]:
        """Returns every field as JSON has it."""
        return self.model_dump(mode="json", by_alias=True)


class IntervalModel(ReportModel):
    """An interval with the name of its method."""

    low: float
    high: float
    confidence: float
    method: str
    scale: str

    @classmethod
    def of(cls, interval: Interval | None) -> IntervalModel | None:
        """The model of an interval, or None if there is none."""
        return None if interval is None else cls(**vars(interval))
