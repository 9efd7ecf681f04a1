"""What a run says of itself while it goes on: counts, cells, the time left, and when."""

import io
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from cells import cell
from reproaudit.cell import Cell, canonical_settings
from reproaudit.cli.progress import LINE_SECONDS, LOOK_SECONDS, CellNames, DueLines, Watch, duration
from reproaudit.records import CellStatus, Environment, Measurements, Record
from reproaudit.run import events

ARM = "null stays"


def record(of: Cell, status: CellStatus = CellStatus.COMPLETED) -> Record:
    made = Environment(python="3.11", platform="", device="cpu", threads=1, packages={})
    return Record.model_construct(
        paper=of.paper,
        tier=of.tier,
        experiment=of.experiment,
        settings=dict(of.settings),
        seed=of.seed,
        status=status,
        seconds=1.0,
        error="no good",
        traceback=None,
        environment=made,
        measurements=Measurements(),
    )


def planned(*cells: Cell, steps: int = 0, seconds: float | None = None) -> list[events.PlannedCell]:
    return [events.PlannedCell(each, steps, seconds) for each in cells]


@dataclass
class Run:
    """A run in which time passes when it is told to."""

    planned: list[events.PlannedCell]
    now: float = 0.0
    until: float = float("inf")
    width: int = 80
    watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        of = cell("named")
        arms = {(of.paper, of.tier, of.experiment, canonical_settings(of.settings)): ARM}
        console = Console(
            file=io.StringIO(), width=self.width, force_terminal=True, color_system=None
        )
        self.watch = Watch(console, CellNames(arms), until=self.until, clock=lambda: self.now)
        self.watch(events.PlanReady(tuple(self.planned)))

    def start(self, *cells: Cell) -> None:
        for each in cells:
            self.watch(events.CellStarted(each))
            self.watch(events.CellActivity(each, "measuring"))

    def finish(self, *cells: Cell, status: CellStatus = CellStatus.COMPLETED) -> None:
        for each in cells:
            self.watch(events.CellFinished(each, record(each, status)))

    @property
    def head(self) -> str:
        return self.watch.head()


def played(run: Run, waiting: list[Cell], workers: int, cost: float) -> Iterator[None]:
    """Runs cells of one cost, and stops after each event."""
    ends: dict[int, tuple[float, Cell]] = {}
    while waiting or ends:
        while waiting and len(ends) < workers:
            begun = waiting.pop(0)
            run.start(begun)
            ends[begun.seed] = (run.now + cost, begun)
            yield
        seed = min(ends, key=lambda seed: ends[seed][0])
        run.now, ended = ends.pop(seed)
        run.finish(ended)
        yield


@given(
    experiments=st.lists(st.sampled_from("abc"), min_size=1, max_size=12),
    present=st.integers(0, 12),
    workers=st.integers(1, 4),
    cost=st.floats(0.5, 500),
)
def test_counts_and_shares_rise_from_what_had_records_to_the_whole(
    experiments, present, workers, cost
):
    cells = [cell(name, seed) for seed, name in enumerate(experiments)]
    run = Run(planned(*cells[:present], seconds=cost) + planned(*cells[present:]))
    counts = [run.watch.recorded]
    shares = [run.watch.share]
    for _ in played(run, cells[present:], workers, cost):
        counts.append(run.watch.recorded)
        shares.append(run.watch.share)
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (min(present, len(cells)), len(cells))
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert run.head == f"{len(cells)}/{len(cells)} cells"


def test_the_time_left_follows_from_what_was_done_in_this_run():
    cells = [cell(seed=seed) for seed in range(20)]
    run = Run(planned(*cells[:10], seconds=1000.0) + planned(*cells[10:]))
    run.now = 1000.0
    assert run.head == "10/20 cells"
    for each in cells[10:13]:
        run.start(each)
        run.now += 5.0
        run.finish(each)
    assert run.head == "13/20 cells, about 35 s left"


def test_the_time_left_ends_when_no_cell_may_start_any_more():
    cells = [cell(seed=seed) for seed in range(9)]
    run = Run(planned(*cells), until=90.0)
    for each in cells[:2]:
        run.now += 30.0
        run.start(each)
        run.finish(each)
    assert run.head == "2/9 cells, about 30 s left"
    run.now = 90.0
    assert run.head == "2/9 cells"


def test_a_crashed_cell_waits_and_one_of_another_run_is_done():
    cells = [cell(seed=seed) for seed in range(3)]
    run = Run(planned(*cells))
    run.start(cells[0])
    run.watch(events.CellActivity(cells[0], "waiting"))
    assert (run.watch.recorded, run.watch.cells(80)) == (0, "")
    run.finish(cells[1])
    assert run.watch.recorded == 1
    run.start(cells[0])
    run.finish(cells[0])
    assert run.watch.recorded == 2


def test_phases_of_the_run_and_of_its_cells():
    run = Run([])
    for name, paper, says in (
        ("planning", "toy2020", "planning (toy2020)"),
        ("reading records", "", "reading records"),
    ):
        run.watch(events.PhaseStarted(name, paper))
        assert run.watch.activity == says
    run.watch(events.PlanReady(tuple(planned(cell(seed=0), cell(seed=1)))))
    assert run.watch.activity == "starting"
    run.watch(events.CellStarted(cell(seed=0)))
    assert run.watch.activity == "importing"
    run.start(cell(seed=1))
    assert run.watch.activity == "measuring"
    run.watch(events.CellActivity(cell(seed=0), "compiling"))
    assert run.watch.activity == "compiling"
    assert run.watch.cells(80) == "descent, seed 0: compiling; descent, seed 1: 1 s"
    run.finish(cell(seed=0), cell(seed=1))
    run.watch(events.PhaseStarted("judging", "toy2020"))
    assert run.watch.activity == "judging (toy2020)"


