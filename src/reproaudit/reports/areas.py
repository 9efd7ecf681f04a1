"""The ranges that meet a check, as surfaces in a chart, and where their labels stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reproaudit.reports.frame import LETTER, XY, Frame, path_of
from reproaudit.reports.numbers import bound_symbols
from reproaudit.scorecard.pictures import RangeModel

LINE = 13.0
"""Height of a line of text."""


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

    def covered(place: XY) -> float:
        left, foot = place
        box = (left - 2, left + width + 2), (foot - LINE + 3, foot + 2)
        lines = sum(crosses(course, *box) for course in courses)
        labels = sum(
            left < one.label_x + LETTER * len(one.label) + 8 and one.label_x < left + width + 8
            for one in near
        )
        return float(lines + (len(courses) + 1) * labels)

    return min(((x, y) for y in heights for x in lefts), key=covered)


def crosses(course: Sequence[XY], across: XY, upright: XY) -> bool:
    """Returns whether a line passes through a box; a piece of it is judged by its ends there."""
    for (x0, y0), (x1, y1) in pairwise(course):
        left, right = max(x0, across[0]), min(x1, across[1])
        if left > right:
            continue
        slope = (y1 - y0) / (x1 - x0) if x1 > x0 else 0.0
        ends = (y0, y1) if x1 <= x0 else (y0 + slope * (left - x0), y0 + slope * (right - x0))
        if min(ends) <= upright[1] and max(ends) >= upright[0]:
            return True
    return False


def _area(frame: Frame, one: RangeModel) -> Area:
    """A range: over the whole width, at one place, or along a curve."""
    xs: list[float] = [frame.left, frame.right]
    low, high = list(one.low), list(one.high)
    if len(one.x) == 1:
        at = frame.x.at(one.x[0])
        xs = [at, min(at + 14.0, frame.right)]
    elif one.x:
        xs = [frame.x.at(v) for v in one.x]
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
