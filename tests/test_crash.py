"""Runs that are killed, interrupted, or share a store, as programs of their own."""

import os
import signal
import subprocess
import time
from typing import Any

import pytest

from cells import InProcess, cell, locate, numbers, records, same_numbers, start, unreadable
from reproaudit.lab import training
from reproaudit.records import Record
from reproaudit.run.cells import run_cells
from reproaudit.run.events import Summary
from reproaudit.store.records import Store

TIMEOUT = 60
STEPS: dict[str, Any] = {"pause": 0.005, "steps": 150}
SLOW = ("--pause", "0.005", "--steps", "150")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Record]:
    """What a run that nobody disturbs gives."""
    store = Store(tmp_path_factory.mktemp("undisturbed"))
    run_to_the_end(store)
    return records(store)


def run_to_the_end(store: Store) -> None:
    run_cells([cell(seed=seed, **STEPS) for seed in range(2)], locate, store)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, errors = process.communicate(timeout=TIMEOUT)
    assert "Traceback" not in errors, errors
    return process.returncode, out


def assert_same(store: Store, expected: dict[tuple[str, int], Record]) -> None:
    for name, plain in numbers(store).items():
        assert plain == same_numbers(expected[name])
    assert unreadable(store) == []


def first_lines(process: subprocess.Popen[str], until: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(until):
            return
    pytest.fail(f"the program never said {until}: {process.communicate()[1]}")


def test_a_checkpoint_is_what_a_killed_run_goes_on_from(tmp_path, monkeypatch):
    """A run cut off at its first checkpoint is not trained from the start again."""
    store = Store(tmp_path)
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)

    class Cut(BaseException):
        pass

    def cut(event: object) -> None:
        if getattr(event, "done", 0) == 40:
            raise Cut

    wanted = [cell(pause=0.0101, steps=40)]  # a nap that nobody else takes
    with pytest.raises(Cut):
        run_cells(wanted, locate, store, on_event=cut, executor=InProcess())
    naps: list[float] = []
    monkeypatch.setattr(time, "sleep", naps.append)
    assert run_cells(wanted, locate, store, executor=InProcess()) == Summary(completed=1)
    assert naps.count(0.0101) == 4
    record = records(store)["descent", 0]
    assert record.seconds > 0.01 * 36  # of both parts; the second one slept not at all


@pytest.mark.parametrize(
    ("jobs", "interrupt"),
    [
        pytest.param(
            1, lambda process: process.send_signal(signal.SIGTERM), marks=pytest.mark.slow
        ),
        # a terminal and `timeout` signal the whole group: the process that forks the workers, too
        (2, lambda process: os.killpg(process.pid, signal.SIGINT)),
        pytest.param(
            2, lambda process: os.killpg(process.pid, signal.SIGTERM), marks=pytest.mark.slow
        ),
    ],
    ids=["SIGTERM", "Ctrl-C", "timeout"],
)
def test_an_interrupted_run_saves_and_resumes(tmp_path, jobs, interrupt, expected):
    store = Store(tmp_path)
    process = start(tmp_path, *SLOW, "--seeds", "2", "--jobs", str(jobs), session=True)
    first_lines(process, "Progress")
    time.sleep(0.2)
    interrupt(process)
    assert finish(process)[0] == 130
    assert list(tmp_path.rglob("*.pt")), "the interrupted run left no checkpoint"
    run_to_the_end(store)
    assert_same(store, expected)
    assert len(records(store)) == 2
