"""A run as a check sees it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from reproaudit.declarations import (
    Axis,
    Coordinate,
    Declaration,
    MeasurementKind,
    MeasurementMissingError,
    Quantity,
    Reduction,
    beyond_range,
    misfit,
    placement,
    values_of,
)
from reproaudit.lazy import FloatArray, np
from reproaudit.stats.onsets import (
    FEWEST_AT_END,
    Passage,
    Start,
    first_passage,
    late_mean,
    start_of,
)

if TYPE_CHECKING:
    from reproaudit import records


BEGINNING = 0.01  # The part of training in which a log begins that shows its start
LAST_TENTH = 0.1  # The part of training whose median an end is held against
FEWEST_OF_COURSE = 5  # The fewest observations of a course that has an end other than its last


class Censored(StrEnum):
    """What is known of a number of which a limit alone is known: on which side of it it lies."""

    AT_LEAST = "at least"
    AT_MOST = "at most"


class Begins(Enum):
    """What is read as the start of a course."""

    AS_LOGGED = "as logged"
    WITHOUT_ARTEFACT = "without artefact"
    """The second observation, where the first is an artefact (`Start.ARTEFACT`)."""
    ALIKE = "alike"
    """The second observation, where the first lies apart from all that follow (`Start`)."""


class PassedAt(Enum):
    """Where between two observations a course passes its level; of a comparison, which end."""

    STRAIGHT = "straight"
    """On the straight line between them; the number is then the likeliest."""
    LEAST = "least"
    """So that the number is the least that it can be."""
    MOST = "most"
    """So that the number is the largest that it can be."""


_OTHER_END = {
    PassedAt.STRAIGHT: PassedAt.STRAIGHT,
    PassedAt.LEAST: PassedAt.MOST,
    PassedAt.MOST: PassedAt.LEAST,
}


Course: TypeAlias = tuple[tuple[int, ...], FloatArray]
"""The steps of a series, and its values of shape (step, coordinate)."""


@dataclass(frozen=True, eq=False)
class Run:
    """The measurements of one run, with their declarations and settings, as a check reads them.

    Whatever reads a quantity raises a MeasurementMissingError where the run has no such
    measurement, series, axis, coordinate or arm.

    Attributes:
        reads: measurements that are read in place of others: of a control with a wrong reference.
        at: coordinates at which every measurement that has the axis is read.
        others: the runs of other arms with the same seed, by the arm's name.
        built: whether its solution was built by hand, and is there before training.
        control: whether it lacks what the claim says is needed, and has to fail.
        settled: whether the median over the end of a course is read in place of its last value, or
            of the mean of its late part.
        begins: which observation is read as the start of a course, in all arms.
        passes: where between two observations a course passes its level, in all arms.
        groups: of arms that are compared as a group, all runs, by the arm's name; None for one
            that diverged or crashed. What is read in such an arm is the median of its runs.
        is_partial: whether measurements are NaN at coordinates that were not observed.
    """

    seed: int
    measurements: records.Measurements
    declarations: Mapping[str, Declaration]
    settings: Mapping[str, Any]
    reads: Mapping[str, str] = field(default_factory=dict)
    at: Mapping[str, Coordinate] = field(default_factory=dict)
    others: Mapping[str, Run] = field(default_factory=dict)
    built: bool = False
    control: bool = False
    settled: bool = False
    begins: Begins = Begins.AS_LOGGED
    passes: PassedAt = PassedAt.STRAIGHT
    groups: Mapping[str, tuple[Run | None, ...]] = field(default_factory=dict)
    is_partial: bool = False
    _single: dict[Hashable, float] = field(default_factory=dict, init=False, repr=False)

    def placed(self, at: Mapping[str, Coordinate]) -> Run:
        """Return the same run, read at more coordinates."""
        return replace(self, at={**self.at, **at}) if at else self

    def numbers(self, quantity: Quantity) -> FloatArray:
        """Return the quantity's numbers; shape (coordinate,), over its free axes.

        A censored one, of which a limit alone is known, is NaN: `limits` has it.
        """
        values, censored = self.limits(quantity)
        return np.where(np.array(censored, dtype=bool), np.nan, values)

    def limits(self, quantity: Quantity) -> tuple[FloatArray, list[Censored | None]]:
        """Return the quantity's numbers, and of each that is only a limit on which side it lies."""
        if quantity.arm in self.groups:
            every = self.of_group(quantity)
            known = every[np.isfinite(every)]
            return np.array([np.median(known) if known.size else np.nan]), [None]
        run, name, declaration = self._found(quantity)
        if declaration.kind is MeasurementKind.SERIES:
            steps, course = self._begun(*run._course(quantity, name, declaration))
            if quantity.passes is not None:
                return _passages(steps, course, quantity.passes.level, self.passes)
            if self.settled and quantity.step in ("last", "late"):
                return _median_at_end(steps, course), [None] * course.shape[-1]
            values = _observed(quantity, steps, course, run.seed)
        else:
            whole = values_of(name, declaration, run.measurements)
            assert whole is not None, "refused by _found"
            values = np.atleast_1d(run._placed(quantity, declaration, whole)).ravel()
        return values, [None] * len(values)

    def of_group(self, quantity: Quantity) -> FloatArray:
        """Return the number of each run of an arm that is compared as a group, else NaN; (run,)."""
        own = quantity.model_copy(update={"arm": None})
        runs = self.groups[str(quantity.arm)]
        return np.array([np.nan if run is None else run._only_number(own, self) for run in runs])

    def _only_number(self, quantity: Quantity, beside: Run) -> float:
        """The one number that is read as in another run, and kept; NaN if none, or several."""
        how = (beside.settled, beside.begins, beside.passes)
        key = (quantity.model_dump_json(), *sorted(beside.at.items()), *how)
        if key not in self._single:
            try:
                settled, begins, passes = how
                read = replace(self, settled=settled, begins=begins, passes=passes)
                numbers = read.placed(beside.at).numbers(quantity)
            except MeasurementMissingError:
                numbers = np.array([])
            self._single[key] = float(numbers[0]) if len(numbers) == 1 else np.nan
        return self._single[key]

    def series(self, quantity: Quantity) -> Course:
        """Return the quantity over training: steps, and values of shape (step, coordinate)."""
        run, name, declaration = self._found(quantity)
        if declaration.kind is not MeasurementKind.SERIES:
            raise MeasurementMissingError(f"'{name}' is no series", name)
        return self._begun(*run._course(quantity, name, declaration))

    def start(self, quantity: Quantity) -> Start:
        """Return how the first observation of a series lies to all that follow, at the worst."""
        _, values = self.series(quantity)
        starts = {start_of(course) for course in values.T}
        worst_first = (Start.ARTEFACT, Start.APART, Start.ALIKE)
        return next(start for start in worst_first if start in starts)

    def _begun(self, steps: tuple[int, ...], values: FloatArray) -> Course:
        """A course from what is read as its start on."""
        if self.begins is Begins.AS_LOGGED:
            return steps, values
        left_out = {Start.ARTEFACT, *([Start.APART] if self.begins is Begins.ALIKE else [])}
        if any(start_of(course) in left_out for course in values.T):
            return steps[1:], values[1:]
        return steps, values

    def first(self, quantity: Quantity) -> Quantity | None:
        """Return the quantity before training; None without a course, and where it is built."""
        run, _, declaration = self._found(quantity)
        whole = declaration.kind is MeasurementKind.SERIES and quantity.passes is None
        if not whole or quantity.step == "first" or run.built:
            return None
        return quantity.model_copy(update={"step": "first"})

    def begins_late(self, quantity: Quantity) -> int | None:
        """Return the step at which a series begins, if training began before; else None.

        A log begins with training if its first step is 0 or 1, or in the first hundredth of its
        steps. What is built needs no training.
        """
        run, _, _ = self._found(quantity)
        steps, _ = self.series(quantity)
        late = steps[0] > max(1.0, BEGINNING * steps[-1]) and not run.built
        return steps[0] if late else None

    def compared(
        self, quantity: Quantity, rival: Quantity, how: Callable[[Any, Any], Any]
    ) -> tuple[FloatArray, list[Censored | None]]:
        """Return how two quantities compare, coordinate by coordinate; as `limits`.

        How they compare, as by their ratio or difference, grows with the first and falls with the
        second: it is at least so large where the first is censored, and at most where the second
        is. Where both are, nothing is known: NaN.
        """
        values, first = self.limits(quantity)
        rivals, second = replace(self, passes=_OTHER_END[self.passes]).limits(rival)
        with np.errstate(divide="ignore", invalid="ignore"):
            comparison = np.atleast_1d(how(values, rivals))
        left = np.broadcast_to(np.array(first, dtype=bool), comparison.shape)
        right = np.broadcast_to(np.array(second, dtype=bool), comparison.shape)
        known = [Censored.AT_MOST if censored else None for censored in right]
        known = [Censored.AT_LEAST if a else b for a, b in zip(left, known, strict=True)]
        return np.where(left & right, np.nan, comparison), known

    def ratio(
        self, quantity: Quantity, divisor: Quantity
    ) -> tuple[FloatArray, list[Censored | None]]:
        """Return the ratio of two quantities, as `compared`; NaN where the divisor is 0 or less.

        A negative divisor would turn the comparison round.
        """
        return self.compared(quantity, divisor, lambda x, y: np.where(y > 0, x / y, np.nan))

    def coordinates(self, quantity: Quantity, axis: str) -> tuple[Coordinate, ...]:
        """Return the coordinates of an axis of a measurement, without those left out."""
        run, name, declaration = self._found(quantity)
        for declared in declaration.axes:
            if declared.name == axis:
                return run._kept(quantity, declared)
        raise MeasurementMissingError(f"'{name}' has no axis '{axis}'", name)

    def _found(self, quantity: Quantity) -> tuple[Run, str, Declaration]:
        """The run that is read, and the measurement's name and declaration there."""
        run = self
        if quantity.arm is not None:
            if quantity.arm not in self.others:
                why = f"no run of '{quantity.arm}' with seed {self.seed}"
                raise MeasurementMissingError(why, quantity.measurement)
            run = self.others[quantity.arm].placed(self.at)
        name = run.reads.get(quantity.measurement, quantity.measurement)
        if name not in run.declarations:
            raise MeasurementMissingError(f"no measurement '{name}' is declared", name)
        declaration = run.declarations[name]
        fault = misfit(name, declaration, run.measurements, run.settings)
        if fault is not None:
            values = values_of(name, declaration, run.measurements)
            beyond = None if values is None else beyond_range(declaration, values)
            raise MeasurementMissingError(f"the record of seed {run.seed} {fault}", name, beyond)
        return run, name, declaration

    def _course(self, quantity: Quantity, name: str, declaration: Declaration) -> Course:
        whole = self.measurements.series[name]
        values = self._placed(quantity, declaration, whole.values)
        return whole.steps, values.reshape(len(whole.steps), -1)

    def _placed(
        self, quantity: Quantity, declaration: Declaration, values: FloatArray
    ) -> FloatArray:
        """The values over the quantity's free axes; the steps of a series come before these."""
        before = values.ndim - len(declaration.axes)
        name = quantity.measurement
        known = {axis.name: axis.coordinates(self.settings) for axis in declaration.axes}
        there = placement(quantity, known, self.at)
        free: list[str] = []
        for axis in declaration.axes:
            kept = self._kept(quantity, axis)
            places = [known[axis.name].index(coordinate) for coordinate in kept]
            if axis.name in there.fixed:
                wanted = there.fixed[axis.name]
                if wanted not in kept:
                    raise _no_coordinate(quantity, axis, wanted)
                place = known[axis.name].index(wanted)
                values = np.take(values, place, axis=before + len(free))
            elif kept:
                values = np.take(values, places, axis=before + len(free))
                free.append(axis.name)
            else:
                raise MeasurementMissingError(
                    f"'{name}' has no {axis.name} that is not left out", name
                )
        if there.unplaced:
            raise MeasurementMissingError(f"'{name}' has no coordinate {there.unplaced[0]!r}", name)
        if self.is_partial and np.isnan(values).any():
            raise MeasurementMissingError(f"'{name}' was not observed at all coordinates", name)
        for how in dict.fromkeys(quantity.over[name] for name in free if name in quantity.over):
            together = [name for name in free if quantity.over.get(name) == how]
            last = [*range(-len(together), 0)]
            values = np.moveaxis(values, [before + free.index(name) for name in together], last)
            free = [name for name in free if name not in together]
            values = _REDUCED[how](values.reshape(*values.shape[: before + len(free)], -1))
        return values

    def _kept(self, quantity: Quantity, axis: Axis) -> tuple[Coordinate, ...]:
        """The coordinates of an axis that the quantity does not leave out."""
        known = axis.coordinates(self.settings)
        left_out = quantity.without.get(axis.name, ())
        for coordinate in left_out:
            if coordinate not in known:
                raise _no_coordinate(quantity, axis, coordinate)
        return tuple(coordinate for coordinate in known if coordinate not in left_out)


