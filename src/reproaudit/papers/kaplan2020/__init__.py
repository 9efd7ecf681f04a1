"""How the best model size grows with compute, on fitted surfaces of the loss. Nothing is trained.

The loss of a model with N parameters on D tokens is L = E + A/N^α + B/D^β, with Hoffmann's fitted
numbers, and a budget is C = 6·N·D floating point operations. N counts all parameters, or those
without the embedding, n; the two are tied by N = n + ω·n^(1/3) (Pearce and Song 2024). The loss
always sees N. Which of the two a reader regresses on C, and counts in C, is a choice.

`laws` has no randomness: every seed gives the same numbers. `fits` simulates measured losses, and
fits the surface to them as Hoffmann's third approach does (Besiroglu and others 2024).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from reproaudit.lab import AuditSettings, experiment_of, generator

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Surface:
    """The loss L(N, D) = E + A/N^α + B/D^β, in nat a token."""

    E: float
    A: float
    B: float
    alpha: float
    beta: float

    @property
    def exponent(self) -> float:
        """The exponent of the best N in C where both count all parameters, β/(α + β)."""
        return self.beta / (self.alpha + self.beta)

    def loss(self, n_total: Array, tokens: Array) -> Array:
        """The loss of models of so many parameters on so many tokens; their common shape."""
        return self.E + self.A * n_total**-self.alpha + self.B * tokens**-self.beta

    def best_size(self, compute: Array) -> Array:
        """The best N of each budget C = 6·N·D, G·(C/6)^(β/(α + β)); shape of the budgets."""
        ratio = self.alpha * self.A / (self.beta * self.B)
        return ratio ** (1 / (self.alpha + self.beta)) * (compute / 6) ** self.exponent  # type: ignore[no-any-return]


SURFACES = {
    "text": Surface(1.69, 406.4, 410.7, 0.34, 0.28),
    "source": Surface(1.6934, 406.4, 410.7, 0.3392, 0.2849),
    "refit": Surface(1.8172, 482.01, 2085.43, 0.3478, 0.3658),
    "symmetric": Surface(1.69, 400.0, 400.0, 0.31, 0.31),
}
"""Hoffmann's approach 3 as its text prints it and as its TeX source has it (released code of Pearce
and Song), Besiroglu's refit (its notebook), and Czech's surface of equal exponents."""

COUNTS = ("without", "total")
"""What counts as parameters: all but the embedding, or all."""


def with_embedding(n: Array, omega: float) -> Array:
    """All parameters of models with n outside the embedding, n + ω·n^(1/3); shape of n."""
    return n + omega * np.cbrt(n)


def best_sizes(
    s: AuditSettings, cost: str, size: str, window: tuple[float, ...]
) -> tuple[Array, Array]:
    """The logarithms of budgets and of their best sizes; two arrays of one shape (budget,).

    Budgets whose best size is the smallest or the largest of the grid are left out.

    Args:
        cost: what counts in C: ``"without"`` or ``"total"``, the parameters without the embedding,
            or all.
        size: which of the two is the size.
        window: the decimal logarithms of the smallest and the largest budget.
    """
    surface = SURFACES[s.surface]
    compute = np.logspace(*window, s.budgets)  # type: ignore[call-overload]
    if s.optimum == "exact":
        log_n = _exact_optimum(surface, s.omega, cost, np.log(compute))
        best = np.exp(log_n)
        inside = np.isfinite(best)
    else:
        grid = np.logspace(*s.grid, s.grid_sizes)  # type: ignore[call-overload]
        paid = grid if cost == "without" else with_embedding(grid, s.omega)
        tokens = _on_grid(compute[:, None] / (6 * paid), s.token_grid, s.token_sizes)
        place = surface.loss(with_embedding(grid, s.omega), tokens).argmin(axis=1)
        best = grid[place]
        inside = (place > 0) & (place < len(grid) - 1)
    shown = best if size == "without" else with_embedding(best, s.omega)
    return np.log(compute[inside]), np.log(shown[inside])


def _on_grid(tokens: Array, ends: tuple[float, ...], count: int) -> Array:
    """The nearest numbers of tokens on a logarithmic grid; the same shape."""
    low, high = ends
    place = np.rint((np.log10(tokens) - low) / (high - low) * (count - 1))
    return np.asarray(10 ** (low + np.clip(place, 0, count - 1) * (high - low) / (count - 1)))


def _exact_optimum(surface: Surface, omega: float, cost: str, log_compute: Array) -> Array:
    """The logarithm of the best n of each budget, where dL/dn = 0 on C = 6·K(n)·D; same shape.

    The condition gives C as a function of n, C = 6K·[βB·K'·N^(1+α)/(αA·K·N')]^(1/β), which rises.
    """
    n = np.logspace(0, 18, 40_000)
    total = with_embedding(n, omega)
    slope = 1 + omega / 3 * n ** (-2 / 3)
    paid, paid_slope = (n, np.ones_like(n)) if cost == "without" else (total, slope)
    a, b = surface.alpha, surface.beta
    bracket = b * surface.B * paid_slope * total ** (1 + a) / (a * surface.A * paid * slope)
    return np.interp(log_compute, np.log(6 * paid) + np.log(bracket) / b, np.log(n))


def exponent_of(log_compute: Array, log_size: Array, by: str) -> float:
    """The exponent of size in compute, by least squares or as the median of local exponents.

    NaN of fewer than two budgets, such as where no best size lies inside the grid.
    """
    if len(log_compute) < 2:
        return math.nan
    if by == "least squares":
        return float(np.polyfit(log_compute, log_size, 1)[0])
    return float(np.median(np.gradient(log_size, log_compute)))


def isoflop(s: AuditSettings, width: float) -> tuple[float, float]:
    """Approach 2 on a surface without noise: parabolas through sizes around each budget's best.

    Args:
        width: the largest size over the best one, and the best over the smallest.

    Returns:
        The exponent of N in C, and the error in per cent of D extrapolated to 10²⁴ operations.
    """
    surface = SURFACES[s.surface]
    compute = np.logspace(*s.isoflop_window, s.isoflop_budgets)  # type: ignore[call-overload]
    centre = surface.best_size(compute) * np.geomspace(1, s.drift, len(compute))
    sizes = centre[:, None] * np.geomspace(1 / width, width, s.isoflop_sizes)
    tokens = compute[:, None] / (6 * sizes)
    losses = surface.loss(sizes, tokens)
    vertices = [
        [_vertex(np.log(x), y) for x, y in zip(axis, losses, strict=True)]
        for axis in (sizes, tokens)
    ]
    (exponent, _), line = (np.polyfit(np.log(compute), vertex, 1) for vertex in vertices)
    far = np.array(1e24)
    true = far / (6 * surface.best_size(far))
    extrapolated = np.exp(np.polyval(line, np.log(far)))
    return float(exponent), float(100 * (extrapolated / true - 1))


def _vertex(x: Array, y: Array) -> float:
    """Where the parabola through the points has its vertex."""
    square, linear, _ = np.polyfit(x, y, 2)
    return float(-linear / (2 * square))


def measure_laws(s: AuditSettings, _seed: int) -> Mapping[str, Any]:
    """The exponents of compute, by what counts and where, and the tokens for each parameter."""
    exact = AuditSettings(**{**vars(s), "optimum": "exact"})
    by_window = [
        [exponent_of(*best_sizes(exact, count, count, window), s.regression) for count in COUNTS]
        for window in (s.window, s.large_window)
    ]
    isoflops = np.array([isoflop(s, width) for width in s.widths])
    surface = SURFACES[s.surface]
    best = surface.best_size(np.array(s.trained_compute))
    return {
        "exponent": exponent_of(*best_sizes(s, s.cost, s.size, s.window), s.regression),
        "by_window": by_window,
        "gap": np.abs(np.diff(by_window, axis=1)[:, 0]),
        "own_exponent": surface.exponent,
        "isoflop_exponent": isoflops[:, 0],
        "tokens_off": isoflops[:, 1],
        "tokens_per_parameter": s.trained_compute / (6 * best**2),
    }


def simulated(s: AuditSettings, seed: int) -> tuple[Array, Array, Array]:
    """Logarithms of sizes, tokens and noisy losses of models not trained; shape (point,)."""
    rng = generator(seed, "points")
    compute = 10 ** rng.uniform(*s.point_compute, s.points)  # type: ignore[call-overload]
    surface = SURFACES[s.surface]
    sizes = surface.best_size(compute) * 10 ** rng.uniform(-0.5, 0.5, s.points)
    tokens = compute / (6 * sizes)
    losses = surface.loss(sizes, tokens) * np.exp(s.noise * rng.standard_normal(s.points))
    return np.log(sizes), np.log(tokens), np.log(losses)


def objective(p: Array, data: tuple[Array, Array, Array], scale: float) -> tuple[float, Array]:
    """Hoffmann's objective and its gradient: Huber's loss, δ = 10⁻³, of ln L, times `scale`.

    Args:
        p: ln A, ln B, ln E, α, β.
    """
    sizes, tokens, losses = data
    terms = np.stack([p[0] - p[3] * sizes, p[1] - p[4] * tokens, np.full_like(sizes, p[2])])
    top = terms.max(axis=0)
    weights = np.exp(terms - top)
    total = weights.sum(axis=0)
    off = top + np.log(total) - losses
    delta = 1e-3
    huber = np.where(np.abs(off) <= delta, off**2 / 2, delta * (np.abs(off) - delta / 2))
    pull = np.clip(off, -delta, delta) * weights / total
    slope = np.array([*pull.sum(axis=1), -(pull[0] * sizes).sum(), -(pull[1] * tokens).sum()])
    return scale * float(huber.sum()), scale * slope


def best_fit(starts: Array, data: tuple[Array, Array, Array], scale: float, tight: bool) -> Array:
    """The best of L-BFGS-B's ends from some starts; ln A, ln B, ln E, α, β."""
    options = {"ftol": 1e-14, "gtol": 1e-14, "maxiter": 1500} if tight else {}
    fits = [
        minimize(objective, x, (data, scale), "L-BFGS-B", jac=True, options=options) for x in starts
    ]
    return np.asarray(min(fits, key=lambda fit: fit.fun).x)


def measure_fits(s: AuditSettings, seed: int) -> Mapping[str, Any]:
    """Where the fit ends if the objective is a mean over the points, and if it is their sum."""
    data = simulated(s, seed)
    rng = generator(seed, "starts")
    low = np.array([0.0, 0.0, -1.0, 0.0, 0.0])
    starts = rng.uniform(low, [25.0, 25.0, 1.0, 2.0, 2.0], (s.starts, 5))
    fits = {
        how: best_fit(starts, data, scale, s.tight)
        for how, scale in (("mean", 1 / s.points), ("sum", 1.0))
    }
    ends = {how: objective(fit, data, 1.0)[0] for how, fit in fits.items()}
    return {
        "objective": [ends["mean"], ends["sum"]],
        "fitted_exponent": [fit[4] / (fit[3] + fit[4]) for fit in fits.values()],
    }


def _stand_in(_s: AuditSettings) -> str:
    return "Hoffmann's fitted surface in place of trained networks"


EXPERIMENTS = {
    "laws": experiment_of(measure_laws, proxy=_stand_in),
    "fits": experiment_of(measure_fits, proxy=_stand_in),
}
