"""What does not fit in measurements from elsewhere: one line each, with its place."""

from __future__ import annotations

from dataclasses import dataclass, field

from reproaudit.errors import SpecError


@dataclass(frozen=True, order=True)
class Misfit:
    """One thing that does not fit.

    Attributes:
        place: file, and line or name in it: ``logs/loss.csv:17``, ``manifest.yaml:9:5``.
        text: what was found, what was expected, and what to do.
    """

    place: str
    text: str

    def __str__(self) -> str:
        """The whole on one line."""
        return " ".join(f"{self.place}: {self.text}".split())


@dataclass
class Misfits:
    """Everything that does not fit, gathered so that it can be told at once."""

    found: list[Misfit] = field(default_factory=list)

    def add(self, place: str, text: str) -> None:
        """One more; the same is told once."""
        one = Misfit(place, text)
        if one not in self.found:
            self.found.append(one)

    def raise_if_any(self) -> None:
        """Tell all of them.

        Raises:
            SpecError: if there are any.
        """
        if self.found:
            raise SpecError("\n".join(map(str, self.found)))
