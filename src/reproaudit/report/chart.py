"""A claim's pictures as SVG: its figure, the same in small, and the strip of runs in its row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from reproaudit.audit.arms import Role
from reproaudit.checks import Side
from reproaudit.formats.numbers import counted, number, with_power
from reproaudit.formats.scorecard import Figure, LineRole, Lines
from reproaudit.formats.verdict import ArmAnswer, Estimate
from reproaudit.scorecard.claims import ClaimText

WIDTH = 424.0
HEIGHT = 230.0
LEFT = 52.0
RIGHT = 26.0
TOP = 20.0
BOTTOM = 36.0

SMALL = (140.0, 48.0)
FEW = 5
"""The most runs of an arm in a figure in small."""

STRIP_WIDTH = 170.0
ROW = 11.0
NAMED_ROW = 30.0
EDGE = 5.0

LEAST_SPAN = 1e-300
"""Numbers this close together are drawn as equal: their distance has no logarithm in floats."""

SAID: Mapping[LineRole, str] = {
    "run": "runs",
    "control": "control",
    "positive": "positive control",
    "rival": "what it must beat",
    "earlier": "claimed first",
    "later": "claimed later",
}
"""What a figure calls a kind of line."""


StripRow = tuple[str, str, Sequence[float]]
"""Of a strip: the mark, whose runs, and their numbers."""


# --- the figure -----------------------------------------------------------------------------------


def chart(claim: ClaimText) -> Markup:
    """Return a claim's figure: axes, every run as a thin line, stages, bound.

    Of a quantity without a course it has a mark for the end of each run. Empty without numbers.
    """
    found = claim.figure
    if found is None:
        return _ends_of_runs(claim)
    x = _Axis([v for one in found.lines for v in one.x], found.log_x, LEFT, WIDTH - RIGHT)
    heights = [v for one in _trained(found) for run in one.runs for v in run]
    if found.bound is not None:
        heights.append(found.bound)
    y = _Axis(heights, found.log_y, HEIGHT - BOTTOM, TOP)
    parts = [*_grid(x, y, found), *_stages(x, claim.stages)]
    order = list(SAID)
    for lines in sorted(found.lines, key=lambda one: -order.index(one.role)):
        kind = _kind(found, lines)
        parts += [_curve(kind, lines.x, run, x, y) for run in lines.runs if y.holds(run)]
    if found.bound is not None:
        at = y.place(found.bound)
        parts.append(_segment("bound", LEFT, at, WIDTH - RIGHT, at))
    parts.append(_text(LEFT, 12.0, claim.title))
    parts.append(_text(WIDTH - RIGHT, HEIGHT - 4, claim.x_title, "end"))
    return _svg("chart", WIDTH, HEIGHT, chart_label(claim), parts)


def picture(claim: ClaimText) -> Markup:
    """Return a claim's figure in small: the lines alone; empty if it has none."""
    found = claim.figure
    if found is None:
        return Markup()
    trained = _trained(found)
    x = _Axis([v for one in trained for v in one.x], found.log_x, 2.0, SMALL[0] - 2)
    heights = [v for one in trained for run in one.runs for v in run]
    y = _Axis(heights, found.log_y, SMALL[1] - 2, 2.0)
    lines = [
        _curve(one.role, one.x, run, x, y) for one in reversed(trained) for run in one.runs[:FEW]
    ]
    return _svg("picture", *SMALL, chart_label(claim), lines)


def _trained(found: Figure) -> list[Lines]:
    return [one for one in found.lines if one.role != "positive"]


def chart_label(claim: ClaimText) -> str:
    """Return in words what a claim's figure shows; empty if it has none."""
    found = claim.figure
    if found is None:
        return ""
    said = []
    for one in found.lines:
        ends = [run[-1] for run in one.runs]
        low = number(min(ends))
        high = number(max(ends))
        where = f"at {low}" if low == high else f"from {low} to {high}"
        said.append(f"{_said_of(claim, one)} ({counted(len(ends), 'line')}) end {where}")
    return f"{claim.title} against {claim.x_title}: {'; '.join(said)}."


def _said_of(claim: ClaimText, lines: Lines) -> str:
    named = lines.role in ("control", "earlier", "later")
    return f"{SAID[lines.role]}: {claim.line(lines)}" if named else SAID[lines.role]


def legend(claim: ClaimText) -> list[tuple[str, str]]:
    """Return the kinds of line in a claim's figure: class, and what it is."""
    found = claim.figure
    lines = found.lines if found is not None else ()
    return list(dict.fromkeys((_kind(found, one), _said_of(claim, one)) for one in lines))


