"""The base of every model that is written to JSON or shown, and the model of an interval.

Scorecard, multiverse and diff build on these two.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from reproaudit.stats import Interval


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
