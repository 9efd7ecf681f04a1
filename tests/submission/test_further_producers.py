"""Files of further producers: what their statuses, settings, seeds and copies say."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from test_producers import ARMS, SERIES, counts, judged, notes, refusal


def text(file: Path, written: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(written, encoding="utf-8")
    return file


def table(file: Path, columns: str, rows: Callable[[str, int, float], str]) -> Path:
    """Write a table with a row for each run, as `rows` says of its arm, seed and score."""
    each = [rows(arm, seed, v) for arm, own in ARMS.items() for seed, v in enumerate(own)]
    return text(file, "\n".join([columns, *each]))


# --- what a log says of a run ---------------------------------------------------------------------


@pytest.mark.parametrize("number", ["", "nan"])
def test_a_run_that_its_log_calls_diverged_counts_as_that(tmp_path: Path, number: str) -> None:
    file = table(
        tmp_path / "runs.csv",
        "method,seed,status,score",
        lambda arm, seed, value: (
            f"{arm},{seed},diverged,{number}"
            if (arm, seed) == ("ours", 1)
            else f"{arm},{seed},finished,{value}"
        ),
    )
    assert counts(judged(tmp_path, [file])) == (3, 5)


@pytest.mark.parametrize("columns", ["method,seed,{},score", "method,Name,State,seed,{},score"])
@pytest.mark.parametrize("name", ["lr", "weight_decay", "batch_size"])
def test_a_number_that_a_run_was_started_with_is_a_setting(
    tmp_path: Path, columns: str, name: str
) -> None:
    named = "Name" in columns
    file = table(
        tmp_path / "runs.csv",
        columns.format(name),
        lambda arm, seed, value: ",".join(
            [arm, *([f"{arm}-{seed}", "finished"] if named else []), str(seed)]
            + ["0.1" if (arm, seed) == ("baseline", 2) else "0.001", str(value)]
        ),
    )
    told = refusal(tmp_path, [file])
    assert f"found {name} = 0.1, where" in told or f"found {name} = '0.1'" in told
    assert counts(judged(tmp_path, [file], f"vary: [{name}]")) == (4, 5)


@pytest.mark.parametrize("counted", ["step", "2024-05-01 10:00:0"])
def test_a_schedule_is_no_setting(tmp_path: Path, counted: str) -> None:
    column, written = ("step", "") if counted == "step" else ("date", counted)
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            rows = [f"{written}{step},{0.1 / (1 + step // 5)},{value}" for step in range(9)]
            header = f"{column},lr,score"
            text(tmp_path / "logs" / f"{arm}_seed{seed}.csv", "\n".join([header, *rows]))
    made = judged(tmp_path, [tmp_path / "logs"], "number: [steps]", form=SERIES)
    assert counts(made) == (4, 5)
