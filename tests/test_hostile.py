"""Whatever an experiment does is one failed cell: the others go on, and the run ends in order."""

import io
import os
import py_compile
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cells import users_cell, users_module, users_run
from miniatures import write_paper
from reproaudit.audit.catalog import Module
from reproaudit.cell import Cell
from reproaudit.cli import run_command
from reproaudit.declarations import Axis, Declaration, MeasurementKind
from reproaudit.records import CellStatus, Record
from reproaudit.run.cells import run_cells
from reproaudit.run.events import CellStarted, Event, Progress, Summary
from reproaudit.run.executors import local as executors
from reproaudit.run.executors.local import Limits
from reproaudit.store.records import Store

FILE = Path(__file__).parent / "toy" / "hostile.py"
DECLARED = {
    "x": Declaration(kind=MeasurementKind.SCALAR, unit="1", meaning="x"),
    "a": Declaration(
        kind=MeasurementKind.ARRAY, axes=(Axis(name="i", size=4),), unit="1", meaning="a"
    ),
}
WHY = {
    "leaves": "the worker process ended with exit code 0",
    "segfaults": "the worker process was killed by signal 11 (SIGSEGV)",
    "aborts": "the worker process was killed by signal 6 (SIGABRT)",
    "eats": "it took more than 700,000,000 bytes of memory (--memory)",
    "eats_elsewhere": "it took more than 700,000,000 bytes of memory (--memory)",
    "interrupts": "KeyboardInterrupt (hostile.py:",
    "exits": "SystemExit: 0 (hostile.py:",
    "raises_other": "OtherError: other (hostile.py:",
    "raises_silent": "SilentError: its text cannot be made (RuntimeError) (hostile.py:",
    "raises_surrogate": "ValueError: \\ud800 (hostile.py:",
    "closes_pipes": "the worker process ",
    "text": "a number is expected, and this is text",
    "complex": "real numbers are expected, and these are of type complex128",
    "objects": "real numbers are expected, and these are of type object",
    "shape": "it has 'a' of shape (101, 4); the audit declares (4,)",
    "kind": "it has 'a', but not as the declared array",
    "series": "it has 'a', but not as the declared array",
    "unbuilt": "AttributeError",
    "unsendable": "TypeError",
}
LIMITS = {"eats": Limits(memory=700_000_000), "eats_elsewhere": Limits(memory=700_000_000)}
FINE = ("good", "scatters")
DIVERGED = ("all_nan", "huge")


def locate(_paper: str) -> Module:
    return Module("hostile", FILE, importable=False)


def cell(experiment: str, seed: int = 0) -> Cell:
    return Cell("hostile", "smoke", experiment, {"size": 1}, seed)


def run(store: Store, *cells: Cell, **how: Any) -> tuple[Summary, dict[tuple[str, int], Record]]:
    declared = {"hostile": {one.experiment: DECLARED for one in cells}}
    summary = run_cells(cells, locate, store, declared=declared, **how)
    found = store.records("hostile", "smoke")
    return summary, {(one.experiment, one.seed): one for one in found}


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_every_misdeed_is_one_failed_cell(tmp_path, jobs, capfd):
    store, folder = Store(tmp_path / "runs"), Path.cwd()
    names = (*WHY, *FINE, *DIVERGED)
    cells = [cell(name) for name in names if name not in LIMITS]
    summary, _ = run(store, *cells, jobs=jobs)
    assert summary == Summary(completed=2, diverged=2, failed=len(WHY) - len(LIMITS))
    for name, limits in LIMITS.items():
        summary, found = run(store, cell(name), cell("good", 1), jobs=jobs, limits=limits)
        assert summary.failed == 1
    assert found["good", 1].status is CellStatus.COMPLETED
    for name, why in WHY.items():
        record = found[name, 0]
        assert record.status is CellStatus.FAILED
        assert why in str(record.error), name
        assert "\n" not in str(record.error)
    for name in DIVERGED:
        assert found[name, 0].error == "x, a is NaN or above 1e+150"
    assert capfd.readouterr().out == "", "what an experiment prints would break --json"
    assert Path.cwd() == folder
    assert len(list((tmp_path / "runs").rglob("*.json"))) == len(names) + 1
    trace = found["raises_other", 0].traceback
    assert trace is not None
    assert "in raises\n    raise error" in trace
    assert found["leaves", 0].traceback is None
    # the next run tries again what failed, is not killed either, and repeats what is done
    again, _ = run(store, cell("leaves"), cell("good"), jobs=jobs)
    assert again == Summary(present=1, failed=1)


def test_what_a_fork_shares_with_its_worker_counts_once(tmp_path):
    """The defect: a cell that started a process was ended, since its memory was counted twice."""
    limits = Limits(memory=1_000_000_000)
    summary, _ = run(Store(tmp_path / "runs"), cell("copies"), jobs=1, limits=limits)
    assert summary == Summary(completed=1)


