"""The models of an audit: what a paper claims, what it states and what it leaves out.

Strict pydantic models: an unknown field is an error, no value is converted, and every field is
documented below it; these texts become the JSON Schema that editors show. An audit holds facts
only: no code, no includes, no templates. What can be derived is computed and never written.

A model checks one node of the file. `reproaudit.audit.rules` checks what spans several nodes, for
example that a claim's measurement is declared.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, Tag, model_validator

from reproaudit.cell import SettingValue, value_text
from reproaudit.checks import BOUND, Bound, Check, form
from reproaudit.declarations import (
    Coordinate,
    Declaration,
    Name,
    OneComplaint,
    Quantity,
    StrictModel,
    told_by,
)
from reproaudit.errors import UsageError, did_you_mean

Text = Annotated[str, Field(min_length=1)]


def at_most_words(most: int) -> AfterValidator:
    """Return a validator of a text's length."""

    def is_brief(text: str) -> str:
        if (count := len(text.split())) > most:
            raise ValueError(f"expected at most {most} words, not {count}")
        return text

    return AfterValidator(is_brief)


ClaimId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*\.[a-z0-9][a-z0-9_-]*$")]
"""The id of a claim or a finding: the slug, a dot, and words joined by hyphens or underscores."""

SettingName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$")]
"""A setting's name; ``experiment.setting`` for the own setting of one experiment."""

Slug = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]


# --- the nine variables ---------------------------------------------------------------------------


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


UNSCORED = frozenset({VariableName.RESEARCH_TYPE, VariableName.RESEARCHER_AFFILIATION})
"""The variables that describe the paper; the other seven are scored."""


class Classification(StrictModel):
    """The automated classification of one variable, as the reproducibility card gives it."""

    result: Text
    """The card's result, for example "Yes" or "No" (in quotes), Experimental, or Academia."""
    as_of: date
    """The day on which the card was read, YYYY-MM-DD."""


class Evidence(StrictModel):
    """A passage of the paper that the decision on a variable rests on."""

    statement: Text
    """The content of the passage in your own words, not a quotation."""
    locator: Text
    """The place of the passage: a section, appendix or page, or the row of the card."""


class AuthorsAnswer(StrictModel):
    """The authors' own answer about a variable, to a question of their conference's checklist."""

    answer: Literal["Yes", "No", "NA"]
    """Yes, No or NA (in quotes), as the checklist has it."""
    justification: Text | None = None
    """The authors' words, if they gave any."""
    locator: Text
    """The checklist, and the question by its number and title."""
    as_of: date
    """The day on which the checklist was read, YYYY-MM-DD."""


class Variable(StrictModel):
    """One reproducibility variable: the card's result and the evidence."""

    name: VariableName
    """The variable's name, one of the nine."""
    card: Classification | None = None
    """The automated classification on the reproducibility card, if the paper has one."""
    authors: tuple[AuthorsAnswer, ...] = ()
    """The authors' side: their answers in a conference's checklist. They count in no score."""
    evidence: tuple[Evidence, ...] = Field(min_length=1)
    """The passages of the paper that the decisions rest on."""


# --- settings -------------------------------------------------------------------------------------


TierName = Literal["smoke", "quick", "paper"]  # The scale of a run

TIERS: tuple[TierName, ...] = ("smoke", "quick", "paper")
"""The tiers, from the smallest to the paper's own scale."""


def known_tier(name: str) -> TierName:
    """Return the tier of that name; a UsageError if there is none."""
    for tier in TIERS:
        if name == tier:
            return tier
    raise UsageError(f"no tier '{name}'. {did_you_mean(name, TIERS)}".rstrip())


Single = Annotated[
    bool | int | float | str, OneComplaint("true or false, a number, text, or a list of these")
]
ListItem = Annotated[bool | int | float | str, OneComplaint("true or false, a number or text")]
Value = Annotated[
    Annotated[Single, Tag("single")] | Annotated[tuple[ListItem, ...], Tag("list")],
    told_by(list | tuple, "list", "single"),
]
"""A setting's value: `reproaudit.cell.SettingValue`, which complains once about a wrong type."""


class Source(StrEnum):
    """The source of a value, from the strongest to the weakest; the last two are guesses."""

    PAPER = "paper"
    CARD = "card"
    AUTHORS_CODE = "authors_code"
    REVIEWS = "reviews"
    REPRODUCTION = "reproduction"
    DERIVED = "derived"
    RECALLED = "recalled"
    ASSUMPTION = "assumption"


