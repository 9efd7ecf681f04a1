"""A share gathers in one place."""

from dataclasses import replace
from typing import Literal, Self

from pydantic import model_validator

from reproaudit.checks.canonical import ONE_BOUND, form
from reproaudit.checks.kind import Condition, Limit, OneBound, Void, out_of_range
from reproaudit.checks.run import Course, Run
from reproaudit.checks.shown import Drawing, Form, Names, Number
from reproaudit.declarations import Quantity
from reproaudit.lazy import FloatArray, np

_SHARE = Number("concentrates", form=Form.SHARE, drawn=True)
_REST = Number(
    "rest", "{noun} covers {typical} of the way left{worst}", Form.PERCENT, "part of the rest"
)


class Concentrates(OneBound):
    """A share ends at or above a bound, or covers a part of what it lacked to 1 at the start.

    A run is void if a share lies outside 0 to 1, if the share met the bound before training, or if
    its log does not show the start where that decides. Relaxing acts on what the bound lacks to 1.
    """

    made = (_SHARE, _REST)

    kind: Literal["concentrates"]
    """The kind of check."""
    share: Quantity
    """A share between 0 and 1."""
    of_the_rest: bool = False
    """Whether the bound is on the part covered of the way from the start to 1."""

    canonical = ONE_BOUND | form("share of_the_rest=false")

    @model_validator(mode="after")
    def _bounds_a_share(self) -> Self:
        if not 0 <= (at := self.limit().at) <= 1:
            raise ValueError(f"a share lies between 0 and 1, and its bound is {at:g}")
        return self

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The share, or the part covered of the rest."""
        return (_REST if self.of_the_rest else _SHARE,)

    @property
    def over_training(self) -> tuple[Quantity, ...]:
        """The share, if its start counts."""
        return (self.share,) if self.of_the_rest else ()

    def drawing(self, number: Number, noun: str, names: Names) -> Drawing:
        """Return the share, or the part covered of the rest."""
        if not self.of_the_rest:
            return super().drawing(number, noun, names)
        return Drawing(f"{noun}: share covered of the rest to 1", bounded=True)

    def course(self, run: Run, quantity: Quantity) -> Course:
        """Return the share, or the part covered of the rest, at every step."""
        steps, shares = run.series(quantity)
        return steps, (shares - shares[0]) / (1 - shares[0]) if self.of_the_rest else shares

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the final share, or the part covered of the rest, against the bound."""
        (number,) = self.numbers
        limit = replace(self.limit(1.0), least=0.0, most=1.0)
        if self.of_the_rest:
            condition, shares = self._of_the_rest(run, number, limit)
        else:
            condition = self._learned(run, self.share, number, limit, run.numbers)
            shares = run.numbers(self.share)
        return (out_of_range(condition, shares, 0.0, 1.0),)

    def _of_the_rest(self, run: Run, number: Number, limit: Limit) -> tuple[Condition, FloatArray]:
        """The condition on the part covered, and the shares that it is made of."""
        first = self.share.model_copy(update={"step": "first"})
        starts = run.numbers(first)
        ends = run.numbers(self.share)
        rest = 1 - starts
        covered = np.where(rest > 0, (ends - starts) / np.where(rest > 0, rest, 1.0), 0.0)
        condition = self._condition(covered, limit, self.share, number)
        if (late := run.begins_late(first)) is not None:
            condition = replace(condition, value=None, void=Void.BEGINS_LATE, found=late)
        return condition, np.concatenate([starts, ends])
