"""The statistics: against SciPy where it has them, else against numbers worked out by hand."""

import itertools
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from reproaudit.stats.binomial import Decision, decide_count, fewer_yes, share_interval
from reproaudit.stats.growth import (
    MOST_LIKELY,
    RESOLVED,
    Decays,
    Law,
    Misfit,
    best_decay,
    misfit_of,
    misfits,
    products,
    roughness,
)
from reproaudit.stats.means import decide_mean, mean_interval, quantile_t, without_farthest
from reproaudit.stats.onsets import (
    Start,
    crossing,
    excursions,
    final_value,
    first_passage,
    has_ended,
    late_mean,
    noise,
    smoothed,
    start_of,
)
from reproaudit.stats.powers import (
    PowerFit,
    offset_power_fit,
    power_fit,
    slopes_beside_a_step,
    slopes_without_an_end,
    surely_bends,
    surely_departs,
)
from reproaudit.stats.ranks import decide_ranks, rank_sum

MET, MISSED, OPEN = Decision.MET, Decision.MISSED, Decision.OPEN
COUNTS = st.integers(0, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
Count = tuple[int, int]


@given(COUNTS, st.sampled_from([0.5, 0.6, 0.9]))
def test_a_count_decides_as_the_binomial_test(count, share):
    more = scipy.stats.binom.sf(count[0] - 1, count[1], share)
    less = scipy.stats.binom.cdf(*count, share)
    assert decide_count(*count, share) is (
        MET if more <= 0.05 else MISSED if less <= 0.05 else OPEN
    )


@given(COUNTS, st.sampled_from([0.9, 0.5]))
def test_the_interval_of_a_share_is_exact(count, confidence):
    yes, runs = count
    low = scipy.stats.beta.ppf((1 - confidence) / 2, yes, runs - yes + 1) if yes else 0.0
    high = scipy.stats.beta.ppf((1 + confidence) / 2, yes + 1, runs - yes) if yes < runs else 1.0
    assert share_interval(yes, runs, confidence) == pytest.approx((low, high), abs=1e-12)
    assert share_interval(yes, runs) == share_interval(yes, runs, 0.9)


@given(COUNTS, COUNTS)
def test_fewer_yes_is_fishers_exact_test(few, many):
    table = [[yes, runs - yes] for yes, runs in (few, many)]
    expected = scipy.stats.fisher_exact(table, alternative="less").pvalue
    assert fewer_yes(*few, *many) == pytest.approx(expected)


@pytest.mark.parametrize("refuses", [decide_count, share_interval])
def test_what_is_no_share_of_the_runs_is_refused(refuses):
    for count in ((-1, 3), (4, 3)):
        with pytest.raises(ValueError, match="no share"):
            refuses(*count)


def test_quantiles_are_students():
    for freedom in range(1, 13):
        for p in (0.5, 0.6, 0.95, 0.999):
            assert quantile_t(p, freedom) == pytest.approx(scipy.stats.t.ppf(p, freedom), abs=1e-10)


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=9))
def test_the_interval_of_a_mean_is_students(values):
    for log, x, natural in ((False, np.array(values), np.asarray), (True, np.log(values), np.exp)):
        half = scipy.stats.t.ppf(0.95, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x))
        expected = natural(x.mean() + np.array([0.0, -half, half]))
        assert mean_interval(values, log) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_mean_needs_two_runs_and_a_logarithm_positive_numbers():
    with pytest.raises(ValueError, match="at least two runs"):
        mean_interval([1.0])
    with pytest.raises(ValueError, match="logarithm of 0 does"):
        mean_interval([0.0, 1.0], log=True)
    assert mean_interval([-1.0, 1.0])[0] == 0


def test_an_interval_decides_with_its_ends():
    by = {MET: [(1, 2), (1.2, 1.8)], MISSED: [(0, 0.9), (2.1, 3)]}
    by[OPEN] = [(0.9, 2), (1, 2.1), (0, 1), (2, 3)]
    for decision, intervals in by.items():
        assert {decide_mean(interval, (1, 2)) for interval in intervals} == {decision}


@pytest.mark.parametrize(
    ("values", "count", "kept"),
    [
        ((1, 2, 9, 3), 0, (1, 2, 9, 3)),
        ((1, 2, 9, 3), 1, (1, 2, 3)),
        ((1, 2, 9, 3), 2, (2, 3)),
        ((9, 10, -30, 10, 11), 1, (9, 10, 10, 11)),
    ],
)
def test_what_lies_farthest_from_the_median_is_left_out(values, count, kept):
    assert without_farthest(values, count) == [*kept]


# --- groups ---------------------------------------------------------------------------------------

GROUP = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=5)


