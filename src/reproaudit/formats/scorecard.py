"""The scorecard that publishes a verdict.

`scorecard.json` is a `Scorecard`: first its head, which is what a reader sees first, then its rows,
one for each condition in each arm at each coordinate; then the audit as it was judged, the verdict
on every claim, and what is known of the records. All words of head and rows are made once, in
`reproaudit.scorecard`; terminal, pages, register and exports print them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reproaudit.audit.arms import Role
from reproaudit.audit.model import Audit, Claim, Paper, TierName, known_tier
from reproaudit.audit.review import Reviews
from reproaudit.audit.seeds import digest
from reproaudit.checks import Kind, Provenance, Side, plain
from reproaudit.declarations import Coordinate, StrictModel
from reproaudit.formats.verdict import (
    Answer,
    ArmAnswer,
    ClaimAnswer,
    Level,
    Outcome,
    ReasonKind,
    Varied,
)
from reproaudit.records import Environment, Origin

SCHEMA_VERSION: Literal[5] = 5

LineRole = Literal[
    "run",
    "side",
    "control",
    "positive",
    "reference",
    "earlier",
    "later",
    "side_earlier",
    "fit",
    "side_fit",
]
"""Whose a line is: the claim's runs'; those of the other side of a claim that depends; a control's;
the positive control's; that of what is compared with; that of the earlier or the later of two
stages; or a law's that is fitted to runs, on either side."""


class Lines(StrictModel):
    """Lines of a figure: the courses of an arm's runs."""

    role: LineRole
    """Whose they are."""
    arm: str
    """The arm's name."""
    label: str
    """What the figure calls them."""
    x: tuple[float, ...]
    """Training steps, coordinates or sizes."""
    runs: Annotated[tuple[tuple[float, ...], ...], Field(min_length=1)]
    """The numbers there, of each run."""

    @model_validator(mode="after")
    def _has_points(self) -> Self:
        if not self.x or any(len(run) != len(self.x) for run in self.runs):
            raise ValueError("expected a number of each run at each of its places, one at least")
        return self


class LevelLine(StrictModel):
    """A number that a figure draws across: an end of the bound, or what is compared with."""

    at: float
    """The number."""
    label: str
    """What the figure calls it."""
    is_bound: bool
    """Whether it is an end of the bound."""


class Figure(StrictModel):
    """A claim's figure: the number that decides, over training, coordinates or sizes."""

    title: str
    """What is drawn: the vertical axis."""
    x_title: str
    """What it is drawn over: the horizontal axis."""
    lines: Annotated[tuple[Lines, ...], Field(min_length=1)]
    """Every run's course."""
    levels: tuple[LevelLine, ...] = ()
    """The ends of the bound, and what is compared with, where they lie on this quantity's scale."""
    accepted: tuple[float | None, float | None] | None = None
    """The least and the largest number that meet the bound, null for an open end; null where the
    bound lies on another scale."""
    points: bool = False
    """Whether each number has a mark: few coordinates or sizes, and no course of training."""
    log_x: bool
    """Whether the horizontal axis is logarithmic."""
    log_y: bool
    """Whether the vertical axis is logarithmic."""
    stages: tuple[tuple[float, str], ...] = ()
    """The step at which each stage of training ends, and the stage's name."""

    @model_validator(mode="after")
    def _can_be_drawn(self) -> Self:
        if all(line.role == "positive" for line in self.lines):
            raise ValueError("expected a line of what was trained")
        places = [x for line in self.lines for x in line.x]
        heights = [number for line in self.lines for run in line.runs for number in run]
        heights += [level.at for level in self.levels]
        for numbers in (places, heights, [*places, *(end for end, _ in self.stages)]):
            if not math.isfinite(sum(numbers)) or not math.isfinite(max(numbers) - min(numbers)):
                raise ValueError("expected finite numbers, with a finite distance between them")
        return self


# --- rows ---------------------------------------------------------------------------------------


class RowRole(StrEnum):
    """What a check is to its claim."""

    DECIDES = "decides"
    ALSO_SAID = "also said"
    """What else the paper says of the claim."""
    STRICTER = "stricter"
    """What is ours and stricter, and decides nothing."""


class RowDecision(StrEnum):
    """What the runs of a row decide."""

    MET = "met"
    MISSED = "missed"
    OPEN = "open"
    VOID = "void"
    """No run can be held against the bound."""
    TELLS_NOTHING = "tells nothing"
    """A control passes here, too, or what has to succeed fails."""


