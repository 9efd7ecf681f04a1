"""MLflow's stores, its folders and its database."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import encoders
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import points

from reproaudit.logs import mlflow
from reproaudit.logs.logged import LogError, LoggedRun, LogSource

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
CURVE = [(0, 1.0), (10, 0.5)]
curves = st.lists(
    st.tuples(st.integers(0, 2**53), st.floats(allow_nan=False)),
    max_size=9,
    unique_by=lambda p: p[0],
).map(sorted)  # fmt: skip


def read(folder: Path) -> LoggedRun:
    (run,) = mlflow.read_store_run(LogSource(folder, "run", ("run",)))
    return run


def read_base(file: Path) -> list[LoggedRun]:
    return mlflow.read_database(LogSource(file, "db"))


@SHARED
@given(curves)
def test_both_stores_hold_what_was_logged(tmp_path: Path, curve: list[tuple[int, float]]) -> None:
    encoders.mlflow_run(tmp_path / "run", {"train/loss": curve}, {"lr": 0.1})
    run = read(tmp_path / "run")
    assert points(run, "train/loss") == curve if curve else "train/loss" not in run.curves
    file = tmp_path / "mlflow.db"
    file.unlink(missing_ok=True)
    finite = [(s, v) for s, v in curve if abs(v) < 1e307]
    encoders.mlflow_database(file, {"a": ({"train/loss": finite}, {"lr": 0.1})})
    (kept,) = read_base(file)
    assert points(kept, "train/loss") == finite if finite else not kept.curves
    assert run.config == kept.config == {"lr": "0.1"}


def test_numbers_that_are_none(tmp_path: Path) -> None:
    wild = [(0, float("nan")), (1, float("inf"))]
    encoders.mlflow_run(tmp_path / "run", {"loss": wild}, {})
    file = encoders.mlflow_database(tmp_path / "m.db", {"a": ({"loss": wild}, {})})
    (kept,) = read_base(file)
    for run in (read(tmp_path / "run"), kept):
        assert [str(value) for _, value in points(run, "loss")] == ["nan", "inf"]


@pytest.mark.parametrize("status", [1, 2, 4, 5, 99])
def test_a_run_that_is_not_finished_is_not_whole(tmp_path: Path, status: int) -> None:
    assert read(encoders.mlflow_run(tmp_path / "run", {}, {}, status=status)).not_whole


def test_deleted_runs_are_left_out(tmp_path: Path) -> None:
    folder = encoders.mlflow_run(tmp_path / "run", {"loss": CURVE}, {}, stage="deleted")
    source = LogSource(folder, "run")
    assert list(mlflow.read_store_run(source)) == []
    assert source.skipped == {"run": "deleted in MLflow"}


@pytest.mark.parametrize("line", ["1 2", "x 1.0 0", "1 1.0 zero", "1 one 0", "1"])
def test_a_damaged_metric_is_told_with_its_line(tmp_path: Path, line: str) -> None:
    folder = encoders.mlflow_run(tmp_path / "run", {"loss": CURVE}, {})
    (folder / "metrics" / "loss").write_text(f"1 1.0 0\n{line}\n")
    if line == "1 2":  # MLflow's first versions wrote no step
        assert points(read(folder), "loss") == [(0, 1.0), (0, 2.0)]
        return
    with pytest.raises(LogError, match=r"metrics/loss:2: "):
        read(folder)


def test_a_cut_metric_is_told(tmp_path: Path) -> None:
    folder = encoders.mlflow_run(tmp_path / "run", {"loss": CURVE}, {})
    (folder / "metrics" / "loss").write_text("1 1.0 0\n1 1.0 1")
    with pytest.raises(LogError, match="cut off"):
        read(folder)


# --- the database ---------------------------------------------------------------------------------


def test_a_truncated_database_is_told(tmp_path: Path) -> None:
    many = [(step, 1.0) for step in range(2000)]
    file = encoders.mlflow_database(tmp_path / "m.db", {"a": ({"loss": many}, {})})
    file.write_bytes(file.read_bytes()[:9000])
    with pytest.raises(LogError, match="cannot be read"):
        read_base(file)


def test_a_damaged_name_in_a_database_is_told(tmp_path: Path) -> None:
    """SQLite's own words then hold the damaged bytes."""
    file = encoders.mlflow_database(tmp_path / "m.db", {"a": ({"loss": [(0, 1.0)]}, {})})
    file.write_bytes(file.read_bytes().replace(b"CREATE TABLE", b"CREATE \xff\xfeBLE"))
    with pytest.raises(LogError, match="cannot be read"):
        read_base(file)


def test_a_database_that_is_being_written_is_told(tmp_path: Path) -> None:
    file = encoders.mlflow_database(tmp_path / "m.db", {})
    (tmp_path / "m.db-wal").write_bytes(b"open")
    with pytest.raises(LogError, match="write-ahead log"):
        read_base(file)


def test_a_view_in_place_of_a_table_is_refused_at_once(tmp_path: Path) -> None:
    """A view may count for ever."""
    file = encoders.mlflow_database(tmp_path / "m.db", {"a": ({}, {})})
    with closing(sqlite3.connect(file)) as database:
        database.executescript(
            "DROP TABLE metrics; CREATE VIEW metrics AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL "
            "SELECT x + 1 FROM n) SELECT x AS key, x AS value, x AS step, 0 AS is_nan, x AS "
            "timestamp, 'a' AS run_uuid FROM n;"
        )
    began = time.process_time()
    with pytest.raises(LogError, match="no table 'metrics'"):
        read_base(file)
    assert time.process_time() - began < 2


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    file = encoders.mlflow_database(tmp_path / "m.db", {"a": ({}, {}), "b": ({}, {})})
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE runs SET name = 'same'")
        database.commit()
    assert len({run.name for run in read_base(file)}) == 2
