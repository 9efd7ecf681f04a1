"""Choices of whoever imports logs: each is told beside the verdict, and none can be taken out."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import encoders
import pytest
import yaml
from samples import AUDIT, SEEDS, falling, protocol, run_import, submitted

from rendering import render_markdown
from reproaudit.audit.plan import Batch
from reproaudit.commands.judge import scorecard_of_submission
from reproaudit.elsewhere import noticing
from reproaudit.elsewhere.in_memory import MeasuredRuns, write_submission
from reproaudit.elsewhere.logged import LogError, LoggedConfig, LoggedRun
from reproaudit.elsewhere.roles import PlacedRun
from reproaudit.errors import SpecError, UsageError
from reproaudit.reports.register.entries import EntrySource, paper_entry
from reproaudit.reports.register.table import register_csv


def write(logs: Path, seeds: Any = SEEDS, **config: Any) -> Path:
    """The runs of some seeds, each with its loss and its configuration."""
    for seed in seeds:
        level = 0.5 if config.get("mechanism") == "none" else 2.0**-7
        rows = [{"step": s, "loss": repr(v)} for s, v in falling(seed, level)]
        encoders.table(logs / f"run-seed_{seed}" / "metrics.csv", rows)
        stated = json.dumps({"seed": seed, **config})
        (logs / f"run-seed_{seed}" / "args.json").write_text(stated)
    return logs


def remarks(out: Path) -> str:
    return " ".join(submitted(out).remarks)


def test_logs_that_are_as_the_audit_says_are_not_remarked_on(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "ours", mechanism="full", width=64, output_dir="a")
    write(tmp_path / "logs" / "ablation", mechanism="none", width=64, output_dir="b")
    assert submitted(run_import(tmp_path, [tmp_path / "logs"])).remarks == ()


@pytest.mark.parametrize("by_rule", [True, False])
def test_seeds_that_are_called_otherwise_are_told(tmp_path: Path, by_rule: bool) -> None:
    """The defect: five runs were picked out of twenty, and called seeds 0 to 4."""
    logs = write(tmp_path / "logs", (0, 1, 2, 3, 16))
    rule = 'runs: [{match: "*seed_16/*", seed: 4}]' if by_rule else None
    more: dict[str, Any] = {} if by_rule else {"seeds": ("*seed_16/*=4",)}
    said = remarks(run_import(tmp_path, [logs], rule, **more))
    assert "run-seed_16/metrics.csv is called seed 4 and has 16 in its configuration" in said
    assert str(tmp_path) not in said


def test_a_seed_that_is_said_where_no_log_has_one_is_not_remarked_on(tmp_path: Path) -> None:
    rows = [{"step": s, "loss": repr(v)} for s, v in falling(0)]
    encoders.table(tmp_path / "logs" / "metrics.csv", rows)
    out = run_import(tmp_path, [tmp_path / "logs"], seeds=("*=7",))
    assert submitted(out).remarks == ()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "long"])
def test_steps_without_any_value_are_told(tmp_path: Path, kind: str) -> None:
    """The defect: a curve of which every other number was struck out looked evenly logged."""
    for seed in SEEDS:
        rows = [{"step": s, "loss": repr(v)} for s, v in falling(seed)]
        for row in rows[1::2]:
            row["loss"] = None if kind == "jsonl" else ""
        if kind == "long":
            rows = [{"step": one["step"], "tag": "loss", "value": one["loss"]} for one in rows]
        run = tmp_path / "logs" / f"run-seed_{seed}"
        if kind == "jsonl":
            run.mkdir(parents=True)
            (run / "metrics.jsonl").write_text("\n".join(map(json.dumps, rows)))
        else:
            encoders.table(run / "metrics.csv", rows)
    (said,) = submitted(run_import(tmp_path, [tmp_path / "logs"])).remarks
    assert said.startswith("Steps that stand in the logs without any value were taken as never")
    assert f"run-seed_3/metrics.{'jsonl' if kind == 'jsonl' else 'csv'} has 5, the first 10" in said


def test_tags_that_are_logged_at_steps_of_their_own_are_not_remarked_on(tmp_path: Path) -> None:
    for seed in SEEDS:
        rows = [{"step": s, "loss": repr(v), "other": ""} for s, v in falling(seed)]
        between = [{"step": s + 5, "loss": "", "other": 1} for s, _ in falling(seed)[:-1]]
        twice = [{**one, "loss": ""} for one in rows[:2]]
        every = sorted([*rows, *between, *twice], key=lambda one: one["step"])
        encoders.table(tmp_path / "logs" / f"run-seed_{seed}" / "metrics.csv", every)
    out = run_import(tmp_path, [tmp_path / "logs"])
    assert submitted(out).remarks == ()
    assert protocol(out)["withheld"] == []


def test_a_control_that_was_trained_otherwise_is_told(tmp_path: Path) -> None:
    """The defect: the control had another learning rate, and one epoch; nobody compared them."""
    write(tmp_path / "logs" / "ours", mechanism="full", lr=0.1, epochs=100, pretrained=True)
    write(tmp_path / "logs" / "ablation", mechanism="none", lr=1e-6, epochs=1)
    (said,) = submitted(run_import(tmp_path, [tmp_path / "logs"])).remarks
    assert said.startswith("Runs of the control 'training' with mechanism = 'none' differ from")
    assert "epochs (1, not 100), lr (1e-06, not 0.1), pretrained (nothing, not True)." in said


@pytest.mark.parametrize(
    ("mapping", "instead"),
    [
        ("configuration: {width: null}", "nothing is in its place"),
        ("configuration: {width: width_default}", "'width_default' is read in its place"),
    ],
)
def test_a_setting_that_the_mapping_passes_over_is_told(
    tmp_path: Path, mapping: str, instead: str
) -> None:
    """The defect: the logs said another value, and the page that none was stated."""
    logs = write(tmp_path / "logs", width=8, width_default=64)
    said = remarks(run_import(tmp_path, [logs], mapping))
    assert f"have width = 8, which the mapping passes over: {instead}." in said


def test_what_lets_runs_pass_is_told(tmp_path: Path) -> None:
    for seed in SEEDS:
        write(tmp_path / "logs", (seed,), batch=32 if seed else 64)
    mapping = "{vary: ['*'], complete: They were stopped., step: step}"
    said = remarks(run_import(tmp_path, [tmp_path / "logs"], mapping))
    assert "Runs of 'training' differ in more than their seed" in said
    assert "batch (64, 32)." in said
    assert "said to be all that was logged: They were stopped." in said
    assert "What counts as a step was taken from 'step'." in said


@pytest.mark.parametrize(
    ("pattern", "meant"), [("*run-seed_1", "*run-seed_1/*"), ("run-seed_1", "*/run-seed_1/*")]
)
def test_a_folder_in_place_of_a_run_is_understood(tmp_path: Path, pattern: str, meant: str) -> None:
    logs = write(tmp_path / "logs")
    with pytest.raises(LogError, match=re.escape(f"Did you mean '{meant}'?")):
        run_import(tmp_path, [logs], f'runs: [{{match: "{pattern}", seed: 7}}]')
    with pytest.raises(UsageError, match=re.escape(f"Did you mean '{meant}'?")):
        run_import(tmp_path, [logs], seeds=(f"{pattern}=7",))


# --- after the import -----------------------------------------------------------------------------


def imported(tmp_path: Path) -> Path:
    """Six runs, of which one was left out."""
    logs = write(tmp_path / "logs", (*SEEDS, 6))
    rules = 'runs: [{match: "*seed_6/*", ignore: true}, {match: "*"}]'
    return run_import(tmp_path, [logs], rules)


def rewrite(out: Path, **changes: Any) -> None:
    file = out / "manifest.yaml"
    data = {**yaml.safe_load(file.read_text()), **changes}
    kept = {name: value for name, value in data.items() if value is not None}
    file.write_text(yaml.safe_dump(kept))


def test_what_is_taken_out_of_the_manifest_is_told(tmp_path: Path) -> None:
    """The defect: without `left_out` nothing said any more that runs were not there."""
    out = imported(tmp_path)
    (before,) = submitted(out).remarks
    assert "1 run that was made is not among these: run-seed_6/metrics.csv." in before
    rewrite(out, left_out=None)
    first, again = submitted(out).remarks
    assert first == "The manifest was changed after the import: left_out."
    assert again == before
    rewrite(out, left_out=["run-seed_6/metrics.csv"])
    assert submitted(out).remarks == (before,), "as it was"


def test_a_table_that_is_changed_is_told(tmp_path: Path) -> None:
    out = imported(tmp_path)
    (table,) = out.rglob("2/loss.csv")
    text = table.read_text()
    table.write_text(text.replace("0.5", "0.4", 1))
    name = table.relative_to(out).as_posix()
    said = f"Tables were changed after the import, or taken away: {name}."
    assert said in submitted(out).remarks
    table.write_text(text)
    assert said not in submitted(out).remarks


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"written": {"manifest": 1, "tables": []}}'])
def test_a_protocol_that_cannot_be_read_is_told(tmp_path: Path, text: str) -> None:
    out = imported(tmp_path)
    (out / "import.json").write_text(text)
    assert "import.json cannot be read" in remarks(out)


def test_a_protocol_leads_out_of_no_folder(tmp_path: Path) -> None:
    out = imported(tmp_path)
    data = protocol(out)
    data["written"]["tables"] = {"../mapping.yaml": "0" * 64, "/dev/zero": "0" * 64}
    (out / "import.json").write_text(json.dumps(data))
    assert "../mapping.yaml, /dev/zero." in remarks(out)


@pytest.mark.parametrize("who", ["reproaudit", " ReproAudit.", "repro-audit"])
def test_nobody_submits_under_our_name(tmp_path: Path, who: str) -> None:
    out = imported(tmp_path)
    rewrite(out, who=who)
    with pytest.raises(SpecError, match="under which our own measurements stand"):
        submitted(out)


def test_seeds_that_only_one_role_has_are_told(tmp_path: Path) -> None:
    """ "5 of 7 seeds have been run" was all that the verdict said."""
    write(tmp_path / "logs" / "ours", (0, 2, 4), mechanism="full")
    write(tmp_path / "logs" / "ablation", (0, 1, 2), mechanism="none")
    (said,) = submitted(run_import(tmp_path, [tmp_path / "logs"])).remarks
    assert "a claim needs every seed of each: experiment 'training' has seeds 0, 2 and 4;" in said


def test_what_stands_out_stands_beside_each_verdict(tmp_path: Path) -> None:
    """The defect: it stood at the head of the page alone, not in the index nor in its table."""
    card = scorecard_of_submission(submitted(imported(tmp_path)), None)
    page = render_markdown(card).replace("\\", "")
    said = "Something stands out in these measurements: 1 run that was made is not among these"
    assert f"Warning: {said}" in page
    entry = paper_entry(None, [EntrySource("a", "0" * 64, card)])
    assert said in register_csv([entry])
    assert entry.elsewhere[0].claims[0].warnings[0].startswith(said)
    assert AUDIT.claims[0].id in register_csv([entry])


@pytest.mark.parametrize("end", [30, 100])
def test_a_series_that_ends_before_the_others_is_told(tmp_path: Path, end: int) -> None:
    """The defect: a control's judged series was cut, another went on, and it missed thereby."""
    runs = {}
    for seed in SEEDS:
        steps, values = zip(*falling(seed), strict=True)
        cut = [(s, v) for s, v in falling(seed) if s <= end]
        by_layer = (steps, [[one, one + 1] for one in values])
        runs[seed] = {"loss": tuple(zip(*cut, strict=True)), "layer_loss": by_layer}
    found = write_submission(tmp_path / "theirs", AUDIT, [MeasuredRuns("training", runs)])
    said = (
        f"All 5 seeds of experiment 'training' end 'loss' at step {end}, and other series at 100."
    )
    assert (said in found.remarks) is (end == 30)