def _no_coordinate(quantity: Quantity, axis: Axis, wanted: Coordinate) -> MeasurementMissingError:
    name = quantity.measurement
    return MeasurementMissingError(f"'{name}' has no {axis.name} {wanted!r}", name)


def _middle_half(values: FloatArray) -> FloatArray:
    """The mean without a fourth of the numbers, rounded down, at either end: scipy's trim_mean.

    NaN if one of them is, which sorting alone would leave out as if it were the largest.
    """
    count = values.shape[-1]
    out = count // 4
    kept = np.sort(values, axis=-1)[..., out : count - out].mean(axis=-1)
    return np.where(np.isnan(values).any(axis=-1), np.nan, kept)


_REDUCED: Mapping[Reduction, Callable[[FloatArray], FloatArray]] = {
    "mean": lambda values: np.asarray(values.mean(axis=-1)),
    "median": lambda values: np.asarray(np.median(values, axis=-1)),
    "iqm": _middle_half,
    "largest": lambda values: np.asarray(values.max(axis=-1)),
    "least": lambda values: np.asarray(values.min(axis=-1)),
}
"""Each reduction of the last axis."""


def _observed(
    quantity: Quantity, steps: tuple[int, ...], values: FloatArray, seed: int
) -> FloatArray:
    """What is read of a course of shape (step, coordinate)."""
    if isinstance(quantity.step, str):
        return _READ[quantity.step](values)
    if quantity.step not in steps:
        name = quantity.measurement
        why = f"the record of seed {seed} has no observation of '{name}' at step {quantity.step}"
        raise MeasurementMissingError(why, name)
    return np.asarray(values[steps.index(quantity.step)])


