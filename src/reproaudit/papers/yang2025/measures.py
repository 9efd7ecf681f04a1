"""What is observed of a model along training: by stratum, by module, and as attention sees it."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax

from reproaudit.papers.yang2025 import dynamics
from reproaudit.papers.yang2025.dynamics import Model
from reproaudit.papers.yang2025.task import Array, Population

HEADS = np.array([1.0, -1.0])


def observe(model: Model, population: Population, output_scale: float) -> dict[str, float]:
    """One observation; the audit says what each number means."""
    f = dynamics.outputs(model, population, output_scale)
    margin = population.labels * f
    uniform = population.labels * dynamics.outputs(_uniform(model), population, output_scale)
    easy, hard = population.easy, population.hard
    scores = class_scores(model, population)
    own, other = _own_and_other(scores)
    return {
        "loss": dynamics.expected_loss(f, population.positive),
        "accuracy": float((margin > 0).mean()),
        "easy_margin": float(margin[easy].mean()),
        "hard_margin": float(margin[hard].mean()),
        "easy_confidence": float(expit(margin[easy]).mean()),
        "hard_confidence": float(expit(margin[hard]).mean()),
        "neuron_confidence": float(expit(uniform[easy]).mean()),
        "hard_without_attention": float(expit(uniform[hard]).mean()),
        "identifier_share": identifier_share(model, population),
        "score_own": float(own.mean()),
        "score_other": float(other.mean()),
        "separation": float((own - other.max(axis=-1)).min()),
        "own_part": _own_part(own, other),
        **_neurons(model, population),
    }


def _uniform(model: Model) -> Model:
    """The same neurons, with every score 0."""
    return Model(
        model.responses,
        model.biases,
        np.zeros_like(model.scores),
        model.key_gram,
        model.query_gram,
    )


def class_scores(model: Model, population: Population) -> Array:
    """μ times the score of identifier j for a signal of class k as query, averaged over signals.

    Returns:
        Shape (head, identifier, class).
    """
    classes = population.classes
    return np.stack(
        [
            (HEADS[:, None, None] * model.scores)[:, :classes, population.signal_class == k].mean(2)
            for k in range(classes)
        ],
        axis=2,
    )


def _own_and_other(scores: Array) -> tuple[Array, Array]:
    """Scores of the own identifier (head, class) and of the others (head, class, other)."""
    classes = scores.shape[1]
    own = np.stack([scores[:, k, k] for k in range(classes)], axis=1)
    other = np.stack([np.delete(scores[:, :, k], k, axis=1) for k in range(classes)], axis=1)
    return own, other


def identifier_share(model: Model, population: Population) -> float:
    """The attention that signals give their own identifier, if all K were there to choose from.

    The softmax over the K identifiers' scores alone, each times μ as in `class_scores`, averaged
    over heads and signals: 1/K where the scores do not tell identifiers apart, 1 where they do.
    """
    signals = np.flatnonzero(population.signal_class >= 0)
    scores = (HEADS[:, None, None] * model.scores)[:, : population.classes, signals]
    shares = softmax(scores, axis=1)
    own = population.signal_class[signals]
    return float(shares[:, own, np.arange(len(signals))].mean())


def _own_part(own: Array, other: Array) -> float:
    """|own| / (|own| + |other|) of the mean scores: how much of what separates is the own one's."""
    sizes = abs(float(own.mean())), abs(float(other.mean()))
    return sizes[0] / sum(sizes) if sum(sizes) > 0 else 0.5


def _neurons(model: Model, population: Population) -> dict[str, float]:
    """Components of the mean neuron along its head's signals, and along the identifiers.

    The alignment is that of (w_{+1} − w_{−1})/2, the part in which the heads differ, with the sum
    of all signals; of w only the part within the vocabulary's span counts.
    """
    mean = model.responses.mean(axis=1)
    signals = population.signal_class >= 0
    x = population.vectors
    differing = (HEADS @ mean / 2) @ np.linalg.pinv(x).T
    return {
        "neuron_signal": float((HEADS[:, None] * mean)[:, signals].mean()),
        "neuron_identifier": float(mean[:, ~signals].mean()),
        "neuron_alignment": cosine(differing, x[signals].sum(axis=0)),
    }


def cosine(first: Array, second: Array) -> float:
    """The cosine of two arrays as vectors; 0 where one of them is 0."""
    norms = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float((first * second).sum() / norms) if norms > 0 else 0.0
