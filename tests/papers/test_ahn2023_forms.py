"""The fast form of ahn2023 against the plain one, and its gradient by hand against autograd."""

import numpy as np
import pytest
import torch
from beartype import beartype
from jaxtyping import jaxtyped

from papers.ahn2023_checks import Array, close, moments, problem
from papers.test_ahn2023 import settings
from reproaudit.papers.ahn2023 import fast, model, plain
from reproaudit.papers.ahn2023.fast import Minibatch, loss_and_gradient

pytestmark = pytest.mark.usefixtures("one_thread")

SHAPES = [
    *((layers, 5, 20) for layers in (1, 2, 3, 4, 5)),
    *((3, 5, 3), (1, 3, 2), (2, 3, 7), (3, 3, 7)),
    pytest.param(4, 2, 5, marks=pytest.mark.slow),  # compiled for this dimension alone
]
"""(layers, d, n), with contexts shorter than the dimension."""


def plain_form(x: Array, w: Array, query: Array, A: Array, B: Array) -> tuple[float, Array, Array]:
    """Loss and gradient of the token-by-token form."""
    A_t, B_t = torch.tensor(A, requires_grad=True), torch.tensor(B, requires_grad=True)
    prompts = torch.from_numpy(x), torch.from_numpy(w), torch.from_numpy(query)
    loss = model.in_context_loss(*prompts, A_t, B_t)
    dA, dB = torch.autograd.grad(loss, (A_t, B_t))
    return loss.item(), dA.numpy(), dB.numpy()


@pytest.mark.parametrize("sparse", [False, True], ids=["full", "sparse"])
@pytest.mark.parametrize(("layers", "d", "n"), SHAPES)
def test_the_forms_agree(layers, d, n, sparse):
    x, w, query, A, B = problem(layers, d, n, batch=37)
    loss, dA, dB = plain_form(x, w, query, A, np.zeros_like(B) if sparse else B)
    minibatch = Minibatch.of(moments(x), w, query)
    fast_loss, (fast_dA, fast_dB) = loss_and_gradient(minibatch, A, None if sparse else B)
    close(fast_loss, loss, 1e-10)
    close(fast_dA, dA, 1e-10)
    if sparse:
        assert not np.any(fast_dB)
    else:
        close(fast_dB, dB, 1e-10) if layers > 1 else None
        assert not np.any(fast_dB[-1])


@pytest.mark.parametrize(
    ("sizes", "batch", "b"),
    [
        ((3, 5, 20), 37, 0),  # B is free, and begins at zero
        ((2, 3, 7), 10_007, 1),  # several sums, the last group not full
    ],
)
def test_the_forms_agree_with_b_at_zero_and_on_many_groups(sizes, batch, b):
    x, w, query, A, B = problem(*sizes, batch=batch)
    loss, dA, dB = plain_form(x, w, query, A, b * B)
    fast_loss, gradient = loss_and_gradient(Minibatch.of(moments(x), w, query), A, b * B)
    close(fast_loss, loss, 1e-10)
    close(gradient, [dA, dB], 1e-10)


def test_the_plain_form_is_the_paper_token_by_token():
    x, w, query, A, B = problem(1, 2, 3, batch=1)
    Z = np.vstack([np.c_[x[0].T, query[0]], np.append(x[0] @ w[0], 0.0)])
    n, d = 3, 2
    P, Q, M = np.zeros((d + 1, d + 1)), np.zeros((d + 1, d + 1)), np.diag([1.0] * n + [0.0])
    P[:d, :d], P[d, d], Q[:d, :d] = B[0], 1.0, A[0]
    after = Z + P @ Z @ M @ (Z.T @ Q @ Z) / n
    prediction = model.predict(*(torch.from_numpy(a) for a in (x, w, query, A, B)))
    close(prediction, [-after[d, n]], 1e-12)


def test_shapes_are_those_annotated():
    arguments = [torch.from_numpy(array) for array in problem(2, 3, 4, batch=5)]
    check = jaxtyped(typechecker=beartype)
    check(model.predict)(*arguments)
    Z = check(model.embed)(*arguments[:3])
    check(model.forward)(Z, *arguments[3:])


