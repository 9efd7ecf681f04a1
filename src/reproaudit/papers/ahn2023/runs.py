"""One run: what a seed is trained and tested on, and its training.

Every model is trained on minibatches and observed on the run's own test prompts. Where models are
compared with baselines, the last few saved models are kept, and the one that is best on validation
prompts counts as the result (released code). Two settings replace training by what it is compared
with, and serve as controls: the *targets* may be shuffled (the labels in a prompt come from another
prompt's weights), and the *weights* may be constructed (the closed form takes the place of training
after the first observation).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from reproaudit.lab import (
    Array,
    RunForm,
    Series,
    Session,
    Stateful,
    continued_steps,
    generator,
    measure_movement,
    observation_steps,
    train,
)
from reproaudit.papers.ahn2023 import constructed, measures
from reproaudit.papers.ahn2023.fast.choice import draw_minibatch
from reproaudit.papers.ahn2023.fast.prompts import Minibatch
from reproaudit.papers.ahn2023.forms import learner_of, loss_on
from reproaudit.papers.ahn2023.minibatches import Stream, draw_plain
from reproaudit.papers.ahn2023.schedule import Learner, Schedule, SeedMatrices
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
    b_matrices: Literal["free", "zero"]
    targets: Literal["own", "shuffled"]
    weights: Literal["trained", "constructed"]


@dataclass(frozen=True)
class Choosing(TrainingSettings):
    """Settings of a run whose result is the saved model that is best on validation prompts.

    A model is saved before the step that begins each interval, as the released code does, so that
    the state after the last step is never among them.
    """

    validation_prompts: int
    checkpoint_every: int
    checkpoints_kept: int


@dataclass(frozen=True)
class RunTask:
    """The data that one seed is trained and tested on, for one number of pairs.

    Attributes:
        seed: of the run.
        pairs: n.
        covariance: Σ of the prompts.
        another: the Σ of another run, which a control compares A with.
        settings: of the experiment.
        form: how it is trained and tested.
    """

    seed: int
    pairs: int
    covariance: Covariance
    another: Covariance
    settings: TrainingSettings
    form: RunForm = "fast"

    @classmethod
    def of(
        cls,
        seed: int,
        pairs: int,
        settings: TrainingSettings,
        form: RunForm = "fast",
        *,
        identity_weights: bool = False,
    ) -> RunTask:
        """The task of a seed: its own Σ, and another run's beside it.

        Args:
            seed: of the run.
            pairs: n.
            settings: of the experiment.
            form: how it is trained and tested.
            identity_weights: whether w ~ N(0, I) in place of w ~ N(0, Σ⁻¹).

        Raises:
            ValueError: if the settings do not go together.
        """
        if len(settings.covariance_scales) != settings.dimension:
            raise ValueError("covariance_scales needs one entry for each dimension")
        if identity_weights and settings.targets == "shuffled":
            raise ValueError("targets are shuffled only where w ~ N(0, Σ⁻¹)")
        scales = settings.covariance_scales
        own = draw_covariance(generator(seed, "covariance"), scales)
        own = own.with_identity_weights if identity_weights else own
        another = draw_covariance(generator(seed, "covariance of another run"), scales)
        return cls(seed, pairs, own, another, settings, form)

    def minibatch(self, index: int) -> Minibatch | Prompts:
        """The training prompts of a draw; their labels are shuffled in a control."""
        return self._draw_minibatch("minibatch", index)

    def continued_minibatch(self, index: int) -> Minibatch | Prompts:
        """The prompts of a draw once training goes on: of the same law, from another stream."""
        return self._draw_minibatch("continued minibatch", index)

    def _draw_minibatch(self, purpose: str, index: int) -> Minibatch | Prompts:
        if self.form == "plain":
            drawn = self.prompts(f"{purpose} {index}", self.settings.prompts)
            return replace(drawn, shuffled=self.settings.targets == "shuffled")
        return draw_minibatch(
            self.covariance,
            self.settings.prompts,
            self.pairs,
            Stream.of(self.seed, f"{purpose} of {self.pairs} pairs", index),
            dtype=self.settings.precision,
            shuffled=self.settings.targets == "shuffled",
        )

    def prompts(self, purpose: str, count: int) -> Prompts:
        """Prompts for a purpose other than training; their labels are always their own."""
        return draw_prompts(
            self.covariance,
            count,
            self.pairs,
            seed=self.seed,
            purpose=f"{purpose} of {self.pairs} pairs",
            dtype=self.settings.precision,
        )

    def test_prompts(self) -> Prompts:
        """The prompts that this run's models and fair baselines are tested on."""
        return self.prompts("test", self.settings.test_prompts)

    def for_form(self, prompts: Prompts) -> Minibatch | Prompts:
        """Prompts as the form takes them."""
        return prompts if self.form == "plain" else prompts.minibatch()

    def distances(self, A: Float[Array, "layers d d"]) -> dict[str, Float[Array, " layers"]]:
        """Dist of A_l from a multiple of I: whitened by its own Σ, by another run's, and raw."""
        whitened = {
            name: measures.distance_to_identity(measures.whitened(A, covariance))
            for name, covariance in (
                ("distance_a", self.covariance),
                ("distance_a_another", self.another),
            )
        }
        return {**whitened, "distance_a_raw": measures.distance_to_identity(A)}

    def constructed(
        self, layers: int
    ) -> tuple[Float[Array, "layers d d"], Float[Array, "layers d d"]]:
        """The weights that the theorems describe, with the best scalars for the law of prompts.

        For the law and not for the validation prompts: at few pairs its tail is heavy, and scalars
        chosen without knowing the tail fail on the first prompt from it.
        """
        if self.covariance.weight_root is not None:
            A = constructed.printed_optimum(self.covariance.matrix, self.pairs)
            return A, np.zeros_like(A)
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
        start: the matrices before training.
        end: the matrices at the end.
        losses: the training loss of each seed before and after training, on its first minibatch.
        series: what was observed, values of shape (step, seed, ...).
        saved: the last saved models, (kept, 2, seeds, layers, d, d); none where nobody chooses.
        learner: in the state that training ended in.
    """

    start: SeedMatrices
    end: SeedMatrices
    losses: Float[Array, "2 seeds"]
    series: Mapping[str, Series]
    saved: Float[Array, "kept 2 seeds layers d d"]
    learner: Learner


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
    every, kept = max(settings.steps, 1), 0
    if isinstance(settings, Choosing):
        every, kept = settings.checkpoint_every, settings.checkpoints_kept
    learner = _start_learner(session, phase, tasks, layers, learning_rate)
    begin = learner.matrices()
    tests = [task.for_form(task.test_prompts()) for task in tasks]
    saved = np.zeros((kept, 2, *begin[0].shape))
    known = _known_matrices(tasks, layers)

    def matrices(step: int) -> SeedMatrices:
        return learner.matrices() if known is None or step == 0 else known

    def advance(start: int, stop: int) -> None:
        for first, last in _pieces(start, stop, every):
            if kept and first % every == 0:
                saved[first // every % kept] = np.stack(matrices(first))
            if known is None:
                learner.advance(first, last)

    def observed(step: int) -> Mapping[str, Array]:
        of_seeds = [
            {"loss": loss_on(tests[i], A, B), **observe(task, A, B)}
            for i, (task, A, B) in enumerate(zip(tasks, *matrices(step), strict=True))
        ]
        return {name: np.array([one[name] for one in of_seeds]) for name in of_seeds[0]}

    state: dict[str, Stateful] = {**learner.state, **({"saved": saved} if kept else {})}
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
    end = matrices(settings.steps)
    losses = np.array([_training_losses(tasks, one) for one in (begin, end)])
    return Trained(begin, end, losses, series, saved, learner)


def _known_matrices(tasks: Sequence[RunTask], layers: int) -> SeedMatrices | None:
    """The matrices that take the place of training, None where there is training."""
    if tasks[0].settings.weights == "trained":
        return None
    known = [task.constructed(layers) for task in tasks]
    return np.stack([A for A, _ in known]), np.stack([B for _, B in known])


def _training_losses(tasks: Sequence[RunTask], matrices: SeedMatrices) -> list[float]:
    """Each seed's loss on its first minibatch."""
    of_seeds = zip(tasks, *matrices, strict=True)
    return [loss_on(task.minibatch(0), A, B) for task, A, B in of_seeds]


