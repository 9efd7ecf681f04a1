"""What a course shows of how it was made: a best so far, or a log that was cut at its best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproaudit.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

WHOLE_COURSE = 10
"""The fewest points of a course that tell how it was made, or that two runs do not share."""

PLATEAUS = 3
"""The fewest plateaus of a best so far."""

UNEVEN = 1.5
"""How many times as large as the smallest the largest step from a plateau is, at least: those of a
smooth course that was rounded are all of one size."""


def improves_only(values: NDArray[np.float64]) -> bool:
    """Tell whether a course, of shape (step,), changes and never turns."""
    moves = np.diff(values)
    return bool(moves.any()) and bool((moves >= 0).all() or (moves <= 0).all())


def is_best_so_far(values: NDArray[np.float64]) -> bool:
    """Tell whether a course, of shape (step,), looks like the best of all until each step.

    Such a course never turns, and rests on plateaus that it leaves by steps of all sizes.
    """
    if len(values) < WHOLE_COURSE or not improves_only(values):
        return False
    moves = np.abs(np.diff(values))
    after = moves[1:][(moves[:-1] == 0) & (moves[1:] > 0)]
    return len(after) >= PLATEAUS and bool(after.max() > UNEVEN * after.min())


def ends_at_best(values: NDArray[np.float64]) -> bool:
    """Tell whether the last value of a course, of shape (step,), is its best.

    The best is the least or the largest, by which way the course has gone until its last value.
    """
    if len(values) < WHOLE_COURSE:
        return False
    best = values.min() if values[-1] < values[0] else values.max()
    return bool(values[-1] == best)
