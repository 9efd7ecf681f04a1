"""The base of every kind of check: bounds, and the conditions that a run meets or not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from reproaudit.checks.canonical import BOUND, NUMBER, CanonicalForm, plain
from reproaudit.checks.run import Censored, Course, Run
from reproaudit.checks.shown import Drawing, Names, Number, Unit, read_noun
from reproaudit.declarations import (
    ROUNDING,
    Coordinate,
    MeasurementMissingError,
    Name,
    Quantity,
    StrictModel,
    told_by,
)
from reproaudit.lazy import FloatArray, np


class Provenance(StrEnum):
    """Where a bound comes from."""

    PAPER = "paper"
    DERIVED = "derived"
    NULL = "null"
    CEILING = "ceiling"
    OURS = "ours"


class Side(StrEnum):
    """The side of a bound on which a number meets it."""

    AT_MOST = "at_most"
    AT_LEAST = "at_least"
    BELOW = "below"
    ABOVE = "above"
    WITHIN = "within"

    @property
    def is_upper(self) -> bool:
        """Whether a number must lie below the bound, or on it."""
        return self in (Side.AT_MOST, Side.BELOW)


class Void(StrEnum):
    """Why a run says neither yes nor no."""

    REFERENCE_DIVERGED = "reference diverged"
    REFERENCE_CRASHED = "reference crashed"
    NO_REFERENCE = "no reference"
    NOT_MEASURED = "not measured"
    NO_NUMBER = "no number"
    CENSORED = "censored"
    START = "start"
    BEGINS_LATE = "begins late"
    THERE_AT_START = "there at the start"
    OUT_OF_RANGE = "out of range"
    EXCHANGED = "exchanged"
    NOT_ENDED = "not ended"
    HIDDEN = "hidden"
    FEW_OBSERVED = "few observed"
    END_APART = "end apart"
    REFERENCE_END = "reference end"
    START_APART = "start apart"
    NOT_AS_FAR = "not as far"
    NOT_AS_FINELY = "not as finely"
    NOT_AS_MANY = "not as many"
    NOT_AS_OFTEN = "not as often"
    STATISTIC = "another statistic"
    FROM_THE_START = "from the start"
    STARTS_ELSEWHERE = "starts elsewhere"
    UNPROMPTED = "unprompted"
    CUT = "cut"


class FewObservedError(MeasurementMissingError):
    """A run has too few observations of a measurement for what a check reads of it."""


RELAXED_BY = 2.0  # The factor by which a bound of ours is relaxed; of a fold it is the power


@dataclass(frozen=True)
class Limit:
    """A bound as a run's number is held against it."""

    __pydantic_config__ = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    side: Side
    """Where the number must lie."""
    at: float
    """The bound; for `WITHIN`, the margin around `target`."""
    origin: Provenance
    """Where the bound comes from."""
    zero: float = 0.0
    """The number at which nothing is allowed: 0 for a distance or a tolerance, 1 for a factor, a
    share or a cosine. Relaxing acts on the distance from it."""
    fold: bool = False
    """Whether it is a fold, a factor by which something falls or grows, whose root relaxes it."""
    least: float | None = None
    """The least number that there can be: a relaxed bound lies above it."""
    most: float | None = None
    """The largest number that there can be: a relaxed bound lies below it."""
    target: float = 0.0
    """The number that is to be equalled, in the middle of a margin."""
    relative: bool = False
    """Whether a margin is a factor either way: 0.25 for target / 1.25 to 1.25 · target."""
    of: Provenance | None = None
    """Where the target comes from, if not from where its margin does."""
    margin: float | None = None
    """The margin around `target` of which the bound is one end; relaxing acts on it."""
    why: str | None = None
    """The reason for a bound of ours."""

    @property
    def number_from(self) -> Provenance:
        """Where the number comes from that is bounded or equalled."""
        return self.of or self.origin

    @property
    def level(self) -> float:
        """The number at which the bound lies; for `WITHIN`, the middle."""
        return self.target if self.side is Side.WITHIN else self.at

    @property
    def accepted(self) -> tuple[float, float]:
        """The range that meets the bound, infinite at an open end."""
        if self.side is Side.WITHIN:
            if self.relative:
                ends = self.target / (1 + self.at), self.target * (1 + self.at)
                return min(ends), max(ends)
            return self.target - self.at, self.target + self.at
        return (-math.inf, self.at) if self.side.is_upper else (self.at, math.inf)

    def one_sided(self, side: Side) -> Limit:
        """Return one end of a margin, of `AT_MOST` the upper one, of `AT_LEAST` the lower one."""
        low, high = self.accepted
        at = high if side is Side.AT_MOST else low
        return replace(self, side=side, at=at, margin=self.at)

    def met_by(self, value: float) -> bool:
        """Tell whether a number meets the bound."""
        if self.side is Side.BELOW:
            return value < self.at
        if self.side is Side.ABOVE:
            return value > self.at
        low, high = self.accepted
        return low <= value <= high

    def held(self, value: float, censored: Censored | None) -> bool | None:
        """Tell whether a number meets the bound; None where its limit alone does not decide."""
        met = self.met_by(value)
        if censored is None:
            return met
        low, high = self.accepted
        upwards = censored is Censored.AT_LEAST
        if met:
            return True if math.isinf(high if upwards else low) else None
        return False if (value >= high if upwards else value <= low) else None

    def worst(self, values: Sequence[float]) -> float:
        """Return the number farthest from meeting the bound, of at least one."""
        return max(values, key=self.distance)

    def distance(self, value: float) -> float:
        """Return a measure of how far a number is from meeting the bound: the larger, the worse."""
        if self.side is Side.WITHIN:
            low, high = (abs(end - self.target) or math.ulp(0.0) for end in self.accepted)
            return max((self.target - value) / low, (value - self.target) / high)
        return value if self.side.is_upper else -value

    def badness(self, value: float, censored: Censored | None) -> tuple[int, float]:
        """Return whether a number misses the bound, and how far: the larger, the worse."""
        if not math.isfinite(value):
            return 1, math.inf
        return (True, None, False).index(self.held(value, censored)), self.distance(value)

    def relaxed(self) -> Limit:
        """Return the bound that allows more, where it is ours; else the same bound.

        A tolerance is doubled, and so is what a bound allows from `zero` on: a distance d to 2d, a
        score 1 - d to 1 - 2d, a factor 1 + e to 1 + 2e. What must be passed is halved instead. A
        fold moves to its root, and a factor that must stay below a bound under 1 as its inverse
        does. 0, 1 and a bound at `zero` stay, and so does a bound that would lie past the end of
        its range, or, of a score or a factor, at 0 or below.
        """
        return self._moved(looser=True)

    def tightened(self) -> Limit:
        """Return the bound that allows less, where it is ours: by what `relaxed` allows more."""
        return self._moved(looser=False)

    def _moved(self, *, looser: bool) -> Limit:
        if self.origin is not Provenance.OURS:
            return self
        by = RELAXED_BY if looser else 1 / RELAXED_BY
        if self.side is Side.WITHIN:
            margin = replace(self, at=self.at * by)
            if self.least is None or self.most is None:
                return margin
            low, high = margin.accepted  # what covers the whole range could not be missed
            return self if low <= self.least and self.most <= high else margin
        if self.margin is not None:
            both = replace(self, side=Side.WITHIN, at=self.margin * by, margin=None)
            return self._within_range(both.one_sided(self.side))
        if self.at in (0.0, 1.0):
            return self
        if self.fold and self.at > 0:
            ends = [math.sqrt(self.at), self.at * self.at]
        elif self.side.is_upper and self.zero == 1.0 and 0 < self.at < 1:
            ends = [1 / (1 + (1 / self.at - 1) * by) for by in (1 / RELAXED_BY, RELAXED_BY)]
        else:
            ends = [self.zero + (self.at - self.zero) * by for by in (1 / RELAXED_BY, RELAXED_BY)]
        at = max(ends) if self.side.is_upper is looser else min(ends)
        return self._within_range(replace(self, at=at))

    def _within_range(self, moved: Limit) -> Limit:
        """The moved bound, unless it lies past the end of the range."""
        above = (self.least is None or moved.at > self.least) and (self.zero != 1.0 or moved.at > 0)
        below = self.most is None or moved.at < self.most
        return moved if above and below else self