class Row(StrictModel):
    """One condition of a check, in one arm, at one coordinate, over the runs of that arm."""

    claim: str
    """The claim's id."""
    role: RowRole
    """What the check is to the claim: decides, also said, or stricter."""
    check: str
    """The kind of check."""
    place: int
    """The place of the check among those of its role, from 0 on."""
    condition: str
    """Which of the check's numbers; of a kind with one number, the kind."""
    arm: str
    """The arm's name within the claim."""
    arm_role: Role
    """What the arm is to the claim."""
    arm_words: str
    """What a page calls the arm; of a reading or an alternative, the value and who states it."""
    beside: str | None = None
    """The stated reading under whose settings the arm ran, by its arm's name, itself included; null
    where it ran under others, so that it is no control or reference of these runs."""
    varied: Varied | None = None
    """The setting that a reading or an alternative changes, and its value."""
    tier: TierName
    """The tier of the runs."""
    at: Coordinate | None = None
    """The coordinate, of a graded claim."""
    at_words: str = ""
    """The coordinate with its symbol: L = 3."""
    primary: bool = True
    """Whether the coordinate is one of those that decide."""
    answer: str = ""
    """The arm's whole answer: a reading's (`Answer`), a control's (`Verdict`), or what an arm
    without a part tells (`Specificity`); empty for any other."""
    yes: int
    """The runs that meet the bound."""
    n: int
    """The runs that were held against the bound or diverged, which says no."""
    void: int = 0
    """The runs that cannot be held against it; not those beside which no other was planned."""
    crashed: int = 0
    """The runs that crashed."""
    diverged: int = 0
    """The runs, among `n`, whose own training diverged."""
    all_yes: int
    """The runs of the arm that meet all checks of this role at once, at all primary coordinates or,
    beside those, at this one; of what does not decide, as `yes`."""
    all_n: int
    """The runs of the arm that answer to that."""
    all_void: int = 0
    """The runs of the arm that do not."""
    noun: str
    """The quantity that the number is of, with coordinates and arms."""
    means: str = ""
    """What is asked of an arm without a part, in words: loss larger without stage II."""
    says: str
    """The typical run in words, or the mean with its interval; runs that lie beyond a bound that
    the typical one meets are named."""
    typical: float | None = None
    """The median run's number."""
    typical_words: str = ""
    """The median run's number as a page writes it."""
    farthest: float | None = None
    """The number of the run that is farthest from meeting the bound."""
    farthest_words: str = ""
    """That number as a page writes it."""
    far: tuple[float, ...] = ()
    """Every number that misses the bound although the typical one meets it, farthest first."""
    far_words: tuple[str, ...] = ()
    """Those numbers as a page writes them."""
    mean: tuple[float, float, float] | None = None
    """Where the mean of the runs decides, the mean and the ends of its 90 % interval."""
    at_least: int = 0
    """The runs of which only a lower limit of the number is known."""
    at_most: int = 0
    """The runs of which only an upper limit of the number is known."""
    unit: Literal["plain", "factor", "share"] = "plain"
    """The form of the number: as measured, a factor, or a share."""
    side: Side | None = None
    """The side of the bound on which a number meets it; null where no run has shown the bound."""
    bound: float | None = None
    """The bound; of `within` the number that is to be equalled."""
    margin: float | None = None
    """Of `within`, the margin around the bound."""
    bound_words: str = ""
    """The bound in words, with whose it is: we allow 0.1; above 1 asked."""
    provenance: Provenance | None = None
    """Where the bound, or the margin, comes from."""
    number_from: Provenance | None = None
    """Where the number comes from that is bounded or equalled."""
    bound_why: str = ""
    """Of a bound of ours, the reason."""
    decision: RowDecision
    """What the runs decide of this condition."""
    why: str = ""
    """In words: why it is open, void, or tells nothing; what else is to be said of it."""

    @property
    def name(self) -> str:
        """The claim's name within its paper."""
        return self.claim.partition(".")[2]

    @property
    def quantity(self) -> str:
        """The noun without the colon that sets a pair apart from its number."""
        return self.noun.removesuffix(":")

    @property
    def count(self) -> str:
        """How many runs of those held against the bound meet it; those that cannot be, apart."""
        apart = self.void + self.crashed
        if not self.n:
            return f"none of {apart} can be read" if apart else "not run"
        return f"{self.yes} of {self.n}{f'; in {apart} more it cannot be read' if apart else ''}"


