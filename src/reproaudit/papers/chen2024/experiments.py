"""The two experiments: training in three stages, and training everything at once.

Controls and positive controls are settings: `training_data` takes the parents away from the
training sequences (what is measured stays on proper ones), and `weights` puts a constructed
solution in place of training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

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
    train,
)
from reproaudit.papers.chen2024.constructed import InductionHead, induction_head_weights
from reproaudit.papers.chen2024.fast import (
    ParameterName,
    Parameters,
    Windows,
    count_windows,
    descend,
)
from reproaudit.papers.chen2024.information import modified_information
from reproaudit.papers.chen2024.measures import (
    Evaluation,
    limit_losses,
    observe,
    recovered_gain,
)
from reproaudit.papers.chen2024.model import Architecture, LagWindows, LossReading
from reproaudit.papers.chen2024.task import (
    ChainSettings,
    Sequences,
    sequences_for,
    training_sequences,
    transition_tables,
    validation_sequences,
)

ALL_PARAMETERS: tuple[ParameterName, ...] = ("lag_weights", "coefficients", "sharpness")


@dataclass(frozen=True)
class Shared(ChainSettings):
    """The settings that both experiments share, beside those of the data.

    Attributes:
        information_chains: how many chains the information of the subsets is averaged over.
        heads: H.
        degree: D, how many heads a subset may have.
        window: M, how many lags a head sees.
        lag_windows: ``common`` (lags 1 … M) or ``own_onwards`` (head h sees h … h + M − 1).
        own_lag_weight: the initial weight of head h on lag h.
        other_lag_weight: the initial weight on the other lags.
        initial_coefficient: of every subset.
        initial_sharpness: a at the start.
        cross_entropy: how "cross-entropy of the output" is read in training.
        epsilon: ε inside the logarithm of every loss.
        precision: of the parameters.
        observations: about how often the parameters are looked at in a phase.
        weights: ``trained``, or ``constructed``: the induction head in place of training.
    """

    information_chains: int
    heads: int
    degree: int
    window: int
    lag_windows: LagWindows
    own_lag_weight: float
    other_lag_weight: float
    initial_coefficient: float
    initial_sharpness: float
    cross_entropy: LossReading
    epsilon: float
    precision: Literal["float32", "float64"]
    observations: int
    weights: Literal["trained", "constructed"]

    def __post_init__(self) -> None:
        self._check_length("length", self.length)

    def _check_length(self, name: str, length: int) -> None:
        if length < self.architecture.longest_lag:
            raise ValueError(
                f"setting '{name}' has {length}; a sequence needs at least "
                f"{self.architecture.longest_lag} tokens, the longest lag."
            )

    @cached_property
    def architecture(self) -> Architecture:
        """Which lags the heads see, and which sets of heads are compared."""
        return Architecture.build(self.lag_windows, self.heads, self.window, self.degree)

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """The precision as NumPy's type."""
        return np.float32 if self.precision == "float32" else np.float64


@dataclass(frozen=True)
class Staged(Shared):
    """Settings of the three stages, one parameter group after another.

    Attributes:
        stage_1_epochs: of stage I, which trains c_S.
        stage_2_epochs: of stage II, which trains w.
        stage_3_epochs: of stage III, which trains a.
        stage_1_learning_rate: of stage I.
        stage_2_learning_rate: of stage II.
        stage_3_learning_rate: of stage III.
        transfer_lengths: lengths of the sequences that the trained model is taken to.
        transfer_dirichlets: concentrations of the chains that it is taken to.
    """

    stage_1_epochs: int
    stage_2_epochs: int
    stage_3_epochs: int
    stage_1_learning_rate: float
    stage_2_learning_rate: float
    stage_3_learning_rate: float
    transfer_lengths: tuple[int, ...]
    transfer_dirichlets: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for length in self.transfer_lengths:
            self._check_length("transfer_lengths", length)

    @property
    def stages(self) -> tuple[Phase, ...]:
        """The three stages in their order."""
        return (
            Phase("stage_1", self.stage_1_epochs, self.stage_1_learning_rate, ("coefficients",)),
            Phase("stage_2", self.stage_2_epochs, self.stage_2_learning_rate, ("lag_weights",)),
            Phase("stage_3", self.stage_3_epochs, self.stage_3_learning_rate, ("sharpness",)),
        )