def movement_of(models: Sequence[Trained], seed: int) -> dict[str, float]:
    """The movement of all models of one seed together.

    Args:
        models: for example one for each depth.
        seed: the seed's place among those trained together.
    """
    return measure_movement(
        [matrices[seed] for model in models for matrices in model.start],
        [matrices[seed] for model in models for matrices in model.end],
        [model.losses[0, seed] for model in models],
        [model.losses[1, seed] for model in models],
    )


CONTINUED = "continued"
"""The name of the phase in which training goes on."""

DIVERGED_LOSS = 1e150
"""Stands for the loss where training on diverges. A record holds no larger number."""


def continued_losses(
    session: Session, tasks: Sequence[RunTask], model: Trained
) -> Float[Array, " seeds"]:
    """The test loss of each seed once training has gone on for a tenth of its steps.

    Adam's moments are kept, the learning rate begins anew and is halved as often as in training,
    and minibatches come from a stream of their own. What was measured before stays as it is;
    constructed weights stay where they are. Training is over by then, so a seed for which training
    on diverges has not diverged: its loss is `DIVERGED_LOSS`.
    """
    settings, learner = tasks[0].settings, model.learner
    trained, more = settings.steps, continued_steps(settings.steps)
    trains = settings.weights == "trained"
    if trains:
        schedule = _schedule(settings, None).anew(trained, more)
        draws: list[Any] = [task.continued_minibatch for task in tasks]
        learner.go_on(draws, schedule)

    def advance(start: int, stop: int) -> None:
        if trains:
            learner.advance(trained + start, trained + stop)

    def observed(_step: int) -> Mapping[str, Array]:
        of_seeds = zip(tasks, *(learner.matrices() if trains else model.end), strict=True)
        losses = [loss_on(t.for_form(t.test_prompts()), A, B) for t, A, B in of_seeds]
        return {"loss": np.array(losses)}

    series = train(
        session,
        CONTINUED,
        steps=more,
        state=learner.state,
        advance=advance,
        observe=observed,
        observe_at=[more],
        seed_axis=True,
    )
    ended: Array = series["loss"].values[-1]
    return np.nan_to_num(ended, nan=DIVERGED_LOSS).clip(max=DIVERGED_LOSS)


