"""Measures how far training moved, to tell a run that trained from one that stood still.

A control that never moves fails almost every check, whatever the claim. So every experiment that
trains may measure how far its parameters and its training loss moved, and declare the two numbers.
Training in stages is measured stage by stage, each with what it trains.

Both ends are measured on the same data, so that a difference is due to training alone:

    begin = [weights.copy(), biases.copy()]
    first = training_loss()
    train(...)
    scalars = measure_movement(begin, [weights, biases], [first], [training_loss()])
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike


def measure_movement(
    begin: Sequence[ArrayLike],
    end: Sequence[ArrayLike],
    first_losses: Sequence[float],
    last_losses: Sequence[float],
) -> dict[str, float]:
    """Returns the two numbers under the names that audits give them.

    Args:
        begin: every trained parameter before training, as copies; of all models of the run.
        end: the same parameters after training, in the same order and of the same shapes.
        first_losses: the training loss of each model before training.
        last_losses: the same after training, on the same data.

    Returns:
        ``parameters_moved`` and ``training_loss_moved``, see `relative_change`.
    """
    return {
        "parameters_moved": relative_change(begin, end),
        "training_loss_moved": relative_change(first_losses, last_losses),
    }


def relative_change(begin: Sequence[ArrayLike], end: Sequence[ArrayLike]) -> float:
    """Returns the norm of a change over the norm at the start, all numbers taken as one vector.

    What starts at zero altogether has changed by 1 if it has changed at all.

    Raises:
        ValueError: if the two differ in number or shape.
    """
    pairs = [(np.asarray(a, float), np.asarray(b, float)) for a, b in zip(begin, end, strict=True)]
    for before, after in pairs:
        if before.shape != after.shape:
            raise ValueError(f"a parameter of shape {before.shape} ends with {after.shape}")
    change = _norm(b - a for a, b in pairs)
    start = _norm(a for a, _ in pairs)
    if start > 0:
        return change / start
    return 1.0 if change > 0 else change  # a NaN stays one


def _norm(parts: Iterable[np.ndarray]) -> float:
    """The Euclidean norm of several arrays taken as one vector."""
    return math.hypot(*(float(np.linalg.norm(part)) for part in parts))
