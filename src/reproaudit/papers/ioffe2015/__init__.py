"""Ioffe and Szegedy: Batch Normalization. ICML 2015, arXiv 1502.03167.

Against its reason: Santurkar, Tsipras, Ilyas, Mądry: How does batch normalization help
optimization? NeurIPS 2018, arXiv 1805.11604. No code of either was found.

=======================================================  ==================
the papers                                               here
=======================================================  ==================
batch normalization (Ioffe, Algorithm 1) and its slope   `backprop`
shift by percentiles of an input (Ioffe, Figure 1)       `path`
shift by gradients (Santurkar, Definition 2.1)           `gradient_shift`
a net of three layers of sigmoids (Ioffe, 4.1)           `measure_sigmoid`
noise after normalization (Santurkar, Algorithm 1)       `noise_of`
a deep linear net on a full batch (Santurkar, A.1)       `measure_linear`
=======================================================  ==================
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_softmax

from reproaudit.lab import (
    Array,
    AuditSettings,
    Series,
    experiment_of,
    generator,
    mean_of_last,
    one_thread,
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


Noise = list[tuple[Array, Array]]
"""A factor and a shift (unit, column) of each hidden layer."""


def backprop(
    net: list[Layer], batch: Batch, form: Form, noise: Noise | None = None
) -> tuple[float, list[Layer], list[Array]]:
    """Return the loss, its gradients, and what goes into each nonlinearity (unit, column)."""
    count = batch.ones @ batch.ones
    h, kept, entering = batch.inputs, [], []
    for i, layer in enumerate(net):
        y, sigma = layer.weights @ h, None
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
        loss, slope = -(batch.targets * logs).sum() / count, (np.exp(logs) - batch.targets) / count
    else:
        off = h - batch.targets
        loss, slope = form.scale * (off * off).sum(), 2 * form.scale * off
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
    norm, other = np.linalg.norm(before), np.linalg.norm(after)
    shift = np.linalg.norm(before - after)
    return float(shift), float(shift / norm), float((before * after).sum() / (norm * other))


@cache
def digits() -> tuple[Array, Array]:
    """Return scikit-learn's 1,797 digits: binary pixels (64, row) and one-hot labels (10, row)."""
    from sklearn.datasets import load_digits  # slow to import

    loaded = load_digits()
    return (loaded.data.T > 7.5).astype(np.float32), np.eye(10, dtype=np.float32)[loaded.target].T


def drawn(count: int, seed: int, index: int) -> Batch:
    """Draw digits with repetition."""
    pixels, labels = digits()
    rows = generator(seed, "digits", index).integers(pixels.shape[1], size=count)
    return Batch(pixels[:, rows], labels[:, rows], np.ones(count, np.float32))


def checksum(_: AuditSettings) -> dict[str, str]:
    """Return the checksum of the digits."""
    content = b"".join(np.ascontiguousarray(part).tobytes() for part in digits())
    return {"scikit-learn digits, binary": hashlib.sha256(content).hexdigest()}


def noise_of(s: AuditSettings, seed: int, step: int, columns: int) -> Noise:
    """Draw noise for each hidden layer: a law for each unit, then a draw for each example."""
    rng, units = generator(seed, "noise", step), 1 if s.noise_for == "layer" else s.width
    shape, noise = (s.width, columns), []
    for _ in range(s.hidden):
        centre = rng.uniform(-s.noise_centre, s.noise_centre, (units, 1)).astype(np.float32)
        scale = rng.uniform(1, s.noise_scale, (units, 1)).astype(np.float32)
        shift = centre + s.noise_width * (2 * rng.random(shape, np.float32) - 1)
        noise.append((scale + s.noise_width * rng.standard_normal(shape, np.float32), shift))
    return noise


def percentiles(entering: Array) -> tuple[Array, Array]:
    """Return percentiles 15, 50 and 85 (percentile, unit), and their spread (unit)."""
    cuts = np.percentile(entering, [15, 50, 85], axis=1)
    return cuts, cuts[2] - cuts[0]


def moments(entering: Array) -> tuple[Array, Array]:
    """Return mean and deviation (moment, unit), and the deviation (unit)."""
    return np.stack([entering.mean(axis=1), entering.std(axis=1)]), entering.std(axis=1)


def path(course: list[tuple[Array, Array]]) -> float:
    """Return how far the numbers of a unit's input move in all, in mean spreads; the median unit's.

    Args:
        course: numbers (number, unit) and the spread (unit), by observation.
    """
    numbers, spread = (np.stack(each) for each in zip(*course, strict=True))
    lengths = np.abs(np.diff(numbers, axis=0)).sum(axis=0).mean(axis=0)
    return float(np.median(lengths / spread.mean(axis=0)))


def start_of(sizes: tuple[int, ...], draw: Callable[[tuple[int, int]], Array]) -> list[Layer]:
    """Return layers of drawn weights, with γ = 1 and β = 0."""
    weights = [draw(shape) for shape in zip(sizes[1:], sizes[:-1], strict=True)]
    return [Layer(w, np.ones(len(w), w.dtype), np.zeros(len(w), w.dtype)) for w in weights]


