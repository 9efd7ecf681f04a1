"""The fast form for a card: the recursion of `fast` in PyTorch, for several seeds at once.

Letters are those of `fast`. Everything is in double precision, and no sum depends on the order in
which threads arrive: what a sample adds to the scores is gathered by products with the incidence
of tokens in samples, not by atomic additions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from reproaudit.papers.yang2025.fast import InnerProducts, Rates
from reproaudit.papers.yang2025.model import HEADS
from reproaudit.papers.yang2025.task import Population


class _Seeds(NamedTuple):
    """Several seeds' populations; their tokens and signs are the same."""

    tokens: Int[Tensor, "sample token"]
    incidence: Float[Tensor, "sample token vector"]
    """The sign of each token in front of its vector, 0 in front of the others."""
    positive: Float[Tensor, "seed 1 sample"]
    shares: Float[Tensor, "seed 1 sample"]
    gram: Float[Tensor, "seed 1 vector vector"]
    """K."""
    heads: Float[Tensor, "2 1"]
    """The sign of each head."""


class _State(NamedTuple):
    """The models of several seeds, or what a step adds to them."""

    responses: Float[Tensor, "seed head row vector"]
    biases: Float[Tensor, "seed head row"]
    scores: Float[Tensor, "seed head vector vector"]
    key_gram: Float[Tensor, "seed head vector vector"]
    query_gram: Float[Tensor, "seed head vector vector"]
    combinations: Float[Tensor, "seed head 2 2*vector vector"]


def descend_together(
    models: Sequence[InnerProducts],
    populations: Sequence[Population],
    *,
    steps: int,
    output_scale: float,
    rates: Rates,
    device: str,
) -> None:
    """Takes steps of gradient descent for several seeds at once, in place.

    Args:
        models: one for each seed, with as many rows each.
        populations: one for each seed, with the same tokens and signs.
        steps: how many.
        output_scale: what multiplies the mean over rows.
        rates: the learning rates.
        device: ``"cuda"`` or ``"cpu"``.
    """
    seeds = _seeds(populations, device)
    arrays = [[getattr(model, name) for model in models] for name in _State._fields]
    state = _State(*(torch.from_numpy(np.stack(several)).to(device) for several in arrays))
    with torch.no_grad():
        for _ in range(steps):
            _step(seeds, state, output_scale, rates)
    for several, trained in zip(arrays, state, strict=True):
        for array, one in zip(several, trained.cpu().numpy(), strict=True):
            array[...] = one


def _seeds(populations: Sequence[Population], device: str) -> _Seeds:
    first = populations[0]
    incidence = first.signs[:, :, None] * np.eye(len(first.vectors))[first.tokens]
    grams = np.stack([one.vectors @ one.vectors.T for one in populations])
    return _Seeds(
        torch.from_numpy(first.tokens).to(device),
        torch.from_numpy(incidence).to(device),
        torch.from_numpy(np.stack([one.positive for one in populations])[:, None]).to(device),
        torch.from_numpy(np.stack([one.shares for one in populations])[:, None]).to(device),
        torch.from_numpy(grams[:, None]).to(device),
        torch.tensor(HEADS, dtype=torch.float64, device=device)[:, None],
    )


def _step(seeds: _Seeds, state: _State, output_scale: float, rates: Rates) -> None:
    by_coefficient, by_bias, by_score = _gradients_together(seeds, state, output_scale)
    state.responses.sub_(rates.neurons * (by_coefficient @ seeds.gram))
    state.biases.sub_(rates.biases * by_bias)
    if rates.attention > 0.0:
        _attention_step_together(seeds.gram, state, by_score, rates.attention)


def _gradients_together(
    seeds: _Seeds, state: _State, output_scale: float
) -> tuple[
    Float[Tensor, "seed head row vector"],
    Float[Tensor, "seed head row"],
    Float[Tensor, "seed head vector vector"],
]:
    rows, length = state.responses.shape[2], seeds.tokens.shape[1]
    # of each sample: the scores of its tokens (key, query), and the responses to them (row, key)
    signed = torch.einsum("ikv,shvw,iqw->shikq", seeds.incidence, state.scores, seeds.incidence)
    attention = torch.softmax(signed, dim=-2)
    answers = torch.einsum("shrv,ikv->shrik", state.responses, seeds.incidence)
    weight = attention.mean(dim=-1)
    before = torch.einsum("shik,shrik->shri", weight, answers) + state.biases[..., None]
    f = (seeds.heads * torch.relu(before).mean(dim=2)).sum(dim=1, keepdim=True)
    slope = (torch.sigmoid(output_scale * f) - seeds.positive) * seeds.shares * seeds.heads
    active = (before > 0).to(before.dtype) * slope[:, :, None]
    by_coefficient = torch.einsum("shri,shik,ikv->shrv", active, weight, seeds.incidence)
    value = torch.einsum("shri,shrik->shik", active, answers)
    mean = torch.einsum("shikq,shik->shiq", attention, value)
    by_pair = attention * (value[..., None] - mean[..., None, :])
    by_pair = by_pair * (output_scale / (rows * length))
    by_score = torch.einsum("shikq,ikv,iqw->shvw", by_pair, seeds.incidence, seeds.incidence)
    return by_coefficient, active.sum(dim=-1), by_score


def _attention_step_together(
    gram: Float[Tensor, "seed 1 vector vector"],
    state: _State,
    by_score: Float[Tensor, "seed head vector vector"],
    rate: float,
) -> None:
    """The updates of `fast`; ``left`` is K G and ``right`` is G K."""
    left, right = gram @ by_score, by_score @ gram
    key_right, left_query = state.key_gram @ right, left @ state.query_gram
    cross_key, cross_query = left @ state.scores.mT, state.scores.mT @ right
    by_both, by_query = cross_key @ right, left_query @ left.mT
    by_key = right.mT @ key_right
    of_keys, of_queries = state.combinations.unbind(dim=2)
    by_queries, by_keys = of_queries @ left.mT, of_keys @ right
    of_keys.sub_(rate * by_queries)
    of_queries.sub_(rate * by_keys)
    state.scores.add_(rate * (rate * by_both - key_right - left_query))
    state.key_gram.add_(rate * (rate * by_query - cross_key - cross_key.mT))
    state.query_gram.add_(rate * (rate * by_key - cross_query - cross_query.mT))
