"""Other ways to read what was logged, under which a run's answer must hold.

How a run of elsewhere was logged may make its whole answer: an average lags, a best so far hides
what falls back, of more observations one is better, and a log in another unit differs from the
first step on. Each is asked of the courses that a check holds against one another in a run.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from reproaudit.checks import Begins, Condition, Kind, Run, Side, Void
from reproaudit.declarations import MeasurementMissingError, Quantity
from reproaudit.judge.bundles import is_series
from reproaudit.lazy import np
from reproaudit.records import Measurements, Series
from reproaudit.stats import courses
from reproaudit.stats.growth import CERTAIN

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Remade(NamedTuple):
    """What is made of a series; equal changes make the same of it."""

    make: Callable[..., Series]
    """A function of the series and of `by`."""
    by: tuple[Any, ...]


FINER = 2.0
"""How many times as many observations of one course than of another are not as many."""

FAR = 0.1
"""The share of all that courses range over, from which on their starts lie far apart."""

LAST_PARTS = (0.7, 0.8, 0.9, 1.0)
"""The parts of training at whose ends it is looked whether a course still goes one way."""

SCALE = (0.5, 0.6, 0.7, 0.8, 0.9)
"""The parts of training at whose ends a null or a ceiling is read once more."""


@dataclass(frozen=True)
class Logged:
    """A series as a check reads it: the quantity, and the run in which it is read.

    Attributes:
        quantity: as the check states it.
        run: that the check is asked of; of a group, one of its runs.
        read: the quantity, as `run` reads it.
    """

    quantity: Quantity
    run: Run
    read: Quantity

    @property
    def columns(self) -> list[NDArray[np.float64]]:
        """Each course, of shape (step,)."""
        return [*self.run.series(self.read)[1].T]

    @property
    def count(self) -> int:
        """How many observations there are."""
        return len(self.run.series(self.read)[0])


# --- what is void at once -----------------------------------------------------------------------


def not_comparable(check: Kind, run: Run, conditions: Sequence[Condition]) -> list[Condition]:
    """Return a run's conditions, void where what they compare cannot be compared at all."""
    if run.begins is Begins.AS_LOGGED:
        return [*conditions]
    late = _starts_elsewhere(_logs(run, check.timed))
    if late is not None:
        about, step = late
        return [
            replace(
                condition,
                value=None,
                says=None,
                void=Void.STARTS_ELSEWHERE,
                about=about,
                found=step,
            )
            for condition in conditions
        ]
    return [*conditions]


def _starts_elsewhere(logs: Sequence[Logged]) -> tuple[str, float] | None:
    """The measurement and first step of a log that begins far from where another begins.

    It begins late; or it is of another arm, which had learned something before.
    """
    begins = [(log, log.run.begins_late(log.read)) for log in logs]
    for (log, step), (other, late) in itertools.permutations(begins, 2):
        ahead = step is None and log.quantity.measurement == other.quantity.measurement
        if late is None and (step is not None or ahead) and _start_apart(log, other):
            return log.quantity.measurement, float(log.run.series(log.read)[0][0])
    return None


def _start_apart(log: Logged, other: Logged) -> bool:
    """Whether two logs begin farther apart than by a tenth of all that they range over."""
    most = FAR * float(np.ptp(np.concatenate([*log.columns, *other.columns])))
    starts = itertools.product(log.columns, other.columns)
    return any(abs(float(a[0]) - float(b[0])) > most for a, b in starts)


def never_learned(check: Kind, runs: Iterable[Run]) -> bool:
    """Tell whether a contrast of two arms was there before training, and has never changed.

    Where both move by much more, it is one of units, or of what was counted. In a single run it may
    be there by chance: it is asked of the mean over runs.
    """
    if check.whole_course or check.sides is None or None not in {side.arm for side in check.sides}:
        return False
    if any(side not in check.to_the_end for side in check.sides):
        return False
    pairs = [pair for run in runs for pair in _pair_of(check, run)]
    lengths = {len(own) for own, _ in pairs}
    return len(lengths) == 1 and _one_contrast(*map(np.stack, zip(*pairs, strict=True)))


