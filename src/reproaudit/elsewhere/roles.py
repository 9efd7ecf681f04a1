"""Decides which experiment or control of the audit each run is, and its seed.

A run is the experiment itself if its configuration states none of the settings by which the
controls differ, or states the audit's values of them; it is the control whose settings it states. A
mapping's rule says it outright. Nothing is guessed from similar names, and runs that differ in more
than their seed are never put under one role.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import yaml

from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Batch
from reproaudit.audit.rules.values import kind_of, same, shown
from reproaudit.audit.scope import Scope
from reproaudit.cell import Scalar, SettingValue, canonical_settings
from reproaudit.elsewhere.configurations import STATED_BY_TRAINER, alike, normal, seed_of
from reproaudit.elsewhere.logged import LogError, LoggedRun
from reproaudit.elsewhere.mapping import MappingFile, RunRule
from reproaudit.elsewhere.rows import number_of
from reproaudit.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Stated:
    """The value of one of the audit's settings, as a run's configuration states it.

    Attributes:
        name: what the configuration calls it.
        value: its value, as the audit would write it.
    """

    name: str
    value: SettingValue


@dataclass(frozen=True)
class PlacedRun:
    """A logged run and what it is to the audit."""

    run: LoggedRun
    batch: Batch
    seed: int
    diverged: bool
    stated: Mapping[str, Stated]


def place_runs(
    audit: Audit,
    scope: Scope,
    runs: Sequence[LoggedRun],
    mapping: MappingFile,
    seeds: Mapping[str, int],
) -> tuple[PlacedRun, ...]:
    """Every run that is not ignored, with its role and seed.

    Args:
        audit: the audit.
        scope: what is asked for.
        runs: the runs, with their configurations.
        mapping: the mapping file.
        seeds: a run's name, or a pattern of names -> its seed.

    Raises:
        LogError: if a role or a seed cannot be told, two runs have the same, or the runs of one
            role differ in more than their seed.
    """
    _refuse_unmatched(runs, mapping, seeds)
    placed: dict[tuple[Batch, int], PlacedRun] = {}
    for run in runs:
        rule = mapping.rule(run.name)
        if rule is not None and rule.ignore:
            continue
        found = _place(audit, scope, run, rule, mapping, seeds)
        key = found.batch, found.seed
        if key in placed:
            raise LogError(
                run.name,
                f"found seed {found.seed} of {role_words(found.batch)} a second time, after "
                f"'{placed[key].run.name}'; expected it once. Say in a mapping file which runs are "
                f"which, such as {_rule_lines(found, placed[key], scope)}",
            )
        placed[key] = found
    _refuse_mixed(placed.values(), mapping)
    return tuple(placed.values())


def _rule_lines(one: PlacedRun, other: PlacedRun, scope: Scope) -> str:
    """The line of a mapping that would put one of two runs elsewhere, with what to do else."""
    batch = one.batch
    controls = [b for b in scope.batches if b.experiment == batch.experiment and b != batch]
    if not controls:
        return f'`runs: [{{match: "{_pattern(one, other)}", ignore: true}}]`.'
    # a control whose setting is in a run's name is the likelier example
    pairs = [(a, b, control) for a, b in ((one, other), (other, one)) for control in controls]
    likelier = [
        (a, b, control)
        for a, b, control in pairs
        if any(str(value).lower() in _pattern(a, b).lower() for _, value in control.overrides)
    ]
    run, beside, control = (likelier or pairs)[0]
    settings = {name: list(v) if isinstance(v, tuple) else v for name, v in control.overrides}
    written = yaml.safe_dump(settings, default_flow_style=True, width=10_000).strip()
    return (
        f'`runs: [{{match: "{_pattern(run, beside)}", settings: {written}}}]` if these are '
        "that control's, or with `ignore: true` in place of the settings."
    )


def _pattern(one: PlacedRun, other: PlacedRun) -> str:
    """A pattern that one run's name matches and the other's does not, for all seeds if it can."""
    for part in one.run.parts:
        pattern = "*" + re.sub(r"\d+", "*", part).strip("*") + "*"
        if fnmatchcase(one.run.name, pattern) and not fnmatchcase(other.run.name, pattern):
            return pattern
    return one.run.name


def _refuse_unmatched(
    runs: Sequence[LoggedRun], mapping: MappingFile, seeds: Mapping[str, int]
) -> None:
    """Refuses rules and seeds for runs that are not there."""
    for one in mapping.runs:
        if not any(fnmatchcase(run.name, one.match) for run in runs):
            raise LogError(
                f"runs: match '{one.match}'",
                f"found no such run. {_nearest_pattern(one.match, runs)}",
            )
    for pattern in seeds:
        if not any(fnmatchcase(run.name, pattern) for run in runs):
            hint = _nearest_pattern(pattern, runs)
            raise UsageError(f"--seed: no run '{pattern}'. {hint}")


def _nearest_pattern(pattern: str, runs: Sequence[LoggedRun]) -> str:
    """A remedy for a pattern that no run matches; it may name a run's folder alone."""
    for wider in (f"{pattern}/*", f"*/{pattern}/*", f"*{pattern}*"):
        if any(fnmatchcase(run.name, wider) for run in runs):
            return f"Did you mean '{wider}'?"
    return did_you_mean(pattern, [run.name for run in runs])


