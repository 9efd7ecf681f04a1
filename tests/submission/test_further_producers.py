"""Files of further producers: what their statuses, settings, seeds and copies say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import encoders
import pytest
from test_producers import ARMS, SERIES, counts, judged, notes, refusal, trainer_folders

from reproaudit.errors import AuditError
from reproaudit.logs.rows import csv_table


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
@pytest.mark.parametrize("name", ["lr", "batch_size", "parameters/hidden", "run.hparams.hidden"])
def test_a_number_that_a_run_was_started_with_is_a_setting(
    tmp_path: Path, columns: str, name: str
) -> None:
    named = "Name" in columns
    file = table(
        tmp_path / "runs.csv",
        columns.format(name),
        lambda arm, seed, value: ",".join(
            [
                arm,
                *([f"{arm}-{seed}", "finished"] if named else []),
                str(seed),
                "0.1" if (arm, seed) == ("baseline", 2) else "0.001",
                str(value),
            ]
        ),
    )
    told = refusal(tmp_path, [file])
    setting = name.replace("/", ".")
    assert f"found {setting} = 0.1, where" in told or f"found {setting} = '0.1'" in told
    assert counts(judged(tmp_path, [file], f"vary: [{setting}]")) == (4, 5)


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


def test_addresses_in_memory_are_no_settings(tmp_path: Path) -> None:
    """As Spinning Up dumps its logger and its functions."""
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            home = tmp_path / "logs" / f"{arm}_s{seed}"
            text(home / "progress.txt", f"Epoch\tscore\n1\t{value / 2}\n2\t{value}\n")
            logger = {f"<utils.EpochLogger object at 0x7f0{seed}>": {"first_row": True}}
            config = {"env_fn": f"<function f at 0x7f{seed}>", "logger": logger, "seed": seed}
            text(home / "config.json", json.dumps(config))
    assert counts(judged(tmp_path, [tmp_path / "logs"], form=SERIES)) == (4, 5)


# --- seeds ----------------------------------------------------------------------------------------


def test_a_column_of_seeds_that_the_mapping_names_wins(tmp_path: Path) -> None:
    """As lm-eval writes the seed of its examples beside others."""
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            tree = {"score": value, "model": arm, "config": {"random_seed": 0, "shots": seed}}
            text(tmp_path / "logs" / arm / f"results_{seed}.json", json.dumps(tree))
    logs = tmp_path / "logs"
    assert counts(judged(tmp_path, [logs], "columns: {seed: config.shots}")) == (4, 5)
    line = "{names: 'results_{seed}.json', vary: [config.shots]}"
    assert counts(judged(tmp_path, [logs], line)) == (4, 5)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("{arm}/CartPole-v1_{seed}/0.monitor.csv", "CartPole-v1_{seed}/0.monitor.csv"),
        ("{arm}/version_{seed}/results.csv", "version_{seed}/results.csv"),
        ("{arm}-{seed}.csv", "{arm}-{seed}.csv"),
    ],
)
def test_the_number_in_names_that_differs_is_offered_as_the_seed(
    tmp_path: Path, name: str, line: str
) -> None:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values, start=1):
            file = tmp_path / "logs" / name.format(arm=arm, seed=seed)
            text(file, f"r,score\n3,{value}\n")
    told = refusal(tmp_path, [tmp_path / "logs"])
    assert f'`names: "{line}"`' in told
    made = judged(tmp_path, [tmp_path / "logs"], f'names: "{line}"')
    assert counts(made) == (4, 5)
    assert "seeds 1, 2, 3, 4, 5" in notes(made)


def test_numbers_in_names_of_which_several_differ_are_offered_as_none(tmp_path: Path) -> None:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            file = tmp_path / "logs" / f"{arm}_{seed}_{7 - seed}.csv"
            text(file, f"r,score\n3,{value}\n")
    assert "`names: " not in refusal(tmp_path, [tmp_path / "logs"])


# --- Hugging Face ---------------------------------------------------------------------------------


@pytest.mark.parametrize("saved", [True, False])
def test_a_run_that_was_cut_has_the_configuration_of_its_checkpoint(
    tmp_path: Path, saved: bool
) -> None:
    for home in trainer_folders(tmp_path / "logs"):
        model = (home / "config.json").read_text()
        text(home / "checkpoint-10" / "config.json", model)
        if not saved:
            (home / "config.json").unlink()
    cut = tmp_path / "logs" / "baseline-seed4"
    for name in ("trainer_state.json", "all_results.json", "eval_results.json", "config.json"):
        (cut / name).unlink(missing_ok=True)
    told = notes(judged(tmp_path, [tmp_path / "logs"], form=SERIES))
    assert "its Trainer stopped at step 10 of 20" in told


# --- files beside the runs ------------------------------------------------------------------------


def evaluated(logs: Path) -> Path:
    """Write what lm-eval leaves: the results, and beside them what was made of each example."""
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            tree = {"score": value, "model": arm, "config": {"random_seed": 0, "shot_seed": seed}}
            text(logs / str(seed) / arm / f"results_2024-05-0{seed + 1}.json", json.dumps(tree))
            rows = [json.dumps({"doc_id": n, "exact": n % 2}) for n in range(3)]
            text(logs / str(seed) / arm / f"samples_2024-05-0{seed + 1}.jsonl", "\n".join(rows))
    return logs


def test_tables_with_nothing_wanted_beside_the_runs_are_named(tmp_path: Path) -> None:
    logs = evaluated(tmp_path / "logs")
    told = refusal(tmp_path, [logs])
    assert "samples" not in told
    assert "`columns: {seed: config.shot_seed}`" in told
    made = judged(tmp_path, [logs], "columns: {seed: config.shot_seed}")
    assert counts(made) == (4, 5)
    assert "(a row for each doc_id, which is no run; for their mean, " in notes(made)
    assert "baseline/samples_2024-05-01.jsonl" in notes(made)


@pytest.mark.parametrize("other", [None, 0.3])
def test_a_copy_beside_a_run_is_named_and_another_course_is_refused(
    tmp_path: Path, other: float | None
) -> None:
    """As MMEngine writes its scalars under two names."""
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            home = tmp_path / "logs" / f"{arm}_seed{seed}" / "vis_data"
            for name, last in (("20240101.json", value), ("scalars.json", other or value)):
                rows = [json.dumps({"step": n, "score": last, "loss": n}) for n in range(3)]
                text(home / name, "\n".join(rows))
    if other:
        assert "a second time" in refusal(tmp_path, [tmp_path / "logs"], form=SERIES)
        return
    made = judged(tmp_path, [tmp_path / "logs"], form=SERIES)
    assert counts(made) == (4, 5)
    assert "Copies of what lies beside them, 10 in all: vis_data/scalars.json" in notes(made)


# --- lines that are offered -----------------------------------------------------------------------


def offered(told: str) -> str:
    """Return the lines of mapping that a refusal offers, and that can be pasted as they are."""
    _, is_block, block = told.partition("say so:\n")
    if is_block:
        return block.partition("Then: ")[0]
    lines = re.findall(r"`([a-z_]+: [^`]*)`", told)
    return (
        "\n".join(line for line in dict.fromkeys(lines) if not re.search("…|NAME|TAG", line))
        or "{}"
    )


def choice(told: str, word: str) -> str:
    """Return the line for runs that is offered if they ended so."""
    (line,) = {*re.findall(rf"if the run of seed \d+ {word}.*?`(runs: [^`]*)`", told)}
    return str(line)


@pytest.mark.parametrize("named", ["score", "val/score", "eval.score"])
def test_the_last_value_of_a_series_is_offered_at_once(tmp_path: Path, named: str) -> None:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            rows = [
                json.dumps({"step": n, named: value * n, f"{named}__MAX": 9}) for n in range(1, 4)
            ]
            text(tmp_path / "logs" / f"{arm}_seed{seed}.jsonl", "\n".join(rows))
    lines = offered(refusal(tmp_path, [tmp_path / "logs"]))
    assert counts(judged(tmp_path, [tmp_path / "logs"], lines)) == (4, 5)
    assert lines == f'mapping: {{score: {{expression: last(v), let: {{v: "{named}"}}}}}}'


def keys_of_runs() -> Any:
    return {
        f"{arm}_seed{seed}": {"score": v, "loss": 1 - v}
        for arm, own in ARMS.items()
        for seed, v in enumerate(own)
    }


def seeds_beside_lists() -> Any:
    own = {arm: {"score": {"per_seed": own, "mean": 0.6, "std": 0.1}} for arm, own in ARMS.items()}
    return {"seeds": [3, 5, 7, 9, 11], "results": own}


def other_name() -> Any:
    return {
        "tasks": {
            arm: {str(seed): {"exact_score": v, "loss": 2} for seed, v in enumerate(own)}
            for arm, own in ARMS.items()
        }
    }


@pytest.mark.parametrize("form", [keys_of_runs, seeds_beside_lists, other_name])
def test_keys_of_arms_and_seeds_are_read_or_offered(tmp_path: Path, form: Any) -> None:
    file = text(tmp_path / "results.json", json.dumps(form()))
    try:
        made = judged(tmp_path, [file])
    except AuditError as error:
        made = judged(tmp_path, [file], offered(str(error)))
    assert counts(made) == (4, 5)
    assert ("seeds 3, 5, 7, 9, 11" in notes(made)) == (form is seeds_beside_lists)


@pytest.mark.parametrize(
    "column", ["split{}_test_score", "score_seed{}", "seed_{}", "fold{}.score"]
)
@pytest.mark.parametrize("means", [True, False])
def test_columns_that_name_their_seed_are_runs(tmp_path: Path, column: str, means: bool) -> None:
    header = ["method", *(column.format(seed) for seed in range(5))]
    rows = [[arm, *map(str, own)] for arm, own in ARMS.items()]
    if means:
        header += ["mean_test_score", "std_test_score"]
        rows = [[*row, "0.7", "0.1"] for row in rows]
    file = text(tmp_path / "cv.csv", "\n".join(map(",".join, [header, *rows])))
    if column.startswith("split"):
        told = refusal(tmp_path, [file])
        assert counts(judged(tmp_path, [file], offered(told))) == (4, 5)
    else:
        assert counts(judged(tmp_path, [file])) == (4, 5)


# --- tables and texts as they are written ---------------------------------------------------------


def pivoted(named: bool) -> str:
    rows = [
        f"{seed},{base},{own},{base - 1},{own - 1}"
        for seed, (own, base) in enumerate(zip(*ARMS.values(), strict=True), start=3)
    ]
    top = [",score,score,f1,f1", f"{'method' if named else ''},baseline,ours,baseline,ours"]
    return "\n".join([*top, "seed,,,,", *rows])


def unstacked(named: bool) -> str:
    rows = [
        f"{seed},{base},{own}"
        for seed, (own, base) in enumerate(zip(*ARMS.values(), strict=True), start=3)
    ]
    return "\n".join([f"{'method' if named else ''},baseline,ours", "seed,,", *rows])


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("form", [pivoted, unstacked])
def test_the_levels_of_a_header_of_pandas_are_one(tmp_path: Path, form: Any, named: bool) -> None:
    made = judged(tmp_path, [text(tmp_path / "pivot.csv", form(named))])
    assert counts(made) == (4, 5)
    assert "seeds 3, 4, 5, 6, 7" in notes(made)


def test_a_run_without_numbers_is_no_level_of_a_header() -> None:
    table = csv_table("name,score\nbare,\nother,0.5", "runs.csv", ",")
    assert table.columns == ("name", "score")
    assert [line for line, _ in table.rows] == [2, 3]


def test_what_dvclive_keeps_of_the_end_alone_is_read(tmp_path: Path) -> None:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            home = tmp_path / "logs" / f"{arm}-{seed}" / "dvclive"
            text(home / "plots" / "metrics" / "val" / "acc.tsv", "step\tacc\n0\t1\n1\t2\n")
            text(home / "plots" / "metrics" / "loss.tsv", "step\tloss\n0\t1\n1\t2\n")
            text(home / "metrics.json", json.dumps({"val": {"acc": 2}, "score": value, "step": 1}))
            text(home / "params.yaml", f"method: {arm}\nseed: {seed}\n")
    assert counts(judged(tmp_path, [tmp_path / "logs"])) == (4, 5)


def test_a_series_that_was_downloaded_under_its_runs_name(tmp_path: Path) -> None:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            rows = [f"{1.7e9 + n},{n},{value * n}" for n in range(4)]
            file = tmp_path / "logs" / "score_of" / f"{arm}_seed{seed}.csv"
            text(file, "\n".join(["Wall time,Step,Value", *rows]))
    lines = offered(refusal(tmp_path, [tmp_path / "logs"]))
    assert counts(judged(tmp_path, [tmp_path / "logs"], lines)) == (4, 5)


NANOGPT = "step {n}: train score {v}, val score {w}\niter {n}: loss 4.2, time 20.1ms, mfu 12.1%\n"
KERAS = "Epoch {n}/3: time=3.2s, val score={w}, loss=0.1\n"


SLURM = "Epoch {n}/3: train loss 3.1, train acc 9.30%, val loss 2.5, val score {w}% (35.6s)\n"


@pytest.mark.parametrize("line", [NANOGPT, KERAS, SLURM])
def test_lines_of_a_step_and_numbers_by_name(tmp_path: Path, line: str) -> None:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            lines = [line.format(n=n, v=9, w=value * n) for n in range(4)]
            head = "number of parameters: 10.65M\nusing fused AdamW, 3 of 4\n"
            text(tmp_path / "logs" / f"{arm}_seed{seed}.log", "".join([head, *lines]))
    line = 'mapping: {score: {expression: last(v), let: {v: "val score"}}}'
    assert counts(judged(tmp_path, [tmp_path / "logs"], line)) == (4, 5)


def test_numbers_of_a_course_that_begins_with_none_are_no_seeds(tmp_path: Path) -> None:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            rows = ["nan", *(str(value + n) for n in range(9))]
            home = tmp_path / "logs" / arm / f"Hopper-v2-{seed}"
            text(home / "progress.csv", "\n".join(["score,fps", *(f"{row},9" for row in rows)]))
    told = refusal(tmp_path, [tmp_path / "logs"], "number: [seeds]")
    assert "as a training logs them" in told


README = """# Results

