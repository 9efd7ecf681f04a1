"""MLflow's stores: the folders of its file store, and its SQLite database.

Both are read as they lie on disk, without MLflow. A run that MLflow does not call finished is not
whole. A metric that was logged without a step has step 0, as MLflow writes it.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reproaudit.elsewhere.logged import (
    CurveBuilder,
    LogError,
    LoggedRun,
    day_of,
    number_of,
    open_log,
    parse_yaml,
    read_log_text,
)

_MAX_ENTRIES = 20_000
"""Metrics or parameters of one run."""
MAX_QUERY_SECONDS = 60.0
_STATUS = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}
DELETED = "deleted in MLflow"
_INFINITE = 1.7976931348623157e308
"""The number that MLflow's database writes for an infinite value."""
_LINE = re.compile(r"-?\d+ (\S+)(?: (-?\d{1,19})(?: .*)?)?")
"""A line of a metric's file: time, value and step."""


def is_store_run(folder: Path) -> bool:
    """Return True if a folder is a run of the file store."""
    return (folder / "meta.yaml").is_file() and (folder / "metrics").is_dir()


def not_a_run(folder: Path) -> str | None:
    """Tell why a folder that looks like a run of the file store holds none; None of any other.

    MLflow 3 keeps its models in such folders, too, and a copy may have lost the file.
    """
    has_meta = (folder / "meta.yaml").is_file()
    if has_meta and folder.parent.name == "models" and folder.name.startswith("m-"):
        return "a model that MLflow keeps"
    if has_meta or not (folder / "metrics").is_dir() or not (folder / "params").is_dir():
        return None
    return "looks like an MLflow run, but has no meta.yaml"


def read_store_run(name: str, parts: tuple[str, ...], folder: Path) -> LoggedRun | None:
    """Read a run of the file store; None if it was deleted.

    Raises:
        LogError: if a file of it is damaged.
    """
    meta_file = folder / "meta.yaml"
    meta = parse_yaml(read_log_text(meta_file, f"{name}/meta.yaml", 2**20), f"{name}/meta.yaml")
    if not isinstance(meta, dict) or ("run_id" not in meta and "run_uuid" not in meta):
        raise LogError(f"{name}/meta.yaml", "found no 'run_id'; expected an MLflow run's.")
    if meta.get("lifecycle_stage") == "deleted":
        return None
    builder = CurveBuilder(name)
    files = [meta_file]
    for tag, file in _entries(folder / "metrics", f"{name}/metrics"):
        files.append(file)
        _metric(tag, file, f"{name}/metrics/{tag}", builder)
    config = {
        key: read_log_text(file, f"{name}/params/{key}", 2**20)
        for key, file in _entries(folder / "params", f"{name}/params")
    }
    meta["status"] = _STATUS.get(meta.get("status", 0), "unknown")
    title = str(meta.get("run_name") or "")
    parts = (*parts, title) if title else parts
    return _run(name, parts, files, builder, config, meta)


def _run(
    name: str,
    parts: tuple[str, ...],
    files: list[Path],
    builder: CurveBuilder,
    config: Mapping[str, Any],
    meta: Mapping[str, Any],
) -> LoggedRun:
    ended = number_of(meta.get("end_time")) or number_of(meta.get("start_time"))
    status = meta["status"]
    return LoggedRun(
        name=name,
        source="MLflow",
        folder=files[0].parent,
        parts=parts,
        files=tuple(files),
        curves=builder.curves(),
        config=config,
        not_whole=() if status == "FINISHED" else (f"MLflow calls the run {status}",),
        made=day_of(None if ended is None else ended / 1000),
        who=str(meta.get("user_id") or "") or None,
    )


def _entries(folder: Path, place: str) -> Iterator[tuple[str, Path]]:
    """Yield the files below a folder of metrics or parameters, by their names in MLflow."""
    if not folder.is_dir() or folder.is_symlink():
        return
    open_folders, count = [(folder, "")], 0
    while open_folders:
        here, prefix = open_folders.pop()
        for file in sorted(here.iterdir()):
            count += 1
            if count > _MAX_ENTRIES:
                raise LogError(place, f"found more than {_MAX_ENTRIES} entries; expected fewer.")
            key = f"{prefix}{file.name}"
            if file.is_dir() and not file.is_symlink():
                open_folders.append((file, f"{key}/"))
            else:
                yield key, file


