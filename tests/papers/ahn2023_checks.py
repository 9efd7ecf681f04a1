"""Random problems and comparisons that the tests of ahn2023 share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.papers.ahn2023.fast import LANES, Minibatch

Array = NDArray[Any]


def problem(layers: int, d: int, n: int, batch: int, seed: int = 0) -> tuple[Array, ...]:
    """x, w, query and matrices large enough that every product matters, in float64."""
    rng = np.random.default_rng(seed)
    x, w, query = (rng.standard_normal(shape) for shape in ((batch, n, d), (batch, d), (batch, d)))
    A = rng.standard_normal((layers, d, d)) * 0.5 / d - 0.3 * np.eye(d)
    B = rng.standard_normal((layers, d, d)) * 0.5 / d + 0.3 * np.eye(d)
    return x, w, query, A, B


def moments(x: Array) -> Array:
    return np.asarray(x.transpose(0, 2, 1) @ x / x.shape[1])


def close(actual: Any, expected: Any, tolerance: float) -> None:
    """Equal relative to the largest entry expected."""
    scale = np.max(np.abs(expected))
    assert np.max(np.abs(np.asarray(actual) - np.asarray(expected))) <= tolerance * scale


def same_law(first: Array, second: Array | float) -> None:
    """Equal means, within 4.5 standard errors of the difference (about 7e-6 by chance)."""
    sample = np.asarray(second)
    variance = np.var(first, axis=0) / len(first)
    if sample.ndim and len(sample) > 1 and sample.ndim == np.ndim(first):
        variance = variance + np.var(sample, axis=0) / len(sample)
        sample = sample.mean(0)
    assert np.all(np.abs(np.mean(first, axis=0) - sample) <= 4.5 * np.sqrt(variance))


def unpacked(minibatch: Minibatch) -> tuple[Array, Array, Array, Array]:
    """S, w, the query and the offset of each prompt."""
    square, d = minibatch.dim**2, minibatch.dim
    by_lane = np.swapaxes(minibatch.data.reshape(len(minibatch.data), -1, LANES), 1, 2)
    rows = by_lane.reshape(-1, by_lane.shape[2])[: minibatch.count]
    S = rows[:, :square].reshape(-1, d, d)
    return S, rows[:, square + d + 1 :], rows[:, square : square + d], rows[:, square + d]
