"""Reads files of measurements: CSV tables, JSON and NPZ, brought to numbers by name.

Nothing here knows what an audit declares, except the names of its measurements, which tell a
table's columns from its axes. Sizes are checked before content, and nothing is unpickled. All
faults are gathered; none of them raises.
"""

from __future__ import annotations

import csv
import io
import json
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproaudit.bounded import read_regular
from reproaudit.elsewhere.misfit import Misfits
from reproaudit.elsewhere.reading import unique

MOST_TEXT_BYTES = 2**23
"""Of one CSV or JSON file. Larger measurements come as NPZ."""
MOST_ARRAY_BYTES = 2**26
"""Of one NPZ file, as it is and unpacked: curves and small matrices, not checkpoints."""
MOST_BYTES = 2**30
"""Of all files together, unpacked."""
MOST_ROWS = 500_000
"""Of one CSV table."""
MOST_MEASUREMENTS = 1_000
"""Of one JSON or NPZ file."""


class TableRow(NamedTuple):
    """One number of a table.

    Attributes:
        line: its line in the file.
        step: the training step; None in a table without one.
        at: coordinates as text, in the order of the table's axes.
        value: the number.
    """

    line: int
    step: int | None
    at: tuple[str, ...]
    value: float


@dataclass(frozen=True)
class Table:
    """One measurement out of a CSV file.

    Attributes:
        place: the file, for messages.
        axes: the columns that are neither step, seed nor measurement.
        stepped: whether there is a column of steps.
        rows: the numbers of one seed.
    """

    place: str
    axes: tuple[str, ...]
    stepped: bool
    rows: tuple[TableRow, ...]


@dataclass(frozen=True)
class Block:
    """One measurement out of a JSON or NPZ file.

    Attributes:
        place: file and name, for messages.
        steps: of a series, else None.
        values: shape (step, *axes), or (*axes).
    """

    place: str
    steps: tuple[Any, ...] | None
    values: NDArray[np.float64]


Found = dict[str, Table | Block]
"""Measurement -> its numbers."""


