"""The recursion compiled for the CPU: loss, hand-written gradient and the whole Adam loop.

The recursion is that of `recursion` (derived there): per prompt, with S = (1/n) Σ x xᵀ,

    b_{l+1} = b_l + C_l u_l,    s_l = S b_l,  v_l = C_lᵀ s_l,  u_l = A_lᵀ v_l,
    C_{l+1} = C_l + C_l T_l,    G_l = S C_l,  H_l = C_lᵀ G_l,  N_l = H_l B_lᵀ,  T_l = A_lᵀ N_l.

Prompts lie in groups of `LANES`, the prompt being the innermost axis of every array, so that each
scalar operation of the recursion is one vector instruction for a whole group. Groups lie in blocks
of a fixed size; each block sums its own gradient and the blocks are added in their order, so the
bits of a result do not depend on the number of threads. Multiply-adds are explicit for the same
reason: the compiler is left no choice of what to contract, however it inlines.

Arrays are plain NumPy; there is no module state. The number of threads is Numba's own
(`numba.set_num_threads`); with one thread, or little work, no parallel region is entered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.extending import intrinsic
from numpy.typing import NDArray

LANES = 16
"""Prompts per group: one 512-bit vector of float32, or two of float64."""

GROUPS_PER_BLOCK = 16
"""Groups whose gradients are summed in the working precision before going to float64."""

Array = NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(**options: Any) -> Callable[[Function], Function]:
    """Numba's decorator, typed. ``forceinline`` leaves shapes known to the loop vectoriser."""
    return cast("Callable[[Function], Function]", numba.njit(cache=True, nogil=True, **options))


