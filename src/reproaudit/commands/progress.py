"""The live progress of a run: the part of the cell at work, how many are done, the time left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Role, arms_of
from reproaudit.audit.seeds import stored_tier
from reproaudit.cell import Cell
from reproaudit.commands.output import terminal
from reproaudit.records import CellStatus
from reproaudit.report.printable import printable
from reproaudit.running import events


def _parts_of(audit: Audit, tier: TierName) -> Iterator[tuple[tuple[str, ...], str]]:
    """The part of every cell of a tier in the judgement, by its tier, experiment and settings."""
    arms = [arm for claim in audit.claims for arm in arms_of(audit, claim)]
    for arm in sorted(arms, key=lambda arm: arm.role is Role.OWN):  # of several it is the last
        name = "" if arm.role is Role.OWN else f" {arm.name}"
        key = (audit.paper.slug, stored_tier(audit, tier), *arm.key(audit, tier))
        yield key, f"{arm.role.value}{name}: "


@contextmanager
def live_progress(
    audits: Iterable[Audit], tier: TierName, verbose: bool = False
) -> Iterator[events.OnEvent]:
    """Show a bar over all training steps with the time left, on standard error."""
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
    parts = {key: part for one in audits for key, part in _parts_of(one, tier)}
    with bar:
        yield _Watcher(bar, console, verbose, parts)


class _Watcher:
    """Follows the runner's events."""

    def __init__(
        self, bar: Progress, console: Console, verbose: bool, parts: dict[tuple[str, ...], str]
    ) -> None:
        self._bar = bar
        self._console = console
        self._verbose = verbose
        self._parts = parts
        self._task = bar.add_task("", total=None, cells="")
        self._done: dict[tuple[str | int, ...], int] = {}
        self._cells = self._finished = 0

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.PlanReady(total, done, steps):
                self._cells = total
                self._finished = done
                self._bar.update(self._task, total=max(steps, 1))
                cells = f"all {total} cells" if done == total else f"{total} cells, {done}"
                self._say(f"{cells} have records already")
            case events.CellStarted(cell):
                self._bar.update(self._task, description=self._name(cell))
            case events.Progress(cell, phase, done):
                key = (cell.paper, *cell.key, phase)
                advance = done - self._done.get(key, 0)
                self._done[key] = done
                words = f"{self._name(cell)}, {phase}"
                self._bar.update(self._task, advance=advance, description=words)
            case events.CellNote(cell, text):
                name = self._name(cell)
                self._say("\n".join(f"{name} | {line}" for line in text.split("\n")))
            case events.CellFinished(cell, record):
                self._finished += 1
                if record.status is not CellStatus.COMPLETED:
                    self._say(f"{self._name(cell)}: {record.status.value}: {record.error}")
                    if self._verbose and record.traceback:
                        self._say(record.traceback.rstrip())
                elif self._bar.disable:
                    self._say(f"{self._finished}/{self._cells} {self._name(cell)}")
        self._bar.update(self._task, cells=f"{self._finished}/{self._cells} cells")

    def _name(self, cell: Cell) -> str:
        """Return a cell with its part: ``null shuffled: ahn2023 sparse, seed 3``."""
        experiment, settings, seed = cell.key
        part = self._parts.get((cell.paper, cell.tier, experiment, settings), "")
        return f"{part}{cell.paper} {experiment}, seed {seed}"

    def _say(self, text: str) -> None:
        self._console.print(printable(text), highlight=False, markup=False, emoji=False)
