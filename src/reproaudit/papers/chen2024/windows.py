"""The model of `reproaudit.papers.chen2024.model`, computed on counted windows.

A position's features depend on the few tokens behind it only, so positions with the same window
have the same similarity to the query. Three steps, none of which approximates anything:

1. The tokens of a sequence are renamed by how recently they last occurred. Nothing in the model
   depends on their names, and far fewer pairs of (query window, key window) remain distinct.
2. A sequence becomes a short list of (pair, token, count). What a pair contributes to the vote,
   exp(a K), is computed once per epoch for all sequences.
3. ⟨v_h(l), v_h(L + 1)⟩ depends on what one head sees of the two windows, and is tabulated.

The gradient is written out by hand. All sums run in a fixed order in one thread, so that the same
numbers give the same bits. Arrays have the precision of the parameters, single sums are double.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from reproaudit.errors import AuditError
from reproaudit.papers.chen2024.data import Floats, Sequences, Subset

Function = TypeVar("Function", bound=Callable[..., Any])
Integers = NDArray[np.int32]
Array = NDArray[Any]


def _compiled(function: Function) -> Function:
    return cast(Function, njit(cache=True, nogil=True)(function))


class Windows(NamedTuple):
    """Counted sequences.

    Attributes:
        row_start: where the entries of (sequence, token) begin, shape (sequences · V + 1,).
        pair: of each entry, its pair of windows.
        count: of each entry, how many positions share it.
        target: the renamed x_{L+1}, shape (sequence,).
        names: the renaming, new token from old, shape (sequence, V).
        query: what each head sees of a pair's query window, shape (pair, head).
        key: what each head sees of a pair's key window, shape (pair, head).
        seen: the tokens that a head's window code stands for, −1 for none, shape (code, lag).
        members: the heads (from 0) of each subset, filled up with H, shape (subset, degree).
    """

    row_start: NDArray[np.int64]
    pair: Integers
    count: Array
    target: NDArray[np.int64]
    names: NDArray[np.int64]
    query: Integers
    key: Integers
    seen: Integers
    members: Integers


class Result(NamedTuple):
    """The loss and its gradient.

    Attributes:
        loss: the mean over sequences.
        lag_weights: shape (head, lag).
        coefficients: shape (subset,).
        sharpness: shape (1,).
    """

    loss: float
    lag_weights: Array
    coefficients: Array
    sharpness: Array


# ---------------------------------------------------------------------------------- counting


def count_windows(
    sequences: Sequences,
    *,
    lags: Sequence[Sequence[int]],
    subsets: Sequence[Subset],
    vocabulary: int,
    dtype: type[np.floating[Any]],
) -> Windows:
    """Reduces sequences to counted pairs of windows.

    Raises:
        AuditError: if a sequence is shorter than the longest lag.
    """
    span = max(max(own) for own in lags)
    if sequences.tokens.shape[1] < span:
        raise AuditError(f"length: a sequence needs at least {span} tokens, the longest lag.")
    names = _names_by_recency(sequences.tokens, vocabulary)
    tokens = np.take_along_axis(names, sequences.tokens, axis=1)
    codes = _window_codes(tokens, span, vocabulary)
    pairs, which = np.unique(codes[:, -1:] * (vocabulary + 1) ** span + codes[:, :-1], return_inverse=True)
    which = which.reshape(tokens.shape)
    row = np.arange(sequences.count)[:, None] * vocabulary + tokens
    entries, counts = np.unique(row * len(pairs) + which, return_counts=True)
    ends = np.bincount(entries // len(pairs), minlength=sequences.count * vocabulary)
    query, key = np.divmod(pairs, (vocabulary + 1) ** span)
    return Windows(
        row_start=np.concatenate([[0], np.cumsum(ends)]),
        pair=(entries % len(pairs)).astype(np.int32),
        count=counts.astype(dtype),
        target=np.take_along_axis(names, sequences.targets[:, None], axis=1)[:, 0],
        names=names,
        query=_seen_by_heads(query, lags, vocabulary),
        key=_seen_by_heads(key, lags, vocabulary),
        seen=_tokens_of_codes(len(lags[0]), vocabulary),
        members=_members(subsets, len(lags)),
    )


def _names_by_recency(tokens: NDArray[np.int64], vocabulary: int) -> NDArray[np.int64]:
    """New names: 0 for the latest token, 1 for the token that last occurred before it …"""
    position = np.arange(1, tokens.shape[1] + 1)
    last = np.stack([(position * (tokens == t)).max(axis=1) for t in range(vocabulary)], axis=1)
    by_recency = np.argsort(-last, axis=1, kind="stable")
    return np.argsort(by_recency, axis=1)


def _window_codes(tokens: NDArray[np.int64], span: int, vocabulary: int) -> NDArray[np.int64]:
    """The last ``span`` tokens before l = 1 … L + 1 as digits, 0 for none, latest lowest."""
    count, length = tokens.shape
    codes = np.zeros((count, length + 1), dtype=np.int64)
    for lag in range(1, span + 1):
        codes[:, lag:] += (tokens[:, : length + 1 - lag] + 1) * (vocabulary + 1) ** (lag - 1)
    return codes


def _seen_by_heads(
    codes: NDArray[np.int64], lags: Sequence[Sequence[int]], vocabulary: int
) -> Integers:
    base = vocabulary + 1
    seen = np.zeros((len(codes), len(lags)), dtype=np.int32)
    for head, own in enumerate(lags):
        for place, lag in enumerate(own):
            seen[:, head] += (codes // base ** (lag - 1) % base * base**place).astype(np.int32)
    return seen


def _tokens_of_codes(lags: int, vocabulary: int) -> Integers:
    base = vocabulary + 1
    digits = np.arange(base**lags)[:, None] // base ** np.arange(lags) % base
    return (digits - 1).astype(np.int32)


def _members(subsets: Sequence[Subset], heads: int) -> Integers:
    degree = max(1, *(len(subset) for subset in subsets))
    filled = [[*(h - 1 for h in subset), *[heads] * (degree - len(subset))] for subset in subsets]
    return np.array(filled, dtype=np.int32)


# ------------------------------------------------------------------------- features of windows


@_compiled
def _vectors(weights: Array, seen: Integers, vocabulary: int) -> tuple[Array, Array]:
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


@_compiled
def _similarities(vectors: Array, query: Integers, key: Integers, out: Array) -> None:
    """⟨v_h(l), v_h(L + 1)⟩ of every pair into out[pair, head]; the last column is 1."""
    heads, codes, vocabulary = vectors.shape
    table = np.zeros((heads, codes, codes))
    for h in range(heads):
        for q in range(codes):
            for k in range(codes):
                for t in range(vocabulary):
                    table[h, q, k] += vectors[h, q, t] * vectors[h, k, t]
    for p in range(query.shape[0]):
        for h in range(heads):
            out[p, h] = table[h, query[p, h], key[p, h]]
        out[p, heads] = 1.0


@_compiled
def _lag_gradient(
    d_similar: Array,
    vectors: Array,
    lengths: Array,
    weights: Array,
    query: Integers,
    key: Integers,
    seen: Integers,
    out: Array,
) -> None:
    """From the gradient by the similarities to that by w, through the normalisation."""
    heads, codes, vocabulary = vectors.shape
    table = np.zeros((heads, codes, codes))
    for p in range(query.shape[0]):
        for h in range(heads):
            table[h, query[p, h], key[p, h]] += d_similar[p, h]
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


# ------------------------------------------------------------------------------------ the vote


@_compiled
def _shares(coefficients: Array) -> Array:
    """p_S = c_S² / Σ c²."""
    squares = np.zeros(coefficients.shape[0])
    total = 0.0
    for s in range(coefficients.shape[0]):
        squares[s] = float(coefficients[s]) ** 2
        total += squares[s]
    return squares / total


@_compiled
def _kernel(similar: Array, shares: Array, members: Integers, out: Array) -> None:
    """K of every pair."""
    for p in range(similar.shape[0]):
        value = 0.0
        for s in range(members.shape[0]):
            term = shares[s]
            for i in range(members.shape[1]):
                term *= similar[p, members[s, i]]
            value += term
        out[p] = value


@_compiled
def _kernel_gradient(
    d_kernel: Array, similar: Array, shares: Array, members: Integers, d_similar: Array
) -> Array:
    """From the gradient by K to that by the similarities (into d_similar) and by p_S."""
    d_shares = np.zeros(shares.shape[0])
    degree = members.shape[1]
    for p in range(similar.shape[0]):
        d_similar[p] = 0.0
        for s in range(members.shape[0]):
            whole = d_kernel[p]
            for i in range(degree):
                whole *= similar[p, members[s, i]]
                part = d_kernel[p] * shares[s]
                for j in range(degree):
                    if j != i:
                        part *= similar[p, members[s, j]]
                d_similar[p, members[s, i]] += part
            d_shares[s] += whole
    return d_shares


@_compiled
def _vote(
    weight: Array,
    row_start: NDArray[np.int64],
    pair: Integers,
    count: Array,
    target: NDArray[np.int64],
    softmaxed: bool,
    epsilon: float,
    d_weight: Array,
) -> float:
    """The loss of the votes, and its gradient by the weight of every pair (into d_weight)."""
    vocabulary = (row_start.shape[0] - 1) // target.shape[0]
    d_weight[:] = 0.0
    votes = np.zeros(vocabulary)
    d_votes = np.zeros(vocabulary)
    loss = 0.0
    for n in range(target.shape[0]):
        total = 0.0
        for t in range(vocabulary):
            vote = 0.0
            for e in range(row_start[n * vocabulary + t], row_start[n * vocabulary + t + 1]):
                vote += count[e] * weight[pair[e]]
            votes[t] = vote
            total += vote
        for t in range(vocabulary):
            votes[t] /= total
        loss += _loss_of_one(votes, target[n], softmaxed, epsilon, d_votes)
        mean = 0.0
        for t in range(vocabulary):
            mean += d_votes[t] * votes[t]
        for t in range(vocabulary):
            slope = (d_votes[t] - mean) / (total * target.shape[0])
            if slope != 0.0:
                for e in range(row_start[n * vocabulary + t], row_start[n * vocabulary + t + 1]):
                    d_weight[pair[e]] += count[e] * slope
    return loss / target.shape[0]


@_compiled
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


@_compiled
def _epochs(
    epochs: int,
    learning_rate: float,
    train_lags: bool,
    train_coefficients: bool,
    train_sharpness: bool,
    lag_weights: Array,
    coefficients: Array,
    sharpness: Array,
    windows: Windows,
    softmaxed: bool,
    epsilon: float,
    gradient: tuple[Array, Array, Array],
) -> float:
    """Full-batch gradient descent in place; only the gradients of what is trained are made.

    Returns:
        The loss before the last epoch.
    """
    pairs, heads = windows.query.shape
    vocabulary = windows.names.shape[1]
    similar = np.zeros((pairs, heads + 1))
    d_similar = np.zeros((pairs, heads + 1))
    kernel, d_kernel = np.zeros(pairs), np.zeros(pairs)
    weight, d_weight = np.zeros(pairs), np.zeros(pairs)
    vectors, lengths = _vectors(lag_weights, windows.seen, vocabulary)
    shares = _shares(coefficients)
    loss = 0.0
    for epoch in range(epochs):
        if train_lags or epoch == 0:
            vectors, lengths = _vectors(lag_weights, windows.seen, vocabulary)
            _similarities(vectors, windows.query, windows.key, similar)
        if train_lags or train_coefficients or epoch == 0:
            shares = _shares(coefficients)
            _kernel(similar, shares, windows.members, kernel)
        a = float(sharpness[0])
        for p in range(pairs):  # K ≤ 1, and subtracting a moves no vote
            weight[p] = np.exp(a * (kernel[p] - 1.0))
        loss = _vote(
            weight,
            windows.row_start,
            windows.pair,
            windows.count,
            windows.target,
            softmaxed,
            epsilon,
            d_weight,
        )
        if train_sharpness:
            d_sharpness = 0.0
            for p in range(pairs):
                d_sharpness += kernel[p] * weight[p] * d_weight[p]
            gradient[2][0] = d_sharpness
            sharpness[0] -= learning_rate * d_sharpness
        if train_lags or train_coefficients:
            for p in range(pairs):
                d_kernel[p] = a * weight[p] * d_weight[p]
            d_shares = _kernel_gradient(d_kernel, similar, shares, windows.members, d_similar)
        if train_coefficients:
            norm, mean = 0.0, 0.0
            for s in range(shares.shape[0]):
                norm += float(coefficients[s]) ** 2
                mean += shares[s] * d_shares[s]
            for s in range(shares.shape[0]):
                gradient[1][s] = 2.0 * coefficients[s] / norm * (d_shares[s] - mean)
            for s in range(shares.shape[0]):
                coefficients[s] -= learning_rate * gradient[1][s]
        if train_lags:
            _lag_gradient(
                d_similar,
                vectors,
                lengths,
                lag_weights,
                windows.query,
                windows.key,
                windows.seen,
                gradient[0],
            )
            for h in range(heads):
                for k in range(lag_weights.shape[1]):
                    lag_weights[h, k] -= learning_rate * gradient[0][h, k]
    return loss


# ------------------------------------------------------------------------------ for the caller


def descend(
    windows: Windows,
    lag_weights: Array,
    coefficients: Array,
    sharpness: Array,
    *,
    epochs: int,
    learning_rate: float,
    trained: frozenset[str],
    reading: str,
    epsilon: float,
) -> Result:
    """Full-batch gradient descent, in place, on some of the parameters.

    Args:
        windows: the counted training sequences.
        lag_weights: w, shape (head, lag).
        coefficients: c_S, shape (subset,).
        sharpness: a, shape (1,).
        epochs: how many steps; with learning rate 0 a single one is the gradient alone.
        learning_rate: the step size.
        trained: which of "lag_weights", "coefficients" and "sharpness" change.
        reading: of the loss, see `reproaudit.papers.chen2024.model.loss`.
        epsilon: inside its logarithm.

    Returns:
        The loss before the last epoch, and its gradient there; zero by what is not trained.
    """
    gradient = tuple(np.zeros(one.shape) for one in (lag_weights, coefficients, sharpness))
    loss = _epochs(
        epochs,
        learning_rate,
        "lag_weights" in trained,
        "coefficients" in trained,
        "sharpness" in trained,
        lag_weights,
        coefficients,
        sharpness,
        windows,
        reading == "of_softmaxed_probabilities",
        epsilon,
        gradient,
    )
    return Result(loss, *gradient)


def predict(
    windows: Windows, lag_weights: Array, coefficients: Array, sharpness: Array
) -> Floats:
    """The predicted distribution of x_{L+1}, tokens by their own names.

    Returns:
        Shape (sequence, vocabulary).
    """
    kernel = kernel_of_pairs(windows, lag_weights, coefficients)
    return vote(windows, np.exp(float(sharpness[0]) * (kernel - 1.0)))


def kernel_of_pairs(windows: Windows, lag_weights: Array, coefficients: Array) -> Floats:
    """K of every distinct pair of windows, shape (pair,)."""
    pairs, heads = windows.query.shape
    similar, kernel = np.zeros((pairs, heads + 1)), np.zeros(pairs)
    vectors, _ = _vectors(lag_weights, windows.seen, windows.names.shape[1])
    _similarities(vectors, windows.query, windows.key, similar)
    _kernel(similar, _shares(coefficients), windows.members, kernel)
    return kernel


def vote(windows: Windows, weight: Floats) -> Floats:
    """The distributions that come out when each pair of windows votes with a weight."""
    shares = np.add.reduceat(np.append(windows.count * weight[windows.pair], 0.0), windows.row_start[:-1])
    shares[np.diff(windows.row_start) == 0] = 0.0
    votes = shares.reshape(windows.names.shape)
    renamed = votes / votes.sum(axis=1, keepdims=True)
    return np.take_along_axis(renamed, windows.names, axis=1)
