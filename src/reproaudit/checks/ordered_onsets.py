"""One quantity changes well before another."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from reproaudit.checks.kind import Condition, Kind, Positive
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.lazy import np
from reproaudit.stats import FloatArray, Scale, Side, decide_every_seed, final_value, onset

if TYPE_CHECKING:
    from reproaudit.records import Series


DEFINITIONS = tuple(itertools.product((0.4, 0.5, 0.6), (1.0, 0.8)))
"""The shares of a change and of the time that an onset is read at."""

_Course: TypeAlias = "tuple[FloatArray, FloatArray]"
"""Steps and values, each of shape (step,)."""

COME = 0.8
"""The share of its change at which the earlier quantity has come."""


@dataclass(frozen=True)
class Waiting:
    """The plateau of the later quantity in one run.

    Attributes:
        until: the step at which the earlier quantity has come; the last one if it does not.
        level: the farthest that the later one may have moved by then.
    """

    until: float
    level: float


class OrderedOnsets(Kind):
    """One quantity changes well before another: stage-wise learning.

    An onset is the last crossing of a share of a change that is itself large enough to matter
    (`reproaudit.stats.onset`). Three conditions: in every seed both changes come; the later onset
    is at least `by` times the earlier one, on a logarithmic scale; and the later quantity waits:
    when the earlier one has made four fifths of its change, the later one has made at most the
    share `plateau` of its own. Two quantities that both move from the start, one of them a few
    times as fast, have onsets far apart and no plateau. With thirty to fifty times the speed the
    slower one has moved so little by then that it counts as waiting (`docs/calibration.md`).

    Where an onset is depends on how it is defined and how often one looked, so the ratio has a
    range: over the shares 0.4, 0.5 and 0.6, over the whole time and its first four fifths, and over
    the two observations that an onset lies between. The order is met by the smallest ratio of that
    range and missed by the largest; otherwise it is undecided. Changes that come together are
    therefore never found apart because one of them was looked at less often.
    """

    condition_names: ClassVar[tuple[str, ...]] = ("come", "order", "waits")

    kind: Literal["ordered_onsets"]
    """The kind of check."""
    earlier: Quantity
    """The series that is claimed to change first."""
    later: Quantity
    """The series that is claimed to change afterwards."""
    earlier_change: Positive
    """The smallest change of the earlier series that counts, in its units."""
    later_change: Positive
    """The smallest change of the later series that counts, in its units."""
    by: Annotated[float, Field(ge=1)]
    """The least ratio of the later onset to the earlier one, both in training steps."""
    plateau: Annotated[float, Field(gt=0, lt=1)]
    """The largest share of its whole change that the later series may have made when the earlier
    one has come (four fifths of its change)."""

    def conditions(self) -> tuple[Condition, ...]:
        """Both changes come, in this order, and the later one waits for the earlier one."""
        side = Side.AT_LEAST
        ratios, waiting = cache(self._ratios), cache(self._waiting)  # both readings are one look
        come = self._bounded(f"{self.name}: both changes come", self._come, 1.0, side, Scale.LINEAR)
        ratio = self._bounded(
            f"{self.name}: ratio of the onsets",
            lambda s: ratios(s)[0],
            self.by,
            side,
            Scale.LOG,
        )
        waits = self._bounded(
            f"{self.name}: share of the later change made when the earlier one has come",
            lambda s: waiting(s)[1],
            self.plateau,
            Side.AT_MOST,
            Scale.LINEAR,
        )
        return (  # whether a change came is a count over seeds, however the ratio is judged
            replace(
                come,
                decide=lambda values, *_: decide_every_seed(values, 1.0, side),
                counted=True,
                name="come",
            ),
            replace(ratio, kindest=lambda s: ratios(s)[1], name="order"),
            replace(waits, kindest=lambda s: waiting(s)[0], name="waits"),
        )

    def onset_ranges(
        self, sample: Sample
    ) -> tuple[tuple[float, float, float] | None, tuple[float, float, float] | None]:
        """The earlier and the later onset of one run as (step, least, most); None if not come.

        The step is at half of the change; the range is over the definitions and observations that
        the ratio is judged over. An onset that only a shorter horizon misses keeps its range.
        """
        pairs = ((self.earlier, self.earlier_change), (self.later, self.later_change))
        earlier, later = (self._onset_range(sample.series(q), least) for q, least in pairs)
        return earlier, later

    def waiting(self, sample: Sample) -> Waiting:
        """The later quantity's plateau in one run: its level, and until when it must last."""
        earlier, later = sample.series(self.earlier), sample.series(self.later)
        span = _onset_between(_course(earlier), self.earlier_change, COME)
        whole = final_value(later.values) - float(later.values[0])
        if abs(whole) < self.later_change:
            whole = math.copysign(self.later_change, whole)
        level = float(later.values[0]) + self.plateau * whole
        return Waiting(span[1] if span else float(earlier.steps[-1]), level)

    @staticmethod
    def _onset_range(series: Series, least_change: float) -> tuple[float, float, float] | None:
        found = onset(series.steps, series.values, least_change=least_change)
        if found is None:
            return None
        course, start, end = _course(series), series.steps[0], series.steps[-1]
        spans = [
            span
            for share, horizon in DEFINITIONS
            if (
                span := _onset_between(course, least_change, share, start + horizon * (end - start))
            )
        ]
        edges = [*itertools.chain(*spans), found]
        return found, min(edges), max(edges)

    def follows_training(self) -> bool:
        """True: an onset is a training step."""
        return True

    def _waiting(self, sample: Sample) -> tuple[float, float]:
        """The share of the later change made when the earlier one has come.

        It is read at the two observations of the later series around that step; the smaller share
        comes first. An earlier change that never comes counts as coming at the end, or at the
        start: what does not move cannot show that the other one failed to wait for it.
        """
        earlier, later = sample.series(self.earlier), sample.series(self.later)
        span = _onset_between(_course(earlier), self.earlier_change, COME)
        before, after = span or (earlier.steps[0], earlier.steps[-1])
        steps, values = np.asarray(later.steps, dtype=np.float64), later.values
        whole = final_value(values) - float(values[0])
        if abs(whole) < self.later_change:
            whole = math.copysign(self.later_change, whole)
        last = steps.size - 1
        indices = np.searchsorted(steps, before, side="right") - 1, np.searchsorted(steps, after)
        moved = [float(values[min(max(int(i), 0), last)] - values[0]) for i in indices]
        shares = [abs(one / whole) for one in moved]  # what moves away has not waited either
        return min(shares), max(shares)

    def _come(self, sample: Sample) -> float:
        """1 if both changes come, else 0."""
        pairs = ((self.earlier, self.earlier_change), (self.later, self.later_change))
        return float(
            all(_onset_between(_course(sample.series(q)), least, 0.5) for q, least in pairs)
        )

    def _ratios(self, sample: Sample) -> tuple[float, float]:
        """The smallest and the largest ratio of later to earlier onset.

        A later change that never comes counts as coming at the last step, an earlier one as coming
        at any step: what does not move has no place in an order. An onset before the first
        observation after the start counts as at that observation. A shorter horizon that shows
        neither change says nothing about their order, and is left out.
        """
        earlier, later = _course(sample.series(self.earlier)), _course(sample.series(self.later))
        steps = np.concatenate([earlier[0], later[0]]).tolist()
        start, end = min(steps), max(steps)
        first = min((step for step in steps if step > 0), default=1)
        ratios: list[float] = []
        for share, horizon in DEFINITIONS:
            until = start + horizon * (end - start)
            a = _onset_between(earlier, self.earlier_change, share, until)
            b = _onset_between(later, self.later_change, share, until)
            if a is None and b is None and until < end:
                continue
            a, b = a or (first, end), b or (end, end)
            ratios += (max(b[i], first) / max(a[1 - i], first) for i in (0, 1))
        return min(ratios), max(ratios)


def _course(series: Series) -> _Course:
    return np.asarray(series.steps, dtype=np.float64), series.values


def _onset_between(
    course: _Course, least_change: float, share: float, until: float = math.inf
) -> tuple[float, float] | None:
    """The steps of the two observations around an onset, or None if the change has not come.

    Args:
        course: steps and values, each of shape (step,).
        least_change: the smallest change that counts.
        share: of the change, at which its onset is.
        until: later observations are ignored.
    """
    steps, values = course
    seen = steps <= until
    if steps.size > 1 and seen.sum() < 2:
        return None
    found = onset(steps[seen], values[seen], share=share, least_change=least_change)
    if found is None:
        return None
    after = int(np.searchsorted(steps, found))
    return float(steps[max(after - 1, 0)]), float(steps[after])
