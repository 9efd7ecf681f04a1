"""`reproaudit list`: every paper with what is documented of it, and its last answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TIERS, Audit
from reproaudit.commands.answers import has_records, scorecard_of_store, written_scorecard
from reproaudit.commands.output import print_json, say, terminal
from reproaudit.judge import Outcome
from reproaudit.report.documentation import documentation_of
from reproaudit.report.model import Scorecard
from reproaudit.report.words import OUTCOMES
from reproaudit.running.groups import TiedGroupsError
from reproaudit.running.store import Store


def show_list(entries: Iterable[Entry], store: Path, as_json: bool) -> None:
    """Print the papers, what is documented of them, and the answers at their highest tier."""
    found = [_entry(entry, Store(store)) for entry in entries]
    if as_json:
        print_json(found)
        return
    wide = max((len(str(one["slug"])) for one in found), default=0)
    answers = max((len(_counts(one)) for one in found), default=0)
    room = terminal().width
    for one in found:
        documented = f"{one['documented']} of {one['of']} documented"
        line = f"{one['slug']:<{wide}}  {documented}  {_counts(one):<{answers}}  {one['title']}"
        say(line if len(line) <= room else f"{line[: room - 1].rstrip()}…")


def _entry(entry: Entry, store: Store) -> dict[str, object]:
    audit = entry.audit()
    documented = documentation_of(audit, entry.reviews())
    card = None
    with suppress(TiedGroupsError):  # `report` names the groups
        card = _last(entry, audit, store)
    counts = None if card is None else dict(Counter(one.outcome for one in card.claims))
    tier = None if card is None else card.tier
    return {
        "slug": entry.slug,
        "title": audit.paper.title,
        "venue": f"{audit.paper.venue} {audit.paper.year}",
        "documented": documented["reviewed"],
        "card": documented["card"],
        "of": documented["of"],
        "tier": tier,
        "outcomes": counts,
    }


def _last(entry: Entry, audit: Audit, store: Store) -> Scorecard | None:
    """The answers at the highest tier that has records, else those that a report wrote."""
    for tier in reversed(TIERS):
        if has_records(store, entry.slug, tier):
            return scorecard_of_store(entry, audit, tier, store)
    return written_scorecard(entry, store)


def _counts(one: dict[str, object]) -> str:
    counts = one["outcomes"]
    if not isinstance(counts, dict):
        return "not run"
    marks = [f"{OUTCOMES[found].mark} {counts[found]}" for found in Outcome if counts.get(found)]
    return f"{one['tier']}: {' '.join(marks) or 'no claims'}"