def _pair_of(check: Kind, run: Run) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield the courses of two arms at the steps at which both were observed, from the first."""
    logs = _logs(run, check.sides or ())
    if run.begins is Begins.AS_LOGGED or len({log.quantity.arm for log in logs}) < 2:
        return
    try:
        (steps, values), (others, rivals) = (log.run.series(log.read) for log in logs)
        late = any(log.run.begins_late(log.read) is not None for log in logs)
    except MeasurementMissingError:
        return
    if not late and steps[0] == others[0] and values.shape[1] == rivals.shape[1] == 1:
        _, mine, theirs = np.intersect1d(steps, others, return_indices=True)
        yield values[mine, 0], rivals[theirs, 0]


def _one_contrast(own: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Whether courses, of shape (run, step), differ by one amount, or by one factor, throughout."""
    if courses.same_throughout(own, other, CERTAIN):
        return True
    positive = min(own.min(), other.min()) > 0
    return positive and courses.same_throughout(np.log(own), np.log(other), CERTAIN)


# --- what must hold otherwise read --------------------------------------------------------------


def views(check: Kind, run: Run) -> Iterator[tuple[Void, Run]]:
    """Yield a run whose courses are otherwise made, and why its answer is void if it differs."""
    if run.begins is Begins.AS_LOGGED:
        return
    ends = () if check.whole_course else check.to_the_end
    logs = _logs(run, (*check.timed, *ends))
    lags = [
        max((_lag(log, other) for other in logs if other is not log), default=0) for log in logs
    ]
    if any(lags):
        yield Void.STATISTIC, _without_lags(run, logs, lags)
    best = _as_best(run, [log for log in logs if log.quantity.step in ("last", "late")], check)
    if best is not None:
        yield Void.STATISTIC, best
    extreme = [log for log in logs if log.quantity.step in ("least", "largest")]
    if len(extreme) > 1:
        yield from _as_often(run, extreme)


def _lag(log: Logged, other: Logged) -> int:
    """By how many observations one series may lag, if it is an average and the other is not."""
    alike = log.quantity.measurement == other.quantity.measurement
    pairs = itertools.product(log.columns, other.columns)
    scaled = pairs if alike else ((_scaled(a), _scaled(b)) for a, b in pairs)
    return max(courses.lag_of(a, b) for a, b in scaled)


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A course as shares of all that it ranges over."""
    return values / (float(np.ptp(values)) or 1.0)


def _without_lags(run: Run, logs: Sequence[Logged], lags: Sequence[int]) -> Run:
    for log, lag in zip(logs, lags, strict=True):
        if lag:
            run = _changed(run, log.quantity, courses.without_lag, lag)
    return run


def _as_best(run: Run, logs: Sequence[Logged], check: Kind) -> Run | None:
    """The run where no series is the best so far beside one that is not; None if none is."""
    if not any(all(map(courses.is_best_so_far, log.columns)) for log in logs):
        return None
    if len(logs) == 1:
        return None if check.timed else _changed(run, logs[0].quantity, _without_records)
    for log in logs:
        if not any(map(courses.improves_only, log.columns)):
            upwards = bool(log.columns[0][-1] > log.columns[0][0])
            run = _changed(run, log.quantity, _best_until, upwards)
    return run


def _without_records(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A best so far, lowered after its start to the least that the course behind it may have."""
    moved = values - math.copysign(courses.made_by_records(values), values[-1] - values[0])
    moved[0] = values[0]
    return moved


def _as_often(run: Run, logs: Sequence[Logged]) -> Iterator[tuple[Void, Run]]:
    """Yield the run whose courses have their extremes of as many observations."""
    fewest = min(log.count for log in logs)
    finer = [log for log in logs if log.count > FINER * fewest]
    for log in finer:
        upwards = log.quantity.step == "largest"
        every = log.count // fewest
        run = _changed(run, log.quantity, _clipped, every, upwards)
    if finer:
        yield Void.NOT_AS_OFTEN, run


def _best_until(values: NDArray[np.float64], upwards: bool) -> NDArray[np.float64]:
    return courses.best_until(values, upwards=upwards)


def _clipped(values: NDArray[np.float64], every: int, upwards: bool) -> NDArray[np.float64]:
    """A course with no better extreme than the worst of fewer observations."""
    end = courses.best_of_fewer(values, every, upwards=upwards)
    return np.minimum(values, end) if upwards else np.maximum(values, end)


# --- ends ---------------------------------------------------------------------------------------


def before_the_end(check: Kind, run: Run) -> Iterator[Run]:
    """Yield the run whose references end earlier: before the last tenth of training.

    A null and a ceiling, which are the scale of what is asked, end at each tenth of the last half.
    """
    ends = check.to_the_end
    read = _logs(
        run, [quantity for quantity in ends if quantity is not ends[0] or quantity.arm is not None]
    )
    if not read:
        return
    is_scale = check.sides is not None and ends[0] not in check.sides
    for part in SCALE if is_scale else SCALE[-1:]:
        yield _until(replace(run, settled=True), read, part)


