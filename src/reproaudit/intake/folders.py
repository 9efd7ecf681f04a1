"""The tables of a folder of measurements; nothing outside the folder is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reproaudit.intake.manifest import MANIFEST
from reproaudit.logs.asked import Asked, Columns
from reproaudit.logs.finding import TABLES
from reproaudit.logs.logged import LogError, LoggedRun, LogSource, on_one_line, some
from reproaudit.logs.tables import read_table


class FolderTables:
    """Reads tables beside a manifest, each once however many seeds it holds.

    Its folder is resolved; columns may be called as one of its axes.
    """

    def __init__(self, folder: Path, axes: frozenset[str]) -> None:
        self._folder = folder
        self._axes = axes
        self._taken: dict[Path, set[int]] = {}
        self._tables: dict[Path, dict[int | None, LoggedRun]] = {}

    def read(self, written: str, seed: int, place: str, alone: bool) -> LoggedRun:
        """Return what a table holds of a seed, or raise a LogError; it is read once.

        Arguments are those of `reading.ReadTable`.
        """
        path = self._path(written, seed, place)
        place = self._name(path)
        self._taken.setdefault(path, set()).add(seed)
        if path.suffix.lower() not in TABLES:
            raise LogError(place, f"found '{path.suffix}'; expected one of {', '.join(TABLES)}.")
        if path not in self._tables:  # which is read once however many seeds it holds
            asked = Asked(self._axes, columns=Columns(step="step"), plain=True)
            source = LogSource(path, place, asked=asked)
            self._tables[path] = {run.seed: run for run in read_table(source)}
        by_seed = self._tables[path]
        if not alone and None in by_seed:
            text = "found one table for several seeds without a column 'seed'; expected the column"
            raise LogError(f"{place}:1", f"{text}, or {{seed}} in the file's name.")
        run = by_seed.get(None, by_seed.get(seed))
        if run is None or not run.curves:
            raise LogError(place, f"found no number of seed {seed}; expected its rows.")
        return run

    def _path(self, written: str, seed: int, place: str) -> Path:
        """Return a file beside the manifest; nothing outside its folder is read."""
        try:
            path = (self._folder / written.replace("{seed}", str(seed))).resolve(strict=True)
            if path.is_relative_to(self._folder):
                return path
            reason = "outside of it"
        except (OSError, RuntimeError, ValueError) as error:  # absent, too long, a loop of links
            reason = getattr(error, "strerror", None) or "no path, or a loop of links"
        fault = f"found '{on_one_line(written, 80)}' ({reason}; seed {seed})"
        raise LogError(place, f"{fault}; expected a file inside the manifest's folder.")

    def unread(self) -> Iterator[str]:
        """Yield sentences on rows and files beside the manifest that it does not name."""
        left = []
        for path, by_seed in self._tables.items():
            there = {seed for seed in by_seed if seed is not None}
            if rest := sorted(there - self._taken[path]):
                left.append(f"{self._name(path)} (seeds {', '.join(map(str, rest))})")
        if left:
            yield f"Rows of seeds that the manifest does not name were not read: {some(left)}."
        files = (file for file in sorted(self._folder.rglob("*")) if not file.is_dir())
        unread = [
            self._name(file) for file in files if file.name != MANIFEST and file not in self._taken
        ]
        if unread:
            yield f"Files beside the manifest that it does not name were not read: {some(unread)}."

    def _name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()
