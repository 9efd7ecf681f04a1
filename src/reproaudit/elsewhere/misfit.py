"""The faults of measurements from elsewhere: one line each, with its place."""

from __future__ import annotations

from reproaudit.errors import SpecError

MOST_MISFITS = 1_000
"""The number of faults that are told; the rest is counted."""
LONGEST_MISFIT = 400
"""The length to which a fault's place and text are cut, so that none fills the screen."""


class Misfits:
    """Gathers all faults of a folder, so that they can be told at once.

    Attributes:
        found: the first of them, each once, as lines.
        more: the number of those that followed.
    """

    def __init__(self) -> None:
        self.found: dict[str, None] = {}
        self.more = 0

    def add(self, place: str, text: str) -> None:
        """Add a fault; one that is known is not added again.

        Args:
            place: file, and line or name in it: ``logs/loss.csv:17``, ``manifest.yaml:9:5``.
            text: what was found, what was expected, and what to do.
        """
        line = " ".join(f"{clipped(place)}: {clipped(text)}".split())
        if len(self.found) < MOST_MISFITS:
            self.found[line] = None
        elif line not in self.found:
            self.more += 1

    def raise_if_any(self) -> None:
        """Tell all faults.

        Raises:
            SpecError: if there are any.
        """
        if self.found:
            rest = [f"and {self.more:,} more faults."] if self.more else []
            raise SpecError("\n".join([*self.found, *rest]))


def clipped(text: str, most: int = LONGEST_MISFIT) -> str:
    """Return a text, cut to so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
