"""Tables: loose CSV in wide or long form, JSON lines, and what W&B and TensorBoard export as such.

A wide table has one column for each quantity. A long one has a column of names (`name`, `metric`,
`tag` …) and a column `value`. Either may have columns of steps, seeds and runs, and one for each
axis that the audit declares.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from reproaudit.elsewhere.configurations import names_a_seed
from reproaudit.elsewhere.logged import (
    Curve,
    CurveBuilder,
    LogError,
    LoggedCoordinates,
    LoggedRun,
)
from reproaudit.elsewhere.reading import parse_json, read_log_text
from reproaudit.elsewhere.rows import RowReader, number_of, runs_in_headers, step_column

_TAG_COLUMNS = ("tag", "metric", "name", "key", "variable", "measurement", "quantity")
_SEED_COLUMNS = ("seed", "random_seed")
_RUN_COLUMNS = ("run", "run_name", "run_id")
MAX_COLUMNS = 20_000
MAX_GROUPS = 10_000
WANDB_SAMPLES = 500
"""The rows that W&B's ``run.history()`` draws unless it is told otherwise."""
RESERVOIR = 1000
"""The points of a series that TensorBoard keeps unless it is told otherwise."""

_Rows = Iterator[tuple[int, Mapping[str, Any]]]
"""Line number and row."""


@dataclass(frozen=True)
class TableForm:
    """The role of each column of a table.

    Attributes:
        step: the column of steps; None if there is none.
        seed: the column of seeds; None if there is none.
        run: the column of runs' names; None if there is none.
        long: of a long table the columns of tags and of values.
        only_value: of a table with a single column of values: that column.
    """

    step: str | None
    seed: str | None
    run: str | None
    long: tuple[str, str] | None
    only_value: str | None

    @classmethod
    def of(cls, columns: list[str], axes: frozenset[str], step: str | None) -> TableForm:
        """The form that the names of the columns say."""
        lower = {column.lower(): column for column in columns}

        def first(names: tuple[str, ...]) -> str | None:
            return next((lower[n] for n in names if n in lower and lower[n] not in axes), None)

        value, tag = lower.get("value"), first(_TAG_COLUMNS)
        return cls(
            step=step_column(columns, step),
            seed=first(_SEED_COLUMNS),
            run=first(_RUN_COLUMNS),
            long=(tag, value) if tag is not None and value is not None else None,
            only_value=value if tag is None else None,
        )


def read_table(
    name: str,
    parts: tuple[str, ...],
    file: Path,
    axes: frozenset[str],
    step: str | None,
    source: str = "table",
) -> list[LoggedRun]:
    """The runs in a table: one for each seed and run that its columns tell apart.

    Args:
        name: what messages call the file.
        parts: names in which a seed may be written.
        file: CSV, TSV or JSON lines.
        axes: columns that hold coordinates.
        step: the column of steps, where the mapping names one.
        source: the logger that the table is known to come from.

    Raises:
        LogError: if it is no table, or has rows of different lengths.
    """
    text = read_log_text(file, name)
    if file.suffix == ".jsonl":
        columns, rows = _json_lines(text, name)
    else:
        columns, rows = _csv_rows(text, name, "\t" if file.suffix == ".tsv" else ",")
    form = TableForm.of(columns, axes, step)
    columns_of_runs = [one for one in columns if one not in (form.step, *_NO_TAGS)]
    by_run = {} if file.suffix == ".jsonl" else runs_in_headers(columns_of_runs)
    if by_run and all(names_a_seed(one) for one, _ in by_run.values()):
        form = replace(form, run=_RUN)
        rows = _row_for_each_run(rows, by_run, form.step)
    groups = _Groups(name, file.stem, form, axes & set(columns))
    for run, _ in by_run.values() if form.run == _RUN and form.seed is None else ():
        groups.expect(run)
    steps = groups.take(rows)
    if "_step" in columns or any(column.endswith("__MIN") for column in columns):
        source = "W&B export"
    not_whole = _sampled(columns, steps)
    every = {key: builder.curves() for key, builder in groups.builders.items()}
    return [
        LoggedRun(
            name=f"{name}{_words(run, seed)}",
            source=source,
            folder=file.parent,
            parts=parts if run is None else (*parts, run),
            files=(file,),
            curves=curves,
            seed=seed,
            not_whole=not_whole,
            blank=_without_values(groups.blank(run, seed), curves),
            step=form.step,
        )
        for (run, seed), curves in every.items()
    ]


