"""Reads ``<slug>.run.yaml`` and holds it against its audit: every fault with place and remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from reproaudit.audit.catalog import RUN_FILE
from reproaudit.audit.loading import Fault, read_as, read_audit
from reproaudit.audit.loading.fault import START, in_order
from reproaudit.audit.model import TIERS, Audit
from reproaudit.audit.rules import RULES, Loc
from reproaudit.audit.rules.values import same, shown
from reproaudit.cell import SettingValue
from reproaudit.elsewhere.mapping import ExpressionError, check_expression
from reproaudit.errors import SpecError, did_you_mean
from reproaudit.repositories.run_file import SEED, CommandExperiment, RunFile, placeholders


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
    stem = path.with_name(path.name.removesuffix(RUN_FILE))
    audit_file = stem.with_name(f"{stem.name}.yaml")
    audit, audit_faults = read_audit(audit_file)
    around: list[tuple[str, str]] = []
    if audit is None:
        message = f"found {len(audit_faults)} faults in {audit_file}; expected an audit"
        around.append(("RA088", message))
    for other in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py"):
        if other.is_file():
            around.append(("RA087", f"found {other}, too; expected one way to run this paper"))
    for rule, message in around:
        faults.append(Fault(str(path), START, (), message, RULES[rule].remedy, rule))
    if run_file is not None and audit is not None:
        assert document is not None, "what was read has its places"
        for name, experiment in run_file.experiments.items():
            for loc, at_key, rule, message, remedy in _faults(name, experiment, audit):
                place = document.place(loc, at_key=at_key)
                remedy = remedy or RULES[rule].remedy
                faults.append(Fault(str(path), place, loc, message, remedy, rule))
    return run_file, audit, in_order(faults)


_Finding = tuple[Loc, bool, str, str, str]
"""Place, whether the name there is at fault, rule, message, remedy (empty for the rule's own)."""


def _faults(name: str, experiment: CommandExperiment, audit: Audit) -> Iterator[_Finding]:
    here: Loc = ("experiments", name)
    if name not in audit.experiments:
        hint = did_you_mean(name, audit.experiments)
        yield here, True, "RA081", f"found '{name}'; expected an experiment of the audit", hint
        return
    values = {
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
        tags = " ".join((quantity.tag or "", *quantity.let.values()))
        for axis in re.findall(r"\{([a-z][a-z0-9_]*)\}", tags):
            if axis not in axes:
                message = f"found the axis {{{axis}}}; expected an axis of '{measurement}'"
                yield loc, False, "RA085", message, did_you_mean(axis, axes)
        try:
            check_expression(quantity.expression or "0")
        except ExpressionError as error:
            message = f"found {str(error).rstrip('.')}; expected a formula"
            yield (*loc, "expression"), False, "RA086", message, ""


def _placeholders(
    here: Loc, experiment: CommandExperiment, values: Mapping[str, object]
) -> Iterator[_Finding]:
    """Placeholders that stand for nothing, and a seed or a setting that reaches no command."""
    known = {SEED, *values}
    for field in ("command", "files"):
        for index, text in enumerate(getattr(experiment, field)):
            for one in placeholders(text):
                if one not in known:
                    message = f"found {{{one}}}; expected {{seed}} or a setting of the experiment"
                    hint = did_you_mean(one, known)
                    yield (*here, field, index), False, "RA083", message, hint
    passed = _passed(experiment)
    if SEED not in passed:
        message = "found no {seed}; expected one, or all runs would be the same"
        yield (*here, "command"), False, "RA082", message, "Pass the seed to the command."
    for name in values.keys() - passed - experiment.fixed.keys():
        message = f"found neither {{{name}}} in it nor '{name}' under 'fixed'; expected one"
        yield (*here, "command"), False, "RA082", message, ""


def _settings(
    here: Loc, experiment: CommandExperiment, values: Mapping[str, list[SettingValue]]
) -> Iterator[_Finding]:
    """Names that are no settings, and values that are fixed though nobody wants them."""
    for field in ("fixed", "spelled"):
        for name in getattr(experiment, field):
            loc: Loc = (*here, field, name)
            if name not in values:
                message = f"found '{name}'; expected a setting of the experiment"
                yield loc, True, "RA083", message, did_you_mean(name, values)
            elif field == "fixed" and name in _passed(experiment):
                message = f"found '{name}', which the command is passed; expected one of the two"
                yield loc, True, "RA082", message, "Remove it here."
    for name, value in experiment.fixed.items():
        wanted = values.get(name, [value])
        if not any(same(value, one) for one in wanted):
            listed = ", ".join(dict.fromkeys(map(shown, wanted)))
            message = f"found {shown(value)}; expected {listed}, as the audit says"
            yield (*here, "fixed", name), False, "RA084", message, ""


def _passed(experiment: CommandExperiment) -> set[str]:
    return {name for text in experiment.command for name in placeholders(text)}
