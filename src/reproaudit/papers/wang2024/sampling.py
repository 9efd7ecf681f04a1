"""The task's random numbers: tokens, subsets and positional codes, without state and fast.

A draw is a function of a *key*, a 64-bit word; the key of a training step is a function of the
seed's key and of the step. So a resumed run draws what an uninterrupted one does, and neither the
number of threads nor how the steps are cut into calls changes a number.

Words come from SplitMix64 (Steele, Lea and Flood, 2014), here a counter hashed under the key;
normals from pairs of words' halves by Box and Muller's transform. It is written without branches
and library calls, so that the compiler turns the loop into vector instructions: a fresh batch costs
a fraction of the gradient. Normals are single precision whatever the precision of training, and
reach to 6.6 standard deviations.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from jaxtyping import Float32, Int64

from reproaudit.lab import Array, compiled, generator

CodeLaw = Literal["gaussian", "signs", "sphere"]
GAUSSIAN, SIGNS, SPHERE = 0, 1, 2
CODE_LAWS: dict[CodeLaw, int] = {"gaussian": GAUSSIAN, "signs": SIGNS, "sphere": SPHERE}
"""Laws of a positional code: independent normals, independent signs, uniform on a sphere."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0xD1342543DE82EF95)  # an odd multiplier of its own, so that keys do not chain
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)

BLOCK = 512
"""Words hashed at a time: they stay in the first-level cache. Changing it changes every draw."""

TOKENS, SUBSETS, CODES, OTHER_SUBSETS = 1, 2, 3, 4
"""Parts of a batch; each has its own stream under the batch's key."""


@compiled()
def _mix(z: Any) -> Any:
    """SplitMix64's finaliser."""
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@compiled()
def child(key: Any, index: int) -> Any:
    """The key of child number ``index``: of a training step, or of a part of a batch."""
    return _mix(key ^ _mix(np.uint64(index) * _STEP + _GOLDEN))


def root(seed: int, purpose: str) -> np.uint64:
    """The key of one purpose of one seed."""
    return np.uint64(generator(seed, purpose).integers(0, 2**64, dtype=np.uint64))


@compiled()
def _log(u: Any) -> Any:
    """The natural logarithm of a normal float32 in (0, 1], to about one unit in the last place.

    From the exponent's bits, and for the mantissa m in [√½, √2) from 2 artanh((m − 1)/(m + 1)),
    whose series is cut after the ninth power.
    """
    bits = np.float32(u).view(np.int32) - np.int32(0x3F3504F3)
    exponent = bits >> np.int32(23)
    mantissa = np.int32((bits & np.int32(0x007FFFFF)) + np.int32(0x3F3504F3)).view(np.float32)
    t = (mantissa - np.float32(1)) / (mantissa + np.float32(1))
    s = t * t
    series = np.float32(2 / 9)
    series = series * s + np.float32(2 / 7)
    series = series * s + np.float32(2 / 5)
    series = series * s + np.float32(2 / 3)
    series = series * s + np.float32(2)
    return np.float32(exponent) * np.float32(0.6931471805599453) + series * t


@compiled()
def _fill_block(key: Any, first: int, words: Array, out: Array) -> None:
    """One block of normals; ``words`` is scratch, and ``out`` takes two normals per word."""
    start = key + np.uint64(first) * _GOLDEN
    for i in range(words.size):
        words[i] = _mix(start + np.uint64(i + 1) * _GOLDEN)
    bits = words.view(np.int32)
    half = words.size
    for i in range(half):
        u = np.float32(bits[i] & np.int32(0x7FFFFFFF)) * np.float32(2.0**-31)
        radius = np.sqrt(np.float32(-2) * _log(u + np.float32(2.0**-32)))
        low = bits[half + i]
        angle = np.float32(low >> np.int32(8)) * np.float32(np.pi / 4 / 2**23)
        s = angle * angle
        sine = np.float32(1 / 362880)
        sine = sine * s - np.float32(1 / 5040)
        sine = sine * s + np.float32(1 / 120)
        sine = sine * s - np.float32(1 / 6)
        sine = (sine * s + np.float32(1)) * angle
        cosine = np.float32(1 / 40320)
        cosine = cosine * s - np.float32(1 / 720)
        cosine = cosine * s + np.float32(1 / 24)
        cosine = cosine * s - np.float32(1 / 2)
        cosine = cosine * s + np.float32(1)
        signed = radius * np.float32(np.int32(1) - ((low & np.int32(1)) << np.int32(1)))
        reflect = (low & np.int32(2)) != np.int32(0)
        out[i] = signed * (sine if reflect else cosine)
        out[half + i] = signed * (cosine if reflect else sine)


@compiled()
def fill_normals(key: Any, out: Float32[Array, " draws"]) -> None:
    """Standard normals.

    The angle is uniform on the circle: uniform on [−45°, 45°], where short series suffice for
    cosine and sine, then by one random bit reflected to [45°, 135°], by another turned by 180°.

    Args:
        key: the draw's key.
        out: receives them.
    """
    pairs = out.size // 2
    if out.size % 2:
        last = np.empty(2, np.float32)
        _fill_block(key, pairs, np.empty(1, np.uint64), last)
        out[-1] = last[0]
    words = np.empty(min(pairs, BLOCK), np.uint64)
    for first in range(0, pairs, BLOCK):
        stop = min(first + BLOCK, pairs)
        _fill_block(key, first, words[: stop - first], out[2 * first : 2 * stop])


@compiled()
def fill_tokens(key: Any, out: Float32[Array, "*axes"]) -> None:
    """Tokens, independent standard normals; ``out`` is contiguous."""
    fill_normals(child(key, TOKENS), out.reshape(-1))


@compiled()
def fill_subsets(key: Any, part: int, positions: int, out: Int64[Array, "samples q"]) -> None:
    """Subsets of the positions, uniform among those of their size, by Floyd's algorithm.

    Args:
        key: the batch's key.
        part: SUBSETS, or OTHER_SUBSETS for an independent draw.
        positions: how many there are to choose from.
        out: receives a subset per row.
    """
    stream = child(key, part)
    samples, q = out.shape
    for b in range(samples):
        for k in range(q):
            last = positions - q + k
            word = _mix(stream + np.uint64(b * q + k + 1) * _GOLDEN) >> _S32
            pick = np.int64((word * np.uint64(last + 1)) >> _S32)
            for earlier in range(k):
                if out[b, earlier] == pick:
                    pick = last
                    break
            out[b, k] = pick


@compiled()
def fill_codes(key: Any, law: int, scale: float, out: Float32[Array, "positions d_e"]) -> None:
    """Positional codes, one per row.

    Args:
        key: the batch's key, or that of fixed codes.
        law: one of the values of `CODE_LAWS`.
        scale: the standard deviation of an entry.
        out: receives them; contiguous.
    """
    flat = out.reshape(-1)
    fill_normals(child(key, CODES), flat)
    factor = np.float32(scale)
    if law == SIGNS:
        for i in range(flat.size):
            flat[i] = factor if flat[i] >= 0 else -factor
    elif law == GAUSSIAN:
        for i in range(flat.size):
            flat[i] *= factor
    else:
        rows, size = out.shape
        for row in range(rows):
            norm = np.float32(0)
            for column in range(size):
                norm += out[row, column] * out[row, column]
            scaled = np.float32(scale * np.sqrt(size) / np.sqrt(norm))
            for column in range(size):
                out[row, column] *= scaled
