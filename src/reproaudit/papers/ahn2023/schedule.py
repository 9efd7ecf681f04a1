"""The schedule of training, the matrices of all seeds and a learner, shared by both forms.

Every learner makes the same steps on the same minibatches: draw a minibatch every so often, compute
the in-context loss and its gradient, clip each matrix's gradient, and update with Adam (released
code: AdamW with weight decay 0) at a learning rate that is halved at fixed intervals.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from jaxtyping import Float

from reproaudit.lab import Array, Stateful


@dataclass(frozen=True)
class Schedule:
    """The settings of training: learning rates, minibatches, Adam and clipping.

    Attributes:
        learning_rate: at the start.
        halve_every: steps after which it is halved, again and again.
        redraw_every: steps between minibatches.
        betas, epsilon: Adam's.
        clip: largest Frobenius norm of the gradient of one matrix.
        free_b: whether the B_l are trained; otherwise they stay zero.
        begins: the step from which halvings and minibatches are counted.
    """

    learning_rate: float
    halve_every: int
    redraw_every: int
    betas: tuple[float, float]
    epsilon: float
    clip: float
    free_b: bool
    begins: int = 0

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        return self.learning_rate * 0.5 ** ((step - self.begins) // self.halve_every)

    def draw(self, step: int) -> int:
        """The number of the minibatch that a step trains on."""
        return (step - self.begins) // self.redraw_every

    def anew(self, trained: int, steps: int) -> Schedule:
        """The schedule begun anew after training, and run through in the given number of steps.

        The rate starts at its first value again and is halved as often as in training, as far as
        whole steps allow.

        Args:
            trained: how many steps of training came before.
            steps: in how many the halvings of training are run through.
        """
        halve_every = max(1, round(self.halve_every * steps / trained))
        return replace(self, halve_every=halve_every, begins=trained)

    def pieces(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Cuts steps start … stop − 1 where a minibatch or the learning rate changes."""
        borders = {start, stop}
        for period in (self.redraw_every, self.halve_every):
            past = -(-(start - self.begins) // period) * period
            borders.update(range(self.begins + past, stop, period))
        ordered = sorted(border for border in borders if border >= start)
        return list(itertools.pairwise(ordered))


SeedMatrices = tuple[Float[Array, "seeds layers d d"], Float[Array, "seeds layers d d"]]
"""A and B of each seed."""


class Learner(Protocol):
    """Trains the matrices of one or more seeds."""

    @property
    def state(self) -> Mapping[str, Stateful]:
        """Everything that training changes."""

    def advance(self, start: int, stop: int) -> None:
        """Makes the steps start … stop − 1."""

    def matrices(self) -> SeedMatrices:
        """A and B now, float64."""

    def go_on(self, draws: Sequence[Callable[[int], Any]], schedule: Schedule) -> None:
        """Changes schedule and minibatches; A, B and Adam's moments stay as they are."""
