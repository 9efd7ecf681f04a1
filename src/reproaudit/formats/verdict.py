"""The verdict as data: what `judge` returns on each claim. No sentence of the tool's is in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from reproaudit.audit.arms import Role
from reproaudit.audit.model import TierName
from reproaudit.cell import SettingValue
from reproaudit.checks import Censored, Kind, Limit, Number, Side, Void
from reproaudit.declarations import Coordinate, StrictModel
from reproaudit.stats.binomial import Decision


class Outcome(StrEnum):
    """The conclusion on a claim."""

    SUPPORTED = "supported"
    PARTLY_SUPPORTED = "partly supported"
    DEPENDS = "depends"
    NOT_SUPPORTED = "not supported"
    UNDECIDED = "undecided"
    UNINFORMATIVE = "uninformative"
    NOT_TESTED = "not tested"
    ERROR = "error"


DECIDED = (Outcome.SUPPORTED, Outcome.PARTLY_SUPPORTED, Outcome.DEPENDS, Outcome.NOT_SUPPORTED)


class Level(StrEnum):
    """How sure the evidence makes us, as GRADE words it."""

    HIGH = "high"
    MODERATE = "moderate"
    LOW = "low"
    VERY_LOW = "very low"


class Specificity(StrEnum):
    """What an ablation tells."""

    DIVERGES = "diverges"
    SPECIFIC = "specific"
    SMALLER = "smaller"
    NOT_SPECIFIC = "not specific"
    OPEN = "open"


class Status(StrEnum):
    """What one run says."""

    YES = "yes"
    NO = "no"
    VOID = "void"
    CRASHED = "crashed"


class Answer(StrEnum):
    """What a reading of the paper, a set of settings, answers."""

    YES = "yes"
    NO = "no"
    NEAR = "near"
    MIXED = "mixed"
    OPEN = "open"
    BLIND = "blind"
    RULED_OUT = "ruled out"
    UNFINISHED = "unfinished"


class Verdict(StrEnum):
    """What becomes of a control."""

    FAILS = "fails"
    PASSES = "passes"
    LARGER = "larger"
    OPEN = "open"
    ITSELF = "itself"


class Unlike(StrEnum):
    """What was not measured alike, and was let pass."""

    LENGTHS = "lengths"
    ONE_RUN = "one run"
    BEST_SO_FAR = "best so far"
    ENDS_AT_BEST = "ends at best"
    ZERO_START = "zero start"
    START_LEFT_OUT = "start left out"


# --- what an arm's runs say ---------------------------------------------------------------------


class Varied(StrictModel):
    """A setting at another value than the claim's own."""

    setting: str
    value: SettingValue
    also: tuple[Varied, ...] = ()
    """Further settings that are at other values at once."""

    @classmethod
    def at_once(cls, values: Mapping[str, SettingValue]) -> Varied:
        """Return settings at these values, the first with all others beside it."""
        first, *also = (cls(setting=name, value=value) for name, value in values.items())
        return cls(setting=first.setting, value=first.value, also=tuple(also)) if also else first

    @property
    def every(self) -> tuple[Varied, ...]:
        """The setting, and those beside it."""
        return (self, *self.also)


class RunAnswer(StrictModel):
    """What one run says of some checks."""

    seed: int
    status: Status
    diverged: bool = False
    """Whether its own training diverged, so that it says no and has no numbers."""
    void: Void | None = None
    """Why it is void; null of any other run."""
    about: str = ""
    """What a void run is about: the arm that diverged or has no run of this seed, or the
    measurement that it lacks."""
    found: float | None = None
    """What was found in a void run: the step at which its log begins, or the number that lies out
    of range."""

    @property
    def answered(self) -> bool:
        """Whether it was held against the bounds."""
        return self.status in (Status.YES, Status.NO) and not self.diverged


