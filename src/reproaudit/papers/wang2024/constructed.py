"""The constructed solution: identity blocks, and the best that they can do without training.

With W_KQ = αI on the codes and W_V = vI on the tokens, the attention weights a depend on the codes
and the subset alone, and the tokens are independent standard normals, so that

    ½ E‖v X a − X 1_y/q‖² = (d/2) (v² E‖a‖² − 2 (v/q) E[a(y)] + 1/q),

with a(y) the attention on the selected tokens (and the query, where it is attended, without a
token). The best v is E[a(y)] / (q E‖a‖²), which leaves (d/2) (1/q − E[a(y)]² / (q² E‖a‖²)), a
function of α alone. The two expectations are averages over codes drawn from the law in use; nothing
else is sampled, and nothing is taken from a trained model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.optimize import minimize_scalar

from reproaudit.lab import Array, one_thread
from reproaudit.papers.wang2024.fast import Weights
from reproaudit.papers.wang2024.sampling import CODE_LAWS, child, fill_codes, root
from reproaudit.papers.wang2024.task import TaskSettings

SUBSETS_PER_DRAW = 8
"""Disjoint subsets looked at under one draw of the codes, if there are positions enough."""

_LOG_SHARPNESS = (-3.0, 7.0)
"""The range of log(α E‖e‖²): from near-uniform attention to attention on one token."""


@dataclass(frozen=True)
class IdentityBlocks:
    """W_KQ = αI on the codes and W_V = vI on the tokens, and what the two reach.

    Attributes:
        alpha: of W_KQ = αI on the codes.
        v: of W_V = vI on the tokens.
        loss: ½ × expected squared error.
        mass: expected attention on the selected tokens.
    """

    alpha: float
    v: float
    loss: float
    mass: float

    def weights(self, s: TaskSettings, dtype: Any) -> Weights:
        """The blocks as weights of a layer, to be tested on the same points as a trained one."""
        weights = Weights.zeros(s.token_dimension, s.code_dimension, dtype)
        weights.set_identity(self.alpha, self.v)
        return weights


def overlaps(
    key: Any, draws: int, T: int, q: int, d_e: int, law: int, scale: float
) -> Float64[Array, "draws*subsets {T}+1"]:
    """The scores at α = 1, one row per draw and subset: selected first, the query's own last."""
    codes = np.empty((T, d_e), np.float32)
    subsets = min(SUBSETS_PER_DRAW, T // q)
    rows = []
    with one_thread():
        for draw in range(draws):
            fill_codes(np.uint64(child(key, draw)), law, scale, codes)
            E = codes.astype(np.float64)
            sums = E[: subsets * q].reshape(subsets, q, d_e).sum(axis=1)
            scores = sums @ E.T
            for index, s in enumerate(sums):
                rows.append(np.append(np.roll(scores[index], -index * q), s @ s))
    return np.array(rows)


def identity_blocks(
    scores: Float64[Array, "rows T+1"], alpha: float, q: int, d: int, attend_query: bool
) -> IdentityBlocks:
    """The best v for an α, and what the two reach.

    Args:
        scores: as `overlaps` gives them.
        alpha: of W_KQ.
        q: the subset's size.
        d: the tokens' dimension.
        attend_query: whether the query is among the attended tokens.
    """
    seen = scores if attend_query else scores[:, :-1]
    weights = np.exp(alpha * (seen - seen.max(axis=1, keepdims=True)))
    weights /= weights.sum(axis=1, keepdims=True)
    tokens = weights[:, : scores.shape[1] - 1]
    mass = float(tokens[:, :q].sum(axis=1).mean())
    square = float((tokens**2).sum(axis=1).mean())
    v = mass / (q * square) if square > 0 else 0.0  # all attention on the query's empty token
    return IdentityBlocks(alpha, v, d / 2 * (1 / q - v * mass / q), mass)


def reachable(
    seed: int, s: TaskSettings, positions: int, draws: int, attend_query: bool
) -> IdentityBlocks:
    """The best identity blocks for sequences of a length, for the law of the codes.

    Args:
        seed: of the run.
        s: the settings of the data.
        positions: the sequences' length.
        draws: how many draws of the codes the expectations are averaged over.
        attend_query: whether the query is among the attended tokens.
    """
    key = np.uint64(child(root(seed, "reachable"), positions))
    law = CODE_LAWS[s.code_law]
    scores = overlaps(key, draws, positions, s.selected, s.code_dimension, law, s.entry_scale)
    return best_identity_blocks(scores, s.selected, s.token_dimension, attend_query, s.code_norm)


def best_identity_blocks(
    scores: Float64[Array, "rows T+1"], q: int, d: int, attend_query: bool, code_norm: float
) -> IdentityBlocks:
    """The best α and v: a grid over log α, then a bounded search about its best point.

    Args:
        scores: as `overlaps` gives them.
        q: the subset's size.
        d: the tokens' dimension.
        attend_query: whether the query is among the attended tokens.
        code_norm: the root of a code's expected squared norm, which sets the scale of α.
    """

    def at(log_sharpness: float) -> IdentityBlocks:
        return identity_blocks(scores, np.exp(log_sharpness) / code_norm**2, q, d, attend_query)

    grid = np.linspace(*_LOG_SHARPNESS, 41)
    centre = grid[np.argmin([at(x).loss for x in grid])]
    step = grid[1] - grid[0]
    found = minimize_scalar(
        lambda x: at(x).loss, bounds=(centre - step, centre + step), method="bounded"
    )
    return at(float(found.x))
