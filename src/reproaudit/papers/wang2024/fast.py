"""Losses and gradients of the plain form without the tokens' matrix, by BLAS and one compiled loop.

The query's token block is zero, so of W_KQ only the columns that meet a code matter: B (d × d_e)
above D (d_e × d_e). With s = Σ_{j∈y} e_j and W_V = (V_x, V_e), the score of token i is

    x_i · B s + e_i · D s,

and its value is V_x x_i + V_e e_i. All that codes take part in is a product of matrices for the
whole batch; nothing of the size batch × (d + d_e) × T is built where samples share their codes.
What is left, the tokens' share of the scores and of the output, goes sample by sample through
`_attend`. In the shapes, n is T, or T + 1 where the query is attended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array, compiled
from reproaudit.papers.wang2024.model import Weights
from reproaudit.papers.wang2024.settings import Selection
from reproaudit.papers.wang2024.task import TokenBatch

_SUMS = {"reassoc", "contract", "nsz", "arcp"}  # sums in vector lanes; NaN and infinity keep theirs


@compiled(fastmath=_SUMS)
def _add_scores_of_tokens(X: Array, pulls: Array, scores: Array) -> None:
    """Add x_i · B s to the scores, and take each sample's largest score off."""
    for b in range(len(X)):
        row = scores[b]
        for k in range(X.shape[1]):
            for i in range(row.size):
                row[i] += pulls[b, k] * X[b, k, i]
        largest = row[0]
        for i in range(row.size):
            largest = max(largest, row[i])
        for i in range(row.size):
            row[i] -= largest


@compiled(fastmath=_SUMS)
def _attend(X: Array, U: Array, V_x: Array, targets: Array, attention: Array) -> Any:
    """Respond to all samples, and take the slopes back to the scores.

    Args:
        X: tokens, (batch, d, n).
        U: the codes' values V_e e_i, (groups, d, n).
        V_x: W_V's block of the tokens, (d, d).
        targets: (batch, d).
        attention: exp(score), (batch, n); receives the attention.

    Returns:
        The means Σ a_i x_i, (batch, d), the residuals output − target, (batch, d), the gradients
        p of ½‖residual‖² by the scores, (batch, n), and Σ p_i x_i, (batch, d).
    """
    samples, d, n = X.shape
    zero = attention.dtype.type(0)
    means = np.empty_like(targets)
    residuals = np.empty_like(targets)
    pushed = np.zeros_like(attention)
    along = np.empty_like(targets)
    for b in range(samples):
        a = attention[b]
        p = pushed[b]
        r = residuals[b]
        u = U[b % len(U)]
        total = zero
        for i in range(n):
            total += a[i]
        for i in range(n):
            a[i] /= total
        for k in range(d):
            of_tokens = zero
            of_codes = zero
            for i in range(n):
                of_tokens += a[i] * X[b, k, i]
                of_codes += a[i] * u[k, i]
            means[b, k] = of_tokens
            r[k] = of_codes - targets[b, k]
        for k in range(d):
            for m in range(d):
                r[k] += V_x[k, m] * means[b, m]
        for k in range(d):
            pull = zero
            step = r[k]
            for m in range(d):
                pull += V_x[m, k] * r[m]
            for i in range(n):
                p[i] += pull * X[b, k, i] + step * u[k, i]
        mean = zero
        for i in range(n):
            mean += a[i] * p[i]
        for i in range(n):
            p[i] = a[i] * (p[i] - mean)
        for k in range(d):
            total = zero
            for i in range(n):
                total += p[i] * X[b, k, i]
            along[b, k] = total
    return means, residuals, pushed, along


def _against(vectors: Array, E: Array) -> Array:
    """Multiply each sample's vector with the codes, (batch, T)."""
    products = vectors @ E[0].T if len(E) == 1 else (E @ vectors[:, :, None])[:, :, 0]
    return np.asarray(products)


