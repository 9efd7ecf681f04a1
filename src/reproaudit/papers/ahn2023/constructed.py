"""Constructed solutions, built without training, and the step sizes of descent.

An L-layer model of the kinds below multiplies the label part w of a prompt by a polynomial p of
the prompt's second-moment matrix, so that its loss, over w ~ N(0, Σ⁻¹) and the query ~ N(0, Σ), is

    E pᵀ G p,  p_i = p(λ_i),  G_ij = (Vᵀ Σ V)_ij (Vᵀ Σ⁻¹ V)_ij,

for the eigenvalues λ and eigenvectors V of S. With the preconditioner Σ⁻¹, S is replaced by the
whitened S_z = R⁻¹ S R⁻ᵀ (Σ = R Rᵀ) and Σ by I, so that G = I and the loss is E Σ_i p(λ_i)².
(Derived.) Scalars are chosen on selection data of the caller's, which must not be the test data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal
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
    """

    eigenvalues: Float[FloatVector, "batch d"]
    weights: Float[FloatVector, "batch d d"] | None = None

    @property
    def mean(self) -> float:
        """The mean of the eigenvalues, as the loss weighs them: E 1ᵀ G λ / E 1ᵀ G 1."""
        if self.weights is None:
            return float(np.mean(self.eigenvalues))
        shares = self.weights.sum(axis=1)
        return float(np.sum(shares * self.eigenvalues) / np.sum(shares))

    def condensed(self, nodes: int) -> Spectrum:
        """One prompt of ``nodes`` eigenvalues that stands for all, for p of degree below nodes.

        The eigenvalues are the nodes of their Gauss rule. With G = I the rule's weights are the new
        G; otherwise p is what its values at the nodes make of it, Σ_k p(node_k) ℓ_k, and the new G
        is E ℓᵀ G ℓ (derived; with G = I the two agree).
        """
        points, weights = gauss_rule(self.eigenvalues.ravel(), nodes)
        if self.weights is None:
            return Spectrum(points[None], np.diag(weights * self.eigenvalues.shape[1])[None])
        basis = lagrange_basis(points, self.eigenvalues)
        gram = np.tensordot(basis, self.weights @ basis, ((0, 1), (0, 1))) / len(basis)
        return Spectrum(points[None], gram[None])

    def expected_loss(self, values: Float[FloatVector, "batch d"]) -> float:
        """Mean of pᵀ G p, for the polynomial's values p at the eigenvalues."""
        return float(np.mean(np.sum(values * self._weighed(values), axis=1)))

    def _weighed(self, values: FloatVector) -> FloatVector:
        if self.weights is None:
            return values
        return np.asarray((self.weights @ values[:, :, None])[:, :, 0])

    def descent_loss(self, steps: StepSizes) -> tuple[float, Float[FloatVector, " steps"]]:
        """The expected loss of p(λ) = Π_l (1 − a_l λ), and its gradient in the steps a."""
        factors = 1.0 - np.asarray(steps)[:, None, None] * self.eigenvalues
        values = np.prod(factors, axis=0)
        weighed = self._weighed(values)
        slopes = np.array(
            [
                -2.0 * np.sum(weighed * self.eigenvalues * np.prod(np.delete(factors, l_, 0), 0))
                for l_ in range(len(factors))
            ]
        )
        return self.expected_loss(values), slopes / len(values)


def whitened_spectrum(S: Float[Array, "batch d d"], covariance: Float[Array, "d d"]) -> Spectrum:
    """For descent preconditioned with Σ⁻¹.

    Args:
        S: the second moments of the selection prompts.
        covariance: Σ.
    """
    whiten = np.linalg.inv(np.linalg.cholesky(covariance))
    whitened = whiten @ np.asarray(S, np.float64) @ whiten.T
    return Spectrum(np.asarray(np.linalg.eigvalsh(_symmetric(whitened)), np.float64))


def plain_spectrum(S: Float[Array, "batch d d"], covariance: Float[Array, "d d"]) -> Spectrum:
    """For descent without preconditioner; arguments as for `whitened_spectrum`."""
    eigenvalues, V = np.linalg.eigh(_symmetric(np.asarray(S, np.float64)))
    V_t = V.transpose(0, 2, 1)
    weights = (V_t @ covariance @ V) * (V_t @ np.linalg.inv(covariance) @ V)
    return Spectrum(eigenvalues, weights)


