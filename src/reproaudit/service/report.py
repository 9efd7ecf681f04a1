"""`reproaudit report`: the scorecards of many papers, their pages and the register."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TierName
from reproaudit.errors import AuditError, UsageError
from reproaudit.formats.scorecard import Scorecard
from reproaudit.report.files import FORMATS, PAGES, TERMINAL, json_data
from reproaudit.scorecard.answers import scorecards_by_scale, scorecards_of_paper
from reproaudit.scorecard.files import folder_of
from reproaudit.service.listing import scales_words
from reproaudit.service.pages import registers_of, write_registers, write_report
from reproaudit.service.unchanged import MadeReport, ReportNote
from reproaudit.service.workspace import Workspace
from reproaudit.store.records import Store


@dataclass(frozen=True)
class ReportedPapers:
    """The reports of papers.

    Attributes:
        scorecards: in the order of the papers.
        scales: by slug, the line on a paper's answers at several scales; empty for a single one.
        written: the pages, then the registers.
        unchanged: pages, and registers if there is nothing else, that are of today and were left.
        errors: why a paper could not be shown, by slug.
    """

    scorecards: tuple[Scorecard, ...]
    scales: Mapping[str, str]
    written: tuple[Path, ...]
    unchanged: tuple[Path, ...]
    errors: Mapping[str, AuditError]

    @property
    def data(self) -> Any:
        """What ``--json`` prints."""
        return scorecards_data(self.scorecards)


def report_papers(
    workspace: Workspace,
    entries: Sequence[Entry],
    *,
    tier: TierName | None = None,
    formats: frozenset[str] | None = None,
    group: str | None = None,
    needs_all: bool = True,
) -> ReportedPapers:
    """Write the reports of papers, of a group of records and in some formats if they are named.

    One of several that cannot be shown stops no other; a single one raises its AuditError if
    `needs_all`. A UsageError if no paper has anything to report.
    """
    store = workspace.store
    out = workspace.pages
    wanted = frozenset(FORMATS) if formats is None else formats
    pages = wanted - {TERMINAL}
    scorecards: list[Scorecard] = []
    scales: dict[str, str] = {}
    written: list[Path] = []
    unchanged: list[Path] = []
    errors: dict[str, AuditError] = {}
    made_now: list[tuple[ReportNote, MadeReport]] = []
    for entry in entries:
        note = ReportNote(entry, store, out, (tier, sorted(pages), group))
        of_today = note.read()
        try:
            made = of_today or _make_report(entry, Store(store), out, tier, group, pages)
        except AuditError as error:  # what is wrong with a paper is part of the answer
            if needs_all and len(entries) == 1:
                raise
            errors[entry.slug] = error
            continue
        scorecards += made.cards
        scales[entry.slug] = made.scales
        if of_today:
            unchanged += [
                folder_of(card, out) / PAGES[name].file for card in made.cards for name in pages
            ]
        else:
            written += made.files
            made_now.append((note, made))
    if not scorecards and not errors:
        raise _nothing_to_report(entries, store, tier, out)
    if "html" in wanted:
        registers = registers_of(scorecards, out)
        if made_now or not all(register.is_file() for register in registers):
            written += write_registers(scorecards, out)
        else:
            unchanged += registers
    for note, made in made_now:
        note.write(made)
    return ReportedPapers(tuple(scorecards), scales, tuple(written), tuple(unchanged), errors)


def _make_report(
    entry: Entry,
    store: Store,
    out: Path,
    tier: TierName | None,
    group: str | None,
    pages: Iterable[str],
) -> MadeReport:
    """Judge a paper's records and write its pages; an AuditError if it cannot be shown."""
    audit = entry.audit()
    cards = scorecards_of_paper(entry, audit, store, tier, out, group)
    by_scale = cards
    if tier is None and len(cards) == 1:
        by_scale = scorecards_by_scale(entry, audit, store, out, cards[0])
    files = [path for card in cards for path in write_report(card, out, pages)]
    scales = scales_words(by_scale) if len(by_scale) > len(cards) else ""
    return MadeReport(cards, scales, tuple(files))


def scorecards_data(scorecards: Sequence[Scorecard]) -> Any:
    """Return an object of one scorecard, a list of several."""
    several = [*map(json_data, scorecards)]
    return several[0] if len(several) == 1 else several


def _nothing_to_report(
    entries: Sequence[Entry], store: Path, tier: TierName | None, out: Path
) -> UsageError:
    names = " ".join(entry.slug for entry in entries)
    wanted = f" --tier {tier}" if tier else ""
    looked_in = dict.fromkeys(str(folder) for folder in (out, store.parent / "reports"))
    return UsageError(
        f"{store}: no records of {names}{f' at the {tier} tier' if tier else ''}, and none came "
        f"with a report in {' or '.join(looked_in)}. "
        f"Make them with: reproaudit run {names}{wanted}"
    )
