"""The task: sequences from random n-gram Markov chains, and the token that follows each.

Every sequence has a transition table of its own, whose rows are drawn from a symmetric Dirichlet
law, so that the next token can only be predicted from what the same sequence has shown before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from reproaudit.lab import Array, generator
from reproaudit.papers.chen2024.model import LossReading
from reproaudit.papers.chen2024.settings import Settings


@dataclass(frozen=True)
class Sequences:
    """Sequences and the tokens that follow them.

    Attributes:
        tokens: x_1 … x_L of every sequence, each from 0 to V − 1.
        targets: x_{L+1} of every sequence.
    """

    tokens: Int[Array, "sequence L"]
    targets: Int[Array, " sequence"]

    @property
    def count(self) -> int:
        """The number of sequences."""
        return len(self.targets)

    def with_shuffled_targets(self, rng: np.random.Generator) -> Sequences:
        """The same sequences, each with the target of another: nothing to learn in context.

        The targets move along one random cycle, so that no sequence keeps its own.
        """
        cycle = rng.permutation(self.count)
        targets = np.empty_like(self.targets)
        targets[cycle] = self.targets[np.roll(cycle, 1)]
        return Sequences(self.tokens, targets)


def transition_tables(
    rng: np.random.Generator, count: int, *, order: int, vocabulary: int, dirichlet: float
) -> Float[Array, "chain V**order V"]:
    """Random transition tables: the law of the next token (last axis) in each context.

    A context is numbered with its latest token as the lowest digit. Order 0 has one context, so
    that the tokens of a sequence are independent.
    """
    concentration = np.full(vocabulary, dirichlet)
    return rng.dirichlet(concentration, size=(count, vocabulary**order))


def draw_sequences(
    rng: np.random.Generator,
    count: int,
    *,
    length: int,
    order: int,
    vocabulary: int,
    dirichlet: float,
) -> Sequences:
    """Sequences with a fresh table each; the first ``order`` tokens are uniform."""
    tables = transition_tables(rng, count, order=order, vocabulary=vocabulary, dirichlet=dirichlet)
    return follow_tables(rng, tables, length=length, order=order)


def follow_tables(
    rng: np.random.Generator, tables: Float[Array, "chain V**order V"], *, length: int, order: int
) -> Sequences:
    """One sequence from each table; the first ``order`` tokens are uniform."""
    count, contexts, vocabulary = tables.shape
    steps = np.cumsum(tables, axis=2)
    chance = rng.random((count, length + 1))
    tokens = np.empty((count, length + 1), dtype=np.int64)
    tokens[:, :order] = rng.integers(vocabulary, size=(count, order))
    every = np.arange(count)
    context = np.zeros(count, dtype=np.int64)
    for position in range(length + 1):
        if position >= order:
            below = chance[:, position, None] >= steps[every, context]
            tokens[:, position] = np.minimum(below.sum(axis=1), vocabulary - 1)
        context = (context * vocabulary + tokens[:, position]) % contexts
    return Sequences(tokens[:, :-1], tokens[:, -1])


def sequences_for(s: Settings, seed: int, purpose: str, count: int) -> Sequences:
    """The sequences that a seed has for a purpose; another purpose has other chains and tokens."""
    return draw_sequences(
        generator(seed, purpose),
        count,
        length=s.length,
        order=s.order,
        vocabulary=s.vocabulary,
        dirichlet=s.dirichlet,
    )


def training_sequences(s: Settings, seed: int) -> Sequences:
    """The sequences that a seed trains on; in controls other ones than it is measured on."""
    if s.training_data == "other_parents":
        return _with_other_parents(s, generator(seed, "training"))
    sequences = sequences_for(s, seed, "training", s.training_sequences)
    if s.training_data == "shuffled_targets":
        return sequences.with_shuffled_targets(generator(seed, "shuffle"))
    return sequences


def _with_other_parents(s: Settings, rng: np.random.Generator) -> Sequences:
    """Training sequences whose tokens depend on those at lags 2 … order + 1.

    The tables are those of the proper chains, one for each latest token alike.
    """
    tables = transition_tables(
        rng, s.training_sequences, order=s.order, vocabulary=s.vocabulary, dirichlet=s.dirichlet
    )
    longer = np.repeat(tables, s.vocabulary, axis=1)
    return follow_tables(rng, longer, length=s.length, order=s.order + 1)


def cross_entropy(
    predictions: Float[Array, "sequence V"],
    targets: Int[Array, " sequence"],
    epsilon: float,
    reading: LossReading = "of_probabilities",
) -> float:
    """The mean of −log(p(target) + ε), in nats, or of the loss under the other reading of it."""
    chosen = predictions[np.arange(len(targets)), targets]
    if reading == "of_softmaxed_probabilities":
        return float((np.log(np.exp(predictions).sum(axis=1)) - chosen).mean())
    return float(-np.log(chosen + epsilon).mean())
