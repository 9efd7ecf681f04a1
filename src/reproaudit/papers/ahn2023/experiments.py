"""What is trained and measured.

Every experiment trains models on minibatches, observes them on the run's own test prompts, and
keeps the last few saved models, of which the one that is best on validation prompts counts as the
result (released code). A run is a seed: its own covariance, weights, prompts.

Two settings replace training by what it is compared with, and serve as controls: the *targets* may
be shuffled (the labels in a prompt come from another prompt's weights), and the *weights* may be
constructed (the closed form takes the place of training after the first observation).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reproaudit.lab.experiment import Experiment, Session
from reproaudit.lab.seeds import generator
from reproaudit.lab.training import Stateful, per_seed, train
from reproaudit.papers.ahn2023 import constructed, kernel, sampling
from reproaudit.papers.ahn2023.baselines import FairDescent, ReleasedDescent, least_squares
from reproaudit.papers.ahn2023.learners import BatchedLearner, KernelLearner, Learner, Schedule
from reproaudit.records import Measurements, Series

Array = NDArray[Any]
OBSERVATIONS = 60
"""Points on each of two grids, one even in the steps and one even in their logarithm."""


LAW_SHAPES = 5_000
"""Sampled shapes of S that the constructed solutions' scalars are chosen on."""


@dataclass(frozen=True)
class Settings:
    """What all experiments share; the audit documents every field."""

    dimension: int
    pairs: int
    covariance_scales: tuple[float, ...]
    initial_scale: float
    prompts: int
    redraw_every: int
    steps: int
    learning_rate: float
    halve_every: int
    betas: tuple[float, ...]
    epsilon: float
    clip: float
    precision: Literal["float32", "float64"]
    test_prompts: int
    validation_prompts: int
    checkpoint_every: int
    checkpoints_kept: int
    b_matrices: Literal["free", "zero"]
    targets: Literal["own", "shuffled"]
    weights: Literal["trained", "constructed"]


@dataclass(frozen=True)
class Demonstration(Settings):
    """A model of a given depth, looked at closely."""

    layers: int


@dataclass(frozen=True)
class Depth(Settings):
    """Models of several depths against as many steps of gradient descent."""

    depths: tuple[int, ...]
    released_grid: tuple[float, ...]


@dataclass(frozen=True)
class ContextLength(Settings):
    """One model for each number of pairs."""

    layers: int
    lengths: tuple[int, ...]
    short_learning_rate: float
    short_below: int


# --- a run's task -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """What one seed is trained and tested on, for one number of pairs.

    Attributes:
        seed: of the run.
        pairs: n.
        covariance: Σ of the prompts.
        another: the Σ of another run, which a control compares A with.
    """

    seed: int
    pairs: int
    covariance: sampling.Covariance
    another: sampling.Covariance
    settings: Settings

    @classmethod
    def of(cls, seed: int, pairs: int, settings: Settings) -> Task:
        """The task of a seed: its own Σ, and another run's beside it."""
        if len(settings.covariance_scales) != settings.dimension:
            raise ValueError("covariance_scales needs one entry for each dimension")
        scales = settings.covariance_scales
        own = sampling.draw_covariance(generator(seed, "covariance"), scales)
        another = sampling.draw_covariance(generator(seed, "covariance of another run"), scales)
        return cls(seed, pairs, own, another, settings)

    def minibatch(self, index: int) -> kernel.Minibatch:
        """The training prompts of a draw; their labels are shuffled in a control.

        Where the pairs allow it, S is drawn directly, which is equal in law to drawing the inputs.
        """
        by_moments = self.pairs >= self.settings.dimension
        draw = sampling.draw_minibatch_by_moments if by_moments else sampling.draw_minibatch
        return draw(
            self.covariance,
            self.settings.prompts,
            self.pairs,
            seed=self.seed,
            purpose=f"minibatch of {self.pairs} pairs",
            index=index,
            dtype=self.settings.precision,
            shuffled=self.settings.targets == "shuffled",
        )

    def prompts(self, purpose: Literal["validation", "test"]) -> sampling.Prompts:
        """Validation or test prompts; their labels are always their own."""
        count = {
            "validation": self.settings.validation_prompts,
            "test": self.settings.test_prompts,
        }[purpose]
        return sampling.draw_prompts(
            self.covariance,
            count,
            self.pairs,
            seed=self.seed,
            purpose=f"{purpose} of {self.pairs} pairs",
            index=0,
            dtype=self.settings.precision,
        )

    def whitened(self, A: Array) -> Array:
        """Σ^{1/2} A_l Σ^{1/2}, (layers, d, d)."""
        root = self.covariance.symmetric_root
        return np.asarray(root @ A @ root)

    def distances(self, A: Array) -> dict[str, Array]:
        """Dist of the whitened A_l from a multiple of I, by its own Σ and by another run's."""
        root = self.another.symmetric_root
        return {
            "distance_a": distance_to_identity(self.whitened(A)),
            "distance_a_another": distance_to_identity(root @ A @ root),
        }

    def constructed(self, layers: int) -> tuple[Array, Array]:
        """The weights that the theorems describe, with the best scalars for the law of prompts.

        For the law and not for the validation prompts: at few pairs its tail is heavy, and scalars
        chosen without knowing the tail fail on the first prompt from it.
        """
        shapes = sampling.draw_whitened_moments(
            LAW_SHAPES,
            self.pairs,
            self.settings.dimension,
            seed=self.seed,
            purpose=f"law of {self.pairs} pairs",
        )
        law = constructed.law_of_moments(shapes, self.pairs, constructed.nodes_for(layers))
        if self.settings.b_matrices == "zero":
            steps = constructed.best_steps(law, layers)
            return constructed.preconditioned_descent(self.covariance.matrix, steps)
        scalars = constructed.best_corrected_descent(law, layers)
        return scalars.matrices(self.covariance.matrix)


