"""The models of an audit: what a paper claims, what it states and what it leaves out.

Strict pydantic models: an unknown field is an error, no value is converted, and every field is
documented below it; these texts become the JSON Schema that editors show. An audit holds facts
only: no code, no includes, no templates. What can be derived is computed here and never written:
the ledger of underspecified settings, and the hash of a claim's rule.

A model checks one node of the file. `reproaudit.audit.rules` checks what spans several nodes, for
example that a claim's measurement is declared.
"""

from __future__ import annotations

import hashlib
import json
from collections import ChainMap
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, PrivateAttr, Tag, model_validator

from reproaudit.audit.disputes import Dispute, SignOff
from reproaudit.audit.findings import ClaimId, Finding, NotAudited, Response
from reproaudit.audit.settings import TIERS, Setting, Source, TierName, Value
from reproaudit.audit.variables import Text, Variable
from reproaudit.cell import SettingValue
from reproaudit.checks import Check
from reproaudit.checks.measurements import Declaration, Name, StrictModel

__all__ = ["TIERS", "Setting", "Source", "Text", "TierName"]

Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]


class Paper(StrictModel):
    """The paper that is audited."""

    slug: Slug
    """The paper's short name, for example ahn2023. The file is called `SLUG.yaml`."""
    title: Text
    """The title as published."""
    authors: tuple[Text, ...] = Field(min_length=1)
    """The authors in the paper's order."""
    venue: Text
    """The conference, journal or archive that published the paper."""
    year: int = Field(ge=1900, le=2100)
    """The year of publication."""
    arxiv: Annotated[str, Field(pattern=r"^\d{4}\.\d{4,5}$")] | None = None
    """The arXiv identifier in quotes and without version, for example "2306.00297"."""
    openreview: Text | None = None
    """The identifier of the OpenReview forum."""
    code: Text | None = None
    """The authors' public repository, with the revision that was read."""


class LedgerEntry(StrictModel):
    """One line of the underspecification ledger: a setting that the paper leaves open."""

    experiment: Name | None
    """The experiment that the setting belongs to; None if all experiments share it."""
    name: Name
    """The setting's name."""
    setting: Setting
    """The setting: its value, the reason for it, and its alternatives."""


class Stage(StrictModel):
    """One stretch of an experiment's training, as the paper divides it."""

    name: Text
    """A short name, as the paper numbers it: I, II, neurons."""
    about: Text
    """The model that is trained, or what happens in the experiment, in a few words."""
    steps: Name
    """The name of the setting that says how many steps it lasts: a whole number, or a list with one
    for each stage."""


class ExperimentSpec(StrictModel):
    """An experiment: its settings beside the shared ones, and its measurements."""

    title: Text
    """A few words that say what is run."""
    settings: dict[Name, Setting] = Field(default_factory=dict)
    """The experiment's own settings by name. One with the name of a shared setting replaces it."""
    measures: tuple[Name, ...] | None = None
    """Names of the shared measurements (the audit's own `measurements`) that this experiment
    makes. All of them if left out; `[]` for none."""
    measurements: dict[Name, Declaration] = Field(default_factory=dict)
    """Measurements of this experiment alone, by name. One with the name of a shared measurement
    replaces it."""

    stages: tuple[Stage, ...] = ()
    """The stages that the training is divided into, in order, for the pictures; left out where
    training is not divided. Together they are all of the training."""

    @cached_property
    def chosen(self) -> frozenset[str] | None:
        """The names under `measures` as a set; None if every shared measurement is made."""
        return None if self.measures is None else frozenset(self.measures)


REASONS_THAT_COUNT = ("loss_stays", "scale_reason")
"""Fields of a control of which it decides that they are there, and nothing what they say."""


