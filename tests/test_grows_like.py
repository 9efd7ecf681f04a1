"""The fits of growth laws and of their rivals: the fast form against a plain one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import curve_fit

from reproaudit.stats.growth import Law, misfits

STEPS = np.unique(np.r_[np.geomspace(250, 1000, 20).astype(int), np.arange(250, 1001, 25)])
T = STEPS / 1000
Model = Callable[..., NDArray[np.float64]]


def logarithm(t: Any, a: float, b: float) -> Any:
    return a + b * np.log(t)


def power(t: Any, a: float, b: float, p: float) -> Any:
    return a + b * t**p


def exponential(t: Any, a: float, b: float, k: float) -> Any:
    return a - b * np.exp(-k * t)


def plain(model: Model, values: NDArray[np.float64], *bounds: tuple[float, float]) -> float:
    """The root mean square of what the best fit of several starts leaves over."""
    low = [-np.inf, 0.0, *(b[0] for b in bounds)]
    high = [np.inf, np.inf, *(b[1] for b in bounds)]
    best = np.inf
    for start in np.linspace(0.05, 0.95, 7):
        guess = [float(values.mean()), 1.0, *(b[0] + start * (b[1] - b[0]) for b in bounds)]
        found, _ = curve_fit(model, T, values, guess, bounds=(low, high), maxfev=20_000)
        best = min(best, float(np.sqrt(np.mean((values - model(T, *found)) ** 2))))
    return best


@pytest.mark.parametrize("course", [np.log(T), T**0.28, 1 - np.exp(-1.9 * T)])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_the_fits_are_those_of_a_general_optimiser(
    course: NDArray[np.float64], noise: float
) -> None:
    values = 3 + 2 * course + noise * np.random.default_rng(1).normal(size=T.size)
    found = misfits(tuple(int(s) for s in STEPS), values, Law(0.0, 0.1))
    close = {"rel": 0.01, "abs": 2e-4}
    assert found["law"] == pytest.approx(plain(logarithm, values), **close)
    assert found["power"] == pytest.approx(plain(power, values, (0.1, 4.0)), **close)
    assert found["bounded"] <= plain(exponential, values, (0.1, 60.0)) * 1.01 + 2e-4
    assert found["law with an offset"] <= found["law"] + 1e-9


def test_many_series_are_fitted_at_once() -> None:
    rng = np.random.default_rng(0)
    many = np.log(T) + 0.01 * rng.normal(size=(3, 4, T.size))
    steps = tuple(int(s) for s in STEPS)
    whole = misfits(steps, many, Law(0.5, 0.1))
    rivals = {"power", "bounded", "logarithm"}
    assert set(whole) == {"law", "law with an offset", "constant", *rivals}
    for name, one in whole.items():
        assert one.shape == (3, 4)
        assert one[1, 2] == pytest.approx(misfits(steps, many[1, 2], Law(0.5, 0.1))[name])


def test_a_rival_is_never_nearer_than_stated() -> None:
    """A tenth power is a rival from 0.1 on, and none from 0.2 on."""
    steps = tuple(int(s) for s in STEPS)
    values = T**0.1
    assert misfits(steps, values, Law(0.0, 0.1))["power"] < 1e-6
    assert misfits(steps, values, Law(0.0, 0.2))["power"] > 1e-4


def test_a_small_exponent_has_no_rival_in_the_logarithm() -> None:
    assert Law(0.05, 0.1).rivals == ("power", "bounded")
