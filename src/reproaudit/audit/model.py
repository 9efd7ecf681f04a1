"""The models of an audit: what a paper claims, what it states and what it leaves out.

Strict pydantic models: an unknown field is an error, no value is converted, and every field is
documented below it; these texts become the JSON Schema that editors show. An audit holds facts
only: no code, no includes, no templates. What can be derived is computed and never written.

A model checks one node of the file. `reproaudit.audit.rules` checks what spans several nodes, for
example that a claim's measurement is declared.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr

from reproaudit.audit.claims import ArmSpec, Claim
from reproaudit.audit.findings import Finding, NotAudited
from reproaudit.audit.settings import TIERS, Setting, Source, TierName
from reproaudit.audit.variables import Text, Variable, at_most_words
from reproaudit.cell import SettingValue
from reproaudit.declarations import Declaration, Name, StrictModel

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
    read: tuple[Text, ...] = ()
    """What was read of the paper, in a few words each: its text, its card, the authors' code."""


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

    runs: RunCounts | None = None
    """The experiment's own numbers of runs."""
    training_loss: Name | None = None
    """The series that shows how far a run trained, if it is not the audit's own."""
    stages: tuple[Stage, ...] = ()
    """The stages that the training is divided into, in order, for the pictures; left out where
    training is not divided. Together they are all of the training."""


class RunCounts(StrictModel):
    """The numbers of runs of each tier; the smoke tier has one, and judges nothing."""

    quick: int = Field(default=5, ge=1)
    """Runs of every arm at the quick tier."""
    paper: int = Field(default=15, ge=1)
    """Runs of a claim's own experiment at the paper tier, of its readings, and of what is compared
    with them run by run."""
    arms: int = Field(default=5, ge=1)
    """Runs at the paper tier of every other null, ablation, constructed solution, alternative."""

    def at(self, tier: TierName, own: bool) -> int:
        """Return the number of runs of an arm at a tier."""
        if tier == "smoke":
            return 1
        if tier == "quick":
            return self.quick
        return self.paper if own else self.arms


class Audit(StrictModel):
    """An audit: everything that is known about one paper's reproducibility, as data."""

    schema_version: Literal[2]
    """The version of this format, 2."""
    paper: Paper
    """The paper that is audited."""
    about: Annotated[Text, at_most_words(45)] | None = None
    """What a reader must know of the task and its symbols, in at most 45 words."""
    runs: RunCounts = RunCounts()
    """The numbers of runs of each tier; an experiment may have its own."""
    variables: tuple[Variable, ...]
    """The nine reproducibility variables, each once."""
    settings: dict[Name, Setting] = Field(default_factory=dict)
    """Settings that all experiments share, by name. An experiment may replace one by its own."""
    measurements: dict[Name, Declaration] = Field(default_factory=dict)
    """Measurements that several experiments make, declared once, by name. Every experiment makes
    all of them unless it lists some under `measures`; it may replace one by its own."""
    training_loss: Name | None = None
    """The series that shows how far a run trained; an experiment may name its own."""
    experiments: dict[Name, ExperimentSpec] = Field(default_factory=dict)
    """The experiments that are run, by name. None where only the documentation is audited."""
    arms: dict[Name, ArmSpec] = Field(default_factory=dict)
    """Arms that several claims use, declared once, by name: nulls, ablations, constructed
    solutions."""
    claims: tuple[Claim, ...] = ()
    """The claims that are judged. None where only the documentation is audited."""
    not_audited: tuple[NotAudited, ...] = ()
    """Claims of the paper that are not judged here, with the reason."""
    findings: tuple[Finding, ...] = ()
    """Discrepancies between the paper, the card, the authors' code and practice."""

    _salt: str = PrivateAttr(default="")

    @property
    def salt(self) -> str:
        """The word from which, with its rules, the paper tier's seeds follow; empty for none."""
        return self._salt

    def salted(self, word: str) -> Audit:
        """Return this audit with other seeds at the paper tier, which follow from a word, too."""
        copy = self.model_copy()
        copy._salt = word
        return copy

    def settings_of(self, experiment: str) -> Mapping[str, Setting]:
        """Return the settings of an experiment by name: the shared ones, replaced by its own."""
        return ChainMap(self.experiments[experiment].settings, self.settings)

    def values_of(
        self, experiment: str, tier: TierName, overrides: Mapping[str, SettingValue] | None = None
    ) -> dict[str, SettingValue]:
        """Return the values that an experiment runs with at a tier, some of them overridden."""
        values = {name: s.at(tier) for name, s in self.settings_of(experiment).items()}
        return {**values, **(overrides or {})}

    @cached_property
    def declared(self) -> dict[str, Mapping[str, Declaration]]:
        """Every experiment's measurements by name: the shared ones, replaced by its own."""
        shared = self.measurements
        return {
            name: ChainMap(
                one.measurements,
                shared
                if one.measures is None
                else {other: shared[other] for other in one.measures if other in shared},
            )
            for name, one in self.experiments.items()
        }

    def measurements_of(self, experiment: str) -> Mapping[str, Declaration]:
        """Return an experiment's measurements by name: the shared ones, replaced by its own."""
        return self.declared[experiment]

    def declaration(self, experiment: str, measurement: str) -> Declaration | None:
        """Return the declaration of an experiment's measurement; None if there is none."""
        return self.declared.get(experiment, {}).get(measurement)

    def runs_of(self, experiment: str) -> RunCounts:
        """Return the numbers of runs of an experiment."""
        return self.experiments[experiment].runs or self.runs

    def training_loss_of(self, experiment: str) -> str | None:
        """Return the series that shows how far a run of an experiment trained, if it makes one."""
        name = self.experiments[experiment].training_loss or self.training_loss
        return name if name and self.declaration(experiment, name) is not None else None
