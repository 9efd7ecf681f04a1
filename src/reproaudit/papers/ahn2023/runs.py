"""One run: what a seed is trained and tested on, and its training.

Every model is trained on minibatches, observed on the run's own test prompts, and the last few
saved models are kept; the one that is best on validation prompts counts as the result (released
code). Two settings replace training by what it is compared with, and serve as controls: the
*targets* may be shuffled (the labels in a prompt come from another prompt's weights), and the
*weights* may be constructed (the closed form takes the place of training after the first
observation).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from reproaudit.lab import (
    Array,
    Series,
    Session,
    Stateful,
    generator,
    observation_steps,
    train,
)
from reproaudit.papers.ahn2023 import constructed, measures
from reproaudit.papers.ahn2023.fast.choice import draw_minibatch, in_context_loss, make_learner
from reproaudit.papers.ahn2023.fast.learners import Learner, Schedule, SeedMatrices
from reproaudit.papers.ahn2023.fast.prompts import Minibatch
from reproaudit.papers.ahn2023.minibatches import Stream, draw_plain
from reproaudit.papers.ahn2023.task import (
    Covariance,
    Prompts,
    draw_covariance,
    draw_prompts,
    isotropic,
)

OBSERVATION_POINTS = 60
"""Points on each of two grids, one even in the steps and one even in their logarithm."""

LAW_SHAPES = 5_000
"""Sampled shapes of S that the constructed solutions' scalars are chosen on."""


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of all experiments; the audit documents every field."""

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
class RunTask:
    """The data that one seed is trained and tested on, for one number of pairs.

    Attributes:
        seed: of the run.
        pairs: n.
        covariance: Σ of the prompts.
        another: the Σ of another run, which a control compares A with.
    """

    seed: int
    pairs: int
    covariance: Covariance
    another: Covariance
    settings: TrainingSettings

    @classmethod
    def of(cls, seed: int, pairs: int, settings: TrainingSettings) -> RunTask:
        """The task of a seed: its own Σ, and another run's beside it."""
        if len(settings.covariance_scales) != settings.dimension:
            raise ValueError("covariance_scales needs one entry for each dimension")
        scales = settings.covariance_scales
        own = draw_covariance(generator(seed, "covariance"), scales)
        another = draw_covariance(generator(seed, "covariance of another run"), scales)
        return cls(seed, pairs, own, another, settings)

    def minibatch(self, index: int) -> Minibatch:
        """The training prompts of a draw; their labels are shuffled in a control."""
        return draw_minibatch(
            self.covariance,
            self.settings.prompts,
            self.pairs,
            Stream.of(self.seed, f"minibatch of {self.pairs} pairs", index),
            dtype=self.settings.precision,
            shuffled=self.settings.targets == "shuffled",
        )

    def prompts(self, purpose: Literal["validation", "test"]) -> Prompts:
        """Validation or test prompts; their labels are always their own."""
        count = {
            "validation": self.settings.validation_prompts,
            "test": self.settings.test_prompts,
        }[purpose]
        return draw_prompts(
            self.covariance,
            count,
            self.pairs,
            seed=self.seed,
            purpose=f"{purpose} of {self.pairs} pairs",
            dtype=self.settings.precision,
        )

    def distances(self, A: Float[Array, "layers d d"]) -> dict[str, Float[Array, " layers"]]:
        """Dist of the whitened A_l from a multiple of I, by its own Σ and by another run's."""
        return {
            name: measures.distance_to_identity(measures.whitened(A, covariance))
            for name, covariance in (
                ("distance_a", self.covariance),
                ("distance_a_another", self.another),
            )
        }

    def constructed(
        self, layers: int
    ) -> tuple[Float[Array, "layers d d"], Float[Array, "layers d d"]]:
        """The weights that the theorems describe, with the best scalars for the law of prompts.

        For the law and not for the validation prompts: at few pairs its tail is heavy, and scalars
        chosen without knowing the tail fail on the first prompt from it.
        """
        stream = Stream.of(self.seed, f"law of {self.pairs} pairs", 0)
        whitened = isotropic(self.settings.dimension)
        shapes = draw_plain(whitened, LAW_SHAPES, self.pairs, stream).unpacked()[0]
        law = constructed.law_of_moments(shapes, self.pairs, constructed.nodes_for(layers))
        if self.settings.b_matrices == "zero":
            steps = constructed.best_steps(law, layers)
            return constructed.preconditioned_descent(self.covariance.matrix, steps)
        scalars = constructed.best_corrected_descent(law, layers)
        return scalars.matrices(self.covariance.matrix)


@dataclass(frozen=True)
class Trained:
    """A model of each seed.

    Attributes:
        A, B: the matrices at the end.
        series: what was observed, values of shape (step, seed, ...).
        test_loss: of the saved model that is best on the validation prompts.
    """

    A: Float[Array, "seeds layers d d"]
    B: Float[Array, "seeds layers d d"]
    series: Mapping[str, Series]
    test_loss: Float[Array, " seeds"]


Observe = Callable[[RunTask, Array, Array], Mapping[str, float | Array]]
"""From a task and its matrices to what is observed along training, besides the test loss."""


def train_models(
    session: Session,
    phase: str,
    tasks: Sequence[RunTask],
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
    constructs = settings.weights == "constructed"
    learner = _start_learner(session, phase, tasks, layers, learning_rate)
    tests = [task.prompts("test").minibatch() for task in tasks]
    saved = np.zeros((settings.checkpoints_kept, 2, *learner.matrices()[0].shape))
    known = [task.constructed(layers) for task in tasks] if constructs else None

    def matrices(step: int) -> SeedMatrices:
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
            {"loss": in_context_loss(tests[i], A, B), **observe(task, A, B)}
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
        observe_at=observation_steps(
            settings.steps, even=OBSERVATION_POINTS, geometric=OBSERVATION_POINTS
        ),
        seed_axis=True,
    )
    A, B = matrices(settings.steps)
    losses = [_best_saved(task, saved[:, :, i], tests[i]) for i, task in enumerate(tasks)]
    return Trained(A, B, series, np.array(losses))


def _start_learner(
    session: Session,
    phase: str,
    tasks: Sequence[RunTask],
    layers: int,
    learning_rate: float | None,
) -> Learner:
    """A learner of all these tasks, at its start."""
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
    return make_learner(
        [task.minibatch for task in tasks],
        np.stack([A for A, _ in starts]),
        np.stack([B for _, B in starts]),
        schedule,
        session.device,
    )


def _initial(task: RunTask, phase: str, layers: int) -> tuple[Array, Array]:
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


def _best_saved(task: RunTask, saved: Array, test: Minibatch) -> float:
    """Test loss of the saved model with the least validation loss, as the released code reports.

    Args:
        task: whose models they are.
        saved: (kept, 2, layers, d, d); a slot that was never filled is zero.
        test: the test prompts.
    """
    validation = task.prompts("validation").minibatch()
    filled = [models for models in saved if models.any()]
    losses = [in_context_loss(validation, A, B) for A, B in filled]
    if not np.isfinite(losses).any():
        return float("nan")
    return in_context_loss(test, *filled[int(np.nanargmin(losses))])
