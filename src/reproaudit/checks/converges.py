"""A loss falls, and comes to rest or goes to zero."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Literal, Self, TypeAlias

from pydantic import Field, model_validator

from reproaudit.checks.canonical import KIND, form
from reproaudit.checks.kind import (
    Bound,
    Condition,
    FewObservedError,
    Kind,
    Limit,
    Provenance,
    Side,
    Void,
)
from reproaudit.checks.run import Run
from reproaudit.checks.shown import Drawing, Form, Names, Number
from reproaudit.declarations import Name, Quantity
from reproaudit.lazy import BoolArray, FloatArray, np
from reproaudit.stats import rest
from reproaudit.stats.growth import CERTAIN, FEWEST_LATE, FITTED, Decays, Misfit, best_decay
from reproaudit.stats.means import quantile_t

_Courses: TypeAlias = tuple[FloatArray, list[FloatArray]]

WINDOW = 0.05  # The share of the schedule in either window whose log-means are compared

AS_LONG_AGAIN = math.log(2) / math.log(0.975 / 0.775)
"""What a logarithm changes in as long again, over its change between the windows: no decay that
slows down changes more, whatever fits the time before."""

SLOWEST = 0.1
"""The least exponent of a power that goes to zero: a slower one is not told from a level."""

NEARLY_ALL = 0.1
"""The share of training from which on a level competes, where the last half does not tell."""

_FALLS = Number(
    "falls",
    "{noun} falls {typical}{worst}",
    Form.FOLD,
    "fall",
    never="{noun} falls to 0, or has no number",
)
_FLATTENS = Number(
    "flattens", "{noun} changes by {typical} at the end{worst}", Form.PERCENT, "late change"
)
_ENDS = Number("ends", "{noun} ends at {typical}{worst}", label="end", drawn=True)
_SLOPE = Number(
    "slope",
    "slope of log {noun} {typical}{worst}",
    label="late slope",
    never="{noun} is 0, or comes to rest above it",
)


class Converges(Kind):
    """A loss falls, and has come to rest by the end of its own schedule, or goes to zero.

    Up to four conditions, in this order: it falls by a factor (`falls`); it changes little at the
    end (`flattens`); it ends below a bound (`ends`); with `to_zero`, log loss falls on log time
    over the last half (`slope`), surely no more slowly than t^-0.1. docs/checks.md says what the
    change at the end is, and how a rate that is cut tells. No finite course shows more of a limit
    of 0; a loss of exactly 0 has come to rest at zero.

    Noise is what the better decay leaves over of the last half, or, where that is systematic, what
    neighbours do not share of it (`reproaudit.stats.growth.Misfit`). The run is void in three
    cases: the noise's standard error exceeds the bound, or explains a change or a slope; rest and a
    slow decay disagree, and neither fits surely better; the last half does not tell zero from a
    level, and over the last nine tenths a level fits surely better and leaves over noise alone.
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
    rate: Quantity | None = None
    """The series of the learning rate, if it was logged: rest, or going to zero, is read from its
    last cut on."""
    cut_at: Name | None = None
    """A setting that says at which step the rate was cut, or at which steps."""

    canonical = KIND | form(
        "loss falls=null flattens=null ends=null to_zero=false rate=null cut_at=null"
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.rate is not None and self.cut_at is not None:
            raise ValueError("state either 'rate', which is logged, or 'cut_at', a setting")
        return self

    @property
    def settings_read(self) -> Mapping[str, str]:
        """The setting that says when the rate was cut."""
        return {} if self.cut_at is None else {"cut_at": self.cut_at}

    @property
    def numbers(self) -> tuple[Number, ...]:
        """Those on which the audit has a bound."""
        return tuple(number for number, _ in self._asked())

    @property
    def uncounted(self) -> str:
        """Several numbers may hold at other coordinates each."""
        return "" if len(self.numbers) < 2 else "this check makes several: write one for each"

    @property
    def from_the_start(self) -> tuple[Quantity, ...]:
        """The loss, if its fall is asked for."""
        return () if self.falls is None else (self.loss,)

    def drawing(self, number: Number, noun: str, names: Names) -> Drawing:
        """Return the loss, or what is left of it; over log time if it goes to zero."""
        drawing = replace(super().drawing(number, noun, names), log_x=self.to_zero)
        if number is not _FALLS:
            return drawing
        return replace(drawing, title=f"{noun} over its start", bounded=True, over_start=True)

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return what the audit asks for, each number against its bound."""
        at, values = run.series(self.loss)
        steps = np.asarray(at, dtype=np.float64)
        losses = list(values.T) if values.min() >= 0 else []
        cut = self._last_cut(run, steps)
        is_readable = _in_window(steps, 0.8).any() or _late(steps, NEARLY_ALL).sum() >= FEWEST_LATE
        if cut is None and self.flattens is not None and not is_readable:
            name = self.loss.measurement
            raise FewObservedError(
                f"'{name}' has no observation in the {WINDOW:.0%} of training before the last "
                f"fifth, and fewer than {FEWEST_LATE} in the last {1 - NEARLY_ALL:.0%}",
                name,
            )
        later = steps >= (steps[0] if cut is None else cut)
        since = steps[later] - (cut or 0.0), [loss[later] for loss in losses]
        return tuple(
            self._condition_on(number, limit, since if number in _LATE else (steps, losses))
            for number, limit in self._asked()
        )

    def _condition_on(self, number: Number, limit: Limit, courses: _Courses) -> Condition:
        """The condition on the worst of courses: infinite numbers say yes or no, NaN nothing."""
        steps, losses = courses
        values = [_OF_COURSE[number](steps, loss, limit) for loss in losses]
        hidden = not values or bool(np.isnan(values).any())
        says = None if hidden else all(map(limit.met_by, values))
        condition = self._condition(values, limit, self.loss, number, says=says)
        if values and condition.met is None:
            few = _late(steps).sum() < FEWEST_LATE
            condition = replace(condition, void=Void.FEW_OBSERVED if few else Void.HIDDEN)
        open_end = number is _FLATTENS and not condition.met
        told = self.rate is not None or self.cut_at is not None
        if open_end and not told and any(_drops(steps, loss, limit.at) for loss in losses):
            return replace(condition, value=None, void=Void.CUT)
        return condition

    def _last_cut(self, run: Run, steps: FloatArray) -> float | None:
        """The step at which the rate was last cut before the end; None where nobody says so."""
        cuts: FloatArray = np.array([])
        if self.rate is not None:
            at, values = run.series(self.rate)
            cuts = rest.cuts_of(np.asarray(at, dtype=np.float64), values[:, 0])
        elif self.cut_at is not None:
            stated = run.settings.get(self.cut_at, ())
            every = stated if isinstance(stated, tuple) else (stated,)
            cuts = np.array([float(step) for step in every if isinstance(step, int | float)])
        before = cuts[(cuts > steps[0]) & (cuts < steps[-1])]
        return float(before.max()) if before.size else None

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


def _windows(steps: FloatArray) -> tuple[BoolArray, BoolArray]:
    """The observations in two windows: before the last fifth, and at the end.

    Where the first has none, it goes back to the last observation before.
    """
    before, last = (_in_window(steps, end) for end in (0.8, 1.0))
    if not before.any():
        place = int((steps <= steps[0] + 0.8 * (steps[-1] - steps[0])).sum()) - 1
        before[place] = True
    return before, last


def _in_window(steps: FloatArray, end: float) -> BoolArray:
    """The observations in the twentieth of training that ends at a share of it."""
    span = steps[-1] - steps[0]
    since = steps[0] + (end - WINDOW) * span
    return np.asarray((steps >= since) & (steps <= steps[0] + end * span))


def _late(steps: FloatArray, since: float = 0.5) -> BoolArray:
    """The observations in the last half, or from another share of training on."""
    return np.asarray((steps > 0) & (steps >= steps[0] + since * (steps[-1] - steps[0])))


_LATE = (_FLATTENS, _SLOPE)  # The numbers that are read of the course since the rate was cut


def _fall(_: FloatArray, loss: FloatArray, __: Limit) -> float:
    """The first loss over the last; infinite where that is 0."""
    if loss[-1] == 0:
        return np.inf if loss[0] > 0 else np.nan
    return float(loss[0] / loss[-1])


def _late_change(steps: FloatArray, loss: FloatArray, limit: Limit) -> float:
    """The change at the end, as the kind has it; NaN where noise hides it."""
    loss = _without_spikes(loss)
    change = _of_decays(steps, loss, limit)
    if limit.met_by(change) or loss.min() == 0:
        return change
    at_rest = rest.change_at_rest(steps, np.log(loss), limit.at)
    return change if math.isnan(at_rest) else at_rest


def _drops(steps: FloatArray, loss: FloatArray, least: float) -> bool:
    """Whether a late drop fits surely better than any decay, by more than a bound."""
    if loss.min() <= 0:
        return False
    late = _late(steps)
    drop = rest.drop_of(steps[late], np.log(loss[late]), least)
    decays = [best_decay(steps[late], loss[late], family) for family in (_exponential, _power)]
    return drop is not None and all(decay and drop.surely_below(decay.misfit) for decay in decays)


def _without_spikes(loss: FloatArray) -> FloatArray:
    """The same losses, bit by bit, but for spikes; with a 0 among them all of them."""
    if loss.min() <= 0:
        return loss
    logs = np.log(loss)
    smooth = rest.without_spikes(logs)
    return np.where(smooth == logs, loss, np.exp(smooth))


def _of_decays(steps: FloatArray, loss: FloatArray, limit: Limit) -> float:
    """The change at the end by the decay that fits the last half; NaN where noise hides it."""
    before, last = _windows(steps)
    if not loss[last].any():
        return 0.0
    late = _late(steps)
    if late.sum() < FEWEST_LATE or loss[late].min() <= 0:
        return np.nan
    change = abs(float(np.log(loss[last]).mean() - np.log(loss[before]).mean()))
    swing = rest.swing_of(np.log(loss[steps >= steps[0] + 0.8 * (steps[-1] - steps[0])]))
    if not limit.met_by(swing):
        return max(change, swing)
    fits = []
    for family in (_exponential, _power):
        decay = best_decay(steps[late], loss[late], family)
        assert decay is not None, "there are always some"
        error = decay.misfit.noise * float(np.sqrt(1 / before.sum() + 1 / last.sum()))
        goes_on = float(np.log(decay.now / decay.later)) if decay.later > 0 else np.inf
        goes_on = min(goes_on, AS_LONG_AGAIN * (change + CERTAIN * error))
        fits.append((decay.misfit, max(change, swing, goes_on), error))
    (better, number, error), (worse, other, _) = sorted(fits, key=lambda decay: decay[0].size)
    met = limit.met_by(number)
    by_noise = not met and limit.met_by(number - CERTAIN * error)
    disagree = met != limit.met_by(other) and not better.surely_below(worse)
    return np.nan if error > limit.at or by_noise or disagree else number


def _late_slope(steps: FloatArray, loss: FloatArray, _: Limit) -> float:
    """The slope of log loss on log time over the last half; infinite where it is no decay to 0.

    Where the last half has fewer than six observations, it is over the shortest part that has six.
    """
    late = next(
        (part for since in rest.BACK_TO if (part := _late(steps, since)).sum() >= FEWEST_LATE),
        _late(steps),
    )
    if loss[-1] == 0:
        return -np.inf
    if late.sum() < FEWEST_LATE or loss[late].min() <= 0:
        return np.nan
    loss = _without_spikes(loss)
    slope = float(np.polyfit(np.log(steps[late]), np.log(loss[late]), 1)[0])
    if slope >= 0:
        return slope
    zero, level = _misfits(steps[late], loss[late])
    if zero is None or (level is not None and level.surely_below(zero)):
        return np.inf
    free = max(zero.independent - FITTED, 1.0)
    error = quantile_t(0.95, int(free)) * zero.size / (np.log(steps[late]).std() * np.sqrt(free))
    if slope - error > -SLOWEST:
        return np.inf
    is_zero = level is None or zero.surely_below(level)
    if slope >= -error or (not is_zero and _may_rest(steps, loss)):
        return np.nan
    return slope


def _may_rest(steps: FloatArray, loss: FloatArray) -> bool:
    """Whether a level surely fits the last nine tenths better, and leaves over noise alone."""
    most = _late(steps, NEARLY_ALL)
    if loss[most].min() <= 0:
        return False
    zero, level = _misfits(steps[most], loss[most])
    if level is None or level.systematic:
        return False
    return zero is None or level.surely_below(zero)


def _misfits(steps: FloatArray, loss: FloatArray) -> tuple[Misfit | None, Misfit | None]:
    """What the best decay to zero, and the best one to a level, leave over of a course."""
    zero, level = (best_decay(steps, loss, family) for family in (_to_zero, _to_a_level))
    return zero and zero.misfit, level and level.misfit


def _exponential(decays: Decays) -> BoolArray:
    return np.asarray(np.isinf(decays.exponents))


def _power(decays: Decays) -> BoolArray:
    return np.asarray(np.isfinite(decays.exponents))


def _to_zero(decays: Decays) -> BoolArray:
    return np.asarray((decays.limits <= decays.now / 2) & (decays.exponents >= SLOWEST))


def _to_a_level(decays: Decays) -> BoolArray:
    return np.asarray(decays.limits > decays.now / 2)


_OF_COURSE: Mapping[Number, Callable[[FloatArray, FloatArray, Limit], float]] = {
    _FALLS: _fall,
    _FLATTENS: _late_change,
    _ENDS: lambda _, loss, __: float(loss[-1]),
    _SLOPE: _late_slope,
}
"""Each number of one course: steps, losses, and the bound."""
