"""Computes jobs in blocks on Slurm, each block in one of Slurm's jobs, through submitit.

The store lies on a file system that all machines share. A block takes cells from it and writes
their records there, as any run does. So nothing is lost when whoever submitted the blocks goes
away, and a job that is put back into the queue goes on with what has no record. What happened to
its cells a block notes in a file, for whoever submitted it.
"""

from __future__ import annotations

import base64
import math
import pickle
import secrets
import shutil
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from reproaudit.cell import Cell, canonical_settings
from reproaudit.errors import UsageError
from reproaudit.records import CellStatus
from reproaudit.run.cells import Anew, CellRun
from reproaudit.run.events import CellFinished, CellNote, Event, OnEvent, PhaseStarted, Summary
from reproaudit.run.executors.engines import BlockSize, Engine, imported
from reproaudit.run.executors.local import Limits, LocalProcesses, safe_path
from reproaudit.run.worker import Job, JobOutcome, lost
from reproaudit.store.code import cell_of
from reproaudit.store.records import Store

MOST_REQUEUED = 1000  # times that a job whose time was up goes back into the queue
NOTES_SECONDS = 1.0  # between looks at what the blocks have noted
ASK_SECONDS = 30.0  # between questions to Slurm whether a job has ended without a word


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
    """Submits blocks of cells; yields outcomes as records appear, or leaves at once."""

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


# --- blocks ------------------------------------------------------------------------------------


MOST_BLOCKS = 1000  # jobs of one array, which Slurm limits to 1001 if nobody says otherwise


@dataclass(frozen=True)
class CellBlock:
    """Cells that one job computes, so many at once, and the file for its notes."""

    store: Path
    jobs: tuple[Job, ...]
    at_once: int
    limits: Limits
    anew: Anew | None
    notes: Path

    def __call__(self) -> None:
        """Computes what has no record; on SIGTERM it saves and leaves."""
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        run = CellRun(Store(self.store), Summary(), self.limits, self.anew, self._note)
        run.run(self.jobs, LocalProcesses(self.at_once, self.limits))

    def checkpoint(self) -> Any:
        """What submitit puts into the queue when the job's time is up: the same."""
        return imported("submitit.helpers", "slurm").DelayedSubmission(self)

    def _note(self, event: Event) -> None:
        if isinstance(event, CellFinished | CellNote):
            with self.notes.open("ab") as file:
                file.write(base64.b64encode(pickle.dumps(event)) + b"\n")


class Noted:
    """Reads what a block has noted, each event once."""

    def __init__(self, block: CellBlock) -> None:
        self._file = block.notes
        self._read_to = 0
        self.waiting = {_name(job.cell): job for job in block.jobs}
        """The jobs without a noted end."""

    def events(self) -> Iterator[CellNote | tuple[Job, CellFinished]]:
        """What is new: notes, and the first end of each job."""
        data = self._file.read_bytes()[self._read_to :] if self._file.exists() else b""
        for line in data.splitlines(keepends=True):
            if not line.endswith(b"\n"):  # it is being written
                return
            self._read_to += len(line)
            event = pickle.loads(base64.b64decode(line))
            if isinstance(event, CellNote):
                yield event
            elif job := self.waiting.pop(_name(event.cell), None):
                yield job, event


def _name(cell: Cell) -> tuple[object, ...]:
    return cell.paper, cell.tier, cell.key


def blocks_of(jobs: Sequence[Job], size: BlockSize, store: Store) -> Iterator[tuple[Job, ...]]:
    """Jobs in blocks of a size, in order; never more blocks than `MOST_BLOCKS`.

    By time, a block ends before its cells take longer together than they may, as far as earlier
    records tell; a cell of which none does is a block of its own.
    """
    seconds_of = _costs(jobs, store) if size.cells is None else lambda _cell: 0.0
    most = size.cells or len(jobs)
    blocks: list[list[Job]] = []
    left = 0.0
    for job in jobs:
        seconds = seconds_of(job.cell)
        if not blocks or seconds > left or len(blocks[-1]) >= most:
            blocks.append([])
            left = size.seconds
        blocks[-1].append(job)
        left -= seconds
    together = math.ceil(len(blocks) / MOST_BLOCKS)
    for first in range(0, len(blocks), max(together, 1)):
        yield tuple(job for block in blocks[first : first + together] for job in block)


def _costs(jobs: Sequence[Job], store: Store) -> Callable[[Cell], float]:
    """The seconds that a cell took, by records of any code and tier; infinite if none tells."""
    known: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for paper in {job.cell.paper for job in jobs}:
        for record in store.records_of(paper):
            if record.status is not CellStatus.FAILED:
                known[_pair(cell_of(record))].append(record.seconds)

    def seconds(cell: Cell) -> float:
        return median(known.get(_pair(cell), [math.inf]))

    return seconds


def _pair(cell: Cell) -> tuple[str, ...]:
    return cell.paper, cell.experiment, canonical_settings(cell.settings)