def _start_learner(
    session: Session,
    phase: str,
    tasks: Sequence[RunTask],
    layers: int,
    learning_rate: float | None,
) -> Learner:
    """A learner of all these tasks, at its start."""
    settings = tasks[0].settings
    starts = [_initial(task, phase, layers) for task in tasks]
    draws: list[Any] = [task.minibatch for task in tasks]
    schedule = _schedule(settings, learning_rate)
    A, B = map(np.stack, zip(*starts, strict=True))
    return learner_of(session.form, draws, A, B, schedule, session.device)


def _schedule(settings: TrainingSettings, learning_rate: float | None) -> Schedule:
    """The schedule of the settings, with another learning rate if one is given."""
    return Schedule(
        learning_rate=settings.learning_rate if learning_rate is None else learning_rate,
        halve_every=settings.halve_every,
        redraw_every=settings.redraw_every,
        betas=(settings.betas[0], settings.betas[1]),
        epsilon=settings.epsilon,
        clip=settings.clip,
        free_b=settings.b_matrices == "free",
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


def chosen_losses(tasks: Sequence[RunTask], model: Trained) -> Float[Array, " seeds"]:
    """Each seed's test loss of the saved model with the least validation loss (released code)."""
    return np.array([_chosen_loss(task, model.saved[:, :, i]) for i, task in enumerate(tasks)])


def validation_prompts(task: RunTask) -> Prompts:
    """The prompts that saved models and step sizes are chosen on.

    Raises:
        TypeError: of a run in which nothing is chosen.
    """
    if not isinstance(task.settings, Choosing):
        raise TypeError("this experiment has no validation prompts")
    return task.prompts("validation", task.settings.validation_prompts)


def _chosen_loss(task: RunTask, saved: Float[Array, "kept 2 layers d d"]) -> float:
    """The loss of one seed; a slot of `saved` that was never filled is zero."""
    validation = task.for_form(validation_prompts(task))
    filled = [models for models in saved if models.any()]
    losses = [loss_on(validation, A, B) for A, B in filled]
    if not np.isfinite(losses).any():
        return float("nan")
    test = task.for_form(task.test_prompts())
    return loss_on(test, *filled[int(np.nanargmin(losses))])
