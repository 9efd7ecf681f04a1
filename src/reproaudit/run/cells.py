"""Plans cells, has those without a record computed, and writes their records."""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import astuple, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import product
from pathlib import Path
from types import MappingProxyType

import reproaudit
from reproaudit.audit.catalog import Module
from reproaudit.cell import Cell, RunForm, canonical_settings
from reproaudit.declarations import Declaration
from reproaudit.errors import SpecError, UsageError, did_you_mean
from reproaudit.files import PATIENCE_SECONDS, awaited, git, set_aside, sha256
from reproaudit.formats.scorecard import LeftOut
from reproaudit.lab.experiment import Experiment
from reproaudit.lab.settings import build_settings
from reproaudit.records import CellStatus, Record, differing
from reproaudit.run import events
from reproaudit.run.executors.local import NO_LIMITS, Executor, Limits, LocalProcesses
from reproaudit.run.modules import load_experiments, one_line, own_neighbours
from reproaudit.run.worker import Job, JobOutcome
from reproaudit.store.adoptions import NO_ADOPTIONS, Adoptions, adoption_tier, pair_of
from reproaudit.store.code import closure_of, fingerprint, versions
from reproaudit.store.coordinates import axes_file, changed_axes, read_axes, refusal
from reproaudit.store.memory import note_memory
from reproaudit.store.records import (
    MOST_FAILURES,
    CellLock,
    DamagedError,
    Failures,
    Holder,
    Partial,
    Store,
)

POLL_SECONDS = 0.2  # between looks whether another run has given back a cell

SERIES_VARIABLES = ("REPROAUDIT_SERIES", "SLURM_ARRAY_JOB_ID")
"""The environment variables that name the runs which belong together, as the jobs of an array."""

JOB_VARIABLES = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")
"""The environment variables by which job systems name a job."""

Declarations = Mapping[str, Mapping[str, Mapping[str, Declaration]]]
"""By paper and experiment, its measurements by name."""


def run_cells(
    cells: Iterable[Cell],
    locate: Callable[[str], Module],
    store: Store,
    *,
    device: str | Mapping[str, str] = "cpu",
    form: RunForm = "fast",
    jobs: int = 1,
    limits: Limits = NO_LIMITS,
    fresh: bool | Anew = False,
    on_event: events.OnEvent = events.ignored,
    declared: Declarations | None = None,
    executor: Executor | None = None,
    may_start: events.MayStart = lambda _cell: True,
    judged_too: Iterable[Cell] = (),
    adoptions: Mapping[str, Adoptions] = MappingProxyType({}),
    leave: bool = False,
) -> events.Summary:
    """Runs every cell that has no finished record, and writes its record.

    Args:
        cells: what is wanted, in the order in which it is started, each once.
        device: ``"cpu"`` or ``"cuda"``, as `pick_device` gives it, or by paper.
        fresh: measure again what has a record, which stays until then; each cell once in a series.
        declared: by paper and experiment, its measurements by name; others make a cell failed.
        executor: something else than this machine's processes; ``jobs`` then does not matter.
        may_start: asked when a cell could start; with no, it is left for another run.
        judged_too: cells that are planned and not run; what records they have are judged, too.
        adoptions: by paper, which codes gave the same bits, as far as the store bears that out.
        leave: end, rather than wait, where other runs compute all that is left.

    Raises:
        SpecError: naming each unknown experiment, unfit setting and changed coordinate, at first.
        StoreError, TechnicalError: if the store cannot be written to. Earlier records are intact.
        KeyboardInterrupt: on Ctrl-C, with unfinished work at its last checkpoint.
    """
    if jobs < 1:
        raise UsageError(f"cannot run {jobs} jobs at once. Use --jobs 1 or more.")
    planned = plan_jobs(cells, locate, store, device, form, declared or {}, on_event, adoptions)
    others = plan_jobs(judged_too, locate, store, device, form, {}, on_event, adoptions)
    on_event(events.PhaseStarted("reading records"))
    anew = Anew.now(store) if fresh is True else fresh or None
    present = _records_of(store, planned, anew)
    missing = [job for job in planned if job.number not in present]
    summary = _noted(store, planned, others, present)
    seconds = {number: seconds for number, (_, seconds) in present.items()}
    plan = (
        events.PlannedCell(job.cell, sum(job.phases.values()), seconds.get(job.number))
        for job in planned
    )
    on_event(events.PlanReady(tuple(plan)))
    unfinished = {job.cell.paper for job in missing}
    for paper in summary.planned:
        if paper not in unfinished:
            on_event(events.PaperFinished(paper, summary.planned[paper]))
    if missing:
        run = CellRun(store, summary, limits, anew, on_event, may_start, leave)
        run.run(missing, executor or LocalProcesses(min(jobs, len(missing)), limits))
    return summary


