"""The modified χ² mutual information between the next token and sets of earlier ones.

It is computed from the transition tables alone, never from a model, so that it can say which set of
parents a model should select.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array
from reproaudit.papers.chen2024.model import Subset

SMALLEST_CHANCE = 1e-30
"""A chance below this counts as this: a row of a small Dirichlet parameter may hold zeros, and a
chain that cannot leave a context has no single stationary law."""


def stationary_law(tables: Float[Array, "chain V**order V"]) -> Float[Array, "chain V**order"]:
    """The stationary law of each chain's contexts.

    By the elimination of Grassmann, Taksar and Heyman, which subtracts nothing: rows close to
    deterministic make a chain nearly reducible, and an ordinary solver then loses all digits.
    """
    count, contexts, vocabulary = tables.shape
    tables = np.maximum(tables, SMALLEST_CHANCE)
    moves = np.zeros((count, contexts, contexts))
    for context in range(contexts):
        for token in range(vocabulary):
            moves[:, context, (context * vocabulary + token) % contexts] += tables[
                :, context, token
            ]
    for last in range(contexts - 1, 0, -1):
        leaving = moves[:, last, :last].sum(axis=1)
        moves[:, :last, last] /= leaving[:, None]
        moves[:, :last, :last] += moves[:, :last, last, None] * moves[:, None, last, :last]
    law = np.zeros((count, contexts))
    law[:, 0] = 1.0
    for state in range(1, contexts):
        law[:, state] = (law[:, :state] * moves[:, :state, state]).sum(axis=1)
    return np.asarray(law / law.sum(axis=1, keepdims=True))


def modified_information(
    tables: Float[Array, "chain V**order V"], order: int, subsets: Sequence[Subset], lags: int
) -> Float[Array, " subset"]:
    """The modified χ² mutual information I(S) of each set of lags, averaged over chains.

    I(S) = E_π E_{Z_S} [ μ(Z_S) (Σ_z μ(z | Z_S)² / μ(z) − 1) ] with z the next token, Z_S the tokens
    at the lags in S and μ the chain's stationary law; computed as
    Σ_{Z_S} (Σ_z μ(Z_S, z)² / μ(z) − μ(Z_S)²). The factor μ(Z_S) favours small sets. A pure number.

    Args:
        tables: the chains.
        order: of the chains, at least 1.
        subsets: sets of lags, 1 being the latest token.
        lags: the longest lag that a subset may name.
    """
    joint = _joint_law(tables, order, max(order, lags) + 1)
    values = []
    for subset in subsets:
        # axis 0 is the chain, the last axis the next token, and axis −1 − lag the token at a lag
        away = tuple(
            axis for axis in range(1, joint.ndim - 1) if joint.ndim - 1 - axis not in subset
        )
        with_next = joint.sum(axis=away).reshape(len(tables), -1, tables.shape[2])
        alone = with_next.sum(axis=2)
        following = with_next.sum(axis=1)
        shares = np.zeros_like(with_next)  # a token that never comes adds nothing
        law = np.broadcast_to(following[:, None, :], with_next.shape)
        np.divide(with_next**2, law, out=shares, where=law > 0)
        match = shares.sum(axis=(1, 2))
        values.append(float((match - (alone**2).sum(axis=1)).mean()))
    return np.array(values)


def _joint_law(tables: Array, order: int, window: int) -> Array:
    """The stationary law of ``window`` tokens in a row, oldest first, latest last."""
    count, contexts, vocabulary = tables.shape
    law = stationary_law(tables).reshape(count, contexts)
    tokens = order
    while tokens < window:
        older = law.reshape(count, -1, contexts)
        law = (older[..., None] * tables[:, None]).reshape(count, -1)
        tokens += 1
    return law.reshape(count, *[vocabulary] * window)
