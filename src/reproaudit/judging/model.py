"""The base of every model that is written to JSON or shown, and the interval among them.

Scorecard, multiverse and diff all build on these two, so they lie below the three.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from reproaudit.stats import Interval


class ReportModel(BaseModel):
    """What the report shows: closed, unchanging, every field documented."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class IntervalModel(ReportModel):
    """An interval and how it was made."""

    low: float
    high: float
    confidence: float
    method: str
    scale: str

    @classmethod
    def of(cls, interval: Interval | None) -> IntervalModel | None:
        """The model of an interval, or None if there is none."""
        return None if interval is None else cls(**vars(interval))
