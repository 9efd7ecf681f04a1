"""A letter to the authors: the numbered questions of a page with their evidence, as Markdown."""

from __future__ import annotations

from reproaudit.formats.scorecard import Scorecard
from reproaudit.report.export.registry import Exported, ExportRequest
from reproaudit.report.pages import templates


def letter_export(request: ExportRequest) -> Exported:
    """Return one file with the letter."""
    card = request.scorecard()
    return Exported({"letter.md": letter(card).encode()}, card.tier)


def letter(card: Scorecard) -> str:
    """Return the letter: what was rerun and found, then the questions with what hangs on each."""
    page = templates().get_template("letter.md").render(card=card)
    return f"{page.rstrip()}\n"
