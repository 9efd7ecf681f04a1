"""A declared measurement out of a run's curves, and why these may not be whole."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.audit.model import Audit
from reproaudit.cell import SettingValue
from reproaudit.declarations import Coordinate, Declaration, MeasurementKind
from reproaudit.errors import did_you_mean
from reproaudit.formats.numbers import counted
from reproaudit.logs.logged import (
    NOWHERE,
    Curve,
    LogError,
    LoggedCoordinates,
    LoggedRun,
    MisfitError,
    coordinates_of,
    is_course,
    number_of,
    some,
)
from reproaudit.logs.mapping import ExpressionError, LoggedQuantity, evaluate
from reproaudit.logs.names import counts_items, is_length, says_percent
from reproaudit.records import Measurements, Series

REGULAR = 0.75  # the share of equal distances from which steps count as evenly spaced
FEWEST_OBSERVED = 0.1  # the share of coordinates that have to be observed
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


class _AbsentError(LookupError):
    """A tag without a number; its text is empty if the run has the tag."""


@dataclass(frozen=True)
class Measured:
    """A measurement of one run.

    Attributes:
        curve: its values have the shape (step, *axes) of a series, else (*axes), without steps;
            masked where nothing was observed.
        tags: the tags that were read.
        gaps: why their curves may not be whole.
        steps: those of its curve; of a number made of series by their end, those of the series.
        emptied: the steps of the empty cells after their last numbers.
        remarks: what a number made of series passes over, in sentences.
        percent: whether it was logged in per cent, as a sign or a name says; a formula that
            computes may have settled that itself.
    """

    curve: Curve
    tags: frozenset[str]
    gaps: tuple[str, ...]
    steps: frozenset[int]
    emptied: frozenset[int]
    remarks: tuple[str, ...]
    percent: bool


def measure(
    run: LoggedRun,
    settings: Mapping[str, SettingValue],
    name: str,
    declaration: Declaration,
    quantity: LoggedQuantity,
) -> Measured | None:
    """Make a measurement of a run with its settings; None if it has none of the tags it needs."""
    place = f"{run.name}, measurement '{name}'"
    names = [axis.name for axis in declaration.axes]
    coordinates = [axis.coordinates(settings) for axis in declaration.axes]
    offer = f"mapping: {{{name}: {quantity.last}}}"
    way = f"`{offer}`"
    ends = [
        tag for tag in run.tags if tag.endswith(f".{quantity.tag}") and not run.last_step([tag])
    ]
    if ends:
        offer = ""
        beside = f"`mapping: {{{name}: {json.dumps(max(ends))}}}`"
        way = f"{beside}, of the file beside it, as of the best checkpoint, or by {way}"
    is_one = declaration.kind is MeasurementKind.SCALAR and quantity.tag is not None
    reader = _CurveReader(run, f" The last of them is {way}." if is_one else "")
    values: list[Curve | None] = []
    absent = ""
    for at in itertools.product(*coordinates):
        try:
            values.append(reader.value(quantity, dict(zip(names, at, strict=True)), place))
        except _AbsentError as error:
            values.append(None)
            absent = str(error) or absent
    unused = set(names) - reader.axes
    if not any(values) or (unused and quantity.expression is None):
        return None
    if unused:
        text = f"found no {{{unused.pop()}}} in it; expected its tags to depend on every axis of"
        raise LogError(f"{place}, expression", f"{text} the measurement.")
    if absent:
        raise LogError(place, f"found no '{absent}', though others are there; expected it.")
    config = {} if run.early else run.config
    gaps = [
        f"'{tag}': {gap}"
        for (tag, _), own in reader.read.items()
        for gap in _gaps_in(own, config, run.step)
    ]
    made = _stacked(values, declaration, tuple(map(len, coordinates)), place, way, offer)
    courses = [made, *(reader.read.values() if quantity.is_of_end else ())]
    return Measured(
        made,
        frozenset(tag for tag, _ in reader.read),
        tuple(dict.fromkeys(gaps)),
        frozenset[int]().union(*(course.all_steps for course in courses)),
        frozenset(step for curve in reader.read.values() for step in curve.emptied),
        tuple(_passed_over(made, reader.read, quantity)),
        not quantity.computes
        and any(curve.percent or says_percent(tag) for (tag, _), curve in reader.read.items()),
    )


def _passed_over(
    made: Curve, curves: Mapping[tuple[str, LoggedCoordinates], Curve], quantity: LoggedQuantity
) -> Iterator[str]:
    """Yield what is not finite in series of which a finite number was made."""
    if made.steps is not None or not np.isfinite(made.values).all():
        return
    for (tag, _), curve in curves.items():
        wrong = np.flatnonzero(~np.isfinite(curve.values))
        if curve.steps is not None and wrong.size:
            where = f"'{tag}' is {curve.values[wrong[0]]} at step {curve.steps[wrong[0]]}"
            more = f" and not finite at {wrong.size - 1} more" if wrong.size > 1 else ""
            yield f"{where}{more}, which {quantity.formula} passes over"


def axis_places(
    declared: Iterable[Declaration], settings: Mapping[str, SettingValue]
) -> LoggedCoordinates:
    """Return every place along the axes of some measurements."""
    axes = [axis for declaration in declared for axis in declaration.axes]
    every = (coordinates_of({axis.name: at}) for axis in axes for at in axis.coordinates(settings))
    return NOWHERE.union(*every)


def off_axes(
    run: LoggedRun, templates: Iterable[str], places: LoggedCoordinates
) -> Counter[tuple[str, str]]:
    """Count the numbers of a run that lie at other places, by axis and coordinate."""
    counts = Counter[tuple[str, str]]()
    for of_tag, tag in (each for one in templates for each in _tags_at(one, run.curves).items()):
        for at, curve in run.curves[tag].items():
            for axis, place in (of_tag | at) - places:
                called = place if isinstance(place, str) else f"{place:g}"
                counts[axis, called] += len(curve.values)
    return +counts


def _tags_at(template: str, tags: Collection[str]) -> dict[LoggedCoordinates, str]:
    """Return the tags that a template stands for, by the coordinates in the places of its axes."""
    axes = _PLACEHOLDER.findall(template)
    if not axes:
        return {NOWHERE: template} if template in tags else {}
    pattern = re.compile("(.+?)".join(map(re.escape, _PLACEHOLDER.split(template)[::2])))
    matches = {tag: pattern.fullmatch(tag) for tag in tags}
    return {
        coordinates_of(dict(zip(axes, matched.groups(), strict=True))): tag
        for tag, matched in matches.items()
        if matched is not None
    }


def off_axes_words(counts: Counter[tuple[str, str]]) -> Iterator[str]:
    """Yield what is said of numbers that lie at no coordinate of an axis."""
    for axis in dict.fromkeys(axis for axis, _ in counts):
        own = sorted((at, count) for (other, at), count in counts.items() if other == axis)
        listed = [f"{at} ({counted(count, 'number')})" for at, count in own]
        yield f"Not in the audit's axis '{axis}', and not used: {some(listed)}."


class _CurveReader:
    """Reads curves of one run; `read` has those that were, `axes` what they depend on."""

    def __init__(self, run: LoggedRun, of_series: str) -> None:
        self._run = run
        self._of_series = of_series
        self.read: dict[tuple[str, LoggedCoordinates], Curve] = {}
        self.axes: set[str] = set()
        self._tags: dict[str, dict[LoggedCoordinates, str]] = {}

    def value(self, quantity: LoggedQuantity, at: Mapping[str, Coordinate], place: str) -> Curve:
        if quantity.expression is None:
            return self._logged(quantity.tag or "", at)
        try:
            return evaluate(
                quantity.expression, lambda name: self._logged(quantity.let.get(name, name), at)
            )
        except ExpressionError as error:
            text = f"found {error}; expected a formula as docs/import.md describes it."
            raise LogError(f"{place}, expression", text) from None

    def _tag(
        self, template: str, at: Mapping[str, Coordinate]
    ) -> tuple[str, dict[str, Coordinate]]:
        """Return the tag with these coordinates (``sv/1`` is at 1.0), and those without a place."""
        axes = _PLACEHOLDER.findall(template)
        for axis in axes:
            if axis not in at:
                text = f"found the unknown axis {{{axis}}}. {did_you_mean(axis, at)}"
                raise LogError(f"mapping: '{template}'", text)
        filled = _PLACEHOLDER.sub(lambda matched: str(at[matched.group(1)]), template)
        rest = {axis: coordinate for axis, coordinate in at.items() if axis not in axes}
        if filled == template or filled in self._run.curves:
            return filled, rest
        if template not in self._tags:
            self._tags[template] = _tags_at(template, self._run.curves)
        own = coordinates_of({axis: at[axis] for axis in axes})
        return self._tags[template].get(own, filled), rest

    def _logged(self, template: str, at: Mapping[str, Coordinate]) -> Curve:
        tag, rest = self._tag(template, at)
        curves = self._run.curves.get(tag, {})
        axes = {axis for have in itertools.islice(curves, 1) for axis, _ in have}
        if axes - set(rest):
            first = ", ".join(
                f"{axis} {coordinate}" for axis, coordinate in sorted(next(iter(curves)))
            )
            text = f"found numbers at {first}; expected a measurement with this axis."
            raise LogError(f"{self._run.name}, tag '{tag}'", text)
        own = coordinates_of({axis: rest[axis] for axis in axes})
        curve = curves.get(own)
        if curve is None:
            where = ", ".join(f"{axis} {coordinate}" for axis, coordinate in rest.items())
            raise _AbsentError(f"{tag} at {where}" if rest else tag)
        place = f"{curve.place}, tag '{tag}'"
        if curve.fault is not None:
            last = self._of_series if curve.steps is None and is_course([*curve.values]) else ""
            if curve.is_text:
                rule = f'runs: [{{match: "{self._run.name}", status: crashed}}]'
                last = f" If the run failed, say so in a mapping: `{rule}`; else leave it empty."
            raise LogError(place, f"{curve.fault}.{last}", *curve.offers)
        if curve.steps is not None and curve.steps[0] < 0:
            raise LogError(place, f"found the step {curve.steps[0]}; expected none below 0.")
        if not len(curve.values):
            raise _AbsentError
        self.read[tag, own] = curve
        self.axes |= axes | (set(at) - set(rest))
        return curve if curve.steps is not None else replace(curve, values=curve.values[-1])


def _gaps_in(curve: Curve, config: Mapping[str, Any], counter: str | None) -> list[str]:
    """Tell in words why a curve may not be whole: a late begin, a gap, an end that is too early.

    `counter` is the column of its steps. An end in epochs is not too early after a patience, and
    steps that are not evenly spaced (1, 2, 4, 8 …) say nothing of what is left out.
    """
    steps = curve.steps
    if steps is None or len(steps) < 2 or counts_items(counter):
        return []
    distances = np.diff(steps)
    lengths, counts = np.unique(distances, return_counts=True)
    usual = int(lengths[counts.argmax()])
    wide = np.flatnonzero(distances > 1.5 * usual)
    regular = len(steps) >= 5 and counts.max() >= REGULAR * len(distances)
    reasons = []
    if regular and steps[0] >= 2 * usual:
        reasons.append(f"it begins at step {steps[0]}, and its steps are {usual} apart")
    if regular and wide.size:
        missing = int(sum(round(int(distances[gap]) / usual) - 1 for gap in wide))
        first, after = steps[wide[0] : wide[0] + 2]
        gap = f"after step {first} (every {usual} steps before, then step {after})"
        reasons.append(f"{missing} of its steps are missing, the first {gap}")
    waits = [number_of(value) for name, value in config.items() if name.endswith("patience")]
    waited = any(wait is not None and wait <= steps[-1] for wait in waits)
    for name, value in config.items():
        number = number_of(value) or 0.0
        if number > 0 and is_length(name, None if waited else counter):
            end = end_beside([steps], number)
            if end is not None and end < number:
                found_end = f"it ends at step {end}, and the configuration says {name} = {value}"
                return [*reasons, found_end]
    return reasons


def stated_length(
    audit: Audit, experiment: str, settings: Mapping[str, SettingValue]
) -> float | None:
    """Return the steps of training that a run's settings state; None if they state none.

    Where the audit divides the training into stages, these together; else the setting `steps`.
    """
    values: list[SettingValue | None] = []
    for index, stage in enumerate(audit.experiments[experiment].stages):
        value = settings[stage.steps]
        each = value if isinstance(value, tuple) else (value,) * (index + 1)
        values.append(each[index] if index < len(each) else None)
    values = values or [settings.get("steps")]
    numbers = [value for value in values if type(value) in (int, float)]
    return sum(numbers) if len(numbers) == len(values) else None  # type: ignore[arg-type]


def end_beside(series: Iterable[Sequence[int] | NDArray[np.int64]], length: float) -> int | None:
    """Return the last step of series that did not go through so many; None if they may have.

    A series may stop short of the length by the widest distance between two of its steps.
    """
    ends = [
        (int(steps.max()), int(np.abs(np.diff(steps)).max(initial=1)))
        for steps in map(np.asarray, series)
        if len(steps)
    ]
    last, widest = max(ends, default=(0, 0))
    return last if ends and (last > length or last + widest < length) else None


def _stacked(
    curves: Sequence[Curve | None],
    declaration: Declaration,
    shape: tuple[int, ...],
    place: str,
    way: str,
    offer: str,
) -> Curve:
    """Return numbers as they are declared; `way` and its line `offer` make one of a series."""
    observed = [curve for curve in curves if curve is not None]
    first = observed[0]
    if declaration.kind is not MeasurementKind.SERIES:
        longest = max(curve.values.size for curve in observed)
        if longest > 1:
            text = f"found {longest} steps; expected one number, as it is no series. Say which, as"
            text = f"{text} by {way}, or with first, mean, max or min."
            raise MisfitError(place, text, *filter(None, [offer]))
        first = replace(first, steps=None, values=first.values.reshape(()))
    elif first.steps is None:
        text = "found a single number without a step; expected a series over steps. If the number"
        once = "at the end is meant, write `once: []` for `every_step: []` in the audit"
        raise MisfitError(place, f"{text} {once}; the best so far is cummax(…) or cummin(…).")
    else:
        for other in observed[1:]:
            steps = np.array([]) if other.steps is None else other.steps
            if not np.array_equal(first.steps, steps):
                odd = np.setxor1d(first.steps, steps)[0]
                text = f"found coordinates with different steps, as step {odd:g}; expected the same"
                raise LogError(place, f"{text} steps at every coordinate.")
    if len(observed) < FEWEST_OBSERVED * len(curves):
        fault = f"found numbers at {len(observed)} of {len(curves):,} coordinates"
        raise LogError(place, f"{fault}; expected at least a tenth.")
    values = np.full((*first.values.shape, len(curves)), np.nan)
    for position, curve in enumerate(curves):
        if curve is not None:
            values[..., position] = curve.values.reshape(first.values.shape)
    if len(observed) < len(curves):
        absent = np.array([curve is None for curve in curves])
        values = np.ma.MaskedArray(values, np.broadcast_to(absent, values.shape))
    return Curve(place, first.steps, values.reshape((*first.values.shape, *shape)))


def measurements_of(
    declared: Mapping[str, Declaration], curves: Mapping[str, Curve]
) -> Measurements:
    """Return measurements of one run as records hold them, NaN where nothing was observed."""
    kinds: dict[MeasurementKind, dict[str, Any]] = {kind: {} for kind in MeasurementKind}
    for name, curve in curves.items():
        made: Any = np.ma.filled(curve.values, np.nan)
        if curve.steps is not None:
            made = Series(steps=tuple(curve.steps.tolist()), values=made)
        kinds[declared[name].kind][name] = made
    return Measurements(
        scalars={name: float(value) for name, value in kinds[MeasurementKind.SCALAR].items()},
        series=kinds[MeasurementKind.SERIES],
        arrays=kinds[MeasurementKind.ARRAY],
    )
