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

MULTIVERSE_VERSION = 1


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


class LevelModel(ReportModel):
    """A setting's value and the mean estimate of the completions that have it."""

    value: SettingValue
    completions: int
    mean: float | None
    """In natural units; the mean was taken on the fitting scale."""
    interval: IntervalModel | None
    """Over the completions of a random sample; None on a designed set."""


class EffectModel(ReportModel):
    """The main effect of a setting on a claim's deciding condition."""

    setting: str
    measured: str
    levels: tuple[LevelModel, ...]


class ExceptionModel(ReportModel):
    """A completion in which the result of the claim differs from that by default."""

    changes: dict[str, SettingValue]
    status: CompletionStatus


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
    share: IntervalModel | None
    """Wilson's interval of the share in which it is met; only of a random sample."""
    alternatives: tuple[AlternativeModel, ...]
    """Decisive ones first."""
    effects: tuple[EffectModel, ...]
    """Main effects, of a sample or the whole product."""
    exceptions: tuple[ExceptionModel, ...]
    """Combinations of several changes whose result differs from the default's; at most 20."""
    advice: str
    """A sentence of advice to the authors."""


class Multiverse(ReportModel):
    """All claims of a paper over the completions of its open settings, at one tier."""

    schema_version: int = MULTIVERSE_VERSION
    paper: dict[str, str]
    tier: str
    design: str
    """one_at_a_time, full or sample."""
    completions: int
    """The number of completions in the design, the default included."""
    seeds: tuple[int, ...]
    confidence: float
    claims: tuple[ClaimVariationsModel, ...]
    seconds: float
    """The computing time of the records that were read."""
    not_run: int
    """The number of cells of the design that have no record."""


class CauseModel(ReportModel):
    """A smallest set of settings that flips a decision."""

    settings: dict[str, SettingValue]
    """Setting -> the other run's value; all other settings as in the audit."""
    status: CompletionStatus
    measured: str | None
    """The condition whose difference is shown."""
    difference: float | None
    """Paired by seed, from the audit's settings, on the fitting scale."""
    interval: IntervalModel | None
    margin: float | None
    scale: str | None
    beyond_noise: bool
    """True if the flip is beyond seed noise, corrected for the sets that were tried."""
    note: str


class Explanation(ReportModel):
    """The smallest sets of settings that explain a different decision in another run."""

    paper: str
    tier: str
    claim: str
    ours: CompletionStatus
    """With the audit's settings."""
    theirs: CompletionStatus
    """With all settings of the other run."""
    differing: dict[str, tuple[SettingValue, SettingValue]]
    """Setting -> the audit's value, the other run's."""
    causes: tuple[CauseModel, ...]
    """Every smallest set; empty if the decision does not differ."""
    exhaustive: bool
    """True if every smaller set was tried; otherwise a smaller one may exist."""
    trials: int
