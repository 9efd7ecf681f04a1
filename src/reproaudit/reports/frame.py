"""The field in which a chart's lines are drawn: its margins, and its horizontal axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

from reproaudit.reports.axes import PlotAxis
from reproaudit.reports.numbers import stated
from reproaudit.reports.printable import clean
from reproaudit.stats import Scale

CHART_WIDTH = 360.0
PLOT = 180.0
"""Height of the field in which lines are drawn."""
ABOVE, STAGES, BELOW = 20.0, 14.0, 36.0
"""Heights of the vertical axis' label, of the stages' names, and of the axis below."""
MOST_MARKS = 12
"""So few places of an axis are its ticks."""
STRIP = (160.0, 36.0)
"""Width and height of a strip without names of stages."""
RIGHT_OF_FIELD = 5.0
"""Room to the right of the field in every picture; in charts there is more."""
LETTER = 6.3
"""Width of a letter, roughly."""

XY = tuple[float, float]
"""A place in a picture."""
X = Sequence[float | str]


@dataclass(frozen=True)
class Frame:
    """The field in which lines are drawn, with its axes."""

    x: Across
    y: PlotAxis
    left: float
    right: float
    top: float
    bottom: float

    @classmethod
    def around(cls, y: PlotAxis, x: Across, *, has_stages: bool) -> Frame:
        """Returns the field of a chart, with room for its labels and the names of stages."""
        top = ABOVE + (STAGES if has_stages else 0.0)
        bottom = top + PLOT
        upright = PlotAxis(y.scale, y.low, y.high, bottom, top)
        letters = max((len(label) for _, label in upright.upright_ticks()), default=1)
        left, right = 8 + LETTER * letters, CHART_WIDTH - 16
        return cls(x.between(left, right), upright, left, right, top, bottom)

    @classmethod
    def strip(cls, y: PlotAxis, x: Across, *, has_stages: bool) -> Frame:
        """Returns the field of a strip, which has no axes, with room for marks at its edges."""
        top = STAGES if has_stages else 0.0
        bottom, right = top + STRIP[1], STRIP[0] - RIGHT_OF_FIELD
        upright = PlotAxis(y.scale, y.low, y.high, bottom - 5, top + 5)
        return cls(x.between(1, right), upright, 1, right, top, bottom)

    def runs(self, x: X, several: Iterable[Sequence[float]]) -> list[list[XY]]:
        """Returns the places of several runs over the same axis, some of them shorter than it."""
        across = self.x.along(x, 1)
        runs = list(several)
        placed = self.y.along(chain.from_iterable(runs), 1)
        ends = list(accumulate(map(len, runs), initial=0))
        upright = (placed[start:end] for start, end in pairwise(ends))
        return [list(zip(across, run, strict=False)) for run in upright]

    def x_ticks(self) -> tuple[tuple[float, str], ...]:
        """Returns the ticks of the horizontal axis."""
        return self.x.ticks()


@dataclass(frozen=True)
class Across:
    """The horizontal axis: of numbers, or of words side by side.

    Attributes:
        zero: whether its left end stands for 0, which has no place on a logarithmic axis.
        marks: the only places that were measured, if they are few.
    """

    axis: PlotAxis
    words: tuple[str, ...] = ()
    zero: bool = False
    marks: tuple[float, ...] = ()

    def between(self, left: float, right: float) -> Across:
        """Returns the same axis between two coordinates."""
        axis = PlotAxis(self.axis.scale, self.axis.low, self.axis.high, left, right)
        return Across(axis, self.words, self.zero, self.marks)

    def at(self, value: float | str) -> float:
        """Returns the coordinate of a number or a word."""
        return self.along((value,))[0]

    def along(self, values: X, digits: int = 2) -> list[float]:
        """Returns the coordinates of numbers or words, to so many decimals."""
        place = (lambda v: self.words.index(str(v))) if self.words else float
        return self.axis.along(map(place, values), digits)

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Returns coordinates with their labels, which do not crowd."""
        if self.words:
            room = max(int((self.axis.right - self.axis.left) / len(self.words) / LETTER), 3)
            return tuple((self.at(w), truncated(clean(w), room)) for w in self.words)
        found = self.axis.ticks()
        if self.marks:
            marks = tuple((self.at(v), stated(v)) for v in self.marks)
            room = all(b[0] - a[0] > LETTER * len(b[1]) for a, b in pairwise(marks))
            return marks if room else found
        if not self.zero:
            return found
        return ((self.axis.left, "0"), *(one for one in found if one[0] > self.axis.left + 20))


def horizontal_axis(every: X, scale: str, *, is_course: bool) -> Across:
    """The horizontal axis through all coordinates."""
    if scale == "words":
        words = tuple(dict.fromkeys(map(str, every)))
        return Across(PlotAxis(Scale.LINEAR, -0.5, len(words) - 0.5, 0, 1), words)
    numbers = sorted({float(v) for v in every}) or [0.0, 1.0]
    few = tuple(numbers) if 2 <= len(numbers) <= MOST_MARKS and not is_course else ()
    if scale == "linear":
        low, high = numbers[0], numbers[-1]
        return Across(PlotAxis(Scale.LINEAR, low, high if high > low else low + 1, 0, 1), marks=few)
    positive = [math.log10(v) for v in numbers if v > 0]
    low, high = positive[0], max(positive[-1], positive[0] + 0.1)
    has_zero = numbers[0] <= 0
    if has_zero:
        low -= max(0.1 * (high - low), 0.15)
    return Across(PlotAxis(Scale.LOG, low, high, 0, 1), zero=has_zero, marks=few)


def axis_of(values: Sequence[float], scale: Scale, air: float = 0.04) -> PlotAxis:
    """Returns an axis through all values, with air at both ends."""
    places = [math.log10(v) if scale is Scale.LOG else v for v in values]
    low, high = min(places), max(places)
    if high - low < 1e-9 * max(abs(low), abs(high), 1e-9):
        pad = 0.5 if scale is Scale.LOG else 0.5 * max(abs(high), 1e-6)
        low, high = low - pad, high + pad
    room = air * (high - low)
    return PlotAxis(scale, low - room, high + room, 0, 1)


_PLACE = "%g %g"  # in a third less time than an f-string takes, of the thousands on a page


def path_of(points: Sequence[XY]) -> str:
    """Returns a line through points, each after the first by its step, in half the letters."""
    if not points:
        return ""
    steps = [_PLACE % (x - u, y - v) for (u, v), (x, y) in pairwise(points)]
    told = f"M{_PLACE % points[0]}{'l' if steps else ''}{' '.join(steps)}"
    return told.replace(" 0.", " .").replace("-0.", "-.").replace(" -", "-")


def truncated(text: str, most: int = 54) -> str:
    """Returns text of at most so many letters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
