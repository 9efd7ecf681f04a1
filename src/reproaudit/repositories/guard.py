"""A program between us and a foreign command: whatever the command starts ends with the command.

It reads its order, one line of JSON, from the socket that is its standard input. It ends the
command and all its descendants when that socket is shut or its parent dies, when the time is up, or
when the command itself ends and leaves others behind. It answers with what happened, as JSON.
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
from typing import Any

import psutil

LOOK_SECONDS = 0.05
GRACE_SECONDS = 2.0
"""The seconds in which a process that gets SIGTERM may end by itself."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _prctl(option: int, value: int) -> None:
    """Asks Linux for something of this process; elsewhere nothing happens."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _before_command() -> None:
    """In the command's process, before its program: usual signals, and an end with the guard."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_all(child: subprocess.Popen[bytes], gently: bool) -> None:
    """Ends the command's process group and every descendant; returns when none is left."""
    if gently:
        with suppress(OSError):
            os.killpg(child.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_SECONDS)
    with suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    while left := psutil.Process().children(recursive=True):
        for one in left:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(left, timeout=GRACE_SECONDS)


def guard(order: dict[str, Any], parent: int) -> dict[str, Any]:
    """Runs one command to its end, and says which end that was.

    Args:
        order: ``argv``; ``folder``; ``variables``; ``seconds``; ``then``, a command to run if the
            first is ended.
        parent: the process whose death ends the command.
    """
    try:
        child = subprocess.Popen(
            order["argv"],
            cwd=order["folder"],
            env=order["variables"],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_before_command,
        )
    except (OSError, ValueError) as error:
        return {"absent": getattr(error, "strerror", None) or str(error)}
    happened: dict[str, Any] = {}
    deadline = time.monotonic() + order["seconds"]
    while child.poll() is None and not happened:
        is_shut, _, _ = select.select([0], [], [], LOOK_SECONDS)
        if is_shut or os.getppid() != parent:
            happened = {"stopped": True}
        elif time.monotonic() > deadline:
            happened = {"late": True}
    _end_all(child, gently=bool(happened))
    if happened and order["then"]:
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                order["then"], stdin=subprocess.DEVNULL, stdout=2, timeout=30, check=False
            )
    return happened or {"code": child.returncode}


def obey() -> None:
    """Takes the order, carries it out and answers; removes its folder if the parent has died."""
    parent = os.getppid()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 2**16)
        if not piece:
            sys.exit(1)
        line += piece
    order = json.loads(line)
    happened = guard(order, parent)
    with suppress(OSError):
        os.write(0, json.dumps(happened).encode())
    if order["remove"] and os.getppid() != parent:
        shutil.rmtree(order["remove"], ignore_errors=True)


if __name__ == "__main__":
    obey()
