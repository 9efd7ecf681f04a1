"""Covariances and prompts of the paper's task, drawn without state.

The draw with index k, of a seed and a purpose, is a function of these three alone. So a resumed
run needs no generator's state, seeds do not disturb one another, and training and test data
cannot overlap. Large draws are split into chunks of a fixed size, each with a stream of its own,
so that threads can share the work without changing a number.

Task (card; D and U from the released code): x ~ N(0, Σ), w ~ N(0, Σ⁻¹), Σ = U D² Uᵀ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from reproaudit.lab.seeds import generator
from reproaudit.papers.ahn2023.kernel import (
    Colouring,
    Minibatch,
    write_factors,
    write_prompts,
)

Array = NDArray[Any]

PAPER_SCALES = (1.0, 1.0, 0.5, 0.25, 1.0)
"""The diagonal of D in the released code."""

CHUNK = 4096
"""Prompts per stream. A constant of the results: changing it changes every draw."""


def _stream(seed: int, purpose: str, index: int, chunk: int) -> np.random.Generator:
    """The generator of one chunk of a draw."""
    return generator(seed, f"{purpose}, chunk {chunk}", index)


@dataclass(frozen=True)
class Covariance:
    """Σ = R Rᵀ by its root.

    Attributes:
        root: R = U D, (d, d), float64.
    """

    root: NDArray[np.float64]

    @property
    def dim(self) -> int:
        """The d of the task."""
        return len(self.root)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Σ."""
        return self.root @ self.root.T

    @property
    def inverse(self) -> NDArray[np.float64]:
        """Σ⁻¹."""
        dual = self.colouring.dual
        return np.asarray(dual @ dual.T)

    @property
    def symmetric_root(self) -> NDArray[np.float64]:
        """Σ^{1/2}, the positive one."""
        values, vectors = np.linalg.eigh(self.matrix)
        return np.asarray((vectors * np.sqrt(values)) @ vectors.T)

    @property
    def colouring(self) -> Colouring:
        """From whitened prompts to prompts."""
        return Colouring(self.root, np.linalg.inv(self.root).T)


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
        z: (batch, n, d), the whitened inputs.
        v: (batch, d), the whitened regression weights; v·z = w·x.
        z_query: (batch, d), the whitened query.
        covariance: Σ.
    """

    z: Array
    v: Array
    z_query: Array
    covariance: Covariance

    @property
    def x(self) -> Array:
        """(batch, n, d)."""
        return np.asarray(self.z @ self.covariance.root.T.astype(self.z.dtype))

    @property
    def w(self) -> Array:
        """(batch, d)."""
        return np.asarray(self.v @ self.covariance.colouring.dual.T.astype(self.v.dtype))

    @property
    def query(self) -> Array:
        """(batch, d)."""
        return np.asarray(self.z_query @ self.covariance.root.T.astype(self.z.dtype))

    @property
    def moment(self) -> Array:
        """S = (1/n) Σ x xᵀ, (batch, d, d)."""
        return np.asarray(self.x.transpose(0, 2, 1) @ self.x / self.z.shape[1])

    @property
    def whitened_moment(self) -> Array:
        """(1/n) Σ z zᵀ, (batch, d, d)."""
        return np.asarray(self.z.transpose(0, 2, 1) @ self.z / self.z.shape[1])

    def minibatch(self) -> Minibatch:
        """The same prompts for the kernel, bit for bit those of `draw_minibatch`."""
        made = Minibatch.zeros(len(self.z), self.covariance.dim, self.z.dtype)
        write_prompts(made, 0, self.z, self.v, self.z_query, self.covariance.colouring)
        return made


def _normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    """Standard normal, drawn in its own precision (float32 takes half the time)."""
    return np.asarray(rng.standard_normal(shape, np.dtype(dtype).type))


def _normal_pairs(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    """Standard normal like `_normal`, by the transform of Box and Muller, in a third of the time.

    NumPy's logarithm and circular functions take whole vectors, its own normal draw goes number by
    number. In float32 nothing lies beyond 5.8 standard deviations, where one of 10⁸ would.
    """
    count = math.prod(shape)
    uniform = rng.random((2, (count + 1) // 2), np.dtype(dtype).type)
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform[0]))
    angle = np.dtype(dtype).type(2.0 * np.pi) * uniform[1]
    pairs = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    return np.asarray(pairs[:count].reshape(shape))


def _draw_chunk(
    rng: np.random.Generator, batch: int, n: int, d: int, dtype: Any
) -> tuple[Array, Array, Array]:
    """z, v and z_query of one chunk; the order of drawing is part of the results."""
    z = _normal(rng, (batch, n, d), dtype)
    return z, _normal(rng, (batch, d), dtype), _normal(rng, (batch, d), dtype)


def draw_prompts(
    covariance: Covariance,
    batch: int,
    n: int,
    *,
    seed: int,
    purpose: str,
    index: int,
    dtype: Any = np.float32,
) -> Prompts:
    """Prompts with every input: x ~ N(0, Σ), w ~ N(0, Σ⁻¹), the query like the inputs (code).

    Args:
        covariance: Σ.
        batch: how many prompts.
        n: examples per prompt.
        seed: see `reproaudit.lab.training.generator`, as for purpose and index.
        purpose: what they are for.
        index: which draw.
        dtype: float32 or float64; the two are different draws.
    """
    chunks = [
        _draw_chunk(_stream(seed, purpose, index, chunk), size, n, covariance.dim, dtype)
        for chunk, _, size in _chunks(batch)
    ]
    z, v, z_query = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    return Prompts(z, v, z_query, covariance)


def draw_minibatch(
    covariance: Covariance,
    batch: int,
    n: int,
    *,
    seed: int,
    purpose: str,
    index: int,
    dtype: Any = np.float32,
    shuffled: bool = False,
) -> Minibatch:
    """The prompts of `draw_prompts` with the same arguments, straight into the kernel's layout.

    Shares the chunks among as many threads as Numba may use; the numbers do not depend on that.
    With `shuffled`, the labels in each prompt are those of its neighbour's weights, while the
    target stays its own: there is then nothing to be learned in context.
    """

    def fill(minibatch: Minibatch, rng: np.random.Generator, first: int, size: int) -> None:
        inputs, v, z_query = _draw_chunk(rng, size, n, covariance.dim, dtype)
        _write_drawn(minibatch, first, inputs, v, z_query, colouring, shuffled)

    colouring = covariance.colouring
    return _filled(fill, covariance.dim, batch, seed, purpose, index, dtype)


def draw_minibatch_by_moments(
    covariance: Covariance,
    batch: int,
    n: int,
    *,
    seed: int,
    purpose: str,
    index: int,
    dtype: Any = np.float32,
    shuffled: bool = False,
) -> Minibatch:
    """Prompts equal in law to those of `draw_minibatch`, not in their numbers, at a lower price.

    The loss needs of the inputs only S = (1/n) Σ x xᵀ, which is Wishart; its whitened form is
    drawn by Bartlett's decomposition (d columns of variates instead of n).

    Raises:
        ValueError: if n < d, where the decomposition does not exist.
    """
    d = covariance.dim
    if n < d:
        raise ValueError(f"Bartlett's decomposition needs n ≥ d, got n = {n}, d = {d}")

    def fill(minibatch: Minibatch, rng: np.random.Generator, first: int, size: int) -> None:
        lanes = minibatch.data.shape[2]
        shape = (-(-size // lanes), lanes)
        below, diagonal = _bartlett_factor(rng, shape, n, d, dtype)
        v, z_query = (_normal_pairs(rng, (shape[0], d, lanes), dtype) for _ in range(2))
        labels = _neighbours(v, size) if shuffled else v
        factor = (np.swapaxes(below, 0, 1), np.swapaxes(diagonal, 0, 1))
        write_factors(minibatch, first, size, factor, n**-0.5, labels, z_query, colouring)
        if shuffled:
            offsets = ((v - labels) * z_query).sum(1)
            minibatch.write_offsets(first, offsets.ravel()[:size])

    colouring = covariance.colouring
    return _filled(fill, d, batch, seed, purpose, index, dtype)


def draw_whitened_moments(batch: int, n: int, d: int, *, seed: int, purpose: str) -> Array:
    """S_z = (1/n) Σ z zᵀ of prompts of n whitened inputs, (batch, d, d), float64.

    Args:
        batch: how many prompts.
        n: inputs per prompt; below d the moments are singular.
        d: of the inputs.
        seed: see `reproaudit.lab.training.generator`, as for purpose.
        purpose: what they are for.
    """
    rng = generator(seed, purpose)
    if n < d:
        z = _normal(rng, (batch, n, d), np.float64)
        return np.asarray(z.transpose(0, 2, 1) @ z / n)
    below, diagonal = _bartlett_factor(rng, (batch,), n, d, np.float64)
    T = np.zeros((d, d, batch))
    T[np.tril_indices(d, -1)], T[np.diag_indices(d)] = below, diagonal
    return np.asarray(np.einsum("ikb,jkb->bij", T, T) / n)


def _write_drawn(
    minibatch: Minibatch,
    first: int,
    inputs: Array,
    v: Array,
    z_query: Array,
    colouring: Colouring,
    shuffled: bool,
) -> None:
    """Lays a chunk out; shuffled labels are those of the next prompt of the chunk."""
    labels = np.roll(v, 1, axis=0) if shuffled else v
    write_prompts(minibatch, first, inputs, labels, z_query, colouring)
    if shuffled:
        minibatch.write_offsets(first, ((v - labels) * z_query).sum(1))


def _neighbours(v: Array, count: int) -> Array:
    """The next prompt's vectors, (groups, d, lanes) like v, where count of them are prompts."""
    groups, d, lanes = v.shape
    by_prompt = np.swapaxes(v, 1, 2).reshape(-1, d)
    moved = np.concatenate([np.roll(by_prompt[:count], 1, axis=0), by_prompt[count:]])
    return np.swapaxes(moved.reshape(groups, lanes, d), 1, 2)


