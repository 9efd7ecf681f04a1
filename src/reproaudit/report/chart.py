"""A claim's pictures as SVG: its figure, the same in small, and the runs of its rows as marks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from markupsafe import Markup

from reproaudit.audit.arms import Role
from reproaudit.checks import Side
from reproaudit.formats.numbers import counted, number, with_power
from reproaudit.formats.scorecard import Figure, LineRole, Lines, Row, RowRole
from reproaudit.formats.verdict import Estimate
from reproaudit.report.parts import CheckRows, ClaimPart, asking_row, bounded_words

WIDTH = 440.0
LEAST_HEIGHT = 236.0
GUTTER = 126.0
"""The width at the right that labels have, so that none lies on a line."""
BOTTOM = 38.0
LETTER = 6.4
"""The width of a letter, on average."""
EDGE = 4.0
FAR_AWAY = 10.0
"""How many times beyond the rest a logarithmic axis follows what is built by hand."""
LABEL_LETTERS = 20
LABEL_LINE = 12.0
TITLE_LETTERS = 68

SMALL = (140.0, 48.0)
FEW = 5
"""The most runs of an arm in a figure in small."""

STRIP_WIDTH = 170.0
STRIP_ROW = 11.0
MARKS_ROW = 18.0
FEW_ARMS = 4
"""The most arms whose runs a strip has."""
MOST_ARMS = 6
"""The most arms whose runs a condition has as marks."""

LEAST_SPAN = 1e-300
"""Numbers this close together are drawn as equal: their distance has no logarithm in floats."""

ORDER: Sequence[LineRole] = (
    "positive",
    "reference",
    "control",
    "side_earlier",
    "side",
    "earlier",
    "later",
    "run",
    "side_fit",
    "fit",
)
"""What is drawn first lies below the rest."""


class _Frame(NamedTuple):
    """The ends of what lines are drawn in."""

    left: float
    right: float
    top: float
    floor: float


def chart(figure: Figure) -> Markup:
    """Return a figure: axes, every run as a thin line, bound, stages, labels in a gutter."""
    title = textwrap.wrap(figure.title, TITLE_LETTERS)
    top = 14.0 * len(title) + 8
    words = [textwrap.wrap(label, LABEL_LETTERS) for _, label, _ in _named(figure)]
    needed = LABEL_LINE * sum(map(len, words)) + 5 * len(words)
    floor = max(LEAST_HEIGHT, top + needed + BOTTOM) - BOTTOM
    y = _Axis(_heights(figure), figure.log_y, floor - EDGE, top + EDGE)
    left = 10 + LETTER * max(len(_tick(value)) for value in y.ticks())
    right = WIDTH - GUTTER
    x = _Axis(_places(figure), figure.log_x, left, right)
    frame = _Frame(left, right, top, floor)
    parts = [*_accepted(figure, y, frame), *_grid(x, y, figure, left, floor)]
    parts += _stages(x, figure, top, floor)
    parts += _levels(figure, y, left, right)
    for lines in sorted(figure.lines, key=lambda lines: ORDER.index(lines.role)):
        parts += _drawn(figure, lines, x, y)
    parts += _labels(figure, y, top, floor)
    parts += [_text(4, 12.0 + 14 * row, line) for row, line in enumerate(title)]
    parts.append(_text(right, floor + BOTTOM - 5, figure.x_title, "end"))
    return _svg("chart", WIDTH, floor + BOTTOM, chart_label(figure), parts)


def picture(figure: Figure) -> Markup:
    """Return a figure in small: the lines alone."""
    x = _Axis(_places(figure), figure.log_x, 2.0, SMALL[0] - 2)
    y = _Axis(_heights(figure), figure.log_y, SMALL[1] - 2, 2.0)
    parts = [*_levels(figure, y, 2, SMALL[0] - 2)]
    for lines in sorted(figure.lines, key=lambda lines: ORDER.index(lines.role)):
        parts += [_curve(lines.role, lines.x, run, x, y) for run in lines.runs[:FEW]]
    return _svg("picture", *SMALL, chart_label(figure), parts)


def chart_label(figure: Figure) -> str:
    """Return in words what a figure shows."""
    said = []
    for lines in figure.lines:
        ends = [run[-1] for run in lines.runs]
        low = number(min(ends))
        high = number(max(ends))
        where = f"at {low}" if low == high else f"from {low} to {high}"
        said.append(f"{lines.label} ({counted(len(ends), 'line')}) end {where}")
    said += [level.label for level in figure.levels]
    return f"{figure.title} against {figure.x_title}: {'; '.join(said)}."


def _heights(figure: Figure) -> list[float]:
    """The numbers that the vertical axis has room for.

    What is built by hand may lie orders of magnitude away, as an exact zero does: then the axis
    ends before it, and it is drawn at the edge with its number.
    """
    levels = [level.at for level in figure.levels]
    trained = [lines for lines in figure.lines if lines.role != "positive"]
    heights = [value for lines in trained for run in lines.runs for value in run] + levels
    built = [run[-1] for lines in figure.lines if lines.role == "positive" for run in lines.runs]
    if figure.log_y:
        least = min(heights) / FAR_AWAY
        most = max(heights) * FAR_AWAY
        built = [min(max(value, least), most) for value in built]
    return heights + built


def _places(figure: Figure) -> list[float]:
    return [place for lines in figure.lines for place in lines.x]


def _kind(figure: Figure, lines: Lines) -> str:
    """The class of a line; of two controls the second has its own."""
    if lines.role != "control":
        return lines.role
    first = next(line.arm for line in figure.lines if line.role == "control")
    return "control" if lines.arm == first else "control second"


def _drawn(figure: Figure, lines: Lines, x: _Axis, y: _Axis) -> Iterator[Markup]:
    """Each run as a line; as marks where it is known at few places, and those alone with a fit."""
    kind = _kind(figure, lines)
    is_fit = lines.role in ("fit", "side_fit")
    has_fit = any(line.role in ("fit", "side_fit") for line in figure.lines)
    for run in lines.runs:
        if is_fit or not (figure.points and has_fit):
            yield _curve(kind, lines.x, run, x, y)
        if figure.points and not is_fit:
            yield from (
                _disc(kind, x.place(at), y.place(value))
                for at, value in zip(lines.x, run, strict=True)
            )


def _accepted(figure: Figure, y: _Axis, frame: _Frame) -> Iterator[Markup]:
    if figure.accepted is None:
        return
    low, high = figure.accepted
    floor = frame.floor if low is None else y.place(low)
    top = frame.top if high is None else y.place(high)
    yield _rect("accept", frame.left, top, frame.right - frame.left, floor - top)


def _grid(x: _Axis, y: _Axis, figure: Figure, left: float, floor: float) -> Iterator[Markup]:
    for value in y.ticks():
        at = y.place(value)
        yield _segment("grid", left, at, WIDTH - GUTTER, at)
        yield _text(left - 5, at + 4, _tick(value), "end")
    places = sorted(set(_places(figure)))
    few = figure.points and len(places) <= 10  # its own coordinates or sizes
    end = -math.inf
    for value in places if few else x.ticks():
        words = _tick(value)
        at = x.place(value)
        if at - LETTER * len(words) / 2 > end:  # else it would lie on the one before
            yield _text(at, floor + 15, words, "middle")
            end = at + LETTER * len(words) / 2


def _stages(x: _Axis, figure: Figure, top: float, floor: float) -> Iterator[Markup]:
    start = x.low
    for end, name in figure.stages:
        at = x.place(min(end, x.high))
        yield _segment("stage", at, top, at, floor)
        if at - x.place(start) > LETTER * len(name):  # else it would lie on the one beside
            yield _text((x.place(start) + at) / 2, top + 10, name, "middle")
        start = min(end, x.high)


# --- the gutter -----------------------------------------------------------------------------------


def _named(figure: Figure) -> list[tuple[str, str, list[float]]]:
    """Every label with its class and the heights that it belongs to, each once."""
    ends: dict[tuple[str, str], list[float]] = {}
    heights = _heights(figure)
    for lines in figure.lines:
        reached = [run[-1] for run in lines.runs]
        beyond = not min(heights) <= median(reached) <= max(heights)
        aside = f" ({number(median(reached), 1)})" if beyond else ""
        ends.setdefault((_kind(figure, lines), f"{lines.label}{aside}"), []).extend(reached)
    for level in figure.levels:
        kind = "bound" if level.is_bound else "level"
        ends.setdefault((kind, level.label), []).append(level.at)
    return [(kind, label, heights) for (kind, label), heights in ends.items()]


def _labels(figure: Figure, y: _Axis, top: float, floor: float) -> Iterator[Markup]:
    """The labels at the right of the frame, each as near its line's end as the others let it."""
    labels = [
        (y.place(median(heights)), kind, textwrap.wrap(label, LABEL_LETTERS))
        for kind, label, heights in _named(figure)
    ]
    labels.sort(key=lambda label: label[0])
    sizes = [LABEL_LINE * len(words) + 5 for _, _, words in labels]
    starts: list[float] = []
    least = top
    for (at, _, _), size in zip(labels, sizes, strict=True):
        starts.append(max(least, at - size / 2))
        least = starts[-1] + size
    limit = floor + 4
    for place in reversed(range(len(starts))):
        starts[place] = min(starts[place], limit - sizes[place])
        limit = starts[place]
    left = WIDTH - GUTTER
    for (at, kind, words), start, size in zip(labels, starts, sizes, strict=True):
        yield _segment("leader", left + 1, at, left + 8, start + size / 2)
        for row, line in enumerate(words, 1):
            named = f"label of-{kind.split()[0]}"
            yield _text(left + 11, start + LABEL_LINE * row - 1, line, kind=named)


