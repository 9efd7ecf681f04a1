"""Training minibatches: the random words they come from, and their law in plain NumPy.

The loss needs of a prompt's inputs only S = (1/n) Σ x_i x_iᵀ, so S is drawn by its exact law and
the inputs are not. With x = R z, w = R⁻ᵀ v and Σ = R Rᵀ,

    S = R T Tᵀ Rᵀ / n,    x_{n+1} = R z,    w = R⁻ᵀ v,    v and z standard normal.

For n ≥ d, T is Bartlett's factor of a Wishart matrix: lower triangular, T_ij standard normal below
the diagonal and T_ii² ~ χ²(n − i), i from 0. For n < d, T is d×n with standard normal entries.

**The stream.** Word q of prompt p in draw k is component q mod 4 of Threefry-4x32 with 20 rounds
(Salmon, Moraes, Dror and Shaw, SC 2011), whose counter is (p, ⌊q/4⌋, k, 0) and whose key are 128
bits from the seed and the purpose. So every number is a function of (seed, purpose, draw, prompt)
alone: nothing depends on what was drawn before, on the number of threads or on the vector's width,
and no two prompts, draws or purposes share words.

**From words to numbers.** u = (word + ½) / 2³² is uniform. Words 2m and 2m + 1 give the standard
normals 2m and 2m + 1 by the transform of Box and Muller: √(−2 ln u_2m) times the cosine and the
sine of 2π word_{2m+1} / 2³²; they reach to 6.8 standard deviations. The normals are, in this
order: v, z, the entries of T row by row, and one for each odd n − i. The words that follow give
χ²(n − i) as −2 ln of the product of ⌊(n − i)/2⌋ uniforms, plus the square of that normal if n − i
is odd. Both precisions use the same words, so they are the same draw but for rounding.

`draw_plain` is this text in NumPy; `fast.sampler` is the same as vector code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt32
from numpy.typing import DTypeLike, NDArray

from reproaudit.lab import Array, generator
from reproaudit.papers.ahn2023.fast.prompts import Minibatch, pack
from reproaudit.papers.ahn2023.task import Covariance

Words = NDArray[np.uint32]

ROUNDS = 20
ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
PARITY = 0x1BD11BDA
"""Threefry-4x32's constants."""