def _kind(found: Figure | None, lines: Lines) -> str:
    """The class of a line; of two controls the second has its own."""
    if found is None or lines.role != "control":
        return lines.role
    first = next(one.arm for one in found.lines if one.role == "control")
    return "control" if lines.arm == first else "control second"


def _grid(x: _Axis, y: _Axis, found: Figure) -> list[Markup]:
    parts = []
    for value in y.ticks():
        at = y.place(value)
        parts.append(_segment("grid", LEFT, at, WIDTH - RIGHT, at))
        parts.append(_text(LEFT - 5, at + 4, _tick(value), "end"))
    places = sorted({v for one in found.lines for v in one.x})
    few = len(places) <= 10  # a graded axis: its own coordinates
    for value in places if few else x.ticks():
        parts.append(_text(x.place(value), HEIGHT - BOTTOM + 15, _tick(value), "middle"))
    return parts


def _stages(x: _Axis, stages: Sequence[tuple[float, str]]) -> list[Markup]:
    parts = []
    start = x.low
    for end, name in stages:
        at = x.place(min(end, x.high))
        parts.append(_segment("stage", at, TOP, at, HEIGHT - BOTTOM))
        parts.append(_text((x.place(start) + at) / 2, TOP + 10, name, "middle"))
        start = min(end, x.high)
    return parts


# --- the strip ------------------------------------------------------------------------------------


def strip(claim: ClaimText) -> Markup:
    """Return a claim's leading condition: discs of its runs, squares of the control, the bound."""
    own = _leading(claim)
    if own is None:
        return Markup()
    rows = _rows(claim, own, [*claim.answer.controls[:2], *claim.answer.ablations[:1]])
    height = ROW * len(rows) + 6
    x = _scale(own, rows, EDGE, STRIP_WIDTH - EDGE)
    parts = _accepted(own, x, 0.0, STRIP_WIDTH, height)
    parts += [
        _mark(kind, x.place(value), ROW * (line + 0.5) + 3)
        for line, (kind, _, values) in enumerate(rows)
        for value in values
    ]
    return _svg("strip", STRIP_WIDTH, height, _strip_label(claim, own, rows), parts)


def _ends_of_runs(claim: ClaimText) -> Markup:
    """The strip at a figure's size, its rows named: for a quantity that has no course."""
    own = _leading(claim)
    if own is None:
        return Markup()
    positive = claim.answer.positive_control
    rows = _rows(claim, own, [*claim.answer.controls[:2], *([positive] if positive else [])])
    floor = TOP + NAMED_ROW * len(rows)
    x = _scale(own, rows, EDGE, WIDTH - RIGHT)
    parts = _accepted(own, x, TOP, WIDTH - RIGHT + EDGE, floor)
    for line, (kind, words, values) in enumerate(rows):
        at = TOP + NAMED_ROW * line
        parts.append(_text(EDGE, at + 13, words))
        parts += [_mark(kind, x.place(value), at + 22) for value in values]
    parts += [_text(x.place(one), floor + 15, _tick(one), "middle") for one in x.ticks()]
    parts.append(_text(EDGE, 12.0, claim.noun_of(own)))
    return _svg("chart", WIDTH, floor + 20, _strip_label(claim, own, rows), parts)


def _leading(claim: ClaimText) -> Estimate | None:
    """The condition that the row shows, or else the first that has numbers."""
    shown = claim.shown
    if shown is not None and shown.numbers:
        return shown
    return next((one for one in claim.base.estimates if one.numbers), None)


def _rows(claim: ClaimText, own: Estimate, arms: Sequence[ArmAnswer]) -> list[StripRow]:
    """Of the claim's runs and of each arm that has numbers: the mark, the words, the numbers."""
    place = claim.base.estimates.index(own)
    marks = {Role.ABLATION: "ring", Role.POSITIVE_CONTROL: "positive"}
    rows: list[StripRow] = [("run", SAID["run"], own.numbers)]
    for one in arms:
        mark = marks.get(one.role, "control")
        if place < len(one.estimates) and (values := one.estimates[place].numbers):
            rows.append((mark, f"{one.role}: {claim.arm(one)}", values))
    return rows


def _scale(own: Estimate, rows: Sequence[StripRow], left: float, right: float) -> _Axis:
    """The scale of all numbers and bounds; what is better lies to the right, whatever the bound."""
    shown = [*(value for _, _, values in rows for value in values), *_ends(own)]
    log = min(shown) > 0 and max(shown) > 5 * min(shown)
    is_upper = own.limit.side in (Side.AT_MOST, Side.BELOW)
    return _Axis(shown, log, *((right, left) if is_upper else (left, right)))


