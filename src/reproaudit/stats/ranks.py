"""How far two lists are ordered alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reproaudit.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def kendall_tau(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Compute Kendall's tau-b of two lists of shape (item,): 1 in the same order, -1 reversed.

    Pairs that are tied in a list tell nothing of it. NaN where all of a list are tied, or a number
    is none. Kendall, Biometrika 33 (1945), 239-251.
    """
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        return math.nan
    agree = 0.0
    untied = [0.0, 0.0]
    for i in range(len(one)):
        signs = [np.sign(each[i + 1 :] - each[i]) for each in (one, other)]
        agree += float(signs[0] @ signs[1])
        for place, each in enumerate(signs):
            untied[place] += float(np.abs(each).sum())
    pairs = math.sqrt(untied[0] * untied[1])
    return agree / pairs if pairs else math.nan
