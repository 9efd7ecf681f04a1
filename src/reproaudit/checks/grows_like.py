"""A quantity grows by a law of time."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reproaudit.checks.canonical import BOUND, KIND, QUANTITY, CanonicalForm, Part
from reproaudit.checks.kind import Bound, Condition, Kind, Limit, Positive, Side, Sourced, Void
from reproaudit.checks.run import Run
from reproaudit.checks.shown import Drawing, Form, Names, Number
from reproaudit.declarations import MeasurementMissingError, Quantity
from reproaudit.lazy import np
from reproaudit.stats.growth import CERTAIN, FEWEST_LATE, FloatArray, Law, Misfit, misfits

_GROWTH = Number("growth", "{noun} grows by {typical}{worst}")
_LAW = Number(
    "law",
    "{reference} fits {typical} times as well as any rival law{worst}",
    Form.ROUNDED,
    contrast=True,
    aside="law's fit over its best rival's {figure}",
    never="it stops growing",
    bound="a better fit than any rival's",
    inverse="a rival law fits {typical} times as well as {reference}{worst}",
)


class GrowsLike(Kind, Sourced):
    """A quantity grows by a law late in training: like log t, or like a power of t.

    Two conditions: it grows by at least a bound; and the law competes, run by run, with rivals that
    are fitted to the same observations (`reproaudit.stats.growth`: powers with another exponent,
    bounded courses and, for a power, the logarithm). The number of the second is the best rival's
    misfit over the law's, above 1, a contrast. A quantity that no longer grows has none: a constant
    fits as well, or it surely grows less, late in training, than the law would if its growth since
    the first step were the bound.

    Noise is what the better one leaves over, or, where that is systematic, what neighbours do not
    share of it. A run in which a rival fits better, and not surely so
    (`reproaudit.stats.growth.Misfit`), is void.
    """

    made = (_GROWTH, _LAW)
    whole_course = True
    single_course = True

    kind: Literal["grows_like"]
    """The kind of check."""
    series: Quantity
    """A series of one number, observed at least six times late in training."""
    law: Literal["logarithm", "power"]
    """The law of growth."""
    exponent: Positive | None = None
    """Of a power law: its exponent."""
    apart: Positive = 0.1
    """A power is a rival if its exponent differs from the law's by at least this; the logarithm has
    the exponent 0."""
    since: Annotated[float, Field(gt=0, lt=1)] = 0.25
    """The share of training from which on the law is fitted."""
    growth: Bound
    """The bound on the growth from start to end, in the series' units."""

    canonical = KIND | CanonicalForm(
        {
            "series": Part("series", QUANTITY),
            "law": Part("law"),
            "exponent": Part("exponent", unless=None),
            "apart": Part("apart", unless=0.1),
            "since": Part("since", unless=0.25),
            "growth": Part("growth", BOUND),
        }
    )

    @model_validator(mode="after")
    def _exponent_of_a_power(self) -> Self:
        if (self.law == "power") != (self.exponent is not None):
            raise ValueError("a power law, and only it, needs an exponent")
        return self

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The growth, and the law's fit; rivals of the logarithm are powers and bounded laws."""
        if self.exponent is not None:
            return self.made
        inverse = "a power or bounded law fits {typical} times as well as {reference}{worst}"
        return _GROWTH, replace(_LAW, inverse=inverse)

    @property
    def drawing(self) -> Drawing:
        """The course over the logarithm of time."""
        return replace(super().drawing, log_x=True)

    @property
    def from_the_start(self) -> tuple[Quantity, ...]:
        """The series, whose growth is from its first observation on."""
        return (self.series,)

    def compared(self, measurement: str, names: Names) -> tuple[str, str]:
        """Return the quantity, and the law."""
        power = None if self.exponent is None else names.coordinate(self.exponent)
        return self._noun(measurement, names), "log t" if power is None else f"t^{power}"

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the growth, and the best rival's misfit over the law's."""
        steps, values = run.series(self.series)
        course = values[:, 0]
        limit = Limit(Side.ABOVE, 1.0, self.origin)
        number, fit = self.numbers
        whole = float(course[-1] - course[0])
        growth = self._condition([whole], self.growth.limit(), self.series, number)
        late = [s for s in steps if s > 0 and s >= steps[0] + self.since * (steps[-1] - steps[0])]
        if len(late) < FEWEST_LATE:
            raise MeasurementMissingError(
                f"'{self.series.measurement}' has {len(late)} observations in the last "
                f"{1 - self.since:.0%} of training; a law of growth needs {FEWEST_LATE}",
                self.series.measurement,
            )
        law = Law(self.exponent or 0.0, self.apart)
        found = misfits(tuple(late), np.asarray(course[-len(late) :]), law)
        best = found["law"]
        rival = min((found[one] for one in law.rivals), key=lambda one: one.size)
        ratio = rival.size / best.size
        grows = best.size < found["constant"].size and self._goes_on(steps, course, late, best)
        fits = self._condition([ratio] if grows else [], limit, self.series, fit, says=False)
        if grows and ratio <= 1 and not rival.surely_below(best):
            return growth, replace(fits, value=None, says=None, void=Void.HIDDEN)
        return growth, fits

    def _goes_on(
        self, steps: tuple[int, ...], course: FloatArray, late: list[int], best: Misfit
    ) -> bool:
        """Whether the law may make its late share of the growth that is asked, for all noise."""
        limit = self.growth.limit()
        since = np.array([next(s for s in steps if s > 0), late[0], late[-1]], dtype=np.float64)
        first, begins, ends = self._at(since)
        asked = limit.level * (ends - begins) / (ends - first)
        made = self._at(np.asarray(late, dtype=np.float64))
        apart = made - made.mean()
        scale = float(apart @ course[-len(late) :]) / float(apart @ apart)
        error = best.noise / float(np.linalg.norm(apart))
        return bool((scale + CERTAIN * error) * (ends - begins) >= asked)

    def _at(self, steps: FloatArray) -> FloatArray:
        """The law at some steps."""
        return np.log(steps) if self.exponent is None else np.asarray(steps**self.exponent)
