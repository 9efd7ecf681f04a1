"""`reproaudit check --run`: imports a paper's module, and holds the audit's settings against it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reproaudit.audit.catalog import Entry
from reproaudit.audit.command_module import CommandModule
from reproaudit.audit.loading import Fault
from reproaudit.audit.loading.document import read_yaml
from reproaudit.audit.loading.fault import START, Faults
from reproaudit.audit.model import TIERS, Audit
from reproaudit.audit.plan import Role, plan
from reproaudit.audit.rules import MISFIT, RULES, Loc
from reproaudit.cell import SettingValue
from reproaudit.errors import AuditError, SpecError, did_you_mean

if TYPE_CHECKING:
    from reproaudit.lab.experiment import Experiment


def module_faults(file: Path, entry: Entry, audit: Audit) -> Iterator[Fault]:
    """Yields the places where an audit does not fit the module beside it, which is imported.

    Held against the types of each experiment's settings are the names, and the values of every
    run, control and alternative at every tier. Nothing is run. What a repository's command takes
    is told by its run file.

    Args:
        file: the audit's file, as it was named.
        entry: the paper; code that does not come with reproaudit needs consent before.
        audit: the audit, valid by itself.

    Raises:
        ModuleNotFoundError: if a library of the extra ``run`` is not installed.
    """
    if entry.code is None or isinstance(entry.code, CommandModule):
        return
    document = read_yaml(file.read_text(encoding="utf-8"), Faults(str(file)))
    try:
        experiments = entry.code.load()
    except AuditError as error:
        yield Fault(str(file), START, (), f"found {error}", RULES[MISFIT].remedy, MISFIT)
        return
    for loc, found in dict.fromkeys(_misfits(audit, experiments, entry.code.file)):
        place = START if document is None else document.place(loc)
        yield Fault(str(file), place, loc, f"found {found}", RULES[MISFIT].remedy, MISFIT)


def _misfits(
    audit: Audit, experiments: Mapping[str, Experiment], module: Path
) -> Iterator[tuple[Loc, str]]:
    """Yields where an audit does not fit the experiments of its module, and what was found."""
    fitting = set()
    for name in audit.experiments:
        if name not in experiments:
            near = did_you_mean(name, experiments)
            yield ("experiments", name), f"no experiment '{name}' in {module}. {near}".rstrip()
            continue
        misfits = list(_names(audit, name, experiments[name]))
        yield from misfits
        if not misfits:
            fitting.add(name)
    for tier in TIERS:
        for role, batch in plan(audit, tier):
            if batch.experiment in fitting:
                why = _refused(experiments[batch.experiment], batch.settings(audit))
                if why is not None:
                    arm = "experiment" if role is Role.OWN else role.value
                    where = f"the {tier} tier of the {arm} '{batch.experiment}'"
                    yield ("experiments", batch.experiment), f"{why}, in {where}"
    for name in fitting:
        yield from _alternatives(audit, name, experiments[name])


def _place(audit: Audit, experiment: str, setting: str) -> Loc:
    """The place of a setting: in its experiment, or among those that all share."""
    if setting in audit.experiments[experiment].settings:
        return "experiments", experiment, "settings", setting
    return "settings", setting


def _names(audit: Audit, name: str, experiment: Experiment) -> Iterator[tuple[Loc, str]]:
    """Yields the settings that the audit or the experiment lacks."""
    known = {field.name for field in dataclasses.fields(experiment.settings)}
    stated = audit.settings_of(name).keys()
    kind = experiment.settings.__qualname__
    for one in sorted(stated - known):
        near = did_you_mean(one, known)
        yield _place(audit, name, one), f"the setting '{one}', which {kind} lacks. {near}".rstrip()
    for one in sorted(known - stated):
        yield ("experiments", name), f"no setting '{one}', for which {kind} asks"


def _alternatives(audit: Audit, name: str, experiment: Experiment) -> Iterator[tuple[Loc, str]]:
    """Yields the alternatives that the experiment does not take."""
    values = audit.values_of(name, "paper")
    for setting, stated in audit.settings_of(name).items():
        for number, value in enumerate(stated.alternatives):
            why = _refused(experiment, {**values, setting: value})
            if why is not None:
                loc = (*_place(audit, name, setting), "alternatives", number)
                yield loc, f"{why}, as an alternative of '{setting}' in '{name}'"


def _refused(experiment: Experiment, values: Mapping[str, SettingValue]) -> str | None:
    """Why an experiment does not take these values; None if it does."""
    from reproaudit.lab.settings import build_settings

    try:
        build_settings(experiment.settings, values)
    except SpecError as error:
        return str(error)
    return None
