"""The statistics: against SciPy where it has them, else against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reproaudit.stats.binomial import Decision, decide_count, fewer_yes, share_interval
from reproaudit.stats.growth import RESOLVED, Law, misfits
from reproaudit.stats.means import decide_mean, mean_interval, quantile_t
from reproaudit.stats.onsets import crossing, final_value, half_change


@pytest.mark.parametrize(
    ("runs", "met", "missed"),
    [(0, 1, -1), (4, 5, -1), (5, 5, 0), (10, 9, 1), (15, 12, 3), (20, 15, 5), (50, 32, 18)],
)
def test_a_count_decides_from_so_many_runs_on(runs: int, met: int, missed: int) -> None:
    for yes in range(runs + 1):
        expected = Decision.MET if yes >= met else Decision.OPEN
        assert decide_count(yes, runs) is (Decision.MISSED if yes <= missed else expected)


COUNTS = st.integers(0, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS, st.sampled_from([0.5, 0.6, 0.9]))
def test_a_count_decides_as_the_binomial_test(count: tuple[int, int], share: float) -> None:
    yes, runs = count
    more, less = (float(stats.binom.sf(yes - 1, runs, share)), stats.binom.cdf(yes, runs, share))
    expected = Decision.MISSED if less <= 0.05 else Decision.OPEN
    assert decide_count(yes, runs, share) is (Decision.MET if more <= 0.05 else expected)


@given(COUNTS, st.sampled_from([0.9, 0.5]))
def test_the_interval_of_a_share_is_exact(count: tuple[int, int], confidence: float) -> None:
    yes, runs = count
    low = stats.beta.ppf((1 - confidence) / 2, yes, runs - yes + 1) if yes else 0.0
    high = stats.beta.ppf((1 + confidence) / 2, yes + 1, runs - yes) if yes < runs else 1.0
    assert share_interval(yes, runs, confidence) == pytest.approx((low, high), abs=1e-12)
    assert share_interval(yes, runs) == share_interval(yes, runs, 0.9)


@given(COUNTS, COUNTS)
def test_fewer_yes_is_fishers_exact_test(few: tuple[int, int], many: tuple[int, int]) -> None:
    table = [[few[0], few[1] - few[0]], [many[0], many[1] - many[0]]]
    expected = stats.fisher_exact(table, alternative="less").pvalue
    assert fewer_yes(*few, *many) == pytest.approx(expected)


@pytest.mark.parametrize("count", [(-1, 3), (4, 3)])
def test_what_is_no_share_of_the_runs_is_refused(count: tuple[int, int]) -> None:
    for refuses in (decide_count, share_interval):
        with pytest.raises(ValueError, match="no share"):
            refuses(*count)


@pytest.mark.parametrize("freedom", range(1, 13))
def test_quantiles_are_students(freedom: int) -> None:
    for probability in (0.5, 0.6, 0.95, 0.999):
        expected = stats.t.ppf(probability, freedom)
        assert quantile_t(probability, freedom) == pytest.approx(expected, abs=1e-10)


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=9))
def test_the_interval_of_a_mean_is_students(values: list[float]) -> None:
    logs = np.log(values)
    for log, x, natural in ((False, np.array(values), np.asarray), (True, logs, np.exp)):
        half = stats.t.ppf(0.95, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x))
        expected = natural(x.mean() + np.array([0.0, -half, half]))
        assert mean_interval(values, log) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert mean_interval(values) == mean_interval(values, False)


def test_a_mean_needs_two_runs_and_a_logarithm_positive_numbers() -> None:
    with pytest.raises(ValueError, match="at least two runs"):
        mean_interval([1.0])
    with pytest.raises(ValueError, match="logarithm of 0 does"):
        mean_interval([0.0, 1.0], log=True)
    assert mean_interval([-1.0, 1.0])[0] == 0


@pytest.mark.parametrize(
    ("interval", "decision"),
    [
        ((1, 2), Decision.MET),
        ((1.2, 1.8), Decision.MET),
        ((0.9, 2), Decision.OPEN),
        ((1, 2.1), Decision.OPEN),
        ((0, 1), Decision.OPEN),
        ((2, 3), Decision.OPEN),
        ((0, 0.9), Decision.MISSED),
        ((2.1, 3), Decision.MISSED),
    ],
)
def test_an_interval_decides_with_its_ends(
    interval: tuple[float, float], decision: Decision
) -> None:
    assert decide_mean(interval, (1, 2)) is decision


# --- onsets ---------------------------------------------------------------------------------------

TEN = tuple(range(0, 100, 10))


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def test_the_final_value_is_the_mean_of_the_last_tenth() -> None:
    assert final_value(np.arange(20.0)) == 18.5
    assert final_value(np.arange(19.0)) == 18
    assert final_value(np.arange(5.0)) == 4


@pytest.mark.parametrize(
    ("values", "onset"),
    [
        ((0, 0, 0, 4, 4, 4, 4, 4, 4, 4), 22.5),
        ((4, 4, 4, 0, 0, 0, 0, 0, 0, 0), 27.5),
        ((0, 4, 4, 0, 0, 0, 0, 0, 4, 4), 72.5),  # the last crossing
        ((0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 90),  # the level itself is beyond
        ((0, 0, 0, 0, 0, 0, 0, 0, 4, 0.9), None),
        ((4, 4, 4, 0, 0, 0, 0, 0, 0, 4), None),
        ((1, 1, 1, 4, 4, 4, 4, 4, 4, 4), None),  # beyond it from the start
    ],
)
def test_the_onset_is_the_last_crossing_of_a_level(
    values: tuple[float, ...], onset: float | None
) -> None:
    assert crossing(TEN, array(*values), 1.0) == onset


def test_a_level_that_the_final_value_does_not_keep_is_not_crossed() -> None:
    steps, falls_back = tuple(range(20)), array(*[0] * 18, -9, 2)
    assert crossing(steps, falls_back, 1.0) is None
    assert crossing(steps, array(*[0] * 18, 0, 2), 1.0) == 18.5  # kept, if barely


@pytest.mark.parametrize(
    ("values", "least", "onset"),
    [
        ((1, 1, 1, 5, 5, 5, 5, 5, 5, 5), 4, 25),
        ((1, 1, 1, 5, 5, 5, 5, 5, 5, 5), 4.1, None),
        ((5, 5, 5, 2, 1, 1, 1, 1, 1, 1), 4, 20 + 20 / 3),
        ((1, 3, 3, 3, 1, 5, 5, 5, 5, 5), 4, 45),
        ((1, 3, 1, 1, 1, 1, 3, 5, 5, 5), 4, 60),  # half itself counts
        ((0, 0, 0, 5, 5, 5, 5, 9, 9, 10), 4, 30),  # a tenth over the last fifth
        ((0, 0, 0, 5, 5, 5, 5, 8.8, 8.8, 10), 4, None),
        ((2, 2, 2, 2, 2, 2, 2, 2, 2, 2), 0.1, None),
    ],
)
def test_the_onset_is_where_half_of_a_change_is_made(
    values: tuple[float, ...], least: float, onset: float | None
) -> None:
    found = half_change(TEN, array(*values), least)
    assert found == (None if onset is None else pytest.approx(onset))


def test_where_a_change_is_late_is_counted_from_the_first_step() -> None:
    late = array(0, 0, 5, 5, 5, 5, 5, 5, 10, 10)
    assert half_change([10 + one for one in TEN], late, 1.0) is None
    assert half_change([10 + one for one in TEN], array(0, *late[2:], 10), 1.0) == 20


# --- growth ---------------------------------------------------------------------------------------

STEPS = (5, 7, 10, 20, 40, 80, 120, 160, 200)
T = np.array(STEPS) / STEPS[-1]


def at_floor(law: Law, course: np.ndarray) -> set[str]:
    """The families that fit a course as well as is told apart."""
    found = misfits(STEPS, 3 + 2 * course, law)
    assert found["constant"] == pytest.approx(2 * course.std())
    return {name for name, one in found.items() if one <= 1.01 * RESOLVED * found["constant"]}


@pytest.mark.parametrize(
    ("law", "course", "families"),
    [
        (Law(0.0, 0.1), np.log(T), {"law"}),
        (Law(0.0, 0.1), T**0.1, {"power"}),
        (Law(0.0, 0.1), T**0.05, set()),
        (Law(0.0, 0.1), T**3.99, {"power"}),
        (Law(0.0, 0.1), T**4.03, set()),
        (Law(0.0, 0.1), -(T**-0.1), {"bounded"}),
        (Law(0.0, 0.1), -(T**-0.05), set()),
        (Law(0.0, 0.1), -(T**-3.99), {"bounded"}),
        (Law(0.0, 0.1), -(T**-4.03), set()),
        (Law(0.0, 0.1), -np.exp(-60 * T), {"bounded"}),
        (Law(0.0, 0.1), -np.exp(-0.1 * T), {"bounded"}),
        (Law(0.0, 0.1), T / (1 + 60 * T), {"bounded"}),
        (Law(0.0, 0.1), T / (1 + 0.1 * T), {"bounded"}),
        (Law(0.0, 0.1), T**-0.5, set()),  # it falls
        (Law(0.52, 0.1), T**0.52, {"law"}),
        (Law(0.52, 0.1), T**0.42, {"power"}),
        (Law(0.52, 0.1), T**0.43, set()),
        (Law(0.525, 0.1), T**0.625, {"power"}),
        (Law(0.52, 0.1), T**0.02, {"power"}),
        (Law(0.52, 0.1), -(T**-0.02), {"bounded"}),
        (Law(0.52, 0.1), np.log(T), {"logarithm"}),
    ],
)
def test_a_family_fits_its_own_courses(law: Law, course: np.ndarray, families: set[str]) -> None:
    assert at_floor(law, course) == families


def test_a_power_has_the_logarithm_for_a_rival_from_some_difference_on() -> None:
    assert Law(0.1, 0.1).rivals == ("power", "bounded", "logarithm")
    assert Law(0.09, 0.1).rivals == ("power", "bounded")


def test_a_misfit_is_the_root_mean_square_of_what_is_left_over() -> None:
    values = np.stack([T**2, np.log(T)])
    found = misfits(STEPS, values, Law(1.0, 0.1))["law"]
    for one, misfit in zip(values, found, strict=True):
        line = np.polyval(np.polyfit(T, one, 1), T)
        assert misfit == pytest.approx(np.sqrt(np.mean((one - line) ** 2)))
    falling = misfits(STEPS, -T, Law(1.0, 0.1))
    assert falling["law"] == falling["constant"]