GUESSES = frozenset({Source.RECALLED, Source.ASSUMPTION})
"""The sources of a value that nobody states."""


Who = Annotated[str, Field(min_length=1, max_length=40)]
"""Whose statement something is, as pages name it: Zhang et al. 2022."""


class Scaled(StrictModel):
    """The value that a smaller tier runs in place of a setting's value."""

    value: Value
    """The value at this tier."""
    reason: Text
    """The reason why this value still shows the phenomenon, or why the setting must shrink."""


class Statement(StrictModel):
    """A further source that states a setting's value."""

    source: Source
    """The source; not a guess."""
    who: Who | None = None
    """Whose statement it is, where pages name that in place of the source: Zhang et al. 2022."""
    locator: Text
    """The place where it states the value: section, table, page, or file and line."""

    @model_validator(mode="after")
    def _stated(self) -> Self:
        if self.source in GUESSES:
            raise ValueError(f"found '{self.source}'; expected a source that states the value")
        return self


class Reading(StrictModel):
    """Another value that another source backs; both are run and judged."""

    canonical: ClassVar = form(
        "value together={}", "source who locator also_at quick words excused ours"
    )

    value: Value
    """The value that the other source states."""
    source: Source
    """The other source."""
    who: Who | None = None
    """Whose statement it is, where pages name that in place of the source: Zhang et al. 2022."""
    locator: Text
    """The place where the other source states it."""
    also_at: tuple[Statement, ...] = ()
    """Further sources that state that value, each with its place."""
    together: dict[Name, Value] = Field(default_factory=dict, alias="with")
    """Values of other settings that the same source states and that change along."""
    quick: dict[Name, Value] = Field(default_factory=dict)
    """What the quick tier runs smaller: of those, and of the value's own setting."""
    words: Text | None = None
    """What a page calls all values that change together, in a few words: the card's schedule; left
    out, what it calls the value."""
    excused: Text | None = None
    """Why the difference cannot matter, so that it need not be run."""
    ours: bool = False
    """Whether nobody states it and we ask it, so that it is no question to the authors."""


class Setting(StrictModel):
    """A setting's value at the paper's scale, with its source."""

    value: Value
    """The value that the paper tier runs: true or false, a number, text, or a list of these."""
    source: Source
    """The source of the value. `recalled` is known from memory without a place, `assumption` is
    ours; both are guesses and need `why`, and `alternatives` or `only_reading`."""
    who: Who | None = None
    """Whose statement it is, where pages name that in place of the source: Zhang et al. 2022."""
    locator: Text | None = None
    """The place where the source states the value: section, table, page, or file and line. Needed
    unless the source is an assumption."""
    also_at: tuple[Statement, ...] = ()
    """Further sources that state the same value, each with its place."""
    words: Text | None = None
    """What a page calls the setting, in a few words; left out, its name."""
    phrases: dict[Text, Text] = Field(default_factory=dict)
    """What a page calls a value of the setting: {sphere: codes on a sphere}, {"true": trained
    biases}; left out, the setting's words and the value."""
    why: Text | None = None
    """The reason for a guess, and why its alternatives are credible."""
    alternatives: tuple[Value, ...] = ()
    """Other values than a guess that a careful reader might equally have chosen."""
    unlikely: dict[Text, Text] = Field(default_factory=dict)
    """Alternatives to a guess that are less credible than the value, each with the reason:
    {"0.1": ten times what others use}. They change no outcome."""
    only_reading: Text | None = None
    """Why a guess has no alternatives: there is only one reading."""
    ours: bool = False
    """Whether we made it smaller or other, as of a stand-in, so that it is no question to the
    authors."""
    ask: Annotated[Text, at_most_words(25)] | None = None
    """The question to the authors about this setting, in at most 25 words; left out, the page asks
    for the value."""
    readings: tuple[Reading, ...] = ()
    """Values that other sources back. A finding states the difference."""
    quick: Scaled | None = None
    """The value at the quick tier, if it differs from the paper tier's."""
    smoke: Scaled | None = None
    """The value at the smoke tier, if it differs from the quick tier's."""

    @model_validator(mode="after")
    def _sourced(self) -> Self:
        if not self.guessed and self.locator is None:
            raise ValueError(
                f"a setting from source '{self.source}' needs 'locator': section, table, page, "
                "or file and line"
            )
        if self.guessed and self.who is not None:
            raise ValueError("found 'who' of a guess; expected it of what somebody states")
        if self.guessed and self.also_at:
            raise ValueError(
                f"found 'also_at' beside the source '{self.source}'; expected the source that "
                "states the value as 'source'"
            )
        if self.guessed and self.why is None:
            raise ValueError("a guess needs 'why': say what speaks for the value")
        if self.guessed and not self.alternatives and self.only_reading is None:
            raise ValueError(
                "a guess needs 'alternatives' that a careful reader might equally have chosen, or "
                "'only_reading': why there are none"
            )
        known = [value_text(alternative) for alternative in self.alternatives]
        if unknown := [alternative for alternative in self.unlikely if alternative not in known]:
            raise ValueError(
                f"'unlikely' names {unknown[0]!r}, which is none of the alternatives: "
                f"{', '.join(known) or 'there are none'}"
            )
        return self

    def is_credible(self, value: SettingValue) -> bool:
        """Tell whether an alternative is as credible as the value."""
        return value_text(value) not in self.unlikely

    @property
    def guessed(self) -> bool:
        """True if nobody states the value: assumed, or recalled without a place."""
        return self.source in GUESSES

    @property
    def side(self) -> str:
        """Whose value it is, else its source."""
        return self.who or self.source.value

    @property
    def underspecified(self) -> bool:
        """True if the setting belongs to the ledger: guessed, or read otherwise by sources."""
        return self.guessed or bool(self.readings)

    @property
    def others(self) -> tuple[SettingValue, ...]:
        """The alternatives and the readings, without repetitions."""
        every = dict.fromkeys([*self.alternatives, *(c.value for c in self.readings)])
        return tuple(value for value in every if value != self.value)

    def at(self, tier: TierName) -> SettingValue:
        """The value at a tier: smoke falls back to quick, and quick to the paper tier's value."""
        if tier == "smoke" and self.smoke is not None:
            return self.smoke.value
        if tier in ("smoke", "quick") and self.quick is not None:
            return self.quick.value
        return self.value