# --- the head -----------------------------------------------------------------------------------


class HeadNote(StrictModel):
    """The opinion of the auditor or of a reviewer on the whole."""

    text: str
    """The opinion."""
    by: str
    """Whose it is."""
    as_of: date
    """From when it is."""
    stale: bool
    """Whether claims or answers have changed since."""


class HeadCounts(StrictModel):
    """How many claims have which outcome; an outcome that no claim has is left out."""

    paper: dict[Outcome, int]
    """Of the paper's own claims, which alone make the verdict."""
    others: dict[Outcome, int] = Field(default_factory=dict)
    """Of claims that the code makes, or that we derived."""
    questions: dict[Outcome, int] = Field(default_factory=dict)
    """Of questions of ours."""


Whose = Literal["paper", "literature", "code", "derived", "ours"]
"""Whose a claim is; ours is a question that the paper does not raise."""


class ClaimLine(StrictModel):
    """A claim in at most 25 words."""

    claim: str
    """The claim's id."""
    name: str
    """Its name within its paper."""
    mark: str
    """Its outcome, in one character."""
    outcome: Outcome
    """Its outcome."""
    main: bool = False
    """Whether it is a main claim."""
    whose: Whose = "paper"
    """Whose it is."""
    level: Level | None = None
    """How sure; null for what is not decided, and for what depends."""
    title: str
    """The claim, as a clause."""
    text: str
    """What was found of it, with k of n, or the reason why there is no answer."""


class ChoiceEffect(StrictModel):
    """What a choice does to a claim: the same check under either value."""

    claim: str
    """The claim's id."""
    title: str
    """The claim, as a clause."""
    answers: tuple[Answer, Answer]
    """What the runs answer under either value."""
    yes: tuple[int, int]
    """The runs that say yes under either value."""
    n: tuple[int, int]
    """The runs that say yes or no under either value."""
    numbers: tuple[str, str] = ("", "")
    """The typical number under either value, as a page writes it."""
    counts: str
    """The counts in words: 14 → 0 of 15."""
    also: str = ""
    """Other guesses under which as few runs say yes, in words."""
    text: str
    """All that in words."""


class ChoiceRow(StrictModel):
    """A choice that changes an answer."""

    setting: str
    """The setting's name; `experiment.setting` for an experiment's own."""
    also: tuple[str, ...] = ()
    """The names of further settings that change at once."""
    words: str
    """What a page calls it."""
    value: str
    """The value as run, with who states it, or that it is our guess."""
    others: tuple[str, ...]
    """Other values, which change the same answers."""
    guess: bool
    """Whether nobody states the value."""
    likely: bool = True
    """Whether the audit calls the other values of a guess as likely as its own."""
    effects: Annotated[tuple[ChoiceEffect, ...], Field(min_length=1)]
    """What becomes of each claim whose answer changes."""
    scale: str
    """At which scale both sides ran, in words."""
    small: bool = False
    """Whether both sides are counted at a smaller tier than the scorecard's."""

    @property
    def turns(self) -> bool:
        """Whether an answer becomes a yes or a no under a likely guess, or a stated value."""
        ends = {effect.answers[1] for effect in self.effects}
        return not self.guess or (self.likely and not ends.isdisjoint((Answer.YES, Answer.NO)))

    @property
    def fall(self) -> float:
        """The largest share of the runs by which a claim has fewer that say yes, or more."""
        return max(
            abs(here / max(n, 1) - there / max(of_other, 1))
            for (here, there), (n, of_other) in ((effect.yes, effect.n) for effect in self.effects)
        )


class TriedCell(StrictModel):
    """What a claim answers under a value that was tried."""

    claim: str
    """The claim's id."""
    answer: Answer
    """What the runs answer."""
    yes: int
    """The runs that say yes."""
    n: int
    """The runs that say yes or no."""
    own_answer: Answer
    """What the claim's own runs answer, at the scorecard's tier."""
    own_yes: int
    """Its own runs of the same tier that say yes."""
    own_n: int
    """Its own runs of the same tier that say yes or no."""
    changes: bool
    """Whether the answer is another one, and both are judged."""
    settled: bool
    """Whether the answer was judged at all."""
    counts: bool = True
    """Whether its own runs of that tier answer as those of the scorecard; else it tells nothing."""
    moved: bool = True
    """Whether any number is another one: else the value cannot change the answer."""


