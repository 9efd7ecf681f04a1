"""Reads files of measurements, CSV, JSON and NPZ, as the audit declares what is in them.

Sizes are checked before content, and nothing is unpickled. Of a file the first fault is told; a
table is read once, however many seeds it holds.
"""

from __future__ import annotations

import io
import itertools
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.bounded import read_regular
from reproaudit.declarations import Coordinate, Declaration, MeasurementKind
from reproaudit.elsewhere.logged import (
    MAX_STEP,
    LogError,
    number_of,
    on_one_line,
    parse_json,
    same_coordinate,
)
from reproaudit.elsewhere.tables import csv_rows
from reproaudit.errors import did_you_mean
from reproaudit.records import is_finite

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


@dataclass(frozen=True)
class Block:
    """One measurement of one run, as it stands in a file.

    Attributes:
        place: the file, and the name in it, for messages.
        steps: of a series, else None.
        values: shape (step, *axes), or (*axes).
    """

    place: str
    steps: tuple[Any, ...] | None
    values: NDArray[np.float64]


@dataclass(frozen=True)
class Wanted:
    """What is looked for in a file.

    Attributes:
        declared: the measurements of the experiment.
        settings: of the run; they may hold coordinates of axes.
        seed: the rows to take of a table that holds several seeds.
        alone: whether the file holds this seed only.
    """

    declared: Mapping[str, Declaration]
    settings: Mapping[str, Any]
    seed: int
    alone: bool


@dataclass
class FileReader:
    """Reads the files of one folder.

    Attributes:
        left: the bytes that may still be read.
        taken: the files that were read, each with the seeds that were taken from it.
    """

    left: int = field(default_factory=lambda: MOST_BYTES)
    taken: dict[Path, set[int]] = field(default_factory=dict)
    _tables: dict[Path, _Table | LogError] = field(default_factory=dict)

    def read(self, path: Path, shown: str, wanted: Wanted) -> dict[str, Block]:
        """Return the measurements of one seed in a file, by name.

        Raises:
            LogError: if something in it cannot be read, or is not declared.
        """
        self.taken.setdefault(path, set()).add(wanted.seed)
        kind = path.suffix.lower()
        if kind not in (".csv", ".json", ".npz"):
            raise LogError(shown, f"found '{kind}'; expected one of .csv, .json, .npz.")
        if kind == ".csv":
            return self._table(path, shown).blocks(wanted, path.stem)
        if not wanted.alone:
            raise LogError(
                shown,
                "found one file for several seeds; expected one for each. Write {seed} in its "
                "name.",
            )
        data = self._data(path, shown, MOST_TEXT_BYTES if kind == ".json" else MOST_ARRAY_BYTES)
        found = _json_blocks(data, shown) if kind == ".json" else self._npz_blocks(data, shown)
        for name, block in found.items():
            _refuse_undeclared(name, block.place, wanted.declared)
        return found

    def rows_left(self) -> Iterator[str]:
        """Yield each table with seeds of which nobody took the rows, in words."""
        for path, table in self._tables.items():
            if isinstance(table, _Table):
                left = sorted(one for one in table.rows.keys() - self.taken[path] if one >= 0)
                if left:
                    yield f"{table.shown} (seeds {', '.join(map(str, left))})"

    def _table(self, path: Path, shown: str) -> _Table:
        if path not in self._tables:
            try:
                self._tables[path] = _Table(self._data(path, shown, MOST_TEXT_BYTES), shown)
            except LogError as error:
                self._tables[path] = error
        table = self._tables[path]
        if isinstance(table, LogError):
            raise table
        return table

    def _data(self, path: Path, shown: str, most: int) -> bytes:
        try:
            data = read_regular(path, most)
        except OSError as error:
            raise LogError(shown, f"cannot be read: {error.strerror or error}.") from None
        self._spend(len(data))
        return data

    def _spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise LogError(
                "files", f"found more than {MOST_BYTES:,} bytes in all files; expected fewer."
            )

    def _npz_blocks(self, data: bytes, shown: str) -> dict[str, Block]:
        try:
            tree = self._arrays(data)
        except LogError:
            raise
        except Exception as error:  # what zipfile and NumPy raise over damaged files has no end
            reason = str(error) or type(error).__name__
            raise LogError(shown, f"is no NPZ file of plain arrays: {reason}.") from None
        found: dict[str, Block] = {}
        for name, values in tree.items():
            if name == "steps" or name.endswith(".steps"):
                continue
            steps = tree.get(f"{name}.steps", tree.get("steps"))
            if steps is not None and steps.ndim != 1:
                text = f"found steps of {steps.ndim} dimensions; expected one dimension."
                raise LogError(f"{shown}: steps of {name}", text)
            with np.errstate(over="ignore"):  # of extended precision; told as not finite
                numbers = values.astype(np.float64)
            listed = None if steps is None else tuple(steps.tolist())
            found[name] = Block(f"{shown}: {name}", listed, numbers)
        return found

    def _arrays(self, data: bytes) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of an NPZ file by name.

        Raises:
            LogError: if there is too much in all files.
            Exception: of many kinds, if there is too much in it, no plain number, or a damage.
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
        self._spend(size)
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        for name, values in found.items():
            if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
                raise ValueError(f"'{name[:40]}' holds something else than numbers")
        return found


