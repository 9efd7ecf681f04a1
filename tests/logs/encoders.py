"""Logs as the loggers write them, made by hand: the plain form that the readers are held against.

Nothing here is shared with the readers; field numbers and frames are written out once more.
"""

from __future__ import annotations

import csv
import io
import sqlite3
import struct
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

# --- protocol buffers -----------------------------------------------------------------------------


def varint(value: int) -> bytes:
    value &= 0xFFFF_FFFF_FFFF_FFFF
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


def single(field: int, value: float) -> bytes:
    return varint(field << 3 | 5) + struct.pack("<f", value)


def part(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


# --- TensorBoard ----------------------------------------------------------------------------------


def masked_crc32c(data: bytes) -> int:
    """Bit by bit, as RFC 3720 defines it; then masked as TFRecord does."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tf_record(data: bytes) -> bytes:
    size = struct.pack("<Q", len(data))
    return (
        size
        + struct.pack("<I", masked_crc32c(size))
        + data
        + struct.pack("<I", masked_crc32c(data))
    )


def event(step: int, *values: bytes, time: float = 1.7e9) -> bytes:
    head = double(1, time) + (number(2, step) if step else b"")
    return head + part(5, b"".join(part(1, one) for one in values))


def simple(tag: str, value: float) -> bytes:
    return part(1, tag) + single(2, value)


def tensor(tag: str, value: float, dtype: int = 2) -> bytes:
    content = struct.pack("<d" if dtype == 2 else "<f", value)
    metadata = part(1, part(1, "scalars"))
    return part(1, tag) + part(8, number(1, dtype) + part(2, b"") + part(4, content)) + part(
        9, metadata
    )  # fmt: skip


def hparams(config: Mapping[str, Any]) -> bytes:
    def held(value: Any) -> bytes:
        if isinstance(value, bool):
            return number(4, value)
        return part(3, value) if isinstance(value, str) else double(2, value)

    start = b"".join(part(1, part(1, k) + part(2, held(v))) for k, v in config.items())
    metadata = part(1, part(1, "hparams") + part(2, part(3, start)))
    return part(1, "_hparams_/session_start_info") + part(9, metadata)


def event_file(
    path: Path,
    curves: Mapping[str, Iterable[tuple[int, float]]],
    config: Mapping[str, Any] | None = None,
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [double(1, 1.7e9) + part(3, "brain.Event:2")]
    if config is not None:
        records.append(event(0, hparams(config)))
    records += [event(s, simple(tag, v)) for tag, points in curves.items() for s, v in points]
    path.write_bytes(b"".join(map(tf_record, records)))
    return path


# --- MLflow ---------------------------------------------------------------------------------------


def mlflow_run(
    folder: Path,
    curves: Mapping[str, Iterable[tuple[int, float]]],
    params: Mapping[str, Any],
    status: int = 3,
    stage: str = "active",
    name: str = "a run",
) -> Path:
    for kind in ("metrics", "params", "tags", "artifacts"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / "meta.yaml").write_text(
        f"run_id: {folder.name}\nrun_name: {name}\nstatus: {status}\nlifecycle_stage: {stage}\n"
        "end_time: 1700000000000\nuser_id: ada\n"
    )
    for tag, points in curves.items():
        file = folder / "metrics" / tag
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"1700000000000 {v!r} {s}\n" for s, v in points))
    for key, value in params.items():
        (folder / "params" / key).write_text(str(value))
    return folder


MLFLOW_SCHEMA = """
CREATE TABLE runs (run_uuid VARCHAR(32) PRIMARY KEY, name VARCHAR(250), user_id VARCHAR(256),
  status VARCHAR(9), start_time BIGINT, end_time BIGINT, lifecycle_stage VARCHAR(20));
CREATE TABLE metrics (key VARCHAR(250), value FLOAT, timestamp BIGINT, run_uuid VARCHAR(32),
  step BIGINT DEFAULT 0, is_nan BOOLEAN DEFAULT 0);
CREATE TABLE params (key VARCHAR(250), value VARCHAR(8000), run_uuid VARCHAR(32));
"""


def mlflow_database(
    file: Path,
    runs: Mapping[str, tuple[Mapping[str, Iterable[tuple[int, float]]], Mapping[str, Any]]],
    status: str = "FINISHED",
) -> Path:
    with closing(sqlite3.connect(file)) as database:
        database.executescript(MLFLOW_SCHEMA)
        for run, (curves, params) in runs.items():
            row = (run, run, "ada", status, 1_700_000_000_000, 1_700_000_000_000, "active")
            database.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for tag, points in curves.items():
                for step, value in points:
                    nan = value != value
                    held = 0.0 if nan else max(min(value, 1.7976931348623157e308), -1.8e307)
                    entry = (tag, held, 0, run, step, nan)
                    database.execute("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", entry)
            for key, setting in params.items():
                database.execute("INSERT INTO params VALUES (?, ?, ?)", (key, str(setting), run))
        database.commit()
    return file


# --- tables ---------------------------------------------------------------------------------------


def table(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue())
    return path
