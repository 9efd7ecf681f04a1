"""The experiments: attention layers beside what the best blocks reach, and fully-connected nets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from reproaudit.lab import Array, Experiment, Measurements, Series, Session
from reproaudit.papers.wang2024.constructed import best_weights
from reproaudit.papers.wang2024.measures import (
    directions,
    drift,
    power_law_exponent,
    stack_series,
)
from reproaudit.papers.wang2024.model import Weights
from reproaudit.papers.wang2024.sampling import root
from reproaudit.papers.wang2024.settings import CodeDimensions, FullyConnected, Selection
from reproaudit.papers.wang2024.task import Codes, TokenBatch, draw_codes, draw_test_set
from reproaudit.papers.wang2024.training import (
    Model,
    best_net,
    movement,
    train_model,
    untrained_layer,
    untrained_nets,
)

POINTS = 60
"""At about how many steps a layer or a net is observed."""

PointSets = Sequence[Sequence[TokenBatch]]
"""The test points of each length."""


def points_by_length(seed: int, s: Selection, codes: Codes | None) -> PointSets:
    """Draw the test points of each length, the first of them as long as in training."""
    return [draw_test_set(seed, s, codes, length) for length in s.lengths]


def _by_length(model: Model, tests: PointSets) -> Array:
    return np.array([model.loss(points) for points in tests])


def measure_selection(s: Selection, session: Session) -> Measurements:
    """Train a layer with stochastic codes and one with fixed ones; test both on longer sequences.

    Of the first, attention and directions are measured, too. What the best identity blocks reach is
    measured on the same tokens and subsets with stochastic codes.
    """
    seed = session.seed
    bests = [best_weights(seed, s, length) for length in s.lengths]
    purposes = "fixed_codes", "other_fixed_codes"
    fixed, other = (draw_codes(root(seed, purpose), s, s.tokens) for purpose in purposes)
    first = other if s.codes == "fixed" else None
    layer = untrained_layer(seed, s, session, first, best=bests[0])
    own = points_by_length(seed, s, first)
    stochastic = points_by_length(seed, s, None)
    reached = [replace(layer, parameters=best) for best in bests]
    reachable = np.array([m.loss(points) for m, points in zip(reached, stochastic, strict=True)])
    weights = Weights(*layer.parameters)

    def observe() -> dict[str, float | Array]:
        losses = _by_length(layer, own)
        mass = layer.measure(own[0])[1]
        observed = {"loss": losses[0], "mass": mass, "length_loss": losses}
        return {**observed, **directions(weights)}

    series = train_model(layer, session, "selection", POINTS, observe)
    steps = series["length_loss"].steps
    beside = _train_with_fixed_codes(seed, replace(s, weights="trained"), session, fixed, steps)
    series["length_loss"] = stack_series([series["length_loss"], beside])
    final = series["length_loss"].values[-1]
    scalars = {
        "reachable_loss": reachable[0],
        "reachable_mass": reached[0].measure(stochastic[0])[1],
        **movement(layer),
    }
    arrays = {
        "final_loss": final,
        "growth": final / final[:, :1],
        "excess": final / reachable,
        "drift": drift(series["length_loss"]),
        "value_block": weights.blocks[2],
    }
    return Measurements(scalars=scalars, series=series, arrays=arrays)


def _train_with_fixed_codes(
    seed: int, s: Selection, session: Session, codes: Codes, steps: tuple[int, ...]
) -> Series:
    """Train a layer with fixed codes, unless it keeps its start; return its losses by length."""
    layer = untrained_layer(seed, s, session, codes)
    points = points_by_length(seed, s, codes)
    if s.companions == "untrained":
        return Series(steps=steps, values=np.tile(_by_length(layer, points), (len(steps), 1)))
    found = train_model(
        layer, session, "fixed_codes", POINTS, lambda: {"length_loss": _by_length(layer, points)}
    )
    return found["length_loss"]


def measure_dimensions(s: CodeDimensions, session: Session) -> Measurements:
    """Measure selection, and train a layer for each other code dimension."""
    seed = session.seed
    found = measure_selection(s, session)
    losses = []
    bests = []
    for d_e in s.dimensions:
        loss = found.series["loss"].values[-1]
        best = found.scalars["reachable_loss"]
        if d_e != s.code_dimension:
            own = replace(s, code_dimension=d_e)
            blocks = best_weights(seed, own, s.tokens)
            tests = draw_test_set(seed, own, None, s.tokens)
            still = s.companions != "trained"
            layer = untrained_layer(seed, own, session, best=blocks, still=still)
            train_model(layer, session, f"dimension_{d_e}")
            loss = layer.loss(tests)
            best = replace(layer, parameters=blocks).loss(tests)
        losses.append(loss)
        bests.append(best)
    exponents = {
        "exponent": power_law_exponent(s.dimensions, losses),
        "reachable_exponent": power_law_exponent(s.dimensions, bests),
    }
    by_dimension = {
        "dimension_loss": np.array(losses),
        "reachable_dimension_loss": np.array(bests),
    }
    return Measurements(
        scalars={**found.scalars, **exponents},
        series=found.series,
        arrays={**found.arrays, **by_dimension},
    )


def measure_fully_connected(s: FullyConnected, session: Session) -> Measurements:
    """Train fully-connected nets on the layer's batches, one for each rate.

    At every observation the best of them counts.
    """
    seed = session.seed
    nets = untrained_nets(seed, s, session)
    tests = draw_test_set(seed, s, None, s.tokens)
    layer = untrained_layer(seed, s, session)
    best = replace(layer, parameters=best_weights(seed, s, s.tokens)).loss(tests)
    series = train_model(
        nets, session, "nets", POINTS, lambda: {"loss": np.fmin.reduce(nets.measure(tests))}
    )
    untrained = s.token_dimension / (2 * s.selected)  # d/(2q), the loss of the output 0
    unlearned = (series["loss"].values[-1] - best) / (untrained - best)
    scalars = {
        "reachable_loss": best,
        "unlearned": float(unlearned),
        "width": float(s.net_sizes[1]),
        **movement(best_net(nets, tests)),
    }
    return Measurements(scalars=scalars, series=series)


def _phases(s: Selection) -> dict[str, int]:
    names = ("selection",) if s.companions == "untrained" else ("selection", "fixed_codes")
    return dict.fromkeys(names, s.trained_steps)


def _dimension_phases(s: CodeDimensions) -> dict[str, int]:
    others = (f"dimension_{d_e}" for d_e in s.dimensions if d_e != s.code_dimension)
    return {**_phases(s), **dict.fromkeys(others, s.trained_steps)}


_experiment = partial(Experiment, has_plain_form=True)

_NETS = _experiment(
    FullyConnected, measure_fully_connected, phases=lambda s: {"nets": s.trained_steps}
)

EXPERIMENTS: Mapping[str, Experiment] = {
    "selection": _experiment(CodeDimensions, measure_dimensions, phases=_dimension_phases),
    "query_attended": _experiment(Selection, measure_selection, phases=_phases),
    "fully_connected": _NETS,
    "wide_net": _NETS,
}
