"""A quantity grows by a law late in training."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from reproaudit.checks.kind import Condition, Kind, Positive
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.lazy import np
from reproaudit.stats import Scale, Side
from reproaudit.stats.growth import Law, misfits

FEWEST = 6
"""The fewest observations late in training that tell a law from its rivals."""

ENDED = 0.01
"""The ratio of misfits for a quantity that has stopped growing: clearly missed."""


class GrowsLike(Kind):
    """A quantity grows by a law late in training: like log t, or like a power of t.

    The law competes with its rivals, fitted to the same observations (`reproaudit.stats.growth`):
    powers with another exponent, bounded courses (exponential, hyperbolic, negative powers) and,
    for a power, the logarithm. For each rival the number judged is the rival's misfit over the
    law's, on a logarithmic scale: above 1 in every such comparison the law is met; a tie is
    undecided. It is missed by a rival that fits better even than the law with an offset of the
    time, which has as many free numbers as the rival, and where nothing grows any more. And the
    whole growth must be at least `least_growth`.
    """

    condition_names: ClassVar[tuple[str, ...]] = ("grows", "law")

    kind: Literal["grows_like"]
    """The kind of check."""
    quantity: Quantity
    """A series, observed at least six times late in training."""
    law: Literal["logarithm", "power"]
    """The law of growth."""
    exponent: Positive | None = None
    """Of a power law: its exponent."""
    rival_exponent: Positive
    """A power counts as a rival if its exponent differs from the law's by at least this (the
    logarithm counts as the exponent 0); nearer ones are not told from the law."""
    since: Annotated[float, Field(gt=0, lt=1)] = 0.25
    """The share of training from which on the law is fitted."""
    least_growth: Positive
    """The smallest growth from start to end that counts, in the quantity's units."""

    @model_validator(mode="after")
    def _exponent_of_a_power(self) -> Self:
        if (self.law == "power") != (self.exponent is not None):
            raise ValueError("a power law, and only it, needs an exponent")
        return self

    def conditions(self) -> tuple[Condition, ...]:
        """It grows, and the law fits better than each rival."""
        growth = self._bounded(
            f"{self.name}: growth", self._growth, self.least_growth, Side.AT_LEAST, Scale.LINEAR
        )
        growth = replace(growth, name="grows")
        return (growth, *(self._against(rival) for rival in self._law.rivals))

    def follows_training(self) -> bool:
        """True: the course of the late part of training is fitted."""
        return True

    def goal(self, sample: Sample) -> tuple[Quantity, tuple[float, float]]:
        """The quantity, grown from its start by as much as counts."""
        start = float(sample.series(self.quantity).values[0])
        return self.quantity, (start + self.least_growth, math.inf)

    @property
    def _law(self) -> Law:
        return Law(self.exponent or 0.0, self.rival_exponent)

    def _against(self, rival: str) -> Condition:
        """The rival's misfit is larger than the law's."""
        condition = self._bounded(
            f"{self.name}: misfit of the rival '{rival}' over that of the law",
            lambda sample: self._misfit(sample, rival, "law"),
            1.0,
            Side.AT_LEAST,
            Scale.LOG,
        )
        return replace(
            condition,
            kindest=lambda sample: self._misfit(sample, rival, "law with an offset"),
            name="law",
        )

    def _growth(self, sample: Sample) -> float:
        values = sample.series(self.quantity).values
        return float(values[-1] - values[0])

    def _misfit(self, sample: Sample, rival: str, law: str) -> float:
        series = sample.series(self.quantity)
        first, last = series.steps[0], series.steps[-1]
        late = [s for s in series.steps if s > 0 and s >= first + self.since * (last - first)]
        if len(late) < FEWEST:
            raise ValueError(
                f"{len(late)} observations in the last {1 - self.since:.0%} of training; a law of "
                f"growth needs {FEWEST} to be told from its rivals"
            )
        values = np.asarray(series.values[-len(late) :], dtype=np.float64)
        found = misfits(tuple(late), values, self._law)
        if found[law] >= found["constant"]:
            return ENDED  # it does not grow any more, so that every law fits as badly
        return float(found[rival] / found[law])
