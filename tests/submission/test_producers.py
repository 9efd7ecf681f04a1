"""Files as their producers leave them: the right answer, or the line that leads to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import encoders
import pytest

from reproaudit.audit.loading import load_audit
from reproaudit.errors import AuditError
from reproaudit.report.terminal import report_lines
from reproaudit.service.judge import Judged, judge_logs

AUDIT = """\
schema_version: 3
paper: {{slug: producers, title: Producers, year: 2024, read: {{text: abstract}}}}
method: ours
measurements: {{score: {{{form}, says: The score.}}}}
claims:
  main:
    says: Ours has the higher score.
    holds_if: [{{kind: beats, value: score, arm: baseline, higher: true, from: paper}}]
"""
SERIES = "every_step: []"
SCALAR = "once: []"
OURS = (0.9, 0.8, 0.7, 0.6, 0.4)
BASELINE = (0.5, 0.5, 0.5, 0.5, 0.5)
ARMS = {"ours": OURS, "baseline": BASELINE}


def judged(folder: Path, logs: Sequence[Path], mapping: str = "{}", form: str = SCALAR) -> Judged:
    audit = folder / "producers.yaml"
    audit.write_text(AUDIT.format(form=form), encoding="utf-8")
    stated = folder / "mapping.yaml"
    stated.write_text(mapping, encoding="utf-8")
    return judge_logs(load_audit(audit), list(logs), stated)


def counts(made: Judged) -> tuple[int, int]:
    """Return the runs that say yes, and those that say anything."""
    (claim,) = made.scorecard.claims
    return claim.base.yes, claim.base.n


def notes(made: Judged) -> str:
    assert made.logs is not None
    return "\n".join(made.logs.lines)


def refusal(folder: Path, logs: Sequence[Path], mapping: str = "{}", form: str = SCALAR) -> str:
    with pytest.raises(AuditError) as error:
        judged(folder, logs, mapping, form)
    return str(error.value)


# --- the files of one run's folder ----------------------------------------------------------------


def trainer_folders(logs: Path) -> list[Path]:
    """Write what Hugging Face's Trainer leaves: its state, a checkpoint's, and summaries."""
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            home = logs / f"{arm}-seed{seed}"
            (home / "checkpoint-10").mkdir(parents=True)
            steps = [{"step": 10, "score": value / 2}, {"step": 20, "score": value}]
            for folder, reached in ((home / "checkpoint-10", 10), (home, 20)):
                state = {"log_history": steps, "global_step": reached, "max_steps": 20}
                (folder / "trainer_state.json").write_text(json.dumps(state))
            end = {"epoch": 2.0, "score": value}
            (home / "all_results.json").write_text(json.dumps(end))
            (home / "eval_results.json").write_text(json.dumps(end))
            (home / "config.json").write_text('{"hidden_size": 768}')
    return sorted(logs.iterdir())


def test_summaries_beside_a_log_are_no_runs_of_their_own(tmp_path: Path) -> None:
    trainer_folders(tmp_path / "logs")
    made = judged(tmp_path, [tmp_path / "logs"], form=SERIES)
    assert counts(made) == (4, 5)
    assert "(sums up trainer_state.json beside it)" in notes(made)
    assert "runs given" not in notes(made)


@pytest.mark.parametrize("name", ["trainer_state.json", "all_results.json"])
def test_files_by_hand_have_the_seeds_of_their_folders(tmp_path: Path, name: str) -> None:
    files = [home / name for home in trainer_folders(tmp_path / "logs")]
    made = judged(tmp_path, files, form=SERIES if name == "trainer_state.json" else SCALAR)
    assert counts(made) == (4, 5)


def test_what_a_summary_alone_has_is_its_logs(tmp_path: Path) -> None:
    for home in trainer_folders(tmp_path / "logs"):
        value = ARMS[home.name.partition("-")[0]][int(home.name[-1])]
        (home / "test_results.json").write_text(json.dumps({"test_score": value, "epoch": 2.0}))
    made = judged(tmp_path, [tmp_path / "logs"], "mapping: {score: test_score}")
    assert counts(made) == (4, 5)


def test_no_advice_leaves_both_logs_of_a_run_out(tmp_path: Path) -> None:
    for home in trainer_folders(tmp_path / "logs"):
        for summary in home.glob("*_results.json"):
            summary.unlink()
        encoders.event_file(home / "a.tfevents.1", {"score": [(10, 0.1), (20, 0.2)]})
    told = refusal(tmp_path, [tmp_path / "logs"], form=SERIES)
    both = "ours-seed0/a.tfevents.1, ours-seed0/trainer_state.json"
    assert f"Both are called so: hand in one of {both} alone." in told
    assert "ignore" not in told


# --- nested rows, and rows that sum others up -----------------------------------------------------


@pytest.mark.parametrize("beside", [{"conclusion": {"ours": 0.9, "baseline": 0.5}}, {"best": 0.9}])
@pytest.mark.parametrize("tag", ["metrics.test.score", "test.score"])
def test_rows_whose_seed_stands_in_their_settings(
    tmp_path: Path, beside: dict[str, object], tag: str
) -> None:
    rows = [
        {"config": {"algo": arm, "seed": seed}, "metrics": {"test": {"score": value}}}
        for arm, values in ARMS.items()
        for seed, value in enumerate(values)
    ]
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"task": "reproduce", "results": rows, **beside}))
    made = judged(tmp_path, [file], f"mapping: {{score: {tag}}}")
    assert counts(made) == (4, 5)
    assert "numbers of no run were passed over: " in notes(made)


GERMAN = """\
Verfahren;Lauf;Startwert;score;Laufzeit (s);Datum
ours;1;0;92,40 %;1.203,5;01.03.2024
ours;2;1;92,15 %;1.199,0;02.03.2024
ours;3;2;91,00 %;999,5;03.03.2024
baseline;4;0;91,20 %;1.210,2;01.03.2024
baseline;5;1;90,85 %;1.188,7;02.03.2024
baseline;6;2;91,05 %;2.403,1;03.03.2024
Mittelwert ours;;;91,85 %;1.134,0;
Mittelwert baseline;;;91,03 %;1.600,6;
"""


def test_a_german_table_with_rows_of_means(tmp_path: Path) -> None:
    file = tmp_path / "Ergebnisse.csv"
    file.write_text(GERMAN, encoding="utf-8-sig")
    made = judged(tmp_path, [file], "columns: {seed: Startwert}")
    assert counts(made) == (2, 3)
    passed = "line 8 (Mittelwert ours), line 9 (Mittelwert baseline)"
    assert f"rows without a seed were passed over: {passed}" in notes(made)
    assert "'score' was logged in per cent and divided by 100" in notes(made)
    assert "ignored tags: Datum, Lauf, Laufzeit (s)" in notes(made)


def test_rows_without_a_seed_that_have_steps_are_not_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "ours.jsonl"
    rows = [{"seed": 0, "step": 0, "score": 0.1}, {"step": 1, "score": 0.2}]
    file.write_text("\n".join(map(json.dumps, rows)))
    assert "found the seed 'None'; expected a whole number" in refusal(tmp_path, [file])


# --- runs that crashed, or end early --------------------------------------------------------------


@pytest.mark.parametrize("arm", ["ours", "baseline"])
@pytest.mark.parametrize(("seeds", "right"), [(6, (5, 5, "supported")), (5, (4, 4, "undecided"))])
def test_a_crash_of_either_arm_is_void_and_the_others_decide(
    tmp_path: Path, arm: str, seeds: int, right: tuple[int, int, str]
) -> None:
    rows = [
        f"{name},{seed},{'crashed' if (name, seed) == (arm, 2) else 'finished'},{value}"
        for name, value in (("ours", 0.9), ("baseline", 0.5))
        for seed in range(seeds)
    ]
    file = tmp_path / "runs.csv"
    file.write_text("\n".join(["method,seed,state,score", *rows]))
    made = judged(tmp_path, [file])
    (claim,) = made.scorecard.claims
    assert (*counts(made), str(claim.outcome)) == right
    role = "'ours'" if arm == "ours" else "'baseline'"
    assert f"Void, since the run of {role} did not finish: seed 2." in notes(made)


def ray_trials(logs: Path, done: bool, error: bool) -> Path:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            home = logs / f"{arm}_{seed}"
            home.mkdir(parents=True)
            (home / "params.json").write_text(json.dumps({"algo": arm, "seed": seed}))
            cut = (arm, seed) == ("baseline", 4)
            steps = range(1, 3 if cut else 6)
            ended = done or not cut
            rows = [
                {"training_iteration": n, "score": value * n, "done": ended and n == steps[-1]}
                for n in steps
            ]
            (home / "result.json").write_text("\n".join(map(json.dumps, rows)))
            if cut and error:
                (home / "error.txt").write_text("ray.exceptions.OutOfMemoryError")
    return logs


@pytest.mark.parametrize(("error", "said"), [(True, "unfinished; crashed"), (False, "unfinished")])
def test_a_trial_that_did_not_end_is_left_out(tmp_path: Path, error: bool, said: str) -> None:
    made = judged(tmp_path, [ray_trials(tmp_path / "logs", False, error)], form=SERIES)
    assert counts(made) == (4, 4)
    assert f"Not finished, and left out: baseline_4/result.json: {said}." in notes(made)
    assert "8 of 10 runs given were judged." in notes(made)


def test_a_trial_that_was_cut_short_is_never_called_diverged(tmp_path: Path) -> None:
    made = judged(tmp_path, [ray_trials(tmp_path / "logs", True, False)], form=SERIES)
    way = '`runs: [{match: "*baseline_4/result.json", status: crashed}]`'
    assert way in notes(made)
    assert "diverged" not in notes(made)
    again = judged(tmp_path, [tmp_path / "logs"], way.strip("`"), form=SERIES)
    assert counts(again) == (4, 4)


def test_void_runs_are_counted_in_what_is_missing(tmp_path: Path) -> None:
    rows = [f"{arm},{seed},{value}" for arm in ARMS for seed, value in enumerate([0.9, 0.8, 0.7])]
    rows[3:] = [row.replace("0.", "0.1") for row in rows[3:]]
    file = tmp_path / "runs.csv"
    file.write_text("\n".join(["method,seed,score", *rows, "ours,3,0.9", "baseline,3,"]))
    made = judged(tmp_path, [file])
    (claim,) = made.scorecard.claims
    assert (claim.base.yes, claim.base.n, claim.base.void) == (3, 4, 1)
    (reason,) = claim.reasons
    # 7 of 8 decide, and 4 of 5 do not
    assert (str(reason.kind), reason.runs) == ("too few", 4)


def keras(folder: Path) -> Path:
    folder.mkdir()
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            length = 20 if arm == "ours" else 12 + 2 * seed
            rows = [f"{n},{value * n / (length - 1)}" for n in range(length)]
            (folder / f"{arm}_seed{seed}.csv").write_text("\n".join(["epoch,score", *rows]))
    return folder


def test_early_stopping_is_compared_by_last_values_as_the_line_says(tmp_path: Path) -> None:
    logs = keras(tmp_path / "logs")
    complete = "complete: EarlyStopping ended the runs of the baseline."
    made = judged(tmp_path, [logs], complete, form=SERIES)
    assert "score: 12 to 20 points in each run" in notes(made)
    assert "To compare their last values, write `score: {once: []}`" in notes(made)
    way = 'mapping: {score: {expression: last(v), let: {v: "score"}}}'
    assert f"`{way}`" in notes(made)
    assert "write `once: []` for `every_step: []`" in refusal(tmp_path, [logs], way, SERIES)
    assert counts(judged(tmp_path, [logs], f"{complete}\n{way}")) == (4, 5)
    said = "one ends at less than 95 % of the other's length in 4 of 5"
    assert said in " ".join(" ".join(report_lines(made.scorecard)).split())


# --- what is counted and named --------------------------------------------------------------------


def test_files_that_are_no_runs_are_not_counted_as_given(tmp_path: Path) -> None:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            home = tmp_path / "logs" / f"{arm}_seed{seed}"
            home.mkdir(parents=True)
            rows = "\n".join(["step,score,loss", *(f"{n},{value * n},{n}" for n in range(4))])
            (home / "progress.csv").write_text(rows)
            (home / "copy.csv").write_text(rows)
            (home / "monitor.csv").write_text("r,l\n1,2\n3,4\n")
    ignored = [f'{{match: "{name}.csv", ignore: true}}' for name in ("monitor", "copy")]
    made = judged(tmp_path, [tmp_path / "logs"], f"runs: [{', '.join(ignored)}]", SERIES)
    assert counts(made) == (4, 5)
    assert "runs given" not in notes(made)
    more = [*ignored, '{match: "*ours_seed4/progress.csv", ignore: true}']
    made = judged(tmp_path, [tmp_path / "logs"], f"runs: [{', '.join(more)}]", SERIES)
    assert "9 of 10 runs given were judged." in notes(made)


def test_what_a_status_was_read_from_was_read(tmp_path: Path) -> None:
    for number, (arm, seed) in enumerate((arm, seed) for arm in ARMS for seed in range(3)):
        home = tmp_path / "runs" / str(number)
        home.mkdir(parents=True)
        value = ARMS[arm][seed]
        metric = {"steps": [1, 2], "values": [value / 2, value], "timestamps": ["", ""]}
        (home / "metrics.json").write_text(json.dumps({"score": metric}))
        (home / "config.json").write_text(json.dumps({"model": arm, "seed": seed}))
        (home / "run.json").write_text(json.dumps({"status": "COMPLETED", "result": value}))
    made = judged(tmp_path, [tmp_path / "runs"], form=SERIES)
    assert counts(made) == (3, 3)
    assert "run.json" not in notes(made)


# --- arms that one setting tells ------------------------------------------------------------------


def test_an_arm_that_null_tells(tmp_path: Path) -> None:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            home = tmp_path / "logs" / f"2024{len(arm)}{seed}"
            home.mkdir(parents=True)
            (home / "summary.csv").write_text(f"epoch,score\n0,{value / 2}\n1,{value}\n")
            aa = "rand-m9" if arm == "ours" else "null"
            (home / "args.yaml").write_text(f"aa: {aa}\nresume: null\nseed: {seed}\n")
    told = refusal(tmp_path, [tmp_path / "logs"], form=SERIES)
    way = 'arms: {ours: "rand-m9", baseline: null}'
    assert f"`{way}`" in told
    assert counts(judged(tmp_path, [tmp_path / "logs"], way, SERIES)) == (4, 5)


# --- long tables and text logs --------------------------------------------------------------------


def test_a_long_table_with_the_context_of_each_number(tmp_path: Path) -> None:
    head = "run.hash,run.name,hparams.method,hparams.seed,metric.name,metric.context.subset"
    rows = [
        f"{arm}{seed},Run: {seed},{arm},{seed},{name},{subset},{step},{value * step + shift}"
        for arm, values in ARMS.items()
        for seed, value in enumerate(values)
        for name, subset, shift in (("score", "train", 1 - value * 2), ("score", "val", 0))
        for step in (1, 2)
    ]
    rows += [f"ours0,Run: 0,ours,0,loss,train,{step},0.1" for step in (1, 2)]
    file = tmp_path / "metrics.csv"
    file.write_text("\n".join([f"{head},step,value", *rows]))
    told = refusal(tmp_path, [file], form=SERIES)
    assert told.count("\n") == 0
    assert "found the tags score.train, score.val, loss.train; expected score." in told
    assert "vary" not in told
    made = judged(tmp_path, [file], "mapping: {score: score.val}", SERIES)
    assert counts(made) == (4, 5)


def megatron(value: float) -> str:
    lines = [
        f" [2024-02-01 10:0{n}:11] iteration {n}0/ 50 | consumed samples: 25 | lm loss: 9.0E+00 |\n"
        "-----------------------\n"
        f" validation loss at iteration {n}0 | score: {value * n:.6E} | lm loss PPL: 1.7E+02 | \n"
        for n in range(1, 6)
    ]
    return "\n".join(["using world size: 8", "  train_iters .......... 50", *lines])


def fairseq(value: float) -> str:
    lines = [
        f'2023-05-01 10:0{n}:00 | INFO | train_inner | {{"epoch": {n}, "loss": "5.1"}}\n'
        f'2023-05-01 10:0{n}:30 | INFO | valid | {{"epoch": {n}, "score": "{value * n}"}}'
        for n in range(1, 6)
    ]
    return "\n".join(["2023-05-01 10:00:00 | INFO | train | {'common': {'seed': 7}}", *lines])


@pytest.mark.parametrize("written", [megatron, fairseq])
def test_text_logs_with_numbers_by_name(tmp_path: Path, written: Any) -> None:
    (tmp_path / "logs").mkdir()
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            (tmp_path / "logs" / f"{arm}_seed{seed}.log").write_text(written(value))
    made = judged(tmp_path, [tmp_path / "logs"], form=SERIES)
    assert counts(made) == (4, 5)
    assert "score: 5 points in each run" in notes(made)
    # beside a table it is no run of its own
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            rows = [f"{n},{value * n}" for n in range(1, 6)]
            table = "\n".join(["epoch,score", *rows])
            (tmp_path / "logs" / f"{arm}_seed{seed}.csv").write_text(table)
    made = judged(tmp_path, [tmp_path / "logs"], form=SERIES)
    assert counts(made) == (4, 5)
    assert "'ours', from table: seeds 0, 1, 2, 3, 4" in notes(made)
    assert "text beside other logs" in notes(made)


def test_a_latex_table_is_asked_for_by_run(tmp_path: Path) -> None:
    (tmp_path / "table.tex").write_text(r"\begin{tabular}{lr} ours & 0.9 \\ \end{tabular}")
    assert "write it as CSV: a row for each run" in refusal(tmp_path, [tmp_path])


def test_files_that_are_called_alike_are_counted(tmp_path: Path) -> None:
    for home in trainer_folders(tmp_path / "logs"):
        (home / "code").mkdir()
        (home / "code" / "config.py").write_text("lr = 0.1")
    made = judged(tmp_path, [tmp_path / "logs"], form=SERIES)
    assert "Passed over among the logs: " in notes(made)
    assert "10 files code/config.py (no log)" in notes(made)


@pytest.mark.parametrize("name", ["{arm}_seed{seed}.json", "{arm}_{seed}.json"])
def test_a_course_below_its_runs_seed(tmp_path: Path, name: str) -> None:
    (tmp_path / "logs").mkdir()
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            points = [{"epoch": n, "score": value * n} for n in (1, 2, 3)]
            tree = {"config": {"seed": seed}, "history": points, "minutes": 3}
            file = tmp_path / "logs" / name.format(arm=arm, seed=seed)
            file.write_text(json.dumps(tree))
    made = judged(tmp_path, [tmp_path / "logs"], form=SERIES)
    assert counts(made) == (4, 5)
    assert "Numbers of no run were passed over: minutes." in notes(made)


# --- the last value of a run that was cut short ---------------------------------------------------


def cut_courses(folder: Path, points: Sequence[int]) -> Path:
    """Write a table a run over so many epochs of 20, those of ours as stated, with its settings."""
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            home = folder / f"{arm}_seed{seed}"
            home.mkdir(parents=True)
            length = points[seed] if arm == "ours" else 20
            rows = [f"{n},{value * n / 20}" for n in range(1, length + 1)]
            (home / "results.csv").write_text("\n".join(["epoch,score", *rows]))
            (home / "args.yaml").write_text("epochs: 20\npatience: 100\n")
    return folder


@pytest.mark.parametrize("function", ["last", "max", "mean"])
def test_a_value_of_a_course_that_was_cut_is_left_out(tmp_path: Path, function: str) -> None:
    logs = cut_courses(tmp_path / "logs", (20, 20, 20, 11, 20))
    way = f"mapping: {{score: {{expression: {function}(v), let: {{v: score}}}}}}"
    made = judged(tmp_path, [logs], way)
    assert "none of 5 can be read" in " ".join(report_lines(made.scorecard))
    said = "seed 3: 'score': it ends at step 11, and the configuration says epochs = 20"
    assert said in notes(made)
    rule = 'runs: [{match: "*ours_seed3/results.csv", status: crashed}]'
    assert f"`{rule}`" in notes(made)
    assert counts(judged(tmp_path, [logs], f"{way}\n{rule}")) == (3, 4)
    assert counts(judged(tmp_path, [logs], f"{way}\ncomplete: It is all.")) == (3, 5)


@pytest.mark.parametrize("states_epochs", [True, False])
def test_a_course_shorter_than_the_others_of_its_role_is_no_end(
    tmp_path: Path, states_epochs: bool
) -> None:
    logs = cut_courses(tmp_path / "logs", (20, 20, 20, 1, 20))
    for file in logs.glob("*/args.yaml"):
        file.write_text("patience: 1\nepochs: 20\n" if states_epochs else "patience: 1\n")
    way = "mapping: {score: {expression: last(v), let: {v: score}}}"
    made = judged(tmp_path, [logs], way)
    assert counts(made)[0] == 0
    assert "lacks 19 of the 20 steps that the seeds have together" in notes(made)


def test_numbers_that_nothing_but_the_start_makes_need_no_end(tmp_path: Path) -> None:
    logs = cut_courses(tmp_path / "logs", (20, 20, 20, 19, 12))
    for file in logs.glob("*/args.yaml"):
        file.unlink()
    first = "mapping: {score: {expression: first(v), let: {v: score}}}"
    assert counts(judged(tmp_path, [logs], first)) == (4, 5)


def test_one_value_a_run_is_no_course(tmp_path: Path) -> None:
    logs = cut_courses(tmp_path / "logs", (20, 20, 20, 11, 20))
    for file in logs.glob("*/results.csv"):
        header, *_, last = file.read_text().splitlines()
        file.write_text(f"{header}\n{last}")
        (file.parent / "args.yaml").unlink()
    way = "mapping: {score: {expression: last(v), let: {v: score}}}"
    assert counts(judged(tmp_path, [logs], way)) == (3, 5)


# --- a table as pandas writes it ------------------------------------------------------------------

FRAME = [
    {"seed": seed, "optimizer": arm, "score": value}
    for arm, values in ARMS.items()
    for seed, value in enumerate(values)
]


def by_column(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {name: {str(n): row[name] for n, row in enumerate(rows)} for name in rows[0]}


@pytest.mark.parametrize(
    "tree",
    [
        by_column(FRAME),
        by_column([*FRAME, {"seed": "mean", "optimizer": "ours", "score": 0.68}]),
        {str(n): row for n, row in enumerate(FRAME)},
        {
            "columns": ["seed", "optimizer", "score"],
            "index": [*range(10)],
            "data": [[*row.values()] for row in FRAME],
        },
    ],
)
def test_a_table_as_pandas_writes_it_is_one(tmp_path: Path, tree: dict[str, Any]) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(tree))
    assert counts(judged(tmp_path, [file])) == (4, 5)


def test_numbers_by_seed_of_each_arm_are_no_table(tmp_path: Path) -> None:
    tree = {arm: {str(n): value for n, value in enumerate(values)} for arm, values in ARMS.items()}
    file = tmp_path / "results.json"
    file.write_text(json.dumps(tree))
    assert counts(judged(tmp_path, [file], 'mapping: {score: "{arm}.{seed}"}')) == (4, 5)


# --- folders of folds, and what sums them up ------------------------------------------------------


def folds(logs: Path, summary: str) -> Path:
    for arm, values in ARMS.items():
        numbers = {f"fold_{n}/validation/summary.json": value for n, value in enumerate(values)}
        for name, value in {**numbers, summary: sum(values) / 5}.items():
            file = logs / f"plans__{arm}" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"mean": {"score": value}}))
    return logs


@pytest.mark.parametrize(
    "summary", ["crossval_results_folds_0_1_2_3_4/summary.json", "summary.json"]
)
@pytest.mark.parametrize("rule", ["", 'runs: [{match: "*crossval*", ignore: true}]'])
def test_a_summary_beside_folders_of_folds_is_no_run(
    tmp_path: Path, summary: str, rule: str
) -> None:
    logs = folds(tmp_path / "logs", summary)
    mapping = "mapping: {score: mean.score}\nnumber: [seeds]"
    if "crossval" in summary:
        mapping = f"{mapping}\n{rule}"
    made = judged(tmp_path, [logs], mapping)
    assert counts(made) == (4, 5)
    assert "(sums up the folders beside it)" in notes(made)


def test_an_arm_beside_folders_of_seeds_is_a_run(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for n, value in enumerate(OURS):
        (logs / f"seed_{n}").mkdir(parents=True)
        (logs / f"seed_{n}" / "ours.json").write_text(json.dumps({"score": value}))
    (logs / "baseline.json").write_text(json.dumps({"score": 0.5, "seed": 0}))
    made = judged(tmp_path, [logs])
    assert "sums up" not in notes(made)
    assert "'baseline', from table: seeds 0" in notes(made)


def test_a_pattern_of_names_that_matches_nothing_is_told(tmp_path: Path) -> None:
    logs = folds(tmp_path / "logs", "crossval/summary.json")
    mapping = 'mapping: {score: mean.score}\nnames: "*__{arm}/fold_{seed}/*"'
    said = (
        "matches no run: * stops at a slash, so that it is held against the last 3 parts of a name"
    )
    assert f"{said}, such as 'fold_0/validation/summary.json'" in refusal(tmp_path, [logs], mapping)
    assert said in notes(judged(tmp_path, [logs], f"{mapping}\nnumber: [seeds]"))
    right = mapping.replace("/*", "/validation/*")
    made = judged(tmp_path, [logs], right)
    assert counts(made) == (4, 5)
    assert "stops at a slash" not in notes(made)


def test_runs_of_another_name_are_none_of_a_lone_arm(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(by_column(FRAME)))
    text = AUDIT.format(form=SCALAR).partition("    holds_if")[0]
    bound = "{kind: reaches, value: score, at_least: 0.55, from: paper}"
    lone = f"{text}    holds_if: [{bound}]\n    no_control: A bound is claimed, no comparison.\n"
    (tmp_path / "producers.yaml").write_text(lone)
    made = judge_logs(load_audit(tmp_path / "producers.yaml"), [file], None)
    assert counts(made) == (4, 5)
    assert "Of no arm of the audit (baseline): " in notes(made)


# --- rows that have a setting which others lack ---------------------------------------------------


def statistics(logs: Path) -> Path:
    """Write what HELM leaves: a row for each statistic, some of perturbed questions."""
    perturbed = {"name": "robustness", "computed_on": "worst"}
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            file = logs / f"seed_{seed}" / f"mmlu:model={arm}" / "stats.json"
            file.parent.mkdir(parents=True)
            names = [{"name": "em"}, {"name": "em", "perturbation": perturbed}]
            means = (value, 1 - value)
            rows = [{"name": n, "mean": m} for n, m in zip(names, means, strict=True)]
            file.write_text(json.dumps(rows))
    return logs


@pytest.mark.parametrize(
    "mapping",
    [
        "mapping: {score: mean}",
        "mapping: {score: mean}\nnumber: [steps]",
        "mapping: {score: {expression: last(v), let: {v: mean}}}\nnumber: [steps]",
    ],
)
def test_rows_that_differ_in_a_field_are_no_points_in_time(tmp_path: Path, mapping: str) -> None:
    logs = statistics(tmp_path / "logs")
    said = refusal(tmp_path, [logs], mapping)
    assert "found name.perturbation.computed_on = 'worst', name.perturbation.name = 'robust" in said
    assert "as a training logs them" not in said
    way = 'runs: [{match: "*name.perturbation.computed_on worst*", ignore: true}]'
    assert f"(`{way}` leaves those out)" in said
    assert counts(judged(tmp_path, [logs], f"{mapping}\n{way}")) == (4, 5)


def test_a_setting_that_stands_in_the_first_row_alone_is_of_all(tmp_path: Path) -> None:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            rows = ["epoch,rate,score", f"0,cosine,{value / 2}", f"1,,{value}"]
            (tmp_path / f"{arm}_seed{seed}.csv").write_text("\n".join(rows))
    assert counts(judged(tmp_path, sorted(tmp_path.glob("*.csv")), form=SERIES)) == (4, 5)


# --- means with deviations beside the runs --------------------------------------------------------


def test_a_row_of_means_with_deviations_is_passed_over(tmp_path: Path) -> None:
    rows = [f"{n},{a},{b}" for n, (a, b) in enumerate(zip(OURS, BASELINE, strict=True))]
    file = tmp_path / "table.csv"
    file.write_text("\n".join(["Seed,ours,baseline", *rows, "Mean ± std,0.68 ± 0.19,0.5 ± 0"]))
    made = judged(tmp_path, [file])
    assert counts(made) == (4, 5)
    assert "rows that sum others up were passed over: Mean ± std" in notes(made)


def test_a_mean_with_its_deviation_beside_a_list_of_runs_is_passed_over(tmp_path: Path) -> None:
    mean = "0.68 ± 0.19"
    results = {arm: {"per_seed": [*values], "mean_std": mean} for arm, values in ARMS.items()}
    file = tmp_path / "report.json"
    file.write_text(json.dumps({"hardware": "1x A100", "seeds": [*range(5)], "results": results}))
    made = judged(tmp_path, [file], 'mapping: {score: "results.{arm}"}\nnumber: [seeds]')
    assert counts(made) == (4, 5)
    assert "numbers of no run were passed over: results.ours.mean_std" in notes(made)
    alone = {arm: {"score": mean} for arm in ARMS}
    file.write_text(json.dumps({"seeds": [*range(5)], "results": alone}))
    said = refusal(tmp_path, [file], 'mapping: {score: "results.{arm}.score"}')
    assert f"found '{mean}'" in said
    assert "a mean with a deviation" in said


def test_empty_settings_of_rows_that_are_numbered_are_those_of_the_others(tmp_path: Path) -> None:
    rows = [
        f"{arm},{'a note' if n == 0 else ''},{value}"
        for arm, values in ARMS.items()
        for n, value in enumerate(values)
    ]
    file = tmp_path / "table.csv"
    file.write_text("\n".join(["method,note,score", *rows]))
    assert counts(judged(tmp_path, [file], "number: [seeds]")) == (4, 5)
