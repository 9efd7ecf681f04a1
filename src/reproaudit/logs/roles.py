"""What a logged run is to an audit: its role, seed and settings.

A run's configuration comes from its logger and from files beside its logs. The run is the
experiment itself if its configuration states none of the settings by which the controls differ, or
states the audit's values of them; it is the control whose settings it states. A mapping's rule says
it outright. Nothing is guessed from similar names, and runs that differ in more than their seed are
never put under one role.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproaudit.audit.faults import shown
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Batch, Scope
from reproaudit.cell import SettingValue, canonical_settings, kind_of, same
from reproaudit.errors import UsageError, did_you_mean
from reproaudit.logs.logged import (
    MAX_CONFIG_BYTES,
    MAX_YAML_BYTES,
    LogError,
    LoggedRun,
    flat,
    number_of,
    parse_json,
    parse_yaml,
    raise_all,
    read_log_text,
)
from reproaudit.logs.mapping import MappingFile, RunRule

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
    "params.yaml",
)
"""Hydra's, W&B's, Lightning's, a dumped argparse namespace, dumped TrainingArguments, DVC's."""
SEED_NAMES = (
    "seed",
    "random_seed",
    "rng_seed",
    "manual_seed",
    "global_seed",
    "random_state",
    "seed_everything",
)
SEED_IN_NAME = re.compile(r"(?:^|[^a-z])seed[=_\-: ]?(\d{1,10})(?![0-9])", re.IGNORECASE)

MOST_LISTED = 8
"""Of several names those that a sentence says."""

Config = Mapping[str, Any]
"""Flat: "model.layers" -> 3. Values are scalars, None or tuples of them."""
Stated = tuple[tuple[str, Any], ...]
"""The same in the order of a file, which may state a name twice."""


def axes_of(audit: Audit) -> frozenset[str]:
    """Return the names of all axes of an audit's measurements."""
    declared = [audit.measurements_of(one) for one in audit.experiments]
    return frozenset(a.name for each in declared for one in each.values() for a in one.axes)


def role_words(batch: Batch) -> str:
    """Return a role in words: ``'separable' with loss = 'squared'``."""
    settings = ", ".join(f"{name} = {shown(value)}" for name, value in batch.overrides)
    return f"'{batch.experiment}'" + (f" with {settings}" if settings else "")


