"""The loss and gradient of the plain form without the tokens' matrix, and the training, compiled.

The query's token block is zero, so of W_KQ only the columns that meet a code matter: B (d × d_e)
above D (d_e × d_e). With the codes e_i as rows of E, and W_V = (V_x, V_e), the score of token i is

    x_i · Σ_{j∈y} B e_j + Σ_{j∈y} e_i · D e_j,

so that one (T × T) matrix E D Eᵀ, of which each sample adds up the q columns of its subset, holds
the scores of all samples that share their codes; B Eᵀ and V_e Eᵀ (d × T each) do the rest. Nothing
of the size batch × (d + d_e) × T is built. Backwards, a sample's score gradients are added to the q
columns of a second T × T matrix M, and the gradient of D is Eᵀ M E.

Where each sample has codes of its own the same formulas are applied to one sample at a time. All
runs on one thread, so that no bit depends on the number of threads, nor on how steps are cut.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array, compiled, one_thread
from reproaudit.papers.wang2024.fast.structures import Sgd, Weights
from reproaudit.papers.wang2024.sampling import child
from reproaudit.papers.wang2024.task import SampleBatch, fill_batch

_SUMS = {"reassoc", "contract", "nsz", "arcp"}  # sums in vector lanes; NaN and infinity keep theirs


class _Sample(NamedTuple):
    """The values computed of one sample, in the working precision; n = T or T + 1."""

    target: Array  # (d,)
    attention: Array  # over the attended tokens, (n,); first their scores
    mean: Array  # Σ a_i x_i, (d,)
    residual: Array  # output − target, (d,)
    pushed: Array  # the gradient of the loss by the scores, (n,)


class _Outcome(NamedTuple):
    """By sample: ‖output − target‖², and the attention on the selected tokens."""

    squares: Array
    mass: Array


# ------------------------------------------------------------------------ one sample, given scores


@compiled(fastmath=_SUMS)
def _exponential(x: Any) -> Any:
    """exp(x) for a float32 x ≤ 0, within two units in the last place; runs in vector lanes.

    With x = n ln 2 + r, |r| ≤ ½ ln 2, the series for exp(r) ends after the seventh power, and n
    goes to the exponent's bits. Below −87 it is exp(−87) = 2e-38. NaN stays NaN.
    """
    kept = np.float32(-87) if x < np.float32(-87) else x
    turns = np.floor(kept * np.float32(1.4426950408889634) + np.float32(0.5))
    r = kept - turns * np.float32(0.693359375)  # ln 2 in two parts, the first of few bits
    r = r + turns * np.float32(2.12194440e-4)
    series = np.float32(1 / 5040)
    series = series * r + np.float32(1 / 720)
    series = series * r + np.float32(1 / 120)
    series = series * r + np.float32(1 / 24)
    series = series * r + np.float32(1 / 6)
    series = series * r + np.float32(1 / 2)
    series = series * r + np.float32(1)
    series = series * r + np.float32(1)
    return series * np.int32((np.int32(turns) + np.int32(127)) << np.int32(23)).view(np.float32)


@compiled(fastmath=_SUMS)
def _softmax(scores: Array) -> None:
    largest = scores[0]
    for i in range(scores.size):
        largest = max(largest, scores[i])
    total = scores.dtype.type(0)
    if scores.itemsize == 4:
        for i in range(scores.size):
            scores[i] = _exponential(np.float32(scores[i] - largest))
            total += scores[i]
    else:
        for i in range(scores.size):
            scores[i] = np.exp(scores[i] - largest)
            total += scores[i]
    factor = scores.dtype.type(1) / total
    for i in range(scores.size):
        scores[i] *= factor


@compiled()
def _room_for_sample(d: int, n: int, weights: Weights) -> _Sample:
    kind = weights.D.dtype
    return _Sample(
        np.empty(d, kind),
        np.empty(n, kind),
        np.empty(d, kind),
        np.empty(d, kind),
        np.empty(n, kind),
    )


@compiled()
def _set_target(batch: SampleBatch, b: int, target: Array) -> None:
    share = target.dtype.type(1.0 / batch.selected.shape[1])
    for k in range(target.size):
        total = target.dtype.type(0)
        for j in batch.selected[b]:
            total += batch.X[b, batch.coordinates[k], j]
        target[k] = total * share


@compiled(fastmath=_SUMS)
def _respond(X: Array, b: int, sample: _Sample, U: Array, V_x: Array) -> Any:
    """Sets mean and residual of sample b under its attention; returns the residual's squared norm.

    X holds the tokens of all samples, U the codes' values V_e e_i, (d, n).
    """
    attention, mean, residual = sample.attention, sample.mean, sample.residual
    d, T = X.shape[1], X.shape[2]
    zero = attention.dtype.type(0)
    for k in range(d):
        of_tokens, of_codes = zero, zero
        for i in range(T):
            of_tokens += attention[i] * X[b, k, i]
            of_codes += attention[i] * U[k, i]
        if attention.size > T:
            of_codes += attention[T] * U[k, T]
        mean[k] = of_tokens
        residual[k] = of_codes - sample.target[k]
    total = zero
    for k in range(d):
        for m in range(d):
            residual[k] += V_x[k, m] * mean[m]
        total += residual[k] * residual[k]
    return total


@compiled(fastmath=_SUMS)
def _push_scores(X: Array, b: int, sample: _Sample, U: Array, V_x: Array, factor: Any) -> None:
    """``factor`` times the gradient of ½‖residual‖² by the scores, into the sample's pushed."""
    attention, residual, out = sample.attention, sample.residual, sample.pushed
    d, T = X.shape[1], X.shape[2]
    zero = attention.dtype.type(0)
    for i in range(out.size):
        out[i] = zero
    for k in range(d):
        pull, along = zero, residual[k]
        for m in range(d):
            pull += V_x[m, k] * residual[m]
        for i in range(T):
            out[i] += pull * X[b, k, i] + along * U[k, i]
        if out.size > T:
            out[T] += along * U[k, T]
    mean = zero
    for i in range(out.size):
        mean += attention[i] * out[i]
    for i in range(out.size):
        out[i] = factor * attention[i] * (out[i] - mean)


