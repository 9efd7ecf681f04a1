"""The models of an audit: what a paper claims, what it states and what it leaves out.

Strict pydantic models: unknown fields are refused, nothing is coerced, every field is documented
(the documentation is the JSON Schema that editors show). An audit holds facts only: no code, no
includes, no templates. What can be derived is not written: the underspecification ledger, the
documentation score and the hash of a rule are computed here.

The models check one node at a time. What spans nodes (does the claim's measurement exist?) is in
`reproaudit.audit.rules`, so that every fault keeps its own place in the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from reproaudit.cell import SettingValue
from reproaudit.checks import Check
from reproaudit.checks.measurements import Axis, Declaration, Name, Quantity, StrictModel

__all__ = ["Axis", "Declaration", "Quantity"]

Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
Text = Annotated[str, Field(min_length=1)]
ClaimId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*\.[a-z0-9][a-z0-9-]*$")]
TierName = Literal["smoke", "quick", "paper"]

TIERS: tuple[TierName, ...] = ("smoke", "quick", "paper")
"""From the smallest to the paper's own scale."""


class Source(StrEnum):
    """Where a value comes from, from the strongest to the weakest."""

    PAPER = "paper"
    CARD = "card"
    AUTHORS_CODE = "authors_code"
    REVIEWS = "reviews"
    DERIVED = "derived"
    RECALLED = "recalled"
    ASSUMPTION = "assumption"


# --- the paper and its documentation ------------------------------------------------------------


class Paper(StrictModel):
    """Which paper is audited."""

    slug: Slug
    """The paper's short name; the file's own stem."""
    title: Text
    """The title as published."""
    authors: tuple[Text, ...] = Field(min_length=1)
    """The authors in the paper's order."""
    venue: Text
    """Where it was published."""
    year: int = Field(ge=1900, le=2100)
    """When it was published."""
    arxiv: Annotated[str, Field(pattern=r"^\d{4}\.\d{4,5}$")] | None = None
    """The arXiv identifier, without version."""
    openreview: Text | None = None
    """The OpenReview forum's identifier."""
    code: Text | None = None
    """The authors' public repository, with the revision that was read."""


class VariableName(StrEnum):
    """The nine reproducibility variables."""

    RESEARCH_TYPE = "Research Type"
    RESEARCHER_AFFILIATION = "Researcher Affiliation"
    PSEUDOCODE = "Pseudocode"
    OPEN_SOURCE_CODE = "Open Source Code"
    OPEN_DATASETS = "Open Datasets"
    DATASET_SPLITS = "Dataset Splits"
    HARDWARE_SPECIFICATION = "Hardware Specification"
    SOFTWARE_DEPENDENCIES = "Software Dependencies"
    EXPERIMENT_SETUP = "Experiment Setup"


class Classification(StrictModel):
    """What the reproducibility card's automated classification says."""

    result: Text
    """Yes or No; for the two unscored variables the type or the affiliation."""
    as_of: date
    """When the card was read."""


class ReviewDecision(StrEnum):
    """A reviewer's answer to the card."""

    AGREE = "agree"
    DISAGREE = "disagree"
    NOT_APPLICABLE = "not_applicable"


class Review(StrictModel):
    """One reviewer's decision on one variable."""

    reviewer: Text
    """Who decided: a name, an initial or a role."""
    decision: ReviewDecision
    """Whether the reviewer agrees with the card, or holds the variable not applicable."""
    reason: Text
    """Why, in a sentence."""
    as_of: date
    """When it was decided."""


class Evidence(StrictModel):
    """What the paper shows about a variable, in our own words."""

    statement: Text
    """A paraphrase."""
    locator: Text
    """Where it stands: section, appendix, page, or the card's row."""


class Variable(StrictModel):
    """One reproducibility variable: the card's word, the reviewers' and the evidence."""

    name: VariableName
    """One of the nine."""
    card: Classification
    """The automated classification."""
    reviews: tuple[Review, ...] = Field(min_length=1)
    """The reviewers' decisions."""
    evidence: tuple[Evidence, ...] = Field(min_length=1)
    """What the decision rests on."""


