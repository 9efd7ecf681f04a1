"""The same loss and gradient without the tokens' matrix, and the whole training loop, compiled.

The query's token block is zero, so of W_KQ only the columns that meet a code matter: B (d × d_e)
above D (d_e × d_e). With the codes e_i as rows of E, and W_V = (V_x, V_e), the score of token i is

    x_i · Σ_{j∈y} B e_j + Σ_{j∈y} e_i · D e_j,

so that one (T × T) matrix E D Eᵀ, of which each sample adds up the q columns of its subset, holds
the scores of all samples that share their codes; B Eᵀ and V_e Eᵀ (d × T each) do the rest. Nothing
of the size batch × (d + d_e) × T is built. Backwards, a sample's score gradients are added to the q
columns of a second T × T matrix M, and the gradient of D is Eᵀ M E.

Where each sample has codes of its own the same formulas are applied to one sample at a time.

Everything runs on one thread, matrix products included: they are too small to share out, and their
bits would depend on the number of threads. Results do not depend on how steps are cut into calls.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.papers.wang2024.compiling import compiled, one_thread
from reproaudit.papers.wang2024.sampling import (
    OTHER_SUBSETS,
    SUBSETS,
    child,
    fill_codes,
    fill_subsets,
    fill_tokens,
)

Array = NDArray[Any]

_SUMS = {"reassoc", "contract", "nsz", "arcp"}  # sums in vector lanes; NaN and infinity keep theirs


@dataclass(frozen=True)
class Weights:
    """W_KQ and W_V in blocks, all of one precision.

    Attributes:
        B: W_KQ's block from codes to tokens, (d, d_e).
        D: W_KQ's block from codes to codes, (d_e, d_e).
        V_x: W_V's block of the tokens, (d, d).
        V_e: W_V's block of the codes, (d, d_e).
        idle: the columns of W_KQ that meet the query's zero block, (d + d_e, d); without gradient.
    """

    B: Array
    D: Array
    V_x: Array
    V_e: Array
    idle: Array

    @staticmethod
    def draw(rng: np.random.Generator, d: int, d_e: int, scale: float, dtype: Any) -> Weights:
        """Independent normal entries of standard deviation ``scale``; zeros for 0."""

        def entries(*shape: int) -> Array:
            return np.asarray(scale * rng.standard_normal(shape), dtype=dtype)

        return Weights(
            entries(d, d_e), entries(d_e, d_e), entries(d, d), entries(d, d_e), entries(d + d_e, d)
        )

    def set_identity(self, alpha: float, v: float) -> None:
        """Makes it the ground truth: W_KQ = α I on the codes, W_V = v I on the tokens, else 0."""
        for one in fields(self):
            getattr(self, one.name)[...] = 0.0
        np.fill_diagonal(self.D, alpha)
        np.fill_diagonal(self.V_x, v)

    @property
    def key_query(self) -> Array:
        """W_KQ, (d + d_e, d + d_e)."""
        return np.concatenate([self.idle, np.concatenate([self.B, self.D])], axis=1)

    @property
    def value(self) -> Array:
        """W_V, (d, d + d_e)."""
        return np.concatenate([self.V_x, self.V_e], axis=1)

    @property
    def trained(self) -> dict[str, Array]:
        """The blocks that have a gradient, by name."""
        return {"B": self.B, "D": self.D, "V_x": self.V_x, "V_e": self.V_e}

    @property
    def state(self) -> dict[str, Array]:
        """Every block, by name."""
        return {**self.trained, "idle": self.idle}


@dataclass(frozen=True)
class Batch:
    """Samples of the task.

    Attributes:
        X: tokens, (batch, d, T), float32.
        selected: positions whose mean is the target, (batch, q).
        queried: positions whose codes make the query, (batch, q); in controls not those selected.
        source: whose tokens the target is taken from, (batch,); in controls another sample's.
        E: codes, (1, T, d_e) where samples share them, else (batch, T, d_e), float32.
    """

    X: Array
    selected: Array
    queried: Array
    source: Array
    E: Array

    @staticmethod
    def empty(samples: int, d: int, T: int, q: int, d_e: int, shared: bool) -> Batch:
        """Room for a batch that each sample's own tokens are the target of."""
        return Batch(
            np.empty((samples, d, T), np.float32),
            np.empty((samples, q), np.int64),
            np.empty((samples, q), np.int64),
            np.arange(samples),
            np.empty((1 if shared else samples, T, d_e), np.float32),
        )


