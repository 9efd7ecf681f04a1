"""The models of several seeds in training: their start, phases, and how far they moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float

from reproaudit.lab import (
    Array,
    Series,
    Session,
    Stateful,
    generator,
    measure_movement,
    observation_steps,
    one_thread,
    per_seed,
    train,
)
from reproaudit.papers.yang2025 import constructed, fast, measures
from reproaudit.papers.yang2025 import model as plain
from reproaudit.papers.yang2025.batched import descend_together
from reproaudit.papers.yang2025.fast import InnerProducts, Rates
from reproaudit.papers.yang2025.model import Weights
from reproaudit.papers.yang2025.task import Labels, Population

OBSERVATIONS = 60
"""The number of observations that are even on a logarithmic axis, and of those on a linear one."""

CHUNK = 1000
"""Steps per call of ``advance``: small beside a checkpoint's interval even with pictures."""


@dataclass(frozen=True)
class CommonSettings:
    """The settings that every experiment has; the audit says what the values mean."""

    neurons: int
    output: Literal["mean", "sum"]
    neuron_rate_of: Literal["mean_field", "parameter", "parameter_longer"]
    attention_rate: float
    neuron_rate: float
    bias: float
    bias_trained: bool
    key_width: int
    attention_scale: float
    neuron_scale: float
    training_samples: int
    labels: Labels
    attention: Literal["trained", "frozen"]
    attention_start: Literal["random", "constructed"]
    weights: Literal["trained", "constructed"]

    @property
    def output_scale(self) -> float:
        """The factor before the mean over a head's neurons."""
        return float(self.neurons) if self.output == "sum" else 1.0

    @property
    def rates(self) -> Rates:
        """Learning rates of simultaneous training, as the rows of `fast` see them."""
        neurons = self.neuron_rate
        if self.neuron_rate_of != "mean_field":
            neurons *= self.output_scale / self.neurons
        attention = 0.0 if self.attention == "frozen" else self.attention_rate
        return Rates(attention, neurons, neurons if self.bias_trained else 0.0)

    @property
    def stretch(self) -> int:
        """The factor by which every phase is longer, so that slower neurons come as far."""
        longer = self.neuron_rate_of == "parameter_longer" and self.output == "mean"
        return self.neurons if longer else 1


# --------------------------------------------------------------------------------------- the start


def initial_weights(
    settings: CommonSettings, seed: int, dimension: int
) -> tuple[
    Float[np.ndarray, "head width coordinate"],
    Float[np.ndarray, "head width coordinate"],
    Float[np.ndarray, "head neuron coordinate"],
]:
    """Returns W_K, W_Q and w at the start of a seed's training.

    W_K, W_Q ~ N(0, ω²/m) with m the width; w(0) = 0, or N(0, scale²) where a scale is set.
    """
    draw = generator(seed, "initial attention")
    shape = (2, settings.key_width, dimension)
    spread = settings.attention_scale / np.sqrt(settings.key_width)
    keys, queries = spread * draw.standard_normal(shape), spread * draw.standard_normal(shape)
    neurons = generator(seed, "initial neurons").standard_normal((2, settings.neurons, dimension))
    return keys, queries, settings.neuron_scale * neurons


def starting_weights(
    settings: CommonSettings, seed: int, population: Population
) -> tuple[
    Float[np.ndarray, "head width coordinate"],
    Float[np.ndarray, "head width coordinate"],
    Float[np.ndarray, "head neuron coordinate"],
]:
    """Returns W_K, W_Q and w at the start, with the built attention where a control asks for it."""
    keys, queries, neurons = initial_weights(settings, seed, population.vectors.shape[1])
    if settings.attention_start == "constructed":
        keys, queries, _ = constructed.with_attention(population.vectors)
    return keys, queries, neurons


def initial_model(settings: CommonSettings, seed: int, population: Population) -> InnerProducts:
    """Returns the start in inner products, with one row for neurons that stay identical."""
    keys, queries, neurons = starting_weights(settings, seed, population)
    rows = neurons if settings.neuron_scale > 0 else neurons[:, :1]
    return fast.from_weights(population, (keys, queries), rows, settings.bias)


def every_neuron(settings: CommonSettings, seed: int, population: Population) -> InnerProducts:
    """Returns the start in inner products, with a row for every neuron."""
    *attention, neurons = starting_weights(settings, seed, population)
    return fast.from_weights(population, (attention[0], attention[1]), neurons, settings.bias)


def initial_plain(settings: CommonSettings, seed: int, population: Population) -> Weights:
    """Returns the start in weights, every neuron of its own."""
    *attention, neurons = starting_weights(settings, seed, population)
    return plain.initial((attention[0], attention[1]), neurons, settings.bias)


# ---------------------------------------------------------------------------------------- movement


@dataclass(frozen=True)
class Moment:
    """A model as it is at one moment: what its movement is measured by."""

    parameters: tuple[Array, ...]
    training_loss: float

    @staticmethod
    def of(
        settings: CommonSettings, seed: int, population: Population, model: InnerProducts
    ) -> Moment:
        """All weights, biases where they are trained, and the training loss."""
        *attention, neurons = starting_weights(settings, seed, population)
        weights = fast.weights(model, population, (attention[0], attention[1]), neurons)
        biases = np.broadcast_to(model.biases, neurons.shape[:2]).copy()
        loss = fast.loss_in_training(model, population, settings.output_scale)
        return Moment((*weights, biases) if settings.bias_trained else weights, loss)

    @staticmethod
    def of_weights(settings: CommonSettings, weights: Weights, population: Population) -> Moment:
        """The same of a model in the plain form."""
        arrays = [one.detach().numpy().copy() for one in weights.all()]
        f = torch.from_numpy(plain_outputs(settings, weights, population))
        loss = plain.logistic_loss(
            f, torch.from_numpy(population.positive), torch.from_numpy(population.shares)
        )
        return Moment(tuple(arrays if settings.bias_trained else arrays[:3]), float(loss))

    def moved(self, since: Moment) -> dict[str, float]:
        """The movement in training since an earlier moment."""
        with one_thread():  # a norm's last bit depends on the number of threads
            return measure_movement(
                since.parameters, self.parameters, [since.training_loss], [self.training_loss]
            )


