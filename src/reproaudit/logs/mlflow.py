"""MLflow's stores, read as they lie on disk: the folders of its file store, its SQLite database.

A run that MLflow does not call finished is not whole. A metric that was logged without a step has
step 0, as MLflow writes it.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reproaudit.logs.logged import CurveBuilder, LogError, LoggedRun, LogSource, number_of
from reproaudit.logs.opening import (
    MAX_TEXT_BYTES,
    MAX_YAML_BYTES,
    open_log,
    parse_yaml,
    read_log_text,
)

_STATUS = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}
_INFINITE = 1.7976931348623157e308
"""The number that MLflow's database writes for an infinite value."""
_LINE = re.compile(r"(-?\d+) (\S+)(?: (-?\d{1,19})(?: .*)?)?")
"""A line of a metric's file: time, value and step."""


def _run(
    source: LogSource,
    files: list[Path],
    builder: CurveBuilder,
    config: Mapping[str, Any],
    meta: Any,
) -> LoggedRun:
    """Return a run of either store; `meta` holds what MLflow keeps of it, the status in words."""
    status = meta["status"]
    curves = builder.curves()
    return source.run(
        "MLflow",
        curves,
        files=tuple(files),
        config=config,
        told=tuple(builder.told),
        not_whole=() if status == "FINISHED" else (f"MLflow calls the run {status}",),
        failed=status in ("FAILED", "KILLED"),
    )


def _is_deleted(source: LogSource, meta: Mapping[str, Any]) -> bool:
    if meta.get("lifecycle_stage") in (None, "", "active"):
        return False
    source.skipped[source.name] = "deleted in MLflow"
    return True


# --- the folders ----------------------------------------------------------------------------------


def is_store_run(folder: Path) -> bool:
    """Return True if a folder looks like a run of the file store; MLflow's models do, too."""
    return sum((folder / one).exists() for one in ("meta.yaml", "metrics", "params")) >= 2


def read_store_run(source: LogSource) -> Iterator[LoggedRun]:
    """Read the run in a folder of the file store, if it is one."""
    if not (source.path / "meta.yaml").is_file():  # a copy may have lost it
        source.skipped[source.name] = "looks like an MLflow run, but has no meta.yaml"
        return
    if source.path.parent.name == "models" and source.path.name.startswith("m-"):
        source.skipped[source.name] = "a model that MLflow keeps"
        return
    name = source.name
    files = [source.path / "meta.yaml"]
    place = f"{name}/meta.yaml"
    meta = parse_yaml(read_log_text(files[0], place, MAX_YAML_BYTES), place)
    if not isinstance(meta, dict) or ("run_id" not in meta and "run_uuid" not in meta):
        raise LogError(place, "found no 'run_id'; expected an MLflow run's.")
    meta["status"] = _STATUS.get(meta.get("status", 0), "unknown")
    if _is_deleted(source, meta):
        return
    builder = source.builder()
    for tag, file in _entries(source.path / "metrics"):
        files.append(file)
        _metric(tag, file, f"{name}/metrics/{tag}", builder)
    config = {
        key: read_log_text(file, f"{name}/params/{key}", 2**20)
        for key, file in _entries(source.path / "params")
    }
    tagged = source.path / "tags" / "mlflow.runName"  # of versions that have it nowhere else
    kept = read_log_text(tagged, f"{name}/tags", 2**20) if tagged.is_file() else ""
    if title := str(meta.get("run_name") or kept).strip():
        above, slash, own = name.rpartition("/")
        shown = f"{above}{slash}{title}" if slash else own
        source = replace(source, name=shown, parts=(*source.parts, title))
    yield _run(source, files, builder, config, meta)


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
    """Yield the files below a folder of metrics or parameters, by their names in MLflow."""
    for file in sorted(folder.rglob("*")):  # which follows no links
        if file.is_symlink() or not file.is_dir():
            yield file.relative_to(folder).as_posix(), file


def _metric(tag: str, file: Path, place: str, builder: CurveBuilder) -> None:
    text = read_log_text(file, place)
    if text and not text.endswith("\n"):
        raise LogError(place, "found the last line cut off; expected whole lines. Copy it again.")
    for number, line in enumerate(text.splitlines(), start=1):
        matched = _LINE.fullmatch(line)
        value = number_of(matched.group(2)) if matched else None
        if matched is None or value is None:
            raise LogError(f"{place}:{number}", "found no line 'time value step'; expected one.")
        when, _, step = matched.groups(default="0")
        builder.add(tag, int(step), value, when=float(when))


# --- the database ---------------------------------------------------------------------------------


def is_database(source: LogSource) -> bool:
    """Return True if a file is an SQLite database."""
    with open_log(source.path, source.name) as handle:
        return handle.read(16) == b"SQLite format 3\0"


def read_database(source: LogSource) -> list[LoggedRun]:
    """Read the runs of an SQLite store."""
    journal = source.path.with_name(f"{source.path.name}-wal")
    if journal.is_file() and journal.stat().st_size:
        raise LogError(
            source.name,
            f"found an open write-ahead log, {journal.name}; expected a closed database. Stop "
            "MLflow, or copy the database with 'sqlite3 FILE .backup'.",
        )
    address = f"file:{quote(str(source.path.resolve()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT_BYTES)  # a column may compute
            database.text_factory = lambda data: data.decode("utf-8", errors="replace")
            return _database_runs(source, database)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # its own words may be damaged, too
        raise LogError(
            source.name,
            f"found a database that cannot be read ({error}); expected MLflow's.",
        ) from None


def _database_runs(source: LogSource, database: sqlite3.Connection) -> list[LoggedRun]:
    kinds = dict(database.execute("SELECT name, type FROM sqlite_master").fetchall())
    for table in ("runs", "metrics", "params"):
        if kinds.get(table) != "table":  # a view could compute anything
            raise LogError(
                source.name,
                f"found no table '{table}'; expected an MLflow store. Leave the file out.",
            )
    columns = ("name", "status", "lifecycle_stage")
    query = f"SELECT run_uuid, {', '.join(columns)} FROM runs ORDER BY start_time, run_uuid"
    found: dict[str, LoggedRun] = {}
    for run_id, *values in database.execute(query).fetchall():
        meta = dict(zip(columns, values, strict=True))
        title = str(meta["name"] or run_id)
        name = f"{source.name}/{title}"
        name = f"{name} ({str(run_id)[:12]})" if name in found else name
        named = replace(source, name=name, parts=(*source.parts[:-1], title))
        if _is_deleted(named, meta):
            continue
        builder = source.builder(f"{source.name}, run {run_id}")
        points = database.execute(
            "SELECT key, value, step, is_nan, timestamp FROM metrics WHERE run_uuid = ? "
            "ORDER BY key, step, timestamp",
            (run_id,),
        )
        for key, value, step, is_nan, when in points:
            if not isinstance(step, int) or not isinstance(value, int | float):
                raise LogError(
                    source.name, f"found the metric '{key}' of {value!r} at step {step!r}."
                )
            infinite = float("inf") if value >= _INFINITE else float("-inf")
            number = float(value) if abs(value) < _INFINITE else infinite
            number = float("nan") if is_nan else number
            builder.add(str(key), step, number, when=number_of(when) or 0.0)
        params = database.execute("SELECT key, value FROM params WHERE run_uuid = ?", (run_id,))
        found[name] = _run(named, [source.path], builder, dict(params), meta)
    return list(found.values())
