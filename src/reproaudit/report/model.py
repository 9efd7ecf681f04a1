"""`scorecard.json`, version 3: everything that a page says of a paper, as data."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from reproaudit.cell import SettingValue
from reproaudit.declarations import Coordinate

SCHEMA_VERSION: Literal[3] = 3


class ReportModel(BaseModel):
    """The base of a reported model: no unknown fields, immutable, every field documented."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class EstimateModel(ReportModel):
    """One condition over the runs of an arm."""

    name: str
    """The condition."""
    noun: str
    """What the number is of."""
    median: float | None
    """The typical run."""
    low: float | None
    """The smallest number of a run."""
    high: float | None
    """The largest number of a run."""
    worst: float | None
    """The run farthest from meeting the bound."""
    bound: float
    """The bound; of an equality the margin."""
    target: float | None = None
    """Of an equality, what is equalled."""
    side: str
    """at_most, at_least, below, above or within."""
    unit: str
    """plain, factor or share."""
    origin: str = Field(alias="from")
    """Where the bound comes from."""
    why: str | None = None
    """Of a bound of ours, the reason."""
    mean: tuple[float, float, float] | None = None
    """Where the mean decides: the mean and its 90 % interval."""
    cannot_fail: bool = False
    """Whether no null clearly misses it."""
    met: bool = True
    """Whether the typical run meets the bound."""
    values: tuple[float, ...] = ()
    """The number of each run that has one."""
    figure: str = ""
    """The typical run's number alone, in words."""
    words: str
    """The number against its bound, in words."""


class ArmModel(ReportModel):
    """The runs of one arm."""

    name: str
    """The arm's name."""
    words: str
    """What a page calls it."""
    role: str
    """own, reading, null, ablation, constructed, alternative; support or note of a check."""
    why: str | None = None
    """What the arm is, in a sentence."""
    setting: str | None = None
    """Of a reading or an alternative: the setting that differs."""
    value: SettingValue | None = None
    """Its value."""
    at: Coordinate | None = None
    """Of a graded claim: the coordinate."""
    primary: bool = True
    """Whether the coordinate decides."""
    decision: str
    """met, missed or open."""
    yes: int
    """The runs that say yes."""
    n: int
    """The runs that count."""
    void: int = 0
    """The void runs."""
    same: int = 0
    """Further runs that are identical in every number."""
    trained: tuple[float, float] | None = None
    """The typical training loss at the start and at the end."""
    source: str | None = None
    """Of a reading: the source that states the value."""
    weak: bool = False
    """Of a null: whether it neither misses nor is beaten."""
    specificity: str | None = None
    """Of an ablation: what it tells."""
    lacks: str | None = None
    """Of an ablation: what it lacks."""
    effects: tuple[float, float] | None = None
    """Of an ablation: the typical factor without and with it."""
    tier: str | None = None
    """Of an alternative: the tier at which it ran, if another than the page's."""
    flips: bool = False
    """Of an alternative: whether the runs answer otherwise."""
    opens: bool = False
    """Of an alternative: whether the runs cannot tell what the claim's own runs of its tier can."""
    unfinished: bool = False
    """Of an alternative: whether training had not come half as far."""
    estimates: tuple[EstimateModel, ...] = ()
    """By condition."""


class ReasonModel(ReportModel):
    """A reason, a clause or a phrase: its kind, and its words."""

    kind: str
    """Which."""
    words: str
    """As a page says it."""
    brief: str = ""
    """Of a bound of ours that decides: the other bound and this."""


class CertaintyModel(ReportModel):
    """How sure the evidence makes us, and why not surer."""

    level: str | None
    """high, moderate, low or very low; none for what is not decided."""
    reasons: tuple[ReasonModel, ...]
    """Each reason that fired, or why there is no outcome."""


class RunsModel(ReportModel):
    """How many runs say yes, and the 90 % interval of the share of all runs that would."""

    yes: int
    """The runs that say yes."""
    n: int
    """The runs that count."""
    low: float
    """The interval's lower end."""
    high: float
    """The interval's upper end."""
    exact: bool = False
    """Whether one run decides, so that there is no interval."""


class RunModel(ReportModel):
    """One run."""

    seed: int
    """Its seed."""
    status: str
    """yes, no, void, failed or unpaired."""
    values: tuple[float | None, ...]
    """Its number for each headline condition."""


class LinesModel(ReportModel):
    """Lines of a figure: the courses of an arm's runs."""

    role: str
    """run, null, built, rival; earlier or later of two stages."""
    name: str
    """What a page calls the arm."""
    x: tuple[float, ...]
    """Training steps, or coordinates."""
    runs: tuple[tuple[float, ...], ...]
    """Of each run, the numbers there."""


class ChartModel(ReportModel):
    """A claim's figure."""

    title: str
    """The quantity."""
    x_title: str
    """What the horizontal axis is."""
    lines: tuple[LinesModel, ...]
    """Every run's course."""
    bound: float | None
    """The bound, where it is one on this quantity."""
    log_x: bool
    """Whether the horizontal axis is logarithmic."""
    log_y: bool
    """Whether the vertical axis is logarithmic."""
    stages: tuple[tuple[float, str], ...]
    """Where each stage of training ends, as (step, name)."""


