"""Sequences from random n-gram Markov chains, and what the chains themselves say about parents.

Every sequence has a transition table of its own, whose rows are drawn from a symmetric Dirichlet
law; the token after the last one is the target. `information` is computed from the tables alone,
never from a model, so that it can say which set of parents a model *should* select.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

Floats = NDArray[np.float64]
Tokens = NDArray[np.int64]
Subset = tuple[int, ...]


@dataclass(frozen=True)
class Sequences:
    """Sequences and the tokens that follow them.

    Attributes:
        tokens: x_1 … x_L of every sequence, shape (sequence, length).
        targets: x_{L+1}, shape (sequence,).
    """

    tokens: Tokens
    targets: Tokens

    @property
    def count(self) -> int:
        """How many sequences there are."""
        return len(self.targets)

    def with_shuffled_targets(self, rng: np.random.Generator) -> Sequences:
        """The same sequences, each with the target of another: nothing to learn in context.

        The targets move along one random cycle, so that no sequence keeps its own.
        """
        cycle = rng.permutation(self.count)
        targets = np.empty_like(self.targets)
        targets[cycle] = self.targets[np.roll(cycle, 1)]
        return Sequences(self.tokens, targets)


def draw_tables(
    rng: np.random.Generator, count: int, order: int, vocabulary: int, dirichlet: float
) -> Floats:
    """Transition tables, shape (chain, vocabulary ** order, vocabulary).

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
    tables = draw_tables(rng, count, order, vocabulary, dirichlet)
    return Sequences(*_follow(rng, tables, length, order))


def _follow(
    rng: np.random.Generator, tables: Floats, length: int, order: int
) -> tuple[Tokens, Tokens]:
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
    return tokens[:, :-1], tokens[:, -1]


# ------------------------------------------------------------------- the induction head, by hand


@dataclass(frozen=True)
class InductionHead:
    """The generalised induction head on given sequences, by exact match of the parents.

    A position matches when all of its ``order`` preceding tokens equal the last ``order`` tokens of
    the sequence. Where no position matches, all positions vote: that is also where attention goes
    when every similarity is equal.

    Attributes:
        matching: how often each token stands at a matching position, shape (sequence, vocabulary).
        all: how often it occurs in the sequence, same shape.
    """

    matching: Floats
    all: Floats

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

    def predict(self, sharpness: float | None = None) -> Floats:
        """The predicted distributions, shape (sequence, vocabulary).

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

    def least_loss(self, targets: Tokens, epsilon: float, largest: float) -> float:
        """The least true cross-entropy over all sharpnesses from 0 to ``largest``."""

        def at(sharpness: float) -> float:
            return cross_entropy(self.predict(sharpness), targets, epsilon)

        return float(minimize_scalar(at, bounds=(0.0, largest), method="bounded").fun)


def cross_entropy(predictions: Floats, targets: Tokens, epsilon: float) -> float:
    """The mean of −log(p(target) + ε), in nats: the true cross-entropy, whatever was trained."""
    chosen = predictions[np.arange(len(targets)), targets]
    return float(-np.log(chosen + epsilon).mean())


# ------------------------------------------------------------------------------------ information


def subsets_up_to(heads: int, degree: int) -> tuple[Subset, ...]:
    """The subsets of the heads 1 … H with at most D members, smallest first."""
    return tuple(s for size in range(degree + 1) for s in combinations(range(1, heads + 1), size))


def name_of(subset: Subset) -> str:
    """``"1+2"`` for {1, 2}; ``"none"`` for the empty set."""
    return "+".join(map(str, subset)) or "none"


def stationary(tables: Floats) -> Floats:
    """The stationary law of each chain's contexts, shape (chain, vocabulary ** order).

    By the elimination of Grassmann, Taksar and Heyman, which subtracts nothing: rows close to
    deterministic make a chain nearly reducible, and an ordinary solver then loses all digits.
    """
    count, contexts, vocabulary = tables.shape
    moves = np.zeros((count, contexts, contexts))
    for context in range(contexts):
        for token in range(vocabulary):
            moves[:, context, (context * vocabulary + token) % contexts] += tables[
                :, context, token
            ]
    for last in range(contexts - 1, 0, -1):
        leaving = moves[:, last, :last].sum(axis=1)
        moves[:, :last, last] /= leaving[:, None]
        moves[:, :last, :last] += moves[:, :last, last, None] * moves[:, None, last, :last]
    law = np.zeros((count, contexts))
    law[:, 0] = 1.0
    for state in range(1, contexts):
        law[:, state] = (law[:, :state] * moves[:, :state, state]).sum(axis=1)
    return np.asarray(law / law.sum(axis=1, keepdims=True))


def information(tables: Floats, order: int, subsets: Sequence[Subset], lags: int) -> Floats:
    """The modified χ² mutual information of each set of lags, averaged over chains.

    I(S) = E_π E_{Z_S} [ μ(Z_S) (Σ_z μ(z | Z_S)² / μ(z) − 1) ] with z the next token, Z_S the tokens
    at the lags in S and μ the chain's stationary law; computed as
    Σ_{Z_S} (Σ_z μ(Z_S, z)² / μ(z) − μ(Z_S)²). The factor μ(Z_S) favours small sets.

    Args:
        tables: shape (chain, vocabulary ** order, vocabulary).
        order: of the chains, at least 1.
        subsets: sets of lags, 1 being the latest token.
        lags: the longest lag that a subset may name.

    Returns:
        I(S) for each subset, a pure number, shape (subset,).
    """
    joint = _joint(tables, order, max(order, lags) + 1)
    values = []
    for subset in subsets:
        # axis 0 is the chain, the last axis the next token, and axis −1 − lag the token at a lag
        away = tuple(
            axis for axis in range(1, joint.ndim - 1) if joint.ndim - 1 - axis not in subset
        )
        with_next = joint.sum(axis=away).reshape(len(tables), -1, tables.shape[2])
        alone, following = with_next.sum(axis=2), with_next.sum(axis=1)
        match = (with_next**2 / following[:, None, :]).sum(axis=(1, 2))
        values.append(float((match - (alone**2).sum(axis=1)).mean()))
    return np.array(values)


def _joint(tables: Floats, order: int, window: int) -> Floats:
    """The stationary law of ``window`` tokens in a row, oldest first, latest last."""
    count, contexts, vocabulary = tables.shape
    law = stationary(tables).reshape(count, contexts)
    tokens = order
    while tokens < window:
        older = law.reshape(count, -1, contexts)
        law = (older[..., None] * tables[:, None]).reshape(count, -1)
        tokens += 1
    return law.reshape(count, *[vocabulary] * window)
