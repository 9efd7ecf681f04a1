"""MLflow's stores, read as they lie on disk: the folders of its file store, its SQLite database.

Trackio's database is read, too: a row for each step of a run, with its numbers as JSON. A run that
MLflow does not call finished is not whole. A metric that was logged without a step has step 0, as
MLflow writes it.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reproaudit.logs.logged import CurveBuilder, LogError, LoggedRun, LogSource, flat, number_of
from reproaudit.logs.opening import (
    MAX_TEXT_BYTES,
    MAX_YAML_BYTES,
    open_log,
    parse_json,
    parse_yaml,
    read_log_text,
)

_STATUS = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}
_INFINITE = 1.7976931348623157e308  # the number that MLflow's database writes for an infinite value
_LINE = re.compile(r"(-?\d+) (\S+)(?: (-?\d{1,19})(?: .*)?)?")
"""A line of a metric's file: time, value and step."""


def _run(
    source: LogSource, files: Sequence[Path], builder: CurveBuilder, config: Any, status: str
) -> LoggedRun:
    return source.run(
        "MLflow",
        builder.curves(),
        files=tuple(files),
        config=config,
        remarks=tuple(builder.remarks),
        not_whole=() if status == "FINISHED" else (f"MLflow calls the run {status}",),
        state=status,
        failed=status in ("RUNNING", "SCHEDULED", "FAILED", "KILLED"),
    )


def _is_deleted(source: LogSource, stage: Any) -> bool:
    if stage in (None, "", "active"):
        return False
    source.skipped[source.name] = "deleted in MLflow"
    return True


def is_store_run(folder: Path) -> bool:
    """Return True if a folder looks like a run of the file store; MLflow's models do, too."""
    return sum((folder / name).exists() for name in ("meta.yaml", "metrics", "params")) >= 2


def read_store_run(source: LogSource) -> Iterator[LoggedRun]:
    """Read the run in a folder of the file store, if it is one."""
    name = source.name
    file = source.path / "meta.yaml"
    if not file.is_file():  # a copy may have lost it
        source.skipped[name] = "looks like an MLflow run, but has no meta.yaml"
        return
    if source.path.parent.name == "models" and source.path.name.startswith("m-"):
        source.skipped[name] = "a model that MLflow keeps"
        return
    place = f"{name}/meta.yaml"
    meta = parse_yaml(read_log_text(file, place, MAX_YAML_BYTES), place)
    if not isinstance(meta, dict) or ("run_id" not in meta and "run_uuid" not in meta):
        raise LogError(place, "found no 'run_id'; expected an MLflow run's.")
    if _is_deleted(source, meta.get("lifecycle_stage")):
        return
    metrics = dict(_entries(source.path / "metrics"))
    builder = source.builder()
    for tag, metric in metrics.items():
        _metric(tag, metric, f"{name}/metrics/{tag}", builder)
    config = {
        key: read_log_text(param, f"{name}/params/{key}", 2**20)
        for key, param in _entries(source.path / "params")
    }
    tagged = source.path / "tags" / "mlflow.runName"  # some versions have it nowhere else
    kept = read_log_text(tagged, f"{name}/tags", 2**20) if tagged.is_file() else ""
    if title := str(meta.get("run_name") or kept).strip():
        above, slash, own = name.rpartition("/")
        shown = f"{above}{slash}{title}" if slash else own
        source = replace(source, name=shown, parts=(*source.parts, title))
    status = _STATUS.get(meta.get("status", 0), "unknown")
    yield _run(source, [file, *metrics.values()], builder, config, status)


def told_apart(runs: Sequence[LoggedRun]) -> list[LoggedRun]:
    """Return runs of which those of the file store that are called alike bear their ids."""
    counts = Counter(run.name for run in runs)
    return [
        replace(run, name=f"{run.name} ({run.folder.name[:12]})")
        if run.source == "MLflow" and counts[run.name] > 1
        else run
        for run in runs
    ]


def _entries(folder: Path) -> Iterator[tuple[str, Path]]:
    for file in sorted(folder.rglob("*")):  # which follows no links
        if file.is_symlink() or not file.is_dir():
            yield file.relative_to(folder).as_posix(), file


def _metric(tag: str, file: Path, place: str, builder: CurveBuilder) -> None:
    text = read_log_text(file, place)
    if text and not text.endswith("\n"):
        raise LogError(place, "found the last line cut off; expected whole lines. Copy it again.")
    for line_number, line in enumerate(text.splitlines(), start=1):
        matched = _LINE.fullmatch(line)
        value = number_of(matched.group(2)) if matched else None
        if matched is None or value is None:
            raise LogError(
                f"{place}:{line_number}", "found no line 'time value step'; expected one."
            )
        when, _, step = matched.groups(default="0")
        builder.add(tag, int(step), value, when=float(when))


