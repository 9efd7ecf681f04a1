"""A share gathers in one place."""

from __future__ import annotations

from typing import Literal

from reproaudit.checks.canonical import ONE_BOUND, QUANTITY, CanonicalForm, Part
from reproaudit.checks.kind import Condition, OneBound
from reproaudit.checks.run import Run
from reproaudit.checks.shown import Form, Number
from reproaudit.declarations import Quantity

_SHARE = Number("concentrates", form=Form.SHARE, drawn=True)
_REST = Number("rest", "{noun} covers {typical} of the way left{worst}", Form.PERCENT)


class Concentrates(OneBound):
    """A share ends at or above a bound, or covers a part of what it lacked to 1 at the start.

    Relaxing acts on what the bound lacks to 1.
    """

    made = (_SHARE, _REST)

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

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The share, or the part covered of the rest."""
        return (_REST if self.of_the_rest else _SHARE,)

    @property
    def over_training(self) -> tuple[Quantity, ...]:
        """The share, if its start counts."""
        return (self.share,) if self.of_the_rest else ()

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the final share, or the part covered of the rest, against the bound."""
        limit = self.limit(1.0)
        ends = list(run.numbers(self.share))
        if self.of_the_rest:
            starts = run.numbers(self.share.model_copy(update={"step": "first"}))
            pairs = zip(starts, ends, strict=True)
            ends = [(end - start) / (1 - start) if start < 1 else 0.0 for start, end in pairs]
        return (self._condition(ends, limit, self.share, self.numbers[0]),)
