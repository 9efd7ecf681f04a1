"""One quantity changes first, and another after it: stage-wise learning."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias

from reproaudit.checks.canonical import KIND, SOURCED, form
from reproaudit.checks.kind import Bound, Condition, Kind, Limit, Positive, Side, Sourced, Void
from reproaudit.checks.run import Course, Run
from reproaudit.checks.shown import Drawing, Form, Names, Number, place_words, read_noun
from reproaudit.declarations import Quantity, StrictModel
from reproaudit.lazy import FloatArray, np
from reproaudit.stats import onsets


class Onset(StrictModel):
    """The change of one series, and where it sets in."""

    canonical: ClassVar = form("series crosses=null least=0.25")

    series: Quantity
    """A series of one number, which cannot cancel: of the worst head, or a norm."""
    crosses: float | None = None
    """The fixed level whose crossing is the onset; left out, it is half of a change that
    saturates."""
    least: Positive = 0.25
    """The smallest change that counts, in the series' units."""


class Wait(Sourced):
    """How little the later quantity may have changed at the earlier one's onset."""

    canonical = SOURCED | form("below")

    below: Literal["one_clock"]
    """one_clock: at most a tenth of its change is made; and until its own onset it falls at some
    time to half of what a constant pace from the start would have made by then."""


_ORDER = Number(
    "order",
    "{noun} comes {typical} times as late{reference}{worst}",
    Form.ROUNDED,
    "times as late",
    contrast=True,
    never="a change never comes",
)
_WAIT = replace(
    _ORDER,
    name="wait",
    label="wait",
    says="{noun} comes after: it has changed {typical} times less than it might{worst}",
)


class Stages(Kind):
    """One quantity changes before another, which has hardly begun by then.

    *Order*: the later onset over the earlier one. *Wait*: by how much less the later quantity has
    changed than it might, as docs/checks.md says. Both are above 1, and contrasts. A change that
    never comes, or is smaller than `least`, has no onset, and the run says no; with one that still
    goes on, and no level, it is void. A control in which the later change comes without the earlier
    one refutes the order, and is void. Of the runs alone, a page says "comes after".

    An onset lies between two observations, and the later change is known but for four standard
    deviations of its noise (`reproaudit.stats.onsets.noise`): where either decides, the run is
    void.
    """

    made = (_ORDER, _WAIT)
    whole_course = True
    single_course = True

    kind: Literal["stages"]
    """The kind of check."""
    earlier: Onset
    """The quantity that is claimed to change first."""
    later: Onset
    """The quantity that is claimed to change afterwards."""
    order: Bound
    """The bound on the ratio of the onsets, above 1."""
    wait: Wait | None = None
    """Whether the later quantity waits; left out, the order alone is judged."""

    canonical = KIND | form("earlier later order wait=null")

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The order and, if asked, the wait."""
        return (_ORDER,) if self.wait is None else (_ORDER, _WAIT)

    @property
    def sides(self) -> tuple[Quantity, Quantity]:
        """Both series."""
        return self.earlier.series, self.later.series

    @property
    def timed(self) -> tuple[Quantity, Quantity]:
        """Both series."""
        return self.sides

    def compared(self, measurement: str, names: Names) -> tuple[str, str]:
        """Return the later quantity and the earlier one, with places if they have one noun."""
        earlier = self.earlier.series
        later = self.later.series
        if earlier.measurement != later.measurement:
            return self._noun(measurement, names), f" as {read_noun(earlier, names)}"
        noun = names.noun(measurement)
        nouns = [f"{noun} ({place_words(one, names)})" for one in (later, earlier)]
        return nouns[0], f" as {nouns[1]}"

    def drawing(self, _number: Number, _noun: str, _names: Names) -> Drawing:
        """Return both changes, whichever number is drawn."""
        return Drawing("share of its whole change that each has made", changes=self.sides)

    def course(self, run: Run, quantity: Quantity) -> Course:
        """Return the share of its whole change that a series has made."""
        steps, values = run.series(quantity)
        whole = values[-1] - values[0]
        return steps, (values - values[0]) / np.where(whole == 0, 1.0, whole)

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the ratio of the onsets and, if asked, the wait."""
        changes = [_change(run, onset) for onset in (self.earlier, self.later)]
        if run.control and changes[0] is None and changes[1] is not None:
            changes[0] = Void.UNPROMPTED
        limits = [(_ORDER, self.order.limit(1.0), _order)]
        if self.wait is not None:
            limits.append((_WAIT, Limit(Side.ABOVE, 1.0, self.wait.origin), _wait))
        return tuple(self._between(changes, number, limit, ends) for number, limit, ends in limits)

    def _between(
        self, changes: Sequence[_Change | Void | None], number: Number, limit: Limit, ends: _Ends
    ) -> Condition:
        """The condition on a number that lies between two ends; void where they disagree."""
        condition = self._condition((), limit, self.later.series, number, says=False)
        early, late = changes
        if early is None or late is None:
            return condition
        if early is Void.UNPROMPTED:
            return replace(condition, says=None, void=early)
        if isinstance(early, Void) or isinstance(late, Void):
            moving = self.earlier if isinstance(early, Void) else self.later
            name = moving.series.measurement
            return replace(condition, says=None, void=Void.NOT_ENDED, about=name)
        least, typical, most = ends(early, late)
        if limit.met_by(least) != limit.met_by(most):
            least, _, most = ends(early, replace(late, noise=0.0))
            few = limit.met_by(least) != limit.met_by(most)
            return replace(condition, says=None, void=Void.FEW_OBSERVED if few else Void.HIDDEN)
        return self._condition([typical], limit, self.later.series, number, says=limit.met_by(most))


