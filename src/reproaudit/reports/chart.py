"""The geometry of the pictures beside a claim: courses over training and comparisons over an axis.

Pure arithmetic from the scorecard's data to coordinates; `templates/chart.html.j2` draws them. Who
is drawn is told by colour and by the mark at a line's end (a disc the claim, a square a control, a
diamond the constructed solution), what by the dashes; colour never tells anything alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from reproaudit.audit.plan import Role
from reproaudit.reports.areas import Area, areas_of
from reproaudit.reports.axes import PlotAxis
from reproaudit.reports.frame import (
    BELOW,
    CHART_WIDTH,
    XY,
    Frame,
    axis_of,
    horizontal_axis,
    path_of,
    truncated,
)
from reproaudit.reports.printable import clean
from reproaudit.reports.timing import Band, OnsetMark, bands_of, onset_marks
from reproaudit.scorecard.figures import CurveModel, FigureModel
from reproaudit.scorecard.pictures import (
    LineModel,
    PictureModel,
    is_early,
)
from reproaudit.scorecard.stages import mean_run
from reproaudit.stats import Scale

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
    is_course = picture.kind == "course"
    x = horizontal_axis(places, picture.x_scale, is_course=is_course)
    frame_of = Frame.strip if strip else Frame.around
    frame = frame_of(y, x, has_stages=bool(picture.stages))
    strokes, courses, runs = [], [], []
    several = len({line.control for line in picture.lines if line.role is Role.CONTROL}) > 1
    for line, mean in zip(picture.lines, means, strict=True):
        points, *placed = frame.runs(line.x, [mean, *line.runs])
        courses.append(points)
        runs += placed if is_course else []
        strokes.append(
            Stroke(
                kind=STROKE_KINDS[line.role],
                dash=min(line.quantity, 3),
                path=path_of(points) if picture.x_scale != "words" else "",
                runs="".join(map(path_of, placed))
                if len(line.runs) > 1 and picture.x_scale != "words" and not strip
                else "",
                band="",
                dots=tuple(points[-1:] if is_course else points),
                tag=str(line.control) if several and line.control else "",
                label=line_words(line, picture),
            )
        )
    areas = tuple(areas_of(frame, picture.ranges, courses))
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
        bands=tuple(bands_of(frame, picture.stages)),
        onsets=tuple(onset_marks(frame, picture.onsets, [*courses, *runs], areas)),
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
        bands=tuple(bands_of(frame, figure.stages)),
    )


def _early(curve: CurveModel) -> bool:
    import numpy as np

    steps = [float(v) for v in curve.x]
    return len(steps) > 1 and is_early(steps, np.asarray(curve.mean))


def _figure_stroke(
    frame: Frame, curve: CurveModel, place: int, log: bool, scale: str, is_course: bool
) -> Stroke:
    every, low, high = frame.runs(curve.x, (curve.mean, curve.low, curve.high))
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
        for v in _ends(run)
    ]
    own += [max(v, floor) for r in picture.ranges for v in (*r.low, *r.high) if v is not None]
    own += [max(one.level, floor) for one in picture.plateaus]
    scale = Scale.LOG if log else Scale.LINEAR
    axis = axis_of(own, scale, air=0.0)
    reach = FAR * (axis.high - axis.low)
    low, high = axis.low, axis.high
    for mean in means:
        for v in _ends(mean):
            place = math.log10(max(v, floor)) if log else v
            low, high = (
                min(low, max(place, axis.low - reach)),
                max(high, min(place, axis.high + reach)),
            )
    air = 0.04 * (high - low)
    return PlotAxis(scale, low - air, high + air, 0, 1)


def _ends(values: Sequence[float]) -> tuple[float, ...]:
    """The least and the largest of some numbers, which are what an axis goes by."""
    return (min(values), max(values)) if values else ()
