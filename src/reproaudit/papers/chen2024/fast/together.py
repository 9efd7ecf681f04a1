"""The fast form for a card: gradient descent on counted windows in PyTorch, several seeds at once.

The pairs and entries of all seeds stand one after another, so that seeds of different sizes need no
padding. Gradients come from autograd. What the loops of `descent` add up entry by entry is added by
`Places.total`, over groups of a fixed width, so that no sum depends on the order in which threads
arrive. Everything is in double precision; parameters are rounded to their own after each step.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from reproaudit.lab import Array
from reproaudit.papers.chen2024.fast.descent import ParameterName, Parameters
from reproaudit.papers.chen2024.fast.windows import Windows
from reproaudit.papers.chen2024.model import LossReading

AT_ONCE = 32
"""The number of summands that are added at once."""


# ----------------------------------------------------------------------- sums in a fixed order


class Places:
    """A map from entries to places: numbers are taken from places, or entries added up at them."""

    def __init__(self, place: Int[Array, " entry"], size: int, device: str) -> None:
        self._place = torch.from_numpy(place.astype(np.int64)).to(device)
        order = np.argsort(place, kind="stable")
        counts = np.bincount(place, minlength=size)
        groups: list[Array] = []
        while True:  # each round adds groups of AT_ONCE, until every place has one number
            wide = -(-counts // AT_ONCE)
            rows = np.full((int(wide.sum()), AT_ONCE), len(order))  # one past the end is a zero
            within = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
            row = np.repeat(np.cumsum(wide) - wide, counts) + within // AT_ONCE
            rows[row, within % AT_ONCE] = order
            groups.append(rows)
            if wide.max(initial=0) <= 1:
                break
            order, counts = np.arange(len(rows)), wide
        self._groups = [torch.from_numpy(rows).to(device) for rows in groups]
        self._at = torch.from_numpy(np.flatnonzero(counts)).to(device)
        self._size = size

    def take(self, values: Float[Tensor, "*rows place"]) -> Float[Tensor, "*rows entry"]:
        """The number at each entry's place."""
        taken: Tensor = _Take.apply(values, self)
        return taken

    def total(self, values: Float[Tensor, "*rows entry"]) -> Float[Tensor, "*rows place"]:
        """The sum of the entries at each place."""
        summed: Tensor = _Total.apply(values, self)
        return summed

    def taken(self, values: Tensor) -> Tensor:
        """As `take`, unseen by autograd."""
        return values[..., self._place]

    def totals(self, values: Tensor) -> Tensor:
        """As `total`, unseen by autograd."""
        for rows in self._groups:
            padded = torch.cat([values, values.new_zeros(*values.shape[:-1], 1)], dim=-1)
            values = padded[..., rows].sum(dim=-1)
        whole = values.new_zeros(*values.shape[:-1], self._size)
        whole[..., self._at] = values
        return whole


class _Take(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, places: Places) -> Tensor:
        ctx.places = places
        return places.taken(values)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        return ctx.places.totals(slopes[0]), None


class _Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, places: Places) -> Tensor:
        ctx.places = places
        return places.totals(values)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        return ctx.places.taken(slopes[0]), None


# ------------------------------------------------------------------------------ the seeds' windows