# --- settings -----------------------------------------------------------------------------------


class Scaled(StrictModel):
    """What a smaller tier runs instead of a setting's value."""

    value: SettingValue
    """The value at that tier."""
    reason: Text
    """Why this value still shows the phenomenon, or why the setting must shrink."""


class Contradiction(StrictModel):
    """Another source that states another value."""

    value: SettingValue
    """What the other source says."""
    source: Source
    """Which source."""
    locator: Text
    """Where it says so."""


class Setting(StrictModel):
    """A value at the paper's scale, with its source."""

    value: SettingValue
    """What is run at the paper tier."""
    source: Source
    """Where the value comes from; an assumption is a guess of ours."""
    locator: Text | None = None
    """Where the source states it; needed unless it is an assumption."""
    why: Text | None = None
    """Of an assumption: why this value and no other."""
    alternatives: tuple[SettingValue, ...] = ()
    """Of an assumption: what a careful reader might equally have chosen."""
    contradicted_by: tuple[Contradiction, ...] = ()
    """Sources that state another value."""
    quick: Scaled | None = None
    """The value at the quick tier, when it differs."""
    smoke: Scaled | None = None
    """The value at the smoke tier, when it differs from the quick one."""

    @model_validator(mode="after")
    def _sourced(self) -> Self:
        if self.source is Source.ASSUMPTION:
            if self.why is None:
                raise ValueError("an assumption needs 'why': say what speaks for the value")
            if not self.alternatives:
                raise ValueError(
                    "an assumption needs 'alternatives': list the values that a careful reader "
                    "might equally have chosen"
                )
        elif self.locator is None:
            raise ValueError(
                f"a setting from source '{self.source}' needs a 'locator': say where it stands"
            )
        return self

    @property
    def underspecified(self) -> bool:
        """Whether the setting belongs to the ledger."""
        return self.source is Source.ASSUMPTION or bool(self.contradicted_by)

    @property
    def others(self) -> tuple[SettingValue, ...]:
        """What else it could be: the alternatives and what other sources say, without repeats."""
        every = [*self.alternatives, *(c.value for c in self.contradicted_by)]
        return tuple(v for i, v in enumerate(every) if v != self.value and v not in every[:i])

    def at(self, tier: TierName) -> SettingValue:
        """The value at a tier; smoke falls back to quick, quick to the paper's value."""
        if tier == "smoke" and self.smoke is not None:
            return self.smoke.value
        if tier in ("smoke", "quick") and self.quick is not None:
            return self.quick.value
        return self.value


class LedgerEntry(StrictModel):
    """One line of the underspecification ledger: a setting that the paper leaves open."""

    experiment: Name | None
    """The experiment whose setting it is; None if all experiments share it."""
    name: Name
    """The setting."""
    setting: Setting
    """Its value, why, and what else it could be."""


# --- experiments and claims ---------------------------------------------------------------------


class ExperimentSpec(StrictModel):
    """What is run: settings beside those that all experiments share, and what it measures."""

    title: Text
    """What is run, in a few words."""
    settings: dict[Name, Setting] = Field(default_factory=dict)
    """This experiment's own settings; one of the same name replaces the shared one."""
    measurements: dict[Name, Declaration] = Field(min_length=1)
    """What it measures."""


class Control(StrictModel):
    """An experiment on which the same checks must fail (or, of a positive control, must pass)."""

    experiment: Name
    """Which experiment is run."""
    settings: dict[Name, SettingValue] = Field(default_factory=dict)
    """The settings that differ from the claim's own experiment."""
    substitutes: dict[Name, Name] = Field(default_factory=dict)
    """Measurement of the claim's checks -> the measurement that is judged in its place, such as a
    distance to another run's target. Without settings beside it nothing is run again."""
    why: Text
    """What the control lacks, or how the positive control is constructed."""
    scale: Literal["quick", "same"] = "quick"
    """At the paper tier: whether the control runs at quick scale or at the paper's."""

    @model_validator(mode="after")
    def _differs(self) -> Self:
        if not self.settings and not self.substitutes:
            raise ValueError("state settings or substitutes: what the control does differently")
        return self


