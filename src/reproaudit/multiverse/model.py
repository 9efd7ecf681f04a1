"""The multiverse as it is shown: one self-contained model, `multiverse.json`.

Every difference is given on the check's fitting scale, turned so that it rises with the measure:
on the log scale 0.1 is a factor of e^0.1, on ``log_complement`` 0.1 makes 1 − x smaller by that
factor, on ``logit`` it is a factor of the odds.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import ConfigDict, Field

from reproaudit.cell import SettingValue
from reproaudit.judging.model import IntervalModel, ReportModel
from reproaudit.stats import Decision

MULTIVERSE_VERSION = 2


class AlternativeClass(StrEnum):
    """The class of an alternative for a claim."""

    DECISIVE = "decisive"
    """It flips the decision, and the difference from the default is beyond seed noise."""
    MATTERS = "matters"
    """It moves the estimate by more than the claim's margin."""
    HARMLESS = "harmless"
    """The same decision, and equivalent to the default within the margin."""
    UNTESTED = "untested"
    """Not run, crashed, or too few seeds to say which of the three."""


class CompletionStatus(StrEnum):
    """The result of a claim in a completion."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"
    DIVERGED = "diverged"
    FAILED = "failed"
    NOT_RUN = "not_run"


class AlternativeModel(ReportModel):
    """One alternative for one open setting, and its effect on one claim."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    setting: str
    """``name``, or ``experiment.name`` where it is an experiment's own."""
    value: SettingValue
    """The alternative as the audit states it, at the paper's scale."""
    run_as: SettingValue | None
    """The value that was run at this tier; None if it cannot be run there."""
    default: SettingValue
    """The value that the tier runs by default."""
    kind: AlternativeClass = Field(alias="class")
    status: CompletionStatus
    """The result of the claim's own experiment under the alternative."""
    ablations: Decision | None = None
    """The decision on the claim's ablations under it: they must miss for the alternative to count
    as met. None if it is not met, or if they were not run."""
    measured: str | None
    """The condition that the difference is of."""
    estimate: float | None
    """The condition's estimate under the alternative, in natural units."""
    difference: float | None
    """Mean over seeds of the paired difference from the default, on the fitting scale."""
    interval: IntervalModel | None
    """The interval of the difference by which the class was decided."""
    margin: float | None
    """The smallest difference that matters, on the fitting scale."""
    scale: str | None
    """The fitting scale."""
    note: str
    """The reason for the class."""


class ClaimVariationsModel(ReportModel):
    """A claim over the completions of the settings that the paper leaves open."""

    id: str
    statement: str
    weight: float
    experiment: str
    default: CompletionStatus
    """The result with the defaults."""
    measured: str | None
    """The condition that decides by default."""
    estimate: float | None
    bound: float | None
    met: int
    """The number of completions in which it is met."""
    of: int
    """The number of completions that were run, crashed ones included."""
    planned: int
    """The number of completions to run that differ for this claim."""
    missed: int
    undecided: int
    failed: int
    """Completions that crashed, or diverged where that is a technical failure."""
    alternatives: tuple[AlternativeModel, ...]
    """Decisive ones first."""
    advice: str
    """A sentence of advice to the authors."""


class Multiverse(ReportModel):
    """All claims of a paper over the completions of its open settings, at one tier."""

    schema_version: int = MULTIVERSE_VERSION
    paper: dict[str, str]
    tier: str
    completions: int
    """The default, and every alternative alone."""
    seeds: tuple[int, ...]
    confidence: float
    claims: tuple[ClaimVariationsModel, ...]
    seconds: float
    """The computing time of the records that were read."""
    not_run: int
    """The number of cells that have no record."""
