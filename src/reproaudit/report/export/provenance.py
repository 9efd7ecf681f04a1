"""Parts shared by several formats: a paper's identifiers, and the scorecard's files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from reproaudit.report.files import PAGES
from reproaudit.report.model import Scorecard


class Identifier(NamedTuple):
    """One identifier of a paper."""

    scheme: str
    """DOI, arXiv or OpenReview."""
    value: str
    url: str


def identifiers(paper: Mapping[str, Any]) -> tuple[Identifier, ...]:
    """Return a paper's identifiers, the most lasting first.

    Every article of arXiv has a DOI, made of its identifier: 10.48550/arXiv.<identifier>
    (https://info.arxiv.org/help/doi.html).
    """
    found = []
    if arxiv := paper.get("arxiv"):
        doi = f"10.48550/arXiv.{arxiv}"
        found.append(Identifier("DOI", doi, f"https://doi.org/{quote(doi)}"))
        found.append(Identifier("arXiv", str(arxiv), f"https://arxiv.org/abs/{quote(str(arxiv))}"))
    if forum := paper.get("openreview"):
        url = f"https://openreview.net/forum?id={quote(str(forum), safe='')}"
        found.append(Identifier("OpenReview", str(forum), url))
    return tuple(found)


def scorecard_files(card: Scorecard) -> dict[str, bytes]:
    """Return the scorecard in every page format, by file name."""
    return {f"scorecard.{one.name}": one.render(card).encode() for one in PAGES.values()}


ABOUT = {
    "scorecard.html": "The scorecard, as a page that needs nothing else",
    "scorecard.json": "The scorecard, with every number, for programs",
    "scorecard.md": "The scorecard, as text",
}
"""What each file is."""
