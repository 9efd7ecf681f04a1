"""Files of any producer by the form of what is in them: an answer, or the lines that lead to it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_further_producers import offered, text
from test_producers import ARMS, SERIES, counts, judged, notes, refusal

from reproaudit.errors import AuditError

RUNS = [(arm, seed, value) for arm, own in ARMS.items() for seed, value in enumerate(own)]
HEAD = ("method", "seed", "score")


def course(value: float) -> list[tuple[int, float]]:
    """Return the points of a run that ends at a value."""
    return [(step, value * step / 5) for step in range(1, 6)]


# --- tables ---------------------------------------------------------------------------------------


def drawn(row: Callable[[Sequence[str]], str], rule: str = "", end: str = "") -> str:
    rows = [row([arm, str(seed), str(value)]) for arm, seed, value in RUNS]
    return "\n".join(filter(None, [row(HEAD), rule, *rows, end]))


def piped(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def by_width(cells: Sequence[str]) -> str:
    return "{:<10}{:>6}{:>8}".format(*cells)


def tagged(cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def in_latex(cells: Sequence[str]) -> str:
    return rf"{' & '.join(cells)} \\"


NAMED_ROWS = "\n".join(
    ['"method" "seed" "score"', *(f'"{n}" "{a}" {s} {v}' for n, (a, s, v) in enumerate(RUNS))]
)
LATEX = drawn(in_latex, r"\midrule")
TABLES = {
    "table.org": "* Results\n" + drawn(piped, "|---+---+---|"),
    "frame.txt": drawn(piped, "+===+===+===+", "+---+---+---+"),
    "table.rst": "Results\n=======\n\n" + drawn(by_width, "=====  =====  ====="),
    "blanks.txt": drawn(by_width),
    "write_table.txt": NAMED_ROWS,
    "page.html": f"<h2>Runs</h2><table class='frame'>{drawn(tagged)}</table>",
    "table.tex": rf"\begin{{tabular}}{{l r@{{}}r}}{LATEX}\end{{tabular}}",
    "table.yaml": json.dumps([dict(zip(HEAD, run, strict=True)) for run in RUNS]),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_however_it_is_drawn(tmp_path: Path, name: str) -> None:
    made = judged(tmp_path, [text(tmp_path / "logs" / name, TABLES[name])])
    assert counts(made) == (4, 5)
    assert "seeds 0, 1, 2, 3, 4" in notes(made)


def test_a_table_for_each_arm_is_no_table_too_few(tmp_path: Path) -> None:
    tables = [
        "\n".join([f"## {arm}", piped(HEAD[1:]), "|---|---|"])
        + "".join(f"\n{piped([str(seed), str(value)])}" for seed, value in enumerate(own))
        for arm, own in ARMS.items()
    ]
    made = judged(tmp_path, [text(tmp_path / "README.md", "\n\n".join(tables))])
    assert counts(made) == (4, 5)
    assert "2 tables of it were read as one" in notes(made)


def test_lines_after_a_table_that_look_as_its_rows_do_are_not_lost(tmp_path: Path) -> None:
    cut = drawn(by_width) + "\nand these are of the second day\nours 9 0.1"
    assert "text without a table" in refusal(tmp_path, [text(tmp_path / "runs.txt", cut)])


def test_a_table_of_excel_in_its_own_encoding(tmp_path: Path) -> None:
    rows = [f"{arm};{seed};{str(value).replace('.', ',')};5" for arm, seed, value in RUNS]
    file = tmp_path / "Ergebnis.csv"
    file.write_bytes("\r\n".join(["method;seed;score;Größe", *rows]).encode("cp1252"))
    made = judged(tmp_path, [file])
    assert counts(made) == (4, 5)
    assert "was read as cp1252, as in" in notes(made)


# --- logs of lines --------------------------------------------------------------------------------

LINES = {
    "fairseq": "2023-05-01 10:00:00 | INFO | valid | epoch {n:03d} | valid on 'valid' subset | "
    "score {v} | ppl 362.0 | num_updates {n}000",
    "keras": "Epoch {n}/5\n9/9 [====] - 3s 2ms/step - loss: 0.4 - score: {v}",
    "console": "[2024-01-01 10:00:00] Epoch {n}/5 - loss: 0.4 - score: {v}",
    "equals": "step={n} loss=0.4 score={v} lr=1e-4",
    "boost": "[{n}]\ttrain-loss:0.4\tscore:{v}",
    "commas": "Round {n}: loss 0.4, score {v}, time 20.1ms",
    "bars": "Epoch {n}:  20%|## | loss=9\rEpoch {n}: loss 0.4, score {v}",
}


@pytest.mark.parametrize("line", LINES.values(), ids=[*LINES])
@pytest.mark.parametrize("head", ["Namespace(arch='big', lr=[0.1], seed={seed})", "Seed: {seed}"])
def test_lines_of_numbers_by_name_and_a_printed_seed(tmp_path: Path, line: str, head: str) -> None:
    for arm, seed, value in RUNS:
        points = "\n".join(line.format(n=n, v=v) for n, v in course(value))
        written = f"{head.format(seed=seed + 3)}\n{points}\n"
        text(tmp_path / "logs" / f"{arm}_{'abcde'[seed]}.log", written)
    made = judged(tmp_path, [tmp_path / "logs"], form=SERIES)
    assert counts(made) == (4, 5)
    assert "seeds 3, 4, 5, 6, 7" in notes(made)
    assert "score: 5 points in each run" in notes(made)


BOTH = """{head}: train: loss=9, score={w} | valid: loss=8, score={v}
"""
APART = """INFO | train | epoch {n} | loss 9 | score {w}
INFO | valid | epoch {n} | loss 8 | score {v}
"""


@pytest.mark.parametrize("line", [BOTH, APART])
def test_a_name_of_training_and_of_validation_is_two_names(tmp_path: Path, line: str) -> None:
    for arm, seed, value in RUNS:
        points = (line.format(head=f"Epoch {n}", n=n, v=v, w=9) for n, v in course(value))
        text(tmp_path / "logs" / f"{arm}_seed{seed}.log", "".join(points))
    told = refusal(tmp_path, [tmp_path / "logs"], form=SERIES)
    assert "found the tags train.score, valid.score" in told
    made = judged(tmp_path, [tmp_path / "logs"], "mapping: {score: valid.score}", form=SERIES)
    assert counts(made) == (4, 5)


def test_a_first_line_with_names_of_its_own_says_how_a_run_was_started(tmp_path: Path) -> None:
    """As MMDetection writes its JSON."""
    for arm, seed, value in RUNS:
        rows = [{"mode": "val", "epoch": n, "score": v} for n, v in course(value)]
        lines = map(json.dumps, [{"env_info": "linux", "seed": seed}, *rows])
        text(tmp_path / "logs" / arm / f"2024050{seed + 1}_101010.log.json", "\n".join(lines))
    assert counts(judged(tmp_path, [tmp_path / "logs"], form=SERIES)) == (4, 5)


def test_files_of_an_epoch_each_are_points_of_their_own_run(tmp_path: Path) -> None:
    for arm, seed, value in RUNS:
        for n, v in course(value):
            file = tmp_path / "logs" / f"{arm}_s{seed}" / f"metrics_epoch_{n}.json"
            text(file, json.dumps({"score": v}))
    made = judged(tmp_path, [tmp_path / "logs"], form=SERIES)
    assert counts(made) == (4, 5)
    assert "score: 5 points in each run" in notes(made)


# --- arrays ---------------------------------------------------------------------------------------


def test_evaluations_of_several_episodes_are_their_means(tmp_path: Path) -> None:
    """As Stable-Baselines3 keeps them."""
    for arm, seed, value in RUNS:
        home = tmp_path / "logs" / arm / f"run_{seed}"
        home.mkdir(parents=True)
        steps, scores = zip(*course(value), strict=True)
        results = np.array(scores)[:, None] + [[-1, 0, 1]]
        lengths = np.full((5, 3), 200)
        np.savez(home / "evaluations.npz", timesteps=steps, results=results, ep_lengths=lengths)
    made = judged(tmp_path, [tmp_path / "logs"], "mapping: {score: results}", form=SERIES)
    assert counts(made) == (4, 5)
    assert "means of the episodes of each evaluation" in notes(made)
    assert "the number after 'run' in its name was taken for it" in notes(made)


def test_arrays_of_objects_are_never_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "scores.npz", ours=np.array([{"a": 1}], dtype=object))
    assert "no arrays of plain values" in refusal(tmp_path, [tmp_path / "scores.npz"])


def arrays(folder: Path) -> Iterator[Path]:
    np.savez(folder / "scores.npz", **{arm: np.array(own) for arm, own in ARMS.items()})
    yield folder / "scores.npz"
    lists = {arm: [[value] for value in own] for arm, own in ARMS.items()}
    yield text(folder / "scores.json", json.dumps(lists))


@pytest.mark.parametrize("which", [0, 1])
def test_a_number_a_run_without_a_seed_is_numbered_as_offered(tmp_path: Path, which: int) -> None:
    file = [*arrays(tmp_path)][which]
    lines = offered(refusal(tmp_path, [file]))
    assert lines == "number: [seeds]"
    assert counts(judged(tmp_path, [file], lines)) == (4, 5)


# --- seeds in names -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["{arm}_s{seed}.csv", "{arm}-s{seed}/r.csv", "{arm}/run_{seed}.csv"]
)
def test_names_seem_to_tell_seeds_where_nothing_else_does(tmp_path: Path, name: str) -> None:
    for arm, seed, value in RUNS:
        text(tmp_path / "logs" / name.format(arm=arm, seed=seed + 2), f"r,score\n3,{value}\n")
    made = judged(tmp_path, [tmp_path / "logs"])
    assert counts(made) == (4, 5)
    assert "seeds 2, 3, 4, 5, 6" in notes(made)
    assert "no seed was stated, and the number after" in notes(made)
    stated = '{columns: {settings: []}, runs: [{match: "*", seed: 1}]}'
    assert "found seed 1" in refusal(tmp_path, [tmp_path / "logs"], stated)


def test_numbers_that_count_the_runs_of_all_arms_are_no_seeds(tmp_path: Path) -> None:
    for number, (arm, _, value) in enumerate(RUNS):
        file = tmp_path / "logs" / f"run_{number}" / "result.json"
        text(file, json.dumps({"method": arm, "score": value}))
    lines = offered(refusal(tmp_path, [tmp_path / "logs"]))
    assert counts(judged(tmp_path, [tmp_path / "logs"], "number: [seeds]")) == (4, 5)
    assert "seed" in lines


def test_columns_of_a_matrix_are_never_offered_as_seeds(tmp_path: Path) -> None:
    curves = {arm: np.array([[v for _, v in course(x)] for x in own]) for arm, own in ARMS.items()}
    np.savez(tmp_path / "curves.npz", steps=np.arange(5), **curves)
    told = refusal(tmp_path, [tmp_path / "curves.npz"], form=SERIES)
    assert "{seed}" not in told
    assert "{arm}.c0" in told


# --- what is refused, and offered -----------------------------------------------------------------


def benchmarked() -> str:
    """As pytest-benchmark writes: the name of a test is another text for each run."""
    runs: list[dict[str, Any]] = [
        {"fullname": f"t.py::{a}[{s}]", "params": {"method": a, "seed": s}, "extra": {"score": v}}
        for a, s, v in RUNS
    ]
    return json.dumps({"version": "4.0", "benchmarks": runs})


def searched() -> str:
    rows = [f"{n},{v},{a},{0.1 + n},{s}" for n, (a, s, v) in enumerate(RUNS)]
    return "\n".join(["number,score,params_method,params_lr,params_seed", *rows])


def tracked() -> str:
    rows = [f"PRO-{n},2024-05-01T10:00:0{s},me,{a},{s},{v}" for n, (a, s, v) in enumerate(RUNS)]
    head = "sys/id,sys/creation_time,sys/owner,parameters/method,parameters/seed,metrics/score"
    return "\n".join([head, *rows])


FORMS = {"bench.json": benchmarked, "trials.csv": searched, "runs.csv": tracked}


@pytest.mark.parametrize("name", FORMS)
def test_what_is_offered_at_once_works_at_once(tmp_path: Path, name: str) -> None:
    file = text(tmp_path / name, FORMS[name]())
    lines = offered(refusal(tmp_path, [file]))
    assert counts(judged(tmp_path, [file], lines)) == (4, 5)


def test_what_is_asked_next_is_told_at_once_with_all_lines(tmp_path: Path) -> None:
    for arm, seed, value in RUNS:
        tree = {"valid": {"score": [v for _, v in course(value)]}}
        text(tmp_path / "logs" / f"{arm}_seed{seed}.json", json.dumps(tree))
    told = refusal(tmp_path, [tmp_path / "logs"], form=SERIES)
    assert told.count("Then: ") == 1
    made = judged(tmp_path, [tmp_path / "logs"], offered(told), form=SERIES)
    assert counts(made) == (4, 5)


@pytest.mark.parametrize("folder", ["{arm}-v{seed}", "{arm}/checkpoint-{seed}"])
def test_runs_that_all_state_one_seed_are_numbered_and_steps_are_not(
    tmp_path: Path, folder: str
) -> None:
    for arm, seed, value in RUNS:
        home = tmp_path / "logs" / folder.format(arm=arm, seed=seed)
        text(home / "results.json", json.dumps({"score": value, "config": {"random_seed": 0}}))
    told = refusal(tmp_path, [tmp_path / "logs"])
    assert ("`number: [seeds]`" in told) == ("checkpoint" not in folder)
    if "checkpoint" not in folder:
        made = judged(tmp_path, [tmp_path / "logs"], "number: [seeds]")
        assert counts(made) == (4, 5)
        assert "rests on that order alone" in notes(made)


def test_a_mean_is_never_offered_as_the_number_of_a_seed(tmp_path: Path) -> None:
    rows = [f"{arm},{np.mean(own)}" for arm, own in ARMS.items()]
    told = refusal(tmp_path, [text(tmp_path / "summary.csv", "\n".join(["method,score", *rows]))])
    assert "A file called 'summary' seems to sum runs up" in told
    assert "number:" not in told


@pytest.mark.parametrize("tag", ["loss", "train_accuracy", "accuracy_stderr"])
def test_another_number_than_the_one_asked_for_is_never_offered(tmp_path: Path, tag: str) -> None:
    for arm, seed, value in RUNS:
        text(tmp_path / "logs" / f"{arm}_seed{seed}.json", json.dumps({tag: value}))
    audit = tmp_path / "other"
    audit.mkdir()
    with pytest.raises(AuditError) as error:
        judged(audit, [tmp_path / "logs"], form="once: []}, test_accuracy: {once: []")
    assert not re.search(rf"`mapping: {{\w+: [^`]*{tag}", str(error.value))


def test_a_file_that_cannot_be_read_is_ignored_by_a_rule(tmp_path: Path) -> None:
    for arm, seed, value in RUNS:
        home = tmp_path / "logs" / f"{arm}_seed{seed}"
        text(home / "result.json", json.dumps({"score": value}))
        text(home / "search.jsonl", '{"trial": 0}\n{"tri')
    assert "no JSON" in refusal(tmp_path, [tmp_path / "logs"])
    rule = 'runs: [{match: "search.jsonl", ignore: true}]'
    made = judged(tmp_path, [tmp_path / "logs"], rule)
    assert counts(made) == (4, 5)
    assert "(a rule ignores it)" in notes(made)
