"""One attention layer: the settings of its training, the layer itself, and what it can reach."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float32

from reproaudit.lab import (
    Array,
    RunForm,
    Series,
    Session,
    continued_steps,
    generator,
    measure_movement,
    observation_steps,
    one_thread,
    per_seed,
    train,
)
from reproaudit.papers.wang2024 import plain
from reproaudit.papers.wang2024.constructed import IdentityBlocks, reachable
from reproaudit.papers.wang2024.fast import Sgd, Weights, train_steps
from reproaudit.papers.wang2024.fast.together import train_layers
from reproaudit.papers.wang2024.measures import mean_loss_and_mass
from reproaudit.papers.wang2024.sampling import root
from reproaudit.papers.wang2024.task import (
    BatchLaw,
    SampleBatch,
    TaskSettings,
    draw_codes,
    draw_test_set,
    draw_training_sample,
)


@dataclass(frozen=True)
class Selection(TaskSettings):
    """The settings of training one attention layer, which all experiments share.

    Attributes:
        learning_rate: of SGD at first.
        annealed_rate: from step ``anneal_at`` on.
        anneal_at: a training step.
        steps: of training.
        training_length: how long training is, as a multiple of ``steps`` and ``anneal_at``.
        loss_factor: c in the training loss c · mean ‖output − target‖².
        initial_scale: standard deviation of the entries of W_KQ and W_V at the start.
        attended: ``tokens`` (Z), or ``tokens_and_query`` ([Z, z_query]).
        precision: of training and of the test loss.
        reachable_draws: draws of the codes from which the best identity blocks are computed.
        weights: ``trained``, or ``constructed``: the best identity blocks in place of training.
    """

    learning_rate: float
    annealed_rate: float
    anneal_at: int
    steps: int
    training_length: float
    loss_factor: float
    initial_scale: float
    attended: Literal["tokens", "tokens_and_query"]
    precision: Literal["float32", "float64"]
    reachable_draws: int
    weights: Literal["trained", "constructed"]

    @property
    def trained_steps(self) -> int:
        """The steps that are trained."""
        return max(1, round(self.training_length * self.steps))

    @property
    def trained_anneal_at(self) -> int:
        """The step from which the annealed rate holds."""
        return round(self.training_length * self.anneal_at)

    @property
    def attend_query(self) -> bool:
        """True where the query is among the attended tokens."""
        return self.attended == "tokens_and_query"

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """The precision as NumPy's type."""
        return np.float32 if self.precision == "float32" else np.float64


