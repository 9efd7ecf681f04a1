"""Computes one job beside a program of another kind, on a machine that shares no folder with us."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from dataclasses import replace

from reproaudit.audit.catalog import entry_of, shipped_audits
from reproaudit.files import scratch_folder
from reproaudit.run.events import OnEvent
from reproaudit.run.executors.local import Limits, LocalProcesses
from reproaudit.run.worker import Job, JobOutcome

_ORDER = "PYTHONHASHSEED"

ORDER_OF_SETS = os.environ.get(_ORDER, "0")
"""On what the order of sets of text depends, before a cluster that is started here changes it."""


def compute_apart(
    job: Job, limits: Limits, order: str, may_go_on: Callable[[], bool], on_event: OnEvent
) -> JobOutcome | None:
    """Computes a job in a process of its own; None if it may not go on.

    A job of which this machine has other code or versions fails, before any of that code has run.
    Checkpoints lie in a scratch folder.
    """
    os.environ[_ORDER] = order
    multiprocessing.current_process().daemon = False  # a daemon may have no children
    if job.module.importable:  # reproaudit may lie elsewhere on this machine
        job = replace(job, module=entry_of(shipped_audits() / f"{job.cell.paper}.yaml").module)
    with scratch_folder() as folder, LocalProcesses(1, limits, may_go_on) as here:
        return next(here.run([replace(job, partial=folder / job.partial.name)], on_event), None)
