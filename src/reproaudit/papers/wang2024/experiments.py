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
    RunForm,
    Series,
    Session,
    continued_steps,
)
from reproaudit.papers.wang2024.constructed import IdentityBlocks, reachable
from reproaudit.papers.wang2024.measures import (
    directions,
    mean_loss_and_mass,
    power_law_exponent,
    stack_series,
)
from reproaudit.papers.wang2024.nets import NETS, FullyConnected, measure_fully_connected
from reproaudit.papers.wang2024.sampling import child, root
from reproaudit.papers.wang2024.task import (
    SampleBatch,
    draw_batch,
    draw_codes,
)
from reproaudit.papers.wang2024.training import (
    Arm,
    LayerRun,
    Selection,
    continue_arms,
    models_moved,
    train_arms,
    train_for_loss,
)

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


# -------------------------------------------------------------------------------------- selection


def measure_selection(s: Selection, session: Session) -> Mapping[int, Measurements]:
    """One layer on the task: loss, attention and directions over training."""
    runs = [LayerRun.start(seed, s, session.form) for seed in session.seeds]
    arms = [run.arm for run in runs]

    def observe(index: int) -> dict[str, float | Array]:
        loss, mass = arms[index].loss_and_mass(runs[index].tests)
        return {"loss": loss, "mass": mass, **directions(arms[index].weights)}

    series = train_arms(arms, session, "selection", 90, observe)
    continued = continue_arms(arms, session, "continued")
    return {
        seed: Measurements(
            scalars={
                "reachable_loss": run.reachable_loss,
                "reachable_mass": run.reachable_mass,
                "continued_loss": further.loss_and_mass(run.tests)[0],
                **models_moved([run.arm.moved()]),
            },
            series=course,
            arrays={
                "value_block": run.arm.weights.V_x,
                "key_query_corner": run.arm.weights.D[:CORNER, :CORNER],
            },
        )
        for seed, run, further, course in zip(session.seeds, runs, continued, series, strict=True)
    }


# ------------------------------------------------------------------------------------- dimensions


def measure_dimension(s: CodeDimension, session: Session) -> Mapping[int, Measurements]:
    """A layer for each code dimension, against what identity blocks reach there."""
    by_dimension = []
    for d_e in s.dimensions:
        runs = [
            LayerRun.start(seed, replace(s, code_dimension=d_e), session.form)
            for seed in session.seeds
        ]
        losses = train_for_loss(runs, session, _dimension_phase(d_e))
        by_dimension.append(list(zip(runs, losses, strict=True)))
    return {
        seed: _dimension(s, of_seed)
        for seed, *of_seed in zip(session.seeds, *by_dimension, strict=True)
    }


def _dimension(s: CodeDimension, trained: Sequence[tuple[LayerRun, Series]]) -> Measurements:
    """The measurements of one seed, whose layers come in the order of the dimensions."""
    bests = [run.reachable_loss for run, _ in trained]
    series = stack_series([loss for _, loss in trained])
    return Measurements(
        scalars={
            "exponent": power_law_exponent(s.dimensions, series.values[-1]),
            "reachable_exponent": power_law_exponent(s.dimensions, bests),
            **models_moved(run.arm.moved() for run, _ in trained),
        },
        series={"loss": series},
        arrays={"reachable_loss": np.array(bests)},
    )


def _dimension_phase(d_e: int) -> str:
    return f"dimension_{d_e}"


# ---------------------------------------------------------------------------------------- lengths


def measure_length(s: LongerSequences, session: Session) -> Mapping[int, Measurements]:
    """Two layers, one trained with stochastic and one with fixed codes, on longer sequences."""
    seeds, form = session.seeds, session.form
    sets = [
        [reachable(seed, s, length, s.reachable_draws, s.attend_query) for length in s.lengths]
        for seed in seeds
    ]
    firsts = [_first_arm(seed, s, bests[0], form) for seed, bests in zip(seeds, sets, strict=True)]
    seconds = [_fixed_arm(seed, s, "fixed_codes", form) for seed in seeds]
    losses = [
        _train_on_lengths(name, arms, session)
        for name, arms in zip(ARMS, (firsts, seconds), strict=True)
    ]
    return {
        seed: _length(seed, s, sets[i], (firsts[i][0], seconds[i][0]), [one[i] for one in losses])
        for i, seed in enumerate(seeds)
    }


