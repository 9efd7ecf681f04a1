"""The base of every kind of check: its fields, its parts and its conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, Literal, Self

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

Decide = Callable[[Sequence[float], float, float], RuleResult]
"""Decides on numbers: one per seed, the confidence, and what the error of a miss is divided by."""


SKEW_DIVISOR = 5
"""The divisor of every error on the linear scale, where no transformation takes skew out.

Exponential data, judged on five seeds, then err at 4.9 % instead of 11.3 %, at α = 5 %.
"""


COUNT_LEVEL = 0.05
"""The error at which the runs of an ablation are counted, where a check is over every seed.

A claim's own runs are counted at the error of the look instead.
"""


def confidence_on(scale: Scale, confidence: float, two_tests: bool = False) -> float:
    """The confidence that a rule on the mean is decided with on a scale.

    Args:
        scale: where the numbers are compared.
        confidence: 1 − α of the audit.
        two_tests: whether *met* is decided by two one-sided tests; on the linear scale each has the
            error of a bound there, α/2 divided by `SKEW_DIVISOR`.
    """
    if scale is not Scale.LINEAR:
        return confidence
    return round(1 - (1 - confidence) / SKEW_DIVISOR / (2 if two_tests else 1), 12)


@dataclass(frozen=True)
class Condition:
    """One number per seed, and the rule that decides on these numbers.

    Attributes:
        label: the name of the number, for the reader of the scorecard.
        value: takes the number out of one seed's sample.
        side: "at_most", "at_least" or "within", for display.
        margin: of an equivalence, how far from the target still counts as equal.
        decide: decides on the numbers, given the confidence and the divisor of a miss's error.
        scale: the scale on which the numbers are compared.
        floor: the resolution of the measurement on that scale.
        accepted: the range that satisfies the rule, in natural units; infinite at an open end.
        kindest: for a number that depends on how it is defined, its most favourable reading, where
            `value` is the least favourable one. The condition is missed only if both readings miss
            it; if they disagree, it is undecided.
        counted: the decision is a count over the seeds, which has no error to be divided.
        name: of a kind with several conditions, what this one is called in an audit; conditions of
            one name count as one, which is missed if one of them is.
    """

    label: str
    value: Callable[[Sample], float]
    side: str
    margin: float | None
    decide: Decide
    scale: Scale
    floor: float
    accepted: tuple[float, float]
    kindest: Callable[[Sample], float] | None = None
    counted: bool = False
    name: str = ""

    def judge(
        self,
        samples: Sequence[Sample],
        values: Sequence[float],
        confidence: float,
        divisor: float,
    ) -> RuleResult:
        """The result for these seeds; it shows the least favourable reading unless both miss.

        Args:
            samples: one per seed.
            values: `value` of each.
            confidence: two-sided.
            divisor: by which the error of a miss is divided, see `reproaudit.checks.deciding`.
        """
        result = self.decide(values, confidence, divisor)
        if self.kindest is None or result.decision is not Decision.MISSED:
            return result
        kindest = self.decide([self.kindest(s) for s in samples], confidence, divisor)
        if kindest.decision is Decision.MISSED:
            return kindest
        return replace(result, decision=Decision.UNDECIDED)


class Kind(StrictModel):
    """The fields of every kind of check; a kind adds its own and defines its `conditions`."""

    condition_names: ClassVar[tuple[str, ...]] = ()
    """The names of the conditions; empty for a kind with a single one."""

    name: str
    """The part of the claim that this check decides, in a few words."""
    reason: str
    """Why the tolerance is what it is; fixed before the run."""
    ablation: Name | None = None
    """The control that must miss this part, by name: it lacks the claimed mechanism and nothing
    else. May be left out where the claim has one control."""
    ablation_misses: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """Of a kind with several conditions: those that the ablation must miss, by name. All of them
    unless stated; what is left out needs no mechanism, and the verdict says so."""
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
            field: one.model_copy(update={"measurement": substitutes[one.measurement]})
            for field, one in self.by_field().items()
            if one.measurement in substitutes
        }
        return self.model_copy(update=replaced)

    def by_field(self) -> dict[str, Quantity]:
        """Every quantity that the check uses, by field."""
        # A model has no subclasses, and this is asked very often.
        return {field: one for field, one in self.__dict__.items() if type(one) is Quantity}

    def quantities(self) -> tuple[Quantity, ...]:
        """Every quantity that the check uses."""
        return tuple(self.by_field().values())

    def parts(self, sample: Sample) -> tuple[Self, ...]:
        """The check itself, or one copy for every coordinate of its `each` axis."""
        if self.each is None:
            return (self,)
        coordinates = sample.coordinates(self.quantities()[0], self.each)
        return tuple(self._placed(c) for c in coordinates if c in (self.among or coordinates))

    def _placed(self, coordinate: Coordinate) -> Self:
        axis = str(self.each)
        fixed = {field: one.placed(axis, coordinate) for field, one in self.by_field().items()}
        label = {"each": None, "among": None, "name": f"{self.name}, {axis} {coordinate}"}
        return self.model_copy(update={**fixed, **label})

    def conditions(self) -> tuple[Condition, ...]:
        """The conditions that must all be met; defined by each kind."""
        raise NotImplementedError

    def follows_training(self) -> bool:
        """True if the check uses measurements during training, and not only at its end."""
        return False

    def spans(self) -> str | None:
        """The axis along which the check reads its quantities whole, if there is one."""
        return None

    def goal(self, _sample: Sample) -> tuple[Quantity, tuple[float, float]] | None:
        """The quantity that is held against a range, and the range that meets the check.

        The range is one run's, in the quantity's own units; infinite at an open end. Pictures show
        it. None if what is judged is no level of a quantity, such as the order of two onsets.
        """
        return None

    def untested(self, _runs: int) -> str | None:
        """Why a part cannot be tested with so many runs, or at all, so that it is never met.

        None if it can. It can still be missed.
        """
        return None

    def levels(self) -> Iterator[tuple[str, float, Scale]]:
        """The levels that the check states, as (field, level, scale on which it must exist)."""
        return iter(())

    def _ratio(self, over: float, under: float) -> float:
        """The ratio of two positive numbers, each raised to the floor if it is smaller."""
        return max(over, self.floor) / max(under, self.floor)

    def _relative(self, value: float, other: float, scale: Scale) -> float:
        """The difference of two numbers on the linear scale, their ratio on the log scale."""
        return value - other if scale is Scale.LINEAR else self._ratio(value, other)

    def _beside(self, other: float, number: float, scale: Scale) -> float:
        """The value whose `_relative` to another one is a number: the inverse of `_relative`."""
        return number + other if scale is Scale.LINEAR else number * max(other, self.floor)

    def _bounded(
        self, label: str, value: Callable[[Sample], float], bound: float, side: Side, scale: Scale
    ) -> Condition:
        """A condition that holds a number against a one-sided bound."""
        every_seed = partial(decide_every_seed, bound=bound, side=side)
        mean = partial(decide_bound, bound=bound, side=side, scale=scale, floor=self.floor)
        accepted = (-math.inf, bound) if side is Side.AT_MOST else (bound, math.inf)
        decide = self._over(every_seed, mean, lambda c: confidence_on(scale, c))
        return Condition(
            label,
            value,
            side.value,
            None,
            decide,
            scale,
            self.floor,
            accepted,
            counted=self.over == "every_seed",
        )

    def _equal(
        self,
        label: str,
        value: Callable[[Sample], float],
        target: float,
        margin: float,
        scale: Scale,
    ) -> Condition:
        """A condition that holds a number against a target, within a margin."""
        every_seed = partial(
            decide_every_seed_within, target=target, margin=margin, scale=scale, floor=self.floor
        )
        mean = partial(
            decide_equivalence, target=target, margin=margin, scale=scale, floor=self.floor
        )
        decide = self._over(every_seed, mean, lambda c: confidence_on(scale, c, two_tests=True))
        accepted = equivalence_range(target, margin, scale)
        return Condition(
            label,
            value,
            "within",
            margin,
            decide,
            scale,
            self.floor,
            accepted,
            counted=self.over == "every_seed",
        )

    def _over(
        self,
        every_seed: Callable[..., RuleResult],
        mean: Callable[..., RuleResult],
        on_scale: Callable[[float], float],
    ) -> Decide:
        """The rule over every seed or over the mean, as the check states.

        Beside a mean the runs are counted, with the error α = 1 − confidence that the look has.
        """

        def decide(values: Sequence[float], confidence: float, divisor: float) -> RuleResult:
            if self.over == "every_seed":
                return every_seed(values)
            at, level = on_scale(confidence), round(1 - confidence, 12)
            return mean(values, confidence=at, divisor=divisor, level=level)

        return decide
