import errno
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from cells import InProcess, cell, declare, locate, numbers, records
from miniatures import git
from reproaudit.audit.catalog import Module
from reproaudit.cell import Cell
from reproaudit.errors import SpecError, TechnicalError, UsageError
from reproaudit.records import CellStatus
from reproaudit.run import cells as run_module
from reproaudit.run.cells import run_cells
from reproaudit.run.events import (
    CellActivity,
    CellFinished,
    CellNote,
    CellStarted,
    Event,
    OnEvent,
    PhaseStarted,
    PlanReady,
    Progress,
    Summary,
)
from reproaudit.run.executors.local import Limits
from reproaudit.store.records import Store

NAMES = {"toy2020": {"descent": declare("loss", "final", "sizes")}}


def run(store: Store, *cells: Cell, **options: Any) -> tuple[Summary, list[Event]]:
    """Runs cells, in this process unless it is said how many workers there are."""
    if "jobs" not in options:
        options = {"executor": InProcess(), **options}
    events: list[Event] = []
    summary = run_cells(cells, locate, store, on_event=events.append, **options)
    return summary, events


def kinds(events: list[Event]) -> Counter[str]:
    """The events on whole cells, counted."""
    of_cells = (CellStarted, CellNote, CellFinished)
    return Counter(type(event).__name__ for event in events if isinstance(event, of_cells))


def plan_in(events: list[Event]) -> list[tuple[int, int, bool]]:
    """Of each planned cell its seed, its steps and whether it has a record."""
    (found,) = [event for event in events if isinstance(event, PlanReady)]
    return [(one.cell.seed, one.steps, one.seconds is not None) for one in found.cells]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


def test_missing_cells_run_and_finished_ones_do_not(store):
    summary, events = run(store, cell(seed=0), cell(seed=1), cell(seed=0), declared=NAMES)
    assert summary == Summary(completed=2)
    assert events[0] == PhaseStarted("planning", "toy2020")
    assert plan_in(events) == [(0, 40, False), (1, 40, False)]
    assert kinds(events) == {"CellStarted": 2, "CellFinished": 2}
    assert Progress(cell(seed=1), "descent", 40, 40) in events
    summary, events = run(store, cell(seed=0), cell(seed=1), cell(seed=2))
    assert summary == Summary(present=2, completed=1)
    assert plan_in(events) == [(0, 40, True), (1, 40, True), (2, 40, False)]
    assert sorted(records(store)) == [("descent", seed) for seed in range(3)]


def test_a_record_stands_alone(store, monkeypatch):
    monkeypatch.setattr(run_module, "_revision", lambda file: f"that of {file.name}")
    run(store, cell("proxied", seed=3))
    record = records(store)["proxied", 3]
    assert record.status is CellStatus.COMPLETED
    assert record.settings == {"steps": 40, "rate": 0.1, "sizes": (3,), "pause": 0.0}
    assert record.proxy == "made-up data"
    assert record.data == {"digits": "sha256:40"}
    assert record.environment.threads == 1
    assert record.environment.revision == "that of __init__.py"
    packages = {"reproaudit", "torch", "numpy", "scipy", "numba", "llvmlite"}
    assert record.environment.packages.keys() == packages
    assert 0 < record.seconds < 10
    assert record.measurements.series["loss"].steps == tuple(range(0, 41, 4))


@pytest.mark.parametrize(
    "experiment", [pytest.param("sums", marks=pytest.mark.process), "parallel_sums"]
)
def test_first_and_later_cells_of_a_worker_have_the_threads_that_their_records_say(
    store, monkeypatch, experiment
):
    """Also if a user wishes for more: Numba's first parallel function would give torch as many."""
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    wanted = [cell(experiment, seed, steps=1) for seed in range(2)]
    assert run(store, *wanted, jobs=1)[0] == Summary(completed=2)
    for record in records(store).values():
        assert record.measurements.scalars["threads"] == record.environment.threads == 1


def test_it_is_reported_when_data_are_checked_and_when_code_is_compiled(store):
    _, events = run(store, *(cell("parallel_sums", seed, steps=1) for seed in range(2)), jobs=1)
    assert PhaseStarted("checking data", "toy2020") not in events
    of = {seed: [] for seed in range(2)}
    for event in events:
        if isinstance(event, CellActivity):
            of[event.cell.seed].append(event.activity)
    assert of[0][:3] == ["measuring", "compiling", "measuring"]
    assert of[1] == ["measuring"]
    _, events = run(store, cell("proxied"))
    assert PhaseStarted("checking data", "toy2020") in events


