"""Tables: CSV in wide or long form, JSON lines, exports, and what trainers write as such.

A wide table has one column for each quantity. A long one has a column of names (`name`, `metric`,
`tag` …) and a column `value`. Either may have columns of steps and seeds, and one for each
axis that the audit declares. Lightning's `metrics.csv` is a table; Hugging Face's
`trainer_state.json` holds a list of rows. Submitted tables are read here, too.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.logs.logged import (
    CurveBuilder,
    Curves,
    LogError,
    LoggedRun,
    LogSource,
    coordinates_of,
    flat,
    number_of,
    parse_json,
    read_log_text,
)

STEP_NAMES = (
    "step",
    "global_step",
    "_step",
    "trainer/global_step",
    "iteration",
    "iter",
    "train_step",
    "epoch",
)
"""Columns that count steps, the likelier first; capital letters make no difference."""
_TAG_COLUMNS = ("tag", "metric", "name", "key", "variable", "measurement", "quantity")
_SEED_COLUMNS = ("seed", "random_seed")
_NO_TAGS = frozenset({"", "Unnamed: 0", "Wall time"})
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
        axes: columns that hold coordinates.
        long: of a long table the columns of tags and of values.
        only_value: of a table with a single column of values: that column.
    """

    step: str | None
    seed: str | None = None
    axes: frozenset[str] = frozenset()
    long: tuple[str, str] | None = None
    only_value: str | None = None

    @classmethod
    def of(cls, columns: list[str], axes: frozenset[str], step: str | None) -> TableForm:
        """Tell the form from the names of the columns."""
        lower = {column.lower(): column for column in columns}

        def first(names: tuple[str, ...]) -> str | None:
            return next((lower[n] for n in names if n in lower and lower[n] not in axes), None)

        value = lower.get("value")
        tag = first(_TAG_COLUMNS)
        usual = next((lower[name] for name in STEP_NAMES if name in lower), None)
        given = step if step in columns else None
        return cls(
            step=usual if step is None else given,
            seed=first(_SEED_COLUMNS),
            axes=axes & set(columns),
            long=(tag, value) if tag is not None and value is not None else None,
            only_value=value if tag is None else None,
        )


def read_table(source: LogSource) -> list[LoggedRun]:
    """Read CSV, TSV or JSON lines: a run, or one for each seed that a column tells."""
    file = source.path
    name = source.name
    text = read_log_text(file, name)
    if file.suffix.lower() == ".jsonl":
        columns, rows = _json_lines(text, name)
    else:
        columns, rows = _csv_rows(text, name, "\t" if file.suffix.lower() == ".tsv" else ",")
    form = TableForm.of(columns, source.axes, source.step)
    groups = _group_rows(rows, name, file.stem, form)
    is_wandb = "_step" in columns or any(column.endswith("__MIN") for column in columns)
    not_whole = _sampled(columns, groups.values())
    runs = []
    logger = "W&B export" if is_wandb else "table"
    for seed, curves in groups.items():
        named = source if seed is None else replace(source, name=f"{name} (seed {seed})")
        runs.append(named.run(logger, curves, seed=seed, not_whole=not_whole, step=form.step))
    if not runs:
        source.skipped[name] = "a table without rows"
    return runs


def _group_rows(rows: _Rows, name: str, stem: str, form: TableForm) -> dict[int | None, Curves]:
    """Return the curves of a table by seed."""
    builders: dict[int | None, CurveBuilder] = {}
    for line, row in rows:
        place = f"{name}:{line}"
        seed = None if form.seed is None else _whole(place, row.get(form.seed), form.seed)
        if form.seed is not None and (seed is None or not 0 <= seed < 2**32):
            raise LogError(place, f"found the {form.seed} {seed}; expected one from 0 to 2^32 - 1.")
        if seed not in builders:
            builders[seed] = CurveBuilder(name)
        if form.only_value is not None:
            row = {stem if n == form.only_value else n: cell for n, cell in row.items()}
        take_row(builders[seed], form, place, row)
    return {seed: builder.curves() for seed, builder in builders.items()}


def take_row(builder: CurveBuilder, form: TableForm, place: str, row: Mapping[str, Any]) -> None:
    """Take the numbers of one row. An empty cell was not observed."""
    step = None if form.step is None else _whole(place, row.get(form.step), form.step)
    at = coordinates_of({axis: row[axis] for axis in form.axes & row.keys()})
    for tag, value in _cells(row, form, place):
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        number = number_of(value)
        if form.step is not None and step is None:
            builder.spoil(tag, f"{place} has no '{form.step}' that counts its step", at)
        elif number is None:
            builder.spoil(tag, f"{place} holds {str(value)[:40]!r}, no number", at)
        else:
            builder.add(tag, step, number, at)


