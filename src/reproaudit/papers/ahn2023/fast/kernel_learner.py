"""Training of one seed with the compiled kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array, Stateful
from reproaudit.papers.ahn2023.fast import kernel
from reproaudit.papers.ahn2023.fast.learners import Draw
from reproaudit.papers.ahn2023.fast.prompts import Minibatch
from reproaudit.papers.ahn2023.schedule import Schedule, SeedMatrices


class KernelLearner:
    """One seed, with the compiled kernel."""

    def __init__(
        self,
        draw: Draw,
        A: Float[Array, "layers d d"],
        B: Float[Array, "layers d d"],
        schedule: Schedule,
    ) -> None:
        self._schedule, self._draw = schedule, draw
        self._training = kernel.TrainingState.start(A, B)
        self._drawn: tuple[int, Minibatch] | None = None

    @property
    def state(self) -> Mapping[str, Stateful]:
        """A, B and Adam's moments; the caller keeps the number of steps."""
        training = self._training
        return {"parameters": training.parameters, "moments": training.moments}

    def advance(self, start: int, stop: int) -> None:
        """Makes the steps start … stop − 1."""
        schedule = self._schedule
        self._training.steps = start
        for first, last in schedule.pieces(start, stop):
            kernel.advance(
                self._training,
                self._minibatch(schedule.draw(first)),
                last - first,
                learning_rate=schedule.rate(first),
                betas=schedule.betas,
                eps=schedule.epsilon,
                clip=schedule.clip,
                free_b=schedule.free_b,
            )

    def matrices(self) -> SeedMatrices:
        """A and B now, float64."""
        A, B = self._training.parameters[:, None].astype(np.float64)
        return A, B

    def go_on(self, draws: Sequence[Draw], schedule: Schedule) -> None:
        """Changes schedule and minibatches; A, B and Adam's moments stay as they are."""
        (self._draw,) = draws
        self._schedule, self._drawn = schedule, None

    def _minibatch(self, index: int) -> Minibatch:
        if self._drawn is None or self._drawn[0] != index:
            self._drawn = index, self._draw(index)
        return self._drawn[1]