@dataclass(frozen=True)
class Anew:
    """A series of runs that measure anew; what is listed beyond this size is anew already."""

    series: str
    size: int

    @classmethod
    def now(cls, store: Store) -> Anew:
        """A series that begins now, or the one that this run belongs to."""
        named = next(filter(None, map(os.environ.get, SERIES_VARIABLES)), None)
        if named is None:
            return cls(secrets.token_hex(8), store.manifest.size())
        return cls(named, store.fresh_from(named))

    def has(self, store: Store, record: Record) -> bool:
        """Whether a record is of this series, or of a later run."""
        return store.manifest.was_added_after(store.listed_as(store.file_of(record)), self.size)


def this_place() -> str:
    """The machine and the process that compute here, with the job of a job system, in words."""
    job = next(filter(None, map(os.environ.get, JOB_VARIABLES)), None)
    return f"{socket.gethostname()}, process {os.getpid()}{(job and f', job {job}') or ''}"


def plan_jobs(
    cells: Iterable[Cell],
    locate: Callable[[str], Module],
    store: Store,
    device: str | Mapping[str, str],
    form: RunForm = "fast",
    declared: Declarations = MappingProxyType({}),
    on_event: events.OnEvent = events.ignored,
    adoptions: Mapping[str, Adoptions] = MappingProxyType({}),
) -> list[Job]:
    """A job for each cell, in order and once; a SpecError names all that are unknown or unfit.

    It has the codes whose records count as its own, by adoptions that the store bears out.
    """
    papers: dict[str, _Paper] = {}
    alike: dict[tuple[str, str, str], Job] = {}
    jobs: dict[Path, Job] = {}
    faults: dict[str, None] = {}
    with redirect_stdout(sys.stderr):  # what a paper's module prints is no output of ours
        wanted = list(cells)
        for slug in dict.fromkeys(cell.paper for cell in wanted):
            on_event(events.PhaseStarted("planning", slug))
            try:
                on = device if isinstance(device, str) else device[slug]
                papers[slug] = _Paper(locate(slug), on, form)
            except SpecError as error:
                faults[f"{slug}: {error}"] = None
        for cell in wanted:
            if cell.paper not in papers:
                continue
            key = (cell.paper, cell.experiment, canonical_settings(cell.settings))
            try:
                if key not in alike:
                    known = declared.get(cell.paper, {}).get(cell.experiment)
                    alike[key] = papers[cell.paper].job_like(cell, known, on_event)
            except (SpecError, UsageError) as error:
                faults[f"{cell.paper}, experiment '{cell.experiment}': {error}"] = None
                continue
            like = alike[key]
            name = fingerprint(cell, like.code, like.versions, like.data)
            place = store.partial(cell, name).folder
            job = replace(like, number=len(jobs), cell=cell, fingerprint=name, partial=place)
            jobs.setdefault(place, job)
    if faults:
        raise SpecError("\n".join(faults))
    borne_out = {
        paper: lines.held_against(_compared(store, jobs.values(), lines))
        for paper, lines in adoptions.items()
    }
    return with_adopted(jobs.values(), borne_out)


class _Paper:
    """A paper's module and its code, looked at once for all of its cells."""

    def __init__(self, module: Module, device: str, form: RunForm) -> None:
        self.module = module
        self.device = device
        self.form = form
        self.experiments = load_experiments(module)
        self.code = closure_of(module)
        self.versions = versions(device, self.code.packages, form)

    def job_like(
        self, cell: Cell, declared: Mapping[str, Declaration] | None, on_event: events.OnEvent
    ) -> Job:
        """What all jobs of an experiment and settings share; errors as of `plan_jobs`."""
        experiment = self.experiments.get(cell.experiment)
        if experiment is None:
            remedy = did_you_mean(cell.experiment, self.experiments)
            raise SpecError(f"the module has no such experiment. {remedy}".rstrip())
        if self.form == "plain" and not experiment.has_plain_form:
            raise SpecError("it has no plain form beside its own. Run it without --form plain.")
        with own_neighbours(self.module):
            try:
                settings = build_settings(experiment.settings, cell.settings)
            except SpecError as error:
                place = f"class {experiment.settings.__name__} of {self.module.file}"
                raise SpecError(f"the settings do not fit {place}: {error}") from error
            data: Mapping[str, str] = {}
            blocked = None
            if experiment.data is not Experiment.data:
                on_event(events.PhaseStarted("checking data", cell.paper))
            try:
                data = dict(experiment.data(settings))
            except UsageError:  # what the user has to install or to name
                raise
            except Exception as error:  # for instance a damaged file: this cell's failure
                blocked = one_line(error, self.module.folder)
            return Job(
                number=-1,
                cell=cell,
                module=self.module,
                code=self.code.digest,
                versions=self.versions,
                data=data,
                proxy=experiment.proxy(settings),
                phases=dict(experiment.phases(settings)),
                blocked=blocked,
                device=self.device,
                form=self.form,
                declared=declared,
            )


