"""Minibatches of the fast form: what the loss needs of a prompt, as it lies in memory, and drawn.

The loss needs of a prompt's inputs only S = (1/n) Σ x_i x_iᵀ, so S is drawn by its exact law and
the inputs are not. With x = R z, w = R⁻ᵀ v and Σ = R Rᵀ,

    S = R T Tᵀ Rᵀ / n,    x_{n+1} = R z,    w = R⁻ᵀ v,    v and z standard normal.

For n ≥ d, T is Bartlett's factor of a Wishart matrix: lower triangular, T_ij standard normal below
the diagonal and T_ii² ~ χ²(n − i), i from 0. For n < d, T is d×n with standard normal entries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import DTypeLike

from reproaudit.lab import Array
from reproaudit.papers.ahn2023.task import Covariance, Prompts

LANES = 16
"""Prompts that are computed together; in single precision a row of them is a vector of 512 bits."""


@dataclass(frozen=True)
class Minibatch:
    """Prompts, made once and used for many steps.

    Attributes:
        data: (groups, (d·d + 2d + 1) · LANES). For each prompt the entries of S, w, the query and
            the error's offset, each a row of LANES prompts. The last group is filled up with
            prompts of zeros, which add nothing to any sum.
        count: how many prompts there really are.
        dim: d.
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

        Args:
            S: the second moments (1/n) Σ x xᵀ, symmetric.
            w: the weights of the labels in the prompt.
            query: the inputs x_{n+1}.
            offset: what is added to each prediction's error: (w − w')·x_{n+1} where the labels are
                of weights w and the target is of other weights w'. None for 0.

        Raises:
            ValueError: if the shapes do not fit, there is no prompt, or S is of another precision.
        """
        batch, d = len(S), S.shape[-1]
        if S.shape != (batch, d, d) or w.shape != (batch, d) or query.shape != (batch, d):
            raise ValueError(f"shapes do not fit: S {S.shape}, w {w.shape}, query {query.shape}")
        if S.dtype not in (np.float32, np.float64):
            raise ValueError(f"a minibatch is float32 or float64, not {S.dtype}")
        if batch < 1:
            raise ValueError(f"a minibatch needs prompts, got {batch}")
        offsets = np.zeros(batch) if offset is None else offset
        groups = -(-batch // LANES)
        padded = np.zeros((groups * LANES, d * d + 2 * d + 1), S.dtype)
        padded[:batch] = np.concatenate(
            [S.reshape(batch, -1), w, query, offsets[:, None]], axis=1, dtype=S.dtype
        )
        rows = padded.reshape(groups, LANES, -1).transpose(0, 2, 1)
        return cls(np.ascontiguousarray(rows).reshape(groups, -1), batch, d)

    @classmethod
    def of_prompts(cls, prompts: Prompts) -> Minibatch:
        """The same prompts, of which every input was drawn."""
        labels, query = prompts.label_weights, prompts.query
        return cls.of(prompts.moment, labels, query, ((prompts.w - labels) * query).sum(axis=1))

    def unpacked(
        self,
    ) -> tuple[
        Float[Array, "batch d d"],
        Float[Array, "batch d"],
        Float[Array, "batch d"],
        Float[Array, " batch"],
    ]:
        """S, w, the query and the offset of each prompt."""
        square, d = self.dim**2, self.dim
        by_lane = self.data.reshape(len(self.data), -1, LANES).transpose(0, 2, 1)
        rows = by_lane.reshape(-1, by_lane.shape[2])[: self.count]
        S = rows[:, :square].reshape(-1, d, d)
        return S, rows[:, square : square + d], rows[:, square + d : -1], rows[:, -1]


def draw_minibatch(
    covariance: Covariance,
    batch: int,
    n: int,
    rng: np.random.Generator,
    *,
    dtype: DTypeLike = np.float32,
    shuffled: bool = False,
) -> Minibatch:
    """Draws a minibatch by the law above, in float64 and then rounded.

    Args:
        covariance: Σ.
        batch: how many prompts.
        n: pairs per prompt.
        rng: of this draw alone.
        dtype: of the minibatch; both are the same draw but for rounding.
        shuffled: whether the labels in a prompt are of the weights of the prompt before it, while
            the target stays its own: there is then nothing to be learned in context.
    """
    d = covariance.dim
    v, z = rng.standard_normal((2, batch, d))
    factor = covariance.root @ _factors(batch, n, d, rng)
    labels = np.roll(v, 1, axis=0) if shuffled else v
    return Minibatch.of(
        np.asarray(factor @ factor.transpose(0, 2, 1) / n, dtype),
        labels @ covariance.dual.T,
        z @ covariance.root.T,
        ((v - labels) * z).sum(axis=1),
    )


def _factors(
    batch: int, n: int, d: int, rng: np.random.Generator
) -> Float[Array, "batch d columns"]:
    """T of each prompt."""
    if n < d:
        return rng.standard_normal((batch, d, n))
    T = np.zeros((batch, d, d))
    rows, columns = np.tril_indices(d, -1)
    T[:, rows, columns] = rng.standard_normal((batch, len(rows)))
    diagonal = np.arange(d)
    T[:, diagonal, diagonal] = np.sqrt(rng.chisquare(n - diagonal, (batch, d)))
    return T
