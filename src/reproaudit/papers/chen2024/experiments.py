"""The two experiments: training in three stages, and training everything at once.

Controls and positive controls are settings: `training_data` gives training sequences the targets of
others or other parents (what is measured stays on proper ones), in the staged experiment from a
stage on, and `weights` puts a constructed solution in place of training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from reproaudit.lab import (
    Array,
    Experiment,
    Measurements,
    Series,
    Session,
    generator,
    join_phases,
    measure_movement,
    observation_steps,
)
from reproaudit.lab import train as train_in_pieces
from reproaudit.papers.chen2024.constructed import InductionHead, induction_head_weights
from reproaudit.papers.chen2024.fast import Windows
from reproaudit.papers.chen2024.information import modified_information
from reproaudit.papers.chen2024.measures import SeedData, limit_losses, observe, recovered_gain
from reproaudit.papers.chen2024.model import LossForm, Parameters, Positions
from reproaudit.papers.chen2024.settings import Phase, Settings, Simultaneous, Staged
from reproaudit.papers.chen2024.task import (
    Sequences,
    sequences_for,
    training_sequences,
    transition_tables,
)

# ---------------------------------------------------------------------------------- data and start


def initial_parameters(s: Settings) -> Parameters:
    """The parameters before training."""
    weights = np.full((s.heads, s.window), s.other_lag_weight)
    weights[np.arange(s.heads), s.architecture.own_places] = s.own_lag_weight
    return Parameters(
        lag_weights=weights.astype(s.dtype),
        coefficients=np.full(len(s.architecture.subsets), s.initial_coefficient, dtype=s.dtype),
        sharpness=np.full(1, s.initial_sharpness, dtype=s.dtype),
    )


def prepared(s: Settings, sequences: Sequences, session: Session) -> LossForm:
    """Sequences in the session's form; a card always computes the plain one."""
    if session.form == "fast" and session.device == "cpu":
        return Windows.of(sequences, s.architecture, s.vocabulary)
    x, y = sequences.tokens, sequences.targets
    return Positions.of(x, y, s.architecture, s.vocabulary, s.dtype, session.device)


def information_of_subsets(s: Settings, seed: int) -> Float[Array, " subset"]:
    """I(S) of every subset under the law of the chains."""
    tables = transition_tables(
        generator(seed, "information"),
        s.information_chains,
        order=s.order,
        vocabulary=s.vocabulary,
        dirichlet=s.dirichlet,
    )
    return modified_information(tables, s.order, s.architecture.subsets, s.heads)


def seed_data(s: Settings, session: Session) -> SeedData:
    """Draws and prepares the sequences of the session's seed."""
    (seed,) = session.seeds
    training = training_sequences(s, seed)
    validation = sequences_for(s, seed, "validation", s.validation_sequences)
    return SeedData(
        settings=s,
        training=prepared(s, training, session),
        training_targets=training.targets,
        validation=prepared(s, validation, session),
        validation_targets=validation.targets,
        head=InductionHead.of(validation, s.order, s.vocabulary),
        information=information_of_subsets(s, seed),
    )


# ----------------------------------------------------------------------------------------- training


