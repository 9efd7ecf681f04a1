"""Differences beyond noise: intervals, pairing, and what could have been seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from reproaudit.stats import Scale
from reproaudit.stats.difference import seed_difference

A = (1.0, 1.2, 0.9, 1.1, 1.05)
B = (1.3, 1.45, 1.2, 1.45, 1.3)


def test_paired_is_the_paired_t_interval() -> None:
    found = seed_difference(A, B, paired=True)
    expected = scipy_stats.ttest_rel(B, A).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.estimate == pytest.approx(np.mean(B) - np.mean(A))
    assert not found.within_noise


def test_unpaired_is_welchs_interval() -> None:
    found = seed_difference(A, B[:3], paired=False)
    expected = scipy_stats.ttest_ind(B[:3], A, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_on_a_log_scale_it_is_a_ratio() -> None:
    found = seed_difference(A, [2 * a for a in A], paired=True, scale=Scale.LOG)
    assert (found.form, found.estimate) == ("ratio", pytest.approx(2.0))
    assert (found.low, found.high) == pytest.approx((2.0, 2.0))


def test_equal_seeds_differ_by_nothing_that_is_noise() -> None:
    found = seed_difference(A, A, paired=True)
    assert (found.estimate, found.low, found.high, found.detectable) == (0.0, 0.0, 0.0, None)
    assert found.within_noise


@pytest.mark.parametrize("paired", [True, False])
def test_what_could_have_been_seen_is_seen_in_four_of_five(paired: bool) -> None:
    """Simulated: a true difference of the detectable size is beyond noise with power 80 %."""
    rng = np.random.default_rng(3)
    n, repeats, seen = 6, 3000, 0
    error = np.sqrt(1 / n) if paired else np.sqrt(2 / n)
    # With unit spread known the least shift is about (t + 0.84) standard errors; take it from a
    # sample whose spread is exactly 1, then simulate with that as the truth.
    z = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]) * np.sqrt((n - 1) / n)
    found = (
        seed_difference(np.zeros(n), z, paired=True)
        if paired
        else seed_difference(z, z, paired=False)
    ).detectable
    assert found is not None
    assert found / error > 2
    for _ in range(repeats):
        a, b = rng.normal(size=n), rng.normal(size=n)
        one = seed_difference(np.zeros(n) if paired else a, b + found, paired=paired)
        seen += not one.within_noise
    assert seen / repeats == pytest.approx(0.8, abs=0.025)


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=8), st.booleans())
def test_turned_around_the_difference_is_the_opposite(values: list[float], paired: bool) -> None:
    other = [v**0.5 for v in values]
    there = seed_difference(values, other, paired=paired, scale=Scale.LOG)
    back = seed_difference(other, values, paired=paired, scale=Scale.LOG)
    assert there.estimate == pytest.approx(1 / back.estimate)
    assert there.low == pytest.approx(1 / back.high)
    assert there.within_noise == back.within_noise


@pytest.mark.parametrize(
    ("a", "b", "paired", "says"),
    [
        ([1.0], [1.0, 2.0], False, "at least two seeds"),
        ([1.0, 2.0, 3.0], [1.0, 2.0], True, "cannot be paired"),
        ([-1.0, 1.0], [1.0, 2.0], False, "no place on the log scale"),
    ],
)
def test_what_cannot_be_compared(a: list[float], b: list[float], paired: bool, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        seed_difference(a, b, paired=paired, scale=Scale.LOG)
