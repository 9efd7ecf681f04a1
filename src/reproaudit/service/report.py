"""`reproaudit report`: the scorecards of many papers, their pages and the register."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import TierName
from reproaudit.errors import AuditError, StoreError, UsageError
from reproaudit.formats.scorecard import Scorecard
from reproaudit.report.files import FORMATS, TERMINAL, json_data
from reproaudit.scorecard.answers import scorecards_by_scale, scorecards_of_paper
from reproaudit.service.listing import scales_words
from reproaudit.service.pages import write_registers, write_report
from reproaudit.store.records import Store


@dataclass(frozen=True)
class WrittenReport:
    """A scorecard, the files that were written, and the line on the paper's answers by scale.

    The line is empty where there are answers at one scale alone.
    """

    card: Scorecard
    pages: tuple[Path, ...]
    scales: str


@dataclass(frozen=True)
class ReportedPapers:
    """The reports of papers.

    Attributes:
        written: the pages, then the registers.
        errors: why a paper could not be shown, by slug.
    """

    reports: tuple[WrittenReport, ...]
    written: tuple[Path, ...]
    errors: Mapping[str, AuditError]

    @property
    def scorecards(self) -> tuple[Scorecard, ...]:
        """The scorecards, in the order of the papers."""
        return tuple(report.card for report in self.reports)

    @property
    def scales(self) -> Mapping[str, str]:
        """The line on a paper's answers by scale, by slug."""
        return {report.card.paper.slug: report.scales for report in self.reports}

    @property
    def data(self) -> Any:
        """What ``--json`` prints."""
        return scorecards_data(self.scorecards)


def report_papers(
    entries: Sequence[Entry],
    store: Path,
    out: Path,
    *,
    tier: TierName | None = None,
    formats: frozenset[str] | None = None,
    group: str | None = None,
    needs_all: bool = False,
) -> ReportedPapers:
    """Write the reports of papers, in all formats if none is named.

    One of several papers that cannot be shown stops no other.

    Args:
        group: the id of the group of records to show.
        needs_all: whether a single paper that cannot be shown is an error.

    Raises:
        AuditError: if a single paper cannot be shown.
        UsageError: if no paper has anything to report.
    """
    wanted = frozenset(FORMATS) if formats is None else formats
    pages = wanted - {TERMINAL}
    reports: list[WrittenReport] = []
    errors: dict[str, AuditError] = {}
    for entry in entries:
        try:
            reports += _reports_of(entry, store, out, tier, pages, group)
        except AuditError as error:  # what is wrong with a paper is part of the answer
            if needs_all and len(entries) == 1:
                raise
            errors[entry.slug] = error
    if not reports and not errors:
        raise _nothing_to_report(entries, store, tier, out)
    written = [path for report in reports for path in report.pages]
    if "html" in wanted:
        written += write_registers([report.card for report in reports], out)
    return ReportedPapers(tuple(reports), tuple(written), errors)


def _reports_of(
    entry: Entry,
    store: Path,
    out: Path,
    tier: TierName | None,
    pages: frozenset[str],
    group: str | None,
) -> list[WrittenReport]:
    audit = entry.audit()
    cards = scorecards_of_paper(entry, audit, Store(store), tier, out, group)
    scales = ""
    if tier is None and len(cards) == 1:
        by_scale = scorecards_by_scale(entry, audit, Store(store), out, cards[0])
        scales = scales_words(by_scale) if len(by_scale) > 1 else ""
    return [WrittenReport(card, write_report(card, out, pages), scales) for card in cards]


@dataclass
class RunPages:
    """The pages of papers that are run. What cannot be written stops nothing else."""

    out: Path
    written: list[Path] = field(default_factory=list)
    errors: list[StoreError] = field(default_factory=list)

    def add(self, card: Scorecard) -> None:
        """Write a paper's pages."""
        self._keep(lambda: write_report(card, self.out))

    def close(self, cards: Sequence[Scorecard]) -> None:
        """Write the registers."""
        self._keep(lambda: write_registers(cards, self.out))

    def _keep(self, write: Callable[[], Iterable[Path]]) -> None:
        try:
            self.written += write()
        except StoreError as error:
            self.errors.append(error)


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
