"""Sequences prepared for training and prediction, in the fast form or in the plain one.

Both forms answer the same four questions, so that the experiments do not know which one they use.
Tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from reproaudit.lab import Array, RunForm
from reproaudit.papers.chen2024 import fast, model
from reproaudit.papers.chen2024.fast import ParameterName, Parameters, Windows, count_windows
from reproaudit.papers.chen2024.model import Architecture, LossReading
from reproaudit.papers.chen2024.task import Sequences


class Prepared(Protocol):
    """Sequences under an architecture. What votes is a pair of windows, or a position."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the parameters."""

    def descend(
        self,
        at: Parameters,
        *,
        epochs: int,
        learning_rate: float,
        trained: Collection[ParameterName],
        reading: LossReading,
        epsilon: float,
    ) -> float:
        """Full-batch gradient descent on some of the parameters, in place.

        Returns:
            The trained loss before the last epoch.
        """

    def kernel(self, at: Parameters) -> Float[Array, "*voters"]:
        """K of everything that votes."""

    def vote(self, weight: Float[Array, "*voters"]) -> Float[Array, "sequence V"]:
        """The distributions that come out when everything votes with its weight."""

    def predict(self, at: Parameters) -> Float[Array, "sequence V"]:
        """The predicted distribution of x_{L+1}."""


@dataclass(frozen=True)
class Counted:
    """The fast form: see `fast`."""

    windows: Windows

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the parameters."""
        return self.windows.positions.dtype

    def descend(self, at: Parameters, **how: Any) -> float:
        """See `Prepared`."""
        return fast.descend(self.windows, at, **how)[0]

    def kernel(self, at: Parameters) -> Float[Array, " pair"]:
        """See `Prepared`."""
        return fast.kernel_of_pairs(self.windows, at)

    def vote(self, weight: Float[Array, " pair"]) -> Float[Array, "sequence V"]:
        """See `Prepared`."""
        return fast.vote(self.windows, weight)

    def predict(self, at: Parameters) -> Float[Array, "sequence V"]:
        """See `Prepared`."""
        return fast.predict(self.windows, at)


@dataclass(frozen=True)
class ByPosition:
    """The plain form: `model` on every position, with gradients from autograd.

    Attributes:
        architecture: of the model.
        sequence: the tokens, one-hot, in the precision of the parameters.
        targets: x_{L+1}.
    """

    architecture: Architecture
    sequence: Float[Tensor, "L sequence V"]
    targets: Int[Tensor, " sequence"]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the parameters."""
        return np.dtype(str(self.sequence.dtype).removeprefix("torch."))

    def descend(
        self,
        at: Parameters,
        *,
        epochs: int,
        learning_rate: float,
        trained: Collection[ParameterName],
        reading: LossReading,
        epsilon: float,
    ) -> float:
        """See `Prepared`."""
        tensors = _tensors(at)  # they share the memory of the arrays
        moving = [one for name, one in tensors._asdict().items() if name in trained]
        for one in moving:
            one.requires_grad_()
        last = float("nan")
        for _ in range(epochs):
            with torch.set_grad_enabled(bool(moving)):
                predictions = model.predict(self.sequence, tensors, self.architecture)
                loss = model.trained_loss(predictions, self.targets, reading, epsilon)
            last = float(loss.detach())
            slopes = torch.autograd.grad(loss, moving) if moving else ()
            with torch.no_grad():
                for one, slope in zip(moving, slopes, strict=True):
                    one -= learning_rate * slope
        return last

    def kernel(self, at: Parameters) -> Float[Array, "L sequence"]:
        """See `Prepared`."""
        return model.kernel(self.sequence, _tensors(at), self.architecture).numpy()

    def vote(self, weight: Float[Array, "L sequence"]) -> Float[Array, "sequence V"]:
        """See `Prepared`."""
        shares = torch.from_numpy(weight / weight.sum(axis=0))
        return (shares[:, :, None] * self.sequence).sum(dim=0).double().numpy()

    def predict(self, at: Parameters) -> Float[Array, "sequence V"]:
        """See `Prepared`."""
        return model.predict(self.sequence, _tensors(at), self.architecture).double().numpy()


def _tensors(at: Parameters) -> model.Parameters:
    return model.Parameters(*(torch.from_numpy(one) for one in at))


def prepare(
    sequences: Sequences,
    architecture: Architecture,
    vocabulary: int,
    dtype: type[np.floating[Any]],
    form: RunForm,
) -> Prepared:
    """Sequences prepared for a form.

    Args:
        sequences: what to prepare.
        architecture: which lags the heads see.
        vocabulary: V.
        dtype: of the parameters.
        form: fast or plain.

    Raises:
        ValueError: if a sequence is shorter than the longest lag.
    """
    if form == "fast":
        return Counted(count_windows(sequences, architecture, vocabulary, dtype))
    precision = torch.float32 if dtype is np.float32 else torch.float64
    tokens = model.one_hot(torch.from_numpy(sequences.tokens), vocabulary, precision)
    return ByPosition(architecture, tokens, torch.from_numpy(sequences.targets))
