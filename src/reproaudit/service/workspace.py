"""One object with a method for each command: what every shell is written over.

A method prints nothing, asks through callbacks and returns a model, whose ``data`` is what the
command line prints with ``--json``. What a method needs is imported when it is called, so that
every shell starts at once and without torch.
"""

from __future__ import annotations

import builtins
import math
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproaudit.audit.catalog import Catalog, Entry, entry_of
from reproaudit.audit.model import TIERS, Audit, TierName
from reproaudit.cell import RunForm
from reproaudit.errors import UsageError
from reproaudit.files import same_place
from reproaudit.service.events import ignored
from reproaudit.service.permission import NOT_GIVEN, Permission

if TYPE_CHECKING:
    from collections.abc import Callable

    from reproaudit.formats.scorecard import Scorecard
    from reproaudit.intake.reading import Submission
    from reproaudit.report.diff import Comparison
    from reproaudit.run.executors.engines import Engine
    from reproaudit.service.adopt import CodeComparison, Prepared
    from reproaudit.service.check import Checked
    from reproaudit.service.events import OnWork
    from reproaudit.service.export import Exports
    from reproaudit.service.judge import Imported, Judged
    from reproaudit.service.listing import Listed
    from reproaudit.service.merge import Merged
    from reproaudit.service.new import Draft
    from reproaudit.service.plan import Plan
    from reproaudit.service.report import ReportedPapers
    from reproaudit.service.review_files import Reviewed
    from reproaudit.service.run import CustomRun, How, Ran
    from reproaudit.service.status import TierState
    from reproaudit.service.upgrade import Upgrades
    from reproaudit.service.verify import Pruned, Verified
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

    # --- papers

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

        Args:
            shipped: whether papers outside the folder of audits are meant.

        Raises:
            UsageError: if there is no such paper, or a salt without the paper tier.
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

    # --- audits

    def list(self) -> Listed:
        """Return every paper with what is documented of it, and its last answers."""
        from reproaudit.service.listing import summaries_of

        return summaries_of(self.select(everything=True), self.store, self.pages)

    def check(
        self,
        named: Sequence[str] = (),
        *,
        run: bool = False,
        permission: Permission = NOT_GIVEN,
    ) -> Checked:
        """Return every fault of audits; arguments and errors are those of `check_audits`."""
        from reproaudit.service.check import check_audits

        return check_audits(named, self.catalog, run=run, permission=permission)

    def upgrade(self, named: Sequence[str]) -> Upgrades:
        """Write audits in the short form; arguments and errors are those of `upgrade_audits`."""
        from reproaudit.service.upgrade import upgrade_audits

        return upgrade_audits(named, self.catalog)

    def new(
        self,
        slug: str,
        *,
        card: Path | None = None,
        checklist: Path | None = None,
        claims: Path | None = None,
        results: Sequence[Path] = (),
        force: bool = False,
    ) -> Draft:
        """Draft an audit, with a module or for results, in the folder of audits.

        That is ``audits`` if none is named.

        Arguments and errors are those of `reproaudit.service.new.draft`.
        """
        from reproaudit.service.new import draft

        return draft(
            slug,
            self.audits or Path("audits"),
            card,
            checklist,
            claims_file=claims,
            results=results,
            force=force,
        )

    def plan(self, paper: PaperLike, tier: TierName | None = None) -> Plan:
        """Return what will decide each claim and what must run; errors are as of `plan_audit`."""
        from reproaudit.service.plan import plan_audit

        return plan_audit(self.entry(paper), self.audit(paper), tier, self.records, self.pages)

    def files_to_review(self, paper: PaperLike) -> tuple[Path, Path, builtins.list[Path]]:
        """Return the audit, its review file, and the copies that were made of these."""
        from reproaudit.service.review_files import files_to_review

        return files_to_review(self.entry(paper))

    def review(
        self,
        paper: PaperLike,
        reviewer: str,
        orders: Sequence[str] = (),
        *,
        note: str | None = None,
        sign: bool = False,
        tier: TierName | None = None,
    ) -> Reviewed:
        """Write what a reviewer decides, a note on the present answers, or that they sign off.

        Args:
            orders: such as ``Dataset Splits=disagree: REASON``.
            note: the reviewer's opinion.
            tier: the tier of the answers that the note is on; the highest that has some if None.

        Raises:
            UsageError: if nobody reviews, an order cannot be carried out, or a note not written.
            SpecError: if the audit or the review file has faults.
        """
        from reproaudit.service.review_files import (
            Reviewed,
            named_reviewer,
            note_for,
            review_audit,
        )

        entry = self.entry(paper)
        who = named_reviewer(reviewer)
        signed = None if note is None else note_for(note, entry, self.answered(entry, tier))
        audit_file, file, _ = self.files_to_review(entry)
        diff = review_audit(audit_file, file, who, orders, sign, signed)
        show = self.command_to_show(entry.slug, tier)
        return Reviewed(file=file, changed=bool(diff), diff=diff, show=show)

    def answered(self, paper: PaperLike, tier: TierName | None = None) -> Scorecard | None:
        """Return the answers that a note is written for; None if there are none."""
        from reproaudit.scorecard.answers import scorecard_of_paper

        entry = self.entry(paper)
        here = (entry, entry.audit(), self.records, tier, self.pages)
        return scorecard_of_paper(*here, judge_shipped=False)

    def command_to_show(self, slug: str, tier: TierName | None = None) -> str:
        """Return the command that shows a paper's page."""
        store = None if self.store == Path("runs") else self.store
        options = {"tier": tier, "store": store, "out": self.reports, "audits": self.audits}
        given = [(f"--{name}", str(value)) for name, value in options.items() if value is not None]
        return shlex.join(["reproaudit", "report", slug, *chain.from_iterable(given)])

    # --- measuring

    def how(
        self,
        device: str = "auto",
        jobs: int | None = None,
        seconds: float | None = None,
        memory: float | None = None,
        data: Path | None = None,
        fresh: bool = False,
        form: RunForm = "fast",
        engine: Engine | None = None,
        shard: tuple[int, int] | None = None,
        leave: bool = False,
        budget: float | None = None,
    ) -> How:
        """Return how cells are run into this store; see `How`.

        Args:
            budget: the seconds from now after which no cell is started.
        """
        from reproaudit.service.run import How

        until = math.inf if budget is None else time.monotonic() + budget
        here = (self.records, device, jobs, seconds, memory, data, fresh, form)
        return How(*here, engine, shard, leave, until)

    def run(
        self,
        papers: Sequence[PaperLike],
        tier: TierName = "quick",
        *,
        claims: Sequence[str] = (),
        how: How | None = None,
        cheapest: bool = False,
        writes: bool = True,
        permission: Permission = NOT_GIVEN,
        on_event: OnWork = ignored,
        on_card: Callable[[Scorecard], object] = ignored,
    ) -> Ran:
        """Run what is missing of a tier, judge it, and write the pages.

        Args:
            claims: the ids of the claims to run for, with a single paper; every claim if none.
            how: where and how cells are run; see `how`.
            cheapest: whether the cheapest paper is run first; the answers stay in order.
            writes: whether pages are written.
            permission: the consent to the papers' code.
            on_event: takes what happens meanwhile.
            on_card: takes each scorecard when it is there.

        Raises:
            ConsentError: if code may not run.
            UsageError: if there is no such paper or claim.
            AuditError: if a paper cannot be judged; only when all that can be has been.
        """
        from reproaudit.service.run import run_papers

        chosen, given = self._allowed(papers, how, permission)
        return run_papers(
            chosen,
            tier,
            given,
            claims=claims,
            cheapest=cheapest,
            pages=self.pages if writes else None,
            on_event=on_event,
            on_card=on_card,
        )

    def run_custom(
        self,
        papers: Sequence[PaperLike],
        tier: TierName = "quick",
        seeds: Sequence[int] | None = None,
        experiments: Sequence[str] = (),
        settings: Sequence[str] = (),
        *,
        how: How | None = None,
        permission: Permission = NOT_GIVEN,
        on_event: OnWork = ignored,
    ) -> CustomRun:
        """Run cells that depart from a tier's rule; nothing is judged.

        The other arguments are those of `run`.

        Args:
            seeds: instead of the tier's.
            experiments: of every paper; all if none.
            settings: other values, such as ``steps=100`` or ``sparse.steps=100``.

        Raises:
            UsageError: on an experiment or a setting that an audit does not have.
        """
        from reproaudit.service.run import run_custom

        chosen, given = self._allowed(papers, how, permission)
        return run_custom(chosen, tier, given, seeds, experiments, settings, on_event)

    def multiverse(
        self,
        paper: PaperLike,
        tier: TierName = "quick",
        *,
        how: How | None = None,
        permission: Permission = NOT_GIVEN,
        on_event: OnWork = ignored,
    ) -> Ran:
        """Run a tier and the alternatives of what nobody states, judge all, and write the pages.

        Arguments and errors are those of `run`.
        """
        from reproaudit.service.run import run_papers

        chosen, given = self._allowed([paper], how, permission)
        return run_papers(
            chosen, tier, given, alternatives=True, pages=self.pages, on_event=on_event
        )

    def status(
        self,
        papers: Sequence[PaperLike],
        tier: TierName = "quick",
        *,
        how: How | None = None,
        permission: Permission = NOT_GIVEN,
    ) -> TierState:
        """Return what of a tier is done, what runs where and what failed; nothing is run.

        Arguments and errors are those of `run`.
        """
        from reproaudit.service.status import state_of

        chosen, given = self._allowed(papers, how, permission)
        return state_of(chosen, tier, given)

    def adopt(
        self,
        paper: PaperLike,
        *,
        old: str | None = None,
        how: How | None = None,
        permission: Permission = NOT_GIVEN,
        on_event: OnWork = ignored,
    ) -> CodeComparison:
        """Compare today's code with that of old records, and note where both give the same bits.

        Other arguments are those of `run`, errors those of `adopt_code`.

        Args:
            old: the beginning of the digest of the old code; that of most records if None.
        """
        from reproaudit.service.adopt import adopt_code

        ((entry, audit),), given = self._allowed([paper], how, permission)
        return adopt_code(entry, audit, given, self.pages, old, on_event)

    def prepare(
        self,
        paper: PaperLike,
        *,
        how: How | None = None,
        permission: Permission = NOT_GIVEN,
        on_event: OnWork = ignored,
    ) -> Prepared:
        """Measure with today's code what an adoption of later code compares with; see `adopt`."""
        from reproaudit.service.adopt import prepare

        ((entry, audit),), given = self._allowed([paper], how, permission)
        return prepare(entry, audit, given, self.pages, on_event)

    # --- the store

    def verify(
        self,
        slugs: Sequence[str] = (),
        *,
        recompute: int = 0,
        repair: bool = False,
        permission: Permission = NOT_GIVEN,
        on_event: OnWork = ignored,
    ) -> Verified:
        """Read the whole store; arguments and errors are those of `verify_store`."""
        from reproaudit.service.verify import verify_store

        return verify_store(
            self.catalog,
            self.records,
            slugs,
            recompute=recompute,
            repair=repair,
            permission=permission,
            on_event=on_event,
        )

    def merge(self, folders: Sequence[Path]) -> Merged:
        """Take over the records of other stores; arguments and errors are of `merge_stores`."""
        from reproaudit.service.merge import merge_stores
        from reproaudit.store.records import Store

        return merge_stores([Store(folder) for folder in folders], self.records)

    def prune(
        self, slugs: Sequence[str] = (), *, unfinished: bool = False, dry_run: bool = False
    ) -> Pruned:
        """Remove what no run needs; arguments and errors are those of `prune_store`."""
        from reproaudit.service.verify import prune_store

        return prune_store(self.records, slugs, unfinished=unfinished, dry_run=dry_run)

    # --- answers

    def report(
        self,
        papers: Sequence[PaperLike],
        *,
        tier: TierName | None = None,
        formats: frozenset[str] | None = None,
        group: str | None = None,
        needs_all: bool = True,
    ) -> ReportedPapers:
        """Write the pages of papers from their records; see `report_papers`."""
        from reproaudit.service.report import report_papers

        return report_papers(
            [self.entry(paper) for paper in papers],
            self.store,
            self.pages,
            tier=tier,
            formats=formats,
            group=group,
            needs_all=needs_all,
        )

    def measured_tier(self, slug: str, wanted: TierName | None = None) -> TierName | None:
        """Return the highest tier that has records, or the wanted one if it has; None if none."""
        from reproaudit.store.choosing import has_records

        tiers = [wanted] if wanted else reversed(TIERS)
        return next((tier for tier in tiers if has_records(self.records, slug, tier)), None)

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

    def judge(
        self,
        paper: PaperLike,
        measurements: Path | Submission,
        claims: Sequence[str] | None = None,
        *,
        out: Path | None = None,
    ) -> Judged:
        """Judge measurements made elsewhere; arguments and errors are as of `judge_elsewhere`.

        Args:
            out: the folder of pages; none is written if None.
        """
        from reproaudit.service.judge import judge_elsewhere, judge_folder

        entry = None if isinstance(paper, Audit) else self.entry(paper)
        reviews = None if entry is None else entry.reviews()
        audit = self.audit(paper)
        if isinstance(measurements, Path):
            file = None if entry is None else entry.audit_file
            return judge_folder(
                audit, measurements, claims, audit_file=file, reviews=reviews, pages=out
            )
        return judge_elsewhere(audit, measurements, claims, reviews, out)

    def judge_logs(
        self,
        paper: PaperLike,
        logs: Sequence[Path],
        mapping: Path | None = None,
        *,
        claims: Sequence[str] = (),
        tier: TierName | None = None,
        out: Path | None = None,
    ) -> Judged:
        """Judge logs in one step; arguments and errors are as of `service.judge.judge_logs`.

        Args:
            out: the folder of pages; none is written if None.
        """
        from reproaudit.service.judge import judge_logs

        entry = None if isinstance(paper, Audit) else self.entry(paper)
        return judge_logs(
            self.audit(paper),
            logs,
            mapping,
            audit_file=None if entry is None else entry.audit_file,
            claims=claims,
            reviews=None if entry is None else entry.reviews(),
            pages=out,
            tier=tier,
        )

    def explain(
        self, paper: PaperLike, logs: Sequence[Path], mapping: Path | None = None
    ) -> Sequence[str]:
        """Return what is seen in logs; errors are as of `intake.importing.explained_logs`."""
        from reproaudit.intake.importing import explained_logs

        return explained_logs(self.audit(paper), logs, mapping)

    def template(
        self,
        paper: PaperLike,
        folder: Path,
        tier: TierName = "paper",
        claims: Sequence[str] = (),
    ) -> tuple[Path, ...]:
        """Write a folder of measurements to be filled in; errors are as of `write_template`."""
        from reproaudit.service.judge import write_template

        return write_template(self.audit(paper), folder, tier, claims)

    def import_(
        self,
        paper: PaperLike,
        logs: Sequence[Path],
        out: Path,
        mapping: Path | None = None,
        *,
        claims: Sequence[str] = (),
        tier: TierName | None = None,
        who: str | None = None,
        source: str | None = None,
    ) -> Imported:
        """Turn logs into a folder that `judge` reads; arguments and errors of `import_logs`."""
        from reproaudit.service.judge import import_folder

        audit = self.audit(paper)
        stated = {"tier": tier, "who": who, "source": source}
        return import_folder(audit, logs, out, mapping, claims=claims, **stated)

    def export(
        self,
        paper: PaperLike,
        export_format: str,
        *,
        tier: TierName | None = None,
        out: Path | None = None,
        **signature: Any,
    ) -> Exports:
        """Write a scorecard in a standard format; arguments and errors of `export_paper`.

        Args:
            signature: what only a person can state; `ExportRequest` describes it.
        """
        from reproaudit.service.export import export_paper

        entry = self.entry(paper)
        card = partial(self.scorecard, entry, tier)
        return export_paper(entry, export_format, card, self.records, out, **signature)

    def diff(self, before: Path, after: Path) -> Comparison:
        """Return what changed between two ``scorecard.json``; a StoreError if one is none."""
        from reproaudit.report.diff import compare
        from reproaudit.scorecard.files import read_scorecard

        return compare(read_scorecard(before), read_scorecard(after))

    def _allowed(
        self, papers: Sequence[PaperLike], how: How | None, permission: Permission
    ) -> tuple[builtins.list[tuple[Entry, Audit]], How]:
        """Return papers with their audits and how they are run, once their code may run."""
        chosen = [(self.entry(paper), self.audit(paper)) for paper in papers]
        given = how or self.how()
        permission.require(entry for entry, _ in chosen)
        return chosen, given
