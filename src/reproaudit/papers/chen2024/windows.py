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
from itertools import pairwise
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
    return cast(Function, njit(cache=True, nogil=True, error_model="numpy")(function))


class Windows(NamedTuple):
    """Counted sequences.

    Attributes:
        row: the row of each (sequence, token) when rows are sorted by how many entries they have,
            longest first, shape (sequence, V).
        start: where the first, second … entries of all rows begin, shape (longest row + 1,): a row
            has one entry in each of these blocks, at its own number, until it runs out. So the
            inner loops are long and without branches.
        pair: of each entry, its pair of windows.
        positions: of each entry, how many positions share it.
        target: the renamed x_{L+1}, shape (sequence,).
        names: the renaming, new token from old, shape (sequence, V).
        query: what each head sees of a pair's query window, shape (head, pair).
        key: what each head sees of a pair's key window, shape (head, pair).
        seen: the tokens that a head's window code stands for, −1 for none, shape (code, lag).
        members: the heads (from 0) of each subset, filled up with H, shape (subset, degree).
    """

    row: NDArray[np.int64]
    start: NDArray[np.int64]
    pair: Integers
    positions: Array
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
    windows = (vocabulary + 1) ** span
    pairs, which = np.unique(codes[:, -1:] * windows + codes[:, :-1], return_inverse=True)
    query, key = np.divmod(pairs, windows)
    voter = np.arange(sequences.count)[:, None] * vocabulary + tokens
    entries, counts = np.unique(
        voter * len(pairs) + which.reshape(tokens.shape), return_counts=True
    )
    voters, pair = np.divmod(entries, len(pairs))
    row, start, order = _longest_first(voters, sequences.count * vocabulary)
    return Windows(
        row=row.reshape(sequences.count, vocabulary),
        start=start,
        pair=pair[order].astype(np.int32),
        positions=counts[order].astype(dtype),
        target=np.take_along_axis(names, sequences.targets[:, None], axis=1)[:, 0],
        names=names,
        query=_seen_by_heads(query, lags, vocabulary),
        key=_seen_by_heads(key, lags, vocabulary),
        seen=_tokens_of_codes(len(lags[0]), vocabulary),
        members=_members(subsets, len(lags)),
    )


