"""What an audit asks of logs, and what the names of runs tell of their arms, seeds and steps."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from reproaudit.audit.arms import ARM_NAME, OWN, Role, alternatives_of, arms_of
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch, batch_of
from reproaudit.cell import SettingValue, same
from reproaudit.declarations import MeasurementKind
from reproaudit.errors import did_you_mean
from reproaudit.intake.pooling import Request
from reproaudit.logs.asked import Asked
from reproaudit.logs.configurations import alike, as_setting, seeds_in, stated_settings
from reproaudit.logs.logged import Curve, LogError, LoggedCoordinates, LoggedRun
from reproaudit.logs.mapping import MappingFile, RunRule
from reproaudit.logs.names import SEED_IN_NAME, STEP_IN_NAME, last_part, likely_seed, names_arm
from reproaudit.logs.rows import unquoted
from reproaudit.logs.spread import COUNTED, PLACE, label_of_run, without_places

NAMED = (*COUNTED, ARM_NAME)  # what a tag or a file's name may tell, other than settings
_NUMBERED = re.compile(r"(?i)seed|run|trial|fold|[\W\d_]+")  # what numbers a run, and names no arm


def axes_of(audit: Audit) -> frozenset[str]:
    """Return the names of all axes of an audit's measurements."""
    declared = [audit.measurements_of(experiment) for experiment in audit.experiments]
    declarations = (declaration for each in declared for declaration in each.values())
    return frozenset(axis.name for each in declarations for axis in each.axes)


def asked_of(request: Request, written: MappingFile) -> Asked:
    """Return what a request asks of logs; `written` is the mapping with its places in braces."""
    audit = request.audit
    mapping = request.mapping
    settings = {name for experiment in audit.experiments for name in audit.settings_of(experiment)}
    called = {name for name in mapping.configuration.values() if name}
    wanted = {name for each in request.scope.measurements.values() for name in each}
    tags = {name: mapping.quantity(name).tags for name in wanted}
    series = {
        name
        for experiment in audit.experiments
        for name, declared in audit.measurements_of(experiment).items()
        if declared.kind is MeasurementKind.SERIES
    }
    before = [tag for each in written.mapping.values() for tag in (each.tag, *each.let.values())]
    axes = axes_of(audit)
    measured = frozenset[str]().union(*tags.values())
    return Asked(
        axes=axes,
        settings=frozenset(settings - mapping.configuration.keys() | called),
        wanted=measured,
        columns=mapping.columns,
        numbered=frozenset(mapping.number),
        overlap=mapping.overlap,
        series=frozenset[str]().union(*(tags[name] for name in wanted & series)),
        only=next(iter(measured)) if len(measured) == 1 else None,
        patterns=tuple(tag for tag in before if tag and set(PLACE.findall(tag)) - axes),
        arms=_arms(request),
        values=_values(request),
        names=mapping.names,
        ignores=mapping.ignores,
        is_ruled=lambda name: mapping.rule(name) is not None,
        places=mapping.places,
    )


def with_plain_tags(mapping: MappingFile, audit: Audit) -> MappingFile:
    """Return a mapping whose tags are called as the columns are once they are told apart."""
    settings = {name for experiment in audit.experiments for name in audit.settings_of(experiment)}
    places = {*NAMED, *settings} - axes_of(audit)
    plain = {}
    for name, quantity in mapping.mapping.items():
        tag = quantity.tag and without_places(quantity.tag, places)
        let = {short: without_places(each, places) for short, each in quantity.let.items()}
        plain[name] = quantity.model_copy(update={"tag": tag, "let": let})
    return mapping.model_copy(update={"mapping": plain})


def with_arms(mapping: MappingFile, asked: Asked) -> MappingFile:
    """Return a mapping whose rules have the settings of their arms; a LogError if one is none."""
    rules = []
    for rule in mapping.runs:
        called = unquoted(mapping.arms.get(rule.arm or "", rule.arm or ""))
        if rule.arm is not None and called not in asked.arms:
            hint = did_you_mean(rule.arm, asked.arms)
            place = f"runs: match '{rule.match}'"
            raise LogError(place, f"arm: found '{rule.arm}'; expected an arm of the audit. {hint}")
        settings = None if rule.arm is None else dict(asked.arms[called])
        changed = {} if settings is None else {"arm": None, "settings": settings}
        stated = rule.model_dump(include=rule.model_fields_set)
        rules.append(RunRule(**{**stated, **changed}))
    return mapping.model_copy(update={"runs": tuple(rules)})