def test_a_record_keeps_the_coordinates_that_were_declared(store):
    run(store, cell(seed=0), declared=NAMES)
    run(store, cell(seed=1))
    kept = {seed: record.coordinates for (_, seed), record in records(store).items()}
    assert kept == {0: {"sizes": {"size": (0,)}}, 1: None}


def test_the_revision_is_that_of_the_checkout(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("no git here")
    file = tmp_path / "code.py"
    file.write_text("x = 1\n")
    git(tmp_path, "init")
    assert run_module._revision(file) is None  # within a checkout, but no part of it
    git(tmp_path, "add", "code.py")
    git(tmp_path, "commit", "-m", "First")
    assert run_module._revision(file) == git(tmp_path, "rev-parse", "HEAD")
    file.write_text("x = 2\n")
    assert run_module._revision(file) == git(tmp_path, "rev-parse", "HEAD") + "+dirty"


def test_a_record_made_by_another_run_meanwhile_is_taken(store):
    """The other run works while this one computes its first cell."""
    events: list[Event] = []

    def meanwhile(event: Event) -> None:
        events.append(event)
        if isinstance(event, CellStarted) and event.cell.seed == 0:
            run(store, cell(seed=1))

    summary = run_cells(
        [cell(seed=0), cell(seed=1)], locate, store, on_event=meanwhile, executor=InProcess()
    )
    assert summary == Summary(completed=2)
    assert [one.cell.seed for one in events if isinstance(one, CellFinished)] == [0, 1]
    assert kinds(events)["CellStarted"] == 1
    assert not list(store.root.rglob("[!.]*.lock"))


def test_divergence_is_a_status_and_no_nan_is_written(store):
    wild = [cell(seed=seed, rate=1e18) for seed in (0, 1)]
    assert run(store, *wild, declared=NAMES)[0] == Summary(diverged=2)
    for path in store.root.rglob("*.json"):
        json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(word))
    record = records(store)["descent", 1]
    assert record.status is CellStatus.DIVERGED
    assert record.error == "series 'loss' is NaN or above 1e+150 at step 8"
    assert record.measurements.series["loss"].steps == (0, 4)
    assert "final" not in record.measurements.scalars
    assert run(store, *wild)[0] == Summary(present=2)


def test_a_run_that_diverges_has_diverged_whatever_range_is_declared(store):
    """Beyond its range are infinite numbers, and finite ones on the way there."""
    known = declare("loss", "final", "sizes")
    held = {name: one.model_copy(update={"range": (0.0, 10.0)}) for name, one in known.items()}
    declared = {"toy2020": {"descent": held}}
    wild = cell(rate=1e18)
    assert run(store, wild, declared=declared)[0] == Summary(diverged=1)
    record = records(store)["descent", 0]
    assert record.measurements.series["loss"].values.max() > 10.0
    assert run(store, wild, declared=declared)[0] == Summary(present=1)
    assert run(store, cell(rate=3.0, steps=10), declared=declared)[0] == Summary(failed=1)


def test_a_failed_cell_stops_no_other_and_is_not_tried_for_ever(store):
    cells = [cell("broken", 5), cell(seed=1), cell("broken", 6)]
    assert run(store, *cells)[0] == Summary(completed=1, failed=2)
    record = records(store)["broken", 5]
    assert record.status is CellStatus.FAILED
    assert record.error is not None
    assert record.error.startswith("RuntimeError: no good for seed 5 (toy2020.py:")
    summary, events = run(store, *cells)
    assert summary == Summary(present=1, failed=2)
    assert kinds(events) == {"CellNote": 1, "CellFinished": 2}
    (note,) = [one for one in events if isinstance(one, CellNote)]
    file = store.file_of(record)
    assert note.text.startswith("failed before with this code, and is not run again, nor are ")
    assert f"Remove {file} to try this one anew" in note.text
    file.unlink()
    assert kinds(run(store, cells[0], executor=InProcess())[1])["CellStarted"] == 2


