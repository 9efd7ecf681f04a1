"""Confirmation: seeds that nobody could choose, and an error that all looks share.

Every rule that is sealed gives seeds of its own and is a look, whether or not it is confirmed. The
k-th look spends α_k = α · 6/(π² k²) of the error α that the audit allows for each claim. These
shares add up to α however many looks there are.

At look k the interval of a mean and the count of runs beside it both have the error α_k. A part
that is judged over every seed has no interval. So that its count, too, errs with probability α_k at
most, a look has at least n seeds, where 2^-n ≤ α_k: if half of all runs lie beyond the limit, n
runs all lie within it by chance with probability 2^-n. This holds whatever law the runs follow.
How far the mean's interval errs under skewed laws is measured (`docs/calibration.md`).

If a cell of a confirmation fails, it can be run again; finished cells are kept. But a cell may fail
depending on what it would have shown, and no smaller error makes up for that. So the result of such
a confirmation is shown, and confirms nothing.

Changes made before the first seal spend nothing: they chose among other seeds, which no
confirmation uses.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

from reproaudit.seals.entries import BegunEntry, ResultEntry, SealEntry, SealsEntry

SEEDS_BELOW = 10**9
"""Derived seeds are smaller, so that ``--seeds`` can name them."""


def error_of_look(look: int, alpha: float) -> float:
    """The error that a look may spend.

    Args:
        look: its number, from 1.
        alpha: the error that all looks together may spend.
    """
    return alpha * 6 / (math.pi * look) ** 2


def seeds_of_look(error: float, own: int) -> int:
    """The number of seeds of a look at a tier: the audit's, or more if its error needs them.

    So many runs that all meet a limit are as rare as the error, if half of all runs do so: the
    smallest n with 2^-n ≤ error.

    Args:
        error: from `error_of_look`.
        own: the number of the audit's seeds at this tier.
    """
    return max(own, math.ceil(-math.log2(error)))


@dataclass(frozen=True)
class Confirmation:
    """The confirmation of one rule, as a chain of seals tells it.

    Attributes:
        begun: its beginning.
        failed: the number of its tries of which a cell failed.
    """

    begun: BegunEntry
    failed: int

    @classmethod
    def of(cls, entries: Sequence[SealsEntry], rule: str) -> Confirmation | None:
        """The confirmation of a rule; None if it was not begun."""
        begun, failed = None, 0
        for entry in entries:
            if isinstance(entry, BegunEntry) and entry.rule == rule:
                begun = begun or entry
            elif begun is not None and isinstance(entry, ResultEntry) and entry.rule == rule:
                if entry.confirmation:
                    break
                failed += any(one.has_failed for one in entry.claims.values())
        return None if begun is None else cls(begun, failed)

    @property
    def after_failures(self) -> str:
        """The consequence of its failed tries, in words; empty if none failed."""
        if not self.failed:
            return ""
        tries = "one try" if self.failed == 1 else f"{self.failed} tries"
        return f"of which cells failed in {tries}, so that it confirms nothing"


def looks_sealed(entries: Sequence[SealsEntry]) -> list[str]:
    """Every rule that was sealed, once, in the order of its first seal."""
    return list(dict.fromkeys(one.rule for one in entries if isinstance(one, SealEntry)))


def derived_seeds(rule: str, tier: str, count: int) -> tuple[int, ...]:
    """The seeds that follow from a rule: distinct, and not to be foreseen before it is known.

    Args:
        rule: the rule's hash.
        tier: the tier, which has seeds of its own.
        count: how many.
    """
    seeds: dict[int, None] = {}
    number = 0
    while len(seeds) < count:
        word = hashlib.sha256(f"{rule} {tier} {number}".encode()).digest()
        seeds[int.from_bytes(word[:16], "big") % SEEDS_BELOW] = None
        number += 1
    return tuple(seeds)
