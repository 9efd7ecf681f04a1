"""From logs to a folder that judge reads: what is imported, what is kept out, what is refused."""

from __future__ import annotations

import json
import math
import os
import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import encoders
import pytest
from samples import (
    SEEDS,
    STEPS,
    contradicting,
    falling,
    protocol,
    refused_although,
    run_import,
    submitted,
)

from reproaudit.cli import run_command
from reproaudit.errors import AuditError
from reproaudit.logs import opening
from reproaudit.records import Record
from reproaudit.report.pages import markdown
from reproaudit.report.terminal import judged_lines
from reproaudit.scorecard.answers import scorecard_of_submission

Points = list[tuple[int, float]]
Logger = Callable[[Path, int, dict[str, Points], dict[str, Any]], None]
"""Writes one run below a folder: its seed, its curves and its configuration."""


def tensorboard_run(logs: Path, seed: int, curves: dict[str, Points], config: Any) -> None:
    encoders.event_file(logs / f"run{seed}" / "events.out.tfevents.1.h", curves)
    (logs / f"run{seed}" / "config.json").write_text(json.dumps(config))


def wandb_run(logs: Path, seed: int, curves: dict[str, Points], config: Any) -> None:
    steps = sorted({step for points in curves.values() for step, _ in points})
    rows = [
        {"_step": s, **{tag: v for tag, ps in curves.items() for at, v in ps if at == s}}
        for s in steps
    ]  # fmt: skip
    encoders.table(logs / f"run{seed}" / "history.csv", rows)
    (logs / f"run{seed}" / "config.json").write_text(json.dumps(config))
    (logs / f"run{seed}" / f"run-{seed}.wandb").write_bytes(b":W&B")


def mlflow_run(logs: Path, seed: int, curves: dict[str, Points], config: Any) -> None:
    encoders.mlflow_run(logs / "0" / f"abc{seed}", curves, config)


def mlflow_base(logs: Path, seed: int, curves: dict[str, Points], config: Any) -> None:
    logs.mkdir(exist_ok=True)
    encoders.mlflow_database(logs / f"m{seed}.db", {f"run {seed}": (curves, config)})


def csv_run(logs: Path, seed: int, curves: dict[str, Points], config: Any) -> None:
    rows = [{"step": s, "name": tag, "value": repr(v)} for tag, ps in curves.items() for s, v in ps]
    encoders.table(logs / f"run{seed}" / "log.csv", rows)
    (logs / f"run{seed}" / "config.json").write_text(json.dumps(config))


LOGGERS = [tensorboard_run, wandb_run, mlflow_run, mlflow_base, csv_run]


def write(logs: Path, logger: Logger = csv_run, seeds: Any = SEEDS, **config: Any) -> Path:
    """The runs of all seeds, each with its loss."""
    for seed in seeds:
        logger(logs, seed, {"loss": falling(seed), "lr": [(0, 0.1)]}, {"seed": seed, **config})
    return logs


def records(out: Path) -> dict[int, Record]:
    return {record.seed: record for record in submitted(out).records}


def loss(record: Record) -> Points:
    series = record.measurements.series["loss"]
    return list(zip(series.steps, series.values.tolist(), strict=True))


def refused(tmp_path: Path, logs: Path, mapping: str | None = None, **more: Any) -> str:
    """The one line that an import is refused with; nothing of it is left, and a way on leads on."""
    before = sorted(tmp_path.iterdir())
    began = time.process_time()
    with pytest.raises(AuditError) as error:
        run_import(tmp_path, [logs], mapping, **more)
    assert time.process_time() - began < 2
    assert not (tmp_path / "imported").exists()
    assert [path for path in sorted(tmp_path.iterdir()) if path.name.startswith(".")] == []
    assert set(before) <= set(tmp_path.iterdir())
    text = str(error.value)
    assert "\n" not in text
    assert error.value.exit_code == 2
    with TemporaryDirectory() as place:
        assert refused_although(Path(place), logs, text, mapping, **more) == []
    return text


# --- what is imported -----------------------------------------------------------------------------


@pytest.mark.parametrize("logger", LOGGERS)
def test_every_logger_leads_to_the_same_measurements(tmp_path: Path, logger: Logger) -> None:
    out = run_import(tmp_path, [write(tmp_path / "logs", logger, width=64)])
    found = records(out)
    assert {seed: loss(one) for seed, one in found.items()} == {s: falling(s) for s in SEEDS}
    ignored = ("ignored tags: lr", "ignored tags: epoch, lr")
    assert any(line in ignored for line in protocol(out)["lines"])
    by_name = {setting["setting"]: setting["status"] for setting in protocol(out)["settings"]}
    assert (by_name["width"], by_name["step_size"]) == ("equal", "absent")
    assert contradicting(out) == {}


