"""The scorecard's models: what `scorecard.json` holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import Field, model_validator

from reproaudit.audit.plan import Role
from reproaudit.cell import SettingValue
from reproaudit.judging.model import EvidenceLevel, IntervalModel, ReportModel, Verdict
from reproaudit.records import CellStatus
from reproaudit.scorecard.documentation import DocumentationModel
from reproaudit.scorecard.elsewhere import BesideModel, OriginModel
from reproaudit.scorecard.figures import FigureModel
from reproaudit.scorecard.pictures import PictureModel
from reproaudit.stats import FLOOR, Decision, Scale

SCORECARD_VERSION = 3


class RunsMetModel(ReportModel):
    """The number of runs on the right side of a bound, for display beside a mean."""

    met: int
    of: int
    interval: IntervalModel
    """Wilson's, of the share of runs."""


class ValueDecisionModel(ReportModel):
    """One value of a setting, and the decision on the claim under it."""

    value: SettingValue
    decision: Decision


class HangsOnModel(ReportModel):
    """A setting that the paper leaves open, on which a verdict depends."""

    setting: str
    values: tuple[ValueDecisionModel, ...]
    """The audit's own value first. An alternative is met only if its ablations miss."""
    sentence: str
    """The same in words."""


class AlternativesRunModel(ReportModel):
    """The number of alternatives, of the settings a claim reads, that were run at its tier."""

    run: int
    of: int


class AlternativeRunModel(ReportModel):
    """A claim under one alternative of the ledger, all else as audited."""

    setting: str
    value: SettingValue
    tier: str
    """The tier at which it was run; one of a lower tier than the scorecard's changes no verdict."""
    decision: Decision
    """Met only if the claim's ablations miss under it, too; else undecided."""
    flips: bool
    """True if it turns the decision round, beyond seed noise."""
    note: str


class AnswerModel(ReportModel):
    """One batch's answer to one part of a claim."""

    name: str
    """The part."""
    measured: str
    """The condition that decides the part."""
    decision: Decision
    estimate: float
    interval: IntervalModel | None
    bound: float
    side: Literal["at_most", "at_least", "within"]
    margin: float | None
    """The distance from the bound that still counts as equal; None of a bound."""
    per_seed: tuple[float, ...]
    satisfied: int | None
    """Of a rule over every seed: how many seeds are on the right side."""
    scale: Scale = Scale.LINEAR
    """The scale on which the seeds' values are taken to be near normal."""
    floor: float = FLOOR
    """The least value told apart on a logarithmic scale; smaller ones count as this."""
    runs_met: RunsMetModel | None = None
    """The number of runs that meet the bound by themselves."""


class PartModel(AnswerModel):
    """One part of a claim."""

    reason: str
    """The reason for the tolerance."""
    detectable: float | None
    seeds_needed: int | None
    control: Decision | None
    """The answer of the part's ablation, which must be missed; None if it did not answer."""
    ablation: str | None = None
    """The name of the control that must miss the part, where the audit names one."""


class ControlModel(ReportModel):
    """The answer of a control, or of the positive control."""

    decision: Decision | None
    estimate: float | None
    interval: IntervalModel | None
    experiment: str
    settings: dict[str, SettingValue]
    substitutes: dict[str, str] = Field(default_factory=dict)
    """Measurement of the claim -> what was judged in its place."""
    tier: str
    why: str
    part: str | None
    """The deciding part."""
    problem: str | None
    parts: tuple[AnswerModel, ...]
    """Its answer to every part, in the claim's order; empty if it diverged or could not run."""
    name: str | None = None
    """The name by which a part calls it its ablation."""
    diverged: tuple[int, ...] = ()
    """Its seeds that diverged; the others are judged if they are more than half."""
    inert: bool | None = None
    """True if it did not train and so counts for nothing; None if that was not measured."""
    parameters_moved: float | None = None
    """By how much of their size at the start they moved, as `loss_moved`: median over its seeds."""
    loss_moved: float | None = None
    loss_stays: str | None = None
    """The reason why parameters that moved are enough, if the audit gives one."""
    smaller: str = ""
    """Of a control below the claim's scale: in what; else empty. `larger` is of one above it."""
    larger: str = ""
    scale_reason: str | None = None
    """Of a control at another scale than the claim's: why it may."""


