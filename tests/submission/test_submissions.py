"""Hostile submissions: told in single lines, without reading or waiting for more."""

from __future__ import annotations

import json
import os
import re
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import factories
import miniatures
from reproaudit.errors import SpecError
from reproaudit.intake.reading import read_submission
from reproaudit.records import Measurements


def measured(kind: str, *axes: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "axes": list(axes), "unit": "1", "meaning": "Synthetic."}


AUDIT = factories.make_audit(
    settings={"mechanism": miniatures.setting("full")},
    experiments={
        "good": {
            "title": "Trains",
            "measurements": {
                "loss": measured("series"),
                "accuracy": measured("scalar"),
                "layer_distance": measured("array", {"name": "layer", "values": [1, 2, 3]}),
            },
        }
    },
    arms={"none": {"settings": {"mechanism": "none"}, "why": "lacks it"}},
    claims=[
        miniatures.claim(
            "mini",
            "distance",
            main=True,
            experiment="good",
            headline=[{"kind": "reaches", "value": "accuracy", "at_least": 0.9, "from": "paper"}],
            nulls=["none"],
            constructed=None,
        )
    ],
)
STATED = {"schema_version": 1, "who": "A", "source": "B", "framework": "C", "date": "2024-05-01"}


def write(folder: Path, name: str | None = None, data: bytes = b"", **changes: Any) -> Path:
    """A submission of one run, with one file."""
    one = {"experiment": "good", "seeds": [7], "files": [name or "a.csv"]}
    (folder / "manifest.yaml").write_text(json.dumps({**STATED, "runs": [one], **changes}))
    if name is not None:
        (folder / name).write_bytes(data)
    return folder


def faults(folder: Path) -> list[str]:
    with pytest.raises(SpecError) as caught:
        read_submission(AUDIT, folder)
    return str(caught.value).splitlines()


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", b'{"accuracy": 1, "accuracy": 2}')
    assert "the name 'accuracy' stands twice in one object" in faults(tmp_path)[0]
    text = (tmp_path / "manifest.yaml").read_text()
    (tmp_path / "manifest.yaml").write_text(text.replace("{", '{"who": "me", ', 1))
    assert "found 'who' again (first on line 1)" in faults(tmp_path)[0]


def read(folder: Path, name: str, data: bytes, **changes: Any) -> list[Measurements]:
    return [
        record.measurements
        for record in read_submission(AUDIT, write(folder, name, data, **changes)).records
    ]


FOLDER = [HealthCheck.function_scoped_fixture]


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ('{"accuracy": %s}' % ("9" * 400), "no number"),
        ('{"accuracy": %s}' % ("9" * 5_000), "is no JSON (Exceeds the limit"),
        ('{"accuracy": true}', "no number"),
        ('{"accuracy": 1e999}', "not finite"),
        ('{"step": 0.5, "loss": 1}', "the step '0.5'; expected a whole number"),
        ('{"loss": 1}', "a single number without a step"),
        ('{"step": 0, "accuracy": 1}\n{"step": 1, "accuracy": 1}', "expected one number"),
        ('{"accuracy": ' + "[" * 100_000, "nested too deeply"),
        (json.dumps({"l" * 1_000_000: 1}), "which the experiment does not declare"),
    ],
)
def test_what_json_lines_can_hold_is_told_in_a_short_line(
    data: str, says: str, tmp_path: Path
) -> None:
    (line,) = faults(write(tmp_path, "a.jsonl", data.encode()))
    assert says in line
    assert len(line) < 1_000


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("1,1\n2,1\n3,1\n4,1", "found numbers at other coordinates than the declared ones"),
        ("1,1\n2,1", "at layer 3', though others are there"),
        ("1,1\n2,1\n3,1\n3,2", "found 2 numbers (lines 4 and 5) with no step"),
        ("1,1\n2,x\n3,1", "found 'x', no number, in a.csv:3"),
    ],
)
def test_a_table_has_the_declared_coordinates_each_once(
    rows: str, says: str, tmp_path: Path
) -> None:
    table = f"layer,layer_distance\n{rows}\n".encode()
    (line,) = faults(write(tmp_path, "a.csv", table))
    assert says in line


@pytest.mark.parametrize(
    ("rows", "observed"), [("1,1\n2,N/A\n3,3", [1, 3]), ("1,1\n2,2\n3,", [1, 2])]
)
def test_an_empty_cell_is_a_coordinate_that_was_not_observed(
    rows: str, observed: list[int], tmp_path: Path
) -> None:
    submission = read_submission(
        AUDIT, write(tmp_path, "a.csv", f"layer,layer_distance\n{rows}\n".encode())
    )
    (record,) = submission.records
    assert record.measurements.arrays["layer_distance"].tolist() == observed
    assert record.coordinates == {"layer_distance": {"layer": tuple(observed)}}
    (missing,) = {1, 2, 3} - set(observed)
    said = f"Not observed: layer_distance at layer {missing} (seeds 7)."
    assert said in submission.remarks


@pytest.mark.parametrize("name", ["a.npz", "a.json", "a.pkl"])
def test_another_kind_of_file_is_refused(name: str, tmp_path: Path) -> None:
    (line,) = faults(write(tmp_path, name, b"{}"))
    assert f"found '{name[1:]}'; expected one of .csv, .tsv, .jsonl." in line