def _arms(request: Request) -> Mapping[str, Mapping[str, SettingValue]]:
    """Return the settings of each arm by its name, the claims' own among them if it has one."""
    audit = request.audit
    arms: dict[str, Mapping[str, SettingValue]] = {}
    for claim in request.scope.claims:
        for arm in arms_of(audit, claim):
            if arm.role not in (Role.OWN, Role.READING) and arm.overrides:
                arms.setdefault(arm.name, dict(arm.overrides))
    differing = {name for settings in arms.values() for name in settings}
    experiments = {claim.experiment for claim in request.scope.claims}
    if audit.method is not None or is_named(audit):
        values = audit.values_of(min(experiments), request.tier)
        own = {name: values[name] for name in differing or {ARM_NAME} if name in values}
        arms.setdefault(audit.method or OWN, own)
    for name in request.mapping.arms:
        if name not in arms:
            hint = did_you_mean(name, arms)
            raise LogError("arms", f"found '{name}'; expected an arm of the audit. {hint}")
    called = {name: unquoted(text) for name, text in request.mapping.arms.items()}
    return {called.get(name, name): settings for name, settings in arms.items()}


def is_named(audit: Audit) -> bool:
    """Tell whether nothing but names tells the arms of an audit apart."""
    return any(ARM_NAME in audit.settings_of(experiment) for experiment in audit.experiments)


def _values(request: Request) -> Mapping[str, tuple[SettingValue, ...]]:
    values: dict[str, dict[str, SettingValue]] = {}
    for batch in request.scope.batches:
        for name, value in batch.settings(request.audit).items():
            values.setdefault(name, {})[str(value)] = value
    return {name: tuple(own.values()) for name, own in values.items()}


# --- the names of runs ----------------------------------------------------------------------------


class _Part(NamedTuple):
    """A run, or a file of one: `whole` is the name of the whole run, if it is a part of one."""

    run: LoggedRun
    whole: str | None = None
    step: int | None = None  # the step in its name


def labelled_runs(runs: Sequence[LoggedRun], asked: Asked, audit: Audit) -> list[LoggedRun]:
    """Return the runs with what their names tell; those that are parts of one run are joined."""
    labelled = [_labelled_by_name(run, asked) for run in runs]
    likely = [part._replace(run=_with_likely_seed(part.run, asked)) for part in labelled]
    seeds = [
        part.run.seed
        for part, before in zip(likely, labelled, strict=True)
        if part.run is not before.run
    ]
    if is_named(audit) and len(seeds) > 1 and len({*seeds}) == len(seeds):
        likely = labelled  # numbers that no two arms share count all runs
    if is_named(audit):
        in_arms = _in_arms([part.run for part in likely], asked)
        likely = [part._replace(run=run) for part, run in zip(likely, in_arms, strict=True)]
    return _joined(likely, asked)


def _labelled_by_name(run: LoggedRun, asked: Asked) -> _Part:
    """Return a run with what the mapping reads from its name, and what it is a part of."""
    label = None if asked.names is None else label_of_run(run.name, asked)
    steps = [*STEP_IN_NAME.finditer(run.name)]
    single = all(curve.steps is None and len(curve.values) <= 1 for curve in run.all_curves)
    is_said = "{step}" in (asked.names or "")
    step = int(steps[0][1]) if len(steps) == 1 and single and asked.series and not is_said else None
    whole = run.name
    if label is not None:
        step = label.counts.get("step", step)
        run = replace(run, config={**run.config, **label.settings})
        if "seed" in label.counts:
            run = replace(run, seed=label.counts["seed"], seed_of="its name")
        if label.tag is not None:
            one = len(run.tags) == 1
            curves = {label.tag if one else f"{label.tag}.{t}": at for t, at in run.curves.items()}
            run = replace(run, curves=curves)
            whole = "*".join(whole.rsplit(label.tag, 1))
    if step is not None:
        whole = _without_number(whole, step)
    return _Part(run, None if whole == run.name else whole, step)


def _with_likely_seed(run: LoggedRun, asked: Asked) -> LoggedRun:
    """Return a run with the seed that its name seems to tell, if nothing else does."""
    is_read = asked.columns.seed is not None or "{seed}" in (asked.names or "")
    is_stated = run.seed is not None or is_read or "seeds" in asked.numbered
    is_named = any(map(SEED_IN_NAME.search, run.parts)) or any(seeds_in(run.config))
    likely = None if is_stated or is_named else likely_seed(asked.without_arms(run.parts))
    if likely is None:
        return run
    word, seed = likely
    remark = f"no seed was stated, and the number after '{word}' in its name was taken for it"
    return replace(run, seed=seed, seed_of="its name, a guess", remarks=(*run.remarks, remark))