def _symmetric(matrices: FloatVector) -> FloatVector:
    return 0.5 * (matrices + matrices.transpose(0, 2, 1))


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
    found = [
        minimize(spectrum.descent_loss, start, jac=True, method="BFGS", options={"gtol": 1e-9})
        for start in starts
    ]
    return np.sort(min(found, key=lambda result: float(result.fun)).x)


def preconditioned_descent(
    covariance: Float[Array, "d d"], steps: StepSizes
) -> tuple[Float[FloatVector, "layers d d"], Float[FloatVector, "layers d d"]]:
    """The model that performs preconditioned gradient descent: A_l = −a_l Σ⁻¹, B_l = 0.

    Args:
        covariance: Σ.
        steps: the a_l, for example of `best_steps`.

    Returns:
        A and B. Source: the paper's construction (recalled), verified by test.
    """
    A = -np.asarray(steps)[:, None, None] * np.linalg.inv(covariance)
    return A, np.zeros_like(A)


@dataclass(frozen=True)
class CorrectedDescent:
    """Scalars of GD++: A_l = −a_l Σ⁻¹ and B_l = β_l I.

    Attributes:
        steps: the a_l.
        corrections: the β_l; the last does not matter and is 0.
        expected_loss: on the selection data.
    """

    steps: Float[FloatVector, " layers"]
    corrections: Float[FloatVector, " layers"]
    expected_loss: float

    def matrices(
        self, covariance: Float[Array, "d d"]
    ) -> tuple[Float[FloatVector, "layers d d"], Float[FloatVector, "layers d d"]]:
        """A and B."""
        A, B = preconditioned_descent(covariance, self.steps)
        return A, B + self.corrections[:, None, None] * np.eye(len(covariance))


def best_corrected_descent(law: Spectrum, layers: int) -> CorrectedDescent:
    """The best scalars of GD++ found from several starts; never worse than `best_steps`.

    With A_l = −a_l Σ⁻¹ and B_l = β_l I all matrices of the recursion are polynomials of S_z, and
    for every eigenvalue λ (derived): b ← b (1 − a c² λ), c ← c (1 − a β c² λ), from b = c = 1.

    Args:
        law: of whitened moments, by `law_of_moments` or `Spectrum.condensed` with `nodes_for`
            nodes or more.
        layers: L.

    Raises:
        ValueError: for a spectrum of prompts.
    """
    if law.weights is None or len(law.eigenvalues) != 1:
        raise ValueError("GD++ is chosen on a condensed spectrum")
    nodes, weights = law.eigenvalues[0], np.diagonal(law.weights[0])
    steps = best_steps(law, layers)
    starts = [
        np.concatenate([order, np.full(layers - 1, beta)])
        for order in (steps, steps[::-1])
        for beta in (0.0, 0.3, 1.0)
    ]
    with np.errstate(over="ignore", invalid="ignore"):  # a line search may step far out, and back
        found = [
            minimize(corrected_loss, start, (nodes, weights, layers), jac=True, method="BFGS")
            for start in starts
        ]
    best = min(found, key=lambda result: float(result.fun))
    corrections = np.append(best.x[layers:], 0.0)
    return CorrectedDescent(best.x[:layers], corrections, float(best.fun))


