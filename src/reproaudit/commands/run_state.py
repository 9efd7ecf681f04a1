"""What a run does now and how long it has left, in words: from its events and a clock alone.

The estimate comes from the seconds of finished cells: of the same experiment and settings, else of
the same experiment, by its number of steps. Where nothing is known of a cell that is left, it is a
lower bound, and where nothing is known of any, there is none.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from reproaudit.cell import Cell, canonical_settings
from reproaudit.records import CellStatus
from reproaudit.report.printable import clean
from reproaudit.running import events

CellId = tuple[str | int, ...]
"""A cell within a run."""

CellNames = Mapping[tuple[str, ...], str]
"""By paper, tier, experiment and canonical settings: what cells of these are to the judgement."""


class CellKind(NamedTuple):
    """What cells have in common that take about the same time."""

    paper: str
    experiment: str
    settings: str


def cell_kind_of(cell: Cell) -> CellKind:
    """Return the kind of a cell."""
    return CellKind(cell.paper, cell.experiment, canonical_settings(cell.settings))


def _id_of(cell: Cell) -> CellId:
    return (cell.paper, cell.tier, *cell.key)


class Costs:
    """The seconds that cells take, learned from those that have finished."""

    def __init__(self) -> None:
        self._steps: dict[CellKind, int] = {}
        self._of_kind: dict[CellKind, list[float]] = defaultdict(list)
        self._of_experiment: dict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)

    def plan(self, kind: CellKind, steps: int) -> None:
        """Note the steps of a kind of cells; 0 if they are not known."""
        self._steps[kind] = steps

    def add(self, kind: CellKind, seconds: float) -> None:
        """Note the seconds of a finished cell."""
        self._of_kind[kind].append(seconds)
        self._of_experiment[kind.paper, kind.experiment].append((seconds, self._steps[kind]))

    def of(self, kind: CellKind) -> float | None:
        """Return the seconds that a cell of a kind takes; None if nothing is known."""
        if same := self._of_kind.get(kind):
            return median(same)
        others = self._of_experiment.get((kind.paper, kind.experiment))
        if not others:
            return None
        steps = self._steps[kind]
        if steps and all(made for _, made in others):
            return steps * median(seconds / made for seconds, made in others)
        return median(seconds for seconds, _ in others)


@dataclass
class _Running:
    cell: Cell
    kind: CellKind
    steps: int
    activity: str = "importing"
    since: float = 0.0
    """When its activity began."""
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """By activity, how long it has taken before."""
    phases: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By phase, the steps done, of how many."""

    def turn_to(self, activity: str, now: float) -> None:
        self.seconds[self.activity] += now - self.since
        self.activity = activity
        self.since = now

    def measured(self, now: float) -> float:
        current = now - self.since if self.activity == "measuring" else 0.0
        return self.seconds["measuring"] + current

    @property
    def share(self) -> float | None:
        """The share of its steps that are done; None if their number is not known."""
        total = max(self.steps, sum(total for _, total in self.phases.values()))
        if not total or not self.phases:
            return None
        return min(sum(done for done, _ in self.phases.values()) / total, 1.0)

    def left(self, cost: float, now: float) -> float:
        share = self.share
        return max(cost - self.measured(now), 0.0) if share is None else cost * (1 - share)


