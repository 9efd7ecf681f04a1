"""`reproaudit report`: scorecards from records, or from a scorecard.json."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.commands.output import print_json, say, say_written, show, terminal
from reproaudit.commands.recording import told_by_seals
from reproaudit.commands.reporting import ReportRequest
from reproaudit.errors import AuditError, UsageError
from reproaudit.reports.files import read_scorecard, write_report
from reproaudit.reports.formats import PAGES, TERMINAL
from reproaudit.reports.register.writing import PAGE, write_register
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.reports.screen import print_screen
from reproaudit.running.groups import todays_groups
from reproaudit.running.memo import memo_folder
from reproaudit.running.shipped import FILE_NAME, unpack_records
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import scorecard_of
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
    store, out, as_json = Store(request.store), request.out, request.as_json
    scorecards = scorecards_to_report(
        request.entries, store, request.tier, out, request.group, on_error
    )
    written = _write(scorecards, out, request.formats - {TERMINAL})
    if as_json:
        print_scorecards(scorecards)
    elif TERMINAL in request.formats:
        show_scorecards(scorecards, written, request.details)
        return scorecards, written
    _say_written(written, as_json)
    return scorecards, written


def finish_run(scorecards: Sequence[Scorecard], out: Path, as_json: bool, details: bool) -> None:
    """Writes the pages of papers that were run, and ends with every claim on one line.

    Args:
        scorecards: the papers.
        out: the report folder.
        as_json: whether to print JSON instead.
        details: whether to print everything before.

    Raises:
        StoreError: if the pages cannot be written; what there is to print is printed first.
    """
    written: list[Path] = []
    try:
        written = _write(scorecards, out, PAGES)
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
    entries: Sequence[Entry],
    store: Store,
    tier: TierName | None,
    out: Path,
    group: str | None = None,
    on_error: Callable[[AuditError], None] | None = None,
) -> list[Scorecard]:
    """Returns every paper's scorecard: from its records, else from the report folder.

    There the records that were exported with the report are judged anew; without them, the
    scorecard is read as it was written.

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
    if not audit.claims:  # its documentation is all that there is to show
        return scorecard_of(store, audit, tier or "quick")
    for one in [tier] if tier else reversed(TIERS):
        if has_records(store, audit, one):
            today = todays_groups(entry.code)
            card = scorecard_of(store, audit, one, today=today, wanted=group)
            return told_by_seals(card, entry, audit, store)
        folder = out / one / entry.slug
        if (shipped := folder / FILE_NAME).is_file():
            return _from_shipped(entry, audit, one, shipped, group)
        committed = folder / "scorecard.json"
        if committed.is_file():
            card = read_scorecard(committed)
            if card.digest is None:
                say(f"{committed} has no digest: nothing shows whether it was edited.", stderr=True)
            return card
    return None


def _from_shipped(
    entry: Entry, audit: Audit, tier: TierName, file: Path, group: str | None
) -> Scorecard:
    """Returns the scorecard from the records that lie in the report folder, judged today."""
    store = unpack_records(file, memo_folder().parent / "shipped")
    today = todays_groups(entry.code)
    card = scorecard_of(store, audit, tier, today=today, wanted=group)
    return told_by_seals(card.model_copy(update={"shipped": True}), entry, audit, store)


def has_records(store: Store, audit: Audit, tier: TierName) -> bool:
    """Returns whether a store holds a record of a paper at a tier."""
    return next(iter(store.records(audit.paper.slug, tier)), None) is not None


def _write(scorecards: Sequence[Scorecard], out: Path, formats: Collection[str]) -> list[Path]:
    """Writes the reports and, with HTML, the register of every tier among them."""
    written = [path for one in scorecards for path in write_report(one, out, formats)]
    if "html" in formats:
        written += write_register(scorecards, out)
    return written


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
        for one in scorecards:
            show(scorecard_document(one))
        say("")
        _say_written(written, as_json=False)
    name = PAGE if len(scorecards) > 1 else "scorecard.html"
    pages = [path for path in written if path.name == name]
    print_screen(scorecards, terminal(), pages)