@compiled()
def _note(batch: SampleBatch, b: int, sample: _Sample, square: Any, outcome: _Outcome) -> None:
    outcome.squares[b] = square
    outcome.mass[b] = 0
    for j in batch.selected[b]:
        outcome.mass[b] += sample.attention[j]


@compiled()
def _values_of_codes(V_e: Array, E: Array, n: int) -> Array:
    """V_e Eᵀ, (d, n); the column of the query, where n = T + 1, is left for each sample."""
    U = np.zeros((V_e.shape[0], n), E.dtype)
    U[:, : E.shape[0]] = np.dot(V_e, E.T)
    return U


@compiled()
def _set_query_value(U: Array, queried: Array) -> None:
    """The last column: the sum of the queried columns."""
    last = U.shape[1] - 1
    for k in range(U.shape[0]):
        total = U.dtype.type(0)
        for j in queried:
            total += U[k, j]
        U[k, last] = total


# ------------------------------------------------------------------------------------ whole batches


@compiled(fastmath=_SUMS)
def _shared_scores(G: Array, H: Array, X: Array, b: int, queried: Array, scores: Array) -> None:
    """Scores of sample b from E D Eᵀ (columns as rows of G) and B Eᵀ (H)."""
    d, T = X.shape[1], X.shape[2]
    first = queried[0]
    for i in range(T):
        scores[i] = G[first, i]
    for n in range(1, queried.size):
        j = queried[n]
        for i in range(T):
            scores[i] += G[j, i]
    for k in range(d):
        pull = scores.dtype.type(0)
        for j in queried:
            pull += H[k, j]
        for i in range(T):
            scores[i] += pull * X[b, k, i]
    if scores.size > T:
        scores[T] = 0
        for j in queried:
            for i in queried:
                scores[T] += G[j, i]