def role_words(batch: Batch) -> str:
    """A role in words: ``'separable' with loss = 'squared'``."""
    settings = ", ".join(f"{name} = {shown(value)}" for name, value in batch.overrides)
    return f"'{batch.experiment}'" + (f" with {settings}" if settings else "")


def _place(
    audit: Audit,
    scope: Scope,
    run: LoggedRun,
    rule: RunRule | None,
    mapping: MappingFile,
    seeds: Mapping[str, int],
) -> PlacedRun:
    experiments = list(dict.fromkeys(batch.experiment for batch in scope.batches))
    experiment = rule.experiment if rule is not None else None
    if experiment is None and len(experiments) > 1:
        raise LogError(
            run.name,
            f"found a run that may belong to {', '.join(experiments)}; expected one. Name its "
            "experiment in the mapping's 'runs', or narrow with --claim.",
        )
    experiment = experiment or experiments[0]
    if experiment not in experiments:
        hint = did_you_mean(experiment, experiments)
        raise LogError(f"runs: match '{rule.match if rule else ''}'", f"experiment: found "
                       f"'{experiment}'; expected one that is asked for. {hint}")  # fmt: skip
    stated = _stated(audit, experiment, run, mapping)
    batches = [batch for batch in scope.batches if batch.experiment == experiment]
    given = rule.settings if rule is not None else None
    batch = (
        _of_settings(given, batches, run)
        if given is not None
        else _of_stated(audit, stated, batches, run)
    )
    pattern = next((one for one in seeds if fnmatchcase(run.name, one)), None)
    seed = seeds[pattern] if pattern is not None else rule.seed if rule is not None else None
    return PlacedRun(
        run=run,
        batch=batch,
        seed=seed if seed is not None else seed_of(run),
        diverged=rule is not None and rule.status == "diverged",
        stated=stated,
    )


def _of_settings(
    settings: Mapping[str, SettingValue], batches: Sequence[Batch], run: LoggedRun
) -> Batch:
    wanted = canonical_settings(settings)
    for batch in batches:
        if canonical_settings(dict(batch.overrides)) == wanted:
            return batch
    controls = " or ".join(role_words(one) for one in batches if one.overrides) or "no settings"
    raise LogError(
        f"runs: '{run.name}'", f"settings: found {dict(settings)}; expected {controls}, or none."
    )


