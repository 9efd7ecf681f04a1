"""Trackio's SQLite store: a row for each step of a run, with its numbers as JSON."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

from reproaudit.logs.logged import CurveBuilder, LogError, LoggedRun, LogSource, flat, number_of
from reproaudit.logs.opening import parse_json

_COLUMNS = frozenset({"run_name", "step", "metrics"})
"""Columns of Trackio's table `metrics`, by which its store is told from others."""


def is_trackio(database: sqlite3.Connection) -> bool:
    """Return True if a database has Trackio's table of metrics."""
    columns = database.execute("SELECT name FROM pragma_table_info('metrics')").fetchall()
    return {str(name) for (name,) in columns} >= _COLUMNS


def trackio_runs(source: LogSource, database: sqlite3.Connection) -> list[LoggedRun]:
    """Read the runs of a store, each with its configuration.

    Raises:
        LogError: if a row holds no step, or no JSON object.
    """
    builders: dict[str, CurveBuilder] = {}
    rows = database.execute("SELECT run_name, step, metrics FROM metrics ORDER BY rowid")
    for name, step, written in rows:
        run = str(name)
        place = f"{source.name}, run {run}"
        if not isinstance(step, int):
            raise LogError(place, f"found the step {step!r}; expected a whole number.")
        builder = builders.setdefault(run, source.builder(place))
        for tag, value in _object(written, place):
            number = number_of(value)
            if number is not None:
                builder.add(tag, step, number)
    configs = _configs(source, database)
    runs = []
    for run, builder in builders.items():
        named = replace(source, name=f"{source.name}/{run}", parts=(*source.parts[:-1], run))
        remarks = tuple(builder.remarks)
        config = configs.get(run, {})
        runs.append(named.run("Trackio", builder.curves(), config=config, remarks=remarks))
    return runs


def _configs(source: LogSource, database: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    known = database.execute("SELECT name FROM pragma_table_info('configs')").fetchall()
    if not {("run_name",), ("config",)} <= set(known):
        return {}
    rows = database.execute("SELECT run_name, config FROM configs").fetchall()
    return {
        str(name): {
            key: value
            for key, value in _object(config, f"{source.name}, run {name}")
            if not key.startswith("_")
        }
        for name, config in rows
    }


def _object(written: Any, place: str) -> list[tuple[str, Any]]:
    tree = parse_json(str(written), place)
    if not isinstance(tree, dict):
        raise LogError(place, "found no JSON object; expected one in each row.")
    return list(flat("", tree, place))
