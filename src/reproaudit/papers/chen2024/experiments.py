"""The two experiments: training in three stages, and training everything at once.

Controls and positive controls are settings: `training_data` gives training sequences the targets of
others or other parents (what is measured stays on proper ones), in the staged experiment from a
stage on, and `weights` puts a constructed solution in place of training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from reproaudit.lab import (
    Array,
    Experiment,
    Measurements,
    RunForm,
    Series,
    Session,
    generator,
    join_phases,
    measure_movement,
    observation_steps,
    per_seed,
    train,
)
from reproaudit.papers.chen2024.constructed import InductionHead, induction_head_weights
from reproaudit.papers.chen2024.fast import Parameters
from reproaudit.papers.chen2024.fast.together import Together, descend_seeds
from reproaudit.papers.chen2024.forms import Counted, Prepared, prepare
from reproaudit.papers.chen2024.information import modified_information
from reproaudit.papers.chen2024.measures import (
    Evaluation,
    limit_losses,
    observe,
    recovered_gain,
)
from reproaudit.papers.chen2024.settings import Phase, Shared, Simultaneous, Staged
from reproaudit.papers.chen2024.task import (
    Sequences,
    sequences_for,
    training_sequences,
    transition_tables,
    validation_sequences,
)

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


def prepared_for(s: Shared, sequences: Sequences, form: RunForm) -> Prepared:
    """Sequences prepared for the settings' model."""
    return prepare(sequences, s.architecture, s.vocabulary, s.dtype, form)


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
        form: fast or plain.
        information: I(S) of every subset.
        evaluation: what weights are measured on.
    """

    settings: Shared
    seed: int
    form: RunForm
    training: Sequences
    information: Float[Array, " subset"]
    evaluation: Evaluation

    @classmethod
    def start(cls, s: Shared, seed: int, form: RunForm) -> SeedRun:
        """Draws and prepares the seed's sequences."""
        training, validation = training_sequences(s, seed), validation_sequences(s, seed)
        information = information_of_subsets(s, seed)
        evaluation = Evaluation(
            architecture=s.architecture,
            reading=s.cross_entropy,
            epsilon=s.epsilon,
            training=prepared_for(s, training, form),
            validation=validation,
            prepared_validation=prepared_for(s, validation, form),
            head=InductionHead.of(validation, s.order, s.vocabulary),
            optimal=int(information.argmax()),
        )
        return cls(s, seed, form, training, information, evaluation)

    def construct(self) -> Parameters:
        """The constructed solution, with the sharpness that is best for the training sequences."""
        on = self.evaluation
        return induction_head_weights(on.architecture, self.training, on.training, on.epsilon)

    def descent(self, at: Parameters, phase: Phase) -> Callable[[int, int], None]:
        """Trains the phase's parameters from one epoch to another, in place."""

        def advance(start: int, stop: int) -> None:
            self.evaluation.training.descend(
                at,
                epochs=stop - start,
                learning_rate=phase.learning_rate,
                trained=phase.trained,
                reading=self.settings.cross_entropy,
                epsilon=self.settings.epsilon,
            )

        return advance

    def jump(self, at: Parameters, phase: Phase) -> Callable[[int, int], None]:
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
        prepared = prepared_for(s, sequences, self.form)
        return recovered_gain(at, s.architecture, sequences, prepared, s.epsilon)


# --------------------------------------------------------------------------- the session's seeds


def start_runs(s: Shared, session: Session) -> list[SeedRun]:
    """The data of the session's seeds."""
    return [SeedRun.start(s, seed, session.form) for seed in session.seeds]