@dataclass
class FileReader:
    """Reads the files of one folder; a table is read once, however many seeds it holds.

    Attributes:
        misfits: takes the faults.
        left: the bytes that may still be read.
        taken: the files that were read, each with the seeds that were taken from it.
    """

    misfits: Misfits
    left: int = MOST_BYTES
    taken: dict[Path, set[int]] = field(default_factory=dict)
    _sheets: dict[Path, _Sheet | None] = field(default_factory=dict)

    def read(self, path: Path, shown: str, names: frozenset[str], seed: int, alone: bool) -> Found:
        """Read the measurements of one seed in a file.

        Args:
            path: of the file.
            shown: its name in messages.
            names: measurements that the experiment declares.
            seed: the rows to take of a table that holds several seeds.
            alone: whether the file holds this seed only.
        """
        self.taken.setdefault(path, set()).add(seed)
        kind = path.suffix.lower()
        if kind not in (".csv", ".json", ".npz"):
            self.misfits.add(shown, f"found '{kind}'; expected one of .csv, .json, .npz.")
            return {}
        if kind == ".csv":
            if path not in self._sheets:
                data = self._data(path, shown, MOST_TEXT_BYTES)
                self._sheets[path] = None if data is None else _sheet(data, shown, self.misfits)
            sheet = self._sheets[path]
            return {} if sheet is None else sheet.tables(names, path.stem, seed, alone)
        if not alone:
            self.misfits.add(
                shown,
                "found one file for several seeds; expected one for each. Write {seed} in its "
                "name.",
            )
            return {}
        data = self._data(path, shown, MOST_TEXT_BYTES if kind == ".json" else MOST_ARRAY_BYTES)
        if data is None:
            return {}
        return (self._json if kind == ".json" else self._npz)(data, shown)

    def rows_left(self) -> Iterator[str]:
        """Yield each table with seeds of which nobody took the rows, in words."""
        for path, sheet in self._sheets.items():
            if sheet is None:
                continue
            left = sorted(one for one in set(sheet.rows) - self.taken[path] if one is not None)
            if left:
                yield f"{sheet.shown} (seeds {', '.join(map(str, left))})"

    def _data(self, path: Path, shown: str, most: int) -> bytes | None:
        try:
            data = read_regular(path, most)
        except OSError as error:
            self.misfits.add(shown, f"cannot be read: {error.strerror or error}.")
            return None
        return data if self._spend(len(data)) else None

    def _spend(self, size: int) -> bool:
        """Return True if the files may hold so many bytes more; report a fault if not."""
        self.left -= size
        if self.left < 0:
            text = f"found more than {MOST_BYTES:,} bytes in all files together; expected fewer."
            self.misfits.add("files", text)
        return self.left >= 0

    def _json(self, data: bytes, shown: str) -> Found:
        try:
            tree = json.loads(data, object_pairs_hook=unique)
        except (ValueError, RecursionError) as error:
            self.misfits.add(shown, f"is not JSON: {error}.")
            return {}
        if not isinstance(tree, dict) or len(tree) > MOST_MEASUREMENTS:
            text = f"expected measurements by name, at most {MOST_MEASUREMENTS:,}."
            self.misfits.add(shown, f"found no such object; {text}")
            return {}
        found: Found = {}
        for name, node in tree.items():
            place, steps, values = f"{shown}: {name}", None, node
            if isinstance(node, dict):
                if set(node) != {"steps", "values"} or not isinstance(node["steps"], list):
                    self.misfits.add(
                        place, "found an object; a series has lists 'steps' and 'values'."
                    )
                    continue
                steps, values = tuple(node["steps"]), node["values"]
            if not _all_numbers(values):
                self.misfits.add(place, "found something else than numbers; expected numbers.")
                continue
            try:
                found[name] = Block(place, steps, np.array(values, dtype=np.float64))
            except (OverflowError, ValueError):
                self.misfits.add(
                    place,
                    "found lists of different lengths, or a whole number beyond double precision; "
                    "expected a full array.",
                )
        return found

    def _npz(self, data: bytes, shown: str) -> Found:
        try:
            tree = self._arrays(data)
        except Exception as error:  # what zipfile and NumPy raise over damaged headers has no end
            reason = str(error) or type(error).__name__
            self.misfits.add(shown, f"is no NPZ file of plain arrays: {reason}.")
            return {}
        found: Found = {}
        for name, values in tree.items():
            if name == "steps" or name.endswith(".steps"):
                if values.ndim != 1:
                    text = f"found steps of {values.ndim} dimensions; expected one dimension."
                    self.misfits.add(f"{shown}: {name}", text)
                continue
            steps = tree.get(f"{name}.steps", tree.get("steps"))
            with np.errstate(over="ignore"):  # of extended precision; told as not finite
                numbers = values.astype(np.float64)
            # A shared 'steps' belongs to whatever is declared as a series; `fitting` decides.
            listed = None if steps is None or steps.ndim != 1 else tuple(steps.tolist())
            found[name] = Block(f"{shown}: {name}", listed, numbers)
        return found

    def _arrays(self, data: bytes) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of an NPZ file by name.

        Raises:
            ValueError: for too many or too large arrays, or those that hold no plain numbers.
            Exception: of many kinds, if the archive is damaged.
        """
        count = data.count(b"PK\1\2")  # entries of the directory, before they are listed
        if count > MOST_MEASUREMENTS:
            raise ValueError(f"found {count:,} arrays; expected at most {MOST_MEASUREMENTS:,}")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
        size = sum(one.file_size for one in members)
        if size > MOST_ARRAY_BYTES:
            raise ValueError(
                f"found {size:,} bytes unpacked; expected at most {MOST_ARRAY_BYTES:,}"
            )
        if len({one.filename for one in members}) < len(members):
            raise ValueError("an array stands twice in it")
        if not self._spend(size):
            return {}
        found: dict[str, NDArray[Any]] = {}
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            for name in arrays.files:
                values = arrays[name]
                if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
                    raise ValueError(f"'{name[:40]}' holds something else than numbers")
                found[name] = values
        return found


def _all_numbers(node: Any) -> bool:
    """Return True if nested lists hold numbers only; truth values and text are none."""
    lists = [[node]]
    while lists:
        one = lists.pop()
        if not set(map(type, one)) <= {int, float, list}:
            return False
        lists += (inner for inner in one if type(inner) is list)
    return True


# --- tables ---------------------------------------------------------------------------------------


def _sheet(data: bytes, shown: str, misfits: Misfits) -> _Sheet | None:
    """Read a CSV file by header, seed and row; None if it has no header or is no table."""
    sheet: _Sheet | None = None
    try:
        text = io.StringIO(data.decode("utf-8-sig"), newline="")
        for number, row in enumerate(csv.reader(text, strict=True), start=1):
            cells = [cell.strip() for cell in row]
            if sheet is None:
                if not cells or len(set(cells)) != len(cells) or "" in cells:
                    break
                sheet = _Sheet(shown, cells, misfits)
            elif number > MOST_ROWS + 1:
                misfits.add(shown, f"found more than {MOST_ROWS:,} rows; expected fewer.")
                return None
            elif any(cells):
                sheet.add(number, cells)
    except (UnicodeDecodeError, csv.Error) as error:
        misfits.add(shown, f"is not a CSV table in UTF-8: {error}.")
        return None
    if sheet is None:
        misfits.add(f"{shown}:1", "found no header of different names; expected one.")
    return sheet


class _Sheet:
    """A CSV file: its header, and its rows by seed."""

    def __init__(self, shown: str, header: list[str], misfits: Misfits) -> None:
        self.shown, self.header, self.misfits = shown, header, misfits
        self.whole = True
        self.rows: dict[int | None, list[tuple[int, list[str]]]] = {}
        self.column = {name: index for index, name in enumerate(header)}

    def add(self, line: int, cells: list[str]) -> None:
        """Add a row to those of its seed, or of all seeds without a column of seeds."""
        if len(cells) != len(self.header):
            self._fault(
                line, f"found {len(cells)} cells; expected {len(self.header)}, as in the header."
            )
            return
        seed = self._natural(line, "seed", cells) if "seed" in self.column else None
        self.rows.setdefault(seed, []).append((line, cells))

    def tables(self, names: frozenset[str], stem: str, seed: int, alone: bool) -> Found:
        """Return the measurements of one seed; none if a row of the file could not be read."""
        measured = {name: name for name in self.header if name in names}
        if "value" in self.column and "value" not in names:
            measured["value"] = stem
        fault = None
        if not measured:
            fault = (
                f"found the columns {', '.join(self.header[:20])}; expected a measurement among "
                f"them, {', '.join(sorted(names))}, or 'value' in a file that is named after one."
            )
        elif not alone and "seed" not in self.column:
            fault = (
                "found one table for several seeds without a column 'seed'; expected the column, "
                "or {seed} in the file's name."
            )
        if fault is not None:
            self.misfits.add(f"{self.shown}:1", fault)
            return {}
        axes = tuple(h for h in self.header if h not in {*measured, "step", "seed"})
        rows = self.rows.get(seed if "seed" in self.column else None, [])
        stepped = "step" in self.column
        found: Found = {
            name: Table(self.shown, axes, stepped, tuple(self._numbers(rows, column, axes)))
            for column, name in measured.items()
        }
        return found if self.whole else {}  # what was not read is not missed

    def _numbers(
        self, rows: Sequence[tuple[int, list[str]]], column: str, axes: tuple[str, ...]
    ) -> list[TableRow]:
        """Return the numbers of one column; an empty cell was not observed."""
        index, at = self.column[column], [self.column[axis] for axis in axes]
        found = []
        for line, cells in rows:
            if cells[index] != "":
                step = self._natural(line, "step", cells) if "step" in self.column else None
                value = self._number(line, column, cells)
                if value is not None:
                    found.append(TableRow(line, step, tuple(cells[i] for i in at), value))
        return found

    def _natural(self, line: int, column: str, cells: list[str]) -> int | None:
        value = self._number(line, column, cells)
        if value is None:
            return None
        if not math.isfinite(value) or value != int(value) or value < 0:
            text = repr(cells[self.column[column]][:40])
            self._fault(
                line, f"column {column}: found {text}; expected a whole number of 0 or more."
            )
            return None
        return int(value)

    def _number(self, line: int, column: str, cells: list[str]) -> float | None:
        text = cells[self.column[column]]
        try:
            return float(text)
        except ValueError:
            self._fault(line, f"column {column}: found {text[:40]!r}; expected a number.")
            return None

    def _fault(self, line: int, text: str) -> None:
        self.misfits.add(f"{self.shown}:{line}", text)
        self.whole = False
