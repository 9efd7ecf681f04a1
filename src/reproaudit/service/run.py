"""Runs the cells of a tier, or custom ones, and judges what they measured."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import yaml

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import cells_of_alternatives, cells_of_tier, scope_of, varied_tier
from reproaudit.audit.seeds import seeds_of, stored_tier
from reproaudit.cell import CUSTOM, Cell, RunForm, SettingValue, TierKey
from reproaudit.errors import AuditError, StoreError, UsageError, did_you_mean
from reproaudit.formats.scorecard import Scorecard
from reproaudit.formats.verdict import Outcome, Status
from reproaudit.lab import DATA_VARIABLE
from reproaudit.records import Record
from reproaudit.run.cells import Anew, fingerprints_of, plan_jobs, run_cells
from reproaudit.run.devices import available_cores, pick_device
from reproaudit.run.events import (
    Event,
    MayStart,
    OnEvent,
    PaperFinished,
    PhaseStarted,
    Summary,
    WorkStarted,
    ignored,
)
from reproaudit.run.executors.engines import Engine
from reproaudit.run.executors.local import Executor, Limits
from reproaudit.run.worker import Job
from reproaudit.scorecard import history as results
from reproaudit.scorecard.answers import scorecard_of_store, seconds_of_a_shipped_run
from reproaudit.service.pages import write_registers, write_report
from reproaudit.store.adoptions import read_adoptions
from reproaudit.store.code import imports_torch
from reproaudit.store.records import Store, is_held

Papers = Sequence[tuple[Entry, Audit]]


@dataclass(frozen=True)
class How:
    """The place and manner in which cells are run, as the options of ``reproaudit run``.

    Without `jobs` there is one on each core, or one at a time where a card is used; without
    `seconds`, `memory` and `data` nothing is limited, and data are downloaded.

    Attributes:
        engine: what computes the cells; None for processes of this machine.
        shard: number and count: of so many parts of the cells the one that is run.
        leave: end, rather than wait, where other runs compute all that is left.
        until: by `time.monotonic`, when the last cell may start.
    """

    store: Store
    device: str = "auto"
    jobs: int | None = None
    seconds: float | None = None
    memory: float | None = None
    data: Path | None = None
    fresh: bool = False
    form: RunForm = "fast"
    engine: Engine | None = None
    shard: tuple[int, int] | None = None
    leave: bool = False
    until: float = math.inf

    def device_for(self, entry: Entry) -> str:
        """Return cpu or cuda for a paper's cells; ``auto`` is a card only where torch is imported.

        A UsageError if there is no such device; a SpecError as of `closure_of`.
        """
        if self.form == "plain":
            if self.device == "cuda":
                raise UsageError(f"--device {self.device}: the plain form runs on the cpu.")
            return "cpu"
        if self.engine is not None:  # this machine says nothing about those that compute
            return "cuda" if self.device == "cuda" else "cpu"
        return pick_device(self.device, lambda: imports_torch(entry.module))

    def run(
        self,
        cells: Sequence[Cell],
        papers: Papers,
        on_event: OnEvent,
        judged_too: Iterable[Cell] = (),
    ) -> Summary:
        """Run the cells of papers that have no record; errors as of `run_cells`, `device_for`."""
        if self.data is not None:
            os.environ[DATA_VARIABLE] = str(self.data)
        devices = {entry.slug: self.device_for(entry) for entry, _ in papers}
        cores = 1 if "cuda" in devices.values() or self.engine else available_cores()
        jobs = cores if self.jobs is None else self.jobs
        limits = Limits(self.seconds, None if self.memory is None else int(self.memory))
        anew = Anew.now(self.store) if self.fresh else None
        cells = list(cells)
        mine = self._shard_of(cells)
        declared = {
            audit.paper.slug: {name: audit.measurements_of(name) for name in audit.experiments}
            for _, audit in papers
        }
        return run_cells(
            cells,
            {entry.slug: entry.module for entry, _ in papers}.__getitem__,
            self.store,
            device=devices,
            form=self.form,
            jobs=jobs,
            limits=limits,
            fresh=anew or False,
            on_event=on_event,
            declared=declared,
            executor=self._executor(jobs, limits, anew),
            may_start=lambda cell: mine(cell) and time.monotonic() < self.until,
            judged_too=judged_too,
            adoptions={entry.slug: read_adoptions(entry, self.store.root) for entry, _ in papers},
            leave=self.leave,
        )

    def _shard_of(self, cells: Sequence[Cell]) -> MayStart:
        """Tell which cells are of this shard: their order decides, whatever has a record."""
        if self.shard is None:
            return lambda _cell: True
        number, count = self.shard
        mine = {(cell.paper, cell.tier, cell.key) for cell in cells[number - 1 :: count]}
        return lambda cell: (cell.paper, cell.tier, cell.key) in mine

    def _executor(self, jobs: int, limits: Limits, anew: Anew | None) -> Executor | None:
        if self.engine is None:
            return None
        if self.engine.name == "dask":
            from reproaudit.run.executors.dask import DaskWorkers

            return DaskWorkers(self.engine.address, jobs, limits)
        from reproaudit.run.executors.slurm import SlurmBlocks

        return SlurmBlocks(self.engine, self.store, jobs, limits, anew, self.leave)


OnCard = Callable[[Scorecard], object]


def cheapest_first(papers: Papers, tier: TierName) -> Papers:
    """Return papers in the order of what their cells cost by shipped records; others come last."""

    def seconds(paper: tuple[Entry, Audit]) -> float:
        entry, audit = paper
        of_a_run = seconds_of_a_shipped_run(entry, audit)
        return math.inf if of_a_run is None else of_a_run * len(cells_of_tier(audit, tier))

    return sorted(papers, key=seconds)


@dataclass
class Ran:
    """The answers of papers that were run, the pages, and why others could not be written.

    Attributes:
        failed: how many cells failed.
        left: a sentence on each paper that has cells left for other runs.
    """

    scorecards: list[Scorecard] = field(default_factory=list)
    failed: int = 0
    left: list[str] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)
    errors: list[StoreError] = field(default_factory=list)

    @property
    def went_wrong(self) -> bool:
        """Whether a cell failed, a claim did or, at the smoke tier, a claim's own run diverged."""
        claims = [claim for card in self.scorecards for claim in card.claims]
        if self.failed or any(claim.outcome is Outcome.ERROR for claim in claims):
            return True
        smoke = (card for card in self.scorecards if card.tier == "smoke")  # which judges nothing
        own = (run for card in smoke for claim in card.claims for run in claim.base.runs)
        return any(run.diverged and run.status is Status.NO for run in own)


