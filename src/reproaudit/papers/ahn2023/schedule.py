"""The schedule of training and the matrices of a model, shared by both forms.

Both make the same steps: draw a minibatch every so often, compute the in-context loss and its
gradient, clip each matrix's gradient, and update with Adam (released code: AdamW with weight decay
0) at a learning rate that is halved at fixed intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jaxtyping import Float

from reproaudit.lab import Array

Matrices = tuple[Float[Array, "layers d d"], Float[Array, "layers d d"]]
"""A and B of a model."""


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
    betas: tuple[float, ...]
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
