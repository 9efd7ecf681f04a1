"""Belkin and others: Reconciling modern machine learning and bias–variance. PNAS 2019.

Beside it: Curth, Jeffares, van der Schaar: A U-turn on double descent. NeurIPS 2023. Nakkiran,
Venkat, Kakade, Ma: Optimal regularization can mitigate double descent. ICLR 2021.

Least squares on the first p of many columns, of least norm where p exceeds the n training rows.
One singular value decomposition a size, Φ = U S Vᵀ, gives least norm, every ridge and the smoother.

============================================================  ====================
the papers                                                    here
============================================================  ====================
random Fourier features on pictures (Belkin, Figure 2)        `fourier_problem`
least squares of least norm, and ridge (Belkin, Nakkiran)     `Basis`
n E‖ŝ(x)‖², parameters in effect at new inputs (Curth)        `Basis.effective`
principal components as a second axis (Curth)                 `measure_switch`
isotropic inputs: the risk in closed form (Belkin, Hsu, Xu)   `closed_form`
============================================================  ====================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from reproaudit.lab import (
    Array,
    AuditSettings,
    checksums,
    experiment_of,
    generator,
    one_thread,
    pictures,
)

ONE_HOT = np.eye(10)
PENALTIES = np.logspace(-8, 2, 25)
"""The ridges among which a tuned one is chosen; columns have a mean square of order 1/p."""


def checksum(s: AuditSettings) -> dict[str, str]:
    """Return the checksums of the pictures, where they are read."""
    return checksums(s.images, s.split) if s.inputs == "pictures" else {}


@dataclass(frozen=True)
class Problem:
    """Columns (row, column) and targets (row, output); training rows first, then validation."""

    columns: Array
    targets: Array
    train: slice
    validation: slice
    test: slice

    def with_noise(self, share: float, seed: int) -> Problem:
        """Return it with other rows' targets in a share of the rows that are not for tests."""
        rng = generator(seed, "noise")
        seen = self.validation.stop
        swapped = rng.random(seen) < share
        others = self.targets[rng.integers(seen, size=seen)]
        targets = self.targets.copy()
        targets[:seen][swapped] = others[swapped]
        return replace(self, targets=targets)


def divided(s: AuditSettings, columns: Array, targets: Array) -> Problem:
    """Divide rows in their order."""
    seen = s.n + s.validation
    return Problem(columns, targets, slice(s.n), slice(s.n, seen), slice(seen, None))


