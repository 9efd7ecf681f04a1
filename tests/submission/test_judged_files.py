"""Somebody's files, judged in one step: nested JSON, columns, names of files, stores, readings."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml

import reproaudit as ra
from reproaudit.audit.loading import load_audit
from reproaudit.audit.seeds import whole_rule
from reproaudit.cli import run_command
from reproaudit.errors import AuditError
from reproaudit.formats.scorecard import Scorecard
from reproaudit.intake.importing import explained_logs, import_logs
from reproaudit.report.brief import brief_page
from reproaudit.report.pages import html, letter, markdown
from reproaudit.report.terminal import judged_lines, report_lines
from reproaudit.service.judge import (
    Judged,
    import_folder,
    judge_folder,
    judge_logs,
    write_template,
)
from reproaudit.service.new import draft
from test_cards import filled

ROOT = Path(__file__).parents[2]
SHORT = (ROOT / "tests" / "short" / "maxrl2026.yaml").read_text(encoding="utf-8")
ARMS = ("maxrl", "reinforce", "checkpoint")
NUMBERS = {
    "maxrl": [0.42, 0.40, 0.43, 0.39, 0.41],
    "reinforce": [0.34, 0.31, 0.33, 0.32, 0.35],
    "checkpoint": [0.40, 0.41, 0.39, 0.40, 0.38],
}
MAPPING = "mapping: {pass_8: '{arm}'}"


def judged(folder: Path, logs: Path, mapping: str = "", audit: str = SHORT) -> Judged:
    file = folder / "maxrl2026.yaml"
    file.write_text(audit, encoding="utf-8")
    stated = folder / "mapping.yaml"
    stated.write_text(mapping or "{}", encoding="utf-8")
    return judge_logs(load_audit(file), [logs], stated)


def answers(card: Scorecard) -> dict[str, tuple[str, int, int]]:
    return {
        claim.id.rpartition(".")[2]: (str(claim.outcome), claim.base.yes, claim.base.n)
        for claim in card.claims
    }


def printed(card: Scorecard) -> str:
    """Return what the terminal prints of a scorecard, with one blank between words."""
    return " ".join(" ".join(report_lines(card)).split())


RIGHT = {"pass8": ("supported", 5, 5), "learns": ("undecided", 3, 5)}


def rows_by_seed() -> Any:
    rows = [
        {"seed": seed, **{arm: {"pass_8": NUMBERS[arm][seed]} for arm in ARMS}} for seed in range(5)
    ]
    return {"seeds": 5, "summary": {"maxrl": 0.41}, "per_seed": rows}


def rows_by_arm() -> Any:
    return {
        arm: [{"seed": seed, "pass_8": value} for seed, value in enumerate(NUMBERS[arm])]
        for arm in ARMS
    }


def lists_by_arm() -> Any:
    return {"seeds": [0, 1, 2, 3, 4], **{arm: {"pass_8": NUMBERS[arm]} for arm in ARMS}}


def counted_lists() -> Any:
    return {"n_seeds": 5, "results": {}, "pass_8": {arm: NUMBERS[arm] for arm in ARMS}}


def keys_of_seeds() -> Any:
    return {
        f"seed_{seed}": {arm: {"pass_8": NUMBERS[arm][seed]} for arm in ARMS} for seed in range(5)
    }


def arms_above_seeds() -> Any:
    return {
        "mean": {arm: sum(NUMBERS[arm]) / 5 for arm in ARMS},
        "by_seed": {
            str(seed): {arm: {"pass_8": NUMBERS[arm][seed]} for arm in ARMS} for seed in range(5)
        },
    }


def numbers_under_seeds() -> Any:
    return {arm: {f"seed_{seed}": value for seed, value in enumerate(NUMBERS[arm])} for arm in ARMS}


def named_conditions() -> Any:
    return [{"name": arm, "pass_8": NUMBERS[arm], "n_seeds": 5} for arm in ARMS]


def tidy_rows() -> Any:
    return [
        {"method": arm, "seed": seed, "pass_8": value}
        for arm in ARMS
        for seed, value in enumerate(NUMBERS[arm])
    ]


@pytest.mark.parametrize(
    "form",
    [
        rows_by_seed, rows_by_arm, lists_by_arm, counted_lists, keys_of_seeds, arms_above_seeds,
        numbers_under_seeds, named_conditions, tidy_rows,
    ],
)  # fmt: skip
def test_nested_json_is_judged_without_a_mapping(tmp_path: Path, form: Any) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(form()))
    assert answers(judged(tmp_path, file).scorecard) == RIGHT
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "mapping.yaml",
        "maxrl2026.yaml",
        "results.json",
    ]


def test_a_summary_beside_the_runs_is_passed_over_and_named(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(rows_by_seed()))
    logs = judged(tmp_path, file).logs
    assert logs is not None
    assert "All runs: numbers beside the runs were passed over: seeds, summary.maxrl." in logs.lines


def test_a_control_that_passes_too_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(rows_by_seed()))
    audit = SHORT.replace("    main: true\n", "    main: true\n    must_fail: [checkpoint]\n")
    assert answers(judged(tmp_path, file, audit=audit).scorecard)["pass8"][0] == "uninformative"


@pytest.mark.parametrize(
    ("control", "runs", "verdict"),
    [
        ("reinforce", "reinforce", "itself"),
        ("shuffled", "reinforce", "itself"),  # a copy
        ("shuffled", [0.31, 0.30, 0.29, 0.30, 0.31], "fails"),
        ("shuffled", [0.0] * 5, "fails"),
        ("shuffled", "checkpoint", "passes"),
    ],
)
def test_a_control_that_is_compared_with_its_own_runs_tells_nothing(
    tmp_path: Path, control: str, runs: Any, verdict: str
) -> None:
    values = NUMBERS[runs] if isinstance(runs, str) else runs
    tree = rows_by_seed()
    for row, value in zip(tree["per_seed"], values, strict=True):
        row[control] = {"pass_8": value}
    file = tmp_path / "results.json"
    file.write_text(json.dumps(tree))
    audit = SHORT.replace("    main: true\n", f"    main: true\n    must_fail: [{control}]\n")
    card = judged(tmp_path, file, audit=audit).scorecard
    answer = card.claims[0]
    assert [each.verdict for each in answer.controls] == [verdict]
    assert str(answer.outcome) == ("uninformative" if verdict == "passes" else "supported")
    reasons = [reason.kind for reason in answer.reasons]
    assert ("control itself" in reasons) is (verdict == "itself")
    said = f"control {control}: tells nothing, its runs are those that it is compared with"
    assert (said in printed(card)) is (verdict == "itself")


def test_nobody_is_called_not_stated(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(rows_by_seed()))
    card = judged(tmp_path, file).scorecard
    texts = [printed(card), markdown(card), html(card), brief_page(card, {})]
    assert not any("by not stated" in text for text in texts)
    assert printed(card).count("Not ours: measured elsewhere (table logs: results.json).") == 1
    named = judged(tmp_path, file, "who: R. Reader").scorecard
    assert "Not ours: measured by R. Reader (table logs: results.json)." in printed(named)


def a_column_an_arm(folder: Path) -> None:
    rows = [f"{seed}," + ",".join(str(NUMBERS[arm][seed]) for arm in ARMS) for seed in range(5)]
    (folder / "r.csv").write_text("\n".join([f"seed,{','.join(ARMS)}", *rows]))


def a_column_a_seed(folder: Path) -> None:
    head = ",".join(f"run{seed}_score" for seed in range(5))
    rows = [f"{arm}," + ",".join(map(str, NUMBERS[arm])) for arm in ARMS]
    (folder / "r.csv").write_text("\n".join([f"method,{head}", *rows]))


def a_file_an_arm(folder: Path) -> None:
    for arm in ARMS:
        rows = [f"{seed},{value}" for seed, value in enumerate(NUMBERS[arm])]
        (folder / f"{arm}.csv").write_text("\n".join(["seed,pass_8", *rows, "mean,0.4"]))


def a_folder_a_run(folder: Path, called: str = "run") -> None:
    for arm in ARMS:
        for seed, value in enumerate(NUMBERS[arm]):
            run = folder / arm / f"{called}{seed}"
            run.mkdir(parents=True)
            (run / "result.json").write_text(json.dumps({"pass_8": value}))


def a_metric_in_a_column(folder: Path) -> None:
    rows = [
        f"{arm},{seed},pass_8,{value}" for arm in ARMS for seed, value in enumerate(NUMBERS[arm])
    ]
    (folder / "r.csv").write_text("\n".join(["agent,seed,metric,value", *rows]))


def a_trackio_store(folder: Path) -> None:
    base = sqlite3.connect(folder / "project.db")
    base.execute("CREATE TABLE metrics (timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT)")
    base.execute("CREATE TABLE configs (run_name TEXT, config TEXT)")
    for arm in ARMS:
        for seed, value in enumerate(NUMBERS[arm]):
            name = f"{arm}-{seed}"
            written = json.dumps({"pass_8": value, "note": "x"})
            base.execute("INSERT INTO metrics VALUES ('2031-01-01', ?, 10, ?)", (name, written))
            config = json.dumps({"seed": seed, "_Username": "ada"})
            base.execute("INSERT INTO configs VALUES (?, ?)", (name, config))
    base.commit()
    base.close()


@pytest.mark.parametrize(
    ("form", "mapping"),
    [
        (a_column_an_arm, ""),
        (a_column_an_arm, MAPPING),
        (a_column_a_seed, "mapping: {pass_8: 'run{seed}_score'}"),
        (a_file_an_arm, ""),
        (a_folder_a_run, "names: '{arm}/run{seed}/*'"),
        (a_metric_in_a_column, ""),
        (a_trackio_store, ""),
    ],
)
def test_what_tells_arms_and_seeds_apart_is_said_in_two_lines(
    tmp_path: Path, form: Any, mapping: str
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    form(logs)
    assert answers(judged(tmp_path, logs, mapping).scorecard) == RIGHT


def evaluations(folder: Path, name: Any, settings: Any) -> None:
    """Write results as lm-evaluation-harness does, a file for each model and seed."""
    for arm in ARMS:
        for seed, value in enumerate(NUMBERS[arm]):
            model = f"ACME/net-{arm}-7b"
            file = folder / name(model, seed, ARMS.index(arm))
            file.parent.mkdir(parents=True, exist_ok=True)
            results = {"maths": {"alias": "maths", "acc,none": value, "acc_stderr,none": 0.01}}
            known = {"results": results, "versions": {"maths": 1.0}, "date": 1.5 + seed}
            file.write_text(json.dumps({**known, **settings(model, seed)}))


def in_its_arguments(model: str, seed: int) -> Any:
    arguments = f"pretrained={model},dtype=float16,seed=1234"
    return {"config": {"model": "hf", "model_args": arguments, "random_seed": seed}}


def in_its_name(model: str, seed: int) -> Any:
    named = {"model_name": model, "model_name_sanitized": model.replace("/", "__")}
    return {"config": {"model": "hf", "random_seed": seed}, **named}


def as_its_model(model: str, seed: int) -> Any:
    return {"config": {"model": model, "random_seed": seed}}


@pytest.mark.parametrize("settings", [in_its_arguments, in_its_name, as_its_model])
@pytest.mark.parametrize(
    "name",
    [
        lambda _, seed, index: f"results_2031-01-0{seed + 1}T00-00-0{index}.json",
        lambda model, seed, _: f"{model.replace('/', '__')}/results_2031-01-0{seed + 1}.json",
    ],
)
def test_the_model_that_a_file_names_tells_arms_apart(
    tmp_path: Path, name: Any, settings: Any
) -> None:
    evaluations(tmp_path / "logs", name, settings)
    mapping = "mapping: {pass_8: 'results.maths.acc,none'}"
    assert answers(judged(tmp_path, tmp_path / "logs", mapping).scorecard) == RIGHT


def test_a_place_in_a_name_is_one_of_the_names_that_the_audit_has(tmp_path: Path) -> None:
    columns = {f"{arm}-seed{n} - p8": NUMBERS[arm][n] for arm in ARMS for n in range(5)}
    lines = [["Step", *columns], [10, *columns.values()], [20, *columns.values()]]
    file = tmp_path / "wandb_export_2031-01-01.csv"
    file.write_text("\n".join(",".join(map(str, line)) for line in lines))
    mapping = "mapping: {pass_8: last(p8)}\nnames: '{arm}-seed{seed}'"
    mapping = mapping.replace("last(p8)", "{expression: last(p8)}")
    assert answers(judged(tmp_path, file, mapping).scorecard) == RIGHT


def test_what_is_absent_and_may_have_another_name_is_asked_for(tmp_path: Path) -> None:
    rows = [f"{n},90,{'nan' if n == 3 else 1}" for n in range(5)]
    (tmp_path / "log.csv").write_text("\n".join(["seed,accuracy,loss", *rows]))
    both = "acc: {kind: scalar, unit: '1', meaning: Accuracy.}, loss: {kind: scalar, unit: '1', "
    text = re.sub(r"acc: \{.*?\}", f"{both}meaning: Loss.}}", TREE)
    (tmp_path / "tree.yaml").write_text(text)
    with pytest.raises(AuditError) as refused:
        judge_logs(load_audit(tmp_path / "tree.yaml"), [tmp_path / "log.csv"], None)
    assert "If 'accuracy' is acc: `mapping: {acc: accuracy}`." in str(refused.value)


def test_the_course_of_a_run_may_stand_in_a_list_within_it(tmp_path: Path) -> None:
    tree = {
        arm: {
            f"seed_{seed}": {
                "took": 3.5,
                "history": [{"epoch": n, "p8": value * n / 4} for n in range(1, 5)],
            }
            for seed, value in enumerate(NUMBERS[arm])
        }
        for arm in ARMS
    }
    file = tmp_path / "results.json"
    file.write_text(json.dumps(tree))
    made = judged(tmp_path, file, "mapping: {pass_8: {expression: last(p8)}}")
    assert answers(made.scorecard) == RIGHT
    assert made.logs is not None
    assert made.logs.horizons == {"pass_8": 4}
    assert "- horizon of pass_8: step 4\n" in brief_page(made.scorecard, made.logs.horizons)


def test_a_page_says_why_an_answer_is_no_surer(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(rows_by_seed()))
    card = judged(tmp_path, file).scorecard
    (level,) = {line.level for line in card.head.claims if line.level}
    reasons = "; ".join(card.answers[0].certainty)
    assert "measured elsewhere, not by us" in reasons
    assert f"| supported, certainty {level}: {reasons} |" in brief_page(card, {})


def test_keys_that_number_runs_are_told_in_one_line_of_mapping(tmp_path: Path) -> None:
    tree = {arm: {str(n): {"p8": value} for n, value in enumerate(NUMBERS[arm])} for arm in ARMS}
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"results": tree}))
    made = judged(tmp_path, file, "mapping: {pass_8: 'results.{arm}.{seed}.p8'}")
    assert answers(made.scorecard) == RIGHT


def test_the_likeliest_tag_is_named_first(tmp_path: Path) -> None:
    evaluations(tmp_path / "logs", lambda _, s, i: f"r_{s}_{i}.json", in_its_name)
    audit = SHORT.replace("pass_8", "accuracy")
    with pytest.raises(AuditError, match=r"found the tags results\.maths\.acc,none, "):
        judged(tmp_path, tmp_path / "logs", audit=audit)


# --- advice that is followed to the letter --------------------------------------------------------


def means() -> dict[str, Any]:
    return {arm: {"p8": sum(NUMBERS[arm]) / 5} for arm in ARMS}


def of_seed(seed: int) -> dict[str, Any]:
    return {arm: {"p8": NUMBERS[arm][seed]} for arm in ARMS}


def rows_under_another_name() -> Any:
    return {"summary": means(), "per_seed": [{"seed": n, **of_seed(n)} for n in range(5)]}


def rows_of_runs() -> Any:
    return {"mean": means(), "runs": [{"run": n, **of_seed(n)} for n in range(5)]}


def rows_of_trials() -> Any:
    return {"overall": means(), "results": [{"trial": n, **of_seed(n)} for n in range(5)]}


def rows_in_order() -> Any:
    return {"average": means(), "results": [of_seed(n) for n in range(5)]}


def lists_beside_means() -> Any:
    return {
        arm: {"mean": sum(NUMBERS[arm]) / 5, "std": 0.01, "values": NUMBERS[arm]} for arm in ARMS
    }


def lists_below_the_measurement() -> Any:
    return {"pass_8": lists_beside_means()}


@pytest.mark.parametrize(
    "form",
    [
        rows_under_another_name, rows_of_runs, rows_of_trials, rows_in_order, lists_beside_means,
        lists_below_the_measurement,
    ],
)  # fmt: skip
def test_advice_that_is_followed_to_the_letter_never_judges_a_summary(
    tmp_path: Path, form: Any
) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(form()))
    audit = SHORT.replace("pass_8", "pass_at_8") if "p8" in file.read_text() else SHORT
    with pytest.raises(AuditError) as refused:
        judged(tmp_path, file, audit=audit)
    said = str(refused.value)
    assert not re.search(r"TAG|(summary|mean|overall|average)\.", said.partition("Its columns")[0])
    advice: dict[str, Any] = {}
    for line in re.findall(r"`((?:mapping|columns|number): .+?)`", said):
        part = yaml.safe_load(line)
        advice |= part if "columns" not in advice else {}
    assert answers(judged(tmp_path, file, yaml.safe_dump(advice), audit=audit).scorecard) == RIGHT


def test_names_that_nothing_maps_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(rows_under_another_name()))
    audit = tmp_path / "maxrl2026.yaml"
    audit.write_text(SHORT)
    (lines,) = {tuple(explained_logs(load_audit(audit), [file], None))}
    assert "  not used: maxrl.p8, reinforce.p8, checkpoint.p8" in lines


# --- what messages call things --------------------------------------------------------------------


def test_lists_of_unequal_length_are_told_by_their_arm(tmp_path: Path) -> None:
    tree = lists_by_arm()
    tree["reinforce"] = {"pass_8": NUMBERS["reinforce"][:4]}
    file = tmp_path / "results.json"
    file.write_text(json.dumps(tree))
    with pytest.raises(AuditError) as refused:
        judged(tmp_path, file)
    (line,) = str(refused.value).splitlines()
    assert line == (
        f"{file}: found 4 numbers of 'pass_8' of 'reinforce' beside 5 seeds; expected one for "
        "each seed. Write null for a run that has none."
    )
    tree["reinforce"]["pass_8"].append(None)
    file.write_text(json.dumps(tree))
    assert answers(judged(tmp_path, file).scorecard)["pass8"][1:] == (4, 5)


def test_copies_among_logs_are_told_by_their_file(tmp_path: Path) -> None:
    rows = [
        {"method": arm, "seed": seed, "step": step, "pass_8": value + step / 99}
        for arm in ARMS
        for seed, value in enumerate([NUMBERS[arm][0], *NUMBERS[arm][:4]])
        for step in range(12)
    ]
    file = tmp_path / "runs.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    series = "measurements:\n  pass_8: {every_step: [], says: The rate.}\n"
    audit = re.sub(r"(?m)^claims:$", f"{series}claims:", SHORT)
    with pytest.raises(AuditError) as refused:
        judged(tmp_path, file, audit=audit)
    said = f"{file}, the runs of 'maxrl': found the same numbers for seed 1 as for seed 0"
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    ("mapping", "noun"),
    [
        ("columnz: {}", "a mapping"),
        ("runs: [{mach: a}]", "a run rule"),
        ("mapping: {pass_8: {exp: 3}}", "a logged quantity"),
    ],
)
def test_no_message_has_the_name_of_a_class(tmp_path: Path, mapping: str, noun: str) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(rows_by_seed()))
    with pytest.raises(AuditError, match=f"; expected a field of {noun}\\."):
        judged(tmp_path, file, mapping)


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("r.csv", "method,pass_8\nmaxrl,0.4217 ± 0.02\n", "method (setting), pass_8 (measurement)"),
        (
            "r.csv",
            "method,seed,note,pass_8\nmaxrl,0,rate was 0.4217,0.4217\nmaxrl,1,42.17%,0.4217\n",
            "settings: note = text, arm = 'maxrl'",
        ),
        (
            "r.json",
            '[{"seed": 0, "method": "maxrl", "at_end": "0.4217@8", "lr": 0.1, "pass_8": 0.4217}]',
            "lr = 0.1",
        ),
        ("r.csv", "seed,model,pass_8\n0,gpt 3.5,0.4217\n1,gpt 4.5,0.4217\n", "model = 'gpt 3.5'"),
    ],
)
def test_names_are_listed_without_a_result(
    tmp_path: Path, name: str, text: str, shown: str
) -> None:
    (tmp_path / "maxrl2026.yaml").write_text(SHORT)
    (tmp_path / name).write_text(text)
    audit = load_audit(tmp_path / "maxrl2026.yaml")
    said = "\n".join(explained_logs(audit, [tmp_path / name], None))
    assert "4217" not in said
    assert "42.17" not in said
    assert shown in said


# --- arms of another name -------------------------------------------------------------------------


def in_a_file(make: Any) -> Any:
    def written(folder: Path) -> None:
        folder.mkdir()
        (folder / "results.json").write_text(json.dumps(make()))

    return written


def in_folders(folder: Path) -> None:
    a_folder_a_run(folder, "seed_")


def in_columns(folder: Path) -> None:
    folder.mkdir()
    a_column_an_arm(folder)


FORMS = [
    *map(in_a_file, (rows_by_seed, rows_by_arm, lists_by_arm, keys_of_seeds, tidy_rows)),
    in_folders,
    in_columns,
]
"""Ways in which results name their arms."""


def words_of_columns(folder: Path) -> None:
    folder.mkdir()
    head = ",".join(f"{arm}_pass_8,{arm}_std" for arm in ARMS)
    rows = [
        f"{n}," + ",".join(f"{NUMBERS[arm][n]},{n / 100 + 0.01}" for arm in ARMS) for n in range(5)
    ]
    (folder / "results.csv").write_text("\n".join([f"seed,{head}", *rows]))


def below_an_object() -> Any:
    return {"seeds": [*range(5)], "results": {arm: {"pass_8": NUMBERS[arm]} for arm in ARMS}}


def words_in_rows() -> Any:
    rows = [{"seed": n, **{f"{arm}_pass_8": NUMBERS[arm][n] for arm in ARMS}} for n in range(5)]
    return {"per_seed": rows, "summary": {f"{arm}_pass_8": 0.4 for arm in ARMS}}


def in_runs(folder: Path) -> None:
    a_folder_a_run(folder)


MORE = [
    *map(in_a_file, (counted_lists, arms_above_seeds, numbers_under_seeds, below_an_object)),
    *map(in_a_file, (rows_under_another_name, words_in_rows)),
    in_runs,
    words_of_columns,
]


@pytest.mark.parametrize("form", [*FORMS, *MORE])
def test_a_draft_of_results_is_judged_on_them_once_it_is_filled_in(
    tmp_path: Path, form: Any
) -> None:
    """What the draft takes for arms and measurements is what judge takes for these."""
    form(tmp_path / "logs")
    drafted = draft("maxrl2026", tmp_path / "audits", results=[tmp_path / "logs"])
    assert not [remark for remark in drafted.remarks if "asks" in remark]
    text = filled(drafted.files[0].read_text(encoding="utf-8"))
    drafted.files[0].write_text(text, encoding="utf-8")
    card = judge_logs(load_audit(drafted.files[0]), [tmp_path / "logs"]).scorecard
    by_arm = {name.rpartition("-")[2]: answer for name, answer in answers(card).items()}
    assert by_arm.pop("reinforce") == ("supported", 5, 5)
    assert by_arm.pop("checkpoint") == ("undecided", 3, 5)
    assert by_arm == {}
    assert "std" not in text


def test_a_mean_beside_the_runs_is_no_claim_of_a_draft(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    lists = {arm: {"mean": 0.4, "std": 0.01, "pass_8": NUMBERS[arm]} for arm in ARMS}
    file.write_text(json.dumps(lists))
    drafted = draft("maxrl2026", tmp_path / "audits", results=[file])
    assert "also measured, and in no claim: maxrl.mean, maxrl.std" in " ".join(drafted.remarks)
    text = filled(drafted.files[0].read_text(encoding="utf-8"))
    (tmp_path / "mapping.yaml").write_text("number: [seeds]")
    drafted.files[0].write_text(text, encoding="utf-8")
    audit = load_audit(drafted.files[0])
    assert [*audit.measurements_of(next(iter(audit.experiments)))] == ["pass_8"]
    card = judge_logs(audit, [file], tmp_path / "mapping.yaml").scorecard
    assert [answer[1:] for answer in answers(card).values()] == [(5, 5), (3, 5)]


@pytest.mark.parametrize(
    "columns",
    [("top1_acc", "top5_acc"), ("ours_train_acc", "ours_test_acc"), ("loss", "baseline_loss")],
)
def test_two_numbers_of_one_run_are_no_arms_of_a_draft(
    tmp_path: Path, columns: tuple[str, str]
) -> None:
    rows = [f"{n},{0.4 + n / 100},{0.5 + n / 90:.4f}" for n in range(5)]
    (tmp_path / "results.csv").write_text("\n".join([f"seed,{','.join(columns)}", *rows]))
    drafted = draft("maxrl2026", tmp_path / "audits", results=[tmp_path / "results.csv"])
    claims = yaml.safe_load(drafted.files[0].read_text(encoding="utf-8"))["claims"]
    values = [claim["holds_if"][0]["value"] for claim in claims.values()]
    assert sorted(values) == sorted(columns)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("arm", ["maxrl", "reinforce"])
def test_an_arm_of_another_name_is_asked_for_in_a_line_that_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Any, arm: str
) -> None:
    monkeypatch.setattr(f"{__name__}.ARMS", tuple("mine" if arm == a else a for a in ARMS))
    monkeypatch.setitem(NUMBERS, "mine", NUMBERS[arm])
    form(tmp_path / "logs")
    made = judged(tmp_path, tmp_path / "logs")
    assert answers(made.scorecard)["pass8"][0] != "supported"
    assert any(line.startswith(f"No run of '{arm}': ") for line in made.scorecard.made.counted)
    (way, _) = re.findall(r"`(.+?)`", made.scorecard.made.counted[-1])
    assert way == f"arms: {{{arm}: mine}}"
    assert answers(judged(tmp_path, tmp_path / "logs", way).scorecard) == RIGHT


def test_a_number_that_every_arm_logged_is_not_offered_as_an_arm(tmp_path: Path) -> None:
    rows = [
        {"seed": seed, "arm": arm, "pass_8": NUMBERS[arm][seed], "loss": NUMBERS[arm][seed] / 2}
        for arm in ("maxrl", "checkpoint")
        for seed in range(5)
    ]
    file = tmp_path / "results.json"
    file.write_text(json.dumps(rows))
    made = judged(tmp_path, file)
    assert any(line.startswith("No run of 'reinforce': ") for line in made.scorecard.made.counted)
    assert not any("arms:" in line for line in made.scorecard.made.counted)


def test_runs_without_a_name_are_the_methods(tmp_path: Path) -> None:
    in_folders(tmp_path / "logs")
    for seed in range(5):
        (tmp_path / "logs" / f"run_{seed}").mkdir()
        for arm in ARMS:
            home = tmp_path / "logs" / arm / f"seed_{seed}"
            own = f"run_{seed}" if arm == "maxrl" else f"{arm}-run_{seed}"
            (tmp_path / "logs" / own).mkdir(exist_ok=True)
            (home / "result.json").rename(tmp_path / "logs" / own / "result.json")
    assert answers(judged(tmp_path, tmp_path / "logs", "names: 'run_{seed}/*'").scorecard) == RIGHT


@pytest.mark.parametrize("form", FORMS)
def test_where_no_arm_is_called_as_in_the_audit_all_names_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Any
) -> None:
    others = dict(zip(ARMS, ("mine", "theirs", "before"), strict=True))
    for arm, name in others.items():
        monkeypatch.setitem(NUMBERS, name, NUMBERS[arm])
    monkeypatch.setattr(f"{__name__}.ARMS", tuple(others.values()))
    form(tmp_path / "logs")
    with pytest.raises(AuditError) as refused:
        judged(tmp_path, tmp_path / "logs")
    assert "maxrl" in str(refused.value)
    assert "reinforce" in str(refused.value)
    written = ", ".join(f"{arm}: {name}" for arm, name in others.items())
    assert answers(judged(tmp_path, tmp_path / "logs", f"arms: {{{written}}}").scorecard) == RIGHT


# --- runs that an arm lacks -----------------------------------------------------------------------


def a_state_in_a_row(value: Any, state: str) -> Any:
    rows: list[dict[str, Any]] = tidy_rows()
    rows[8] |= {"pass_8": value, "status": state}
    return rows


def a_state_in_an_arm(value: Any, state: str) -> Any:
    tree = rows_by_seed()
    tree["per_seed"][3]["reinforce"] = {"pass_8": value, "status": state}
    return tree


@pytest.mark.parametrize("form", [a_state_in_a_row, a_state_in_an_arm])
@pytest.mark.parametrize(
    ("value", "state", "said", "n"),
    [
        (None, "crashed", "1 run missing before there is an answer", 4),
        (0.2, "killed", "1 run missing before there is an answer", 4),
        (None, "finished", "pass 8 was not measured in 1 of 5", 5),
        (None, "", "pass 8 was not measured in 1 of 5", 5),
    ],
)
def test_a_compared_run_without_a_number_is_called_what_it_is(
    tmp_path: Path, form: Any, value: Any, state: str, said: str, n: int
) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(form(value, state)))
    made = judged(tmp_path, file)
    assert answers(made.scorecard)["pass8"][1:] == (4, n)
    void = "Void, since the run of 'reinforce' did not finish: seed 3."
    assert (void in made.scorecard.made.counted) == (n == 4)
    assert answers(made.scorecard)["learns"] == RIGHT["learns"]
    assert said in printed(made.scorecard)
    # and so it is where a folder of measurements lies between
    audit = load_audit(tmp_path / "maxrl2026.yaml")
    import_folder(audit, [file], tmp_path / "imported")
    again = judge_folder(audit, tmp_path / "imported").scorecard
    assert answers(again) == answers(made.scorecard)
    assert said in printed(again)


@pytest.mark.parametrize(
    ("state", "n"),
    [("crashed", 5), ("finished", 6)],
)
def test_an_own_run_without_a_number_counts_for_neither_side(
    tmp_path: Path, state: str, n: int
) -> None:
    rows = [f"{seed},finished,90" for seed in range(5)]
    made = judged_tree(tmp_path, "\n".join(["seed,state,acc", *rows, f"5,{state},"]))
    (answer,) = made.scorecard.claims
    assert (answer.base.yes, answer.base.n) == (5, n)
    assert str(answer.outcome) == ("supported" if n == 5 else "undecided")


# --- what lies beside the runs --------------------------------------------------------------------


def runs_with_settings(folder: Path) -> list[Path]:
    homes = [folder / arm / f"seed_{seed}" for arm in ARMS for seed in range(5)]
    for home in homes:
        home.mkdir(parents=True)
        value = NUMBERS[home.parent.name][int(home.name[-1])]
        (home / "results.json").write_text(json.dumps({"pass_8": value}))
        (home / "config.yaml").write_text("lr: 0.1\n")
    return homes


def test_a_yaml_that_cannot_be_read_refuses_no_run(tmp_path: Path) -> None:
    homes = runs_with_settings(tmp_path / "logs")
    (homes[3] / "config.yaml").write_text("lr: [1\n")
    (tmp_path / "logs" / "environment.yaml").write_text("a: [1\n")
    made = judged(tmp_path, tmp_path / "logs")
    assert answers(made.scorecard) == RIGHT
    assert made.logs is not None
    assert any("its settings are not known: config.yaml:2: found" in n for n in made.logs.lines)


def test_a_run_whose_role_stands_in_a_yaml_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    homes = runs_with_settings(tmp_path / "logs")
    homes[3].rename(tmp_path / "logs" / "seed_3")
    (tmp_path / "logs" / "seed_3" / "config.yaml").write_text("lr: [1\n")
    made = judged(tmp_path, tmp_path / "logs")
    first, second = made.scorecard.made.counted
    assert first == "14 of 15 runs given were judged."
    assert second.startswith("Left out, since its settings are not known: config.yaml:2: found")
    assert second.endswith("seed_3/results.json.")


@pytest.mark.parametrize("name", ["config", "configs"])
def test_a_folder_of_settings_beside_runs_holds_none(tmp_path: Path, name: str) -> None:
    homes = runs_with_settings(tmp_path / "logs")
    for home in (tmp_path / "logs", homes[0]):
        (home / name).mkdir()
        (home / name / "model.json").write_text('{"pass_8": 0.5, "lr": 0.1}')
        (home / name / "grid.csv").write_text("a,b\n1,2\n")
    made = judged(tmp_path, tmp_path / "logs")
    assert answers(made.scorecard) == RIGHT
    assert made.logs is not None
    assert f"logs/{name}, seed_0/{name} (a folder of settings" in " ".join(made.logs.lines)


def test_a_folder_of_settings_is_searched_if_there_is_nothing_else(tmp_path: Path) -> None:
    runs_with_settings(tmp_path / "logs" / "config")
    assert answers(judged(tmp_path, tmp_path / "logs").scorecard) == RIGHT


def test_the_mapping_may_stand_in_the_audit_and_moves_no_rule(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    a_column_a_seed(logs)
    audit = f"{SHORT}files:\n  mapping: {{pass_8: 'run{{seed}}_score'}}\n"
    card = judged(tmp_path, logs, audit=audit).scorecard
    assert answers(card) == RIGHT
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "maxrl2026.yaml").write_text(SHORT)
    assert load_audit(plain / "maxrl2026.yaml") == card.audit.model_copy(update={"files": None})


def test_a_fault_in_the_audits_mapping_is_told_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(rows_by_seed()))
    with pytest.raises(AuditError) as error:
        judged(tmp_path, file, audit=f"{SHORT}files: {{columns: {{sede: x}}}}\n")
    assert "maxrl2026.yaml, files:1:" in str(error.value)
    assert "sede" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_rule_may_name_an_arm(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for arm, called in zip(ARMS, "abc", strict=True):
        rows = [f"{seed},{value}" for seed, value in enumerate(NUMBERS[arm])]
        (logs / f"{called}.csv").write_text("\n".join(["seed,pass_8", *rows]))
    rules = [
        {"match": f"{called}.csv*", "arm": arm} for arm, called in zip(ARMS, "abc", strict=True)
    ]
    assert answers(judged(tmp_path, logs, yaml.safe_dump({"runs": rules})).scorecard) == RIGHT
    with pytest.raises(AuditError, match="Did you mean 'maxrl'"):
        judged(tmp_path, logs, "runs: [{match: 'a.csv*', arm: maxlr}]")


def test_an_arm_may_have_another_name_in_the_logs(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(rows_by_arm()).replace('"reinforce"', '"REINFORCE++"'))
    assert answers(judged(tmp_path, file, "arms: {reinforce: REINFORCE++}").scorecard) == RIGHT
    with pytest.raises(AuditError, match="Did you mean 'reinforce'"):
        judged(tmp_path, file, "arms: {reinforcement: REINFORCE++}")


def test_the_command_prints_what_it_took_for_what_and_writes_a_page_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results.json").write_text(json.dumps(rows_by_seed()))
    audit = SHORT.replace("    main: true\n", "    main: true\n    must_fail: [checkpoint]\n")
    Path("maxrl2026.yaml").write_text(audit)
    command = ["judge", "maxrl2026.yaml", "results.json", "--as-page", "page.md"]
    assert run_command(command) == 0
    printed = capsys.readouterr().out
    assert "'checkpoint', from table: seeds 0, 1, 2, 3, 4" in printed
    page = Path("page.md").read_text()
    assert page.count("\n") <= 60
    digest = whole_rule(load_audit(Path("maxrl2026.yaml")), "paper")
    assert f"- rule: `{digest}`" in page
    assert "| uninformative | 5 of 5" in page
    assert "| control checkpoint | | 5 of 5 |" in page
    assert run_command(command) == 0
    assert Path("page.md").read_text() == page
    assert run_command([*command[:-1], "maxrl2026.yaml"]) == 2
    assert "maxrl2026.yaml: found another file" in capsys.readouterr().err


# --- readings, states, repetitions ----------------------------------------------------------------

TREE = """
schema_version: 2
paper: {slug: tree, title: A paper, year: 2031}
settings:
  epochs:
    value: 100
    source: paper
    locator: Appendix
    readings: [{value: 150, source: authors_code, locator: train.py}]
  rate: {value: 0.1, source: assumption, why: Usual., alternatives: [0.2]}
