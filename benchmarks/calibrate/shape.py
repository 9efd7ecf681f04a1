"""What a shape is: a plain, seeded generator of the measurements of many audits."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Curves:
    """Series of one measurement: `values` of shape (audit, seed, step), seen at `steps`."""

    steps: tuple[int, ...]
    values: Numbers


Draw = Mapping[str, Numbers | Curves]
"""Measurements by name: numbers of shape (audit, seed), arrays (audit, seed, size), or curves."""


@dataclass(frozen=True)
class Shape:
    """One way in which a claim can be untrue (a null), or true (a phenomenon).

    Attributes:
        kind: of the check that judges it.
        name: in a few words, unique among the shapes of its kind.
        draw: from a generator of random numbers, the number of audits and of seeds in each.
        block: fields of the check that differ from the kind's usual ones (`blocks`).
        seeds: in each audit; five is what audits have at least.
        ranges: the declared range of a measurement, for shapes that are about ranges.
    """

    kind: str
    name: str
    draw: Callable[[np.random.Generator, int, int], Draw]
    block: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 5
    ranges: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)

    def measurements(self, audits: int) -> Draw:
        """The same measurements in every process and order: the seed is made of the name."""
        seed = zlib.crc32(f"{self.kind}/{self.name}".encode())
        return self.draw(np.random.default_rng(seed), audits, self.seeds)
