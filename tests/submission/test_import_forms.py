"""Logs and tables as people have them: each form leads to the same numbers, or to a way on."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import encoders
import pytest
from samples import SEEDS, falling, protocol, refused_although, run_import, submitted

from reproaudit.errors import AuditError

Points = list[tuple[int, float]]


def text(file: Path, written: str, encoding: str = "utf-8") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(written, encoding=encoding)


def a_json(file: Path, tree: Any) -> None:
    text(file, json.dumps(tree))


def wide(seed: int, between: str = ",", decimal: str = ".") -> list[str]:
    """The rows of a run's table, its header first."""
    rows = [f"{step}{between}{value!r}" for step, value in falling(seed)]
    return [f"step{between}loss", *(row.replace(".", decimal) for row in rows)]


# --- curves ---------------------------------------------------------------------------------------


def semicolons(run: Path, seed: int) -> None:
    text(run / "log.csv", "\n".join(wide(seed, ";", ",")), "utf-8-sig")


def utf16(run: Path, seed: int) -> None:
    text(run / "log.csv", "\n".join(wide(seed, "\t")), "utf-16")


def comments(run: Path, seed: int) -> None:
    header, *rows = wide(seed, "\t")
    text(run / "log.txt", "\n".join(["# made by hand", f"# {header}", *rows]))


def header_again(run: Path, seed: int) -> None:
    lines = wide(seed)
    text(run / "log.csv", "\n".join([*lines[:5], lines[0], *lines[5:]]))


def padded(run: Path, seed: int) -> None:
    rows = [", ".join(f"{cell:>12}" for cell in row.split(",")) for row in wide(seed)]
    text(run / "log.csv", "\n".join(rows))


def packed(run: Path, seed: int) -> None:
    run.mkdir(parents=True)
    (run / "log.csv.gz").write_bytes(gzip.compress("\n".join(wide(seed)).encode()))


def lines_in_text(run: Path, seed: int) -> None:
    rows = [{"step": step, "loss": str(value)} for step, value in falling(seed)]
    text(run / "log.txt", "\n".join(map(json.dumps, rows)))


def lines_in_json(run: Path, seed: int) -> None:
    """RLlib's: settings stand in every line."""
    rows = [
        {"training_iteration": s, "loss": v, "config": {"width": 64, "hidden": [8]}, "pid": 7 + s}
        for s, v in falling(seed)
    ]
    text(run / "result.json", "\n".join(map(json.dumps, rows)))


def rows_in_json(run: Path, seed: int) -> None:
    a_json(run / "history.json", [{"step": step, "loss": value} for step, value in falling(seed)])


def columns_in_json(run: Path, seed: int) -> None:
    steps, values = zip(*falling(seed), strict=True)
    a_json(run / "history.json", {"step": steps, "loss": values})


def document_in_text(run: Path, seed: int) -> None:
    """The defect: a text that begins as JSON was taken for lines of it."""
    steps, values = zip(*falling(seed), strict=True)
    text(run / "history.txt", json.dumps({"step": steps, "loss": values}, indent=1))


def sacred(run: Path, seed: int) -> None:
    steps, values = zip(*falling(seed), strict=True)
    a_json(run / "metrics.json", {"loss": {"steps": steps, "values": values, "timestamps": []}})
    a_json(run / "run.json", {"status": "COMPLETED", "result": 0.5})
    text(run / "cout.txt", "INFO - started\n")


def dvclive(run: Path, seed: int) -> None:
    text(run / "dvclive" / "plots" / "metrics" / "loss.tsv", "\n".join(wide(seed, "\t")))
    text(run / "dvclive" / "plots" / "metrics" / "eval" / "acc.tsv", "step\tacc\n0\t1\n")
    a_json(run / "dvclive" / "metrics.json", {"loss": falling(seed)[-1][1], "step": 100})


def metric_a_file(run: Path, seed: int) -> None:
    text(run / "loss.csv", "\n".join(wide(seed)).replace("loss", "value"))
    text(run / "speed.csv", "step,value\n0,1\n")


