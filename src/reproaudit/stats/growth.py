"""Laws of time and their rivals, fitted to the same observations by least squares.

A law is a course a + b·f(t) with b ≥ 0, and so is every rival; a rival's exponent or rate is fitted
too. How badly each fits is the root mean square of what it leaves over (`misfits`).

A logarithm and a power with a small exponent differ by little, and so do two powers with exponents
near each other. A power is therefore a rival only from a stated difference of exponents on
(`apart`); a bounded course is one if its exponent, where the slope is t^(exponent − 1), differs as
much from that of the law somewhere.

A decay is a course c + b·f(t) with b ≥ 0 and an f that falls exponentially or as a power of t; the
logarithm, whose power is 0, has no limit (`best_decay`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from reproaudit.lazy import BoolArray, FloatArray, np

FEWEST_LATE = 6
"""The fewest observations late in training that tell a law from its rivals."""

RESOLVED = 1e-6
"""A misfit is not told from a smaller one below this share of the spread of the observations."""

CERTAIN = 1.645
"""So many standard errors are nothing: the 95 % quantile of a normal law."""

_MOST_EXPONENT = 4.0
_LEAST_EXPONENT = 0.02
_MOST_RATE = 60.0
_MOST_OBSERVATIONS = 256
_MOST_AT_ONCE = 200_000


LIKELY = 5.99
"""The 95 % quantile of twice the logarithm of a likelihood ratio, with two degrees of freedom: a
family of laws and the exponent or rate."""

MOST_LIKELY = 13.82
"""Its 99.9 % quantile."""


@dataclass(frozen=True)
class Law:
    """A law of growth, and how far away its rivals begin.

    Attributes:
        exponent: of the time; 0 for the logarithm.
        apart: the smallest difference of exponents from which a power counts as a rival.
    """

    exponent: float
    apart: float

    @property
    def rivals(self) -> tuple[str, ...]:
        """Return the rivals: other powers, bounded courses, to a power the logarithm."""
        logarithm = ("logarithm",) if self.exponent >= self.apart else ()
        return ("power", "bounded", *logarithm)


class Misfit(NamedTuple):
    """What a law leaves over of a course.

    Attributes:
        size: its root mean square.
        independent: how many observations err on their own: fewer than all where neighbours err
            alike, by their correlation, as in an autoregression of first order.
        rough: the standard deviation of the noise by what neighbours do not share (`roughness`).
        apart: how many observations err on their own, by the same.
    """

    size: float
    independent: float
    rough: float = math.inf
    apart: float = 0.0

    @property
    def systematic(self) -> bool:
        """Whether the law leaves over more than noise: by a likelihood ratio, 5 %."""
        return self.rough < self.size and self._beyond(self.size**2 - self.rough**2)

    @property
    def noise(self) -> float:
        """The standard deviation of the noise: all that is left over, unless that is systematic."""
        return self.rough if self.systematic else self.size

    def surely_below(self, other: Misfit, beyond: float = LIKELY) -> bool:
        """Tell whether a law fits better than another beyond noise: by a likelihood ratio, 5 %.

        Twice the logarithm of that ratio lies `beyond` a quantile, that of 95 % unless stated.
        """
        if self.systematic and self._beyond(other.size**2 - self.size**2, beyond):
            return True
        free = max(self.independent - FITTED, 1.0)
        return 2 * free * math.log(other.size / self.size) > beyond

    def _beyond(self, squared: float, beyond: float = LIKELY) -> bool:
        """Whether a mean square is more than the noise by which neighbours differ makes."""
        least = RESOLVED * self.size
        free = _TOLD * self.apart
        return free * math.log1p(max(squared, 0.0) / max(self.rough, least) ** 2) > beyond


FITTED = 3
"""The numbers that are fitted of a law: offset, scale, and an exponent or a rate."""

_TOLD = 0.25
"""The share of the observations that err on their own for which their distances count."""

_KEPT = 0.75
_KEPT_VARIANCE = 0.3686
"""The mean square of the smallest three quarters of a standard normal law."""


def misfit_of(left_over: FloatArray, least: float = 0.0) -> Misfit:
    """Return the misfit of a law by what it leaves over, of shape (step,); not below the least."""
    squares = float(left_over @ left_over)
    alike = float(left_over[1:] @ left_over[:-1]) / squares if squares else 0.0
    alike = min(max(alike, 0.0), 0.99)
    size = math.sqrt(squares / len(left_over))
    if size <= least:
        return Misfit(least, len(left_over))
    rough, correlation = roughness(left_over)
    apart = len(left_over) * (1 - correlation) / (1 + correlation)
    return Misfit(size, len(left_over) * (1 - alike) / (1 + alike), max(rough, least), apart)


def roughness(values: FloatArray) -> tuple[float, float]:
    """Estimate the noise on a smooth course, of shape (step,), and how far neighbours err alike.

    Each observation has a distance from the middle of its neighbours, and one from the middle of
    the next but one. A smooth course leaves little of either. Noise whose neighbours correlate by
    r, as in an autoregression of first order, leaves 3/2 - 2r + r²/2 of its variance, and the same
    with r². Both are read of the smallest three quarters of the distances, so that a few jumps do
    not count. The noise is infinite with fewer than six observations.
    """
    if len(values) < FEWEST_LATE:
        return math.inf, 0.0
    near, far = (_spread(values[k:-k] - (values[: -2 * k] + values[2 * k :]) / 2) for k in (1, 2))
    r = np.linspace(0, 0.98, 99)
    left = 1.5 - 2 * r + r**2 / 2
    ratio = (far / near) ** 2 if near else 0.0
    place = int(np.abs((1.5 - 2 * r**2 + r**4 / 2) / left - ratio).argmin())
    return near / math.sqrt(left[place]), float(r[place])


def _spread(distances: FloatArray) -> float:
    """The standard deviation of a normal law, by the smallest three quarters of its numbers."""
    squares = np.sort(distances**2)
    return math.sqrt(float(squares[: math.ceil(_KEPT * len(squares))].mean()) / _KEPT_VARIANCE)


def misfits(steps: tuple[float, ...], values: FloatArray, law: Law) -> dict[str, Misfit]:
    """Compute the misfit of a law, of each rival, and of a constant.

    Steps are positive and increasing; both have shape (step,). The names are "law", `Law.rivals`,
    and "constant" for a course that does not grow.
    """
    centred = values - values.mean()
    least = RESOLVED * float(np.sqrt(np.mean(centred**2))) or math.ulp(0.0)
    of_laws = {"constant": misfit_of(centred, least)}
    few = len(steps) <= _MOST_OBSERVATIONS
    for name, courses in (_families_of_few if few else _families)(steps, law).items():
        growth = np.maximum(products(courses, centred), 0.0)
        best = int(growth.argmax())
        of_laws[name] = misfit_of(centred - growth[best] * courses[best], least)
    return of_laws


def products(courses: FloatArray, values: FloatArray) -> FloatArray:
    """Multiply each course, of shape (course, step), by values of shape (step,).

    Some courses at a time: of a larger product each core computes a part, and waits for the others
    longer than it computes.
    """
    each = max(1, _MOST_AT_ONCE // len(values))
    parts = range(0, len(courses), each)
    return np.concatenate([courses[part : part + each] @ values for part in parts])


def thinned(steps: FloatArray, values: FloatArray) -> tuple[tuple[float, ...], FloatArray]:
    """Return a course of at most `_MOST_OBSERVATIONS` means of as many neighbours each.

    Both have shape (step,). Where they do not go up in it, the first few are left out.
    """
    each = math.ceil(len(steps) / _MOST_OBSERVATIONS)
    rest = len(steps) % each
    means = [numbers[rest:].reshape(-1, each).mean(axis=1) for numbers in (steps, values)]
    return tuple(means[0].tolist()), means[1]


@lru_cache(maxsize=1)  # runs of one length follow each other, and a long one takes much memory
def _families(steps: tuple[float, ...], law: Law) -> dict[str, FloatArray]:
    """Courses by family, centred and of length 1; shape (course, step)."""
    t = np.asarray(steps, dtype=np.float64) / steps[-1]
    exponents = np.arange(_LEAST_EXPONENT, _MOST_EXPONENT, 0.01)
    far = exponents[np.abs(exponents - law.exponent) >= law.apart - 1e-9]
    far = np.union1d(far, [law.exponent + law.apart])
    ends = np.arange(max(law.apart - law.exponent, _LEAST_EXPONENT), _MOST_EXPONENT, 0.01)
    rates = np.geomspace(law.apart, _MOST_RATE, 800)
    families = {
        "law": _power(t[None], law.exponent),
        "power": _power(t, far[:, None]),
        "bounded": np.concatenate(
            [-(t ** -ends[:, None]), -np.exp(-rates[:, None] * t), t / (1 + t * rates[:, None])]
        ),
    }
    if "logarithm" in law.rivals:
        families["logarithm"] = _power(t[None], 0.0)
    return {name: _normalised(courses) for name, courses in families.items()}


_families_of_few = lru_cache(maxsize=16)(_families.__wrapped__)  # the parts of one course


def _power(t: FloatArray, exponent: float | FloatArray) -> FloatArray:
    """The time to a power, or its logarithm for the exponent 0."""
    if np.ndim(exponent) == 0 and exponent == 0:
        return np.asarray(np.log(t))
    return np.asarray(t**exponent)


def _normalised(courses: FloatArray) -> FloatArray:
    courses -= courses.mean(axis=-1, keepdims=True)
    courses /= np.linalg.norm(courses, axis=-1, keepdims=True)
    return courses


# --- decays ---------------------------------------------------------------------------------------

_MOST_DECAY = 2.0
_RATES = (0.5, 120.0)
_COARSE = 60
_FINE = 21
_REFINED = 2


@dataclass(frozen=True)
class Decays:
    """Decays c + b·f(t), each fitted to the same positive course by least relative squares.

    Attributes:
        courses: as fitted; shape (decay, step).
        limits: where each goes, c, or minus infinity of the logarithm; shape (decay,).
        later: where each is after as long again; shape (decay,).
        exponents: of each power, infinite of an exponential decay; shape (decay,).
    """

    courses: FloatArray
    limits: FloatArray
    later: FloatArray
    exponents: FloatArray

    @property
    def now(self) -> FloatArray:
        """Where each is at the last observation; shape (decay,)."""
        return self.courses[:, -1]


class Decay(NamedTuple):
    """The decay that fits best.

    Attributes:
        misfit: in shares of the course.
        now: where it is at the last observation.
        later: where it is after as long again.
    """

    misfit: Misfit
    now: float
    later: float


def best_decay(
    steps: FloatArray, values: FloatArray, among: Callable[[Decays], BoolArray]
) -> Decay | None:
    """Return the decay that fits a positive course best, among some; None if there are none.

    Steps are positive; both have shape (step,). Exponents and rates come from a grid, refined about
    the best.
    """
    t = steps / steps[-1]
    exponents = np.linspace(0.0, _MOST_DECAY, _COARSE)
    rates = np.geomspace(*_RATES, _COARSE)
    step = float(exponents[1])
    ratio = float(rates[1] / rates[0])
    decay = None
    for _ in range(_REFINED + 1):
        decays = _fitted(t, values, exponents, rates)
        squares = ((1 - decays.courses / values) ** 2).sum(axis=-1)
        squares = np.where(among(decays), squares, np.inf)
        best = int(squares.argmin())
        if not np.isfinite(squares[best]):
            return decay
        left_over = 1 - decays.courses[best] / values
        decay = Decay(
            misfit_of(left_over, RESOLVED), float(decays.now[best]), float(decays.later[best])
        )
        near = np.linspace(-1, 1, _FINE)
        power = best < len(exponents)
        about = exponents[best] if power else rates[best - len(exponents)]
        exponents = np.clip(about + step * near, 0, None) if power else exponents[:0]
        rates = rates[:0] if power else about * ratio**near
        step *= near[1] - near[0]
        ratio **= near[1] - near[0]
    return decay


def _fitted(t: FloatArray, values: FloatArray, exponents: FloatArray, rates: FloatArray) -> Decays:
    """Decays with these exponents, then those with these rates, fitted to a course."""
    seen = np.append(t, 2.0)
    p = np.where(exponents == 0, 1.0, exponents)[:, None]
    powers = np.where(exponents[:, None] == 0, -np.log(seen), (seen**-p - 1) / p)
    falling = np.concatenate([powers, np.exp(-rates[:, None] * (seen - t[0]))])
    shapes = falling[:, :-1]
    ends = np.append(np.where(exponents == 0, -np.inf, -1 / p[:, 0]), np.zeros(len(rates)))
    weights = values.min() / values
    constant = (weights**2).sum()
    both = shapes @ weights**2
    two = shapes**2 @ weights**2
    # a shape that weighs nothing, or is straight to the last digit, has no scale of its own
    spread = constant * two - both**2
    is_scaled = spread > RESOLVED**2 * constant * two
    covariance = values.min() * (constant * (shapes @ weights) - both * weights.sum())
    b = np.maximum(
        np.divide(covariance, spread, out=np.zeros_like(covariance), where=is_scaled), 0.0
    )
    c = (values.min() * weights.sum() - b * both) / constant
    return Decays(
        courses=c[:, None] + b[:, None] * shapes,
        limits=c + b * np.where(b > 0, ends, 0.0),
        later=c + b * falling[:, -1],
        exponents=np.append(exponents, np.full(len(rates), np.inf)),
    )