@intrinsic  # type: ignore[untyped-decorator]
def _fma(_context: Any, a: Any, b: Any, c: Any) -> Any:  # noqa: ARG001 (their types are needed)
    """a·b + c, rounded once."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return c(c, c, c), generate


# Products over one group. A matrix is (d·d, LANES), a vector (d, LANES); `_p` marks a parameter,
# the same (d, d) matrix for every prompt. `d` is a constant to the compiler (see `_block`), which
# unrolls every loop but the one over lanes, and keeps a row of the result in registers.


@_compiled(forceinline=True)
def _product(out: Array, a: Array, b: Array, d: int) -> None:
    """Out = a b."""
    for i in range(d):
        for lane in range(LANES):
            for j in range(d):
                total = a[i * d, lane] * b[j, lane]
                for k in range(1, d):
                    total = _fma(a[i * d + k, lane], b[k * d + j, lane], total)
                out[i * d + j, lane] = total


@_compiled(forceinline=True)
def _product_tn(out: Array, a: Array, b: Array, d: int) -> None:
    """Out = aᵀ b."""
    for i in range(d):
        for lane in range(LANES):
            for j in range(d):
                total = a[i, lane] * b[j, lane]
                for k in range(1, d):
                    total = _fma(a[k * d + i, lane], b[k * d + j, lane], total)
                out[i * d + j, lane] = total


@_compiled(forceinline=True)
def _symmetric_product_tn(out: Array, a: Array, b: Array, d: int) -> None:
    """Out = aᵀ b where that is known to be symmetric."""
    for i in range(d):
        for lane in range(LANES):
            for j in range(i, d):
                total = a[i, lane] * b[j, lane]
                for k in range(1, d):
                    total = _fma(a[k * d + i, lane], b[k * d + j, lane], total)
                out[i * d + j, lane] = total
                out[j * d + i, lane] = total


@_compiled(forceinline=True)
def _add_product(out: Array, a: Array, b: Array, d: int) -> None:
    """Out += a b."""
    for i in range(d):
        for lane in range(LANES):
            for j in range(d):
                total = out[i * d + j, lane]
                for k in range(d):
                    total = _fma(a[i * d + k, lane], b[k * d + j, lane], total)
                out[i * d + j, lane] = total


@_compiled(forceinline=True)
def _add_product_nt(out: Array, a: Array, b: Array, d: int) -> None:
    """Out += a bᵀ."""
    for i in range(d):
        for lane in range(LANES):
            for j in range(d):
                total = out[i * d + j, lane]
                for k in range(d):
                    total = _fma(a[i * d + k, lane], b[j * d + k, lane], total)
                out[i * d + j, lane] = total


@_compiled(forceinline=True)
def _add_product_tn(out: Array, a: Array, b: Array, d: int) -> None:
    """Out += aᵀ b."""
    for i in range(d):
        for lane in range(LANES):
            for j in range(d):
                total = out[i * d + j, lane]
                for k in range(d):
                    total = _fma(a[k * d + i, lane], b[k * d + j, lane], total)
                out[i * d + j, lane] = total


@_compiled(forceinline=True)
def _product_p(out: Array, p: Array, b: Array, d: int) -> None:
    """Out = p b."""
    for i in range(d):
        for lane in range(LANES):
            for j in range(d):
                total = p[i, 0] * b[j, lane]
                for k in range(1, d):
                    total = _fma(p[i, k], b[k * d + j, lane], total)
                out[i * d + j, lane] = total


@_compiled(forceinline=True)
def _product_from_right_p(out: Array, a: Array, p: Array, d: int) -> None:
    """Out = a p."""
    for i in range(d):
        for lane in range(LANES):
            for j in range(d):
                total = a[i * d, lane] * p[0, j]
                for k in range(1, d):
                    total = _fma(a[i * d + k, lane], p[k, j], total)
                out[i * d + j, lane] = total


@_compiled(forceinline=True)
def _apply(out: Array, a: Array, x: Array, d: int) -> None:
    """Out = a x."""
    for lane in range(LANES):
        for i in range(d):
            total = a[i * d, lane] * x[0, lane]
            for k in range(1, d):
                total = _fma(a[i * d + k, lane], x[k, lane], total)
            out[i, lane] = total


@_compiled(forceinline=True)
def _apply_t(out: Array, a: Array, x: Array, d: int) -> None:
    """Out = aᵀ x."""
    for lane in range(LANES):
        for i in range(d):
            total = a[i, lane] * x[0, lane]
            for k in range(1, d):
                total = _fma(a[k * d + i, lane], x[k, lane], total)
            out[i, lane] = total


@_compiled(forceinline=True)
def _apply_p(out: Array, p: Array, x: Array, d: int) -> None:
    """Out = p x."""
    for lane in range(LANES):
        for i in range(d):
            total = p[i, 0] * x[0, lane]
            for k in range(1, d):
                total = _fma(p[i, k], x[k, lane], total)
            out[i, lane] = total


@_compiled(forceinline=True)
def _plus_apply(out: Array, y: Array, a: Array, x: Array, d: int) -> None:
    """Out = y + a x."""
    for lane in range(LANES):
        for i in range(d):
            total = y[i, lane]
            for k in range(d):
                total = _fma(a[i * d + k, lane], x[k, lane], total)
            out[i, lane] = total


@_compiled(forceinline=True)
def _plus_apply_p(out: Array, y: Array, p: Array, x: Array, d: int) -> None:
    """Out = y + p x."""
    for lane in range(LANES):
        for i in range(d):
            total = y[i, lane]
            for k in range(d):
                total = _fma(p[i, k], x[k, lane], total)
            out[i, lane] = total


@_compiled(forceinline=True)
def _add_outer(out: Array, x: Array, y: Array, d: int) -> None:
    """Out += x yᵀ."""
    for i in range(d):
        for lane in range(LANES):
            for j in range(d):
                out[i * d + j, lane] = _fma(x[i, lane], y[j, lane], out[i * d + j, lane])


@_compiled(forceinline=True)
def _add_two_outer(out: Array, x: Array, y: Array, z: Array, t: Array, d: int) -> None:
    """Out += x yᵀ + z tᵀ."""
    for i in range(d):
        for lane in range(LANES):
            for j in range(d):
                total = _fma(x[i, lane], y[j, lane], out[i * d + j, lane])
                out[i * d + j, lane] = _fma(z[i, lane], t[j, lane], total)


@_compiled(forceinline=True)
def _plus_identity(out: Array, a: Array, d: int) -> None:
    """Out = I + a."""
    for i in range(d):
        for lane in range(LANES):
            for j in range(d):
                out[i * d + j, lane] = a[i * d + j, lane]
            out[i * d + i, lane] += a.dtype.type(1)


@_compiled(forceinline=True)
def _plus_transpose(a: Array, d: int) -> None:
    """A += aᵀ, in place."""
    for i in range(d):
        for lane in range(LANES):
            for j in range(i, d):
                total = a[i * d + j, lane] + a[j * d + i, lane]
                a[i * d + j, lane] = total
                a[j * d + i, lane] = total


@_compiled(forceinline=True)
def _copy(out: Array, a: Array) -> None:
    for i in range(a.shape[0]):
        for lane in range(LANES):
            out[i, lane] = a[i, lane]


# What the forward pass keeps of each layer for the backward pass, by place in the workspace.
_C, _G, _H, _N, _T = range(5)
_MATRICES = 5
_b, _s, _v, _u = range(4)
_VECTORS = 4


@_compiled(forceinline=True)
def _weigh_query(g: Array, squares: Array, query: Array, b: Array, d: int) -> None:
    """g = (x·b) x, half the gradient of (x·b)² in b; adds (x·b)² to the lanes' sums."""
    for lane in range(LANES):
        error = query[0, lane] * b[0, lane]
        for k in range(1, d):
            error = _fma(query[k, lane], b[k, lane], error)
        squares[lane] = _fma(error, error, squares[lane])
        for k in range(d):
            g[k, lane] = error * query[k, lane]


