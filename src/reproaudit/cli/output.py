"""Prints for every command: data as JSON or lines of text, and the names of written files."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TextIO

from reproaudit.audit.faults import shown
from reproaudit.report.printable import clean, printable

if TYPE_CHECKING:  # help starts without it
    from rich.console import Console
    from rich.table import Table

NARROWEST = 40
"""The fewest columns that lines are wrapped to, even if the terminal claims less (`COLUMNS=0`)."""


def terminal(*, stderr: bool = False, narrowest: int = NARROWEST) -> Console:
    """Return the terminal to print to, which takes text as it is, wide enough for words."""
    from rich.console import Console

    console = Console(stderr=stderr, emoji=False, markup=False, highlight=False)
    if console.width < narrowest:
        console.width = narrowest
    return console


def columns() -> int:
    """Return the width of the terminal; 80 where there is none."""
    return max(get_terminal_size((80, 24)).columns, NARROWEST)


def say(text: str, *, stderr: bool = False, style: str = "") -> None:
    """Print a message of one or more lines, with control characters shown, not obeyed.

    What has no colour is written without rich, which takes a good part of a short command's time.
    """
    stream = sys.stderr if stderr else sys.stdout
    if style and (stream.isatty() or "FORCE_COLOR" in os.environ):
        terminal(stderr=stderr).print(printable(text), style=style, soft_wrap=True)
    else:
        stream.write(printable(text) + "\n")


def present(
    data: Any, lines: Iterable[str], as_json: bool, *, written: Iterable[Path] = ()
) -> None:
    """Print data as JSON or else lines, then the files written: beside JSON on standard error."""
    if as_json:
        sys.stdout.write(printed_json(data) + "\n")
    elif text := "\n".join(lines):
        say(text)
    for path in written:
        say(f"wrote {path}", stderr=as_json)


def printed_json(data: Any) -> str:
    """Return data, models among it, as JSON of ASCII, which every output can hold."""
    return json.dumps(data, indent=2, allow_nan=False, default=_fields)


def _fields(model: object) -> Any:
    from pydantic_core import to_jsonable_python  # slow, and not needed for plain data

    return to_jsonable_python(model)


def settings_table(compared: Iterable[Mapping[str, Any]]) -> Table:
    """Return the settings that logs state, each beside the audit's."""
    from rich.table import Table
    from rich.text import Text

    table = Table("setting", "of", "audit (source)", "configurations", "", box=None)
    styles = {"equal": "green", "contradicting": "red", "absent": "dim"}
    for setting in compared:
        source = "" if setting["source"] is None else f" ({setting['source']})"
        audited = f"{shown(setting['audit'])}{source}"
        stated = "" if setting["found"] is None else shown(setting["found"])
        cells = (setting["setting"], setting["role"], audited, stated, setting["status"])
        table.add_row(*(Text(clean(cell)) for cell in cells), style=styles[setting["status"]])
    return table


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
        """Write to the stream while it can be written."""
        self._while_it_can("write", text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream while it can be written."""
        self._while_it_can("flush")

    def _while_it_can(self, method: str, *arguments: str) -> None:
        try:
            if not self._is_lost:
                getattr(self._stream, method)(*arguments)
        except OSError as error:
            self._is_lost = True
            if not isinstance(error, BrokenPipeError):
                self.fault = f"cannot write the output: {error.strerror or error}"
            # What is still buffered is flushed when Python ends; it must not fail once more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
