"""Gradient descent on separable points with two losses; prints its results as JSON.

    python train.py > results.json

It knows nothing of reproaudit.
"""

from __future__ import annotations

import json

import numpy as np

STEPS = 20_000
LOSSES = ("logistic", "squared")


def train(seed: int, loss: str) -> dict[str, float]:
    """Trains once, and measures the cosine to the max-margin direction (1, 1)."""
    support = np.array([[0.5, 1.5], [1.5, 0.5]])
    others = np.random.default_rng(seed).uniform([1.5, 0.75], [5.0, 2.0], size=(12, 2))
    points = np.concatenate([support, support, others])  # each times its label
    step_size = 1 / np.linalg.norm(points, ord=2) ** 2
    w = np.zeros(2)
    for _ in range(STEPS):
        margins = points @ w
        slope = 1 / (1 + np.exp(margins)) if loss == "logistic" else 1 - margins
        w = w + step_size * slope @ points
    return {"cosine": float(w.sum() / np.sqrt(2) / np.linalg.norm(w))}


def runs() -> dict[str, dict[int, dict[str, float]]]:
    """Trains five seeds with each loss."""
    return {loss: {seed: train(seed, loss) for seed in range(5)} for loss in LOSSES}


if __name__ == "__main__":
    measured = runs()
    rows = [{"seed": s, **{loss: measured[loss][s] for loss in LOSSES}} for s in range(5)]
    print(json.dumps({"per_seed": rows}, indent=1))
