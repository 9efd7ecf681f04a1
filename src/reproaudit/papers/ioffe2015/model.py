"""Nets with batch normalization or without, their slopes, and how their gradients shift."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_softmax

from reproaudit.lab import Array

EPSILON = 1e-5
"""What is added to a variance before it is divided by (Santurkar, A.1)."""


class Layer(NamedTuple):
    """A layer's weights (unit, input), gains γ (unit) and shifts β (unit), or their gradients."""

    weights: Array
    gains: Array
    shifts: Array


class Batch(NamedTuple):
    """Inputs (feature, column), targets (output, column) and the vector of ones (column).

    Columns are examples, or an orthogonal rotation of them: `rotated`.
    """

    inputs: Array
    targets: Array
    ones: Array


class Form(NamedTuple):
    """Whether hidden layers are normalized, whether their γ and β learn, and the loss.

    `scale` is that of the squared error of a linear net, or None of sigmoids with cross-entropy.
    """

    normalized: bool
    affine: bool
    scale: float | None


Noise = list[tuple[Array, Array]]
"""A factor and a shift (unit, column) of each hidden layer."""


def backprop(
    net: list[Layer], batch: Batch, form: Form, noise: Noise | None = None
) -> tuple[float, list[Layer], list[Array]]:
    """Return the loss, its gradients, and what goes into each nonlinearity (unit, column)."""
    count = batch.ones @ batch.ones
    h = batch.inputs
    kept = []
    entering = []
    for i, layer in enumerate(net):
        y = layer.weights @ h
        sigma = None
        if form.normalized and i < len(net) - 1:
            y = y - np.outer(y @ batch.ones / count, batch.ones)
            sigma = np.sqrt((y * y).sum(axis=1, keepdims=True) / count + EPSILON)
            y = y / sigma
        a = layer.gains[:, None] * y + np.outer(layer.shifts, batch.ones)
        factor: Array | float = 1.0
        if noise and i < len(net) - 1:
            factor, shift = noise[i]
            a = factor * a + shift
        entering.append(a)
        kept.append((h, y, sigma, factor))
        h = expit(a) if form.scale is None and i < len(net) - 1 else a
    if form.scale is None:
        logs = log_softmax(h, axis=0)
        loss = -(batch.targets * logs).sum() / count
        slope = (np.exp(logs) - batch.targets) / count
    else:
        off = h - batch.targets
        loss = form.scale * (off * off).sum()
        slope = 2 * form.scale * off
    gradients = []
    for i in reversed(range(len(net))):
        h, y, sigma, factor = kept[i]
        if form.scale is None and i < len(net) - 1:
            slope = slope * kept[i + 1][0] * (1 - kept[i + 1][0])
        slope = slope * factor
        learns = form.affine if sigma is not None else form.scale is None
        gains = learns * (sigma is not None) * (slope * y).sum(axis=1)
        shifts = learns * (slope @ batch.ones)
        slope = net[i].gains[:, None] * slope
        if sigma is not None:
            slope = projected(slope, y, batch.ones) / sigma
        gradients.append(Layer(slope @ h.T, gains, shifts))
        slope = net[i].weights.T @ slope
    return float(loss), gradients[::-1], entering


def projected(slope: Array, y: Array, ones: Array) -> Array:
    """Return a gradient (unit, column) without its part along the ones and along y, ‖y‖² = m."""
    count = ones @ ones
    along = np.outer(slope @ ones / count, ones)
    onto = (slope * y).sum(axis=1, keepdims=True) / count
    return np.asarray(slope - along - y * onto)


def moved(net: list[Layer], gradients: list[Layer], rate: float, below: int) -> list[Layer]:
    """Return the net after one step of gradient descent of the layers below one."""
    pairs = zip(net[:below], gradients[:below], strict=True)
    stepped = [
        Layer(*(p - rate * g for p, g in zip(layer, by, strict=True))) for layer, by in pairs
    ]
    return stepped + net[below:]


def gradient_shift(
    net: list[Layer], gradients: list[Layer], batch: Batch, form: Form, rate: float, place: int
) -> tuple[float, float, float]:
    """Return ‖G − G′‖, the same over ‖G‖, and the cosine of G and G′ (Definition 2.1).

    G′ is the gradient of a layer's weights after the layers below it have moved, on the same batch.
    """
    before = gradients[place].weights
    after = backprop(moved(net, gradients, rate, place), batch, form)[1][place].weights
    norm = np.linalg.norm(before)
    other = np.linalg.norm(after)
    shift = np.linalg.norm(before - after)
    return float(shift), float(shift / norm), float((before * after).sum() / (norm * other))


def start_of(sizes: tuple[int, ...], draw: Callable[[tuple[int, int]], Array]) -> list[Layer]:
    """Return layers of drawn weights, with γ = 1 and β = 0."""
    weights = [draw(shape) for shape in zip(sizes[1:], sizes[:-1], strict=True)]
    return [Layer(w, np.ones(len(w), w.dtype), np.zeros(len(w), w.dtype)) for w in weights]