def unmatched_names(runs: Sequence[LoggedRun], asked: Asked) -> list[str]:
    """Return a sentence if the mapping's `names` match the name of no run."""
    if asked.names is None or any(label_of_run(run.name, asked) for run in runs):
        return []
    parts = asked.names.count("/") + 1
    tail = "/".join(runs[0].name.split("/")[-parts:])
    fault = f"`names: {asked.names}` matches no run: * stops at a slash, so that it is held against"
    which = "the last part of a name" if parts == 1 else f"the last {parts} parts of a name"
    return [f"{fault} {which}, such as '{tail}'."]


def _in_arms(runs: Sequence[LoggedRun], asked: Asked) -> Iterator[LoggedRun]:
    """Yield runs with the names of their arms, or with those that stand in the place of these."""
    names = {arm.lower() for arm in asked.arms}
    telling = {
        key
        for run in runs
        for key, value in run.config.items()
        if value is not None and str(value).lower() in names
    }
    arms = [_arm_of(run, asked, telling) for run in runs]
    keys = {key for run, arm in zip(runs, arms, strict=True) for key in _held(run, arm, telling)}
    known = [run.parts for run, arm in zip(runs, arms, strict=True) if arm is not None]
    for run, arm in zip(runs, arms, strict=True):
        other = None if arm is not None else _other_arm(run, keys, known, asked)
        config = {key: value for key, value in run.config.items() if key not in keys}
        if arm is not None:
            yield replace(run, config={**config, **asked.arms[arm]})
        elif other is not None:
            yield replace(run, config={**config, ARM_NAME: other})
        else:
            yield run


def _arm_of(run: LoggedRun, asked: Asked, telling: Collection[str]) -> str | None:
    """Return the arm that a run states, as the mapping calls it, or that its names hold.

    A value that is the arm's name goes first, then the name of a model or method, then the run's.
    Null is a name in those settings alone that name another arm in other runs.
    """
    config = run.config.items()
    stated = {str(value).lower() for key, value in config if last_part(key) == ARM_NAME}
    if stated:
        called = (arm for arm, own in asked.arms.items() if ARM_NAME in own)
        return next((arm for arm in called if arm.lower() in stated), None)
    values = {str(value).lower() for key, value in config if value is not None or key in telling}
    keyed = [arm for arm in asked.arms if arm.lower() in values]
    models = "/".join(str(value) for key, value in run.config.items() if names_arm(key))
    parts = () if asked.places(run.name) else run.parts
    arms = keyed or _arms_in(models, asked) or _arms_in("/".join(parts), asked)
    return arms[0] if len(arms) == 1 else None


def _held(run: LoggedRun, arm: str | None, telling: Collection[str]) -> list[str]:
    """Return the settings whose values are the name of an arm, or the model's or method's in it."""
    return [
        key
        for key, value in run.config.items()
        if arm
        and (value is not None or key in telling)
        and (str(value).lower() == arm.lower() or (names_arm(key) and _is_in(arm, str(value))))
    ]


def _other_arm(
    run: LoggedRun, keys: Collection[str], known: Sequence[Sequence[str]], asked: Asked
) -> str | None:
    """Return the name that stands where runs of known arms have theirs; None if there is none."""
    if any(last_part(key) == ARM_NAME for key in run.config):
        return None
    for key in sorted(keys & run.config.keys()):
        return str(run.config[key])
    for parts in known:
        alike = len(parts) == len(run.parts)
        for part, own in zip(parts, run.parts, strict=True) if alike and not keys else ():
            if part != own and _arms_in(part, asked):
                is_arm = part in asked.arms and not _NUMBERED.sub("", part)
                return own if is_arm or _NUMBERED.sub("", own) else None
    return None


def _arms_in(text: str, asked: Asked) -> list[str]:
    """Return the arms whose names stand in a text, but for those within a longer one."""
    named = [arm for arm in asked.arms if _is_in(arm, text)]
    return [arm for arm in named if not any(arm != other and arm in other for other in named)]


def _is_in(arm: str, text: str) -> bool:
    named = re.escape(arm).replace("_", "[_-]")
    return re.search(rf"(?i)(?<![a-z0-9]){named}(?![a-z])", text) is not None


def _joined(parts: Iterable[_Part], asked: Asked) -> list[LoggedRun]:
    """Return runs of which those are one that differ in the step or tag of their names alone."""
    groups: dict[object, list[_Part]] = {}
    for index, part in enumerate(parts):
        config = part.run.config
        stated = repr({name: config[name] for name in asked.settings & config.keys()})
        key = index if part.whole is None else (part.whole, part.run.seed, stated)
        groups.setdefault(key, []).append(part)
    return [_whole_run(sorted(group, key=lambda part: part.step or 0)) for group in groups.values()]