@_compiled()
def _sparse_group(
    prompt: Array, A: Array, squares: Array, dA: Array, vectors: Array, dims: Any
) -> None:
    """Adds the losses and half the gradients of one group to the lanes' sums, for B_l = 0."""
    d = len(dims)
    layers = A.shape[0]
    S, w, query = prompt[: d * d], prompt[d * d : d * d + d], prompt[d * d + d :]
    g, step = vectors[layers + 1, _v], vectors[layers + 1, _u]
    _copy(vectors[0, _b], w)
    for layer in range(layers):
        of = vectors[layer]
        _apply(of[_s], S, of[_b], d)
        _plus_apply_p(vectors[layer + 1, _b], of[_b], A[layer].T, of[_s], d)
    _weigh_query(g, squares, query, vectors[layers, _b], d)
    for layer in range(layers - 1, -1, -1):
        _add_outer(dA[layer], vectors[layer, _s], g, d)
        if layer > 0:
            _apply_p(step, A[layer], g, d)
            _plus_apply(g, g, S, step, d)


@_compiled()
def _full_forward(
    S: Array, w: Array, A: Array, B: Array, matrices: Array, vectors: Array, dims: Any
) -> None:
    """Fills the workspace layer by layer; b_L ends in ``vectors[layers, _b]``."""
    d = len(dims)
    layers = A.shape[0]
    _copy(vectors[0, _b], w)
    _apply(vectors[0, _s], S, w, d)
    _plus_apply_p(vectors[1, _b], w, A[0].T, vectors[0, _s], d)
    if layers > 1:
        first = matrices[0]
        _product_from_right_p(first[_N], S, B[0].T, d)
        _product_p(first[_T], A[0].T, first[_N], d)
        _plus_identity(matrices[1, _C], first[_T], d)
    for layer in range(1, layers):
        of, m = vectors[layer], matrices[layer]
        _apply(of[_s], S, of[_b], d)
        _apply_t(of[_v], m[_C], of[_s], d)
        _apply_p(of[_u], A[layer].T, of[_v], d)
        _plus_apply(vectors[layer + 1, _b], of[_b], m[_C], of[_u], d)
        if layer < layers - 1:
            _product(m[_G], S, m[_C], d)
            _symmetric_product_tn(m[_H], m[_C], m[_G], d)
            _product_from_right_p(m[_N], m[_H], B[layer].T, d)
            _product_p(m[_T], A[layer].T, m[_N], d)
            _copy(matrices[layer + 1, _C], m[_C])
            _add_product(matrices[layer + 1, _C], m[_C], m[_T], d)