# ------------------------------------------------------------------------ one sample, given scores


@compiled(fastmath=_SUMS)
def _softmax(scores: Array) -> None:
    largest = scores[0]
    for i in range(scores.size):
        largest = max(largest, scores[i])
    for i in range(scores.size):
        scores[i] = np.exp(scores[i] - largest)
    total = scores.dtype.type(0)
    for i in range(scores.size):
        total += scores[i]
    factor = scores.dtype.type(1) / total
    for i in range(scores.size):
        scores[i] *= factor


@compiled(fastmath=_SUMS)
def _dot(a: Array, b: Array) -> Any:
    total = a.dtype.type(0)
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled(fastmath=_SUMS)
def _add(to: Array, factor: Any, what: Array) -> None:
    for i in range(to.size):
        to[i] += factor * what[i]


@compiled(fastmath=_SUMS)
def _respond(
    weights: Array, X: Array, U: Array, V_x: Array, target: Array, mean: Array, residual: Array
) -> Any:
    """The residual of one sample under attention weights; returns its squared norm.

    Args:
        weights: over the attended tokens, (n,), n = T or T + 1.
        X: tokens, (d, T).
        U: the codes' values, V_e e_i, (d, n).
        V_x: W_V's block of the tokens.
        target: (d,).
        mean: receives Σ a_i x_i, (d,).
        residual: receives output − target, (d,).
    """
    d, T = X.shape
    for k in range(d):
        mean[k] = _dot(weights[:T], X[k])
    total = weights.dtype.type(0)
    for k in range(d):
        output = _dot(weights, U[k])
        for m in range(d):
            output += V_x[k, m] * mean[m]
        residual[k] = output - target[k]
        total += residual[k] * residual[k]
    return total


@compiled(fastmath=_SUMS)
def _score_gradient(
    weights: Array, X: Array, U: Array, V_x: Array, residual: Array, factor: Any, out: Array
) -> None:
    """``factor`` times the gradient of ½‖residual‖² with respect to the scores, (n,)."""
    d, T = X.shape
    out[:] = 0
    for k in range(d):
        pull = weights.dtype.type(0)
        for m in range(d):
            pull += V_x[m, k] * residual[m]
        _add(out[:T], pull, X[k])
        _add(out, residual[k], U[k])
    mean = _dot(weights, out)
    for i in range(out.size):
        out[i] = factor * weights[i] * (out[i] - mean)


@compiled()
def _tokens_and_target(
    X: Array, selected: Array, source: Array, b: int, tokens: Array, target: Array
) -> None:
    """One sample's tokens in the working precision, and its target."""
    tokens[...] = X[b]
    share = target.dtype.type(1.0 / selected.shape[1])
    for k in range(target.size):
        total = target.dtype.type(0)
        for j in selected[b]:
            total += X[source[b], k, j]
        target[k] = total * share


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


@compiled(fastmath=_SUMS)
def _shared_scores(G: Array, H: Array, X: Array, queried: Array, scores: Array) -> None:
    """Scores of one sample from E D Eᵀ (columns as rows of G) and B Eᵀ (H)."""
    d, T = X.shape
    scores[:] = 0
    for j in queried:
        _add(scores[:T], G.dtype.type(1), G[j])
        for k in range(d):
            _add(scores[:T], H[k, j], X[k])
    if scores.size > T:
        for j in queried:
            for i in queried:
                scores[T] += G[j, i]


@compiled()
def _loss_shared(
    X: Array,
    selected: Array,
    queried: Array,
    source: Array,
    E: Array,
    B: Array,
    D: Array,
    V_x: Array,
    V_e: Array,
    attend_query: bool,
    losses: Array,
    mass: Array,
) -> None:
    """Per sample ‖output − target‖² and the attention on the selected tokens; shared codes."""
    samples, d, T = X.shape
    n = T + 1 if attend_query else T
    G = np.dot(E, np.dot(E, D).T)
    H = np.dot(B, E.T)
    U = _values_of_codes(V_e, E, n)
    tokens, scores = np.empty((d, T), E.dtype), np.empty(n, E.dtype)
    target, mean, residual = np.empty(d, E.dtype), np.empty(d, E.dtype), np.empty(d, E.dtype)
    for b in range(samples):
        _tokens_and_target(X, selected, source, b, tokens, target)
        if attend_query:
            _set_query_value(U, queried[b])
        _shared_scores(G, H, tokens, queried[b], scores)
        _softmax(scores)
        losses[b] = _respond(scores, tokens, U, V_x, target, mean, residual)
        mass[b] = 0
        for j in selected[b]:
            mass[b] += scores[j]


