"""Closed forms, constructed solutions and baselines of ahn2023."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from papers.ahn2023_checks import Array, close, moments, problem, same_law
from reproaudit.lab import generator
from reproaudit.papers.ahn2023 import baselines, constructed, minibatches, task
from reproaudit.papers.ahn2023.fast import kernel, recursion
from reproaudit.papers.ahn2023.fast.prompts import pack

# Closed forms, constructed solutions and baselines


@pytest.fixture(scope="module")
def covariance() -> task.Covariance:
    return task.draw_covariance(generator(0, "covariance"))


@pytest.fixture(scope="module")
def selection(covariance: task.Covariance) -> task.Prompts:
    return task.draw_prompts(covariance, 3000, 20, seed=0, purpose="selection", dtype=np.float64)


@pytest.fixture(scope="module")
def test_prompts(covariance: task.Covariance) -> task.Prompts:
    return task.draw_prompts(covariance, 20000, 20, seed=0, purpose="test", dtype=np.float64)


def spectra(prompts: task.Prompts) -> tuple[constructed.Spectrum, constructed.Spectrum]:
    S, sigma = moments(prompts.x), prompts.covariance.matrix
    return constructed.whitened_spectrum(S, sigma), constructed.plain_spectrum(S, sigma)


def test_one_layer_loss_agrees_with_sampled_prompts(
    covariance: task.Covariance, test_prompts: task.Prompts
) -> None:
    A = constructed.one_layer_optimum(covariance.matrix, 20)[0]
    A = A + 0.2 * np.random.default_rng(0).standard_normal((5, 5))
    S = moments(test_prompts.x)
    b = test_prompts.w + np.einsum("ij,bj->bi", A.T, np.einsum("bij,bj->bi", S, test_prompts.w))
    errors = np.sum(b * test_prompts.query, axis=1) ** 2
    same_law(errors, constructed.one_layer_loss(A, covariance.matrix, 20))
    close(kernel.loss_and_gradient(test_prompts.minibatch(), A[None])[0], errors.mean(), 1e-10)


def test_one_layer_loss_agrees_with_sampled_prompts_for_other_weights(
    covariance: task.Covariance,
) -> None:
    identity = covariance.with_identity_weights
    prompts = task.draw_prompts(identity, 20_000, 20, seed=3, purpose="test", dtype=np.float64)
    same_law(prompts.w[:, :, None] * prompts.w[:, None], np.eye(5)[None])
    A = constructed.printed_optimum(covariance.matrix, 20)[0]
    A = A + 0.2 * np.random.default_rng(0).standard_normal((5, 5))
    S = moments(prompts.x)
    b = prompts.w + np.einsum("ij,bj->bi", A.T, np.einsum("bij,bj->bi", S, prompts.w))
    errors = np.sum(b * prompts.query, axis=1) ** 2
    same_law(errors, constructed.one_layer_loss(A, covariance.matrix, 20, np.eye(5)))


@pytest.mark.parametrize(("n", "d"), [(20, 5), (2, 5)])
def test_the_printed_optimum_minimises_for_weights_of_the_identity(n: int, d: int) -> None:
    rng = np.random.default_rng(n)
    root = rng.standard_normal((d, d))
    sigma = root @ root.T + np.eye(d)
    best = constructed.printed_optimum(sigma, n)[0]
    least = constructed.one_layer_loss(best, sigma, n, np.eye(d))
    for _ in range(20):
        away = best + 1e-3 * rng.standard_normal((d, d))
        assert constructed.one_layer_loss(away, sigma, n, np.eye(d)) > least


@pytest.mark.parametrize(("n", "d"), [(20, 5), (2, 5), (7, 3)])
def test_one_layer_optimum_minimises(n: int, d: int) -> None:
    rng = np.random.default_rng(n)
    root = rng.standard_normal((d, d))
    sigma = root @ root.T + np.eye(d)

    def loss(flat: Array) -> float:
        return constructed.one_layer_loss(flat.reshape(d, d), sigma, n)

    found = minimize(
        loss,
        0.01 * rng.standard_normal(d * d),
        method="BFGS",
        options={"gtol": 1e-8},
    )
    best = constructed.one_layer_optimum(sigma, n)[0]
    np.testing.assert_allclose(found.x.reshape(d, d), best, atol=1e-5)
    np.testing.assert_allclose(found.fun, constructed.one_layer_minimum(n, d), rtol=1e-9)
    np.testing.assert_allclose(
        constructed.one_layer_loss(best, sigma, n), constructed.one_layer_minimum(n, d), rtol=1e-12
    )


def test_the_papers_numbers_for_one_layer() -> None:
    assert constructed.one_layer_scale(20, 5) == 20 / 26
    assert constructed.one_layer_minimum(20, 5) == 30 / 26


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_a_model_with_b_zero_is_preconditioned_descent(
    layers: int, covariance: task.Covariance, test_prompts: task.Prompts
) -> None:
    steps = np.linspace(0.3, 1.2, layers)
    A, B = constructed.preconditioned_descent(covariance.matrix, steps)
    S, w, query = moments(test_prompts.x), test_prompts.w, test_prompts.query
    expected = baselines.descent_loss(S, w, query, steps, covariance.inverse)
    assert not np.any(B)
    close(kernel.loss_and_gradient(pack(S, w, query), A)[0], expected, 1e-10)


@pytest.mark.parametrize("plain_descent", [False, True], ids=["preconditioned", "plain"])
def test_expected_loss_agrees_with_sampled_weights_and_queries(
    plain_descent: bool, covariance: task.Covariance, test_prompts: task.Prompts
) -> None:
    steps = [0.4, 0.9]
    spectrum = spectra(test_prompts)[plain_descent]
    preconditioner = None if plain_descent else covariance.inverse
    b = baselines.descent_residuals(moments(test_prompts.x), test_prompts.w, steps, preconditioner)
    same_law(np.sum(b * test_prompts.query, axis=1) ** 2, spectrum.descent_loss(steps)[0])


@pytest.mark.parametrize("plain_descent", [False, True], ids=["preconditioned", "plain"])
def test_descent_gradient_and_best_steps(plain_descent: bool, selection: task.Prompts) -> None:
    spectrum = spectra(selection)[plain_descent]
    steps, nudge = np.array([0.3, 0.7, 1.1]), 1e-6 * np.eye(3)
    differences = [
        (spectrum.descent_loss(steps + e)[0] - spectrum.descent_loss(steps - e)[0]) / 2e-6
        for e in nudge
    ]
    np.testing.assert_allclose(spectrum.descent_loss(steps)[1], differences, rtol=1e-6)
    losses = []
    for layers in (1, 2, 3, 4):
        constant = constructed.best_constant_step(spectrum, layers)
        equal = spectrum.descent_loss([constant] * layers)[0]
        for off in (0.98, 1.02):
            assert equal < spectrum.descent_loss([constant * off] * layers)[0]
        each = spectrum.descent_loss(constructed.best_steps(spectrum, layers))[0]
        assert each < equal if layers > 1 else each == equal
        losses.append(each)
    assert losses == sorted(losses, reverse=True)


def test_plain_and_preconditioned_are_one_for_isotropic_inputs() -> None:
    isotropic = task.isotropic(4)
    prompts = task.draw_prompts(isotropic, 200, 9, seed=0, purpose="x", dtype=np.float64)
    whitened, raw = spectra(prompts)
    close(raw.descent_loss([0.4, 0.8])[0], whitened.descent_loss([0.4, 0.8])[0], 1e-10)


def test_corrected_descent_is_exactly_the_recursion(selection: task.Prompts) -> None:
    """Summed over a basis of whitened weights, the model's residual is the polynomial's loss."""
    spectrum, covariance = spectra(selection)[0], selection.covariance
    found = constructed.best_corrected_descent(spectrum.condensed(14), 3)
    A, B = (torch.from_numpy(matrix) for matrix in found.matrices(covariance.matrix))
    S = torch.from_numpy(moments(selection.x))
    total = 0.0
    for column in covariance.dual.T:
        w = torch.from_numpy(np.tile(column, (len(S), 1)))
        b = recursion.residual_weights(S, w, A, B).numpy()
        total += np.mean(np.sum((b @ covariance.root) ** 2, axis=1))
    close(total, found.expected_loss, 1e-8)


def test_corrected_loss_is_the_mean_over_all_eigenvalues(selection: task.Prompts) -> None:
    """The Gauss rule stands for every eigenvalue, and the gradient is the loss's."""
    eigenvalues = spectra(selection)[0].eigenvalues
    scalars = np.array([0.7, 1.9, 6.0, 12.0, 0.3, 0.5, 0.4])
    b = c = np.ones_like(eigenvalues)
    for step, correction in zip(scalars[:4], [*scalars[4:], 0.0], strict=True):
        b, c = (
            b * (1.0 - step * c**2 * eigenvalues),
            c * (1.0 - step * correction * c**2 * eigenvalues),
        )
    nodes, weights = constructed.gauss_rule(eigenvalues.ravel(), 41)
    weights = weights * eigenvalues.shape[1]
    loss, gradient = constructed.corrected_loss(scalars, nodes, weights, 4)
    close(loss, np.mean(np.sum(b**2, axis=1)), 1e-10)
    nudges = 1e-6 * np.eye(7)
    differences = [
        constructed.corrected_loss(scalars + e, nodes, weights, 4)[0]
        - constructed.corrected_loss(scalars - e, nodes, weights, 4)[0]
        for e in nudges
    ]
    np.testing.assert_allclose(gradient, np.array(differences) / 2e-6, rtol=1e-5)