def subfolders(run: Path, seed: int) -> None:
    """What `add_scalars` writes."""
    encoders.event_file(run / "a.tfevents.1", {"lr": [(0, 0.1)]})
    encoders.event_file(run / "loss_train" / "a.tfevents.1", {"loss": falling(seed)})
    encoders.event_file(run / "loss_val" / "a.tfevents.1", {"loss": falling(seed + 9)})


def keras(run: Path, seed: int) -> None:
    encoders.event_file(run / "train" / "a.tfevents.1", {"epoch_loss": falling(seed)})
    encoders.event_file(run / "validation" / "a.tfevents.1", {"epoch_loss": falling(seed + 9)})


def restarted(run: Path, seed: int) -> None:
    """A run that crashed at step 70 and went on from 50, with the mark that TensorBoard wants."""
    thrown_away = [(60, 7.0), (70, 7.0)]
    encoders.event_file(run / "a.tfevents.1", {"loss": falling(seed)[:6] + thrown_away})
    mark = encoders.number(2, 60) + encoders.part(7, encoders.number(1, 1))
    events = [encoders.event(s, encoders.simple("loss", v)) for s, v in falling(seed)[6:]]
    whole = b"".join(map(encoders.tf_record, [mark, *events]))
    (run / "a.tfevents.2").write_bytes(whole)


def overlapping(run: Path, seed: int) -> None:
    rows = [*falling(seed)[:6], (60, 7.0), (70, 7.0), *falling(seed)[6:]]
    encoders.table(run / "log.csv", [{"step": step, "loss": repr(v)} for step, v in rows])


def trainer(run: Path, points: Points, **state: Any) -> None:
    history = [{"step": step, "loss": value} for step, value in points]
    history += [{"step": step, "speed": float("nan")} for step, _ in points]
    tree = {"global_step": points[-1][0], "max_steps": points[-1][0], "log_history": history}
    a_json(run / "trainer_state.json", {**tree, **state})


def nan_elsewhere(run: Path, seed: int) -> None:
    trainer(run, falling(seed))


def patience(run: Path, seed: int) -> None:
    """A Trainer that went on for two evaluations after the best."""
    best = {"best_model_checkpoint": "out/checkpoint-80", "max_steps": 900}
    trainer(run, falling(seed), **best)
    state = json.loads((run / "trainer_state.json").read_text())
    state["log_history"] += [{"step": step, "eval_loss": 1.0} for step, _ in falling(seed)]
    a_json(run / "trainer_state.json", state)
    a_json(run / "args.json", {"early_stopping_patience": 2})


def lightning(run: Path, seed: int) -> None:
    """Its own logger marks tuples, and PyYAML takes 1e-1 for text."""
    text(run / "metrics.csv", "\n".join(wide(seed)))
    text(run / "hparams.yaml", "betas: !!python/tuple [0.9, 0.99]\nstep_size: 1e-1\n")


def wandb_history(run: Path, seed: int) -> None:
    """An export by pandas: whole numbers with a point, blanks, and numbers that are none."""
    rows = [f"{step}.0,{value!r},\n{step}.0,,Infinity" for step, value in falling(seed)]
    text(run / "history.csv", "\n".join(["_step,train.loss,grad_norm", *rows]))


def mlflow_models(run: Path, seed: int) -> None:
    """MLflow 3 keeps models beside runs."""
    encoders.mlflow_run(run / "1" / "abc", {"loss": falling(seed)}, {"seed": seed})
    text(run / "1" / "models" / "m-1" / "meta.yaml", "model_id: m-1\n")
    (run / "1" / "models" / "m-1" / "params").mkdir()


def early(run: Path, seed: int) -> None:
    """A Trainer that was stopped early, one seed later than the others."""
    points = [*falling(seed), *([(110, 0.1)] if seed == 3 else [])]
    history = [{"step": step, "loss": value} for step, value in points]
    ended = {"step": points[-1][0], "train_runtime": 1.0}
    tree = {"global_step": points[-1][0], "max_steps": 900, "log_history": [*history, ended]}
    a_json(run / "trainer_state.json", tree)