# --- runs as marks --------------------------------------------------------------------------------


class _Marks(NamedTuple):
    """The numbers of an arm's runs, with the class of their marks and what the arm is called."""

    kind: str
    words: str
    values: Sequence[float]


def ends(part: ClaimPart) -> Markup:
    """Return the runs of a claim without a course as marks: a block for each condition.

    Each block has the condition's own scale, its bound, and the runs of the claim, of its controls
    and of what should succeed. Empty without numbers.
    """
    blocks: list[Markup] = []
    top = 0.0
    for check in part.checks:
        if check[0].role is RowRole.DECIDES:
            parts, top = _block(part, check, top)
            blocks += parts
    label = f"{part.line.title}: every run as a mark"
    return _svg("chart", WIDTH, top, label, blocks) if blocks else Markup()


def _block(part: ClaimPart, check: CheckRows, top: float) -> tuple[list[Markup], float]:
    """A condition's marks from a height on, and the height at which they end."""
    marks = _marks(part, check, MOST_ARMS)
    estimate = _estimate(part, asking_row(check))
    if estimate is None or not marks:
        return [], top
    title = textwrap.wrap(bounded_words(check), TITLE_LETTERS)
    start = top + 14.0 * len(title) + 6
    words = [textwrap.wrap(mark.words, LABEL_LETTERS) for mark in marks]
    heights = [max(MARKS_ROW, LABEL_LINE * len(lines) + 3) for lines in words]
    floor = start + sum(heights)
    right = WIDTH - GUTTER
    x = _scale(estimate, marks, EDGE + 2, right - EDGE)
    parts = [_text(4, top + 12.0 + 14 * row, line) for row, line in enumerate(title)]
    parts += _met(estimate, x, _Frame(0, right, start, floor))
    at = start
    for mark, lines, height in zip(marks, words, heights, strict=True):
        parts += [_mark(mark.kind, x.place(value), at + height / 2) for value in mark.values]
        parts += [
            _text(right + 8, at + LABEL_LINE * (row + 1), line, kind=f"label of-{mark.kind}")
            for row, line in enumerate(lines)
        ]
        at += height
    parts += [_text(x.place(tick), floor + 14, _tick(tick), "middle") for tick in x.ticks()]
    return parts, floor + 24


