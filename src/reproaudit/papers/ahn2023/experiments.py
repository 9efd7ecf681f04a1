"""The paper's experiments: their settings, what they train, and what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from reproaudit.lab import (
    Array,
    Experiment,
    Measurements,
    Series,
    Session,
    continued_steps,
    measure_movement,
    one_thread,
)
from reproaudit.papers.ahn2023 import constructed, measures
from reproaudit.papers.ahn2023.baselines import (
    FairDescent,
    ReleasedDescent,
    least_squares,
    released_least_squares,
)
from reproaudit.papers.ahn2023.training import (
    CONTINUED,
    Choosing,
    RunTask,
    Trained,
    TrainingSettings,
    chosen_loss,
    continued_loss,
    train_model,
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


def _task(settings: Demonstration, session: Session, *, identity_weights: bool = False) -> RunTask:
    """The task of the session's seed."""
    (seed,) = session.seeds
    return RunTask.of(seed, settings.pairs, settings, session, identity_weights=identity_weights)


def measure_demonstration(settings: Demonstration, session: Session) -> Measurements:
    """The demonstrations of Theorems 3 (B_l = 0) and 4 (B_l free): losses, distances, matrices."""
    task, free = _task(settings, session), settings.b_matrices == "free"

    def observe(task: RunTask, A: Array, B: Array) -> Mapping[str, Array]:
        distances = task.distances(A)
        if free:  # the last B reaches no output
            distances["distance_b"] = measures.distance_to_identity(B[:-1])
        return distances

    model = train_model(session, "training", task, settings.layers, observe)
    continued = continued_loss(session, task, model)
    A, B = model.end
    arrays = {"whitened_a": measures.whitened(A, task.covariance)}
    return Measurements(
        scalars={**_movement([model]), "continued_loss": continued},
        series=model.series,
        arrays={**arrays, "final_b": B[:-1]} if free else arrays,
    )


def measure_one_layer(settings: Demonstration, session: Session) -> Measurements:
    """One layer, for its optimum in closed form (Theorem 1)."""
    task = _task(settings, session)
    model = train_model(session, "training", task, settings.layers, _observe_one_layer)
    return Measurements(
        scalars=_movement([model]),
        series=model.series,
        arrays={"whitened_a": measures.whitened(model.end[0], task.covariance)[0]},
    )


def _observe_one_layer(task: RunTask, A: Array, B: Array) -> Mapping[str, float | Array]:
    del B
    return {
        "step_size": measures.step_size(A[0], task.covariance),
        "population_loss": constructed.one_layer_loss(A[0], task.covariance.matrix, task.pairs),
        **{name: distances[0] for name, distances in task.distances(A).items()},
    }


def measure_printed_optimum(settings: PrintedOptimum, session: Session) -> Measurements:
    """One layer trained with w ~ N(0, I), against the optimum that Theorem 1 prints for it."""
    task = _task(settings, session, identity_weights=settings.weight_law == "identity")
    model = train_model(session, "training", task, settings.layers, _observe_printed_optimum)
    return Measurements(scalars=_movement([model]), series=model.series)


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


def measure_depth(settings: Depth, session: Session) -> Measurements:
    """Models of each depth, and the baselines with as many steps on the same test prompts."""
    (seed,) = session.seeds
    task = RunTask.of(seed, settings.pairs, settings, session)
    models = [train_model(session, f"{layers} layers", task, layers) for layers in settings.depths]
    chosen = [chosen_loss(task, model.saved) for model in models]
    return _comparison(models, chosen, depth_baselines(task, settings))


def depth_baselines(task: RunTask, settings: Depth) -> Sequence[Sequence[float]]:
    """For each depth, the losses of as many steps, in the order of the audit's axis."""
    fair = FairDescent(task.test_prompts(), task.validation_prompts())
    released = released_descents(task, settings)
    return [
        [*fair.losses(steps), *(one.loss(steps) for one in released)] for steps in settings.depths
    ]


