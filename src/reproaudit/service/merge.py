"""`reproaudit merge`: the records of several stores in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproaudit.errors import UsageError
from reproaudit.files import explained, read_regular, same_place, write_whole
from reproaudit.records import CellStatus, differing
from reproaudit.scorecard.history import merge_logs
from reproaudit.store.code import cell_of, versions_of
from reproaudit.store.coordinates import MOST_BYTES, axes_file
from reproaudit.store.memory import most_memory, note_memory
from reproaudit.store.records import DamagedError, Store

KEPT = ("new", "there already", "failed")  # what becomes of a record, in the order of a line


@dataclass(frozen=True)
class Merged:
    """For each paper and tier, how many records became what, and what is wrong with some."""

    records: tuple[Mapping[str, Any], ...]
    faults: tuple[str, ...]

    @property
    def lines(self) -> Iterator[str]:
        """A line for each paper and tier, and for each fault."""
        for counts in self.records:
            words = (f"{counts[fate]} {fate}" for fate in KEPT if fate in counts)
            yield f"{counts['paper']} {counts['tier']}: {', '.join(words)}"
        yield from self.faults


def merge_stores(sources: Sequence[Store], target: Store) -> Merged:
    """Write what other stores hold into one, each record verified; return what became of it.

    A finished record that is there already stays, whatever another store has. A UsageError if a
    source is the target, or holds no records.
    """
    for source in sources:
        if same_place(source.root, target.root):
            raise UsageError(f"{source.root}: found the store that is merged into; name others.")
        if not source.papers():
            raise UsageError(f"{source.root}: found no records; expected those of a run.")
    counts: dict[tuple[str, str], Counter[str]] = {}
    faults: list[str] = []
    for source in sources:
        for paper in source.papers():
            for tier in source.tiers(paper):
                for path in source.files(paper, tier):
                    fate, fault = _take(source, path, target)
                    counts.setdefault((paper, tier), Counter()).update(filter(None, [fate]))
                    faults.append(fault)
                note_memory(target.root, paper, tier, most_memory(source.root, paper, tier) or 0)
            faults.append(_take_axes(source, paper, target))
            merge_logs(paper, source.root, target.root)
    taken = (
        {"paper": paper, "tier": tier, **fates}
        for (paper, tier), fates in sorted(counts.items())
        if fates
    )
    return Merged(tuple(taken), tuple(filter(None, faults)))


def _take(source: Store, path: Path, target: Store) -> tuple[str, str]:
    """Take a record over if its place is free; return what became of it, and what is wrong."""
    try:
        record = source.read(path)
        if record is None:  # another run has just replaced it
            return "", ""
        there = target.find(cell_of(record), record.fingerprint)
    except DamagedError as error:
        return "", str(error)
    if there is None:
        target.write(record)
    if record.status is CellStatus.FAILED:
        return "failed", ""
    if data := source.planned_data(record):
        target.note_data(cell_of(record), record.code, versions_of(record.environment), data)
    if there is None:
        return "new", ""
    differences = "; ".join(differing(there, record))
    other = f"{path}: other numbers than the record that is there, which stays: {differences}"
    return "there already", other if differences else ""


def _take_axes(source: Store, paper: str, target: Store) -> str:
    """Take over the axes of records that hold no coordinates; return what is wrong with them."""
    file = axes_file(source.root, paper)
    there = axes_file(target.root, paper)
    if not file.exists():
        return ""
    with explained("read", file):
        axes = read_regular(file, MOST_BYTES)
    if not there.exists():
        write_whole(there, axes, durable=True)
    return "" if there.read_bytes() == axes else f"{file}: other axes than {there}, which stay"
