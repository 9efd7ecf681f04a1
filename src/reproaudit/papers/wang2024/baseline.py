"""A fully-connected net on the same task: plain form in torch, training loop compiled.

The net sees all tokens in a row and the subset (as a multi-hot vector, or as its positions), and
puts out a mean: x ↦ W_out relu(… relu(W_in x + b_in) …) + b_out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from reproaudit.papers.wang2024.compiling import compiled, one_thread
from reproaudit.papers.wang2024.kernel import Batch, fill_batch
from reproaudit.papers.wang2024.sampling import child

Array = NDArray[Any]


def forward(
    inputs: Float[Tensor, "batch inputs"],
    hidden: list[tuple[Float[Tensor, "width before"], Float[Tensor, " width"]]],
    W_out: Float[Tensor, "d width"],
    b_out: Float[Tensor, " d"],
) -> Float[Tensor, "batch d"]:
    """The plain form: hidden layers with ReLU, then a linear one."""
    for W, b in hidden:
        inputs = torch.relu(inputs @ W.T + b)
    return inputs @ W_out.T + b_out


def width_for(parameters: int, inputs: int, hidden_layers: int, outputs: int) -> int:
    """The hidden width, at least 1, whose number of parameters comes closest to the wished one."""
    guesses = range(1, max(2, parameters // (inputs + 1) + 2))
    return min(guesses, key=lambda h: abs(count(inputs, h, hidden_layers, outputs) - parameters))


def count(inputs: int, width: int, hidden_layers: int, outputs: int) -> int:
    """Parameters of the net, biases included."""
    first, last = (inputs + 1) * width, (width + 1) * outputs
    return first + (hidden_layers - 1) * (width + 1) * width + last


@dataclass(frozen=True)
class Net:
    """Weights of a net, all of one precision.

    Attributes:
        W_in: (width, inputs).
        W_mid: the further hidden layers, (hidden_layers − 1, width, width).
        W_out: (d, width).
        b_hidden: (hidden_layers, width).
        b_out: (d,).
    """

    W_in: Array
    W_mid: Array
    W_out: Array
    b_hidden: Array
    b_out: Array

    @staticmethod
    def draw(
        rng: np.random.Generator,
        inputs: int,
        width: int,
        hidden_layers: int,
        outputs: int,
        law: str,
        dtype: Any,
    ) -> Net:
        """Initial weights.

        ``uniform`` draws weights and biases from ±1/√(fan-in), the usual library's default;
        ``he`` draws normal weights of variance 2/(fan-in) and zero biases.
        """

        def entries(shape: tuple[int, ...], fan_in: int, bias: bool) -> Array:
            if law == "uniform":
                return np.asarray(rng.uniform(-1, 1, shape) / np.sqrt(fan_in), dtype=dtype)
            size = 0.0 if bias else np.sqrt(2 / fan_in)
            return np.asarray(rng.standard_normal(shape) * size, dtype=dtype)

        b_hidden = np.concatenate(
            [
                entries((1, width), inputs, bias=True),
                entries((hidden_layers - 1, width), width, bias=True),
            ]
        )
        return Net(
            entries((width, inputs), inputs, bias=False),
            entries((hidden_layers - 1, width, width), width, bias=False),
            entries((outputs, width), width, bias=False),
            b_hidden,
            entries((outputs,), width, bias=True),
        )

    @property
    def state(self) -> dict[str, Array]:
        """What training changes, by name."""
        return dict(vars(self))

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        return sum(block.size for block in self.state.values())


@compiled()
def _fill_inputs(X: Array, queried: Array, multi_hot: bool, inputs: Array, flat: Array) -> None:
    """Rows (x_1 … x_T, y): the tokens coordinate by coordinate, then the subset."""
    samples, d, T = X.shape
    inputs[:, d * T :] = 0
    for b in range(samples):
        inputs[b, : d * T] = flat[b]
        if multi_hot:
            for j in queried[b]:
                inputs[b, d * T + j] = 1
        else:
            for j in queried[b]:
                rank = 0
                for other in queried[b]:
                    rank += other < j
                inputs[b, d * T + rank] = j / T


@compiled()
def _fill_targets(X: Array, selected: Array, source: Array, out: Array) -> None:
    for b in range(X.shape[0]):
        for k in range(X.shape[1]):
            total = out.dtype.type(0)
            for j in selected[b]:
                total += X[source[b], k, j]
            out[b, k] = total / selected.shape[1]


def input_size(d: int, T: int, q: int, multi_hot: bool) -> int:
    """Length of a row of inputs."""
    return d * T + (T if multi_hot else q)


def inputs_and_targets(batch: Batch, multi_hot: bool, dtype: Any) -> tuple[Array, Array]:
    """A batch as the net sees it, (batch, inputs) and (batch, d)."""
    samples, d, T = batch.X.shape
    inputs = np.empty((samples, input_size(d, T, batch.queried.shape[1], multi_hot)), dtype)
    targets = np.empty((samples, d), dtype)
    _fill_inputs(batch.X, batch.queried, multi_hot, inputs, batch.X.reshape(samples, -1))
    _fill_targets(batch.X, batch.selected, batch.source, targets)
    return inputs, targets


@compiled()
def _layers(
    inputs: Array, W_in: Array, W_mid: Array, W_out: Array, b_hidden: Array, b_out: Array
) -> tuple[Array, Array]:
    """Activations of the hidden layers, (hidden_layers, batch, width), and the outputs."""
    hidden = np.empty((len(b_hidden), len(inputs), len(W_in)), inputs.dtype)
    zero = inputs.dtype.type(0)
    hidden[0] = np.maximum(np.dot(inputs, W_in.T) + b_hidden[0], zero)
    for layer in range(len(W_mid)):
        hidden[layer + 1] = np.maximum(
            np.dot(hidden[layer], W_mid[layer].T) + b_hidden[layer + 1], zero
        )
    return hidden, np.dot(hidden[-1], W_out.T) + b_out


@compiled()
def _descend(
    inputs: Array,
    targets: Array,
    factor: float,
    rate: float,
    W_in: Array,
    W_mid: Array,
    W_out: Array,
    b_hidden: Array,
    b_out: Array,
) -> None:
    """One step of gradient descent on ``factor`` × mean squared error."""
    hidden, outputs = _layers(inputs, W_in, W_mid, W_out, b_hidden, b_out)
    kind = inputs.dtype.type
    step = kind(rate * 2 * factor / len(inputs)) * (outputs - targets)
    back = np.dot(step, W_out)
    W_out -= np.dot(step.T, hidden[-1])
    b_out -= step.sum(axis=0)
    for layer in range(len(W_mid) - 1, -1, -1):
        back *= (hidden[layer + 1] > 0).astype(inputs.dtype)
        further = np.dot(back, W_mid[layer])
        W_mid[layer] -= np.dot(back.T, hidden[layer])
        b_hidden[layer + 1] -= back.sum(axis=0)
        back = further
    back *= (hidden[0] > 0).astype(inputs.dtype)
    W_in -= np.dot(back.T, inputs)
    b_hidden[0] -= back.sum(axis=0)


def losses(net: Net, inputs: Array, targets: Array) -> Array:
    """Per sample ½‖output − target‖², (batch,); infinite or NaN where training diverged."""
    with one_thread():
        _, outputs = _layers(inputs, *net.state.values())
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(((outputs.astype(np.float64) - targets) ** 2).sum(axis=1) / 2)


def descend(net: Net, inputs: Array, targets: Array, factor: float, rate: float) -> None:
    """One step on given data, in place."""
    with one_thread():
        _descend(inputs, targets, factor, rate, *net.state.values())


@compiled()
def _train(
    start: int,
    stop: int,
    key: Any,
    subset_key: Any,
    multi_hot: bool,
    factor: float,
    rate: float,
    annealed_rate: float,
    anneal_at: int,
    X: Array,
    selected: Array,
    queried: Array,
    source: Array,
    inputs: Array,
    targets: Array,
    W_in: Array,
    W_mid: Array,
    W_out: Array,
    b_hidden: Array,
    b_out: Array,
) -> None:
    for step in range(start, stop):
        fill_batch(child(key, step), subset_key, False, False, X, selected, queried, source)
        _fill_inputs(X, queried, multi_hot, inputs, X.reshape(len(X), -1))
        _fill_targets(X, selected, source, targets)
        at = rate if step < anneal_at else annealed_rate
        _descend(inputs, targets, factor, at, W_in, W_mid, W_out, b_hidden, b_out)


@dataclass(frozen=True)
class NetSgd:
    """How a net is trained: on the batches that an attention layer sees under the same keys.

    Attributes:
        key: step k draws under child k of it.
        subset_key: of the subset that all samples share; 0 where each has its own.
        multi_hot: whether the subset is given as indicators, or as its positions.
        factor: c in the loss c · mean ‖output − target‖².
        rate: the learning rate at first.
        annealed_rate: from step ``anneal_at`` on.
        anneal_at: a training step.
    """

    key: np.uint64
    subset_key: np.uint64
    multi_hot: bool
    factor: float
    rate: float
    annealed_rate: float
    anneal_at: int


def train_steps(start: int, stop: int, how: NetSgd, scratch: Batch, net: Net) -> None:
    """Steps ``start`` to ``stop − 1`` of online SGD, in place; the batch's arrays are scratch."""
    samples, d, T = scratch.X.shape
    kind = net.W_in.dtype
    rows = np.empty((samples, input_size(d, T, scratch.queried.shape[1], how.multi_hot)), kind)
    arrays = (scratch.X, scratch.selected, scratch.queried, scratch.source)
    arguments: tuple[Any, ...] = (*vars(how).values(), *arrays, rows, np.empty((samples, d), kind))
    with one_thread():
        _train(start, stop, *arguments, *net.state.values())
