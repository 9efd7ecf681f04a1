"""`reproaudit report`: scorecards from records, or from a scorecard.json that is there already."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.errors import UsageError
from reproaudit.reports.files import read_scorecard, write_index, write_report
from reproaudit.running.store import Store
from reproaudit.scorecard import Scorecard
from reproaudit.scorecard.from_store import scorecard_of


def scorecards_to_report(
    entries: Sequence[Entry], store: Store, tier: TierName | None, out: Path
) -> list[Scorecard]:
    """The scorecard of every paper: from its records, else from its file in the report folder.

    Args:
        entries: the papers.
        store: where records are.
        tier: the tier to report; None for the highest one that a paper has.
        out: the report folder.

    Raises:
        UsageError: if no paper has anything to report.
    """
    found = [one for entry in entries if (one := _scorecard(entry, store, tier, out)) is not None]
    if not found:
        names = " ".join(entry.slug for entry in entries)
        wanted = f" --tier {tier}" if tier else ""
        raise UsageError(
            f"{store.root}: no records of {names}{f' at the {tier} tier' if tier else ''}. "
            f"Make them with: reproaudit run {names}{wanted}"
        )
    return found


def _scorecard(entry: Entry, store: Store, tier: TierName | None, out: Path) -> Scorecard | None:
    audit = entry.audit()
    for one in [tier] if tier else reversed(TIERS):
        if _has_records(store, audit, one):
            return scorecard_of(store, audit, one)
        committed = out / one / entry.slug / "scorecard.json"
        if committed.is_file():
            return read_scorecard(committed)
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
