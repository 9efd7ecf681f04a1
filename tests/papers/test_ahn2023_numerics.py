"""The fast forms of ahn2023 against the plain one, the algebra, and the laws of the samplers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest
import torch
from beartype import beartype
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import jaxtyped
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import kstest

from reproaudit.lab.seeds import generator
from reproaudit.papers.ahn2023 import baselines, constructed, kernel, model, recursion, sampling

Array = NDArray[Any]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """One thread unless a test says otherwise, so that no parallel variant need be compiled."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


SHAPES = [
    *((layers, 5, 20) for layers in (1, 2, 3, 4, 5)),
    *((3, 5, 3), (1, 3, 2), (2, 3, 7), (3, 3, 7), (4, 2, 5)),
]
"""(layers, d, n), with contexts shorter than the dimension."""


def problem(layers: int, d: int, n: int, batch: int, seed: int = 0) -> tuple[Array, ...]:
    """x, w, query and matrices large enough that every product matters, in float64."""
    rng = np.random.default_rng(seed)
    x, w, query = (rng.standard_normal(shape) for shape in ((batch, n, d), (batch, d), (batch, d)))
    A = rng.standard_normal((layers, d, d)) * 0.5 / d - 0.3 * np.eye(d)
    B = rng.standard_normal((layers, d, d)) * 0.5 / d + 0.3 * np.eye(d)
    return x, w, query, A, B


def moments(x: Array) -> Array:
    return np.asarray(x.transpose(0, 2, 1) @ x / x.shape[1])


def plain(x: Array, w: Array, query: Array, A: Array, B: Array) -> tuple[float, Array, Array]:
    """Loss and gradient of the token-by-token form."""
    A_t, B_t = torch.tensor(A, requires_grad=True), torch.tensor(B, requires_grad=True)
    prompts = torch.from_numpy(x), torch.from_numpy(w), torch.from_numpy(query)
    loss = model.in_context_loss(*prompts, A_t, B_t)
    dA, dB = torch.autograd.grad(loss, (A_t, B_t))
    return loss.item(), dA.numpy(), dB.numpy()


def close(actual: Any, expected: Any, tolerance: float) -> None:
    """Equal relative to the largest entry expected."""
    scale = np.max(np.abs(expected))
    assert np.max(np.abs(np.asarray(actual) - np.asarray(expected))) <= tolerance * scale


def same_law(first: Array, second: Array | float) -> None:
    """Equal means, within 4.5 standard errors of the difference (about 7e-6 by chance)."""
    sample = np.asarray(second)
    variance = np.var(first, axis=0) / len(first)
    if sample.ndim and len(sample) > 1 and sample.ndim == np.ndim(first):
        variance = variance + np.var(sample, axis=0) / len(sample)
        sample = sample.mean(0)
    assert np.all(np.abs(np.mean(first, axis=0) - sample) <= 4.5 * np.sqrt(variance))


# The three forms


@pytest.mark.parametrize("sparse", [False, True], ids=["full", "sparse"])
@pytest.mark.parametrize(("layers", "d", "n"), SHAPES)
def test_the_three_forms_agree(layers: int, d: int, n: int, sparse: bool) -> None:
    x, w, query, A, B = problem(layers, d, n, batch=37)
    S = moments(x)
    loss, dA, dB = plain(x, w, query, A, np.zeros_like(B) if sparse else B)

    fast_loss, fast_dA, fast_dB = kernel.loss_and_gradient(
        kernel.pack(S, w, query), A, None if sparse else B
    )
    close(fast_loss, loss, 1e-10)
    close(fast_dA, dA, 1e-10)

    A_t, B_t = torch.tensor(A, requires_grad=True), torch.tensor(B, requires_grad=True)
    prompts = torch.from_numpy(S), torch.from_numpy(w), torch.from_numpy(query)
    batched = recursion.recursion_loss(*prompts, A_t, None if sparse else B_t)
    close(batched.item(), loss, 1e-10)
    wanted = (A_t,) if sparse or layers == 1 else (A_t, B_t)
    gradients = torch.autograd.grad(batched, wanted)
    close(gradients[0], dA, 1e-10)

    if sparse:
        assert not np.any(fast_dB)
    elif layers > 1:
        close(fast_dB, dB, 1e-10)
        close(gradients[1], dB, 1e-10)
        assert not np.any(fast_dB[-1])