def fourier_problem(s: AuditSettings, seed: int, count: int) -> Problem:
    """Draw pictures, and as many columns cos⟨v, x⟩, sin⟨v, x⟩ in turn, v ~ N(0, s²I)."""
    every = pictures(s.images, s.split)
    rows = generator(seed, "rows").permutation(len(every.labels))[: s.n + s.validation + s.tests]
    v = generator(seed, "frequencies").normal(0, s.scale, ((count + 1) // 2, every.pixels.shape[1]))
    phases = every.pixels[rows] @ v.T
    columns = np.stack([np.cos(phases), np.sin(phases)], axis=2).reshape(len(rows), -1)
    if s.arithmetic == "half":
        columns = columns.astype(np.float16).astype(float)
    return divided(s, columns[:, :count], ONE_HOT[every.labels[rows]] - s.target_offset)


def ordered_problem(s: AuditSettings, seed: int, count: int) -> Problem:
    """Draw isotropic inputs, and ten noisy linear targets whose weights fall like 1/j."""
    rng = generator(seed, "ordered")
    x = rng.standard_normal((s.n + s.validation + s.tests, count))
    weights = rng.standard_normal((count, 10)) / np.arange(1, count + 1)[:, None]
    noise = rng.normal(0, s.residual**0.5, (len(x), 10))
    return divided(s, x, x @ weights + noise)


PROBLEMS = {"pictures": fourier_problem, "ordered": ordered_problem}


@dataclass(frozen=True)
class Basis:
    """Columns of a problem by their singular values, in the directions V, largest first.

    Shapes: `u` (training row, component), `values` (component), `scores` (row, component).
    """

    problem: Problem
    u: Array
    values: Array
    scores: Array

    def first(self, rank: int) -> Basis:
        """Return the principal components with the largest values, at most so many."""
        return Basis(self.problem, self.u[:, :rank], self.values[:rank], self.scores[:, :rank])

    def shrink(self, ridge: float) -> Array:
        """Return what divides by the singular values, s/(s² + λ); shape (component,)."""
        return np.asarray(self.values / (self.values**2 + ridge))

    def weights(self, targets: Array, ridge: float) -> Array:
        """Return the weights of the components, (component, output); their norm is the fit's."""
        train = self.problem.train
        return np.asarray(self.shrink(ridge)[:, None] * (self.u.T @ targets[train]))

    def effective(self, ridge: float) -> float:
        """Return n E‖ŝ(x)‖² over test rows, where a prediction is ŝ(x) · training targets."""
        weighed = self.scores[self.problem.test] * self.shrink(ridge)
        return float(len(self.u) * (weighed**2).sum(axis=1).mean())


def basis_of(s: AuditSettings, problem: Problem, count: int) -> Basis:
    """Decompose the first columns, without singular values below the cut-off."""
    columns = problem.columns[:, :count]
    if s.scaling == "norm":
        columns = columns / count**0.5
    u, values, v = np.linalg.svd(columns[problem.train], full_matrices=False)
    kept = values > s.cutoff * values[0]
    return Basis(problem, u[:, kept], values[kept], columns @ v[kept].T)


def squared(targets: Array, predicted: Array) -> float:
    """Return the mean squared distance of rows."""
    return float(((targets - predicted) ** 2).sum(axis=1).mean())


def zero_one(targets: Array, predicted: Array) -> float:
    """Return the share of rows whose largest output is another one."""
    return float((targets.argmax(axis=1) != predicted.argmax(axis=1)).mean())


LOSSES = {"squared": squared, "zero_one": zero_one}


def ridge_of(s: AuditSettings, basis: Basis, targets: Array) -> float:
    """Return the ridge of the settings, or the best one of the validation rows if it is tuned."""
    if s.ridge != "tuned":
        return 0.0
    part = basis.problem.validation
    fits = (basis.scores[part] @ basis.weights(targets, ridge) for ridge in PENALTIES)
    return float(PENALTIES[np.argmin([squared(targets[part], fit) for fit in fits])])


def assess(s: AuditSettings, basis: Basis, targets: Array) -> tuple[float, float, float, float]:
    """Return test risk, training risk, the weights' norm and the effective parameters of a fit."""
    ridge = ridge_of(s, basis, targets)
    weights = basis.weights(targets, ridge)
    fit = basis.scores @ weights
    problem = basis.problem
    return (
        LOSSES[s.loss](targets[problem.test], fit[problem.test]),
        squared(targets[problem.train], fit[problem.train]),
        float(np.linalg.norm(weights)),
        basis.effective(ridge),
    )


def bend(risk: Array) -> float:
    """Return the least factor by which a curve (place) departs from a fall and then a rise."""
    left, right = (rise(curve) for curve in (np.log(risk), np.log(risk)[::-1]))
    return float(np.exp(np.maximum(left, right[::-1]).min()))


def rise(curve: Array) -> Array:
    """Return the largest rise up to each place of a curve (place)."""
    return np.maximum.accumulate(curve - np.minimum.accumulate(curve))


def effective_bends(s: AuditSettings, effective: Array, risk: Array, threshold: int) -> Array:
    """Return the bend over effective parameters, by noise: the worse side of a count, or of all.

    Shapes of both arrays: (noise, size).
    """
    counts = np.array(counts_of(s))
    each = [counts <= threshold, counts >= threshold]
    sides = {"each": each, "pooled": [counts > 0]}[s.together]
    pairs = zip(effective, risk, strict=True)
    return np.array([max(bend(y[at][np.argsort(x[at])]) for at in sides) for x, y in pairs])


def counts_of(s: AuditSettings) -> list[int]:
    """Return how many columns each size has, a cosine and a sine being two."""
    return [round(ratio * s.n) for ratio in s.ratios]


def curve_of(s: AuditSettings, seed: int, noises: tuple[float, ...]) -> Array:
    """Return what `assess` does at each label noise and size; shape (4, noise, size)."""
    counts = counts_of(s)
    problem = PROBLEMS[s.inputs](s, seed, counts[-1])
    noisy = [problem.with_noise(noise, seed).targets for noise in noises]
    curves = np.empty((4, len(noises), len(counts)))
    whole = basis_of(s, problem, counts[-1])
    for place, count in enumerate(counts):
        basis = whole.first(count) if s.axis == "components" else basis_of(s, problem, count)
        for row, targets in enumerate(noisy):
            curves[:, row, place] = assess(s, basis, targets)
    return curves


def measure_features(s: AuditSettings, seed: int) -> Mapping[str, Array]:
    """Measure risk, norm and effective parameters by size, and read the curves; by label noise."""
    with one_thread():
        risk, train, norm, effective = curve_of(s, seed, s.noises)
    ratios = np.array(s.ratios)
    elsewhere = np.minimum(ratios, 4 / ratios) * np.ones_like(risk)
    return {
        "risk": risk,
        "train": train,
        "norm": norm,
        "effective": effective,
        "sweet": risk[:, ratios <= 0.85].min(axis=1),
        "at_n": risk[:, ratios == 1][:, 0],
        "end": risk[:, -1],
        "rise": np.exp([rise(np.log(each))[-1] for each in risk]),
        "bend_raw": np.array([bend(each) for each in risk]),
        "bend_effective": effective_bends(s, effective, risk, s.n),
        "bend_elsewhere": effective_bends(s, elsewhere, risk, 2 * s.n),
    }


def after_switch(s: AuditSettings, problem: Problem, star: int) -> Basis:
    """Return p* components of p* and further features, or the last p* of these as they are."""
    count = star + round(s.excess * s.n)
    if s.taken == "components":
        return basis_of(s, problem, count).first(star)
    return basis_of(s, replace(problem, columns=problem.columns[:, count - star : count]), star)


def measure_switch(s: AuditSettings, seed: int) -> Mapping[str, Array]:
    """Raise raw features to p*, then take p* components of ever more: risks by p* (Curth)."""
    stars = [round(star * s.n) for star in s.stars]
    problem = fourier_problem(s, seed, max(stars) + round(s.excess * s.n))
    counts = sorted({*stars, *(count for count in counts_of(s) if count < s.n)})
    measured = np.empty((4, len(stars)))
    with one_thread():
        raw = [assess(s, basis_of(s, problem, count), problem.targets)[0] for count in counts]
        for place, star in enumerate(stars):
            after, train, *_ = assess(s, after_switch(s, problem, star), problem.targets)
            until = raw[: counts.index(star) + 1]
            measured[:, place] = until[-1], after, train, min(until)
    return dict(zip(("before", "after", "train", "least"), measured, strict=True))


def closed_form(n: int, p: int, signal: float, rest: float) -> float:
    """Return the expected risk of least norm on p of D isotropic features (Belkin, Hsu, Xu).

    `signal` are the squared weights of these, `rest` those of all others and the noise's variance;
    p is at least two from n, the training rows.
    """
    if p <= n - 2:
        return rest * (1 + p / (n - p - 1))
    return signal * (1 - n / p) + rest * (1 + n / (p - n - 1))


def measure_isotropic(s: AuditSettings, seed: int) -> Mapping[str, Array]:
    """Hold the mean risk of drawn least squares of least norm against `closed_form`, by p."""
    rng = generator(seed, "isotropic")
    risks = np.empty((s.draws, len(s.used)))
    weights = np.full(s.features, s.features**-0.5)
    with one_thread():
        for draw in range(s.draws):
            x = rng.standard_normal((s.rows, s.features))
            y = x @ weights + rng.normal(0, s.variance**0.5, s.rows)
            for place, p in enumerate(s.used):
                u, values, v = np.linalg.svd(x[:, :p], full_matrices=False)
                fit = v.T @ (values / (values**2 + s.penalty) * (u.T @ y))
                off = ((weights[:p] - fit) ** 2).sum()
                risks[draw, place] = off + 1 - p / s.features + s.variance
    shares = [(p, p / s.features) for p in s.used]
    predicted = [closed_form(s.rows, p, share, 1 - share + s.variance) for p, share in shares]
    return {"mean_risk": risks.mean(axis=0), "predicted": np.array(predicted)}


def _stand_in(s: AuditSettings) -> str:
    kind = {"mnist": "pictures", "digits": "of scikit-learn's 8×8 digits"}[s.images]
    return f"{s.n} {kind} in place of 10,000 of MNIST"


EXPERIMENTS = {
    "features": experiment_of(measure_features, data=checksum, proxy=_stand_in),
    "switch": experiment_of(measure_switch, data=checksum, proxy=_stand_in),
    "isotropic": experiment_of(measure_isotropic),
}