class TriedValue(StrictModel):
    """A value that somebody might have chosen, and what every claim answers under it."""

    setting: str
    """The setting's name; `experiment.setting` for an experiment's own."""
    also: tuple[str, ...] = ()
    """The names of further settings that change at once."""
    words: str
    """What a page calls the setting."""
    own: str
    """The value as run, with who states it, or that it is our guess."""
    value: str
    """The other value, with who states it."""
    guess: bool
    """Whether nobody states the values."""
    credible: bool = True
    """Of a guess, whether the value is as likely as ours."""
    small: bool = False
    """Whether it ran at a smaller tier than the scorecard's."""
    cells: tuple[TriedCell, ...] = ()
    """The claims that were judged under it; none where it was not run."""
    text: str
    """What becomes of them, in words."""

    @property
    def changes(self) -> bool:
        """Whether it changes the answer of any claim."""
        return any(cell.changes for cell in self.cells)


class HeadQuestion(StrictModel):
    """A question to the authors."""

    text: str
    """The question."""
    evidence: tuple[str, ...] = ()
    """Where values are stated, and which answers hang on them."""


class DocumentedCounts(StrictModel):
    """How many of the scored variables are documented."""

    card: int
    """By the card."""
    by_reviewers: int | None = None
    """By the reviewers' word; null where nobody has reviewed."""
    of: int
    """Of so many."""


class InputDigests(StrictModel):
    """What a scorecard was made of: digests by which it is known whether that has changed."""

    audit: str
    """Of the audit's file."""
    reviews: str = ""
    """Of the file of its reviews; empty without one."""
    records: str = ""
    """Of the names of the records, or of the archive that came with a report."""
    shipped: bool = False
    """Whether the scorecard came with the installation."""


class Head(StrictModel):
    """What a reader sees first, in this order."""

    title: str
    """The paper's title."""
    byline: str
    """Authors, venue and year."""
    link: str = ""
    """The paper's address."""
    code: str = ""
    """The authors' code."""
    scale: str
    """The scale of the runs, in words."""
    runs: str
    """How many runs a claim rests on, in words; empty without any."""
    stand_in: str = ""
    """The stand-in on which every claim of a paper was run, where it is the same."""
    read: str
    """What was read of the paper; empty if nobody says."""
    not_read: str
    """What was not read and a reader would expect."""
    verdict: tuple[str, ...]
    """The verdict, in two sentences at most."""
    note: HeadNote | None = None
    """The opinion of the auditor or of a reviewer."""
    counts: HeadCounts
    """The outcomes, counted."""
    claims: tuple[ClaimLine, ...]
    """Every claim once: the paper's own in the order of the page, then the others."""
    choices: tuple[ChoiceRow, ...] = ()
    """The choices that change an answer."""
    choices_below: str = ""
    """How many choices that leave an answer open stand with all that were tried alone, in words."""
    questions: tuple[HeadQuestion, ...] = ()
    """What to ask the authors."""
    questions_title: str = ""
    """The heading of the questions."""
    ours: str = ""
    """What is due to the audit's own choices, in a line."""
    documented: DocumentedCounts | None = None
    """What the paper documents; null of a head that was made without its audit."""
    measured_by: str = ""
    """Who measured, if it was not us."""
    no_guess_varied: bool = False
    """Whether the paper leaves values open, and none of them was varied."""
    fold: str = ""
    """Where the claims of code and derivation and our questions stand apart, how many there are."""

    @property
    def own(self) -> tuple[ClaimLine, ...]:
        """The lines of the paper's own claims."""
        return tuple(line for line in self.claims if line.whose == "paper")

    @property
    def other_side(self) -> tuple[ClaimLine, ...]:
        """The lines of claims of other papers."""
        return tuple(line for line in self.claims if line.whose == "literature")


class AnswerWords(StrictModel):
    """What is said of a claim beside its rows."""

    claim: str
    """The claim's id."""
    mark: str
    """Its outcome, in one character."""
    finding: str
    """What was found, in one clause."""
    source: str
    """Where the claim is made, and by whom it is worded."""
    runs: str
    """How many runs say yes to the whole claim, with the 90 % interval of the share."""
    certainty: tuple[str, ...] = ()
    """Each reason why we are not surer; or why there is no outcome."""
    own: str = ""
    """What `as run` means, where others read a setting otherwise."""
    facts: tuple[tuple[str, str], ...] = ()
    """What else is to be said, each with a word or two before it."""


# --- records ------------------------------------------------------------------------------------


