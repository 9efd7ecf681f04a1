"""A power of a size, alone or above a constant, fitted to few sizes."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from reproaudit.lazy import FloatArray, np
from reproaudit.stats.means import quantile_t

MOST_EXPONENT = 6.0
"""Exponents with a constant are looked for from minus to plus this."""

_UNLIKELY = 0.01
"""The chance with which noise alone makes a rival fit surely better."""

_MIDDLES = 161
_WIDTHS = 24
_NARROWEST = 0.01
_PARAMETERS = 3
_SPACING = 0.01
_REFINED = 9
_PARTS = 10


TOLD_APART = 1e-12
"""Values that differ by less than this share of the largest are all the same."""


class PowerFit(NamedTuple):
    """A fitted law.

    Attributes:
        exponent: of the size.
        least: one end of its 90 % interval, by what three parameters leave over; the exponent
            itself where there are but three sizes.
        most: the other end.
        left_over: the logarithm of each value over the curve; NaN where the curve is not above 0.
            Shape (size,).
    """

    exponent: float
    least: float
    most: float
    left_over: FloatArray

    @property
    def apart(self) -> FloatArray:
        """By how large a factor each value and the curve differ, less 1; shape (size,)."""
        return np.asarray(np.expm1(np.abs(self.left_over)))


def power_fit(sizes: FloatArray, values: FloatArray) -> PowerFit:
    """Fit a·size^p by a line through the logarithms; both have shape (size,) and are positive."""
    x = np.log(sizes)
    y = np.log(values)
    line = np.polyfit(x, y, 1)
    exponent = float(line[0])
    _, noise = _curvature(x, y)
    error = quantile_t(0.95, max(len(x) - 3, 1)) * noise / float(np.linalg.norm(x - x.mean()))
    left_over = y - np.polyval(line, x)
    return PowerFit(exponent, exponent - error, exponent + error, left_over)


def slopes_without_an_end(sizes: FloatArray, values: FloatArray) -> list[float]:
    """Return the exponents of lines through the logarithms without the first, and the last, size.

    Both have shape (size,), in any order, and are positive, with at least three sizes.
    """
    order = np.argsort(sizes)
    parts = ((np.log(sizes[some]), np.log(values[some])) for some in (order[1:], order[:-1]))
    return [0.0 if np.ptp(y) <= TOLD_APART else float(np.polyfit(x, y, 1)[0]) for x, y in parts]


FEWEST_OF_STEP = 6
"""The fewest sizes of which a step between neighbours may be told from a trend."""

STEP_ALONE = 0.8
"""The share of the whole change that a step between neighbours makes, at least, if it is a step."""


def slopes_beside_a_step(sizes: FloatArray, values: FloatArray) -> list[float]:
    """Return the exponents of both parts, where a step between neighbours makes the whole change.

    Both have shape (size,), in any order, and are positive. Empty without such a step; a part of
    fewer than three sizes has none.
    """
    if len(sizes) < FEWEST_OF_STEP:
        return []
    order = np.argsort(sizes)
    x = np.log(sizes[order])
    y = np.log(values[order])
    moves = np.diff(y)
    at = int(np.abs(moves).argmax())
    if moves[at] / ((y[-1] - y[0]) or math.inf) < STEP_ALONE:
        return []
    parts = [(x[: at + 1], y[: at + 1]), (x[at + 1 :], y[at + 1 :])]
    return [float(np.polyfit(*part, 1)[0]) for part in parts if len(part[0]) >= _PARAMETERS]


def surely_bends(sizes: FloatArray, values: FloatArray) -> bool:
    """Tell whether logarithms bend beyond noise: a parabola's second term, by Student's t, 1 %.

    Both have shape (size,) and are positive; three sizes do not tell.
    """
    count = len(sizes)
    if count <= _PARAMETERS:
        return False
    bend, noise = _curvature(np.log(sizes), np.log(values))
    return bend > max(quantile_t(1 - _UNLIKELY / 2, count - _PARAMETERS) * noise, TOLD_APART)


def surely_departs(sizes: FloatArray, values: FloatArray, left_over: FloatArray) -> bool:
    """Tell whether a law misses values beyond noise: whether a rival fits surely better.

    All have shape (size,); values are positive, and what the law leaves over is in logarithms.
    Rivals are a parabola through the logarithms, a rise from one level to another, and the law that
    leaves one size out: by F tests, 1 % each. Three sizes do not tell, and four no rise.
    """
    count = len(sizes)
    squares = float(left_over @ left_over)
    if count <= _PARAMETERS or np.sqrt(squares / count) <= TOLD_APART:
        return False
    free = count - _PARAMETERS
    x = np.log(sizes)
    y = np.log(values)
    _, noise = _curvature(x, y)
    bends = _ratio(squares, free * noise**2) > 1 + quantile_t(1 - _UNLIKELY / 2, free) ** 2 / free
    weight = 1 - 1 / count - (x - x.mean()) ** 2 / float(((x - x.mean()) ** 2).sum())
    without = squares - float((left_over**2 / weight).max())
    most = 1 + quantile_t(1 - _UNLIKELY / 2 / count, free) ** 2 / free
    if bends or _ratio(squares, without) > most:
        return True
    centred = y - y.mean()
    rise = float(centred @ centred - ((_rises(tuple(x)) @ centred) ** 2).max())
    return free > 1 and _ratio(squares, rise) > _UNLIKELY ** (-2 / (free - 1))


def _ratio(squares: float, fewer: float) -> float:
    """How many times more a law leaves over than its rival; infinite if that leaves nothing."""
    return squares / fewer if fewer > 0 else math.inf


@lru_cache(maxsize=64)
def _rises(x: tuple[float, ...]) -> FloatArray:
    """Rises from one level to another over logarithms of sizes, as `_courses`."""
    at = np.array(x)
    span = float(np.ptp(at))
    middles = np.linspace(at.min() - span / 2, at.max() + span / 2, _MIDDLES)
    widths = span * np.geomspace(_NARROWEST, 1.0, _WIDTHS)
    steep = (at - middles[:, None, None]) / widths[:, None]
    return _normalised(np.tanh(steep / 2).reshape(-1, len(at)))


def _curvature(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """The size of a parabola's second term, by the length of what a line leaves of it, and noise.

    Noise is the standard deviation of what the parabola leaves over; 0 of three points.
    """
    line = y - np.polyval(np.polyfit(x, y, 1), x)
    square = x**2 - np.polyval(np.polyfit(x, x**2, 1), x)
    square /= np.linalg.norm(square)
    bend = float(square @ line)
    free = len(x) - _PARAMETERS
    left_over = float(np.linalg.norm(line - bend * square))
    return abs(bend), left_over / np.sqrt(free) if free > 0 else 0.0


def offset_power_fit(sizes: FloatArray, values: FloatArray) -> PowerFit | None:
    """Fit c + a·size^p by least squares: p on a fine grid, c and a by a line; then refined.

    Both have shape (size,) and are positive, with at least four sizes. p = 0 is the logarithm, the
    limit of (size^p - 1) / p. None if no exponent between -`MOST_EXPONENT` and `MOST_EXPONENT` fits
    best, as of values that are all the same, or of an exponential course.
    """
    x = np.log(sizes)
    x = x - x.mean()
    y = values - values.mean()
    grid = np.arange(-MOST_EXPONENT, MOST_EXPONENT + _SPACING / 2, _SPACING)
    spacing = _SPACING
    left_over = _left_over(x, y, grid)
    best = int(left_over.argmin())
    free = len(sizes) - _PARAMETERS
    near = grid[left_over <= left_over[best] * (1 + quantile_t(0.95, free) ** 2 / free)]
    if best in (0, len(grid) - 1) or np.ptp(values) <= TOLD_APART * values.max():
        return None
    exponent = float(grid[best])
    for _ in range(_REFINED):
        grid = exponent + spacing * np.linspace(-1, 1, 2 * _PARTS + 1)
        exponent = float(grid[int(_left_over(x, y, grid).argmin())])
        spacing /= _PARTS
    (course,) = _courses(x, np.array([exponent]))
    curve = values.mean() + course * float(course @ y)
    left_over = np.log(values / np.where(curve > 0, curve, np.nan))
    return PowerFit(exponent, min(exponent, near[0]), max(exponent, near[-1]), left_over)


def _left_over(x: FloatArray, y: FloatArray, exponents: FloatArray) -> FloatArray:
    """The sum of squares that each exponent leaves over of centred values; shape (exponent,)."""
    courses = _courses(x, exponents)
    return np.asarray(((y - courses * (courses @ y)[:, None]) ** 2).sum(axis=-1))


def _courses(x: FloatArray, exponents: FloatArray) -> FloatArray:
    """Powers of sizes with these logarithms, centred and of length 1; shape (exponent, size)."""
    p = np.where(exponents == 0, 1.0, exponents)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.where(exponents[:, None] == 0, x, np.expm1(p * x) / p)
        return _normalised(powers)


def _normalised(powers: FloatArray) -> FloatArray:
    centred = powers - powers.mean(axis=-1, keepdims=True)
    length = np.linalg.norm(centred, axis=-1, keepdims=True)
    return np.asarray(centred / np.maximum(length, math.ulp(0.0)))
