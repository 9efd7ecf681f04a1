"""The experiment that holds the attention layer against fully-connected nets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array, Measurements, Series, Session, generator
from reproaudit.papers.wang2024 import fully_connected, plain
from reproaudit.papers.wang2024.fast.together import train_nets
from reproaudit.papers.wang2024.fully_connected import Net, NetInit, NetSgd, SubsetInput
from reproaudit.papers.wang2024.measures import last_value, stack_series
from reproaudit.papers.wang2024.sampling import root
from reproaudit.papers.wang2024.task import BatchLaw, SampleBatch, draw_training_sample
from reproaudit.papers.wang2024.training import (
    LayerRun,
    Selection,
    models_moved,
    observed_steps,
    train_for_loss,
    train_seeds,
)

NETS = "nets"
"""The name of the phase that trains the nets of all rates."""


@dataclass(frozen=True)
class FullyConnected(Selection):
    """The layer and a fully-connected net on the same batches.

    Attributes:
        hidden_layers: of the net.
        parameter_ratio: the net's parameters over those of the attention layer.
        subset_input: how the net sees the subset: ``multi_hot`` or ``positions``.
        net_init: ``uniform`` in ±1/√(fan-in), or ``he``.
        net_rates: learning rates relative to the layer's; the one that ends best counts.
    """

    hidden_layers: int
    parameter_ratio: float
    subset_input: SubsetInput
    net_init: NetInit
    net_rates: tuple[float, ...]

    @property
    def layer_parameters(self) -> int:
        """The numbers in W_KQ and W_V."""
        whole = self.token_dimension + self.code_dimension
        return whole * whole + self.token_dimension * whole

    @property
    def net_sizes(self) -> tuple[int, int]:
        """Inputs and hidden width of the net."""
        d = self.token_dimension
        inputs = fully_connected.input_size(d, self.tokens, self.selected, self.subset_input)
        wished = round(self.parameter_ratio * self.layer_parameters)
        return inputs, fully_connected.width_for(wished, inputs, self.hidden_layers, d)


def measure_fully_connected(s: FullyConnected, session: Session) -> Mapping[int, Measurements]:
    """The layer and a fully-connected net with as many parameters, on the same batches."""
    runs = [LayerRun.start(seed, s, session.form) for seed in session.seeds]
    layers = train_for_loss(runs, session, "transformer")
    trained = _train_nets(s, runs, session)
    return {
        seed: _beside_nets(s, run, layer, nets)
        for seed, run, layer, nets in zip(session.seeds, runs, layers, trained, strict=True)
    }


def _beside_nets(
    s: FullyConnected, run: LayerRun, layer: Series, nets: Sequence[TrainedNet]
) -> Measurements:
    """The measurements of one seed; of its nets the one that ends best counts."""
    net = min(nets, key=lambda one: last_value(one.loss, s.trained_steps))
    series = stack_series([layer, net.loss])
    best = run.reachable_loss
    missed = (series.values[-1] - best) / (s.initial_loss - best)
    placed = series.values.copy()
    placed[:, 0] = best
    inputs, width = s.net_sizes
    net_parameters = fully_connected.net_parameters(
        inputs, width, s.hidden_layers, s.token_dimension
    )
    return Measurements(
        scalars={
            "reachable_loss": best,
            "unlearned": float(missed[1]),
            **models_moved([run.arm.moved(), (net.begin, net.net, net.training_losses)]),
        },
        series={"loss": series, "loss_beside_blocks": Series(steps=series.steps, values=placed)},
        arrays={"parameters": np.array([s.layer_parameters, net_parameters], dtype=np.float64)},
    )


class TrainedNet(NamedTuple):
    """A net after training.

    Attributes:
        begin: the net before training.
        net: the net after training.
        loss: its loss on the test points over training.
        training_losses: the training loss before and after training, on the same samples.
    """

    begin: Net
    net: Net
    loss: Series
    training_losses: tuple[float, float]


def _train_nets(
    s: FullyConnected, runs: Sequence[LayerRun], session: Session
) -> list[list[TrainedNet]]:
    """For each seed its nets, one for each learning rate, all trained on the same batches."""
    d, seeds = s.token_dimension, session.seeds
    begins = [
        Net.draw(generator(seed, "net"), *s.net_sizes, s.hidden_layers, d, s.net_init, s.dtype)
        for seed in seeds
    ]
    nets = [fully_connected.side_by_side([begin] * len(s.net_rates)) for begin in begins]
    scratch = [SampleBatch.empty(s.batch, d, s.tokens, s.selected, 1, True) for _ in seeds]
    hows = [[_how(s, seed, ratio) for ratio in s.net_rates] for seed in seeds]
    places = range(len(s.net_rates))

    def advance(start: int, stop: int) -> None:
        if session.form == "plain":
            for of_seed, room, mine in zip(hows, scratch, nets, strict=True):
                for i in places:
                    alone = fully_connected.one_of(mine, i)
                    plain.train_plain_net(start, stop, of_seed[i], room, alone)
            return
        if session.device == "cpu":
            for of_seed, room, mine in zip(hows, scratch, nets, strict=True):
                fully_connected.train_nets_on_same_batches(start, stop, of_seed, room, mine)
            return
        for i in places:
            of_rate = [fully_connected.one_of(mine, i) for mine in nets]
            train_nets(start, stop, [one[i] for one in hows], scratch, of_rate, session.device)

    def losses_on(points: Sequence[SampleBatch]) -> Callable[[Net], float]:
        if session.form == "plain":
            hot = s.subset_input == "multi_hot"
            net_losses = plain.plain_net_losses
            return lambda one: float(np.mean([net_losses(one, at, hot) for at in points]))
        seen = [fully_connected.inputs_and_targets(one, s.subset_input, s.dtype) for one in points]
        return lambda one: float(np.mean([fully_connected.net_losses(one, *at) for at in seen]))

    test_losses = [losses_on(run.tests) for run in runs]

    def observe(index: int) -> dict[str, Array]:
        each = (fully_connected.one_of(nets[index], i) for i in places)
        return {"loss": _while_one_lasts(np.array([test_losses[index](net) for net in each]))}

    series = train_seeds(
        session,
        NETS,
        s.trained_steps,
        {seed: mine._asdict() for seed, mine in zip(seeds, nets, strict=True)},
        advance,
        observe,
        observed_steps(s.trained_steps, 60),
    )
    # the nets' batches are undisturbed, and nets see no codes
    undisturbed = replace(s, query="own", targets="own", codes_drawn="per_batch")
    trained = []
    for seed, begin, mine, course in zip(seeds, begins, nets, series, strict=True):
        training_loss = losses_on(draw_training_sample(seed, undisturbed, None))
        before = 2 * s.loss_factor * training_loss(begin)
        of_seed = []
        for i in places:
            net = fully_connected.one_of(mine, i)
            both = before, 2 * s.loss_factor * training_loss(net)
            of_seed.append(TrainedNet(begin, net, loss_of_one(course["loss"], i), both))
        trained.append(of_seed)
    return trained


def _how(s: FullyConnected, seed: int, ratio: float) -> NetSgd:
    """The training of a seed's net at a rate relative to the layer's."""
    return NetSgd(
        key=root(seed, "train"),
        law=BatchLaw.of(s, seed, training=False, redraw_codes=False),
        multi_hot=s.subset_input == "multi_hot",
        factor=s.loss_factor,
        rate=s.learning_rate * ratio,
        annealed_rate=s.annealed_rate * ratio,
        anneal_at=s.trained_anneal_at,
    )


def _while_one_lasts(losses: Float[Array, " nets"]) -> Float[Array, " nets"]:
    """The losses, with −1 for those that are not finite, as long as there is a finite one.

    The loop ends a seed's training at the first value that is not finite, and one net that diverges
    must not end the others.
    """
    finite = np.isfinite(losses)
    return np.where(finite, losses, -1.0) if finite.any() else losses


def loss_of_one(together: Series, index: int) -> Series:
    """The loss of one of the nets; it ends, infinite, at the observation where it diverged."""
    values = np.array(together.values[:, index])
    gone = np.flatnonzero(~np.isfinite(values) | (values < 0))
    if not len(gone):
        return Series(steps=together.steps, values=values)
    keep = int(gone[0]) + 1
    values[keep - 1] = np.inf
    return Series(steps=together.steps[:keep], values=values[:keep])
