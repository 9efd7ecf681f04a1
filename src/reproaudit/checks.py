"""The kinds of check: few, general, and named for phenomena.

A check is a pure function of measurements. It takes one number per seed out of the measurements,
and the statistics of `reproaudit.stats` decide: *met* when the whole interval lies on the claimed
side of the bound, *missed* when the whole interval lies on the other side, *undecided* otherwise. A
check knows neither the paper nor the experiment, and it is itself tested: on synthetic trajectories
with the phenomenon present, absent and borderline, and, in every audit, on a control that lacks the
claimed mechanism.

Each kind says which numbers it takes (`conditions`). Most have one condition; a kind with several
(`converges`: falls, and settles) is met if all are met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from reproaudit.declarations import Coordinate, Name, Quantity, Sample, StrictModel
from reproaudit.records import Series
from reproaudit.stats import (
    Decision,
    Finding,
    Scale,
    Side,
    decide_bound,
    decide_equivalence,
    decide_every_seed,
    decide_every_seed_within,
    onset,
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
        scale: where the numbers are near normal over seeds.
    """

    label: str
    value: Callable[[Sample], float]
    side: str
    margin: float | None
    decide: Callable[[Sequence[float], float, int], Finding]
    scale: Scale = Scale.LINEAR


class _Check(StrictModel):
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

    def _bounded(
        self, label: str, value: Callable[[Sample], float], bound: float, side: Side, scale: Scale
    ) -> Condition:
        """A condition that holds a number against a one-sided bound."""

        def decide(values: Sequence[float], confidence: float, parts: int) -> Finding:
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

        return Condition(label, value, side.value, None, decide, scale)