@_compiled()
def _full_backward(
    S: Array,
    A: Array,
    B: Array,
    g: Array,
    dA: Array,
    dB: Array,
    matrices: Array,
    vectors: Array,
    dims: Any,
) -> None:
    """Adds half the gradients to the lanes' sums, given g = half the gradient in b_L.

    From the layer's equations, with D the gradient in C_{l+1}, and that in C_l on the left:
    dT = Cᵀ D, E = A dT, dA += N dTᵀ, dB += Eᵀ H, dH = E B and
    D ← D + D Tᵀ + G (dH + dHᵀ) + g uᵀ + s dvᵀ, where dv = A Cᵀ g and dA += v (Cᵀ g)ᵀ;
    last g ← g + S C dv. At layer 0, C = I, so that only dA and dB remain.
    """
    d = len(dims)
    layers = A.shape[0]
    D, D_next, dT, E, dH = matrices[layers]
    h, dv, t = vectors[layers + 1, :3]
    for layer in range(layers - 1, 0, -1):
        of, m = vectors[layer], matrices[layer]
        _apply_t(h, m[_C], g, d)
        _add_outer(dA[layer], of[_v], h, d)
        _apply_p(dv, A[layer], h, d)
        if layer == layers - 1:
            D[:] = 0
        else:
            _product_tn(dT, m[_C], D, d)
            _product_p(E, A[layer], dT, d)
            _add_product_nt(dA[layer], m[_N], dT, d)
            _add_product_tn(dB[layer], E, m[_H], d)
            _product_from_right_p(dH, E, B[layer], d)
            _plus_transpose(dH, d)
            _copy(D_next, D)
            _add_product_nt(D_next, D, m[_T], d)
            _add_product(D_next, m[_G], dH, d)
            D, D_next = D_next, D
        _add_two_outer(D, g, of[_u], of[_s], dv, d)
        _apply(t, m[_C], dv, d)
        _plus_apply(g, g, S, t, d)
    _add_outer(dA[0], vectors[0, _s], g, d)
    if layers > 1:
        _product_p(E, A[0], D, d)
        _add_product_nt(dA[0], matrices[0, _N], D, d)
        _add_product_tn(dB[0], E, S, d)


@_compiled()
def _block(
    out: Array, data: Array, first: int, last: int, A: Array, B: Array, free_b: bool, dims: Any
) -> None:
    """Sums the groups first … last − 1 into out = (Σ squared error, Σ dA/2, Σ dB/2).

    ``dims`` is a tuple of d zeros: its length is part of its type, hence a constant here.
    """
    d = len(dims)
    layers = A.shape[0]
    squares = np.zeros(LANES, data.dtype)
    gradient = np.zeros((2, layers, d * d, LANES), data.dtype)
    vectors = np.empty((layers + 2, _VECTORS, d, LANES), data.dtype)
    matrices = np.empty((layers + 1 if free_b else 0, _MATRICES, d * d, LANES), data.dtype)
    for group in range(first, last):
        prompt = data[group]
        if free_b:
            S, w, query = prompt[: d * d], prompt[d * d : d * d + d], prompt[d * d + d :]
            _full_forward(S, w, A, B, matrices, vectors, dims)
            g = vectors[layers + 1, 3]
            _weigh_query(g, squares, query, vectors[layers, _b], d)
            _full_backward(S, A, B, g, gradient[0], gradient[1], matrices, vectors, dims)
        else:
            _sparse_group(prompt, A, squares, gradient[0], vectors, dims)
    out[0] = _sum_lanes(squares)
    rows = gradient.reshape((2 * layers * d * d, LANES))
    for row in range(rows.shape[0]):
        out[1 + row] = _sum_lanes(rows[row])