class Estimate(StrictModel):
    """One condition over the runs of an arm."""

    check: int
    """The place of its check among those that were asked."""
    name: str
    """Which of its check's conditions it is; of a check with one, the kind."""
    measurement: str
    """The measurement that the number is of."""
    unit: Literal["plain", "factor", "share"] = "plain"
    """The form of the number: as measured, a factor, or a share."""
    contrast: bool = False
    """Whether it compares two quantities with no margin: it must beat the control's, too."""
    limit: Limit
    """The bound."""
    values: tuple[float | None, ...]
    """The number of each run, in the order of the runs; null where a run has none."""
    holds: tuple[bool | None, ...]
    """Whether each run meets the bound; null where nobody can tell."""
    censored: tuple[Censored | None, ...] = ()
    """Whether the number of a run is only a limit, at least or at most; empty where none is."""
    by_mean: bool = False
    """Whether the mean of the runs decides."""
    log: bool = False
    """Whether that is the geometric mean."""
    mean: tuple[float, float, float] | None = None
    """The mean, and the ends of its 90 % interval; null where there is none, as where a run
    diverged, so that the runs decide."""
    apart: int = 0
    """How many runs the mean leaves out: at most a fifteenth, those farthest from the typical one,
    where the mean of all is open and the count decides as the mean of the others does."""
    decision: Decision | None = None
    """What the mean or the comparison of groups decides; null where the runs are counted."""
    groups: tuple[tuple[float | None, ...], tuple[float | None, ...]] | None = None
    """Where groups with seeds of their own are compared: the number of each run, and of each run of
    the other arm, the smaller the better; null where a run has none."""

    def number_of(self, check: Kind) -> Number:
        """Return which of its check's numbers the condition is on."""
        return next(number for number in check.numbers if number.name == self.name)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The number of each run that has one."""
        return tuple(value for value in self.values if value is not None)

    def side(self, run: int) -> Censored | None:
        """Return on which side of its number a run lies, if that is only a limit."""
        return self.censored[run] if self.censored else None

    def known(self, number: float) -> Censored | None:
        """Return what is known of the typical or the worst run's number; None if it is exact."""
        pairs = [*zip(self.values, self.censored, strict=False)]
        if any(at is not None and c is Censored.AT_LEAST and at <= number for at, c in pairs):
            return Censored.AT_LEAST
        if any(at is not None and c is Censored.AT_MOST and at >= number for at, c in pairs):
            return Censored.AT_MOST
        return None

    @property
    def median(self) -> float | None:
        """The number of the typical run; a limit, where `known` says so."""
        return median(self.numbers) if self.numbers else None

    @property
    def size(self) -> float:
        """How far the typical run is beyond no effect, factors by their logarithm; or NaN."""
        typical = math.nan if self.median is None else self.median
        if self.unit == "factor":
            typical = math.log(typical) if typical > 0 else math.nan
        return -typical if self.limit.side in (Side.BELOW, Side.AT_MOST) else typical

    @property
    def worst(self) -> float | None:
        """The number of the run farthest from meeting the bound; a limit, as of `median`."""
        return self.limit.worst(self.numbers) if self.numbers else None

    @property
    def met(self) -> bool:
        """Whether it is met, by its own decision, or else in most of the runs that can tell."""
        if self.decision in (Decision.MET, Decision.MISSED):
            return self.decision is Decision.MET
        known = [held for held in self.holds if held is not None]
        return 2 * sum(known) > len(known)


