"""Foreign processes end with the command, its time, its caller, or its caller's death."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import reproaudit
from miniatures import until
from reproaudit.repositories.processes import Call, Ended, run_guarded

SECONDS = 30.0
FAMILY = """\
import os, subprocess, sys, time
folder = sys.argv[1]
subprocess.Popen([sys.executable, "-c", '''
import os, signal, sys, time
os.setsid()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork():
    sys.exit()
open(sys.argv[1] + "/daemon", "w").write(str(os.getpid()))
time.sleep(100)
''', folder])
while not os.path.exists(folder + "/daemon"):
    time.sleep(0.01)
open(folder + "/command", "w").write(str(os.getpid()))
"""
"""Starts a process that leaves its session, ignores SIGTERM and outlives its own parent."""


def family(folder: Path, then: str = "time.sleep(100)") -> list[str]:
    return [sys.executable, "-c", f"{FAMILY}{then}\n", str(folder)]


def pids(folder: Path) -> list[int]:
    files = [folder / "command", folder / "daemon"]
    until(lambda: all(file.exists() and file.read_text() for file in files))
    return [int(file.read_text()) for file in files]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def assert_all_gone(folder: Path) -> None:
    found = pids(folder)
    until(lambda: not any(map(is_running, found)))


def call(argv: list[str], folder: Path, seconds: float = SECONDS) -> Ended:
    return run_guarded(Call(tuple(argv), folder, dict(os.environ), seconds), lambda: None)


def test_what_it_prints_and_how_it_ends(tmp_path):
    ended = call([sys.executable, "-c", "print('out'); import sys; sys.exit('err')"], tmp_path)
    assert (ended.stdout, ended.stderr) == (b"out\n", b"err\n")
    assert ended.fault == "ended with exit code 1"
    assert call([sys.executable, "-c", "pass"], tmp_path).fault == ""
    killed = call([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], tmp_path)
    assert killed.fault == "was ended by signal 9"
    absent = call([str(tmp_path / "absent")], tmp_path)
    assert absent.fault.startswith("could not be started ([Errno 2] No such file or directory: ")
    assert absent.fault.endswith("absent')")


def test_no_shell_reads_its_arguments(tmp_path):
    hostile = "$(touch injected); `touch injected` | touch injected"
    script = "import sys; print(sys.argv[1])"
    ended = call([sys.executable, "-c", script, hostile], tmp_path)
    assert ended.stdout.decode() == f"{hostile}\n"
    assert not list(tmp_path.iterdir())


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


@pytest.mark.process
@needs_proc
def test_the_time_is_up_for_all_of_them(tmp_path):
    began = time.monotonic()
    assert "took longer than 3 s" in call(family(tmp_path), tmp_path, 3.0).fault
    assert time.monotonic() - began < SECONDS
    assert_all_gone(tmp_path)


@needs_proc
def test_what_a_command_leaves_behind_ends_with_it(tmp_path):
    assert call(family(tmp_path, "pass"), tmp_path).fault == ""
    assert_all_gone(tmp_path)


@pytest.mark.process
@needs_proc
def test_what_the_caller_raises_ends_all_of_them(tmp_path):
    def interrupt() -> None:
        if (tmp_path / "command").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_guarded(Call(tuple(family(tmp_path)), tmp_path, dict(os.environ), SECONDS), interrupt)
    assert_all_gone(tmp_path)


@needs_proc
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.process)]
)
def test_the_callers_death_ends_all_of_them(tmp_path, number):
    program = (
        "import os\n"
        "from reproaudit.repositories.processes import Call, run_guarded\n"
        f"call = Call({family(tmp_path)!r}, {str(tmp_path)!r}, dict(os.environ), 60)\n"
        "run_guarded(call, lambda: None)\n"
    )
    caller = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(Path(reproaudit.__file__).parent.parent)},
    )
    pids(tmp_path)
    caller.send_signal(number)
    caller.wait(SECONDS)
    assert_all_gone(tmp_path)


def test_the_last_line_is_printable():
    assert Ended("", b"out", b"one\ntwo \x1b[31m\x07red\n\n").last_line() == "two ?[31m?red"
    assert Ended("", b"out\n", b" \n").last_line() == "out"
    assert Ended("", b"", b"").last_line() == ""
