"""What a run was started with: the files beside its logs, and the seed among their values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reproaudit.elsewhere.logged import (
    MAX_CONFIG_BYTES,
    LogError,
    LoggedRun,
    flat,
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
_SEED_IN_NAME = (
    re.compile(r"(?:^|[^a-z])seed[=_\-: ]?(\d{1,10})(?![0-9])", re.IGNORECASE),
    re.compile(r"(?:^|[^a-z0-9])s[=_\-]?(\d{1,10})(?![0-9])", re.IGNORECASE),
)
"""A seed in a name: seed_3, and s3 where no part says seed."""

Config = Mapping[str, Any]
"""Flat: "model.layers" -> 3. Values are scalars, None or tuples of them."""


def configured(run: LoggedRun, root: Path) -> LoggedRun:
    """Return a run with its configuration: what its logger kept, and the files in its folder.

    Where the folder has none, the nearest one above it that has, up to the root, is read.
    """
    config = {name: _plain(value) for name, value in flat("", run.config)}
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
        for name, raw in flat("", _unwrapped(tree)):
            value = _plain(raw)
            # a Trainer settles by itself what its arguments leave open: its state says what it did
            is_open = name == "num_train_epochs" or (name, value) == ("max_steps", -1)
            if name not in config:
                config[name], stated[name] = value, file.name
            elif not (alike(config[name], value) or (run.source == "Hugging Face" and is_open)):
                raise LogError(
                    place,
                    f"found {name} = {value!r}, but {stated[name]} has {config[name]!r}; expected "
                    "one value. Take the file away that does not belong to this run.",
                )
    return replace(run, config=config, configurations=files)


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


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        nested = any(isinstance(one, dict | list | tuple) for one in value)
        return json.dumps(value, default=str) if nested else tuple(value)
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    return str(value)  # a date, as YAML reads one


def normal(name: str) -> str:
    """Return a name as it is compared: ``--learning-rate`` is learning_rate."""
    return name.lower().replace("-", "_").lstrip("_")


def alike(one: Any, other: Any) -> bool:
    """Return True if two values are the same, be they numbers or the text of numbers."""
    return one == other or str(one) == str(other)


def seeds_in(config: Config) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of a configuration that are called as a seed is."""
    for name, value in config.items():
        if normal(name.rpartition(".")[2]) in SEED_NAMES and value not in (None, ""):
            yield name, value


def seed_of(run: LoggedRun) -> int:
    """Return a run's seed: a column of its table, its configuration, or its name."""
    remedy = f"Say --seed '{run.name}=NUMBER'."
    found: dict[int, str] = {} if run.seed is None else {run.seed: "its column of seeds"}
    for name, value in seeds_in(run.config):
        text = str(value).strip()
        if isinstance(value, bool) or not re.fullmatch(r"\d{1,10}", text):
            raise LogError(
                run.name,
                f"found the seed {value!r} in its configuration ({name}); expected a whole "
                f"number. {remedy}",
            )
        found.setdefault(int(text), f"its configuration ({name})")
    for pattern in _SEED_IN_NAME:
        named = [(part, one) for part in run.parts for one in pattern.finditer(part)]
        for part, matched in named:
            found.setdefault(int(matched.group(1)), f"its name ('{part}')")
        if named or found:
            break
    if len(found) == 1:
        return next(iter(found))
    if not found:
        raise LogError(
            run.name, f"found no seed in its configuration or its name; expected one. {remedy}"
        )
    listed = ", ".join(f"{seed} in {where}" for seed, where in found.items())
    raise LogError(run.name, f"found different seeds: {listed}; expected one. {remedy}")