def released_descents(task: RunTask, settings: AgainstBaselines) -> tuple[ReleasedDescent, ...]:
    """The released baselines without and with preconditioner, on prompts of their own."""
    plain = (
        settings.released_prompts,
        settings.released_choice_seed,
        settings.released_steps,
    )
    preconditioned = (
        settings.released_preconditioned_prompts,
        settings.released_preconditioned_choice_seed,
        settings.released_preconditioned_steps,
    )
    own = task.prompts("released baselines", max(plain[0], preconditioned[0]))
    return tuple(
        ReleasedDescent(
            test=own.first(count),
            choice=RunTask.of(seed, task.pairs, settings)
            .validation_prompts()
            .first(settings.released_choice_prompts),
            step_sizes=step_sizes,
            preconditioned=kind == 1,
        )
        for kind, (count, seed, step_sizes) in enumerate((plain, preconditioned))
    )


def measure_context_length(settings: ContextLength, session: Session) -> Measurements:
    """A model for each number of pairs, and the baselines on the same test prompts."""
    (seed,) = session.seeds
    models, chosen, baselines = [], [], []
    for pairs in settings.lengths:
        task = RunTask.of(seed, pairs, settings, session)
        short = pairs < settings.short_below
        rate = settings.short_learning_rate if short else settings.learning_rate
        phase = f"{pairs} pairs"
        models.append(train_model(session, phase, task, settings.layers, learning_rate=rate))
        chosen.append(chosen_loss(task, models[-1].saved))
        baselines.append(length_baselines(task, settings))
    return _comparison(models, chosen, baselines)


def length_baselines(task: RunTask, settings: ContextLength) -> Sequence[float]:
    """The losses of as many steps as layers, in the order of the audit's axis."""
    steps, test = settings.layers, task.test_prompts()
    descents = released_descents(task, settings)
    return [
        *FairDescent(test, task.validation_prompts()).losses(steps),
        least_squares(test),
        *(one.loss(steps) for one in descents),
        released_least_squares(descents[1].test),
    ]


def _movement(models: Sequence[Trained]) -> dict[str, float]:
    """The movement of all models of a run together."""
    return measure_movement(
        [matrices for model in models for matrices in model.start],
        [matrices for model in models for matrices in model.end],
        [model.losses[0] for model in models],
        [model.losses[1] for model in models],
    )


def _comparison(
    models: Sequence[Trained], chosen: Sequence[float], baselines: Sequence[Sequence[float]]
) -> Measurements:
    """Lays models side by side: one entry per model on the leading axis.

    Args:
        models: one for each depth or length.
        chosen: of each model, the test loss of the chosen saved model.
        baselines: by model and baseline.
    """
    curves = [model.series["loss"] for model in models]
    shortest = min(curves, key=lambda series: len(series.steps))  # a diverged one ends early
    keep = len(shortest.steps)
    values = np.stack([series.values[:keep] for series in curves], axis=1)
    return Measurements(
        scalars=_movement(models),
        series={"training_loss": Series(steps=shortest.steps, values=values)},
        arrays={"test_loss": np.array(chosen), "baseline_loss": np.array(baselines)},
    )


# --- the table of experiments --------------------------------------------------------------------


def _one_phase(settings: Demonstration) -> Mapping[str, int]:
    return {"training": settings.steps}


def _training_goes_on(settings: Demonstration) -> Mapping[str, int]:
    return {"training": settings.steps, CONTINUED: continued_steps(settings.steps)}


def _phase_per_depth(settings: Depth) -> Mapping[str, int]:
    return {f"{layers} layers": settings.steps for layers in settings.depths}


def _phase_per_length(settings: ContextLength) -> Mapping[str, int]:
    return {f"{pairs} pairs": settings.steps for pairs in settings.lengths}


def _experiment(
    settings: type[TrainingSettings],
    measure: Callable[[Any, Session], Measurements],
    phases: Callable[[Any], Mapping[str, int]],
) -> Experiment:
    """An experiment that measures one seed a call, with matrix products on one thread.

    With more threads, sums are split among them, and the last bits depend on their number.
    """

    def measured(settings: Any, session: Session) -> Mapping[int, Measurements]:
        (seed,) = session.seeds
        with one_thread():
            return {seed: measure(settings, session)}

    return Experiment(settings, measured, phases=phases, has_plain_form=True)


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