class Aligns(_Check):
    """A direction is learned: the distance to it ends at or below a bound, or the cosine above.

    The distance is judged on a logarithmic scale, since distances near 0 are skewed; a cosine on
    log(1 − cosine), for the same reason.
    """

    kind: Literal["aligns"]
    """Which phenomenon is checked."""
    distance: Quantity | None = None
    """A distance to the claimed direction, 0 when it is reached."""
    at_most: Positive | None = None
    """The largest distance that still counts as aligned."""
    cosine: Quantity | None = None
    """A cosine with the claimed direction, 1 when it is reached."""
    at_least: Annotated[float, Field(gt=0, lt=1)] | None = None
    """The smallest cosine that still counts as aligned."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        by_distance = (self.distance is not None, self.at_most is not None)
        by_cosine = (self.cosine is not None, self.at_least is not None)
        if {by_distance, by_cosine} != {(True, True), (False, False)}:
            raise ValueError("state either a distance and at_most, or a cosine and at_least")
        return self

    def conditions(self) -> tuple[Condition, ...]:
        """The final distance is at most the bound, or the final cosine at least the bound."""
        if self.distance is not None and self.at_most is not None:
            distance = self.distance
            return (
                self._bounded(
                    self.name, lambda s: s.number(distance), self.at_most, Side.AT_MOST, Scale.LOG
                ),
            )
        if self.cosine is not None and self.at_least is not None:
            cosine = self.cosine
            return (
                self._bounded(
                    self.name,
                    lambda s: s.number(cosine),
                    self.at_least,
                    Side.AT_LEAST,
                    Scale.LOG_COMPLEMENT,
                ),
            )
        raise AssertionError("refused by _one_form")


class Converges(_Check):
    """A loss falls by at least a factor over training, and has settled by its end.

    Both conditions are ratios of the loss, judged on a logarithmic scale: start over end is at
    least `falls_by`; the loss where the last `last_share` of training begins, over the loss at the
    end, is at most `settles_within`.
    """

    kind: Literal["converges"]
    """Which phenomenon is checked."""
    loss: Quantity
    """A series that is positive."""
    falls_by: Annotated[float, Field(gt=1)]
    """How many times smaller the loss must end than it began."""
    settles_within: Annotated[float, Field(gt=1)]
    """The largest factor by which it may still have fallen in the last share of training."""
    last_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """The share of training that counts as its end."""

    def conditions(self) -> tuple[Condition, ...]:
        """The loss falls far enough, and it settles."""
        return (
            self._bounded(
                f"{self.name}: falls by a factor",
                lambda s: self._ratio(s, 0.0),
                self.falls_by,
                Side.AT_LEAST,
                Scale.LOG,
            ),
            self._bounded(
                f"{self.name}: still falling at the end, by a factor",
                lambda s: self._ratio(s, 1.0 - self.last_share),
                self.settles_within,
                Side.AT_MOST,
                Scale.LOG,
            ),
        )

    def _ratio(self, sample: Sample, share: float) -> float:
        series = sample.series(self.loss)
        start = series.steps[0] + share * (series.steps[-1] - series.steps[0])
        index = max(i for i, step in enumerate(series.steps) if step <= start)
        return max(float(series.values[index]), self.floor) / max(
            float(series.values[-1]), self.floor
        )


class Reaches(_Check):
    """A quantity ends on one side of a level: an accuracy, a share, a loss beside the best one.

    With `relative_to`, what is held against the level is the ratio to another quantity of the same
    seed (log scale) or the difference from it (linear scale). The scale is one on which the seeds'
    values are near normal: log for positive skewed measures, log_complement for shares near 1.
    """

    kind: Literal["reaches"]
    """Which phenomenon is checked."""
    quantity: Quantity
    """What is measured."""
    relative_to: Quantity | None = None
    """Another quantity of the same seed that it is taken relative to."""
    at_least: float | None = None
    """The level, when it must be reached from below."""
    at_most: float | None = None
    """The level, when it must be reached from above."""
    scale: Literal["linear", "log", "logit", "log_complement"]
    """The scale on which the mean over seeds is judged."""

    @model_validator(mode="after")
    def _one_level(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("state either at_least or at_most")
        if self.relative_to is not None and self.scale not in ("linear", "log"):
            raise ValueError("relative to another quantity, the scale is linear or log")
        return self

    def conditions(self) -> tuple[Condition, ...]:
        """The quantity is on its side of the level."""
        below = self.at_most is not None
        level = float(self.at_most if self.at_most is not None else self.at_least or 0.0)
        side = Side.AT_MOST if below else Side.AT_LEAST
        return (self._bounded(self.name, self._value, level, side, Scale(self.scale)),)

    def _value(self, sample: Sample) -> float:
        value = sample.number(self.quantity)
        if self.relative_to is None:
            return value
        other = sample.number(self.relative_to)
        if self.scale == "linear":
            return value - other
        return max(value, self.floor) / max(other, self.floor)


class Concentrates(_Check):
    """A share of a whole goes to 1: the weight of one among many.

    Judged on log(1 − share), so that 0.99 and 0.999 are as far apart as 0.9 and 0.99. With
    `of_the_rest`, what is judged is the share of the remaining distance to 1 that training covered,
    (end − start) / (1 − start), for weights that start near 1 already.
    """

    kind: Literal["concentrates"]
    """Which phenomenon is checked."""
    share: Quantity
    """A share between 0 and 1; a series when `of_the_rest` is set."""
    at_least: Annotated[float, Field(gt=0, lt=1)]
    """The smallest share that still counts as concentrated."""
    of_the_rest: bool = False
    """Whether to judge the covered part of the distance to 1 rather than the level."""

    def conditions(self) -> tuple[Condition, ...]:
        """The final share, or the covered part of the distance, is at least the bound."""
        return (
            self._bounded(
                self.name, self._value, self.at_least, Side.AT_LEAST, Scale.LOG_COMPLEMENT
            ),
        )

    def _value(self, sample: Sample) -> float:
        end = sample.number(self.share)
        if not self.of_the_rest:
            return end
        start = sample.number(self.share.model_copy(update={"step": "first"}))
        return (end - start) / max(1.0 - start, self.floor)


class OrderedOnsets(_Check):
    """One quantity changes well before another: stage-wise learning.

    An onset is the last crossing of a share of a change that is itself large enough to matter
    (`reproaudit.stats.onset`). Two conditions: in every seed both changes come; and the later
    onset is at least `by` times the earlier one, on a logarithmic scale, at the *least* favourable
    of the shares 0.4, 0.5 and 0.6 and of the whole horizon and its first four fifths, so that the
    order does not hang on how an onset is defined.
    """

    kind: Literal["ordered_onsets"]
    """Which phenomenon is checked."""
    earlier: Quantity
    """The series that is claimed to change first."""
    later: Quantity
    """The series that is claimed to change afterwards."""
    earlier_change: Positive
    """The smallest change of the earlier series that counts, in its units."""
    later_change: Positive
    """The smallest change of the later series that counts, in its units."""
    by: Annotated[float, Field(ge=1)]
    """How many times later the later onset must be, in training steps."""

    def conditions(self) -> tuple[Condition, ...]:
        """Both changes come, and in this order."""

        def both_come(values: Sequence[float], confidence: float, parts: int) -> Finding:
            del confidence, parts  # whether a change came is a count over seeds
            return decide_every_seed(values, 1.0, Side.AT_LEAST)

        return (
            Condition(
                f"{self.name}: both changes come", self._come, Side.AT_LEAST.value, None, both_come
            ),
            self._bounded(
                f"{self.name}: ratio of the onsets", self._ratio, self.by, Side.AT_LEAST, Scale.LOG
            ),
        )

    def _onset(
        self, series: Series, least_change: float, share: float, horizon: float
    ) -> float | None:
        steps = np.asarray(series.steps, dtype=np.float64)
        seen = steps <= steps[0] + horizon * (steps[-1] - steps[0])
        return onset(steps[seen], series.values[seen], share=share, least_change=least_change).step

    def _come(self, sample: Sample) -> float:
        """1 if both changes come, else 0."""
        pairs = ((self.earlier, self.earlier_change), (self.later, self.later_change))
        onsets = [self._onset(sample.series(q), least, 0.5, 1.0) for q, least in pairs]
        return float(all(step is not None for step in onsets))

    def _ratio(self, sample: Sample) -> float:
        """The least ratio of later to earlier; one that never comes counts as the last step."""
        earlier, later = sample.series(self.earlier), sample.series(self.later)
        last = float(max(earlier.steps[-1], later.steps[-1]))
        first_step = float(earlier.steps[1]) if len(earlier.steps) > 1 else 1.0
        ratios = []
        for share in (0.4, 0.5, 0.6):
            for horizon in (1.0, 0.8):
                a = self._onset(earlier, self.earlier_change, share, horizon)
                b = self._onset(later, self.later_change, share, horizon)
                a = last if a is None else max(a, first_step)
                b = last if b is None else max(b, first_step)
                ratios.append(b / a)
        return min(ratios)


class GrowsLike(_Check):
    """A quantity grows by a law late in training: like log t, or like a power of t.

    Compares what it gained in the last two doublings of the training time: the last gain over the
    one before is 1 for a logarithm and 2^p for t^p, and falls towards 0 when growth stops. Held
    against the law's ratio within a relative margin, on a logarithmic scale; and the whole growth
    must be at least `least_growth`.
    """

    kind: Literal["grows_like"]
    """Which phenomenon is checked."""
    quantity: Quantity
    """A series."""
    law: Literal["logarithm", "power"]
    """The law of growth."""
    exponent: Positive | None = None
    """Of a power law: its exponent."""
    margin: Positive
    """The largest relative difference of the ratio of gains from the law's."""
    least_growth: Positive
    """The smallest growth from start to end that counts, in the quantity's units."""

    @model_validator(mode="after")
    def _exponent_of_a_power(self) -> Self:
        if (self.law == "power") != (self.exponent is not None):
            raise ValueError("a power law, and only it, needs an exponent")
        return self

    def conditions(self) -> tuple[Condition, ...]:
        """It grows, and the ratio of its last two gains is the law's."""
        ratio = 1.0 if self.exponent is None else 2.0**self.exponent

        def near(values: Sequence[float], confidence: float, parts: int) -> Finding:
            return decide_equivalence(
                values,
                ratio,
                self.margin,
                scale=Scale.LOG,
                confidence=confidence,
                parts=parts,
                floor=self.floor,
            )

        return (
            self._bounded(
                f"{self.name}: growth",
                lambda s: self._gain(s, 1.0, 0.0),
                self.least_growth,
                Side.AT_LEAST,
                Scale.LINEAR,
            ),
            Condition(
                f"{self.name}: ratio of gains",
                self._ratio,
                "within",
                self.margin,
                near,
                Scale.LOG,
            ),
        )

    def _gain(self, sample: Sample, end: float, start: float) -> float:
        series = sample.series(self.quantity)
        steps = np.asarray(series.steps, dtype=np.float64)
        values = np.interp([start * steps[-1], end * steps[-1]], steps, series.values)
        return float(values[1] - values[0])

    def _ratio(self, sample: Sample) -> float:
        before = max(self._gain(sample, 0.5, 0.25), self.floor)
        return max(self._gain(sample, 1.0, 0.5), self.floor) / before