@dataclass(frozen=True)
class Condition:
    """One number of one run, and the bound that it meets or not.

    Attributes:
        noun: the measurement that the number is of.
        value: the run's number, of the worst coordinate; None where it does not exist.
        says: what the run says without a number: no, where a change never comes; None, where the
            number is missing, infinite or 0/0, so that the run is void.
        check: the place of its check among those that were put to the run.
        censored: of a value that is a limit alone, on which side of it the number lies.
        void: why the run says nothing, where more is known than that there is no number.
        about: the measurement of which `void` speaks, where that is not the number's.
        found: what was found in place of the number: the step at which a log begins, or a number
            out of range.
        settled: where the mean of the runs decides, the number by the median at the end of the
            course; None where no end is read.
        refuted: whether the run says no although its number meets the bound, as of a trend that a
            single size makes.
        groups: where two groups are compared, what is compared of this run and of each run of the
            other arm, the smaller the better; NaN where a run has no number.
    """

    number: Number
    noun: str
    value: float | None
    limit: Limit
    says: bool | None = None
    check: int = 0
    censored: Censored | None = None
    void: Void | None = None
    about: str | None = None
    found: float | None = None
    settled: float | None = None
    refuted: bool = False
    groups: tuple[float, tuple[float, ...]] | None = None

    @property
    def met(self) -> bool | None:
        """Whether the run meets the bound; None where nobody can tell."""
        if self.void is not None:
            return None
        if self.refuted:
            return False
        return self.says if self.value is None else self.limit.held(self.value, self.censored)

    @property
    def name(self) -> str:
        """The number's name."""
        return self.number.name

    @property
    def unit(self) -> Unit:
        """What the number is: plain (as measured), a factor, or a share."""
        return self.number.form.unit

    @property
    def contrast(self) -> bool:
        """Whether the number compares two quantities with no margin."""
        return self.number.contrast


