"""The model position by position, as the paper writes it: the form to hold against the text.

Every head of the first attention layer mixes the tokens at its lags, and the mixture is normalised
to unit length: v_h(l). The second attention layer compares the features of position l with those of
the position to be predicted, through

    K(l) = Σ_S c_S² Π_{h∈S} ⟨v_h(l), v_h(L+1)⟩ / Σ_S c_S²,

and lets the tokens vote with weights softmax(a K(l)). `Positions` trains it with gradients from
autograd, on the processor or a card; `reproaudit.papers.chen2024.fast` computes the same on counted
windows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from reproaudit.lab import Array

Subset = tuple[int, ...]
"""A set of heads, numbered from 1, or of lags."""

LagWindows = Literal["common", "own_onwards"]
LossReading = Literal["of_probabilities", "of_softmaxed_probabilities"]
ParameterName = Literal["lag_weights", "coefficients", "sharpness"]


@dataclass(frozen=True)
class Architecture:
    """The lags that the heads see, and the sets of heads that the second layer compares.

    Attributes:
        lags: of each head, the lags in its window; every head has as many.
        subsets: sets of the heads 1 … H, in the order of the coefficients c_S.
    """

    lags: tuple[tuple[int, ...], ...]
    subsets: tuple[Subset, ...]

    @classmethod
    def build(cls, lag_windows: LagWindows, heads: int, window: int, degree: int) -> Architecture:
        """The architecture of the settings.

        Args:
            lag_windows: ``common`` (every head sees lags 1 … M) or ``own_onwards`` (head h sees
                lags h … h + M − 1).
            heads: H.
            window: M, how many lags a head sees.
            degree: D, how many heads a subset may have.

        Raises:
            ValueError: if a head would not see its own lag.
        """
        first = [1 if lag_windows == "common" else head for head in range(1, heads + 1)]
        lags = tuple(tuple(range(lag, lag + window)) for lag in first)
        if not all(head in own for head, own in enumerate(lags, start=1)):
            raise ValueError(
                f"setting 'window' is {window}; with {lag_windows} lags {heads} heads need a "
                f"window of at least {heads if lag_windows == 'common' else 1}."
            )
        return cls(lags, subsets_up_to(heads, degree))

    @property
    def heads(self) -> int:
        """H."""
        return len(self.lags)

    @property
    def own_places(self) -> list[int]:
        """The place of each head's own lag (h of head h) in its window, from 0."""
        return [own.index(head) for head, own in enumerate(self.lags, start=1)]

    @property
    def longest_lag(self) -> int:
        """The longest lag that any head sees."""
        return max(max(own) for own in self.lags)


def subsets_up_to(heads: int, degree: int) -> tuple[Subset, ...]:
    """The subsets of the heads 1 … H with at most D members, smallest first."""
    return tuple(s for size in range(degree + 1) for s in combinations(range(1, heads + 1), size))


class Parameters(NamedTuple):
    """The parameters: arrays, which training changes in place, or tensors, for the equations.

    Attributes:
        lag_weights: w, the weights before the softmax over a head's window; (head, lag).
        coefficients: c_S; (subset,).
        sharpness: a, the factor before the second softmax; (1,).
    """

    lag_weights: Any
    coefficients: Any
    sharpness: Any


def subset_shares(coefficients: Float[Array, " subset"]) -> Float[Array, " subset"]:
    """p_S = c_S² / Σ c² of every subset, as measured."""
    squares = coefficients.astype(np.float64) ** 2
    return np.asarray(squares / squares.sum())


# ----------------------------------------------------------------------------------- the equations


def one_hot(
    tokens: Int[Tensor, "sequence L"], vocabulary: int, dtype: torch.dtype
) -> Float[Tensor, "L sequence {vocabulary}"]:
    """Sequences as the model sees them, position first."""
    return torch.nn.functional.one_hot(tokens.T.contiguous(), vocabulary).to(dtype)


def attention_to_lags(
    weights: Float[Tensor, " lag"], lags: Sequence[int], length: int
) -> Float[Tensor, "{length}+1 {length}"]:
    """First-layer attention of one head, from positions 1 … L + 1 to positions 1 … L.

    A softmax over the lags that do not reach before the start; a position with none attends to
    nothing.
    """
    steps = torch.arange(length + 1, device=weights.device)
    distance = steps[:, None] - steps[:length]
    scores = torch.full(distance.shape, -torch.inf, dtype=weights.dtype, device=weights.device)
    for index, lag in enumerate(lags):
        scores = torch.where(distance == lag, weights[index], scores)
    first = min(lags)
    attention = torch.softmax(scores[first:], dim=1)
    return torch.cat([torch.zeros_like(scores[:first]), attention])


def features(
    sequence: Float[Tensor, "L sequence V"], weights: Float[Tensor, " lag"], lags: Sequence[int]
) -> Float[Tensor, "L+1 sequence V"]:
    """v_h(l) of one head for l = 1 … L + 1, of unit length, or zero where no lag is present."""
    length, count, vocabulary = sequence.shape
    attention = attention_to_lags(weights, lags, length)
    mixture = (attention @ sequence.reshape(length, -1)).reshape(length + 1, count, vocabulary)
    squared = (mixture**2).sum(dim=2, keepdim=True)
    return mixture / torch.where(squared > 0, squared, 1.0).sqrt()