def run_papers(
    papers: Papers,
    tier: TierName,
    how: How,
    *,
    claims: Sequence[str] = (),
    alternatives: bool = False,
    cheapest: bool = False,
    pages: Path | None = None,
    on_card: OnCard = ignored,
    on_event: OnEvent = ignored,
) -> Ran:
    """Run what is missing of a tier, judge it and, at the paper tier, log what it showed.

    A paper is judged as soon as its cells have records, while others still run; it is not judged
    if cells are left for other runs.

    Args:
        claims: the ids of the claims to run for, with a single paper; every claim if none.
        alternatives: whether they are run, too; then what is left stops no judgement.
        cheapest: whether the cheapest paper is run first; the answers stay in order.
        pages: the folder for the pages of each paper when it is judged; None for no pages.

    Raises:
        UsageError: if there is no such claim.
        AuditError: if a paper cannot be judged; only when all that can be has been.
    """
    for _, audit in papers if claims else ():
        scope_of(audit, tier, claims)
    for entry, _ in papers:
        how.device_for(entry)  # one that is not there is an error before a log of results begins
    for entry, audit in papers if tier == "paper" else ():
        results.begin(entry, audit, how.store.root)  # before a number is there
    order = cheapest_first(papers, tier) if cheapest else papers
    cells = [cell for _, audit in order for cell in cells_of_tier(audit, tier, claims)]
    cells += [
        cell for _, audit in order if alternatives for cell in cells_of_alternatives(audit, tier)
    ]
    judged_too = [cell for _, audit in papers for cell in _judged_too(audit, tier, how.store)]
    if tier == "paper" and claims:  # the log knows answers on all records that there are
        judged_too += [cell for _, audit in papers for cell in cells_of_tier(audit, tier)]
    on_event(WorkStarted(tuple(audit for _, audit in papers), how.until))
    judging = _Judging(papers, tier, how.store, pages, on_event, on_card)
    summary = how.run(cells, order, judging, judged_too)
    slugs = [entry.slug for entry, _ in papers]
    for slug in slugs:
        if slug not in summary.planned:
            judging(PaperFinished(slug, {}))
        elif alternatives and slug in summary.left:
            judging.judge(slug, summary.planned[slug])
    if judging.errors:
        raise judging.errors[0]
    ran = judging.ran
    ran.failed = summary.failed
    for slug, count in summary.left.items() if not alternatives else ():
        ran.left.append(_left(slug, count, len(summary.planned[slug])))
    ran.scorecards = [judging.cards[slug] for slug in slugs if slug in judging.cards]
    judging.write(partial(write_registers, ran.scorecards))
    return ran


