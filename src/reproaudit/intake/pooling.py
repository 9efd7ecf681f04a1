"""Runs that were taken for one role: what tells that they are not, and the ways to say so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from glob import escape
from itertools import chain
from typing import Any

from reproaudit.audit.arms import ARM_NAME, Role
from reproaudit.audit.faults import shown
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.plan import Batch, Scope, claim_batches
from reproaudit.cell import SettingValue, same
from reproaudit.logs.configurations import alike, as_setting, plain_names, seed_ways
from reproaudit.logs.joining import at_others, continued
from reproaudit.logs.logged import LogError, LoggedRun, of_columns, some
from reproaudit.logs.mapping import MappingFile, arms_line, pattern_of
from reproaudit.logs.names import (
    SEED_IN_NAME,
    SEED_LIKE,
    STEP_IN_NAME,
    is_label,
    is_own,
    name_pattern,
    tells_apart,
    without_numbers,
)

MOST_PARTS = 4  # folders and files of a run's name in which its seed, step or tag is looked for
MOST_GROUPS = 5  # groups of runs, and arms, that a sentence lists


@dataclass(frozen=True)
class Request:
    """What an import is asked for, of runs of these names."""

    audit: Audit
    tier: TierName
    scope: Scope
    mapping: MappingFile
    names: tuple[str, ...] = ()

    def batches(self, experiment: str) -> list[Batch]:
        """Return an experiment and its arms, as far as they are asked for."""
        return [batch for batch in self.scope.batches if batch.experiment == experiment]

    def arm_names(self, experiment: str) -> list[str]:
        """Return the names of an experiment's arms where nothing but these tells them apart."""
        stated = [batch.settings(self.audit) for batch in self.batches(experiment)]
        return [str(settings[ARM_NAME]) for settings in stated if ARM_NAME in settings]


def names_line(request: Request, *places: str) -> str | None:
    """Return the line of a mapping that reads one of these places from the runs' names, if any."""
    experiments = {batch.experiment for batch in request.scope.batches}
    arms = [arm for experiment in experiments for arm in request.arm_names(experiment)]
    called = [request.mapping.arms.get(arm, arm) for arm in arms]
    names = request.names if "seed" in places else [n for n in request.names if n[-1:] != ")"]
    titles = [re.sub(r".*\((.*)\)$", r"\1", name).split("/") for name in names]
    measured = {name for each in request.scope.measurements.values() for name in each}
    tags = measured if "tag" in places else set[str]()
    for depth in range(1, MOST_PARTS + 1) if titles else ():
        pattern = name_pattern(["/".join(title[-depth:]) for title in titles], called, tags)
        if pattern is not None and any(f"{{{place}}}" in pattern for place in places):
            return f'names: "{pattern}"'
    return None


def role_words(audit: Audit, batch: Batch) -> str:
    """Return a role in words, by the arm's name if it has one: ``'runs' with loss = 'squared'``."""
    known = audit.settings_of(batch.experiment) if batch.experiment in audit.experiments else {}
    name = batch.settings(audit)[ARM_NAME] if ARM_NAME in known else batch.experiment
    changed = [(setting, value) for setting, value in batch.overrides if setting != ARM_NAME]
    settings = ", ".join(f"{setting} = {shown(value)}" for setting, value in changed)
    return f"'{name}'" + (f" with {settings}" if settings else "")


def absence(audit: Audit, batch: Batch) -> str:
    """Say that an arm has no run, and what it is to which claims."""
    key = batch.experiment, batch.settings(audit)
    roles: dict[Role, list[str]] = {}
    for claim in audit.claims:
        for role, arm in claim_batches(audit, claim, batch.tier):
            if (arm.experiment, arm.settings(audit)) == key:
                roles.setdefault(role, []).append(claim.id.rpartition(".")[2])
    claims = (f"{_PART[role]} {some(names)}" for role, names in roles.items())
    return f"No run of {role_words(audit, batch)}: {'; '.join(claims)}."