def train_runs(
    session: Session, runs: Sequence[SeedRun], ats: Sequence[Parameters], phase: Phase
) -> list[dict[str, Series]]:
    """Trains some of the parameters in place, or puts constructed ones there, and observes.

    Args:
        session: of the run; on a card all seeds are trained together.
        runs: the data, in the order of the session's seeds.
        ats: the parameters of each.
        phase: what is trained, and for how long.

    Returns:
        The series of each seed.
    """
    s = runs[0].settings
    half = max(2, s.observations // 2)
    each = list(zip(runs, ats, strict=True))
    singly = [
        run.descent(at, phase) if s.weights == "trained" else run.jump(at, phase)
        for run, at in each
    ]
    advance = _one_after_another(singly)
    if session.device != "cpu" and s.weights == "trained":
        advance = descent_together(runs, ats, phase, session.device)

    def observed(_epoch: int) -> dict[str, Array]:
        of_seeds = [observe(at, run.evaluation) for run, at in each]
        return {name: np.array([one[name] for one in of_seeds]) for name in of_seeds[0]}

    series = train(
        session,
        phase.name,
        steps=phase.epochs,
        state={f"{k} of seed {run.seed}": v for run, at in each for k, v in at._asdict().items()},
        advance=advance,
        observe=observed,
        observe_at=observation_steps(phase.epochs, even=half, geometric=half),
        chunk=1000,
        seed_axis=True,
    )
    return list(per_seed(series, session.seeds).values())


def _one_after_another(
    advances: Sequence[Callable[[int, int], None]],
) -> Callable[[int, int], None]:
    def advance(start: int, stop: int) -> None:
        for one in advances:
            one(start, stop)

    return advance


def descent_together(
    runs: Sequence[SeedRun], ats: Sequence[Parameters], phase: Phase, device: str
) -> Callable[[int, int], None]:
    """Trains the phase's parameters of all seeds at once, in place; the fast form for a card."""
    s = runs[0].settings
    prepared = [run.evaluation.training for run in runs]
    several = Together.of([one.windows for one in prepared if isinstance(one, Counted)], device)

    def advance(start: int, stop: int) -> None:
        descend_seeds(
            several,
            ats,
            epochs=stop - start,
            learning_rate=phase.learning_rate,
            trained=phase.trained,
            reading=s.cross_entropy,
            epsilon=s.epsilon,
            device=device,
        )

    return advance


# --------------------------------------------------------------------------------- the experiments


def measure_staged(s: Staged, session: Session) -> Mapping[int, Measurements]:
    """Trains c_S, then w, then a, and takes the model to other sequences."""
    runs = start_runs(s, session)
    ats = [initial_parameters(s) for _ in runs]
    before = runs
    if s.training_data != "own_chain" and s.data_from_stage > 1:
        before = start_runs(replace(s, training_data="own_chain"), session)
    observed = [
        train_runs(session, before if number < s.data_from_stage else runs, ats, stage)
        for number, stage in enumerate(s.stages, start=1)
    ]
    return {
        run.seed: _staged(s, run, at, stages)
        for run, at, *stages in zip(runs, ats, *observed, strict=True)
    }


def _staged(
    s: Staged, run: SeedRun, at: Parameters, observed: Sequence[Mapping[str, Series]]
) -> Measurements:
    """The measurements of one seed, after its three stages."""
    whole = join_phases(zip((stage.epochs for stage in s.stages), observed, strict=True))
    del whole["sharpness"]  # followed in its own stage, from that stage's start
    last = observed[-1]
    moved = {
        f"{stage.name}_{name}": by
        for stage, series in zip(s.stages, observed, strict=True)
        for name, by in _movement(s, at, stage, series).items()
    }
    return Measurements(
        scalars={**limit_losses(run.evaluation), **moved},
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


def measure_simultaneous(s: Simultaneous, session: Session) -> Mapping[int, Measurements]:
    """Trains c_S, w and a together."""
    runs = start_runs(s, session)
    ats = [initial_parameters(s) for _ in runs]
    observed = train_runs(session, runs, ats, s.together)
    return {
        run.seed: Measurements(
            series=series,
            scalars={**limit_losses(run.evaluation), **_movement(s, at, s.together, series)},
            arrays={"information": run.information},
        )
        for run, at, series in zip(runs, ats, observed, strict=True)
    }


def _movement(
    s: Shared, at: Parameters, phase: Phase, observed: Mapping[str, Series]
) -> dict[str, float]:
    """The movement of what a phase trains, and of the training loss over that phase.

    No other phase trains the same parameters: they began as they were initialised, and have ended
    as the phase left them.
    """
    begin, end = (
        [getattr(one, name) for name in phase.trained] for one in (initial_parameters(s), at)
    )
    losses = observed["trained_loss"].values
    return measure_movement(begin, end, [losses[0]], [losses[-1]])


_CARD = frozenset({"cuda"})
"""The devices on which all seeds of a cell are trained at once."""

SIMULTANEOUS = Experiment(
    settings=Simultaneous,
    measure=measure_simultaneous,
    seeds_together=_CARD,
    phases=lambda s: {s.together.name: s.together.epochs},
    has_plain_form=True,
)
"""Run under two names, with the card's reading of three settings and with the code's."""

EXPERIMENTS: Mapping[str, Experiment] = {
    "staged": Experiment(
        settings=Staged,
        measure=measure_staged,
        seeds_together=_CARD,
        phases=lambda s: {stage.name: stage.epochs for stage in s.stages},
        has_plain_form=True,
    ),
    "simultaneous": SIMULTANEOUS,
    "simultaneous_as_released": SIMULTANEOUS,
}
