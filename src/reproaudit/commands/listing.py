"""`reproaudit list`: every paper with its documentation scores and last verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.documentation import score
from reproaudit.commands.output import print_json, show
from reproaudit.reports.listing import ListEntry, list_document
from reproaudit.reports.phrasing import counted_verdicts
from reproaudit.running.groups import TiedGroupsError, todays_groups
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import highest_tier, outcomes_of
from reproaudit.scorecard.verdicts import verdict_words


def show_list(entries: Iterable[Entry], store: Path, as_json: bool) -> None:
    """Prints the papers, their documentation scores and the verdicts of their highest tier."""
    records = Store(store)
    found = [_list_entry(entry, records) for entry in entries]
    if as_json:
        print_json([vars(one) for one in found])
    else:
        show(list_document(found))


def _list_entry(entry: Entry, store: Store) -> ListEntry:
    audit = entry.audit()
    tier = highest_tier(store, audit)
    scores = score(audit.variables)
    verdicts = None
    if tier is not None:
        with suppress(TiedGroupsError):  # `report` names the groups
            today = todays_groups(entry.code)
            verdicts = counted_verdicts(
                (one.verdict, verdict_words(one.verdict, tier, one.evidence))
                for one in outcomes_of(store, audit, tier, today)
            )
    return ListEntry(
        slug=entry.slug,
        title=audit.paper.title,
        venue=f"{audit.paper.venue} {audit.paper.year}",
        strict=scores.strict,
        reviewed=scores.reviewed,
        tier=tier,
        verdicts=verdicts,
    )
