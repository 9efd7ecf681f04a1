"""The attention layer of the paper, token by token: the form to compare with the text.

Nothing here is rearranged for speed. `reproaudit.papers.wang2024.fast` computes the same loss and
gradient without building the tokens' matrix, and is tested against this module. In the shapes, z is
the length d + d_e of a token with its code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from reproaudit.lab import Array
from reproaudit.papers.wang2024.settings import Selection


class Weights(NamedTuple):
    """The layer's matrices, of one precision, changed in place by training; also their gradient.

    Attributes:
        key_query: W_KQ, the merged key-query matrix.
        value: W_V, the value matrix.
    """

    key_query: Float[Array, "z z"]
    value: Float[Array, "d z"]

    @staticmethod
    def draw(rng: np.random.Generator, s: Selection) -> Weights:
        """Draw independent normal entries of the settings' standard deviation; zeros for 0."""
        d = s.token_dimension
        z = s.token_dimension + s.code_dimension
        entries = (s.initial_scale * rng.standard_normal(shape) for shape in ((z, z), (d, z)))
        return Weights(*(matrix.astype(s.dtype) for matrix in entries))

    @staticmethod
    def identity(s: Selection, alpha: float, v: float) -> Weights:
        """Make the ground truth: W_KQ = α I on the codes, W_V = v I on the tokens, else 0."""
        d = s.token_dimension
        d_e = s.code_dimension
        key_query = np.diag([0.0] * d + [alpha] * d_e)
        return Weights(key_query.astype(s.dtype), (v * np.eye(d, d + d_e)).astype(s.dtype))

    @property
    def blocks(self) -> tuple[Array, Array, Array, Array]:
        """Views of the blocks: W_KQ's of codes to tokens, B (d × d_e), and of codes to codes, D
        (d_e × d_e); W_V's of tokens, V_x (d × d), and of codes, V_e (d × d_e)."""
        W_KQ, W_V = self
        d = len(W_V)
        return W_KQ[:d, d:], W_KQ[d:, d:], W_V[:, :d], W_V[:, d:]


def targets(
    X: Float[Tensor, "batch d T"], subsets: Int[Tensor, "batch q"]
) -> Float[Tensor, "batch d"]:
    """The sparse token selection task: (1/q) Σ_{i∈y} x_i."""
    chosen = subsets.unsqueeze(1).expand(-1, X.shape[1], -1)
    return X.gather(2, chosen).mean(dim=2)


def embed(
    X: Float[Tensor, "batch d T"], E: Float[Tensor, "batch T d_e"]
) -> Float[Tensor, "batch d+d_e T"]:
    """Z, whose columns are the tokens z_i = (x_i; e_i)."""
    return torch.cat([X, E.transpose(1, 2)], dim=1)


def query(
    E: Float[Tensor, "batch T d_e"], subsets: Int[Tensor, "batch q"], d: int
) -> Float[Tensor, "batch {d}+d_e"]:
    """z_query = (0; Σ_{i∈y} e_i)."""
    chosen = subsets.unsqueeze(2).expand(-1, -1, E.shape[2])
    codes = E.gather(1, chosen).sum(dim=1)
    return torch.cat([codes.new_zeros(len(codes), d), codes], dim=1)


def attention(
    Z: Float[Tensor, "batch z n"],
    z_query: Float[Tensor, "batch z"],
    W_KQ: Float[Tensor, "z z"],
) -> Float[Tensor, "batch n"]:
    """The attention weights softmax(Zᵀ W_KQ z_query)."""
    scores = Z.transpose(1, 2) @ (z_query @ W_KQ.T).unsqueeze(2)
    return torch.softmax(scores.squeeze(2), dim=1)


def forward(
    Z: Float[Tensor, "batch z T"],
    z_query: Float[Tensor, "batch z"],
    W_KQ: Float[Tensor, "z z"],
    W_V: Float[Tensor, "d z"],
    attend_query: bool = False,
) -> Float[Tensor, "batch d"]:
    """The output W_V Z softmax(Zᵀ W_KQ z_query).

    Args:
        Z: the tokens.
        z_query: the query.
        W_KQ: the merged key-query matrix.
        W_V: the value matrix.
        attend_query: whether the query stands among the attended tokens, [Z, z_query] for Z.
    """
    attended = torch.cat([Z, z_query.unsqueeze(2)], dim=2) if attend_query else Z
    weights = attention(attended, z_query, W_KQ)
    return ((W_V @ attended) @ weights.unsqueeze(2)).squeeze(2)


def selection_loss(
    output: Float[Tensor, "batch d"], target: Float[Tensor, "batch d"], factor: float = 0.5
) -> Float[Tensor, ""]:
    """The factor times the squared error, summed over coordinates and averaged over the batch."""
    return factor * (output - target).square().sum(dim=1).mean()
