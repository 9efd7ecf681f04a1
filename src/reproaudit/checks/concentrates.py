"""A share of a whole goes to 1."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from reproaudit.checks.kind import Condition, Kind
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.stats import Scale, Side


class Concentrates(Kind):
    """A share of a whole goes to 1: the weight of one among many.

    Judged on log(1 − share), so that 0.99 and 0.999 are as far apart as 0.9 and 0.99. With
    `of_the_rest`, what is judged is the share of the remaining distance to 1 that training covered,
    (end − start) / (1 − start), for weights that start near 1 already.
    """

    kind: Literal["concentrates"]
    """The kind of check."""
    share: Quantity
    """A share between 0 and 1; a series when `of_the_rest` is set."""
    at_least: Annotated[float, Field(gt=0, lt=1)]
    """The smallest share that still counts as concentrated."""
    of_the_rest: bool = False
    """True to judge the covered part of the distance to 1 rather than the level."""

    def conditions(self) -> tuple[Condition, ...]:
        """The final share, or the covered part of the distance, is at least the bound."""
        return (
            self._bounded(
                self.name, self._value, self.at_least, Side.AT_LEAST, Scale.LOG_COMPLEMENT
            ),
        )

    def goal(self, sample: Sample) -> tuple[Quantity, tuple[float, float]]:
        """The share from its bound on; with `of_the_rest` from what covers enough of the way."""
        if not self.of_the_rest:
            return self.share, (self.at_least, math.inf)
        start = sample.number(self.share.model_copy(update={"step": "first"}))
        return self.share, (start + self.at_least * max(1.0 - start, self.floor), math.inf)

    def follows_training(self) -> bool:
        """True with `of_the_rest`, which uses the start of training, too."""
        return self.of_the_rest

    def _value(self, sample: Sample) -> float:
        end = sample.number(self.share)
        if not self.of_the_rest:
            return end
        start = sample.number(self.share.model_copy(update={"step": "first"}))
        return (end - start) / max(1.0 - start, self.floor)
