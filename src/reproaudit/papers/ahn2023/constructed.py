"""Constructed solutions, built without training, and the baselines: steps of descent.

An L-layer model of the kinds below multiplies the label part w of a prompt by a polynomial p of
the prompt's second-moment matrix, so that its loss, over w ~ N(0, Σ⁻¹) and the query ~ N(0, Σ), is

    E pᵀ G p,  p_i = p(λ_i),  G_ij = (Vᵀ Σ V)_ij (Vᵀ Σ⁻¹ V)_ij,

for the eigenvalues λ and eigenvectors V of S. With the preconditioner Σ⁻¹, S is replaced by the
whitened S_z = R⁻¹ S R⁻ᵀ (Σ = R Rᵀ) and Σ by I, so that G = I and the loss is E Σ_i p(λ_i)².
(Derived.) Scalars are chosen on selection data of the caller's, which must not be the test data.

Descent on a prompt's squared error from 0 leaves of w the residual b = Π_l (I − a_l P S) w, with
P = Σ⁻¹ or no preconditioner; the error of its prediction is −b·x_{n+1}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import roots_genlaguerre
from torch import Tensor

from reproaudit.lab import Array
from reproaudit.papers.ahn2023.task import Prompts

FloatVector = NDArray[np.float64]
Square = Float[Array, "d d"]


def printed_optimum(covariance: Square, n: int) -> Float[FloatVector, "1 d d"]:
    """Returns A_0* = −((n + 1)/n Σ + tr(Σ)/n I)⁻¹, the optimum for w ~ N(0, I) (Theorem 1)."""
    d = len(covariance)
    curvature = (n + 1) / n * covariance + np.trace(covariance) / n * np.eye(d)
    return -np.linalg.inv(curvature)[None]


def one_layer_loss(A: Square, covariance: Square, n: int, W: Square | None = None) -> float:
    """Computes the exact population loss of one layer with any A (derived).

    With W the covariance of the weights, None for Σ⁻¹, b = (I + Aᵀ S) w and E[S W S] =
    (1 + 1/n) Σ W Σ + tr(W Σ)/n Σ give tr(Σ W) + 2 tr(Σ Aᵀ Σ W) + tr(Σ Aᵀ E[S W S] A). For
    W = Σ⁻¹ it is least at A = −n/(n + d + 1) Σ⁻¹.
    """
    W = np.linalg.inv(covariance) if W is None else W
    second = (1.0 + 1.0 / n) * covariance @ W @ covariance
    second = second + np.trace(W @ covariance) / n * covariance
    linear = np.trace(covariance @ A.T @ covariance @ W)
    return float(np.trace(covariance @ W) + 2.0 * linear + np.trace(covariance @ A.T @ second @ A))


@dataclass(frozen=True)
class Spectrum:
    """The eigenvalues of S or of the whitened S, and the weights G times the prompt's chance."""

    eigenvalues: Float[Tensor, "batch d"]
    weights: Float[Tensor, "batch d d"]

    @classmethod
    def of(cls, S: Float[Array, "batch d d"], covariance: Square) -> Spectrum:
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
        b ← b (1 − a c² λ), c ← c (1 − a β c² λ), from b = c = 1. The scalars are a_0 … a_{L−1} and
        β_0 … β_{L−2}; the last β reaches no output.
        """
        layers = (len(scalars) + 1) // 2
        b = c = torch.ones_like(self.eigenvalues)
        for a, beta in zip(scalars[:layers], [*scalars[layers:], 0.0], strict=True):
            move = a * c**2 * self.eigenvalues
            b = b * (1.0 - move)
            c = c * (1.0 - beta * move)
        return self._expected(b)

    def _expected(self, values: Float[Tensor, "batch d"]) -> Float[Tensor, ""]:
        return torch.sum((self.weights * values[:, None, :]).sum(dim=2) * values)


def law_of_moments(rng: np.random.Generator, points: int, n: int, d: int, layers: int) -> Spectrum:
    """Samples the law of the whitened S, tail included.

    The trace of n S_z is χ² with n d degrees of freedom and independent of S_z / tr S_z (derived).
    The tail of the law is in the trace, whose mean a Gauss–Laguerre rule takes exactly, since the
    loss of GD++ is of degree 3^L − 1 in it (derived); a sample serves for the shape alone, whose
    eigenvalues are bounded. Where G = I each eigenvalue may stand alone; there are points · d.
    """
    nodes = (3**layers - 1) // 2 + 1
    shapes = points // nodes
    z = rng.standard_normal((shapes, n, d))
    eigenvalues = np.linalg.eigvalsh(z.transpose(0, 2, 1) @ z)
    shares = eigenvalues / eigenvalues.sum(axis=1, keepdims=True)
    half_traces, masses = roots_genlaguerre(nodes, n * d / 2.0 - 1.0)
    values = np.outer(2.0 * half_traces / n, shares).reshape(-1, 1)
    chances = np.repeat(masses / masses.sum() / shapes, shapes * d)
    return Spectrum(torch.from_numpy(values), torch.from_numpy(chances[:, None, None]))


def best_constant_step(spectrum: Spectrum, layers: int) -> float:
    """Finds the best of equal steps in [0, 2/mean λ]; beyond it the average direction grows."""
    shares = spectrum.weights.sum(dim=1)
    bound = 2.0 * float(shares.sum() / (shares * spectrum.eigenvalues).sum())

    def loss(step: float) -> float:
        return float(spectrum.descent_loss(torch.full((layers,), step, dtype=torch.float64)))

    found = minimize_scalar(loss, bounds=(0.0, bound), method="bounded", options={"xatol": 1e-9})
    return float(found.x)


def best_steps(spectrum: Spectrum, layers: int) -> Float[FloatVector, " layers"]:
    """Finds the steps a_1 … a_L, in ascending order, that minimise the expected loss.

    The search starts from the best constant step, spread out, because at equal steps the gradient
    cannot tell them apart.
    """
    constant = best_constant_step(spectrum, layers)
    if layers == 1:
        return np.array([constant])
    starts = [constant * np.linspace(1.0 - spread, 1.0 + spread, layers) for spread in (0.3, 0.6)]
    return np.sort(_minimiser(spectrum.descent_loss, starts))


def best_corrected_descent(law: Spectrum, layers: int) -> tuple[FloatVector, FloatVector]:
    """Finds the best a_l and β_l of GD++ on a whitened spectrum; the last β does not matter.

    They are never worse than `best_steps`, from which the search starts.
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
        search = partial(minimize, with_gradient, jac=True, method="BFGS", options={"gtol": 1e-8})
        found = [search(start) for start in starts]
    return np.asarray(min(found, key=lambda result: float(result.fun)).x)


