"""Transformers built by hand that solve the task, in closed form.

**With attention** (one neuron per head). W_Kᵀ W_Q = μ s Σ_k c_k v_kᵀ and w = γ Σ_k c_k. In head μ
the identified signal, as query, gives its identifier the score μ y s and every other token 0; all
other queries attend uniformly. So the heads differ by where one query looks, and with
A(a) = e^a / (e^a + L − 1) every sample has the margin (γ/L) (A(s) − A(−s)), for any K. Adding
μ β Σ_k v_k to w gives neurons that answer easy samples already without attention.

**Without attention** (K neurons per head). W_K = 0 and w_{μ,k} = μ β v_k + M c_k − M Σ_{j≠k} c_j
with M = β + b L: the neurons of the other classes stay below the ReLU's kink, and every sample has
the margin 2β/L.
"""

from __future__ import annotations

import numpy as np

from reproaudit.papers.yang2025.dynamics import Model
from reproaudit.papers.yang2025.task import Array, Population

SHARPNESS = 8.0
"""s: the score of the own identifier; it then has the weight e^8 / (e^8 + L − 1) > 0.99."""

MARGIN = 6.0
"""The margin that attention gives every sample; its logistic loss is 0.0025."""

SIGNAL = 3.0
"""β of the construction that takes the place of training."""


def _weight(score: float, length: int) -> float:
    """A(a): the attention that one token with score a gets among others with score 0."""
    return float(np.exp(score) / (np.exp(score) + length - 1))


def identifier_strength(classes: int) -> float:
    """γ for which attention gives every sample the margin `MARGIN`."""
    length = classes + 1
    return MARGIN * length / (_weight(SHARPNESS, length) - _weight(-SHARPNESS, length))


def with_attention(vectors: Array, sharpness: float = SHARPNESS) -> tuple[Array, Array, Array]:
    """The first construction as weight matrices.

    Args:
        vectors: c_1 … c_K, v_1 … v_K, orthonormal; shape (2K, coordinate).
        sharpness: s; at 0 attention is uniform.

    Returns:
        W_K and W_Q, shape (head, K, coordinate), and w, shape (head, 1, coordinate).
    """
    classes = len(vectors) // 2
    identifiers, signals = vectors[:classes], vectors[classes:]
    keys = np.stack([identifiers, identifiers])
    queries = np.stack([sharpness * signals, -sharpness * signals])
    neuron = identifier_strength(classes) * identifiers.sum(axis=0)
    return keys, queries, np.stack([neuron, neuron])[:, None, :]


def without_attention(
    vectors: Array, bias: float, gated: bool = True
) -> tuple[Array, Array, Array]:
    """The second construction as weight matrices, with β = MARGIN · L / 2.

    Args:
        vectors: as for `with_attention`.
        bias: b.
        gated: whether identifiers switch the neurons of other classes off; without, M = 0.

    Returns:
        W_K and W_Q of zeros, shape (head, 1, coordinate), and w, shape (head, K, coordinate).
    """
    classes, length = len(vectors) // 2, len(vectors) // 2 + 1
    identifiers, signals = vectors[:classes], vectors[classes:]
    strength = MARGIN * length / 2
    gate = strength + bias * length if gated else 0.0
    gates = gate * (2 * np.eye(classes) - 1) @ identifiers
    zeros = np.zeros((2, 1, vectors.shape[1]))
    return zeros, zeros, np.stack([strength * signals + gates, -strength * signals + gates])


def attention_margin(classes: int) -> float:
    """The margin of every sample with attention, in closed form."""
    length = classes + 1
    gain = _weight(SHARPNESS, length) - _weight(-SHARPNESS, length)
    return identifier_strength(classes) / length * gain


def neurons_margin() -> float:
    """The margin of every sample without attention, in closed form."""
    return MARGIN


def put_neurons(model: Model, population: Population, output_scale: float) -> None:
    """Puts w = γ Σ c_k + μ β Σ v_k (β: `SIGNAL`) in place, for pictures the nearest such w.

    Where outputs are multiplied by a scale, w is divided by it, so that margins stay.
    """
    classes, signals = population.classes, population.signal_class >= 0
    wished = np.where(signals, SIGNAL, 0.0)
    identifiers = np.where(signals, 0.0, identifier_strength(classes))
    for head, sign in enumerate((1.0, -1.0)):
        model.responses[head] = _reachable(population, identifiers + sign * wished) / output_scale


def put_attention(model: Model, population: Population) -> None:
    """Puts the scores μ s of identifier k for signals of class k in place, 0 for all else."""
    classes = population.classes
    own = population.signal_class[None, :] == np.arange(classes)[:, None]
    rows = _reachable(population, SHARPNESS * own.astype(np.float64))
    model.scores[:] = 0.0
    model.scores[0, :classes] = rows
    model.scores[1, :classes] = -rows


def _reachable(population: Population, responses: Array) -> Array:
    """The responses of a weight vector that come nearest; the wished ones if vectors are free."""
    x = population.vectors
    return np.asarray(responses @ np.linalg.pinv(x).T @ x.T)