def test_hyperparameters_in_a_folder_of_their_own_are_passed_over_and_named(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for seed in (3, 4):
        tensorboard_run(logs / f"seed_{seed}", seed, {"loss": falling(seed)}, None)
        below = logs / f"seed_{seed}" / f"run{seed}" / "1700000000.5" / "a.tfevents.1"
        encoders.event_file(below, {"final": [(0, 1.0)]}, {"seed": seed, "width": 8})
    out = run_import(tmp_path, [logs])
    assert records(out).keys() == {3, 4}
    assert len([one for one in protocol(out)["skipped"] if "hyperparameters" in one]) == 2


def test_a_table_with_seeds_and_axes(tmp_path: Path) -> None:
    rows = [
        {"seed": seed, "step": step, "layer": layer, "layer_loss": seed + step + layer / 8}
        for seed in SEEDS for step in STEPS for layer in (1, 2)
    ]  # fmt: skip
    out = run_import(tmp_path, [encoders.table(tmp_path / "log.csv", rows)])
    series = records(out)[3].measurements.series["layer_loss"]
    assert series.steps == STEPS
    assert series.values.tolist() == [[3 + s + 1 / 8, 3 + s + 2 / 8] for s in STEPS]


def test_a_mapping_names_tags_axes_and_formulas(tmp_path: Path) -> None:
    curves = {
        "train/nll": falling(0), "acc": [(0, 0.1), (100, 0.9)], "norm.1": [(100, 3.0)],
        "norm.2": [(100, 4.0)], "l1": falling(1), "l2": falling(2),
    }  # fmt: skip
    csv_run(tmp_path / "logs", 0, curves, {"seed": 0, "lr": 0.1})
    mapping = """
        who: Ada
        date: 2025-01-02
        mapping:
          loss: train/nll
          norm: norm.{layer}
          accuracy: {expression: last(acc)}
          layer_loss:
            expression: log - mean(l1)
            let: {log: "l{layer}"}
        configuration: {step_size: lr}
    """
    out = run_import(tmp_path, [tmp_path / "logs"], mapping)
    measured = records(out)[0].measurements
    assert measured.scalars["accuracy"] == 0.9
    assert measured.arrays["norm"].tolist() == [3.0, 4.0]
    mean = sum(value for _, value in curves["l1"]) / len(curves["l1"])
    expected = [dict(curves[tag])[50] - mean for tag in ("l1", "l2")]
    assert measured.series["layer_loss"].values[5].tolist() == pytest.approx(expected, abs=1e-15)
    assert submitted(out).records[0].origin is not None
    assert str(submitted(out).records[0].origin.made) == "2025-01-02"
    settings = {setting["setting"]: setting for setting in protocol(out)["settings"]}
    assert settings["step_size"]["status"] == "equal"


def test_runs_that_were_left_out_and_formulas_stand_beside_the_origin(tmp_path: Path) -> None:
    """The defect: bad seeds were ignored, or a formula bettered them, and the page said nothing."""
    for seed in range(8):
        csv_run(tmp_path / "logs", seed, {"loss": falling(seed)}, {"seed": seed})
    mapping = """
        mapping:
          accuracy: {expression: "last(g + 0.9)", let: {g: loss}}
        runs:
          - {match: "*run6*", ignore: true}
          - {match: "*run7*", ignore: true}
          - {match: "*"}
    """
    out = run_import(tmp_path, [tmp_path / "logs"], mapping)
    assert len(protocol(out)["ignored_runs"]) == 2
    card = scorecard_of_submission(submitted(out))
    page = markdown(card).replace("\\", "")
    assert "Ignored, as the mapping says: run6/log.csv, run7/log.csv." in page
    formula = "last(g + 0.9), where g is 'loss'."
    assert f"'accuracy' was taken from the logs as {formula}" in page


def test_controls_are_told_by_their_configuration(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "ours", mechanism="full")
    write(tmp_path / "logs" / "ablation", mechanism="none")
    write(tmp_path / "logs" / "built", mechanism="constructed")
    submission = submitted(run_import(tmp_path, [tmp_path / "logs"]))
    assert not any(remark.startswith("No runs") for remark in submission.remarks)
    assert len(submission.records) == 15


@pytest.mark.parametrize("in_tags", [True, False])
def test_runs_of_mlflow_are_called_as_in_mlflow(tmp_path: Path, in_tags: bool) -> None:
    """The defect: those of the file store were called by their ids, for which no pattern is."""
    for kind in ("ours", "ablation"):
        for seed in SEEDS:
            name = f"{kind}_{seed}" if seed else kind
            folder = tmp_path / "mlruns" / "0" / f"{kind[0]}b{seed}"
            encoders.mlflow_run(folder, {"loss": falling(seed)}, {"seed": seed}, name=name)
            if in_tags:
                encoders.mlflow_run(folder, {}, {}, name='""')
                (folder / "tags" / "mlflow.runName").write_text(name)
    encoders.mlflow_run(tmp_path / "mlruns" / "0" / "ab9", {}, {"seed": 9}, name="ablation")
    rules = "runs: [{match: 'ablation*', settings: {mechanism: none}}, {match: '*(ab9)'}]"
    found = submitted(run_import(tmp_path, [tmp_path / "mlruns"], rules)).records
    assert [one.settings["mechanism"] for one in found].count("none") == 6


def test_controls_are_told_by_a_rule(tmp_path: Path) -> None:
    for name, first in (("ours", 0), ("ablation", 5)):
        for seed in range(first, first + 5):
            folder = tmp_path / "logs" / f"{name}_seed_{seed}"
            tensorboard_run(folder, 0, {"loss": falling(seed)}, None)
    assert "in more than its seed" in refused(tmp_path, tmp_path / "logs")
    rules = "runs: [{match: '*ablation*', settings: {mechanism: none}}, {match: '*ours*'}]"
    submission = submitted(run_import(tmp_path, [tmp_path / "logs"], rules))
    mechanisms = [record.settings["mechanism"] for record in submission.records]
    assert (mechanisms.count("none"), mechanisms.count("full")) == (5, 5)


def test_only_what_a_claim_rests_on(tmp_path: Path) -> None:
    csv_run(tmp_path / "logs", 0, {"loss": falling(0), "accuracy": [(1, 1.0)]}, {"seed": 0})
    out = run_import(tmp_path, [tmp_path / "logs"], claims=("mini.converges",))
    assert records(out)[0].measurements.names == {"loss"}
    assert "ignored tags: accuracy" in protocol(out)["lines"]
    text = refused(tmp_path / "x", tmp_path / "logs", claims=("mini.nothing",)) if (
        tmp_path / "x").mkdir() is None else ""  # fmt: skip
    assert "no claim 'mini.nothing'" in text


def test_wandbs_own_logs_are_passed_over_and_named(tmp_path: Path) -> None:
    out = run_import(tmp_path, [write(tmp_path / "logs", wandb_run)])
    assert len([one for one in protocol(out)["skipped"] if "scan_history" in one]) == len(SEEDS)


# --- settings -------------------------------------------------------------------------------------


def test_settings_that_contradict_the_audit_go_into_the_manifest(tmp_path: Path) -> None:
    stated = {"width": "128", "warm_up": "False", "sizes": "[1, 2]", "init_scale": 0.01}
    out = run_import(tmp_path, [write(tmp_path / "logs", mlflow_run, **stated)])
    settings = {setting["setting"]: setting for setting in protocol(out)["settings"]}
    found = {name: setting["status"] for name, setting in settings.items()}
    assert found["width"] == found["warm_up"] == found["init_scale"] == "contradicting"
    assert found["sizes"] == "equal"
    assert records(out)[0].settings["width"] == 128
    assert records(out)[0].settings["warm_up"] is False
    others = "width 128 in place of 64, warm_up false in place of true, init_scale 0.01 in place of"
    assert others in submitted(out).remarks[0]


def test_of_runs_that_may_vary_the_one_that_contradicts_the_audit_is_told(tmp_path: Path) -> None:
    write(tmp_path / "logs", seeds=SEEDS[:3], width=64)
    write(tmp_path / "logs", seeds=SEEDS[3:], width=128)
    out = run_import(tmp_path, [tmp_path / "logs"], "vary: [width]")
    assert contradicting(out) == {"width": 128}
    assert "width 128 in place of 64" in submitted(out).remarks[0]


def test_the_tier_decides_what_a_setting_is_held_against(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs", steps=100)
    assert submitted(run_import(tmp_path, [logs], tier="quick")).tier == "quick"
    assert "expected quick or paper" in refused(tmp_path / "logs", logs, tier="smoke")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"width": "wide"}, "'wide'"),
        ({"model.width": 1, "head.width": 2}, "several values that may be the setting 'width'"),
        ({"warm_up": 3}, "warm_up = 3"),
        ({"step_size": "inf"}, "step_size"),
        ({"mechanism": "half"}, "neither the experiment nor a control has"),
    ],
)
def test_a_setting_that_cannot_be_compared_is_told(
    tmp_path: Path, config: dict[str, Any], said: str
) -> None:
    logs = write(tmp_path / "logs", **config)
    assert said in refused(tmp_path, logs)
    (name,) = {key.rpartition(".")[2] for key in config}
    if name != "mechanism":
        run_import(tmp_path, [logs], f"configuration: {{{name}: null}}")


