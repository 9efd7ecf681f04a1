"""The ranges that meet a check, as surfaces in a chart, and where their labels stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from reproaudit.lazy import np
from reproaudit.reports.frame import LETTER, XY, Frame, path_of
from reproaudit.reports.numbers import bound_symbols
from reproaudit.scorecard.pictures import RangeModel

LINE = 13.0
"""Height of a line of text."""

Box = tuple[float, float, float, float]
"""The left, right, upper and lower edge of a box; coordinates grow downwards."""


@dataclass(frozen=True)
class Area:
    """A range that meets the check: its surface and its bounds.

    Attributes:
        label: the bound in figures, at this place; empty for a curve.
        at: the height of the bound.
    """

    surface: str
    edges: str
    label: str
    at: float
    label_x: float
    label_y: float


def areas_of(
    frame: Frame, ranges: Sequence[RangeModel], courses: Sequence[Sequence[XY]]
) -> Iterator[Area]:
    """Every range; a label stands where it covers no line, as far as there is such a place."""
    taken: list[Area] = []
    for one in ranges:
        area = _area(frame, one)
        near = [a for a in taken if a.label and abs(a.at - area.at) < LINE]
        if area.label and not one.x:
            x, y = _free_place(frame, area, courses, near)
            area = replace(area, label_x=x, label_y=y)
        elif area.label and near:
            beside = max(a.label_x + LETTER * len(a.label) + 8 for a in near)
            area = replace(area, label_x=beside)
        taken.append(area)
        yield area


def _free_place(
    frame: Frame, area: Area, courses: Sequence[Sequence[XY]], near: Sequence[Area]
) -> XY:
    """Returns the first place for a label along its bound at which it covers the fewest lines.

    It stands above the bound where that is as good as below.
    """
    width = LETTER * len(area.label)
    first, room = area.label_x, frame.right - 6 - width - area.label_x
    lefts = [round(first + LINE * i, 1) for i in range(max(int(room / LINE), 0) + 1)]
    heights = [area.label_y]
    if area.label_y < area.at and area.at + LINE < frame.bottom:
        heights.append(round(area.at + LINE - 1, 1))
    places = [(left, foot) for foot in heights for left in lefts]
    boxes = [(left - 2, left + width + 2, foot - LINE + 3, foot + 2) for left, foot in places]

    def labels(left: float) -> int:
        return sum(
            left < one.label_x + LETTER * len(one.label) + 8 and one.label_x < left + width + 8
            for one in near
        )

    covered = [
        lines + (len(courses) + 1) * labels(left)
        for lines, (left, _) in zip(crossings(courses, boxes), places, strict=True)
    ]
    return places[covered.index(min(covered))]


def crossings(courses: Sequence[Sequence[XY]], boxes: Sequence[Box]) -> list[int]:
    """Returns how many lines pass through each box; a piece of a line is judged by its ends there.

    Args:
        courses: lines from left to right; a piece that runs backwards passes through nothing.
        boxes: at least one.
    """
    first, last, upper, lower = np.array(boxes).T[:, :, np.newaxis]
    found = np.zeros(len(boxes), dtype=int)
    for course in courses:
        x, y = np.array(course, dtype=float).reshape(-1, 2).T
        run, rise = np.diff(x), np.diff(y)
        slope = np.divide(rise, run, out=np.zeros_like(run), where=run > 0)
        left, right = np.maximum(x[:-1], first), np.minimum(x[1:], last)
        begin = y[:-1] + slope * (left - x[:-1])
        end = np.where(run > 0, y[:-1] + slope * (right - x[:-1]), y[1:])
        inside = (np.minimum(begin, end) <= lower) & (np.maximum(begin, end) >= upper)
        found += (inside & (left <= right)).any(axis=1)
    return [int(one) for one in found]


def _area(frame: Frame, one: RangeModel) -> Area:
    """A range: over the whole width, at one place, or along a curve."""
    xs = [frame.left, frame.right]
    low, high = list(one.low), list(one.high)
    if len(one.x) == 1:
        at = frame.x.at(one.x[0])
        xs = [at, min(at + 14.0, frame.right)]
    elif one.x:
        xs = frame.x.along(one.x)
    if len(low) == 1:
        low, high = low * len(xs), high * len(xs)
    lower = [
        (round(x, 1), frame.bottom if v is None else frame.y.at(v))
        for x, v in zip(xs, low, strict=True)
    ]
    upper = [
        (round(x, 1), frame.top if v is None else frame.y.at(v))
        for x, v in zip(xs, high, strict=True)
    ]
    edges = "".join(
        path_of(line) for line, ends in ((lower, low), (upper, high)) if None not in ends
    )
    label = bound_symbols(one) if len(one.low) == 1 else ""
    at_y = (lower if one.low[-1] is not None else upper)[-1][1]
    surface = f"{path_of([*lower, *reversed(upper)])}z"
    foot = at_y - 3 if at_y - 12 > frame.top else at_y + 12
    return Area(surface, edges, label, at_y, round(xs[0] + 3, 1), round(foot, 1))
