"""The settings of the experiments; the audit gives every value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reproaudit.errors import UsageError


@dataclass(frozen=True)
class Task:
    """What all experiments share.

    Attributes:
        tokens: T, positions in training.
        selected: q, the subset's size.
        token_dimension: d.
        code_dimension: d_e.
        batch: samples per step.
        learning_rate: of SGD at first.
        annealed_rate: from step ``anneal_at`` on.
        anneal_at: a training step.
        steps: of training.
        loss_factor: c in the training loss c · mean ‖output − target‖².
        initial_scale: standard deviation of the entries of W_KQ and W_V at the start.
        codes: ``stochastic``, redrawn at each step, or ``fixed``, drawn once.
        code_law: ``gaussian``, ``signs`` or ``sphere``.
        code_scale: ``unit`` (expected squared norm 1) or ``entries`` (variance 1 per entry).
        codes_drawn: one draw ``per_batch``, or ``per_sample``.
        attended: ``tokens`` (Z), or ``tokens_and_query`` ([Z, z_query]).
        precision: ``float32`` or ``float64``, of training and of the test loss.
        test_points: samples of the test set, drawn before training; whole batches.
        reachable_draws: draws of the codes from which the best identity blocks are computed.
        query: ``own``, or in a control ``independent`` of the selected subset in training.
        targets: ``own``, or in a control ``shuffled``, taken from another sample's tokens.
        subsets: ``uniform``, or in a control ``constant``, the same in every sample.
        weights: ``trained``, or ``constructed``: the best identity blocks in place of training.
    """

    tokens: int
    selected: int
    token_dimension: int
    code_dimension: int
    batch: int
    learning_rate: float
    annealed_rate: float
    anneal_at: int
    steps: int
    loss_factor: float
    initial_scale: float
    codes: str
    code_law: str
    code_scale: str
    codes_drawn: str
    attended: str
    precision: str
    test_points: int
    reachable_draws: int
    query: str
    targets: str
    subsets: str
    weights: str

    def __post_init__(self) -> None:
        for name, known in WORDS.items():
            if hasattr(self, name) and getattr(self, name) not in known:
                raise UsageError(
                    f"setting '{name}' is {getattr(self, name)!r}. Known: {', '.join(known)}."
                )
        if not 1 <= self.selected < self.tokens:
            raise UsageError(
                f"setting 'selected' is {self.selected}; it must be at least 1 and below "
                f"'tokens', {self.tokens}."
            )
        if self.test_points % self.batch:
            raise UsageError(
                f"setting 'test_points' is {self.test_points}; it must be a multiple of 'batch', "
                f"{self.batch}, since test points share their codes as a batch does."
            )

    @property
    def code_norm(self) -> float:
        """The root of a code's expected squared norm."""
        return 1.0 if self.code_scale == "unit" else float(np.sqrt(self.code_dimension))

    @property
    def entry_scale(self) -> float:
        """The standard deviation of a code's entry."""
        return self.code_norm / float(np.sqrt(self.code_dimension))

    @property
    def attend_query(self) -> bool:
        """Whether the query stands among the attended tokens."""
        return self.attended == "tokens_and_query"

    @property
    def dtype(self) -> Any:
        """The precision as NumPy's type."""
        return np.float32 if self.precision == "float32" else np.float64

    @property
    def initial_loss(self) -> float:
        """½ × expected squared error of the output 0: d/(2q)."""
        return self.token_dimension / (2 * self.selected)


@dataclass(frozen=True)
class DimensionTask(Task):
    """Training at several code dimensions; ``code_dimension`` is not used.

    Attributes:
        dimensions: the values of d_e, increasing.
    """

    dimensions: tuple[int, ...]


@dataclass(frozen=True)
class LengthTask(Task):
    """Two models, trained alike but for their codes, on longer sequences; ``codes`` is not used.

    Attributes:
        length_factors: lengths of the validation sequences as multiples of T, increasing from 1.
        validation_points: samples per length, drawn before training.
        validation_codes: ``per_point``, each with codes of its own, or ``shared`` by a length's
            points; of the stochastic model.
        continuation: fixed codes beyond position T: ``drawn_ahead`` with the others and never
            trained on, ``repeated`` from the start, or ``redrawn`` for every point.
        first_arm: ``stochastic``, or in a control ``fixed``: fixed codes of another draw.
    """

    length_factors: tuple[float, ...]
    validation_points: int
    validation_codes: str
    continuation: str
    first_arm: str

    def __post_init__(self) -> None:
        super().__post_init__()
        factors = self.length_factors
        if len(factors) < 2 or factors[0] != 1 or list(factors) != sorted(set(factors)):
            raise UsageError(
                f"setting 'length_factors' is {list(factors)}; it must begin with 1 and increase."
            )

    @property
    def lengths(self) -> tuple[int, ...]:
        """Of the validation sequences; the first is T."""
        return tuple(round(factor * self.tokens) for factor in self.length_factors)


@dataclass(frozen=True)
class BaselineTask(Task):
    """The layer and a fully-connected net on the same batches.

    Attributes:
        hidden_layers: of the net.
        parameter_ratio: the net's parameters over those of the attention layer.
        subset_input: how the net sees the subset: ``multi_hot`` or ``positions``.
        net_init: ``uniform`` in ±1/√(fan-in), or ``he``.
        net_rates: learning rates relative to the layer's; the one that ends best counts.
    """

    hidden_layers: int
    parameter_ratio: float
    subset_input: str
    net_init: str
    net_rates: tuple[float, ...]


WORDS = {
    "codes": ("stochastic", "fixed"),
    "code_law": ("gaussian", "signs", "sphere"),
    "code_scale": ("unit", "entries"),
    "codes_drawn": ("per_batch", "per_sample"),
    "attended": ("tokens", "tokens_and_query"),
    "precision": ("float32", "float64"),
    "query": ("own", "independent"),
    "targets": ("own", "shuffled"),
    "subsets": ("uniform", "constant"),
    "weights": ("trained", "constructed"),
    "validation_codes": ("per_point", "shared"),
    "continuation": ("drawn_ahead", "repeated", "redrawn"),
    "first_arm": ("stochastic", "fixed"),
    "subset_input": ("multi_hot", "positions"),
    "net_init": ("uniform", "he"),
}
"""What a setting that is a word may be."""
