"""The geometry of the pictures beside a claim: courses over training and comparisons over an axis.

Pure arithmetic from the scorecard's data to coordinates; `templates/chart.html.j2` draws them. Who
is drawn is told by colour and by the mark at a line's end (a disc the claim, a square a control, a
diamond the constructed solution), what by the dashes; colour never tells anything alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from reproaudit.audit.plan import Role
from reproaudit.reports.axes import PlotAxis
from reproaudit.reports.frame import (
    BELOW,
    CHART_WIDTH,
    LETTER,
    RIGHT_OF_FIELD,
    XY,
    Frame,
    axis_of,
    horizontal_axis,
    path_of,
    truncated,
)
from reproaudit.reports.numbers import bound_symbols, number
from reproaudit.reports.printable import clean
from reproaudit.scorecard.figures import CurveModel, FigureModel
from reproaudit.scorecard.pictures import (
    LineModel,
    OnsetModel,
    PictureModel,
    RangeModel,
    StageModel,
    is_early,
)
from reproaudit.scorecard.stages import mean_run
from reproaudit.stats import Scale

LINE = 13.0
"""Height of a line of text."""
DIGIT = 7.2
"""Width of a bold digit, roughly."""
LONGEST_STAGE = 16
"""Letters of a stage's name."""
FAR = 1.5
"""Controls are drawn to this many heights of what is judged beyond it; the rest is cut."""
STROKE_KINDS = {
    Role.EXPERIMENT: "claim",
    Role.CONTROL: "control",
    Role.POSITIVE_CONTROL: "positive",
}
MOST_NAMES = 2
"""A vertical axis is named by so many quantities at most; the key names every line."""
LINE_COLOURS = 7
"""Colours of a figure's lines; the dashes change from line to line, so that all differ."""


@dataclass(frozen=True)
class Stroke:
    """One line with its runs.

    Attributes:
        kind: claim, control, positive, or line-0 to line-6 of a figure; decides the colour.
        dash: 0 to 3; decides the dashes.
        path: of the mean.
        runs: of every run, in one path.
        band: of a figure, around the line.
        dots: where there are few places, a mark at each of them; otherwise at the end.
        tag: what stands at its end, such as a control's number.
        label: for the legend.
    """

    kind: str
    dash: int
    path: str
    runs: str
    band: str
    dots: tuple[XY, ...]
    tag: str
    label: str


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


@dataclass(frozen=True)
class Chart:
    """A picture, laid out.

    Attributes:
        name: a short text for those who cannot see it; the description says what is seen.
        guides: coordinates on the axis that are judged, where not all are.
        cut: the kinds of lines that go beyond the picture, and are drawn at its edge.
        plateaus: (left, right, y) of levels at which a quantity waits.
    """

    name: str
    height: float
    left: float
    right: float
    top: float
    bottom: float
    x_label: str
    y_label: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    strokes: tuple[Stroke, ...]
    areas: tuple[Area, ...] = ()
    bands: tuple[Band, ...] = ()
    onsets: tuple[OnsetMark, ...] = ()
    plateaus: tuple[tuple[float, float, float, int], ...] = ()
    guides: tuple[float, ...] = ()
    cut: frozenset[str] = frozenset()
    width: float = CHART_WIDTH

    @property
    def in_key(self) -> tuple[Stroke, ...]:
        """The lines in the order of the key: the claim's own first, as the audit has them."""
        order = ("claim", "control", "positive")
        ranked = {one.kind for one in self.strokes} <= set(order)
        return tuple(reversed(self.strokes)) if ranked else self.strokes


