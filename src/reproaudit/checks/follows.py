"""A quantity runs along a curve."""

from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reproaudit.checks.canonical import BOUND, ONE_BOUND, form
from reproaudit.checks.kind import (
    Bound,
    Condition,
    FewObservedError,
    Limit,
    OneBound,
    Provenance,
    Side,
)
from reproaudit.checks.run import Course, Run
from reproaudit.checks.shown import Form, Number
from reproaudit.declarations import Quantity
from reproaudit.lazy import BoolArray, FloatArray, np

FEWEST_POINTS = 10  # The fewest observations that show that a curve is followed
COMPARED = 0.5  # The share of training, from `since` on, that must be compared
EVENLY = 1001  # The steps, spaced evenly, at which a quantile is taken

_LARGEST = Number("follows")
_QUANTILE = Number("quantile", "{noun} {typical} most of the time{worst}")
_COMPARED = Number("compared", "compared over {typical} of training{worst}", Form.PERCENT)


class Quantile(Bound):
    """A bound on the distance that holds for a share of the training that is compared."""

    canonical = BOUND | form("share")

    share: Annotated[float, Field(gt=0, lt=1)]
    """The share: 0.9 for nine tenths of the time."""


class Follows(OneBound):
    """A quantity stays near a curve over training, at every observation.

    The number is the largest distance: in the quantity's units, or by how large a factor the two
    differ, less 1. With `share` it is the distance that holds for a share of the time; `quantile`
    is a second bound of this kind. A further number is the share of training that was compared.

    No run is void for noise, which is distance like any other. A run is void in which series and
    reference share fewer than ten observations each, or less than half of training, from `since`
    on.
    """

    made = (_LARGEST, _QUANTILE, _COMPARED)
    whole_course = True
    common_part = True

    kind: Literal["follows"]
    """The kind of check."""
    series: Quantity
    """The series that is judged."""
    reference: Quantity | None = None
    """The series of the same run that it follows."""
    curve: tuple[tuple[int, float], ...] | None = None
    """The curve that it follows, as (step, value), straight in between."""
    relative: bool = False
    """Whether the distance is by what factor the two differ, less 1."""
    since: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The share of training from which on the two are compared."""
    share: Annotated[float, Field(gt=0, lt=1)] | None = None
    """The share of the time for which the bound holds, such as 0.9; left out, it holds at every
    observation."""
    quantile: Quantile | None = None
    """A further bound, which holds for a share of the time."""

    canonical = ONE_BOUND | form(
        "series reference=null curve=null relative=false since=0.0 quantile=null share=null"
    )

    @model_validator(mode="after")
    def _one_curve(self) -> Self:
        if (self.reference is None) == (self.curve is None):
            raise ValueError("state either 'reference', which is measured, or 'curve'")
        steps = [step for step, _ in self.curve or ()]
        if self.curve is not None and (len(steps) < 2 or steps != sorted(set(steps))):
            raise ValueError("a curve needs at least two points, with increasing steps")
        if self.share is not None and self.quantile is not None:
            raise ValueError("state either 'share', for the bound itself, or a further 'quantile'")
        return self

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The largest distance, that of a quantile if asked, and how much was compared."""
        if self.share is not None:
            return _QUANTILE, _COMPARED
        return self.made if self.quantile is not None else (_LARGEST, _COMPARED)

    @property
    def uncounted(self) -> str:
        """All coordinates are compared over the same share of training."""
        return "" if self.quantile is None else "this check makes several: write one for each"

    @property
    def sides(self) -> tuple[Quantity, Quantity] | None:
        """The series and the measured one that it follows."""
        return None if self.reference is None else (self.series, self.reference)

    def followed(self, run: Run) -> Course:
        """Return the curve that the series follows, measured or stated."""
        if self.reference is not None:
            return run.series(self.reference)
        steps, values = zip(*self.curve or (), strict=True)
        return steps, np.array(values)[:, None]

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the distances from the curve against their bounds, and how much was compared."""
        steps, values = run.series(self.series)
        at, known = self.followed(run)
        grid = np.asarray(steps, dtype=np.float64)
        since = grid[0] + self.since * (grid[-1] - grid[0])
        common = (grid >= max(since, at[0])) & (grid <= at[-1])
        self._enough(grid, common, since, np.asarray(at, dtype=np.float64))
        share = float(np.ptp(grid[common]) / np.ptp(grid))
        expected = np.stack([np.interp(grid[common], at, course) for course in known.T], axis=1)
        distances = self._distances(values[common], expected)
        limit = replace(self.limit(), most=self._widest(run))
        conditions = []
        if self.share is None:
            farthest = [limit.worst(course.tolist()) for course in distances.T]
            conditions.append(self._condition(farthest, limit, self.series, _LARGEST))
        bound = None if self.share is None else (self.share, limit)
        if self.quantile is not None:
            bound = self.quantile.share, self.quantile.limit()
        if bound is not None:
            evenly = np.linspace(grid[common].min(), grid[common].max(), EVENLY)
            courses = (np.interp(evenly, grid[common], course) for course in distances.T)
            quantiles = [float(np.quantile(course, bound[0])) for course in courses]
            conditions.append(self._condition(quantiles, bound[1], self.series, _QUANTILE))
        enough = Limit(Side.AT_LEAST, COMPARED * (1 - self.since), Provenance.DERIVED, 1.0)
        return (*conditions, self._condition([share], enough, self.series, _COMPARED))

    def _enough(self, grid: FloatArray, common: BoolArray, since: float, at: FloatArray) -> None:
        """Refuse a run of which too little can be compared."""
        name = self.series.measurement
        known = at[(at >= since) & (at <= grid[-1])]
        fewest = common.sum() if self.reference is None else min(common.sum(), len(known))
        if fewest < FEWEST_POINTS:
            raise FewObservedError(
                f"fewer than {FEWEST_POINTS} observations of '{name}' lie where the curve is known",
                name,
            )
        if np.ptp(grid[common]) < COMPARED * (grid[-1] - since):
            raise FewObservedError(
                f"the curve that '{name}' should follow is known for less than half of training",
                name,
            )

    def _widest(self, run: Run) -> float | None:
        """The largest distance that there can be, where the series' range is declared."""
        name = self.series.measurement
        declared = run.declarations.get(run.reads.get(name, name))
        least, most = (None, None) if declared is None else declared.range or (None, None)
        if self.relative or least is None or most is None:
            return None
        return most - least

    def _distances(self, values: FloatArray, expected: FloatArray) -> FloatArray:
        """The distance at each observation, NaN where a ratio has no number; as `values`."""
        if not self.relative:
            return np.asarray(np.abs(values - expected))
        if min(values.min(), expected.min()) <= 0:
            return np.full_like(values, np.nan)
        return np.asarray(np.expm1(np.abs(np.log(values) - np.log(expected))))
