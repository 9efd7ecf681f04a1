"""Axes of pictures: from numbers to coordinates, and round numbers for ticks.

Pure arithmetic. An axis is linear, or logarithmic in the number, in 1 − number, or in its odds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from reproaudit.reports.numbers import stated
from reproaudit.stats import Scale

MANY = 32
"""From so many numbers on it is faster to place them at once."""
LEAST_GAP = 20.0
"""Between two tick labels, in units of the picture."""
FARTHEST = 1e150
NEAR_ONE = 5e-5
"""From this distance to 1 on, a tick is named by the distance: ``1 − 1e-10``."""


@dataclass(frozen=True)
class PlotAxis:
    """The map from natural units to coordinates.

    Attributes:
        scale: of the axis.
        low: its least place on the scale.
        high: its greatest one.
        left: the coordinate of `low`; of an upright axis its lower end.
        right: the coordinate of `high`.
    """

    scale: Scale
    low: float
    high: float
    left: float
    right: float

    def at(self, value: float) -> float:
        """Returns the coordinate of a number; one without a place stands at an end."""
        return self.along((value,))[0]

    def along(self, values: Iterable[float], digits: int = 2) -> list[float]:
        """Returns the coordinates of numbers, to so many decimals."""
        several = list(values)
        if len(several) >= MANY and self.scale in _AT_ONCE and self._is_within_numbers:
            return self._along_at_once(several, digits)
        low, high, left, width = self.low, self.high, self.left, self.right - self.left
        span = high - low
        return [
            round(left + (min(max(self._place(v), low), high) - low) / span * width, digits)
            for v in several
        ]

    def _along_at_once(self, values: Sequence[float], digits: int) -> list[float]:
        """The same for many numbers."""
        places = np.array(values, dtype=np.float64)
        if self.scale is Scale.LOG:
            beyond = ~(places > 0)
            places = np.log10(np.where(beyond, 1.0, places))
            places[beyond] = self.low
        shares = (np.clip(places, self.low, self.high) - self.low) / (self.high - self.low)
        found: list[float] = np.round(
            self.left + shares * (self.right - self.left), digits
        ).tolist()
        return found

    def _place(self, value: float) -> float:
        place = _PLACES[self.scale](value)
        if place is not None:
            return place
        return self.high if self.scale is not Scale.LOG and value > 0.5 else self.low

    @property
    def _is_within_numbers(self) -> bool:
        return self.low >= -FARTHEST and self.high <= FARTHEST

    def cuts(self, value: float) -> bool:
        """Returns whether a number lies beyond the axis."""
        place = place_on_scale(value, self.scale)
        return place is None or not self.low <= place <= self.high

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Returns the finest set of round numbers whose labels do not crowd side by side."""
        return _finest(self, None)

    def upright_ticks(self, gap: float = 28.0) -> tuple[tuple[float, str], ...]:
        """Returns the finest set of round numbers so far apart, one above the other."""
        return _finest(self, gap)


@lru_cache(maxsize=64)  # a chart asks twice: for its margins, and to draw
def _finest(axis: PlotAxis, gap: float | None) -> tuple[tuple[float, str], ...]:
    """The finest round numbers so far apart; without a gap, as their labels need room."""
    best: tuple[tuple[float, str], ...] = ()
    for candidates in _TICKS[axis.scale](axis):
        inside = sorted({v for v in candidates if not axis.cuts(v)})
        if len(inside) <= len(best):
            continue
        labels = (_label(v, axis.scale) for v in inside)
        placed = tuple(zip(axis.along(inside), labels, strict=True))
        if all(
            abs(b[0] - a[0]) >= (6.0 * len(b[1]) + LEAST_GAP if gap is None else gap)
            for a, b in pairwise(placed)
        ):
            best = placed
    return best


def _label(value: float, scale: Scale) -> str:
    if scale is Scale.LOG_COMPLEMENT and 0 < 1 - value < NEAR_ONE:
        return f"1 − {stated(float(f'{1 - value:.3g}'))}"
    return stated(value)


def place_on_scale(value: float, scale: Scale) -> float | None:
    """Returns the place of a value on its scale; None if it has none."""
    return _PLACES[scale](value)


_PLACES: dict[Scale, Callable[[float], float | None]] = {
    Scale.LINEAR: lambda v: min(max(v, -FARTHEST), FARTHEST),  # differences and sums are finite
    Scale.LOG: lambda v: math.log10(v) if v > 0 else None,
    Scale.LOG_COMPLEMENT: lambda v: -math.log10(1 - v) if v < 1 else None,
    Scale.LOGIT: lambda v: math.log10(v / (1 - v)) if 0 < v < 1 else None,
}


_AT_ONCE = {Scale.LINEAR, Scale.LOG}


def _linear(axis: PlotAxis) -> Iterable[list[float]]:
    low, high = (_natural(p, axis.scale) for p in (axis.low, axis.high))
    power = math.floor(math.log10(high - low)) if high > low else 0
    for exponent in (power, power - 1):
        for step in (5, 2, 1):
            width = step * 10.0**exponent
            first = math.ceil(low / width)
            count = min(math.floor(high / width) - first + 1, 50)
            yield [float(f"{(first + i) * width:.10g}") for i in range(max(count, 0))]


def _natural(place: float, scale: Scale) -> float:
    if scale is Scale.LOG:
        return math.pow(10.0, min(place, 300.0))
    if scale is Scale.LOG_COMPLEMENT:
        return 1 - math.pow(10.0, min(-place, 300.0))
    if scale is Scale.LOGIT:
        return 1 / (1 + math.pow(10.0, min(-place, 300.0)))
    return place


def _powers(low: float, high: float) -> Iterable[list[float]]:
    """Yields round numbers between powers of ten, from coarse to fine."""
    first, last = math.floor(low), math.ceil(high)
    for stride in (100, 50, 20, 10, 5, 3, 2, 1):
        yield [float(f"1e{k}") for k in range(first, last + 1) if k % stride == 0]
    for within in ((1, 3), (1, 2, 5)):
        yield [float(f"{m}e{k}") for k in range(first, last + 1) for m in within]


def _log(axis: PlotAxis) -> Iterable[list[float]]:
    yield from _powers(axis.low, axis.high)
    if axis.high - axis.low < 1:
        yield from _linear(axis)


def _log_complement(axis: PlotAxis) -> Iterable[list[float]]:
    for candidates in _powers(-axis.high, -axis.low):
        yield [float(f"{1 - v:.15g}") for v in candidates]
    if axis.high - axis.low < 1:
        yield from _linear(axis)


def _logit(axis: PlotAxis) -> Iterable[list[float]]:
    yield [0.001, 0.5, 0.999]
    yield [0.01, 0.1, 0.5, 0.9, 0.99]
    yield [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999]
    if axis.high - axis.low < 1:
        yield from _linear(axis)


_TICKS: dict[Scale, Callable[[PlotAxis], Iterable[list[float]]]] = {
    Scale.LINEAR: _linear,
    Scale.LOG: _log,
    Scale.LOG_COMPLEMENT: _log_complement,
    Scale.LOGIT: _logit,
}
