"""Builds the pictures of a claim from its records: what is judged, with its control beside it.

Each check is drawn where it looks: a series over training, an array over the axis that the check
goes along, or over the axis of numbers that it picks one coordinate of. Checks that read the same
quantities share a picture. A check of a single number needs no picture of its own: there the runs
stand as points against the bound (`reproaudit.reports.interval_plot`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Role
from reproaudit.checks.follows import Follows
from reproaudit.checks.grows_like import GrowsLike
from reproaudit.checks.kind import Kind
from reproaudit.checks.quantities import Quantity
from reproaudit.declarations import Coordinate, MeasurementMissingError
from reproaudit.checks.ordered_onsets import OrderedOnsets
from reproaudit.checks.scales_like import ScalesLike
from reproaudit.judging.verdict import ClaimOutcome
from reproaudit.scorecard import stages as stages_of
from reproaudit.scorecard.pictures import (
    EARLY,
    HIDDEN,
    STAGES_ASK,
    LineModel,
    OnsetModel,
    PictureModel,
    RangeModel,
    StageModel,
    kept,
    rounded,
    setting_out,
    stages_ask_for_log,
)
from reproaudit.scorecard.subjects import (
    PartGroup,
    Runners,
    Subject,
    along,
    expanded,
    runners,
    subject_of,
)
from reproaudit.stats import Scale

WIDE = 10.0
"""Values are drawn logarithmically from this ratio on, if the check judges them so."""
MOST_PICTURES = 8
"""A claim of many parts is drawn by its first ones and the one that decides it."""


@dataclass(frozen=True)
class _Runs:
    """A quantity in a batch, in full: x of the longest run, and the values of each."""

    x: tuple[float | str, ...]
    values: list[NDArray[np.float64]]
    seeds: tuple[int, ...]


def build_pictures(audit: Audit, outcome: ClaimOutcome) -> tuple[PictureModel, ...]:
    """The pictures of a claim; none if no run of it can be drawn."""
    own = runners(audit, outcome.own, outcome.claim.checks)
    if not own.samples:
        return ()
    several = len(outcome.controls) > 1
    others = [
        runners(audit, one, outcome.claim.checks, number if several else None)
        for number, one in enumerate(outcome.controls, start=1)
    ]
    if outcome.positive is not None:
        others.append(runners(audit, outcome.positive, outcome.claim.checks))
    groups: dict[tuple[object, ...], PartGroup] = {}
    for index, part in expanded(own):
        subject = subject_of(own, index, part)
        if subject is not None:
            group = groups.setdefault(subject.key, PartGroup(subject))
            group.indices.append(index)
            group.parts.append(part)
    deciding = outcome.own.deciding_part
    drawn = list(groups.values())
    if len(drawn) > MOST_PICTURES:
        first = [g for g in drawn if deciding and deciding.name in {p.name for p in g.parts}]
        drawn = [g for g in drawn if g in first or drawn.index(g) < MOST_PICTURES - len(first)]
    found = [_picture(audit, own, others, group) for group in drawn]
    alike = [one for one in found if one is not None and one.kind == "course"]
    if any(one.x_scale == "log" for one in alike) and any(one.x_scale != "log" for one in alike):
        found = [_picture(audit, own, others, group, with_log=True) for group in drawn]
    return tuple(one for one in found if one is not None)


# --- a picture ----------------------------------------------------------------------------------


def _picture(
    audit: Audit,
    own: Runners,
    others: Sequence[Runners],
    group: PartGroup,
    *,
    with_log: bool = False,
) -> PictureModel | None:
    """One picture; `with_log` where another one of the claim has a logarithmic time axis."""
    subject = group.subject
    mine = [_runs(own, q, subject.axis) for q in subject.quantities]
    if any(one is None for one in mine):
        return None
    runs = [one for one in mine if one is not None]
    part = group.parts[0]
    floor = max(one.floor for one in group.parts)
    beside = [one for other in others for one in _other_lines(other, group, runs, False)]
    y_log = _y_is_log(group, runs, beside, floor)
    declared = own.samples[0].declarations
    declarations = [declared[q.measurement] for q in subject.quantities]
    found = stages_of.CourseFeatures()
    if subject.axis is None:
        labels = [_words(one) for one in subject.quantities]
        course = [([float(v) for v in one.x], one.values) for one in runs]
        found = stages_of.find(group.parts, own.samples, course, labels, log=y_log, floor=floor)
        batch, settings = own.outcome.batch, own.samples[0].settings
        declared_ones = stages_of.declared_stages(audit, batch.experiment, settings, course[0][0])
        stages = declared_ones or found.stages
        x_log, why = _time_is_log(group.parts, runs, found.onsets, declared_ones)
        if with_log and not x_log and not declared_ones:
            x_log, why = True, "as in the claim's other pictures"
        x_scale: Literal["linear", "log", "words"] = "log" if x_log else "linear"
        x_label = "training step"
    else:
        x_label = subject.axis.replace("_", " ")
        x_scale, why = _axis_scale(part, runs[0].x)
        x_log, stages = False, ()
    lines = [
        line
        for place, one in enumerate(runs)
        for line in [_line(own, subject.quantities[place], place, one, x_log)]
    ]
    for other in others:
        lines += _other_lines(other, group, runs, x_log)
    units = {one.unit for one in declarations} - {"1"}
    return PictureModel(
        kind="course" if subject.axis is None else "sizes",
        parts=tuple(dict.fromkeys(one.name for one in group.parts)),
        x_label=x_label,
        x_scale=x_scale,
        x_why=why,
        y_label=_y_label(subject),
        unit=", ".join(sorted(units)),
        y_scale="log" if y_log else "linear",
        floor=floor,
        meanings=tuple(dict.fromkeys(one.meaning for one in declarations)),
        lines=tuple(lines),
        ranges=tuple(_ranges(own, group, runs, log=y_log)),
        onsets=found.onsets,
        onset_rule=found.rule,
        stages=stages,
        plateaus=found.plateaus,
        judged=_judged(group, runs[0].x),
        observed=max(len(one.x) for one in runs),
    )


def _words(quantity: Quantity) -> str:
    words = [quantity.measurement, *(f"{axis} {one}" for axis, one in quantity.at.items())]
    return ", ".join(words).replace("_", " ")


def _y_label(subject: Subject) -> str:
    if len(subject.quantities) == 1:
        return _words(subject.quantities[0])
    names = dict.fromkeys(q.measurement.replace("_", " ") for q in subject.quantities)
    return " and ".join(names)


def _runs(batch: Runners, quantity: Quantity, axis: str | None) -> _Runs | None:
    """A quantity in every run of a batch; None where no run measured it."""
    found: list[tuple[int, tuple[float | str, ...], NDArray[np.float64]]] = []
    for sample in batch.samples:
        try:
            if axis is None:
                series = sample.series(quantity)
                found.append((sample.seed, tuple(map(float, series.steps)), series.values))
            else:
                along = sample.coordinates(quantity, axis)
                values = [sample.number(quantity.placed(axis, one)) for one in along]
                x = tuple(one if isinstance(one, str) else float(one) for one in along)
                found.append((sample.seed, x, np.asarray(values, dtype=np.float64)))
        except MeasurementMissingError:
            continue
    if not found:
        return None
    x = max((x for _, x, _ in found), key=len)
    seeds = tuple(seed for seed, _, _ in found)
    if all(one == x[: len(one)] for _, one, _ in found):
        return _Runs(x, [values for _, _, values in found], seeds)
    return _on_one_grid([(one, values) for _, one, values in found], seeds)


def _on_one_grid(
    found: Sequence[tuple[tuple[float | str, ...], NDArray[np.float64]]], seeds: tuple[int, ...]
) -> _Runs | None:
    """Runs observed at other steps, at all of them where every run is known, by straight lines."""
    if any(isinstance(one, str) for x, _ in found for one in x):
        return None
    grids = [np.asarray(x, dtype=np.float64) for x, _ in found]
    low, high = max(g[0] for g in grids), min(g[-1] for g in grids)
    every = np.unique(np.concatenate(grids))
    grid = every[(every >= low) & (every <= high)]
    if grid.size < 2:
        return None
    values = [np.interp(grid, g, v) for g, (_, v) in zip(grids, found, strict=True)]
    return _Runs(tuple(map(float, grid)), values, seeds)


def _line(batch: Runners, quantity: Quantity, place: int, runs: _Runs, x_log: bool) -> LineModel:
    numbers = [one for one in runs.x if not isinstance(one, str)]
    is_course = len(numbers) == len(runs.x) and len(numbers) > 1 and numbers == sorted(numbers)
    keep = kept(numbers, runs.values, log=x_log) if is_course else list(range(len(runs.x)))
    return LineModel(
        label=_words(quantity),
        role=batch.outcome.role,
        control=batch.number,
        name=batch.outcome.name,
        quantity=place,
        x=tuple(runs.x[i] for i in keep),
        seeds=runs.seeds,
        runs=tuple(rounded(run[[i for i in keep if i < len(run)]]) for run in runs.values),
    )


def _other_lines(
    batch: Runners, group: PartGroup, own: Sequence[_Runs], x_log: bool
) -> Iterator[LineModel]:
    """The same of a control, if it is the ablation of a part here, or of the constructed solution.

    Nothing is drawn twice: a control that only reads another measurement shares the rest.
    """
    ablations = {part.ablation for part in group.parts}
    is_ablation = None in ablations or batch.outcome.name in ablations
    if not batch.samples or (batch.outcome.role is Role.CONTROL and not is_ablation):
        return
    for index, part in expanded(batch):
        named = part.name in {one.name for one in group.parts}
        if index not in group.indices or not named:
            continue
        subject = subject_of(batch, index, part)
        if subject is None or subject.axis != group.subject.axis:
            return
        for place, quantity in enumerate(subject.quantities[: len(own)]):
            runs = _runs(batch, quantity, subject.axis)
            if runs is not None and not any(_same(runs, one) for one in own):
                yield _line(batch, quantity, place, runs, x_log)
        return


def _same(one: _Runs, other: _Runs) -> bool:
    pairs = zip(one.values, other.values, strict=False)
    return one.seeds == other.seeds and all(np.array_equal(a, b) for a, b in pairs)


# --- scales -------------------------------------------------------------------------------------


def _y_is_log(
    group: PartGroup, runs: Sequence[_Runs], beside: Sequence[LineModel], floor: float
) -> bool:
    """True if values are drawn logarithmically: as the check judges them, if they span enough."""
    found = [v for one in runs for v in one.values]
    found += [np.asarray(run) for line in beside for run in line.runs]
    values = np.concatenate(found)
    if float(values.min()) < -floor or not any(_judges_logs(part) for part in group.parts):
        return False
    return float(values.max()) >= WIDE * max(float(values.min()), floor)


def _judges_logs(part: Kind) -> bool:
    if isinstance(part, OrderedOnsets | GrowsLike):
        return False
    if isinstance(part, Follows):
        return part.distance == "relative"
    return isinstance(part, ScalesLike) or part.conditions()[0].scale is Scale.LOG


def _time_is_log(
    parts: Sequence[Kind],
    runs: Sequence[_Runs],
    onsets: Sequence[OnsetModel],
    declared: Sequence[StageModel],
) -> tuple[bool, str]:
    """True if the time axis is logarithmic, and the reason; declared stages are to have room."""
    steps = [float(one) for one in runs[0].x if not isinstance(one, str)]
    span = steps[-1] - steps[0]
    if sum(step > 0 for step in steps) < 2 or not span:
        return False, ""
    if any(isinstance(part, GrowsLike) and part.law == "logarithm" for part in parts):
        return True, "the claimed law is a straight line on it"
    events = [("an onset comes", one.low if one.low > 0 else one.step) for one in onsets]
    if not events:
        means = [stages_of.mean_run(one.values, log=False, floor=0.0) for one in runs]
        events = [("a quarter of the change has come", setting_out(steps, one)) for one in means]
    what, first = min(events, key=lambda event: event[1])
    share, words = (HIDDEN, "hundredth") if declared else (EARLY, "tenth")
    if first <= steps[0] + share * span:  # it would vanish on a linear axis
        return True, f"{what} within the first {words} of the steps"
    if declared and stages_ask_for_log(steps, declared):
        return True, STAGES_ASK
    return False, f"nothing comes within the first {words} of the steps"


def _axis_scale(
    part: Kind, x: Sequence[float | str]
) -> tuple[Literal["linear", "log", "words"], str]:
    numbers = [one for one in x if not isinstance(one, str)]
    if len(numbers) < len(x):
        return "words", ""
    if min(numbers) > 0 and (isinstance(part, ScalesLike) or max(numbers) / min(numbers) >= WIDE):
        return "log", "the sizes span a factor of ten or a power of them is claimed"
    return "linear", ""


# --- what it is held to -------------------------------------------------------------------------


def _judged(group: PartGroup, x: Sequence[float | str]) -> tuple[float | str, ...]:
    """The coordinates of an axis that are judged; empty if all are."""
    axis = group.subject.axis
    if axis is None or any(part.spans() for part in group.parts):
        return ()
    at = {q.at[axis] for part in group.parts for q in part.quantities() if axis in q.at}
    found = tuple(one for one in x if one in at)
    return () if len(found) == len(x) else found


def _ranges(
    own: Runners, group: PartGroup, runs: Sequence[_Runs], *, log: bool
) -> Iterator[RangeModel]:
    """The ranges that the check demands: bounds, targets, curves and laws; equal ones once."""
    seen: set[tuple[object, ...]] = set()
    for part in group.parts:
        for one in _ranges_of(own, part, group, runs, log):
            key = (one.quantity, one.x, one.low, one.high)
            if key not in seen:
                seen.add(key)
                yield one


def _ranges_of(
    own: Runners, part: Kind, group: PartGroup, runs: Sequence[_Runs], log: bool
) -> Iterator[RangeModel]:
    x = [one for one in runs[0].x if not isinstance(one, str)]
    mean = stages_of.mean_run(runs[0].values, log=log, floor=part.floor)
    if isinstance(part, Follows):
        yield from stages_of.followed(part, own.samples)
    elif isinstance(part, GrowsLike):
        yield stages_of.law(part, x, mean)
    elif isinstance(part, ScalesLike):
        yield stages_of.power_law(part, x, mean)
    axis = group.subject.axis
    if axis is None:
        yield from _range(own, [part], (), group, log)
        return
    if isinstance(part, ScalesLike) or part is not _first_of(group, part):
        return
    copies = [
        _placed(part, axis, one) for one in own.samples[0].coordinates(part.quantities()[0], axis)
    ]
    yield from _range(own, copies, runs[0].x, group, log)


def _first_of(group: PartGroup, part: Kind) -> Kind:
    """The first of the parts that differ in their coordinate alone."""
    index = group.indices[group.parts.index(part)]
    return group.parts[group.indices.index(index)]


def _placed(part: Kind, axis: str, coordinate: Coordinate) -> Kind:
    fields = part.by_field().items()
    placed = {name: one.placed(axis, coordinate) for name, one in fields if axis in one.at}
    return part.model_copy(update=placed)


def _range(
    own: Runners, parts: Sequence[Kind], x: Sequence[float | str], group: PartGroup, log: bool
) -> Iterator[RangeModel]:
    """The mean over the runs of the range that meets a part, at each coordinate."""
    low: list[float | None] = []
    high: list[float | None] = []
    place, varies = None, False
    for part in parts:
        ends: list[tuple[float, float]] = []
        for sample in own.samples:
            try:
                goal = part.goal(sample)
            except (MeasurementMissingError, ValueError):
                continue
            if goal is None:
                return
            named = along(goal[0], group.subject.axis)
            if named not in group.subject.quantities:
                return
            place = group.subject.quantities.index(named)
            if goal[0].step == "first" and not x:
                x = (float(sample.series(named).steps[0]),)
            ends.append(goal[1])
        if not ends:
            return
        varies = varies or len(set(ends)) > 1
        low.append(_mean([one for one, _ in ends], log))
        high.append(_mean([one for _, one in ends], log))
    if place is not None and (any(v is not None for v in (*low, *high))):
        yield RangeModel(
            quantity=place,
            about=parts[0].name,
            x=tuple(x),
            low=tuple(low),
            high=tuple(high),
            varies=varies,
        )


def _mean(values: Sequence[float], log: bool) -> float | None:
    if not all(map(math.isfinite, values)):
        return None
    if log and min(values) > 0:
        return float(f"{math.exp(sum(map(math.log, values)) / len(values)):.6g}")
    return float(f"{sum(values) / len(values):.6g}")