class Separates(_Check):
    """One quantity lies below another, paired by seed.

    On the logarithmic scale `by` is a ratio (upper ≥ by · lower), on the linear one a difference
    (upper ≥ lower + by). Pairing takes out what the two share: the test set, the task, the seed.
    """

    kind: Literal["separates"]
    """Which phenomenon is checked."""
    lower: Quantity
    """What is claimed to be smaller."""
    upper: Quantity
    """What is claimed to be larger."""
    by: float
    """By how much, at least: a ratio on the logarithmic scale, a difference on the linear one."""
    scale: Literal["log", "linear"] = "log"
    """The scale on which the pairs are compared."""

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.scale == "log" and self.by < 1:
            raise ValueError("on the logarithmic scale, by is a ratio of at least 1")
        return self

    def conditions(self) -> tuple[Condition, ...]:
        """The paired ratio or difference is at least `by`."""
        return (self._bounded(self.name, self._gap, self.by, Side.AT_LEAST, Scale(self.scale)),)

    def _gap(self, sample: Sample) -> float:
        lower, upper = sample.number(self.lower), sample.number(self.upper)
        if self.scale == "linear":
            return upper - lower
        return max(upper, self.floor) / max(lower, self.floor)


class Matches(_Check):
    """A quantity equals a target within a margin, by two one-sided tests.

    The target is a number, or another quantity of the same seed. With another quantity on the
    logarithmic scale the ratio of the two is held against 1, within a factor of 1 + margin.
    """

    kind: Literal["matches"]
    """Which phenomenon is checked."""
    quantity: Quantity
    """What is measured."""
    target: float | None = None
    """The number that it should equal."""
    reference: Quantity | None = None
    """The quantity that it should equal, paired by seed."""
    margin: Positive
    """The largest difference (log: relative difference) that still counts as equal."""
    scale: Literal["log", "linear"] = "linear"
    """The scale on which the two are compared."""

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if (self.target is None) == (self.reference is None):
            raise ValueError("state either a target or a reference")
        return self

    def conditions(self) -> tuple[Condition, ...]:
        """The number, or its difference from or ratio to the reference, is within the margin."""
        scale = Scale(self.scale)
        if self.reference is None:
            target = float(self.target if self.target is not None else 0.0)
        else:
            target = 1.0 if scale is Scale.LOG else 0.0

        def decide(values: Sequence[float], confidence: float, parts: int) -> Finding:
            if self.over == "every_seed":
                return decide_every_seed_within(
                    values, target, self.margin, scale=scale, floor=self.floor
                )
            return decide_equivalence(
                values,
                target,
                self.margin,
                scale=scale,
                confidence=confidence,
                parts=parts,
                floor=self.floor,
            )

        return (Condition(self.name, self._value, "within", self.margin, decide, scale),)

    def _value(self, sample: Sample) -> float:
        value = sample.number(self.quantity)
        if self.reference is None:
            return value
        reference = sample.number(self.reference)
        if self.scale == "linear":
            return value - reference
        return max(value, self.floor) / max(reference, self.floor)


