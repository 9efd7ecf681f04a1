"""The prints of a process, by whatever way: shown as they come, up to a limit, the end kept."""

from __future__ import annotations

import codecs
import faulthandler
import io
import os
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from reproaudit.running.jobs import LONGEST_TRACE

MOST_PRINTED = 2**16
"""Characters of what a job prints that are shown: its beginning."""

_PIECE = 2**20
"""Bytes of one reading; a pipe holds no more, unless an administrator has enlarged it."""


def print_into(pipe: Connection[Any, Any]) -> None:
    """Lets all go into a pipe that this process prints from now on, or that its children do.

    A line of Python goes at once, so that a crash loses none; the system's own words follow it.
    """
    for number in (1, 2):
        os.dup2(pipe.fileno(), number)
    pipe.close()
    sys.stdout = sys.stderr = os.fdopen(
        2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )
    faulthandler.enable(sys.stderr)


class Printout:
    """The reading end of such a pipe. Nothing in here waits.

    Attributes:
        pipe: what can be waited on for more; None once the other end is closed.
        end: the last `LONGEST_TRACE` characters that the present job printed.
    """

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        os.set_blocking(pipe.fileno(), False)
        self.pipe: Connection[Any, Any] | None = pipe
        self.begin()

    def begin(self) -> None:
        """A new job."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self._line = ""  # begun, and not shown yet
        self._room = MOST_PRINTED
        self._left_out = 0
        self.end = ""

    def lines(self) -> str:
        """The whole lines that have come since the last look, as far as they are shown."""
        text = self._decoder.decode(self._read())
        self.end = (self.end + text)[-LONGEST_TRACE:]
        shown, unshown = text[: self._room], text[self._room :]
        self._room -= len(shown)
        self._left_out += len(unshown)
        whole, _, self._line = (self._line + shown).rpartition("\n")
        return whole

    def last_lines(self) -> str:
        """The last lines that the job printed, and how much of it was not shown."""
        told = [self.lines(), self._line]
        if self._left_out:
            told.append(f"… {self._left_out:,} more characters")
        return "\n".join(one for one in told if one)

    def close(self) -> None:
        """Closes this end."""
        if self.pipe is not None:
            self.pipe.close()
            self.pipe = None

    def _read(self) -> bytes:
        with suppress(BlockingIOError):
            if self.pipe is not None:
                piece = os.read(self.pipe.fileno(), _PIECE)
                if not piece:
                    self.close()  # whoever printed has closed its end
                return piece
        return b""
