"""Nulls and phenomena of kinds that look at the course of training, or along an axis of sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.calibrate.shape import Curves, Draw, Numbers, Shape

Rng = np.random.Generator
Law = Callable[[Numbers], Numbers]

STEPS = tuple(
    sorted({0, *np.geomspace(1, 1000, 40).round().astype(int).tolist(), *range(25, 1001, 25)})
)
T = np.array(STEPS, dtype=float)
LAST = 0.1
"""The last share of training, for which `continued` trains on."""


def spread(rng: Rng, sd: float, audits: int, seeds: int) -> Numbers:
    """Factors by which seeds differ, of shape (audit, seed, 1)."""
    return np.exp(sd * rng.normal(size=(audits, seeds, 1)))


def noise(rng: Rng, sd: float, audits: int, seeds: int, steps: int = len(STEPS)) -> Numbers:
    return sd * rng.normal(size=(audits, seeds, steps))


# --- converges ----------------------------------------------------------------------------------


def decayed(area: Law, again: float, least: float = 0.75, most: float = 2.0) -> Any:
    """A loss that falls like a power of the area below the learning rate, which has decayed.

    Args:
        area: of the share of training, the area below the learning rate so far.
        again: the area that training on adds, with the schedule begun anew.
        least: the smallest power.
        most: the largest power.
    """

    def draw(rng: Rng, audits: int, seeds: int) -> Draw:
        power = rng.uniform(least, most, size=(audits, 1, 1))
        time = 1 + 2000 * area(T / T[-1])
        loss = 5 * spread(rng, 0.2, audits, seeds) * time**-power
        after = loss[..., -1] * (1 + 2000 * again / time[-1]) ** -power[..., 0]
        factors = np.exp(noise(rng, 0.01, audits, seeds))
        return {
            "loss": Curves(STEPS, loss * factors),
            "continued_loss": after * np.exp(noise(rng, 0.01, audits, seeds, 1)[..., 0]),
        }

    return draw


def cosine_area(x: Numbers) -> Numbers:
    return x / 2 + np.sin(np.pi * x) / (2 * np.pi)


def step_area(x: Numbers) -> Numbers:
    """The rate falls to a hundredth after four fifths."""
    return np.minimum(x, 0.8) + 0.01 * np.maximum(x - 0.8, 0.0)


def ends_at(fall: float, still: float, sd: float, rises: float = 0.0) -> Any:
    """A loss that falls by a factor in all, and would fall by another one if trained on.

    Args:
        fall: the factor in all.
        still: the factor by which training on lowers the loss; below 1 it raises it.
        sd: of the noise.
        rises: the share of the runs in which training on raises the loss by `still` instead.
    """

    def draw(rng: Rng, audits: int, seeds: int) -> Draw:
        level = spread(rng, 0.5, audits, seeds)
        course = 1 + (fall - 1) * np.exp(-T / 60)
        loss = level * course * np.exp(noise(rng, sd, audits, seeds))
        end = loss[..., -1]
        factor = np.log(still) + sd * rng.normal(size=end.shape)
        if rises:
            factor = np.where(rng.random(end.shape) < rises, -factor, factor)
        return {"loss": Curves(STEPS, loss), "continued_loss": end / np.exp(factor)}

    return draw


# --- grows_like ---------------------------------------------------------------------------------

LATE = tuple(
    sorted({0, *np.geomspace(1, 5000, 60).round().astype(int).tolist(), *range(100, 5001, 100)})
)
L = np.array(LATE, dtype=float)
END = 5000.0


def grown(law: Law, sd: float, height: float = 5.0) -> Any:
    """Growth by a law to a height, up to a factor for each seed, with noise per observation."""
    course = law(L) - law(L)[0]

    def draw(rng: Rng, audits: int, seeds: int) -> Draw:
        whole = height * course / course[-1] * spread(rng, 0.05, audits, seeds)
        return {"a": Curves(LATE, whole + height * noise(rng, sd, audits, seeds, len(LATE)))}

    return draw


def power(p: float) -> Law:
    return lambda t: t**p


def wandering(rng: Rng, audits: int, seeds: int) -> Draw:
    """A random walk that drifts upwards."""
    gaps = np.sqrt(np.diff(L, prepend=0.0))
    walk = np.cumsum(gaps * rng.normal(size=(audits, seeds, L.size)), axis=-1) / np.sqrt(END)
    return {"a": Curves(LATE, 5 * L / END + walk)}


# --- ordered_onsets -----------------------------------------------------------------------------


def sigmoid(x: Numbers) -> Numbers:
    return 1 / (1 + np.exp(-x))


FINE = tuple(range(0, 1001, 5))
F = np.array(FINE, dtype=float)


def speeds(ratio: float, course: Law, sd: float, sigma: float = 0.05) -> Any:
    """The same course twice, the earlier one so many times as fast; both begin at step 0."""

    def draw(rng: Rng, audits: int, seeds: int) -> Draw:
        rate = 10 * spread(rng, sigma, audits, seeds) / 1000
        own = ratio * spread(rng, sigma, audits, seeds)
        early, late = course(rate * own * F), course(rate * F)
        return {
            "early": Curves(FINE, early + noise(rng, sd, audits, seeds, F.size)),
            "late": Curves(FINE, late + noise(rng, sd, audits, seeds, F.size)),
        }

    return draw


def together(rng: Rng, audits: int, seeds: int) -> Draw:
    """Both change at one step; the earlier one is looked at more often than the later one."""
    at = rng.uniform(50, 700, size=(audits, seeds, 1))
    rare = tuple(range(0, 1001, 50))
    return {
        "early": Curves(STEPS, np.where(at <= T, 1.0, 0.5)),
        "late": Curves(rare, np.where(at <= np.array(rare), 1.0, 0.5)),
    }


def walks(rng: Rng, audits: int, seeds: int) -> Draw:
    gaps = np.sqrt(np.diff(T, prepend=0.0) / 1000)
    two = np.cumsum(gaps * rng.normal(size=(2, audits, seeds, T.size)), axis=-1)
    return {"early": Curves(STEPS, two[0]), "late": Curves(STEPS, two[1])}


def staged(gap: float, sd: float) -> Any:
    """The later one stays where it is until a step some times as late as the earlier one's."""

    def draw(rng: Rng, audits: int, seeds: int) -> Draw:
        at = 80 * spread(rng, 0.1, audits, seeds)
        later = gap * at * spread(rng, 0.1, audits, seeds)
        early = 0.5 + 0.5 * sigmoid((T - at) / (0.12 * at))
        late = 0.5 + 0.5 * sigmoid((T - later) / (0.12 * later))
        return {
            "early": Curves(STEPS, early + noise(rng, sd, audits, seeds)),
            "late": Curves(STEPS, late + noise(rng, sd, audits, seeds)),
        }

    return draw


