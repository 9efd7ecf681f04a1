"""How often each kind of check says yes where its claim is untrue, and where it is true.

A shape is a plain, seeded generator of the measurements of one run. `make calibrate` draws runs of
every shape and writes docs/calibration.md; `tests/engine/test_kinds.py` holds fewer draws to the
same bounds. A planted shape looks like a phenomenon that is absent, or hard to see, and is observed
in four ways.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from reproaudit.checks import Check, Kind, Run
from reproaudit.declarations import Axis, Declaration, MeasurementKind, MeasurementMissingError
from reproaudit.records import Measurements, Series
from reproaudit.stats.binomial import Decision, decide_count

from .sections import PLANTED_WORLDS, section_of

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator], dict[str, Array | float]]
Curve = Callable[[Array], Array]
PlantedDraw = Callable[[Array, np.random.Generator], dict[str, Array]]
NumberDraw = Callable[[Array, np.random.Generator], Mapping[str, Array | float]]

PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"
OWN_RUNS = 15
"""The runs of which a contrast is decided: noise meets it in half of single runs."""
STEPS = np.unique(np.round(np.geomspace(1, 4001, 120)).astype(int)) - 1
TIME = STEPS / STEPS[-1]
SIZES = (8, 16, 32, 64)
PLANTED_RUNS = (5, 15)
STEPS_SEEN = {
    "even": np.arange(0, 4001, 40),
    "logarithmic": STEPS,
    "sparse": np.round(np.linspace(0, 4000, 16)).astype(int),
    "dense": np.arange(0, 4001, 8),
}
"""The steps at which planted courses are observed."""
SIZES_SEEN = {
    "even": tuple(range(8, 73, 8)),
    "logarithmic": (8, 16, 32, 64, 128, 256, 512),
    "sparse": (8, 16, 32, 64),
    "dense": tuple(range(8, 72)),
}
"""The sizes at which planted powers are observed."""
CHECK: TypeAdapter[Kind] = TypeAdapter(Check)
OURS = {"from": "ours", "why": "The kind's default."}


@dataclass(frozen=True)
class Shape:
    """One way in which the measurements of a run can come about.

    Attributes:
        kind: the kind of check that is put to it.
        name: what it is, in a few words.
        draw: the measurements of one run.
        check: the check, if it is not the kind's own.
        contrast: whether fifteen runs decide, as of a contrast.
    """

    kind: str
    name: str
    draw: Draw
    check: dict[str, Any] | None = None
    contrast: bool = False

    def run(self, seed: int) -> Run:
        """Return one run."""
        return measured_run(seed, self.draw(np.random.default_rng(seed)), STEPS, SIZES)

    def rate(self, draws: int) -> float:
        """Return the share of draws that say yes; of a contrast, how often fifteen are met."""
        check = check_of(self)
        said = [all(one.met for one in check.conditions(self.run(i))) for i in range(draws)]
        yes = said.count(True) / draws
        return met_rate(yes, OWN_RUNS) if self.contrast else yes


@dataclass(frozen=True)
class Planted:
    """A course over training, or values over sizes, that are observed in each of four ways.

    Attributes:
        kind: the kind of check that is put to it.
        name: what it is, in a few words.
        draw: the measurements of one run; of the shares of training, or the sizes, that are seen.
        check: the check, if it is not the kind's own.
        since: the share of training after which the log begins.
    """

    kind: str
    name: str
    draw: NumberDraw
    check: dict[str, Any] | None = None
    since: float = 0.0

    def says(self, seen: str, seed: int) -> bool | None:
        """Tell what one run says, observed in a way: yes, no, or None of a void run."""
        rng = np.random.default_rng(seed)
        if self.kind == "scales_like":
            sizes = SIZES_SEEN[seen]
            run = measured_run(seed, self.draw(np.array(sizes, dtype=float), rng), STEPS, sizes)
        else:
            steps = STEPS_SEEN[seen]
            steps = steps[steps >= self.since * steps[-1]]
            run = measured_run(seed, self.draw(steps / steps[-1], rng), steps, SIZES)
        try:
            met = [one.met for one in check_of(self).conditions(run)]
        except MeasurementMissingError:
            return None
        return False if False in met else None if None in met else True

    def met(self, seen: str, draws: int) -> tuple[float, ...]:
        """Return how often five runs and fifteen are met, observed in a way."""
        yes = [self.says(seen, seed) for seed in range(draws)].count(True) / draws
        return tuple(met_rate(yes, runs) for runs in PLANTED_RUNS)

    def no(self, seen: str, draws: int) -> float:
        """Return the share of runs that say no, observed in a way."""
        return [self.says(seen, seed) for seed in range(draws)].count(False) / draws


def met_rate(yes: float, runs: int) -> float:
    """Return how often so many independent runs are met, each of which says yes at a rate."""
    met = (k for k in range(runs + 1) if decide_count(k, runs) is Decision.MET)
    return sum(math.comb(runs, k) * yes**k * (1 - yes) ** (runs - k) for k in met)


def check_of(shape: Shape | Planted) -> Kind:
    """Return the check that is put to a shape."""
    fields = shape.check or CHECKS[shape.kind]
    return CHECK.validate_json(json.dumps({"kind": shape.kind, **fields}))


def measured_run(
    seed: int, found: Mapping[str, Array | float], steps: Array, sizes: tuple[int, ...]
) -> Run:
    """Return a run: what is as long as the steps is a series, other arrays lie over the sizes."""
    series = {
        name: Series(steps=tuple(steps.tolist()), values=value)
        for name, value in found.items()
        if isinstance(value, np.ndarray) and len(value) == len(steps)
    }
    arrays = {
        name: value
        for name, value in found.items()
        if isinstance(value, np.ndarray) and name not in series
    }
    scalars = {name: float(v) for name, v in found.items() if not isinstance(v, np.ndarray)}
    declared = {
        name: Declaration(kind=kind, unit="1", meaning="Synthetic.", axes=axes)
        for names, kind, axes in (
            (series, MeasurementKind.SERIES, ()),
            (arrays, MeasurementKind.ARRAY, (Axis(name="size", values=sizes),)),
            (scalars, MeasurementKind.SCALAR, ()),
        )
        for name in names
    }
    measured = Measurements(series=series, arrays=arrays, scalars=scalars)
    return Run(seed, measured, declared, {})


CHECKS: dict[str, dict[str, Any]] = {
    "aligns": {"distance": "x", "at_most": 0.1, **OURS},
    "beats": {"lower": "a", "upper": "b", "from": "paper"},
    "concentrates": {"share": "x", "at_least": 0.9, **OURS},
    "converges": {
        "loss": "loss",
        "falls": {"at_least": 10, **OURS},
        "flattens": {"at_most": 0.05, **OURS},
    },
    "equals": {"value": "x", "to": 0.5, "within": 0.02, "standard": "typical", **OURS},
    "follows": {"series": "x", "reference": "y", "at_most": 0.1, **OURS},
    "grows_like": {
        "series": "x",
        "law": "logarithm",
        "growth": {"at_least": 0.5, **OURS},
        "from": "paper",
    },
    "reaches": {"value": "x", "at_least": 0.9, **OURS},
    "scales_like": {
        "value": "sizes",
        "axis": "size",
        "exponent": -0.5,
        "within": 0.05,
        "bend": {"at_most": 0.1, **OURS},
        "from": "paper",
    },
    "separates": {
        "value": "x",
        "start": {"below": 0.05, **OURS},
        "end": {"at_least": 0.9, **OURS},
    },
    "stages": {
        "earlier": {"series": "a"},
        "later": {"series": "b"},
        "order": {"above": 1.0, "from": "paper"},
        "wait": {"below": "one_clock", "from": "derived"},
    },
}
"""The check that is put to the shapes of each kind."""


def noisy(course: Array, rng: np.random.Generator, size: float = 0.01) -> Array:
    """Return a course with independent noise on every observation."""
    noise: Array = course + size * rng.normal(size=len(course))
    return noise


def wobbly(course: Array, rng: np.random.Generator, size: float = 0.02) -> Array:
    """Return a positive course with multiplicative noise."""
    noise: Array = course * np.exp(size * rng.normal(size=len(course)))
    return noise


def rise(at: float, width: float) -> Array:
    """Return a sigmoid from 0 to 1 around a share of training."""
    found: Array = 1 / (1 + np.exp(-(TIME - at) / width))
    scaled: Array = (found - found[0]) / (found[-1] - found[0])
    return scaled


def walk(rng: np.random.Generator) -> Array:
    """Return a random walk of standard deviation 1 at the end."""
    steps = rng.normal(size=len(TIME)) / np.sqrt(len(TIME))
    found: Array = np.cumsum(steps) - steps[0]
    return found


def _x(draw: Callable[[np.random.Generator], float]) -> Draw:
    return lambda rng: {"x": draw(rng)}


def _course(draw: Callable[[np.random.Generator], Array], name: str = "x") -> Draw:
    return lambda rng: {name: draw(rng)}


def _pair(draw: Callable[[np.random.Generator], tuple[Any, Any]], *names: str) -> Draw:
    return lambda rng: dict(zip(names or ("a", "b"), draw(rng), strict=True))


def _unit(rng: np.random.Generator, dimension: int) -> Array:
    found: Array = rng.normal(size=dimension)
    return found / np.linalg.norm(found)


def _far(rng: np.random.Generator, dimension: int) -> float:
    return float(np.linalg.norm(_unit(rng, dimension) - _unit(rng, dimension)))


def _same(rng: np.random.Generator, skew: float) -> tuple[float, float]:
    a, b = np.exp(skew * rng.normal(size=2))
    return float(a), float(b)


def _sizes(exponent: float, bend: float = 0.0, noise: float = 0.0) -> Draw:
    def draw(rng: np.random.Generator) -> dict[str, Array | float]:
        x = np.log(np.array(SIZES) / SIZES[0])
        y = exponent * x + bend * (x - x.mean()) ** 2 + noise * rng.normal(size=len(x))
        return {"sizes": np.exp(y)}

    return draw


def _above(constant: float, exponent: float, noise: float) -> Draw:
    def draw(rng: np.random.Generator) -> dict[str, Array | float]:
        power = (np.array(SIZES) / SIZES[0]) ** exponent
        return {"sizes": (constant + power) * np.exp(noise * rng.normal(size=len(SIZES)))}

    return draw


def _orders(noise: float) -> Draw:
    def draw(rng: np.random.Generator) -> dict[str, Array | float]:
        x = rng.normal(size=len(SIZES))
        return {"x": x, "y": x + noise * rng.normal(size=len(SIZES))}

    return draw


RANKS = {"ranks": ["x", "y"], "at_least": 0.9, **OURS}
OFFSET = {**CHECKS["scales_like"], "offset": True}
T = 1.0 + STEPS.astype(float)
NULLS: tuple[Shape, ...] = (
    Shape("aligns", "two random directions in 4 dimensions", _x(lambda r: _far(r, 4))),
    Shape("aligns", "two random directions in 50 dimensions", _x(lambda r: _far(r, 50))),
    Shape("aligns", "a skewed distance of median 1", _x(lambda r: float(np.exp(r.normal())))),
    Shape("aligns", "two random orders of four", _orders(1e6), RANKS),
    Shape("beats", "two draws of one normal law", _pair(lambda r: _same(r, 0.1)), contrast=True),
    Shape("beats", "two draws of one skewed law", _pair(lambda r: _same(r, 1.5)), contrast=True),
    Shape("beats", "one number in two roundings", _pair(
        lambda r: (x := abs(r.normal()) + 1, x * (1 + 1e-9 * r.normal()))), contrast=True),
    Shape("concentrates", "the largest of five Dirichlet shares",
          _x(lambda r: float(r.dirichlet(np.ones(5)).max()))),
    Shape("concentrates", "a uniform share", _x(lambda r: 0.94 * float(r.uniform()))),
    Shape("concentrates", "one of two, skewed", _x(lambda r: float(r.beta(5, 3)))),
    Shape("converges", "a power law t^-0.5 that goes on",
          _course(lambda r: wobbly(T**-0.5, r), "loss")),
    Shape("converges", "a straight descent to a fifth",
          _course(lambda r: wobbly(1 - 0.8 * TIME, r), "loss")),
    Shape("converges", "noise about a level", _course(lambda r: wobbly(1 + 0 * TIME, r), "loss")),
    Shape("converges", "an exponential decay that goes on",
          _course(lambda r: wobbly(np.exp(-4 * TIME), r), "loss")),
    Shape("equals", "a uniform number", _x(lambda r: float(r.uniform()))),
    Shape("equals", "a neighbour, two margins away", _x(lambda r: 0.54 + 0.01 * r.normal())),
    Shape("equals", "a skewed number of median a half",
          _x(lambda r: 0.5 * float(np.exp(r.normal())))),
    Shape("follows", "two random walks", _pair(lambda r: (walk(r), walk(r)), "x", "y")),
    Shape("follows", "the same end by another course",
          _pair(lambda r: (noisy(TIME, r), noisy(TIME**2, r)), "x", "y")),
    Shape("follows", "the same course at another pace",
          _pair(lambda r: (noisy(rise(0.3, 0.08), r), noisy(rise(0.5, 0.08), r)), "x", "y")),
    Shape("grows_like", "a square root", _course(lambda r: noisy(0.1 * T**0.5, r, 0.02))),
    Shape("grows_like", "a power of a fifth", _course(lambda r: noisy(2 * T**0.2, r, 0.02))),
    Shape("grows_like", "a course that saturates",
          _course(lambda r: noisy(5 * (1 - np.exp(-5 * TIME)), r, 0.02))),
    Shape("grows_like", "a straight line", _course(lambda r: noisy(5 * TIME, r, 0.02))),
    Shape("grows_like", "noise alone", _course(lambda r: noisy(0 * TIME, r, 0.1))),
    Shape("reaches", "a uniform number", _x(lambda r: 0.94 * float(r.uniform()))),
    Shape("reaches", "a guess of a half", _x(lambda r: 0.5 + 0.1 * r.normal())),
    Shape("reaches", "a skewed number of median 0.1",
          _x(lambda r: 0.1 * float(np.exp(r.normal())))),
    Shape("scales_like", "no trend", _sizes(0.0, noise=0.1)),
    Shape("scales_like", "a neighbouring exponent", _sizes(-0.4, noise=0.02)),
    Shape("scales_like", "the exponent by the ends, bent in between", _sizes(-0.5, bend=0.4)),
    Shape("scales_like", "no trend above a constant", _above(1.0, 0.0, 0.1), OFFSET),
    Shape("scales_like", "a neighbouring exponent above a constant", _above(1.0, -0.4, 1e-4),
          OFFSET),
    Shape("separates", "separated from the start", _course(lambda r: noisy(1 + 0 * TIME, r))),
    Shape("separates", "half separated at the end",
          _course(lambda r: noisy(0.5 * rise(0.5, 0.1), r))),
    Shape("separates", "a random walk", _course(lambda r: 0.4 * walk(r))),
    Shape("stages", "one course on one clock, twice as slow",
          _pair(lambda r: (noisy(1 - np.exp(-12 * TIME), r), noisy(1 - np.exp(-6 * TIME), r))),
          contrast=True),
    Shape("stages", "noise alone", _pair(lambda r: (noisy(0 * TIME, r), noisy(0 * TIME, r))),
          contrast=True),
    Shape("stages", "two random walks", _pair(lambda r: (walk(r), walk(r))), contrast=True),
    Shape("stages", "a trend without stages", _pair(
        lambda r: (noisy(TIME, r), noisy(TIME, r))), contrast=True),
    Shape("stages", "a mixture of two decays behind a fast one", _pair(
        lambda r: (noisy(1 - np.exp(-20 * TIME), r),
                   noisy(1 - 0.5 * np.exp(-20 * TIME) - 0.5 * np.exp(-4 * TIME), r))),
          contrast=True),
)  # fmt: skip
"""Ways in which a claim is untrue. A shape is added, never dropped."""

TRUE: tuple[Shape, ...] = (
    Shape("aligns", "a direction learned", _x(lambda r: 0.05 * float(np.exp(0.2 * r.normal())))),
    Shape("aligns", "one order under noise of a hundredth", _orders(0.01), RANKS),
    Shape("beats", "a tenth smaller", _pair(lambda r: (0.9 * _same(r, 0.02)[0], _same(r, 0.02)[1])),
          contrast=True),
    Shape("concentrates", "a share near 1",
          _x(lambda r: 1 - 0.03 * float(np.exp(0.3 * r.normal())))),
    Shape("converges", "a fast decay to a level",
          _course(lambda r: wobbly(0.01 + np.exp(-30 * TIME), r), "loss")),
    Shape("equals", "the number itself", _x(lambda r: 0.5 + 0.005 * r.normal())),
    Shape("follows", "the course itself",
          _pair(lambda r: (noisy(rise(0.4, 0.1), r), noisy(rise(0.4, 0.1), r)), "x", "y")),
    Shape("grows_like", "a logarithm", _course(lambda r: noisy(np.log(T), r, 0.001))),
    Shape("reaches", "beyond the bound", _x(lambda r: 0.97 + 0.01 * r.normal())),
    Shape("scales_like", "the exponent itself", _sizes(-0.5, noise=0.01)),
    Shape("scales_like", "the exponent itself above a constant", _above(1.0, -0.5, 1e-3), OFFSET),
    Shape("separates", "a separation learned", _course(lambda r: noisy(rise(0.5, 0.1), r))),
    Shape("stages", "a second stage that waits",
          _pair(lambda r: (noisy(1 - np.exp(-10 * TIME), r), noisy(rise(0.6, 0.04), r))),
          contrast=True),
)  # fmt: skip
"""Ways in which a claim is true."""


def rising(time: Array, at: float, width: float) -> Array:
    """Return a sigmoid from 0 to 1 around a share of training."""
    found: Array = 1 / (1 + np.exp(-(time - at) / width))
    return found


def falling(time: Array, rate: float) -> Array:
    """Return an exponential decay from 1."""
    found: Array = np.exp(-rate * time)
    return found


def steps_of(time: Array) -> Array:
    """Return the steps from 1 on."""
    return 1 + 4000 * time


def _step_up(time: Array) -> Array:
    return np.where(time > 0.21, 1.0, 0.0)


def _two(earlier: Curve, later: Curve, noise: float = 0.01) -> PlantedDraw:
    return lambda t, r: {"a": noisy(earlier(t), r, noise), "b": noisy(later(t), r, noise)}


def _loss(course: Curve, noise: float = 0.01) -> PlantedDraw:
    return lambda t, r: {"loss": wobbly(course(t), r, noise)}


def _swinging(swings: float, size: float, noise: float = 0.01) -> PlantedDraw:
    def draw(t: Array, rng: np.random.Generator) -> dict[str, Array]:
        phase = rng.uniform(0, 2 * np.pi)
        course = 0.1 + falling(t, 30) + 0.1 * size * np.sin(2 * np.pi * swings * t + phase)
        return {"loss": wobbly(course, rng, noise)}

    return draw


def _touching(time: Array, rng: np.random.Generator) -> dict[str, Array]:
    """One course touches a level by noise, and the other passes it later, for good."""
    touches = 0.83 * rising(time, 0.1, 0.03) + 0.04 * rng.normal(size=len(time))
    return {"a": touches, "b": noisy(rising(time, 0.5, 0.03), rng)}


def _grown(course: Curve, noise: float) -> PlantedDraw:
    return lambda t, r: {"x": noisy(course(t), r, noise)}


def _over_sizes(course: Curve, noise: float) -> PlantedDraw:
    return lambda s, r: {"sizes": wobbly(course(s / 8), r, noise)}


def _followed(course: Curve, other: Curve, noise: float = 0.01) -> PlantedDraw:
    return lambda t, r: {"x": noisy(course(t), r, noise), "y": noisy(other(t), r, noise)}


def _strays(time: Array, rng: np.random.Generator) -> dict[str, Array]:
    """A course and itself, with one observation in thirty or so far away."""
    away = np.zeros(len(time))
    away[5::32] = 1.0
    return {"x": noisy(time + away, rng), "y": noisy(time, rng)}


FLATTENS = {"loss": "loss", "flattens": {"at_most": 0.05, **OURS}}
TO_ZERO = {"loss": "loss", "ends": {"at_most": 0.2, **OURS}, "to_zero": True}
AT_A_LEVEL = {**CHECKS["stages"], "later": {"series": "b", "crosses": 0.25}}
ROOT = {**CHECKS["grows_like"], "law": "power", "exponent": 0.5}
UNBENT = {name: one for name, one in CHECKS["scales_like"].items() if name != "bend"}
SOONER = {
    "lower": {"measurement": "a", "passes": {"level": 0.9}},
    "upper": {"measurement": "b", "passes": {"level": 0.9}},
    "from": "paper",
}
TREND = {
    "value": "sizes",
    "axis": "size",
    "exponent": {"below": 0.0, "from": "paper"},
    "standard": "typical",
    "from": "paper",
}
MOSTLY = {**CHECKS["follows"], "share": 0.8}
HALF = {**CHECKS["follows"], "quantile": {"share": 0.9, "at_most": 0.05, **OURS}}
BEGINNING = {
    "series": "x",
    "curve": [[0, 0.0], [400, 0.1]],
    "at_most": 0.1,
    **OURS,
}
PLANTED_NULLS: tuple[Planted, ...] = (
    Planted("stages", "one course, three times as slow",
            _two(lambda t: 1 - falling(t, 21), lambda t: 1 - falling(t, 7))),
    Planted("stages", "one course, eight times as slow",
            _two(lambda t: 1 - falling(t, 40), lambda t: 1 - falling(t, 5))),
    Planted("stages", "a third of it at once, the rest late",
            _two(lambda t: rising(t, 0.1, 0.01),
                 lambda t: 0.3 * rising(t, 0.1, 0.01) + 0.7 * rising(t, 0.6, 0.03))),
    Planted("stages", "a climb from the start behind a sudden step",
            _two(lambda t: rising(t, 0.1, 0.005), lambda t: np.minimum(t / 0.7, 1))),
    Planted("stages", "a sudden step hardly later than another",
            _two(lambda t: rising(t, 0.3, 0.01), lambda t: rising(t, 0.31, 0.01))),
    Planted("stages", "two sudden steps at once",
            _two(_step_up, _step_up)),
    Planted("stages", "a climb that goes on", _two(lambda t: rising(t, 0.1, 0.01), lambda t: t)),
    Planted("stages", "a climb that goes on faster",
            _two(lambda t: 1 - falling(t, 20), lambda t: t**2)),
    Planted("converges", "a power t^-0.2 that goes on", _loss(lambda t: steps_of(t) ** -0.2),
            FLATTENS),
    Planted("converges", "a power t^-0.15 that goes on", _loss(lambda t: steps_of(t) ** -0.15),
            FLATTENS),
    Planted("converges", "an inverse logarithm",
            _loss(lambda t: 1 / np.log(2 + steps_of(t))), FLATTENS),
    Planted("converges", "a power t^-0.3 towards a level",
            _loss(lambda t: 0.1 + steps_of(t) ** -0.3), FLATTENS),
    Planted("converges", "swings of a fifth of training", _swinging(5, 0.3), FLATTENS),
    Planted("converges", "swings of a twentieth of training", _swinging(20, 0.4), FLATTENS),
    Planted("converges", "swings of a seventh of training", _swinging(7, 0.2), FLATTENS),
    Planted("converges", "noise alone goes to zero", _loss(lambda t: 0.1 + 0 * t), TO_ZERO),
    Planted("converges", "a level behind a fast decay",
            _loss(lambda t: 0.1 + falling(t, 12)), TO_ZERO),
    Planted("converges", "a level behind a power",
            _loss(lambda t: 0.1 + 1 / steps_of(t)), TO_ZERO),
    Planted("converges", "a small level that is reached early",
            _loss(lambda t: 0.01 + steps_of(t) ** -1.5, 0.02), TO_ZERO),
    Planted("converges", "a level of seven tenths of the last loss",
            _loss(lambda t: 0.7 + 0.3 / np.maximum(t, 0.001)), {**TO_ZERO, "ends": {
                "at_most": 2.0, **OURS}}),
    Planted("converges", "a drop that comes near the end",
            _loss(lambda t: 0.05 + 2 * falling(t, 30) + 0.2 * rising(0.95 - t, 0, 0.015))),
    Planted("converges", "a jump near the end",
            _loss(lambda t: 0.1 + 2 * falling(t, 25) + 0.15 * (t > 0.92))),
    Planted("follows", "a curve that is known for a tenth",
            _followed(lambda t: t, lambda t: t), BEGINNING),
    Planted("follows", "a quarter apart late",
            _followed(lambda t: rising(t, 0.3, 0.1), lambda t: 0.75 * rising(t, 0.3, 0.1))),
    Planted("follows", "a twentieth too far nearly always",
            _followed(lambda t: 0.07 + 0 * t, lambda t: 0 * t, 0.001), HALF),
    Planted("follows", "another pace", _followed(lambda t: t, lambda t: t**2)),
    Planted("grows_like", "a power of a fifth under noise",
            _grown(lambda t: 2 * steps_of(t) ** 0.2, 0.1)),
    Planted("grows_like", "a course that saturates under noise",
            _grown(lambda t: 5 * (1 - falling(t, 3)), 0.1)),
    Planted("grows_like", "a root under noise", _grown(lambda t: 0.1 * steps_of(t) ** 0.5, 0.1)),
    Planted("grows_like", "a logarithm taken for a root",
            _grown(lambda t: np.log(steps_of(t)), 0.05), ROOT),
    Planted("grows_like", "a logarithm that stops",
            _grown(lambda t: np.log(steps_of(np.minimum(t, 0.6))), 0.02)),
    Planted("grows_like", "a logarithm that turns",
            _grown(lambda t: np.log(steps_of(t)) - 3 * np.maximum(t - 0.6, 0), 0.02)),
    Planted("grows_like", "stairs", _grown(lambda t: 5 * np.floor(8 * t) / 8, 0.02)),
    Planted("grows_like", "a late jump",
            _grown(lambda t: 1 + 2 * rising(t, 0.7, 0.03), 0.02)),
    Planted("grows_like", "a burst, and nothing after it",
            _grown(lambda t: 1 + 6 * (1 - falling(t, 25)), 0.02)),
    Planted("scales_like", "a power above a constant", _over_sizes(lambda s: 0.3 + s**-1.0, 1e-4)),
    Planted("scales_like", "a bend between the ends",
            _over_sizes(lambda s: s**-0.5 * np.exp(0.4 * np.log(s) * np.log(s / s[-1])), 0.01)),
    Planted("scales_like", "a neighbouring exponent under noise",
            _over_sizes(lambda s: s**-0.3, 0.03)),
    Planted("scales_like", "two plateaus", _over_sizes(
        lambda s: np.where(s**2 < s[-1], 1.0, s[-1] ** -0.33), 0.01), UNBENT),
    Planted("scales_like", "a rise between two plateaus", _over_sizes(
        lambda s: np.exp(-1.9 * rising(np.log(s), np.log(s[-1]) / 2, 0.5)),
        0.01), UNBENT),
    Planted("scales_like", "one size apart", _over_sizes(
        lambda s: s**-0.5 * np.where(s == s[len(s) // 2], 2.0, 1.0), 0.01)),
    Planted("converges", "a power t^-0.3 that goes on, under noise",
            _loss(lambda t: steps_of(t) ** -0.3, 0.05), FLATTENS),
    Planted("converges", "a sixth lost late, under noise",
            _loss(lambda t: 0.1 * (1 - 0.17 * rising(t, 0.9, 0.02)) + falling(t, 24), 0.03),
            FLATTENS),
    Planted("converges", "a loss that turns and rises, under noise",
            _loss(lambda t: 0.1 + falling(t, 24) + 0.06 * np.maximum(t - 0.3, 0), 0.05), FLATTENS),
    Planted("grows_like", "a burst, and a line after it",
            _grown(lambda t: 4 * rising(t, 0.05, 0.01) + t, 0.05)),
    Planted("grows_like", "a neighbouring power taken for a root",
            _grown(lambda t: 0.4 * steps_of(t) ** 0.35, 0.05), ROOT),
    Planted("grows_like", "a logarithm that stops under noise",
            _grown(lambda t: np.log(np.minimum(steps_of(t), 2000)), 0.1)),
    Planted("follows", "too far for three tenths of the time",
            _followed(lambda t: t + 0.2 * ((t > 0.3) & (t < 0.6)), lambda t: t), MOSTLY),
    Planted("scales_like", "a trend that the smallest size makes", _over_sizes(
        lambda s: s**0.02 * np.where(s == s[0], 3.0, 1.0), 0.02), TREND),
    Planted("scales_like", "a trend that the largest size makes", _over_sizes(
        lambda s: s**0.02 * np.where(s == s[-1], 0.3, 1.0), 0.02), TREND),
    Planted("beats", "a lone observation beyond a level", lambda t, r: {
        "a": noisy(np.where(t == t[len(t) // 4], 0.95, 0.8 * rising(t, 0.1, 0.03)), r),
        "b": noisy(rising(t, 0.6, 0.03), r)}, SOONER),
    Planted("beats", "a level touched by noise", _touching, SOONER),
    Planted("beats", "a lone last observation beyond a level", lambda t, r: {
        "a": noisy(np.where(t == 1, 0.95, 0.8 * rising(t, 0.1, 0.03)), r),
        "b": noisy(0.7 * rising(t, 0.6, 0.03), r)}, SOONER),
)  # fmt: skip
"""Courses that look like a phenomenon and have none."""

PLANTED_TRUE: tuple[Planted, ...] = (
    Planted("stages", "a sudden stage that waits for a sudden one",
            _two(lambda t: rising(t, 0.1, 0.01), lambda t: rising(t, 0.6, 0.03))),
    Planted("stages", "a sudden stage that waits for a gradual one",
            _two(lambda t: 1 - falling(t, 10), lambda t: rising(t, 0.6, 0.03))),
    Planted("stages", "a gradual stage that waits for a sudden one",
            _two(lambda t: rising(t, 0.1, 0.01),
                 lambda t: 1 - falling(np.maximum(t - 0.25, 0), 6))),
    Planted("stages", "a change that goes on, at a level",
            _two(lambda t: rising(t, 0.1, 0.01), lambda t: np.maximum(t - 0.3, 0)), AT_A_LEVEL),
    Planted("stages", "a stage that comes late in training",
            _two(lambda t: rising(t, 0.5, 0.02), lambda t: rising(t, 0.85, 0.008), 0.005)),
    Planted("stages", "a ramp that ends late in training",
            _two(lambda t: rising(t, 0.2, 0.01), lambda t: np.clip((t - 0.5) / 0.35, 0, 1), 0.003)),
    Planted("converges", "a fast decay to a level",
            _loss(lambda t: 0.01 + falling(t, 30), 0.005)),
    Planted("converges", "a decay to a level", _loss(lambda t: 0.02 + falling(t, 14), 0.005)),
    Planted("converges", "a power that has come to rest",
            _loss(lambda t: 0.05 + steps_of(t) ** -1.0, 0.005)),
    Planted("converges", "a loss that becomes exactly 0",
            _loss(lambda t: np.maximum(falling(t, 30) - 1e-4, 0))),
    Planted("converges", "a power that goes to zero",
            _loss(lambda t: steps_of(t) ** -1.0), TO_ZERO),
    Planted("converges", "a root that goes to zero", _loss(lambda t: steps_of(t) ** -0.5), TO_ZERO),
    Planted("converges", "an exponential decay to zero", _loss(lambda t: falling(t, 20)), TO_ZERO),
    Planted("follows", "the course itself",
            _followed(lambda t: rising(t, 0.4, 0.1), lambda t: rising(t, 0.4, 0.1))),
    Planted("follows", "near the course, farther for a short while",
            _followed(lambda t: t + 0.08 * (abs(t - 0.47) < 0.02), lambda t: t, 0.003),
            HALF),
    Planted("follows", "a curve that is known from a third on",
            _followed(lambda t: t, lambda t: t),
            {**BEGINNING, "curve": [[1200, 0.3], [4000, 1.0]]}),
    Planted("grows_like", "a logarithm", _grown(lambda t: np.log(steps_of(t)), 0.001)),
    Planted("grows_like", "a root", _grown(lambda t: 0.1 * steps_of(t) ** 0.5, 0.003), ROOT),
    Planted("grows_like", "a logarithm above an offset",
            _grown(lambda t: 20 + 3 * np.log(steps_of(t)), 0.002)),
    Planted("scales_like", "the exponent itself", _over_sizes(lambda s: s**-0.5, 0.01)),
    Planted("scales_like", "the exponent above a constant",
            _over_sizes(lambda s: 1 + s**-0.5, 1e-4), OFFSET),
    Planted("converges", "a fast decay to a level under noise",
            _loss(lambda t: 0.035 + falling(t, 24), 0.02)),
    Planted("grows_like", "a logarithm under noise",
            _grown(lambda t: np.log(steps_of(t)), 0.01)),
    Planted("grows_like", "a root under noise",
            _grown(lambda t: 0.1 * steps_of(t) ** 0.5, 0.01), ROOT),
    Planted("follows", "the course itself with lone observations far away", _strays, MOSTLY),
    Planted("scales_like", "a weak trend", _over_sizes(lambda s: s**-0.15, 0.02), TREND),
    Planted("beats", "a level passed sooner", _two(
        lambda t: rising(t, 0.2, 0.03), lambda t: rising(t, 0.6, 0.05)), SOONER),
    Planted("scales_like", "an exact power", _over_sizes(lambda s: s**-0.5, 0.0)),
)  # fmt: skip
"""Courses that have their phenomenon."""

HIDDEN: tuple[Planted, ...] = (
    Planted("stages", "a stage that waits, under much noise",
            _two(lambda t: rising(t, 0.1, 0.01), lambda t: rising(t, 0.6, 0.03), 0.05)),
    Planted("converges", "a fast decay to a level under much noise",
            _loss(lambda t: 0.05 + falling(t, 30), 0.1)),
    Planted("grows_like", "a logarithm under noise of a fiftieth",
            _grown(lambda t: np.log(steps_of(t)), 0.02)),
    Planted("grows_like", "a root under noise of a tenth",
            _grown(lambda t: 0.1 * steps_of(t) ** 0.5, 0.1), ROOT),
    Planted("scales_like", "the exponent itself under noise of a tenth",
            _over_sizes(lambda s: s**-0.5, 0.1), {**CHECKS["scales_like"], "standard": "typical"}),
)  # fmt: skip
"""Courses whose phenomenon noise hides: few runs may say no."""


def _learned(start: float, end: float, at: float = 0.4, noise: float = 0.01) -> PlantedDraw:
    """A number that goes from one to another around a share of training, smoothly."""

    def draw(t: Array, rng: np.random.Generator) -> dict[str, Array]:
        course = start + (end - start) / (1 + np.exp(-(t - at) / 0.03))
        return {"x": course * (1 + noise * rng.normal(size=len(t)))}

    return draw


def _back(level: float, away: float) -> PlantedDraw:
    """A number that goes away from a level and comes back."""
    return lambda t, r: {"x": level + away * np.sin(np.pi * t) + 0.002 * r.normal(size=len(t))}


def _numbers(draw: Callable[[np.random.Generator], Mapping[str, float]]) -> NumberDraw:
    """Numbers without a course."""
    return lambda _, r: {name: float(one) for name, one in draw(r).items()}


def _placed(value: PlantedDraw, null: float, ceiling: float, noise: float = 0.01) -> NumberDraw:
    """A course between two ends."""
    return lambda t, r: {
        **value(t, r),
        "null": null + noise * r.normal(),
        "ceiling": ceiling + noise * r.normal(),
    }


def _one_empty(_: Array, rng: np.random.Generator) -> dict[str, Array]:
    shares = 0.95 + 0.01 * rng.normal(size=len(SIZES))
    shares[rng.integers(len(SIZES))] = np.nan
    return {"x": shares}


COSINE = {"cosine": "x", "at_least": 0.9, **OURS}
REST = {"share": "x", "of_the_rest": True, "at_least": 0.5, **OURS}
MIDDLE = {"share": {"measurement": "x", "over": {"size": "iqm"}}, "at_least": 0.9, **OURS}
BETWEEN = {"value": "x", "between": ["null", "ceiling"], "at_least": 0.75, **OURS}
TIMES = {"value": "x", "relative_to": "y", "at_most": 1.05, **OURS}
FALLS = {"lower": "x", "upper": "x@first", "from": "paper"}
NUMBER_NULLS: tuple[Planted, ...] = (
    Planted("aligns", "near the direction from the start", _learned(0.05, 0.05)),
    Planted("aligns", "away from the direction and back", _back(0.05, 0.4)),
    Planted("aligns", "near the direction where the log begins", _learned(0.05, 0.05), since=0.2),
    Planted("aligns", "a third of the distance left", _learned(1.0, 0.3)),
    Planted("aligns", "a cosine in per cent", _learned(5.0, 97.0), COSINE),
    Planted("concentrates", "there from the start", _learned(0.96, 0.96)),
    Planted("concentrates", "there where the log begins", _learned(0.96, 0.96), since=0.2),
    Planted("concentrates", "a share in per cent", _learned(20.0, 96.0)),
    Planted("concentrates", "one of four heads empty", _one_empty, MIDDLE),
    Planted("concentrates", "a third of the rest", _learned(0.1, 0.4), REST),
    Planted("concentrates", "the rest of a log that begins late", _learned(0.1, 0.8, 0.05), REST,
            since=0.2),
    Planted("separates", "separated from the start", _learned(1.0, 1.0)),
    Planted("separates", "separated where the log begins", _learned(1.0, 1.0), since=0.2),
    Planted("separates", "a dip where the log begins",
            lambda t, r: {"x": np.abs(t - 0.2) / 0.8 + 0.001 * r.normal(size=len(t))}, since=0.2),
    Planted("separates", "together again at the end", _back(0.0, 1.0)),
    Planted("reaches", "null and ceiling exchanged, nothing learned",
            _placed(_learned(2.3, 2.1), 0.1, 2.0), BETWEEN),
    Planted("reaches", "null and ceiling exchanged, a start between them",
            _placed(_learned(1.9, 1.85), 0.1, 2.0), BETWEEN),
    Planted("reaches", "null and ceiling equal", _placed(_learned(2.3, 1.0), 1.0, 1.0), BETWEEN),
    Planted("reaches", "half of the way", _placed(_learned(2.3, 1.05), 2.0, 0.1), BETWEEN),
    Planted("reaches", "reached where the log begins",
            _placed(_learned(0.1, 0.1), 2.0, 0.05), BETWEEN, since=0.2),
    Planted("reaches", "twice a negative number",
            _numbers(lambda r: {"x": -1 + 0.01 * r.normal(), "y": -2.0}), TIMES),
    Planted("equals", "a course that passes the number", _learned(0.0, 0.6)),
    Planted("equals", "the number in per cent", _learned(0.0, 50.0)),
    Planted("equals", "half of the runs on either side",
            _numbers(lambda r: {"x": 0.5 + 0.1 * r.choice([-1, 1]) + 0.005 * r.normal()})),
    Planted("beats", "two heavy tails of one law",
            _numbers(lambda r: {"a": abs(r.standard_cauchy()), "b": abs(r.standard_cauchy())})),
    Planted("beats", "numbers that are mostly tied at 0",
            _numbers(lambda r: {"a": max(r.normal() - 1, 0), "b": max(r.normal() - 1, 0)})),
    Planted("beats", "noise about a level",
            lambda t, r: {"x": 1 + 0.05 * r.normal(size=len(t))}, FALLS),
)  # fmt: skip
"""Numbers that look as if something had been learned, and do not show it."""

NUMBER_TRUE: tuple[Planted, ...] = (
    Planted("aligns", "a direction learned late", _learned(1.0, 0.05, 0.8)),
    Planted("aligns", "a direction learned after the log begins", _learned(1.0, 0.05), since=0.2),
    Planted("aligns", "a cosine learned", _learned(0.1, 0.97), COSINE),
    Planted("concentrates", "a share that gathers", _learned(0.2, 0.96)),
    Planted("concentrates", "a share that gathers after the log begins", _learned(0.2, 0.96),
            since=0.2),
    Planted("concentrates", "most of the rest", _learned(0.3, 0.9), REST),
    Planted("separates", "a separation learned", _learned(0.01, 1.0)),
    Planted("separates", "a separation learned late", _learned(0.01, 1.0, 0.8)),
    Planted("separates", "a separation learned early", _learned(0.01, 1.0, 0.2)),
    Planted("reaches", "nearly at the ceiling", _placed(_learned(2.3, 0.2), 2.0, 0.1), BETWEEN),
    Planted("reaches", "a score from the null on", _placed(_learned(0.1, 0.85), 0.1, 0.9), BETWEEN),
    Planted("reaches", "the way after the log begins",
            _placed(_learned(2.3, 0.2), 2.0, 0.1), BETWEEN, since=0.2),
    Planted("equals", "a course that ends at the number", _learned(0.0, 0.5)),
    Planted("equals", "the number under noise of a hundredth",
            _numbers(lambda r: {"x": 0.5 + 0.005 * r.normal()})),
    Planted("equals", "the number from the start on", _learned(0.5, 0.5)),
    Planted("beats", "half as large", _numbers(lambda r: {"a": 1 + 0.1 * r.normal(), "b": 2.0})),
    Planted("beats", "exactly 0 against a number",
            _numbers(lambda r: {"a": 0.0, "b": abs(r.normal())})),
    Planted("beats", "a loss that falls", _learned(2.3, 0.2), FALLS),
)  # fmt: skip
"""Numbers that show that it was."""


def page(draws: int, planted: int) -> str:
    """Return docs/calibration.md, with rates over so many draws of each shape."""
    return "\n".join(
        [
            *_HEAD,
            *_table(NULLS, draws),
            *_TRUE,
            *_table(TRUE, draws),
            *_PLANTED,
            *_planted_table(
                (*PLANTED_NULLS, *NUMBER_NULLS), lambda one, seen: max(one.met(seen, planted))
            ),
            *_PLANTED_TRUE,
            *_planted_table(
                (*PLANTED_TRUE, *NUMBER_TRUE), lambda one, seen: min(one.met(seen, planted))
            ),
            *_HIDDEN,
            *_planted_table(HIDDEN, lambda one, seen: one.no(seen, planted)),
            "",
        ]
    )


_HEAD = (
    "# How often a check says yes by chance",
    "",
    "This page is made by `make calibrate` from `benchmarks/calibrate.py`. Each row is a seeded",
    "generator of one run's measurements; the rate is the share of draws that say yes to the check",
    "at the kind's defaults. Noise meets a contrast in half of single runs, so there the rate is",
    f"that of *met* over {OWN_RUNS} such runs.",
    "",
    "Untrue claims; each rate must be at most 5 %:",
    "",
)
_TRUE = ("", "True claims; each rate must be at least 90 %:", "")
_PLANTED = (
    "",
    "## Look-alikes",
    "",
    "Courses without a phenomenon that resemble those with it, observed in four ways: evenly, on a",
    "logarithmic scale, sparsely (16 times) and densely; powers at sizes likewise. The rate is the",
    "larger one of *met* with 5 and with 15 runs; each must be at most 5 %:",
    "",
)
_PLANTED_TRUE = (
    "",
    "Courses with the phenomenon, the smaller rate of 5 and of 15 runs; at least 90 %:",
    "",
)
_HIDDEN = (
    "",
    "Courses whose phenomenon noise hides: how often a run says no, which should be void; at most",
    "10 %:",
    "",
)


def _table(shapes: tuple[Shape, ...], draws: int) -> Iterator[str]:
    yield "| kind | shape | of | yes |"
    yield "|---|---|---|---:|"
    for one in shapes:
        unit = f"{OWN_RUNS} runs" if one.contrast else "a run"
        yield f"| `{one.kind}` | {one.name} | {unit} | {one.rate(draws):.1%} |"


def _planted_table(
    shapes: tuple[Planted, ...], rate: Callable[[Planted, str], float]
) -> Iterator[str]:
    yield f"| kind | shape | {' | '.join(STEPS_SEEN)} |"
    yield f"|---|---|{'---:|' * len(STEPS_SEEN)}"
    for one in shapes:
        rates = [f"{rate(one, seen):.1%}" for seen in STEPS_SEEN]
        yield f"| `{one.kind}` | {one.name} | {' | '.join(rates)} |"


if __name__ == "__main__":
    kept = section_of(PAGE.read_text(encoding="utf-8"), PLANTED_WORLDS)
    PAGE.write_text("\n".join([page(1000, 200), *kept, ""]), encoding="utf-8")
