"""The experiments: selection itself, code dimensions, longer sequences, a fully-connected net."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.lab.experiment import Experiment, Session
from reproaudit.lab.seeds import generator
from reproaudit.lab.training import train
from reproaudit.papers.wang2024 import baseline, kernel
from reproaudit.papers.wang2024.kernel import Batch, Sgd, Weights
from reproaudit.papers.wang2024.reachable import Reachable, best_identity_blocks, overlaps
from reproaudit.papers.wang2024.sampling import CODE_LAWS, child, fill_codes, root
from reproaudit.papers.wang2024.settings import BaselineTask, DimensionTask, LengthTask, Task
from reproaudit.records import Measurements, Series

Array = NDArray[Any]

CORNER = 4
"""How many rows and columns of the codes' block of W_KQ are kept for the reader to look at."""


def observation_steps(steps: int, points: int) -> list[int]:
    """About ``points`` steps from 0 to ``steps``: a third of them geometric, the rest even."""
    geometric = np.geomspace(1, max(steps, 1), max(points // 3, 2)).round()
    even = np.linspace(0, steps, points - points // 3).round()
    return sorted({0, steps, *(int(x) for x in (*geometric, *even) if x <= steps)})


# ------------------------------------------------------------------------------------------- data


def _codes(key: Any, s: Task, positions: int, groups: int = 1) -> NDArray[np.float32]:
    codes = np.empty((groups, positions, s.code_dimension), np.float32)
    law = CODE_LAWS[s.code_law]
    fill_codes(key, law, s.entry_scale, codes.reshape(-1, s.code_dimension))
    return codes


def _subset_key(seed: int, s: Task) -> np.uint64:
    """Of the subset that all samples share; 0 where each has its own."""
    return root(seed, "subset") if s.subsets == "constant" else np.uint64(0)


def draw_batch(
    key: Any,
    subset_key: Any,
    s: Task,
    *,
    samples: int,
    positions: int,
    codes: NDArray[np.float32] | None = None,
    own_codes: bool = False,
    as_trained: bool = False,
) -> Batch:
    """A batch of the task, each number a function of the keys.

    Args:
        key: of the batch.
        subset_key: of the subset that all share, or 0.
        s: the settings.
        samples: how many.
        positions: T, or more.
        codes: fixed codes, (1 or samples, positions, d_e); None to draw them.
        own_codes: whether each sample gets codes of its own, where they are drawn.
        as_trained: whether controls that disturb training disturb this batch too.
    """
    groups = len(codes) if codes is not None else (samples if own_codes else 1)
    batch = Batch.empty(
        samples, s.token_dimension, positions, s.selected, s.code_dimension, groups == 1
    )
    kernel.fill_batch(
        key,
        subset_key,
        as_trained and s.query == "independent",
        as_trained and s.targets == "shuffled",
        batch.X,
        batch.selected,
        batch.queried,
        batch.source,
    )
    batch.E[...] = _codes(key, s, positions, groups) if codes is None else codes
    return batch


def draw_test_set(seed: int, s: Task, codes: NDArray[np.float32] | None) -> tuple[Batch, ...]:
    """The test points, in batches that share their codes as batches of training do."""
    key = root(seed, "test")
    return tuple(
        draw_batch(
            np.uint64(child(key, index)),
            _subset_key(seed, s),
            s,
            samples=s.batch,
            positions=s.tokens,
            codes=codes,
            own_codes=s.codes_drawn == "per_sample",
        )
        for index in range(s.test_points // s.batch)
    )


def reachable(seed: int, s: Task, positions: int) -> Reachable:
    """The best identity blocks for sequences of a length, for the law of the codes."""
    law = CODE_LAWS[s.code_law]
    key = np.uint64(child(root(seed, "reachable"), positions))
    scores = overlaps(
        key, s.reachable_draws, positions, s.selected, s.code_dimension, law, s.entry_scale
    )
    return best_identity_blocks(scores, s.selected, s.token_dimension, s.attend_query, s.code_norm)


# ---------------------------------------------------------------------------------------- training


@dataclass(frozen=True)
class Arm:
    """One attention layer: its settings, its weights, and where it draws from.

    Attributes:
        weights: what is trained.
        advance: trains steps ``start`` to ``stop − 1``.
    """

    weights: Weights
    advance: Callable[[int, int], None]

    @staticmethod
    def start(seed: int, s: Task, codes: NDArray[np.float32] | None, best: Reachable | None) -> Arm:
        """An untrained layer.

        Args:
            seed: the cell's.
            s: the settings.
            codes: the fixed codes of training, (1, T, d_e); None for stochastic ones.
            best: with constructed weights, what to put in place of training.
        """
        weights = Weights.draw(
            generator(seed, "init"),
            s.token_dimension,
            s.code_dimension,
            s.initial_scale,
            s.dtype,
        )
        if best is not None:
            return Arm(weights, lambda *_: weights.set_identity(best.alpha, best.v))
        return Arm(weights, _trainer(seed, s, codes, weights))

    def loss(self, batches: Sequence[Batch], s: Task) -> float:
        """½ × mean squared error on batches of one size."""
        return float(np.mean([kernel.losses(b, self.weights, s.attend_query)[0] for b in batches]))


def _trainer(
    seed: int, s: Task, codes: NDArray[np.float32] | None, weights: Weights
) -> Callable[[int, int], None]:
    scratch = Batch.empty(
        s.batch,
        s.token_dimension,
        s.tokens,
        s.selected,
        s.code_dimension,
        codes is not None or s.codes_drawn == "per_batch",
    )
    if codes is not None:
        scratch.E[...] = codes
    how = Sgd(
        key=root(seed, "train"),
        subset_key=_subset_key(seed, s),
        other_query=s.query == "independent",
        other_targets=s.targets == "shuffled",
        redraw_codes=codes is None,
        code_law=CODE_LAWS[s.code_law],
        code_scale=s.entry_scale,
        attend_query=s.attend_query,
        factor=s.loss_factor,
        rate=s.learning_rate,
        annealed_rate=s.annealed_rate,
        anneal_at=s.anneal_at,
    )
    return lambda start, stop: kernel.train_steps(start, stop, how, scratch, weights)


def _identity(s: Task, best: Reachable) -> Weights:
    """The best identity blocks as weights, to be tested on the same points as a trained layer."""
    weights = Weights.draw(
        np.random.default_rng(0), s.token_dimension, s.code_dimension, 0.0, s.dtype
    )
    weights.set_identity(best.alpha, best.v)
    return weights


def _losses(batches: Sequence[Batch], weights: Weights, s: Task) -> tuple[float, float]:
    """½ × mean squared error, and the mean attention on the selected tokens."""
    both = [kernel.losses(batch, weights, s.attend_query) for batch in batches]
    return float(np.mean([one[0] for one in both])), float(np.mean([one[1] for one in both]))


def _placed(s: Task, best: Reachable) -> Reachable | None:
    return best if s.weights == "constructed" else None


# -------------------------------------------------------------------------------------- selection


def _cosine_with_identity(matrix: Array, rows: slice, columns: slice) -> tuple[float, float]:
    """Of a whole matrix with the identity in one block; and the norm's share outside that block."""
    norm = float(np.linalg.norm(matrix))
    if norm == 0:
        return 0.0, 0.0
    block = matrix[rows, columns]
    inside = float(np.linalg.norm(block))
    outside = np.sqrt(max(0.0, norm**2 - inside**2)) / norm
    return float(np.trace(block)) / (norm * np.sqrt(len(block))), float(outside)


def directions(weights: Weights) -> dict[str, Array]:
    """How W_KQ and W_V stand to the ground truth, each as (W_KQ, W_V).

    cosine: of the whole matrix, its other blocks included, with the identity in the claimed block;
    off_block: the share of the Frobenius norm outside that block; scale: the block's mean diagonal.
    """
    d = len(weights.V_x)
    key_query = weights.key_query.astype(np.float64)
    value = weights.value.astype(np.float64)
    found = (
        _cosine_with_identity(key_query, slice(d, None), slice(d, None)),
        _cosine_with_identity(value, slice(None), slice(d)),
    )
    scale = (np.trace(weights.D) / len(weights.D), np.trace(weights.V_x) / d)
    return {
        "cosine": np.array([one[0] for one in found]),
        "off_block": np.array([one[1] for one in found]),
        "scale": np.array(scale, dtype=np.float64),
    }


def measure_selection(s: Task, session: Session) -> Mapping[int, Measurements]:
    """One layer on the task: loss, attention and directions over training."""
    return {seed: _selection(seed, s, session) for seed in session.seeds}


def _selection(seed: int, s: Task, session: Session) -> Measurements:
    codes = _codes(root(seed, "fixed_codes"), s, s.tokens) if s.codes == "fixed" else None
    best = reachable(seed, s, s.tokens)
    tests = draw_test_set(seed, s, codes)
    arm = Arm.start(seed, s, codes, _placed(s, best))

    def observe(_step: int) -> dict[str, float | Array]:
        loss, mass = _losses(tests, arm.weights, s)
        return {"loss": loss, "mass": mass, **directions(arm.weights)}

    series = train(
        session,
        "selection",
        steps=s.steps,
        state=arm.weights.state,
        advance=arm.advance,
        observe=observe,
        observe_at=observation_steps(s.steps, 90),
    )
    loss, mass = _losses(draw_test_set(seed, s, None), _identity(s, best), s)
    return Measurements(
        scalars={"reachable_loss": loss, "reachable_mass": mass},
        series=series,
        arrays={
            "value_block": arm.weights.V_x,
            "key_query_corner": arm.weights.D[:CORNER, :CORNER],
        },
    )


# ------------------------------------------------------------------------------------- dimensions


def measure_dimension(s: DimensionTask, session: Session) -> Mapping[int, Measurements]:
    """A layer for each code dimension, against what identity blocks reach there."""
    return {seed: _dimension(seed, s, session) for seed in session.seeds}


def _dimension(seed: int, s: DimensionTask, session: Session) -> Measurements:
    losses, bests = [], []
    for d_e in s.dimensions:
        one = replace(s, code_dimension=d_e)
        loss, best = _train_at_dimension(seed, one, session)
        losses.append(loss)
        bests.append(best)
    series = _stacked(losses)
    return Measurements(
        scalars={
            "exponent": _slope(s.dimensions, series.values[-1]),
            "reachable_exponent": _slope(s.dimensions, bests),
        },
        series={"loss": series},
        arrays={"reachable_loss": np.array(bests)},
    )


def _train_at_dimension(seed: int, s: DimensionTask, session: Session) -> tuple[Series, float]:
    codes = _codes(root(seed, "fixed_codes"), s, s.tokens) if s.codes == "fixed" else None
    best = reachable(seed, s, s.tokens)
    tests = draw_test_set(seed, s, codes)
    arm = Arm.start(seed, s, codes, _placed(s, best))
    series = train(
        session,
        _dimension_phase(s.code_dimension),
        steps=s.steps,
        state=arm.weights.state,
        advance=arm.advance,
        observe=lambda _step: {"loss": arm.loss(tests, s)},
        observe_at=observation_steps(s.steps, 60),
    )
    identity, _ = _losses(draw_test_set(seed, s, None), _identity(s, best), s)
    return series["loss"], identity


def _dimension_phase(d_e: int) -> str:
    return f"dimension_{d_e}"


def _stacked(series: Sequence[Series]) -> Series:
    """Several series as one, with an axis for them; it ends where the first of them ends.

    A phase ends early where its numbers are no longer finite, and then the whole has diverged: the
    last kept step takes each series' own last value, so that the record says so.
    """
    shortest = min(series, key=lambda one: len(one.steps)).steps
    values = np.stack([one.values[: len(shortest)] for one in series], axis=1)
    values[-1] = [
        one.values[-1] if not np.isfinite(one.values[-1]).all() else kept
        for one, kept in zip(series, values[-1], strict=True)
    ]
    return Series(steps=shortest, values=values)


def _slope(dimensions: Sequence[int], losses: Any) -> float:
    """The exponent of a power law fitted to losses by least squares in logarithms."""
    values = np.asarray(losses, dtype=np.float64)
    if not (np.isfinite(values) & (values > 0)).all():
        return float("nan")
    return float(np.polyfit(np.log(dimensions), np.log(values), 1)[0])


# ---------------------------------------------------------------------------------------- lengths

ARMS = ("stochastic", "fixed")


def measure_length(s: LengthTask, session: Session) -> Mapping[int, Measurements]:
    """Two layers, one trained with stochastic and one with fixed codes, on longer sequences."""
    return {seed: _length(seed, s, session) for seed in session.seeds}


def _length(seed: int, s: LengthTask, session: Session) -> Measurements:
    bests = [reachable(seed, s, length) for length in s.lengths]
    points = _validation(seed, s, None)
    codes = _fixed_codes(seed, s, "fixed_codes")
    fixed = _validation(seed, s, codes), Arm.start(seed, s, codes[:, : s.tokens], None)
    if s.first_arm == "fixed":
        codes = _fixed_codes(seed, s, "other_fixed_codes")
        first = _validation(seed, s, codes), Arm.start(seed, s, codes[:, : s.tokens], None)
    else:
        first = points, Arm.start(seed, s, None, _placed(s, bests[0]))
    reach = np.array(
        [
            _losses([batch], _identity(s, best), s)[0]
            for batch, best in zip(points, bests, strict=True)
        ]
    )
    series = _stacked(
        [_train_arm(name, *arm, s, session) for name, arm in zip(ARMS, (first, fixed), strict=True)]
    )
    final = series.values[-1]
    return Measurements(
        series={"loss": series},
        arrays={
            "growth": final / final[:, :1],
            "excess": final / reach,
            "final_loss": final,
            "reachable_loss": reach,
        },
    )


def _train_arm(
    name: str, validation: Sequence[Batch], arm: Arm, s: LengthTask, session: Session
) -> Series:
    def observe(_step: int) -> dict[str, float | Array]:
        return {"loss": np.array([arm.loss([batch], s) for batch in validation])}

    return train(
        session,
        name,
        steps=s.steps,
        state=arm.weights.state,
        advance=arm.advance,
        observe=observe,
        observe_at=observation_steps(s.steps, 40),
    )["loss"]


def _fixed_codes(seed: int, s: LengthTask, purpose: str) -> NDArray[np.float32]:
    """Fixed codes for all positions, (1, longest length, d_e)."""
    codes = _codes(root(seed, purpose), s, max(s.lengths))
    if s.continuation == "repeated":
        return codes[:, np.arange(max(s.lengths)) % s.tokens]
    return codes


def _validation(seed: int, s: LengthTask, fixed: NDArray[np.float32] | None) -> tuple[Batch, ...]:
    """One set per length, with fixed codes or, without any, stochastic ones; else the same."""
    key = root(seed, "validation")
    batches = []
    for length in s.lengths:
        length_key = np.uint64(child(key, length))
        own = s.validation_codes == "per_point" or s.codes_drawn == "per_sample"
        codes = None
        if fixed is not None:
            codes = fixed[:, :length]
            if s.continuation == "redrawn" and length > s.tokens:
                codes = _codes(length_key, s, length, s.validation_points)
                codes[:, : s.tokens] = fixed[:, : s.tokens]
        batches.append(
            draw_batch(
                length_key,
                _subset_key(seed, s),
                s,
                samples=s.validation_points,
                positions=length,
                codes=codes,
                own_codes=own,
            )
        )
    return tuple(batches)


# --------------------------------------------------------------------------------------- baseline


def measure_fully_connected(s: BaselineTask, session: Session) -> Mapping[int, Measurements]:
    """The layer and a fully-connected net with as many parameters, on the same batches."""
    return {seed: _fully_connected(seed, s, session) for seed in session.seeds}


def _fully_connected(seed: int, s: BaselineTask, session: Session) -> Measurements:
    codes = _codes(root(seed, "fixed_codes"), s, s.tokens) if s.codes == "fixed" else None
    best = reachable(seed, s, s.tokens)
    tests = draw_test_set(seed, s, codes)
    arm = Arm.start(seed, s, codes, _placed(s, best))
    layer = train(
        session,
        "transformer",
        steps=s.steps,
        state=arm.weights.state,
        advance=arm.advance,
        observe=lambda _step: {"loss": arm.loss(tests, s)},
        observe_at=observation_steps(s.steps, 60),
    )["loss"]
    nets = [_train_net(seed, s, index, tests, session) for index in range(len(s.net_rates))]
    net = min(nets, key=lambda one: _final(one, s.steps))
    identity, _ = _losses(draw_test_set(seed, s, None), _identity(s, best), s)
    series = _stacked([layer, net])
    missed = (series.values[-1] - identity) / (s.initial_loss - identity)
    return Measurements(
        scalars={"reachable_loss": identity, "unlearned": float(missed[1])},
        series={"loss": series},
        arrays={"parameters": np.array(_parameters(s), dtype=np.float64)},
    )


def _final(series: Series, steps: int) -> float:
    """The loss at the end of training; infinite where training did not come so far."""
    last = float(series.values[-1])
    return last if series.steps[-1] == steps and np.isfinite(last) else float("inf")


def _net_sizes(s: BaselineTask) -> tuple[int, int]:
    """Inputs and hidden width of the net."""
    d, inputs = (
        s.token_dimension,
        baseline.input_size(s.token_dimension, s.tokens, s.selected, s.subset_input == "multi_hot"),
    )
    wished = round(s.parameter_ratio * _layer_parameters(s))
    return inputs, baseline.width_for(wished, inputs, s.hidden_layers, d)


def _layer_parameters(s: Task) -> int:
    whole = s.token_dimension + s.code_dimension
    return whole * whole + s.token_dimension * whole


def _parameters(s: BaselineTask) -> tuple[int, int]:
    inputs, width = _net_sizes(s)
    return _layer_parameters(s), baseline.count(inputs, width, s.hidden_layers, s.token_dimension)


def _train_net(
    seed: int, s: BaselineTask, index: int, tests: Sequence[Batch], session: Session
) -> Series:
    """The net's loss over training at one of the learning rates."""
    inputs, width = _net_sizes(s)
    d, multi_hot = s.token_dimension, s.subset_input == "multi_hot"
    net = baseline.Net.draw(
        generator(seed, "net"), inputs, width, s.hidden_layers, d, s.net_init, s.dtype
    )
    seen = [baseline.inputs_and_targets(batch, multi_hot, s.dtype) for batch in tests]
    scratch = Batch.empty(s.batch, d, s.tokens, s.selected, 1, True)
    ratio = s.net_rates[index]
    how = baseline.NetSgd(
        key=root(seed, "train"),
        subset_key=_subset_key(seed, s),
        multi_hot=multi_hot,
        factor=s.loss_factor,
        rate=s.learning_rate * ratio,
        annealed_rate=s.annealed_rate * ratio,
        anneal_at=s.anneal_at,
    )

    def observe(_step: int) -> dict[str, float | Array]:
        return {"loss": float(np.mean([baseline.losses(net, *one) for one in seen]))}

    return train(
        session,
        _net_phase(index),
        steps=s.steps,
        state=net.state,
        advance=lambda start, stop: baseline.train_steps(start, stop, how, scratch, net),
        observe=observe,
        observe_at=observation_steps(s.steps, 60),
    )["loss"]


def _net_phase(index: int) -> str:
    return f"net_{index}"


EXPERIMENTS: Mapping[str, Experiment] = {
    "selection": Experiment(
        settings=Task,
        measure=measure_selection,
        phases=lambda s: {"selection": s.steps},
    ),
    "dimension": Experiment(
        settings=DimensionTask,
        measure=measure_dimension,
        phases=lambda s: {_dimension_phase(d_e): s.steps for d_e in s.dimensions},
    ),
    "length": Experiment(
        settings=LengthTask,
        measure=measure_length,
        phases=lambda s: dict.fromkeys(ARMS, s.steps),
    ),
    "fully_connected": Experiment(
        settings=BaselineTask,
        measure=measure_fully_connected,
        phases=lambda s: {
            "transformer": s.steps,
            **{_net_phase(i): s.steps for i in range(len(s.net_rates))},
        },
    ),
}
