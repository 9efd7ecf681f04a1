"""Ioffe and Szegedy: Batch Normalization. ICML 2015, arXiv 1502.03167.

Against its reason: Santurkar, Tsipras, Ilyas, Mądry: How does batch normalization help
optimization? NeurIPS 2018, arXiv 1805.11604. No code of either was found.

=======================================================  ==================
the papers                                               here
=======================================================  ==================
batch normalization (Ioffe, Algorithm 1) and its slope   `backprop`
shift by percentiles of an input (Ioffe, Figure 1)       `path`
shift by gradients (Santurkar, Definition 2.1)           `gradient_shift`
a net of three layers of sigmoids (Ioffe, 4.1)           `train_sigmoid`
noise after normalization (Santurkar, Algorithm 1)       `noise_of`
a deep linear net on a full batch (Santurkar, A.1)       `train_linear`
=======================================================  ==================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_softmax

from reproaudit.lab import (
    Array,
    AuditSettings,
    Series,
    checksums,
    experiment_of,
    generator,
    mean_of_last,
    one_thread,
    pictures,
)

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


def backprop(
    net: list[Layer], batch: Batch, form: Form, noise: list[tuple[Array, Array]] | None = None
) -> tuple[float, list[Layer], list[Array]]:
    """Return the loss, its gradients, and what goes into each nonlinearity (unit, column).

    The noise is a factor and a shift (unit, column) of each hidden layer.
    """
    count = batch.ones @ batch.ones
    h = batch.inputs
    kept = []
    entering = []
    for i, layer in enumerate(net):
        hidden = i < len(net) - 1
        y = layer.weights @ h
        sigma = None
        if form.normalized and hidden:
            y = y - np.outer(y @ batch.ones / count, batch.ones)
            sigma = np.sqrt((y * y).sum(axis=1, keepdims=True) / count + EPSILON)
            y = y / sigma
        a = layer.gains[:, None] * y + np.outer(layer.shifts, batch.ones)
        factor: Array | float = 1.0
        if noise and hidden:
            factor, shift = noise[i]
            a = factor * a + shift
        entering.append(a)
        kept.append((h, y, sigma, factor))
        h = expit(a) if form.scale is None and hidden else a
    if form.scale is None:
        logs = log_softmax(h, axis=0)
        loss = -(batch.targets * logs).sum() / count
        slope = (np.exp(logs) - batch.targets) / count
    else:
        off = h - batch.targets
        loss = form.scale * (off * off).sum()
        slope = 2 * form.scale * off
    gradients = []
    for layer, (h, y, sigma, factor) in zip(reversed(net), reversed(kept), strict=True):
        slope = slope * factor
        learns = form.affine if sigma is not None else form.scale is None
        gains = learns * (sigma is not None) * (slope * y).sum(axis=1)
        shifts = learns * (slope @ batch.ones)
        slope = layer.gains[:, None] * slope
        if sigma is not None:
            slope = projected(slope, y, batch.ones) / sigma
        gradients.append(Layer(slope @ h.T, gains, shifts))
        slope = layer.weights.T @ slope
        if form.scale is None:
            slope = slope * h * (1 - h)
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


@cache
def binary_pictures(images: Any, split: Any) -> tuple[Array, Array]:
    """Return pictures with pixels of 0 and 1 (pixel, row) and one-hot labels (10, row)."""
    read = pictures(images, split)
    return (read.pixels.T > 0.5).astype(np.float32), np.eye(10, dtype=np.float32)[read.labels].T


def drawn(s: AuditSettings, count: int, seed: int, index: int) -> Batch:
    """Draw pictures with repetition."""
    pixels, labels = binary_pictures(s.images, s.split)
    rows = generator(seed, "digits", index).integers(pixels.shape[1], size=count)
    return Batch(pixels[:, rows], labels[:, rows], np.ones(count, np.float32))


def noise_of(s: AuditSettings, seed: int, step: int, columns: int) -> list[tuple[Array, Array]]:
    """Draw noise for each hidden layer: a law for each unit, then a draw for each example."""
    rng = generator(seed, "noise", step)
    units = 1 if s.noise_for == "layer" else s.width
    shape = (s.width, columns)
    noise = []
    for _ in range(s.hidden):
        centre = rng.uniform(-s.noise_centre, s.noise_centre, (units, 1)).astype(np.float32)
        scale = rng.uniform(1, s.noise_scale, (units, 1)).astype(np.float32)
        shift = centre + s.noise_width * (2 * rng.random(shape, np.float32) - 1)
        noise.append((scale + s.noise_width * rng.standard_normal(shape, np.float32), shift))
    return noise


def path(entering: Array, definition: str) -> float:
    """Return how far a unit's inputs move in all, in mean spreads; the median unit's.

    Inputs (observation, unit, column) are followed by percentiles, or by ``"moments"``.
    """
    if definition == "moments":
        numbers = np.stack([entering.mean(axis=2), entering.std(axis=2)])
        spread = numbers[1]
    else:
        numbers = np.percentile(entering, [15, 50, 85], axis=2)
        spread = numbers[2] - numbers[0]
    lengths = np.abs(np.diff(numbers, axis=1)).sum(axis=1).mean(axis=0)
    return float(np.median(lengths / spread.mean(axis=0)))


def train_sigmoid(s: AuditSettings, seed: int, kind: str, index: int) -> dict[str, Any]:
    """Measure the loss over some digits (observation), and the shift of the last hidden layer.

    The kind is "plain" or "normalized", with or without "noisy " before it.
    """
    form = Form("normalized" in kind, s.affine, None)
    noisy = "noisy" in kind
    shown = drawn(s, s.shown, seed, 0)
    rng = generator(seed, "start", index)
    net = start_of(
        (len(shown.inputs), *[s.width] * s.hidden, len(shown.targets)),
        lambda shape: s.deviation * rng.standard_normal(shape, np.float32),
    )
    losses = []
    course = []
    shifts = []
    for step in range(s.steps + 1):
        batch = drawn(s, s.batch, seed, step + 1)
        noise = noise_of(s, seed, step, s.batch) if noisy else None
        gradients = backprop(net, batch, form, noise)[1]
        if step % s.every == 0:
            noise = noise_of(s, seed, step, s.shown) if noisy else None
            loss, _, entering = backprop(net, shown, form, noise)
            losses.append(loss)
            course.append(entering[-2])
            if s.definition == "gradient":
                shifts.append(gradient_shift(net, gradients, batch, form, s.rate, s.hidden - 1))
        net = moved(net, gradients, s.rate, len(net))
    shift = np.median(shifts, axis=0)[1] if shifts else path(np.stack(course), s.definition)
    return {"loss": losses, "late_loss": mean_of_last(losses), "shift": shift}


def rotated(inputs: Array, targets: Array) -> Batch:
    """Return a batch of fewer columns on which a linear net has the same loss and gradients.

    Losses, means and variances are inner products of rows, and all rows lie in the span of the
    inputs and the ones; the targets are linear in the inputs.
    """
    basis = np.linalg.qr(np.vstack([inputs, np.ones(inputs.shape[1])]).T)[0]
    return Batch(inputs @ basis, targets @ basis, basis.sum(axis=0))


@np.errstate(all="ignore")  # a net that diverges overflows
def train_linear(s: AuditSettings, seed: int, kind: str, index: int) -> dict[str, Any]:
    """Measure the loss (observation), the last layer's shift, and cosines of gradients (layer)."""
    rng = generator(seed, "data")
    inputs = rng.standard_normal((s.size, s.examples))
    batch = rotated(inputs, np.sqrt(s.variance) * rng.standard_normal((s.size, s.size)) @ inputs)
    form = Form(kind == "normalized", s.affine, 1.0 if s.loss == "sum" else 1 / s.examples)
    start = generator(seed, "start", index)
    glorot = np.sqrt(3 / s.size)
    net = start_of((s.size,) * (s.depth + 1), lambda shape: start.uniform(-glorot, glorot, shape))
    losses = []
    shifts = []
    for step in range(s.steps + 1):
        loss, gradients, _ = backprop(net, batch, form)
        if step % s.every == 0:
            losses.append(loss)
            shifts.append(
                [gradient_shift(net, gradients, batch, form, s.rate, at - 1) for at in s.layers]
            )
        net = moved(net, gradients, s.rate, len(net))
    absolute, relative, cosine = np.median(shifts, axis=0).T
    shift = {"absolute": absolute, "relative": relative, "cosine": 1 - cosine}[s.measure]
    least = np.min(shifts, axis=0)[:, 2]
    return {"loss": losses, "shift": shift[-1], "cosine": cosine, "least_cosine": least}


def measure_pair(train: Callable[..., Any], s: AuditSettings, seed: int) -> Mapping[str, Any]:
    """Train two nets on the same batches, each from its own start; stack what each measures."""
    with one_thread():
        nets = [train(s, seed, kind, index) for index, kind in enumerate(s.pair)]
    measured = {name: np.array([net[name] for net in nets]) for name in nets[0]}
    steps = np.arange(0, s.steps + 1, s.every)
    return {**measured, "loss": Series(steps=steps, values=measured["loss"].T)}


def _fewer_digits(s: AuditSettings) -> str:
    stand_in = pictures(s.images, s.split).proxy
    data = f"{stand_in}, " if stand_in else ""
    return f"{data}{s.steps:,} steps in place of 50,000"


SIGMOID = experiment_of(
    partial(measure_pair, train_sigmoid),
    proxy=_fewer_digits,
    data=lambda s: checksums(s.images, s.split),
)
EXPERIMENTS = {
    "sigmoid": SIGMOID,
    "noise": SIGMOID,
    "linear": experiment_of(
        partial(measure_pair, train_linear),
        proxy=lambda s: f"{s.steps:,} steps in place of 10,000",
    ),
}