def test_runs_of_the_claim_that_are_called_its_control_are_told(tmp_path: Path) -> None:
    """The defect: a launch that had failed, with the claim's own settings, was its ablation."""
    write(tmp_path / "logs" / "ours", mechanism="full")
    for seed in SEEDS:
        rows = [{"step": s, "loss": repr(v)} for s, v in falling(seed, 0.5)]
        run = tmp_path / "logs" / "second" / f"run-seed_{seed}"
        encoders.table(run / "metrics.csv", rows)
        (run / "args.json").write_text(json.dumps({"seed": seed, "mechanism": "full"}))
    rules = (
        'runs: [{match: "*second/*", settings: {mechanism: none}, experiment: training}, '
        '{match: "*", experiment: training}]'
    )
    said = remarks(run_import(tmp_path, [tmp_path / "logs"], rules))
    assert (
        "Runs that the mapping takes for the control 'training' with mechanism = 'none' state "
        f"otherwise: mechanism = 'full' in {len(SEEDS)}." in said
    )


def test_a_measurement_taken_from_another_tag_is_told_whatever_it_is_called(tmp_path: Path) -> None:
    """The defect: the short name of a smoothed loss was the loss's own, and nothing told of it."""
    for seed in SEEDS:
        rows = [{"step": s, "loss": 9.0, "smooth": repr(v)} for s, v in falling(seed)]
        encoders.table(tmp_path / "logs" / f"run-seed_{seed}" / "metrics.csv", rows)
    mapping = "mapping: {loss: {expression: loss, let: {loss: smooth}}}"
    out = run_import(tmp_path, [tmp_path / "logs"], mapping)
    assert "loss, where loss is 'smooth'" in remarks(out)
    assert {one["from"] for one in protocol(out)["measurements"]} == {
        "loss, where loss is 'smooth'"
    }


