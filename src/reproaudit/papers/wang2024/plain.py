"""Training and losses in the plain form: `model` on every token, with gradients from autograd.

Batches are those of the fast form, drawn by the same keys, so that both forms differ by rounding
alone. Nets are `fully_connected.net_outputs`, with autograd as well.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from reproaudit.lab import Array
from reproaudit.papers.wang2024 import model
from reproaudit.papers.wang2024.fast import Sgd, Weights
from reproaudit.papers.wang2024.fully_connected import Net, NetSgd, net_outputs
from reproaudit.papers.wang2024.sampling import child
from reproaudit.papers.wang2024.task import SampleBatch, fill_batch


def _targets(batch: SampleBatch, dtype: torch.dtype) -> Float[Tensor, "batch d"]:
    means = model.targets(torch.from_numpy(batch.X).to(dtype), torch.from_numpy(batch.selected))
    return means[:, torch.from_numpy(batch.coordinates)]


# ----------------------------------------------------------------------------------------- layers


def _embedded(
    batch: SampleBatch, dtype: torch.dtype
) -> tuple[Float[Tensor, "batch z T"], Float[Tensor, "batch z"]]:
    """Z and z_query of every sample."""
    X, E = torch.from_numpy(batch.X).to(dtype), torch.from_numpy(batch.E).to(dtype)
    E = E.expand(len(X), -1, -1)
    return model.embed(X, E), model.query(E, torch.from_numpy(batch.queried), X.shape[1])


def _matrices(weights: Weights) -> tuple[Tensor, Tensor]:
    """W_KQ and W_V."""
    return torch.from_numpy(weights.key_query), torch.from_numpy(weights.value)


def losses(
    batch: SampleBatch, weights: Weights, attend_query: bool = False
) -> tuple[Float[Array, " batch"], Float[Array, " batch"]]:
    """Per sample ½‖output − target‖², and the attention on the selected tokens."""
    W_KQ, W_V = _matrices(weights)
    Z, z_query = _embedded(batch, W_V.dtype)
    output = model.forward(Z, z_query, W_KQ, W_V, attend_query)
    attended = torch.cat([Z, z_query.unsqueeze(2)], dim=2) if attend_query else Z
    attention = model.attention(attended, z_query, W_KQ)
    mass = attention.gather(1, torch.from_numpy(batch.selected)).sum(dim=1)
    squares = (output - _targets(batch, W_V.dtype)).square().sum(dim=1)
    return squares.double().numpy() / 2, mass.double().numpy()


def train_steps(start: int, stop: int, how: Sgd, scratch: SampleBatch, weights: Weights) -> None:
    """Steps ``start`` to ``stop − 1``, in place; arguments as `fast.train_steps`."""
    W_KQ, W_V = trained = [one.requires_grad_() for one in _matrices(weights)]
    for step in range(start, stop):
        fill_batch(np.uint64(child(how.key, step)), how.law, scratch)
        Z, z_query = _embedded(scratch, W_V.dtype)
        output = model.forward(Z, z_query, W_KQ, W_V, how.attend_query)
        loss = model.selection_loss(output, _targets(scratch, W_V.dtype), how.factor)
        _descend(loss, trained, how.rate if step < how.anneal_at else how.annealed_rate)
    key_query, value = (one.detach().numpy() for one in trained)
    d = len(value)
    to_tokens, to_codes = key_query[:d, d:], key_query[d:, d:]
    after = Weights(to_tokens, to_codes, value[:, :d], value[:, d:], key_query[:, :d])
    for block, one in zip(weights, after, strict=True):
        block[...] = one


def _descend(loss: Tensor, trained: list[Tensor], rate: float) -> None:
    slopes = torch.autograd.grad(loss, trained)
    with torch.no_grad():
        for one, slope in zip(trained, slopes, strict=True):
            one -= rate * slope


# ------------------------------------------------------------------------------------------- nets


def _inputs(
    batch: SampleBatch, multi_hot: bool, dtype: torch.dtype
) -> Float[Tensor, "batch inputs"]:
    """Rows (x_1 … x_T, y): the tokens coordinate by coordinate, then the subset."""
    X, queried = torch.from_numpy(batch.X), torch.from_numpy(batch.queried)
    if multi_hot:
        subset = torch.nn.functional.one_hot(queried, X.shape[2]).sum(dim=1)
    else:
        subset = queried.sort(dim=1).values / X.shape[2]
    return torch.cat([X.flatten(1).to(dtype), subset.to(dtype)], dim=1)


def _outputs(tensors: list[Tensor], inputs: Tensor) -> Float[Tensor, "batch d"]:
    W_in, W_mid, W_out, b_hidden, b_out = tensors
    further = [(W_mid[i], b_hidden[i + 1]) for i in range(len(W_mid))]
    return net_outputs(inputs, [(W_in, b_hidden[0]), *further], W_out, b_out)


def plain_net_losses(net: Net, batch: SampleBatch, multi_hot: bool) -> Float[Array, " batch"]:
    """Per sample ½‖output − target‖²."""
    tensors = [torch.from_numpy(one) for one in net]
    outputs = _outputs(tensors, _inputs(batch, multi_hot, tensors[0].dtype))
    apart = outputs - _targets(batch, tensors[0].dtype)
    return apart.double().square().sum(dim=1).numpy() / 2


def train_plain_net(start: int, stop: int, how: NetSgd, scratch: SampleBatch, net: Net) -> None:
    """Steps ``start`` to ``stop − 1`` of one net, in place.

    Arguments as `fully_connected.train_nets_on_same_batches`.
    """
    tensors = [torch.from_numpy(one) for one in net]  # they share the memory of the arrays
    trained = [one.requires_grad_() for one in tensors if one.numel()]
    for step in range(start, stop):
        fill_batch(np.uint64(child(how.key, step)), how.law, scratch)
        outputs = _outputs(tensors, _inputs(scratch, how.multi_hot, tensors[0].dtype))
        loss = model.selection_loss(outputs, _targets(scratch, tensors[0].dtype), how.factor)
        _descend(loss, trained, how.rate if step < how.anneal_at else how.annealed_rate)