def _refuse_undeclared(name: str, place: str, declared: Mapping[str, Declaration]) -> None:
    if name not in declared:
        short = on_one_line(name, 80)
        raise LogError(
            on_one_line(place, 200),
            f"found the measurement '{short}', which the experiment does not declare. "
            f"{did_you_mean(short, declared)}",
        )


def _json_blocks(data: bytes, shown: str) -> dict[str, Block]:
    tree = parse_json(data, shown)
    if not isinstance(tree, dict) or len(tree) > MOST_MEASUREMENTS:
        text = f"expected measurements by name, at most {MOST_MEASUREMENTS:,}."
        raise LogError(shown, f"found no such object; {text}")
    found: dict[str, Block] = {}
    for name, node in tree.items():
        place, steps, values = f"{shown}: {name}", None, node
        if isinstance(node, dict):
            if set(node) != {"steps", "values"} or not isinstance(node["steps"], list):
                raise LogError(
                    place, "found an object; expected lists 'steps' and 'values' of a series."
                )
            steps, values = tuple(node["steps"]), node["values"]
        if not _all_numbers(values):
            raise LogError(place, "found something else than numbers; expected numbers.")
        try:
            found[name] = Block(place, steps, np.array(values, dtype=np.float64))
        except (OverflowError, ValueError):
            raise LogError(
                place,
                "found lists of different lengths, or a whole number beyond double precision; "
                "expected a full array.",
            ) from None
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

_NO_SEED = -1
"""The key of the rows of a table without a column of seeds."""


class _Table:
    """A CSV file: its header, and its rows by seed."""

    def __init__(self, data: bytes, shown: str) -> None:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise LogError(shown, f"is not a CSV table in UTF-8: {error}.") from None
        header, rows = csv_rows(text, shown, ",")
        if "" in header:
            raise LogError(f"{shown}:1", "found a column without a name; expected names.")
        self.shown = shown
        self.column = {name: index for index, name in enumerate(header)}
        self.rows: dict[int, list[tuple[int, list[str]]]] = {}
        for count, (line, cells) in enumerate(rows, start=1):
            if count > MOST_ROWS:
                raise LogError(shown, f"found more than {MOST_ROWS:,} rows; expected fewer.")
            seed = self._whole(line, cells, "seed") if "seed" in self.column else _NO_SEED
            self.rows.setdefault(seed, []).append((line, cells))

    def blocks(self, wanted: Wanted, stem: str) -> dict[str, Block]:
        """Return the measurements of one seed."""
        measured = {column: column for column in self.column if column in wanted.declared}
        if "value" in self.column and "value" not in wanted.declared:
            measured["value"] = stem
        if not measured:
            raise LogError(
                f"{self.shown}:1",
                f"found the columns {', '.join(list(self.column)[:20])}; expected a measurement "
                f"among them, {', '.join(sorted(wanted.declared))}, or 'value' in a file that is "
                "named after one.",
            )
        if not wanted.alone and "seed" not in self.column:
            raise LogError(
                f"{self.shown}:1",
                "found one table for several seeds without a column 'seed'; expected the column, "
                "or {seed} in the file's name.",
            )
        axes = self.column.keys() - {*measured, "step", "seed"}
        found = {}
        for column, name in measured.items():
            _refuse_undeclared(name, self.shown, wanted.declared)
            found[name] = self._block(column, name, axes, wanted)
        return found

    def _block(self, column: str, name: str, axes: set[str], wanted: Wanted) -> Block:
        """Return the numbers of one column in the declared order of axes."""
        declaration = wanted.declared[name]
        stepped = "step" in self.column
        if stepped != (declaration.kind is MeasurementKind.SERIES):
            found = "a column 'step'" if stepped else "no column 'step'"
            text = f"found {found}; expected the numbers of '{name}', of kind {declaration.kind}."
            raise LogError(f"{self.shown}:1", text)
        names = [axis.name for axis in declaration.axes]
        if axes != set(names):
            raise LogError(
                f"{self.shown}:1",
                f"found the axes {', '.join(sorted(axes)) or 'none'} of '{name}'; expected "
                f"{', '.join(names) or 'none'}, one column each.",
            )
        coordinates = [axis.coordinates(wanted.settings) for axis in declaration.axes]
        cells = self._cells(column, names, coordinates, wanted.seed)
        if not cells:
            raise LogError(self.shown, f"found no row of '{name}'; expected its numbers.")
        steps = sorted({step for step, *_ in cells})
        lengths = [len(one) for one in coordinates]
        values = []
        for step, *at in itertools.product(steps, *map(range, lengths)):  # ends at the first hole
            if (step, *at) not in cells:
                places = [f"{n} {c[i]}" for n, c, i in zip(names, coordinates, at, strict=True)]
                hole = ", ".join([*([f"step {step}"] if len(steps) > 1 else []), *places])
                raise LogError(self.shown, f"found no '{name}' at {hole}; expected it.")
            values.append(cells[step, *at][1])
        shape = (len(steps), *lengths) if stepped else lengths
        return Block(self.shown, tuple(steps) if stepped else None, np.reshape(values, shape))

    def _cells(
        self,
        column: str,
        names: Sequence[str],
        coordinates: Sequence[tuple[Coordinate, ...]],
        seed: int,
    ) -> dict[tuple[int, ...], tuple[int, float]]:
        """Return line and number by position: step (0 without steps), and index on every axis.

        An empty cell was not observed.
        """
        cells: dict[tuple[int, ...], tuple[int, float]] = {}
        known: list[dict[str, int]] = [{} for _ in names]
        for line, row in self.rows.get(seed if "seed" in self.column else _NO_SEED, ()):
            if not row[self.column[column]].strip():
                continue
            at = [self._whole(line, row, "step") if "step" in self.column else 0]
            for name, axis, seen in zip(names, coordinates, known, strict=True):
                text = row[self.column[name]].strip()
                if text not in seen:
                    seen[text] = self._index(line, name, text, axis)
                at.append(seen[text])
            if tuple(at) in cells:
                first = cells[tuple(at)][0]
                text = f"found a second number for the same place as line {first}; expected one."
                raise LogError(f"{self.shown}:{line}", text)
            cells[tuple(at)] = line, self._number(line, row, column)
        return cells

    def _index(self, line: int, name: str, text: str, axis: Sequence[Coordinate]) -> int:
        for index, one in enumerate(axis):
            if same_coordinate(text, one):
                return index
        listed = ", ".join(map(str, axis[:8]))
        place = f"{self.shown}:{line}"
        raise LogError(place, f"column {name}: found {text[:40]!r}; expected one of {listed}.")

    def _whole(self, line: int, row: Sequence[str], column: str) -> int:
        value = self._number(line, row, column)
        if not 0 <= value <= MAX_STEP or not value.is_integer():
            text = repr(row[self.column[column]][:40])
            raise LogError(
                f"{self.shown}:{line}",
                f"column {column}: found {text}; expected a whole number of 0 or more.",
            )
        return int(value)

    def _number(self, line: int, row: Sequence[str], column: str) -> float:
        text = row[self.column[column]]
        value = number_of(text)
        if value is None:
            place = f"{self.shown}:{line}"
            raise LogError(place, f"column {column}: found {text[:40]!r}; expected a number.")
        return value


