"""The loss on counted windows, its gradient written out by hand, and gradient descent.

⟨v_h(l), v_h(L + 1)⟩ depends only on what head h sees of the two windows, so it is tabulated by
code; K and exp(a (K − 1)) are computed once for each pair, and each sequence sums its entries.
K ≤ 1, and subtracting a from every score moves no vote.

All sums run in a fixed order in one thread, so that the same numbers give the same bits. Arrays
have the precision of the parameters, single sums are double.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array, compiled
from reproaudit.papers.chen2024.fast.windows import Windows
from reproaudit.papers.chen2024.model import LossReading

ParameterName = Literal["lag_weights", "coefficients", "sharpness"]


class Parameters(NamedTuple):
    """The trained parameters, changed in place; a gradient has the same form.

    Attributes:
        lag_weights: w, the weights before the softmax over a head's window.
        coefficients: c_S.
        sharpness: a, the factor before the second softmax.
    """

    lag_weights: Float[Array, "head lag"]
    coefficients: Float[Array, " subset"]
    sharpness: Float[Array, " 1"]


class _Trained(NamedTuple):
    """The parameters that change in training."""

    lag_weights: bool
    coefficients: bool
    sharpness: bool


# ------------------------------------------------------------------------- features of windows


@compiled()
def _vectors(weights: Array, seen: Array, vocabulary: int) -> tuple[Array, Array]:
    """v_h of every window code, and the length of the mixture before it was normalised.

    The softmax over the lags present and the normalisation after it share one factor, which
    cancels; so exp(w) is enough.
    """
    heads, lags = weights.shape
    codes = seen.shape[0]
    vectors = np.zeros((heads, codes, vocabulary))
    lengths = np.zeros((heads, codes))
    for h in range(heads):
        top = weights[h].max()
        for code in range(codes):
            for k in range(lags):
                if seen[code, k] >= 0:
                    vectors[h, code, seen[code, k]] += np.exp(weights[h, k] - top)
            squared = 0.0
            for t in range(vocabulary):
                squared += vectors[h, code, t] ** 2
            lengths[h, code] = np.sqrt(squared)
            if squared > 0:
                for t in range(vocabulary):
                    vectors[h, code, t] /= lengths[h, code]
    return vectors, lengths


@compiled()
def _similarities(vectors: Array, windows: Windows, out: Array) -> None:
    """⟨v_h(l), v_h(L + 1)⟩ of every pair, into out[head, pair]."""
    query, key = windows.query, windows.key
    heads, codes, vocabulary = vectors.shape
    table = np.zeros((codes, codes))
    for h in range(heads):
        for q in range(codes):
            for k in range(codes):
                product = 0.0
                for t in range(vocabulary):
                    product += vectors[h, q, t] * vectors[h, k, t]
                table[q, k] = product
        for p in range(query.shape[1]):
            out[h, p] = table[query[h, p], key[h, p]]


@compiled()
def _lag_gradient(
    d_similar: Array,
    vectors: Array,
    lengths: Array,
    weights: Array,
    windows: Windows,
    out: Array,
) -> None:
    """From the gradient by the similarities to that by w, through the normalisation."""
    query, key, seen = windows.query, windows.key, windows.seen
    heads, codes, vocabulary = vectors.shape
    table = np.zeros((heads, codes, codes))
    for h in range(heads):
        for p in range(query.shape[1]):
            table[h, query[h, p], key[h, p]] += d_similar[h, p]
    d_vector = np.zeros(vocabulary)
    for h in range(heads):
        out[h] = 0.0
        top = weights[h].max()
        for code in range(codes):
            if lengths[h, code] == 0.0:
                continue
            d_vector[:] = 0.0
            for other in range(codes):
                both = table[h, code, other] + table[h, other, code]
                if both != 0.0:
                    for t in range(vocabulary):
                        d_vector[t] += both * vectors[h, other, t]
            along = 0.0
            for t in range(vocabulary):
                along += d_vector[t] * vectors[h, code, t]
            for k in range(seen.shape[1]):
                t = seen[code, k]
                if t >= 0:
                    across = d_vector[t] - along * vectors[h, code, t]
                    out[h, k] += across * np.exp(weights[h, k] - top) / lengths[h, code]


# ------------------------------------------------------------------------------ K of the pairs


@compiled()
def _shares(coefficients: Array) -> Array:
    """p_S = c_S² / Σ c²."""
    squares = np.zeros(coefficients.shape[0])
    total = 0.0
    for s in range(coefficients.shape[0]):
        squares[s] = float(coefficients[s]) ** 2
        total += squares[s]
    return squares / total


@compiled()
def _multiply(similar: Array, members: Array, leave_out: int, out: Array) -> None:
    """Multiplies out by Π_{h∈S} ⟨v_h(l), v_h(L + 1)⟩ of every pair, without one member of S."""
    for i in range(members.shape[0]):
        if i != leave_out and members[i] < similar.shape[0]:
            row = similar[members[i]]
            for p in range(out.shape[0]):
                out[p] *= row[p]


@compiled()
def _kernel(similar: Array, shares: Array, members: Array, out: Array) -> None:
    """K of every pair."""
    out[:] = 0.0
    term = np.empty(out.shape[0])
    for s in range(members.shape[0]):
        term[:] = shares[s]
        _multiply(similar, members[s], -1, term)
        for p in range(out.shape[0]):
            out[p] += term[p]


@compiled()
def _gradient_of_shares(d_kernel: Array, similar: Array, members: Array) -> Array:
    """From the gradient by K to that by p_S."""
    d_shares = np.zeros(members.shape[0])
    term = np.empty(d_kernel.shape[0])
    for s in range(members.shape[0]):
        term[:] = d_kernel
        _multiply(similar, members[s], -1, term)
        d_shares[s] = term.sum()
    return d_shares


@compiled()
def _gradient_of_similarities(
    d_kernel: Array, similar: Array, shares: Array, members: Array, out: Array
) -> None:
    """From the gradient by K to that by the similarities, into out[head, pair]."""
    out[:] = 0.0
    term = np.empty(d_kernel.shape[0])
    for s in range(members.shape[0]):
        for i in range(members.shape[1]):
            if members[s, i] < similar.shape[0]:
                for p in range(term.shape[0]):
                    term[p] = shares[s] * d_kernel[p]
                _multiply(similar, members[s], i, term)
                own = out[members[s, i]]
                for p in range(term.shape[0]):
                    own[p] += term[p]


# ------------------------------------------------------------------------ the votes and the loss


@compiled()
def _vote_loss(
    weight: Array, windows: Windows, softmaxed: bool, epsilon: float, d_weight: Array
) -> float:
    """The loss of the votes, and its gradient by the weight of every pair (into d_weight)."""
    sequences, vocabulary = windows.row.shape
    votes = np.zeros(windows.row.size)
    for j in range(windows.start.shape[0] - 1):
        first = windows.start[j]
        for r in range(windows.start[j + 1] - first):
            votes[r] += windows.positions[first + r] * weight[windows.pair[first + r]]
    predicted, slope = np.zeros(vocabulary), np.zeros(vocabulary)
    loss = 0.0
    for n in range(sequences):
        total = 0.0
        for t in range(vocabulary):
            predicted[t] = votes[windows.row[n, t]]
            total += predicted[t]
        for t in range(vocabulary):
            predicted[t] /= total
        loss += _loss_of_one(predicted, windows.target[n], softmaxed, epsilon, slope)
        mean = 0.0
        for t in range(vocabulary):
            mean += slope[t] * predicted[t]
        for t in range(vocabulary):
            votes[windows.row[n, t]] = (slope[t] - mean) / (total * sequences)
    d_weight[:] = 0.0
    for j in range(windows.start.shape[0] - 1):
        first = windows.start[j]
        for r in range(windows.start[j + 1] - first):
            d_weight[windows.pair[first + r]] += windows.positions[first + r] * votes[r]
    return float(loss / sequences)


@compiled()
def _loss_of_one(
    predicted: Array, target: int, softmaxed: bool, epsilon: float, slope: Array
) -> float:
    """The loss of one prediction, and its gradient by the probabilities (into slope)."""
    if not softmaxed:
        slope[:] = 0.0
        slope[target] = -1.0 / (predicted[target] + epsilon)
        return float(-np.log(predicted[target] + epsilon))
    total = 0.0
    for t in range(predicted.shape[0]):
        slope[t] = np.exp(predicted[t])
        total += slope[t]
    for t in range(predicted.shape[0]):
        slope[t] /= total
    slope[target] -= 1.0
    return float(np.log(total) - predicted[target])


@compiled()
def _epochs(
    epochs: int,
    learning_rate: float,
    trained: _Trained,
    at: Parameters,
    windows: Windows,
    softmaxed: bool,
    epsilon: float,
    gradient: Parameters,
) -> float:
    """Full-batch gradient descent in place; only the gradients of what is trained are made.

    Returns:
        The loss before the last epoch.
    """
    heads, pairs = windows.query.shape
    vocabulary = windows.names.shape[1]
    similar, d_similar = np.zeros((heads, pairs)), np.zeros((heads, pairs))
    kernel, d_kernel = np.zeros(pairs), np.zeros(pairs)
    weight, d_weight = np.zeros(pairs), np.zeros(pairs)
    vectors, lengths = _vectors(at.lag_weights, windows.seen, vocabulary)
    shares = _shares(at.coefficients)
    loss = 0.0
    for epoch in range(epochs):
        if trained.lag_weights or epoch == 0:
            vectors, lengths = _vectors(at.lag_weights, windows.seen, vocabulary)
            _similarities(vectors, windows, similar)
        if trained.lag_weights or trained.coefficients or epoch == 0:
            shares = _shares(at.coefficients)
            _kernel(similar, shares, windows.members, kernel)
        a = float(at.sharpness[0])
        for p in range(pairs):
            weight[p] = np.exp(a * (kernel[p] - 1.0))
        loss = _vote_loss(weight, windows, softmaxed, epsilon, d_weight)
        if trained.sharpness:
            d_sharpness = 0.0
            for p in range(pairs):
                d_sharpness += kernel[p] * weight[p] * d_weight[p]
            gradient.sharpness[0] = d_sharpness
            at.sharpness[0] -= learning_rate * d_sharpness
        for p in range(pairs):
            d_kernel[p] = a * weight[p] * d_weight[p]
        if trained.lag_weights:  # before the shares change
            _gradient_of_similarities(d_kernel, similar, shares, windows.members, d_similar)
        if trained.coefficients:
            d_shares = _gradient_of_shares(d_kernel, similar, windows.members)
            norm, mean = 0.0, 0.0
            for s in range(shares.shape[0]):
                norm += float(at.coefficients[s]) ** 2
                mean += shares[s] * d_shares[s]
            for s in range(shares.shape[0]):
                slope = 2.0 * at.coefficients[s] / norm * (d_shares[s] - mean)
                gradient.coefficients[s] = slope
            for s in range(shares.shape[0]):
                at.coefficients[s] -= learning_rate * gradient.coefficients[s]
        if trained.lag_weights:
            _lag_gradient(
                d_similar, vectors, lengths, at.lag_weights, windows, gradient.lag_weights
            )
            for h in range(heads):
                for k in range(at.lag_weights.shape[1]):
                    at.lag_weights[h, k] -= learning_rate * gradient.lag_weights[h, k]
    return loss


# ------------------------------------------------------------------------------ for the caller


def descend(
    windows: Windows,
    at: Parameters,
    *,
    epochs: int,
    learning_rate: float,
    trained: Collection[ParameterName],
    reading: LossReading,
    epsilon: float,
) -> tuple[float, Parameters]:
    """Full-batch gradient descent, in place, on some of the parameters.

    Args:
        windows: the counted training sequences.
        at: the parameters.
        epochs: how many steps; with learning rate 0 a single one is the gradient alone.
        learning_rate: the step size.
        trained: which of the parameters change.
        reading: of the loss, see `reproaudit.papers.chen2024.model.trained_loss`.
        epsilon: ε inside its logarithm.

    Returns:
        The loss before the last epoch, and its gradient there; zero by what is not trained.
    """
    gradient = Parameters(*(np.zeros(one.shape) for one in at))
    loss = _epochs(
        epochs,
        learning_rate,
        _Trained(*(name in trained for name in Parameters._fields)),
        at,
        windows,
        reading == "of_softmaxed_probabilities",
        epsilon,
        gradient,
    )
    return loss, gradient


def predict(windows: Windows, at: Parameters) -> Float[Array, "sequence V"]:
    """The predicted distribution of x_{L+1}, tokens by their own names."""
    return vote(windows, np.exp(float(at.sharpness[0]) * (kernel_of_pairs(windows, at) - 1.0)))


def kernel_of_pairs(windows: Windows, at: Parameters) -> Float[Array, " pair"]:
    """K of every distinct pair of windows."""
    similar, kernel = np.zeros(windows.query.shape), np.zeros(windows.query.shape[1])
    vectors, _ = _vectors(at.lag_weights, windows.seen, windows.names.shape[1])
    _similarities(vectors, windows, similar)
    _kernel(similar, _shares(at.coefficients), windows.members, kernel)
    return kernel


def vote(windows: Windows, weight: Float[Array, " pair"]) -> Float[Array, "sequence V"]:
    """The distributions that come out when each pair of windows votes with a weight."""
    votes = np.zeros(windows.row.size)
    for begin, end in pairwise(windows.start):
        entries = slice(begin, end)
        votes[: end - begin] += windows.positions[entries] * weight[windows.pair[entries]]
    predicted: Any = votes[windows.row]
    predicted /= predicted.sum(axis=1, keepdims=True)
    return np.take_along_axis(predicted, windows.names, axis=1)