def _weighted(rows: Array, E: Array) -> Array:
    """Sum the codes with each sample's weights, Σ_i rows_bi e_i, (batch, d_e)."""
    return np.asarray(rows @ E[0] if len(E) == 1 else (rows[:, None, :] @ E)[:, 0])


def targets_of(batch: TokenBatch, dtype: Any) -> Float[Array, "batch d"]:
    """Average the selected tokens, with coordinates turned where the batch says so."""
    chosen = batch.X[np.arange(len(batch.X))[:, None], :, batch.selected].astype(dtype)
    return np.asarray(chosen.sum(axis=1)[:, batch.coordinates] / dtype.type(chosen.shape[1]))


def _respond(weights: Weights, batch: TokenBatch, s: Selection) -> tuple[Array, ...]:
    """Return E, the sums s of queried codes, the attention, and what `_attend` returns."""
    kind = weights.value.dtype
    B, D, V_x, V_e = weights.blocks
    X = batch.X.astype(kind, copy=False)
    E = batch.E.astype(kind, copy=False)
    rows = np.arange(len(X))[:, None] % len(E)
    asked = E[rows, batch.queried].sum(axis=1)
    keys = asked @ D.T
    scores = _against(keys, E)
    U = V_e @ E.transpose(0, 2, 1)
    if s.attend_query:  # as a further position, without a token
        X = np.concatenate([X, np.zeros((*X.shape[:2], 1), kind)], axis=2)
        scores = np.concatenate([scores, (asked * keys).sum(axis=1, keepdims=True)], axis=1)
        of_codes = np.broadcast_to(U, (len(X), *U.shape[1:]))
        U = np.concatenate([of_codes, (asked @ V_e.T)[:, :, None]], axis=2)
    _add_scores_of_tokens(X, asked @ B.T, scores)
    attention = np.exp(scores)
    targets = targets_of(batch, kind)
    return E, asked, attention, *_attend(X, U, np.ascontiguousarray(V_x), targets, attention)


def losses(
    weights: Sequence[Array], batch: TokenBatch, s: Selection
) -> tuple[Float[Array, " batch"], Float[Array, " batch"]]:
    """Compute each sample's ½‖output − target‖² and its selected tokens' share of attention.

    The share is of the attention on tokens. Both are in double precision, so that means of a
    training that is about to diverge do not overflow.
    """
    E, _, attention, _, residuals, *_ = _respond(Weights(*weights), batch, s)
    of_tokens = attention[:, : E.shape[1]].astype(np.float64)
    mass = np.take_along_axis(of_tokens, batch.selected, axis=1).sum(axis=1)
    squares = (residuals.astype(np.float64) ** 2).sum(axis=1)
    return squares / 2, mass / np.maximum(of_tokens.sum(axis=1), np.finfo(float).tiny)


def gradient(weights: Sequence[Array], batch: TokenBatch, s: Selection) -> Weights:
    """Compute the gradient of the batch's loss c · mean ‖output − target‖² by W_KQ and W_V."""
    E, asked, attention, means, residuals, pushed, along = _respond(Weights(*weights), batch, s)
    T = E.shape[1]
    keys = _weighted(pushed[:, :T], E)
    if len(E) == 1:  # the sum over samples first
        by_value = (residuals.T @ attention[:, :T]) @ E[0]
    else:
        by_value = residuals.T @ _weighted(attention[:, :T], E)
    if s.attend_query:
        keys += pushed[:, T:] * asked
        by_value += (residuals * attention[:, T:]).T @ asked
    slopes = Weights(*(np.zeros_like(matrix) for matrix in weights))
    B, D, V_x, V_e = slopes.blocks
    B[...] = along.T @ asked
    D[...] = keys.T @ asked
    V_x[...] = residuals.T @ means
    V_e[...] = by_value
    step = asked.dtype.type(2 * s.loss_factor / len(asked))
    for matrix in slopes:
        matrix *= step
    return slopes
