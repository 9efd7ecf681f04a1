"""A loss falls, and settles."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from reproaudit.checks.kind import Condition, Kind
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.stats import Scale, Side


class Converges(Kind):
    """A loss falls by at least a factor over training, and has settled by its end.

    Both conditions are ratios of the loss, judged on a logarithmic scale: start over end is at
    least `falls_by`; the loss where the last `last_share` of training begins, over the loss at the
    end, is at most `settles_within`.
    """

    kind: Literal["converges"]
    """Which phenomenon is checked."""
    loss: Quantity
    """A series that is positive."""
    falls_by: Annotated[float, Field(gt=1)]
    """How many times smaller the loss must end than it began."""
    settles_within: Annotated[float, Field(gt=1)]
    """The largest factor by which it may still have fallen in the last share of training."""
    last_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """The share of training that counts as its end."""

    def conditions(self) -> tuple[Condition, ...]:
        """The loss falls far enough, and it settles."""
        return (
            self._bounded(
                f"{self.name}: falls by a factor",
                lambda s: self._fall(s, 0.0),
                self.falls_by,
                Side.AT_LEAST,
                Scale.LOG,
            ),
            self._bounded(
                f"{self.name}: still falling at the end, by a factor",
                lambda s: self._fall(s, 1.0 - self.last_share),
                self.settles_within,
                Side.AT_MOST,
                Scale.LOG,
            ),
        )

    def follows_training(self) -> bool:
        """True: the end of the loss is compared with its start."""
        return True

    def _fall(self, sample: Sample, share: float) -> float:
        """The factor by which the loss falls from a share of the training time to its end."""
        series = sample.series(self.loss)
        start = series.steps[0] + share * (series.steps[-1] - series.steps[0])
        index = max(i for i, step in enumerate(series.steps) if step <= start)
        return self._ratio(float(series.values[index]), float(series.values[-1]))
