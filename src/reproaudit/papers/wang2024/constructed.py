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

import numpy as np
from jaxtyping import Float64
from scipy.optimize import minimize_scalar

from reproaudit.lab import Array, one_thread
from reproaudit.papers.wang2024.model import Weights
from reproaudit.papers.wang2024.sampling import child, root
from reproaudit.papers.wang2024.settings import Selection
from reproaudit.papers.wang2024.task import draw_codes

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
        mass: expected attention on the selected tokens, of that on all tokens.
    """

    alpha: float
    v: float
    loss: float
    mass: float


def overlaps(
    key: np.uint64, s: Selection, positions: int
) -> Float64[Array, "draws*subsets positions+1"]:
    """Draw codes and compute the scores at α = 1, one row per draw and subset.

    The selected positions come first, the query's own score last.
    """
    q = s.selected
    subsets = min(SUBSETS_PER_DRAW, positions // q)
    rows = []
    with one_thread():
        for draw in range(s.reachable_draws):
            (E,) = draw_codes(child(key, draw), s, positions).astype(np.float64)
            sums = E[: subsets * q].reshape(subsets, q, -1).sum(axis=1)
            scores = sums @ E.T
            for index, asked in enumerate(sums):
                rows.append(np.append(np.roll(scores[index], -index * q), asked @ asked))
    return np.array(rows)


def identity_blocks(
    scores: Float64[Array, "rows positions+1"], alpha: float, s: Selection
) -> IdentityBlocks:
    """Find the best v for an α, and what the two reach on scores as `overlaps` gives them."""
    q = s.selected
    d = s.token_dimension
    seen = scores if s.attend_query else scores[:, :-1]
    weights = np.exp(alpha * (seen - seen.max(axis=1, keepdims=True)))
    weights /= weights.sum(axis=1, keepdims=True)
    tokens = weights[:, : scores.shape[1] - 1]
    selected = tokens[:, :q].sum(axis=1)
    whole = tokens.sum(axis=1)
    mass = float(selected.mean())
    square = float((tokens**2).sum(axis=1).mean())
    v = mass / (q * square) if square > 0 else 0.0  # all attention on the query's empty token
    share = float((selected / np.maximum(whole, np.finfo(float).tiny)).mean())
    return IdentityBlocks(alpha, v, d / 2 * (1 / q - v * mass / q), share)


def best_identity_blocks(
    scores: Float64[Array, "rows positions+1"], s: Selection
) -> IdentityBlocks:
    """Find the best α and v: a grid over log α, then a bounded search about its best point."""

    def at(log_sharpness: float) -> IdentityBlocks:
        return identity_blocks(scores, np.exp(log_sharpness) / s.code_norm**2, s)

    grid = np.linspace(*_LOG_SHARPNESS, 41)
    centre = grid[np.argmin([at(x).loss for x in grid])]
    step = grid[1] - grid[0]
    found = minimize_scalar(
        lambda x: at(x).loss, bounds=(centre - step, centre + step), method="bounded"
    )
    return at(float(found.x))


def reachable(seed: int, s: Selection, positions: int) -> IdentityBlocks:
    """Find the best identity blocks for sequences of a length, for the law of the codes."""
    key = child(root(seed, "reachable"), positions)
    return best_identity_blocks(overlaps(key, s, positions), s)


def best_weights(seed: int, s: Selection, positions: int) -> Weights:
    """Put the best identity blocks in a layer, to be tested on the points of a trained one."""
    best = reachable(seed, s, positions)
    return Weights.identity(s, best.alpha, best.v)
