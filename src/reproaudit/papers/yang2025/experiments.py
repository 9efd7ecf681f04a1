"""The experiments of the audit: simultaneous training, Algorithm 1, pictures, constructed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from reproaudit.lab import (
    Experiment,
    Measurements,
    Series,
    Session,
    generator,
    join_phases,
)
from reproaudit.papers.yang2025 import constructed, images, measures
from reproaudit.papers.yang2025 import model as plain
from reproaudit.papers.yang2025.fast import InnerProducts, Rates
from reproaudit.papers.yang2025.images import Collection, Scaling, Split
from reproaudit.papers.yang2025.runs import (
    CommonSettings,
    TaskRuns,
    every_neuron,
    initial_model,
    initial_plain,
)
from reproaudit.papers.yang2025.task import Population, image_mixture, mixture


@dataclass(frozen=True)
class Simultaneous(CommonSettings):
    """All weights at once; `classes` names the K classes."""

    classes: tuple[int, ...]
    steps: int

    @property
    def trained_steps(self) -> int:
        """The steps of simultaneous training."""
        return self.steps * self.stretch


@dataclass(frozen=True)
class Staged(Simultaneous):
    """Algorithm 1, beside simultaneous training of the same seed over `steps`."""

    stage_steps: tuple[int, ...]

    @property
    def trained_stages(self) -> tuple[int, ...]:
        """The steps of each stage."""
        return tuple(steps * self.stretch for steps in self.stage_steps)


@dataclass(frozen=True)
class Pictured(Simultaneous):
    """Simultaneous training with pictures of the digits `classes` as signals."""

    images: Collection
    pictures: int
    split: Split
    centred: bool
    scaling: Scaling


@dataclass(frozen=True)
class Constructed(CommonSettings):
    """Built transformers for each number of classes."""

    class_counts: tuple[int, ...]
    gates: Literal["present", "absent"]


# ------------------------------------------------------------------------------------------ phases


def _neurons_only(rates: Rates) -> Rates:
    return Rates(0.0, rates.neurons, rates.biases)


def _attention_only(rates: Rates) -> Rates:
    return Rates(rates.attention, 0.0, 0.0)


def _all_at_once(run: TaskRuns, name: str, steps: int) -> dict[int, dict[str, Series]]:
    """Simultaneous training; the constructed neurons come early, their attention at half time."""
    put = run.put_staged(steps / 100, steps / 2) if run.settings.weights == "constructed" else None
    return run.phase(name, steps, run.settings.rates, put)


# ------------------------------------------------------------------------------------- experiments


def measure_simultaneous(settings: Simultaneous, session: Session) -> Mapping[int, Measurements]:
    """Trains on K classes with orthonormal vectors, all weights at once."""
    task = mixture(len(settings.classes), settings.labels)
    return _measured(settings, session, [task] * len(session.seeds))


def measure_pictured(settings: Pictured, session: Session) -> Mapping[int, Measurements]:
    """Trains with pictures as signals, all weights at once."""
    pictures = images.pictures(settings.images, settings.split)
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
    begin = run.moments()
    series = _all_at_once(run, "training", settings.trained_steps)
    end = run.moments()
    return {
        seed: Measurements(
            scalars={
                "accuracy_once_easy": _accuracy_once_easy(series[seed]),
                **end[i].moved(begin[i]),
            },
            series=series[seed],
            arrays={"scores": measures.class_scores(run.models[i], run.populations[i])},
        )
        for i, seed in enumerate(session.seeds)
    }


def _start(settings: CommonSettings, session: Session, tasks: Sequence[Population]) -> TaskRuns:
    """The models before training, each on its seed's training set."""
    populations = _training_sets(settings, session, tasks)
    each = list(zip(session.seeds, populations, strict=True))
    if session.form == "fast" or settings.weights == "constructed":
        return TaskRuns(
            settings, session, populations, [initial_model(settings, *one) for one in each]
        )
    weights = [initial_plain(settings, *one) for one in each]
    return TaskRuns(
        settings, session, populations, [every_neuron(settings, *one) for one in each], weights
    )


def _training_sets(
    settings: CommonSettings, session: Session, tasks: Sequence[Population]
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
    weights = [one.copy() for one in staged.weights]
    together = TaskRuns(settings, session, reference, [one.copy() for one in start], weights)
    rates, begin = settings.rates, staged.moments()
    kinds = (_neurons_only(rates), _attention_only(rates), _neurons_only(rates))
    series, ends = [], []
    for index, (name, steps, kind) in enumerate(
        zip(STAGES, settings.trained_stages, kinds, strict=True)
    ):
        series.append(staged.phase(name, steps, kind, _staged_construction(staged, index, steps)))
        ends.append(staged.observe())
    rates = Rates(settings.attention_rate, rates.neurons, rates.biases)
    put = together.put_staged(1, 1) if settings.weights == "constructed" else None
    together.phase("together", settings.trained_steps, rates, put)
    end = staged.moments()
    return {
        seed: Measurements(
            scalars={
                **_agreement(staged.populations[i], start[i], staged.models[i], together.models[i]),
                **end[i].moved(begin[i]),
            },
            series=join_phases(
                zip(settings.trained_stages, (one[seed] for one in series), strict=True)
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
    """The agreement of Algorithm 1 and simultaneous training, as moved from their common start."""
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


def _staged_construction(run: TaskRuns, stage: int, steps: int) -> Callable[[int], None] | None:
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
    return {"training": settings.trained_steps}


def _staged_phases(settings: Staged) -> Mapping[str, int]:
    stages = dict(zip(STAGES, settings.trained_stages, strict=True))
    return {**stages, "together": settings.trained_steps}


def _checksums(settings: Pictured) -> Mapping[str, str]:
    return images.checksums(settings.images, settings.split)


def _stand_in(settings: Pictured) -> str | None:
    return images.pictures(settings.images, settings.split).proxy


_CARD = frozenset({"cuda"})
"""The devices on which all seeds of a cell are trained at once."""

_SIMULTANEOUS = Experiment(Simultaneous, measure_simultaneous, _CARD, _phases, has_plain_form=True)

EXPERIMENTS: Mapping[str, Experiment] = {
    "simultaneous": _SIMULTANEOUS,
    "three_classes": _SIMULTANEOUS,
    "three_stages": Experiment(Staged, measure_staged, _CARD, _staged_phases, has_plain_form=True),
    "pictures": Experiment(
        Pictured,
        measure_pictured,
        _CARD,
        _phases,
        data=_checksums,
        proxy=_stand_in,
        has_plain_form=True,
    ),
    "construction": Experiment(Constructed, measure_constructed, has_plain_form=True),
}
"""By the names of the audit."""
