"""The smallest set of settings behind a changed decision.

Sets are tried by increasing size, all of one size together, so that the first sets found are
smallest, and all sets of their size are found. When the next size would take more trials than
allowed, delta debugging (Zeller and Hildebrandt, IEEE Trans. Softw. Eng. 28, 2002) shrinks the
whole set instead: the set that it finds needs every one of its settings, but a smaller set may
exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

MOST_TRIALS = 64
"""The number of sets that are tried by size before delta debugging takes over."""

SmallestSet = tuple[int, ...]
"""The indices of the settings in the set, increasing."""

Flips = Callable[[Sequence[SmallestSet]], Sequence[bool]]
"""Tries several sets at once, and says of each whether it flips the decision."""


@dataclass(frozen=True)
class SmallestSets:
    """The smallest sets of settings that flip a decision.

    Attributes:
        sets: every smallest set, or one that cannot be shrunk.
        exhaustive: whether every smaller set was tried.
        trials: the number of sets that were tried.
    """

    sets: tuple[SmallestSet, ...]
    exhaustive: bool
    trials: int


def smallest_sets(count: int, flips: Flips, most_trials: int = MOST_TRIALS) -> SmallestSets:
    """The smallest of the sets of `count` settings that flip a decision; all of them together do.

    Args:
        count: the number of settings that differ, at least 1.
        flips: tries several sets at once.
        most_trials: the largest number of sets that are tried by size.
    """
    trials = 0
    for size in range(1, count):
        if trials + math.comb(count, size) > most_trials:
            shrunk, more = _shrink(tuple(range(count)), flips)
            return SmallestSets((shrunk,), exhaustive=False, trials=trials + more)
        tried = list(combinations(range(count), size))
        trials += len(tried)
        found = [one for one, flip in zip(tried, flips(tried), strict=True) if flip]
        if found:
            return SmallestSets(tuple(found), exhaustive=True, trials=trials)
    return SmallestSets((tuple(range(count)),), exhaustive=True, trials=trials)


def _shrink(whole: SmallestSet, flips: Flips) -> tuple[SmallestSet, int]:
    """Delta debugging: a set from which nothing can be left out, and the number of trials."""
    trials, parts = 0, 2
    while len(whole) > 1:
        chunks = _cut(whole, parts)
        rests = [tuple(i for i in whole if i not in chunk) for chunk in chunks]
        tried = [*chunks, *(rests if parts > 2 else [])]
        trials += len(tried)
        found = next((one for one, f in zip(tried, flips(tried), strict=True) if f), None)
        if found is not None:
            parts = 2 if found in chunks else max(parts - 1, 2)
            whole = found
        elif parts < len(whole):
            parts = min(2 * parts, len(whole))
        else:
            break
    return whole, trials


def _cut(whole: SmallestSet, parts: int) -> list[SmallestSet]:
    ends = [round(i * len(whole) / parts) for i in range(parts + 1)]
    return [whole[a:b] for a, b in pairwise(ends) if b > a]
