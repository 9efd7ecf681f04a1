"""The loss as a recursion on each prompt's d×d second-moment matrix, with autograd.

Derived from the token-by-token form (`model`), with S = (1/n) Σ_i x_i x_iᵀ. By induction over the
layers, the x part of every token is C_lᵀ x, the label part of an example is b_l·x_i, and that of
the query is (b_l − w)·x_{n+1}, with

    C_0 = I,  b_0 = w,
    b_{l+1} = b_l + C_l A_lᵀ (C_lᵀ S b_l),
    C_{l+1} = C_l + C_l A_lᵀ (C_lᵀ S C_l) B_lᵀ,

so that the error of the prediction −[Z_L]_{d+1,n+1} is −b_L·x_{n+1}. The last layer's C, and with
it the last B, never reaches the output.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def second_moment(x: Float[Tensor, "*seeds batch n d"]) -> Float[Tensor, "*seeds batch d d"]:
    """S = (1/n) Σ_i x_i x_iᵀ of each prompt."""
    return x.transpose(-1, -2) @ x / x.shape[-2]


def residual_weights(
    S: Float[Tensor, "*seeds batch d d"],
    w: Float[Tensor, "*seeds batch d"],
    A: Float[Tensor, "*seeds layers d d"],
    B: Float[Tensor, "*seeds layers d d"] | None = None,
) -> Float[Tensor, "*seeds batch d"]:
    """b_L, for which the prediction's error on a query is −b_L·x_{n+1}.

    Args:
        S: second-moment matrix of each prompt.
        w: regression weights of each prompt.
        A: the x blocks of the Q_l.
        B: the x blocks of the P_l; None for B_l = 0, where C stays I and is never formed.
    """
    layers = A.shape[-3]
    b = w.unsqueeze(-1)
    C: Tensor | None = None
    for layer in range(layers):
        A_t = A[..., layer, :, :].transpose(-1, -2).unsqueeze(-3)
        s = S @ b
        b_next = b + (A_t @ s if C is None else C @ (A_t @ (C.transpose(-1, -2) @ s)))
        if B is not None and layer < layers - 1:
            C = _next_token_map(S, C, A_t, B[..., layer, :, :].transpose(-1, -2).unsqueeze(-3))
        b = b_next
    return b.squeeze(-1)


def _next_token_map(S: Tensor, C: Tensor | None, A_t: Tensor, B_t: Tensor) -> Tensor:
    """C_{l+1} from C_l, where None stands for the identity."""
    if C is None:
        return torch.eye(S.shape[-1], dtype=S.dtype, device=S.device) + A_t @ (S @ B_t)
    return C + C @ (A_t @ ((C.transpose(-1, -2) @ S @ C) @ B_t))


def recursion_loss(
    S: Float[Tensor, "*seeds batch d d"],
    w: Float[Tensor, "*seeds batch d"],
    query: Float[Tensor, "*seeds batch d"],
    A: Float[Tensor, "*seeds layers d d"],
    B: Float[Tensor, "*seeds layers d d"] | None = None,
    offset: Float[Tensor, "*seeds batch"] | None = None,
) -> Float[Tensor, "*seeds"]:
    """The in-context loss, mean (x_{n+1}·b_L + offset)² over the prompts, one per seed.

    Leading seed axes are optional; all arguments have the same ones. No number of a seed depends
    on another seed, so the gradient of the sum over seeds holds every seed's own gradient.

    Args:
        S, w, query, A, B: as in `residual_weights`, and x_{n+1}.
        offset: (w_target − w)·x_{n+1}, where the target is of other weights than the labels.
    """
    error = (residual_weights(S, w, A, B) * query).sum(-1)
    if offset is not None:
        error = error + offset
    return error.square().mean(-1)
