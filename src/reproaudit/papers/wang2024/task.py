"""The task: sparse token selection, the mean of the tokens at q given positions.

A sample has T tokens in R^d, independent standard normals, a subset of q positions drawn uniformly,
and a positional code in R^{d_e} for each position. Everything drawn is a function of a key (see
`reproaudit.papers.wang2024.sampling`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int64

from reproaudit.lab import Array
from reproaudit.papers.wang2024.sampling import child, normals, root, subsets
from reproaudit.papers.wang2024.settings import Selection

TOKENS = 1
SUBSETS = 2
CODES = 3
OTHER_SUBSETS = 4
FURTHER_CODES = 5
"""Parts of a batch; each has its own stream under the batch's key."""


class TokenBatch(NamedTuple):
    """Samples of the task.

    Attributes:
        X: tokens, one per column.
        selected: positions whose mean is the target.
        queried: positions whose codes make the query; in a control not those selected.
        coordinates: of each coordinate of the target, the tokens' coordinate that it averages; in a
            control another one.
        E: codes, one per row; one group where all samples share them, else one per sample.
    """

    X: Float32[Array, "batch d T"]
    selected: Int64[Array, "batch q"]
    queried: Int64[Array, "batch q"]
    coordinates: Int64[Array, " d"]
    E: Float32[Array, "groups T d_e"]


Codes = Float32[Array, "groups T d_e"]


def draw_codes(key: np.uint64, s: Selection, positions: int, groups: int = 1) -> Codes:
    """Draw positional codes, one set of them per group."""
    drawn = normals(child(key, CODES), (groups, positions, s.code_dimension))
    if s.code_law == "signs":
        drawn = np.where(drawn >= 0, np.float32(1), np.float32(-1))
    elif s.code_law == "sphere":
        drawn *= s.code_dimension**0.5 / np.linalg.norm(drawn, axis=2, keepdims=True)
    drawn *= s.code_norm / s.code_dimension**0.5
    return drawn


def draw_batch(
    key: np.uint64,
    s: Selection,
    seed: int,
    codes: Codes | None = None,
    *,
    positions: int = 0,
    training: bool = False,
) -> TokenBatch:
    """Draw a batch.

    Args:
        key: of the batch.
        s: the settings.
        seed: of the run.
        codes: one set for all samples or one for each; None to draw them as in training.
        positions: how many; T if not given.
        training: whether controls that disturb training disturb this batch, too.
    """
    samples = s.batch
    T = positions or s.tokens
    d = s.token_dimension
    q = s.selected
    selected = subsets(child(key, SUBSETS), samples, T, q)
    if s.subsets == "constant":
        selected[:] = subsets(child(root(seed, "subset"), SUBSETS), 1, T, q)
    queried = selected
    coordinates = np.arange(d)
    if training and s.query == "independent":
        queried = subsets(child(key, OTHER_SUBSETS), samples, T, q)
    if training and s.targets == "turned":
        coordinates = np.roll(coordinates, -1)
    if codes is None:
        codes = draw_codes(key, s, T, samples if s.codes_drawn == "per_sample" else 1)
    X = normals(child(key, TOKENS), (samples, d, T))
    return TokenBatch(X, selected, queried, coordinates, codes)


def draw_test_set(
    seed: int, s: Selection, codes: Codes | None, length: int, *, training: bool = False
) -> tuple[TokenBatch, ...]:
    """Draw the test points of a length, in batches that share their codes.

    Tokens and subsets are the same whatever the codes are.

    Args:
        seed: of the run.
        s: the settings.
        codes: fixed codes of T positions, or None to draw them.
        length: of the sequences, at least T.
        training: draw as many points of training's law instead, on which nothing is trained.
    """
    key = child(root(seed, "training sample" if training else "test"), length)
    batches = []
    for k in range(s.test_points // s.batch):
        of_batch = child(key, k)
        E = codes_on(of_batch, s, codes, length)
        batches.append(draw_batch(of_batch, s, seed, E, positions=length, training=training))
    return tuple(batches)


def codes_on(key: np.uint64, s: Selection, codes: Codes | None, length: int) -> Codes:
    """Draw codes for a batch of a length, or let fixed ones go on as the settings say."""
    T = s.tokens
    if codes is None or (length > T and s.continuation == "all_new"):
        return draw_codes(key, s, length)
    if length == T or s.continuation == "repeated":
        return codes[:, np.arange(length) % T]
    further = draw_codes(child(key, FURTHER_CODES), s, length - T)
    return np.concatenate([codes, further], axis=1)
