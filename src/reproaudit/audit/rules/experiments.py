"""Rules of experiments: their measurements with axes, and numbers of runs."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Audit, RunCounts
from reproaudit.audit.rules.looks import no_setting, unknown
from reproaudit.audit.rules.table import Loc, Violation
from reproaudit.audit.rules.values import repeated, shown
from reproaudit.declarations import Axis, Declaration, MeasurementKind


def _declarations(audit: Audit) -> Iterator[tuple[Loc, str, Declaration]]:
    """Every declaration with its place, shared ones once."""
    for name, declaration in audit.measurements.items():
        yield ("measurements", name), name, declaration
    for experiment, one in audit.experiments.items():
        for name, declaration in one.measurements.items():
            yield ("experiments", experiment, "measurements", name), name, declaration


def of_axes(audit: Audit) -> Iterator[Violation]:
    """Yield axes without one source of coordinates, alike ones, and kinds that they do not fit."""
    for loc, name, declaration in _declarations(audit):
        axes = declaration.axes
        names = [axis.name for axis in axes]
        for i in repeated(names):
            message = f"found a second axis '{names[i]}'; expected different names"
            yield Violation("RA123", (*loc, "axes", i, "name"), message)
        for i, axis in enumerate(axes):
            yield from _coordinates(axis, (*loc, "axes", i))
        if declaration.kind is MeasurementKind.SCALAR and axes:
            message = f"found {len(axes)} axes on the scalar '{name}'; expected none"
            remedy = "Remove the axes, or make it an array."
            yield Violation("RA124", (*loc, "axes"), message, remedy)
        if declaration.kind is MeasurementKind.ARRAY and not axes:
            message = f"found the array '{name}' without axes; expected at least one"
            yield Violation("RA124", loc, message, "Name its axes, or make it a scalar.")


def _coordinates(axis: Axis, loc: Loc) -> Iterator[Violation]:
    given = [f for f in ("values", "setting", "size") if getattr(axis, f) is not None]
    if len(given) != 1:
        found = " and ".join(given) or "neither values nor setting nor size"
        message = f"found {found} on axis '{axis.name}'; expected exactly one"
        yield Violation("RA121", loc, message)
    values = axis.values or ()
    for i in sorted({*repeated(values), *repeated([str(one) for one in values])}):
        message = f"found the coordinate {shown(values[i])} again; expected different ones"
        yield Violation("RA123", (*loc, "values", i), message)


def of_axes_along_settings(audit: Audit) -> Iterator[Violation]:
    """Yield axes that follow a setting that an experiment lacks, or that is no list of names."""
    for loc, name, declaration in _declarations(audit):
        along = [(i, axis) for i, axis in enumerate(declaration.axes) if axis.setting is not None]
        for experiment in audit.experiments if along else ():
            if audit.declaration(experiment, name) is declaration:
                for i, axis in along:
                    place = (*loc, "axes", i, "setting")
                    yield from _along(audit, place, experiment, str(axis.setting))


def _along(audit: Audit, loc: Loc, experiment: str, name: str) -> Iterator[Violation]:
    setting = audit.setting_of(experiment, name)
    if setting is None:
        yield no_setting("RA122", audit, loc, name, experiment)
    elif not isinstance(setting.value, tuple):
        message = f"found setting '{name}', which is {shown(setting.value)}"
        yield Violation("RA122", loc, f"{message}; expected a list of coordinates")
    elif (again := next(repeated(setting.value), None)) is not None:
        message = f"found setting '{name}', which has {shown(setting.value[again])} again"
        yield Violation("RA123", loc, f"{message}; expected different coordinates")


def of_experiments(audit: Audit) -> Iterator[Violation]:
    """Yield measurements, stages and training losses of experiments that do not exist."""
    for experiment, one in audit.experiments.items():
        loc: Loc = ("experiments", experiment)
        for i, name in enumerate(one.measures or ()):
            place = (*loc, "measures", i)
            yield from unknown("RA130", place, "measurement", name, audit.measurements)
        for i, stage in enumerate(one.stages):
            if audit.setting_of(experiment, stage.steps) is None:
                place = (*loc, "stages", i, "steps")
                yield no_setting("RA132", audit, place, stage.steps, experiment)
        yield from _training_loss(audit, loc, (experiment,), one.training_loss)
    yield from _training_loss(audit, (), tuple(audit.experiments), audit.training_loss)


def _training_loss(
    audit: Audit, loc: Loc, experiments: tuple[str, ...], name: str | None
) -> Iterator[Violation]:
    found = [audit.declaration(one, name) for one in experiments if name is not None]
    kinds = {one.kind for one in found if one is not None}
    if found and kinds != {MeasurementKind.SERIES}:
        known = [one for e in experiments for one in audit.measurements_of(e)]
        what = f"the {next(iter(kinds))} " if kinds else "the unknown measurement "
        message, about = f"found {what}'{name}'; expected a series", None if kinds else name
        yield Violation("RA220", (*loc, "training_loss"), message, about=about, known=known)


FEWEST_RUNS = 5
"""The fewest valid runs by which a claim is decided."""


def of_runs(audit: Audit) -> Iterator[Violation]:
    """Yield numbers of runs that are too small to decide anything."""
    judged = {one.experiment for one in audit.claims if not one.exact}
    stated: dict[Loc, RunCounts | None] = {("runs",): audit.runs if judged else None}
    for name in judged & audit.experiments.keys():
        stated["experiments", name, "runs"] = audit.experiments[name].runs
    for loc, runs in stated.items():
        for field in ("quick", "paper", "arms") if runs is not None else ():
            if (number := getattr(runs, field)) < FEWEST_RUNS:
                message = f"found {number}; expected at least {FEWEST_RUNS}"
                yield Violation("RA221", (*loc, field), message)
