"""From trained matrices to what is measured of them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from reproaudit.lab import Array
from reproaudit.papers.ahn2023.task import Covariance


def distance_to_identity(M: Float[Array, "*layers d d"]) -> Float[Array, "*layers"]:
    """Dist(M, I) = min_α ‖M − αI‖_F / ‖M‖_F, reached at α = tr M / d.

    Source: the measure of the paper's figures. A zero matrix has distance 1: it points nowhere.
    """
    d = M.shape[-1]
    alpha = np.trace(M, axis1=-2, axis2=-1) / d
    rest = np.linalg.norm(M - alpha[..., None, None] * np.eye(d), axis=(-2, -1))
    whole = np.linalg.norm(M, axis=(-2, -1))
    return np.asarray(np.divide(rest, whole, out=np.ones_like(rest), where=whole > 0))


def whitened(A: Float[Array, "layers d d"], covariance: Covariance) -> Float[Array, "layers d d"]:
    """Σ^{1/2} A_l Σ^{1/2}, a multiple of I where A_l is one of Σ⁻¹ (Theorem 3)."""
    root = covariance.symmetric_root
    return np.asarray(root @ A @ root)


def step_size(A: Float[Array, "d d"], covariance: Covariance) -> float:
    """The c of the multiple −c Σ⁻¹ that is nearest to A in whitened coordinates."""
    return -float(np.trace(whitened(A[None], covariance)[0])) / len(A)