class Sourced(StrictModel):
    """What comes from somewhere: a bound, a margin, a law that competes with rivals."""

    canonical: ClassVar[CanonicalForm]

    origin: Provenance = Field(alias="from")
    """Where the bound comes from: the paper, algebra (`derived`), what a null reaches, what a
    constructed solution reaches (`ceiling`), or us (`ours`)."""
    why: str | None = Field(default=None, min_length=1)
    """The reason for a bound of ours, in one line; no other bound has one."""

    @model_validator(mode="after")
    def _with_reason(self) -> Self:
        if (self.origin is Provenance.OURS) != (self.why is not None):
            raise PydanticCustomError("bound", "a bound from 'ours' alone needs 'why', its reason")
        return self


class Bound(Sourced):
    """A bound with its provenance."""

    canonical = BOUND

    at_most: float | None = None
    """The largest number that meets it."""
    at_least: float | None = None
    """The smallest number that meets it."""
    below: float | None = None
    """The number that it must stay below."""
    above: float | None = None
    """The number that it must exceed."""

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if len(list(self._sides())) != 1:
            raise PydanticCustomError(
                "bound_form", "a bound has one of 'at_most', 'at_least', 'below' and 'above'"
            )
        return self

    def _sides(self) -> Iterator[tuple[Side, float]]:
        for side in Side:
            if (at := getattr(self, side.value, None)) is not None:
                yield side, at

    def limit(self, zero: float = 0.0, *, fold: bool = False) -> Limit:
        """Return the bound as a number is held against it."""
        side, at = next(self._sides())
        return Limit(side, at, self.origin, zero, fold, why=self.why)


