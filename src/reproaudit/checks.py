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

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from reproaudit.declarations import Coordinate, Name, Quantity, Sample, StrictModel
from reproaudit.deferred import deferred
from reproaudit.stats import (
    FLOOR,
    Decision,
    Finding,
    Scale,
    Side,
    decide_bound,
    decide_equivalence,
    decide_every_seed,
    decide_every_seed_within,
    equivalence_range,
    onset,
)

if TYPE_CHECKING:
    import numpy as np

    from reproaudit.records import Series
else:
    np = deferred("numpy")

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
    decide: Callable[[Sequence[float], float, int], Finding]
    scale: Scale
    floor: float
    accepted: tuple[float, float]
    kindest: Callable[[Sample], float] | None = None

    def judge(self, samples: Sequence[Sample], confidence: float, parts: int) -> Finding:
        """What the seeds say; shown is the least favourable reading unless both miss."""
        finding = self.decide([self.value(s) for s in samples], confidence, parts)
        if self.kindest is None or finding.decision is not Decision.MISSED:
            return finding
        kindest = self.decide([self.kindest(s) for s in samples], confidence, parts)
        if kindest.decision is Decision.MISSED:
            return kindest
        return replace(finding, decision=Decision.UNDECIDED)


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

        def decide(values: Sequence[float], confidence: float, parts: int) -> Finding:
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
    onset is at least `by` times the earlier one, on a logarithmic scale.

    Where an onset is depends on how it is defined and how often one looked, so the ratio has a
    range: over the shares 0.4, 0.5 and 0.6, over the whole time and its first four fifths, and over
    the two observations that an onset lies between. The order is met by the smallest ratio of that
    range and missed by the largest; otherwise it is undecided. Changes that come together are
    therefore never found apart because one of them was looked at less often.
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

        ratio = self._bounded(
            f"{self.name}: ratio of the onsets",
            lambda s: self._ratios(s)[0],
            self.by,
            Side.AT_LEAST,
            Scale.LOG,
        )
        return (
            Condition(
                f"{self.name}: both changes come",
                self._come,
                Side.AT_LEAST.value,
                None,
                both_come,
                Scale.LINEAR,
                self.floor,
                (1.0, math.inf),
            ),
            replace(ratio, kindest=lambda s: self._ratios(s)[1]),
        )

    def _come(self, sample: Sample) -> float:
        """1 if both changes come, else 0."""
        pairs = ((self.earlier, self.earlier_change), (self.later, self.later_change))
        return float(all(_onset_between(sample.series(q), least, 0.5) for q, least in pairs))

    def _ratios(self, sample: Sample) -> tuple[float, float]:
        """The smallest and the largest ratio of later to earlier onset.

        A change that never comes counts as at the last step, one before the first observation
        after the start as at that observation. Where an earlier end of time shows neither change,
        it says nothing of their order.
        """
        earlier, later = sample.series(self.earlier), sample.series(self.later)
        steps = {*earlier.steps, *later.steps}
        start, end = min(steps), max(steps)
        first = min((step for step in steps if step > 0), default=1)
        ratios: list[float] = []
        for share, horizon in itertools.product((0.4, 0.5, 0.6), (1.0, 0.8)):
            until = start + horizon * (end - start)
            a = _onset_between(earlier, self.earlier_change, share, until)
            b = _onset_between(later, self.later_change, share, until)
            if a is None and b is None and until < end:
                continue
            a, b = a or (end, end), b or (end, end)
            ratios += (max(b[i], first) / max(a[1 - i], first) for i in (0, 1))
        return min(ratios), max(ratios)


def _onset_between(
    series: Series, least_change: float, share: float, until: float = math.inf
) -> tuple[float, float] | None:
    """The two observations that an onset lies between, or None if the change has not come.

    Args:
        series: values of shape (step,).
        least_change: the smallest change that counts.
        share: of the change, at which its onset is.
        until: the last step that is looked at.
    """
    steps = np.asarray(series.steps, dtype=np.float64)
    seen = steps <= until
    if steps.size > 1 and seen.sum() < 2:
        return None
    found = onset(steps[seen], series.values[seen], share=share, least_change=least_change)
    if found.step is None:
        return None
    after = int(np.searchsorted(steps, found.step))
    return float(steps[max(after - 1, 0)]), float(steps[after])