def test_cells_are_named_by_what_they_are_to_the_judgement_else_by_what_differs():
    cells = [cell("named"), cell("sums", rate=0.1), cell("sums", rate=0.2)]
    run = Run(planned(*cells, steps=40))
    for each in cells:
        run.finish(each, status=CellStatus.FAILED)
    assert isinstance(run.watch.console.file, io.StringIO)
    said = run.watch.console.file.getvalue()
    for name in (
        f"{ARM}: toy2020 named, seed 0",
        "toy2020 sums, rate=0.1, seed 0",
        "toy2020 sums, rate=0.2, seed 0",
    ):
        assert f"{name}: failed: no good\n" in said


def test_each_cell_that_runs_says_how_far_it_is():
    cells = [cell("named"), cell("sums", rate=0.1), cell("sums", rate=0.2)]
    run = Run(planned(*cells, steps=40))
    run.start(*cells[:2])
    run.watch(events.Progress(cells[0], "first", 10, 20))
    run.watch(events.Progress(cells[0], "second", 5, 20))
    run.now = 12.0
    assert run.watch.cells(80) == f"{ARM}: named, seed 0: 38 %; sums, rate=0.1, seed 0: 12 s"
    assert run.watch.cells(45) == f"{ARM}: named, seed 0: 38 %; 1 more"
    assert run.watch.share == pytest.approx(0.375 / 3)
    other = Cell("other", "quick", "sums", cells[1].settings, 0)
    run.watch(events.PlanReady(tuple(planned(other, cells[0]))))
    run.start(other)
    assert run.watch.cells(80) == "other sums, seed 0: 1 s"


@given(width=st.integers(20, 120), labels=st.lists(st.text(min_size=1, max_size=40), max_size=6))
def test_a_terminal_has_two_lines_that_do_not_wrap(width, labels):
    cells = [cell(label, seed) for seed, label in enumerate(labels)]
    run = Run(planned(*cells), width=width)
    run.start(*cells)
    shown = run.watch.console.render_lines(run.watch.get_renderable())
    assert len(shown) <= 2
    assert all(sum(part.cell_length for part in line) <= width for line in shown)


def test_what_is_printed_beside_the_lines_takes_them_off_the_terminal():
    run = Run(planned(cell()))
    with run.watch as watch:
        with watch.paused():
            assert not watch.live.is_started
        assert watch.live.is_started
    with run.watch.paused():
        pass
    assert not run.watch.live.is_started


# --- lines ------------------------------------------------------------------------------------


def looked(run: Run, lines: DueLines, seconds: float) -> list[str]:
    due = []
    for _ in range(round(seconds / LOOK_SECONDS)):
        run.now += LOOK_SECONDS
        due.append(lines.due())
    return [line for line in due if line is not None]


def test_a_line_is_due_at_a_change_of_phase_after_a_while_and_when_more_is_done():
    cells = [cell(seed=seed) for seed in range(100)]
    run = Run(planned(*cells))
    lines = DueLines(run.watch)
    run.start(cells[0])
    assert looked(run, lines, 10) == ["measuring: 0/100 cells; descent, seed 0: 1 s"]
    run.watch(events.CellActivity(cells[0], "compiling"))
    assert looked(run, lines, 1) == ["compiling: 0/100 cells; descent, seed 0: compiling"]
    run.watch(events.CellActivity(cells[0], "measuring"))
    looked(run, lines, 1)
    assert len(looked(run, lines, 10 * LINE_SECONDS)) == 10
    run.finish(cells[0])
    due = []
    for each in cells[1:]:
        run.start(each)
        run.finish(each)
        due += looked(run, lines, LOOK_SECONDS)
    assert 18 <= len(due) <= 21
    assert "about" in due[0]


def test_before_there_is_a_plan_a_line_says_what_is_done():
    run = Run([])
    run.watch(events.PhaseStarted("planning", "toy2020"))
    assert looked(run, DueLines(run.watch), 2) == ["planning (toy2020)"]


def test_the_thread_that_writes_lines_anew_and_the_runs_own_never_wait_for_each_other():
    cells = [cell(seed=seed) for seed in range(200)]
    run = Run(planned(*cells))
    run.watch.live.refresh_per_second = 1000

    def follow() -> None:
        with run.watch:
            for each in cells:
                run.start(each)
                run.finish(each)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    thread.join(60)
    assert run.watch.recorded == len(cells)
    assert not thread.is_alive()


def test_what_ends_at_once_has_no_line():
    cells = [cell(seed=seed) for seed in range(2)]
    run = Run(planned(*cells))
    lines = DueLines(run.watch)
    run.start(cells[0])
    assert len(looked(run, lines, 2)) == 1
    activities: list[events.Activity] = ["compiling", "measuring"]
    for activity in activities * 5:
        run.watch(events.CellActivity(cells[0], activity))
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
def test_durations(seconds, says):
    assert duration(seconds) == says


def test_a_cell_that_failed_has_no_record_in_the_end():
    cells = [cell(seed=seed) for seed in range(3)]
    run = Run(planned(*cells))
    run.finish(cells[0])
    run.finish(cells[1], status=CellStatus.DIVERGED)
    assert run.watch.ending() == "2/3 cells have records now"
    run.finish(cells[2], status=CellStatus.FAILED)
    assert run.watch.ending() == "2/3 cells have records now, 1 failed"
    assert run.head == "3/3 cells"