@dataclass(frozen=True)
class Simultaneous(Shared):
    """Settings of training everything at once."""

    epochs: int
    learning_rate: float

    @property
    def together(self) -> Phase:
        """The one phase."""
        return Phase("together", self.epochs, self.learning_rate, ALL_PARAMETERS)


@dataclass(frozen=True)
class Phase:
    """A phase of training: so many full-batch steps on some of the parameters."""

    name: str
    epochs: int
    learning_rate: float
    trained: tuple[ParameterName, ...]


# ---------------------------------------------------------------------------------------- one seed


def initial_parameters(s: Shared) -> Parameters:
    """The parameters before training."""
    weights = np.full((s.heads, s.window), s.other_lag_weight)
    weights[np.arange(s.heads), s.architecture.own_places] = s.own_lag_weight
    return Parameters(
        lag_weights=weights.astype(s.dtype),
        coefficients=np.full(len(s.architecture.subsets), s.initial_coefficient, dtype=s.dtype),
        sharpness=np.full(1, s.initial_sharpness, dtype=s.dtype),
    )


def windows_of(sequences: Sequences, s: Shared) -> Windows:
    """The counted form of sequences under the settings' model."""
    return count_windows(sequences, s.architecture, s.vocabulary, s.dtype)


def information_of_subsets(s: Shared, seed: int) -> Float[Array, " subset"]:
    """I(S) of every subset under the law of the chains."""
    tables = transition_tables(
        generator(seed, "information"),
        s.information_chains,
        order=s.order,
        vocabulary=s.vocabulary,
        dirichlet=s.dirichlet,
    )
    return modified_information(tables, s.order, s.architecture.subsets, s.heads)


