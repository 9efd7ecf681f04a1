"""The experiments: selection itself, code dimensions, longer sequences, a fully-connected net."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float32

from reproaudit.lab import (
    Array,
    Experiment,
    Measurements,
    Series,
    Session,
    generator,
    train,
)
from reproaudit.papers.wang2024 import fully_connected
from reproaudit.papers.wang2024.constructed import reachable
from reproaudit.papers.wang2024.fully_connected import Net, NetInit, NetSgd, SubsetInput
from reproaudit.papers.wang2024.measures import (
    directions,
    last_value,
    mean_loss_and_mass,
    power_law_exponent,
    stack_series,
)
from reproaudit.papers.wang2024.sampling import child, root
from reproaudit.papers.wang2024.task import (
    BatchLaw,
    SampleBatch,
    draw_batch,
    draw_codes,
)
from reproaudit.papers.wang2024.training import Arm, LayerRun, Selection, observed_steps

CORNER = 4
"""The number of rows and columns of the codes' block of W_KQ that are kept to look at."""

ARMS = ("stochastic", "fixed")
"""The two layers of the experiment on longer sequences."""


# ---------------------------------------------------------------------------------------- settings


@dataclass(frozen=True)
class CodeDimension(Selection):
    """Training at several code dimensions; ``code_dimension`` is not used.

    Attributes:
        dimensions: the values of d_e, increasing.
    """

    dimensions: tuple[int, ...]


