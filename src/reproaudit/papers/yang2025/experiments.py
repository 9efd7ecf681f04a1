"""The experiments of the audit: simultaneous training, Algorithm 1, pictures, constructed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch

from reproaudit.lab import Experiment, Measurements, Session, generator, join_phases
from reproaudit.papers.yang2025 import constructed, images, measures
from reproaudit.papers.yang2025 import model as plain
from reproaudit.papers.yang2025.fast import InnerProducts, Rates
from reproaudit.papers.yang2025.settings import Constructed, Pictured, Simultaneous, Staged
from reproaudit.papers.yang2025.task import Population, image_mixture, mixture
from reproaudit.papers.yang2025.training import Training

# ------------------------------------------------------------------------------------ all at once


def measure_simultaneous(settings: Simultaneous, session: Session) -> Mapping[int, Measurements]:
    """Trains on K classes with orthonormal vectors, all weights at once."""
    return _measured(settings, session, mixture(len(settings.classes), settings.labels))


def measure_pictured(settings: Pictured, session: Session) -> Mapping[int, Measurements]:
    """Trains with pictures as signals, all weights at once."""
    (seed,) = session.seeds
    chosen = images.signals(
        images.pictures(settings.images, settings.split),
        settings.classes,
        settings.pictures,
        centred=settings.centred,
        scaling=settings.scaling,
        draw=generator(seed, "pictures"),
    )
    return _measured(settings, session, image_mixture(chosen, settings.labels))


def _measured(
    settings: Simultaneous, session: Session, task: Population
) -> Mapping[int, Measurements]:
    """Trains; constructed neurons come early in place of training, their attention at half time."""
    (seed,), run = session.seeds, Training.of(settings, session, task)
    begin, steps = run.moment(), settings.trained_steps
    put = run.construction(steps / 100, steps / 2)
    series = run.train("training", steps, settings.rates, put)
    # accuracy when easy samples first have a confidence of 3/4
    easy = np.flatnonzero(series["easy_confidence"].values >= 0.75)
    once_easy = float(series["accuracy"].values[easy[0]]) if easy.size else 0.0
    return {
        seed: Measurements(
            scalars={"accuracy_once_easy": once_easy, **run.moved(begin)},
            series=series,
            arrays={"scores": measures.class_scores(run.model, run.population)},
        )
    }


# ------------------------------------------------------------------------------------- Algorithm 1

STAGES = ("neurons", "attention", "neurons_again")
"""The stages of Algorithm 1."""


def measure_staged(settings: Staged, session: Session) -> Mapping[int, Measurements]:
    """Runs Algorithm 1, and beside it simultaneous training from the same start.

    A control's labels and frozen attention concern Algorithm 1 alone, so that what it is held
    against stays the paper's.
    """
    (seed,), classes = session.seeds, len(settings.classes)
    staged = Training.of(settings, session, mixture(classes, settings.labels))
    together = Training.of(settings, session, mixture(classes))
    start, begin, rates = staged.model.copy(), staged.moment(), settings.rates
    neurons, attention = rates._replace(attention=0.0), Rates(rates.attention, 0.0, 0.0)
    series, ends = [], []
    kinds = (neurons, attention, neurons)
    puts = ((0.5, np.inf), (np.inf, 0.5), (np.inf, np.inf))  # neurons, then attention, halfway
    for name, steps, kind, put in zip(STAGES, settings.trained_stages, kinds, puts, strict=True):
        built = staged.construction(put[0] * steps, put[1] * steps)
        series.append(staged.train(name, steps, kind, built))
        ends.append(staged.observe())
    everything = rates._replace(attention=settings.attention_rate)
    built = together.construction(1, 1)
    together.train("together", settings.trained_steps, everything, built)
    return {
        seed: Measurements(
            scalars={
                **_agreement(staged.population, start, staged.model, together.model),
                **staged.moved(begin),
            },
            series=join_phases(zip(settings.trained_stages, series, strict=True)),
            arrays={
                **{
                    f"{name}_after": np.array([end[name] for end in ends])
                    for name in ("hard_confidence", "easy_confidence", "loss")
                },
                "scores": measures.class_scores(staged.model, staged.population),
            },
        )
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


# ------------------------------------------------------------------------------------- constructed


def measure_constructed(settings: Constructed, session: Session) -> Mapping[int, Measurements]:
    """Puts both built transformers, as weight matrices, through the plain form on every sample.

    The vectors are a random orthonormal basis of each seed.
    """
    (seed,) = session.seeds
    counts = settings.class_counts
    built = np.array([_worst_margins(settings, seed, count) for count in counts]).T
    with_attention = [constructed.attention_margin(count) for count in counts]
    stated = np.array([with_attention, [constructed.MARGIN for _ in counts]])
    return {seed: Measurements(arrays={"worst_margin": built, "stated_margin": stated})}


def _worst_margins(settings: Constructed, seed: int, classes: int) -> list[float]:
    square = generator(seed, "basis", classes).standard_normal((2 * classes, 2 * classes))
    task = replace(mixture(classes, settings.labels), vectors=np.linalg.qr(square)[0])
    sharpness = 0.0 if settings.attention == "frozen" else constructed.SHARPNESS
    both = (
        constructed.with_attention(task, sharpness),
        constructed.without_attention(task, settings.bias, settings.gates == "present"),
    )
    margins = []
    for keys, queries, neurons in both:
        weights = plain.Weights.of(keys, queries, neurons, settings.bias)
        with torch.no_grad():
            f = plain.outputs(weights, plain.samples(task), 1.0).numpy()
        margins.append(float((task.labels * f).min()))
    return margins


# ------------------------------------------------------------------------------------ what is there


def _staged_phases(settings: Staged) -> Mapping[str, int]:
    stages = dict(zip(STAGES, settings.trained_stages, strict=True))
    return {**stages, "together": settings.trained_steps}


_SIMULTANEOUS = Experiment(
    Simultaneous,
    measure_simultaneous,
    phases=lambda s: {"training": s.trained_steps},
    has_plain_form=True,
)

EXPERIMENTS: Mapping[str, Experiment] = {
    "simultaneous": _SIMULTANEOUS,
    "three_classes": _SIMULTANEOUS,
    "three_stages": Experiment(Staged, measure_staged, phases=_staged_phases, has_plain_form=True),
    "pictures": Experiment(
        Pictured,
        measure_pictured,
        phases=lambda s: {"training": s.trained_steps},
        data=lambda s: images.checksums(s.images, s.split),
        proxy=lambda s: images.pictures(s.images, s.split).proxy,
        has_plain_form=True,
    ),
    "construction": Experiment(Constructed, measure_constructed, has_plain_form=True),
}
"""By the names of the audit."""
