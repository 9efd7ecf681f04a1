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
from jaxtyping import Float

from reproaudit.papers.yang2025.fast import InnerProducts
from reproaudit.papers.yang2025.task import Population

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
    """Returns γ, for which attention gives every sample the margin `MARGIN`."""
    length = classes + 1
    return MARGIN * length / (_weight(SHARPNESS, length) - _weight(-SHARPNESS, length))


def with_attention(
    vectors: Float[np.ndarray, "vector coordinate"], sharpness: float = SHARPNESS
) -> tuple[
    Float[np.ndarray, "head class coordinate"],
    Float[np.ndarray, "head class coordinate"],
    Float[np.ndarray, "head 1 coordinate"],
]:
    """Returns W_K, W_Q and w of the first construction.

    Args:
        vectors: c_1 … c_K, v_1 … v_K, orthonormal.
        sharpness: s; at 0 attention is uniform.
    """
    classes = len(vectors) // 2
    identifiers, signals = vectors[:classes], vectors[classes:]
    keys = np.stack([identifiers, identifiers])
    queries = np.stack([sharpness * signals, -sharpness * signals])
    neuron = identifier_strength(classes) * identifiers.sum(axis=0)
    return keys, queries, np.stack([neuron, neuron])[:, None, :]


def without_attention(
    vectors: Float[np.ndarray, "vector coordinate"], bias: float, gated: bool = True
) -> tuple[
    Float[np.ndarray, "head 1 coordinate"],
    Float[np.ndarray, "head 1 coordinate"],
    Float[np.ndarray, "head class coordinate"],
]:
    """Returns W_K and W_Q, all zero, and w of the second construction, with β = MARGIN · L / 2.

    Args:
        vectors: c_1 … c_K, v_1 … v_K, orthonormal.
        bias: b.
        gated: whether identifiers switch the neurons of other classes off; without, M = 0.
    """
    classes, length = len(vectors) // 2, len(vectors) // 2 + 1
    identifiers, signals = vectors[:classes], vectors[classes:]
    strength = MARGIN * length / 2
    gate = strength + bias * length if gated else 0.0
    gates = gate * (2 * np.eye(classes) - 1) @ identifiers
    zeros = np.zeros((2, 1, vectors.shape[1]))
    return zeros, zeros, np.stack([strength * signals + gates, -strength * signals + gates])


def attention_margin(classes: int) -> float:
    """Returns the margin of every sample with attention, in closed form."""
    length = classes + 1
    gain = _weight(SHARPNESS, length) - _weight(-SHARPNESS, length)
    return identifier_strength(classes) / length * gain


def neurons_margin() -> float:
    """Returns the margin of every sample without attention, in closed form."""
    return MARGIN


def put_neurons(model: InnerProducts, population: Population, output_scale: float) -> None:
    """Puts w = γ Σ c_k + μ β Σ v_k (β: `SIGNAL`) in place, for pictures the nearest such w.

    Where outputs are multiplied by a scale, w is divided by it, so that margins stay.
    """
    classes, signals = population.classes, population.signal_class >= 0
    wished = np.where(signals, SIGNAL, 0.0)
    identifiers = np.where(signals, 0.0, identifier_strength(classes))
    for head, sign in enumerate((1.0, -1.0)):
        model.responses[head] = _reachable(population, identifiers + sign * wished) / output_scale


def put_attention(model: InnerProducts, population: Population) -> None:
    """Puts the scores μ s of identifier k for signals of class k in place, 0 for all else."""
    classes = population.classes
    own = population.signal_class[None, :] == np.arange(classes)[:, None]
    rows = _reachable(population, SHARPNESS * own.astype(np.float64))
    model.scores[:] = 0.0
    model.scores[0, :classes] = rows
    model.scores[1, :classes] = -rows


def _reachable(
    population: Population, responses: Float[np.ndarray, "*rows vector"]
) -> Float[np.ndarray, "*rows vector"]:
    """The responses nearest to these that a weight vector has; the same where vectors are free."""
    x = population.vectors
    return np.asarray(responses @ np.linalg.pinv(x).T @ x.T)