_PART = {role: f"{role} of" for role in Role} | {
    Role.OWN: "the arm of",
    Role.COMPARED: "compared in",
}


@dataclass(frozen=True)
class PlacedRun:
    """A logged run and what it is to the audit."""

    run: LoggedRun
    seed: int | None
    diverged: bool
    # the values of the audit's settings that its configuration states
    stated: Mapping[str, SettingValue]
    names: frozenset[str]  # what the configuration calls these settings
    percent: tuple[str, ...] = ()  # the measurements that it logged in per cent


def pooled(
    request: Request, batch: Batch, runs: Sequence[PlacedRun], wants: Callable[[str], bool]
) -> list[LogError]:
    """Return the faults of runs of one role: they differ in more than a seed, or have one twice."""
    labels = _labels(runs)
    choices = _choices(runs)
    differing = [_differing(request, batch, runs[0], other, labels, choices) for other in runs[1:]]
    faults = [fault for fault in differing if fault is not None]
    text, tries = _ambiguous(request, role_words(request.audit, batch), runs)
    if faults or not tries:
        return faults
    run = tries[-1]
    names = [placed.run.name for placed in runs]
    if names.count(run.name) > 1:
        files = [placed.run.files[0] for placed in runs if placed.run.name == run.name]
        listed = some(["/".join(file.parts[-2:]) for file in files])
        way = f"Both are called so: hand in one of {listed} alone."
        if len({*files}) == 1:
            way = f"Count the rows of this file by `{seed_ways(None)[0]}`, without `columns`."
        return [LogError(run.name, f"{text} {way}")]
    line = names_line(request, "step", "tag") if request.mapping.names is None else None
    if line is not None:
        return [LogError(run.name, f"{text} If a run has several files, write `{line}`.", line)]
    likely = [
        column
        for column in run.columns
        if SEED_LIKE.search(column)
        if len({str(placed.run.config.get(column)) for placed in runs}) == len(runs)
    ]
    if not likely and _are_repeats(runs):
        fault = f"found seed {runs[0].seed} in each of the {len(runs)} runs of"
        text = f"{fault} {role_words(request.audit, batch)}; expected one of its own for each."
        line = seed_ways(None)[0]
        way = f"If they are runs, number them in their order: `{line}`."
        return [LogError(run.name, f"{text} {way}", line)]
    least = min(tries, key=lambda each: (len(each.tags), each.last_step(each.tags))).name
    tried = [re.sub(r", line \d+\)$", ")", each.name) for each in tries]
    groups = [*map(_group, names)]
    alone = groups.count(_group(least)) == 1 and len({re.sub(r"\d+", "#", n) for n in tried}) == 1
    is_try = len({*map(_group, tried)}) < len(tries) or (alone and len(tries) > 1)
    ways = _ways(request, batch.experiment, [least] if is_try else names, least)
    if request.mapping.overlap is None and continued(tries[0], run, wants, "later"):
        ways = f"{ways[0].lower()}{ways[1:]}"
        ways = f"If it was resumed, write in a mapping `overlap: later`; else {ways}"
    if likely:
        ways = f"Say in a mapping `{seed_ways(likely[0])[0]}`"
    offers = seed_ways(likely[0])[:1] if likely else []
    return [LogError(run.name, f"{text} {ways}.{of_columns(run.columns)}", *offers)]


def _are_repeats(runs: Sequence[PlacedRun]) -> bool:
    """Tell whether three runs or more of one arm state one seed, each in a place of its own.

    Files that lie together may be points of one run, and so may what is called after a step.
    """
    names = [placed.run.name for placed in runs]
    of_arm = all(ARM_NAME in placed.run.config for placed in runs)
    is_apart = len({placed.run.folder for placed in runs}) == len(runs) > 2
    of_steps = any(STEP_IN_NAME.search(name) for name in names)
    is_one = len({placed.seed for placed in runs}) == 1
    alike = of_arm or len({re.sub(r"\d+", "#", name) for name in names}) == 1
    return is_one and is_apart and alike and not of_steps


