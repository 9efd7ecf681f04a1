"""The data of the pictures beside a claim: every run of what is judged, and what it is held to.

Only data, so that a page can be drawn again without records; `reproaudit.reports.chart` draws them
and `reproaudit.scorecard.build_pictures` takes them out of records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from reproaudit.audit.plan import Role
from reproaudit.judging.model import ReportModel

MOST_POINTS = 120
"""The most observations that a line keeps, beside the ends and extremes of every run."""
MOST_LINE_VALUES = 1500
"""The most numbers that a line keeps over all its runs: with many runs, each keeps fewer."""
EARLY = 0.1
"""The share of the steps in which an early change would vanish on a linear time axis."""
HIDDEN = 0.01
"""The same where the audit declares stages, which a logarithmic axis squeezes."""
STAGES_ASK = "its stages have more room on it"
"""Why a time axis is logarithmic where `stages_ask_for_log`."""
FEWEST_OBSERVATIONS = 30
"""As many observations are kept however many runs there are."""


class LineModel(ReportModel):
    """One quantity in one batch of runs."""

    label: str
    """The quantity in words, with its coordinates."""
    role: Role
    """The role of the batch: the claim's own experiment, a control or the positive control."""
    control: int | None
    """Of a control: its number on the page, from 1; None if it is the only one."""
    name: str | None
    """Of a control: its name, if it has one."""
    quantity: int
    """The quantity's place in the picture, from 0; a control's has the place of what it answers."""
    x: tuple[float | str, ...]
    """Training steps, or coordinates on the axis; one for each value of the longest run."""
    seeds: tuple[int, ...]
    runs: tuple[tuple[float, ...], ...]
    """The values of each seed. A run that diverged has fewer than `x`."""


class RangeModel(ReportModel):
    """The range of a quantity that meets the check, the mean over runs."""

    quantity: int
    about: str
    """The part of the claim, or the law, that it belongs to."""
    x: tuple[float | str, ...]
    """The steps or coordinates at which it holds; empty for a level at the end of training."""
    low: tuple[float | None, ...]
    """None for an open end; equal to `high` for a target curve."""
    high: tuple[float | None, ...]
    varies: bool = False
    """True if each run has a range of its own, so that this one judges none of them."""


class OnsetModel(ReportModel):
    """When a quantity changed, in the claim's own runs."""

    quantity: int
    step: float
    """The median over the runs in which the change came."""
    low: float
    """The earliest over these runs and over the ways to define an onset."""
    high: float
    """The latest."""
    came: int
    """In how many runs the change came."""
    of: int


class StageModel(ReportModel):
    """A stretch of training."""

    name: str
    about: str
    """The events of this stretch, in words."""
    start: float
    end: float


class PlateauModel(ReportModel):
    """The level at which a quantity must wait, and until when; the mean over runs."""

    quantity: int
    level: float
    until: float


class PictureModel(ReportModel):
    """One picture of what a claim is judged on."""

    kind: Literal["course", "sizes"]
    """course: over training steps; sizes: over an axis of the measurement."""
    parts: tuple[str, ...]
    """The parts of the claim that are judged on what it shows."""
    x_label: str
    x_scale: Literal["linear", "log", "words"]
    x_why: str
    """Why the axis has this scale."""
    y_label: str
    unit: str
    """Empty for pure numbers."""
    y_scale: Literal["linear", "log"]
    floor: float
    """The resolution of the measurement; smaller values are drawn here on a logarithmic scale."""
    meanings: tuple[str, ...]
    """The meaning of each quantity."""
    lines: tuple[LineModel, ...]
    ranges: tuple[RangeModel, ...] = ()
    onsets: tuple[OnsetModel, ...] = ()
    onset_rule: str = ""
    """The definition of the onsets, and what their range is over."""
    stages: tuple[StageModel, ...] = ()
    plateaus: tuple[PlateauModel, ...] = ()
    judged: tuple[float | str, ...] = Field(default=())
    """Of an axis: the coordinates that are judged; empty if all are."""
    observed: int
    """The number of observations of the longest line before it was thinned out."""


def kept(x: Sequence[float], runs: Sequence[NDArray[np.float64]], *, log: bool) -> list[int]:
    """The observations of a line that a picture keeps.

    The time axis, as it is drawn, is cut into stretches of equal length. Of each the observations
    with the highest and the lowest value of any run are kept, and of each run the first, the last,
    the highest and the lowest. So no peak of the runs together and no extreme of a run is hidden.

    Args:
        x: steps, increasing.
        runs: the values of each; shape (step,), some shorter than `x`.
        log: whether the time axis is logarithmic.
    """
    most = max(FEWEST_OBSERVATIONS, min(MOST_POINTS, MOST_LINE_VALUES // len(runs)))
    if len(x) <= most:
        return _bends(runs, list(range(len(x))))
    keep = {0, len(x) - 1}
    for run in runs:
        keep |= {0, len(run) - 1, int(run.argmax()), int(run.argmin())}
    along = np.asarray(x, dtype=np.float64)
    if log:
        along = np.log(np.maximum(along, along[along > 0].min()))
    stretches = most // 2
    width = (along[-1] - along[0]) / stretches
    place = np.minimum((along - along[0]) / width, stretches - 1).astype(int)
    high, low = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    for run in runs:
        high[: len(run)] = np.maximum(high[: len(run)], run)
        low[: len(run)] = np.minimum(low[: len(run)], run)
    for one in np.unique(place):
        inside = np.flatnonzero(place == one)
        keep |= {int(inside[high[inside].argmax()]), int(inside[low[inside].argmin()])}
    return _bends(runs, sorted(keep))


def _bends(runs: Sequence[NDArray[np.float64]], keep: list[int]) -> list[int]:
    """The observations without those inside a stretch where no run changes at all."""

    def flat(i: int, j: int) -> bool:
        return all(len(run) > max(i, j) and run[i] == run[j] for run in runs)

    inside = zip(keep, keep[1:], keep[2:], strict=False)
    middle = [b for a, b, c in inside if not (flat(a, b) and flat(b, c))]
    return [*keep[:1], *middle, *keep[1:][-1:]]


def setting_out(steps: Sequence[float], mean: NDArray[np.float64]) -> float:
    """Returns the first step at which a mean has made a quarter of its change."""
    change = mean[-1] - mean[0]
    if not change:
        return steps[len(mean) - 1]
    return float(steps[int(np.argmax((mean - mean[0]) / change >= 0.25))])


def is_early(steps: Sequence[float], mean: NDArray[np.float64]) -> bool:
    """Returns whether a quarter of a change comes so early that time is drawn logarithmically."""
    enough = sum(step > 0 for step in steps) > 1
    return enough and setting_out(steps, mean) <= steps[0] + EARLY * (steps[-1] - steps[0])


def stages_ask_for_log(steps: Sequence[float], stages: Sequence[StageModel]) -> bool:
    """Returns whether the narrowest stage is broader on a logarithmic than on a linear time axis.

    Args:
        steps: of the longest run, increasing.
        stages: at least one.
    """
    positive = [step for step in steps if step > 0]
    if len(positive) < 2:
        return False
    first, span = positive[0], steps[-1] - steps[0]
    on_linear = min((one.end - one.start) / span for one in stages)
    on_log = min(
        math.log(max(one.end, first) / max(one.start, first)) / math.log(positive[-1] / first)
        for one in stages
    )
    return on_log > on_linear


def rounded(values: Sequence[float] | NDArray[np.float64]) -> tuple[float, ...]:
    """Returns values to five significant digits: more than a picture shows."""
    return tuple(float(f"{v:.5g}") for v in values)
