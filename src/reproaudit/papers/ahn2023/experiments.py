"""The paper's experiments: their settings, what they train, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reproaudit.lab import (
    Array,
    Experiment,
    Measure,
    Measurements,
    Series,
    Session,
    one_thread,
    per_seed,
)
from reproaudit.papers.ahn2023 import constructed, measures
from reproaudit.papers.ahn2023.baselines import FairDescent, ReleasedDescent, least_squares
from reproaudit.papers.ahn2023.runs import RunTask, Trained, TrainingSettings, train_models


@dataclass(frozen=True)
class Demonstration(TrainingSettings):
    """A model of a given depth, looked at closely."""

    layers: int


@dataclass(frozen=True)
class Depth(TrainingSettings):
    """Models of several depths against as many steps of gradient descent."""

    depths: tuple[int, ...]
    released_grid: tuple[float, ...]


@dataclass(frozen=True)
class ContextLength(TrainingSettings):
    """One model for each number of pairs."""

    layers: int
    lengths: tuple[int, ...]
    short_learning_rate: float
    short_below: int


# --- experiments ---------------------------------------------------------------------------------


def _observe_distances(task: RunTask, A: Array, B: Array) -> Mapping[str, Array]:
    distances = task.distances(A)
    if task.settings.b_matrices == "free":
        distances["distance_b"] = measures.distance_to_identity(
            B[:-1]
        )  # the last B reaches no output
    return distances


def measure_demonstration(settings: Demonstration, session: Session) -> Mapping[int, Measurements]:
    """The demonstrations of Theorems 3 (B_l = 0) and 4 (B_l free): losses, distances, matrices."""
    tasks = [RunTask.of(seed, settings.pairs, settings) for seed in session.seeds]
    model = train_models(session, "training", tasks, settings.layers, _observe_distances)
    results = {}
    for i, (task, series) in enumerate(zip(tasks, split_seeds(model, tasks), strict=True)):
        arrays = {"whitened_a": measures.whitened(model.A[i], task.covariance)}
        if settings.b_matrices == "free":
            arrays["final_b"] = model.B[i][:-1]
        results[task.seed] = Measurements(
            scalars={"final_loss": float(model.test_loss[i])}, series=series, arrays=arrays
        )
    return results


def _observe_one_layer(task: RunTask, A: Array, B: Array) -> Mapping[str, float | Array]:
    del B
    return {
        "step_size": measures.step_size(A[0], task.covariance),
        "population_loss": constructed.one_layer_loss(A[0], task.covariance.matrix, task.pairs),
        **{name: distances[0] for name, distances in task.distances(A).items()},
    }


def measure_one_layer(settings: Demonstration, session: Session) -> Mapping[int, Measurements]:
    """One layer, for its optimum in closed form (Theorem 1)."""
    tasks = [RunTask.of(seed, settings.pairs, settings) for seed in session.seeds]
    model = train_models(session, "training", tasks, settings.layers, _observe_one_layer)
    return {
        task.seed: Measurements(
            series=series, arrays={"whitened_a": measures.whitened(model.A[i], task.covariance)[0]}
        )
        for i, (task, series) in enumerate(zip(tasks, split_seeds(model, tasks), strict=True))
    }


def measure_depth(settings: Depth, session: Session) -> Mapping[int, Measurements]:
    """Models of each depth, and the baselines with as many steps on the same test prompts."""
    tasks = [RunTask.of(seed, settings.pairs, settings) for seed in session.seeds]
    models = [
        train_models(session, f"{layers} layers", tasks, layers, _observe_nothing)
        for layers in settings.depths
    ]
    return _comparisons(tasks, models, [depth_baselines(task, settings) for task in tasks])


def depth_baselines(task: RunTask, settings: Depth) -> Sequence[Sequence[float]]:
    """For each depth, the losses of as many steps, in the order of the audit's axis."""
    test, first_run = task.prompts("test"), RunTask.of(0, task.pairs, settings)
    fair = FairDescent(test, task.prompts("validation"), max(settings.depths))
    released = ReleasedDescent(test, first_run.prompts("validation"), settings.released_grid)
    return [[*fair.losses(steps), *released.losses(steps)] for steps in settings.depths]


