"""Prints scorecards: the lines of each, what is of all papers, and the files that were written."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from reproaudit.audit.plan import cells_of_alternatives
from reproaudit.cli.output import columns, present, say
from reproaudit.formats.numbers import counted
from reproaudit.report.making import as_written_words
from reproaudit.report.parts import closing
from reproaudit.report.register import PAGE
from reproaudit.report.terminal import detail_lines, report_lines, run_lines
from reproaudit.service.report import scorecards_data

if TYPE_CHECKING:
    from reproaudit.formats.scorecard import Scorecard
    from reproaudit.service.report import ReportedPapers
    from reproaudit.service.run import Ran


def show_reports(
    reported: ReportedPapers, *, prints: bool, one_screen: bool, verbose: bool, as_json: bool
) -> None:
    """Print the reports of papers, if wanted, the files, and why others could not be shown."""
    cards = reported.scorecards
    lines = _lines_of(cards, one_screen, verbose, reported.scales) if prints else ()
    present(scorecards_data(cards) if as_json else None, lines, as_json)
    _say_written(reported.written, as_json)
    if count := len(reported.unchanged):
        say(f"{counted(count, 'file')} {'is' if count == 1 else 'are'} of today", stderr=as_json)
    if prints and not as_json:
        _say_next(cards, (*reported.written, *reported.unchanged))
    for card in cards if as_json or not prints else ():
        if words := as_written_words(card):
            say(f"{card.paper.slug}: {words}", stderr=True, style="yellow")
    for slug, error in reported.errors.items():
        say(f"{slug}: {error}", stderr=True, style="red")


class RunPrinter:
    """Prints each paper when it is judged, the progress paused, unless all are printed as JSON."""

    def __init__(
        self,
        as_json: bool,
        verbose: bool,
        paused: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._as_json = as_json
        self._verbose = verbose
        self._paused = paused
        self._count = 0

    def add(self, card: Scorecard) -> None:
        """Print a paper's paragraph and a line for each claim."""
        if not self._as_json:
            between = [""] if self._count else []
            with self._paused():
                present(None, [*between, *_lines_of([card], True, self._verbose)], False)
        self._count += 1

    def close(self, ran: Ran) -> None:
        """Print what is of all papers; a StoreError if pages could not be written."""
        for sentence in ran.left:
            say(sentence, stderr=True)
        if self._as_json:
            present(scorecards_data(ran.scorecards), (), True)
        else:
            present(None, _lines_of_all(ran.scorecards), False)
        _say_written([path for path in ran.written if path.suffix == ".html"], self._as_json)
        if not self._as_json:
            _say_next(ran.scorecards, ran.written)
        if ran.errors:
            raise ran.errors[0]


def _lines_of(
    scorecards: Sequence[Scorecard],
    one_screen: bool,
    verbose: bool,
    scales: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    width = columns()
    for number, card in enumerate(scorecards):
        if number:
            yield ""
        if by_scale := scales.get(card.paper.slug):
            yield f"{card.paper.slug}, {by_scale}"
        yield from run_lines(card, width) if one_screen else report_lines(card, width)
        if verbose:
            yield from detail_lines(card, width)
    yield from _lines_of_all(scorecards)


def _lines_of_all(scorecards: Sequence[Scorecard]) -> Iterator[str]:
    if len(scorecards) > 1:
        yield ""
        yield closing(sum((Counter(card.head.counts.paper) for card in scorecards), Counter()))


def _say_written(written: Sequence[Path], as_json: bool) -> None:
    """Print the files that were written; those of several papers are counted."""
    if len({path.parent for path in written if path.name != PAGE}) > 1:
        folder = os.path.commonpath([path.parent for path in written])
        say(f"wrote {len(written)} files below {folder}", stderr=as_json)
        written = [path for path in written if path.name == PAGE]
    for path in written:
        say(f"wrote {path}", stderr=as_json)


def _say_next(scorecards: Sequence[Scorecard], written: Sequence[Path]) -> None:
    """Print the page to open and, of one paper, the next command."""
    several = len(scorecards) > 1
    pages = [path for path in written if path.suffix == ".html" and (path.name == PAGE) is several]
    for path in pages[:1]:
        say(f"open: {path}")
    for command in [*filter(None, map(_next_command, scorecards))] if not several else ():
        say(f"next: {command}")


def _next_command(card: Scorecard) -> str:
    """Return the next command with its cells, and its minutes where they are known; '' for none.

    The minutes are those of this scorecard's runs, which are of the same size at the quick tier.
    """
    untried = any(value.guess and not value.cells for value in card.tried)
    if not untried or card.origin is not None or card.tier not in ("quick", "paper"):
        return ""
    cells = counted(len(cells_of_alternatives(card.audit, "quick")), "cell")
    minutes = ""
    if card.tier == "quick" and card.records.count:
        each = card.records.seconds / card.records.count / 60
        whole = each * len(cells_of_alternatives(card.audit, "quick"))
        minutes = f", about {whole:.1f} core-minutes"
    return f"reproaudit multiverse {card.slug} ({cells}{minutes})"
