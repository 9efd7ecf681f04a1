"""Shumailov et al.: AI models collapse when trained on recursively generated data. Nature 2024.

A model is fitted to data and then draws the data of the next one. Fit 1 is to real data; `kept`
says what later fits are to: ``none``, samples of the newest model alone, as many as before (the
paper; *replace*); ``all``, the real data and the samples of every model so far (*accumulate*,
Gerstgrasser et al., arXiv 2404.01413); ``multiple``, n times as many samples of the newest model at
fit n; ``fresh``, new real data, as many as before; ``real``, all real data so far.

A run is a mean or a median over many independent chains: a single one is a random walk.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

from reproaudit.lab import Array, Series, experiment_of, generator, observation_steps
from reproaudit.lab import AuditSettings as Settings


def gaussian(settings: Settings, seed: int) -> dict[str, Any]:
    """Fit N(0, 1) again and again, by the exact laws of a sample's mean and sum of squares.

    Theorem 3.1 has the variance go to 0; equation 6 of the supplement is about W₂² to N(0, 1).
    """
    draw = generator(seed, "chains of Gaussians")
    size = np.array(settings.sizes)[:, None]  # M
    lost = {"unbiased": 1, "maximum likelihood": 0}[settings.estimator]
    shape = (len(size), settings.chains)
    mean = centre = np.zeros(shape)
    variance = np.ones(shape)
    squares: Array | float = 0.0
    medians = [np.ones(len(size))]
    distances = []
    for fit in range(1, settings.generations + 1):
        if settings.kept == "fresh":
            mean = np.zeros(shape)
            variance = np.ones(shape)
        pooled = fit if settings.kept == "all" else 1  # the samples that are fitted, in M
        apart = mean + np.sqrt(variance / size) * draw.standard_normal(shape) - centre
        centre = centre + apart / pooled
        within = variance * draw.chisquare(size - 1, shape)
        between = size * (1 - 1 / pooled) * apart**2
        squares = (squares if pooled > 1 else 0.0) + within + between
        mean = centre
        variance = squares / (pooled * size - lost)
        medians.append(np.median(variance, axis=1))
        distances.append((mean**2 + (np.sqrt(variance) - 1) ** 2).mean(axis=1))
    steps = observation_steps(settings.generations, even=51, geometric=20)
    fits = np.array(settings.fits)
    rate = log_variance_rate(size, lost)
    return {
        "variance": Series(steps=steps, values=np.array(medians)[list(steps)]),
        "predicted_variance": Series(steps=steps, values=np.exp(rate * steps).T),
        "fall": -np.log(variance).mean(axis=1) * size[:, 0] / settings.generations,
        "predicted_fall": -(rate * size)[:, 0],
        "distance": np.array(distances)[fits - 1].T,
        "predicted_distance": expected_distance(size, fits, lost),
    }


def log_variance_rate(size: Array, lost: int) -> Array:
    """Return by what ln σ² changes in a fit on average, if s² is Σ(x − x̄)²/(M − lost)."""
    return digamma((size - 1) / 2) + np.log(2 / (size - lost))  # type: ignore[no-any-return]


def expected_distance(size: Array, fits: Array, lost: int) -> Array:
    """Return the mean W₂² of each fit to replaced data, Σ_{i<n} gⁱ/M + gⁿ − 2cⁿ + 1.

    g and c are the means of s²/σ² and s/σ. Unbiased, and for n far below M, it is about 3n/(2M),
    equation 6 of the supplement. ``size`` has the shape (size, 1), the result (size, fit).
    """
    growth = (size - 1) / (size - lost)
    root = np.sqrt(2 / (size - lost)) * np.exp(gammaln(size / 2) - gammaln((size - 1) / 2))
    moved = np.cumsum(growth ** np.arange(fits.max()), axis=1)[:, fits - 1] / size
    return moved + growth**fits - 2 * root**fits + 1  # type: ignore[no-any-return]


def tails(settings: Settings, seed: int) -> dict[str, Any]:
    """Fit discrete shares like k^−exponent exactly, and watch the rare states (Definition 2.1).

    Generations count from 0, the fit to real data, as in the paper. A state is rare if its share
    is under 1/M; watched are those that generation 0 has seen.
    """
    law = np.arange(1, settings.states + 1) ** -settings.exponent
    real = np.broadcast_to(law / law.sum(), (settings.chains, settings.states))
    draw = generator(seed, "chains of discrete laws")
    fitted = [draw.multinomial(settings.samples, real) / settings.samples]
    for generation in range(1, settings.generations + 1):
        model = real if settings.kept == "fresh" else fitted[-1]
        pooled = generation + 1 if settings.kept == "all" else 1  # samples that are fitted, in M
        shares = draw.multinomial(settings.samples, model) / settings.samples
        fitted.append(fitted[-1] + (shares - fitted[-1]) / pooled)
    seen = (fitted[0] > 0) & (real < 1 / settings.samples)
    present = np.array([(shares[seen] > 0).mean() for shares in fitted])
    diversity = [(1 - (shares**2).sum(axis=1)).mean() for shares in (real, fitted[-1])]
    return {
        "present": Series(steps=tuple(range(len(fitted))), values=present),
        "diversity": diversity[1] / diversity[0],
        "predicted_diversity": (1 - 1 / settings.samples) ** len(fitted),
    }


def regression(settings: Settings, seed: int) -> dict[str, Any]:
    """Fit w to X w* and noise, then to X ŵ and new noise, with X drawn once."""
    error = _errors(settings, settings.kept, generator(seed, "regressions"))
    real = _errors(settings, "real", generator(seed, "regressions on real data"))
    fits = np.array(settings.fits)
    weights = expected_errors(settings.kept, fits.max())[fits - 1]
    return {
        "over_first": error[fits - 1] / error[0],
        "predicted_over_first": weights,
        "over_real": error[fits - 1] / real[fits - 1],
        "predicted_over_real": weights * fits,
    }


def expected_errors(kept: str, fits: int) -> Array:
    """Return the expected error of fits 1, 2, 3 … over σ²d/(T − d − 1), that of the first."""
    n = np.arange(1, fits + 1)
    grown = {"none": n, "all": np.cumsum(1 / n**2), "multiple": np.cumsum(1 / n)}
    return {**grown, "fresh": n**0, "real": 1 / n}[kept]


def _errors(settings: Settings, kept: str, draw: np.random.Generator) -> Array:
    """Return the mean of |ŵ − w*|², the excess error, of each fit."""
    shape = (settings.chains, settings.samples)
    inputs = draw.standard_normal((*shape, settings.dimensions))
    inverse = np.linalg.pinv(inputs)
    truth = draw.standard_normal((settings.chains, settings.dimensions))
    fitted = truth
    labels = np.zeros(shape)
    errors = []
    for fit in range(1, max(settings.fits) + 1):
        teacher = truth if kept in ("fresh", "real") else fitted
        copies = fit if kept == "multiple" else 1  # sets of labels whose mean is drawn at once
        pooled = fit if kept in ("all", "real") else 1  # sets of labels that are fitted
        noise = np.sqrt(settings.noise / copies) * draw.standard_normal(shape)
        labels = labels + (np.einsum("cti,ci->ct", inputs, teacher) + noise - labels) / pooled
        fitted = np.einsum("cit,ct->ci", inverse, labels)
        errors.append(((fitted - truth) ** 2).sum(axis=1).mean())
    return np.array(errors)


EXPERIMENTS = {m.__name__: experiment_of(m) for m in (gaussian, tails, regression)}
