"""The settings of each experiment, one dataclass each; their names are those of the audit."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True)
class Selection:
    """The task and the training of one attention layer on it, which all experiments share.

    Attributes:
        tokens: T, positions in training.
        selected: q, the subset's size.
        token_dimension: d.
        code_dimension: d_e.
        batch: samples per step.
        test_points: samples of the test set, drawn before training; whole batches.
        codes: ``stochastic``, redrawn at each step, or in a null ``fixed``, drawn once; the layer
            beside it has another draw.
        code_law: independent normals, independent signs, or uniform on a sphere.
        code_scale: ``unit`` (expected squared norm 1) or ``entries`` (variance 1 per entry).
        codes_drawn: one draw ``per_batch``, or ``per_sample``.
        query: ``own``, or in a control ``independent`` of the selected subset in training.
        targets: ``own``, or in a control ``turned``: coordinate k of the target is coordinate k + 1
            of the mean of the selected tokens, and the last is the first.
        subsets: ``uniform``, or in a control ``constant``, the same in every sample.
        learning_rate: of SGD at first.
        annealed_rate: from step ``anneal_at`` on.
        anneal_at: a training step.
        steps: of training.
        training_length: how long training is, as a multiple of ``steps`` and ``anneal_at``.
        loss_factor: c in the training loss c · mean ‖output − target‖².
        initial_scale: standard deviation of the entries of W_KQ and W_V at the start.
        attended: ``tokens`` (Z), or ``tokens_and_query`` ([Z, z_query]).
        precision: of training and of the test loss.
        reachable_draws: draws of the codes from which the best identity blocks are computed.
        weights: ``trained``; ``constructed``, the best identity blocks in place of training; or
            ``trained_on``, training that begins at them.
        companions: which layers beside the first are ``trained`` as well: all, the one with
            ``fixed_codes``, or none, ``untrained``.
        length_factors: lengths of the test sequences as multiples of T, increasing from 1.
        continuation: fixed codes beyond position T: ``drawn_further``, by the same law for each
            batch of test points; ``repeated`` from the start; or ``all_new``, from the first on.

    Raises:
        ValueError: if the settings do not go together.
    """

    tokens: int
    selected: int
    token_dimension: int
    code_dimension: int
    batch: int
    test_points: int
    codes: Literal["stochastic", "fixed"]
    code_law: Literal["gaussian", "signs", "sphere"]
    code_scale: Literal["unit", "entries"]
    codes_drawn: Literal["per_batch", "per_sample"]
    query: Literal["own", "independent"]
    targets: Literal["own", "turned"]
    subsets: Literal["uniform", "constant"]
    learning_rate: float
    annealed_rate: float
    anneal_at: int
    steps: int
    training_length: float
    loss_factor: float
    initial_scale: float
    attended: Literal["tokens", "tokens_and_query"]
    precision: Literal["float32", "float64"]
    reachable_draws: int
    weights: Literal["trained", "constructed", "trained_on"]
    companions: Literal["trained", "fixed_codes", "untrained"]
    length_factors: tuple[float, ...]
    continuation: Literal["drawn_further", "repeated", "all_new"]

    def __post_init__(self) -> None:
        if not 1 <= self.selected < self.tokens:
            raise ValueError(
                f"setting 'selected' is {self.selected}; it must be at least 1 and below "
                f"'tokens', {self.tokens}."
            )
        if self.test_points % self.batch:
            raise ValueError(
                f"setting 'test_points' is {self.test_points}; it must be a multiple of 'batch', "
                f"{self.batch}, since test points share their codes as a batch does."
            )
        factors = self.length_factors
        if len(factors) < 2 or factors[0] != 1 or list(factors) != sorted(set(factors)):
            raise ValueError(
                f"setting 'length_factors' is {list(factors)}; it must begin with 1 and increase."
            )

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the test sequences; the first is T."""
        return tuple(round(factor * self.tokens) for factor in self.length_factors)

    @property
    def code_norm(self) -> float:
        """The root of a code's expected squared norm."""
        return 1.0 if self.code_scale == "unit" else float(np.sqrt(self.code_dimension))

    @property
    def trained_steps(self) -> int:
        """The steps that are trained."""
        return max(1, round(self.training_length * self.steps))

    @property
    def attend_query(self) -> bool:
        """True where the query is among the attended tokens."""
        return self.attended == "tokens_and_query"

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """The precision as NumPy's type."""
        return np.float32 if self.precision == "float32" else np.float64

    def rate(self, step: int) -> float:
        """Return the learning rate of a training step."""
        annealed = step >= round(self.training_length * self.anneal_at)
        return self.annealed_rate if annealed else self.learning_rate


@dataclass(frozen=True)
class CodeDimensions(Selection):
    """Layers with codes of other dimensions beside the first.

    Attributes:
        dimensions: the values of d_e, increasing, ``code_dimension`` among them.
    """

    dimensions: tuple[int, ...]


@dataclass(frozen=True)
class FullyConnected(Selection):
    """Fully-connected nets on the batches of the layer, which is not trained.

    Attributes:
        hidden_layers: of the net.
        parameter_ratio: the net's parameters over those of the attention layer.
        subset_input: how the net sees the subset: ``multi_hot`` or ``positions``.
        net_init: ``uniform`` in ±1/√(fan-in), weights and biases; or ``he``: normal weights of
            variance 2/(fan-in), biases 0.
        net_rates: learning rates relative to the layer's, one net for each; the best one counts.
    """

    hidden_layers: int
    parameter_ratio: float
    subset_input: Literal["multi_hot", "positions"]
    net_init: Literal["uniform", "he"]
    net_rates: tuple[float, ...]

    @property
    def layer_parameters(self) -> int:
        """The numbers in W_KQ and W_V."""
        whole = self.token_dimension + self.code_dimension
        return whole * whole + self.token_dimension * whole

    @property
    def net_sizes(self) -> tuple[int, ...]:
        """The net's layers from inputs to outputs, of the width that best meets the wished size."""
        d = self.token_dimension
        inputs = d * self.tokens + (
            self.tokens if self.subset_input == "multi_hot" else self.selected
        )
        wished = round(self.parameter_ratio * self.layer_parameters)
        candidates = [
            (inputs, *[width] * self.hidden_layers, d)
            for width in range(1, max(2, wished // (inputs + 1) + 2))
        ]
        return min(candidates, key=lambda sizes: abs(net_parameters(sizes) - wished))


def net_parameters(sizes: tuple[int, ...]) -> int:
    """Count the parameters of a net with these layers, biases included."""
    return sum((before + 1) * after for before, after in pairwise(sizes))
