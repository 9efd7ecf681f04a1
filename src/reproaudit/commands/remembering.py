"""Commands that print again what they printed when the same files were there.

`list` and `report` look at thousands of records and judge every claim. While neither the audits,
their code, the store nor reproaudit itself is touched, they say the same again; see
`reproaudit.running.memo` for what counts as touched. What they have to look at is listed here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast

from reproaudit.audit.catalog import Entry
from reproaudit.commands.output import terminal
from reproaudit.running.memo import FileState, look_at, tool_files

Files = Mapping[str, FileState] | None

Said = list[tuple[bool, str]]
"""The printed texts in order, each with True if it went to standard error."""


def files_of(entries: Sequence[Entry], store: Path) -> Files:
    """Every file that the verdicts of papers come from; None if they cannot be looked at.

    They are those of each paper, the manifest that lists the records of all, and reproaudit itself
    with the packages that are installed.
    """
    return together(tool_files(), look_at([store / "manifest.log"]), _files_of(entries, store))


def files_of_paper(entry: Entry, store: Path) -> Files:
    """A paper's own files among them: its audit, run file, code and records."""
    return _files_of([entry], store)


def _files_of(entries: Sequence[Entry], store: Path) -> Files:
    plain: list[Path] = []
    for entry in entries:
        plain += [entry.audit_file, store / entry.slug]
        if entry.code is not None:
            plain.append(entry.code.file)
    folders = {folder for entry in entries for folder in code_folders(entry)}
    outermost = [one for one in folders if folders.isdisjoint(one.parents)]
    return together(look_at(plain), look_at(outermost, suffix=".py"))


def code_folders(entry: Entry) -> Iterator[Path]:
    """The folders from which a paper's module may import, besides reproaudit itself."""
    if entry.code is not None and not entry.code.importable:
        yield from entry.code.roots[1:]
        yield entry.code.file.resolve().parent


def together(*several: Files) -> Files:
    """The files of several looks; None if one of them is."""
    found: dict[str, FileState] = {}
    for files in several:
        if files is None:
            return None
        found |= files
    return found


def looks_of_output() -> list[Any]:
    """All on which the printed form of a document depends: width, colours, encoding."""
    console = terminal()
    looks = (console.width, console.color_system, console.is_terminal, console.no_color)
    return [*looks, console.encoding, console.legacy_windows, sys.stdout.encoding]


class _Overheard:
    """A standard stream, of which everything that is printed is noted, too."""

    def __init__(self, stream: TextIO, is_error: bool, said: Said) -> None:
        self._stream, self._is_error, self._said = stream, is_error, said

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Writes to the stream, and notes the text."""
        self._said.append((self._is_error, text))
        return self._stream.write(text)


@contextmanager
def overheard() -> Iterator[Said]:
    """Notes what is printed in the meantime."""
    said: Said = []
    streams = sys.stdout, sys.stderr
    sys.stdout = cast(Any, _Overheard(streams[0], False, said))
    sys.stderr = cast(Any, _Overheard(streams[1], True, said))
    try:
        yield said
    finally:
        sys.stdout, sys.stderr = streams


def say_again(said: Iterable[Sequence[Any]]) -> None:
    """Prints what was overheard, each part on its own stream."""
    for is_error, text in said:
        (sys.stderr if is_error else sys.stdout).write(text)
