"""Growth laws and their rivals, fitted to the same observations by least squares.

A law is a course a + b·f(t) with b ≥ 0, and so is every rival; a rival's exponent or rate is fitted
too. How badly each fits is the root mean square of what it leaves over (`misfits`).

A logarithm and a power with a small exponent differ by little, and so do two powers with exponents
near each other. A power is therefore a rival only from a stated difference of exponents on
(`apart`); a bounded course is one if its exponent, where the slope is t^(exponent − 1), differs as
much from that of the law somewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from reproaudit.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FloatArray: TypeAlias = "NDArray[np.float64]"

RESOLVED = 1e-6
"""A misfit is not told from a smaller one below this share of the spread of the observations."""

_MOST_EXPONENT = 4.0
_LEAST_EXPONENT = 0.02
_MOST_RATE = 60.0


@dataclass(frozen=True)
class Law:
    """A law of growth, and how far away its rivals begin.

    Attributes:
        exponent: of the time; 0 for the logarithm.
        apart: the smallest difference of exponents from which a power counts as a rival.
    """

    exponent: float
    apart: float

    @property
    def rivals(self) -> tuple[str, ...]:
        """Return the rivals: other powers, bounded courses, to a power the logarithm."""
        logarithm = ("logarithm",) if self.exponent >= self.apart else ()
        return ("power", "bounded", *logarithm)


def misfits(steps: tuple[int, ...], values: FloatArray, law: Law) -> dict[str, FloatArray]:
    """Compute the misfit of a law, of each rival, and of a constant.

    Steps are positive and increasing, values have shape (…, step). Returns arrays of shape (…) by
    name: "law", `Law.rivals`, and "constant" for a course that does not grow.
    """
    centred = values - values.mean(axis=-1, keepdims=True)
    whole = (centred**2).sum(axis=-1)
    least = RESOLVED**2 * whole
    found = {"constant": np.sqrt(whole / len(steps))}
    for name, courses in _families(steps, law).items():
        explained = np.maximum(centred @ courses.T, 0.0).max(axis=-1) ** 2
        found[name] = np.sqrt(np.maximum(whole - explained, least) / len(steps))
    return found


@lru_cache(maxsize=64)
def _families(steps: tuple[int, ...], law: Law) -> dict[str, FloatArray]:
    """Courses by family, centred and of length 1; shape (course, step)."""
    t = np.asarray(steps, dtype=np.float64) / steps[-1]
    exponents = np.arange(_LEAST_EXPONENT, _MOST_EXPONENT, 0.01)
    far = exponents[np.abs(exponents - law.exponent) >= law.apart - 1e-9]
    far = np.union1d(far, [law.exponent + law.apart])
    ends = np.arange(max(law.apart - law.exponent, _LEAST_EXPONENT), _MOST_EXPONENT, 0.01)
    rates = np.geomspace(law.apart, _MOST_RATE, 800)
    families = {
        "law": _power(t[None], law.exponent),
        "power": _power(t, far[:, None]),
        "bounded": np.concatenate(
            [
                -(t ** -ends[:, None]),
                -np.exp(-rates[:, None] * t),
                t / (1 + t * rates[:, None]),
            ]
        ),
    }
    if "logarithm" in law.rivals:
        families["logarithm"] = _power(t[None], 0.0)
    return {name: _normalised(courses) for name, courses in families.items()}


def _power(t: FloatArray, exponent: float | FloatArray) -> FloatArray:
    """The time to a power, or its logarithm for the exponent 0."""
    if np.ndim(exponent) == 0 and exponent == 0:
        return np.asarray(np.log(t))
    return np.asarray(t**exponent)


def _normalised(courses: FloatArray) -> FloatArray:
    centred = courses - courses.mean(axis=-1, keepdims=True)
    return np.asarray(centred / np.linalg.norm(centred, axis=-1, keepdims=True))
