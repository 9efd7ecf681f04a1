"""The two experiments: training in three stages, and training everything at once.

Controls and positive controls are settings: `training_data` takes the parents away from the
training sequences (what is measured stays on proper ones), and `weights` puts a constructed
solution in place of training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from reproaudit.errors import AuditError
from reproaudit.lab.experiment import Session
from reproaudit.lab.seeds import generator
from reproaudit.lab.training import train
from reproaudit.papers.chen2024 import data, windows
from reproaudit.papers.chen2024.data import Floats, Sequences
from reproaudit.papers.chen2024.model import READINGS, lags_of_heads
from reproaudit.papers.chen2024.windows import Windows
from reproaudit.records import Measurements, Series

Array = NDArray[Any]

PARENTS = ("1", "2")
"""The heads whose own lags are the parents of a trigram; `order` says how many there truly are."""

COPYING_WEIGHT = 30.0
"""A constructed head's weight on its own lag; e^30 against 1 is all the attention."""

LARGEST_SHARPNESS = 50.0
"""At a = 50 a position without matching parents has e^−50 of a matching one's vote: the limit."""


@dataclass(frozen=True)
class Common:
    """The settings that both experiments share; the audit says what they mean."""

    vocabulary: int
    order: int
    length: int
    dirichlet: float
    training_sequences: int
    validation_sequences: int
    information_chains: int
    heads: int
    degree: int
    window: int
    lag_windows: str
    own_lag_weight: float
    other_lag_weight: float
    initial_coefficient: float
    initial_sharpness: float
    cross_entropy: str
    epsilon: float
    precision: str
    observations: int
    training_data: str
    weights: str


@dataclass(frozen=True)
class Staged(Common):
    """Settings of the three stages, one parameter group after another."""

    stage_1_epochs: int
    stage_2_epochs: int
    stage_3_epochs: int
    stage_1_learning_rate: float
    stage_2_learning_rate: float
    stage_3_learning_rate: float
    transfer_lengths: tuple[int, ...]
    transfer_dirichlets: tuple[float, ...]


@dataclass(frozen=True)
class Simultaneous(Common):
    """Settings of training everything at once."""

    epochs: int
    learning_rate: float


# ------------------------------------------------------------------------------------ the task


class Task:
    """What one seed trains on and is measured against.

    Raises:
        AuditError: if a setting names something that does not exist.
    """

    def __init__(self, settings: Common, seed: int) -> None:
        for name, known in (
            ("cross_entropy", READINGS),
            ("precision", ("float32", "float64")),
            ("training_data", ("own_chain", "independent_tokens", "shuffled_targets")),
            ("weights", ("trained", "constructed")),
        ):
            if getattr(settings, name) not in known:
                raise AuditError(
                    f"{name}: unknown value '{getattr(settings, name)}'. Use {' or '.join(known)}."
                )
        self.settings = settings
        self.seed = seed
        self.dtype = np.float32 if settings.precision == "float32" else np.float64
        self.lags = lags_of_heads(settings.lag_windows, settings.heads, settings.window)
        self.own = np.array([own.index(h) for h, own in enumerate(self.lags, start=1)])
        self.subsets = data.subsets_up_to(settings.heads, settings.degree)
        self.training_sequences = self._training_sequences()
        self.training = self.count(self.training_sequences)
        self.validation_sequences = self.draw("validation", settings.validation_sequences)
        self.validation = self.count(self.validation_sequences)
        self.induction_head = data.InductionHead.of(
            self.validation_sequences, settings.order, settings.vocabulary
        )
        self.limit = self.induction_head.predict()

    def draw(self, purpose: str, count: int, **changed: float) -> Sequences:
        """Sequences from the task's chains, with some settings changed."""
        s = self.settings
        return data.draw_sequences(
            generator(self.seed, purpose),
            count,
            length=int(changed.get("length", s.length)),
            order=int(changed.get("order", s.order)),
            vocabulary=s.vocabulary,
            dirichlet=changed.get("dirichlet", s.dirichlet),
        )

    def _training_sequences(self) -> Sequences:
        s = self.settings
        if s.training_data == "independent_tokens":
            return self.draw("training", s.training_sequences, order=0)
        sequences = self.draw("training", s.training_sequences)
        if s.training_data == "shuffled_targets":
            return sequences.with_shuffled_targets(generator(self.seed, "shuffle"))
        return sequences

    def count(self, sequences: Sequences) -> Windows:
        """The counted form of sequences under the task's model."""
        return windows.count_windows(
            sequences,
            lags=self.lags,
            subsets=self.subsets,
            vocabulary=self.settings.vocabulary,
            dtype=self.dtype,
        )

    def information(self) -> Floats:
        """I(S) of every subset under the law of the chains, shape (subset,)."""
        s = self.settings
        tables = data.draw_tables(
            generator(self.seed, "information"),
            s.information_chains,
            s.order,
            s.vocabulary,
            s.dirichlet,
        )
        return data.information(tables, s.order, self.subsets, s.heads)


