"""One quantity changes well before another."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from reproaudit.checks.kind import Condition, Kind, Positive
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.lazy import np
from reproaudit.stats import Scale, Side, decide_every_seed, onset

if TYPE_CHECKING:
    from reproaudit.records import Series


class OrderedOnsets(Kind):
    """One quantity changes well before another: stage-wise learning.

    An onset is the last crossing of a share of a change that is itself large enough to matter
    (`reproaudit.stats.onset`). Two conditions: in every seed both changes come; and the later
    onset is at least `by` times the earlier one, on a logarithmic scale.

    Where an onset is depends on how it is defined and how often one looked, so the ratio has a
    range: over the shares 0.4, 0.5 and 0.6, over the whole time and its first four fifths, and over
    the two observations that an onset lies between. The order is met by the smallest ratio of that
    range and missed by the largest; otherwise it is undecided. Changes that come together are
    therefore never found apart because one of them was looked at less often.
    """

    kind: Literal["ordered_onsets"]
    """Which phenomenon is checked."""
    earlier: Quantity
    """The series that is claimed to change first."""
    later: Quantity
    """The series that is claimed to change afterwards."""
    earlier_change: Positive
    """The smallest change of the earlier series that counts, in its units."""
    later_change: Positive
    """The smallest change of the later series that counts, in its units."""
    by: Annotated[float, Field(ge=1)]
    """How many times later the later onset must be, in training steps."""

    def conditions(self) -> tuple[Condition, ...]:
        """Both changes come, and in this order."""
        side = Side.AT_LEAST
        come = self._bounded(f"{self.name}: both changes come", self._come, 1.0, side, Scale.LINEAR)
        ratio = self._bounded(
            f"{self.name}: ratio of the onsets",
            lambda s: self._ratios(s)[0],
            self.by,
            side,
            Scale.LOG,
        )
        return (  # whether a change came is a count over seeds, however the ratio is judged
            replace(come, decide=lambda values, *_: decide_every_seed(values, 1.0, side)),
            replace(ratio, kindest=lambda sample: self._ratios(sample)[1]),
        )

    def follows_training(self) -> bool:
        """True: an onset is a training step."""
        return True

    def _come(self, sample: Sample) -> float:
        """1 if both changes come, else 0."""
        pairs = ((self.earlier, self.earlier_change), (self.later, self.later_change))
        return float(all(_onset_between(sample.series(q), least, 0.5) for q, least in pairs))

    def _ratios(self, sample: Sample) -> tuple[float, float]:
        """The smallest and the largest ratio of later to earlier onset.

        A change that never comes counts as coming at the last step. An onset before the first
        observation after the start counts as at that observation. A shorter horizon that shows
        neither change says nothing about their order, and is left out.
        """
        earlier, later = sample.series(self.earlier), sample.series(self.later)
        steps = {*earlier.steps, *later.steps}
        start, end = min(steps), max(steps)
        first = min((step for step in steps if step > 0), default=1)
        ratios: list[float] = []
        for share, horizon in itertools.product((0.4, 0.5, 0.6), (1.0, 0.8)):
            until = start + horizon * (end - start)
            a = _onset_between(earlier, self.earlier_change, share, until)
            b = _onset_between(later, self.later_change, share, until)
            if a is None and b is None and until < end:
                continue
            a, b = a or (end, end), b or (end, end)
            ratios += (max(b[i], first) / max(a[1 - i], first) for i in (0, 1))
        return min(ratios), max(ratios)


def _onset_between(
    series: Series, least_change: float, share: float, until: float = math.inf
) -> tuple[float, float] | None:
    """The steps of the two observations around an onset, or None if the change has not come.

    Args:
        series: values of shape (step,).
        least_change: the smallest change that counts.
        share: of the change, at which its onset is.
        until: later observations are ignored.
    """
    steps = np.asarray(series.steps, dtype=np.float64)
    seen = steps <= until
    if steps.size > 1 and seen.sum() < 2:
        return None
    found = onset(steps[seen], series.values[seen], share=share, least_change=least_change)
    if found.step is None:
        return None
    after = int(np.searchsorted(steps, found.step))
    return float(steps[max(after - 1, 0)]), float(steps[after])