def matrices_of(
    covariance: FloatVector, steps: FloatVector, corrections: FloatVector
) -> tuple[Float[FloatVector, "layers d d"], Float[FloatVector, "layers d d"]]:
    """Returns A_l = −a_l Σ⁻¹ and B_l = β_l I, the model of the theorems.

    With all β_l = 0 it performs preconditioned gradient descent (the paper's construction,
    recalled, verified by test); otherwise GD++.
    """
    A = -np.asarray(steps)[:, None, None] * np.linalg.inv(covariance)
    return A, np.asarray(corrections)[:, None, None] * np.eye(len(covariance))


def fair_losses(test: Prompts, validation: Prompts, steps: int) -> list[float]:
    """Computes test losses of descent with all pairs and the best step sizes on other prompts.

    Without and with preconditioner; each with one step size, then with one for each step.
    """
    sigma = test.covariance.matrix
    inverse = test.covariance.inverse
    whiten = np.linalg.inv(np.linalg.cholesky(sigma))
    S = np.asarray(validation.moment, np.float64)
    plain = Spectrum.of(S, sigma)
    whitened = Spectrum.of(whiten @ S @ whiten.T, np.eye(len(sigma)))
    losses = []
    for spectrum, preconditioner in ((plain, None), (whitened, inverse)):
        for sizes in ([best_constant_step(spectrum, steps)] * steps, best_steps(spectrum, steps)):
            losses.append(descent_loss(test.moment, test.w, test.query, sizes, preconditioner))
    return losses


def descent_loss(
    S: Float[Array, "batch d d"],
    w: Float[Array, "batch d"],
    query: Float[Array, "batch d"],
    steps: Sequence[float] | Float[Array, " steps"],
    preconditioner: Float[Array, "d d"] | None = None,
) -> float:
    """Computes the mean squared error on the queries after descent from 0 with these step sizes.

    S are the second moments of the pairs that it uses; no preconditioner stands for I.
    """
    S64 = np.asarray(S, np.float64)
    b = np.asarray(w, np.float64)
    for step in steps:
        gradient = (S64 @ b[:, :, None])[:, :, 0]
        b = b - step * (gradient if preconditioner is None else gradient @ preconditioner.T)
    return float(np.mean(np.sum(b * np.asarray(query, np.float64), axis=1) ** 2))
