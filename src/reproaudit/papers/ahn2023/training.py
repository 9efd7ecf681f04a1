"""One run: what a seed is trained and tested on, and its training.

Every model is observed on the run's own test prompts. Where models are compared with baselines, the
last few saved models are kept, and the one that is best on validation prompts counts as the result
(released code). Two settings serve as controls: the *targets* may be shuffled (the labels in a
prompt come from another prompt's weights), and the *weights* may be constructed (the closed form
takes the place of training after the first observation).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from reproaudit import lab
from reproaudit.lab import Array, RunForm, Series, Session, Stateful, generator
from reproaudit.papers.ahn2023 import constructed, fast, plain
from reproaudit.papers.ahn2023.fast import Minibatch, draw_minibatch
from reproaudit.papers.ahn2023.model import predict
from reproaudit.papers.ahn2023.plain import Learner, Matrices
from reproaudit.papers.ahn2023.task import (
    Covariance,
    ProblemSettings,
    Prompts,
    TrainingSettings,
    distance_to_identity,
    draw_covariance,
    draw_prompts,
)

OBSERVATION_POINTS = 60
"""Points on each of two grids, one even in the steps and one even in their logarithm."""

LAW_POINTS = 10_000
"""Points of the law of S that the constructed solutions' scalars are chosen on."""


@dataclass(frozen=True)
class Choosing(TrainingSettings):
    """Settings of a run whose result is the saved model that is best on validation prompts."""

    validation_prompts: int
    checkpoint_every: int
    checkpoints_kept: int


@dataclass(frozen=True)
class RunTask:
    """The data that one seed is trained and tested on, for one number of pairs n.

    `another` is the Σ of another run, which a control compares A with.
    """

    seed: int
    pairs: int
    settings: ProblemSettings
    covariance: Covariance
    another: Covariance
    form: RunForm = "fast"
    device: str = "cpu"

    @classmethod
    def of(
        cls,
        seed: int,
        pairs: int,
        settings: ProblemSettings,
        session: Session | None = None,
        *,
        weight_root: Float[Array, "d d"] | None = None,
    ) -> RunTask:
        """Draws a seed's Σ, and another run's; w ~ N(0, Σ⁻¹) without a weight root.

        The session says form and device, else it is the fast form; on a card it is the plain one.

        Raises:
            ValueError: if the settings do not go together.
        """
        scales = settings.covariance_scales
        if len(scales) != settings.dimension:
            raise ValueError("covariance_scales needs one entry for each dimension")
        if weight_root is not None and settings.targets == "shuffled":
            raise ValueError("targets are shuffled only where w ~ N(0, Σ⁻¹)")
        own = draw_covariance(generator(seed, "covariance"), scales)
        own = Covariance(own.root, weight_root)
        another = draw_covariance(generator(seed, "covariance of another run"), scales)
        if session is None:
            return cls(seed, pairs, settings, own, another)
        form: RunForm = "plain" if session.device == "cuda" else session.form
        return cls(seed, pairs, settings, own, another, form, session.device)

    def minibatch(self, index: int) -> Minibatch | Prompts:
        """The training prompts of a draw; their labels are shuffled in a control."""
        shuffled = self.settings.targets == "shuffled"
        if self.form == "plain":
            drawn = self.prompts(f"minibatch {index}", self.settings.prompts)
            return replace(drawn, shuffled=shuffled)
        rng = generator(self.seed, f"minibatch of {self.pairs} pairs", index)
        law = (self.covariance, self.settings.prompts, self.pairs)
        dtype = self.settings.precision
        return draw_minibatch(*law, rng, dtype=dtype, shuffled=shuffled)

    def prompts(self, purpose: str, count: int) -> Prompts:
        """Prompts for a purpose other than training; their labels are always their own."""
        rng = generator(self.seed, f"{purpose} of {self.pairs} pairs")
        return draw_prompts(self.covariance, count, self.pairs, rng, self.settings.precision)

    def test_prompts(self) -> Prompts:
        """The prompts that this run's models and fair baselines are tested on."""
        return self.prompts("test", self.settings.test_prompts)

    def validation_prompts(self) -> Prompts:
        """The prompts that saved models and step sizes are chosen on."""
        assert isinstance(self.settings, Choosing), "nothing is chosen in this experiment"
        return self.prompts("validation", self.settings.validation_prompts)

    def for_form(self, prompts: Prompts) -> Minibatch | Prompts:
        """Prompts as the form takes them."""
        return prompts if self.form == "plain" else Minibatch.of_prompts(prompts)

    def loss(self, data: Minibatch | Prompts, matrices: Matrices) -> float:
        """The mean squared error of a model on prompts, in their form and precision."""
        if isinstance(data, Prompts):
            return plain.plain_loss(data, matrices, self.device)
        A, B = (one.astype(data.data.dtype) for one in matrices)
        return fast.loss_and_gradient(data, A, B if B.any() else None)[0]

    def distances(self, A: Float[Array, "layers d d"]) -> dict[str, Float[Array, " layers"]]:
        """Dist of A_l from a multiple of I: whitened by its own Σ, by another run's, and raw."""
        return {
            "distance_a": distance_to_identity(self.covariance.whitened(A)),
            "distance_a_another": distance_to_identity(self.another.whitened(A)),
            "distance_a_raw": distance_to_identity(A),
        }

    def constructed(self, layers: int) -> Matrices:
        """The weights that the theorems describe, with the best scalars for the law of prompts.

        For the law and not for the validation prompts: at few pairs its tail is heavy, and scalars
        chosen without knowing the tail fail on the first prompt from it.
        """
        sigma = self.covariance.matrix
        if self.covariance.other_weights:
            A = constructed.printed_optimum(sigma, self.pairs)
            return A, np.zeros_like(A)
        free = self.settings.b_matrices == "free"
        scalars = best_scalars(self.seed, self.pairs, self.settings.dimension, layers, free)
        return constructed.matrices_of(sigma, *scalars)


