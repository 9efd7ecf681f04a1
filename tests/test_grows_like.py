"""The growth law on synthetic trajectories: present, absent, ended."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from reproaudit.checks import judge_conditions, part_results
from reproaudit.checks.grows_like import GrowsLike
from reproaudit.checks.measurements import Declaration, MeasurementKind, Quantity, Sample
from reproaudit.records import Measurements, Series
from reproaudit.stats import Decision

STEPS = np.unique(
    np.r_[0, np.geomspace(1, 5000, 60).astype(int), np.linspace(0, 5000, 60, dtype=int)]
)
CHECK = GrowsLike(
    kind="grows_like",
    name="growth",
    reason="a test",
    quantity=Quantity(measurement="a"),
    law="logarithm",
    margin=0.25,
    least_growth=1.0,
)


def decided(trajectory: NDArray[np.float64], noise: float = 0.0) -> Decision:
    rng = np.random.default_rng(0)
    samples = []
    for seed in range(5):
        values = trajectory * (1 + 0.02 * rng.standard_normal())
        values = values + noise * rng.standard_normal(values.shape)
        series = Series(steps=tuple(int(s) for s in STEPS), values=values)
        declaration = Declaration(kind=MeasurementKind.SERIES, unit="1", meaning="a")
        samples.append(Sample(seed, Measurements(series={"a": series}), {"a": declaration}, {}))
    return part_results(judge_conditions([CHECK], samples, 0.95))[0].decision


def test_a_logarithm_is_met() -> None:
    assert decided(np.log1p(STEPS)) is Decision.MET


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_a_power_is_missed(power: float) -> None:
    assert decided(10 * (STEPS / 5000) ** power) is Decision.MISSED


@pytest.mark.parametrize("noise", [0.0, 1e-7])
def test_growth_that_has_ended_is_missed(noise: float) -> None:
    """Two gains of nothing have the ratio 1 or any other, and are no logarithm."""
    assert decided(5 * (1 - np.exp(-STEPS / 50)), noise) is Decision.MISSED


def test_growth_that_slows_down_is_missed() -> None:
    assert decided(5 * (1 - np.exp(-STEPS / 1500))) is Decision.MISSED


def test_growth_too_small_to_count_is_missed() -> None:
    assert decided(0.05 * np.log1p(STEPS)) is Decision.MISSED
