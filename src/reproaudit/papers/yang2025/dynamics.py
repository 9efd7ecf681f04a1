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
        population.shares,
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
        population.shares,
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
def _mean(values: Array) -> float:
    total = 0.0
    for one in values:
        total += one
    return total / len(values)


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
                    weight = _mean(attention[i, head, key])
                    before += weight * signs[i, key] * responses[head, row, tokens[i, key]]
                f[i] += (1.0 - 2.0 * head) * max(before, 0.0) / rows
    return f, attention


@njit(cache=True)
def _gradients(
    tokens: Indices,
    signs: Array,
    positive: Array,
    shares: Array,
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
        slope = (1.0 / (1.0 + np.exp(-output_scale * f[i])) - positive[i]) * shares[i]
        for head in range(2):
            sign = 1.0 - 2.0 * head
            for key in range(length):
                weight[key] = _mean(attention[i, head, key])
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
    shares: Array,
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
            tokens, signs, positive, shares, responses, biases, scores, output_scale
        )
        for head in range(2):
            _neuron_step(responses[head], by_coefficient[head], gram, neuron_rate)
            _bias_step(biases[head], by_bias[head], bias_rate)
            if attention_rate > 0.0:
                _attention_step(
                    scores[head],
                    key_gram[head],
                    query_gram[head],
                    by_score[head],
                    gram,
                    attention_rate,
                )


@njit(cache=True)
def _neuron_step(responses: Array, by_coefficient: Array, gram: Array, rate: float) -> None:
    change = _product(by_coefficient, gram)
    for row in range(responses.shape[0]):
        for vector in range(responses.shape[1]):
            responses[row, vector] -= rate * change[row, vector]


@njit(cache=True)
def _bias_step(biases: Array, by_bias: Array, rate: float) -> None:
    for row in range(biases.shape[0]):
        biases[row] -= rate * by_bias[row]


@njit(cache=True)
def _attention_step(
    scores: Array, key_gram: Array, query_gram: Array, by_score: Array, gram: Array, rate: float
) -> None:
    """The three updates above; ``left`` is K G, ``right`` G K and ``_t`` a transpose."""
    left, right = _product(gram, by_score), _product(by_score, gram)
    left_t, right_t, scores_t = _transposed(left), _transposed(right), _transposed(scores)
    key_right, left_query = _product(key_gram, right), _product(left, query_gram)
    cross_key, cross_query = _product(left, scores_t), _product(scores_t, right)
    by_both = _product(cross_key, right)
    by_query, by_key = _product(left_query, left_t), _product(right_t, key_right)
    size = scores.shape[0]
    for i in range(size):
        for j in range(size):
            scores[i, j] += rate * (rate * by_both[i, j] - key_right[i, j] - left_query[i, j])
            key_gram[i, j] += rate * (rate * by_query[i, j] - cross_key[i, j] - cross_key[j, i])
            query_gram[i, j] += rate * (rate * by_key[i, j] - cross_query[i, j] - cross_query[j, i])


@njit(cache=True)
def _product(a: Array, b: Array) -> Array:
    """The matrix product, in a function of its own so that it is compiled once."""
    return a @ b


@njit(cache=True)
def _transposed(a: Array) -> Array:
    out = np.empty((a.shape[1], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j, i] = a[i, j]
    return out
