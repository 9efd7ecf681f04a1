"""Badges: small pictures of a claim's outcome, or of a paper's, for a repository's page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from markupsafe import Markup

from reproaudit.judge import Outcome
from reproaudit.report.model import ClaimModel, Scorecard
from reproaudit.report.printable import clean
from reproaudit.report.words import OUTCOMES

COLOURS = {
    "green": "#0a5d3c",
    "yellow": "#654a00",
    "red": "#8c1c13",
    "magenta": "#5b2a86",
    "dim": "#555d66",
}
"""Behind white letters, each with a contrast above 5 to 1."""
LABEL = "#24292e"
CHARACTER = 6.4
"""Mean width of a character of 11 px; the picture stretches its text to the room it has."""


@dataclass(frozen=True)
class _Piece:
    text: str
    colour: str


def claim_badge(claim: ClaimModel) -> str:
    """Return a claim's badge: its id, outcome and certainty."""
    look = OUTCOMES[Outcome(claim.outcome)]
    level = f", {claim.certainty.level}" if claim.certainty.level else ""
    text = f"{look.mark} {claim.outcome}{level}"
    return _badge([_Piece(claim.id, LABEL), _Piece(text, COLOURS[look.colour])])


def paper_badge(card: Scorecard) -> str:
    """Return a paper's badge: its tier, and how many claims have which outcome."""
    counts = Counter(Outcome(one.outcome) for one in card.claims)
    pieces = [
        _Piece(f"{counts[one]} {one.value}", COLOURS[OUTCOMES[one].colour])
        for one in Outcome
        if counts[one]
    ]
    label = _Piece(f"{card.paper['slug']}, {card.tier} tier", LABEL)
    return _badge([label, *(pieces or [_Piece("no claims", COLOURS["dim"])])])


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
