"""The experiments: training in phases, of c_S, w and a in turn or together, and a first gradient.

Controls and positive controls are settings: `training_data` gives training sequences the targets of
others or other parents (what is measured stays on proper ones), from `data_from_phase` on, `skips`
lets phases take no step, and `weights` puts a constructed solution in place of training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    observation_steps,
)
from reproaudit.lab import train as train_in_pieces
from reproaudit.papers.chen2024 import measures
from reproaudit.papers.chen2024.constructed import InductionHead, induction_head_weights
from reproaudit.papers.chen2024.fast import Windows
from reproaudit.papers.chen2024.information import modified_information
from reproaudit.papers.chen2024.measures import SeedData
from reproaudit.papers.chen2024.model import LossForm, Parameters, Positions
from reproaudit.papers.chen2024.settings import InPhases, Phase, Settings, Transferred
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
    x = sequences.tokens
    y = sequences.targets
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
    seed = session.seed
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
        observe=lambda _epoch: measures.observe(at, on),
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
    s = on.settings
    target = induction_head_weights(s, on.training, on.training_targets, s.cross_entropy)
    start = s.initial_sharpness

    def put(_start: int, stop: int) -> None:
        for name in phase.trained:
            if name == "sharpness":
                progress = float(np.log1p(stop) / np.log1p(phase.epochs))
                at.sharpness[0] = start + progress * (target.sharpness[0] - start)
            else:
                getattr(at, name)[...] = getattr(target, name)

    return put


# --------------------------------------------------------------------------------- the experiments


def measure_training(s: InPhases, session: Session) -> Measurements:
    """Trains the phases in turn, and takes the model to other sequences where they are named."""
    on = seed_data(s, session)
    at = initial_parameters(s)
    proper = on
    if s.training_data != "own_chain" and s.data_from_phase > 1:
        proper = seed_data(replace(s, training_data="own_chain"), session)
    observed = [
        train_phase(session, proper if number < s.data_from_phase else on, at, phase)
        for number, phase in enumerate(s.schedule, start=1)
    ]
    series = join_phases(zip(s.epochs, observed, strict=True))
    last = observed[-1]
    if len(s.phases) > 1:  # counted from the start of the phase that trains a alone
        series |= {
            "sharpness": last["sharpness"],
            "growing_sharpness": measures.until_rest(last["sharpness"]),
            "sharpening_validation_loss": last["validation_loss"],
        }
    arrays = {"information": on.information}
    if isinstance(s, Transferred):
        arrays |= _transferred(s, session, at)
    scalars = {"sharpened_limit_loss": on.head.least_loss(on.validation_targets, s.epsilon)}
    return Measurements(scalars=scalars, series=series, arrays=arrays)


def _transferred(s: Transferred, session: Session, at: Parameters) -> dict[str, Array]:
    """The weights on sequences of other lengths, from chains of other laws."""
    found = []
    for dirichlet in s.transfer_dirichlets:
        for length in s.transfer_lengths:
            other = replace(s, dirichlet=dirichlet, length=length)
            purpose = f"transfer {dirichlet} {length}"
            sequences = sequences_for(other, session.seed, purpose, s.validation_sequences)
            data = prepared(other, sequences, session)
            found.append(measures.transfer(at, other, data, sequences.targets))
    shape = 2, len(s.transfer_dirichlets), len(s.transfer_lengths)
    loss, gain = np.array(found).T.reshape(shape)
    return {"transfer_loss": loss, "recovered_gain": gain}


def measure_first_gradient(s: Settings, session: Session) -> Measurements:
    """Computes the first gradient on c_S and takes no step."""
    on = seed_data(s, session)
    implied, cosine, slope = measures.first_gradient(initial_parameters(s), on)
    return Measurements(
        scalars={"information_cosine": cosine, "information_slope": slope},
        arrays={"information": on.information, "implied_information": implied},
    )


def _epochs(s: InPhases) -> Mapping[str, int]:
    return {phase.name: phase.epochs for phase in s.schedule}


IN_PHASES = Experiment(InPhases, measure_training, phases=_epochs, has_plain_form=True)

EXPERIMENTS: Mapping[str, Experiment] = {
    "staged": replace(IN_PHASES, settings=Transferred),
    "staged_as_released": IN_PHASES,
    "simultaneous": IN_PHASES,
    "simultaneous_as_released": IN_PHASES,
    "two_phase": IN_PHASES,
    "first_order": IN_PHASES,
    "first_gradient": Experiment(Settings, measure_first_gradient, has_plain_form=True),
}
