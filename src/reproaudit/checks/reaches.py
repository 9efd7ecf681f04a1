"""A quantity ends on one side of a bound."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from reproaudit.checks.canonical import ONE_BOUND, QUANTITY, CanonicalForm, Part
from reproaudit.checks.kind import Condition, OneBound
from reproaudit.checks.run import Run
from reproaudit.declarations import Quantity
from reproaudit.lazy import np


class Reaches(OneBound):
    """A quantity ends on one side of a bound: as it is, as a multiple, as a growth, or as a place.

    With `relative_to` the number is a ratio; with `grown_from` a difference; with `between` it is
    the place s = (x − null) / (ceiling − null), 0 where the null ends and 1 at the ceiling.
    """

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
    """The bound that would allow nothing; left out, 1 for a ratio or a place, else 0. Halving and
    doubling act on the distance from it: state 1 for a share that must come near 1."""

    canonical = ONE_BOUND | CanonicalForm(
        {
            "value": Part("value", QUANTITY),
            "relative_to": Part("relative_to", QUANTITY, unless=None),
            "grown_from": Part("grown_from", QUANTITY, unless=None),
            "between": Part("between", QUANTITY, unless=None),
            "zero": Part("zero", unless=None),
        }
    )

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if sum(one is not None for one in (self.relative_to, self.grown_from, self.between)) > 1:
            raise ValueError("state at most one of 'relative_to', 'grown_from' and 'between'")
        return self

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the number against its bound."""
        values = run.numbers(self.value)
        zero, unit, name = 0.0, "plain", self.name
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.relative_to is not None:
                values = values / run.numbers(self.relative_to)
                own = self.relative_to.step == "first" and self.relative_to.arm is None
                zero, unit, name = 1.0, "factor", "kept" if own else "ratio"
            elif self.grown_from is not None:
                values, name = values - run.numbers(self.grown_from), "grown"
            elif self.between is not None:
                null, ceiling = map(run.numbers, self.between)
                values = (values - null) / (ceiling - null)
                zero, unit, name = 1.0, "share", "place"
        limit = self.limit(zero if self.zero is None else self.zero)
        contrast = self.grown_from is not None and limit.at == 0
        return (self._condition(values, limit, self.value, name, contrast=contrast, unit=unit),)
