"""The statistics: against SciPy where it has them, else against numbers worked out by hand."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reproaudit.stats.binomial import Decision, decide_count, fewer_yes, share_interval
from reproaudit.stats.growth import RESOLVED, Law, misfits
from reproaudit.stats.means import decide_mean, mean_interval, quantile_t
from reproaudit.stats.onsets import crossing, final_value, half_change
from reproaudit.stats.ranks import decide_ranks, rank_sum

MET, MISSED, OPEN = Decision.MET, Decision.MISSED, Decision.OPEN
COUNTS = st.integers(0, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
Count = tuple[int, int]


@pytest.mark.parametrize(
    ("runs", "met", "missed"),
    [(0, 1, -1), (4, 5, -1), (5, 5, 0), (10, 9, 1), (15, 12, 3), (20, 15, 5), (50, 32, 18)],
)
def test_a_count_decides_from_so_many_runs_on(runs: int, met: int, missed: int) -> None:
    for yes in range(runs + 1):
        expected = MET if yes >= met else MISSED if yes <= missed else OPEN
        assert decide_count(yes, runs) is expected


@given(COUNTS, st.sampled_from([0.5, 0.6, 0.9]))
def test_a_count_decides_as_the_binomial_test(count: Count, share: float) -> None:
    more, less = stats.binom.sf(count[0] - 1, count[1], share), stats.binom.cdf(*count, share)
    assert decide_count(*count, share) is (
        MET if more <= 0.05 else MISSED if less <= 0.05 else OPEN
    )


@given(COUNTS, st.sampled_from([0.9, 0.5]))
def test_the_interval_of_a_share_is_exact(count: Count, confidence: float) -> None:
    yes, runs = count
    low = stats.beta.ppf((1 - confidence) / 2, yes, runs - yes + 1) if yes else 0.0
    high = stats.beta.ppf((1 + confidence) / 2, yes + 1, runs - yes) if yes < runs else 1.0
    assert share_interval(yes, runs, confidence) == pytest.approx((low, high), abs=1e-12)
    assert share_interval(yes, runs) == share_interval(yes, runs, 0.9)


@given(COUNTS, COUNTS)
def test_fewer_yes_is_fishers_exact_test(few: Count, many: Count) -> None:
    table = [[yes, runs - yes] for yes, runs in (few, many)]
    expected = stats.fisher_exact(table, alternative="less").pvalue
    assert fewer_yes(*few, *many) == pytest.approx(expected)


@pytest.mark.parametrize("refuses", [decide_count, share_interval])
def test_what_is_no_share_of_the_runs_is_refused(refuses: Any) -> None:
    for count in ((-1, 3), (4, 3)):
        with pytest.raises(ValueError, match="no share"):
            refuses(*count)


def test_quantiles_are_students() -> None:
    for freedom in range(1, 13):
        for p in (0.5, 0.6, 0.95, 0.999):
            assert quantile_t(p, freedom) == pytest.approx(stats.t.ppf(p, freedom), abs=1e-10)


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=9))
def test_the_interval_of_a_mean_is_students(values: list[float]) -> None:
    for log, x, natural in ((False, np.array(values), np.asarray), (True, np.log(values), np.exp)):
        half = stats.t.ppf(0.95, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x))
        expected = natural(x.mean() + np.array([0.0, -half, half]))
        assert mean_interval(values, log) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_mean_needs_two_runs_and_a_logarithm_positive_numbers() -> None:
    with pytest.raises(ValueError, match="at least two runs"):
        mean_interval([1.0])
    with pytest.raises(ValueError, match="logarithm of 0 does"):
        mean_interval([0.0, 1.0], log=True)
    assert mean_interval([-1.0, 1.0])[0] == 0


def test_an_interval_decides_with_its_ends() -> None:
    by = {MET: [(1, 2), (1.2, 1.8)], MISSED: [(0, 0.9), (2.1, 3)]}
    by[OPEN] = [(0.9, 2), (1, 2.1), (0, 1), (2, 3)]
    for decision, intervals in by.items():
        assert {decide_mean(one, (1, 2)) for one in intervals} == {decision}


# --- groups ---------------------------------------------------------------------------------------

GROUP = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=5)


@given(GROUP, GROUP)
def test_the_rank_sum_counts_every_way_to_deal_the_numbers_out(
    low: list[float], high: list[float]
) -> None:
    ranks = stats.rankdata([*low, *high])
    sums = [sum(one) for one in itertools.combinations(ranks, len(low))]
    expected = np.mean(np.array(sums) <= ranks[: len(low)].sum() + 1e-9)
    assert rank_sum(low, high) == pytest.approx(expected)


@pytest.mark.parametrize("sizes", [(5, 5), (15, 8), (50, 50), (60, 60), (200, 30)])
def test_the_rank_sum_is_that_of_scipy(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    for shift in (-0.5, 0.0, 0.5):
        low, high = rng.normal(shift, size=sizes[0]), rng.normal(size=sizes[1])
        method = "exact" if sum(sizes) <= 100 else "asymptotic"
        expected = stats.mannwhitneyu(low, high, alternative="less", method=method).pvalue
        assert rank_sum(low, high) == pytest.approx(expected, abs=1e-9)


def test_groups_of_equal_numbers_decide_nothing() -> None:
    assert decide_ranks([1.0] * 9, [1.0] * 9) is decide_ranks([1.0] * 60, [1.0] * 60) is OPEN
    assert decide_ranks([-math.inf] * 5, [0.0] * 5) is MET
    assert decide_ranks([math.inf] * 5, [0.0] * 5) is MISSED
    assert decide_ranks([0.0] * 2, [1.0] * 5) is MET  # 1 of 21 ways


# --- onsets and growth ----------------------------------------------------------------------------

TEN = tuple(range(0, 100, 10))


def test_the_final_value_is_the_mean_of_the_last_tenth() -> None:
    assert [final_value(np.arange(float(n))) for n in (20, 19, 5)] == [18.5, 18, 4]


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
        ((0,) * 18 + (-9, 2), None),  # the final value is not beyond
        ((0,) * 18 + (0, 2), 175 + 10),
    ],
)
def test_the_onset_is_the_last_crossing_of_a_level(values: Any, onset: float | None) -> None:
    steps = tuple(range(0, 10 * len(values), 10))
    assert crossing(steps, np.array(values, float), 1.0) == onset


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
        ((0, 0, 5, 5, 5, 5, 5, 5, 10, 10), 1, None),
    ],
)
def test_the_onset_is_where_half_of_a_change_is_made(
    values: Any, least: float, onset: float | None
) -> None:
    for first in (0, 50):
        found = half_change([first + one for one in TEN], np.array(values, float), least)
        assert found == (None if onset is None else pytest.approx(first + onset))


T = np.array((5, 7, 10, 20, 40, 80, 120, 160, 200)) / 200
LOG, POWER = Law(0.0, 0.1), Law(0.52, 0.1)


@pytest.mark.parametrize(
    ("law", "course", "families"),
    [
        (LOG, np.log(T), {"law"}),
        (LOG, T**0.1, {"power"}),
        (LOG, T**0.05, set()),
        (LOG, T**3.99, {"power"}),
        (LOG, T**4.03, set()),
        (LOG, -(T**-0.1), {"bounded"}),
        (LOG, -(T**-0.05), set()),
        (LOG, -(T**-3.99), {"bounded"}),
        (LOG, -(T**-4.03), set()),
        (LOG, -np.exp(-60 * T), {"bounded"}),
        (LOG, -np.exp(-0.1 * T), {"bounded"}),
        (LOG, T / (1 + 60 * T), {"bounded"}),
        (LOG, T / (1 + 0.1 * T), {"bounded"}),
        (LOG, T**-0.5, set()),  # it falls
        (POWER, T**0.52, {"law"}),
        (POWER, T**0.42, {"power"}),
        (POWER, T**0.43, set()),
        (Law(0.525, 0.1), T**0.625, {"power"}),
        (POWER, T**0.02, {"power"}),
        (POWER, -(T**-0.02), {"bounded"}),
        (POWER, np.log(T), {"logarithm"}),
    ],
)
def test_a_family_fits_its_own_courses_to_the_floor(law: Law, course: Any, families: Any) -> None:
    found = misfits(tuple((200 * T).round().astype(int)), 3 + 2 * course, law)
    assert found["constant"] == pytest.approx(2 * course.std())
    shares = {name: one / found["constant"] for name, one in found.items()}
    assert {name for name, one in shares.items() if one <= 1.01 * RESOLVED} == families
    assert min(shares.values()) >= 0.99 * RESOLVED


def test_a_power_has_the_logarithm_for_a_rival_from_some_difference_on() -> None:
    assert Law(0.1, 0.1).rivals == ("power", "bounded", "logarithm")
    assert Law(0.09, 0.1).rivals == ("power", "bounded")


def test_a_misfit_is_the_root_mean_square_of_what_is_left_over() -> None:
    values = np.stack([T**2, np.log(T), -T])
    found = misfits(tuple((200 * T).round().astype(int)), values, Law(1.0, 0.1))
    for one, misfit in zip(values[:2], found["law"], strict=False):
        line = np.polyval(np.polyfit(T, one, 1), T)
        assert misfit == pytest.approx(np.sqrt(np.mean((one - line) ** 2)))
    assert found["law"][2] == found["constant"][2]
