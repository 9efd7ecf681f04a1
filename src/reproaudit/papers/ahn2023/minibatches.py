"""Minibatches of the fast form: what the loss needs of a prompt, as it lies in memory, and drawn.

The loss needs of a prompt's inputs only S = (1/n) Σ x_i x_iᵀ, so S is drawn by its exact law and
the inputs are not. With x = R z, w = W v (usually W = R⁻ᵀ) and Σ = R Rᵀ,

    S = R T Tᵀ Rᵀ / n,    x_{n+1} = R z,    w = W v,    v and z standard normal.

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
        data: (groups, (d·d + 2d + 1) · LANES). For each prompt the entries of S, the query,
            the error's offset and w, each a row of LANES prompts. The last group is filled up with
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
            offset: what is added to each prediction's error: (w' − w)·x_{n+1} where the labels are
                of weights w and the target is of other weights w'. None for 0.

        Raises:
            ValueError: if the shapes do not fit, there is no prompt, or S is of another precision.
        """
        batch, d = len(S), S.shape[-1]
        if not batch or S.shape != (batch, d, d) or w.shape != query.shape or w.shape != (batch, d):
            raise ValueError(f"shapes do not fit: S {S.shape}, w {w.shape}, query {query.shape}")
        if S.dtype not in (np.float32, np.float64):
            raise ValueError(f"a minibatch is float32 or float64, not {S.dtype}")
        offsets = np.zeros(batch) if offset is None else offset
        rows = np.concatenate([S.reshape(batch, -1), query, offsets[:, None], w], axis=1)
        padded = np.zeros((-(-batch // LANES), LANES, rows.shape[1]), S.dtype)
        padded.reshape(-1, rows.shape[1])[:batch] = rows
        return cls(np.swapaxes(padded, 1, 2).reshape(len(padded), -1), batch, d)

    @classmethod
    def of_prompts(cls, prompts: Prompts) -> Minibatch:
        """The same prompts, of which every input was drawn."""
        labels, query = prompts.label_weights, prompts.query
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
    if n < d:
        T = rng.standard_normal((batch, d, n))
    else:
        T = np.tril(rng.standard_normal((batch, d, d)), -1)
        T[:, range(d), range(d)] = np.sqrt(rng.chisquare(n - np.arange(d), (batch, d)))
    factor = covariance.root @ T
    w, query = v @ covariance.weight_root.T, z @ covariance.root.T
    labels = np.roll(w, 1, axis=0) if shuffled else w
    S = np.asarray(factor @ factor.transpose(0, 2, 1) / n, dtype)
    return Minibatch.of(S, labels, query, ((w - labels) * query).sum(axis=1))
