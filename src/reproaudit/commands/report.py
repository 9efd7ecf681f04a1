"""`reproaudit report`: for each paper its records, its scorecard and its pages; then the register.

A paper's records are those of the store. Where it has none of a tier, those of the archive in the
report folder are judged. Where there is no archive either, the `scorecard.json` there is shown as
it was written.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.audit.seeds import stored_tier
from reproaudit.commands.output import print_json, say, say_written, show, terminal
from reproaudit.errors import AuditError, TechnicalError, UsageError
from reproaudit.folders import scratch_folder
from reproaudit.multiverse.completions import varied_tier
from reproaudit.reports.files import read_scorecard, write_report
from reproaudit.reports.formats import TERMINAL
from reproaudit.reports.register.writing import PAGE, write_register
from reproaudit.reports.scorecard import scorecard_document
from reproaudit.reports.screen import paper_lines, print_screen
from reproaudit.running.cores import available_cores
from reproaudit.running.groups import todays_groups
from reproaudit.running.shipped import FILE_NAME, TAKE_AGAIN, unpack_records
from reproaudit.running.store import Store
from reproaudit.scorecard.from_store import has_records, scorecard_of
from reproaudit.scorecard.model import Scorecard

MOST_IN_ONE_PROCESS = 8
"""Of more papers, every core takes its share."""


@dataclass(frozen=True)
class ReportRequest:
    """The arguments of `reproaudit report`.

    Attributes:
        entries: the papers.
        store: the folder of records.
        tier: the tier to report; None for the highest that a paper has.
        out: the report folder.
        formats: the formats to write and print.
        as_json: whether to print JSON instead of the scorecards.
        group: the beginning of the id of the group of records to show; None for today's.
        go_on: whether a paper that cannot be shown leaves the others to be shown.
        details: whether to print everything before every claim on one line.
    """

    entries: Sequence[Entry]
    store: Path
    tier: TierName | None
    out: Path
    formats: frozenset[str]
    as_json: bool
    group: str | None
    go_on: bool
    details: bool


@dataclass(frozen=True)
class PaperReport:
    """A paper, judged and written.

    Attributes:
        card: its scorecard; None if there is nothing to report, or an error.
        written: its files.
        said: the text for standard error.
        error: why it cannot be shown.
    """

    card: Scorecard | None = None
    written: tuple[Path, ...] = ()
    said: str = ""
    error: AuditError | None = None


def report_papers(request: ReportRequest, fail_on: frozenset[str]) -> int:
    """Writes the reports of papers, then prints them; returns the exit code.

    Args:
        request: the papers, and what to write and print of them.
        fail_on: the verdicts and decisions of a claim that make the exit code 1.

    Raises:
        AuditError: if a paper cannot be shown, and the others are not to be shown without it.
        UsageError: if no paper has anything to report.
    """
    cards: list[Scorecard] = []
    written: list[Path] = []
    errors: list[tuple[str, AuditError]] = []
    for entry, one in zip(request.entries, _reports(request), strict=True):
        sys.stderr.write(one.said)
        if one.error is not None and not request.go_on:
            raise one.error
        if one.error is not None:
            errors.append((entry.slug, one.error))
        if one.card is not None:
            cards.append(one.card)
            written += one.written
    if not cards and not errors:
        raise _nothing_to_report(request.entries, request.store, request.tier, request.out)
    if "html" in request.formats:
        written += write_register(cards, request.out)
    _print(request, cards, written)
    for slug, error in errors:
        say(f"{slug}: {error}", stderr=True, style="red")
    if errors:
        return errors[0][1].exit_code
    claims = [claim for card in cards for claim in card.claims]
    outcomes = {one.value for claim in claims for one in (claim.verdict, claim.decision) if one}
    return int(not fail_on.isdisjoint(outcomes))


def _print(request: ReportRequest, cards: Sequence[Scorecard], written: Sequence[Path]) -> None:
    if request.as_json:
        print_scorecards(cards)
    elif TERMINAL in request.formats:
        show_scorecards(cards, written, request.details)
        return
    _say_written(written, request.as_json)


# --- several papers -----------------------------------------------------------------------------


def _reports(request: ReportRequest) -> Iterator[PaperReport]:
    """Yields the papers' reports in their order."""
    report = partial(_report_of, request)
    if len(request.entries) <= MOST_IN_ONE_PROCESS or available_cores() == 1:
        yield from map(report, request.entries)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(available_cores(), context, _follow_the_command, (os.getcwd(),))
    try:
        yield from pool.map(report, request.entries)
    except BrokenProcessPool as error:
        raise TechnicalError(
            "a process that judged a paper was ended from outside, perhaps for want of memory. "
            "What it had written is whole; report fewer papers at once, by name."
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _follow_the_command(folder: str) -> None:
    """Works where the command works, leaves Ctrl-C to it, and ends when it is killed."""
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_the_command, daemon=True).start()


