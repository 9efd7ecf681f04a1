"""belkin2019: least squares of least norm against closed forms, and the readings of curves."""

import numpy as np
import pytest

from reproaudit.audit.catalog import Catalog
from reproaudit.lab import AuditSettings
from reproaudit.papers import belkin2019 as paper

AUDIT = Catalog()["belkin2019"].audit()


def settings_of(experiment: str, **others: object) -> AuditSettings:
    return AuditSettings(**{**AUDIT.values_of(experiment, "smoke"), **others})


@pytest.mark.parametrize("count", [8, 20, 60])
@pytest.mark.parametrize("scaling", ["norm", "plain"])
def test_a_fit_is_numpys_of_least_norm(count, scaling):
    s = settings_of("features", scaling=scaling)
    problem = paper.fourier_problem(s, 3, count)
    basis = paper.basis_of(s, problem, count)
    columns = problem.columns / (count**0.5 if scaling == "norm" else 1.0)
    coefficients = np.linalg.pinv(columns[problem.train]) @ problem.targets[problem.train]
    weights = basis.weights(problem.targets, 0.0)
    assert basis.scores @ weights == pytest.approx(columns @ coefficients, abs=1e-6)
    assert np.linalg.norm(weights) == pytest.approx(np.linalg.norm(coefficients))


def test_a_fit_with_a_ridge_solves_the_normal_equations():
    s = settings_of("features", scaling="plain")
    problem = paper.fourier_problem(s, 3, 30)
    x, y = problem.columns[problem.train], problem.targets[problem.train]
    basis, unseen = paper.basis_of(s, problem, 30), problem.columns[problem.test]
    smoother = unseen @ np.linalg.solve(x.T @ x + 0.5 * np.eye(30), x.T)
    fit = basis.scores[problem.test] @ basis.weights(problem.targets, 0.5)
    assert fit == pytest.approx(smoother @ y)
    effective = len(x) * (smoother**2).sum(axis=1).mean()
    assert basis.effective(0.5) == pytest.approx(effective)


@pytest.mark.parametrize("count", [10, 90])
def test_effective_parameters_at_new_isotropic_inputs_have_a_closed_form(count):
    """np/(n − p − 1) up to n − 2, and n²/(p − n − 1) from n + 2 on: they fall beyond n."""
    n, draws = 30, range(150)
    s = settings_of("features", n=n, validation=0, scaling="plain")
    bases = [
        paper.basis_of(s, paper.ordered_problem(s, seed, count), count).effective(0.0)
        for seed in draws
    ]
    expected = n * count / (n - count - 1) if count < n else n**2 / (count - n - 1)
    assert np.mean(bases) == pytest.approx(expected, rel=0.05)


def test_principal_components_of_as_many_columns_are_the_columns():
    s = settings_of("features")
    problem = paper.fourier_problem(s, 0, 40)
    narrow = paper.assess(s, paper.basis_of(s, problem, 12), problem.targets)
    assert paper.assess(s, paper.basis_of(s, problem, 12).first(12), problem.targets) == narrow
    few = paper.basis_of(s, problem, 40).first(12)
    assert paper.assess(s, few, problem.targets)[1] > 1e-3


def test_the_closed_form_of_the_risk_is_infinite_about_n_and_ends_at_the_signal():
    assert paper.closed_form(40, 38, 0.19, 1.06) == pytest.approx(1.06 * 39)
    assert paper.closed_form(40, 42, 0.21, 1.04) == pytest.approx(0.21 * 2 / 42 + 1.04 * 41)
    assert paper.closed_form(40, 10**9, 1.0, 0.25) == pytest.approx(1.25)


@pytest.mark.parametrize(("variance", "below"), [(0.9 * 159 / 200, True), (1.1 * 159 / 200, False)])
def test_all_features_beat_every_fewer_than_n_if_the_noise_is_small(variance, below):
    """The end lies below p = 0, the least of these, where σ² < b(D − n − 1)/D."""
    n, features = 40, 200
    end = paper.closed_form(n, features, 1.0, variance)
    left = [
        paper.closed_form(n, p, p / features, 1 - p / features + variance) for p in range(n - 1)
    ]
    assert (end < min(left)) is below


def test_a_bend_is_one_of_a_u_and_the_second_fall_else():
    assert paper.bend(np.array([3.0, 1.0, 2.0, 9.0])) == pytest.approx(1)
    assert paper.bend(np.array([5.0, 4.0, 1.0])) == pytest.approx(1)
    assert paper.bend(np.array([4.0, 2.0, 8.0, 1.0])) == pytest.approx(4)
    assert paper.bend(np.array([4.0, 2.0, 8.0, 4.0])) == pytest.approx(2)


def test_both_sides_of_n_may_have_a_u_each_where_all_sizes_have_none():
    effective, risk = np.array([[1.0, 2.0, 9.0, 3.0, 1.5]]), np.array([[3.0, 4.0, 9.0, 2.0, 1.0]])
    s = settings_of("features", n=10, ratios=(0.1, 0.5, 1.0, 2.0, 3.0))
    assert paper.effective_bends(s, effective, risk, 10) == pytest.approx([1])
    pooled = AuditSettings(**{**vars(s), "together": "pooled"})
    assert paper.effective_bends(pooled, effective, risk, 10) == pytest.approx([2])


@pytest.mark.parametrize("together", ["each", "pooled"])
@pytest.mark.parametrize(("peak", "bend"), [(2.0, 1.0), (1.0, 2.0)])
def test_counts_that_peak_at_2n_make_a_u_of_a_risk_that_peaks_there(together, peak, bend):
    """So the control of the U can pass, and fails for where the risk has its peak."""
    s = settings_of("features", n=10, ratios=(0.5, 1.0, 2.0, 4.0, 8.0), together=together)
    ratios = np.array([s.ratios])
    elsewhere, risk = np.minimum(ratios, 4 / ratios), np.minimum(ratios, peak**2 / ratios)
    assert paper.effective_bends(s, elsewhere, risk, 20) == pytest.approx([bend])


def test_after_a_switch_there_are_components_or_features_that_are_not_the_raw_ones():
    s = settings_of("switch", n=30)
    problem = paper.fourier_problem(s, 2, 12 + 120)
    few = paper.basis_of(s, problem, 132).first(12)
    assert paper.after_switch(s, problem, 12).scores == pytest.approx(few.scores)
    columns = AuditSettings(**{**vars(s), "taken": "columns"})
    last = paper.Problem(problem.columns[:, 120:], *list(vars(problem).values())[1:])
    expected = paper.basis_of(s, last, 12).scores
    assert paper.after_switch(columns, problem, 12).scores == pytest.approx(expected)


def test_a_user_with_all_of_mnist_has_as_many_rows():
    s = settings_of("features", n=30, validation=5, tests=7)
    assert len(paper.fourier_problem(s, 0, 4).targets) == 42


def test_noise_changes_the_targets_of_no_test_row():
    s = settings_of("features", n=200)
    problem = paper.fourier_problem(s, 1, 4)
    noisy = problem.with_noise(0.5, 1)
    changed = (noisy.targets != problem.targets).any(axis=1)
    assert changed[problem.train].mean() == pytest.approx(0.45, abs=0.1)
    assert not changed[problem.test].any()
    assert np.array_equal(problem.with_noise(0.0, 1).targets, problem.targets)