def resumed(
    request: Request, runs: Sequence[PlacedRun], wants: Callable[[str], bool]
) -> tuple[list[PlacedRun], list[str]]:
    """Return runs with what belongs to them joined to them, and its names.

    That is what lies at other coordinates, and what resumes them, if `overlap` says so.
    """
    holds = request.mapping.overlap
    last: dict[int | None, PlacedRun] = {}
    whole: list[PlacedRun] = []
    for placed in runs:
        known = last.get(placed.seed)
        joined = None
        if known and placed.seed is not None and not _differences(request, known, placed):
            joined = at_others(known.run, placed.run, wants)
            if holds and joined is None:
                joined = continued(known.run, placed.run, wants, holds)
        if known and joined:
            whole.remove(known)
            placed = replace(placed, run=joined)
        whole.append(placed)
        last[placed.seed] = placed
    kept = {placed.run.name for placed in whole}
    return whole, [placed.run.name for placed in runs if placed.run.name not in kept]


def _ambiguous(
    request: Request, role: str, runs: Sequence[PlacedRun]
) -> tuple[str, Sequence[LoggedRun]]:
    """Say that a seed stands twice, or that names differ in more than their seed, and of which."""
    seen: dict[int, LoggedRun] = {}
    for placed in runs:
        if placed.seed in seen:
            other = seen[placed.seed]
            text = f"found seed {placed.seed} of {role} a second time{_stated(placed.run)}, after"
            text = f"{text} '{other.name}'{_stated(other)}"
            return f"{text}; expected it once.", (other, placed.run)
        if placed.seed is not None:
            seen[placed.seed] = placed.run
    stems = [without_numbers("/".join(run.run.parts)) for run in runs]
    for placed, stem in zip(runs, stems, strict=True):
        named = any(each.run.config for each in runs) or request.mapping.rule(placed.run.name)
        if stem != stems[0] and not named:
            return (
                f"found a run without configuration, taken for {role}, whose name differs from "
                f"'{runs[0].run.name}' in more than its seed; expected to be told what it is."
            ), (placed.run,)
    return "", ()


def _stated(run: LoggedRun) -> str:
    return f" ({run.state})" if run.state else ""


def _ways(request: Request, experiment: str, names: Sequence[str], name: str) -> str:
    groups = list(dict.fromkeys(map(_group, names)))
    if len(groups) == len(names):  # another number goes with the seed
        groups = list(dict.fromkeys(re.sub(r"\d+", "*", escape(name)) for name in names))
    is_each = len(groups) > len(request.batches(experiment)) and 2 * len(groups) > len(names)
    if len(groups) == 1 or is_each or all(map(request.mapping.rule, names)):
        rule = f"{{match: {pattern_of(name, request.names)}, ignore: true}}"
        return f"Say in a mapping `runs: [{rule}]`, or give it a `seed`"
    ends = list(dict.fromkeys(group.rpartition("/")[2] for group in groups))
    patterns = sorted(ends if len(ends) == len(groups) else groups, key=len, reverse=True)
    names = request.arm_names(experiment)
    field = "arm: ARM" if names else "settings: ROLE"
    rules = [f'{{match: "{pattern}", {field}}}' for pattern in patterns[:MOST_GROUPS]]
    rest = len(patterns) - MOST_GROUPS
    more = f" and {rest} further groups" if rest > 0 else ""
    asked = (
        f"Say in a mapping which group of runs is what: `runs: [{', '.join(rules)}]`{more}, with"
    )
    ignored = "or `ignore: true` in place of"
    if names:
        return f"{asked} {' or '.join(names)} for ARM, {ignored} the arm"
    arms = [batch.overrides for batch in request.batches(experiment) if batch.overrides]
    settings = [", ".join(f"{n}: {shown(v)}" for n, v in arm) for arm in arms[:MOST_GROUPS]]
    roles = " or ".join(
        [f"{{}} for '{experiment}' itself", *(f"{{{setting}}}" for setting in settings)]
    )
    return f"{asked} {roles} for ROLE, {ignored} the settings"


