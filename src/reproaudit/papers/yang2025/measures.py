"""From a model to measurements: margins of easy and hard samples, neurons, attention scores."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import expit, softmax

from reproaudit.lab import Array
from reproaudit.papers.yang2025.model import HEADS
from reproaudit.papers.yang2025.products import InnerProducts
from reproaudit.papers.yang2025.task import Population

_SIGNS = np.array(HEADS)


def observed(
    model: InnerProducts,
    population: Population,
    f: Float[np.ndarray, " sample"],
    without_attention: Float[np.ndarray, " sample"],
) -> dict[str, float]:
    """Returns one observation, by the names under which the audit says what each number means.

    ``f`` are the model's outputs, ``without_attention`` those with every score 0.
    """
    margin = population.labels * f
    uniform = population.labels * without_attention
    easy = population.easy
    hard = population.hard
    scores = class_scores(model, population)
    is_own = np.eye(population.classes, dtype=np.bool_)
    nearest = np.where(is_own, -np.inf, scores).max(axis=1)  # the highest of the others
    shares = identifier_shares(model, population)
    return {
        "loss": population_loss(f, population.positive),
        "accuracy": float((margin > 0).mean()),
        "easy_confidence": float(expit(margin[easy]).mean()),
        "hard_confidence": float(expit(margin[hard]).mean()),
        "neuron_confidence": float(expit(uniform[easy]).mean()),
        "identifier_share": float(shares.mean()),
        "share_off_even": float(np.abs(shares - 1 / population.classes).max()),
        "score_own": float(scores[:, is_own].mean()),
        "separation": float((scores[:, is_own] - nearest).min()),
        **_neurons(model, population),
    }


def population_loss(
    f: Float[np.ndarray, " sample"],
    positive: Float[np.ndarray, " sample"],
    shares: Float[np.ndarray, " sample"] | None = None,
) -> float:
    """Returns the mean logistic loss of outputs f over all samples, or by their shares.

    ``positive`` is P(label = +1) of each sample.
    """
    right = np.logaddexp(0.0, -f)
    wrong = np.logaddexp(0.0, f)
    return float(np.average(positive * right + (1.0 - positive) * wrong, weights=shares))


def class_scores(
    model: InnerProducts, population: Population
) -> Float[np.ndarray, "head identifier class"]:
    """Returns μ times the score of identifier j for a signal of class k, averaged over signals."""
    return _class_means(_SIGNS[:, None, None] * model.scores, population)


def identifier_shares(
    model: InnerProducts, population: Population
) -> Float[np.ndarray, "head class"]:
    """Returns the attention that signals give their own identifier among all K of them.

    The softmax over the K identifiers' scores alone, as in `class_scores`, averaged over a class's
    signals: 1/K where the scores do not tell identifiers apart, 1 where they do.
    """
    scores = (_SIGNS[:, None, None] * model.scores)[:, : population.classes]
    shares = _class_means(softmax(scores, axis=1), population)
    return np.diagonal(shares, axis1=1, axis2=2)


def _class_means(products: Array, population: Population) -> Array:
    """The identifiers' products with signals (head, vector, vector), averaged over each class."""
    own = [population.signal_class == k for k in range(population.classes)]
    return np.stack([products[:, : len(own), one].mean(axis=2) for one in own], axis=2)


def _neurons(model: InnerProducts, population: Population) -> dict[str, float]:
    """The mean neuron's component along identifiers, and the alignment with the signals.

    The alignment is that of (w_{+1} − w_{−1})/2, the part in which the heads differ, with the sum
    of all signals; of w only the part within the vocabulary's span counts.
    """
    mean = model.responses.mean(axis=1)
    signals = population.signal_class >= 0
    x = population.vectors
    differing = (_SIGNS @ mean / 2) @ np.linalg.pinv(x).T
    return {
        "neuron_identifier": float(mean[:, ~signals].mean()),
        "neuron_alignment": cosine(differing, x[signals].sum(axis=0)),
    }


def cosine(first: Float[np.ndarray, "*shape"], second: Float[np.ndarray, "*shape"]) -> float:
    """Returns the cosine between two arrays taken as vectors; 0 where one of them is 0."""
    norms = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float((first * second).sum() / norms) if norms > 0 else 0.0
