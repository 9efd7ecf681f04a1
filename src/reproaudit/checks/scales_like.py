"""A quantity is a power of a size."""

from dataclasses import replace
from typing import Literal, Self

from pydantic import Field, model_validator

from reproaudit.checks.canonical import KIND, form
from reproaudit.checks.kind import (
    Bound,
    Condition,
    FewObservedError,
    Kind,
    NumberOrBound,
    PositiveOrSourced,
    Provenance,
    Void,
    amount_of,
    margin_around,
)
from reproaudit.checks.run import Run
from reproaudit.checks.shown import Form, Number
from reproaudit.declarations import Name, Quantity
from reproaudit.lazy import FloatArray, np
from reproaudit.stats import powers

FEWEST_SIZES = 3  # The fewest sizes of which an exponent is read

FEWEST_BENT = 4
"""The fewest sizes that tell a bend, or a power above a constant, which has three parameters."""

_EXPONENT = Number(
    "exponent",
    noun="exponent",
    never="{noun} is no power of the size",
    refuted="a single size makes it",
)
_BEND = Number("bend", "bends by {typical}{worst}", Form.PERCENT)


class ScalesLike(Kind):
    """A quantity is a power of a size: width, depth, number of samples, sequence length.

    A line is fitted to the logarithms of quantity and size. Its slope equals an exponent within a
    margin, or has a bound, such as `below: 0` for a trend; decided on the mean of the runs unless
    the audit says otherwise. With `bend`, the quantity lies nowhere farther from the line; with
    `offset` it is a power above a constant. docs/checks.md says more of both, and of trends.

    A claimed exponent is that of a power. A run has none, and says no, if a rival surely fits
    better, a parabola, a rise between two levels or a line without one size
    (`reproaudit.stats.powers.surely_departs`), and the law is farther from a value than any course
    whose exponents stay within the margin: the margin times a quarter of the logarithm of the
    largest size over the smallest. A trend is neither a single size nor, of six sizes or more, a
    single step: if neighbours part by four fifths of the change, each side of that step with three
    sizes or more meets the bound, too.

    Noise is what the best rival leaves over, or the power above a constant. A run whose bend is not
    surely one is void, and so is one that decides alone, not by the mean, and misses a bound that
    lies in its exponent's 90 % interval.
    """

    made = (_EXPONENT, _BEND)
    means = True

    kind: Literal["scales_like"]
    """The kind of check."""
    value: Quantity
    """A positive array; the coordinate on `axis` is left out."""
    axis: Name
    """The axis of sizes: positive numbers, at least three, or four with `offset` or `bend`."""
    offset: bool = False
    """Whether the power is above a constant, which is fitted, too."""
    exponent: NumberOrBound
    """The exponent of the power law, or a bound on it."""
    within: PositiveOrSourced | None = None
    """The largest difference from a claimed exponent that still counts as equal; of another source
    than the exponent, with it: `{is: 0.05, from: ours, why: a reason}`."""
    bend: Bound | None = None
    """The bound on the largest relative distance from the power law, at any size."""
    origin: Provenance = Field(default=Provenance.PAPER, alias="from")
    """Where a claimed exponent comes from, and its margin unless that has a source of its own."""

    canonical = KIND | form("value axis exponent within=null bend=null offset=false")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if isinstance(self.exponent, Bound) == (self.within is not None):
            raise ValueError("a number as exponent, and only it, needs 'within'")
        return self

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The exponent and, if asked, the distance from the power law."""
        return (_EXPONENT,) if self.bend is None else (_EXPONENT, _BEND)

    @property
    def uncounted(self) -> str:
        """All sizes make one number."""
        return "this check makes one number of all sizes"

    @property
    def sizes(self) -> tuple[str, int]:
        """The axis of sizes, and the fewest that tell a power law."""
        return self.axis, FEWEST_BENT if self.offset or self.bend else FEWEST_SIZES

    def fitted(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return the power of the size, without a constant; None where a number is 0 or less."""
        if min(x.min(), y.min()) <= 0:
            return None
        line = np.polyfit(np.log(x), np.log(y), 1)
        return x, np.exp(np.polyval(line, np.log(x)))

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the exponent and, if asked, the distance from the power law."""
        sizes = [float(size) for size in run.coordinates(self.value, self.axis)]
        _, fewest = self.sizes
        if len(set(sizes)) < fewest or min(sizes) <= 0:
            raise FewObservedError(
                f"a power law along '{self.axis}' needs at least {fewest} positive sizes",
                self.value.measurement,
            )
        values = run.numbers(self.value)
        array = np.array(sizes)
        known = len(values) == len(sizes) and values.min() > 0
        fit = self._fit(array, values) if known else None
        exponent = self._of_exponent(fit)
        if fit is not None and self._is_no_power(array, values, fit):
            exponent = replace(exponent, value=None, says=False, void=None)
        if fit is not None and exponent.met:
            exponent = self._as_trend(array, values, exponent)
        if self.bend is None:
            return (exponent,)
        line = fit if self.offset or not known else powers.power_fit(array, values)
        apart = () if line is None else line.apart
        bend = self._condition(apart, self.bend.limit(), self.value, _BEND)
        departs = (
            line is None or self.offset or powers.surely_departs(array, values, line.left_over)
        )
        if bend.met is False and not departs:
            bend = replace(bend, value=None, void=Void.HIDDEN)
        return exponent, bend

    def _fit(self, sizes: FloatArray, values: FloatArray) -> powers.PowerFit | None:
        """The law; of a claimed exponent that above a constant, where the logarithms bend."""
        if self.offset:
            return powers.offset_power_fit(sizes, values)
        line = powers.power_fit(sizes, values)
        if isinstance(self.exponent, Bound) or not powers.surely_bends(sizes, values):
            return line
        return powers.offset_power_fit(sizes, values) or line

    def _is_no_power(self, sizes: FloatArray, values: FloatArray, fit: powers.PowerFit) -> bool:
        """Whether a law with a claimed exponent surely misses the values, by more than a margin."""
        if self.within is None:
            return False
        if np.isnan(fit.left_over).any():
            return True
        most = amount_of(self.within) * float(np.log(sizes.max() / sizes.min())) / 4
        farther = float(np.abs(fit.left_over).max()) > most
        return farther and powers.surely_departs(sizes, values, fit.left_over)

    def _of_exponent(self, fit: powers.PowerFit | None) -> Condition:
        """The condition on the exponent, void where noise alone might miss its bound."""
        if isinstance(self.exponent, Bound):
            limit = self.exponent.limit()
        else:
            assert self.within is not None, "refused by _one_form"
            limit = margin_around(self.exponent, self.within, self.origin)
        exponents = [] if fit is None else [fit.exponent]
        condition = self._condition(exponents, limit, self.value, _EXPONENT)
        if fit is None or self.by_mean or condition.met is not False:
            return condition
        low, high = limit.accepted
        inside = fit.least < high and fit.most > low
        return replace(condition, value=None, void=Void.HIDDEN) if inside else condition

    def _as_trend(self, sizes: FloatArray, values: FloatArray, condition: Condition) -> Condition:
        """The condition on an exponent with a bound, a no where a single size or step makes it.

        Its number is then that without the size, or beside the step; where a mean decides, it stays
        that of all sizes.
        """
        if condition.value is None or not isinstance(self.exponent, Bound) or self.offset:
            return condition
        parts = powers.slopes_without_an_end(sizes, values)
        if len(sizes) == FEWEST_SIZES:
            parts = [slope for slope in parts if slope * condition.value <= 0]
        parts += powers.slopes_beside_a_step(sizes, values)
        missed = [slope for slope in parts if not condition.limit.met_by(slope)]
        if not missed:
            return condition
        if self.by_mean:
            return replace(condition, refuted=True)
        return replace(condition, value=condition.limit.worst(missed))
