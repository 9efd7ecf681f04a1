"""A transformer in inner products with the vocabulary, from which both forms are measured.

The fast form trains them; those of the plain form's weights are computed where it is observed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array, one_thread
from reproaudit.papers.yang2025.model import Weights
from reproaudit.papers.yang2025.task import Population


class InnerProducts(NamedTuple):
    """A transformer in products with the vocabulary; heads +1 and −1 in this order.

    Attributes:
        keys: W_K X.
        queries: W_Q X.
        responses: u of each neuron, or of the one row that stands for all.
        biases: b.
    """

    keys: Array  # (head, width, vector)
    queries: Array  # (head, width, vector)
    responses: Array  # (head, row, vector)
    biases: Array  # (head, row)

    @property
    def scores(self) -> Float[np.ndarray, "head vector vector"]:
        """B, key by query."""
        with one_thread():
            return np.asarray(self.keys.transpose(0, 2, 1) @ self.queries)

    def copy(self) -> InnerProducts:
        """Returns the same model in arrays of its own."""
        return InnerProducts(*(array.copy() for array in self))


class Rates(NamedTuple):
    """Learning rates as the rows see them.

    Attributes:
        attention: of W_K and W_Q.
        neurons: of a row, for the gradient of the loss by the mean over rows of their outputs.
        biases: likewise.
    """

    attention: float
    neurons: float
    biases: float


def from_weights(
    population: Population, weights: Weights, *, identical: bool = False
) -> InnerProducts:
    """Returns the products of weights with a population's vocabulary.

    Args:
        population: whose vocabulary it is.
        weights: the model.
        identical: whether the neurons of a head are, so that one row stands for all.
    """
    keys, queries, neurons, biases = weights.arrays()
    rows = slice(0, 1) if identical else slice(None)
    x = population.vectors
    products = (keys @ x.T, queries @ x.T, neurons[:, rows] @ x.T, biases[:, rows])
    return InnerProducts(*(np.ascontiguousarray(one) for one in products))
