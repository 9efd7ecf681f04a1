"""`reproaudit report`: the scorecards of many papers, their pages and the register."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TierName
from reproaudit.cli.output import present, say
from reproaudit.errors import AuditError, StoreError, UsageError
from reproaudit.formats.scorecard import Scorecard
from reproaudit.report.files import FORMATS, TERMINAL, json_data
from reproaudit.report.outline import as_written_words
from reproaudit.report.register import PAGE
from reproaudit.report.screen import closing
from reproaudit.report.terminal import detail_lines, report_lines, run_lines
from reproaudit.scorecard.answers import scorecards_by_scale, scorecards_of_paper
from reproaudit.service.listing import scales_words
from reproaudit.service.pages import write_registers, write_report
from reproaudit.store.records import Store


def report_papers(
    entries: Sequence[Entry],
    store: Path,
    out: Path,
    *,
    tier: TierName | None = None,
    formats: frozenset[str] | None = None,
    group: str | None = None,
    one_screen: bool = False,
    verbose: bool = False,
    as_json: bool = False,
) -> tuple[list[Scorecard], int]:
    """Write the reports of papers and print them, in all formats if none is named.

    Of several papers one that cannot be shown stops no other. With `one_screen` each claim is
    printed on a line, with `verbose` every arm, too.

    Returns:
        The scorecards, and the exit code: 0 if all could be shown.

    Raises:
        AuditError: if a single paper cannot be shown.
        UsageError: if no paper has anything to report.
    """
    wanted = frozenset(FORMATS) if formats is None else formats
    pages = wanted - {TERMINAL}
    found = [_report_of(entry, store, out, tier, pages, group) for entry in entries]
    of_slugs = zip(entries, found, strict=True)
    errors = [(entry.slug, one) for entry, one in of_slugs if isinstance(one, AuditError)]
    if errors and len(entries) == 1 and not one_screen:
        raise errors[0][1]
    reports = [each for one in found if isinstance(one, list) for each in one]
    scales = {one.card.paper.slug: one.scales for one in reports}
    if not reports and not errors:
        raise _nothing_to_report(entries, store, tier, out)
    cards = [one.card for one in reports]
    written = [path for one in reports for path in one.pages]
    if "html" in wanted:
        written += write_registers(cards, out)
    lines = _lines_of(cards, one_screen, verbose, scales) if TERMINAL in wanted else ()
    present(_data_of(cards) if as_json else None, lines, as_json)
    _say_written(written, as_json)
    for card in cards if as_json or TERMINAL not in wanted else ():
        if said := as_written_words(card):
            say(f"{card.paper.slug}: {said}", stderr=True, style="yellow")
    for slug, error in errors:
        say(f"{slug}: {error}", stderr=True, style="red")
    return cards, errors[0][1].exit_code if errors else 0


class WrittenReport(NamedTuple):
    """A scorecard, the files that were written, and the line on the paper's answers by scale.

    The line is empty where there are answers at one scale alone.
    """

    card: Scorecard
    pages: tuple[Path, ...]
    scales: str


PaperReport = list[WrittenReport] | AuditError
"""The reports on a paper, or why there is none."""


def _report_of(
    entry: Entry,
    store: Path,
    out: Path,
    tier: TierName | None,
    pages: frozenset[str],
    group: str | None,
) -> PaperReport:
    """Judge a paper and write its pages; what is wrong with it is part of the answer."""
    try:
        audit = entry.audit()
        cards = scorecards_of_paper(entry, audit, Store(store), tier, out, group)
    except AuditError as error:
        return error
    scales = ""
    if tier is None and len(cards) == 1:
        by_scale = scorecards_by_scale(entry, audit, Store(store), out, cards[0])
        scales = scales_words(by_scale) if len(by_scale) > 1 else ""
    return [WrittenReport(card, write_report(card, out, pages), scales) for card in cards]


class ShownRun:
    """Writes the pages of papers that were run, and prints the paragraph and a line a claim.

    What cannot be written stops nothing that can be printed.
    """

    def __init__(self, out: Path, as_json: bool, verbose: bool) -> None:
        self._out = out
        self._as_json = as_json
        self._verbose = verbose
        self._written: list[Path] = []
        self._errors: list[StoreError] = []
        self._count = 0

    def add(self, card: Scorecard) -> None:
        """Write a paper's pages, and print its lines unless all are printed as JSON in the end."""
        self._keep(lambda: write_report(card, self._out))
        if not self._as_json:
            between = [""] if self._count else []
            present(None, [*between, *_lines_of([card], True, self._verbose)], False)
        self._count += 1

    def close(self, cards: Sequence[Scorecard]) -> None:
        """Write the registers, and print what is of all papers.

        Raises:
            StoreError: if pages could not be written.
        """
        self._keep(lambda: write_registers(cards, self._out))
        if self._as_json:
            present(_data_of(cards), (), True)
        else:
            present(None, _lines_of_all(cards), False)
        pages = [path for path in self._written if path.suffix == ".html"]
        _say_written(pages, self._as_json)
        if self._errors:
            raise self._errors[0]

    def _keep(self, write: Callable[[], Iterable[Path]]) -> None:
        try:
            self._written += write()
        except StoreError as error:
            self._errors.append(error)


def _data_of(scorecards: Sequence[Scorecard]) -> Any:
    """An object of one scorecard, a list of several."""
    several = [*map(json_data, scorecards)]
    return several[0] if len(several) == 1 else several


def _lines_of(
    scorecards: Sequence[Scorecard],
    one_screen: bool,
    verbose: bool,
    scales: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    for place, one in enumerate(scorecards):
        if place:
            yield ""
        if by_scale := scales.get(one.paper.slug):
            yield f"{one.paper.slug}, {by_scale}"
        yield from run_lines(one) if one_screen else report_lines(one)
        if verbose:
            yield from detail_lines(one)
    yield from _lines_of_all(scorecards)


def _lines_of_all(scorecards: Sequence[Scorecard]) -> Iterator[str]:
    if len(scorecards) > 1:
        yield ""
        yield closing([claim for card in scorecards for claim in card.of_paper])


def _say_written(written: Sequence[Path], as_json: bool) -> None:
    """Prints the files that were written; of several papers, their number and the registers."""
    if len({path.parent for path in written if path.name != PAGE}) > 1:
        folder = os.path.commonpath([path.parent for path in written])
        say(f"wrote {len(written)} files below {folder}", stderr=as_json)
        written = [path for path in written if path.name == PAGE]
    for path in written:
        say(f"wrote {path}", stderr=as_json)


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