def hide(logs: Path, way: str) -> None:
    """Puts runs that failed where they are not read."""
    for seed in (7, 8):
        rows = [{"step": s, "loss": 0.9} for s, _ in falling(seed)]
        curve = {"loss": [(s, 0.9) for s, _ in falling(seed)]}
        if way == "deleted":
            encoders.mlflow_run(logs / f"run-seed_{seed}", curve, {"seed": seed}, stage=way)
        elif way == "deleted in a database":
            file = logs / "mlflow.db"
            if not file.exists():
                encoders.mlflow_database(
                    file, {"run-seed_7": (curve, {}), "run-seed_8": (curve, {})}
                )
                with closing(sqlite3.connect(file)) as database:
                    database.execute("UPDATE runs SET lifecycle_stage = 'deleted'")
                    database.commit()
        elif way == "hidden":
            encoders.table(logs / ".trash" / f"run-seed_{seed}" / "metrics.csv", rows)
        elif way == "below another run":
            home = encoders.mlflow_run(logs / "run-seed_0", {"loss": falling(0)}, {"seed": 0})
            encoders.table(home / "artifacts" / f"run-seed_{seed}" / "metrics.csv", rows)
        else:
            encoders.table(logs.parent / f"run-seed_{seed}" / "metrics.csv", rows)
            (logs / f"run-seed_{seed}").symlink_to(logs.parent / f"run-seed_{seed}")


