"""Several runs share the cells of a plan: shards, arrays, runs that leave, and a budget."""

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cells import InProcess, cell, locate, numbers, same_numbers, start, unreadable
from miniatures import run_program, write_paper
from reproaudit.cli import run_command
from reproaudit.run import cells as running
from reproaudit.run.cells import SERIES_VARIABLES, run_cells, this_place
from reproaudit.run.events import CellFinished, CellStarted, Event, Summary
from reproaudit.store.records import Store


@pytest.fixture(autouse=True)
def no_series(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SERIES_VARIABLES:
        monkeypatch.delenv(name, raising=False)


def run(store: Store, *wanted: Any, **how: Any) -> tuple[Summary, int]:
    """A run in this process, and how many cells it started."""
    started: list[Event] = []
    take = how.pop("on_event", lambda _event: None)

    def listen(event: Event) -> None:
        started.extend([event] if isinstance(event, CellStarted) else [])
        take(event)

    summary = run_cells(wanted, locate, store, executor=InProcess(), on_event=listen, **how)
    return summary, len(started)


# --- measuring anew -----------------------------------------------------------------------------


def test_jobs_of_an_array_measure_each_cell_anew_once(tmp_path, monkeypatch):
    store = Store(tmp_path)
    wanted = [cell(seed=0), cell(seed=1)]
    run(store, *wanted)
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "7")
    assert [run(store, *wanted, fresh=True)[1] for _ in range(3)] == [2, 0, 0]
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "8")
    assert run(store, *wanted, fresh=True)[1] == 2


def test_a_cell_that_fails_in_an_array_is_tried_twice_by_all_of_it(tmp_path, monkeypatch):
    store = Store(tmp_path)
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "7")
    assert [run(store, cell("broken"), fresh=True)[1] for _ in range(2)] == [2, 0]
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "8")
    assert run(store, cell("broken"), fresh=True)[1] == 2


def test_a_cell_that_another_run_measures_anew_meanwhile_is_not_measured_again(tmp_path):
    store = Store(tmp_path)
    wanted = [cell(seed=0), cell(seed=1)]
    run(store, *wanted)

    def meanwhile(event: Event) -> None:
        if isinstance(event, CellFinished) and event.cell.seed == 0:
            run(store, cell(seed=1), fresh=True)

    assert run(store, *wanted, fresh=True, on_event=meanwhile)[1] == 1


def test_what_an_array_left_unfinished_goes_on_in_it_and_begins_anew_in_another(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("reproaudit.lab.training.CHECKPOINT_SECONDS", 0.0)
    store = Store(tmp_path)
    firsts: list[int] = []

    def cut(event: Any) -> None:
        if getattr(event, "done", 0) >= 20:
            raise KeyboardInterrupt

    def listen(event: Any) -> None:
        if hasattr(event, "done"):
            firsts.append(event.done)

    for series, is_first in (("7", True), ("7", False), ("8", True)):
        monkeypatch.setenv("SLURM_ARRAY_JOB_ID", series)
        if is_first:
            with pytest.raises(KeyboardInterrupt):
                run(store, cell(), fresh=True, on_event=cut)
        else:
            run(store, cell(), fresh=True, on_event=listen)
    assert firsts[0] >= 16
    firsts.clear()
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "9")
    run(store, cell(), fresh=True, on_event=listen)
    assert firsts[0] < 16


# --- leaving ------------------------------------------------------------------------------------


def test_a_run_that_leaves_ends_where_another_computes_all_that_is_left(tmp_path):
    store = Store(tmp_path)
    (tmp_path / "toy2020").mkdir(exist_ok=True)
    inner: list[Summary] = []

    def meanwhile(event: Event) -> None:
        if isinstance(event, CellStarted) and not inner:
            inner.append(Summary())
            inner[0] = run(store, cell(seed=0), cell(seed=1), leave=True)[0]

    outer, started = run(store, cell(seed=0), cell(seed=1), on_event=meanwhile)
    assert (inner[0].completed, inner[0].left["toy2020"]) == (1, 1)
    assert (outer.completed, started, outer.left.total()) == (2, 1, 0)


