"""A quantity equals a number or another quantity."""

from dataclasses import replace
from typing import Literal, Self

from pydantic import model_validator

from reproaudit.checks.canonical import KIND, form
from reproaudit.checks.kind import Condition, Kind, PositiveOrSourced, Side, Sourced, margin_around
from reproaudit.checks.run import Course, Run
from reproaudit.checks.shown import Drawing, Form, Names, Number, noun_of, pair_words, read_noun
from reproaudit.declarations import NumberOrQuantity, Quantity
from reproaudit.lazy import np

_VALUE = Number("equals")


class Equals(Kind, Sourced):
    """A quantity equals a number, or another quantity of the same run, within a margin.

    Equality with a number is decided on the mean of the runs, equality with a quantity run by run.
    With `relative_to` the ratio of two quantities equals a number; a run in which the divisor is 0
    or less is void.
    Equality with 0 needs a margin that is no share of it. Relaxing doubles the margin.
    """

    made = (_VALUE,)

    kind: Literal["equals"]
    """The kind of check."""
    value: Quantity
    """The quantity that is judged."""
    to: NumberOrQuantity
    """The number, or the quantity of the same run, that it equals."""
    relative_to: Quantity | None = None
    """A positive quantity by which it is divided before it is held against the number."""
    within: PositiveOrSourced
    """The largest distance that still counts as equal; of another source than the number, with it:
    `{is: 0.05, from: ours, why: a reason}`."""
    side: Literal["above", "below"] | None = None
    """The side on which alone the margin counts: with `below` the quantity may lie anywhere below
    what it equals, and misses above by more than the margin; with `above` the other way round."""
    relative: bool = False
    """Whether the margin is a factor either way: with `within: 0.25` the quantity lies between what
    it equals over 1.25 and 1.25 times that."""

    canonical = KIND | form("value to within relative=false side=null relative_to=null")

    @model_validator(mode="after")
    def _no_share_of_zero(self) -> Self:
        if self.relative and self.to == 0:
            raise ValueError("a share of 0 is 0: leave out 'relative', and state how far from 0")
        return self

    @model_validator(mode="after")
    def _ratio_to_a_number(self) -> Self:
        if self.relative_to is not None and isinstance(self.to, Quantity):
            raise ValueError("with 'relative_to' a ratio is judged: state the number as 'to'")
        return self

    @property
    def by_mean(self) -> bool:
        """Whether the mean of the runs decides."""
        if self.standard is None:
            return isinstance(self.to, float)
        return self.standard == "mean"

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The quantity, whose bound a figure can draw; or its distance from another; or a ratio."""
        if isinstance(self.to, float):
            return (replace(_VALUE, drawn=self.relative_to is None),)
        return (replace(_VALUE, form=Form.FOLD) if self.relative else _VALUE,)

    @property
    def divisors(self) -> tuple[Quantity, ...]:
        """The other quantity of a ratio."""
        if self.relative_to is not None:
            return (self.relative_to,)
        return (self.to,) if self.relative and isinstance(self.to, Quantity) else ()

    @property
    def levels(self) -> tuple[tuple[Quantity, float], ...]:
        """The number that the quantity equals as it is."""
        known = super().levels
        if not isinstance(self.to, float) or self.relative_to or self.value.passes:
            return known
        return (*known, (self.value, self.to))

    @property
    def sides(self) -> tuple[Quantity, Quantity] | None:
        """The quantity and the other one."""
        if self.relative_to is not None:
            return self.value, self.relative_to
        return (self.value, self.to) if isinstance(self.to, Quantity) else None

    def compared(self, measurement: str, names: Names) -> tuple[str, str]:
        """Return the quantity; where its distance from another counts, that one too."""
        if self.relative_to is not None:
            return pair_words((self.value, self.relative_to), "over", names), ""
        noun = self._noun(measurement, names)
        if self.relative or isinstance(self.to, float):
            return noun, ""
        if self.side is not None:
            return pair_words((self.value, self.to), "minus", names), ""
        return f"{noun} differs from {noun_of(self.to, names)} by", ""

    def drawing(self, number: Number, noun: str, names: Names) -> Drawing:
        """Return the quantity, its ratio to the other one, or how far it lies above that."""
        if self.relative_to is not None:
            return Drawing(noun, bounded=True)
        if isinstance(self.to, float):
            return super().drawing(number, noun, names)
        over = "over" if self.relative else "minus"
        title = f"{read_noun(self.value, names)} {over} {noun_of(self.to, names)}"
        return Drawing(title, bounded=True)

    def course(self, run: Run, quantity: Quantity) -> Course:
        """Return the number at every step, as if training ended there."""
        steps, values = run.series(quantity)
        if self.relative_to is not None:
            return steps, values / run.numbers(self.relative_to)
        if isinstance(self.to, float):
            return steps, values
        other = run.numbers(self.to)
        return steps, values / other if self.relative else values - other

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the quantity, its ratio to or its distance from the other, within the margin."""
        target: float = 0.0
        if isinstance(self.to, float):
            ratio = self.relative_to
            read = run.limits(self.value) if ratio is None else run.ratio(self.value, ratio)
            values, known = read
            target = self.to
        elif self.relative:
            values, known = run.compared(self.value, self.to, np.divide)
            target = 1.0
        else:
            values, known = run.compared(self.value, self.to, np.subtract)
        margin = margin_around(target, self.within, self.origin, self.why, relative=self.relative)
        if self.side is not None:
            margin = margin.one_sided(Side.AT_MOST if self.side == "below" else Side.AT_LEAST)
        return (self._condition(values, margin, self.value, self.numbers[0], censored=known),)
