"""The onset of a change over training: the step at which it set in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reproaudit.stats.scales import FloatArray, finite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FINAL_SHARE = 0.1
"""The last part of the observations (at least one), whose mean is the final value."""


def onset(
    steps: ArrayLike, values: ArrayLike, *, share: float = 0.5, least_change: float
) -> float | None:
    """The step at which a change set in: the last crossing of `share` of it.

    The change is the final value (the mean of the last tenth of the observations) minus the first
    one; it may be negative. Between observations the crossing is interpolated linearly. A change
    smaller than `least_change` has no onset: it is yet to come.

    How far an onset moves with its definition is for the caller: `ordered_onsets` judges over
    several shares and horizons.

    Args:
        steps: training steps, increasing; shape (step,), at least two.
        values: the observations at these steps; shape (step,).
        share: of the change, between 0 and 1.
        least_change: the smallest size of change that counts, in the values' units; positive.

    Raises:
        ValueError: for shapes, an order or numbers other than these.
    """
    s, v = finite(steps, "a step"), finite(values, "a value")
    if s.ndim != 1 or s.shape != v.shape or s.size < 2:
        raise ValueError(f"an onset needs two or more steps, a value each: {s.shape}, {v.shape}")
    if (s[1:] <= s[:-1]).any():
        raise ValueError("the steps of an onset increase")
    if not 0 < share < 1:
        raise ValueError(f"a share lies between 0 and 1: {share:g}")
    if not (math.isfinite(least_change) and least_change > 0):
        raise ValueError(f"the least change is a positive number: {least_change:g}")
    change = final_value(v) - float(v[0])
    if abs(change) < least_change:
        return None
    progress = (v - v[0]) / change - share
    reached = progress >= 0
    (crossings,) = (reached[1:] & ~reached[:-1]).nonzero()
    if crossings.size == 0:  # rounding alone hides the crossing of a share next to 1
        return float(s[-1])
    i = int(crossings[-1])
    part = -progress[i] / (progress[i + 1] - progress[i])
    return float(s[i] + part * (s[i + 1] - s[i]))


def final_value(values: FloatArray) -> float:
    """The final value of a series: the mean of the last tenth of its observations."""
    return float(values[-max(1, int(FINAL_SHARE * values.size)) :].mean())
