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
rows lie in one flat workspace, in which each layer has a stretch of its own. A matrix is a `Block`,
a place in such a stretch, and all blocks are constants of the compiled function. So the compiler
sees that no two rows overlap; with several arrays it would have to check at every row.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array, Stateful, compiled
from reproaudit.papers.ahn2023.minibatches import LANES, Minibatch
from reproaudit.papers.ahn2023.schedule import Matrices, Schedule

GROUPS_PER_SUM = 32
"""Groups whose gradients are summed in the working precision before going to float64."""


# --- places in the workspace ---------------------------------------------------------------------


class Block(NamedTuple):
    """A matrix in a stretch of the workspace, in numbers: its start, its steps and its size."""

    start: int
    down: int
    across: int
    rows: int
    columns: int

    def transposed(self) -> Block:
        """The same numbers, read as the transpose."""
        return Block(self.start, self.across, self.down, self.columns, self.rows)


_MATRICES = ["S", "A", "B", "dA", "dB", "C", "T", "H", "U", "K", "dC", "dK", "dU", "dH", "dT"]
_VECTORS = ["b", "t", "h", "k", "db", "dk", "dh", "dt", "query"]  # the offset follows the query
_ROWS = ["offset", "loss"]
_NEXT = ["S_next", "C_next", "b_next", "dC_next", "db_next"]
_BLOCKS = [*_MATRICES, *_VECTORS, *_ROWS, *_NEXT]

Layer = namedtuple("Layer", [*_BLOCKS, *(f"{name}_t" for name in _BLOCKS)])  # type: ignore[misc]
Layer.__doc__ = """The blocks of a layer's stretch, and their transposes under names with ``_t``.

Those of the recursion are named as in the module's text, with t = S b, h = Cᵀ t, k = Aᵀ h, T = S C,
H = Cᵀ T, U = H Bᵀ and K = Aᵀ U; d… is half the derivative of the squared error in it, and …_next
stands in the stretch after this one."""


@cache
def layer_of(d: int) -> tuple[Any, int]:
    """Returns the blocks of a layer's stretch, and the stretch's length in numbers."""
    sizes = {**dict.fromkeys(_MATRICES, (d, d)), **dict.fromkeys(_VECTORS, (d, 1))}
    blocks, place = {}, 0
    for name, (rows, columns) in {**sizes, **dict.fromkeys(_ROWS, (1, 1))}.items():
        blocks[name] = Block(place, columns * LANES, LANES, rows, columns)
        place += rows * columns * LANES
    for name in _NEXT:
        here = blocks[name.removesuffix("_next")]
        blocks[name] = here._replace(start=here.start + place)
    turned = {f"{name}_t": block.transposed() for name, block in blocks.items()}
    return Layer(**blocks, **turned), place


# --- products of blocks, prompt by prompt --------------------------------------------------------


@compiled(inline="always")
def _multiply(work: Array, out: Block, a: Block, b: Block) -> None:
    """Sets out = a b."""
    for i in range(out.rows):
        for j in range(out.columns):
            to, left, right = (
                out.start + i * out.down + j * out.across,
                a.start + i * a.down,
                b.start + j * b.across,
            )
            for lane in range(LANES):
                total = work[left + lane] * work[right + lane]
                for k in range(1, a.columns):
                    total += work[left + k * a.across + lane] * work[right + k * b.down + lane]
                work[to + lane] = total


@compiled(inline="always")
def _add_product(work: Array, out: Block, base: Block, a: Block, b: Block) -> None:
    """Sets out = base + a b; out may be base, but neither a nor b."""
    for i in range(out.rows):
        for j in range(out.columns):
            to, start, left, right = (
                out.start + i * out.down + j * out.across,
                base.start + i * base.down + j * base.across,
                a.start + i * a.down,
                b.start + j * b.across,
            )
            for lane in range(LANES):
                total = work[start + lane]
                for k in range(a.columns):
                    total += work[left + k * a.across + lane] * work[right + k * b.down + lane]
                work[to + lane] = total


@compiled(inline="always")
def _add_outer(work: Array, out: Block, x: Block, y: Block) -> None:
    """Adds x yᵀ to out; the columns within, since a loop of one product would not be a vector's."""
    for i in range(out.rows):
        for lane in range(LANES):
            entry = work[x.start + i * x.down + lane]
            for j in range(out.columns):
                to = out.start + i * out.down + j * out.across
                work[to + lane] += entry * work[y.start + j * y.down + lane]


