"""The settings of the experiments, and the phases of training that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from reproaudit.papers.chen2024.model import Architecture, LagWindows, LossReading, ParameterName

GROUPS: dict[str, ParameterName] = {"c": "coefficients", "w": "lag_weights", "a": "sharpness"}
"""The groups of parameters, by the letters that name them in the settings."""


@dataclass(frozen=True)
class Phase:
    """A phase of training: so many full-batch steps on some of the parameters."""

    name: str
    epochs: int
    learning_rate: float
    trained: tuple[ParameterName, ...]


@dataclass(frozen=True)
class Settings:
    """The settings that all experiments share; the audit documents every field.

    Attributes:
        training_data: ``own_chain``; in controls ``shuffled_targets`` (each sequence has the
            target of another) or ``other_parents`` (every token depends on those at lags 2 … order
            + 1 and not on the latest). Validation sequences are always proper ones.
        data_from_phase: the first phase that trains on `training_data`; those before it train on
            proper sequences.
        skips: the phases that take no step, from 1 and joined by +, or ``none``.
        weights: ``trained``, or ``constructed``: the induction head in place of training.
    """

    vocabulary: int
    order: int
    length: int
    dirichlet: float
    training_sequences: int
    validation_sequences: int
    training_data: Literal["own_chain", "shuffled_targets", "other_parents"]
    data_from_phase: int
    skips: str
    information_chains: int
    heads: int
    degree: int
    window: int
    lag_windows: LagWindows
    own_lag_weight: float
    other_lag_weight: float
    initial_coefficient: float
    initial_sharpness: float
    cross_entropy: LossReading
    epsilon: float
    precision: Literal["float32", "float64"]
    observations: int
    weights: Literal["trained", "constructed"]

    def __post_init__(self) -> None:
        self._check_length("length", self.length)

    def _check_length(self, name: str, length: int) -> None:
        if length < self.architecture.longest_lag:
            raise ValueError(
                f"setting '{name}' has {length}; a sequence needs at least "
                f"{self.architecture.longest_lag} tokens, the longest lag."
            )

    @cached_property
    def architecture(self) -> Architecture:
        """The lags that the heads see, and the sets of heads that are compared."""
        return Architecture.build(self.lag_windows, self.heads, self.window, self.degree)

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """The precision as NumPy's type."""
        return np.float32 if self.precision == "float32" else np.float64


@dataclass(frozen=True)
class InPhases(Settings):
    """Settings of training in phases, one after another.

    Attributes:
        phases: what each phase trains, of c, w and a, joined by +.
        epochs: of each phase.
        learning_rates: of each phase.
    """

    phases: tuple[str, ...]
    epochs: tuple[int, ...]
    learning_rates: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not len(self.phases) == len(self.epochs) == len(self.learning_rates):
            raise ValueError("setting 'phases' needs one entry in epochs and learning_rates each")
        if unknown := {one for phase in self.phases for one in phase.split("+")} - GROUPS.keys():
            raise ValueError(f"setting 'phases' has {min(unknown)}; expected c, w and a, with +")

    @property
    def schedule(self) -> tuple[Phase, ...]:
        """The phases in their order."""
        skipped = self.skips.split("+")
        each = zip(self.phases, self.epochs, self.learning_rates, strict=True)
        return tuple(
            Phase(
                f"phase_{number}",
                epochs,
                0.0 if str(number) in skipped else rate,
                tuple(GROUPS[one] for one in trained.split("+")),
            )
            for number, (trained, epochs, rate) in enumerate(each, start=1)
        )


@dataclass(frozen=True)
class Transferred(InPhases):
    """Settings of a model that is taken to other sequences after training.

    Attributes:
        transfer_lengths: their lengths.
        transfer_dirichlets: the concentrations of their chains.
    """

    transfer_lengths: tuple[int, ...]
    transfer_dirichlets: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for length in self.transfer_lengths:
            self._check_length("transfer_lengths", length)
