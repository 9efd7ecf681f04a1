"""Parts that more than one paper needs: when to observe, and how to join what was observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.records import Series as Series

Array = NDArray[Any]
"""An array where shape and type are said in words, or belong to a compiled function."""

DATA_VARIABLE = "REPROAUDIT_DATA"
"""The environment variable that names a folder with data files, looked at before any download."""


def observation_steps(steps: int, *, even: int, geometric: int) -> tuple[int, ...]:
    """The steps at which a training run is observed, dense at the start and even to the end.

    Args:
        steps: how many training steps there are, at least 0.
        even: how many points are evenly spaced from 0 to ``steps``.
        geometric: how many points are evenly spaced in their logarithm from 1 to ``steps``.

    Returns:
        The union of both, rounded, increasing; it always holds 0 and ``steps``.
    """
    points = np.concatenate(
        [np.linspace(0, steps, even), np.geomspace(1, max(steps, 1), geometric)]
    )
    rounded = np.rint(points).astype(int)
    return tuple(sorted({0, steps, *rounded[rounded <= steps].tolist()}))


def join_phases(phases: Iterable[tuple[int, Mapping[str, Series]]]) -> dict[str, Series]:
    """Joins the series of successive phases into one, counted from the start of the first.

    A quantity's first observation in a later phase repeats its last one and is left out.

    Args:
        phases: in their order, the number of training steps and the series by name; values have
            shape (step, *axes), with the same axes in every phase.

    Returns:
        By name, a series of shape (step, *axes).
    """
    steps: dict[str, list[int]] = {}
    values: dict[str, list[Array]] = {}
    begin = 0
    for length, series in phases:
        for name, one in series.items():
            skip = 1 if name in steps else 0
            steps.setdefault(name, []).extend(begin + step for step in one.steps[skip:])
            values.setdefault(name, []).append(one.values[skip:])
        begin += length
    return {n: Series(steps=tuple(steps[n]), values=np.concatenate(values[n])) for n in steps}
