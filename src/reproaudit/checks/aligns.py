"""A direction is learned."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from reproaudit.checks.canonical import ONE_BOUND, QUANTITY, CanonicalForm, Part
from reproaudit.checks.kind import Condition, OneBound, Side
from reproaudit.checks.run import Run
from reproaudit.checks.shown import Number
from reproaudit.declarations import Quantity


class Aligns(OneBound):
    """A direction is learned: the distance to it ends at most at a bound, or the cosine above one.

    Halving and doubling act on the distance, and on what a cosine lacks to 1.
    """

    made = (Number("aligns", drawn=True),)

    kind: Literal["aligns"]
    """The kind of check."""
    distance: Quantity | None = None
    """A distance to the claimed direction, 0 when it is reached."""
    cosine: Quantity | None = None
    """A cosine with the claimed direction, 1 when it is reached."""

    canonical = ONE_BOUND | CanonicalForm(
        {
            "distance": Part("distance", QUANTITY, unless=None),
            "cosine": Part("cosine", QUANTITY, unless=None),
        }
    )

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        upper = self.limit().side in (Side.AT_MOST, Side.BELOW)
        if (self.distance is not None, self.cosine is not None) != (upper, not upper):
            raise ValueError("state either 'distance' and 'at_most', or 'cosine' and 'at_least'")
        return self

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the final distance or cosine against its bound."""
        quantity = self.distance or self.cosine
        assert quantity is not None, "refused by _one_form"
        limit = self.limit(0.0 if self.distance else 1.0)
        return (self._condition(run.numbers(quantity), limit, quantity, self.numbers[0]),)
