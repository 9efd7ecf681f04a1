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

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import roots_genlaguerre
from torch import Tensor

from reproaudit.lab import Array

FloatVector = NDArray[np.float64]


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
    tr(W Σ)/n Σ give tr(Σ W) + 2 tr(Σ Aᵀ Σ W) + tr(Σ Aᵀ E[S W S] A). For W = Σ⁻¹ it is
    d + 2 tr(AΣ) + (1 + (d + 1)/n) tr(Aᵀ Σ A Σ), least at A = −n/(n + d + 1) Σ⁻¹.

    Args:
        A: of the layer.
        covariance: Σ.
        n: pairs per prompt.
        of_weights: W; None for Σ⁻¹.
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
        weights: the G of the module's text, times the chance of its prompt.
    """

    eigenvalues: Float[Tensor, "batch d"]
    weights: Float[Tensor, "batch d d"]

    @classmethod
    def of(cls, S: Float[Array, "batch d d"], covariance: Float[Array, "d d"]) -> Spectrum:
        """The spectrum of equally likely prompts, from their S and Σ, or whitened S and I."""
        eigenvalues, V = np.linalg.eigh(np.asarray(S, np.float64))
        V_t = V.transpose(0, 2, 1)
        weights = (V_t @ covariance @ V) * (V_t @ np.linalg.inv(covariance) @ V)
        return cls(torch.from_numpy(eigenvalues), torch.from_numpy(weights / len(weights)))

    def descent_loss(self, steps: Float[Tensor, " steps"]) -> Float[Tensor, ""]:
        """The expected loss of preconditioned descent, p(λ) = Π_l (1 − a_l λ)."""
        return self._expected(torch.prod(1.0 - steps[:, None, None] * self.eigenvalues, dim=0))

    def corrected_loss(self, scalars: Float[Tensor, " scalars"]) -> Float[Tensor, ""]:
        """The expected loss of GD++, A_l = −a_l Σ⁻¹ and B_l = β_l I, on a whitened spectrum.

        All matrices of the recursion are polynomials of S_z, and for every eigenvalue λ (derived):
        b ← b (1 − a c² λ), c ← c (1 − a β c² λ), from b = c = 1.

        Args:
            scalars: a_0 … a_{L−1}, β_0 … β_{L−2}; the last β reaches no output.
        """
        layers = (len(scalars) + 1) // 2
        b = c = torch.ones_like(self.eigenvalues)
        for a, beta in zip(scalars[:layers], [*scalars[layers:], 0.0], strict=True):
            move = a * c**2 * self.eigenvalues
            b, c = b * (1.0 - move), c * (1.0 - beta * move)
        return self._expected(b)

    def _expected(self, values: Float[Tensor, "batch d"]) -> Float[Tensor, ""]:
        return torch.sum((self.weights @ values[:, :, None])[:, :, 0] * values)


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
    weights = chances[:, None, None] * np.eye(d)
    return Spectrum(torch.from_numpy(points.reshape(-1, d)), torch.from_numpy(weights))


def best_constant_step(spectrum: Spectrum, layers: int) -> float:
    """The step a that minimises the expected loss of `layers` equal steps.

    With G = I the loss is convex in a; the search runs over [0, 2/mean λ], beyond which the
    average direction grows.
    """
    shares = spectrum.weights.sum(dim=1)
    bound = 2.0 * float(shares.sum() / (shares * spectrum.eigenvalues).sum())

    def loss(step: float) -> float:
        return float(spectrum.descent_loss(torch.full((layers,), step, dtype=torch.float64)))

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
    return np.sort(_minimiser(spectrum.descent_loss, starts))


def best_corrected_descent(
    law: Spectrum, layers: int
) -> tuple[Float[FloatVector, " layers"], Float[FloatVector, " layers"]]:
    """The best a_l and β_l of GD++ found from several starts; never worse than `best_steps`.

    Args:
        law: a whitened spectrum.
        layers: L.

    Returns:
        The a_l and the β_l, of which the last does not matter and is 0.
    """
    steps = best_steps(law, layers)
    starts = [
        np.concatenate([order, np.full(layers - 1, beta)])
        for order in (steps, steps[::-1])
        for beta in (0.0, 0.3, 1.0)
    ]
    best = _minimiser(law.corrected_loss, starts)
    return best[:layers], np.append(best[layers:], 0.0)


def _minimiser(loss: Callable[[Tensor], Tensor], starts: Sequence[FloatVector]) -> FloatVector:
    """Where a loss is least, by the best search from several starts, with autograd's gradient."""

    def with_gradient(scalars: FloatVector) -> tuple[float, FloatVector]:
        tensor = torch.tensor(scalars, requires_grad=True)
        value = loss(tensor)
        return value.item(), torch.autograd.grad(value, tensor)[0].numpy()

    with np.errstate(over="ignore", invalid="ignore"):  # a line search may step far out, and back
        found = [minimize(with_gradient, start, jac=True, method="BFGS") for start in starts]
    return np.asarray(min(found, key=lambda result: float(result.fun)).x)


def matrices_of(
    covariance: Float[Array, "d d"],
    steps: Float[FloatVector, " layers"],
    corrections: Float[FloatVector, " layers"],
) -> tuple[Float[FloatVector, "layers d d"], Float[FloatVector, "layers d d"]]:
    """The model of the theorems: A_l = −a_l Σ⁻¹ and B_l = β_l I.

    With all β_l = 0 it performs preconditioned gradient descent (the paper's construction,
    recalled, verified by test); otherwise GD++.

    Args:
        covariance: Σ.
        steps: the a_l.
        corrections: the β_l.
    """
    A = -np.asarray(steps)[:, None, None] * np.linalg.inv(covariance)
    return A, np.asarray(corrections)[:, None, None] * np.eye(len(covariance))
