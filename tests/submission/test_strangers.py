"""Files of producers that nobody foresaw: what they say is read, and what is not is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_further_producers import choice, offered, text
from test_producers import ARMS, AUDIT, SCALAR, SERIES, counts, judged, notes, refusal

from reproaudit.audit.loading import load_audit
from reproaudit.errors import AuditError
from reproaudit.logs.opening import parse_object
from reproaudit.service.judge import judge_logs

RUNS = [(arm, seed, value) for arm, own in ARMS.items() for seed, value in enumerate(own)]
PATH = 'v: "results.wikitext.{arm}.seed_{seed}.score"'
LAST = "mapping: {score: {expression: last(v), let: {v: score}}}"


def course(value: float) -> list[tuple[int, float]]:
    """Return the points of a run that ends at a value."""
    return [(step, value * step / 9) for step in range(10)]


# --- what JSON says of runs, wherever it stands ---------------------------------------------------


def named_above(folder: Path) -> Path:
    """Each arm's object says its name beside its runs."""
    conditions = [
        {
            "name": arm,
            "hyperparameters": {"schedule": arm},
            "trials": [{"id": f"{arm}-{n}", "random_state": n, "score": v} for n, v in of(arm)],
        }
        for arm in ARMS
    ]
    return dumped(folder / "all.json", {"gpu": "A100", "conditions": conditions})


def model_above(folder: Path) -> Path:
    """As `named_above`, with seeds that no two arms share and a summary beside them."""
    models = [
        {"model": arm, "mean": 0.5, "runs": [{"seed": n, "score": v} for n, v in of(arm)]}
        for arm in ARMS
    ]
    return dumped(folder / "models.json", {"models": models})


def seeded_below(folder: Path) -> Path:
    """The seed stands in a configuration inside, and the number in a list of one object."""
    for arm, seed, value in RUNS:
        tree = {
            "status": "success",
            "eval": {"model": f"lab/{arm}", "generate_config": {"seed": seed, "lr": 1}},
            "results": {"scores": [{"score": value}], "total": 198},
            "samples": [{"id": n, "epoch": 1} for n in range(3)],
        }
        dumped(folder / "logs" / f"{arm[0]}x{seed}7.json", tree)
    return folder / "logs"


def listed_names(folder: Path) -> Path:
    """What a run was started with is a list of names and values beside its numbers."""
    for index, (arm, seed, value) in enumerate(RUNS):
        run = folder / "logs" / f"run{chr(97 + index)}"
        stated = [{"name": n, "valueCurrent": v} for n, v in (("optim", arm), ("seed", seed))]
        dumped(run / "parameters.json", stated)
        rows = [
            {"metricName": "score", "metricValue": value, "step": 0, "runContext": "validate"},
            {"metricName": "loss", "metricValue": 1.0, "step": 0, "runContext": "train"},
        ]
        text(run / "metrics.jsonl", "\n".join(map(json.dumps, rows)))
    return folder / "logs"


def listed_numbers(folder: Path) -> Path:
    for arm, seed, value in RUNS:
        metrics = [{"key": "score", "value": value}, {"key": "loss", "value": 1.0}]
        dumped(folder / "logs" / f"{arm}_seed{seed}.json", {"metrics": metrics})
    return folder / "logs"


def of(arm: str) -> list[tuple[int, float]]:
    return [*enumerate(ARMS[arm])]


def dumped(file: Path, tree: Any) -> Path:
    return text(file, json.dumps(tree))


LITERALS = [
    "1 + 1",
    "[].__class__",
    "print(1)",
    "{1}",
    "b'x'",
    "2j",
    "-" * 70_000 + "1",
    "1, 'a': 2",
]


@pytest.mark.parametrize("value", [*LITERALS, "(" * 300 + ")" * 300])
def test_what_is_no_plain_literal_is_no_object(value: str) -> None:
    with pytest.raises(AuditError, match="no JSON"):
        parse_object(f"{{'a': {value}}}", "here")


def test_a_literal_has_what_python_prints() -> None:
    read = parse_object("{'a': nan, 'b': -inf, 'c': (True, None), 3: {'d': -1}}", "here")
    assert str(read) == "{'a': nan, 'b': -inf, 'c': [True, None], '3': {'d': -1}}"


# --- sheets, notebooks and logs without a header --------------------------------------------------


def sheet(folder: Path) -> Path:
    """A title, a header of two rows with merged cells, sums, and a note."""
    rows = [f"{n},{a}%,1{n},{b}%,2{n}" for n, (a, b) in enumerate(zip(*ARMS.values(), strict=True))]
    head = ['"Runs, by Li",,,,', ",,,,", ",Ours,,Baseline,", "Seed,Score,Time,Score,Time"]
    foot = ["Avg,1%,1,1%,1", ",,,,", "* seed 3 was run again,,,,"]
    return text(folder / "sheet.csv", "\n".join([*head, *rows, *foot]))


def notebook(folder: Path) -> Path:
    head = "<tr><th></th><th>model</th><th>seed</th><th>score</th></tr>"
    rows = [f"<tr><th>1</th><td>{a}</td><td>{s}</td><td>{v}</td></tr>" for a, s, v in RUNS]
    html = ["<table>", head, *rows, "</table>"]
    outputs = [{"output_type": "stream", "text": ["done\n"]}, {"data": {"text/html": html}}]
    cells = [
        {"cell_type": "markdown", "source": ["# Runs"]},
        {"cell_type": "code", "source": ["df"], "outputs": outputs},
    ]
    return dumped(folder / "runs.ipynb", {"cells": cells, "nbformat": 4})


def bare(folder: Path) -> Path:
    """Steps and values alone; the file says what they are."""
    for arm, seed, value in RUNS:
        lines = [f"{step * 100},{v}" for step, v in course(value)]
        text(folder / "logs" / f"{arm}_seed{seed}" / "scalars" / "score.csv", "\n".join(lines))
    return folder / "logs"


def paired(folder: Path) -> Path:
    """Series of `[step, value]` beside an object without entries."""
    for arm, seed, value in RUNS:
        tree = {"score": course(value), "fit": {}, "val": {"loss": course(1.0)}}
        dumped(folder / "logs" / f"{arm}_seed_{seed}.json", tree)
    return folder / "logs"


def keyed(folder: Path) -> Path:
    """A line of JSON for each number, with the seed among them and texts that tell others apart."""
    for arm, seed, value in RUNS:
        rows: list[dict[str, Any]] = [
            {"key": "seed", "value": seed, "type": "POINT"},
            {"key": "begin", "value": 1, "type": "START"},
            {"key": "begin", "value": 2, "type": "END"},
        ]
        rows += [{"key": "score", "value": v, "type": "POINT", "step": n} for n, v in course(value)]
        name = f"{arm}_x1"
        text(folder / "logs" / name / f"r_{seed + 50}.jsonl", "\n".join(map(json.dumps, rows)))
    return folder / "logs"