def _of_stated(
    audit: Audit, stated: Mapping[str, Stated], batches: Sequence[Batch], run: LoggedRun
) -> Batch:
    """The experiment, or the control, whose settings the configuration states."""
    telling = {name for batch in batches for name, _ in batch.overrides} & stated.keys()
    for batch in batches:
        values = batch.settings(audit)
        overrides = dict(batch.overrides)
        if overrides.keys() <= stated.keys() and all(
            same(stated[name].value, values[name]) for name in telling
        ):
            return batch
    found = ", ".join(f"{name} = {shown(stated[name].value)}" for name in sorted(telling))
    plain = any(not batch.overrides for batch in batches)
    if not telling and not plain:
        listed = " or ".join(role_words(batch) for batch in batches)
        text = f"found nothing in its configuration that tells what it is; expected {listed}."
    else:
        text = (
            f"found {found} in its configuration, which neither the experiment nor a control has."
        )
    raise LogError(run.name, f"{text} Say under 'settings' in the mapping's 'runs' what it is.")


# --- what a configuration says of the audit's settings --------------------------------------------


def _stated(
    audit: Audit, experiment: str, run: LoggedRun, mapping: MappingFile
) -> dict[str, Stated]:
    settings = audit.settings_of(experiment)
    for name in mapping.configuration:
        if not any(name in audit.settings_of(one) for one in audit.experiments):
            raise LogError(
                "configuration",
                f"found the unknown setting '{name}'. {did_you_mean(name, settings)}",
            )
    by_last: dict[str, list[str]] = {}
    for key in run.config:
        by_last.setdefault(normal(key.rpartition(".")[2]), []).append(key)
    found: dict[str, Stated] = {}
    for name, setting in settings.items():
        called = _key(name, run, mapping, by_last)
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
        found[name] = Stated(called, value)
    return found


def _key(
    name: str, run: LoggedRun, mapping: MappingFile, by_last: Mapping[str, Sequence[str]]
) -> str | None:
    """The name of a setting in a configuration: as the mapping says, else its own."""
    if name in mapping.configuration:
        said = mapping.configuration[name]
        return said if said is not None and said in run.config else None
    candidates = by_last.get(name, ())
    exact = [key for key in candidates if normal(key) == name]
    values = [run.config[key] for key in exact or candidates]
    if any(not alike(values[0], other) for other in values[1:]):
        listed = ", ".join(f"{key} = {run.config[key]!r}" for key in exact or candidates)
        raise LogError(
            run.name,
            f"found several values that may be the setting '{name}': {listed}; expected one. Name "
            f"the right one under 'configuration' in the mapping, or null.",
        )
    return next(iter(exact or candidates), None)


def _as_setting(value: Any, model: SettingValue) -> SettingValue | None:
    """A configuration's value as the audit would write it; None if it is of another kind."""
    if isinstance(model, tuple):
        parts = value if isinstance(value, tuple) else _listed(value)
        if parts is None:
            return None
        template: Scalar = model[0] if model else ""
        converted = [_as_setting(one, template) for one in parts]
        plain = tuple(one for one in converted if one is not None and not isinstance(one, tuple))
        return plain if len(plain) == len(converted) else None
    if isinstance(model, bool):
        return {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())
    if isinstance(model, int | float):
        number = number_of(value)
        if number is None or not math.isfinite(number):
            return None
        whole = number.is_integer() and abs(number) < 2**53
        return number if isinstance(model, float) else int(number) if whole else None
    return value if isinstance(value, str) else None if isinstance(value, tuple) else str(value)


def _listed(value: Any) -> list[str] | None:
    """The parts of a list that was logged as text: "[1, 2]", "(1, 2)" or "1,2"."""
    if not isinstance(value, str):
        return None
    inner = re.sub(r"^[\[(]|[\])]$", "", value.strip())
    return [part.strip().strip("'\"") for part in inner.split(",") if part.strip()]


# --- runs that belong together --------------------------------------------------------------------

