"""The paper's experiments: their settings, what they train, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from reproaudit.lab import (
    Array,
    Experiment,
    Measure,
    Measurements,
    Series,
    Session,
    continued_steps,
    one_thread,
    per_seed,
)
from reproaudit.papers.ahn2023 import constructed, measures
from reproaudit.papers.ahn2023.baselines import (
    FairDescent,
    ReleasedDescent,
    least_squares,
    released_least_squares,
)
from reproaudit.papers.ahn2023.runs import (
    CONTINUED,
    Choosing,
    RunTask,
    Trained,
    TrainingSettings,
    chosen_losses,
    continued_losses,
    movement_of,
    train_models,
    validation_prompts,
)


@dataclass(frozen=True)
class Demonstration(TrainingSettings):
    """A model of a given depth, looked at closely."""

    layers: int


@dataclass(frozen=True)
class PrintedOptimum(Demonstration):
    """One layer, for the optimum that Theorem 1 prints for w ~ N(0, I).

    Attributes:
        weight_law: ``identity`` (w ~ N(0, I)), or in a control ``inverse_covariance``.
    """

    weight_law: Literal["identity", "inverse_covariance"]


@dataclass(frozen=True)
class AgainstBaselines(Choosing):
    """Models against baselines, those of the released code among them.

    Attributes:
        released_steps: step sizes of gradient descent, on the sum over the pairs.
        released_preconditioned_steps: those of preconditioned descent.
        released_choice_seed: the run whose validation prompts choose the step of gradient descent.
        released_preconditioned_choice_seed: that of preconditioned descent.
        released_choice_prompts: how many of its validation prompts do.
        released_prompts: how many prompts gradient descent is tested on.
        released_preconditioned_prompts: how many preconditioned descent and least squares are.
    """

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
    tasks = [RunTask.of(seed, settings.pairs, settings, session.form) for seed in session.seeds]
    model = train_models(session, "training", tasks, settings.layers, _observe_distances)
    continued = continued_losses(session, tasks, model)
    A, B = model.end
    results = {}
    for i, (task, series) in enumerate(zip(tasks, split_seeds(model, session.seeds), strict=True)):
        arrays = {"whitened_a": measures.whitened(A[i], task.covariance)}
        if settings.b_matrices == "free":
            arrays["final_b"] = B[i][:-1]
        results[task.seed] = Measurements(
            scalars={**movement_of([model], i), "continued_loss": float(continued[i])},
            series=series,
            arrays=arrays,
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
    tasks = [RunTask.of(seed, settings.pairs, settings, session.form) for seed in session.seeds]
    model = train_models(session, "training", tasks, settings.layers, _observe_one_layer)
    A, _ = model.end
    return {
        task.seed: Measurements(
            scalars=movement_of([model], i),
            series=series,
            arrays={"whitened_a": measures.whitened(A[i], task.covariance)[0]},
        )
        for i, (task, series) in enumerate(
            zip(tasks, split_seeds(model, session.seeds), strict=True)
        )
    }


def measure_printed_optimum(
    settings: PrintedOptimum, session: Session
) -> Mapping[int, Measurements]:
    """One layer trained with w ~ N(0, I), against the optimum that Theorem 1 prints for it."""
    identity = settings.weight_law == "identity"
    tasks = [
        RunTask.of(seed, settings.pairs, settings, session.form, identity_weights=identity)
        for seed in session.seeds
    ]
    model = train_models(session, "training", tasks, settings.layers, _observe_printed_optimum)
    return {
        task.seed: Measurements(scalars=movement_of([model], i), series=series)
        for i, (task, series) in enumerate(
            zip(tasks, split_seeds(model, session.seeds), strict=True)
        )
    }


def _observe_printed_optimum(task: RunTask, A: Array, B: Array) -> Mapping[str, float]:
    del B
    sigma, identity = task.covariance.matrix, np.eye(task.covariance.dim)
    optimum = constructed.printed_optimum(sigma, task.pairs)[0]
    loss, least = (
        constructed.one_layer_loss(one, sigma, task.pairs, identity) for one in (A[0], optimum)
    )
    return {
        "distance_to_printed": float(np.linalg.norm(A[0] - optimum) / np.linalg.norm(optimum)),
        "excess_loss": loss / least,
    }


def measure_depth(settings: Depth, session: Session) -> Mapping[int, Measurements]:
    """Models of each depth, and the baselines with as many steps on the same test prompts."""
    tasks = [RunTask.of(seed, settings.pairs, settings, session.form) for seed in session.seeds]
    models = [
        train_models(session, f"{layers} layers", tasks, layers, _observe_nothing)
        for layers in settings.depths
    ]
    chosen = [chosen_losses(tasks, model) for model in models]
    baselines = [depth_baselines(task, settings) for task in tasks]
    return _comparisons(session.seeds, models, chosen, baselines)


def depth_baselines(task: RunTask, settings: Depth) -> Sequence[Sequence[float]]:
    """For each depth, the losses of as many steps, in the order of the audit's axis."""
    fair = FairDescent(task.test_prompts(), validation_prompts(task), max(settings.depths))
    released = released_descents(task, settings)
    return [
        [*fair.losses(steps), *(one.loss(steps) for one in released)] for steps in settings.depths
    ]