def coloured(folder: Path) -> Path:
    """Numbers with thousands between colours of a terminal."""
    for arm, seed, value in RUNS:
        lines = [
            f"\x1b[31mstep: {n}  \x1b[32mloss: 2.5  \x1b[33mscore: {round(v * 9000):,}\x1b[0m"
            for n, v in course(value)
        ]
        text(folder / "logs" / f"{arm}_seed{seed}.log", "\n".join(lines))
    return folder / "logs"


def fractions(folder: Path) -> Path:
    """The step stands in a line above, and what is counted is a part of a whole."""
    for arm, seed, value in RUNS:
        lines = [
            f"Train Epoch: {n} [0/600 (0%)]\tLoss: 2.5\n\n"
            f"Test set: Average loss: 0.1, Score: {round(v * 9000)}/9000 ({round(v * 100)}%)"
            for n, v in course(value)
        ]
        text(folder / "logs" / f"{arm}_seed{seed}.log", "\n".join(lines))
    return folder / "logs"


def seeds_and_mean(folder: Path) -> Path:
    """A column for each seed, and one that sums them up."""
    rows = [f"| {a} | {' | '.join(map(str, own))} | 0.5 ± 0.1 |" for a, own in ARMS.items()]
    head = f"| Method | {' | '.join(f'Seed {n}' for n in range(5))} | Mean ± Std |"
    return text(folder / "README.md", "\n".join(["# Runs", head, "|---" * 7 + "|", *rows]))


def paths(folder: Path) -> Path:
    """A course below the names of each arm and seed."""
    tree = {
        arm: {f"seed_{n}": {"score": [v for _, v in course(value)]} for n, value in of(arm)}
        for arm in ARMS
    }
    return dumped(folder / "results.json", {"results": {"wikitext": tree}})


def printed(folder: Path) -> Path:
    """Write dicts as Python prints them between bars of progress, and a summary below."""
    for arm, seed, value in RUNS:
        lines = [
            f" {n}%|##  | {n}/9 [00:0{n}<00:09]\n{{'score': {v}, 'loss': nan, 'epoch': {n}.0}}"
            for n, v in course(value)
        ]
        end = [
            "{'train_runtime': 6.4, 'epoch': 9.0}\n** eval **\n  epoch = 9.0",
            f"  score = {course(value)[-1][1]}",
        ]
        text(folder / "logs" / f"{arm}_seed{seed}.out", "\n".join([*lines, *end]))
    return folder / "logs"


def cells(folder: Path) -> Path:
    """Write a dict as Python prints it to each cell."""
    rows = [
        f"\"{{'s/score': {v}, 'w': {{}}}}\",\"{{'agent': '{a}', 'seed': {n}}}\"" for a, n, v in RUNS
    ]
    return text(folder / "project.csv", "\n".join(["summary,config", *rows]))


def called_by_objects(folder: Path) -> Path:
    """Write a list of numbers whose names are objects, with what was run beside it."""
    for arm, seed, value in RUNS:
        run = folder / "runs" / f"seed{seed}" / f"task,model={arm}"
        names: list[dict[str, Any]] = [{"name": "score", "split": s} for s in ("test", "valid")]
        names += [
            {"name": "score", "split": "test", "perturbation": {"name": "typos", "fair": False}}
        ]
        numbers = zip(names, (value, 0.1, 0.2), strict=True)
        dumped(
            run / "stats.json", [{"name": n, "count": 1, "mean": v, "sum": v} for n, v in numbers]
        )
        dumped(
            run / "run_spec.json", {"name": run.name, "spec": {"random": "0", "temperature": 0.0}}
        )
    return folder / "runs"


def barred(folder: Path) -> Path:
    """Bars part the cells, with blanks around them; a name has quotes of its own."""
    rows = [f'"{arm}" | {seed} | {value}' for arm, seed, value in RUNS]
    return text(folder / "runs.csv", "\n".join(["method | seed | score", *rows]))


def quoted(folder: Path) -> Path:
    """A cell of CSV holds a text of JSON."""
    rows = [f'"""{arm}""",{seed},{value}' for arm, seed, value in RUNS]
    return text(folder / "runs.csv", "\n".join(["method,seed,score", *rows]))


def unknown_ending(folder: Path) -> Path:
    """Each curve is a table in a file of its own, whose ending says nothing."""
    for arm, seed, value in RUNS:
        home = folder / "logs" / f"{arm}_seed{seed}"
        for name, end in (("score", value), ("loss", 1.0)):
            rows = [f"{step}|2024-05-01T09:00:0{step}|{v}" for step, v in course(end)]
            text(home / f"{name}.plx", "\n".join(["step|timestamp|metric", *rows]))
        text(home / "notes.plx", "it ran")
        text(home / "nothing.plx", "")
        (home / "model.bin").write_bytes(b"step|metric\n1|0.5\n\0")
    return folder / "logs"


def fractional_epochs(folder: Path) -> Path:
    """Steps are counted beside an epoch that is no whole number."""
    for arm, seed, value in RUNS:
        rows = [
            {"current_steps": n, "total_steps": 9, "epoch": n / 3, "score": v}
            for n, v in course(value)
        ]
        rows.append({"current_steps": 9, "total_steps": 9, "epoch": 3.0, "eval_loss": 0.1})
        lines = "\n".join(map(json.dumps, rows))
        text(folder / "logs" / f"{arm}_seed{seed}" / "trainer_log.jsonl", lines)
    return folder / "logs"


FORMS: dict[Callable[[Path], Path], str] = {
    named_above: "",
    model_above: "",
    seeded_below: "mapping: {score: results.scores.score}",
    listed_names: "",
    listed_numbers: "mapping: {score: metrics.score}",
    sheet: 'mapping: {score: "{arm} Score"}',
    notebook: "",
    bare: LAST,
    paired: LAST,
    keyed: LAST,
    coloured: LAST,
    fractions: LAST.replace("v: score", "v: Score"),
    seeds_and_mean: 'mapping: {score: "Seed {seed}"}',
    printed: LAST,
    called_by_objects: "mapping: {score: score.test}",
    barred: "",
    quoted: 'arms: {ours: "\\"ours\\""}',
    unknown_ending: LAST,
    fractional_epochs: LAST,
    cells: "mapping: {score: summary.s/score}",
    paths: f"{LAST.replace('v: score', PATH)}\nnumber: [steps]",
}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_file_is_read_by_what_is_in_it(tmp_path: Path, form: Callable[[Path], Path]) -> None:
    assert counts(judged(tmp_path, [form(tmp_path)], FORMS[form] or "{}")) == (4, 5)