def test_the_plain_form_is_the_paper_token_by_token() -> None:
    x, w, query, A, B = problem(1, 2, 3, batch=1)
    Z = np.vstack([np.c_[x[0].T, query[0]], np.append(x[0] @ w[0], 0.0)])
    n, d = 3, 2
    P, Q, M = np.zeros((d + 1, d + 1)), np.zeros((d + 1, d + 1)), np.diag([1.0] * n + [0.0])
    P[:d, :d], P[d, d], Q[:d, :d] = B[0], 1.0, A[0]
    after = Z + P @ Z @ M @ (Z.T @ Q @ Z) / n
    prediction = model.predict(*(torch.from_numpy(a) for a in (x, w, query, A, B)))
    close(prediction, [-after[d, n]], 1e-12)


def test_shapes_are_those_annotated() -> None:
    arguments = [torch.from_numpy(array) for array in problem(2, 3, 4, batch=5)]
    check = jaxtyped(typechecker=beartype)
    check(model.predict)(*arguments)
    Z = check(model.embed)(*arguments[:3])
    check(model.forward)(Z, *arguments[3:])
    S = check(recursion.second_moment)(arguments[0])
    check(recursion.recursion_loss)(S, *arguments[1:])


@pytest.mark.parametrize("layers", [1, 3])
def test_float32_differs_by_rounding_only(layers: int) -> None:
    # Some 200 dependent roundings of 6e-8 each, on entries of the size of the largest.
    x, w, query, A, B = problem(layers, 5, 20, batch=1000)
    single = [np.asarray(array, np.float32) for array in (moments(x), w, query, A, B)]
    loss, dA, dB = plain(x, w, query, A, B)
    fast_loss, fast_dA, fast_dB = kernel.loss_and_gradient(kernel.pack(*single[:3]), *single[3:])
    close(fast_loss, loss, 1.2e-5)
    close(fast_dA, dA, 1.2e-5)
    if layers > 1:
        close(fast_dB, dB, 1.2e-5)


def test_seeds_trained_together_do_not_see_each_other() -> None:
    problems = [problem(3, 5, 20, batch=64, seed=seed) for seed in range(4)]

    def gradients(members: list[int]) -> tuple[torch.Tensor, ...]:
        x, w, query, A, B = (
            torch.from_numpy(np.stack([problems[seed][i] for seed in members])) for i in range(5)
        )
        A.requires_grad_()
        B.requires_grad_()
        losses = recursion.recursion_loss(recursion.second_moment(x), w, query, A, B)
        return (losses.detach(), *torch.autograd.grad(losses.sum(), (A, B)))

    together, others = gradients([0, 1, 2]), gradients([0, 3, 1])
    for one, other in zip(together, others, strict=True):
        assert torch.equal(one[0], other[0])
        assert torch.equal(one[1], other[2])
    alone = plain(*problems[0])
    for one, expected in zip(together, alone, strict=True):
        close(one[0], expected, 1e-10)


# Training


def torch_training(
    arguments: tuple[Array, ...], steps: int, clip: float, clip_whole: bool, free_b: bool
) -> tuple[list[float], Array, Array]:
    """Adam on the token-by-token form, with torch's own clipping."""
    x, w, query, A_0, B_0 = (torch.tensor(array) for array in arguments)
    A = [matrix.clone().requires_grad_() for matrix in A_0]
    B = [(matrix * free_b).requires_grad_() for matrix in B_0]
    trained = A + B if free_b else A
    adam = torch.optim.Adam(trained, lr=0.02, betas=(0.99, 0.9))
    losses = []
    for _ in range(steps):
        adam.zero_grad()
        loss = model.in_context_loss(x, w, query, torch.stack(A), torch.stack(B))
        loss.backward()  # type: ignore[no-untyped-call]
        for group in [trained] if clip_whole else [[matrix] for matrix in trained]:
            torch.nn.utils.clip_grad_norm_(group, clip)
        adam.step()
        losses.append(loss.item())
    return losses, torch.stack(A).detach().numpy(), torch.stack(B).detach().numpy()


