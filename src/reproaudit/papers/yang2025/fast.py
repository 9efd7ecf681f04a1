"""The fast form: gradient descent on the exact loss in inner products, equal to `model`.

The loss sees the weights only through their inner products with the vocabulary X = (x_1 … x_n):

* responses u_r = Xᵀ w_r of each neuron, and scores B = Xᵀ W_Kᵀ W_Q X.

With G = ∂L/∂B, K = XᵀX, P = (W_K X)ᵀ(W_K X) and R = (W_Q X)ᵀ(W_Q X), a step of rate η on W_K and
W_Q (∂L/∂W_Q = W_K X G Xᵀ, ∂L/∂W_K = W_Q X Gᵀ Xᵀ) becomes, with nothing left out,

    B ← B − η (P G K + K G R) + η² K G Bᵀ G K
    P ← P − η (B Gᵀ K + K G Bᵀ) + η² K G R Gᵀ K
    R ← R − η (Bᵀ G K + K Gᵀ B) + η² K Gᵀ P G K

(insert the step into P = (W_K X)ᵀ(W_K X), say, and every product of weights that appears is one of
B, P and R). So the width of the attention and the dimension of the tokens cost nothing: they enter
by the initial values alone. Since w(0) = 0 keeps the neurons of a head identical, one row stands
for all of them; with other initial values every neuron has its own row.

The weights themselves are not lost. Every step adds to W_K X and W_Q X combinations of the two, so
that at any time (W_K X, W_Q X) = (W_K(0) X, W_Q(0) X) T, where a step turns T = (T_K, T_Q) into

    T_K ← T_K − η T_Q Gᵀ K,    T_Q ← T_Q − η T_K G K.

`weights` gives W_K, W_Q and w from T, the responses and the weights at the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array, compiled
from reproaudit.papers.yang2025.task import Population


@dataclass
class InnerProducts:
    """A transformer in inner products with the vocabulary; heads +1 and −1 in this order.

    Attributes:
        responses: u of each neuron, or of the one row that stands for all.
        biases: b.
        scores: B, key by query.
        key_gram: P.
        query_gram: R.
        combinations: T_K and T_Q.
    """

    responses: Float[np.ndarray, "head row vector"]
    biases: Float[np.ndarray, "head row"]
    scores: Float[np.ndarray, "head vector vector"]
    key_gram: Float[np.ndarray, "head vector vector"]
    query_gram: Float[np.ndarray, "head vector vector"]
    combinations: Float[np.ndarray, "head 2 2*vector vector"]

    def state(self) -> dict[str, Array]:
        """Returns what training changes, by name."""
        return dict(vars(self))

    def copy(self) -> InnerProducts:
        """Returns the same model in arrays of its own."""
        return InnerProducts(**{name: array.copy() for name, array in self.state().items()})


class Rates(NamedTuple):
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
    population: Population,
    attention: tuple[
        Float[np.ndarray, "head width coordinate"], Float[np.ndarray, "head width coordinate"]
    ],
    neurons: Float[np.ndarray, "head row coordinate"],
    bias: float,
) -> InnerProducts:
    """Returns the inner products of given weights.

    Args:
        population: whose vocabulary the inner products are taken with.
        attention: W_K and W_Q.
        neurons: w.
        bias: b of every row.
    """
    keys, queries = (matrix @ population.vectors.T for matrix in attention)
    return InnerProducts(
        responses=np.ascontiguousarray(neurons @ population.vectors.T),
        biases=np.full(neurons.shape[:2], float(bias)),
        scores=np.ascontiguousarray(keys.transpose(0, 2, 1) @ queries),
        key_gram=np.ascontiguousarray(keys.transpose(0, 2, 1) @ keys),
        query_gram=np.ascontiguousarray(queries.transpose(0, 2, 1) @ queries),
        combinations=np.stack([_unit_combinations(len(population.vectors))] * 2),
    )


def weights(
    model: InnerProducts,
    population: Population,
    attention: tuple[
        Float[np.ndarray, "head width coordinate"], Float[np.ndarray, "head width coordinate"]
    ],
    neurons: Float[np.ndarray, "head neuron coordinate"],
) -> tuple[
    Float[np.ndarray, "head width coordinate"],
    Float[np.ndarray, "head width coordinate"],
    Float[np.ndarray, "head neuron coordinate"],
]:
    """Returns W_K, W_Q and w of a model, one row per neuron.

    What training adds to a weight lies in the span of the vocabulary, so that its products with the
    vocabulary say what it is. Scores that were put in place of training come from no weights, and
    W_K and W_Q are then those that they replaced.

    Args:
        model: the model in inner products.
        population: whose vocabulary they are taken with.
        attention: W_K and W_Q at the start, as `from_weights` was given them.
        neurons: w at the start, all neurons.
    """
    x = population.vectors
    back = np.linalg.pinv(x).T  # X⁺: from products with the vocabulary to coordinates
    both = np.concatenate([one @ x.T for one in attention], axis=2)
    moved = model.combinations - _unit_combinations(len(x))
    added = both[:, None] @ moved @ back
    responses = model.responses - neurons @ x.T  # one row stands for all where all are equal
    return attention[0] + added[:, 0], attention[1] + added[:, 1], neurons + responses @ back


def outputs(
    model: InnerProducts, population: Population, output_scale: float
) -> Float[np.ndarray, " sample"]:
    """Returns f(X) of every sample; ``output_scale`` multiplies the mean over rows."""
    f, _ = _forward(_samples(population), _weights(model))
    return np.asarray(output_scale * f)


def expected_loss(f: Float[np.ndarray, " sample"], positive: Float[np.ndarray, " sample"]) -> float:
    """Returns the mean logistic loss of outputs f; ``positive`` is P(label = +1) of each sample."""
    right, wrong = np.logaddexp(0.0, -f), np.logaddexp(0.0, f)
    return float((positive * right + (1.0 - positive) * wrong).mean())


def loss_in_training(model: InnerProducts, population: Population, output_scale: float) -> float:
    """Returns the loss that training descends on: each sample counts by its share."""
    f = outputs(model, population, output_scale)
    right, wrong = np.logaddexp(0.0, -f), np.logaddexp(0.0, f)
    losses = population.positive * right + (1.0 - population.positive) * wrong
    return float(population.shares @ losses)


def gradients(
    model: InnerProducts, population: Population, output_scale: float
) -> tuple[
    Float[np.ndarray, "head row vector"],
    Float[np.ndarray, "head row"],
    Float[np.ndarray, "head vector vector"],
]:
    """Returns the loss's gradient by the neurons, the biases and the scores.

    That of the neurons is given as coefficients of the vocabulary: the step of w_r is X times them.
    The first two leave out the factor ``output_scale / rows`` before each row's output, which the
    rates make up for (`Rates.neurons`).
    """
    by = _gradients(_samples(population), _weights(model), output_scale)
    return by.responses, by.biases, by.scores


def descend(
    model: InnerProducts, population: Population, *, steps: int, output_scale: float, rates: Rates
) -> None:
    """Takes steps of gradient descent, in place."""
    vectors = population.vectors
    _descend(
        _samples(population),
        _weights(model),
        _Grams(
            np.ascontiguousarray(vectors @ vectors.T),
            model.key_gram,
            model.query_gram,
            model.combinations,
        ),
        output_scale,
        Rates(*map(float, rates)),
        steps,
    )


# ----------------------------------------------------------------------------------- compiled loops


class _Samples(NamedTuple):
    """A population as the loops read it."""

    tokens: Array  # (sample, token)
    signs: Array  # (sample, token)
    positive: Array  # (sample,)
    shares: Array  # (sample,)


class _Weights(NamedTuple):
    """The weights on which the outputs depend, or the loss's gradient by them."""

    responses: Array  # (head, row, vector)
    biases: Array  # (head, row)
    scores: Array  # (head, vector, vector)


