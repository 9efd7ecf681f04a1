"""What a logged run is to an audit: its role, seed and settings.

A run's configuration comes from its logger and from files beside its logs. The run is the
experiment itself if its configuration states none of the settings by which the controls differ, or
states the audit's values of them; it is the control whose settings it states. A mapping's rule says
it outright. Nothing is guessed from similar names, and runs that differ in more than their seed are
never put under one role.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from reproaudit.audit.faults import shown
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Batch, Scope
from reproaudit.cell import SettingValue, canonical_settings, same
from reproaudit.errors import UsageError, did_you_mean
from reproaudit.logs.configurations import alike, is_own, seed_of
from reproaudit.logs.logged import LogError, LoggedRun, gathered, of_columns, raise_all
from reproaudit.logs.mapping import MappingFile, RunRule
from reproaudit.logs.settings import stated_settings


def axes_of(audit: Audit) -> frozenset[str]:
    """Return the names of all axes of an audit's measurements."""
    declared = [audit.measurements_of(one) for one in audit.experiments]
    return frozenset(a.name for each in declared for one in each.values() for a in one.axes)


def role_words(batch: Batch) -> str:
    """Return a role in words: ``'separable' with loss = 'squared'``."""
    settings = ", ".join(f"{name} = {shown(value)}" for name, value in batch.overrides)
    return f"'{batch.experiment}'" + (f" with {settings}" if settings else "")


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
    _refuse_unmatched(runs, mapping)
    faults = list(faults)
    roles: dict[Batch, dict[int, PlacedRun]] = {batch: {} for batch in scope.batches}
    placed: list[tuple[Batch, PlacedRun]] = []
    for run in runs:
        rule = mapping.rule(run.name) or RunRule(match="*")
        if not rule.ignore:
            with gathered(faults):
                placed.append(_placed(audit, scope, run, rule, mapping))
    for batch, one in sorted(placed, key=lambda two: two[1].seed is None):
        free = next(n for n in range(len(runs)) if n not in roles[batch])
        with gathered(faults):
            _take(roles, one if one.seed is not None else replace(one, seed=free), batch, mapping)
    raise_all(faults)
    return {batch: dict(sorted(role.items())) for batch, role in roles.items() if role}


def _placed(
    audit: Audit, scope: Scope, run: LoggedRun, rule: RunRule, mapping: MappingFile
) -> tuple[Batch, PlacedRun]:
    """Return a run's role, and the run with its seed; None where seeds are to be numbered."""
    experiment = _experiment(scope, run, rule)
    batches = [batch for batch in scope.batches if batch.experiment == experiment]
    stated, names = stated_settings(audit, experiment, run, mapping)
    if rule.settings is None:
        batch = _of_stated(audit, stated, batches, run)
    else:
        batch = _of_settings(rule.settings, batches, run)
        _refuse_contradicted(stated, rule, run)
    seed = seed_of(run, "seeds" in mapping.number) if rule.seed is None else rule.seed
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
            f"{_twice(run, role[seed].run, others)}.{of_columns(run.columns)}",
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


def _refuse_unmatched(runs: Sequence[LoggedRun], mapping: MappingFile) -> None:
    """Refuse rules for runs that are not there."""
    names = [run.name for run in runs]
    for rule in mapping.runs:
        pattern = rule.match
        if not any(map(rule.matches, names)):
            wider = any(pattern in name for name in names)
            hint = f"Did you mean '*{pattern}*'?" if wider else did_you_mean(pattern, names)
            raise UsageError(f"runs: match '{pattern}': found no such run. {hint}")


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
    wanted = canonical_settings(settings)
    for batch in batches:
        if canonical_settings(dict(batch.overrides)) == wanted:
            return batch
    expected = " or ".join(map(role_words, batches))
    text = f"settings: found {dict(settings)}; expected those of {expected}."
    raise LogError(f"runs: '{run.name}'", text)


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


# --- runs that belong together --------------------------------------------------------------------


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
            "than its seed; expected to be told what it is. If both are of the same "
            f'{role}, say in the mapping `runs: [{{match: "{other.run.name}"}}]`.',
        )


# --- settings of roles, held against the audit's --------------------------------------------------


def compare_settings(audit: Audit, roles: Roles) -> list[dict[str, Any]]:
    """Set every setting of every role beside the audit's value, for the protocol.

    A control has most settings as its experiment does; these are not repeated.
    """
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for batch, runs in roles.items():
        values = batch.settings(audit)
        stated = _stated(runs, values)
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
        for name, stated in _stated(runs, audited).items():
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


def _stated(
    runs: Mapping[int, PlacedRun], audited: Mapping[str, SettingValue]
) -> Mapping[str, SettingValue]:
    """Return what runs of one role state; of values that differ, the first that the audit lacks."""
    found: dict[str, SettingValue] = {}
    for one in runs.values():
        for name, value in one.stated.items():
            if name not in found or same(found[name], audited[name]):
                found[name] = value
    return found