class NoPositiveControl(StrictModel):
    """No solution can be constructed on which the check must pass."""

    not_constructible: Text
    """Why not."""


class Claim(StrictModel):
    """One claim of the paper, with the rule by which it is judged."""

    id: ClaimId
    """Permanent: the slug, a dot, and words joined by hyphens."""
    statement: Text
    """The claim in our own words."""
    locator: Text
    """Where the paper makes it."""
    weight: float = Field(gt=0, le=1)
    """How much of the paper's message rests on it."""
    experiment: Name
    """The experiment whose measurements are judged."""
    checks: tuple[Check, ...] = Field(min_length=1)
    """The parts of the claim, in order; all must be met."""
    controls: tuple[Control, ...] = Field(min_length=1)
    """Experiments on which the checks must fail; each part must fail on at least one."""
    positive_control: Control | NoPositiveControl
    """A constructed solution on which every check must pass, or why there is none."""
    if_diverged: Literal["missed", "technical_failure"] = "technical_failure"
    """What a seed that diverged means."""


class Effect(StrictModel):
    """What another value of one setting was measured to change in one claim.

    The fields are those that `reproaudit multiverse --json` prints for an alternative.
    """

    claim: ClaimId
    """The claim whose measure was compared."""
    setting: Name
    """The setting that was varied."""
    value: SettingValue
    """The value that was run instead."""
    found: Literal["decisive", "matters", "harmless"]
    """decisive: the decision flips; matters: beyond noise and margin, same decision; harmless:
    equivalent within the claim's margin."""
    tier: Literal["quick", "paper"]
    """The scale at which it was run."""
    difference: float
    """From the audit's own value, on the scale on which the claim is judged."""
    low: float
    """Lower end of the difference's interval."""
    high: float
    """Upper end of the difference's interval."""
    as_of: date
    """When it was run."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low <= self.difference <= self.high:
            raise ValueError("'difference' must lie between 'low' and 'high'")
        return self


class Finding(StrictModel):
    """A discrepancy between paper, card, code and practice."""

    id: ClaimId
    """Permanent."""
    kind: Literal["contradiction", "omission", "defect", "staleness", "observation"]
    """contradiction: sources disagree; omission: nobody says; defect: something does not work;
    staleness: true once, not now; observation: what a run showed."""
    statement: Text
    """What was found."""
    sources: tuple[Text, ...] = Field(min_length=1)
    """Where it was found."""
    as_of: date
    """When it was found."""
    settings: tuple[Name, ...] = ()
    """The settings that it concerns."""
    claims: tuple[ClaimId, ...] = ()
    """The claims that it may affect."""
    effect: Text | None = None
    """What it was measured to change, in words, if it was measured."""
    effects: tuple[Effect, ...] = ()
    """What it was measured to change, in numbers: a multiverse run's."""


class Response(StrictModel):
    """What the authors, or others concerned, answer to a finding or a verdict."""

    to: ClaimId
    """The id of the finding or of the claim that is answered."""
    by: Text
    """Who answers: a name or a role."""
    statement: Text
    """The answer, in their words or a fair summary of them."""
    locator: Text | None = None
    """Where the answer stands, if it is public."""
    as_of: date
    """When it was given."""


class NotAudited(StrictModel):
    """A claim of the paper that this audit leaves out."""

    statement: Text
    """The claim in our own words."""
    locator: Text
    """Where the paper makes it."""
    reason: Text
    """Why it is not audited."""


class Figure(StrictModel):
    """A picture on the scorecard."""

    id: Name
    """The figure's name."""
    kind: Literal["curves", "matrices", "comparison"]
    """curves: series over steps with seed bands; matrices: heat maps with numbers; comparison: an
    array along an axis with error bars."""
    experiment: Name
    """The experiment whose measurements it shows."""
    measurements: tuple[Name, ...] = Field(min_length=1)
    """What it shows."""
    title: Text
    """What the reader should look for."""
    axis: Name | None = None
    """Of a comparison: the horizontal axis."""
    log: bool = False
    """Whether the vertical axis is logarithmic."""