@pytest.mark.parametrize("layers", [1, 3])
def test_float32_differs_by_rounding_only(layers):
    # Some 200 dependent roundings of 6e-8 each, on entries of the size of the largest.
    x, w, query, A, B = problem(layers, 5, 20, batch=1000)
    single = [np.asarray(array, np.float32) for array in (moments(x), w, query, A, B)]
    loss, dA, dB = plain_form(x, w, query, A, B)
    fast_loss, (fast_dA, fast_dB) = loss_and_gradient(Minibatch.of(*single[:3]), *single[3:])
    close(fast_loss, loss, 1.2e-5)
    close(fast_dA, dA, 1.2e-5)
    if layers > 1:
        close(fast_dB, dB, 1.2e-5)


# Training


@pytest.mark.parametrize(
    ("clip", "free_b"),
    [(0.01, True), (0.01, False), (1e9, True)],
    ids=["each", "sparse", "unclipped"],
)
def test_the_learner_is_adam_on_the_plain_form(clip, free_b):
    """Against a loop written out with torch's own clipping and one parameter for each matrix."""
    x, w, query, A_0, B_0 = problem(3, 5, 8, batch=40)
    A, B = ([torch.tensor(m).requires_grad_() for m in one] for one in (A_0, B_0 * free_b))
    trained = A + B if free_b else A
    adam = torch.optim.Adam(trained, lr=0.02, betas=(0.99, 0.9))
    prompts = [torch.tensor(one) for one in (x, w, query)]
    losses = []
    for _ in range(200):
        adam.zero_grad()
        loss = model.in_context_loss(*prompts, torch.stack(A), torch.stack(B))  # type: ignore[arg-type]
        loss.backward()  # type: ignore[no-untyped-call]
        for matrix in trained:
            torch.nn.utils.clip_grad_norm_(matrix, clip)
        adam.step()
        losses.append(loss.item())
    minibatch = Minibatch.of(moments(x), w, query)
    training = {"learning_rate": 0.02, "halve_every": 1000, "redraw_every": 1000, "clip": clip}
    chosen = settings("full", b_matrices="free" if free_b else "zero", **training)
    learner = plain.Learner(fast.gradients, lambda _: minibatch, (A_0, B_0 * free_b), chosen)
    learner.advance(0, 200)
    assert losses[-1] < 0.5 * losses[0]
    ours_A, ours_B = learner.matrices()
    close(ours_A, torch.stack(A).detach().numpy(), 1e-9)
    if free_b:
        close(ours_B, torch.stack(B).detach().numpy(), 1e-9)
    else:
        assert not np.any(ours_B)


@pytest.mark.parametrize("free_b", [True, False])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_divergence_is_seen(bad, free_b):
    x, w, query, A, B = problem(3, 5, 20, batch=50)
    minibatch = Minibatch.of(moments(x), w, query)
    A[1, 2, 3] = bad
    loss, (dA, _) = loss_and_gradient(minibatch, A, B if free_b else None)
    assert not np.isfinite(loss)
    assert not np.all(np.isfinite(dA))
    chosen = settings("full", b_matrices="free" if free_b else "zero", learning_rate=0.1)
    learner = plain.Learner(fast.gradients, lambda _: minibatch, (A, B * free_b), chosen)
    learner.advance(0, 3)
    A, B = learner.matrices()
    assert not np.isfinite(loss_and_gradient(minibatch, A, B if free_b else None)[0])


def test_an_unaligned_minibatch_gives_the_same_bits():
    x, w, query, A, B = problem(2, 3, 5, batch=20)
    minibatch = Minibatch.of(moments(x), w, query)
    shifted = np.empty(minibatch.data.size + 1)[1:].reshape(minibatch.data.shape)
    shifted[:] = minibatch.data
    one = loss_and_gradient(minibatch, A, B)
    two = loss_and_gradient(Minibatch(shifted, 20, 3), A, B)
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])