def picture_chart(picture: PictureModel, *, strip: bool = False) -> Chart:
    """Lays out a picture that stands beside a claim.

    Args:
        picture: the data.
        strip: whether to leave axes and single runs out and squeeze it into a strip.
    """
    log = picture.y_scale == "log"
    means = [mean_run_of(line, picture) for line in picture.lines]
    y = _upright(picture, means)
    places = [v for one in picture.lines for v in one.x]
    x = horizontal_axis(places, picture.x_scale, is_course=picture.kind == "course")
    frame_of = Frame.strip if strip else Frame.around
    frame = frame_of(y, x, has_stages=bool(picture.stages))
    strokes, courses, runs = [], [], []
    several = len({line.control for line in picture.lines if line.role is Role.CONTROL}) > 1
    for line, mean in zip(picture.lines, means, strict=True):
        is_course = picture.kind == "course"
        points = frame.points(line.x, mean)
        courses.append(points)
        runs += [frame.points(line.x, run) for run in line.runs] if is_course else []
        strokes.append(
            Stroke(
                kind=STROKE_KINDS[line.role],
                dash=min(line.quantity, 3),
                path=path_of(points) if picture.x_scale != "words" else "",
                runs="".join(path_of(frame.points(line.x, run)) for run in line.runs)
                if len(line.runs) > 1 and picture.x_scale != "words" and not strip
                else "",
                band="",
                dots=tuple(points[-1:] if is_course else points),
                tag=str(line.control) if several and line.control else "",
                label=line_words(line, picture),
            )
        )
    areas = tuple(_areas(frame, picture.ranges, courses))
    return Chart(
        name=clean(f"{picture.y_label} by {picture.x_label}"),
        height=frame.bottom + BELOW,
        left=frame.left,
        right=frame.right,
        top=frame.top,
        bottom=frame.bottom,
        x_label=axis_words(picture.x_label, "", picture.x_scale == "log"),
        y_label=truncated(axis_words(picture.y_label, picture.unit, log)),
        x_ticks=frame.x_ticks(),
        y_ticks=frame.y.upright_ticks(),
        strokes=tuple(reversed(strokes)),  # the claim's own are drawn last, on top
        areas=areas,
        bands=tuple(_bands(frame, picture.stages)),
        onsets=tuple(_onsets(frame, picture.onsets, [*courses, *runs], areas)),
        plateaus=tuple(
            (frame.left, frame.x.at(one.until), frame.y.at(one.level), min(one.quantity, 3))
            for one in picture.plateaus
        ),
        guides=tuple(frame.x.at(one) for one in picture.judged),
        cut=frozenset(
            STROKE_KINDS[line.role]
            for line, mean in zip(picture.lines, means, strict=True)
            if any(y.cuts(max(v, picture.floor) if log else v) for v in mean)
        ),
    )


def mean_run_of(line: LineModel, picture: PictureModel) -> list[float]:
    """Returns the mean over a line's runs, geometric where values are drawn logarithmically."""
    import numpy as np

    runs = [np.asarray(run) for run in line.runs]
    mean = mean_run(runs, log=picture.y_scale == "log", floor=picture.floor)
    return [float(v) for v in mean]


def line_words(line: LineModel, picture: PictureModel) -> str:
    """Returns who a line is, and what, unless the picture shows one thing alone."""
    who = {Role.EXPERIMENT: "this claim", Role.POSITIVE_CONTROL: "constructed solution"}.get(
        line.role, f"control {line.control}" if line.control else "control"
    )
    named = f" ({line.name})" if line.name and line.role is Role.CONTROL else ""
    alone = {one.label for one in picture.lines if one.role is Role.EXPERIMENT} == {line.label}
    return clean(f"{who}{named}" if alone else f"{who}{named}: {line.label}")


def axis_words(label: str, unit: str, log: bool) -> str:
    """Returns an axis' label with its unit, and with its scale unless that is linear."""
    about = ", ".join(filter(None, (unit, "log scale" if log else "")))
    return clean(f"{label} ({about})" if about else label)


def figure_chart(figure: FigureModel) -> Chart:
    """Lays out curves or a comparison that the audit asks for."""
    log = figure.log and any(v > 0 for curve in figure.curves for v in curve.mean)
    every = [v for c in figure.curves for v in (*c.mean, *c.low, *c.high)]
    values = [v for v in every if math.isfinite(v) and (v > 0 or not log)]
    y = axis_of(values or [0.0, 1.0], Scale.LOG if log else Scale.LINEAR)
    coordinates = [v for c in figure.curves for v in c.x]
    scale = "words" if any(isinstance(v, str) for v in coordinates) else "linear"
    if figure.kind == "curves" and scale == "linear" and any(map(_early, figure.curves)):
        scale = "log"
    x = horizontal_axis(coordinates, scale, is_course=figure.kind == "curves")
    frame = Frame.around(y, x, has_stages=bool(figure.stages))
    strokes = [
        _figure_stroke(frame, one, place, log, scale, figure.kind == "curves")
        for place, one in enumerate(figure.curves)
    ]
    names = dict.fromkeys(curve.label.partition(", ")[0] for curve in figure.curves)
    y_label = " and ".join(names) if len(names) <= MOST_NAMES else ""
    return Chart(
        name=clean(figure.title),
        height=frame.bottom + BELOW,
        left=frame.left,
        right=frame.right,
        top=frame.top,
        bottom=frame.bottom,
        x_label=axis_words(figure.x_label, "", scale == "log"),
        y_label=truncated(axis_words(y_label, figure.y_label, log)),
        x_ticks=frame.x_ticks(),
        y_ticks=frame.y.upright_ticks(),
        strokes=tuple(strokes),
        bands=tuple(_bands(frame, figure.stages)),
    )


