"""One quantity changes first, and another waits for it: stage-wise learning."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from reproaudit.checks.canonical import BOUND, KIND, QUANTITY, SOURCED, CanonicalForm, Part
from reproaudit.checks.kind import Bound, Condition, Kind, Limit, Positive, Side, Sourced
from reproaudit.checks.run import Run
from reproaudit.checks.shown import Drawing, Form, Names, Number, read_noun
from reproaudit.declarations import Quantity, StrictModel
from reproaudit.lazy import np
from reproaudit.stats.onsets import crossing, final_value, half_change

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Onset(StrictModel):
    """The change of one series, and where it sets in."""

    series: Quantity
    """A series of one number, which cannot cancel: of the worst head, or a norm."""
    crosses: float | None = None
    """The fixed level whose crossing is the onset; left out, it is half of a change that
    saturates."""
    least: Positive = 0.25
    """The smallest change that counts, in the series' units."""


class Wait(Sourced):
    """How little the later quantity may have changed at the earlier one's onset."""

    below: Literal["one_clock"]
    """one_clock: the share that the later quantity would have made if it took the same course as
    the earlier one, only slower by the ratio of their onsets."""


ONSET = CanonicalForm(
    {
        "series": Part("series", QUANTITY),
        "crosses": Part("crosses", unless=None),
        "least": Part("least", unless=0.25),
    }
)

WAIT = SOURCED | CanonicalForm({"below": Part("below")})

_ORDER = Number(
    "order",
    "{noun} comes {typical} times as late{reference}{worst}",
    Form.ROUNDED,
    contrast=True,
    never="a change never comes",
)
_WAIT = replace(
    _ORDER, name="wait", says="{noun} has changed {typical} times less than one clock gives{worst}"
)


class Stages(Kind):
    """One quantity changes before another, and the other waits for it.

    *Order*: the later onset over the earlier one, above 1. *Wait*: what one common clock would have
    given of the later change at the earlier onset, over what was made, above 1. Both are contrasts.
    A change that never comes, or is smaller than `least`, has no onset, and the run says no.
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

    canonical = KIND | CanonicalForm(
        {
            "earlier": Part("earlier", ONSET),
            "later": Part("later", ONSET),
            "order": Part("order", BOUND),
            "wait": Part("wait", WAIT, unless=None),
        }
    )

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The order and, if asked, the wait."""
        return (_ORDER,) if self.wait is None else (_ORDER, _WAIT)

    @property
    def sides(self) -> tuple[Quantity, Quantity]:
        """Both series."""
        return self.earlier.series, self.later.series

    @property
    def drawing(self) -> Drawing:
        """The share of its change that each series has made."""
        return replace(
            super().drawing,
            changes={"earlier": self.earlier.series, "later": self.later.series},
        )

    def compared(self, measurement: str, names: Names) -> tuple[str, str]:
        """Return the later quantity, and the earlier one."""
        earlier = read_noun(self.earlier.series, names)
        return self._noun(measurement, names), f" as {earlier}"

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the ratio of the onsets and, if asked, the wait."""
        early = _onset(run, self.earlier)
        late = _onset(run, self.later)
        ratio = late / early if early and late is not None else None
        ratios = () if ratio is None else (ratio,)
        order = self._condition(
            ratios, self.order.limit(1.0), self.later.series, _ORDER, says=False
        )
        if self.wait is None:
            return (order,)
        limit = Limit(Side.ABOVE, 1.0, self.wait.origin)
        waits = () if early is None or ratio is None else (self._waits(run, early, ratio),)
        return order, self._condition(waits, limit, self.later.series, _WAIT, says=False)

    def _waits(self, run: Run, early: float, ratio: float) -> float:
        """What one clock would give of the later change at the earlier onset, over what is made."""
        clock = _made(run, self.earlier.series, early / ratio)
        made = _made(run, self.later.series, early)
        return max(clock, LEAST_CLOCK) / max(made, LEAST_SHARE)


LEAST_SHARE = 1e-4
"""A share of a change below this counts as this: observations lie no denser."""

LEAST_CLOCK = 0.005
"""The least share that one clock gives; with less, two sudden changes would look like waiting."""


def _onset(run: Run, change: Onset) -> float | None:
    steps, values = run.series(change.series)
    if values.shape[1] != 1:
        return None
    course = values[:, 0]
    if change.crosses is not None:
        return crossing(steps, course, change.crosses)
    return half_change(steps, course, change.least)


def _made(run: Run, series: Quantity, at: float) -> float:
    """The largest share of its whole change that a series has made until a step, either way."""
    steps, values = run.series(series)
    course: NDArray[np.float64] = values[:, 0]
    whole = final_value(course) - float(course[0])
    until = [float(one) for step, one in zip(steps, course, strict=True) if step <= at]
    until.append(float(np.interp(at, steps, course)))
    return max(abs(one - float(course[0])) for one in until) / abs(whole) if whole else 1.0
