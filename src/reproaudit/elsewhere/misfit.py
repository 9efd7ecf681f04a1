"""The faults of measurements from elsewhere: one line each, with its place."""

from __future__ import annotations

from dataclasses import dataclass, field

from reproaudit.errors import SpecError

MOST_MISFITS = 1_000
"""The number of faults that are told; the rest is counted."""

LONGEST_MISFIT = 400
"""The length to which a fault's place and text are cut, so that none fills the screen."""


@dataclass(frozen=True, order=True)
class Misfit:
    """One fault.

    Attributes:
        place: file, and line or name in it: ``logs/loss.csv:17``, ``manifest.yaml:9:5``.
        text: what was found, what was expected, and what to do.
    """

    place: str
    text: str

    def __str__(self) -> str:
        """The whole on one line."""
        return " ".join(f"{clipped(self.place)}: {clipped(self.text)}".split())


@dataclass
class Misfits:
    """All faults of a submission, gathered so that they can be told at once.

    Attributes:
        found: the first of them, each once.
        more: the number of those that followed.
    """

    found: dict[Misfit, None] = field(default_factory=dict)
    more: int = 0

    def add(self, place: str, text: str) -> None:
        """Add a fault; one that is known is not added again."""
        one = Misfit(place, text)
        if len(self.found) < MOST_MISFITS:
            self.found[one] = None
        elif one not in self.found:
            self.more += 1

    def raise_if_any(self) -> None:
        """Tell all faults.

        Raises:
            SpecError: if there are any.
        """
        if self.found:
            rest = [f"and {self.more:,} more faults."] if self.more else []
            raise SpecError("\n".join([*map(str, self.found), *rest]))


def clipped(text: str, most: int = LONGEST_MISFIT) -> str:
    """A text, cut to so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
