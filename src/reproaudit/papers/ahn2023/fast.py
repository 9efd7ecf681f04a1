"""The fast form: the loss from one d×d matrix per prompt, with its gradient by hand, compiled.

Derived from the token-by-token form (`model`), with S = (1/n) Σ_i x_i x_iᵀ. By induction over the
layers, the x part of every token is C_lᵀ x, the label part of an example is b_l·x_i, and that of
the query is (b_l − w)·x_{n+1}, with

    C_0 = I,  b_0 = w,
    b_{l+1} = b_l + C_l A_lᵀ (C_lᵀ S b_l),
    C_{l+1} = C_l + C_l A_lᵀ (C_lᵀ S C_l) B_lᵀ,

so that the error of the prediction −[Z_L]_{d+1,n+1} is −b_L·x_{n+1}. The last layer's C, and with
it the last B, never reaches the output. Where all B_l = 0, C stays I.

**In memory.** Prompts are computed `LANES` at a time: every entry of a matrix is a row of `LANES`
numbers, one for each prompt, and the compiler makes vector instructions of loops over a row. All
rows lie in one flat workspace, in which each layer has a stretch of its own. A matrix is a `Rows`,
a place in such a stretch, and all blocks are constants of the compiled function. So the compiler
sees that no two rows overlap; with several arrays it would have to check at every row.

**Minibatches.** The loss needs of a prompt's inputs only S, so S is drawn by its exact law and the
inputs are not. With x = R z, w = W v (usually W = R⁻ᵀ) and Σ = R Rᵀ,

    S = R T Tᵀ Rᵀ / n,    x_{n+1} = R z,    w = W v,    v and z standard normal.

For n ≥ d, T is Bartlett's factor of a Wishart matrix: lower triangular, T_ij standard normal below
the diagonal and T_ii² ~ χ²(n − i), i from 0. For n < d, T is d×n with standard normal entries.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import DTypeLike
from torch import Tensor

from reproaudit.lab import Array, compiled
from reproaudit.papers.ahn2023.task import Covariance, Prompts

LANES = 16
"""Prompts that are computed together; in single precision a row of them is a vector of 512 bits."""

GROUPS_AT_A_TIME = 256
"""Groups drawn at a time, in a core's cache; their gradients are summed in their precision."""