def released_descents(task: RunTask, settings: AgainstBaselines) -> tuple[ReleasedDescent, ...]:
    """The released baselines without and with preconditioner, on prompts of their own."""
    own = task.prompts("released baselines", _most_released(settings))
    kinds = (
        (
            settings.released_prompts,
            settings.released_choice_seed,
            settings.released_steps,
        ),
        (
            settings.released_preconditioned_prompts,
            settings.released_preconditioned_choice_seed,
            settings.released_preconditioned_steps,
        ),
    )
    return tuple(
        ReleasedDescent(
            test=own.first(count),
            choice=validation_prompts(RunTask.of(seed, task.pairs, settings)).first(
                settings.released_choice_prompts
            ),
            step_sizes=step_sizes,
            preconditioned=bool(preconditioned),
        )
        for preconditioned, (count, seed, step_sizes) in enumerate(kinds)
    )


def _most_released(settings: AgainstBaselines) -> int:
    return max(settings.released_prompts, settings.released_preconditioned_prompts)


def measure_context_length(settings: ContextLength, session: Session) -> Mapping[int, Measurements]:
    """A model for each number of pairs, and the baselines on the same test prompts."""
    models, chosen, baselines = [], [], []
    for pairs in settings.lengths:
        tasks = [RunTask.of(seed, pairs, settings, session.form) for seed in session.seeds]
        short = pairs < settings.short_below
        rate = settings.short_learning_rate if short else settings.learning_rate
        phase = f"{pairs} pairs"
        models.append(train_models(session, phase, tasks, settings.layers, _observe_nothing, rate))
        chosen.append(chosen_losses(tasks, models[-1]))
        baselines.append([length_baselines(task, settings) for task in tasks])
    of_seed = [[one[i] for one in baselines] for i in range(len(session.seeds))]
    return _comparisons(session.seeds, models, chosen, of_seed)


def length_baselines(task: RunTask, settings: ContextLength) -> Sequence[float]:
    """The losses of as many steps as layers, in the order of the audit's axis."""
    steps, test = settings.layers, task.test_prompts()
    fair = FairDescent(test, validation_prompts(task), steps)
    descents = released_descents(task, settings)
    return [
        *fair.losses(steps),
        least_squares(test),
        *(one.loss(steps) for one in descents),
        released_least_squares(descents[1].test),
    ]


def _observe_nothing(task: RunTask, A: Array, B: Array) -> Mapping[str, float | Array]:
    del task, A, B
    return {}


def _comparisons(
    seeds: Sequence[int],
    models: Sequence[Trained],
    chosen: Sequence[Float[Array, " seeds"]],
    baselines: Sequence[Sequence[Sequence[float]]],
) -> Mapping[int, Measurements]:
    """Lays models side by side: one entry per model on the leading axis.

    Args:
        seeds: of the session.
        models: one for each depth or length.
        chosen: of each model, the test loss of each seed's chosen saved model.
        baselines: by seed, model and baseline.
    """
    curves = [split_seeds(model, seeds) for model in models]
    results = {}
    for i, seed in enumerate(seeds):
        curve = [of_model[i]["loss"] for of_model in curves]
        shortest = min(curve, key=lambda series: len(series.steps))  # a diverged one ends early
        keep = len(shortest.steps)
        values = np.stack([series.values[:keep] for series in curve], axis=1)
        results[seed] = Measurements(
            scalars=movement_of(models, i),
            series={"training_loss": Series(steps=shortest.steps, values=values)},
            arrays={
                "test_loss": np.array([losses[i] for losses in chosen]),
                "baseline_loss": np.array(baselines[i]),
            },
        )
    return results


def split_seeds(model: Trained, seeds: Sequence[int]) -> Sequence[dict[str, Series]]:
    """A model's series, for each seed in order."""
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


def _training_goes_on(settings: Demonstration) -> Mapping[str, int]:
    return {"training": settings.steps, CONTINUED: continued_steps(settings.steps)}


def _phase_per_depth(settings: Depth) -> Mapping[str, int]:
    return {f"{layers} layers": settings.steps for layers in settings.depths}


def _phase_per_length(settings: ContextLength) -> Mapping[str, int]:
    return {f"{pairs} pairs": settings.steps for pairs in settings.lengths}


_TOGETHER = frozenset({"cuda"})
"""The devices on which one call trains all seeds, which there share each batched product."""


def _experiment(
    settings: type[TrainingSettings], measure: Measure, phases: Callable[[Any], Mapping[str, int]]
) -> Experiment:
    return Experiment(settings, _reproducible(measure), _TOGETHER, phases, has_plain_form=True)


EXPERIMENTS: Mapping[str, Experiment] = {
    "sparse": _experiment(Demonstration, measure_demonstration, _training_goes_on),
    "full": _experiment(Demonstration, measure_demonstration, _training_goes_on),
    "identity_covariance": _experiment(Demonstration, measure_demonstration, _training_goes_on),
    "depth": _experiment(Depth, measure_depth, _phase_per_depth),
    "context_length": _experiment(ContextLength, measure_context_length, _phase_per_length),
    "one_layer": _experiment(Demonstration, measure_one_layer, _one_phase),
    "printed_optimum": _experiment(PrintedOptimum, measure_printed_optimum, _one_phase),
}
"""By name, as `audits/ahn2023.yaml` lists them."""
