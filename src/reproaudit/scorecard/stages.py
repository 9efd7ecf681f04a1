"""Finds where a course over training changes: onsets, stages, plateaus, the curve to follow.

A check of ordered onsets has its own; everything else is looked through for one change each. There
the onset is the step at which half of the change is made, on the axis that is drawn. It is shown
if, in most runs, the quantity waits first: a drift or a decay from the start on has no onset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from reproaudit.audit.model import Audit
from reproaudit.cell import SettingValue
from reproaudit.checks.follows import Follows
from reproaudit.checks.grows_like import GrowsLike
from reproaudit.checks.kind import Kind
from reproaudit.checks.quantities import Sample
from reproaudit.declarations import MeasurementMissingError
from reproaudit.checks.ordered_onsets import OrderedOnsets
from reproaudit.checks.scales_like import ScalesLike
from reproaudit.scorecard.pictures import (
    OnsetModel,
    PlateauModel,
    RangeModel,
    StageModel,
    rounded,
)
from reproaudit.stats import final_value, onset

Course = tuple[list[float], list[NDArray[np.float64]]]
"""The steps of the longest run of a quantity, and the values of each run."""

LEAST_CHANGE = 0.1
"""A change counts from this share of the whole span of the drawn values on."""
BEGUN, DONE = 0.1, 0.9
"""The shares of a change between which it is under way."""
WAITS = 0.4
"""A quantity waits first if a tenth of its change takes at least this share of the time of half.

A straight ramp takes 0.2, an exponential decay 0.15."""
ONSET_SHARES = (0.4, 0.5, 0.6)
"""The shares of a change at which its onset is read; their spread is part of its range."""

ORDERED = (
    "onset: half of the change; range over runs, over 40 to 60 % of the change, over the whole "
    "time and its first four fifths, and over the observations on either side"
)
ALONE = (
    "onset: half of the change as drawn, where the quantity waits first; range over runs and over "
    "40 to 60 % of the change"
)


@dataclass(frozen=True)
class CourseFeatures:
    """The onsets, stages and plateaus of a course.

    Attributes:
        rule: what its onsets are; empty without onsets.
    """

    onsets: tuple[OnsetModel, ...] = ()
    rule: str = ""
    stages: tuple[StageModel, ...] = ()
    plateaus: tuple[PlateauModel, ...] = ()


def find(
    parts: Sequence[Kind],
    samples: Sequence[Sample],
    courses: Sequence[Course],
    labels: Sequence[str],
    *,
    log: bool,
    floor: float,
) -> CourseFeatures:
    """Finds the features in the courses of a claim's own runs.

    Args:
        parts: of the claim that are judged on them.
        samples: the runs.
        courses: one for each quantity.
        labels: the quantities in words.
        log: whether values are drawn logarithmically, from `floor` on.
        floor: the resolution.
    """
    ordered = next((one for one in parts if isinstance(one, OrderedOnsets)), None)
    if ordered is not None:
        return _ordered(ordered, samples, courses, labels)
    drawn = [(x, [_drawn(one, log, floor) for one in runs]) for x, runs in courses]
    onsets = tuple(
        one for place, course in enumerate(drawn) if (one := _alone(place, *course)) is not None
    )
    if not onsets:
        return CourseFeatures()
    stages = _three(*drawn[onsets[0].quantity], labels[onsets[0].quantity])
    return CourseFeatures(onsets, ALONE, stages)


def _drawn(values: NDArray[np.float64], log: bool, floor: float) -> NDArray[np.float64]:
    return np.asarray(np.log(np.maximum(values, floor)) if log else values, dtype=np.float64)


def mean_run(
    values: Sequence[NDArray[np.float64]], *, log: bool, floor: float
) -> NDArray[np.float64]:
    """The mean over runs, geometric on a logarithmic axis, as far as every run goes."""
    shared = min(len(one) for one in values)
    mean = np.mean([_drawn(one[:shared], log, floor) for one in values], axis=0)
    return np.asarray(np.exp(mean) if log else mean, dtype=np.float64)


# --- one change ---------------------------------------------------------------------------------


def _alone(
    place: int, x: Sequence[float], runs: Sequence[NDArray[np.float64]]
) -> OnsetModel | None:
    """The onset of one quantity; None if most runs do not wait for it."""
    span = max(float(v.max()) for v in runs) - min(float(v.min()) for v in runs)
    if not span:
        return None
    steps: list[float] = []
    edges: list[float] = []
    for values in (one for one in runs if len(one) > 1):
        at = [
            onset(x[: len(values)], values, share=share, least_change=LEAST_CHANGE * span)
            for share in (BEGUN, *ONSET_SHARES)
        ]
        begun, *around = [one for one in at if one is not None] or [x[0]]
        if around and begun - x[0] >= WAITS * (around[1] - x[0]) > 0:
            steps.append(around[1])
            edges += around
    if 2 * len(steps) <= len(runs):
        return None
    return _onset(place, steps, edges, len(runs))


def _onset(place: int, steps: Sequence[float], edges: Sequence[float], of: int) -> OnsetModel:
    step, low, high = rounded((median(steps), min(edges), max(edges)))
    return OnsetModel(quantity=place, step=step, low=low, high=high, came=len(steps), of=of)


def _three(
    x: Sequence[float], runs: Sequence[NDArray[np.float64]], label: str
) -> tuple[StageModel, ...]:
    """Before, during and after the change of a quantity's mean."""
    shared = min(len(one) for one in runs)
    if shared < 2:
        return ()
    mean, steps = np.mean([one[:shared] for one in runs], axis=0), list(x[:shared])
    least = 0.5 * abs(final_value(mean) - float(mean[0])) or 1.0
    ends = [onset(steps, mean, share=share, least_change=least) for share in (BEGUN, DONE)]
    if None in ends:
        return ()
    begun, done = rounded([float(end or 0.0) for end in ends])
    words = (
        f"{label} waits: less than a tenth of its change",
        f"{label} changes",
        f"{label} has settled: nine tenths of its change",
    )
    return _bands(words, (steps[0], begun, done, steps[-1]))


