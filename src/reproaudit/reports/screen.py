"""The last screen of a run: every claim on one line, and the path of the page with the details."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from reproaudit.judging.model import Verdict
from reproaudit.records import CellStatus
from reproaudit.reports import gauge, numbers, phrasing
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

TextRow = list[Text]


@dataclass(frozen=True)
class ClaimLine:
    """The words of a claim's line, in the order in which they stand there."""

    name: str
    verdict: Verdict
    evidence: str
    gauge: str
    said: str
    """The estimate against its bound."""
    hangs_on: str
    """The settings that a conditional verdict hangs on; empty of any other."""


@dataclass(frozen=True)
class PaperLines:
    """A paper on the screen: small, so that one process can quickly hand it to another.

    Attributes:
        slug: the paper.
        tier: the tier.
        documented: the documentation score, strict and reviewed.
        tested: how many claims were tested, of how many.
        verdicts: the number of times that each was given.
        lost: how many runs failed or diverged, in words; empty if none did.
        claims: a line each.
    """

    slug: str
    tier: str
    documented: str
    tested: str
    verdicts: Mapping[str, int]
    lost: str
    claims: tuple[ClaimLine, ...]


def paper_lines(card: Scorecard) -> PaperLines:
    """Returns what the screen says of a paper."""
    score, tested = card.documentation, card.coverage
    slug = clean(str(card.paper["slug"]))
    return PaperLines(
        slug=slug,
        tier=clean(card.tier),
        documented=f"{score.strict} → {score.reviewed} of {score.of}",
        tested=f"{tested.tested} of {tested.claims}",
        verdicts=phrasing.verdict_counts(card.claims),
        lost=_lost(slug, card),
        claims=tuple(_claim_line(card, claim) for claim in card.claims),
    )


def _claim_line(card: Scorecard, claim: ClaimModel) -> ClaimLine:
    part = phrasing.deciding_part(claim)
    return ClaimLine(
        name=clean(claim.id.removeprefix(f"{card.paper['slug']}.")),
        verdict=claim.verdict,
        evidence=phrasing.evidence_label(claim),
        gauge="" if part is None else gauge.gauge(part),
        said="no estimate" if part is None else numbers.short_sentence(part),
        hangs_on=clean(", ".join(dict.fromkeys(one.setting for one in claim.hangs_on))),
    )


def _lost(slug: str, card: Scorecard) -> str:
    """Returns how many runs failed or diverged; what was said of each has scrolled away by now."""
    ended = Counter(record.status for record in card.records)
    failed, diverged = ended[CellStatus.FAILED], ended[CellStatus.DIVERGED]
    told = [f"{n} {word}" for n, word in ((failed, "failed"), (diverged, "diverged")) if n]
    runs = numbers.counted(len(card.records), "run")
    return f"{slug}: of {runs}, {' and '.join(told)}" if told else ""


def print_screen(
    papers: Sequence[PaperLines], console: Console, pages: Sequence[Path] = ()
) -> None:
    """Prints one line for each claim, or of many claims one for each paper; then the rest.

    Args:
        papers: what is said of each paper.
        console: where to print.
        pages: the pages with the details.
    """
    width = min(console.width, WIDEST)
    in_lines = sum(len(paper.claims) for paper in papers) <= MOST_CLAIMS
    rows = _claims(papers) if in_lines else _papers(papers)
    for row in _aligned(list(rows), console, width):
        console.print(row, highlight=False, no_wrap=True, crop=False, overflow="ignore")
    for paper in papers:
        if paper.lost:
            console.print(Text(paper.lost, style="red"), soft_wrap=True, highlight=False)
    for said in _notes(papers, in_lines):
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


def _claims(papers: Sequence[PaperLines]) -> Iterator[TextRow]:
    hangs = any(claim.hangs_on for paper in papers for claim in paper.claims)
    last = "estimate (hangs on)" if hangs else "estimate"
    heads = ("  claim", "verdict", "evidence", "gauge", last)
    yield [Text(head, style="dim") for head in heads]
    for paper in papers:
        yield [Text(_about(paper), style="bold")]
        yield from map(_claim, paper.claims)


def _about(paper: PaperLines) -> str:
    _, scale = phrasing.scale_apart(paper.verdicts)
    return f"{paper.slug}, {paper.tier} tier{scale}; {paper.tested} listed claims tested"


def _claim(claim: ClaimLine) -> TextRow:
    return [
        Text(f"  {claim.name}"),
        _verdict(claim.verdict, phrasing.words(claim.verdict)),
        Text(claim.evidence),
        Text(claim.gauge),
        Text(f"{claim.said} ({claim.hangs_on})" if claim.hangs_on else claim.said),
    ]


def _verdict(verdict: Verdict, said: str) -> Text:
    return Text(said, style=TONES[VERDICTS[verdict].tone])


# --- every paper --------------------------------------------------------------------------------


def _papers(papers: Sequence[PaperLines]) -> Iterator[TextRow]:
    heads = ("paper", "tier", "documented", "tested", "verdicts")
    yield [Text(head, style="dim") for head in heads]
    for paper in papers:
        plain, scale = phrasing.scale_apart(paper.verdicts)
        verdicts = (
            _verdict(Verdict(without_limits(name)), f"{n} {phrasing.words(name)}")
            for name, n in plain.items()
        )
        told = (paper.slug, paper.tier, paper.documented, paper.tested)
        yield [*map(Text, told), Text(", ").join(verdicts) + Text(scale)]


def _notes(papers: Sequence[PaperLines], with_claims: bool) -> Iterator[str]:
    """Yields what the lines leave out: the gauge's characters, and where details are."""
    if with_claims:
        yield f"gauge: {gauge.LEGEND}"
    slugs = " ".join(dict.fromkeys(paper.slug for paper in papers))
    tiers = dict.fromkeys(paper.tier for paper in papers)
    tier = f" --tier {next(iter(tiers))}" if len(tiers) == 1 else ""
    yield f"details: --verbose, or reproaudit report {slugs if len(papers) == 1 else 'SLUG'}{tier}"