@given(GROUP, GROUP)
def test_the_rank_sum_counts_every_way_to_deal_the_numbers_out(low, high):
    ranks = scipy.stats.rankdata([*low, *high])
    sums = [sum(combination) for combination in itertools.combinations(ranks, len(low))]
    expected = np.mean(np.array(sums) <= ranks[: len(low)].sum() + 1e-9)
    assert rank_sum(low, high) == pytest.approx(expected)


@pytest.mark.parametrize("sizes", [(5, 5), (15, 8), (50, 50), (50, 51), (200, 30)])
def test_the_rank_sum_is_that_of_scipy(sizes):
    rng = np.random.default_rng(0)
    for shift in (-0.5, 0.0, 0.5):
        low, high = rng.normal(shift, size=sizes[0]), rng.normal(size=sizes[1])
        method = "exact" if sum(sizes) <= 100 else "asymptotic"
        expected = scipy.stats.mannwhitneyu(low, high, alternative="less", method=method).pvalue
        assert rank_sum(low, high) == pytest.approx(expected, abs=1e-9)


def test_groups_of_equal_numbers_decide_nothing():
    assert decide_ranks([1.0] * 9, [1.0] * 9) is decide_ranks([1.0] * 60, [1.0] * 60) is OPEN
    assert decide_ranks([-math.inf] * 5, [0.0] * 5) is MET
    assert decide_ranks([math.inf] * 5, [0.0] * 5) is MISSED
    assert decide_ranks([0.0] * 2, [1.0] * 5) is MET  # 1 of 21 ways


# --- onsets and growth ----------------------------------------------------------------------------


@pytest.mark.parametrize(("courses", "steps"), [(3, 5), (2381, 250), (2381, 750), (1, 300_000)])
def test_products_of_some_courses_at_a_time_are_those_of_all(courses, steps):
    random = np.random.default_rng(0)
    shapes = random.normal(size=(courses, steps))
    values = random.normal(size=steps)
    assert products(shapes, values) == pytest.approx(shapes @ values, rel=1e-9, abs=1e-9)


T100 = np.arange(101.0)


def test_running_medians_are_of_three_or_five_and_of_what_there_is():
    assert smoothed(np.array([1.0, 9.0])).tolist() == [1, 9]
    assert smoothed(np.array([1.0, 9.0, 2.0, 7.0])).tolist() == [1, 2, 7, 7]
    assert smoothed(np.array([1.0, 9.0, 2.0, 7.0, 3.0])).tolist() == [1, 2, 3, 3, 3]


def test_the_final_value_is_the_mean_over_the_last_tenth_of_training():
    assert [final_value(range(n), np.arange(float(n))) for n in (21, 11, 5)] == [19, 9.5, 4]
    assert final_value((0, 1, 2, 50, 100), np.arange(5.0)) == 4
    assert final_value(range(100, 121), np.arange(21.0)) == 19