@pytest.mark.parametrize(
    "form", [f for f, stated in FORMS.items() if "last" in stated and f is not paths]
)
def test_what_is_offered_for_a_series_can_be_pasted(
    tmp_path: Path, form: Callable[[Path], Path]
) -> None:
    file = form(tmp_path)
    lines = offered(refusal(tmp_path, [file]))
    assert counts(judged(tmp_path, [file], lines)) == (4, 5)


def test_what_a_sheet_has_beside_its_rows_is_named(tmp_path: Path) -> None:
    told = notes(judged(tmp_path, [sheet(tmp_path)], FORMS[sheet]))
    assert "a title above the table and was passed over: Runs, by Li" in told
    assert "a note below the table and was passed over: * seed 3 was run again" in told
    assert "the header of two rows was read as one" in told


def test_pairs_that_are_not_read_are_named(tmp_path: Path) -> None:
    for arm, seed, value in RUNS:
        lines = [f"step: {n}, speed: 7.5x9, score: {v}" for n, v in course(value)]
        text(tmp_path / "logs" / f"{arm}_seed{seed}.log", "\n".join(lines))
    told = notes(judged(tmp_path, [tmp_path / "logs"], form=SERIES))
    assert "not read, as they are no plain numbers: speed (7.5x9)" in told


# --- how runs ended -------------------------------------------------------------------------------


STOPPED = ("terminated", "error", "failed", "preempted", "timeout", "oom", "aborted", "stopped")


@pytest.mark.parametrize("column", ["status", "run.status", "job_state"])
@pytest.mark.parametrize("word", STOPPED)
def test_a_run_that_did_not_finish_counts_for_nothing(
    tmp_path: Path, column: str, word: str
) -> None:
    again = [("ours", 1, 0.1, word), *((*run, "completed") for run in RUNS)]
    rows = [f"{arm},{seed},{state},{v}" for arm, seed, v, state in again]
    file = text(tmp_path / "runs.csv", "\n".join([f"method,seed,{column},score", *rows]))
    made = judged(tmp_path, [file])
    assert counts(made) == (4, 5)
    assert f": {word}." in notes(made)


def test_terminated_alone_is_how_one_logger_says_finished(tmp_path: Path) -> None:
    rows = [f"{arm},{seed},TERMINATED,{v}" for arm, seed, v in RUNS]
    file = text(tmp_path / "runs.csv", "\n".join(["method,seed,status,score", *rows]))
    made = judged(tmp_path, [file])
    assert counts(made) == (4, 5)
    assert "TERMINATED was taken for finished" in notes(made)


def test_a_word_that_all_rows_have_says_nothing_and_a_truth_value_says_who_failed(
    tmp_path: Path,
) -> None:
    runs = [("ours", 1, 0.1, True), *((*run, False) for run in RUNS)]
    rows = [f"{arm},{seed},inactive,{failed},{v}" for arm, seed, v, failed in runs]
    file = text(tmp_path / "runs.csv", "\n".join(["algo,seed,sys/state,sys/failed,score", *rows]))
    made = judged(tmp_path, [file])
    assert counts(made) == (4, 5)
    assert "10 of 11 runs given were judged" in notes(made)
    assert "'sys/state' says inactive of all" in notes(made)


def test_a_log_that_failed_before_it_had_a_number_is_counted(tmp_path: Path) -> None:
    file = seeded_below(tmp_path)
    tree = {
        "status": "error",
        "eval": {"model": "lab/ours", "generate_config": {"seed": 1}},
        "n": 1,
    }
    dumped(file / "another.json", tree)
    told = notes(judged(tmp_path, [file], FORMS[seeded_below]))
    assert "10 of 11 runs given were judged" in told
    assert "Not finished, and left out: logs/another.json: error." in told


def test_a_second_run_of_one_seed_is_named_with_what_both_say(tmp_path: Path) -> None:
    rows = [f"{arm},{seed},r{arm[0]}{seed},done,{v}" for arm, seed, v in RUNS]
    rows.append("ours,1,second,completed,0.1")
    file = text(tmp_path / "runs.csv", "\n".join(["method,seed,run_id,status,score", *rows]))
    told = refusal(tmp_path, [file])
    assert "(completed), after" in told
    assert "(done); expected it once" in told


def numbered_arms(folder: Path) -> Path:
    """Write each arm's list over seeds to a folder that is called as a run is."""
    for name, arm in (("run_1", "ours"), ("run_0", "baseline")):
        tree = {"task": {"means": {"score_mean": 0.5}, "all": {"score": [v for _, v in of(arm)]}}}
        dumped(folder / "20240812_ours" / name / "final_info.json", tree)
    return folder / "20240812_ours"


OF_NUMBERED = "mapping: {score: task.all.score}\n"


def test_a_folder_that_is_called_as_an_arm_has_no_seed(tmp_path: Path) -> None:
    stated = f"{OF_NUMBERED}number: [seeds]\narms: {{ours: run_1, baseline: run_0}}"
    assert counts(judged(tmp_path, [numbered_arms(tmp_path)], stated)) == (4, 5)


def test_a_numbered_folder_beside_those_of_arms_is_another_arm(tmp_path: Path) -> None:
    folder = numbered_arms(tmp_path)
    dumped(folder / "run_2" / "final_info.json", {"task": {"all": {"score": [0.1] * 5}}})
    stated = f"{OF_NUMBERED}number: [seeds]\narms: {{ours: run_1, baseline: run_0}}"
    made = judged(tmp_path, [folder], stated)
    assert counts(made) == (4, 5)
    assert "Of no arm of the audit (run_2)" in notes(made)


def test_runs_that_are_left_out_are_told_by_what_no_arm_has(tmp_path: Path) -> None:
    for arm, seed, value in [*RUNS, ("third", 0, 0.1), ("third", 1, 0.1)]:
        for data in ("cora", "pubmed", "citeseer"):
            tree = {"args": {"dataset": data, "model": arm, "seed": seed}, "score": value}
            dumped(tmp_path / "logs" / data / arm / f"{seed}.json", tree)
    failed = {"args": {"dataset": "cora", "model": "ours", "seed": 3}, "status": "error"}
    dumped(tmp_path / "logs" / "again.json", {**failed, "score": 0.1})
    settings = "settings:\n  - {from: paper, at: Table 2, values: {dataset: cora}}\nclaims:"
    claims = AUDIT.format(form=SCALAR).replace("claims:", settings)
    claims = claims.replace("    holds_if", "    main: true\n    holds_if")
    other = "  other:\n    says: So it is on others.\n    settings: {dataset: pubmed}\n"
    check = "{kind: beats, value: score, arm: baseline, higher: true, from: paper}"
    file = text(tmp_path / "producers.yaml", f"{claims}{other}    holds_if: [{check}]\n")
    told = notes(judge_logs(load_audit(file), [tmp_path / "logs"], None))
    assert "20 of 37 runs given were judged" in told
    assert "Not finished, and left out: logs/again.json (seed 3): error." in told
    assert "Of no arm of the audit (third), 6 in all: third/0.json (seed 0), third/1.json" in told
    assert "Of no arm of the audit (dataset = 'citeseer'), 10 in all: baseline/0.json" in told