class Counted:
    """What is counted of an arm's runs, while they are judged and when that is published."""

    if TYPE_CHECKING:

        @property
        def runs(self) -> tuple[RunAnswer, ...]:
            """Every run, by seed."""

        @property
        def estimates(self) -> tuple[Estimate, ...]:
            """What is asked of the runs, by condition."""

        @property
        def decision(self) -> Decision:
            """The decision of all runs together."""

        @property
        def stands_alone(self) -> bool:
            """Whether the one run stands for all."""

    @property
    def yes(self) -> int:
        """The number of runs that say yes."""
        return self._count(Status.YES)

    @property
    def n(self) -> int:
        """The number of runs that were handed in."""
        return len(self.runs)

    @property
    def valid(self) -> int:
        """The number of runs that say yes or no."""
        return self._count(Status.YES, Status.NO)

    @property
    def void(self) -> int:
        """The number of void runs."""
        return self._count(Status.VOID)

    @property
    def crashed(self) -> int:
        """The number of runs that crashed."""
        return self._count(Status.CRASHED)

    @property
    def diverged(self) -> int:
        """The number of runs whose own training diverged."""
        return sum(run.diverged for run in self.runs)

    @property
    def lacks(self) -> tuple[str, ...]:
        """The measurements that no run has, of runs that did not diverge; none without runs."""
        lacking = [run.about for run in self.runs if run.void is Void.NOT_MEASURED]
        is_every = lacking and len(lacking) + self.diverged == self.n
        return tuple(dict.fromkeys(lacking)) if is_every else ()

    @property
    def is_measured(self) -> bool:
        """Whether runs were handed in that have what is asked for."""
        return bool(self.runs) and not self.lacks

    def _count(self, *statuses: Status) -> int:
        return sum(run.status in statuses for run in self.runs)


class ArmAnswer(Counted, StrictModel):
    """What the runs of one arm say of some checks, at one coordinate."""

    name: str
    """The arm's name, unique within the claim."""
    role: Role
    """What the arm is to the claim."""
    varied: Varied | None = None
    """The setting that differs in a reading, an alternative, or the own runs beside a reading."""
    at: Coordinate | None = None
    """The coordinate of a graded claim."""
    decision: Decision
    """met, missed or open, of all runs together."""
    relaxed: Decision
    """The decision where every number of ours is relaxed."""
    runs: tuple[RunAnswer, ...]
    """Every run, by seed."""
    estimates: tuple[Estimate, ...] = ()
    """By condition; none where no run was held against the bounds."""
    unfinished: bool = False
    """Whether there are too few runs, or void or crashed ones stand in the way of a decision."""
    equal: bool = False
    """Whether all of at least five runs are equal in every number that was read."""
    copies: int = 0
    """How many further runs, measured elsewhere, were copies of others."""
    stands_alone: bool = False
    """Whether its one run, measured elsewhere, stands for all: the audit calls it deterministic."""
    left_over: dict[str, int] = Field(default_factory=dict)
    """How many runs of each compared arm, measured elsewhere, have no run with their seed here."""
    trained: tuple[float, float] | None = None
    """The median training loss at the start and at the end."""


def first_contrast(
    own: Sequence[Estimate], other: Sequence[Estimate]
) -> tuple[Estimate, Estimate] | None:
    """Return the first contrast that has a size in two arms of a claim; None if none has."""
    pairs = zip(own, other, strict=False)
    contrasts = (pair for pair in pairs if pair[0].contrast)
    sized = (pair for pair in contrasts if not any(math.isnan(arm.size) for arm in pair))
    return next(sized, None)


class ReadingAnswer(ArmAnswer):
    """What the runs of a reading answer, with its controls."""

    answer: Answer
    by: str = ""
    """What makes it blind or open: the control that passes or stands in the way, or the positive
    control that misses a bound."""


class ControlAnswer(ArmAnswer):
    """What the runs of a control say."""

    verdict: Verdict
    """fails; passes; has the larger contrast in more than half of the paired runs; is open, and
    stands in the way; or is what the claim is compared with, so that it tells nothing."""


class AblationAnswer(ArmAnswer):
    """What the runs of an ablation say."""

    specificity: Specificity
    """Whether the effect is specific to what it lacks."""


class AlternativeAnswer(ReadingAnswer):
    """What the runs answer under another value of a guess."""

    tier: TierName
    """The tier at which it ran."""
    credible: bool = True
    """Whether the audit calls it as likely as the claim's own value."""
    counts: bool = True
    """Whether the own runs of that tier answer as those of the page's; if not, this counts for
    nothing."""
    own_yes: int = 0
    """How many of the claim's own runs of that tier say yes."""
    own_n: int = 0
    """How many own runs of that tier say yes or no."""
    own_typical: tuple[float | None, ...] = ()
    """The typical number of each condition in the claim's own runs of that tier."""
    moves: bool = True
    """Whether any number is another one than in the claim's own run with the same seed."""