def _longest_first(
    voters: NDArray[np.int64], total: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Jagged diagonals: the row of every voter, the start of every diagonal, the entries' order.

    Args:
        voters: the voter of each entry, ascending.
        total: how many voters there are, with or without entries.
    """
    entries = np.bincount(voters, minlength=total)
    row = np.empty(total, dtype=np.int64)
    row[np.argsort(-entries, kind="stable")] = np.arange(total)
    first = np.cumsum(entries) - entries
    diagonal = np.arange(len(voters)) - first[voters]
    lengths = np.bincount(diagonal)
    return row, np.concatenate([[0], np.cumsum(lengths)]), np.lexsort((row[voters], diagonal))


def _names_by_recency(tokens: NDArray[np.int64], vocabulary: int) -> NDArray[np.int64]:
    """New names: 0 for the latest token, 1 for the one that last occurred before it, and so on."""
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
    seen = np.zeros((len(lags), len(codes)), dtype=np.int32)
    for head, own in enumerate(lags):
        for place, lag in enumerate(own):
            seen[head] += (codes // base ** (lag - 1) % base * base**place).astype(np.int32)
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
    """⟨v_h(l), v_h(L + 1)⟩ of every pair, into out[head, pair]."""
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
def _product(similar: Array, members: Integers, leave_out: int, out: Array) -> None:
    """Π_{h∈S} ⟨v_h(l), v_h(L + 1)⟩ of every pair, times what is in out, without one member."""
    for i in range(members.shape[0]):
        if i != leave_out and members[i] < similar.shape[0]:
            row = similar[members[i]]
            for p in range(out.shape[0]):
                out[p] *= row[p]


@_compiled
def _kernel(similar: Array, shares: Array, members: Integers, out: Array) -> None:
    """K of every pair."""
    out[:] = 0.0
    term = np.empty(out.shape[0])
    for s in range(members.shape[0]):
        term[:] = shares[s]
        _product(similar, members[s], -1, term)
        for p in range(out.shape[0]):
            out[p] += term[p]


@_compiled
def _gradient_of_shares(d_kernel: Array, similar: Array, members: Integers) -> Array:
    """From the gradient by K to that by p_S."""
    d_shares = np.zeros(members.shape[0])
    term = np.empty(d_kernel.shape[0])
    for s in range(members.shape[0]):
        term[:] = d_kernel
        _product(similar, members[s], -1, term)
        d_shares[s] = term.sum()
    return d_shares


@_compiled
def _gradient_of_similarities(
    d_kernel: Array, similar: Array, shares: Array, members: Integers, out: Array
) -> None:
    """From the gradient by K to that by the similarities, into out[head, pair]."""
    out[:] = 0.0
    term = np.empty(d_kernel.shape[0])
    for s in range(members.shape[0]):
        for i in range(members.shape[1]):
            if members[s, i] < similar.shape[0]:
                for p in range(term.shape[0]):
                    term[p] = shares[s] * d_kernel[p]
                _product(similar, members[s], i, term)
                own = out[members[s, i]]
                for p in range(term.shape[0]):
                    own[p] += term[p]


@_compiled
def _vote(
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
    heads, pairs = windows.query.shape
    vocabulary = windows.names.shape[1]
    similar, d_similar = np.zeros((heads, pairs)), np.zeros((heads, pairs))
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
        loss = _vote(weight, windows, softmaxed, epsilon, d_weight)
        if train_sharpness:
            d_sharpness = 0.0
            for p in range(pairs):
                d_sharpness += kernel[p] * weight[p] * d_weight[p]
            gradient[2][0] = d_sharpness
            sharpness[0] -= learning_rate * d_sharpness
        for p in range(pairs):
            d_kernel[p] = a * weight[p] * d_weight[p]
        if train_lags:  # before the shares change
            _gradient_of_similarities(d_kernel, similar, shares, windows.members, d_similar)
        if train_coefficients:
            d_shares = _gradient_of_shares(d_kernel, similar, windows.members)
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
    gradient = (
        np.zeros(lag_weights.shape),
        np.zeros(coefficients.shape),
        np.zeros(sharpness.shape),
    )
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


def predict(windows: Windows, lag_weights: Array, coefficients: Array, sharpness: Array) -> Floats:
    """The predicted distribution of x_{L+1}, tokens by their own names.

    Returns:
        Shape (sequence, vocabulary).
    """
    kernel = kernel_of_pairs(windows, lag_weights, coefficients)
    return vote(windows, np.exp(float(sharpness[0]) * (kernel - 1.0)))


def kernel_of_pairs(windows: Windows, lag_weights: Array, coefficients: Array) -> Floats:
    """K of every distinct pair of windows, shape (pair,)."""
    similar, kernel = np.zeros(windows.query.shape), np.zeros(windows.query.shape[1])
    vectors, _ = _vectors(lag_weights, windows.seen, windows.names.shape[1])
    _similarities(vectors, windows.query, windows.key, similar)
    _kernel(similar, _shares(coefficients), windows.members, kernel)
    return kernel


def vote(windows: Windows, weight: Floats) -> Floats:
    """The distributions that come out when each pair of windows votes with a weight."""
    votes = np.zeros(windows.row.size)
    for begin, end in pairwise(windows.start):
        entries = slice(begin, end)
        votes[: end - begin] += windows.positions[entries] * weight[windows.pair[entries]]
    predicted = votes[windows.row]
    predicted /= predicted.sum(axis=1, keepdims=True)
    return np.take_along_axis(predicted, windows.names, axis=1)
