"""The register of a tier: `OUT/<tier>/index.html`, `register.json`, `register.csv`, and badges.

It holds every paper, and measurements from elsewhere apart.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from reproaudit.audit.documentation import documentation_of
from reproaudit.declarations import StrictModel
from reproaudit.files import write_whole
from reproaudit.formats.outcomes import look
from reproaudit.formats.scorecard import HeadCounts, Scorecard, Whose
from reproaudit.formats.verdict import ClaimAnswer, Level, Outcome
from reproaudit.report.pages import environment
from reproaudit.report.parts import ClaimPart, parts
from reproaudit.report.printable import clean

PAGE = "index.html"
REGISTER_VERSION = 5
_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
"""What begins a formula, also in full width."""


class ClaimEntry(StrictModel):
    """A claim in the register."""

    id: str
    short: str
    """The claim as a clause."""
    main: bool
    whose: Whose
    """The paper's, its code's, derived by us, or a question of ours."""
    outcome: Outcome
    certainty: Level | None
    yes: int
    n: int
    """The runs that say yes or no."""
    text: str
    """What was found, in words."""


class ChoiceEntry(StrictModel):
    """A choice that changes an answer."""

    setting: str
    """What a page calls it."""
    values: str
    """One value and the others, with who states them."""
    claims: tuple[str, ...]


class PaperEntry(StrictModel):
    """A paper in the register."""

    slug: str
    title: str
    venue: str
    verdict: str
    """Its verdict, in two sentences at most."""
    counts: HeadCounts
    """The outcomes, counted; those of the paper's own claims are shown."""
    questions: tuple[str, ...]
    hangs_on: tuple[ChoiceEntry, ...]
    """The choices that change an answer."""
    card: int
    """Variables documented by the card."""
    documented: int | None
    """Variables documented by the reviewers' word; null where nobody has reviewed."""
    of: int
    """The variables that are scored."""
    page: str
    """Its page, below the register's folder."""
    origin: str | None
    """Who measured, if it was not us."""
    claims: tuple[ClaimEntry, ...]
    """The paper's own first."""


class Register(StrictModel):
    """The papers of one tier."""

    schema_version: int = REGISTER_VERSION
    tier: str
    """smoke, quick or paper."""
    papers: tuple[PaperEntry, ...]
    """By short name; measurements from elsewhere behind our own."""

    @property
    def counts(self) -> Counter[Outcome]:
        """How many of the papers' own claims have which outcome."""
        return sum((Counter(paper.counts.paper) for paper in self.papers), Counter())


def write_register(folder: Path, tier: str, found: Mapping[Path, Scorecard]) -> Path:
    """Write the register of a tier, and its badges; return the page, or raise a StoreError.

    Args:
        folder: the tier's folder.
        tier: smoke, quick or paper.
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
    register = Register(
        tier=tier, papers=tuple(entry(found[place], place, folder) for place in ordered)
    )
    _update(folder / "register.json", register.model_dump_json(indent=1) + "\n")
    _update(folder / "register.csv", register_csv(register.papers))
    rows = list(zip(register.papers, map(found.get, ordered), strict=True))
    outcomes = [(outcome.value, outcome.value.replace(" ", "-")) for outcome in Outcome]
    page = environment().get_template("register.html")
    _update(folder / PAGE, page.render(register=register, rows=rows, outcomes=outcomes))
    return folder / PAGE


def entry(card: Scorecard, place: Path, folder: Path) -> PaperEntry:
    """Return a paper's entry."""
    documented = documentation_of(card.audit, card.reviews)
    head = card.head
    return PaperEntry(
        slug=card.slug,
        title=head.title,
        venue=card.paper.published,
        verdict=" ".join(head.verdict),
        counts=head.counts,
        questions=tuple(question.text for question in head.questions),
        hangs_on=tuple(
            ChoiceEntry(
                setting=choice.words,
                values=f"{choice.value} → {', '.join(choice.others)}",
                claims=tuple(effect.claim for effect in choice.effects),
            )
            for choice in head.choices
            if choice.turns
        ),
        card=documented.card,
        documented=documented.by_reviewers,
        of=documented.of,
        page=f"{place.relative_to(folder).as_posix()}/scorecard.html",
        origin=None if card.origin is None else card.origin.who,
        claims=tuple(map(_claim, parts(card))),
    )


def _claim(part: ClaimPart) -> ClaimEntry:
    line = part.line
    return ClaimEntry(
        id=line.claim,
        short=line.title,
        main=line.main,
        whose=line.whose,
        outcome=line.outcome,
        certainty=line.level,
        yes=part.answer.base.yes,
        n=part.answer.base.valid,
        text=line.text,
    )


def register_csv(papers: Sequence[PaperEntry]) -> str:
    """Return a row for each claim, as CSV."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    columns = ("paper", "claim", "whose", "outcome", "certainty", "yes", "runs", "measured by")
    rows.writerow((*columns, "found"))
    for paper in papers:
        who = paper.origin or "reproaudit"
        for claim in paper.claims:
            named = (paper.slug, claim.id, claim.whose, claim.outcome)
            row = (*named, claim.certainty or "", claim.yes, claim.n, who, claim.text)
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


# --- badges ---------------------------------------------------------------------------------------

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
    texts = [clean(text) for text in (label, *(text for text, _ in pieces))]
    for text, colour in zip(texts, (LABEL, *(COLOURS[name] for _, name in pieces)), strict=True):
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
