"""`reproaudit run --status`: what of a tier is done, what is computed where, and what failed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reproaudit.audit.catalog import Entry
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import cells_of_tier
from reproaudit.run.cells import fingerprints_of, plan_jobs
from reproaudit.run.worker import Job
from reproaudit.service.run import How
from reproaudit.store.adoptions import read_adoptions
from reproaudit.store.records import Store


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
        elif how.store.is_held(job.cell, job.fingerprint):
            running.append(f"{_name(job)}: {_holder(how.store, job)}")
        elif record := how.store.find_failed(job.cell, job.fingerprint):
            failed.append(f"{_name(job)}: {record.error}")
    waiting = len(jobs) - done - len(running) - len(failed)
    counts = (len(jobs), done, tuple(running), tuple(failed), waiting)
    return PaperState(entry.slug, tier, *counts)


def _holder(store: Store, job: Job) -> str:
    holder = store.holder(job.cell, job.fingerprint)
    return f"{holder.place}, since {holder.since:%Y-%m-%d %H:%M} UTC" if holder else "another run"


def _name(job: Job) -> str:
    differ = ", ".join(f"{name}={value}" for name, value in sorted(job.cell.settings.items()))
    return f"{job.cell.experiment}, seed {job.cell.seed} ({differ})"
