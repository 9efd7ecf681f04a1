"""A fully-connected net on the same task: plain form in torch, training loop compiled.

The net sees all tokens in a row and the subset (as a multi-hot vector, or as its positions), and
puts out a mean: x ↦ W_out relu(… relu(W_in x + b_in) …) + b_out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from reproaudit.lab import Array, compiled, one_thread
from reproaudit.papers.wang2024.sampling import child
from reproaudit.papers.wang2024.task import BatchLaw, SampleBatch, fill_batch

SubsetInput = Literal["multi_hot", "positions"]
NetInit = Literal["uniform", "he"]


def net_outputs(
    inputs: Float[Tensor, "*nets batch inputs"],
    hidden: list[tuple[Float[Tensor, "*nets width before"], Float[Tensor, "*biases width"]]],
    W_out: Float[Tensor, "*nets d width"],
    b_out: Float[Tensor, "*biases d"],
) -> Float[Tensor, "*nets batch d"]:
    """The plain form: hidden layers with ReLU, then a linear one; also of several nets at once.

    Args:
        inputs: one row per sample.
        hidden: W and b of each hidden layer.
        W_out: of the last layer.
        b_out: of the last layer.
    """
    for W, b in hidden:
        inputs = torch.relu(inputs @ W.mT + b)
    return inputs @ W_out.mT + b_out


def width_for(parameters: int, inputs: int, hidden_layers: int, outputs: int) -> int:
    """The hidden width, at least 1, whose number of parameters comes closest to the wished one."""
    guesses = range(1, max(2, parameters // (inputs + 1) + 2))
    return min(
        guesses,
        key=lambda h: abs(net_parameters(inputs, h, hidden_layers, outputs) - parameters),
    )


def net_parameters(inputs: int, width: int, hidden_layers: int, outputs: int) -> int:
    """Parameters of the net, biases included."""
    first, last = (inputs + 1) * width, (width + 1) * outputs
    return first + (hidden_layers - 1) * (width + 1) * width + last


class Net(NamedTuple):
    """Weights of a net, all of one precision, changed in place.

    Attributes:
        W_in: of the first hidden layer.
        W_mid: of the further hidden layers.
        W_out: of the linear layer.
        b_hidden: biases of the hidden layers.
        b_out: of the linear layer.
    """

    W_in: Float[Array, "width inputs"]
    W_mid: Float[Array, "hidden_layers-1 width width"]
    W_out: Float[Array, "d width"]
    b_hidden: Float[Array, "hidden_layers width"]
    b_out: Float[Array, " d"]

    @staticmethod
    def draw(
        rng: np.random.Generator,
        inputs: int,
        width: int,
        hidden_layers: int,
        outputs: int,
        law: NetInit,
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


class NetSgd(NamedTuple):
    """The training of a net, on the batches that an attention layer sees under the same keys.

    Attributes:
        key: step k draws under child k of it.
        law: how a batch is drawn.
        multi_hot: whether the subset is given as indicators, or as its positions.
        factor: c in the loss c · mean ‖output − target‖².
        rate: the learning rate at first.
        annealed_rate: from step ``anneal_at`` on.
        anneal_at: a training step.
    """

    key: np.uint64
    law: BatchLaw
    multi_hot: bool
    factor: float
    rate: float
    annealed_rate: float
    anneal_at: int


# ----------------------------------------------------------------------- a batch as the net sees it


@compiled()
def _fill_inputs(batch: SampleBatch, multi_hot: bool, inputs: Array) -> None:
    """Rows (x_1 … x_T, y): the tokens coordinate by coordinate, then the subset."""
    samples, d, T = batch.X.shape
    flat = batch.X.reshape(samples, -1)
    inputs[:, d * T :] = 0
    for b in range(samples):
        inputs[b, : d * T] = flat[b]
        if multi_hot:
            for j in batch.queried[b]:
                inputs[b, d * T + j] = 1
        else:
            for j in batch.queried[b]:
                rank = 0
                for other in batch.queried[b]:
                    rank += other < j
                inputs[b, d * T + rank] = j / T


@compiled()
def _fill_targets(batch: SampleBatch, out: Array) -> None:
    X, selected = batch.X, batch.selected
    for b in range(X.shape[0]):
        for k in range(X.shape[1]):
            total = out.dtype.type(0)
            for j in selected[b]:
                total += X[b, batch.coordinates[k], j]
            out[b, k] = total / selected.shape[1]


def input_size(d: int, T: int, q: int, subset_input: SubsetInput) -> int:
    """Length of a row of inputs."""
    return d * T + (T if subset_input == "multi_hot" else q)


def room_for_rows(
    batch: SampleBatch, subset_input: SubsetInput, dtype: Any
) -> tuple[Float[Array, "batch inputs"], Float[Array, "batch d"]]:
    """Room for what the net sees of a batch, inputs and targets."""
    samples, d, T = batch.X.shape
    size = input_size(d, T, batch.queried.shape[1], subset_input)
    return np.empty((samples, size), dtype), np.empty((samples, d), dtype)


def inputs_and_targets(
    batch: SampleBatch, subset_input: SubsetInput, dtype: Any
) -> tuple[Float[Array, "batch inputs"], Float[Array, "batch d"]]:
    """A batch as the net sees it."""
    inputs, targets = room_for_rows(batch, subset_input, dtype)
    _fill_inputs(batch, subset_input == "multi_hot", inputs)
    _fill_targets(batch, targets)
    return inputs, targets


# ---------------------------------------------------------------------------------------- training


@compiled()
def _layers(first: Array, net: Net) -> tuple[Array, Array]:
    """Activations of the hidden layers, (hidden_layers, batch, width), and the outputs.

    Args:
        first: the inputs times W_inᵀ.
        net: the net.
    """
    W_mid, b_hidden = net.W_mid, net.b_hidden
    hidden = np.empty((len(b_hidden), *first.shape), first.dtype)
    zero = first.dtype.type(0)
    hidden[0] = np.maximum(first + b_hidden[0], zero)
    for layer in range(len(W_mid)):
        hidden[layer + 1] = np.maximum(
            np.dot(hidden[layer], W_mid[layer].T) + b_hidden[layer + 1], zero
        )
    return hidden, np.dot(hidden[-1], net.W_out.T) + net.b_out


@compiled()
def _outputs(inputs: Array, net: Net) -> Array:
    return _layers(np.dot(inputs, net.W_in.T), net)[1]


@compiled()
def _descend_above(first: Array, targets: Array, size: float, net: Net) -> Array:
    """One step of all that is above W_in, and the step of the first layer's sums.

    Args:
        first: the inputs times W_inᵀ.
        targets: what the outputs should be.
        size: the learning rate, times the derivative of the loss by half the squared error.
        net: changed in place, but for W_in.
    """
    hidden, outputs = _layers(first, net)
    W_mid, W_out, b_hidden, b_out = net.W_mid, net.W_out, net.b_hidden, net.b_out
    step = first.dtype.type(size) * (outputs - targets)
    back: Array = np.dot(step, W_out)
    W_out -= np.dot(step.T, hidden[-1])
    b_out -= step.sum(axis=0)
    for layer in range(len(W_mid) - 1, -1, -1):
        back *= (hidden[layer + 1] > 0).astype(first.dtype)
        further = np.dot(back, W_mid[layer])
        W_mid[layer] -= np.dot(back.T, hidden[layer])
        b_hidden[layer + 1] -= back.sum(axis=0)
        back = further
    back *= (hidden[0] > 0).astype(first.dtype)
    b_hidden[0] -= back.sum(axis=0)
    return back


@compiled()
def _descend_nets(inputs: Array, targets: Array, factor: float, rates: Array, nets: Net) -> None:
    """One step of gradient descent on ``factor`` × mean squared error, of several nets.

    The products with the inputs, which make nearly all of the work, are made for all together.

    Args:
        inputs: one row per sample.
        targets: likewise.
        factor: c in the loss.
        rates: the learning rate of each net.
        nets: each block with an axis for the nets in front; changed in place.
    """
    count, width, size = nets.W_in.shape
    W_in = nets.W_in.reshape(count * width, size)
    firsts = np.dot(inputs, W_in.T)
    backs = np.empty_like(firsts)
    for i in range(count):
        net = Net(nets.W_in[i], nets.W_mid[i], nets.W_out[i], nets.b_hidden[i], nets.b_out[i])
        mine = slice(i * width, (i + 1) * width)
        first = np.ascontiguousarray(firsts[:, mine])
        scale = rates[i] * 2 * factor / len(inputs)
        backs[:, mine] = _descend_above(first, targets, scale, net)
    W_in -= np.dot(backs.T, inputs)


def net_losses(
    net: Net, inputs: Float[Array, "batch inputs"], targets: Float[Array, "batch d"]
) -> Float[Array, " batch"]:
    """Per sample ½‖output − target‖²; infinite or NaN where training diverged."""
    with one_thread():
        outputs = _outputs(inputs, net)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(((outputs.astype(np.float64) - targets) ** 2).sum(axis=1) / 2)


def side_by_side(nets: Sequence[Net]) -> Net:
    """Copies of several nets of one shape, each block with an axis for the nets in front."""
    return Net(*(np.stack(blocks) for blocks in zip(*nets, strict=True)))


def one_of(nets: Net, index: int) -> Net:
    """The net of this index among nets side by side, in the same memory."""
    return Net(*(block[index] for block in nets))


def descend_net(
    net: Net,
    inputs: Float[Array, "batch inputs"],
    targets: Float[Array, "batch d"],
    factor: float,
    rate: float,
) -> None:
    """One step on given data, in place."""
    alone = Net(*(block[None] for block in net))
    with one_thread():
        _descend_nets(inputs, targets, factor, np.array([rate]), alone)


@compiled()
def _train_nets(
    start: int,
    stop: int,
    how: NetSgd,
    rates: Array,
    annealed_rates: Array,
    scratch: SampleBatch,
    inputs: Array,
    targets: Array,
    nets: Net,
) -> None:
    for step in range(start, stop):
        fill_batch(child(how.key, step), how.law, scratch)
        _fill_inputs(scratch, how.multi_hot, inputs)
        _fill_targets(scratch, targets)
        now = rates if step < how.anneal_at else annealed_rates
        _descend_nets(inputs, targets, how.factor, now, nets)


def train_nets_on_same_batches(
    start: int, stop: int, hows: Sequence[NetSgd], scratch: SampleBatch, nets: Net
) -> None:
    """Steps ``start`` to ``stop − 1`` of online SGD, in place, of nets that see the same batches.

    Args:
        start: first step.
        stop: one past the last.
        hows: the training of each net; they differ in their rates alone.
        scratch: room for a batch.
        nets: the nets side by side.
    """
    how = hows[0]
    subset_input: SubsetInput = "multi_hot" if how.multi_hot else "positions"
    inputs, targets = room_for_rows(scratch, subset_input, nets.W_in.dtype)
    rates = np.array([one.rate for one in hows])
    annealed_rates = np.array([one.annealed_rate for one in hows])
    with one_thread():
        _train_nets(start, stop, how, rates, annealed_rates, scratch, inputs, targets, nets)
