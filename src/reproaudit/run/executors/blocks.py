"""Puts cells into blocks, each of which is one job of a job system, and computes a block.

A block takes cells from the shared store and writes their records there, as any run does. So a job
that is put back into the queue goes on with what has no record. What happened to its cells it notes
in a file, for whoever submitted it.
"""

from __future__ import annotations

import base64
import math
import pickle
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from reproaudit.cell import Cell, canonical_settings
from reproaudit.records import CellStatus
from reproaudit.run.cells import Anew, run_jobs
from reproaudit.run.events import CellFinished, CellNote, Event, Summary
from reproaudit.run.executors.engines import BlockSize, imported
from reproaudit.run.executors.local import Limits, LocalProcesses
from reproaudit.run.worker import Job
from reproaudit.store.code import cell_of
from reproaudit.store.records import Store

MOST_BLOCKS = 1000
"""The jobs of one array, which Slurm limits to 1001 if nobody says otherwise."""


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
        processes = LocalProcesses(self.at_once, self.limits)
        how = (Summary(), self.limits, self.anew, self._note)
        run_jobs(self.jobs, Store(self.store), processes, *how)

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
