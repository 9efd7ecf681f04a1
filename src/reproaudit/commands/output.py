"""Prints for every command: JSON, documents, and the names of written files."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from reproaudit.report.printable import printable

NARROWEST = 40
"""The least width used, even if the terminal claims to be narrower (``COLUMNS=0``)."""


def print_json(value: Any) -> None:
    """Prints JSON; where the output cannot hold every character, with escapes."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2, allow_nan=False)
    sys.stdout.write(text + "\n")


def terminal(*, stderr: bool = False) -> Console:
    """Returns the terminal to print to, wide enough for words."""
    console = Console(stderr=stderr)
    if console.width < NARROWEST:
        console.width = NARROWEST
    return console


def say(text: str, *, stderr: bool = False, style: str = "") -> None:
    """Prints a message of one or more lines, with control characters shown, not obeyed."""
    console = terminal(stderr=stderr)
    console.print(printable(text), style=style, markup=False, highlight=False, soft_wrap=True)


def show(lines: Iterable[str]) -> None:
    """Prints lines to the terminal."""
    for line in lines:
        say(line)


def say_written(paths: Iterable[Path], *, as_json: bool = False) -> None:
    """Prints the files that were written; beside JSON on standard error."""
    for path in paths:
        say(f"wrote {path}", stderr=as_json)


class GuardedOutput:
    """A standard stream that never interrupts a command.

    What cannot be written is dropped, so that a command still writes its files and gives its own
    exit code. `fault` says why, unless the reader went away, as `head` does.
    """

    def __init__(self, stream: TextIO | None) -> None:
        # Closed by the caller: what Python opens first would take its place.
        self._stream = stream or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ≤ shows a question mark
        self._is_lost = False
        self.fault: str | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Writes to the stream while it can be written."""
        try:
            if not self._is_lost:
                self._stream.write(text)
        except OSError as error:
            self._lose(error)
        return len(text)

    def flush(self) -> None:
        """Flushes the stream while it can be written."""
        try:
            if not self._is_lost:
                self._stream.flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        self._is_lost = True
        if not isinstance(error, BrokenPipeError):
            self.fault = f"cannot write the output: {error.strerror or error}"
        # What is still buffered is flushed when Python ends; it must not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
