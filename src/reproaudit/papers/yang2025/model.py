"""The plain form: the two-headed transformer and its loss as the paper writes them.

f(X) = Σ_μ μ Σ_j ReLU( (1/L) Σ_l w_j · X softmax(Xᵀ W_Kᵀ W_Q x_l) + b ) over the heads μ = ±1, each
with its own W_K, W_Q and neurons w_j, and the logistic loss log(1 + exp(−y f)). Gradients come from
autograd on whole weight matrices, one row per neuron; `fast` computes the same numbers sooner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from reproaudit.papers.yang2025.task import Population

HEADS = (1.0, -1.0)
"""The sign μ of each head's output."""


class Weights(NamedTuple):
    """The weights of both heads, head +1 first.

    Attributes:
        keys: W_K.
        queries: W_Q.
        neurons: w_j, a row each.
        biases: b of each neuron.
    """

    keys: Float[Tensor, "head width coordinate"]
    queries: Float[Tensor, "head width coordinate"]
    neurons: Float[Tensor, "head neuron coordinate"]
    biases: Float[Tensor, "head neuron"]

    @classmethod
    def of(
        cls,
        keys: Float[np.ndarray, "head width coordinate"],
        queries: Float[np.ndarray, "head width coordinate"],
        neurons: Float[np.ndarray, "head neuron coordinate"],
        bias: float,
        device: str = "cpu",
    ) -> Weights:
        """Returns weights that autograd follows, in double precision, with one bias for all."""
        arrays = keys, queries, neurons, np.full(neurons.shape[:2], bias)
        tensors = (torch.tensor(one, dtype=torch.float64, device=device) for one in arrays)
        return cls(*(one.requires_grad_() for one in tensors))

    def arrays(self) -> list[np.ndarray]:
        """Returns the four, copied into arrays, in the order above."""
        return [one.detach().cpu().numpy().copy() for one in self]


def samples(population: Population) -> Float[Tensor, "sample coordinate token"]:
    """Returns X of every sample of the population, its tokens as columns."""
    tokens = population.vectors[population.tokens] * population.signs[:, :, None]
    return torch.from_numpy(np.ascontiguousarray(tokens.transpose(0, 2, 1)))


def outputs(
    weights: Weights, x: Float[Tensor, "sample coordinate token"], output_weight: float
) -> Float[Tensor, " sample"]:
    """Returns f(X) of every sample.

    Args:
        weights: float64 or float32, as ``x``.
        x: the samples, their tokens as columns.
        output_weight: of each neuron in its head's output: 1 for a sum, 1/neurons for a mean.
    """
    total = x.new_zeros(x.shape[0])
    for head, sign in enumerate(HEADS):
        keys = weights.keys[head] @ x
        queries = weights.queries[head] @ x
        attention = torch.softmax(keys.transpose(1, 2) @ queries, dim=1)  # over the keys
        averaged = (x @ attention).mean(dim=2)  # over the queries, before the ReLU
        before = averaged @ weights.neurons[head].T + weights.biases[head]
        total = total + sign * output_weight * torch.relu(before).sum(dim=1)
    return total


def logistic_loss(
    f: Float[Tensor, " sample"],
    positive: Float[Tensor, " sample"],
    shares: Float[Tensor, " sample"],
) -> Float[Tensor, ""]:
    """Returns the expected logistic loss over the samples.

    Args:
        f: the outputs.
        positive: of each sample, the probability of the label +1.
        shares: how much of the loss each sample makes, in sum 1.
    """
    softplus = torch.nn.functional.softplus
    return (shares * (positive * softplus(-f) + (1 - positive) * softplus(f))).sum()


def descend(
    weights: Weights,
    population: Population,
    *,
    steps: int,
    output_weight: float,
    rates: tuple[float, float, float],
) -> list[float]:
    """Gradient descent on the exact population (or training set), in place.

    Args:
        weights: leaf tensors that require gradients.
        population: what the loss averages over.
        steps: how many.
        output_weight: as for `outputs`.
        rates: of the attention matrices, of each neuron and of each bias.

    Returns:
        The loss before each step.
    """
    x = samples(population).to(weights.neurons)  # in their precision, on their device
    positive = torch.from_numpy(population.positive).to(x)
    shares = torch.from_numpy(population.shares).to(x)
    attention, neurons, biases = rates
    losses = []
    for _ in range(steps):
        loss = logistic_loss(outputs(weights, x, output_weight), positive, shares)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for tensor, gradient, rate in zip(
                weights, gradients, (attention, attention, neurons, biases), strict=True
            ):
                tensor -= rate * gradient
        losses.append(float(loss.detach()))
    return losses