@pytest.mark.parametrize("more", ["", "number: [seeds]"])
def test_the_last_of_a_list_over_seeds_is_not_advised(tmp_path: Path, more: str) -> None:
    told = refusal(tmp_path, [numbered_arms(tmp_path)], OF_NUMBERED + more)
    assert "number: [steps]" not in told
    assert "steps]" not in offered(told)
    assert "last(v)" not in told


def test_a_rule_that_names_an_arm_goes_before_a_folder_of_all_runs(tmp_path: Path) -> None:
    rules = '{match: "*run_0*", arm: baseline}, {match: "*run_1*", arm: ours}'
    for arm, seed, value in RUNS:
        run = "run_1" if arm == "ours" else "run_0"
        dumped(tmp_path / "ours_2024" / run / f"seed{seed}.json", {"score": value})
    made = judged(tmp_path, [tmp_path / "ours_2024"], f"runs: [{rules}]")
    assert counts(made) == (4, 5)


# --- words in lines of a log ----------------------------------------------------------------------


def lines_by_arm(
    folder: Path, named: str, form: str = "{named}={arm} seed={seed} score={v}"
) -> Path:
    lines = [form.format(named=named, arm=arm, seed=seed, v=v) for arm, seed, v in RUNS]
    return text(folder / "all.log", "\n".join(f"2024-05-01 12:00:14 INFO {each}" for each in lines))


BLOCKS = "{named}={arm} seed={seed} of 5\nseed={seed}\nepoch 1 score=0.1\nepoch 2 score={v}"


@pytest.mark.parametrize("named", ["model", "config"])
@pytest.mark.parametrize("form", ["", BLOCKS])
def test_a_word_in_a_line_tells_its_arm(tmp_path: Path, named: str, form: str) -> None:
    file = lines_by_arm(tmp_path, named, *filter(None, [form]))
    made = judged(tmp_path, [file], LAST if form else "{}")
    assert counts(made) == (4, 5)
    assert "not read" not in notes(made)


def test_a_word_of_no_arm_is_a_setting(tmp_path: Path) -> None:
    lines = [f"optim=o{arm} seed={seed} score={v}" for arm, seed, v in RUNS]
    file = text(tmp_path / "all.log", "\n".join(lines))
    assert "found optim = 'obaseline', where" in refusal(tmp_path, [file], "number: [seeds]")
    made = judged(tmp_path, [file], "arms: {ours: oours, baseline: obaseline}")
    assert counts(made) == (4, 5)


def test_a_word_that_all_lines_share_is_named(tmp_path: Path) -> None:
    for arm, seed, v in RUNS:
        lines = ["model=resnet system=Linux optim=sgd", "loss=nan score=0.1", f"score={v}"]
        file = tmp_path / "logs" / f"{arm}_seed{seed}.log"
        text(file, "\n".join(f"epoch {n} {line}" for n, line in enumerate(lines)))
    made = judged(tmp_path, [tmp_path / "logs"], LAST)
    assert counts(made) == (4, 5)
    assert "not read, as they are no plain numbers: optim (sgd)" in notes(made)


def test_a_word_below_the_lines_that_it_is_of_is_not_taken_for_that_of_the_next(
    tmp_path: Path,
) -> None:
    lines = []
    for arm in ARMS:
        shift = 5 * (arm == "baseline")
        lines += [f"seed={seed + shift} score={v}" for seed, v in of(arm)]
        lines.append(f"done with model={arm}")
    made = judged(tmp_path, [text(tmp_path / "all.log", "\n".join(lines))])
    assert counts(made)[0] == 0
    assert "not read, as they are no plain numbers: model (baseline)" in notes(made)


def test_a_file_without_numbers_is_named_without_a_list_of_them(tmp_path: Path) -> None:
    text(tmp_path / "logs" / "meta.yaml", "artifact: file:///home/runs\nstage: active\nid: '0'")
    for arm, seed, value in RUNS:
        dumped(tmp_path / "logs" / f"{arm}_seed{seed}.json", {"score": value})
    told = notes(judged(tmp_path, [tmp_path / "logs"]))
    assert "meta.yaml (holds nothing that is wanted)" in told


# --- the order of steps ---------------------------------------------------------------------------


def shuffled(folder: Path, column: str = "step", lacking: int = 0) -> Path:
    """Steps stand in no order, each once; the last runs lack some of the end."""
    order = [7, 3, 9, 0, 5, 1, 8, 2, 6, 4]
    lines = [f"method,seed,{column},score"]
    for arm, seed, value in RUNS:
        own = dict(course(value)[: 10 - (lacking if seed == 4 else 0)])
        lines += [f"{arm},{seed},{step},{own[step]}" for step in order if step in own]
    return text(folder / "steps.csv", "\n".join(lines))


@pytest.mark.parametrize("overlap", ["", "overlap: later", "overlap: earlier"])
def test_steps_that_stand_unsorted_are_sorted(tmp_path: Path, overlap: str) -> None:
    made = judged(tmp_path, [shuffled(tmp_path)], f"{LAST}\n{overlap}")
    assert counts(made) == (4, 5)
    told = notes(made)
    assert "its steps stand in another order, each once: its points were sorted by them" in told
    assert "dropped" not in told


@pytest.mark.parametrize("mapping", ["arms: {baseline: plain_lr}", "{}"])
def test_an_arm_that_is_stated_may_have_another_name(tmp_path: Path, mapping: str) -> None:
    """The defect: the mapping that the tool itself advised had no effect on a column `arm`."""
    called = "plain_lr" if "arms" in mapping else "baseline"
    names = {"ours": "ours", "baseline": called}
    lines = [f"{names[arm]},{seed},{value}" for arm, seed, value in RUNS]
    file = text(tmp_path / "results.csv", "\n".join(["arm,seed,score", *lines]))
    assert counts(judged(tmp_path, [file], mapping)) == (4, 5)


def test_runs_that_are_called_by_hashes_are_numbered(tmp_path: Path) -> None:
    for arm, seed, value in RUNS:
        name = f"{arm}/{seed:x}1c0da0f3af"[: len(arm) + 9]
        lines = "\n".join(f"step:{step} score:{number:.4f}" for step, number in course(value))
        text(tmp_path / "logs" / f"{name}.txt", lines)
    made = judged(tmp_path, [tmp_path / "logs"], f"{LAST}\nnumber: [seeds]")
    assert counts(made) == (4, 5)