experiments:
  birds:
    title: A tree of birds
    measurements: {acc: {kind: scalar, unit: "1", meaning: Accuracy.}}
claims:
  - id: tree.high
    says: The accuracy is at least 80.
    short: the accuracy is at least 80
    locator: Table 1
    main: true
    experiment: birds
    headline: [{kind: reaches, value: acc, at_least: 80, from: paper}]
    no_control: a reported number
"""


def judged_tree(folder: Path, table: str, mapping: str = "") -> Judged:
    (folder / "tree.yaml").write_text(TREE)
    (folder / "mapping.yaml").write_text(mapping or "{}")
    (folder / "log.csv").write_text(table)
    audit = load_audit(folder / "tree.yaml")
    return judge_logs(audit, [folder / "log.csv"], folder / "mapping.yaml")


def table_of(column: str, values: dict[float, float]) -> str:
    rows = [f"{seed},{at},{acc}" for at, acc in values.items() for seed in range(5)]
    return "\n".join([f"seed,{column},acc", *rows])


def test_runs_of_a_stated_reading_are_judged_as_that(tmp_path: Path) -> None:
    (answer,) = judged_tree(tmp_path, table_of("epochs", {100: 70, 150: 90})).scorecard.claims
    (reading,) = answer.readings
    assert (answer.base.yes, answer.base.n) == (0, 5)
    assert (reading.name, reading.yes, reading.n) == ("epochs=150", 5, 5)
    assert str(answer.outcome) == "depends"
    assert "not run with another" not in answer.model_dump_json()


DISPUTED = """
schema_version: 3
paper: {slug: disputed, title: A disputed paper, year: 2026, read: {text: abstract}}
method: ours
settings:
  - from: paper
    at: Table 1
    values: {epochs: 100}
    also_stated: [{from: code, at: train.py, values: {epochs: 150}}]
  - {from: guess, why: Not stated., values: {width: 64}, could_be: [128]}
