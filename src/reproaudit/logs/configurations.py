"""What a run was started with: its configuration, beside its logs and above them, and its seed.

And what the configuration says of the audit's settings.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from reproaudit.audit.faults import shown
from reproaudit.audit.model import Audit
from reproaudit.cell import SettingValue, kind_of
from reproaudit.logs.logged import (
    LogError,
    LoggedRun,
    flat,
    is_course,
    is_percent,
    named_values,
    number_of,
    of_columns,
)
from reproaudit.logs.mapping import MappingFile
from reproaudit.logs.names import SEED_IN_NAME, SEED_NAMES, SUMMED, last_part, normal, words_of_name
from reproaudit.logs.opening import (
    MAX_CONFIG_BYTES,
    MAX_YAML_BYTES,
    parse_json,
    parse_yaml,
    read_log_text,
)

HUGGING_FACE = "Hugging Face"
_OF_RUN = re.compile(r"(?i)wandb|\d{4}-?\d\d-?\d\d")
"""What tells that a file called summary is of one run, as is the date of an evaluation."""
CONFIG_OF_MODEL = "config.json"
"""What Hugging Face's Trainer leaves in checkpoints, and in the end beside them."""
CONFIG_FILES = (
    ".hydra/config.yaml", "config.yaml", "config.yml", "config.json", "hparams.yaml",
    "hparams.json", "args.json", "args.yaml", "arguments.json", "training_args.json", "params.json",
    "parameters.json", "params.yaml",
)  # fmt: skip
"""Hydra's, W&B's, Lightning's, a dumped argparse namespace, dumped TrainingArguments, and
those of DVC and Comet."""

Config = Mapping[str, Any]  # Flat: "model.layers" -> 3. Values are scalars, None or tuples of them
_PARTS = re.compile(r"[A-Za-z_]\w*=[^,=]*(,[A-Za-z_]\w*=[^,=]*)*")
"""Settings that one text joins, as lm-eval's `model_args`: `pretrained=NAME,dtype=float16`."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""The place of an object in memory, another one in every run."""
Stated = tuple[tuple[str, Any], ...]
"""The same in the order of a file, which may state a name twice."""


def configured(run: LoggedRun, root: Path, read: dict[Path, Stated | LogError]) -> LoggedRun:
    """Return a run with its configuration: what its logger kept, and the files in its folder.

    Where the folder has none, the nearest one above it that has, up to the root, is read. What the
    files hold is kept in `read`, for further runs, or why a file cannot be read.
    """
    config = {name: plain_value(value) for name, value in flat("", run.config, run.name)}
    stated = dict.fromkeys(config, f"{run.source}'s log")
    files = _nearest(run.folder, root)
    if run.source == HUGGING_FACE and run.folder / CONFIG_OF_MODEL not in files:
        files = (*files, *sorted(run.folder.glob(f"checkpoint-*/{CONFIG_OF_MODEL}"))[:1])
    unread = list[str]()
    for file in files:
        place = f"{run.name}, {file.name}"
        if file not in read:
            try:
                read[file] = _stated(file, file.name)
            except LogError as error:
                read[file] = error
        known = read[file]
        if isinstance(known, LogError):
            unread.append(f"its settings are not known: {known}".rstrip("."))
            continue
        of_model = file.parent.name.startswith("checkpoint-")
        for name, value in known if not of_model else [e for e in known if e[0] not in config]:
            if not alike(config.setdefault(name, value), value):
                fault = f"found {name} = {value!r}, but {stated[name]} has {config[name]!r}"
                remedy = "Take the file away that does not belong to this run."
                raise LogError(place, f"{fault}; expected one value. {remedy}")
            stated.setdefault(name, file.name)
    early = run.early
    for name, value in config.items():
        waited = number_of(value)
        if run.patience is not None and waited and "patience" in name and run.patience >= waited:
            early = early or f"early stopping: {run.patience} evaluations after the best"
    stopped = None if early else run.stopped
    config = {**dict(_parts(config)), **config}
    return replace(
        run,
        config=config,
        configurations=files,
        early=early,
        stopped=stopped,
        unread=tuple(unread),
        remarks=(*run.remarks, *unread),
    )


def _parts(config: Config) -> Iterator[tuple[str, str]]:
    """Yield the settings that stand joined in one text, below its name; a seed is no run's own."""
    for name, value in config.items():
        if isinstance(value, str) and _PARTS.fullmatch(value):
            for part in value.split(","):
                key, _, text = part.partition("=")
                if normal(key) not in SEED_NAMES:
                    yield f"{name}.{key}", text