def _without_number(name: str, step: int) -> str:
    """Return a name with a star for its step, and none for a seed that is the same number."""
    called = [matched for matched in STEP_IN_NAME.finditer(name) if int(matched[1]) == step]
    places = called or [*re.finditer(rf"(?<!\d)(0*{step})(?!\d)", name)]
    start, end = places[-1].span(1)
    return f"{name[:start]}*{name[end:]}"


def _whole_run(parts: Sequence[_Part]) -> LoggedRun:
    first = parts[0].run
    if len(parts) == 1:
        return first
    own: dict[str, dict[LoggedCoordinates, list[tuple[int | None, Curve]]]] = {}
    for part in parts:
        for tag, at in part.run.curves.items():
            for place, curve in at.items():
                if len(curve.values) or part.step is None:
                    own.setdefault(tag, {}).setdefault(place, []).append((part.step, curve))
    config = {
        key: value
        for key, value in first.config.items()
        if all(alike(part.run.config.get(key), value) for part in parts)
    }
    steps = [*dict.fromkeys(str(part.step) for part in parts if part.step is not None)]
    how = f"points of it, at the steps in their names: {', '.join(steps[:3])} …"
    if not steps:
        how = "parts of it, by the tags in their names"
    remark = f"{len(parts)} files are {how}"
    return replace(
        first,
        name=parts[0].whole or first.name,
        curves={
            tag: {place: _curve_of(points) for place, points in at.items()}
            for tag, at in own.items()
        },
        config=config,
        files=tuple(file for part in parts for file in part.run.files),
        remarks=(*first.remarks, remark),
    )


def _curve_of(points: Sequence[tuple[int | None, Curve]]) -> Curve:
    """Return the curve of files with a point each, or of the only file if its name has no step."""
    numbers = [step for step, _ in points if step is not None]
    if not numbers:
        return points[0][1]
    values = np.array([curve.values[-1] for _, curve in points], dtype=np.float64)
    return replace(points[0][1], steps=np.array(numbers, dtype=np.int64), values=values)


# --- readings -------------------------------------------------------------------------------------


def with_readings(
    audit: Audit, tier: TierName, stated: Collection[tuple[str, Mapping[str, Any]]]
) -> tuple[Audit, list[tuple[Role, Batch]]]:
    """Return an audit whose claims have every reading that runs have, and what else they have.

    These are alternatives, and other arms under a reading's or an alternative's settings. `stated`
    has the experiment and the settings of each run.
    """
    claims = []
    batches: dict[tuple[Role, Batch], None] = {}
    for claim in audit.claims:
        settings = audit.settings_of(claim.experiment)
        own = [config for experiment, config in stated if experiment == claim.experiment]
        base = audit.values_of(claim.experiment, tier, dict(claim.settings))
        named = [
            name
            for name, setting in settings.items()
            if name not in {*claim.readings, *claim.settings}
            for reading in setting.readings
            if any(
                _is_at(config, name, {name: reading.value, **reading.together}, base)
                for config in own
            )
        ]
        named = [*dict.fromkeys(named)]
        claim = claim.model_copy(update={"readings": (*claim.readings, *named)})
        claims.append(claim)
        arms = arms_of(audit, claim)
        others = [arm for arm in arms if arm.role not in (Role.OWN, Role.READING)]
        for varied in (*arms, *alternatives_of(audit, claim)):
            if varied.varied is None:
                continue
            here = [arm.under(varied) for arm in others if arm.experiment == claim.experiment]
            alone = [varied] if varied.role is Role.ALTERNATIVE else []
            for arm in (*alone, *here):
                if any(_is_at(config, varied.varied[0], arm.at(tier), base) for config in own):
                    batches[arm.role, batch_of(audit, claim, arm, tier)] = None
    return audit.model_copy(update={"claims": tuple(claims)}), [*batches]


def _is_at(
    config: Mapping[str, Any],
    name: str,
    changed: Mapping[str, SettingValue],
    base: Mapping[str, SettingValue],
) -> bool:
    """Tell whether a run states a changed setting, and of the others nothing but these values."""
    values = {**base, **changed}
    stated = config.keys() & values.keys()
    return name in stated and all(_equal(config[each], values[each]) for each in stated)


def _equal(written: Any, value: SettingValue) -> bool:
    converted = as_setting(written, value)
    return converted is not None and same(converted, value)


def stated_of(
    runs: Iterable[LoggedRun], audit: Audit, mapping: MappingFile
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each experiment with the settings that each run, or the rule for it, states."""
    for run in runs:
        rule = mapping.rule(run.name)
        own = {} if rule is None or rule.settings is None else rule.settings
        for experiment in audit.experiments:
            config: Mapping[str, Any] = {}
            with suppress(LogError):  # which is told where the run gets its role
                config, _ = stated_settings(audit, experiment, run, mapping)
            yield experiment, {**config, **own}
