"""A share gathers in one place."""

from __future__ import annotations

from typing import Literal

from reproaudit.checks.canonical import ONE_BOUND, QUANTITY, CanonicalForm, Part
from reproaudit.checks.kind import Condition, OneBound
from reproaudit.checks.run import Run
from reproaudit.declarations import Quantity


class Concentrates(OneBound):
    """A share ends at or above a bound, or covers a part of what it lacked to 1 at the start.

    Halving and doubling act on what the bound lacks to 1.
    """

    kind: Literal["concentrates"]
    """The kind of check."""
    share: Quantity
    """A share between 0 and 1."""
    of_the_rest: bool = False
    """Whether the bound is on the part covered of the way from the start to 1."""

    canonical = ONE_BOUND | CanonicalForm(
        {
            "share": Part("share", QUANTITY),
            "of_the_rest": Part("of_the_rest", unless=False),
        }
    )

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the final share, or the part covered of the rest, against the bound."""
        limit = self.limit(1.0)
        ends = list(run.numbers(self.share))
        if self.of_the_rest:
            starts = run.numbers(self.share.model_copy(update={"step": "first"}))
            pairs = zip(starts, ends, strict=True)
            ends = [(end - start) / (1 - start) if start < 1 else 0.0 for start, end in pairs]
        name = "rest" if self.of_the_rest else None
        return (self._condition(ends, limit, self.share, name, unit="share"),)
