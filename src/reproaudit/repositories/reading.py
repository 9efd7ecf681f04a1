"""Reads ``<slug>.run.yaml`` and holds it against its audit: every fault with place and remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from reproaudit.audit.catalog import RUN_FILE
from reproaudit.audit.loading import Fault, Place, read_as, read_audit
from reproaudit.audit.loading.document import Document
from reproaudit.audit.loading.fault import START, in_order
from reproaudit.audit.model import TIERS, Audit
from reproaudit.audit.rules import RULES, Loc
from reproaudit.audit.rules.values import keys, same, shown
from reproaudit.cell import SettingValue
from reproaudit.elsewhere.expressions import ExpressionError, parse_expression
from reproaudit.errors import SpecError, did_you_mean
from reproaudit.repositories.arguments import SEED, placeholders
from reproaudit.repositories.run_file import CommandExperiment, RunFile


def load_run_file(path: Path) -> tuple[RunFile, Audit]:
    """A run file and the audit beside it.

    Raises:
        SpecError: listing every fault of the run file.
    """
    run_file, audit, faults = _read(path)
    if run_file is None or audit is None or faults:
        raise SpecError("\n".join(map(str, faults)))
    return run_file, audit


def check_run_file(path: Path) -> list[Fault]:
    """Every fault of a run file, by place; none if it can be run."""
    return _read(path)[2]


def _read(path: Path) -> tuple[RunFile | None, Audit | None, list[Fault]]:
    run_file, document, faults = read_as(RunFile, path, "a run file")
    audit, audit_faults = read_audit(_audit_file(path))
    if audit is None:
        message = f"found {len(audit_faults)} faults in {_audit_file(path)}; expected an audit"
        faults = [*faults, _fault(path, START, (), "RA088", message)]
    module = path.with_name(path.name.removesuffix(RUN_FILE))
    for other in (module.with_suffix(".py"), module / "__init__.py"):
        if other.is_file():
            message = f"found {other}, too; expected one way to run this paper"
            faults = [*faults, _fault(path, START, (), "RA087", message)]
    if run_file is not None and audit is not None:
        assert document is not None, "what was read has its places"
        faults = [*faults, *_against(run_file, audit, document, path)]
    return run_file, audit, in_order(faults)


def _audit_file(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(RUN_FILE) + ".yaml")


def _fault(path: Path, place: Place, loc: Loc, rule: str, message: str, remedy: str = "") -> Fault:
    return Fault(str(path), place, loc, message, remedy or RULES[rule].remedy, rule)


def _against(run_file: RunFile, audit: Audit, document: Document, path: Path) -> Iterator[Fault]:
    for name, experiment in run_file.experiments.items():
        found = _of_experiment(name, experiment, audit)
        for loc, at_key, rule, message, remedy in found:
            place = document.place(loc, at_key=at_key)
            yield _fault(path, place, loc, rule, message, remedy)


_Finding = tuple[Loc, bool, str, str, str]
"""Place, whether the name there is at fault, rule, message, remedy (empty for the rule's own)."""


def _of_experiment(name: str, experiment: CommandExperiment, audit: Audit) -> Iterator[_Finding]:
    here: Loc = ("experiments", name)
    if name not in audit.experiments:
        hint = did_you_mean(name, audit.experiments)
        yield here, True, "RA081", f"found '{name}'; expected an experiment of the audit", hint
        return
    values: dict[str, list[SettingValue]] = {
        setting: [one.at(tier) for tier in TIERS]
        for setting, one in audit.settings_of(name).items()
    }
    yield from _placeholders(here, experiment, values)
    yield from _settings(here, experiment, values)
    declared = audit.measurements_of(name)
    for measurement, quantity in experiment.mapping.items():
        loc: Loc = (*here, "mapping", measurement)
        if measurement not in declared:
            message = f"found '{measurement}'; expected a measurement of '{name}'"
            yield loc, True, "RA085", message, did_you_mean(measurement, declared)
            continue
        axes = {axis.name for axis in declared[measurement].axes}
        for tag in (quantity.tag or "", *quantity.let.values()):
            for axis in re.findall(r"\{([a-z][a-z0-9_]*)\}", tag):
                if axis not in axes:
                    message = f"found the axis {{{axis}}}; expected an axis of '{measurement}'"
                    yield loc, False, "RA085", message, did_you_mean(axis, axes)
        if quantity.expression is not None:
            yield from _expression((*loc, "expression"), quantity.expression)


def _placeholders(
    here: Loc, experiment: CommandExperiment, values: Mapping[str, object]
) -> Iterator[_Finding]:
    """Placeholders that stand for nothing, and a seed that does not reach the command."""
    known = {SEED, *values}
    for field in ("command", "files"):
        for index, text in enumerate(getattr(experiment, field)):
            for one in placeholders(text):
                if one not in known:
                    message = f"found {{{one}}}; expected {{seed}} or a setting of the experiment"
                    hint = did_you_mean(one, known)
                    yield (*here, field, index), False, "RA083", message, hint
    if not any(SEED in placeholders(text) for text in experiment.command):
        message = "found no {seed}; expected one, or all runs would be the same"
        yield (*here, "command"), False, "RA082", message, "Pass the seed to the command."


def _settings(
    here: Loc, experiment: CommandExperiment, values: Mapping[str, list[SettingValue]]
) -> Iterator[_Finding]:
    """Settings that do not reach the command, or are fixed at a value that nobody wants."""
    passed = {name for text in experiment.command for name in placeholders(text)}
    for name in values.keys() - passed - experiment.fixed.keys():
        message = f"found neither {{{name}}} in it nor '{name}' under 'fixed'; expected one"
        yield (*here, "command"), False, "RA082", message, ""
    for field in ("fixed", "spelled"):
        for name in getattr(experiment, field):
            loc: Loc = (*here, field, name)
            if name not in values:
                message = f"found '{name}'; expected a setting of the experiment"
                yield loc, True, "RA083", message, did_you_mean(name, values)
            elif field == "fixed" and name in passed:
                message = f"found '{name}', which the command is passed; expected one of the two"
                yield loc, True, "RA082", message, "Remove it here."
    for name, value in experiment.fixed.items():
        if name in values and not any(same(value, one) for one in values[name]):
            wanted = ", ".join(shown(values[name][i]) for i in _different(values[name]))
            message = f"found {shown(value)}; expected {wanted}, as the audit says"
            yield (*here, "fixed", name), False, "RA084", message, ""


def _different(values: list[SettingValue]) -> list[int]:
    return [i for i, one in enumerate(values) if keys([one]).isdisjoint(keys(values[:i]))]


def _expression(loc: Loc, text: str) -> Iterator[_Finding]:
    try:
        parse_expression(text)
    except ExpressionError as error:
        yield loc, False, "RA086", f"found {str(error).rstrip('.')}; expected a formula", ""