@pytest.mark.parametrize(
    ("clip", "clip_whole", "free_b"),
    [(0.01, False, True), (0.01, False, False), (0.05, True, True), (np.inf, False, True)],
    ids=["each", "sparse", "whole", "unclipped"],
)
def test_the_fused_loop_is_adam_on_the_plain_form(
    clip: float, clip_whole: bool, free_b: bool
) -> None:
    arguments = problem(3, 5, 8, batch=40)
    expected, A, B = torch_training(arguments, 200, clip, clip_whole, free_b)
    x, w, query, A_0, B_0 = arguments
    state = kernel.TrainingState.start(A_0, B_0)
    losses = kernel.advance(
        state,
        kernel.pack(moments(x), w, query),
        200,
        learning_rate=0.02,
        betas=(0.99, 0.9),
        clip=clip,
        clip_whole=clip_whole,
        free_b=free_b,
    )
    assert losses[-1] < 0.5 * losses[0]
    np.testing.assert_allclose(losses, expected, rtol=1e-9)
    close(state.A, A, 1e-9)
    if free_b:
        close(state.B, B, 1e-9)
    else:
        assert not np.any(state.B)
    assert state.steps == 200


def test_training_resumes_bit_for_bit() -> None:
    x, w, query, A, B = problem(2, 5, 20, batch=50)
    minibatch = kernel.pack(moments(x), w, query)

    def go(state: kernel.TrainingState, steps: int) -> Array:
        return kernel.advance(
            state, minibatch, steps, learning_rate=0.1, betas=(0.9, 0.9), clip=0.01, free_b=True
        )

    whole = kernel.TrainingState.start(A, B)
    losses = go(whole, 20)
    first = kernel.TrainingState.start(A, B)
    before = go(first, 7)
    resumed = kernel.TrainingState(first.A.copy(), first.B.copy(), first.moments.copy(), 7)
    np.testing.assert_array_equal(np.append(before, go(resumed, 13)), losses)
    np.testing.assert_array_equal(resumed.A, whole.A)


@pytest.mark.parametrize("free_b", [True, False])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_divergence_is_seen(bad: float, free_b: bool) -> None:
    x, w, query, A, B = problem(3, 5, 20, batch=50)
    minibatch = kernel.pack(moments(x), w, query)
    A[1, 2, 3] = bad
    loss, dA, _ = kernel.loss_and_gradient(minibatch, A, B if free_b else None)
    assert not np.isfinite(loss)
    assert not np.all(np.isfinite(dA))
    state = kernel.TrainingState.start(A, B)
    losses = kernel.advance(
        state, minibatch, 3, learning_rate=0.1, betas=(0.9, 0.9), clip=0.01, free_b=free_b
    )
    assert not np.any(np.isfinite(losses))


def test_one_bad_prompt_is_seen() -> None:
    x, w, query, A, B = problem(3, 5, 20, batch=50)
    w[17, 0] = np.nan
    loss, dA, dB = kernel.loss_and_gradient(kernel.pack(moments(x), w, query), A, B)
    assert np.isnan(loss)
    assert np.all(np.isnan(dA))
    assert np.all(np.isnan(dB[:-1]))


def test_overflow_is_seen_in_training() -> None:
    x, w, query, A, B = (np.asarray(a, np.float32) for a in problem(3, 5, 20, batch=50))
    state = kernel.TrainingState.start(A * 1e12, B * 1e12)
    losses = kernel.advance(
        state,
        kernel.pack(moments(x), w, query),
        5,
        learning_rate=0.1,
        betas=(0.9, 0.9),
        clip=0.01,
        free_b=True,
    )
    assert not np.any(np.isfinite(losses))


@pytest.mark.skipif(numba.get_num_threads() < 2, reason="one thread only")
def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    covariance = sampling.draw_covariance(np.random.default_rng(0))
    _, _, _, A, B = (np.asarray(a, np.float32) for a in problem(3, 5, 20, batch=1))
    results = []
    for threads in (1, 2):
        numba.set_num_threads(threads)
        minibatch = sampling.draw_minibatch(
            covariance, 9001, 20, seed=1, purpose="minibatch", index=3
        )
        state = kernel.TrainingState.start(A, B)
        losses = kernel.advance(
            state, minibatch, 10, learning_rate=0.1, betas=(0.9, 0.9), clip=0.01, free_b=True
        )
        gradient = kernel.loss_and_gradient(minibatch, A, B)
        results.append((minibatch.data, losses, state.A, state.B, *gradient))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