@dataclass(frozen=True)
class Arm:
    """One attention layer.

    Attributes:
        seed: of the run.
        settings: how it is trained.
        codes: the fixed codes of training; None for stochastic ones.
        begin: the weights before training.
        weights: what is trained.
        placed: what is put in place of training, if anything.
        how: its training.
        scratch: room for a batch, with the fixed codes in it.
        form: how it is trained and measured.
    """

    seed: int
    settings: Selection
    codes: Float32[Array, "1 T d_e"] | None
    begin: Weights
    weights: Weights
    placed: IdentityBlocks | None
    how: Sgd
    scratch: SampleBatch
    form: RunForm

    @staticmethod
    def start(
        seed: int,
        s: Selection,
        codes: Float32[Array, "1 T d_e"] | None,
        form: RunForm,
        placed: IdentityBlocks | None = None,
    ) -> Arm:
        """An untrained layer.

        Args:
            seed: of the run.
            s: the settings.
            codes: the fixed codes of training; None for stochastic ones.
            form: how it is trained and measured.
            placed: what to put in place of training, if anything.
        """
        rng, d, d_e = generator(seed, "init"), s.token_dimension, s.code_dimension
        weights = Weights.draw(rng, d, d_e, s.initial_scale, s.dtype)
        begin = Weights(*(block.copy() for block in weights))
        shared = codes is not None or s.codes_drawn == "per_batch"
        scratch = SampleBatch.empty(s.batch, d, s.tokens, s.selected, d_e, shared)
        if codes is not None:
            scratch.E[...] = codes
        how = Sgd(
            key=root(seed, "train"),
            law=BatchLaw.of(s, seed, training=True, redraw_codes=codes is None),
            attend_query=s.attend_query,
            factor=s.loss_factor,
            rate=s.learning_rate,
            annealed_rate=s.annealed_rate,
            anneal_at=s.trained_anneal_at,
        )
        return Arm(seed, s, codes, begin, weights, placed, how, scratch, form)

    def advance(self, start: int, stop: int) -> None:
        """Trains steps ``start`` to ``stop − 1``, or puts in place what is to stand there."""
        if self.placed is not None:
            self.weights.set_identity(self.placed.alpha, self.placed.v)
        else:
            steps = train_steps if self.form == "fast" else plain.train_steps
            steps(start, stop, self.how, self.scratch, self.weights)

    def to_continue(self, stream: str, steps: int) -> Arm:
        """A copy that trains on other batches, for so many steps, with its schedule begun anew."""
        s = self.settings
        anneal_at = round(steps * s.anneal_at / s.steps)
        how = self.how._replace(key=root(self.seed, stream), anneal_at=anneal_at)
        return replace(self, weights=Weights(*(block.copy() for block in self.weights)), how=how)

    def loss_and_mass(self, batches: Sequence[SampleBatch]) -> tuple[float, float]:
        """½ × mean squared error, and the mean attention on the selected tokens."""
        return mean_loss_and_mass(batches, self.weights, self.settings.attend_query, self.form)

    def moved(self) -> tuple[Weights, Weights, tuple[float, float]]:
        """The weights and the training loss, each before and after training; for `models_moved`."""
        return self.begin, self.weights, self.training_losses()

    def training_losses(self) -> tuple[float, float]:
        """The training loss before and after training, on the same samples of training's law.

        The samples are of a stream of their own, as many as there are test points.
        """
        s = self.settings
        sample = draw_training_sample(self.seed, s, self.codes)
        before, after = (
            2 * s.loss_factor * mean_loss_and_mass(sample, one, s.attend_query, self.form)[0]
            for one in (self.begin, self.weights)
        )
        return before, after


def train_arms(
    arms: Sequence[Arm],
    session: Session,
    phase: str,
    points: int,
    observe: Callable[[int], Mapping[str, Any]],
) -> list[dict[str, Series]]:
    """Trains a layer for each seed of the session; on a card all of them together.

    Args:
        arms: the layers, in the order of the session's seeds.
        session: of the run.
        phase: its name.
        points: at about how many steps to observe.
        observe: observes the layer of this index.

    Returns:
        The series of each layer.
    """
    steps = arms[0].settings.trained_steps
    return _train(arms, session, phase, steps, observe, observed_steps(steps, points))


def continue_arms(arms: Sequence[Arm], session: Session, phase: str) -> list[Arm]:
    """The layers after some further steps on other batches, with the schedule begun anew.

    The layers given are left as they are. Constructed ones stay what they are.
    """
    steps = continued_steps(arms[0].settings.trained_steps)
    further = [arm.to_continue(phase, steps) for arm in arms]
    if arms[0].placed is None:
        _train(further, session, phase, steps, lambda _index: {}, ())
    return further


def _train(
    arms: Sequence[Arm],
    session: Session,
    phase: str,
    steps: int,
    observe: Callable[[int], Mapping[str, Any]],
    observe_at: tuple[int, ...],
) -> list[dict[str, Series]]:
    def advance(start: int, stop: int) -> None:
        if session.device == "cpu" or arms[0].placed is not None:
            for arm in arms:
                arm.advance(start, stop)
        else:
            hows, scratch = [arm.how for arm in arms], [arm.scratch for arm in arms]
            weights = [arm.weights for arm in arms]
            train_layers(start, stop, hows, scratch, weights, session.device)

    state = {arm.seed: arm.weights._asdict() for arm in arms}
    return train_seeds(session, phase, steps, state, advance, observe, observe_at)