@compiled(inline="always")
def _clear(work: Array, out: Block) -> None:
    """Sets a matrix to zero."""
    for i in range(out.rows * out.down):
        work[out.start + i] = 0


@compiled(inline="always")
def _pass_on(work: Array, at: Any) -> None:
    """Copies S into the next layer's stretch."""
    for i in range(at.S.rows * at.S.down):
        work[at.S_next.start + i] = work[at.S.start + i]


# --- one layer, forward and backward -------------------------------------------------------------


@compiled(inline="always")
def _forward_one(work: Array, at: Any) -> None:
    """b_{l+1} where C_l = I."""
    _pass_on(work, at)
    _multiply(work, at.h, at.S, at.b)
    _add_product(work, at.b_next, at.b, at.A_t, at.h)


@compiled(inline="always")
def _forward_first(work: Array, at: Any) -> None:
    """b_1 and C_1."""
    _forward_one(work, at)
    _multiply(work, at.U, at.S, at.B_t)
    _add_product(work, at.C_next, at.C, at.A_t, at.U)


@compiled(inline="always")
def _forward_last(work: Array, at: Any) -> None:
    """b_{l+1}."""
    _multiply(work, at.t, at.S, at.b)
    _multiply(work, at.h, at.C_t, at.t)
    _multiply(work, at.k, at.A_t, at.h)
    _add_product(work, at.b_next, at.b, at.C, at.k)


@compiled(inline="always")
def _forward(work: Array, at: Any) -> None:
    """b_{l+1} and C_{l+1}."""
    _pass_on(work, at)
    _forward_last(work, at)
    _multiply(work, at.T, at.S, at.C)
    _multiply(work, at.H, at.C_t, at.T)
    _multiply(work, at.U, at.H, at.B_t)
    _multiply(work, at.K, at.A_t, at.U)
    _add_product(work, at.C_next, at.C, at.C, at.K)


@compiled(inline="always")
def _backward_one(work: Array, at: Any) -> None:
    """From db_{l+1} to dA_l and db_l where C_l = I."""
    _add_outer(work, at.dA, at.h, at.db_next)
    _multiply(work, at.dh, at.A, at.db_next)
    _add_product(work, at.db, at.db_next, at.S, at.dh)


@compiled(inline="always")
def _backward_first(work: Array, at: Any) -> None:
    """From db_1 and dC_1 to dA_0 and dB_0."""
    _add_outer(work, at.dA, at.h, at.db_next)
    _add_product(work, at.dA, at.dA, at.U, at.dC_next_t)
    _multiply(work, at.dU, at.A, at.dC_next)
    _add_product(work, at.dB, at.dB, at.dU_t, at.S)


@compiled(inline="always")
def _backward_last(work: Array, at: Any) -> None:
    """From db_{l+1} to dA_l and db_l, and adds what dC_l has of them."""
    _multiply(work, at.dk, at.C_t, at.db_next)
    _add_outer(work, at.dA, at.h, at.dk)
    _multiply(work, at.dh, at.A, at.dk)
    _multiply(work, at.dt, at.C, at.dh)
    _add_product(work, at.db, at.db_next, at.S, at.dt)
    _add_outer(work, at.dC, at.db_next, at.k)
    _add_outer(work, at.dC, at.t, at.dh)


@compiled(inline="always")
def _backward(work: Array, at: Any) -> None:
    """From db_{l+1} and dC_{l+1} to dA_l, dB_l, db_l and dC_l."""
    _multiply(work, at.dK, at.C_t, at.dC_next)
    _add_product(work, at.dA, at.dA, at.U, at.dK_t)
    _multiply(work, at.dU, at.A, at.dK)
    _add_product(work, at.dB, at.dB, at.dU_t, at.H)
    _multiply(work, at.dH, at.dU, at.B)
    _multiply(work, at.dT, at.C, at.dH)
    _add_product(work, at.dC, at.dC_next, at.dC_next, at.K_t)
    _add_product(work, at.dC, at.dC, at.T, at.dH_t)
    _add_product(work, at.dC, at.dC, at.S, at.dT)
    _backward_last(work, at)


