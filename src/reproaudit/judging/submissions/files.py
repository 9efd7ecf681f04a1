"""Files of measurements as they come: CSV tables, JSON and NPZ, brought to numbers by name.

Nothing here knows what an audit declares, except the names of its measurements, by which a table's
columns are told from its axes. All that is wrong is gathered, none of it raises.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.judging.submissions.misfit import Misfits

MAX_TABLE_BYTES = 2**26
"""Of one file, unpacked: curves and small matrices, not checkpoints."""


@dataclass(frozen=True)
class TableRow:
    """One number of a table.

    Attributes:
        line: where it stands in the file.
        step: the training step; None in a table without one.
        at: axis -> coordinate, as text.
        value: the number.
    """

    line: int
    step: int | None
    at: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class Table:
    """One measurement out of a CSV file.

    Attributes:
        axes: the columns that are neither step, seed nor measurement.
        stepped: whether there is a column of steps.
    """

    place: str
    axes: tuple[str, ...]
    stepped: bool
    rows: tuple[TableRow, ...]


@dataclass(frozen=True)
class Block:
    """One measurement out of a JSON or NPZ file.

    Attributes:
        steps: of a series, else None.
        values: shape (step, *axes), or (*axes).
    """

    place: str
    steps: tuple[Any, ...] | None
    values: NDArray[np.float64]


Found = dict[str, Table | Block]
"""Measurement -> its numbers."""


def read_file(
    path: Path, shown: str, names: frozenset[str], seed: int, alone: bool, misfits: Misfits
) -> Found:
    """The measurements in a file.

    Args:
        path: the file.
        shown: what messages call it.
        names: measurements that the experiment declares.
        seed: whose rows to take of a table that holds several seeds.
        alone: whether the file holds this seed only.
    """
    readers = {".csv": _read_csv, ".json": _read_json, ".npz": _read_npz}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        misfits.add(shown, f"found '{path.suffix}'; expected one of {', '.join(readers)}.")
        return {}
    try:
        if path.stat().st_size > MAX_TABLE_BYTES:
            misfits.add(shown, f"found more than {MAX_TABLE_BYTES} bytes; expected fewer.")
            return {}
        data = path.read_bytes()
    except OSError as error:
        misfits.add(shown, f"cannot be read: {error.strerror or error}.")
        return {}
    if reader is _read_csv:
        return _read_csv(data, shown, names, path.stem, seed, alone, misfits)
    if not alone:
        misfits.add(
            shown,
            "found one file for several seeds; expected one for each. Write {seed} in its name.",
        )
        return {}
    return (_read_json if reader is _read_json else _read_npz)(data, shown, misfits)


# --- tables ---------------------------------------------------------------------------------------


def _read_csv(
    data: bytes,
    shown: str,
    names: frozenset[str],
    stem: str,
    seed: int,
    alone: bool,
    misfits: Misfits,
) -> Found:
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        misfits.add(shown, f"is not a CSV table in UTF-8: {error}.")
        return {}
    header = [cell.strip() for cell in rows[0]] if rows else []
    if not header or len(set(header)) != len(header) or "" in header:
        misfits.add(f"{shown}:1", "found no header of different names; expected one.")
        return {}
    measured = {name: name for name in header if name in names}
    if "value" in header and "value" not in names:
        measured["value"] = stem
    if not measured:
        misfits.add(
            f"{shown}:1",
            f"found the columns {', '.join(header)}; expected a measurement among them, "
            f"{', '.join(sorted(names))}, or 'value' in a file that is named after one.",
        )
        return {}
    if not alone and "seed" not in header:
        misfits.add(
            f"{shown}:1",
            "found one table for several seeds without a column 'seed'; expected the column, or "
            "{seed} in the file's name.",
        )
        return {}
    before = len(misfits.found)
    reader = _TableReader(shown, header, set(measured), seed, misfits)
    lines = list(reader.lines(rows[1:]))
    tables: Found = {
        name: Table(shown, reader.axes, "step" in header, tuple(reader.rows(lines, column)))
        for column, name in measured.items()
    }
    return tables if len(misfits.found) == before else {}  # what was not read is not missed


class _TableReader:
    def __init__(
        self, shown: str, header: list[str], measured: set[str], seed: int, misfits: Misfits
    ) -> None:
        self.shown, self.header, self.seed, self.misfits = shown, header, seed, misfits
        self.axes = tuple(h for h in header if h not in {*measured, "step", "seed"})

    def lines(self, rows: list[list[str]]) -> Iterator[tuple[int, dict[str, str]]]:
        """The rows of the seed by column, each with its number in the file."""
        for number, cells in enumerate(rows, start=2):
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(self.header):
                self.misfits.add(
                    f"{self.shown}:{number}",
                    f"found {len(cells)} cells; expected {len(self.header)}, as in the header.",
                )
                continue
            row = dict(zip(self.header, (cell.strip() for cell in cells), strict=True))
            if "seed" in row:
                found = self._whole(number, "seed", row["seed"])
                if found != self.seed:
                    continue
            yield number, row

    def rows(self, lines: list[tuple[int, dict[str, str]]], column: str) -> Iterator[TableRow]:
        """The numbers of one column; an empty cell was not observed."""
        for number, row in lines:
            if row[column] == "":
                continue
            step = self._whole(number, "step", row["step"]) if "step" in row else None
            value = self._number(number, column, row[column])
            if value is not None and ("step" not in row or step is not None):
                yield TableRow(number, step, {axis: row[axis] for axis in self.axes}, value)

    def _whole(self, line: int, column: str, text: str) -> int | None:
        value = self._number(line, column, text)
        if value is None:
            return None
        if not np.isfinite(value) or value != int(value) or value < 0:
            self.misfits.add(
                f"{self.shown}:{line}",
                f"column {column}: found {text!r}; expected a whole number of 0 or more.",
            )
            return None
        return int(value)

    def _number(self, line: int, column: str, text: str) -> float | None:
        try:
            return float(text)
        except ValueError:
            self.misfits.add(
                f"{self.shown}:{line}", f"column {column}: found {text[:40]!r}; expected a number."
            )
            return None


# --- JSON and NPZ ---------------------------------------------------------------------------------


def _read_json(data: bytes, shown: str, misfits: Misfits) -> Found:
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError) as error:
        misfits.add(shown, f"is not JSON: {error}.")
        return {}
    if not isinstance(tree, dict):
        misfits.add(shown, "found no object; expected measurements by name.")
        return {}
    found: Found = {}
    for name, node in tree.items():
        place, steps, values = f"{shown}: {name}", None, node
        if isinstance(node, dict):
            if set(node) != {"steps", "values"} or not isinstance(node["steps"], list):
                misfits.add(place, "found an object; a series has lists 'steps' and 'values'.")
                continue
            steps, values = tuple(node["steps"]), node["values"]
        array = _numbers(place, values, misfits)
        if array is not None:
            found[name] = Block(place, steps, array)
    return found


def _read_npz(data: bytes, shown: str, misfits: Misfits) -> Found:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(one.file_size for one in archive.infolist()) > MAX_TABLE_BYTES:
                misfits.add(
                    shown, f"found more than {MAX_TABLE_BYTES} bytes unpacked; expected fewer."
                )
                return {}
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            tree = {name: arrays[name] for name in arrays.files}
    except (ValueError, OSError, zipfile.BadZipFile, EOFError, KeyError) as error:
        misfits.add(shown, f"is no NPZ file of plain arrays: {error}.")
        return {}
    found: Found = {}
    for name, values in tree.items():
        if name == "steps" or name.endswith(".steps"):
            continue
        place = f"{shown}: {name}"
        array = _numbers(place, values, misfits)
        steps = tree.get(f"{name}.steps", tree.get("steps"))
        if array is not None:
            # A shared 'steps' belongs to whatever is declared as a series; `fitting` decides.
            found[name] = Block(place, None if steps is None else tuple(steps.tolist()), array)
    return found


def _numbers(place: str, values: Any, misfits: Misfits) -> NDArray[np.float64] | None:
    try:
        array = np.array(values)
    except ValueError:
        misfits.add(place, "found lists of different lengths; expected a full array.")
        return None
    if array.dtype.kind not in "iuf":
        misfits.add(place, "found something else than numbers; expected numbers.")
        return None
    return array.astype(np.float64)
