"""What a module reads of a course itself: when it first reaches a level, and where it ends.

An audit reads both of a series that is measured (`passes` and `step: late` of a quantity). These
are for what no series shows: the time of each of many modes, or the end of a long course.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reproaudit.lab.parts import Array


def first_crossing(steps: ArrayLike, values: ArrayLike, level: ArrayLike) -> Array:
    """Return the step at which a course first reaches a level, from the side where it starts.

    Between two observations the course is a straight line. A course that never reaches the level is
    censored at the last step: no record holds an infinite number. So say in the measurement's
    meaning that it is censored there, and let the last step lie far beyond every expected time.
    Where a check has to know of each run that it was censored, measure the series and read it with
    `passes`.

    Args:
        steps: increasing; shape (step,).
        values: shape (step, *axes).
        level: one number, or one for each course; shape (*axes).

    Returns:
        The steps, of shape (*axes). NaN for a course that is NaN before it reaches the level.

    Raises:
        ValueError: if there is no observation, or one for each step is not given.
    """
    at = np.asarray(steps, dtype=float)
    course = np.asarray(values, dtype=float)
    _check_steps(at, course)
    goal = np.broadcast_to(np.asarray(level, dtype=float), course.shape[1:])
    from_below = course[0] < goal
    reached = np.where(from_below, course >= goal, course <= goal)
    ends = reached.any(axis=0)
    after = np.where(ends, reached.argmax(axis=0), len(at) - 1)
    before = np.maximum(after - 1, 0)
    low, high = (np.take_along_axis(course, place[None], axis=0)[0] for place in (before, after))
    inside = ends & (after > 0)
    with np.errstate(invalid="ignore"):  # between two infinite observations nobody knows
        share = np.divide(goal - low, high - low, out=np.ones(goal.shape), where=inside)
    times = at[before] + share * (at[after] - at[before])
    is_lost = np.isnan(course) & (np.arange(len(at)).reshape(-1, *[1] * goal.ndim) <= after)
    return np.where(is_lost.any(axis=0), np.nan, times)


def mean_of_last(values: ArrayLike, share: float = 0.1) -> Array:
    """Return the mean over the last part of the observations, of at least one.

    Args:
        values: shape (step, *axes).
        share: the part of the observations, above 0 and at most 1; a tenth, as `step: late` reads.

    Returns:
        The means, of shape (*axes).

    Raises:
        ValueError: if there is no observation, or the share is none.
    """
    course = np.asarray(values, dtype=float)
    if course.ndim < 1 or len(course) == 0:
        raise ValueError("mean_of_last needs at least one observation")
    if not 0 < share <= 1:
        raise ValueError(f"mean_of_last got the share {share}; expected one above 0 and at most 1")
    count = max(1, math.floor(share * len(course)))
    return np.asarray(course[-count:].mean(axis=0))


def _check_steps(at: np.ndarray[Any, Any], course: np.ndarray[Any, Any]) -> None:
    if at.ndim != 1 or course.ndim < 1 or len(at) == 0 or len(at) != len(course):
        raise ValueError(
            f"first_crossing got steps of shape {at.shape} and values of shape {course.shape}; "
            "expected one observation a step, and at least one"
        )
    if (np.diff(at) <= 0).any():
        raise ValueError("first_crossing got steps that do not increase")