class JudgedRecords(StrictModel):
    """The records that were judged: how they ended, when they were made, and what computed."""

    completed: int = 0
    """The runs that ended as they should."""
    diverged: int = 0
    """The runs that diverged."""
    failed: int = 0
    """The runs that crashed."""
    seconds: float = 0.0
    """How long all of them took, one after the other."""
    started: datetime | None = None
    """When the first of them began, in UTC."""
    last: datetime | None = None
    """When the last of them began."""
    ended: datetime | None = None
    """When the last of them ended."""
    software: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The versions of what computed, Python among them."""

    @property
    def count(self) -> int:
        """The number of records."""
        return self.completed + self.diverged + self.failed


class LeftOut(StrictModel):
    """Records that were not judged: their data or their coordinates are not those of today."""

    tier: str
    """Of the records."""
    count: int
    """How many."""
    data: str = ""
    """The data file of which they read another state."""
    experiment: str = ""
    """Of other coordinates: whose."""
    measurements: tuple[str, ...] = ()
    """What was measured along them."""
    before: str = ""
    """The coordinates that they were measured along, where these differ."""
    now: str = ""
    """Those that the audit declares."""


class Made(StrictModel):
    """What made the records, and which were left out."""

    environment: Environment | None = None
    """The machine and software of the first of them; null for measurements from elsewhere."""
    of_today: bool | None = None
    """Whether today's code would make them; null if nobody can tell."""
    revisions: tuple[str | None, ...] = ()
    """The revisions of the code that made them; null for one that nobody noted."""
    code: str = ""
    """The digest of the code of which they count."""
    adopted: tuple[str, ...] = ()
    """The digests of other code that made some of them, and gave the same bits."""
    measured_again: int = 0
    """In how many cells that was seen."""
    left_out: tuple[LeftOut, ...] = ()
    """Records that were not judged."""
    other_groups: int = 0
    """How many groups of records of other code were left out."""
    damaged: int = 0
    """How many damaged records of alternatives were left out."""
    listed: int | None = None
    """Of records that came with a report: how many the report lists."""
    lacking: int = 0
    """How many of those did not come with it."""
    counted: tuple[str, ...] = ()
    """Of measurements from elsewhere: how many of the runs that were given are judged, and why not
    the others, in sentences."""
    remarks: tuple[str, ...] = ()
    """Of these: what else a reader must know of how they were read."""


class RuleStanding(StrictModel):
    """Whether the rule stood before the runs that it judges."""

    rule: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """The digest of the rule, as `plan` prints it."""
    stood: bool | None
    """Whether it stood before the results, as git or a digest shows; null if that is not known."""
    text: str
    """The same in words, with what says so."""


class Scorecard(StrictModel):
    """A paper's scorecard."""

    schema_version: Literal[5]
    """The version of this format, 5."""
    slug: str
    """The paper's short name."""
    tier: Annotated[str, Field(pattern=r"^(smoke|quick|paper(-[a-z0-9-]+)?)$")]
    """smoke, quick, paper, or paper with the salt that drew its seeds."""
    inputs: InputDigests | None = None
    """What it was made of; null of measurements from elsewhere."""
    head: Head
    """What a reader sees first."""
    rows: tuple[Row, ...]
    """Every condition in every arm, claim by claim in the order of the audit."""
    answers: tuple[AnswerWords, ...]
    """What is said of each claim beside its rows, in the order of the audit."""
    tried: tuple[TriedValue, ...]
    """The values that were tried, or might have been, those that change an answer first."""
    claims: tuple[ClaimAnswer, ...]
    """The verdict, in the order of the audit."""
    figures: dict[str, Figure]
    """The figure of each claim that has one, by the claim's id."""
    records: JudgedRecords
    """What was judged."""
    made: Made
    """What made it."""
    earlier_results: int
    """How many results came before."""
    origin: Origin | None = None
    """Of measurements that are not ours: whose."""
    rule: RuleStanding | None = None
    """Of results that were handed in: whether the rule stood before them."""
    audit: Audit
    """The audit, with the claims that were judged."""
    reviews: Reviews
    """What reviewers and authors say of it."""
    shipped: bool = False
    """Whether it came with the installation."""
    changed_since: tuple[str, ...] | None = Field(default=None, exclude=True)
    """Of one that is shown as its file has it, for want of records: the fields of the audit that
    have changed since. It is no part of the file."""

    @model_validator(mode="after")
    def _fits_its_audit(self) -> Self:
        if [answer.id for answer in self.claims] != [claim.id for claim in self.audit.claims]:
            raise ValueError("its claims are not those of its audit")
        for answer, claim in zip(self.claims, self.audit.claims, strict=True):
            for fault in _misfits(answer, claim, self.audit):
                raise ValueError(fault)
        if unknown := self.figures.keys() - {claim.id for claim in self.audit.claims}:
            raise ValueError(f"it has a figure of the unknown claim '{min(unknown)}'")
        return self

    @property
    def paper(self) -> Paper:
        """The paper."""
        return self.audit.paper

    @property
    def of_paper(self) -> tuple[ClaimAnswer, ...]:
        """The answers to what the paper claims; those to questions of ours are in no count."""
        raised = {line.claim for line in self.head.own}
        return tuple(claim for claim in self.claims if claim.id in raised)

    @property
    def answers_digest(self) -> str:
        """The hash by which a note knows its own answers."""
        return answers_digest(self.audit, self.tier, self.claims, self.origin)

    @property
    def note_is_stale(self) -> bool:
        """Whether there is a note, and it was written for other claims or answers than these."""
        note = self.reviews.note
        return note is not None and note.answers != self.answers_digest

    @property
    def scale(self) -> TierName:
        """The tier without a salt."""
        return known_tier(self.tier.partition("-")[0])