@pytest.mark.parametrize(
    "way", ["deleted", "deleted in a database", "hidden", "below another run", "linked"]
)
def test_runs_that_are_not_read_are_told(tmp_path: Path, way: str) -> None:
    """The defect: whoever put failed runs away chose among them, and no page said so."""
    logs = tmp_path / "logs"
    for seed in SEEDS if way != "below another run" else [one for one in SEEDS if one]:
        rows = [{"step": s, "loss": repr(v)} for s, v in falling(seed)]
        encoders.table(logs / f"run-seed_{seed}" / "metrics.csv", rows)
    hide(logs, way)
    said = remarks(run_import(tmp_path, [logs]))
    assert said.startswith("Among the logs were not read: ")


def test_a_checkpoint_that_the_claims_runs_began_from_is_told(tmp_path: Path) -> None:
    """The defect: a path of a checkpoint counted as each run's own affair."""
    write(tmp_path / "logs" / "ours", mechanism="full", checkpoint_path="solved.pt")
    write(tmp_path / "logs" / "ablation", mechanism="none")
    said = remarks(run_import(tmp_path, [tmp_path / "logs"]))
    assert "checkpoint_path (nothing, not solved.pt)" in said


@pytest.mark.parametrize("name", ["dataset_name", "lora_rank", "optimizer_name", "train_time"])
def test_only_whole_names_are_a_runs_own(tmp_path: Path, name: str) -> None:
    """The defect: what ended in "name" or "rank" was each run's own, be it of data or optimizer."""
    write(tmp_path / "logs" / "ours", mechanism="full", **{name: "easy"})
    write(tmp_path / "logs" / "ablation", mechanism="none", **{name: "hard"})
    said = remarks(run_import(tmp_path, [tmp_path / "logs"]))
    assert f"{name} (hard, not easy)" in said
    write(tmp_path / "mixed" / "a", SEEDS[:2], mechanism="full", **{name: "easy"})
    write(tmp_path / "mixed" / "b", SEEDS[2:], mechanism="full", **{name: "hard"})
    with pytest.raises(LogError, match="expected runs that differ in their seed alone"):
        run_import(tmp_path / "mixed", [tmp_path / "mixed"])