@_compiled()
def _sum_lanes(values: Array) -> float:
    total = 0.0
    for lane in range(LANES):
        total += values[lane]
    return total


@_compiled()
def _blocks_in_turn(
    partial: Array, data: Array, A: Array, B: Array, free_b: bool, dims: Any
) -> None:
    for block in range(partial.shape[0]):
        first = block * GROUPS_PER_BLOCK
        last = min(first + GROUPS_PER_BLOCK, data.shape[0])
        _block(partial[block], data, first, last, A, B, free_b, dims)


@_compiled(parallel=True)
def _blocks_in_parallel(
    partial: Array, data: Array, A: Array, B: Array, free_b: bool, dims: Any
) -> None:
    for block in numba.prange(partial.shape[0]):
        first = block * GROUPS_PER_BLOCK
        last = min(first + GROUPS_PER_BLOCK, data.shape[0])
        _block(partial[block], data, first, last, A, B, free_b, dims)


@_compiled()
def _loss_and_gradient(
    gradient: Array,
    partial: Array,
    data: Array,
    count: int,
    A: Array,
    B: Array,
    free_b: bool,
    parallel: bool,
    dims: Any,
) -> float:
    """Returns the mean loss and fills gradient (2, layers, d·d), float64."""
    if parallel:
        _blocks_in_parallel(partial, data, A, B, free_b, dims)
    else:
        _blocks_in_turn(partial, data, A, B, free_b, dims)
    flat = gradient.reshape(gradient.size)
    loss = 0.0
    flat[:] = 0.0
    for block in range(partial.shape[0]):
        loss += partial[block, 0]
        for i in range(flat.size):
            flat[i] += partial[block, 1 + i]
    for i in range(flat.size):
        flat[i] *= 2.0 / count
    return loss / count


@_compiled()
def _clip(gradient: Array, clip: float) -> None:
    """Scales a gradient to norm ≤ clip as torch does, 1e-6 and all; NaN stays NaN."""
    squares = 0.0
    for i in range(gradient.size):
        squares += gradient[i] * gradient[i]
    scale = clip / (np.sqrt(squares) + 1e-6)
    if not scale >= 1.0:
        for i in range(gradient.size):
            gradient[i] *= scale


@_compiled()
def _adam(
    parameters: Array,
    first: Array,
    second: Array,
    gradient: Array,
    step: int,
    learning_rate: float,
    betas: tuple[float, float],
    eps: float,
) -> None:
    """One step of Adam without weight decay; all arrays flat, `step` counted from 1."""
    beta1, beta2 = betas
    size = learning_rate / (1.0 - beta1**step)
    root = np.sqrt(1.0 - beta2**step)
    for i in range(parameters.size):
        first[i] += (1.0 - beta1) * (gradient[i] - first[i])
        second[i] = beta2 * second[i] + (1.0 - beta2) * gradient[i] * gradient[i]
        parameters[i] -= size * first[i] / (np.sqrt(second[i]) / root + eps)


