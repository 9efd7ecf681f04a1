"""One quantity is smaller than another."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, Self

from pydantic import Field, model_validator

from reproaudit.checks.canonical import KIND, QUANTITY, CanonicalForm, Part
from reproaudit.checks.kind import Condition, Kind, Limit, Side, Sourced
from reproaudit.checks.run import Run
from reproaudit.declarations import Quantity
from reproaudit.lazy import np


class Beats(Kind, Sourced):
    """One quantity is smaller than another, run by run: a model beats a baseline, a loss falls.

    The number is the larger quantity over the smaller one, above 1 (or `by`); of quantities with a
    sign, their difference, above 0. Without a margin this is a contrast: noise meets it in half of
    all runs, so that it must beat the null's contrast, too.
    """

    kind: Literal["beats"]
    """The kind of check."""
    lower: Quantity
    """The quantity that is claimed to be smaller."""
    upper: Quantity
    """The quantity that is claimed to be larger."""
    difference: bool = False
    """Whether the two are subtracted, since they may have either sign."""
    by: float | None = Field(default=None, gt=1)
    """The factor by which the larger must exceed the smaller; left out, any excess counts."""

    canonical = KIND | CanonicalForm(
        {
            "lower": Part("lower", QUANTITY),
            "upper": Part("upper", QUANTITY),
            "difference": Part("difference", unless=False),
            "by": Part("by", unless=None),
        }
    )

    @model_validator(mode="after")
    def _difference_has_no_factor(self) -> Self:
        if self.difference and self.by is not None:
            raise ValueError("'by' is a factor; a difference has none")
        return self

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the factor, or the difference, against its bound."""
        lower, upper = run.numbers(self.lower), run.numbers(self.upper)
        if self.difference:
            zero, apart = Limit(Side.ABOVE, 0.0, self.origin), upper - lower
            return (self._condition(apart, zero, self.lower, "difference", contrast=True),)
        limit = Limit(Side.ABOVE, self.by or 1.0, self.origin, 1.0, why=self.why)
        signed = np.min(lower) <= 0 or np.min(upper) < 0
        factors = () if signed else upper / lower
        found = self._condition(factors, limit, self.lower, contrast=self.by is None, unit="factor")
        return (replace(found, course=(float(np.max(upper)), float(np.max(lower)))),)
