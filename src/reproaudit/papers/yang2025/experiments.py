"""The experiments of the audit: simultaneous training, Algorithm 1, pictures, constructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from reproaudit.lab.experiment import Experiment, Session
from reproaudit.lab.seeds import generator
from reproaudit.lab.training import train
from reproaudit.papers.yang2025 import constructions, dynamics, images, measures, plain
from reproaudit.papers.yang2025.dynamics import Model, Rates
from reproaudit.papers.yang2025.task import Array, Population, image_mixture, mixture
from reproaudit.records import Measurements, Series

OBSERVATIONS = 60
"""How many steps each half of the observations has: even on a logarithmic and a linear axis."""

CHUNK = 1000
"""Steps per call of ``advance``: small beside a checkpoint's interval even with pictures."""


@dataclass(frozen=True)
class Shared:
    """What every experiment is told; the audit says what the values mean."""

    neurons: int
    output: str
    neuron_rate_of: str
    attention_rate: float
    neuron_rate: float
    bias: float
    bias_trained: bool
    key_width: int
    attention_scale: float
    neuron_scale: float
    training_samples: int
    labels: str
    attention: str
    attention_start: str
    head_start: int
    weights: str

    @property
    def output_scale(self) -> float:
        """What multiplies the mean over a head's neurons."""
        return float(self.neurons) if self.output == "sum" else 1.0

    @property
    def rates(self) -> Rates:
        """Learning rates of simultaneous training, as rows of `dynamics` see them."""
        as_parameter = self.output_scale / self.neurons
        neurons = self.neuron_rate * (as_parameter if self.neuron_rate_of == "parameter" else 1.0)
        attention = 0.0 if self.attention == "frozen" else self.attention_rate
        return Rates(attention, neurons, neurons if self.bias_trained else 0.0)


@dataclass(frozen=True)
class Simultaneous(Shared):
    """All weights at once; `classes` names the K classes."""

    classes: tuple[int, ...]
    steps: int


@dataclass(frozen=True)
class Staged(Simultaneous):
    """Algorithm 1, beside simultaneous training of the same seed over `steps`."""

    stage_steps: tuple[int, ...]


@dataclass(frozen=True)
class Pictured(Simultaneous):
    """Simultaneous training with pictures of the digits `classes` as signals."""

    images: str
    pictures: int
    centred: bool
    scaling: str


@dataclass(frozen=True)
class Constructed(Shared):
    """Built transformers for each number of classes."""

    class_counts: tuple[int, ...]
    gates: str


# --------------------------------------------------------------------------------------- the start


def initial_weights(settings: Shared, seed: int, dimension: int) -> tuple[Array, Array, Array]:
    """W_K and W_Q (head, width, coordinate) and w (head, neuron, coordinate) of a seed.

    W_K, W_Q ~ N(0, ω²/m) with m the width; w(0) = 0, or N(0, scale²) where a scale is set.
    """
    draw = generator(seed, "initial attention")
    shape = (2, settings.key_width, dimension)
    spread = settings.attention_scale / np.sqrt(settings.key_width)
    keys, queries = spread * draw.standard_normal(shape), spread * draw.standard_normal(shape)
    neurons = generator(seed, "initial neurons").standard_normal((2, settings.neurons, dimension))
    return keys, queries, settings.neuron_scale * neurons


def initial_model(settings: Shared, seed: int, population: Population) -> Model:
    """The start in inner products, with one row for neurons that stay identical."""
    keys, queries, neurons = initial_weights(settings, seed, population.vectors.shape[1])
    if settings.attention_start == "constructed":
        keys, queries, _ = constructions.with_attention(population.vectors)
    rows = neurons if settings.neuron_scale > 0 else neurons[:, :1]
    return dynamics.from_weights(population, (keys, queries), rows, settings.bias)


def observation_steps(steps: int) -> list[int]:
    """From 0 to ``steps``: dense near the start, and evenly to the end."""
    early = np.geomspace(1, max(steps, 1), OBSERVATIONS)
    even = np.linspace(0, steps, OBSERVATIONS + 1)
    every = np.rint(np.concatenate([early, even])).astype(int)
    return sorted({int(step) for step in every if step <= steps})


# ------------------------------------------------------------------------------------------ phases


