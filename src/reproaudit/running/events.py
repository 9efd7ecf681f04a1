"""The events that a run reports while it goes on, and its summary at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from reproaudit.cell import Cell
from reproaudit.records import CellStatus, Record
from reproaudit.running.groups import TierKey


@dataclass(frozen=True)
class PlanReady:
    """The work ahead: cells in all, cells with a record, and the steps of the others."""

    total: int
    done: int
    steps: int


@dataclass(frozen=True)
class CellStarted:
    """A cell has started."""

    cell: Cell


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

    It is run again once since it crashed; its unreadable record was moved aside; measured anew it
    gave other numbers than its earlier record. The lines may hold any character.
    """

    cell: Cell
    text: str


@dataclass(frozen=True)
class CellFinished:
    """A cell has its record, which this run or meanwhile another one has made."""

    cell: Cell
    record: Record


Event = PlanReady | CellStarted | Progress | CellNote | CellFinished
OnEvent = Callable[[Event], None]
MayStart = Callable[[Cell], bool]


@dataclass
class Summary:
    """The number of cells that had a record before, and how the others ended."""

    present: int = 0
    completed: int = 0
    diverged: int = 0
    failed: int = 0
    planned: dict[str, dict[TierKey, str]] = field(default_factory=dict, compare=False)
    """By paper, the fingerprint of each cell's record, there or to be made."""

    def plan(self, cell: Cell, fingerprint: str) -> None:
        """Notes under which fingerprint a cell has its record, or will have it."""
        self.planned.setdefault(cell.paper, {})[cell.tier, cell.key] = fingerprint

    def count(self, status: CellStatus) -> None:
        """Adds one cell that ended so."""
        setattr(self, status.value, getattr(self, status.value) + 1)