def test_copies_of_a_run_are_refused(tmp_path: Path) -> None:
    rows = [f"{seed},{step},{step / 7 + (seed == 2)}" for seed in range(3) for step in range(12)]
    one = {"experiment": "good", "seeds": [0, 1, 2], "files": ["a.csv"]}
    table = "\n".join(["seed,step,loss", *rows]).encode()
    (line,) = faults(write(tmp_path, "a.csv", table, runs=[one]))
    assert "found the same numbers for seed 1 as for seed 0 of 'good'" in line


def test_a_sparse_table_is_refused_without_its_full_grid(tmp_path: Path) -> None:
    """20,000 steps of one of 5,000 coordinates each: 10^8 places, of which two are looked at."""
    data = AUDIT.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    axis = {"name": "layer", "size": 5_000}
    data["experiments"]["good"]["measurements"]["loss"]["axes"] = [axis]
    rows = "".join(f"{i},{i % 5_000},1\n" for i in range(20_000))
    write(tmp_path, "a.csv", b"step,layer,loss\n" + rows.encode())
    with pytest.raises(SpecError, match="expected the same steps at every coordinate"):
        read_submission(type(AUDIT).model_validate_json(json.dumps(data)), tmp_path)


@settings(max_examples=80, suppress_health_check=FOLDER)
@given(
    cells=st.dictionaries(
        st.tuples(st.integers(0, 3), st.integers(0, 5)),
        st.floats(-1e100, 1e100),
        min_size=1,
        max_size=20,
    )
)
def test_a_table_holds_the_numbers_of_each_seed(
    cells: dict[tuple[int, int], float], tmp_path: Path
) -> None:
    lines = [f"{seed}, {step} ,{value!r}" for (seed, step), value in sorted(cells.items())]
    seeds = sorted({seed for seed, _ in cells})
    one = {"experiment": "good", "seeds": seeds, "files": ["a.csv"]}
    table = "\n".join(["seed,step,loss", *lines]).encode("utf-8-sig")
    for seed, found in zip(seeds, read(tmp_path, "a.csv", table, runs=[one]), strict=True):
        course = found.series["loss"]
        assert dict(zip(course.steps, course.values.tolist(), strict=True)) == {
            step: value for (of, step), value in cells.items() if of == seed
        }


# --- kinds of file, paths and sizes -----------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "manifest.yaml"])
def test_a_pipe_is_refused_without_waiting(name: str, tmp_path: Path) -> None:
    write(tmp_path, None if name == "manifest.yaml" else name)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    (line,) = faults(tmp_path)
    assert line.startswith(f"{name}:")
    assert "a pipe or a device; expected a regular file" in line


def test_a_device_or_folder_is_no_file(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "a.csv").mkdir()
    assert faults(tmp_path)[0].startswith("a.csv: cannot be read: Is a directory")
    (tmp_path / "manifest.yaml").unlink()
    (tmp_path / "manifest.yaml").symlink_to("/dev/zero")
    assert "a pipe or a device" in faults(tmp_path)[0]


def test_a_manifest_of_3_gb_is_refused_unread(tmp_path: Path) -> None:
    for name in ("manifest.yaml", "a.csv"):
        write(tmp_path, "a.csv")
        with (tmp_path / name).open("r+b") as file:
            file.truncate(3 * 10**9)
        tracemalloc.start()
        (line,) = faults(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 2**21
        tracemalloc.stop()
        assert line.startswith(f"{name}:")
        assert "3,000,000,000 bytes; expected at most" in line


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("x" * 5_000 + ".csv", "File name too long"),
        ("x/" * 5_000 + "a.csv", "No such file"),
        ("loop.csv", "loop"),
        ("a\0.csv", "control character"),
        ("../a.csv", "expected a file inside the manifest's folder"),
    ],
)
def test_a_path_that_cannot_be_looked_up_is_told(name: str, says: str, tmp_path: Path) -> None:
    one = {"experiment": "good", "seeds": [7], "files": [name]}
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (line,) = faults(write(tmp_path, runs=[one]))
    assert re.match(r"manifest.yaml:1:\d+: runs\[0\].files\[0\]: found ", line)
    assert says in line
    assert len(line) < 300


# --- faults, dates, interruption ------------------------------------------------------------------


@pytest.mark.parametrize(("days", "future"), [(-30, False), (0, False), (1, False), (2, True)])
def test_a_date_in_the_future_is_refused(days: int, future: bool, tmp_path: Path) -> None:
    day = datetime.now(UTC).date() + timedelta(days=days)
    write(tmp_path, "a.csv", b"accuracy\n0.5\n", date=day.isoformat())
    if not future:
        assert read_submission(AUDIT, tmp_path).records
        return
    (line,) = faults(tmp_path)
    assert f"date: found {day}, which is in the future" in line


def test_seeds_and_files_that_the_manifest_does_not_name_are_told(tmp_path: Path) -> None:
    """The defect: six of fourteen seeds in a table were judged, and the page said nothing."""
    rows = [f"{seed},{0.1 + seed / 7}" for seed in range(9)]
    (tmp_path / "more.csv").write_text("seed,accuracy\n")
    table = "\n".join(["seed,accuracy", *rows]).encode()
    runs = [{"experiment": "good", "seeds": [0, 1, 2, 3, 4], "files": ["own.csv"]}]
    said = read_submission(AUDIT, write(tmp_path, "own.csv", table, runs=runs)).remarks
    assert (
        "Rows of seeds that the manifest does not name were not read: own.csv (seeds 5, 6, "
        "7, 8)." in said
    )
    assert "Files beside the manifest that it does not name were not read: more.csv." in said
