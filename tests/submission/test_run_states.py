"""How runs ended: what states, truth values, codes and errors say, and what is advised of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_producers import counts, judged, notes

SCORES = (0.9, 0.8, 0.7, 0.6, 0.9, 0.4)  # the last lies below what all runs of the baseline have
LEFT_OUT = (5, 5)  # what holds, of how many, if the last run of ours is left out
JUDGED = (5, 6)


def stated(file: Path, column: str, state: Any, others: Any) -> Path:
    """Write runs in rows of which the last of ours has another state than all others."""
    rows = [
        {"arm": arm, "seed": seed, "score": score if arm == "ours" else 0.5, column: others}
        for arm in ("ours", "baseline")
        for seed, score in enumerate(SCORES)
    ]
    rows[5][column] = state
    file.write_text(json.dumps(rows), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "state",
    [
        "early stopping",
        "early_stopped",
        "EarlyStopping",
        "stopped early",
        "max_epochs",
        "Completed",
    ],
)
@pytest.mark.parametrize("others", ["finished", "early_stopped"])
def test_an_ordinary_end_leaves_no_run_out(tmp_path: Path, state: str, others: str) -> None:
    made = judged(tmp_path, [stated(tmp_path / "runs.json", "state", state, others)])
    assert counts(made) == JUDGED
    assert "Not finished" not in notes(made)


@pytest.mark.parametrize(
    ("column", "state", "others", "said"),
    [
        ("state", "ran out of memory", "finished", "ran out of memory"),
        ("state", "stopped", "early_stopped", "stopped"),
        ("completed", False, True, "not completed"),
        ("is_finished", 0, 1, "not finished"),
        ("crashed", True, False, "crashed"),
        ("failed", "true", "", "failed"),
        ("exit_code", 137, 0, "exit_code 137"),
        ("error", "CUDA out of memory", None, "CUDA out of memory"),
        ("error_message", "ValueError: found 3 heads", "", "ValueError: found 3 heads"),
    ],
)
def test_what_says_that_a_run_failed_is_quoted_whole(
    tmp_path: Path, column: str, state: Any, others: Any, said: str
) -> None:
    made = judged(tmp_path, [stated(tmp_path / "runs.json", column, state, others)])
    assert counts(made) == LEFT_OUT
    assert f"Not finished, and left out: arm ours, seed 5: {said}." in notes(made)


@pytest.mark.parametrize(
    ("column", "state", "others"),
    [("state", "NaN loss", "finished"), ("state", "diverged", "done"), ("diverged", 1, 0)],
)
def test_a_state_may_say_that_a_run_diverged(
    tmp_path: Path, column: str, state: Any, others: Any
) -> None:
    made = judged(tmp_path, [stated(tmp_path / "runs.json", column, state, others)])
    assert counts(made) == JUDGED
    assert made.scorecard.claims[0].base.diverged == 1


@pytest.mark.parametrize(
    ("column", "state", "others"),
    [("error", 0.3, 0.1), ("error", "12 %", None), ("error", "l2", "l2"), ("crashed", 3, 2)],
)
def test_a_measured_number_or_a_loss_says_nothing_of_a_runs_end(
    tmp_path: Path, column: str, state: Any, others: Any
) -> None:
    made = judged(tmp_path, [stated(tmp_path / "runs.json", column, state, others)])
    assert counts(made) == JUDGED


@pytest.mark.parametrize(("last", "right"), [(True, JUDGED), (False, LEFT_OUT)])
def test_the_last_row_of_a_log_says_how_its_run_ended(
    tmp_path: Path, last: bool, right: tuple[int, int]
) -> None:
    rows = [
        {"arm": arm, "seed": seed, "step": step, "score": score, "finished": step == 3}
        for arm in ("ours", "baseline")
        for seed, own in enumerate(SCORES)
        for step, score in enumerate([0.1, 0.2, 0.3, own if arm == "ours" else 0.5])
    ]
    rows[23]["finished"] = last
    file = tmp_path / "runs.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    last_value = "mapping: {score: {expression: last(v), let: {v: score}}}"
    assert counts(judged(tmp_path, [file], last_value)) == right