def _median_at_end(steps: tuple[int, ...], values: FloatArray) -> FloatArray:
    """The median of a course over the last tenth of training; of a short course its last value."""
    if len(steps) < FEWEST_OF_COURSE:
        return np.asarray(values[-1])
    since = steps[-1] - LAST_TENTH * (steps[-1] - steps[0])
    count = max(FEWEST_AT_END, sum(step >= since for step in steps))
    return np.asarray(np.median(values[-count:], axis=0))


def _passages(
    steps: tuple[int, ...], values: FloatArray, level: float, read: PassedAt
) -> tuple[FloatArray, list[Censored | None]]:
    """When each course of shape (step, coordinate) passes a level, or at least when."""
    passages = [first_passage(steps, course, level) for course in values.T]
    times = np.array([_PASSED[read](passage) for passage, _ in passages])
    return times, [None if reached else Censored.AT_LEAST for _, reached in passages]


_PASSED: Mapping[PassedAt, Callable[[Passage], float]] = {
    PassedAt.STRAIGHT: lambda passage: passage.step,
    # at the observation before, it had not passed: two courses may change places at one step
    PassedAt.LEAST: lambda passage: math.nextafter(passage.before, passage.after),
    PassedAt.MOST: lambda passage: passage.after,
}
"""The step of a passage, by what is read of it."""


_READ: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "first": lambda values: np.asarray(values[0]),
    "last": lambda values: np.asarray(values[-1]),
    "late": late_mean,
    "largest": lambda values: np.asarray(values.max(axis=0)),
    "least": lambda values: np.asarray(values.min(axis=0)),
}
"""What is read of a course, by the words of `Quantity.step`."""