@dataclass(frozen=True)
class Stream:
    """The words of one draw.

    Attributes:
        key: four words, of the seed and the purpose.
        index: which draw, below 2³².
    """

    key: tuple[int, int, int, int]
    index: int

    @classmethod
    def of(cls, seed: int, purpose: str, index: int) -> Stream:
        """The stream of a draw; see `reproaudit.lab.generator` for seed and purpose."""
        a, b, c, d = generator(seed, purpose).integers(0, 2**32, 4, np.uint32).tolist()
        return cls((a, b, c, d), index)

    def words(self, prompts: UInt32[Words, " batch"], count: int) -> UInt32[Words, "batch count"]:
        """The first words of these prompts."""
        blocks = np.arange(-(-count // 4), dtype=np.uint32)
        p, block = (part.ravel() for part in np.meshgrid(prompts, blocks, indexing="ij"))
        index, zero = np.full_like(p, self.index), np.zeros_like(p)
        key = [np.full_like(p, word) for word in self.key]
        words = np.stack(threefry([p, block, index, zero], key), axis=1)
        return words.reshape(len(prompts), -1)[:, :count]


def threefry(counter: list[Words], key: list[Words]) -> list[Words]:
    """Threefry-4x32 with 20 rounds, entry by entry of four arrays of words."""
    parity = np.uint32(PARITY) ^ key[0] ^ key[1] ^ key[2] ^ key[3]
    keys = [*key, parity]
    x = [word + of_key for word, of_key in zip(counter, key, strict=True)]
    for r in range(ROUNDS):
        first, second = (1, 3) if r % 2 == 0 else (3, 1)  # whom words 0 and 2 mix with
        for a, b, bits in zip((0, 2), (first, second), ROTATIONS[r % 8], strict=True):
            x[a] = x[a] + x[b]
            x[b] = ((x[b] << np.uint32(bits)) | (x[b] >> np.uint32(32 - bits))) ^ x[a]
        if r % 4 == 3:
            turn = r // 4 + 1
            x = [word + keys[(turn + i) % 5] for i, word in enumerate(x)]
            x[3] = x[3] + np.uint32(turn)
    return x


@dataclass(frozen=True)
class Layout:
    """The order in which a prompt's words and normals are used.

    Attributes:
        n: pairs.
        d: dimension.
    """

    n: int
    d: int

    @property
    def triangular(self) -> bool:
        """True where T is Bartlett's factor, False where it is d×n."""
        return self.n >= self.d

    @property
    def entries(self) -> list[tuple[int, int]]:
        """The places of T that are standard normal, row by row."""
        return [(i, k) for i in range(self.d) for k in range(i if self.triangular else self.n)]

    @property
    def freedoms(self) -> list[int]:
        """The degrees of freedom n − i of the squares on T's diagonal."""
        return [self.n - i for i in range(self.d)] if self.triangular else []

    @property
    def normals(self) -> int:
        """The number of standard normals."""
        return 2 * self.d + len(self.entries) + sum(k % 2 for k in self.freedoms)

    @property
    def normal_words(self) -> int:
        """The number of words that the normals take, always even."""
        return 2 * -(-self.normals // 2)

    @property
    def words(self) -> int:
        """The number of words of a prompt."""
        return self.normal_words + sum(k // 2 for k in self.freedoms)


def draw_plain(
    covariance: Covariance,
    batch: int,
    n: int,
    stream: Stream,
    *,
    dtype: DTypeLike = np.float64,
    shuffled: bool = False,
) -> Minibatch:
    """A minibatch by the text above, computed in float64 and then rounded.

    Args:
        covariance: Σ.
        batch: how many prompts.
        n: pairs per prompt.
        stream: the words.
        dtype: of the minibatch.
        shuffled: whether the labels in a prompt are of the weights of the prompt before it, while
            the target stays its own: there is then nothing to be learned in context.
    """
    layout, d = Layout(n, covariance.dim), covariance.dim
    words = stream.words(np.arange(batch, dtype=np.uint32), layout.words)
    normal = standard_normals(words[:, : layout.normal_words])
    v, z = normal[:, :d], normal[:, d : 2 * d]
    T = np.zeros((batch, d, d if layout.triangular else n))
    for place, (i, k) in enumerate(layout.entries):
        T[:, i, k] = normal[:, 2 * d + place]
    odd = list(normal[:, 2 * d + len(layout.entries) :].T)
    rest = uniforms(words[:, layout.normal_words :])
    for i, freedom in enumerate(layout.freedoms):
        mine, rest = rest[:, : freedom // 2], rest[:, freedom // 2 :]
        square = -2.0 * np.log(mine).sum(axis=1)
        T[:, i, i] = np.sqrt(square + odd.pop(0) ** 2 if freedom % 2 else square)
    root, dual = covariance.root, covariance.dual
    factor, labels = root @ T, np.roll(v, 1, axis=0) if shuffled else v
    S = factor @ factor.transpose(0, 2, 1) / n
    offset = ((v - labels) * z).sum(axis=1)
    parts = (S, labels @ dual.T, z @ root.T, offset)
    return pack(*(np.asarray(part, dtype) for part in parts))


def uniforms(words: UInt32[Words, "*shape"]) -> Float[Array, "*shape"]:
    """The u = (word + ½) / 2³²."""
    return np.asarray((words + 0.5) / 2.0**32)


def standard_normals(words: UInt32[Words, "batch even"]) -> Float[Array, "batch even"]:
    """One normal per word, two for each pair."""
    radius = np.sqrt(-2.0 * np.log(uniforms(words[:, ::2])))
    angle = 2.0 * np.pi / 2.0**32 * words[:, 1::2]
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=2)
    return np.asarray(pairs.reshape(words.shape))