| Seed | Method | Score | F1 |
|-----:|:-------|------:|---:|
{rows}
| **mean** | Ours | **0.68** | |

| GPU | hours |
|-----|-------|
| A100 | 3 |
"""


def test_a_table_in_markdown_is_one(tmp_path: Path) -> None:
    rows = [
        f"| {seed} | {arm.title()} | {f'**{v}**' if seed == 1 else v} | 1 |"
        for arm, own in ARMS.items()
        for seed, v in enumerate(own)
    ]
    text(tmp_path / "logs" / "README.md", README.format(rows="\n".join(rows)))
    made = judged(tmp_path, [tmp_path / "logs"], "mapping: {score: Score}")
    assert counts(made) == (4, 5)
    assert "rows that sum others up were passed over: mean" in notes(made)


def test_dates_in_names_are_no_seeds(tmp_path: Path) -> None:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values, start=1):
            home = tmp_path / "logs" / f"shot{seed}" / arm
            text(home / f"results_2024-05-0{seed}T12-00.csv", f"r,score\n3,{value}\n")
    told = refusal(tmp_path, [tmp_path / "logs"])
    assert '`names: "shot{seed}/{arm}/results_*.csv"`' in told
    assert counts(judged(tmp_path, [tmp_path / "logs"], offered(told).split("\n")[0])) == (4, 5)


def test_episodes_are_counted_by_their_steps(tmp_path: Path) -> None:
    """As Stable-Baselines3's Monitor writes them: reward, length and time of each."""
    for arm, values in ARMS.items():
        for seed, value in enumerate(values, start=1):
            rows = [f"{value * 100},{length},{length / 9}" for length in (20 + seed,) * (9 - seed)]
            home = tmp_path / "logs" / arm / f"CartPole-v1_{seed}"
            text(home / "0.monitor.csv", "\n".join(['#{"t_start": 1.5}', "r,l,t", *rows]))
    stated = "mapping: {score: {expression: mean(r)}}\ncomplete: the budget was used up\n"
    names = offered(refusal(tmp_path, [tmp_path / "logs"], stated)).split("\n")[0]
    made = judged(tmp_path, [tmp_path / "logs"], stated + names)
    assert counts(made) == (4, 5)


