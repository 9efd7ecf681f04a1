"""Scorecards rendered as the commands render them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from reproaudit.reports.formats import PAGES, Rendered
from reproaudit.reports.register.entries import EntrySource, paper_entry
from reproaudit.reports.register.model import Register
from reproaudit.reports.register.page import register_page
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.reports.terminal import print_document
from reproaudit.scorecard.model import Scorecard


def render(card: Scorecard, form: str, *, index: bool = True) -> str:
    """The scorecard in a page format, as it is written below an index."""
    return PAGES[form].render(Rendered(scorecard_document(card, index=index), card.as_data()))


def render_scorecard(card: Scorecard, console: Console) -> None:
    print_document(scorecard_document(card), console)


def render_html(card: Scorecard) -> str:
    return render(card, "html")


def render_markdown(card: Scorecard) -> str:
    return render(card, "md")


def render_json(card: Scorecard) -> str:
    return render(card, "json")


def register_of(cards: Sequence[Scorecard]) -> Register:
    sources = [EntrySource(str(card.paper["slug"]), "0" * 64, card) for card in cards]
    return Register(tier=cards[0].tier, papers=tuple(paper_entry(one, ()) for one in sources))


def render_register(cards: Sequence[Scorecard]) -> str:
    return register_page(register_of(cards))
