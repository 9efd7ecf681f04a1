"""Skewed and lumpy runs: nulls that no scale makes normal, and laws that few runs cannot exclude.

In every null here, half of all runs lie beyond the limit, so that the typical run is on it. In
most laws of `FEW_RUNS` fewer runs lie beyond, while the mean of their places on the scale is on it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from benchmarks.calibrate.levels import (
    DISTANCE,
    LOG_BOUND,
    POSITIVE,
    REAL,
    Law,
    exponential,
    fails,
    logs,
    matches,
    normal,
    one,
    ratio,
    reaches,
    through,
    total,
    two,
)
from benchmarks.calibrate.shape import Shape

HUNDRED = math.log(100)
MEDIAN = math.log(2)
"""Of an exponential law."""


def _log(name: str, law: Law, seeds: int = 5) -> Shape:
    """Numbers with these logarithms, which must be at most 1."""
    return reaches(f"log scale, {name}", logs(law), "log", POSITIVE, seeds, at_most=1.0)


STUCK = total(two(0.5, 0.05, -HUNDRED), normal(0.0, 0.01))
"""Half of the runs stay a twentieth beyond the bound, all others end a hundred times below it."""
EXPONENTIAL_GOOD = exponential(MEDIAN, -1.0)
LOG_NORMAL_GOOD = through(lambda z: 1 - np.exp(z), normal(0.0, 1.0))
WORSE = total(two(0.5, HUNDRED / 2, -HUNDRED / 2), normal(0.0, 0.3))

NULLS = [
    _log("half of the runs stuck just beyond, others far better", STUCK),
    _log("half of twenty runs stuck just beyond, others far better", STUCK, 20),
    _log("exponential logarithms, long tail on the good side", EXPONENTIAL_GOOD),
    _log("exponential logarithms, twenty runs, long tail on the good side", EXPONENTIAL_GOOD, 20),
    _log("exponential logarithms, long tail on the bad side", exponential(-MEDIAN)),
    _log("log-normal logarithms, long tail on the good side", LOG_NORMAL_GOOD),
    _log("log-normal logarithms, twenty runs, long tail on the good side", LOG_NORMAL_GOOD, 20),
    _log("half of the runs a hundred times worse", WORSE),
    reaches(
        "linear scale, half of twenty runs stuck just beyond, others far better",
        STUCK,
        "linear",
        REAL,
        20,
        at_most=0.0,
    ),
    Shape(
        "aligns",
        "half of the runs stuck just beyond, others far better",
        one(logs(total(two(0.5, LOG_BOUND + 0.05, LOG_BOUND - HUNDRED), normal(0.0, 0.01)))),
        DISTANCE,
    ),
    Shape(
        "aligns",
        "exponential logarithms, long tail on the good side",
        one(logs(exponential(LOG_BOUND + MEDIAN, -1.0))),
        DISTANCE,
    ),
    matches(
        "log scale, half of the runs just beyond an edge, others on the target",
        logs(total(two(0.5, 0.1, 0.0), normal(0.0, 0.001))),
        {},
        scale="log",
    ),
    matches(
        "log scale, half of twenty runs just beyond an edge, others on the target",
        logs(total(two(0.5, 0.1, 0.0), normal(0.0, 0.001))),
        {},
        20,
        scale="log",
    ),
    ratio(
        "half of the ratios just below, others far above",
        total(two(0.5, math.log(1.25) - 0.05, 2.0), normal(0.0, 0.01)),
    ),
]
"""Fixed before the count of runs was joined to the interval of the mean."""


def _few(five: Shape) -> list[Shape]:
    return [five, *(replace(five, name=f"{five.name}, {n} runs", seeds=n) for n in (10, 20))]


def _together(law: Law, size: int) -> Law:
    """Runs in blocks of so many, of which each has one number: they share what they draw."""
    return lambda rng, audits, seeds: np.repeat(law(rng, audits, seeds // size), size, axis=1)


FIVE_TIMES = total(two(1 / 3, math.log(5), 0.0), normal(0.0, 0.01))
"""A third of the runs ends at five times the target, all others on it."""


def _either_sign(spread: float) -> Shape:
    """Numbers of either sign with a long tail beyond the limit, on which their mean lies."""
    mean = math.exp(spread**2 / 2)
    law = through(lambda z: np.exp(spread * z) - mean, normal(0.0, 1.0))
    name = f"linear scale, log-normal less its mean, spread {spread:g}"
    return reaches(name, law, "linear", REAL, at_most=0.0)


FEW_RUNS = [
    *(one for spread in (1.0, 1.5) for one in _few(_either_sign(spread))),
    *_few(_log("exponential logarithms, 37% of the runs beyond", exponential(-1.0))),
    *_few(
        _log(
            "one run in five a hundred times worse",
            total(two(0.2, 0.8 * HUNDRED, -0.2 * HUNDRED), normal(0.0, 0.3)),
        )
    ),
    *_few(matches("log scale, a third of the runs far outside", logs(FIVE_TIMES), {}, scale="log")),
    fails("twenty runs that fail together in blocks of five", _together(two(0.2, 1.0, 0.0), 5), 20),
]
"""Five runs unless the name says otherwise. The last ones are no independent runs at all."""
