"""The step at which a change over training sets in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from reproaudit.lazy import FloatArray, np
from reproaudit.stats.growth import CERTAIN

LAST = 0.1
"""The last part of the observations, or of training, (at least one observation) whose mean is late,
or final."""

STILL = 0.1
"""The share of its change that a quantity which saturates makes over the last fifth of training at
most: half of what a straight line makes."""

BEYOND_NOISE = 4.0
"""So many standard deviations of the noise are no move: noise makes more in less than 5 %."""


FEWEST_BEYOND = 5
"""The fewest observations for which a series stays beyond a level that it has passed."""

FEWEST_AFTER = 5
"""The fewest observations after the first from which that one may lie apart."""

GOES_ON = 0.1
"""The share of its first move, at least, by which a series goes on with it that slows down."""

FEWEST_AT_END = 3
"""The fewest observations of a median that an end is held against."""


class Passage(NamedTuple):
    """Where a series crosses a level: between two observations, at a step that is interpolated."""

    step: float
    before: float
    after: float


def late_mean(values: FloatArray) -> FloatArray:
    """Return the mean of the last tenth of the observations; shape (step, …) to (…)."""
    return np.asarray(values[-max(1, int(LAST * len(values))) :].mean(axis=0))


def final_value(steps: Sequence[int], values: FloatArray) -> float:
    """Return the mean of a course over the last tenth of training; both have shape (step,)."""
    at = np.asarray(steps, dtype=np.float64)
    return float(values[at >= at[-1] - LAST * (at[-1] - at[0])].mean())


def first_passage(steps: Sequence[int], values: FloatArray, level: float) -> tuple[Passage, bool]:
    """Find where a series first reaches a level and stays beyond, and whether it does.

    Steps and values have shape (step,). It is read of running medians (`smoothed`), which must stay
    beyond the level for a tenth of the observations, at least `FEWEST_BEYOND`, or to the end: no
    single observation passes, and no swing of the noise. A series that starts at the level has
    reached it. One that never does, from the side on which it starts, takes at least until the last
    step; one that does in its last observation alone, until the step before.
    """
    side = math.copysign(1.0, level - float(values[0]))
    height = side * (smoothed(values) - level)
    if height[0] >= 0:
        return _at(steps[0]), True
    short = np.concatenate([[0], np.cumsum(height < 0)])
    count = len(height)
    kept = max(FEWEST_BEYOND, math.ceil(LAST * count))
    ends = np.minimum(np.arange(count) + kept, count)
    (reached,) = (short[ends] == short[:-1]).nonzero()
    if reached.size == 0:
        return _at(steps[-1]), False
    i = int(reached[0])
    if i == count - 1:
        return _at(steps[-2]), False
    return Passage(_between(steps, height, i), float(steps[i - 1]), float(steps[i])), True


def _at(step: float) -> Passage:
    """A passage that is known to the step, or of which the step is a limit."""
    return Passage(float(step), float(step), float(step))


class Start(Enum):
    """How the first observation of a series lies to all that follow."""

    ALIKE = "alike"
    APART = "apart"
    """By more than all that follow differ among themselves; the series may have moved so far."""
    ARTEFACT = "artefact"
    """Apart, or exactly 0 where nothing else is, and the series then goes the other way."""


def start_of(values: FloatArray) -> Start:
    """Tell how the first observation of a series, of shape (step,), lies to all that follow.

    Where fewer than `FEWEST_AFTER` follow, nobody can tell: `Start.ALIKE`.
    """
    rest = values[1:]
    if len(rest) < FEWEST_AFTER:
        return Start.ALIKE
    first = float(values[0])
    least = float(rest.min())
    most = float(rest.max())
    gap = max(least - first, first - most)
    if gap <= 0 or least == most:
        return Start.ALIKE
    late = rest[-max(FEWEST_AT_END, int(LAST * len(rest))) :]
    onward = float(np.median(late)) - float(rest[0])
    turns = onward * (float(rest[0]) - first) < 0 and 2 * abs(onward) >= most - least
    if turns and (gap > most - least or first == 0):
        return Start.ARTEFACT
    goes_on = (float(rest[1]) - float(rest[0])) / (float(rest[0]) - first)
    return Start.APART if gap > most - least and goes_on < GOES_ON else Start.ALIKE


def crossing(steps: Sequence[int], values: FloatArray, level: float) -> Passage | None:
    """Find where a series last crosses a level and stays beyond.

    Steps and values have shape (step,). None if the series does not end beyond the level, seen from
    the side on which it starts.
    """
    side = math.copysign(1.0, level - float(values[0]))
    height = side * (values - level)
    if height[-1] < 0 or side * (final_value(steps, values) - level) < 0:
        return None
    (rises,) = ((height[1:] >= 0) & (height[:-1] < 0)).nonzero()
    if rises.size == 0:
        return None
    after = int(rises[-1]) + 1
    step = _between(steps, height, after)
    return Passage(step, float(steps[after - 1]), float(steps[after]))


def has_ended(steps: Sequence[int], values: FloatArray) -> bool:
    """Tell whether a change of a series, of shape (step,), is as good as over at the end.

    It is if a line through the observations from the last fifth of training on, and the one before
    them, makes at most a tenth of the whole change, as it goes. A change that comes late has ended
    if a line through the last tenth or twentieth would surely, beyond `CERTAIN` standard errors by
    `noise`, make no more in a fifth.
    """
    at = (np.asarray(steps, dtype=np.float64) - steps[0]) / max(steps[-1] - steps[0], 1)
    whole = final_value(steps, values) - float(values[0])
    most = STILL * abs(whole) / 0.2
    towards = math.copysign(1.0, whole) * values
    first = max(0, int(np.searchsorted(at, 0.8, side="right")) - 1)
    if len(at) < 2 or np.polyfit(at[first:], towards[first:], 1)[0] <= most:
        return True
    for part in (LAST, LAST / 2):
        late = at >= 1 - part
        if late.sum() < 2:
            break
        error = noise(steps, values) / float(np.linalg.norm(at[late] - at[late].mean()))
        if np.polyfit(at[late], towards[late], 1)[0] + CERTAIN * error <= most:
            return True
    return False


def noise(steps: Sequence[int], values: FloatArray) -> float:
    """Estimate the standard deviation of the noise on each observation of a smooth course.

    Steps and values have shape (step,). It is the median distance of an observation from the line
    between its neighbours, in standard deviations of a normal law; 0 with fewer than three.
    """
    at = np.asarray(steps, dtype=np.float64)
    if len(at) < 3:
        return 0.0
    part = (at[1:-1] - at[:-2]) / (at[2:] - at[:-2])
    apart = values[1:-1] - (1 - part) * values[:-2] - part * values[2:]
    scaled = np.abs(apart) / np.sqrt(1 + part**2 + (1 - part) ** 2)
    return float(np.median(scaled)) / _MEDIAN_OF_NORMAL


def excursions(values: FloatArray) -> FloatArray:
    """Compute how far a series has moved until each observation, either way; shape (step,).

    It is read of running medians (`smoothed`), so that no single observation is a move.
    """
    smooth = smoothed(values)
    return np.asarray(np.maximum.accumulate(smooth) - np.minimum.accumulate(smooth))


def smoothed(values: FloatArray) -> FloatArray:
    """Return the running medians of five observations, of three or one at the ends."""
    smooth = np.array(values, dtype=np.float64)
    for reach in (1, 2):
        if len(values) > 2 * reach:
            windows = np.lib.stride_tricks.sliding_window_view(values, 2 * reach + 1)
            smooth[reach:-reach] = np.median(windows, axis=-1)
    return smooth


_MEDIAN_OF_NORMAL = 0.6745
"""The median distance from the mean of a standard normal law."""


def _between(steps: Sequence[int], height: FloatArray, i: int) -> float:
    """The step at which a height becomes 0, on a straight line that ends at an observation."""
    part = -height[i - 1] / (height[i] - height[i - 1])
    return float(steps[i - 1] + part * (steps[i] - steps[i - 1]))
