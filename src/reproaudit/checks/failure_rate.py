"""Few of the runs fail a bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reproaudit.checks.kind import Condition, Kind
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.stats import RuleResult, Scale, Side, decide_rate

FEWEST_RUNS = 20
"""The fewest runs for a failure rate: with fewer, a rate of one in ten often shows no failure."""


class FailureRate(Kind):
    """Few of the runs fail a bound: where training goes in almost every run, not on average.

    Each run passes or fails by itself. The share of failing runs, among all that could be drawn,
    must be at most `rate_at_most`, by the exact binomial interval of Clopper and Pearson. With
    fewer than 20 runs the part is not tested. With none failing, n runs can show a rate of
    1 − 0.025^(1/n) at 95 % confidence: 17 % for 20 runs, 3.6 % for 100.
    """

    kind: Literal["failure_rate"]
    """The kind of check."""
    quantity: Quantity
    """The quantity that is measured in each run."""
    at_least: float | None = None
    """The level that a run must reach from below, or it fails."""
    at_most: float | None = None
    """The level that a run must reach from above, or it fails."""
    rate_at_most: Annotated[float, Field(gt=0, lt=1)]
    """The largest share of runs that may fail."""

    @model_validator(mode="after")
    def _one_level(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("state either at_least or at_most")
        if self.over != "mean":
            raise ValueError("a rate is over all runs: leave 'over' out")
        return self

    def conditions(self) -> tuple[Condition, ...]:
        """The share of failing runs is at most the rate."""
        condition = self._bounded(
            f"{self.name}: share of runs that fail",
            self._fails,
            self.rate_at_most,
            Side.AT_MOST,
            Scale.LINEAR,
        )
        return (replace(condition, decide=self._decide),)

    def goal(self, _sample: Sample) -> tuple[Quantity, tuple[float, float]]:
        """The quantity and the side of the level on which a run passes."""
        low = -math.inf if self.at_least is None else self.at_least
        return self.quantity, (low, math.inf if self.at_most is None else self.at_most)

    def untested(self, runs: int) -> str | None:
        """Why the part is not tested with so few runs; None with enough."""
        if runs >= FEWEST_RUNS:
            return None
        return f"a failure rate needs at least {FEWEST_RUNS} runs, and there are {runs}"

    def runs_needed(self, confidence: float) -> int:
        """The number of runs that meets the rate if none fails.

        At least 20, and the smallest n with 1 − (α/2)^(1/n) ≤ rate.
        """
        enough = math.log((1 - confidence) / 2) / math.log(1 - self.rate_at_most)
        return max(FEWEST_RUNS, math.ceil(enough))

    def _decide(self, fails: Sequence[float], confidence: float, divisor: float) -> RuleResult:
        return decide_rate(fails, self.rate_at_most, confidence=confidence, divisor=divisor)

    def _fails(self, sample: Sample) -> float:
        """1 if the run fails, else 0."""
        value = sample.number(self.quantity)
        if self.at_least is not None:
            return float(value < self.at_least)
        return float(value > (self.at_most or 0.0))
