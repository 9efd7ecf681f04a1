"""`reproaudit merge`: the records of several stores in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reproaudit.errors import UsageError
from reproaudit.files import explained, listing, read_regular, write_whole
from reproaudit.records import CellStatus, Record, differing
from reproaudit.scorecard.history import merge_logs
from reproaudit.store.code import cell_of, versions_of
from reproaudit.store.coordinates import MOST_BYTES, axes_file
from reproaudit.store.records import DamagedError, Store

KEPT = ("new", "there already", "failed")
"""What becomes of a record."""


@dataclass
class Merged:
    """By paper and tier, how many records became what, and what is wrong with some."""

    counts: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def count(self, record: Record, what: str) -> None:
        """Count one record."""
        self.counts.setdefault((record.paper, record.tier), Counter())[what] += 1

    @property
    def lines(self) -> Iterator[str]:
        """A line for each paper and tier, and for each fault."""
        for (paper, tier), counts in sorted(self.counts.items()):
            told = (f"{counts[what]} {what}" for what in KEPT if counts[what])
            yield f"{paper} {tier}: {', '.join(told)}"
        yield from self.faults

    @property
    def data(self) -> dict[str, Any]:
        """The same for programs."""
        records = [
            {"paper": paper, "tier": tier, **counts}
            for (paper, tier), counts in sorted(self.counts.items())
        ]
        return {"records": records, "faults": self.faults}


def merge_stores(sources: Sequence[Store], target: Store) -> Merged:
    """Write what other stores hold into one, each record verified; return what became of it.

    A finished record that is there already stays, whatever another store has.

    Raises:
        UsageError: if a source is the target, or holds no records.
        StoreError, TechnicalError: if a folder cannot be read or written.
    """
    for source in sources:
        if source.root.resolve() == target.root.resolve():
            raise UsageError(f"{source.root}: found the store that is merged into; name others.")
        if not _papers(source):
            raise UsageError(f"{source.root}: found no records; expected those of a run.")
    merged = Merged()
    for source in sources:
        for paper in _papers(source):
            for path in _record_files(source, paper):
                _take(source, path, target, merged)
            _take_axes(source, paper, target, merged)
            merge_logs(paper, source.root, target.root)
    return merged


def _papers(store: Store) -> list[str]:
    return [
        folder.name
        for folder in listing(store.root)
        if folder.is_dir() and not folder.name.startswith(".")
    ]


def _record_files(store: Store, paper: str) -> Iterator[Path]:
    for tier in listing(store.folder(paper)):
        yield from store.files(paper, tier.name)


def _take(source: Store, path: Path, target: Store, merged: Merged) -> None:
    """Take one record over, unless it cannot be used or its place is taken."""
    try:
        record = source.read(path)
        if record is None:  # another run has just replaced it
            return
        there = target.find(cell_of(record), record.fingerprint)
    except DamagedError as error:
        merged.faults.append(str(error))
        return
    if record.status is CellStatus.FAILED:
        merged.count(record, "failed")
        if there is None:
            target.write(record)
        return
    _take_data(source, record, target)
    merged.count(record, "new" if there is None else "there already")
    if there is None:
        target.write(record)
    elif differences := differing(there, record):
        other = "other numbers than the record that is there, which stays"
        merged.faults.append(f"{path}: {other}: {'; '.join(differences)}")


def _take_data(source: Store, record: Record, target: Store) -> None:
    """Take over with which data the record's cell was planned, if with any."""
    data = source.planned_data(record)
    if data:
        target.note_data(cell_of(record), record.code, versions_of(record.environment), data)


def _take_axes(source: Store, paper: str, target: Store, merged: Merged) -> None:
    """Take over the axes of records that hold no coordinates."""
    file = axes_file(source.root, paper)
    there = axes_file(target.root, paper)
    if not file.exists():
        return
    with explained("read", file):
        axes = read_regular(file, MOST_BYTES)
    if not there.exists():
        write_whole(there, axes, durable=True)
    elif there.read_bytes() != axes:
        merged.faults.append(f"{file}: other axes than {there}, which stay")
