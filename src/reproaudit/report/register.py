"""The register of a tier: `OUT/<tier>/index.html`, `register.json`, `register.csv`, and badges.

It holds every paper, and measurements from elsewhere apart.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from reproaudit.audit.documentation import documentation_of
from reproaudit.files import write_whole
from reproaudit.formats.outcomes import look
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import ClaimAnswer, Outcome
from reproaudit.report.pages import environment
from reproaudit.report.parts import parts
from reproaudit.report.printable import clean

PAGE = "index.html"
REGISTER_VERSION = 5
_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
"""What begins a formula, also in full width."""


def write_register(folder: Path, tier: str, found: Mapping[Path, Scorecard]) -> Path:
    """Write the register of a tier, and its badges; return the page, or raise a StoreError.

    Args:
        found: each scorecard of the tier, by its folder.
    """
    ordered = sorted(found, key=lambda place: (found[place].paper.slug, len(place.parts), place))
    for place in (place for place in ordered if found[place].origin is None):
        _update(place / "badge.svg", paper_badge(found[place]))
        claims = found[place].of_paper
        badges = place / "badges"
        for claim in claims:
            _update(badges / f"{claim.id}.svg", claim_badge(claim))
        for old in badges.glob(f"{found[place].paper.slug}.*.svg"):
            if old.stem not in {claim.id for claim in claims}:
                old.unlink()
    papers = [entry(found[place], place, folder) for place in ordered]
    register = {"schema_version": REGISTER_VERSION, "tier": tier, "papers": papers}
    _update(folder / "register.json", json.dumps(register, indent=1, ensure_ascii=False) + "\n")
    _update(folder / "register.csv", register_csv(papers))
    cards = [found[place] for place in ordered]
    said = {
        "tier": tier,
        "rows": list(zip(papers, cards, strict=True)),
        "counts": sum((Counter(card.head.counts.paper) for card in cards), Counter()),
        "outcomes": [(outcome.value, outcome.value.replace(" ", "-")) for outcome in Outcome],
    }
    _update(folder / PAGE, environment().get_template("register.html").render(said))
    return folder / PAGE


def entry(card: Scorecard, place: Path, folder: Path) -> dict[str, Any]:
    """Return what the register says of a paper.

    That is its verdict; its outcomes, counted, of which those of the paper's own claims are shown;
    the choices that change an answer; how many variables are documented by the card, and by the
    reviewers' word (None where nobody has reviewed), of those that are scored; its page, below the
    register's folder; who measured, if it was not us; and its claims, the paper's own first, each
    with the runs that say yes, of n that say yes or no.
    """
    documented = documentation_of(card.audit, card.reviews)
    head = card.head
    return {
        "slug": card.slug,
        "title": head.title,
        "venue": card.paper.published,
        "verdict": " ".join(head.verdict),
        "counts": head.counts.model_dump(mode="json"),
        "questions": [question.text for question in head.questions],
        "hangs_on": [
            {
                "setting": choice.words,
                "values": f"{choice.value} → {', '.join(choice.others)}",
                "claims": [effect.claim for effect in choice.effects],
            }
            for choice in head.choices
            if choice.turns
        ],
        "card": documented.card,
        "documented": documented.by_reviewers,
        "of": documented.of,
        "page": f"{place.relative_to(folder).as_posix()}/scorecard.html",
        "origin": None if card.origin is None else card.origin.who,
        "claims": [
            {
                "id": part.line.claim,
                "short": part.line.title,
                "main": part.line.main,
                "whose": part.line.whose,
                "outcome": part.line.outcome,
                "certainty": part.line.level,
                "yes": part.answer.base.yes,
                "n": part.answer.base.valid,
                "text": part.line.text,
            }
            for part in parts(card)
        ],
    }


def register_csv(papers: Sequence[Mapping[str, Any]]) -> str:
    """Return a row for each claim, as CSV."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    columns = ("paper", "claim", "whose", "outcome", "certainty", "yes", "runs", "measured by")
    rows.writerow((*columns, "found"))
    fields = ("paper", "id", "whose", "outcome", "certainty", "yes", "n", "who", "text")
    for paper in papers:
        about = {"paper": paper["slug"], "who": paper["origin"] or "reproaudit"}
        for claim in paper["claims"]:
            row = [{**about, **claim}[field] for field in fields]
            rows.writerow(_as_text(cell) if isinstance(cell, str) else cell for cell in row)
    return text.getvalue()


def _as_text(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{clean(cell)}" if cell.lstrip()[:1] in _FORMULA else clean(cell)


def _update(path: Path, text: str) -> None:
    """Write a file unless it stands there already."""
    try:
        if path.read_text(encoding="utf-8") == text:
            return
    except (OSError, UnicodeDecodeError):
        pass
    write_whole(path, text)


COLOURS = {
    "green": "#0a5d3c",
    "yellow": "#654a00",
    "blue": "#1d4f8c",
    "red": "#8c1c13",
    "magenta": "#5b2a86",
    "dim": "#555d66",
}
"""Behind white letters, each with a contrast above 5 to 1."""
LABEL = "#24292e"
CHARACTER = 6.4
"""Mean width of a character of 11 px; the picture stretches its text to the room it has."""


def claim_badge(claim: ClaimAnswer) -> str:
    """Return a claim's badge: its id, outcome and certainty."""
    how = look(claim.outcome)
    level = f", {claim.level}" if claim.level else ""
    return _badge(claim.id, [(f"{how.mark} {claim.outcome}{level}", how.colour)])


def paper_badge(card: Scorecard) -> str:
    """Return a paper's badge: its tier, and how many claims have which outcome."""
    counts = card.head.counts.paper
    pieces = [
        (f"{counts[outcome]} {outcome}", look(outcome).colour)
        for outcome in Outcome
        if counts.get(outcome)
    ]
    return _badge(f"{card.paper.slug}, {card.tier} tier", pieces or [("no claims", "dim")])


def _badge(label: str, pieces: Sequence[tuple[str, str]]) -> str:
    """A label and further pieces in a row, each a text with the name of its colour."""
    drawn = []
    at = 0
    coloured = [(label, LABEL), *((text, COLOURS[name]) for text, name in pieces)]
    texts = [clean(text) for text, _ in coloured]
    for text, (_, colour) in zip(texts, coloured, strict=True):
        room = round(CHARACTER * len(text))
        drawn.append(
            Markup(
                '<rect x="{0}" width="{1}" height="20" fill="{2}"/>'
                '<text x="{3}" y="14" textLength="{4}">{5}</text>'
            ).format(at, room + 12, colour, at + 6, room, text)
        )
        at += room + 12
    said = f"{texts[0]}: {', '.join(texts[1:])}"
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="20" viewBox="0 0 {0} 20" '
        'role="img" aria-label="{1}"><title>{1}</title>'
        '<g fill="#ffffff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">{2}</g>'
        "</svg>\n"
    ).format(at, said, Markup("").join(drawn))
