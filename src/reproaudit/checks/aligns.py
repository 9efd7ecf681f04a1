"""A direction is learned, or an order."""

import math
from dataclasses import replace
from functools import partial
from typing import Literal, Self

from pydantic import model_validator

from reproaudit.checks.canonical import ONE_BOUND, form
from reproaudit.checks.kind import Bound, Condition, OneBound, out_of_range
from reproaudit.checks.run import Run
from reproaudit.checks.shown import Names, Number, noun_of
from reproaudit.declarations import MeasurementMissingError, Quantity
from reproaudit.lazy import FloatArray, np
from reproaudit.stats.ranks import kendall_tau

_PLACE = Number("aligns", drawn=True)
_ORDER = Number("ranks", "Kendall's tau of {noun} and {reference} {typical}{worst}")

FEWEST_RANKED = 3
"""The fewest items that have an order to speak of; of two, `beats` says which is smaller."""


class Aligns(OneBound):
    """A direction is learned: the distance to it ends at most at a bound, or the cosine above one.

    Or two lists are ordered alike: Kendall's tau-b (1 in the same order, -1 reversed; ties count
    for neither) is at least a bound. A run is void if the direction or the order was there before
    training, or if the log does not show the start and begins with it; and if a distance is
    negative or a cosine lies outside -1 to 1. Relaxing acts on the distance, and on what a cosine
    or a tau lacks to 1.
    """

    made = (_PLACE, _ORDER)

    kind: Literal["aligns"]
    """The kind of check."""
    distance: Quantity | None = None
    """A distance to the claimed direction, 0 when it is reached."""
    cosine: Quantity | None = None
    """A cosine with the claimed direction, 1 when it is reached."""
    ranks: tuple[Quantity, Quantity] | None = None
    """Two lists along the same axis that are ordered alike, such as a score and a reference."""

    canonical = ONE_BOUND | form("distance=null cosine=null ranks=null")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        stated = [
            form for form in ("distance", "cosine", "ranks") if getattr(self, form) is not None
        ]
        if len(stated) != 1 or self.limit().side.is_upper != (stated == ["distance"]):
            raise ValueError(
                "state one of 'distance' with 'at_most', 'cosine' with 'at_least', and 'ranks' "
                "with 'at_least'"
            )
        least, most = self._range
        if not least <= (at := self.limit().at) <= most:
            raise ValueError(f"no {stated[0]} lies beyond {most if at > most else least:g}: {at:g}")
        return self

    @property
    def _range(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self.distance is None else (0.0, math.inf)

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The distance or the cosine, or the tau of two lists."""
        return (_PLACE if self.ranks is None else _ORDER,)

    @property
    def bounded(self) -> tuple[tuple[Quantity, Bound], ...]:
        """The distance or the cosine."""
        quantity = self.distance or self.cosine
        return () if quantity is None else ((quantity, self),)

    @property
    def uncounted(self) -> str:
        """A list makes one number."""
        return "" if self.ranks is None else "'ranks' makes one number of a list: leave it out"

    @property
    def fewest(self) -> int:
        """Two lists have an order from so many items on."""
        return 1 if self.ranks is None else FEWEST_RANKED

    def compared(self, measurement: str, names: Names) -> tuple[str, str]:
        """Return the quantity, and the list that it is ordered like."""
        if self.ranks is None:
            return super().compared(measurement, names)
        noun, reference = (noun_of(rank, names) for rank in self.ranks)
        return noun, reference

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the final distance or cosine, or the tau of two lists, against its bound."""
        (number,) = self.numbers
        least, most = self._range
        limit = self.limit(1.0 if self.distance is None else 0.0)
        limit = replace(limit, least=least, most=None if math.isinf(most) else most)
        if self.ranks is not None:
            ranked, reference = self.ranks
            return (self._learned(run, ranked, number, limit, partial(_tau, run, reference)),)
        quantity = self.distance or self.cosine
        assert quantity is not None, "refused by _one_form"
        condition = self._learned(run, quantity, number, limit, run.numbers)
        return (out_of_range(condition, run.numbers(quantity), least, most),)


def _tau(run: Run, reference: Quantity, quantity: Quantity) -> FloatArray:
    """The tau of two lists, read at the same observation where the first is read at its start."""
    lists = [run.numbers(quantity)]
    first = run.first(reference) if quantity.step == "first" else None
    lists.append(run.numbers(first or reference))
    if len(lists[0]) != len(lists[1]):
        why = f"lists of {len(lists[0])} and {len(lists[1])} cannot be ordered alike"
        raise MeasurementMissingError(why, quantity.measurement)
    return np.array([kendall_tau(*lists)])
