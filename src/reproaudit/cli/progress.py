"""The progress of a run, on standard error: two lines of a terminal, or a line now and then."""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, Task, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from reproaudit.audit.arms import Role, alternatives_of, arms_of
from reproaudit.audit.model import TIERS, Audit
from reproaudit.audit.plan import varied_tier
from reproaudit.audit.seeds import stored_tier
from reproaudit.cell import Cell, canonical_settings
from reproaudit.cli.output import terminal
from reproaudit.records import CellStatus
from reproaudit.report.printable import clean, printable
from reproaudit.run import events
from reproaudit.store.adoptions import adoption_tier

LEAST_WIDTH = 20  # of the two lines
LOOK_SECONDS = 0.5  # between looks whether a line is due, where there is no terminal
LINE_SECONDS = 30.0  # a line is due after so long
LINE_SHARE = 0.05  # or when such a share more of the cells is done
LINE_CELLS = 200  # the characters of a line that name the cells which run
CellId = tuple[str | int, ...]


class WorkProgress:
    """Shows what the service does: a view for each work that it starts, until the ``with`` ends."""

    def __init__(self, verbose: bool = False) -> None:
        self._verbose = verbose
        self._shown = ExitStack()
        self._watch: Watch | None = None

    def __call__(self, event: events.Event) -> None:
        """Follow an event."""
        if isinstance(event, events.WorkStarted):
            self._shown.close()
            console = terminal(stderr=True, narrowest=LEAST_WIDTH)
            arms = {key: name for audit in event.audits for key, name in _arms(audit)}
            watch = Watch(console, CellNames(arms), self._verbose, event.until)
            is_interactive = console.is_terminal and not console.is_dumb_terminal
            self._shown.enter_context(watch if is_interactive else _lines_of(watch))
            self._watch = watch
        elif self._watch is not None:
            self._watch(event)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the view off the terminal while something else is printed there."""
        with nullcontext() if self._watch is None else self._watch.paused():
            yield

    def __enter__(self) -> WorkProgress:
        return self

    def __exit__(self, *_error: object) -> None:
        self._shown.close()


class Watch(Progress):
    """Follows a run's events, in whose thread it is called; others may read it.

    Its visible task is the run, counted in cells with the parts of those that run; each other task
    is a cell that runs, counted in steps.
    """

    def __init__(
        self,
        console: Console,
        names: CellNames,
        verbose: bool = False,
        until: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._names = names
        self._verbose = verbose
        self._until = until
        self._steps: dict[CellId, int] = {}
        self._running: dict[CellId, TaskID] = {}
        self._stage = "starting"
        self.present = 0  # cells that had a record before
        self.recorded = 0  # and that have one now, or failed
        self.failed = 0
        super().__init__(
            _text("{task.description}"),
            BarColumn(bar_width=20),
            _text("{task.fields[head]}"),
            console=console,
            refresh_per_second=4,
            speed_estimate_period=math.inf,
            transient=True,
            get_time=clock,
        )
        self._run = self.add_task(self._stage, total=None)

    # --- events

    def __call__(self, event: events.Event) -> None:
        """Follow an event, and say what should stay to be read."""
        with self._lock:
            self._take(event)
            activity = clean(self.activity)
            parts = sum(task.completed / task.total for task in self._cells() if task.total)
            self.update(self._run, description=activity, completed=self.recorded + parts)
        for text in self._remarks(event):
            self._say(text)

    def _take(self, event: events.Event) -> None:
        match event:
            case events.PhaseStarted(name, paper):
                self._stage = f"{name} ({paper})" if paper else name
            case events.PlanReady(cells):
                self._begin(cells)
            case events.CellStarted(cell):
                self._start(cell)
            case events.CellActivity(cell, "waiting"):
                self._end(cell)
            case events.CellActivity(cell, activity) if _id_of(cell) in self._running:
                self.update(self._running[_id_of(cell)], activity=activity)
            case events.Progress(cell, phase, done, total) if _id_of(cell) in self._running:
                self._advance(cell, phase, done, total)
            case events.CellFinished(cell, record):
                self._end(cell)
                is_planned = _id_of(cell) in self._steps
                self.recorded += is_planned
                self.failed += is_planned and record.status is CellStatus.FAILED

    def _begin(self, cells: tuple[events.PlannedCell, ...]) -> None:
        for task in list(self._running.values()):
            self.remove_task(task)
        self._running = {}
        self._stage = "starting"
        self._names.plan(planned.cell for planned in cells)
        self._steps = {_id_of(planned.cell): planned.steps for planned in cells}
        self.present = self.recorded = sum(planned.seconds is not None for planned in cells)
        self.failed = 0
        self.reset(self._run, total=len(cells), completed=self.present)

    def _start(self, cell: Cell) -> None:
        steps = self._steps.get(_id_of(cell))
        if steps is not None:
            self._stage = "measuring"
            name = self._names.name(cell)
            task = self.add_task(
                name, total=steps or None, visible=False, activity="importing", phases={}
            )
            self._running[_id_of(cell)] = task

    def _advance(self, cell: Cell, phase: str, done: int, total: int) -> None:
        """Note the steps of a phase; a cell may have more than were planned."""
        key = _id_of(cell)
        phases = self._tasks[self._running[key]].fields["phases"]
        phases[phase] = (done, total)
        whole = max(self._steps[key], sum(total for _, total in phases.values()))
        at = min(sum(done for done, _ in phases.values()), whole)
        self.update(self._running[key], total=whole, completed=at)

    def _end(self, cell: Cell) -> None:
        task = self._running.pop(_id_of(cell), None)
        if task is not None:
            self.remove_task(task)

    def _remarks(self, event: events.Event) -> Iterator[str]:
        name = partial(self._names.name, with_paper=True)
        match event:
            case events.PlanReady():
                total = self.total
                cells = f"{total} cells, {self.recorded}" if self.recorded < total else ""
                yield f"{cells or f'all {total} cells'} have records already"
            case events.CellNote(cell, text):
                yield "\n".join(f"{name(cell)} | {line}" for line in text.split("\n"))
            case events.CellFinished(cell, record) if record.status is not CellStatus.COMPLETED:
                yield f"{name(cell)}: {record.status.value}: {record.error}"
                if self._verbose and record.traceback:
                    yield record.traceback.rstrip()

    def _say(self, text: str) -> None:
        self.console.print(printable(text), soft_wrap=True)

    # --- what is shown

    @property
    def total(self) -> int:
        """The number of cells of the plan."""
        return len(self._steps)

    @property
    def activity(self) -> str:
        """What the run does now, in words."""
        activities = {task.fields["activity"] for task in self._cells()}
        ordered = ("compiling", "measuring", "importing")
        return next((activity for activity in ordered if activity in activities), self._stage)

    @property
    def share(self) -> float:
        """The share of the cells that is done, with parts of those that run."""
        return self._tasks[self._run].percentage / 100

    def head(self) -> str:
        """Return how many cells of the plan are done: ``5/20 cells, about 3 min left``."""
        if not self.total:
            return ""
        counts = f"{self.recorded}/{self.total} cells"
        left = min(self._tasks[self._run].time_remaining or 0, self._until - self.get_time())
        return f"{counts}, about {duration(left)} left" if left > 0 else counts

    def ending(self) -> str:
        """Return how many cells have records, and how many failed: these have none."""
        kept = f"{self.recorded - self.failed}/{self.total} cells have records now"
        return f"{kept}, {self.failed} failed" if self.failed else kept

    def cells(self, width: int) -> str:
        """Return the cells that run now, as many as fit into a width; the others are counted."""
        named = [f"{task.description}: {_how_far(task)}" for task in self._cells()]
        text = "; ".join(named)
        for shown in range(len(named) - 1, 0, -1):
            if len(text) <= width:
                break
            text = "; ".join([*named[:shown], f"{len(named) - shown} more"])
        return text if len(text) <= width else f"{text[: width - 1]}…"

    def line(self) -> str:
        """Return all of it in a line, for a file."""
        whole = f"{self.activity}: {self.head()}" if self.total else self.activity
        return "; ".join(filter(None, [whole, self.cells(LINE_CELLS)]))

    def refresh(self) -> None:
        """Leave it to the thread that does it now and then, as this one may hold what it needs."""

    def get_renderables(self) -> Iterator[RenderableType]:
        """Yield the line of the run, and that of the cells that run."""
        with self._lock:
            for task in self.tasks:
                task.fields["head"] = self.head()
            yield self.make_tasks_table(self.tasks)
            if self._running:
                yield Text(clean(self.cells(self.console.width)), no_wrap=True, overflow="ellipsis")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the lines off the terminal while something else is printed there."""
        was_shown = self.live.is_started
        self.live.stop()
        try:
            yield
        finally:
            if was_shown:
                self.start()

    def _cells(self) -> Iterator[Task]:
        return (self._tasks[task] for task in self._running.values())