class RunState:
    """What a run has done, what it does and what is left.

    Args:
        names: what cells are to the judgement.
        until: by the clock, when the last cell may start.
    """

    def __init__(
        self, clock: Callable[[], float], names: CellNames, until: float = math.inf
    ) -> None:
        self._clock = clock
        self._names = names
        self._until = until
        self._phase = "starting"
        self._plan: dict[CellId, events.PlannedCell] = {}
        self._varying: dict[tuple[str, str], list[str]] = {}
        self._waiting: Counter[CellKind] = Counter()
        self._running: dict[CellId, _Running] = {}
        self._most_at_once = 1
        self._costs = Costs()
        self.present = 0
        """The number of cells that had a record before."""

    @property
    def total(self) -> int:
        """The number of cells of the plan."""
        return len(self._plan)

    @property
    def finished(self) -> int:
        """The number of cells that have a record."""
        return self.total - self._waiting.total() - len(self._running)

    @property
    def done(self) -> float:
        """The share of the cells that is done, with parts of those that run."""
        parts = sum(one.share or 0.0 for one in self._running.values())
        return (self.finished + parts) / self.total if self.total else 0.0

    @property
    def phase(self) -> str:
        """What the run does now, in words."""
        activities = {one.activity for one in self._running.values()}
        for activity in ("compiling", "measuring", "importing"):
            if activity in activities:
                return activity
        return self._phase

    def take(self, event: events.Event) -> None:
        """Follow an event."""
        now = self._clock()
        match event:
            case events.PhaseStarted(name, paper):
                self._phase = f"{name} ({paper})" if paper else name
            case events.PlanReady(cells):
                self._begin(cells)
            case events.CellStarted(cell):
                self._start(cell, now)
            case events.CellActivity(cell, activity):
                self._turn(cell, activity, now)
            case events.Progress(cell, phase, done, total):
                if running := self._running.get(_id_of(cell)):
                    running.phases[phase] = (done, total)
            case events.CellFinished(cell, record):
                compiled = self._end(cell, now)
                if record.status is not CellStatus.FAILED and _id_of(cell) in self._plan:
                    self._costs.add(cell_kind_of(cell), max(record.seconds - compiled, 0.0))

    def _begin(self, cells: tuple[events.PlannedCell, ...]) -> None:
        self._phase = "starting"
        self._plan = {_id_of(one.cell): one for one in cells}
        self._waiting = Counter()
        self._running = {}
        self._varying = _varying(one.cell for one in cells)
        for one in cells:
            self._costs.plan(cell_kind_of(one.cell), one.steps)
        for one in cells:
            if one.seconds is None:
                self._waiting[cell_kind_of(one.cell)] += 1
            else:
                self._costs.add(cell_kind_of(one.cell), one.seconds)
        self.present = self.finished

    def _start(self, cell: Cell, now: float) -> None:
        if planned := self._plan.get(_id_of(cell)):
            running = _Running(cell, cell_kind_of(cell), planned.steps, since=now)
            self._running[_id_of(cell)] = running
            self._waiting[running.kind] -= 1
            self._most_at_once = max(self._most_at_once, len(self._running))
            self._phase = "measuring"

    def _turn(self, cell: Cell, activity: events.Activity, now: float) -> None:
        running = self._running.get(_id_of(cell))
        if running is None:
            return
        running.turn_to(activity, now)
        if activity == "waiting":
            del self._running[_id_of(cell)]
            self._waiting[running.kind] += 1

    def _end(self, cell: Cell, now: float) -> float:
        """End a cell, and return the seconds for which it was compiled."""
        running = self._running.pop(_id_of(cell), None)
        if running is not None:
            running.turn_to("finished", now)
            return running.seconds["compiling"]
        if self._waiting[cell_kind_of(cell)] > 0:  # another run has made its record
            self._waiting[cell_kind_of(cell)] -= 1
        return 0.0

    # --- the time left

    def left(self) -> tuple[float, bool] | None:
        """Return the seconds that are left and whether they are all; None if nothing is known."""
        now = self._clock()
        parts = list(self._parts(now))
        known = [(seconds, count) for seconds, count in parts if seconds is not None]
        if not known:
            return None
        work = sum(seconds * count for seconds, count in known)
        at_once = min(self._most_at_once, sum(count for _, count in parts))
        longest = max(seconds for seconds, _ in known)
        seconds = min(max(work / at_once, longest), self._until - now)
        return (seconds, len(known) == len(parts)) if seconds > 0 else None

    def _parts(self, now: float) -> Iterator[tuple[float | None, int]]:
        """The seconds that are left of a cell, None if not known, and of how many cells."""
        for one in self._running.values():
            cost = self._costs.of(one.kind)
            yield None if cost is None else one.left(cost, now), 1
        for kind, count in self._waiting.items():
            if count:
                yield self._costs.of(kind), count

    # --- words

    def head(self) -> str:
        """Return how many cells are finished, and the time left: ``5/20 cells, about 3 min left``.

        It is empty before there is a plan.
        """
        if not self.total:
            return ""
        counts = f"{self.finished}/{self.total} cells"
        left = self.left()
        if left is None:
            return counts
        seconds, is_all = left
        return f"{counts}, {'about' if is_all else 'at least'} {duration(seconds)} left"

    def cells(self, width: int) -> str:
        """Return the cells that run now, as many as fit into a width; the others are counted."""
        told = [self._told(one) for one in self._running.values()]
        text = "; ".join(told)
        for shown in range(len(told) - 1, 0, -1):
            if len(text) <= width:
                break
            text = "; ".join([*told[:shown], f"{len(told) - shown} more"])
        return text if len(text) <= width else f"{text[: width - 1]}…"

    def _told(self, one: _Running) -> str:
        share = one.share
        if one.activity != "measuring":
            how_far = one.activity
        elif share is not None:
            how_far = f"{share:.0%}".replace("%", " %")
        else:
            how_far = duration(one.measured(self._clock()))
        papers = {paper for paper, _ in self._varying}
        return f"{self.name(one.cell, with_paper=len(papers) > 1)}: {how_far}"

    def name(self, cell: Cell, *, with_paper: bool = True) -> str:
        """Return a cell in words: ``control shuffled: ahn2023 sparse, seed 3``."""
        kind = cell_kind_of(cell)
        named = self._names.get((kind.paper, cell.tier, kind.experiment, kind.settings), "")
        differ = ""
        if not named:
            varying = self._varying.get((cell.paper, cell.experiment), [])
            differ = "".join(f", {one}={cell.settings.get(one)}" for one in varying)
        part = f"{named}: " if named else ""
        paper = f"{cell.paper} " if with_paper else ""
        return clean(f"{part}{paper}{cell.experiment}{differ}, seed {cell.seed}")


def _varying(cells: Iterable[Cell]) -> dict[tuple[str, str], list[str]]:
    """By paper and experiment, the settings that differ between its cells."""
    values: dict[tuple[str, str], dict[str, set[str]]] = {}
    for cell in cells:
        of = values.setdefault((cell.paper, cell.experiment), {})
        for name, value in cell.settings.items():
            of.setdefault(name, set()).add(str(value))
    return {
        key: [name for name, found in of.items() if len(found) > 1] for key, of in values.items()
    }


def duration(seconds: float) -> str:
    """Return a time in words: ``40 s``, ``3 min``, ``2 h 05 min``."""
    whole = max(round(seconds), 1)
    if whole < 90:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"