CURVES = [
    (semicolons, ""), (utf16, ""), (comments, ""), (header_again, ""), (padded, ""), (packed, ""),
    (lines_in_text, ""), (lines_in_json, ""), (rows_in_json, ""), (columns_in_json, ""),
    (document_in_text, ""), (sacred, ""), (dvclive, ""), (metric_a_file, ""), (restarted, ""),
    (subfolders, "mapping: {loss: loss_train/loss}"), (keras, "mapping: {loss: train/epoch_loss}"),
    (overlapping, "overlap: later"), (nan_elsewhere, ""), (patience, ""), (lightning, ""),
    (wandb_history, "mapping: {loss: train.loss}"), (mlflow_models, ""),
]  # fmt: skip


@pytest.mark.parametrize(("form", "mapping"), CURVES)
def test_a_curve_is_read_in_every_form(
    tmp_path: Path, form: Callable[[Path, int], None], mapping: str
) -> None:
    for seed in SEEDS:
        form(tmp_path / "logs" / f"seed_{seed}", seed)
    out = run_import(tmp_path, [tmp_path / "logs"], mapping or None)
    series = {record.seed: record.measurements.series["loss"] for record in submitted(out).records}
    found = {
        seed: list(zip(one.steps, one.values.tolist(), strict=True)) for seed, one in series.items()
    }
    assert found == {seed: falling(seed) for seed in SEEDS}


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (semicolons, "decimal commas, such as 1,000244140625"),
        (header_again, "line 6 repeats the header"),
        (comments, "passed over: lines of comments, 2"),
        (restarted, "restarted at step 60"),
        (sacred, "cout.txt"),
        (early, "its Trainer says that it has ended"),
        (patience, "early stopping: 2 evaluations after the best"),
        (mlflow_models, "a model that MLflow keeps"),
    ],
)
def test_what_is_read_otherwise_than_it_is_written_is_told(
    tmp_path: Path, form: Callable[[Path, int], None], said: str
) -> None:
    for seed in SEEDS:
        form(tmp_path / "logs" / f"seed_{seed}", seed)
    out = run_import(tmp_path, [tmp_path / "logs"])
    assert any(said in line for line in protocol(out)["lines"])
    assert any(said in remark for remark in submitted(out).remarks)


def test_a_run_that_is_packed_is_not_lost_among_others(tmp_path: Path) -> None:
    for seed in SEEDS:
        (packed if seed == 3 else padded)(tmp_path / "logs" / f"seed_{seed}", seed)
        a_json(tmp_path / "logs" / f"seed_{seed}" / "config.json", {"width": 64})
    out = run_import(tmp_path, [tmp_path / "logs"])
    assert {record.seed for record in submitted(out).records} == set(SEEDS)


def test_a_number_that_pyyaml_takes_for_text_equals_the_audits(tmp_path: Path) -> None:
    lightning(tmp_path / "logs" / "seed_0", 0)
    out = run_import(tmp_path, [tmp_path / "logs"])
    (found,) = (
        setting for setting in protocol(out)["settings"] if setting["setting"] == "step_size"
    )
    assert (found["found"], found["status"]) == (0.1, "equal")


# --- numbers of the end ---------------------------------------------------------------------------


def accuracy(seed: int) -> float:
    return 0.5 + seed / 16


def results(logs: Path) -> None:
    """Hugging Face's: the same numbers in two files."""
    for seed in SEEDS:
        run = logs / f"seed_{seed}"
        a_json(run / "all_results.json", {"epoch": 2.97, "accuracy": accuracy(seed), "n": 8})
        a_json(run / "eval_results.json", {"epoch": 2.97, "accuracy": accuracy(seed)})


def nested(logs: Path) -> None:
    """lm-eval's, with a date in the file's name."""
    for seed in SEEDS:
        tree = {"results": {"t": {"acc,none": accuracy(seed)}}, "config": {"random_seed": seed}}
        a_json(logs / f"m{seed}" / f"results_2031-01-0{seed + 1}.json", tree)


