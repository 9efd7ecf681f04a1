"""Tables: each column gets one role, and each run its rows.

A wide table has a column for each quantity. A long one has a column of names (`name`, `metric`,
`tag` …) and a column `value`. A chart has a column `RUN - metric` for each run. All may have
columns of steps, seeds, runs, settings, and axes. The mapping states roles under `columns`; the
rest follows from names, and from what is in the columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reproaudit.logs.columns import TableForm, chart_parts, form_of
from reproaudit.logs.configurations import is_own, plain_value, seed_ways
from reproaudit.logs.logged import (
    SEEDS_COUNTED,
    CurveBuilder,
    LogError,
    LoggedRun,
    LogSource,
    coordinates_of,
    number_of,
    of_columns,
)
from reproaudit.logs.opening import read_log_text
from reproaudit.logs.rows import (
    Table,
    TableRow,
    csv_table,
    is_observed,
    is_said,
    is_table,
    json_lines,
)
from reproaudit.logs.samples import aggregated, sampled

_NO_TAGS = frozenset({"", "Unnamed: 0", "Wall time"})
_PAGE_FILE = re.compile(r"run-(.*)-tag-(.+)")
"""A series that was downloaded from TensorBoard's page."""
_ENDED = frozenset({"", "finished", "completed", "complete", "success", "succeeded", "done", "ok"})


def read_table(source: LogSource) -> list[LoggedRun]:
    """Read the runs of CSV, TSV or JSON lines, in a file of any name; none of any other text."""
    text = read_log_text(source.path, source.name)
    kind = source.path.name.lower().removesuffix(".gz").rpartition(".")[2]
    is_csv = kind in ("csv", "tsv")
    if kind == "jsonl" or (not is_csv and text.lstrip().startswith("{")):
        return table_runs(source, json_lines(text, source.name))
    if not is_csv and not is_table(text):
        return []
    return table_runs(source, csv_table(text, source.name, "," if kind == "csv" else "\t"))


def table_runs(source: LogSource, table: Table, logger: str = "table") -> list[LoggedRun]:
    """Return the runs of a table that a logger wrote; each of a chart has a column of its own."""
    if not table.rows:
        source.skipped[source.name] = "a table without rows"
        return []
    chart = {} if source.asked.plain else chart_parts(table)
    if not chart:
        return list(_runs(source, table, logger))
    runs: list[LoggedRun] = []
    for title, part in chart.items():
        named = replace(source, name=f"{source.name} ({title})", parts=(*source.parts, title))
        runs += _runs(named, part, "W&B chart")
    return runs


def _runs(source: LogSource, table: Table, logger: str) -> Iterator[LoggedRun]:
    form = form_of(source, table)
    roles = form.roles(table.columns)
    if not source.asked.plain and (why := aggregated(table, form.seed or form.run or form.step)):
        raise LogError(source.name, f"{why}{of_columns(roles)}")
    groups = _groups(source, table, form)
    varied = _varied(list(groups))
    not_whole = sampled(table, [one.builder for one in groups.values()])
    for key, group in groups.items():
        details = [text for text in varied[key] if text]
        named = source
        if details:
            named = replace(source, name=f"{source.name} ({', '.join(details)})")
            named = replace(named, parts=(*source.parts, *([key.run] if key.run else [])))
        yield named.run(
            "W&B export" if "_step" in table.columns else logger,
            group.builder.curves(),
            seed=key.seed,
            config=dict(key.settings),
            not_whole=(*not_whole, *group.unfinished),
            failed=bool(group.unfinished),
            step=form.step,
            columns=roles,
            seed_column=form.like_seeds,
            told=(*table.told, *group.builder.told),
        )


# --- the rows of each run -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Key:
    """What tells the runs of a table apart."""

    run: str
    seed: int | None
    settings: tuple[tuple[str, Any], ...]


@dataclass
class _Group:
    builder: CurveBuilder
    unfinished: tuple[str, ...] = ()


