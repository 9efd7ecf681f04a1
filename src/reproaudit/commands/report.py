"""`reproaudit report` and `list`: scorecards from records, or from a scorecard.json."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.documentation import score
from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.commands.output import print_json, say, say_written, show
from reproaudit.errors import AuditError, UsageError
from reproaudit.reports.files import read_scorecard, write_index, write_report
from reproaudit.reports.formats import TERMINAL
from reproaudit.reports.index import ListEntry, index_document, list_document
from reproaudit.reports.phrasing import verdict_counts
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.running.groups import TiedGroupsError, todays_groups
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import highest_tier, scorecard_of
from reproaudit.scorecard.model import Scorecard


def report_papers(
    entries: Sequence[Entry],
    store: Store,
    tier: TierName | None,
    out: Path,
    formats: frozenset[str],
    as_json: bool,
    group: str | None = None,
    on_error: Callable[[AuditError], None] | None = None,
) -> list[Scorecard]:
    """Writes the reports of papers, then prints them; returns the scorecards.

    Args:
        entries: the papers.
        store: the folder of records.
        tier: the tier to report; None for the highest one that a paper has.
        out: the report folder.
        formats: the formats to write and print.
        as_json: whether to print JSON instead of the scorecards.
        group: the beginning of the id of the group of records to show; None for today's.
        on_error: told why a paper cannot be shown, and the others are; None raises instead.

    Raises:
        UsageError: if no paper has anything to report.
    """
    scorecards = scorecards_to_report(entries, store, tier, out, group, on_error)
    written = _write(scorecards, out, formats - {TERMINAL})
    if as_json or TERMINAL in formats:
        show_scorecards(scorecards, as_json)
    say_written(written, as_json=as_json)
    return scorecards


def scorecards_to_report(
    entries: Sequence[Entry],
    store: Store,
    tier: TierName | None,
    out: Path,
    group: str | None = None,
    on_error: Callable[[AuditError], None] | None = None,
) -> list[Scorecard]:
    """Returns every paper's scorecard: from its records, else from its file in the report folder.

    Raises:
        TiedGroupsError: if two groups of records of one paper may be meant.
        UsageError: if no paper has anything to report.
    """
    found, faulty = [], False
    for entry in entries:
        try:
            card = _scorecard(entry, store, tier, out, group)
        except AuditError as error:
            if on_error is None:
                raise
            on_error(type(error)(f"{entry.slug}: {error}"))
            faulty = True
            continue
        found += [card] if card is not None else []
    if not found and not faulty:
        names = " ".join(entry.slug for entry in entries)
        wanted = f" --tier {tier}" if tier else ""
        raise UsageError(
            f"{store.root}: no records of {names}{f' at the {tier} tier' if tier else ''}. "
            f"Make them with: reproaudit run {names}{wanted}"
        )
    return found


def _scorecard(
    entry: Entry, store: Store, tier: TierName | None, out: Path, group: str | None
) -> Scorecard | None:
    audit = entry.audit()
    for one in [tier] if tier else reversed(TIERS):
        if has_records(store, audit, one):
            today = todays_groups(entry.module)
            return scorecard_of(store, audit, one, today=today, wanted=group)
        committed = out / one / entry.slug / "scorecard.json"
        if committed.is_file():
            card = read_scorecard(committed)
            if card.digest is None:
                say(f"{committed} has no digest: nothing shows whether it was edited.", stderr=True)
            return card
    return None


def has_records(store: Store, audit: Audit, tier: TierName) -> bool:
    """Returns whether a store holds a record of a paper at a tier."""
    return next(iter(store.records(audit.paper.slug, tier)), None) is not None


def _write(scorecards: Sequence[Scorecard], out: Path, formats: Collection[str]) -> list[Path]:
    """Writes the reports and, with HTML, an index for every tier among them."""
    written = [path for one in scorecards for path in write_report(one, out, formats)]
    if "html" in formats:
        written += write_index(_with_earlier(scorecards, out), out)
    return written


def _with_earlier(scorecards: Sequence[Scorecard], out: Path) -> list[Scorecard]:
    """Returns these scorecards and those of other papers in the report folder, in order."""
    every = {(one.tier, str(one.paper["slug"])): one for one in scorecards}
    for tier in {one.tier for one in scorecards}:
        for file in (out / tier).glob("*/scorecard.json"):
            if (tier, file.parent.name) not in every:
                every[tier, file.parent.name] = read_scorecard(file)
    return [every[key] for key in sorted(every)]


def show_scorecards(scorecards: Sequence[Scorecard], as_json: bool) -> None:
    """Prints scorecards and, of several, a table of them."""
    if as_json:
        several = [one.as_data() for one in scorecards]
        print_json(several[0] if len(several) == 1 else several)
        return
    for one in scorecards:
        show(scorecard_document(one))
    if len(scorecards) > 1:
        show(index_document(scorecards))


def show_list(entries: Iterable[Entry], store: Store, as_json: bool) -> None:
    """Prints the papers, their documentation scores and the verdicts of their highest tier."""
    found = [_list_entry(entry, store) for entry in entries]
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
            today = todays_groups(entry.module)
            verdicts = verdict_counts(scorecard_of(store, audit, tier, today=today).claims)
    return ListEntry(
        slug=entry.slug,
        title=audit.paper.title,
        venue=f"{audit.paper.venue} {audit.paper.year}",
        strict=scores.strict,
        reviewed=scores.reviewed,
        tier=tier,
        verdicts=verdicts,
    )
