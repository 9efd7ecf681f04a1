"""A program between us and a foreign command: whatever the command starts ends with the command.

It reads its order, one line of JSON, from its standard input. It ends the command and all its
descendants when that input is closed or its parent dies, when the time is up, or when the command
itself ends and leaves others behind. What happened is written to a file descriptor as JSON. It runs
from its path alone, and imports nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

LOOK_SECONDS = 0.05
GRACE_SECONDS = 2.0
"""The seconds in which a process that gets SIGTERM may end by itself."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def _prctl(option: int, value: int) -> None:
    """Asks Linux for something of this process; elsewhere nothing happens."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _die_with_guard() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _descendants() -> list[int]:
    """The processes below this one, where the system has /proc; those that left their parents too,
    since this process adopts them.
    """
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(fields[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {os.getpid()})


def _end_all(child: subprocess.Popen[bytes], gently: bool) -> None:
    """Ends the command's process group and every descendant; returns when none is left."""
    if gently:
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while child.poll() is None and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
    with suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    while left := _descendants():
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)


def guard(order: dict[str, Any]) -> None:
    """Runs one command.

    Args:
        order: ``argv``; ``folder``; ``variables``; ``seconds``; ``report``, the file descriptor for
            what happened; ``then``, a command to run if the first is ended; ``remove``, a folder to
            remove if the parent has died.
    """
    parent = os.getppid()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    happened: dict[str, Any] = {}
    try:
        child = subprocess.Popen(
            order["argv"],
            cwd=order["folder"],
            env=order["variables"],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_started,
        )
    except (OSError, ValueError) as error:
        happened = {"absent": getattr(error, "strerror", None) or str(error)}
    else:
        deadline = time.monotonic() + order["seconds"]
        while child.poll() is None and not happened:
            ready, _, _ = select.select([0], [], [], LOOK_SECONDS)
            if ready or os.getppid() != parent:
                happened = {"stopped": True}
            elif time.monotonic() > deadline:
                happened = {"late": True}
        _end_all(child, gently=bool(happened))
        if happened and order["then"]:
            with suppress(OSError, subprocess.SubprocessError):
                subprocess.run(order["then"], stdin=0, stdout=2, timeout=30, check=False)
        happened = happened or {"code": child.returncode}
    with suppress(OSError):
        os.write(order["report"], json.dumps(happened).encode())
    if order["remove"] and os.getppid() != parent:
        shutil.rmtree(order["remove"], ignore_errors=True)


def _started() -> None:
    """In the command's process, before its program: usual signals, and an end with the guard."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    _die_with_guard()


def _order() -> dict[str, Any]:
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 2**16)
        if not piece:
            sys.exit(1)
        line += piece
    order: dict[str, Any] = json.loads(line)
    return order


if __name__ == "__main__":
    guard(_order())
