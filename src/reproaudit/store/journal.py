"""Files of JSON lines beside an audit, or in the store where the audits are read-only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reproaudit.audit.catalog import Entry, is_installed
from reproaudit.files import LOCK_NAME, explained, locked, read_regular, write_whole

MOST_JOURNAL_BYTES = 2**26  # a line has some kilobytes


@dataclass(frozen=True)
class Journal:
    """Lines on one paper: ``SLUG.NAME.jsonl`` beside the audit, ``NAME.SLUG.jsonl`` in a store."""

    entry: Entry
    name: str
    store: Path | None

    @property
    def files(self) -> tuple[Path, ...]:
        """The file beside the audit, then the one in the store, whether they exist or not."""
        beside = self.entry.audit_file.with_suffix(f".{self.name}.jsonl")
        if self.store is None:
            return (beside,)
        return beside, self.store / f"{self.name}.{self.entry.slug}.jsonl"

    def lines(self) -> Iterator[tuple[str, bytes]]:
        """Every line of both files, each with its place, ``FILE:NUMBER``."""
        for file in self.files:
            for number, line in enumerate(contents(file).splitlines(), start=1):
                yield f"{file}:{number}", line

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Gives the file to add to, and keeps other processes from adding to it meanwhile."""
        folder = self.entry.audit_file.parent
        is_read_only = is_installed(self.entry.audit_file) or not os.access(folder, os.W_OK)
        file = self.files[-1 if is_read_only else 0]
        with locked(file.parent / LOCK_NAME):
            yield file


def contents(file: Path) -> bytes:
    """A file's bytes; none if there is no file."""
    with explained("read", file):
        try:
            return read_regular(file, MOST_JOURNAL_BYTES)
        except FileNotFoundError:
            return b""


def add_line(file: Path, line: bytes) -> None:
    """Adds a line to a file, which is written whole or not at all."""
    write_whole(file, b"\n".join([*contents(file).splitlines(), line, b""]), durable=True)
