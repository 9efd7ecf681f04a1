"""The progress of a run, on standard error: two lines of a terminal, or a line now and then."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from reproaudit.audit.model import TIERS, Audit
from reproaudit.audit.plan import Role, alternatives_of, arms_of, varied_tier
from reproaudit.audit.seeds import stored_tier
from reproaudit.commands.output import terminal
from reproaudit.commands.run_state import RunState
from reproaudit.records import CellStatus
from reproaudit.report.printable import clean, printable
from reproaudit.running import events
from reproaudit.running.adoptions import adoption_tier

BAR_WIDTH = 20

LOOK_SECONDS = 0.5
"""The seconds between looks whether a line is due, where there is no terminal."""

LINE_SECONDS = 30.0
"""A line is due after so long."""

LINE_SHARE = 0.05
"""A line is due when such a share more of the cells is done."""

LINE_CELLS = 200
"""The characters of a line that name the cells which run."""


def _names(audit: Audit) -> Iterator[tuple[tuple[str, ...], str]]:
    """What cells are to the judgement, by their paper, tier, experiment and settings."""
    planned = [(arm, False) for claim in audit.claims for arm in arms_of(audit, claim)]
    planned += [(arm, True) for claim in audit.claims for arm in alternatives_of(audit, claim)]
    for arm, is_alternative in sorted(planned, key=lambda one: one[0].role is Role.OWN):
        name = arm.role.value if arm.role is Role.OWN else f"{arm.role.value} {arm.name}"
        for tier in TIERS:
            kept = stored_tier(audit, tier)
            place = varied_tier(kept) if is_alternative else kept
            for one in (place, adoption_tier(place)):
                yield (audit.paper.slug, one, *arm.key(audit, tier)), name


@contextmanager
def live_progress(
    audits: Iterable[Audit] = (), verbose: bool = False, until: float = math.inf
) -> Iterator[events.OnEvent]:
    """Show what a run does, which cells run, and the time left; give what takes its events.

    Args:
        audits: from which it is known what cells are to the judgement.
        until: by `time.monotonic`, when the last cell may start.
    """
    console = terminal(stderr=True)
    names = {key: name for audit in audits for key, name in _names(audit)}
    watch = _Watch(RunState(time.monotonic, names, until), console, verbose)
    shown = watch.on_terminal() if is_interactive(console) else watch.as_lines()
    with shown:
        yield watch


def is_interactive(console: Console) -> bool:
    """Tell whether lines can be written anew."""
    return console.is_terminal and not console.is_dumb_terminal


class _Watch:
    """Follows the runner's events, from whose thread others read."""

    def __init__(self, state: RunState, console: Console, verbose: bool) -> None:
        self._state = state
        self._console = console
        self._verbose = verbose
        self._lock = threading.Lock()

    def __call__(self, event: events.Event) -> None:
        with self._lock:
            self._state.take(event)
            name = self._state.name
        match event:
            case events.PlanReady():
                total = self._state.total
                done = self._state.finished
                cells = f"all {total} cells" if done == total else f"{total} cells, {done}"
                self._say(f"{cells} have records already")
            case events.CellNote(cell, text):
                self._say("\n".join(f"{name(cell)} | {line}" for line in text.split("\n")))
            case events.CellFinished(cell, record) if record.status is not CellStatus.COMPLETED:
                self._say(f"{name(cell)}: {record.status.value}: {record.error}")
                if self._verbose and record.traceback:
                    self._say(record.traceback.rstrip())

    def _say(self, text: str) -> None:
        self._console.print(printable(text), soft_wrap=True)

    def on_terminal(self) -> Live:
        """Return what shows two lines, which are written anew and removed in the end."""
        return Live(
            get_renderable=self._two_lines,
            console=self._console,
            refresh_per_second=4,
            transient=True,
        )

    def _two_lines(self) -> Group:
        width = self._console.width
        with self._lock:
            phase = self._state.phase
            done = self._state.done if self._state.total else None
            head = self._state.head()
            cells = self._state.cells(width)
        first = Table.grid(padding=(0, 1))
        if done is None:
            first.add_row(_line(phase))
        else:
            bar = ProgressBar(total=1.0, completed=done, width=BAR_WIDTH)
            first.add_row(_line(phase), bar, _line(head))
        return Group(first, *([_line(cells)] if cells else []))

    @contextmanager
    def as_lines(self) -> Iterator[None]:
        """Print a line when one is due, in a thread of its own."""
        ended = threading.Event()
        lines = DueLines(self._state)

        def look() -> None:
            while not ended.wait(LOOK_SECONDS):
                with self._lock:
                    line = lines.due(time.monotonic())
                if line is not None:
                    self._say(line)

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            if self._state.finished > self._state.present:
                self._say(f"{self._state.finished}/{self._state.total} cells have records now")


def _line(text: str) -> Text:
    return Text(clean(text), no_wrap=True, overflow="ellipsis")


class DueLines:
    """The lines on a run where none can be written anew.

    One is due when the run does something else at two looks in a row, so that what ends at once has
    none, when `LINE_SHARE` more is done, and after `LINE_SECONDS`.
    """

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._told = self._seen = ""
        self._share = 0.0
        self._since: float | None = None

    def due(self, now: float) -> str | None:
        """Look at the run, and return the line that is due, if one is."""
        state = self._state
        if self._since is None:
            self._since = now
            self._share = state.done
        lasts = state.phase == self._seen
        self._seen = state.phase
        is_other = lasts and state.phase != self._told
        has_more = state.done - self._share >= LINE_SHARE
        if not is_other and not has_more and now - self._since < LINE_SECONDS:
            return None
        self._told = state.phase
        self._share = state.done
        self._since = now
        told = [f"{state.phase}: {state.head()}" if state.total else state.phase]
        return "; ".join([*told, *filter(None, [state.cells(LINE_CELLS)])])