@_compiled()
def _advance(
    losses: Array,
    A: Array,
    B: Array,
    moments: Array,
    done: int,
    data: Array,
    count: int,
    learning_rate: float,
    betas: tuple[float, float],
    eps: float,
    clip: float,
    clip_whole: bool,
    free_b: bool,
    parallel: bool,
    dims: Any,
) -> None:
    """len(losses) steps on one minibatch, in place; see `advance`."""
    layers, d = A.shape[0], len(dims)
    blocks = (data.shape[0] + GROUPS_PER_BLOCK - 1) // GROUPS_PER_BLOCK
    partial = np.empty((blocks, 1 + 2 * layers * d * d))
    gradient = np.empty((2, layers, d * d))
    for step in range(losses.size):
        losses[step] = _loss_and_gradient(
            gradient, partial, data, count, A, B, free_b, parallel, dims
        )
        if clip_whole:
            _clip(gradient.reshape(gradient.size), clip)
        for kind in range(2 if free_b else 1):
            parameters = B if kind else A
            for layer in range(layers):
                if not clip_whole:
                    _clip(gradient[kind, layer], clip)
                _adam(
                    parameters[layer].reshape(d * d),
                    moments[0, kind, layer].reshape(d * d),
                    moments[1, kind, layer].reshape(d * d),
                    gradient[kind, layer],
                    done + step + 1,
                    learning_rate,
                    betas,
                    eps,
                )


@_compiled()
def _pack_group(
    out: Array, S: Array, w: Array, query: Array, first: int, last: int, d: int
) -> None:
    for prompt in range(first, last):
        lane = prompt - first
        for i in range(d):
            for j in range(d):
                out[i * d + j, lane] = S[prompt, i, j]
            out[d * d + i, lane] = w[prompt, i]
            out[d * d + d + i, lane] = query[prompt, i]


@_compiled()
def _pack(out: Array, S: Array, w: Array, query: Array) -> None:
    for group in range(out.shape[0]):
        first = group * LANES
        _pack_group(out[group], S, w, query, first, min(first + LANES, S.shape[0]), S.shape[1])


@dataclass(frozen=True)
class Minibatch:
    """Prompts in the kernel's layout, made once and used for many steps.

    Attributes:
        data: (groups, d·d + 2d, LANES): S, w and the query of each prompt, prompt innermost; the
            last group is filled up with prompts of zeros, which add nothing to any sum.
        count: how many prompts there really are.
        dim: d.
    """

    data: Array
    count: int
    dim: int


