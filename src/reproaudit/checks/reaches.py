"""A quantity ends on one side of a bound."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, Self

from pydantic import Field, model_validator

from reproaudit.checks.canonical import ONE_BOUND, form
from reproaudit.checks.kind import Bound, Condition, OneBound, Void
from reproaudit.checks.run import Course, Run
from reproaudit.checks.shown import Drawing, Form, Names, Number, noun_of, pair_words
from reproaudit.declarations import ROUNDING, Quantity
from reproaudit.lazy import FloatArray, np

BEYOND = 1.1  # The place past which a number without a course shows that its ceiling is none

_END = Number("reaches", drawn=True)
_KEPT = Number("kept", "{noun} ends at {typical}{worst} of its start", Form.FOLD, "part kept")
_RATIO = Number("ratio", "{noun} {typical} {reference}{worst}", Form.TIMES, "ratio")
_GROWN = Number("grown", "{noun} grows by {typical}{worst}", label="growth")
_APART = replace(_GROWN, says="{noun} {typical}{worst}")
_PLACE = Number(
    "place",
    "{noun} closes {typical} of the gap{reference}{worst}",
    Form.PERCENT,
    "share of the gap",
    aside="{figure} of the gap",
    beyond="the ceiling",
)


class Reaches(OneBound):
    """A quantity ends on one side of a bound: as it is, as a multiple, as a growth, or as a place.

    With `relative_to` the number is a ratio, and the run is void where the divisor is 0 or less;
    with `grown_from` a difference. With `between` it is the place s = (x − null) / (ceiling −
    null), 0 where the null ends and 1 at the ceiling. A run is void if null and ceiling are equal,
    or exchanged: then the course starts at the ceiling or beyond it, and a number without a course
    lies beyond that of another arm by more than a tenth of the gap. It is void, too, if the place
    that is asked for was reached before training, or at the first point of a log that begins late.
    """

    made = (_END, _KEPT, _RATIO, _GROWN, _PLACE)

    kind: Literal["reaches"]
    """The kind of check."""
    value: Quantity
    """The quantity that is judged."""
    relative_to: Quantity | None = None
    """A positive quantity by which it is divided."""
    grown_from: Quantity | None = None
    """A quantity that is subtracted, mostly the same at the start: `sharpness@first`."""
    between: tuple[Quantity, Quantity] | None = Field(default=None)
    """The null and the ceiling between which the quantity has its place."""
    zero: float | None = None
    """The bound that would allow nothing; left out, 1 for a ratio or a place, else 0. Relaxing
    acts on the distance from it: state 1 for a share that must come near 1. Left out, a ratio to
    the quantity's own start is a fold, of which the root is taken."""

    canonical = ONE_BOUND | form("value relative_to=null grown_from=null between=null zero=null")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        forms = (self.relative_to, self.grown_from, self.between)
        if len(forms) - forms.count(None) > 1:
            raise ValueError("state at most one of 'relative_to', 'grown_from' and 'between'")
        return self

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The number of the form that is stated; a difference held against 0 is a contrast."""
        if self.relative_to is not None:
            own = self.relative_to.step == "first" and self.relative_to.arm is None
            return (_KEPT if own else _RATIO,)
        if self.grown_from is not None:
            number = _APART if self._differs else _GROWN
            return (replace(number, contrast=self.limit().at == 0),)
        return (_END if self.between is None else _PLACE,)

    @property
    def _differs(self) -> bool:
        """Whether anything but the quantity's own start is subtracted."""
        if self.grown_from is None:
            return False
        start = self.value.model_copy(update={"step": "first"})
        return self.grown_from != start

    @property
    def names_places(self) -> bool:
        """Whether its noun names both quantities of a difference, with their places."""
        return self._differs

    @property
    def bounded(self) -> tuple[tuple[Quantity, Bound], ...]:
        """The quantity, if it is held against the bound as it is."""
        return ((self.value, self),) if self.numbers == (_END,) else ()

    @property
    def divisors(self) -> tuple[Quantity, ...]:
        """The divisor of a ratio."""
        return () if self.relative_to is None else (self.relative_to,)

    @property
    def sides(self) -> tuple[Quantity, Quantity] | None:
        """Both quantities of a ratio or a growth, and the ends of a place."""
        reference = self.relative_to or self.grown_from
        return self.between if reference is None else (self.value, reference)

    @property
    def compared_arm(self) -> str | None:
        """The arm that the quantity is compared with; the ends of a place are none."""
        return None if self.between is not None else super().compared_arm

    def compared(self, measurement: str, names: Names) -> tuple[str, str]:
        """Return the quantity or the difference, and what it is divided by or lies between."""
        if self.grown_from is not None and self._differs:
            pair = pair_words((self.value, self.grown_from), "minus", names)
            return f"{pair.removesuffix(':')}:", ""
        noun = self._noun(measurement, names)
        if self.relative_to is not None:
            return noun, noun_of(self.relative_to, names)
        if self.between is not None:
            null, ceiling = (noun_of(end, names) for end in self.between)
            return noun, f" between {null} and {ceiling}"
        return noun, ""

    def drawing(self, number: Number, noun: str, names: Names) -> Drawing:
        """Return the number itself, beside the divisor at 1, or the ends of a place at 0 and 1."""
        if (divisor := self.relative_to) is not None:
            other = noun_of(divisor, names)
            if divisor.step != "first":
                return Drawing(f"{noun} over {other}", bounded=True, levels=((1.0, other),))
            is_own = divisor.measurement == self.value.measurement
            return Drawing(f"{noun} over {'its start' if is_own else other}", bounded=True)
        if self.grown_from is not None:
            title = noun.removesuffix(":") if self._differs else f"growth of {noun}"
            return Drawing(title, bounded=True)
        if self.between is not None:
            ends = tuple((float(at), noun_of(end, names)) for at, end in enumerate(self.between))
            return Drawing(f"{noun}: share of the gap that is closed", bounded=True, levels=ends)
        return super().drawing(number, noun, names)

    def course(self, run: Run, quantity: Quantity) -> Course:
        """Return the number at every step, as if training ended there."""
        steps, values = run.series(quantity)
        if self.relative_to is not None:
            return steps, values / run.numbers(self.relative_to)
        if self.grown_from is not None:
            return steps, values - run.numbers(self.grown_from)
        if self.between is not None:
            null, ceiling = map(run.numbers, self.between)
            return steps, (values - null) / (ceiling - null)
        return steps, values

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the number against its bound."""
        (number,) = self.numbers
        if self.between is not None:
            return (self._placed(run, number, *self.between),)
        values, known = run.limits(self.value)
        zero = 0.0
        if self.relative_to is not None:
            values, known = run.ratio(self.value, self.relative_to)
            zero = 1.0
        elif self.grown_from is not None:
            values, known = run.compared(self.value, self.grown_from, np.subtract)
        fold = number is _KEPT and self.zero is None
        limit = self.limit(zero if self.zero is None else self.zero, fold=fold)
        return (self._condition(values, limit, self.value, number, censored=known),)

    def _placed(self, run: Run, number: Number, low: Quantity, high: Quantity) -> Condition:
        """The condition on the place between null and ceiling."""
        null = run.numbers(low)
        gap = run.numbers(high) - null

        def place(read: Quantity) -> FloatArray:
            return np.where(gap == 0, np.nan, (run.numbers(read) - null) / np.where(gap, gap, 1.0))

        limit = self.limit(1.0 if self.zero is None else self.zero)
        if limit.side.is_upper:
            condition = self._condition(place(self.value), limit, self.value, number)
        else:
            condition = self._learned(run, self.value, number, limit, place)
        if (gap == 0).any() or self._beyond(run, place, high.arm is not None):
            return replace(condition, value=None, says=None, void=Void.EXCHANGED, found=None)
        return condition

    def _beyond(self, run: Run, place: Callable[[Quantity], FloatArray], of_arm: bool) -> bool:
        """Whether the quantity lies beyond its ceiling, so that this is none.

        The start of a course shows it; without a course, the end does if the ceiling is another
        arm's: what a run measures of itself is a yardstick, which may be passed. What is built may
        lie anywhere.
        """
        if run.built:
            return False
        first = run.first(self.value)
        if first is None:
            return of_arm and bool((place(self.value) > BEYOND + ROUNDING).any())
        late = run.begins_late(first) is not None
        return not late and bool((place(first) >= 1 - ROUNDING).any())