Check = Annotated[
    Aligns | Concentrates | Converges | GrowsLike | Matches | OrderedOnsets | Reaches | Separates,
    Field(discriminator="kind"),
]
"""Any kind of check, told apart by its `kind`."""


@dataclass(frozen=True)
class PartFinding:
    """What the seeds say about one part of a claim.

    Attributes:
        name: the part.
        decision: met if all its conditions are met, missed if one is missed.
        label: the binding condition.
        side: of the binding condition, "at_most", "at_least" or "within".
        margin: of an equivalence, how far from the target still counts as equal.
        finding: what the seeds say about the binding condition.
        reason: why the tolerance is what it is.
        scale: of the binding condition, where its numbers are near normal over seeds.
        floor: what lies below counts as this on a logarithmic scale.
    """

    name: str
    decision: Decision
    label: str
    side: str
    margin: float | None
    finding: Finding
    reason: str
    scale: Scale
    floor: float


def judge_parts(
    checks: Sequence[Check], samples: Sequence[Sample], confidence: float
) -> tuple[PartFinding, ...]:
    """Decide every part of a claim on the same seeds.

    A claim is missed when one part is; so that many parts do not make that more likely by chance,
    each condition is missed only at 1 − (1 − confidence) / (number of conditions). It is met only
    when all are, which needs no such correction.

    Args:
        checks: the claim's checks, in the order of the audit.
        samples: one per seed.
        confidence: two-sided, such as 0.95.

    Raises:
        MeasurementMissingError: if a record lacks what a check needs.
    """
    parts = [part for check in checks for part in check.parts(samples[0])]
    total = sum(len(part.conditions()) for part in parts)
    return tuple(_judge_part(part, samples, confidence, total) for part in parts)


