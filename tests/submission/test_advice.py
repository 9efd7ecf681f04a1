"""What a refusal offers is accepted when it is pasted, and leads to the right answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from test_further_producers import offered, text
from test_producers import ARMS, AUDIT, SCALAR, SERIES, counts, judged, notes, refusal

from reproaudit.audit.loading import load_audit
from reproaudit.errors import AuditError
from reproaudit.intake.importing import ImportedLogs, _answers
from reproaudit.logs.logged import LogError, LogsError
from reproaudit.logs.mapping import MappingFile
from reproaudit.logs.names import measures_alike
from reproaudit.service.judge import Judged, judge_logs

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


# --- lines that are there, and offered again ------------------------------------------------------


ROUNDS = """\
settings:
  - {from: paper, at: Table 1, values: {rounds: 100}, also_stated: [
      {from: code, at: line 3, values: {rounds: 150}}]}
"""


def half_settings(folder: Path) -> Path:
    """Write a table whose runs differ in a number, too, which is none of a row's settings."""
    rows = ["seed,arm,n_rounds,score"]
    for rounds, less in ((100, 0.0), (150, 0.3)):
        rows += [f"{n},{arm},{rounds},{value - less}" for arm, n, value in RUNS]
    return text(folder / "runs.csv", "\n".join(rows))


@pytest.mark.parametrize("given", ["number: [seeds]", "columns: {settings: []}\nnumber: [seeds]"])
def test_no_line_is_offered_that_was_given(tmp_path: Path, given: str) -> None:
    told = refusal(tmp_path, [half_settings(tmp_path)], given)
    assert "number: [seeds]" not in told
    assert "settings: []" not in told


def test_a_line_that_is_refused_when_it_is_there_stands_in_no_block() -> None:
    def again(answered: MappingFile) -> ImportedLogs:
        if "seeds" in answered.number:
            raise LogError("a.csv", "found none.", "number: [seeds]")
        raise LogError("a.csv", "found no arm.")

    refusal = LogsError("found two.", ["number: [seeds]", "overlap: later"])
    *told, line = _answers(refusal, MappingFile(), again)
    assert told[0] == "Then: a.csv: found no arm."
    assert line == "overlap: later"
    alone = LogError("a.csv", "found none.", "number: [seeds]")
    assert [*_answers(alone, MappingFile(), again)] == []


def test_lists_in_several_files_of_an_arm_are_numbered(tmp_path: Path) -> None:
    for arm, own in ARMS.items():
        for part, numbers in (("part1", own[:3]), ("part2", own[3:])):
            text(tmp_path / "logs" / arm / f"{part}.json", json.dumps({"score": numbers}))
    told = refusal(tmp_path, [tmp_path / "logs"])
    assert "ignore" not in told
    assert counts(judged(tmp_path, [tmp_path / "logs"], offered(told))) == (4, 5)


def test_a_column_with_values_of_a_setting_is_offered_as_it(tmp_path: Path) -> None:
    file = half_settings(tmp_path)
    audit = AUDIT.format(form=SCALAR) + ROUNDS
    stated = text(tmp_path / "producers.yaml", audit)
    with pytest.raises(AuditError) as error:
        judge_logs(load_audit(stated), [file])
    line = 'configuration: {rounds: "n_rounds"}'
    assert f"`{line}`" in str(error.value)
    made = judge_logs(load_audit(stated), [file], text(tmp_path / "mapping.yaml", line))
    assert counts(made) == (4, 5)


def test_points_of_one_run_without_a_seed_take_the_rule_that_is_offered(tmp_path: Path) -> None:
    for step, value in enumerate((0.1, 0.5, 0.7)):
        for arm in ARMS:
            text(tmp_path / "logs" / f"{arm}_step{step}.json", json.dumps({"score": value}))
    told = refusal(tmp_path, [tmp_path / "logs"], form=SERIES)
    for line in ('runs: [{match: "*_step[*].json", seed: 0}]', "number: [seeds]"):
        assert counts(judged(tmp_path, [tmp_path / "logs"], line, SERIES))[1] == 1
    both = 'runs: [{match: "*_step[*].json", seed: 0}]\nnumber: [seeds]'
    assert counts(judged(tmp_path, [tmp_path / "logs"], both, SERIES))[1] == 1
    assert "seed: 0" in told


# --- columns that are seeds -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run {}", "run_{}", "Trial {}", "Seed {}", "seed{}", "fold {}"])
@pytest.mark.parametrize("summed", [True, False])
def test_a_column_for_each_run_is_no_table_of_means(
    tmp_path: Path, name: str, summed: bool
) -> None:
    header = ["method", *(name.format(n) for n in range(1, 6)), *["mean", "std"] * summed]
    rows = [[arm, *own, *[0.5, 0.1] * summed] for arm, own in ARMS.items()]
    written = "\n".join(",".join(map(str, row)) for row in [header, *rows])
    file = text(tmp_path / "runs.csv", written)
    is_asked = name.startswith(("run", "Trial"))
    made = led(tmp_path, [file]) if is_asked else judged(tmp_path, [file])
    assert counts(made) == (4, 5)
    assert "seeds 1, 2, 3, 4, 5" in notes(made)