def train_seeds(
    session: Session,
    phase: str,
    steps: int,
    state: Mapping[int, Mapping[str, Array]],
    advance: Callable[[int, int], None],
    observe: Callable[[int], Mapping[str, Any]],
    observe_at: tuple[int, ...],
) -> list[dict[str, Series]]:
    """Trains what the session's seeds have, and returns the series of each.

    Args:
        session: of the run.
        phase: its name.
        steps: how many.
        state: by seed and name, what training changes.
        advance: trains steps ``start`` to ``stop − 1`` of every seed.
        observe: observes the seed of this index.
        observe_at: the steps to observe at.
    """

    def together(_step: int) -> dict[str, Array]:
        each = [observe(index) for index in range(len(session.seeds))]
        return {name: np.array([one[name] for one in each]) for name in each[0]}

    series = train(
        session,
        phase,
        steps=steps,
        state={f"{k} of seed {seed}": v for seed, one in state.items() for k, v in one.items()},
        advance=advance,
        observe=together,
        observe_at=observe_at,
        seed_axis=True,
    )
    by_seed = per_seed(series, session.seeds)
    return [by_seed[seed] for seed in session.seeds]


def models_moved(
    models: Iterable[tuple[Iterable[Array], Iterable[Array], tuple[float, float]]],
) -> dict[str, float]:
    """The movement of models in training, all together, see `reproaudit.lab.measure_movement`.

    Args:
        models: of each, its parameters before and after training, and its training loss before and
            after, on the same samples.
    """
    begins, ends, losses = zip(*models, strict=True)
    with one_thread():  # a norm's last bit depends on the number of threads
        return measure_movement(
            [block for begin in begins for block in begin],
            [block for end in ends for block in end],
            [first for first, _ in losses],
            [last for _, last in losses],
        )


def observed_steps(steps: int, points: int) -> tuple[int, ...]:
    """About ``points`` steps from 0 to ``steps``: a third of them geometric, the rest even."""
    return observation_steps(steps, even=points - points // 3, geometric=max(points // 3, 2))


@dataclass(frozen=True)
class LayerRun:
    """One seed's layer at the trained length, its test points, and what it can reach there.

    Attributes:
        arm: the untrained layer.
        tests: the test points.
        reachable_loss: ½ × mean squared error of the best identity blocks, on the same points with
            stochastic codes.
        reachable_mass: their mean attention on the selected tokens.
    """

    arm: Arm
    tests: tuple[SampleBatch, ...]
    reachable_loss: float
    reachable_mass: float

    @staticmethod
    def start(seed: int, s: Selection, form: RunForm) -> LayerRun:
        """Draws codes, test points and weights."""
        codes = None
        if s.codes == "fixed":
            codes = draw_codes(root(seed, "fixed_codes"), s, s.tokens)
        best = reachable(seed, s, s.tokens, s.reachable_draws, s.attend_query)
        loss, mass = mean_loss_and_mass(
            draw_test_set(seed, s, None), best.weights(s, s.dtype), s.attend_query, form
        )
        placed = best if s.weights == "constructed" else None
        arm = Arm.start(seed, s, codes, form, placed)
        return LayerRun(arm, draw_test_set(seed, s, codes), loss, mass)


def train_for_loss(runs: Sequence[LayerRun], session: Session, phase: str) -> list[Series]:
    """Trains the layer of each run and returns its loss on the test points."""
    arms = [run.arm for run in runs]

    def observe(index: int) -> dict[str, float]:
        return {"loss": arms[index].loss_and_mass(runs[index].tests)[0]}

    return [one["loss"] for one in train_arms(arms, session, phase, 60, observe)]