def summary(logs: Path) -> None:
    """W&B's folders."""
    for seed in SEEDS:
        files = logs / f"run-2031-abc{seed}" / "files"
        a_json(files / "wandb-summary.json", {"accuracy": accuracy(seed), "_step": 300})
        text(files / "config.yaml", f"wandb_version: 1\nseed: {{value: {seed}}}\n")
        (files.parent / "run.wandb").write_bytes(b":W&B")


def mlflow_search(logs: Path) -> None:
    rows = [
        {"run_id": f"{7 * seed:x}" * 8, "status": "FINISHED", "metrics.accuracy": accuracy(seed),
         "params.seed": seed, "params.width": 64, "tags.mlflow.runName": f"shrew-{seed}"}
        for seed in SEEDS
    ]  # fmt: skip
    encoders.table(logs / "runs.csv", rows)


def wandb_runs(logs: Path) -> None:
    rows = [
        {"Name": f"shrew-{7 * seed}", "State": "finished", "Created": f"2031-01-0{seed + 1}",
         "width": 64, "seed": seed, "accuracy": accuracy(seed)}
        for seed in SEEDS
    ]  # fmt: skip
    encoders.table(logs / "runs.csv", rows)


def folds(logs: Path) -> None:
    encoders.table(logs / "r.csv", [{"fold": s, "accuracy": accuracy(s)} for s in SEEDS])


def repeats(logs: Path) -> None:
    encoders.table(logs / "r.csv", [{"host": "a", "accuracy": accuracy(s)} for s in SEEDS])


def text_seeds(logs: Path) -> None:
    rows = [{"seed": f"seed{s}", "accuracy": accuracy(s)} for s in SEEDS]
    encoders.table(logs / "r.csv", rows)


@pytest.mark.parametrize(
    ("form", "mapping"),
    [
        (results, ""), (nested, 'mapping: {accuracy: "results.t.acc,none"}'), (summary, ""),
        (mlflow_search, ""), (wandb_runs, ""), (folds, "columns: {seed: fold}"),
        (repeats, "number: [seeds]"), (text_seeds, ""),
    ],
)  # fmt: skip
def test_a_number_is_read_in_every_form(
    tmp_path: Path, form: Callable[[Path], None], mapping: str
) -> None:
    form(tmp_path / "logs")
    out = run_import(tmp_path, [tmp_path / "logs"], mapping or None)
    found = {
        record.seed: record.measurements.scalars["accuracy"] for record in submitted(out).records
    }
    assert found == {seed: accuracy(seed) for seed in SEEDS}


# --- several runs in one file ---------------------------------------------------------------------


def tidy(logs: Path) -> None:
    rows = [
        {"mechanism": kind, "seed": seed, "layer": layer, "norm": seed + layer + (kind == "none")}
        for kind in ("full", "none") for seed in SEEDS for layer in (1, 2)
    ]  # fmt: skip
    encoders.table(logs / "tidy.csv", rows)


def tags_of_numbers(logs: Path) -> None:
    """Coordinates in the names of columns, as other programs write numbers."""
    for kind in ("full", "none"):
        rows = [
            {"seed": s, "norm/1.0": s + 1 + (kind == "none"), "norm/02": s + 2 + (kind == "none")}
            for s in SEEDS
        ]
        encoders.table(logs / f"{kind}.csv", rows)


def other_names(logs: Path) -> None:
    rows = [
        {"method": kind, "trial": seed, "block": layer, "norm": seed + layer + (kind == "none")}
        for kind in ("full", "none") for seed in SEEDS for layer in (1, 2)
    ]  # fmt: skip
    encoders.table(logs / "r.csv", rows)


ROLES = "columns: {seed: trial, settings: {mechanism: method}, axes: {layer: block}}"
RULES = """
mapping: {norm: "norm/{layer}"}
runs: [{match: "*none*", settings: {mechanism: none}}, {match: "*"}]
"""


