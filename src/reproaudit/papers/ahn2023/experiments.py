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
from reproaudit.papers.ahn2023.task import TrainingSettings, distance_to_identity
from reproaudit.papers.ahn2023.training import CONTINUED, Choosing, RunTask, Trained, train_model


@dataclass(frozen=True)
class Demonstration(TrainingSettings):
    """A model of a given depth, looked at closely."""

    layers: int


@dataclass(frozen=True)
class PrintedOptimum(Demonstration):
    """One layer, for the optimum that Theorem 1 prints for w ~ N(0, I), the law ``identity``."""

    weight_law: Literal["identity", "inverse_covariance"]


@dataclass(frozen=True)
class AgainstBaselines(Choosing):
    """Models against baselines, those of the released code among them."""

    released_steps: tuple[float, ...]
    released_preconditioned_steps: tuple[float, ...]
    released_choice_seed: int
    released_preconditioned_choice_seed: int
    released_choice_prompts: int
    released_prompts: int
    released_preconditioned_prompts: int


@dataclass(frozen=True)
class Depth(AgainstBaselines):
    """Models of several depths against as many steps of gradient descent."""

    depths: tuple[int, ...]


@dataclass(frozen=True)
class ContextLength(AgainstBaselines):
    """One model for each number of pairs."""

    layers: int
    lengths: tuple[int, ...]
    short_learning_rate: float
    short_below: int


def measure_demonstration(settings: Demonstration, session: Session) -> Measurements:
    """The demonstrations of Theorems 3 (B_l = 0) and 4 (B_l free): losses, distances, matrices."""
    task = RunTask.of(session.seeds[0], settings.pairs, settings, session)
    free = settings.b_matrices == "free"

    def observe(task: RunTask, A: Array, B: Array) -> Mapping[str, Array]:
        distances = task.distances(A)
        if free:  # the last B reaches no output
            distances["distance_b"] = distance_to_identity(B[:-1])
        return distances

    model = train_model(session, "training", task, settings.layers, observe)
    continued = training.continued_loss(session, task, model)
    A, B = model.end
    arrays = {"whitened_a": task.covariance.whitened(A)}
    return Measurements(
        scalars={**_movement([model]), "continued_loss": continued},
        series=model.series,
        arrays={**arrays, "final_b": B[:-1]} if free else arrays,
    )


def measure_one_layer(settings: Demonstration, session: Session) -> Measurements:
    """One layer, for its optimum in closed form (Theorem 1)."""
    task = RunTask.of(session.seeds[0], settings.pairs, settings, session)
    model = train_model(session, "training", task, settings.layers, _observe_one_layer)
    arrays = {"whitened_a": task.covariance.whitened(model.end[0])[0]}
    return Measurements(scalars=_movement([model]), series=model.series, arrays=arrays)


def _observe_one_layer(task: RunTask, A: Array, _B: Array) -> Mapping[str, float | Array]:
    """The c of the multiple −c Σ⁻¹ nearest to A in whitened coordinates, and more."""
    whitened = task.covariance.whitened(A)[0]
    return {
        "step_size": -float(np.trace(whitened)) / len(whitened),
        "population_loss": constructed.one_layer_loss(A[0], task.covariance.matrix, task.pairs),
        **{name: distances[0] for name, distances in task.distances(A).items()},
    }


def measure_printed_optimum(settings: PrintedOptimum, session: Session) -> Measurements:
    """One layer trained with w ~ N(0, I), against the optimum that Theorem 1 prints for it."""
    root = np.eye(settings.dimension) if settings.weight_law == "identity" else None
    task = RunTask.of(session.seeds[0], settings.pairs, settings, session, weight_root=root)
    model = train_model(session, "training", task, settings.layers, _observe_printed_optimum)
    return Measurements(scalars=_movement([model]), series=model.series)


def _observe_printed_optimum(task: RunTask, A: Array, _B: Array) -> Mapping[str, float]:
    sigma, identity = task.covariance.matrix, np.eye(task.covariance.dim)
    optimum = constructed.printed_optimum(sigma, task.pairs)[0]
    loss, least = (
        constructed.one_layer_loss(M, sigma, task.pairs, identity) for M in (A[0], optimum)
    )
    distance = float(np.linalg.norm(A[0] - optimum) / np.linalg.norm(optimum))
    return {"distance_to_printed": distance, "excess_loss": loss / least}


def measure_depth(settings: Depth, session: Session) -> Measurements:
    """Models of each depth, and the baselines with as many steps on the same test prompts."""
    task = RunTask.of(session.seeds[0], settings.pairs, settings, session)
    models = [train_model(session, f"{layers} layers", task, layers) for layers in settings.depths]
    chosen = [training.chosen_loss(task, model.saved) for model in models]
    rows = [baseline_losses(task, settings, steps) for steps in settings.depths]
    return _comparison(models, chosen, rows)


