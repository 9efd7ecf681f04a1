"""A line for each paper: what is documented of it, and its last answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reproaudit.audit.catalog import Entry
from reproaudit.report.answers import scorecard_of_paper
from reproaudit.report.documentation import documentation_of
from reproaudit.report.words import OUTCOMES
from reproaudit.running.store import Store
from reproaudit.verdict import Outcome


def list_entry(entry: Entry, store: Path) -> dict[str, Any]:
    """Return the names of a paper, what is documented of it, and its last answers, as data.

    Raises:
        AuditError: if the audit or a record cannot be read.
    """
    audit = entry.audit()
    documented = documentation_of(audit, entry.reviews())
    reports = store.parent / "reports"
    card = scorecard_of_paper(entry, audit, Store(store), None, reports, judge_shipped=False)
    return {
        "slug": entry.slug,
        "title": audit.paper.title,
        "venue": f"{audit.paper.venue} {audit.paper.year}",
        "documented": documented.reviewed,
        "card": documented.card,
        "of": documented.of,
        "tier": None if card is None else card.tier,
        "outcomes": None if card is None else dict(Counter(one.outcome for one in card.of_paper)),
        "outdated": bool(card and card.changed_since),
        "shipped": bool(card and card.shipped),
    }


def list_lines(papers: Sequence[dict[str, Any]], room: int) -> Iterator[str]:
    """Yield a line for each paper, cut at so many characters."""
    counts = [_counts(one) for one in papers]
    names = max((len(one["slug"]) for one in papers), default=0)
    answers = max(map(len, counts), default=0)
    for one, said in zip(papers, counts, strict=True):
        documented = f"{one['documented']} of {one['of']} documented"
        line = f"{one['slug']:<{names}}  {documented}  {said:<{answers}}  {one['title']}"
        yield line if len(line) <= room else f"{line[: room - 1].rstrip()}…"


def _counts(one: dict[str, Any]) -> str:
    counts = one["outcomes"]
    if counts is None:
        return "not run"
    marks = [f"{OUTCOMES[found].mark} {counts[found]}" for found in Outcome if counts.get(found)]
    asides = ["shipped"] * one["shipped"] + ["the audit has changed since"] * one["outdated"]
    aside = f" ({', '.join(asides)})" if asides else ""
    return f"{one['tier']}: {' '.join(marks) or 'no claims'}{aside}"
