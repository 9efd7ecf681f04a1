"""The events that a run reports while it goes on, and its summary at the end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from reproaudit.audit.model import Audit
from reproaudit.cell import Cell, TierKey
from reproaudit.records import CellStatus, Record


@dataclass(frozen=True)
class WorkStarted:
    """Work on some papers begins, or goes on; no cell starts after `until` on the clock."""

    audits: tuple[Audit, ...] = ()
    until: float = math.inf


@dataclass(frozen=True)
class PhaseStarted:
    """The run as a whole does something else from now on, such as planning, for a paper or all."""

    name: str
    paper: str = ""


@dataclass(frozen=True)
class PlannedCell:
    """A cell of a plan; its steps, 0 if not known, and the seconds of its record, if it has one."""

    cell: Cell
    steps: int = 0
    seconds: float | None = None


@dataclass(frozen=True)
class PlanReady:
    """The cells that a run needs, with and without a record, in the order of their start."""

    cells: tuple[PlannedCell, ...]


@dataclass(frozen=True)
class CellStarted:
    """A cell has started: what computes it is imported first."""

    cell: Cell


Activity = Literal["compiling", "measuring", "waiting"]


@dataclass(frozen=True)
class CellActivity:
    """What a started cell does from now on; one that crashed is waiting to be started again."""

    cell: Cell
    activity: Activity


@dataclass(frozen=True)
class Progress:
    """A phase of a cell has done ``done`` of ``total`` steps."""

    cell: Cell
    phase: str
    done: int
    total: int


@dataclass(frozen=True)
class CellNote:
    """Lines on a cell: what was printed by what computes it, or what happened to it.

    For instance, the cell is run again since it crashed, its unreadable record was moved aside, or
    it gave other numbers than its earlier record. The lines may hold any character.
    """

    cell: Cell
    text: str


@dataclass(frozen=True)
class CellFinished:
    """A cell has its record, which this run or meanwhile another one has made."""

    cell: Cell
    record: Record


@dataclass(frozen=True)
class PaperFinished:
    """Every planned cell of a paper has its record; `planned` has the fingerprints."""

    paper: str
    planned: Mapping[TierKey, str]


Event = (
    WorkStarted
    | PhaseStarted
    | PlanReady
    | CellStarted
    | CellActivity
    | Progress
    | CellNote
    | CellFinished
    | PaperFinished
)
OnEvent = Callable[[Event], None]


def ignored(_news: object) -> None:
    """Take what a caller does not want to know."""


MayStart = Callable[[Cell], bool]


@dataclass
class Summary:
    """The number of cells that had a record before, and how the others ended."""

    present: int = 0
    completed: int = 0
    diverged: int = 0
    failed: int = 0
    # by paper, the fingerprint of each cell's record, and how many were left for other runs
    planned: dict[str, dict[TierKey, str]] = field(default_factory=dict, compare=False)
    left: Counter[str] = field(default_factory=Counter, compare=False)

    def plan(self, cell: Cell, fingerprint: str) -> None:
        """Notes under which fingerprint a cell has its record, or will have it."""
        self.planned.setdefault(cell.paper, {})[cell.tier, cell.key] = fingerprint

    def count(self, status: CellStatus) -> None:
        """Adds one cell that ended so."""
        setattr(self, status.value, getattr(self, status.value) + 1)