def measure_context_length(settings: ContextLength, session: Session) -> Measurements:
    """A model for each number of pairs, and the baselines on the same test prompts."""
    models, chosen, rows = [], [], []
    for pairs in settings.lengths:
        short = pairs < settings.short_below
        rate = settings.short_learning_rate if short else settings.learning_rate
        own = replace(settings, learning_rate=rate)
        task = RunTask.of(session.seeds[0], pairs, own, session)
        models.append(train_model(session, f"{pairs} pairs", task, settings.layers))
        chosen.append(training.chosen_loss(task, models[-1].saved))
        rows.append(baseline_losses(task, settings, settings.layers, least_squares=True))
    return _comparison(models, chosen, rows)


def baseline_losses(
    task: RunTask, settings: AgainstBaselines, steps: int, *, least_squares: bool = False
) -> list[float]:
    """The losses of as many steps, in the order of the audit's axis.

    Released ones have prompts of their own and n − 1 of the pairs; least squares is whitened there.
    """
    test, validation = task.test_prompts(), task.validation_prompts()
    counts = settings.released_prompts, settings.released_preconditioned_prompts
    seeds = settings.released_choice_seed, settings.released_preconditioned_choice_seed
    grids = settings.released_steps, settings.released_preconditioned_steps
    own = task.prompts("released baselines", max(counts))
    losses = constructed.fair_losses(test, validation, steps)
    if least_squares:
        losses.append(constructed.least_squares_loss(test.x, test.w, test.query))
    for count, seed, grid, preconditioned in zip(counts, seeds, grids, (False, True), strict=True):
        others = RunTask.of(seed, task.pairs, settings).validation_prompts()
        choice = others.first(settings.released_choice_prompts)
        mine = own.first(count)
        losses.append(constructed.released_loss(mine, choice, grid, preconditioned, steps))
    if least_squares:
        last, root = own.first(counts[1]), task.covariance.root
        z, z_query = (one @ np.linalg.inv(root).T for one in (last.x[:, :-1], last.query))
        losses.append(constructed.least_squares_loss(z, last.w @ root, z_query))
    return losses


def _movement(models: Sequence[Trained]) -> dict[str, float]:
    """The movement of all models of a run together."""
    begin = [matrices for model in models for matrices in model.start]
    end = [matrices for model in models for matrices in model.end]
    first, last = zip(*(model.losses for model in models), strict=True)
    return lab.measure_movement(begin, end, first, last)


def _comparison(
    models: Sequence[Trained], chosen: Sequence[float], baselines: Sequence[Sequence[float]]
) -> Measurements:
    """Lays models side by side: one entry per model on the leading axis."""
    curves = [model.series["loss"] for model in models]
    shortest = min(curves, key=lambda series: len(series.steps))  # a diverged one ends early
    keep = len(shortest.steps)
    values = np.stack([series.values[:keep] for series in curves], axis=1)
    return Measurements(
        scalars=_movement(models),
        series={"training_loss": Series(steps=shortest.steps, values=values)},
        arrays={"test_loss": np.array(chosen), "baseline_loss": np.array(baselines)},
    )


def _experiment(
    settings: type[TrainingSettings],
    measure: Callable[[Any, Session], Measurements],
    phases: Callable[[Any], Mapping[str, int]] = lambda settings: {"training": settings.steps},
) -> Experiment:
    """An experiment that measures one seed a call, on one thread.

    With more threads, sums are split among them, and the last bits depend on their number.
    """

    def measured(settings: Any, session: Session) -> Mapping[int, Measurements]:
        (seed,), threads = session.seeds, torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with lab.one_thread():
                return {seed: measure(settings, session)}
        finally:
            torch.set_num_threads(threads)

    return Experiment(settings, measured, phases=phases, has_plain_form=True)


def _training_goes_on(settings: Demonstration) -> Mapping[str, int]:
    return {"training": settings.steps, CONTINUED: lab.continued_steps(settings.steps)}


def _phase_per_depth(settings: Depth) -> Mapping[str, int]:
    return {f"{layers} layers": settings.steps for layers in settings.depths}


def _phase_per_length(settings: ContextLength) -> Mapping[str, int]:
    return {f"{pairs} pairs": settings.steps for pairs in settings.lengths}


_demonstration = _experiment(Demonstration, measure_demonstration, _training_goes_on)

EXPERIMENTS: Mapping[str, Experiment] = {
    "sparse": _demonstration,
    "full": _demonstration,
    "identity_covariance": _demonstration,
    "depth": _experiment(Depth, measure_depth, _phase_per_depth),
    "context_length": _experiment(ContextLength, measure_context_length, _phase_per_length),
    "one_layer": _experiment(Demonstration, measure_one_layer),
    "printed_optimum": _experiment(PrintedOptimum, measure_printed_optimum),
}
"""By name, as `audits/ahn2023.yaml` lists them."""
