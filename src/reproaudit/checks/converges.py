"""A loss falls, and comes to rest or goes to zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import Field

from reproaudit.checks.canonical import BOUND, KIND, QUANTITY, CanonicalForm, Part
from reproaudit.checks.kind import Bound, Condition, Kind, Limit, Provenance, Side
from reproaudit.checks.run import Run
from reproaudit.checks.shown import Drawing, Form, Number
from reproaudit.declarations import Quantity
from reproaudit.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Array: TypeAlias = NDArray[np.float64]

WINDOW = 0.05
"""The share of the schedule in either window whose log-means are compared."""


_FALLS = Number("falls", "{noun} falls {typical}{worst}", Form.FOLD)
_FLATTENS = Number("flattens", "{noun} changes by {typical} at the end{worst}", Form.PERCENT)
_ENDS = Number("ends", "{noun} ends at {typical}{worst}", drawn=True)
_SLOPE = Number("slope", "slope of log {noun} {typical}{worst}")


class Converges(Kind):
    """A loss falls, and has come to rest by the end of its own schedule, or goes to zero.

    Up to four conditions, in this order: it falls by a factor (`falls`); its logarithm changes
    little over the last fifth of the schedule, between log-means of windows (`flattens`; a decayed
    rate flattens anything); it ends below a bound (`ends`); with `to_zero`, log loss falls on log
    time over the last half. No finite course shows more of a limit of 0.
    """

    made = (_FALLS, _FLATTENS, _ENDS, _SLOPE)
    whole_course = True

    kind: Literal["converges"]
    """The kind of check."""
    loss: Quantity
    """A positive series."""
    falls: Bound | None = None
    """The bound on the first loss over the last."""
    flattens: Bound | None = None
    """The bound on |Δ log loss| over the last fifth, mostly `{at_most: 0.05}`."""
    ends: Bound | None = None
    """The bound on the last loss."""
    to_zero: bool = Field(default=False)
    """Whether the loss goes to zero, rather than to rest."""

    canonical = KIND | CanonicalForm(
        {
            "loss": Part("loss", QUANTITY),
            "falls": Part("falls", BOUND, unless=None),
            "flattens": Part("flattens", BOUND, unless=None),
            "ends": Part("ends", BOUND, unless=None),
            "to_zero": Part("to_zero", unless=False),
        }
    )

    @property
    def numbers(self) -> tuple[Number, ...]:
        """Those on which the audit has a bound."""
        return tuple(number for number, _ in self._asked())

    @property
    def uncounted(self) -> str:
        """Several numbers may hold at other coordinates each."""
        return "" if len(self.numbers) < 2 else "this check makes several: write one for each"

    @property
    def drawing(self) -> Drawing:
        """The loss; over the logarithm of time if it goes to zero."""
        return replace(super().drawing, log_x=self.to_zero)

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return what the audit asks for, each number against its bound."""
        steps, values = run.series(self.loss)
        grid = np.asarray(steps, dtype=np.float64)
        losses = list(values.T) if values.min() > 0 else []
        return tuple(
            self._condition(
                [_OF_COURSE[number](grid, loss) for loss in losses],
                limit,
                self.loss,
                number,
            )
            for number, limit in self._asked()
        )

    def _asked(self) -> Iterator[tuple[Number, Limit]]:
        """The numbers that the audit asks for, each with its bound."""
        if self.falls is not None:
            yield _FALLS, self.falls.limit(1.0, fold=True)
        if self.flattens is not None:
            yield _FLATTENS, self.flattens.limit()
        if self.ends is not None:
            yield _ENDS, self.ends.limit()
        if self.to_zero:
            yield _SLOPE, Limit(Side.BELOW, 0.0, Provenance.DERIVED)


def _late_change(steps: _Array, loss: _Array) -> float:
    """The change of the logarithm between two windows: before the last fifth, and at the end."""
    span = steps[-1] - steps[0]
    logs = []
    for end in (0.8, 1.0):
        at = steps[0] + end * span
        inside = (steps >= at - WINDOW * span) & (steps <= at)
        logs.append(float(np.log(loss[inside]).mean()) if inside.any() else np.nan)
    return logs[1] - logs[0]


def _late_slope(steps: _Array, loss: _Array) -> float:
    """The slope of log loss on log time over the last half."""
    late = (steps > 0) & (steps >= steps[0] + 0.5 * (steps[-1] - steps[0]))
    if late.sum() < 2:
        return np.nan
    return float(np.polyfit(np.log(steps[late]), np.log(loss[late]), 1)[0])


_OF_COURSE: Mapping[Number, Callable[[_Array, _Array], float]] = {
    _FALLS: lambda _, loss: loss[0] / loss[-1],
    _FLATTENS: lambda steps, loss: abs(_late_change(steps, loss)),
    _ENDS: lambda _, loss: loss[-1],
    _SLOPE: _late_slope,
}
"""Each number of one course: steps, losses."""