def test_a_setting_read_from_another_name_is_told(tmp_path: Path) -> None:
    """The defect: the value that the audit expects stood under a name of the mapper's choice."""
    write(tmp_path / "logs" / "ours", arm="none", reported="full")
    out = run_import(tmp_path, [tmp_path / "logs"], "configuration: {mechanism: reported}")
    told = "Settings were read from other names in the configurations: mechanism from 'reported'"
    assert told in remarks(out)


@pytest.mark.parametrize("chart", [False, True])
def test_runs_that_logged_nothing_are_not_passed_over(tmp_path: Path, chart: bool) -> None:
    """The defect: runs that crashed before their first row, or were blank in a chart, vanished."""
    logs = tmp_path / "logs"
    if chart:
        rows = []
        for at, (step, _) in enumerate(falling(0)):
            row = {f"run-seed{seed} - loss": repr(falling(seed)[at][1]) for seed in SEEDS}
            rows.append({"step": step, **row, "run-seed7 - loss": "", "run-seed8 - loss": ""})
        encoders.table(logs / "chart.csv", rows)
        with pytest.raises(LogError, match="seed"):
            run_import(tmp_path, [logs])
        return
    write(logs)
    (logs / "run-seed_7").mkdir()
    (logs / "run-seed_7" / "metrics.csv").write_text("step,loss\n")
    said = remarks(run_import(tmp_path, [logs]))
    assert "Among the logs were not read: run-seed_7/metrics.csv (a table without rows)" in said


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"dataset": {"name": "easy"}}, {"dataset": {"name": "hard"}}),
        ({"pretrained": "solved/seed_{seed}.pt"}, {}),
        ({"checkpoint_path": "solved/seed_{seed}.pt"}, {}),
        ({"pretrained_run_id": "solved"}, {}),
        ({"teacher": {"run_id": "oracle"}}, {}),
    ],
)
def test_what_one_role_began_from_or_was_trained_on_is_told(
    tmp_path: Path, ours: dict[str, Any], theirs: dict[str, Any]
) -> None:
    """The defect: a nested name, or a text with the seed in it, was each run's own affair."""
    for role, mechanism, more in (("ours", "full", ours), ("ablation", "none", theirs)):
        write(tmp_path / "logs" / role, mechanism=mechanism)
        for seed in SEEDS:
            file = tmp_path / "logs" / role / f"run-seed_{seed}" / "args.json"
            told = json.dumps(more).replace("{seed}", str(seed))
            file.write_text(json.dumps(json.loads(file.read_text()) | json.loads(told)))
    said = remarks(run_import(tmp_path, [tmp_path / "logs"]))
    assert "in what the audit does not name: " in said