@pytest.mark.parametrize("n", [2, 5, 20])
def test_the_law_of_moments_has_the_moments_of_wishart_matrices(n: int) -> None:
    """E tr S = d, E tr S² = d (1 + (d + 1)/n), and the samples' own mean of a loss."""
    d = 5
    shapes, sample = (
        minibatches.draw_plain(
            task.isotropic(d), batch, n, minibatches.Stream.of(3, purpose, 0)
        ).unpacked()[0]
        for purpose, batch in (("shapes", 4000), ("sample", 40_000))
    )
    law = constructed.law_of_moments(shapes, n, constructed.nodes_for(2))
    close(law.expected_loss(np.sqrt(law.eigenvalues)), d, 1e-10)
    close(law.expected_loss(law.eigenvalues), d * (1 + (d + 1) / n), 0.02)
    factors = 1.0 - 0.4 * np.linalg.eigvalsh(sample)
    same_law(np.sum(factors**4, axis=1), law.expected_loss((1.0 - 0.4 * law.eigenvalues) ** 2))


@pytest.mark.parametrize("kind", [0, 1], ids=["preconditioned", "plain"])
def test_a_spectrum_condensed_has_the_same_losses(kind: int, selection: task.Prompts) -> None:
    spectrum = spectra(selection)[kind]
    rule = spectrum.condensed(4)
    assert rule.eigenvalues.shape == (1, 4)
    close(rule.mean, spectrum.mean, 1e-10)
    for steps in ([0.9], [0.3, 1.6], [0.3, 0.7, 1.1]):
        (loss, gradient), (expected, slopes) = (one.descent_loss(steps) for one in (rule, spectrum))
        close(loss, expected, 1e-10)
        close(gradient, slopes, 1e-9)
    four = [0.3, 0.7, 1.1, 0.5]  # of degree 4, for which five nodes are needed
    assert rule.descent_loss(four)[0] != pytest.approx(spectrum.descent_loss(four)[0], rel=1e-6)


