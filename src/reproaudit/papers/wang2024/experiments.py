"""The experiments: selection itself, code dimensions, longer sequences, a fully-connected net."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from reproaudit.lab import Array, Experiment, Measurements, Series, Session, continued_steps
from reproaudit.papers.wang2024.constructed import best_weights
from reproaudit.papers.wang2024.measures import directions, power_law_exponent, stack_series
from reproaudit.papers.wang2024.model import Weights
from reproaudit.papers.wang2024.sampling import child, root
from reproaudit.papers.wang2024.settings import (
    CodeDimension,
    FullyConnected,
    LongerSequences,
    Selection,
    net_parameters,
)
from reproaudit.papers.wang2024.task import Codes, TokenBatch, draw_batch, draw_codes, draw_test_set
from reproaudit.papers.wang2024.training import (
    Model,
    movement,
    train_model,
    untrained_layer,
    untrained_net,
)

CORNER = 4
"""The number of rows and columns of the codes' block of W_KQ that are kept to look at."""


def _start_layer(
    seed: int, s: Selection, session: Session
) -> tuple[Model, tuple[TokenBatch, ...], float, float]:
    """Return an untrained layer, its test points, and what the best identity blocks reach.

    That is their loss and their mean attention on the selected tokens, on the same points with
    stochastic codes.
    """
    fixed = s.codes == "fixed"
    codes = draw_codes(root(seed, "fixed_codes"), s, s.tokens) if fixed else None
    best = best_weights(seed, s, s.tokens)
    layer = untrained_layer(seed, s, session, codes, best if s.weights == "constructed" else None)
    loss, mass = replace(layer, parameters=best).measure(draw_test_set(seed, s, None))
    return layer, draw_test_set(seed, s, codes), loss, mass


def _train_for_loss(
    model: Model, tests: Sequence[TokenBatch], session: Session, phase: str
) -> Series:
    """Train a model and return its loss on the test points."""
    return train_model(model, session, phase, 60, lambda: {"loss": model.loss(tests)})["loss"]


def measure_selection(s: Selection, session: Session) -> Mapping[int, Measurements]:
    """Train one layer; measure loss, attention and directions."""
    (seed,) = session.seeds
    layer, tests, best, best_mass = _start_layer(seed, s, session)
    weights = Weights(*layer.parameters)

    def observe() -> dict[str, float | Array]:
        loss, mass = layer.measure(tests)
        return {"loss": loss, "mass": mass, **directions(weights)}

    series = train_model(layer, session, "selection", 90, observe)
    scalars = {
        "reachable_loss": best,
        "reachable_mass": best_mass,
        "continued_loss": layer.continued(session).loss(tests),
        **movement([layer]),
    }
    _, D, V_x, _ = weights.blocks
    arrays = {"value_block": V_x, "key_query_corner": D[:CORNER, :CORNER]}
    return {seed: Measurements(scalars=scalars, series=series, arrays=arrays)}


def measure_dimension(s: CodeDimension, session: Session) -> Mapping[int, Measurements]:
    """Train a layer for each code dimension, beside what identity blocks reach there."""
    (seed,) = session.seeds
    layers, bests, losses = [], [], []
    for d_e in s.dimensions:
        layer, tests, best, _ = _start_layer(seed, replace(s, code_dimension=d_e), session)
        losses.append(_train_for_loss(layer, tests, session, f"dimension_{d_e}"))
        layers.append(layer)
        bests.append(best)
    series = stack_series(losses)
    scalars = {
        "exponent": power_law_exponent(s.dimensions, series.values[-1]),
        "reachable_exponent": power_law_exponent(s.dimensions, bests),
        **movement(layers),
    }
    arrays = {"reachable_loss": np.array(bests)}
    return {seed: Measurements(scalars=scalars, series={"loss": series}, arrays=arrays)}


def measure_length(s: LongerSequences, session: Session) -> Mapping[int, Measurements]:
    """Train a layer with stochastic codes and one with fixed ones; test on longer sequences."""
    (seed,) = session.seeds
    bests = [best_weights(seed, s, length) for length in s.lengths]
    codes = fixed_codes(seed, s, "other_fixed_codes") if s.first_arm == "fixed" else None
    placed = bests[0] if s.weights == "constructed" and codes is None else None
    first, first_losses = _train_on_lengths(seed, s, session, "stochastic", codes, placed)
    codes = fixed_codes(seed, s, "fixed_codes")
    second, second_losses = _train_on_lengths(seed, s, session, "fixed", codes, None)
    points = validation_sets(seed, s, None)
    best_losses = [_losses_by_length(replace(first, parameters=best), points) for best in bests]
    kept, reach = best_losses[0], np.diagonal(best_losses)
    series = stack_series([first_losses, second_losses])
    final = series.values[-1]
    constructed = np.stack([kept, final[1]])
    arrays = {
        "growth": final / final[:, :1],
        "excess": final / reach,
        "final_loss": final,
        "constructed_growth": constructed / constructed[:, :1],
        "constructed_excess": constructed / reach,
        "constructed_loss": constructed,
        "reachable_loss": reach,
    }
    scalars = movement([first, second])
    return {seed: Measurements(scalars=scalars, series={"loss": series}, arrays=arrays)}


