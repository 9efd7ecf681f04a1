"""The register of a tier: `OUT/<tier>/index.html`, `register.json`, `register.csv`, and badges.

It holds every paper, and measurements from elsewhere apart.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from reproaudit.declarations import StrictModel
from reproaudit.files import write_whole
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import ClaimAnswer, Level, Outcome
from reproaudit.report.chart import picture
from reproaudit.report.claims import claims_of
from reproaudit.report.documentation import documentation_of
from reproaudit.report.numbers import listed
from reproaudit.report.pages import environment
from reproaudit.report.printable import clean
from reproaudit.report.screen import questions, verdict
from reproaudit.report.words import look

PAGE = "index.html"
REGISTER_VERSION = 4
_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
"""What begins a formula, also in full width."""


class ClaimEntry(StrictModel):
    """A claim in the register."""

    id: str
    short: str
    """The claim as a clause."""
    main: bool
    outcome: Outcome
    certainty: Level | None
    yes: int
    n: int
    """The runs that count."""
    phrase: str
    """The weightiest that no other field shows."""

    @property
    def name(self) -> str:
        """The claim's name within its paper."""
        return self.id.partition(".")[2]


class ChoiceEntry(StrictModel):
    """A choice that a paper leaves open, and on which answers hang."""

    setting: str
    claims: tuple[str, ...]


class PaperEntry(StrictModel):
    """A paper in the register."""

    slug: str
    title: str
    venue: str
    verdict: str
    """Its verdict, in one to four sentences."""
    questions: tuple[str, ...]
    hangs_on: tuple[ChoiceEntry, ...]
    """The choices on which claims depend."""
    card: int
    """Variables documented by the card."""
    documented: int | None
    """Variables documented by the reviewers' word; null where nobody has reviewed."""
    of: int
    """Of so many."""
    page: str
    """Its page, below the register's folder."""
    origin: str | None
    """Who measured, if it was not us."""
    claims: tuple[ClaimEntry, ...]

    def clauses(self, choice: ChoiceEntry) -> str:
        """Return the claims that depend on a choice, as clauses."""
        return listed([claim.short for claim in self.claims if claim.id in choice.claims])


class Register(StrictModel):
    """The papers of one tier."""

    schema_version: int = REGISTER_VERSION
    tier: str
    """smoke, quick or paper."""
    papers: tuple[PaperEntry, ...]
    """By short name; measurements from elsewhere behind our own."""

    @property
    def counts(self) -> Counter[str]:
        """How many claims have which outcome."""
        return Counter(claim.outcome for paper in self.papers for claim in paper.claims)


def write_register(folder: Path, tier: str, found: Mapping[Path, Scorecard]) -> Path:
    """Write the register of a tier, and its badges; return the page, or raise a StoreError.

    Args:
        folder: the tier's folder.
        tier: smoke, quick or paper.
        found: each scorecard of the tier, by its folder.
    """
    ordered = sorted(found, key=lambda one: (found[one].paper.slug, len(one.parts), one))
    for place in (one for one in ordered if found[one].origin is None):
        _update(place / "badge.svg", paper_badge(found[place]))
        claims = found[place].of_paper
        badges = place / "badges"
        for claim in claims:
            _update(badges / f"{claim.id}.svg", claim_badge(claim))
        for old in badges.glob(f"{found[place].paper.slug}.*.svg"):
            if old.stem not in {one.id for one in claims}:
                old.unlink()
    register = Register(tier=tier, papers=tuple(entry(found[one], one, folder) for one in ordered))
    _update(folder / "register.json", register.model_dump_json(indent=1) + "\n")
    _update(folder / "register.csv", register_csv(register.papers))
    pictures = {}
    for one, place in zip(register.papers, ordered, strict=True):
        main = (claim for claim in claims_of(found[place]) if claim.claim.main)
        pictures[one.page] = next(map(picture, main), Markup())
    outcomes = [(one.value, one.value.replace(" ", "-")) for one in Outcome]
    page = environment().get_template("register.html")
    _update(folder / PAGE, page.render(register=register, pictures=pictures, outcomes=outcomes))
    return folder / PAGE


def entry(card: Scorecard, place: Path, folder: Path) -> PaperEntry:
    """Return a paper's entry."""
    documented = documentation_of(card.audit, card.reviews)
    return PaperEntry(
        slug=card.paper.slug,
        title=card.paper.title,
        venue=card.paper.published,
        verdict=" ".join(verdict(card)),
        questions=tuple(question.text for question in questions(card)),
        hangs_on=tuple(_choices(card)),
        card=documented.card,
        documented=documented.by_reviewers,
        of=documented.of,
        page=f"{place.relative_to(folder).as_posix()}/scorecard.html",
        origin=None if card.origin is None else card.origin.who,
        claims=tuple(
            ClaimEntry(
                id=one.answer.id,
                short=one.claim.short,
                main=one.claim.main,
                outcome=one.answer.outcome,
                certainty=one.answer.level,
                yes=one.base.yes,
                n=one.base.n,
                phrase=one.phrase,
            )
            for one in claims_of(card)
        ),
    )


def _choices(card: Scorecard) -> Iterator[ChoiceEntry]:
    claims: dict[str, dict[str, None]] = {}
    for one in claims_of(card):
        for side in one.answer.sides or ():
            if side.varied is not None:
                claims.setdefault(one.setting(side.varied.setting), {})[one.answer.id] = None
    for setting, ids in claims.items():
        yield ChoiceEntry(setting=setting, claims=tuple(ids))


def register_csv(papers: Sequence[PaperEntry]) -> str:
    """Return a row for each claim, as CSV."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(
        ("paper", "claim", "outcome", "certainty", "yes", "runs", "measured by", "phrase")
    )
    for paper in papers:
        who = paper.origin or "reproaudit"
        for claim in paper.claims:
            counts = (claim.certainty or "", claim.yes, claim.n)
            row = (paper.slug, claim.id, claim.outcome, *counts, who, claim.phrase)
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
    counts = Counter(claim.outcome for claim in card.of_paper)
    pieces = [(f"{counts[one]} {one}", look(one).colour) for one in Outcome if counts[one]]
    return _badge(f"{card.paper.slug}, {card.tier} tier", pieces or [("no claims", "dim")])


def _badge(label: str, pieces: Sequence[tuple[str, str]]) -> str:
    """A label and further pieces in a row, each a text with the name of its colour."""
    drawn = []
    at = 0
    texts = [clean(text) for text in (label, *(text for text, _ in pieces))]
    for text, colour in zip(texts, (LABEL, *(COLOURS[one] for _, one in pieces)), strict=True):
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
