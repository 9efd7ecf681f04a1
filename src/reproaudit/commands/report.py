"""`reproaudit report`: scorecards from records, or from a scorecard.json."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TierName
from reproaudit.commands.one_paper import (
    PaperReport,
    scorecard_of_paper,
    tell_of_other_store,
)
from reproaudit.commands.output import print_json, say, say_written, show, terminal
from reproaudit.commands.reporting import ReportRequest
from reproaudit.commands.several_papers import reports_of_papers
from reproaudit.errors import AuditError, UsageError
from reproaudit.reports.files import write_report
from reproaudit.reports.formats import TERMINAL
from reproaudit.reports.register.writing import PAGE, write_register
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.reports.screen import PaperLines, paper_lines, print_screen
from reproaudit.running.store import Store
from reproaudit.scorecard.model import Scorecard


def report_papers(
    request: ReportRequest, on_error: Callable[[AuditError], None] | None = None
) -> tuple[set[str], list[Path]]:
    """Writes the reports of papers, then prints them; returns the outcomes and the files.

    Args:
        request: the papers, and what to write and print of them.
        on_error: told why a paper cannot be shown, and the others are; None raises instead.

    Returns:
        Every verdict and decision of the papers' claims, and the files that were written.

    Raises:
        UsageError: if no paper has anything to report.
    """
    found: list[PaperReport] = []
    faulty = False
    for entry, one in zip(request.entries, reports_of_papers(request), strict=True):
        sys.stderr.write(one.said)
        if one.error is not None:
            if on_error is None:
                raise one.error
            on_error(type(one.error)(f"{entry.slug}: {one.error}"))
            faulty = True
        elif one.lines is not None:
            found.append(one)
    if not found and not faulty:
        raise _nothing_to_report(request.entries, request.store, request.tier, request.out)
    written = [path for one in found for path in one.written]
    if "html" in request.pages:
        papers = [one.entry or one.card for one in found]
        written += write_register(filter(None, papers), request.out)
    cards = [one.card for one in found if one.card is not None]
    if request.as_json:
        print_scorecards(cards)
    elif TERMINAL in request.formats:
        if request.details:
            _show_whole(cards, written)
        _show_lines([one.lines for one in found if one.lines is not None], written)
    if request.as_json or TERMINAL not in request.formats:
        _say_written(written, request.as_json)
    return {outcome for one in found for outcome in one.outcomes}, written


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
        raise _nothing_to_report(entries, store.root, tier, out)
    return cards


def _nothing_to_report(
    entries: Sequence[Entry], store: Path, tier: TierName | None, out: Path
) -> UsageError:
    names = " ".join(entry.slug for entry in entries)
    wanted = f" --tier {tier}" if tier else ""
    looked_in = dict.fromkeys(str(one) for one in (out, store.parent / "reports"))
    return UsageError(
        f"{store}: no records of {names}{f' at the {tier} tier' if tier else ''}, and none came "
        f"with a report in {' or '.join(looked_in)}. "
        f"Make them with: reproaudit run {names}{wanted}"
    )


def print_scorecards(scorecards: Sequence[Scorecard]) -> None:
    """Prints scorecards as JSON: an object of one, a list of several."""
    several = [one.as_data() for one in scorecards]
    print_json(several[0] if len(several) == 1 else several)


def show_scorecards(
    scorecards: Sequence[Scorecard], written: Sequence[Path], details: bool
) -> None:
    """Prints scorecards, and last each claim on one line with the page that has the details.

    Args:
        scorecards: the papers.
        written: the files that were written; the pages among them are named.
        details: whether to print everything, and every file.
    """
    if details:
        _show_whole(scorecards, written)
    _show_lines([paper_lines(one) for one in scorecards], written)


def _show_whole(scorecards: Sequence[Scorecard], written: Sequence[Path]) -> None:
    for one in scorecards:
        show(scorecard_document(one))
    say("")
    _say_written(written, as_json=False)


def _show_lines(papers: Sequence[PaperLines], written: Sequence[Path]) -> None:
    name = PAGE if len(papers) > 1 else "scorecard.html"
    print_screen(papers, terminal(), [path for path in written if path.name == name])