def strip(part: ClaimPart) -> Markup:
    """Return the condition that a claim's row shows: a mark for each run, and the bound."""
    check = part.leading
    estimate = None if check is None else _estimate(part, asking_row(check))
    if check is None or estimate is None:
        return Markup()
    marks = _marks(part, check, FEW_ARMS)
    if not marks:
        return Markup()
    height = STRIP_ROW * len(marks) + 6
    x = _scale(estimate, marks, EDGE, STRIP_WIDTH - EDGE)
    parts = [*_met(estimate, x, _Frame(0, STRIP_WIDTH, 0, height))]
    parts += [
        _mark(mark.kind, x.place(value), STRIP_ROW * (row + 0.5) + 3)
        for row, mark in enumerate(marks)
        for value in mark.values
    ]
    said = [
        f"{mark.words} from {number(min(mark.values))} to {number(max(mark.values))}"
        for mark in marks
    ]
    label = f"{bounded_words(check)}: {'; '.join(said)}"
    return _svg("strip", STRIP_WIDTH, height, label, parts)


def _marks(part: ClaimPart, check: CheckRows, most: int) -> list[_Marks]:
    """The runs of the claim, then of other arms that ran beside it, as many as asked for."""
    base = part.answer.base.name
    kinds = {
        Role.OWN: "run",
        Role.READING: "run",
        Role.CONTROL: "control",
        Role.ABLATION: "ring",
        Role.POSITIVE_CONTROL: "positive",
    }
    drawn = []
    for row in check:
        estimate = _estimate(part, row)
        if estimate is None or not estimate.numbers or row.arm_role not in kinds or not row.primary:
            continue
        kind = kinds[row.arm_role]
        if row.arm_role in (Role.OWN, Role.READING) and row.arm != base:
            kind = "side"
        at = f", {row.at_words}" if row.at_words else ""
        words = "runs" if row.arm == base and row.arm_role is Role.OWN else row.arm_words
        drawn.append(_Marks(kind, f"{words}{at}", estimate.numbers))
    order = ("run", "control", "positive", "side", "ring")
    return sorted(drawn, key=lambda mark: order.index(mark.kind))[:most]