@dataclass(frozen=True)
class Minibatch:
    """Prompts, made once and used for many steps.

    The numbers of a group are the entries of S, the query, the error's offset and w, each a row of
    LANES prompts. The last group is filled up with zeros, which add nothing to any sum.
    """

    data: Float[Array, "groups numbers"]
    count: int
    dim: int

    @classmethod
    def of(
        cls,
        S: Float[Array, "batch d d"],
        w: Float[Array, "batch d"],
        query: Float[Array, "batch d"],
        offset: Float[Array, " batch"] | None = None,
    ) -> Minibatch:
        """Lays prompts out, in the precision of S.

        The offset is (w' − w)·x_{n+1} where the labels are of weights w and the target is of other
        weights w', None for 0.
        """
        batch = len(S)
        d = S.shape[-1]
        offsets = np.zeros(batch) if offset is None else offset
        rows = np.concatenate([S.reshape(batch, -1), query, offsets[:, None], w], axis=1)
        padded = np.zeros((-(-batch // LANES), LANES, rows.shape[1]), S.dtype)
        padded.reshape(-1, rows.shape[1])[:batch] = rows
        return cls(np.swapaxes(padded, 1, 2).reshape(len(padded), -1), batch, d)

    @classmethod
    def of_prompts(cls, prompts: Prompts) -> Minibatch:
        """The same prompts, of which every input was drawn."""
        labels = prompts.label_weights
        query = prompts.query
        return cls.of(prompts.moment, labels, query, ((prompts.w - labels) * query).sum(axis=1))


def draw_minibatch(
    covariance: Covariance,
    batch: int,
    n: int,
    rng: np.random.Generator,
    *,
    dtype: DTypeLike = np.float32,
    shuffled: bool = False,
) -> Minibatch:
    """Draws a minibatch of prompts with n pairs by the law above, in float64 and then rounded.

    If shuffled, the labels in a prompt are of the weights of another of its group, while the target
    stays its own: there is then nothing to be learned in context.
    """
    d = covariance.dim
    groups = -(-batch // LANES)
    data = np.zeros((groups, d * d + 2 * d + 1, LANES), dtype)
    roots = np.stack([covariance.root, covariance.weight_root])
    for first in range(0, groups, GROUPS_AT_A_TIME):
        part = data[first : first + GROUPS_AT_A_TIME]
        T = np.zeros((d, min(n, d), len(part), LANES))
        for i, j in np.ndindex(T.shape[:2]):
            if n < d or j < i:
                rng.standard_normal(out=T[i, j])
            elif i == j:  # half of a χ² is a gamma variable of half the shape
                T[i, i] = np.sqrt(2.0 * rng.standard_gamma((n - i) / 2, T.shape[2:]))
        _fill_moments(part, np.tensordot(covariance.root / np.sqrt(n), T, 1))
        vectors = roots @ rng.standard_normal((2, d, len(part) * LANES))
        query, w = vectors.reshape(2, d, -1, LANES).swapaxes(1, 2)
        labels = np.roll(w, 1, axis=2) if shuffled else w
        part[:, d * d : -d - 1] = query
        part[:, -d:] = labels
        part[:, -d - 1] = ((w - labels) * query).sum(axis=1)
    data[-1, :, batch - groups * LANES + LANES :] = 0.0
    return Minibatch(data.reshape(groups, -1), batch, d)


@compiled()
def _fill_moments(data: Array, factor: Array) -> None:
    """Sets S = F Fᵀ at the head of each group, whose prompts are a vector instruction's lanes."""
    d, columns, groups, _ = factor.shape
    for group in range(groups):
        for i in range(d):
            for j in range(i + 1):
                for lane in range(LANES):
                    total = 0.0
                    for k in range(columns):
                        total += factor[i, k, group, lane] * factor[j, k, group, lane]
                    data[group, i * d + j, lane] = total
                    data[group, j * d + i, lane] = total


class Rows(NamedTuple):
    """A matrix in a stretch of the workspace: its start and steps, in numbers, and its size."""

    start: int
    down: int
    across: int
    rows: int
    columns: int


_DATA = {"S": "dd", "query": "d1", "offset": "11", "b": "d1"}
_MATRICES = ["I", "A", "B", "dA", "dB", "C", "T", "H", "U", "K", "dC", "dK", "dU"]
_VECTORS = ["t", "h", "k", "db", "dk", "dh", "dt"]
_SHAPES = {**_DATA, **dict.fromkeys(_MATRICES, "dd"), **dict.fromkeys(_VECTORS, "d1"), "loss": "11"}

_ENDS = ["", "_t", "_next", "_next_t"]
_PAIRS = ["db_next_and_t", "k_and_dh_t"]
Layer = namedtuple("Layer", [f"{name}{end}" for name in _SHAPES for end in _ENDS] + _PAIRS)  # type: ignore[misc]
Layer.__doc__ = """The blocks of a layer's stretch, which begins as a group of a minibatch does.

They are named as in the module's text, with t = S b, h = Cᵀ t, k = Aᵀ h, T = S C, H = Cᵀ T,
U = H Bᵀ and K = I + Aᵀ U, so that C_{l+1} = C K; d… is half the derivative of the squared error,
…_t the transpose, …_next the same in the stretch of the next layer, and …_and_… two vectors side by
side. A product of two vectors alone would be a loop too short to become vector instructions."""


@cache
def layer_of(d: int) -> tuple[Any, int]:
    """Returns the blocks of a layer's stretch, and the stretch's length in numbers."""
    blocks = {}
    place = 0
    for name, shape in _SHAPES.items():
        rows, columns = (d if side == "d" else 1 for side in shape)
        blocks[name] = Rows(place, columns * LANES, LANES, rows, columns)
        blocks[f"{name}_t"] = Rows(place, LANES, columns * LANES, columns, rows)
        place += rows * columns * LANES
    for name in _SHAPES:
        for end in ("", "_t"):
            here = blocks[f"{name}{end}"]
            blocks[f"{name}_next{end}"] = here._replace(start=here.start + place)
    db_next, t, k, dh = (blocks[name] for name in ("db_next", "t", "k", "dh"))
    blocks["db_next_and_t"] = db_next._replace(across=t.start - db_next.start, columns=2)
    blocks["k_and_dh_t"] = Rows(k.start, dh.start - k.start, LANES, 2, d)
    return Layer(**blocks), place


_inlined = compiled(inline="always")


@_inlined
def _multiply(work: Array, out: Rows, a: Rows, b: Rows) -> None:
    """Sets out = a b. Entries of a row of out share what they need of a in the vector registers."""
    for i in range(out.rows):
        for lane in range(LANES):
            left = a.start + i * a.down + lane
            to = out.start + i * out.down + lane
            for j in range(out.columns):
                right = b.start + j * b.across + lane
                total = work[left] * work[right]
                for k in range(1, a.columns):
                    total += work[left + k * a.across] * work[right + k * b.down]
                work[to + j * out.across] = total


@_inlined
def _add_product(work: Array, out: Rows, base: Rows, a: Rows, b: Rows) -> None:
    """Sets out = base + a b; out may be base, but neither a nor b."""
    for i in range(out.rows):
        for lane in range(LANES):
            left = a.start + i * a.down + lane
            to = out.start + i * out.down + lane
            for j in range(out.columns):
                right = b.start + j * b.across + lane
                total = work[base.start + i * base.down + j * base.across + lane]
                for k in range(a.columns):
                    total += work[left + k * a.across] * work[right + k * b.down]
                work[to + j * out.across] = total


@_inlined
def _forward_identity(work: Array, at: Any) -> None:
    """From b_l to b_{l+1} where C_l = I."""
    for i in range(at.b.start):  # S, the query and the offset
        work[at.S_next.start + i] = work[at.S.start + i]
    _multiply(work, at.h, at.S, at.b)
    _add_product(work, at.b_next, at.b, at.A_t, at.h)


@_inlined
def _forward_first(work: Array, at: Any) -> None:
    """From b_0 to b_1 and C_1."""
    _forward_identity(work, at)
    _multiply(work, at.U, at.S, at.B_t)
    _add_product(work, at.C_next, at.I, at.A_t, at.U)


@_inlined
def _forward_last(work: Array, at: Any) -> None:
    """From b_l and C_l to b_{l+1}."""
    _multiply(work, at.t, at.S, at.b)
    _multiply(work, at.h, at.C_t, at.t)
    _multiply(work, at.k, at.A_t, at.h)
    _add_product(work, at.b_next, at.b, at.C, at.k)


@_inlined
def _forward(work: Array, at: Any) -> None:
    """From b_l and C_l to b_{l+1} and C_{l+1}."""
    for i in range(at.b.start):  # S, the query and the offset
        work[at.S_next.start + i] = work[at.S.start + i]
    _forward_last(work, at)
    _multiply(work, at.T, at.S, at.C)
    _multiply(work, at.H, at.C_t, at.T)
    _multiply(work, at.U, at.H, at.B_t)
    _add_product(work, at.K, at.I, at.A_t, at.U)
    _multiply(work, at.C_next, at.C, at.K)


@_inlined
def _backward_identity(work: Array, at: Any) -> None:
    """From db_{l+1} to dA_l and db_l where C_l = I."""
    _add_product(work, at.dA, at.dA, at.h, at.db_next_t)
    _multiply(work, at.dh, at.A, at.db_next)
    _add_product(work, at.db, at.db_next, at.S, at.dh)


@_inlined
def _backward_first(work: Array, at: Any) -> None:
    """From db_1 and dC_1 to dA_0 and dB_0."""
    _add_product(work, at.dA, at.dA, at.h, at.db_next_t)
    _add_product(work, at.dA_t, at.dA_t, at.dC_next, at.U_t)
    _multiply(work, at.dU, at.A, at.dC_next)
    _add_product(work, at.dB, at.dB, at.dU_t, at.S)


@_inlined
def _backward_last(work: Array, at: Any) -> None:
    """From db_{l+1} to dA_l, db_l and dC_l."""
    _multiply(work, at.dk, at.C_t, at.db_next)
    _add_product(work, at.dA, at.dA, at.h, at.dk_t)
    _multiply(work, at.dh, at.A, at.dk)
    _multiply(work, at.dt, at.C, at.dh)
    _add_product(work, at.db, at.db_next, at.S, at.dt)
    _multiply(work, at.dC, at.db_next_and_t, at.k_and_dh_t)


@_inlined
def _backward(work: Array, at: Any) -> None:
    """From db_{l+1} and dC_{l+1} to dA_l, dB_l, db_l and dC_l."""
    _backward_last(work, at)
    _multiply(work, at.dK, at.C_t, at.dC_next)
    _add_product(work, at.dA, at.dA, at.U, at.dK_t)
    _multiply(work, at.dU, at.A, at.dK)
    _add_product(work, at.dB, at.dB, at.dU_t, at.H)
    _multiply(work, at.dK, at.dU, at.B)  # from here on dH
    _multiply(work, at.dU, at.C, at.dK)  # from here on dT
    _add_product(work, at.dC, at.dC, at.dC_next, at.K_t)
    _add_product(work, at.dC, at.dC, at.T, at.dK_t)
    _add_product(work, at.dC, at.dC, at.S, at.dU)


@_inlined
def _take_error(work: Array, at: Any) -> None:
    """Adds the squared error (b_L·x_{n+1} + offset)² to the last layer's loss, and sets db_L."""
    for lane in range(LANES):
        error = work[at.offset.start + lane]
        for i in range(at.b.rows):
            error += (
                work[at.b_next.start + i * LANES + lane] * work[at.query.start + i * LANES + lane]
            )
        work[at.loss.start + lane] += error * error
        for i in range(at.b.rows):
            slope = error * work[at.query.start + i * LANES + lane]
            work[at.db_next.start + i * LANES + lane] = slope


@cache
def _code(d: int, free_b: bool) -> Callable[[Array, Array, int], None]:
    """Compiles what adds the squared errors of some groups, and half of their gradient, in work."""
    at, size = layer_of(d)

    @compiled(fastmath={"contract"})
    def add_groups(groups: Array, work: Array, layers: int) -> None:
        for group in groups:
            for i in range(group.size):
                work[i] = group[i]
            if free_b:
                _forward_first(work, at)
                for layer in range(1, layers - 1):
                    _forward(work[layer * size :], at)
                _forward_last(work[(layers - 1) * size :], at)
            else:
                for layer in range(layers):
                    _forward_identity(work[layer * size :], at)
            _take_error(work[(layers - 1) * size :], at)
            if free_b:
                _backward_last(work[(layers - 1) * size :], at)
                for layer in range(layers - 2, 0, -1):
                    _backward(work[layer * size :], at)
                _backward_first(work, at)
            else:
                for layer in range(layers - 1, -1, -1):
                    _backward_identity(work[layer * size :], at)

    return add_groups


@np.errstate(over="ignore", invalid="ignore")  # a model that diverges is seen by its loss
def loss_and_gradient(
    minibatch: Minibatch, A: Float[Array, "layers d d"], B: Float[Array, "layers d d"] | None = None
) -> tuple[float, Float[Array, "2 layers d d"]]:
    """Computes the in-context loss of a minibatch and its gradient.

    Where B is None, B_l = 0, and C stays I and is never formed, which is several times cheaper. The
    gradient is summed in float64; in a B that reaches no output, as in the last, it is zero.
    """
    layers = len(A)
    d = minibatch.dim
    dtype = minibatch.data.dtype
    free_b = B is not None and layers > 1
    B = np.zeros_like(A) if B is None else B
    at, size = layer_of(d)
    square = d * d * LANES
    raw = np.zeros((layers + 1) * size + LANES, dtype)
    start = -raw.ctypes.data % 64 // raw.itemsize  # a load across cache lines takes twice as long
    work = raw[start : len(raw) - LANES + start]
    stretches = work.reshape(layers + 1, size)[:layers]
    for block, entries in ((at.I, np.eye(d)), (at.A, A), (at.B, B)):
        rows = np.repeat(entries.reshape(-1, d * d), LANES, axis=1)
        stretches[:, block.start : block.start + square] = rows
    sums = stretches[:, at.dA.start : at.dA.start + 2 * square]  # dB follows dA
    errors = stretches[-1, at.loss.start :][:LANES]
    add_groups = _code(d, free_b)
    loss = 0.0
    gradient = np.zeros((layers, 2, d, d))
    for first in range(0, len(minibatch.data), GROUPS_AT_A_TIME):
        sums[:] = 0.0
        errors[:] = 0.0
        add_groups(minibatch.data[first : first + GROUPS_AT_A_TIME], work, layers)
        gradient += sums.reshape(layers, 2, d, d, LANES).sum(axis=4, dtype=np.float64)
        loss += float(errors.sum(dtype=np.float64))
    return loss / minibatch.count, gradient.swapaxes(0, 1) * (2.0 / minibatch.count)


def gradients(
    minibatch: Minibatch, A: Float[Tensor, "layers d d"], B: Float[Tensor, "layers d d"]
) -> list[Tensor]:
    """The gradient of the in-context loss in A and where it is trained in B, in their precision."""
    trained = [matrices.detach().numpy() for matrices in (A, B) if matrices.requires_grad]
    _, gradient = loss_and_gradient(minibatch, *trained)
    return list(torch.from_numpy(gradient[: len(trained)]).to(A.dtype))
