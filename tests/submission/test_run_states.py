"""How runs ended: what states, truth values, codes and errors say, and what is advised of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_further_producers import choice, offered
from test_producers import counts, judged, notes, refusal

from reproaudit.errors import AuditError
from reproaudit.logs.logged import on_one_line

SCORES = (0.9, 0.8, 0.7, 0.6, 0.9, 0.4)  # the last lies below what all runs of the baseline have
LEFT_OUT = (5, 5)  # what holds, of how many, if the last run of ours is left out
JUDGED = (5, 6)
UNREAD = (0, 6)  # none can be read, since the curve of one is not whole
LAST = "mapping: {score: {expression: last(v), let: {v: score}}}"


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
@pytest.mark.parametrize("column", ["state", "stop_reason"])
def test_an_ordinary_end_leaves_no_run_out(
    tmp_path: Path, column: str, state: str, others: str
) -> None:
    made = judged(tmp_path, [stated(tmp_path / "runs.json", column, state, others)])
    assert counts(made) == JUDGED
    assert "Not finished" not in notes(made)


@pytest.mark.parametrize(
    ("column", "state", "others", "said"),
    [
        ("state", "ran out of memory", "finished", "ran out of memory"),
        ("state", "stopped", "early_stopped", "stopped"),
        ("completed", False, True, "not completed"),
        ("is_finished", "False", "True", "not finished"),
        ("crashed", True, False, "crashed"),
        ("failed", "true", "", "failed"),
        ("exit_code", 137, 0, "exit_code 137"),
        ("stop_reason", "out of memory", "max_epochs", "out of memory"),
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
    [("error", 0.3, 0.1), ("error", "12 %", None), ("error", "l2", "l2"), ("completed", 0, 1)],
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
    assert counts(judged(tmp_path, [file], LAST)) == right


# --- what is advised ------------------------------------------------------------------------------


def logged(file: Path, number: Callable[[str, int, int], float | None]) -> Path:
    """Write runs of ten steps that end at their scores, with `number` of arm, seed and step."""
    rows = []
    for arm in ("ours", "baseline"):
        for seed, score in enumerate(SCORES):
            for step in range(10):
                factor = number(arm, seed, step)
                if factor is not None:
                    own = score if arm == "ours" else 0.5
                    value = own * factor * (step + 1) / 10
                    rows.append({"arm": arm, "seed": seed, "step": step, "score": value})
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


def is_cut(arm: str, seed: int, step: int) -> float | None:
    return None if (arm, seed) == ("ours", 5) and step > 6 else 1


def ends_in_nan(arm: str, seed: int, step: int) -> float:
    return math.nan if (arm, seed) == ("ours", 5) and step > 6 else 1


@pytest.mark.parametrize(
    ("number", "word", "right"),
    [(is_cut, "crashed or was cut short", LEFT_OUT), (ends_in_nan, "diverged", JUDGED)],
)
def test_how_a_run_ended_is_a_choice_below_the_block(
    tmp_path: Path, number: Any, word: str, right: tuple[int, int]
) -> None:
    """The defect: the block to paste called a bad run crashed, and the claim held."""
    file = logged(tmp_path / "runs.jsonl", number)
    told = refusal(tmp_path, [file])
    block = offered(told)
    assert block.startswith("mapping: {score: {expression: last(v)")
    assert "runs" not in block
    open_answer = judged(tmp_path, [file], block)
    assert counts(open_answer) == UNREAD
    assert "0 of 12 runs given were judged." in notes(open_answer)
    assert counts(judged(tmp_path, [file], f"{block}{choice(told, word)}")) == right


def test_a_run_that_is_whole_is_said_to_be_in_words(tmp_path: Path) -> None:
    file = logged(tmp_path / "runs.jsonl", is_cut)
    whole = judged(tmp_path, [file], f"{LAST}\ncomplete: A patience of 3 ended the run of seed 5.")
    assert counts(whole) == (5, 6)
    for field in ("complete", "one_unit"):
        with pytest.raises(AuditError, match="say in words how it is known"):
            judged(tmp_path, [file], f"{LAST}\n{field}: …")


@pytest.mark.parametrize("function", ["first", "last", "mean", "max", "min"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_before_the_first_number_is_passed_over_and_told(
    tmp_path: Path, function: str, value: float
) -> None:
    file = logged(tmp_path / "runs.jsonl", lambda *run: value if run[2] < 2 else 1)
    made = judged(tmp_path, [file], LAST.replace("last", function))
    assert counts(made) == JUDGED
    said = f"'score' is {value} at step 0 and not finite at 1 more, which {function}(v) passes over"
    assert f"{said}." in notes(made)


def test_a_last_value_tells_what_it_passes_over(tmp_path: Path) -> None:
    file = logged(tmp_path / "runs.jsonl", lambda *run: math.nan if run == ("ours", 1, 4) else 1)
    made = judged(tmp_path, [file], LAST)
    assert counts(made) == JUDGED
    assert "Seeds 1 of 'ours': 'score' is nan at step 4, which last(v) passes over." in notes(made)
    assert counts(judged(tmp_path, [file], LAST.replace("last", "max"))) == UNREAD


def test_each_run_that_may_have_diverged_is_named_and_no_line_is_cut(tmp_path: Path) -> None:
    file = logged(tmp_path / "runs.jsonl", lambda *run: math.nan if run[2] > 7 else 1)
    told = refusal(tmp_path, [file], LAST)
    assert told.count("`") % 2 == 0
    assert "status: diverged}]`, and so of seed 1, 2, 3, 4, 5; else leave the cell empty" in told
    assert "arm ours, seed 0)" in choice(told.partition("empty")[0], "diverged")


@pytest.mark.parametrize("most", range(8, 40))
def test_a_text_is_never_cut_within_a_line_of_a_mapping(most: int) -> None:
    cut = on_one_line("write `runs: [a, b]` or `complete: x`, else nothing", most)
    assert len(cut) <= most
    assert cut.count("`") % 2 == 0
    assert cut.endswith("…")


# --- what is counted ------------------------------------------------------------------------------


@pytest.mark.parametrize("flat", [0.2, 0.3])
def test_files_that_a_rule_ignores_are_counted_and_named(tmp_path: Path, flat: float) -> None:
    """The defect: ignored files with equal numbers were one."""
    for arm in ("ours", "baseline"):
        for seed, score in enumerate(SCORES):
            value = score if arm == "ours" else 0.5
            for name, end in (("score", value), ("loss", flat)):
                file = tmp_path / "logs" / f"{arm}_seed{seed}_{name}.csv"
                file.parent.mkdir(exist_ok=True)
                file.write_text(f"step,value\n0,{flat}\n1,{end}\n", encoding="utf-8")
    rule = 'runs: [{match: "*_loss.csv", ignore: true}]'
    made = judged(tmp_path, [tmp_path / "logs"], f"{LAST.replace('v: score', 'v: value')}\n{rule}")
    assert counts(made) == JUDGED
    assert "12 of 24 runs given were judged." in notes(made)
    assert "Ignored, as the mapping says: logs/baseline_seed0_loss.csv" in notes(made)