def _bartlett_factor(
    rng: np.random.Generator, shape: tuple[int, ...], n: int, d: int, dtype: Any
) -> tuple[Array, Array]:
    """T, lower triangular, with T Tᵀ ~ Wishart(I, n): what lies below its diagonal, and that.

    T_ii² ~ χ²(n − i), i from 0, and T_ij ~ N(0, 1) below the diagonal.

    Returns:
        (d(d−1)/2, *shape), row by row, and (d, *shape).
    """
    below = _normal_pairs(rng, (d * (d - 1) // 2, *shape), dtype)
    halves = [rng.standard_gamma((n - i) / 2.0, shape, np.dtype(dtype).type) for i in range(d)]
    return below, np.sqrt(2.0 * np.stack(halves))


def _chunks(batch: int) -> list[tuple[int, int, int]]:
    """(chunk, first prompt, size)."""
    return [
        (chunk, first, min(CHUNK, batch - first))
        for chunk, first in enumerate(range(0, batch, CHUNK))
    ]


def _filled(
    fill: Callable[[Minibatch, np.random.Generator, int, int], None],
    dim: int,
    batch: int,
    seed: int,
    purpose: str,
    index: int,
    dtype: Any,
) -> Minibatch:
    """A minibatch whose chunks were filled, each from its own stream."""

    def work(part: tuple[int, int, int]) -> None:
        chunk, first, size = part
        fill(minibatch, _stream(seed, purpose, index, chunk), first, size)

    minibatch = Minibatch.zeros(batch, dim, dtype)
    _run_all(work, _chunks(batch))
    return minibatch


def _run_all(
    work: Callable[[tuple[int, int, int]], None], parts: Iterable[tuple[int, int, int]]
) -> None:
    parts = list(parts)
    threads = min(numba.get_num_threads(), len(parts))
    if threads == 1:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, parts))
