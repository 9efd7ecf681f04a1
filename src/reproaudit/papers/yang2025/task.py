"""The K-mixture of linear classification (Definition 2.1), enumerated.

A sample has L = K + 1 tokens: the identifier c_k of its class k (uniform over K classes), its
signal y·v_k, whose sign y is the label, and for every other class j a distractor ε_j·v_j with a
sign of its own. The support is finite (K·2^K samples), so the population loss is an exact average.
Neither the model nor the loss sees the order of the tokens, so it is fixed: the identifier first,
then the signals by class.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from reproaudit.errors import TechnicalError
from reproaudit.lab import Pictures

Labels = Literal["identified", "any_signal", "first_signal"]
"""The sign that is the label.

That of the identified signal, as in the paper, or, independent of the identifier, that of a signal
drawn uniformly or of the first signal.
"""

Scaling = Literal["unit_norm", "pixels"]
"""The scaling of pictures: to length 1, or none, with values between 0 and 1."""


@dataclass(frozen=True)
class Population:
    """Every sample of a task, as signed indices into a vocabulary of vectors.

    Attributes:
        vectors: the vocabulary, the K identifiers first.
        tokens: which vector each token is.
        signs: the sign in front of it, ±1.
        labels: the sign of the identified signal, ±1.
        positive: the probability of the label +1 that training sees.
        shares: how much of the training loss each sample makes, in sum 1.
        agreeing: how many distractors have the label's sign.
        signal_class: the class whose signal a vector is, −1 for identifiers.
    """

    vectors: Float[np.ndarray, "vector coordinate"]
    tokens: Int[np.ndarray, "sample token"]
    signs: Float[np.ndarray, "sample token"]
    labels: Float[np.ndarray, " sample"]
    positive: Float[np.ndarray, " sample"]
    shares: Float[np.ndarray, " sample"]
    agreeing: Int[np.ndarray, " sample"]
    signal_class: Int[np.ndarray, " vector"]

    def sampled(self, size: int, draw: np.random.Generator) -> Population:
        """Returns a training set of ``size`` draws in place of the exact average."""
        counts = draw.multinomial(size, self.shares)
        return replace(self, shares=counts / size)

    @property
    def classes(self) -> int:
        """The number of classes K."""
        return int(self.signal_class.max()) + 1

    @property
    def easy(self) -> Bool[np.ndarray, " sample"]:
        """True for the samples whose distractors all agree with the label."""
        return np.asarray(self.agreeing == self.classes - 1)

    @property
    def hard(self) -> Bool[np.ndarray, " sample"]:
        """True for the samples whose distractors all disagree with the label."""
        return np.asarray(self.agreeing == 0)


def mixture(classes: int, labels: Labels = "identified") -> Population:
    """Returns the task of Definition 2.1, with orthonormal identifiers and signals.

    Args:
        classes: K, at least 2.
        labels: which sign the label is.
    """
    signal_class = np.array([-1] * classes + list(range(classes)))
    signal_vectors = np.arange(classes, 2 * classes)[None, :]
    return _enumerated(np.eye(2 * classes), signal_class, signal_vectors, labels)


def signals(
    images: Pictures,
    digits: Sequence[int],
    tuples: int,
    *,
    centred: bool,
    scaling: Scaling,
    draw: np.random.Generator,
) -> Float[np.ndarray, "tuple class pixel"]:
    """Returns pictures as signals: one per digit in every tuple, none used twice.

    Args:
        images: where they are taken from.
        digits: the digit of each class.
        tuples: how many pictures of each.
        centred: whether the mean picture of these digits is subtracted first.
        scaling: how they are scaled then.
        draw: chooses the pictures.

    Raises:
        TechnicalError: if there are fewer than ``tuples`` pictures of a digit.
    """
    of_digit = [images.pixels[images.labels == digit] for digit in digits]
    for digit, rows in zip(digits, of_digit, strict=True):
        if len(rows) < tuples:
            raise TechnicalError(f"there are {len(rows)} pictures of {digit}, not {tuples}")
    mean = np.concatenate(of_digit).mean(axis=0) if centred else 0.0
    drawn = [rows[draw.choice(len(rows), tuples, replace=False)] - mean for rows in of_digit]
    chosen = np.stack(drawn, axis=1)
    if scaling == "pixels":
        return chosen
    return np.asarray(chosen / np.linalg.norm(chosen, axis=2, keepdims=True))


def image_mixture(
    images: Float[np.ndarray, "tuple class pixel"], labels: Labels = "identified"
) -> Population:
    """Returns the task with pictures as signals: each tuple of pictures with all classes and signs.

    Args:
        images: tuple number i has the picture ``images[i, k]`` as signal of class k. The
            identifiers are orthonormal to all pictures and to each other.
        labels: which sign the label is.
    """
    tuples, classes, pixels = images.shape
    vectors = np.zeros((classes + tuples * classes, classes + pixels))
    vectors[:classes, :classes] = np.eye(classes)
    vectors[classes:, classes:] = images.reshape(-1, pixels)
    signal_class = np.array([-1] * classes + list(range(classes)) * tuples)
    signal_vectors = classes + np.arange(tuples * classes).reshape(tuples, classes)
    return _enumerated(vectors, signal_class, signal_vectors, labels)


def _enumerated(
    vectors: Float[np.ndarray, "vector coordinate"],
    signal_class: Int[np.ndarray, " vector"],
    signal_vectors: Int[np.ndarray, "tuple class"],
    labels: Labels,
) -> Population:
    """All classes and signs for each row of signals."""
    tuples, classes = signal_vectors.shape
    signs = np.array(list(itertools.product([1.0, -1.0], repeat=classes)))
    row, own, pattern = (
        grid.ravel()
        for grid in np.meshgrid(
            np.arange(tuples), np.arange(classes), np.arange(len(signs)), indexing="ij"
        )
    )
    own_sign = signs[pattern, own]
    positive = {
        "identified": own_sign > 0,
        "any_signal": (signs[pattern] > 0).mean(axis=1),
        "first_signal": signs[pattern, 0] > 0,
    }
    return Population(
        vectors=vectors,
        tokens=np.column_stack([own, signal_vectors[row]]),
        signs=np.column_stack([np.ones_like(own_sign), signs[pattern]]),
        labels=own_sign,
        positive=positive[labels].astype(np.float64),
        shares=np.full(len(own), 1.0 / len(own)),
        agreeing=(signs[pattern] == own_sign[:, None]).sum(axis=1) - 1,
        signal_class=signal_class,
    )
