"""The models of the short form: what its file may hold, and the descriptions that editors show.

They check one node at a time. `reproaudit.audit.short.expansion` makes of the file's data what
`reproaudit.audit.model` describes; what these models leave to that model, it checks there.
"""

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from reproaudit.audit.model import Publication, RunCounts, SettingName, Value, VariableName, Who
from reproaudit.audit.short.checks import AnyCheck, AnyQuantity, Bound, Plain, Text
from reproaudit.declarations import Coordinate, Name, StrictModel, told_by

Word = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
"""The name of a claim or a finding: lower-case words joined by hyphens or underscores."""


Texts = Annotated[
    Annotated[Text, Tag("text")] | Annotated[tuple[Text, ...], Tag("list")],
    told_by(str, "text", "list"),
]
"""A text, or several in a list."""


def _names_or_lists(value: Any) -> str:
    listed = isinstance(value, list | tuple) and any(isinstance(one, list | tuple) for one in value)
    return "lists" if listed else "names"


Together = Annotated[
    Annotated[tuple[Name, ...], Tag("names")]
    | Annotated[tuple[tuple[Name, ...], ...], Tag("lists")],
    Discriminator(_names_or_lists),
]
"""Names of settings, or several lists of them."""

BySetting = Annotated[
    Annotated[Text, Tag("text")] | Annotated[dict[Name, Text], Tag("mapping")],
    told_by(str, "text", "mapping"),
]
"""A text for the only setting of a group, or one for each by the setting's name."""


# --- the paper ------------------------------------------------------------------------------------


class Read(StrictModel):
    """What was read of the paper: true, false, or in words what of it."""

    text: bool | Text | None = None
    """The paper's text."""
    abstract: bool | Text | None = None
    """Its abstract."""
    card: bool | Text | None = None
    """Its reproducibility card."""
    code: bool | Text | None = None
    """The authors' code."""
    reviews: bool | Text | None = None
    """Public reviews."""
    summaries: bool | Text | None = None
    """Summaries by others."""
    others: tuple[Text, ...] = ()
    """What else was read, in a few words each."""
    not_others: tuple[Text, ...] = ()
    """What else was not read and a reader would expect, in a few words each."""


class Paper(Publication):
    """The paper that is audited."""

    read: Read = Read()
    """What was read of the paper."""


class Passage(StrictModel):
    """A passage of the paper, in our words."""

    says: Text
    """What it says."""
    at: Text
    """Its place: a section, appendix or page, or the row of the card."""


class Answer(StrictModel):
    """The authors' answer to a question of their conference's checklist."""

    answer: Literal["Yes", "No", "NA"]
    """Yes, No or NA (in quotes), as the checklist has it."""
    says: Text | None = None
    """The authors' words, if they gave any."""
    at: Text
    """The checklist, and the question by its number and title."""
    as_of: date
    """The day on which the checklist was read, YYYY-MM-DD."""


class Variable(StrictModel):
    """What was found of one reproducibility variable."""

    card: Text | None = None
    """The card's result, for example "Yes" or "No" (in quotes), if the paper has a card."""
    card_read: date | None = None
    """The day on which the card was read, if it is not the audit's own `card_read`."""
    says: Text
    """What the paper says of it, in your own words."""
    at: Text | None = None
    """The place; left out where the card has a result, it is the card's row."""
    also: tuple[Passage, ...] = ()
    """Further passages."""
    checklist: tuple[Answer, ...] = ()
    """The authors' answers in a conference's checklist. They count in no score."""


# --- settings -------------------------------------------------------------------------------------

Origin = Literal[
    "paper", "card", "code", "reviews", "literature", "derived", "ours", "recalled", "guess"
]
"""paper, card, code, reviews, literature: who states it; derived: it follows from what is stated,
or is what the audit is about; ours: we made it smaller or other; recalled: from memory, without a
place; guess: nobody states it."""


class Tier(StrictModel):
    """Values that a smaller tier runs in place of the settings' own."""

    values: dict[Name, Value] = Field(min_length=1)
    """The values, by setting. They hold where the experiment takes the setting from where this
    block stands: a setting that an experiment states itself, it scales itself."""
    why: BySetting | None = None
    """Why these values still show the phenomenon, or why the settings must shrink: of all of them,
    or of each by the setting's name. At the smoke tier it may be left out: it only shows that the
    experiment runs."""


