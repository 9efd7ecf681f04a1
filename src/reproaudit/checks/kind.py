"""What every kind of check has: fields, parts and conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

from pydantic import Field

from reproaudit.checks.measurements import Coordinate, Name, Quantity, Sample, StrictModel
from reproaudit.stats import (
    Decision,
    RuleResult,
    Scale,
    Side,
    decide_bound,
    decide_equivalence,
    decide_every_seed,
    decide_every_seed_within,
    equivalence_range,
)

Positive = Annotated[float, Field(gt=0)]


@dataclass(frozen=True)
class Condition:
    """One number per seed, and the rule that it is held against.

    Attributes:
        label: what is measured, for the reader of the scorecard.
        value: from one seed's sample to the number.
        side: "at_most", "at_least" or "within", for display.
        margin: of an equivalence, how far from the target still counts as equal.
        decide: from the numbers, the confidence and the number of conditions of the whole claim
            to a finding.
        scale: the scale on which the numbers are compared.
        floor: the resolution of the measurement on that scale.
        accepted: what satisfies the rule, from and to, in natural units; infinite at an open end.
        kindest: of a measure that depends on how it is defined, where `value` is its least
            favourable reading: the most favourable one. The condition is missed only if this one
            misses it as well; if the readings disagree, it is undecided.
    """

    label: str
    value: Callable[[Sample], float]
    side: str
    margin: float | None
    decide: Callable[[Sequence[float], float, int], RuleResult]
    scale: Scale
    floor: float
    accepted: tuple[float, float]
    kindest: Callable[[Sample], float] | None = None

    def judge(self, samples: Sequence[Sample], confidence: float, parts: int) -> RuleResult:
        """What the seeds say; shown is the least favourable reading unless both miss."""
        finding = self.decide([self.value(s) for s in samples], confidence, parts)
        if self.kindest is None or finding.decision is not Decision.MISSED:
            return finding
        kindest = self.decide([self.kindest(s) for s in samples], confidence, parts)
        if kindest.decision is Decision.MISSED:
            return kindest
        return replace(finding, decision=Decision.UNDECIDED)


class Kind(StrictModel):
    """What every kind of check states."""

    name: str
    """The part of the claim that this check decides, in a few words."""
    reason: str
    """Why the tolerance is what it is; fixed before the run."""
    over: Literal["mean", "every_seed"] = "mean"
    """Judged on the mean over seeds (with an interval) or on every seed (as a count)."""
    each: Name | None = None
    """An axis: the check is repeated for every coordinate of it, as parts of the claim."""
    among: tuple[Coordinate, ...] | None = None
    """With `each`: only these coordinates."""
    floor: Positive = 1.0e-12
    """The resolution of the measurement on a logarithmic scale: what lies below counts as this."""

    def reading(self, substitutes: Mapping[str, str]) -> Self:
        """The same check with measurements replaced, by name."""
        replaced = {
            field: value.model_copy(update={"measurement": substitutes[value.measurement]})
            for field, value in self.__dict__.items()
            if isinstance(value, Quantity) and value.measurement in substitutes
        }
        return self.model_copy(update=replaced)

    def quantities(self) -> tuple[Quantity, ...]:
        """Every quantity that the check looks at."""
        return tuple(v for v in self.__dict__.values() if isinstance(v, Quantity))

    def parts(self, sample: Sample) -> tuple[Self, ...]:
        """The check itself, or one copy for every coordinate of its `each` axis."""
        if self.each is None:
            return (self,)
        coordinates = sample.coordinates(self.quantities()[0], self.each)
        return tuple(self._placed(c) for c in coordinates if c in (self.among or coordinates))

    def _placed(self, coordinate: Coordinate) -> Self:
        axis = str(self.each)
        fixed = {
            field: value.placed(axis, coordinate)
            for field, value in self.__dict__.items()
            if isinstance(value, Quantity)
        }
        label = {"each": None, "among": None, "name": f"{self.name}, {axis} {coordinate}"}
        return self.model_copy(update={**fixed, **label})

    def conditions(self) -> tuple[Condition, ...]:
        """What must hold; defined by each kind."""
        raise NotImplementedError

    def follows_training(self) -> bool:
        """Whether it looks at the course of what it takes, and not only at its end."""
        return False

    def levels(self) -> Iterator[tuple[str, float, Scale]]:
        """The levels that it states, as (field, level, the scale on which the level must exist)."""
        return iter(())

    def _ratio(self, over: float, under: float) -> float:
        """The ratio of two positive numbers, neither of them resolved below the floor."""
        return max(over, self.floor) / max(under, self.floor)

    def _relative(self, value: float, other: float, scale: Scale) -> float:
        """A number taken relative to another: their difference, or on the log scale their ratio."""
        return value - other if scale is Scale.LINEAR else self._ratio(value, other)

    def _bounded(
        self, label: str, value: Callable[[Sample], float], bound: float, side: Side, scale: Scale
    ) -> Condition:
        """A condition that holds a number against a one-sided bound."""

        def decide(values: Sequence[float], confidence: float, parts: int) -> RuleResult:
            if self.over == "every_seed":
                return decide_every_seed(values, bound, side)
            return decide_bound(
                values,
                bound,
                side,
                scale=scale,
                confidence=confidence,
                parts=parts,
                floor=self.floor,
            )

        accepted = (-math.inf, bound) if side is Side.AT_MOST else (bound, math.inf)
        return Condition(label, value, side.value, None, decide, scale, self.floor, accepted)

    def _equal(
        self,
        label: str,
        value: Callable[[Sample], float],
        target: float,
        margin: float,
        scale: Scale,
    ) -> Condition:
        """A condition that holds a number against a target, within a margin."""

        def decide(values: Sequence[float], confidence: float, parts: int) -> RuleResult:
            if self.over == "every_seed":
                return decide_every_seed_within(
                    values, target, margin, scale=scale, floor=self.floor
                )
            return decide_equivalence(
                values,
                target,
                margin,
                scale=scale,
                confidence=confidence,
                parts=parts,
                floor=self.floor,
            )

        accepted = equivalence_range(target, margin, scale)
        return Condition(label, value, "within", margin, decide, scale, self.floor, accepted)
