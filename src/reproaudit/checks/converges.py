"""A loss falls, and settles."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from reproaudit.checks.kind import Condition, Kind
from reproaudit.checks.measurements import Quantity, Sample
from reproaudit.stats import Scale, Side


class Converges(Kind):
    """A loss falls by at least a factor over training, and has settled by its end.

    Both conditions are ratios of the loss, judged on a logarithmic scale: start over end is at
    least `falls_by`; and training on, with the schedule of the learning rate begun anew, changes
    the loss by no more than the factor `settles_within`. If training on lowers the loss by more,
    it has not settled. If training on raises it by more, this is undecided: the larger rate has
    moved the loss off its end, which shows neither that it would have stayed there nor that it was
    still falling. Where `continued` is missing, whether the loss has settled is not tested: that
    it no longer falls may only mean that the rate has decayed.
    """

    condition_names: ClassVar[tuple[str, ...]] = ("falls", "settles")

    kind: Literal["converges"]
    """The kind of check."""
    loss: Quantity
    """A series that is positive."""
    continued: Quantity | None = None
    """A number: the loss after training has gone on for `last_share` of its steps with the schedule
    of the learning rate begun anew, so that a decayed rate does not pass for having settled."""
    falls_by: Annotated[float, Field(gt=1)]
    """The factor by which the loss must fall from beginning to end."""
    settles_within: Annotated[float, Field(gt=1)]
    """The largest factor by which training on for `last_share` may change the loss. Missed if it
    lowers the loss by more; undecided if it raises it by more."""
    last_share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """For how much longer `continued` is trained, as a share of the training."""

    def conditions(self) -> tuple[Condition, ...]:
        """The loss falls far enough, and, where that is measured, it has settled."""
        falls = self._bounded(
            f"{self.name}: falls by a factor", self._fall, self.falls_by, Side.AT_LEAST, Scale.LOG
        )
        falls = replace(falls, name="falls")
        continued = self.continued
        if continued is None:
            return (falls,)
        settles = self._bounded(
            f"{self.name}: factor by which training on changes the loss",
            lambda sample: self._still(sample, continued),
            self.settles_within,
            Side.AT_MOST,
            Scale.LOG,
        )
        lowers = replace(settles, name="settles", kindest=lambda s: self._lowered(s, continued))
        return falls, lowers

    def goal(self, sample: Sample) -> tuple[Quantity, tuple[float, float]]:
        """The loss, fallen by the factor from its start."""
        start = float(sample.series(self.loss).values[0])
        return self.loss, (-math.inf, max(start, self.floor) / self.falls_by)

    def untested(self, _runs: int) -> str | None:
        """Why it is not tested whether the loss has settled; None where it is."""
        if self.continued is not None:
            return None
        return "whether the loss has settled is not measured: the check names no 'continued' loss"

    def follows_training(self) -> bool:
        """True: the end of the loss is compared with its start."""
        return True

    def _fall(self, sample: Sample) -> float:
        """The factor by which the loss falls over training."""
        values = sample.series(self.loss).values
        return self._ratio(float(values[0]), float(values[-1]))

    def _still(self, sample: Sample, continued: Quantity) -> float:
        """The factor, at least 1, by which training on lowers or raises the loss."""
        lowered = self._lowered(sample, continued)
        return max(lowered, 1 / lowered)

    def _lowered(self, sample: Sample, continued: Quantity) -> float:
        """The factor by which training on lowers the loss; below 1 it raises it."""
        end = float(sample.series(self.loss).values[-1])
        return self._ratio(end, sample.number(continued))
