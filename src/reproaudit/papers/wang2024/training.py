"""One attention layer: the settings of its training, the layer itself, and what it can reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float32

from reproaudit.lab import Array, Series, Session, generator, observation_steps, train
from reproaudit.papers.wang2024.constructed import IdentityBlocks, reachable
from reproaudit.papers.wang2024.fast import Sgd, Weights, train_steps
from reproaudit.papers.wang2024.measures import mean_loss_and_mass
from reproaudit.papers.wang2024.sampling import root
from reproaudit.papers.wang2024.task import (
    BatchLaw,
    SampleBatch,
    TaskSettings,
    draw_codes,
    draw_test_set,
)


@dataclass(frozen=True)
class Selection(TaskSettings):
    """The settings of training one attention layer, which all experiments share.

    Attributes:
        learning_rate: of SGD at first.
        annealed_rate: from step ``anneal_at`` on.
        anneal_at: a training step.
        steps: of training.
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
    loss_factor: float
    initial_scale: float
    attended: Literal["tokens", "tokens_and_query"]
    precision: Literal["float32", "float64"]
    reachable_draws: int
    weights: Literal["trained", "constructed"]

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
        settings: how it is trained.
        weights: what is trained.
        advance: trains steps ``start`` to ``stop − 1``.
    """

    settings: Selection
    weights: Weights
    advance: Callable[[int, int], None]

    @staticmethod
    def start(
        seed: int,
        s: Selection,
        codes: Float32[Array, "1 T d_e"] | None,
        placed: IdentityBlocks | None = None,
    ) -> Arm:
        """An untrained layer.

        Args:
            seed: of the run.
            s: the settings.
            codes: the fixed codes of training; None for stochastic ones.
            placed: what to put in place of training, if anything.
        """
        rng, d, d_e = generator(seed, "init"), s.token_dimension, s.code_dimension
        weights = Weights.draw(rng, d, d_e, s.initial_scale, s.dtype)
        if placed is not None:
            return Arm(s, weights, lambda *_: weights.set_identity(placed.alpha, placed.v))
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
            anneal_at=s.anneal_at,
        )
        return Arm(s, weights, lambda start, stop: train_steps(start, stop, how, scratch, weights))

    def loss_and_mass(self, batches: Sequence[SampleBatch]) -> tuple[float, float]:
        """½ × mean squared error, and the mean attention on the selected tokens."""
        return mean_loss_and_mass(batches, self.weights, self.settings.attend_query)

    def train(
        self, session: Session, phase: str, points: int, observe: Callable[[], Mapping[str, Any]]
    ) -> dict[str, Series]:
        """Trains the layer and observes it at about so many points."""
        return train(
            session,
            phase,
            steps=self.settings.steps,
            state=self.weights._asdict(),
            advance=self.advance,
            observe=lambda _step: dict(observe()),
            observe_at=observed_steps(self.settings.steps, points),
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
    def start(seed: int, s: Selection) -> LayerRun:
        """Draws codes, test points and weights."""
        codes = None
        if s.codes == "fixed":
            codes = draw_codes(root(seed, "fixed_codes"), s, s.tokens)
        best = reachable(seed, s, s.tokens, s.reachable_draws, s.attend_query)
        loss, mass = mean_loss_and_mass(
            draw_test_set(seed, s, None), best.weights(s, s.dtype), s.attend_query
        )
        placed = best if s.weights == "constructed" else None
        arm = Arm.start(seed, s, codes, placed)
        return LayerRun(arm, draw_test_set(seed, s, codes), loss, mass)

    def train_for_loss(self, session: Session, phase: str) -> Series:
        """Trains the layer and returns its loss on the test points."""
        return self.arm.train(
            session, phase, 60, lambda: {"loss": self.arm.loss_and_mass(self.tests)[0]}
        )["loss"]
