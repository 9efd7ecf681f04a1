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
from reproaudit.logs.configurations import SEED_IN_NAME, alike, is_own
from reproaudit.logs.logged import LogError, LoggedRun, of_columns
from reproaudit.logs.mapping import MappingFile
from reproaudit.logs.settings import as_setting

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
    differing = [
        fault
        for one in runs[1:]
        for fault in _differing(audit, runs[0], one, batches, role_words(batch), mapping)
    ]
    text, run = _ambiguous(runs, role_words(batch), mapping)
    if differing or run is None:
        return differing
    ways = _ways([one.run for one in runs], run.name, batches, mapping)
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
    if any(one.run.config for one in runs):
        return "", None
    stems = [re.sub(r"\d+", "#", "/".join(one.run.parts)) for one in runs]
    for one, stem in zip(runs, stems, strict=True):
        if stem != stems[0] and mapping.rule(one.run.name) is None:
            text = (
                f"found a run without configuration, taken for {role}, whose name differs from "
                f"'{runs[0].run.name}' in more than its seed; expected to be told what it is."
            )
            return text, one.run
    return "", None


def _ways(
    runs: Sequence[LoggedRun], name: str, batches: Sequence[Batch], mapping: MappingFile
) -> str:
    """Return the ways on where runs were taken for one role: a rule for each group of names."""
    groups = list(dict.fromkeys(_group(run.name) for run in runs))
    if len(groups) == len(runs):  # another number goes with the seed
        groups = list(dict.fromkeys(re.sub(r"\d+", "*", escape(run.name)) for run in runs))
    ends = list(dict.fromkeys(one.rpartition("/")[2] for one in groups))
    if len(groups) == 1 or all(mapping.rule(run.name) is not None for run in runs):
        return f'Say in a mapping `runs: [{{match: "{name}", ignore: true}}]`, or give it a `seed`'
    patterns = sorted(ends if len(ends) == len(groups) else groups, key=len, reverse=True)
    rules = [f'{{match: "{one}", settings: ROLE}}' for one in patterns[:MOST_GROUPS]]
    rest = len(patterns) - MOST_GROUPS
    more = f" and {rest} further groups" if rest > 0 else ""
    settings = [_as_yaml(dict(one.overrides)) for one in batches if one.overrides]
    roles = " or ".join([f"{{}} for '{batches[0].experiment}' itself", *settings[:MOST_GROUPS]])
    return (
        f"Say in a mapping which group of runs is what: `runs: [{', '.join(rules)}]`{more}, with "
        f"{roles} for ROLE, or `ignore: true` in place of the settings"
    )


def _group(run: str) -> str:
    """Return a pattern for the runs whose names differ from this one's in the seed alone."""
    found = [*SEED_IN_NAME.finditer(run)] or [*re.finditer(r"(\d+)(?=\D*$)", run)]
    if not found:
        return escape(run)
    start, end = found[-1].span(1)
    return f"{escape(run[:start])}*{escape(run[end:])}"


def _as_yaml(settings: Mapping[str, SettingValue]) -> str:
    return "{" + ", ".join(f"{name}: {shown(value)}" for name, value in settings.items()) + "}"


def _differing(
    audit: Audit,
    one: PlacedRun,
    other: PlacedRun,
    batches: Sequence[Batch],
    role: str,
    mapping: MappingFile,
) -> Iterator[LogError]:
    """Yield the first value of their configurations, the seed apart, in which two runs differ."""
    a = one.run.config
    b = other.run.config
    for key in sorted({*a, *b}):
        left = a.get(key, "nothing")
        right = b.get(key, "nothing")
        own = key not in one.names | other.names and is_own(key)
        varies = any(fnmatchcase(key, pattern) for pattern in mapping.vary)
        if own or varies or alike(left, right):
            continue
        asked = [
            f"If it is the audit's '{name}', write `configuration: {{{name}: {key}}}`; else"
            for name in _fitting(audit, batches, (left, right))
            if name not in one.stated and name not in other.stated
        ]
        yield LogError(
            other.run.name,
            f"found {key} = {repr(right)[:60]}, where '{one.run.name}', of the same {role}, has "
            f"{repr(left)[:60]}; expected runs that differ in their seed alone. "
            f"{' '.join([*asked[:1], 'Say' if not asked else 'say'])} in the mapping's 'runs' "
            f"what they are, or let it differ: `vary: [{key}]`.{of_columns(other.run.columns)}",
        )
        return


def _fitting(audit: Audit, batches: Sequence[Batch], values: Sequence[Any]) -> Iterator[str]:
    """Yield the settings of which an experiment and its arms have all of these values."""
    for name, setting in audit.settings_of(batches[0].experiment).items():
        there = [one.settings(audit)[name] for one in batches]
        found = [as_setting(value, setting.value) for value in values]
        if all(one is not None and any(same(one, each) for each in there) for one in found):
            yield name