# --- claims ---------------------------------------------------------------------------------------


class StartBound(Bound):
    """What holds of an arm before training; where it does not, the run is void."""

    canonical = BOUND | form("value")

    value: Quantity
    """The quantity, read at its first observation."""


class ArmSpec(StrictModel):
    """An experiment under other settings than the claim's own, or read with other measurements."""

    canonical: ClassVar = form(
        "experiment=null settings={} reads={} holds_at_start=[] deterministic=null", "why words"
    )

    experiment: Name | None = None
    """The experiment that is run; the claim's own if left out."""
    settings: dict[Name, Value] = Field(default_factory=dict)
    """The settings that differ from the claim's own runs, by name, with their values."""
    reads: dict[Name, Name] = Field(default_factory=dict)
    """Measurements (left) in whose place others (right) are read, for example the distance to the
    target of another run. Without `settings` nothing is run again."""
    why: Text
    """What the arm lacks, or how its solution is constructed."""
    words: Text | None = None
    """What a page calls it, in a few words; left out, its name."""
    holds_at_start: tuple[StartBound, ...] = ()
    """What holds of the arm at the start; a run in which it does not is void."""
    deterministic: Text | None = None
    """Why every seed gives the same run of the arm, so that of measurements from elsewhere one run
    decides and stands beside every seed."""

    @model_validator(mode="after")
    def _differs(self) -> Self:
        if not self.settings and not self.reads and self.experiment is None:
            raise ValueError(
                "state 'settings', 'reads' or 'experiment': what the arm does otherwise"
            )
        return self


class NamedArm(ArmSpec):
    """An arm that is written in its claim."""

    canonical: ClassVar = ArmSpec.canonical | form("name")

    name: Name
    """The arm's name, by which pages call it."""


AnyArm = Annotated[
    Annotated[Name, Tag("name")] | Annotated[NamedArm, Tag("arm")], told_by(str, "name", "arm")
]


class AblationSpec(StrictModel):
    """An arm without one part of the mechanism: it tells whether that part brings the effect."""

    canonical: ClassVar = form("arm", "lacks")

    arm: AnyArm
    """The arm, or the name of a shared one."""
    lacks: Annotated[str, Field(min_length=1, max_length=40)]
    """What it lacks, in a word or two: B, stage II."""