# --- a minibatch ---------------------------------------------------------------------------------


@compiled(inline="always")
def _load(work: Array, at: Any, group: Array) -> None:
    """Copies a group's S, w, query and offset into the first layer's stretch."""
    matrix, vector = at.S.rows * at.S.columns * LANES, at.b.rows * LANES
    for i in range(matrix):
        work[at.S.start + i] = group[i]
    for i in range(vector):
        work[at.b.start + i] = group[matrix + i]
    for i in range(vector + LANES):  # the offset follows the query
        work[at.query.start + i] = group[matrix + vector + i]


@compiled(inline="always")
def _take_error(work: Array, at: Any, end: int) -> None:
    """Adds the squared error (b_L·x_{n+1} + offset)², and sets db_L.

    `end` is where the stretch after the last layer's starts.
    """
    for lane in range(LANES):
        error = work[at.offset.start + lane]
        for i in range(at.b.rows):
            row = i * LANES + lane
            error += work[end + at.b.start + row] * work[at.query.start + row]
        work[at.loss.start + lane] += error * error
        for i in range(at.b.rows):
            row = i * LANES + lane
            work[end + at.db.start + row] = error * work[at.query.start + row]


@compiled(inline="always")
def _clear_sums(work: Array, at: Any, layers: int, size: int) -> None:
    """Sets the loss, every dA_l and every dB_l to zero."""
    for layer in range(layers):
        for i in range(2 * at.A.rows * at.A.columns * LANES):  # dB follows dA
            work[layer * size + at.dA.start + i] = 0
    for lane in range(LANES):
        work[at.loss.start + lane] = 0


@compiled(inline="always")
def _collect_sums(work: Array, at: Any, gradient: Array, size: int) -> float:
    """Adds all lanes of the sums to the gradient (2, layers, d·d), and returns that of the loss."""
    for kind in range(2):
        for layer in range(gradient.shape[1]):
            for i in range(gradient.shape[2]):
                place = layer * size + at.dA.start + (kind * gradient.shape[2] + i) * LANES
                total = 0.0
                for lane in range(LANES):
                    total += work[place + lane]
                gradient[kind, layer, i] += total
    loss = 0.0
    for lane in range(LANES):
        loss += work[at.loss.start + lane]
    return loss


@cache
def _code(d: int, free_b: bool) -> Callable[..., float]:
    """Compiles the sums over a minibatch: Σ of squared errors, and half of their gradient."""
    at, size = layer_of(d)

    @compiled(fastmath={"contract"})
    def sum_up(data: Array, gradient: Array, work: Array) -> float:
        layers, loss = gradient.shape[1], 0.0
        for first in range(0, data.shape[0], GROUPS_PER_SUM):
            _clear_sums(work, at, layers, size)
            for group in range(first, min(first + GROUPS_PER_SUM, data.shape[0])):
                _load(work, at, data[group])
                if free_b:
                    _forward_first(work, at)
                    for layer in range(1, layers - 1):
                        _forward(work[layer * size :], at)
                    _forward_last(work[(layers - 1) * size :], at)
                else:
                    for layer in range(layers):
                        _forward_one(work[layer * size :], at)
                _take_error(work, at, layers * size)
                if free_b:
                    _clear(work[(layers - 1) * size :], at.dC)
                    _backward_last(work[(layers - 1) * size :], at)
                    for layer in range(layers - 2, 0, -1):
                        _backward(work[layer * size :], at)
                    _backward_first(work, at)
                else:
                    for layer in range(layers - 1, -1, -1):
                        _backward_one(work[layer * size :], at)
            loss += _collect_sums(work, at, gradient, size)
        return loss

    return sum_up


