"""The baselines of the paper: as many steps of gradient descent, and least squares.

Descent on a prompt's squared error starts from 0 and leaves of w the residual
b = Π_l (I − a_l P S) w, with the preconditioner P = Σ⁻¹ or none; the error of its prediction is
−b·x_{n+1}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array
from reproaudit.papers.ahn2023 import constructed
from reproaudit.papers.ahn2023.constructed import FloatVector, StepSizes
from reproaudit.papers.ahn2023.task import Prompts


class FairDescent:
    """Descent that uses all pairs, with the best step sizes for the validation prompts."""

    def __init__(self, test: Prompts, validation: Prompts) -> None:
        self._test, self._moment = test, test.moment
        sigma, S = test.covariance.matrix, validation.moment
        self._forms = (
            (constructed.plain_spectrum(S, sigma), None),
            (constructed.whitened_spectrum(S, sigma), test.covariance.inverse),
        )

    def losses(self, steps: int) -> tuple[float, ...]:
        """Test losses without and with preconditioner, in the order of the audit's axis.

        Each with one step size, then with a step size for each step.
        """
        return tuple(
            descent_loss(self._moment, self._test.w, self._test.query, sizes, preconditioner)
            for spectrum, preconditioner in self._forms
            for sizes in (
                [constructed.best_constant_step(spectrum, steps)] * steps,
                constructed.best_steps(spectrum, steps),
            )
        )


@dataclass(frozen=True)
class ReleasedDescent:
    """Descent as released: n − 1 of the n pairs, one step size from a list, chosen on one run.

    Attributes:
        test: the prompts that it is tested on.
        choice: validation prompts of the run that the step size is chosen on.
        step_sizes: the list, in the code's unit: a step on the sum over the pairs.
        preconditioned: with Σ⁻¹, each prompts' own.
    """

    test: Prompts
    choice: Prompts
    step_sizes: Sequence[float]
    preconditioned: bool

    def loss(self, steps: int) -> float:
        """The test loss after so many steps."""
        size = best_on_grid(lambda size: self._loss(self.choice, steps, size), self.step_sizes)
        return self._loss(self.test, steps, size)

    def _loss(self, prompts: Prompts, steps: int, size: float) -> float:
        preconditioner = prompts.covariance.inverse if self.preconditioned else None
        total = moments_of_pairs(prompts.x, prompts.z.shape[1] - 1, 1)
        return descent_loss(total, prompts.w, prompts.query, [size] * steps, preconditioner)


def least_squares(test: Prompts) -> float:
    """Test loss of ordinary least squares, of least norm where the pairs do not determine it."""
    return sampled_loss(least_squares_residuals(test.x, test.w), test.query)


def released_least_squares(test: Prompts) -> float:
    """The same as released: n − 1 of the n pairs, of least norm in whitened coordinates."""
    return sampled_loss(least_squares_residuals(test.z[:, :-1], test.v), test.z_query)


def best_on_grid(loss: Callable[[float], float], grid: Sequence[float]) -> float:
    """The step of a grid with the smallest loss, the first of equals; a NaN loss never wins.

    How the released code chooses the step of its baselines.
    """
    losses = np.array([loss(step) for step in grid])
    if np.all(np.isnan(losses)):
        raise ValueError("no step of the grid has a loss")
    return float(grid[int(np.nanargmin(losses))])


def descent_residuals(
    S: Float[Array, "batch d d"],
    w: Float[Array, "batch d"],
    steps: StepSizes,
    preconditioner: Float[Array, "d d"] | None = None,
) -> Float[FloatVector, "batch d"]:
    """The residual of w after gradient descent on a prompt's squared error, from 0.

    Args:
        S: the second moments of the pairs that descent uses.
        w: the weights of the labels.
        steps: the step size of each step.
        preconditioner: for example Σ⁻¹; None for I.

    Returns:
        b = Π_l (I − a_l P S) w; the prediction's error on a query is −b·x_{n+1}.
    """
    S64, b = np.asarray(S, np.float64), np.asarray(w, np.float64)
    for step in steps:
        gradient = (S64 @ b[:, :, None])[:, :, 0]
        b = b - step * (gradient if preconditioner is None else gradient @ preconditioner.T)
    return b


def descent_loss(
    S: Float[Array, "batch d d"],
    w: Float[Array, "batch d"],
    query: Float[Array, "batch d"],
    steps: StepSizes,
    preconditioner: Float[Array, "d d"] | None = None,
) -> float:
    """Mean squared error of `descent_residuals` on the queries."""
    return sampled_loss(descent_residuals(S, w, steps, preconditioner), query)


def sampled_loss(residuals: Float[Array, "batch d"], query: Float[Array, "batch d"]) -> float:
    """Mean of (b·x_{n+1})²."""
    return float(np.mean(np.sum(residuals * np.asarray(query, np.float64), axis=1) ** 2))


def moments_of_pairs(
    x: Float[Array, "batch n d"], pairs: int, divisor: int
) -> Float[FloatVector, "batch d d"]:
    """(1/divisor) Σ x_i x_iᵀ over the first `pairs` examples.

    The released baselines use n − 1 of the n pairs. Descent that uses all has pairs = divisor = n.

    Raises:
        ValueError: if there are fewer pairs.
    """
    if not 0 < pairs <= x.shape[1]:
        raise ValueError(f"asked for {pairs} of {x.shape[1]} pairs")
    used = np.asarray(x[:, :pairs], np.float64)
    return np.asarray(used.transpose(0, 2, 1) @ used / divisor)


def least_squares_residuals(
    x: Float[Array, "batch n d"], w: Float[Array, "batch d"]
) -> Float[FloatVector, "batch d"]:
    """The residual of w after ordinary least squares, of least norm where n < d.

    Without noise it is rounding alone where n ≥ d.
    """
    inputs, weights = np.asarray(x, np.float64), np.asarray(w, np.float64)[:, :, None]
    estimate = np.linalg.pinv(inputs) @ (inputs @ weights)
    return np.asarray((weights - estimate)[:, :, 0])
