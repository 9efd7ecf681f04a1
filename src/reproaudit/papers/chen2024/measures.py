"""From weights to measurements: what is followed over training, and what is taken after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from reproaudit.lab import Array, Series
from reproaudit.papers.chen2024.constructed import InductionHead, induction_head_weights
from reproaudit.papers.chen2024.model import Architecture, LossForm, Parameters, subset_shares
from reproaudit.papers.chen2024.settings import GROUPS, Settings
from reproaudit.papers.chen2024.task import cross_entropy

GROWING = 0.95
"""The share of its whole change over which a quantity counts as still moving."""


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


def transfer(
    at: Parameters, s: Settings, data: LossForm, targets: Int[Array, " sequence"]
) -> tuple[float, float]:
    """The cross-entropy of the weights on other sequences, and the share of the gain they reach.

    The gain is that of the constructed head with the sharpness that is best for those sequences,
    over a uniform vote; the weights are taken as they are. 1 is all of it, 0 no better than the
    uniform vote.

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
    return own, (uniform - own) / (uniform - reached)


def until_rest(series: Series) -> Series:
    """A course of one number until it first covers 95 % of its whole change."""
    change = np.abs(series.values - series.values[0])
    last = int(np.argmax(change >= GROWING * change[-1]))
    return Series(steps=series.steps[: last + 1], values=series.values[: last + 1])


def first_gradient(at: Parameters, on: SeedData) -> tuple[Float[Array, " subset"], float, float]:
    """What the first gradient on c_S says of I(S), less its mean over the sets (derived).

    For long sequences and heads that copy, −∂loss/∂p_S is a I(S) where a is small: a position's
    vote counts by how often it has the target where the sets' tokens match. From p_S = c_S²/Σ c²,
    −∂loss/∂c_S is 2 a c_S/Σ c² (I(S) − Σ p I).

    Returns:
        The implied information, its cosine with the information from the law of the chains, and
        its slope on that: both are 1 where the gradient says exactly what the law says.
    """
    s = on.settings
    c = at.coefficients.astype(np.float64)
    _, slopes = on.training.loss_and_gradient(at, (GROUPS["c"],), s.cross_entropy, s.epsilon)
    implied = -slopes["coefficients"] * (c @ c) / (2.0 * float(at.sharpness[0]) * c)
    known = on.information - on.information.mean()
    along = float(implied @ known)
    cosine = along / float(np.linalg.norm(implied) * np.linalg.norm(known))
    return implied, cosine, along / float(known @ known)
