"""What a logged run is to an audit: its role, seed and settings.

A run is the experiment itself if its configuration states none of the settings by which the
controls differ, or states the audit's values of them; it is the control whose settings it states. A
mapping's rule says it outright. Nothing is guessed from similar names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

from reproaudit.audit.arms import ARM_NAME
from reproaudit.audit.faults import shown
from reproaudit.audit.model import Audit, Setting
from reproaudit.audit.plan import Batch, Scope
from reproaudit.cell import SettingValue, canonical_settings, same
from reproaudit.errors import UsageError, did_you_mean
from reproaudit.intake.pooling import PlacedRun, Request, names_line, pooled, resumed, role_words
from reproaudit.logs.asked import Asked
from reproaudit.logs.configurations import seed_of, stated_settings
from reproaudit.logs.joining import is_copy
from reproaudit.logs.logged import LogError, LoggedRun, counted_seeds, raise_all, some
from reproaudit.logs.mapping import MappingFile, RunRule

IDLE = "Without anything that is wanted"
COPIED = "Copies of what lies beside them"
RESUMED = "Joined to the runs that they belong to"

Roles = Mapping[Batch, Mapping[int, PlacedRun]]  # runs by role, the experiments first, then by seed


class StrayError(LogError):
    """A run that is left out beside others: of no arm, or of unknown settings.

    Attributes:
        why: the reason in words.
        arm: the name of its arm, which the audit does not have.
    """

    def __init__(self, place: str, text: str, why: str, arm: str | None = None) -> None:
        super().__init__(place, text)
        self.why = why
        self.arm = arm


def place_runs(
    request: Request, runs: Sequence[LoggedRun], faults: Sequence[LogError], asked: Asked
) -> tuple[Roles, Sequence[StrayError]]:
    """Return the runs by role and seed, and those that are left out beside them.

    An AuditError lists every run that has no role, after the `faults` that were found before.
    """
    faults = list(faults)
    strays: list[StrayError] = []
    roles: dict[Batch, dict[int, PlacedRun]] = {batch: {} for batch in request.scope.batches}
    placed: list[tuple[Batch, PlacedRun]] = []
    names = cache(lambda: names_line(request, "seed"))
    is_there = any(asked.wants_any(run.curves) for run in runs)
    for run in runs:
        rule = request.mapping.rule(run.name) or RunRule(match="*")
        if rule.ignore:
            continue
        try:
            placed.append(_placed(request, run, rule, names))
        except StrayError as stray:
            strays.append(stray)
        except LogError as fault:
            is_idle = is_there and not asked.wants_any(run.curves)
            if run.unread or is_idle:
                why = f"Left out, since {run.unread[0]}" if run.unread else IDLE
                strays.append(StrayError(run.name, fault.text, why))
            else:
                faults.append(fault)
    if not placed:
        faults += strays
    for batch, role in roles.items():
        given = [placed_run for role_of_run, placed_run in placed if role_of_run == batch]
        beside = _beside(given, asked)
        strays += beside.values()
        own = [placed_run for placed_run in given if id(placed_run) not in beside]
        if "seeds" in request.mapping.number and len({placed_run.seed for placed_run in own}) == 1:
            own = [replace(p, seed=None, run=replace(p.run, shared_seed=p.seed)) for p in own]
        own, parts = resumed(request, own, asked.wants)
        strays += [StrayError(name, "", RESUMED) for name in parts]
        faults += pooled(request, batch, own, asked.wants)
        _number(role, own)
    raise_all(faults)
    filled = {batch: dict(sorted(role.items())) for batch, role in roles.items() if role}
    return filled, strays


def _beside(runs: Sequence[PlacedRun], asked: Asked) -> dict[int, StrayError]:
    """Return the files of one role that are no runs beside another of their seed, by identity."""
    kept: dict[int | None, list[LoggedRun]] = {}
    beside: dict[int, StrayError] = {}
    for placed in sorted(runs, key=lambda placed: not asked.wants_any(placed.run.tags)):
        run = placed.run
        others = [] if placed.seed is None else kept.setdefault(placed.seed, [])
        if any(is_copy(run, other, asked) for other in others):
            beside[id(placed)] = StrayError(run.name, "", COPIED)
        elif others and asked.wants_any(others[0].tags) and not asked.wants_any(run.tags):
            beside[id(placed)] = StrayError(run.name, "", IDLE)
        else:
            others.append(run)
    return beside


def crashed_seeds(
    request: Request, runs: Sequence[LoggedRun], roles: Roles
) -> dict[Batch, set[int]]:
    """Return the seeds of runs that did not finish, by role, but for those that were run again."""
    seeds: dict[Batch, set[int]] = {}
    for batch, seed in filter(None, (role_of(request, run) for run in runs)):
        if batch in roles and seed not in roles[batch]:
            seeds.setdefault(batch, set()).add(seed)
    return seeds


def role_of(request: Request, run: LoggedRun) -> tuple[Batch, int] | None:
    """Return the role and seed of a run that counts for nothing; None if they are not known."""
    with suppress(LogError):
        rule = request.mapping.rule(run.name) or RunRule(match="*")
        batch, placed = _placed(request, run, rule)
        return None if placed.seed is None else (batch, placed.seed)
    return None


def _number(role: dict[int, PlacedRun], runs: Sequence[PlacedRun]) -> None:
    """Add the runs of a role by seed; those without one are counted on from 0, in their order."""
    for placed_run in sorted(runs, key=lambda placed_run: placed_run.seed is None):
        if placed_run.seed is None:
            free = next(n for n in range(len(runs)) if n not in role)
            run = placed_run.run
            told = (*run.remarks, counted_seeds(run.shared_seed))
            placed_run = replace(placed_run, run=replace(run, remarks=told), seed=free)
        role[placed_run.seed or 0] = placed_run


def _placed(
    request: Request, run: LoggedRun, rule: RunRule, names: Callable[[], str | None] | None = None
) -> tuple[Batch, PlacedRun]:
    """Return a run's role, and the run with its seed; None where seeds are to be numbered."""
    mapping = request.mapping
    experiment = _experiment(request.scope, run, rule)
    stated, called = stated_settings(request.audit, experiment, run, mapping)
    for name, value in (rule.settings or {}).items():
        if name in stated and not same(stated[name], value):
            fault = f"found {name} = {shown(stated[name])} in its configuration, and {shown(value)}"
            way = f"Mend the rule, or write `configuration: {{{name}: null}}`."
            raise LogError(run.name, f"{fault} in its rule; expected one value. {way}")
    batch = _batch(request, experiment, stated, run, rule)
    seed = seed_of(run, mapping, names) if rule.seed is None else rule.seed
    is_said = "status" in rule.model_fields_set
    diverged = rule.status == "diverged" if is_said else run.diverged
    return batch, PlacedRun(run, seed, diverged, stated, called, rule.percent)


