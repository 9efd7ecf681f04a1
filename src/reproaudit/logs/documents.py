"""JSON files, told by what is in them.

A list of rows, or an object on each line, is a table. A lone object holds numbers of the end of a
run, by dotted path. Hugging Face's `trainer_state.json` holds a list of rows, Sacred's
`metrics.json` steps and values for each metric, Keras' history a list of numbers for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reproaudit.logs.columns import TableForm
from reproaudit.logs.logged import (
    LogError,
    LoggedRun,
    LogSource,
    number_of,
    parse_json,
    read_log_text,
)
from reproaudit.logs.rows import json_columns, json_lines, json_object, json_rows
from reproaudit.logs.tables import table_runs, take_row


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
        return [read_trainer_state(source, source.name)]
    if all(map(_is_sacred, tree.values())):
        return [_sacred(source, tree)]
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


def _sacred(source: LogSource, tree: Mapping[str, Any]) -> LoggedRun:
    """Read the run of Sacred's file store: steps and values by metric; its end is in run.json."""
    builder = source.builder()
    form = TableForm("step")
    for tag, one in tree.items():
        place = f"{source.name}: {tag}"
        if len(one["steps"]) != len(one["values"]):
            raise LogError(place, "found other numbers of steps than of values; expected as many.")
        for index, (step, value) in enumerate(zip(one["steps"], one["values"], strict=True)):
            if isinstance(value, dict):  # a NumPy number, as jsonpickle writes it
                value = value.get("value")
            take_row(builder, form, f"{place}[{index}]", {"step": step, tag: value}, index)
    status = "COMPLETED"
    beside = source.path.with_name("run.json")
    if beside.is_file():
        place = f"{source.name}, run.json"
        run = parse_json(read_log_text(beside, place), place)
        status = str(run.get("status", status)) if isinstance(run, dict) else status
    unfinished = () if status == "COMPLETED" else (f"Sacred calls the run {status}",)
    curves = builder.curves()
    return source.run("Sacred", curves, not_whole=unfinished, told=tuple(builder.told))


def read_trainer_state(source: LogSource, place: str) -> LoggedRun:
    """Read the run of Hugging Face's `trainer_state.json`.

    Args:
        source: the state, named as its run; it may lie in a checkpoint below the run's folder.
        place: what messages call the file.
    """
    state = parse_json(read_log_text(source.path, place), place)
    history = state.get("log_history") if isinstance(state, dict) else None
    if not isinstance(history, list):
        raise LogError(place, "found no list 'log_history'; expected a Trainer's state.")
    builder = source.builder(place)
    form = TableForm(source.step or "step")
    for index, row in enumerate(history):
        if not isinstance(row, dict):
            raise LogError(f"{place}: log_history[{index}]", "found no object; expected one.")
        take_row(builder, form, f"{place}: log_history[{index}]", row, index)
    reached = state.get("global_step")
    most = state.get("max_steps")
    cut = isinstance(reached, int) and isinstance(most, int) and reached < most
    curves = builder.curves()
    return source.run(
        "Hugging Face",
        curves,
        stopped=f"its Trainer stopped at step {reached} of {most}" if cut else None,
        told=tuple(builder.told),
        patience=_since_best(state, history) if cut else None,
        early="its Trainer says that it has ended" if cut and _has_ended(state, history) else None,
    )


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
