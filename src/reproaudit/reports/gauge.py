"""An estimate and its interval against the bound, as one short line of plain characters."""

from __future__ import annotations

from reproaudit.reports.interval_plot import Marks, Plot, PlotRow, lay_out
from reproaudit.scorecard.model import AnswerModel

WIDTH = 11
"""Characters of a gauge; an odd number."""
LEGEND = (
    "o estimate, - its interval (< > where it goes on), | bound, : where the claim is met; "
    "a ? after a bound: undecided"
)
_PIXEL = 10.0
"""Units of the picture for each character."""


def gauge(answer: AnswerModel, width: int = WIDTH) -> str:
    """Returns the estimate as ``o`` on its interval, the bound as ``|``, what meets it as ``:``.

    ``  |:::-o--::`` is met, ``-o-   |::::`` missed, ``  --|o-:::::`` undecided. The axis is that of
    the interval. The estimate is never drawn on the bound unless it equals it: it moves to the side
    on which it lies.

    Args:
        answer: what is drawn.
        width: how many characters.
    """
    plot = lay_out([PlotRow("", "claim", answer)], width=width * _PIXEL + 14, gutter=0, ticks=False)
    cells = [" "] * width
    if plot.accepted is not None:
        first, last = (_cell(x, plot, width) for x in plot.accepted)
        cells[first : last + 1] = ":" * (last + 1 - first)
    (mark,) = plot.marks
    if mark.whisker is not None:
        low, high = (_cell(x, plot, width) for x in mark.whisker)
        cells[low : high + 1] = "-" * (high + 1 - low)
    for x in _limits(plot, answer):
        cells[_cell(x, plot, width)] = "|"
    if mark.cut_low:
        cells[0] = "<"
    if mark.cut_high:
        cells[-1] = ">"
    cells[_dot(mark, answer, plot, width)] = "o"
    return "".join(cells)


def _limits(plot: Plot, answer: AnswerModel) -> tuple[float, ...]:
    """Returns where the rule's limits lie: one of a bound, two of an equivalence."""
    both = answer.side == "within" and plot.accepted is not None
    return plot.accepted if both and plot.accepted is not None else (plot.bound,)


def _dot(mark: Marks, answer: AnswerModel, plot: Plot, width: int) -> int:
    place = _cell(mark.dot, plot, width)
    for x in _limits(plot, answer):
        if place == _cell(x, plot, width) and mark.dot != x:
            return min(max(place + (1 if mark.dot > x else -1), 0), width - 1)
    return place


def _cell(x: float, plot: Plot, width: int) -> int:
    share = (x - plot.left) / (plot.right - plot.left)
    return min(int(share * width), width - 1)