_OWN = re.compile(
    r"(^|[._])(output|log|logging|save|work|run|exp|experiment|checkpoint|ckpt|results?)_?"
    r"(dir|directory|path|folder|file|name|id)$"
)
"""Names of what is each run's own affair: where it wrote, and what it was called."""
_OWN_WHOLE = re.compile(
    r"^((run|job|hydra|wandb|slurm|experiment|exp|logger)\.([a-z_]+\.)*)?(name|id|uuid|run_uuid|"
    r"timestamp|time|date|start_time|end_time|created_at|host|hostname|user|port|master_port|"
    r"master_addr|pid|job_id|slurm_job_id|task_id|trial_id|device|device_id|gpu_id|gpu_ids|"
    r"local_rank|global_rank|node_rank|out|output|logs?)$"
)
"""More of them, when it ran and where: the whole name, since `dataset.name` is no run's own."""
_LOADED = re.compile(r"checkpoint|ckpt|pretrain|init|resume|restore|teacher|load|warm")
"""Names of what a run may have begun from, or learned from."""
_SEED = re.compile(r"(^|[._])(random_?)?seeds?($|[._])|(^|[._])random_state$")


def is_of_run_alone(key: str) -> bool:
    """True of a name in a configuration that is each run's own affair, its seed's among them."""
    name = normal(key)
    is_own = _OWN.search(name) or _OWN_WHOLE.search(name)
    return bool(_SEED.search(name) or (is_own and not _LOADED.search(name)))


def may_vary(key: str, mapping: MappingFile) -> bool:
    """True of a name in a configuration whose value may differ, as the mapping says."""
    return any(fnmatchcase(key, pattern) for pattern in mapping.vary)


def _refuse_mixed(placed: Iterable[PlacedRun], mapping: MappingFile) -> None:
    """Refuses runs of one role that differ in more than their seed."""
    first: dict[Batch, PlacedRun] = {}
    for one in placed:
        other = first.setdefault(one.batch, one)
        _refuse_differing(other, one, mapping)


def _refuse_differing(one: PlacedRun, other: PlacedRun, mapping: MappingFile) -> None:
    a, b = one.run.config, other.run.config
    absent = object()
    settings = {stated.name for run in (one, other) for stated in run.stated.values()}
    for key in sorted({*a, *b}):
        left, right = a.get(key, absent), b.get(key, absent)
        by_seed = is_of_run_alone(key) or _differ_by_seed(left, one, right, other)
        passes = may_vary(key, mapping) or (by_seed and key not in settings)
        if passes or alike(left, right):
            continue
        said = ["nothing" if value is absent else repr(value)[:60] for value in (left, right)]
        raise LogError(
            other.run.name,
            f"found {key} = {said[1]}, where '{one.run.name}', of the same "
            f"{role_words(one.batch)}, has {said[0]}; expected runs that differ in their seed "
            "alone. Say in the mapping's 'runs' what they are, or list the name under 'vary'.",
        )
    named_only = not (a.keys() | b.keys()) - set(STATED_BY_TRAINER)
    if named_only and _stem(one) != _stem(other) and mapping.rule(other.run.name) is None:
        raise LogError(
            other.run.name,
            f"found a run without configuration whose name differs from '{one.run.name}' in more "
            "than its seed; expected to be told that both are the same. Say in the mapping's "
            "'runs' what they are.",
        )


def _differ_by_seed(left: object, one: PlacedRun, right: object, other: PlacedRun) -> bool:
    """True if two texts, which are no numbers, differ in the runs' seeds alone."""
    if not isinstance(left, str) or not isinstance(right, str) or number_of(left) is not None:
        return False
    return left.replace(str(one.seed), "#") == right.replace(str(other.seed), "#")


def _stem(placed: PlacedRun) -> str:
    """A run's name without its seed."""
    return re.sub(r"\d+", "#", "/".join(placed.run.parts))
