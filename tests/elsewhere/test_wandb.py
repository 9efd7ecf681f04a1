"""W&B's offline runs: every row, the configuration, and whether the run came to its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import encoders
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import points, told_in_one_line

from reproaudit.elsewhere.binary import read_offline_run
from reproaudit.elsewhere.logged import NOWHERE, LogError, LoggedRun, LogSource

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def written(folder: Path, records: list[bytes]) -> Path:
    file = folder / "run-abc.wandb"
    file.write_bytes(encoders.wandb_log(records))
    return file


def read(file: Path, step: str | None = None) -> LoggedRun:
    return read_offline_run(LogSource(file, "run", ("run",), step=step))


numbers = st.floats(allow_nan=False, allow_infinity=False)
names = st.text("abcxyz/_", min_size=1, max_size=6).filter(lambda name: not name.startswith("_"))


@SHARED
@given(st.lists(st.dictionaries(names, numbers, max_size=4), max_size=20))
def test_what_was_written_is_read(tmp_path: Path, rows: list[dict[str, float]]) -> None:
    run = read(written(tmp_path, encoders.wandb_records(rows, {"seed": 3})))
    for tag in {tag for row in rows for tag in row}:
        assert points(run, tag) == [(s, row[tag]) for s, row in enumerate(rows) if tag in row]
    assert run.not_whole == ()


def test_records_longer_than_a_block_are_joined(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{f"tag{i}": i + s for i in range(2000)} for s in range(5)]
    run = read(written(tmp_path, encoders.wandb_records(rows, {"long": "x" * 100_000})))
    assert points(run, "tag1999") == [(s, 1999.0 + s) for s in range(5)]
    assert len(run.config["long"]) == 100_000


@pytest.mark.parametrize("size", range(32700, 32780))
def test_a_record_may_end_anywhere_in_a_block(tmp_path: Path, size: int) -> None:
    records = [encoders.part(4, bytes(size)), *encoders.wandb_records([{"loss": 1.0}], {})]
    assert points(read(written(tmp_path, records)), "loss") == [(0, 1.0)]


def test_nested_names_numbers_that_are_none_and_media(tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "train|loss": 0.5, "nan": float("nan"), "text": "NaN", "image": {"_type": "image-file"},
    }  # fmt: skip
    run = read(written(tmp_path, encoders.wandb_records([row], {})))
    assert points(run, "train.loss") == [(0, 0.5)]
    assert str(points(run, "nan")[0][1]) == str(points(run, "text")[0][1]) == "nan"
    assert "no number" in str(run.curves["image._type"][NOWHERE].fault)


def test_the_configuration_with_its_changes(tmp_path: Path) -> None:
    changed = encoders.part(1, encoders.item("lr", 0.2)) + encoders.part(2, encoders.item("old", 0))
    records = encoders.wandb_records([], {"seed": 3, "lr": 0.1, "old": 1, "_wandb": {}})
    run = read(written(tmp_path, [*records, encoders.part(5, changed)]))
    assert run.config == {"seed": 3, "lr": 0.2}
    assert run.parts == ("run", "happy-run-1")


def test_a_run_that_did_not_end_well_is_not_whole(tmp_path: Path) -> None:
    killed = read(written(tmp_path, encoders.wandb_records([], {}, exit_code=None)))
    failed = read(written(tmp_path, encoders.wandb_records([], {}, exit_code=1)))
    assert "killed" in killed.not_whole[0]
    assert "exit code 1" in failed.not_whole[0]


def test_another_quantity_may_count_the_steps(tmp_path: Path) -> None:
    rows = [{"epoch": 2 * s, "loss": float(s)} for s in range(3)]
    run = read(written(tmp_path, encoders.wandb_records(rows, {})), "epoch")
    assert points(run, "loss") == [(0, 0.0), (2, 1.0), (4, 2.0)]


@SHARED
@given(st.data())
def test_a_damaged_file_is_told_in_one_line(tmp_path: Path, data: st.DataObject) -> None:
    file = written(tmp_path, encoders.wandb_records([{"loss": 1.0}] * 3, {"seed": 1}))
    content = bytearray(file.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    with pytest.raises(LogError) as refused:
        read(file)
    assert "\n" not in str(refused.value)


def test_a_truncated_file_is_never_taken_for_whole(tmp_path: Path) -> None:
    file = written(tmp_path, encoders.wandb_records([{"loss": 1.0}] * 3, {"seed": 1}))
    data = file.read_bytes()
    for size in range(len(data)):
        file.write_bytes(data[:size])
        with told_in_one_line():
            assert read(file).not_whole


@SHARED
@given(st.binary(max_size=200))
def test_any_record_that_its_checksum_vouches_for_is_read_or_refused(
    tmp_path: Path, record: bytes
) -> None:
    with told_in_one_line():
        read(written(tmp_path, [record]))
