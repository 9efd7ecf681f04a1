"""Closed forms, constructed solutions and baselines of ahn2023."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from papers.ahn2023_checks import Array, close, moments, same_law, unpacked
from reproaudit.lab import generator
from reproaudit.papers.ahn2023 import constructed, model, task
from reproaudit.papers.ahn2023.fast import Minibatch, draw_minibatch, loss_and_gradient

# Closed forms, constructed solutions and baselines


@pytest.fixture(scope="module")
def covariance() -> task.Covariance:
    return task.draw_covariance(generator(0, "covariance"))


@pytest.fixture(scope="module")
def selection(covariance: task.Covariance) -> task.Prompts:
    return task.draw_prompts(covariance, 500, 20, generator(0, "selection"), dtype=np.float64)


@pytest.fixture(scope="module")
def test_prompts(covariance):
    return task.draw_prompts(covariance, 5000, 20, generator(0, "test"), dtype=np.float64)


def spectra(prompts: task.Prompts) -> tuple[constructed.Spectrum, constructed.Spectrum]:
    """Of descent with and without preconditioner."""
    S, sigma = moments(prompts.x), prompts.covariance.matrix
    whiten = np.linalg.inv(np.linalg.cholesky(sigma))
    whitened = constructed.Spectrum.of(whiten @ S @ whiten.T, np.eye(len(sigma)))
    return whitened, constructed.Spectrum.of(S, sigma)


def descent_loss(spectrum: constructed.Spectrum, steps: Any) -> float:
    return float(spectrum.descent_loss(torch.tensor(np.asarray(steps, np.float64))))


def optimum(sigma: Array, n: int) -> Array:
    """A_0* = −c Σ⁻¹ with c = n/(n + d + 1), where w ~ N(0, Σ⁻¹)."""
    return np.asarray(-n / (n + len(sigma) + 1) * np.linalg.inv(sigma))


def test_one_layer_loss_agrees_with_sampled_prompts(covariance, test_prompts):
    A = optimum(covariance.matrix, 20)
    A = A + 0.2 * np.random.default_rng(0).standard_normal((5, 5))
    S = moments(test_prompts.x)
    b = test_prompts.w + np.einsum("ij,bj->bi", A.T, np.einsum("bij,bj->bi", S, test_prompts.w))
    errors = np.sum(b * test_prompts.query, axis=1) ** 2
    same_law(errors, constructed.one_layer_loss(A, covariance.matrix, 20))
    close(loss_and_gradient(Minibatch.of_prompts(test_prompts), A[None])[0], errors.mean(), 1e-10)


def test_one_layer_loss_agrees_with_sampled_prompts_for_other_weights(covariance):
    identity = task.Covariance(covariance.root, np.eye(5))
    prompts = task.draw_prompts(identity, 20_000, 20, generator(3, "test"), dtype=np.float64)
    same_law(prompts.w[:, :, None] * prompts.w[:, None], np.eye(5)[None])
    A = constructed.printed_optimum(covariance.matrix, 20)[0]
    A = A + 0.2 * np.random.default_rng(0).standard_normal((5, 5))
    S = moments(prompts.x)
    b = prompts.w + np.einsum("ij,bj->bi", A.T, np.einsum("bij,bj->bi", S, prompts.w))
    errors = np.sum(b * prompts.query, axis=1) ** 2
    same_law(errors, constructed.one_layer_loss(A, covariance.matrix, 20, np.eye(5)))


@pytest.mark.parametrize(("n", "d"), [(20, 5), (2, 5)])
def test_the_printed_optimum_minimises_for_weights_of_the_identity(n, d):
    rng = np.random.default_rng(n)
    root = rng.standard_normal((d, d))
    sigma = root @ root.T + np.eye(d)
    best = constructed.printed_optimum(sigma, n)[0]
    least = constructed.one_layer_loss(best, sigma, n, np.eye(d))
    for _ in range(20):
        away = best + 1e-3 * rng.standard_normal((d, d))
        assert constructed.one_layer_loss(away, sigma, n, np.eye(d)) > least


@pytest.mark.parametrize(("n", "d"), [(20, 5), (2, 5), (7, 3)])
def test_one_layer_optimum_minimises(n, d):
    rng = np.random.default_rng(n)
    root = rng.standard_normal((d, d))
    sigma = root @ root.T + np.eye(d)

    def loss(flat: Array) -> float:
        return constructed.one_layer_loss(flat.reshape(d, d), sigma, n)

    found = minimize(loss, 0.01 * rng.standard_normal(d * d), method="BFGS", options={"gtol": 1e-8})
    best = optimum(sigma, n)
    np.testing.assert_allclose(found.x.reshape(d, d), best, atol=1e-5)
    np.testing.assert_allclose(found.fun, d * (d + 1) / (n + d + 1), rtol=1e-9)
    np.testing.assert_allclose(
        constructed.one_layer_loss(best, sigma, n), d * (d + 1) / (n + d + 1), rtol=1e-12
    )


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_a_model_with_b_zero_is_preconditioned_descent(layers, covariance, test_prompts):
    steps = np.linspace(0.3, 1.2, layers)
    A, B = constructed.matrices_of(covariance.matrix, steps, np.zeros(layers))
    S, w, query = moments(test_prompts.x), test_prompts.w, test_prompts.query
    expected = constructed.descent_loss(S, w, query, steps, covariance.inverse)
    assert not np.any(B)
    close(loss_and_gradient(Minibatch.of(S, w, query), A)[0], expected, 1e-10)


@pytest.mark.parametrize("plain_descent", [False, True], ids=["preconditioned", "plain"])
def test_expected_loss_agrees_with_sampled_weights_and_queries(
    plain_descent, covariance, test_prompts
):
    steps = [0.4, 0.9]
    spectrum = spectra(test_prompts)[plain_descent]
    preconditioner = None if plain_descent else covariance.inverse
    S, b = moments(test_prompts.x), test_prompts.w
    for step in steps:
        gradient = np.einsum("bij,bj->bi", S, b)
        b = b - step * (gradient if preconditioner is None else gradient @ preconditioner)
    same_law(np.sum(b * test_prompts.query, axis=1) ** 2, descent_loss(spectrum, steps))


@pytest.mark.parametrize("plain_descent", [False, True], ids=["preconditioned", "plain"])
def test_best_steps_are_least(plain_descent, selection):
    spectrum = spectra(selection)[plain_descent]
    losses = []
    for layers in (1, 2, 3, 4):
        constant = constructed.best_constant_step(spectrum, layers)
        equal = descent_loss(spectrum, [constant] * layers)
        for off in (0.98, 1.02):
            assert equal < descent_loss(spectrum, [constant * off] * layers)
        best = constructed.best_steps(spectrum, layers)
        each = descent_loss(spectrum, best)
        for nudge in 0.02 * np.eye(layers):
            assert each < descent_loss(spectrum, best + nudge)
            assert each < descent_loss(spectrum, best - nudge)
        assert each < equal if layers > 1 else each == equal
        losses.append(each)
    assert losses == sorted(losses, reverse=True)


def test_corrected_descent_is_exactly_the_model(selection):
    """Summed over bases of whitened weights and queries, the model's loss is the polynomial's."""
    spectrum, covariance = spectra(selection)[0], selection.covariance
    steps, corrections = constructed.best_corrected_descent(spectrum, 3)
    A, B = (
        torch.from_numpy(m) for m in constructed.matrices_of(covariance.matrix, steps, corrections)
    )
    x, total = torch.from_numpy(selection.x), 0.0
    for w in covariance.weight_root.T:
        for query in covariance.root.T:
            of_all = (torch.from_numpy(np.tile(one, (len(x), 1))) for one in (w, query))
            total += float(model.in_context_loss(x, *of_all, A, B))
    scalars = torch.from_numpy(np.append(steps, corrections[:-1]))
    close(total, float(spectrum.corrected_loss(scalars)), 1e-8)


@pytest.mark.parametrize("n", [2, 5, 20])
def test_the_law_of_moments_has_the_moments_of_wishart_matrices(n):
    """E tr S = d, E tr S² = d (1 + (d + 1)/n), and the samples' own mean of a loss."""
    d = 5
    law = constructed.law_of_moments(np.random.default_rng(n), 20_000, n, d, layers=2)
    drawn = draw_minibatch(task.Covariance(np.eye(d)), 40_000, n, generator(3, "sample"))
    eigenvalues, chances = law.eigenvalues.numpy()[:, 0], law.weights.numpy()[:, 0, 0]
    assert chances.sum() == pytest.approx(d)
    close(chances @ eigenvalues, d, 1e-10)
    close(chances @ eigenvalues**2, d * (1 + (d + 1) / n), 0.02)
    factors = 1.0 - 0.4 * np.linalg.eigvalsh(unpacked(drawn)[0].astype(np.float64))
    same_law(np.sum(factors**4, axis=1), descent_loss(law, [0.4, 0.4]))


def test_corrected_descent_beats_descent_from_two_layers_on(selection):
    spectrum = spectra(selection)[0]
    for layers in (1, 2, 3):
        descent = descent_loss(spectrum, constructed.best_steps(spectrum, layers))
        steps, corrections = constructed.best_corrected_descent(spectrum, layers)
        scalars = torch.from_numpy(np.append(steps, corrections[:-1]))
        corrected = float(spectrum.corrected_loss(scalars))
        assert corrected < 0.5 * descent if layers > 1 else corrected == pytest.approx(descent)


def test_fair_descent_takes_the_best_steps_of_the_whole_spectrum(selection, test_prompts):
    S, w, query = test_prompts.moment, test_prompts.w, test_prompts.query
    for layers in (1, 3):
        whitened, plain = spectra(selection)
        expected = []
        for spectrum, preconditioner in ((plain, None), (whitened, selection.covariance.inverse)):
            equal = [constructed.best_constant_step(spectrum, layers)] * layers
            for steps in (equal, constructed.best_steps(spectrum, layers)):
                expected.append(constructed.descent_loss(S, w, query, steps, preconditioner))
        fair = constructed.fair_losses(test_prompts, selection, layers)
        np.testing.assert_allclose(fair, expected, rtol=1e-6)