def _stated(file: Path, place: str) -> Stated:
    is_json = file.suffix == ".json"
    text = read_log_text(file, place, MAX_CONFIG_BYTES if is_json else MAX_YAML_BYTES)
    tree = (parse_json if is_json else parse_yaml)(text, place)
    if tree is None:
        return ()
    if isinstance(tree, list):
        tree = named_values(tree) or tree
    if not isinstance(tree, dict):
        raise LogError(place, "found no names with values; expected a configuration.")
    if "wandb_version" in tree:  # W&B writes every value with its description
        tree = {
            name: entry["value"]
            for name, entry in tree.items()
            if isinstance(entry, dict) and "value" in entry and not name.startswith("_")
        }
    return tuple((name, plain_value(value)) for name, value in flat("", tree, place))


def _nearest(folder: Path, root: Path) -> tuple[Path, ...]:
    for here in (folder, *folder.parents):
        files = tuple(here / name for name in CONFIG_FILES if (here / name).is_file())
        if files or here == root or root not in (here, *here.parents):
            return files
    return ()


def plain_value(value: Any) -> Any:
    """Return a value as configurations hold it: a scalar, None, or a tuple of scalars."""
    if isinstance(value, list | tuple):
        nested = any(isinstance(item, dict | list | tuple) for item in value)
        return json.dumps(value, default=str) if nested else tuple(value)
    if isinstance(value, bool | int | float) or value is None:
        return value
    return _ADDRESS.sub("", str(value))  # a date, as YAML reads one, is text, too


def plain_names(config: Config) -> dict[str, Any]:
    """Return a configuration with one spelling of its names: config/lr is ``config.lr``."""
    return {name.replace("/", "."): value for name, value in config.items()}


def alike(value: Any, other: Any) -> bool:
    """Return True if two values are the same, be they numbers or the text of numbers."""
    return value == other or str(value) == str(other)


