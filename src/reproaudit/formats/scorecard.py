"""The scorecard that publishes a verdict.

`scorecard.json` is a `Scorecard`: the audit as it was judged, the verdict on every claim, and what
is known of the records. No sentence of the tool's is in it; `report` makes all words of it, at the
end. Version 4 may still change until the page has its new form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reproaudit.audit.arms import Role
from reproaudit.audit.model import Audit, Claim, Paper, TierName, known_tier
from reproaudit.audit.review import Reviews
from reproaudit.audit.seeds import CLAIM, digest
from reproaudit.checks import Kind
from reproaudit.declarations import StrictModel
from reproaudit.formats.verdict import Answer, ArmAnswer, ClaimAnswer, Outcome, ReasonKind
from reproaudit.records import Environment, Origin

SCHEMA_VERSION: Literal[4] = 4

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
    remarks: tuple[str, ...] = ()
    """Of measurements from elsewhere: what a reader must know of how they were read."""


class Scorecard(StrictModel):
    """A paper's scorecard."""

    schema_version: Literal[4]
    """The version of this format, 4."""
    tier: Annotated[str, Field(pattern=r"^(smoke|quick|paper(-[a-z0-9-]+)?)$")]
    """smoke, quick, paper, or paper with the salt that drew its seeds."""
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
        if [one.id for one in self.claims] != [one.id for one in self.audit.claims]:
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
        raised = {one.id for one in self.audit.claims if not one.ours}
        return tuple(one for one in self.claims if one.id in raised)

    @property
    def answers_digest(self) -> str:
        """A hash of claims and answers, 32 hexadecimal digits, by which a note knows its own.

        It counts the tier, who measured, and of each claim its sentences, what decides on it, the
        outcome and how many runs say yes: its own, and those of each stated reading and
        alternative.
        """
        answers = {
            one.id: [
                [claim.says, claim.short, CLAIM.of(claim)],
                one.outcome.value,
                *([arm.name, arm.yes, arm.n] for arm in (*one.stated, *one.alternatives)),
            ]
            for claim, one in zip(self.audit.claims, self.claims, strict=True)
        }
        who = None if self.origin is None else self.origin.model_dump(mode="json")
        return digest([self.tier, who, answers])[:32]

    @property
    def note_is_stale(self) -> bool:
        """Whether there is a note, and it was written for other claims or answers than these."""
        note = self.reviews.note
        return note is not None and note.answers != self.answers_digest

    @property
    def scale(self) -> TierName:
        """The tier without a salt."""
        return known_tier(self.tier.partition("-")[0])


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
    arms = {"", *(arm.name for arm in answer.arms())}
    conditions = len(answer.base.estimates)
    for reason in answer.reasons:
        if reason.arm not in arms and reason.kind is not ReasonKind.LEFT_OUT:
            yield f"a reason of {claim.id} is about the unknown arm '{reason.arm}'"
        if reason.kind in _OF_A_CONDITION and not 0 <= reason.place < conditions:
            yield f"a reason of {claim.id} is about condition {reason.place} of {conditions}"


def _answers(arm: ArmAnswer, checks: Sequence[Kind]) -> bool:
    """Whether an arm's conditions are those of checks, by place and name."""
    names = [{number.name for number in check.numbers} for check in checks]
    return all(0 <= at.check < len(names) and at.name in names[at.check] for at in arm.estimates)