@compiled()
def _gradient_shared(
    X: Array,
    selected: Array,
    queried: Array,
    source: Array,
    E: Array,
    B: Array,
    D: Array,
    V_x: Array,
    V_e: Array,
    attend_query: bool,
    factor: float,
    dB: Array,
    dD: Array,
    dV_x: Array,
    dV_e: Array,
) -> float:
    """The loss of a batch with shared codes; writes its gradient."""
    samples, d, T = X.shape
    n = T + 1 if attend_query else T
    kind = E.dtype
    G = np.dot(E, np.dot(E, D).T)
    H = np.dot(B, E.T)
    U = _values_of_codes(V_e, E, n)
    tokens, scores, pushed = np.empty((d, T), kind), np.empty(n, kind), np.empty(n, kind)
    target, mean, residual = np.empty(d, kind), np.empty(d, kind), np.empty(d, kind)
    M, N, R = np.zeros((T, T), kind), np.zeros((d, T), kind), np.zeros((d, T), kind)
    dV_x[...] = 0
    slope = kind.type(2 * factor / samples)
    total = 0.0
    for b in range(samples):
        _tokens_and_target(X, selected, source, b, tokens, target)
        if attend_query:
            _set_query_value(U, queried[b])
        _shared_scores(G, H, tokens, queried[b], scores)
        _softmax(scores)
        total += _respond(scores, tokens, U, V_x, target, mean, residual)
        _score_gradient(scores, tokens, U, V_x, residual, slope, pushed)
        for j in queried[b]:
            _add(M[j], kind.type(1), pushed[:T])
            if attend_query:
                for i in queried[b]:
                    M[j, i] += pushed[T]
        for k in range(d):
            along = _dot(pushed[:T], tokens[k])
            for j in queried[b]:
                N[k, j] += along
            r = slope * residual[k]
            _add(R[k], r, scores[:T])
            if attend_query:
                for j in queried[b]:
                    R[k, j] += r * scores[T]
            for m in range(d):
                dV_x[k, m] += r * mean[m]
    np.dot(np.dot(M, E).T, E, dD)
    np.dot(N, E, dB)
    np.dot(R, E, dV_e)
    return float(factor * total / samples)


@compiled()
def _own_scores(E: Array, s: Array, B: Array, D: Array, X: Array, scores: Array) -> None:
    """Scores of one sample with codes of its own, s the sum of the queried ones."""
    T = X.shape[1]
    key = np.dot(D, s)
    scores[:T] = np.dot(E, key) + np.dot(np.dot(B, s), X)
    if scores.size > T:
        scores[T] = np.dot(s, key)


@compiled()
def _sum_rows(E: Array, rows: Array) -> Array:
    total = np.zeros(E.shape[1], E.dtype)
    for j in rows:
        total += E[j]
    return total


@compiled()
def _loss_own(
    X: Array,
    selected: Array,
    queried: Array,
    source: Array,
    codes: Array,
    B: Array,
    D: Array,
    V_x: Array,
    V_e: Array,
    attend_query: bool,
    losses: Array,
    mass: Array,
) -> None:
    """As `_loss_shared`, for samples with codes of their own, (samples, T, d_e)."""
    samples, d, T = X.shape
    n = T + 1 if attend_query else T
    kind = D.dtype
    E = np.empty(codes.shape[1:], kind)
    tokens, scores = np.empty((d, T), kind), np.empty(n, kind)
    target, mean, residual = np.empty(d, kind), np.empty(d, kind), np.empty(d, kind)
    for b in range(samples):
        E[...] = codes[b]
        _tokens_and_target(X, selected, source, b, tokens, target)
        U = _values_of_codes(V_e, E, n)
        if attend_query:
            _set_query_value(U, queried[b])
        _own_scores(E, _sum_rows(E, queried[b]), B, D, tokens, scores)
        _softmax(scores)
        losses[b] = _respond(scores, tokens, U, V_x, target, mean, residual)
        mass[b] = 0
        for j in selected[b]:
            mass[b] += scores[j]