def test_an_unaligned_minibatch_gives_the_same_bits() -> None:
    x, w, query, A, B = problem(2, 3, 5, batch=20)
    minibatch = kernel.pack(moments(x), w, query)
    shifted = np.empty(minibatch.data.size + 1)[1:].reshape(minibatch.data.shape)
    shifted[:] = minibatch.data
    one = kernel.loss_and_gradient(minibatch, A, B)
    two = kernel.loss_and_gradient(kernel.Minibatch(shifted, 20, 3), A, B)
    for expected, actual in zip(one, two, strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_unfit_arguments_are_refused() -> None:
    x, w, query, A, B = problem(2, 3, 5, batch=20)
    S = moments(x)
    minibatch = kernel.pack(S, w, query)
    with pytest.raises(ValueError, match="float32"):
        kernel.loss_and_gradient(minibatch, A.astype(np.float32))
    with pytest.raises(ValueError, match="expected"):
        kernel.loss_and_gradient(minibatch, A[:, :2, :2])
    with pytest.raises(ValueError, match="B has shape"):
        kernel.loss_and_gradient(minibatch, A, B[:1])
    with pytest.raises(ValueError, match="layout"):
        kernel.loss_and_gradient(kernel.Minibatch(minibatch.data[:, :, :4], 20, 3), A)
    broken = kernel.TrainingState(A, B[:1].copy(), np.zeros((2, 2, 2, 3, 3)))
    with pytest.raises(ValueError, match="B is float64"):
        kernel.advance(
            broken, minibatch, 1, learning_rate=0.1, betas=(0.9, 0.9), clip=1.0, free_b=True
        )
    with pytest.raises(ValueError, match="do not fit"):
        kernel.pack(S, w[:5], query)
    with pytest.raises(ValueError, match="float32 or float64"):
        kernel.pack(S.astype(np.int64), w, query)
    with pytest.raises(ValueError, match="needs prompts"):
        kernel.pack(S[:0], w[:0], query[:0])
    with pytest.raises(ValueError, match="do not fit at"):
        kernel.write_moments(minibatch, 8, S, w, query, kernel.Colouring.none(3))


# Closed forms, constructed solutions and baselines


@pytest.fixture(scope="module")
def covariance() -> sampling.Covariance:
    return sampling.draw_covariance(generator(0, "covariance"))


@pytest.fixture(scope="module")
def selection(covariance: sampling.Covariance) -> sampling.Prompts:
    return sampling.draw_prompts(
        covariance, 3000, 20, seed=0, purpose="selection", index=0, dtype=np.float64
    )


@pytest.fixture(scope="module")
def test_prompts(covariance: sampling.Covariance) -> sampling.Prompts:
    return sampling.draw_prompts(
        covariance, 20000, 20, seed=0, purpose="test", index=0, dtype=np.float64
    )


def spectra(prompts: sampling.Prompts) -> tuple[constructed.Spectrum, constructed.Spectrum]:
    S, sigma = moments(prompts.x), prompts.covariance.matrix
    return constructed.whitened_spectrum(S, sigma), constructed.plain_spectrum(S, sigma)


def test_one_layer_loss_agrees_with_sampled_prompts(
    covariance: sampling.Covariance, test_prompts: sampling.Prompts
) -> None:
    A = constructed.one_layer_optimum(covariance.matrix, 20)[0]
    A = A + 0.2 * np.random.default_rng(0).standard_normal((5, 5))
    S = moments(test_prompts.x)
    b = test_prompts.w + np.einsum("ij,bj->bi", A.T, np.einsum("bij,bj->bi", S, test_prompts.w))
    errors = np.sum(b * test_prompts.query, axis=1) ** 2
    same_law(errors, constructed.one_layer_loss(A, covariance.matrix, 20))
    close(kernel.loss_and_gradient(test_prompts.minibatch(), A[None])[0], errors.mean(), 1e-10)


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
    layers: int, covariance: sampling.Covariance, test_prompts: sampling.Prompts
) -> None:
    steps = np.linspace(0.3, 1.2, layers)
    A, B = constructed.preconditioned_descent(covariance.matrix, steps)
    S, w, query = moments(test_prompts.x), test_prompts.w, test_prompts.query
    expected = baselines.descent_loss(S, w, query, steps, covariance.inverse)
    assert not np.any(B)
    close(kernel.loss_and_gradient(kernel.pack(S, w, query), A)[0], expected, 1e-10)