ALONE = ("unshare", "--pid", "--fork", "--mount-proc")
"""Starts a process among whose numbers there is no other's, as in a container."""


@cache
def may_be_alone() -> bool:
    """Whether this user may start such a process."""
    if shutil.which(ALONE[0]) is None:
        return False
    return subprocess.run([*ALONE, "true"], capture_output=True).returncode == 0


@pytest.mark.parametrize(
    ("runs", "before", "rounds"),
    [
        pytest.param(8, (), 1, marks=pytest.mark.process),
        (4, ALONE, 1),
        pytest.param(4, ALONE, 10, marks=pytest.mark.slow),
    ],
)
def test_runs_on_one_store_compute_each_cell_once_and_lose_nothing(tmp_path, runs, before, rounds):
    """Also in containers, which share a store and have equal process numbers."""
    if before and not may_be_alone():
        pytest.skip("needs unshare, and the right to use it")
    seeds = 3 * runs
    calm = Store(tmp_path / "calm")
    run_cells([cell("chance", seed, pause=0.002) for seed in range(seeds)], locate, calm, jobs=2)
    options = ("--experiment", "chance", "--seeds", str(seeds), "--pause", "0.002")
    for number in range(rounds):
        store = Store(tmp_path / f"round {number}")
        started = [start(store.root, *options, before=before) for _ in range(runs)]
        ended = [(*one.communicate(timeout=300), one.returncode) for one in started]
        assert [code for _, _, code in ended] == [0] * runs, [errors for _, errors, _ in ended]
        assert sum(out.count("CellStarted") for out, _, _ in ended) == seeds
        assert numbers(store) == numbers(calm)
        assert unreadable(store) == []
        listed = store.listed("toy2020", "quick")
        assert (len(listed), set(listed.values())) == (seeds, {True})
        left = {path.suffix for path in store.root.rglob("[!.]*") if path.is_file()}
        assert left - {".toy2020"} == {".json", ".log", ".data"}, "beside the note on memory"


# --- on the command line ------------------------------------------------------------------------


@pytest.fixture
def audits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measured_here: None) -> Path:
    monkeypatch.setenv("COLUMNS", "200")
    return write_paper(tmp_path / "audits")


def command(audits: Path, *words: str) -> int:
    return run_command([*words, "--audits", str(audits)])