class TierOfStated(StrictModel):
    """What the quick tier runs smaller where another source's values are run."""

    values: dict[Name, Value] = Field(min_length=1)
    """The values, by setting."""


class Agreeing(StrictModel):
    """A further source that states the same values."""

    origin: Origin = Field(alias="from")
    """The source; no guess."""
    who: Who | None = None
    """Whose statement it is, for example Zhang et al. 2022. Pages say so in place of the source."""
    at: Text
    """The place where it states them."""


BySource = dict[Origin, Texts]  # Places by the source that states the same values there

AnyAgreeing = Annotated[
    Annotated[BySource, Tag("mapping")] | Annotated[tuple[Agreeing, ...], Tag("list")],
    told_by(list | tuple, "list", "mapping"),
]


class AlsoStated(StrictModel):
    """What another source states of the settings of a group."""

    origin: Origin = Field(alias="from")
    """The other source; no guess."""
    who: Who | None = None
    """Whose statement it is, for example Zhang et al. 2022. Pages say so in place of the source."""
    at: Text
    """The place where it states them."""
    values: dict[Name, Value] = Field(default_factory=dict)
    """The values that it states, which change together; the first of the group's own settings names
    the reading. Left out: it states the same values."""
    also_stated: AnyAgreeing = ()
    """Further sources that state these values, and where: {paper: Table 2}."""
    quick: TierOfStated | None = None
    """Of these values, what the quick tier runs smaller."""
    words: Text | None = None
    """What a page calls all these values together, in a few words."""
    cannot_matter: Text | None = None
    """Why the difference cannot matter, so that it need not be run."""


AnyAlsoStated = Annotated[
    Annotated[BySource, Tag("mapping")] | Annotated[tuple[AlsoStated, ...], Tag("list")],
    told_by(list | tuple, "list", "mapping"),
]


class CouldBe(StrictModel):
    """Another value that a careful reader might equally have chosen."""

    values: dict[Name, Value] = Field(min_length=1)
    """The value, by setting: of one, since alternatives are tried one at a time."""
    unlikely: Text | None = None
    """Why it is less credible than the value that is run, so that it changes no outcome."""


Other = Annotated[
    Annotated[CouldBe, Tag("entry")] | Annotated[Value, Tag("value")],
    told_by(dict | StrictModel, "entry", "value"),
]
"""Another value of the only setting of a group, or an entry that names its setting."""


def _form_of_phrases(value: Any) -> str:
    nested = isinstance(value, dict) and all(isinstance(below, dict) for below in value.values())
    return "settings" if nested else "values"


Phrases = Annotated[
    Annotated[dict[Text, Text], Tag("values")]
    | Annotated[dict[Name, dict[Text, Text]], Tag("settings")],
    Discriminator(_form_of_phrases),
]


class Group(StrictModel):
    """Settings that one source states at one place, or that are guessed for one reason."""

    origin: Origin = Field(alias="from")
    """The source of the values."""
    who: Who | None = None
    """Whose statement it is, for example Zhang et al. 2022. Pages say so in place of the source."""
    at: Text | None = None
    """The place where the source states the values: section, table, page, or file and line. What
    is ours or a guess has `why` in its place."""
    values: dict[Name, Value] = Field(min_length=1)
    """The values of the settings, by name: true or false, a number, text, or a list of these."""
    notes: BySetting | None = None
    """What else is to be said of a value's place."""
    also_stated: AnyAlsoStated = ()
    """Other sources that state these settings: with the same values, by source, as in {paper:
    Table 2}; with others, in a list."""
    why: Text | None = None
    """Of a guess, and of what is ours: the reason for the values."""
    could_be: tuple[Other, ...] = ()
    """Of a guess: other values that a careful reader might equally have chosen; the value alone
    where the group has one setting."""
    no_other: Text | None = None
    """Of a guess without such values: why there is only one reading."""
    words: BySetting | None = None
    """What a page calls the setting, in a few words; left out, its name."""
    phrases: Phrases = Field(default_factory=dict)
    """What a page calls a value of the setting: {"true": trained biases}; of several settings, by
    setting."""
    ask: BySetting | None = None
    """The question to the authors about the setting, in at most 25 words; left out, the page asks
    for the value."""