def nodes_for(layers: int) -> int:
    """The number of nodes that gives GD++'s loss exactly: b has degree (3^L − 1)/2 (derived)."""
    return int((3**layers - 1) // 2 + 1)


def law_of_moments(shapes: Float[Array, "batch d d"], n: int, nodes: int) -> Spectrum:
    """A condensed spectrum of the law of S_z itself, tail included.

    The trace of n S_z is χ² with n d degrees of freedom and independent of S_z / tr S_z (derived).
    The tail of the law is in the trace, whose mean a Gauss–Laguerre rule takes exactly; a sample
    serves for the shape alone, whose eigenvalues are bounded.

    Args:
        shapes: a sample of S_z or of any multiples of it.
        n: pairs per prompt.
        nodes: polynomials of degree below 2 · nodes are integrated exactly over the trace.
    """
    d = shapes.shape[-1]
    eigenvalues = np.linalg.eigvalsh(_symmetric(np.asarray(shapes, np.float64)))
    shares, of_share = gauss_rule((eigenvalues / eigenvalues.sum(1, keepdims=True)).ravel(), nodes)
    half_trace, of_trace = roots_genlaguerre(nodes, n * d / 2.0 - 1.0)
    points = np.outer(2.0 * half_trace / n, shares).ravel()
    weights = np.outer(of_trace / of_trace.sum(), of_share).ravel()
    values, of_value = gauss_rule(points, nodes, weights / weights.sum())
    return Spectrum(values[None], np.diag(d * of_value)[None])


def corrected_loss(
    scalars: Float[FloatVector, " scalars"],
    nodes: Float[FloatVector, " nodes"],
    weights: Float[FloatVector, " nodes"],
    layers: int,
) -> tuple[float, Float[FloatVector, " scalars"]]:
    """Σ_k weight_k b(λ_k)² of GD++ at the nodes λ_k, and its gradient.

    Args:
        scalars: a_0 … a_{L−1}, β_0 … β_{L−2}; the last β reaches no output.
        nodes: the λ_k.
        weights: of the nodes.
        layers: L.

    Returns:
        The loss, and its gradient in the scalars.
    """
    steps, corrections = scalars[:layers], np.append(scalars[layers:], 0.0)
    b, c, moves = [np.ones_like(nodes)], [np.ones_like(nodes)], []
    for step, correction in zip(steps, corrections, strict=True):
        moves.append(step * c[-1] ** 2 * nodes)
        b.append(b[-1] * (1.0 - moves[-1]))
        c.append(c[-1] * (1.0 - correction * moves[-1]))
    gradient = np.zeros((2, layers))
    to_b, to_c = 2.0 * weights * b[-1], np.zeros_like(nodes)
    for layer in reversed(range(layers)):
        move, correction = moves[layer], corrections[layer]
        to_move = -to_b * b[layer] - to_c * c[layer] * correction
        gradient[0, layer] = to_move @ (c[layer] ** 2 * nodes)
        gradient[1, layer] = -to_c @ (c[layer] * move)
        to_b = to_b * (1.0 - move)
        to_c = to_c * (1.0 - correction * move) + to_move * 2.0 * steps[layer] * c[layer] * nodes
    return float(weights @ b[-1] ** 2), gradient.ravel()[:-1]


def gauss_rule(
    points: Float[FloatVector, " points"],
    count: int,
    weights: Float[FloatVector, " points"] | None = None,
) -> tuple[Float[FloatVector, " nodes"], Float[FloatVector, " nodes"]]:
    """A few nodes with weights that stand for many points: Σ_k weight_k p(node_k) = E p(point).

    Exact for every polynomial p of degree below 2 · count. The Lanczos process on the diagonal
    matrix of the points, begun at the roots of their weights, gives the recurrence of the
    polynomials that are orthogonal over the points; the eigenvalues of its Jacobi matrix are the
    nodes, and the squared first entries of its eigenvectors the weights. Source: Golub and Welsch,
    Mathematics of Computation 23 (1969).

    Args:
        points: of the law, equally likely unless weighed.
        count: how many nodes; fewer come back where fewer points differ.
        weights: of the points, summing to 1; None for equal ones.

    Returns:
        Nodes and weights, of equal length; the weights sum to 1.
    """
    basis = np.zeros((count, len(points)))
    basis[0] = 1.0 / np.sqrt(len(points)) if weights is None else np.sqrt(weights)
    diagonal, beside = [], []
    for k in range(count):
        following = points * basis[k]
        diagonal.append(float(basis[k] @ following))
        for _ in range(2):  # once leaves the rounding that the Lanczos process is known for
            following -= (basis[: k + 1] @ following) @ basis[: k + 1]
        length = float(np.linalg.norm(following))
        if k + 1 == count or length <= 1e-12 * float(np.abs(points).max()):  # rounding is left
            break
        beside.append(length)
        basis[k + 1] = following / length
    nodes, vectors = eigh_tridiagonal(np.array(diagonal), np.array(beside))
    return np.asarray(nodes, np.float64), np.asarray(vectors[0] ** 2, np.float64)


def lagrange_basis(
    nodes: Float[FloatVector, " nodes"], points: Float[FloatVector, "*shape"]
) -> Float[FloatVector, "*shape nodes"]:
    """The polynomials that are 1 at one node and 0 at the others, at the points.

    Args:
        nodes: distinct.
        points: where to evaluate.
    """
    basis = [
        np.prod([(points - other) / (node - other) for other in np.delete(nodes, k)], axis=0)
        for k, node in enumerate(nodes)
    ]
    return np.stack([np.broadcast_to(one, points.shape) for one in basis], axis=-1)
