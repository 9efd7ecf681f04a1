"""From weights to measurements: loss and attention on batches, directions, joined series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array, RunForm, Series, one_thread
from reproaudit.papers.wang2024 import fast, plain
from reproaudit.papers.wang2024.fast import Weights
from reproaudit.papers.wang2024.task import SampleBatch


def mean_loss_and_mass(
    batches: Sequence[SampleBatch], weights: Weights, attend_query: bool, form: RunForm
) -> tuple[float, float]:
    """½ × mean squared error, and the mean attention on the selected tokens.

    Args:
        batches: of one size.
        weights: of the layer.
        attend_query: whether the query is among the attended tokens.
        form: how they are computed.
    """
    losses = fast.losses if form == "fast" else plain.losses
    both = [losses(batch, weights, attend_query) for batch in batches]
    return float(np.mean([one[0] for one in both])), float(np.mean([one[1] for one in both]))


def directions(weights: Weights) -> dict[str, Float[Array, " matrix"]]:
    """The directions of W_KQ and W_V against the ground truth, each as (W_KQ, W_V).

    cosine: of the whole matrix, its other blocks included, with the identity in the claimed block;
    off_block: the share of the Frobenius norm outside that block; scale: the block's mean diagonal.
    """
    d = len(weights.V_x)
    key_query = weights.key_query.astype(np.float64)
    value = weights.value.astype(np.float64)
    with one_thread():  # a norm's last bit depends on the number of threads
        found = (
            _cosine_with_identity(key_query, slice(d, None), slice(d, None)),
            _cosine_with_identity(value, slice(None), slice(d)),
        )
    scale = (np.trace(weights.D) / len(weights.D), np.trace(weights.V_x) / d)
    return {
        "cosine": np.array([one[0] for one in found]),
        "off_block": np.array([one[1] for one in found]),
        "scale": np.array(scale, dtype=np.float64),
    }


def _cosine_with_identity(matrix: Array, rows: slice, columns: slice) -> tuple[float, float]:
    """The cosine with the identity in one block, and the share of the norm outside the block."""
    norm = float(np.linalg.norm(matrix))
    if norm == 0:
        return 0.0, 0.0
    block = matrix[rows, columns]
    inside = float(np.linalg.norm(block))
    outside = np.sqrt(max(0.0, norm**2 - inside**2)) / norm
    return float(np.trace(block)) / (norm * np.sqrt(len(block))), float(outside)


def power_law_exponent(
    sizes: Sequence[int], values: Float[Array, " size"] | Sequence[float]
) -> float:
    """The exponent of a power law fitted by least squares in logarithms; NaN where it has none."""
    found = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(found) & (found > 0)).all():
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(found), 1)[0])


def stack_series(series: Sequence[Series]) -> Series:
    """Several series as one, with an axis for them; it ends where the first of them ends.

    A phase ends early where its numbers are no longer finite, and then the whole has diverged: the
    last kept step takes each series' own last value, so that the record says so.
    """
    shortest = min(series, key=lambda one: len(one.steps)).steps
    values = np.stack([one.values[: len(shortest)] for one in series], axis=1)
    values[-1] = [
        one.values[-1] if not np.isfinite(one.values[-1]).all() else kept
        for one, kept in zip(series, values[-1], strict=True)
    ]
    return Series(steps=shortest, values=values)


def last_value(series: Series, steps: int) -> float:
    """The value after so many steps; infinite where training did not come so far."""
    last = float(series.values[-1])
    return last if series.steps[-1] == steps and np.isfinite(last) else float("inf")
