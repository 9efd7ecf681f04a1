"""What a log holds and an answer does not count is named; a unit that is unclear is asked about."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reproaudit.audit.loading import load_audit
from reproaudit.errors import AuditError
from reproaudit.intake.importing import explained_logs
from reproaudit.intake.reading import read_submission
from reproaudit.service.judge import Judged, judge_logs

HEAD = """\
schema_version: 3
paper: {slug: lost, title: Lost, year: 2026, read: {text: abstract}}
method: ours
"""
BEATS = "{kind: beats, value: accuracy, arm: baseline, higher: true, from: paper}"
BETTER = f"better: {{says: Ours is better., main: true, holds_if: [{BEATS}]}}"
OURS = (0.91, 0.93, 0.92, 0.94, 0.915)
BASELINE = (0.84, 0.85, 0.86, 0.83, 0.85)
RUNS = [
    {"seed": seed, "arm": arm, "accuracy": value}
    for arm, values in (("ours", OURS), ("baseline", BASELINE))
    for seed, value in enumerate(values)
]


def reaches(bound: str) -> str:
    held = f"{{kind: reaches, value: accuracy, {bound}, from: paper}}"
    return f"reaches: {{says: Ours reaches it., holds_if: [{held}], no_control: a number}}"


def audit_file(folder: Path, claims: Iterable[str] = (BETTER,), more: str = "") -> Path:
    file = folder / "lost.yaml"
    listed = "".join(f"  {claim}\n" for claim in claims)
    file.write_text(f"{HEAD}{more}claims:\n{listed}", encoding="utf-8")
    return file


def judged(
    folder: Path,
    log: Path,
    mapping: str = "{}",
    claims: Iterable[str] = (BETTER,),
    more: str = "",
) -> Judged:
    stated = folder / "mapping.yaml"
    stated.write_text(mapping, encoding="utf-8")
    return judge_logs(load_audit(audit_file(folder, claims, more)), [log], stated)


def refusal(folder: Path, log: Path, *stated: Any) -> str:
    with pytest.raises(AuditError) as error:
        judged(folder, log, *stated)
    return str(error.value)


def counts(made: Judged) -> list[tuple[int, int]]:
    """Return of each claim the runs that say yes, and those that say anything."""
    return [(claim.base.yes, claim.base.n) for claim in made.scorecard.claims]


def notes(made: Judged) -> str:
    assert made.logs is not None
    return "\n".join(made.logs.lines)


def explained(folder: Path, log: Path, more: str = "") -> str:
    return "\n".join(explained_logs(load_audit(audit_file(folder, more=more)), [log], None))


def dumped(file: Path, tree: object) -> Path:
    file.write_text(json.dumps(tree), encoding="utf-8")
    return file


def tabled(file: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    written = io.StringIO()
    table = csv.DictWriter(written, list(rows[0]))
    table.writeheader()
    table.writerows(rows)
    file.write_text(written.getvalue(), encoding="utf-8")
    return file


def changed(change: Callable[[float], object], name: str = "accuracy") -> list[dict[str, Any]]:
    """Return the runs with other numbers, under a name."""
    return [
        {**{k: v for k, v in run.items() if k != "accuracy"}, name: change(float(run["accuracy"]))}
        for run in map(dict[str, Any], RUNS)
    ]


# --- in one unit ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "more", "is_asked"),
    [
        ("test_loss", "", False),
        ("test_loss", "measurements: {test_loss: {unit: '%', once: [], says: It.}}\n", True),
        ("lossless_rate", "", True),
    ],
)
def test_a_loss_that_is_much_larger_in_one_arm_is_in_one_unit(tmp_path, name, more, is_asked):
    rows = [{**run, name: run["seed"] / 100 + 0.05} for run in RUNS]
    rows = [
        {**row, name: 80 * row[name] if row["arm"] == "baseline" else row[name]} for row in rows
    ]
    log = dumped(tmp_path / "runs.json", rows)
    lower = BETTER.replace("accuracy", name).replace("true, from", "false, from")
    if is_asked:
        assert "expected one unit" in refusal(tmp_path, log, "{}", (lower,), more)
    else:
        assert counts(judged(tmp_path, log, "{}", (lower,), more)) == [(5, 5)]


@pytest.mark.parametrize(
    ("scale", "bound", "way"),
    [
        (100, "at_least: 0.95", "runs: [{match: '*', percent: [accuracy]}]"),
        (100, "at_most: 0.95", "runs: [{match: '*', percent: [accuracy]}]"),
        (1, "at_least: 95", "mapping: {accuracy: {expression: 100 * v, let: {v: accuracy}}}"),
    ],
)
def test_a_bound_in_another_unit_than_the_numbers_is_asked_about(tmp_path, scale, bound, way):
    log = dumped(tmp_path / "runs.json", changed(lambda value: value * scale))
    claims = (BETTER, reaches(bound))
    (line,) = refusal(tmp_path, log, "{}", claims).splitlines()
    assert f"the audit's number {bound.rpartition(' ')[2]}" in line
    assert f"numbers up to {0.92 * scale:g} in 'ours'" in line
    assert line.count("`") == 4
    right = (5, 5) if "most" in bound else (0, 5)
    assert counts(judged(tmp_path, log, way, claims))[1] == right
    kept = judged(tmp_path, log, "one_unit: The paper counts so.", claims)
    assert counts(kept)[0] == (5, 5)


@pytest.mark.parametrize(
    ("scale", "bound"),
    [
        (1, "at_least: 0.9"),
        (100, "at_least: 90"),
        (100, "at_most: 0.1"),  # a loss that did not fall
        (0.1, "at_most: 50"),  # a loss far below its bound
        (1000, "at_least: 0.95"),  # nobody's per cent
    ],
)
def test_a_bound_that_may_be_in_the_unit_of_the_numbers_is_not_asked_about(tmp_path, scale, bound):
    log = dumped(tmp_path / "runs.json", changed(lambda value: value * scale))
    assert counts(judged(tmp_path, log, claims=(BETTER, reaches(bound))))[0] == (5, 5)


def test_a_number_that_is_to_be_equalled_is_a_bound(tmp_path):
    held = "{kind: equals, value: accuracy, to: 0.92, within: 0.01, from: paper}"
    claims = (
        f"equals: {{says: Ours has 92 %., main: true, holds_if: [{held}], no_control: a number}}",
    )
    log = dumped(tmp_path / "runs.json", changed(lambda value: value * 100))
    assert "the audit's number 0.92 and numbers up to 92" in refusal(tmp_path, log, "{}", claims)


SIGNED = "'accuracy' was logged in per cent"
DIVIDED = f"{SIGNED} and divided by 100"


@pytest.mark.parametrize("write", [dumped, tabled])
@pytest.mark.parametrize("sign", ["%", " %"])
@pytest.mark.parametrize("bound", [0.9, 90])
def test_a_sign_of_per_cent_is_read(tmp_path, write, sign, bound):
    log = write(tmp_path / "runs.json", changed(lambda value: f"{value * 100:g}{sign}"))
    if write is tabled:
        log = log.rename(tmp_path / "runs.csv")
    made = judged(tmp_path, log, claims=(BETTER, reaches(f"at_least: {bound}")))
    assert counts(made) == [(5, 5), (5, 5)]
    assert (DIVIDED in notes(made)) is (bound < 1)
    assert SIGNED in notes(made)


@pytest.mark.parametrize("name", ["Test Accuracy (%)", "accuracy_pct", "accuracy [%]"])
def test_a_name_that_says_per_cent_is_read(tmp_path, name):
    log = tabled(tmp_path / "runs.csv", changed(lambda value: value * 100, name))
    way = f'mapping: {{accuracy: "{name}"}}'
    assert f"`{way}`" in refusal(tmp_path, log)
    made = judged(tmp_path, log, way, claims=(BETTER, reaches("at_least: 0.92")))
    assert counts(made) == [(5, 5), (3, 5)]
    assert DIVIDED in notes(made)
    computed = f'mapping: {{accuracy: {{expression: v / 100, let: {{v: "{name}"}}}}}}'
    made = judged(tmp_path, log, computed, claims=(BETTER, reaches("at_least: 0.92")))
    assert counts(made) == [(5, 5), (3, 5)]
    assert SIGNED not in notes(made)


def test_a_sign_of_per_cent_in_a_printed_line_is_read(tmp_path):
    for run in RUNS:
        folder = tmp_path / "logs" / f"{run['arm']}-seed{run['seed']}"
        folder.mkdir(parents=True)
        lines = [f"epoch {n}: accuracy: {float(run['accuracy']) * 10 * n:.1f}%" for n in (1, 10)]
        (folder / "train.log").write_text("\n".join(lines))
    last = "mapping: {accuracy: {expression: last(v), let: {v: accuracy}}}"
    made = judged(tmp_path, tmp_path / "logs", last, (BETTER, reaches("at_least: 0.92")))
    assert counts(made) == [(5, 5), (3, 5)]
    assert DIVIDED in notes(made)


# --- coordinates that the audit does not have -----------------------------------------------------

AXIS = """\
axes: {dataset: {values: [mmlu, gsm8k]}}
measurements: {accuracy: {once: [dataset], says: Accuracy.}}
"""
LACKS = "Not in the audit's axis 'dataset', and not used:"


def on(*datasets: str) -> list[dict[str, Any]]:
    return [{**run, "dataset": name} for run in RUNS for name in datasets]


def side_by_side(*datasets: str) -> list[dict[str, Any]]:
    return [
        {"seed": seed, "dataset": name, "ours": ours, "baseline": baseline}
        for seed, (ours, baseline) in enumerate(zip(OURS, BASELINE, strict=True))
        for name in datasets
    ]


@pytest.mark.parametrize("rows", [on, side_by_side])
def test_rows_at_places_that_the_audit_lacks_are_counted(tmp_path, rows):
    log = tabled(tmp_path / "runs.csv", rows("mmlu", "extra", "gsm8k"))
    made = judged(tmp_path, log, more=AXIS)
    assert counts(made) == [(5, 5)]
    assert f"{LACKS} extra (10 numbers)." in notes(made)
    assert f"{LACKS} extra (10 numbers)." in made.scorecard.made.counted
    assert f"{LACKS} extra (1 number)." in explained(tmp_path, log, AXIS)
    whole = tabled(tmp_path / "whole.csv", rows("mmlu", "gsm8k"))
    assert LACKS not in notes(judged(tmp_path, whole, more=AXIS))


def test_tags_at_places_that_the_audit_lacks_are_counted(tmp_path):
    rows = [{"seed": run["seed"], "arm": run["arm"]} for run in RUNS]
    for row, run in zip(rows, RUNS, strict=True):
        row |= {f"{name}/acc": run["accuracy"] for name in ("mmlu", "extra", "gsm8k")}
    log = tabled(tmp_path / "runs.csv", rows)
    made = judged(tmp_path, log, 'mapping: {accuracy: "{dataset}/acc"}', more=AXIS)
    assert counts(made) == [(5, 5)]
    assert f"{LACKS} extra (10 numbers)." in notes(made)


def test_a_refusal_names_the_places_that_the_audit_lacks(tmp_path):
    log = tabled(tmp_path / "runs.csv", on("extra", "other"))
    told = refusal(tmp_path, log, "{}", (BETTER,), AXIS)
    assert f"{LACKS} extra (10 numbers), other (10 numbers)." in told
    assert "mapping:" not in told


def test_a_folder_has_no_number_at_a_place_that_the_audit_lacks(tmp_path):
    audit = load_audit(audit_file(tmp_path, more=AXIS.replace("[mmlu, gsm8k]", "[1, 2, 3]")))
    folder = tmp_path / "handed"
    folder.mkdir()
    for arm, values in (("ours", OURS), ("baseline", BASELINE)):
        rows = [
            {"seed": seed, "dataset": place, "accuracy": "" if place == 3 else value}
            for seed, value in enumerate(values)
            for place in (1, 2, 3, 4)
        ]
        tabled(folder / f"{arm}.csv", rows)
    manifest = json.dumps(
        {
            "schema_version": 1,
            "paper": "lost",
            "who": "A. Reader",
            "source": "runs",
            "framework": "none",
            "date": "2026-01-01",
            "tier": "paper",
            "runs": [
                {
                    "experiment": "runs",
                    "seeds": [0, 1, 2, 3, 4],
                    "settings": settings,
                    "files": [f"{arm}.csv"],
                }
                for arm, settings in (("ours", {}), ("baseline", {"arm": "baseline"}))
            ],
        }
    )
    (folder / "manifest.yaml").write_text(manifest)
    with pytest.raises(AuditError, match="other coordinates than the declared ones"):
        read_submission(audit, folder)


# --- settings below other names -------------------------------------------------------------------

MODEL = "settings: [{from: paper, at: Table 1, values: {model: llama, lr: 0.1}}]\n"


@pytest.mark.parametrize("arguments", ["pretrained=llama,dtype=float16", {"pretrained": "llama"}])
def test_the_model_is_what_the_backend_was_given(tmp_path, arguments):
    for run in RUNS:
        folder = tmp_path / "logs" / f"{run['arm']}-seed{run['seed']}"
        folder.mkdir(parents=True)
        tree = {
            "config": {"model": "hf", "model_args": arguments, "random_seed": run["seed"]},
            "results": {"sheep": {"acc,none": run["accuracy"]}},
            "trainer": {"lr": 0.2, "device": "gpu"},
            "train": {"lr": 0.0},
        }
        dumped(folder / "results_1.json", tree)
    way = 'mapping: {accuracy: "results.sheep.acc,none"}'
    made = judged(tmp_path, tmp_path / "logs", way, more=MODEL)
    assert counts(made) == [(5, 5)]
    (others,) = (line for line in made.scorecard.made.remarks if line.startswith("Other settings"))
    assert others == "Other settings than the audit's, of 'runs': lr 0.2 in place of 0.1."
    assert not any("Not stated" in remark for remark in made.scorecard.made.remarks)
    assert "ignored tags: train.lr" in notes(made)


@pytest.mark.parametrize("beside", ["inside", "above"])
def test_a_setting_in_an_object_of_settings_is_said_of_every_row(tmp_path, beside):
    trainer = {"trainer": {"lr": 0.2, "steps_done": 7}}
    rows = [{**run, **trainer} for run in RUNS] if beside == "inside" else [*RUNS]
    tree = rows if beside == "inside" else {**trainer, "runs": rows}
    made = judged(tmp_path, dumped(tmp_path / "runs.json", tree), more=MODEL)
    assert counts(made) == [(5, 5)]
    remarks = "\n".join(made.scorecard.made.remarks)
    assert "Other settings than the audit's, of 'runs': lr 0.2 in place of 0.1." in remarks


# --- lists of rows, words in the place of numbers, rows of means ----------------------------------

ABLATION = [{**run, "accuracy": 0.5} for run in RUNS]


@pytest.mark.parametrize("names", [("main", "ablation"), ("cifar", "imagenet")])
def test_two_lists_of_runs_are_told_apart_by_what_stands_above_them(tmp_path, names):
    first, second = names
    log = dumped(tmp_path / "runs.json", {first: RUNS, second: ABLATION})
    told = refusal(tmp_path, log)
    assert f"found heading = '{second}', where '{log} (heading {first}, arm ours" in told
    way = f'runs: [{{match: "*heading {second}*", ignore: true}}]'
    assert f"`{way}` leaves those out" in told
    assert counts(judged(tmp_path, log, way)) == [(5, 5)]
    assert counts(judged(tmp_path, log, way.replace(second, first))) == [(0, 5)]
    named = judged(tmp_path, log, f"mapping: {{accuracy: {first}.accuracy}}")
    assert counts(named) == [(5, 5)]
    assert f"ignored tags: {second}.accuracy" in notes(named)


def test_two_lists_of_runs_lie_along_an_axis_that_the_mapping_names(tmp_path):
    log = dumped(tmp_path / "runs.json", {"mmlu": RUNS, "gsm8k": ABLATION})
    made = judged(tmp_path, log, "columns: {axes: {dataset: heading}}", more=AXIS)
    assert counts(made) == [(0, 5)]
    alone = judged(
        tmp_path,
        dumped(tmp_path / "more.json", {"mmlu": RUNS, "gsm8k": RUNS, "extra": ABLATION}),
        "columns: {axes: {dataset: heading}}",
        more=AXIS,
    )
    assert counts(alone) == [(5, 5)]
    assert f"{LACKS} extra (10 numbers)." in notes(alone)


def test_numbers_of_one_run_in_two_lists_are_one_run(tmp_path):
    tree = {
        name: [{"seed": run["seed"], "arm": run["arm"], "value": run["accuracy"]} for run in runs]
        for name, runs in (("accuracy", RUNS), ("loss", ABLATION))
    }
    log = dumped(tmp_path / "runs.json", tree)
    made = judged(tmp_path, log, "mapping: {accuracy: accuracy.value}")
    assert counts(made) == [(5, 5)]
    assert "ignored tags: loss.value" in notes(made)


def test_a_list_beside_the_runs_is_no_part_of_their_names(tmp_path):
    times = [{"seed": run["seed"], "arm": run["arm"], "seconds": 3} for run in RUNS]
    made = judged(tmp_path, dumped(tmp_path / "runs.json", {"done": RUNS, "times": times}))
    assert counts(made) == [(5, 5)]
    assert "ignored tags: times.seconds" in notes(made)


def test_a_word_in_the_place_of_a_number_is_named_with_a_way_on(tmp_path):
    rows: list[dict[str, Any]] = [
        {**run, "accuracy": "OOM"} if (run["arm"], run["seed"]) == ("ours", 3) else run
        for run in RUNS
    ]
    log = dumped(tmp_path / "runs.json", rows)
    told = refusal(tmp_path, log)
    way = f'runs: [{{match: "{log} (arm ours, seed 3)", status: crashed}}]'
    assert f"found 'OOM', no number, in {log}:4; expected one. If the run failed" in told
    assert f"`{way}`" in told
    made = judged(tmp_path, log, way)
    assert counts(made) == [(4, 4)]
    assert "Void, since the run of 'ours' did not finish: seed 3." in notes(made)
    told = refusal(tmp_path, dumped(log, changed(lambda value: f"{value} (best)")))
    assert f"found '0.91 (best)', no number, in {log}:1; expected one that stands alone" in told


@pytest.mark.parametrize(
    "word", ["mean (5 seeds)", "Mean of 5 seeds", "avg (n=5)", "mean ± std (5)", "mean over 5 runs"]
)
def test_a_row_of_means_says_of_how_many(tmp_path, word):
    rows: list[dict[str, Any]] = [*RUNS, {"seed": word, "arm": "ours", "accuracy": 0.5}]
    made = judged(tmp_path, tabled(tmp_path / "runs.csv", rows))
    assert counts(made) == [(5, 5)]
    assert f"rows that sum others up were passed over: {word}" in notes(made)


# --- columns, seeds and files ---------------------------------------------------------------------


def test_columns_that_are_not_used_are_named(tmp_path):
    beside = {"timestamp": "2026-01-01T10:00:11Z", "run_id": "", "wall_time": 12.5, "host": "n0"}
    rows: list[dict[str, Any]] = [
        {**run, **beside, "run_id": f"a{index}f3c9{index}"} for index, run in enumerate(RUNS)
    ]
    made = judged(tmp_path, tabled(tmp_path / "runs.csv", rows))
    assert counts(made) == [(5, 5)]
    assert "ignored tags: host, timestamp, wall_time" in notes(made)


def test_all_of_many_columns_that_are_not_used_are_named(tmp_path):
    beside = {f"number_{index:02}": index for index in range(40)}
    log = tabled(tmp_path / "runs.csv", [{**run, **beside} for run in RUNS])
    assert f"ignored tags: {', '.join(beside)}\n" in f"{notes(judged(tmp_path, log))}\n"


def test_what_is_not_there_is_not_explained(tmp_path, cli):
    audit = audit_file(tmp_path)
    said = cli("import", audit, tmp_path / "nothere.csv", "--explain", code=2)
    (line,) = said.err.splitlines()
    assert "nothere.csv: no such file or folder" in line


def test_a_seed_in_a_name_is_explained(tmp_path):
    log = tabled(tmp_path / "ours-seed_3.csv", [{"accuracy": 0.9}])
    first = explained(tmp_path, log).splitlines()[0]
    assert first.endswith("table, seed 3 (its name ('ours-seed_3.csv'))")


def test_several_numbers_of_one_seed_are_explained(tmp_path):
    rows = [{"seed": 42, "arm": "ours", "accuracy": value} for value in OURS]
    told = explained(tmp_path, tabled(tmp_path / "runs.csv", rows))
    assert "  accuracy: found 5 numbers (lines 2 and 3) with no step for seed 42;" in told


@pytest.mark.parametrize("write", ["rows", "files"])
def test_a_seed_that_several_runs_share_was_logged(tmp_path, write):
    runs = [{**run, "seed": 42} for run in RUNS]
    log = tmp_path / "logs"
    log.mkdir()
    if write == "rows":
        tabled(log / "runs.csv", runs)
    for index, run in enumerate(runs if write == "files" else ()):
        (log / f"{run['arm']}_{index}").mkdir()
        dumped(log / f"{run['arm']}_{index}" / "run.json", run)
    made = judged(tmp_path, log, "number: [seeds]")
    assert counts(made) == [(5, 5)]
    assert "runs share seed 42; they are counted from 0 in the order of names or rows" in notes(
        made
    )
    assert "no seed was logged" not in notes(made)
