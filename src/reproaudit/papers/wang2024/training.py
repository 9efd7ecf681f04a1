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
    continued_steps,
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
        losses: from parameters, batch and settings to each sample's ½‖output − target‖², and of a
            layer its attention on the selected tokens; two rows, or one.
        gradient: from the same to the gradient of the training loss.
        begin: its parameters before training.
        parameters: what is trained, in place.
        codes: the codes of training where they are not drawn anew.
        placed: what is put in place of training, if anything.
        stream: the name of the random numbers that batches are drawn from.
    """

    seed: int
    settings: Selection
    losses: Callable[..., Sequence[Array]]
    gradient: Callable[..., Sequence[Array]]
    begin: Sequence[Array]
    parameters: Sequence[Array]
    codes: Codes | None = None
    placed: Sequence[Array] | None = None
    stream: str = "train"

    def advance(self, start: int, stop: int) -> None:
        """Train steps ``start`` to ``stop − 1``, or put in place what is to stand there.

        Step k takes a fresh batch, drawn under child k of the stream's key.
        """
        if self.placed is not None:
            for block, placed in zip(self.parameters, self.placed, strict=True):
                block[...] = placed
            return
        key, s = root(self.seed, self.stream), self.settings
        with _one_thread():
            for step in range(start, stop):
                batch = draw_batch(child(key, step), s, self.seed, self.codes, training=True)
                slopes = self.gradient(self.parameters, batch, s)
                for block, slope in zip(self.parameters, slopes, strict=True):
                    block -= s.rate(step) * slope

    def measure(self, batches: Sequence[TokenBatch]) -> list[float]:
        """Return ½ × mean squared error on batches of one size, and the mean attention."""
        with _one_thread():
            found = [self.losses(self.parameters, batch, self.settings) for batch in batches]
        return [float(mean) for mean in np.mean(found, axis=(0, 2))]

    def loss(self, batches: Sequence[TokenBatch]) -> float:
        """Return ½ × mean squared error on batches of one size."""
        return self.measure(batches)[0]

    def continued(self, session: Session) -> Model:
        """Return a copy trained on, on other batches, with the schedule begun anew.

        What was put in place of training stays what it is.
        """
        s = self.settings
        length = continued_steps(s.trained_steps) / s.steps
        further = replace(
            self,
            settings=replace(s, training_length=length),
            parameters=[block.copy() for block in self.parameters],
            stream="continued",
        )
        if self.placed is None:
            train_model(further, session, "continued")
        return further


def untrained_layer(
    seed: int,
    s: Selection,
    session: Session,
    codes: Codes | None = None,
    placed: Weights | None = None,
) -> Model:
    """Return an attention layer before training; on a card it is computed in the plain form.

    It is trained with the codes that are given, or with stochastic ones; ``placed`` is put in place
    of training.
    """
    begin, weights = (Weights.draw(generator(seed, "init"), s) for _ in range(2))
    losses, gradient = _on(session.device, plain.losses, plain.gradient)
    if session.form == "fast" and session.device == "cpu":
        losses, gradient = fast.losses, fast.gradient
    return Model(seed, s, losses, gradient, begin, weights, codes, placed)


def untrained_net(seed: int, s: FullyConnected, session: Session, ratio: float) -> Model:
    """Return a fully-connected net before training, W and b of each layer in turn.

    It sees no codes, and the batches of the layer without what disturbs them in a control. Its
    learning rate is ``ratio`` times the layer's.
    """
    rng, net = generator(seed, "net"), []
    for before, after in pairwise(s.net_sizes):
        for shape in ((after, before), (after,)):
            if s.net_init == "uniform":
                block = rng.uniform(-1, 1, shape) / np.sqrt(before)
            else:
                block = rng.standard_normal(shape) * np.sqrt(2 / before) * (len(shape) > 1)
            net.append(np.asarray(block, s.dtype))
    own = replace(
        s,
        query="own",
        targets="own",
        learning_rate=s.learning_rate * ratio,
        annealed_rate=s.annealed_rate * ratio,
    )
    no_codes = np.empty((1, s.tokens, 0), np.float32)
    losses, gradient = _on(session.device, plain.net_losses, plain.net_gradient)
    return Model(seed, own, losses, gradient, [block.copy() for block in net], net, no_codes)


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


def movement(models: Sequence[Model]) -> dict[str, float]:
    """Measure how far models moved in training, all together; see `measure_movement`.

    The training loss is that of samples of training's law on which nothing is trained.
    """
    firsts, lasts = [], []
    for model in models:
        sample = draw_test_set(model.seed, model.settings, model.codes, training=True)
        twice = 2 * model.settings.loss_factor
        firsts.append(twice * replace(model, parameters=model.begin).loss(sample))
        lasts.append(twice * model.loss(sample))
    begins = [block for model in models for block in model.begin]
    with _one_thread():
        ends = [block for model in models for block in model.parameters]
        return measure_movement(begins, ends, firsts, lasts)
