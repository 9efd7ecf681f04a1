"""Rows with named cells, out of CSV in its dialects, and why they may not be all that was logged.

What is read otherwise than it is written (a repeated header, decimal commas, comments) becomes a
remark.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

from reproaudit.logs.asked import Asked
from reproaudit.logs.logged import (
    FEWEST_LOGGED,
    MOST_LOGGED_NAMES,
    MOST_ROWS,
    CurveBuilder,
    LogError,
    number_of,
    refuse_beyond,
    some,
)
from reproaudit.logs.names import RUN_NAMES, SEED_LIKE, STEP_NAMES, SUMMARIES, is_seed_name, normal

_COMMA_NUMBER = re.compile(r"\s*[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+([eE][-+]?\d+)?\s*%?\s*")
IN_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2},\d{3}\s*%?\s*")
"""What may be a number of thousands, or one of three decimals."""
_POINT_NUMBER = re.compile(r"\s*[-+]?\d+\.\d+([eE][-+]?\d+)?\s*%?\s*")
_QUOTED = re.compile(r"""^(["'])([^"']*)\1$""")
_DASHES = frozenset({"-", "–", "—"})
_NOT_OBSERVED = _DASHES | {"", "n/a", "na", "none", "null"}
_DELIMITERS = (",", ";", "\t", "|")
NOT_USED = "not used"  # the role of a column of which nothing is made
INDEX = "index"  # the column of the names of rows, where its header is empty
HEADING = "heading"  # the column of the heading of each of several tables or lists
MOST_IN_LINE = 2**22  # characters in a line: four hundred for each of ten thousand columns
MOST_LEVELS = 4  # rows above the numbers of a table of pandas
WANDB_SAMPLES = 500  # the rows that W&B's ``run.history()`` draws by default
RESERVOIR = 1000  # the points of a series that TensorBoard keeps by default
WITH_DEVIATION = re.compile(r"\s*[-+]?[\d.,]+\s*%?\s*(±|\+/-|\\pm)\s*[\d.,]+\s*%?\s*")
_OF_MANY = re.compile(r"\([^()]*\)|\b(of|over|n *=) *\d+.*$|\b\d+ *(seeds|runs|folds|trials)\b")
_MEAN = re.compile(r"(?i)(.*?)[ _.-]?(mean|avg|average)[ _.-]?(.*)")
_DEVIATION = re.compile(r"(?i)(.*?)[ _.-]?(std|stdev|stddev|sd|sem|stderr|ci)[ _.-]?(.*)")

TableRow = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """Rows of named cells."""

    columns: tuple[str, ...]  # the names, in order
    rows: Sequence[tuple[int, TableRow]]  # line and cells of each row
    remarks: tuple[str, ...] = ()  # what was read otherwise than it is written
    alone: bool = False  # True of a JSON object: its numbers are of the end of a run
    logger: str = "table"  # who wrote it
    # what it says that its runs were started with
    config: Mapping[str, Any] = field(default_factory=dict)
    # what is known of a run's end, as fields of `LoggedRun`
    ending: Mapping[str, Any] = field(default_factory=dict)
    # column -> its role, and the name of the axis, setting or measurement in it; of all columns
    # once `form_of` has seen the table
    roles: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    like_seeds: str | None = None  # where there is no column of seeds, one that may be it
    like_steps: str | None = None  # where there is no column of steps, one that may be it
    of_points: bool = False  # whether its rows are points of runs, whose seeds stand beside lists

    @cached_property
    def _by_role(self) -> Mapping[str, dict[str, str]]:
        by_role: dict[str, dict[str, str]] = {}
        for column, (role, name) in self.roles.items():
            by_role.setdefault(role, {})[name] = column
        return by_role

    def named(self, role: str) -> Mapping[str, str]:
        """Return the columns of a role by the names of what is in them."""
        return self._by_role.get(role, {})

    def column(self, role: str) -> str | None:
        """Return the column of a role that one column at most has."""
        return self.named(role).get("")

    def having(self, *roles: str) -> list[str]:
        """Return the columns of these roles."""
        return [column for role in roles for column in self.named(role).values()]

    @cached_property
    def words(self) -> Mapping[str, str]:
        """The role of each column in words, with its name there where that is another."""
        return {
            column: f"{role} {name}" if role == "axis" or name not in ("", column) else role
            for column, (role, name) in self.roles.items()
            if column
        }

    def observed(self, column: str) -> list[Any]:
        """Return the cells of a column that hold something."""
        return [row[column] for _, row in self.rows if is_observed(row.get(column))]

    def apart(self, *columns: str) -> set[tuple[str, ...]]:
        """Return the different rows that these columns alone make."""
        return {cells_at(row, columns) for _, row in self.rows}


def cells_at(row: TableRow, columns: Iterable[str]) -> tuple[str, ...]:
    """Return the texts in some columns of a row."""
    return tuple(str(row.get(column)) for column in columns)


def unquoted(text: str) -> str:
    """Return a text without quotes around it, as JSON in a cell has them."""
    return _QUOTED.sub(r"\2", text)


def is_said(cell: Any) -> bool:
    """Return False for an empty cell."""
    return cell is not None and bool(str(cell).strip())


def is_observed(cell: Any) -> bool:
    """Return False for a cell that says that nothing was observed: an empty one, N/A, null."""
    return cell is not None and str(cell).strip().lower() not in _NOT_OBSERVED


def delimiter_of(text: str, usual: str) -> str:
    """Return the delimiter of a table's cells: the usual, unless another fits better."""
    lines = text[:100_000].splitlines()
    first = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    for delimiter in (usual, *_DELIMITERS):
        try:
            counts = {len(row) for row in csv.reader(first[:2], delimiter=delimiter)}
        except csv.Error:
            continue
        if len(counts) == 1 and counts not in ({0}, {1}):
            is_framed = first[0].lstrip().startswith("|")
            return usual if delimiter == "|" and is_framed else delimiter
    return usual


def refuse_large(text: str, name: str) -> None:
    """Raise a LogError over a table of too many lines, or a line too long, before it is parsed."""
    refuse_beyond(MOST_ROWS + 1, text.count("\n"), "lines", name)
    start = 0
    while len(text) - start > MOST_IN_LINE:
        stop = start + MOST_IN_LINE + 1
        end = max(text.rfind("\n", start, stop), text.rfind("\r", start, stop))
        if end < 0:
            place = f"{name}:{text.count(chr(10), 0, start) + 1}"
            refuse_beyond(MOST_IN_LINE, len(text) - start, "characters in a line", place)
        start = end + 1


def csv_table(text: str, name: str, usual: str) -> Table:
    """Read a table with a header, or raise a LogError with the line that does not fit.

    `usual` stands between its cells unless another delimiter fits better.
    """
    refuse_large(text, name)
    delimiter = delimiter_of(text, usual)
    if delimiter == "|":
        text = re.sub(r" *\| *", "|", text)  # a quote begins or ends a cell only beside a bar
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines = list(_csv_rows(reader, name))
    comments = [cells for _, cells in lines if cells[0].lstrip().startswith("#")]
    plain = [row for row in lines if not row[1][0].lstrip().startswith("#")]
    levelled = _levelled(plain)
    remarks: list[str] = []
    if levelled is plain:
        levelled = _of_sheet(plain, remarks)
    table = cells_table(levelled, name, comments, delimiter)
    return replace(table, remarks=(*remarks, *table.remarks))


def cells_table(
    plain: Sequence[tuple[int, list[str]]],
    name: str,
    comments: Sequence[list[str]] = (),
    delimiter: str = "\t",
) -> Table:
    """Return the table of cells, the header first; a LogError says in which line it is none."""
    header = _header(comments, plain, name)
    remarks = [f"passed over: lines of comments, {len(comments)}"] if comments else []
    rows: list[tuple[int, list[str]]] = []
    for line, cells in plain:
        if [cell.strip() for cell in cells] == header:
            if rows:
                remarks.append(f"line {line} repeats the header and was passed over")
            continue
        if len(cells) != len(header):
            cut = "The file may be cut off: copy it again."
            way = cut if line == plain[-1][0] else f"Quote a cell that holds '{delimiter}'."
            text = f"found {len(cells)} cells; expected {len(header)}, as in the header. {way}"
            raise LogError(f"{name}:{line}", text)
        rows.append((line, cells))
    dashed = {line: cells[0] for line, cells in rows if _is_dashed(cells)}
    if len(dashed) < len(rows):
        rows = [row for row in rows if row[0] not in dashed]
        titles = some([f"line {line} ({title})" for line, title in dashed.items()])
        remarks += [f"rows with dashes alone were passed over: {titles}"] if dashed else []
    if delimiter != "," and (example := _point_decimals(rows, name, delimiter)):
        remarks.append(f"numbers have decimal commas, such as {example}")
    if not header[0] and any(number_of(cells[0]) is None for _, cells in rows):
        header[0] = INDEX  # names of rows, as R and pandas write them
    named = tuple((line, dict(zip(header, cells, strict=True))) for line, cells in rows)
    return Table(tuple(header), named, tuple(remarks))


def _is_dashed(cells: Sequence[str]) -> bool:
    """Tell whether a row has a word and else dashes alone, which are no run's numbers."""
    title, *others = cells
    return _is_word(title) and len(others) > 1 and all(c.strip() in _DASHES for c in others)


def _levelled(rows: Sequence[tuple[int, list[str]]]) -> Sequence[tuple[int, list[str]]]:
    """Return rows of pandas with one header in place of its levels and the row of index names."""
    top = [[cell.strip() for cell in cells] for _, cells in rows[: MOST_LEVELS + 1]]
    for depth, cells in enumerate(top[1:], start=1):
        index = [cell for cell in cells if cell]
        is_named = cells[: len(index)] == index and len(index) < len(cells)
        levels = [row[len(index) :] for row in top[:depth]]
        if any(number_of(cell) is not None for cell in (*index, *chain(*levels))):
            break
        is_level = depth > 1 and len(set(levels[0])) < len(levels[0])
        if index and is_named and (is_level or all(map(is_seed_name, index))):
            names = [".".join(filter(None, parts)) for parts in zip(*levels, strict=True)]
            return [(rows[depth][0], [*index, *names]), *rows[depth + 1 :]]
    return rows


_NOTE = re.compile(r"(?i)[*†‡§]|notes?\b|source\b")  # what a row that is a note begins with


def _of_sheet(
    rows: Sequence[tuple[int, list[str]]], remarks: list[str]
) -> Sequence[tuple[int, list[str]]]:
    """Return the rows of a sheet without titles above and notes below, under one header.

    What is passed over is added to the remarks. A header of two rows has merged cells in its first.
    """
    first = 0
    last = len(rows)
    wide = [sum(map(bool, map(str.strip, cells))) > 1 for _, cells in rows]
    while first < last - 1 and _is_alone(rows[first][1]) and True in wide[first:]:
        first += 1
    named = [cells[0].strip() for (_, cells), is_row in zip(rows, wide, strict=True) if is_row]
    counted = sum(number_of(cell) is not None for cell in named) * 2 > len(named)
    while last > first + 1 and _is_alone(rows[last - 1][1]):
        text = rows[last - 1][1][0].strip()
        if not (_NOTE.match(text) or (counted and " " in text)):
            break
        last -= 1
    for (line, cells), where in [
        *((row, "a title above the table") for row in rows[:first]),
        *((row, "a note below the table") for row in rows[last:]),
    ]:
        remarks.append(f"line {line} is {where} and was passed over: {cells[0].strip()[:80]}")
    kept = rows[first:last]
    if len(kept) < 3:
        return kept
    above, names, *_ = ([cell.strip() for cell in cells] for _, cells in kept)
    merged = [*above]
    for position in range(1, len(merged)):
        merged[position] = merged[position] or merged[position - 1]
    has_gaps = "" in above[1:] and merged != above and len(above) == len(names)
    is_header = all(map(is_observed, names)) and not any(
        number_of(cell) is not None for cell in (*above, *names)
    )
    if not (has_gaps and is_header and any(number_of(c) for c in kept[2][1])):
        return kept
    joined = [f"{over} {name}".strip() for over, name in zip(merged, names, strict=True)]
    remarks.append(f"the header of two rows was read as one, such as {joined[-1]}")
    return [(kept[1][0], joined), *kept[2:]]


def _is_alone(cells: Sequence[str]) -> bool:
    """Tell whether a row has text in its first cell, and nothing in others."""
    first, *others = (cell.strip() for cell in cells)
    return bool(first) and number_of(first) is None and not any(others)


def _csv_rows(reader: Any, name: str) -> Iterator[tuple[int, list[str]]]:
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, [unquoted(cell.strip()) for cell in cells]
    except csv.Error as error:
        place = f"{name}:{max(1, reader.line_num)}"
        raise LogError(place, f"found no CSV row ({error}); expected one.") from None


def _header(
    comments: Sequence[list[str]], plain: Sequence[tuple[int, list[str]]], name: str
) -> list[str]:
    """Return the names of the columns, from the first row or a comment above bare numbers."""
    if not plain:
        raise LogError(f"{name}:1", "found 0 columns; expected a header.")
    header = [cell.strip() for cell in plain[0][1]]
    refuse_beyond(MOST_LOGGED_NAMES, len(header), "columns", name)
    if all(number_of(cell) is not None for cell in header):
        if not comments and _is_stepped(plain):
            return ["step", "value"]
        if not comments and len(plain) == len(header) == 1:
            return ["value"]
        if not comments or len(comments[-1]) != len(header):
            fault = f"found numbers ({', '.join(header[:4])}) in the first row"
            text = f"{fault}; expected the names of the columns. Write them above."
            raise LogError(f"{name}:{plain[0][0]}", text)
        header = [cell.strip().lstrip("#").strip() for cell in comments[-1]]
    counts = Counter(header)
    if twice := next((column for column in header if column and counts[column] > 1), None):
        raise LogError(f"{name}:1", f"found the column '{twice}' twice; expected it once.")
    return header


def _is_stepped(rows: Sequence[tuple[int, list[str]]]) -> bool:
    """Tell whether rows are two numbers each, of which the first counts more steps than seeds."""
    if len(rows) < FEWEST_LOGGED or any(len(cells) != 2 for _, cells in rows):
        return False
    steps = [number_of(cells[0]) for _, cells in rows]
    whole = [step for step in steps if step is not None and step.is_integer()]
    return len(whole) == len(rows) and all(a < b for a, b in pairwise(whole))


def _point_decimals(rows: Sequence[tuple[int, list[str]]], name: str, delimiter: str) -> str | None:
    """Write decimal commas as points, in place; return the first number that had a comma.

    Commas that may all part thousands are left, unless semicolons part the cells: these do so
    where the comma is the decimal mark.
    """
    written = [c for _, cells in rows for c in cells if _COMMA_NUMBER.fullmatch(c)]
    is_sure = delimiter == ";" or not all(map(IN_THOUSANDS.fullmatch, written))
    example = next(iter(written), None) if is_sure else None
    for line, cells in rows if example else ():
        for position, cell in enumerate(cells):
            if _POINT_NUMBER.fullmatch(cell):
                fault = f"found '{cell}' in a table whose other numbers have decimal commas"
                way = "Write all numbers with a point."
                raise LogError(f"{name}:{line}", f"{fault}; expected one decimal mark. {way}")
            if _COMMA_NUMBER.fullmatch(cell):
                cells[position] = cell.replace(".", "").replace(",", ".")
    return example and example.strip()


def without_summaries(table: Table, asked: Asked) -> Table:
    """Return a table without the rows that sum others up: a mean where others have a seed.

    So does a row that has neither a seed, where others have one, nor a step.
    """
    stated = asked.columns.seed
    steps = [c for c in table.columns if c == asked.columns.step or c.lower() in STEP_NAMES]
    seeds = [c for c in table.columns if c == stated or (not stated and is_seed_name(c))][:1]
    likely = [
        column
        for column in table.columns
        if column == stated or SEED_LIKE.search(column) or normal(column) in RUN_NAMES
    ]
    used = {*asked.axes, *asked.settings, *steps, *filter(asked.wants, table.columns)}
    others = [] if stated else [c for c in table.columns if c not in used]
    counted = [*seeds, *(c for c in others if _counts(c, table, asked.arms))]
    summaries = {
        line: str(row[column]).strip()
        for line, row in table.rows
        for column in dict.fromkeys((*counted, *likely))
        if _sums_up(row.get(column)) or (column in counted and _is_word(row.get(column)))
    }
    unseeded = {
        line: _title(line, row)
        for line, row in table.rows
        if seeds
        and line not in summaries
        and not any(is_observed(row.get(column)) for column in (*seeds, *steps))
    }
    before = table.columns[: min(map(table.columns.index, counted), default=0)]
    rows = [*_without(summaries.keys() | unseeded.keys(), table, before)]
    if not rows:
        return table
    named = (("that sum others up", summaries), ("without a seed", unseeded))
    remarks = [
        f"rows {which} were passed over: {some([*own.values()])}" for which, own in named if own
    ]
    return replace(table, rows=rows, remarks=(*table.remarks, *remarks))


def _without(
    lines: Collection[int], table: Table, columns: Collection[str]
) -> Iterator[tuple[int, TableRow]]:
    """Yield the rows at other lines; what these lines name in `columns` stands in the next row.

    It is what merged cells of several rows say, which begin at such a line.
    """
    above: dict[str, Any] = {}
    for line, row in table.rows:
        said = {column: row[column] for column in columns if is_said(row.get(column))}
        if line in lines:
            named = {c: cell for c, cell in said.items() if _is_word(cell) and not _sums_up(cell)}
            above |= named
        else:
            yield line, {**row, **{c: v for c, v in above.items() if c not in said}}
            above = {}


def _counts(column: str, table: Table, arms: Collection[str]) -> bool:
    """Tell whether a column counts runs from 0 or 1 on, but for some rows with a word."""
    cells = table.observed(column)
    words = [str(cell).lower() for cell in cells if _is_word(cell)]
    numbers = {number_of(cell) for cell in cells if not _is_word(cell)}
    counts = [{*map(float, range(n, n + max(2, len(numbers))))} for n in (0, 1)]
    return numbers in counts and 2 * len(words) < len(cells) and not {*words} & {*arms}


def _is_word(cell: Any) -> bool:
    """Tell whether a cell has words and no number, in whatever language."""
    text = str(cell)
    is_word = any(map(str.isalpha, text)) and not any(map(str.isdigit, text))
    return is_observed(cell) and is_word and number_of(cell) is None


def _title(line: int, row: TableRow) -> str:
    texts = [str(cell).strip() for cell in row.values() if is_said(cell)]
    text = next((text for text in texts if number_of(text) is None), None)
    return f"line {line}" if text is None else f"line {line} ({text})"


def _sums_up(cell: Any) -> bool:
    """Tell whether a cell has nothing but words for sums, and of how many: `Mean (5 seeds)`."""
    text = _OF_MANY.sub("", str(cell).lower())
    words = {*re.findall(r"[^\W\d_]+", text)}
    return bool(words) and words <= SUMMARIES and not any(map(str.isdigit, text))


def aggregated(table: Table, apart: str | None, whole: bool = False) -> str | None:
    """Say that a table holds means of runs, if it does.

    `apart` is what tells its runs apart; `whole` if it has a column that is asked for.
    """
    wanted = (
        "expected the number of each run, since an answer counts runs. Hand in the table from "
        "which the means were taken, a row for each seed."
    )
    for line, row in table.rows:
        for column, cell in row.items():
            if isinstance(cell, str) and WITH_DEVIATION.fullmatch(cell):
                fault = f"found '{cell.strip()}' under '{column}' in line {line}"
                return f"{fault}, a mean with a deviation; {wanted}"
    if apart is not None or whole:
        return None
    means = {m[1] + m[3]: column for column in table.columns if (m := _MEAN.fullmatch(column))}
    lists = {name for _, row in table.rows for name, cell in row.items() if isinstance(cell, list)}
    for column in table.columns:
        matched = _DEVIATION.fullmatch(column)
        if matched is None or matched.group(1) in lists:
            continue
        if mean := means.get(matched.group(1) + matched.group(3)):
            return f"found means and deviations ('{mean}', '{column}'); {wanted}"
    return None


def sampled(table: Table, runs: Iterable[CurveBuilder]) -> tuple[str, ...]:
    """Tell why the rows of an export are not all that was logged."""
    columns = table.columns
    for line, row in table.rows if any(column.endswith("__MIN") for column in columns) else ():
        for column, cell in row.items():
            most = number_of(row.get(f"{column.removesuffix('__MIN')}__MAX"))
            if column.endswith("__MIN") and is_observed(cell) and number_of(cell) != most:
                return (
                    "exported from W&B's page, which sums several steps or runs up in one row "
                    f"(__MIN and __MAX differ in line {line}): export run.scan_history()",
                )
    if "Wall time" not in columns and "_step" not in columns:
        return ()
    longest = max((sorted(run.all_steps()) for run in runs), key=len)
    if "Wall time" in columns and len(longest) >= RESERVOIR:
        return (
            f"exported from TensorBoard's page, which keeps a random {RESERVOIR} points of "
            "a series (its reservoir): import the event files themselves",
        )
    gaps = {b - a for a, b in pairwise(longest)}
    if "_step" in columns and (len(gaps) > 1 or (len(longest) == WANDB_SAMPLES and gaps != {1})):
        return (
            f"its {len(longest)} rows up to step {max(longest)} have gaps in _step, as the "
            "sample has that W&B's run.history() draws: export run.scan_history()",
        )
    return ()
