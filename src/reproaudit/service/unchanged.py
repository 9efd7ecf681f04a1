"""Reports that are made already: of the same files, by the same program, into the same folder.

What a report is made of is noted in the user's cache by the sizes and times of the files, as
``make`` does it: the program's and its packages', the audit's, the records' and the pages'.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from reproaudit.audit.catalog import Entry
from reproaudit.errors import StoreError
from reproaudit.files import write_whole
from reproaudit.formats.scorecard import Scorecard
from reproaudit.repositories.requirements import cache_of
from reproaudit.scorecard.files import SCORECARD, folder_of, read_scorecard

_PROGRAM = Path(__file__).parents[1]


@dataclass(frozen=True)
class MadeReport:
    """A paper's reports as they were written.

    Attributes:
        scales: the line on its answers at several scales.
        files: that were written; empty where they were found.
    """

    cards: tuple[Scorecard, ...]
    scales: str
    files: tuple[Path, ...] = ()


@dataclass(frozen=True)
class ReportNote:
    """What is noted of a paper's reports.

    Attributes:
        asked: what of it was asked for: tier, formats, group.
    """

    entry: Entry
    store: Path
    out: Path
    asked: Sequence[object]

    def read(self) -> MadeReport | None:
        """Return the reports if they are of today; None if anything has changed."""
        with suppress(OSError, ValueError, KeyError, StoreError):
            note = json.loads(self._file.read_text("utf-8"))
            if note["made_of"] == self._made_of():
                cards = tuple(read_scorecard(Path(file)) for file in note["cards"])
                return MadeReport(cards, note["scales"])
        return None

    def write(self, made: MadeReport) -> None:
        """Note reports that have just been written, if each was judged from records of ours."""
        if not all(map(_is_judged_here, made.cards)):
            return
        files = [str(folder_of(card, self.out) / SCORECARD) for card in made.cards]
        note = {"made_of": self._made_of(), "cards": files, "scales": made.scales}
        with suppress(OSError):  # a cache that cannot be written costs time alone
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, json.dumps(note))

    @property
    def _file(self) -> Path:
        places = (self.entry.audit_file, self.store, self.out)
        which = [str(place.absolute()) for place in places]
        return cache_of("reports", repr([self.entry.slug, self.entry.salt, which, *self.asked]))

    def _made_of(self) -> str:
        digest = hashlib.sha256(sys.version.encode())
        for line in self._lines():
            digest.update(line.encode())
        return digest.hexdigest()

    def _lines(self) -> Iterator[str]:
        for packages in dict.fromkeys(sys.path):
            yield from sorted(map(str, Path(packages).glob("*.dist-info")))
        yield from _below(_PROGRAM)
        for file in (self.entry.review_file, *_own_files(self.entry)):
            yield from _stated(file)
        yield from _below(self.store / self.entry.slug)
        for file in sorted(self.store.glob("[!.]*")):
            yield from _stated(file)
        for reports in dict.fromkeys((self.out, self.store.parent / "reports")):
            for folder in sorted(reports.glob(f"*/{self.entry.slug}")):
                yield from _below(folder)


def _is_judged_here(card: Scorecard) -> bool:
    """Whether records gave the scorecard, which was not read as somebody wrote it."""
    return card.inputs is not None and bool(card.inputs.records) and not card.shipped


def _own_files(entry: Entry) -> Iterator[Path]:
    """Yield the audit's file, those that bear its name, and its module's folder's code."""
    yield from sorted(entry.audit_file.parent.glob(f"{entry.slug}.*"))
    if entry.code is not None and not entry.code.importable:
        yield from sorted(entry.code.folder.rglob("*.py"))


def _below(folder: Path) -> Iterator[str]:
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for name in sorted(names):
            yield from _stated(Path(path) / name)


def _stated(file: Path) -> Iterator[str]:
    """Yield a file's path, size and time; nothing of a file that is not there."""
    with suppress(OSError):
        state = file.stat()
        yield f"{file} {state.st_size} {state.st_mtime_ns}\n"
