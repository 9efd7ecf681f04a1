"""One quantity is smaller than another."""

from contextlib import suppress
from dataclasses import replace
from typing import Literal, Self

from pydantic import model_validator

from reproaudit.checks.canonical import KIND, form
from reproaudit.checks.kind import (
    Condition,
    Kind,
    Limit,
    PositiveOrSourced,
    Side,
    Sourced,
    SourcedNumber,
    amount_of,
)
from reproaudit.checks.run import Course, Run
from reproaudit.checks.shown import Drawing, Form, Names, Number, pair_words
from reproaudit.declarations import MeasurementMissingError, Quantity
from reproaudit.lazy import FloatArray, np

_FACTOR = Number("beats", form=Form.FACTOR, contrast=True, aside="{figure}")
_DIFFERENCE = Number("difference", contrast=True)


class Beats(Kind, Sourced):
    """One quantity is smaller than another, run by run: a model beats a baseline, a loss falls.

    The values are compared; the number that is printed is the larger quantity over the smaller one,
    above 1 (or `by`), or, of quantities with a sign, their difference, above 0. Where a quantity is
    0 or below there is no factor, and with `by` a negative one makes the run void. Without a margin
    this is a contrast: noise meets it in half of all runs.

    Groups with seeds of their own (`paired: false`) are compared by the exact rank-sum test; a
    run's number is then of the median of the other arm's runs.
    """

    made = (_FACTOR, _DIFFERENCE)

    kind: Literal["beats"]
    """The kind of check."""
    lower: Quantity
    """The quantity that is claimed to be smaller."""
    upper: Quantity
    """The quantity that is claimed to be larger."""
    difference: bool = False
    """Whether the two are subtracted, since they may have either sign."""
    by: PositiveOrSourced | None = None
    """The factor, above 1, by which the larger must exceed the smaller; of another source than the
    comparison, with it: `{is: 1.5, from: ours, why: a reason}`. Left out, any excess counts."""

    paired: bool = True
    """Whether runs with the same seed are compared. State false where each of two arms has seeds of
    its own: then the two groups are compared, of five runs each at least."""

    canonical = KIND | form("lower upper difference=false by=null paired=true")

    @model_validator(mode="after")
    def _difference_has_no_factor(self) -> Self:
        if self.difference and self.by is not None:
            raise ValueError(
                "'by' is a factor; a difference has none. For one of so many points write "
                "`kind: reaches` with the larger as `value`, the smaller as `grown_from`, and "
                "`at_least`"
            )
        if self.by is not None and amount_of(self.by) <= 1:
            raise ValueError("'by' is a factor above 1, by which the larger exceeds the smaller")
        of_arms = (self.lower.arm is None) != (self.upper.arm is None)
        if not self.paired and (self.by is not None or not of_arms):
            raise ValueError(
                "'paired: false' compares the claim's own runs with those of another arm, by their "
                "order alone: give either side an 'arm', and leave out 'by'"
            )
        if not self.paired and self.standard == "mean":
            raise ValueError(
                "'paired: false' compares groups by the order of their runs, which has no mean: "
                "leave out 'standard: mean'"
            )
        return self

    @property
    def names_places(self) -> bool:
        """Whether its noun names coordinates and arms: those of both sides."""
        return True

    @property
    def group(self) -> str | None:
        """The other arm, unless runs with the same seed are compared."""
        return None if self.paired else self.lower.arm or self.upper.arm

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The difference, or the factor, which is no contrast with a margin."""
        return (_DIFFERENCE if self.difference else replace(_FACTOR, contrast=self.by is None),)

    @property
    def sides(self) -> tuple[Quantity, Quantity]:
        """The smaller one and the larger one."""
        return self.lower, self.upper

    def compared(self, _measurement: str, names: Names) -> tuple[str, str]:
        """Return both sides: loss of descent over test loss; loss, fixed over stochastic."""
        over = "minus" if self.difference else "over"
        return pair_words((self.upper, self.lower), over, names, by_median=not self.paired), ""

    def drawing(self, number: Number, noun: str, names: Names) -> Drawing:
        """Return the factor or the difference, or of groups the quantity itself."""
        return replace(super().drawing(number, noun, names), bounded=self.group is None)

    def course(self, run: Run, quantity: Quantity) -> Course:
        """Return the factor or the difference at every step; of groups the quantity itself.

        A side that has another course than the smaller one, or none, counts as it ends.
        """
        if self.group is not None:
            return super().course(run, quantity)
        (steps, lower), (other, upper) = (_course_or_end(run, side) for side in self.sides)
        if steps is not None and other is not None and steps != other:
            upper = run.numbers(self.upper)
        at = steps or other
        if at is None:
            raise MeasurementMissingError("no course", self.lower.measurement)
        return at, upper - lower if self.difference else upper / lower

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the factor, or the difference, against its bound."""
        factor = 1.0 if self.by is None else amount_of(self.by)
        source = self.by if isinstance(self.by, SourcedNumber) else self
        groups = self._groups(run)
        zero = Limit(Side.ABOVE, 0.0, self.origin)
        apart, known = run.compared(self.upper, self.lower, lambda x, y: x - factor * y)
        excess = self._condition(apart, zero, self.lower, self.numbers[0], censored=known)
        if self.difference:
            return (replace(excess, groups=groups),)
        limit = Limit(Side.ABOVE, factor, source.origin, 1.0, why=source.why)
        lower, _ = run.limits(self.lower)
        upper, _ = run.limits(self.upper)
        least = min(np.min(lower), np.min(upper))
        if np.min(lower) > 0 and least >= 0:
            factors, known = run.compared(self.upper, self.lower, np.divide)
            number = self.numbers[0]
            condition = self._condition(factors, limit, self.lower, number, None, known)
            return (replace(condition, groups=groups),)
        says = excess.met if self.by is None or least >= 0 else None
        return (replace(excess, value=None, limit=limit, says=says, groups=groups),)

    def _groups(self, run: Run) -> tuple[float, tuple[float, ...]] | None:
        """What is compared of this run and of the other arm's, the smaller the better."""
        if self.group is None:
            return None
        own = self.lower if self.upper.arm is not None else self.upper
        other = self.upper if own is self.lower else self.lower
        sign = 1.0 if own is self.lower else -1.0
        numbers = run.numbers(own)
        if len(numbers) != 1:
            why = f"{len(numbers)} numbers of a run have no one place among those of other runs"
            raise MeasurementMissingError(why, own.measurement)
        return sign * float(numbers[0]), tuple((sign * run.of_group(other)).tolist())


def _course_or_end(run: Run, quantity: Quantity) -> tuple[tuple[int, ...] | None, FloatArray]:
    """The course of a quantity; without steps, of one that is read at the start or has none."""
    if quantity.step != "first":
        with suppress(MeasurementMissingError):
            return run.series(quantity)
    return None, run.numbers(quantity)[None, :]
