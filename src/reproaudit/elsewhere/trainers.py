"""Reads the logs of trainers: Lightning's `metrics.csv`, Hugging Face's `trainer_state.json`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reproaudit.elsewhere.configurations import STATED_BY_TRAINER
from reproaudit.elsewhere.logged import CurveBuilder, LogError, LoggedRun
from reproaudit.elsewhere.reading import read_json
from reproaudit.elsewhere.rows import RowReader
from reproaudit.elsewhere.tables import read_table


def read_lightning(
    name: str, parts: tuple[str, ...], file: Path, axes: frozenset[str], step: str | None
) -> list[LoggedRun]:
    """The run of a `metrics.csv`; its hparams.yaml is found as every configuration is.

    Raises:
        LogError: as `read_table` does.
    """
    runs = read_table(name, parts, file, axes, step, source="Lightning")
    folder = name.rpartition("/")[0]
    return [replace(run, name=folder) if folder and len(runs) == 1 else run for run in runs]


def read_trainer_state(
    name: str, parts: tuple[str, ...], file: Path, step: str | None, place: str
) -> LoggedRun:
    """The run of a `trainer_state.json`.

    Args:
        name: what the run is called.
        parts: the names in which a seed may be written.
        file: the state; a checkpoint's may lie below the run's folder.
        step: what counts the steps, where the mapping names it.
        place: what messages call the file.

    Raises:
        LogError: if it is none.
    """
    state = read_json(file, place)
    history = state.get("log_history") if isinstance(state, dict) else None
    if not isinstance(history, list):
        raise LogError(place, "found no list 'log_history'; expected a Trainer's state.")
    builder = CurveBuilder(place)
    rows = RowReader(builder, step or "step")
    for index, row in enumerate(history):
        if not isinstance(row, dict):
            raise LogError(f"{place}: log_history[{index}]", "found no object; expected one.")
        rows.take(f"{place}: log_history[{index}]", row)
    reached, most = state.get("global_step"), state.get("max_steps")
    cut = isinstance(reached, int) and isinstance(most, int) and reached < most
    return LoggedRun(
        name=name,
        source="Hugging Face",
        folder=file.parent,
        parts=parts,
        files=(file,),
        curves=builder.curves(),
        config={one: state[one] for one in STATED_BY_TRAINER if state.get(one) is not None},
        not_whole=(f"its Trainer stopped at step {reached} of {most}",) if cut else (),
    )