@compiled()
def _gradient_own(
    X: Array,
    selected: Array,
    queried: Array,
    source: Array,
    codes: Array,
    B: Array,
    D: Array,
    V_x: Array,
    V_e: Array,
    attend_query: bool,
    factor: float,
    dB: Array,
    dD: Array,
    dV_x: Array,
    dV_e: Array,
) -> float:
    """As `_gradient_shared`, for samples with codes of their own, (samples, T, d_e)."""
    samples, d, T = X.shape
    d_e = codes.shape[2]
    n = T + 1 if attend_query else T
    kind = D.dtype
    E = np.empty(codes.shape[1:], kind)
    tokens, scores, pushed = np.empty((d, T), kind), np.empty(n, kind), np.empty(n, kind)
    target, mean, residual = np.empty(d, kind), np.empty(d, kind), np.empty(d, kind)
    keys, queries = np.empty((samples, d_e), kind), np.empty((samples, d_e), kind)
    dB[...] = 0
    dV_x[...] = 0
    dV_e[...] = 0
    slope = kind.type(2 * factor / samples)
    total = 0.0
    for b in range(samples):
        E[...] = codes[b]
        _tokens_and_target(X, selected, source, b, tokens, target)
        U = _values_of_codes(V_e, E, n)
        if attend_query:
            _set_query_value(U, queried[b])
        s = _sum_rows(E, queried[b])
        _own_scores(E, s, B, D, tokens, scores)
        _softmax(scores)
        total += _respond(scores, tokens, U, V_x, target, mean, residual)
        _score_gradient(scores, tokens, U, V_x, residual, slope, pushed)
        queries[b] = s
        keys[b] = np.dot(pushed[:T], E)
        value = np.dot(scores[:T], E)
        if attend_query:
            keys[b] += pushed[T] * s
            value += scores[T] * s
        for k in range(d):
            _add(dB[k], _dot(pushed[:T], tokens[k]), s)
            _add(dV_e[k], slope * residual[k], value)
            for m in range(d):
                dV_x[k, m] += slope * residual[k] * mean[m]
    np.dot(keys.T, queries, dD)
    return float(factor * total / samples)


def _arguments(batch: Batch, weights: Weights, *others: Any) -> tuple[Any, ...]:
    """What the compiled functions take, with shared codes in the working precision."""
    shared = len(batch.E) == 1
    codes = batch.E[0].astype(weights.D.dtype) if shared else batch.E
    data = (batch.X, batch.selected, batch.queried, batch.source, codes)
    return (*data, *weights.trained.values(), *others)


def losses(batch: Batch, weights: Weights, attend_query: bool = False) -> tuple[Array, Array]:
    """Per sample ½‖output − target‖² and the attention on the selected tokens, (batch,) each.

    Computed in the weights' precision and returned in double, so that means of a training that is
    about to diverge do not overflow.
    """
    kind = weights.D.dtype
    squares, mass = np.empty(len(batch.X), kind), np.empty(len(batch.X), kind)
    arguments = _arguments(batch, weights, attend_query, squares, mass)
    with one_thread():
        if len(batch.E) == 1:
            _loss_shared(*arguments)
        else:
            _loss_own(*arguments)
    return squares.astype(np.float64) / 2, mass.astype(np.float64)


def gradient(
    batch: Batch, weights: Weights, attend_query: bool = False, factor: float = 0.5
) -> tuple[float, dict[str, Array]]:
    """The batch's loss, ``factor`` × mean ‖output − target‖², and its gradient by block."""
    slopes = {name: np.empty_like(block) for name, block in weights.trained.items()}
    arguments = _arguments(batch, weights, attend_query, factor, *slopes.values())
    with one_thread():
        if len(batch.E) == 1:
            return _gradient_shared(*arguments), slopes
        return _gradient_own(*arguments), slopes


# ---------------------------------------------------------------------------------------- training


@compiled()
def fill_batch(
    key: Any,
    subset_key: Any,
    other_query: bool,
    other_targets: bool,
    X: Array,
    selected: Array,
    queried: Array,
    source: Array,
) -> None:
    """Draws tokens and subsets, and ties queries and targets to them.

    Args:
        key: the batch's key.
        subset_key: of the subset that all samples share; 0 where each has its own.
        other_query: whether the query is drawn independently of the selected subset (a control).
        other_targets: whether a target is taken from the next sample's tokens (a control).
        X: receives the tokens.
        selected: receives the subsets.
        queried: receives the subsets whose codes make the query.
        source: receives the sample whose tokens make the target.
    """
    fill_tokens(key, X)
    samples, _, T = X.shape
    if subset_key != np.uint64(0):
        fill_subsets(subset_key, SUBSETS, T, selected[:1])
    else:
        fill_subsets(key, SUBSETS, T, selected)
    if other_query:
        fill_subsets(key, OTHER_SUBSETS, T, queried)
    for b in range(samples):
        source[b] = (b + 1) % samples if other_targets else b
        for k in range(selected.shape[1]):
            if subset_key != np.uint64(0):
                selected[b, k] = selected[0, k]
            if not other_query:
                queried[b, k] = selected[b, k]