def train_phase(session: Session, on: SeedData, at: Parameters, phase: Phase) -> dict[str, Series]:
    """Trains a phase's parameters in place, or puts constructed ones there.

    Returns:
        The series of `measures.observe`.
    """
    half = max(2, on.settings.observations // 2)
    return train_in_pieces(
        session,
        phase.name,
        steps=phase.epochs,
        state=at._asdict(),
        advance=steps_of(on, at, phase),
        observe=lambda _epoch: observe(at, on),
        observe_at=observation_steps(phase.epochs, even=half, geometric=half),
        chunk=1000,
    )


def steps_of(on: SeedData, at: Parameters, phase: Phase) -> Callable[[int, int], None]:
    """Returns a function that takes the phase from one epoch to another, in place."""
    if on.settings.weights == "constructed":
        return _jump(on, at, phase)
    return lambda start, stop: take_steps(on.training, at, phase, on.settings, stop - start)


def take_steps(data: LossForm, at: Parameters, phase: Phase, s: Settings, epochs: int) -> None:
    """Takes steps of full-batch gradient descent on the phase's parameters, in place."""
    for _ in range(epochs):
        _, gradient = data.loss_and_gradient(at, phase.trained, s.cross_entropy, s.epsilon)
        for name, slope in gradient.items():
            values = getattr(at, name)
            values -= phase.learning_rate * slope


def _jump(on: SeedData, at: Parameters, phase: Phase) -> Callable[[int, int], None]:
    """Puts the constructed solution in place of the phase's parameters.

    The sharpness grows to its value in the logarithm of the epoch, as the theory predicts.
    """
    target = induction_head_weights(on.settings, on.training, on.training_targets)
    start = on.settings.initial_sharpness

    def put(_start: int, stop: int) -> None:
        for name in phase.trained:
            if name == "sharpness":
                progress = float(np.log1p(stop) / np.log1p(phase.epochs))
                at.sharpness[0] = start + progress * (target.sharpness[0] - start)
            else:
                getattr(at, name)[...] = getattr(target, name)

    return put


def phase_movement(
    s: Settings, at: Parameters, phase: Phase, observed: Mapping[str, Series]
) -> dict[str, float]:
    """The movement of what a phase trains, and no other phase, and of the training loss over it."""
    begin, end = (
        [getattr(one, name) for name in phase.trained] for one in (initial_parameters(s), at)
    )
    losses = observed["trained_loss"].values
    return measure_movement(begin, end, [losses[0]], [losses[-1]])


# --------------------------------------------------------------------------------- the experiments


def measure_staged(s: Staged, session: Session) -> Mapping[int, Measurements]:
    """Trains c_S, then w, then a, and takes the model to other sequences."""
    on, at = seed_data(s, session), initial_parameters(s)
    proper = on
    if s.training_data != "own_chain" and s.data_from_stage > 1:
        proper = seed_data(replace(s, training_data="own_chain"), session)
    observed = [
        train_phase(session, proper if number < s.data_from_stage else on, at, stage)
        for number, stage in enumerate(s.phases, start=1)
    ]
    (seed,) = session.seeds
    return {seed: _staged(s, session, on, at, observed)}


def _staged(
    s: Staged,
    session: Session,
    on: SeedData,
    at: Parameters,
    observed: Sequence[Mapping[str, Series]],
) -> Measurements:
    """The measurements after the three stages."""
    whole = join_phases(zip((stage.epochs for stage in s.phases), observed, strict=True))
    del whole["sharpness"]  # followed in its own stage, from that stage's start
    last = observed[-1]
    moved = {
        f"{stage.name}_{name}": by
        for stage, series in zip(s.phases, observed, strict=True)
        for name, by in phase_movement(s, at, stage, series).items()
    }
    lengths = [(f"length {one}", replace(s, length=one)) for one in s.transfer_lengths]
    priors = [(f"dirichlet {one}", replace(s, dirichlet=one)) for one in s.transfer_dirichlets]
    return Measurements(
        scalars={**limit_losses(on), **moved},
        series={
            **whole,
            "sharpness": last["sharpness"],
            "sharpening_trained_loss": last["trained_loss"],
            "sharpening_validation_loss": last["validation_loss"],
        },
        arrays={
            "information": on.information,
            "recovered_at_length": np.array([_transfer(at, session, *one) for one in lengths]),
            "recovered_at_dirichlet": np.array([_transfer(at, session, *one) for one in priors]),
        },
    )


def _transfer(at: Parameters, session: Session, changed: str, s: Settings) -> float:
    """The share of the mechanism's gain that the weights keep on sequences of other settings."""
    (seed,) = session.seeds
    sequences = sequences_for(s, seed, f"transfer {changed}", s.validation_sequences)
    return recovered_gain(at, s, prepared(s, sequences, session), sequences.targets)


def measure_simultaneous(s: Simultaneous, session: Session) -> Mapping[int, Measurements]:
    """Trains c_S, w and a together."""
    on, at = seed_data(s, session), initial_parameters(s)
    (phase,), (seed,) = s.phases, session.seeds
    series = train_phase(session, on, at, phase)
    scalars = {**limit_losses(on), **phase_movement(s, at, phase, series)}
    return {
        seed: Measurements(series=series, scalars=scalars, arrays={"information": on.information})
    }


def _epochs(s: Staged | Simultaneous) -> Mapping[str, int]:
    return {phase.name: phase.epochs for phase in s.phases}


STAGED = Experiment(Staged, measure_staged, phases=_epochs, has_plain_form=True)

SIMULTANEOUS = Experiment(Simultaneous, measure_simultaneous, phases=_epochs, has_plain_form=True)
"""Run under two names, with the card's reading of three settings and with the code's."""

EXPERIMENTS: Mapping[str, Experiment] = {
    "staged": STAGED,
    "simultaneous": SIMULTANEOUS,
    "simultaneous_as_released": SIMULTANEOUS,
}