class Tiers(StrictModel):
    """The seeds of each tier; they belong to the rule."""

    smoke: tuple[int, ...] = Field(default=(0,), min_length=1)
    """Seeds of the smoke tier, which judges nothing."""
    quick: tuple[int, ...] = Field(min_length=5)
    """Seeds of the quick tier; at least 5."""
    paper: tuple[int, ...] = Field(min_length=5)
    """Seeds of the paper tier; at least 5."""


class Audit(StrictModel):
    """Everything that is known about one paper's reproducibility, as data."""

    schema_version: Literal[1]
    """The version of this format."""
    paper: Paper
    """Which paper."""
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    """Two-sided confidence of the intervals that decide."""
    seeds: Tiers
    """Which seeds each tier runs."""
    variables: tuple[Variable, ...]
    """The nine reproducibility variables."""
    settings: dict[Name, Setting] = Field(default_factory=dict)
    """Settings that all experiments share."""
    experiments: dict[Name, ExperimentSpec] = Field(min_length=1)
    """What is run."""
    claims: tuple[Claim, ...] = Field(min_length=1)
    """What is judged."""
    not_audited: tuple[NotAudited, ...] = ()
    """Claims of the paper that are not judged here, with the reason."""
    findings: tuple[Finding, ...] = ()
    """Discrepancies."""
    responses: tuple[Response, ...] = ()
    """Answers to findings and verdicts, shown beside them."""
    figures: tuple[Figure, ...] = ()
    """Pictures on the scorecard."""

    def settings_of(self, experiment: str) -> dict[str, Setting]:
        """The settings of an experiment: the shared ones and its own, which win."""
        return {**self.settings, **self.experiments[experiment].settings}

    def value_of(self, experiment: str, name: str, tier: TierName) -> SettingValue | None:
        """The value of one setting of an experiment at a tier; None if it has no such setting."""
        own = self.experiments[experiment].settings
        setting = own[name] if name in own else self.settings.get(name)
        return setting.at(tier) if setting is not None else None

    def values_of(
        self, experiment: str, tier: TierName, overrides: Mapping[str, SettingValue] | None = None
    ) -> dict[str, SettingValue]:
        """The values that an experiment runs with at a tier, with some replaced."""
        values = {name: s.at(tier) for name, s in self.settings_of(experiment).items()}
        return {**values, **(overrides or {})}

    def ledger(self) -> Iterator[LedgerEntry]:
        """The underspecification ledger: every setting that is assumed or contradicted."""
        for name, setting in self.settings.items():
            if setting.underspecified:
                yield LedgerEntry(experiment=None, name=name, setting=setting)
        for experiment, one in self.experiments.items():
            for name, setting in one.settings.items():
                if setting.underspecified:
                    yield LedgerEntry(experiment=experiment, name=name, setting=setting)

    def rule(self, claim: Claim, tier: TierName) -> dict[str, Any]:
        """Everything that decides a claim at a tier, besides the measurements, as plain data.

        Reasons are left out, since no decision hangs on how they are worded. The quick tier's seeds
        are those of controls that run at its scale.
        """
        worded = {"reason", "why", "not_constructible"}
        controls = [c for c in (*claim.controls, claim.positive_control) if isinstance(c, Control)]
        tiers = {tier} | {"quick" for c in controls if tier == "paper" and c.scale == "quick"}
        return {
            "id": claim.id,
            "experiment": claim.experiment,
            "checks": [one.model_dump(mode="json", exclude=worded) for one in claim.checks],
            "controls": [one.model_dump(mode="json", exclude=worded) for one in claim.controls],
            "positive_control": claim.positive_control.model_dump(mode="json", exclude=worded),
            "if_diverged": claim.if_diverged,
            "confidence": self.confidence,
            "seeds": {name: list(getattr(self.seeds, name)) for name in sorted(tiers)},
        }

    def rule_hash(self, claim: Claim, tier: TierName) -> str:
        """The hash of a claim's rule at a tier."""
        rule = self.rule(claim, tier)
        canonical = json.dumps(rule, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]