def _group(run: str) -> str:
    """Return a pattern for the runs whose names differ from this one's in the seed alone."""
    matches = [*SEED_IN_NAME.finditer(run)] or [*re.finditer(r"(\d+)(?=\D*$)", run)]
    start, end = matches[-1].span(1) if matches else (len(run), len(run))
    return f"{escape(run[:start])}{'*' if matches else ''}{escape(run[end:])}"


def _labels(runs: Sequence[PlacedRun]) -> set[str]:
    """Return the settings that are names: another hash, id or own folder in every run."""
    configs = [plain_names(placed.run.config) for placed in runs]
    shared = set[str].intersection(*map(set, configs)) if configs else set()
    return {
        key
        for key in shared
        if len({str(config[key]) for config in configs}) == len(runs) > 1
        if all(
            is_label(key, config[key], placed.run.parts)
            for config, placed in zip(configs, runs, strict=True)
        )
    }


def _differing(
    request: Request,
    batch: Batch,
    run: PlacedRun,
    other: PlacedRun,
    labels: Collection[str],
    choices: Collection[str],
) -> LogError | None:
    """Return the fault of two runs of one role that differ in their settings, all of them.

    What tells arms or numbers apart is not offered to be let differ, nor are `choices`.
    """
    differences = _differences(request, run, other)
    differing = {key: values for key, values in differences.items() if key not in labels}
    if not differing:
        return None
    listed = [f"{key} = {repr(right)[:60]}" for key, (_, right) in differing.items()]
    against = [repr(left)[:60] for left, _ in differing.values()]
    stated = {*run.stated, *other.stated}
    fits = {
        name: key
        for key, values in differing.items()
        for name in _fitting(request, batch.experiment, values)
        if name not in stated
    }
    meant = ", ".join(f"{name}: {key}" for name, key in fits.items())
    called = ("it is" if len(fits) == 1 else "they are") + f" the audit's '{some([*fits])}'"
    asked = f"If {called}, write `configuration: {{{meant}}}`; else say" if fits else "Say"
    if names := request.arm_names(batch.experiment):
        asked = f"If {_called(names, differing)}; else say"
    is_choice = differing.keys() <= {*choices}
    rule = _leaves_out(run.run.name, other.run.name, differing, is_choice)
    such = f" (`{rule}` leaves those out)" if rule else ""
    step = request.mapping.columns.step
    stated_step = f"step: {step}, " if step else ""
    is_one = run.run.files == other.run.files
    told = [each.run.config.get(ARM_NAME) for each in (run, other)]
    columns = run.run.columns.items()
    arm_in_column = any(role == "setting" and c not in run.run.config for c, role in columns)
    is_one = is_one and not (arm_in_column and None not in told)
    may_be_one = is_one and "seed" not in run.run.columns.values()
    line = f"columns: {{{stated_step}settings: []}}"
    whole = f"If a table is one run: `{line}`. " if may_be_one else ""
    line = f"vary: [{', '.join(differing)}]"
    may_vary = not any(k == ARM_NAME or k in choices or tells_apart(k) for k in differing)
    let = f", or let it differ: `{line}`" if may_vary else ""
    offers = [line] if may_vary and None not in told and not is_one else []
    if fits and not names:
        offers = [f"configuration: {{{meant}}}"]
    return LogError(
        other.run.name,
        f"found {some(listed)}, where '{run.run.name}', of the same "
        f"{role_words(request.audit, batch)}, has {some(against)}; expected runs that differ in "
        "their seed alone. "
        f"{whole}{asked} in the mapping's 'runs' what they are{such}{let}."
        f"{of_columns(other.run.columns)}",
        *offers,
    )