@dataclass
class _Run:
    """A model in training."""

    settings: Shared
    session: Session
    population: Population
    model: Model

    def phase(
        self,
        name: str,
        steps: int,
        rates: Rates,
        put: Callable[[int], None] | None = None,
    ) -> dict[str, Series]:
        """Trains, or at each step puts constructed weights in place, and observes."""

        def advance(start: int, stop: int) -> None:
            if put is not None:
                put(stop)
                return
            dynamics.descend(
                self.model,
                self.population,
                steps=stop - start,
                output_scale=self.settings.output_scale,
                rates=rates,
            )

        return train(
            self.session,
            name,
            steps=steps,
            state=self.model.state(),
            advance=advance,
            observe=lambda _step: measures.observe(
                self.model, self.population, self.settings.output_scale
            ),
            observe_at=observation_steps(steps),
            chunk=CHUNK,
        )

    def put_staged(self, neurons_from: float, attention_from: float) -> Callable[[int], None]:
        """Puts the constructed neurons in place from one step on, attention from another."""

        def put(step: int) -> None:
            if step >= neurons_from:
                scale = self.settings.output_scale
                constructions.put_neurons(self.model, self.population, scale)
            if step >= attention_from:
                constructions.put_attention(self.model, self.population)

        return put


def _neurons_only(rates: Rates) -> Rates:
    return Rates(0.0, rates.neurons, rates.biases)


def _attention_only(rates: Rates) -> Rates:
    return Rates(rates.attention, 0.0, 0.0)


def _all_at_once(run: _Run, name: str, steps: int) -> dict[str, Series]:
    """Simultaneous training; the constructed neurons come early, their attention at half time."""
    put = run.put_staged(steps / 100, steps / 2) if run.settings.weights == "constructed" else None
    return run.phase(name, steps, run.settings.rates, put)


def _with_head_start(run: _Run) -> None:
    if run.settings.head_start > 0:
        run.phase("neurons beforehand", run.settings.head_start, _neurons_only(run.settings.rates))


# ------------------------------------------------------------------------------------- experiments


def measure_simultaneous(settings: Simultaneous, session: Session) -> Mapping[int, Measurements]:
    """K classes with orthonormal vectors, all weights at once."""
    return _measured(settings, session, mixture(len(settings.classes), settings.labels))


def measure_pictured(settings: Pictured, session: Session) -> Mapping[int, Measurements]:
    """Pictures as signals, all weights at once."""
    (seed,) = session.seeds
    chosen = images.signals(
        images.pictures(settings.images),
        settings.classes,
        settings.pictures,
        centred=settings.centred,
        scaling=settings.scaling,
        draw=generator(seed, "pictures"),
    )
    return _measured(settings, session, image_mixture(chosen, settings.labels))


def _measured(
    settings: Simultaneous, session: Session, population: Population
) -> Mapping[int, Measurements]:
    (seed,) = session.seeds
    population = _training_set(settings, seed, population)
    run = _Run(settings, session, population, initial_model(settings, seed, population))
    _with_head_start(run)
    series = _all_at_once(run, "training", settings.steps)
    scores = measures.class_scores(run.model, population)
    return {
        seed: Measurements(
            scalars={"accuracy_once_easy": _accuracy_once_easy(series)},
            series=series,
            arrays={"scores": scores},
        )
    }


def _training_set(settings: Shared, seed: int, population: Population) -> Population:
    """The exact population, or as many draws from it as the settings say."""
    if settings.training_samples == 0:
        return population
    return population.sampled(settings.training_samples, generator(seed, "training set"))


def _accuracy_once_easy(series: Mapping[str, Series]) -> float:
    """The share of samples that are right when easy ones first have a confidence of 3/4."""
    easy = np.flatnonzero(series["easy_confidence"].values >= 0.75)
    return float(series["accuracy"].values[easy[0]]) if easy.size else 0.0


STAGES = ("neurons", "attention", "neurons_again")
"""The stages of Algorithm 1."""


