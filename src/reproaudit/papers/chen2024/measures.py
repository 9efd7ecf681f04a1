"""From weights to measurements: what is followed over training, and what is taken after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from reproaudit.lab import Array
from reproaudit.papers.chen2024.constructed import InductionHead, induction_head_weights
from reproaudit.papers.chen2024.model import Architecture, LossForm, Parameters, subset_shares
from reproaudit.papers.chen2024.settings import Settings
from reproaudit.papers.chen2024.task import cross_entropy


@dataclass(frozen=True)
class SeedData:
    """What the weights of a seed are trained and measured on.

    Attributes:
        settings: of the experiment.
        training: the training sequences, ready for training.
        training_targets: what follows them.
        validation: the validation sequences, likewise.
        validation_targets: what follows them.
        head: the hard-wired induction head on the validation sequences.
        information: I(S) of every subset under the law of the chains.
    """

    settings: Settings
    training: LossForm
    training_targets: Int[Array, " sequence"]
    validation: LossForm
    validation_targets: Int[Array, " sequence"]
    head: InductionHead
    information: Float[Array, " subset"]


def observe(at: Parameters, on: SeedData) -> dict[str, float | Array]:
    """Everything that is followed over training, by the name of the measurement."""
    predictions = on.validation.predict(at)
    shares = subset_shares(at.coefficients)
    total_variation = float(np.abs(predictions - on.head.predict()).sum(axis=1).mean() / 2)
    return {
        "subset_share": shares,
        "optimal_share": shares[int(on.information.argmax())],
        "own_lag_attention": own_lag_attention(at.lag_weights, on.settings.architecture),
        "sharpness": float(at.sharpness[0]),
        "trained_loss": training_loss(at, on),
        "validation_loss": cross_entropy(predictions, on.validation_targets, on.settings.epsilon),
        "limit_gap": total_variation,
    }


def own_lag_attention(
    lag_weights: Float[Array, "head lag"], architecture: Architecture
) -> Float[Array, " head"]:
    """The attention of every head to its own lag where its whole window is present."""
    weights = lag_weights.astype(np.float64)
    attention = np.exp(weights - weights.max(axis=1, keepdims=True))
    own = attention[np.arange(len(weights)), architecture.own_places]
    return np.asarray(own / attention.sum(axis=1))


def training_loss(at: Parameters, on: SeedData) -> float:
    """The loss that is trained, on the training sequences, in nats."""
    s = on.settings
    loss, _ = on.training.loss_and_gradient(at, (), s.cross_entropy, s.epsilon)
    return loss


def limit_losses(on: SeedData) -> dict[str, float]:
    """The true cross-entropy of the hard-wired head: in the limit, and with its best sharpness."""
    targets, epsilon = on.validation_targets, on.settings.epsilon
    return {
        "limit_loss": cross_entropy(on.head.predict(), targets, epsilon),
        "sharpened_limit_loss": on.head.least_loss(targets, epsilon),
    }


def recovered_gain(
    at: Parameters, s: Settings, data: LossForm, targets: Int[Array, " sequence"]
) -> float:
    """The share of the mechanism's gain over a uniform vote that the weights reach.

    The mechanism is the constructed head with the sharpness that is best for those sequences; the
    weights are taken as they are. 1 is all of it, 0 no better than the uniform vote.

    Args:
        at: the weights.
        s: the settings of the model.
        data: other sequences than those trained on.
        targets: what follows them.
    """
    best = induction_head_weights(s, data, targets)
    uniform, own, reached = (
        cross_entropy(predictions, targets, s.epsilon)
        for predictions in (
            data.vote(np.ones_like(data.kernel(at))),
            data.predict(at),
            data.predict(best),
        )
    )
    return (uniform - own) / (uniform - reached)
