"""`reproaudit report`: the scorecards of many papers, their pages and the register.

What a report is made of is noted in the user's cache by the sizes and times of the files, as
``make`` does it: the program's and its packages', the audit's, the records' and the pages'. A
report of the same files, by the same program, into the same folder is made already.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TierName
from reproaudit.errors import AuditError, StoreError, UsageError
from reproaudit.files import write_whole
from reproaudit.formats.scorecard import Scorecard
from reproaudit.report.files import FORMATS, PAGES, TERMINAL, json_data
from reproaudit.repositories.requirements import cache_of
from reproaudit.scorecard.answers import scorecards_by_scale, scorecards_of_paper
from reproaudit.scorecard.files import SCORECARD, folder_of, read_scorecard
from reproaudit.service.listing import scales_words
from reproaudit.service.pages import registers_of, write_registers, write_report
from reproaudit.service.workspace import Workspace
from reproaudit.store.records import Store


@dataclass
class ReportedPapers:
    """The reports of papers.

    Attributes:
        scales: by slug, the line on a paper's answers at several scales; empty for a single one.
        unchanged: pages, and registers if there is nothing else, that are of today and were left.
        errors: why a paper could not be shown, by slug.
    """

    scorecards: list[Scorecard] = field(default_factory=list)
    scales: dict[str, str] = field(default_factory=dict)
    written: list[Path] = field(default_factory=list)
    unchanged: list[Path] = field(default_factory=list)
    errors: dict[str, AuditError] = field(default_factory=dict)


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
    out = workspace.pages
    wanted = frozenset(FORMATS) if formats is None else formats
    pages = tuple(sorted(wanted - {TERMINAL}))
    reported = ReportedPapers()
    made_now: list[tuple[PaperReport, MadeReport]] = []
    for entry in entries:
        report = PaperReport(entry, workspace.store, out, tier, pages, group)
        of_today = report.read()
        try:
            made = of_today or report.make()
        except AuditError as error:  # what is wrong with a paper is part of the answer
            if needs_all and len(entries) == 1:
                raise
            reported.errors[entry.slug] = error
            continue
        reported.scorecards += made.cards
        reported.scales[entry.slug] = made.scales
        if of_today:
            reported.unchanged += [
                folder_of(card, out) / PAGES[name].file for card in made.cards for name in pages
            ]
        else:
            reported.written += made.files
            made_now.append((report, made))
    if not reported.scorecards and not reported.errors:
        raise _nothing_to_report(entries, workspace.store, tier, out)
    if "html" in wanted:
        registers = registers_of(reported.scorecards, out)
        if made_now or not all(register.is_file() for register in registers):
            reported.written += write_registers(reported.scorecards, out)
        else:
            reported.unchanged += registers
    for report, made in made_now:
        report.note(made)
    return reported


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


# --- reports that are made already ----------------------------------------------------------------


@dataclass(frozen=True)
class MadeReport:
    """A paper's reports, the line on its answers at several scales, and the files, if just made."""

    cards: tuple[Scorecard, ...]
    scales: str
    files: tuple[Path, ...] = ()


@dataclass(frozen=True)
class PaperReport:
    """What is asked for of a paper's reports."""

    entry: Entry
    store: Path
    out: Path
    tier: TierName | None
    pages: tuple[str, ...]
    group: str | None

    def make(self) -> MadeReport:
        """Judge the records and write the pages; an AuditError if the paper cannot be shown."""
        audit = self.entry.audit()
        store = Store(self.store)
        cards = scorecards_of_paper(self.entry, audit, store, self.tier, self.out, self.group)
        by_scale = cards
        if self.tier is None and len(cards) == 1:
            by_scale = scorecards_by_scale(self.entry, audit, store, self.out, cards[0])
        files = [path for card in cards for path in write_report(card, self.out, self.pages)]
        scales = scales_words(by_scale) if len(by_scale) > len(cards) else ""
        return MadeReport(cards, scales, tuple(files))

    def read(self) -> MadeReport | None:
        """Return the reports if they are of today; None if anything has changed."""
        with suppress(OSError, ValueError, KeyError, StoreError):
            note = json.loads(self._file.read_text("utf-8"))
            if note["made_of"] == self._made_of():
                cards = tuple(read_scorecard(Path(file)) for file in note["cards"])
                return MadeReport(cards, note["scales"])
        return None

    def note(self, made: MadeReport) -> None:
        """Note reports that have just been written, if each was judged from records of ours."""
        for card in made.cards:
            if card.inputs is None or not card.inputs.records or card.shipped:
                return
        files = [str(folder_of(card, self.out) / SCORECARD) for card in made.cards]
        note = {"made_of": self._made_of(), "cards": files, "scales": made.scales}
        with suppress(OSError):  # a cache that cannot be written costs time alone
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, json.dumps(note))

    @property
    def _file(self) -> Path:
        places = (self.entry.audit_file, self.store, self.out)
        which = [str(place.absolute()) for place in places]
        asked = (self.tier, list(self.pages), self.group)
        return cache_of("reports", repr([self.entry.slug, self.entry.salt, which, *asked]))

    def _made_of(self) -> str:
        digest = hashlib.sha256(sys.version.encode())
        for line in self._lines():
            digest.update(line.encode())
        return digest.hexdigest()

    def _lines(self) -> Iterator[str]:
        for packages in dict.fromkeys(sys.path):
            yield from sorted(map(str, Path(packages).glob("*.dist-info")))
        yield from _below(Path(__file__).parents[1])
        entry = self.entry
        own = sorted(entry.audit_file.parent.glob(f"{entry.slug}.*"))
        if entry.code is not None and not entry.code.importable:
            own += sorted(entry.code.folder.rglob("*.py"))
        for file in (entry.review_file, *own):
            yield from _stated(file)
        yield from _below(self.store / self.entry.slug)
        for file in sorted(self.store.glob("[!.]*")):
            yield from _stated(file)
        for reports in dict.fromkeys((self.out, self.store.parent / "reports")):
            for folder in sorted(reports.glob(f"*/{self.entry.slug}")):
                yield from _below(folder)


def _below(folder: Path) -> Iterator[str]:
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for name in sorted(names):
            yield from _stated(Path(path) / name)


def _stated(file: Path) -> Iterator[str]:
    """Yield a file's path, size and time; nothing of a file that is not there."""
    with suppress(OSError):
        state = file.stat()
        yield f"{file} {state.st_size} {state.st_mtime_ns}\n"