@dataclass(frozen=True)
class _Change:
    """The change of one series.

    Attributes:
        steps: at which it was observed; shape (step,).
        made: the share of the whole change by which it has moved until then; shape (step,).
        noise: of an observation, as a share of the whole change.
        onset: where it sets in.
        at_onset: the share that is made there.
    """

    steps: FloatArray
    made: FloatArray
    noise: float
    onset: onsets.Passage
    at_onset: float


_Ends: TypeAlias = Callable[[_Change, _Change], tuple[float, float, float]]

HARDLY_BEGUN = 0.1  # The share of a change that has hardly begun, at most

LAG = 0.5
"""The share of what a constant pace gives, at most, of one that does not run from the start."""

LEAST_SHARE = 1e-4  # A share of a change below this counts as this: observations lie no denser


def _change(run: Run, onset: Onset) -> _Change | Void | None:
    """The change of a series; None where it never comes, void where it has no onset yet."""
    steps, values = run.series(onset.series)
    if values.shape[1] != 1:
        return None
    course = values[:, 0]
    whole = onsets.final_value(steps, course) - float(course[0])
    level = onset.crosses
    if level is None:
        if abs(whole) < onset.least:
            return None
        if not onsets.has_ended(steps, course):
            return Void.NOT_ENDED
        level = float(course[0]) + whole / 2
    passage = onsets.crossing(steps, course, level)
    if passage is None or not whole:
        return None
    return _Change(
        steps=np.asarray(steps, dtype=np.float64),
        made=onsets.excursions(course) / abs(whole),
        noise=onsets.noise(steps, course) / abs(whole),
        onset=passage,
        at_onset=abs((level - float(course[0])) / whole),
    )


def _order(early: _Change, late: _Change) -> tuple[float, float, float]:
    """The ratio of the onsets: the least that it can be, as interpolated, and the most."""
    first = early.onset
    second = late.onset
    return (
        second.before / first.after,
        second.step / first.step,
        second.after / first.before if first.before else math.inf,
    )


def _wait(early: _Change, late: _Change) -> tuple[float, float, float]:
    """By how much less than it might the later change has been made: least, found, and most."""
    start = late.steps[0]
    pace = LAG * late.at_onset * (late.steps - start) / (late.onset.step - start)
    doubt = onsets.BEYOND_NOISE * late.noise
    last = int(np.searchsorted(late.steps, late.onset.step))
    after = int(np.searchsorted(late.steps, early.onset.after))
    before = int(np.searchsorted(late.steps, early.onset.before, side="right")) - 1
    least = _shortfall(pace[after:last], late.made[after:last])
    paced = np.where(pace > doubt, pace, 0.0)[before:last]
    most = _shortfall(paced, late.made[before:last] - doubt) if paced.any() else math.inf
    return least, (least if least > 1 else most), most


def _shortfall(pace: FloatArray, made: FloatArray) -> float:
    """How many times less than a tenth is made first, and than the pace gives at some time.

    0 without an observation between the onsets.
    """
    if not len(made):
        return 0.0
    made = np.maximum(made, LEAST_SHARE)
    return float(min(HARDLY_BEGUN / made[0], (pace / made).max()))