# --- what is declared -----------------------------------------------------------------------------


def refuse_misfit(
    name: str, block: Block, declaration: Declaration, settings: Mapping[str, Any], diverged: bool
) -> None:
    """Refuse a measurement without the declared steps and shape, or with numbers not finite.

    Args:
        name: the measurement.
        block: its numbers.
        declaration: its declaration.
        settings: of the run.
        diverged: whether numbers may be NaN or infinite.

    Raises:
        LogError: if it does not fit.
    """
    is_series = declaration.kind is MeasurementKind.SERIES
    if is_series and block.steps is None:
        raise LogError(block.place, f"found no steps of '{name}'; expected a series over steps.")
    steps = (block.steps or ()) if is_series else ()
    shape = declaration.shape(settings)
    expected = (len(steps), *shape) if is_series else shape
    if block.values.shape != expected:
        axes = [*(["step"] if is_series else []), *(axis.name for axis in declaration.axes)]
        raise LogError(
            block.place,
            f"found shape {block.values.shape} of '{name}'; expected {expected}: "
            f"{' by '.join(axes) or 'a single number'}.",
        )
    if is_series:
        _refuse_steps(name, steps, block.place)
    if not diverged and not is_finite(block.values).all():
        index = tuple(np.argwhere(~is_finite(block.values))[0].tolist())
        raise LogError(
            block.place,
            f"found a number of '{name}' that is not finite, or too large, at {list(index)}; "
            "expected finite ones. If the run diverged, write 'status: diverged'.",
        )


def _refuse_steps(name: str, steps: Sequence[Any], place: str) -> None:
    rule = f"the steps of '{name}' are whole numbers that increase"
    if not steps:
        raise LogError(place, f"found no steps; {rule}.")
    for step in steps:
        if isinstance(step, bool) or not isinstance(step, int | float) or step != step // 1:
            raise LogError(place, f"found the step {str(step)[:40]}; {rule}.")
        if not 0 <= step <= MAX_STEP:
            text = f"found the step {str(step)[:40]}, below 0 or beyond 2^53"
            raise LogError(place, f"{text}; {rule}.")
    for before, after in itertools.pairwise(steps):
        if after <= before:
            raise LogError(place, f"found the step {after} after {before}; {rule}.")