def test_a_column_without_a_number_is_a_coordinate_that_was_not_observed(tmp_path: Path) -> None:
    rows = [{"seed": s, "norm/1": s + 1, "norm/2": "N/A"} for s in SEEDS]
    encoders.table(tmp_path / "r.csv", rows)
    out = run_import(tmp_path, [tmp_path / "r.csv"], 'mapping: {norm: "norm/{layer}"}')
    submission = submitted(out)
    assert [record.measurements.arrays["norm"].tolist() for record in submission.records] == [
        [s + 1] for s in SEEDS
    ]
    assert "Not observed: norm at layer 2 (seeds 0, 1, 2, 3, 4)." in submission.remarks


@pytest.mark.parametrize(
    ("form", "mapping"), [(tidy, ""), (tags_of_numbers, RULES), (other_names, ROLES)]
)
def test_runs_in_one_table_are_told_apart(
    tmp_path: Path, form: Callable[[Path], None], mapping: str
) -> None:
    form(tmp_path / "logs")
    out = run_import(tmp_path, [tmp_path / "logs"], mapping or None)
    found = {
        (record.settings["mechanism"], record.seed): record.measurements.arrays["norm"].tolist()
        for record in submitted(out).records
    }
    assert found == {
        (kind, seed): [seed + 1 + more, seed + 2 + more]
        for kind, more in (("full", 0), ("none", 1)) for seed in SEEDS
    }  # fmt: skip


def test_a_chart_has_a_column_for_each_run(tmp_path: Path) -> None:
    curves = {f"{kind}-seed{seed} - val": falling(seed + more)
              for kind, more in (("ours", 0), ("plain", 5)) for seed in SEEDS}  # fmt: skip
    rows = [{"Step": s, **{n: dict(c)[s] for n, c in curves.items()}} for s, _ in falling(0)]
    encoders.table(tmp_path / "logs" / "wandb_export.csv", rows)
    rules = 'runs: [{match: "*plain*", settings: {mechanism: none}}, {match: "*"}]'
    out = run_import(tmp_path, [tmp_path / "logs"], f"mapping: {{loss: val}}\n{rules}")
    found = [(record.settings["mechanism"], record.seed) for record in submitted(out).records]
    assert sorted(found) == [(kind, seed) for kind in ("full", "none") for seed in SEEDS]


# --- what is not pooled, and a way on -------------------------------------------------------------


def settings_in_lines(logs: Path) -> None:
    for seed in SEEDS:
        rows = [
            {"step": s, "loss": v, "args": {"seed": seed}, "hparams": {"lr": 0.1 + (seed == 4)}}
            for s, v in falling(seed)
        ]
        text(logs / f"r{seed}" / "results.jsonl", "\n".join(map(json.dumps, rows)))


def two_methods(logs: Path) -> None:
    rows = [
        {"method": kind, "seed": seed, "accuracy": accuracy(seed)}
        for kind in ("x", "y") for seed in SEEDS
    ]  # fmt: skip
    encoders.table(logs / "r.csv", rows)


def no_steps(logs: Path) -> None:
    for seed in SEEDS:
        curve = [(0, value) for _, value in falling(seed)]
        encoders.mlflow_run(logs / "0" / f"abc{seed}", {"loss": curve}, {"seed": seed})


def overlaps(logs: Path) -> None:
    for seed in SEEDS:
        overlapping(logs / f"seed_{seed}", seed)


def other_tags(logs: Path) -> None:
    for seed in SEEDS:
        encoders.table(logs / f"seed_{seed}" / "log.csv", [{"step": 0, "val/accuracy": 0.5}])


def no_seeds(logs: Path) -> None:
    for name in "abc":
        a_json(logs / name / "config.json", {"width": 64})
        encoders.table(logs / name / "log.csv", [{"step": 0, "accuracy": 0.5}])


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (settings_in_lines, "found hparams.lr = 1.1, where"),
        (two_methods, "method (setting), seed (seed), accuracy (measurement)"),
        (no_steps, "all 11 points have it, as if they were logged without a step"),
        (overlaps, "found step 60 after 70"),
        (other_tags, "found the tags val/accuracy; expected accuracy"),
        (no_seeds, "found no seed"),
        (folds, "fold (measurement)"),
        (repeats, "host (not used), accuracy (measurement)"),
    ],
)
def test_a_refusal_names_ways_on_that_exist(
    tmp_path: Path, form: Callable[[Path], None], said: str
) -> None:
    """Every mapping that a message writes out is tried; one cause is told once."""
    form(tmp_path / "logs")
    with pytest.raises(AuditError) as refused:
        run_import(tmp_path, [tmp_path / "logs"])
    message = str(refused.value)
    assert said in message
    assert len(message.splitlines()) <= 2
    assert "`" in message
    assert refused_although(tmp_path, tmp_path / "logs", message) == []