def kernel(
    sequence: Float[Tensor, "L sequence V"], at: Parameters, architecture: Architecture
) -> Float[Tensor, "L sequence"]:
    """K(l) for l = 1 … L."""
    similar = []
    for weights, lags in zip(at.lag_weights, architecture.lags, strict=True):
        v = features(sequence, weights, lags)
        similar.append((v[:-1] * v[-1]).sum(dim=2))
    squares = at.coefficients**2
    shares = squares / squares.sum()
    K = torch.zeros_like(similar[0])
    for share, subset in zip(shares, architecture.subsets, strict=True):
        K = K + share * math.prod((similar[head - 1] for head in subset), start=1.0)
    return K


def predict(
    sequence: Float[Tensor, "L sequence V"], at: Parameters, architecture: Architecture
) -> Float[Tensor, "sequence V"]:
    """The predicted distribution of x_{L+1}."""
    attention = torch.softmax(at.sharpness * kernel(sequence, at, architecture), dim=0)
    return (attention[:, :, None] * sequence).sum(dim=0)


def trained_loss(
    predictions: Float[Tensor, "sequence V"],
    targets: Int[Tensor, " sequence"],
    reading: LossReading,
    epsilon: float,
) -> Float[Tensor, ""]:
    """The mean loss under a reading of "cross-entropy of the output", in nats.

    Args:
        predictions: distributions.
        targets: x_{L+1}.
        reading: ``of_probabilities``, −log(p + ε); or ``of_softmaxed_probabilities``, which takes
            the probabilities for logits and cannot fall below log(1 + (V − 1)/e).
        epsilon: ε inside the logarithm of the first reading.
    """
    if reading == "of_softmaxed_probabilities":
        return torch.nn.functional.cross_entropy(predictions, targets)
    chosen = predictions.gather(1, targets[:, None])[:, 0]
    return -torch.log(chosen + epsilon).mean()


# -------------------------------------------------------------------------------------- training


class LossForm(Protocol):
    """Sequences ready for training: `Positions`, or `fast.Windows`.

    What votes is a position in the one, a pair of windows in the other.
    """

    def kernel(self, at: Parameters) -> Float[Array, "*voters"]:
        """K of everything that votes."""

    def vote(self, weight: Float[Array, "*voters"]) -> Float[Array, "sequence V"]:
        """The distributions when everything votes with its weight."""

    def predict(self, at: Parameters) -> Float[Array, "sequence V"]:
        """The predicted distribution of x_{L+1}."""

    def loss_and_gradient(
        self,
        at: Parameters,
        trained: Collection[ParameterName],
        reading: LossReading,
        epsilon: float,
    ) -> tuple[float, dict[ParameterName, Array]]:
        """The trained loss in nats, and its gradient by the named parameters."""


@dataclass(frozen=True)
class Positions:
    """The plain form: the equations on every position, with gradients from autograd.

    Attributes:
        architecture: of the model.
        sequence: the tokens, one-hot, in the precision of the parameters and on their device.
        targets: x_{L+1}.
    """

    architecture: Architecture
    sequence: Float[Tensor, "L sequence V"]
    targets: Int[Tensor, " sequence"]

    @classmethod
    def of(
        cls,
        tokens: Int[Array, "sequence L"],
        targets: Int[Array, " sequence"],
        architecture: Architecture,
        vocabulary: int,
        dtype: type[np.floating[Any]],
        device: str = "cpu",
    ) -> Positions:
        """Puts sequences on a device, in the precision of the parameters."""
        precision = torch.float32 if dtype is np.float32 else torch.float64
        x = one_hot(torch.from_numpy(tokens).to(device), vocabulary, precision)
        return cls(architecture, x, torch.from_numpy(targets).to(device))

    def kernel(self, at: Parameters) -> Float[Array, "L sequence"]:
        """See `LossForm`."""
        K = kernel(self.sequence, self._tensors(at), self.architecture)
        return np.asarray(K.cpu().numpy())

    def vote(self, weight: Float[Array, "L sequence"]) -> Float[Array, "sequence V"]:
        """See `LossForm`."""
        shares = torch.from_numpy(weight / weight.sum(axis=0)).to(self.sequence.device)
        return np.asarray((shares[:, :, None] * self.sequence).sum(dim=0).double().cpu().numpy())

    def predict(self, at: Parameters) -> Float[Array, "sequence V"]:
        """See `LossForm`."""
        predictions = predict(self.sequence, self._tensors(at), self.architecture)
        return np.asarray(predictions.double().cpu().numpy())

    def loss_and_gradient(
        self,
        at: Parameters,
        trained: Collection[ParameterName],
        reading: LossReading,
        epsilon: float,
    ) -> tuple[float, dict[ParameterName, Array]]:
        """See `LossForm`."""
        tensors = self._tensors(at)
        moving = {name: getattr(tensors, name).requires_grad_() for name in trained}
        predictions = predict(self.sequence, tensors, self.architecture)
        loss = trained_loss(predictions, self.targets, reading, epsilon)
        slopes = torch.autograd.grad(loss, list(moving.values())) if moving else ()
        by_name = zip(moving, slopes, strict=True)
        return float(loss.detach()), {name: slope.cpu().numpy() for name, slope in by_name}

    def _tensors(self, at: Parameters) -> Parameters:
        return Parameters(*(torch.from_numpy(one).to(self.sequence.device) for one in at))