def measure_context_length(settings: ContextLength, session: Session) -> Mapping[int, Measurements]:
    """A model for each number of pairs, and the baselines on the same test prompts."""
    models, baselines = [], []
    for pairs in settings.lengths:
        tasks = [RunTask.of(seed, pairs, settings) for seed in session.seeds]
        short = pairs < settings.short_below
        rate = settings.short_learning_rate if short else settings.learning_rate
        phase = f"{pairs} pairs"
        models.append(train_models(session, phase, tasks, settings.layers, _observe_nothing, rate))
        baselines.append([length_baselines(task, settings.layers) for task in tasks])
    of_seed = [[one[i] for one in baselines] for i in range(len(session.seeds))]
    return _comparisons(tasks, models, of_seed)


def length_baselines(task: RunTask, steps: int) -> Sequence[float]:
    """The losses of so many steps, in the order of the audit's axis."""
    test = task.prompts("test")
    fair = FairDescent(test, task.prompts("validation"), steps)
    return [*fair.losses(steps), least_squares(test)]


def _observe_nothing(task: RunTask, A: Array, B: Array) -> Mapping[str, float | Array]:
    del task, A, B
    return {}


def _comparisons(
    tasks: Sequence[RunTask],
    models: Sequence[Trained],
    baselines: Sequence[Sequence[Sequence[float]]],
) -> Mapping[int, Measurements]:
    """Lays models side by side: one entry per model on the leading axis.

    Args:
        tasks: one for each seed.
        models: one for each depth or length.
        baselines: by seed, model and baseline.
    """
    curves = [split_seeds(model, tasks) for model in models]
    results = {}
    for i, task in enumerate(tasks):
        losses = [of_model[i]["loss"] for of_model in curves]
        shortest = min(losses, key=lambda series: len(series.steps))  # a diverged one ends early
        keep = len(shortest.steps)
        values = np.stack([series.values[:keep] for series in losses], axis=1)
        results[task.seed] = Measurements(
            series={"training_loss": Series(steps=shortest.steps, values=values)},
            arrays={
                "test_loss": np.array([model.test_loss[i] for model in models]),
                "baseline_loss": np.array(baselines[i]),
            },
        )
    return results


def split_seeds(model: Trained, tasks: Sequence[RunTask]) -> Sequence[dict[str, Series]]:
    """A model's series, for each task in order."""
    seeds = [task.seed for task in tasks]
    split = per_seed(model.series, seeds)
    return [split[seed] for seed in seeds]


# --- the table of experiments --------------------------------------------------------------------


def _reproducible(measure: Measure) -> Measure:
    """The same function with matrix products on one thread.

    With more, sums are split among them, and the last bits depend on their number.
    """

    def measured(settings: Any, session: Session) -> Mapping[int, Measurements]:
        with one_thread():
            return measure(settings, session)

    return measured


def _one_phase(settings: Demonstration) -> Mapping[str, int]:
    return {"training": settings.steps}


def _phase_per_depth(settings: Depth) -> Mapping[str, int]:
    return {f"{layers} layers": settings.steps for layers in settings.depths}


def _phase_per_length(settings: ContextLength) -> Mapping[str, int]:
    return {f"{pairs} pairs": settings.steps for pairs in settings.lengths}


_TOGETHER = frozenset({"cuda"})
"""The devices on which one call trains all seeds, which there share each batched product."""


def _experiment(
    settings: type[TrainingSettings], measure: Measure, phases: Callable[[Any], Mapping[str, int]]
) -> Experiment:
    return Experiment(settings, _reproducible(measure), _TOGETHER, phases)


EXPERIMENTS: Mapping[str, Experiment] = {
    "sparse": _experiment(Demonstration, measure_demonstration, _one_phase),
    "full": _experiment(Demonstration, measure_demonstration, _one_phase),
    "depth": _experiment(Depth, measure_depth, _phase_per_depth),
    "context_length": _experiment(ContextLength, measure_context_length, _phase_per_length),
    "one_layer": _experiment(Demonstration, measure_one_layer, _one_phase),
}
"""By name, as `audits/ahn2023.yaml` lists them."""