def json_of(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_shards_merged_are_what_one_run_is(tmp_path, audits, capsys):
    shards = [str(tmp_path / f"shard {number}") for number in (1, 2)]
    for number, shard in enumerate(shards, start=1):
        assert command(audits, "run", "mini", "--shard", f"{number}/2", "--store", shard) == 0
        said = capsys.readouterr()
        assert "cells are left for other runs" in said.err
        assert said.out == ""
    whole, merged = (str(tmp_path / name) for name in ("whole", "merged"))
    assert run_command(["merge", *shards, "--store", merged, "--json"]) == 0
    (counted,) = json_of(capsys)["records"]
    answers = []
    for store in (whole, merged):
        assert command(audits, "run", "mini", "--json", "--store", store) == 0
        answers.append(json_of(capsys))
    counts = [sum(1 for _ in Store(Path(shard)).records("mini", "quick")) for shard in shards]
    assert abs(counts[0] - counts[1]) <= 1
    assert counted == {"paper": "mini", "tier": "quick", "new": sum(counts)}
    outcomes = [[claim["outcome"] for claim in answer["claims"]] for answer in answers]
    assert outcomes[0] == outcomes[1]
    kept = [Store(Path(store)).records("mini", "quick") for store in (whole, merged)]
    measured = [[same_numbers(record) for record in records] for records in kept]
    assert measured[0] == measured[1]


def test_merge_names_what_is_damaged_or_other_and_keeps_what_is_there(tmp_path, capsys):
    here, other, damaged = (Store(tmp_path / name) for name in ("here", "other", "damaged"))
    for store in (here, other, damaged):
        run(store, cell())
    (record,) = here.records("toy2020", "quick")
    path = here.file_of(record)
    before = path.read_bytes()
    scalars = {**record.measurements.scalars, "final": 9.0}
    changed = record.model_copy(
        update={"measurements": record.measurements.model_copy(update={"scalars": scalars})}
    )
    other.write(changed)
    place = damaged.file_of(record)
    place.write_bytes(place.read_bytes()[:-20])
    folders = [str(store.root) for store in (other, damaged)]
    assert run_command(["merge", *folders, "--store", str(here.root), "--json"]) == 3
    said = json_of(capsys)
    assert said["records"] == [{"paper": "toy2020", "tier": "quick", "there already": 1}]
    assert "other numbers than the record that is there" in said["faults"][0]
    assert "not a whole record" in said["faults"][1]
    assert path.read_bytes() == before


def test_a_budget_that_is_spent_ends_in_order_and_the_same_command_goes_on(
    tmp_path, audits, capsys
):
    store = ("--store", str(tmp_path / "runs"))
    assert command(audits, "run", "mini", "--budget", "0s", *store) == 0
    assert "cells are left for other runs" in capsys.readouterr().err
    assert command(audits, "run", "mini", "--budget", "1h", *store) == 0
    assert "mini" in capsys.readouterr().out


def test_status_shows_what_is_done_runs_where_and_failed(tmp_path, audits, capsys, monkeypatch):
    store = ("--store", str(tmp_path / "runs"))
    states: list[Any] = []
    ask = ("run", "mini", "--status", "--json", *store)

    def before() -> Any:
        assert command(audits, *ask) == 0
        return json_of(capsys)[0]

    states.append(before())
    assert states[0]["done"] == 0
    assert states[0]["waiting"] == states[0]["cells"] > 0
    assert not (tmp_path / "runs").exists()
    command(audits, "run", "mini", "--shard", "1/2", *store)
    capsys.readouterr()
    half = before()
    assert half["done"] == (half["cells"] + 1) // 2
    watched: list[Any] = []
    settle = running.CellRun._settle

    def look(self: Any, outcome: Any) -> None:
        if not watched:
            watched.append(before())
        settle(self, outcome)

    monkeypatch.setattr(running.CellRun, "_settle", look)
    command(audits, "run", "mini", *store)
    (line,) = watched[0]["running"]
    assert this_place() in line
    capsys.readouterr()
    assert command(audits, "run", "mini", "--status", *store) == 0
    counts = f"{half['cells']} of {half['cells']} cells done, 0 running, 0 failed, 0 waiting"
    assert counts in capsys.readouterr().out


def test_all_may_mean_one_folder_whatever_path_leads_there(tmp_path, audits, capsys):
    store = ("--store", str(tmp_path / "runs"))
    (tmp_path / "link").symlink_to(audits)
    for folder in (audits, audits / ".." / audits.name, tmp_path / "link"):
        assert command(folder, "run", "--all", "--no-shipped", "--status", "--json", *store) == 0
        assert [state["paper"] for state in json_of(capsys)] == ["mini"]


@pytest.mark.process
def test_the_command_hands_cells_to_workers_of_dask(tmp_path, capsys):
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    audits = write_paper(tmp_path / "audits")
    store = tmp_path / "runs"
    words = ("run", "mini", "--executor", "dask=local", "--jobs", "2", "--store", str(store))
    code, out, errors = run_program([*words, "--audits", str(audits)])
    assert code == 0, errors
    assert "mini" in out
    assert "Traceback" not in errors
    assert not list(store.rglob("*.partial"))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--shard", "3/2"), "--shard: found '3/2'. Write 1/5 to 5/5"),
        (("--executor", "pbs"), "--executor: found 'pbs'. Write slurm, dask=ADDRESS"),
        (("--executor", "slurm", "--slurm", "partition"), "Write partition=short,time=2h"),
        (("--block", "20"), "are for --executor slurm"),
        (("--executor", "slurm"), "Run this where sbatch is."),
    ],
)
def test_a_mistake_is_one_line(audits, capsys, words, text, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", os.devnull)
    assert command(audits, "run", "mini", *words, "--store", str(tmp_path / "runs")) == 2
    assert text in capsys.readouterr().err
