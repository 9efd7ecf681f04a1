"""What a run's configuration says of the audit's settings."""

from __future__ import annotations

import math
import re
from typing import Any

from reproaudit.audit.faults import shown
from reproaudit.audit.model import Audit
from reproaudit.cell import SettingValue, kind_of
from reproaudit.logs.configurations import alike, normal
from reproaudit.logs.logged import LogError, LoggedRun, number_of
from reproaudit.logs.mapping import MappingFile


def stated_settings(
    audit: Audit, experiment: str, run: LoggedRun, mapping: MappingFile
) -> tuple[dict[str, SettingValue], frozenset[str]]:
    """Return the values that a configuration states of settings, and what it calls these."""
    found: dict[str, SettingValue] = {}
    names = set()
    for name, setting in audit.settings_of(experiment).items():
        called = _called(name, run, mapping)
        if called is None or run.config[called] is None:
            continue
        value = as_setting(run.config[called], setting.value)
        if value is None:
            raise LogError(
                run.name,
                f"found {called} = {run.config[called]!r} in its configuration; expected "
                f"{kind_of(setting.value)}, like {shown(setting.value)}. If it is another setting, "
                f"write `configuration: {{{name}: null}}` in the mapping.",
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


def as_setting(value: Any, model: SettingValue) -> SettingValue | None:
    """Return a configuration's value as the audit would write it; None if it is no such kind."""
    if isinstance(model, tuple):
        if isinstance(value, str):  # a list that was logged as text: "[1, 2]" or "1,2"
            inner = re.sub(r"^[\[(]|[\])]$", "", value.strip())
            value = tuple(part.strip().strip("'\"") for part in inner.split(",") if part.strip())
        if not isinstance(value, tuple):
            return None
        converted = [as_setting(one, model[0] if model else "") for one in value]
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
