"""Runs a foreign command to its end, and keeps what it prints."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from reproaudit.errors import AuditError
from reproaudit.repositories import guard

TELL_SECONDS = 0.2
"""The seconds between reports to the caller that the command still runs."""

END_SECONDS = 3 * guard.GRACE_SECONDS
"""The seconds in which the guard must have ended everything."""

MOST_KEPT = 2**20
"""Bytes of each of stdout and stderr that are kept: the first half, and the last."""


class CommandError(AuditError):
    """A command, its source or its environment that cannot be used; one line. A failed cell."""


@dataclass(frozen=True)
class Ended:
    """The end of a command, and its output.

    Attributes:
        code: its exit code, negative for a signal; None if it did not end by itself.
        words: how it ended; empty if it ended well.
        stdout: what it printed, bounded.
        stderr: the same of standard error.
    """

    code: int | None
    words: str
    stdout: bytes
    stderr: bytes


class _Kept(threading.Thread):
    """Reads a stream to its end, and keeps its beginning and its end."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._head = self._tail = b""
        self._size = 0
        self.start()

    def run(self) -> None:
        with suppress(OSError, ValueError):
            while piece := os.read(self._stream.fileno(), 2**16):
                self._size += len(piece)
                room = MOST_KEPT // 2 - len(self._head)
                self._head += piece[:room]
                self._tail = (self._tail + piece[room:])[-MOST_KEPT // 2 :]

    def text(self) -> bytes:
        """The output that was kept, once the stream has ended."""
        self.join(1.0)
        self._stream.close()
        dropped = self._size - len(self._head) - len(self._tail)
        gap = f"\n… {dropped} bytes left out …\n".encode() if dropped else b""
        return self._head + gap + self._tail


def run_guarded(
    argv: Sequence[str],
    folder: Path,
    variables: Mapping[str, str],
    seconds: float,
    *,
    still_running: Callable[[], None] = lambda: None,
    then: Sequence[str] = (),
    remove: Path | None = None,
) -> Ended:
    """Runs a command, and ends it and all that it started if anything ends this process or call.

    Args:
        argv: the program and its arguments.
        folder: its working folder.
        variables: its whole environment.
        seconds: how long it may take.
        still_running: called while it runs; what it raises ends the command.
        then: a command to run if the first one is ended by us.
        remove: a folder to remove if this process dies.
    """
    order = {
        "argv": list(argv),
        "folder": str(folder),
        "variables": dict(variables),
        "seconds": seconds,
        "then": list(then),
        "remove": None if remove is None else str(remove),
    }
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = _start_guard(theirs.fileno())
        assert process.stdout is not None
        assert process.stderr is not None
        printed = [_Kept(process.stdout), _Kept(process.stderr)]
        try:
            with suppress(OSError):
                ours.sendall(json.dumps(order).encode() + b"\n")
            while process.poll() is None:
                still_running()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(TELL_SECONDS)
        finally:
            answer = _stop_guard(process, ours)
            stdout, stderr = (one.text() for one in printed)
    return Ended(answer.get("code"), _words(answer, seconds), stdout, stderr)


def _start_guard(standard_input: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-P", guard.__file__],
            stdin=standard_input,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise CommandError(f"cannot start {sys.executable}: {error.strerror}") from error


def _stop_guard(process: subprocess.Popen[bytes], ours: socket.socket) -> dict[str, Any]:
    """Lets the guard end everything, if it has not; returns its answer."""
    with suppress(OSError):
        ours.shutdown(socket.SHUT_WR)
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    answer: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        answer = json.loads(ours.recv(2**16))
    return answer


def _words(answer: Mapping[str, Any], seconds: float) -> str:
    if "late" in answer:
        return f"took longer than {seconds:g} s, and was ended"
    if "absent" in answer:
        return f"could not be started ({answer['absent'].lower()})"
    code = answer.get("code")
    if code is None:
        return "was ended from outside"
    if code < 0:
        return f"was ended by signal {-code}"
    return f"ended with exit code {code}" if code else ""


def last_line(text: bytes, most: int = 200) -> str:
    """The last line that is not empty, without control characters; empty if there is none."""
    lines = [line.strip() for line in text.decode(errors="replace").splitlines()]
    last = next((line for line in reversed(lines) if line), "")
    return "".join(c if c.isprintable() else "?" for c in last)[:most]
