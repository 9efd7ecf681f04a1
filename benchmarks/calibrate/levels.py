"""Nulls and phenomena of kinds that hold one number per seed against a level or a target.

Every null has its true mean, on the scale on which the kind judges, exactly on the limit, the least
favourable place, unless its name says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from scipy.special import digamma

from benchmarks.calibrate.shape import Curves, Draw, Numbers, Shape

Rng = np.random.Generator
Law = Callable[[Rng, int, int], Numbers]
"""Draws numbers of shape (audit, seed)."""
Ranges = Mapping[str, tuple[float | None, float | None]]


# ---------------------------------------------------------------- laws of one number per seed


def normal(mean: float, sd: float) -> Law:
    return lambda rng, audits, seeds: mean + sd * rng.normal(size=(audits, seeds))


def heavy(mean: float, sd: float) -> Law:
    return lambda rng, audits, seeds: mean + sd * rng.standard_t(3, size=(audits, seeds))


def exponential(shift: float, factor: float = 1.0) -> Law:
    """Its tail is long upwards, or downwards with a negative factor."""
    return lambda rng, audits, seeds: shift + factor * rng.exponential(size=(audits, seeds))


def chi(freedom: int, mean: float) -> Law:
    """Lengths of normal vectors whose logarithm has this mean: skewed to the left."""

    def draw(rng: Rng, audits: int, seeds: int) -> Numbers:
        squares = rng.chisquare(freedom, size=(audits, seeds))
        expected = (digamma(freedom / 2) + math.log(2)) / 2
        lengths: Numbers = np.exp(mean - expected) * np.sqrt(squares)
        return lengths

    return draw


def beta(a: float, b: float) -> Law:
    return lambda rng, audits, seeds: rng.beta(a, b, size=(audits, seeds))


def two(share: float, there: float, elsewhere: float) -> Law:
    """One number for a share of the runs, another one for all others."""
    return lambda rng, audits, seeds: np.where(
        rng.random((audits, seeds)) < share, there, elsewhere
    )


def total(*laws: Law) -> Law:
    """The sum of independent numbers."""
    return lambda rng, audits, seeds: np.sum([law(rng, audits, seeds) for law in laws], axis=0)


def through(function: Callable[[Numbers], Numbers], law: Law) -> Law:
    return lambda rng, audits, seeds: function(law(rng, audits, seeds))


def logs(law: Law) -> Law:
    """Positive numbers with these logarithms."""
    return through(np.exp, law)


def rests(law: Law) -> Law:
    """Numbers below 1 whose distances to 1 have these logarithms."""
    return through(lambda z: 1 - np.exp(z), law)


def _beta_level(a: float, b: float) -> float:
    """The level s with log(1 − s) equal to the mean of log(1 − x) for x of this law."""
    return float(1 - np.exp(digamma(b) - digamma(a + b)))


SIGMA = 1.5
"""The spread of the logarithm of skewed data: the largest of five is then often 6 medians."""
SKEWED = logs(normal(-(SIGMA**2) / 2, SIGMA))
"""Log-normal with the mean 1."""


# ---------------------------------------------------------------- measurements


def one(law: Law, name: str = "x") -> Callable[[Rng, int, int], Draw]:
    return lambda rng, audits, seeds: {name: law(rng, audits, seeds)}


def pair(
    first: Law, second: Law, joined: Callable[[Numbers, Numbers], Numbers]
) -> Callable[[Rng, int, int], Draw]:
    """Two numbers: x of the first law, and y joined of x and of a number of the second."""

    def draw(rng: Rng, audits: int, seeds: int) -> Draw:
        x = first(rng, audits, seeds)
        return {"x": x, "y": joined(x, second(rng, audits, seeds))}

    return draw


def _random_directions(rng: Rng, audits: int, seeds: int) -> Draw:
    a, b = rng.normal(size=(2, audits, seeds, 25))
    cosine = (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
    return {"x": np.sqrt(1 - cosine**2)}


def _little_gain(rng: Rng, audits: int, seeds: int) -> Draw:
    """The remaining distance to 1 shrinks to half on average: the bound of `of_the_rest`."""
    start = 0.1 * np.exp(0.2 * rng.normal(size=(audits, seeds)))
    rest = start * np.exp(normal(math.log(0.5), 0.3)(rng, audits, seeds))
    return {"s": Curves((0, 100), 1 - np.stack([start, rest], axis=-1))}


# ---------------------------------------------------------------- checks

DISTANCE = {"distance": {"measurement": "x"}, "at_most": 0.1}
COSINE = {"cosine": {"measurement": "x"}, "at_least": 0.9}
LOG_BOUND = math.log(0.1)
NEAR = {"target": 1.0, "margin": 0.1}
PAIR = {"lower": {"measurement": "x"}, "upper": {"measurement": "y"}}
POSITIVE: Ranges = {"x": (0.0, None), "y": (0.0, None)}
REAL: Ranges = {"x": (None, None), "y": (None, None)}
SHARE: Ranges = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
UNIT = normal(0.0, 1.0)


def reaches(
    name: str, law: Law, scale: str, ranges: Ranges, seeds: int = 5, **level: float
) -> Shape:
    block = {"quantity": {"measurement": "x"}, "scale": scale, **level}
    return Shape("reaches", name, one(law), block, seeds, ranges)


def matches(name: str, law: Law, ranges: Ranges, seeds: int = 5, **block: object) -> Shape:
    return Shape("matches", name, one(law), {**NEAR, **block}, seeds, ranges)


def ratio(name: str, law: Law) -> Shape:
    """Logarithms of the ratio of y to x, which must be at least 1.25."""
    draw = pair(logs(UNIT), logs(law), np.multiply)
    return Shape("separates", name, draw, {**PAIR, "by": 1.25}, ranges=POSITIVE)


def difference(name: str, draw: Callable[[Rng, int, int], Draw], by: float, r: Ranges) -> Shape:
    return Shape("separates", name, draw, {**PAIR, "by": by, "scale": "linear"}, ranges=r)


def fails(name: str, law: Law, seeds: int) -> Shape:
    return Shape("failure_rate", name, one(law), seeds=seeds)


NULLS = [
    Shape("aligns", "normal logarithms", one(logs(normal(LOG_BOUND, 0.5))), DISTANCE),
    Shape("aligns", "heavy-tailed logarithms", one(logs(heavy(LOG_BOUND, 0.3))), DISTANCE),
    Shape("aligns", "lengths of normal vectors", one(chi(4, LOG_BOUND)), DISTANCE),
    Shape("aligns", "random directions", _random_directions, DISTANCE),
    Shape("aligns", "cosines, normal on log(1 − x)", one(rests(normal(LOG_BOUND, 0.6))), COSINE),
    Shape(
        "concentrates",
        "normal on log(1 − x)",
        one(rests(through(lambda z: np.minimum(z, -1e-9), normal(math.log(0.05), 0.8))), "s"),
        {"at_least": 0.95},
    ),
    Shape(
        "concentrates",
        "beta-distributed shares",
        one(beta(8, 1), "s"),
        {"at_least": _beta_level(8, 1)},
    ),
    Shape(
        "concentrates",
        "even shares, off the bound",
        one(lambda r, n, k: r.dirichlet(np.ones(7), size=(n, k))[..., 0], "s"),
        {"at_least": 0.95},
    ),
    Shape(
        "concentrates",
        "half of the rest covered",
        _little_gain,
        {"at_least": 0.5, "of_the_rest": True},
    ),
    matches("normal, on an edge of the margin", normal(1.1, 0.02), REAL),
    matches("heavy tails, on an edge of the margin", heavy(0.9, 0.015), REAL),
    matches(
        "log scale, normal logarithms on an edge",
        logs(normal(math.log(1.1), 0.02)),
        {},
        scale="log",
    ),
    matches("positive skewed data on the linear scale", SKEWED, POSITIVE, target=0.5, margin=0.5),
    matches(
        "exponential data of either sign",
        through(lambda z: 1.1 + 0.03 * z, exponential(-1.0)),
        REAL,
    ),
    reaches("linear scale, normal", UNIT, "linear", REAL, at_most=0.0),
    reaches("linear scale, heavy tails", heavy(0.0, 1.0), "linear", REAL, at_least=0.0),
    reaches("positive skewed data on the linear scale", SKEWED, "linear", POSITIVE, at_most=1.0),
    reaches(
        "exponential data of either sign, linear scale",
        exponential(-1.0),
        "linear",
        REAL,
        at_most=0.0,
    ),
    reaches(
        "shares on the linear scale, beta-distributed", beta(4, 1), "linear", SHARE, at_least=0.8
    ),
    reaches("log scale, normal logarithms", logs(normal(0.0, SIGMA)), "log", POSITIVE, at_most=1.0),
    reaches(
        "log scale, lengths of normal vectors from below",
        chi(4, 0.0),
        "log",
        POSITIVE,
        at_least=1.0,
    ),
    reaches(
        "logit scale, normal",
        through(lambda z: 1 / (1 + np.exp(-z)), normal(1.0, 0.8)),
        "logit",
        SHARE,
        at_least=float(1 / (1 + np.exp(-1.0))),
    ),
    reaches(
        "log(1 − x), beta-distributed shares",
        beta(4, 1),
        "log_complement",
        SHARE,
        at_least=_beta_level(4, 1),
    ),
    ratio("normal logarithms of the ratio", normal(math.log(1.25), 0.2)),
    ratio("heavy-tailed logarithms of the ratio", heavy(math.log(1.25), 0.1)),
    Shape(
        "separates",
        "two independent draws of one law",
        pair(chi(6, 0.0), chi(6, 0.0), lambda _, y: y),
        {**PAIR, "by": 1.0},
        ranges=POSITIVE,
    ),
    difference(
        "positive skewed differences on the linear scale",
        pair(logs(normal(0.0, 0.3)), SKEWED, lambda x, z: x + 2.0 - z),
        1.0,
        POSITIVE,
    ),
    difference(
        "linear scale, normal differences", pair(UNIT, normal(0.25, 0.1), np.add), 0.25, REAL
    ),
    fails("a fifth of the runs fails", two(0.2, 1.0, 0.0), 20),
    fails("a quarter of thirty runs fails", two(0.25, 3.0, 0.1), 30),
    fails("rare great failures among a hundred runs", two(0.2, 1e6, 0.0), 100),
    fails("normal values, a fifth beyond the bound", normal(0.5 - 0.8416212, 1.0), 40),
]

PHENOMENA = [
    Shape(
        "aligns", "a third of the bound", one(logs(normal(LOG_BOUND - math.log(3), 0.5))), DISTANCE
    ),
    Shape("aligns", "cosines of 0.97", one(rests(normal(math.log(0.03), 0.5))), COSINE),
    Shape(
        "concentrates",
        "a share of 0.99",
        one(rests(normal(math.log(0.01), 0.6)), "s"),
        {"at_least": 0.95},
    ),
    matches("on the target, spread a fifth of the margin", normal(1.0, 0.02), REAL),
    matches("log scale, spread a third of the margin", logs(normal(0.0, 0.033)), {}, scale="log"),
    reaches(
        "half of the bound, log scale",
        logs(normal(-math.log(2), 0.4)),
        "log",
        POSITIVE,
        at_most=1.0,
    ),
    reaches(
        "two spreads below the bound, linear scale", normal(-2.0, 1.0), "linear", REAL, at_most=0.0
    ),
    ratio("twice as large, asked for 1.25 times", normal(math.log(2), 0.25)),
    fails("one run in a hundred fails, twenty runs", two(0.01, 1.0, 0.0), 20),
    fails("one run in twenty fails, fifty runs", two(0.05, 1.0, 0.0), 50),
]