_Kept = dict[int, tuple[str, float]]
"""By a job's number, the fingerprint of its finished record, and the seconds that it took."""


def _noted(
    store: Store, planned: Sequence[Job], others: Sequence[Job], present: _Kept
) -> events.Summary:
    """Notes the data that cells are planned with, and the fingerprint of each cell's record."""
    summary = events.Summary(present=len(present))
    for job in planned:
        summary.plan(job.cell, present.get(job.number, (job.fingerprint,))[0])
    for job in others:
        record = _present(store, job)
        summary.plan(job.cell, job.fingerprint if record is None else record.fingerprint)
    for job in (*planned, *others):
        for code in (job.code, *job.adopted):
            store.note_data(job.cell, code, job.versions, job.data)
    return summary


def with_adopted(jobs: Iterable[Job], adoptions: Mapping[str, Adoptions]) -> list[Job]:
    """Jobs with the codes whose records count as theirs, by adoptions that were held to records."""
    whole = []
    for job in jobs:
        lines = adoptions.get(job.cell.paper, NO_ADOPTIONS)
        names = lines.alike(pair_of(job.cell), job.versions.items(), job.code)
        codes = [code for name in reversed(names) for code in lines.digests_of(name)]
        others = dict.fromkeys(code for code in codes if code != job.code)
        whole.append(replace(job, adopted=tuple(others)))
    return whole


def _compared(store: Store, jobs: Iterable[Job], adoptions: Adoptions) -> Iterator[Record]:
    """The records of the cells that adoptions compared, among the pairs of some jobs."""
    likes = {pair_of(job.cell): job for job in jobs} if adoptions.lines else {}
    for line, cell in adoptions.compared:
        like = likes.get(cell.pair)
        if like is None or line.versions != like.versions:
            continue
        codes = [code for name in (line.old, line.new) for code in adoptions.digests_of(name)]
        for tier, code in product((cell.tier, adoption_tier(cell.tier)), codes):
            drawn = replace(like.cell, tier=tier, seed=cell.seed)
            with suppress(DamagedError):
                record = store.find(drawn, fingerprint(drawn, code, like.versions, like.data))
                yield from filter(None, [record])


def fingerprints_of(job: Job) -> Iterator[str]:
    """The fingerprints under which a cell's record may lie: that of today's code first."""
    yield job.fingerprint
    for code in job.adopted:
        yield fingerprint(job.cell, code, job.versions, job.data)


def _records_of(store: Store, jobs: Sequence[Job], anew: Anew | None = None) -> _Kept:
    """The finished records by the numbers of their jobs; with `anew`, those of its series alone.

    A SpecError if one has other coordinates than are declared: measured again by the same code, its
    numbers would be the same, under other names.
    """
    kept: _Kept = {}
    changed: Counter[tuple[str, LeftOut]] = Counter()
    papers = {job.cell.paper for job in jobs}
    axes = {paper: read_axes(axes_file(store.root, paper)) for paper in papers}
    for job in jobs:
        record = _present(store, job)
        if record is None or (anew and not anew.has(store, record)):
            continue
        kept[job.number] = (record.fingerprint, record.seconds)
        if job.declared is not None:
            paper = job.cell.paper
            others = changed_axes(record, job.declared, axes[paper])
            changed.update((paper, other) for other in others)
    if changed:
        lines = (refusal(paper, other, count) for (paper, other), count in changed.items())
        raise SpecError("\n".join(lines))
    return kept


def _present(
    store: Store, job: Job, on_damage: Callable[[DamagedError], None] = lambda _error: None
) -> Record | None:
    """The finished record of a cell, which is listed; files that are none are passed over."""
    for name in fingerprints_of(job):
        try:
            kept = store.kept(store.path(job.cell, name))
        except DamagedError as error:
            on_damage(error)
            continue
        if kept is not None:
            store.enlist(kept)
            return kept.record
    return None