Positive = Annotated[float, Field(gt=0)]


class SourcedNumber(Sourced):
    """A number with its own source, where a check has two numbers."""

    canonical = NUMBER

    amount: Positive = Field(alias="is")
    """The number."""


PositiveOrSourced = Annotated[
    Annotated[Positive, Tag("number")] | Annotated[SourcedNumber, Tag("sourced")],
    told_by(int | float, "number", "sourced"),
]
"""A positive number of the check's own source, or `{is: 0.05, from: ours, why: a reason}`."""


def amount_of(number: float | SourcedNumber) -> float:
    """Return a number without its source."""
    return number.amount if isinstance(number, SourcedNumber) else number


def margin_around(
    target: float,
    within: float | SourcedNumber,
    origin: Provenance,
    why: str | None = None,
    *,
    relative: bool = False,
) -> Limit:
    """Return a margin, of its own source or else of that of the number in its middle."""
    limit = Limit(Side.WITHIN, amount_of(within), origin, target=target, relative=relative)
    if isinstance(within, SourcedNumber):
        return replace(limit, origin=within.origin, of=origin, why=within.why)
    return replace(limit, of=origin, why=why)


NumberOrBound = Annotated[
    Annotated[float, Tag("number")] | Annotated[Bound, Tag("bound")],
    told_by(int | float, "number", "bound"),
]
"""A number, or a bound on it."""