def _early(curve: CurveModel) -> bool:
    import numpy as np

    steps = [float(v) for v in curve.x]
    return len(steps) > 1 and is_early(steps, np.asarray(curve.mean))


def _figure_stroke(
    frame: Frame, curve: CurveModel, place: int, log: bool, scale: str, is_course: bool
) -> Stroke:
    low, high = frame.points(curve.x, curve.low), frame.points(curve.x, curve.high)
    every = frame.points(curve.x, curve.mean)
    has_place = [v > 0 or not log for v in curve.mean]
    mean = [point for point, has in zip(every, has_place, strict=True) if has]
    stretches = [
        [point for point, _ in some]
        for has, some in groupby(zip(every, has_place, strict=True), key=lambda one: one[1])
        if has  # a line across what has no place would show values that nobody measured
    ]
    band = f"{path_of([*low, *reversed(high)])}z" if is_course and low and high else ""
    bars = "" if is_course else "".join(path_of(pair) for pair in zip(low, high, strict=True))
    return Stroke(
        kind=f"line-{place % LINE_COLOURS}",
        dash=place % 4,
        path="".join(map(path_of, stretches)) if scale != "words" else "",
        runs=bars,
        band=band,
        dots=() if is_course else tuple(mean),
        tag="",
        label=clean(curve.label),
    )


# --- the vertical axis ---------------------------------------------------------------------------


def _upright(picture: PictureModel, means: Sequence[Sequence[float]]) -> PlotAxis:
    """The vertical axis: all of the claim's runs and bounds, and of controls what is not far."""
    log = picture.y_scale == "log"
    floor = picture.floor if log else -math.inf
    own = [
        max(v, floor)
        for line in picture.lines
        if line.role is Role.EXPERIMENT
        for run in line.runs
        for v in run
    ]
    own += [max(v, floor) for r in picture.ranges for v in (*r.low, *r.high) if v is not None]
    own += [max(one.level, floor) for one in picture.plateaus]
    scale = Scale.LOG if log else Scale.LINEAR
    axis = axis_of(own, scale, air=0.0)
    reach = FAR * (axis.high - axis.low)
    low, high = axis.low, axis.high
    for mean in means:
        for v in mean:
            place = math.log10(max(v, floor)) if log else v
            low, high = (
                min(low, max(place, axis.low - reach)),
                max(high, min(place, axis.high + reach)),
            )
    air = 0.04 * (high - low)
    return PlotAxis(scale, low - air, high + air, 0, 1)


# --- what lines are held to ---------------------------------------------------------------------


def _areas(
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
        lines = sum(_crosses(course, *box) for course in courses)
        labels = sum(
            left < one.label_x + LETTER * len(one.label) + 8 and one.label_x < left + width + 8
            for one in near
        )
        return float(lines + (len(courses) + 1) * labels)

    return min(((x, y) for y in heights for x in lefts), key=covered)


def _crosses(course: Sequence[XY], across: XY, upright: XY) -> bool:
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


# --- when it happens ----------------------------------------------------------------------------


def _bands(frame: Frame, stages: Sequence[StageModel]) -> Iterator[Band]:
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


def _onsets(
    frame: Frame,
    onsets: Sequence[OnsetModel],
    courses: Sequence[Sequence[XY]],
    areas: Sequence[Area],
) -> Iterator[OnsetMark]:
    """Every onset; its step stands beside its line where it covers the fewest other lines."""
    xs = [frame.x.at(one.step) for one in onsets]
    levels = [[(frame.left, a.at), (frame.right, a.at)] for a in areas if a.label]
    taken = [
        (a.label_x, a.label_x + DIGIT * len(a.label), a.label_y) for a in areas if a.label
    ]  # left, right and foot of each label
    for one, x in zip(onsets, xs, strict=True):
        step = number(one.step)
        width = DIGIT * len(step)
        feet = [frame.bottom - 7 - LINE * i for i in range(int((frame.bottom - frame.top) / LINE))]
        sides = [(x + 4, False), (x - 4 - width, True)]
        fitting = [side for side in sides if frame.left < side[0] < frame.right - width]

        def covered(place: tuple[float, tuple[float, bool]], width: float = width) -> int:
            foot, (left, _) = place
            box = (left - 2, left + width + 2), (foot - LINE + 2, foot + 3)
            lines = sum(_crosses(course, *box) for course in (*courses, *levels))
            lines += sum(left - 2 < other < left + width + 2 for other in xs)
            labels = sum(
                a < left + width + 4 and left < b + 4 and abs(foot - at) < LINE
                for a, b, at in taken
            )
            return lines + (len(courses) + len(levels) + 1) * labels

        places = ((foot, side) for foot in feet for side in fitting or sides[1:])
        foot, (left, is_left) = min(places, key=covered)
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