def test_a_role_that_the_mapping_alone_gives_is_told(tmp_path: Path) -> None:
    """The defect: failed launches without a word of the mechanism became its ablation."""
    write(tmp_path / "logs" / "ours", mechanism="full")
    for seed in SEEDS:
        rows = [{"step": s, "loss": repr(v)} for s, v in falling(seed, 0.5)]
        encoders.table(tmp_path / "logs" / "failed" / f"run-seed_{seed}" / "metrics.csv", rows)
    rules = (
        'runs: [{match: "*failed/*", settings: {mechanism: none}, experiment: training}, '
        '{match: "*", experiment: training}]'
    )
    said = remarks(run_import(tmp_path, [tmp_path / "logs"], rules))
    assert "with mechanism = 'none' do not state mechanism in 5" in said


def test_logs_that_stop_elsewhere_than_planned_are_told(tmp_path: Path) -> None:
    """The defect: a control had died at a fifth of training, and only its last number was read."""
    write(tmp_path / "logs" / "ours", mechanism="full")
    for seed in SEEDS:
        rows = [{"step": s, "loss": 0.5 + seed / 100} for s, _ in falling(seed)[:2]]
        run = tmp_path / "logs" / "ablation" / f"run-seed_{seed}"
        encoders.table(run / "metrics.csv", rows)
        (run / "args.json").write_text(json.dumps({"seed": seed, "mechanism": "none"}))
    said = remarks(run_import(tmp_path, [tmp_path / "logs"]))
    told = "Logs of 'training' with mechanism = 'none' end at step 10, where 100 are planned."
    assert told in said


def test_steps_that_another_column_counts_are_told(tmp_path: Path) -> None:
    """The defect: epochs were taken for steps, and the terminal alone said so."""
    for seed in SEEDS:
        rows = [{"epoch": s, "loss": repr(v)} for s, v in falling(seed)]
        encoders.table(tmp_path / "logs" / f"run-seed_{seed}" / "metrics.csv", rows)
    said = remarks(run_import(tmp_path, [tmp_path / "logs"]))
    assert "Steps were counted by the column 'epoch'." in said


def test_the_coordinates_of_a_formula_are_told(tmp_path: Path) -> None:
    """The defect: one restart of twelve was averaged, and nothing said which."""
    for seed in SEEDS:
        rows = [{"step": s, "loss/1": 9.0, "loss/2": repr(v)} for s, v in falling(seed)]
        encoders.table(tmp_path / "logs" / f"run-seed_{seed}" / "metrics.csv", rows)
    formula = "mean(tag('loss/{restart}'), over='restart')"
    mapping = f'mapping: {{loss: {{expression: "{formula}", axes: {{restart: [2]}}}}}}'
    assert f"{formula}, over restart 2" in remarks(
        run_import(tmp_path, [tmp_path / "logs"], mapping)
    )


def test_a_configuration_that_changes_within_a_log_is_told(tmp_path: Path) -> None:
    """The defect: a run began with other settings, and its last ones were those of the audit."""
    config = LoggedConfig()
    config["width"] = 8
    config["width"] = 8
    assert not config.replaced
    config["width"] = 64
    run = LoggedRun("run-seed_0", "W&B", tmp_path, (), (), {}, config, replaced=(*config.replaced,))
    placed = PlacedRun(run, Batch("training", "paper", (), SEEDS), 0, diverged=False, stated={})
    (said,) = noticing._replaced([placed])
    assert said.endswith("run-seed_0 has width = 8, later 64.")
