"""The task's random numbers, normals and subsets, without state and fast.

A draw is a function of a *key*, a 64-bit word; the key of a training step is a function of the
seed's key and of the step. So a resumed run draws what an uninterrupted one does, and neither the
number of threads nor how the steps are cut into calls changes a number.

Words come from SplitMix64 (Steele, Lea and Flood, 2014), here a counter hashed under the key;
normals from words by Box and Muller's transform, written without branches and library calls, so
that the compiler turns the loop into vector instructions. Normals are single precision whatever the
precision of training, and reach to 6.6 standard deviations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from reproaudit.lab import Array, compiled, generator

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0xD1342543DE82EF95)  # an odd multiplier of its own, so that keys do not chain
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_S32 = np.uint64(32)

_BLOCK = 512
"""Words hashed at a time: they stay in the first-level cache. Changing it changes every draw."""


@compiled()
def _mix(z: Any) -> Any:
    """SplitMix64's finaliser."""
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@compiled()
def _child(key: Any, index: int) -> Any:
    return _mix(key ^ _mix(np.uint64(index) * _STEP + _GOLDEN))


def child(key: np.uint64, index: int) -> np.uint64:
    """Return the key of child number ``index``: of a training step, or of a part of a batch."""
    return np.uint64(_child(key, index))  # compiled code returns Python's integers


def root(seed: int, purpose: str) -> np.uint64:
    """Return the key of one purpose of one seed."""
    return np.uint64(generator(seed, purpose).integers(0, 2**64, dtype=np.uint64))


@compiled()
def _log(u: Any) -> Any:
    """Compute the logarithm of a normal float32 in (0, 1], to about a unit in the last place.

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
def _box_muller(bits: Array, out: Array) -> None:
    """Make two normals from each word, given as halves of 32 bits: radii from the first half.

    The angle is uniform on the circle: uniform on [−45°, 45°], where short series suffice for
    cosine and sine, then by one random bit reflected to [45°, 135°], by another turned by 180°.
    """
    half = bits.size // 2
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
def _fill_normals(key: Any, out: Array) -> None:
    words = np.empty(_BLOCK, np.uint64)
    pairs = out.size // 2
    for first in range(0, pairs, _BLOCK):
        stop = min(first + _BLOCK, pairs)
        for i in range(stop - first):
            words[i] = _mix(key + np.uint64(first + i + 1) * _GOLDEN)
        _box_muller(words[: stop - first].view(np.int32), out[2 * first : 2 * stop])


def normals(key: np.uint64, shape: tuple[int, ...]) -> Float32[Array, "*axes"]:
    """Draw independent standard normals."""
    count = math.prod(shape)
    pairs = np.empty(count + count % 2, np.float32)
    _fill_normals(key, pairs)
    return pairs[:count].reshape(shape)


@compiled()
def subsets(key: np.uint64, samples: int, positions: int, q: int) -> Int64[Array, "samples q"]:
    """Draw subsets of the positions, uniform among those of size q, by Floyd's algorithm."""
    out = np.empty((samples, q), np.int64)
    for b in range(samples):
        for k in range(q):
            last = positions - q + k
            word = _mix(key + np.uint64(b * q + k + 1) * _GOLDEN) >> _S32
            pick = np.int64((word * np.uint64(last + 1)) >> _S32)
            for earlier in range(k):
                if out[b, earlier] == pick:
                    pick = np.int64(last)
                    break
            out[b, k] = pick
    return out
