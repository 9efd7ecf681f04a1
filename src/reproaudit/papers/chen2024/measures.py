"""From weights to measurements: what is followed over training, and what is taken after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array
from reproaudit.papers.chen2024.constructed import InductionHead, induction_head_weights
from reproaudit.papers.chen2024.fast import Parameters
from reproaudit.papers.chen2024.forms import Prepared
from reproaudit.papers.chen2024.model import Architecture, LossReading
from reproaudit.papers.chen2024.task import Sequences, cross_entropy


@dataclass(frozen=True)
class Evaluation:
    """The data and solutions that the weights of a seed are measured on.

    Attributes:
        architecture: of the model.
        reading: of the trained loss.
        epsilon: ε inside the logarithm of every loss.
        training: the training sequences, prepared.
        validation: the validation sequences.
        prepared_validation: the same, prepared.
        head: the hard-wired induction head on the validation sequences.
        optimal: the place of the subset with the most information according to the chains.
    """

    architecture: Architecture
    reading: LossReading
    epsilon: float
    training: Prepared
    validation: Sequences
    prepared_validation: Prepared
    head: InductionHead
    optimal: int


def observe(at: Parameters, on: Evaluation) -> dict[str, float | Array]:
    """Everything that is followed over training, by the name of the measurement."""
    predictions = on.prepared_validation.predict(at)
    shares = subset_shares(at.coefficients)
    return {
        "subset_share": shares,
        "optimal_share": shares[on.optimal],
        "own_lag_attention": own_lag_attention(at.lag_weights, on.architecture),
        "sharpness": float(at.sharpness[0]),
        "trained_loss": training_loss(at, on),
        "validation_loss": cross_entropy(predictions, on.validation.targets, on.epsilon),
        "limit_gap": mean_total_variation(predictions, on.head.predict()),
    }


def subset_shares(coefficients: Float[Array, " subset"]) -> Float[Array, " subset"]:
    """p_S = c_S² / Σ c² of every subset."""
    squares = coefficients.astype(np.float64) ** 2
    return np.asarray(squares / squares.sum())


def own_lag_attention(
    lag_weights: Float[Array, "head lag"], architecture: Architecture
) -> Float[Array, " head"]:
    """The attention of every head to its own lag where its whole window is present."""
    weights = lag_weights.astype(np.float64)
    attention = np.exp(weights - weights.max(axis=1, keepdims=True))
    own = attention[np.arange(len(weights)), architecture.own_places]
    return np.asarray(own / attention.sum(axis=1))


def training_loss(at: Parameters, on: Evaluation) -> float:
    """The loss that is trained, on the training sequences, in nats."""
    return on.training.descend(
        at, epochs=1, learning_rate=0.0, trained=(), reading=on.reading, epsilon=on.epsilon
    )


def mean_total_variation(
    first: Float[Array, "sequence V"], second: Float[Array, "sequence V"]
) -> float:
    """The mean over sequences of the total variation distance between two distributions."""
    return float(np.abs(first - second).sum(axis=1).mean() / 2)


def limit_losses(on: Evaluation) -> dict[str, float]:
    """The true cross-entropy of the hard-wired head: in the limit, and with its best sharpness."""
    targets = on.validation.targets
    return {
        "limit_loss": cross_entropy(on.head.predict(), targets, on.epsilon),
        "sharpened_limit_loss": on.head.least_loss(targets, on.epsilon),
    }


def recovered_gain(
    at: Parameters,
    architecture: Architecture,
    sequences: Sequences,
    prepared: Prepared,
    epsilon: float,
) -> float:
    """The share of the mechanism's gain over a uniform vote that the weights reach.

    The mechanism is the constructed head with the sharpness that is best for those sequences; the
    weights are taken as they are. 1 is all of it, 0 no better than the uniform vote.

    Args:
        at: the weights.
        architecture: of the model.
        sequences: others than those trained on.
        prepared: the same, prepared.
        epsilon: ε inside the logarithm of the cross-entropy.
    """
    best = induction_head_weights(architecture, sequences, prepared, epsilon)
    uniform, own, reached = (
        cross_entropy(predictions, sequences.targets, epsilon)
        for predictions in (
            prepared.vote(np.ones_like(prepared.kernel(at))),
            prepared.predict(at),
            prepared.predict(best),
        )
    )
    return (uniform - own) / (uniform - reached)
