"""Wilson and others: The marginal value of adaptive gradient methods. NeurIPS 2017, 1705.08292.

Against it: Choi and others: On empirical comparisons of optimizers for deep learning. 1910.05446.
No code of either was found. MNIST and a small network stand in for the paper's networks.

| in the papers | here |
|---|---|
| Wilson: the separable problem, its two solutions | `separable`, `sign_solution`, `least_norm` |
| Wilson: each method at its best rate; Choi: also at its best ε | `settings_of`, `choose` |
| Choi, appendix A: Adam becomes momentum as ε grows | `measure_inclusion` |

Several settings of one method descend at once: weights are arrays (setting, weight).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reproaudit.lab import Array, AuditSettings, checksums, experiment_of, generator, pictures
from reproaudit.papers.wilson2017.network import Network

ADAPTIVE = ("adagrad", "rmsprop", "adam")
"""The adaptive methods on the separable problem."""
FREE_EPSILON = 0.01
"""The ε beyond which a rate grows in proportion, so that Adam's step stays about as long."""
Gradient = Callable[[Array, int], Array]
"""From weights (setting, weight) and a step from 1 on to gradients of the same shape."""


@dataclass(frozen=True)
class Method:
    """An optimiser with its settings; rate and ε are numbers, or arrays (setting, 1)."""

    name: str
    rate: Any
    beta1: float
    beta2: float = 0.999
    epsilon: Any = 1e-8
    schedule: str = "constant"

    def descend(self, gradient: Gradient, start: Array, steps: int) -> Array:
        """The weights after so many steps; shape of `start`."""
        w = start
        m = np.zeros_like(start)
        v = np.zeros_like(start)
        for t in range(1, steps + 1):
            m, v, direction = self.direct(gradient(w, t), m, v, t)
            left = 1 - (t - 1) / steps if self.schedule == "linear" else 1.0
            w = w - left * self.rate * direction
        return w

    def direct(self, g: Array, m: Array, v: Array, t: int) -> tuple[Array, Array, Array]:
        """Both moments after gradient number t, and the direction of the step."""
        if self.name in ("momentum", "corrected momentum"):
            m = self.beta1 * m + g
            return m, v, m if self.name == "momentum" else m / (1 - self.beta1**t)
        if self.name == "adagrad":
            v = v + g**2
            return m, v, g / (np.sqrt(v) + self.epsilon)
        v = self.beta2 * v + (1 - self.beta2) * g**2
        if self.name == "rmsprop":
            return m, v, g / (np.sqrt(v) + self.epsilon)
        m = self.beta1 * m + (1 - self.beta1) * g
        root = np.sqrt(v / (1 - self.beta2**t))
        return m, v, m / (1 - self.beta1**t) / (root + self.epsilon)


def separable(n: int, p: float, draw: np.random.Generator) -> tuple[Array, Array]:
    """Wilson's problem: samples X (n, 3 + 5n) and labels y (n) of ±1, which are +1 with chance p.

    The label stands in the first feature, and the next two are 1. A sample has five features of
    its own: the first of them is 1 if its label is +1, all five if it is −1. Labels are drawn
    until their sum is positive, as the lemma assumes.
    """
    y = np.zeros(n)
    while y.sum() <= 0:
        y = np.where(draw.random(n) < p, 1.0, -1.0)
    own = np.zeros((n, n, 5))
    own[np.arange(n), np.arange(n)] = np.where(y[:, None] > 0, [1, 0, 0, 0, 0], 1.0)
    return np.column_stack([y, np.ones((n, 2)), own.reshape(n, -1)]), y


def sign_solution(x: Array, y: Array) -> Array:
    """The solution along the signs of the first gradient, sign(Xᵀy)/4."""
    return np.asarray(np.sign(x.T @ y) / 4)


def least_norm(x: Array, y: Array) -> Array:
    """The solution of least norm, where descent from 0 ends."""
    return np.asarray(x.T @ np.linalg.solve(x @ x.T, y))


def test_error(w: Array, p: float) -> Array:
    """The share of new samples that w (setting, weight) gets wrong; shape (setting,).

    Nobody has seen a new sample's own features, so that its first three alone count.
    """
    label = w[:, 0]
    common = w[:, 1] + w[:, 2]
    return np.asarray(p * (label + common <= 0) + (1 - p) * (common - label >= 0))


def squares(x: Array, y: Array, batch: int, draw: np.random.Generator, steps: int) -> Gradient:
    """Gradients of the mean squared error on all samples, or on a drawn batch of them a step."""
    n = len(y)
    rows = None if batch == n else draw.integers(n, size=(steps, batch))

    def gradient(w: Array, t: int) -> Array:
        drawn = slice(None) if rows is None else rows[t - 1]
        off = w @ x[drawn].T - y[drawn]
        return np.asarray(2 / off.shape[1] * off @ x[drawn])

    return gradient


