"""Losses on which Adam goes to the worst point, and AMSGrad to the best.

A loss is linear on [−1, 1]: spike·x once in a period of n rounds, other·x else. With a spike above
−(n − 1)·other the best point is −1 and the worst +1. Slopes do not depend on x, so that the moments
of Adam are linear filters of a known sequence; only the projection goes round by round.

| in the paper | here |
|---|---|
| section 5: the online and the stochastic losses | `slopes_of` |
| eq. (1), Algorithms 1 and 2: moments and maximum, projection | `directions_of`, `walk` |
| section 5 with Figure 1, and Theorem 1 | `measure_play` |
| Theorems 2 and 3: a problem for every β₂ | `measure_chosen` |
| Zhang et al. 2022: how β₂ must rise with n | `measure_boundary` |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.ndimage import maximum_filter1d
from scipy.optimize import brentq
from scipy.signal import lfilter

from reproaudit.lab import Array, AuditSettings, Series, compiled, experiment_of, generator

ORDERS = ("cyclic", "drawn")
"""The orders of the online and of the stochastic losses."""
PARTS = 100
"""Equal parts of a run; a course has a value of each."""
SHORT_MEMORY = 50
"""Rounds over which a forgetful AMSGrad takes its maximum: fewer than lie between two spikes."""


def slopes_of(
    losses: tuple[float, float, int, float], order: str, rounds: int, draw: np.random.Generator
) -> Array:
    """The slopes of the losses (spike, other, period, probability), one a round.

    The spike comes first in each period, anywhere in it (reshuffled; `rounds` are whole periods),
    or in each round with its probability (drawn).
    """
    spike, other, period, probability = losses
    if order == "drawn":
        return np.where(draw.random(rounds) < probability, float(spike), float(other))
    first = np.arange(0, rounds, period)
    shift = draw.integers(period, size=len(first)) if order == "reshuffled" else 0
    slopes = np.full(rounds, float(other))
    slopes[first + shift] = spike
    return slopes


def directions_of(
    slopes: Array, beta1: float, beta2: float, method: str = "adam", corrects_bias: bool = False
) -> Array:
    """m_t/√v_t of eq. (1), one a round, of Adam or of a variant.

    AMSGrad divides by the largest v so far, a forgetful one by the largest of the last rounds, and
    SGD by the root mean square of all slopes, so that its steps are of Adam's size.
    """
    m = lfilter([1 - beta1], [1, -beta1], slopes)  # m_t = β₁ m_{t−1} + (1 − β₁) g_t
    v = lfilter([1 - beta2], [1, -beta2], slopes**2)
    if method == "amsgrad":
        v = np.maximum.accumulate(v)
    elif method == "forgetful":
        v = maximum_filter1d(v, SHORT_MEMORY, origin=(SHORT_MEMORY - 1) // 2, mode="nearest")
    elif method == "sgd":
        v = np.full_like(v, np.mean(slopes**2))
    if corrects_bias:  # after the maximum, as torch does
        t = np.arange(1, len(slopes) + 1)
        m, v = m / (1 - beta1**t), v / (1 - beta2**t)
    return np.asarray(m / np.sqrt(v))


@compiled()
def walk(start: float, steps: Array) -> Array:
    """The points x_1 = `start`, x_{t+1} = x_t − steps_t projected on [−1, 1]; shape of `steps`."""
    points = np.empty_like(steps)
    x = start
    for t in range(len(steps)):
        points[t] = x
        x = min(1.0, max(-1.0, x - steps[t]))
    return points


def play(losses: Any, adam: Any, settings: AuditSettings, order: str, seed: int) -> list[Array]:
    """The slopes and the points of a run from a drawn start, with α_t = α/t^p of `rate` (α, p)."""
    slopes = slopes_of(losses, order, settings.rounds, generator(seed, order))
    alpha, power = settings.rate
    rates = alpha * np.arange(1, settings.rounds + 1) ** -power
    steps = rates * directions_of(slopes, *adam)
    return [slopes, walk(generator(seed, "start").uniform(-1, 1), steps)]


def measure_play(settings: AuditSettings, seed: int) -> Mapping[str, Any]:
    """Figure 1 and Theorem 1: x, average regret against −1, and x after whole periods."""
    losses = (settings.spike, settings.other, settings.period, settings.probability)
    adam = (settings.beta1, settings.beta2, settings.method, settings.corrects_bias)
    ends = settings.rounds // PARTS * np.arange(1, PARTS + 1)
    courses: dict[str, list[Array]] = {"x": [], "regret": [], "after_period": []}
    for order in ORDERS:
        slopes, x = play(losses, adam, settings, order, seed)
        courses["x"].append(x.reshape(PARTS, -1).mean(axis=1))
        courses["regret"].append(np.cumsum(slopes * (x + 1))[ends - 1] / ends)
        courses["after_period"].append(x[(ends - 1) // settings.period * settings.period])
    return {name: Series(steps=ends, values=np.transpose(y)) for name, y in courses.items()}


def measure_chosen(settings: AuditSettings, seed: int) -> Mapping[str, Any]:
    """Theorems 2 and 3: x where the losses are n·x once and −x else, with an n for each β₂."""
    ends = settings.rounds // PARTS * np.arange(1, PARTS + 1)
    x = np.empty((PARTS, len(settings.beta2s), len(ORDERS)))
    for i, (n, beta2) in enumerate(zip(settings.periods, settings.beta2s, strict=True)):
        for j, order in enumerate(ORDERS):
            played = play((n, -1, n, 1 / n), (settings.beta1, beta2), settings, order, seed)
            x[:, i, j] = played[1].reshape(PARTS, -1).mean(axis=1)
    return {"x": Series(steps=ends, values=x)}


def measure_boundary(settings: AuditSettings, seed: int) -> Mapping[str, Any]:
    """The largest 1 − β₂ with which Adam goes to −1, by n: measured, and by the sign rule."""
    boundary = np.empty((2, len(settings.sizes)))
    predicted = np.empty_like(boundary)
    for i, (n, spike) in enumerate(zip(settings.sizes, settings.spikes, strict=True)):
        for j, order in enumerate(("cyclic", "reshuffled")):
            draw = generator(seed, order, n)
            slopes = slopes_of((spike, -1, n, 1 / n), order, settings.periods * n, draw)
            boundary[j, i] = turn(partial(drift, slopes, settings.beta1))
        predicted[:, i] = turn(partial(sign_rule, spike, -1, n, settings.beta1))
    return {"boundary": boundary, "predicted": predicted}


def turn(direction: Callable[[float], float]) -> float:
    """The 1 − β₂ at which a direction changes its sign, to a thousandth of itself."""
    return float(np.exp(brentq(lambda y: direction(1 - np.exp(y)), np.log(1e-6), -0.1, xtol=1e-3)))


def drift(slopes: Array, beta1: float, beta2: float) -> float:
    """The sum of Adam's directions over the second half of a run."""
    return float(np.sum(directions_of(slopes, beta1, beta2)[len(slopes) // 2 :]))


def sign_rule(spike: float, other: float, period: int, beta1: float, beta2: float) -> float:
    """Adam's direction over a period of the cyclic order, once both moments are periodic.

    Above 0 Adam goes to −1, below to +1, under any small or falling rate and from any start.
    """
    j = np.arange(period)
    m = other + (spike - other) * (1 - beta1) * beta1**j / (1 - beta1**period)
    v = other**2 + (spike**2 - other**2) * (1 - beta2) * beta2**j / (1 - beta2**period)
    return float(np.sum(m / np.sqrt(v)))


EXPERIMENTS = {
    "play": experiment_of(measure_play),
    "chosen": experiment_of(measure_chosen),
    "boundary": experiment_of(measure_boundary),
}