Groups = tuple[Group, ...]
Tiers = Annotated[
    Annotated[Tier, Tag("mapping")] | Annotated[tuple[Tier, ...], Tag("list")],
    told_by(list | tuple, "list", "mapping"),
]
"""One block, or several in a list, each with its own reason."""


# --- measurements ---------------------------------------------------------------------------------


class Axis(StrictModel):
    """The coordinates along an axis: give one of `values`, `setting` and `size`."""

    name: Name | None = None
    """The axis's name in checks, where it is another than the one under which it stands."""
    values: tuple[Coordinate, ...] | None = None
    """The coordinates along the axis in order."""
    setting: Name | None = None
    """The setting whose list holds the coordinates, which a tier may change."""
    size: int | None = Field(default=None, ge=1, le=1_000_000)
    """The length of an axis whose coordinates are 0, 1, 2 …, such as the rows of a matrix."""


AnyAxis = Annotated[
    Annotated[Name, Tag("name")] | Annotated[Axis, Tag("axis")], told_by(str, "name", "axis")
]
"""The name of one of the audit's `axes`, or an axis of this measurement alone, with its `name`."""


class Measurement(StrictModel):
    """What is measured: `every_step` or `once`, along which axes."""

    every_step: tuple[AnyAxis, ...] | None = None
    """Of a series, observed over training: its axes, `[]` for none. The steps are none of them."""
    once: tuple[AnyAxis, ...] | None = None
    """Of what a run measures once: its axes, `[]` for one number."""
    says: Text
    """The measured quantity, in a sentence that a reviewer can hold against the paper."""
    unit: str = "1"
    """The unit, for example nat; left out, a pure number."""
    step: Annotated[str, Field(min_length=1, max_length=20)] | None = None
    """Of `every_step`: what it counts in place of training steps, in the singular: generation."""
    noun: Annotated[str, Field(max_length=40)] | None = None
    """What a page calls the quantity, in at most four words: test loss, distance."""
    range: Annotated[tuple[float | None, ...], Field(min_length=2, max_length=2)] | None = None
    """The least and the largest value that it can have, null for an open end: [0, null]
    for a loss, [0, 1] for a share."""


class Stage(StrictModel):
    """One stretch of an experiment's training, as the paper divides it."""

    says: Text
    """What is trained, or what happens, in a few words."""
    steps: Name
    """The setting that says how many steps it lasts: a whole number, or a list with one for each
    stage."""


Controls = tuple[Name, ...]
Built = Annotated[
    Annotated[Name, Tag("text")] | Annotated[Annotated[Controls, Field(max_length=1)], Tag("list")],
    told_by(str, "text", "list"),
]


class Experiment(StrictModel):
    """An experiment: its settings beside the shared ones, and its measurements."""

    title: Text
    """A few words that say what is run."""
    runs: RunCounts | None = None
    """The experiment's own numbers of runs."""
    settings_of: Name | None = None
    """Another experiment, whose own settings this one has as well, where it states no other."""
    settings: Groups = ()
    """The experiment's own settings, in groups. One that is shared, too, takes its place here."""
    quick: Tiers | None = None
    """What the quick tier runs smaller, of all settings that the experiment has."""
    smoke: Tiers | None = None
    """What the smoke tier runs smaller still, of all settings that the experiment has."""
    measures: tuple[Name, ...] | None = None
    """Of the audit's own measurements, those that this experiment makes. All of them if left out;
    `[]` for none."""
    measurements_of: Name | None = None
    """Another experiment, whose own measurements this one makes as well."""
    measurements: dict[Name, Measurement] = Field(default_factory=dict)
    """The experiment's own measurements by name. One that is shared, too, takes its place here."""
    training_loss: Name | None = None
    """The series that shows how far a run trained, if it is not the audit's own."""
    length: Name | None = None
    """The setting that is the length of training, if it is not the audit's own."""
    stages: dict[Text, Stage] = Field(default_factory=dict)
    """The stages that the training is divided into, in order, by name: I, II."""
    must_fail: Controls = ()
    """Controls of every claim on this experiment that names none of its own."""
    must_pass: Built | None = None
    """The positive control of every claim on this experiment that names none of its own."""


# --- claims ---------------------------------------------------------------------------------------


class StartBound(Bound):
    """What holds of an arm before training; where it does not, the run is void."""

    value: AnyQuantity
    """The quantity, read at its first observation."""
    bound: Name | None = None
    """The bound, by its name."""


