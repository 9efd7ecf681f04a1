"""The onset of a change over training: the step at which it set in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reproaudit.lazy import np
from reproaudit.stats.scales import FloatArray, finite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SHARE_VARIED = 0.1
"""The amount that `onset` adds to and takes from the share, to see if the onset stays."""

HORIZON_VARIED = 0.8
"""The first part of the observed span to which `onset` cuts, to see whether the onset stays."""

STABLE_WITHIN = 0.1
"""The farthest that a stable onset may move, relative to the steps elapsed until it.

A straight ramp, which has no onset, moves by 0.2 when its share goes from 0.5 to 0.4 or 0.6, or
its horizon to 0.8. Half of that tells a transition from a drift.
"""

FINAL_SHARE = 0.1
"""The last part of the observations (at least one), whose mean is the final value."""


@dataclass(frozen=True)
class Onset:
    """The onset of a change over training.

    Attributes:
        step: the interpolated step of the last crossing; None when censored.
        censored: whether the change was too small to have an onset within what was observed.
        change: final minus baseline, signed.
        stable: whether varying share and horizon moves the onset only a little (`onset`).
    """

    step: float | None
    censored: bool
    change: float
    stable: bool


def onset(
    steps: ArrayLike,
    values: ArrayLike,
    *,
    share: float = 0.5,
    least_change: float,
    baseline: float | None = None,
) -> Onset:
    """The step at which a change set in: the last crossing of `share` of it.

    The change is the final value (the mean of the last tenth of the observations) minus the
    baseline; it may be negative. Between observations the crossing is interpolated linearly. A
    series already past the level when first observed, that never falls back, has its onset at its
    first step. A change smaller than `least_change` is censored: the onset, if any, is yet to come.

    The onset is stable if it moves by no more than a tenth of the steps elapsed until it when the
    share is varied by 0.1 either way, and when only the first 80 % of the span is looked at. A
    censored one is stable if it is censored under those as well.

    Args:
        steps: training steps, increasing; shape (step,), at least two.
        values: the observations at these steps; shape (step,).
        share: of the change, between 0 and 1.
        least_change: the smallest size of change that counts, in the values' units; positive.
        baseline: the value before the change; by default the first one.

    Raises:
        ValueError: for shapes, an order or numbers other than these.
    """
    s, v = finite(steps, "a step"), finite(values, "a value")
    if s.ndim != 1 or s.shape != v.shape or s.size < 2:
        raise ValueError(f"an onset needs two or more steps, a value each: {s.shape}, {v.shape}")
    if (np.diff(s) <= 0).any():
        raise ValueError("the steps of an onset increase")
    if not 0 < share < 1:
        raise ValueError(f"a share lies between 0 and 1: {share:g}")
    if not (math.isfinite(least_change) and least_change > 0):
        raise ValueError(f"the least change is a positive number: {least_change:g}")
    start = float(v[0]) if baseline is None else float(finite(baseline, "a baseline"))
    change, step = _crossing(s, v, start, share, least_change)
    stable = all(_agree(step, other, s[0]) for other in _varied(s, v, start, share, least_change))
    return Onset(step, step is None, change, stable)


def final_value(values: FloatArray) -> float:
    """The final value of a series: the mean of the last tenth of its observations."""
    return float(values[-max(1, int(FINAL_SHARE * values.size)) :].mean())


def _crossing(
    s: FloatArray, v: FloatArray, start: float, share: float, least_change: float
) -> tuple[float, float | None]:
    """The change, and the step of its last crossing (None if the change is too small)."""
    change = final_value(v) - start
    if abs(change) < least_change:
        return change, None
    progress = (v - start) / change - share
    crossings = np.flatnonzero((progress[:-1] < 0) & (progress[1:] >= 0))
    if crossings.size == 0:
        return change, float(s[0])
    i = int(crossings[-1])
    part = -progress[i] / (progress[i + 1] - progress[i])
    return change, float(s[i] + part * (s[i + 1] - s[i]))


def _varied(
    s: FloatArray, v: FloatArray, start: float, share: float, least_change: float
) -> list[float | None]:
    """The onsets with the varied shares (kept between 0 and 1) and with the shorter horizon."""
    shares = max(share - SHARE_VARIED, share / 2), min(share + SHARE_VARIED, (1 + share) / 2)
    early = s <= s[0] + HORIZON_VARIED * (s[-1] - s[0])
    found = [_crossing(s, v, start, other, least_change)[1] for other in shares]
    return [*found, _crossing(s[early], v[early], start, share, least_change)[1]]


def _agree(step: float | None, other: float | None, first: float) -> bool:
    if step is None or other is None:
        return step is other
    return abs(other - step) <= STABLE_WITHIN * (step - first)
