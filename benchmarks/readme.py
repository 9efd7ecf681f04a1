"""Writes README's table of papers and the manual's of disputes, from the committed reports.

Run with ``make readme``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from reproaudit.formats.outcomes import OUTCOMES
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import Level, Outcome
from reproaudit.scorecard.files import read_scorecard

from .sections import with_section

ROOT = Path(__file__).parents[1]
README, REPORTS = ROOT / "README.md", ROOT / "reports" / "paper"
DISPUTES = ROOT / "docs" / "disputes.md"
SECTION = "table of papers"
DISPUTED = "disputes"


def rows() -> Iterator[str]:
    """Yield the table's lines, a row for each paper."""
    yield "| paper | verdict | claims | certainty |"
    yield "|---|---|---|---|"
    for file in sorted(REPORTS.glob("*/scorecard.json")):
        yield _row(read_scorecard(file))


def _row(card: Scorecard) -> str:
    outcomes = card.head.counts.paper
    levels = Counter(one.level for one in card.of_paper)
    answers = [
        f"{OUTCOMES[one].mark} {outcomes[one]} {one}" for one in Outcome if outcomes.get(one)
    ]
    sure = [f"{levels[one]} {one}" for one in Level if levels[one]]
    said = " ".join(card.head.verdict)
    return f"| {card.paper.slug} | {said} | {', '.join(answers)} | {', '.join(sure)} |"


def disputes() -> Iterator[str]:
    """Yield the lines of the table of disputes, a row for each choice that turns a main claim."""
    yield "| paper | its claim | the other side | the choice | what it turns |"
    yield "|---|---|---|---|---|"
    for file in sorted(REPORTS.glob("*/scorecard.json")):
        card = read_scorecard(file)
        if card.head.other_side:
            yield from _disputed(card)


def _disputed(card: Scorecard) -> Iterator[str]:
    sides = (card.head.own, card.head.other_side)
    own, other = ("; ".join(line.title for line in side if line.main) for side in sides)
    main = {line.claim for side in sides for line in side if line.main}
    for choice in card.head.choices:
        turned = [effect.text for effect in choice.effects if effect.claim in main]
        if turned:
            values = f"{choice.words}: {choice.value} → {', '.join(choice.others)}"
            yield f"| {card.slug} | {own} | {other} | {values} | {'; '.join(turned)} |"


def with_table(text: str) -> str:
    """Return README with today's table between its two marks."""
    return with_section(text, SECTION, rows())


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
    text = DISPUTES.read_text(encoding="utf-8")
    DISPUTES.write_text(with_section(text, DISPUTED, disputes()), encoding="utf-8")
