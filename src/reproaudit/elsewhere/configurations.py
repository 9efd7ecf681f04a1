"""Reads configurations from the files beside a run's logs, and the seed among their values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reproaudit.elsewhere.logged import (
    MAX_CONFIG_BYTES,
    LogError,
    LoggedRun,
    number_of,
    parse_json,
    parse_yaml,
    read_log_text,
)

CONFIG_FILES = (
    ".hydra/config.yaml",
    "config.yaml",
    "config.yml",
    "config.json",
    "hparams.yaml",
    "hparams.json",
    "args.json",
    "args.yaml",
    "arguments.json",
    "training_args.json",
    "params.json",
    "files/config.yaml",
)
"""Hydra's, W&B's, Lightning's, a dumped argparse namespace, dumped TrainingArguments."""
SEED_NAMES = (
    "seed",
    "random_seed",
    "rng_seed",
    "manual_seed",
    "global_seed",
    "random_state",
    "seed_everything",
)
STATED_BY_TRAINER = ("max_steps", "num_train_epochs", "train_batch_size")
"""Of its configuration, what Hugging Face's Trainer repeats in its `trainer_state.json`."""
_MAX_ENTRIES = 20_000

Config = Mapping[str, Any]
"""Flat: "model.layers" -> 3. Values are scalars, None or tuples of them."""


def find_configuration(run: LoggedRun, root: Path) -> tuple[Config, tuple[Path, ...]]:
    """A run's configuration: what its logger kept, and the files in its folder.

    Where the folder has none, the nearest one above it that has, up to the root, is read.

    Args:
        run: the run, with its logger's own configuration.
        root: the folder that was given; nothing above it is looked at.

    Raises:
        LogError: if a file cannot be read, or two sources state different values.
    """
    config = dict(_flat("", run.config))
    stated = dict.fromkeys(config, f"{run.source}'s log")
    files = _nearest(run.folder, root)
    for file in files:
        place = f"{run.name}, {file.name}"
        text = read_log_text(file, place, MAX_CONFIG_BYTES)
        tree = (parse_json if file.suffix == ".json" else parse_yaml)(text, place)
        if tree is None:
            continue
        if not isinstance(tree, dict):
            raise LogError(place, "found no names with values; expected a configuration.")
        for name, value in _flat("", _unwrapped(tree)):
            if len(config) == _MAX_ENTRIES:
                raise LogError(place, f"found more than {_MAX_ENTRIES} values; expected fewer.")
            if name in config and _left_to_trainer(run, name, value):
                continue
            if name in config and not alike(config[name], value):
                raise LogError(
                    place,
                    f"found {name} = {value!r}, but {stated[name]} has {config[name]!r}; expected "
                    "one value. Take the file away that does not belong to this run.",
                )
            config.setdefault(name, value)
            stated.setdefault(name, file.name)
    return config, files


def _left_to_trainer(run: LoggedRun, name: str, value: Any) -> bool:
    """True of an argument that Hugging Face's Trainer settles by itself.

    The arguments say max_steps = -1 where the epochs count, and epochs that max_steps overrules;
    the Trainer's state says what was trained.
    """
    number = number_of(value)
    unset = name == "max_steps" and number is not None and number <= 0
    return run.source == "Hugging Face" and (unset or name == "num_train_epochs")


def _nearest(folder: Path, root: Path) -> tuple[Path, ...]:
    for here in (folder, *folder.parents):
        found = tuple(here / name for name in CONFIG_FILES if (here / name).is_file())
        if found or here == root or root not in (here, *here.parents):
            return found
    return ()


def _unwrapped(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """W&B writes every value with its description; the values alone."""
    if "wandb_version" not in tree:
        return tree
    return {
        name: one["value"]
        for name, one in tree.items()
        if isinstance(one, dict) and "value" in one and not name.startswith("_")
    }


def _flat(prefix: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and depth < 16:
        for name, below in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else str(name), below, depth + 1)
    elif isinstance(value, list | tuple):
        if any(isinstance(one, dict | list | tuple) for one in value):
            yield prefix, json.dumps(value, default=str)
        else:
            yield prefix, tuple(value)
    elif isinstance(value, bool | int | float | str) or value is None:
        yield prefix, value
    else:  # a date, as YAML reads one
        yield prefix, str(value)


def normal(name: str) -> str:
    """A name as it is compared: ``--learning-rate`` is learning_rate."""
    return name.lower().replace("-", "_").lstrip("_")


def alike(one: Any, other: Any) -> bool:
    """True if two values are the same, be they numbers or the text of numbers."""
    return one == other or str(one) == str(other)


# --- the seed -------------------------------------------------------------------------------------

_IN_NAME = (
    re.compile(r"(?:^|[^a-z])seed[=_\-: ]?(\d{1,10})(?![0-9])", re.IGNORECASE),
    re.compile(r"(?:^|[^a-z0-9])s[=_\-]?(\d{1,10})(?![0-9])", re.IGNORECASE),
)
"""A seed in a name: seed_3, and s3 where no part says seed."""


def seed_of(run: LoggedRun) -> int:
    """A run's seed: a column of its table, its configuration, or its name.

    Raises:
        LogError: if there is none, or two differ.
    """
    for name, value in _seeds_configured(run):
        if _whole(value) is None:
            raise LogError(
                run.name,
                f"found the seed {value!r} in its configuration ({name}); expected a whole "
                f"number. Say --seed '{run.name}=NUMBER'.",
            )
    found = _seeds_logged(run)
    if len(found) == 1:
        return next(iter(found))
    if not found:
        raise LogError(
            run.name,
            "found no seed in its configuration or its name; expected one. Say --seed "
            f"'{run.name}=NUMBER'.",
        )
    listed = ", ".join(f"{seed} in {where}" for seed, where in found.items())
    raise LogError(
        run.name, f"found different seeds: {listed}; expected one. Say --seed '{run.name}=NUMBER'."
    )


def _seeds_logged(run: LoggedRun) -> dict[int, str]:
    """Return every seed that a run's log states, and where it does."""
    found: dict[int, str] = {}
    if run.seed is not None:
        found.setdefault(run.seed, "its column of seeds")
    for name, value in _seeds_configured(run):
        if (whole := _whole(value)) is not None:
            found.setdefault(whole, f"its configuration ({name})")
    for pattern in _IN_NAME:
        named = [(part, one) for part in run.parts for one in pattern.finditer(part)]
        for part, matched in named:
            found.setdefault(int(matched.group(1)), f"its name ('{part}')")
        if named or found:
            break
    return found


def _seeds_configured(run: LoggedRun) -> Iterator[tuple[str, Any]]:
    for name, value in run.config.items():
        if normal(name.rpartition(".")[2]) in SEED_NAMES and value not in (None, ""):
            yield name, value


def _whole(value: Any) -> int | None:
    text = str(value).strip()
    return int(text) if re.fullmatch(r"\d{1,10}", text) and not isinstance(value, bool) else None