class Grade(StrictModel):
    """The axis along which a claim is graded, from its easiest coordinate on."""

    canonical: ClassVar = form("axis easiest_first primary", "symbol origin")

    axis: Name
    """The axis's name."""
    symbol: Annotated[str, Field(min_length=1, max_length=20)]
    """What a page calls a coordinate: L, n."""
    easiest_first: tuple[Coordinate, ...] = Field(min_length=2)
    """The coordinates, from the easiest to the hardest."""
    primary: tuple[Coordinate, ...] = Field(min_length=1)
    """The coordinates that decide."""
    origin: Literal["paper", "ours"] = Field(default="paper", alias="from")
    """Who makes them primary: the paper, or we."""

    @model_validator(mode="after")
    def _among(self) -> Self:
        if missing := [level for level in self.primary if level not in self.easiest_first]:
            raise ValueError(f"'primary' has {missing[0]}, which 'easiest_first' has not")
        return self


class Elsewhere(StrictModel):
    """Where the runs end that say no."""

    says: Annotated[str, Field(min_length=1, max_length=60)]
    """A clause with a verb in the plural: "end at one other point"."""
    measure: Quantity
    """What it costs them: the quantity whose numbers are compared."""


class Reported(StrictModel):
    """A number published elsewhere, printed with its place and never judged by."""

    says: Text
    """What was reported, in our words."""
    locator: Text
    """The place."""


class Claim(StrictModel):
    """One claim of the paper, with the rule by which it is judged."""

    canonical: ClassVar = form(
        "id experiment headline support=[] nulls=[] ablations=[] constructed=null readings=[] "
        "together=[] grade=null share=0.5 exact=false settings={} unlike_lengths=null",
        "says short wording locator main whose ours no_control notes reported elsewhere",
    )

    id: ClaimId
    """A permanent id, never reused: the slug, a dot, and words joined by hyphens or underscores."""
    says: Annotated[Text, at_most_words(25)]
    """The paper's claim in at most 25 of our words."""
    short: Annotated[Text, at_most_words(12), AfterValidator(lambda text: text.removesuffix("."))]
    """A finite clause of at most twelve words, from which sentences are made."""
    wording: Literal["from_source", "recalled", "derived"] = "from_source"
    """Whether the claim's words were read in the source, are from memory, or follow by algebra."""
    locator: Text
    """The place where the paper makes the claim."""
    main: bool = False
    """Whether it is a main claim of the paper; at least one claim is."""
    whose: Literal["paper", "literature", "code", "derived"] = "paper"
    """Whose claim it is: the paper's, though its words be from memory; another paper's, which
    disputes it; the authors' code's alone; or what follows from the paper by algebra that it does
    not do. A question of ours has none."""
    ours: bool = False
    """Whether it is a question of ours, which the paper does not raise: it stands apart, and in no
    count, badge or register."""
    experiment: Name
    """The experiment whose runs are judged."""
    settings: dict[Name, Value] = Field(default_factory=dict)
    """Settings of the experiment that differ for this claim, by name. All its arms run under them,
    where they do not set one themselves, and no other value of these is run."""
    headline: tuple[Check, ...] = Field(min_length=1)
    """What a run must meet to say yes: all of it."""
    support: tuple[Check, ...] = ()
    """What else the paper says of the claim; one that is missed makes it partly supported."""
    notes: tuple[Check, ...] = ()
    """What is ours and stricter: counted and printed, deciding nothing."""
    reported: tuple[Reported, ...] = ()
    """Numbers published elsewhere."""
    nulls: tuple[AnyArm, ...] = ()
    """Controls: arms with nothing to learn, or with a wrong reference. Each must fail."""
    no_control: Text | None = None
    """Why a claim that needs a control has none."""
    ablations: tuple[AblationSpec, ...] = ()
    """Arms without one part of the mechanism; they change no outcome."""
    constructed: AnyArm | None = None
    """A positive control, built by hand or a case that has to succeed: the bounds can be met."""
    readings: tuple[Name, ...] = ()
    """The settings whose other sourced values (`readings` of the setting) are run and judged."""
    together: tuple[Annotated[tuple[Name, ...], Field(min_length=2, max_length=3)], ...] = ()
    """Settings whose other sourced values are run and judged at once: each combination of them is
    a reading of its own."""
    grade: Grade | None = None
    """The axis along which the headline is judged, coordinate by coordinate."""
    share: float = Field(default=0.5, ge=0.5, lt=1)
    """The share of all runs of which more must say yes."""
    exact: bool = False
    """Whether one run decides, as of a construction or an identity."""
    unlike_lengths: Text | None = None
    """Why arms that were trained or logged for unlike lengths may be compared all the same, where
    measurements come from elsewhere: each run stops by a rule of its own."""
    elsewhere: Elsewhere | None = None
    """Where the runs end that say no."""

    @model_validator(mode="after")
    def _somebodys(self) -> Self:
        if self.ours and self.whose != "paper":
            raise ValueError(
                f"found 'whose: {self.whose}' of a question of ours; expected 'whose' or 'ours'"
            )
        return self

    @property
    def needs_control(self) -> bool:
        """Whether only a control shows that it can fail: not of identities and contrasts.

        Where nothing is learned, noise meets a contrast in half of all runs.
        """
        return not self.exact and not all(
            n.contrast for check in self.headline for n in check.numbers
        )

    def arms(self) -> Iterator[tuple[tuple[str | int, ...], NamedArm | str]]:
        """Yield each control, ablation and positive control, with its place in the claim."""
        yield from ((("nulls", i), null) for i, null in enumerate(self.nulls))
        yield from ((("ablations", i, "arm"), a.arm) for i, a in enumerate(self.ablations))
        if self.constructed is not None:
            yield ("constructed",), self.constructed