# --- the conclusion on a claim ------------------------------------------------------------------


class ReasonKind(StrEnum):
    """Why there is no outcome; then why we are not surer of it."""

    CRASHED = "crashed"
    SMOKE = "smoke"
    NOT_MEASURED = "not measured"
    LEFT_OUT = "left out"
    TOO_FEW = "too few"
    CONTROL_PASSES = "control passes"
    CONTROL_LARGER = "control larger"
    CONTROL_ITSELF = "control itself"
    OUT_OF_REACH = "out of reach"
    VOID_RUNS = "void runs"
    ALL_DIVERGED = "all diverged"
    READING_UNFINISHED = "reading unfinished"
    READING_LEFT_OUT = "reading left out"
    NEAR = "near"
    NOT_ENDED = "not ended"
    CONTROL_OPEN = "control open"
    MEAN_ALONE = "mean alone"
    MEAN_OPEN = "mean open"
    GROUPS_OPEN = "groups open"
    LEVELS = "levels"
    STRADDLES = "straddles"
    FEW_RUNS = "few runs"
    ALTERNATIVE_OPEN = "alternative open"

    SCALE = "scale"
    PROXY = "proxy"
    ORIGIN = "origin"
    INDIRECT = "indirect"
    READING_OPEN = "reading open"
    SMALL_SIDE = "small side"
    GUESS_OTHERWISE = "guess otherwise"
    GUESS_NOT_SETTLED = "guess not settled"
    RUNS = "runs"
    NO_CONTROL = "no control"
    NOT_ALIKE = "not measured alike"
    UNSTATED = "unstated"
    OUR_BOUND = "our bound"
    RULE = "rule"


class NotAlike(StrictModel):
    """Something that was not measured alike in two arms and was let pass."""

    how: Unlike
    arms: tuple[str, ...]
    """The arm whose measurements are other than those that they are compared with; of lengths, both
    arms."""
    measurement: str = ""
    ends: tuple[int, ...] = ()
    """The last step in either arm, where lengths differ."""
    lowers: bool = True
    """Whether it takes a step of certainty; not so lengths that settings state."""


class Reason(StrictModel):
    """A reason: its kind, and what the answer and the audit do not say of it already."""

    kind: ReasonKind
    arm: str = ""
    """The name of the control, the reading or the alternative that it is about."""
    void: Void | None = None
    """Why runs are void."""
    alike: NotAlike | None = None
    """What was not measured alike."""
    place: int = 0
    """The place of the headline's condition that it is about."""
    settings: tuple[str, ...] = ()
    """The guesses that no run settles or under which runs diverged, or the setting of which a
    stated value is left out."""
    runs: int = 0
    """How many runs crashed, diverged, are void, are missing, disagree, or miss the other bound."""
    bound: float = 0.0
    """The other bound of ours, which changes the answer."""
    stated: float = 0.0
    """The bound of ours in its place, as the audit has it."""
    found: float | None = None
    """What was found in the first of the void runs, as `RunAnswer.found`."""
    what: str = ""
    """What stood in, in the record's words; who measured; which measurement, or arm, is lacking; or
    which arm diverged, too."""
    changed: bool = False
    """Whether a bound was changed after results; else the audit was not committed before."""


