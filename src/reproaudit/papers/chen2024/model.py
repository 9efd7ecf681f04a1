"""The two-attention-layer model, position by position: what a reader holds against the paper.

Every head of the first layer mixes the tokens at its lags and normalises the mixture to unit
length, v_h(l). The second layer compares the features of position l with those of the position to
be predicted, through K(l) = Σ_S c_S² Π_{h∈S} ⟨v_h(l), v_h(L+1)⟩ / Σ_S c_S², and lets the tokens
vote with weights softmax(a K(l)). `reproaudit.papers.chen2024.windows` computes the same faster.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reproaudit.errors import AuditError
from reproaudit.papers.chen2024.data import Subset

READINGS = ("of_probabilities", "of_softmaxed_probabilities")


def lags_of_heads(lag_windows: str, heads: int, window: int) -> tuple[tuple[int, ...], ...]:
    """The lags that each head sees.

    Args:
        lag_windows: ``"common"`` (lags 1 … M for every head) or ``"own_onwards"`` (head h sees
            lags h … h + M − 1).
        heads: H.
        window: M, how many lags a head sees.

    Raises:
        AuditError: if the arrangement is unknown, or a head would not see its own lag.
    """
    if lag_windows == "own_onwards":
        return tuple(tuple(range(h, h + window)) for h in range(1, heads + 1))
    if lag_windows != "common":
        raise AuditError(
            f"lag_windows: unknown arrangement '{lag_windows}'. Use common or own_onwards."
        )
    if window < heads:
        raise AuditError(f"window: {heads} heads with common lags need a window of {heads} lags.")
    return tuple(tuple(range(1, window + 1)) for _ in range(heads))


@dataclass
class Parameters:
    """What is trained.

    Attributes:
        lag_weights: w, the weights before the softmax, shape (head, lag).
        coefficients: c_S, shape (subset,).
        sharpness: a, shape (1,).
    """

    lag_weights: Tensor
    coefficients: Tensor
    sharpness: Tensor


def one_hot(tokens: Tensor, vocabulary: int, dtype: torch.dtype) -> Tensor:
    """Sequences as the model sees them, position first: shape (L, sequence, vocabulary)."""
    return torch.nn.functional.one_hot(tokens.T.contiguous(), vocabulary).to(dtype)


def attention_to_lags(weights: Tensor, lags: Sequence[int], length: int) -> Tensor:
    """First-layer attention of one head from l = 1 … L + 1 to 1 … L, shape (L + 1, L).

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


def features(sequence: Tensor, weights: Tensor, lags: Sequence[int]) -> Tensor:
    """v_h(l) of one head for l = 1 … L + 1, shape (L + 1, sequence, vocabulary)."""
    length, count, vocabulary = sequence.shape
    attention = attention_to_lags(weights, lags, length)
    mixture = (attention @ sequence.reshape(length, -1)).reshape(length + 1, count, vocabulary)
    squared = (mixture**2).sum(dim=2, keepdim=True)
    return mixture / torch.where(squared > 0, squared, 1.0).sqrt()


def predict(
    sequence: Tensor, at: Parameters, *, lags: Sequence[Sequence[int]], subsets: Sequence[Subset]
) -> Tensor:
    """The predicted distribution of x_{L+1}.

    Args:
        sequence: from `one_hot`.
        at: the parameters.
        lags: what each head sees, from `lags_of_heads`.
        subsets: of the heads, in the order of the coefficients.

    Returns:
        Shape (sequence, vocabulary).
    """
    similar = []
    for head, own in enumerate(lags):
        vectors = features(sequence, at.lag_weights[head], own)
        similar.append((vectors[:-1] * vectors[-1]).sum(dim=2))
    squares = at.coefficients**2
    shares = squares / squares.sum()
    kernel = torch.zeros_like(similar[0])
    for share, subset in zip(shares, subsets, strict=True):
        kernel = kernel + share * math.prod((similar[head - 1] for head in subset), start=1.0)
    attention = torch.softmax(at.sharpness * kernel, dim=0)
    return (attention[:, :, None] * sequence).sum(dim=0)


def loss(predictions: Tensor, targets: Tensor, reading: str, epsilon: float) -> Tensor:
    """The mean loss under a reading of "cross-entropy of the output".

    Args:
        predictions: distributions, shape (sequence, vocabulary).
        targets: shape (sequence,).
        reading: ``"of_probabilities"``, −log(p + ε); or ``"of_softmaxed_probabilities"``, which
            takes the probabilities for logits and cannot fall below log(1 + (V − 1)/e).
        epsilon: inside the logarithm of the first reading.

    Raises:
        AuditError: if the reading is unknown.
    """
    if reading == "of_softmaxed_probabilities":
        return torch.nn.functional.cross_entropy(predictions, targets)
    if reading != "of_probabilities":
        raise AuditError(
            f"cross_entropy: unknown reading '{reading}'. Use {' or '.join(READINGS)}."
        )
    chosen = predictions.gather(1, targets[:, None])[:, 0]
    return -torch.log(chosen + epsilon).mean()
