"""One seed's model in training: its start, its phases in either form, and how far it moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from reproaudit.lab import (
    Array,
    Series,
    Session,
    generator,
    measure_movement,
    observation_steps,
    one_thread,
)
from reproaudit.lab import train as train_in_pieces
from reproaudit.papers.yang2025 import constructed, fast, measures
from reproaudit.papers.yang2025 import model as plain
from reproaudit.papers.yang2025.model import Weights
from reproaudit.papers.yang2025.products import InnerProducts, Rates, from_weights
from reproaudit.papers.yang2025.settings import Settings
from reproaudit.papers.yang2025.task import Population

OBSERVATIONS = 60
"""The number of observations that are even on a logarithmic axis, and of those on a linear one."""

CHUNK = 1000
"""Steps per call of ``advance``: small beside a checkpoint's interval even with pictures."""


def initial_weights(
    settings: Settings, seed: int, population: Population, device: str = "cpu"
) -> Weights:
    """Returns the weights at the start of a seed's training.

    W_K, W_Q ~ N(0, ω²/m) with m the width, or the built attention where a control asks for it;
    w(0) = 0, or N(0, scale²) where a scale is set.
    """
    draw = generator(seed, "initial attention")
    dimension = population.vectors.shape[1]
    shape = (2, settings.key_width, dimension)
    spread = settings.attention_scale / np.sqrt(settings.key_width)
    keys = spread * draw.standard_normal(shape)
    queries = spread * draw.standard_normal(shape)
    if settings.attention_start == "constructed":
        keys, queries, _ = constructed.with_attention(population)
    neurons = generator(seed, "initial neurons").standard_normal((2, settings.neurons, dimension))
    return Weights.of(keys, queries, settings.neuron_scale * neurons, settings.neuron_bias, device)


@dataclass(frozen=True)
class Training:
    """A model in training.

    Attributes:
        settings: of the experiment.
        session: of the run.
        population: what is trained on.
        start: the weights before training.
        trained: what changes in training, inner products in the fast form, weights in the plain.
    """

    settings: Settings
    session: Session
    population: Population
    start: Weights
    trained: InnerProducts | Weights

    @classmethod
    def of(
        cls, settings: Settings, session: Session, task: Population, start_seed: int | None = None
    ) -> Training:
        """Returns the session's model before training, on its training set of a task.

        A card computes the plain form; what is constructed needs no form of its own. The weights at
        the start may be another seed's.
        """
        seed = session.seed
        drawn = seed if start_seed is None else start_seed
        if settings.training_samples > 0:
            task = task.sampled(settings.training_samples, generator(seed, "training set"))
        start = initial_weights(settings, drawn, task)
        fast_form = session.form == "fast" and session.device == "cpu"
        trained: InnerProducts | Weights
        if fast_form or settings.weights == "constructed":
            trained = from_weights(task, start, identical=settings.neuron_scale == 0)
        else:
            trained = initial_weights(settings, drawn, task, session.device)
        return cls(settings, session, task, start, trained)

    @property
    def model(self) -> InnerProducts:
        """The model as it is now, in inner products."""
        if isinstance(self.trained, Weights):
            return from_weights(self.population, self.trained)
        return self.trained

    def train(
        self, name: str, steps: int, rates: Rates, put: Callable[[int], None] | None = None
    ) -> dict[str, Series]:
        """Trains for a phase at rates of rows, and returns the series of `measures.observed`.

        A positive control does not train: ``put`` places what it has at a step.
        """
        return train_in_pieces(
            self.session,
            name,
            steps=steps,
            state=self.trained._asdict(),
            advance=lambda start, stop: put(stop) if put else self._descend(stop - start, rates),
            observe=lambda _step: self.observe(),
            observe_at=observation_steps(steps, even=OBSERVATIONS + 1, geometric=OBSERVATIONS),
            chunk=CHUNK,
        )

    def _descend(self, steps: int, rates: Rates) -> None:
        if isinstance(self.trained, InnerProducts):
            scale = self.settings.output_scale
            fast.descend(
                self.trained, self.population, steps=steps, output_scale=scale, rates=rates
            )
            return
        weight = self.settings.output_weight
        each = rates.attention, rates.neurons / weight, rates.biases / weight  # not of rows
        plain.descend(self.trained, self.population, steps=steps, output_weight=weight, rates=each)

    def outputs(self, *, attends: bool = True) -> Float[np.ndarray, " sample"]:
        """Returns f(X) of every sample, with uniform attention unless the model ``attends``."""
        if isinstance(self.trained, InnerProducts):
            zeros = np.zeros_like(self.trained.keys)
            model = self.trained if attends else self.trained._replace(keys=zeros)
            return fast.outputs(model, self.population, self.settings.output_scale)
        keys = self.trained.keys if attends else torch.zeros_like(self.trained.keys)
        weights = self.trained._replace(keys=keys)
        with torch.no_grad():
            x = plain.samples(self.population).to(keys)
            f = plain.outputs(weights, x, self.settings.output_weight)
            return np.asarray(f.cpu().numpy())

    def observe(self) -> dict[str, float]:
        """Observes the model as it is now."""
        f = self.outputs()
        without = self.outputs(attends=False)
        return measures.observed(self.model, self.population, f, without)

    def moment(self) -> tuple[list[Array], float]:
        """All weights as they are now, biases where they are trained, and the training loss."""
        if isinstance(self.trained, Weights):
            arrays = self.trained.arrays()
        else:
            arrays = fast.weights(self.trained, self.population, self.start)
        task = self.population
        loss = measures.population_loss(self.outputs(), task.positive, task.shares)
        return (arrays if self.settings.bias_trained else arrays[:3]), loss

    def moved(self, since: tuple[list[Array], float]) -> dict[str, float]:
        """The movement in training since an earlier `moment`."""
        begin, first = since
        end, last = self.moment()
        with one_thread():  # a norm's last bit depends on the number of threads
            return measure_movement(begin, end, [first], [last])

    def construction(
        self, neurons_from: float, attention_from: float
    ) -> Callable[[int], None] | None:
        """Returns what puts constructed neurons, and attention, in place from a step on.

        None where the settings ask for trained weights.
        """
        if self.settings.weights == "trained":
            return None

        def put(step: int) -> None:
            if step >= neurons_from:
                constructed.put_neurons(self.model, self.population, self.settings.output_scale)
            if step >= attention_from:
                constructed.put_attention(self.model, self.population)

        return put
