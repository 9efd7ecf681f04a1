"""Rules of what experiments declare, and of the figures that show it."""

from __future__ import annotations

from collections.abc import Iterator

from reproaudit.audit.model import Audit, Figure
from reproaudit.audit.rules.rule import Loc, Rule, Severity, Violation
from reproaudit.audit.rules.values import repeated, shown
from reproaudit.checks.measurements import Axis, Declaration, MeasurementKind
from reproaudit.errors import did_you_mean


def _declarations(audit: Audit) -> Iterator[tuple[Loc, str, str, Declaration]]:
    for experiment, one in audit.experiments.items():
        for name, declaration in one.measurements.items():
            loc = ("experiments", experiment, "measurements", name)
            yield loc, experiment, name, declaration


def _axes(audit: Audit) -> Iterator[tuple[Loc, str, Axis]]:
    for loc, experiment, _, declaration in _declarations(audit):
        for i, axis in enumerate(declaration.axes):
            yield (*loc, "axes", i), experiment, axis


def axis_has_one_source(audit: Audit) -> Iterator[Violation]:
    """Exactly one of values, setting and size."""
    for loc, _, axis in _axes(audit):
        given = [f for f in ("values", "setting", "size") if getattr(axis, f) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "neither values nor setting nor size"
            yield Violation(loc, f"found {found} on axis '{axis.name}'; expected exactly one")


def axis_setting_is_a_list(audit: Audit) -> Iterator[Violation]:
    """An axis that follows a setting needs one that lists coordinates."""
    for loc, experiment, axis in _axes(audit):
        if axis.setting is None:
            continue
        place = (*loc, "setting")
        settings = audit.settings_of(experiment)
        if axis.setting not in settings:
            yield Violation(
                place,
                f"found the unknown setting '{axis.setting}'; expected one of '{experiment}'",
                did_you_mean(axis.setting, settings),
                about=axis.setting,
            )
            continue
        value = settings[axis.setting].value
        if not isinstance(value, tuple):
            yield Violation(
                place,
                f"found setting '{axis.setting}', which is {shown(value)}; expected a list of "
                "coordinates",
            )


def axes_are_distinct(audit: Audit) -> Iterator[Violation]:
    """Two axes of one name, or two equal coordinates, could not be told apart."""
    for loc, _, _, declaration in _declarations(audit):
        names = [axis.name for axis in declaration.axes]
        for i in repeated(names):
            yield Violation(
                (*loc, "axes", i, "name"),
                f"found a second axis '{names[i]}'; expected different names",
            )
    for loc, _, axis in _axes(audit):
        values = axis.values or ()
        for i in repeated(values):
            yield Violation(
                (*loc, "values", i),
                f"found the coordinate {shown(values[i])} again; expected different ones",
            )


def axes_fit_kind(audit: Audit) -> Iterator[Violation]:
    """A scalar has no axis, an array has one at least."""
    for loc, _, name, declaration in _declarations(audit):
        axes = len(declaration.axes)
        if declaration.kind is MeasurementKind.SCALAR and axes:
            yield Violation(
                (*loc, "axes"),
                f"found {axes} axes on the scalar '{name}'; expected none",
                "Remove the axes, or make it an array.",
            )
        if declaration.kind is MeasurementKind.ARRAY and not axes:
            yield Violation(
                loc,
                f"found the array '{name}' without axes; expected at least one",
                "Name its axes, or make it a scalar.",
            )


def figure_ids_unique(audit: Audit) -> Iterator[Violation]:
    """Two figures of one name would overwrite each other."""
    ids = [figure.id for figure in audit.figures]
    for i in repeated(ids):
        yield Violation(("figures", i, "id"), f"found a second figure '{ids[i]}'")


def figure_experiment_exists(audit: Audit) -> Iterator[Violation]:
    """A figure shows an experiment."""
    for i, figure in enumerate(audit.figures):
        if figure.experiment not in audit.experiments:
            yield Violation(
                ("figures", i, "experiment"),
                f"found the unknown experiment '{figure.experiment}'; expected a declared one",
                did_you_mean(figure.experiment, audit.experiments),
                about=figure.experiment,
            )


def _shown(audit: Audit) -> Iterator[tuple[Loc, Figure, str, Declaration | None]]:
    for i, figure in enumerate(audit.figures):
        if figure.experiment not in audit.experiments:
            continue
        declared = audit.experiments[figure.experiment].measurements
        for j, name in enumerate(figure.measurements):
            yield ("figures", i, "measurements", j), figure, name, declared.get(name)


def figure_measurement_exists(audit: Audit) -> Iterator[Violation]:
    """A figure shows declared measurements."""
    for loc, figure, name, declaration in _shown(audit):
        if declaration is None:
            declared = audit.experiments[figure.experiment].measurements
            yield Violation(
                loc,
                f"found the unknown measurement '{name}'; expected one of '{figure.experiment}'",
                did_you_mean(name, declared),
                about=name,
            )


def figure_fits_kind(audit: Audit) -> Iterator[Violation]:
    """Curves need series, matrices need two dimensions, a comparison needs its axis."""
    for loc, figure, name, declaration in _shown(audit):
        if declaration is None:
            continue
        names = [axis.name for axis in declaration.axes]
        found = f"{declaration.kind.value} '{name}' with {len(names)} axes"
        array = declaration.kind is MeasurementKind.ARRAY
        if figure.kind == "curves" and declaration.kind is not MeasurementKind.SERIES:
            yield Violation(loc, f"found the {found}; expected a series, since these are curves")
        elif figure.kind == "matrices" and not (array and len(names) in (2, 3)):
            yield Violation(
                loc,
                f"found the {found}; expected an array with rows, columns and at most one axis "
                "before them",
            )
        elif figure.kind == "comparison" and not array:
            yield Violation(loc, f"found the {found}; expected an array along an axis")
        elif figure.kind == "comparison" and figure.axis and figure.axis not in names:
            yield Violation(
                loc,
                f"found no axis '{figure.axis}' on '{name}'; expected the figure's axis",
                did_you_mean(figure.axis, names),
                about=figure.axis,
            )


def comparison_has_axis(audit: Audit) -> Iterator[Violation]:
    """A comparison names its horizontal axis; nothing else has one."""
    for i, figure in enumerate(audit.figures):
        if figure.kind == "comparison" and figure.axis is None:
            yield Violation(("figures", i), "found a comparison without 'axis'; expected its name")
        if figure.kind != "comparison" and figure.axis is not None:
            yield Violation(
                ("figures", i, "axis"),
                f"found an axis on a figure of kind '{figure.kind}'; only a comparison has one",
                "Remove the axis.",
                at_key=True,
            )


EXPERIMENT_RULES = (
    Rule(
        "RA121",
        Severity.ERROR,
        "The coordinates of an axis come from one place.",
        "Give one of values, setting and size.",
        axis_has_one_source,
    ),
    Rule(
        "RA122",
        Severity.ERROR,
        "An axis that follows a setting takes its coordinates from that list.",
        "Name a setting whose value is a list.",
        axis_setting_is_a_list,
    ),
    Rule(
        "RA123",
        Severity.ERROR,
        "Axes of one name or equal coordinates cannot be told apart.",
        "Rename or remove one of them.",
        axes_are_distinct,
    ),
    Rule(
        "RA124",
        Severity.ERROR,
        "A scalar is one number; an array has axes.",
        "Change the kind or the axes.",
        axes_fit_kind,
    ),
    Rule(
        "RA125",
        Severity.ERROR,
        "Figures of one id would overwrite each other.",
        "Rename one of them.",
        figure_ids_unique,
    ),
    Rule(
        "RA126",
        Severity.ERROR,
        "A figure shows what an experiment of this audit measures.",
        "Name a declared experiment.",
        figure_experiment_exists,
    ),
    Rule(
        "RA127",
        Severity.ERROR,
        "A figure shows what its experiment measures.",
        "Name a declared measurement.",
        figure_measurement_exists,
    ),
    Rule(
        "RA128",
        Severity.ERROR,
        "Each kind of figure draws one shape of measurement.",
        "Choose another kind of figure or another measurement.",
        figure_fits_kind,
    ),
    Rule(
        "RA129",
        Severity.ERROR,
        "A comparison, and only a comparison, has a named horizontal axis.",
        "Name the axis, or remove it.",
        comparison_has_axis,
    ),
)
"""RA121 to RA129."""
