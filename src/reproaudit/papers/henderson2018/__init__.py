"""henderson2018: can groups of runs that differ in their seeds alone differ significantly?

H: Henderson et al., *Deep Reinforcement Learning that Matters*. Against it Colas et al., C18: *How
Many Random Seeds?*, and C19: *A Hitchhiker's Guide to Statistical Comparisons*.

===============  ==============================================================================
`rejects`        Student's test (H, Figure 5), Welch's (C18), the exact rank-sum test (C19)
`bootstrap`      the interval of a difference of means (H, Table 3; C18; C19)
`permutation`    relabelled runs (C19)
`draw`           laws of returns (C19)
`train`          REINFORCE (Williams 1992) on cart and pole (Barto, Sutton and Anderson 1983)
`splits`         ten runs as two fives (H, Figure 5)
===============  ==============================================================================

Groups have the shape (pairs, runs). A test errs where it rejects although both have one law.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import combinations, product

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from scipy.stats import mannwhitneyu, ttest_ind

from reproaudit.lab import Array, AuditSettings, Series, experiment_of, generator

Measured = Mapping[str, ArrayLike | Series]
BATCH = 250
"""Pairs that share their resamples, so that all means are one product of matrices."""


def student(a: Array, b: Array, *, pooled: bool, tails: int = 2) -> Array:
    """Return the p of Student's test (`pooled`) or Welch's; with one tail, that b is larger.

    Where no run differs from another, p is not a number, and nothing is rejected.
    """
    side = {1: "less", 2: "two-sided"}[tails]
    with warnings.catch_warnings(action="ignore"):
        return np.asarray(ttest_ind(a, b, axis=1, equal_var=pooled, alternative=side).pvalue)


def _resamples(n: int, count: int, rng: np.random.Generator) -> Array:
    """Return the weights of n runs in resamples, drawn with replacement: shape (n, count)."""
    drawn = rng.integers(n, size=(count, n)) + n * np.arange(count)[:, None]
    return np.bincount(drawn.ravel(), minlength=n * count).reshape(count, n).T / n


def bootstrap(a: Array, b: Array, s: AuditSettings, rng: np.random.Generator) -> Array:
    """Return where the interval of the difference of means leaves out 0.

    With the resamples' quantiles q and the observed difference d, its ends are q (percentile) or
    2d − q (pivotal): it leaves out 0 if at most level/2 of them lie on one side of 0, or of 2d.
    """
    first, second = (_resamples(group.shape[1], s.resamples, rng) for group in (a, b))
    means = a @ first - b @ second
    observed = (a.mean(axis=1) - b.mean(axis=1))[:, None]
    edge = 2 * observed if s.interval == "pivotal" else 0 * observed
    below = (means <= edge).mean(axis=1)
    above = (means >= edge).mean(axis=1)
    return np.asarray(np.minimum(below, above) <= s.level / 2)


def permutation(a: Array, b: Array, s: AuditSettings, rng: np.random.Generator) -> Array:
    """Return the p of the difference of means: the share of relabellings with a larger one.

    Where ties are counted, one that is as large counts as well; sums are equal up to rounding.
    """
    n = a.shape[1]
    runs = n + b.shape[1]
    first = rng.random((s.permutations, runs)).argsort(axis=1) < n
    relabelled = np.concatenate([a, b], axis=1) @ np.where(first, 1 / n, 1 / (n - runs)).T
    observed = np.abs(a.mean(axis=1) - b.mean(axis=1))[:, None]
    slack = -1e-9 if s.ties == "counted" else 1e-9
    return np.asarray((np.abs(relabelled) > observed + slack).mean(axis=1))


def rejects(test: str, a: Array, b: Array, s: AuditSettings, rng: np.random.Generator) -> Array:
    """Return where a test calls two groups different, two-tailed."""
    parts = max(1, len(a) // BATCH)
    batches = zip(np.array_split(a, parts), np.array_split(b, parts), strict=True)
    if test == "bootstrap":
        return np.concatenate([bootstrap(*batch, s, rng) for batch in batches])
    if test == "permutation":
        return np.concatenate([permutation(*batch, s, rng) < s.level for batch in batches])
    if test == "rank_sum":
        p = mannwhitneyu(a, b, axis=1, method="exact").pvalue
    else:
        p = student(a, b, pooled=test == "student")
    return np.asarray(p < s.level)


def draw(law: str, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Return runs of a law of C19, wherever its centre is: only differences are tested."""
    if law == "bimodal":
        return rng.choice([-0.9, 0.9], size=shape) + 0.45 * rng.standard_normal(shape)
    normal = rng.standard_normal(shape)
    spread = {"lognormal": 0.691, "wide_lognormal": 0.9712}
    return np.exp(spread[law] * normal) if law in spread else normal


def measure_laws(s: AuditSettings, seed: int) -> Measured:
    """Measure how often each test errs, by law and size."""
    tests = ("student", "welch", "rank_sum", "bootstrap", "permutation")
    errors = {test: np.zeros((len(s.laws), len(s.sizes))) for test in tests}
    for (i, law), (j, size) in product(enumerate(s.laws), enumerate(s.sizes)):
        rng = generator(seed, law, size)
        a, b = (draw(law, (s.pairs, size * s.times), rng) for _ in range(2))
        for test in tests:
            errors[test][i, j] = rejects(test, a, b, s, rng).mean()
    return errors


