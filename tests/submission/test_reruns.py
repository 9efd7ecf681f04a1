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
    assert "found seed 2 of 'baseline' a second time" in told
    (line,) = re.findall(r"`(runs: .*?)`", told)
    assert "line 2" in line
    assert counts(judged(tmp_path, [file], line)) == (4, 5)


def test_points_of_a_run_are_no_runs(tmp_path: Path) -> None:
    rows = [
        f"{arm}-s{seed},finished,{arm},{seed},{step},{value * step}"
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


LAST = 'mapping: {score: {expression: last(v), let: {v: "val/score"}}}'
# --- two files of one run -------------------------------------------------------------------------


def trial(folder: Path, arm: str, seed: int, values: list[float], done: bool = True) -> Path:
    """Write what Ray leaves in the folder of a trial: its results as JSON lines, and as CSV."""
    config = {"algo": arm, "lr": 0.1 * (seed + 1), "seed": seed}
    rows = [
        {"val/score": value, "done": done and n == len(values), "training_iteration": n}
        for n, value in enumerate(values, start=1)
    ]
    own = "".join(json.dumps({**row, "config": config}) + "\n" for row in rows)
    text(folder / "result.json", own)
    columns = [*rows[0], *(f"config/{name}" for name in config)]
    cells = [",".join(map(str, [*row.values(), *config.values()])) for row in rows]
    return text(folder / "progress.csv", "\n".join([",".join(columns), *cells]))


@pytest.mark.parametrize("vary", ["config.lr", "config/lr"])
def test_a_trial_that_is_written_twice_is_one_run(tmp_path: Path, vary: str) -> None:
    for arm, own in ARMS.items():
        for seed, value in enumerate(own):
            folder = tmp_path / "logs" / f"trial_{arm}_{seed}"
            trial(folder, arm, seed, [value / 2, value], done=(arm, seed) != ("baseline", 4))
    made = judged(tmp_path, [tmp_path / "logs"], f"{LAST}\nvary: [{vary}]")
    assert counts(made) == (4, 4)
    assert "8 of 10 runs given were judged." in notes(made)
    assert "Copies of what lies beside them, 9 in all: " in notes(made)


def test_two_folders_of_a_resumed_run_are_joined_as_is_said(tmp_path: Path) -> None:
    def points(folder: str, values: list[float], first: int) -> None:
        each = enumerate(values, start=first)
        rows = [json.dumps({"val/score": v, "step": n}) + "\n" for n, v in each]
        for name in (folder.rpartition("/")[2], "scalars"):
            text(tmp_path / "logs" / folder / "vis_data" / f"{name}.json", "".join(rows))

    for arm, own in ARMS.items():
        for seed, value in enumerate(own):
            if (arm, seed) != ("ours", 2):
                points(f"{arm}_seed{seed}/20240115_100212", [0.1, 0.2, 0.3, value], 1)
    points("ours_seed2/20240115_100212", [0.1, 0.2, 0.9], 1)
    points("ours_seed2/20240116_081501", [0.3, 0.45], 3)
    told = refusal(tmp_path, [tmp_path / "logs"], LAST)
    assert "write in a mapping `overlap: later`" in told
    made = judged(tmp_path, [tmp_path / "logs"], f"{LAST}\noverlap: later")
    assert counts(made) == (3, 5)
    assert "runs given" not in notes(made)
    assert "Joined to the runs that they belong to: " in notes(made)
    assert "the later points hold" in notes(made)


def test_two_finished_runs_are_not_joined(tmp_path: Path) -> None:
    for arm, own in ARMS.items():
        for seed, value in enumerate(own):
            for version in (0, 1)[: 1 + (seed == 2)]:
                text(
                    tmp_path / "logs" / f"{arm}_seed{seed}" / f"version_{version}" / "metrics.csv",
                    f"step,val/score\n1,{value / 2 - version}\n2,{value}\n",
                )
    told = refusal(tmp_path, [tmp_path / "logs"], f"{LAST}\noverlap: later")
    assert "found seed 2 of 'ours' a second time" in told


def test_the_less_whole_of_two_tries_is_offered_to_be_ignored(tmp_path: Path) -> None:
    for arm, own in ARMS.items():
        for seed, value in enumerate(own):
            rows = f"step,score,val\n1,,0.3\n2,,0.4\n3,{value},\n"
            text(tmp_path / "logs" / arm / f"seed_{seed}" / "version_1" / "metrics.csv", rows)
    cut = tmp_path / "logs" / "ours" / "seed_2" / "version_0" / "metrics.csv"
    text(cut, "step,score,val\n1,,0.3\n2,,0.4\n")
    made = judged(tmp_path, [tmp_path / "logs"])
    assert counts(made) == (4, 5)
    assert "Without anything that is wanted: version_0/metrics.csv" in notes(made)
    text(cut, "step,score,val\n1,,0.3\n2,0.1,0.4\n")
    told = refusal(tmp_path, [tmp_path / "logs"])
    (line,) = re.findall(r"`(runs: .*?)`", told)
    assert "version_0" in line
    assert counts(judged(tmp_path, [tmp_path / "logs"], line)) == (4, 5)


# --- files of the end, and of each question -------------------------------------------------------


def best_checkpoints(logs: Path) -> Path:
    """Write what the Trainer leaves that loads its best model at the end."""
    for arm, own in ARMS.items():
        for seed, value in enumerate(own):
            points = [{"step": n, "score": v} for n, v in ((10, value), (20, 0.3))]
            state = {"log_history": points, "global_step": 20, "max_steps": 20}
            home = logs / f"{arm}-seed{seed}"
            text(home / "trainer_state.json", json.dumps(state))
            for name in ("all_results", "eval_results"):
                text(home / f"{name}.json", json.dumps({"epoch": 2.0, "score": value}))
    return logs


def test_the_number_of_the_best_checkpoint_is_offered(tmp_path: Path) -> None:
    logs = best_checkpoints(tmp_path / "logs")
    told = refusal(tmp_path, [logs])
    assert "sums up" not in told
    line = 'mapping: {score: "eval_results.score"}'
    assert f"`{line}`, of the file beside it, as of the best checkpoint" in told
    assert counts(judged(tmp_path, [logs], line)) == (4, 5)
    last = 'mapping: {score: {expression: last(v), let: {v: "score"}}}'
    assert counts(judged(tmp_path, [logs], last)) == (0, 5)


def test_rows_of_questions_are_no_seeds(tmp_path: Path) -> None:
    for arm, own in ARMS.items():
        folder = tmp_path / "results" / f".__out__{arm}"
        for seed, value in enumerate(own):
            tree = {"results": {"arc": {"score,none": value}}, "config": {"random_seed": seed}}
            text(folder / f"results_2024-05-2{seed}.json", json.dumps(tree))
            rows = [json.dumps({"doc_id": n, "score": n % 2}) + "\n" for n in range(6)]
            text(folder / f"samples_arc_2024-05-2{seed}.jsonl", "".join(rows))
    told = refusal(tmp_path, [tmp_path / "results"])
    assert 'mapping: {score: "results.arc.score,none"}' in told
    seeds = "number: [seeds]"
    assert "results.arc.score,none" in refusal(tmp_path, [tmp_path / "results"], seeds)
    mapping = f'mapping: {{score: "results.arc.score,none"}}\n{seeds}'
    made = judged(tmp_path, [tmp_path / "results"], mapping)
    assert counts(made) == (4, 5)
    assert "a row for each doc_id, which is no run" in notes(made)


# --- a table that is a run ------------------------------------------------------------------------


def test_a_study_is_a_run_though_a_trial_failed(tmp_path: Path) -> None:
    columns = "number,value,datetime_start,params_lr,params_kind,state"
    for arm, own in ARMS.items():
        for seed, best in enumerate(own):
            rows = [
                f"{n},{'' if n == 2 else best + n % 3 / 10},2024-01-02 10:0{n}:01,{n / 7},a{n % 2},"
                f"{'FAIL' if n == 2 else 'COMPLETE'}"
                for n in range(6)
            ]
            text(tmp_path / "studies" / f"{arm}_seed{seed}.csv", "\n".join([columns, *rows]))
    least = "mapping: {score: {expression: min(v), let: {v: value}}}"
    told = refusal(tmp_path, [tmp_path / "studies"], least)
    line = "columns: {settings: []}"
    assert f"`{line}`" in told
    made = judged(tmp_path, [tmp_path / "studies"], f"{least}\n{line}")
    assert counts(made) == (4, 5)
    assert "runs given" not in notes(made)
    assert "trials that failed were passed over: line 4 (FAIL)" in notes(made)
    step = "columns: {step: number, settings: []}"
    assert counts(judged(tmp_path, [tmp_path / "studies"], f"{least}\n{step}")) == (4, 5)