def _whole(place: str, value: Any, column: str) -> int | None:
    if value is None or value == "":
        return None
    number = number_of(value)
    if number is None or not number.is_integer():
        raise LogError(place, f"found the {column} {str(value)[:40]!r}; expected a whole number.")
    return int(number)


def _cells(row: Mapping[str, Any], form: TableForm, place: str) -> Iterator[tuple[str, Any]]:
    if form.long is not None:
        tag, value = form.long
        if str(row.get(tag, "")).strip():
            yield str(row[tag]).strip(), row.get(value)
        return
    skipped = {form.step, form.seed, *form.axes, *_NO_TAGS}
    for name, value in row.items():
        if name not in skipped:
            yield from flat(name, value, place)


def _csv_rows(text: str, name: str, delimiter: str) -> tuple[list[str], _Rows]:
    """Return a table's header, and each row by column with its line; empty rows are left out."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)

    def rows() -> Iterator[list[str]]:
        try:
            yield from reader
        except csv.Error as error:
            place = f"{name}:{max(1, reader.line_num)}"
            raise LogError(place, f"found no CSV row ({error}); expected one.") from None

    cells = rows()
    header = [cell.strip() for cell in next(cells, [])]
    if not header:
        raise LogError(f"{name}:1", "found 0 columns; expected a header.")
    counts = Counter(header)
    if twice := next((one for one in header if one and counts[one] > 1), None):
        raise LogError(f"{name}:1", f"found the column '{twice}' twice; expected it once.")

    def by_column() -> _Rows:
        for row in cells:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                raise LogError(
                    f"{name}:{reader.line_num}",
                    f"found {len(row)} cells; expected {len(header)}, as in the header. The "
                    "file may be cut off: copy it again.",
                )
            yield reader.line_num, dict(zip(header, row, strict=True))

    return header, by_column()


def _json_lines(text: str, name: str) -> tuple[list[str], _Rows]:
    rows: list[tuple[int, Mapping[str, Any]]] = []
    columns: dict[str, None] = {}
    for line, written in enumerate(text.split("\n"), start=1):
        if not written.strip():
            continue
        row = parse_json(written, f"{name}:{line}")
        if not isinstance(row, dict):
            raise LogError(f"{name}:{line}", "found no JSON object; expected one on each line.")
        rows.append((line, row))
        columns.update(dict.fromkeys(row))
    if not rows:
        raise LogError(name, "found no row; expected one JSON object on each line.")
    return list(columns), iter(rows)


def _sampled(columns: list[str], groups: Iterable[Curves]) -> tuple[str, ...]:
    """Tell why the rows of an export are not all that was logged."""
    if any(column.endswith(("__MIN", "__MAX")) for column in columns):
        return (
            "exported from W&B's page, which sums several steps up in one row (columns __MIN, "
            "__MAX): export run.scan_history()",
        )
    if "Wall time" not in columns and "_step" not in columns:
        return ()
    longest = max(map(_steps, groups), key=len, default=np.array([], dtype=np.int64))
    if "Wall time" in columns and len(longest) >= RESERVOIR:
        return (
            f"exported from TensorBoard's page, which keeps a random {RESERVOIR} points of "
            "a series (its reservoir): import the event files themselves",
        )
    gaps = np.unique(np.diff(longest)).tolist()
    if "_step" in columns and (len(gaps) > 1 or (len(longest) == WANDB_SAMPLES and gaps != [1])):
        return (
            f"its {len(longest)} rows up to step {max(longest)} have gaps in _step, as the "
            "sample has that W&B's run.history() draws: export run.scan_history()",
        )
    return ()


def _steps(curves: Curves) -> NDArray[np.int64]:
    """Return every step of a run that any of its curves has, in order."""
    each = [c.steps for at in curves.values() for c in at.values() if c.steps is not None]
    return np.unique(np.concatenate(each)) if each else np.array([], dtype=np.int64)


def read_trainer_state(source: LogSource, place: str) -> LoggedRun:
    """Read the run of Hugging Face's `trainer_state.json`.

    Args:
        source: the state, named as its run; it may lie in a checkpoint below the run's folder.
        place: what messages call the file.
    """
    state = parse_json(read_log_text(source.path, place), place)
    history = state.get("log_history") if isinstance(state, dict) else None
    if not isinstance(history, list):
        raise LogError(place, "found no list 'log_history'; expected a Trainer's state.")
    builder = CurveBuilder(place)
    form = TableForm(source.step or "step")
    for index, row in enumerate(history):
        if not isinstance(row, dict):
            raise LogError(f"{place}: log_history[{index}]", "found no object; expected one.")
        take_row(builder, form, f"{place}: log_history[{index}]", row)
    reached = state.get("global_step")
    most = state.get("max_steps")
    cut = isinstance(reached, int) and isinstance(most, int) and reached < most
    return source.run(
        "Hugging Face",
        builder.curves(),
        not_whole=(f"its Trainer stopped at step {reached} of {most}",) if cut else (),
    )
