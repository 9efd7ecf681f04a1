"""A store as it is at one moment: what asks for a record twice reads its file once."""

from __future__ import annotations

from pathlib import Path

from reproaudit.cell import Cell
from reproaudit.records import Record
from reproaudit.running.store import Store


class ReadOnce(Store):
    """The records of a store, each kept in memory once it was read.

    For questions that look at the same records several times, one after the other: a report judges
    them, runs through its alternatives, and tells which of them it left out.

    Args:
        store: what to read.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store.root)
        self.manifest = store.manifest
        self._read: dict[Path, Record] = {}

    def read(self, path: Path, cell: Cell | None = None) -> Record:
        """The record in a file, see `Store.read`."""
        if cell is not None:
            return super().read(path, cell)
        if path not in self._read:
            self._read[path] = super().read(path)
        return self._read[path]
