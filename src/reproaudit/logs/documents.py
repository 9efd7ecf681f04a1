"""JSON files, told by what is in them.

A list of rows, or an object on each line, is a table. A lone object holds numbers of the end of a
run, by dotted path. Hugging Face's `trainer_state.json` holds a list of rows, Sacred's
`metrics.json` steps and values for each metric, Keras' history a list of numbers for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reproaudit.logs.logged import LogError, LoggedRun, LogSource, number_of
from reproaudit.logs.opening import parse_json, read_log_text
from reproaudit.logs.rows import Table, json_columns, json_lines, json_object, json_rows
from reproaudit.logs.tables import table_runs


def read_json(source: LogSource) -> list[LoggedRun]:
    """Read the runs of a JSON file; none if it is of no known form."""
    text = read_log_text(source.path, source.name)
    lines = [one for one in text.splitlines()[:3] if one.strip()]
    if len(lines) > 1 and lines[0].lstrip().startswith("{") and lines[0].rstrip().endswith("}"):
        return table_runs(source, json_lines(text, source.name))
    tree = parse_json(text, source.name)
    if isinstance(tree, list) and tree and all(isinstance(one, dict) for one in tree):
        return table_runs(source, json_rows(tree, source.name))
    if not isinstance(tree, dict) or not tree:
        return []
    if isinstance(tree.get("log_history"), list):
        return read_trainer_state(source, source.name)
    if all(map(_is_sacred, tree.values())):
        return table_runs(source, _sacred(source, tree), "Sacred")
    if all(isinstance(one, list) and one and not isinstance(one[0], dict | list)
           for one in tree.values()):  # fmt: skip
        return table_runs(source, json_columns(tree, source.name))
    table = json_object(tree, source.name)
    numbers = any(number_of(one) is not None for one in table.rows[0][1].values())
    return table_runs(source, table) if numbers else []


def _is_sacred(one: Any) -> bool:
    if not isinstance(one, dict):
        return False
    return isinstance(one.get("steps"), list) and isinstance(one.get("values"), list)


def _sacred(source: LogSource, tree: Mapping[str, Any]) -> Table:
    """Return the rows of Sacred's file store, which holds its end in run.json."""
    beside = source.path.with_name("run.json")
    place = f"{source.name}, run.json"
    run = parse_json(read_log_text(beside, place), place) if beside.is_file() else None
    status = run.get("status") if isinstance(run, dict) else None
    rows = []
    for tag, one in tree.items():
        steps = one["steps"]
        values = one["values"]
        if len(steps) != len(values):
            text = f"found {len(steps)} steps and {len(values)} values; expected as many of each."
            raise LogError(f"{source.name}: {tag}", text)
        for step, value in zip(steps, values, strict=True):
            if isinstance(value, dict):  # a NumPy number, as jsonpickle writes it
                value = value.get("value")
            rows.append({"step": step, "metric": tag, "value": value, "status": status})
    return json_rows(rows, source.name)


def read_trainer_state(source: LogSource, place: str) -> list[LoggedRun]:
    """Read the run of Hugging Face's `trainer_state.json`.

    Args:
        source: the state, named as its run; it may lie in a checkpoint below the run's folder.
        place: what messages call the file.
    """
    state = parse_json(read_log_text(source.path, place), place)
    history = state.get("log_history") if isinstance(state, dict) else None
    if not isinstance(history, list):
        raise LogError(place, "found no list 'log_history'; expected a Trainer's state.")
    reached = state.get("global_step")
    most = state.get("max_steps")
    runs = table_runs(source, json_rows(history, place), "Hugging Face")
    if not (isinstance(reached, int) and isinstance(most, int) and reached < most):
        return runs
    stopped = f"its Trainer stopped at step {reached} of {most}"
    early = "its Trainer says that it has ended" if _has_ended(state, history) else None
    waited = _since_best(state, history)
    return [replace(one, stopped=stopped, early=early, patience=waited) for one in runs]


def _has_ended(state: Mapping[str, Any], history: list[Any]) -> bool:
    """Return True if the Trainer logged the time of the whole training, or was stopped on purpose.

    The time is logged once training has ended; early stopping sets `should_training_stop`.
    """
    callbacks = state.get("stateful_callbacks")
    control = callbacks.get("TrainerControl") if isinstance(callbacks, dict) else None
    said = control.get("args") if isinstance(control, dict) else None
    stopped = isinstance(said, dict) and said.get("should_training_stop") is True
    return stopped or any("train_runtime" in row for row in history[-3:])


def _since_best(state: Mapping[str, Any], history: list[Any]) -> int | None:
    """Return how many evaluations came after the best checkpoint; None if there is no such."""
    best = str(state.get("best_model_checkpoint") or "").rpartition("checkpoint-")[2]
    if not best.isdecimal() or len(best) > 15:
        return None
    steps = (number_of(row.get("step")) for row in history if any("eval_" in one for one in row))
    return sum(1 for one in steps if one is not None and one > int(best))