# ---------------------------------------------------------------------------------- the model


class Model:
    """The parameters of one seed, and what training or construction does to them."""

    def __init__(self, task: Task) -> None:
        s = task.settings
        self.task = task
        weights = np.full((s.heads, s.window), s.other_lag_weight)
        weights[np.arange(s.heads), task.own] = s.own_lag_weight
        self.lag_weights = weights.astype(task.dtype)
        self.coefficients = np.full(len(task.subsets), s.initial_coefficient, dtype=task.dtype)
        self.sharpness = np.full(1, s.initial_sharpness, dtype=task.dtype)

    @property
    def state(self) -> dict[str, Array]:
        """What training changes, by name."""
        return {
            "lag_weights": self.lag_weights,
            "coefficients": self.coefficients,
            "sharpness": self.sharpness,
        }

    def descend(self, epochs: int, learning_rate: float, trained: frozenset[str]) -> None:
        """Full-batch gradient descent on some of the parameters."""
        windows.descend(
            self.task.training,
            self.lag_weights,
            self.coefficients,
            self.sharpness,
            epochs=epochs,
            learning_rate=learning_rate,
            trained=trained,
            reading=self.task.settings.cross_entropy,
            epsilon=self.task.settings.epsilon,
        )

    def construct(self, constructed: Model, trained: frozenset[str], progress: float) -> None:
        """Puts a constructed solution in place of some parameters.

        The sharpness grows to its value like the logarithm that the theory predicts for it;
        `progress` is log(1 + epoch) / log(1 + epochs).
        """
        for name in trained - {"sharpness"}:
            self.state[name][...] = constructed.state[name]
        if "sharpness" in trained:
            start = self.task.settings.initial_sharpness
            self.sharpness[0] = start + progress * (constructed.sharpness[0] - start)

    def predict(self, of: Windows) -> Floats:
        """The predicted distributions, shape (sequence, vocabulary)."""
        return windows.predict(of, self.lag_weights, self.coefficients, self.sharpness)

    def trained_loss(self) -> float:
        """The loss that is trained, on the training sequences."""
        s = self.task.settings
        return windows.descend(
            self.task.training,
            *self.state.values(),
            epochs=1,
            learning_rate=0.0,
            trained=frozenset(),
            reading=s.cross_entropy,
            epsilon=s.epsilon,
        ).loss

    def subset_shares(self) -> Floats:
        """p_S of every subset."""
        squares = self.coefficients.astype(np.float64) ** 2
        return np.asarray(squares / squares.sum())

    def own_lag_attention(self) -> Floats:
        """The attention of every head to its own lag where its whole window is present."""
        weights = self.lag_weights.astype(np.float64)
        attention = np.exp(weights - weights.max(axis=1, keepdims=True))
        own = attention[np.arange(len(weights)), self.task.own]
        return np.asarray(own / attention.sum(axis=1))


