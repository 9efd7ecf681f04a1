"""The task: sparse token selection, the mean of the tokens at q given positions.

A sample has T tokens in R^d, independent standard normals, a subset of q positions drawn uniformly,
and a positional code in R^{d_e} for each position. Everything drawn is a function of a key (see
`reproaudit.papers.wang2024.sampling`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float32, Int64

from reproaudit.lab import Array, compiled
from reproaudit.papers.wang2024.sampling import (
    CODE_LAWS,
    OTHER_SUBSETS,
    SUBSETS,
    CodeLaw,
    child,
    fill_codes,
    fill_subsets,
    fill_tokens,
    root,
)


@dataclass(frozen=True)
class TaskSettings:
    """The settings of the data.

    Attributes:
        tokens: T, positions in training.
        selected: q, the subset's size.
        token_dimension: d.
        code_dimension: d_e.
        batch: samples per step.
        test_points: samples of the test set, drawn before training; whole batches.
        codes: ``stochastic``, redrawn at each step, or ``fixed``, drawn once.
        code_law: independent normals, independent signs, or uniform on a sphere.
        code_scale: ``unit`` (expected squared norm 1) or ``entries`` (variance 1 per entry).
        codes_drawn: one draw ``per_batch``, or ``per_sample``.
        query: ``own``, or in a control ``independent`` of the selected subset in training.
        targets: ``own``, or in a control ``turned``: coordinate k of the target is coordinate k + 1
            of the mean of the selected tokens, and the last is the first.
        subsets: ``uniform``, or in a control ``constant``, the same in every sample.

    Raises:
        ValueError: if the settings do not go together.
    """

    tokens: int
    selected: int
    token_dimension: int
    code_dimension: int
    batch: int
    test_points: int
    codes: Literal["stochastic", "fixed"]
    code_law: CodeLaw
    code_scale: Literal["unit", "entries"]
    codes_drawn: Literal["per_batch", "per_sample"]
    query: Literal["own", "independent"]
    targets: Literal["own", "turned"]
    subsets: Literal["uniform", "constant"]

    def __post_init__(self) -> None:
        if not 1 <= self.selected < self.tokens:
            raise ValueError(
                f"setting 'selected' is {self.selected}; it must be at least 1 and below "
                f"'tokens', {self.tokens}."
            )
        if self.test_points % self.batch:
            raise ValueError(
                f"setting 'test_points' is {self.test_points}; it must be a multiple of 'batch', "
                f"{self.batch}, since test points share their codes as a batch does."
            )

    @property
    def code_norm(self) -> float:
        """The root of a code's expected squared norm."""
        return 1.0 if self.code_scale == "unit" else float(np.sqrt(self.code_dimension))

    @property
    def entry_scale(self) -> float:
        """The standard deviation of a code's entry."""
        return self.code_norm / float(np.sqrt(self.code_dimension))

    @property
    def initial_loss(self) -> float:
        """½ × expected squared error of the output 0: d/(2q)."""
        return self.token_dimension / (2 * self.selected)


# ----------------------------------------------------------------------------------------- batches


class SampleBatch(NamedTuple):
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

    @staticmethod
    def empty(samples: int, d: int, T: int, q: int, d_e: int, shared: bool) -> SampleBatch:
        """Room for a batch whose samples share their codes, or have codes of their own."""
        return SampleBatch(
            np.empty((samples, d, T), np.float32),
            np.empty((samples, q), np.int64),
            np.empty((samples, q), np.int64),
            np.arange(d),
            np.empty((1 if shared else samples, T, d_e), np.float32),
        )


class BatchLaw(NamedTuple):
    """The law that batches are drawn from, beside their sizes.

    Attributes:
        subset_key: of the subset that all samples share; 0 where each has its own.
        other_query: whether the query is drawn independently of the selected subset (a control).
        turned_targets: whether a target's coordinates are moved on by one (a control).
        redraw_codes: whether codes are drawn; else those that are in the batch stay.
        code_law: one of the values of `CODE_LAWS`.
        code_scale: the standard deviation of a code's entry.
    """

    subset_key: np.uint64
    other_query: bool
    turned_targets: bool
    redraw_codes: bool
    code_law: int
    code_scale: float

    @staticmethod
    def of(s: TaskSettings, seed: int, *, training: bool, redraw_codes: bool) -> BatchLaw:
        """The law that the settings describe.

        Args:
            s: the settings.
            seed: of the run.
            training: whether the controls that disturb training do so here, too.
            redraw_codes: whether codes are drawn.
        """
        constant = s.subsets == "constant"
        return BatchLaw(
            subset_key=root(seed, "subset") if constant else np.uint64(0),
            other_query=training and s.query == "independent",
            turned_targets=training and s.targets == "turned",
            redraw_codes=redraw_codes,
            code_law=CODE_LAWS[s.code_law],
            code_scale=s.entry_scale,
        )