# ---------------------------------------------------------------------------------- the plain form


def plain_outputs(
    settings: CommonSettings, weights: Weights, population: Population, attends: bool = True
) -> Float[np.ndarray, " sample"]:
    """Returns f(X) of every sample, by `model`.

    Args:
        settings: of the experiment.
        weights: the model.
        population: the samples.
        attends: whether attention is the model's; else it is uniform.
    """
    keys = weights.keys if attends else torch.zeros_like(weights.keys)
    chosen = Weights(keys, weights.queries, weights.neurons, weights.biases)
    with torch.no_grad():
        scale = settings.output_scale / settings.neurons
        return plain.outputs(chosen, plain.samples(population), scale).numpy()


def descend_plain(
    settings: CommonSettings, weights: Weights, population: Population, steps: int, rates: Rates
) -> None:
    """Takes steps of gradient descent, in place; the rates are those of rows."""
    scale = settings.output_scale / settings.neurons
    each = rates.attention, rates.neurons / scale, rates.biases / scale
    plain.descend(weights, population, steps=steps, output_scale=scale, rates=each)


def follow(model: InnerProducts, weights: Weights, population: Population) -> None:
    """Makes the inner products those of the weights, in place."""
    keys, queries, neurons, biases = (one.detach().numpy() for one in weights.all())
    now = fast.from_weights(population, (keys, queries), neurons, 0.0)
    now.biases[...] = biases
    for name, array in now.state().items():
        getattr(model, name)[...] = array


# ------------------------------------------------------------------------------------------ phases


@dataclass
class TaskRuns:
    """Models in training, one for each seed of the session.

    Attributes:
        settings: of the experiment.
        session: of the run.
        populations: what each seed trains on.
        models: the models in inner products; in the plain form they follow the weights.
        weights: the models in the plain form; none in the fast one, or where nothing is trained.
    """

    settings: CommonSettings
    session: Session
    populations: Sequence[Population]
    models: Sequence[InnerProducts]
    weights: Sequence[Weights] = ()

    def phase(
        self,
        name: str,
        steps: int,
        rates: Rates,
        put: Callable[[int], None] | None = None,
    ) -> dict[int, dict[str, Series]]:
        """Trains, or puts constructed weights in place as it goes; returns series by seed."""
        series = train(
            self.session,
            name,
            steps=steps,
            state=self._state(),
            advance=lambda start, stop: put(stop) if put else self._descend(stop - start, rates),
            observe=lambda _step: self._observed(),
            observe_at=observation_steps(steps, even=OBSERVATIONS + 1, geometric=OBSERVATIONS),
            chunk=CHUNK,
            seed_axis=True,
        )
        return per_seed(series, self.session.seeds)

    def _descend(self, steps: int, rates: Rates) -> None:
        if self.weights:
            for i, (weights, population) in enumerate(self._plain()):
                descend_plain(self.settings, weights, population, steps, rates)
                follow(self.models[i], weights, population)
            return
        scale = self.settings.output_scale
        if self.session.device != "cpu":
            descend_together(
                self.models,
                self.populations,
                steps=steps,
                output_scale=scale,
                rates=rates,
                device=self.session.device,
            )
            return
        for model, population in zip(self.models, self.populations, strict=True):
            fast.descend(model, population, steps=steps, output_scale=scale, rates=rates)

    def observe(self) -> list[dict[str, float]]:
        """Observes every seed's model as it is now."""
        if self.weights:
            return [
                measures.observed(
                    self.models[i],
                    population,
                    plain_outputs(self.settings, weights, population),
                    plain_outputs(self.settings, weights, population, attends=False),
                )
                for i, (weights, population) in enumerate(self._plain())
            ]
        scale = self.settings.output_scale
        pairs = zip(self.models, self.populations, strict=True)
        return [measures.observe(model, population, scale) for model, population in pairs]

    def _observed(self) -> dict[str, Array]:
        of_seeds = self.observe()
        return {name: np.array([one[name] for one in of_seeds]) for name in of_seeds[0]}

    def _plain(self) -> list[tuple[Weights, Population]]:
        return list(zip(self.weights, self.populations, strict=True))

    def _state(self) -> dict[str, Stateful]:
        parts = zip(self.session.seeds, self.models, strict=True)
        state: dict[str, Stateful] = {
            f"{name} of seed {seed}": array
            for seed, model in parts
            for name, array in model.state().items()
        }
        for seed, weights in zip(self.session.seeds, self.weights, strict=False):
            state |= {f"{name} of seed {seed}": one for name, one in weights.state().items()}
        return state

    def moments(self) -> list[Moment]:
        """Every seed's model as it is now."""
        if self.weights:
            return [Moment.of_weights(self.settings, *one) for one in self._plain()]
        each = zip(self.session.seeds, self.populations, self.models, strict=True)
        return [Moment.of(self.settings, *one) for one in each]

    def put_staged(self, neurons_from: float, attention_from: float) -> Callable[[int], None]:
        """Returns a function that puts constructed neurons, and later attention, in place."""

        def put(step: int) -> None:
            for model, population in zip(self.models, self.populations, strict=True):
                if step >= neurons_from:
                    constructed.put_neurons(model, population, self.settings.output_scale)
                if step >= attention_from:
                    constructed.put_attention(model, population)

        return put
