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

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

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
from reproaudit.papers.ioffe2015.model import (
    Batch,
    Form,
    Noise,
    backprop,
    gradient_shift,
    moved,
    start_of,
)


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


def checksum(s: AuditSettings) -> dict[str, str]:
    """Return the checksum of the pictures."""
    return checksums(s.images, s.split)


def noise_of(s: AuditSettings, seed: int, step: int, columns: int) -> Noise:
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


def train_sigmoid(s: AuditSettings, seed: int, kind: str, index: int) -> tuple[Array, float]:
    """Return the loss over some digits (observation) and the shift of the last hidden layer.

    Args:
        kind: ``"plain"`` or ``"normalized"``, with or without ``"noisy "`` before it.
        index: which start is drawn.
    """
    form = Form("normalized" in kind, s.affine, None)
    place = s.hidden - 1
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
    rng = generator(seed, "data")
    size = s.size
    inputs = rng.standard_normal((size, s.examples))
    batch = rotated(inputs, np.sqrt(s.variance) * rng.standard_normal((size, size)) @ inputs)
    form = Form(kind == "normalized", s.affine, 1.0 if s.loss == "sum" else 1 / s.examples)
    start = generator(seed, "start", index)
    glorot = np.sqrt(3 / size)
    net = start_of((size,) * (s.depth + 1), lambda shape: start.uniform(-glorot, glorot, shape))
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


def _fewer_digits(s: AuditSettings) -> str:
    stand_in = pictures(s.images, s.split).proxy
    data = f"{stand_in}, " if stand_in else ""
    return f"{data}{s.steps:,} steps in place of 50,000"


def _shorter(s: AuditSettings) -> str:
    return f"{s.steps:,} steps in place of 10,000"


EXPERIMENTS = {
    "sigmoid": experiment_of(measure_sigmoid, proxy=_fewer_digits, data=checksum),
    "noise": experiment_of(measure_sigmoid, proxy=_fewer_digits, data=checksum),
    "linear": experiment_of(measure_linear, proxy=_shorter),
}