def refuse_unmatched(
    runs: Sequence[LoggedRun], passed_over: Sequence[str], mapping: MappingFile
) -> None:
    """Raise a UsageError if rules match no run, nor, to ignore it, what was `passed_over`.

    It names the tags of the mapping that no run has, too.
    """
    names = [run.name for run in runs]
    faults: list[str] = []
    for rule in mapping.runs:
        pattern = rule.match
        known = [*names, *passed_over] if rule.ignore else names
        if not any(map(rule.matches, known)):
            wider = any(pattern in name for name in names)
            hint = f"Did you mean '*{pattern}*'?" if wider else did_you_mean(pattern, names)
            faults.append(f"runs: match '{pattern}': found no such run. {hint}")
    logged = sorted({tag for run in runs for tag in run.curves})
    for name, quantity in mapping.mapping.items() if faults else ():
        if missing := sorted(tag for tag in quantity.tags - {*logged} if "*" not in tag):
            faults.append(f"mapping: {name}: {no_tag(missing, logged)}")
    if faults:
        raise UsageError("\n".join(faults))


def no_tag(missing: Sequence[str], logged: Sequence[str]) -> str:
    """Say that no run has what a mapping makes a measurement of, and what may be meant."""
    text = f"found no logged '{', '.join(missing)}' in any run; expected it."
    return f"{text} {did_you_mean(missing[0], logged)}"


def _experiment(scope: Scope, run: LoggedRun, rule: RunRule) -> str:
    experiments = list(dict.fromkeys(batch.experiment for batch in scope.batches))
    if rule.experiment is None and len(experiments) > 1:
        fault = f"found a run that may belong to {', '.join(experiments)}; expected one"
        way = "Name its experiment in the mapping's 'runs', or narrow with --claim."
        raise LogError(run.name, f"{fault}. {way}")
    experiment = rule.experiment or experiments[0]
    if experiment not in experiments:
        text = f"experiment: found '{experiment}'; expected one that is asked for."
        hint = did_you_mean(experiment, experiments)
        raise LogError(f"runs: match '{rule.match}'", f"{text} {hint}")
    return experiment


