"""The folders that a user works in, with the papers there: what a shell hands to the service.

A function of the service prints nothing, asks through callbacks and returns a model, whose ``data``
is what the command line prints with ``--json``. A shell imports it when it is called, so that it
starts at once and without torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reproaudit.audit.catalog import Catalog, Entry, entry_of
from reproaudit.audit.model import Audit, TierName
from reproaudit.errors import UsageError
from reproaudit.files import same_place

if TYPE_CHECKING:
    from reproaudit.consent import Permission
    from reproaudit.formats.scorecard import Scorecard
    from reproaudit.store.records import Store

PaperLike = Audit | Entry | Path | str
"""An audit, an entry of a catalog, the path of an audit's YAML file, or a slug."""


@dataclass(frozen=True)
class Workspace:
    """The folders that a user works in.

    Attributes:
        audits: a folder of audits, in which slugs are looked up before the shipped ones.
        store: the folder of records.
        reports: the folder of pages; ``reports`` beside the store if None.
    """

    audits: Path | None = None
    store: Path = Path("runs")
    reports: Path | None = None

    @cached_property
    def catalog(self) -> Catalog:
        """The papers by slug."""
        return Catalog(self.audits)

    @property
    def pages(self) -> Path:
        """The folder of pages."""
        return self.store.parent / "reports" if self.reports is None else self.reports

    @cached_property
    def records(self) -> Store:
        """The store."""
        from reproaudit.store.records import Store

        return Store(self.store)

    def entry(self, paper: PaperLike) -> Entry:
        """Return where a paper's files are; a UsageError if there is no such paper or file."""
        if isinstance(paper, Entry):
            return paper
        if isinstance(paper, Audit):
            return self.catalog[paper.paper.slug]
        if isinstance(paper, str):
            return self.catalog[paper]
        if not paper.is_file():
            raise UsageError(f"{paper}: no such file. Name the audit's YAML file, or a slug.")
        return entry_of(paper)

    def audit(self, paper: PaperLike) -> Audit:
        """Return a paper's audit, an audit as it is; a SpecError lists every fault of the file."""
        return paper if isinstance(paper, Audit) else self.entry(paper).audit()

    def select(
        self,
        slugs: Sequence[str] = (),
        everything: bool = False,
        shipped: bool = True,
        salt: str | None = None,
        tier: TierName | None = None,
    ) -> tuple[Entry, ...]:
        """Return the papers of these slugs, or all; with a salt their seeds follow from it, too.

        If not `shipped`, those of the audits' folder alone. A UsageError if there is no such paper,
        or a salt without the paper tier.
        """
        entries = self.catalog.select(slugs, everything)
        if not shipped:
            own = self.audits
            entries = tuple(
                entry for entry in entries if own and same_place(entry.audit_file.parent, own)
            )
        if salt is None:
            return entries
        if tier != "paper":
            raise UsageError("--salt draws other seeds for the paper tier: give --tier paper, too.")
        return tuple(replace(entry, salt=salt) for entry in entries)

    def allowed(
        self, papers: Iterable[PaperLike], permission: Permission
    ) -> list[tuple[Entry, Audit]]:
        """Return papers with their audits, once their code may run, or raise a ConsentError."""
        chosen = [(self.entry(paper), self.audit(paper)) for paper in papers]
        permission.require(entry for entry, _ in chosen)
        return chosen

    def scorecard(self, paper: PaperLike, tier: TierName | None = None) -> Scorecard:
        """Return a scorecard from records, else a report; a UsageError if there is neither."""
        from reproaudit.scorecard.answers import scorecard_of_paper

        entry = self.entry(paper)
        card = scorecard_of_paper(entry, entry.audit(), self.records, tier, self.pages)
        if card is None:
            raise UsageError(
                f"{self.store}: no records of {entry.slug}, and no report of it in {self.pages}. "
                f"Make them with: reproaudit run {entry.slug}"
            )
        return card
