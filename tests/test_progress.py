"""What a run says of itself while it goes on: counts, cells, the time left, and when."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from cells import cell
from reproaudit.cell import Cell, canonical_settings
from reproaudit.commands import progress
from reproaudit.commands.progress import LINE_SECONDS, LOOK_SECONDS, DueLines
from reproaudit.commands.run_state import RunState, duration
from reproaudit.records import CellStatus, Environment, Measurements, Record
from reproaudit.running import events

NAME = "null stays"


def record(of: Cell, seconds: float, status: CellStatus = CellStatus.COMPLETED) -> Record:
    made = Environment(python="3.11", platform="", device="cpu", threads=1, packages={})
    return Record.model_construct(
        paper=of.paper,
        tier=of.tier,
        experiment=of.experiment,
        settings=dict(of.settings),
        seed=of.seed,
        status=status,
        seconds=seconds,
        error="no good",
        traceback=None,
        environment=made,
        measurements=Measurements(),
    )


@dataclass
class Run:
    """A run in which time passes when it is told to."""

    planned: list[events.PlannedCell]
    now: float = 0.0
    until: float = float("inf")
    state: RunState = field(init=False)

    def __post_init__(self) -> None:
        of = cell("named")
        names = {(of.paper, of.tier, of.experiment, canonical_settings(of.settings)): NAME}
        self.state = RunState(lambda: self.now, names, self.until)
        self.take(events.PlanReady(tuple(self.planned)))

    def take(self, event: events.Event) -> None:
        self.state.take(event)

    def start(self, one: Cell) -> None:
        self.take(events.CellStarted(one))
        self.take(events.CellActivity(one, "measuring"))

    def finish(self, one: Cell, seconds: float) -> None:
        self.take(events.CellFinished(one, record(one, seconds)))


def planned(*cells: Cell, steps: int = 0, seconds: float | None = None) -> list[events.PlannedCell]:
    return [events.PlannedCell(one, steps, seconds) for one in cells]


def played(run: Run, waiting: list[Cell], workers: int, cost: float, tick: float) -> Iterator[None]:
    """Runs cells of one cost, and stops after each event and at least once in a tick."""
    ends: dict[int, float] = {}
    while waiting or ends:
        while waiting and len(ends) < workers:
            one = waiting.pop(0)
            run.start(one)
            ends[one.seed] = run.now + cost
            yield
        seed, end = min(ends.items(), key=lambda item: item[1])
        while run.now + tick < end:
            run.now += tick
            yield
        run.now = end
        yield
        del ends[seed]
        run.finish(next(one.cell for one in run.planned if one.cell.seed == seed), cost)
        yield


@given(
    experiments=st.lists(st.sampled_from("abc"), min_size=1, max_size=12),
    present=st.integers(0, 12),
    workers=st.integers(1, 4),
    cost=st.floats(0.5, 500),
    tick=st.floats(0.3, 1.0),
)
def test_counts_stay_within_the_plan_and_the_time_left_falls(
    experiments: list[str], present: int, workers: int, cost: float, tick: float
) -> None:
    cells = [cell(name, seed) for seed, name in enumerate(experiments)]
    made = planned(*cells[:present], seconds=cost) + planned(*cells[present:])
    run = Run(made)
    known = {one.experiment for one in cells[:present]}
    before = float("inf")
    share = run.state.done
    counts = set()
    for _ in played(run, cells[present:], workers, cost, cost * tick):
        state = run.state
        counts.add(state.finished)
        assert 0 <= state.finished <= state.total == len(cells)
        assert share <= state.done <= 1
        share = state.done
        known |= {one.experiment for one in cells[: state.finished] if workers == 1}
        left = state.left()
        if left is None:
            assert "left" not in state.head()
            continue
        seconds, is_all = left
        assert seconds > 0
        if is_all:
            assert seconds <= before + 1e-6 * cost
            before = seconds
            if workers == 1:
                assert known >= {one.experiment for one in cells[state.finished :]}
    assert counts <= set(range(min(present, len(cells)), len(cells) + 1))
    assert run.state.finished == run.state.total
    assert run.state.left() is None


def test_nothing_is_said_before_anything_is_known() -> None:
    run = Run(planned(cell(seed=0), cell(seed=1)))
    run.start(cell(seed=0))
    run.now = 1000.0
    assert run.state.left() is None
    assert run.state.head() == "0/2 cells"


def test_cells_cost_what_their_like_did_else_by_steps_what_their_experiment_did() -> None:
    like, slow, other = cell(seed=9), cell(rate=0.5), cell("other")
    run = Run(
        [
            *planned(cell(seed=0), steps=10, seconds=4.0),
            *planned(cell(seed=1), steps=10, seconds=6.0),
            *planned(like, steps=10),
            *planned(slow, steps=30),
            *planned(other),
        ]
    )
    assert run.state.left() == (5.0 + 15.0, False)
    assert run.state.head() == "2/5 cells, at least 20 s left"
    for one, seconds in ((other, 100.0), (slow, 7.0)):
        run.start(one)
        run.finish(one, seconds)
    assert run.state.left() == (5.0, True)
    assert run.state.head() == "4/5 cells, about 5 s left"


def test_compiling_and_failing_teach_nothing_of_what_cells_cost() -> None:
    cells = [cell(seed=seed) for seed in range(4)]
    run = Run(planned(*cells))
    run.start(cells[0])
    run.take(events.CellActivity(cells[0], "compiling"))
    assert (run.state.phase, run.state.cells(80)) == (
        "compiling",
        "descent, seed 0: compiling",
    )
    run.now = 60.0
    run.take(events.CellActivity(cells[0], "measuring"))
    run.now = 70.0
    run.finish(cells[0], 70.0)
    assert run.state.left() == (30.0, True)
    run.start(cells[1])
    run.take(events.CellFinished(cells[1], record(cells[1], 0.1, CellStatus.FAILED)))
    assert run.state.left() == (20.0, True)


def test_a_crashed_cell_waits_and_one_of_another_run_is_done() -> None:
    cells = [cell(seed=seed) for seed in range(3)]
    run = Run(planned(*cells))
    run.start(cells[0])
    run.take(events.CellActivity(cells[0], "waiting"))
    assert (run.state.finished, run.state.cells(80)) == (0, "")
    run.finish(cells[1], 8.0)
    assert (run.state.finished, run.state.left()) == (1, (16.0, True))
    run.start(cells[0])
    run.finish(cells[0], 8.0)
    assert run.state.finished == 2


def test_the_time_left_ends_when_no_cell_may_start_any_more() -> None:
    run = Run(planned(cell(seed=0), seconds=50.0) + planned(cell(seed=1)), until=30.0)
    assert run.state.left() == (30.0, True)
    run.now = 31.0
    assert run.state.left() is None


def test_phases_of_the_run_and_of_its_cells() -> None:
    run = Run([])
    for name, paper, says in (
        ("planning", "toy2020", "planning (toy2020)"),
        ("reading records", "", "reading records"),
    ):
        run.take(events.PhaseStarted(name, paper))
        assert run.state.phase == says
    run.take(events.PlanReady(tuple(planned(cell(seed=0), cell(seed=1)))))
    assert run.state.phase == "starting"
    run.take(events.CellStarted(cell(seed=0)))
    assert run.state.phase == "importing"
    run.start(cell(seed=1))
    assert run.state.phase == "measuring"
    run.take(events.CellActivity(cell(seed=0), "compiling"))
    assert run.state.phase == "compiling"
    run.finish(cell(seed=0), 1.0)
    run.finish(cell(seed=1), 1.0)
    run.take(events.PhaseStarted("judging", "toy2020"))
    assert run.state.phase == "judging (toy2020)"


def test_cells_are_named_by_what_they_are_to_the_judgement_else_by_what_differs() -> None:
    cells = [cell("named"), cell("sums", rate=0.1), cell("sums", rate=0.2)]
    run = Run(planned(*cells, steps=40))
    names = [run.state.name(one) for one in cells]
    assert names == [
        f"{NAME}: toy2020 named, seed 0",
        "toy2020 sums, rate=0.1, seed 0",
        "toy2020 sums, rate=0.2, seed 0",
    ]
    for one in cells[:2]:
        run.start(one)
    run.take(events.Progress(cells[0], "first", 10, 20))
    run.take(events.Progress(cells[0], "second", 5, 20))
    run.now = 12.0
    assert run.state.cells(80) == f"{NAME}: named, seed 0: 38 %; sums, rate=0.1, seed 0: 12 s"
    assert run.state.cells(45) == f"{NAME}: named, seed 0: 38 %; 1 more"
    other = Cell("other", "quick", "sums", cells[1].settings, 0)
    run.take(events.PlanReady(tuple(planned(other, cells[0]))))
    run.start(other)
    assert run.state.cells(80) == "other sums, seed 0: 1 s"


@given(
    width=st.integers(20, 120),
    labels=st.lists(st.text(min_size=1, max_size=40), max_size=6),
)
def test_a_terminal_has_two_lines_that_do_not_wrap(width: int, labels: list[str]) -> None:
    cells = [cell(label, seed) for seed, label in enumerate(labels)]
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    run = Run(planned(*cells))
    for one in cells:
        run.start(one)
    watch = progress._Watch(run.state, console, verbose=False)
    shown = console.render_lines(watch._two_lines())
    assert len(shown) <= 2
    assert all(sum(part.cell_length for part in line) <= width for line in shown)


# --- lines ------------------------------------------------------------------------------------


def looked(run: Run, lines: DueLines, seconds: float) -> list[str]:
    found = []
    for _ in range(round(seconds / LOOK_SECONDS)):
        run.now += LOOK_SECONDS
        found.append(lines.due(run.now))
    return [line for line in found if line is not None]


def test_a_line_is_due_at_a_change_of_phase_after_a_while_and_when_more_is_done() -> None:
    cells = [cell(seed=seed) for seed in range(100)]
    run = Run(planned(*cells))
    lines = DueLines(run.state)
    run.start(cells[0])
    assert looked(run, lines, 10) == ["measuring: 0/100 cells; descent, seed 0: 1 s"]
    run.take(events.CellActivity(cells[0], "compiling"))
    assert looked(run, lines, 1) == ["compiling: 0/100 cells; descent, seed 0: compiling"]
    run.take(events.CellActivity(cells[0], "measuring"))
    looked(run, lines, 1)
    assert len(looked(run, lines, 10 * LINE_SECONDS)) == 10
    run.finish(cells[0], 1.0)
    told = []
    for one in cells[1:]:
        run.start(one)
        run.finish(one, 1.0)
        told += looked(run, lines, LOOK_SECONDS)
    assert 18 <= len(told) <= 21
    assert "about" in told[0]


def test_what_ends_at_once_has_no_line() -> None:
    cells = [cell(seed=seed) for seed in range(2)]
    run = Run(planned(*cells))
    lines = DueLines(run.state)
    run.start(cells[0])
    assert len(looked(run, lines, 2)) == 1
    activities: list[events.Activity] = ["compiling", "measuring"]
    for activity in activities * 5:
        run.take(events.CellActivity(cells[0], activity))
        assert looked(run, lines, LOOK_SECONDS) == []


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (0.2, "1 s"),
        (89.4, "89 s"),
        (90, "2 min"),
        (3000, "50 min"),
        (5399, "1 h 30 min"),
        (7500, "2 h 05 min"),
    ],
)
def test_durations(seconds: float, says: str) -> None:
    assert duration(seconds) == says
