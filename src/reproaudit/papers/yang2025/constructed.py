"""Transformers built by hand that solve the task, in closed form.

**With attention** (one neuron per head). W_Kᵀ W_Q = μ s Σ_k c_k v_kᵀ and w = γ Σ_k c_k. In head μ
the identified signal, as query, gives its identifier the score μ y s and every other token 0; all
other queries attend uniformly. So the heads differ by where that query looks, and with
A(a) = e^a / (e^a + L − 1) every sample has the margin (γ/L) (A(s) − A(−s)), for any K. Adding
μ β Σ_k v_k to w gives neurons that answer easy samples already without attention.

**Without attention** (K neurons per head). W_K = 0 and w_{μ,k} = μ β v_k + M c_k − M Σ_{j≠k} c_j
with M = β + b L: the neurons of the other classes stay below the ReLU's kink, and every sample has
the margin 2β/L.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array
from reproaudit.papers.yang2025.model import HEADS
from reproaudit.papers.yang2025.products import InnerProducts
from reproaudit.papers.yang2025.task import Population

SHARPNESS = 8.0
"""s: the score of the own identifier; it then has the weight e^8 / (e^8 + L − 1) > 0.99."""

MARGIN = 6.0
"""The margin that either gives every sample; its logistic loss is 0.0025."""

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
    population: Population, sharpness: float = SHARPNESS
) -> tuple[Array, Array, Array]:
    """Returns W_K, W_Q (head, class, coordinate) and w (head, 1, coordinate) of the first.

    Where signals are not orthonormal, W_Q is the nearest to the one that gives every signal of
    class k the score s of c_k, and all else 0.

    Args:
        population: of the task, with its vocabulary.
        sharpness: s; at 0 attention is uniform.
    """
    classes = population.classes
    own = population.signal_class == np.arange(classes)[:, None]
    identifiers = population.vectors[:classes]
    queries = sharpness * _weights_for(population, own.astype(np.float64))
    neuron = identifier_strength(classes) * identifiers.sum(axis=0)
    both = np.stack([identifiers, identifiers])
    return both, np.stack([queries, -queries]), np.stack([neuron, neuron])[:, None, :]


def without_attention(
    population: Population, bias: float, gated: bool = True
) -> tuple[Array, Array, Array]:
    """Returns W_K, W_Q (head, 1, coordinate), zero, and w (head, class, coordinate) of the second.

    With β = MARGIN · L / 2 every sample has the margin `MARGIN`.

    Args:
        population: of the task, whose vocabulary is c_1 … c_K, v_1 … v_K, orthonormal.
        bias: b.
        gated: whether identifiers switch the neurons of other classes off; without, M = 0.
    """
    classes = population.classes
    vectors = population.vectors
    length = classes + 1
    identifiers = vectors[:classes]
    signals = vectors[classes:]
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


def put_neurons(model: InnerProducts, population: Population, output_scale: float) -> None:
    """Puts w = γ Σ c_k + μ β Σ v_k (β: `SIGNAL`) in place, for pictures the nearest such w.

    Where outputs are multiplied by a scale, w is divided by it, so that margins stay.
    """
    signals = population.signal_class >= 0
    identifiers = np.where(signals, 0.0, identifier_strength(population.classes))
    for head, sign in enumerate(HEADS):
        wished = identifiers + sign * SIGNAL * signals
        neuron = _weights_for(population, wished) / output_scale
        model.responses[head] = neuron @ population.vectors.T


def put_attention(model: InnerProducts, population: Population) -> None:
    """Puts W_K and W_Q of the first construction in place, in K rows; the other rows are zero."""
    keys, queries, _ = with_attention(population)
    for array, built in ((model.keys, keys), (model.queries, queries)):
        array[...] = 0.0
        array[:, : population.classes] = built @ population.vectors.T


def _weights_for(
    population: Population, products: Float[np.ndarray, "*rows vector"]
) -> Float[np.ndarray, "*rows coordinate"]:
    """The weights whose products with the vocabulary are nearest to these; equal if it is free."""
    return np.asarray(products @ np.linalg.pinv(population.vectors).T)