def _groups(source: LogSource, table: Table, form: TableForm) -> dict[_Key, _Group]:
    """Return the curves of each run of a table."""
    numbered = "seeds" in source.asked.numbered and form.seed is form.run is form.step is None
    groups: dict[_Key, _Group] = {}
    seen: dict[tuple[_Key, Any], int] = {}
    same = {
        name: next((row[one] for _, row in table.rows if is_said(row.get(one))), None)
        for name, one in form.settings.items()
    }
    apart = "expected one" if source.asked.plain else _apart(form, table.columns)
    for line, row in table.rows:
        place = f"{source.name}:{line}"
        key = _Key(
            str(row.get(form.run) or "").strip() if form.run else "",
            _seed(place, row, form.seed),
            tuple(
                (name, plain_value(row[one] if is_said(row.get(one)) else same[name]))
                for name, one in form.settings.items()
            ),
        )
        at = coordinates_of({axis: row[one] for axis, one in form.axes.items() if one in row})
        if numbered:
            repeat = seen.get((key, at), 0)
            seen[key, at] = repeat + 1
            key = replace(key, seed=repeat)
        if key not in groups:
            groups[key] = _Group(source.builder())
            if numbered:
                groups[key].builder.told[SEEDS_COUNTED] = None
            of_seed = "" if key.seed is None else f" for seed {key.seed}"
            groups[key].builder.unstepped = f"no step{of_seed}; {apart}"
        state = str(row.get(form.status) or "").strip() if form.status else ""
        if state.lower() not in _ENDED:
            groups[key].unfinished = (f"its column '{form.status}' says {state}",)
        if form.only_value is not None:
            row = {_stem(source) if n == form.only_value else n: c for n, c in row.items()}
        take_row(groups[key].builder, form, place, row, line)
    return groups


def _apart(form: TableForm, columns: Sequence[str]) -> str:
    """Say what to do about several rows without steps that nothing tells apart."""
    ways = ["`columns: {step: …}` or `columns: {settings: […]}`"]
    if form.seed is None and form.run is None:
        ways = [*seed_ways(form.like_seeds), *ways]
    else:
        ways.append("or leave a row out")
    return (
        "expected a column that tells them apart. Say in the mapping which does: "
        f"{', '.join(ways)}.{of_columns(form.roles(columns)).removesuffix('.')}"
    )


def _stem(source: LogSource) -> str:
    """Return what a lone column of values is called: as its file."""
    stem = source.path.name.removesuffix(".gz").rpartition(".")[0]
    matched = _PAGE_FILE.fullmatch(stem)
    return matched.group(2) if matched else stem


def _varied(keys: Sequence[_Key]) -> dict[_Key, list[str]]:
    """Return, of each run of a table, what tells it from the others, in words."""
    first = dict(keys[0].settings) if keys else {}
    unlike = {name for key in keys for name, value in key.settings if value != first[name]}
    varied = {name for name in unlike if not is_own(name)}
    return {
        key: [
            key.run,
            *(f"{name} {value}" for name, value in key.settings if name in varied),
            "" if key.seed is None else f"seed {key.seed}",
        ]
        for key in keys
    }


def _seed(place: str, row: TableRow, column: str | None) -> int | None:
    if column is None:
        return None
    value = row.get(column)
    if isinstance(value, str):
        value = re.sub(r"(?i)^\s*seed[\s_=-]*(?=\d)", "", value)
    seed = _whole(place, value, column)
    if seed is None or not 0 <= seed < 2**32:
        raise LogError(place, f"found the {column} {seed}; expected one from 0 to 2^32 - 1.")
    return seed


def take_row(
    builder: CurveBuilder, form: TableForm, place: str, row: TableRow, line: int = 0
) -> None:
    """Take the numbers of one row. An empty cell was not observed."""
    step = None if form.step is None else _whole(place, row.get(form.step), form.step)
    at = coordinates_of({axis: row[one] for axis, one in form.axes.items() if one in row})
    for tag, value in _cells(row, form):
        if not is_observed(value):
            builder.leave_open(tag, at, step)
            continue
        number = number_of(value)
        if form.step is not None and step is None:
            text = f"found no '{form.step}' that counts its step in {place}; expected one"
            builder.spoil(tag, text, at)
        elif number is None:
            text = f"found {str(value)[:40]!r}, no number, in {place}; expected one"
            builder.spoil(tag, text, at)
        else:
            builder.add(tag, step, number, at, line)


def _whole(place: str, value: Any, column: str) -> int | None:
    if not is_observed(value):
        return None
    number = number_of(value)
    if number is None or not number.is_integer():
        raise LogError(
            place,
            f"found the {column} {str(value)[:40]!r}; expected a whole number. If the column is "
            "something else, say under `columns` in the mapping which is which.",
        )
    return int(number)


def _cells(row: TableRow, form: TableForm) -> Iterator[tuple[str, Any]]:
    if form.long is not None:
        tag, value = form.long
        if str(row.get(tag, "")).strip():
            yield str(row[tag]).strip(), row.get(value)
        return
    skipped = {form.step, form.seed, form.run, form.status, *form.axes.values(), *form.own}
    skipped |= {*form.settings.values(), *_NO_TAGS}
    for name, value in row.items():
        if name not in skipped:
            yield name.removeprefix("metrics."), value