@dataclass
class _Judging:
    """Follows the events of a run; judges each paper, and writes its pages, when it has records.

    What cannot be judged or written stops nothing else.
    """

    papers: Papers
    tier: TierName
    store: Store
    pages: Path | None
    on_event: OnEvent
    on_card: OnCard
    cards: dict[str, Scorecard] = field(default_factory=dict)
    errors: list[AuditError] = field(default_factory=list)
    ran: Ran = field(default_factory=Ran)

    def __call__(self, event: Event) -> None:
        """Follow an event."""
        self.on_event(event)
        if isinstance(event, PaperFinished):
            self.judge(event.paper, event.planned)

    def judge(self, slug: str, planned: Mapping[TierKey, str]) -> None:
        """Judge what was planned of a paper, and write its pages."""
        self.on_event(PhaseStarted("judging", slug))
        entry, audit = next(paper for paper in self.papers if paper[0].slug == slug)
        try:
            card = _judge(entry, audit, self.tier, self.store, planned)
        except AuditError as error:
            self.errors.append(error)
            return
        self.cards[slug] = card
        self.write(partial(write_report, card))
        self.on_card(card)

    def write(self, pages: Callable[[Path], Iterable[Path]]) -> None:
        """Write pages or registers, if any are to be written."""
        try:
            self.ran.written += () if self.pages is None else pages(self.pages)
        except StoreError as error:
            self.ran.errors.append(error)


def _judge(
    entry: Entry, audit: Audit, tier: TierName, store: Store, planned: Mapping[TierKey, str]
) -> Scorecard:
    """Judge what a run planned; at the paper tier, log the answers before anybody sees them."""
    card = scorecard_of_store(entry, audit, tier, store, planned=planned)
    if tier == "paper":
        kept = stored_tier(audit, tier)
        records = store.records(entry.slug, kept, only=frozenset(planned.values()))
        results.append(entry, audit, store.root, records, card.claims)
    return card


def _left(slug: str, left: int, planned: int) -> str:
    return (
        f"{slug}: {left} of {planned} cells are left for other runs, so that nothing is judged. "
        "Once they are done the same command shows the answers; 'report' shows what there is."
    )


def _judged_too(audit: Audit, tier: TierName, store: Store) -> Iterator[Cell]:
    """The cells of alternatives and, at the paper tier, of the quick tier.

    A run does not measure them, but judges what records of them there are. It plans them, which
    notes the state of their data.
    """
    tiers: tuple[TierName, ...] = ("quick", "paper") if tier == "paper" else (tier,)
    for judged in tiers:
        kept = stored_tier(audit, judged)
        if judged != tier and any(store.files(audit.paper.slug, kept)):
            yield from cells_of_tier(audit, judged)
        if any(store.files(audit.paper.slug, varied_tier(kept))):
            yield from cells_of_alternatives(audit, judged)


# --- custom runs --------------------------------------------------------------------------------


def run_custom(
    papers: Papers,
    tier: TierName,
    how: How,
    seeds: Sequence[int] | None,
    experiments: Sequence[str],
    settings: Iterable[str],
    on_event: OnEvent = ignored,
) -> tuple[list[Record], int]:
    """Run cells that depart from a tier's rule; return their records in order, and how many failed.

    Nothing is judged. A UsageError on an experiment or a setting that an audit does not have.

    Args:
        seeds: instead of the tier's.
        experiments: of every paper; all if none.
        settings: other values, such as ``steps=100`` or ``sparse.steps=100``.
    """
    given = dict(map(parse_setting, settings))
    cells = [
        cell for _, audit in papers for cell in _custom(audit, tier, seeds, experiments, given)
    ]
    on_event(WorkStarted(tuple(audit for _, audit in papers)))
    summary = how.run(cells, papers, on_event)
    records: list[Record] = []
    for paper, planned in summary.planned.items():
        names = list(planned.values())
        made = how.store.records(paper, CUSTOM, only=frozenset(names))
        records += sorted(made, key=lambda record: names.index(record.fingerprint))
    return records, summary.failed