def is_database(source: LogSource) -> bool:
    """Return True if a file is an SQLite database."""
    with open_log(source.path, source.name) as handle:
        return handle.read(16) == b"SQLite format 3\0"


def read_database(source: LogSource) -> list[LoggedRun]:
    """Read the runs of an SQLite store."""
    journal = source.path.with_name(f"{source.path.name}-wal")
    if journal.is_file() and journal.stat().st_size:
        text = f"found an open write-ahead log, {journal.name}; expected a closed database."
        remedy = "Stop what writes it, or copy the database with 'sqlite3 FILE .backup'."
        raise LogError(source.name, f"{text} {remedy}")
    address = f"file:{quote(str(source.path.resolve()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT_BYTES)  # a column may compute
            database.text_factory = lambda data: data.decode("utf-8", errors="replace")
            return _database_runs(source, database)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # its own words may be damaged, too
        text = f"found a database that cannot be read ({error}); expected MLflow's or Trackio's."
        raise LogError(source.name, text) from None


def _database_runs(source: LogSource, database: sqlite3.Connection) -> list[LoggedRun]:
    kinds = dict(database.execute("SELECT name, type FROM sqlite_master").fetchall())
    trackio = {"run_name", "step", "metrics"}
    if kinds.get("metrics") == "table" and _columns_of(database, "metrics") >= trackio:
        return _trackio_runs(source, database)
    for table in ("runs", "metrics", "params"):
        if kinds.get(table) != "table":  # a view could compute anything
            text = f"found no table '{table}'; expected a store of MLflow or Trackio."
            raise LogError(source.name, text)
    columns = "run_uuid, name, status, lifecycle_stage"
    runs = database.execute(f"SELECT {columns} FROM runs ORDER BY start_time, run_uuid").fetchall()
    by_name: dict[str, LoggedRun] = {}
    for run_id, called, status, stage in runs:
        title = str(called or run_id)
        name = f"{source.name}/{title}"
        name = f"{name} ({str(run_id)[:12]})" if name in by_name else name
        named = replace(source, name=name, parts=(*source.parts[:-1], title))
        if _is_deleted(named, stage):
            continue
        builder = source.builder(f"{source.name}, run {run_id}")
        of_run = "WHERE run_uuid = ? ORDER BY key"
        for key, value, step, is_nan, when in database.execute(
            f"SELECT key, value, step, is_nan, timestamp FROM metrics {of_run}, step, timestamp",
            (run_id,),
        ):
            if not isinstance(step, int) or not isinstance(value, int | float):
                text = f"found the metric '{key}' of {value!r} at step {step!r}; expected numbers."
                raise LogError(source.name, text)
            number = float(value) if abs(value) < _INFINITE else math.copysign(math.inf, value)
            number = math.nan if is_nan else number
            builder.add(str(key), step, number, when=number_of(when) or 0.0)
        params = database.execute(f"SELECT key, value FROM params {of_run}", (run_id,))
        by_name[name] = _run(named, [source.path], builder, dict(params), status)
    return list(by_name.values())


def _columns_of(database: sqlite3.Connection, table: str) -> set[str]:
    rows = database.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return {str(name) for (name,) in rows}


def _trackio_runs(source: LogSource, database: sqlite3.Connection) -> list[LoggedRun]:
    """Return Trackio's runs, each with its configuration; a row without a step is refused."""
    builders: dict[str, CurveBuilder] = {}
    rows = database.execute("SELECT run_name, step, metrics FROM metrics ORDER BY rowid")
    for name, step, written in rows:
        place = f"{source.name}, run {name}"
        if not isinstance(step, int):
            raise LogError(place, f"found the step {step!r}; expected a whole number.")
        builder = builders.setdefault(str(name), source.builder(place))
        for tag, value in _object(written, place):
            number = number_of(value)
            if number is not None:
                builder.add(tag, step, number)
    configs: dict[str, dict[str, Any]] = {}
    if _columns_of(database, "configs") >= {"run_name", "config"}:
        for name, written in database.execute("SELECT run_name, config FROM configs"):
            own = _object(written, f"{source.name}, run {name}")
            configs[str(name)] = {key: value for key, value in own if not key.startswith("_")}
    runs = []
    for run, builder in builders.items():
        named = replace(source, name=f"{source.name}/{run}", parts=(*source.parts[:-1], run))
        more = {"config": configs.get(run, {}), "remarks": tuple(builder.remarks)}
        runs.append(named.run("Trackio", builder.curves(), **more))
    return runs


def _object(written: Any, place: str) -> list[tuple[str, Any]]:
    tree = parse_json(str(written), place)
    if not isinstance(tree, dict):
        raise LogError(place, "found no JSON object; expected one in each row.")
    return list(flat("", tree, place))