class Arm(StrictModel):
    """An experiment under other settings than the claim's own, or read with other measurements."""

    says: Text | None = None
    """What the arm lacks, or how its solution is constructed; left out, its words."""
    words: Text | None = None
    """What a page calls it, in a few words; left out, its name."""
    experiment: Name | None = None
    """The experiment that is run; the claim's own if left out."""
    settings: dict[Name, Value] = Field(default_factory=dict)
    """The settings that differ from the claim's own runs, by name, with their values."""
    reads: dict[Name, Name] = Field(default_factory=dict)
    """Measurements (left) in whose place others (right) are read. Without `settings` nothing is
    run again."""
    holds_at_start: tuple[StartBound, ...] = ()
    """What holds of the arm at the start; a run in which it does not is void."""
    deterministic: Text | None = None
    """Why every seed gives the same run of the arm."""


class Grade(StrictModel):
    """The axis along which a claim is graded, from its easiest coordinate on."""

    axis: Name
    """The axis's name."""
    symbol: Annotated[str, Field(min_length=1, max_length=20)]
    """What a page calls a coordinate: L, n."""
    easiest_first: tuple[Coordinate, ...] = Field(min_length=2)
    """The coordinates, from the easiest to the hardest."""
    decisive: tuple[Coordinate, ...] | None = None
    """The coordinates that decide; all of them if left out."""
    origin: Literal["paper", "ours"] = Field(default="paper", alias="from")
    """Who makes them decisive: the paper, or we."""


class Misses(StrictModel):
    """Where the runs end that say no."""

    says: Annotated[str, Field(min_length=1, max_length=60)]
    """A clause with a verb in the plural: "end at one other point"."""
    cost: AnyQuantity
    """What it costs them: the quantity whose numbers are compared."""


class Question(StrictModel):
    """A question of ours, with the rule by which it is judged."""

    says: Text
    """The claim, in at most 25 of our words."""
    short: Text | None = None
    """A finite clause of at most twelve words, from which sentences are made; left out, what it
    says, which then has no more words than that."""
    at: Text | None = None
    """The place where the paper makes the claim, or what a question rests on."""
    wording: Literal["from_source", "recalled", "derived"] = "from_source"
    """Whether the words were read in the source, are from memory, or follow by algebra. Left out,
    from_source; of a claim whose it is `derived`, derived."""
    experiment: Name | None = None
    """The experiment whose runs are judged; left out, the audit's only one, or runs from
    elsewhere."""
    settings: dict[Name, Value] = Field(default_factory=dict)
    """Settings of the experiment that differ for this claim and all its arms."""
    holds_if: tuple[AnyCheck, ...] = Field(min_length=1)
    """What a run must meet to say yes: all of it."""
    also_said: tuple[AnyCheck, ...] = ()
    """What else the paper says of the claim; one that is missed makes it partly supported."""
    also_report: tuple[AnyCheck, ...] = ()
    """What is ours and stricter: counted and printed, deciding nothing."""
    reported: tuple[Passage, ...] = ()
    """Numbers published elsewhere, printed with their places and never judged by."""
    must_fail: Controls | None = None
    """Controls: arms with nothing to learn, or with a wrong reference. Left out, the experiment's;
    `[]` for none."""
    no_control: Text | None = None
    """Of a claim without a control, where it needs one: why there is none."""
    without_part: dict[Text, Texts] = Field(default_factory=dict)
    """Arms without one part of the mechanism, in order, by what they lack: {stage II:
    without_stage_2}. They change no outcome."""
    must_pass: Built | None = None
    """The positive control, built by hand or a case that has to succeed. Left out, the
    experiment's; `[]` for none."""
    readings: tuple[Name, ...] | None = None
    """The settings of which what is also stated is run and judged, too. Left out, all of the
    experiment that the claim does not set itself; `[]` for none."""
    together: Together = ()
    """Settings of which what is also stated is run and judged at once, as one reading more:
    [beta2, order]; several such in a list of lists."""
    grade: Grade | None = None
    """The axis along which `holds_if` is judged, coordinate by coordinate."""
    share_of_runs: Plain = 0.5
    """The share of all runs of which more must say yes."""
    exact: bool = False
    """Whether one run decides, as of a construction or an identity."""
    unlike_lengths: Text | None = None
    """Why arms that were trained for unlike lengths may be compared all the same."""
    misses: Misses | None = None
    """Where the runs end that say no."""
    arms: dict[Name, Arm] = Field(default_factory=dict)
    """Arms of this claim alone, by name."""


