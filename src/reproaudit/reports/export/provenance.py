"""Parts shared by several formats: a paper's identifiers, running times, the scorecard's files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import quote

from reproaudit.reports.formats import PAGES, Rendered
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.scorecard.model import Scorecard


class Identifier(NamedTuple):
    """One identifier of a paper."""

    scheme: str
    """DOI, arXiv or OpenReview."""
    value: str
    url: str


def identifiers(paper: Mapping[str, Any]) -> tuple[Identifier, ...]:
    """Returns a paper's identifiers, the most lasting first.

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


def running_times(scorecard: Scorecard) -> tuple[datetime, datetime] | None:
    """Returns when the first record was begun and the last was done; None without records.

    Both are in UTC. A record that was resumed counts its running time from its beginning, so that
    the end is the earliest possible one.
    """
    if not scorecard.records:
        return None
    begun = [_utc(one.started) for one in scorecard.records]
    done = [
        start + timedelta(seconds=one.seconds)
        for start, one in zip(begun, scorecard.records, strict=True)
    ]
    return min(begun), max(done)


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def scorecard_files(card: Scorecard) -> dict[str, bytes]:
    """Returns the scorecard in every page format by name, as files that need no page above them."""
    rendered = Rendered(scorecard_document(card), card.as_data())
    return {f"scorecard.{one.name}": one.render(rendered).encode() for one in PAGES.values()}
