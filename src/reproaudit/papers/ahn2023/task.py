"""The paper's task: linear regressions in context, with random covariances, weights and inputs.

A prompt is n pairs (x_i, w·x_i) and a query x_{n+1}; x ~ N(0, Σ), w ~ N(0, Σ⁻¹), Σ = U D² Uᵀ
(section 2 of the paper; D, U and the law of w from the released code). `training` draws everything
from generators of a seed and a purpose alone, so training and test data cannot overlap and a
resumed run needs no generator's state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import DTypeLike

from reproaudit.lab import Array

PAPER_SCALES = (1.0, 1.0, 0.5, 0.25, 1.0)
"""The diagonal of D in the released code."""


@dataclass(frozen=True)
class ProblemSettings:
    """Settings of all experiments; the audit documents every field."""

    dimension: int
    pairs: int
    covariance_scales: tuple[float, ...]
    initial_scale: float
    prompts: int
    redraw_every: int
    betas: tuple[float, ...]
    epsilon: float
    clip: float
    precision: Literal["float32", "float64"]
    test_prompts: int
    b_matrices: Literal["free", "zero"]
    targets: Literal["own", "shuffled"]
    weights: Literal["trained", "constructed"]


@dataclass(frozen=True)
class TrainingSettings(ProblemSettings):
    """Settings of what is trained with Adam."""

    steps: int
    learning_rate: float
    halve_every: int


class Covariance:
    """Σ = R Rᵀ by its root R = U D, with Σ⁻¹ and the positive root Σ^{1/2}.

    Weights are w = W v, v standard normal, with the weight root W, R⁻ᵀ if none is given.
    """

    def __init__(
        self, root: Float[Array, "d d"], weight_root: Float[Array, "d d"] | None = None
    ) -> None:
        inverse_root = np.linalg.inv(root).T
        self.root = root
        self.dim = len(root)
        self.other_weights = weight_root is not None
        self.weight_root = inverse_root if weight_root is None else weight_root
        self.matrix = root @ root.T
        self.inverse = inverse_root @ inverse_root.T
        values, vectors = np.linalg.eigh(self.matrix)
        self.symmetric_root = (vectors * np.sqrt(values)) @ vectors.T

    def whitened(self, A: Float[Array, "layers d d"]) -> Float[Array, "layers d d"]:
        """Σ^{1/2} A_l Σ^{1/2}, a multiple of I where A_l is one of Σ⁻¹ (Theorem 3)."""
        return np.asarray(self.symmetric_root @ A @ self.symmetric_root)


def draw_covariance(
    rng: np.random.Generator, scales: tuple[float, ...] = PAPER_SCALES
) -> Covariance:
    """Draws Σ = U D² Uᵀ, U the left singular vectors of a matrix uniform on [−1, 1] (code).

    The scales are the diagonal of D.
    """
    d = len(scales)
    U, _, _ = np.linalg.svd(rng.uniform(-1.0, 1.0, (d, d)))
    return Covariance(U * np.asarray(scales))


def distance_to_identity(M: Float[Array, "*layers d d"]) -> Float[Array, "*layers"]:
    """Computes Dist(M, I) = min_α ‖M − αI‖_F / ‖M‖_F of the figures, reached at α = tr M / d.

    A zero matrix has distance 1: it points nowhere.
    """
    d = M.shape[-1]
    alpha = np.trace(M, axis1=-2, axis2=-1) / d
    rest = np.linalg.norm(M - alpha[..., None, None] * np.eye(d), axis=(-2, -1))
    whole = np.linalg.norm(M, axis=(-2, -1))
    return np.asarray(np.divide(rest, whole, out=np.ones_like(rest), where=whole > 0))


@dataclass(frozen=True)
class Prompts:
    """Prompts with every input: pairs (x_i, w·x_i) and the query x_{n+1}.

    If shuffled (a control), the labels in a prompt are of the weights of the prompt before it,
    while the target stays its own.
    """

    x: Float[Array, "batch n d"]
    w: Float[Array, "batch d"]
    query: Float[Array, "batch d"]
    covariance: Covariance
    shuffled: bool = False

    @property
    def label_weights(self) -> Float[Array, "batch d"]:
        """The regression weights of the labels."""
        return np.roll(self.w, 1, axis=0) if self.shuffled else self.w

    @property
    def moment(self) -> Float[Array, "batch d d"]:
        """S = (1/n) Σ_i x_i x_iᵀ."""
        return np.asarray(self.x.transpose(0, 2, 1) @ self.x / self.x.shape[1])

    def first(self, count: int) -> Prompts:
        """The first of these prompts, all of them if there are fewer."""
        return replace(self, x=self.x[:count], w=self.w[:count], query=self.query[:count])


def draw_prompts(
    covariance: Covariance,
    batch: int,
    n: int,
    rng: np.random.Generator,
    dtype: DTypeLike = np.float32,
) -> Prompts:
    """Draws prompts with every input: x ~ N(0, Σ), w ~ N(0, Σ⁻¹), the query like the inputs (code).

    Both precisions are the same draw but for rounding.
    """
    d = covariance.dim
    shapes = ((batch, n, d), (batch, d), (batch, d))
    z, v, z_query = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    root, weight_root = (R.T.astype(dtype) for R in (covariance.root, covariance.weight_root))
    return Prompts(z @ root, v @ weight_root, z_query @ root, covariance)