class _Grams(NamedTuple):
    """K of the vocabulary, and P, R, T_K and T_Q of the heads."""

    vocabulary: Array  # (vector, vector)
    keys: Array  # (head, vector, vector)
    queries: Array  # (head, vector, vector)
    combinations: Array  # (head, 2, 2 * vector, vector)


def _unit_combinations(vectors: int) -> Float[np.ndarray, "2 2*vector vector"]:
    """T_K and T_Q at the start."""
    return np.stack(np.split(np.eye(2 * vectors), 2, axis=1))


def _samples(population: Population) -> _Samples:
    return _Samples(population.tokens, population.signs, population.positive, population.shares)


def _weights(model: InnerProducts) -> _Weights:
    return _Weights(model.responses, model.biases, model.scores)


@compiled()
def _attend(tokens: Array, signs: Array, scores: Array, attention: Array) -> None:
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


@compiled()
def _mean(values: Array) -> Any:
    total = 0.0
    for one in values:
        total += one
    return total / len(values)


@compiled()
def _forward(samples: _Samples, weights: _Weights) -> tuple[Array, Array]:
    """The outputs (sample,) with a mean over rows, and the attention (sample, head, key, query)."""
    count, length = samples.tokens.shape
    rows = weights.responses.shape[1]
    f = np.zeros(count)
    attention = np.empty((count, 2, length, length))
    for i in range(count):
        tokens, signs = samples.tokens[i], samples.signs[i]
        for head in range(2):
            _attend(tokens, signs, weights.scores[head], attention[i, head])
            for row in range(rows):
                before = weights.biases[head, row]
                for key in range(length):
                    weight = _mean(attention[i, head, key])
                    before += weight * signs[key] * weights.responses[head, row, tokens[key]]
                f[i] += (1.0 - 2.0 * head) * max(before, 0.0) / rows
    return f, attention


