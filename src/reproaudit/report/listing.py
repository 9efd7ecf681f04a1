"""A line for each paper: what is documented of it, and its last answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reproaudit.audit.catalog import Entry
from reproaudit.report.answers import scorecards_of_paper
from reproaudit.report.documentation import documentation_of, documented_words
from reproaudit.report.numbers import listed
from reproaudit.report.words import OUTCOMES
from reproaudit.running.store import Store
from reproaudit.verdict import Outcome


def list_entry(entry: Entry, store: Path, out: Path) -> dict[str, Any]:
    """Return the names of a paper, what is documented of it, and its last answers, as data.

    Where there are none of ours, they are those on measurements from elsewhere, judged before.

    Raises:
        AuditError: if the audit or a record cannot be read.
    """
    audit = entry.audit()
    documented = documentation_of(audit, entry.reviews())
    cards = scorecards_of_paper(entry, audit, Store(store), None, out, judge_shipped=False)
    card = cards[0] if cards else None
    found = [one.outcome for each in cards for one in each.of_paper]
    return {
        "slug": entry.slug,
        "title": audit.paper.title,
        "venue": f"{audit.paper.venue} {audit.paper.year}",
        "documented": documented.by_reviewers,
        "card": documented.card,
        "of": documented.of,
        "tier": None if card is None else card.tier,
        "outcomes": None if card is None else dict(Counter(found)),
        "outdated": any(one.changed_since for one in cards),
        "shipped": bool(card and card.shipped),
        "measured_by": list(
            dict.fromkeys(one.origin.who for one in cards if one.origin is not None)
        ),
    }


def list_lines(papers: Sequence[dict[str, Any]], room: int) -> Iterator[str]:
    """Yield a line for each paper, cut at so many characters."""
    counts = [_counts(one) for one in papers]
    documented = [documented_words(one["documented"], one["card"], one["of"]) for one in papers]
    words = max(map(len, documented), default=0)
    names = max((len(one["slug"]) for one in papers), default=0)
    answers = max(map(len, counts), default=0)
    for one, by, said in zip(papers, documented, counts, strict=True):
        line = f"{one['slug']:<{names}}  {by:<{words}}  {said:<{answers}}  {one['title']}"
        yield line if len(line) <= room else f"{line[: room - 1].rstrip()}…"


def _counts(one: dict[str, Any]) -> str:
    counts = one["outcomes"]
    if counts is None:
        return "not run"
    marks = [f"{OUTCOMES[found].mark} {counts[found]}" for found in Outcome if counts.get(found)]
    asides = ["shipped"] * one["shipped"]
    asides += [f"measured by {listed(one['measured_by'])}"] * bool(one["measured_by"])
    asides += ["the audit has changed since"] * one["outdated"]
    aside = f" ({', '.join(asides)})" if asides else ""
    return f"{one['tier']}: {' '.join(marks) or 'no claims'}{aside}"
