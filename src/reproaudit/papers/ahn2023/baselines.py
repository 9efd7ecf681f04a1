"""The baselines of the paper: as many steps of gradient descent, and least squares.

Descent on a prompt's squared error starts from 0 and leaves of w the residual
b = Π_l (I − a_l P S) w, with the preconditioner P = Σ⁻¹ or none; the error of its prediction is
−b·x_{n+1}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array
from reproaudit.papers.ahn2023 import constructed
from reproaudit.papers.ahn2023.task import Prompts


def fair_losses(test: Prompts, validation: Prompts, steps: int) -> list[float]:
    """Test losses of descent with all pairs and the best step sizes for the validation prompts.

    Returns:
        Without and with preconditioner; each with one step size, then with one for each step.
    """
    sigma, inverse = test.covariance.matrix, test.covariance.inverse
    whiten = np.linalg.inv(np.linalg.cholesky(sigma))
    S = np.asarray(validation.moment, np.float64)
    plain = constructed.Spectrum.of(S, sigma)
    whitened = constructed.Spectrum.of(whiten @ S @ whiten.T, np.eye(len(sigma)))
    return [
        descent_loss(test.moment, test.w, test.query, sizes, preconditioner)
        for spectrum, preconditioner in ((plain, None), (whitened, inverse))
        for sizes in (
            [constructed.best_constant_step(spectrum, steps)] * steps,
            constructed.best_steps(spectrum, steps),
        )
    ]


def released_loss(
    test: Prompts, choice: Prompts, step_sizes: Sequence[float], preconditioned: bool, steps: int
) -> float:
    """Test loss of descent as released: n − 1 of the n pairs, one step size, chosen from a list.

    Args:
        test: the prompts that it is tested on.
        choice: validation prompts of the run that the step size is chosen on.
        step_sizes: the list, in the code's unit: a step on the sum over the pairs.
        preconditioned: with Σ⁻¹, each prompts' own.
        steps: how many.
    """

    def loss(prompts: Prompts, size: float) -> float:
        used = np.asarray(prompts.x[:, :-1], np.float64)
        total = used.transpose(0, 2, 1) @ used
        preconditioner = prompts.covariance.inverse if preconditioned else None
        return descent_loss(total, prompts.w, prompts.query, [size] * steps, preconditioner)

    return loss(test, best_on_grid(lambda size: loss(choice, size), step_sizes))


def best_on_grid(loss: Callable[[float], float], grid: Sequence[float]) -> float:
    """The step of a grid with the smallest loss, the first of equals; a NaN loss never wins.

    How the released code chooses the step of its baselines.
    """
    losses = np.array([loss(step) for step in grid])
    if np.all(np.isnan(losses)):
        raise ValueError("no step of the grid has a loss")
    return float(grid[int(np.nanargmin(losses))])


def descent_loss(
    S: Float[Array, "batch d d"],
    w: Float[Array, "batch d"],
    query: Float[Array, "batch d"],
    steps: Sequence[float] | Float[Array, " steps"],
    preconditioner: Float[Array, "d d"] | None = None,
) -> float:
    """Mean squared error on the queries after gradient descent on a prompt's squared error, from 0.

    Args:
        S: the second moments of the pairs that descent uses.
        w: the weights of the labels.
        query: the inputs x_{n+1}.
        steps: the step size of each step.
        preconditioner: for example Σ⁻¹; None for I.
    """
    S64, b = np.asarray(S, np.float64), np.asarray(w, np.float64)
    for step in steps:
        gradient = (S64 @ b[:, :, None])[:, :, 0]
        b = b - step * (gradient if preconditioner is None else gradient @ preconditioner.T)
    return sampled_loss(b, query)


def sampled_loss(residuals: Float[Array, "batch d"], query: Float[Array, "batch d"]) -> float:
    """Mean of (b·x_{n+1})²."""
    return float(np.mean(np.sum(residuals * np.asarray(query, np.float64), axis=1) ** 2))


def least_squares_loss(
    x: Float[Array, "batch n d"], w: Float[Array, "batch d"], query: Float[Array, "batch d"]
) -> float:
    """Mean squared error of ordinary least squares, of least norm where n < d.

    Without noise it is rounding alone where n ≥ d. As released, it takes n − 1 of the pairs, and
    the least norm in whitened coordinates.
    """
    inputs, weights = np.asarray(x, np.float64), np.asarray(w, np.float64)[:, :, None]
    estimate = np.linalg.pinv(inputs) @ (inputs @ weights)
    return sampled_loss((weights - estimate)[:, :, 0], query)
