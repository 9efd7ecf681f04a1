"""The geometry of the small pictures that set an estimate and its interval against a bound.

Pure arithmetic from answers to coordinates; the templates draw them. The axis is the interval's own
scale, so that an interval looks as symmetric as it is. What has no place on the axis, or lies far
outside, is drawn at its end and marked as cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reproaudit.reports.axes import PlotAxis, place_on_scale
from reproaudit.reports.numbers import reading, target
from reproaudit.reports.printable import clean
from reproaudit.scorecard.model import AnswerModel
from reproaudit.stats import Scale, equivalence_range

ROW = 30.0
"""Height of a row, in units of the picture."""
AXIS = 38.0
"""Height of the axis with its labels, and of the bound's label above."""
LOG_FROM = 100.0
"""Values that span this factor are drawn logarithmically if no interval names a scale."""


@dataclass(frozen=True)
class PlotRow:
    """One line of a picture.

    Attributes:
        kind: claim, control or positive; decides shape and colour.
    """

    label: str
    kind: str
    answer: AnswerModel


@dataclass(frozen=True)
class Marks:
    """The coordinates of a row's marks; without an interval the whisker is None."""

    label: str
    kind: str
    y: float
    dot: float
    whisker: tuple[float, float] | None
    cut_low: bool
    cut_high: bool
    seeds: tuple[float, ...]


@dataclass(frozen=True)
class Plot:
    """A picture, laid out.

    Attributes:
        accepted: the range of x that satisfies the rule; None where its scale is not known.
        description: the same in words, for those who cannot see it.
    """

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    marks: tuple[Marks, ...]
    ticks: tuple[tuple[float, str], ...]
    bound: float
    bound_label: str
    accepted: tuple[float, float] | None
    scale: str
    description: str


def lay_out(
    rows: Sequence[PlotRow],
    *,
    among: Sequence[PlotRow] = (),
    width: float = 360,
    gutter: float = 112,
    ticks: bool = True,
) -> Plot:
    """Lays a picture out; the first row's rule is drawn.

    Args:
        rows: at least one.
        among: rows of other pictures of the same rule, to share the axis with.
        width: of the whole picture.
        gutter: room for the rows' labels on the left.
        ticks: whether there is an axis below and the bound's label above.
    """
    first = rows[0].answer
    every = [*rows, *among]
    scale = _scale([row.answer for row in every])
    left, right = gutter, width - 14
    low, high = _extent(every, scale)
    axis = PlotAxis(scale, low, high, left, right)
    margin = AXIS / 2 if ticks else 2.0
    row_height = ROW if ticks else ROW / 2
    bottom = margin + row_height * len(rows)
    return Plot(
        width=width,
        height=bottom + margin,
        left=left,
        right=right,
        top=margin,
        bottom=bottom,
        marks=tuple(
            _marks(row, axis, margin + row_height * (i + 0.5)) for i, row in enumerate(rows)
        ),
        ticks=axis.ticks() if ticks else (),
        bound=axis.at(first.bound),
        bound_label=target(first),
        accepted=_accepted(first, axis),
        scale=scale.value,
        description=clean("; ".join(_described(row) for row in rows)),
    )


def _described(row: PlotRow) -> str:
    answer = row.answer
    return f"{row.label}: {reading(answer)} against {target(answer)}, {answer.decision}"


def _marks(row: PlotRow, axis: PlotAxis, y: float) -> Marks:
    answer, interval = row.answer, row.answer.interval
    return Marks(
        label=row.label,
        kind=row.kind,
        y=y,
        dot=axis.at(answer.estimate),
        whisker=(axis.at(interval.low), axis.at(interval.high)) if interval else None,
        cut_low=interval is not None and axis.cuts(interval.low),
        cut_high=interval is not None and axis.cuts(interval.high),
        seeds=tuple(axis.along(_seeds(answer))),
    )


# --- the axis -----------------------------------------------------------------------------------


def _scale(answers: Sequence[AnswerModel]) -> Scale:
    for answer in answers:
        if answer.interval is not None:
            return Scale(answer.interval.scale)
    values = [v for a in answers for v in (*a.per_seed, a.estimate, a.bound)]
    if min(values) > 0 and max(values) / min(values) >= LOG_FROM:
        return Scale.LOG
    return Scale.LINEAR


def _seeds(answer: AnswerModel) -> tuple[float, ...]:
    """Returns the seeds' values; those beyond the floor are moved onto it, as in the interval.

    The end itself has no place on the scale, and stays where it is.
    """
    scale = Scale(answer.interval.scale) if answer.interval else Scale.LINEAR
    if scale is Scale.LINEAR:
        return tuple(answer.per_seed)
    low = answer.floor if scale in (Scale.LOG, Scale.LOGIT) else -math.inf
    high = 1 - answer.floor if scale in (Scale.LOGIT, Scale.LOG_COMPLEMENT) else math.inf
    return tuple(
        value if place_on_scale(value, scale) is None else min(max(value, low), high)
        for value in answer.per_seed
    )


def _edges(answer: AnswerModel, scale: Scale) -> tuple[float, ...]:
    """Returns the limits of the rule: one of a bound, two of an equivalence on a known scale."""
    if answer.side != "within" or answer.margin is None or answer.interval is None:
        return (answer.bound,)
    return equivalence_range(answer.bound, answer.margin, scale)


def _extent(rows: Sequence[PlotRow], scale: Scale) -> tuple[float, float]:
    """Returns the axis' ends: all but the far ends of intervals, and a margin."""
    core = [v for row in rows for v in (row.answer.estimate, *_seeds(row.answer))]
    core += [rows[0].answer.bound, *_edges(rows[0].answer, scale)]
    low, high = _ends(core, scale)
    span = high - low
    ends = [v for r in rows for v in _interval_ends(r.answer)]
    if ends:
        reach_low, reach_high = _ends(ends, scale)
        far = span or math.inf  # nothing but an interval to show: then all of it
        low, high = max(min(low, reach_low), low - far), min(max(high, reach_high), high + far)
    air = 0.06 * ((high - low) or max(abs(high), 1.0))
    return low - air, high + air


def _interval_ends(answer: AnswerModel) -> tuple[float, ...]:
    return (answer.interval.low, answer.interval.high) if answer.interval else ()


def _ends(values: Iterable[float], scale: Scale) -> tuple[float, float]:
    placed = [place for v in values if (place := place_on_scale(v, scale)) is not None]
    return (min(placed), max(placed)) if placed else (0.0, 1.0)


def _accepted(answer: AnswerModel, axis: PlotAxis) -> tuple[float, float] | None:
    if answer.side == "at_most":
        return axis.left, axis.at(answer.bound)
    if answer.side == "at_least":
        return axis.at(answer.bound), axis.right
    edges = _edges(answer, axis.scale)
    return (axis.at(edges[0]), axis.at(edges[1])) if len(edges) == 2 else None
