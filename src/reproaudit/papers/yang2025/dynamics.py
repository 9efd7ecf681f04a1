"""Gradient descent on the exact population loss in inner products: the fast form of `plain`.

The loss sees the weights only through their inner products with the vocabulary X = (x_1 … x_n):

* responses u_r = Xᵀ w_r of each neuron, and scores B = Xᵀ W_Kᵀ W_Q X.

With G = ∂L/∂B, K = XᵀX, P = (W_K X)ᵀ(W_K X) and R = (W_Q X)ᵀ(W_Q X), a step of rate η on W_K and
W_Q (∂L/∂W_Q = W_K X G Xᵀ, ∂L/∂W_K = W_Q X Gᵀ Xᵀ) becomes, with nothing left out,

    B ← B − η (P G K + K G R) + η² K G Bᵀ G K
    P ← P − η (B Gᵀ K + K G Bᵀ) + η² K G R Gᵀ K
    R ← R − η (Bᵀ G K + K Gᵀ B) + η² K Gᵀ P G K

so that neither the width of the attention nor the dimension of the tokens is paid for: they enter
by the initial values alone. Since w(0) = 0 keeps the neurons of a head identical, one row stands
for all of them (`Model.rows`); with other initial values every neuron has its own row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from reproaudit.papers.yang2025.task import Array, Indices, Population


@dataclass
class Model:
    """A transformer in inner products with the vocabulary; heads +1 and −1 in this order.

    Attributes:
        responses: u; shape (head, row, vector).
        biases: b; shape (head, row).
        scores: B, key by query; shape (head, vector, vector).
        key_gram: P; shape (head, vector, vector).
        query_gram: R; shape (head, vector, vector).
    """

    responses: Array
    biases: Array
    scores: Array
    key_gram: Array
    query_gram: Array

    @property
    def rows(self) -> int:
        """How many different neurons a head has."""
        return int(self.responses.shape[1])

    def state(self) -> dict[str, Array]:
        """What training changes, by name."""
        return {
            "responses": self.responses,
            "biases": self.biases,
            "scores": self.scores,
            "key_gram": self.key_gram,
            "query_gram": self.query_gram,
        }

    def copy(self) -> Model:
        """The same model in arrays of its own."""
        return Model(**{name: array.copy() for name, array in self.state().items()})


@dataclass(frozen=True)
class Rates:
    """Learning rates as the rows see them.

    Attributes:
        attention: of W_K and W_Q.
        neurons: of a row, for the gradient of the loss by the mean over rows of their outputs.
        biases: likewise.
    """

    attention: float
    neurons: float
    biases: float


def from_weights(
    population: Population, attention: tuple[Array, Array], neurons: Array, bias: float
) -> Model:
    """The model of given weights.

    Args:
        population: whose vocabulary the inner products are taken with.
        attention: W_K and W_Q; shape (head, width, coordinate) each.
        neurons: w; shape (head, row, coordinate).
        bias: b of every row.
    """
    keys, queries = (matrix @ population.vectors.T for matrix in attention)
    return Model(
        responses=np.ascontiguousarray(neurons @ population.vectors.T),
        biases=np.full(neurons.shape[:2], float(bias)),
        scores=np.ascontiguousarray(keys.transpose(0, 2, 1) @ queries),
        key_gram=np.ascontiguousarray(keys.transpose(0, 2, 1) @ keys),
        query_gram=np.ascontiguousarray(queries.transpose(0, 2, 1) @ queries),
    )


def outputs(model: Model, population: Population, output_scale: float) -> Array:
    """f(X) of every sample; ``output_scale`` multiplies the mean over rows; shape (sample,)."""
    f, _ = _forward(
        population.tokens, population.signs, model.responses, model.biases, model.scores
    )
    return np.asarray(output_scale * f)


def expected_loss(f: Array, positive: Array) -> float:
    """The logistic loss of outputs f against the probability of the label +1; (sample,) each."""
    right, wrong = np.logaddexp(0.0, -f), np.logaddexp(0.0, f)
    return float((positive * right + (1.0 - positive) * wrong).mean())


def gradients(
    model: Model, population: Population, output_scale: float
) -> tuple[Array, Array, Array]:
    """The loss's gradient by the row means' inputs, the biases and the scores.

    Returns:
        Shapes (head, row, vector), (head, row) and (head, vector, vector). The first two are taken
        as if each row's output were not divided by anything (`Rates.neurons` says the rest): of
        the responses as coefficients of the vocabulary, so that the step of w_r is X times them.
    """
    return _gradients(
        population.tokens,
        population.signs,
        population.positive,
        model.responses,
        model.biases,
        model.scores,
        output_scale,
    )


def descend(
    model: Model, population: Population, *, steps: int, output_scale: float, rates: Rates
) -> None:
    """Gradient descent, in place."""
    vectors = population.vectors
    _descend(
        population.tokens,
        population.signs,
        population.positive,
        np.ascontiguousarray(vectors @ vectors.T),
        model.responses,
        model.biases,
        model.scores,
        model.key_gram,
        model.query_gram,
        output_scale,
        rates.attention,
        rates.neurons,
        rates.biases,
        steps,
    )


@njit(cache=True)
def _attend(tokens: Indices, signs: Array, scores: Array, attention: Array) -> None:
    """Softmax over the keys for every query of one sample; ``attention`` is (key, query)."""
    length = tokens.shape[0]
    for query in range(length):
        highest = -np.inf
        for key in range(length):
            score = signs[key] * signs[query] * scores[tokens[key], tokens[query]]
            attention[key, query] = score
            highest = max(highest, score)
        total = 0.0
        for key in range(length):
            attention[key, query] = np.exp(attention[key, query] - highest)
            total += attention[key, query]
        for key in range(length):
            attention[key, query] /= total


@njit(cache=True)
def _forward(
    tokens: Indices, signs: Array, responses: Array, biases: Array, scores: Array
) -> tuple[Array, Array]:
    """The outputs (sample,) with a mean over rows, and the attention (sample, head, key, query)."""
    samples, length = tokens.shape
    rows = responses.shape[1]
    f = np.zeros(samples)
    attention = np.empty((samples, 2, length, length))
    for i in range(samples):
        for head in range(2):
            _attend(tokens[i], signs[i], scores[head], attention[i, head])
            for row in range(rows):
                before = biases[head, row]
                for key in range(length):
                    weight = attention[i, head, key].sum() / length
                    before += weight * signs[i, key] * responses[head, row, tokens[i, key]]
                f[i] += (1.0 - 2.0 * head) * max(before, 0.0) / rows
    return f, attention


@njit(cache=True)
def _gradients(
    tokens: Indices,
    signs: Array,
    positive: Array,
    responses: Array,
    biases: Array,
    scores: Array,
    output_scale: float,
) -> tuple[Array, Array, Array]:
    samples, length = tokens.shape
    rows = responses.shape[1]
    by_coefficient = np.zeros_like(responses)
    by_bias = np.zeros_like(biases)
    by_score = np.zeros_like(scores)
    weight = np.empty(length)
    value = np.empty(length)
    f, attention = _forward(tokens, signs, responses, biases, scores)
    for i in range(samples):
        slope = (1.0 / (1.0 + np.exp(-output_scale * f[i])) - positive[i]) / samples
        for head in range(2):
            sign = 1.0 - 2.0 * head
            for key in range(length):
                weight[key] = attention[i, head, key].sum() / length
                value[key] = 0.0
            for row in range(rows):
                before = biases[head, row]
                for key in range(length):
                    before += weight[key] * signs[i, key] * responses[head, row, tokens[i, key]]
                if before <= 0.0:
                    continue
                by_bias[head, row] += slope * sign
                for key in range(length):
                    token = tokens[i, key]
                    by_coefficient[head, row, token] += slope * sign * weight[key] * signs[i, key]
                    value[key] += signs[i, key] * responses[head, row, token]
            for query in range(length):
                mean = 0.0
                for key in range(length):
                    mean += attention[i, head, key, query] * value[key]
                for key in range(length):
                    by_score[head, tokens[i, key], tokens[i, query]] += (
                        (slope * sign * output_scale / (rows * length))
                        * attention[i, head, key, query]
                        * (value[key] - mean)
                        * (signs[i, key] * signs[i, query])
                    )
    return by_coefficient, by_bias, by_score


@njit(cache=True)
def _descend(
    tokens: Indices,
    signs: Array,
    positive: Array,
    gram: Array,
    responses: Array,
    biases: Array,
    scores: Array,
    key_gram: Array,
    query_gram: Array,
    output_scale: float,
    attention_rate: float,
    neuron_rate: float,
    bias_rate: float,
    steps: int,
) -> None:
    for _ in range(steps):
        by_coefficient, by_bias, by_score = _gradients(
            tokens, signs, positive, responses, biases, scores, output_scale
        )
        for head in range(2):
            responses[head] -= neuron_rate * (by_coefficient[head] @ gram)
            biases[head] -= bias_rate * by_bias[head]
            if attention_rate > 0.0:
                left = attention_rate * (gram @ by_score[head])
                right = attention_rate * (by_score[head] @ gram)
                b, p, r = scores[head].copy(), key_gram[head].copy(), query_gram[head].copy()
                p_right, left_r = p @ right, left @ r
                cross_key, cross_query = left @ b.T, b.T @ right
                scores[head] += cross_key @ right - p_right - left_r
                key_gram[head] += left_r @ left.T - cross_key - cross_key.T
                query_gram[head] += right.T @ p_right - cross_query - cross_query.T
