"""The live progress of a run: the part of the cell at work, how many are done, the time left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch, Role, arms_of, plan
from reproaudit.cell import Cell, canonical_settings
from reproaudit.commands.output import terminal
from reproaudit.records import CellStatus
from reproaudit.report.printable import printable
from reproaudit.running.events import (
    CellAgain,
    CellFinished,
    CellPrinted,
    CellStarted,
    Event,
    NotRepeated,
    OnEvent,
    PlanReady,
    SetAside,
)
from reproaudit.running.events import Progress as Advance

Roles = Mapping[tuple[str | int, ...], str]
"""The part of a cell in a few words, by paper, tier and the cell's key."""


def parts_of(audit: Audit, tier: TierName) -> Iterator[tuple[str, Batch]]:
    """Yields every batch of a tier with its role, and the name of its arm."""
    names = {
        arm.key(audit, tier): arm.name for claim in audit.claims for arm in arms_of(audit, claim)
    }
    for role, batch in plan(audit, tier):
        key = batch.experiment, canonical_settings(batch.settings(audit))
        name = "" if role is Role.OWN else names.get(key, "")
        yield f"{role.value} {name}".rstrip(), batch


@contextmanager
def live_progress(verbose: bool = False, roles: Roles = MappingProxyType({})) -> Iterator[OnEvent]:
    """A bar over all training steps with the time left, on standard error.

    Args:
        verbose: whether to print the traceback of a cell that failed.
        roles: the part that each cell has in the judgement.
    """
    console = terminal(stderr=True)
    bar = Progress(
        TextColumn("{task.fields[cells]}"),
        BarColumn(bar_width=10),
        TextColumn("{task.percentage:>3.0f} %, left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
        console=console,
        disable=not console.is_terminal,
    )
    watcher = _Watcher(bar, console, verbose, roles)
    with bar:
        yield watcher


class _Watcher:
    """Follows the runner's events."""

    def __init__(self, bar: Progress, console: Console, verbose: bool, roles: Roles) -> None:
        self._bar, self._console, self._verbose = bar, console, verbose
        self._roles = roles
        self._task = bar.add_task("", total=None, cells="")
        self._done: dict[tuple[str | int, ...], int] = {}
        self._cells = self._finished = 0

    def _name(self, cell: Cell) -> str:
        """Returns a cell with its part: ``control shuffled: ahn2023 sparse, seed 3``."""
        part = self._roles.get((cell.paper, cell.tier, *cell.key))
        return _name(cell) if part is None else f"{part}: {_name(cell)}"

    def __call__(self, event: Event) -> None:
        if isinstance(event, PlanReady):
            self._cells, self._finished = event.total, event.done
            self._bar.update(self._task, total=max(event.steps, 1))
            if event.done == event.total:
                self._say(f"all {event.total} cells have records already")
            else:
                self._say(f"{event.total} cells, {event.done} have records already")
        elif isinstance(event, CellStarted):
            self._bar.update(self._task, description=self._name(event.cell))
        elif isinstance(event, Advance):
            self._advance(event)
        elif isinstance(event, CellPrinted):
            name = self._name(event.cell)
            self._say("\n".join(f"{name} | {line}" for line in event.text.split("\n")))
        elif isinstance(event, CellAgain):
            self._say(f"{self._name(event.cell)}: run again: {event.error}")
        elif isinstance(event, CellFinished):
            self._finished += 1
            if event.record.status is not CellStatus.COMPLETED:
                record = event.record
                self._say(f"{self._name(event.cell)}: {record.status.value}: {record.error}")
                if self._verbose and record.traceback:
                    self._say(record.traceback.rstrip())
            elif self._bar.disable:
                self._say(f"{self._finished}/{self._cells} {self._name(event.cell)}")
        elif isinstance(event, NotRepeated):
            self._say(f"{self._name(event.cell)}: other numbers than before, whose record is kept")
            for line in event.differences:
                self._say(f"  {line}")
        elif isinstance(event, SetAside):
            self._say(f"moved an unreadable record to {event.path}: {event.reason}")
        cells = f"{self._finished}/{self._cells} cells"
        self._bar.update(self._task, cells=cells)

    def _advance(self, event: Advance) -> None:
        key = (event.cell.paper, *event.cell.key, event.phase)
        before = self._done.get(key, 0)
        self._done[key] = event.done
        self._bar.update(
            self._task,
            advance=event.done - before,
            description=f"{self._name(event.cell)}, {event.phase}",
        )

    def _say(self, text: str) -> None:
        self._console.print(printable(text), highlight=False, markup=False, emoji=False)


def _name(cell: Cell) -> str:
    return f"{cell.paper} {cell.experiment}, seed {cell.seed}"