def _ends(estimate: Estimate) -> tuple[float, ...]:
    limit = estimate.limit
    return limit.accepted if limit.side is Side.WITHIN else (limit.at,)


def _accepted(estimate: Estimate, x: _Axis, top: float, right: float, floor: float) -> list[Markup]:
    """The accepted side as a shade, and each end of it as a line."""
    at = [x.place(one) for one in _ends(estimate)]
    left = at[0]
    if estimate.limit.side is Side.WITHIN:
        right = at[-1]
    shade = Markup('<rect class="accept" x="{}" y="{}" width="{}" height="{}"/>').format(
        *map(_n, (left, top, right - left, floor - top))
    )
    return [shade, *(_segment("bound", one, top, one, floor) for one in at)]


def _mark(kind: str, x: float, y: float) -> Markup:
    if kind == "control":
        return Markup('<rect class="control" x="{}" y="{}" width="4" height="4"/>').format(
            _n(x - 2), _n(y - 2)
        )
    return Markup('<circle class="{}" cx="{}" cy="{}" r="2.4"/>').format(kind, _n(x), _n(y))


def _strip_label(claim: ClaimText, own: Estimate, rows: Sequence[StripRow]) -> str:
    parts = [f"{len(own.numbers)} runs from {_span(own.numbers)}"]
    parts += [f"{words} from {_span(values)}" for _, words, values in rows[1:]]
    return f"{claim.said(own)}; {'; '.join(parts)}"


def _span(values: Sequence[float]) -> str:
    return f"{number(min(values))} to {number(max(values))}"


# --- what both are drawn with ---------------------------------------------------------------------


class _Axis:
    """A linear or logarithmic scale, from the least to the largest number shown."""

    def __init__(self, values: Sequence[float], log: bool, start: float, end: float) -> None:
        positive = [one for one in values if one > 0]
        self.log = log and bool(positive)
        self.low = min(positive) if self.log else min(values)
        self.high = max(positive) if self.log else max(values)
        if self.high - self.low < (0.0 if self.log else LEAST_SPAN) or self.high == self.low:
            self.high = self.low * 2 if self.log else self.low + 1.0
        self._decades = math.log(self.high) - math.log(self.low) if self.log else 0.0
        self._start = start
        self._length = end - start

    def place(self, value: float) -> float:
        """Return where a number lies; below a logarithmic scale, at its start."""
        if self.log:
            value = max(value, self.low)
            share = (math.log(value) - math.log(self.low)) / self._decades
        else:
            share = (value - self.low) / (self.high - self.low)
        return self._start + self._length * share

    def holds(self, values: Sequence[float]) -> bool:
        return max(values) >= self.low and min(values) <= self.high

    def ticks(self) -> list[float]:
        """Return two to six round numbers on the axis."""
        if self.log:
            first = math.ceil(math.log10(self.low))
            last = math.floor(math.log10(self.high))
            every = max(1, math.ceil((last - first) / 4))
            decades = [10.0**one for one in range(first, last + 1, every)]
            return decades if len(decades) > 1 else [self.low, self.high]
        size = 10 ** math.floor(math.log10((self.high - self.low) / 3))
        step = next(size * m for m in (1, 2, 5, 10) if (self.high - self.low) / (size * m) <= 4.5)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [step * one for one in range(first, last + 1)]


def _svg(name: str, width: float, height: float, label: str, parts: Sequence[Markup]) -> Markup:
    frame = '<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    return Markup(frame).format(name, _n(width), _n(height), label, Markup().join(parts))


def _segment(name: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    line = Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>')
    return line.format(name, *map(_n, (x1, y1, x2, y2)))


def _curve(kind: str, places: Sequence[float], run: Sequence[float], x: _Axis, y: _Axis) -> Markup:
    pairs = zip(places, run, strict=True)
    points = " ".join(f"{_n(x.place(a))},{_n(y.place(b))}" for a, b in pairs)
    return Markup('<polyline class="{}" points="{}"/>').format(kind, points)


def _tick(value: float) -> str:
    if value and not 1e-3 <= abs(value) < 1e6:
        return with_power(f"{value:.0e}")
    return f"{value:,.6g}" if abs(value) >= 1 else f"{value:.2g}"


def _text(x: float, y: float, words: str, anchor: str = "start") -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(
        _n(x), _n(y), anchor, words
    )


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