def test_corrected_descent_needs_a_condensed_spectrum(selection: task.Prompts) -> None:
    with pytest.raises(ValueError, match="condensed"):
        constructed.best_corrected_descent(spectra(selection)[0], 2)


def test_the_lagrange_basis_rebuilds_a_polynomial_from_its_values_at_the_nodes() -> None:
    nodes, points = np.array([0.2, 1.0, 2.5]), np.linspace(-1.0, 3.0, 8).reshape(2, 4)
    basis = constructed.lagrange_basis(nodes, points)
    assert basis.shape == (2, 4, 3)
    close(basis @ (nodes**2 - nodes), points**2 - points, 1e-12)
    np.testing.assert_array_equal(constructed.lagrange_basis(nodes[:1], points), np.ones((2, 4, 1)))


@given(
    points=st.lists(st.floats(0.0, 4.0), min_size=1, max_size=40),
    count=st.integers(1, 8),
)
def test_a_gauss_rule_integrates_polynomials_exactly(points: list[float], count: int) -> None:
    values = np.array(points)
    nodes, weights = constructed.gauss_rule(values, count)
    assert len(nodes) <= min(count, len(set(points)))
    assert np.all(weights >= 0.0)
    for degree in range(2 * count):
        exact = np.mean((values - 2.0) ** degree)
        np.testing.assert_allclose(
            weights @ (nodes - 2.0) ** degree, exact, atol=1e-9 * 2.0**degree
        )


def test_corrected_descent_beats_descent_from_two_layers_on(selection: task.Prompts) -> None:
    spectrum = spectra(selection)[0]
    for layers in (1, 2, 3):
        descent = spectrum.descent_loss(constructed.best_steps(spectrum, layers))[0]
        rule = spectrum.condensed(constructed.nodes_for(layers))
        corrected = constructed.best_corrected_descent(rule, layers).expected_loss
        assert corrected < 0.5 * descent if layers > 1 else corrected == pytest.approx(descent)


