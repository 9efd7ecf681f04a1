"""Training curves as logs show them: shapes over steps, noise, and what loggers do to both.

Steps are whole numbers from 0 on; every shape takes them as an array and gives values at each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Steps = NDArray[np.int64]
Log = tuple[Steps, Array]
"""A series: the steps at which it was logged, and the values, the first axis of which they are."""

STEPS = 20_000
"""The steps of training in most worlds."""


def even(every: int = 200, first: int = 0, last: int = STEPS) -> Steps:
    """Return steps at one distance, from the first to at most the last."""
    return np.arange(first, last + 1, every, dtype=np.int64)


def logarithmic(count: int = 80, last: int = STEPS) -> Steps:
    """Return 0 and about so many steps that are even on a logarithmic scale."""
    return np.unique(np.round(np.geomspace(1, last + 1, count)).astype(np.int64)) - 1


def decay(steps: Steps, start: float, end: float, tau: float) -> Array:
    """Return an exponential decay from a start to an end, with a time constant in steps."""
    return end + (start - end) * np.exp(-steps / tau)


def power_decay(
    steps: Steps, start: float, exponent: float, end: float = 0.0, tau: float = 1.0
) -> Array:
    """Return a decay by a power of the steps above an end: (1 + t/τ)^−exponent."""
    return end + (start - end) * np.power(1 + steps / tau, -exponent)


def rise(steps: Steps, low: float, high: float, at: float, width: float = 0.25) -> Array:
    """Return a rise that is half made at a step, of a width in e-folds of the steps."""
    place = np.log((steps + 1) / at) / width
    return low + (high - low) / (1 + np.exp(-np.clip(place, -50, 50)))


def ramp(steps: Steps, low: float, high: float, at: float, width: float) -> Array:
    """Return a rise that is half made at a step, of a width in steps."""
    place: Array = (steps - at) / width
    return low + (high - low) / (1 + np.exp(-np.clip(place, -50, 50)))


def cosine_rate(steps: Steps, last: int = STEPS) -> Array:
    """Return a learning rate with cosine decay, as a share of the largest."""
    return np.asarray(0.5 + 0.5 * np.cos(np.pi * np.minimum(steps / last, 1.0)))


def cut_rate(steps: Steps, cuts: tuple[int, ...], tau: float = 150.0) -> Array:
    """Return what is left of the loss that a learning rate causes, a tenth of it at each cut."""
    left = np.ones(len(steps))
    for cut in cuts:
        left *= 0.1 + 0.9 * np.exp(-np.maximum(steps - cut, 0) / tau)
    return left


def warm_up(steps: Steps, height: float = 0.2, tau: float = 150.0) -> Array:
    """Return a factor for the rise of a loss while the learning rate warms up."""
    share = steps / tau
    return 1 + height * share * np.exp(1 - share)


def bump(steps: Steps, height: float, at: float, width: float = 0.35) -> Array:
    """Return a factor for the peak of double descent, of a width in e-folds of the steps."""
    return 1 + height * np.exp(-0.5 * (np.log((steps + 1) / at) / width) ** 2)


def noise(rng: np.random.Generator, steps: Steps, share: float, kept: float = 0.0) -> Array:
    """Return a factor around 1 with a relative deviation, of which neighbours keep a share."""
    draws = rng.standard_normal(len(steps))
    for i in range(1, len(draws)):
        draws[i] = kept * draws[i - 1] + np.sqrt(1 - kept**2) * draws[i]
    return np.exp(share * draws)


def spikes(rng: np.random.Generator, steps: Steps, count: int = 3, height: float = 0.8) -> Array:
    """Return a factor for spikes of a loss in the first four fifths, gone after 1 % of training."""
    factor = np.ones(len(steps))
    last = float(steps[-1])
    for at in rng.uniform(0.05, 0.8, count) * last:
        since = steps - at
        factor += np.where(since >= 0, height * np.exp(-np.maximum(since, 0) / (0.01 * last)), 0)
    return factor


def luck(rng: np.random.Generator, share: float) -> float:
    """Return a factor of one seed, around 1 with a relative deviation."""
    return float(np.exp(share * rng.standard_normal()))


def smoothed(values: Array, kept: float) -> Array:
    """Return the exponential moving average that keeps a share at each observation."""
    average = values.copy()
    for i in range(1, len(values)):
        average[i] = kept * average[i - 1] + (1 - kept) * values[i]
    return average


def best_so_far(values: Array, *, largest: bool = False) -> Array:
    """Return the least value so far at each observation, or the largest."""
    return np.maximum.accumulate(values) if largest else np.minimum.accumulate(values)


def without(log: Log, begin: int, end: int) -> Log:
    """Return a log without the steps that a resumed run had done before, and that were removed."""
    steps, values = log
    kept = (steps < begin) | (steps >= end)
    return steps[kept], values[kept]


def until(log: Log, last: int) -> Log:
    """Return the part of a log up to a step."""
    steps, values = log
    return steps[steps <= last], values[steps <= last]