def still_moves(check: Kind, run: Run, conditions: Sequence[Condition]) -> list[bool]:
    """Tell of each condition with a margin whether its number goes through it as training ends.

    It does where the medians of the last two tenths differ by more than half of the margin, and
    those of the last four go one way.
    """
    if all(condition.limit.side is not Side.WITHIN for condition in conditions):
        return [False] * len(conditions)
    logs = _logs(run, check.to_the_end)
    parts = [
        check.conditions(_until(replace(run, settled=True), logs, part)) for part in LAST_PARTS
    ]
    return [_goes_through(numbers) for numbers in zip(*parts, strict=True)]


def _goes_through(parts: Sequence[Condition]) -> bool:
    """Whether a number goes one way until the end, in the last part by over half of its margin."""
    limit = parts[-1].limit
    values = [condition.value for condition in parts if condition.value is not None]
    if limit.side is not Side.WITHIN or len(values) < len(parts):
        return False
    half = limit.at / 2
    if limit.relative:
        if min(values) <= 0:
            return False
        half = math.log1p(limit.at) / 2
        values = [math.log(value) for value in values]
    moves = np.diff(values)
    return bool(abs(moves[-1]) > half and ((moves > 0).all() or (moves < 0).all()))


def _until(run: Run, logs: Sequence[Logged], part: float) -> Run:
    """The run whose series end with a part of training."""
    for log in logs:
        run = _with_series(run, log.quantity, Remade(_cut, (part,)))
    return run


def _cut(series: Series, part: float) -> Series:
    last = series.steps[0] + part * (series.steps[-1] - series.steps[0])
    kept = bisect_right(series.steps, last)
    return Series(steps=series.steps[:kept], values=series.values[:kept])


# --- runs whose courses are changed -------------------------------------------------------------


def _logs(run: Run, quantities: Sequence[Quantity]) -> list[Logged]:
    """The series among quantities, each once, in the runs in which they are read."""
    logs = {
        (quantity.measurement, quantity.arm, str(quantity)): _logged(run, quantity)
        for quantity in quantities
        if is_series(quantity, run)
    }
    return [log for log in logs.values() if log is not None]


def _logged(run: Run, quantity: Quantity) -> Logged | None:
    if quantity.arm not in run.groups:
        return Logged(quantity, run, quantity)
    own = Quantity(**{**dict(quantity), "arm": None})
    for member in run.groups[str(quantity.arm)]:
        if member is not None and quantity.measurement in member.measurements.series:
            return Logged(quantity, member.placed(run.at), own)
    return None


def _changed(
    run: Run, quantity: Quantity, how: Callable[..., NDArray[np.float64]], *by: Any
) -> Run:
    """The run in which every course of a series is changed."""
    return _with_series(run, quantity, Remade(_each, (how, *by)))


def _each(series: Series, how: Callable[..., NDArray[np.float64]], *by: Any) -> Series:
    columns = series.values.reshape(len(series.steps), -1).T
    values = np.stack([how(course, *by) for course in columns], axis=-1)
    return Series(steps=series.steps, values=values.reshape(series.values.shape))


def _with_series(run: Run, quantity: Quantity, change: Remade) -> Run:
    """The run with another series of a quantity, in the arm in which it is read."""
    arm = quantity.arm
    if arm is None:
        return _with_own(run, quantity, change)
    if arm in run.groups:
        runs = tuple(member and _of_group(member, quantity, change) for member in run.groups[arm])
        return replace(run, groups={**run.groups, arm: runs})
    others = {**run.others, arm: _with_own(run.others[arm], quantity, change)}
    return replace(run, others=others)


_OF_GROUP: WeakKeyDictionary[Run, dict[Hashable, Run]] = WeakKeyDictionary()
"""Changed runs of groups, each of which stands beside every run of an arm."""


def _of_group(run: Run, quantity: Quantity, change: Remade) -> Run:
    """A changed run of a group, which is made once."""
    made = _OF_GROUP.setdefault(run, {})
    key = (quantity.measurement, change)
    if key not in made:
        made[key] = _with_own(run, quantity, change)
    return made[key]


def _with_own(run: Run, quantity: Quantity, change: Remade) -> Run:
    measured = run.measurements
    name = run.reads.get(quantity.measurement, quantity.measurement)
    if name not in measured.series:
        return run
    series = {**measured.series, name: change.make(measured.series[name], *change.by)}
    made = Measurements(scalars=measured.scalars, series=series, arrays=measured.arrays)
    return replace(run, measurements=made)