def seeds_in(config: Config) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of a configuration that are called as a seed is."""
    for name, value in config.items():
        if last_part(name) in SEED_NAMES and value not in (None, ""):
            yield name, value


def seed_of(
    run: LoggedRun, mapping: MappingFile, names: Callable[[], str | None] | None = None
) -> int | None:
    """Return a run's seed: a column of its table, its configuration, or its name.

    That which the mapping names wins. None, where runs without a seed are to be numbered. `names`
    gives the line of a mapping that reads seeds from the names of all runs, if one does.
    """
    is_named = mapping.columns.seed is not None or "{seed}" in (mapping.names or "")
    if is_named and run.seed is not None:
        return run.seed
    rule = _seed_rule(run)
    seeds = seeds_told(run)
    if len(seeds) == 1 or ("seeds" in mapping.number and not seeds):
        return next(iter(seeds), None)
    if not seeds:
        text = "found no seed in its columns, its configuration or its name; expected one. "
        stem = PurePath(run.name.partition(" (")[0]).stem
        if (sums := sorted(SUMMED & words_of_name(stem))) and not _OF_RUN.search(stem):
            fault = f"A file called '{sums[0]}' seems to sum runs up, and an answer counts them"
            raise LogError(run.name, f"{text}{fault}: hand in the number of each run.")
        every = [] if run.in_time else seed_ways(run.seed_column)
        if run.seed_column and run.step:
            del every[1:]  # files would be counted, each with the courses of several seeds
        bare = [curve.values for curve in run.all_curves if curve.steps is None]
        single = all(len(values) < 2 or is_course(values) for values in bare)
        named = names() if single and names and not (run.seed_column and every) else None
        by_rule = [rule] if single and not (run.seed_column and every) else []
        ways = [*([named] if named else by_rule), *every]
        order = "" if run.in_time else ", or number the runs in their order,"
        text = f"{text}Name it{order} in the mapping: {', '.join(f'`{way}`' for way in ways)}."
        offers = ways[:1] if ways != [rule, *every] else every[-1:]
        raise LogError(run.name, f"{text}{of_columns(run.columns)}", *offers)
    listed = ", ".join(f"{seed} in {where}" for seed, where in seeds.items())
    text = f"found different seeds: {listed}; expected one"
    raise LogError(run.name, f"{text}. Say in a mapping `{rule}`.")


def seeds_told(run: LoggedRun) -> dict[int, str]:
    """Return the seeds that a run states, each with where it does; a LogError if one is none."""
    seeds: dict[int, str] = {} if run.seed is None else {run.seed: run.seed_of}
    for name, value in seeds_in(run.config):
        text = str(value).strip()
        if isinstance(value, bool) or not re.fullmatch(r"\d{1,10}", text):
            fault = f"found the seed {value!r} in its configuration ({name}); expected a whole"
            raise LogError(run.name, f"{fault} number. Say in a mapping `{_seed_rule(run)}`.")
        seeds.setdefault(int(text), f"its configuration ({name})")
    for part in run.parts:
        for matched in SEED_IN_NAME.finditer(part):
            seeds.setdefault(int(matched.group(1)), f"its name ('{part}')")
    return seeds


def _seed_rule(run: LoggedRun) -> str:
    return f'runs: [{{match: "{run.name}", seed: 0}}]'


def seed_ways(column: str | None) -> list[str]:
    """Return the lines that give rows a seed: by a column of seeds, or numbered."""
    return [*([f"columns: {{seed: {column}}}"] if column else []), "number: [seeds]"]


def step_ways(column: str | None) -> list[str]:
    """Return the line that names the column of steps, if there is one."""
    return [f"columns: {{step: {json.dumps(column)}}}"] if column else []


def stated_settings(
    audit: Audit, experiment: str, run: LoggedRun, mapping: MappingFile
) -> tuple[dict[str, SettingValue], frozenset[str]]:
    """Return the values that a configuration states of settings, and what it calls these."""
    values: dict[str, SettingValue] = {}
    names = set()
    for name, setting in audit.settings_of(experiment).items():
        called = _called(name, run, mapping)
        if called is None or run.config[called] is None:
            continue
        value = as_setting(run.config[called], setting.value)
        if value is None:
            text = f"found {called} = {run.config[called]!r} in its configuration; expected"
            expected = f"{kind_of(setting.value)}, like {shown(setting.value)}"
            way = f"If it is another setting, let the mapping say `configuration: {{{name}: null}}`"
            raise LogError(run.name, f"{text} {expected}. {way}.")
        values[name] = value
        names.add(called)
    return values, frozenset(names)


def _called(name: str, run: LoggedRun, mapping: MappingFile) -> str | None:
    """Return the name of a setting in a configuration: as the mapping says, else its own."""
    if name in mapping.configuration:
        called = mapping.configuration[name]
        return called if called in run.config else None
    candidates = [_model_of(key, run) for key in run.config if last_part(key) == name]
    candidates = [key for key in candidates if normal(key) == name] or candidates
    if any(not alike(run.config[candidates[0]], run.config[key]) for key in candidates):
        listed = ", ".join(f"{key} = {run.config[key]!r}" for key in candidates)
        text = f"found several values that may be the setting '{name}': {listed}; expected one."
        way = "Name the right one under 'configuration' in the mapping, or null."
        raise LogError(run.name, f"{text} {way}")
    return next(iter(candidates), None)


def _model_of(key: str, run: LoggedRun) -> str:
    """Return what names the model where `model` is lm-eval's backend: ``model_args.pretrained``."""
    named = (f"{key}_args.{own}" for own in ("pretrained", "model"))
    return next((name for name in named if name in run.config), key)


def as_setting(value: Any, model: SettingValue) -> SettingValue | None:
    """Return a configuration's value as the audit would write it; None if it is no such kind."""
    if isinstance(model, tuple):
        if isinstance(value, str):  # a list that was logged as text: "[1, 2]" or "1,2"
            inner = re.sub(r"^[\[(]|[\])]$", "", value.strip())
            value = tuple(part.strip().strip("'\"") for part in inner.split(",") if part.strip())
        if not isinstance(value, tuple):
            return None
        converted = [as_setting(item, model[0] if model else "") for item in value]
        plain = tuple(v for v in converted if v is not None and not isinstance(v, tuple))
        return plain if len(plain) == len(converted) else None
    if isinstance(model, bool):
        return {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())
    if isinstance(model, str):
        return None if isinstance(value, tuple) else str(value)
    number = None if is_percent(value) else number_of(value)
    if number is None or not math.isfinite(number):
        return None
    if isinstance(model, float):
        return number
    return int(number) if number.is_integer() and abs(number) < 2**53 else None