class Control(StrictModel):
    """A run on which the claim's checks must fail; of a positive control, must pass."""

    name: Name | None = None
    """The name by which a check's `ablation` refers to a control that is written in its claim; a
    shared control has its name under the audit's own `controls`."""
    experiment: Name | None = None
    """The experiment that is run; the claim's own if left out."""
    settings: dict[Name, Value] = Field(default_factory=dict)
    """The settings that differ from the claim's own run, by name, with their values."""
    substitutes: dict[Name, Name] = Field(default_factory=dict)
    """Replaces a measurement that the claim's checks read (left) by another one of the control's
    experiment (right), for example a distance to the target of another run. Without `settings`
    beside it nothing is run again."""
    why: Text
    """The part of the mechanism that the control lacks; of a positive control, the way in which its
    solution is constructed."""
    scale: Literal["quick", "same"] = "quick"
    """The control's scale at the paper tier: `quick` for the quick tier's, `same` for the
    paper's."""
    scale_reason: Text | None = None
    """Of a control that runs at another scale than its claim, for example for fewer steps or for
    more: why it may."""
    loss_stays: Text | None = None
    """Of a control whose training loss cannot fall: why not, by what the control is, for example
    because its labels do not depend on its inputs. It then needs only parameters that moved."""

    @model_validator(mode="after")
    def _differs(self) -> Self:
        if not self.settings and not self.substitutes:
            raise ValueError("state settings or substitutes: what the control does differently")
        return self


class NoPositiveControl(StrictModel):
    """The statement that no solution can be constructed on which the checks must pass."""

    not_constructible: Text
    """The reason why no such solution can be constructed."""


def _form_of_control(value: Any) -> str:
    if isinstance(value, str):
        return "name"
    if isinstance(value, NoPositiveControl) or (
        isinstance(value, Mapping) and "not_constructible" in value
    ):
        return "reason"
    return "control"


Named = Annotated[Name, Tag("name")]
Written = Annotated[Control, Tag("control")]
AnyControl = Annotated[Named | Written, Discriminator(_form_of_control)]
AnyPositiveControl = Annotated[
    Named | Written | Annotated[NoPositiveControl, Tag("reason")],
    Discriminator(_form_of_control),
]


class Movement(StrictModel):
    """The measurements that show whether a run trained at all, so that inert controls are found."""

    parameters: Name
    """A number for each run: the norm of the change of all trained parameters over training, or
    over the stage of it that a claim reads, divided by their norm at the start."""
    training_loss: Name
    """A number for each run: the size of the change of the training loss over the same stretch,
    divided by its size at the start."""
    at_least: float = Field(gt=0)
    """A control whose training loss moved by less is inert, and counts for nothing; where the loss
    stays (`loss_stays`, here or of the control), if its parameters moved by less as well."""
    loss_stays: Text | None = None
    """Why no run's training loss can fall by `at_least`, by the equations; left out where it can.
    Every run then needs only parameters that moved, the claim's own as well as its controls'."""
    reason: Text
    """Why a run that moved by this much has trained."""


class Claim(StrictModel):
    """One claim of the paper, with the rule by which it is judged."""

    id: ClaimId
    """A permanent id: the slug, a dot, and words joined by hyphens. It is never reused."""
    statement: Text
    """The claim in your own words."""
    locator: Text
    """The place where the paper makes the claim."""
    weight: float = Field(gt=0, le=1)
    """The share of the paper's message that rests on the claim: 1 for the main claim, less for the
    others."""
    experiment: Name
    """The name of the experiment whose measurements are judged."""
    checks: tuple[Check, ...] = Field(min_length=1)
    """The parts of the claim in order. The claim is met if every part is met."""
    controls: tuple[AnyControl, ...] = Field(min_length=1)
    """Runs that lack the claimed mechanism. Each check must fail on the one that it names as its
    `ablation`, which it need not where there is a single one. Each entry is a control, or the name
    of one under the audit's own `controls`."""
    positive_control: AnyPositiveControl
    """A constructed solution on which every check must pass, the name of one under the audit's own
    `controls`, or `not_constructible` with the reason why there is none."""
    trains: bool = True
    """false for a claim that something exists: nothing is trained, its ablation takes away a part
    of what is built, and rules on learning do not apply."""
    movement: Movement | None = None
    """Of a claim on one stage of a training: how far that stage moved, in place of the audit's own
    `movement`."""
    if_diverged: Literal["missed", "technical_failure"] = "technical_failure"
    """The meaning of a seed whose run diverged: the check counts as missed, or there is no
    verdict."""


class Figure(StrictModel):
    """A figure on the scorecard."""

    id: Name
    """The figure's name; no other figure of the audit has it."""
    kind: Literal["curves", "matrices", "comparison"]
    """curves: series over training steps, with the spread over seeds; matrices: heat maps with
    numbers; comparison: an array along one axis, with error bars."""
    experiment: Name
    """The name of the experiment whose measurements are shown."""
    measurements: tuple[Name, ...] = Field(min_length=1)
    """The names of the measurements that are shown."""
    title: Text
    """The title: what the reader should look for."""
    axis: Name | None = None
    """Of a comparison: the name of the horizontal axis."""
    log: bool = False
    """true for a logarithmic vertical axis."""


