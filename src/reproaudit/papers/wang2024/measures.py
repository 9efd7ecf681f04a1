"""From weights and series to measurements: directions, exponents, joined series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array, Series, one_thread
from reproaudit.papers.wang2024.model import Weights


def directions(weights: Weights) -> dict[str, Float[Array, " matrix"]]:
    """Measure the directions of W_KQ and W_V against the ground truth, each as (W_KQ, W_V).

    cosine: of the whole matrix, its other blocks included, with the identity in the claimed block;
    off_block: the share of the Frobenius norm outside that block; scale: the block's mean diagonal.
    """
    _, D, V_x, _ = weights.blocks
    pairs = (weights.key_query, D), (weights.value, V_x)
    with one_thread():  # a norm's last bit depends on the number of threads
        found = [_direction(whole.astype(float), block.astype(float)) for whole, block in pairs]
    names = "cosine", "off_block", "scale"
    return {
        name: np.array(both) for name, both in zip(names, zip(*found, strict=True), strict=True)
    }


def _direction(whole: Array, block: Array) -> tuple[float, float, float]:
    """Cosine with the identity in the block, share of the norm outside it, its mean diagonal."""
    norm = float(np.linalg.norm(whole))
    inside = float(np.linalg.norm(block))
    trace = float(np.trace(block))
    size = len(block)
    if norm == 0:
        return 0.0, 0.0, 0.0
    outside = max(0.0, norm**2 - inside**2) ** 0.5 / norm
    return trace / (norm * size**0.5), outside, trace / size


def power_law_exponent(
    sizes: Sequence[int], values: Float[Array, " size"] | Sequence[float]
) -> float:
    """Fit the exponent of a power law by least squares in logarithms; NaN where it has none."""
    found = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(found) & (found > 0)).all():
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(found), 1)[0])


def drift(series: Series) -> Array:
    """Divide the mean over the last 15 % of training by that over its second quarter."""
    passed = np.array(series.steps) / series.steps[-1]
    early = (passed >= 0.25) & (passed <= 0.5)
    late = passed >= 0.85
    return np.asarray(series.values[late].mean(axis=0) / series.values[early].mean(axis=0))


def stack_series(series: Sequence[Series]) -> Series:
    """Join several series as one, with an axis for them, up to where the first of them ends.

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