def test_a_latex_table_with_a_column_for_each_seed(tmp_path: Path) -> None:
    head = " & ".join(["Method", *(f"Seed {n}" for n in range(5))])
    rows = [" & ".join([arm, *map(str, own)]) for arm, own in ARMS.items()]
    lines = ["\\begin{tabular}{lccccc}", *(f"{row} \\\\" for row in [head, *rows])]
    file = text(tmp_path / "t.tex", "\n".join([*lines, "\\end{tabular}"]))
    assert counts(judged(tmp_path, [file])) == (4, 5)


# --- steps and tags in the names of files ---------------------------------------------------------


def tagged(folder: Path, name: str, written: str) -> Path:
    """Write a file for each number of each run; the loss goes against the score."""
    for arm, seed, value in RUNS:
        for tag, number in (("score", value), ("loss", 1 - value)):
            file = folder / "logs" / name.format(arm=arm, seed=seed, tag=tag)
            text(file, written.format(value=number, half=number / 2))
    return folder / "logs"


NUMBER = "value\n{value}\n"
COURSE = "step,value\n0,0.1\n10,{half}\n20,{value}\n"


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("{arm}_seed{seed}_{tag}.csv", ""),
        ("{tag}-{arm}-{seed}.csv", ""),
        ("{arm}/s{seed}.{tag}.csv", "s{seed}.{tag}.csv"),
    ],
)
@pytest.mark.parametrize("written", [NUMBER, "{value}", COURSE])
def test_a_tag_in_a_name_is_offered_and_read(
    tmp_path: Path, name: str, pattern: str, written: str
) -> None:
    logs = tagged(tmp_path, name, written)
    lines = offered(refusal(tmp_path, [logs]))
    assert f'names: "{pattern or name}"' in lines
    made = judged(tmp_path, [logs], lines)
    assert counts(made) == (4, 5)
    assert "ignored tags: loss" in notes(made)
    assert "2 files are parts of it, by the tags in their names" in notes(made)


def test_a_series_whose_tag_stands_in_a_name(tmp_path: Path) -> None:
    logs = tagged(tmp_path, "{arm}_seed{seed}_{tag}.csv", COURSE)
    lines = offered(refusal(tmp_path, [logs], form=SERIES))
    assert counts(judged(tmp_path, [logs], lines, SERIES)) == (4, 5)


def test_files_with_several_columns_have_the_tag_of_their_names_before_them(
    tmp_path: Path,
) -> None:
    logs = tagged(tmp_path, "{arm}_seed{seed}_{tag}.csv", "train,test\n0,{value}\n")
    names = 'names: "{arm}_seed{seed}_{tag}.csv"\n'
    made = judged(tmp_path, [logs], names + "mapping: {score: score.test}")
    assert counts(made) == (4, 5)
    assert "loss.test" in notes(made)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("{arm}-s{seed}-ckpt{step}.json", ""),
        ("{arm}/seed{seed}/eval_iter_{step:07}.json", "eval_iter_{step}.json"),
        ("{arm}/{seed}/checkpoint-{step}.json", "{seed}/checkpoint-{step}.json"),
    ],
)
@pytest.mark.parametrize("form", [SCALAR, SERIES])
def test_a_step_in_a_name_is_offered_and_read(
    tmp_path: Path, name: str, pattern: str, form: str
) -> None:
    for arm, seed, value in RUNS:
        for step in (1, 2, 3):
            file = tmp_path / "logs" / name.format(arm=arm, seed=seed, step=1000 * step)
            text(file, json.dumps({"score": value * step / 3, "loss": 0.1}))
    logs = tmp_path / "logs"
    if form == SERIES and "/{seed}/" not in name:
        assert counts(judged(tmp_path, [logs], form=form)) == (4, 5)
        return
    lines = offered(refusal(tmp_path, [logs], form=form))
    pattern = pattern or name
    assert f'names: "{pattern.replace("{step}", "*") if form == SERIES else pattern}"' in lines
    assert "ignore" not in lines
    assert counts(judged(tmp_path, [logs], lines, form)) == (4, 5)


def test_a_step_and_a_tag_in_a_name_are_read_together(tmp_path: Path) -> None:
    for step in (10, 20):
        tagged(tmp_path, f"{{arm}}_seed{{seed}}_step{step}_{{tag}}.csv", NUMBER)
    names = 'names: "{arm}_seed{seed}_step{step}_{tag}.csv"'
    made = judged(tmp_path, [tmp_path / "logs"], names, SERIES)
    assert counts(made) == (4, 5)
    assert "score: 2 points in each run" in notes(made)
    assert "4 files are points of it, at the steps in their names: 10, 20" in notes(made)