def _end_with_the_command() -> None:
    command = multiprocessing.parent_process()
    if command is not None:
        command.join()
        os._exit(1)


# --- one paper ----------------------------------------------------------------------------------


def _report_of(request: ReportRequest, entry: Entry) -> PaperReport:
    """Judges a paper and writes its pages; what is wrong with it is part of the answer."""
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            card = scorecard_of_paper(
                entry, Store(request.store), request.tier, request.out, request.group
            )
    except AuditError as error:
        return PaperReport(said=said.getvalue(), error=error)
    if card is None:
        return PaperReport(said=said.getvalue())
    written = write_report(card, request.out, request.formats - {TERMINAL})
    return PaperReport(card, written, said.getvalue())


def scorecard_of_paper(
    entry: Entry, store: Store, tier: TierName | None, out: Path, group: str | None = None
) -> Scorecard | None:
    """A paper's scorecard: from its records, else from the report folder; None if it has neither.

    Args:
        entry: the paper.
        store: its records.
        tier: the tier; None for the highest that the paper has.
        out: the report folder.
        group: the beginning of the id of the group of records to show; None for today's.

    Raises:
        AuditError: if it cannot be shown, as where two groups of records may be meant.
    """
    audit = entry.audit()
    if not audit.claims:
        return scorecard_of(store, audit, tier or "quick")  # documentation is all it has
    for one in [tier] if tier else reversed(TIERS):
        kept_as = stored_tier(entry, one)
        if has_records(store, entry.slug, kept_as):
            return scorecard_of(store, audit, one, today=todays_groups(entry.code), wanted=group)
        # what was shipped lies beside the store, wherever the new pages go
        for reports in (out, store.root.parent / "reports"):
            folder = reports / kept_as / entry.slug
            if (folder / FILE_NAME).is_file():
                return _from_archive(entry, audit, one, folder / FILE_NAME, group)
            if (folder / "scorecard.json").is_file():
                return read_scorecard(folder / "scorecard.json")
    return None


def _from_archive(
    entry: Entry, audit: Audit, tier: TierName, file: Path, group: str | None
) -> Scorecard:
    """The scorecard from the records that lie in the report folder, judged today."""
    with scratch_folder() as folder:
        store = unpack_records(file, folder)
        # alternatives decide, too: without those that flip a claim it would come out better
        there = [*store.listed(entry.slug, stored_tier(audit, tier)).values()]
        there += store.listed(entry.slug, varied_tier(tier)).values()
        if missing := len(there) - sum(there):
            say(
                f"{file}: lacks {missing} of the {len(there)} records of this tier and its "
                f"alternatives that its list names. {TAKE_AGAIN}",
                stderr=True,
            )
        seeds = {record.seed for record in store.records(entry.slug, tier)}
        if seeds.issuperset(own := range(len(audit.seeds.paper))):  # made by version 0.1
            audit = audit.with_seeds({"paper": tuple(own)})
        card = scorecard_of(store, audit, tier, today=todays_groups(entry.code), wanted=group)
    return card.model_copy(update={"shipped": True})


# --- printing -----------------------------------------------------------------------------------


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
        for one in scorecards:
            show(scorecard_document(one))
        say("")
        _say_written(written, as_json=False)
    name = PAGE if len(scorecards) > 1 else "scorecard.html"
    pages = [path for path in written if path.name == name]
    print_screen([paper_lines(one) for one in scorecards], terminal(), pages)