def _judge_part(
    part: Check, samples: Sequence[Sample], confidence: float, total: int
) -> PartFinding:
    conditions = {condition.label: condition for condition in part.conditions()}
    findings = {
        label: condition.decide([condition.value(s) for s in samples], confidence, total)
        for label, condition in conditions.items()
    }
    label = binding(findings)
    finding = findings[label]
    condition = conditions[label]
    return PartFinding(
        part.name,
        finding.decision,
        label,
        condition.side,
        condition.margin,
        finding,
        part.reason,
        condition.scale,
        part.floor,
    )


_WORST_FIRST = {Decision.MISSED: 0, Decision.UNDECIDED: 1, Decision.MET: 2}


def binding(findings: dict[str, Finding]) -> str:
    """The label of the finding that decides: the worst decision, then the least room."""
    return min(findings, key=lambda k: (_WORST_FIRST[findings[k].decision], _room(findings[k])))


def _room(finding: Finding) -> float:
    """How many half-widths of its interval lie between the estimate and the bound."""
    if finding.interval is None:
        return 0.0
    half_width = (finding.interval.high - finding.interval.low) / 2
    distance = abs(finding.estimate - finding.bound)
    return distance / half_width if half_width > 0 else float("inf")


def all_quantities(checks: Sequence[Check]) -> Iterator[tuple[int, str, Quantity]]:
    """Every quantity of a claim's checks as (index of the check, field, quantity)."""
    for index, check in enumerate(checks):
        for field, value in check.__dict__.items():
            if isinstance(value, Quantity):
                yield index, field, value