# --- arms by a setting, coordinates, and what a claim lacks ---------------------------------------


SET_APART = """\
schema_version: 3
paper: {{slug: apart, title: Apart, year: 2024, read: {{text: abstract}}}}
axes: {{dataset: {{setting: sets}}}}
experiments:
  fit:
    title: A fit
    settings:
      - {{from: paper, at: Table 1, values: {{model: model-a, sets: [MMLU, GSM8K]}}}}
    measurements:
      score: {{{form}: [{axis}], says: The score.{more}}}
      loss: {{every_step: [], says: The loss.}}
arms: {{other: {{settings: {{model: model-b}}, says: The other model.}}}}
claims:
  main:
    says: The model has the higher score.
    holds_if: [{{kind: beats, value: score, arm: other, higher: true, from: paper}}]
"""
MODELS = dict(zip(("model-a", "model-b"), ARMS.values(), strict=True))


class Apart:
    """An audit whose arms differ in a setting, and logs of it."""

    def __init__(self, folder: Path, form: str = "once", axis: str = "", more: str = "") -> None:
        written = SET_APART.format(form=form, axis=axis, more=more)
        self.audit = load_audit(text(folder / "apart.yaml", written))
        self.folder = folder

    def judged(self, logs: Path, mapping: str = "{}") -> Judged:
        return judge_logs(self.audit, [logs], text(self.folder / "mapping.yaml", mapping))

    def refusal(self, logs: Path, mapping: str = "{}") -> str:
        with pytest.raises(AuditError) as error:
            self.judged(logs, mapping)
        return str(error.value)


def test_columns_called_as_values_of_a_setting_are_offered_as_it(tmp_path: Path) -> None:
    apart = Apart(tmp_path, axis="dataset")
    rows = ["dataset,version,metric,model-a,model-b", "MMLU,-,ppl,0.6,0.5", "GSM8K,1d,gen,0.5,0.4"]
    logs = text(tmp_path / "logs" / "summary_20250305.csv", "\n".join(rows)).parent
    told = apart.refusal(logs)
    assert "sum runs up" not in told
    lines = offered(told)
    assert 'mapping: {score: "{model}"}' in lines
    assert "number: [seeds]" in lines
    made = apart.judged(logs, lines)
    assert counts(made) == (1, 1)
    assert "  score = {model}: 1 point in each run" in notes(made)


@pytest.mark.parametrize("name", ["score/{}", "{}_score", "eval.{}.score"])
def test_columns_called_as_coordinates_are_offered_as_an_axis(tmp_path: Path, name: str) -> None:
    apart = Apart(tmp_path, axis="dataset")
    for model, own in MODELS.items():
        header = ",".join(["seed", "model", *(name.format(each) for each in ("MMLU", "GSM8K"))])
        rows = [f"{seed},{model},{value},{value / 2}" for seed, value in enumerate(own)]
        text(tmp_path / "logs" / f"{model}.csv", "\n".join([header, *rows]))
    lines = offered(apart.refusal(tmp_path / "logs"))
    assert lines == f'mapping: {{score: "{name.format("{dataset}")}"}}'
    assert counts(apart.judged(tmp_path / "logs", lines)) == (4, 5)


def test_a_tag_that_may_be_what_a_claim_lacks_is_told(tmp_path: Path) -> None:
    apart = Apart(tmp_path, "every_step")
    for model, own in MODELS.items():
        for seed, value in enumerate(own):
            course = [(value + seed / 1000) * (n + 1) / 10 for n in range(10)]
            run = {"model": model, "loss": course, "test_scores": course, "test_loss": course}
            text(tmp_path / "logs" / f"{model}-seed_{seed}.json", json.dumps(run))
    line = "mapping: {score: test_scores}"
    hint = f"If 'test_scores' is score: `{line}`."
    told = apart.refusal(tmp_path / "logs")
    assert told.endswith(f"Then: {hint}")
    steps = offered(told)
    lacking = apart.judged(tmp_path / "logs", steps)
    assert "If 'test_loss'" not in notes(lacking)
    assert hint in notes(lacking)
    assert counts(apart.judged(tmp_path / "logs", f"{steps}\n{line}")) == (4, 5)


def test_runs_that_may_have_diverged_are_told_by_arm(tmp_path: Path) -> None:
    apart = Apart(tmp_path, "every_step")
    for model in MODELS:
        rows = f"step,model,score\n0,{model},0.1\n1,{model},nan\n"
        text(tmp_path / "logs" / f"{model}-seed_0.csv", rows)
    told = apart.refusal(tmp_path / "logs")
    assert "score of 'fit': seed 0: " in told
    assert "; score of 'fit' with model = 'model-b': seed 0: " in told