@pytest.mark.parametrize(
    ("values", "onset"),
    [
        ((0, 0, 0, 4, 4, 4, 4, 4, 4, 4), 22.5),
        ((4, 4, 4, 0, 0, 0, 0, 0, 0, 0), 27.5),
        ((0, 4, 4, 0, 0, 0, 0, 0, 4, 4), 72.5),  # the last crossing
        ((-4, 0, 4, 4, 4, 4, 4, 4, 4, 4), 12.5),
        ((0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 90),  # the level itself is beyond
        ((0, 0, 0, 0, 0, 0, 0, 0, 4, 0.9), None),
        ((4, 4, 4, 0, 0, 0, 0, 0, 0, 4), None),
        ((1, 1, 1, 4, 4, 4, 4, 4, 4, 4), None),  # beyond it from the start
        ((0,) * 18 + (-9, 2), None),  # the final value is not beyond
        ((0,) * 18 + (0, 2), 175 + 10),
    ],
)
def test_the_onset_is_the_last_crossing_of_a_level(values, onset):
    steps = tuple(range(0, 10 * len(values), 10))
    found = crossing(steps, np.array(values, float), 1.0)
    assert (None if found is None else found.step) == onset
    if found is not None:
        assert (found.before, found.after) == (math.ceil(onset / 10) * 10 - 10, found.before + 10)


@pytest.mark.parametrize(
    ("course", "ended"),
    [(T100 / 100, False), (-T100, False), (np.minimum(T100 / 70, 1), True), (0 * T100, True),
     (T100 / 100 - 5, False), (np.minimum(T100 / 70, 1) + 0.1 * T100 / 70 - 5, True),
     (1 - np.exp(-T100 / 20), True), (T100**2, False), (np.minimum(T100, 75) + T100 / 5, True)],
)  # fmt: skip
def test_a_change_has_ended_or_goes_on(course, ended):
    for seen in (slice(None), slice(None, None, 10), [0, 1, 2, 5, 10, 20, 40, 70, 95, 100]):
        for first in (0, 900):
            steps = first + T100[seen].astype(int)
            assert has_ended(steps.tolist(), course[seen]) is ended


@pytest.mark.parametrize(("until", "most"), [(82, 0.3), (88, 0.1), (94, 0.03), (96, 0.0)])
def test_a_change_that_comes_late_has_ended_where_it_surely_rests(until, most):
    """A ramp from step 70 on, which rests in the last tenth, or the last twentieth, or not."""
    course = np.clip((T100 - 70) / (until - 70), 0, 1)
    random = np.random.default_rng(0).normal(size=101)
    steps = T100.astype(int).tolist()
    ended = [size for size in (0.01, 0.03, 0.1, 0.3) if has_ended(steps, course + size * random)]
    assert max(ended, default=0) == most
    assert has_ended(steps, -course) is has_ended(steps, course) is (most > 0)


def test_the_line_at_the_end_begins_with_the_observation_before():
    for steps, course, ended in (
        ((0, 79, 100), (0.0, 1.0, 1.0), True),
        ((0, 79, 100), (0.0, 0.9, 1.0), True),  # a tenth of the change, as it goes
        ((0, 79, 100), (0.0, 0.88, 1.0), False),
        ((0, 100), (0.0, 1.0), False),
        (range(0, 101, 10), (*[0.0] * 8, 0.5, 1.0, 1.0), True),  # by two in the last tenth
        (range(0, 101, 10), (*[0.0] * 8, 0.5, 0.9, 1.0), False),
        ((5,), (1.0,), True),
    ):
        assert has_ended(steps, np.array(course)) is ended


@pytest.mark.parametrize(
    ("values", "passage", "reached"),
    [
        ((0,) * 5 + (4,) * 5, (42.5, 40, 50), True),  # a fourth of the way from 0 to 4
        ((4,) * 5 + (0,) * 5, (47.5, 40, 50), True),
        ((1,) * 3 + (4,) * 7, (0, 0, 0), True),  # it begins at the level
        ((1,) + (0,) * 4 + (4,) * 5, (0, 0, 0), True),
        ((0,) + (4,) * 9, (2.5, 0, 10), True),
        ((-4,) * 3 + (0,) + (4,) * 6, (32.5, 30, 40), True),
        ((0,) * 10, (90, 90, 90), False),
        ((0,) * 9 + (4,), (80, 80, 80), False),
        ((0,) * 8 + (4,) * 2, (72.5, 70, 80), True),
        # it stays for a tenth of the observations, five at least
        ((0,) * 9 + (4,) * 5 + (0,) * 6, (82.5, 80, 90), True),
        ((0,) * 9 + (4,) * 4 + (0,) * 7, (190, 190, 190), False),
        ((0,) * 9 + (4,) * 8 + (0,) * 60, (82.5, 80, 90), True),  # of 77
        ((0,) * 9 + (4,) * 7 + (0,) * 61, (760, 760, 760), False),
        # as it lies above, or below, the level
        ((0.5,) * 5 + (1,) * 5, (50, 40, 50), True),
    ],
)
def test_a_level_is_passed_where_the_course_stays_beyond(values, passage, reached):
    steps = tuple(range(0, 10 * len(values), 10))
    assert first_passage(steps, np.array(values, float), 1.0) == (passage, reached)


def test_the_late_mean_is_that_of_the_last_tenth_of_the_observations():
    for count, mean in ((40, 37.5), (20, 18.5), (19, 18), (9, 8), (1, 0)):
        assert late_mean(np.arange(float(count))) == mean
    assert late_mean(np.stack([np.arange(20.0), np.ones(20)], axis=1)).tolist() == [18.5, 1]


def test_noise_is_the_distance_from_the_line_between_neighbours():
    """At step 1 of 0 to 4 a fourth of the way; one observation lies 5 above."""
    expected = 5 / math.sqrt(1 + 1 / 16 + 9 / 16) / 0.6745
    assert noise((0, 1, 4), np.array([0.0, 5.0, 0.0])) == pytest.approx(expected)
    assert noise((0, 3, 4), np.array([2.0, -3.0, 2.0])) == pytest.approx(expected)


def test_noise_is_what_neighbours_do_not_share():
    assert noise((0, 1), np.array([0.0, 5.0])) == 0
    assert noise((0, 1, 5, 7), 3.0 * np.array([0, 1, 5, 7])) == pytest.approx(0)
    steps = np.sort(np.random.default_rng(0).choice(10**6, 4001, replace=False))
    for size in (0.1, 3.0):
        found = np.sin(steps / 10**5) + size * np.random.default_rng(1).normal(size=4001)
        assert noise(steps.tolist(), found) == pytest.approx(size, rel=0.05)


def test_how_far_a_series_has_moved():
    assert excursions(np.array([0.0, 1, 2, 1, 0, -1, -1])).tolist() == [0, 1, 1, 1, 1, 2, 2]
    assert excursions(np.array([0.0, 0, 0, 9, 0, 0, 0])).tolist() == [0] * 7


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
def test_a_family_fits_its_own_courses_to_the_floor(law, course, families):
    found = misfits(tuple((200 * T).round().astype(int)), 3 + 2 * course, law)
    assert found["constant"].size == pytest.approx(2 * course.std())
    shares = {name: misfit.size / found["constant"].size for name, misfit in found.items()}
    assert {name for name, share in shares.items() if share <= 1.01 * RESOLVED} == families
    assert min(shares.values()) >= 0.99 * RESOLVED


def test_a_power_has_the_logarithm_for_a_rival_from_some_difference_on():
    assert Law(0.1, 0.1).rivals == ("power", "bounded", "logarithm")
    assert Law(0.09, 0.1).rivals == ("power", "bounded")


def test_a_misfit_is_the_root_mean_square_of_what_is_left_over():
    for values in (T**2, np.log(T)):
        found = misfits(tuple((200 * T).round().astype(int)), values, Law(1.0, 0.1))
        line = np.polyval(np.polyfit(T, values, 1), T)
        assert found["law"].size == pytest.approx(np.sqrt(np.mean((values - line) ** 2)))
    found = misfits(tuple((200 * T).round().astype(int)), -T, Law(1.0, 0.1))
    assert found["law"] == found["constant"]


def test_a_law_fits_surely_better_by_independent_observations():
    alternating = np.resize([1.0, -1.0], 40)
    assert misfit_of(alternating)[:2] == (1.0, 40)
    alike = misfit_of(np.repeat([1.0, -1.0], 20))
    assert alike.independent == pytest.approx(40 * 3 / 77)  # 37 of 40 neighbours, less one, agree
    assert misfit_of(np.linspace(-1, 1, 1000)).independent == pytest.approx(1000 * 0.01 / 1.99)
    assert misfit_of(alternating, 2.0) == Misfit(2.0, 40)
    # 2 (40 - 3) ln x > 5.99
    better = misfit_of(alternating)
    assert not better.surely_below(Misfit(1.083, 40))
    assert better.surely_below(Misfit(1.085, 40))
    assert not better.surely_below(Misfit(0.5, 40))
    assert not Misfit(1.0, 2.0).surely_below(Misfit(19.0, 2.0))
    assert Misfit(1.0, 2.0).surely_below(Misfit(21.0, 2.0))


def test_a_law_leaves_over_more_than_noise_by_a_likelihood_ratio():
    """A fourth of the observations count: n/4 · log(1 + beyond/noise²) > 5.99."""
    apart = 4 * 5.99 / math.log(4)  # of a mean square of 1, of which noise is a fourth
    assert not Misfit(1.0, 1.0, 0.5, 0.99 * apart).systematic
    systematic = Misfit(1.0, 1.0, 0.5, 1.01 * apart)
    assert (systematic.systematic, systematic.noise) == (True, 0.5)
    assert not Misfit(1.0, 1.0, 1.0, 1e9).systematic
    assert not Misfit(1.0, 1.0).systematic
    for size in (1.0, 100.0):
        assert not Misfit(size, 1.0, 0.0, 0.86).systematic  # 2 · log(10^6) for no noise
        assert Misfit(size, 1.0, 0.0, 0.88).systematic
    # the same of what another law leaves over beyond it
    for beyond in (5.99, MOST_LIKELY):
        more = 0.25 * math.expm1(beyond / 5.99 * math.log(4) / 1.01)
        assert not systematic.surely_below(Misfit(math.sqrt(1 + 0.99 * more), 1.0), beyond)
        assert systematic.surely_below(Misfit(math.sqrt(1 + 1.01 * more), 1.0), beyond)
    assert not systematic.surely_below(Misfit(0.1, 1.0))


@pytest.mark.parametrize("count", [6, 41, 200])
def test_noise_is_read_of_two_distances_of_each_observation(count):
    values = np.cumsum(np.random.default_rng(count).normal(size=count))
    squares = []
    for k in (1, 2):
        middles = [(values[i - k] + values[i + k]) / 2 for i in range(k, count - k)]
        every = sorted((values[i] - middles[i - k]) ** 2 for i in range(k, count - k))
        kept = every[: math.ceil(0.75 * len(every))]
        squares.append(sum(kept) / len(kept) / _LEAST_OF_NORMAL)
    by_alike = {k / 100: 1.5 - 2 * k / 100 + (k / 100) ** 2 / 2 for k in range(99)}
    nearest = {
        r: abs((1.5 - 2 * r**2 + r**4 / 2) / left - squares[1] / squares[0])
        for r, left in by_alike.items()
    }
    alike = min(nearest, key=lambda r: nearest[r])
    size, correlation = roughness(values)
    assert correlation == pytest.approx(alike)
    assert size == pytest.approx(math.sqrt(squares[0] / by_alike[alike]), rel=1e-3)
    misfit = misfit_of(values)
    assert (misfit.rough, misfit.apart) == pytest.approx((size, count * (1 - alike) / (1 + alike)))
    assert roughness(np.arange(6.0)) == (0, pytest.approx(roughness(np.zeros(9))[1]))


_QUANTILE = scipy.stats.norm.ppf(7 / 8)
_LEAST_OF_NORMAL = 1 - 2 * _QUANTILE * scipy.stats.norm.pdf(_QUANTILE) / 0.75


def test_what_neighbours_do_not_share_is_noise():
    rng = np.random.default_rng(0)
    for r in (0.0, 0.5, 0.8):
        noise = rng.normal(size=20000)
        for i in range(1, len(noise)):
            noise[i] = r * noise[i - 1] + math.sqrt(1 - r**2) * noise[i]
        size, correlation = roughness(3 + 0.1 * noise + np.sin(np.arange(20000) / 2000))
        assert (size, correlation) == pytest.approx((0.1, r), rel=0.1, abs=0.05)
    assert roughness(noise[:5]) == (math.inf, 0.0)


@pytest.mark.parametrize("count", [100, 400])
def test_a_misfit_beyond_noise_is_systematic(count):
    noise = 0.1 * np.random.default_rng(0).normal(size=count)
    swings = np.sin(np.arange(count) * 10 / count)
    by_noise = misfit_of(noise)
    by_law = misfit_of(noise + swings)
    assert (by_noise.systematic, by_law.systematic) == (False, True)
    assert (by_noise.noise, by_law.noise) == (by_noise.size, by_law.rough)
    assert by_law.rough == pytest.approx(0.1, rel=0.5)
    worse = misfit_of(noise + 1.2 * swings)
    assert by_law.surely_below(worse)
    assert not worse.surely_below(by_law)
    assert not by_law.surely_below(misfit_of(noise + 1.0001 * swings))


@pytest.mark.parametrize(
    ("course", "later", "power", "near"),
    [(lambda t: 2 + 3 * t**-0.7, 2 + 3 * 2**-0.7, True, 1e-9),
     (lambda t: 9 - np.log(t), 9 - math.log(2), True, 1e-12),
     (lambda t: 1 + 4 * np.exp(-7 * t), 1 + 4 * math.exp(-14), False, 1e-6)],
)  # fmt: skip
def test_a_decay_is_found_among_decays(course, later, power, near):
    t = np.linspace(0.5, 1, 30)
    steps = 1000 * t
    found = best_decay(steps, course(t), lambda all_: all_.later > -np.inf)
    assert found is not None
    assert (found.now, found.later) == pytest.approx((course(1.0), later), rel=near)
    other = best_decay(steps, course(t), lambda all_: np.isinf(all_.exponents) == power)
    assert other is not None
    assert found.misfit.surely_below(other.misfit)
    assert best_decay(steps, course(t), lambda all_: all_.later > np.inf) is None


@pytest.mark.parametrize("power", [False, True])
def test_a_decay_is_fitted_by_least_relative_squares(power):
    t = np.linspace(0.4, 1, 40)
    values = (0.3 + t**-0.7) * np.exp(0.1 * np.random.default_rng(0).normal(size=40))
    of_powers = [(t**-p, 2**-p) for p in np.arange(0.01, 2.0, 0.01)]
    of_rates = [(np.exp(-r * t), math.exp(-2 * r)) for r in np.geomspace(0.5, 120, 600)]
    fits = []
    for course, later in of_powers if power else of_rates:
        weighted = np.stack([1 / values, course / values], axis=1)
        (c, b), *_ = np.linalg.lstsq(weighted, np.ones(40), rcond=None)
        size = float(np.sqrt(np.mean((1 - weighted @ (c, b)) ** 2)))
        fits.append((size, c + b * course[-1], c + b * later))
    found = best_decay(t, values, lambda all_: np.isfinite(all_.exponents) == power)
    assert found is not None
    assert found.misfit.size <= min(fits)[0]
    assert (found.misfit.size, found.now, found.later) == pytest.approx(min(fits), rel=1e-2)


@pytest.mark.parametrize(
    ("course", "power"),
    [
        (lambda t: 2 + t**-0.02, True),
        (lambda t: 2 + t**-1.99, True),
        (lambda t: 2 + np.exp(-0.51 * t), False),
        (lambda t: 2 + 1e9 * np.exp(-119 * t), False),
    ],
)
def test_decays_have_exponents_to_2_and_rates_from_a_half_to_120(course, power):
    t = np.linspace(0.5, 1, 60)
    found = best_decay(t, course(t), lambda all_: np.isfinite(all_.exponents) == power)
    assert found is not None
    assert found.misfit.size <= 3e-5


def test_decays_know_their_limits_and_where_they_go():
    """A power in [0.5, 1] is c + b·t^-p, of which both are known by its ends."""
    t = np.linspace(0.5, 1, 30)
    seen: list[Decays] = []

    def all_of(decays: Decays) -> Any:
        seen.append(decays)
        return decays.later > -np.inf

    best_decay(1000 * t, 2 + 3 * t**-0.7 + 0.2 * t, all_of)
    decays = seen[0]
    assert np.isinf(decays.exponents).sum() == 60
    assert decays.exponents[:60] == pytest.approx(np.linspace(0, 2, 60))
    assert decays.limits[0] == -np.inf
    assert decays.later[0] == pytest.approx(2 * decays.now[0] - decays.courses[0, 0])
    for k in range(1, 60):
        p = decays.exponents[k]
        b = (decays.courses[k, 0] - decays.now[k]) / (0.5**-p - 1)
        assert decays.limits[k] == pytest.approx(decays.now[k] - b)
        assert decays.later[k] == pytest.approx(decays.now[k] - b * (1 - 2**-p))
    rates = np.geomspace(0.5, 120, 60)
    for k, rate in enumerate(rates, 60):
        b = (decays.courses[k, 0] - decays.now[k]) / (1 - math.exp(-rate / 2))
        assert decays.limits[k] == pytest.approx(decays.now[k] - b * math.exp(-rate / 2))
        assert decays.later[k] == pytest.approx(decays.limits[k] + b * math.exp(-1.5 * rate))
    seen.clear()
    best_decay(1000 * t, 1 + t, all_of)  # what rises is fitted by a constant
    assert seen[0].limits[:60] == pytest.approx(np.full(60, seen[0].now[0]))


def test_logarithms_bend_beyond_noise_or_not():
    sizes = 2.0 ** np.arange(3, 9)
    noise = np.exp(0.05 * np.random.default_rng(0).normal(size=6))
    assert surely_bends(sizes, 1 + 8 / sizes)
    assert not surely_bends(sizes, 1 / sizes)
    assert not surely_bends(sizes, noise / sizes)
    assert not surely_bends(sizes[:3], 1 + 8 / sizes[:3])
    three = power_fit(sizes[:3], noise[:3])
    assert three.least == three.exponent == three.most
    fit = power_fit(sizes, noise / sizes)
    x = np.log(sizes)
    left = np.log(noise / sizes) - np.polyval(np.polyfit(x, np.log(noise / sizes), 2), x)
    error = np.sqrt(left @ left / 3) / np.linalg.norm(x - x.mean())
    half = scipy.stats.t.ppf(0.95, 3) * error
    assert (fit.most - fit.exponent, fit.exponent - fit.least) == pytest.approx((half, half))
    above = offset_power_fit(sizes, noise * (1 + 8 / sizes))
    assert above is not None
    assert above.least < -1 < above.most
    law = [_left_over_by(exponent, sizes, noise * (1 + 8 / sizes)) for exponent in GRID]
    inside = GRID[np.array(law) <= min(law) * (1 + scipy.stats.t.ppf(0.95, 3) ** 2 / 3)]
    assert (above.least, above.most) == pytest.approx((inside[0], inside[-1]), abs=0.011)


GRID = np.arange(-4, 4, 0.01)


def _left_over_by(exponent: float, sizes: Any, values: Any) -> float:
    """The squares that c + a·size^exponent leaves over; the logarithm for 0."""
    power = np.log(sizes) if abs(exponent) < 1e-9 else sizes**exponent
    fitted = np.polyval(np.polyfit(power, values, 1), power)
    return float(((values - fitted) ** 2).sum())


def test_a_power_competes_with_rises_and_lone_sizes():
    sizes = 2.0 ** np.arange(6, 13)
    noise = np.exp(0.02 * np.random.default_rng(0).normal(size=7))

    def departs(values: Any) -> bool:
        return surely_departs(sizes, values, power_fit(sizes, values).left_over)

    assert not departs(sizes**-0.5)
    assert not departs(noise * sizes**-0.5)
    assert departs(noise * (1 + 600 / sizes))
    assert departs(noise * np.where(sizes < 512, 1, 0.2))
    assert departs(noise / (1 + (sizes / 512) ** 2))
    assert departs(noise * sizes**-0.5 * np.where(sizes == 256, 2, 1))
    values = noise * np.where(sizes < 512, 1, 0.2)
    assert not surely_departs(sizes[:3], values[:3], np.ones(3))
    for count, told in ((4, False), (5, True)):  # two plateaus of two sizes and more
        values = noise[:count] ** 0.005 * np.where(sizes[:count] < 256, 1, 0.2)
        assert surely_departs(sizes[:count], values, power_fit(sizes[:count], values)[3]) is told
    rng = np.random.default_rng(1)
    count = sum(departs(np.exp(0.1 * rng.normal(size=7)) / sizes) for _ in range(400))
    assert count <= 20  # three tests at 1 %


@pytest.mark.parametrize("count", [4, 6])
def test_logarithms_bend_and_depart_by_tests_at_1_per_cent(count):
    """Of four sizes no rise competes, so that a parabola and a lone size are all rivals."""
    sizes = 2.0 ** np.arange(count)[::-1]
    x = np.log(sizes)
    line = np.stack([np.ones(count), x], axis=1)
    free = count - 3
    bends, departs = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        y = -x + 0.1 * rng.normal(size=count) + rng.exponential() * 0.1 * x**2
        left = [_squares(np.c_[line, more], y) for more in (x**2, *np.eye(count))]
        law = _squares(line, y)
        by_chance = [scipy.stats.f.sf((law / rival - 1) * free, 1, free) for rival in left]
        bends.append(by_chance[0] < 0.01)
        departs.append(bends[-1] or min(by_chance[1:]) * count < 0.01)
        fit = power_fit(sizes, np.exp(y))
        assert surely_bends(sizes, np.exp(y)) == bends[-1]
        if count == 4 or departs[-1]:
            assert surely_departs(sizes, np.exp(y), fit.left_over) == departs[-1]
        assert fit.apart == pytest.approx(np.exp(np.abs(fit.left_over)) - 1)
    assert 0 < sum(bends) <= sum(departs) < 150


@pytest.mark.parametrize(
    ("count", "seed", "lone"),
    [(5, 1, 2), (6, 0, 1), (8, 0, 6), (8, 2, 3), (8, 1, None), (8, 2, None), (7, 1, None)],
)
def test_a_lone_size_and_a_rise_are_told_at_1_per_cent(count, seed, lone):
    """A lone size may be any of so many; a rise has two parameters more than a line: F tests."""
    sizes = 2.0 ** np.arange(count)
    line = np.stack([np.ones(count), np.log(sizes)], axis=1)
    alone = np.eye(count)[lone or 0]
    rise = np.arange(count) >= count / 2
    shape, free, more, tests = (
        (rise, count - 4, 2, 1) if lone is None else (alone, count - 3, 1, count)
    )
    noise = 0.05 * np.random.default_rng(seed).normal(size=count)

    def by_chance(height: float) -> float:
        y = height * shape + noise
        rival = _squares(np.c_[line[:, : 3 - more], shape], y)
        law = _squares(line, y)
        return tests * scipy.stats.f.sf((law / rival - 1) * free / more, more, free) - 0.01

    height = scipy.optimize.brentq(by_chance, 0.1, 3.0)
    for share in (0.99, 1.01):
        values = np.exp(share * height * shape + noise) / sizes ** (more == 1)
        left_over = power_fit(sizes, values).left_over
        assert surely_departs(sizes, values, left_over) is (share > 1)


def _squares(shapes: Any, y: Any) -> float:
    """The squares that least squares leave over."""
    left_over = y - shapes @ np.linalg.lstsq(shapes, y, rcond=None)[0]
    return float(left_over @ left_over)


SIZES = 2.0 ** np.arange(3, 9)


@pytest.mark.parametrize(
    ("values", "exponent"),
    [
        (1 + 8 * SIZES**-0.337, -0.337),
        (300 - 2 * SIZES**0.9, 0.9),
        (1 + np.log(SIZES), 0.0),
        (1 + SIZES**-5.5, -5.5),
        (SIZES**5.5, 5.5),
        (0.01 + SIZES**-0.5, -0.5),
        (np.ones(6), None),
        (1e6 + 1e-7 * (SIZES > 32), None),  # all the same but for rounding
        (np.exp(SIZES / 20), None),
        (1 + np.exp(-2 * SIZES), None),
        (SIZES**6.05, None),
        (1 + 1e4 * SIZES**-6.05, None),
    ],
)
def test_a_power_above_a_constant_is_found_to_the_last_digits(values, exponent):
    for order in (slice(None), slice(None, None, -1)):
        fit = offset_power_fit(SIZES[order], values[order])
        assert (None if fit is None else fit.exponent) == pytest.approx(exponent, abs=1e-8)
        if fit is not None:
            assert fit.left_over == pytest.approx(np.zeros(6), abs=1e-5)
            assert fit.least - 1e-9 <= fit.exponent <= fit.most + 1e-9
            assert fit.most - fit.least <= 0.0101


def test_a_curve_that_is_not_above_0_leaves_over_no_logarithm():
    fit = offset_power_fit(SIZES, np.array([0.01, 0.01, 0.01, 3.0, 3.1, 3.2]))
    assert fit is not None
    assert np.isnan(fit.left_over).any()
    assert np.isfinite(fit.left_over).any()
    assert PowerFit(1.0, 1.0, 1.0, np.log([2.0, 0.5])).apart == pytest.approx([1, 1])


def test_a_trend_is_that_of_all_sizes_but_one_and_beside_a_step():
    order = np.array([3, 0, 5, 1, 4, 2])
    x = np.log(SIZES)
    bent = x**2
    without = [float(np.polyfit(x[part], bent[part], 1)[0]) for part in (slice(1, 6), slice(5))]
    assert slopes_without_an_end(SIZES[order], np.exp(bent)[order]) == pytest.approx(without)
    assert slopes_without_an_end(SIZES, np.full(6, 7.0)) == [0, 0]
    # steps of four fifths of all, and of less
    for height, place, slopes in (
        (3.1, 2, [0.1, 0.1]),  # 3.3 of 4.1
        (2.9, 2, []),
        (3.1, 1, [0.1]),
        (-3.1, 2, [0.1, 0.1]),
        (-0.9, 2, []),  # it falls where all rises
    ):
        trend = 2 + 0.1 * (x - x[0])
        step = height * (trend[-1] - 2) * (np.arange(6) > place)
        found = slopes_beside_a_step(SIZES[order], np.exp(trend + step)[order])
        assert found == pytest.approx(slopes)
    assert slopes_beside_a_step(SIZES[:5], np.exp(9.0 * (np.arange(5) > 1))) == []
    assert slopes_beside_a_step(SIZES, np.ones(6)) == []


def test_a_decay_over_many_orders_of_magnitude_is_fitted_without_a_warning():
    t = np.linspace(0.5, 1, 30)
    for course in (10.0 ** (-600 * (t - 0.5)), 10.0 ** (-300 * t), np.full(30, 1e-300)):
        found = best_decay(1000 * t, course, lambda all_: np.isinf(all_.exponents))
        assert found is not None
        assert math.isfinite(found.misfit.size)


# --- how a course was measured ------------------------------------------------------------------


def test_a_touch_of_noise_is_no_passage():
    """A course that rests at 0.5 touches 0.6 for three observations, and passes it at step 150."""
    steps = tuple(range(200))
    values = np.where(np.arange(200) < 150, 0.5, 0.9)
    values[40:43] = 0.7
    passage, reached = first_passage(steps, values, 0.6)
    assert (passage.before, passage.after, reached) == (149.0, 150.0, True)


def test_a_course_that_falls_back_late_has_passed():
    values = np.where(np.arange(200) < 50, 0.5, 0.9)
    values[170:] = 0.4
    assert first_passage(tuple(range(200)), values, 0.6)[0].after == 50.0


FALLING = 2.0 * 0.9 ** np.arange(40)


@pytest.mark.parametrize(
    ("first", "rest", "expected"),
    [
        (2.2, FALLING, Start.ALIKE),
        (1_000.0, FALLING, Start.APART),  # it may have fallen so far
        (-3.0, FALLING, Start.ARTEFACT),  # it falls, and has not come from below
        (0.0, FALLING, Start.ARTEFACT),
        (0.0, FALLING[::-1], Start.ALIKE),  # it grows from 0
        (20.0, FALLING - 1.0 + 18.0 * 0.1 ** np.arange(40), Start.ALIKE),  # a decay that slows down
        (5.0, np.full(40, 2.0), Start.ALIKE),
        (5.0, [2.0, 1.9, 1.8, 1.7], Start.ALIKE),  # too few to tell
        (5.0, [2.0, 1.9, 1.8, 1.7, 1.6], Start.APART),
        # all others turn by half of what they range over, or by less
        (-3.0, [2.0, 1.5, 1.0, *[1.5] * 9], Start.ARTEFACT),
        (-3.0, [2.0, 1.5, 1.0, *[1.51] * 9], Start.APART),
        (-3.0, [2.0, 1.5, 1.0, *[1.8] * 9, 1.5, 1.5], Start.ARTEFACT),  # a median of three
        (-3.0, [2.0, 1.5, 1.0, *[1.8] * 37, 1.5, 1.5], Start.APART),  # of four
        # it goes on with a tenth of its first move, or with less
        (20.0, [2.0, 0.19, *[1.0] * 9], Start.ALIKE),
        (20.0, [2.0, 0.21, *[1.0] * 9], Start.APART),
        # it lies farther from the others than they do from each other, or no farther
        (3.1, [2.0, 2.0, 1.0, *[2.0] * 9], Start.APART),
        (2.9, [2.0, 2.0, 1.0, *[2.0] * 9], Start.ALIKE),
        (-0.1, [2.0, 2.0, 1.0, *[1.5] * 9], Start.ARTEFACT),
        (0.1, [2.0, 2.0, 1.0, *[1.5] * 9], Start.ALIKE),
    ],
)
def test_how_the_first_observation_lies_to_all_others(first, rest, expected):
    assert start_of(np.array([first, *rest])) is expected


def test_laws_of_unlike_lengths_are_not_all_kept():
    def kept(lengths: range) -> int:
        tracemalloc.start()
        for length in lengths:
            steps = tuple(range(1, length + 1))
            misfits(steps, np.log(np.array(steps)), Law(0.0, 0.1))
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return held

    assert kept(range(300, 310)) < 1.5 * kept(range(310, 311))