class ClaimAnswer(StrictModel):
    """The conclusion on one claim, and all that it rests on."""

    id: str
    """The claim's id, ``slug.name``."""
    outcome: Outcome = Outcome.UNDECIDED
    """The conclusion."""
    level: Level | None = None
    """How sure; null for what is not decided."""
    reasons: tuple[Reason, ...] = ()
    """Why not surer, each a step down; why there is no outcome, where there is none."""
    other_bounds: tuple[Outcome, ...] = ()
    """The other outcomes that follow with every bound of ours twice as wide, or half as wide; none
    where both leave the conclusion as it is."""
    base: ReadingAnswer
    """The headline's runs, at the primary coordinates together: the claim's own. Where those leave
    it open, those of a stated reading that brings the outcome."""
    cannot_fail: tuple[int, ...] = ()
    """The headline's conditions, by place, that no control misses."""
    proxy: str | None = None
    """What stood in for the paper's data or method in these runs."""
    not_alike: tuple[NotAlike, ...] = ()
    """What was not measured alike in these runs and their controls, and was let pass."""
    grades: tuple[ReadingAnswer, ...] = ()
    """The headline at each coordinate, easiest first."""
    support: tuple[ArmAnswer, ...] = ()
    """The answer to each check beside the headline."""
    notes: tuple[ArmAnswer, ...] = ()
    """The answer to each stricter check of ours."""
    readings: tuple[ReadingAnswer, ...] = ()
    """The headline under other values that a source states, equal in rank with the own ones."""
    left_out: tuple[Varied, ...] = ()
    """Other values that a source states and the claim is not judged under: they are unfinished,
    unless runs under them show that they move no number that the claim reads."""
    controls: tuple[ControlAnswer, ...] = ()
    """The headline of each control."""
    ablations: tuple[AblationAnswer, ...] = ()
    """The headline without a part of the mechanism."""
    positive_control: ArmAnswer | None = None
    """The headline of the positive control."""
    alternatives: tuple[AlternativeAnswer, ...] = ()
    """The headline under other guesses."""

    @property
    def name(self) -> str:
        """The claim's name within its paper."""
        return self.id.partition(".")[2]

    @property
    def stated(self) -> tuple[ReadingAnswer, ...]:
        """The readings that a source states, the one shown as the claim's own first."""
        return (self.base, *self.readings)

    @property
    def own(self) -> ReadingAnswer:
        """The reading of the claim's own settings."""
        return next(reading for reading in self.stated if reading.role is Role.OWN)

    @property
    def sides(self) -> tuple[ReadingAnswer, ReadingAnswer] | None:
        """A reading that says yes and one that says no, of a claim that depends; else None."""
        if self.outcome is not Outcome.DEPENDS:
            return None
        yes = next(reading for reading in self.deciding if reading.answer is Answer.YES)
        no = next(reading for reading in self.deciding if reading.answer is Answer.NO)
        return yes, no

    @property
    def deciding(self) -> tuple[ReadingAnswer, ...]:
        """The readings that a source states, and the likely alternatives that count."""
        likely = (arm for arm in self.alternatives if arm.counts and arm.credible)
        return (*self.stated, *likely)

    @property
    def otherwise(self) -> list[AlternativeAnswer]:
        """The alternatives that answer yes where the claim's own runs answer no, or no for yes."""
        return [arm for arm in self.alternatives if self.changed_by(arm)]

    def changed_by(self, arm: ReadingAnswer) -> bool:
        """Tell whether a reading answers otherwise than `base`, or an alternative turns `own`.

        An alternative turns it with a yes for a no, or a no for a yes.
        """
        if isinstance(arm, AlternativeAnswer):
            return arm.counts and {arm.answer, self.own.answer} == {Answer.YES, Answer.NO}
        return arm.answer not in (Answer.UNFINISHED, self.base.answer)

    @property
    def leading(self) -> Estimate | None:
        """The condition that a row shows: what own runs miss, or a reading's, or a control's."""
        estimates = self.base.estimates
        missed = [own for own in estimates if not own.met]
        missed.sort(key=lambda own: False not in own.holds)  # what says no before what says nothing
        turned = [reading.estimates for reading in self.readings if reading.answer is Answer.NO]
        read = [
            own
            for place, own in enumerate(estimates)
            if any(not other.met for them in turned for other in them[place : place + 1])
        ]
        telling = [own for place, own in enumerate(estimates) if place not in self.cannot_fail]
        return next(iter(missed or read or telling or estimates), None)

    def arms(self) -> Iterator[ArmAnswer]:
        """Yield every arm to which the headline was put."""
        yield from (self.base, *self.grades, *self.readings, *self.controls, *self.ablations)
        yield from (() if self.positive_control is None else (self.positive_control,))
        yield from self.alternatives
