"""Runs that were taken for one role: what tells that they are not, and the ways to say so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import escape
from typing import Any

from reproaudit.audit.faults import shown
from reproaudit.audit.model import Audit
from reproaudit.audit.plan import Batch, Scope
from reproaudit.cell import SettingValue, same
from reproaudit.logs.configurations import SEED_IN_NAME, alike, as_setting, is_own
from reproaudit.logs.logged import LogError, LoggedRun, of_columns
from reproaudit.logs.mapping import MappingFile

MOST_GROUPS = 5
"""Groups of runs, and arms, that a sentence lists."""


def role_words(batch: Batch) -> str:
    """Return a role in words: ``'separable' with loss = 'squared'``."""
    settings = ", ".join(f"{name} = {shown(value)}" for name, value in batch.overrides)
    return f"'{batch.experiment}'" + (f" with {settings}" if settings else "")


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


def pooled(
    audit: Audit, batch: Batch, runs: Sequence[PlacedRun], scope: Scope, mapping: MappingFile
) -> list[LogError]:
    """Return the faults of runs of one role: they differ in more than a seed, or have one twice."""
    batches = [one for one in scope.batches if one.experiment == batch.experiment]
    faults = []
    for one in runs[1:]:
        if key := _differing(runs[0], one, mapping):
            text = _difference(audit, runs[0], one, key, role_words(batch), batches)
            faults.append(LogError(one.run.name, f"{text}{of_columns(one.run.columns)}"))
    text, run = _ambiguous(runs, role_words(batch), mapping)
    if faults or run is None:
        return faults
    ways = _ways([one.run.name for one in runs], run.name, batches, mapping)
    return [LogError(run.name, f"{text} {ways}.{of_columns(run.columns)}")]


def _ambiguous(
    runs: Sequence[PlacedRun], role: str, mapping: MappingFile
) -> tuple[str, LoggedRun | None]:
    """Say that a seed stands twice, or that names differ in more than their seed, and of which."""
    seen: dict[int, str] = {}
    for one in runs:
        if one.seed in seen:
            text = f"found seed {one.seed} of {role} a second time, after '{seen[one.seed]}'"
            return f"{text}; expected it once.", one.run
        if one.seed is not None:
            seen[one.seed] = one.run.name
    stems = [re.sub(r"\d+", "#", "/".join(one.run.parts)) for one in runs]
    for one, stem in zip(runs, stems, strict=True):
        if (
            stem != stems[0]
            and not mapping.rule(one.run.name)
            and not any(r.run.config for r in runs)
        ):
            return (
                f"found a run without configuration, taken for {role}, whose name differs from "
                f"'{runs[0].run.name}' in more than its seed; expected to be told what it is."
            ), one.run
    return "", None


def _ways(names: Sequence[str], name: str, batches: Sequence[Batch], mapping: MappingFile) -> str:
    """Return the ways on where runs were taken for one role: a rule for each group of names."""
    groups = list(dict.fromkeys(map(_group, names)))
    if len(groups) == len(names):  # another number goes with the seed
        groups = list(dict.fromkeys(re.sub(r"\d+", "*", escape(one)) for one in names))
    if len(groups) == 1 or all(map(mapping.rule, names)):
        return f'Say in a mapping `runs: [{{match: "{name}", ignore: true}}]`, or give it a `seed`'
    ends = list(dict.fromkeys(one.rpartition("/")[2] for one in groups))
    patterns = sorted(ends if len(ends) == len(groups) else groups, key=len, reverse=True)
    rules = [f'{{match: "{one}", settings: ROLE}}' for one in patterns[:MOST_GROUPS]]
    rest = len(patterns) - MOST_GROUPS
    more = f" and {rest} further groups" if rest > 0 else ""
    arms = [", ".join(f"{n}: {shown(v)}" for n, v in one.overrides) for one in batches]
    settings = [f"{{{one}}}" for one in arms if one][:MOST_GROUPS]
    roles = " or ".join([f"{{}} for '{batches[0].experiment}' itself", *settings])
    return (
        f"Say in a mapping which group of runs is what: `runs: [{', '.join(rules)}]`{more}, with "
        f"{roles} for ROLE, or `ignore: true` in place of the settings"
    )


def _group(run: str) -> str:
    """Return a pattern for the runs whose names differ from this one's in the seed alone."""
    found = [*SEED_IN_NAME.finditer(run)] or [*re.finditer(r"(\d+)(?=\D*$)", run)]
    start, end = found[-1].span(1) if found else (len(run), len(run))
    return f"{escape(run[:start])}{'*' if found else ''}{escape(run[end:])}"


def _differing(one: PlacedRun, other: PlacedRun, mapping: MappingFile) -> str | None:
    """Return the first name in their configurations, the seed apart, in which two runs differ."""
    a = one.run.config
    b = other.run.config
    for key in sorted({*a, *b}):
        own = key not in one.names | other.names and is_own(key)
        varies = any(fnmatchcase(key, pattern) for pattern in mapping.vary)
        if not (own or varies or alike(a.get(key, "nothing"), b.get(key, "nothing"))):
            return key
    return None


def _difference(
    audit: Audit,
    one: PlacedRun,
    other: PlacedRun,
    key: str,
    role: str,
    batches: Sequence[Batch],
) -> str:
    """Say in what two runs of one role differ, and how to go on."""
    values = [each.run.config.get(key, "nothing") for each in (one, other)]
    names = _fitting(audit, batches, values)
    setting = next((n for n in names if n not in one.stated and n not in other.stated), None)
    asked = f"If it is the audit's '{setting}', write `configuration: {{{setting}: {key}}}`; else"
    return (
        f"found {key} = {repr(values[1])[:60]}, where '{one.run.name}', of the same {role}, has "
        f"{repr(values[0])[:60]}; expected runs that differ in their seed alone. "
        f"{f'{asked} say' if setting else 'Say'} in the mapping's 'runs' what they are, or let it "
        f"differ: `vary: [{key}]`."
    )


def _fitting(audit: Audit, batches: Sequence[Batch], values: Sequence[Any]) -> Iterator[str]:
    """Yield the settings of which an experiment and its arms have all of these values."""
    for name, setting in audit.settings_of(batches[0].experiment).items():
        there = [one.settings(audit)[name] for one in batches]
        found = [as_setting(value, setting.value) for value in values]
        if all(one is not None and any(same(one, each) for each in there) for one in found):
            yield name