class MovementModel(ReportModel):
    """The measurements by which a claim's runs show that they trained, and what they are there.

    A run has trained if its loss moved by `at_least` of its size at the start; where that need not
    be (`loss_stays` says why), if its parameters did.
    """

    parameters: str
    training_loss: str
    at_least: float
    loss_stays: str | None
    parameters_moved: float | None
    """In the claim's own runs, as `loss_moved`: the median over seeds; None if not measured."""
    loss_moved: float | None


class ClaimModel(ReportModel):
    """One claim, judged. The figures are those of the deciding part."""

    id: str
    statement: str
    locator: str
    weight: float
    experiment: str
    decision: Decision | None
    verdict: Verdict
    why: str
    evidence: EvidenceLevel
    estimate: float | None
    interval: IntervalModel | None
    bound: float | None
    seeds: tuple[int, ...]
    per_seed: tuple[float, ...]
    control: ControlModel
    """The part that its ablation comes closest to meeting, with the decision of all ablations."""
    controls: tuple[ControlModel, ...]
    positive_control: ControlModel | None
    positive_control_missing: str | None
    """The reason why no solution could be constructed."""
    parts: tuple[PartModel, ...]
    binding_part: str | None
    undiscriminated: tuple[str, ...]
    """Parts that their ablation meets."""
    rule_hash: str
    rule: dict[str, Any] = Field(default_factory=dict)
    """Everything that decides the claim, besides the measurements; what `rule_hash` is of."""
    headline: str = ""
    """The verdict in words, with its scale if that is smaller."""
    hangs_on: tuple[HangsOnModel, ...] = ()
    """Of a conditional verdict: the settings that it depends on."""
    alternatives_run: AlternativesRunModel | None = None
    alternatives: tuple[AlternativeRunModel, ...] = ()
    """Every alternative that was run; those of a lower tier are only shown."""
    runs_met: RunsMetModel | None = None
    """Of the deciding part."""
    movement: MovementModel | None = None
    """None if nothing is trained, if the audit names no such measurement, and in older files."""
    pictures: tuple[PictureModel, ...] = ()
    """The curves that are judged, run by run; of single numbers `per_seed` is all there is."""

    @model_validator(mode="after")
    def _one_number_per_seed(self) -> ClaimModel:
        counts = {len(self.per_seed), *(len(part.per_seed) for part in self.parts)} - {0}
        if counts - {len(self.seeds)}:
            raise ValueError(f"{len(self.seeds)} seeds have {sorted(counts)} numbers")
        return self


class LedgerModel(ReportModel):
    """One setting that the paper leaves open."""

    experiment: str | None
    setting: str
    value: SettingValue
    source: str
    why: str
    others: tuple[SettingValue, ...]


class SettingModel(ReportModel):
    """A setting as it was run, and where its value comes from."""

    experiment: str | None
    """None if all experiments share it."""
    name: str
    value: SettingValue
    """At the scorecard's tier."""
    paper: SettingValue
    """At the paper's scale."""
    source: str
    others: tuple[SettingValue, ...]
    """Other values that it could have."""
    locator: str | None = None
    """The place where the source states it; of an assumption, the reason for it."""


class MeasurementModel(ReportModel):
    """A measurement that some claim is judged by, as its experiment declares it."""

    experiment: str
    name: str
    unit: str
    meaning: str
    axes: dict[str, tuple[str | int | float, ...]] = Field(default_factory=dict)
    """Its axes with their coordinates at the scorecard's tier, besides the steps of a series."""


class ResponseModel(ReportModel):
    """An answer to a finding or a verdict."""

    to: str
    by: str
    statement: str
    locator: str | None
    as_of: str


class DisputeModel(ReportModel):
    """A reviewer's objection to a claim, its tolerance or control, or a setting's source."""

    claim: str | None
    tolerance: str | None
    control: int | str | None
    source: str | None
    reviewer: str
    reason: str
    as_of: str