def measure_normals(s: AuditSettings, seed: int) -> Measured:
    """Measure by case how far each rate of rejection is from the level, and what Welch's misses."""
    rates = np.zeros((2, len(s.groups)))
    for case, sizes in enumerate(s.groups):
        n, m = (int(size) for size in sizes.split(" and "))
        rng = generator(seed, "normal groups", case)
        a = s.first_sd * rng.standard_normal((s.pairs, n))
        b = s.difference + s.second_sd * rng.standard_normal((s.pairs, m))
        tests = [student(a, b, pooled=pooled, tails=s.tails) for pooled in (True, False)]
        rates[:, case] = (np.array(tests) < s.level).mean(axis=1)
    misfits = dict(zip(("student_misfit", "welch_misfit"), abs(rates - s.level), strict=True))
    return {**misfits, "missed": 1 - rates[1]}


def _swing(state: Array, push: Array) -> Array:
    """Return position, speed, angle and turn, (4, runs), after 0.02 s of a push."""
    _, speed, angle, turn = state
    sine = np.sin(angle)
    cosine = np.cos(angle)
    pull = (push + 0.05 * turn**2 * sine) / 1.1
    turning = (9.8 * sine - cosine * pull) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    return state + 0.02 * np.array([speed, pull - 0.05 * turning * cosine / 1.1, turn, turning])


def _play(weights: Array, steps: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the steps that poles stay up, (runs,), and Σₜ ∇ log π(aₜ|sₜ), (4, runs)."""
    state = rng.uniform(-0.05, 0.05, weights.shape)
    direction = np.zeros(weights.shape)
    lasted = np.zeros(weights.shape[1])
    up = np.ones(weights.shape[1], dtype=bool)
    for chance in rng.random((steps, weights.shape[1])):
        right = expit((weights * state).sum(axis=0))
        direction += up * ((chance < right) - right) * state
        lasted += up
        state = _swing(state, np.where(chance < right, 10.0, -10.0))
        up &= (np.abs(state[0]) <= 2.4) & (np.abs(state[2]) <= np.pi / 15)
        if not up.any():
            break
    return lasted, direction


def train(s: AuditSettings, rate: float, seed: int, purpose: str) -> Array:
    """Train a linear policy in each run; return its returns, (runs, episodes)."""
    weights = np.zeros((4, s.runs))
    mean = np.zeros(s.runs)
    returns = np.zeros((s.runs, s.episodes))
    for episode in range(s.episodes):
        lasted, direction = _play(weights, s.steps, generator(seed, purpose, episode))
        weights += rate * (lasted - mean) / s.steps * direction
        if s.baseline == "mean":
            mean += (lasted - mean) / (episode + 1)
        returns[:, episode] = lasted
    return returns


def scores(s: AuditSettings, returns: Array) -> Array:
    """Return what is compared of each run, (runs, times): at several times if one may be chosen."""
    parts = returns.reshape(s.runs, -1, s.last).mean(axis=2)  # of `last` episodes each
    compared = {"mean": parts.mean(axis=1, keepdims=True), "end": parts[:, -1:], "best": parts}
    return np.asarray(compared[s.time])


def splits(size: int, kind: str) -> tuple[Array, Array]:
    """Return all splits of 2·size runs into two groups, or the first: two of (splits, size)."""
    every = range(2 * size)
    firsts = [way for way in combinations(every, size) if way[0] == 0]
    firsts = firsts if kind == "best" else firsts[:1]
    return np.array(firsts), np.array([[i for i in every if i not in way] for way in firsts])


def measure_learner(s: AuditSettings, seed: int) -> Measured:
    """Measure sets that have a split into groups that differ, and each test's rate of errors."""
    returns = train(s, s.rate, seed, "play")
    first = second = scores(s, returns)
    if s.second_slower != 1:
        second = scores(s, train(s, s.rate / s.second_slower, seed, "play of the second"))
    rng = generator(seed, "groups")

    def differ(test: str, a: Array, b: Array) -> Array:
        """Tell where groups of runs, (pairs, size), differ at one of the times."""
        at_times = [
            rejects(test, x[a], y[b], s, rng) for x, y in zip(first.T, second.T, strict=True)
        ]
        return np.asarray(np.any(at_times, axis=0))

    drawn = rng.random((s.sets + s.pairs, s.runs)).argsort(axis=1)[:, : 2 * s.size]
    a, b = (drawn[: s.sets, way].reshape(-1, s.size) for way in splits(s.size, s.split))
    apart = differ(s.test, a, b).reshape(s.sets, -1)  # (sets, splits)
    shares = {"sets_that_differ": apart.any(axis=1), "splits_that_differ": apart}
    for test in ("welch", "rank_sum", "bootstrap"):
        shares[test] = differ(test, *np.split(drawn[s.sets :], 2, axis=1))
    curve = Series(steps=tuple(range(1, s.episodes + 1)), values=returns.mean(axis=0))
    return {"returns": curve, **{name: share.mean() for name, share in shares.items()}}


STAND_IN = "cart and pole, and REINFORCE with a linear policy, in place of HalfCheetah and TRPO"
EXPERIMENTS = {
    "laws": experiment_of(measure_laws),
    "spreads": experiment_of(measure_normals),
    "power": experiment_of(measure_normals),
    "learner": experiment_of(measure_learner, proxy=lambda _: STAND_IN),
}
