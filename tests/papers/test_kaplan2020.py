"""kaplan2020: best sizes on fitted surfaces against their closed forms."""

import numpy as np
import pytest

from reproaudit.lab import AuditSettings
from reproaudit.papers import kaplan2020 as paper

STATED = AuditSettings(
    surface="refit",
    omega=47491.0,
    budgets=100,
    optimum="exact",
    grid=(2.9, 9.2),
    grid_sizes=20,
    token_grid=(6.0, 25.0),
    token_sizes=1000,
    isoflop_window=(17.0, 21.0),
    isoflop_budgets=5,
    isoflop_sizes=15,
    drift=1.0,
)


def with_values(**values: object) -> AuditSettings:
    return AuditSettings(**{**vars(STATED), **values})


@pytest.mark.parametrize("surface", paper.SURFACES)
def test_the_total_count_has_the_exponent_of_the_surface(surface):
    sizes = paper.best_sizes(with_values(surface=surface), "total", "total", (13.0, 21.0))
    own = paper.SURFACES[surface].exponent
    assert paper.exponent_of(*sizes, "least squares") == pytest.approx(own, abs=1e-5)
    assert paper.exponent_of(*sizes, "median") == pytest.approx(own, abs=1e-3)


@pytest.mark.parametrize("omega", [0.0, 47491.0])
def test_far_away_and_without_an_embedding_the_count_does_not_matter(omega):
    window = (13.0, 21.0) if omega == 0 else (28.0, 34.0)
    sizes = paper.best_sizes(with_values(omega=omega), "without", "without", window)
    own = paper.SURFACES["refit"].exponent
    assert paper.exponent_of(*sizes, "least squares") == pytest.approx(own, abs=1e-4)


def test_small_models_without_their_embedding_grow_by_the_limit():
    surface = paper.SURFACES["refit"]
    limit = surface.beta / (surface.beta + surface.alpha / 3)
    n = np.array([1.0e-3, 1.1e-3])
    total, slope = paper.with_embedding(n, 47491.0), 1 + 47491.0 / 3 * n ** (-2 / 3)
    bracket = total ** (1 + surface.alpha) / (n * slope)
    log_compute = np.log(6 * n) + np.log(bracket) / surface.beta
    assert float(np.diff(np.log(n))[0] / np.diff(log_compute)[0]) == pytest.approx(limit, abs=1e-3)
    assert limit == pytest.approx(0.7593, abs=1e-4)


@pytest.mark.parametrize("cost", ["without", "total"])
def test_the_exact_optimum_is_the_best_of_a_fine_grid(cost):
    window = (16.0, 20.0)
    fine = with_values(optimum="grid", grid_sizes=20_001, token_sizes=4_000_001)
    log_compute, on_grid = paper.best_sizes(fine, cost, "without", window)
    also, exact = paper.best_sizes(STATED, cost, "without", window)
    assert log_compute == pytest.approx(also)
    assert on_grid == pytest.approx(exact, abs=0.02)


def test_parabolas_on_equal_exponents_are_not_off_and_on_others_as_published():
    """The errors at ±2 and ±16 are those of Czech's figure data."""
    assert paper.isoflop(with_values(surface="symmetric"), 16.0) == pytest.approx(
        (0.5, 0.0), abs=1e-6
    )
    text = with_values(surface="text")
    assert paper.isoflop(text, 2.0)[1] == pytest.approx(-0.327, abs=1e-3)
    assert paper.isoflop(text, 16.0)[1] == pytest.approx(-5.1, abs=1e-3)
    assert paper.isoflop(with_values(surface="text", drift=3.0), 16.0)[0] != pytest.approx(
        paper.SURFACES["text"].exponent, abs=1e-3
    )


def test_the_gradient_of_the_objective_is_that_of_differences():
    rng = np.random.default_rng(0)
    data = (rng.uniform(16, 24, 30), rng.uniform(20, 28, 30), rng.uniform(0.6, 1.2, 30))
    p = np.array([6.0, 6.0, 0.5, 0.34, 0.28])
    slope = paper.objective(p, data, 2.0)[1]
    for place in range(5):
        step = np.zeros(5)
        step[place] = 1e-7
        ends = [paper.objective(p + sign * step, data, 2.0)[0] for sign in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-7 == pytest.approx(slope[place], rel=1e-4, abs=1e-9)