class Claim(Question):
    """A claim, with the rule by which it is judged."""

    main: bool = False
    """Whether it is a main claim of the paper; at least one claim is, an only claim by itself."""
    whose: Literal["paper", "literature", "code", "derived"] = "paper"
    """Whose claim it is: the paper's, another paper's that disputes it, the authors' code's alone,
    or what follows by algebra."""


class Finding(StrictModel):
    """A discrepancy between the paper, the card, the authors' code and practice."""

    kind: Literal["contradiction", "omission", "defect", "staleness", "observation"]
    """contradiction: two sources disagree; omission: no source says it; defect: something does not
    work; staleness: it was true once and is no longer; observation: a run showed it."""
    says: Text
    """The finding, in your own words."""
    origin: Texts = Field(alias="from")
    """The sources that show it, each with its place."""
    as_of: date | None = None
    """The day of the finding, YYYY-MM-DD; left out, the day on which the card was read."""
    settings: tuple[SettingName, ...] = ()
    """The settings that it is about; `experiment.setting` for the own one of one experiment."""
    changes: tuple[Word, ...] = ()
    """The claims whose answer it changes, or may change, by name."""


class NotAudited(StrictModel):
    """A claim of the paper that this audit leaves out."""

    says: Text
    """The claim in your own words."""
    at: Text
    """The place where the paper makes the claim."""
    why: Text
    """The reason why the claim is not audited."""


class NamedBound(Bound):
    """A bound that several checks have."""


class ShortAudit(StrictModel):
    """An audit: everything that is known about one paper's reproducibility, as data."""

    schema_version: Literal[3]
    """The version of this format, 3."""
    paper: Paper
    """The paper that is audited."""
    about: Text | None = None
    """What a reader must know of the task and its symbols, in at most 45 words."""
    runs: RunCounts = RunCounts()
    """The numbers of runs of each tier; an experiment may have its own."""
    method: Name | None = None
    """What runs from elsewhere call the claims' own arm; left out, `own`."""
    files: dict[str, Any] | None = None
    """How results from elsewhere are read, as a mapping file says it."""
    card_read: date | None = None
    """The day on which the reproducibility card was read, YYYY-MM-DD."""
    variables: dict[VariableName, Variable] = Field(default_factory=dict)
    """The reproducibility variables that somebody looked at, by name."""
    axes: dict[Name, Axis] = Field(default_factory=dict)
    """The axes of measurements, by name."""
    bounds: dict[Name, NamedBound] = Field(default_factory=dict)
    """Bounds that several checks have, by name."""
    settings: Groups = ()
    """Settings that all experiments share, in groups. An experiment may state one anew."""
    quick: Tiers | None = None
    """What the quick tier runs smaller of the shared settings, where an experiment takes them."""
    smoke: Tiers | None = None
    """What the smoke tier runs smaller still of them."""
    measurements: dict[Name, Measurement] = Field(default_factory=dict)
    """Measurements that several experiments make, by name."""
    training_loss: Name | None = None
    """The series that shows how far a run trained; an experiment may name its own."""
    length: Name | None = None
    """The setting that is the length of training, such as steps; an experiment may name its own."""
    experiments: dict[Name, Experiment] = Field(default_factory=dict)
    """The experiments that are run, by name. None where runs from elsewhere are judged."""
    arms: dict[Name, Arm] = Field(default_factory=dict)
    """Arms that several claims use, by name. Where nothing is run, an arm need not stand here: it
    is known by the checks that name it."""
    claims: dict[Word, Claim] = Field(default_factory=dict)
    """The claims that are judged, by name; the id of one is SLUG.NAME, and is never reused."""
    our_questions: dict[Word, Question] = Field(default_factory=dict)
    """Questions of ours, which the paper does not raise, by name; they stand apart."""
    not_audited: tuple[NotAudited, ...] = ()
    """Claims of the paper that are not judged here, with the reason."""
    findings: dict[Word, Finding] = Field(default_factory=dict)
    """Discrepancies between the paper, the card, the authors' code and practice, by name."""
