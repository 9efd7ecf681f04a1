"""The recursive fits of shumailov2024 against closed forms that the module does not have."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from reproaudit.lab import AuditSettings
from reproaudit.papers import shumailov2024 as paper

GAUSSIAN = {"sizes": (20, 100), "fits": (1, 2, 5), "generations": 5, "chains": 20_000}
REGRESSION = {"samples": 40, "dimensions": 4, "noise": 0.5, "fits": (1, 2, 6), "chains": 4_000}


def gaussian(**changes: Any) -> dict[str, Any]:
    settings = {**GAUSSIAN, "estimator": "unbiased", "kept": "none", **changes}
    return paper.gaussian(AuditSettings(**settings), 101)


@pytest.mark.parametrize("estimator", ["unbiased", "maximum likelihood"])
def test_replaced_gaussians_follow_the_exact_laws(estimator):
    run = gaussian(estimator=estimator)
    assert_allclose(run["fall"], run["predicted_fall"], rtol=0.15)  # three standard errors
    assert_allclose(run["distance"], run["predicted_distance"], rtol=0.06)
    assert_allclose(run["variance"].values[-1], run["predicted_variance"].values[-1], rtol=0.03)


def test_the_laws_are_those_of_drawn_samples():
    """The first fit to samples, drawn one by one."""
    samples = np.random.default_rng(0).standard_normal((100_000, 20))
    for lost in (0, 1):
        variance = samples.var(axis=1, ddof=lost)
        size = np.array([[20.0]])
        assert_allclose(paper.log_variance_rate(size, lost), np.log(variance).mean(), atol=0.004)
        distance = (samples.mean(axis=1) ** 2 + (np.sqrt(variance) - 1) ** 2).mean()
        assert_allclose(paper.expected_distance(size, np.array([1]), lost), distance, rtol=0.02)


def test_equation_6_is_the_first_order_of_the_distance():
    exact = paper.expected_distance(np.array([[10_000.0]]), np.array([1, 11]), 1)
    assert_allclose(exact, [[1.5e-4, 16.5e-4]], rtol=2e-3)


def test_accumulated_gaussians_are_those_of_all_drawn_samples():
    """Each fit to real data and all samples so far, drawn one by one and kept."""
    draw = np.random.default_rng(1)
    data = draw.standard_normal((20_000, 20))
    for _ in range(4):
        mean, deviation = data.mean(axis=1), data.std(axis=1, ddof=1)
        fresh = mean[:, None] + deviation[:, None] * draw.standard_normal((len(data), 20))
        data = np.concatenate([data, fresh], axis=1)
    mean, variance = data.mean(axis=1), data.var(axis=1, ddof=1)
    distance = (mean**2 + (np.sqrt(variance) - 1) ** 2).mean()
    run = gaussian(kept="all")
    assert_allclose(run["variance"].values[-1][0], np.median(variance), rtol=0.01)
    assert_allclose(run["distance"][0, -1], distance, rtol=0.04)


@pytest.mark.parametrize("kept", ["none", "all", "multiple", "fresh", "real"])
def test_regressions_have_the_expected_errors(kept):
    settings = AuditSettings(**REGRESSION, kept=kept)
    errors = paper._errors(settings, kept, np.random.default_rng(2))
    first = 0.5 * 4 / (40 - 4 - 1)
    assert_allclose(errors, first * paper.expected_errors(kept, 6), rtol=0.08)


def test_diversity_is_lost_by_drift_alone():
    drift = {"states": 20, "exponent": 1.0, "samples": 30, "generations": 20, "chains": 4_000}
    run = paper.tails(AuditSettings(**drift, kept="none"), 102)
    assert_allclose(run["diversity"], run["predicted_diversity"], atol=0.01)
    pooled = paper.tails(AuditSettings(**drift, kept="all"), 102)
    kept = np.prod([1 - 1 / (30 * t**2) for t in range(1, 22)])
    assert_allclose(pooled["diversity"], kept, atol=0.005)
    assert (pooled["present"].values == 1).all()
