"""The last screen of a run: every claim on one line, and the path of the page with the details."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from reproaudit.judging.model import Verdict
from reproaudit.records import CellStatus
from reproaudit.reports import gauge, numbers, phrasing, status
from reproaudit.reports.open_reasons import open_reason
from reproaudit.reports.printable import clean
from reproaudit.reports.terminal import TONES, WIDEST
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.scorecard.verdicts import VERDICTS, without_limits

MOST_CLAIMS = 60
"""On one screen; of more each paper has one line."""
NARROWEST_COLUMN = 8
"""Characters of a column that gives way."""
WIDEST_LAST = 22
"""Characters of the last column for which the first one gives way."""
WARNED = "!"

TextRow = list[Text]


def print_screen(cards: Sequence[Scorecard], console: Console, pages: Sequence[Path] = ()) -> None:
    """Prints one line for each claim, then where the details are.

    Args:
        cards: the papers.
        console: where to print.
        pages: the pages with the details.
    """
    width = min(console.width, WIDEST)
    in_lines = sum(len(card.claims) for card in cards) <= MOST_CLAIMS
    rows = _claims(cards) if in_lines else _papers(cards)
    for row in _aligned(list(rows), console, width):
        console.print(row, highlight=False, no_wrap=True, crop=False, overflow="ignore")
    for card in cards:
        if lost := _lost(card):
            console.print(Text(lost, style="red"), soft_wrap=True, highlight=False)
    for said in _notes(cards, in_lines):
        for line in textwrap.wrap(clean(said), width):
            console.print(Text(line, style="dim"), highlight=False)
    for page in pages:
        console.print(Text(f"page: {clean(str(page))}"), soft_wrap=True, highlight=False)


def _aligned(rows: Sequence[TextRow], console: Console, width: int) -> Iterator[Text]:
    """Yields rows with their columns below each other; a row of one cell is a heading.

    The first column gives up what the others need, but not below `NARROWEST_COLUMN`. The last one
    goes on in further lines.
    """
    columns = list(zip(*(row for row in rows if len(row) > 1), strict=True))
    widths = [max(map(len, column)) for column in columns]
    if widths:
        widths[-1] = min(widths[-1], WIDEST_LAST)
        widths[0] = max(min(widths[0], width - sum(widths[1:]) - len(widths) + 1), NARROWEST_COLUMN)
    indent = sum(widths[:-1]) + len(widths) - 1
    for row in rows:
        if len(row) == 1:
            for line in row[0].wrap(console, width):
                line.rstrip()
                yield line
            continue
        line = Text()
        for cell, room in zip(row[:-1], widths, strict=False):
            shown = cell.copy()
            shown.truncate(room, overflow="ellipsis", pad=True)
            line += shown + Text(" ")
        for last in row[-1].wrap(console, max(width - indent, NARROWEST_COLUMN)) or [Text()]:
            line += last
            line.rstrip()
            yield line
            line = Text(" " * indent)


# --- every claim --------------------------------------------------------------------------------


def _claims(cards: Sequence[Scorecard]) -> Iterator[TextRow]:
    hangs = any(claim.hangs_on for card in cards for claim in card.claims)
    is_open = any(open_reason(one, card.tier) for card in cards for one in card.claims)
    about = ", ".join(["hangs on"] * hangs + ["why open"] * is_open)
    last = f"estimate ({about})" if about else "estimate"
    heads = ("  claim", "verdict", "evidence", "gauge", last)
    yield [Text(head, style="dim") for head in heads]
    for card in cards:
        yield [Text(_about(card), style="bold")]
        for claim in card.claims:
            yield _claim(card, claim)


def _about(card: Scorecard) -> str:
    _, scale = phrasing.scale_apart(phrasing.verdict_counts(card.claims))
    tested = f"{card.coverage.tested} of {card.coverage.claims} listed claims tested"
    most = status.most_looks(card)
    looks = f"; up to {numbers.counted(most, 'look')} before" if most else ""
    return clean(f"{card.paper['slug']}, {card.tier} tier{scale}; {tested}{looks}")


def _claim(card: Scorecard, claim: ClaimModel) -> TextRow:
    part = phrasing.deciding_part(claim)
    name = clean(claim.id.removeprefix(f"{card.paper['slug']}."))
    said = "no estimate" if part is None else numbers.short_sentence(part)
    warned = f" {WARNED}" if phrasing.warnings(claim) else ""
    about = _hangs_on(claim) or open_reason(claim, card.tier)
    return [
        Text(f"  {name}"),
        _verdict(claim.verdict, phrasing.words(claim.verdict)) + Text(warned),
        Text(phrasing.evidence_label(claim)),
        Text("" if part is None else gauge.gauge(part)),
        Text(f"{said} ({about})" if about else said),
    ]


def _verdict(verdict: Verdict, said: str) -> Text:
    return Text(said, style=TONES[VERDICTS[verdict].tone])


def _hangs_on(claim: ClaimModel) -> str:
    return clean(", ".join(dict.fromkeys(one.setting for one in claim.hangs_on)))


# --- every paper --------------------------------------------------------------------------------


def _papers(cards: Sequence[Scorecard]) -> Iterator[TextRow]:
    heads = ("paper", "tier", "documented", "tested", "verdicts")
    yield [Text(head, style="dim") for head in heads]
    for card in cards:
        score, counts = card.documentation, phrasing.verdict_counts(card.claims)
        plain, scale = phrasing.scale_apart(counts)
        yield [
            Text(clean(str(card.paper["slug"]))),
            Text(card.tier),
            Text(f"{score.strict} → {score.reviewed} of {score.of}"),
            Text(f"{card.coverage.tested} of {card.coverage.claims}"),
            Text(", ").join(
                _verdict(Verdict(without_limits(name)), f"{n} {phrasing.words(name)}")
                for name, n in plain.items()
            )
            + Text(scale),
        ]


def _lost(card: Scorecard) -> str:
    """Returns how many runs failed or diverged; what was said of each has scrolled away by now."""
    ended = Counter(record.status for record in card.records)
    failed, diverged = ended[CellStatus.FAILED], ended[CellStatus.DIVERGED]
    told = [f"{n} {word}" for n, word in ((failed, "failed"), (diverged, "diverged")) if n]
    runs = numbers.counted(len(card.records), "run")
    return clean(f"{card.paper['slug']}: of {runs}, {' and '.join(told)}") if told else ""


def _notes(cards: Sequence[Scorecard], with_claims: bool) -> Iterator[str]:
    """Yields what the lines leave out: the gauge's characters, warnings, and where details are."""
    if with_claims:
        yield f"gauge: {gauge.LEGEND}"
    warned = [one.id for card in cards for one in card.claims if phrasing.warnings(one)]
    if warned:
        claims = numbers.counted(len(warned), "claim")
        yield f"{WARNED} {claims} with a warning, told in the details"
    yield from dict.fromkeys(filter(None, map(phrasing.older_rules, cards)))
    slugs = " ".join(dict.fromkeys(str(card.paper["slug"]) for card in cards))
    tiers = dict.fromkeys(card.tier for card in cards)
    tier = f" --tier {next(iter(tiers))}" if len(tiers) == 1 else ""
    yield f"details: --verbose, or reproaudit report {slugs if len(cards) == 1 else 'SLUG'}{tier}"