class CustomModel(ReportModel):
    """Records of other seeds, settings or single experiments; they feed no verdict."""

    experiment: str
    settings: dict[str, SettingValue]
    """Those that differ from the scorecard's tier."""
    seeds: tuple[int, ...]


class Coverage(ReportModel):
    """The numbers of claims listed and tested."""

    claims: int
    tested: int
    weight_tested: float


class Chance(ReportModel):
    """The number of wrong decisions that chance alone would give, at most on average."""

    claims: int
    """Claims judged by intervals."""
    expected_wrong: float


class RecordModel(ReportModel):
    """One record behind the scorecard."""

    experiment: str
    role: Role
    tier: str
    overrides: dict[str, SettingValue]
    seed: int
    status: CellStatus
    fingerprint: str
    started: datetime
    seconds: float


class EnvironmentModel(ReportModel):
    """The machine, software and form that made the records; several if they differ."""

    python: tuple[str, ...]
    platform: tuple[str, ...]
    device: tuple[str, ...]
    threads: tuple[int, ...]
    packages: dict[str, str]
    revision: tuple[str, ...]
    code: tuple[str, ...]
    seconds: float
    form: tuple[str, ...] = ("fast",)


class GroupModel(ReportModel):
    """The state of code, versions and device that made the records."""

    id: str
    """Eight hexadecimal digits, for --group."""
    made_with: str
    """The id with code, versions and device, in words."""
    of_today: bool | None
    """True if the code and versions of the scorecard's day made them; None if nobody asked."""
    others: tuple[str, ...]
    """The groups that also have records of these cells; none of them is judged here."""


class Scorecard(ReportModel):
    """Everything that is shown of one paper at one tier."""

    schema_version: int = SCORECARD_VERSION
    paper: dict[str, Any]
    tier: str
    documentation: DocumentationModel
    claims: tuple[ClaimModel, ...]
    not_audited: tuple[dict[str, str], ...]
    coverage: Coverage
    chance: Chance
    ledger: tuple[LedgerModel, ...]
    findings: tuple[dict[str, Any], ...]
    figures: tuple[FigureModel, ...]
    environment: EnvironmentModel
    records: tuple[RecordModel, ...]
    custom_records: int = Field(default=0)
    """Records of other seeds or settings in the store; they feed no verdict."""
    custom: tuple[CustomModel, ...] = ()
    """These records by experiment and settings."""
    settings: tuple[SettingModel, ...] = ()
    measurements: tuple[MeasurementModel, ...] = ()
    """Those that claims, controls and movement are judged by."""
    responses: tuple[ResponseModel, ...] = ()
    disputes: tuple[DisputeModel, ...] = ()
    origin: OriginModel | None = None
    """None if the measurements are ours."""
    beside: tuple[BesideModel, ...] = ()
    """Of measurements from elsewhere: what our own records say, where there are any."""
    group: GroupModel | None = None
    """The group that made the records; None if there are none, or if they are from elsewhere."""
    digest: str | None = None
    """SHA-256 of everything else here, in a file; None of a scorecard that is in no file yet."""
    store_root: str | None = None
    """The root of the store's manifest, which stands for every record that it ever held."""
    shipped: bool = False
    """True if the records came with the report, and were judged again."""

    @model_validator(mode="before")
    @classmethod
    def _undamaged(cls, data: Any) -> Any:
        stated = data.get("digest") if isinstance(data, Mapping) else None
        if stated is not None and stated != content_digest(data):
            raise ValueError(
                "its content does not have the digest that it states: it was damaged or edited. "
                "Render it again from the records with 'reproaudit report'"
            )
        return data

    def as_data(self) -> dict[str, Any]:
        """Returns every field with the digest of the others."""
        data = self.model_dump(mode="json")
        return {**data, "digest": content_digest(data)}


def content_digest(data: Mapping[str, Any]) -> str:
    """The SHA-256 of a scorecard's JSON without its ``digest``, however it is laid out.

    Raises:
        ValueError: at a number that is not finite, which JSON cannot hold.
    """
    rest = {name: value for name, value in data.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
