"""The linear transformer of the paper, token by token: the form to compare with the text.

Nothing here is rearranged for speed. `fast` computes the same loss from far less, and is tested
against this module.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def embed(
    x: Float[Tensor, "batch n d"], w: Float[Tensor, "batch d"], query: Float[Tensor, "batch d"]
) -> Float[Tensor, "batch d+1 n+1"]:
    """Z_0: the columns (x_i; w·x_i) of the n examples, then the query's column (x_{n+1}; 0).

    Source: section 2 of the paper, equation for Z_0.
    """
    labels = torch.einsum("bnd,bd->bn", x, w)
    examples = torch.cat([x, labels.unsqueeze(-1)], dim=-1)
    last = torch.cat([query, torch.zeros_like(query[:, :1])], dim=-1)
    return torch.cat([examples, last.unsqueeze(1)], dim=1).transpose(1, 2)


def layer_matrices(
    A: Float[Tensor, "d d"], B: Float[Tensor, "d d"]
) -> tuple[Float[Tensor, "d+1 d+1"], Float[Tensor, "d+1 d+1"]]:
    """P = [[B, 0], [0, 1]] and Q = [[A, 0], [0, 0]]: the sparsity that the theorems assume."""
    d = A.shape[-1]
    P = A.new_zeros(d + 1, d + 1)
    Q = A.new_zeros(d + 1, d + 1)
    P[:d, :d] = B
    P[d, d] = 1.0
    Q[:d, :d] = A
    return P, Q


def attention(
    Z: Float[Tensor, "batch rows tokens"],
    P: Float[Tensor, "rows rows"],
    Q: Float[Tensor, "rows rows"],
) -> Float[Tensor, "batch rows tokens"]:
    """P Z M (Zᵀ Q Z), with M = diag(I_n, 0): the query is read but attends to nothing itself."""
    tokens = Z.shape[-1]
    M = torch.eye(tokens, dtype=Z.dtype, device=Z.device)
    M[-1, -1] = 0.0
    return P @ Z @ M @ (Z.transpose(1, 2) @ Q @ Z)


def forward(
    Z: Float[Tensor, "batch rows tokens"],
    A: Float[Tensor, "layers d d"],
    B: Float[Tensor, "layers d d"],
) -> Float[Tensor, "batch rows tokens"]:
    """Z_L (rows d + 1, tokens n + 1), from Z_{l+1} = Z_l + (1/n) P_l Z_l M (Z_lᵀ Q_l Z_l)."""
    n = Z.shape[-1] - 1
    for A_l, B_l in zip(A, B, strict=True):
        P, Q = layer_matrices(A_l, B_l)
        Z = Z + attention(Z, P, Q) / n
    return Z


def predict(
    x: Float[Tensor, "batch n d"],
    w: Float[Tensor, "batch d"],
    query: Float[Tensor, "batch d"],
    A: Float[Tensor, "layers d d"],
    B: Float[Tensor, "layers d d"],
) -> Float[Tensor, " batch"]:
    """The prediction of w·x_{n+1}: −[Z_L]_{d+1, n+1}."""
    return -forward(embed(x, w, query), A, B)[:, -1, -1]


def in_context_loss(
    x: Float[Tensor, "batch n d"],
    w: Float[Tensor, "batch d"],
    query: Float[Tensor, "batch d"],
    A: Float[Tensor, "layers d d"],
    B: Float[Tensor, "layers d d"],
    target: Float[Tensor, "batch d"] | None = None,
) -> Float[Tensor, ""]:
    """Mean squared error of the prediction against w·x_{n+1}, over the prompts.

    The target has weights of its own where they are not those of the labels.
    """
    truth = ((w if target is None else target) * query).sum(-1)
    return (predict(x, w, query, A, B) - truth).square().mean()