def distance_to_identity(M: Array) -> Array:
    """Dist(M, I) = min_α ‖M − αI‖_F / ‖M‖_F over the last two axes; α = tr M / d.

    Source: the measure of the paper's figures. A zero matrix has distance 1: it points nowhere.
    """
    d = M.shape[-1]
    alpha = np.trace(M, axis1=-2, axis2=-1) / d
    rest = np.linalg.norm(M - alpha[..., None, None] * np.eye(d), axis=(-2, -1))
    whole = np.linalg.norm(M, axis=(-2, -1))
    return np.asarray(np.divide(rest, whole, out=np.ones_like(rest), where=whole > 0))


# --- training a model for each seed --------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """A model of each seed.

    Attributes:
        A, B: the matrices at the end, each (seeds, layers, d, d).
        series: what was observed, values of shape (step, seed, ...).
        test_loss: of the saved model that is best on the validation prompts, (seeds,).
    """

    A: Array
    B: Array
    series: Mapping[str, Series]
    test_loss: Array


Observe = Callable[[Task, Array, Array], Mapping[str, float | Array]]
"""From a task and its matrices to what is observed along training, besides the test loss."""


def train_models(
    session: Session,
    phase: str,
    tasks: Sequence[Task],
    layers: int,
    observe: Observe,
    learning_rate: float | None = None,
) -> Trained:
    """Trains a model for each task and observes it on the way.

    Args:
        session: as given to the experiment.
        phase: a name of its own.
        tasks: one for each seed of the session.
        layers: L.
        observe: what to observe besides the test loss.
        learning_rate: instead of the settings'.
    """
    settings = tasks[0].settings
    learner = _learner(session, phase, tasks, layers, learning_rate)
    tests = [task.prompts("test").minibatch() for task in tasks]
    saved = np.zeros((settings.checkpoints_kept, 2, *learner.matrices()[0].shape))
    known = [task.constructed(layers) for task in tasks] if _is_constructed(settings) else None

    def matrices(step: int) -> tuple[Array, Array]:
        if known is None or step == 0:
            return learner.matrices()
        return np.stack([A for A, _ in known]), np.stack([B for _, B in known])

    def advance(start: int, stop: int) -> None:
        for first, last in _pieces(start, stop, settings.checkpoint_every):
            if known is None:
                learner.advance(first, last)
            if last % settings.checkpoint_every == 0 or last == settings.steps:
                slot = -(-last // settings.checkpoint_every) % len(saved)
                saved[slot] = np.stack(matrices(last))

    def observed(step: int) -> Mapping[str, Array]:
        every = [
            {"loss": kernel_loss(tests[i], A, B), **observe(task, A, B)}
            for i, (task, A, B) in enumerate(zip(tasks, *matrices(step), strict=True))
        ]
        return {name: np.array([one[name] for one in every]) for name in every[0]}

    state: dict[str, Stateful] = {**learner.state, "saved": saved}
    series = train(
        session,
        phase,
        steps=settings.steps,
        state=state,
        advance=advance,
        observe=observed,
        observe_at=observation_steps(settings.steps),
        seed_axis=True,
    )
    A, B = matrices(settings.steps)
    losses = [_best_saved(task, saved[:, :, i], tests[i]) for i, task in enumerate(tasks)]
    return Trained(A, B, series, np.array(losses))


def _is_constructed(settings: Settings) -> bool:
    return settings.weights == "constructed"


def _learner(
    session: Session,
    phase: str,
    tasks: Sequence[Task],
    layers: int,
    learning_rate: float | None,
) -> Learner:
    """The compiled kernel for one seed on the CPU, batched PyTorch otherwise."""
    settings = tasks[0].settings
    schedule = Schedule(
        learning_rate=settings.learning_rate if learning_rate is None else learning_rate,
        halve_every=settings.halve_every,
        redraw_every=settings.redraw_every,
        betas=(settings.betas[0], settings.betas[1]),
        epsilon=settings.epsilon,
        clip=settings.clip,
        free_b=settings.b_matrices == "free",
    )
    starts = [_initial(task, phase, layers) for task in tasks]
    draws = {task.seed: task.minibatch for task in tasks}
    if session.device == "cpu" and len(tasks) == 1:
        A, B = starts[0]
        return KernelLearner(tasks[0].minibatch, A, B, schedule)
    return BatchedLearner(
        [draws[task.seed] for task in tasks],
        np.stack([A for A, _ in starts]),
        np.stack([B for _, B in starts]),
        schedule,
        session.device,
    )


def _initial(task: Task, phase: str, layers: int) -> tuple[Array, Array]:
    """Gaussian entries (card) of the initial scale (code); B is zero where it is held there."""
    settings = task.settings
    rng = generator(task.seed, f"initial matrices, {phase}")
    shape = (2, layers, settings.dimension, settings.dimension)
    A, B = (settings.initial_scale * rng.standard_normal(shape)).astype(settings.precision)
    return A, B if settings.b_matrices == "free" else np.zeros_like(B)


def _pieces(start: int, stop: int, period: int) -> Sequence[tuple[int, int]]:
    """Cuts steps start … stop − 1 at the multiples of a period."""
    inner = range((start // period + 1) * period, stop, period)
    borders = [start, *inner, stop]
    return list(itertools.pairwise(borders))


def observation_steps(steps: int) -> Sequence[int]:
    """Steps even in number and steps even in their logarithm, both ends included."""
    even = np.linspace(0, steps, OBSERVATIONS)
    logarithmic = np.geomspace(1, max(steps, 1), OBSERVATIONS)
    return sorted({0, *np.concatenate([even, logarithmic]).round().astype(int).tolist()})


def kernel_loss(minibatch: kernel.Minibatch, A: Array, B: Array) -> float:
    """The in-context loss of one model on prepared prompts."""
    dtype = minibatch.data.dtype
    loss, _, _ = kernel.loss_and_gradient(
        minibatch, A.astype(dtype), B.astype(dtype) if B.any() else None
    )
    return loss


def _best_saved(task: Task, saved: Array, test: kernel.Minibatch) -> float:
    """Test loss of the saved model with the least validation loss, as the released code reports.

    Args:
        task: whose models they are.
        saved: (kept, 2, layers, d, d); a slot that was never filled is zero.
        test: the test prompts.
    """
    validation = task.prompts("validation").minibatch()
    filled = [models for models in saved if models.any()]
    losses = [kernel_loss(validation, A, B) for A, B in filled]
    if not np.isfinite(losses).any():
        return float("nan")
    return kernel_loss(test, *filled[int(np.nanargmin(losses))])


# --- experiments ---------------------------------------------------------------------------------


def _observe_distances(task: Task, A: Array, B: Array) -> Mapping[str, Array]:
    distances = task.distances(A)
    if task.settings.b_matrices == "free":
        distances["distance_b"] = distance_to_identity(B[:-1])  # the last B reaches no output
    return distances


def measure_demonstration(settings: Demonstration, session: Session) -> Mapping[int, Measurements]:
    """Sparse (B = 0) or full demonstration: do the A_l become multiples of Σ⁻¹, the B_l of I?"""
    tasks = [Task.of(seed, settings.pairs, settings) for seed in session.seeds]
    model = train_models(session, "training", tasks, settings.layers, _observe_distances)
    results = {}
    for i, (task, series) in enumerate(zip(tasks, split_seeds(model, tasks), strict=True)):
        arrays = {"whitened_a": task.whitened(model.A[i])}
        if settings.b_matrices == "free":
            arrays["final_b"] = model.B[i][:-1]
        results[task.seed] = Measurements(
            scalars={"final_loss": float(model.test_loss[i])}, series=series, arrays=arrays
        )
    return results


def _observe_one_layer(task: Task, A: Array, B: Array) -> Mapping[str, float | Array]:
    del B
    whitened = task.whitened(A)[0]
    return {
        "step_size": -float(np.trace(whitened)) / task.settings.dimension,
        "population_loss": constructed.one_layer_loss(A[0], task.covariance.matrix, task.pairs),
        **{name: distances[0] for name, distances in task.distances(A).items()},
    }


def measure_one_layer(settings: Demonstration, session: Session) -> Mapping[int, Measurements]:
    """One layer, to be held against its optimum in closed form."""
    tasks = [Task.of(seed, settings.pairs, settings) for seed in session.seeds]
    model = train_models(session, "training", tasks, settings.layers, _observe_one_layer)
    return {
        task.seed: Measurements(series=series, arrays={"whitened_a": task.whitened(model.A[i])[0]})
        for i, (task, series) in enumerate(zip(tasks, split_seeds(model, tasks), strict=True))
    }


def measure_depth(settings: Depth, session: Session) -> Mapping[int, Measurements]:
    """Models of each depth, and the baselines with as many steps on the same test prompts."""
    tasks = [Task.of(seed, settings.pairs, settings) for seed in session.seeds]
    models = [
        train_models(session, f"{layers} layers", tasks, layers, _observe_nothing)
        for layers in settings.depths
    ]
    return _comparisons(tasks, models, [depth_baselines(task, settings) for task in tasks])


def depth_baselines(task: Task, settings: Depth) -> Sequence[Sequence[float]]:
    """For each depth, the losses of as many steps, in the order of the audit's axis."""
    test, first_run = task.prompts("test"), Task.of(0, task.pairs, settings)
    fair = FairDescent(test, task.prompts("validation"), max(settings.depths))
    released = ReleasedDescent(test, first_run.prompts("validation"), settings.released_grid)
    return [[*fair.losses(steps), *released.losses(steps)] for steps in settings.depths]


