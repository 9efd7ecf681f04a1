"""The plain form: the two-headed transformer and its loss as the paper writes them.

f(X) = Σ_μ μ Σ_j ReLU( (1/L) Σ_l w_j · X softmax(Xᵀ W_Kᵀ W_Q x_l) + b ) over the heads μ = ±1, each
with its own W_K, W_Q and neurons w_j, and the logistic loss log(1 + exp(−y f)). Gradients come from
autograd on whole weight matrices, one row per neuron; `fast` computes the same numbers sooner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from reproaudit.papers.yang2025.task import Population

HEADS = (1.0, -1.0)
"""The sign μ of each head's output."""


@dataclass
class Weights:
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

    def copy(self) -> Weights:
        """Returns the same weights in tensors of their own."""
        return Weights(*(one.detach().clone().requires_grad_() for one in self.all()))

    def state(self) -> dict[str, Tensor]:
        """Returns what training changes, by name."""
        return dict(vars(self))

    def all(self) -> tuple[Tensor, ...]:
        """Returns the four tensors in the order above."""
        return self.keys, self.queries, self.neurons, self.biases


def samples(population: Population) -> Float[Tensor, "sample coordinate token"]:
    """Returns X of every sample of the population, its tokens as columns."""
    tokens = population.vectors[population.tokens] * population.signs[:, :, None]
    return torch.from_numpy(np.ascontiguousarray(tokens.transpose(0, 2, 1)))


def outputs(
    weights: Weights, x: Float[Tensor, "sample coordinate token"], output_scale: float
) -> Float[Tensor, " sample"]:
    """Returns f(X) of every sample.

    Args:
        weights: float64 or float32, as ``x``.
        x: the samples, their tokens as columns.
        output_scale: what multiplies each neuron: 1 for a sum over neurons, 1/neurons for a mean.
    """
    total = torch.zeros(x.shape[0], dtype=x.dtype)
    for head, sign in enumerate(HEADS):
        keys, queries = weights.keys[head] @ x, weights.queries[head] @ x
        attention = torch.softmax(keys.transpose(1, 2) @ queries, dim=1)  # over the keys
        averaged = (x @ attention).mean(dim=2)  # over the queries, before the ReLU
        before = averaged @ weights.neurons[head].T + weights.biases[head]
        total = total + sign * output_scale * torch.relu(before).sum(dim=1)
    return total


def population_loss(
    weights: Weights,
    x: Float[Tensor, "sample coordinate token"],
    positive: Float[Tensor, " sample"],
    output_scale: float,
    shares: Float[Tensor, " sample"],
) -> Float[Tensor, ""]:
    """Returns the expected logistic loss over the samples.

    Args:
        weights: the model.
        x: the samples.
        positive: of each sample, the probability of the label +1.
        output_scale: as for `outputs`.
        shares: how much of the loss each sample makes, in sum 1.
    """
    return logistic_loss(outputs(weights, x, output_scale), positive, shares)


def logistic_loss(
    f: Float[Tensor, " sample"],
    positive: Float[Tensor, " sample"],
    shares: Float[Tensor, " sample"],
) -> Float[Tensor, ""]:
    """Returns the expected logistic loss of outputs f; the rest as for `population_loss`."""
    softplus = torch.nn.functional.softplus
    return (shares * (positive * softplus(-f) + (1 - positive) * softplus(f))).sum()


def descend(
    weights: Weights,
    population: Population,
    *,
    steps: int,
    output_scale: float,
    rates: tuple[float, float, float],
) -> list[float]:
    """Gradient descent on the exact population (or training set), in place.

    Args:
        weights: leaf tensors that require gradients.
        population: what the loss averages over.
        steps: how many.
        output_scale: as for `outputs`.
        rates: of the attention matrices, of each neuron and of each bias.

    Returns:
        The loss before each step.
    """
    x = samples(population).to(weights.neurons.dtype)
    positive = torch.from_numpy(population.positive).to(weights.neurons.dtype)
    shares = torch.from_numpy(population.shares).to(weights.neurons.dtype)
    attention, neurons, biases = rates
    losses = []
    for _ in range(steps):
        loss = population_loss(weights, x, positive, output_scale, shares)
        gradients = torch.autograd.grad(loss, weights.all())
        with torch.no_grad():
            for tensor, gradient, rate in zip(
                weights.all(), gradients, (attention, attention, neurons, biases), strict=True
            ):
                tensor -= rate * gradient
        losses.append(float(loss.detach()))
    return losses


def initial(
    attention: tuple[
        Float[np.ndarray, "head width coordinate"], Float[np.ndarray, "head width coordinate"]
    ],
    neurons: Float[np.ndarray, "head neuron coordinate"],
    bias: float,
) -> Weights:
    """Returns weights that autograd follows, from W_K and W_Q, the neurons and one bias for all."""

    def leaf(values: np.ndarray) -> Tensor:
        return torch.tensor(values, dtype=torch.float64, requires_grad=True)

    keys, queries = attention
    return Weights(leaf(keys), leaf(queries), leaf(neurons), leaf(np.full(neurons.shape[:2], bias)))
