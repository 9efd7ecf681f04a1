"""The step at which a change over training sets in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reproaudit.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LAST = 0.1
"""The last part of the observations (at least one), whose mean is the final value."""

STILL = 0.1
"""The share of its change that a quantity which saturates makes over the last fifth of training at
most: half of what a straight line makes."""


def late_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the last tenth of the observations; shape (step, …) to (…)."""
    return np.asarray(values[-max(1, int(LAST * len(values))) :].mean(axis=0))


def final_value(values: NDArray[np.float64]) -> float:
    """Return the mean of the last tenth of the observations of a course of shape (step,)."""
    return float(late_mean(values))


def first_passage(steps: Sequence[int], values: NDArray[np.float64], level: float) -> float | None:
    """Find the step, interpolated, at which a series first reaches a level.

    Steps and values have shape (step,). None if it never does, from the side on which it starts; a
    series that starts at the level has reached it.
    """
    side = math.copysign(1.0, level - float(values[0]))
    height = side * (values - level)
    (reached,) = (height >= 0).nonzero()
    if reached.size == 0:
        return None
    i = int(reached[0])
    return float(steps[0]) if i == 0 else _between(steps, height, i)


def crossing(steps: Sequence[int], values: NDArray[np.float64], level: float) -> float | None:
    """Find the step, interpolated, at which a series last crosses a level and stays beyond.

    Steps and values have shape (step,). None if the series does not end beyond the level, seen from
    the side on which it starts.
    """
    side = math.copysign(1.0, level - float(values[0]))
    beyond = side * (values - level) >= 0
    if not beyond[-1] or side * (final_value(values) - level) < 0:
        return None
    return _last_crossing(steps, side * (values - level), beyond)


def half_change(steps: Sequence[int], values: NDArray[np.float64], least: float) -> float | None:
    """Find the step, interpolated, at which a series last crosses half of a change that saturates.

    Steps and values have shape (step,). None if the change is smaller than `least`, in the values'
    units, or still goes on at the end.
    """
    change = final_value(values) - float(values[0])
    if abs(change) < least:
        return None
    progress = (values - values[0]) / change
    late = steps[0] + 0.8 * (steps[-1] - steps[0])
    if 1 - float(np.interp(late, steps, progress)) > STILL:
        return None
    return _last_crossing(steps, progress - 0.5, progress >= 0.5)


def _last_crossing(
    steps: Sequence[int], height: NDArray[np.float64], beyond: NDArray[np.bool_]
) -> float | None:
    (rises,) = (beyond[1:] & ~beyond[:-1]).nonzero()
    if rises.size == 0:
        return None
    return _between(steps, height, int(rises[-1]) + 1)


def _between(steps: Sequence[int], height: NDArray[np.float64], i: int) -> float:
    """The step at which a height becomes 0, on a straight line that ends at an observation."""
    part = -height[i - 1] / (height[i] - height[i - 1])
    return float(steps[i - 1] + part * (steps[i] - steps[i - 1]))