@dataclass(frozen=True)
class SeedRun:
    """The data of one seed, and the training on it.

    Attributes:
        settings: of the experiment.
        seed: of the run.
        training: the training sequences.
        information: I(S) of every subset.
        evaluation: what weights are measured on.
    """

    settings: Shared
    seed: int
    training: Sequences
    information: Float[Array, " subset"]
    evaluation: Evaluation

    @classmethod
    def start(cls, s: Shared, seed: int) -> SeedRun:
        """Draws and counts the seed's sequences."""
        training, validation = training_sequences(s, seed), validation_sequences(s, seed)
        information = information_of_subsets(s, seed)
        evaluation = Evaluation(
            architecture=s.architecture,
            reading=s.cross_entropy,
            epsilon=s.epsilon,
            training=windows_of(training, s),
            validation=validation,
            validation_windows=windows_of(validation, s),
            head=InductionHead.of(validation, s.order, s.vocabulary),
            optimal=int(information.argmax()),
        )
        return cls(s, seed, training, information, evaluation)

    def construct(self) -> Parameters:
        """The constructed solution, with the sharpness that is best for the training sequences."""
        on = self.evaluation
        return induction_head_weights(on.architecture, self.training, on.training, on.epsilon)

    def train(self, session: Session, at: Parameters, phase: Phase) -> dict[str, Series]:
        """Trains some of the parameters in place, or puts constructed ones there, and observes."""
        s, half = self.settings, max(2, self.settings.observations // 2)
        return train(
            session,
            phase.name,
            steps=phase.epochs,
            state=at._asdict(),
            advance=self.descent(at, phase) if s.weights == "trained" else self._jump(at, phase),
            observe=lambda _epoch: observe(at, self.evaluation),
            observe_at=observation_steps(phase.epochs, even=half, geometric=half),
            chunk=1000,
        )

    def descent(self, at: Parameters, phase: Phase) -> Callable[[int, int], None]:
        """Trains the phase's parameters from one epoch to another, in place."""

        def advance(start: int, stop: int) -> None:
            descend(
                self.evaluation.training,
                at,
                epochs=stop - start,
                learning_rate=phase.learning_rate,
                trained=phase.trained,
                reading=self.settings.cross_entropy,
                epsilon=self.settings.epsilon,
            )

        return advance

    def _jump(self, at: Parameters, phase: Phase) -> Callable[[int, int], None]:
        """Puts the constructed solution in place of the phase's parameters.

        The sharpness grows to its value in the logarithm of the epoch, as the theory predicts.
        """
        target, start = self.construct(), self.settings.initial_sharpness

        def advance(_start: int, stop: int) -> None:
            for name in phase.trained:
                if name == "sharpness":
                    progress = float(np.log1p(stop) / np.log1p(phase.epochs))
                    at.sharpness[0] = start + progress * (target.sharpness[0] - start)
                else:
                    getattr(at, name)[...] = getattr(target, name)

        return advance

    def transfer(
        self, at: Parameters, *, length: int | None = None, dirichlet: float | None = None
    ) -> float:
        """The share of the mechanism's gain that the weights keep on other sequences."""
        s = self.settings
        changed = f"length {length}" if dirichlet is None else f"dirichlet {dirichlet}"
        sequences = sequences_for(
            s,
            self.seed,
            f"transfer {changed}",
            s.validation_sequences,
            length=length,
            dirichlet=dirichlet,
        )
        return recovered_gain(at, s.architecture, sequences, windows_of(sequences, s), s.epsilon)


# --------------------------------------------------------------------------------- the experiments


def measure_staged(settings: Staged, session: Session) -> Mapping[int, Measurements]:
    """Trains c_S, then w, then a, and takes the model to other sequences."""
    return {seed: _staged(settings, session, seed) for seed in session.seeds}


def _staged(s: Staged, session: Session, seed: int) -> Measurements:
    run, at = SeedRun.start(s, seed), initial_parameters(s)
    observed = [run.train(session, at, stage) for stage in s.stages]
    whole = join_phases(zip((stage.epochs for stage in s.stages), observed, strict=True))
    del whole["sharpness"]  # followed in its own stage, from that stage's start
    last = observed[-1]
    return Measurements(
        scalars=limit_losses(run.evaluation),
        series={
            **whole,
            "sharpness": last["sharpness"],
            "sharpening_trained_loss": last["trained_loss"],
            "sharpening_validation_loss": last["validation_loss"],
        },
        arrays={
            "information": run.information,
            "recovered_at_length": np.array(
                [run.transfer(at, length=length) for length in s.transfer_lengths]
            ),
            "recovered_at_dirichlet": np.array(
                [run.transfer(at, dirichlet=dirichlet) for dirichlet in s.transfer_dirichlets]
            ),
        },
    )


def measure_simultaneous(settings: Simultaneous, session: Session) -> Mapping[int, Measurements]:
    """Trains c_S, w and a together."""
    return {seed: _simultaneous(settings, session, seed) for seed in session.seeds}


def _simultaneous(s: Simultaneous, session: Session, seed: int) -> Measurements:
    run, at = SeedRun.start(s, seed), initial_parameters(s)
    return Measurements(
        series=run.train(session, at, s.together),
        scalars=limit_losses(run.evaluation),
        arrays={"information": run.information},
    )


EXPERIMENTS: Mapping[str, Experiment] = {
    "staged": Experiment(
        settings=Staged,
        measure=measure_staged,
        phases=lambda s: {stage.name: stage.epochs for stage in s.stages},
    ),
    "simultaneous": Experiment(
        settings=Simultaneous,
        measure=measure_simultaneous,
        phases=lambda s: {s.together.name: s.together.epochs},
    ),
}