def loss_and_gradient(
    minibatch: Minibatch,
    A: Float[Array, "layers d d"],
    B: Float[Array, "layers d d"] | None = None,
) -> tuple[float, Float[Array, "2 layers d d"]]:
    """Computes the in-context loss of a minibatch and its gradient.

    Args:
        minibatch: the prompts.
        A: the x blocks of the Q_l, in the minibatch's precision.
        B: the x blocks of the P_l, likewise; None for B_l = 0, where C stays I and is never formed,
            which is several times cheaper.

    Returns:
        The loss, and its gradient in A and in B (zeros if B is None), summed in float64. In the
        last B it is exactly zero: it does not reach the output.

    Raises:
        ValueError: if shapes or precisions do not fit.
    """
    layers, d, dtype = len(A), minibatch.dim, minibatch.data.dtype
    free_b = B is not None and layers > 1
    B = np.zeros_like(A) if B is None else B
    for name, matrices in (("A", A), ("B", B)):
        if matrices.shape != (layers, d, d) or not layers or matrices.dtype != dtype:
            raise ValueError(
                f"{name} is {matrices.dtype} {matrices.shape}; expected {dtype} (layers, {d}, {d})"
            )
    at, size = layer_of(d)
    work = aligned_zeros((layers + 1) * size, dtype)
    stretches = work.reshape(layers + 1, size)
    for block, entries in ((at.A, A), (at.B, B), (at.C, np.eye(d)[None])):
        rows = stretches[:layers, block.start :][:, : d * d * LANES].reshape(layers, d * d, LANES)
        rows[:] = entries.reshape(-1, d * d, 1)
    gradient = np.zeros((2, layers, d * d))
    loss = _code(d, free_b)(minibatch.data, gradient, work)
    scale = 1.0 / minibatch.count
    return loss * scale, 2.0 * scale * gradient.reshape(2, layers, d, d)


def aligned_zeros(count: int, dtype: Any) -> Float[Array, " count"]:
    """Zeros from a multiple of 64 bytes on; a load across two cache lines takes twice as long."""
    spare = 64 // np.dtype(dtype).itemsize
    raw = np.zeros(count + spare, dtype)
    start = (-raw.ctypes.data % 64) // raw.itemsize
    return raw[start : start + count]


# --- training ------------------------------------------------------------------------------------


class FastLearner:
    """One seed's model, trained by Adam as `plain.PlainLearner` does, on minibatches."""

    def __init__(
        self,
        draw: Callable[[int], Minibatch],
        A: Float[Array, "layers d d"],
        B: Float[Array, "layers d d"],
        schedule: Schedule,
    ) -> None:
        self._draw, self._schedule = draw, schedule
        self._parameters = np.stack([A, B])
        self._moments = np.zeros((2, *self._parameters.shape), A.dtype)
        self._drawn: tuple[int, Minibatch] | None = None

    @property
    def state(self) -> Mapping[str, Stateful]:
        """A and B, and Adam's moments."""
        return {"parameters": self._parameters, "moments": self._moments}

    def advance(self, start: int, stop: int) -> None:
        """Makes the steps start … stop − 1."""
        for step in range(start, stop):
            index = self._schedule.draw(step)
            if self._drawn is None or self._drawn[0] != index:
                self._drawn = index, self._draw(index)
            A, B = self._parameters
            _, gradient = loss_and_gradient(self._drawn[1], A, B if self._schedule.free_b else None)
            self._adam(step, gradient)

    def matrices(self) -> Matrices:
        """A and B now, float64."""
        A, B = self._parameters.astype(np.float64)
        return A, B

    def go_on(self, draw: Callable[[int], Minibatch], schedule: Schedule) -> None:
        """Changes schedule and minibatches; A, B and Adam's moments stay as they are."""
        self._draw, self._schedule, self._drawn = draw, schedule, None

    @np.errstate(over="ignore", invalid="ignore")  # a run that diverges is seen by its loss
    def _adam(self, step: int, gradient: Float[Array, "2 layers d d"]) -> None:
        """One step of Adam without weight decay, each matrix clipped as PyTorch clips by norm."""
        schedule, (beta1, beta2) = self._schedule, self._schedule.betas
        norms = np.sqrt(np.square(gradient).sum(axis=(2, 3), keepdims=True))
        gradient *= np.minimum(1.0, schedule.clip / (norms + 1e-6))
        trained = slice(None) if schedule.free_b else slice(0, 1)
        gradient, parameters = gradient[trained], self._parameters[trained]
        first, second = self._moments[:, trained]
        first += (1.0 - beta1) * (gradient - first)
        second[:] = beta2 * second + (1.0 - beta2) * gradient**2
        size = schedule.rate(step) / (1.0 - beta1 ** (step + 1))
        root = np.sqrt(1.0 - beta2 ** (step + 1))
        parameters -= size * first / (np.sqrt(second) / root + schedule.epsilon)
