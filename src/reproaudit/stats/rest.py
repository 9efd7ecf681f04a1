"""Rest under noise: whether a course goes on, is interrupted by spikes, or drops all at once.

All courses are logarithms of a positive series, so that a difference of 0.05 is one of 5 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from reproaudit.lazy import FloatArray, np
from reproaudit.stats.growth import FEWEST_LATE, RESOLVED, Misfit, misfit_of, thinned
from reproaudit.stats.means import quantile_t

FEWEST_OF_SWINGS = 8
"""The fewest observations that tell swings from noise."""

BACK_TO = (0.5, 0.42, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1)
"""The shares of training from which on a trend is taken, one after the other until one tells."""

RECENT = (0.2, 0.1, 0.05)
"""The last parts of training that must lie on the trend, too."""

TWICE = 2.0
"""How many times the bound what a trend changes may be, for all noise."""

FEWEST_BEFORE = 3
"""The fewest observations before a last part whose trend it is held against."""

CUT = 2 / 3
"""What is left of a learning rate that was cut, at most."""

STAYS = 0.8
"""What is left of it at the next observation, at least, where it stays there."""

SPIKE = 0.1
"""The least height of a spike, in logarithms."""

_REACH = 4
_ROUGH = 5.0
_FEW = 0.1
_UNLIKELY = 0.01
_SURE = 0.99
_FEWEST_OF_PERIODS = 8
_EVEN = 0.1
_SCALE = 1.4826


def without_spikes(logs: FloatArray) -> FloatArray:
    """Return a course, of shape (step,), with the medians of nine observations in place of spikes.

    A spike rises above that median by a tenth and by five standard deviations of what others do,
    and has others before and after it: how a course starts or ends is none. Where more than a tenth
    are spikes, they are no exception, and all stay.
    """
    if len(logs) <= 2 * _REACH:
        return logs
    windows = np.lib.stride_tricks.sliding_window_view(logs, 2 * _REACH + 1)
    middle = np.pad(np.median(windows, axis=-1), _REACH, mode="edge")
    above = logs - middle
    rough = _SCALE * float(np.median(np.abs(above)))
    spikes = above > max(SPIKE, _ROUGH * rough)
    first, last = (np.logical_and.accumulate(flags) for flags in (spikes, spikes[::-1]))
    spikes &= ~(first | last[::-1])
    return logs if spikes.mean() > _FEW else np.where(spikes, middle, logs)


def change_at_rest(steps: FloatArray, logs: FloatArray, most: float) -> float:
    """Return what a course at rest changes in as long again; NaN unless it is surely at most that.

    A trend on the logarithm of time over the last half of training, or over more of it, back to its
    last nine tenths, until one tells: it is within the bound, and with its 90 % interval within
    twice the bound. No longer trend counts where a shorter one surely goes on. No slow decay
    changes more in as long again than the trend of what came before.

    It is one trend if what it leaves over is noise, without a period, and the last parts of
    training lie on the trend of what comes before them. Neighbours that err alike count as fewer.
    Both have shape (step,).
    """
    for since in BACK_TO:
        late = (steps > 0) & (steps >= steps[0] + since * (steps[-1] - steps[0]))
        if late.sum() < FEWEST_LATE:
            continue
        trend = _Trend.of(np.log(steps[late]), logs[late])
        change = math.log(2) * abs(trend.slope)
        doubt = math.log(2) * trend.error
        if change - doubt > most:
            break
        surely = change <= most and change + doubt <= TWICE * most
        if surely and trend.is_all(most) and _goes_on_so(steps[late], logs[late], most):
            return change
    return math.nan


@dataclass(frozen=True)
class _Trend:
    """A line through a course.

    Attributes:
        slope: of the line.
        level: of the line at the mean of the times.
        error: half of the slope's 90 % interval.
        left_over: of the course; shape (step,).
        misfit: the size of that.
        times: of the observations, from their mean; shape (step,).
        about: the mean of the times.
    """

    slope: float
    level: float
    error: float
    left_over: FloatArray
    misfit: Misfit
    times: FloatArray
    about: float

    @classmethod
    def of(cls, times: FloatArray, logs: FloatArray) -> _Trend:
        """Fit a line; both have shape (step,)."""
        about = float(times.mean())
        at = times - about
        slope = float(at @ logs / (at @ at))
        level = float(logs.mean())
        left_over = logs - level - slope * at
        misfit = misfit_of(left_over, RESOLVED)
        free = max(misfit.independent - 2, 1.0)
        error = quantile_t(0.95, int(free)) * misfit.size / math.sqrt(free * float((at**2).mean()))
        return cls(slope, level, error, left_over, misfit, at, about)

    def is_all(self, most: float) -> bool:
        """Whether what the line leaves over is noise, but for swings within a bound."""
        swings = math.sqrt(2) * self.misfit.size > most and is_periodic(
            np.exp(self.times), self.left_over
        )
        return not swings and not self.misfit.systematic

    def misses(self, times: FloatArray, logs: FloatArray) -> tuple[float, float]:
        """Return how far the mean of later observations lies from the line, and how far it may."""
        at = float(times.mean()) - self.about
        apart = abs(float(logs.mean()) - self.level - self.slope * at)
        free = max(self.misfit.independent - 2, 1.0)
        alike = len(self.times) / self.misfit.independent
        spread = alike * (1 / len(logs) + 1 / len(self.times) + at**2 / (self.times @ self.times))
        return apart, quantile_t(_SURE, int(free)) * self.misfit.size * math.sqrt(spread)


def _goes_on_so(steps: FloatArray, logs: FloatArray, most: float) -> bool:
    """Whether the last parts lie on the trend of what comes before, but for noise or a bound."""
    for part in RECENT:
        recent = steps >= steps[-1] - part * (steps[-1] - steps[0])
        if (~recent).sum() <= FEWEST_BEFORE:
            continue
        before = _Trend.of(np.log(steps[~recent]), logs[~recent])
        apart, noise = before.misses(np.log(steps[recent]), logs[recent])
        if apart > max(most, noise):
            return False
    return True


def is_periodic(steps: FloatArray, values: FloatArray) -> bool:
    """Tell whether a course swings; both have shape (step,).

    Evenly spaced observations are put to Fisher's test of a hidden period, 1 %. What an
    autoregression of first order explains is taken away first, so that noise in which neighbours
    err alike has no period. Others are put to the same test of the sine that fits best (Lomb and
    Scargle), of up to half as many periods as observations. Fewer than eight show no period.
    """
    count = len(values)
    if count < _FEWEST_OF_PERIODS:
        return False
    gaps = np.diff(steps)
    if np.ptp(gaps) <= _EVEN * gaps.mean():
        squares = float(values[:-1] @ values[:-1])
        alike = float(values[1:] @ values[:-1]) / squares if squares else 0.0
        apart = values[1:] - alike * values[:-1]
        power = np.abs(np.fft.rfft(apart - apart.mean())[1:]) ** 2
        by_chance = (_UNLIKELY / len(power)) ** (1 / (len(power) - 1))
        return bool(power.max() > (1 - by_chance) * power.sum())
    left = _without_a_sine(*(np.asarray(numbers) for numbers in thinned(steps, values)))
    return bool(left ** ((count - 3) / 2) * count < _UNLIKELY)


def _without_a_sine(steps: FloatArray, values: FloatArray) -> float:
    """The least share of the squares that a level and a sine leave over; both of shape (step,).

    Sines have half a period and more over the course, by quarters of one, up to half as many as
    there are observations.
    """
    span = (steps - steps[0]) / (steps[-1] - steps[0])
    phases = np.pi / 2 * np.arange(2, 2 * len(steps) + 1)[:, None] * span
    shapes = np.stack([np.sin(phases), np.cos(phases)], axis=1)
    shapes -= shapes.mean(axis=-1, keepdims=True)
    apart = values - values.mean()
    both = shapes @ shapes.transpose(0, 2, 1) + RESOLVED * len(steps) * np.eye(2)
    along = shapes @ apart
    explained = (along * np.linalg.solve(both, along[..., None])[..., 0]).sum(axis=-1)
    return max(1 - float(explained.max() / (apart @ apart)), 0.0)


def swing_of(logs: FloatArray) -> float:
    """Return how far a course, of shape (step,), swings about its mean.

    It is 0 where neighbours do not swing alike, or there are too few to tell.
    """
    if len(logs) < FEWEST_OF_SWINGS:
        return 0.0
    apart = logs - logs.mean()
    squares = float(apart @ apart)
    alike = abs(float(apart[1:] @ apart[:-1]))
    is_shared = alike > 2 * squares / np.sqrt(len(logs))
    return float(np.sqrt(2 * squares / len(logs))) if is_shared else 0.0


def cuts_of(steps: FloatArray, rates: FloatArray) -> FloatArray:
    """Return the steps at which a learning rate was cut; both have shape (step,).

    It falls by a third or more between two observations, and the next one is hardly lower: a rate
    that goes on falling, as along a cosine, is not cut.
    """
    now = rates[1:-1]
    return steps[1:-1][(now <= CUT * rates[:-2]) & (rates[2:] >= STAYS * now)]


def drop_of(steps: FloatArray, logs: FloatArray, least: float) -> Misfit | None:
    """Return the misfit of a line that drops once, where it drops by more than a number.

    Both have shape (step,). None where the course has too few observations, where it surely rises
    before the largest drop, as one that swings does, or surely goes on to change after it.
    """
    count = len(logs)
    if count < 2 * FEWEST_LATE:
        return None
    reach = max(FEWEST_BEFORE, count // 8)
    means = np.convolve(logs, np.ones(reach) / reach, mode="valid")
    place = int((means[:-reach] - means[reach:]).argmax()) + reach
    after = (np.arange(count) >= place).astype(np.float64)
    span = (steps - steps[0]) / (steps[-1] - steps[0])
    shape = np.stack([np.ones(count), span, after], axis=1)
    fitted, *_ = np.linalg.lstsq(shape, logs, rcond=None)
    before = _Trend.of(span[:place], logs[:place])
    later = _Trend.of(span[place:], logs[place:])
    goes_on = abs(later.slope) - later.error > least / RECENT[0]
    if -fitted[2] <= least or before.slope > before.error or goes_on:
        return None
    return misfit_of(logs - shape @ fitted, RESOLVED)