@dataclass(frozen=True)
class Together:
    """The counted windows of several seeds, one after another.

    Attributes:
        seen: the token that a code has at a lag, as an indicator; zero before the start.
        cells: of each head and pair, its place in the table of similarities of codes.
        members: of each subset, its heads.
        pair_seed: of each pair, its seed.
        entry_pair: of each entry, its pair.
        entry_row: of each entry, its (sequence, token).
        positions: of each entry, how many positions share it.
        target: of each sequence, x_{L+1}.
        sequence_seed: of each sequence, its seed.
        counts: of each seed, its sequences.
    """

    seen: Float[Tensor, "code lag V"]
    cells: Sequence[Places]
    members: Sequence[Sequence[int]]
    pair_seed: Places
    entry_pair: Places
    entry_row: Places
    positions: Float[Tensor, " entry"]
    target: Int[Tensor, " sequence"]
    sequence_seed: Places
    counts: Float[Tensor, " seed"]

    @classmethod
    def of(cls, several: Sequence[Windows], device: str) -> Together:
        """The windows of seeds that share one architecture, on a device."""
        first = several[0]
        codes, vocabulary = len(first.seen), first.names.shape[1]
        heads, seeds = len(first.query), np.arange(len(several))
        pairs = [one.query.shape[1] for one in several]
        rows = [one.row.size for one in several]
        sequences = [len(one.target) for one in several]
        of_seed = np.repeat(seeds, pairs)
        cells = [
            np.concatenate(
                [(i * codes + w.query[h]) * codes + w.key[h] for i, w in enumerate(several)]
            )
            for h in range(heads)
        ]
        pair, row = (
            np.concatenate([one + start for one, start in zip(places, starts, strict=True)])
            for places, starts in (
                ([one.pair for one in several], np.cumsum([0, *pairs[:-1]])),
                ([_row_of_entries(one) for one in several], np.cumsum([0, *rows[:-1]])),
            )
        )
        seen = first.seen[:, :, None] == np.arange(vocabulary)
        positions = np.concatenate([one.positions for one in several]).astype(np.float64)
        target = np.concatenate([one.target for one in several]).astype(np.int64)
        return cls(
            seen=torch.from_numpy(seen.astype(np.float64)).to(device),
            cells=[Places(one, len(several) * codes**2, device) for one in cells],
            members=[[int(h) for h in one if h < heads] for one in first.members],
            pair_seed=Places(of_seed, len(several), device),
            entry_pair=Places(pair, sum(pairs), device),
            entry_row=Places(row, sum(rows), device),
            positions=torch.from_numpy(positions).to(device),
            target=torch.from_numpy(target).to(device),
            sequence_seed=Places(np.repeat(seeds, sequences), len(several), device),
            counts=torch.tensor(sequences, dtype=torch.float64, device=device),
        )

    def kernel(
        self,
        lag_weights: Float[Tensor, "seed head lag"],
        coefficients: Float[Tensor, "seed subset"],
    ) -> Float[Tensor, " pair"]:
        """K of every pair."""
        top = lag_weights.max(dim=2, keepdim=True).values.detach()
        mixtures = torch.einsum("shk,ckv->shcv", torch.exp(lag_weights - top), self.seen)
        squared = mixtures.square().sum(dim=3, keepdim=True)
        vectors = mixtures / torch.where(squared > 0, squared, 1.0).sqrt()
        tables = (vectors @ vectors.mT).transpose(0, 1).flatten(1)
        similar = [cell.take(table) for cell, table in zip(self.cells, tables, strict=True)]
        squares = coefficients.square()
        shares = self.pair_seed.take((squares / squares.sum(dim=1, keepdim=True)).T)
        K = torch.zeros_like(similar[0])
        for share, members in zip(shares, self.members, strict=True):
            term = share
            for head in members:
                term = term * similar[head]
            K = K + term
        return K

    def losses(
        self, at: Sequence[Tensor], reading: LossReading, epsilon: float
    ) -> Float[Tensor, " seed"]:
        """The trained loss of each seed."""
        lag_weights, coefficients, sharpness = at
        K = self.kernel(lag_weights, coefficients)
        weight = torch.exp(self.pair_seed.take(sharpness[:, 0]) * (K - 1.0))
        votes = self.entry_row.total(self.positions * self.entry_pair.take(weight))
        votes = votes.reshape(len(self.target), -1)
        predicted = votes / votes.sum(dim=1, keepdim=True)
        # picked by a product, whose gradient needs no scattered additions
        hit = torch.nn.functional.one_hot(self.target, predicted.shape[1]).to(predicted.dtype)
        chosen = (predicted * hit).sum(dim=1)
        if reading == "of_softmaxed_probabilities":
            each = torch.logsumexp(predicted, dim=1) - chosen
        else:
            each = -torch.log(chosen + epsilon)
        return self.sequence_seed.total(each) / self.counts


def _row_of_entries(windows: Windows) -> Int[Array, " entry"]:
    """Of each entry, its sequence times V plus its token."""
    voter = np.empty(windows.row.size, np.int64)
    voter[windows.row.ravel()] = np.arange(windows.row.size)
    return np.concatenate([voter[: end - begin] for begin, end in pairwise(windows.start)])


# ---------------------------------------------------------------------------------------- training


def descend_seeds(
    several: Together,
    ats: Sequence[Parameters],
    *,
    epochs: int,
    learning_rate: float,
    trained: Collection[ParameterName],
    reading: LossReading,
    epsilon: float,
    device: str,
) -> None:
    """Full-batch gradient descent on some of the parameters of every seed, in place.

    Args:
        several: the counted training sequences of the seeds.
        ats: the parameters of each seed.
        epochs: how many steps.
        learning_rate: the step size.
        trained: which of the parameters change.
        reading: of the loss, see `reproaudit.papers.chen2024.model.trained_loss`.
        epsilon: ε inside its logarithm.
        device: ``"cuda"`` or ``"cpu"``.
    """
    stacked = [torch.from_numpy(np.stack(one)).to(device) for one in zip(*ats, strict=True)]
    names = Parameters._fields
    for _ in range(epochs):
        at = [
            one.to(torch.float64, copy=True).requires_grad_(name in trained)
            for name, one in zip(names, stacked, strict=True)
        ]
        moving = [i for i, one in enumerate(at) if one.requires_grad]
        loss = several.losses(at, reading, epsilon).sum()
        slopes = torch.autograd.grad(loss, [at[i] for i in moving])
        with torch.no_grad():
            for i, slope in zip(moving, slopes, strict=True):
                stacked[i].copy_(at[i] - learning_rate * slope)
    for arrays, one in zip(zip(*ats, strict=True), stacked, strict=True):
        for array, values in zip(arrays, one.cpu().numpy(), strict=True):
            array[...] = values