def measure_context_length(settings: ContextLength, session: Session) -> Mapping[int, Measurements]:
    """A model for each number of pairs, and the baselines on the same test prompts."""
    models, baselines = [], []
    for pairs in settings.lengths:
        tasks = [Task.of(seed, pairs, settings) for seed in session.seeds]
        short = pairs < settings.short_below
        rate = settings.short_learning_rate if short else settings.learning_rate
        phase = f"{pairs} pairs"
        models.append(train_models(session, phase, tasks, settings.layers, _observe_nothing, rate))
        baselines.append([length_baselines(task, settings.layers) for task in tasks])
    of_seed = [[one[i] for one in baselines] for i in range(len(session.seeds))]
    return _comparisons(tasks, models, of_seed)


def length_baselines(task: Task, steps: int) -> Sequence[float]:
    """The losses of so many steps, in the order of the audit's axis."""
    test = task.prompts("test")
    fair = FairDescent(test, task.prompts("validation"), steps)
    return [*fair.losses(steps), least_squares(test)]


def _observe_nothing(task: Task, A: Array, B: Array) -> Mapping[str, float | Array]:
    del task, A, B
    return {}


def _comparisons(
    tasks: Sequence[Task],
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


def split_seeds(model: Trained, tasks: Sequence[Task]) -> Sequence[dict[str, Series]]:
    """A model's series, for each task in order."""
    seeds = [task.seed for task in tasks]
    split = per_seed(model.series, seeds)
    return [split[seed] for seed in seeds]


# --- what the audit's names stand for ------------------------------------------------------------


def _one_phase(settings: Demonstration) -> Mapping[str, int]:
    return {"training": settings.steps}


def _phase_per_depth(settings: Depth) -> Mapping[str, int]:
    return {f"{layers} layers": settings.steps for layers in settings.depths}


def _phase_per_length(settings: ContextLength) -> Mapping[str, int]:
    return {f"{pairs} pairs": settings.steps for pairs in settings.lengths}


_TOGETHER = frozenset({"cuda"})
"""Where all seeds are trained in one call: on a card they share each batched product."""

EXPERIMENTS: Mapping[str, Experiment] = {
    "sparse": Experiment(Demonstration, measure_demonstration, _TOGETHER, _one_phase),
    "full": Experiment(Demonstration, measure_demonstration, _TOGETHER, _one_phase),
    "depth": Experiment(Depth, measure_depth, _TOGETHER, _phase_per_depth),
    "context_length": Experiment(
        ContextLength, measure_context_length, _TOGETHER, _phase_per_length
    ),
    "one_layer": Experiment(Demonstration, measure_one_layer, _TOGETHER, _one_phase),
}
"""By name, as `audits/ahn2023.yaml` lists them."""
