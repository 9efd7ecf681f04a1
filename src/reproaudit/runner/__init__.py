"""Runs the cells that have no record yet, and resumes those that were cut off.

The runner plans first (every fault of an audit is found before anything runs), then hands jobs to
an executor and turns each outcome into records at once. It alone writes records. A cell that fails
stops no other; it is tried again by the next run. A diverged cell is finished.
"""

from reproaudit.runner.events import (
    CellFinished,
    CellStarted,
    CellWaiting,
    Event,
    MayStart,
    OnEvent,
    PlanReady,
    Progress,
    SetAside,
    Summary,
)
from reproaudit.runner.running import run_cells

__all__ = [
    "CellFinished",
    "CellStarted",
    "CellWaiting",
    "Event",
    "MayStart",
    "OnEvent",
    "PlanReady",
    "Progress",
    "SetAside",
    "Summary",
    "run_cells",
]