def test_a_worker_lives_on_from_job_to_job(tmp_path, workers):
    """Processes are started for jobs that die, not for each job."""
    run(Store(tmp_path / "runs"), *(cell("good", seed) for seed in range(6)))
    assert [worker.exitcode for worker in workers] == [0], "without a job, it ends by itself"
    run(Store(tmp_path / "more"), cell("leaves"), cell("good"))
    assert len(workers) == 3  # one; another, and its heir that dies too


def test_a_worker_that_is_deaf_to_its_end_is_killed(tmp_path, workers, monkeypatch):
    monkeypatch.setattr(executors, "STOP_SECONDS", 0.1)

    def interrupt(event: Event) -> None:
        if isinstance(event, Progress):  # it computes, and is deaf by now
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Store(tmp_path / "runs"), cell("deaf"), on_event=interrupt)
    assert [worker.exitcode for worker in workers] == [-signal.SIGKILL]


def test_the_environment_of_now_reaches_the_workers(tmp_path, monkeypatch):
    """The process that forks them is older than a variable that is set now."""
    tells = users_module(tmp_path / "tells.py", "scalars={'x': float(os.environ['HOSTILE_NOW'])}")
    for value in ("1", "2"):
        monkeypatch.setenv("HOSTILE_NOW", value)
        record = users_run(tells, Store(tmp_path / value))
        assert record.measurements.scalars == {"x": float(value)}
        assert os.environ.get("OMP_NUM_THREADS") is None or record.environment.threads == 1


# --- code that does not come with reproaudit ----------------------------------------------------


@pytest.mark.parametrize("near", ["near", ".near", "deep.near"])
def test_stale_bytecode_beside_an_innocent_source_does_not_run(tmp_path, near):
    folder = tmp_path / "audits"
    place = folder / "deep" if near.startswith("deep") else folder
    place.mkdir(parents=True)
    (place / "__init__.py").touch()
    source = place / "near.py"
    source.write_text("VALUE = 6.0\n")
    cached = Path(py_compile.compile(str(source), doraise=True))
    when = source.stat()
    source.write_text("VALUE = 1.0\n")  # as long as the other, and made to look as old
    os.utime(source, ns=(when.st_atime_ns, when.st_mtime_ns))
    assert b"VALUE" in cached.read_bytes()
    module = users_module(folder / "mine.py", "scalars={'x': VALUE}", f"from {near} import VALUE")
    record = users_run(module, Store(tmp_path / "runs"))
    assert record.measurements.scalars == {"x": 1.0}


def test_code_that_changes_after_it_was_planned_does_not_run_under_the_planned_hash(tmp_path):
    (tmp_path / "near.py").write_text("VALUE = 1.0\n")
    file = tmp_path / "mine.py"
    module = users_module(file, "scalars={'x': VALUE}", "from .near import VALUE")
    store = Store(tmp_path / "runs")

    def change(event: object) -> None:
        if isinstance(event, CellStarted):
            (tmp_path / "near.py").write_text(f"VALUE = 2.0\nopen({str(has_run)!r}, 'w').close()\n")

    has_run = tmp_path / "has run"
    summary = run_cells([users_cell(module)], lambda _paper: module, store, on_event=change)
    assert not has_run.exists()
    assert summary == Summary(failed=1)
    (record,) = store.records("mine", "smoke")
    assert "the code was changed while the run went on" in str(record.error)


def test_foreign_code_is_announced_and_needs_consent(tmp_path, monkeypatch, cli):
    audits = write_paper(tmp_path / "audits")
    command = ["run", "mini", "--tier", "smoke", "--audits", str(audits)]
    command += ["--store", str(tmp_path / "runs")]
    monkeypatch.delenv("REPROAUDIT_TRUST")
    monkeypatch.setenv("REPROAUDIT_TRUST_FILE", str(tmp_path / "trust"))
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))  # no terminal, so nobody who could agree
    errors = " ".join(cli(*command, code=2).err.split())
    assert f"the code of {(audits / 'mini.py').resolve()} will run " in errors
    assert "pass --trust" in errors
    assert not (tmp_path / "runs").exists()
    assert run_command([*command, "--trust"]) == 0
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    for answer, code in (("n\n", 2), ("\n", 2), ("y\n", 0)):
        terminal = io.StringIO(answer)
        terminal.isatty = lambda: True  # type: ignore[method-assign]
        monkeypatch.setattr("sys.stdin", terminal)
        assert run_command(command) == code
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run_command(command) == 0, "a yes is kept for this hash"


def _said_by(code: str) -> tuple[int, str]:
    """The exit code and the errors of a program of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def test_what_a_killed_worker_leaves_is_removed_without_a_word():
    code = (
        "from multiprocessing import resource_tracker as tracker\n"
        "from reproaudit.run.executors import local\n"
        "with local._for_children():\n"
        "    tracker.register('/reproaudit-none', 'semaphore')\n"
    )
    assert _said_by(code) == (0, "")


def test_a_request_to_end_is_heard_from_the_start():
    code = (
        "import os, signal\n"
        "from reproaudit import cli\n"
        "cli.app = lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM)\n"
        "cli.main()\n"
    )
    ended, errors = _said_by(code)
    assert ended == 130
    assert errors.startswith("Interrupted.")