def _train_on_lengths(
    seed: int,
    s: LongerSequences,
    session: Session,
    phase: str,
    codes: Codes | None,
    placed: Weights | None,
) -> tuple[Model, Series]:
    """Train a layer; return it and its losses on the validation sets, one per length."""
    in_training = None if codes is None else codes[:, : s.tokens]
    layer = untrained_layer(seed, s, session, in_training, placed)
    points = validation_sets(seed, s, codes)
    observed = train_model(
        layer, session, phase, 40, lambda: {"loss": _losses_by_length(layer, points)}
    )
    return layer, observed["loss"]


def _losses_by_length(layer: Model, validation: Sequence[TokenBatch]) -> Array:
    return np.array([layer.loss([batch]) for batch in validation])


def fixed_codes(seed: int, s: LongerSequences, purpose: str) -> Codes:
    """Draw fixed codes for the positions of the longest sequences, in one group."""
    longest = max(s.lengths)
    codes = draw_codes(root(seed, purpose), s, longest)
    return codes[:, np.arange(longest) % s.tokens] if s.continuation == "repeated" else codes


def validation_sets(seed: int, s: LongerSequences, fixed: Codes | None) -> tuple[TokenBatch, ...]:
    """Draw one set per length; whatever the codes are, tokens and subsets are equal."""
    own = s.validation_codes == "per_point" or s.codes_drawn == "per_sample"
    points = s.validation_points
    batches = []
    for length in s.lengths:
        key = child(root(seed, "validation"), length)
        if fixed is None:
            codes = draw_codes(key, s, length, points if own else 1)
        elif s.continuation == "redrawn" and length > s.tokens:
            codes = draw_codes(key, s, length, points)
            codes[:, : s.tokens] = fixed[:, : s.tokens]
        else:
            codes = fixed[:, :length]
        batches.append(draw_batch(key, s, seed, codes, samples=points, positions=length))
    return tuple(batches)


def measure_fully_connected(s: FullyConnected, session: Session) -> Mapping[int, Measurements]:
    """Train the layer and a net with as many parameters on the same batches.

    A net is trained for each learning rate; the one that ends best counts.
    """
    (seed,) = session.seeds
    layer, tests, best, _ = _start_layer(seed, s, session)
    of_layer = _train_for_loss(layer, tests, session, "transformer")
    nets = [untrained_net(seed, s, session, ratio) for ratio in s.net_rates]
    of_nets = [
        _train_for_loss(net, tests, session, f"net_{index}") for index, net in enumerate(nets)
    ]
    ends = np.array([losses.values[-1] for losses in of_nets])
    chosen = np.argmin(np.where(np.isfinite(ends), ends, np.inf))
    series = stack_series([of_layer, of_nets[chosen]])
    beside_blocks = series.values.copy()
    beside_blocks[:, 0] = best
    untrained = s.token_dimension / (2 * s.selected)  # d/(2q), the loss of the output 0
    unlearned = (series.values[-1, 1] - best) / (untrained - best)
    scalars = {
        "reachable_loss": best,
        "unlearned": float(unlearned),
        **movement([layer, nets[chosen]]),
    }
    both = {"loss": series, "loss_beside_blocks": Series(steps=series.steps, values=beside_blocks)}
    parameters = np.array([s.layer_parameters, net_parameters(s.net_sizes)], dtype=np.float64)
    arrays = {"parameters": parameters}
    return {seed: Measurements(scalars=scalars, series=both, arrays=arrays)}


def _phases(s: Selection) -> dict[str, int]:
    goes_on = {"continued": continued_steps(s.trained_steps)} if s.weights == "trained" else {}
    return {"selection": s.trained_steps, **goes_on}


def _dimension_phases(s: CodeDimension) -> dict[str, int]:
    return {f"dimension_{d_e}": s.trained_steps for d_e in s.dimensions}


def _length_phases(s: LongerSequences) -> dict[str, int]:
    return dict.fromkeys(("stochastic", "fixed"), s.trained_steps)


def _net_phases(s: FullyConnected) -> dict[str, int]:
    nets = (f"net_{index}" for index in range(len(s.net_rates)))
    return dict.fromkeys(("transformer", *nets), s.trained_steps)


_experiment = partial(Experiment, has_plain_form=True)

EXPERIMENTS: Mapping[str, Experiment] = {
    "selection": _experiment(Selection, measure_selection, phases=_phases),
    "query_attended": _experiment(Selection, measure_selection, phases=_phases),
    "dimension": _experiment(CodeDimension, measure_dimension, phases=_dimension_phases),
    "length": _experiment(LongerSequences, measure_length, phases=_length_phases),
    "fully_connected": _experiment(FullyConnected, measure_fully_connected, phases=_net_phases),
}