def measure_staged(settings: Staged, session: Session) -> Mapping[int, Measurements]:
    """Algorithm 1, held against simultaneous training from the same start.

    A control's labels and frozen attention concern Algorithm 1 alone, so that what it is held
    against stays the paper's.
    """
    (seed,) = session.seeds
    classes = len(settings.classes)
    population = _training_set(settings, seed, mixture(classes, settings.labels))
    start = initial_model(settings, seed, population)
    staged = _Run(settings, session, population, start.copy())
    rates = settings.rates
    ends, series = [], []
    kinds = (_neurons_only(rates), _attention_only(rates), _neurons_only(rates))
    for index, (name, steps, kind) in enumerate(
        zip(STAGES, settings.stage_steps, kinds, strict=True)
    ):
        put = _staged_construction(staged, index, steps)
        series.append(staged.phase(name, steps, kind, put))
        ends.append(measures.observe(staged.model, population, settings.output_scale))
    reference = _training_set(settings, seed, mixture(classes))
    together = _Run(settings, session, reference, start.copy())
    rates = Rates(settings.attention_rate, rates.neurons, rates.biases)
    put = together.put_staged(1, 1) if settings.weights == "constructed" else None
    together.phase("together", settings.steps, rates, put)
    before = measures.class_scores(start, population)
    return {
        seed: Measurements(
            scalars={
                "attention_agreement": measures.cosine(
                    measures.class_scores(staged.model, population) - before,
                    measures.class_scores(together.model, population) - before,
                ),
                "all_scores_agreement": measures.cosine(
                    staged.model.scores - start.scores, together.model.scores - start.scores
                ),
                "neuron_agreement": measures.cosine(
                    (staged.model.responses - start.responses).mean(axis=1),
                    (together.model.responses - start.responses).mean(axis=1),
                ),
            },
            series=_joined(series),
            arrays={
                "hard_confidence_after": np.array([end["hard_confidence"] for end in ends]),
                "easy_confidence_after": np.array([end["easy_confidence"] for end in ends]),
                "loss_after": np.array([end["loss"] for end in ends]),
                "scores": measures.class_scores(staged.model, population),
            },
        )
    }


def _staged_construction(run: _Run, stage: int, steps: int) -> Callable[[int], None] | None:
    """Of a positive control: neurons halfway through the first stage, attention the second."""
    if run.settings.weights != "constructed":
        return None
    never = float("inf")
    return run.put_staged(steps / 2 if stage == 0 else never, steps / 2 if stage == 1 else never)


def _joined(parts: list[dict[str, Series]]) -> dict[str, Series]:
    """The series of consecutive phases as one; where they meet, the earlier one's last value."""
    joined = parts[0]
    for part in parts[1:]:
        joined = {name: _appended(joined[name], part[name]) for name in joined}
    return joined


def _appended(first: Series, second: Series) -> Series:
    offset = first.steps[-1]
    return Series(
        steps=(*first.steps, *(offset + step for step in second.steps[1:])),
        values=np.concatenate([first.values, second.values[1:]]),
    )


def measure_constructed(settings: Constructed, session: Session) -> Mapping[int, Measurements]:
    """Both built transformers as weight matrices, through the plain form, on every sample.

    The vectors are a random orthonormal basis of each seed.
    """
    (seed,) = session.seeds
    counts = settings.class_counts
    built = np.array([_worst_margins(settings, seed, count) for count in counts]).T
    stated = np.array(
        [
            [constructions.attention_margin(count) for count in counts],
            [constructions.neurons_margin() for _ in counts],
        ]
    )
    return {seed: Measurements(arrays={"worst_margin": built, "stated_margin": stated})}


def _worst_margins(settings: Constructed, seed: int, classes: int) -> list[float]:
    population = mixture(classes, settings.labels)
    square = generator(seed, "basis", classes).standard_normal((2 * classes, 2 * classes))
    vectors = np.linalg.qr(square)[0]
    sharpness = 0.0 if settings.attention == "frozen" else constructions.SHARPNESS
    both = (
        constructions.with_attention(vectors, sharpness),
        constructions.without_attention(vectors, settings.bias, settings.gates == "present"),
    )
    rotated = torch.from_numpy(vectors).T @ plain.samples(population)
    margins = []
    for keys, queries, neurons in both:
        weights = plain.initial((keys, queries), neurons, settings.bias)
        with torch.no_grad():
            f = plain.outputs(weights, rotated, 1.0).numpy()
        margins.append(float((population.labels * f).min()))
    return margins


# ------------------------------------------------------------------------------------ what is there


def _phases(settings: Simultaneous) -> Mapping[str, int]:
    before = {"neurons beforehand": settings.head_start} if settings.head_start > 0 else {}
    return {**before, "training": settings.steps}


def _staged_phases(settings: Staged) -> Mapping[str, int]:
    return {**dict(zip(STAGES, settings.stage_steps, strict=True)), "together": settings.steps}


def _checksums(settings: Pictured) -> Mapping[str, str]:
    return images.checksums(settings.images)


def _stand_in(settings: Pictured) -> str | None:
    return images.pictures(settings.images).proxy


EXPERIMENTS: Mapping[str, Experiment] = {
    "simultaneous": Experiment(Simultaneous, measure_simultaneous, phases=_phases),
    "three_classes": Experiment(Simultaneous, measure_simultaneous, phases=_phases),
    "three_stages": Experiment(Staged, measure_staged, phases=_staged_phases),
    "pictures": Experiment(
        Pictured, measure_pictured, phases=_phases, data=_checksums, proxy=_stand_in
    ),
    "construction": Experiment(Constructed, measure_constructed),
}
"""By the names of the audit."""
