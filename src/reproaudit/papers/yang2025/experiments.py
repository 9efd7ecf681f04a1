"""The experiments of the audit: simultaneous training, Algorithm 1, pictures, constructed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch

from reproaudit.lab import (
    Array,
    Experiment,
    Measurements,
    Session,
    another_seed,
    checksums,
    generator,
    join_phases,
    pictures,
)
from reproaudit.papers.yang2025 import constructed, measures
from reproaudit.papers.yang2025 import model as plain
from reproaudit.papers.yang2025.products import InnerProducts, Rates
from reproaudit.papers.yang2025.settings import Constructed, Pictured, Simultaneous, Staged
from reproaudit.papers.yang2025.task import Population, image_mixture, mixture, signals
from reproaudit.papers.yang2025.training import Training

# ------------------------------------------------------------------------------------ all at once


def measure_simultaneous(settings: Simultaneous, session: Session) -> Measurements:
    """Trains on K classes with orthonormal vectors, all weights at once."""
    return _measured(settings, session, mixture(len(settings.classes), settings.labels))


def measure_pictured(settings: Pictured, session: Session) -> Measurements:
    """Trains with pictures as signals, all weights at once."""
    chosen = signals(
        pictures(settings.images, settings.split),
        settings.classes,
        settings.pictures,
        centred=settings.centred,
        scaling=settings.scaling,
        draw=generator(session.seed, "pictures"),
    )
    return _measured(settings, session, image_mixture(chosen, settings.labels))


def _measured(settings: Simultaneous, session: Session, task: Population) -> Measurements:
    """Trains; constructed neurons come early in place of training, their attention at half time."""
    run = Training.of(settings, session, task)
    begin = run.moment()
    steps = settings.trained_steps
    put = run.construction(steps / 100, steps / 2)
    series = run.train("training", steps, settings.rates, put)
    return Measurements(
        scalars=run.moved(begin),
        series=series,
        arrays={"scores": measures.class_scores(run.model, run.population)},
    )


# ------------------------------------------------------------------------------------- Algorithm 1

STAGES = ("neurons", "attention", "neurons_again")
"""The stages of Algorithm 1."""


def measure_staged(settings: Staged, session: Session) -> Measurements:
    """Runs Algorithm 1, and simultaneous training from the same start and from another seed's.

    A control's labels and frozen attention concern Algorithm 1 alone, so that what it is held
    against stays the paper's.
    """
    classes = len(settings.classes)
    staged = Training.of(settings, session, mixture(classes, settings.labels))
    together = Training.of(settings, session, mixture(classes))
    another = Training.of(settings, session, mixture(classes), another_seed(session.seed))
    other_start = another.model.copy()
    start = staged.model.copy()
    begin = staged.moment()
    rates = settings.rates
    series = []
    ends = []
    neurons = rates._replace(attention=0.0)
    kinds = (neurons, Rates(rates.attention, 0.0, 0.0), neurons)
    puts = ((0.5, np.inf), (np.inf, 0.5), (np.inf, np.inf))  # neurons, then attention, halfway
    for name, steps, kind, put in zip(STAGES, settings.trained_stages, kinds, puts, strict=True):
        built = staged.construction(put[0] * steps, put[1] * steps)
        series.append(staged.train(name, steps, kind, built))
        ends.append(staged.observe()["hard_confidence"])
    everything = rates._replace(attention=settings.attention_rate)
    for name, one in (("together", together), ("another_seed", another)):
        one.train(name, settings.trained_steps, everything, one.construction(1, 1))
    pairs = (start, together.model), (other_start, another.model)
    return Measurements(
        scalars={
            **_agreement(staged.population, staged.model, *pairs),
            **staged.moved(begin),
        },
        series=join_phases(zip(settings.trained_stages, series, strict=True)),
        arrays={
            "hard_confidence_after": np.array(ends),
            "scores": measures.class_scores(staged.model, staged.population),
        },
    )


def _agreement(
    population: Population,
    staged: InnerProducts,
    own: tuple[InnerProducts, InnerProducts],
    other: tuple[InnerProducts, InnerProducts],
) -> dict[str, float]:
    """The agreement of Algorithm 1, and of another seed, with simultaneous training, as moved."""

    def moved(begin: InnerProducts, end: InnerProducts) -> Array:
        before, after = (measures.class_scores(one, population) for one in (begin, end))
        return np.asarray(after - before)

    start, together = own
    ours = moved(*own)
    return {
        "attention_agreement": measures.cosine(moved(start, staged), ours),
        "seeds_agreement": measures.cosine(moved(*other), ours),
        "all_scores_agreement": measures.cosine(
            staged.scores - start.scores, together.scores - start.scores
        ),
    }


# ------------------------------------------------------------------------------------- constructed


def measure_constructed(settings: Constructed, session: Session) -> Measurements:
    """Puts both built transformers, as weight matrices, through the plain form on every sample.

    The vectors are a random orthonormal basis of each seed.
    """
    counts = settings.class_counts
    built = np.array([_worst_margins(settings, session.seed, count) for count in counts]).T
    stated = np.array([[constructed.attention_margin(k), constructed.MARGIN] for k in counts]).T
    return Measurements(arrays={"worst_margin": built, "stated_margin": stated})


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
    return {**stages, **dict.fromkeys(("together", "another_seed"), settings.trained_steps)}


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
        data=lambda s: checksums(s.images, s.split),
        proxy=lambda s: pictures(s.images, s.split).proxy,
        has_plain_form=True,
    ),
    "construction": Experiment(Constructed, measure_constructed, has_plain_form=True),
}
"""By the names of the audit."""
