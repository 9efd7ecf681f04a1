"""The model on counted windows: the positions of a sequence that it cannot tell apart, counted.

A position's features depend only on its window, the few tokens behind it. Positions with the same
window therefore have the same similarity K to the query, and those that also hold the same token
cast the same vote. So a sequence becomes counts over (token, pair), a pair being the query's window
and a key's, and the votes of all sequences are one sparse matrix of counts times the weights of
the pairs. First the tokens of a sequence are renamed by how recently they last occurred, 0 for the
latest: nothing in the model depends on their names, and far fewer pairs remain distinct over all
sequences. Nothing of this is an approximation.

A worked example with V = 2 tokens and windows of 2 lags. The sequence 0 1 1 0 1 1 0 1 ends in 1, so
1 becomes 0 and 0 becomes 1. The query, position 9, has the window (0, 1): token 0 at lag 1, token 1
at lag 2. Its eight positions, "−" standing for before the start:

    position          1      2      3      4      5      6      7      8
    token, renamed    1      0      0      1      0      0      1      0
    window (lag 1, 2) (−,−)  (1,−)  (0,1)  (0,0)  (1,0)  (0,1)  (0,0)  (1,0)

Positions 3 and 6 are alike, as are 4 and 7, and 5 and 8. So five pairs remain, frequent ones first:

>>> import numpy as np
>>> from reproaudit.papers.chen2024.model import Architecture, Parameters
>>> from reproaudit.papers.chen2024.task import Sequences
>>> architecture = Architecture.build("common", heads=2, window=2, degree=2)
>>> architecture.subsets
((), (1,), (2,), (1, 2))
>>> sequences = Sequences(tokens=np.array([[0, 1, 1, 0, 1, 1, 0, 1]]), targets=np.array([1]))
>>> windows = Windows.of(sequences, architecture, vocabulary=2)
>>> windows.names.tolist()  # 0 is renamed 1, and 1 is renamed 0
[[1, 0]]
>>> query, key = np.divmod(windows.cells[0], len(windows.seen))
>>> windows.seen[query].tolist()  # by pair, what head 1 sees of the query: (0, 1)
[[0, 1], [0, 1], [0, 1], [0, 1], [0, 1]]
>>> windows.seen[key].tolist()  # and of the key; −1 is a lag before the start
[[0, 0], [1, 0], [0, 1], [-1, -1], [1, -1]]
>>> windows.counts.toarray().astype(int).tolist()  # by token and pair, how many positions share it
[[0, 2, 2, 0, 1], [2, 0, 0, 1, 0]]

Let both heads copy their own lag, so that ⟨v_1, v_1⟩ = 1 where key and query agree at lag 1, and
⟨v_2, v_2⟩ = 1 where they agree at lag 2. (At position 2 only lag 1 is present, so the softmax of
head 2 copies that one.) With equal coefficients, K is the mean of 1, ⟨v_1, v_1⟩, ⟨v_2, v_2⟩ and
their product:

    pair      key     ⟨v_1, v_1⟩  ⟨v_2, v_2⟩  K    exp(a (K − 1)) for a = 4 log 2
    0         (0,0)   1           0           1/2  1/4
    1         (1,0)   0           0           1/4  1/8
    2         (0,1)   1           1           1    1
    3         (−,−)   0           0           1/4  1/8
    4         (1,−)   0           1           1/2  1/4

>>> copiers = np.array([[30.0, 0.0], [0.0, 30.0]])  # e^30 against 1 is all of the attention
>>> at = Parameters(copiers, np.ones(4), np.array([4 * np.log(2)]))
>>> windows.kernel(at).round(9).tolist()
[0.5, 0.25, 1.0, 0.25, 0.5]

The token renamed 0 has 2 · 1/8 + 2 · 1 + 1 · 1/4 = 2.5 votes, the one renamed 1 has 2 · 1/4 +
1 · 1/8 = 0.625. So the next token is renamed 0, by its own name 1, with probability 2.5/3.125:

>>> windows.predict(at).round(9).tolist()
[[0.2, 0.8]]
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix

from reproaudit.lab import Array
from reproaudit.papers.chen2024.model import (
    Architecture,
    LossReading,
    ParameterName,
    Parameters,
    Subset,
    subset_shares,
)
from reproaudit.papers.chen2024.task import Sequences


@dataclass(frozen=True)
class Windows:
    """Counted sequences. All sums are in double precision and in a fixed order.

    Attributes:
        counts: sparse, (V · sequence, pair): how many positions of a sequence hold a token and have
            a pair of windows. The rows of one token stand together.
        cells: of each head and pair, what the head sees of the query and of the key, as one number:
            the query's code times the number of codes, plus the key's.
        seen: the tokens that a code stands for, −1 where the lag is before the start.
        subsets: the sets of heads, numbered from 1.
        targets: the renamed x_{L+1}.
        names: the renaming, new token from old.
    """

    counts: csr_matrix
    cells: Int[Array, "head pair"]
    seen: Int[Array, "code lag"]
    subsets: tuple[Subset, ...]
    targets: Int[Array, " sequence"]
    names: Int[Array, "sequence V"]

    @classmethod
    def of(cls, sequences: Sequences, architecture: Architecture, vocabulary: int) -> Windows:
        """Counts the windows of sequences.

        Args:
            sequences: what to count.
            architecture: which lags the heads see.
            vocabulary: V.

        Raises:
            ValueError: if a sequence is shorter than the longest lag.
        """
        span = architecture.longest_lag
        count = sequences.count
        if sequences.tokens.shape[1] < span:
            raise ValueError(f"a sequence needs at least {span} tokens, the longest lag")
        names = _names_by_recency(sequences.tokens, vocabulary)
        tokens = np.take_along_axis(names, sequences.tokens, axis=1)
        codes = _window_codes(tokens, span, vocabulary)
        windows = (vocabulary + 1) ** span
        pairs, pair, often = np.unique(
            codes[:, -1:] * windows + codes[:, :-1], return_inverse=True, return_counts=True
        )
        order = np.argsort(-often, kind="stable")  # frequent pairs stand together in memory
        pairs = pairs[order]
        pair = np.argsort(order)[pair]
        row = (tokens * count + np.arange(count)[:, None]).ravel()
        query, key = (
            _seen_by_heads(part, architecture.lags, vocabulary)
            for part in np.divmod(pairs, windows)
        )
        seen = _tokens_of_codes(len(architecture.lags[0]), vocabulary)
        return cls(
            counts=csr_matrix(  # adds up the values of a cell
                (np.ones(len(row)), (row, pair.ravel())), shape=(vocabulary * count, len(pairs))
            ),
            cells=query * len(seen) + key,
            seen=seen,
            subsets=architecture.subsets,
            targets=np.take_along_axis(names, sequences.targets[:, None], axis=1)[:, 0],
            names=names,
        )

    @cached_property
    def _counts_by_length(self) -> tuple[csr_matrix, Int[Array, "V sequence"]]:
        """The counts with rows of one length together, and where each (token, sequence) is there.

        A processor foresees the ends of such rows, so that their product takes half the time.
        """
        order = np.argsort(np.diff(self.counts.indptr), kind="stable")
        return self.counts[order], np.argsort(order).reshape(self.names.shape[::-1])

    @cached_property
    def _counts_by_pair(self) -> csr_matrix:
        """The transposed counts, stored by pair: their product then reads in order."""
        return self.counts.T.tocsr()

    @cached_property
    def _indicator(self) -> Float[Array, "lag code V"]:
        """1 where a code has a token at a lag."""
        vocabulary = self.names.shape[1]
        return np.asarray(self.seen.T[:, :, None] == np.arange(vocabulary), np.float64)

    # ---------------------------------------------------------------------------- the model

    def kernel(self, at: Parameters) -> Float[Array, " pair"]:
        """K of every pair."""
        vectors, _ = self._features(at.lag_weights)
        terms = _products(self._similarities(vectors), self.subsets)
        return _weighted(subset_shares(at.coefficients), terms)

    def vote(self, weight: Float[Array, " pair"]) -> Float[Array, "sequence V"]:
        """The distributions when every pair votes with its weight, tokens by their own names."""
        predicted, _ = self._votes(weight)
        return np.take_along_axis(predicted.T, self.names, axis=1)

    def predict(self, at: Parameters) -> Float[Array, "sequence V"]:
        """The predicted distribution of x_{L+1}, tokens by their own names."""
        return self.vote(np.exp(float(at.sharpness[0]) * (self.kernel(at) - 1.0)))

    def _features(
        self, lag_weights: Float[Array, "head lag"]
    ) -> tuple[Float[Array, "head code V"], Float[Array, "head code 1"]]:
        """v_h of every code, and the length of the mixture before it was normalised.

        The softmax over the lags present and the normalisation after it share one factor, which
        cancels; so exp(w) is enough.
        """
        mixtures = np.tensordot(_attention(lag_weights), self._indicator, axes=1)
        lengths = np.sqrt((mixtures**2).sum(axis=2, keepdims=True))
        return mixtures / np.where(lengths > 0, lengths, 1.0), lengths

    def _similarities(self, vectors: Float[Array, "head code V"]) -> Float[Array, "head pair"]:
        """⟨v_h(l), v_h(L + 1)⟩ of every pair."""
        tables = (vectors @ vectors.transpose(0, 2, 1)).reshape(len(vectors), -1)
        return np.stack([table[cells] for table, cells in zip(tables, self.cells, strict=True)])

    def _votes(
        self, weight: Float[Array, " pair"]
    ) -> tuple[Float[Array, "V sequence"], Float[Array, " sequence"]]:
        """The distributions over renamed tokens, and the votes in all."""
        counts, rows = self._counts_by_length
        votes = (counts @ weight)[rows]
        total = votes.sum(axis=0)
        return votes / total, total

    # ----------------------------------------------------------------- the loss and its gradient

    def loss_and_gradient(
        self,
        at: Parameters,
        trained: Collection[ParameterName],
        reading: LossReading,
        epsilon: float,
    ) -> tuple[float, dict[ParameterName, Array]]:
        """The trained loss, and its gradient by the named parameters; see `model.LossForm`.

        K ≤ 1, and subtracting a from every score moves no vote.
        """
        vectors, lengths = self._features(at.lag_weights)
        similar = self._similarities(vectors)
        terms = _products(similar, self.subsets)
        shares = subset_shares(at.coefficients)
        kernel = _weighted(shares, terms)
        a = float(at.sharpness[0])
        weight = np.exp(a * (kernel - 1.0))
        predicted, total = self._votes(weight)
        loss, slope = _loss_and_slope(predicted, self.targets, reading, epsilon)
        d_votes = (slope - (slope * predicted).sum(axis=0)) / (total * len(total))
        d_score = weight * (self._counts_by_pair @ d_votes.ravel())
        gradient: dict[ParameterName, Array] = {}
        if "sharpness" in trained:
            gradient["sharpness"] = np.array([(kernel * d_score).sum()])
        if "coefficients" in trained:
            d_shares = a * (terms * d_score).sum(axis=1)
            c = at.coefficients.astype(np.float64)
            gradient["coefficients"] = 2.0 * c / (c @ c) * (d_shares - shares @ d_shares)
        if "lag_weights" in trained:
            d_similar = _gradient_of_similarities(a * d_score, similar, shares, self.subsets)
            gradient["lag_weights"] = self._lag_gradient(
                d_similar, vectors, lengths, at.lag_weights
            )
        return loss, gradient

    def _lag_gradient(
        self,
        d_similar: Float[Array, "head pair"],
        vectors: Float[Array, "head code V"],
        lengths: Float[Array, "head code 1"],
        lag_weights: Float[Array, "head lag"],
    ) -> Float[Array, "head lag"]:
        """From the gradient by the similarities to that by w, through the normalisation."""
        codes = len(self.seen)
        tables = np.stack(
            [
                np.bincount(cells, slopes, minlength=codes**2).reshape(codes, codes)
                for cells, slopes in zip(self.cells, d_similar, strict=True)
            ]
        )
        d_vectors = (tables + tables.transpose(0, 2, 1)) @ vectors
        along = (d_vectors * vectors).sum(axis=2, keepdims=True)
        d_mixtures = (d_vectors - along * vectors) / np.where(lengths > 0, lengths, 1.0)
        by_lag = np.tensordot(d_mixtures, self._indicator, axes=([1, 2], [1, 2]))
        return by_lag * _attention(lag_weights)


def _attention(lag_weights: Array) -> Float[Array, "head lag"]:
    """The softmax over lags, up to a factor of each head."""
    weights = lag_weights.astype(np.float64)
    return np.asarray(np.exp(weights - weights.max(axis=1, keepdims=True)))


def _weighted(shares: Array, terms: Float[Array, "subset pair"]) -> Float[Array, " pair"]:
    """Σ_S p_S times each subset's term, added one by one: no bit depends on BLAS's threads."""
    total = np.zeros(terms.shape[1])
    for share, term in zip(shares, terms, strict=True):
        total += share * term
    return total


def _products(
    similar: Float[Array, "head pair"], subsets: Sequence[Subset]
) -> Float[Array, "subset pair"]:
    """Π_{h∈S} ⟨v_h(l), v_h(L + 1)⟩ of every subset and pair."""
    products = np.ones((len(subsets), similar.shape[1]))
    for product, subset in zip(products, subsets, strict=True):
        for head in subset:
            product *= similar[head - 1]
    return products


def _gradient_of_similarities(
    d_kernel: Array, similar: Array, shares: Array, subsets: Sequence[Subset]
) -> Float[Array, "head pair"]:
    """From the gradient by K to that by the similarities: each subset without one of its heads."""
    out = np.zeros_like(similar)
    for share, subset in zip(shares, subsets, strict=True):
        for head in subset:
            term = share * d_kernel
            for other in subset:
                if other != head:
                    term *= similar[other - 1]
            out[head - 1] += term
    return out


def _loss_and_slope(
    predicted: Float[Array, "V sequence"],
    targets: Int[Array, " sequence"],
    reading: LossReading,
    epsilon: float,
) -> tuple[float, Float[Array, "V sequence"]]:
    """The mean loss, and the gradient of each sequence's loss by its probabilities."""
    own = targets, np.arange(len(targets))
    if reading == "of_softmaxed_probabilities":
        slope = np.exp(predicted)
        total = slope.sum(axis=0)
        slope /= total
        slope[own] -= 1.0
        return float((np.log(total) - predicted[own]).mean()), slope
    slope = np.zeros_like(predicted)
    chosen = predicted[own] + epsilon
    slope[own] = -1.0 / chosen
    return float(-np.log(chosen).mean()), slope


