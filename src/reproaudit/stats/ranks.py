"""Orders: how far two lists are ordered alike, and whether one group lies below another."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reproaudit.lazy import FloatArray, np
from reproaudit.stats.binomial import CONFIDENCE, Decision


def kendall_tau(first: FloatArray, second: FloatArray) -> float:
    """Compute Kendall's tau-b of two lists of shape (item,): 1 in the same order, -1 reversed.

    Pairs that are tied in a list tell nothing of it. NaN where all of a list are tied, or a number
    is none. Kendall, Biometrika 33 (1945), 239-251.
    """
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return math.nan
    agree = 0.0
    untied = [0.0, 0.0]
    for i in range(len(first)):
        signs = [np.sign(numbers[i + 1 :] - numbers[i]) for numbers in (first, second)]
        agree += float(signs[0] @ signs[1])
        for place, sign in enumerate(signs):
            untied[place] += float(np.abs(sign).sum())
    pairs = math.sqrt(untied[0] * untied[1])
    return agree / pairs if pairs else math.nan


MOST_EXACT = 100
"""The most numbers of two groups together of which every order is counted."""


def decide_ranks(own: Sequence[float], rivals: Sequence[float]) -> Decision:
    """Decide whether one group lies below another, at 95 % one-sided confidence.

    *Met* if it lies significantly below, *missed* if the other does, else *open*. Where many
    numbers of both are equal, there are few orders: another small one in the first may open it.
    """
    if rank_sum(own, rivals) <= 1 - CONFIDENCE:
        return Decision.MET
    if rank_sum(rivals, own) <= 1 - CONFIDENCE:
        return Decision.MISSED
    return Decision.OPEN


def rank_sum(low: Sequence[float], high: Sequence[float]) -> float:
    """Compute the one-sided P value of the rank-sum test that numbers in `low` are the smaller.

    It is the share of all ways to deal the numbers out to the two groups in which the ranks of the
    first sum up to as little; equal numbers share the mean of their ranks. Beyond `MOST_EXACT`
    numbers it is that of the normal law with the same mean and variance. Wilcoxon,
    Biometrics Bulletin 1 (1945), 80-83.
    """
    count = len(low) + len(high)
    _, place, tied = np.unique([*low, *high], return_inverse=True, return_counts=True)
    doubled = (2 * np.cumsum(tied) - tied + 1)[place]  # twice each rank, so that it is whole
    total = int(doubled[: len(low)].sum())
    if count > MOST_EXACT:
        mean = len(low) * (count + 1)
        variance = len(low) * len(high) * float(doubled.var()) / (count - 1)
        from_mean = (total + 1 - mean) / math.sqrt(variance) if variance else 0.0
        return math.erfc(-from_mean / math.sqrt(2)) / 2
    ways = np.zeros((len(low) + 1, total + 1))  # of so many numbers, by the sum of their ranks
    ways[0, 0] = 1
    for rank in doubled[doubled <= total]:
        ways[1:, rank:] += ways[:-1, : total + 1 - rank]
    return float(ways[-1].sum() / math.comb(count, len(low)))
