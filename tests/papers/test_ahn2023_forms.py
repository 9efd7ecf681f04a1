"""The fast forms of ahn2023 against the plain one."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import pytest
import torch
from beartype import beartype
from jaxtyping import jaxtyped

from papers.ahn2023_checks import Array, close, moments, problem
from reproaudit.papers.ahn2023 import minibatches, model, task
from reproaudit.papers.ahn2023.fast import kernel, recursion, sampler
from reproaudit.papers.ahn2023.fast.prompts import Minibatch, lanes_of, pack
from reproaudit.papers.ahn2023.fast.tape import Identity, Matrix, Sum, Tape, stored
from reproaudit.papers.ahn2023.fast.vector_code import CompiledCode, VectorCode


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """One thread unless a test says otherwise, so that no parallel variant need be compiled."""
    before = numba.get_num_threads(), torch.get_num_threads()
    numba.set_num_threads(1)
    torch.set_num_threads(1)
    yield
    numba.set_num_threads(before[0])
    torch.set_num_threads(before[1])


SHAPES = [
    *((layers, 5, 20) for layers in (1, 2, 3, 4, 5)),
    *((3, 5, 3), (1, 3, 2), (2, 3, 7), (3, 3, 7), (4, 2, 5)),
]
"""(layers, d, n), with contexts shorter than the dimension."""


def plain(x: Array, w: Array, query: Array, A: Array, B: Array) -> tuple[float, Array, Array]:
    """Loss and gradient of the token-by-token form."""
    A_t, B_t = torch.tensor(A, requires_grad=True), torch.tensor(B, requires_grad=True)
    prompts = torch.from_numpy(x), torch.from_numpy(w), torch.from_numpy(query)
    loss = model.in_context_loss(*prompts, A_t, B_t)
    dA, dB = torch.autograd.grad(loss, (A_t, B_t))
    return loss.item(), dA.numpy(), dB.numpy()


# The three forms


@pytest.mark.parametrize("sparse", [False, True], ids=["full", "sparse"])
@pytest.mark.parametrize(("layers", "d", "n"), SHAPES)
def test_the_three_forms_agree(layers: int, d: int, n: int, sparse: bool) -> None:
    x, w, query, A, B = problem(layers, d, n, batch=37)
    S = moments(x)
    loss, dA, dB = plain(x, w, query, A, np.zeros_like(B) if sparse else B)

    fast_loss, fast_dA, fast_dB = kernel.loss_and_gradient(
        pack(S, w, query), A, None if sparse else B
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
    fast_loss, fast_dA, fast_dB = kernel.loss_and_gradient(pack(*single[:3]), *single[3:])
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


# The tape


def differences(
    formula: Callable[[Array, Array], float], matrices: tuple[Array, Array]
) -> list[Array]:
    """The gradient in both matrices by central differences."""
    gradients = []
    for which in range(2):
        gradient = np.zeros_like(matrices[which])
        for place in np.ndindex(gradient.shape):
            values = []
            for nudge in (1e-6, -1e-6):
                moved = [matrix.copy() for matrix in matrices]
                moved[which][place] += nudge
                values.append(formula(*moved))
            gradient[place] = (values[0] - values[1]) / 2e-6
        gradients.append(gradient)
    return gradients


def test_the_tape_differentiates_any_formula() -> None:
    """Sums, reused terms, transposes, the identity and the congruence, against differences."""
    d, lanes = 3, lanes_of(np.float64)
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, d, d))
    x, root = rng.standard_normal((lanes, d)), rng.standard_normal((lanes, d, d))
    S = root @ root.transpose(0, 2, 1)

    def formula(A: Any, B: Any, S: Any, x: Any, congruence: Any, one: Any) -> Any:
        C = A @ B.mT + one
        H = congruence(S, C)
        moved = C @ (H @ x) + B @ x
        return moved.mT @ (S @ (C.mT @ (x + A @ moved)))

    def in_numpy(A: Array, B: Array) -> float:
        def congruence(S: Array, C: Array) -> Array:
            return np.asarray(C.mT @ S @ C)

        one = np.eye(d)
        return float(
            sum(
                formula(A, B, *of, congruence, one).item()
                for of in zip(S, x[:, :, None], strict=True)
            )
        )

    code = VectorCode(np.float64, ("prompt", "parameters", "sums", "workspace"), d * d + d)
    tape = Tape(code, "workspace")
    parameters = [tape.parameter("parameters", k * d * d, d, d) for k in range(2)]
    data = tape.symmetric_data("prompt", 0, d), tape.data("prompt", d * d, d)
    result = stored(
        formula(*parameters, *data, lambda S, C: tape.congruence(S, C.stored), Identity())
    )
    one = Matrix(tape, 1, 1, lambda _i, _j: code.constant(1.0), variable=False)
    tape.add_gradient(result, Sum(tape, [one], []))
    tape.differentiate()
    for k, parameter in enumerate(parameters):
        tape.accumulate_gradient(parameter, "sums", k * d * d)
    compiled = CompiledCode(code.assembly("tried"), "tried")
    rows = np.concatenate([S.reshape(lanes, -1), x], axis=1).T.copy()
    sums, workspace = np.zeros((2, d, d, lanes)), np.zeros((tape.size, lanes))
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)(compiled.address)
    values = np.stack([A, B])
    call(*(array.ctypes.data for array in (rows, values, sums, workspace)), 1)
    for ours, expected in zip(sums.sum(-1), differences(in_numpy, (A, B)), strict=True):
        close(ours, expected, 1e-6)


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
        pack(moments(x), w, query),
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
    minibatch = pack(moments(x), w, query)

    def go(state: kernel.TrainingState, steps: int) -> Array:
        return kernel.advance(
            state, minibatch, steps, learning_rate=0.1, betas=(0.9, 0.9), clip=0.01, free_b=True
        )

    whole = kernel.TrainingState.start(A, B)
    losses = go(whole, 20)
    first = kernel.TrainingState.start(A, B)
    before = go(first, 7)
    resumed = kernel.TrainingState(first.parameters.copy(), first.moments.copy(), 7)
    np.testing.assert_array_equal(np.append(before, go(resumed, 13)), losses)
    np.testing.assert_array_equal(resumed.A, whole.A)


@pytest.mark.parametrize("free_b", [True, False])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_divergence_is_seen(bad: float, free_b: bool) -> None:
    x, w, query, A, B = problem(3, 5, 20, batch=50)
    minibatch = pack(moments(x), w, query)
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
    loss, dA, dB = kernel.loss_and_gradient(pack(moments(x), w, query), A, B)
    assert np.isnan(loss)
    assert np.all(np.isnan(dA))
    assert np.all(np.isnan(dB[:-1]))


def test_overflow_is_seen_in_training() -> None:
    x, w, query, A, B = (np.asarray(a, np.float32) for a in problem(3, 5, 20, batch=50))
    state = kernel.TrainingState.start(A * 1e12, B * 1e12)
    losses = kernel.advance(
        state,
        pack(moments(x), w, query),
        5,
        learning_rate=0.1,
        betas=(0.9, 0.9),
        clip=0.01,
        free_b=True,
    )
    assert not np.any(np.isfinite(losses))


@pytest.mark.skipif(numba.get_num_threads() < 2, reason="one thread only")
def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    covariance = task.draw_covariance(np.random.default_rng(0))
    stream = minibatches.Stream.of(1, "minibatch", 3)
    _, _, _, A, B = (np.asarray(a, np.float32) for a in problem(3, 5, 20, batch=1))
    results = []
    for threads in (1, 2):
        numba.set_num_threads(threads)
        minibatch = sampler.draw_minibatch(covariance, 9001, 20, stream)
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
    minibatch = pack(moments(x), w, query)
    shifted = np.empty(minibatch.data.size + 1)[1:].reshape(minibatch.data.shape)
    shifted[:] = minibatch.data
    one = kernel.loss_and_gradient(minibatch, A, B)
    two = kernel.loss_and_gradient(Minibatch(shifted, 20, 3), A, B)
    for expected, actual in zip(one, two, strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_unfit_arguments_are_refused() -> None:
    x, w, query, A, B = problem(2, 3, 5, batch=20)
    S = moments(x)
    minibatch = pack(S, w, query)
    with pytest.raises(ValueError, match="float32"):
        kernel.loss_and_gradient(minibatch, A.astype(np.float32))
    with pytest.raises(ValueError, match="expected"):
        kernel.loss_and_gradient(minibatch, A[:, :2, :2])
    with pytest.raises(ValueError, match="B has shape"):
        kernel.loss_and_gradient(minibatch, A, B[:1])
    with pytest.raises(ValueError, match="layout"):
        kernel.loss_and_gradient(Minibatch(minibatch.data[:, :, :4], 20, 3), A)
    broken = kernel.TrainingState(np.stack([A, B]), np.zeros((2, 1, 2, 3, 3)))
    with pytest.raises(ValueError, match="moments: float64"):
        kernel.advance(
            broken, minibatch, 1, learning_rate=0.1, betas=(0.9, 0.9), clip=1.0, free_b=True
        )
    with pytest.raises(ValueError, match="do not fit"):
        pack(S, w[:5], query)
    with pytest.raises(ValueError, match="float32 or float64"):
        pack(S.astype(np.int64), w, query)
    with pytest.raises(ValueError, match="needs prompts"):
        pack(S[:0], w[:0], query[:0])
