"""What a course shows of how it was made: a best so far, an average, a log cut at its best."""

from __future__ import annotations

import math

from reproaudit.lazy import FloatArray, np

WHOLE_COURSE = 10
"""The fewest points of a course that tell how it was made, or that two runs do not share."""

PLATEAUS = 3
"""The fewest plateaus of a best so far."""

UNEVEN = 1.5
"""The largest step from a plateau over the smallest, at least: the steps of a smooth course that
was rounded are all of one size."""


def improves_only(values: FloatArray) -> bool:
    """Tell whether a course, of shape (step,), changes and never turns."""
    moves = np.diff(values)
    return bool(moves.any()) and bool((moves >= 0).all() or (moves <= 0).all())


def is_best_so_far(values: FloatArray) -> bool:
    """Tell whether a course, of shape (step,), looks like the best of all until each step.

    Such a course never turns, and rests on plateaus that it leaves by steps of all sizes.
    """
    if len(values) < WHOLE_COURSE or not improves_only(values):
        return False
    moves = np.abs(np.diff(values))
    after = moves[1:][(moves[:-1] == 0) & (moves[1:] > 0)]
    return len(after) >= PLATEAUS and bool(after.max() > UNEVEN * after.min())


def ends_at_best(values: FloatArray) -> bool:
    """Tell whether the last value of a course, of shape (step,), is its best.

    The best is the least or the largest, by which way the course has gone until its last value.
    """
    if len(values) < WHOLE_COURSE:
        return False
    best = values.min() if values[-1] < values[0] else values.max()
    return bool(values[-1] == best)


# --- averages -----------------------------------------------------------------------------------

FEWEST_OF_AVERAGE = 40
"""The fewest points of a course that tell an average."""

SHARED = 1.5
"""Points four apart differ at least so many times as much as neighbours, where neighbours share
their noise: twice as much in an average over more than four, as much in white noise."""

LONGEST = 4
"""One over the part of a course that an average may lag behind, at most."""

LAG_OF_RISE = 1 / 1.6
"""The longest lag of an average by how long its change takes, from a tenth to nine: half of w
points, of an average over w, where a jump takes 0.8 w; less where older points count less."""

QUIET = 0.25
"""How much neighbours differ in an average, at most, over how much they do in what is none."""


def unevenness(values: FloatArray, reach: int = 1) -> float:
    """Compute how far the points of a course lie from the middle of those at a distance.

    Values have shape (step,); the distance, `reach`, is in points. It is a median in standard
    deviations of a normal law for white noise; 0 of too short a course.
    """
    if len(values) <= 2 * reach:
        return 0.0
    apart = values[reach:-reach] - (values[: -2 * reach] + values[2 * reach :]) / 2
    return float(np.median(np.abs(apart))) / (math.sqrt(1.5) * 0.6745)


def lag_of(values: FloatArray, other: FloatArray) -> int:
    """Return by how many points a course may lag if it is an average and the other one is not.

    Both have shape (step,) and one scale. It is an average if its noise is far below the other's,
    and neighbours share it. Its lag is no more than a change of it shows, since an average makes
    none faster; nor than its noise shows: points farther apart than it averages over differ no
    more; nor than a fourth of the course. What is no average has a lag of 0.
    """
    own = unevenness(values)
    if len(values) < FEWEST_OF_AVERAGE or own >= QUIET * unevenness(other):
        return 0
    if own > 0 and unevenness(values, 4) < SHARED * own:
        return 0
    most = len(values) // LONGEST
    by_rise = min(most, math.ceil(LAG_OF_RISE * _rise(values)))
    if own == 0:
        return by_rise
    shown = max(unevenness(values, 2**power) for power in range(most.bit_length())) / own
    return min(math.ceil(shown**2 / 1.5), by_rise)


def _rise(values: FloatArray) -> int:
    """How many points the change of a course takes, from a tenth of it to nine tenths."""
    made = (values - values[0]) / ((float(values[-1]) - float(values[0])) or 1.0)
    return int((made >= 0.9).argmax() - (made >= 0.1).argmax())


def without_lag(values: FloatArray, lag: int) -> FloatArray:
    """Return a course, of shape (step,), so many points earlier, from its own start on.

    Its end goes on as straight as its last tenth went.
    """
    late = max(1, len(values) // 10)
    pace = (values[-1] - values[-1 - late]) / late
    moved = np.concatenate([values[lag:], values[-1] + pace * np.arange(1, lag + 1)])
    moved[0] = values[0]
    return np.asarray(moved)


# --- best of many -------------------------------------------------------------------------------


def best_until(values: FloatArray, *, upwards: bool) -> FloatArray:
    """Return the best so far of a course, of shape (step, …)."""
    best = np.maximum if upwards else np.minimum
    return np.asarray(best.accumulate(values))


def made_by_records(values: FloatArray) -> float:
    """Return how far the end of a best so far, of shape (step,), may lie from what it is best of.

    The best of n draws of a normal law lies by 2 log n times the mean size of its late records from
    the middle (extreme values; records of a level that still moves are no rarer late). 0 if records
    do not grow rarer.
    """
    sizes = np.abs(np.diff(values))
    (at,) = sizes.nonzero()
    late = int((at >= len(sizes) / 2).sum())
    if len(at) < PLATEAUS or 2 * late >= len(at) - late:
        return 0.0
    return float(2 * math.log(len(values)) * sizes[at[-PLATEAUS:]].mean())


def best_of_fewer(values: FloatArray, every: int, *, upwards: bool) -> FloatArray:
    """Return the worst of the bests of all courses that keep each so many points of a course.

    The course has shape (step, …), and the result (…). Each begins with another of the first ones.
    """
    best, worst = (np.max, np.min) if upwards else (np.min, np.max)
    bests = [best(values[k::every], axis=0) for k in range(every)]
    return np.asarray(worst(bests, axis=0))


# --- one contrast throughout --------------------------------------------------------------------

CONTRAST_MOVES = 2.0
"""How many times their contrast both courses move, at least, if it is not what was learned."""

ALIKE_THROUGHOUT = 0.25
"""By which share of its median a contrast that is the same throughout varies, at most, but for
noise."""

TENTHS = 10


def same_throughout(lower: FloatArray, upper: FloatArray, beyond: float) -> bool:
    """Tell whether pairs of courses differ by one amount from their first points to the end.

    Both have shape (run, step), with the same steps, and three runs or more. In each tenth of the
    steps, and at the first, the mean difference is that of all but for noise and a quarter of it;
    at the first it surely is one. All courses move by much more. `beyond` is how many standard
    errors over the runs are no noise.
    """
    if len(lower) < 3 or lower.shape[1] < 2 * TENTHS:
        return False
    apart = upper - lower
    parts = [
        apart[:, 0],
        *(np.median(tenth, axis=1) for tenth in np.array_split(apart, TENTHS, axis=1)),
    ]
    middle = float(np.median(apart))
    errors = [beyond * float(part.std(ddof=1)) / math.sqrt(len(part)) for part in parts]
    moves = min(np.ptp(lower, axis=1).min(), np.ptp(upper, axis=1).min())
    if moves < CONTRAST_MOVES * abs(middle) or abs(parts[0].mean()) <= 2 * errors[0]:
        return False
    most = ALIKE_THROUGHOUT * abs(middle)
    return all(abs(a.mean() - middle) <= most + b for a, b in zip(parts, errors, strict=True))
