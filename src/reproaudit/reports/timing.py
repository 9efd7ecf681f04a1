"""The stages and onsets of a course in a chart, and where their names and steps stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reproaudit.reports.areas import LINE, Area, crossings
from reproaudit.reports.frame import LETTER, RIGHT_OF_FIELD, XY, Frame, truncated
from reproaudit.reports.numbers import number
from reproaudit.reports.printable import clean
from reproaudit.scorecard.pictures import OnsetModel, StageModel

DIGIT = 7.2
"""Width of a bold digit, roughly."""
LONGEST_STAGE = 16
"""Letters of a stage's name."""


@dataclass(frozen=True)
class Band:
    """A stage: a stretch along the axis.

    Attributes:
        name: empty where the names of so many stages have no room.
        name_x: the middle of the name, which stands beside a stretch too narrow for it.
    """

    x: float
    width: float
    name: str
    name_x: float
    is_odd: bool


@dataclass(frozen=True)
class OnsetMark:
    """An onset with the range of its uncertainty.

    Attributes:
        step: its label, which ends at the place of the label if it stands to the left.
    """

    x: float
    low: float
    width: float
    dash: int
    step: str
    label_x: float
    label_y: float
    is_left: bool


def bands_of(frame: Frame, stages: Sequence[StageModel]) -> Iterator[Band]:
    """Every stage; names stand over the middles, and apart from each other."""
    names = [truncated(clean(one.name), LONGEST_STAGE) for one in stages]
    ends = [(frame.x.at(one.start), frame.x.at(one.end)) for one in stages]
    widths = [LETTER * (len(name) - 0.5 * name.count("I")) + 5 for name in names]
    middles = [(left + right) / 2 for left, right in ends]
    edge = frame.left
    for i, width in enumerate(widths):
        middles[i] = max(middles[i], edge + width / 2)
        edge = middles[i] + width / 2
    edge = frame.right + RIGHT_OF_FIELD
    for i, width in reversed(list(enumerate(widths))):
        middles[i] = min(middles[i], edge - width / 2)
        edge = middles[i] - width / 2
    have_room = edge >= frame.left - 1
    for i, (left, right) in enumerate(ends):
        name = names[i] if have_room or right - left >= widths[i] else ""
        middle = middles[i] if have_room else (left + right) / 2
        yield Band(left, round(right - left, 1), name, round(middle, 1), i % 2 == 1)


def onset_marks(
    frame: Frame,
    onsets: Sequence[OnsetModel],
    courses: Sequence[Sequence[XY]],
    areas: Sequence[Area],
) -> Iterator[OnsetMark]:
    """Every onset; its step stands beside its line where it covers the fewest other lines."""
    xs = [frame.x.at(one.step) for one in onsets]
    drawn = [*courses, *([(frame.left, a.at), (frame.right, a.at)] for a in areas if a.label)]
    taken = [
        (a.label_x, a.label_x + DIGIT * len(a.label), a.label_y) for a in areas if a.label
    ]  # left, right and foot of each label
    for one, x in zip(onsets, xs, strict=True):
        step = number(one.step)
        width = DIGIT * len(step)
        feet = [frame.bottom - 7 - LINE * i for i in range(int((frame.bottom - frame.top) / LINE))]
        sides = [(x + 4, False), (x - 4 - width, True)]
        fitting = [side for side in sides if frame.left < side[0] < frame.right - width]
        places = [(foot, *side) for foot in feet for side in fitting or sides[1:]]
        boxes = [
            (left - 2, left + width + 2, foot - LINE + 2, foot + 3) for foot, left, _ in places
        ]
        covered = []
        for lines, (foot, left, _) in zip(crossings(drawn, boxes), places, strict=True):
            others = sum(left - 2 < other < left + width + 2 for other in xs)
            labels = sum(
                a < left + width + 4 and left < b + 4 and abs(foot - at) < LINE
                for a, b, at in taken
            )
            covered.append(lines + others + (len(drawn) + 1) * labels)
        foot, left, is_left = places[covered.index(min(covered))]
        taken.append((left, left + width, foot))
        low, high = frame.x.at(one.low), frame.x.at(one.high)
        yield OnsetMark(
            x=x,
            low=low,
            width=round(max(high - low, 1.0), 1),
            dash=min(one.quantity, 3),
            step=step,
            label_x=round(left + width if is_left else left, 1),
            label_y=round(foot, 1),
            is_left=is_left,
        )
