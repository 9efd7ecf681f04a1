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

MULTIVERSE_VERSION = 1


class AlternativeClass(StrEnum):
    """What an alternative means for a claim."""

    DECISIVE = "decisive"
    """It flips the decision, and the difference from the default is beyond seed noise."""
    MATTERS = "matters"
    """It moves the estimate by more than the claim's margin."""
    HARMLESS = "harmless"
    """The same decision, and equivalent to the default within the margin."""
    UNTESTED = "untested"
    """Not run, crashed, or too few seeds to say which of the three."""


class CompletionStatus(StrEnum):
    """How a claim came out in a completion."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"
    DIVERGED = "diverged"
    FAILED = "failed"
    NOT_RUN = "not_run"


class AlternativeModel(ReportModel):
    """One alternative for one open setting, and what it does to one claim."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    setting: str
    """``name``, or ``experiment.name`` where it is an experiment's own."""
    value: SettingValue
    """The alternative as the audit states it, at the paper's scale."""
    run_as: SettingValue | None
    """What was run at this tier; None if it cannot be run there."""
    default: SettingValue
    """What the tier runs otherwise."""
    kind: AlternativeClass = Field(alias="class")
    status: CompletionStatus
    """How the claim came out."""
    measured: str | None
    """The condition that the difference is of."""
    estimate: float | None
    """The condition's estimate under the alternative, in natural units."""
    difference: float | None
    """Mean over seeds of the paired difference from the default, on the fitting scale."""
    interval: IntervalModel | None
    """Of the difference: the one by which the class was decided."""
    margin: float | None
    """How large a difference matters, on the fitting scale."""
    scale: str | None
    """The fitting scale."""
    note: str
    """Why it is classed so."""


class LevelModel(ReportModel):
    """A setting's value and the mean estimate of the completions that have it."""

    value: SettingValue
    completions: int
    mean: float | None
    """In natural units; the mean was taken on the fitting scale."""
    interval: IntervalModel | None
    """Over the completions of a random sample; None on a designed set."""


class EffectModel(ReportModel):
    """The main effect of a setting on a claim's binding condition."""

    setting: str
    measured: str
    levels: tuple[LevelModel, ...]


class ExceptionModel(ReportModel):
    """A completion in which the claim came out otherwise than by default."""

    changes: dict[str, SettingValue]
    status: CompletionStatus


class ClaimVariationsModel(ReportModel):
    """A claim over the completions of what the paper leaves open."""

    id: str
    statement: str
    weight: float
    experiment: str
    default: CompletionStatus
    """How it comes out with the defaults."""
    measured: str | None
    """The condition that binds by default."""
    estimate: float | None
    bound: float | None
    met: int
    """In how many completions it is met."""
    of: int
    """How many completions were run to the end, crashed ones included."""
    planned: int
    """How many there are to run, as this claim sees them."""
    missed: int
    undecided: int
    failed: int
    """Completions that crashed, or diverged where that is a technical failure."""
    share: IntervalModel | None
    """Of a random sample: Wilson's interval of the share in which it is met."""
    alternatives: tuple[AlternativeModel, ...]
    """Decisive ones first."""
    effects: tuple[EffectModel, ...]
    """Main effects, of a sample or the whole product."""
    exceptions: tuple[ExceptionModel, ...]
    """Combinations of several changes that come out otherwise than the default; at most 20."""
    advice: str
    """What the authors could state, in a sentence."""


class Multiverse(ReportModel):
    """All claims of a paper over the completions of what it leaves open, at one tier."""

    schema_version: int = MULTIVERSE_VERSION
    paper: dict[str, str]
    tier: str
    design: str
    """one_at_a_time, full or sample."""
    completions: int
    """How many completions the design has, the default included."""
    seeds: tuple[int, ...]
    confidence: float
    claims: tuple[ClaimVariationsModel, ...]
    seconds: float
    """Computing time of the records behind it."""
    not_run: int
    """Cells of the design that have no record."""


class CauseModel(ReportModel):
    """A smallest set of settings that flips a decision."""

    settings: dict[str, SettingValue]
    """Setting -> the other run's value; the rest as in the audit."""
    status: CompletionStatus
    measured: str | None
    """The condition whose difference is shown."""
    difference: float | None
    """Paired by seed, from the audit's settings, on the fitting scale."""
    interval: IntervalModel | None
    margin: float | None
    scale: str | None
    beyond_noise: bool
    """Whether the flip is beyond seed noise, corrected for the sets that were tried."""
    note: str


class Explanation(ReportModel):
    """Why a claim comes out differently in another run."""

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
    """Whether every smaller set was tried; otherwise a smaller one may exist."""
    trials: int