class Kind(StrictModel):
    """The fields of every kind of check; a kind adds its own, and what `canonical` and `made` say.

    What other rooms must know of a kind, the kind says: they ask it and know no kind by name.
    """

    made: ClassVar[tuple[Number, ...]]
    """Every number that a check of the kind may make."""
    means: ClassVar[bool] = False
    """Whether the kind is decided on the mean of the runs unless an audit says otherwise."""
    whole_course: ClassVar[bool] = False
    """Whether it reads the whole course of its quantities."""
    single_course: ClassVar[bool] = False
    """Whether every series that it reads must be a single course."""
    by_coordinate: ClassVar[bool] = True
    """Whether its quantities are compared coordinate by coordinate, so that all have as many."""

    common_part: ClassVar[bool] = False
    """Whether it compares two series only where both are known."""

    canonical: ClassVar[CanonicalForm]
    """What of a check decides, under frozen names: `KIND`, and the kind's own fields."""

    at: dict[Name, Coordinate] = Field(default_factory=dict)
    """Coordinates at which every quantity of the check is read, by axis."""
    standard: Literal["typical", "mean"] | None = None
    """typical: more than half of all runs meet it; mean: the mean of the runs does, with its 90 %
    interval. Left out, equality with a constant and exponents are decided on the mean."""
    log: bool | None = None
    """Whether the mean of `standard: mean` is geometric, of positive numbers; left out, it is
    arithmetic."""
    in_share: float | None = Field(default=None, gt=0, le=1)
    """The share of its coordinates at which it must hold in a run: 0.9 for nine of ten heads. The
    run's number is then that of the last coordinate that is needed, and not of the worst."""
    stands_for: str | None = Field(default=None, min_length=1)
    """What the paper measures where the check measures something else in its place."""

    @model_validator(mode="after")
    def _coordinates_to_count(self) -> Self:
        if self.in_share is not None and (why := self.uncounted):
            raise ValueError(f"'in_share' counts the coordinates of a number, and {why}")
        return self

    @property
    def uncounted(self) -> str:
        """Why `in_share` cannot count its coordinates; '' if it can."""
        return "this check reads single courses" if self.single_course else ""

    @property
    def names_places(self) -> bool:
        """Whether its noun names coordinates and arms already."""
        return False

    @property
    def by_mean(self) -> bool:
        """Whether the mean of the runs decides."""
        return self.means if self.standard is None else self.standard == "mean"

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The numbers that this check makes of a run, in the order of its conditions."""
        return self.made

    @property
    def over_training(self) -> tuple[Quantity, ...]:
        """The quantities of which more than the last observation is read."""
        return self.quantities() if self.whole_course else ()

    @property
    def to_the_end(self) -> tuple[Quantity, ...]:
        """The quantities of which an end, or the whole course, is read, and no passage."""
        ends = ("last", "late", "largest", "least")
        read = (quantity for quantity in self.quantities() if quantity.passes is None)
        return tuple(quantity for quantity in read if self.whole_course or quantity.step in ends)

    @property
    def timed(self) -> tuple[Quantity, ...]:
        """The quantities whose passing of a level, or whose change, is timed."""
        return tuple(quantity for quantity in self.quantities() if quantity.passes is not None)

    @property
    def from_the_start(self) -> tuple[Quantity, ...]:
        """The quantities whose first observation is a number that it compares with later ones."""
        return tuple(quantity for quantity in self.quantities() if quantity.step == "first")

    @property
    def divisors(self) -> tuple[Quantity, ...]:
        """The quantities by which it divides, so that they must not be 0."""
        return ()

    @property
    def sides(self) -> tuple[Quantity, Quantity] | None:
        """Both quantities of a comparison, which must not be the same."""
        return None

    @property
    def compared_arm(self) -> str | None:
        """The arm that the own runs are compared with; None if there is none, or several."""
        arms = {side.arm for side in self.sides or ()}
        return next((arm for arm in arms if arm is not None), None) if None in arms else None

    @property
    def group(self) -> str | None:
        """The arm whose runs are compared as a group; None where runs of one seed are."""
        return None

    @property
    def bounded(self) -> tuple[tuple[Quantity, Bound], ...]:
        """The bounds that lie on a quantity's own scale, each with that quantity."""
        return ()

    @property
    def levels(self) -> tuple[tuple[Quantity, float], ...]:
        """The numbers on a quantity's own scale that it is held against, each with it."""
        bounds = [(q, bound.limit().level) for q, bound in self.bounded if q.passes is None]
        passed = [(q, q.passes.level) for q in self.quantities() if q.passes is not None]
        return (*bounds, *passed)

    @property
    def sizes(self) -> tuple[str, int] | None:
        """The axis along which a quantity must have positive sizes, and the fewest of them."""
        return None

    @property
    def settings_read(self) -> Mapping[str, str]:
        """The settings whose values it reads, by the field that names each."""
        return {}

    @property
    def fewest(self) -> int:
        """The fewest coordinates of each quantity, along one axis; 1 where a number will do."""
        return 1

    def compared(self, measurement: str, names: Names) -> tuple[str, str]:
        """Return what a page calls a number of a measurement, and what it is held against or ''."""
        return self._noun(measurement, names), ""

    def _noun(self, measurement: str, names: Names) -> str:
        """What a page calls what the check reads of a measurement."""
        read = (read_noun(q, names) for q in self.quantities() if q.measurement == measurement)
        return next(read, names.noun(measurement))

    def drawing(self, number: Number, noun: str, _names: Names) -> Drawing:
        """Return what a figure draws for a number: the quantity as measured, under its noun."""
        return Drawing(noun, bounded=number.drawn)

    def course(self, run: Run, quantity: Quantity) -> Course:
        """Return what is drawn of a run: steps, and values of shape (step, coordinate)."""
        return run.series(quantity)

    def followed(self, _run: Run) -> Course | None:
        """Return the curve that a run should follow; None if it should follow none."""
        return None

    def fitted(self, _x: FloatArray, _y: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return the law that is fitted to a run's points: x and y; None if there is none."""
        return None

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the conditions that one run meets or not; defined by each kind."""
        raise NotImplementedError

    def ours(self) -> list[dict[str, Any]]:
        """Return the canonical forms of what of the check is ours: bounds, margins, laws."""
        parts = self.canonical.parts.values()
        nodes = [self, *(getattr(self, part.attribute) for part in parts)]
        ours = (n for n in nodes if isinstance(n, Sourced) and n.origin is Provenance.OURS)
        return [plain(node) for node in ours]

    def quantities(self) -> tuple[Quantity, ...]:
        """Return every quantity that the check reads."""
        return tuple(quantity for _, quantity in located_quantities(self))

    def _condition(
        self,
        values: Iterable[float],
        limit: Limit,
        quantity: Quantity,
        number: Number,
        says: bool | None = None,
        censored: Sequence[Censored | None] = (),
    ) -> Condition:
        """The condition on the worst of some numbers; it `says` this if the worst is none.

        The worst is the farthest of those that miss for certain; else one of which nobody can tell,
        since it is none or censored; else the farthest. With `in_share` it is the worst of those
        that are needed.
        """
        numbers = [float(value) for value in values]
        known = [*censored] or [None] * len(numbers)
        if quantity.passes is not None:  # its number is a step, and no value of the course
            number = replace(number, drawn=False)
        condition = Condition(number, quantity.measurement, None, limit, says)
        if not numbers:
            return condition
        best_first = sorted(range(len(numbers)), key=lambda k: limit.badness(numbers[k], known[k]))
        needed = math.ceil((self.in_share or 1.0) * len(numbers) - ROUNDING)
        place = best_first[max(needed, 1) - 1]
        value = numbers[place] if math.isfinite(numbers[place]) else None
        return replace(condition, value=value, censored=known[place])

    def _learned(
        self,
        run: Run,
        quantity: Quantity,
        number: Number,
        limit: Limit,
        read: Callable[[Quantity], FloatArray],
    ) -> Condition:
        """The condition on what is read of a quantity, void where that was there at the start.

        Nothing was learned in a course whose first observation meets the bound already; where the
        log begins late, nobody knows. What has no course is judged by its number alone.
        """
        ends = read(quantity)
        first = run.first(quantity)
        if first is None:
            return self._condition(ends, limit, quantity, number)
        pairs = zip(read(first), ends, strict=True)
        there = [limit.met_by(float(start)) and limit.met_by(float(end)) for start, end in pairs]
        condition = self._condition(np.where(there, np.nan, ends), limit, quantity, number)
        if condition.value is not None or not any(there):
            return condition
        late = run.begins_late(first)
        void = Void.THERE_AT_START if late is None else Void.BEGINS_LATE
        return replace(condition, void=void, found=late)

    @property
    def name(self) -> str:
        """The kind's name."""
        return str(self.__dict__["kind"])


def out_of_range(condition: Condition, values: FloatArray, least: float, most: float) -> Condition:
    """Return a condition, void if one of the numbers that it is made of lies out of their range."""
    outside = values[(values < least - ROUNDING) | (values > most + ROUNDING)]
    if not outside.size:
        return condition
    worst = float(max(outside, key=abs))
    return replace(condition, value=None, says=None, void=Void.OUT_OF_RANGE, found=worst)


class OneBound(Kind, Bound):
    """A kind with a single bound, whose fields stand beside the kind's own."""


def located_quantities(
    node: object, loc: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Quantity]]:
    """Yield every quantity in a check or a part of one, with its place there."""
    if isinstance(node, tuple):
        for i, part in enumerate(node):
            if not isinstance(part, int | float):  # a curve has many
                yield from located_quantities(part, (*loc, i))
    elif isinstance(node, Quantity):
        yield loc, node
    elif isinstance(node, StrictModel):
        for name, part in node.__dict__.items():
            yield from located_quantities(part, (*loc, name))
