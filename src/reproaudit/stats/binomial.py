"""Exact decisions on a count: how many of n runs say yes."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum

FEWEST_RUNS = 5
"""The fewest runs that can decide."""

CONFIDENCE = 0.95
"""One-sided confidence of every decision."""


class Decision(StrEnum):
    """What the runs decide."""

    MET = "met"
    MISSED = "missed"
    OPEN = "open"


def decide_count(yes: int, runs: int, share: float = 0.5) -> Decision:
    """Decide whether more than a share of all runs would say yes, at 95 % one-sided confidence.

    *Met* if so many yes in n runs were improbable for a share this small; *missed* if so many no
    were improbable for a share this large; *open* otherwise, as with fewer than five runs.

    Raises:
        ValueError: for a count that is no share of the runs.
    """
    _check(yes, runs)
    if _at_least(yes, runs, share) <= 1 - CONFIDENCE:
        return Decision.MET
    if _at_least(runs - yes, runs, 1 - share) <= 1 - CONFIDENCE:
        return Decision.MISSED
    return Decision.OPEN


def share_interval(yes: int, runs: int, confidence: float = 0.9) -> tuple[float, float]:
    """Compute the exact two-sided interval of a share; (0, 1) without runs.

    Clopper and Pearson, Biometrika 26, 1934.
    """
    _check(yes, runs)
    tail = (1 - confidence) / 2
    low = _root(lambda p: _at_least(yes, runs, p) - tail) if yes else 0.0
    high = _root(lambda p: tail - _at_least(runs - yes, runs, 1 - p))
    return low, high


def fewer_yes(few: int, of_few: int, many: int, of_many: int) -> float:
    """Compute the one-sided P value of Fisher's exact test that `few` of `of_few` is less."""
    yes = few + many
    ways = math.comb(of_few + of_many, few + many)
    least = max(0, yes - of_many)
    tables = (math.comb(of_few, k) * math.comb(of_many, yes - k) for k in range(least, few + 1))
    return sum(tables) / ways


def _at_least(count: int, runs: int, share: float) -> float:
    """The probability of at least so many successes."""
    terms = (
        math.comb(runs, k) * share**k * (1 - share) ** (runs - k) for k in range(count, runs + 1)
    )
    return math.fsum(terms)


def _root(rising: Callable[[float], float]) -> float:
    """The root of a rising function on [0, 1], by bisection to the last bit that matters."""
    low = 0.0
    high = 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


def _check(yes: int, runs: int) -> None:
    if not 0 <= yes <= runs:
        raise ValueError(f"{yes} of {runs} runs is no share")