def _length(
    seed: int,
    s: LongerSequences,
    bests: Sequence[IdentityBlocks],
    arms: Sequence[Arm],
    losses: Sequence[Series],
) -> Measurements:
    """The measurements of one seed, after its two layers have been trained."""
    points = validation_sets(seed, s, None)
    reach, kept = np.array(
        [
            [
                mean_loss_and_mass([batch], one.weights(s, s.dtype), s.attend_query, arms[0].form)[
                    0
                ]
                for one in (best, bests[0])
            ]
            for batch, best in zip(points, bests, strict=True)
        ]
    ).T
    series = stack_series(losses)
    final = series.values[-1]
    constructed = np.stack([kept, final[1]])
    return Measurements(
        scalars=models_moved(arm.moved() for arm in arms),
        series={"loss": series},
        arrays={
            "growth": final / final[:, :1],
            "excess": final / reach,
            "final_loss": final,
            "constructed_growth": constructed / constructed[:, :1],
            "constructed_excess": constructed / reach,
            "constructed_loss": constructed,
            "reachable_loss": reach,
        },
    )


def _fixed_arm(
    seed: int, s: LongerSequences, purpose: str, form: RunForm
) -> tuple[Arm, tuple[SampleBatch, ...]]:
    """A layer with fixed codes, and its validation sets."""
    codes = fixed_codes(seed, s, purpose)
    return Arm.start(seed, s, codes[:, : s.tokens], form), validation_sets(seed, s, codes)


def _first_arm(
    seed: int, s: LongerSequences, best: IdentityBlocks, form: RunForm
) -> tuple[Arm, tuple[SampleBatch, ...]]:
    """The layer with stochastic codes, or what a control puts there, and its validation sets."""
    if s.first_arm == "fixed":
        return _fixed_arm(seed, s, "other_fixed_codes", form)
    placed = best if s.weights == "constructed" else None
    return Arm.start(seed, s, None, form, placed), validation_sets(seed, s, None)


def _train_on_lengths(
    name: str, arms: Sequence[tuple[Arm, Sequence[SampleBatch]]], session: Session
) -> list[Series]:
    """Trains one layer for each seed and returns its losses on its validation sets."""

    def observe(index: int) -> dict[str, Array]:
        arm, validation = arms[index]
        return {"loss": np.array([arm.loss_and_mass([batch])[0] for batch in validation])}

    return [one["loss"] for one in train_arms([a for a, _ in arms], session, name, 40, observe)]


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


# ------------------------------------------------------------------------------------ what is there

_CARD = frozenset({"cuda"})
"""The devices on which all seeds of a cell are trained at once."""

_SELECTION = Experiment(
    settings=Selection,
    measure=measure_selection,
    seeds_together=_CARD,
    has_plain_form=True,
    phases=lambda s: {
        "selection": s.trained_steps,
        **({"continued": continued_steps(s.trained_steps)} if s.weights == "trained" else {}),
    },
)

EXPERIMENTS: Mapping[str, Experiment] = {
    "selection": _SELECTION,
    "query_attended": _SELECTION,
    "dimension": Experiment(
        settings=CodeDimension,
        measure=measure_dimension,
        seeds_together=_CARD,
        has_plain_form=True,
        phases=lambda s: {_dimension_phase(d_e): s.trained_steps for d_e in s.dimensions},
    ),
    "length": Experiment(
        settings=LongerSequences,
        measure=measure_length,
        seeds_together=_CARD,
        has_plain_form=True,
        phases=lambda s: dict.fromkeys(ARMS, s.trained_steps),
    ),
    "fully_connected": Experiment(
        settings=FullyConnected,
        measure=measure_fully_connected,
        seeds_together=_CARD,
        has_plain_form=True,
        phases=lambda s: {"transformer": s.trained_steps, NETS: s.trained_steps},
    ),
}
