"""What could not be told apart at the start is told apart at the end."""

from dataclasses import replace
from typing import Literal

from reproaudit.checks.canonical import KIND, form
from reproaudit.checks.kind import Bound, Condition, Kind, Void
from reproaudit.checks.run import Run
from reproaudit.checks.shown import Number
from reproaudit.declarations import Quantity

_START = Number(
    "start", "{noun} starts at {typical}{worst}", label="start", drawn=True, drawn_by="end"
)
_END = Number("end", "{noun} ends at {typical}{worst}", label="end", drawn=True)


class Separates(Kind):
    """A separation is absent before training and present after it, in every head and class.

    Two conditions, each with its bound: what is observed first (`start`), and what is observed last
    (`end`). Where the log begins after training did, nobody knows the first: unless the end is
    missed, the run is void.
    """

    made = (_START, _END)
    by_coordinate = False

    kind: Literal["separates"]
    """The kind of check."""
    value: Quantity
    """A measure of separation, observed over training."""
    start_value: Quantity | None = None
    """The measure that is read at the start, if it is another one."""
    start: Bound
    """The bound on the first observation."""
    end: Bound
    """The bound on the last observation."""

    canonical = KIND | form("value start_value=null start end")

    @property
    def uncounted(self) -> str:
        """Start and end may be of other coordinates."""
        return "this check makes two: write 'reaches' for each"

    @property
    def bounded(self) -> tuple[tuple[Quantity, Bound], ...]:
        """What is observed first, and what is observed last."""
        return (self.start_value or self.value, self.start), (self.value, self.end)

    @property
    def to_the_end(self) -> tuple[Quantity, ...]:
        """What is observed last."""
        return (self.value,)

    @property
    def over_training(self) -> tuple[Quantity, ...]:
        """What is observed first."""
        return (self.start_value or self.value,)

    def conditions(self, run: Run) -> tuple[Condition, ...]:
        """Return the first and the last observation, each against its bound."""
        first = (self.start_value or self.value).model_copy(update={"step": "first"})
        start = self._condition(run.numbers(first), self.start.limit(), first, _START)
        if (late := run.begins_late(first)) is not None:
            start = replace(start, value=None, void=Void.BEGINS_LATE, found=late)
        end = self._condition(run.numbers(self.value), self.end.limit(), self.value, _END)
        return start, end