class Finding(StrictModel):
    """A discrepancy between the paper, the card, the authors' code and practice."""

    id: ClaimId
    """A permanent id, never reused: the slug, a dot, and words joined by hyphens or underscores."""
    kind: Literal["contradiction", "omission", "defect", "staleness", "observation"]
    """contradiction: two sources disagree; omission: no source says it; defect: something does not
    work; staleness: it was true once and is no longer; observation: a run showed it."""
    statement: Text
    """The finding, in your own words."""
    sources: tuple[Text, ...] = Field(min_length=1)
    """The sources that show it, each with its place."""
    as_of: date | None = None
    """The day of the finding, YYYY-MM-DD."""
    settings: tuple[SettingName, ...] = ()
    """The settings that the finding is about; `experiment.setting` for the own setting of one
    experiment."""
    changes: tuple[ClaimId, ...] = ()
    """The ids of the claims whose answer it changes, or may change."""


class NotAudited(StrictModel):
    """A claim of the paper that this audit leaves out, listed so that coverage is honest."""

    statement: Text
    """The claim in your own words."""
    locator: Text
    """The place where the paper makes the claim."""
    reason: Text
    """The reason why the claim is not audited."""


# --- the audit ------------------------------------------------------------------------------------


class Publication(StrictModel):
    """What both forms of an audit say of the paper in the same words."""

    slug: Slug
    """The paper's short name, for example ahn2023. The file is called `SLUG.yaml`."""
    title: Text
    """The title as published."""
    authors: tuple[Text, ...] = Field(default=(), min_length=1)
    """The authors in the paper's order."""
    venue: Text | None = None
    """The conference, journal or archive that published the paper."""
    year: int | None = Field(default=None, ge=1900, le=2100)
    """The year of publication."""
    arxiv: Annotated[str, Field(pattern=r"^\d{4}\.\d{4,5}$")] | None = None
    """The arXiv identifier in quotes and without version, for example "2306.00297"."""
    openreview: Text | None = None
    """The identifier of the OpenReview forum."""
    code: Text | None = None
    """The authors' public repository, with the revision that was read."""


class Paper(Publication):
    """The paper that is audited."""

    read: tuple[Text, ...] = ()
    """What was read of the paper, in a few words each: its text, its card, the authors' code."""
    not_read: tuple[Text, ...] = ()
    """What was not read and a reader would expect, in a few words each: its full text."""

    @property
    def published(self) -> str:
        """Venue and year, as far as they are known."""
        return " ".join(str(part) for part in (self.venue, self.year) if part is not None)


class Stage(StrictModel):
    """One stretch of an experiment's training, as the paper divides it."""

    name: Text
    """A short name, as the paper numbers it: I, II, neurons."""
    about: Text
    """The model that is trained, or what happens in the experiment, in a few words."""
    steps: Name
    """The name of the setting that says how many steps it lasts: a whole number, or a list with one
    for each stage."""


MOST_RUNS = 10_000  # Runs of one arm, as many as ``--seeds`` may name