@lru_cache(maxsize=64)
def best_scalars(
    seed: int, pairs: int, dimension: int, layers: int, corrected: bool
) -> tuple[Float[Array, " layers"], Float[Array, " layers"]]:
    """Finds the best a_l and β_l for a seed's law of prompts; β_l = 0 unless corrected.

    They are kept, since a run needs them twice, and its controls need the same.
    """
    rng = generator(seed, f"law of {pairs} pairs")
    law = constructed.law_of_moments(rng, LAW_POINTS, pairs, dimension, layers)
    if corrected:
        return constructed.best_corrected_descent(law, layers)
    return constructed.best_steps(law, layers), np.zeros(layers)


@dataclass(frozen=True)
class Trained:
    """A model of one seed: its matrices after training, and its course.

    A slot of saved models that was never filled is zero.
    """

    end: Matrices
    series: Mapping[str, Series]
    saved: Float[Array, "kept 2 layers d d"]


Observe = Callable[[RunTask, Array, Array], Mapping[str, float | Array]]


def train_model(
    session: Session,
    phase: str,
    task: RunTask,
    layers: int,
    observe: Observe = lambda _task, _A, _B: {},
) -> Trained:
    """Trains a model of L layers under a phase's name, and observes its test loss and more."""
    settings = task.settings
    assert isinstance(settings, TrainingSettings)
    every = max(settings.steps, 1)
    kept = 0
    if isinstance(settings, Choosing):
        every = settings.checkpoint_every
        kept = settings.checkpoints_kept
    learner = _start_learner(task, settings, phase, layers)
    test = task.for_form(task.test_prompts())
    saved = np.zeros((kept, 2, *learner.matrices()[0].shape))
    built = None if settings.weights == "trained" else task.constructed(layers)

    def matrices(step: int) -> Matrices:
        return learner.matrices() if built is None or step == 0 else built

    def advance(start: int, stop: int) -> None:
        # saved before a step, as in the released code, so never after the last
        inner = range((start // every + 1) * every, stop, every)
        for first, last in itertools.pairwise([start, *inner, stop]):
            if kept and first % every == 0:
                saved[first // every % kept] = np.stack(matrices(first))
            if built is None:
                learner.advance(first, last)

    def observed(step: int) -> Mapping[str, float | Array]:
        now = matrices(step)
        return {"loss": task.loss(test, now), **observe(task, *now)}

    state: dict[str, Stateful] = {**learner.state, **({"saved": saved} if kept else {})}
    points = OBSERVATION_POINTS
    steps = settings.steps
    at = lab.observation_steps(steps, even=points, geometric=points)
    train = partial(lab.train, session, phase, steps=steps, state=state)
    series = train(advance=advance, observe=observed, observe_at=at)
    return Trained(matrices(steps), series, saved)


def _start_learner(task: RunTask, settings: TrainingSettings, phase: str, layers: int) -> Learner:
    """A learner at its start: Gaussian entries (card) of the initial scale (code); B may be 0."""
    rng = generator(task.seed, f"initial matrices, {phase}")
    shape = (2, layers, settings.dimension, settings.dimension)
    A, B = (settings.initial_scale * rng.standard_normal(shape)).astype(settings.precision)
    start = A, B if settings.b_matrices == "free" else np.zeros_like(B)
    gradients: Any = (plain if task.form == "plain" else fast).gradients
    return Learner(gradients, task.minibatch, start, settings, task.device)


def prediction_gap(task: RunTask, matrices: Matrices) -> float:
    """How far predictions lie from those of the constructed model, by its own squared error.

    Both are made token by token, on the test prompts.
    """
    prompts = task.test_prompts()
    x, w, query = (one.astype(np.float64) for one in (prompts.x, prompts.w, prompts.query))
    models = matrices, task.constructed(len(matrices[0]))
    each = ((x, w, query, *one) for one in models)
    ours, best = (predict(*map(torch.from_numpy, one)).numpy() for one in each)
    return float(np.sum((ours - best) ** 2) / np.sum((best - (w * query).sum(axis=1)) ** 2))


def chosen_loss(task: RunTask, saved: Float[Array, "kept 2 layers d d"]) -> float:
    """The test loss of the saved model with the least validation loss (released code)."""
    validation = task.for_form(task.validation_prompts())
    filled = [(A, B) for A, B in saved if A.any() or B.any()]
    losses = [task.loss(validation, one) for one in filled]
    if not np.isfinite(losses).any():
        return float("nan")
    test = task.for_form(task.test_prompts())
    return task.loss(test, filled[int(np.nanargmin(losses))])
