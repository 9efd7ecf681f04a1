"""`reproaudit report`: scorecards from records, or from a scorecard.json."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TierName
from reproaudit.commands.one_paper import (
    AskedOfPapers,
    reports_of_papers,
    scorecard_of_paper,
    tell_of_other_store,
)
from reproaudit.commands.output import print_json, say, say_written, show, terminal
from reproaudit.commands.reporting import ReportRequest
from reproaudit.errors import AuditError, UsageError
from reproaudit.reports.files import write_report
from reproaudit.reports.formats import TERMINAL
from reproaudit.reports.register.model import PaperEntry
from reproaudit.reports.register.writing import PAGE, write_register
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.reports.screen import print_screen
from reproaudit.running.store import Store
from reproaudit.scorecard.model import Scorecard


def report_papers(
    request: ReportRequest, on_error: Callable[[AuditError], None] | None = None
) -> tuple[list[Scorecard], list[Path]]:
    """Writes the reports of papers, then prints them; returns the scorecards and the files.

    Args:
        request: the papers, and what to write and print of them.
        on_error: told why a paper cannot be shown, and the others are; None raises instead.

    Raises:
        UsageError: if no paper has anything to report.
    """
    entries, tier, out, as_json = request.entries, request.tier, request.out, request.as_json
    formats = request.formats
    to_draw = as_json or (TERMINAL in formats and request.details)
    asked = AskedOfPapers(request.store, tier, out, request.group, formats - {TERMINAL}, to_draw)
    scorecards: list[Scorecard] = []
    written: list[Path] = []
    papers: list[Scorecard | PaperEntry] = []
    faulty = False
    for entry, found in zip(entries, reports_of_papers(entries, asked), strict=True):
        sys.stderr.write(found.said)
        if found.error is not None:
            if on_error is None:
                raise found.error
            on_error(type(found.error)(f"{entry.slug}: {found.error}"))
            faulty = True
        elif found.card is not None:
            scorecards.append(found.card)
            written += found.written
            papers.append(found.entry or found.card)
    if not scorecards and not faulty:
        raise _nothing_to_report(entries, request.store, tier)
    if "html" in formats:
        written += write_register(papers, out)
    if as_json:
        print_scorecards(scorecards)
    elif TERMINAL in formats:
        show_scorecards(scorecards, written, request.details, history=request.history)
        return scorecards, written
    _say_written(written, as_json)
    return scorecards, written


def finish_run(
    scorecards: Sequence[Scorecard], store: Store, out: Path, as_json: bool, details: bool
) -> None:
    """Writes the pages of papers that were run, and ends with every claim on one line.

    Args:
        scorecards: the papers.
        store: the records that they were judged from.
        out: the report folder.
        as_json: whether to print JSON instead.
        details: whether to print everything before.

    Raises:
        StoreError: if the pages cannot be written; what there is to print is printed first.
    """
    written: list[Path] = []
    try:
        for one in scorecards:
            tell_of_other_store(one, store, out)
        pages = [path for one in scorecards for path in write_report(one, out)]
        written = [*pages, *write_register(scorecards, out)]
    finally:
        if as_json:
            print_scorecards(scorecards)
            _say_written(written, as_json)
        else:
            show_scorecards(scorecards, written, details)


def _say_written(written: Sequence[Path], as_json: bool) -> None:
    """Prints the files that were written; of several papers, their number and the registers."""
    registers = [path for path in written if path.name == PAGE]
    if len({path.parent for path in written if path.name != PAGE}) > 1:
        folder = os.path.commonpath([path.parent for path in written])
        say(f"wrote {len(written)} files below {folder}", stderr=as_json)
        written = registers
    say_written(written, as_json=as_json)


def scorecards_to_report(
    entries: Sequence[Entry], store: Store, tier: TierName | None, out: Path
) -> list[Scorecard]:
    """Returns every paper's scorecard: from its records, else from the report folder.

    Raises:
        TiedGroupsError: if two groups of records of one paper may be meant.
        UsageError: if no paper has anything to report.
    """
    found = [scorecard_of_paper(entry, store, tier, out) for entry in entries]
    cards = [card for card in found if card is not None]
    if not cards:
        raise _nothing_to_report(entries, store.root, tier)
    return cards


def _nothing_to_report(entries: Sequence[Entry], store: Path, tier: TierName | None) -> UsageError:
    names = " ".join(entry.slug for entry in entries)
    wanted = f" --tier {tier}" if tier else ""
    return UsageError(
        f"{store}: no records of {names}{f' at the {tier} tier' if tier else ''}. "
        f"Make them with: reproaudit run {names}{wanted}"
    )


def print_scorecards(scorecards: Sequence[Scorecard]) -> None:
    """Prints scorecards as JSON: an object of one, a list of several."""
    several = [one.as_data() for one in scorecards]
    print_json(several[0] if len(several) == 1 else several)


def show_scorecards(
    scorecards: Sequence[Scorecard],
    written: Sequence[Path],
    details: bool,
    *,
    history: bool = True,
) -> None:
    """Prints scorecards, and last each claim on one line with the page that has the details.

    Args:
        scorecards: the papers.
        written: the files that were written; the pages among them are named.
        details: whether to print everything, and every file.
        history: whether everything has the claims' histories in full.
    """
    if details:
        for one in scorecards:
            show(scorecard_document(one, history=history))
        say("")
        _say_written(written, as_json=False)
    name = PAGE if len(scorecards) > 1 else "scorecard.html"
    pages = [path for path in written if path.name == name]
    print_screen(scorecards, terminal(), pages)
