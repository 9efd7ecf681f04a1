"""How outcomes and levels of certainty look: marks, colours, badges, and the words of a legend."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from reproaudit.formats.verdict import Level, Outcome


@dataclass(frozen=True)
class Look:
    """How an outcome looks.

    Attributes:
        mark: the outcome in one character.
        colour: the style of a terminal, and the name of a badge's colour.
        badge: the class of a page's badge.
        test: how it comes out in a test: passed, failure, error or skipped.
        short: what a legend says of it.
        means: the rule behind it.
    """

    mark: str
    colour: str
    badge: str
    test: str
    short: str
    means: str


OUTCOMES: Mapping[Outcome, Look] = {
    Outcome.SUPPORTED: Look(
        "✓",
        "green",
        "good",
        "passed",
        "holds",
        "more than half of all runs would say yes, at 95 % confidence",
    ),
    Outcome.PARTLY_SUPPORTED: Look(
        "◐",
        "yellow",
        "part",
        "passed",
        "holds in part",
        "what else the paper says of it is not met, or it holds at some coordinates only",
    ),
    Outcome.DEPENDS: Look(
        "⇄",
        "blue",
        "part",
        "passed",
        "depends on a choice",
        "yes or no hangs on a choice, which is named",
    ),
    Outcome.NOT_SUPPORTED: Look(
        "✗",
        "red",
        "bad",
        "failure",
        "does not hold",
        "more than half of all runs would say no, at 95 % confidence",
    ),
    Outcome.UNDECIDED: Look(
        "?", "yellow", "none", "skipped", "open", "these runs, or a bound of ours, leave it open"
    ),
    Outcome.UNINFORMATIVE: Look(
        "○",
        "dim",
        "none absent",
        "skipped",
        "no evidence: a control ends alike",
        "a control passes too, or what has to succeed fails: the check cannot tell",
    ),
    Outcome.NOT_TESTED: Look(
        "–", "dim", "none absent", "skipped", "not tested", "nothing ran, or it was not measured"
    ),
    Outcome.ERROR: Look(
        "!",
        "magenta",
        "fault",
        "error",
        "runs crashed",
        "runs crashed, and the answer hangs on them",
    ),
}


def look(outcome: str) -> Look:
    """Return how an outcome looks, by its name."""
    return OUTCOMES[Outcome(outcome)]


def legend(outcomes: Collection[Outcome]) -> Iterator[str]:
    """Yield the mark and the meaning of each outcome that is there."""
    yield from (f"{at.mark} {at.short}" for one, at in OUTCOMES.items() if one in outcomes)


DOTS: Mapping[Level, str] = {
    Level.HIGH: "●●●●",
    Level.MODERATE: "●●●○",
    Level.LOW: "●●○○",
    Level.VERY_LOW: "●○○○",
}
