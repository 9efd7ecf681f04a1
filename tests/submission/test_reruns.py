"""Second tries, resumed runs and copies: which files and rows are runs, and which counts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from test_further_producers import table, text
from test_producers import ARMS, counts, judged, notes, refusal

# --- rows that are runs ---------------------------------------------------------------------------

RUNS = "Name,State,Created,method,seed,global_step,score"
FIRST = "baseline-s2,{state},2024-03-02,baseline,2,900,0.95"


def runs_table(file: Path, state: str) -> Path:
    """Write W&B's table of runs with a first try of the baseline's seed 2 above the others."""
    table(file, RUNS, lambda a, s, v: f"{a}-s{s},finished,2024-03-01,{a},{s},1000,{v}")
    lines = file.read_text().splitlines()
    return text(file, "\n".join([lines[0], FIRST.format(state=state), *lines[1:]]))


def test_of_a_crashed_try_and_its_rerun_the_finished_counts(tmp_path: Path) -> None:
    made = judged(tmp_path, [runs_table(tmp_path / "runs.csv", "crashed")])
    assert counts(made) == (4, 5)
    assert "10 of 11 runs given were judged." in notes(made)
    assert "Not finished, and left out: baseline-s2, method baseline, seed 2, line 2" in notes(made)
    assert "Void" not in notes(made)


def test_two_finished_runs_of_a_seed_are_refused_with_a_line(tmp_path: Path) -> None:
    file = runs_table(tmp_path / "runs.csv", "finished")
    told = refusal(tmp_path, [file])
    assert "found seed 2 of 'runs' with arm = 'baseline' a second time" in told
    (line,) = re.findall(r"`(runs: .*?)`", told)
    assert "line 2" in line
    assert counts(judged(tmp_path, [file], line)) == (4, 5)


def test_points_of_a_run_are_no_runs(tmp_path: Path) -> None:
    rows = [
        f"{arm}-s{seed},{'running' if step < 3 else 'finished'},{arm},{seed},{step},{value * step}"
        for arm, own in ARMS.items()
        for seed, value in enumerate(own)
        for step in (1, 2, 3)
    ]
    file = text(tmp_path / "h.csv", "\n".join(["Name,State,method,seed,step,score", *rows]))
    assert counts(judged(tmp_path, [file], form="every_step: []")) == (4, 5)


# --- rows that sum others up ----------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["columns: {seed: Lauf}", "number: [seeds]"])
def test_a_row_with_a_word_for_its_number_sums_others_up(tmp_path: Path, columns: str) -> None:
    file = table(
        tmp_path / "Ergebnisse.csv", "Methode;Lauf;Wert", lambda a, s, v: f"{a};{s + 1};{v}"
    )
    lines = file.read_text().replace(".", ",").splitlines()
    means = [f"{arm};Mittelwert;{sum(v) / 5}".replace(".", ",") for arm, v in ARMS.items()]
    text(file, "\n".join([*lines[:6], *means[:1], *lines[6:], *means[1:], ";;", ";;"]))
    made = judged(tmp_path, [file], f"mapping: {{score: Wert}}\n{columns}")
    assert counts(made) == (4, 5)
    assert "rows that sum others up were passed over: Mittelwert, Mittelwert" in notes(made)


def test_a_measured_word_is_no_summary(tmp_path: Path) -> None:
    file = text(tmp_path / "r.csv", "method,seed,score\nours,0,1\nours,1,2\nbaseline,0,never\n")
    assert "found 'never', no number" in refusal(tmp_path, [file])
