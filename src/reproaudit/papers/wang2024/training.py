"""What is trained, an attention layer or a fully-connected net, and the one loop that trains it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from reproaudit.lab import (
    Array,
    Series,
    Session,
    generator,
    measure_movement,
    observation_steps,
    one_thread,
    train,
)
from reproaudit.papers.wang2024 import fast, plain
from reproaudit.papers.wang2024.model import Weights
from reproaudit.papers.wang2024.sampling import child, root
from reproaudit.papers.wang2024.settings import FullyConnected, Selection
from reproaudit.papers.wang2024.task import Codes, TokenBatch, draw_batch, draw_test_set


@contextmanager
def _one_thread() -> Iterator[None]:
    """Hold sums and products to one thread: their last bit depends on how many there are."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_thread(), np.errstate(over="ignore", invalid="ignore"):  # as they diverge
            yield
    finally:
        torch.set_num_threads(threads)


@dataclass(frozen=True)
class Model:
    """A model in training by online SGD.

    Attributes:
        seed: of the run.
        settings: how it is trained.
        losses: from parameters, batch and settings to rows with a number of each sample: of a layer
            ½‖output − target‖² and the selected tokens' share of attention, of nets the first.
        gradient: from the same to the gradient of the training loss.
        begin: its parameters before training.
        parameters: what is trained, in place.
        codes: the codes of training where they are not drawn anew.
        placed: what is put in place of training, if anything.
    """

    seed: int
    settings: Selection
    losses: Callable[..., Sequence[Array]]
    gradient: Callable[..., Sequence[Array]]
    begin: Sequence[Array]
    parameters: Sequence[Array]
    codes: Codes | None = None
    placed: Sequence[Array] | None = None

    @property
    def at_start(self) -> Model:
        """The model before training."""
        return replace(self, parameters=self.begin)

    def advance(self, start: int, stop: int) -> None:
        """Train steps ``start`` to ``stop − 1``, or put in place what is to stand there.

        Step k takes a fresh batch, drawn under child k of the stream's key.
        """
        if self.placed is not None:
            for block, placed in zip(self.parameters, self.placed, strict=True):
                block[...] = placed
            return
        key = root(self.seed, "train")
        s = self.settings
        with _one_thread():
            for step in range(start, stop):
                batch = draw_batch(child(key, step), s, self.seed, self.codes, training=True)
                slopes = self.gradient(self.parameters, batch, s)
                for block, slope in zip(self.parameters, slopes, strict=True):
                    block -= s.rate(step) * slope

    def measure(self, batches: Sequence[TokenBatch]) -> list[float]:
        """Return the mean of each row of `losses` on batches of one size."""
        with _one_thread():
            found = [self.losses(self.parameters, batch, self.settings) for batch in batches]
        return [float(mean) for mean in np.mean(found, axis=(0, 2))]

    def loss(self, batches: Sequence[TokenBatch]) -> float:
        """Return ½ × mean squared error on batches of one size."""
        return self.measure(batches)[0]


def untrained_layer(
    seed: int,
    s: Selection,
    session: Session,
    codes: Codes | None = None,
    *,
    best: Weights | None = None,
    still: bool = False,
) -> Model:
    """Return an attention layer before training; on a card it is computed in the plain form.

    Args:
        seed: of the run.
        s: the settings.
        session: of the run.
        codes: of training; stochastic ones if not given.
        best: the best identity blocks, put in place of training or at its start where the settings
            say so.
        still: whether it keeps its weights in place of training.
    """
    draw = best if best is not None and s.weights == "trained_on" else None
    begin = draw or Weights.draw(generator(seed, "init"), s)
    losses, gradient = _on(session.device, plain.losses, plain.gradient)
    if session.form == "fast" and session.device == "cpu":
        losses = fast.losses
        gradient = fast.gradient
    kept = begin if still else None
    placed = best if s.weights == "constructed" else kept
    weights = Weights(*(block.copy() for block in begin))
    return Model(seed, s, losses, gradient, begin, weights, codes, placed)


def untrained_nets(seed: int, s: FullyConnected, session: Session) -> Model:
    """Return fully-connected nets before training, W and b of each layer in turn.

    There is one for each rate, with the same start. They see no codes, and the batches of the layer
    without what disturbs them in a control.
    """
    rng = generator(seed, "net")
    net = []
    for before, after in pairwise(s.net_sizes):
        for shape in ((after, before), (after,)):
            if s.net_init == "uniform":
                block = rng.uniform(-1, 1, shape) / np.sqrt(before)
            else:
                block = rng.standard_normal(shape) * np.sqrt(2 / before) * (len(shape) > 1)
            net.append(np.asarray(block, s.dtype))
    begin, nets = ([block.copy() for _ in s.net_rates for block in net] for _ in range(2))
    own = replace(s, query="own", targets="own")
    no_codes = np.empty((1, s.tokens, 0), np.float32)
    losses, gradient = _on(session.device, plain.net_losses, plain.net_gradient)
    return Model(seed, own, losses, gradient, begin, nets, no_codes)


def best_net(nets: Model, tests: Sequence[TokenBatch]) -> Model:
    """Return the net that has the smallest loss, alone."""
    s = nets.settings
    losses = np.array(nets.measure(tests))
    assert isinstance(s, FullyConnected), "nets have no other settings"
    chosen = int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))
    both = (plain.split_nets(blocks, s)[chosen] for blocks in (nets.begin, nets.parameters))
    begin, parameters = both
    alone = replace(s, net_rates=(s.net_rates[chosen],))
    return replace(nets, settings=alone, begin=begin, parameters=parameters)


def _on(device: str, *functions: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    return (partial(function, device=device) for function in functions)


def train_model(
    model: Model,
    session: Session,
    phase: str,
    points: int = 0,
    observe: Callable[[], Mapping[str, Any]] = dict,
) -> dict[str, Series]:
    """Train a model in place, so that it can be cut off at any step.

    Args:
        model: what to train.
        session: of the run.
        phase: its name.
        points: at about how many steps to observe.
        observe: measures the model as it is.

    Returns:
        What was observed; it ends with the first value that is not finite.
    """
    steps = model.settings.trained_steps
    return train(
        session,
        phase,
        steps=steps,
        state={f"parameters {index}": block for index, block in enumerate(model.parameters)},
        advance=model.advance,
        observe=lambda _step: observe(),
        observe_at=observed_steps(steps, points) if points else (),
    )


def observed_steps(steps: int, points: int) -> tuple[int, ...]:
    """Choose about ``points`` steps from 0 to ``steps``: a third geometric, the rest even."""
    return observation_steps(steps, even=points - points // 3, geometric=max(points // 3, 2))


def movement(model: Model) -> dict[str, float]:
    """Measure how far a model moved in training; see `measure_movement`.

    The training loss is that of samples of training's law on which nothing is trained.
    """
    s = model.settings
    sample = draw_test_set(model.seed, s, model.codes, s.tokens, training=True)
    losses = (2 * s.loss_factor * one.loss(sample) for one in (model.at_start, model))
    with _one_thread():
        return measure_movement(model.begin, model.parameters, *([loss] for loss in losses))