def pack(S: Array, w: Array, query: Array) -> Minibatch:
    """Lay prompts out for the kernel, in the precision of S.

    Args:
        S: (batch, d, d), the second moments (1/n) Σ x xᵀ, symmetric.
        w: (batch, d), the regression weights.
        query: (batch, d), the inputs x_{n+1}.

    Raises:
        ValueError: if the shapes do not fit or S is neither float32 nor float64.
    """
    batch, d = w.shape
    if S.shape != (batch, d, d) or query.shape != (batch, d) or batch == 0:
        raise ValueError(f"shapes do not fit: S {S.shape}, w {w.shape}, query {query.shape}")
    if S.dtype not in (np.float32, np.float64):
        raise ValueError(f"S must be float32 or float64, not {S.dtype}")
    data = np.zeros((-(-batch // LANES), d * d + 2 * d, LANES), S.dtype)
    _pack(data, S, w.astype(S.dtype, copy=False), query.astype(S.dtype, copy=False))
    return Minibatch(data, batch, d)


@dataclass
class TrainingState:
    """A training run's whole state, as plain arrays that `advance` changes in place.

    Attributes:
        A, B: (layers, d, d), C-contiguous.
        moments: (2, 2, layers, d, d): Adam's first and second moments, each of A and of B.
        steps: how many steps were made.
    """

    A: Array
    B: Array
    moments: Array
    steps: int = 0

    @classmethod
    def start(cls, A: Array, B: Array) -> TrainingState:
        """The state before the first step, from copies of the initial matrices."""
        if A.shape != B.shape or A.dtype != B.dtype or A.ndim != 3 or A.shape[1] != A.shape[2]:
            raise ValueError(f"A {A.shape} {A.dtype} and B {B.shape} {B.dtype} do not fit")
        moments = np.zeros((2, 2, *A.shape), A.dtype)
        return cls(np.array(A, order="C"), np.array(B, order="C"), moments)


def _dims(minibatch: Minibatch, A: Array) -> tuple[int, ...]:
    if A.ndim != 3 or A.shape[1:] != (minibatch.dim, minibatch.dim) or len(A) == 0:
        raise ValueError(f"A has shape {A.shape}; expected (layers, {minibatch.dim}, same)")
    if A.dtype != minibatch.data.dtype:
        raise ValueError(f"A is {A.dtype}, the minibatch {minibatch.data.dtype}")
    return (0,) * minibatch.dim


def _worth_threads(minibatch: Minibatch) -> bool:
    """Whether a parallel region pays: entering one costs about as much as a block of prompts."""
    return numba.get_num_threads() > 1 and len(minibatch.data) > 2 * GROUPS_PER_BLOCK


def loss_and_gradient(
    minibatch: Minibatch, A: Array, B: Array | None = None
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """The in-context loss of a minibatch and its gradient.

    Args:
        minibatch: the prompts.
        A: (layers, d, d), the x blocks of the Q_l, in the minibatch's precision.
        B: the x blocks of the P_l, likewise; None for B_l = 0, where none of B's gradient is
            computed and C stays I, which is several times cheaper.

    Returns:
        The loss, and its gradients in A and in B (zeros if B is None), summed in float64. The
        gradient in the last B is exactly zero: it does not reach the output.

    Raises:
        ValueError: if shapes or precisions do not fit.
    """
    dims = _dims(minibatch, A)
    free_b = B is not None
    A = np.ascontiguousarray(A)
    B = np.zeros_like(A) if B is None else np.ascontiguousarray(B, A.dtype)
    if B.shape != A.shape:
        raise ValueError(f"B has shape {B.shape}, A {A.shape}")
    blocks = -(-len(minibatch.data) // GROUPS_PER_BLOCK)
    partial = np.empty((blocks, 1 + 2 * A.size))
    gradient = np.empty((2, len(A), minibatch.dim**2))
    loss = _loss_and_gradient(
        gradient,
        partial,
        minibatch.data,
        minibatch.count,
        A,
        B,
        free_b,
        _worth_threads(minibatch),
        dims,
    )
    dA, dB = gradient.reshape(2, *A.shape)
    return loss, dA, dB


def advance(
    state: TrainingState,
    minibatch: Minibatch,
    steps: int,
    *,
    learning_rate: float,
    betas: tuple[float, float],
    clip: float,
    free_b: bool,
    eps: float = 1e-8,
    clip_whole: bool = False,
) -> NDArray[np.float64]:
    """Make Adam steps on one minibatch, in place.

    Each step computes loss and gradient, clips, and updates as `torch.optim.Adam` without weight
    decay (equal to AdamW with weight decay 0, which the released code uses).

    Args:
        state: changed in place.
        minibatch: the prompts of all these steps.
        steps: how many steps to make.
        learning_rate: of all these steps; a schedule calls once per piece.
        betas: Adam's decay rates of the first and the second moment.
        clip: largest Frobenius norm of each matrix's gradient; infinity for no clipping.
        free_b: train B too. Otherwise B is held at zero and its gradient is not computed.
        eps: Adam's.
        clip_whole: clip the norm of the whole gradient instead of each matrix's own.

    Returns:
        The loss before each step. It turns non-finite, and stays so, if training diverges.

    Raises:
        ValueError: if shapes or precisions do not fit.
    """
    dims = _dims(minibatch, state.A)
    if not free_b:
        state.B[:] = 0.0
    losses = np.empty(steps)
    _advance(
        losses,
        state.A,
        state.B,
        state.moments,
        state.steps,
        minibatch.data,
        minibatch.count,
        float(learning_rate),
        (float(betas[0]), float(betas[1])),
        float(eps),
        float(clip),
        clip_whole,
        free_b,
        _worth_threads(minibatch),
        dims,
    )
    state.steps += steps
    return losses