@pytest.mark.parametrize("plain_descent", [False, True], ids=["preconditioned", "plain"])
def test_expected_loss_agrees_with_sampled_weights_and_queries(
    plain_descent: bool, covariance: sampling.Covariance, test_prompts: sampling.Prompts
) -> None:
    steps = [0.4, 0.9]
    spectrum = spectra(test_prompts)[plain_descent]
    preconditioner = None if plain_descent else covariance.inverse
    b = baselines.descent_residuals(moments(test_prompts.x), test_prompts.w, steps, preconditioner)
    same_law(np.sum(b * test_prompts.query, axis=1) ** 2, spectrum.descent_loss(steps)[0])


@pytest.mark.parametrize("plain_descent", [False, True], ids=["preconditioned", "plain"])
def test_descent_gradient_and_best_steps(plain_descent: bool, selection: sampling.Prompts) -> None:
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
    isotropic = sampling.isotropic(4)
    prompts = sampling.draw_prompts(
        isotropic, 200, 9, seed=0, purpose="x", index=0, dtype=np.float64
    )
    whitened, raw = spectra(prompts)
    close(raw.descent_loss([0.4, 0.8])[0], whitened.descent_loss([0.4, 0.8])[0], 1e-10)


def test_corrected_descent_is_exactly_the_recursion(selection: sampling.Prompts) -> None:
    """Summed over a basis of whitened weights, the model's residual is the polynomial's loss."""
    spectrum, covariance = spectra(selection)[0], selection.covariance
    found = constructed.best_corrected_descent(spectrum.condensed(14), 3)
    A, B = (torch.from_numpy(matrix) for matrix in found.matrices(covariance.matrix))
    S = torch.from_numpy(moments(selection.x))
    total = 0.0
    for column in covariance.colouring.dual.T:
        w = torch.from_numpy(np.tile(column, (len(S), 1)))
        b = recursion.residual_weights(S, w, A, B).numpy()
        total += np.mean(np.sum((b @ covariance.root) ** 2, axis=1))
    close(total, found.expected_loss, 1e-8)


def test_corrected_loss_is_the_mean_over_all_eigenvalues(selection: sampling.Prompts) -> None:
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
    draw = {"seed": 3, "purpose": "shapes"}
    law = constructed.law_of_moments(
        sampling.draw_whitened_moments(4000, n, d, **draw), n, constructed.nodes_for(2)
    )
    close(law.expected_loss(np.sqrt(law.eigenvalues)), d, 1e-10)
    close(law.expected_loss(law.eigenvalues), d * (1 + (d + 1) / n), 0.02)
    sample = sampling.draw_whitened_moments(40_000, n, d, seed=4, purpose="sample")
    factors = 1.0 - 0.4 * np.linalg.eigvalsh(sample)
    same_law(np.sum(factors**4, axis=1), law.expected_loss((1.0 - 0.4 * law.eigenvalues) ** 2))


@pytest.mark.parametrize("kind", [0, 1], ids=["preconditioned", "plain"])
def test_a_spectrum_condensed_has_the_same_losses(kind: int, selection: sampling.Prompts) -> None:
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


def test_corrected_descent_needs_a_condensed_spectrum(selection: sampling.Prompts) -> None:
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


def test_corrected_descent_beats_descent_from_two_layers_on(selection: sampling.Prompts) -> None:
    spectrum = spectra(selection)[0]
    for layers in (1, 2, 3):
        descent = spectrum.descent_loss(constructed.best_steps(spectrum, layers))[0]
        rule = spectrum.condensed(constructed.nodes_for(layers))
        corrected = constructed.best_corrected_descent(rule, layers).expected_loss
        assert corrected < 0.5 * descent if layers > 1 else corrected == pytest.approx(descent)


def test_the_released_baseline_is_weaker_than_the_fair_one(
    selection: sampling.Prompts, test_prompts: sampling.Prompts
) -> None:
    fair = baselines.FairDescent(test_prompts, selection, 4)
    released = baselines.ReleasedDescent(test_prompts, selection, [0.2, 0.4, 0.6, 0.8, 1.0])
    for layers in (1, 4):
        assert fair.losses(layers)[2] < released.losses(layers)[1]