def test_a_broken_state_is_told_by_the_path_where_it_lies(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "bert-seed0" / "checkpoint-100" / "trainer_state.json"
    file.parent.mkdir(parents=True)
    file.write_text("{")
    assert refused(tmp_path, tmp_path / "logs").startswith(f"{file}: found text that is no JSON")


# --- completeness ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("curve", "said"),
    [
        (
            [p for p in falling(2) if p[0] != 50],
            "1 of its steps are missing, the first after step 40",
        ),
        (falling(2)[:-3], "seed 2: it lacks 3 of the 11 steps"),
        ([(2 * s, v) for s, v in falling(2)], "lacks"),
        ([(0, 1.0)], "lacks 10"),
    ],
)
def test_what_is_not_whole_in_one_seed_is_kept_out_for_all(
    tmp_path: Path, curve: Points, said: str
) -> None:
    logs = write(tmp_path / "logs", seeds=(0, 1))
    csv_run(logs, 2, {"loss": curve, "accuracy": [(100, 1.0)]}, {"seed": 2})
    for seed in (0, 1):
        csv_run(logs, seed, {"loss": falling(seed), "accuracy": [(100, 1.0)]}, {"seed": seed})
    out = run_import(tmp_path, [logs])
    assert all("loss" not in record.measurements.names for record in records(out).values())
    (line,) = (one for one in protocol(out)["lines"] if one.startswith("Left out"))
    assert said in line
    assert line in submitted(out).remarks


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        ("full", "left out: seed 2: found nan at step 500 (loss)"),
        ("none", "left out of none: seed 2: found nan at step 500 (loss)"),
        ("", "loss was not measured"),
    ],
)
def test_a_claim_that_lacks_a_curve_says_that_it_was_left_out(
    tmp_path: Path, mechanism: str, said: str
) -> None:
    """The defect: it asked for more runs, or blamed the control."""
    mapping = 'runs: [{match: "*full/run2/*", status: diverged}]' if not mechanism else None
    for kind in ("full", "none", "constructed"):
        for seed in SEEDS:
            level = 1.0 if kind == "none" else 2.0**-7
            curve = falling(seed, level) + [
                (s, level + 2.0**-12 * seed) for s in range(110, 501, 10)
            ]
            if (kind, seed) == (mechanism or "full", 2):
                curve[-1] = (500, float("nan"))
            curves = {"accuracy": [(100, 1.0)], ("loss" if mechanism else "other"): curve}
            csv_run(tmp_path / "logs" / kind, seed, curves, {"seed": seed, "mechanism": kind})
    card = scorecard_of_submission(submitted(run_import(tmp_path, [tmp_path / "logs"], mapping)))
    assert card.answers[0].certainty == (said,)
    assert said in " ".join(markdown(card).replace("\\", "").split())
    assert said[:30] in " ".join(" ".join(judged_lines(card)).split())


