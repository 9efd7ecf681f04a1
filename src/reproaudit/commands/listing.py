"""`reproaudit list`: every paper with its documentation scores and last verdicts.

It starts without the libraries that judge: they are imported if something has to be judged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from reproaudit.audit.catalog import Entry
from reproaudit.commands.remembering import (
    Files,
    files_of,
    looks_of_output,
    overheard,
    say_again,
    together,
)
from reproaudit.errors import AuditError
from reproaudit.running.memo import Memo, look_at, tool_files

if TYPE_CHECKING:
    from reproaudit.reports.listing import ListEntry
    from reproaudit.running.groups import Group
    from reproaudit.running.store import Store


def show_list(entries: Iterable[Entry], store: Path, as_json: bool) -> None:
    """Prints the papers, their documentation scores and the verdicts of their highest tier."""
    papers, store = list(entries), Path(os.path.abspath(store))
    named = [(entry.slug, str(entry.audit_file), str(entry.code)) for entry in papers]
    question = ["list", named, str(store), os.getcwd(), as_json, looks_of_output()]
    memo = Memo(question, files_of(papers, store))
    said = memo.answer()
    if said is not None:
        say_again(said)
        return
    with overheard() as printed:
        _print(papers, store, as_json)
    memo.keep(printed)


def _print(papers: Iterable[Entry], root: Path, as_json: bool) -> None:
    from reproaudit.commands.output import print_json, show
    from reproaudit.reports.listing import list_document
    from reproaudit.running.store import Store

    store, tool = Store(root), tool_files()
    found = [_remembered_entry(entry, store, tool) for entry in papers]
    if as_json:
        print_json([vars(one) for one in found])
    else:
        show(list_document(found))


def _remembered_entry(entry: Entry, store: Store, tool: Files) -> ListEntry:
    """A paper's line; after a run of one paper, the lines of the others are remembered."""
    from reproaudit.reports.listing import ListEntry
    from reproaudit.running.groups import todays_groups

    today: tuple[Group, ...] = ()
    files: Files = None
    listed: list[tuple[str, list[str]]] = []
    with suppress(AuditError):  # what is wrong is told where it matters
        if (store.root / entry.slug).is_dir():
            today = todays_groups(entry.code)
            below = f"{entry.slug}/"
            digests = store.manifest.digests().items()
            listed = [(path, found) for path, found in digests if path.startswith(below)]
        files = together(tool, look_at([entry.audit_file, store.root / entry.slug]))
    made_by = [repr(group) for group in today]
    memo = Memo(
        ["list", entry.slug, str(entry.audit_file), str(store.root), made_by, listed], files
    )
    known = memo.answer()
    if known is not None:
        return ListEntry(**known)
    line = _list_entry(entry, store)
    memo.keep(asdict(line))
    return line


def _list_entry(entry: Entry, store: Store) -> ListEntry:
    from reproaudit.audit.documentation import score
    from reproaudit.reports.listing import ListEntry
    from reproaudit.reports.phrasing import counted_verdicts
    from reproaudit.running.groups import TiedGroupsError, todays_groups
    from reproaudit.scorecard.from_store import highest_tier, outcomes_of
    from reproaudit.scorecard.verdicts import verdict_words

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