class RunCounts(StrictModel):
    """The numbers of runs of each tier; the smoke tier has one, and judges nothing."""

    canonical: ClassVar = form("quick=5 paper=15 arms=5")

    quick: int = Field(default=5, ge=1, le=MOST_RUNS)
    """Runs of every arm at the quick tier."""
    paper: int = Field(default=15, ge=1, le=MOST_RUNS)
    """Runs of a claim's own experiment at the paper tier, of its readings, and of what is compared
    with them run by run."""
    arms: int = Field(default=5, ge=1, le=MOST_RUNS)
    """Runs at the paper tier of every other control, ablation, positive control, alternative."""

    def at(self, tier: TierName, own: bool) -> int:
        """Return the number of runs of an arm at a tier."""
        if tier == "smoke":
            return 1
        if tier == "quick":
            return self.quick
        return self.paper if own else self.arms


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
    length: Name | None = None
    """The setting that is the length of training, if it is not the audit's own."""
    stages: tuple[Stage, ...] = ()
    """The stages that the training is divided into, in order, for the pictures; left out where
    training is not divided. Together they are all of the training."""


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
    method: Name | None = None
    """What runs from elsewhere call the claims' own arm; left out, `own`."""
    files: dict[str, Any] | None = Field(default=None, exclude=True)
    """How results from elsewhere are read, as a mapping file says it: names of files, columns, tags
    and settings. It is no part of the rule."""
    variables: tuple[Variable, ...] = ()
    """The reproducibility variables that somebody looked at, each once."""
    settings: dict[Name, Setting] = Field(default_factory=dict)
    """Settings that all experiments share, by name. An experiment may replace one by its own."""
    measurements: dict[Name, Declaration] = Field(default_factory=dict)
    """Measurements that several experiments make, declared once, by name. Every experiment makes
    all of them unless it lists some under `measures`; it may replace one by its own."""
    training_loss: Name | None = None
    """The series that shows how far a run trained; an experiment may name its own."""
    length: Name | None = None
    """The setting that is the length of training, such as steps; an experiment may name its own.
    Arms in which it differs may be compared although their logs end apart."""
    experiments: dict[Name, ExperimentSpec] = Field(default_factory=dict)
    """The experiments that are run, by name. None where only the documentation is audited."""
    arms: dict[Name, ArmSpec] = Field(default_factory=dict)
    """Arms that several claims use, declared once, by name: controls, ablations, constructed
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

    def salted(self, word: str) -> Self:
        """Return this audit with other seeds at the paper tier, which follow from a word, too."""
        copy = self.model_copy()
        copy._salt = word
        return copy

    def settings_of(self, experiment: str) -> Mapping[str, Setting]:
        """Return the settings of an experiment by name: the shared ones, replaced by its own."""
        return {**self.settings, **self.experiments[experiment].settings}

    def every_setting(self) -> dict[str, Setting]:
        """Return the shared settings by name; then each experiment's own, `experiment.setting`."""
        own = {
            f"{experiment}.{name}": setting
            for experiment, spec in self.experiments.items()
            for name, setting in spec.settings.items()
        }
        return {**self.settings, **own}

    def values_of(
        self, experiment: str, tier: TierName, overrides: Mapping[str, SettingValue] | None = None
    ) -> dict[str, SettingValue]:
        """Return the values that an experiment runs with at a tier, some of them overridden."""
        values = {name: s.at(tier) for name, s in self.settings_of(experiment).items()}
        return {**values, **(overrides or {})}

    def measurements_of(self, experiment: str) -> Mapping[str, Declaration]:
        """Return an experiment's measurements by name: the shared ones, replaced by its own."""
        return self._declared[experiment]

    @cached_property
    def _declared(self) -> dict[str, Mapping[str, Declaration]]:
        every = self.measurements
        shared = {
            name: every
            if spec.measures is None
            else {other: every[other] for other in spec.measures if other in every}
            for name, spec in self.experiments.items()
        }
        return {n: {**shared[n], **spec.measurements} for n, spec in self.experiments.items()}

    def declaration(self, experiment: str, measurement: str) -> Declaration | None:
        """Return the declaration of an experiment's measurement; None if there is none."""
        return self._declared.get(experiment, {}).get(measurement)

    def runs_of(self, experiment: str) -> RunCounts:
        """Return the numbers of runs of an experiment."""
        return self.experiments[experiment].runs or self.runs

    def lengths_of(self, experiment: str) -> frozenset[str]:
        """Return the settings that say how long an experiment trains: its length, its stages'."""
        stages = (stage.steps for stage in self.experiments[experiment].stages)
        return frozenset(filter(None, [self.length_of(experiment), *stages]))

    def length_of(self, experiment: str) -> str | None:
        """Return the setting that is named as an experiment's length of training, if one is."""
        return self.experiments[experiment].length or self.length

    def training_loss_of(self, experiment: str) -> str | None:
        """Return the series that shows how far a run of an experiment trained, if it makes one."""
        name = self.experiments[experiment].training_loss or self.training_loss
        return name if name and self.declaration(experiment, name) is not None else None
