"""Prompts as the vector code reads them: one lane per prompt, a group of prompts per vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import DTypeLike

from reproaudit.lab import Array

VECTOR_BYTES = 64
"""Bytes in a vector: 16 lanes of float32 or 8 of float64.

One register on a wide processor; the compiler splits it where registers are narrower.
"""


def lanes_of(dtype: DTypeLike) -> int:
    """The number of prompts in a vector of this precision."""
    return VECTOR_BYTES // np.dtype(dtype).itemsize


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Zeros that start at a multiple of a vector's size.

    A load across two cache lines takes twice as long.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + VECTOR_BYTES, np.uint8)
    skip = -raw.ctypes.data % VECTOR_BYTES
    return raw[skip : skip + size].view(dtype).reshape(shape)


@dataclass(frozen=True)
class Minibatch:
    """Prompts, made once and used for many steps.

    Attributes:
        data: (groups, d·d + 2d + 1, lanes). For each prompt the entries of S, w, the query and the
            error's offset; the lane of the last axis is the prompt within the group. The last group
            is filled up with prompts of zeros, which add nothing to any sum.
        count: how many prompts there really are.
        dim: d.
    """

    data: Float[Array, "groups rows lanes"]
    count: int
    dim: int

    @classmethod
    def zeros(cls, count: int, dim: int, dtype: DTypeLike) -> Minibatch:
        """Prompts of zeros, to be filled.

        Raises:
            ValueError: if there is no prompt, or dtype is neither float32 nor float64.
        """
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"a minibatch is float32 or float64, not {np.dtype(dtype)}")
        if count < 1:
            raise ValueError(f"a minibatch needs prompts, got {count}")
        lanes = lanes_of(dtype)
        shape = (-(-count // lanes), rows_per_group(dim), lanes)
        return cls(aligned_zeros(shape, dtype), count, dim)

    def unpacked(
        self,
    ) -> tuple[
        Float[Array, "batch d d"],
        Float[Array, "batch d"],
        Float[Array, "batch d"],
        Float[Array, " batch"],
    ]:
        """S, w, the query and the offset of each prompt."""
        square = self.dim**2
        rows = self.data.transpose(0, 2, 1).reshape(-1, self.data.shape[1])[: self.count]
        S = rows[:, :square].reshape(-1, self.dim, self.dim)
        w, query = rows[:, square : square + self.dim], rows[:, square + self.dim : -1]
        return S, w, query, rows[:, -1]


def rows_per_group(dim: int) -> int:
    """Vectors in a group: S, w, the query and the offset."""
    return dim * dim + 2 * dim + 1


def pack(
    S: Float[Array, "batch d d"],
    w: Float[Array, "batch d"],
    query: Float[Array, "batch d"],
    offset: Float[Array, " batch"] | None = None,
) -> Minibatch:
    """Lays prompts out for the vector code, in the precision of S.

    Args:
        S: the second moments (1/n) Σ x xᵀ, symmetric.
        w: the weights of the labels in the prompt.
        query: the inputs x_{n+1}.
        offset: what is added to each prediction's error: (w − w')·x_{n+1} where the labels are of
            weights w and the target is of other weights w'. None for 0.

    Raises:
        ValueError: if the shapes do not fit or S is neither float32 nor float64.
    """
    batch, d = len(S), S.shape[-1]
    if S.shape != (batch, d, d) or w.shape != (batch, d) or query.shape != (batch, d):
        raise ValueError(f"shapes do not fit: S {S.shape}, w {w.shape}, query {query.shape}")
    made = Minibatch.zeros(batch, d, S.dtype)
    offsets = np.zeros(batch) if offset is None else offset
    rows = np.concatenate([S.reshape(batch, -1), w, query, offsets[:, None]], axis=1)
    groups, per_group, lanes = made.data.shape
    padded = np.zeros((groups * lanes, per_group), S.dtype)
    padded[:batch] = rows
    made.data[:] = padded.reshape(groups, lanes, per_group).transpose(0, 2, 1)
    return made
