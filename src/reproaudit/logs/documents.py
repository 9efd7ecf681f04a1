"""JSON becomes a table; its contents say which form it has.

An object on each line, or a list of them, is rows. A lone object holds numbers of the end of a run,
by dotted path. Hugging Face's `trainer_state.json` holds a list of rows, Sacred's `metrics.json`
steps and values for each metric, Keras' history a list of numbers for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reproaudit.logs.logged import (
    MOST_LOGGED_NAMES,
    MOST_ROWS,
    LogError,
    LogSource,
    flat,
    number_of,
    refuse_beyond,
)
from reproaudit.logs.opening import parse_json, read_log_text
from reproaudit.logs.rows import Table

TRAINER_STATE = "trainer_state.json"
"""Where Hugging Face's Trainer keeps what it logged."""


def json_table(source: LogSource, text: str, place: str) -> Table | None:
    """Return the table in a file's text; None if it is of no known form."""
    first, *more = [line.strip() for line in text.splitlines()[:3] if line.strip()] or [""]
    is_object = first.startswith("{") and first.endswith("}")
    if source.ending == ".jsonl" or (is_object and (more or source.ending != ".json")):
        return _json_lines(text, place)
    tree = parse_json(text, place)
    if isinstance(tree, list) and tree and all(isinstance(row, dict) for row in tree):
        return _rows(tree, place)
    if not isinstance(tree, dict) or not tree:
        return None
    if "log_history" in tree or source.path.name == TRAINER_STATE:
        return _trainer_state(tree, place)
    if all(map(_is_metric, tree.values())):
        return _sacred(source.path, tree, place)
    if all(map(_is_column, tree.values())):
        return _columns(tree, place)
    table = replace(_rows([tree], place), alone=True)
    numbers = any(number_of(row) is not None for row in table.rows[0][1].values())
    return table if numbers else None


def _is_metric(tree: Any) -> bool:
    return isinstance(tree, dict) and all(
        isinstance(tree.get(k), list) for k in ("steps", "values")
    )


def _is_column(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and not isinstance(value[0], dict | list)


def _json_lines(text: str, place: str) -> Table:
    lines = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        raise LogError(place, "found no row; expected one JSON object on each line.")
    return _of_objects(((n, parse_json(line, f"{place}:{n}")) for n, line in lines), place)


def _rows(trees: Sequence[Any], place: str) -> Table:
    return _of_objects(enumerate(trees, start=1), place)


def _of_objects(trees: Iterable[tuple[int, Any]], name: str) -> Table:
    columns: dict[str, None] = {}
    rows = []
    for line, tree in trees:
        place = f"{name}:{line}"
        if not isinstance(tree, dict):
            raise LogError(place, "found no JSON object; expected one on each line.")
        row: dict[str, Any] = {}
        for key, value in flat("", tree, place):
            if key in row:
                text = f"found the name '{key[:80]}' twice in it; expected it once."
                raise LogError(place, text)
            row[key] = value
            refuse_beyond(MOST_LOGGED_NAMES, len(row), "names", name)
        columns.update(dict.fromkeys(row))
        rows.append((line, row))
        refuse_beyond(MOST_LOGGED_NAMES, len(columns), "names", name)
        refuse_beyond(MOST_ROWS, len(rows), "rows", name)
    return Table(tuple(columns), rows)


def _columns(tree: Mapping[str, Sequence[Any]], place: str) -> Table:
    try:
        rows = [dict(zip(tree, cells, strict=True)) for cells in zip(*tree.values(), strict=True)]
    except ValueError:
        lengths = ", ".join(f"{len(column)} of '{key[:80]}'" for key, column in tree.items())
        raise LogError(place, f"found {lengths}; expected as many of each.") from None
    return _rows(rows, place)


def _sacred(path: Path, tree: Mapping[str, Any], name: str) -> Table:
    """Return the rows of Sacred's file store, which holds a run's end in run.json."""
    beside = path.with_name("run.json")
    place = f"{name}, run.json"
    run = parse_json(read_log_text(beside, place), place) if beside.is_file() else None
    status = run.get("status") if isinstance(run, dict) else None
    rows: list[dict[str, Any]] = []
    for tag, metric in tree.items():
        points = {"step": metric["steps"], "value": metric["values"]}
        for _, row in _columns(points, f"{name}: {tag}").rows:
            # a NumPy number, as jsonpickle writes it, has its own names
            value = row.get("value", row.get("value.value"))
            rows.append({"step": row["step"], "metric": tag, "value": value, "status": status})
    return replace(_rows(rows, name), logger="Sacred")


def _trainer_state(state: Mapping[str, Any], place: str) -> Table:
    history = state.get("log_history")
    if not isinstance(history, list):
        raise LogError(place, "found no list 'log_history'; expected a Trainer's state.")
    table = replace(_rows(history, place), logger="Hugging Face")
    reached = state.get("global_step")
    most = state.get("max_steps")
    if not (isinstance(reached, int) and isinstance(most, int) and reached < most):
        return table
    ending = {
        "stopped": f"its Trainer stopped at step {reached} of {most}",
        "early": "its Trainer says that it has ended" if _has_ended(state, history) else None,
        "patience": _since_best(state, history),
    }
    return replace(table, ending=ending)


def _has_ended(state: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> bool:
    """The whole time is logged in the end; early stopping sets `should_training_stop`."""
    control: Any = state
    for name in ("stateful_callbacks", "TrainerControl", "args", "should_training_stop"):
        control = control.get(name) if isinstance(control, dict) else None
    return control is True or any("train_runtime" in row for row in history[-3:])


def _since_best(state: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> int | None:
    """Return how many evaluations came after the best checkpoint; None if there is no such."""
    best = str(state.get("best_model_checkpoint") or "").rpartition("checkpoint-")[2]
    if not best.isdecimal() or len(best) > 15:
        return None
    steps = (number_of(row.get("step")) for row in history if any("eval_" in name for name in row))
    return sum(1 for step in steps if step is not None and step > int(best))