@compiled(fastmath=_SUMS)
def _add_slopes(
    X: Array, b: int, queried: Array, sample: _Sample, step: Any, M: Array, N: Array, R: Array
) -> None:
    """Adds the share of sample b to the gradients, in terms of the codes.

    For D, the sample's pushed is added to the row of M of each queried position; for B to N,
    likewise by coordinate; for V_e, ``step`` times the residual to R, by coordinate and position.
    """
    attention, pushed = sample.attention, sample.pushed
    d, T = X.shape[1], X.shape[2]
    asks_itself = attention.size > T
    for j in queried:
        for i in range(T):
            M[j, i] += pushed[i]
        if asks_itself:
            for i in queried:
                M[j, i] += pushed[T]
    for k in range(d):
        along = attention.dtype.type(0)
        r = step * sample.residual[k]
        for i in range(T):
            along += pushed[i] * X[b, k, i]
            R[k, i] += r * attention[i]
        for j in queried:
            N[k, j] += along
            if asks_itself:
                R[k, j] += r * attention[T]


@compiled()
def _shared_codes_pass(
    batch: SampleBatch,
    weights: Weights,
    attend_query: bool,
    factor: float,
    outcome: _Outcome,
    slopes: Any,
) -> None:
    """Sets outcome and gradient of samples that share their codes.

    The loss is ``factor`` · mean ‖output − target‖². ``slopes`` receives the gradient by all
    weights but ``idle``; None asks for none.
    """
    samples, d, T = batch.X.shape
    n = T + 1 if attend_query else T
    kind = weights.D.dtype
    E = batch.E[0].astype(kind)
    G = np.dot(E, np.dot(E, weights.D).T)
    H = np.dot(weights.B, E.T)
    U = _values_of_codes(weights.V_e, E, n)
    sample = _room_for_sample(d, n, weights)
    if slopes is not None:
        M, N, R = np.zeros((T, T), kind), np.zeros((d, T), kind), np.zeros((d, T), kind)
        slopes.V_x[...] = 0
        step = kind.type(2 * factor / samples)
    for b in range(samples):
        queried = batch.queried[b]
        _set_target(batch, b, sample.target)
        if attend_query:
            _set_query_value(U, queried)
        _shared_scores(G, H, batch.X, b, queried, sample.attention)
        _softmax(sample.attention)
        _note(batch, b, sample, _respond(batch.X, b, sample, U, weights.V_x), outcome)
        if slopes is not None:
            _push_scores(batch.X, b, sample, U, weights.V_x, step)
            _add_slopes(batch.X, b, queried, sample, step, M, N, R)
            for k in range(d):
                for m in range(d):
                    slopes.V_x[k, m] += step * sample.residual[k] * sample.mean[m]
    if slopes is not None:
        np.dot(np.dot(M, E).T, E, slopes.D)
        np.dot(N, E, slopes.B)
        np.dot(R, E, slopes.V_e)


@compiled()
def _own_scores(E: Array, s: Array, weights: Weights, X: Array, scores: Array) -> None:
    """Scores of one sample with codes of its own, s the sum of the queried ones."""
    T = X.shape[1]
    key = np.dot(weights.D, s)
    scores[:T] = np.dot(E, key) + np.dot(np.dot(weights.B, s), X)
    if scores.size > T:
        scores[T] = np.dot(s, key)


@compiled()
def _sum_rows(E: Array, rows: Array) -> Array:
    total = np.zeros(E.shape[1], E.dtype)
    for j in rows:
        total += E[j]
    return total


@compiled()
def _own_codes_pass(
    batch: SampleBatch,
    weights: Weights,
    attend_query: bool,
    factor: float,
    outcome: _Outcome,
    slopes: Any,
) -> None:
    """As `_shared_codes_pass`, where each sample has codes of its own."""
    samples, d, T = batch.X.shape
    d_e = batch.E.shape[2]
    n = T + 1 if attend_query else T
    kind = weights.D.dtype
    E = np.empty((T, d_e), kind)
    X = np.empty((1, d, T), kind)
    sample = _room_for_sample(d, n, weights)
    if slopes is not None:
        keys, queries = np.empty((samples, d_e), kind), np.empty((samples, d_e), kind)
        slopes.B[...] = 0
        slopes.V_x[...] = 0
        slopes.V_e[...] = 0
        step = kind.type(2 * factor / samples)
    for b in range(samples):
        E[...] = batch.E[b]
        X[0] = batch.X[b]
        _set_target(batch, b, sample.target)
        U = _values_of_codes(weights.V_e, E, n)
        if attend_query:
            _set_query_value(U, batch.queried[b])
        s = _sum_rows(E, batch.queried[b])
        _own_scores(E, s, weights, X[0], sample.attention)
        _softmax(sample.attention)
        _note(batch, b, sample, _respond(X, 0, sample, U, weights.V_x), outcome)
        if slopes is not None:
            pushed = sample.pushed
            _push_scores(X, 0, sample, U, weights.V_x, step)
            queries[b] = s
            keys[b] = np.dot(pushed[:T], E)
            value = np.dot(sample.attention[:T], E)
            if attend_query:
                keys[b] += pushed[T] * s
                value += sample.attention[T] * s
            for k in range(d):
                r = step * sample.residual[k]
                slopes.B[k] += np.dot(pushed[:T], X[0, k]) * s
                slopes.V_e[k] += r * value
                for m in range(d):
                    slopes.V_x[k, m] += r * sample.mean[m]
    if slopes is not None:
        np.dot(keys.T, queries, slopes.D)


