"""A quantity grows by a law of time."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reproaudit.checks.canonical import KIND, form
from reproaudit.checks.kind import (
    Bound,
    Condition,
    FewObservedError,
    Kind,
    Limit,
    Positive,
    Side,
    Sourced,
    Void,
)
from reproaudit.checks.run import Run
from reproaudit.checks.shown import Drawing, Form, Names, Number
from reproaudit.declarations import Quantity
from reproaudit.lazy import BoolArray, FloatArray, np
from reproaudit.stats.growth import (
    CERTAIN,
    FEWEST_LATE,
    LIKELY,
    MOST_LIKELY,
    Law,
    Misfit,
    misfits,
    thinned,
)

_GROWTH = Number("growth", "{noun} grows by {typical}{worst}", label="growth")
_LAW = Number(
    "law",
    "{reference} fits {typical} times as well as any rival law{worst}",
    Form.ROUNDED,
    "fit of the law",
    contrast=True,
    aside="law's fit over its best rival's {figure}",
    never="it stops growing",
    bound="a better fit than any rival's",
    inverse="a rival law fits {typical} times as well as {reference}{worst}",
)


LATE = 0.25  # The share of training from which on growth is late, where an audit states none

SURELY = 2.576
"""So many standard errors lie between two paces that surely differ: 99 % of a normal law."""

LATER = 4.0  # How many times as late the next place is at which the start of a law is looked for


class GrowsLike(Kind, Sourced):
    """A quantity grows by a law: like log t, or like a power of t.

    Two conditions: it grows by at least a bound; and the law competes, run by run, with rivals that
    are fitted to the same observations (`reproaudit.stats.growth`: powers with another exponent,
    bounded courses and, for a power, the logarithm). The number of the second is the best rival's
    misfit over the law's, above 1, a contrast. A quantity that no longer grows has none: a constant
    fits as well, or its late growth is surely less than that of the law.

    Without `since`, the law is fitted to the longest part up to the end on which it leaves over
    noise alone, late growth is as fast as all of it, and no rival surely fits better. A run in
    which a rival fits better, and not surely so (`reproaudit.stats.growth.Misfit`), is void.
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
    """The exponent of a power law."""
    apart: Positive = 0.1
    """A power is a rival if its exponent differs from the law's by at least this; the logarithm has
    the exponent 0."""
    since: Annotated[float, Field(gt=0, lt=1)] | None = None
    """The share of training from which on the law is fitted; left out, it is fitted to all that
    follows its start."""
    growth: Bound
    """The bound on the growth from start to end, in the series' units."""

    canonical = KIND | form("series law exponent=null apart=0.1 since=0.25 growth")

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
    def from_the_start(self) -> tuple[Quantity, ...]:
        """The series, whose growth is from its first observation on."""
        return (self.series,)

    def compared(self, measurement: str, names: Names) -> tuple[str, str]:
        """Return the quantity, and the law."""
        power = None if self.exponent is None else names.coordinate(self.exponent)
        return self._noun(measurement, names), "log t" if power is None else f"t^{power}"

    def drawing(self, number: Number, noun: str, names: Names) -> Drawing:
        """Return the series over the logarithm of time."""
        return replace(super().drawing(number, noun, names), log_x=True)

    def fitted(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the law, fitted to late training."""
        late = x >= max(x[0] + self.late * (x[-1] - x[0]), x[x > 0].min())
        law = self._at(x[late])
        return x[late], np.asarray(np.polyval(np.polyfit(law, y[late], 1), law))

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the growth, and the best rival's misfit over the law's."""
        steps, values = run.series(self.series)
        course = values[:, 0]
        number, fit = self.numbers
        whole = float(course[-1] - course[0])
        growth = self._condition([whole], self.growth.limit(), self.series, number)
        late = [s for s in steps if s > 0 and s >= steps[0] + self.late * (steps[-1] - steps[0])]
        if len(late) < FEWEST_LATE:
            raise FewObservedError(
                f"'{self.series.measurement}' has {len(late)} observations in the last "
                f"{1 - self.late:.0%} of training; a law of growth needs {FEWEST_LATE}",
                self.series.measurement,
            )
        at = np.asarray(steps, dtype=np.float64)
        part = at >= late[0]
        if self.since is None:
            laws = misfits(*thinned(at[part], course[part]), self._law)
        else:
            laws = misfits(tuple(late), course[part], self._law)
        grows = laws["law"].size < laws["constant"].size
        goes_on = self._goes_on(at, course, part, laws["law"])
        if goes_on and self.since is None and not self._is_refuted(laws, MOST_LIKELY):
            longest = self._after_its_start(at, course, part, laws["law"])
            grows = grows or longest is not None
            laws = longest or laws
        grows = grows and goes_on
        limit = Limit(Side.ABOVE, 1.0, self.origin)
        ratio = self._best_rival(laws).size / laws["law"].size
        fits = self._condition([ratio] if grows else [], limit, self.series, fit, says=False)
        if grows and ratio <= 1 and not self._is_refuted(laws):
            fits = replace(fits, value=None, says=None, void=Void.HIDDEN)
        return growth, fits

    def _after_its_start(
        self, at: FloatArray, course: FloatArray, late: BoolArray, misfit: Misfit
    ) -> dict[str, Misfit] | None:
        """The misfits over the longest part up to the end on which the law holds; None if none.

        It holds where it leaves over noise alone, late growth is as fast as all of it, and no rival
        surely fits better. What sets in later, as log(1 + t/tau), begins where it has set in.
        """
        newest, error = self._pace(at[late], course[late], misfit)
        since = float(at[at > 0][0])
        while since < at[late][0]:
            part = at >= since
            laws = misfits(*thinned(at[part], course[part]), self._law)
            whole, _ = self._pace(at[part], course[part], laws["law"])
            as_fast = abs(whole - newest) <= SURELY * error
            if as_fast and not laws["law"].systematic and not self._is_refuted(laws):
                return laws
            since *= LATER
        return None

    def _pace(self, at: FloatArray, course: FloatArray, misfit: Misfit) -> tuple[float, float]:
        """How many times the law a course grows, and the standard error of that."""
        made = self._at(at)
        apart = made - made.mean()
        length = float(np.linalg.norm(apart))
        return float(apart @ course) / length**2, misfit.noise / length

    @property
    def late(self) -> float:
        """The share of training from which on the law must still make its share of the growth."""
        return LATE if self.since is None else self.since

    @property
    def _law(self) -> Law:
        return Law(self.exponent or 0.0, self.apart)

    def _best_rival(self, laws: Mapping[str, Misfit]) -> Misfit:
        return min((laws[rival] for rival in self._law.rivals), key=lambda misfit: misfit.size)

    def _is_refuted(self, laws: Mapping[str, Misfit], beyond: float = LIKELY) -> bool:
        return self._best_rival(laws).surely_below(laws["law"], beyond)

    def _goes_on(self, at: FloatArray, course: FloatArray, late: BoolArray, misfit: Misfit) -> bool:
        """Whether the law may make its late share of the growth that is asked, for all noise."""
        limit = self.growth.limit()
        since = np.array([at[at > 0][0], at[late][0], at[-1]])
        first, begins, ends = self._at(since)
        asked = limit.level * (ends - begins) / (ends - first)
        pace, error = self._pace(at[late], course[late], misfit)
        return bool((pace + CERTAIN * error) * (ends - begins) >= asked)

    def _at(self, steps: FloatArray) -> FloatArray:
        """The law at some steps."""
        return np.log(steps) if self.exponent is None else np.asarray(steps**self.exponent)