def measure_separable(s: AuditSettings, seed: int) -> Mapping[str, Any]:
    """Errors of adaptive methods and of momentum on Wilson's problem, by the chance of +1."""
    rows: dict[str, list[Any]] = {}
    for i, p in enumerate(s.chances):
        x, y = separable(s.samples, p, generator(seed, "labels", i))
        gradient = squares(x, y, s.samples_a_step, generator(seed, "batches", i), s.steps)
        zero = np.zeros((1, x.shape[1]))
        plain = Method("momentum", s.momentum_rate, s.beta1, schedule=s.schedule)
        slow = plain.descend(gradient, zero, s.steps)
        if s.weights == "constructed":
            w = np.tile(sign_solution(x, y), (len(ADAPTIVE), 1))
            slow = least_norm(x, y)[None]
        elif s.denominator == "none":
            w = np.tile(slow, (len(ADAPTIVE), 1))
        else:
            moments = (s.beta1, s.beta2, s.epsilon, s.schedule)
            methods = [Method(name, s.rate, *moments) for name in ADAPTIVE]
            w = np.concatenate([m.descend(gradient, zero, s.steps) for m in methods])
        signs = sign_solution(x, y)
        measured = {
            "error": test_error(w, p) / (1 - p),
            "training_loss": np.mean((w @ x.T - y) ** 2, axis=1),
            "along_signs": w @ signs / np.linalg.norm(w, axis=1) / np.linalg.norm(signs),
            "momentum_error": test_error(slow, p)[0],
            "momentum_loss": np.mean((slow @ x.T - y) ** 2),
        }
        for name, value in measured.items():
            rows.setdefault(name, []).append(value)
    return rows


def measure_inclusion(s: AuditSettings, seed: int) -> Mapping[str, Any]:
    """How far Adam with η = γε/(1 − β₁) ends from momentum of rate γ, by ε."""
    x, y = separable(s.samples, s.chance, generator(seed, "labels"))
    gradient = squares(x, y, len(y), generator(seed, "batches"), s.steps)
    epsilon = np.array(s.epsilons)[:, None]
    rate = s.rate / (1 - s.beta1) * (epsilon if s.scaled else 1.0)
    zero = np.zeros((len(epsilon), x.shape[1]))
    adam = Method("adam", rate, s.beta1, s.beta2, epsilon).descend(gradient, zero, s.steps)
    momentum = Method(s.against, s.rate, s.beta1).descend(gradient, zero[:1], s.steps)
    return {"distance": np.linalg.norm(adam - momentum, axis=1)}


def checksum(s: AuditSettings) -> dict[str, str]:
    """The checksum of the pictures."""
    return checksums(s.images, s.split)


def settings_of(s: AuditSettings, adapts: bool, draw: np.random.Generator) -> tuple[Array, Array]:
    """The rates and the ε of the settings that a method may choose from, each (setting, 1).

    All of its grid, or as many as `trials` of it, drawn at random.
    """
    low, high = s.adaptive_grid if adapts else s.momentum_grid
    rates = np.unique(np.geomspace(low, high, s.rates))
    epsilons = s.epsilons if adapts else (0.0,)  # momentum has none
    grid = [(r * max(1.0, e / FREE_EPSILON), e) for e in epsilons for r in rates]
    kept = np.sort(draw.permutation(len(grid))[: s.trials])
    rate, epsilon = np.array(grid, np.float32)[kept].T
    return rate[:, None], epsilon[:, None]


def choose(by: str, training_loss: Array, validation: tuple[Array, Array]) -> int:
    """The setting with the least training loss, or the least validation error, then its loss."""
    loss, error = validation
    keys = (training_loss,) if by == "training loss" else (loss, error)
    return int(np.lexsort(keys)[0])


def measure_digits(s: AuditSettings, seed: int) -> Mapping[str, Any]:
    """Test error and training loss of momentum and of its rival, each at the setting it chose."""
    read = pictures(s.images, s.split)
    pixels = read.pixels.astype(np.float32)
    labels = read.labels
    order = generator(seed, "split").permutation(len(labels))
    ends = np.cumsum([s.train_rows, s.validation_rows, s.test_rows])
    train, validation, test, _ = np.split(order, ends)
    rows = generator(seed, "batches").integers(len(train), size=(s.steps, s.batch))
    network = Network(pixels.shape[1], s.hidden)

    def gradient(w: Array, t: int) -> Array:
        seen = train[rows[t - 1]]
        return network.gradient(w, pixels[seen], labels[seen])

    measured: dict[str, Any] = {"at_edge": []}
    for i, (role, name) in enumerate((("momentum", s.baseline), ("rival", s.rival))):
        rate, epsilon = settings_of(s, name in ADAPTIVE, generator(seed, "trials", i))
        again = int(role == "rival" and name not in ADAPTIVE)
        begin = network.start(generator(seed, "start", again)).astype(np.float32)
        start = np.tile(begin, (len(rate), 1))
        method = Method(name, rate, s.beta1, s.beta2, epsilon, s.schedule)
        with np.errstate(over="ignore", invalid="ignore"):
            w = method.descend(gradient, start, s.steps)
            training_loss, _ = network.judge(w, pixels[train], labels[train])
            judged = network.judge(w, pixels[validation], labels[validation])
            _, error = network.judge(w, pixels[test], labels[test])
        best = choose(s.chosen_by, training_loss, judged)
        measured |= {f"{role}_error": error[best], f"{role}_loss": training_loss[best]}
        of_epsilon = rate[epsilon == epsilon[best]]
        measured["at_edge"].append(float(rate[best, 0] in (of_epsilon.min(), of_epsilon.max())))
    return measured


def _stand_in(s: AuditSettings) -> str:
    data = "MNIST" if s.images == "mnist" else "scikit-learn's 8×8 digits"
    rows = f"{s.train_rows:,} rows of {data}"
    return f"{rows} and a small network in place of CIFAR-10 and VGG"


EXPERIMENTS = {
    "separable": experiment_of(measure_separable),
    "inclusion": experiment_of(measure_inclusion),
    "digits": experiment_of(measure_digits, proxy=_stand_in, data=checksum),
}
