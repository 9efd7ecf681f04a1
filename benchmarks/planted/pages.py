"""What the planted worlds say, as a section of docs/calibration.md and two lines of README."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..sections import PLANTED_WORLDS, with_section
from .judging import Judged, Row
from .rates import LEVELS, rate, table, true_and_untrue

ROOT = Path(__file__).parents[2]
README, CALIBRATION = ROOT / "README.md", ROOT / "docs" / "calibration.md"

_WHAT_THEY_ARE = (
    "",
    "## Planted worlds",
    "",
    "`make planted` writes this section and two lines of README. A world of `benchmarks/planted/`",
    "draws the logs of a claim as its authors might publish them, with arms, seeds, noise and a",
    "schedule; whether the claim is true, and why, stands beside it, as does whether an expert",
    "could tell. The untrue ones are look-alikes, written to fool. A rate is that of worlds, each",
    "of which is what most of its draws are, with the exact 95 % interval.",
    "",
    "They are no sample of papers: the rates do not say how often a verdict on a paper is wrong,",
    "and the intervals are those of worlds written in the same way. What fooled the rules when",
    "these worlds were first judged has been mended since, so others may fool them more often.",
    "When the worlds of `further.py` were judged once, before anything was mended on them, 3 of",
    "20 look-alikes were supported, 0 of 20 true claims called not supported, and 1 of 20 left",
    "without an answer; of the others it was 24 of 58, 0 of 49 and 6 of 49 before what fooled",
    "the rules was mended.",
    "",
)


def write_pages(judged: Sequence[Judged]) -> None:
    """Write the section of docs/calibration.md and the lines of README."""
    for file, lines in ((CALIBRATION, calibration(judged)), (README, readme(judged))):
        text = file.read_text(encoding="utf-8")
        file.write_text(with_section(text, PLANTED_WORLDS, lines), encoding="utf-8")


def readme(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield the two rates with their intervals, a line each."""
    supported, denied = true_and_untrue(judged)
    yield f"- Untrue claims called supported, of look-alikes written to fool: {supported}."
    what = "[what these worlds are and are not](docs/calibration.md)"
    yield f"- True claims called not supported: {denied}; {what}."


def calibration(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield the lines of the section: what the worlds are, the rates by kind and by certainty."""
    yield from _WHAT_THEY_ARE
    yield from table(judged)
    yield ""
    yield "Of all draws with a verdict, those with a wrong one, by certainty:"
    yield ""
    yield "| certainty | wrong |"
    yield "|---|---:|"
    yield from _levels([row for each in judged for row in each.rows])
    yield ""


def _levels(rows: Sequence[Row]) -> Iterator[str]:
    for level in LEVELS:
        said = [row for row in rows if row.level == level and row.verdict is not None]
        yield f"| {level} | {rate(sum(row.wrong for row in said), len(said))} |"
