"""Checks that a curve is whole: no gap, no missing end, the same steps in every seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.audit.training_length import end_beside
from reproaudit.elsewhere.configurations import normal
from reproaudit.elsewhere.rows import number_of

REGULAR = 0.75
"""The share of equal distances from which steps count as evenly spaced."""
LAST_STEP_NAMES = (
    "steps",
    "max_steps",
    "num_steps",
    "n_steps",
    "total_steps",
    "train_steps",
    "training_steps",
    "num_train_steps",
    "num_training_steps",
    "max_iters",
    "iterations",
    "num_iterations",
)


def gap_in(steps: NDArray[np.int64]) -> str | None:
    """The first gap in steps that are otherwise evenly spaced, in words; None if there is none.

    Steps that are not evenly spaced (1, 2, 4, 8 …) say nothing of what is left out.
    """
    if len(steps) < 5:
        return None
    distances = np.diff(steps)
    found, counts = np.unique(distances, return_counts=True)
    usual = int(found[counts.argmax()])
    if usual <= 0 or counts.max() < REGULAR * len(distances):
        return None
    wide = np.flatnonzero(distances > 1.5 * usual)
    if not wide.size:
        return None
    first = int(wide[0])
    missing = int(sum(round(int(distances[one]) / usual) - 1 for one in wide))
    return (
        f"{missing} of its steps are missing, the first after step {steps[first]} (every {usual} "
        f"steps before, then step {steps[first + 1]})"
    )


def early_end(steps: NDArray[np.int64], config: Mapping[str, Any]) -> str | None:
    """By how much a curve ends before the number of steps that its configuration states."""
    for name, value in config.items():
        if normal(name.rpartition(".")[2]) not in LAST_STEP_NAMES:
            continue
        number = number_of(value)
        if number is None or number <= 0 or not len(steps):
            continue
        end = end_beside([steps], number, points=True)
        if end is not None and end < number:
            return f"it ends at step {steps[-1]}, and the configuration says {name} = {value}"
    return None


def unequal(steps: Mapping[int, Sequence[int]]) -> str | None:
    """The seed that lacks steps which others have, in words; None if all have the same.

    Args:
        steps: seed -> the steps of its curve.
    """
    every = set[int]().union(*(set(one) for one in steps.values()))
    for seed, one in steps.items():
        missing = sorted(every - set(one))
        if missing:
            return (
                f"seed {seed} lacks {len(missing)} of the {len(every)} steps that the seeds have "
                f"together, the first {missing[0]}"
            )
    return None
