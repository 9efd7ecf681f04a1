"""What a world is, how its logs are drawn, and how its claim becomes an audit."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import yaml

from .curves import STEPS, Array, Log

OWN = "own"
"""The arm of the claim's own runs."""
CANNOT_TELL: Literal["cannot tell"] = "cannot tell"
Truth = Literal[True, False, "cannot tell"]
Run = Mapping[str, Log | Array | float]
"""What one run measured, by name."""
Arms = Mapping[str, Run]
"""What one seed measured, by arm."""

VARIABLES = (
    "Research Type",
    "Researcher Affiliation",
    "Pseudocode",
    "Open Source Code",
    "Open Datasets",
    "Dataset Splits",
    "Hardware Specification",
    "Software Dependencies",
    "Experiment Setup",
)


@dataclass(frozen=True)
class Seed:
    """One seed of a draw.

    Attributes:
        index: its number among the seeds, from 0.
        rng: its own generator.
        shared: a generator that gives every seed of the draw the same numbers.
    """

    index: int
    rng: np.random.Generator
    shared: np.random.Generator


@dataclass(frozen=True)
class World:
    """A claim, its logs, and what is true of it.

    Attributes:
        name: what is planted, in a few words joined by hyphens.
        claim: the claim in words, at most 25 of them.
        check: the check that an audit puts to it, as YAML.
        truth: whether the claim is true, or that nobody can tell from the logs.
        expert: what a fair expert would say, and why.
        measure: the measurements of every arm for one seed.
        decidable: whether a fair expert could decide it from the logs alone.
        controls: the arms that must fail.
        seeds: the number of runs of each arm.
        steps: the steps of training that the paper states.
        axes: of measurements with an axis, its name and coordinates.
        diverged: by arm, the seeds whose runs are known to have diverged.
        paired: whether arms share their seeds.
    """

    name: str
    claim: str
    check: str
    truth: Truth
    expert: str
    measure: Callable[[Seed], Arms]
    decidable: bool
    controls: tuple[str, ...] = ()
    seeds: int = 10
    steps: int = STEPS
    axes: Mapping[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    diverged: Mapping[str, frozenset[int]] = field(default_factory=dict)
    paired: bool = True

    @property
    def kind(self) -> str:
        """Return the kind of the check."""
        return str(self.fields["kind"])

    @property
    def fields(self) -> dict[str, Any]:
        """Return the fields of the check."""
        fields: dict[str, Any] = yaml.safe_load(self.check)
        return fields

    @property
    def slug(self) -> str:
        """Return the slug of the audit."""
        return self.name.replace("-", "_")

    @property
    def compares(self) -> bool:
        """Return whether arms are compared: with a baseline, or with a control that decides."""
        several = len(self.draw(0)[0]) > 1
        return several and self.kind in ("beats", "reaches", "stages", "concentrates")

    def draw(self, number: int) -> list[Arms]:
        """Return the measurements of every seed, in one of the draws."""
        key = [zlib.crc32(self.name.encode()), number]
        return [
            self.measure(
                Seed(i, np.random.default_rng([*key, 1, i]), np.random.default_rng([*key, 0]))
            )
            for i in range(self.seeds)
        ]

    def audit(self) -> dict[str, Any]:
        """Return the audit with this one claim."""
        arms = self.draw(0)[0]
        claim = {
            "id": f"{self.slug}.claim",
            "says": self.claim,
            "short": "the planted claim holds",
            "locator": "Section 4",
            "main": True,
            "experiment": "training",
            "headline": [self.fields],
        }
        if self.controls:
            claim["nulls"] = list(self.controls)
        else:
            claim["no_control"] = "The paper reports none."
        return {
            "schema_version": 2,
            "paper": {
                "slug": self.slug,
                "title": f"Planted: {self.name}",
                "authors": ["Nobody"],
                "venue": "None",
                "year": 2026,
            },
            "runs": {"quick": 5, "paper": max(5, self.seeds), "arms": max(5, self.seeds)},
            "variables": [_variable(name) for name in VARIABLES],
            "settings": {
                "steps": {"value": self.steps, "source": "paper", "locator": "Section 4"},
                "arm": {"value": OWN, "source": "paper", "locator": "Section 4"},
            },
            "experiments": {
                "training": {
                    "title": "Training",
                    "measurements": {
                        name: self._declaration(name, value) for name, value in arms[OWN].items()
                    },
                }
            },
            "arms": {
                name: {"settings": {"arm": name}, "why": "The paper has it."}
                for name in arms
                if name != OWN
            },
            "claims": [claim],
        }

    def _declaration(self, name: str, value: Log | Array | float) -> dict[str, Any]:
        if isinstance(value, tuple):
            kind = "series"
        else:
            kind = "scalar" if isinstance(value, float) else "array"
        declared: dict[str, Any] = {"kind": kind, "unit": "1", "meaning": "Planted."}
        if name in self.axes:
            axis, values = self.axes[name]
            declared["axes"] = [{"name": axis, "values": list(values)}]
        return declared


def _variable(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "card": {"result": "No", "as_of": "2026-11-20"},
        "evidence": [{"statement": "Planted.", "locator": "nowhere"}],
    }


WORLDS: list[World] = []
"""All worlds, in the order in which they are written."""


def world(
    name: str,
    claim: str,
    check: str,
    *,
    truth: Truth,
    expert: str,
    **more: Any,
) -> Callable[[Callable[[Seed], Arms]], Callable[[Seed], Arms]]:
    """Add a world whose measurements the decorated function makes.

    Args:
        name: the world's name.
        claim: the claim in words.
        check: the check as YAML.
        truth: whether it is true.
        expert: what a fair expert would say.
        more: any other field of `World`; `decidable` is whether there is a truth, if left out.
    """

    def add(measure: Callable[[Seed], Arms]) -> Callable[[Seed], Arms]:
        more.setdefault("decidable", truth != CANNOT_TELL)
        WORLDS.append(World(name, claim, check, truth, expert, measure, **more))
        return measure

    return add
