"""`reproaudit check`: every fault of an audit at once, with its place and remedy."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reproaudit.audit.catalog import REVIEW_FILE, RUN_FILE, Catalog, Entry, audits_in, entry_of
from reproaudit.audit.document import read_yaml
from reproaudit.audit.faults import (
    BROKEN_LOG,
    MISFIT,
    RULES,
    START,
    Fault,
    Faults,
    Loc,
    Place,
)
from reproaudit.audit.loading import read_audit, read_reviews
from reproaudit.audit.model import TIERS, Audit
from reproaudit.audit.paper_module import CommandModule
from reproaudit.audit.plan import Role, plan
from reproaudit.cell import SettingValue
from reproaudit.errors import AuditError, SpecError, UsageError, did_you_mean
from reproaudit.results import read_lines

if TYPE_CHECKING:
    from reproaudit.lab.experiment import Experiment


def audit_files(named: Sequence[str], catalog: Catalog) -> list[Path]:
    """Return the audits that are named by slug, file or folder; every paper's if none.

    Raises:
        UsageError: on an unknown slug or folder, or a folder without audits.
    """
    if not named:
        return [entry.audit_file for entry in catalog.entries.values()]
    files: list[Path] = []
    for name in named:
        path = Path(name)
        if path.is_dir():
            found = audits_in(path)
            if not found:
                raise UsageError(f"{path}: no audit is in this folder; expected SLUG.yaml files.")
            files += found
        elif not path.suffix and not path.exists():
            if name not in catalog.entries:
                near = did_you_mean(name, catalog.entries)
                raise UsageError(
                    f"{name}: no such folder or file, and no paper of this name. {near} "
                    "Papers of your own: --audits DIR."
                )
            files.append(catalog[name].audit_file)
        else:
            files.append(path)
    return files


def faults_in(file: Path, run: bool) -> Iterator[Fault]:
    """Yield the faults of an audit with its reviews and run file, or of one of these that is named.

    Args:
        file: the audit, its review file or its run file.
        run: whether to import its module, with consent given, and hold the audit against it.

    Raises:
        ModuleNotFoundError: if a library that a module needs is not installed.
    """
    if file.name.endswith(REVIEW_FILE):
        audit = file.with_name(f"{file.name.removesuffix(REVIEW_FILE)}.yaml")
        yield from read_reviews(file, read_audit(audit)[0])[1]
        return
    run_file = file if file.name.endswith(RUN_FILE) else file.with_suffix(RUN_FILE)
    if run_file != file:
        yield from _faults_of(file, run)
    if run_file.is_file() or run_file == file:
        from reproaudit.repositories.run_file import check_run_file

        yield from check_run_file(run_file)


def _faults_of(file: Path, run: bool) -> Iterator[Fault]:
    """Yields the faults of an audit, then what is wrong with its log of results and its module."""
    entry, (audit, faults) = entry_of(file), read_audit(file)
    yield from faults
    yield from read_reviews(entry.review_file, audit)[1]
    log = entry.results_file
    for line, what in read_lines(log)[1]:
        yield Fault(str(log), Place(line, 1), (), what, RULES[BROKEN_LOG].remedy, BROKEN_LOG)
    if run and audit is not None:
        yield from module_faults(entry, audit)


def fault_data(fault: Fault) -> dict[str, object]:
    """Return a fault as ``--json`` shows it."""
    return {
        "file": fault.file,
        "line": fault.place.line,
        "column": fault.place.column,
        "path": fault.path,
        "severity": fault.severity.value,
        "rule": fault.rule,
        "message": fault.message,
        "remedy": fault.remedy,
    }


# --- the audit against its module ---------------------------------------------------------------


def module_faults(entry: Entry, audit: Audit) -> Iterator[Fault]:
    """Yield the places where an audit does not fit the module beside it, which is imported.

    Held against the types of each experiment's settings are the names, and the values of every
    run, control and alternative at every tier. Nothing is run. What a repository's command takes
    is the business of its run file.

    Args:
        entry: the paper; code that does not come with reproaudit needs consent before.
        audit: its audit, valid by itself.

    Raises:
        ModuleNotFoundError: if a library of the extra ``run`` is not installed.
    """
    if entry.code is None or isinstance(entry.code, CommandModule):
        return
    file = entry.audit_file
    document = read_yaml(file.read_text(encoding="utf-8"), Faults(str(file)))
    misfits: dict[tuple[Loc, str], None] = {}
    try:
        experiments = entry.code.load()
        misfits = dict.fromkeys(_misfits(audit, experiments, entry.code.file))
    except AuditError as error:
        misfits[(), str(error)] = None
    for loc, found in misfits:
        place = START if document is None or not loc else document.place(loc)
        yield Fault(str(file), place, loc, f"found {found}", RULES[MISFIT].remedy, MISFIT)


def _misfits(
    audit: Audit, experiments: Mapping[str, Experiment], module: Path
) -> Iterator[tuple[Loc, str]]:
    """Yields where an audit does not fit the experiments of its module, and what was found."""
    for name in audit.experiments:
        if name not in experiments:
            near = did_you_mean(name, experiments)
            yield ("experiments", name), f"no experiment '{name}' in {module}. {near}".rstrip()
            continue
        kind, stated = experiments[name].settings, audit.settings_of(name).keys()
        known = {field.name for field in dataclasses.fields(kind)}
        for one in sorted(stated - known):
            lacks = f"the setting '{one}', which {kind.__qualname__} lacks."
            yield _place(audit, name, one), f"{lacks} {did_you_mean(one, known)}".rstrip()
        for one in sorted(known - stated):
            yield ("experiments", name), f"no setting '{one}', for which {kind.__qualname__} asks"
        if stated == known:
            yield from _refused(audit, name, kind)


def _refused(audit: Audit, name: str, kind: type[Any]) -> Iterator[tuple[Loc, str]]:
    """Yields the values that an experiment does not take, of its runs and its alternatives."""
    from reproaudit.lab.settings import build_settings

    tried: list[tuple[Loc, Mapping[str, SettingValue], str]] = []
    for tier in TIERS:
        for role, batch in plan(audit, tier):
            if batch.experiment == name:
                arm = "experiment" if role is Role.OWN else role.value
                words = f"in the {tier} tier of the {arm} '{name}'"
                tried.append((("experiments", name), batch.settings(audit), words))
    values = audit.values_of(name, "paper")
    for setting, stated in audit.settings_of(name).items():
        for number, value in enumerate(stated.alternatives):
            loc = (*_place(audit, name, setting), "alternatives", number)
            words = f"as an alternative of '{setting}' in '{name}'"
            tried.append((loc, {**values, setting: value}, words))
    for loc, settings, words in tried:
        try:
            build_settings(kind, settings)
        except SpecError as error:
            yield loc, f"{error}, {words}"


def _place(audit: Audit, experiment: str, setting: str) -> Loc:
    """The place of a setting: in its experiment, or among those that all share."""
    if setting in audit.experiments[experiment].settings:
        return "experiments", experiment, "settings", setting
    return "settings", setting