@pytest.mark.parametrize("column", ["metric", "versions.score"])
def test_a_column_of_words_or_versions_is_not_offered(tmp_path: Path, column: str) -> None:
    word = "accuracy" if column == "metric" else "1"
    lines = [f"{word},{seed},{value}" for arm, seed, value in RUNS if arm == "ours"]
    text(tmp_path / "ours.csv", "\n".join([f"{column},seed,result", *lines]))
    told = refusal(tmp_path, [tmp_path / "ours.csv"])
    assert f'"{column}"' not in told
    assert "result" in told


def test_a_run_that_went_on_from_an_earlier_step_is_not_sorted(tmp_path: Path) -> None:
    for arm, seed, value in RUNS:
        again = [(step + 0.5, number) for step, number in course(value)[5:]]
        points = [(2 * step, number) for step, number in [*course(value)[:7], *again]]
        lines = [f"{step:.0f},{number}" for step, number in points]
        text(tmp_path / "logs" / f"{arm}_seed{seed}.csv", "\n".join(["step,score", *lines]))
    assert "overlap: later" in offered(refusal(tmp_path, [tmp_path / "logs"], LAST))
    told = notes(judged(tmp_path, [tmp_path / "logs"], f"{LAST}\noverlap: later"))
    assert "where steps overlap, the later points hold; dropped: 1" in told


def test_a_run_that_diverged_stands_beside_a_curve_that_is_left_out(tmp_path: Path) -> None:
    audit = AUDIT.format(form="every_step: []").replace(
        "measurements: {", "measurements: {loss: {every_step: [], says: The loss.}, "
    )
    text(tmp_path / "producers.yaml", audit)
    for arm, seed, value in RUNS:
        cut = range(7 if seed == 2 else 10)
        lines = [f"{n},{v},{v if n in cut else ''}" for n, v in course(value)]
        text(tmp_path / "logs" / f"{arm}_seed{seed}.csv", "\n".join(["step,score,loss", *lines]))
    rule = text(tmp_path / "m.yaml", 'runs: [{match: "*ours_seed0*", status: diverged}]')
    made = judge_logs(load_audit(tmp_path / "producers.yaml"), [tmp_path / "logs"], rule)
    assert "Left out: 'loss'" in "\n".join([*made.logs.lines, *map(str, made.logs.left_out)])


@pytest.mark.parametrize(("holds", "dropped"), [("later", 2), ("earlier", 2)])
def test_what_an_overlap_drops_is_counted(tmp_path: Path, holds: str, dropped: int) -> None:
    for arm, seed, value in RUNS:
        points = course(value)
        lines = [f"{n},{v}" for n, v in [*points[:7], *points[5:]]]
        text(tmp_path / "logs" / f"{arm}_seed{seed}.csv", "\n".join(["step,score", *lines]))
    assert "overlap: later" in offered(refusal(tmp_path, [tmp_path / "logs"], LAST))
    told = notes(judged(tmp_path, [tmp_path / "logs"], f"{LAST}\noverlap: {holds}"))
    assert f"where steps overlap, the {holds} points hold; dropped: {dropped}" in told


@pytest.mark.parametrize("column", ["task_id", "question_id"])
def test_tasks_of_an_evaluation_are_no_steps_of_a_training(tmp_path: Path, column: str) -> None:
    stated = f"{LAST.replace('last', 'mean')}\ncolumns: {{step: {column}}}"
    assert counts(judged(tmp_path, [shuffled(tmp_path, column)], stated)) == (4, 5)
    told = refusal(tmp_path, [shuffled(tmp_path, column, lacking=2)], stated)
    assert "seed 4: it lacks 2 of the 10 steps" in told
    assert "say how that is known: `complete: …`" in told
    assert "crashed" not in told


# --- what is advised ------------------------------------------------------------------------------


def cut(folder: Path) -> Iterator[Path]:
    """Write runs in folders that differ above alone, with copies; yield what ends early."""
    for arm, seed, value in RUNS:
        points = course(value)[: 4 if (arm, seed) == ("baseline", 4) else 10]
        run = folder / "logs" / arm / "game" / f"seed{seed}"
        for name, more in (("metrics.jsonl", {"fps": 9}), ("scores.jsonl", {})):
            lines = [json.dumps({"step": n, "score": v, **more}) for n, v in points]
            text(run / name, "\n".join(lines))
        if len(points) < 10:
            yield run / "metrics.jsonl"


@pytest.mark.parametrize("match", ["*ours*seed_3*", "seed 3", "*seed 3*"])
def test_a_rule_may_name_a_run_as_its_file_does(tmp_path: Path, match: str) -> None:
    stated = f'{FORMS[paths]}\nruns: [{{match: "{match}", status: crashed}}]'
    made = judged(tmp_path, [paths(tmp_path)], stated)
    assert counts(made)[1] == 4


def test_a_rule_that_matches_nothing_and_a_tag_that_is_nowhere_are_told_at_once(
    tmp_path: Path,
) -> None:
    stated = f"{LAST.replace('v: score', 'v: scoer')}\nruns: [{{match: x, status: crashed}}]"
    told = refusal(tmp_path, [paired(tmp_path)], stated)
    assert "match 'x': found no such run" in told
    assert "found no logged 'scoer'" in told


@pytest.mark.parametrize("setting", ["system", "scorer.name", "data.split"])
def test_what_tells_arms_or_numbers_apart_is_never_let_differ(tmp_path: Path, setting: str) -> None:
    for arm, seed, value in RUNS:
        run = tmp_path / "logs" / f"{arm}-s{seed}"
        dumped(run / "score.json", {"score": value})
        dumped(run / "config.json", {"seed": seed, setting: "other" if seed > 3 else "one"})
    told = refusal(tmp_path, [tmp_path / "logs"])
    assert f"found {setting} = 'other'" in told
    assert "vary" not in told


@pytest.mark.parametrize("label", ["experimentKey", "sha", "experiment"])
def test_a_name_of_each_run_is_no_setting(tmp_path: Path, label: str) -> None:
    for arm, seed, value in RUNS:
        run = tmp_path / "logs" / f"{arm}-s{seed}"
        names = {"experimentKey": f"q{seed}x{arm}", "sha": f"{seed}0ab12f", "experiment": run.name}
        dumped(run / "score.json", {"score": value})
        dumped(run / "config.json", {"seed": seed, label: names[label]})
    assert counts(judged(tmp_path, [tmp_path / "logs"])) == (4, 5)


def test_an_advised_pattern_fits_one_run_and_its_copies(tmp_path: Path) -> None:
    (file,) = cut(tmp_path)
    told = refusal(tmp_path, [tmp_path / "logs"])
    rule = choice(told, "crashed or was cut short")
    assert f'match: "*{file.relative_to(tmp_path / "logs")}", status: crashed' in rule
    made = judged(tmp_path, [tmp_path / "logs"], f"{offered(told)}\n{rule}")
    assert counts(made) == (4, 4)
    assert "8 of 10 runs given were judged" in notes(made)


