"""`reproaudit report`: scorecards from records, or from a scorecard.json that is there already."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from rich.console import Console

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.errors import AuditError, UsageError
from reproaudit.reports.files import read_scorecard, write_index, write_report
from reproaudit.running.groups import todays_groups
from reproaudit.running.store import Store
from reproaudit.scorecard import Scorecard
from reproaudit.scorecard.from_store import scorecard_of


def scorecards_to_report(
    entries: Sequence[Entry],
    store: Store,
    tier: TierName | None,
    out: Path,
    group: str | None = None,
    on_error: Callable[[AuditError], None] | None = None,
) -> list[Scorecard]:
    """The scorecard of every paper: from its records, else from its file in the report folder.

    Args:
        entries: the papers.
        store: where records are.
        tier: the tier to report; None for the highest one that a paper has.
        out: the report folder.
        group: the beginning of the id of the group of records to show; None for today's.
        on_error: told why a paper cannot be shown, and the others are; None raises instead.

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
        if _has_records(store, audit, one):
            today = todays_groups(entry.module)
            return scorecard_of(store, audit, one, today=today, wanted=group)
        committed = out / one / entry.slug / "scorecard.json"
        if committed.is_file():
            card = read_scorecard(committed)
            if card.digest is None:
                Console(stderr=True).print(
                    f"{committed} has no digest: nothing shows whether it was edited.",
                    markup=False,
                    highlight=False,
                    soft_wrap=True,
                )
            return card
    return None


def _has_records(store: Store, audit: Audit, tier: TierName) -> bool:
    return next(iter(store.records(audit.paper.slug, tier)), None) is not None


def render_files(
    scorecards: Iterable[Scorecard], out: Path, formats: Collection[str]
) -> list[Path]:
    """Writes the reports of scorecards and, with HTML, an index for every tier among them.

    Returns:
        The files that a person opens first: the index pages, else what was written.
    """
    if not formats:
        return []
    several = list(scorecards)
    written = [path for one in several for path in write_report(one, out, formats)]
    if "html" not in formats:
        return written
    pages = [path for path in written if path.suffix == ".html"]
    return [*pages, *write_index(_with_earlier(several, out), out)]


def _with_earlier(scorecards: Sequence[Scorecard], out: Path) -> list[Scorecard]:
    """These scorecards and those of other papers already in the report folder, by tier and slug."""
    every = {(one.tier, str(one.paper["slug"])): one for one in scorecards}
    for tier in {one.tier for one in scorecards}:
        for file in (out / tier).glob("*/scorecard.json"):
            if (tier, file.parent.name) not in every:
                every[tier, file.parent.name] = read_scorecard(file)
    return [every[key] for key in sorted(every)]
