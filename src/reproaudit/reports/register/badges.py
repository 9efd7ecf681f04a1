"""Badges: small pictures of a verdict, or of a paper's verdicts, for a repository's page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from reproaudit.judging.model import Verdict
from reproaudit.reports.phrasing import counts_words, words
from reproaudit.reports.printable import clean
from reproaudit.reports.register.model import ClaimEntry, PaperEntry
from reproaudit.scorecard.verdicts import VERDICTS, Tone, complete, without_limits

COLOURS = complete(
    Tone,
    {
        Tone.GOOD: "#0a5d3c",
        Tone.BAD: "#8c1c13",
        Tone.OPEN: "#654a00",
        Tone.EMPTY: "#5b2a86",
        Tone.BROKEN: "#8c1c13",
        Tone.ABSENT: "#555d66",
        Tone.NEUTRAL: "#555d66",
    },
)
"""Behind white letters, each with a contrast above 5 to 1."""
LABEL = "#24292e"
CHARACTER = 6.4
"""Mean width of a character of 11 px; the picture stretches its text to the room it has."""


@dataclass(frozen=True)
class _Piece:
    text: str
    colour: str


def claim_badge_svg(claim: ClaimEntry) -> str:
    """Returns a claim's badge: its id, verdict and scale."""
    colour = COLOURS[VERDICTS[claim.verdict].tone]
    return _badge([_Piece(claim.id, LABEL), _Piece(claim.verdict_words, colour)])


def paper_badge_svg(paper: PaperEntry) -> str:
    """Returns a paper's badge: its tier, and how many claims have which verdict."""
    label = _Piece(f"{paper.slug}, {paper.tier} tier", LABEL)
    if paper.ours is None or not paper.ours.counts:
        return _badge([label, _Piece(counts_words({}), COLOURS[Tone.ABSENT])])
    return _badge([label, *_counted(paper.ours.counts)])


def _counted(counts: dict[str, int]) -> Iterator[_Piece]:
    for name, count in counts.items():
        tone = VERDICTS[Verdict(without_limits(name))].tone
        yield _Piece(f"{count} {words(name)}", COLOURS[tone])


def _badge(pieces: list[_Piece]) -> str:
    drawn, at = [], 0
    for piece in pieces:
        text = clean(piece.text)
        room = round(CHARACTER * len(text))
        drawn.append(
            Markup(
                '<rect x="{0}" width="{1}" height="20" fill="{2}"/>'
                '<text x="{3}" y="14" textLength="{4}">{5}</text>'
            ).format(at, room + 12, piece.colour, at + 6, room, text)
        )
        at += room + 12
    said = ": ".join((clean(pieces[0].text), ", ".join(clean(one.text) for one in pieces[1:])))
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="20" viewBox="0 0 {0} 20" '
        'role="img" aria-label="{1}"><title>{1}</title>'
        '<g fill="#ffffff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">{2}</g>'
        "</svg>\n"
    ).format(at, said, Markup("").join(drawn))
