"""The fast form: gradient descent on the exact loss in inner products, equal to `model`.

The loss sees the weights only through their products with the vocabulary X = (x_1 … x_n), taken as
columns:

* responses u_r = Xᵀ w_r of each neuron,
* keys W_K X and queries W_Q X, whose product is the scores B = (W_K X)ᵀ W_Q X.

With G = ∂L/∂B and K = XᵀX, the gradients are ∂L/∂W_K = W_Q X Gᵀ Xᵀ and ∂L/∂W_Q = W_K X G Xᵀ, and
that of w_r is X times coefficients g_r. So a step of rate η becomes, with nothing left out,

    W_K X ← W_K X − η W_Q X Gᵀ K,    W_Q X ← W_Q X − η W_K X G K,    u_r ← u_r − η K g_r.

The dimension of the tokens costs nothing: it enters by the initial values alone. Since w(0) = 0
keeps the neurons of a head identical, one row stands for all of them; with other initial values
every neuron has its own row. What training adds to a weight lies in the span of the vocabulary, so
that `weights` can give W_K, W_Q and w back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array, compiled, one_thread
from reproaudit.papers.yang2025.model import Weights
from reproaudit.papers.yang2025.products import InnerProducts, Rates
from reproaudit.papers.yang2025.task import Population


class Parts(NamedTuple):
    """That on which the outputs depend, or the loss's gradient by it."""

    scores: Array  # (head, vector, vector)
    responses: Array  # (head, row, vector)
    biases: Array  # (head, row)


def weights(model: InnerProducts, population: Population, start: Weights) -> list[Array]:
    """Returns W_K, W_Q, w and b of a model as `Weights` has them, one row per neuron.

    Args:
        model: the model in products with the vocabulary.
        population: whose vocabulary it is.
        start: the weights that training began with.
    """
    x = population.vectors
    back = np.linalg.pinv(x).T  # from products with the vocabulary to coordinates
    keys, queries, neurons, biases = start.arrays()
    return [
        keys + (model.keys - keys @ x.T) @ back,
        queries + (model.queries - queries @ x.T) @ back,
        neurons + (model.responses - neurons @ x.T) @ back,
        np.broadcast_to(model.biases, biases.shape).copy(),
    ]


def outputs(
    model: InnerProducts, population: Population, output_scale: float
) -> Float[np.ndarray, " sample"]:
    """Returns f(X) of every sample; ``output_scale`` multiplies the mean over rows."""
    return np.asarray(output_scale * _forward(_samples(population), _parts(model))[0])


def descend(
    model: InnerProducts, population: Population, *, steps: int, output_scale: float, rates: Rates
) -> None:
    """Takes steps of gradient descent, in place."""
    gram = np.ascontiguousarray(population.vectors @ population.vectors.T)
    with one_thread():  # a product's last bit depends on the number of threads
        _descend(_samples(population), model, gram, output_scale, Rates(*map(float, rates)), steps)


# ----------------------------------------------------------------------------------- compiled loops


class _Samples(NamedTuple):
    """A population as the loops read it."""

    tokens: Array  # (sample, token)
    signs: Array  # (sample, token)
    positive: Array  # (sample,)
    shares: Array  # (sample,)


def _samples(population: Population) -> _Samples:
    return _Samples(population.tokens, population.signs, population.positive, population.shares)


def _parts(model: InnerProducts) -> Parts:
    return Parts(model.scores, model.responses, model.biases)


@compiled()
def _attend(tokens: Array, signs: Array, scores: Array, attention: Array, weight: Array) -> None:
    """The attention (key, query) of one sample, and each key's signed mean over the queries."""
    length = tokens.shape[0]
    weight[:] = 0.0
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
            weight[key] += attention[key, query]
    for key in range(length):
        weight[key] *= signs[key] / length


@compiled()
def _forward(samples: _Samples, parts: Parts) -> tuple[Array, Array, Array, Array]:
    """The outputs with a mean over rows, and what leads to them.

    Returns:
        f (sample,), the attention (sample, head, key, query), the signed weights (sample, head,
        key), and what goes into each ReLU (sample, head, row).
    """
    count, length = samples.tokens.shape
    rows = parts.responses.shape[1]
    f = np.zeros(count)
    attention = np.empty((count, 2, length, length))
    weight = np.empty((count, 2, length))
    before = np.empty((count, 2, rows))
    for i in range(count):
        tokens = samples.tokens[i]
        signs = samples.signs[i]
        for head in range(2):
            _attend(tokens, signs, parts.scores[head], attention[i, head], weight[i, head])
            for row in range(rows):
                total = parts.biases[head, row]
                for key in range(length):
                    total += weight[i, head, key] * parts.responses[head, row, tokens[key]]
                before[i, head, row] = total
                f[i] += (1.0 - 2.0 * head) * max(total, 0.0) / rows
    return f, attention, weight, before


@compiled()
def _gradients(samples: _Samples, parts: Parts, output_scale: float) -> Parts:
    """The loss's gradient by the scores, the neurons and the biases.

    That of the neurons is given as coefficients of the vocabulary: the step of w_r is X times them.
    The last two leave out the factor ``output_scale / rows`` before each row's output, which the
    rates make up for (`Rates.neurons`).
    """
    count, length = samples.tokens.shape
    rows = parts.responses.shape[1]
    by = Parts(
        np.zeros_like(parts.scores), np.zeros_like(parts.responses), np.zeros_like(parts.biases)
    )
    value = np.empty(length)
    f, attention, weight, before = _forward(samples, parts)
    for i in range(count):
        tokens = samples.tokens[i]
        signs = samples.signs[i]
        probability = 1.0 / (1.0 + np.exp(-output_scale * f[i]))
        for head in range(2):
            slope = (probability - samples.positive[i]) * samples.shares[i] * (1.0 - 2.0 * head)
            value[:] = 0.0
            for row in range(rows):
                if before[i, head, row] <= 0.0:
                    continue
                by.biases[head, row] += slope
                for key in range(length):
                    by.responses[head, row, tokens[key]] += slope * weight[i, head, key]
                    value[key] += signs[key] * parts.responses[head, row, tokens[key]]
            slope *= output_scale / (rows * length)
            for query in range(length):
                mean = 0.0
                for key in range(length):
                    mean += attention[i, head, key, query] * value[key]
                for key in range(length):
                    by.scores[head, tokens[key], tokens[query]] += (
                        slope
                        * attention[i, head, key, query]
                        * (value[key] - mean)
                        * (signs[key] * signs[query])
                    )
    return by


@compiled()
def _descend(
    samples: _Samples,
    model: InnerProducts,
    gram: Array,
    output_scale: float,
    rates: Rates,
    steps: int,
) -> None:
    scores = np.empty((2, gram.shape[0], gram.shape[0]))
    for _ in range(steps):
        for head in range(2):
            scores[head] = _product(model.keys[head].T, model.queries[head])
        by = _gradients(samples, Parts(scores, model.responses, model.biases), output_scale)
        for head in range(2):
            model.responses[head] -= rates.neurons * _product(by.responses[head], gram)
            model.biases[head] -= rates.biases * by.biases[head]
            if rates.attention > 0.0:
                keys = model.keys[head]
                queries = model.queries[head]
                step = rates.attention * by.scores[head]
                by_queries = _product(keys, _product(step, gram))
                keys -= _product(queries, _product(step.T, gram))
                queries -= by_queries


@compiled()
def _product(a: Array, b: Array) -> Array:
    """The matrix product, in a function of its own so that it is compiled once."""
    return a @ b
