"""Losses and gradients in the plain form: `model` on every token, with gradients from autograd.

`losses` and `gradient` return what their namesakes in `reproaudit.papers.wang2024.fast` do, and
compute on a device. Fully-connected nets have this form alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from reproaudit.lab import Array
from reproaudit.papers.wang2024 import model
from reproaudit.papers.wang2024.settings import FullyConnected, Selection
from reproaudit.papers.wang2024.task import TokenBatch


def _targets(batch: TokenBatch, like: Tensor) -> Float[Tensor, "batch d"]:
    X = torch.from_numpy(batch.X).to(like)
    means = model.targets(X, torch.from_numpy(batch.selected).to(like.device))
    return means[:, torch.from_numpy(batch.coordinates).to(like.device)]


def _tensors(parameters: Sequence[Array], device: str) -> list[Tensor]:
    """Copies that require gradients, in memory that torch aligns: a sum's bits depend on it."""
    return [torch.tensor(one, device=device, requires_grad=True) for one in parameters]


def _halved_squares(output: Tensor, batch: TokenBatch) -> Float[Array, " batch"]:
    apart = (output - _targets(batch, output)).detach()
    return apart.double().square().sum(dim=1).cpu().numpy() / 2


def _slopes(loss: Tensor, trained: Sequence[Tensor]) -> list[Array]:
    return [slope.cpu().numpy() for slope in torch.autograd.grad(loss, trained)]


def _embedded(
    batch: TokenBatch, like: Tensor
) -> tuple[Float[Tensor, "batch z T"], Float[Tensor, "batch z"]]:
    """Build Z and z_query of every sample, in the precision and on the device of a tensor."""
    X = torch.from_numpy(batch.X).to(like)
    E = torch.from_numpy(batch.E).to(like)
    E = E.expand(len(X), -1, -1)
    queried = torch.from_numpy(batch.queried).to(like.device)
    return model.embed(X, E), model.query(E, queried, X.shape[1])


def losses(
    weights: Sequence[Array], batch: TokenBatch, s: Selection, *, device: str = "cpu"
) -> tuple[Float[Array, " batch"], Float[Array, " batch"]]:
    """Compute each sample's ½‖output − target‖² and the share of attention on its selected tokens.

    It is a share of the attention on all tokens; attention on the query is left out.
    """
    W_KQ, W_V = _tensors(weights, device)
    Z, z_query = _embedded(batch, W_V)
    output = model.forward(Z, z_query, W_KQ, W_V, s.attend_query)
    attended = torch.cat([Z, z_query.unsqueeze(2)], dim=2) if s.attend_query else Z
    attention = model.attention(attended, z_query, W_KQ).detach().double()
    mass = attention.gather(1, torch.from_numpy(batch.selected).to(device)).sum(dim=1)
    mass = mass / attention[:, : Z.shape[2]].sum(dim=1).clamp_min(torch.finfo(torch.double).tiny)
    return _halved_squares(output, batch), mass.cpu().numpy()


def gradient(
    weights: Sequence[Array], batch: TokenBatch, s: Selection, *, device: str = "cpu"
) -> list[Array]:
    """Compute the gradient of the batch's loss c · mean ‖output − target‖² by W_KQ and W_V."""
    W_KQ, W_V = trained = _tensors(weights, device)
    Z, z_query = _embedded(batch, W_V)
    output = model.forward(Z, z_query, W_KQ, W_V, s.attend_query)
    loss = model.selection_loss(output, _targets(batch, W_V), s.loss_factor)
    return _slopes(loss, trained)


def net_outputs(
    net: Sequence[Tensor], inputs: Float[Tensor, "batch inputs"]
) -> Float[Tensor, "batch d"]:
    """Compute W_out relu(… relu(W_in x + b_in) …) + b_out; W and b of each layer in turn."""
    *hidden, W_out, b_out = net
    values = inputs.T
    for W, b in zip(hidden[::2], hidden[1::2], strict=True):
        values = torch.relu(W @ values + b[:, None])
    return (W_out @ values + b_out[:, None]).T


def net_inputs(batch: TokenBatch, s: FullyConnected, like: Tensor) -> Float[Tensor, "batch inputs"]:
    """Make rows (x_1 … x_T, y): the tokens coordinate by coordinate, then the subset."""
    X = torch.from_numpy(batch.X)
    queried = torch.from_numpy(batch.queried)
    if s.subset_input == "multi_hot":
        subset = torch.nn.functional.one_hot(queried, X.shape[2]).sum(dim=1)
    else:
        subset = queried.sort(dim=1).values / X.shape[2]
    return torch.cat([X.flatten(1).to(like), subset.to(like)], dim=1)


def net_losses(
    nets: Sequence[Array], batch: TokenBatch, s: FullyConnected, *, device: str = "cpu"
) -> list[Float[Array, " batch"]]:
    """Compute each sample's ½‖output − target‖², of one net after another."""
    tensors = _tensors(nets, device)
    inputs = net_inputs(batch, s, tensors[0])
    return [_halved_squares(net_outputs(net, inputs), batch) for net in split_nets(tensors, s)]


def net_gradient(
    nets: Sequence[Array], batch: TokenBatch, s: FullyConnected, *, device: str = "cpu"
) -> list[Array]:
    """Compute the gradient of each net's loss c · mean ‖output − target‖² times its rate."""
    tensors = _tensors(nets, device)
    inputs = net_inputs(batch, s, tensors[0])
    targets = _targets(batch, tensors[0])
    slopes = []
    for rate, net in zip(s.net_rates, split_nets(tensors, s), strict=True):
        loss = model.selection_loss(net_outputs(net, inputs), targets, s.loss_factor)
        slopes += [rate * slope for slope in _slopes(loss, net)]
    return slopes


def split_nets(blocks: Sequence[Any], s: FullyConnected) -> list[Sequence[Any]]:
    """Split the parameters of all nets: one net for each rate."""
    size = len(blocks) // len(s.net_rates)
    return [blocks[first : first + size] for first in range(0, len(blocks), size)]
