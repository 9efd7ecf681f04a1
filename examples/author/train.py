"""Gradient descent on separable points in the plane, as an author's repository might have it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SUPPORT = np.array([[0.5, 1.5], [1.5, 0.5]])
MAX_MARGIN = np.array([1.0, 1.0]) / np.sqrt(2.0)
STEPS = 20_000


def signed_points(seed: int) -> Array:
    """Points times their labels; shape (16, 2). The seed draws those beyond the margin."""
    others = np.random.default_rng(seed).uniform([1.5, 0.75], [5.0, 2.0], size=(12, 2))
    return np.concatenate([SUPPORT, SUPPORT, others])


def logistic_slope(margins: Array) -> Array:
    """Minus the derivative of log(1 + exp(-u))."""
    return 1 / (1 + np.exp(margins))


def squared_slope(margins: Array) -> Array:
    """Minus the derivative of (1 - u)²/2."""
    return 1 - margins


def train(seed: int, loss: str = "logistic", weights: str = "trained") -> dict[str, list[float]]:
    """Trains once; returns the observed steps, the norm of the weights, and their cosine."""
    points = signed_points(seed)
    step_size = 1 / np.linalg.norm(points, ord=2) ** 2
    slope = squared_slope if loss == "squared" else logistic_slope
    w = np.zeros(2)
    log: dict[str, list[float]] = {"step": [], "norm": [], "cosine": []}
    for step in range(STEPS + 1):
        if step % 250 == 0:
            norm = float(np.linalg.norm(w))
            log["step"].append(step)
            log["norm"].append(norm)
            log["cosine"].append(float(w @ MAX_MARGIN) / norm if norm else 0.0)
        if weights == "constructed":  # the theorem's leading term in place of training
            w = np.array([0.5, 0.5]) * np.log(2 + step)
        else:
            w = w + step_size * slope(points @ w) @ points
    return log
