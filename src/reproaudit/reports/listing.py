"""The outline of the list of known papers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reproaudit.reports import outline as o
from reproaudit.reports import phrasing
from reproaudit.reports.claim import verdict_badges


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


TITLE_WIDTH = 24
"""Characters of a title in the list, so that a paper takes two lines on a narrow terminal."""


def list_document(entries: Iterable[ListEntry]) -> o.Document:
    """Returns the known papers, in two lines each: title, documentation, last verdicts."""
    rows = []
    for one in entries:
        verdicts: o.Line = o.soft("not run")
        if one.verdicts is not None:
            counts, scale = phrasing.scale_apart(one.verdicts)
            verdicts = (f"{one.tier or ''}{scale}:\n", *_pieces(verdict_badges(counts)))
        score = f"{one.strict} → {one.reviewed} of {one.of}"
        title = textwrap.shorten(one.title, TITLE_WIDTH, placeholder="…")
        rows.append((one.slug, f"{title}\n{one.venue}", score, verdicts))
    table = o.Tabular(("paper", "title and venue", "documented", "last verdicts"), rows)
    return o.Document("papers", "", (), (table,))


def _pieces(text: o.Line) -> tuple[str | o.Span, ...]:
    return text if isinstance(text, tuple) else (text,)