@compiled()
def fill_batch(key: Any, law: BatchLaw, batch: SampleBatch) -> None:
    """Draws a batch: tokens, subsets, codes, and the queries and targets that follow from them."""
    X, selected, queried, coordinates, E = batch
    fill_tokens(key, X)
    samples, d, T = X.shape
    if law.subset_key != np.uint64(0):
        fill_subsets(law.subset_key, SUBSETS, T, selected[:1])
    else:
        fill_subsets(key, SUBSETS, T, selected)
    if law.other_query:
        fill_subsets(key, OTHER_SUBSETS, T, queried)
    for k in range(d):
        coordinates[k] = (k + 1) % d if law.turned_targets else k
    for b in range(samples):
        for k in range(selected.shape[1]):
            if law.subset_key != np.uint64(0):
                selected[b, k] = selected[0, k]
            if not law.other_query:
                queried[b, k] = selected[b, k]
    if law.redraw_codes:
        fill_codes(key, law.code_law, law.code_scale, E.reshape(-1, E.shape[2]))


def draw_codes(
    key: np.uint64, s: TaskSettings, positions: int, groups: int = 1
) -> Float32[Array, "{groups} {positions} d_e"]:
    """Positional codes, one set of them per group."""
    codes = np.empty((groups, positions, s.code_dimension), np.float32)
    law = CODE_LAWS[s.code_law]
    fill_codes(key, law, s.entry_scale, codes.reshape(-1, s.code_dimension))
    return codes


def draw_batch(
    key: np.uint64,
    s: TaskSettings,
    seed: int,
    *,
    samples: int,
    positions: int,
    codes: Float32[Array, "groups {positions} d_e"] | None = None,
    own_codes: bool = False,
    training: bool = False,
) -> SampleBatch:
    """A batch to measure on.

    Args:
        key: of the batch.
        s: the settings.
        seed: of the run.
        samples: how many.
        positions: T, or more.
        codes: fixed codes, one set for all samples or one for each; None to draw them.
        own_codes: whether each sample gets codes of its own, where they are drawn.
        training: whether controls that disturb training disturb this batch, too.
    """
    shared = not own_codes if codes is None else len(codes) == 1
    batch = SampleBatch.empty(
        samples, s.token_dimension, positions, s.selected, s.code_dimension, shared
    )
    fill_batch(key, BatchLaw.of(s, seed, training=training, redraw_codes=codes is None), batch)
    if codes is not None:
        batch.E[...] = codes
    return batch


def draw_test_set(
    seed: int, s: TaskSettings, codes: Float32[Array, "1 T d_e"] | None
) -> tuple[SampleBatch, ...]:
    """The test points, in batches that share their codes as batches of training do.

    Args:
        seed: of the run.
        s: the settings.
        codes: fixed codes, or None to draw them.
    """
    key = root(seed, "test")
    return _draw_batches(key, s, seed, codes)


def draw_training_sample(
    seed: int, s: TaskSettings, codes: Float32[Array, "1 T d_e"] | None
) -> tuple[SampleBatch, ...]:
    """As many points as the test set has, of training's law, on which nothing is trained.

    Args:
        seed: of the run.
        s: the settings.
        codes: fixed codes, or None to draw them.
    """
    return _draw_batches(root(seed, "training sample"), s, seed, codes, training=True)


def _draw_batches(
    key: np.uint64,
    s: TaskSettings,
    seed: int,
    codes: Float32[Array, "1 T d_e"] | None,
    training: bool = False,
) -> tuple[SampleBatch, ...]:
    return tuple(
        draw_batch(
            np.uint64(child(key, index)),
            s,
            seed,
            samples=s.batch,
            positions=s.tokens,
            codes=codes,
            own_codes=s.codes_drawn == "per_sample",
            training=training,
        )
        for index in range(s.test_points // s.batch)
    )
