"""The paper's experiments: their settings, what they train, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch

from reproaudit import lab
from reproaudit.lab import Array, Experiment, Measurements, Series, Session
from reproaudit.papers.ahn2023 import constructed, training
from reproaudit.papers.ahn2023.task import ProblemSettings, TrainingSettings, distance_to_identity
from reproaudit.papers.ahn2023.theorems import Family, measure_family
from reproaudit.papers.ahn2023.training import Choosing, RunTask, Trained, train_model


@dataclass(frozen=True)
class Demonstration(TrainingSettings):
    """A model of a given depth, looked at closely."""

    layers: int


@dataclass(frozen=True)
class OneLayer(Demonstration):
    """One layer; Theorem 1 prints its optimum for w ~ N(0, I), the law ``identity``."""

    weight_law: Literal["identity", "inverse_covariance"]


@dataclass(frozen=True)
class Depth(Choosing):
    """Models of several depths against as many steps of gradient descent."""

    depths: tuple[int, ...]


@dataclass(frozen=True)
class ContextLength(Choosing):
    """One model for each number of pairs."""

    layers: int
    lengths: tuple[int, ...]
    short_learning_rate: float
    short_below: int


def measure_demonstration(settings: Demonstration, session: Session) -> Measurements:
    """The demonstrations of Theorems 3 (B_l = 0) and 4 (B_l free): losses, distances, matrices."""
    task = RunTask.of(session.seed, settings.pairs, settings, session)
    model = train_model(session, "training", task, settings.layers, _observe_layers)
    norms = model.series["norm_a"].values[-1]
    return Measurements(
        scalars={
            "prediction_gap": training.prediction_gap(task, model.end),
            "norm_growth": float(norms[-1] / norms[0]),
        },
        series=model.series,
        arrays={
            "whitened_a": task.covariance.whitened(model.end[0]),
            "final_b": model.end[1][:-1],
        },
    )


def _observe_layers(task: RunTask, A: Array, B: Array) -> Mapping[str, Array]:
    """Distances, norms, and a_l b_l of the nearest multiples; the last B reaches no output."""
    whitened = task.covariance.whitened(A)
    inner = B[:-1]
    a, b = (np.trace(one, axis1=1, axis2=2) / task.covariance.dim for one in (whitened, inner))
    return {
        **task.distances(A),
        "distance_b": distance_to_identity(inner),
        "norm_a": np.linalg.norm(A, axis=(1, 2)),
        "scalar_product": a[:-1] * b,
    }


def measure_one_layer(settings: OneLayer, session: Session) -> Measurements:
    """One layer, for its optimum in closed form under either law of the weights (Theorem 1)."""
    root = np.eye(settings.dimension) if settings.weight_law == "identity" else None
    task = RunTask.of(session.seed, settings.pairs, settings, session, weight_root=root)
    model = train_model(session, "training", task, settings.layers, _observe_one_layer)
    arrays = {"whitened_a": task.covariance.whitened(model.end[0])[0]}
    return Measurements(series=model.series, arrays=arrays)


def _observe_one_layer(task: RunTask, A: Array, _B: Array) -> Mapping[str, float | Array]:
    """The c of the multiple −c Σ⁻¹ nearest to A in whitened coordinates, and more."""
    whitened = task.covariance.whitened(A)[0]
    sigma = task.covariance.matrix
    loss = constructed.one_layer_loss
    identity = np.eye(task.covariance.dim)
    printed = constructed.printed_optimum(sigma, task.pairs)[0]
    least = loss(printed, sigma, task.pairs, identity)
    return {
        "step_size": -float(np.trace(whitened)) / len(whitened),
        "population_loss": loss(A[0], sigma, task.pairs),
        **{name: distances[0] for name, distances in task.distances(A).items()},
        "distance_to_printed": float(np.linalg.norm(A[0] - printed) / np.linalg.norm(printed)),
        "excess_loss": loss(A[0], sigma, task.pairs, identity) / least,
    }


def measure_depth(settings: Depth, session: Session) -> Measurements:
    """Models of each depth, and the baselines with as many steps on the same test prompts."""
    task = RunTask.of(session.seed, settings.pairs, settings, session)
    test = task.test_prompts()
    validation = task.validation_prompts()
    models = [train_model(session, f"{layers} layers", task, layers) for layers in settings.depths]
    chosen = [training.chosen_loss(task, model.saved) for model in models]
    rows = [constructed.fair_losses(test, validation, steps) for steps in settings.depths]
    return _comparison(models, chosen, rows)


def measure_context_length(settings: ContextLength, session: Session) -> Measurements:
    """A model for each number of pairs, and the baselines on the same test prompts."""
    models = []
    chosen = []
    rows = []
    for pairs in settings.lengths:
        short = pairs < settings.short_below
        rate = settings.short_learning_rate if short else settings.learning_rate
        own = replace(settings, learning_rate=rate)
        task = RunTask.of(session.seed, pairs, own, session)
        models.append(train_model(session, f"{pairs} pairs", task, settings.layers))
        chosen.append(training.chosen_loss(task, models[-1].saved))
        test = task.test_prompts()
        rows.append(constructed.fair_losses(test, task.validation_prompts(), settings.layers))
    return _comparison(models, chosen, rows)


def _comparison(
    models: Sequence[Trained], chosen: Sequence[float], baselines: Sequence[Sequence[float]]
) -> Measurements:
    """Lays models side by side: one entry per model on the leading axis."""
    curves = [model.series["loss"] for model in models]
    shortest = min(curves, key=lambda series: len(series.steps))  # a diverged one ends early
    keep = len(shortest.steps)
    values = np.stack([series.values[:keep] for series in curves], axis=1)
    return Measurements(
        series={"training_loss": Series(steps=shortest.steps, values=values)},
        arrays={"test_loss": np.array(chosen), "baseline_loss": np.array(baselines)},
    )


def _experiment(
    settings: type[ProblemSettings],
    measure: Callable[[Any, Session], Measurements],
    phases: Callable[[Any], Mapping[str, int]] = lambda settings: {"training": settings.steps},
) -> Experiment:
    """An experiment that measures on one thread.

    With more threads, sums are split among them, and the last bits depend on their number.
    """

    def measured(settings: Any, session: Session) -> Measurements:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with lab.one_thread():
                return measure(settings, session)
        finally:
            torch.set_num_threads(threads)

    return Experiment(settings, measured, phases=phases, has_plain_form=True)


def _phase_per_depth(settings: Depth) -> Mapping[str, int]:
    return {f"{layers} layers": settings.steps for layers in settings.depths}


def _phase_per_length(settings: ContextLength) -> Mapping[str, int]:
    return {f"{pairs} pairs": settings.steps for pairs in settings.lengths}


_demonstration = _experiment(Demonstration, measure_demonstration)
_one_layer = _experiment(OneLayer, measure_one_layer)

EXPERIMENTS: Mapping[str, Experiment] = {
    "sparse": _demonstration,
    "full": _demonstration,
    "identity_covariance": _demonstration,
    "depth": _experiment(Depth, measure_depth, _phase_per_depth),
    "context_length": _experiment(ContextLength, measure_context_length, _phase_per_length),
    "one_layer": _one_layer,
    "printed_optimum": _one_layer,
    "family": _experiment(Family, measure_family, lambda _settings: {}),
}
"""By name, as `audits/ahn2023.yaml` lists them."""