def test_an_end_before_the_configured_one_is_named(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs", max_steps=500)
    assert "it ends at step 100, and the configuration says max_steps = 500" in refused(
        tmp_path, logs
    )
    run_import(tmp_path, [logs], "complete: the script stops when the loss is flat")


def test_logs_that_say_that_they_are_cut_are_not_attested_whole(tmp_path: Path) -> None:
    for seed in SEEDS:
        folder = tmp_path / "logs" / f"r{seed}"
        encoders.mlflow_run(folder, {"loss": falling(seed)}, {"seed": seed}, status=4)
    text = refused(tmp_path, tmp_path / "logs", "complete: I say so")
    assert "FAILED" in text
    assert "status: diverged" not in text, "a run that crashed has not diverged"


@pytest.mark.parametrize(
    ("end", "other", "seeds"),
    [(100, 0.1, "seed 2"), (100, "", "seed 2"), (50, "", "seed 0, 1, 2, 3, 4")],
)
def test_a_run_whose_cells_become_empty_is_asked_about_and_never_attested_whole(
    tmp_path: Path, end: int, other: float | str, seeds: str
) -> None:
    """The defect: pandas writes NaN as an empty cell, and a diverged run passed for a shorter."""
    rows: list[dict[str, Any]] = [
        {"seed": seed, "step": s, "loss": value, "other": value}
        for seed in SEEDS for s, value in falling(seed)
    ]  # fmt: skip
    for row in rows:
        if row["step"] > (50 if row["seed"] == 2 else end):
            row |= {"loss": "", "other": other}
    encoders.table(tmp_path / "all.csv", rows)
    text = refused(tmp_path, tmp_path / "all.csv", "complete: the cells are empty")
    assert f"{seeds}: its cells are empty from step 60 on" in text
    assert f'(seed {seeds[5]})", status: diverged}}' in text
    rule = "runs: [{match: '*seed ?)', status: diverged}]"
    assert records(run_import(tmp_path, [tmp_path / "all.csv"], rule))[2].status == "diverged"


def test_a_curve_that_ends_before_the_others_may_have_diverged_or_be_whole(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs", seeds=(0, 1, 3, 4))
    csv_run(logs, 2, {"loss": falling(2)[:5]}, {"seed": 2})
    text = refused(tmp_path, logs)
    assert "seed 2: it lacks 6 of the 11 steps" in text
    assert '`runs: [{match: "*run2/log.csv", status: crashed}]`' in text
    assert "diverged" not in text, "what was cut short has not diverged"
    assert "`complete: …`" in text


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("curve", "said"),
    [
        ([(0, 1.0), (10, 0.5), (10, 0.5)], "step 10 a second time"),
        ([(0, 1.0), (20, 0.5), (10, 0.5), (20, 0.5)], "step 10 after 20"),
        ([(-10, 1.0), (0, 0.5)], "step -10"),
        ([(0, 1.0), (10, float("nan"))], "nan at step 10"),
        ([(0, 1.0), (10, float("inf"))], "inf at step 10"),
    ],
)
def test_bad_curves_are_told(tmp_path: Path, curve: Points, said: str) -> None:
    csv_run(tmp_path / "logs", 0, {"loss": curve}, {"seed": 0})
    text = refused(tmp_path, tmp_path / "logs")
    assert said in text
    assert "run0" in text or "seed 0" in text
    # what is not wanted may be as bad as it likes
    csv_run(tmp_path / "logs", 0, {"other": curve, "loss": falling(0)}, {"seed": 0})
    run_import(tmp_path, [tmp_path / "logs"])


def test_a_run_that_diverged_keeps_its_numbers(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs", seeds=(0, 1))
    csv_run(logs, 2, {"loss": [(0, 1.0), (10, float("inf"))]}, {"seed": 2})
    out = run_import(tmp_path, [logs], "runs: [{match: '*run2*', status: diverged}]")
    assert records(out)[2].status == "diverged"
    assert loss(records(out)[0]) == falling(0)


def test_a_run_that_diverged_may_lack_what_the_others_logged(tmp_path: Path) -> None:
    rows = [{"seed": seed, "accuracy": "" if seed == 2 else 0.5 + seed / 10} for seed in SEEDS]
    encoders.table(tmp_path / "all.csv", rows)
    (tmp_path / "open").mkdir()
    out = run_import(tmp_path / "open", [tmp_path / "all.csv"])
    assert records(out)[2].status == "completed"
    assert records(out)[2].measurements.names == set()
    (line,) = (one for one in protocol(out)["lines"] if "was logged by seed 2 of" in one)
    (rule,) = re.findall(r"`runs: \[(.*?)\]`", line)
    assert rule.endswith("status: crashed}"), "it may not have diverged"
    (tmp_path / "crashed").mkdir()
    out = run_import(tmp_path / "crashed", [tmp_path / "all.csv"], f"runs: [{rule}]")
    assert 2 not in records(out)
    rule = rule.replace("crashed", "diverged")
    found = records(run_import(tmp_path, [tmp_path / "all.csv"], f"runs: [{rule}]"))
    assert [one.status for one in found.values()].count("diverged") == 1
    assert found[2].measurements.names == set()
    assert found[3].measurements.scalars == {"accuracy": 0.8}


@pytest.mark.parametrize("first", [True, False])
def test_a_rule_that_says_how_a_run_ended_leaves_its_role_to_the_others(
    tmp_path: Path, first: bool
) -> None:
    """The defect: appended, it did nothing; put first, it made an arm's run the experiment's."""
    for name in ("ours", "ablation"):
        for seed in SEEDS:
            curve = falling(seed) if (name, seed) != ("ablation", 1) else [(0, 1.0), (10, math.nan)]
            encoders.event_file(
                tmp_path / "logs" / f"{name}_seed{seed}" / "events.out.tfevents.1.h",
                {"loss": curve},
            )
    rules = [{"match": "ablation_*", "settings": {"mechanism": "none"}}, {"match": "ours_*"}]
    ended = {"match": "*logs/ablation_seed1", "status": "diverged"}
    every = [ended, *rules] if first else [*rules, ended]
    found = submitted(run_import(tmp_path, [tmp_path / "logs"], json.dumps({"runs": every})))
    diverged = [record for record in found.records if record.status == "diverged"]
    assert [(one.settings["mechanism"], one.seed) for one in diverged] == [("none", 1)]
    assert len(found.records) == 10


@pytest.mark.parametrize(
    ("key", "values"), [("lr", (0.1, 0.2)), ("data_path", ("a", "b")), ("lr", ("0.1", "0.2"))]
)
def test_runs_that_mix_configurations_are_told(tmp_path: Path, key: str, values: Any) -> None:
    for seed in (1, 2):
        csv_run(
            tmp_path / "logs", seed, {"loss": falling(seed)}, {"seed": seed, key: values[seed - 1]}
        )
    text = refused(tmp_path, tmp_path / "logs")
    assert f"found {key} = " in text
    run_import(tmp_path, [tmp_path / "logs"], f"vary: [{key}]")


def test_what_is_each_runs_own_affair_may_differ(tmp_path: Path) -> None:
    for seed in (1, 2):
        own = {"run_name": f"x{seed * 7}", "output_dir": f"/o/{seed * 5}"}
        csv_run(tmp_path / "logs", seed, {"loss": falling(seed)}, {"seed": seed, **own})
    run_import(tmp_path, [tmp_path / "logs"])


def test_one_seed_twice_is_told(tmp_path: Path) -> None:
    csv_run(tmp_path / "logs", 1, {"loss": falling(1)}, {"seed": 7})
    csv_run(tmp_path / "logs", 2, {"loss": falling(2)}, {"seed": 7})
    assert "seed 7 of 'training' a second time" in refused(tmp_path, tmp_path / "logs")
    run_import(tmp_path, [tmp_path / "logs"], "runs: [{match: '*run2*', seed: 8}]")


def test_the_role_of_each_group_of_runs_is_asked_for(tmp_path: Path) -> None:
    """The defect: the first run by name was taken for the experiment, the others for an arm."""
    for name in ("net", "net_ablation", "a_net"):
        for seed in SEEDS:
            folder = tmp_path / "logs" / f"{name}_{seed}"
            encoders.event_file(folder / "events.out.tfevents.1.h", {"loss": falling(seed)})
    text = refused(tmp_path, tmp_path / "logs", "number: [seeds]")
    rules = '{match: "net_ablation_*", settings: ROLE}, {match: "a_net_*", settings: ROLE}, '
    assert rules + '{match: "net_*", settings: ROLE}' in text
    arms = "{mechanism: 'none'} or {mechanism: 'constructed'}"
    assert f"{{}} for 'training' itself or {arms} for ROLE" in text
    told = (f"{{mechanism: {one}}}" if one else "{}" for one in ("none", "constructed", ""))
    mapping = "number: [seeds]\nruns: [" + (rules + '{match: "net_*", settings: ROLE}]')
    for settings in told:
        mapping = mapping.replace("ROLE", settings, 1)
    found = submitted(run_import(tmp_path, [tmp_path / "logs"], mapping)).records
    assert len(found) == 15


def test_runs_with_a_number_beside_the_seed_are_one_group(tmp_path: Path) -> None:
    rows = [
        {"run": f"{name}{seed + first}", "seed": seed, "accuracy": 0.5 + seed / 10}
        for name, first in (("a", 1), ("b", 6)) for seed in SEEDS
    ]  # fmt: skip
    encoders.table(tmp_path / "all.csv", rows)
    text = refused(tmp_path, tmp_path / "all.csv")
    assert '{match: "all.csv (a*, seed *)", settings: ROLE}' in text
    assert '{match: "all.csv (b*, seed *)", settings: ROLE}' in text


def test_a_name_that_fits_a_setting_is_asked_about_before_runs_are_pooled(tmp_path: Path) -> None:
    for kind in ("full", "none"):
        for seed in SEEDS:
            csv_run(
                tmp_path / "logs" / kind,
                seed,
                {"loss": falling(seed)},
                {"seed": seed, "arch": kind},
            )
    text = refused(tmp_path, tmp_path / "logs")
    way = "`configuration: {mechanism: arch}`"
    assert f"If it is the audit's 'mechanism', write {way}; else say" in text
    assert len(text.splitlines()) == 1
    run_import(tmp_path, [tmp_path / "logs"], way.strip("`"))


def test_tags_that_no_measurement_is_called_are_told(tmp_path: Path) -> None:
    csv_run(tmp_path / "logs", 1, {"train/loss": falling(1)}, {"seed": 7})
    assert "found the tags train/loss; expected" in refused(tmp_path, tmp_path / "logs")
    assert "Did you mean 'train/loss'?" in refused(
        tmp_path, tmp_path / "logs", "mapping: {loss: train_loss}"
    )
    assert "unknown measurement" in refused(tmp_path, tmp_path / "logs", "mapping: {los: x}")


@pytest.mark.parametrize(
    ("tags", "way"),
    [
        (
            ("Loss/eval", "Accuracy"),
            '{accuracy: {expression: last(v), let: {v: "Accuracy"}}, loss: "Loss/eval"}',
        ),
        (("train.loss", "val.loss"), "{loss: TAG}"),
        (("a", "b"), "{loss: TAG}"),
    ],
)
def test_among_several_tags_none_is_guessed(
    tmp_path: Path, tags: tuple[str, ...], way: str
) -> None:
    csv_run(tmp_path / "logs", 1, dict.fromkeys(tags, falling(1)), {"seed": 7})
    text = refused(tmp_path, tmp_path / "logs")
    assert f"found the tags {', '.join(sorted(tags))}; expected" in text
    assert text.endswith(f"`mapping: {way}`.")


@pytest.mark.parametrize(
    "mapping",
    [
        "[]", "mapping: 1", "what: 1", "mapping: {loss: {tag: a, expression: b}}",
        "runs: [{match: 'nothing'}]", "runs: [{}]", "configuration: {nothing: x}",
        "mapping: {loss: {expression: 'open(1)'}}", "mapping: {loss: 'x{depth}'}", "a: !!map {}",
        "runs: [{match: '*', experiment: other}]", "runs: [{match: '*', settings: {a: 1}}]",
        "runs: [{match: '*', ignore: true}]", "mapping: {accuracy: loss}", "step: nothing",
        "mapping: {layer_loss: {expression: '0.5 * loss'}}", "mapping: {layer_loss: loss}",
        "mapping: {loss: {expression: '1'}}", "mapping: {loss: {expression: '(loss - 9) ** 0.5'}}",
    ],
)  # fmt: skip
def test_a_mapping_that_does_not_fit_is_told(tmp_path: Path, mapping: str) -> None:
    refused(tmp_path, write(tmp_path / "logs", seeds=(0,)), mapping)


def test_logs_that_are_none_are_told(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    assert "no log" in refused(tmp_path, tmp_path / "logs")
    assert "no such file" in refused(tmp_path, tmp_path / "missing")
    (tmp_path / "model.pt").write_bytes(b"")
    assert "model.pt (no log)" in refused(tmp_path, tmp_path / "model.pt")


def test_a_folder_that_holds_something_is_never_written_to(tmp_path: Path) -> None:
    (tmp_path / "imported").mkdir()
    (tmp_path / "imported" / "mine").write_text("x")
    with pytest.raises(AuditError, match="expected a new folder"):
        run_import(tmp_path, [write(tmp_path / "logs")])
    assert (tmp_path / "imported" / "mine").read_text() == "x"


# --- hostile files --------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log.csv")
    assert "cannot be read: a pipe" in refused(tmp_path, tmp_path / "log.csv")
    logs = write(tmp_path / "logs")
    os.mkfifo(logs / "pipe.csv")
    run_import(tmp_path, [logs])


def test_links_are_passed_over_and_named(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs")
    secret = encoders.table(tmp_path / "secret.csv", [{"step": 1, "loss": 1}])
    (logs / "seed_9.csv").symlink_to(secret)
    (logs / "latest").symlink_to(logs / "run0")
    (logs / "up").symlink_to(tmp_path)
    skipped = protocol(run_import(tmp_path, [logs]))["skipped"]
    assert sorted(one.rpartition("/")[2] for one in skipped) == [
        "latest (a link)", "seed_9.csv (a link)", "up (a link)",
    ]  # fmt: skip


def archived(file: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file


def test_an_archive_is_read_like_its_folder(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs")
    members = {
        file.relative_to(tmp_path).as_posix(): file.read_bytes()
        for file in logs.rglob("*") if file.is_file()
    }  # fmt: skip
    twins = {f"__MACOSX/{Path(name).parent}/._{Path(name).name}": b"\0\5\26\7" for name in members}
    hidden = {"logs/.DS_Store": b"\0\0\0\1Bud1", **twins}  # as macOS packs them
    out = run_import(tmp_path, [archived(tmp_path / "logs.zip", {**members, **hidden})])
    assert {seed: loss(record) for seed, record in records(out).items()} == {
        s: falling(s) for s in SEEDS
    }
    assert any("__MACOSX (hidden)" in one for one in protocol(out)["skipped"])


ROW = b"seed,step,loss\n0,0,1.5\n"
HOSTILE: list[tuple[dict[str, bytes], str]] = [
    *(({path: ROW}, "leads out") for path in ("../evil.csv", "/evil.csv", "a/../../evil.csv")),
    ({"..\\e.csv": ROW}, "leads out"),
    ({"log.csv": bytes(10**6)}, "bytes unpacked"),
    *(({"a/": b"", "a/log.csv": ROW, again: ROW}, f"found '{again}' twice in it")
      for again in ("a//log.csv", "./a/log.csv")),
]  # fmt: skip


@pytest.mark.parametrize(("members", "said"), HOSTILE)
def test_a_hostile_archive_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, members: dict[str, bytes], said: str
) -> None:
    monkeypatch.setattr(opening, "MAX_UNPACKED_BYTES", 1000)
    assert said in refused(tmp_path, archived(tmp_path / "logs.zip", members))
    assert not (tmp_path.parent / "evil.csv").exists()


def test_links_in_an_archive_are_never_made(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.csv")
    link.external_attr = 0o120777 << 16
    rows = b"seed,step,loss\n" + b"".join(b"0,%d,1.5\n" % s for s in STEPS)
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("log.csv", rows)
    out = run_import(tmp_path, [tmp_path / "logs.zip"])
    assert records(out).keys() == {0}
    assert "link.csv (a link)" in protocol(out)["skipped"][0]


def test_a_checkpoint_whose_number_is_none_is_passed_over(tmp_path: Path) -> None:
    logs = write(tmp_path / "logs")
    (logs / "checkpoint-\u00b2").mkdir()
    (logs / "checkpoint-\u00b2" / "trainer_state.json").write_text("{}")
    assert records(run_import(tmp_path, [logs])).keys() == set(SEEDS)


def test_names_with_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    csv_run(logs, 0, {"loss": [(0, 1.0), (0, 2.0)]}, {"seed": 0})
    (logs / "run0" / "log.csv").rename(logs / "run0" / "a\x1b[31m.csv")
    assert "\x1b" not in refused(tmp_path, logs)


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    (tmp_path / "logs.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    assert "cannot be unpacked" in refused(tmp_path, tmp_path / "logs.zip")


@pytest.mark.parametrize("name", ["logs.tar.gz", "logs.tar", "events.out.tfevents.1.gz"])
def test_what_is_packed_otherwise_is_passed_over_and_named(tmp_path: Path, name: str) -> None:
    logs = write(tmp_path / "logs")
    (logs / name).write_bytes(b"")
    assert f"{name} (packed; unpack it)" in refused(tmp_path, logs / name)
    assert f"{name} (packed; unpack it)" in protocol(run_import(tmp_path, [logs]))["skipped"][0]


# --- the command line -----------------------------------------------------------------------------


def test_what_is_left_out_is_printed_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tutorial = Path(__file__).parents[2] / "docs" / "tutorial"
    logs = tmp_path / "logs"
    for kind in ("logistic", "squared"):
        for seed in SEEDS:
            reached = 10_000 if (kind, seed) == ("logistic", 2) else 20_000
            history = [{"step": s, "cosine": 0.9, "norm": 1.0} for s in range(0, reached + 1, 2000)]
            state = {"global_step": reached, "max_steps": 20_000, "log_history": history}
            folder = logs / f"{kind}-seed{seed}"
            folder.mkdir(parents=True)
            (folder / "trainer_state.json").write_text(json.dumps(state))
            (folder / "args.json").write_text(json.dumps({"loss": kind}))
    command = ["import", "soudry2018", str(logs), "--audits", str(tutorial), "--tier", "quick"]
    assert run_command([*command, "--out", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(";")[0] for line in lines if line.startswith("Left out")] == [
        f"Left out: '{name}' of 'separable': seed 2: its Trainer stopped at step 10000 of 20000"
        for name in ("cosine", "norm")
    ]
