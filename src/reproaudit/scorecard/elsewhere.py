"""The scorecard's models of measurements from elsewhere: their origin, and our answers beside."""

from __future__ import annotations

from reproaudit.cell import SettingValue
from reproaudit.judging.model import ReportModel, Verdict
from reproaudit.stats import Decision


class OriginModel(ReportModel):
    """The origin of measurements that are not ours."""

    who: str
    source: str
    framework: str
    made: str
    settings: dict[str, SettingValue]
    """The settings that differ from the tier's in every run."""
    unstated: tuple[str, ...] = ()
    """The settings that nobody states, taken to be the tier's: "experiment.setting"."""
    absent: tuple[str, ...]
    """The experiments and controls of which nothing was supplied."""
    remarks: tuple[str, ...] = ()
    """Sentences about what stands out in the measurements."""
    measurements: str = ""
    """A digest of the numbers and of all that is stated of the runs; empty in older scorecards."""


class BesideModel(ReportModel):
    """Our own answer to a claim, beside one from elsewhere."""

    id: str
    decision: Decision | None
    verdict: Verdict
    evidence: str
    reading: str
    """Our estimate with its interval against the bound."""
    difference: str
    """Theirs from ours, and whether it is within noise."""
    headline: str = ""
    """Our verdict in words, with its scale if that is smaller."""