def construct(task: Task, sequences: Sequences, counted: Windows) -> Model:
    """The generalised induction head as weights: copiers, the parents' subset, a sharpness.

    Args:
        task: the task whose model is built.
        sequences: for these the sharpness has the least true cross-entropy.
        counted: their counted form.
    """
    model = Model(task)
    model.lag_weights[...] = 0.0
    model.lag_weights[np.arange(task.settings.heads), task.own] = COPYING_WEIGHT
    parents = "+".join(PARENTS)
    model.coefficients[...] = [data.name_of(subset) == parents for subset in task.subsets]
    model.sharpness[0] = best_sharpness(model, sequences, counted)
    return model


def best_sharpness(model: Model, sequences: Sequences, counted: Windows) -> float:
    """The a between 0 and 50 with the least true cross-entropy on given sequences."""
    kernel = windows.kernel_of_pairs(counted, model.lag_weights, model.coefficients)

    def at(sharpness: float) -> float:
        predictions = windows.vote(counted, np.exp(sharpness * (kernel - 1.0)))
        return data.cross_entropy(predictions, sequences.targets, model.task.settings.epsilon)

    found = minimize_scalar(at, bounds=(0.0, LARGEST_SHARPNESS), method="bounded")
    return float(found.x)


# ------------------------------------------------------------------------------- what is measured