@compiled()
def _descend(block: Array, slope: Array, rate: Any) -> None:
    flat, steep = block.reshape(-1), slope.reshape(-1)
    for i in range(flat.size):
        flat[i] -= rate * steep[i]


@compiled()
def _train_shared(
    start: int,
    stop: int,
    key: Any,
    subset_key: Any,
    other_query: bool,
    other_targets: bool,
    redraw_codes: bool,
    code_law: int,
    code_scale: float,
    attend_query: bool,
    factor: float,
    rate: float,
    annealed_rate: float,
    anneal_at: int,
    X: Array,
    selected: Array,
    queried: Array,
    source: Array,
    codes: Array,
    B: Array,
    D: Array,
    V_x: Array,
    V_e: Array,
) -> None:
    """`train_steps` where the samples of a batch share their codes."""
    kind = D.dtype
    dB, dD = np.empty_like(B), np.empty_like(D)
    dV_x, dV_e = np.empty_like(V_x), np.empty_like(V_e)
    E = codes[0].astype(kind)
    for step in range(start, stop):
        drawn = child(key, step)
        fill_batch(drawn, subset_key, other_query, other_targets, X, selected, queried, source)
        if redraw_codes:
            fill_codes(drawn, code_law, code_scale, codes[0])
            E[...] = codes[0]
        data = (X, selected, queried, source, E)
        blocks = (B, D, V_x, V_e)
        _gradient_shared(*data, *blocks, attend_query, factor, dB, dD, dV_x, dV_e)
        at = kind.type(rate if step < anneal_at else annealed_rate)
        _descend(B, dB, at)
        _descend(D, dD, at)
        _descend(V_x, dV_x, at)
        _descend(V_e, dV_e, at)


@dataclass(frozen=True)
class Sgd:
    """How a layer is trained: online stochastic gradient descent, a fresh batch at each step.

    Attributes:
        key: step k draws under child k of it.
        subset_key: of the subset that all samples share; 0 where each has its own.
        other_query: whether the query is drawn independently of the selected subset (a control).
        other_targets: whether a target is taken from the next sample's tokens (a control).
        redraw_codes: whether codes are drawn at each step; else those of the scratch batch stay.
        code_law: one of `CODE_LAWS`.
        code_scale: the standard deviation of a code's entry.
        attend_query: whether the query is among the attended tokens.
        factor: c in the loss c · mean ‖output − target‖².
        rate: the learning rate at first.
        annealed_rate: from step ``anneal_at`` on.
        anneal_at: a training step.
    """

    key: np.uint64
    subset_key: np.uint64
    other_query: bool
    other_targets: bool
    redraw_codes: bool
    code_law: int
    code_scale: float
    attend_query: bool
    factor: float
    rate: float
    annealed_rate: float
    anneal_at: int


def train_steps(start: int, stop: int, how: Sgd, scratch: Batch, weights: Weights) -> None:
    """Steps ``start`` to ``stop − 1``, in place.

    Args:
        start: first step.
        stop: one past the last.
        how: the training.
        scratch: room for a batch, with the codes in it where they are not redrawn.
        weights: what is trained.
    """
    if len(scratch.E) == 1:
        options: tuple[Any, ...] = tuple(vars(how).values())
        arrays: tuple[Any, ...] = tuple(vars(scratch).values())
        arguments = (start, stop, *options, *arrays, *weights.trained.values())
        with one_thread():
            _train_shared(*arguments)
        return
    for step in range(start, stop):
        _step_with_own_codes(step, how, scratch, weights)


def _step_with_own_codes(step: int, how: Sgd, scratch: Batch, weights: Weights) -> None:
    key = np.uint64(child(how.key, step))
    X, selected, queried, source, codes = vars(scratch).values()
    fill_batch(
        key, how.subset_key, how.other_query, how.other_targets, X, selected, queried, source
    )
    if how.redraw_codes:
        fill_codes(key, how.code_law, how.code_scale, codes.reshape(-1, codes.shape[2]))
    _, slopes = gradient(scratch, weights, how.attend_query, how.factor)
    rate = how.rate if step < how.anneal_at else how.annealed_rate
    for name, block in weights.trained.items():
        block -= block.dtype.type(rate) * slopes[name]