@pytest.mark.parametrize("tag", ["config.temperature", "wall"])
def test_a_number_that_has_nothing_in_common_is_not_offered(tmp_path: Path, tag: str) -> None:
    for arm, seed, _ in RUNS:
        name = tag.rpartition(".")[2]
        tree: dict[str, Any] = {name: 0.7}
        dumped(
            tmp_path / "logs" / f"{arm}_seed{seed}.json",
            {"config": tree, "n": 3} if "." in tag else {**tree, "n": 3},
        )
    told = refusal(tmp_path, [tmp_path / "logs"])
    assert f"{{score: {tag}" not in told
    assert f'{{score: "{tag}' not in told


def test_a_missing_tag_is_named(tmp_path: Path) -> None:
    told = refusal(tmp_path, [paired(tmp_path)], LAST.replace("v: score", "v: scoer"))
    assert "found no logged 'scoer'" in told


def test_a_text_that_differs_in_the_number_of_the_seed_is_no_setting(tmp_path: Path) -> None:
    rows = [f"{arm},{seed},{arm} seed={seed},{v}" for arm, seed, v in RUNS]
    file = text(tmp_path / "runs.csv", "\n".join(["method,seed,label,score", *rows]))
    assert counts(judged(tmp_path, [file])) == (4, 5)


def test_files_of_one_seed_that_lie_at_other_coordinates_are_one_run(tmp_path: Path) -> None:
    for arm, seed, value in RUNS:
        for task in ("a", "b"):
            tree = {"task_name": task, "scores": {"test": [{"score": value}]}}
            dumped(tmp_path / "logs" / f"{arm}_seed{seed}" / f"{task}.json", tree)
    written = AUDIT.format(form="once: [task]")
    written = written.replace("claims:", "axes: {task: {values: [a, b]}}\nclaims:")
    audit = load_audit(text(tmp_path / "producers.yaml", written))
    stated = "mapping: {score: scores.test.score}\ncolumns: {axes: {task: task_name}}"
    mapping = text(tmp_path / "mapping.yaml", stated)
    assert counts(judge_logs(audit, [tmp_path / "logs"], mapping)) == (4, 5)


# --- cells of a sheet -----------------------------------------------------------------------------


def merged(folder: Path, begin: str = "ours", *, swapped: bool = False, mean: bool = False) -> Path:
    """Write a sheet that names an arm in the first row of its block; seeds go on from 0 to 9."""
    lines = ["method,seed,score"]
    for block, arm in enumerate(reversed(ARMS) if swapped else ARMS):
        named = begin if arm == "ours" else arm
        rows = [["", str(5 * block + seed), str(value)] for seed, value in of(arm)]
        rows = [["", "mean", "0.5"], *rows] if mean else rows
        rows[0][0] = named
        lines += map(",".join, rows)
    return text(folder / "sheet.csv", "\n".join(lines))


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("swapped", [False, True])
def test_an_empty_cell_of_an_arm_has_the_value_above_it(
    tmp_path: Path, swapped: bool, mean: bool
) -> None:
    file = merged(tmp_path, swapped=swapped, mean=mean)
    made = judged(tmp_path, [file], "number: [seeds]")
    assert counts(made) == (0, 5)
    told = notes(made)
    seeds = [range(5, 10), range(5)] if swapped else [range(5), range(5, 10)]
    for role, own in zip(("'ours'", "'baseline'"), seeds, strict=True):
        assert f"{role}, from table: seeds {', '.join(map(str, own))}\n" in told
    assert "empty cells of 'method' have the value above them: lines" in told


def test_an_empty_cell_of_an_arm_with_none_above_it_is_refused(tmp_path: Path) -> None:
    told = refusal(tmp_path, [merged(tmp_path, "")])
    assert "sheet.csv:2: found no 'method', and none above it" in told


def test_rows_that_name_no_arm_are_not_those_of_the_method(tmp_path: Path) -> None:
    rows = [f"{'' if arm == 'ours' else arm},{seed},{value}" for arm, seed, value in RUNS]
    lines = ["method,seed,score", *rows[5:], *rows[:5]]
    file = text(tmp_path / "runs.csv", "\n".join(lines))
    assert "runs.csv:7: found no 'method', and none above it that fits" in refusal(tmp_path, [file])
    made = judged(tmp_path, [file], "arms: {ours: null}")
    assert counts(made) == (4, 5)


def test_an_empty_cell_on_top_is_not_said_to_have_what_is_below_it(tmp_path: Path) -> None:
    rows = [f"{'' if seed == 0 else 'ab'[seed % 2]},{arm},{seed},{v}" for arm, seed, v in RUNS]
    file = text(tmp_path / "runs.csv", "\n".join(["sweep,method,seed,score", *rows]))
    told = notes(judged(tmp_path, [file], "vary: [sweep]"))
    assert "empty cells of 'sweep' have the value above them: lines 7" in told


# --- several tables in one text -------------------------------------------------------------------

SIZES = [["Dataset", "# train", "groups"], ["Birds", "4,795", "4"], ["Faces", "162,770", "4"]]


def wide(*seeds: int, swapped: bool = False) -> list[list[str]]:
    """Return a table with a column for each arm, whose names may be swapped."""
    named = [*reversed(ARMS)] if swapped else [*ARMS]
    rows = [[str(seed), *(str(own[seed]) for own in ARMS.values())] for seed in seeds]
    return [["Seed", *named], *rows]


def piped(heading: str, cells: list[list[str]]) -> str:
    first, *rows = (f"| {' | '.join(row)} |" for row in cells)
    return "\n".join([f"## {heading}", "", first, "|---" * len(cells[0]) + "|", *rows])


def in_latex(heading: str, cells: list[list[str]]) -> str:
    rows = "".join(f"{' & '.join(row)} \\\\\n".replace("#", r"\#") for row in cells)
    table = f"\\begin{{tabular}}{{lrr}}\n{rows}\\end{{tabular}}"
    return f"\\begin{{table}}\n\\centering\n{table}\n\\caption{{{heading}}}\n\\end{{table}}\n"


def in_html(heading: str, cells: list[list[str]]) -> str:
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
    return f"<h2>{heading}</h2><table>{rows}</table>"


def several(folder: Path, form: str, tables: dict[str, list[list[str]]]) -> Path:
    if form == "a.ipynb":
        cells = [
            {"source": [heading], "outputs": [{"data": {"text/html": in_html(heading, each)}}]}
            for heading, each in tables.items()
        ]
        return dumped(folder / form, {"cells": cells})
    draw = {"README.md": piped, "table.tex": in_latex, "page.html": in_html}[form]
    return text(folder / form, "\n\n".join(draw(*each) for each in tables.items()))