@dataclass(frozen=True)
class LongerSequences(Selection):
    """Two layers, trained alike but for their codes, on longer sequences; ``codes`` is not used.

    Attributes:
        length_factors: lengths of the validation sequences as multiples of T, increasing from 1.
        validation_points: samples per length, drawn before training.
        validation_codes: ``per_point``, each with codes of its own, or ``shared`` by a length's
            points; of the layer with stochastic codes.
        continuation: fixed codes beyond position T: ``drawn_ahead`` with the others and never
            trained on, ``repeated`` from the start, or ``redrawn`` for every point.
        first_arm: ``stochastic``, or in a control ``fixed``: fixed codes of another draw.
    """

    length_factors: tuple[float, ...]
    validation_points: int
    validation_codes: Literal["per_point", "shared"]
    continuation: Literal["drawn_ahead", "repeated", "redrawn"]
    first_arm: Literal["stochastic", "fixed"]

    def __post_init__(self) -> None:
        super().__post_init__()
        factors = self.length_factors
        if len(factors) < 2 or factors[0] != 1 or list(factors) != sorted(set(factors)):
            raise ValueError(
                f"setting 'length_factors' is {list(factors)}; it must begin with 1 and increase."
            )

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the validation sequences; the first is T."""
        return tuple(round(factor * self.tokens) for factor in self.length_factors)


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


# -------------------------------------------------------------------------------------- selection


def measure_selection(s: Selection, session: Session) -> Mapping[int, Measurements]:
    """One layer on the task: loss, attention and directions over training."""
    return {seed: _selection(seed, s, session) for seed in session.seeds}


def _selection(seed: int, s: Selection, session: Session) -> Measurements:
    run = LayerRun.start(seed, s)
    weights = run.arm.weights

    def observe() -> dict[str, float | Array]:
        loss, mass = run.arm.loss_and_mass(run.tests)
        return {"loss": loss, "mass": mass, **directions(weights)}

    series = run.arm.train(session, "selection", 90, observe)
    return Measurements(
        scalars={"reachable_loss": run.reachable_loss, "reachable_mass": run.reachable_mass},
        series=series,
        arrays={"value_block": weights.V_x, "key_query_corner": weights.D[:CORNER, :CORNER]},
    )


# ------------------------------------------------------------------------------------- dimensions


def measure_dimension(s: CodeDimension, session: Session) -> Mapping[int, Measurements]:
    """A layer for each code dimension, against what identity blocks reach there."""
    return {seed: _dimension(seed, s, session) for seed in session.seeds}


def _dimension(seed: int, s: CodeDimension, session: Session) -> Measurements:
    losses, bests = [], []
    for d_e in s.dimensions:
        run = LayerRun.start(seed, replace(s, code_dimension=d_e))
        losses.append(run.train_for_loss(session, _dimension_phase(d_e)))
        bests.append(run.reachable_loss)
    series = stack_series(losses)
    return Measurements(
        scalars={
            "exponent": power_law_exponent(s.dimensions, series.values[-1]),
            "reachable_exponent": power_law_exponent(s.dimensions, bests),
        },
        series={"loss": series},
        arrays={"reachable_loss": np.array(bests)},
    )


def _dimension_phase(d_e: int) -> str:
    return f"dimension_{d_e}"


# ---------------------------------------------------------------------------------------- lengths


def measure_length(s: LongerSequences, session: Session) -> Mapping[int, Measurements]:
    """Two layers, one trained with stochastic and one with fixed codes, on longer sequences."""
    return {seed: _length(seed, s, session) for seed in session.seeds}


def _length(seed: int, s: LongerSequences, session: Session) -> Measurements:
    bests = [reachable(seed, s, length, s.reachable_draws, s.attend_query) for length in s.lengths]
    points = validation_sets(seed, s, None)
    if s.first_arm == "fixed":
        first = _fixed_arm(seed, s, "other_fixed_codes")
    else:
        first = Arm.start(seed, s, None, bests[0] if s.weights == "constructed" else None), points
    arms = first, _fixed_arm(seed, s, "fixed_codes")
    reach = [
        mean_loss_and_mass([batch], best.weights(s, s.dtype), s.attend_query)[0]
        for batch, best in zip(points, bests, strict=True)
    ]
    series = stack_series(
        [_train_arm(name, *arm, session) for name, arm in zip(ARMS, arms, strict=True)]
    )
    final = series.values[-1]
    return Measurements(
        series={"loss": series},
        arrays={
            "growth": final / final[:, :1],
            "excess": final / np.array(reach),
            "final_loss": final,
            "reachable_loss": np.array(reach),
        },
    )


def _fixed_arm(seed: int, s: LongerSequences, purpose: str) -> tuple[Arm, tuple[SampleBatch, ...]]:
    """A layer with fixed codes, and its validation sets."""
    codes = fixed_codes(seed, s, purpose)
    return Arm.start(seed, s, codes[:, : s.tokens]), validation_sets(seed, s, codes)


def _train_arm(name: str, arm: Arm, validation: Sequence[SampleBatch], session: Session) -> Series:
    def observe() -> dict[str, Array]:
        return {"loss": np.array([arm.loss_and_mass([batch])[0] for batch in validation])}

    return arm.train(session, name, 40, observe)["loss"]


def fixed_codes(seed: int, s: LongerSequences, purpose: str) -> Float32[Array, "1 longest d_e"]:
    """Fixed codes for the positions of the longest sequences."""
    codes = draw_codes(root(seed, purpose), s, max(s.lengths))
    if s.continuation == "repeated":
        return codes[:, np.arange(max(s.lengths)) % s.tokens]
    return codes


def validation_sets(
    seed: int, s: LongerSequences, fixed: Float32[Array, "1 longest d_e"] | None
) -> tuple[SampleBatch, ...]:
    """One set per length; with fixed codes or stochastic ones, the tokens and subsets are equal."""
    key = root(seed, "validation")
    batches = []
    for length in s.lengths:
        length_key = np.uint64(child(key, length))
        own = s.validation_codes == "per_point" or s.codes_drawn == "per_sample"
        codes = None
        if fixed is not None:
            codes = fixed[:, :length]
            if s.continuation == "redrawn" and length > s.tokens:
                codes = draw_codes(length_key, s, length, s.validation_points)
                codes[:, : s.tokens] = fixed[:, : s.tokens]
        batches.append(
            draw_batch(
                length_key,
                s,
                seed,
                samples=s.validation_points,
                positions=length,
                codes=codes,
                own_codes=own,
            )
        )
    return tuple(batches)


# -------------------------------------------------------------------------------- fully connected


def measure_fully_connected(s: FullyConnected, session: Session) -> Mapping[int, Measurements]:
    """The layer and a fully-connected net with as many parameters, on the same batches."""
    return {seed: _fully_connected(seed, s, session) for seed in session.seeds}


def _fully_connected(seed: int, s: FullyConnected, session: Session) -> Measurements:
    run = LayerRun.start(seed, s)
    layer = run.train_for_loss(session, "transformer")
    nets = [_train_net(seed, s, index, run.tests, session) for index in range(len(s.net_rates))]
    series = stack_series([layer, min(nets, key=lambda one: last_value(one, s.steps))])
    best = run.reachable_loss
    missed = (series.values[-1] - best) / (s.initial_loss - best)
    inputs, width = s.net_sizes
    net_parameters = fully_connected.net_parameters(
        inputs, width, s.hidden_layers, s.token_dimension
    )
    return Measurements(
        scalars={"reachable_loss": best, "unlearned": float(missed[1])},
        series={"loss": series},
        arrays={"parameters": np.array([s.layer_parameters, net_parameters], dtype=np.float64)},
    )


def _train_net(
    seed: int, s: FullyConnected, index: int, tests: Sequence[SampleBatch], session: Session
) -> Series:
    """The net's loss over training at one of the learning rates."""
    d, ratio = s.token_dimension, s.net_rates[index]
    net = Net.draw(generator(seed, "net"), *s.net_sizes, s.hidden_layers, d, s.net_init, s.dtype)
    seen = [fully_connected.inputs_and_targets(batch, s.subset_input, s.dtype) for batch in tests]
    scratch = SampleBatch.empty(s.batch, d, s.tokens, s.selected, 1, True)
    how = NetSgd(
        key=root(seed, "train"),
        law=BatchLaw.of(s, seed, training=False, redraw_codes=False),
        multi_hot=s.subset_input == "multi_hot",
        factor=s.loss_factor,
        rate=s.learning_rate * ratio,
        annealed_rate=s.annealed_rate * ratio,
        anneal_at=s.anneal_at,
    )

    def observe(_step: int) -> dict[str, float]:
        return {"loss": float(np.mean([fully_connected.net_losses(net, *one) for one in seen]))}

    return train(
        session,
        _net_phase(index),
        steps=s.steps,
        state=net._asdict(),
        advance=lambda start, stop: fully_connected.train_net(start, stop, how, scratch, net),
        observe=observe,
        observe_at=observed_steps(s.steps, 60),
    )["loss"]


def _net_phase(index: int) -> str:
    return f"net_{index}"


EXPERIMENTS: Mapping[str, Experiment] = {
    "selection": Experiment(
        settings=Selection,
        measure=measure_selection,
        phases=lambda s: {"selection": s.steps},
    ),
    "dimension": Experiment(
        settings=CodeDimension,
        measure=measure_dimension,
        phases=lambda s: {_dimension_phase(d_e): s.steps for d_e in s.dimensions},
    ),
    "length": Experiment(
        settings=LongerSequences,
        measure=measure_length,
        phases=lambda s: dict.fromkeys(ARMS, s.steps),
    ),
    "fully_connected": Experiment(
        settings=FullyConnected,
        measure=measure_fully_connected,
        phases=lambda s: {
            "transformer": s.steps,
            **{_net_phase(i): s.steps for i in range(len(s.net_rates))},
        },
    ),
}