claims:
  better:
    says: The method has a higher accuracy than the baseline.
    at: Table 2
    main: true
    holds_if: [{kind: beats, value: accuracy, arm: baseline, higher: true, from: paper}]
"""
BETTER = {"epochs=100": (0.91, 0.85), "epochs=150": (0.84, 0.80), "width=128": (0.95, 0.97)}
"""What ours and the baseline reach under the settings that a row states."""


def disputed(folder: Path, left_out: tuple[tuple[str, str], ...] = ()) -> Judged:
    rows = [
        f"{seed},{arm},{settings[1] if settings[0] == 'epochs' else 100},"
        f"{settings[1] if settings[0] == 'width' else 64},{value + seed / 1000}"
        for at, values in BETTER.items()
        for arm, value in zip(("ours", "baseline"), values, strict=True)
        if (at, arm) not in left_out
        for settings in [at.split("=")]
        for seed in range(5)
    ]
    (folder / "disputed.yaml").write_text(DISPUTED)
    (folder / "log.csv").write_text("\n".join(["seed,arm,epochs,width,accuracy", *rows]))
    return judge_logs(load_audit(folder / "disputed.yaml"), [folder / "log.csv"])


def test_a_reading_is_compared_with_the_arm_under_the_same_settings(tmp_path: Path) -> None:
    made = disputed(tmp_path)
    (answer,) = made.scorecard.claims
    (reading,) = answer.readings
    (other,) = answer.alternatives
    assert (answer.base.yes, reading.yes, reading.n) == (5, 5, 5)
    assert (other.yes, other.n) == (0, 5)
    assert made.scorecard.made.counted == ()


def test_a_reading_is_not_compared_with_an_arm_under_other_settings(tmp_path: Path) -> None:
    made = disputed(tmp_path, (("epochs=150", "baseline"),))
    (answer,) = made.scorecard.claims
    (reading,) = answer.readings
    assert (reading.yes, reading.valid, str(reading.answer)) == (0, 0, "unfinished")
    assert answer.base.yes == 5


def test_runs_in_memory_have_a_reading_and_an_arm_at_once(tmp_path: Path) -> None:
    runs = [
        ra.MeasuredRuns(
            "runs",
            {seed: {"accuracy": value + seed / 1000} for seed in range(5)},
            {**settings, **({"arm": "baseline"} if is_baseline else {})},
        )
        for settings, values in (({}, (0.91, 0.85)), ({"epochs": 150}, (0.84, 0.80)))
        for is_baseline, value in enumerate(values)
    ]
    (tmp_path / "disputed.yaml").write_text(DISPUTED)
    card = ra.judge_measurements(tmp_path / "disputed.yaml", runs)
    (reading,) = card.claims[0].readings
    assert (reading.yes, reading.n) == (5, 5)


def test_a_value_has_the_source_that_states_it(tmp_path: Path, cli: Any) -> None:
    (tmp_path / "tree.yaml").write_text(TREE)
    rows = [f"{seed},{at},0.1,90" for at in (100, 150) for seed in range(5)]
    (tmp_path / "log.csv").write_text("\n".join(["seed,epochs,rate,acc", *rows]))
    command = ("import", tmp_path / "tree.yaml", tmp_path / "log.csv", "--out")
    made = cli(*command, tmp_path / "data", "--json").data["settings"]
    sources = {(row["setting"], row["audit"]): row["source"] for row in made}
    assert sources == {
        ("epochs", 100): "paper",
        ("epochs", 150): "authors_code",
        ("rate", 0.1): "assumption",
    }
    assert "150 (authors_code)" in cli(*command, tmp_path / "printed").out


def test_a_template_names_the_readings_that_may_be_handed_in(tmp_path: Path) -> None:
    (tmp_path / "tree.yaml").write_text(TREE)
    write_template(load_audit(tmp_path / "tree.yaml"), tmp_path / "mine")
    assert "settings: {epochs: 150}\n" in (tmp_path / "mine" / "manifest.yaml").read_text()


def test_runs_of_an_alternative_to_a_guess_are_judged_as_that(tmp_path: Path) -> None:
    (answer,) = judged_tree(tmp_path, table_of("rate", {0.1: 90, 0.2: 70})).scorecard.claims
    (other,) = answer.alternatives
    assert (answer.base.yes, other.yes, other.n) == (5, 0, 5)
    assert str(answer.outcome) == "depends"


def test_runs_that_did_not_finish_are_counted_at_the_head_of_every_rendering(
    tmp_path: Path,
) -> None:
    states = ["finished"] * 5 + ["crashed", "running"]
    rows = [f"{seed},{state},{90 if seed < 5 else 1}" for seed, state in enumerate(states)]
    made = judged_tree(tmp_path, "\n".join(["seed,state,acc", *rows]))
    assert made.scorecard.claims[0].base.n == 5
    said = (
        "5 of 7 runs given were judged.",
        "Not finished, and left out, 2 in all: seed 5: crashed, seed 6: running.",
    )
    audit = load_audit(tmp_path / "tree.yaml")
    import_folder(audit, [tmp_path / "log.csv"], tmp_path / "folder")
    for card in (made.scorecard, judge_folder(audit, tmp_path / "folder").scorecard):
        assert card.made.counted == said
        assert not {*said}.intersection(card.made.remarks)
        verdict = " ".join(card.head.verdict)
        pages = (markdown(card), html(card), letter(card), brief_page(card, {}))
        for page in (*pages, "\n".join(judged_lines(card)), "\n".join(report_lines(card))):
            head = " ".join(page.split()).partition(verdict)[0]
            places = [head.find(sentence) for sentence in ("Not ours: ", *said)]
            assert -1 not in places, page
            assert places == sorted(places)
            assert page.count(said[0]) == 1


def test_repetitions_under_one_seed_are_runs_and_copies_are_none(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match=r"where each row is a run, `number: \[seeds\]`"):
        judged_tree(tmp_path, "seed,acc\n0,90\n0,91\n1,92\n2,93\n3,94")
    made = judged_tree(tmp_path, "seed,acc\n0,90\n0,91\n1,92\n2,93\n3,94", "number: [seeds]")
    assert made.scorecard.claims[0].base.n == 5
    with pytest.raises(AuditError, match="Leave out the copies"):
        judged_tree(tmp_path, "seed,acc\n0,90\n0,90\n1,92\n2,93\n3,94")


def test_text_that_changes_by_row_makes_no_runs_and_numbering_goes_on(tmp_path: Path) -> None:
    rows = [f"2031-01-0{n} 10:00:0{n},machine-{n},{90 + n}" for n in range(1, 4)]
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("part1", "part2"):
        (logs / f"{name}.csv").write_text("\n".join(["started at,on,acc", *rows]))
    (tmp_path / "tree.yaml").write_text(TREE)
    (tmp_path / "mapping.yaml").write_text("number: [seeds]")
    made = judge_logs(load_audit(tmp_path / "tree.yaml"), [logs], tmp_path / "mapping.yaml")
    assert made.scorecard.claims[0].base.n == 6


def test_settings_that_differ_are_told_all_at_once(tmp_path: Path) -> None:
    table = "seed,params.a,params.b,acc\n0,1,x,90\n1,2,y,91"
    with pytest.raises(AuditError, match=r"`vary: \[params.a, params.b\]`"):
        judged_tree(tmp_path, table)


def test_files_are_explained_without_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "tree.yaml").write_text(TREE)
    (tmp_path / "log.csv").write_text("seed,epochs,lr,score\n0,100,0.1,3\n1,70,0.1,4\n")
    (tmp_path / "broken.csv").write_text("seed,acc\n1")
    lines = explained_logs(load_audit(tmp_path / "tree.yaml"), [tmp_path / "log.csv"], None)
    assert any("score (measurement)" in line for line in lines)
    assert any("lr (setting)" in line for line in lines)
    assert any("not used: score" in line for line in lines)
    (line,) = explained_logs(load_audit(tmp_path / "tree.yaml"), [tmp_path / "broken.csv"], None)
    assert "found 1 cells; expected 2" in line


# --- public cases, where they are there -----------------------------------------------------------


def _cases() -> Path | None:
    places = (above / "shared" / "cases" for above in ROOT.parents)
    return next((place for place in places if place.is_dir()), None)


CASES = _cases()
GO_WELL = {
    "51-scores-xs-ys/small": ("dreamer", "m.yaml", "supported", 6, 6),
    "53-step-in-the-file-name/evals": ("ckpt", "m.yaml", "undecided", 1, 1),
    "55-numbers-in-a-list/logs": ("cluster", "number: [seeds]", "undecided", 3, 5),
    "55-numbers-in-a-list/l3": ("cluster", "number: [seeds]", "undecided", 3, 5),
    "56-a-reading-from-logs/logs": ("tree", "", "undecided", 2, 5),
    "58-optuna-trials/logs": ("search", "mapping: {accuracy: value}", "supported", 6, 6),
    "59-crashed-and-running/logs": ("states", "m.yaml", "supported", 5, 5),
    "59-crashed-and-running/logs-mlflow": ("states", "", "supported", 5, 5),
    "62-page-csv-two-tags/csv": ("tbpage", "", "supported", 5, 5),
    "64-epochs-as-seeds/runs": ("keras", "m2.yaml", "supported", 5, 5),
    "73-folds-in-columns/logs": (
        "svm",
        'mapping: {accuracy: "split{seed}_test_score"}\nconfiguration: {c: param_C}',
        "supported",
        5,
        5,
    ),
    "74-tune-progress/train_2025-03-05": ("tune", "m.yaml", "supported", 5, 5),
    "75-a-column-a-model/logs": (
        "compass",
        'mapping: {score: "{model}"}\nnumber: [seeds]',
        "undecided",
        1,
        1,
    ),
    "76-three-or-five/logs": ("fix", "m.yaml", "undecided", 1, 1),
    "76-three-or-five/three": ("fix", "m.yaml", "supported", 3, 3),
    "79-mean-row/logs": ("summary", "", "supported", 5, 5),
    "79-mean-row/words": ("summary", "columns: {seed: fold}", "supported", 5, 5),
}


def judged_case(place: str, slug: str, mapping: str, tmp_path: Path) -> Judged:
    assert CASES is not None
    folder = CASES / place.partition("/")[0]
    stated = folder / mapping
    if not mapping.endswith(".yaml"):
        stated = tmp_path / "mapping.yaml"
        stated.write_text(mapping or "{}")
    return judge_logs(load_audit(folder / "audits" / f"{slug}.yaml"), [CASES / place], stated)


@pytest.mark.skipif(CASES is None, reason="the public cases are not there")
@pytest.mark.parametrize("place", GO_WELL)
def test_a_public_case_goes_well_within_a_small_mapping(tmp_path: Path, place: str) -> None:
    slug, mapping, outcome, yes, count = GO_WELL[place]
    card = judged_case(place, slug, mapping, tmp_path).scorecard
    answer = card.claims[0]
    assert (str(answer.outcome), answer.base.yes, answer.base.n) == (outcome, yes, count)


CURVES = {
    "01-tb-resume-overlap/plain": ("overlap: later", 0.936411),
    "01-tb-resume-overlap/purge": ("", 0.936411),
    "02-tb-add-scalars/runs": ("mapping: {val_accuracy: accuracy/val/accuracy}", 0.946968),
    "03-padded-csv/logs": ("", 0.946968),
    "04-header-repeated/logs": ("", 0.946968),
    "05-lightning-tags/lightning_logs": ("", 0.946968),
    "06-macos-zip/logs.zip": ("", 0.946968),
    "07-yaml-1e-4/logs": ("", 0.946968),
    "08-mlflow-no-step/mlruns": ("number: [steps]", 0.946968),
    "09-mlflow3-models/mlruns": ("", 0.946968),
    "11-sacred/runs": ("", 0.946968),
    "12-hydra-multirun/multirun": ("", 0.946968),
    "16-excel-german/utf16.csv": ("", 0.946968),
    "16-excel-german/utf8bom.csv": ("", 0.946968),
    "20-hf-eval-nan/out": ("mapping: {val_accuracy: eval_accuracy}", 0.946968),
    "22-json-log-text-numbers/logs": ("", 0.946968),
    "25-gz/logs": ("", 0.946968),
    "27-wandb-history-csv/export": ("mapping: {val_accuracy: val.accuracy}", 0.946968),
}


@pytest.mark.skipif(CASES is None, reason="the public cases are not there")
@pytest.mark.parametrize("place", CURVES)
def test_a_curve_of_a_public_case_is_read_to_its_end(tmp_path: Path, place: str) -> None:
    assert CASES is not None
    mapping, end = CURVES[place]
    (tmp_path / "mapping.yaml").write_text(mapping or "{}")
    audit = load_audit(CASES / "fit2031.yaml")
    logs = import_logs(audit, [CASES / place], tmp_path / "mapping.yaml")
    own = logs.measured[0]
    assert [*own.seeds] == [0, 1, 2, 3, 4]
    steps, values = own.seeds[0]["val_accuracy"]
    assert len(steps) == 10
    assert end in [pytest.approx(value, abs=1e-6) for value in values[5:]]


@pytest.mark.skipif(CASES is None, reason="the public cases are not there")
@pytest.mark.parametrize(
    ("place", "slug", "mapping", "way", "never"),
    [
        ("64-epochs-as-seeds/runs", "keras", "number: [seeds]", "number: [steps]", "[seeds]`"),
        ("64-epochs-as-seeds/one", "keras", "", "seed: 0", "number: [seeds]"),
        ("68-latex-table/table.tex", "tex", "", 'val_acc: "Seed {seed}"', "TAG"),
        ("73-folds-in-columns/logs", "svm", "", "split{seed}_test_score", "ignore"),
    ],
)
def test_a_refusal_offers_what_fits_the_data(
    tmp_path: Path, place: str, slug: str, mapping: str, way: str, never: str
) -> None:
    with pytest.raises(AuditError) as error:
        judged_case(place, slug, mapping, tmp_path)
    assert way in str(error.value)
    assert never not in str(error.value)


def ways_in(message: str) -> list[dict[str, Any]]:
    """The lines of mapping that a refusal offers and that can be pasted as they are."""
    written = re.findall(r"`([a-z_]+: [^`]*)`", message)
    return [yaml.safe_load(way) for way in written if not re.search(r"…|ROLE|TAG|NAME", way)]


def followed(
    place: str, slug: str, mapping: dict[str, Any], tmp_path: Path, depth: int = 3
) -> list[str]:
    """The outcomes to which every offered line leads, and every line offered after it."""
    try:
        card = judged_case(place, slug, yaml.safe_dump(mapping), tmp_path).scorecard
        return [str(card.claims[0].outcome)]
    except AuditError as error:
        ways = ways_in(str(error)) if depth else []
    return [
        outcome
        for way in ways
        for outcome in followed(place, slug, {**mapping, **way}, tmp_path, depth - 1)
    ]


@pytest.mark.skipif(CASES is None, reason="the public cases are not there")
@pytest.mark.parametrize("place", GO_WELL)
def test_no_line_that_is_offered_leads_to_a_wrong_answer(tmp_path: Path, place: str) -> None:
    slug, _, outcome, _, _ = GO_WELL[place]
    open_answers = {"undecided", "not tested"}
    assert {*followed(place, slug, {}, tmp_path)} <= {outcome, *open_answers}
