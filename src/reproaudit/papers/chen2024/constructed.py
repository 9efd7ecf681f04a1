"""The generalised induction head, constructed: as counts of matches, and as weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize_scalar

from reproaudit.lab import Array
from reproaudit.papers.chen2024.model import LossForm, LossReading, Parameters
from reproaudit.papers.chen2024.settings import Settings
from reproaudit.papers.chen2024.task import Sequences, cross_entropy

COPYING_WEIGHT = 30.0
"""A constructed head's weight on its own lag; e^30 against 1 is all the attention."""

LARGEST_SHARPNESS = 50.0
"""At a = 50 a position without matching parents has e^−50 of a matching one's vote: the limit."""


@dataclass(frozen=True)
class InductionHead:
    """The generalised induction head on given sequences, by exact match of the parents.

    A position matches when all of its ``order`` preceding tokens equal the last ``order`` tokens of
    the sequence. Where no position matches, all positions vote: that is also where attention goes
    when every similarity is equal.

    Attributes:
        matching: how often each token stands at a matching position.
        all: how often it occurs in the sequence.
    """

    matching: Float[Array, "sequence V"]
    all: Float[Array, "sequence V"]

    @classmethod
    def of(cls, sequences: Sequences, order: int, vocabulary: int) -> InductionHead:
        """Counts the votes of every sequence."""
        tokens = sequences.tokens
        length = tokens.shape[1]
        match = np.ones(tokens.shape, dtype=np.bool_)
        match[:, :order] = False
        for lag in range(1, order + 1):
            past = tokens[:, order - lag : length - lag]
            match[:, order:] &= past == tokens[:, length - lag, None]
        of_token = [tokens == token for token in range(vocabulary)]
        return cls(
            matching=np.stack([(match & own).sum(axis=1) for own in of_token], axis=1).astype(
                float
            ),
            all=np.stack([own.sum(axis=1) for own in of_token], axis=1).astype(float),
        )

    def predict(self, sharpness: float | None = None) -> Float[Array, "sequence V"]:
        """The predicted distributions.

        Args:
            sharpness: a matching position has e^sharpness times the vote of another; None is the
                limit, in which only matching positions vote.
        """
        if sharpness is None:
            none = self.matching.sum(axis=1, keepdims=True) == 0
            votes = np.where(none, self.all, self.matching)
        else:
            votes = self.all + np.expm1(sharpness) * self.matching
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    def least_loss(self, targets: Int[Array, " sequence"], epsilon: float) -> float:
        """The least true cross-entropy over all sharpnesses from 0 to 50."""
        _, loss = _best_sharpness(
            lambda sharpness: cross_entropy(self.predict(sharpness), targets, epsilon)
        )
        return loss


def induction_head_weights(
    s: Settings,
    data: LossForm,
    targets: Int[Array, " sequence"],
    reading: LossReading = "of_probabilities",
) -> Parameters:
    """The generalised induction head as weights: copiers, the parents' subset, a sharpness.

    Args:
        s: the settings of the model.
        data: sequences; for these the sharpness has the least loss.
        targets: what follows them.
        reading: of the loss.
    """
    weights = np.zeros((s.heads, s.window), s.dtype)
    weights[np.arange(s.heads), s.architecture.own_places] = COPYING_WEIGHT
    parents = tuple(range(1, s.order + 1))  # the heads whose own lags they are
    coefficients = np.array([subset == parents for subset in s.architecture.subsets], s.dtype)
    at = Parameters(weights, coefficients, np.zeros(1, s.dtype))
    kernel = data.kernel(at)
    at.sharpness[0], _ = _best_sharpness(
        lambda a: cross_entropy(data.vote(np.exp(a * (kernel - 1))), targets, s.epsilon, reading)
    )
    return at


def _best_sharpness(loss: Callable[[float], float]) -> tuple[float, float]:
    """The a between 0 and 50 with the least loss, and that loss."""
    found = minimize_scalar(loss, bounds=(0.0, LARGEST_SHARPNESS), method="bounded")
    return float(found.x), float(found.fun)
