"""What a refusal offers is accepted when it is pasted, and leads to the right answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from test_further_producers import offered, text
from test_producers import ARMS, SCALAR, counts, judged, refusal

from reproaudit.service.judge import Judged

RUNS = [(arm, seed, value) for arm, own in ARMS.items() for seed, value in enumerate(own)]


def led(folder: Path, logs: Sequence[Path], mapping: str = "{}", form: str = SCALAR) -> Judged:
    """Return what is judged once the lines that the refusal prints stand in the mapping."""
    lines = offered(refusal(folder, logs, mapping, form))
    return judged(folder, logs, lines, form)


# --- lists in rows with a seed --------------------------------------------------------------------


def listed(folder: Path, points: int, values: str = "score", steps: str = "") -> Path:
    """Write a row for each run with a list of its points, which end at its value."""
    rows = []
    for arm, seed, value in RUNS:
        row: dict[str, Any] = {"method": arm, "seed": seed}
        row |= {steps: [10 * n for n in range(points)]} if steps else {}
        row[values] = [value * (n + 1) / points for n in range(points)]
        rows.append(row)
    return text(folder / "runs.json", json.dumps(rows))


@pytest.mark.parametrize("points", [2, 6, 20])
@pytest.mark.parametrize("steps", ["", "steps", "epochs", "xs", "t", "iterations"])
@pytest.mark.parametrize("given", ["{}", "number: [seeds]"])
def test_a_list_in_a_row_with_a_seed_is_a_course(
    tmp_path: Path, points: int, steps: str, given: str
) -> None:
    file = listed(tmp_path, points, steps=steps)
    lines = offered(refusal(tmp_path, [file], given))
    assert (f"columns: {{step: {steps}}}" in lines.replace('"', "")) is bool(steps)
    made = judged(tmp_path, [file], lines)
    assert counts(made) == (4, 5)


def test_a_list_of_another_name_beside_a_list_of_steps(tmp_path: Path) -> None:
    assert counts(led(tmp_path, [listed(tmp_path, 6, "values", "steps")])) == (4, 5)


def test_points_below_a_seed_that_the_mapping_names_are_a_course(tmp_path: Path) -> None:
    file = listed(tmp_path, 6, steps="steps")
    file.write_text(file.read_text().replace('"seed"', '"draw"'))
    lines = offered(refusal(tmp_path, [file], "columns: {seed: draw}"))
    assert counts(judged(tmp_path, [file], lines)) == (4, 5)


def test_a_course_of_each_seed_in_rows_is_no_seeds(tmp_path: Path) -> None:
    rows = ["method,seed,score"]
    rows += [f"{arm},{n},{v * (k + 1) / 20}" for arm, n, v in RUNS for k in range(20)]
    file = text(tmp_path / "runs.csv", "\n".join(rows))
    told = refusal(tmp_path, [file], "number: [seeds]")
    assert "as a training logs them" in told
    assert counts(judged(tmp_path, [file], offered(told))) == (4, 5)


def test_rows_beside_a_column_that_is_called_as_steps_are_counted_by_it(tmp_path: Path) -> None:
    rows = ["method,seed,epochs,score"]
    rows += [f"{arm},{n},{k},{v * (k + 1) / 4}" for arm, n, v in RUNS for k in range(4)]
    made = led(tmp_path, [text(tmp_path / "runs.csv", "\n".join(rows))])
    assert counts(made) == (4, 5)
