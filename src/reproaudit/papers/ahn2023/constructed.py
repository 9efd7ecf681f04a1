"""Constructed solutions, built without training, and the step sizes of descent.

An L-layer model of the kinds below multiplies the label part w of a prompt by a polynomial p of
the prompt's second-moment matrix, so that its loss, over w ~ N(0, Σ⁻¹) and the query ~ N(0, Σ), is

    E pᵀ G p,  p_i = p(λ_i),  G_ij = (Vᵀ Σ V)_ij (Vᵀ Σ⁻¹ V)_ij,

for the eigenvalues λ and eigenvectors V of S. With the preconditioner Σ⁻¹, S is replaced by the
whitened S_z = R⁻¹ S R⁻ᵀ (Σ = R Rᵀ) and Σ by I, so that G = I and the loss is E Σ_i p(λ_i)².
(Derived.) Scalars are chosen on selection data of the caller's, which must not be the test data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import roots_genlaguerre

from reproaudit.lab import Array

FloatVector = NDArray[np.float64]
StepSizes = Sequence[float] | Float[FloatVector, " steps"]
"""The step size of each step."""


def one_layer_scale(n: int, d: int) -> float:
    """The c = n/(n + d + 1) for which A_0* = −c Σ⁻¹ minimises the one-layer population loss.

    The paper's Theorem 1 for w ~ N(0, I) has another form (recalled); for w ~ N(0, Σ⁻¹) it follows
    by whitening from E[S_z²] = (1 + (d + 1)/n) I (derived).
    """
    return n / (n + d + 1)


def one_layer_optimum(covariance: Float[Array, "d d"], n: int) -> Float[FloatVector, "1 d d"]:
    """A_0* = −c Σ⁻¹."""
    d = len(covariance)
    return -one_layer_scale(n, d) * np.linalg.inv(covariance)[None]


def one_layer_minimum(n: int, d: int) -> float:
    """The population loss at A_0*: d(d + 1)/(n + d + 1) (derived)."""
    return d * (d + 1) / (n + d + 1)


def printed_optimum(covariance: Float[Array, "d d"], n: int) -> Float[FloatVector, "1 d d"]:
    """A_0* = −((n + 1)/n Σ + tr(Σ)/n I)⁻¹, the optimum for w ~ N(0, I).

    Source: Theorem 1 as printed (recalled); it is where the gradient of `one_layer_loss` with the
    weights' covariance I is zero (derived).
    """
    d = len(covariance)
    curvature = (n + 1) / n * covariance + np.trace(covariance) / n * np.eye(d)
    return -np.linalg.inv(curvature)[None]


def one_layer_loss(
    A: Float[Array, "d d"],
    covariance: Float[Array, "d d"],
    n: int,
    of_weights: Float[Array, "d d"] | None = None,
) -> float:
    """The exact population loss of one layer with any A (derived).

    With W the covariance of the weights, b = (I + Aᵀ S) w and E[S W S] = (1 + 1/n) Σ W Σ +
    tr(W Σ)/n Σ give

        tr(Σ W) + 2 tr(Σ Aᵀ Σ W) + tr(Σ Aᵀ E[S W S] A).

    Args:
        A: of the layer.
        covariance: Σ.
        n: pairs per prompt.
        of_weights: W; None for Σ⁻¹, for which it is d + 2 tr(AΣ) + (1 + (d + 1)/n) tr(Aᵀ Σ A Σ).
    """
    W = np.linalg.inv(covariance) if of_weights is None else of_weights
    second = (1.0 + 1.0 / n) * covariance @ W @ covariance
    second = second + np.trace(W @ covariance) / n * covariance
    linear = np.trace(covariance @ A.T @ covariance @ W)
    return float(np.trace(covariance @ W) + 2.0 * linear + np.trace(covariance @ A.T @ second @ A))


@dataclass(frozen=True)
class Spectrum:
    """The part of the selection prompts that the expected loss of a polynomial depends on.

    Attributes:
        eigenvalues: of S, or of the whitened S.
        weights: the G of the module's text; None for G = I.
        chances: of each prompt, summing to 1; None for equal ones.
    """

    eigenvalues: Float[FloatVector, "batch d"]
    weights: Float[FloatVector, "batch d d"] | None = None
    chances: Float[FloatVector, " batch"] | None = None

    @property
    def mean(self) -> float:
        """The mean of the eigenvalues, as the loss weighs them: E 1ᵀ G λ / E 1ᵀ G 1."""
        shares = self.weighed(np.ones_like(self.eigenvalues))
        return float(np.sum(shares * self.eigenvalues) / np.sum(shares))

    def weighed(self, values: Float[FloatVector, "batch d"]) -> Float[FloatVector, "batch d"]:
        """G p of each prompt times its chance, for the polynomial's values p at the eigenvalues.

        Summed against p they are the expected loss.
        """
        if self.weights is not None:
            values = (self.weights @ values[:, :, None])[:, :, 0]
        if self.chances is None:
            return np.asarray(values / len(values))
        return np.asarray(values * self.chances[:, None])

    def expected_loss(self, values: Float[FloatVector, "batch d"]) -> float:
        """Mean of pᵀ G p."""
        return float(np.sum(values * self.weighed(values)))

    def descent_loss(self, steps: StepSizes) -> tuple[float, Float[FloatVector, " steps"]]:
        """The expected loss of p(λ) = Π_l (1 − a_l λ), and its gradient in the steps a."""
        factors = 1.0 - np.asarray(steps)[:, None, None] * self.eigenvalues
        values = np.prod(factors, axis=0)
        weighed = self.weighed(values) * self.eigenvalues
        others = (np.prod(np.delete(factors, l_, 0), axis=0) for l_ in range(len(factors)))
        slopes = np.array([-2.0 * np.sum(weighed * other) for other in others])
        return self.expected_loss(values), slopes


def whitened_spectrum(S: Float[Array, "batch d d"], covariance: Float[Array, "d d"]) -> Spectrum:
    """For descent preconditioned with Σ⁻¹.

    Args:
        S: the second moments of the selection prompts.
        covariance: Σ.
    """
    whiten = np.linalg.inv(np.linalg.cholesky(covariance))
    return Spectrum(np.linalg.eigvalsh(whiten @ np.asarray(S, np.float64) @ whiten.T))


def plain_spectrum(S: Float[Array, "batch d d"], covariance: Float[Array, "d d"]) -> Spectrum:
    """For descent without preconditioner; arguments as for `whitened_spectrum`."""
    eigenvalues, V = np.linalg.eigh(np.asarray(S, np.float64))
    V_t = V.transpose(0, 2, 1)
    weights = (V_t @ covariance @ V) * (V_t @ np.linalg.inv(covariance) @ V)
    return Spectrum(eigenvalues, weights)


def law_of_moments(rng: np.random.Generator, shapes: int, n: int, d: int, layers: int) -> Spectrum:
    """Samples the law of the whitened S, tail included.

    The trace of n S_z is χ² with n d degrees of freedom and independent of S_z / tr S_z (derived).
    The tail of the law is in the trace, whose mean a Gauss–Laguerre rule takes exactly, since the
    loss of GD++ is of degree 3^L − 1 in it (derived); a sample serves for the shape alone, whose
    eigenvalues are bounded.

    Args:
        rng: whose state moves on.
        shapes: how many to sample.
        n: pairs per prompt.
        d: dimension.
        layers: L.
    """
    z = rng.standard_normal((shapes, n, d))
    eigenvalues = np.linalg.eigvalsh(z.transpose(0, 2, 1) @ z)
    shares = eigenvalues / eigenvalues.sum(axis=1, keepdims=True)
    half_traces, masses = roots_genlaguerre((3**layers - 1) // 2 + 1, n * d / 2.0 - 1.0)
    points = (2.0 * half_traces / n)[:, None, None] * shares
    chances = np.repeat(masses / masses.sum() / shapes, shapes)
    return Spectrum(points.reshape(-1, d), chances=chances)


def best_constant_step(spectrum: Spectrum, layers: int) -> float:
    """The step a that minimises the expected loss of `layers` equal steps.

    With G = I the loss is convex in a; the search runs over [0, 2/mean λ], beyond which the
    average direction grows.
    """

    def loss(step: float) -> float:
        return spectrum.expected_loss((1.0 - step * spectrum.eigenvalues) ** layers)

    bound = 2.0 / spectrum.mean
    found = minimize_scalar(loss, bounds=(0.0, bound), method="bounded", options={"xatol": 1e-9})
    return float(found.x)


def best_steps(spectrum: Spectrum, layers: int) -> Float[FloatVector, " layers"]:
    """The steps a_1 … a_L, in ascending order, that minimise the expected loss, each its own.

    Their order does not matter to the loss. The search starts from the best constant step, spread
    out, because at equal steps the gradient cannot tell them apart.
    """
    constant = best_constant_step(spectrum, layers)
    if layers == 1:
        return np.array([constant])
    starts = [constant * np.linspace(1.0 - spread, 1.0 + spread, layers) for spread in (0.3, 0.6)]
    return np.sort(_least(spectrum.descent_loss, starts).x)


def _least(loss: Callable[..., Any], starts: Sequence[FloatVector]) -> Any:
    """The best minimum found from several starts, of a loss that comes with its gradient."""
    with np.errstate(over="ignore", invalid="ignore"):  # a line search may step far out, and back
        found = [
            minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9})
            for start in starts
        ]
    return min(found, key=lambda result: float(result.fun))


@dataclass(frozen=True)
class Scalars:
    """A model of the theorems: A_l = −a_l Σ⁻¹ and B_l = β_l I.

    With all β_l = 0 it performs preconditioned gradient descent (the paper's construction,
    recalled, verified by test); otherwise GD++.

    Attributes:
        steps: the a_l.
        corrections: the β_l; the last does not matter and is 0.
    """

    steps: Float[FloatVector, " layers"]
    corrections: Float[FloatVector, " layers"]

    def matrices(
        self, covariance: Float[Array, "d d"]
    ) -> tuple[Float[FloatVector, "layers d d"], Float[FloatVector, "layers d d"]]:
        """A and B, for Σ."""
        A = -self.steps[:, None, None] * np.linalg.inv(covariance)
        return A, self.corrections[:, None, None] * np.eye(len(covariance))


def best_descent(law: Spectrum, layers: int) -> Scalars:
    """Preconditioned descent with the best steps for a whitened spectrum."""
    return Scalars(best_steps(law, layers), np.zeros(layers))


def best_corrected_descent(law: Spectrum, layers: int) -> Scalars:
    """The best scalars of GD++ found from several starts; never worse than `best_steps`.

    Args:
        law: a whitened spectrum.
        layers: L.
    """
    steps = best_steps(law, layers)
    starts = [
        np.concatenate([order, np.full(layers - 1, beta)])
        for order in (steps, steps[::-1])
        for beta in (0.0, 0.3, 1.0)
    ]
    best = _least(lambda scalars: corrected_loss(scalars, law, layers), starts).x
    return Scalars(best[:layers], np.append(best[layers:], 0.0))


def corrected_loss(
    scalars: Float[FloatVector, " scalars"], law: Spectrum, layers: int
) -> tuple[float, Float[FloatVector, " scalars"]]:
    """The expected loss E Σ_i b(λ_i)² of GD++ on a whitened spectrum, and its gradient.

    With A_l = −a_l Σ⁻¹ and B_l = β_l I all matrices of the recursion are polynomials of S_z, and
    for every eigenvalue λ (derived): b ← b (1 − a c² λ), c ← c (1 − a β c² λ), from b = c = 1.

    Args:
        scalars: a_0 … a_{L−1}, β_0 … β_{L−2}; the last β reaches no output.
        law: a whitened spectrum.
        layers: L.

    Returns:
        The loss, and its gradient in the scalars.
    """
    steps, corrections = scalars[:layers], np.append(scalars[layers:], 0.0)
    nodes = law.eigenvalues
    b, c, moves = [np.ones_like(nodes)], [np.ones_like(nodes)], []
    for step, correction in zip(steps, corrections, strict=True):
        moves.append(step * c[-1] ** 2 * nodes)
        b.append(b[-1] * (1.0 - moves[-1]))
        c.append(c[-1] * (1.0 - correction * moves[-1]))
    gradient = np.zeros((2, layers))
    to_b, to_c = 2.0 * law.weighed(b[-1]), np.zeros_like(nodes)
    for layer in reversed(range(layers)):
        move, correction = moves[layer], corrections[layer]
        to_move = -to_b * b[layer] - to_c * c[layer] * correction
        gradient[0, layer] = np.sum(to_move * c[layer] ** 2 * nodes)
        gradient[1, layer] = -np.sum(to_c * c[layer] * move)
        to_b = to_b * (1.0 - move)
        to_c = to_c * (1.0 - correction * move) + to_move * 2.0 * steps[layer] * c[layer] * nodes
    return law.expected_loss(b[-1]), gradient.ravel()[:-1]