FORMS_OF_TEXT = ["README.md", "table.tex", "page.html", "a.ipynb"]


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("form", FORMS_OF_TEXT)
def test_a_table_of_something_else_is_named(tmp_path: Path, form: str, is_last: bool) -> None:
    tables = {"Runs": wide(*range(5)), "Data": SIZES}
    order = tables if is_last else dict(reversed(tables.items()))
    made = judged(tmp_path, [several(tmp_path, form, order)])
    assert counts(made) == (4, 5)
    assert "not used: 'Data' (Dataset, # train, groups)" in notes(made)


@pytest.mark.parametrize("form", FORMS_OF_TEXT)
def test_tables_of_the_same_seeds_are_chosen_from(tmp_path: Path, form: str) -> None:
    tables = {"Birds": wide(*range(5)), "Faces": wide(*range(5), swapped=True)}
    file = several(tmp_path, form, tables)
    told = refusal(tmp_path, [file])
    line = 'runs: [{match: "*heading Faces*", ignore: true}]'
    assert f"`{line}` leaves those out" in told
    assert "vary" not in told
    assert counts(judged(tmp_path, [file], line)) == (4, 5)
    assert counts(judged(tmp_path, [file], line.replace("Faces", "Birds"))) == (1, 5)


def test_tables_below_one_heading_are_numbered_where_seeds_stand_again(tmp_path: Path) -> None:
    both = f"{piped('Runs', wide(*range(5)))}\n\n{piped('Runs', wide(*range(5), swapped=True))}"
    file = text(tmp_path / "README.md", both)
    line = 'runs: [{match: "*heading Runs (2)*", ignore: true}]'
    assert f"`{line}` leaves those out" in refusal(tmp_path, [file])
    assert counts(judged(tmp_path, [file], line)) == (4, 5)


def test_a_table_that_goes_on_in_another_is_one(tmp_path: Path) -> None:
    both = f"{piped('Runs', wide(0, 1, 2))}\n\n{piped('Runs', wide(3, 4))}"
    made = judged(tmp_path, [text(tmp_path / "README.md", both)])
    assert counts(made) == (4, 5)
    assert "2 tables of it were read as one" in notes(made)


@pytest.mark.parametrize(
    ("form", "spanned"),
    [
        ("table.tex", [[r"\multicolumn{2}{c}{Sum}"], ["ours", "0.9"]]),
        ("page.html", [["ours</td><td colspan=2>0.9"], ["baseline", "0.5"]]),
    ],
)
def test_a_table_with_cells_that_span_others_is_named(
    tmp_path: Path, form: str, spanned: list[list[str]]
) -> None:
    file = several(tmp_path, form, {"Runs": wide(*range(5)), "Sums": spanned})
    made = judged(tmp_path, [file])
    assert counts(made) == (4, 5)
    assert "not used: 'Sums' (cells span others)" in notes(made)


def test_a_broken_table_of_a_notebook_is_named(tmp_path: Path) -> None:
    outputs = {"Runs": piped("Runs", wide(*range(5))), "Sums": "| a | b |\n| 1 | 2 | 3 |"}
    cells = [{"source": [name], "outputs": [{"text": own}]} for name, own in outputs.items()]
    made = judged(tmp_path, [dumped(tmp_path / "a.ipynb", {"cells": cells})])
    assert counts(made) == (4, 5)
    assert "not used: 'Sums' (found 3 cells; expected 2, as in the header" in notes(made)


def test_where_no_number_has_a_known_name_the_table_that_names_arms_is_read(tmp_path: Path) -> None:
    rows = [["Method", "Seed", "Points"], *([arm, str(seed), str(v)] for arm, seed, v in RUNS)]
    told = refusal(tmp_path, [several(tmp_path, "README.md", {"Data": SIZES, "Runs": rows})])
    assert "found the tags Points; expected score" in told


# --- commas ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS_OF_TEXT)
@pytest.mark.parametrize("other", ["911", "1,187"])
def test_thousands_are_not_read_as_decimals(tmp_path: Path, form: str, other: str) -> None:
    rows = [["Seed", *ARMS], *([str(seed), "1,203", other] for seed in range(5))]
    told = refusal(tmp_path, [several(tmp_path, form, {"Runs": rows})])
    assert "found '1,203', no number" in told
    assert "without a comma, which may part thousands or decimals" in told


@pytest.mark.parametrize(("other", "yes"), [("0,911", 5), ("1,2", 5), ("1.187,25", 0)])
def test_commas_of_which_one_parts_decimals_all_do(tmp_path: Path, other: str, yes: int) -> None:
    rows = [["Seed", *ARMS], *([str(seed), "1,203", other] for seed in range(5))]
    made = judged(tmp_path, [several(tmp_path, "README.md", {"Runs": rows})])
    assert counts(made) == (yes, 5)
    assert "numbers have decimal commas, such as 1,203" in notes(made)


# --- which files are runs -------------------------------------------------------------------------


def states_and_logs(folder: Path) -> Path:
    """Beside each log lies a Trainer's state with the same series."""
    logs = fractional_epochs(folder)
    for arm, seed, value in RUNS:
        history = [{"step": n, "epoch": n / 3, "score": v} for n, v in course(value)]
        dumped(logs / f"{arm}_seed{seed}" / "trainer_state.json", {"log_history": history})
    return logs


@pytest.mark.parametrize(
    ("step", "copy", "read"),
    [
        (None, "trainer_log.jsonl", "trainer_state.json"),
        ("current_steps", "trainer_state.json", "trainer_log.jsonl"),
        ("step", "trainer_log.jsonl", "trainer_state.json"),
    ],
)
def test_a_log_beside_a_state_with_its_series_is_no_second_run(
    tmp_path: Path, step: str | None, copy: str, read: str
) -> None:
    named = "" if step is None else f"\ncolumns: {{step: {step}}}"
    made = judged(tmp_path, [states_and_logs(tmp_path)], LAST + named)
    assert counts(made) == (4, 5)
    assert f"/{copy}" in notes(made)
    assert f"(the same series as {read} beside it)" in notes(made)


def test_a_named_column_of_steps_holds_for_the_files_that_have_it(tmp_path: Path) -> None:
    for arm, seed, value in RUNS:
        counter = "calls" if arm == "ours" else "step"
        rows = [f"{n},{v}" for n, v in course(value)]
        file = tmp_path / "logs" / f"{arm}_seed{seed}.csv"
        text(file, "\n".join([f"{counter},score", *rows]))
    stated = f"{LAST}\ncolumns: {{step: calls}}"
    assert counts(judged(tmp_path, [tmp_path / "logs"], stated)) == (4, 5)
    told = refusal(tmp_path, [tmp_path / "logs"], stated.replace("calls", "turns"))
    assert "found no column 'turns', which the mapping calls step" in told