@dataclass
class CellRun:
    """A run of cells that are planned, and its summary; the other attributes are of `run_cells`."""

    store: Store
    summary: events.Summary
    limits: Limits = NO_LIMITS
    anew: Anew | None = None
    on_event: events.OnEvent = events.ignored
    may_start: events.MayStart = lambda _cell: True
    leave: bool = False
    _held: dict[int, tuple[Job, CellLock | None]] = field(default_factory=dict)
    _left: list[Job] = field(default_factory=list)
    _again: list[Job] = field(default_factory=list)
    _tried: set[int] = field(default_factory=set)
    _awaited: set[Path] = field(default_factory=set)
    _has_given_up: bool = False

    def run(self, jobs: Sequence[Job], executor: Executor) -> None:
        """Run jobs, and count them in the summary."""
        self.summary.left.update(job.cell.paper for job in jobs)
        try:
            with executor:
                self._run_all(jobs, executor)
        finally:  # only now, when no worker is left that could still save
            for _, lock in self._held.values():
                if lock is not None:
                    lock.give_back(finished=False)
            self._held.clear()

    def _run_all(self, jobs: Sequence[Job], executor: Executor) -> None:
        """Runs the jobs; those that another run holds, and those that crashed once, come last.

        Between the rounds no lock is held, and within one none is waited for, so that two runs
        never wait for each other. A lock that is waited for longer is named, once.
        """
        naps = 0
        while jobs:
            busy: list[Job] = []
            taken = self._offered(jobs) if executor.keeps_records else self._taken(jobs, busy)
            for outcome in executor.run(taken, self.on_event):
                self._settle(outcome)
            naps = naps + 1 if len(busy) == len(jobs) else 0
            if naps and self.leave:
                self._left += busy
                break
            if naps:
                time.sleep(POLL_SECONDS)
            if naps * POLL_SECONDS >= PATIENCE_SECONDS:
                file = self.store.lock_file(busy[0].cell, busy[0].fingerprint)
                if file not in self._awaited:
                    self._awaited.add(file)
                    self.on_event(events.CellNote(busy[0].cell, awaited(file)))
            jobs = [*busy, *self._again]
            self._again.clear()
        for job in [*self._left, *(job for job, _ in self._held.values())]:
            record = self._settled(job)
            if record is not None:
                self._held[job.number] = (job, None)
                self._finish(job, record)

    # --- taking cells

    def _offered(self, jobs: Sequence[Job]) -> Iterator[Job]:
        """The jobs that may start, for an executor that takes their cells itself."""
        for job in jobs:
            if self.may_start(job.cell):
                self._held[job.number] = (job, None)
                yield job
            else:
                self._left.append(job)

    def _taken(self, jobs: Sequence[Job], busy: list[Job]) -> Iterator[Job]:
        """The jobs whose cells can be taken now; those that another run holds are noted as busy."""
        for job in jobs:
            if not self.may_start(job.cell):
                self._left.append(job)
                continue
            lock = self.store.try_lock(job.cell, job.fingerprint)
            if lock is None:
                busy.append(job)
                continue
            self._held[job.number] = (job, lock)
            if self.anew is not None:  # checkpoints of its own series stay
                before = self.store.holder(job.cell, job.fingerprint)
                if before is None or before.series != self.anew.series:
                    Partial(job.partial).clear()
            lock.note(replace(self._holder, since=datetime.now(UTC)))
            record = self._settled(job)
            if record is not None:
                self._finish(job, record)
                continue
            self.on_event(events.CellStarted(job.cell))
            yield job

    @cached_property
    def _holder(self) -> Holder:
        return Holder(this_place(), datetime.now(UTC), self.anew.series if self.anew else "")

    def _settled(self, job: Job) -> Record | None:
        """The record of a cell that is not run: another run made it, or it failed too often."""
        made = self._made(job)
        if made is not None and (self.anew is None or self.anew.has(self.store, made)):
            return made
        return self._given_up(job)

    def _given_up(self, job: Job) -> Record | None:
        """The failed record of a cell that runs have tried often enough, with the remedy once."""
        known = self._failures(job)
        if known is None or known[0].count < MOST_FAILURES:
            return None
        record = known[1]
        if not self._has_given_up:
            self._has_given_up = True
            text = (
                "failed before with this code, and is not run again, nor are other such cells. "
                f"Remove {self.store.file_of(record)} to try this one anew, or use --fresh for all."
            )
            self.on_event(events.CellNote(job.cell, text))
        return record

    def _failures(self, job: Job) -> tuple[Failures, Record] | None:
        """How often a cell failed with this code and demand; in a series, within it alone."""
        known = self.store.failures(job.cell, job.fingerprint)
        if known is None or (known[0].code, known[0].demand) != (job.code, self._demand(job)):
            return None
        return known if self.anew is None or known[0].series == self.anew.series else None

    def _demand(self, job: Job) -> str:
        declared = job.declared or {}
        held_to = {name: declared[name].model_dump(mode="json") for name in sorted(declared)}
        return sha256(json.dumps([held_to, astuple(self.limits)]).encode())

    def _made(self, job: Job) -> Record | None:
        """The cell's finished record; a file that is none is moved aside."""

        def move(error: DamagedError) -> None:
            if aside := set_aside(error.path):
                text = f"moved an unreadable record to {aside}: {error.reason}"
                self.on_event(events.CellNote(job.cell, text))

        return _present(self.store, job, move)

    # --- taking outcomes

    def _settle(self, outcome: JobOutcome) -> None:
        """Writes the record of an outcome, or has a cell that crashed run again, once."""
        if outcome.fault is not None:
            raise outcome.fault
        job, lock = self._held[outcome.number]
        if outcome.is_kept:
            self._finish(job, outcome.record)
            return
        made = outcome.record.environment.model_copy(update={"revision": self._revision})
        record = outcome.record.model_copy(update={"environment": made})
        has_failed = record.status is CellStatus.FAILED
        if has_failed and self._mark_failure(job, outcome, record):
            self._tried.add(job.number)
            self._again.append(job)
            del self._held[job.number]
            if lock is not None:
                lock.give_back(finished=False)
            self.on_event(events.CellActivity(job.cell, "waiting"))
            self.on_event(events.CellNote(job.cell, f"run again: {record.error}"))
            return
        earlier = self._made(job) if self.anew and not has_failed else None
        if earlier is not None and (differences := differing(earlier, record)):
            lines = "other numbers than before, whose record is kept", *differences
            self.on_event(events.CellNote(job.cell, "\n  ".join(lines)))
        if not has_failed:
            self.store.write(record)
            Partial(job.partial).clear()
        note_memory(self.store.root, record.paper, record.tier, outcome.memory)
        self._finish(job, record)

    def _mark_failure(self, job: Job, outcome: JobOutcome, record: Record) -> bool:
        """Marks a failure, and tells whether this run tries the cell again.

        All runs together try it `MOST_FAILURES` times. What never began counts for this run alone.
        """
        known = self._failures(job)
        before = known[0].count if known else 0
        count = MOST_FAILURES if outcome.is_final else min(before + 1, MOST_FAILURES)
        self.store.write(record)
        if outcome.has_begun:
            series = self.anew.series if self.anew else ""
            noted = Failures(code=job.code, demand=self._demand(job), count=count, series=series)
            self.store.note_failures(job.cell, job.fingerprint, noted)
        return count < MOST_FAILURES and job.number not in self._tried

    def _finish(self, job: Job, record: Record) -> None:
        _, lock = self._held.pop(job.number)
        if lock is not None:
            lock.give_back(finished=record.status is not CellStatus.FAILED)
        self.summary.count(record.status)
        self.summary.plan(job.cell, record.fingerprint)
        self.on_event(events.CellFinished(job.cell, record))
        paper = job.cell.paper
        self.summary.left[paper] -= 1
        if not self.summary.left[paper]:
            del self.summary.left[paper]
            self.on_event(events.PaperFinished(paper, self.summary.planned[paper]))

    @cached_property
    def _revision(self) -> str | None:
        return _revision(Path(reproaudit.__file__))


def _revision(file: Path) -> str | None:
    """The git revision of the checkout that a file belongs to, or None if it is in none."""
    if git(file, "ls-files", "--error-unmatch", file.name) is None:
        return None  # a checkout around an installed package
    # to which a run at the paper tier and an adoption add lines
    journals = [f":(top,exclude)audits/*.{name}.jsonl" for name in ("results", "adoptions")]
    changed = git(file, "status", "--porcelain", "--untracked-files=no", "--", ":(top)", *journals)
    revision = git(file, "rev-parse", "HEAD")
    return f"{revision}+dirty" if revision and changed else revision