def train_sigmoid(s: AuditSettings, seed: int, kind: str, index: int) -> tuple[Array, float]:
    """Return the loss over some digits (observation) and the shift of the last hidden layer.

    Args:
        kind: ``"plain"`` or ``"normalized"``, with or without ``"noisy "`` before it.
        index: which start is drawn.
    """
    form, place = Form("normalized" in kind, s.affine, None), s.hidden - 1
    rng, noisy, shown = generator(seed, "start", index), "noisy" in kind, drawn(s.shown, seed, 0)
    net = start_of(
        (len(shown.inputs), *[s.width] * s.hidden, len(shown.targets)),
        lambda shape: s.deviation * rng.standard_normal(shape, np.float32),
    )
    losses, course, shifts = [], [], []
    for step in range(s.steps + 1):
        batch = drawn(s.batch, seed, step + 1)
        noise = noise_of(s, seed, step, s.batch) if noisy else None
        gradients = backprop(net, batch, form, noise)[1]
        if step % s.every == 0:
            noise = noise_of(s, seed, step, s.shown) if noisy else None
            loss, _, entering = backprop(net, shown, form, noise)
            losses.append(loss)
            course.append((moments if s.definition == "moments" else percentiles)(entering[place]))
            if s.definition == "gradient":
                shifts.append(gradient_shift(net, gradients, batch, form, s.rate, place)[1])
        net = moved(net, gradients, s.rate, len(net))
    return np.array(losses), float(np.median(shifts)) if shifts else path(course)


def measure_sigmoid(s: AuditSettings, seed: int) -> Mapping[str, Any]:
    """Train a pair of nets of sigmoids on the same batches, each from its own start."""
    with one_thread():
        trained = [train_sigmoid(s, seed, kind, index) for index, kind in enumerate(s.pair)]
    losses = np.stack([losses for losses, _ in trained], axis=1)
    return {
        "loss": Series(steps=np.arange(0, s.steps + 1, s.every), values=losses),
        "late_loss": mean_of_last(losses),
        "shift": [shift for _, shift in trained],
    }


def rotated(inputs: Array, targets: Array) -> Batch:
    """Return a batch of fewer columns on which a linear net has the same loss and gradients.

    Losses, means and variances are inner products of rows, and all rows lie in the span of the
    inputs and the ones; the targets are linear in the inputs.
    """
    basis = np.linalg.qr(np.vstack([inputs, np.ones(inputs.shape[1])]).T)[0]
    return Batch(inputs @ basis, targets @ basis, basis.sum(axis=0))


def train_linear(s: AuditSettings, seed: int, kind: str, index: int) -> tuple[Array, Array]:
    """Return the loss (observation), and shift, relative shift and cosine of some layers.

    The second array has the shape (observation, layer, of the three).
    """
    rng, size = generator(seed, "data"), s.size
    inputs = rng.standard_normal((size, s.examples))
    batch = rotated(inputs, np.sqrt(s.variance) * rng.standard_normal((size, size)) @ inputs)
    form = Form(kind == "normalized", s.affine, 1.0 if s.loss == "sum" else 1 / s.examples)
    start, glorot = generator(seed, "start", index), np.sqrt(3 / size)
    net = start_of((size,) * (s.depth + 1), lambda shape: start.uniform(-glorot, glorot, shape))
    losses, shifts = [], []
    for step in range(s.steps + 1):
        loss, gradients, _ = backprop(net, batch, form)
        if step % s.every == 0:
            losses.append(loss)
            shifts.append(
                [gradient_shift(net, gradients, batch, form, s.rate, at - 1) for at in s.layers]
            )
        net = moved(net, gradients, s.rate, len(net))
    return np.array(losses), np.array(shifts)


def measure_linear(s: AuditSettings, seed: int) -> Mapping[str, Any]:
    """Train a pair of deep linear nets on the same full batch, each from its own start."""
    with one_thread(), np.errstate(all="ignore"):  # a net that diverges overflows
        trained = [train_linear(s, seed, kind, index) for index, kind in enumerate(s.pair)]
    shifts = np.stack([each for _, each in trained], axis=1)  # (observation, net, layer, of three)
    absolute, relative, cosine = np.moveaxis(np.median(shifts, axis=0), 2, 0)
    shift = {"absolute": absolute, "relative": relative, "cosine": 1 - cosine}[s.measure]
    losses = np.stack([losses for losses, _ in trained], axis=1)
    return {
        "loss": Series(steps=np.arange(0, s.steps + 1, s.every), values=losses),
        "shift": shift[:, -1],
        "cosine": cosine,
        "least_cosine": shifts[..., 2].min(axis=0),
    }


def _digits_for_mnist(_: AuditSettings) -> str:
    return "8×8 digits in place of MNIST, 800 steps in place of 50,000"


def _shorter(_: AuditSettings) -> str:
    return "300 steps in place of 10,000"


EXPERIMENTS = {
    "sigmoid": experiment_of(measure_sigmoid, proxy=_digits_for_mnist, data=checksum),
    "noise": experiment_of(measure_sigmoid, proxy=_digits_for_mnist, data=checksum),
    "linear": experiment_of(measure_linear, proxy=_shorter),
}