def test_the_released_baseline_is_weaker_than_the_fair_one(
    selection: task.Prompts, test_prompts: task.Prompts
) -> None:
    fair = baselines.FairDescent(test_prompts, selection, 4)
    grid = [0.01, 0.02, 0.03, 0.04, 0.05]
    released = baselines.ReleasedDescent(test_prompts, selection, grid, preconditioned=True)
    for layers in (1, 4):
        assert fair.losses(layers)[2] < released.loss(layers)


@pytest.mark.parametrize("preconditioned", [False, True])
def test_the_released_baseline_leaves_a_pair_out_and_takes_a_step_of_the_grid(
    selection: task.Prompts, test_prompts: task.Prompts, preconditioned: bool
) -> None:
    """The steps of the grid are on the sum over the pairs."""
    grid, (n, d) = [0.015, 0.025, 0.035], selection.z.shape[1:]

    def loss(prompts: task.Prompts, step: float) -> float:
        """Two steps, pair by pair."""
        b = np.array(prompts.w)
        for _ in range(2):
            used = prompts.x[:, : n - 1]
            errors = np.einsum("bid,bd->bi", used, b)
            gradient = np.einsum("bi,bid->bd", errors, used)
            b = b - step * gradient @ (prompts.covariance.inverse if preconditioned else np.eye(d))
        assert b.shape == (len(prompts.w), d)
        return float(np.mean(np.sum(b * prompts.query, axis=1) ** 2))

    best = min(grid, key=lambda step: loss(selection, step))
    released = baselines.ReleasedDescent(test_prompts, selection, grid, preconditioned)
    close(released.loss(2), loss(test_prompts, best), 1e-10)


def test_released_least_squares_leaves_a_pair_out_and_has_the_least_norm_when_whitened(
    covariance: task.Covariance,
) -> None:
    few = task.draw_prompts(covariance, 50, 4, seed=0, purpose="few", dtype=np.float64)
    errors = []
    for x, w, query in zip(few.x[:, :3], few.w, few.query, strict=True):
        # least ‖Rᵀ u‖ among the u that fit: Σ⁻¹ xᵀ (x Σ⁻¹ xᵀ)⁻¹ y
        fitted = covariance.inverse @ x.T @ np.linalg.solve(x @ covariance.inverse @ x.T, x @ w)
        errors.append(((w - fitted) @ query) ** 2)
    assert baselines.released_least_squares(few) == pytest.approx(np.mean(errors), rel=1e-8)
    assert baselines.released_least_squares(few) != pytest.approx(baselines.least_squares(few))


def test_fair_descent_takes_the_best_steps_of_the_whole_spectrum(
    selection: task.Prompts, test_prompts: task.Prompts
) -> None:
    fair = baselines.FairDescent(test_prompts, selection, 4)
    S, w, query = test_prompts.moment, test_prompts.w, test_prompts.query
    for layers in (1, 2, 4):
        whitened, plain = spectra(selection)
        expected = []
        for spectrum, preconditioner in (
            (plain, None),
            (whitened, selection.covariance.inverse),
        ):
            equal = [constructed.best_constant_step(spectrum, layers)] * layers
            for steps in (equal, constructed.best_steps(spectrum, layers)):
                expected.append(baselines.descent_loss(S, w, query, steps, preconditioner))
        np.testing.assert_allclose(fair.losses(layers), expected, rtol=1e-6)


def test_a_grid_is_searched_whole_and_past_nan() -> None:
    losses = {0.1: 3.0, 0.2: np.nan, 0.3: 1.0, 0.4: 1.0}
    assert baselines.best_on_grid(losses.__getitem__, list(losses)) == 0.3
    with pytest.raises(ValueError, match="no step"):
        baselines.best_on_grid(lambda _step: np.nan, [0.1, 0.2])
    with pytest.raises(ValueError, match="pairs"):
        baselines.moments_of_pairs(np.zeros((2, 3, 1)), 4, 4)


def test_least_squares_recovers_w_or_its_visible_part() -> None:
    x, w, query, _, _ = problem(1, 5, 8, batch=30)
    assert baselines.sampled_loss(baselines.least_squares_residuals(x, w), query) < 1e-20
    few = x[:, :3]
    left = baselines.least_squares_residuals(few, w)
    close(np.einsum("bni,bi->bn", few, left) + 1.0, np.ones((30, 3)), 1e-10)
    visible = w - left
    close(np.sum(visible * left, axis=1) + 1.0, np.ones(30), 1e-10)
    assert np.mean(np.sum(left**2, axis=1)) > 0.5
