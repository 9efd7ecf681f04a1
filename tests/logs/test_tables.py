"""Loose tables, the exports of W&B and TensorBoard, Lightning's and Hugging Face's files."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import encoders
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from samples import points, told_in_one_line

from reproaudit.logs import rows, tables
from reproaudit.logs.asked import Asked, Columns
from reproaudit.logs.finding import find_runs
from reproaudit.logs.logged import NOWHERE, LogError, LoggedRun, LogSource
from reproaudit.logs.numbers import number_runs
from reproaudit.logs.tables import read_table

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(file: Path, step: str | None = None, axes: str = "layer") -> list[LoggedRun]:
    asked = Asked(frozenset(axes.split()), columns=Columns(step=step))
    return read_table(LogSource(file, file.name, (file.name,), asked))


def written(folder: Path, text: str, name: str = "log.csv") -> Path:
    (folder / name).write_text(text)
    return folder / name


finite = st.floats(allow_nan=False, allow_infinity=False)


@SHARED
@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=20), st.booleans())
def test_wide_and_long_tables_say_the_same(
    tmp_path: Path, pairs: list[tuple[float, float]], json_lines: bool
) -> None:
    wide = [{"Step": s, "a": repr(a), "b": repr(b)} for s, (a, b) in enumerate(pairs)]
    long = [
        {"step": s, "metric": tag, "value": repr(v)}
        for s, pair in enumerate(pairs)
        for tag, v in zip("ab", pair, strict=True)
    ]
    files = [encoders.table(tmp_path / "w.csv", wide), encoders.table(tmp_path / "l.csv", long)]
    if json_lines:
        lines = [json.dumps({"step": s, "a": a, "b": b}) for s, (a, b) in enumerate(pairs)]
        files.append(written(tmp_path, "\n".join(lines), "h.jsonl"))
    for file in files:
        (run,) = read(file)
        assert points(run, "a") == [(s, a) for s, (a, _) in enumerate(pairs)]
        assert points(run, "b") == [(s, b) for s, (_, b) in enumerate(pairs)]


def test_a_separator_inside_a_json_line_is_text(tmp_path: Path) -> None:
    odd = "\u2028\u2029\x85"
    line = json.dumps({"step": 0, "loss": 1.5, "about": "a|b"}, ensure_ascii=False)
    (run,) = read(written(tmp_path, line.replace("|", odd) + "\r\n\r\n", "h.jsonl"))
    assert points(run, "loss") == [(0, 1.5)]


def test_a_lone_column_value_is_called_as_its_file(tmp_path: Path) -> None:
    (run,) = read(written(tmp_path, "step,value\n0,1\n1,2\n", "loss.csv"))
    assert points(run, "loss") == [(0, 1.0), (1, 2.0)]


def test_empty_cells_were_not_observed_and_text_is_told_only_if_wanted(tmp_path: Path) -> None:
    (run,) = read(written(tmp_path, "step,loss,note\n0,1,\n1,,good\n2,3,bad\n3,n/a,4\n"))
    assert points(run, "loss") == [(0, 1.0), (2, 3.0)]
    assert "'good', no number" in str(run.curves["note"][NOWHERE].fault)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "0 columns"),
        ("a,a\n1,2\n", "'a' twice"),
        ("step,loss\n0,1,2\n", ":2: found 3 cells"),
        ("step,loss\n0,1\n1", ":3: found 1 cells"),
        ("step,loss\n1.5,1\n", "step '1.5'"),
        ("step,loss\nx,1\n", "step 'x'"),
        ("step,loss\n1e300,1\n", "2^53"),
        ("seed,step,loss\n-1,0,1\n", "the seed -1"),
        ('step,loss\n0,"1\n', "no CSV row"),
        ("step,loss\n0," + "9" * 200_000 + "\n", "field larger"),
    ],
)
def test_a_broken_table_is_told_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(LogError) as refused:
        read(written(tmp_path, text))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1, "a": 2}', "[" * 100_000, "\ud83d", ""])
def test_broken_json_lines_are_told_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "h.jsonl"
    file.write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(LogError) as refused:
        read(file)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "rows",
    [
        [{"step": [1], "note": "x"}, {"step": 2, "note": "y"}],
        [{"step": 0, "a - loss": 1}, {"step": 1, "b - loss": 1}],
    ],
)
def test_rows_with_other_names_and_kinds_are_read_or_refused(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    """The defect: lists and names that a row lacks ended in a traceback."""
    with told_in_one_line():
        read(written(tmp_path, "\n".join(map(json.dumps, rows)), "h.jsonl"))


# --- exports that are samples ---------------------------------------------------------------------


def export(folder: Path, steps: list[int], name: str = "wandb-history.jsonl") -> LoggedRun:
    lines = [json.dumps({"_step": step, "loss": 1.0}) for step in steps]
    (run,) = read(written(folder, "\n".join(lines), name))
    return run


def test_a_sampled_history_is_named(tmp_path: Path) -> None:
    every_tenth = list(range(0, 5000, 10))
    assert "run.history()" in export(tmp_path, every_tenth).not_whole[0]
    odd = sorted({7 * s % 1009 for s in range(300)})
    assert "scan_history" in export(tmp_path, odd).not_whole[0]


def test_a_whole_history_is_not(tmp_path: Path) -> None:
    assert export(tmp_path, list(range(500))).not_whole == ()
    assert export(tmp_path, list(range(0, 7000, 10))).not_whole == ()


def test_a_table_from_wandbs_page_is_named(tmp_path: Path) -> None:
    text = "Step,happy - loss,happy - loss__MIN,happy - loss__MAX\n0,1,1,1\n1,2,1,3\n"
    (run,) = read(written(tmp_path, text))
    assert (points(run, "loss"), run.parts[-1]) == ([(0, 1.0), (1, 2.0)], "happy")
    assert "__MAX differ in line 3" in run.not_whole[0]
    (run,) = read(written(tmp_path, text.replace("1,2,1,3", "1,2,2,2")))
    assert run.not_whole == ()


@pytest.mark.parametrize(("rows", "whole"), [(999, True), (1000, False), (1400, False)])
def test_a_table_from_tensorboards_page_is_named(tmp_path: Path, rows: int, whole: bool) -> None:
    text = "Wall time,Step,Value\n" + "".join(f"1.7e9,{s},1\n" for s in range(rows))
    (run,) = read(written(tmp_path, text, "run-loss.csv"))
    assert (run.not_whole == ()) is whole
    assert whole or "reservoir" in run.not_whole[0]


# --- Hugging Face ---------------------------------------------------------------------------------


def state(folder: Path, **changes: Any) -> LoggedRun:
    history = [{"loss": 1.0 / s, "epoch": s / 20, "step": s} for s in (5, 10, 20)]
    tree = {"global_step": 20, "max_steps": 20, "log_history": history, **changes}
    (folder / "trainer_state.json").write_text(json.dumps(tree))
    (run,) = read_table(LogSource(folder / "trainer_state.json", "run"))
    return run


def test_a_trainers_state(tmp_path: Path) -> None:
    run = state(tmp_path)
    assert points(run, "loss") == [(5, 0.2), (10, 0.1), (20, 0.05)]
    assert (run.stopped, run.early) == (None, None)
    assert "step 10 of 20" in str(state(tmp_path, global_step=10).stopped)


@pytest.mark.parametrize("history", [None, {}, [1], [{"step": "x", "loss": 1}]])
def test_a_broken_state_is_told(tmp_path: Path, history: Any) -> None:
    with pytest.raises(LogError):
        state(tmp_path, log_history=history)


# --- tables of numbers are read at once -----------------------------------------------------------


CELLS = ("0", "1", "2", " 3", "1e1", "-0.5", "0.1", "", "nan", "inf", "x", "1_0", "+7", "1,5")


def as_data(runs: list[LoggedRun]) -> list[Any]:
    """Runs with what is in their curves, for a comparison bit by bit."""
    found = []
    for run in runs:
        curves = [
            (tag, at, None if one.steps is None else one.steps.tolist(), one.values.tobytes(),
             one.place, one.fault, one.emptied)
            for tag, places in run.curves.items()
            for at, one in places.items()
        ]  # fmt: skip
        found.append((replace(run, curves={}), curves))
    return found


@st.composite
def handed_in(draw: st.DrawFn) -> str:
    """A table of a few columns, most of them tidy and some not."""
    named = ["seed", "step", "layer", "loss", "distance", "value", "key"]
    columns = draw(st.lists(st.sampled_from(named), min_size=1, max_size=7, unique=True))
    rows = draw(st.integers(0, 6))
    tidy = {
        "seed": [str(row // 3) for row in range(rows)],
        "step": [str(row % 3) for row in range(rows)],
        "layer": [str(row % 2) for row in range(rows)],
    }
    cells = [tidy.get(one, [f"{0.1 * row!r}" for row in range(rows)]) for one in columns]
    for _ in range(draw(st.integers(0, 2)) if rows else 0):
        column = draw(st.integers(0, len(columns) - 1))
        cells[column][draw(st.integers(0, rows - 1))] = draw(st.sampled_from(CELLS))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines = [",".join(columns), *map(",".join, zip(*cells, strict=True))]
    return end.join(lines) + draw(st.sampled_from(["", end]))


@given(handed_in())
@example("seed,step,loss\n1,0,0.5\n0,0,\n1,1,0.25\n0,1,0.125\n")
@example("step,layer,loss\n0,1,0.5\n0,0,1\n1,1,\n1,0,\n")
@example("step,loss\n0,1\n0.5,2\n")
@example("1,2\n3,4\n")
def test_a_table_of_numbers_is_read_as_row_by_row(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        file.write_text(text, encoding="utf-8", newline="")
        source = LogSource(file, file.name, asked=Asked(frozenset({"layer"}), plain=True))
        at_once = number_runs(source, text, ",")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tables, "number_runs", lambda *_: None)
            try:
                one_by_one = as_data(read_table(source))
            except LogError:
                assert at_once is None
                return
    if at_once is not None:
        assert as_data(at_once) == one_by_one


def test_what_holds_numbers_alone_is_read_at_once() -> None:
    source = LogSource(Path("t.csv"), "t.csv", asked=Asked(frozenset({"layer"}), plain=True))
    whole = "seed,step,layer,loss\n" + "".join(
        f"{seed},{step},{layer},{seed + step * layer}\n"
        for seed in (3, 1) for step in (0, 5) for layer in (1, 2)
    )  # fmt: skip
    runs = number_runs(source, whole, ",")
    assert runs is not None
    assert [one.seed for one in runs] == [3, 1]
    curve = runs[1].curves["loss"][frozenset({("layer", 2.0)})]
    assert (curve.steps.tolist(), curve.values.tolist()) == ([0, 5], [1.0, 11.0])  # type: ignore[union-attr]
    for faulty in ("seed,step,loss\n0,0,x\n", "step,loss\n1,0.5\n1,0.25\n", "tag,value\nloss,1\n"):
        assert number_runs(source, faulty, ",") is None


# --- limits ---------------------------------------------------------------------------------------

MANY = 10_001
LARGE = {
    "columns": (",".join(f"c{i}" for i in range(MANY)) + "\n" + ",".join("1" * MANY), "csv"),
    "names": (json.dumps({f"c{i}": 1 for i in range(MANY)}), "json"),
    "names of numbers": ("tag,value\n" + "".join(f"t{i},1\n" for i in range(MANY)), "csv"),
    "runs": ("seed,loss\n" + "".join(f"{i},1\n" for i in range(MANY)), "csv"),
    "lines": ("loss\n" + "1\n" * 1_000_001, "csv"),
}


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("what", LARGE)
def test_more_than_anybody_needs_is_refused_in_a_line(
    tmp_path: Path, what: str, plain: bool
) -> None:
    text, ending = LARGE[what]
    file = written(tmp_path, text, f"log.{ending}")
    with pytest.raises(LogError, match=rf"found more than \d+,\d+,?\d* {what}; expected fewer"):
        read_table(LogSource(file, file.name, asked=Asked(plain=plain)))


def test_more_logs_than_anybody_needs_are_refused_in_a_line(tmp_path: Path) -> None:
    for number in range(1_001):
        written(tmp_path, "step,loss\n0,1\n", f"{number}.csv")
    with pytest.raises(LogError, match="found more than 1,000 logs; expected fewer"):
        find_runs([tmp_path], Asked(), tmp_path)


def test_what_no_table_holds_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LogError, match=r"log\.csv: found a byte of zero at 6, "):
        read(written(tmp_path, "step,a\0\n1,2\n"))
    wide = written(tmp_path, "", "wide.csv")
    wide.write_bytes("step,a\n1,2\n".encode("utf-16"))
    assert points(read(wide)[0], "a") == [(1, 2.0)]
    monkeypatch.setattr(rows, "MOST_IN_LINE", 20)
    held = written(tmp_path, "step,a\n" + "".join(f"{n},2.0\n" for n in range(10)), "held.csv")
    assert len(points(read(held)[0], "a")) == 10
    for cells in ('"' * 22, "," * 22):
        long = written(tmp_path, f"step,a\n1,2\n{cells}\n1,2\n", "long.csv")
        with pytest.raises(LogError, match=r"long\.csv:3: found more than 20 characters in a line"):
            read(long)