@compiled()
def _pass(
    batch: SampleBatch,
    weights: Weights,
    attend_query: bool,
    factor: float,
    outcome: _Outcome,
    slopes: Any,
    own_codes: Any,
) -> None:
    """`_own_codes_pass` where ``own_codes``, from `_own_codes`, is True; else the shared one."""
    if own_codes is None:
        _shared_codes_pass(batch, weights, attend_query, factor, outcome, slopes)
    else:
        _own_codes_pass(batch, weights, attend_query, factor, outcome, slopes)


def _own_codes(batch: SampleBatch) -> bool | None:
    """True where samples have codes of their own, else None: only the pass in use is compiled."""
    return None if len(batch.E) == 1 else True


def _room_for_outcome(batch: SampleBatch, weights: Weights) -> _Outcome:
    kind = weights.D.dtype
    return _Outcome(np.empty(len(batch.X), kind), np.empty(len(batch.X), kind))


def losses(
    batch: SampleBatch, weights: Weights, attend_query: bool = False
) -> tuple[Float[Array, " batch"], Float[Array, " batch"]]:
    """Per sample ½‖output − target‖², and the attention on the selected tokens; both in double.

    So means of a training that is about to diverge do not overflow.
    """
    outcome = _room_for_outcome(batch, weights)
    with one_thread():
        _pass(batch, weights, attend_query, 0.5, outcome, None, _own_codes(batch))
    return outcome.squares.astype(np.float64) / 2, outcome.mass.astype(np.float64)


def gradient(
    batch: SampleBatch, weights: Weights, attend_query: bool = False, factor: float = 0.5
) -> tuple[float, Weights]:
    """The batch's loss, ``factor`` × mean ‖output − target‖², and its gradient."""
    outcome, slopes = _room_for_outcome(batch, weights), Weights.zeros_like(weights)
    with one_thread():
        _pass(batch, weights, attend_query, factor, outcome, slopes, _own_codes(batch))
    return factor * float(outcome.squares.astype(np.float64).mean()), slopes


@compiled()
def _descend(block: Array, slope: Array, rate: Any) -> None:
    flat, steep = block.reshape(-1), slope.reshape(-1)
    for i in range(flat.size):
        flat[i] -= rate * steep[i]


@compiled()
def _train(
    start: int,
    stop: int,
    how: Sgd,
    scratch: SampleBatch,
    weights: Weights,
    outcome: _Outcome,
    slopes: Weights,
    own_codes: Any,
) -> None:
    for step in range(start, stop):
        fill_batch(child(how.key, step), how.law, scratch)
        _pass(scratch, weights, how.attend_query, how.factor, outcome, slopes, own_codes)
        rate = weights.D.dtype.type(how.rate if step < how.anneal_at else how.annealed_rate)
        _descend(weights.B, slopes.B, rate)
        _descend(weights.D, slopes.D, rate)
        _descend(weights.V_x, slopes.V_x, rate)
        _descend(weights.V_e, slopes.V_e, rate)


def train_steps(start: int, stop: int, how: Sgd, scratch: SampleBatch, weights: Weights) -> None:
    """Trains the weights in place, from step ``start`` to ``stop − 1``.

    ``scratch`` is room for a batch, with the codes in it where they are not redrawn.
    """
    outcome, slopes = _room_for_outcome(scratch, weights), Weights.zeros_like(weights)
    with one_thread():
        _train(start, stop, how, scratch, weights, outcome, slopes, _own_codes(scratch))