# ------------------------------------------------------------------------------- counting windows


def _names_by_recency(tokens: Array, vocabulary: int) -> Array:
    """New names: 0 for the latest token, 1 for the one that last occurred before it, and so on."""
    position = np.arange(1, tokens.shape[1] + 1)
    last = np.stack([(position * (tokens == t)).max(axis=1) for t in range(vocabulary)], axis=1)
    by_recency = np.argsort(-last, axis=1, kind="stable")
    return np.argsort(by_recency, axis=1)


def _window_codes(tokens: Array, span: int, vocabulary: int) -> Array:
    """The last ``span`` tokens before l = 1 … L + 1 as digits, 0 for none, latest lowest."""
    count, length = tokens.shape
    codes = np.zeros((count, length + 1), dtype=np.int64)
    for lag in range(1, span + 1):
        codes[:, lag:] += (tokens[:, : length + 1 - lag] + 1) * (vocabulary + 1) ** (lag - 1)
    return codes


def _seen_by_heads(codes: Array, lags: Sequence[Sequence[int]], vocabulary: int) -> Array:
    """By head, the code of the tokens at its own lags, from codes of whole windows."""
    base = vocabulary + 1
    seen = np.zeros((len(lags), len(codes)), dtype=np.int64)
    for head, own in enumerate(lags):
        for place, lag in enumerate(own):
            seen[head] += codes // base ** (lag - 1) % base * base**place
    return seen


def _tokens_of_codes(lags: int, vocabulary: int) -> Any:
    """The tokens that each code of so many lags stands for."""
    base = vocabulary + 1
    return np.arange(base**lags)[:, None] // base ** np.arange(lags) % base - 1