def test_all_runs_together_try_a_cell_that_crashes_twice(store):
    """Also where the first of them ended between the two tries."""
    started = 0

    class Ended(BaseException):
        pass

    def end(event: Event) -> None:
        nonlocal started
        started += isinstance(event, CellStarted)
        if isinstance(event, CellNote) and event.text.startswith("run again: "):
            raise Ended

    def any_run(on_event: OnEvent) -> Summary:
        wanted = [cell("broken")]
        return run_cells(wanted, locate, store, on_event=on_event, executor=InProcess())

    with pytest.raises(Ended):
        any_run(end)
    for _ in range(3):
        assert any_run(end) == Summary(failed=1)
    assert started == 2


HELD = {"toy2020": {"descent": declare("loss", "accuracy")}}


@pytest.mark.parametrize(
    ("then", "starts"),
    [
        ({}, 0),
        ({"declared": {"toy2020": {"descent": declare("loss")}}}, 1),
        ({"limits": Limits(seconds=99.0)}, 1),
        ({"fresh": True}, 1),
    ],
    ids=["the same", "other declarations", "other limits", "--fresh"],
)
def test_a_cell_that_failed_is_tried_anew_where_that_may_help(store, then, starts):
    run(store, cell(), declared=HELD, executor=InProcess())
    how = {"declared": HELD, "executor": InProcess(), **then}
    assert kinds(run(store, cell(), **how)[1])["CellStarted"] == starts


def test_a_cell_that_failed_is_tried_anew_with_other_code(store, tmp_path):
    place = tmp_path / "toy"
    shutil.copytree(locate("").file.parent, place)
    module = Module("toy2020", place / "toy2020.py", importable=False)
    started: list[int] = []
    for more in ("", "", "EXTRA = 1\n"):
        module.file.write_text(module.file.read_text() + more)
        events: list[Event] = []
        how: dict[str, Any] = {"on_event": events.append, "executor": InProcess()}
        run_cells([cell("broken")], lambda _paper: module, store, **how)
        started.append(kinds(events)["CellStarted"])
    assert started == [2, 0, 2]


def test_what_never_began_is_tried_by_each_run(store):
    for _ in range(2):
        summary, events = run(store, cell("no_data"), executor=InProcess())
        assert summary == Summary(failed=1)
        assert kinds(events)["CellStarted"] == 1


def test_a_crashed_run_is_run_again_once(store):
    summary, events = run(store, cell("fails_once"), cell("broken"))
    assert summary == Summary(completed=1, failed=1)
    assert kinds(events)["CellStarted"] == 4
    waiting = [
        event for event in events if isinstance(event, CellActivity) and event.activity == "waiting"
    ]
    assert [one.cell.experiment for one in waiting] == ["fails_once", "broken"]
    again = {event.cell.experiment: event.text for event in events if isinstance(event, CellNote)}
    assert again.keys() == {"fails_once", "broken"}
    assert again["fails_once"].startswith("run again: RuntimeError: once")
    assert records(store)["fails_once", 0].error is None
    assert len(list(store.root.rglob("*.failures"))) == 1


@pytest.mark.parametrize(
    ("experiment", "text"),
    [
        ("by_seed", "'by_seed' returned dict. Return the Measurements of session.seed."),
        ("no_data", "FileNotFoundError: the data set 'digits' is not there (toy2020.py:"),
    ],
)
def test_what_went_wrong_is_told(store, experiment, text):
    run(store, cell(experiment))
    error = records(store)[experiment, 0].error
    assert error is not None
    assert text in error


def test_measurements_other_than_declared_fail(store):
    declared = {"toy2020": {"descent": declare("loss", "accuracy")}}
    assert run(store, cell(), declared=declared)[0] == Summary(failed=1)
    assert records(store)["descent", 0].error == (
        "the audit declares accuracy, which was not measured; "
        "final, sizes was measured, which the audit does not declare"
    )


def test_every_fault_of_an_audit_is_told_before_anything_runs(store):
    cells = [cell(), cell("decent"), cell(rate="fast"), cell(stepz=3)]
    with pytest.raises(SpecError) as caught:
        run(store, *cells)
    text = str(caught.value)
    assert "experiment 'decent': the module has no such experiment. Did you mean 'descent'?" in text
    place = f"class Settings of {locate('toy2020').file}"
    fit = f"toy2020, experiment 'descent': the settings do not fit {place}: "
    assert f"{fit}setting 'rate' = 'fast'" in text
    assert f"{fit}unknown setting 'stepz'. Did you mean 'steps'?" in text
    assert len(text.splitlines()) == 3
    assert not store.root.exists()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("import nothing_of_that_name\n", "No module named 'nothing_of_that_name'"),
        ("x = 1\n", "defines no mapping named EXPERIMENTS"),
        ("EXPERIMENTS = {'descent': 3}\n", r"EXPERIMENTS\['descent'\] is not an Experiment"),
        ("def (:\n", "invalid syntax"),
    ],
)
def test_a_module_that_cannot_be_used_is_one_fault_of_the_audit(store, tmp_path, source, text):
    path = tmp_path / "bad2020.py"
    path.write_text(source)
    module = Module("bad2020", path, importable=False)
    with pytest.raises(SpecError, match=text) as caught:
        run_cells([cell(), cell("sums")], lambda _paper: module, store)
    assert len(str(caught.value).splitlines()) == 1


