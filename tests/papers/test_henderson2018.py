"""henderson2018: tests of significance, splits and the cart against closed forms."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import nct
from scipy.stats import t as student_law

from reproaudit.lab import Array, AuditSettings, generator
from reproaudit.papers import henderson2018 as paper

TESTING: dict[str, Any] = {
    "level": 0.05,
    "resamples": 2000,
    "interval": "pivotal",
    "permutations": 2000,
    "ties": "ignored",
}


def rng() -> np.random.Generator:
    return generator(0, "test")


def every_order(size: int) -> tuple[Array, Array]:
    """All ways in which two groups of a size can share the ranks."""
    ranks = set(range(2 * size))
    firsts = list(combinations(sorted(ranks), size))
    return np.array(firsts, dtype=float), np.array([sorted(ranks - set(one)) for one in firsts])


@pytest.mark.parametrize(("size", "orders"), [(2, 0), (3, 0), (5, 8)])
def test_the_rank_sum_test_rejects_as_many_orders_as_counting_says(size, orders):
    settings = AuditSettings(**TESTING)
    assert paper.rejects("rank_sum", *every_order(size), settings, rng()).sum() == orders


@pytest.mark.parametrize("interval", ["pivotal", "percentile"])
def test_the_bootstrap_of_two_runs_rejects_where_the_groups_do_not_interlock(interval):
    a, b = rng().standard_normal((2, 600, 2))
    settings = AuditSettings(**{**TESTING, "interval": interval})
    apart = (a.max(axis=1) < b.min(axis=1)) | (b.max(axis=1) < a.min(axis=1))
    assert np.array_equal(paper.rejects("bootstrap", a, b, settings, rng()), apart)
    assert apart.mean() == pytest.approx(1 / 3, abs=0.06)


@pytest.mark.parametrize(
    ("ties", "size", "share"),
    [("ignored", 2, 1 / 3), ("ignored", 3, 1 / 10), ("counted", 2, 0), ("counted", 3, 0)],
)
def test_the_permutation_test_rejects_by_how_it_counts_ties(ties, size, share):
    a, b = every_order(size)
    values = np.array([0, 1, 10, 100, 1000, 10000])  # no two splits have the same difference
    settings = AuditSettings(**{**TESTING, "ties": ties})
    rejected = paper.rejects("permutation", values[a.astype(int)], values[b], settings, rng())
    assert rejected.mean() == share


def test_a_t_of_nine_with_eight_degrees_of_freedom_has_another_p_than_is_printed():
    a = np.array([[-2.0, -1, 0, 1, 2]])
    b = a + 9.0916  # both variances are 2.5, so that the standard error of the difference is 1
    p = paper.student(a, b, pooled=True)
    assert p == pytest.approx(2 * student_law.sf(9.0916, 8))
    assert p == pytest.approx(1.72e-5, rel=0.01)
    assert paper.student(a, b, pooled=True, tails=1) == pytest.approx(p / 2)


@pytest.mark.parametrize(("tails", "stated"), [(1, 0.1928), (2, 0.3058)])
def test_missed_differences_follow_the_noncentral_law(tails, stated):
    spreads = np.array([1341.0, 990.0])
    squares = spreads**2 / 10
    freedom = squares.sum() ** 2 / (squares**2 / 9).sum()
    critical = student_law.isf(0.05 / tails, freedom)
    expected = nct.cdf(critical, freedom, 1382 / np.sqrt(squares.sum()))
    assert expected == pytest.approx(stated, abs=0.0001)
    settings = AuditSettings(
        first_sd=1341.0,
        second_sd=990.0,
        difference=1382.0,
        groups=("10 and 10",),
        tails=tails,
        pairs=20_000,
        level=0.05,
    )
    assert paper.measure_normals(settings, 0)["missed"] == pytest.approx(expected, abs=0.012)


def test_ten_runs_have_126_splits_of_which_the_rank_sum_test_rejects_four():
    firsts, seconds = paper.splits(5, "best")
    whole = np.sort(np.concatenate([firsts, seconds], axis=1), axis=1)
    assert len({*map(tuple, firsts), *map(tuple, seconds)}) == 2 * 126
    assert np.array_equal(whole, np.tile(np.arange(10), (126, 1)))
    returns = rng().standard_normal(10)
    rejected = paper.rejects(
        "rank_sum", returns[firsts], returns[seconds], AuditSettings(**TESTING), rng()
    )
    assert rejected.sum() == 4


def test_a_push_gives_cart_and_pole_its_force_times_speed():
    def energy(state: Array) -> Array:
        _, speed, angle, turn = state
        moving = 1.1 * speed**2 / 2 + 0.05 * speed * turn * np.cos(angle)
        return moving + 0.1 * 0.25 * 4 / 3 * turn**2 / 2 + 0.1 * 9.8 * 0.5 * np.cos(angle)

    state = rng().uniform(-1, 1, (4, 50))
    push = np.where(rng().random(50) < 0.5, 10.0, -10.0)
    flow = (paper._swing(state, push) - state) / 0.02
    gained = (energy(state + 1e-5 * flow) - energy(state - 1e-5 * flow)) / 2e-5
    assert gained == pytest.approx(push * state[1], abs=1e-6)
