"""Foreign commands run to their end; what they print is kept, and all that they start ends, too.

Between us and the command is a guard: this file, run as a program. It reads a `Call`, one line of
JSON, from the socket that is its standard input, and answers there in words how the command ended.
It ends the command and all its descendants when that socket is shut, as by the death of who holds
the other end, when the time is up, or when the command itself ends and leaves others behind.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import psutil

from reproaudit.errors import AuditError

MOST_KEPT = 2**20  # Bytes of each of stdout and stderr that are kept: the first half, and the last
MOST_OUTPUT = 2**32  # Bytes that a command may print; they lie in temporary files until it ends
GRACE_SECONDS = 2.0  # The seconds in which a process that gets SIGTERM may end by itself
_TELL_SECONDS = 0.2
_LOOK_SECONDS = 0.05
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_WELL = "ended well"
_STOPPED = "was ended from outside"

StillRunning = Callable[[], None]  # Called while something runs; what it raises ends it


class CommandError(AuditError):
    """A command, its source or its environment that cannot be used; one line. A failed cell."""


@dataclass(frozen=True)
class Call:
    """A command as it is started, with its whole environment and the time that it may take."""

    argv: tuple[str, ...]
    folder: Path
    variables: Mapping[str, str]
    seconds: float
    then: tuple[str, ...] = ()
    """A command to run if the first one is ended by us."""


@dataclass(frozen=True)
class Ended:
    """How a command ended, in words that are empty if it ended well, and its bounded output."""

    fault: str
    stdout: bytes
    stderr: bytes

    def last_line(self) -> str:
        """Return the last line of stderr, else of stdout, without control characters."""
        text = (self.stderr.strip() or self.stdout.strip()).decode(errors="replace")
        last = text.splitlines()[-1].strip() if text else ""
        return "".join(c if c.isprintable() else "?" for c in last)[:200]


def run_guarded(call: Call, still_running: StillRunning) -> Ended:
    """Run a command, and end it and all that it started if anything ends this process or call."""
    ours, theirs = socket.socketpair()
    with ours, TemporaryFile() as stdout, TemporaryFile() as stderr:
        with theirs:
            guard = subprocess.Popen(
                [sys.executable, "-P", __file__],
                stdin=theirs.fileno(),
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        try:
            with suppress(OSError):
                ours.sendall(json.dumps(asdict(call), default=str).encode() + b"\n")
            while guard.poll() is None:
                still_running()
                with suppress(subprocess.TimeoutExpired):
                    guard.wait(_TELL_SECONDS)
        finally:
            with suppress(OSError):
                ours.shutdown(socket.SHUT_WR)
            try:
                guard.wait(3 * GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                guard.kill()
                guard.wait()
        answer = ""
        with suppress(OSError):
            answer = ours.recv(2**16).decode()
        fault = "" if answer == _WELL else answer or _STOPPED
        return Ended(fault, _kept(stdout), _kept(stderr))


def _kept(printed: IO[bytes]) -> bytes:
    size = printed.seek(0, os.SEEK_END)
    printed.seek(0)
    if size <= MOST_KEPT:
        return printed.read()
    head = printed.read(MOST_KEPT // 2)
    printed.seek(-MOST_KEPT // 2, os.SEEK_END)
    return head + f"\n… {size - MOST_KEPT} bytes left out …\n".encode() + printed.read()


def _guard() -> None:
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, lambda *_: None)  # ends nothing here; a new program loses it
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        sys.exit(1)
    ending = _ending(json.loads(line))
    with suppress(OSError):
        os.write(0, ending.encode())


def _ending(call: dict[str, Any]) -> str:
    try:
        child = subprocess.Popen(
            call["argv"],
            cwd=call["folder"],
            env=call["variables"],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=partial(_prctl, _PR_SET_PDEATHSIG, signal.SIGKILL),
        )
    except (OSError, ValueError) as error:
        return f"could not be started ({error})"
    interrupted = ""
    deadline = time.monotonic() + call["seconds"]
    while child.poll() is None and not interrupted:
        is_shut, _, _ = select.select([0], [], [], _LOOK_SECONDS)
        if is_shut:
            interrupted = _STOPPED
        elif time.monotonic() > deadline:
            interrupted = f"took longer than {call['seconds']:g} s, and was ended"
        elif os.fstat(1).st_size + os.fstat(2).st_size > MOST_OUTPUT:
            interrupted = f"printed more than {MOST_OUTPUT:,} bytes, and was ended"
    _end_all(child, gently=bool(interrupted))
    if interrupted and call["then"]:
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(call["then"], stdin=subprocess.DEVNULL, stdout=2, timeout=30)
    if interrupted or not child.returncode:
        return interrupted or _WELL
    code = child.returncode
    return f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"


def _prctl(option: int, value: int) -> None:
    """Ask Linux for something of this process; do nothing elsewhere."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _end_all(child: subprocess.Popen[bytes], gently: bool) -> None:
    """End the command's process group and every descendant; return when none is left."""
    with suppress(OSError, subprocess.TimeoutExpired):
        if gently:
            os.killpg(child.pid, signal.SIGTERM)
            child.wait(GRACE_SECONDS)
    with suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    while left := psutil.Process().children(recursive=True):
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, timeout=GRACE_SECONDS)


if __name__ == "__main__":
    _guard()
