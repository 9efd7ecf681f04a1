"""Computes jobs in blocks on Slurm, each block in one of Slurm's jobs, through submitit.

The store lies on a file system that all machines share. Nothing is lost when whoever submitted the
blocks goes away: they write their records themselves.
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from reproaudit.errors import UsageError
from reproaudit.run.cells import Anew
from reproaudit.run.events import CellNote, OnEvent, PhaseStarted
from reproaudit.run.executors.blocks import CellBlock, Noted, blocks_of
from reproaudit.run.executors.engines import Engine, imported
from reproaudit.run.executors.local import Limits, safe_path
from reproaudit.run.worker import Job, JobOutcome, lost
from reproaudit.store.records import Store

MOST_REQUEUED = 1000
"""How often a job of Slurm whose time was up goes back into the queue."""

NOTES_SECONDS = 1.0
"""The seconds between looks at what the blocks have noted."""

ASK_SECONDS = 30.0
"""The seconds between questions to Slurm whether a job has ended without a word."""


def submitter(engine: Engine, folder: Path, cores: int) -> Any:
    """What submits jobs to Slurm, with logs in a folder; a UsageError if there is no Slurm here."""
    library = imported("submitit", "slurm")
    options = dict(engine.options)
    minutes = int(options.pop("time", "60"))
    cluster = engine.address or "slurm"
    try:
        made = library.AutoExecutor(folder, cluster, slurm_max_num_timeout=MOST_REQUEUED)
    except RuntimeError as error:
        raise UsageError(f"--executor slurm: {error} Run this where sbatch is.") from error
    made.update_parameters(
        name="reproaudit",
        timeout_min=minutes,
        cpus_per_task=cores,
        slurm_additional_parameters=options,
    )
    return made


def queued_jobs() -> Callable[[str], bool] | None:
    """What tells whether a job waits or runs in Slurm; None if Slurm does not answer."""
    ask = ["squeue", "--me", "--noheader", "--array", "--format=%i"]
    answer = subprocess.run(ask, capture_output=True, text=True, check=False)
    return None if answer.returncode else set(answer.stdout.split()).__contains__


class SlurmBlocks:
    """Submits blocks of cells, and yields outcomes as their records appear.

    Args:
        at_once: the cells that one job of Slurm computes at once, each on a core.
        leave: submit, and wait for nothing.
    """

    keeps_records = True

    def __init__(
        self,
        engine: Engine,
        store: Store,
        at_once: int,
        limits: Limits,
        anew: Anew | None,
        leave: bool,
    ) -> None:
        self._engine = engine
        self._store = store
        self._folder = store.root / ".slurm" / secrets.token_hex(8)
        self._how = (at_once, limits, anew)
        self._leave = leave
        self._submitted: dict[Any, Noted] = {}
        self._asked = time.monotonic()
        self._is_clean = True

    def __enter__(self) -> SlurmBlocks:
        """Looks for Slurm; a UsageError if it, or submitit, is not there."""
        self._executor = submitter(self._engine, self._folder, self._how[0])
        return self

    def __exit__(self, *_error: object) -> None:
        """Cancels the jobs that were not left to themselves; each saves what it computes."""
        if self._leave:
            return
        for slurm_job in self._submitted:
            slurm_job.cancel(check=False)
        if self._is_clean and not self._submitted:
            shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, jobs: Iterable[Job], on_event: OnEvent) -> Iterator[JobOutcome]:
        """Yields outcomes as cells end; none if the blocks are left to themselves."""
        self._submit(list(jobs), on_event)
        while self._submitted and not self._leave:
            time.sleep(NOTES_SECONDS)
            ended = self._ended()  # before their notes are read, so that none comes later
            for slurm_job, noted in list(self._submitted.items()):
                for event in noted.events():
                    if isinstance(event, CellNote):
                        on_event(event)
                    else:
                        job, end = event
                        yield JobOutcome(job.number, end.record, is_kept=True)
                if slurm_job in ended:
                    del self._submitted[slurm_job]
                    self._is_clean = self._is_clean and not noted.waiting
                    yield from _undone(slurm_job, noted)

    def _ended(self) -> set[Any]:
        """The jobs that left a result or, now and then, those that Slurm's queue does not have."""
        if self._engine.address == "local":
            return {job for job in self._submitted if job.done()}
        ended = {job for job in self._submitted if job.paths.result_pickle.exists()}
        if time.monotonic() - self._asked > ASK_SECONDS:
            self._asked = time.monotonic()
            queued = queued_jobs()
            ended |= {job for job in self._submitted if queued and not queued(job.job_id)}
        return ended

    def _submit(self, jobs: list[Job], on_event: OnEvent) -> None:
        blocks = [
            CellBlock(self._store.root, part, *self._how, self._folder / f"{number}.notes")
            for number, part in enumerate(blocks_of(jobs, self._engine.block, self._store))
        ]
        if not blocks:
            return
        with safe_path(), self._executor.batch():  # Slurm gives a job the variables of this process
            submitted = [self._executor.submit(block) for block in blocks]
        self._submitted = dict(zip(submitted, map(Noted, blocks), strict=True))
        names = ", ".join(dict.fromkeys(str(job.job_id).partition("_")[0] for job in submitted))
        on_event(PhaseStarted(f"waiting for job {names} with {len(blocks)} blocks"))


def _undone(slurm_job: Any, noted: Noted) -> Iterator[JobOutcome]:
    """Outcomes for what a job that has ended left undone; the next run tries it again."""
    why = f"job {slurm_job.job_id} ended before it did; see {slurm_job.paths.stderr}"
    for job in noted.waiting.values():
        yield replace(lost(job, why, is_final=True), has_begun=False)
