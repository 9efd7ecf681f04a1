"""`reproaudit report`: for each paper its records, its scorecard and its pages; then the register.

A paper's records are those of the store. Where it has none of a tier, those of the archive in the
report folder are judged. Where there is no archive either, the `scorecard.json` there is shown as
it was written.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TierName
from reproaudit.commands.answers import scorecard_of_paper
from reproaudit.commands.output import print_json, say, say_written, show
from reproaudit.commands.unchanged import keep_lines
from reproaudit.errors import AuditError, TechnicalError, UsageError
from reproaudit.report.files import TERMINAL, write_report
from reproaudit.report.model import Scorecard
from reproaudit.report.paragraph import closing
from reproaudit.report.register import PAGE, write_register
from reproaudit.report.terminal import detail_lines, report_lines, run_lines
from reproaudit.running.cores import available_cores
from reproaudit.running.store import Store

MOST_IN_ONE_PROCESS = 8
"""Of more papers, every core takes its share."""


@dataclass(frozen=True)
class ReportRequest:
    """The options of `reproaudit report`.

    Attributes:
        entries: the papers.
        store: the folder of records.
        tier: the tier to report; None for the highest that a paper has.
        out: the report folder.
        formats: the formats to write and print.
        as_json: whether to print JSON instead of the scorecards.
        group: the beginning of the id of the group of records to show; None for today's.
        go_on: whether a paper that cannot be shown leaves the others to be shown.
        details: whether to print whole reports, or a line for each claim.
        verbose: whether to print every arm, too.
        memo: the options, if what is printed is kept for the same report again.
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
    verbose: bool = False
    memo: str | None = None


PaperReport = tuple[Scorecard, tuple[Path, ...]] | AuditError | None
"""A paper's scorecard with the files that were written, why there is none, or nothing to report."""


def report_papers(request: ReportRequest, fail_on: frozenset[str]) -> int:
    """Write the reports of papers, then print them; return the exit code.

    Args:
        request: the papers, and what to write and print of them.
        fail_on: the outcomes of a claim that make the exit code 1.

    Raises:
        AuditError: if a paper cannot be shown, and the others are not to be shown without it.
        UsageError: if no paper has anything to report.
    """
    cards: list[Scorecard] = []
    written: list[Path] = []
    lines: list[str] = []
    errors: list[tuple[str, AuditError]] = []
    for entry, one in zip(request.entries, _reports(request), strict=True):
        if isinstance(one, AuditError):
            if not request.go_on:
                raise one
            errors.append((entry.slug, one))
        elif one is not None:
            cards.append(one[0])
            written += one[1]
    if not cards and not errors:
        raise _nothing_to_report(request.entries, request.store, request.tier, request.out)
    if "html" in request.formats:
        written += write_register(cards, request.out)
    if request.as_json:
        print_scorecards(cards)
    elif TERMINAL in request.formats:
        lines = list(scorecard_lines(cards, request.details, request.verbose))
        show(lines)
    _say_written(written, request.as_json)
    for slug, error in errors:
        say(f"{slug}: {error}", stderr=True, style="red")
    if errors:
        return errors[0][1].exit_code
    if request.memo is not None:
        keep_lines(request.entries, request.memo, request.store, request.out, lines)
    found = {claim.outcome for card in cards for claim in card.claims}
    return int(not fail_on.isdisjoint(found))


def _reports(request: ReportRequest) -> Iterator[PaperReport]:
    """The papers' reports in their order."""
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
    """Work where the command works, leave Ctrl-C to it, and end when it is killed."""
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_the_command, daemon=True).start()


def _end_with_the_command() -> None:
    command = multiprocessing.parent_process()
    if command is not None:
        command.join()
        os._exit(1)


def _report_of(request: ReportRequest, entry: Entry) -> PaperReport:
    """Judge a paper and write its pages; what is wrong with it is part of the answer."""
    store = Store(request.store)
    try:
        card = scorecard_of_paper(entry, store, request.tier, request.out, request.group)
    except AuditError as error:
        return error
    if card is None:
        return None
    return card, write_report(card, request.out, request.formats - {TERMINAL})


# --- printing -----------------------------------------------------------------------------------


def finish_run(scorecards: Sequence[Scorecard], out: Path, as_json: bool, verbose: bool) -> None:
    """Write the pages of papers that were run, and print the paragraph and a line a claim.

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
        else:
            show(scorecard_lines(scorecards, details=False, verbose=verbose))
        _say_written([path for path in written if path.suffix == ".html"], as_json)


def _say_written(written: Sequence[Path], as_json: bool) -> None:
    """Prints the files that were written; of several papers, their number and the registers."""
    registers = [path for path in written if path.name == PAGE]
    if len({path.parent for path in written if path.name != PAGE}) > 1:
        folder = os.path.commonpath([path.parent for path in written])
        say(f"wrote {len(written)} files below {folder}", stderr=as_json)
        written = registers
    say_written(written, as_json=as_json)


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
    several = [one.model_dump(mode="json", by_alias=True) for one in scorecards]
    print_json(several[0] if len(several) == 1 else several)


def scorecard_lines(scorecards: Sequence[Scorecard], details: bool, verbose: bool) -> Iterator[str]:
    """Yield whole reports, or a line for each claim; verbose, every arm too."""
    for place, one in enumerate(scorecards):
        if place:
            yield ""
        yield from report_lines(one) if details else run_lines(one)
        if verbose:
            yield from detail_lines(one)
    if len(scorecards) > 1:
        yield ""
        yield closing([claim for one in scorecards for claim in one.claims])