class GrowsLike(_Check):
    """A quantity grows by a law late in training: like log t, or like a power of t.

    Compares what it gained in the last two doublings of the training time: the last gain over the
    one before is 1 for a logarithm and 2^p for t^p. Held against the law's ratio within a relative
    margin, on a logarithmic scale; and the whole growth must be at least `least_growth`.

    A doubling's gain is that of the least-squares line in log t through it, so that noise in single
    observations averages out. Gains below a hundredth of the whole growth are not resolved: growth
    whose last gain is smaller, or negative, has stopped, and its ratio counts as 1/100.
    """

    kind: Literal["grows_like"]
    """Which phenomenon is checked."""
    quantity: Quantity
    """A series, observed at least three times in each of its last two doublings of the time."""
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
        return (
            self._bounded(
                f"{self.name}: growth",
                self._growth,
                self.least_growth,
                Side.AT_LEAST,
                Scale.LINEAR,
            ),
            self._equal(f"{self.name}: ratio of gains", self._ratio, ratio, self.margin, Scale.LOG),
        )

    def _growth(self, sample: Sample) -> float:
        values = sample.series(self.quantity).values
        return float(values[-1] - values[0])

    def _ratio(self, sample: Sample) -> float:
        series = sample.series(self.quantity)
        resolved = RESOLVED_GAIN * self._growth(sample)
        before, last = _gain(series, 0.5), _gain(series, 1.0)
        if resolved <= 0 or last <= resolved:
            return RESOLVED_GAIN
        return last / max(before, resolved)


RESOLVED_GAIN = 0.01
"""The smallest gain in a doubling of the time that `GrowsLike` resolves, of the whole growth."""


def _gain(series: Series, end: float) -> float:
    """The gain over the doubling of the time that ends at a share of the last step.

    Raises:
        ValueError: if it was observed fewer than three times.
    """
    steps = np.asarray(series.steps, dtype=np.float64)
    stop = end * steps[-1]
    if np.count_nonzero((steps >= stop / 2) & (steps <= stop)) < 3:
        raise ValueError(
            f"fewer than three observations between steps {stop / 2:g} and {stop:g}, too few to "
            "tell a law of growth"
        )
    log2 = np.linspace(-1.0, 0.0, 33)  # even in log t, so that the ratio of a power is exact
    values = np.interp(stop * 2.0**log2, steps, series.values)
    return float(np.polynomial.polynomial.polyfit(log2, values, 1)[1])


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
        return (self._equal(self.name, self._value, target, self.margin, scale),)

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
    scale: Scale = Scale.LINEAR
    floor: float = FLOOR


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
    judged = judge_conditions(checks, samples, confidence)
    parts = itertools.groupby(judged, key=lambda one: id(one.part))  # equal parts may be neighbours
    return tuple(_judge_part(list(found)) for _, found in parts)


@dataclass(frozen=True)
class ConditionFinding:
    """What the seeds say about one condition of a part of a claim.

    Attributes:
        values: of each seed, `Condition.value`; a finding may show the kindest reading instead.
    """

    part: Check
    condition: Condition
    values: tuple[float, ...]
    finding: Finding


def judge_conditions(
    checks: Sequence[Check], samples: Sequence[Sample], confidence: float
) -> tuple[ConditionFinding, ...]:
    """Decide every condition of every part of a claim; arguments and errors as `judge_parts`."""
    parts = [part for check in checks for part in check.parts(samples[0])]
    conditions = [(part, condition) for part in parts for condition in part.conditions()]
    return tuple(
        ConditionFinding(
            part,
            condition,
            tuple(condition.value(s) for s in samples),
            condition.judge(samples, confidence, len(conditions)),
        )
        for part, condition in conditions
    )


def _judge_part(judged: Sequence[ConditionFinding]) -> PartFinding:
    label = binding({one.condition.label: one.finding for one in judged})
    bound = next(one for one in judged if one.condition.label == label)
    return PartFinding(
        bound.part.name,
        bound.finding.decision,
        label,
        bound.condition.side,
        bound.condition.margin,
        bound.finding,
        bound.part.reason,
        bound.condition.scale,
        bound.part.floor,
    )


def binding(findings: dict[str, Finding], worst: Decision = Decision.MISSED) -> str:
    """The label of the finding that decides: the worst decision, then the least room.

    Args:
        findings: by label.
        worst: missed; of controls, which are to miss, met.
    """
    order = [Decision.MISSED, Decision.UNDECIDED, Decision.MET]
    if worst is Decision.MET:
        order.reverse()
    return min(findings, key=lambda k: (order.index(findings[k].decision), _room(findings[k])))


def _room(finding: Finding) -> float:
    """How many half-widths of its interval lie between the estimate and the bound.

    A count has no width: one that is met is not what a claim hangs on, any other is.
    """
    if finding.interval is None:
        return float("inf") if finding.decision is Decision.MET else 0.0
    half_width = (finding.interval.high - finding.interval.low) / 2
    distance = abs(finding.estimate - finding.bound)
    return distance / half_width if half_width > 0 else float("inf")


def all_quantities(checks: Sequence[Check]) -> Iterator[tuple[int, str, Quantity]]:
    """Every quantity of a claim's checks as (index of the check, field, quantity)."""
    for index, check in enumerate(checks):
        for field, value in check.__dict__.items():
            if type(value) is Quantity:  # a model has no subclasses, and this is asked very often
                yield index, field, value