def _metric(tag: str, file: Path, place: str, builder: CurveBuilder) -> None:
    text = read_log_text(file, place)
    if text and not text.endswith("\n"):
        raise LogError(place, "found the last line cut off; expected whole lines. Copy it again.")
    for number, line in enumerate(text.splitlines(), start=1):
        matched = _LINE.fullmatch(line)
        value = number_of(matched.group(1)) if matched else None
        if matched is None or value is None:
            raise LogError(f"{place}:{number}", "found no line 'time value step'; expected one.")
        builder.add(tag, int(matched.group(2) or 0), value)


# --- the database ---------------------------------------------------------------------------------


def is_database(file: Path, place: str) -> bool:
    """Return True if a file is an SQLite database.

    Raises:
        LogError: if it cannot be read.
    """
    with open_log(file, place) as handle:
        return handle.read(16) == b"SQLite format 3\0"


def read_database(
    name: str, parts: tuple[str, ...], file: Path
) -> tuple[list[LoggedRun], list[str]]:
    """Read the runs of an SQLite store, and the names of those that were deleted.

    Raises:
        LogError: if it is damaged, no store of MLflow's, or still being written.
    """
    journal = file.with_name(f"{file.name}-wal")
    if journal.is_file() and journal.stat().st_size:
        raise LogError(
            name,
            f"found an open write-ahead log, {journal.name}; expected a closed database. Stop "
            "MLflow, or copy the database with 'sqlite3 FILE .backup'.",
        )
    address = f"file:{quote(str(file.resolve()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            stop = time.monotonic() + MAX_QUERY_SECONDS
            database.set_progress_handler(lambda: int(time.monotonic() > stop), 100_000)
            database.execute("PRAGMA trusted_schema = OFF")
            database.text_factory = lambda data: data.decode("utf-8", errors="replace")
            runs = _database_runs(name, parts, file, database)
            gone = "SELECT name, run_uuid FROM runs WHERE lifecycle_stage != 'active'"
            deleted = database.execute(f"{gone} ORDER BY start_time, run_uuid").fetchall()
            return runs, [f"{name}/{title or run_id}" for title, run_id in deleted]
    except sqlite3.Error as error:
        raise LogError(
            name, f"found a database that cannot be read ({error}); expected an MLflow store."
        ) from None


def _database_runs(
    name: str, parts: tuple[str, ...], file: Path, database: sqlite3.Connection
) -> list[LoggedRun]:
    kinds = dict(database.execute("SELECT name, type FROM sqlite_master").fetchall())
    for table in ("runs", "metrics", "params"):
        if kinds.get(table) != "table":  # a view could compute anything
            raise LogError(
                name, f"found no table '{table}'; expected an MLflow store. Leave the file out."
            )
    columns = ("name", "status", "start_time", "end_time", "user_id")
    query = f"SELECT run_uuid, {', '.join(columns)} FROM runs WHERE lifecycle_stage = 'active'"
    found: dict[str, LoggedRun] = {}
    for run_id, *values in database.execute(f"{query} ORDER BY start_time, run_uuid").fetchall():
        meta = dict(zip(columns, values, strict=True))
        builder = CurveBuilder(f"{name}, run {run_id}")
        points = database.execute(
            "SELECT key, value, step, is_nan FROM metrics WHERE run_uuid = ? "
            "ORDER BY key, step, timestamp",
            (run_id,),
        )
        for key, value, step, is_nan in points:
            if not isinstance(step, int) or not isinstance(value, int | float):
                raise LogError(name, f"found the metric '{key}' of {value!r} at step {step!r}.")
            infinite = float("inf") if value >= _INFINITE else float("-inf")
            number = float(value) if abs(value) < _INFINITE else infinite
            builder.add(str(key), step, float("nan") if is_nan else number)
        config = dict(
            database.execute("SELECT key, value FROM params WHERE run_uuid = ?", (run_id,))
        )
        title = str(meta["name"] or run_id)
        place = f"{name}/{title}"
        if place in found:
            place = f"{place} ({str(run_id)[:12]})"
        found[place] = _run(place, (*parts, title), [file], builder, config, meta)
    return list(found.values())
