"""The settings of the experiments, and the phases of training that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from reproaudit.papers.chen2024.model import Architecture, LagWindows, LossReading, ParameterName


@dataclass(frozen=True)
class Phase:
    """A phase of training: so many full-batch steps on some of the parameters."""

    name: str
    epochs: int
    learning_rate: float
    trained: tuple[ParameterName, ...]


@dataclass(frozen=True)
class Settings:
    """The settings that both experiments share.

    Attributes:
        vocabulary: V, the number of different tokens.
        order: how many of the latest tokens the next one depends on; these are its parents.
        length: L, the tokens of a sequence that the model sees.
        dirichlet: the concentration of the law of the transition tables' rows.
        training_sequences: how many there are.
        validation_sequences: how many there are; also of each set that a model is taken to.
        training_data: ``own_chain``; in controls ``shuffled_targets`` (each sequence has the
            target of another) or ``other_parents`` (every token depends on those at lags 2 … order
            + 1 and not on the latest). Validation sequences are always proper ones.
        information_chains: how many chains the information of the subsets is averaged over.
        heads: H.
        degree: D, how many heads a subset may have.
        window: M, how many lags a head sees.
        lag_windows: ``common`` (lags 1 … M) or ``own_onwards`` (head h sees h … h + M − 1).
        own_lag_weight: the initial weight of head h on lag h.
        other_lag_weight: the initial weight on the other lags.
        initial_coefficient: of every subset.
        initial_sharpness: a at the start.
        cross_entropy: how "cross-entropy of the output" is read in training.
        epsilon: ε inside the logarithm of every loss.
        precision: of the parameters.
        observations: about how often the parameters are looked at in a phase.
        weights: ``trained``, or ``constructed``: the induction head in place of training.
    """

    vocabulary: int
    order: int
    length: int
    dirichlet: float
    training_sequences: int
    validation_sequences: int
    training_data: Literal["own_chain", "shuffled_targets", "other_parents"]
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
class Staged(Settings):
    """Settings of the three stages, one parameter group after another.

    Attributes:
        data_from_stage: the first stage that trains on `training_data`; those before it train on
            proper sequences.
        stage_1_epochs: of stage I, which trains c_S.
        stage_2_epochs: of stage II, which trains w.
        stage_3_epochs: of stage III, which trains a.
        stage_1_learning_rate: of stage I.
        stage_2_learning_rate: of stage II.
        stage_3_learning_rate: of stage III.
        transfer_lengths: lengths of the sequences that the trained model is taken to.
        transfer_dirichlets: concentrations of the chains that it is taken to.
    """

    data_from_stage: Literal[1, 2, 3]
    stage_1_epochs: int
    stage_2_epochs: int
    stage_3_epochs: int
    stage_1_learning_rate: float
    stage_2_learning_rate: float
    stage_3_learning_rate: float
    transfer_lengths: tuple[int, ...]
    transfer_dirichlets: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for length in self.transfer_lengths:
            self._check_length("transfer_lengths", length)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The three stages in their order."""
        return (
            Phase("stage_1", self.stage_1_epochs, self.stage_1_learning_rate, ("coefficients",)),
            Phase("stage_2", self.stage_2_epochs, self.stage_2_learning_rate, ("lag_weights",)),
            Phase("stage_3", self.stage_3_epochs, self.stage_3_learning_rate, ("sharpness",)),
        )


@dataclass(frozen=True)
class Simultaneous(Settings):
    """Settings of training everything at once."""

    epochs: int
    learning_rate: float

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The one phase."""
        everything: tuple[ParameterName, ...] = ("lag_weights", "coefficients", "sharpness")
        return (Phase("together", self.epochs, self.learning_rate, everything),)
