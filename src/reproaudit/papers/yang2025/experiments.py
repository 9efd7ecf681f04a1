"""The experiments of the audit: simultaneous training, Algorithm 1, pictures, constructed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
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
    per_seed,
    train,
)
from reproaudit.papers.yang2025 import constructed, fast, images, measures
from reproaudit.papers.yang2025 import model as plain
from reproaudit.papers.yang2025.batched import descend_together
from reproaudit.papers.yang2025.fast import InnerProducts, Rates
from reproaudit.papers.yang2025.images import Collection, Scaling
from reproaudit.papers.yang2025.task import Labels, Population, image_mixture, mixture

OBSERVATIONS = 60
"""How many observations are even on a logarithmic axis, and how many more on a linear one."""

CHUNK = 1000
"""Steps per call of ``advance``: small beside a checkpoint's interval even with pictures."""


@dataclass(frozen=True)
class Shared:
    """What every experiment is told; the audit says what the values mean."""

    neurons: int
    output: Literal["mean", "sum"]
    neuron_rate_of: Literal["mean_field", "parameter"]
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
    head_start: int
    weights: Literal["trained", "constructed"]

    @property
    def output_scale(self) -> float:
        """What multiplies the mean over a head's neurons."""
        return float(self.neurons) if self.output == "sum" else 1.0

    @property
    def rates(self) -> Rates:
        """Learning rates of simultaneous training, as the rows of `fast` see them."""
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

    images: Collection
    pictures: int
    centred: bool
    scaling: Scaling


@dataclass(frozen=True)
class Constructed(Shared):
    """Built transformers for each number of classes."""

    class_counts: tuple[int, ...]
    gates: Literal["present", "absent"]


# --------------------------------------------------------------------------------------- the start


