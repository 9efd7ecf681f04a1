"""The structures that the compiled layer takes: its weights in blocks, and its training."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array
from reproaudit.papers.wang2024.task import BatchLaw


class Weights(NamedTuple):
    """W_KQ and W_V in blocks, all of one precision, changed in place; also their gradient.

    Attributes:
        B: W_KQ's block from codes to tokens.
        D: W_KQ's block from codes to codes.
        V_x: W_V's block of the tokens.
        V_e: W_V's block of the codes.
        idle: the columns of W_KQ that meet the query's zero block; their gradient is zero.
    """

    B: Float[Array, "d d_e"]
    D: Float[Array, "d_e d_e"]
    V_x: Float[Array, "d d"]
    V_e: Float[Array, "d d_e"]
    idle: Float[Array, "d+d_e d"]

    @staticmethod
    def draw(rng: np.random.Generator, d: int, d_e: int, scale: float, dtype: Any) -> Weights:
        """Independent normal entries of standard deviation ``scale``; zeros for 0."""

        def entries(*shape: int) -> Array:
            return np.asarray(scale * rng.standard_normal(shape), dtype=dtype)

        return Weights(
            entries(d, d_e), entries(d_e, d_e), entries(d, d), entries(d, d_e), entries(d + d_e, d)
        )

    @staticmethod
    def zeros(d: int, d_e: int, dtype: Any) -> Weights:
        """Weights that are all zero."""
        shapes = (d, d_e), (d_e, d_e), (d, d), (d, d_e), (d + d_e, d)
        return Weights(*(np.zeros(shape, dtype) for shape in shapes))

    @staticmethod
    def zeros_like(other: Weights) -> Weights:
        """Weights of the same sizes and precision, all zero."""
        return Weights(*(np.zeros_like(block) for block in other))

    def set_identity(self, alpha: float, v: float) -> None:
        """Makes it the ground truth: W_KQ = α I on the codes, W_V = v I on the tokens, else 0."""
        for block in self:
            block[...] = 0.0
        np.fill_diagonal(self.D, alpha)
        np.fill_diagonal(self.V_x, v)

    @property
    def key_query(self) -> Float[Array, "d+d_e d+d_e"]:
        """W_KQ."""
        return np.concatenate([self.idle, np.concatenate([self.B, self.D])], axis=1)

    @property
    def value(self) -> Float[Array, "d d+d_e"]:
        """W_V."""
        return np.concatenate([self.V_x, self.V_e], axis=1)


class Sgd(NamedTuple):
    """The training of a layer: online stochastic gradient descent, a fresh batch at each step.

    Attributes:
        key: step k draws under child k of it.
        law: how a batch is drawn.
        attend_query: whether the query is among the attended tokens.
        factor: c in the loss c · mean ‖output − target‖².
        rate: the learning rate at first.
        annealed_rate: from step ``anneal_at`` on.
        anneal_at: a training step.
    """

    key: np.uint64
    law: BatchLaw
    attend_query: bool
    factor: float
    rate: float
    annealed_rate: float
    anneal_at: int