@compiled()
def _gradients(samples: _Samples, weights: _Weights, output_scale: float) -> _Weights:
    count, length = samples.tokens.shape
    responses, rows = weights.responses, weights.responses.shape[1]
    by_coefficient = np.zeros_like(responses)
    by_bias = np.zeros_like(weights.biases)
    by_score = np.zeros_like(weights.scores)
    weight = np.empty(length)
    value = np.empty(length)
    f, attention = _forward(samples, weights)
    for i in range(count):
        tokens, signs = samples.tokens[i], samples.signs[i]
        probability = 1.0 / (1.0 + np.exp(-output_scale * f[i]))
        slope = (probability - samples.positive[i]) * samples.shares[i]
        for head in range(2):
            sign = 1.0 - 2.0 * head
            for key in range(length):
                weight[key] = _mean(attention[i, head, key])
                value[key] = 0.0
            for row in range(rows):
                before = weights.biases[head, row]
                for key in range(length):
                    before += weight[key] * signs[key] * responses[head, row, tokens[key]]
                if before <= 0.0:
                    continue
                by_bias[head, row] += slope * sign
                for key in range(length):
                    token = tokens[key]
                    by_coefficient[head, row, token] += slope * sign * weight[key] * signs[key]
                    value[key] += signs[key] * responses[head, row, token]
            for query in range(length):
                mean = 0.0
                for key in range(length):
                    mean += attention[i, head, key, query] * value[key]
                for key in range(length):
                    by_score[head, tokens[key], tokens[query]] += (
                        (slope * sign * output_scale / (rows * length))
                        * attention[i, head, key, query]
                        * (value[key] - mean)
                        * (signs[key] * signs[query])
                    )
    return _Weights(by_coefficient, by_bias, by_score)


@compiled()
def _descend(
    samples: _Samples,
    weights: _Weights,
    grams: _Grams,
    output_scale: float,
    rates: Rates,
    steps: int,
) -> None:
    for _ in range(steps):
        by = _gradients(samples, weights, output_scale)
        for head in range(2):
            change = _product(by.responses[head], grams.vocabulary)
            for row in range(change.shape[0]):
                weights.biases[head, row] -= rates.biases * by.biases[head, row]
                for vector in range(change.shape[1]):
                    weights.responses[head, row, vector] -= rates.neurons * change[row, vector]
            if rates.attention > 0.0:
                _attention_step(weights.scores[head], grams, head, by.scores[head], rates.attention)


@compiled()
def _attention_step(scores: Array, grams: _Grams, head: int, by_score: Array, rate: float) -> None:
    """The updates above; ``left`` is K G, ``right`` G K and ``_t`` a transpose."""
    keys, queries = grams.keys[head], grams.queries[head]
    left, right = _product(grams.vocabulary, by_score), _product(by_score, grams.vocabulary)
    left_t, right_t, scores_t = _transposed(left), _transposed(right), _transposed(scores)
    key_right, left_query = _product(keys, right), _product(left, queries)
    cross_key, cross_query = _product(left, scores_t), _product(scores_t, right)
    by_both = _product(cross_key, right)
    by_query, by_key = _product(left_query, left_t), _product(right_t, key_right)
    of_keys, of_queries = grams.combinations[head, 0], grams.combinations[head, 1]
    by_queries, by_keys = _product(of_queries, left_t), _product(of_keys, right)
    size = scores.shape[0]
    for i in range(2 * size):
        for j in range(size):
            of_keys[i, j] -= rate * by_queries[i, j]
            of_queries[i, j] -= rate * by_keys[i, j]
    for i in range(size):
        for j in range(size):
            scores[i, j] += rate * (rate * by_both[i, j] - key_right[i, j] - left_query[i, j])
            keys[i, j] += rate * (rate * by_query[i, j] - cross_key[i, j] - cross_key[j, i])
            queries[i, j] += rate * (rate * by_key[i, j] - cross_query[i, j] - cross_query[j, i])


@compiled()
def _product(a: Array, b: Array) -> Array:
    """The matrix product, in a function of its own so that it is compiled once."""
    return a @ b


@compiled()
def _transposed(a: Array) -> Array:
    out = np.empty((a.shape[1], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j, i] = a[i, j]
    return out
