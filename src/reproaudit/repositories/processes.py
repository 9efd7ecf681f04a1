"""Runs a foreign command to its end, and keeps what it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
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

_PIECE = 2**14


class CommandError(AuditError):
    """A command, its source or its environment that cannot be used; one line. A failed cell."""


@dataclass(frozen=True)
class Ended:
    """The end of a command, and its output.

    Attributes:
        code: its exit code, negative for a signal; None if it did not end by itself.
        why: why it did not, or could not be started; empty if it did.
        stdout: what it printed, bounded.
        stderr: the same of standard error.
    """

    code: int | None
    why: str
    stdout: bytes
    stderr: bytes

    @property
    def words(self) -> str:
        """The end in words; empty if it ended well."""
        if self.code is None:
            return self.why
        if self.code < 0:
            return f"was ended by signal {-self.code}"
        return f"ended with exit code {self.code}" if self.code else ""


class _Kept:
    """Reads a stream to its end, and keeps its beginning and its end."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._in_tail = self._dropped = 0
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while piece := os.read(self._stream.fileno(), _PIECE):
                room = MOST_KEPT // 2 - len(self._head)
                self._head += piece[:room]
                if piece[room:]:
                    self._tail.append(piece[room:])
                    self._in_tail += len(piece[room:])
                while self._in_tail > MOST_KEPT // 2:
                    gone = len(self._tail.popleft())
                    self._in_tail -= gone
                    self._dropped += gone

    def text(self) -> bytes:
        """The output that was kept."""
        gap = f"\n… {self._dropped} bytes left out …\n".encode() if self._dropped else b""
        return bytes(self._head) + gap + b"".join(self._tail)


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
    read_end, write_end = os.pipe()
    order = {
        "argv": list(argv),
        "folder": str(folder),
        "variables": dict(variables),
        "seconds": seconds,
        "report": write_end,
        "then": list(then),
        "remove": None if remove is None else str(remove),
    }
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[write_end],
            start_new_session=True,
        )
    except OSError as error:
        os.close(read_end)
        raise CommandError(f"cannot start {argv[0]}: {error.strerror}") from error
    finally:
        os.close(write_end)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    kept = [_Kept(process.stdout), _Kept(process.stderr)]
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()
        while process.poll() is None:
            still_running()
            with suppress(subprocess.TimeoutExpired):
                process.wait(TELL_SECONDS)
    finally:
        with suppress(OSError):
            process.stdin.close()  # the guard ends everything
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for one in kept:
            one.thread.join(1.0)
        with os.fdopen(read_end, "rb") as report:
            told = report.read()
        process.stdout.close()
        process.stderr.close()
    stdout, stderr = (one.text() for one in kept)
    happened: dict[str, Any] = json.loads(told) if told else {}
    if "code" in happened:
        return Ended(happened["code"], "", stdout, stderr)
    if "late" in happened:
        return Ended(None, f"took longer than {seconds:g} s, and was ended", stdout, stderr)
    if "absent" in happened:
        why = f"could not be started ({happened['absent'].lower()})"
        return Ended(None, why, stdout, stderr)
    return Ended(None, "was ended from outside", stdout, stderr)


def last_line(text: bytes, most: int = 200) -> str:
    """The last line that is not empty, without control characters; empty if there is none."""
    lines = [line.strip() for line in text.decode(errors="replace").splitlines()]
    last = next((line for line in reversed(lines) if line), "")
    return "".join(c if c.isprintable() else "?" for c in last)[:most]