def _without_values(
    blank: set[int], curves: Mapping[str, Mapping[LoggedCoordinates, Curve]]
) -> tuple[int, ...]:
    """The steps among those of rows without values at which no other row has one either.

    A long table made from a wide one has such rows, and so may one that logs in several.
    """
    every = (one.steps for by_coordinates in curves.values() for one in by_coordinates.values())
    for steps in every if blank else ():
        blank = blank.difference(() if steps is None else steps.tolist())
    return tuple(sorted(blank))


def _words(run: str | None, seed: int | None) -> str:
    said = [
        *([f"run {run}"] if run is not None else []),
        *([f"seed {seed}"] if seed is not None else []),
    ]
    return f" ({', '.join(said)})" if said else ""


class _Groups:
    """The rows of a table by run and seed."""

    def __init__(self, name: str, stem: str, form: TableForm, axes: frozenset[str]) -> None:
        self._name, self._stem, self._form, self._axes = name, stem, form, axes
        self.builders: dict[tuple[str | None, int | None], CurveBuilder] = {}
        self._readers: dict[tuple[str | None, int | None], RowReader] = {}

    def expect(self, run: str) -> None:
        """A run that a header names is one, whether any of its cells has a value or not."""
        self._reader((run, None))

    def take(self, rows: _Rows) -> dict[tuple[str | None, int | None], list[int]]:
        """Reads all rows; returns the steps of each group's rows."""
        form, steps = self._form, dict[tuple[str | None, int | None], list[int]]()
        for line, row in rows:
            place = f"{self._name}:{line}"
            run = str(row.get(form.run, "")).strip() if form.run is not None else None
            key = (run, self._seed(place, row))
            step = self._reader(key).take(place, self._named(row))
            if step is not None:
                steps.setdefault(key, []).append(step)
        return steps

    def blank(self, run: str | None, seed: int | None) -> set[int]:
        """The steps of a group's rows that hold no value at all."""
        return self._readers[run, seed].blank

    def _named(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """The row; its only column of values is called as the file is."""
        value = self._form.only_value
        if value is None or value not in row:
            return row
        return {self._stem if name == value else name: cell for name, cell in row.items()}

    def _seed(self, place: str, row: Mapping[str, Any]) -> int | None:
        if self._form.seed is None:
            return None
        number = number_of(row.get(self._form.seed))
        if number is None or not number.is_integer() or not 0 <= number < 2**32:
            found = str(row.get(self._form.seed))[:40]
            raise LogError(
                place,
                f"column {self._form.seed}: found {found!r}; expected a whole number below 2^32.",
            )
        return int(number)

    def _reader(self, key: tuple[str | None, int | None]) -> RowReader:
        if key not in self._readers:
            if len(self._readers) == MAX_GROUPS:
                raise LogError(self._name, f"found more than {MAX_GROUPS} runs; expected fewer.")
            form = self._form
            skip = {form.seed, form.run} - {None}
            builder = self.builders[key] = CurveBuilder(self._name)
            self._readers[key] = RowReader(
                builder, form.step, self._axes, frozenset(map(str, skip)) | _NO_TAGS, form.long
            )
        return self._readers[key]


_NO_TAGS = frozenset({"", "Unnamed: 0", "Wall time"})


def _csv_rows(text: str, name: str, delimiter: str) -> tuple[list[str], _Rows]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [cell.strip() for cell in next(reader, [])]
    except csv.Error as error:
        raise LogError(f"{name}:1", f"found no CSV table ({error}); expected one.") from None
    if not header or len(header) > MAX_COLUMNS:
        raise LogError(
            f"{name}:1",
            f"found {len(header)} columns; expected a header with 1 to {MAX_COLUMNS} of them.",
        )
    if twice := next((one for one in header if one and header.count(one) > 1), None):
        raise LogError(f"{name}:1", f"found the column '{twice}' twice; expected it once.")

    def rows() -> _Rows:
        try:
            for cells in reader:
                if len(cells) != len(header) and any(cell.strip() for cell in cells):
                    raise LogError(
                        f"{name}:{reader.line_num}",
                        f"found {len(cells)} cells; expected {len(header)}, as in the header. The "
                        "file may be cut off: copy it again.",
                    )
                if any(cell.strip() for cell in cells):
                    yield reader.line_num, dict(zip(header, cells, strict=True))
        except csv.Error as error:
            place = f"{name}:{reader.line_num}"
            raise LogError(place, f"found no CSV row ({error}); expected one.") from None

    return header, rows()


_RUN = " run"
"""The column of runs' names in split rows; no header is called so, as headers are stripped."""


def _row_for_each_run(
    rows: _Rows, by_run: Mapping[str, tuple[str, str]], step: str | None
) -> _Rows:
    """Rows whose columns are several runs', as one row for each run that has something in it."""
    for line, row in rows:
        split: dict[str, dict[str, Any]] = {}
        for column, (run, tag) in by_run.items():
            if str(row[column]).strip():
                split.setdefault(run, {})[tag] = row[column]
        for run, cells in split.items():
            own = {} if step is None else {step: row[step]}
            yield line, {**cells, **own, _RUN: run}


def _json_lines(text: str, name: str) -> tuple[list[str], _Rows]:
    rows: list[tuple[int, Mapping[str, Any]]] = []
    columns: dict[str, None] = {}
    for line, written in enumerate(text.splitlines(), start=1):
        if not written.strip():
            continue
        row = parse_json(written, f"{name}:{line}")
        if not isinstance(row, dict):
            raise LogError(f"{name}:{line}", "found no JSON object; expected one on each line.")
        rows.append((line, row))
        columns.update(dict.fromkeys(row))
        if len(columns) > MAX_COLUMNS:
            raise LogError(f"{name}:{line}", f"found more than {MAX_COLUMNS} names.")
    if not rows:
        raise LogError(name, "found no row; expected one JSON object on each line.")
    return list(columns), iter(rows)


# --- exports that are samples ---------------------------------------------------------------------


def _sampled(
    columns: list[str], steps: Mapping[tuple[str | None, int | None], list[int]]
) -> tuple[str, ...]:
    """Why the rows of an export are not all that was logged."""
    if any(column.endswith(("__MIN", "__MAX")) for column in columns):
        return (
            "exported from W&B's page, which sums several steps up in one row (columns __MIN, "
            "__MAX): export run.scan_history(), or import the run's own .wandb file",
        )
    longest = max(steps.values(), key=len, default=[])
    if "Wall time" in columns and len(longest) >= RESERVOIR:
        return (
            f"exported from TensorBoard's page, which keeps a random {RESERVOIR} points of "
            "a series (its reservoir): import the event files themselves",
        )
    if "_step" in columns:
        gaps = np.unique(np.diff(sorted(longest)))
        whole = len(gaps) <= 1 and (len(longest) != WANDB_SAMPLES or gaps.tolist() == [1])
        if not whole:
            return (
                f"its {len(longest)} rows up to step {max(longest)} have gaps in _step, as the "
                "sample has that W&B's run.history() draws: export run.scan_history(), or import "
                "the run's own .wandb file",
            )
    return ()
