"""Autoencoders of rising size, by squared error and by a threshold (Schaeffer, section 5)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from reproaudit.lab import Array, AuditSettings, generator, one_thread
from reproaudit.papers.wei2022.task import rows_of


def squared_errors(s: AuditSettings, seed: int, index: int) -> tuple[Array, Array]:
    """Return ‖x − x̂‖² of training and of test rows, x̂ = tanh(xV + a)W + b by Adam on batches."""
    x, unseen = (rows_of(s, seed, part)[0] for part in ("train", "test"))
    rng, width, pixels = generator(seed, "autoencoder", index), s.units[index], x.shape[1]
    v = rng.standard_normal((pixels, width)) / pixels**0.5
    w = rng.standard_normal((width, pixels)) / width**0.5
    a, b = np.zeros(width), x.mean(axis=0)
    first, second = ([np.zeros_like(each) for each in (v, a, w, b)] for _ in range(2))
    for step in range(1, s.steps + 1):
        batch = x[rng.integers(len(x), size=s.batch)]
        hidden = np.tanh(batch @ v + a)
        outer = 2 * (hidden @ w + b - batch) / s.batch
        inner = (outer @ w.T) * (1 - hidden**2)
        slopes = (batch.T @ inner, inner.sum(axis=0), hidden.T @ outer, outer.sum(axis=0))
        for weights, slope, mean, square in zip((v, a, w, b), slopes, first, second, strict=True):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope**2 - square)
            root = np.sqrt(square / (1 - 0.999**step)) + 1e-8
            weights -= s.rate * mean / (1 - 0.9**step) / root
    seen, new = (((np.tanh(rows @ v + a) @ w + b - rows) ** 2).sum(axis=1) for rows in (x, unseen))
    return seen, new


def emergence_score(score: Array, resolution: float = 0.0) -> float:
    """Return the range over the root of the median squared step, signed (Schaeffer, section 4).

    A median step below the resolution counts as large as that: the score is infinite at 0.
    """
    step = max(np.sqrt(np.median(np.diff(score) ** 2)), resolution)
    return float(np.sign(score.argmax() - score.argmin()) * np.ptp(score) / step)


def reconstruction(errors: Array, threshold: float | Array) -> tuple[Array, float]:
    """Return the share of rows with errors (size, row) below a threshold, and its emergence."""
    share = (errors < threshold).mean(axis=1)
    return share, emergence_score(share, 1 / errors.shape[1])


def measure_autoencoders(s: AuditSettings, seed: int) -> Mapping[str, float | Array]:
    """Score the same autoencoders by squared error and by the share of test rows below c.

    c is chosen for its effect on the training rows, of those below which the largest one has
    certain shares of them.
    """
    with one_thread():
        made = [squared_errors(s, seed, index) for index in range(len(s.units))]
    seen, errors = (np.stack(each) for each in zip(*made, strict=True))
    thresholds = np.quantile(seen[-1], s.shares)
    chosen = max(thresholds, key=lambda threshold: reconstruction(seen, threshold)[1])
    drawn = generator(seed, "thresholds").uniform(0, errors.max(), errors.shape[1])
    share, emergence = reconstruction(errors, chosen)
    return {
        "mse": errors.mean(axis=1),
        "smooth_emergence": emergence_score(-errors.mean(axis=1)),
        "chosen": chosen,
        "reconstruction": share,
        "gained": share[-1],
        "emergence": emergence,
        "drawn_emergence": reconstruction(errors, drawn)[1],
    }
