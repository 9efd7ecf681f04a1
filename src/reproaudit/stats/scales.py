"""The scales on which measures are near normal over seeds, and the resolution on them."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from reproaudit.lazy import np, scipy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


FloatArray: TypeAlias = "NDArray[np.float64]"

FLOOR = 1e-12
"""The default resolution of a measurement on a log-type scale."""

_LARGEST_EXPONENT = math.log(sys.float_info.max)


class Scale(StrEnum):
    """The scale on which a measure is taken to be near normal over seeds.

    On the log-type scales a measurement resolves nothing finer than its `floor`: values (on
    ``log_complement`` 1 − value, on ``logit`` both) below the floor are set to it, and a value
    outside the domain by no more than the floor is rounding. Farther out is an error.
    """

    LINEAR = "linear"
    """Any number; the floor plays no part."""
    LOG = "log"
    """log x for positive skewed measures, such as a loss or a ratio; x ≥ 0."""
    LOGIT = "logit"
    """log(p / (1 − p)) for shares that may come near either end; 0 ≤ p ≤ 1."""
    LOG_COMPLEMENT = "log_complement"
    """log(1 − p) for shares, cosines or R² near 1; p ≤ 1. It falls where p rises."""

    def forward(self, values: ArrayLike, *, floor: float = FLOOR) -> FloatArray:
        """Natural units to this scale, shape kept.

        Raises:
            ValueError: for a value that is not finite or outside the domain, or a floor that is
                not a small positive number.
        """
        x = finite(values, "a value")
        if self is Scale.LINEAR:
            return x
        _check_floor(floor)
        if self is Scale.LOG:
            return np.log(self._resolved(x, x, floor, "negative"))
        complement = self._resolved(1.0 - x, x, floor, "above 1")
        if self is Scale.LOG_COMPLEMENT:
            return np.log(complement)
        share = self._resolved(x, x, floor, "negative")
        ends = np.minimum([share, complement], 1.0 - floor)  # both flat within the floor of an end
        return np.asarray(np.log(ends[0]) - np.log(ends[1]))

    def inverse(self, values: ArrayLike) -> FloatArray:
        """This scale to natural units, shape kept; at most the largest float."""
        y = np.asarray(values, dtype=np.float64)
        if self is Scale.LINEAR:
            return np.clip(y, -sys.float_info.max, sys.float_info.max)
        if self is Scale.LOGIT:
            return np.asarray(scipy.special.expit(y), dtype=np.float64)
        capped = np.minimum(y, _LARGEST_EXPONENT)
        return np.exp(capped) if self is Scale.LOG else np.asarray(-np.expm1(capped))

    def _resolved(
        self, distance: FloatArray, values: FloatArray, floor: float, fault: str
    ) -> FloatArray:
        """The distances from an end of the domain, raised to the floor where smaller."""
        if (distance < -floor).any():
            worst = float(values.flat[int(np.argmin(distance))])
            raise ValueError(f"{worst:g} has no place on the {self.value} scale: it is {fault}")
        return np.maximum(distance, floor)


SHARES = (Scale.LOGIT, Scale.LOG_COMPLEMENT)
"""The scales of shares, which end at 1."""


@dataclass(frozen=True)
class FittingAxis:
    """A fitting scale turned so that it rises with natural units, with the resolution on it."""

    scale: Scale
    floor: float

    @property
    def sign(self) -> float:
        """−1 where the scale falls as natural units rise."""
        return -1.0 if self.scale is Scale.LOG_COMPLEMENT else 1.0

    def place(self, values: ArrayLike) -> FloatArray:
        """Natural units to positions on the axis, shape kept; errors as in `Scale.forward`."""
        return self.sign * self.scale.forward(values, floor=self.floor)

    def natural(self, z: ArrayLike) -> float:
        """A position on the axis to natural units."""
        return float(self.scale.inverse(self.sign * np.asarray(z, dtype=np.float64)))

    def limit(self, bound: float) -> float:
        """A bound's position on the axis.

        Raises:
            ValueError: if it is within the floor of the domain's end, from which the measurement
                cannot tell it.
        """
        place = float(self.place(bound))
        if not self._lowest < place < self._highest:
            raise ValueError(
                f"a limit of {bound:g} cannot be judged on the {self.scale.value} scale: the "
                f"measurement resolves {self.floor:g}, and the limit is no farther from the end"
            )
        return place

    def edges(self, target: float, margin: float) -> tuple[float, float]:
        """The positions of an equivalence range; infinite for an edge beyond the domain's end.

        Raises:
            ValueError: as in `limit` and `equivalence_range`, or if both edges are open.
        """
        low, high = equivalence_range(target, margin, self.scale)
        self.place(target)  # raises where the target itself is outside the domain
        low_open = self.scale is Scale.LOGIT and low <= self.floor
        high_open = self.scale in SHARES and 1 - high <= self.floor
        if low_open and high_open:
            raise ValueError(f"a margin of {margin:g} around {target:g} excludes nothing")
        return (
            -math.inf if low_open else self.limit(low),
            math.inf if high_open else self.limit(high),
        )

    @property
    def _lowest(self) -> float:
        return float(self.place(0.0)) if self.scale in (Scale.LOG, Scale.LOGIT) else -math.inf

    @property
    def _highest(self) -> float:
        return float(self.place(1.0)) if self.scale in SHARES else math.inf


def equivalence_range(target: float, margin: float, scale: Scale) -> tuple[float, float]:
    """The range of values, in natural units, that count as equal to a target.

    On the log scale the margin is a relative factor, [target / (1 + margin),
    target · (1 + margin)]; on every other scale it is a difference in natural units,
    [target − margin, target + margin]. The sums are those of the decimals as written, so that 0.8
    is within 0.1 of 0.7 (in binary it is not).

    Raises:
        ValueError: for a number that is not finite, a negative margin, or on the log scale a
            target that is not positive.
    """
    finite([target, margin], "a target or margin")
    if margin < 0:
        raise ValueError(f"a margin is not negative: {margin:g}")
    at, by = Decimal(repr(float(target))), Decimal(repr(float(margin)))
    if scale != Scale.LOG:
        return float(at - by), float(at + by)
    if target <= 0:
        raise ValueError(f"a target on the log scale is positive: {target:g}")
    return float(at / (1 + by)), float(at * (1 + by))


def finite(values: ArrayLike, what: str) -> FloatArray:
    """Numbers as an array.

    Raises:
        ValueError: naming `what`, if one is not finite.
    """
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{what} is not a finite number")
    return array


def _check_floor(floor: float) -> None:
    if not 0 < floor < 0.5:
        raise ValueError(f"a floor is a small positive number, below one half: {floor:g}")