def test_the_released_baseline_leaves_a_pair_out_and_takes_a_step_of_the_grid(
    selection: sampling.Prompts, test_prompts: sampling.Prompts
) -> None:
    grid, (n, d) = [0.3, 0.5, 0.7], selection.z.shape[1:]

    def loss(prompts: sampling.Prompts, step: float) -> float:
        """Two steps, pair by pair."""
        b = np.array(prompts.w)
        for _ in range(2):
            used = prompts.x[:, : n - 1]
            errors = np.einsum("bid,bd->bi", used, b)
            gradient = np.einsum("bi,bid->bd", errors, used) / n
            b = b - step * gradient @ prompts.covariance.inverse
        assert b.shape == (len(prompts.w), d)
        return float(np.mean(np.sum(b * prompts.query, axis=1) ** 2))

    best = min(grid, key=lambda step: loss(selection, step))
    released = baselines.ReleasedDescent(test_prompts, selection, grid)
    close(released.losses(2)[1], loss(test_prompts, best), 1e-10)


def test_fair_descent_takes_the_best_steps_of_the_whole_spectrum(
    selection: sampling.Prompts, test_prompts: sampling.Prompts
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


# Sampling


def test_the_covariance_has_the_papers_spectrum(covariance: sampling.Covariance) -> None:
    expected = np.sort(np.square(sampling.PAPER_SCALES))
    np.testing.assert_allclose(np.linalg.eigvalsh(covariance.matrix), expected, rtol=1e-12)
    np.testing.assert_allclose(covariance.inverse @ covariance.matrix, np.eye(5), atol=1e-12)
    root = covariance.symmetric_root
    np.testing.assert_allclose(root @ root, covariance.matrix, atol=1e-12)
    np.testing.assert_allclose(root, root.T, atol=1e-12)
    another = sampling.draw_covariance(generator(1, "covariance"))
    assert np.linalg.norm(another.matrix - covariance.matrix) > 0.1


def outer(rows: Array) -> Array:
    return rows[:, :, None] * rows[:, None, :]


def test_prompts_have_the_stated_laws(test_prompts: sampling.Prompts) -> None:
    covariance, d = test_prompts.covariance, 5
    same_law(outer(test_prompts.x[:, 3]), np.broadcast_to(covariance.matrix, (1, d, d)))
    same_law(outer(test_prompts.query), np.broadcast_to(covariance.matrix, (1, d, d)))
    same_law(outer(test_prompts.w), np.broadcast_to(covariance.inverse, (1, d, d)))
    crossed = test_prompts.x[:, 0, :, None] * test_prompts.w[:, None, :]
    same_law(crossed, np.zeros((1, d, d)))
    np.testing.assert_allclose(
        np.sum(test_prompts.w * test_prompts.query, axis=1),
        np.sum(test_prompts.v * test_prompts.z_query, axis=1),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_kernels_minibatch_holds_the_same_prompts(
    dtype: Any, covariance: sampling.Covariance
) -> None:
    name: dict[str, Any] = {"seed": 5, "purpose": "minibatch", "index": 2, "dtype": dtype}
    size = sampling.CHUNK + 37
    prompts = sampling.draw_prompts(covariance, size, 6, **name)
    drawn = sampling.draw_minibatch(covariance, size, 6, **name)
    np.testing.assert_array_equal(prompts.minibatch().data, drawn.data)
    packed = kernel.pack(moments(prompts.x), prompts.w, prompts.query)
    close(drawn.data, packed.data, 30 * np.finfo(dtype).eps)
    np.testing.assert_allclose(prompts.whitened_moment, moments(prompts.z), rtol=1e-4, atol=1e-5)


def invariants(minibatch: kernel.Minibatch) -> Array:
    """Mean-law statistics of S: entries, tr S², log det S; and of wwᵀ's and the query's norms."""
    S, w, query, _ = minibatch.unpacked()
    squares = np.einsum("bij,bjk->bik", S, S).reshape(len(S), -1)
    others = [np.linalg.slogdet(S)[1], *(w**2).T, *(query**2).T]
    return np.column_stack([S.reshape(len(S), -1), squares, *others])


def test_moments_drawn_directly_have_the_same_law(covariance: sampling.Covariance) -> None:
    name: dict[str, Any] = {"seed": 0, "purpose": "law", "dtype": np.float64}
    for n in (5, 20):
        literal = sampling.draw_minibatch(covariance, 20000, n, index=0, **name)
        direct = sampling.draw_minibatch_by_moments(covariance, 20000, n, index=1, **name)
        same_law(invariants(literal), invariants(direct))


def test_the_second_moment_of_s_is_wisharts() -> None:
    n, d = 20, 5
    name: dict[str, Any] = {"seed": 0, "purpose": "law", "dtype": np.float64}
    for draw in (sampling.draw_minibatch, sampling.draw_minibatch_by_moments):
        drawn = draw(sampling.isotropic(d), 20000, n, index=2, **name)
        squares = invariants(drawn)[:, d * d : 2 * d * d].reshape(-1, d, d)
        same_law(squares, (1 + (d + 1) / n) * np.eye(d)[None])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal_pairs_are_normal(dtype: Any) -> None:
    rng = generator(0, "normal pairs")
    drawn = sampling._normal_pairs(rng, (3, 33333), dtype)
    assert drawn.dtype == dtype
    assert kstest(drawn.ravel(), "norm").pvalue > 1e-3
    assert kstest(drawn[:2].ravel() ** 2 + drawn[1:].ravel() ** 2, "chi2", (2,)).pvalue > 1e-3
    for power, expected in ((1, 0.0), (2, 1.0), (4, 3.0), (6, 15.0)):
        same_law(drawn.ravel().astype(np.float64) ** power, expected)
    assert 4.0 < np.abs(drawn).max() < 6.0


@pytest.mark.parametrize("count", [1, 31, 32, 45])
def test_prompts_written_from_the_factor_of_their_moments(count: int) -> None:
    """S = R (T Tᵀ / n) Rᵀ, R⁻ᵀ v and R z, and nothing beyond the last prompt."""
    rng, d, n, lanes = np.random.default_rng(0), 3, 7, 8
    covariance = sampling.draw_covariance(rng, (1.0, 0.5, 2.0))
    groups = -(-count // lanes)
    below, diagonal, v, z = (rng.standard_normal((groups, rows, lanes)) for rows in (3, d, d, d))
    made = kernel.Minibatch.zeros(count, d, np.float64)
    arguments = ((below, diagonal), n**-0.5, v, z, covariance.colouring)
    kernel.write_factors(made, 0, count, *arguments)
    T = np.zeros((groups * lanes, d, d))
    T[:, *np.tril_indices(d, -1)] = np.swapaxes(below, 1, 2).reshape(-1, 3)
    T[:, *np.diag_indices(d)] = np.swapaxes(diagonal, 1, 2).reshape(-1, d)
    root = covariance.root @ T / np.sqrt(n)
    S, w, query, offsets = made.unpacked()
    close(S, (root @ root.transpose(0, 2, 1))[:count], 1e-12)
    close(w, (np.swapaxes(v, 1, 2).reshape(-1, d) @ covariance.colouring.dual.T)[:count], 1e-12)
    close(query, (np.swapaxes(z, 1, 2).reshape(-1, d) @ covariance.root.T)[:count], 1e-12)
    assert not np.any(offsets)
    assert not np.any(np.swapaxes(made.data, 1, 2).reshape(-1, made.data.shape[1])[count:])
    with pytest.raises(ValueError, match="shapes do not fit"):
        kernel.write_factors(made, 0, count + lanes, *arguments)
    with pytest.raises(ValueError, match="do not fit at"):
        kernel.write_factors(made, lanes, count, *arguments)


def test_shuffled_labels_are_a_neighbours_and_the_target_its_own(
    covariance: sampling.Covariance,
) -> None:
    name: dict[str, Any] = {"seed": 0, "purpose": "x", "index": 0, "dtype": np.float64}
    for draw in (sampling.draw_minibatch, sampling.draw_minibatch_by_moments):
        S, w, query, _ = draw(covariance, 37, 20, **name).unpacked()
        shuffled = draw(covariance, 37, 20, shuffled=True, **name)
        other_S, labels, other_query, offsets = shuffled.unpacked()
        np.testing.assert_array_equal(other_S, S)
        np.testing.assert_array_equal(other_query, query)
        np.testing.assert_array_equal(labels, np.roll(w, 1, axis=0))
        close(offsets, np.sum((w - labels) * query, axis=1), 1e-12)
        assert not np.any(shuffled.data[-1, :, 37 % shuffled.data.shape[2] :])


def test_moments_cannot_be_drawn_directly_for_short_contexts() -> None:
    with pytest.raises(ValueError, match="n ≥ d"):
        sampling.draw_minibatch_by_moments(
            sampling.isotropic(5), 10, 4, seed=0, purpose="x", index=0
        )