def observation_steps(steps: int, count: int) -> tuple[int, ...]:
    """About ``count`` steps from 0 to the last: half of them geometric, half evenly spaced."""
    half = max(2, count // 2)
    even = np.linspace(0, steps, half)
    dense = np.geomspace(1, max(1, steps), half)
    return tuple(sorted({0, steps, *np.rint(even).astype(int), *np.rint(dense).astype(int)}))


def observe(model: Model, optimal: int) -> dict[str, float | Floats]:
    """Everything that is followed over training."""
    task = model.task
    predictions = model.predict(task.validation)
    shares = model.subset_shares()
    return {
        "subset_share": shares,
        "optimal_share": shares[optimal],
        "own_lag_attention": model.own_lag_attention(),
        "sharpness": float(model.sharpness[0]),
        "trained_loss": model.trained_loss(),
        "validation_loss": data.cross_entropy(
            predictions, task.validation_sequences.targets, task.settings.epsilon
        ),
        "limit_gap": float(np.abs(predictions - task.limit).sum(axis=1).mean() / 2),
    }


def run_phase(
    session: Session,
    model: Model,
    optimal: int,
    *,
    phase: str,
    epochs: int,
    learning_rate: float,
    trained: frozenset[str],
) -> dict[str, Series]:
    """Trains some of the parameters, or puts the constructed ones in place, and observes."""
    task = model.task
    advance: Callable[[int, int], None]
    if task.settings.weights == "trained":

        def advance(start: int, stop: int) -> None:
            model.descend(stop - start, learning_rate, trained)
    else:
        target = construct(task, task.training_sequences, task.training)

        def advance(_start: int, stop: int) -> None:
            model.construct(target, trained, float(np.log1p(stop) / np.log1p(epochs)))

    return train(
        session,
        phase,
        steps=epochs,
        state=model.state,
        advance=advance,
        observe=lambda _step: observe(model, optimal),
        observe_at=observation_steps(epochs, task.settings.observations),
        chunk=1000,
    )


def joined(phases: Iterable[tuple[int, Mapping[str, Series]]]) -> dict[str, Series]:
    """Series of successive phases as one, counted from the start of the first.

    A phase's first observation repeats the last of the one before and is left out.
    """
    steps: dict[str, list[int]] = {}
    values: dict[str, list[Array]] = {}
    begin = 0
    for length, series in phases:
        for name, one in series.items():
            skip = 1 if name in steps else 0
            steps.setdefault(name, []).extend(begin + step for step in one.steps[skip:])
            values.setdefault(name, []).append(one.values[skip:])
        begin += length
    return {n: Series(steps=tuple(steps[n]), values=np.concatenate(values[n])) for n in steps}


STAGES = (
    ("stage_1", frozenset({"coefficients"})),
    ("stage_2", frozenset({"lag_weights"})),
    ("stage_3", frozenset({"sharpness"})),
)


def _of_stages(settings: Staged, what: str) -> tuple[Any, ...]:
    return tuple(getattr(settings, f"{stage}_{what}") for stage, _ in STAGES)


def measure_staged(settings: Staged, session: Session) -> Mapping[int, Measurements]:
    """Trains c_S, then w, then a, and takes the model to other sequences."""
    return {seed: _measure_staged(settings, session, seed) for seed in session.seeds}


def _measure_staged(settings: Staged, session: Session, seed: int) -> Measurements:
    task = Task(settings, seed)
    model = Model(task)
    information = task.information()
    epochs, rates = _of_stages(settings, "epochs"), _of_stages(settings, "learning_rate")
    stages = [
        run_phase(
            session,
            model,
            int(information.argmax()),
            phase=stage,
            epochs=length,
            learning_rate=rate,
            trained=trained,
        )
        for (stage, trained), length, rate in zip(STAGES, epochs, rates, strict=True)
    ]
    last = stages[-1]
    whole = joined(zip(epochs, stages, strict=True))
    del whole["sharpness"]  # followed in its own stage, from that stage's start
    return Measurements(
        scalars=_limit_losses(task),
        series={
            **whole,
            "sharpness": last["sharpness"],
            "sharpening_trained_loss": last["trained_loss"],
            "sharpening_validation_loss": last["validation_loss"],
        },
        arrays={
            "information": information,
            "recovered_at_length": _recovered(model, "length", settings.transfer_lengths),
            "recovered_at_dirichlet": _recovered(model, "dirichlet", settings.transfer_dirichlets),
        },
    )


def measure_simultaneous(settings: Simultaneous, session: Session) -> Mapping[int, Measurements]:
    """Trains c_S, w and a together."""
    return {seed: _measure_simultaneous(settings, session, seed) for seed in session.seeds}


def _measure_simultaneous(settings: Simultaneous, session: Session, seed: int) -> Measurements:
    task = Task(settings, seed)
    model = Model(task)
    information = task.information()
    series = run_phase(
        session,
        model,
        int(information.argmax()),
        phase="together",
        epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        trained=frozenset(model.state),
    )
    return Measurements(
        scalars=_limit_losses(task),
        series=series,
        arrays={"information": information},
    )


def _limit_losses(task: Task) -> dict[str, float]:
    """What the hard-wired head reaches: in the limit, and with the sharpness that suits it best."""
    targets, epsilon = task.validation_sequences.targets, task.settings.epsilon
    return {
        "limit_loss": data.cross_entropy(task.limit, targets, epsilon),
        "sharpened_limit_loss": task.induction_head.least_loss(targets, epsilon, LARGEST_SHARPNESS),
    }


def _recovered(model: Model, what: str, values: tuple[float, ...]) -> Floats:
    """How much of the mechanism's gain over a uniform vote remains on other sequences.

    The mechanism is the constructed head with the sharpness that is best for those sequences; the
    model is taken as it is. 1 is all of it, 0 no better than the uniform vote.
    """
    task = model.task
    epsilon = task.settings.epsilon
    shares = []
    for value in values:
        changed = {what: value}
        purpose = f"transfer {what} {value}"
        sequences = task.draw(purpose, task.settings.validation_sequences, **changed)
        counted = task.count(sequences)
        best = construct(task, sequences, counted)
        uniform = windows.vote(counted, np.ones(counted.query.shape[1]))
        losses = [
            data.cross_entropy(predictions, sequences.targets, epsilon)
            for predictions in (uniform, model.predict(counted), best.predict(counted))
        ]
        shares.append((losses[0] - losses[1]) / (losses[0] - losses[2]))
    return np.array(shares)