def initial_weights(
    settings: Shared, seed: int, dimension: int
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


def initial_model(settings: Shared, seed: int, population: Population) -> InnerProducts:
    """Returns the start in inner products, with one row for neurons that stay identical."""
    keys, queries, neurons = initial_weights(settings, seed, population.vectors.shape[1])
    if settings.attention_start == "constructed":
        keys, queries, _ = constructed.with_attention(population.vectors)
    rows = neurons if settings.neuron_scale > 0 else neurons[:, :1]
    return fast.from_weights(population, (keys, queries), rows, settings.bias)


# ------------------------------------------------------------------------------------------ phases


@dataclass
class _Run:
    """Models in training, one for each seed of the session."""

    settings: Shared
    session: Session
    populations: Sequence[Population]
    models: Sequence[InnerProducts]

    def phase(
        self,
        name: str,
        steps: int,
        rates: Rates,
        put: Callable[[int], None] | None = None,
    ) -> dict[int, dict[str, Series]]:
        """Trains, or at each step puts constructed weights in place; returns series by seed."""
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
        scale = self.settings.output_scale
        pairs = zip(self.models, self.populations, strict=True)
        return [measures.observe(model, population, scale) for model, population in pairs]

    def _observed(self) -> dict[str, Array]:
        of_seeds = self.observe()
        return {name: np.array([one[name] for one in of_seeds]) for name in of_seeds[0]}

    def _state(self) -> dict[str, Array]:
        return {
            f"{name} of seed {seed}": array
            for seed, model in zip(self.session.seeds, self.models, strict=True)
            for name, array in model.state().items()
        }

    def put_staged(self, neurons_from: float, attention_from: float) -> Callable[[int], None]:
        """Returns a function that puts constructed neurons, and later attention, in place."""

        def put(step: int) -> None:
            for model, population in zip(self.models, self.populations, strict=True):
                if step >= neurons_from:
                    constructed.put_neurons(model, population, self.settings.output_scale)
                if step >= attention_from:
                    constructed.put_attention(model, population)

        return put


def _neurons_only(rates: Rates) -> Rates:
    return Rates(0.0, rates.neurons, rates.biases)


def _attention_only(rates: Rates) -> Rates:
    return Rates(rates.attention, 0.0, 0.0)


def _all_at_once(run: _Run, name: str, steps: int) -> dict[int, dict[str, Series]]:
    """Simultaneous training; the constructed neurons come early, their attention at half time."""
    put = run.put_staged(steps / 100, steps / 2) if run.settings.weights == "constructed" else None
    return run.phase(name, steps, run.settings.rates, put)


def _with_head_start(run: _Run) -> None:
    if run.settings.head_start > 0:
        run.phase("neurons beforehand", run.settings.head_start, _neurons_only(run.settings.rates))


# ------------------------------------------------------------------------------------- experiments


def measure_simultaneous(settings: Simultaneous, session: Session) -> Mapping[int, Measurements]:
    """Trains on K classes with orthonormal vectors, all weights at once."""
    task = mixture(len(settings.classes), settings.labels)
    return _measured(settings, session, [task] * len(session.seeds))


def measure_pictured(settings: Pictured, session: Session) -> Mapping[int, Measurements]:
    """Trains with pictures as signals, all weights at once."""
    pictures = images.pictures(settings.images)
    chosen = [
        images.signals(
            pictures,
            settings.classes,
            settings.pictures,
            centred=settings.centred,
            scaling=settings.scaling,
            draw=generator(seed, "pictures"),
        )
        for seed in session.seeds
    ]
    return _measured(settings, session, [image_mixture(one, settings.labels) for one in chosen])


def _measured(
    settings: Simultaneous, session: Session, tasks: Sequence[Population]
) -> Mapping[int, Measurements]:
    run = _start(settings, session, tasks)
    _with_head_start(run)
    series = _all_at_once(run, "training", settings.steps)
    return {
        seed: Measurements(
            scalars={"accuracy_once_easy": _accuracy_once_easy(series[seed])},
            series=series[seed],
            arrays={"scores": measures.class_scores(model, population)},
        )
        for seed, model, population in zip(session.seeds, run.models, run.populations, strict=True)
    }


def _start(settings: Shared, session: Session, tasks: Sequence[Population]) -> _Run:
    """The models before training, each on its seed's training set."""
    populations = _training_sets(settings, session, tasks)
    models = [
        initial_model(settings, seed, population)
        for seed, population in zip(session.seeds, populations, strict=True)
    ]
    return _Run(settings, session, populations, models)


def _training_sets(
    settings: Shared, session: Session, tasks: Sequence[Population]
) -> Sequence[Population]:
    """The exact populations, or as many draws from each as the settings say."""
    if settings.training_samples == 0:
        return tasks
    return [
        task.sampled(settings.training_samples, generator(seed, "training set"))
        for seed, task in zip(session.seeds, tasks, strict=True)
    ]


def _accuracy_once_easy(series: Mapping[str, Series]) -> float:
    """The share of samples that are right when easy ones first have a confidence of 3/4."""
    easy = np.flatnonzero(series["easy_confidence"].values >= 0.75)
    return float(series["accuracy"].values[easy[0]]) if easy.size else 0.0


STAGES = ("neurons", "attention", "neurons_again")
"""The stages of Algorithm 1."""


def measure_staged(settings: Staged, session: Session) -> Mapping[int, Measurements]:
    """Runs Algorithm 1, and beside it simultaneous training from the same start.

    A control's labels and frozen attention concern Algorithm 1 alone, so that what it is held
    against stays the paper's.
    """
    classes, count = len(settings.classes), len(session.seeds)
    staged = _start(settings, session, [mixture(classes, settings.labels)] * count)
    start = [model.copy() for model in staged.models]
    reference = _training_sets(settings, session, [mixture(classes)] * count)
    together = _Run(settings, session, reference, [model.copy() for model in start])
    rates = settings.rates
    kinds = (_neurons_only(rates), _attention_only(rates), _neurons_only(rates))
    series, ends = [], []
    for index, (name, steps, kind) in enumerate(
        zip(STAGES, settings.stage_steps, kinds, strict=True)
    ):
        series.append(staged.phase(name, steps, kind, _staged_construction(staged, index, steps)))
        ends.append(staged.observe())
    rates = Rates(settings.attention_rate, rates.neurons, rates.biases)
    put = together.put_staged(1, 1) if settings.weights == "constructed" else None
    together.phase("together", settings.steps, rates, put)
    return {
        seed: Measurements(
            scalars=_agreement(
                staged.populations[i], start[i], staged.models[i], together.models[i]
            ),
            series=join_phases(
                zip(settings.stage_steps, (one[seed] for one in series), strict=True)
            ),
            arrays={
                "hard_confidence_after": np.array([end[i]["hard_confidence"] for end in ends]),
                "easy_confidence_after": np.array([end[i]["easy_confidence"] for end in ends]),
                "loss_after": np.array([end[i]["loss"] for end in ends]),
                "scores": measures.class_scores(staged.models[i], staged.populations[i]),
            },
        )
        for i, seed in enumerate(session.seeds)
    }


def _agreement(
    population: Population, start: InnerProducts, staged: InnerProducts, together: InnerProducts
) -> dict[str, float]:
    """How alike Algorithm 1 and simultaneous training have moved from their common start."""
    before = measures.class_scores(start, population)
    return {
        "attention_agreement": measures.cosine(
            measures.class_scores(staged, population) - before,
            measures.class_scores(together, population) - before,
        ),
        "all_scores_agreement": measures.cosine(
            staged.scores - start.scores, together.scores - start.scores
        ),
        "neuron_agreement": measures.cosine(
            (staged.responses - start.responses).mean(axis=1),
            (together.responses - start.responses).mean(axis=1),
        ),
    }


def _staged_construction(run: _Run, stage: int, steps: int) -> Callable[[int], None] | None:
    """Of a positive control: neurons halfway through the first stage, attention the second."""
    if run.settings.weights != "constructed":
        return None
    never = float("inf")
    return run.put_staged(steps / 2 if stage == 0 else never, steps / 2 if stage == 1 else never)


def measure_constructed(settings: Constructed, session: Session) -> Mapping[int, Measurements]:
    """Puts both built transformers, as weight matrices, through the plain form on every sample.

    The vectors are a random orthonormal basis of each seed.
    """
    (seed,) = session.seeds
    counts = settings.class_counts
    built = np.array([_worst_margins(settings, seed, count) for count in counts]).T
    stated = np.array(
        [
            [constructed.attention_margin(count) for count in counts],
            [constructed.neurons_margin() for _ in counts],
        ]
    )
    return {seed: Measurements(arrays={"worst_margin": built, "stated_margin": stated})}


def _worst_margins(settings: Constructed, seed: int, classes: int) -> list[float]:
    population = mixture(classes, settings.labels)
    square = generator(seed, "basis", classes).standard_normal((2 * classes, 2 * classes))
    vectors = np.linalg.qr(square)[0]
    sharpness = 0.0 if settings.attention == "frozen" else constructed.SHARPNESS
    both = (
        constructed.with_attention(vectors, sharpness),
        constructed.without_attention(vectors, settings.bias, settings.gates == "present"),
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


_CARD = frozenset({"cuda"})
"""Where all seeds of a cell are trained at once."""

EXPERIMENTS: Mapping[str, Experiment] = {
    "simultaneous": Experiment(Simultaneous, measure_simultaneous, _CARD, _phases),
    "three_classes": Experiment(Simultaneous, measure_simultaneous, _CARD, _phases),
    "three_stages": Experiment(Staged, measure_staged, _CARD, _staged_phases),
    "pictures": Experiment(
        Pictured, measure_pictured, _CARD, _phases, data=_checksums, proxy=_stand_in
    ),
    "construction": Experiment(Constructed, measure_constructed),
}
"""By the names of the audit."""
