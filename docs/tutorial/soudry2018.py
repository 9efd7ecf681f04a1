"""Gradient descent on separable data: where the weights point, and how fast they grow.

Two-dimensional points x_i with labels y_i are separated through the origin. Gradient descent starts
at w = 0 and minimises Σ ℓ(y_i w·x_i). Four of the points are support vectors, ±(0.5, 1.5) and
±(1.5, 0.5), so that the max-margin direction is (1, 1)/√2, whatever the other points beyond the
margin are (Figure 1 of the paper).

A run is a seed: its own other points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reproaudit.lab import (
    Experiment,
    Measurements,
    Session,
    generator,
    train,
)

Array = NDArray[np.float64]

SUPPORT = np.array([[0.5, 1.5], [1.5, 0.5]])
MAX_MARGIN = np.array([1.0, 1.0]) / np.sqrt(2.0)
SMALLEST_NORM = np.array([0.5, 0.5])
"""The solution of the hard-margin problem, min ‖w‖ with y_i w·x_i ≥ 1: the paper's ŵ."""


@dataclass(frozen=True)
class Settings:
    """The settings of soudry2018.yaml, by name."""

    other_points: int
    other_points_box: tuple[float, ...]
    loss: Literal["logistic", "squared"]
    step_size_factor: float
    steps: int
    weights: Literal["trained", "constructed"]


def signed_points(settings: Settings, seed: int) -> Array:
    """The points times their labels, y_i x_i; shape (4 + other_points, 2)."""
    x_low, x_high, y_low, y_high = settings.other_points_box
    rng = generator(seed, "other points")
    others = rng.uniform([x_low, y_low], [x_high, y_high], size=(settings.other_points, 2))
    return np.concatenate([SUPPORT, SUPPORT, others])  # −x with label −1 is x with label +1


def slope(margins: Array, loss: str) -> Array:
    """−ℓ'(u) at the margins u: of log(1 + exp(−u)), or of (1 − u)²/2."""
    return 1.0 / (1.0 + np.exp(margins)) if loss == "logistic" else 1.0 - margins


def measure(settings: Settings, session: Session) -> Measurements:
    """The cosine with the max-margin direction and the norm, over training."""
    points = signed_points(settings, session.seed)
    step_size = settings.step_size_factor / np.linalg.norm(points, ord=2) ** 2
    w = np.zeros(2)

    def advance(start: int, stop: int) -> None:
        if settings.weights == "constructed":  # w(t) = ŵ log t, the theorem without its remainder
            w[:] = SMALLEST_NORM * np.log(1 + stop)
            return
        for _ in range(start, stop):
            w[:] = w + step_size * slope(points @ w, settings.loss) @ points

    def observe(_step: int) -> Mapping[str, Any]:
        norm = np.linalg.norm(w)
        return {"norm": norm, "cosine": w @ MAX_MARGIN / norm if norm > 0 else 0.0}

    series = train(
        session,
        "descent",
        steps=settings.steps,
        state={"w": w},
        advance=advance,
        observe=observe,
        observe_at=np.unique(np.linspace(0, settings.steps, 81, dtype=int)),
        chunk=1000,
    )
    return Measurements(series=series)


EXPERIMENTS = {
    "separable": Experiment(Settings, measure, phases=lambda s: {"descent": s.steps}),
}