def _bands(words: Sequence[str], ends: Sequence[float]) -> tuple[StageModel, ...]:
    """Consecutive stages, numbered; one of no length is left out."""
    pairs = [(w, a, b) for w, a, b in zip(words, ends, ends[1:], strict=False) if b > a]
    return tuple(
        StageModel(name=name, about=about, start=start, end=end)
        for name, (about, start, end) in zip(("I", "II", "III"), pairs, strict=False)
    )


# --- ordered onsets -----------------------------------------------------------------------------


def _ordered(
    part: OrderedOnsets,
    samples: Sequence[Sample],
    courses: Sequence[Course],
    labels: Sequence[str],
) -> CourseFeatures:
    """The two onsets as the check reads them, the stages between them, and the plateau."""
    ranges, waits = [], []
    for sample in samples:
        try:
            ranges.append(part.onset_ranges(sample))
            waits.append(part.waiting(sample))
        except (MeasurementMissingError, ValueError):
            continue
    onsets = []
    for place in (0, 1):
        came = [pair[place] for pair in ranges]
        known = [one for one in came if one is not None]
        if known:
            edges = [end for _, low, high in known for end in (low, high)]
            onsets.append(_onset(place, [step for step, _, _ in known], edges, len(came)))
    plateaus: tuple[PlateauModel, ...] = ()
    if waits:
        level = sum(one.level for one in waits) / len(waits)
        until = median([one.until for one in waits])
        last = rounded((level, until))
        plateaus = (PlateauModel(quantity=1, level=last[0], until=last[1]),)
    steps = courses[0][0]
    stages: tuple[StageModel, ...] = ()
    if len(onsets) == 2 and len(labels) == 2 and onsets[0].step < onsets[1].step:
        first, second = labels
        words = ("neither has changed", f"{first} has, {second} waits", "both have changed")
        stages = _bands(words, (steps[0], onsets[0].step, onsets[1].step, steps[-1]))
    return CourseFeatures(tuple(onsets), ORDERED if onsets else "", stages, plateaus)


def declared_stages(
    audit: Audit,
    experiment: str,
    settings: Mapping[str, SettingValue],
    steps: Sequence[float | str],
) -> tuple[StageModel, ...]:
    """The stages that the audit declares for an experiment, where a series spans all of them.

    A single one divides nothing, and is not drawn.
    """
    ends, found = 0.0, []
    for place, one in enumerate(audit.experiments[experiment].stages):
        value = settings[one.steps]
        length = value[place] if isinstance(value, tuple | list) else value
        if not isinstance(length, int | float):
            return ()
        found.append(StageModel(name=one.name, about=one.about, start=ends, end=ends + length))
        ends += length
    return tuple(found) if len(found) > 1 and steps[-1] == ends else ()


# --- curves and laws ----------------------------------------------------------------------------


def followed(part: Follows, samples: Sequence[Sample]) -> Iterator[RangeModel]:
    """The curve that a quantity should follow, as wide as the check allows."""
    if part.curve is not None:
        x, curve = (np.asarray(one) for one in zip(*part.curve, strict=True))
    else:
        assert part.reference is not None, "refused by Follows"
        try:
            series = [sample.series(part.reference) for sample in samples]
        except MeasurementMissingError:
            return
        shared = min(series, key=lambda one: len(one.steps)).steps
        alike = [one.values for one in series if one.steps == shared]
        x, curve = np.asarray(shared), np.mean(alike, axis=0)
    if part.distance == "difference":
        low, high = curve - part.at_most, curve + part.at_most
    else:
        low, high = curve / (1 + part.at_most), curve * (1 + part.at_most)
    ends = {"low": rounded(low), "high": rounded(high)}
    yield RangeModel(quantity=0, about=f"{part.name}: the curve", x=rounded(x), **ends)


def law(part: GrowsLike, steps: Sequence[float], mean: NDArray[np.float64]) -> RangeModel:
    """The claimed law, fitted to the mean over the late part of training."""
    at = np.asarray(steps[: len(mean)], dtype=np.float64)
    late = (at > 0) & (at >= at[0] + part.since * (at[-1] - at[0]))
    x = at[late]
    along = np.log(x) if part.exponent is None else x**part.exponent
    middle, slope = np.polynomial.polynomial.polyfit(along, mean[late], 1)
    curve = rounded(middle + slope * along)
    words = "a logarithm" if part.exponent is None else f"a power {part.exponent:g}"
    about = f"{words} of the steps, fitted to the mean"
    return RangeModel(quantity=0, about=about, x=rounded(x), low=curve, high=curve)


def power_law(part: ScalesLike, sizes: Sequence[float], mean: NDArray[np.float64]) -> RangeModel:
    """The claimed power of the sizes through the middle of the mean, as wide as it may bend."""
    at = np.asarray(sizes, dtype=np.float64)
    middle = np.exp(np.mean(np.log(np.maximum(mean, part.floor)) - part.exponent * np.log(at)))
    curve = middle * at**part.exponent
    return RangeModel(
        quantity=0,
        about=f"power {part.exponent:g} of the size",
        x=rounded(at),
        low=rounded(curve / (1 + part.bend)),
        high=rounded(curve * (1 + part.bend)),
    )