def _custom(
    audit: Audit,
    tier: TierName,
    seeds: Sequence[int] | None,
    experiments: Sequence[str],
    settings: Mapping[str, SettingValue],
) -> Iterator[Cell]:
    slug = audit.paper.slug
    for name in experiments:
        if name not in audit.experiments:
            remedy = did_you_mean(name, audit.experiments)
            raise UsageError(f"{slug} has no experiment '{name}'. {remedy}")
    chosen = experiments or tuple(audit.experiments)
    known = {experiment: audit.settings_of(experiment) for experiment in chosen}
    for name in settings:
        of, _, setting = name.rpartition(".")
        meant = [own for experiment, own in known.items() if of in ("", experiment)]
        if not any(setting in own for own in meant):
            remedy = did_you_mean(setting, {name for own in known.values() for name in own})
            raise UsageError(f"--set {name}: {slug} has no such setting. {remedy}")
    for experiment in chosen:
        values = audit.values_of(experiment, tier)
        for name in sorted(settings, key=lambda name: "." in name):  # an experiment's own win
            of, _, setting = name.rpartition(".")
            if of in ("", experiment) and setting in values:
                values[setting] = settings[name]
        runs = audit.runs_of(experiment).at(tier, own=True)
        for seed in seeds or seeds_of(audit, tier, experiment, runs):
            yield Cell(slug, CUSTOM, experiment, values, seed)


def parse_setting(text: str) -> tuple[str, SettingValue]:
    """Return the name and the value in ``betas=[0.9, 0.999]``; a UsageError if there are none."""
    name, equals, written = text.partition("=")
    name = name.strip()
    if not equals or not re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?", name):
        raise UsageError(f"--set '{text}': write name=value, for instance steps=100.")
    try:
        value = yaml.safe_load(written)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        value = None
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+", value):
        value = float(value)  # YAML 1.1 reads 1e-3 as text
    if isinstance(value, list) and value and all(map(_is_plain, value)):
        return name, tuple(value)
    if _is_plain(value):
        return name, value
    shown = written[:200] or "nothing"
    raise UsageError(
        f"--set {name}: found {shown}; expected a value or a list, numbers below 2^63."
    )


def _is_plain(value: object) -> bool:
    if isinstance(value, int):
        return abs(value) < 2**63
    return isinstance(value, float | str)


# --- how far a run is -----------------------------------------------------------------------------


@dataclass(frozen=True)
class PaperState:
    """The cells of a paper's tier, counted, and in words what runs and what failed."""

    paper: str
    tier: str
    cells: int
    done: int
    running: tuple[str, ...]
    failed: tuple[str, ...]
    waiting: int

    @property
    def lines(self) -> Iterator[str]:
        """A line for the paper, then for each cell that runs or failed."""
        yield (
            f"{self.paper} {self.tier}: {self.done} of {self.cells} cells done, "
            f"{len(self.running)} running, {len(self.failed)} failed, {self.waiting} waiting"
        )
        yield from (f"  running: {line}" for line in self.running)
        yield from (f"  failed: {line}" for line in self.failed)


def state_of(entry: Entry, audit: Audit, tier: TierName, how: How) -> PaperState:
    """Return the state of a paper's cells, whoever computes them; nothing is run or written."""
    jobs = plan_jobs(
        cells_of_tier(audit, tier),
        lambda _slug: entry.module,
        how.store,
        how.device_for(entry),
        how.form,
        adoptions={entry.slug: read_adoptions(entry, how.store.root)},
    )
    done = 0
    running: list[str] = []
    failed: list[str] = []
    for job in jobs:
        if any(how.store.path(job.cell, name).exists() for name in fingerprints_of(job)):
            done += 1
        elif is_held(how.store.lock_file(job.cell, job.fingerprint)):
            holder = how.store.holder(job.cell, job.fingerprint)
            by = f"{holder.place}, since {holder.since:%Y-%m-%d %H:%M} UTC" if holder else ""
            running.append(f"{_name(job)}: {by or 'another run'}")
        elif record := how.store.find_failed(job.cell, job.fingerprint):
            failed.append(f"{_name(job)}: {record.error}")
    waiting = len(jobs) - done - len(running) - len(failed)
    counts = (len(jobs), done, tuple(running), tuple(failed), waiting)
    return PaperState(entry.slug, tier, *counts)


def _name(job: Job) -> str:
    differ = ", ".join(f"{name}={value}" for name, value in sorted(job.cell.settings.items()))
    return f"{job.cell.experiment}, seed {job.cell.seed} ({differ})"