def test_numbers_in_per_cent_are_offered_to_be_divided(tmp_path: Path) -> None:
    apart = Apart(tmp_path, more=", range: [0, 1]")
    rows = [f"{m},{n},{100 * v}" for m, own in MODELS.items() for n, v in enumerate(own)]
    logs = text(tmp_path / "runs.csv", "\n".join(["model,seed,score", *rows]))
    lines = offered(apart.refusal(logs))
    assert lines == 'runs: [{match: "*", percent: [score]}]'
    assert counts(apart.judged(logs, lines)) == (4, 5)


def test_the_last_value_of_a_formula_is_offered_with_the_formula(tmp_path: Path) -> None:
    apart = Apart(tmp_path)
    for model, own in MODELS.items():
        rows = [f"{n},{s},{model},{v * n}" for s, v in enumerate(own) for n in (1, 2)]
        text(tmp_path / "logs" / f"{model}.csv", "\n".join(["step,seed,model,acc", *rows]))
    given = "mapping: {score: {expression: cummax(a), let: {a: acc}}}"
    lines = offered(apart.refusal(tmp_path / "logs", given))
    assert lines == 'mapping: {score: {expression: "last(cummax(a))", let: {"a": acc}}}'
    assert counts(apart.judged(tmp_path / "logs", lines)) == (4, 5)


@pytest.mark.parametrize("given", ["", "vary: [hparams_seed]\n"])
def test_rows_with_two_seeds_are_to_be_numbered(tmp_path: Path, given: str) -> None:
    apart = Apart(tmp_path)
    for model, own in MODELS.items():
        rows = [f"{n // 2},{n % 2},{model},{value}" for n, value in enumerate(own)]
        written = "\n".join(["trial_seed,hparams_seed,model,score", *rows])
        text(tmp_path / "logs" / f"{model}.csv", written)
    columns = "columns: {seed: trial_seed, settings: [hparams_seed, model]}"
    told = apart.refusal(tmp_path / "logs", given + columns)
    assert "Count the rows of this file by `number: [seeds]`, without `columns`" in told
    assert "hand in one of" not in told
    assert counts(apart.judged(tmp_path / "logs", f"{given}number: [seeds]")) == (4, 5)


def test_files_of_two_arms_are_to_be_told_apart_however_they_are_counted(tmp_path: Path) -> None:
    apart = Apart(tmp_path, "every_step")
    for name, own in zip(("a", "b"), MODELS.values(), strict=True):
        rows = [f"{trial},{n},{v * n}" for trial, v in enumerate(own, 1) for n in (1, 2)]
        text(tmp_path / "logs" / f"{name}.csv", "\n".join(["trial,step,score", *rows]))
    told = apart.refusal(tmp_path / "logs")
    assert "number: [seeds]" not in told
    roles = 'runs: [{match: "a.csv*", settings: {}}, {match: "b.csv*", settings: {model: model-b}}]'
    assert counts(apart.judged(tmp_path / "logs", f"{offered(told)}\n{roles}")) == (4, 5)
    counted = apart.refusal(tmp_path / "logs", "number: [seeds]")
    assert '`runs: [{match: "a.csv", settings: ROLE}, {match: "b.csv", settings: ROLE}]`' in counted


SUMMED = r"Mean & \multicolumn{5}{c}{0.58 $\pm$ 0.2}"


@pytest.mark.parametrize("spanning", [SUMMED, r"\multicolumn{6}{c}{Part 2}"])
def test_a_row_of_latex_that_sums_up_is_passed_over(tmp_path: Path, spanning: str) -> None:
    head = " & ".join(["Method", *(rf"\multicolumn{{1}}{{c}}{{Seed {n}}}" for n in range(5))])
    rows = [" & ".join([arm, *map(str, own)]) for arm, own in ARMS.items()]
    lines = ["\\begin{tabular}{lccccc}", *(f"{row} \\\\" for row in [head, *rows, spanning])]
    file = text(tmp_path / "t.tex", "\n".join([*lines, "\\end{tabular}"]))
    if spanning != SUMMED:
        assert "LaTeX; to import a table" in refusal(tmp_path, [file])
        return
    made = judged(tmp_path, [file])
    assert counts(made) == (4, 5)
    assert "not used: 'row Mean' (cells span others)" in notes(made)


@pytest.mark.parametrize(
    ("name", "tag", "right"),
    [
        ("final_accuracy", "eval/acc", True),
        ("val_acc", "val_accuracy", True),
        ("train_seconds", "final_train_loss", False),
        ("test_accuracy", "test_loss", False),
    ],
)
def test_a_split_that_is_shared_makes_no_measurement_of_another(name, tag, right):
    assert measures_alike(name, tag) is right