# --- follows ------------------------------------------------------------------------------------


def beside(distance: float, sigma: float, sd: float = 0.0) -> Any:
    """A relaxation, and a reference that is farthest from it by so much in the middle."""

    def draw(rng: Rng, audits: int, seeds: int) -> Draw:
        reference = 1 - np.exp(-T / 200)
        bump = np.exp(-(((T - 400) / 150) ** 2))
        off = distance * spread(rng, sigma, audits, seeds)
        return {
            "x": Curves(STEPS, reference + off * bump / bump.max() + noise(rng, sd, audits, seeds)),
            "reference": Curves(STEPS, reference + np.zeros((audits, seeds, 1))),
        }

    return draw


def other_rate(rng: Rng, audits: int, seeds: int) -> Draw:
    """The same start and end, half as fast."""
    rate = spread(rng, 0.1, audits, seeds)
    reference = 1 - np.exp(-T / 60)
    return {
        "x": Curves(STEPS, 1 - np.exp(-T * rate / 120)),
        "reference": Curves(STEPS, reference + np.zeros((audits, seeds, 1))),
    }


def wandering_off(rng: Rng, audits: int, seeds: int) -> Draw:
    gaps = np.sqrt(np.diff(T, prepend=0.0) / 1000)
    walk = 0.1 * np.cumsum(gaps * rng.normal(size=(audits, seeds, T.size)), axis=-1)
    reference = 1 - np.exp(-T / 200)
    return {
        "x": Curves(STEPS, reference + walk),
        "reference": Curves(STEPS, reference + np.zeros((audits, seeds, 1))),
    }


# --- scales_like --------------------------------------------------------------------------------

SIZES = (8, 16, 32, 64, 128)
N = np.array(SIZES, dtype=float)


def sized(law: Law, sd: float, tilt: float = 0.0) -> Any:
    """A law of the size up to a factor for each seed, a tilt between seeds, and noise."""

    def draw(rng: Rng, audits: int, seeds: int) -> Draw:
        slopes = N ** (tilt * rng.normal(size=(audits, seeds, 1)))
        values = law(N) * slopes * spread(rng, 0.3, audits, seeds)
        return {"y": values * np.exp(noise(rng, sd, audits, seeds, N.size))}

    return draw