def some(names: Sequence[str]) -> str:
    """Return the first of several names, and how many more there are."""
    rest = len(names) - MOST_LISTED
    return ", ".join(names[:MOST_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def stated_length(
    audit: Audit, experiment: str, settings: Mapping[str, SettingValue]
) -> float | None:
    """Return the steps of training that a run's settings state; None if they state none.

    Where the audit divides the training into stages, these together; else the setting `steps`.
    """
    values: list[SettingValue | None] = []
    for index, stage in enumerate(audit.experiments[experiment].stages):
        value = settings[stage.steps]
        each = value if isinstance(value, tuple) else (value,) * (index + 1)
        values.append(each[index] if index < len(each) else None)
    values = values or [settings.get("steps")]
    numbers = [one for one in values if type(one) in (int, float)]
    return sum(numbers) if len(numbers) == len(values) else None  # type: ignore[arg-type]


def end_beside(series: Iterable[Sequence[int] | NDArray[np.int64]], length: float) -> int | None:
    """Return the last step of series that did not go through so many; None if they may have.

    A series may stop short of the length by the widest distance between two of its steps.
    """
    ends = [
        (int(steps.max()), int(np.abs(np.diff(steps)).max(initial=1)))
        for steps in map(np.asarray, series)
        if len(steps)
    ]
    last, widest = max(ends, default=(0, 0))
    return last if ends and (last > length or last + widest < length) else None


# --- what a run was started with ------------------------------------------------------------------


def configured(run: LoggedRun, root: Path, read: dict[Path, Stated]) -> LoggedRun:
    """Return a run with its configuration: what its logger kept, and the files in its folder.

    Where the folder has none, the nearest one above it that has, up to the root, is read. What the
    files hold is kept in `read`, for further runs.
    """
    config = {name: plain_value(value) for name, value in flat("", run.config, run.name)}
    stated = dict.fromkeys(config, f"{run.source}'s log")
    files = _nearest(run.folder, root)
    for file in files:
        place = f"{run.name}, {file.name}"
        if file not in read:
            read[file] = _configuration(file, place)
        for name, value in read[file]:
            if name not in config:
                config[name] = value
                stated[name] = file.name
            elif not alike(config[name], value):
                raise LogError(
                    place,
                    f"found {name} = {value!r}, but {stated[name]} has {config[name]!r}; expected "
                    "one value. Take the file away that does not belong to this run.",
                )
    whole = _settled_end(run, config)
    return replace(whole, config=config, configurations=files)


def _settled_end(run: LoggedRun, config: Config) -> LoggedRun:
    """Return a run as whole if it is known to have been stopped early on purpose."""
    early = run.early
    for name, value in config.items():
        waited = number_of(value)
        if run.patience is not None and waited and "patience" in name and run.patience >= waited:
            early = early or f"early stopping: {run.patience} evaluations after the best"
    return run if early is None else replace(run, early=early, stopped=None)


def _configuration(file: Path, place: str) -> Stated:
    """What a file of configuration states; nothing if it is empty."""
    is_json = file.suffix == ".json"
    text = read_log_text(file, place, MAX_CONFIG_BYTES if is_json else MAX_YAML_BYTES)
    tree = (parse_json if is_json else parse_yaml)(text, place)
    if tree is None:
        return ()
    if not isinstance(tree, dict):
        raise LogError(place, "found no names with values; expected a configuration.")
    return tuple((name, plain_value(value)) for name, value in flat("", _unwrapped(tree), place))


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


def plain_value(value: Any) -> Any:
    """Return a value as configurations hold it: a scalar, None, or a tuple of scalars."""
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


def has_seed(run: LoggedRun) -> bool:
    """Return True if a column, the configuration or the name of a run says a seed."""
    named = any(SEED_IN_NAME.search(part) for part in run.parts)
    return run.seed is not None or named or any(True for _ in seeds_in(run.config))


def seed_of(run: LoggedRun) -> int:
    """Return a run's seed: a column of its table, its configuration, or its name."""
    remedy = f'Say in a mapping file `runs: [{{match: "{run.name}", seed: 0}}]`.'
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
    for part in run.parts:
        for matched in SEED_IN_NAME.finditer(part):
            found.setdefault(int(matched.group(1)), f"its name ('{part}')")
    if len(found) == 1:
        return next(iter(found))
    if not found:
        raise LogError(
            run.name,
            "found no seed in its columns, its configuration or its name; expected one. Name it, "
            f"or number the runs in their order, in the mapping: {_unseeded(run)}."
            f"{_columns_of(run)}",
        )
    listed = ", ".join(f"{seed} in {where}" for seed, where in found.items())
    raise LogError(run.name, f"found different seeds: {listed}; expected one. {remedy}")


def _columns_of(run: LoggedRun) -> str:
    return f" Its columns: {run.columns}." if run.columns else ""


def _unseeded(run: LoggedRun) -> str:
    """Return the ways on for a run without a seed."""
    form = r"([\w.]*(?:seed|trial|fold|repeat|replicate)[\w.]*) \("
    like = re.search(form, run.columns)
    column = f"`columns: {{seed: {like.group(1)}}}`, " if like else ""
    return f'{column}`runs: [{{match: "{run.name}", seed: 0}}]`, or `number: [seeds]`'


# --- what a run is --------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlacedRun:
    """A logged run and what it is to the audit.

    Attributes:
        stated: the values of the audit's settings that its configuration states.
        names: what the configuration calls these settings.
    """

    run: LoggedRun
    seed: int | None
    diverged: bool
    stated: Mapping[str, SettingValue]
    names: frozenset[str]


Roles = Mapping[Batch, Mapping[int, PlacedRun]]
"""Runs by role, the experiments first, then by seed."""


def place_runs(
    audit: Audit,
    scope: Scope,
    runs: Sequence[LoggedRun],
    mapping: MappingFile,
    faults: Sequence[LogError] = (),
) -> Roles:
    """Give every run that is not ignored its role and seed.

    Raises:
        AuditError: listing every run that has none, and the faults that were found before.
    """
    _refuse_unmatched(audit, runs, mapping)
    faults = list(faults)
    roles: dict[Batch, dict[int, PlacedRun]] = {batch: {} for batch in scope.batches}
    unseeded: list[tuple[Batch, PlacedRun]] = []
    for run in runs:
        rule = mapping.rule(run.name) or RunRule(match="*")
        if rule.ignore:
            continue
        try:
            batch, one = _placed(audit, scope, run, rule, mapping)
            if one.seed is None:
                unseeded.append((batch, one))
            else:
                _take(roles, one, batch, mapping)
        except LogError as error:
            faults.append(error)
    for batch, one in unseeded:
        free = next(n for n in range(len(runs)) if n not in roles[batch])
        try:
            _take(roles, replace(one, seed=free), batch, mapping)
        except LogError as error:
            faults.append(error)
    raise_all(faults)
    return {batch: dict(sorted(role.items())) for batch, role in roles.items() if role}


def _placed(
    audit: Audit, scope: Scope, run: LoggedRun, rule: RunRule, mapping: MappingFile
) -> tuple[Batch, PlacedRun]:
    """Return a run's role, and the run with its seed; None where seeds are to be numbered."""
    experiment = _experiment(scope, run, rule)
    batches = [batch for batch in scope.batches if batch.experiment == experiment]
    stated, names = _stated(audit, experiment, run, mapping)
    if rule.settings is None:
        batch = _of_stated(audit, stated, batches, run)
    else:
        batch = _of_settings(rule.settings, batches, run)
        _refuse_contradicted(stated, rule, run)
    seed = rule.seed
    if seed is None and not ("seeds" in mapping.number and not has_seed(run)):
        seed = seed_of(run)
    return batch, PlacedRun(run, seed, rule.status == "diverged", stated, names)


def _take(
    roles: dict[Batch, dict[int, PlacedRun]],
    one: PlacedRun,
    batch: Batch,
    mapping: MappingFile,
) -> None:
    """Take a run into its role; a seed twice is refused, and what differs in more than it."""
    run = one.run
    role = roles[batch]
    seed = one.seed or 0
    if seed in role:
        others = [each for each in roles if each != batch and each.experiment == batch.experiment]
        raise LogError(
            run.name,
            f"found seed {seed} of {role_words(batch)} a second time, after "
            f"'{role[seed].run.name}'; expected it once. Say in a mapping file what it is: "
            f"{_twice(run, role[seed].run, others)}.{_columns_of(run)}",
        )
    if role:
        _refuse_differing(next(iter(role.values())), one, role_words(batch), mapping)
    role[seed] = one


def _twice(run: LoggedRun, other: LoggedRun, arms: Sequence[Batch]) -> str:
    """Return the ways on for two runs of one role with one seed: a rule by what differs."""
    pairs = zip(other.parts, run.parts, strict=False)
    part = next((own for others, own in pairs if others != own), run.name)
    word = re.sub(r"[-_. ]*(seed)?[-_=. ]*\d+(\.\w+)?$", "", part)
    is_clear = word and word not in other.name
    pattern = f"*{word if is_clear else part}*" if part in run.name else run.name
    rule = f'match: "{pattern}"'
    settings = [_as_yaml(dict(arm.overrides)) for arm in arms if arm.overrides]
    ways = [f"`runs: [{{{rule}, settings: {one}}}]`" for one in settings[:3]]
    return ", ".join([*ways, f"`runs: [{{{rule}, ignore: true}}]`"]) + ", or give it a `seed`"


def _as_yaml(settings: Mapping[str, SettingValue]) -> str:
    return "{" + ", ".join(f"{name}: {shown(value)}" for name, value in settings.items()) + "}"


def _refuse_contradicted(stated: Mapping[str, SettingValue], rule: RunRule, run: LoggedRun) -> None:
    """Refuse a rule that gives a run other settings than its own configuration states."""
    for name, value in (rule.settings or {}).items():
        if name in stated and not same(stated[name], value):
            raise LogError(
                run.name,
                f"found {name} = {shown(stated[name])} in its configuration, and the mapping's "
                f"'runs' says {shown(value)}; expected one value. Mend the rule, or write "
                f"`configuration: {{{name}: null}}`.",
            )


def _refuse_unmatched(audit: Audit, runs: Sequence[LoggedRun], mapping: MappingFile) -> None:
    """Refuse rules for runs that are not there, and settings that the audit lacks."""
    names = [run.name for run in runs]
    for pattern in (rule.match for rule in mapping.runs):
        if not any(fnmatchcase(name, pattern) for name in names):
            wider = any(pattern in name for name in names)
            hint = f"Did you mean '*{pattern}*'?" if wider else did_you_mean(pattern, names)
            raise UsageError(f"runs: match '{pattern}': found no such run. {hint}")
    known = {name for one in audit.experiments for name in audit.settings_of(one)}
    for name in mapping.configuration:
        if name not in known:
            hint = did_you_mean(name, known)
            raise LogError("configuration", f"found the unknown setting '{name}'. {hint}")


def _experiment(scope: Scope, run: LoggedRun, rule: RunRule) -> str:
    experiments = list(dict.fromkeys(batch.experiment for batch in scope.batches))
    if rule.experiment is None and len(experiments) > 1:
        raise LogError(
            run.name,
            f"found a run that may belong to {', '.join(experiments)}; expected one. Name its "
            "experiment in the mapping's 'runs', or narrow with --claim.",
        )
    experiment = rule.experiment or experiments[0]
    if experiment not in experiments:
        raise LogError(
            f"runs: match '{rule.match}'",
            f"experiment: found '{experiment}'; expected one that is asked for. "
            f"{did_you_mean(experiment, experiments)}",
        )
    return experiment


def _of_settings(
    settings: Mapping[str, SettingValue], batches: Sequence[Batch], run: LoggedRun
) -> Batch:
    by_settings = {canonical_settings(dict(one.overrides)): one for one in batches}
    wanted = canonical_settings(settings)
    if wanted not in by_settings:
        expected = " or ".join(role_words(one) for one in batches)
        text = f"settings: found {dict(settings)}; expected those of {expected}."
        raise LogError(f"runs: '{run.name}'", text)
    return by_settings[wanted]


def _of_stated(
    audit: Audit, stated: Mapping[str, SettingValue], batches: Sequence[Batch], run: LoggedRun
) -> Batch:
    """Return the experiment, or the control, whose settings the configuration states."""
    telling = {name for batch in batches for name, _ in batch.overrides} & stated.keys()
    for batch in batches:
        values = batch.settings(audit)
        if dict(batch.overrides).keys() <= stated.keys() and all(
            same(stated[name], values[name]) for name in telling
        ):
            return batch
    found = ", ".join(f"{name} = {shown(stated[name])}" for name in sorted(telling))
    raise LogError(
        run.name,
        f"found {found or 'nothing'} in its configuration, which neither the experiment nor a "
        f"control has; expected {' or '.join(role_words(batch) for batch in batches)}. Say under "
        "'settings' in the mapping's 'runs' what it is.",
    )


# --- what a configuration says of the audit's settings --------------------------------------------


def _stated(
    audit: Audit, experiment: str, run: LoggedRun, mapping: MappingFile
) -> tuple[dict[str, SettingValue], frozenset[str]]:
    """Return the values that a configuration states of settings, and what it calls these."""
    found: dict[str, SettingValue] = {}
    names = set()
    for name, setting in audit.settings_of(experiment).items():
        called = _called(name, run, mapping)
        if called is None or run.config[called] is None:
            continue
        value = _as_setting(run.config[called], setting.value)
        if value is None:
            raise LogError(
                run.name,
                f"found {called} = {run.config[called]!r} in its configuration; expected "
                f"{kind_of(setting.value)}, like {shown(setting.value)}. If it is another setting, "
                f"write 'configuration: {{{name}: null}}' in the mapping.",
            )
        found[name] = value
        names.add(called)
    return found, frozenset(names)


def _called(name: str, run: LoggedRun, mapping: MappingFile) -> str | None:
    """Return the name of a setting in a configuration: as the mapping says, else its own."""
    if name in mapping.configuration:
        said = mapping.configuration[name]
        return said if said in run.config else None
    candidates = [key for key in run.config if normal(key.rpartition(".")[2]) == name]
    candidates = [key for key in candidates if normal(key) == name] or candidates
    if any(not alike(run.config[candidates[0]], run.config[key]) for key in candidates):
        listed = ", ".join(f"{key} = {run.config[key]!r}" for key in candidates)
        raise LogError(
            run.name,
            f"found several values that may be the setting '{name}': {listed}; expected one. Name "
            f"the right one under 'configuration' in the mapping, or null.",
        )
    return next(iter(candidates), None)


def _as_setting(value: Any, model: SettingValue) -> SettingValue | None:
    """Return a configuration's value as the audit would write it; None if it is no such kind."""
    if isinstance(model, tuple):
        if isinstance(value, str):  # a list that was logged as text: "[1, 2]" or "1,2"
            inner = re.sub(r"^[\[(]|[\])]$", "", value.strip())
            value = tuple(part.strip().strip("'\"") for part in inner.split(",") if part.strip())
        if not isinstance(value, tuple):
            return None
        converted = [_as_setting(one, model[0] if model else "") for one in value]
        plain = tuple(one for one in converted if one is not None and not isinstance(one, tuple))
        return plain if len(plain) == len(converted) else None
    if isinstance(model, bool):
        return {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())
    if isinstance(model, int | float):
        number = number_of(value)
        if number is None or not math.isfinite(number):
            return None
        if isinstance(model, float):
            return number
        return int(number) if number.is_integer() and abs(number) < 2**53 else None
    return None if isinstance(value, tuple) else str(value)


def compare_settings(audit: Audit, roles: Roles) -> list[dict[str, Any]]:
    """Set every setting of every role beside the audit's value, for the protocol.

    A control has most settings as its experiment does; these are not repeated.
    """
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for batch, runs in roles.items():
        values = batch.settings(audit)
        stated = _most_stated(runs)
        for name, setting in audit.settings_of(batch.experiment).items():
            value = values[name]
            found = stated.get(name)
            status = "absent" if found is None else "contradicting"
            status = "equal" if found is not None and same(found, value) else status
            row: dict[str, Any] = {
                "role": role_words(batch),
                "setting": name,
                "audit": value,
                "source": setting.source.value,
                "found": found,
                "status": status,
            }
            rows.setdefault((batch.experiment, name, shown(value), str(found)), row)
    return list(rows.values())


def manifest_settings(audit: Audit, roles: Roles) -> dict[str, dict[str, SettingValue]]:
    """Return the settings that the logs state of every run of each experiment."""
    experiments: dict[str, dict[str, SettingValue]] = {}
    for batch, runs in roles.items():
        audited = batch.settings(audit)
        found = experiments.setdefault(batch.experiment, {})
        for name, stated in _most_stated(runs).items():
            is_equal = same(stated, audited[name])
            # what a control states alone, it does not state for the experiment
            is_alone = name not in found and batch.overrides and is_equal
            if name in dict(batch.overrides) or is_alone:
                continue
            value = found.setdefault(name, audited[name] if is_equal else stated)
            if not same(stated, value):
                raise LogError(
                    f"runs of {role_words(batch)}",
                    f"found {name} = {shown(stated)}, and {shown(value)} in other runs of the "
                    "experiment; expected one value for both. A manifest holds one: import them "
                    "apart.",
                )
    return experiments


def _most_stated(runs: Mapping[int, PlacedRun]) -> Mapping[str, SettingValue]:
    return max((one.stated for one in runs.values()), key=len)


# --- runs that belong together --------------------------------------------------------------------

_OWN = re.compile(
    r"(^|[._])((random_?)?seeds?|random_state|run_?(id|name|uuid)|job_?id|task_id|trial_id|"
    r"(exp|experiment)_?(id|name)|(output|log|logging|save|work|checkpoint|ckpt|results?)_?"
    r"(dir|path|folder|file|name)|out|output|logs?|timestamp|time|date|start_time|end_time|"
    r"created_at|created|runtime|host|hostname|node_ip|user|port|pid|device|device_id|gpu_ids?|(local|global|node)_rank)"
    r"($|[._])|^(name|id|uuid)$"
)
"""Names of what is each run's own affair: its seed, where it wrote, when it ran, its name."""


def is_own(name: str) -> bool:
    """Return True if a name is called as what is each run's own affair."""
    return _OWN.search(normal(name)) is not None


def _refuse_differing(one: PlacedRun, other: PlacedRun, role: str, mapping: MappingFile) -> None:
    """Refuse two runs of one role that differ in more than their seed."""
    a = one.run.config
    b = other.run.config
    for key in sorted({*a, *b}):
        left = a.get(key, "nothing")
        right = b.get(key, "nothing")
        own = key not in one.names | other.names and is_own(key)
        varies = any(fnmatchcase(key, pattern) for pattern in mapping.vary)
        if not (own or varies or alike(left, right)):
            raise LogError(
                other.run.name,
                f"found {key} = {repr(right)[:60]}, where '{one.run.name}', of the same "
                f"{role}, has {repr(left)[:60]}; expected runs that differ in "
                "their seed alone. Say in the mapping's 'runs' what they are, or let it differ: "
                f"`vary: [{key}]`.",
            )
    stems = {re.sub(r"\d+", "#", "/".join(run.run.parts)) for run in (one, other)}
    if not (a or b) and len(stems) > 1 and mapping.rule(other.run.name) is None:
        raise LogError(
            other.run.name,
            f"found a run without configuration whose name differs from '{one.run.name}' in more "
            "than its seed; expected to be told that both are the same. Say in the mapping's "
            "'runs' what they are.",
        )
