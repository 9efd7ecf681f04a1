"""What a worker prints passes through the run, and what it starts does not outlive it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

import reproaudit
from miniatures import finish, program, until, write_paper
from reproaudit.report.printable import printable
from reproaudit.run.events import CellNote, Event, Summary
from reproaudit.run.executors.local import MOST_PRINTED, Limits
from reproaudit.store.records import Store
from test_hostile import cell, run

PROC = Path("/proc")
needs_proc = pytest.mark.skipif(not (PROC / "self/cmdline").exists(), reason="looks into /proc")


def printed_by(tmp_path: Path, *names: str, **how: Any) -> tuple[Summary, dict[str, str]]:
    """What a run of some misdeeds tells that they printed, by experiment."""
    found: dict[str, list[str]] = {}

    def note(event: Event) -> None:
        if isinstance(event, CellNote):
            found.setdefault(event.cell.experiment, []).append(event.text)

    summary, _ = run(Store(tmp_path), *map(cell, names), on_event=note, **how)
    return summary, {name: "\n".join(texts) for name, texts in found.items()}


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.process), 2])
def test_all_that_an_experiment_prints_is_told_and_no_more(tmp_path, jobs, capfd):
    summary, found = printed_by(tmp_path, "shouts", "floods", "good", "scatters", jobs=jobs)
    assert summary == Summary(completed=4)
    assert found.pop("shouts") == "\x1b[2J\x07evil \u202e\nhalf a line"
    assert found.pop("scatters") == "this is no JSON\nnor is this"
    *lines, last = found.pop("floods").split("\n")
    assert set(lines) == {"0123456789abcde"}
    assert len(lines) == MOST_PRINTED // 16
    assert last == f"… {100_000_000 - MOST_PRINTED:,} more bytes"
    assert found == {}
    assert capfd.readouterr() == ("", "")


def test_the_last_words_of_a_crash_are_kept_with_its_cell(tmp_path):
    _, found = run(Store(tmp_path), cell("segfaults"), cell("begets_and_leaves"))
    words = found["segfaults", 0].traceback
    assert words is not None
    assert words.startswith("Fatal Python error: Segmentation fault")
    assert "in segfault" in words
    assert found["begets_and_leaves", 0].traceback is None


@pytest.mark.process
def test_workers_have_the_code_of_their_caller_wherever_it_lies(tmp_path):
    """An installed package, too, may lie where Python looks first."""
    copy = tmp_path / "reproaudit"
    shutil.copytree(Path(reproaudit.__file__).parent, copy)
    with (copy / "records.py").open("a") as code:
        code.write("OTHER = 1\n")
    text = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[1:]\n"
        "from cells import cell, locate, run_cells, Store\n"
        "print(run_cells([cell()], locate, Store(Path(sys.argv[1], 'runs'))).completed)\n"
    )
    words = [sys.executable, "-c", text, str(tmp_path), str(Path(__file__).parent)]
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    assert subprocess.run(words, env=variables, capture_output=True).stdout == b"1\n"


# --- as a program -------------------------------------------------------------------------------

MISDEED = """
def measure(settings, session):
    import os, subprocess
    os.write(2, b"\\x1b[2J\\x07evil\\n")
    os.write(1, b"no JSON")
    subprocess.Popen(["sleep", "4321.5"])
    return _measure(settings, session)

EXPERIMENTS"""


@pytest.mark.process
@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_a_pipe_ends_with_the_run_and_holds_no_control_character(tmp_path, jobs):
    """As `reproaudit run | cat` does, which waits until nobody has the pipe any more."""
    module = write_paper(tmp_path / "audits") / "mini.py"
    text = module.read_text().replace("def measure(", "def _measure(", 1)
    module.write_text(text.replace("\nEXPERIMENTS", MISDEED, 1))
    arguments = ["--tier", "smoke", "--jobs", jobs, "--json", "--store", str(tmp_path / "runs")]
    process = program("run", "mini", "--audits", str(module.parent), *arguments)
    code, out, errors = finish(process, timeout=90)
    assert code == 0, errors
    assert "no JSON" not in out
    assert "smoke" in out
    assert printable(errors) == errors
    assert "seed 0 | \\x1b[2J\\x07evil\n" in errors
    assert "seed 0 | no JSON\n" in errors
    assert not list(sleepers("4321.5"))


# --- what workers start -------------------------------------------------------------------------


def sleepers(seconds: str) -> Iterator[int]:
    """The processes that sleep so long."""
    for place in PROC.glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            if words[:2] == [b"sleep", seconds.encode()]:
                yield int(place.name)
        except OSError:
            continue


def group(worker: BaseProcess) -> list[int]:
    """The living processes of a worker's group."""
    members = []
    for place in PROC.glob("[0-9]*"):
        try:
            state, _, its = (place / "stat").read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        members += [int(place.name)] if int(its) == worker.pid and state != "Z" else []
    return members


@needs_proc
@pytest.mark.parametrize(
    "name", ["begets", pytest.param("begets_and_leaves", marks=pytest.mark.process)]
)
def test_what_a_worker_starts_ends_with_it(tmp_path, name, workers):
    beside = subprocess.Popen(["sleep", "60"])  # of another group
    try:
        began = time.monotonic()
        summary, _ = run(Store(tmp_path), cell(name), cell("good"))
        assert time.monotonic() - began < 60, "no child is waited for"
        assert summary.completed == (2 if name == "begets" else 1)
        assert workers
        until(lambda: not any(map(group, workers)))
        assert beside.poll() is None
    finally:
        beside.kill()
        beside.wait()


@pytest.mark.process
@needs_proc
def test_what_a_worker_starts_ends_with_its_time(tmp_path, workers):
    limits = Limits(seconds=6.0)
    summary, found = run(Store(tmp_path), cell("begets_and_loops"), limits=limits)
    assert summary == Summary(failed=1)
    error = str(found["begets_and_loops", 0].error)
    assert error == "it took longer than 6 s (--cell-timeout)"
    until(lambda: not any(map(group, workers)))


BUSY = """    while True:  # it may notice at once that nobody listens
        session.progress("descent", 1, 1)
        time.sleep(0.0001)
    return """


@needs_proc
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.process),
        signal.SIGKILL,
        pytest.param(signal.SIGTERM, marks=[pytest.mark.process, pytest.mark.slow]),
    ],
)
def test_what_a_worker_starts_ends_with_the_program(tmp_path, number):
    seconds = f"4321.{tmp_path.stat().st_ino}"  # which nobody else sleeps
    module = write_paper(tmp_path / "audits") / "mini.py"
    text = module.read_text().replace("def measure(", "def _measure(", 1)
    misdeed = MISDEED.replace("4321.5", seconds).replace("    return ", BUSY, 1)
    module.write_text(text.replace("\nEXPERIMENTS", misdeed, 1))
    process = program(
        "run", "mini", "--audits", str(module.parent), "--store", str(tmp_path / "runs"),
        start_new_session=True,
    )  # fmt: skip
    try:
        until(lambda: list(sleepers(seconds)))
    finally:
        os.killpg(process.pid, number)  # as a terminal or `timeout` does
    code, _, _ = finish(process, timeout=90)
    assert code == (130 if number != signal.SIGKILL else -signal.SIGKILL)
    until(lambda: not list(sleepers(seconds)))