NULLS = [
    Shape("converges", "the rate decayed by a cosine", decayed(cosine_area, 0.05)),
    Shape("converges", "the rate fell in a step", decayed(step_area, 0.08)),
    Shape("converges", "a constant rate, still falling", decayed(lambda x: x, LAST)),
    Shape("converges", "further training on the bound", ends_at(200.0, 1.05, 0.01)),
    Shape("converges", "the fall on the bound", ends_at(19.0, 1.0, 0.1)),
    Shape("converges", "training on raises the loss, on the bound", ends_at(200.0, 1 / 1.05, 0.01)),
    Shape("converges", "training on doubles the loss", ends_at(200.0, 0.5, 0.01)),
    Shape("converges", "a fifth up in half of the runs, else down", ends_at(200.0, 1.2, 0.01, 0.5)),
    Shape("converges", "a loss that does not fall", ends_at(1.0, 1.0, 0.02)),
    *(
        Shape("grows_like", f"t^{p:.2f}, noise {sd:g}", grown(power(p), sd))
        for p in (0.10, 0.14, 0.19, 0.24, 0.28, 0.50)
        for sd in (0.0005, 0.005)
    ),
    *(
        Shape("grows_like", f"{name}, noise {sd:g}", grown(law, sd))
        for name, law in (
            ("1 − exp(−1.925 t/T)", lambda t: 1 - np.exp(-1.925 * t / END)),
            ("1 − exp(−1.5 t/T)", lambda t: 1 - np.exp(-1.5 * t / END)),
            ("t/(t + T/2)", lambda t: t / (t + END / 2)),
            ("t/(t + T/3)", lambda t: t / (t + END / 3)),
            ("1 − (1 + 20 t/T)^−0.2", lambda t: 1 - (1 + 20 * t / END) ** -0.2),
        )
        for sd in (0.0005, 0.005)
    ),
    Shape("grows_like", "a random walk that drifts", wandering),
    Shape("grows_like", "ends at a tenth of training", grown(lambda t: np.minimum(t, 500.0), 0.0)),
    Shape(
        "grows_like",
        "rises like a logarithm and falls back",
        grown(lambda t: 8 * np.log1p(t) - t / 200, 0.0005),
    ),
    Shape(
        "grows_like",
        "power 0.5 claimed, logarithm true",
        grown(np.log1p, 0.005),
        {"law": "power", "exponent": 0.5},
    ),
    Shape(
        "grows_like",
        "power 0.5 claimed, t^0.40 true",
        grown(power(0.4), 0.005),
        {"law": "power", "exponent": 0.5},
    ),
    *(
        Shape(
            "ordered_onsets",
            f"two logits from step 0, speeds {ratio:g} to 1, noise {sd:g}",
            speeds(ratio, sigmoid, sd),
        )
        for ratio in (2.5, 3.0)
        for sd in (0.0, 0.01)
    ),
    Shape(
        "ordered_onsets",
        "two relaxations from step 0, speeds 3 to 1",
        speeds(3.0, lambda x: 1 - 0.5 * np.exp(-x), 0.01),
    ),
    Shape(
        "ordered_onsets",
        "two squared logits from step 0, speeds 2.5 to 1",
        speeds(2.5, lambda x: sigmoid(x**2 / 10), 0.01),
    ),
    Shape("ordered_onsets", "both at once, looked at unevenly", together),
    Shape("ordered_onsets", "two random walks", walks),
    Shape("follows", "a distance on the bound", beside(0.1, 0.2)),
    Shape("follows", "a distance on the bound, noise", beside(0.1, 0.2, 0.01)),
    Shape("follows", "the same ends at half the speed", other_rate),
    Shape("follows", "a random walk around the curve", wandering_off),
    Shape(
        "scales_like", "an exponent on the edge of the margin", sized(lambda n: n**-0.9, 0.03, 0.03)
    ),
    Shape("scales_like", "an exponential", sized(lambda n: np.exp(-n / 43.0), 0.03)),
    Shape("scales_like", "a power that ends in a floor", sized(lambda n: n**-1.6 + 0.002, 0.03)),
    Shape("scales_like", "a logarithm", sized(lambda n: np.log(150 / n), 0.03)),
    Shape("scales_like", "no dependence on the size", sized(np.ones_like, 0.05)),
]

PHENOMENA = [
    Shape("converges", "settled, fell a hundredfold", ends_at(100.0, 1.005, 0.01)),
    Shape("grows_like", "log(1 + t), noise 0.0005", grown(np.log1p, 0.0005)),
    Shape("grows_like", "log(1 + t), noise 0.005", grown(np.log1p, 0.005)),
    Shape("grows_like", "log(1 + t), noise 0.02", grown(np.log1p, 0.02)),
    Shape("grows_like", "log(1 + t/10), noise 0.0005", grown(lambda t: np.log1p(t / 10), 0.0005)),
    Shape(
        "grows_like",
        "power 0.5 claimed and true",
        grown(np.sqrt, 0.005),
        {"law": "power", "exponent": 0.5},
    ),
    Shape("ordered_onsets", "stages at 1 and 4", staged(4.0, 0.01)),
    Shape("ordered_onsets", "stages at 1 and 3", staged(3.0, 0.02)),
    Shape("follows", "a third of the bound", beside(0.033, 0.2, 0.005)),
    Shape("scales_like", "the claimed power", sized(lambda n: 1 / n, 0.03, 0.02)),
]

NOT_EXCLUDED = [
    Shape(
        "ordered_onsets",
        f"two relaxations from step 0, speeds {ratio:g} to 1",
        speeds(ratio, lambda x: 1 - 0.5 * np.exp(-x), 0.01),
    )
    for ratio in (10.0, 20.0, 30.0, 50.0)
]
"""Nulls that no rule of this kind excludes: what moves so slowly has hardly begun by then."""