def evaluations(folder: Path) -> Path:
    """Each time of an evaluation has a folder of results, predictions and a table of all."""
    for seed in range(5):
        home = folder / "outputs" / f"20240401_10{seed}512"
        for arm, values in ARMS.items():
            dumped(home / "results" / arm / "gsm8k.json", {"score": values[seed]})
            dumped(home / "results" / arm / "math.json", {"score": 0.7})
            dumped(home / "predictions" / arm / "gsm8k.json", [{"gold": 18}, {"gold": 3}])
        ours, baseline = (values[seed] for values in ARMS.values())
        rows = [
            "dataset,metric,ours,baseline",
            f"gsm8k,score,{ours},{baseline}",
            f"math,score,0.{seed}7,0.{seed}8",
            "humaneval,-,-,-",
        ]
        text(home / "summary" / f"summary_{seed}.csv", "\n".join(rows))
    return folder / "outputs"


def test_where_names_match_they_say_which_files_are_runs(tmp_path: Path) -> None:
    stated = 'names: "*/results/{arm}/gsm8k.json"\nnumber: [seeds]'
    made = judged(tmp_path, [evaluations(tmp_path)], stated)
    assert counts(made) == (4, 5)
    assert "summary/summary_0.csv" in notes(made)
    assert "(not called as `names` says)" in notes(made)
    assert "gsm8k.json (holds nothing that is wanted, but gold)" in notes(made)


def test_a_run_of_an_unknown_arm_is_not_passed_over_by_names(tmp_path: Path) -> None:
    for arm, seed, value in RUNS:
        called = "plain" if arm == "baseline" else arm
        dumped(tmp_path / "logs" / f"{called}_s{seed}.json", {"score": value})
    named = 'names: "{arm}_s{seed}.json"'
    assert "plain_s0.json: found no seed" in refusal(tmp_path, [tmp_path / "logs"], named)
    stated = f"{named}\narms: {{baseline: plain}}"
    assert counts(judged(tmp_path, [tmp_path / "logs"], stated)) == (4, 5)


def test_a_run_of_which_a_rule_speaks_is_one_however_it_is_called(tmp_path: Path) -> None:
    for arm, seed, value in RUNS:
        called = f"{arm}-final" if seed == 4 else f"{arm}_s{seed}"
        dumped(tmp_path / "logs" / f"{called}.json", {"score": value})
    named = 'names: "{arm}_s{seed}.json"'
    told = notes(judged(tmp_path, [tmp_path / "logs"], named))
    assert "ours-final.json" in told
    assert "(not called as `names` says)" in told
    ruled = f'{named}\nruns: [{{match: "*-final.json", seed: 4}}]'
    assert counts(judged(tmp_path, [tmp_path / "logs"], ruled)) == (4, 5)


def test_rows_of_a_table_are_no_files_that_names_leave_out(tmp_path: Path) -> None:
    rows = [f"{arm}_s{seed},{value}" for arm, seed, value in RUNS]
    rows[4] = rows[4].replace("ours_s4", "ours, the last")
    lines = "\n".join(["run;score", *(row.replace(",0.", ";0.") for row in rows)])
    told = refusal(tmp_path, [text(tmp_path / "runs.csv", lines)], 'names: "{arm}_s{seed}"')
    assert "(ours, the last): found no seed" in told


def test_a_column_that_repeats_in_every_file_is_not_let_vary(tmp_path: Path) -> None:
    files = sorted(evaluations(tmp_path).glob("*/summary/*.csv"))
    told = refusal(tmp_path, files, "number: [seeds]")
    assert "vary" not in told
    rule = 'runs: [{match: "*dataset math*", ignore: true}]'
    assert f"`{rule}` leaves those out" in told
    made = judged(tmp_path, files, f"number: [seeds]\n{rule}")
    assert counts(made) == (4, 5)
    assert "rows with dashes alone were passed over: line 4 (humaneval)" in notes(made)


# --- what is offered ------------------------------------------------------------------------------


def test_for_a_nan_of_an_end_both_diverged_and_crashed_are_offered(tmp_path: Path) -> None:
    rows = [f"{arm},{seed},{v if (arm, seed) != ('ours', 2) else 'nan'}" for arm, seed, v in RUNS]
    file = text(tmp_path / "runs.csv", "\n".join(["method,seed,score", *rows]))
    told = notes(judged(tmp_path, [file]))
    assert "if it crashed, `status: crashed` (it is left out, and counts for neither side)" in told
    rule = choice(told, "diverged")
    assert counts(judged(tmp_path, [file], rule)) == (3, 5)
    assert counts(judged(tmp_path, [file], rule.replace("diverged", "crashed"))) == (3, 4)


def test_a_table_of_a_notebook_whose_cells_span_others_is_named(tmp_path: Path) -> None:
    file = notebook(tmp_path)
    tree = json.loads(file.read_text(encoding="utf-8"))
    spans = (
        "<table><tr><th></th><th colspan=2>score</th></tr><tr><th>ours</th><td>1</td></tr></table>"
    )
    tree["cells"].append({"source": ["df.agg()"], "outputs": [{"data": {"text/html": [spans]}}]})
    made = judged(tmp_path, [dumped(file, tree)])
    assert counts(made) == (4, 5)
    assert "not used: 'df.agg()' (cells span others)" in notes(made)


def test_the_line_for_names_of_arms_holds_what_is_clear(tmp_path: Path) -> None:
    rows = [f"the {arm} one,{seed},{value}" for arm, seed, value in RUNS]
    file = text(tmp_path / "runs.csv", "\n".join(["label,seed,score", *rows]))
    line = 'arms: {ours: "the ours one", baseline: "the baseline one"}'
    told = refusal(tmp_path, [file], 'runs: [{match: "*", arm: ours}]')
    assert f"`{line}`" in told


def test_a_backup_below_another_ending_is_no_log_beside_what_it_is_of(tmp_path: Path) -> None:
    file = quoted(tmp_path / "logs")
    text(tmp_path / "logs" / "runs.csv.bak", file.read_text(encoding="utf-8"))
    made = judged(tmp_path, [tmp_path / "logs"])
    assert counts(made) == (4, 5)
    assert "runs.csv.bak (text beside other logs)" in notes(made)


def test_a_history_of_rounds_is_not_called_by_a_loggers_name(tmp_path: Path) -> None:
    for arm, seed, value in RUNS:
        history = [[n, v] for n, v in course(value)]
        dumped(tmp_path / "logs" / f"{arm}_seed{seed}.json", {"score": history, "loss": history})
    assert "'ours', from table" in notes(judged(tmp_path, [tmp_path / "logs"], LAST))