def _estimate(part: ClaimPart, row: Row) -> Estimate | None:
    """The numbers behind a row of what decides; None where no run has one."""
    arms = [arm for arm in part.answer.arms() if arm.name == row.arm and arm.role is row.arm_role]
    arm = next((arm for arm in arms if arm.at == row.at), None) or next(iter(arms), None)
    if arm is None:
        return None
    same = [
        estimate
        for estimate in arm.estimates
        if (estimate.check, estimate.name) == (row.place, row.condition)
    ]
    grade = part.claim.grade
    place = 0
    if arm.at is None and grade is not None and row.at in grade.primary:
        place = grade.primary.index(row.at)
    return next(iter(same[place:] or same), None)


def _scale(estimate: Estimate, marks: Sequence[_Marks], left: float, right: float) -> _Axis:
    """The scale of all numbers and bounds; what is better lies to the right, whatever the bound."""
    numbers = [*(value for mark in marks for value in mark.values), *_bounds(estimate)]
    log = min(numbers) > 0 and max(numbers) > 5 * min(numbers)
    is_upper = estimate.limit.side in (Side.AT_MOST, Side.BELOW)
    return _Axis(numbers, log, *((right, left) if is_upper else (left, right)))


def _bounds(estimate: Estimate) -> list[float]:
    return [end for end in estimate.limit.accepted if math.isfinite(end)]


def _met(estimate: Estimate, x: _Axis, frame: _Frame) -> Iterator[Markup]:
    """The accepted side as a shade, and each end of it as a line."""
    at = sorted(x.place(end) for end in _bounds(estimate))
    right = at[-1] if len(at) > 1 else frame.right
    yield _rect("accept", at[0], frame.top, right - at[0], frame.floor - frame.top)
    yield from (_segment("bound", end, frame.top, end, frame.floor) for end in at)


