"""The paper's task: linear regressions in context, with random covariances, weights and inputs.

A prompt is n pairs (x_i, w·x_i) and a query x_{n+1}; x ~ N(0, Σ), w ~ N(0, Σ⁻¹), Σ = U D² Uᵀ
(section 2 of the paper; D, U and the law of w from the released code). Every draw is a function of
a seed and a purpose alone, so training and test data cannot overlap and a resumed run needs no
generator's state. `minibatches` draws the prompts of training in the fast form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.typing import DTypeLike

from reproaudit.lab import Array, generator

PAPER_SCALES = (1.0, 1.0, 0.5, 0.25, 1.0)
"""The diagonal of D in the released code."""


@dataclass(frozen=True)
class Covariance:
    """Σ = R Rᵀ by its root.

    Attributes:
        root: R = U D.
        weight_root: W of the weights w = W v, v standard normal; None for R⁻ᵀ, w ~ N(0, Σ⁻¹).
    """

    root: Float[Array, "d d"]
    weight_root: Float[Array, "d d"] | None = None

    @property
    def dim(self) -> int:
        """The d of the task."""
        return len(self.root)

    @property
    def matrix(self) -> Float[Array, "d d"]:
        """Σ."""
        return np.asarray(self.root @ self.root.T)

    @property
    def inverse(self) -> Float[Array, "d d"]:
        """Σ⁻¹."""
        return np.asarray(self._inverse_root @ self._inverse_root.T)

    @property
    def symmetric_root(self) -> Float[Array, "d d"]:
        """Σ^{1/2}, the positive one."""
        values, vectors = np.linalg.eigh(self.matrix)
        return np.asarray((vectors * np.sqrt(values)) @ vectors.T)

    @property
    def dual(self) -> Float[Array, "d d"]:
        """The matrix by which whitened weights become weights: R⁻ᵀ, or another weight root."""
        return self._inverse_root if self.weight_root is None else self.weight_root

    @property
    def with_identity_weights(self) -> Covariance:
        """The same Σ with w ~ N(0, I)."""
        return Covariance(self.root, np.eye(self.dim))

    @cached_property
    def _inverse_root(self) -> Float[Array, "d d"]:
        return np.asarray(np.linalg.inv(self.root).T)


def draw_covariance(
    rng: np.random.Generator, scales: tuple[float, ...] = PAPER_SCALES
) -> Covariance:
    """Σ = U D² Uᵀ, U the left singular vectors of a matrix uniform on [−1, 1] (released code).

    Args:
        rng: whose state moves on.
        scales: the diagonal of D.
    """
    d = len(scales)
    U, _, _ = np.linalg.svd(rng.uniform(-1.0, 1.0, (d, d)))
    return Covariance(U * np.asarray(scales))


def isotropic(dim: int) -> Covariance:
    """Σ = I, the released code's identity-covariance variant."""
    return Covariance(np.eye(dim))


@dataclass(frozen=True)
class Prompts:
    """Prompts as drawn, in whitened coordinates: x_i = R z_i, w = R⁻ᵀ v, x_{n+1} = R z_{n+1}.

    Attributes:
        z: the whitened inputs.
        v: the whitened regression weights; v·z = w·x where w ~ N(0, Σ⁻¹).
        z_query: the whitened query.
        covariance: Σ.
        shuffled: whether the labels in a prompt are of the weights of the prompt before it, while
            the target stays its own (a control).
    """

    z: Float[Array, "batch n d"]
    v: Float[Array, "batch d"]
    z_query: Float[Array, "batch d"]
    covariance: Covariance
    shuffled: bool = False

    @property
    def x(self) -> Float[Array, "batch n d"]:
        """The inputs of the pairs."""
        return np.asarray(self.z @ self.covariance.root.T.astype(self.z.dtype))

    @property
    def w(self) -> Float[Array, "batch d"]:
        """The regression weights."""
        return np.asarray(self.v @ self.covariance.dual.T.astype(self.v.dtype))

    @property
    def label_weights(self) -> Float[Array, "batch d"]:
        """The regression weights of the labels."""
        return np.roll(self.w, 1, axis=0) if self.shuffled else self.w

    @property
    def query(self) -> Float[Array, "batch d"]:
        """The query x_{n+1}."""
        return np.asarray(self.z_query @ self.covariance.root.T.astype(self.z.dtype))

    @property
    def moment(self) -> Float[Array, "batch d d"]:
        """S = (1/n) Σ_i x_i x_iᵀ."""
        return np.asarray(self.x.transpose(0, 2, 1) @ self.x / self.z.shape[1])

    def first(self, count: int) -> Prompts:
        """The first of these prompts, all of them if there are fewer."""
        return Prompts(self.z[:count], self.v[:count], self.z_query[:count], self.covariance)


def draw_prompts(
    covariance: Covariance,
    batch: int,
    n: int,
    *,
    seed: int,
    purpose: str,
    dtype: DTypeLike = np.float32,
) -> Prompts:
    """Prompts with every input: x ~ N(0, Σ), w ~ N(0, Σ⁻¹), the query like the inputs (code).

    Args:
        covariance: Σ.
        batch: how many prompts.
        n: examples per prompt.
        seed: see `reproaudit.lab.generator`, as for purpose.
        purpose: what they are for.
        dtype: float32 or float64; both are the same draw but for rounding.
    """
    rng, d = generator(seed, purpose), covariance.dim
    shapes = ((batch, n, d), (batch, d), (batch, d))
    z, v, z_query = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    return Prompts(z, v, z_query, covariance)
