"""The model position by position, as the paper writes it: the form to hold against the text.

Every head of the first attention layer mixes the tokens at its lags, and the mixture is normalised
to unit length: v_h(l). The second attention layer compares the features of position l with those of
the position to be predicted, through

    K(l) = Σ_S c_S² Π_{h∈S} ⟨v_h(l), v_h(L+1)⟩ / Σ_S c_S²,

and lets the tokens vote with weights softmax(a K(l)). `reproaudit.papers.chen2024.fast` computes
the same on counted windows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

Subset = tuple[int, ...]
"""A set of heads, numbered from 1, or of lags."""

LagWindows = Literal["common", "own_onwards"]
LossReading = Literal["of_probabilities", "of_softmaxed_probabilities"]


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
    """The trained parameters.

    Attributes:
        lag_weights: w, the weights before the softmax over a head's window.
        coefficients: c_S.
        sharpness: a, the factor before the second softmax.
    """

    lag_weights: Float[Tensor, "head lag"]
    coefficients: Float[Tensor, " subset"]
    sharpness: Float[Tensor, " 1"]


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
    distance = torch.arange(length + 1)[:, None] - torch.arange(length)
    scores = torch.full(distance.shape, -torch.inf, dtype=weights.dtype)
    for index, lag in enumerate(lags):
        scores = torch.where(distance == lag, weights[index], scores)
    first = min(lags)
    attention = torch.softmax(scores[first:], dim=1)
    return torch.cat([torch.zeros(first, length, dtype=weights.dtype), attention])


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