class ClaimBase(ReportModel):
    """A claim by its id, ``slug.name``."""

    id: str
    """The claim's id."""

    @property
    def name(self) -> str:
        """The claim's name within its paper."""
        return self.id.partition(".")[2]


class ClaimModel(ClaimBase):
    """The conclusion on a claim, and all that it rests on."""

    says: str
    """The paper's claim, in our words."""
    short: str
    """The same as a clause."""
    wording: str
    """from_source, recalled or derived."""
    locator: str
    """Where the paper makes it."""
    main: bool
    """Whether it is the main claim."""
    experiment: str
    """What is run."""
    outcome: str
    """The conclusion."""
    certainty: CertaintyModel
    """How sure, and why not surer."""
    phrase: str
    """The weightiest that no other column shows."""
    clauses: tuple[ReasonModel, ...]
    """What else a reader must know."""
    runs: RunsModel
    """The runs of the headline."""
    effect: str
    """The typical and the worst run against the bound, in words."""
    typical: str
    """The same without the worst run."""
    figure: ChartModel | None
    """The figure."""
    shown: int | None
    """The place of the condition that the row shows, among those of the headline."""
    proxy: str | None
    """Other data or another method than the paper's, if the runs have it."""
    elsewhere: str
    """Where the runs end that say no; empty where the audit does not say."""
    base: ArmModel
    """The arm that decides: the claim's own, or a reading where that has not run."""
    grades: tuple[ArmModel, ...]
    """The headline along its axis."""
    symbol: str | None = None
    """What a coordinate is called."""
    headline: tuple[EstimateModel, ...]
    """The headline's conditions."""
    support: tuple[ArmModel, ...]
    """What else the paper says of it."""
    notes: tuple[ArmModel, ...]
    """Ours and stricter, deciding nothing."""
    reported: tuple[dict[str, str], ...]
    """Numbers published elsewhere."""
    readings: tuple[ArmModel, ...]
    """Other sourced values."""
    nulls: tuple[ArmModel, ...]
    """Arms with nothing to learn, or a wrong reference."""
    ablations: tuple[ArmModel, ...]
    """Arms without a part of the mechanism."""
    constructed: ArmModel | None
    """A solution built by hand."""
    alternatives: tuple[ArmModel, ...]
    """Other guesses."""
    per_run: tuple[RunModel, ...]
    """Every run of the headline."""
    rule: str | None = None
    """The rule of the experiment's claims."""

    def changed_by(self, arm: ArmModel) -> bool:
        """Tell whether a reading or an alternative answers otherwise than the claim's own runs."""
        if arm.role == "alternative":
            return arm.flips
        return arm.n > 0 and arm.decision != self.base.decision


class ChoiceModel(ReportModel):
    """A choice that the paper leaves open, or that sources read differently."""

    setting: str
    """The setting; `experiment.setting` for an experiment's own."""
    words: str
    """What a page calls it."""
    value: SettingValue
    """The value that was run."""
    source: str
    """Where it comes from."""
    others: tuple[SettingValue, ...]
    """Readings and alternatives."""
    said: str
    """Which source states which value, or what is guessed, in words."""
    answers: tuple[str, ...]
    """What becomes of the claims, in words; empty if it was not varied."""
    changes: bool
    """Whether an answer changes."""
    reading: bool
    """Whether sources back both values."""
    unstated: bool
    """Whether neither text nor code says."""


class AsWritten(ReportModel):
    """What is said of a scorecard that is shown as a file has it, for want of records."""

    words: str
    """Of which version it is, and whether the audit has changed since, in sentences."""
    changed: tuple[str, ...]
    """What of the audit has changed since."""


class Scorecard(ReportModel):
    """A paper's scorecard."""

    schema_version: Literal[3] = SCHEMA_VERSION
    """The version of this format, 3."""
    paper: dict[str, Any]
    """The paper, as its audit names it."""
    about: str | None
    """What a reader must know first."""
    tier: str
    """smoke, quick, paper, or paper with a salt."""
    summary: tuple[str, ...]
    """The colleague's paragraphs."""
    ours: str
    """What is due to the audit's own choices."""
    authors: str
    """What the authors should state."""
    documentation: dict[str, Any]
    """The nine variables."""
    claims: tuple[ClaimModel, ...]
    """The answers."""
    unstated: tuple[ChoiceModel, ...]
    """Choices that the paper leaves open."""
    not_audited: tuple[dict[str, str], ...]
    """Listed claims that are not audited, with the reason."""
    findings: tuple[dict[str, Any], ...]
    """Where sources differ; those that change an answer first."""
    settings: tuple[dict[str, Any], ...]
    """Every setting with value and source."""
    measurements: tuple[dict[str, Any], ...]
    """Every measurement with unit and meaning."""
    environment: tuple[str, ...]
    """With what the records were made."""
    software: dict[str, str] = Field(default_factory=dict)
    """The versions of what computed, Python among them."""
    records: dict[str, Any]
    """How many, how long, from when to when."""
    earlier_results: int
    """How many results came before."""
    origin: dict[str, Any] | None = None
    """Of measurements that are not ours: whose."""
    as_written: AsWritten | None = Field(default=None, exclude=True)
    """Of one that was read in place of records: how old it is; no part of the file."""