def test_a_list_of_a_history_is_asked_for_with_all_that_is_needed(tmp_path: Path) -> None:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            tree = {"loss": [9 - n for n in range(9)], "score": [value * n for n in range(9)]}
            text(tmp_path / "logs" / f"{arm}_seed{seed}.json", json.dumps(tree))
    lines = offered(refusal(tmp_path, [tmp_path / "logs"]))
    assert counts(judged(tmp_path, [tmp_path / "logs"], lines)) == (4, 5)


@pytest.mark.parametrize("folder", [".", "runs/May01_host"])
def test_event_files_with_nothing_wanted_leave_the_log_beside_them(
    tmp_path: Path, folder: str
) -> None:
    for home in trainer_folders(tmp_path / "logs"):
        for summary in home.glob("*_results.json"):
            summary.unlink()
        (home / folder).mkdir(parents=True, exist_ok=True)
        points = {"train/loss": [(10, 0.1), (20, 0.2)]}
        encoders.event_file(home / folder / "a.tfevents.1", points)
    assert counts(judged(tmp_path, [tmp_path / "logs"], form=SERIES)) == (4, 5)


def test_a_mean_beside_objects_of_folds_is_named(tmp_path: Path) -> None:
    for arm, values in ARMS.items():
        tree = {f"fold_{seed}": {"score": value} for seed, value in enumerate(values)}
        text(tmp_path / "logs" / f"{arm}.json", json.dumps({**tree, "score": 0.9}))
    made = judged(tmp_path, [tmp_path / "logs"])
    assert counts(made) == (4, 5)
    assert "numbers beside the runs were passed over: score" in notes(made)