class Tiers(StrictModel):
    """The number of runs that each tier has, as a list of so many seeds.

    The smoke and quick tiers run 0, 1, 2 and so on; the paper tier's follow from the rule
    (`reproaudit.audit.seeds`).
    """

    smoke: tuple[int, ...] = Field(default=(0,), min_length=1)
    """The seeds of the smoke tier, which only shows that everything runs and judges nothing."""
    quick: tuple[int, ...] = Field(default=(0, 1, 2, 3, 4), min_length=5)
    """The seeds of the quick tier, at least 5."""
    paper: tuple[int, ...] = Field(default=(0, 1, 2, 3, 4), min_length=5)
    """The seeds of the paper tier, at least 5."""


class Audit(StrictModel):
    """An audit: everything that is known about one paper's reproducibility, as data."""

    schema_version: Literal[1]
    """The version of this format, 1."""
    paper: Paper
    """The paper that is audited."""
    confidence: float = Field(default=0.95, ge=0.9, lt=1)
    """The two-sided confidence of the intervals that decide, for example 0.95."""
    seeds: Tiers = Tiers()
    """The seeds that each tier runs."""
    variables: tuple[Variable, ...]
    """The nine reproducibility variables, each once."""
    settings: dict[Name, Setting] = Field(default_factory=dict)
    """Settings that all experiments share, by name. An experiment may replace one by its own."""
    measurements: dict[Name, Declaration] = Field(default_factory=dict)
    """Measurements that several experiments make, declared once, by name. Every experiment makes
    all of them unless it lists some under `measures`; it may replace one by its own."""
    movement: Movement | None = None
    """The measurements that tell a control that trained from an inert one; of every claim that does
    not name its own."""
    experiments: dict[Name, ExperimentSpec] = Field(default_factory=dict)
    """The experiments that are run, by name. None where only the documentation is audited."""
    controls: dict[Name, Control] = Field(default_factory=dict)
    """Controls that several claims use, declared once, by name. A claim names them under its
    `controls` or as its `positive_control`."""
    claims: tuple[Claim, ...] = ()
    """The claims that are judged. None where only the documentation is audited."""
    not_audited: tuple[NotAudited, ...] = ()
    """Claims of the paper that are not judged here, with the reason."""
    findings: tuple[Finding, ...] = ()
    """Discrepancies between the paper, the card, the authors' code and practice."""
    responses: tuple[Response, ...] = ()
    """Answers of the authors and others to findings and verdicts, shown beside them."""
    disputes: tuple[Dispute, ...] = ()
    """Objections of reviewers to claims, tolerances, controls and sources of settings."""
    sign_offs: tuple[SignOff, ...] = ()
    """The reviewers who reviewed a version of this audit. `reproaudit review` writes them."""
    figures: tuple[Figure, ...] = ()
    """The figures on the scorecard."""

    _salt: str = PrivateAttr(default="")
    _given_seeds: Mapping[TierName, tuple[int, ...]] = PrivateAttr(default_factory=dict)

    @property
    def salt(self) -> str:
        """The word from which, with its rules, the paper tier's seeds follow; empty for none."""
        return self._salt

    @property
    def given_seeds(self) -> Mapping[TierName, tuple[int, ...]]:
        """Seeds of tiers that stand in place of its own, as of runs that others made."""
        return self._given_seeds

    def salted(self, word: str) -> Audit:
        """Returns this audit with other seeds at the paper tier, which follow from a word, too."""
        copy = self.model_copy()
        copy._salt = word
        return copy

    def with_seeds(self, given: Mapping[TierName, tuple[int, ...]]) -> Audit:
        """Returns this audit with these seeds at some tiers."""
        copy = self.model_copy()
        copy._given_seeds = dict(given)
        return copy

    def settings_of(self, experiment: str) -> dict[str, Setting]:
        """The settings of an experiment by name: the shared ones, replaced by its own."""
        return {**self.settings, **self.experiments[experiment].settings}

    def setting_of(self, experiment: str, name: str) -> Setting | None:
        """One setting of an experiment; None if it has no such setting."""
        own = self.experiments[experiment].settings.get(name)
        return own if own is not None else self.settings.get(name)

    def value_of(self, experiment: str, name: str, tier: TierName) -> SettingValue | None:
        """The value of one setting of an experiment at a tier; None if it has no such setting."""
        setting = self.setting_of(experiment, name)
        return setting.at(tier) if setting is not None else None

    def values_of(
        self, experiment: str, tier: TierName, overrides: Mapping[str, SettingValue] | None = None
    ) -> dict[str, SettingValue]:
        """The values that an experiment runs with at a tier, some of them overridden."""
        values = {name: s.at(tier) for name, s in self.settings_of(experiment).items()}
        return {**values, **(overrides or {})}

    def measurements_of(self, experiment: str) -> Mapping[str, Declaration]:
        """The measurements of an experiment by name: the shared ones, replaced by its own."""
        one = self.experiments[experiment]
        shared = self.measurements
        if one.measures is not None:
            shared = {name: shared[name] for name in one.measures if name in shared}
        return ChainMap(one.measurements, shared)

    def declaration(self, experiment: str, measurement: str) -> Declaration | None:
        """The declaration of an experiment's measurement; None if it has none of this name."""
        one = self.experiments.get(experiment)
        if one is None:
            return None
        own = one.measurements.get(measurement)
        if own is not None or (one.chosen is not None and measurement not in one.chosen):
            return own
        return self.measurements.get(measurement)

    def movement_of(self, claim: Claim) -> Movement | None:
        """The measurements that show whether a claim's runs trained: its own, else the audit's."""
        return claim.movement or self.movement

    def controls_of(self, claim: Claim) -> tuple[Control, ...]:
        """The controls of a claim in order, shared ones written out, each with its experiment."""
        return tuple(self.control(claim, one) for one in claim.controls)

    def positive_control_of(self, claim: Claim) -> Control | NoPositiveControl:
        """The positive control of a claim with its experiment, or why there is none."""
        one = claim.positive_control
        return one if isinstance(one, NoPositiveControl) else self.control(claim, one)

    def control(self, claim: Claim, written: Control | str) -> Control:
        """A control, or the shared one of a name, as a claim uses it: with its experiment.

        A shared control has the name under which it is shared.
        """
        if isinstance(written, str):
            one = self.controls[written].model_copy(update={"name": written})
        else:
            one = written
        if one.experiment is not None:
            return one
        return one.model_copy(update={"experiment": claim.experiment})

    def ablations_of(self, claim: Claim) -> tuple[Control, ...]:
        """The controls of a claim that answer for some part of it; all if a part names none."""
        controls = self.controls_of(claim)
        named = {check.ablation for check in claim.checks}
        return tuple(c for c in controls if None in named or c.name in named)

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

        Reasons are left out, since no decision depends on their wording, and so are names of
        controls by which no part calls its ablation. Of a reason that decides by being there,
        that alone is kept. At the paper tier the quick tier's seeds belong to it if a control
        runs at quick scale.
        """
        worded = {"reason", "why", "not_constructible", *REASONS_THAT_COUNT}
        ablations = {check.ablation for check in claim.checks}
        controls = [
            control if control.name in ablations else control.model_copy(update={"name": None})
            for control in self.controls_of(claim)
        ]
        positive, movement = self.positive_control_of(claim), self.movement_of(claim)
        at_quick = any(isinstance(c, Control) and c.scale == "quick" for c in (*controls, positive))
        tiers = {tier, "quick"} if tier == "paper" and at_quick else {tier}
        return {
            "id": claim.id,
            "experiment": claim.experiment,
            "checks": [
                one.model_dump(
                    mode="json",  # a field that came later leaves the rules without it as they were
                    exclude=worded if one.ablation_misses else {*worded, "ablation_misses"},
                )
                for one in claim.checks
            ],
            "controls": [
                one.model_dump(mode="json", exclude=worded)
                | {name: True for name in REASONS_THAT_COUNT if getattr(one, name)}
                for one in controls
            ],
            "positive_control": positive.model_dump(mode="json", exclude={*worded, "name"}),
            "if_diverged": claim.if_diverged,
            "trains": claim.trains,
            "movement": movement.model_dump(exclude=worded)
            | ({"loss_stays": True} if movement.loss_stays else {})
            if movement
            else None,
            "confidence": self.confidence,
            "seeds": {name: list(getattr(self.seeds, name)) for name in sorted(tiers)},
        }

    def rule_hash(self, claim: Claim, tier: TierName) -> str:
        """The hash of a claim's rule at a tier."""
        rule = self.rule(claim, tier)
        canonical = json.dumps(rule, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]
