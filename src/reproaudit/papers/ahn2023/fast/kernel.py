"""The in-context loss, its gradient and Adam's steps, compiled for the CPU.

`gradient_code` writes and compiles the loss and gradient of one group of prompts; here they are
summed over a minibatch and used for Adam's steps. The groups of a minibatch lie in blocks of a
fixed size. Each block sums its own gradient, and the blocks are added in their order, so no bit of
a result depends on the number of threads. That number is Numba's own (`numba.set_num_threads`).

Numba's cache on disk knows the file of a function only. So what Numba compiles here calls nothing
of ours from another file; the vector code reaches it as an address, as an argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from jaxtyping import Float
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from reproaudit.lab import Array
from reproaudit.lab.compiling import compiled
from reproaudit.papers.ahn2023.fast.gradient_code import group_code
from reproaudit.papers.ahn2023.fast.prompts import (
    Minibatch,
    lanes_of,
    rows_per_group,
)

GROUPS_PER_BLOCK = 32
"""Groups whose gradients are summed in the working precision before going to float64."""

_SERIAL = 32
"""Up to so many groups, one thread is faster than several."""


# --- blocks of groups, in turn or in parallel ----------------------------------------------------

_make_array: Any = make_array


@intrinsic
def _intrinsic_call(
    context: Any, address: Any, data: Any, parameters: Any, sums: Any, workspace: Any, groups: Any
) -> Any:
    """Calls the vector code at an address; the arrays stay alive until it returns."""
    del context, address, groups
    arrays = (data, parameters, sums, workspace)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature
        pointer = ir.IntType(8).as_pointer()
        values = [
            builder.bitcast(_make_array(kind)(context, builder, value).data, pointer)
            for kind, value in zip(arrays, arguments[1:5], strict=True)
        ]
        of = ir.FunctionType(ir.VoidType(), [pointer] * 4 + [ir.IntType(64)])
        code = builder.inttoptr(arguments[0], of.as_pointer())
        builder.call(code, [*values, arguments[5]])
        return context.get_dummy_value()

    return types.void(types.int64, *arrays, types.int64), generate


_call: Any = _intrinsic_call


@compiled()
def _aligned(vectors: int, data: Array) -> Array:
    """Room for vectors like those of `data`, starting at a multiple of their size."""
    lanes = data.shape[2]
    raw = np.empty((vectors + 1) * lanes, data.dtype)
    skip = (-raw.ctypes.data % (lanes * raw.itemsize)) // raw.itemsize
    return raw[skip : skip + vectors * lanes]


@compiled()
def _sum_block(
    out: Array, data: Array, block: int, parameters: Array, address: int, workspace: int
) -> None:
    """Sums the groups of a block into out = (Σ squared error, Σ dA/2, Σ dB/2 if B is free)."""
    lanes = data.shape[2]
    groups = data[block * GROUPS_PER_BLOCK : (block + 1) * GROUPS_PER_BLOCK]
    sums = _aligned(out.size, data)
    sums[:] = 0
    _call(address, groups, parameters, sums, _aligned(workspace, data), groups.shape[0])
    for row in range(out.size):
        a = b = c = e = 0.0  # four sums, so that an addition need not wait for the one before
        for place in range(row * lanes, (row + 1) * lanes, 4):
            a += sums[place]
            b += sums[place + 1]
            c += sums[place + 2]
            e += sums[place + 3]
        out[row] = (a + b) + (c + e)


@compiled()
def _blocks_in_turn(
    partial: Array, data: Array, parameters: Array, address: int, workspace: int
) -> None:
    for block in range(partial.shape[0]):
        _sum_block(partial[block], data, block, parameters, address, workspace)


@compiled(parallel=True)
def _blocks_in_parallel(
    partial: Array, data: Array, parameters: Array, address: int, workspace: int
) -> None:
    for block in numba.prange(partial.shape[0]):
        _sum_block(partial[block], data, block, parameters, address, workspace)


@compiled()
def _loss_and_gradient(
    gradient: Array,
    partial: Array,
    data: Array,
    count: int,
    parameters: Array,
    address: int,
    workspace: int,
    parallel: bool | None,
) -> float:
    """Returns the mean loss and fills the gradient, flat, float64."""
    if parallel is not None:  # decided by its type, so that what is not used is not compiled
        _blocks_in_parallel(partial, data, parameters, address, workspace)
    else:
        _blocks_in_turn(partial, data, parameters, address, workspace)
    loss = 0.0
    gradient[:] = 0.0
    for block in range(partial.shape[0]):
        loss += partial[block, 0]
        for i in range(partial.shape[1] - 1):
            gradient[i] += partial[block, 1 + i]
    for i in range(gradient.size):
        gradient[i] *= 2.0 / count
    return loss / count


# --- clipping and Adam ---------------------------------------------------------------------------


@compiled()
def _clip(gradient: Array, clip: float) -> None:
    """Scales a gradient to norm ≤ clip as torch does, 1e-6 and all; NaN stays NaN."""
    squares = 0.0
    for i in range(gradient.size):
        squares += gradient[i] * gradient[i]
    scale = clip / (np.sqrt(squares) + 1e-6)
    if not scale >= 1.0:
        for i in range(gradient.size):
            gradient[i] *= scale


@compiled()
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
    for i in range(gradient.size):
        first[i] += (1.0 - beta1) * (gradient[i] - first[i])
        second[i] = beta2 * second[i] + (1.0 - beta2) * gradient[i] * gradient[i]
        parameters[i] -= size * first[i] / (np.sqrt(second[i]) / root + eps)


@compiled()
def _advance(
    losses: Array,
    parameters: Array,
    first: Array,
    second: Array,
    trained: int,
    matrix: int,
    done: int,
    data: Array,
    count: int,
    learning_rate: float,
    betas: tuple[float, float],
    eps: float,
    clip: float,
    clip_whole: bool,
    address: int,
    workspace: int,
    parallel: bool | None,
) -> None:
    """len(losses) steps on one minibatch, in place; see `advance`.

    Of the flat parameters the first `trained` are updated, `matrix` of them to a matrix.
    """
    blocks = (data.shape[0] + GROUPS_PER_BLOCK - 1) // GROUPS_PER_BLOCK
    partial = np.empty((blocks, 1 + trained))
    gradient = np.empty(parameters.size)
    for step in range(losses.size):
        losses[step] = _loss_and_gradient(
            gradient, partial, data, count, parameters, address, workspace, parallel
        )
        part = parameters.size if clip_whole else matrix
        for begin in range(0, parameters.size, part):
            _clip(gradient[begin : begin + part], clip)
        _adam(
            parameters,
            first,
            second,
            gradient[:trained],
            done + step + 1,
            learning_rate,
            betas,
            eps,
        )


# --- what the rest of the paper uses -------------------------------------------------------------


@dataclass
class TrainingState:
    """A training run's whole state, as plain arrays that `advance` changes in place.

    Attributes:
        parameters: (2, layers, d, d): A and B.
        moments: (2, 2, layers, d, d): Adam's first and second moments, each of A and of B.
        steps: how many steps were made.
    """

    parameters: Float[Array, "2 layers d d"]
    moments: Float[Array, "2 2 layers d d"]
    steps: int = 0

    @classmethod
    def start(cls, A: Float[Array, "layers d d"], B: Float[Array, "layers d d"]) -> TrainingState:
        """The state before the first step, from copies of the initial matrices."""
        if A.shape != B.shape or A.dtype != B.dtype or A.ndim != 3 or A.shape[1] != A.shape[2]:
            raise ValueError(f"A {A.shape} {A.dtype} and B {B.shape} {B.dtype} do not fit")
        parameters = np.stack([A, B])
        return cls(parameters, np.zeros((2, *parameters.shape), A.dtype))

    @property
    def A(self) -> Float[Array, "layers d d"]:
        """The x blocks of the Q_l."""
        return np.asarray(self.parameters[0])

    @property
    def B(self) -> Float[Array, "layers d d"]:
        """The x blocks of the P_l."""
        return np.asarray(self.parameters[1])


def loss_and_gradient(
    minibatch: Minibatch,
    A: Float[Array, "layers d d"],
    B: Float[Array, "layers d d"] | None = None,
) -> tuple[
    float, Float[NDArray[np.float64], "layers d d"], Float[NDArray[np.float64], "layers d d"]
]:
    """The in-context loss of a minibatch and its gradient.

    Args:
        minibatch: the prompts.
        A: the x blocks of the Q_l, in the minibatch's precision.
        B: the x blocks of the P_l, likewise; None for B_l = 0, where C stays I and B's gradient is
            not computed, which is several times cheaper.

    Returns:
        The loss, and its gradients in A and in B (zeros if B is None), summed in float64. The
        gradient in the last B is exactly zero: it does not reach the output.

    Raises:
        ValueError: if shapes or precisions do not fit.
    """
    _check(minibatch, A)
    if B is not None and B.shape != A.shape:
        raise ValueError(f"B has shape {B.shape}, A {A.shape}")
    parameters = np.stack([A, np.zeros_like(A) if B is None else B.astype(A.dtype)])
    code = group_code(len(A), minibatch.dim, A.dtype, B is not None)
    blocks = -(-len(minibatch.data) // GROUPS_PER_BLOCK)
    trained = A.size if B is None else 2 * A.size
    partial, gradient = np.empty((blocks, 1 + trained)), np.empty(parameters.size)
    loss = _loss_and_gradient(
        gradient,
        partial,
        minibatch.data,
        minibatch.count,
        parameters.ravel(),
        code.code.address,
        code.workspace,
        _worth_threads(minibatch),
    )
    dA, dB = gradient.reshape(parameters.shape)
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
) -> Float[NDArray[np.float64], " steps"]:
    """Makes Adam steps on one minibatch, in place.

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
    _check(minibatch, state.A)
    expected = {"parameters": (2, *state.A.shape), "moments": (2, 2, *state.A.shape)}
    for name, shape in expected.items():  # the compiled loop checks no bounds
        array: Array = getattr(state, name)
        if array.shape != shape or array.dtype != state.A.dtype or not array.flags.c_contiguous:
            raise ValueError(
                f"{name}: {array.dtype} {array.shape}; expected contiguous {state.A.dtype} {shape}"
            )
    if not free_b:
        state.B[:] = 0.0
    code = group_code(len(state.A), minibatch.dim, state.A.dtype, free_b)
    losses = np.empty(steps)
    first, second = state.moments.reshape(2, -1)
    _advance(
        losses,
        state.parameters.ravel(),
        first,
        second,
        state.A.size * (2 if free_b else 1),
        minibatch.dim**2,
        state.steps,
        minibatch.data,
        minibatch.count,
        float(learning_rate),
        (float(betas[0]), float(betas[1])),
        float(eps),
        float(clip),
        clip_whole,
        code.code.address,
        code.workspace,
        _worth_threads(minibatch),
    )
    state.steps += steps
    return losses


def _check(minibatch: Minibatch, A: Array) -> None:
    d = minibatch.dim
    if A.ndim != 3 or A.shape[1:] != (d, d) or len(A) == 0:
        raise ValueError(f"A has shape {A.shape}; expected (layers, {d}, {d})")
    layout = (rows_per_group(d), lanes_of(minibatch.data.dtype))
    if minibatch.data.shape[1:] != layout or not minibatch.data.flags.c_contiguous:
        raise ValueError(f"not a minibatch's layout: {minibatch.data.shape}")
    if A.dtype != minibatch.data.dtype:
        raise ValueError(f"A is {A.dtype}, the minibatch {minibatch.data.dtype}")


def _worth_threads(minibatch: Minibatch) -> bool | None:
    """True if a parallel region pays, else None; entering one costs a good part of a block."""
    return True if numba.get_num_threads() > 1 and len(minibatch.data) > _SERIAL else None