def _text(form: str) -> TextColumn:
    column = Column(no_wrap=True, overflow="ellipsis")
    return TextColumn(form, markup=False, table_column=column)


def _id_of(cell: Cell) -> CellId:
    return (cell.paper, cell.tier, *cell.key)


def _how_far(task: Task) -> str:
    if task.fields["activity"] != "measuring":
        return str(task.fields["activity"])
    if task.fields["phases"]:
        return f"{task.percentage:.0f} %"
    return duration(task.elapsed or 0.0)


# --- lines of a file ------------------------------------------------------------------------------


@contextmanager
def _lines_of(watch: Watch) -> Iterator[None]:
    """Print a line when one is due, in a thread of its own."""
    ended = threading.Event()
    lines = DueLines(watch)

    def look() -> None:
        while not ended.wait(LOOK_SECONDS):
            line = lines.due()
            if line is not None:
                watch._say(line)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        if watch.recorded > watch.present:
            watch._say(watch.ending())


class DueLines:
    """The lines on a run where none can be written anew.

    One is due when the run does something else at two looks in a row, so that what ends at once has
    none, when `LINE_SHARE` more is done, and after `LINE_SECONDS`.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._printed = self._seen = ""
        self._share = 0.0
        self._since: float | None = None

    def due(self) -> str | None:
        """Look at the run, and return the line that is due, if one is."""
        with self._watch._lock:
            activity = self._watch.activity
            share = self._watch.share
            line = self._watch.line()
        now = self._watch.get_time()
        if self._since is None:
            self._since = now
            self._share = share
        lasts = activity == self._seen
        self._seen = activity
        is_other = lasts and activity != self._printed
        has_more = share - self._share >= LINE_SHARE
        if not is_other and not has_more and now - self._since < LINE_SECONDS:
            return None
        self._printed = activity
        self._share = share
        self._since = now
        return line


def duration(seconds: float) -> str:
    """Return a time in words: ``40 s``, ``3 min``, ``2 h 05 min``."""
    whole = max(round(seconds), 1)
    if whole < 90:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


# --- names of cells -------------------------------------------------------------------------------

Arms = Mapping[tuple[str, ...], str]
"""By paper, tier, experiment and canonical settings: the arm that cells of these belong to."""


def _arms(audit: Audit) -> Iterator[tuple[tuple[str, ...], str]]:
    planned = [(arm, False) for claim in audit.claims for arm in arms_of(audit, claim)]
    planned += [(arm, True) for claim in audit.claims for arm in alternatives_of(audit, claim)]
    for arm, is_alternative in sorted(planned, key=lambda plan: plan[0].role is Role.OWN):
        name = arm.role.value if arm.role is Role.OWN else f"{arm.role.value} {arm.name}"
        for tier in TIERS:
            kept = stored_tier(audit, tier)
            place = varied_tier(kept) if is_alternative else kept
            for stored in (place, adoption_tier(place)):
                yield (audit.paper.slug, stored, *arm.key(audit, tier)), name


class CellNames:
    """Names cells by their arms, and cells without one by the settings that differ in a plan."""

    def __init__(self, arms: Arms) -> None:
        self._arms = arms
        self._varying: dict[tuple[str, str], list[str]] = {}
        self._has_papers = False

    def plan(self, cells: Iterable[Cell]) -> None:
        """Note the cells of a plan."""
        values: dict[tuple[str, str], dict[str, set[str]]] = {}
        for cell in cells:
            of_settings = values.setdefault((cell.paper, cell.experiment), defaultdict(set))
            for name, value in cell.settings.items():
                of_settings[name].add(str(value))
        self._varying = {
            key: [name for name, texts in of_settings.items() if len(texts) > 1]
            for key, of_settings in values.items()
        }
        self._has_papers = len({paper for paper, _ in values}) > 1

    def name(self, cell: Cell, *, with_paper: bool = False) -> str:
        """Return a name: ``control shuffled: sparse, seed 3``; if plans have several, the paper."""
        settings = canonical_settings(cell.settings)
        arm = self._arms.get((cell.paper, cell.tier, cell.experiment, settings), "")
        varying = [] if arm else self._varying.get((cell.paper, cell.experiment), [])
        differ = "".join(f", {name}={cell.settings.get(name)}" for name in varying)
        start = f"{arm}: " if arm else ""
        paper = f"{cell.paper} " if with_paper or self._has_papers else ""
        return clean(f"{start}{paper}{cell.experiment}{differ}, seed {cell.seed}")
