"""Counted windows: the positions of a sequence that the model cannot tell apart, counted.

A position's features depend only on its window, the few tokens behind it. Positions with the same
window therefore have the same similarity K to the query, and those that also hold the same token
cast the same vote. So a sequence becomes a short list of (pair, token, count), a pair being the
query's window and a key's. First the tokens of a sequence are renamed by how recently they last
occurred, 0 for the latest: nothing in the model depends on their names, and far fewer pairs remain
distinct over all sequences. Nothing of this is an approximation.

A worked example with V = 2 tokens and windows of 2 lags. The sequence 0 1 1 0 1 1 0 1 ends in 1, so
1 becomes 0 and 0 becomes 1. The query, position 9, has the window (0, 1): token 0 at lag 1, token 1
at lag 2. Its eight positions, "−" standing for before the start:

    position          1      2      3      4      5      6      7      8
    token, renamed    1      0      0      1      0      0      1      0
    window (lag 1, 2) (−,−)  (1,−)  (0,1)  (0,0)  (1,0)  (0,1)  (0,0)  (1,0)

Positions 3 and 6 are alike, as are 4 and 7, and 5 and 8. So five pairs remain:

>>> import numpy as np
>>> from reproaudit.papers.chen2024.fast.descent import Parameters, kernel_of_pairs, predict
>>> from reproaudit.papers.chen2024.model import Architecture
>>> from reproaudit.papers.chen2024.task import Sequences
>>> architecture = Architecture.build("common", heads=2, window=2, degree=2)
>>> architecture.subsets
((), (1,), (2,), (1, 2))
>>> sequences = Sequences(tokens=np.array([[0, 1, 1, 0, 1, 1, 0, 1]]), targets=np.array([1]))
>>> windows = count_windows(sequences, architecture, vocabulary=2, dtype=np.float64)
>>> windows.names.tolist()  # 0 is renamed 1, and 1 is renamed 0
[[1, 0]]
>>> windows.seen[windows.query[0]].tolist()  # by pair, what head 1 sees of the query: (0, 1)
[[0, 1], [0, 1], [0, 1], [0, 1], [0, 1]]
>>> windows.seen[windows.key[0]].tolist()  # and of the key; −1 is a lag before the start
[[-1, -1], [1, -1], [0, 0], [1, 0], [0, 1]]
>>> sorted(windows.entries())  # sequence, token, pair, and how many positions share them
[(0, 0, 1, 1), (0, 0, 3, 2), (0, 0, 4, 2), (0, 1, 0, 1), (0, 1, 2, 2)]

Let both heads copy their own lag, so that ⟨v_1, v_1⟩ = 1 where key and query agree at lag 1, and
⟨v_2, v_2⟩ = 1 where they agree at lag 2. (At position 2 only lag 1 is present, so the softmax of
head 2 copies that one.) With equal coefficients, K is the mean of 1, ⟨v_1, v_1⟩, ⟨v_2, v_2⟩ and
their product:

    pair      key     ⟨v_1, v_1⟩  ⟨v_2, v_2⟩  K    exp(a (K − 1)) for a = 4 log 2
    0         (−,−)   0           0           1/4  1/8
    1         (1,−)   0           1           1/2  1/4
    2         (0,0)   1           0           1/2  1/4
    3         (1,0)   0           0           1/4  1/8
    4         (0,1)   1           1           1    1

>>> copiers = np.array([[30.0, 0.0], [0.0, 30.0]])  # e^30 against 1 is all of the attention
>>> at = Parameters(copiers, np.ones(4), np.array([4 * np.log(2)]))
>>> kernel_of_pairs(windows, at).round(9).tolist()
[0.25, 0.5, 0.5, 0.25, 1.0]

The token renamed 0 has 1 · 1/4 + 2 · 1/8 + 2 · 1 = 2.5 votes, the one renamed 1 has 1 · 1/8 +
2 · 1/4 = 0.625. So the next token is renamed 0, by its own name 1, with probability 2.5/3.125:

>>> predict(windows, at).round(9).tolist()
[[0.2, 0.8]]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from reproaudit.lab import Array
from reproaudit.papers.chen2024.model import Architecture, Subset
from reproaudit.papers.chen2024.task import Sequences


class Windows(NamedTuple):
    """Counted sequences.

    An *entry* is a (sequence, token, pair) that occurs, a *row* the entries of one (sequence,
    token). Rows are sorted by how many entries they have, longest first, and entries are stored as
    the first one of every row, then the second of every row that has one, and so on. So a loop over
    one such *diagonal* runs through the votes in order, without a branch.

    Attributes:
        row: the row of each (sequence, token).
        start: where each diagonal begins, and where the last one ends.
        pair: of each entry, its pair of windows.
        positions: of each entry, how many positions share it; of the parameters' precision.
        target: the renamed x_{L+1}.
        names: the renaming, new token from old.
        query: the code of what each head sees of a pair's query window.
        key: the code of what each head sees of a pair's key window.
        seen: the tokens that a code stands for, −1 where the lag is before the start.
        members: the heads (from 0) of each subset, filled up with H.
    """

    row: Int[Array, "sequence V"]
    start: Int[Array, " diagonal+1"]
    pair: Int[Array, " entry"]
    positions: Float[Array, " entry"]
    target: Int[Array, " sequence"]
    names: Int[Array, "sequence V"]
    query: Int[Array, "head pair"]
    key: Int[Array, "head pair"]
    seen: Int[Array, "code lag"]
    members: Int[Array, "subset D"]

    def entries(self) -> Iterator[tuple[int, int, int, int]]:
        """Every entry as sequence, renamed token, pair, and number of positions."""
        sequence, token = np.empty((2, self.row.size), np.int64)
        sequence[self.row], token[self.row] = np.indices(self.row.shape)
        for begin, end in pairwise(self.start):
            for row, entry in enumerate(range(begin, end)):
                found = sequence[row], token[row], self.pair[entry], self.positions[entry]
                yield tuple(int(one) for one in found)  # type: ignore[misc]


def count_windows(
    sequences: Sequences,
    architecture: Architecture,
    vocabulary: int,
    dtype: type[np.floating[Any]],
) -> Windows:
    """Reduces sequences to counted pairs of windows.

    Args:
        sequences: what to count.
        architecture: which lags the heads see.
        vocabulary: V.
        dtype: of the parameters.

    Raises:
        ValueError: if a sequence is shorter than the longest lag.
    """
    span = architecture.longest_lag
    if sequences.tokens.shape[1] < span:
        raise ValueError(f"a sequence needs at least {span} tokens, the longest lag")
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
        query=_seen_by_heads(query, architecture.lags, vocabulary),
        key=_seen_by_heads(key, architecture.lags, vocabulary),
        seen=_tokens_of_codes(len(architecture.lags[0]), vocabulary),
        members=_members(architecture.subsets, architecture.heads),
    )


def _longest_first(voters: Array, total: int) -> tuple[Array, Array, Array]:
    """The row of every voter, the start of every diagonal, and the order of the entries.

    Args:
        voters: the voter, a (sequence, token), of each entry, ascending.
        total: how many voters there are, with or without entries.
    """
    entries = np.bincount(voters, minlength=total)
    row = np.empty(total, dtype=np.int64)
    row[np.argsort(-entries, kind="stable")] = np.arange(total)
    first = np.cumsum(entries) - entries
    diagonal = np.arange(len(voters)) - first[voters]
    lengths = np.bincount(diagonal)
    return row, np.concatenate([[0], np.cumsum(lengths)]), np.lexsort((row[voters], diagonal))


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
    seen = np.zeros((len(lags), len(codes)), dtype=np.int32)
    for head, own in enumerate(lags):
        for place, lag in enumerate(own):
            seen[head] += (codes // base ** (lag - 1) % base * base**place).astype(np.int32)
    return seen


def _tokens_of_codes(lags: int, vocabulary: int) -> Array:
    """The tokens that each code of so many lags stands for."""
    base = vocabulary + 1
    digits = np.arange(base**lags)[:, None] // base ** np.arange(lags) % base
    return (digits - 1).astype(np.int32)


def _members(subsets: Sequence[Subset], heads: int) -> Array:
    degree = max(1, *(len(subset) for subset in subsets))
    filled = [[*(h - 1 for h in subset), *[heads] * (degree - len(subset))] for subset in subsets]
    return np.array(filled, dtype=np.int32)