def _mark(kind: str, x: float, y: float) -> Markup:
    return _rect("control", x - 2, y - 2, 4, 4) if kind == "control" else _disc(kind, x, y)


# --- what is drawn with ---------------------------------------------------------------------------


class _Axis:
    """A linear or logarithmic scale, from the least to the largest number shown."""

    def __init__(self, values: Sequence[float], log: bool, start: float, end: float) -> None:
        positive = [value for value in values if value > 0]
        self.log = log and bool(positive)
        self.low = min(positive if self.log else values)
        self.high = max(positive if self.log else values)
        if self.high - self.low < (0.0 if self.log else LEAST_SPAN) or self.high == self.low:
            self.high = self.low * 2 if self.log else self.low + 1.0
        self._decades = math.log(self.high) - math.log(self.low) if self.log else 0.0
        self._start = start
        self._length = end - start

    def place(self, value: float) -> float:
        """Return where a number lies; beyond the scale, at its end."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = (math.log(value) - math.log(self.low)) / self._decades
        else:
            share = (value - self.low) / (self.high - self.low)
        return self._start + self._length * share

    def ticks(self) -> list[float]:
        """Return two to six round numbers on the axis."""
        return self._decimal_ticks() if self.log else self._even_ticks()

    def _decimal_ticks(self) -> list[float]:
        first = math.floor(math.log10(self.low))
        last = math.floor(math.log10(self.high))
        decades = [10.0**power for power in range(first, last + 1)]
        inside = [tick for tick in decades if self.low <= tick <= self.high]
        if len(inside) < 3:
            finer = [mantissa * tick for tick in decades for mantissa in (1, 2, 5)]
            inside = [tick for tick in finer if self.low <= tick <= self.high]
        every = math.ceil(len(inside) / 5)
        return inside[::every] if len(inside) > 1 else [self.low, self.high]

    def _even_ticks(self) -> list[float]:
        size = 10 ** math.floor(math.log10((self.high - self.low) / 3))
        step = next(size * m for m in (1, 2, 5, 10) if (self.high - self.low) / (size * m) <= 4.5)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [step * count for count in range(first, last + 1)]


def _svg(name: str, width: float, height: float, label: str, parts: Sequence[Markup]) -> Markup:
    frame = '<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    return Markup(frame).format(name, _n(width), _n(height), label, Markup().join(parts))


def _levels(figure: Figure, y: _Axis, left: float, right: float) -> Iterator[Markup]:
    for level in figure.levels:
        at = y.place(level.at)
        yield _segment("bound" if level.is_bound else "level", left, at, right, at)


def _segment(name: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    line = Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>')
    return line.format(name, *map(_n, (x1, y1, x2, y2)))


def _rect(name: str, x: float, y: float, width: float, height: float) -> Markup:
    shape = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>')
    return shape.format(name, *map(_n, (x, y, width, height)))


def _curve(kind: str, places: Sequence[float], run: Sequence[float], x: _Axis, y: _Axis) -> Markup:
    pairs = zip(places, run, strict=True)
    points = " ".join(f"{_n(x.place(a))},{_n(y.place(b))}" for a, b in pairs)
    return Markup('<polyline class="{}" points="{}"/>').format(kind, points)


def _disc(kind: str, x: float, y: float) -> Markup:
    return Markup('<circle class="{}" cx="{}" cy="{}" r="2.4"/>').format(kind, _n(x), _n(y))


def _tick(value: float) -> str:
    if value and not 1e-3 <= abs(value) < 1e6:
        return with_power(f"{value:.0e}")
    return f"{value:,.6g}" if abs(value) >= 1 else f"{value:.2g}"


def _text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> Markup:
    named = Markup(' class="{}"').format(kind) if kind else ""
    return Markup('<text{} x="{}" y="{}" text-anchor="{}">{}</text>').format(
        named, _n(x), _n(y), anchor, words
    )


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