def _batch(
    request: Request,
    experiment: str,
    stated: Mapping[str, SettingValue],
    run: LoggedRun,
    rule: RunRule,
) -> Batch:
    """Return the experiment, or the control, whose settings the rule or the configuration has."""
    batches = request.batches(experiment)
    expected = " or ".join(role_words(request.audit, batch) for batch in batches)
    if rule.settings is not None:
        own = request.audit.values_of(experiment, request.tier)
        known = own.keys() >= rule.settings.keys()
        wanted = canonical_settings({**own, **rule.settings})
        for batch in batches:
            if known and canonical_settings(batch.settings(request.audit)) == wanted:
                return batch
        text = f"settings: found {rule.settings}; expected those of {expected}."
        raise LogError(f"runs: '{run.name}'", text)
    overridden = {name for batch in batches for name, _ in batch.overrides}
    named = {ARM_NAME} if request.arm_names(experiment) else set()
    telling = (overridden | named) & stated.keys()
    if run.unread and len(batches) > 1 and not telling:
        text = f"found {run.unread[0]}; expected to be told what the run is. Mend the file, or say"
        why = f"Left out, since {run.unread[0]}"
        raise StrayError(run.name, f"{text} in the mapping's 'runs'.", why)
    for batch in batches:
        values = batch.settings(request.audit)
        if dict(batch.overrides).keys() <= stated.keys() and all(
            same(stated[name], values[name]) for name in telling
        ):
            return batch
    every = [batch.settings(request.audit) for batch in batches]
    of_none = {n for n in telling if not any(same(stated[n], own[n]) for own in every)}
    if ARM_NAME in of_none:
        called = str(stated[ARM_NAME])
        text = f"found the arm '{called}'; expected {some(request.arm_names(experiment))}. If it is"
        text = f"{text} one of them, write in a mapping `arms: {{NAME: {called}}}`."
        raise StrayError(run.name, text, f"Of no arm of the audit ({called})", called)
    settings = ", ".join(f"{name} = {shown(stated[name])}" for name in sorted(of_none or telling))
    fault = f"found {settings or 'nothing'} in its configuration, which neither the experiment nor"
    way = "Say under 'settings' in the mapping's 'runs' what it is."
    text = f"{fault} a control has; expected {expected}. {way}"
    if ARM_NAME in telling or (run.columns and settings):
        raise StrayError(run.name, text, f"Of no arm of the audit ({settings})")
    raise LogError(run.name, text)


def compare_settings(audit: Audit, roles: Roles) -> list[dict[str, Any]]:
    """Set every setting of every role beside the audit's value, for the protocol.

    A control has most settings as its experiment does; these are not repeated.
    """
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for batch, runs in roles.items():
        values = batch.settings(audit)
        stated = _stated(runs, values)
        settings = audit.settings_of(batch.experiment)
        for name in settings:
            row = {
                "role": role_words(audit, batch),
                "setting": name,
                "audit": values[name],
                "source": _source(settings, name, values[name]),
                "found": stated.get(name),
                "status": "absent",
            }
            if name in stated:
                row["status"] = "equal" if same(stated[name], values[name]) else "contradicting"
            rows.setdefault((batch.experiment, name, shown(values[name]), str(row["found"])), row)
    return list(rows.values())


def _source(settings: Mapping[str, Setting], name: str, value: SettingValue) -> str | None:
    """Return the source of a value, the first of several; None of one that no source has."""
    by_source = [(settings[name].source, settings[name].value)]
    for other, setting in settings.items():
        for reading in setting.readings:
            changed = {other: reading.value, **reading.together}
            by_source += [(reading.source, changed[name])] if name in changed else []
    return next((source.value for source, stated in by_source if same(stated, value)), None)


def manifest_settings(audit: Audit, roles: Roles) -> dict[str, dict[str, SettingValue]]:
    """Return the settings that the logs state of every run of each experiment."""
    experiments: dict[str, dict[str, SettingValue]] = {}
    for batch, runs in roles.items():
        audited = batch.settings(audit)
        values = experiments.setdefault(batch.experiment, {})
        for name, stated in _stated(runs, audited).items():
            is_equal = same(stated, audited[name])
            # what a control states alone, it does not state for the experiment
            is_alone = name not in values and batch.overrides and is_equal
            if name in dict(batch.overrides) or is_alone:
                continue
            value = values.setdefault(name, audited[name] if is_equal else stated)
            if not same(stated, value):
                text = f"found {name} = {shown(stated)}, and {shown(value)} in other runs; expected"
                way = "one value, as a manifest holds. Import them apart."
                raise LogError(f"runs of {role_words(audit, batch)}", f"{text} {way}")
    return experiments


def _stated(
    runs: Mapping[int, PlacedRun], audited: Mapping[str, SettingValue]
) -> Mapping[str, SettingValue]:
    """Return what runs of one role state; of values that differ, the first that the audit lacks."""
    values: dict[str, SettingValue] = {}
    for run in runs.values():
        for name, value in run.stated.items():
            if name not in values or same(values[name], audited[name]):
                values[name] = value
    return values
