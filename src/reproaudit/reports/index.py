"""The outline of the page above several scorecards, and of the list of known papers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from reproaudit.audit.documentation import UNSCORED
from reproaudit.reports import outline as o
from reproaudit.reports import phrasing
from reproaudit.reports.claim import claim_row, verdict_badges
from reproaudit.scorecard.model import DocumentationModel, Scorecard, VariableModel


@dataclass(frozen=True)
class Elsewhere:
    """The page of measurements from elsewhere, as the index shows it.

    Attributes:
        folder: the page's folder, from the index: ``<slug>/elsewhere/<who and when>``.
        card: its scorecard, which has an origin.
    """

    folder: str
    card: Scorecard


@dataclass(frozen=True)
class ListEntry:
    """A paper as `reproaudit list` shows it; `verdicts` is None if nothing has been run."""

    slug: str
    title: str
    venue: str
    strict: int
    reviewed: int
    of: int = 7
    tier: str | None = None
    verdicts: Mapping[str, int] | None = None


def list_document(entries: Iterable[ListEntry]) -> o.Document:
    """Returns the known papers: title, venue, documentation (card → reviewed), last verdicts."""
    rows = []
    for one in entries:
        verdicts: o.Line = o.soft("not run")
        if one.verdicts is not None:
            verdicts = (f"{one.tier or ''}: ", *_pieces(verdict_badges(one.verdicts)))
        score = f"{one.strict} → {one.reviewed} of {one.of}"
        rows.append((one.slug, one.title, one.venue, score, verdicts))
    table = o.Tabular(("paper", "title", "venue", "card → reviewed", "last verdicts"), rows)
    return o.Document("papers", "", (), (table,))


def _pieces(text: o.Line) -> tuple[str | o.Span, ...]:
    return text if isinstance(text, tuple) else (text,)


def index_document(cards: Sequence[Scorecard], elsewhere: Sequence[Elsewhere] = ()) -> o.Document:
    """Returns the page that leads to the papers' pages, with documentation beside outcome.

    Args:
        cards: our own, in the order in which they are shown.
        elsewhere: pages of measurements from elsewhere; each stands below its paper's own, and
            one of a paper without a scorecard of ours at the end.
    """
    papers = o.Tabular(
        ("Paper", "Tier", "Documentation", "Sharing type", "Verdicts", "Claims tested"),
        tuple(_papers(cards, elsewhere)),
        caption="Documentation is the number of documented variables of 7: card → reviewed",
    )
    claims = o.Tabular(
        ("Claim", "Verdict", "Evidence", "Estimate [interval] against bound"),
        tuple(_claims(cards, elsewhere)),
        caption="Every audited claim, with the estimate of its deciding part",
    )
    rates = dict.fromkeys(phrasing.rate_words(card.documentation) for card in cards)
    return o.Document(
        name="Scorecards",
        title="Scorecards",
        lead=(
            o.Paragraph(
                "What the papers say beside what was found. There is no single number for a "
                "paper: read its claims, their weights and the coverage.",
                "soft",
                detail=o.Detail.FULL,
            ),
        ),
        blocks=(
            o.Section(
                "Papers", (papers, *(o.Paragraph(one, "soft") for one in rates)), anchor="papers"
            ),
            o.Section("Claims", (claims,), anchor="claims", detail=o.Detail.FULL),
            _documentation(cards),
        ),
    )


def _slug(card: Scorecard) -> str:
    return str(card.paper.get("slug", ""))


def _by_paper(
    cards: Sequence[Scorecard], elsewhere: Sequence[Elsewhere]
) -> Iterator[tuple[Scorecard | None, list[Elsewhere]]]:
    """Yields each of our scorecards with what others measured; last what others alone measured."""
    for card in cards:
        yield card, [one for one in elsewhere if _slug(one.card) == _slug(card)]
    ours = {_slug(card) for card in cards}
    yield None, [one for one in elsewhere if _slug(one.card) not in ours]


def _page(folder: str) -> str:
    return f"{quote(folder)}/scorecard.html"


def _papers(cards: Sequence[Scorecard], elsewhere: Sequence[Elsewhere]) -> Iterator[o.GridRow]:
    for card, others in _by_paper(cards, elsewhere):
        if card is not None:
            paper, score = card.paper, card.documentation
            about = f"{paper['title']}. {paper['venue']} {paper['year']}"
            counted = f"{score.strict} → {score.reviewed} of {score.of}"
            link = o.Span(_slug(card), href=_page(_slug(card)))
            yield _paper((link, o.soft(about)), card, counted, score.sharing_type)
        for one in others:
            origin = one.card.origin
            assert origin is not None, "measurements from elsewhere have an origin"
            name = f"{_slug(one.card)}, measured by {origin.who}"
            link = o.Span(name, href=_page(one.folder))
            about = f"Not ours: made {origin.made} with {origin.framework}; {origin.source}"
            yield _paper((link, o.soft(about)), one.card, "measurements from elsewhere", "")


def _paper(name: Sequence[o.Line], card: Scorecard, score: str, sharing: str) -> o.GridRow:
    verdicts = verdict_badges(phrasing.verdict_counts(card.claims))
    tested = f"{card.coverage.tested} of {card.coverage.claims}"
    return (o.Lines(name), card.tier, score, sharing, verdicts, tested)


def _claims(cards: Sequence[Scorecard], elsewhere: Sequence[Elsewhere]) -> Iterator[o.GridRow]:
    for card, others in _by_paper(cards, elsewhere):
        theirs = [
            (claim.id, claim_row(claim, f"{_page(one.folder)}#claim-{n}", origin=one.card.origin))
            for one in others
            for n, claim in enumerate(one.card.claims, start=1)
        ]
        if card is None:
            yield from (row for _, row in theirs)
            continue
        for n, claim in enumerate(card.claims, start=1):
            yield claim_row(claim, f"{_page(_slug(card))}#claim-{n}")
            yield from (row for name, row in theirs if name == claim.id)


# --- documentation ------------------------------------------------------------------------------


def _documentation(cards: Sequence[Scorecard]) -> o.Section:
    every = [card.documentation for card in cards]
    names = dict.fromkeys(one.name for documentation in every for one in documentation.variables)
    rows = [_variable_row(name, every) for name in names]
    totals: dict[str, list[str]] = {
        "Score by the card": [f"{one.strict} of {one.of}" for one in every],
        "Score as reviewed": [f"{one.reviewed} of {one.of}" for one in every],
        "Sharing type, as reviewed": [one.sharing_type for one in every],
    }
    if any(one.agreement for one in every):
        totals["Agreement of reviewers"] = [
            phrasing.agreement_words(one.agreement) if one.agreement else "one reviewer"
            for one in every
        ]
    rows += [(name, *values) for name, values in totals.items()]
    table = o.Tabular(
        ("Variable", *(_slug(card) for card in cards)),
        rows,
        caption="The automated card's answer, then the reviewers' decision; bold where the review "
        "changes what counts",
    )
    title = "Documentation: card against review"
    return o.Section(title, (table,), anchor="documentation", detail=o.Detail.FULL)


def _variable_row(name: str, every: Sequence[DocumentationModel]) -> o.GridRow:
    found = (next((v for v in one.variables if v.name == name), None) for one in every)
    label: o.Line = (name, o.soft(" (not scored)")) if name in UNSCORED else name
    return (label, *(_variable(one) for one in found))


def _variable(one: VariableModel | None) -> o.GridCell:
    if one is None:
        return "none"
    lines: list[o.Line] = [f"{one.card}, {phrasing.words(one.decision)}"]
    if one.name not in UNSCORED:
        counts = "documented" if one.documented else "not documented"
        lines.append(o.strong(counts) if one.documented != (one.card == "Yes") else o.soft(counts))
    if one.decision == phrasing.DISPUTED:
        lines.append(phrasing.disagreement(one))
    return o.Lines(lines)