@pytest.mark.parametrize("in_files", [True, False])
def test_seeds_that_were_counted_are_told(tmp_path: Path, in_files: bool) -> None:
    """The defect: arms were compared run by run, and nothing said that the pairs were made up."""
    if in_files:
        no_seeds(tmp_path / "logs")
    else:
        repeats(tmp_path / "logs")
    out = run_import(tmp_path, [tmp_path / "logs"], "number: [seeds]")
    (told,) = (line for line in protocol(out)["lines"] if "no seed was logged" in line)
    assert told.startswith("Seeds 0, 1, 2")
    assert told in submitted(out).remarks


@pytest.mark.parametrize(("runs", "is_advised"), [(("net_0", "net_1"), False), ("01", True)])
def test_a_column_is_advised_for_the_seed_if_it_holds_whole_numbers(
    tmp_path: Path, runs: Iterable[str], is_advised: bool
) -> None:
    encoders.table(tmp_path / "r.csv", [{"run": run, "accuracy": 0.5} for run in runs])
    with pytest.raises(AuditError, match="found no seed") as refused:
        run_import(tmp_path, [tmp_path / "r.csv"])
    message = str(refused.value)
    assert ("`columns: {seed: run}`" in message) == is_advised
    assert "`number: [seeds]`" in message


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("method,accuracy\na,84.8 ± 4.75\n", "a mean with a deviation"),
        ("accuracy_mean,accuracy_std\n0.8,0.1\n", "found means and deviations"),
        ("seed,accuracy\n1,0.5\n1,0.6\n", "2 numbers (lines 2 and 3) with no step for seed 1"),
        ("seed,accuracy\n1,\n", "found no number of accuracy"),
        ("seed,accuracy\n1,nan\n", "else leave the cell empty"),
        ("a;accuracy\n0,5;0.25\n", "expected one decimal mark"),
        ("0,0.5\n1,0.25\n", "expected the names of the columns"),
    ],
)
def test_a_table_that_cannot_be_used_is_named_for_what_it_is(
    tmp_path: Path, table: str, said: str
) -> None:
    text(tmp_path / "r.csv", table)
    with pytest.raises(AuditError, match=re.escape(said)) as refused:
        run_import(tmp_path, [tmp_path / "r.csv"])
    assert refused_although(tmp_path, tmp_path / "r.csv", str(refused.value)) == []


def test_a_role_for_a_column_that_is_not_there_lists_the_columns(tmp_path: Path) -> None:
    folds(tmp_path)
    with pytest.raises(AuditError, match=r"no column 'flod'.*fold \(measurement\), accuracy"):
        run_import(tmp_path, [tmp_path / "r.csv"], "columns: {seed: flod}")


def test_files_that_hold_nothing_wanted_are_named(tmp_path: Path) -> None:
    for seed in SEEDS:
        lines_in_text(tmp_path / "logs" / f"seed_{seed}", seed)
        a_json(tmp_path / "logs" / f"seed_{seed}" / "package.json", {"version": 3})
    out = run_import(tmp_path, [tmp_path / "logs"])
    (line,) = (one for one in protocol(out)["lines"] if "package.json" in one)
    assert "holds nothing that is wanted, but version" in line
    text(tmp_path / "logs" / "seed_7" / "log.txt", '{"step": 0, "nothing": 1}\n')
    out = run_import(tmp_path / "logs", [tmp_path / "logs"])
    assert any("was logged by seed 7 of '" in one for one in protocol(out)["lines"])