def test_a_cell_held_by_another_run_comes_last(store, monkeypatch):
    run(store, cell(seed=0))
    name = records(store)["descent", 0].fingerprint
    next(store.root.rglob(f"{name}.json")).unlink()
    lock = store.try_lock(cell(seed=0), name)
    assert lock is not None
    naps: list[float] = []

    def nap(seconds: float) -> None:
        if seconds == run_module.POLL_SECONDS:  # and not one of the toy's own
            naps.append(seconds)
        if len(naps) == 3:
            lock.give_back(finished=False)

    monkeypatch.setattr(time, "sleep", nap)
    summary, events = run(store, cell(seed=0), cell(seed=1))
    assert summary == Summary(completed=2)
    finished = [event.cell.seed for event in events if isinstance(event, CellFinished)]
    assert finished == [1, 0]
    assert len(naps) == 3


@pytest.mark.parametrize("lacks", ["a record", "a checkpoint"])
def test_a_full_disk_ends_the_run_and_keeps_what_is_there(store, monkeypatch, lacks):
    run(store, cell(seed=0))
    replace = os.replace

    def full(source: Any, target: Any) -> None:
        if lacks == "a record" or str(target).endswith(".pt"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(TechnicalError, match="no space is left"):
            run(store, cell(seed=0), cell(seed=1))
    assert list(records(store)) == [("descent", 0)]
    assert run(store, cell(seed=0), cell(seed=1))[0] == Summary(present=1, completed=1)


def test_local_processes_give_the_same_records(store, tmp_path):
    cells = [cell(seed=seed) for seed in range(4)]
    cells += [cell("dies_once", 7), cell("dies", 8), cell("broken", 9)]
    summary, events = run(store, *cells, jobs=2)
    assert summary == Summary(completed=5, failed=2)
    assert any(isinstance(event, Progress) for event in events)
    alone = Store(tmp_path / "alone")
    run(alone, *cells[:4])
    parallel = records(store)
    assert numbers(alone).items() <= numbers(store).items()
    assert parallel["dies", 8].error == (
        "the worker process was killed by signal 9 (SIGKILL); perhaps it ran out of memory"
    )
    assert parallel["dies", 8].steps == 0
    assert parallel["dies_once", 7].status is CellStatus.COMPLETED


def test_papers_of_one_run_may_have_devices_of_their_own(store, monkeypatch):
    """One that imports torch has the card, and one that does not has all cores."""
    planned: list[str] = []
    versions = run_module.versions

    def noted(device: str, *arguments: Any) -> dict[str, str]:
        planned.append(device)
        return versions(device, *arguments)

    monkeypatch.setattr(run_module, "versions", noted)
    cells = [Cell(paper, "quick", "descent", cell().settings, 0) for paper in ("a2020", "b2020")]
    device = {"a2020": "cpu", "b2020": "cuda"}
    run_module.plan_jobs(cells, locate, store, device)
    assert planned == ["cpu", "cuda"]


def test_jobs_are_at_least_one(store):
    with pytest.raises(UsageError, match="cannot run 0 jobs"):
        run(store, cell(), jobs=0)


def test_a_cell_costs_no_more_the_more_there_are(store):
    """Counted in calls, which no other work on the machine changes."""

    def calls(seeds: Iterable[int]) -> int:
        """The calls that the runner makes for these cells, of Python functions."""
        counts = Counter[str]()
        sys.setprofile(lambda _frame, event, _arg: counts.update([event]))
        try:
            run(store, *(cell(seed=seed, steps=0) for seed in seeds))
        finally:
            sys.setprofile(None)
        return counts["call"]

    calls([0])  # what is done once, and kept
    few, many = calls(range(1, 11)), calls(range(11, 61))
    assert many < 1.2 * 5 * few
    assert few / 10 < 10_000