def _choices(runs: Sequence[PlacedRun]) -> set[str]:
    """Return the settings whose values part runs with repeated seeds into several without.

    A run without a seed has its file in place of one.
    """
    configs = [plain_names(placed.run.config) for placed in runs]
    choices = set[str]()
    for key in set[str]().union(*configs) - {ARM_NAME}:
        seeds: dict[str, list[object]] = {}
        for placed, config in zip(runs, configs, strict=True):
            own = placed.run.files if placed.seed is None else placed.seed
            seeds.setdefault(str(config.get(key)), []).append(own)
        repeats = len({*chain(*seeds.values())}) < len(runs)
        if repeats and all(len({*own}) == len(own) > 1 for own in seeds.values()):
            choices.add(key)
    return choices


def _leaves_out(
    name: str, other: str, differing: Mapping[str, tuple[Any, Any]], is_choice: bool
) -> str:
    """Return a line that leaves out what has a value that one of two runs has; empty if none."""
    is_more = all("nothing" in values for values in differing.values())
    for key, values in differing.items():
        for value in reversed(values) if is_choice or is_more else ():
            pattern = f"*{escape(f'{key} {value}')}*"
            if fnmatchcase(name, pattern) != fnmatchcase(other, pattern):
                return f"runs: [{{match: {json.dumps(pattern)}, ignore: true}}]"
    return ""


def _differences(request: Request, run: PlacedRun, other: PlacedRun) -> dict[str, tuple[Any, Any]]:
    """Return what two runs were started with and may not differ in, by name."""
    differing: dict[str, tuple[Any, Any]] = {}
    configs = [plain_names(each.run.config) for each in (run, other)]
    own_names = plain_names(dict.fromkeys(run.names | other.names))
    keys = sorted({*configs[0], *configs[1]})
    for key in keys:
        if any(part.startswith(f"{key}.") for part in keys):
            continue  # whose parts are compared
        left, right = (config.get(key, "nothing") for config in configs)
        unread = [each.run.unread for each in (run, other)]
        absent = any(key not in config and why for config, why in zip(configs, unread, strict=True))
        own = key not in own_names and is_own(key)
        varies = any(
            fnmatchcase(key, pattern) or key.startswith(f"{pattern}.")
            for pattern in plain_names(dict.fromkeys(request.mapping.vary))
        )
        numbered = _without_seed(left, run.seed) == _without_seed(right, other.seed)
        if not (absent or own or varies or numbered or alike(left, right)):
            differing[key] = left, right
    return differing


def _without_seed(value: Any, seed: int | None) -> Any:
    """Return a text with a mark in the place of the seed's number: ``run-seed3``."""
    if seed is None or not isinstance(value, str) or value.isdigit():
        return value
    alone = r"(?:(?<=seed)|(?<![A-Za-z0-9.])(?<![eE][-+]))"
    return re.sub(rf"(?i){alone}0*{seed}(?![A-Za-z0-9.])", "#", value)


def _called(names: Sequence[str], differing: Mapping[str, tuple[Any, Any]]) -> str:
    """Return the condition and the line that say what arms are called; the method's is first."""
    (key, values), *others = differing.items()
    value = next((value for value in values if value is not None), None)
    if len(names) == 2 and not others and None in values:
        way = f"`arms: {{{names[0]}: {json.dumps(value)}, {names[1]}: null}}`"
        return f"'{names[1]}' is the arm without {key}, write {way}"
    told = ([str(value) for value in each if value != "nothing"] for each in differing.values())
    line = min((arms_line(names, each) for each in told), key=lambda line: line.count("NAME"))
    return f"arms are called so, write `{line}`"


def _fitting(request: Request, experiment: str, values: Sequence[Any]) -> Iterator[str]:
    """Yield the settings of which an experiment and its arms have all of these values."""
    for name, setting in request.audit.settings_of(experiment).items():
        there = [batch.settings(request.audit)[name] for batch in request.batches(experiment)]
        converted = [as_setting(value, setting.value) for value in values]
        if all(own is not None and any(same(own, each) for each in there) for own in converted):
            yield name
