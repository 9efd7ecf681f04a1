"""A power of a size, alone or above a constant, fitted to few sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from reproaudit.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_EXPONENT = 6.0
"""Exponents with a constant are looked for from minus to plus this."""

_SPACING = 0.01
_REFINED = 9
_PARTS = 10


TOLD_APART = 1e-12
"""Values that differ by less than this share of the largest are all the same."""


class PowerFit(NamedTuple):
    """A fitted law.

    Attributes:
        exponent: of the size.
        apart: by how large a factor each value and the curve differ, less 1; NaN where the curve is
            not above 0. Shape (size,).
    """

    exponent: float
    apart: NDArray[np.float64]


def power_fit(sizes: NDArray[np.float64], values: NDArray[np.float64]) -> PowerFit:
    """Fit a·size^p by a line through the logarithms; both have shape (size,) and are positive."""
    x = np.log(sizes)
    y = np.log(values)
    line = np.polyfit(x, y, 1)
    return PowerFit(float(line[0]), np.expm1(np.abs(y - np.polyval(line, x))))


def offset_power_fit(sizes: NDArray[np.float64], values: NDArray[np.float64]) -> PowerFit | None:
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
    best = int(_left_over(x, y, grid).argmin())
    if best in (0, len(grid) - 1) or np.ptp(values) <= TOLD_APART * values.max():
        return None
    exponent = float(grid[best])
    for _ in range(_REFINED):
        grid = exponent + spacing * np.linspace(-1, 1, 2 * _PARTS + 1)
        exponent = float(grid[int(_left_over(x, y, grid).argmin())])
        spacing /= _PARTS
    (course,) = _courses(x, np.array([exponent]))
    curve = values.mean() + course * float(course @ y)
    above = np.where(curve > 0, curve, np.nan)
    return PowerFit(exponent, np.maximum(values / above, above / values) - 1)


def _left_over(
    x: NDArray[np.float64], y: NDArray[np.float64], exponents: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The sum of squares that each exponent leaves over of centred values; shape (exponent,)."""
    courses = _courses(x, exponents)
    return np.asarray(((y - courses * (courses @ y)[:, None]) ** 2).sum(axis=-1))


def _courses(x: NDArray[np.float64], exponents: NDArray[np.float64]) -> NDArray[np.float64]:
    """Powers of sizes with these logarithms, centred and of length 1; shape (exponent, size)."""
    p = np.where(exponents == 0, 1.0, exponents)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        powers = np.where(exponents[:, None] == 0, x, np.expm1(p * x) / p)
        return _normalised(powers)


def _normalised(powers: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = powers - powers.mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.linalg.norm(centred, axis=-1, keepdims=True))