def answers_digest(
    audit: Audit, tier: str, claims: Sequence[ClaimAnswer], origin: Origin | None
) -> str:
    """Return a hash of claims and answers, 32 hexadecimal digits, by which a note knows its own.

    It counts the tier, who measured, and of each claim its sentences, what decides on it, the
    outcome and how many runs say yes: its own, and those of each stated reading and alternative.
    """
    answers = {
        answer.id: [
            [claim.says, claim.short, plain(claim)],
            answer.outcome.value,
            *([arm.name, arm.yes, arm.n] for arm in (*answer.stated, *answer.alternatives)),
        ]
        for claim, answer in zip(audit.claims, claims, strict=True)
    }
    who = None if origin is None else origin.model_dump(mode="json")
    return digest([tier, who, answers])[:32]


_OF_A_CONDITION = (
    ReasonKind.OUT_OF_REACH,
    ReasonKind.NEAR,
    ReasonKind.MEAN_ALONE,
    ReasonKind.STRADDLES,
    ReasonKind.OUR_BOUND,
)
"""Reasons that are about a condition of the headline."""


def _misfits(answer: ClaimAnswer, claim: Claim, audit: Audit) -> Iterator[str]:
    """Yield what no judge writes of a claim: a page would look for what is not there."""
    if claim.experiment not in audit.experiments:
        yield f"{claim.id} is on the unknown experiment '{claim.experiment}'"
    beside = [*zip(claim.support, answer.support, strict=False)]
    beside += zip(claim.notes, answer.notes, strict=False)
    asked = len(claim.support), len(claim.notes)
    fits = asked == (len(answer.support), len(answer.notes))
    fits &= all(_answers(arm, claim.headline) for arm in answer.arms())
    fits &= all(_answers(arm, [check]) for check, arm in beside)
    if not fits:
        yield f"its answer to {claim.id} is to other checks than its audit's"
    if not any(arm.role is Role.OWN for arm in answer.stated):
        yield f"its answer to {claim.id} has no runs of the claim's own"
    said = {arm.answer for arm in answer.deciding}
    if answer.outcome is Outcome.DEPENDS and not {Answer.YES, Answer.NO} <= said:
        yield f"{claim.id} depends, and nothing there says yes, or nothing says no"
    arms = {arm.name: arm for arm in answer.arms()} | {"": answer.base}
    for reason in answer.reasons:
        if reason.arm not in arms and reason.kind is not ReasonKind.LEFT_OUT:
            yield f"a reason of {claim.id} is about the unknown arm '{reason.arm}'"
        about = arms.get(reason.arm) if reason.kind is ReasonKind.OUT_OF_REACH else answer.base
        conditions = 0 if about is None else len(about.estimates)
        if reason.kind in _OF_A_CONDITION and not 0 <= reason.place < conditions:
            yield f"a reason of {claim.id} is about condition {reason.place} of {conditions}"


def _answers(arm: ArmAnswer, checks: Sequence[Kind]) -> bool:
    """Whether an arm's conditions are those of checks, by place and name."""
    names = [{number.name for number in check.numbers} for check in checks]
    return all(0 <= at.check < len(names) and at.name in names[at.check] for at in arm.estimates)