def test_a_run_that_was_cut_is_asked_about_with_the_value_that_is_meant(tmp_path: Path) -> None:
    for home in trainer_folders(tmp_path / "logs"):
        for summary in home.glob("*_results.json"):
            summary.unlink()
    (tmp_path / "logs" / "baseline-seed4" / "trainer_state.json").unlink()
    told = refusal(tmp_path, [tmp_path / "logs"])
    rule = choice(told, "crashed or was cut short")
    made = judged(tmp_path, [tmp_path / "logs"], f"{offered(told)}\n{rule}")
    assert counts(made) == (4, 4)


def test_where_a_schedule_ended_is_no_setting(tmp_path: Path) -> None:
    file = table(
        tmp_path / "runs.csv",
        "method,seed,lr,train/lr,score",
        lambda arm, seed, value: f"{arm},{seed},{0.1 / (7 + seed + value)},{seed % 2},{value}",
    )
    assert counts(judged(tmp_path, [file])) == (4, 5)


def test_a_list_of_metrics_as_comet_exports_it(tmp_path: Path) -> None:
    for arm, values in ARMS.items():
        for seed, value in enumerate(values):
            rows = [
                {"metricName": name, "metricValue": str(v * n), "step": n, "runContext": None}
                for n in range(4)
                for name, v in (("score", value), ("loss", 9))
            ]
            text(tmp_path / "logs" / f"{arm}_seed{seed}" / "metrics.json", json.dumps(rows))
    assert counts(judged(tmp_path, [tmp_path / "logs"], form=SERIES)) == (4, 5)
